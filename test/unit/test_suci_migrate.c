/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer that changes its address: the path follows it, and nobody else. */
#include "test_suci_path.h"

#define DELAY_NS (2 * BASE_MS_NS)
#define RTT_NS	 (2 * DELAY_NS)

static struct pair *
movable(bool migrate)
{
	struct pair *t = pair_new(3, DELAY_NS);
	t->conf[0].keepalive_ns = t->conf[1].keepalive_ns = 100 * BASE_MS_NS;
	t->conf[0].liveness_ns = t->conf[1].liveness_ns = BASE_S_NS;
	t->conf[1].migrate = migrate;
	pair_start(t);
	return t;
}

static void
go_elsewhere(struct pair *t, uint8_t ip, uint16_t port)
{
	t->l.former[0] = t->l.addr[0];
	t->l.addr[0].ip[15] = ip;
	t->l.addr[0].port = port;
}

/* Both directions busy; side 0 moves: every segment arrives. */
static void
test_moves(void **state)
{
	(void)state;
	struct pair *t = movable(true);
	uint32_t path = t->s[1].path;
	t->want = 4000;
	pair_send(t, 0, 2000, 1000);
	pair_send(t, 1, 2000, 1000);
	pair_run(t, 6 * RTT_NS);
	assert_true(t->s[0].acked > 100 && t->s[0].acked < 2000);
	uint32_t grown = pair_info(t, 1).cwnd;
	assert_true(grown > 20);
	struct suci_addr was = t->l.addr[0];
	go_elsewhere(t, 77, 4711);
	/* The old address has three waits to answer, each of 20 ms and the acknowledgement's. */
	pair_run(t, 60 * BASE_MS_NS);
	assert_int_equal(t->s[1].moves, 0);
	for (int ms = 0; ms < 20 && !t->s[1].moves; ms++)
		pair_run(t, BASE_MS_NS);
	assert_int_equal(t->s[1].moves, 1);
	assert_memory_equal(&t->s[1].moved_from, &was, sizeof was);
	assert_memory_equal(&t->s[1].moved_to, &t->l.addr[0], sizeof was);
	struct suci_path_info i = pair_info(t, 1);
	assert_memory_equal(&i.peer, &t->l.addr[0], sizeof was);
	assert_int_equal(i.moves, 1);
	assert_true(i.cwnd <= 12); /* congestion control began anew */
	assert_int_equal(suci_path_find(t->l.ep[1], &t->l.addr[0]), path);
	assert_int_equal(suci_path_find(t->l.ep[1], &was), UINT32_MAX);
	pair_run(t, 5 * BASE_S_NS);
	for (int side = 0; side < 2; side++) {
		assert_int_equal(t->s[side].acked, 2000);
		assert_int_equal(t->s[side].downs, 0);
		for (uint32_t k = 0; k < 2000; k++)
			assert_true(t->s[side].seen[k] >= 1);
	}
	assert_int_equal(pair_count(t, 1)->paths_moved, 1);
	assert_int_equal(pair_count(t, 1)->tx_challenges, 1);
	pair_free(t);
}

/* Idle: the keepalive tells.  Another port only: the measurements stay. */
static void
test_moves_idle(void **state)
{
	(void)state;
	struct pair *t = movable(true);
	t->want = 500;
	pair_send(t, 0, 500, 1000);
	pair_send(t, 1, 500, 1000);
	pair_run(t, BASE_S_NS / 2);
	uint32_t cwnd = pair_info(t, 1).cwnd;
	uint64_t rtt = pair_info(t, 1).rtt_ns;
	go_elsewhere(t, 1, 999);
	pair_run(t, 100 * BASE_MS_NS + 6 * RTT_NS);
	assert_int_equal(t->s[1].moves, 1);
	assert_int_equal(pair_info(t, 1).cwnd, cwnd);
	assert_in_range(pair_info(t, 1).rtt_ns, rtt - rtt / 8, rtt + rtt / 8);
	pair_run(t, 5 * BASE_S_NS);
	assert_int_equal(t->s[0].downs + t->s[1].downs, 0);
	/* And once more, after which the first address is a stranger's. */
	go_elsewhere(t, 9, 1);
	pair_run(t, BASE_S_NS);
	assert_int_equal(t->s[1].moves, 2);
	assert_int_equal(t->s[0].downs + t->s[1].downs, 0);
	pair_free(t);
}

