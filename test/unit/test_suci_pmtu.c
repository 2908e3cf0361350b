/* SPDX-License-Identifier: BSD-2-Clause */
/* Path-MTU probing in virtual time: how soon, how exactly, at what cost, and what happens
 * when a path shrinks. */
#include "test_suci_path.h"

#define DELAY_NS (5 * BASE_MS_NS)
#define RTT_NS	 (2 * DELAY_NS)

static struct pair *
probed(uint32_t mtu_max, uint32_t mtu_min, size_t passes)
{
	struct pair *t = pair_new(1, DELAY_NS);
	for (int side = 0; side < 2; side++) {
		t->conf[side].mtu_max = mtu_max;
		t->conf[side].mtu_min = mtu_min;
	}
	t->most = passes;
	t->l.filter = pair_too_long;
	return t;
}

/* Nothing in the way: one round trip after the handshake the full size is in use. */
static void
test_full_size_at_once(void **state)
{
	(void)state;
	struct pair *t = probed(8972, SUCI_MTU_SAFE, 0);
	pair_start(t);
	for (int side = 0; side < 2; side++) {
		assert_int_equal(pair_info(t, side).mtu, SUCI_MTU_SAFE);
		assert_int_equal(pair_info(t, side).mss, SUCI_MTU_SAFE - SUCI_OVERHEAD);
		assert_int_equal(pair_info(t, side).mtu_max, 8972);
	}
	pair_run(t, RTT_NS + BASE_MS_NS / 10);
	for (int side = 0; side < 2; side++) {
		assert_int_equal(pair_info(t, side).mtu, 8972);
		assert_int_equal(pair_count(t, side)->tx_mtu_probes, 1);
	}
	pair_free(t);
}

static void
test_trusted(void **state)
{
	(void)state;
	struct pair *t = probed(8972, 0, 1472);
	pair_start(t);
	assert_int_equal(pair_info(t, 0).mtu, 8972);
	pair_run(t, 30 * BASE_S_NS);
	assert_int_equal(pair_info(t, 0).mtu, 8972);
	assert_int_equal(pair_count(t, 0)->tx_mtu_probes, 0);
	pair_free(t);
}

/* One leg is probed and the other trusted. */
static void
test_by_leg(void **state)
{
	(void)state;
	struct pair *t = probed(8972, 0, 0);
	t->conf[0].mtu_min_leg[1] = 1300;
	t->conf[1].mtu_min_leg[0] = 1400; /* the addresses of the link are of leg 0 */
	pair_start(t);
	assert_int_equal(pair_info(t, 0).mtu, 8972);
	assert_int_equal(pair_info(t, 1).mtu, 1400);
	pair_free(t);
}

/* What links really pass is found, exactly if it is a usual size. */
static void
test_search(void **state)
{
	(void)state;
	static const struct {
		uint32_t passes, least;
	} cases[] = {
		{1472, 1472}, {1452, 1452}, {1372, 1372}, {8922, 8922}, {4324, 4324}, {1232, 1201},
		{1250, 1219}, {1353, 1322}, {2000, 1969}, {5000, 4969}, {8971, 8940}, {1204, 1200},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct pair *t = probed(8972, 1200, cases[i].passes);
		pair_start(t);
		uint32_t cwnd = pair_info(t, 0).cwnd;
		pair_run(t, 4 * BASE_S_NS);
		uint32_t mtu = pair_info(t, 0).mtu;
		uint64_t probes = pair_count(t, 0)->tx_mtu_probes;
		print_message("  passes %u: %u after %u probes\n", cases[i].passes, mtu,
			      (unsigned)probes);
		assert_in_range(mtu, cases[i].least, cases[i].passes);
		assert_true(probes <= 3 * 12);
		/* Lost probes are neither congestion nor data. */
		assert_int_equal(pair_info(t, 0).cwnd, cwnd);
		assert_int_equal(pair_count(t, 0)->tx_retransmits, 0);
		/* The search is over; only what is used is looked at now and then. */
		pair_run(t, 60 * BASE_S_NS);
		assert_true(pair_count(t, 0)->tx_mtu_probes <= probes + 5);
		assert_int_equal(pair_info(t, 0).mtu, mtu);
		/* The link grows: found within ten minutes. */
		t->most = 0;
		pair_run(t, 600 * BASE_S_NS);
		assert_int_equal(pair_info(t, 0).mtu, 8972);
		pair_free(t);
	}
}

