/* SPDX-License-Identifier: BSD-2-Clause */
/* stats.h - the counters as people and programs see them: JSON for the stats file
 * and the end of a run. */
#ifndef RD_STATS_H
#define RD_STATS_H

#include "snapshot.h"

/* Write of->conf->stats_file (whole or not at all) if there is one. */
void rd_stats_write(const struct rd_figures *of, const struct rd_snapshot *s);
/* One line: what came, went, was lost. */
void rd_stats_log(const struct rd_snapshot *s);

/* Every drop counter, by name: fn is called with "rx/private/short" etc. */
void rd_stats_drops(const struct rd_snapshot *s,
		    void (*fn)(void *user, const char *name, uint64_t count, const char *help),
		    void *user);
/* Share of its time that a worker, or all of a relay's, had work; 0 to 1000. */
uint64_t rd_busy_permille(const struct rd_shard *s, uint32_t nworkers);
const char *rd_path_kind_name(enum relay_path_kind kind);
const char *rd_path_leg_name(const struct suci_path_info *p);
const char *rd_channel_state_name(const struct gw_channel_info *c);

#endif
