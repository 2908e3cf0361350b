/* Paths whose peer has no room, whose records are used up, or whose only packet is
 * never answered: nothing may hang, and nothing may storm. */
#include "test_suci_link.h"

#define SEGS   512
#define RTT_NS (10 * BASE_US_NS)

struct world {
	struct link l;
	uint32_t path;
	bool up[2], down;
	enum suci_down why;
	uint64_t down_ns;
	uint32_t pull_left, sent; /* side 0 */
	uint32_t released[SEGS], acked, abandoned;
	uint32_t seen[SEGS], taken;  /* side 1 */
	bool refuse_all, zero_first; /* until segment 0 was taken, nothing else is */
	uint64_t last_ns;
};

static void
on_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
      bool incoming)
{
	struct world *w = user;
	(void)path, (void)peer, (void)hello, (void)len;
	w->up[incoming] = true;
}

static void
on_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct world *w = user;
	(void)path, (void)text;
	if (!w->down)
		w->why = why;
	w->down = true;
	w->down_ns = w->l.now_ns;
}

static enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct world *w = user;
	(void)path;
	assert_true(seg->seq < SEGS);
	if (w->refuse_all || (w->zero_first && seg->seq && !w->seen[0]))
		return SUCI_REFUSED;
	w->taken += !w->seen[seg->seq]++;
	w->last_ns = now_ns;
	return SUCI_TAKEN;
}

static void
on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct world *w = user;
	(void)path, (void)now_ns;
	assert_int_equal(w->released[cookie]++, 0);
	w->acked += fate == SUCI_FATE_ACKED;
	w->abandoned += fate == SUCI_FATE_ABANDONED;
}

static struct suci_segment
segment(uint32_t seq)
{
	static const uint8_t data[100];
	return (struct suci_segment){.seq = seq, .data = data, .data_len = 100, .cookie = seq};
}

static bool
on_pull(void *user, uint32_t path, struct suci_segment *seg, uint64_t now_ns)
{
	struct world *w = user;
	(void)path, (void)now_ns;
	if (!w->pull_left)
		return false;
	w->pull_left--;
	*seg = segment(w->sent++);
	return true;
}

static const struct suci_ops ops = {
	.accept = link_accept,
	.path_up = on_up,
	.path_down = on_down,
	.segment = on_segment,
	.released = on_released,
	.pull = on_pull,
};

static bool
both_up(void *arg)
{
	struct world *w = arg;
	return w->up[0] && w->up[1];
}

static bool
all_acked(void *arg)
{
	struct world *w = arg;
	return w->acked == w->sent && !w->pull_left;
}

static struct suci_config
config(int side, struct world *w)
{
	struct suci_config c = link_config(side);
	c.ops = &ops;
	c.user = w;
	return c;
}

static void
begin(struct world *w, const struct suci_config *sender)
{
	struct suci_config c = config(1, w);
	link_init(&w->l, 5, RTT_NS / 2);
	w->l.ep[0] = link_endpoint(sender, w->l.now_ns);
	w->l.ep[1] = link_endpoint(&c, w->l.now_ns);
	assert_int_equal(suci_path_open(w->l.ep[0], &w->l.addr[1], NULL, 0, &w->path, w->l.now_ns),
			 SUCI_ERR_OK);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, both_up, w));
	link_run(&w->l, w->l.now_ns + 100 * BASE_MS_NS, NULL, NULL);
}

static void
end(struct world *w)
{
	for (int side = 0; side < 2; side++)
		free(suci_fini(w->l.ep[side], w->l.now_ns));
	for (uint32_t i = 0; i < w->sent; i++)
		assert_int_equal(w->released[i], 1);
	link_drop_wire(&w->l);
	free(w);
}

static struct world *
world(void)
{
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	return w;
}

static int
send_one(struct world *w, uint32_t seq)
{
	struct suci_segment s = segment(seq);
	int err = suci_path_send(w->l.ep[0], w->path, &s, w->l.now_ns);
	w->sent += !err;
	return err;
}

static void
test_all_records_lost(void **state)
{
	(void)state;
	struct world *w = world();
	struct suci_config c = config(0, w);
	c.limits.segments_max = c.limits.queue_max = 16;
	c.initial_window = 32;
	begin(w, &c);
	w->pull_left = 40;
	w->l.cut = true;
	suci_path_wake(w->l.ep[0], w->path);
	link_run(&w->l, w->l.now_ns + 50 * BASE_MS_NS, NULL, NULL);
	assert_int_equal(w->sent, 16); /* the limit was met */
	assert_true(suci_expiry_ns(w->l.ep[0]) != BASE_NEVER_NS);
	w->l.cut = false;
	assert_true(link_run(&w->l, w->l.now_ns + 2 * BASE_S_NS, all_acked, w));
	assert_int_equal(w->taken, 40);
	end(w);
}