/* Probes that get lost among data cost the data nothing, and the data goes on in the new
 * size as soon as it is known. */
static void
test_beside_data(void **state)
{
	(void)state;
	struct pair *t = probed(8972, SUCI_MTU_SAFE, 1472);
	pair_start(t);
	t->want = 5000;
	pair_send(t, 0, t->want, 1100);
	uint64_t from_ns = t->l.now_ns;
	assert_true(link_run(&t->l, t->l.now_ns + 10 * BASE_S_NS, pair_all_acked, t));
	uint64_t took_ns = t->l.now_ns - from_ns;
	assert_int_equal(pair_info(t, 0).mtu, 1472);
	assert_int_equal(pair_count(t, 0)->tx_retransmits, 0);
	assert_int_equal(pair_count(t, 0)->tx_probes, 0);
	pair_free(t);
	/* As fast as without probing. */
	t = probed(SUCI_MTU_SAFE, 0, 1472);
	pair_start(t);
	t->want = 5000;
	pair_send(t, 0, t->want, 1100);
	from_ns = t->l.now_ns;
	assert_true(link_run(&t->l, t->l.now_ns + 10 * BASE_S_NS, pair_all_acked, t));
	assert_in_range(took_ns, 0, (t->l.now_ns - from_ns) * 11 / 10);
	pair_free(t);
}

/* A path that passed large datagrams passes them no more while segments of that size are
 * in custody: it ends soon, says why, and comes up again with what passes. */
static void
test_black_hole(void **state)
{
	(void)state;
	struct pair *t = probed(8972, SUCI_MTU_SAFE, 0);
	pair_start(t);
	pair_run(t, 2 * RTT_NS);
	pair_send(t, 0, 3000, 8972 - SUCI_OVERHEAD);
	pair_run(t, 4 * RTT_NS);
	assert_true(t->s[0].acked > 0 && t->s[0].up);
	t->most = 1472;
	uint64_t from_ns = t->l.now_ns;
	pair_run(t, 60 * RTT_NS);
	assert_false(t->s[0].up);
	assert_int_equal(t->s[0].why, SUCI_DOWN_MTU);
	print_message("  %s; after %u us, RTT %u us\n", t->s[0].text,
		      (unsigned)((t->s[0].down_ns - from_ns) / 1000), (unsigned)(RTT_NS / 1000));
	assert_string_equal(t->s[0].text,
			    "large datagrams do not get through any more: at most 1232 bytes do, "
			    "a segment in custody needs 8948");
	assert_true(t->s[0].down_ns - from_ns < 8 * RTT_NS);
	assert_int_equal(pair_count(t, 0)->mtu_shrunk, 1);
	assert_int_equal(suci_held(t->l.ep[0]), 0);
	/* The other side was told. */
	assert_false(t->s[1].up);
	assert_int_equal(t->s[1].why, SUCI_DOWN_CLOSED);
	assert_non_null(strstr(t->s[1].text, "large datagrams do not get through"));
	/* Again: with what passes. */
	t->s[0].to_pull = 0;
	pair_open(t);
	assert_int_equal(pair_info(t, 0).mtu, SUCI_MTU_SAFE);
	pair_run(t, BASE_S_NS);
	assert_int_equal(pair_info(t, 0).mtu, 1472);
	t->s[0].acked = 0;
	t->want = 1000;
	pair_send(t, 0, t->want, 1472 - SUCI_OVERHEAD);
	assert_true(link_run(&t->l, t->l.now_ns + 10 * BASE_S_NS, pair_all_acked, t));
	pair_free(t);
}

