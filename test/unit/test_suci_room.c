/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks and grants: several senders, one receiver without room.  What it gets later is
 * shared as granted; what a hostile peer asks or grants costs a bounded amount. */
#include "path_internal.h"
#include "suci_star_kit.h"

#define SENDERS 4
#define SEGS	100

struct world {
	struct star s; /* first; its last end receives */
	uint32_t room, taken[SENDERS];
};

static struct world *
world_of(void *user)
{
	return (struct world *)((struct star_end *)user)->star;
}

static enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct world *w = world_of(user);
	(void)path, (void)now_ns;
	if (!w->room)
		return SUCI_REFUSED;
	w->room--;
	w->taken[seg->src_label]++;
	return SUCI_TAKEN;
}

static uint32_t
on_room(void *user, uint32_t path)
{
	(void)path;
	return world_of(user)->room;
}

static const struct suci_ops ops = {
	.accept = link_accept,
	.path_up = star_on_up,
	.path_down = star_on_down,
	.segment = on_segment,
	.released = star_on_released,
	.room = on_room,
};

static void
run(struct world *w, uint64_t ns)
{
	star_run(&w->s, w->s.now_ns + ns, NULL);
}

static struct world *
world_new(const struct suci_limits *limits)
{
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	star_init(&w->s, SENDERS + 1, 5 * BASE_US_NS);
	for (uint32_t i = 0; i <= SENDERS; i++) {
		struct suci_config c = link_config(0);
		c.ops = &ops;
		if (limits)
			c.limits = *limits;
		star_endpoint(&w->s, i, &c);
	}
	return w;
}

/* Every sender has sent SEGS segments with its priority and none was taken. */
static struct world *
begin(const uint8_t prio[SENDERS])
{
	static const uint8_t data[100];
	struct world *w = world_new(NULL);
	for (uint32_t i = 0; i < SENDERS; i++)
		star_open(&w->s, i, SENDERS);
	run(w, 100 * BASE_MS_NS);
	for (uint32_t i = 0; i < SENDERS; i++) {
		assert_true(w->s.end[i].up);
		for (uint32_t k = 0; k < SEGS; k++) {
			struct suci_segment seg = {.src_label = i, .seq = k};
			seg.flags = (uint16_t)(prio[i] << SUCI_SF_PRIO_SHIFT);
			seg.data = data;
			seg.data_len = sizeof data;
			star_send(&w->s, i, &seg);
		}
	}
	run(w, 100 * BASE_MS_NS);
	for (int i = 0; i < SENDERS; i++)
		assert_int_equal(w->taken[i], 0);
	return w;
}

static void
end(struct world *w)
{
	star_fini(&w->s);
	free(w);
}

/* Room for 40 among four: ten each, but for what a single try got by chance. */
static void
test_evenly(void **state)
{
	(void)state;
	struct world *w = begin((const uint8_t[]){0, 0, 0, 0});
	assert_int_equal(w->s.end[SENDERS].ep->nasking, SENDERS);
	w->room = 40;
	run(w, 10 * BASE_MS_NS);
	assert_int_equal(w->room, 0);
	for (int i = 0; i < SENDERS; i++)
		assert_in_range(w->taken[i], 8, 12);
	w->room = 10000;
	run(w, 10 * BASE_MS_NS);
	for (int i = 0; i < SENDERS; i++) {
		assert_int_equal(w->taken[i], SEGS);
		assert_int_equal(w->s.end[i].acked, SEGS);
	}
	run(w, 100 * BASE_MS_NS);
	assert_int_equal(w->s.end[SENDERS].ep->nasking, 0);
	assert_int_equal(w->s.end[SENDERS].ep->grants_out, 0);
	end(w);
}

/* Strictly by priority: the urgent one first. */
static void
test_priority(void **state)
{
	(void)state;
	struct world *w = begin((const uint8_t[]){0, 3, 0, 1});
	w->room = 60;
	run(w, 10 * BASE_MS_NS);
	assert_int_equal(w->room, 0);
	assert_in_range(w->taken[1], 40, 60); /* tries of the others may slip in */
	w->room = 80;
	run(w, 20 * BASE_MS_NS);
	assert_in_range(w->taken[1], SEGS - 4, SEGS);
	assert_true(w->taken[3] > w->taken[0] && w->taken[3] > w->taken[2]);
	end(w);
}

/* While there is no room, what is tried costs little: asks instead of packets. */
static void
test_asks_instead_of_tries(void **state)
{
	(void)state;
	struct world *w = begin((const uint8_t[]){0, 0, 0, 0});
	w->room = 2 * SENDERS; /* from now on everybody knows that this one grants */
	run(w, 20 * BASE_MS_NS);
	uint64_t refused = suci_counters(w->s.end[SENDERS].ep)->drop_refused;
	uint64_t datagrams = w->s.datagrams;
	run(w, BASE_S_NS);
	refused = suci_counters(w->s.end[SENDERS].ep)->drop_refused - refused;
	print_message("  refused in a second: %u, datagrams %u\n", (unsigned)refused,
		      (unsigned)(w->s.datagrams - datagrams));
	assert_in_range(refused, 1, SENDERS * 210);
	assert_in_range(w->s.datagrams - datagrams, 1, SENDERS * 1000);
	end(w);
}

