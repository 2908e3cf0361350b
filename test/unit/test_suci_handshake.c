/* SPDX-License-Identifier: BSD-2-Clause */
/* The handshake over ways of all lengths, over ways that lose, and with a peer that is started
 * again in the middle of it. */
#include "test_suci_path.h"

#include "base/bytes.h"

static uint32_t typed[16]; /* datagrams of side 0 */
static uint8_t kept[4][2048];
static size_t kept_len[4];
static uint32_t kept_n;

static bool
count_types(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	(void)l, (void)len;
	if (from == 0)
		typed[bytes[0] & 15]++;
	return false;
}

static void
start_both(struct pair *t)
{
	for (int side = 0; side < 2; side++)
		t->l.ep[side] = link_endpoint(&t->conf[side], t->l.now_ns);
}

/* How long it takes until both are up. */
static uint64_t
open_within(struct pair *t, int side, uint64_t ns)
{
	uint64_t from = t->l.now_ns;
	uint32_t path;
	assert_int_equal(suci_path_open(t->l.ep[side], &t->l.addr[!side], NULL, 0, &path, from), 0);
	assert_true(link_run(&t->l, from + ns, pair_both_up, t));
	return t->l.now_ns - from;
}

/* HELLO is repeated while nobody can know better, less and less often; OPEN is not, for the
 * COOKIE gave back when that HELLO left; and the next time neither. */
static void
test_long_ways(void **state)
{
	static const struct {
		uint64_t rtt_ms;
		uint32_t hellos;
	} cases[] = {{1, 1}, {19, 1}, {50, 2}, {98, 2}, {200, 3}, {400, 4}, {700, 5}, {980, 5}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t rtt = cases[i].rtt_ms * BASE_MS_NS;
		print_message("  %u ms\n", (unsigned)cases[i].rtt_ms);
		struct pair *t = pair_new(1, rtt / 2);
		t->l.filter = count_types;
		start_both(t);
		memset(typed, 0, sizeof typed);
		assert_in_range(open_within(t, 0, 5 * BASE_S_NS), rtt, 2 * rtt);
		assert_int_equal(typed[SUCI_T_HELLO], cases[i].hellos);
		assert_int_equal(typed[SUCI_T_OPEN], 1);
		pair_run(t, 2 * BASE_S_NS);
		/* Both ends know the round trip. */
		pair_send(t, 0, 1, 1000);
		pair_send(t, 1, 1, 1000);
		pair_run(t, 3 * BASE_S_NS);
		assert_int_equal(pair_count(t, 1)->tx_probes, 0);
		suci_path_close(t->l.ep[0], t->s[0].path, "", t->l.now_ns);
		pair_run(t, 3 * BASE_S_NS);
		assert_false(t->s[0].up || t->s[1].up);
		memset(typed, 0, sizeof typed);
		open_within(t, 0, 5 * BASE_S_NS);
		assert_int_equal(typed[SUCI_T_HELLO], 1);
		assert_int_equal(typed[SUCI_T_OPEN], 1);
		pair_free(t);
	}
}

/* A short way that loses: what the long pauses may cost. */
static void
test_lossy_short_way(void **state)
{
	static const struct {
		uint32_t percent;
		uint64_t mean_us, late; /* of 1000 opens: on average at most, later than 100 ms */
	} cases[] = {{1, 1200, 0}, {5, 7000, 20}, {10, 18000, 60}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t sum = 0, late = 0, worst = 0;
		for (uint64_t seed = 1; seed <= 1000; seed++) {
			struct pair *t = pair_new(seed, 50 * BASE_US_NS);
			t->l.loss_ppb = cases[i].percent * 10000000ull;
			start_both(t);
			uint64_t took = open_within(t, 0, 10 * BASE_S_NS);
			sum += took;
			late += took > 100 * BASE_MS_NS;
			worst = base_max_ns(worst, took);
			pair_free(t);
		}
		print_message("  %u %% lost: %u us on average, %u of 1000 after 100 ms, worst %u "
			      "ms\n",
			      cases[i].percent, (unsigned)(sum / 1000000), (unsigned)late,
			      (unsigned)(worst / BASE_MS_NS));
		assert_in_range(sum / 1000000, 0, cases[i].mean_us);
		assert_in_range(late, 0, cases[i].late);
	}
}

/* The first life of side 1 takes the OPEN and sends something; neither its ACCEPT nor that
 * arrives, yet. */
static bool
keep_data_lose_accept(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	(void)l;
	int type = bytes[0] & 15;
	if (from != 1 || (type != SUCI_T_DATA && type != SUCI_T_ACCEPT))
		return false;
	if (type == SUCI_T_DATA && !(bytes[1] & SUCI_PF_BARE) && kept_n < 4) {
		assert_true(len <= sizeof *kept);
		memcpy(kept[kept_n], bytes, len);
		kept_len[kept_n++] = len;
	}
	return true;
}

static bool
side_1_is_up(void *arg)
{
	struct pair *t = arg;
	return t->s[1].up;
}

/* The opener sent its tag to one life of the peer, and another answers: what the former one
 * sent to that tag may still be on its way and is no data of the path that comes up. */
