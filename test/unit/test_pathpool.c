/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of which each has fewer paths than peers, over Suci endpoints as they ship, in virtual
 * time: every message comes once, and nobody ever has more paths than it may. */
#include "pathpool/pathpool.h"

#include "test_suci_link.h"

#include "base/prng.h"

#define ENDS_MAX     1024u
#define SAYS	     16u /* bytes of a note */
#define MESSAGES_MAX 100u
#define DELAY_NS     20000ull
#define STALL_NS     (20 * BASE_S_NS)

struct dg {
	struct dg *next;
	uint64_t at_ns;
	uint32_t from, to;
	size_t len;
	uint8_t bytes[];
};

struct peer {
	uint32_t path;	    /* UINT32_MAX: none */
	uint32_t sent, got; /* messages */
	uint32_t under_way;
	uint32_t left; /* to be sent */
	uint32_t base; /* got when the path came up: all before has been acknowledged */
	bool seen[MESSAGES_MAX];
};

struct end {
	struct net *net;
	struct suci *ep;
	struct pathpool *pool;
	struct peer *peer;
	uint32_t *use; /* [paths_max of ep] */
	uint32_t computes_until_ms;
};

static struct net {
	struct end end[ENDS_MAX];
	uint32_t n, messages, most, failures;
	uint64_t now_ns, loss_ppb, dup_ppb, jitter_ns, delivered;
	bool over, circle;
	uint32_t abandoned;
	struct base_prng prng;
	struct dg *wheel[1024]; /* by microsecond of arrival; jitter stays below */
	uint32_t flying;
} net;

static uint32_t
number_of(const struct end *e)
{
	return (uint32_t)(e - net.end);
}

static struct suci_addr
addr_of(uint32_t i)
{
	struct suci_addr a = {.port = 7000, .family = 4};
	a.ip[12] = 10;
	a.ip[14] = (uint8_t)(i >> 8);
	a.ip[15] = (uint8_t)i;
	return a;
}

static uint32_t
end_at(const struct suci_addr *a)
{
	return (uint32_t)a->ip[14] << 8 | a->ip[15];
}

/* ---- what the pool asks for ---- */

static bool
open_to(void *user, uint32_t peer, uint64_t now_ns)
{
	struct end *e = user;
	struct suci_addr to = addr_of(peer);
	uint8_t me[4];

	memcpy(me, &(uint32_t){number_of(e)}, 4);
	int err = suci_path_open(e->ep, &to, me, sizeof me, &e->peer[peer].path, now_ns);
	if (err)
		fail_msg("end %u to %u: %s", number_of(e), peer, suci_strerror(err));
	e->use[e->peer[peer].path] = peer;
	return true;
}

static void
nudge_to(void *user, uint32_t peer, uint64_t now_ns)
{
	struct end *e = user;
	(void)suci_path_nudge(e->ep, e->peer[peer].path, now_ns);
}

static void
close_to(void *user, uint32_t peer, const char *text, uint64_t now_ns)
{
	struct end *e = user;
	suci_path_close(e->ep, e->peer[peer].path, text, now_ns);
}

static bool
is_busy_with(void *user, uint32_t peer)
{
	struct end *e = user;
	struct suci_path_info i;

	return e->peer[peer].under_way > 0 ||
	       (suci_path_info(e->ep, e->peer[peer].path, &i) && i.in_flight + i.queued > 0);
}

static bool
waits_for(void *user, uint32_t peer)
{
	const struct end *e = user;
	return e->peer[peer].left > 0;
}

static bool
say_to(void *user, uint32_t peer, enum pathpool_say say, uint32_t number, uint64_t now_ns)
{
	struct end *e = user;
	uint8_t note[SAYS] = {(uint8_t)say};

	memcpy(note + 4, &number, 4);
	return suci_path_note(e->ep, e->peer[peer].path, note, sizeof note, now_ns) == 0;
}

