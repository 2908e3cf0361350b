/* SPDX-License-Identifier: BSD-2-Clause */
/* run.h - plays one stateful scenario: jobs in, connected, warm, measured, drained, jobs
 * out; round after round.  Judges it by what the scenario wants.
 *
 * Threads  one. */
#ifndef PKTGEN_RUN_H
#define PKTGEN_RUN_H

#include "chan.h"
#include "driver/idle.h"
#include "net.h"
#include "pktgen/load.h"
#include "progress.h"
#include "world.h"

#include <signal.h>

#define PG_REASONS_MAX 48
#define PG_SLOTS       100u /* of measure_ms */

struct pg_reason {
	char name[96];
	double count;
};

/* What one want came to. */
struct pg_verdict {
	double value;
	bool known, ok;
	bool failed; /* not ok, and not for want of relayd's counters */
};

struct pg_trials;

struct pg_result {
	const char *name, *proves, *kind; /* kind: stateful, stateless */
	bool passed;
	char error[256]; /* "": it was played */
	double m[PG_MEASURES_COUNT];
	bool known[PG_MEASURES_COUNT];
	struct pg_verdict verdict[PG_WANTS_MAX];
	const struct pg_load *load; /* NULL: stateless */
	char detail[2048];	    /* of stateless: the judge's lines that are bad */
	struct pg_reason reason[PG_REASONS_MAX];
	uint32_t nreasons;
	char why_ended[RELAY_WHY_MAX];
	struct base_hist latency; /* of all rounds, ns; stateful ones */
	uint64_t slot[PG_SLOTS];  /* segments received in each part of measure_ms, all rounds */
	struct pg_trials *trials; /* of a search, else NULL; freed by its owner */
	double seconds;
	uint32_t rss_kb;
};

/* What lives from scenario to scenario. */
struct pg_ctx {
	const struct pg_lab *lab;
	struct pg_net net;
	struct pg_chan chan[PG_SIDES];
	uint32_t nchans;
	struct relay_labels labels[PG_SIDES];
	struct suci_seal_conf seal;
	struct seal_link_conf peer_keys; /* of the channel to relayd; nkeys 0: not sealed */
	struct rd_idle idle;
	uint64_t incarnation;
	const volatile sig_atomic_t *stop;
	struct pg_run *run; /* of now, or NULL */
	uint64_t chores_ns;
	struct pg_progress progress;
	bool turns; /* measure in turns (turns.h) instead of for measure_ms */
};

/* 0, or -1 and err: the lab is not as its file says. */
int pg_ctx_open(struct pg_ctx *c, const struct pg_lab *lab, const char *prog, char *err,
		size_t err_max);
/* -1: buffers were lost. */
int pg_ctx_close(struct pg_ctx *c);

void pg_run(struct pg_ctx *c, const struct pg_load *load, struct pg_result *out);

/* relayd's counters by the lab's stats command; NULL: none, or it failed. */
json_t *pg_stats_read(const struct pg_lab *lab);
/* Every counter that lost something and rose, with its name; and their sum. */
double pg_stats_reasons(const json_t *before, const json_t *after, struct pg_result *out);

#endif
