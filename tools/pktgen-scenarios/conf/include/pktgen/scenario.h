/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario.h - a stateless scenario as read from its JSON file, and the verdict over
 * it from two stats files of relayd.
 *
 * The file's form is scenario.schema.json and doc/pktgen.md; an unknown key is an
 * error.  A counter is named as relayctl drops names it - rx/LEG/NAME, leg/LEG/NAME,
 * neighbours/LEG/NAME, suci/NAME, relay/NAME - and LEG may be written "*": the leg
 * that is played against.
 *
 * Threads  one owner.
 * Errors   0 or -1 and one line in err: what, where. */
#ifndef PKTGEN_SCENARIO_H
#define PKTGEN_SCENARIO_H

#include "pktgen/frames.h"

#include <stdio.h>

#include <jansson.h>

#define PG_EXPECT_MAX	32
#define PG_COUNTERS_MAX 32
#define PG_COUNTER_TEXT 64
#define PG_COUNT_MAX	100000000u
#define PG_RATE_PPS_MAX 200000000u

/* The counters together rise by min x frames .. max x frames + slack, where frames
 * is how many of the named kinds were played. */
struct pg_expect {
	bool kind[PG_KINDS_COUNT];
	char counter[PG_COUNTERS_MAX][PG_COUNTER_TEXT];
	uint32_t ncounters;
	double min, max; /* per frame; max < 0: no upper limit */
	uint64_t slack;
};

struct pg_scenario {
	char name[64];
	char proves[1024];
	struct pg_conf conf;
	uint64_t count;
	uint64_t rate_pps;
	uint32_t nexpect;
	struct pg_expect expect[PG_EXPECT_MAX];
};

int pg_scenario_load(struct pg_scenario *s, const char *path, char *err, size_t err_max);
/* The same from text, for tests. */
int pg_scenario_parse(struct pg_scenario *s, const char *text, char *err, size_t err_max);

/* "02:00:00:00:00:01", "10.0.0.1" */
bool pg_mac_parse(const char *text, uint8_t mac[6]);
bool pg_ip_parse(const char *text, uint32_t *ip);

/* Value of a counter in a parsed stats file; false if it has none of that name. */
bool pg_counter(const json_t *stats, const char *counter, const char *leg, uint64_t *value);
/* Prints a line per expectation to f.  0: all hold; 1: some do not; -1 and err: cannot
 * be judged (a counter is not in the files). */
int pg_judge(const struct pg_scenario *s, const uint64_t made[PG_KINDS_COUNT], const json_t *before,
	     const json_t *after, const char *leg, FILE *f, char *err, size_t err_max);

#endif
