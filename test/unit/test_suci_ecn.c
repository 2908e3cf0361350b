/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks of congestion: echoed, obeyed, and given up when they do not add up. */
#include "test_suci_path.h"

#define DELAY_NS (2 * BASE_MS_NS)

static uint32_t mark_every, marked, passed[4];

/* An honest network: every mark_every-th marked packet of side 0 becomes CE. */
static uint8_t
honest(struct link *l, int from, uint8_t ecn)
{
	struct pair *t = l->arg;
	passed[ecn]++;
	if (ecn != SUCI_ECN_ECT0 || from != 0 || !mark_every || ++t->count % mark_every)
		return ecn;
	marked++;
	return SUCI_ECN_CE;
}

/* Wipes the bits out. */
static uint8_t
bleach(struct link *l, int from, uint8_t ecn)
{
	(void)l, (void)from, (void)ecn;
	return 0;
}

/* Turns ECT(0) into ECT(1), as some old hardware does. */
static uint8_t
twist(struct link *l, int from, uint8_t ecn)
{
	(void)l, (void)from;
	return ecn == SUCI_ECN_ECT0 ? SUCI_ECN_ECT1 : ecn;
}

/* Wipes them out from some packet on. */
static uint8_t
bleach_later(struct link *l, int from, uint8_t ecn)
{
	struct pair *t = l->arg;
	return from == 0 && ++t->count > 300 ? 0 : ecn;
}

static struct pair *
marking(uint8_t (*mark)(struct link *, int, uint8_t), bool ecn)
{
	struct pair *t = pair_new(5, DELAY_NS);
	mark_every = marked = 0;
	memset(passed, 0, sizeof passed);
	t->conf[0].ecn = t->conf[1].ecn = ecn;
	t->l.mark = mark;
	pair_start(t);
	return t;
}

static void
transfer(struct pair *t, uint32_t n)
{
	t->want += n;
	pair_send(t, 0, n, 1200);
	assert_true(link_run(&t->l, t->l.now_ns + 60 * BASE_S_NS, pair_all_acked, t));
	assert_true(t->s[1].segments >= t->want);
}

/* Every CE is echoed, exactly once, and the window goes down without any loss. */
static void
test_obeyed(void **state)
{
	(void)state;
	struct pair *t = marking(honest, true);
	transfer(t, 3000);
	assert_true(pair_info(t, 0).ecn);
	uint32_t cwnd = pair_info(t, 0).cwnd;
	mark_every = 50;
	transfer(t, 3000);
	assert_true(marked > 50);
	assert_int_equal(pair_count(t, 0)->tx_ce, marked);
	assert_int_equal(pair_count(t, 0)->tx_retransmits, 0);
	print_message("  window %u, with 2 %% marked %u\n", cwnd, pair_info(t, 0).cwnd);
	assert_true(pair_info(t, 0).cwnd < cwnd / 2);
	assert_true(pair_info(t, 0).ecn);
	assert_int_equal(pair_count(t, 0)->ecn_failed, 0);
	/* Bare acks and handshakes are not marked, what has a number is. */
	assert_true(passed[SUCI_ECN_ECT0] >= 6000);
	assert_true(passed[SUCI_ECN_NOT] > 0);
	mark_every = 0;
	transfer(t, 3000);
	pair_free(t);
}

/* A reduction once per round trip, not per mark. */
static void
test_one_reduction(void **state)
{
	(void)state;
	struct pair *t = marking(honest, true);
	transfer(t, 3000);
	uint32_t cwnd = pair_info(t, 0).cwnd;
	mark_every = 1;
	pair_send(t, 0, 20, 1200);
	pair_run(t, 2 * DELAY_NS + BASE_MS_NS);
	mark_every = 0;
	assert_int_equal(pair_count(t, 0)->tx_ce, 20);
	assert_in_range(pair_info(t, 0).cwnd, cwnd / 2, cwnd * 9 / 10);
	pair_free(t);
}

static void
test_off(void **state)
{
	(void)state;
	struct pair *t = marking(honest, false);
	transfer(t, 1000);
	assert_int_equal(passed[SUCI_ECN_ECT0], 0);
	assert_false(pair_info(t, 0).ecn);
	pair_free(t);
}

