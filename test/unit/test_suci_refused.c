/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths whose peer has no room, whose records are used up, or whose only packet is
 * never answered: nothing may hang, and nothing may storm. */
#include "test_suci_path.h"

#include "wire_internal.h"

#define SEGS   512
#define RTT_NS (10 * BASE_US_NS)

struct world {
	struct pair p;	 /* first */
	bool refuse_all; /* side 1 */
	bool zero_first; /* until segment 0 was taken, nothing else is */
	bool picky;	 /* each 30th is refused at first, and each 40th packet is lost */
	uint8_t asked[SEGS];
	uint32_t refused, lost, last; /* last: number of a packet that came */
};

static enum suci_verdict
judge(struct pair_side *s, const struct suci_segment *seg)
{
	struct world *w = (struct world *)s->t;
	bool refuse = w->refuse_all || (w->zero_first && seg->seq && !s->seen[0]);
	if (w->picky && seg->seq < SEGS)
		refuse = seg->seq % 30 == 0 && !w->asked[seg->seq]++;
	w->refused += refuse;
	return refuse ? SUCI_REFUSED : SUCI_TAKEN;
}

/* Of numbered packets towards side 1. */
static bool
lose_some(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct world *w = l->arg;
	struct suci_path_hdr h;
	if (from || !suci_path_hdr_decode(&h, bytes, len) || h.type != SUCI_T_DATA ||
	    h.flags & SUCI_PF_BARE)
		return false;
	bool lose = h.pn % 40 == 0;
	w->lost += lose;
	if (!lose && h.pn > w->last)
		w->last = h.pn;
	return lose;
}

/* Different segments that side 1 took. */
static uint32_t
taken(const struct world *w)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < SEGS; i++)
		n += w->p.s[1].seen[i] != 0;
	return n;
}

static bool
all_acked(void *arg)
{
	const struct pair_side *s = &((struct world *)arg)->p.s[0];
	return s->acked == s->next && !s->to_pull;
}

static struct world *
world(void)
{
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	pair_init(&w->p, 5, RTT_NS / 2);
	w->p.s[1].verdict = judge;
	w->p.s[0].pull_len = 100;
	return w;
}

static void
begin(struct world *w)
{
	pair_start(&w->p);
	pair_run(&w->p, 100 * BASE_MS_NS);
}

static void
end(struct world *w)
{
	for (int side = 0; side < 2; side++)
		LINK_GIVE(suci_fini(w->p.l.ep[side], w->p.l.now_ns));
	for (uint32_t i = 0; i < w->p.s[0].next; i++)
		assert_int_equal(w->p.s[0].released[i], 1);
	link_drop_wire(&w->p.l);
	free(w);
}

static int
send_one(struct world *w, uint32_t seq)
{
	struct suci_segment s = {.seq = seq, .data = w->p.payload, .data_len = 100, .cookie = seq};
	int err = suci_path_send(w->p.l.ep[0], w->p.s[0].path, &s, w->p.l.now_ns);
	w->p.s[0].next += !err;
	return err;
}

static void
test_all_records_lost(void **state)
{
	(void)state;
	struct world *w = world();
	struct suci_config *c = &w->p.conf[0];
	c->limits.segments_max = c->limits.queue_max = 16;
	c->initial_window = 32;
	begin(w);
	w->p.s[0].to_pull = 40;
	w->p.l.cut = true;
	suci_path_wake(w->p.l.ep[0], w->p.s[0].path);
	link_run(&w->p.l, w->p.l.now_ns + 50 * BASE_MS_NS, NULL, NULL);
	assert_int_equal(w->p.s[0].next, 16); /* the limit was met */
	assert_true(suci_expiry_ns(w->p.l.ep[0]) != BASE_NEVER_NS);
	w->p.l.cut = false;
	assert_true(link_run(&w->p.l, w->p.l.now_ns + 2 * BASE_S_NS, all_acked, w));
	assert_int_equal(taken(w), 40);
	end(w);
}