static void
test_switched_off(void **state)
{
	(void)state;
	struct pair *t = movable(false);
	go_elsewhere(t, 77, 4711);
	pair_run(t, 3 * BASE_S_NS);
	assert_int_equal(t->s[1].moves, 0);
	assert_int_equal(pair_count(t, 1)->tx_challenges, 0);
	assert_true(pair_count(t, 1)->drop_address > 0);
	assert_int_equal(t->s[1].why, SUCI_DOWN_SILENT);
	pair_free(t);
}

/* The next datagram side 0 sends, kept instead of delivered. */
static size_t catch (struct pair *t, uint8_t bytes[2048])
{
	struct suci_out out;
	pair_send(t, 0, 1, 100);
	assert_int_equal(suci_tx(t->l.ep[0], &out, t->l.now_ns), 1);
	return link_flatten(&out, bytes);
}

/* Everything the endpoint sends to that address now: its bytes; the last in last. */
static uint64_t
sent_to(struct pair *t, const struct suci_addr *to, uint8_t last[2048])
{
	struct suci_out out;
	uint64_t sum = 0;
	while (suci_tx(t->l.ep[1], &out, t->l.now_ns)) {
		if (memcmp(&out.to, to, sizeof *to))
			continue;
		sum += link_flatten(&out, last);
	}
	return sum;
}

/* Datagrams with the right tag from addresses that do not answer, or answer wrongly. */
static void
test_spoofed(void **state)
{
	(void)state;
	struct pair *t = movable(true);
	uint8_t bytes[2048], answer[2048];
	struct suci_addr liar = link_addr(30), other = link_addr(31);
	pair_run(t, RTT_NS * 2);
	size_t len = catch (t, bytes);
	assert_int_equal(sent_to(t, &liar, answer), 0);

	/* One challenge, not longer than what drew it, and nothing is taken in. */
	suci_rx(t->l.ep[1], &liar, bytes, len, 0, t->l.now_ns);
	assert_int_equal(t->s[1].segments, 0);
	assert_int_equal(sent_to(t, &liar, answer), SUCI_PATH_HDR);
	assert_int_equal(answer[0], SUCI_VERSION << 4 | SUCI_T_CHALLENGE);
	uint64_t token = be64_load(answer + 8);

	/* More of them, from there and elsewhere: none while that one is open. */
	for (int i = 0; i < 1000; i++) {
		suci_rx(t->l.ep[1], i & 1 ? &liar : &other, bytes, len, 0, t->l.now_ns);
		assert_int_equal(sent_to(t, &liar, answer), 0);
		assert_int_equal(sent_to(t, &other, answer), 0);
	}
	assert_int_equal(pair_count(t, 1)->tx_challenges, 1);

	/* Guesses; the right answer from another place; the answer too late. */
	uint8_t r[SUCI_PATH_HDR] = {SUCI_VERSION << 4 | SUCI_T_RESPONSE};
	memcpy(r + 4, bytes + 4, 4);
	for (uint64_t guess = 0; guess < 1000; guess++) {
		be64_store(r + 8, guess);
		suci_rx(t->l.ep[1], &liar, r, sizeof r, 0, t->l.now_ns);
	}
	be64_store(r + 8, token);
	suci_rx(t->l.ep[1], &other, r, sizeof r, 0, t->l.now_ns);
	suci_rx(t->l.ep[1], &t->l.addr[0], r, sizeof r, 0, t->l.now_ns);
	assert_int_equal(pair_count(t, 1)->drop_response, 1002);
	suci_rx(t->l.ep[1], &liar, r, sizeof r - 1, 0, t->l.now_ns);
	assert_int_equal(pair_count(t, 1)->drop_short, 1);
	uint8_t longer[SUCI_PATH_HDR + 1] = {0};
	memcpy(longer, r, sizeof r);
	suci_rx(t->l.ep[1], &liar, longer, sizeof longer, 0, t->l.now_ns);
	assert_int_equal(pair_count(t, 1)->drop_malformed, 1);
	pair_run(t, BASE_S_NS / 2);
	suci_rx(t->l.ep[1], &liar, r, sizeof r, 0, t->l.now_ns);
	assert_int_equal(pair_count(t, 1)->drop_response, 1003);

	/* Challenges that the true peer hears from strangers draw nothing. */
	uint8_t c[SUCI_PATH_HDR] = {SUCI_VERSION << 4 | SUCI_T_CHALLENGE};
	memcpy(c + 4, bytes + 4, 4);
	suci_rx(t->l.ep[1], &liar, c, sizeof c, 0, t->l.now_ns);
	assert_int_equal(sent_to(t, &liar, answer), 0);

	assert_int_equal(t->s[1].moves, 0);
	/* All the while the path is where it was; the datagram caught comes again. */
	t->want = 11;
	pair_send(t, 0, 10, 100);
	assert_true(link_run(&t->l, t->l.now_ns + BASE_S_NS, pair_all_acked, t));
	assert_int_equal(t->s[0].downs + t->s[1].downs, 0);
	pair_free(t);
}