static const struct pathpool_ops pool_ops = {open_to,	   nudge_to,  close_to,
					     is_busy_with, waits_for, say_to};

/* ---- what Suci tells ---- */

static int
on_accept(void *user, const struct suci_addr *from, const void *hello, size_t len,
	  char why[SUCI_TEXT_MAX])
{
	struct end *e = user;

	(void)hello;
	assert_int_equal(len, 4);
	(void)why;
	return pathpool_may_come(e->pool, end_at(from), net.now_ns) ? 0 : SUCI_LATER;
}

static void
on_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
      bool incoming)
{
	struct end *e = user;

	(void)hello, (void)len, (void)incoming;
	e->use[path] = end_at(peer);
	e->peer[end_at(peer)].path = path;
	e->peer[end_at(peer)].base = e->peer[end_at(peer)].got;
	pathpool_up(e->pool, end_at(peer));
}

static void
on_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct end *e = user;
	uint32_t peer = e->use[path];

	if (net.abandoned)
		fail_msg("end %u: messages to %u were under way when the path went down: %d %s, "
			 "%.3f ms",
			 number_of(e), peer, why, text, (double)net.now_ns / 1e6);
	if (e->peer[peer].path == path)
		e->peer[peer].path = UINT32_MAX;
	if (!net.over &&
	    !pathpool_down(e->pool, peer, why == SUCI_DOWN_CLOSED || why == SUCI_DOWN_RESET,
			   net.now_ns)) {
		net.failures++;
		printf("end %u: the path to %u went down: %d %s\n", number_of(e), peer, why, text);
	}
}

static enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct end *e = user;
	uint32_t from = e->use[path];

	(void)now_ns;
	assert_true(seg->seq < MESSAGES_MAX);
	/* A packet sent again may come twice on its path, but not on a later one. */
	assert_true(seg->seq >= e->peer[from].base);
	if (e->peer[from].seen[seg->seq])
		return SUCI_TAKEN;
	e->peer[from].seen[seg->seq] = true;
	e->peer[from].got++;
	net.delivered++;
	pathpool_heard(e->pool, from);
	return SUCI_TAKEN;
}

static void
on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct end *e = user;

	(void)path, (void)now_ns;
	net.abandoned += !net.over && fate != SUCI_FATE_ACKED;
	e->peer[cookie].under_way--;
}

static void
on_note(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	struct end *e = user;
	const uint8_t *n = note;
	uint32_t number;

	assert_int_equal(len, SAYS);
	memcpy(&number, n + 4, 4);
	pathpool_told(e->pool, e->use[path], (enum pathpool_say)n[0], number, now_ns);
}

static const struct suci_ops ops = {.accept = on_accept,
				    .path_up = on_up,
				    .path_down = on_down,
				    .segment = on_segment,
				    .released = on_released,
				    .note = on_note};

/* ---- the world ---- */

static void
make_net(uint32_t n, uint32_t paths, uint32_t messages, uint64_t seed)
{
	memset(&net, 0, sizeof net);
	net.n = n;
	net.most = paths;
	net.messages = messages;
	net.now_ns = BASE_S_NS;
	net.prng = base_prng_seed(seed);
	for (uint32_t i = 0; i < n; i++) {
		struct end *e = &net.end[i];
		struct suci_config c = {.limits = {.paths_max = paths + 8,
						   .segments_max = 32 * (paths + 8),
						   .queue_max = 16,
						   .window_max = 16},
					.incarnation = seed + i + 1,
					.seed = seed * 1000 + i,
					.cookie_secret = {1, (uint8_t)i, (uint8_t)(i >> 8)},
					.mtu_max = 1432,
					.cc = SUCI_CC_CUBIC,
					.ops = &ops,
					.user = e};
		e->ep = link_endpoint(&c, net.now_ns);
		e->pool = pathpool_new(malloc(pathpool_footprint(n)), n, paths, &pool_ops, e);
		e->peer = calloc(n, sizeof *e->peer);
		e->use = calloc(paths + 8, sizeof *e->use);
		for (uint32_t k = 0; k < n; k++)
			e->peer[k] = (struct peer){.path = UINT32_MAX};
	}
}