static void
test_one_packet_never_answered(void **state)
{
	(void)state;
	struct world *w = world();
	struct suci_config *c = &w->p.conf[0];
	c->liveness_ns = 200 * BASE_MS_NS;
	begin(w);
	/* A round trip is known, so that probes come many times within the wait. */
	assert_int_equal(send_one(w, 0), SUCI_ERR_OK);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, all_acked, w));
	w->p.l.cut = true;
	uint64_t from = w->p.l.now_ns;
	assert_int_equal(send_one(w, 1), SUCI_ERR_OK);
	link_run(&w->p.l, from + BASE_S_NS, NULL, NULL);
	assert_true(w->p.s[0].downs);
	assert_int_equal(w->p.s[0].why, SUCI_DOWN_SILENT);
	assert_in_range(w->p.s[0].down_ns - from, 200 * BASE_MS_NS, 202 * BASE_MS_NS);
	end(w);
}

/* As above, with a keepalive probe as the one packet. */
static void
test_one_probe_never_answered(void **state)
{
	(void)state;
	struct world *w = world();
	struct suci_config *c = &w->p.conf[0];
	c->liveness_ns = 200 * BASE_MS_NS;
	c->keepalive_ns = 50 * BASE_MS_NS;
	begin(w);
	w->p.l.cut = true;
	uint64_t from = w->p.l.now_ns;
	link_run(&w->p.l, from + BASE_S_NS, NULL, NULL);
	assert_true(w->p.s[0].downs);
	assert_int_equal(w->p.s[0].why, SUCI_DOWN_SILENT);
	assert_in_range(w->p.s[0].down_ns - from, 200 * BASE_MS_NS, 260 * BASE_MS_NS);
	end(w);
}

/* The one segment that makes room stands behind a window full of refused ones. */
static void
test_needed_segment_passes_the_refused(void **state)
{
	(void)state;
	static const enum suci_cc_kind kinds[] = {SUCI_CC_FIXED, SUCI_CC_CUBIC};
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		struct world *w = world();
		struct suci_config *c = &w->p.conf[0];
		c->cc = kinds[k];
		c->fixed_window = 8;
		begin(w);
		w->zero_first = true;
		for (uint32_t i = 1; i < 300; i++)
			assert_int_equal(send_one(w, i), SUCI_ERR_OK);
		link_run(&w->p.l, w->p.l.now_ns + 20 * BASE_MS_NS, NULL, NULL);
		assert_int_equal(taken(w), 0);
		assert_int_equal(send_one(w, 0), SUCI_ERR_OK);
		uint64_t from = w->p.l.now_ns;
		assert_true(link_run(&w->p.l, from + 20 * BASE_MS_NS, all_acked, w));
		assert_int_equal(taken(w), 300);
		end(w);
	}
}

/* A peer without room is asked again now and then, not all the time; when it has
 * room everything follows soon. */
static void
test_no_storm(void **state)
{
	(void)state;
	static const uint32_t counts[] = {1, 8, 300};
	for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
		struct world *w = world();
		struct suci_config *c = &w->p.conf[0];
		c->liveness_ns = 200 * BASE_MS_NS; /* refusing is a sign of life */
		begin(w);
		w->refuse_all = true;
		for (uint32_t i = 0; i < counts[k]; i++)
			assert_int_equal(send_one(w, i), SUCI_ERR_OK);
		link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, NULL, NULL);
		assert_false(w->p.s[0].downs);
		assert_in_range(w->p.l.sent[0], 190, 3000 + 2 * counts[k]);
		assert_in_range(w->p.l.sent[1], 100, 3000 + 2 * counts[k]);
		w->refuse_all = false;
		uint64_t from = w->p.l.now_ns;
		assert_true(link_run(&w->p.l, from + BASE_S_NS, all_acked, w));
		assert_in_range(w->p.s[1].last_seen_ns - from, 0, 10 * BASE_MS_NS);
		end(w);
	}
}