/* What is old or says nothing new does not even draw a challenge. */
static void
test_old_datagrams(void **state)
{
	(void)state;
	struct pair *t = movable(true);
	uint8_t bytes[2048], answer[2048];
	struct suci_addr liar = link_addr(30);
	pair_run(t, RTT_NS * 2);
	size_t len = catch (t, bytes);
	suci_rx(t->l.ep[1], &t->l.addr[0], bytes, len, 0, t->l.now_ns);
	sent_to(t, &liar, answer);
	suci_rx(t->l.ep[1], &liar, bytes, len, 0, t->l.now_ns); /* replayed */
	assert_int_equal(sent_to(t, &liar, answer), 0);
	bytes[1] |= SUCI_PF_BARE;
	be32_store(bytes + 8, 1000000);
	suci_rx(t->l.ep[1], &liar, bytes, len, 0, t->l.now_ns);
	assert_int_equal(sent_to(t, &liar, answer), 0);
	assert_int_equal(pair_count(t, 1)->tx_challenges, 0);
	pair_free(t);
}

/* Never onto another path: two peers cannot be at one address. */
static void
test_address_in_use(void **state)
{
	(void)state;
	struct pair *t = movable(true);
	struct suci_addr other = link_addr(40);
	uint8_t bytes[2048], answer[2048];
	uint32_t path;
	assert_int_equal(suci_path_open(t->l.ep[1], &other, NULL, 0, &path, t->l.now_ns), 0);
	size_t len = catch (t, bytes);
	sent_to(t, &other, answer);
	suci_rx(t->l.ep[1], &other, bytes, len, 0, t->l.now_ns);
	uint8_t r[SUCI_PATH_HDR] = {SUCI_VERSION << 4 | SUCI_T_RESPONSE};
	if (sent_to(t, &other, answer)) {
		memcpy(r + 4, bytes + 4, 4);
		memcpy(r + 8, answer + 8, 8);
		suci_rx(t->l.ep[1], &other, r, sizeof r, 0, t->l.now_ns);
	}
	assert_int_equal(t->s[1].moves, 0);
	assert_int_equal(suci_path_find(t->l.ep[1], &other), path);
	suci_path_close(t->l.ep[1], path, "", t->l.now_ns);
	sent_to(t, &other, answer);
	pair_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves),	      cmocka_unit_test(test_moves_idle),
		cmocka_unit_test(test_switched_off),  cmocka_unit_test(test_spoofed),
		cmocka_unit_test(test_old_datagrams), cmocka_unit_test(test_address_in_use),
	};
	return cmocka_run_group_tests_name("suci migrate", tests, NULL, NULL);
}
