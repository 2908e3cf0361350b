/* Credit: however many send at once, what is on its way to the receiver stays below its
 * bound, everybody gets the same, and nothing that is small waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "path_internal.h"

#define PEERS	 24u
#define DELAY_NS (10 * BASE_US_NS)
#define WIRE_MAX 8192

struct node {
	struct net *net;
	uint32_t index;
	struct suci *ep;
	void *mem;
	uint32_t path; /* a sender's */
	bool up, down;
	uint32_t got; /* released as acknowledged */
};

struct dgram {
	uint64_t at_ns;
	uint32_t from, to;
	uint16_t len;
	uint8_t bytes[1500];
};

/* Node 0 receives. */
struct net {
	uint64_t now_ns;
	uint32_t npeers;
	struct node node[PEERS + 1];
	uint32_t seen[PEERS + 1]; /* segments that came from each, in order of nothing */
	uint32_t ahead_max;	  /* most segments on their way to node 0 */
	uint32_t on_way;
	uint64_t last_ns[PEERS + 1];
	bool (*lose)(struct net *n, const struct dgram *d);
	uint32_t arg;
	uint64_t bare;
	struct dgram *wire[WIRE_MAX]; /* by time */
	uint32_t nwire;
};

static struct suci_addr
addr_of(uint32_t i)
{
	struct suci_addr a = {.port = 7000, .family = 4};
	a.ip[12] = 10;
	a.ip[15] = (uint8_t)(i + 1);
	return a;
}

static int
on_accept(void *user, const struct suci_addr *from, const void *hello, size_t len, char *why)
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
	struct node *n = user;
	(void)path, (void)why, (void)text;
	n->down = true;
}

static enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct node *n = user;
	(void)path;
	n->net->seen[seg->src_label]++;
	n->net->last_ns[seg->src_label] = now_ns;
	return SUCI_TAKEN;
}

static void
on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct node *n = user;
	(void)path, (void)cookie, (void)now_ns;
	n->got += fate == SUCI_FATE_ACKED;
}

static const struct suci_ops ops = {.accept = on_accept,
				    .path_up = on_up,
				    .path_down = on_down,
				    .segment = on_segment,
				    .released = on_released};

static bool
is_data(const struct dgram *d)
{
	return !d->to && d->len > 200;
}

static void
put(struct net *n, uint32_t from, const struct suci_out *o)
{
	struct dgram *d = malloc(sizeof *d);
	assert_non_null(d);
	*d = (struct dgram){.at_ns = n->now_ns + DELAY_NS, .from = from};
	d->to = from ? 0 : o->to.ip[15] - 1u;
	memcpy(d->bytes, o->head, o->head_len);
	if (o->data_len)
		memcpy(d->bytes + o->head_len, o->data, o->data_len);
	d->len = (uint16_t)(o->head_len + o->data_len);
	n->bare += (d->bytes[0] & 15) == SUCI_T_DATA && d->bytes[1] & SUCI_PF_BARE;
	if (n->lose && n->lose(n, d)) {
		free(d);
		return;
	}
	n->on_way += is_data(d);
	n->ahead_max = n->on_way > n->ahead_max ? n->on_way : n->ahead_max;
	assert_true(n->nwire < WIRE_MAX);
	n->wire[n->nwire++] = d; /* all take the same time */
}

static void
pump(struct net *n)
{
	static struct suci_out out;
	const char *what;
	for (uint32_t i = 0; i <= n->npeers; i++) {
		while (n->node[i].ep && suci_tx(n->node[i].ep, &out, n->now_ns))
			put(n, i, &out);
		if (n->node[i].ep && !suci_check(n->node[i].ep, &what))
			fail_msg("node %u: %s", i, what);
	}
}

/* Until then, or until everybody has given want segments. */
static bool
run(struct net *n, uint64_t until_ns, uint32_t want)
{
	for (;;) {
		pump(n);
		uint32_t all = 0;
		for (uint32_t i = 1; i <= n->npeers; i++)
			all += n->node[i].got >= want;
		if (want && all == n->npeers)
			return true;
		uint64_t at = n->nwire ? n->wire[0]->at_ns : BASE_NEVER_NS;
		for (uint32_t i = 0; i <= n->npeers; i++)
			if (n->node[i].ep)
				at = base_min_ns(at, suci_expiry_ns(n->node[i].ep));
		if (at > until_ns) {
			n->now_ns = until_ns;
			return false;
		}
		n->now_ns = base_max_ns(n->now_ns, at);
		while (n->nwire && n->wire[0]->at_ns <= n->now_ns) {
			struct dgram *d = n->wire[0];
			memmove(n->wire, n->wire + 1, --n->nwire * sizeof n->wire[0]);
			struct suci_addr from = addr_of(d->from);
			n->on_way -= is_data(d);
			if (n->node[d->to].ep)
				suci_rx(n->node[d->to].ep, &from, d->bytes, d->len, 0, n->now_ns);
			free(d);
		}
		for (uint32_t i = 0; i <= n->npeers; i++)
			if (n->node[i].ep && n->now_ns >= suci_expiry_ns(n->node[i].ep))
				suci_tick(n->node[i].ep, n->now_ns);
	}
}