/* Before it took anything the peer can say no, too. */
static void
test_first_one_refused(void **state)
{
	(void)state;
	struct world *w = world();
	begin(w);
	w->refuse_all = true;
	assert_int_equal(send_one(w, 0), SUCI_ERR_OK);
	link_run(&w->p.l, w->p.l.now_ns + 2 * BASE_MS_NS, NULL, NULL);
	const struct suci_counters *n = suci_counters(w->p.l.ep[0]);
	assert_true(n->tx_refused > 0);
	assert_int_equal(n->tx_probes, 0);
	assert_int_equal(n->drop_bad_ack + n->drop_malformed, 0);
	w->refuse_all = false;
	assert_true(link_run(&w->p.l, w->p.l.now_ns + 10 * BASE_MS_NS, all_acked, w));
	end(w);
}

/* Refused segments count against the limit of their path, and come back when it
 * goes down. */
static void
test_refused_are_bounded(void **state)
{
	(void)state;
	struct world *w = world();
	struct suci_config *c = &w->p.conf[0];
	struct suci_path_info info;
	c->limits.queue_max = 32;
	c->limits.window_max = 16;
	begin(w);
	w->refuse_all = true;
	for (uint32_t turn = 0; turn < 50; turn++) {
		while (w->p.s[0].next < SEGS && send_one(w, w->p.s[0].next) == SUCI_ERR_OK)
			;
		link_run(&w->p.l, w->p.l.now_ns + BASE_MS_NS, NULL, NULL);
		assert_true(suci_path_info(w->p.l.ep[0], w->p.s[0].path, &info));
		assert_in_range(info.queued + info.in_flight, 1, 48);
		assert_true(info.refused <= info.queued);
	}
	assert_int_equal(suci_held(w->p.l.ep[0]), 48);
	assert_true(info.refused > 0);
	suci_path_close(w->p.l.ep[0], w->p.s[0].path, "enough", w->p.l.now_ns);
	assert_int_equal(w->p.s[0].abandoned, 48);
	assert_int_equal(suci_held(w->p.l.ep[0]), 0);
	end(w);
}

/* What the receiver says of the way to it: numbers that were lost, or refused, or came later than
 * it keeps books of, and no others, though many come late. */
static void
test_missing_numbers_are_counted(void **state)
{
	(void)state;
	struct world *w = world();
	struct suci_path_info info;
	w->p.l.jitter_ns = 4 * RTT_NS;
	begin(w);
	w->picky = true;
	w->p.l.filter = lose_some;
	w->p.s[0].to_pull = SEGS;
	suci_path_wake(w->p.l.ep[0], w->p.s[0].path);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + 5 * BASE_S_NS, all_acked, w));
	link_run(&w->p.l, w->p.l.now_ns + 10 * BASE_MS_NS, NULL,
		 NULL); /* what is still under way */
	assert_int_equal(taken(w), SEGS);
	assert_true(suci_path_info(w->p.l.ep[1], w->p.s[1].path, &info));
	uint64_t old = suci_counters(w->p.l.ep[1])->drop_old_pn;
	assert_true(w->lost > 5 && w->refused > 10);
	assert_int_equal(info.rx_last, w->last);
	assert_int_equal(info.rx_missing, w->lost + w->refused + old);
	assert_true(info.rx_credit > 0);
	end(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_records_lost),
		cmocka_unit_test(test_one_packet_never_answered),
		cmocka_unit_test(test_one_probe_never_answered),
		cmocka_unit_test(test_needed_segment_passes_the_refused),
		cmocka_unit_test(test_no_storm),
		cmocka_unit_test(test_first_one_refused),
		cmocka_unit_test(test_refused_are_bounded),
		cmocka_unit_test(test_missing_numbers_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
