/* SPDX-License-Identifier: BSD-2-Clause */
#include "nics.h"

#include "log.h"

#include "base/clock.h"

#include <rte_ethdev.h>

#include <stdlib.h>

#define LOOK_NS BASE_S_NS

static bool
is_link_up(uint16_t id)
{
	struct rte_eth_link link = {0};
	return rte_eth_link_get_nowait(id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

/* Drivers say so also where nothing has changed. */
static void
count_link_event(uint16_t id, struct rd_nic *nic)
{
	bool up = is_link_up(id);
	if (atomic_exchange(&nic->seen_up, up) != up)
		atomic_fetch_add(&nic->link_events, 1);
}

static int
count_nic_event(uint16_t id, enum rte_eth_event_type type, void *arg, void *out)
{
	struct rd_nic *nic = arg;
	(void)out;
	if (type == RTE_ETH_EVENT_INTR_LSC)
		count_link_event(id, nic);
	else
		atomic_fetch_add(type == RTE_ETH_EVENT_INTR_RMV ? &nic->removed : &nic->resets, 1);
	return 0;
}

static const enum rte_eth_event_type nic_events[] = {
	RTE_ETH_EVENT_INTR_RMV, RTE_ETH_EVENT_INTR_RESET, RTE_ETH_EVENT_INTR_LSC};
#define NIC_EVENTS (sizeof nic_events / sizeof *nic_events)

static void
read_link(const struct rd_port *port, struct rd_nic *nic)
{
	struct rte_eth_link link = {0};
	bool known = port->open && rte_eth_link_get_nowait(port->id, &link) == 0;
	nic->up = known && link.link_status == RTE_ETH_LINK_UP;
	nic->speed_mbps =
		known && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN ? link.link_speed : 0;
}

void
rd_nic_watch(struct rd_nics *s, uint32_t leg)
{
	uint16_t id = s->port[leg].id;
	struct rd_nic *nic = &s->nic[leg];
	read_link(&s->port[leg], nic);
	atomic_store(&nic->seen_up, nic->up);
	if (!s->port[leg].open)
		return;
	for (size_t i = 0; i < NIC_EVENTS; i++)
		(void)rte_eth_dev_callback_register(id, nic_events[i], count_nic_event, nic);
}

void
rd_nic_unwatch(struct rd_nics *s, uint32_t leg)
{
	uint16_t id = s->port[leg].id;
	struct rd_nic *nic = &s->nic[leg];
	if (!s->port[leg].open)
		return;
	for (size_t i = 0; i < NIC_EVENTS; i++)
		(void)rte_eth_dev_callback_unregister(id, nic_events[i], count_nic_event, nic);
}

void
rd_nics_init(struct rd_nics *s, struct rd_port *port, const struct rd_port_conf *conf, uint32_t n,
	     struct rd_post *post)
{
	s->port = port;
	s->port_conf = conf;
	s->n = n;
	s->post = post;
	for (uint32_t i = 0; i < n; i++)
		rd_nic_watch(s, i);
}

void
rd_nics_fini(struct rd_nics *s)
{
	rd_nic_reset_fini(s);
	for (uint32_t i = 0; i < s->n; i++)
		rd_nic_unwatch(s, i);
	s->n = 0;
}

/* events: changes that the driver told of, since it was looked at. */
static void
look_at_link(struct rd_nics *s, uint32_t i, uint64_t events)
{
	struct rd_nic *nic = &s->nic[i];
	bool was = nic->up;
	read_link(&s->port[i], nic);
	if (nic->up != was) {
		nic->link_changes++;
		rd_log(nic->up ? RD_LOG_INFO : RD_LOG_WARNING, "%s leg: link is %s",
		       rd_leg_names[i], nic->up ? "up" : "down");
	} else if (events > 1) {
		nic->link_changes += 2;
		rd_log(RD_LOG_WARNING, "%s leg: link was %s for a moment", rd_leg_names[i],
		       was ? "down" : "up");
	}
}

static void
look_at_nic(struct rd_nics *s, uint32_t i)
{
	struct rd_nic *nic = &s->nic[i];
	uint64_t link = atomic_load(&nic->link_events), events = link - nic->link_told;
	nic->link_told = link;
	if (!s->port[i].open)
		return; /* nic_reset.c tells */
	look_at_link(s, i, events);
	uint64_t removed = atomic_load(&nic->removed), resets = atomic_load(&nic->resets);
	if (removed != nic->removed_told)
		rd_log(RD_LOG_ERROR, "%s leg: %s was removed; plug it in and restart relayd",
		       rd_leg_names[i], s->port[i].device);
	if (resets != nic->resets_told) {
		rd_log(RD_LOG_WARNING, "%s leg: %s has to be reset, says its driver",
		       rd_leg_names[i], s->port[i].device);
		nic->wanted = true;
	}
	nic->removed_told = removed;
	nic->resets_told = resets;
}

static bool
is_nic_event_new(const struct rd_nic *nic)
{
	return atomic_load(&nic->link_events) != nic->link_told ||
	       atomic_load(&nic->removed) != nic->removed_told ||
	       atomic_load(&nic->resets) != nic->resets_told;
}

/* net_tap has the interrupt and keeps the state, but calls nobody: so where there is one each tick
 * looks, which reads the driver's memory. */
void
rd_nics_tick(struct rd_nics *s, uint64_t now_ns)
{
	rd_nic_reset_tick(s, now_ns);
	bool due = now_ns - s->look_ns >= LOOK_NS;
	if (due)
		s->look_ns = now_ns;
	for (uint32_t i = 0; i < s->n; i++)
		if (due || s->port[i].link_intr || is_nic_event_new(&s->nic[i]))
			look_at_nic(s, i);
}

void
rd_nics_read(const struct rd_nics *s, uint32_t leg, struct rd_nic_counters *out)
{
	struct rte_eth_stats st = {0};
	if (s->port[leg].open)
		(void)rte_eth_stats_get(s->port[leg].id, &st);
#define X(n, m, h) out->n = st.m;
	RD_NIC_COUNTERS(X)
#undef X
}

void
rd_nics_xstats(const struct rd_nics *s, uint32_t leg,
	       void (*fn)(void *user, const char *name, uint64_t value), void *user)
{
	uint16_t id = s->port[leg].id;
	int n = s->port[leg].open ? rte_eth_xstats_get_names(id, NULL, 0) : 0;
	if (n <= 0)
		return;
	struct rte_eth_xstat_name *name = calloc((size_t)n, sizeof *name);
	struct rte_eth_xstat *value = calloc((size_t)n, sizeof *value);
	if (name && value && rte_eth_xstats_get_names(id, name, (unsigned)n) == n &&
	    rte_eth_xstats_get(id, value, (unsigned)n) == n)
		for (int i = 0; i < n; i++)
			if (value[i].id < (uint64_t)n)
				fn(user, name[value[i].id].name, value[i].value);
	free(name);
	free(value);
}
