/* Asks and grants: several senders, one receiver without room.  What it gets later is
 * shared as granted; what a hostile peer asks or grants costs a bounded amount. */
#include "test_suci_link.h"

#include "path_internal.h"

#define SENDERS 4
#define SEGS	100

struct node {
	struct star *star;
	struct suci *ep;
	struct suci_addr addr;
	uint32_t path, acked;
	bool up;
};

struct flying {
	struct flying *next;
	int from, to;
	uint64_t at_ns;
	size_t len;
	uint8_t bytes[];
};

struct star {
	struct node n[SENDERS + 1]; /* the last one receives */
	uint32_t room, taken[SENDERS];
	uint64_t now_ns, datagrams;
	struct flying *head, **tail;
};

static int
on_accept(void *user, const struct suci_addr *from, const void *hello, size_t len,
	  char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)len, (void)why;
	return 0;
}

static void
on_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
      bool incoming)
{
	struct node *n = user;
	(void)path, (void)peer, (void)hello, (void)len, (void)incoming;
	n->up = true;
}

static void
on_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	(void)user, (void)path, (void)why, (void)text;
}

static enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct node *n = user;
	(void)path, (void)now_ns;
	if (!n->star->room)
		return SUCI_REFUSED;
	n->star->room--;
	n->star->taken[seg->src_label]++;
	return SUCI_TAKEN;
}

static uint32_t
on_room(void *user, uint32_t path)
{
	(void)path;
	return ((struct node *)user)->star->room;
}

static void
on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct node *n = user;
	(void)path, (void)cookie, (void)now_ns;
	n->acked += fate == SUCI_FATE_ACKED;
}

static const struct suci_ops ops = {
	.accept = on_accept,
	.path_up = on_up,
	.path_down = on_down,
	.segment = on_segment,
	.released = on_released,
	.room = on_room,
};

static void
pump(struct star *s)
{
	struct suci_out o;
	for (int i = 0; i <= SENDERS; i++)
		while (suci_tx(s->n[i].ep, &o, s->now_ns)) {
			size_t len = (size_t)o.head_len + o.seg_head_len + o.data_len;
			struct flying *f = malloc(sizeof *f + len);
			assert_non_null(f);
			*f = (struct flying){.from = i,
					     .to = o.to.port - 7000,
					     .len = len,
					     .at_ns = s->now_ns + 5 * BASE_US_NS};
			link_flatten(&o, f->bytes);
			*s->tail = f;
			s->tail = &f->next;
			s->datagrams++;
		}
}

static void
deliver_due(struct star *s)
{
	while (s->head && s->head->at_ns <= s->now_ns) {
		struct flying *f = s->head;
		s->head = f->next;
		if (!s->head)
			s->tail = &s->head;
		suci_rx(s->n[f->to].ep, &s->n[f->from].addr, f->bytes, f->len, 0, s->now_ns);
		free(f);
	}
}

static void
run(struct star *s, uint64_t ns)
{
	uint64_t until = s->now_ns + ns;
	for (uint32_t spin = 0;; spin++) {
		pump(s);
		uint64_t next = s->head ? s->head->at_ns : BASE_NEVER_NS;
		for (int i = 0; i <= SENDERS; i++)
			next = base_min_ns(next, suci_expiry_ns(s->n[i].ep));
		if (next > until)
			break;
		assert_true(spin < 1000000);
		s->now_ns = base_max_ns(s->now_ns, next);
		deliver_due(s);
		for (int i = 0; i <= SENDERS; i++)
			if (suci_expiry_ns(s->n[i].ep) <= s->now_ns)
				suci_tick(s->n[i].ep, s->now_ns);
	}
	s->now_ns = until;
}

