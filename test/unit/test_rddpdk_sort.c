/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorting by UDP port with RSS: the key and the queues against DPDK's own Toeplitz hash. */
#include "cmocka_all.h"

#include "base/prng.h"
#include "../../driver/dpdk/sort_internal.h"

#include <rte_ethdev.h>
#include <rte_thash.h>

static const struct {
	uint16_t first, ports, queues;
} cases[] = {
	{7812, 2, 2}, {7812, 4, 4},   {7812, 16, 16}, {7812, 3, 2},
	{4096, 8, 8}, {65520, 16, 7}, {15, 5, 5},
};

/* Whatever the peer: the port alone names the queue, at every size of the table. */
static void
port_names_the_queue(void **state)
{
	uint8_t key[RD_SORT_KEY_MAX];
	(void)state;
	struct base_prng rng = base_prng_seed(5);
	rd_sort_key(key);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		for (uint32_t k = 0; k < 4096; k++) {
			uint16_t index = (uint16_t)(base_prng_next(&rng) % cases[i].ports);
			uint16_t port = (uint16_t)(cases[i].first + index);
			uint32_t tuple[3] = {(uint32_t)base_prng_next(&rng),
					     (uint32_t)base_prng_next(&rng),
					     (uint32_t)base_prng_next(&rng) << 16 | port};
			uint32_t hash = rte_softrss(tuple, 3, key);
			uint32_t reta = 16u << k % 6; /* 16 .. 512 entries */
			assert_int_equal(rd_sort_queue(hash & (reta - 1), cases[i].first,
						       cases[i].ports, cases[i].queues),
					 index % cases[i].queues);
		}
}

/* The same of IPv6, if the source's bits 92 to 95 are 0; else all of a source are moved alike. */
static void
port_names_the_queue_of_ipv6(void **state)
{
	uint8_t key[RD_SORT_KEY_MAX];
	(void)state;
	struct base_prng rng = base_prng_seed(6);
	rd_sort_key(key);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		for (uint32_t k = 0; k < 4096; k++) {
			uint32_t moved = k % 16, tuple[9];
			for (size_t w = 0; w < 9; w++)
				tuple[w] = (uint32_t)base_prng_next(&rng);
			uint16_t index = (uint16_t)(base_prng_next(&rng) % cases[i].ports);
			uint16_t port = (uint16_t)(cases[i].first + index);
			tuple[2] = (tuple[2] & ~15u) | moved;
			tuple[8] = tuple[8] << 16 | port;
			uint32_t hash = rte_softrss(tuple, 9, key);
			tuple[2] &= ~15u;
			tuple[8] = tuple[8] ^ moved; /* as if that were its port */
			assert_int_equal(hash & 15, rte_softrss(tuple, 9, key) & 15);
			uint32_t reta = 16u << k % 6; /* 16 .. 512 entries */
			if (!moved)
				assert_int_equal(rd_sort_queue(hash & (reta - 1), cases[i].first,
							       cases[i].ports, cases[i].queues),
						 index % cases[i].queues);
		}
}

static void
other_ports_have_a_queue(void **state)
{
	(void)state;
	for (uint32_t hash = 0; hash < 512; hash++)
		for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
			assert_in_range(rd_sort_queue(hash, cases[i].first, cases[i].ports,
						      cases[i].queues),
					0, cases[i].queues - 1);
}

#define FOUR RTE_ETH_RSS_NONFRAG_IPV4_UDP
#define SIX  RTE_ETH_RSS_NONFRAG_IPV6_UDP

static void
what_a_device_must_offer(void **state)
{
	static const struct {
		uint64_t types;
		uint16_t reta;
		uint8_t key;
		uint64_t hashed;
	} rows[] = {
		{FOUR, 128, 40, FOUR},
		{FOUR, 512, 52, FOUR},
		{FOUR, 64, 0, FOUR}, /* does not say */
		{FOUR, 8, 40, 0},
		{FOUR, 0, 40, 0},
		{FOUR, 128, 10, 0},
		{FOUR, 1024, 40, 0},
		{RTE_ETH_RSS_IPV4, 128, 40, 0},
		{FOUR | SIX, 128, 40, FOUR | SIX},
		{FOUR | SIX | RTE_ETH_RSS_IPV6, 128, 0, FOUR | SIX},
		{FOUR | SIX, 128, 39, FOUR}, /* its key is too short */
		{SIX, 128, 40, 0},
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct rte_eth_dev_info info = {.flow_type_rss_offloads = rows[i].types,
						.reta_size = rows[i].reta,
						.hash_key_size = rows[i].key};
		assert_int_equal(rd_sort_rss_offered(&info), rows[i].hashed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(port_names_the_queue),
		cmocka_unit_test(port_names_the_queue_of_ipv6),
		cmocka_unit_test(other_ports_have_a_queue),
		cmocka_unit_test(what_a_device_must_offer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
