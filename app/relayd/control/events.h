/* SPDX-License-Identifier: BSD-2-Clause */
/* events.h - what workers and the gateway have to say, to whom it is of interest: jobs, circuits,
 * or people, who read the log.
 *
 * Threads  control. */
#ifndef RD_EVENTS_H
#define RD_EVENTS_H

#include "jobs.h"
#include "lights.h"
#include "mail.h"

struct rd_event_log {
	const struct rd_conf *conf;
	struct rd_log_limit neigh, path, channel, site;
};

void rd_event_log_init(struct rd_event_log *l, const struct rd_conf *conf);
/* A line of the log. */
void rd_event_log(struct rd_event_log *l, uint64_t now_ns, const struct rd_event *e);
/* What was left out is said when it is over, not only with the next line. */
void rd_event_log_tick(struct rd_event_log *l, uint64_t now_ns);

#endif