static struct star *
star_new(const struct suci_limits *limits)
{
	struct star *s = calloc(1, sizeof *s);
	assert_non_null(s);
	s->now_ns = BASE_S_NS;
	s->tail = &s->head;
	for (int i = 0; i <= SENDERS; i++) {
		struct suci_config c = link_config(0);
		s->n[i].star = s;
		s->n[i].addr = link_addr(i);
		c.seed = c.incarnation = 10 + (uint64_t)i;
		c.ops = &ops;
		c.user = &s->n[i];
		if (limits)
			c.limits = *limits;
		s->n[i].ep = link_endpoint(&c, s->now_ns);
	}
	return s;
}

/* Every sender has sent SEGS segments with its priority and none was taken. */
static struct star *
begin(const uint8_t prio[SENDERS])
{
	static const uint8_t data[100];
	struct star *s = star_new(NULL);
	for (int i = 0; i < SENDERS; i++)
		assert_int_equal(suci_path_open(s->n[i].ep, &s->n[SENDERS].addr, NULL, 0,
						&s->n[i].path, s->now_ns),
				 0);
	run(s, 100 * BASE_MS_NS);
	for (int i = 0; i < SENDERS; i++) {
		assert_true(s->n[i].up);
		for (uint32_t k = 0; k < SEGS; k++) {
			struct suci_segment seg = {.src_label = (uint32_t)i, .seq = k};
			seg.flags = (uint16_t)(prio[i] << SUCI_SF_PRIO_SHIFT);
			seg.data = data;
			seg.data_len = sizeof data;
			assert_int_equal(suci_path_send(s->n[i].ep, s->n[i].path, &seg, s->now_ns),
					 0);
		}
	}
	run(s, 100 * BASE_MS_NS);
	for (int i = 0; i < SENDERS; i++)
		assert_int_equal(s->taken[i], 0);
	return s;
}

static void
end(struct star *s)
{
	for (int i = 0; i <= SENDERS; i++)
		free(suci_fini(s->n[i].ep, s->now_ns));
	while (s->head) {
		struct flying *f = s->head;
		s->head = f->next;
		free(f);
	}
	free(s);
}

/* Room for 40 among four: ten each, but for what a single try got by chance. */
static void
test_evenly(void **state)
{
	(void)state;
	struct star *s = begin((const uint8_t[]){0, 0, 0, 0});
	assert_int_equal(s->n[SENDERS].ep->nasking, SENDERS);
	s->room = 40;
	run(s, 10 * BASE_MS_NS);
	assert_int_equal(s->room, 0);
	for (int i = 0; i < SENDERS; i++)
		assert_in_range(s->taken[i], 8, 12);
	s->room = 10000;
	run(s, 10 * BASE_MS_NS);
	for (int i = 0; i < SENDERS; i++) {
		assert_int_equal(s->taken[i], SEGS);
		assert_int_equal(s->n[i].acked, SEGS);
	}
	run(s, 100 * BASE_MS_NS);
	assert_int_equal(s->n[SENDERS].ep->nasking, 0);
	assert_int_equal(s->n[SENDERS].ep->grants_out, 0);
	end(s);
}

/* Strictly by priority: the urgent one first. */
static void
test_priority(void **state)
{
	(void)state;
	struct star *s = begin((const uint8_t[]){0, 3, 0, 1});
	s->room = 60;
	run(s, 10 * BASE_MS_NS);
	assert_int_equal(s->room, 0);
	assert_in_range(s->taken[1], 40, 60); /* tries of the others may slip in */
	s->room = 80;
	run(s, 20 * BASE_MS_NS);
	assert_in_range(s->taken[1], SEGS - 4, SEGS);
	assert_true(s->taken[3] > s->taken[0] && s->taken[3] > s->taken[2]);
	end(s);
}

