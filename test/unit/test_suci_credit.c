/* SPDX-License-Identifier: BSD-2-Clause */
/* Credit: however many send at once, what is on its way to the receiver stays below its
 * bound, everybody gets the same, and nothing that is small waits. */
#include "path_internal.h"
#include "suci_star_kit.h"

#define PEERS	 24u
#define DELAY_NS (10 * BASE_US_NS)

struct net {
	struct star s; /* first; its end 0 receives */
	uint32_t npeers, want;
	uint32_t seen[PEERS + 1]; /* segments that came from each, in order of nothing */
	uint32_t ahead_max;	  /* most segments on their way to end 0 */
	uint32_t on_way;
	uint64_t last_ns[PEERS + 1];
	uint32_t to_lose; /* bare acks */
	uint64_t bare;
};

static enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct net *n = (struct net *)((struct star_end *)user)->star;
	(void)path;
	n->seen[seg->src_label]++;
	n->last_ns[seg->src_label] = now_ns;
	return SUCI_TAKEN;
}

static const struct suci_ops ops = {.accept = link_accept,
				    .path_up = star_on_up,
				    .path_down = star_on_down,
				    .segment = on_segment,
				    .released = star_on_released};

static bool
is_data(const struct star_dgram *d)
{
	return !d->to && d->len > 250;
}

static bool
leaves(struct star *s, const struct star_dgram *d)
{
	struct net *n = (struct net *)s;
	bool bare = (d->bytes[0] & 15) == SUCI_T_DATA && d->bytes[1] & SUCI_PF_BARE;
	n->bare += bare;
	if (bare && n->to_lose) {
		n->to_lose--;
		return true;
	}
	n->on_way += is_data(d);
	n->ahead_max = n->on_way > n->ahead_max ? n->on_way : n->ahead_max;
	return false;
}

static void
arrives(struct star *s, const struct star_dgram *d)
{
	((struct net *)s)->on_way -= is_data(d);
}

static bool
all_have_sent(struct star *s)
{
	const struct net *n = (struct net *)s;
	uint32_t all = 0;
	for (uint32_t i = 1; i <= n->npeers; i++)
		all += s->end[i].acked >= n->want;
	return all == n->npeers;
}

/* Until then, or until everybody has given want segments. */
static bool
run(struct net *n, uint64_t until_ns, uint32_t want)
{
	n->want = want;
	return star_run(&n->s, until_ns, want ? all_have_sent : NULL);
}

static struct net *
net_new(uint32_t npeers, uint32_t credit_total)
{
	struct net *n = calloc(1, sizeof *n);
	assert_non_null(n);
	n->npeers = npeers;
	star_init(&n->s, npeers + 1, DELAY_NS);
	n->s.checks = true;
	n->s.leaves = leaves;
	n->s.arrives = arrives;
	for (uint32_t i = 0; i <= npeers; i++) {
		struct suci_config c = {
			.limits = {.paths_max = PEERS + 1,
				   .segments_max = 1024,
				   .queue_max = 512,
				   .window_max = 256},
			.mtu_max = 1432,
			.cc = SUCI_CC_FIXED,
			.fixed_window = 256,
			.credit_total = i ? 0 : credit_total,
			.liveness_ns = 2 * BASE_S_NS,
			.ops = &ops,
		};
		star_endpoint(&n->s, i, &c);
	}
	for (uint32_t i = 1; i <= npeers; i++)
		star_open(&n->s, i, 0);
	/* All up, then silent for long. */
	run(n, n->s.now_ns + 100 * BASE_MS_NS, 0);
	for (uint32_t i = 1; i <= npeers; i++)
		assert_true(n->s.end[i].up);
	return n;
}

static void
net_free(struct net *n)
{
	star_fini(&n->s);
	free(n);
}

static void
send_some(struct net *n, uint32_t from, uint32_t count, uint16_t len, uint32_t prio)
{
	static const uint8_t bytes[1400];
	for (uint32_t k = 0; k < count; k++) {
		struct suci_segment s = {.src_label = from,
					 .flags = (uint16_t)(prio << SUCI_SF_PRIO_SHIFT),
					 .data = bytes,
					 .data_len = len,
					 .cookie = k};
		star_send(&n->s, from, &s);
	}
}