static void
test_given_up(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint8_t (*mark)(struct link *, int, uint8_t);
	} cases[] = {
		{"wiped out", bleach},
		{"twisted", twist},
		{"wiped out later", bleach_later},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		print_message("  %s\n", cases[i].name);
		struct pair *t = marking(cases[i].mark, true);
		transfer(t, 1000);
		assert_false(pair_info(t, 0).ecn);
		assert_int_equal(pair_count(t, 0)->ecn_failed, 1);
		assert_int_equal(pair_count(t, 0)->tx_ce, 0);
		assert_int_equal(pair_count(t, 0)->tx_retransmits, 0);
		pair_free(t);
	}
}

/* Somebody on the way throws marked datagrams away. */
static bool
no_marked(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	(void)from, (void)bytes, (void)len;
	return l->ecn == SUCI_ECN_ECT0;
}

static void
test_black_hole_for_marks(void **state)
{
	(void)state;
	struct pair *t = marking(honest, true);
	t->l.filter = no_marked;
	transfer(t, 100);
	assert_false(pair_info(t, 0).ecn);
	assert_int_equal(pair_count(t, 0)->ecn_failed, 1);
	pair_free(t);
}

/* Loss, duplicates and acks that overtake each other are no reason to give up. */
static void
test_good_on_a_bad_link(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct pair *t = marking(honest, true);
		t->l.prng = base_prng_seed(seed);
		t->l.loss_ppb = 20000000;
		t->l.dup_ppb = 20000000;
		t->l.jitter_ns = DELAY_NS;
		mark_every = 100;
		pair_send(t, 1, 2000, 700);
		transfer(t, 2000);
		assert_int_equal(pair_count(t, 0)->ecn_failed, 0);
		assert_int_equal(pair_count(t, 1)->ecn_failed, 0);
		assert_true(pair_info(t, 0).ecn && pair_info(t, 1).ecn);
		assert_true(pair_count(t, 0)->tx_ce > 0);
		pair_free(t);
	}
}

/* A peer that lies: more marks than packets, fewer than before. */
static void
test_impossible_counts(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint32_t ect, ce;
		bool good;
	} cases[] = {
		{"more than were sent", 200, 0, false},
		{"all CE, more than were sent", 0, 200, false},
		{"fewer than acknowledged", 3, 2, false},
		{"huge", UINT32_MAX, UINT32_MAX, false},
		{"as it is", 10, 0, true},
		{"all CE", 0, 10, true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		print_message("  %s\n", cases[i].name);
		struct pair *t = marking(NULL, true);
		struct suci_out out;
		uint8_t bytes[2048], first[2048];
		pair_send(t, 0, 10, 100);
		for (int k = 0; k < 10; k++) {
			assert_int_equal(suci_tx(t->l.ep[0], &out, t->l.now_ns), 1);
			assert_int_equal(out.ecn, SUCI_ECN_ECT0);
			link_flatten(&out, k ? bytes : first);
		}
		/* The tag side 0 listens to, from a datagram of side 1. */
		pair_send(t, 1, 1, 100);
		assert_int_equal(suci_tx(t->l.ep[1], &out, t->l.now_ns), 1);
		link_flatten(&out, first);
		uint8_t a[SUCI_PATH_HDR + SUCI_ACK_HDR + SUCI_ACK_ECN] = {
			SUCI_VERSION << 4, SUCI_PF_BARE, 0, SUCI_ACK_HDR + SUCI_ACK_ECN};
		memcpy(a + 4, first + 4, 4);
		uint8_t *b = a + SUCI_PATH_HDR;
		be32_store(b, be32_load(bytes + 8)); /* largest */
		be16_store(b + 10, 100);
		b[13] = SUCI_AF_ECN;
		be16_store(b + 14, 10);
		be32_store(b + 16, cases[i].ect);
		be32_store(b + 20, cases[i].ce);
		for (uint32_t k = 0; k < 10; k++)
			t->s[1].seen[k] = 1; /* so says the ack */
		suci_rx(t->l.ep[0], &t->l.addr[1], a, sizeof a, 0, t->l.now_ns);
		assert_int_equal(t->s[0].acked, 10);
		assert_int_equal(pair_info(t, 0).ecn, cases[i].good);
		pair_free(t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_obeyed),
		cmocka_unit_test(test_one_reduction),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_given_up),
		cmocka_unit_test(test_black_hole_for_marks),
		cmocka_unit_test(test_good_on_a_bad_link),
		cmocka_unit_test(test_impossible_counts),
	};
	return cmocka_run_group_tests_name("suci ecn", tests, NULL, NULL);
}
