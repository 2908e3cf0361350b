/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams into queues by their UDP port. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "driver/port.h"
#include "sort_internal.h"

/* Toeplitz: bit i of what is hashed adds the 32 bits of the key from bit i on.  Of source
 * address, destination address, source port, destination port (96 bits) the last four see
 * this one bit of the key, at the four lowest places of the hash; all others see zeros.  Of
 * IPv6's (288 bits) the last four see the other one, which IPv4's never see. */
#define KEY_BIT	 123u
#define KEY_BIT6 315u

void
rd_sort_key(uint8_t key[RD_SORT_KEY_MAX])
{
	memset(key, 0, RD_SORT_KEY_MAX);
	key[KEY_BIT / 8] = (uint8_t)(0x80u >> KEY_BIT % 8);
	key[KEY_BIT6 / 8] = (uint8_t)(0x80u >> KEY_BIT6 % 8);
}

/* The lowest bit of the port comes out highest. */
uint16_t
rd_sort_queue(uint32_t hash, uint16_t first, uint16_t ports, uint16_t queues)
{
	uint32_t low = (hash & 1) << 3 | (hash & 2) << 1 | (hash & 4) >> 1 | (hash & 8) >> 3;
	uint32_t index = (low - first) & 15u;
	return (uint16_t)(index < ports ? index % queues : 0);
}

static bool
takes_key(const struct rte_eth_dev_info *info, uint32_t bit)
{
	return info->hash_key_size == 0 ||
	       (info->hash_key_size > bit / 8 && info->hash_key_size <= RD_SORT_KEY_MAX);
}

uint64_t
rd_sort_rss_offered(const struct rte_eth_dev_info *info)
{
	uint64_t six = takes_key(info, KEY_BIT6) ? RTE_ETH_RSS_NONFRAG_IPV6_UDP : 0;
	if (!(info->flow_type_rss_offloads & RTE_ETH_RSS_NONFRAG_IPV4_UDP) ||
	    info->reta_size < 16 || info->reta_size > RTE_ETH_RSS_RETA_SIZE_512 ||
	    !takes_key(info, KEY_BIT))
		return 0;
	return info->flow_type_rss_offloads & (RTE_ETH_RSS_NONFRAG_IPV4_UDP | six);
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
			rd_sort_queue(i, c->sort[0].port, c->sort_ports, p->n_rxq);
	}
	return rte_eth_dev_rss_reta_update(p->id, reta, size) == 0;
}

/* Drivers have their own words for what they do not take, or none. */
static void
note_refusal(struct rd_port *p, const struct rd_sort_to *to, uint16_t port, const char *call, int r,
	     const struct rte_flow_error *error)
{
	struct in_addr four = {.s_addr = rte_cpu_to_be_32(to->ipv4)};
	char at[INET6_ADDRSTRLEN] = "";
	if (*p->sort_refused)
		return;
	(void)inet_ntop(to->six ? AF_INET6 : AF_INET,
			to->six ? (const void *)to->ipv6 : (const void *)&four, at, sizeof at);
	snprintf(p->sort_refused, sizeof p->sort_refused, "%s of UDP port %u of %s to a queue: %s",
		 call, port, at, error->message ? error->message : rte_strerror(r < 0 ? -r : r));
}

/* NULL: the device does not take it. */
static struct rte_flow *
add_rule(struct rd_port *p, const struct rd_sort_to *to, uint16_t port, uint16_t queue)
{
	struct rte_flow_attr attr = {.ingress = 1};
	struct rte_flow_item_ipv4 ip = {.hdr.dst_addr = rte_cpu_to_be_32(to->ipv4)};
	struct rte_flow_item_ipv4 ip_mask = {.hdr.dst_addr = UINT32_MAX};
	struct rte_flow_item_ipv6 six, six_mask;
	struct rte_flow_item_udp udp = {.hdr.dst_port = rte_cpu_to_be_16(port)};
	struct rte_flow_item_udp udp_mask = {.hdr.dst_port = UINT16_MAX};
	struct rte_flow_item_vlan tag = {.tci = rte_cpu_to_be_16(to->vlan)};
	struct rte_flow_item_vlan tag_mask = {.tci = rte_cpu_to_be_16(0xfff)};
	struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = to->vlan ? RTE_FLOW_ITEM_TYPE_VLAN : RTE_FLOW_ITEM_TYPE_VOID,
		 .spec = to->vlan ? &tag : NULL,
		 .mask = to->vlan ? &tag_mask : NULL},
		{.type = to->six ? RTE_FLOW_ITEM_TYPE_IPV6 : RTE_FLOW_ITEM_TYPE_IPV4,
		 .spec = to->six ? (const void *)&six : (const void *)&ip,
		 .mask = to->six ? (const void *)&six_mask : (const void *)&ip_mask},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &udp_mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};
	struct rte_flow_action_queue into = {.index = queue};
	struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &into},
		{.type = RTE_FLOW_ACTION_TYPE_END},
	};
	struct rte_flow_error error = {0};
	memset(&six, 0, sizeof six);
	memset(&six_mask, 0, sizeof six_mask);
	memcpy(&six.hdr.dst_addr, to->ipv6, sizeof to->ipv6);
	memset(&six_mask.hdr.dst_addr, 0xff, sizeof to->ipv6);
	int r = rte_flow_validate(p->id, &attr, pattern, actions, &error);
	if (r != 0) {
		note_refusal(p, to, port, "rte_flow_validate", r, &error);
		return NULL;
	}
	error = (struct rte_flow_error){0};
	struct rte_flow *rule = rte_flow_create(p->id, &attr, pattern, actions, &error);
	if (!rule)
		note_refusal(p, to, port, "rte_flow_create", rte_errno, &error);
	return rule;
}

/* All or none. */
static bool
add_rules(struct rd_port *p, const struct rd_sort_to *to, uint16_t ports)
{
	struct rte_flow *rule[RD_SORT_PORTS_MAX];
	struct rte_flow_error error;
	for (uint16_t i = 0; i < ports; i++) {
		rule[i] = add_rule(p, to, (uint16_t)(to->port + i), i % p->n_rxq);
		if (rule[i])
			continue;
		while (i-- > 0)
			(void)rte_flow_destroy(p->id, rule[i], &error);
		return false;
	}
	return true;
}

void
rd_sort_start(struct rd_port *p, const struct rd_port_conf *c, uint64_t rss, uint16_t reta_size)
{
	p->sort = RD_SORT_NONE;
	p->sort_ruled = 0;
	*p->sort_refused = '\0';
	p->sort_rss = p->sort_rss6 = false;
	if (!c->sort_ports || !c->nsort || p->n_rxq < 2)
		return;
	p->sort_rss = rss && fill_reta(p, c, reta_size);
	p->sort_rss6 = p->sort_rss && (rss & RTE_ETH_RSS_NONFRAG_IPV6_UDP);
	for (uint16_t k = 0; k < c->nsort; k++)
		if (add_rules(p, &c->sort[k], c->sort_ports))
			p->sort_ruled |= 1u << k;
	p->sort = p->sort_ruled ? RD_SORT_FLOW : p->sort_rss ? RD_SORT_RSS : RD_SORT_NONE;
}