static void
free_net(void)
{
	net.over = true;
	for (uint32_t i = 0; i < net.n; i++) {
		struct end *e = &net.end[i];
		LINK_GIVE(suci_fini(e->ep, net.now_ns));
		free(e->pool);
		free(e->peer);
		free(e->use);
	}
	for (uint32_t k = 0; k < 1024; k++)
		while (net.wheel[k]) {
			struct dg *d = net.wheel[k];
			net.wheel[k] = d->next;
			free(d);
		}
}

static void
fly(uint32_t from, const struct suci_out *o)
{
	size_t len = suci_out_len(o);
	uint64_t at = net.now_ns + DELAY_NS;
	struct dg *d = malloc(sizeof *d + len), **to;

	if (net.jitter_ns)
		at += base_prng_below(&net.prng, net.jitter_ns);
	at = at / 1000 * 1000;
	assert_non_null(d);
	*d = (struct dg){.at_ns = at, .from = from, .to = end_at(&o->to), .len = len};
	link_flatten(o, d->bytes);
	to = &net.wheel[at / 1000 % 1024];
	while (*to)
		to = &(*to)->next;
	*to = d;
	net.flying++;
}

static void
send_all(struct end *e)
{
	struct suci_out o;

	while (suci_tx(e->ep, &o, net.now_ns)) {
		bool lost = base_prng_below(&net.prng, 1000000000) < net.loss_ppb;
		bool twice = base_prng_below(&net.prng, 1000000000) < net.dup_ppb;
		for (uint32_t k = 0; k < (lost ? 0u : 1u + twice); k++)
			fly(number_of(e), &o);
	}
}

/* One look of the process: what its library does in a call. */
static void
look(struct end *e)
{
	static const uint8_t bytes[64];
	const char *what;

	if (net.now_ns / 1000000 < e->computes_until_ms)
		return;
	if (suci_expiry_ns(e->ep) <= net.now_ns)
		suci_tick(e->ep, net.now_ns);
	pathpool_turn(e->pool, net.now_ns);
	for (uint32_t i = 0; i < net.n; i++) {
		/* In a circle all begin with the next one. */
		uint32_t k = net.circle ? (number_of(e) + 1 + i) % net.n : i;
		struct peer *p = &e->peer[k];
		while (p->left && p->under_way < 4 && pathpool_may_send(e->pool, k, net.now_ns)) {
			struct suci_segment s = {.seq = p->sent,
						 .data = bytes,
						 .data_len = sizeof bytes,
						 .mss = 64,
						 .cookie = k};
			if (suci_path_send(e->ep, p->path, &s, net.now_ns))
				break;
			p->sent++;
			p->left--;
			p->under_way++;
		}
	}
	send_all(e);
	if (!pathpool_check(e->pool, &what))
		fail_msg("end %u: %s", number_of(e), what);
}

/* Turns of 10 us until all have all. */
static void
run(uint64_t wanted, bool computes)
{
	uint64_t since = net.now_ns, before = 0;

	while (net.delivered < wanted) {
		net.now_ns += 10000;
		for (uint64_t us = net.now_ns / 1000 - 9; us <= net.now_ns / 1000; us++) {
			struct dg **slot = &net.wheel[us % 1024];
			while (*slot) {
				struct dg *d = *slot;
				struct suci_addr from = addr_of(d->from);
				*slot = d->next;
				net.flying--;
				suci_rx(net.end[d->to].ep, &from, d->bytes, d->len, 0, net.now_ns);
				free(d);
			}
		}
		for (uint32_t i = 0; i < net.n; i++) {
			struct end *e = &net.end[i];
			if (computes && base_prng_below(&net.prng, 2000) == 0)
				e->computes_until_ms = (uint32_t)(net.now_ns / 1000000 + 5);
			look(e);
		}
		if (net.delivered != before)
			since = net.now_ns;
		before = net.delivered;
		if (net.now_ns - since > STALL_NS)
			fail_msg("%llu of %llu messages have come, and none for 20 s",
				 (unsigned long long)net.delivered, (unsigned long long)wanted);
	}
}

