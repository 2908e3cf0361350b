/* tools/obsim/replay.h - a trace on circuits: call after call through schedules, planner and
 * model, with what stays lit between them. */
#ifndef OBSIM_REPLAY_H
#define OBSIM_REPLAY_H

#include "call.h"
#include "trace.h"

#define OBS_MODES(X)                                                                           \
	X(IDEAL, "ideal", "circuits cost nothing")                                             \
	X(NAIVE, "naive", "a circuit for every message")                                       \
	X(BATCHED, "batched", "as many as there are ports at a time")                          \
	X(PIPELINED, "pipelined", "a port is re-aimed when its step ends")                     \
	X(CACHED, "cached", "pipelined; circuits stay, orders are reversed to meet them")      \
	X(HYBRID, "hybrid", "cached; packets where they are sooner there")                     \
	X(STATIC, "static", "cached, or algorithms of one fixed graph, by which messages hop") \
	X(BEST, "best", "hybrid, with any algorithm of the library")                           \
	X(PACKETS, "packets", "no circuit at all")
enum obs_mode_name {
#define X(n, name, t) OBS_##n,
	OBS_MODES(X)
#undef X
		OBS_MODE_COUNT
};
const char *obs_mode_text(enum obs_mode_name m);

struct obs_setting {
	enum obs_mode_name mode;
	uint32_t k;
	const uint32_t *ports; /* [ranks], or NULL: k each */
	struct ocs_costs costs;
	bool paper;	/* one gamma more a call: [OC] Table 4 counts it */
	bool foresight; /* the next call is known when one ends: circuits move while all compute */
	bool blocking;	/* non-blocking calls are waited for where they begin */
	const struct coll_rules *rules;
};

struct obs_call_line {
	enum coll_op op;
	char algorithm[32];
	bool reversed, start; /* start: non-blocking */
	uint64_t bytes;
	double start_s, took_s; /* first in to last out, less what the last in waited for */
	struct obs_result r;
};

struct obs_report {
	double total_s, compute_s; /* compute_s: of the rank that computes most */
	uint64_t calls, orders, hits, by_light, packets;
	struct obs_call_line *line; /* [calls] */
};

/* Calls take turns, as the conductor does one call of a job at a time: one that begins while
 * another is under way begins, at each rank, when that is over there. False: stuck or no algorithm,
 * which must not be. */
bool obs_replay(const struct obs_trace *t, const struct obs_setting *s, struct obs_report *r);
void obs_report_free(struct obs_report *r);

#endif
