/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow rules of a port for each of its addresses, as a driver sees them: --wrap puts one in place
 * of rte_flow, which takes what a test lets it take. */
#include "cmocka_all.h"

#include "../../driver/dpdk/sort_internal.h"

#include <string.h>
#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

/* A rule as it was asked for; the addresses of both kinds in network order. */
struct rule {
	bool live;
	uint8_t address[16];
	uint32_t address_len;
	uint16_t port, vlan, queue;
};
#define RULES_MAX 128
static struct {
	struct rule rule[RULES_MAX];
	uint32_t n;
	bool no_four, no_six;
	uint32_t creates; /* rules that it has room for */
	bool no_reta;
} driver;

/* What rte_flow.h promises of a pattern: each item with its mask, in this order. */
static struct rule
read_pattern(const struct rte_flow_item *item)
{
	static const uint8_t ones[16] = {255, 255, 255, 255, 255, 255, 255, 255,
					 255, 255, 255, 255, 255, 255, 255, 255};
	struct rule r = {.live = true};
	assert_int_equal(item->type, RTE_FLOW_ITEM_TYPE_ETH);
	assert_null(item->spec);
	item++;
	if (item->type == RTE_FLOW_ITEM_TYPE_VLAN) {
		const struct rte_flow_item_vlan *tag = item->spec, *mask = item->mask;
		assert_int_equal(mask->tci, rte_cpu_to_be_16(0xfff));
		r.vlan = rte_be_to_cpu_16(tag->tci);
	} else {
		assert_int_equal(item->type, RTE_FLOW_ITEM_TYPE_VOID);
	}
	item++;
	if (item->type == RTE_FLOW_ITEM_TYPE_IPV6) {
		const struct rte_flow_item_ipv6 *ip = item->spec, *mask = item->mask;
		struct rte_flow_item_ipv6 rest;
		r.address_len = 16;
		memcpy(r.address, &ip->hdr.dst_addr, 16);
		assert_memory_equal(&mask->hdr.dst_addr, ones, 16);
		memcpy(&rest, mask, sizeof rest);
		memset(&rest.hdr.dst_addr, 0, 16);
		for (size_t i = 0; i < sizeof rest; i++)
			assert_int_equal(((const uint8_t *)&rest)[i], 0);
	} else {
		const struct rte_flow_item_ipv4 *ip = item->spec, *mask = item->mask;
		assert_int_equal(item->type, RTE_FLOW_ITEM_TYPE_IPV4);
		r.address_len = 4;
		memcpy(r.address, &ip->hdr.dst_addr, 4);
		assert_int_equal(mask->hdr.dst_addr, UINT32_MAX);
		assert_int_equal(mask->hdr.src_addr, 0);
	}
	item++;
	const struct rte_flow_item_udp *udp = item->spec, *udp_mask = item->mask;
	assert_int_equal(item->type, RTE_FLOW_ITEM_TYPE_UDP);
	assert_int_equal(udp_mask->hdr.dst_port, UINT16_MAX);
	assert_int_equal(udp_mask->hdr.src_port, 0);
	r.port = rte_be_to_cpu_16(udp->hdr.dst_port);
	assert_int_equal(item[1].type, RTE_FLOW_ITEM_TYPE_END);
	return r;
}

int __wrap_rte_flow_validate(uint16_t port, const struct rte_flow_attr *attr,
			     const struct rte_flow_item pattern[],
			     const struct rte_flow_action actions[], struct rte_flow_error *error);
struct rte_flow *__wrap_rte_flow_create(uint16_t port, const struct rte_flow_attr *attr,
					const struct rte_flow_item pattern[],
					const struct rte_flow_action actions[],
					struct rte_flow_error *error);
int __wrap_rte_flow_destroy(uint16_t port, struct rte_flow *flow, struct rte_flow_error *error);
int __wrap_rte_eth_dev_rss_reta_update(uint16_t port, struct rte_eth_rss_reta_entry64 *reta,
				       uint16_t size);

