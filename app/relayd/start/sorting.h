/* SPDX-License-Identifier: BSD-2-Clause */
/* sorting.h - datagrams into the queues of their workers: for which addresses a port is asked, and
 * what is said of its answer.
 *
 * Threads  before others are there. */
#ifndef RD_SORTING_H
#define RD_SORTING_H

#include "rd/conf.h"

#include "driver/port.h"

#define RD_SORTING_TEXT 480

/* Into pc->sort, nsort and sort_ports: the IPv4 and the IPv6 address of this leg, and those of
 * the global one where that is at the private leg's port; workers of each at its ports. */
void rd_sorting_ask(const struct rd_conf *conf, uint32_t leg, uint32_t workers,
		    struct rd_port_conf *pc);

/* What sorts at the port, "flow rules of the port" for example. */
const char *rd_sorting_by(const struct rd_port *p);

/* Why not all of it is done by flow rules, as a sentence into out, and what it costs.  The level
 * of such a line; RD_LOG_DEBUG: there is nothing to say, and out is "". */
enum rd_log_level rd_sorting_refusal(const char *leg, const struct rd_port *p,
				     char out[RD_SORTING_TEXT]);

#endif
