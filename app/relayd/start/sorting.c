/* SPDX-License-Identifier: BSD-2-Clause */
#include "sorting.h"

#include <stdio.h>
#include <string.h>

static void
ask_leg(const struct rd_conf_port *p, struct rd_port_conf *pc)
{
	struct rd_sort_to *to = &pc->sort[pc->nsort++];
	*to = (struct rd_sort_to){
		.ipv4 = p->address, .port = (uint16_t)p->udp_port, .vlan = (uint16_t)p->vlan};
	if (!p->prefix6_len)
		return;
	to = &pc->sort[pc->nsort++];
	*to = (struct rd_sort_to){
		.six = true, .port = (uint16_t)p->udp_port, .vlan = (uint16_t)p->vlan};
	memcpy(to->ipv6, p->address6, sizeof to->ipv6);
}

void
rd_sorting_ask(const struct rd_conf *conf, uint32_t leg, uint32_t workers, struct rd_port_conf *pc)
{
	_Static_assert(RD_SORT_MAX == RD_LEGS * 2, "two addresses of each leg at a port");
	_Static_assert(RD_SORT_PORTS_MAX >= RD_WORKERS_MAX, "a port for each worker");
	pc->nsort = 0;
	pc->sort_ports = (uint16_t)workers;
	ask_leg(&conf->port[leg], pc);
	if (leg == RD_LEG_PRIVATE && rd_conf_one_port(conf))
		ask_leg(&conf->port[RD_LEG_GLOBAL], pc);
}

const char *
rd_sorting_by(const struct rd_port *p)
{
	switch (p->sort) {
	case RD_SORT_FLOW:
		return *p->sort_refused ? "flow rules of the port, in part"
					: "flow rules of the port";
	case RD_SORT_RSS:
		return p->sort_rss6 ? "the port's RSS" : "the port's RSS (IPv4 alone)";
	case RD_SORT_NONE:
		break;
	}
	return "the workers";
}

enum rd_log_level
rd_sorting_refusal(const char *leg, const struct rd_port *p, char out[RD_SORTING_TEXT])
{
	*out = '\0';
	if (!*p->sort_refused)
		return RD_LOG_DEBUG;
	const char *what = p->sort == RD_SORT_FLOW ? "not all flow rules" : "no flow rules";
	if (p->sort_rss)
		snprintf(out, RD_SORTING_TEXT, "%s leg: %s takes %s (%s), so its RSS sorts%s", leg,
			 p->driver, what, p->sort_refused,
			 p->sort == RD_SORT_FLOW ? " the rest" : "");
	else
		snprintf(out, RD_SORTING_TEXT,
			 "%s leg: %s takes %s (%s), and cannot sort by RSS: workers hand %s over "
			 "to each other, which costs copies (steered)",
			 leg, p->driver, what, p->sort_refused,
			 p->sort == RD_SORT_FLOW ? "the other frames" : "frames");
	return p->sort_rss ? RD_LOG_INFO : RD_LOG_WARNING;
}
