/* SPDX-License-Identifier: BSD-2-Clause */
/* load.h - a stateful scenario as read from its JSON file: how many emulated hosts and
 * remote relays talk along which lanes, how fast, what is done to them meanwhile, and
 * what is wanted of the result.  load.schema.json and doc/pktgen.md say every key; an
 * unknown key is an error.
 *
 * Threads  plain data.
 * Errors   0 or -1 and one line in err: what, where. */
#ifndef PKTGEN_LOAD_H
#define PKTGEN_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pktgen/search.h"

#include <jansson.h>

#define PG_SIZES_MAX	  8
#define PG_EVENTS_MAX	  16
#define PG_WANTS_MAX	  32
#define PG_WANT_NAMES_MAX 16
#define PG_NAME_MAX	  64
#define PG_PAYLOAD_MIN	  64u /* message header of 56 bytes and a time stamp */
#define PG_PAYLOAD_MAX	  9000u

enum pg_pattern {
	PG_PAIRS,  /* n-th sender to n-th receiver */
	PG_INCAST, /* all senders to the first receiver */
	PG_ALL,	   /* all to all */
};
enum pg_direction { PG_OUT = 1, PG_IN = 2, PG_BOTH = 3 };

/* X(name, arguments, help) */
#define PG_ACTIONS(X)                                                       \
	X(cut_private, "no frame passes on that side for for_ms")           \
	X(cut_global, "no frame passes on that side for for_ms")            \
	X(mute_global, "for for_ms no frame of ours leaves there")          \
	X(deafen_global, "for for_ms no frame of relayd is taken there")    \
	X(stop_receivers, "for for_ms no receiver has room")                \
	X(restart_remote, "the remote relay starts anew and knows nothing") \
	X(abort_job, "the first host of each job sends ABORT")              \
	X(lose_primary, "the channel to relayd is closed")                  \
	X(restart_relayd, "the lab's restart command is run")               \
	X(replay_private, "for for_ms its first datagrams are sent again")  \
	X(replay_global, "for for_ms its first datagrams are sent again")   \
	X(wrong_labels, "for for_ms every other segment has a label that must not pass")
enum pg_action {
#define X(n, h) PG_DO_##n,
	PG_ACTIONS(X)
#undef X
		PG_ACTIONS_COUNT
};
extern const char *const pg_action_names[PG_ACTIONS_COUNT];

struct pg_event {
	enum pg_action what;
	uint32_t at_ms, for_ms; /* after sending began */
};

/* X(name, help): what a run measures. */
#define PG_MEASURES(X)                                                                             \
	X(mpps, "segments received per microsecond")                                               \
	X(gbps, "their payload, Gb/s")                                                             \
	X(wire_gbps, "all frames to us and from us with their headers, Gb/s")                      \
	X(sent, "segments sent")                                                                   \
	X(received, "segments received")                                                           \
	X(lost, "sent and not received once all was quiet")                                        \
	X(damaged, "1 if what came is not what was sent, each once; else 0")                       \
	X(wrong_ids, "first segments whose process ids are not those of the table")                \
	X(strays, "segments for another process than the one they came to")                        \
	X(copies, "segments that came once more: a hop retransmitted what had arrived")            \
	X(reordered, "segments that came after a later one of their lane")                         \
	X(retransmits, "segments the generator sent again")                                        \
	X(p50_us, "latency, median")                                                               \
	X(p99_us, "latency, 99 %")                                                                 \
	X(p999_us, "latency, 99.9 %")                                                              \
	X(max_us, "latency, largest")                                                              \
	X(stall_ms, "longest time without anything received while all was sending")                \
	X(fairness, "least of the senders or receivers against the mean, 0 .. 1")                  \
	X(connect_ms, "job told until all hosts and relays were connected")                        \
	X(jobs, "jobs that were installed")                                                        \
	X(jobs_refused, "jobs that relayd refused")                                                \
	X(jobs_aborted, "jobs that ended by an ABORT told to their hosts")                         \
	X(hosts_told, "hosts that were told so")                                                   \
	X(abort_ms, "from the first event until the last host was told")                           \
	X(replayed, "frames sent again by replay_private and replay_global")                       \
	X(mislabelled, "segments sent by wrong_labels")                                            \
	X(undrained, "segments in custody when the run gave up waiting")                           \
	X(abandoned,                                                                               \
	  "segments that an end of the generator had under way when its path went down")           \
	X(ndr_pps, "no-drop rate that a search found, segments a second; 0: none")                 \
	X(pdr_pps, "partial-drop rate that a search found; 0: none")                               \
	X(unnamed, "lost, beyond what was abandoned or relayd named up to 5 s later; needs stats") \
	X(relay_drops, "what relayd dropped, all reasons but refusals; needs stats")
enum pg_measure {
#define X(n, h) PG_M_##n,
	PG_MEASURES(X)
#undef X
		PG_MEASURES_COUNT
};
extern const char *const pg_measure_names[PG_MEASURES_COUNT];
extern const char *const pg_measure_help[PG_MEASURES_COUNT];

/* min <= value <= max.  The value: a measure, or the sum of how much the counters of
 * relayd's stats rose. */
struct pg_want {
	bool counters;
	enum pg_measure measure;
	char counter[PG_WANT_NAMES_MAX][PG_NAME_MAX];
	uint32_t ncounters;
	double min, max;
	bool has_min, has_max;
};

struct pg_size {
	uint32_t bytes, weight;
};

struct pg_load {
	char name[PG_NAME_MAX];
	char proves[1024];
	bool series; /* for a lab of two relays in series */
	/* world */
	uint32_t hosts;		  /* of each job, in relayd's cluster: each a process */
	uint32_t relays;	  /* remote relays, or 1 in series */
	uint32_t procs_per_relay; /* of each job; in series: hosts of the second cluster */
	uint32_t jobs;
	/* traffic */
	enum pg_pattern pattern;
	enum pg_direction direction;
	uint32_t lanes; /* at most; 0: all of the pattern */
	struct pg_size size[PG_SIZES_MAX];
	uint32_t nsizes;
	uint32_t message;      /* bytes; 0: one segment */
	uint64_t rate_pps;     /* all senders together; 0: as fast as it goes */
	uint32_t window;       /* segments in flight of each sender */
	uint32_t receiver_pps; /* each receiver takes at most; 0: all */
	uint32_t loss_ppm;     /* frames lost at random on either side */
	bool fixed;	       /* congestion control fixed instead of cubic */
	bool from_template;    /* segments are played, once endpoints have opened the paths */
	uint64_t seed;
	/* run */
	uint32_t warmup_ms, measure_ms, drain_ms, rounds;
	bool may_end; /* jobs may end on the way: what is lost then is no fault */
	struct pg_search_conf search;
	struct pg_event event[PG_EVENTS_MAX];
	uint32_t nevents;
	struct pg_want want[PG_WANTS_MAX];
	uint32_t nwants;
};

int pg_load_load(struct pg_load *l, const char *path, char *err, size_t err_max);
int pg_load_parse(struct pg_load *l, const char *text, size_t len, char *err, size_t err_max);
/* Is the file a stateful scenario (it has "world")?  False also if it cannot be read. */
bool pg_load_is(const char *path);

/* Lanes of one job. */
uint64_t pg_load_lanes(const struct pg_load *l);

/* The sum of a counter's rise, and of all that may be called a drop: walks stats JSON.
 * False: there is no such counter. */
bool pg_stats_rise(const json_t *before, const json_t *after, const char *counter, double *rise);

#endif