static struct net *
net_new(uint32_t npeers, uint32_t credit_total)
{
	struct net *n = calloc(1, sizeof *n);
	assert_non_null(n);
	n->npeers = npeers;
	n->now_ns = BASE_S_NS;
	for (uint32_t i = 0; i <= npeers; i++) {
		struct node *e = &n->node[i];
		struct suci_config c = {
			.limits = {.paths_max = PEERS + 1,
				   .segments_max = 1024,
				   .queue_max = 512,
				   .window_max = 256},
			.incarnation = i + 1,
			.seed = i,
			.mtu_max = 1432,
			.cc = SUCI_CC_FIXED,
			.fixed_window = 256,
			.credit_total = i ? 0 : credit_total,
			.liveness_ns = 2 * BASE_S_NS,
			.ops = &ops,
			.user = e,
		};
		e->net = n;
		e->index = i;
		e->mem = aligned_alloc(64, suci_footprint(&c.limits));
		assert_non_null(e->mem);
		e->ep = suci_new(e->mem, &c, n->now_ns);
		assert_non_null(e->ep);
	}
	for (uint32_t i = 1; i <= npeers; i++) {
		struct suci_addr to = addr_of(0);
		assert_int_equal(
			suci_path_open(n->node[i].ep, &to, NULL, 0, &n->node[i].path, n->now_ns),
			0);
	}
	/* All up, then silent for long. */
	run(n, n->now_ns + 100 * BASE_MS_NS, 0);
	for (uint32_t i = 1; i <= npeers; i++)
		assert_true(n->node[i].up);
	return n;
}

static void
net_free(struct net *n)
{
	for (uint32_t i = 0; i <= n->npeers; i++) {
		suci_fini(n->node[i].ep, n->now_ns);
		free(n->node[i].mem);
	}
	for (uint32_t i = 0; i < n->nwire; i++)
		free(n->wire[i]);
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
		assert_int_equal(
			suci_path_send(n->node[from].ep, n->node[from].path, &s, n->now_ns), 0);
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
		uint64_t from = n->now_ns;
		assert_true(run(n, from + 10 * BASE_S_NS, 60));
		assert_true(n->ahead_max <= totals[t]);
		/* The bound is used: so many per round trip, less what turning costs. */
		uint64_t rounds = PEERS * 60 / totals[t] + 1;
		assert_true(n->now_ns - from < (rounds + 20) * 3 * DELAY_NS + 2 * BASE_MS_NS);
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
	assert_true(run(n, n->now_ns + 10 * BASE_S_NS, 40));
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
	run(n, n->now_ns + 100 * BASE_MS_NS, 0);
	n->ahead_max = 0;
	uint64_t from = n->now_ns;
	send_some(n, 1, 480, 1300, 0);
	while (n->node[1].got < 480 && n->now_ns < from + BASE_S_NS)
		run(n, n->now_ns + BASE_MS_NS / 10, 0);
	assert_true(n->ahead_max >= 24 && n->ahead_max <= 48);
	assert_true(n->now_ns - from < (480 / 24 + 8) * 2 * DELAY_NS + 2 * BASE_MS_NS);
	net_free(n);
}

/* An ask as if that peer had made it. */
static void
ask(struct net *n, uint32_t peer, uint32_t bare_pn, uint8_t waiting)
{
	const struct node *e = &n->node[peer];
	struct suci_addr from = addr_of(peer);
	struct suci_path_hdr h = {.version = SUCI_VERSION,
				  .flags = SUCI_PF_BARE,
				  .ack_len = SUCI_ACK_HDR + SUCI_ACK_ROOM,
				  .path_tag = e->ep->path[e->path].tx_tag,
				  .pn = bare_pn};
	struct suci_ack a = {.flags = SUCI_AF_ROOM, .waiting = waiting, .ask_prio = waiting};
	uint8_t d[SUCI_PATH_HDR + SUCI_ACK_MAX];
	suci_path_hdr_encode(&h, d);
	size_t len = SUCI_PATH_HDR + suci_ack_encode(&a, d + SUCI_PATH_HDR);
	suci_rx(n->node[0].ep, &from, d, len, 0, n->now_ns);
}

