/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams into queues by their UDP port. */
#include <stdio.h>
#include <string.h>
#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "driver/port.h"
#include "sort_private.h"

/* Toeplitz: bit i of what is hashed adds the 32 bits of the key from bit i on.  Of source
 * address, destination address, source port, destination port (96 bits) the last four see
 * this one bit of the key, at the four lowest places of the hash; all others see zeros. */
#define KEY_BIT 123u

void
rd_sort_key(uint8_t key[RD_SORT_KEY_MAX])
{
	memset(key, 0, RD_SORT_KEY_MAX);
	key[KEY_BIT / 8] = (uint8_t)(0x80u >> KEY_BIT % 8);
}

/* The lowest bit of the port comes out highest. */
uint16_t
rd_sort_queue(uint32_t hash, uint16_t first, uint16_t ports, uint16_t queues)
{
	uint32_t low = (hash & 1) << 3 | (hash & 2) << 1 | (hash & 4) >> 1 | (hash & 8) >> 3;
	uint32_t index = (low - first) & 15u;
	return (uint16_t)(index < ports ? index % queues : 0);
}

bool
rd_sort_rss_offered(const struct rte_eth_dev_info *info)
{
	return (info->flow_type_rss_offloads & RTE_ETH_RSS_NONFRAG_IPV4_UDP) &&
	       info->reta_size >= 16 && info->reta_size <= RTE_ETH_RSS_RETA_SIZE_512 &&
	       (info->hash_key_size == 0 ||
		(info->hash_key_size > KEY_BIT / 8 && info->hash_key_size <= RD_SORT_KEY_MAX));
}

static bool
fill_reta(const struct rd_port *p, const struct rd_port_conf *c, uint16_t size)
{
	struct rte_eth_rss_reta_entry64 reta[RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE];
	memset(reta, 0, sizeof reta);
	for (uint16_t i = 0; i < size; i++) {
		struct rte_eth_rss_reta_entry64 *e = &reta[i / RTE_ETH_RETA_GROUP_SIZE];
		e->mask |= 1ull << i % RTE_ETH_RETA_GROUP_SIZE;
		e->reta[i % RTE_ETH_RETA_GROUP_SIZE] =
			rd_sort_queue(i, c->sort_port, c->sort_ports, p->n_rxq);
	}
	return rte_eth_dev_rss_reta_update(p->id, reta, size) == 0;
}

/* Drivers have their own words for what they do not take, or none. */
static void
note_refusal(struct rd_port *p, uint16_t port, const char *call, int r,
	     const struct rte_flow_error *error)
{
	snprintf(p->sort_refused, sizeof p->sort_refused, "%s of UDP port %u to a queue: %s", call,
		 port, error->message ? error->message : rte_strerror(r < 0 ? -r : r));
}

static bool
add_rule(struct rd_port *p, const struct rd_port_conf *c, uint16_t port, uint16_t queue)
{
	struct rte_flow_attr attr = {.ingress = 1};
	struct rte_flow_item_ipv4 ip = {.hdr.dst_addr = rte_cpu_to_be_32(c->sort_ipv4)};
	struct rte_flow_item_ipv4 ip_mask = {.hdr.dst_addr = UINT32_MAX};
	struct rte_flow_item_udp udp = {.hdr.dst_port = rte_cpu_to_be_16(port)};
	struct rte_flow_item_udp udp_mask = {.hdr.dst_port = UINT16_MAX};
	struct rte_flow_item_vlan tag = {.tci = rte_cpu_to_be_16(c->sort_vlan)};
	struct rte_flow_item_vlan tag_mask = {.tci = rte_cpu_to_be_16(0xfff)};
	struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = c->sort_vlan ? RTE_FLOW_ITEM_TYPE_VLAN : RTE_FLOW_ITEM_TYPE_VOID,
		 .spec = c->sort_vlan ? &tag : NULL,
		 .mask = c->sort_vlan ? &tag_mask : NULL},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &ip_mask},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &udp_mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};
	struct rte_flow_action_queue to = {.index = queue};
	struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &to},
		{.type = RTE_FLOW_ACTION_TYPE_END},
	};
	struct rte_flow_error error = {0};
	int r = rte_flow_validate(p->id, &attr, pattern, actions, &error);
	if (r != 0) {
		note_refusal(p, port, "rte_flow_validate", r, &error);
		return false;
	}
	error = (struct rte_flow_error){0};
	if (rte_flow_create(p->id, &attr, pattern, actions, &error))
		return true;
	note_refusal(p, port, "rte_flow_create", rte_errno, &error);
	return false;
}

/* All or none. */
static bool
add_rules(struct rd_port *p, const struct rd_port_conf *c)
{
	struct rte_flow_error error;
	for (uint16_t i = 0; i < c->sort_ports; i++)
		if (!add_rule(p, c, (uint16_t)(c->sort_port + i), i % p->n_rxq)) {
			if (i > 0)
				(void)rte_flow_flush(p->id, &error);
			return false;
		}
	return true;
}

void
rd_sort_start(struct rd_port *p, const struct rd_port_conf *c, bool rss, uint16_t reta_size)
{
	p->sort = RD_SORT_NONE;
	*p->sort_refused = '\0';
	if (!c->sort_ports || p->n_rxq < 2)
		return;
	if (rss && fill_reta(p, c, reta_size))
		p->sort = RD_SORT_RSS;
	if (add_rules(p, c))
		p->sort = RD_SORT_FLOW;
}
