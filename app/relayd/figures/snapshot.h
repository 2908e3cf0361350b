/* SPDX-License-Identifier: BSD-2-Clause */
/* snapshot.h - everything about the relay at one moment: its workers, their sums, the gateway, the
 * circuits, what the control thread turned away.
 *
 *     rd_snapshot_take --mail--> worker, worker, ..., gateway --> sums --> done
 *
 * Each thread fills in its own part; control sums up.  Who takes one owns its memory, and has one
 * under way at a time.
 *
 * Threads  control. */
#ifndef RD_SNAPSHOT_H
#define RD_SNAPSHOT_H

#include "gateway.h"
#include "light.h"
#include "loop.h"
#include "post.h"
#include "worker.h"

struct rd_snapshot {
	struct rd_shard sum; /* of all workers */
	uint32_t nshards;
	struct rd_shard *shard[RD_WORKERS_MAX];
	struct rd_gateway_snapshot gateway;
	struct rd_light_figures circuits;
	struct rd_control_counters control;
	/* The owner's, before he takes one: the books of the cores, too.  That holds up each thread
	 * for as long as its tables are large, at once: not for who looks again and again. */
	bool check;
	/* While it is under way. */
	const struct rd_figures *of;
	void (*done)(struct rd_snapshot *s, void *owner);
	void *owner;
};

/* Where figures come from; all of it outlives the snapshots. */
struct rd_figures {
	const struct rd_conf *conf;
	struct rd_loop *loop;
	struct rd_post *post;
	const struct rd_light *light;	    /* NULL: no circuits */
	const struct rd_tap_counters *taps; /* control's, while no gateway serves them */
};

/* With room for conf's limits (malloc); NULL if there is no memory. */
struct rd_snapshot *rd_snapshot_new(const struct rd_conf *conf);
/* Accepts NULL. */
void rd_snapshot_free(struct rd_snapshot *s);
void rd_snapshot_take(const struct rd_figures *f, struct rd_snapshot *s,
		      void (*done)(struct rd_snapshot *s, void *owner), void *owner);
/* From the workers' shares to the sums, and what control counted.  For who has filled in the shares
 * without a mail: the threads have ended. */
void rd_snapshot_sum(const struct rd_figures *f, struct rd_snapshot *s);

#endif
