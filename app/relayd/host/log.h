/* SPDX-License-Identifier: BSD-2-Clause */
/* log.h - one line per fact, to stderr: "relayd NAME level: text"; where that is the journal, with
 * the priority of the level in front, "<4>".
 *
 * The worker never logs: it counts, and sends events that control logs.  A line
 * is one write, so lines of several processes do not mix.  What can repeat at
 * the pace of packets goes through a limit; suppressed lines are counted and
 * said when the interval is over.
 *
 * Threads  control and, before the worker runs, the start-up code. */
#ifndef RD_LOG_H
#define RD_LOG_H

#include "rd/conf.h"

#include <stdint.h>

void rd_log_init(const char *name, enum rd_log_level level);
/* From now on; and what it is. */
void rd_log_set_level(enum rd_log_level level);
enum rd_log_level rd_log_get_level(void);
void rd_log(enum rd_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* At most burst lines per interval. */
struct rd_log_limit {
	uint64_t interval_ns;
	uint32_t burst;
	uint32_t used;
	uint64_t window_ns; /* when the interval began */
	uint64_t suppressed;
	enum rd_log_level level; /* of those left out */
	char left_out[120];	 /* the first of them */
};
#define RD_LOG_LIMIT_INIT                                \
	{                                                \
		.interval_ns = 1000000000ull, .burst = 5 \
	}
void rd_log_limited(struct rd_log_limit *l, uint64_t now_ns, enum rd_log_level level,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Now and then: says how many were left out in an interval that is over. */
void rd_log_limit_tick(struct rd_log_limit *l, uint64_t now_ns);

#endif