static void
test_bound_and_fair(void **state)
{
	static const uint32_t totals[] = {1, 3, 8, 24, 50, 200};
	(void)state;
	for (uint32_t t = 0; t < sizeof totals / sizeof totals[0]; t++) {
		struct net *n = net_new(PEERS, totals[t]);
		for (uint32_t i = 1; i <= PEERS; i++)
			send_some(n, i, 60, 1300, 0);
		uint64_t from = n->s.now_ns;
		assert_true(run(n, from + 10 * BASE_S_NS, 60));
		assert_true(n->ahead_max <= totals[t]);
		/* The bound is used: so many per round trip, less what turning costs. */
		uint64_t rounds = PEERS * 60 / totals[t] + 1;
		assert_true(n->s.now_ns - from < (rounds + 20) * 3 * DELAY_NS + 2 * BASE_MS_NS);
		uint64_t first = BASE_NEVER_NS, last = 0;
		for (uint32_t i = 1; i <= PEERS; i++) {
			first = base_min_ns(first, n->last_ns[i]);
			last = base_max_ns(last, n->last_ns[i]);
		}
		if (totals[t] < PEERS) /* in turns: all end within two of them */
			assert_true(last - first <= (2 * PEERS / totals[t] + 2) * 2 * DELAY_NS);
		net_free(n);
	}
}

static void
test_priority(void **state)
{
	(void)state;
	struct net *n = net_new(6, 2);
	for (uint32_t i = 1; i <= 6; i++)
		send_some(n, i, 40, 1300, i > 3 ? 2 : 0);
	assert_true(run(n, n->s.now_ns + 10 * BASE_S_NS, 40));
	for (uint32_t low = 1; low <= 3; low++)
		for (uint32_t high = 4; high <= 6; high++)
			assert_true(n->last_ns[high] < n->last_ns[low]);
	net_free(n);
}

/* One alone gets everything, also what silent peers were promised. */
static void
test_alone(void **state)
{
	(void)state;
	struct net *n = net_new(PEERS, 48);
	for (uint32_t i = 2; i <= PEERS; i++)
		send_some(n, i, 20, 1300, 0);
	run(n, n->s.now_ns + 100 * BASE_MS_NS, 0);
	n->ahead_max = 0;
	uint64_t from = n->s.now_ns;
	send_some(n, 1, 480, 1300, 0);
	while (n->s.end[1].acked < 480 && n->s.now_ns < from + BASE_S_NS)
		run(n, n->s.now_ns + BASE_MS_NS / 10, 0);
	assert_true(n->ahead_max >= 24 && n->ahead_max <= 48);
	assert_true(n->s.now_ns - from < (480 / 24 + 8) * 2 * DELAY_NS + 2 * BASE_MS_NS);
	net_free(n);
}

/* An ask as if that peer had made it. */
static void
ask(struct net *n, uint32_t peer, uint32_t bare_pn, uint8_t waiting)
{
	const struct star_end *e = &n->s.end[peer];
	struct suci_addr from = n->s.end[peer].addr;
	struct suci_path_hdr h = {.version = SUCI_VERSION,
				  .flags = SUCI_PF_BARE,
				  .ack_len = SUCI_ACK_HDR + SUCI_ACK_ROOM,
				  .path_tag = e->ep->path[e->path].tx_tag,
				  .pn = bare_pn};
	struct suci_ack a = {.flags = SUCI_AF_ROOM, .waiting = waiting, .ask_prio = waiting};
	uint8_t d[SUCI_PATH_HDR + SUCI_ACK_MAX];
	suci_path_hdr_encode(&h, d);
	size_t len = SUCI_PATH_HDR + suci_ack_encode(&a, d + SUCI_PATH_HDR);
	suci_rx(n->s.end[0].ep, &from, d, len, 0, n->s.now_ns);
}

/* A silent peer holds the only promise; it is taken back. */
static void
test_taken_back(void **state)
{
	(void)state;
	struct net *n = net_new(8, 1);
	for (uint32_t i = 2; i <= 8; i++)
		send_some(n, i, 40, 1300, 0);
	run(n, n->s.now_ns + BASE_MS_NS / 2, 0);
	ask(n, 1, 1000, 1); /* has its turn among the others and nothing to send */
	n->s.end[1].acked = 40;
	assert_true(run(n, n->s.now_ns + BASE_S_NS, 40));
	net_free(n);
}

/* Without any credit a small message takes as long as with all of it: its segment has so many
 * bytes. */
