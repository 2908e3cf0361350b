/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the kernel cuts (GSO) and merged messages it hands us (GRO). */
#include "udp_internal.h"

#include <errno.h>
#include <netinet/udp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

static void
fill(struct udp_dgram *d, uint32_t n, uint32_t len)
{
	for (uint32_t i = 0; i < n; i++) {
		d[i] = (struct udp_dgram){.len = len, .iov = i, .niov = 1};
		d[i].to.v4.sin_family = AF_INET;
		d[i].to.v4.sin_port = htons(7);
		d[i].to.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	}
}

static void
runs_of_sizes(void **state)
{
	static const struct {
		uint32_t len[5], n, want;
	} table[] = {
		{{100}, 1, 1},
		{{100, 100}, 2, 2},
		{{100, 100, 100, 100, 100}, 5, 5},
		{{100, 100, 60, 100, 100}, 5, 3}, /* a shorter one ends it */
		{{100, 100, 60, 60, 60}, 5, 3},
		{{100, 60, 60}, 3, 2},
		{{60, 100, 100}, 3, 1}, /* a longer one does not belong to it */
		{{60, 60, 100}, 3, 2},
		{{30000, 30000, 30000}, 3, 2}, /* bytes */
		{{30000, 30000, 5507}, 3, 3},
		{{30000, 30000, 5508}, 3, 2},
		{{40000, 40000}, 2, 1},
	};

	(void)state;
	for (size_t i = 0; i < N(table); i++) {
		struct udp_dgram d[5];
		fill(d, table[i].n, 0);
		for (uint32_t k = 0; k < table[i].n; k++)
			d[k].len = table[i].len[k];
		assert_int_equal(suci_udp_run(d, table[i].n), table[i].want);
	}
}

static void
runs_of_destinations(void **state)
{
	struct udp_dgram d[3 * RUN_SEGMENTS_MAX];

	(void)state;
	fill(d, 4, 100);
	d[2].to.v4.sin_port = htons(8);
	assert_int_equal(suci_udp_run(d, 4), 2);
	assert_int_equal(suci_udp_run(d + 2, 2), 1);
	fill(d, 4, 100);
	d[1].to.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	assert_int_equal(suci_udp_run(d, 4), 1);
	assert_int_equal(suci_udp_run(d + 2, 2), 2);
	fill(d, 4, 100);
	d[3].ecn = SUCI_ECN_ECT0;
	assert_int_equal(suci_udp_run(d, 4), 3);
	fill(d, N(d), 100);
	assert_int_equal(suci_udp_run(d, N(d)), RUN_SEGMENTS_MAX);
}

/* IPv6: a run has one address, all of it, and one port. */
static void
runs_of_ipv6(void **state)
{
	struct udp_dgram d[4];

	(void)state;
	for (int k = 0; k < 3; k++) {
		for (uint32_t i = 0; i < 4; i++) {
			d[i] = (struct udp_dgram){.len = 100, .iov = i, .niov = 1};
			struct suci_addr a = {.ip = {0x20, 1, [15] = 1}, .port = 7, .family = 6};
			if (i == 2 && k < 2)
				a.ip[k == 0 ? 2 : 15]++;
			if (i == 2 && k == 2)
				a.port++;
			suci_udp_name(&a, AF_INET6, &d[i].to);
			struct suci_addr back = suci_udp_from(&d[i].to);
			assert_memory_equal(&back, &a, sizeof a);
		}
		assert_int_equal(suci_udp_run(d, 4), 2);
		assert_int_equal(suci_udp_run(d, 2), 2);
	}
	/* IPv4 by a socket that speaks both. */
	struct suci_addr four = suci_addr_v4((uint8_t[]){192, 0, 2, 7}, 9);
	suci_udp_name(&four, AF_INET6, &d[0].to);
	assert_true(IN6_IS_ADDR_V4MAPPED(&d[0].to.v6.sin6_addr));
	struct suci_addr back = suci_udp_from(&d[0].to);
	assert_memory_equal(&back, &four, sizeof four);
}

/* So many turns in which a run of that many takes the kernel so far. */
static void
turns(struct suci_udp *u, uint64_t *now_ns, uint32_t n, uint64_t stored, uint64_t of_30)
{
	for (uint32_t i = 0; i < n; i++) {
		suci_udp_run_look(u, *now_ns);
		u->count.tx_datagrams += u->run_most == 30 ? of_30 : stored;
		*now_ns += 15000000;
	}
}

static struct suci_udp *
opened(uint32_t run, bool watched)
{
	struct suci_udp_conf c = {.at = suci_addr_v4((uint8_t[]){127, 0, 0, 1}, 0),
				  .mtu = 1472,
				  .run = run,
				  .run_watched = watched};
	struct suci_udp *u = NULL;
	assert_int_equal(suci_udp_open(&c, &u), 0);
	return u;
}