/* The same with small segments among the large ones, which get through all the time. */
static void
test_black_hole_mixed(void **state)
{
	(void)state;
	struct pair *t = probed(8972, SUCI_MTU_SAFE, 0);
	pair_start(t);
	pair_run(t, 2 * RTT_NS);
	t->most = 1472;
	uint64_t from_ns = t->l.now_ns;
	for (uint32_t i = 0; i < 100 && t->s[0].up; i++) {
		pair_send(t, 0, 1, i == 5 ? 5000 : 100);
		pair_run(t, RTT_NS / 2);
	}
	assert_int_equal(t->s[0].why, SUCI_DOWN_MTU);
	assert_true(t->s[0].down_ns - from_ns < 30 * RTT_NS);
	pair_free(t);
}

/* An idle path shrinks without anybody noticing but itself. */
static void
test_shrink_idle(void **state)
{
	(void)state;
	struct pair *t = probed(8972, SUCI_MTU_SAFE, 0);
	pair_start(t);
	pair_run(t, 2 * RTT_NS);
	assert_int_equal(pair_info(t, 0).mtu, 8972);
	t->most = 1472;
	pair_run(t, 20 * BASE_S_NS);
	for (int side = 0; side < 2; side++) {
		assert_int_equal(pair_info(t, side).mtu, 1472);
		assert_int_equal(pair_count(t, side)->mtu_shrunk, 1);
	}
	assert_int_equal(t->s[0].downs, 0);
	/* Whoever offers what was good before is told by the end of the path. */
	struct suci_segment seg = {.data = t->payload, .data_len = 8000};
	assert_int_equal(suci_path_send(t->l.ep[0], t->s[0].path, &seg, t->l.now_ns),
			 SUCI_ERR_TOOBIG);
	assert_true(t->s[0].up);
	pair_send(t, 0, 1, 8000);
	pair_run(t, RTT_NS);
	assert_int_equal(t->s[0].why, SUCI_DOWN_MTU);
	assert_int_equal(t->s[0].abandoned, 1);
	pair_free(t);
}

/* Losses and outages are no black holes. */
static void
test_no_false_alarm(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct pair *t = probed(8972, SUCI_MTU_SAFE, 0);
		t->l.prng = base_prng_seed(seed);
		t->conf[0].cc = t->conf[1].cc = SUCI_CC_FIXED;
		t->conf[0].fixed_window = t->conf[1].fixed_window = 16;
		pair_start(t);
		pair_run(t, 2 * RTT_NS);
		t->l.loss_ppb = 100000000; /* a tenth */
		t->want = 1000;
		for (uint32_t i = 0; i < t->want / 10; i++) {
			pair_send(t, 0, 8, 8000);
			pair_run(t, RTT_NS / 4);
			pair_send(t, 0, 2, 100);
			pair_run(t, RTT_NS / 4);
			if (i % 40 == 20) {
				t->l.cut = true;
				pair_run(t, (1 + seed) * RTT_NS);
				t->l.cut = false;
			}
		}
		assert_true(link_run(&t->l, t->l.now_ns + 60 * BASE_S_NS, pair_all_acked, t));
		assert_int_equal(pair_count(t, 0)->mtu_shrunk, 0);
		assert_int_equal(t->s[0].downs, 0);
		pair_free(t);
	}
}

/* A total outage during the search teaches nothing about sizes. */
static void
test_outage_in_search(void **state)
{
	(void)state;
	struct pair *t = probed(8972, SUCI_MTU_SAFE, 0);
	pair_start(t);
	t->l.cut = true;
	pair_run(t, BASE_S_NS);
	assert_int_equal(pair_info(t, 0).mtu, SUCI_MTU_SAFE);
	t->l.cut = false;
	pair_run(t, 3 * BASE_S_NS);
	assert_int_equal(pair_info(t, 0).mtu, 8972);
	pair_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_size_at_once),
		cmocka_unit_test(test_trusted),
		cmocka_unit_test(test_by_leg),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_beside_data),
		cmocka_unit_test(test_black_hole),
		cmocka_unit_test(test_black_hole_mixed),
		cmocka_unit_test(test_shrink_idle),
		cmocka_unit_test(test_no_false_alarm),
		cmocka_unit_test(test_outage_in_search),
	};
	return cmocka_run_group_tests_name("suci path MTU", tests, NULL, NULL);
}