static void
small(uint16_t len)
{
	struct net *n = net_new(PEERS, 1);
	for (uint32_t i = 2; i <= PEERS; i++)
		send_some(n, i, 50, 1300, 0);
	run(n, n->s.now_ns + BASE_MS_NS, 0);
	for (uint32_t k = 0; k < 5; k++) {
		uint64_t from = n->s.now_ns;
		send_some(n, 1, 1, len, 0);
		run(n, from + DELAY_NS, 0);
		assert_int_equal(n->seen[1], k + 1);
		assert_int_equal(n->last_ns[1], from + DELAY_NS);
		run(n, n->s.now_ns + 3 * BASE_MS_NS, 0);
	}
	net_free(n);
}

static void
test_small(void **state)
{
	(void)state;
	small(8);
	small(128 + 8);	 /* a packet of IMPI that begins a block */
	small(128 + 40); /* and one with 32 bytes of a message in it */
}

/* The first asks and grants are lost. */
static void
test_lost_asks(void **state)
{
	(void)state;
	for (uint32_t lost = 1; lost <= 6; lost++) {
		struct net *n = net_new(2, 1);
		n->to_lose = lost;
		uint64_t from = n->s.now_ns;
		send_some(n, 1, 30, 1300, 0);
		send_some(n, 2, 30, 1300, 0);
		assert_true(run(n, from + 10 * BASE_S_NS, 30));
		assert_true(n->s.now_ns - from < 130 * BASE_MS_NS);
		net_free(n);
	}
}

/* An owner can see that it waits for credit: from when it ran out until it has enough. */
static void
test_short_since(void **state)
{
	(void)state;
	struct net *n = net_new(2, 1);
	struct suci *ep = n->s.end[1].ep;
	uint64_t from = n->s.now_ns;
	assert_int_equal(suci_short_since_ns(ep), 0);
	send_some(n, 1, 1, 8, 0); /* a small one needs none */
	star_pump(&n->s);
	assert_int_equal(suci_short_since_ns(ep), 0);
	send_some(n, 1, 3, 1300, 0);
	star_pump(&n->s);
	assert_int_equal(suci_short_since_ns(ep), from);
	run(n, from + DELAY_NS, 0); /* it is asked; its answer is on the way */
	assert_int_equal(suci_short_since_ns(ep), from);
	run(n, from + 100 * BASE_MS_NS, 0);
	assert_int_equal(n->seen[1], 4);
	assert_int_equal(suci_short_since_ns(ep), 0);
	assert_int_equal(suci_short_since_ns(n->s.end[2].ep), 0);
	net_free(n);
}

/* Who waits for credit of one that is gone hears of it. */
static void
test_gone(void **state)
{
	(void)state;
	struct net *n = net_new(2, 1);
	LINK_GIVE(suci_fini(n->s.end[0].ep, n->s.now_ns));
	n->s.end[0].ep = NULL;
	uint64_t bare = n->bare;
	send_some(n, 1, 30, 1300, 0);
	run(n, n->s.now_ns + 5 * BASE_S_NS, 0);
	assert_true(n->s.end[1].down);
	assert_true(n->bare - bare < 100);
	net_free(n);
}

/* Asks without end: each draws at most an answer per round trip, and memory none. */
static void
test_flood(void **state)
{
	(void)state;
	struct net *n = net_new(3, 4);
	struct suci *ep = n->s.end[0].ep;
	uint64_t sent = suci_counters(ep)->tx_datagrams;
	for (uint32_t k = 0; k < 20000; k++) {
		ask(n, 1, 1000 + k, (uint8_t)(1 + k % 255));
		star_pump(&n->s);
		n->s.now_ns += 1000;
	}
	/* 20 ms: what it is promised is its share, told once a millisecond at most. */
	assert_true(suci_counters(ep)->tx_datagrams - sent < 100);
	assert_true(ep->pool[0].promised <= 4);
	/* The others are served as ever. */
	n->s.end[1].acked = 30;
	send_some(n, 2, 30, 1300, 0);
	send_some(n, 3, 30, 1300, 0);
	assert_true(run(n, n->s.now_ns + BASE_S_NS, 30));
	net_free(n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bound_and_fair), cmocka_unit_test(test_priority),
		cmocka_unit_test(test_alone),	       cmocka_unit_test(test_taken_back),
		cmocka_unit_test(test_small),	       cmocka_unit_test(test_lost_asks),
		cmocka_unit_test(test_short_since),    cmocka_unit_test(test_gone),
		cmocka_unit_test(test_flood),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