static void
stored_run(void **state)
{
	uint64_t now = 1;

	(void)state;
	/* Much worse than the default: three pairs, then never again. */
	struct suci_udp *u = opened(1, true);
	assert_true(u->run_most == 1 && u->tx_most == 96);
	turns(u, &now, 8, 2000, 20000);
	assert_true(!u->watch && u->run_most == 30 && u->count.run_stale == 1);
	turns(u, &now, 500, 90000, 20000);
	assert_true(u->run_most == 30 && u->count.run_stale == 1);
	suci_udp_close(u);
	/* Better: it stays, and goes when it becomes worse. */
	u = opened(44, true);
	assert_true(u->run_most == 44 && u->tx_most == 88);
	turns(u, &now, 200, 22000, 20000);
	assert_true(u->watch && u->run_most == 44);
	turns(u, &now, 60, 15000, 20000);
	assert_true(!u->watch && u->run_most == 30 && u->count.run_stale == 1);
	suci_udp_close(u);
	/* Without load nothing is known, nor if the program was elsewhere. */
	u = opened(1, true);
	turns(u, &now, 500, 100, 127);
	for (int i = 0; i < 100; i++, now += 100000000)
		turns(u, &now, 1, 2000, 20000);
	assert_true(u->watch && !u->count.run_stale);
	/* Who says a number himself gets it. */
	suci_udp_set_run(u, 12);
	turns(u, &now, 100, 2000, 20000);
	assert_true(!u->watch && suci_udp_get_run(u) == 12);
	suci_udp_close(u);
	u = opened(12, false);
	assert_true(!u->watch && suci_udp_get_run(u) == 12);
	suci_udp_set_run(u, 0);
	assert_true(suci_udp_get_run(u) == 30 && u->tx_most == 90);
	suci_udp_close(u);
	struct suci_udp_conf c = {.run = SUCI_UDP_RUN_MAX + 1};
	assert_int_equal(suci_udp_open(&c, &u), -EINVAL);
}

/* A message with one piece of control data. */
static void
put_control(struct msghdr *m, struct control *c, int level, int type, const void *data, size_t len)
{
	memset(c, 0, sizeof *c);
	*m = (struct msghdr){.msg_control = c->bytes, .msg_controllen = CMSG_SPACE(len)};
	assert_true(m->msg_controllen <= sizeof c->bytes);
	struct cmsghdr *h = CMSG_FIRSTHDR(m);
	h->cmsg_level = level;
	h->cmsg_type = type;
	h->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(h), data, len);
}

static void
merged_size(void **state)
{
	static const struct {
		int level, type, size;
		size_t len;
		int flags;
		uint32_t want;
	} table[] = {
		{IPPROTO_UDP, UDP_GRO, 1400, 4, 0, 1400},
		{IPPROTO_UDP, UDP_GRO, 65536, 4, 0, 65536},
		{IPPROTO_UDP, UDP_GRO, 65537, 4, 0, 0},
		{IPPROTO_UDP, UDP_GRO, 0, 4, 0, 0},
		{IPPROTO_UDP, UDP_GRO, -1, 4, 0, 0},
		{IPPROTO_UDP, UDP_GRO, 1400, 2, 0, 0}, /* cut short */
		{IPPROTO_UDP, UDP_GRO, 1400, 4, MSG_CTRUNC, 0},
		{IPPROTO_UDP, UDP_SEGMENT, 1400, 4, 0, 0},
		{IPPROTO_IP, UDP_GRO, 1400, 4, 0, 0},
	};
	struct msghdr m = {0};
	struct control c;

	(void)state;
	assert_int_equal(suci_udp_merged(&m), 0);
	for (size_t i = 0; i < N(table); i++) {
		put_control(&m, &c, table[i].level, table[i].type, &table[i].size, table[i].len);
		m.msg_flags = table[i].flags;
		assert_int_equal(suci_udp_merged(&m), table[i].want);
	}
}

static void
ecn_bits(void **state)
{
	static const struct {
		int level, type;
		uint8_t tos;
		size_t len;
		uint8_t want;
	} table[] = {
		{IPPROTO_IP, IP_TOS, 0, 1, SUCI_ECN_NOT},
		{IPPROTO_IP, IP_TOS, 2, 1, SUCI_ECN_ECT0},
		{IPPROTO_IP, IP_TOS, 3, 1, SUCI_ECN_CE},
		{IPPROTO_IP, IP_TOS, 0xb9, 1, SUCI_ECN_ECT1}, /* DSCP 46 */
		{IPPROTO_IP, IP_TOS, 3, 0, SUCI_ECN_NOT},
		{IPPROTO_IP, IP_TTL, 3, 1, SUCI_ECN_NOT},
		{IPPROTO_UDP, IP_TOS, 3, 1, SUCI_ECN_NOT},
	};
	struct msghdr m = {0};
	struct control c;

	(void)state;
	assert_int_equal(suci_udp_ecn(&m), SUCI_ECN_NOT);
	for (size_t i = 0; i < N(table); i++) {
		put_control(&m, &c, table[i].level, table[i].type, &table[i].tos, table[i].len);
		assert_int_equal(suci_udp_ecn(&m), table[i].want);
	}
}

static void
pieces(void **state)
{
	static const struct {
		uint32_t len, seg, n, last;
	} table[] = {
		{0, 0, 1, 0},		{100, 0, 1, 100},	  {100, 100, 1, 100},
		{100, 200, 1, 100},	{300, 100, 3, 100},	  {301, 100, 4, 1},
		{65507, 1472, 45, 739}, {65536, 65536, 1, 65536}, {3, 1, 3, 1},
	};

	(void)state;
	for (size_t i = 0; i < N(table); i++) {
		uint32_t at = 0, n = 0, piece;
		do {
			piece = suci_udp_piece(table[i].len, table[i].seg, at);
			at += piece;
			n++;
			if (at < table[i].len)
				assert_int_equal(piece, table[i].seg);
		} while (at < table[i].len);
		assert_int_equal(at, table[i].len);
		assert_int_equal(n, table[i].n);
		assert_int_equal(piece, table[i].last);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_of_sizes), cmocka_unit_test(runs_of_destinations),
		cmocka_unit_test(runs_of_ipv6),	 cmocka_unit_test(stored_run),
		cmocka_unit_test(merged_size),	 cmocka_unit_test(pieces),
		cmocka_unit_test(ecn_bits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