static void
test_one_packet_never_answered(void **state)
{
	(void)state;
	struct world *w = world();
	struct suci_config c = config(0, w);
	c.liveness_ns = 200 * BASE_MS_NS;
	begin(w, &c);
	/* A round trip is known, so that probes come many times within the wait. */
	assert_int_equal(send_one(w, 0), SUCI_ERR_OK);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_acked, w));
	w->l.cut = true;
	uint64_t from = w->l.now_ns;
	assert_int_equal(send_one(w, 1), SUCI_ERR_OK);
	link_run(&w->l, from + BASE_S_NS, NULL, NULL);
	assert_true(w->down);
	assert_int_equal(w->why, SUCI_DOWN_SILENT);
	assert_in_range(w->down_ns - from, 200 * BASE_MS_NS, 202 * BASE_MS_NS);
	end(w);
}

/* As above, with a keepalive probe as the one packet. */
static void
test_one_probe_never_answered(void **state)
{
	(void)state;
	struct world *w = world();
	struct suci_config c = config(0, w);
	c.liveness_ns = 200 * BASE_MS_NS;
	c.keepalive_ns = 50 * BASE_MS_NS;
	begin(w, &c);
	w->l.cut = true;
	uint64_t from = w->l.now_ns;
	link_run(&w->l, from + BASE_S_NS, NULL, NULL);
	assert_true(w->down);
	assert_int_equal(w->why, SUCI_DOWN_SILENT);
	assert_in_range(w->down_ns - from, 200 * BASE_MS_NS, 260 * BASE_MS_NS);
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
		struct suci_config c = config(0, w);
		c.cc = kinds[k];
		c.fixed_window = 8;
		begin(w, &c);
		w->zero_first = true;
		for (uint32_t i = 1; i < 300; i++)
			assert_int_equal(send_one(w, i), SUCI_ERR_OK);
		link_run(&w->l, w->l.now_ns + 20 * BASE_MS_NS, NULL, NULL);
		assert_int_equal(w->taken, 0);
		assert_int_equal(send_one(w, 0), SUCI_ERR_OK);
		uint64_t from = w->l.now_ns;
		assert_true(link_run(&w->l, from + 20 * BASE_MS_NS, all_acked, w));
		assert_int_equal(w->taken, 300);
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
		struct suci_config c = config(0, w);
		c.liveness_ns = 200 * BASE_MS_NS; /* refusing is a sign of life */
		begin(w, &c);
		w->refuse_all = true;
		for (uint32_t i = 0; i < counts[k]; i++)
			assert_int_equal(send_one(w, i), SUCI_ERR_OK);
		link_run(&w->l, w->l.now_ns + BASE_S_NS, NULL, NULL);
		assert_false(w->down);
		assert_in_range(w->l.sent[0], 190, 3000 + 2 * counts[k]);
		assert_in_range(w->l.sent[1], 100, 3000 + 2 * counts[k]);
		w->refuse_all = false;
		uint64_t from = w->l.now_ns;
		assert_true(link_run(&w->l, from + BASE_S_NS, all_acked, w));
		assert_in_range(w->last_ns - from, 0, 10 * BASE_MS_NS);
		end(w);
	}
}

/* Before it took anything the peer can say no, too. */
static void
test_first_one_refused(void **state)
{
	(void)state;
	struct world *w = world();
	struct suci_config c = config(0, w);
	begin(w, &c);
	w->refuse_all = true;
	assert_int_equal(send_one(w, 0), SUCI_ERR_OK);
	link_run(&w->l, w->l.now_ns + 2 * BASE_MS_NS, NULL, NULL);
	const struct suci_counters *n = suci_counters(w->l.ep[0]);
	assert_true(n->tx_refused > 0);
	assert_int_equal(n->tx_probes, 0);
	assert_int_equal(n->drop_bad_ack + n->drop_malformed, 0);
	w->refuse_all = false;
	assert_true(link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, all_acked, w));
	end(w);
}

/* Refused segments count against the limit of their path, and come back when it
 * goes down. */
static void
test_refused_are_bounded(void **state)
{
	(void)state;
	struct world *w = world();
	struct suci_config c = config(0, w);
	struct suci_path_info info;
	c.limits.queue_max = 32;
	c.limits.window_max = 16;
	begin(w, &c);
	w->refuse_all = true;
	for (uint32_t turn = 0; turn < 50; turn++) {
		while (w->sent < SEGS && send_one(w, w->sent) == SUCI_ERR_OK)
			;
		link_run(&w->l, w->l.now_ns + BASE_MS_NS, NULL, NULL);
		assert_true(suci_path_info(w->l.ep[0], w->path, &info));
		assert_in_range(info.queued + info.in_flight, 1, 48);
		assert_true(info.refused <= info.queued);
	}
	assert_int_equal(suci_held(w->l.ep[0]), 48);
	assert_true(info.refused > 0);
	suci_path_close(w->l.ep[0], w->path, "enough", w->l.now_ns);
	assert_int_equal(w->abandoned, 48);
	assert_int_equal(suci_held(w->l.ep[0]), 0);
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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