int
__wrap_rte_flow_validate(uint16_t port, const struct rte_flow_attr *attr,
			 const struct rte_flow_item pattern[],
			 const struct rte_flow_action actions[], struct rte_flow_error *error)
{
	struct rule r = read_pattern(pattern);
	assert_int_equal(port, 7);
	assert_true(attr->ingress && !attr->egress && !attr->transfer);
	assert_int_equal(actions[0].type, RTE_FLOW_ACTION_TYPE_QUEUE);
	assert_int_equal(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
	if (!(r.address_len == 16 ? driver.no_six : driver.no_four))
		return 0;
	error->message = r.address_len == 16 ? "no IPv6 here" : NULL;
	return -ENOTSUP;
}

struct rte_flow *
__wrap_rte_flow_create(uint16_t port, const struct rte_flow_attr *attr,
		       const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
		       struct rte_flow_error *error)
{
	const struct rte_flow_action_queue *into = actions[0].conf;
	(void)port, (void)attr;
	if (!driver.creates) {
		error->message = "the table is full";
		rte_errno = ENOSPC;
		return NULL;
	}
	driver.creates--;
	assert_in_range(driver.n, 0, RULES_MAX - 1);
	struct rule *r = &driver.rule[driver.n++];
	*r = read_pattern(pattern);
	r->queue = into->index;
	return (struct rte_flow *)r;
}

int
__wrap_rte_flow_destroy(uint16_t port, struct rte_flow *flow, struct rte_flow_error *error)
{
	struct rule *r = (struct rule *)flow;
	(void)port, (void)error;
	assert_true(r->live);
	r->live = false;
	return 0;
}

int
__wrap_rte_eth_dev_rss_reta_update(uint16_t port, struct rte_eth_rss_reta_entry64 *reta,
				   uint16_t size)
{
	(void)port, (void)reta, (void)size;
	return driver.no_reta ? -ENOTSUP : 0;
}

/* Both kinds of addresses of two legs in two VLANs at one port, and three workers. */
static const struct rd_port_conf conf = {
	.sort = {{.ipv4 = 0x0a000001, .port = 7812, .vlan = 10},
		 {.six = true, .ipv6 = {0xfd, [15] = 1}, .port = 7812, .vlan = 10},
		 {.ipv4 = 0xc6336401, .port = 8000},
		 {.six = true, .ipv6 = {0x20, 1, 0xd, 0xb8, [15] = 0x11}, .port = 8000}},
	.nsort = 4,
	.sort_ports = 3,
};

static struct rd_port
start(uint64_t rss)
{
	struct rd_port p = {.id = 7, .n_rxq = 2};
	driver.n = 0;
	rd_sort_start(&p, &conf, rss, 128);
	return p;
}

static uint32_t
live(uint32_t address_len)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < driver.n; i++)
		n += driver.rule[i].live && driver.rule[i].address_len == address_len;
	return n;
}

static int
take_all(void **state)
{
	(void)state;
	memset(&driver, 0, sizeof driver);
	driver.creates = RULES_MAX;
	return 0;
}

static void
each_address_has_its_rules(void **state)
{
	(void)state;
	struct rd_port p = start(0);
	assert_int_equal(p.sort, RD_SORT_FLOW);
	assert_int_equal(p.sort_ruled, 15);
	assert_string_equal(p.sort_refused, "");
	assert_int_equal(driver.n, conf.nsort * conf.sort_ports);
	for (uint32_t i = 0; i < driver.n; i++) {
		const struct rd_sort_to *to = &conf.sort[i / conf.sort_ports];
		const struct rule *r = &driver.rule[i];
		rte_be32_t four = rte_cpu_to_be_32(to->ipv4);
		uint32_t k = i % conf.sort_ports;
		assert_true(r->live);
		assert_int_equal(r->address_len, to->six ? 16 : 4);
		assert_memory_equal(r->address, to->six ? (const void *)to->ipv6 : &four,
				    r->address_len);
		assert_int_equal(r->port, to->port + k);
		assert_int_equal(r->vlan, to->vlan);
		assert_int_equal(r->queue, k % 2);
	}
}

/* Those of IPv4 stay, and the driver's words are of the first address that it does not take. */
static void
without_ipv6_ipv4_is_sorted(void **state)
{
	(void)state;
	driver.no_six = true;
	struct rd_port p = start(0);
	assert_int_equal(p.sort, RD_SORT_FLOW);
	assert_int_equal(p.sort_ruled, 5);
	assert_false(p.sort_rss || p.sort_rss6);
	assert_int_equal(live(4), 6);
	assert_int_equal(live(16), 0);
	assert_string_equal(p.sort_refused,
			    "rte_flow_validate of UDP port 7812 of fd00::1 to a queue: "
			    "no IPv6 here");
}

/* All of an address or none: workers whose datagrams go to one queue and those of others to any
 * would not know whose queue that is. */
static void
a_full_table_leaves_no_half(void **state)
{
	(void)state;
	driver.creates = 5;
	struct rd_port p = start(RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP);
	assert_int_equal(p.sort, RD_SORT_FLOW);
	assert_int_equal(p.sort_ruled, 1);
	assert_true(p.sort_rss && p.sort_rss6); /* the rest */
	assert_int_equal(live(4), 3);
	assert_int_equal(live(16), 0);
	assert_string_equal(p.sort_refused,
			    "rte_flow_create of UDP port 7814 of fd00::1 to a queue: "
			    "the table is full");
}

static void
without_rules_rss_sorts(void **state)
{
	(void)state;
	driver.no_four = driver.no_six = true;
	struct rd_port p = start(RTE_ETH_RSS_NONFRAG_IPV4_UDP);
	assert_int_equal(p.sort, RD_SORT_RSS);
	assert_int_equal(p.sort_ruled, 0);
	assert_true(p.sort_rss && !p.sort_rss6);
	assert_non_null(strstr(p.sort_refused, "of UDP port 7812 of 10.0.0.1 to a queue: "));
	p = start(0);
	assert_int_equal(p.sort, RD_SORT_NONE);
	assert_false(p.sort_rss || p.sort_rss6);
	driver.no_reta = true;
	p = start(RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP);
	assert_int_equal(p.sort, RD_SORT_NONE);
	assert_false(p.sort_rss || p.sort_rss6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_address_has_its_rules, take_all),
		cmocka_unit_test_setup(without_ipv6_ipv4_is_sorted, take_all),
		cmocka_unit_test_setup(a_full_table_leaves_no_half, take_all),
		cmocka_unit_test_setup(without_rules_rss_sorts, take_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
