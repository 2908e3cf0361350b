/* stats.h - the counters as people and programs see them: JSON for the stats file
 * and the end of a run. */
#ifndef RD_STATS_H
#define RD_STATS_H

#include "worker.h"

struct rd_control;

/* A snapshot of the relay with room for conf's limits (malloc); NULL if there is no memory. */
struct rd_snapshot *rd_snapshot_new(const struct rd_conf *conf);
void rd_snapshot_free(struct rd_snapshot *s);
/* From the workers' shares to the sums. */
void rd_snapshot_sum(struct rd_snapshot *s);
/* Write conf->stats_file (whole or not at all) if there is one. */
void rd_stats_write(struct rd_control *c, const struct rd_snapshot *s);
/* One line: what came, went, was lost. */
void rd_stats_log(const struct rd_snapshot *s);

/* Every drop counter, by name: fn is called with "rx/private/short" etc. */
void rd_stats_drops(const struct rd_snapshot *s,
		    void (*fn)(void *user, const char *name, uint64_t count, const char *help),
		    void *user);
/* Share of its time that a worker, or all of a relay's, had work; 0 to 1000. */
uint64_t rd_busy_permille(const struct rd_snapshot *s);
const char *rd_path_kind_name(enum relay_path_kind kind);
const char *rd_path_leg_name(const struct suci_path_info *p);
const char *rd_channel_state_name(const struct gw_channel_info *c);

#endif
