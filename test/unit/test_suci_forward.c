/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments that go on as they lie in their receive buffers: the far end sends back what comes in.
 */
#include "test_suci_path.h"

#define DELAY_NS BASE_MS_NS
#define N	 500
#define LEN	 300

static struct {
	struct pair *t;
	uint32_t refused, back, abandoned;
	int err;	  /* of the last suci_path_forward() */
	bool changed;	  /* by one that took nothing */
	uint32_t went[N]; /* times */
	uint16_t extra;	  /* told to be so much longer than it is */
} m;

static struct suci_segment
segment_of(const struct pair *t, uint32_t i)
{
	return (struct suci_segment){.dst_label = 1,
				     .src_label = 2,
				     .seq = i,
				     .block = i / 2 * 2,
				     .ack = 0x01020304,
				     .window = 77,
				     .flags = i % 2 ? SUCI_SF_ACK : SUCI_SF_FIRST,
				     .mss = 1000,
				     .credit_shift = 3,
				     .crc32c = 0x55aa1234,
				     .block_bytes = i % 2 ? 0 : 600,
				     .data = t->payload + i,
				     .data_len = LEN,
				     .cookie = i};
}

static void
same(const struct suci_segment *got, const struct suci_segment *want)
{
	assert_int_equal(got->seq, want->seq);
	assert_int_equal(got->block, want->block);
	assert_int_equal(got->ack, want->ack);
	assert_int_equal(got->window, want->window);
	assert_int_equal(got->flags, want->flags);
	assert_int_equal(got->mss, want->mss);
	assert_int_equal(got->credit_shift, want->credit_shift);
	assert_int_equal(got->crc32c, want->crc32c);
	assert_int_equal(got->block_bytes, want->block_bytes);
	assert_int_equal(got->head_len, 0);
	assert_int_equal(got->data_len, want->data_len);
	assert_memory_equal(got->data, want->data, want->data_len);
}

static enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct pair_side *s = user;
	struct suci_segment want = segment_of(s->t, seg->seq);
	same(seg, &want);
	if (s == &s->t->s[0]) {
		assert_int_equal(seg->dst_label, 30);
		assert_int_equal(seg->src_label, 40);
		m.went[seg->seq]++;
		m.back++;
		return SUCI_TAKEN;
	}
	assert_int_equal(seg->dst_label, 1);
	uint8_t before[48], *payload = (uint8_t *)(uintptr_t)seg->data;
	uint32_t hdr = seg->flags & SUCI_SF_FIRST ? 40 : 32;
	struct suci_segment told = *seg;
	told.data_len = (uint16_t)(told.data_len + m.extra);
	memcpy(before, payload - hdr, hdr);
	m.err = suci_path_forward(s->t->l.ep[1], path, &told, payload, 30, 40, now_ns);
	if (m.err) {
		m.refused++;
		m.changed = m.changed || memcmp(before, payload - hdr, hdr) != 0;
		return m.err == SUCI_ERR_TOOBIG ? SUCI_DROPPED : SUCI_REFUSED;
	}
	link_hold(&s->t->l, seg->cookie);
	return SUCI_TAKEN;
}

static void
on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct pair_side *s = user;
	(void)path, (void)now_ns;
	s->acked += fate == SUCI_FATE_ACKED;
	s->abandoned += fate != SUCI_FATE_ACKED;
	if (s == &s->t->s[1])
		link_release(&s->t->l, cookie);
}

/* As it was given, with the labels it had then. */
static void
on_abandoned(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct pair_side *s = user;
	(void)path, (void)now_ns;
	struct suci_segment want = segment_of(s->t, seg->seq);
	same(seg, &want);
	if (s == &s->t->s[1]) {
		assert_int_equal(seg->dst_label, 30);
		assert_int_equal(seg->src_label, 40);
		m.abandoned++;
	}
}

static struct pair *
mirror(uint64_t seed, uint64_t loss_ppb)
{
	static struct suci_ops ops;
	struct pair *t = pair_new(seed, DELAY_NS);
	ops = pair_ops;
	ops.segment = on_segment;
	ops.released = on_released;
	ops.abandoned = on_abandoned;
	memset(&m, 0, sizeof m);
	for (int side = 0; side < 2; side++)
		t->conf[side].ops = &ops;
	pair_start(t);
	t->l.loss_ppb = loss_ppb;
	return t;
}

static void
send_all(struct pair *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct suci_segment seg = segment_of(t, i);
		for (int k = 0; k < 1000; k++) {
			if (!suci_path_send(t->l.ep[0], t->s[0].path, &seg, t->l.now_ns))
				break;
			pair_run(t, BASE_MS_NS);
		}
	}
}

static void
comes_back_as_it_was(void **state)
{
	static const uint64_t loss_ppb[] = {0, 100000000};
	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct pair *t = mirror(11 + k, loss_ppb[k]);
		send_all(t, N);
		pair_run(t, 20 * BASE_S_NS);
		for (uint32_t i = 0; i < N; i++)
			assert_true(k ? m.went[i] > 0 : m.went[i] == 1); /* lanes drop copies */
		assert_int_equal(t->s[1].acked, pair_count(t, 1)->tx_segments);
		assert_true(k == 0 || pair_count(t, 1)->tx_retransmits > 10);
		assert_int_equal(t->l.held, 0);
		pair_free(t);
	}
}

/* What is too long, or has no room, is left as it was. */
static void
not_taken_not_touched(void **state)
{
	(void)state;
	struct pair *t = mirror(3, 0);
	m.extra = 2000;
	send_all(t, 4);
	pair_run(t, BASE_S_NS);
	assert_int_equal(m.refused, 4);
	assert_int_equal(m.err, SUCI_ERR_TOOBIG);
	assert_false(m.changed);
	assert_int_equal(m.back, 0);
	pair_free(t);
}

static void
abandoned_as_it_was(void **state)
{
	(void)state;
	struct pair *t = mirror(5, 0);
	send_all(t, 6);
	pair_run(t, DELAY_NS + DELAY_NS / 2); /* there, and on its way back */
	assert_int_equal(m.back, 0);
	suci_path_close(t->l.ep[1], t->s[1].path, "over", t->l.now_ns);
	assert_int_equal(m.abandoned, 6);
	assert_int_equal(t->s[1].abandoned, 6);
	pair_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_as_it_was),
		cmocka_unit_test(not_taken_not_touched),
		cmocka_unit_test(abandoned_as_it_was),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