/* While there is no room, what is tried costs little: asks instead of packets. */
static void
test_asks_instead_of_tries(void **state)
{
	(void)state;
	struct star *s = begin((const uint8_t[]){0, 0, 0, 0});
	s->room = 2 * SENDERS; /* from now on everybody knows that this one grants */
	run(s, 20 * BASE_MS_NS);
	uint64_t refused = suci_counters(s->n[SENDERS].ep)->drop_refused;
	uint64_t datagrams = s->datagrams;
	run(s, BASE_S_NS);
	refused = suci_counters(s->n[SENDERS].ep)->drop_refused - refused;
	print_message("  refused in a second: %u, datagrams %u\n", (unsigned)refused,
		      (unsigned)(s->datagrams - datagrams));
	assert_in_range(refused, 1, SENDERS * 210);
	assert_in_range(s->datagrams - datagrams, 1, SENDERS * 1000);
	end(s);
}

/* One sender lies: asks for everything, never uses it, grants wildly.  Each datagram of
 * its costs at most one, nothing is kept, the others are served. */
static void
test_hostile(void **state)
{
	(void)state;
	struct star *s = begin((const uint8_t[]){0, 0, 0, 0});
	struct base_prng r = base_prng_seed(3);
	struct suci *ep = s->n[SENDERS].ep;
	struct suci_path *p = suci_path_at(ep, &s->n[0].addr);
	assert_non_null(p);
	uint32_t held = suci_held(ep), tag = p->rx_tag;
	uint64_t before = s->datagrams;
	s->room = 50;
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
		suci_rx(ep, &s->n[0].addr, d, SUCI_PATH_HDR + n, 0, s->now_ns);
		assert_true(ep->nasking <= SENDERS);
		assert_true(ep->grants_out <= SENDERS * 65535u);
		pump(s);
	}
	assert_int_equal(suci_held(ep), held);
	assert_in_range(s->datagrams - before, 0, 20000 + SENDERS * SEGS);
	run(s, 200 * BASE_MS_NS);
	s->room = 10000;
	run(s, 400 * BASE_MS_NS);
	for (int i = 1; i < SENDERS; i++)
		assert_int_equal(s->taken[i], SEGS);
	end(s);
}

/* No path can take the records that are another's minimum. */
static void
test_minimum_per_path(void **state)
{
	(void)state;
	static const struct suci_limits limits = {
		.paths_max = 8, .segments_max = 128, .queue_max = 128, .window_max = 64};
	static const uint8_t data[100];
	struct star *s = star_new(&limits);
	uint32_t path[SENDERS], n = 0;
	struct suci *ep = s->n[SENDERS].ep;
	struct suci_segment seg = {.data = data, .data_len = sizeof data};
	for (int i = 0; i < SENDERS; i++)
		assert_int_equal(suci_path_open(ep, &s->n[i].addr, NULL, 0, &path[i], s->now_ns),
				 0);
	run(s, 100 * BASE_MS_NS);
	assert_int_equal(suci_path_room(ep, path[0]), 128 - 3 * 8);
	while (suci_path_send(ep, path[0], &seg, s->now_ns) == SUCI_ERR_OK)
		n++;
	assert_int_equal(n, 128 - 3 * 8); /* 128 / (2 * 8) for each of the others */
	assert_int_equal(suci_path_send(ep, path[0], &seg, s->now_ns), SUCI_ERR_NOMEM);
	for (int i = 1; i < SENDERS; i++)
		for (uint32_t k = 0; k < 8; k++) {
			assert_int_equal(suci_path_room(ep, path[i]), 8 - k);
			assert_int_equal(suci_path_send(ep, path[i], &seg, s->now_ns), SUCI_ERR_OK);
		}
	for (int i = 0; i < SENDERS; i++)
		assert_int_equal(suci_path_send(ep, path[i], &seg, s->now_ns), SUCI_ERR_NOMEM);
	assert_int_equal(suci_held(ep), 128);
	/* A path that ends gives its minimum back. */
	suci_path_close(ep, path[1], NULL, s->now_ns);
	for (n = 0; suci_path_send(ep, path[2], &seg, s->now_ns) == SUCI_ERR_OK; n++)
		;
	assert_int_equal(n, 8);
	end(s);
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