static void
test_other_life(void **state)
{
	static const char *const names[] = {"it answers HELLO", "it opens itself"};
	(void)state;
	for (int opens = 0; opens < 2; opens++) {
		struct pair *t = pair_new(5, BASE_MS_NS);
		uint32_t path;
		print_message("  %s\n", names[opens]);
		kept_n = 0;
		start_both(t);
		t->l.filter = keep_data_lose_accept;
		assert_int_equal(
			suci_path_open(t->l.ep[0], &t->l.addr[1], NULL, 0, &path, t->l.now_ns), 0);
		assert_true(link_run(&t->l, t->l.now_ns + BASE_S_NS, side_1_is_up, t));
		pair_send(t, 1, 2, 500);
		pair_run(t, BASE_MS_NS);
		assert_int_equal(kept_n, 2);
		assert_false(t->s[0].up);

		LINK_GIVE(suci_fini(t->l.ep[1], t->l.now_ns));
		link_drop_wire(&t->l);
		t->s[1].up = false;
		t->conf[1].incarnation++;
		t->conf[1].cookie_secret[0]++;
		t->l.ep[1] = link_endpoint(&t->conf[1], t->l.now_ns);
		t->l.filter = NULL;
		if (opens)
			open_within(t, 1, 100 * BASE_MS_NS);
		else
			assert_true(link_run(&t->l, t->l.now_ns + 5 * BASE_S_NS, pair_both_up, t));

		uint64_t unknown = pair_count(t, 0)->drop_unknown_tag;
		for (uint32_t k = 0; k < kept_n; k++)
			suci_rx(t->l.ep[0], &t->l.addr[1], kept[k], kept_len[k], 0, t->l.now_ns);
		assert_int_equal(t->s[0].segments, 0);
		assert_int_equal(pair_count(t, 0)->drop_unknown_tag, unknown + 2);
		/* Nor are its packet numbers those of the new path. */
		t->s[1].acked = 0;
		t->s[1].next = 10;
		pair_send(t, 1, 2, 500);
		pair_run(t, BASE_S_NS);
		assert_int_equal(t->s[1].acked, 2);
		assert_int_equal(t->s[0].segments, 2);
		assert_int_equal(t->s[0].seen[10] + t->s[0].seen[11], 2);
		assert_int_equal(pair_count(t, 0)->drop_duplicate_pn, 0);
		pair_free(t);
	}
}

static bool lose_accepts;

static bool
keep_accept(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	(void)l;
	bool accept = from == 1 && (bytes[0] & 15) == SUCI_T_ACCEPT;
	if (accept && kept_n == 0) {
		assert_true(len <= sizeof *kept);
		memcpy(kept[0], bytes, len);
		kept_len[kept_n++] = len;
	}
	return accept && lose_accepts;
}

/* A datagram of side 1, with the tag that its ACCEPT was for: CLOSE for that reason. */
static void
close_from(struct pair *t, enum suci_down reason)
{
	static const char text[] = "said by the other side";
	uint8_t b[SUCI_PATH_HDR + 4 + sizeof text - 1];
	assert_int_equal(kept_n, 1);
	memcpy(b, kept[0], SUCI_PATH_HDR);
	be32_store(b + 8, 0); /* it offers nothing */
	b[0] = (uint8_t)((b[0] & 0xf0) | SUCI_T_CLOSE);
	be16_store(b + SUCI_PATH_HDR, (uint16_t)reason);
	be16_store(b + SUCI_PATH_HDR + 2, sizeof text - 1);
	memcpy(b + SUCI_PATH_HDR + 4, text, sizeof text - 1);
	suci_rx(t->l.ep[0], &t->l.addr[1], b, sizeof b, 0, t->l.now_ns);
}

/* An open that the peer refused, or has given up, says nothing about a path that came up by another
 * copy of it: that ends, and the peer is not taken for dead. */
static void
test_close_of_an_open(void **state)
{
	static const struct {
		enum suci_down said, is;
	} cases[] = {{SUCI_DOWN_CLOSED, SUCI_DOWN_CLOSED},
		     {SUCI_DOWN_REFUSED, SUCI_DOWN_STALE},
		     {SUCI_DOWN_STALE, SUCI_DOWN_STALE},
		     {SUCI_DOWN_SILENT, SUCI_DOWN_SILENT}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct pair *t = pair_new(3, BASE_MS_NS);
		kept_n = 0;
		lose_accepts = false;
		t->l.filter = keep_accept;
		start_both(t);
		open_within(t, 0, BASE_S_NS);
		close_from(t, cases[i].said);
		assert_false(t->s[0].up);
		assert_int_equal(t->s[0].why, cases[i].is);
		pair_free(t);
	}
}

/* Side 0 opens, gives up, and then its OPEN is accepted after all: side 1 hears that nobody uses
 * the path, and not that its peer has ended. */
static void
test_accept_of_no_open(void **state)
{
	(void)state;
	struct pair *t = pair_new(4, BASE_MS_NS);
	uint32_t path;
	kept_n = 0;
	lose_accepts = true;
	start_both(t);
	t->l.filter = keep_accept;
	assert_int_equal(suci_path_open(t->l.ep[0], &t->l.addr[1], NULL, 0, &path, t->l.now_ns), 0);
	assert_true(link_run(&t->l, t->l.now_ns + BASE_S_NS, side_1_is_up, t));
	suci_path_close(t->l.ep[0], path, "", t->l.now_ns);
	link_drop_wire(&t->l);
	t->l.filter = NULL;
	pair_run(t, 20 * BASE_MS_NS);
	link_drop_wire(&t->l);
	assert_int_equal(kept_n, 1);
	assert_true(t->s[1].up);
	suci_rx(t->l.ep[0], &t->l.addr[1], kept[0], kept_len[0], 0, t->l.now_ns);
	pair_run(t, 10 * BASE_MS_NS);
	assert_false(t->s[1].up);
	assert_int_equal(t->s[1].why, SUCI_DOWN_STALE);
	pair_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_ways),	  cmocka_unit_test(test_lossy_short_way),
		cmocka_unit_test(test_other_life),	  cmocka_unit_test(test_close_of_an_open),
		cmocka_unit_test(test_accept_of_no_open),
	};
	return cmocka_run_group_tests_name("suci handshake", tests, NULL, NULL);
}
