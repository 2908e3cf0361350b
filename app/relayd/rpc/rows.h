/* SPDX-License-Identifier: BSD-2-Clause */
/* rows.h - what relayd tells of itself, as named fields: one list for every way in which it
 * is told (control socket, DPDK's telemetry).
 *
 * A writer takes fields one by one; what a container looks like is its business.  Names are
 * of [a-z0-9_/], shorter than 64 bytes. */
#ifndef RD_ROWS_H
#define RD_ROWS_H

#include "snapshot.h"

struct rd_fields {
	void (*number)(void *to, const char *name, uint64_t value);
	void (*text)(void *to, const char *name, const char *value);
	void (*flag)(void *to, const char *name, bool value);
};

/* The relay: what its configuration says, sums over all workers. */
void rd_fields_relay(const struct rd_fields *f, void *to, const struct rd_conf *conf,
		     const struct rd_snapshot *s);
void rd_fields_gateway(const struct rd_fields *f, void *to, const struct rd_snapshot *s);

/* Row i of s->shard (worker, doors), path, job and gateway.channel. */
typedef void rd_fields_row(const struct rd_fields *f, void *to, const struct rd_snapshot *s,
			   uint32_t i);
rd_fields_row rd_fields_worker, rd_fields_doors, rd_fields_path, rd_fields_job, rd_fields_channel;

#endif