/* One sender lies: asks for everything, never uses it, grants wildly.  Each datagram of
 * its costs at most one, nothing is kept, the others are served. */
static void
test_hostile(void **state)
{
	(void)state;
	struct world *w = begin((const uint8_t[]){0, 0, 0, 0});
	struct base_prng r = base_prng_seed(3);
	struct suci *ep = w->s.end[SENDERS].ep;
	struct suci_path *p = suci_path_at(ep, &w->s.end[0].addr);
	assert_non_null(p);
	uint32_t held = suci_held(ep), tag = p->rx_tag;
	uint64_t before = w->s.datagrams;
	w->room = 50;
	for (uint32_t i = 0; i < 20000; i++) {
		struct suci_path_hdr h = {.version = SUCI_VERSION,
					  .flags = SUCI_PF_BARE,
					  .path_tag = tag,
					  .ack_len = SUCI_ACK_HDR + SUCI_ACK_ROOM};
		struct suci_ack a = {.flags = SUCI_AF_ROOM,
				     .credit = 1,
				     .ask = (uint16_t)base_prng_next(&r),
				     .ask_prio = (uint8_t)base_prng_below(&r, 9),
				     .used = (uint32_t)base_prng_next(&r),
				     .grant = (uint32_t)base_prng_next(&r)};
		uint8_t d[SUCI_PATH_HDR + SUCI_ACK_MAX];
		suci_path_hdr_encode(&h, d);
		size_t n = suci_ack_encode(&a, d + SUCI_PATH_HDR);
		suci_rx(ep, &w->s.end[0].addr, d, SUCI_PATH_HDR + n, 0, w->s.now_ns);
		assert_true(ep->nasking <= SENDERS);
		assert_true(ep->grants_out <= SENDERS * 65535u);
		star_pump(&w->s);
	}
	assert_int_equal(suci_held(ep), held);
	assert_in_range(w->s.datagrams - before, 0, 20000 + SENDERS * SEGS);
	run(w, 200 * BASE_MS_NS);
	w->room = 10000;
	run(w, 400 * BASE_MS_NS);
	for (int i = 1; i < SENDERS; i++)
		assert_int_equal(w->taken[i], SEGS);
	end(w);
}

/* No path can take the records that are another's minimum. */
static void
test_minimum_per_path(void **state)
{
	(void)state;
	static const struct suci_limits limits = {
		.paths_max = 8, .segments_max = 128, .queue_max = 128, .window_max = 64};
	static const uint8_t data[100];
	struct world *w = world_new(&limits);
	uint32_t path[SENDERS], n = 0;
	struct suci *ep = w->s.end[SENDERS].ep;
	struct suci_segment seg = {.data = data, .data_len = sizeof data};
	for (int i = 0; i < SENDERS; i++)
		assert_int_equal(
			suci_path_open(ep, &w->s.end[i].addr, NULL, 0, &path[i], w->s.now_ns), 0);
	run(w, 100 * BASE_MS_NS);
	assert_int_equal(suci_path_room(ep, path[0]), 128 - 3 * 8);
	while (suci_path_send(ep, path[0], &seg, w->s.now_ns) == SUCI_ERR_OK)
		n++;
	assert_int_equal(n, 128 - 3 * 8); /* 128 / (2 * 8) for each of the others */
	assert_int_equal(suci_path_send(ep, path[0], &seg, w->s.now_ns), SUCI_ERR_NOMEM);
	for (int i = 1; i < SENDERS; i++)
		for (uint32_t k = 0; k < 8; k++) {
			assert_int_equal(suci_path_room(ep, path[i]), 8 - k);
			assert_int_equal(suci_path_send(ep, path[i], &seg, w->s.now_ns),
					 SUCI_ERR_OK);
		}
	for (int i = 0; i < SENDERS; i++)
		assert_int_equal(suci_path_send(ep, path[i], &seg, w->s.now_ns), SUCI_ERR_NOMEM);
	assert_int_equal(suci_held(ep), 128);
	/* A path that ends gives its minimum back. */
	suci_path_close(ep, path[1], NULL, w->s.now_ns);
	for (n = 0; suci_path_send(ep, path[2], &seg, w->s.now_ns) == SUCI_ERR_OK; n++)
		;
	assert_int_equal(n, 8);
	end(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_evenly),
		cmocka_unit_test(test_priority),
		cmocka_unit_test(test_asks_instead_of_tries),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_minimum_per_path),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