static void
judge(const char *name)
{
	uint64_t rested = 0, put_off = 0, opened = 0;

	assert_int_equal(net.failures, 0);
	for (uint32_t i = 0; i < net.n; i++) {
		const struct pathpool_counters *c = pathpool_counters(net.end[i].pool);
		for (uint32_t k = 0; k < net.n; k++)
			if (i != k)
				assert_int_equal(net.end[i].peer[k].got, net.messages);
		assert_true(c->most <= net.most);
		rested += c->rested;
		put_off += c->put_off;
		opened += c->opened;
	}
	assert_true(net.n - 1 <= net.most || rested > 0);
	printf("%s: %u processes of %u paths, %.1f ms, %llu opened, %llu put to rest, %llu "
	       "refused\n",
	       name, net.n, net.most, (double)(net.now_ns - BASE_S_NS) / 1e6,
	       (unsigned long long)opened, (unsigned long long)rested, (unsigned long long)put_off);
}

static void
all_to_all(uint32_t messages)
{
	for (uint32_t i = 0; i < net.n; i++)
		for (uint32_t k = 0; k < net.n; k++)
			net.end[i].peer[k].left = i == k ? 0 : messages;
}

static void
all_to_all_seeds(void **state)
{
	(void)state;
	static const struct {
		uint32_t n, paths, messages;
		uint64_t loss_ppb, jitter_ns;
		bool computes;
	} of[] = {
		{3, 2, 40, 0, 0, false},
		{4, 2, 40, 0, 0, false},
		{12, 2, 12, 0, 0, false},
		{12, 3, 12, 20000000, 300000, false},
		{16, 4, 12, 50000000, 0, false},
		{16, 15, 12, 0, 0, false},
		{10, 2, 12, 20000000, 300000, true},
		{24, 8, 6, 100000000, 500000, true},
	};
	for (uint32_t k = 0; k < sizeof of / sizeof *of; k++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			char name[32];
			make_net(of[k].n, of[k].paths, of[k].messages, seed * 977 + k);
			net.circle = seed & 1;
			net.loss_ppb = of[k].loss_ppb;
			net.dup_ppb = of[k].loss_ppb / 2;
			net.jitter_ns = of[k].jitter_ns;
			all_to_all(of[k].messages);
			snprintf(name, sizeof name, "row %u seed %llu", k,
				 (unsigned long long)seed);
			run((uint64_t)of[k].n * (of[k].n - 1) * of[k].messages, of[k].computes);
			judge(name);
			free_net();
		}
}

/* A process has many more peers than paths. */
static void
many(void **state)
{
	(void)state;
	make_net(96, 12, 1, 5);
	net.circle = true;
	all_to_all(1);
	run(96ull * 95, false);
	judge("all to all");
	free_net();
}

/* Whoever has enough paths never notices. */
static void
enough(void **state)
{
	(void)state;
	make_net(8, 8, 100, 3);
	all_to_all(100);
	run(8 * 7 * 100, false);
	judge("enough");
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(pathpool_counters(net.end[i].pool)->asked, 0);
		assert_int_equal(pathpool_counters(net.end[i].pool)->put_off, 0);
		assert_int_equal(pathpool_expiry(net.end[i].pool), BASE_NEVER_NS);
	}
	free_net();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(enough),
		cmocka_unit_test(all_to_all_seeds),
		cmocka_unit_test(many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