/* A silent peer holds the only promise; it is taken back. */
static void
test_taken_back(void **state)
{
	(void)state;
	struct net *n = net_new(8, 1);
	for (uint32_t i = 2; i <= 8; i++)
		send_some(n, i, 40, 1300, 0);
	run(n, n->now_ns + BASE_MS_NS / 2, 0);
	ask(n, 1, 1000, 1); /* has its turn among the others and nothing to send */
	n->node[1].got = 40;
	assert_true(run(n, n->now_ns + BASE_S_NS, 40));
	net_free(n);
}

/* Without any credit a small message takes as long as with all of it. */
static void
test_small(void **state)
{
	(void)state;
	struct net *n = net_new(PEERS, 1);
	for (uint32_t i = 2; i <= PEERS; i++)
		send_some(n, i, 50, 1300, 0);
	run(n, n->now_ns + BASE_MS_NS, 0);
	for (uint32_t k = 0; k < 5; k++) {
		uint64_t from = n->now_ns;
		send_some(n, 1, 1, 8, 0);
		run(n, from + DELAY_NS, 0);
		assert_int_equal(n->seen[1], k + 1);
		assert_int_equal(n->last_ns[1], from + DELAY_NS);
		run(n, n->now_ns + 3 * BASE_MS_NS, 0);
	}
	net_free(n);
}

/* The first asks and grants are lost. */
static bool
lose_bare(struct net *n, const struct dgram *d)
{
	bool bare = (d->bytes[0] & 15) == SUCI_T_DATA && d->bytes[1] & SUCI_PF_BARE;
	if (!bare || !n->arg)
		return false;
	n->arg--;
	return true;
}

static void
test_lost_asks(void **state)
{
	(void)state;
	for (uint32_t lost = 1; lost <= 6; lost++) {
		struct net *n = net_new(2, 1);
		n->lose = lose_bare;
		n->arg = lost;
		uint64_t from = n->now_ns;
		send_some(n, 1, 30, 1300, 0);
		send_some(n, 2, 30, 1300, 0);
		assert_true(run(n, from + 10 * BASE_S_NS, 30));
		assert_true(n->now_ns - from < 130 * BASE_MS_NS);
		net_free(n);
	}
}

/* An owner can see that it waits for credit: from when it ran out until it has enough. */
static void
test_short_since(void **state)
{
	(void)state;
	struct net *n = net_new(2, 1);
	struct suci *ep = n->node[1].ep;
	uint64_t from = n->now_ns;
	assert_int_equal(suci_short_since_ns(ep), 0);
	send_some(n, 1, 1, 8, 0); /* a small one needs none */
	pump(n);
	assert_int_equal(suci_short_since_ns(ep), 0);
	send_some(n, 1, 3, 1300, 0);
	pump(n);
	assert_int_equal(suci_short_since_ns(ep), from);
	run(n, from + DELAY_NS, 0); /* it is asked; its answer is on the way */
	assert_int_equal(suci_short_since_ns(ep), from);
	run(n, from + 100 * BASE_MS_NS, 0);
	assert_int_equal(n->seen[1], 4);
	assert_int_equal(suci_short_since_ns(ep), 0);
	assert_int_equal(suci_short_since_ns(n->node[2].ep), 0);
	net_free(n);
}

/* Who waits for credit of one that is gone hears of it. */
static void
test_gone(void **state)
{
	(void)state;
	struct net *n = net_new(2, 1);
	suci_fini(n->node[0].ep, n->now_ns);
	n->node[0].ep = NULL;
	uint64_t bare = n->bare;
	send_some(n, 1, 30, 1300, 0);
	run(n, n->now_ns + 5 * BASE_S_NS, 0);
	assert_true(n->node[1].down);
	assert_true(n->bare - bare < 100);
	net_free(n);
}

/* Asks without end: each draws at most an answer per round trip, and memory none. */
static void
test_flood(void **state)
{
	(void)state;
	struct net *n = net_new(3, 4);
	struct suci *ep = n->node[0].ep;
	uint64_t sent = suci_counters(ep)->tx_datagrams;
	for (uint32_t k = 0; k < 20000; k++) {
		ask(n, 1, 1000 + k, (uint8_t)(1 + k % 255));
		pump(n);
		n->now_ns += 1000;
	}
	/* 20 ms: what it is promised is its share, told once a millisecond at most. */
	assert_true(suci_counters(ep)->tx_datagrams - sent < 100);
	assert_true(ep->pool[0].promised <= 4);
	/* The others are served as ever. */
	n->node[1].got = 30;
	send_some(n, 2, 30, 1300, 0);
	send_some(n, 3, 30, 1300, 0);
	assert_true(run(n, n->now_ns + BASE_S_NS, 30));
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
