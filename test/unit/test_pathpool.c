/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of which each has fewer paths than peers, over Suci endpoints as they ship, in virtual
 * time: every message comes once, and nobody ever has more paths than it may. */
#include "pathpool/pathpool.h"

#include "test_suci_link.h"

#include "base/ilist.h"
#include "base/prng.h"

#define ENDS_MAX     4096u
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
	uint64_t seen[(MESSAGES_MAX + 63) / 64];
	uint32_t path;	   /* UINT32_MAX: none */
	uint32_t next;	   /* in the list of those to be looked at */
	uint8_t sent, got; /* messages */
	uint8_t under_way;
	uint8_t left;	     /* to be sent */
	bool listed, parked; /* until the pool says ready */
	uint8_t base;	     /* got when the path came up: all before has been acknowledged */
};

struct end {
	struct suci *ep;
	struct pathpool *pool;
	struct peer *peer;
	uint32_t *use; /* [paths_max of ep]: the peer, or BASE_INONE */
	uint32_t paths, most;
	uint32_t first; /* of those with something left that are not parked */
	uint32_t computes_until_ms;
	bool touched;	 /* something came */
	uint64_t due_ns; /* of endpoint and pool */
};

static struct net {
	struct end end[ENDS_MAX];
	uint32_t n, messages, most, failures;
	uint64_t now_ns, loss_ppb, dup_ppb, jitter_ns, delivered, datagrams;
	bool over, circle;
	uint32_t abandoned;
	struct base_prng prng;
	struct dg *last[1024]; /* by microsecond of arrival; jitter stays below */
} net;

static uint32_t
number_of(const struct end *e)
{
	return (uint32_t)(e - net.end);
}

/* A path of e to peer, or no longer (BASE_INONE): counted here, whatever the pool believes. */
static void
use_path(struct end *e, uint32_t path, uint32_t peer)
{
	e->paths += peer != BASE_INONE;
	e->paths -= e->use[path] != BASE_INONE;
	e->use[path] = peer;
	if (e->paths > e->most)
		e->most = e->paths;
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
	use_path(e, e->peer[peer].path, peer);
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

static void
list_waiting(struct end *e, uint32_t peer)
{
	struct peer *p = &e->peer[peer];

	if (p->listed || p->parked || !p->left)
		return;
	p->listed = true;
	p->next = e->first;
	e->first = peer;
}

static void
hear_ready(void *user, uint32_t peer)
{
	struct end *e = user;

	e->peer[peer].parked = false;
	list_waiting(e, peer);
}

static const struct pathpool_ops pool_ops = {.open = open_to,
					     .nudge = nudge_to,
					     .close = close_to,
					     .busy = is_busy_with,
					     .waits = waits_for,
					     .ready = hear_ready,
					     .say = say_to};

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
	struct peer *p = &e->peer[end_at(peer)];
	use_path(e, path, end_at(peer));
	p->path = path;
	p->base = p->got;
	pathpool_up(e->pool, end_at(peer));
}

static void
on_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct end *e = user;
	uint32_t peer = e->use[path];

	use_path(e, path, BASE_INONE);
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
	uint64_t *seen = &e->peer[from].seen[seg->seq / 64], bit = 1ull << seg->seq % 64;
	if (*seen & bit)
		return SUCI_TAKEN;
	*seen |= bit;
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
		e->use = malloc((paths + 8) * sizeof *e->use);
		memset(e->use, 0xff, (paths + 8) * sizeof *e->use);
		for (uint32_t k = 0; k < n; k++)
			e->peer[k].path = UINT32_MAX;
		e->first = BASE_INONE;
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
	for (uint32_t k = 0; k < 1024; k++) {
		struct dg *d = net.last[k] ? net.last[k]->next : NULL;
		if (d)
			net.last[k]->next = NULL;
		while (d) {
			struct dg *next = d->next;
			free(d);
			d = next;
		}
	}
}

static void
fly(uint32_t from, const struct suci_out *o)
{
	size_t len = suci_out_len(o);
	uint64_t at = net.now_ns + DELAY_NS;
	struct dg *d = malloc(sizeof *d + len), **first;

	if (net.jitter_ns)
		at += base_prng_below(&net.prng, net.jitter_ns);
	at = at / 1000 * 1000;
	assert_non_null(d);
	*d = (struct dg){.at_ns = at, .from = from, .to = end_at(&o->to), .len = len};
	link_flatten(o, d->bytes);
	/* The last one's next is the first. */
	first = &net.last[at / 1000 % 1024];
	d->next = *first ? (*first)->next : d;
	if (*first)
		(*first)->next = d;
	*first = d;
	net.datagrams++;
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

static bool
may_send_to(struct end *e, uint32_t k)
{
	e->peer[k].parked = true;
	if (!pathpool_may_send(e->pool, k, net.now_ns))
		return false;
	e->peer[k].parked = false;
	return true;
}

static void
send_waiting(struct end *e, uint32_t k)
{
	static const uint8_t bytes[64];
	struct peer *p = &e->peer[k];

	while (p->left && p->under_way < 4 && may_send_to(e, k)) {
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

/* One look of the process: what its library does in a call. */
static void
look(struct end *e)
{
	const char *what;

	if (net.now_ns / 1000000 < e->computes_until_ms)
		return;
	e->touched = false;
	if (suci_expiry_ns(e->ep) <= net.now_ns)
		suci_tick(e->ep, net.now_ns);
	pathpool_turn(e->pool, net.now_ns);
	uint32_t k = e->first;
	e->first = BASE_INONE;
	while (k != BASE_INONE) {
		uint32_t next = e->peer[k].next;
		send_waiting(e, k);
		e->peer[k].listed = false;
		list_waiting(e, k);
		k = next;
	}
	send_all(e);
	e->due_ns = base_min_ns(suci_expiry_ns(e->ep), pathpool_expiry(e->pool));
	/* It walks everything. */
	if (net.n <= 128 || base_prng_below(&net.prng, net.n) == 0)
		if (!pathpool_check(e->pool, &what))
			fail_msg("end %u: %s", number_of(e), what);
}

static void
deliver(uint64_t us)
{
	struct dg **last = &net.last[us % 1024], *d = *last ? (*last)->next : NULL;

	if (d)
		(*last)->next = NULL;
	*last = NULL;
	while (d) {
		struct dg *next = d->next;
		struct suci_addr from = addr_of(d->from);
		suci_rx(net.end[d->to].ep, &from, d->bytes, d->len, 0, net.now_ns);
		net.end[d->to].touched = true;
		free(d);
		d = next;
	}
}

/* Turns of 10 us until all have all. */
static void
run(uint64_t wanted, bool computes)
{
	uint64_t since = net.now_ns, before = 0;

	for (uint32_t i = 0; i < net.n; i++)
		look(&net.end[i]);
	while (net.delivered < wanted) {
		net.now_ns += 10000;
		for (uint64_t us = net.now_ns / 1000 - 9; us <= net.now_ns / 1000; us++)
			deliver(us);
		for (uint32_t i = 0; i < net.n; i++) {
			struct end *e = &net.end[i];
			if (computes && base_prng_below(&net.prng, 2000) == 0)
				e->computes_until_ms = (uint32_t)(net.now_ns / 1000000 + 5);
			if (e->touched || e->due_ns <= net.now_ns)
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
		assert_true(net.end[i].most <= net.most);
		rested += c->rested;
		put_off += c->put_off;
		opened += c->opened;
	}
	assert_true(net.n - 1 <= net.most || rested > 0);
	printf("%s: %u processes of %u paths, %.1f ms, %llu opened, %llu put to rest, %llu "
	       "refused, %llu datagrams\n",
	       name, net.n, net.most, (double)(net.now_ns - BASE_S_NS) / 1e6,
	       (unsigned long long)opened, (unsigned long long)rested, (unsigned long long)put_off,
	       (unsigned long long)net.datagrams);
}

static void
all_to_all(uint32_t messages)
{
	for (uint32_t i = 0; i < net.n; i++)
		for (uint32_t j = net.n - 1; j-- > 0;) {
			/* In a circle all begin with the next one. */
			uint32_t k = net.circle ? (i + 1 + j) % net.n : j + (j >= i);
			net.end[i].peer[k].left = (uint8_t)messages;
			list_waiting(&net.end[i], k);
		}
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

/* make paths, and a smaller one. */
static void
all_to_all_of(uint32_t n, uint32_t paths, uint64_t loss_ppb)
{
	make_net(n, paths, 1, 7);
	net.circle = true;
	net.loss_ppb = loss_ppb;
	all_to_all(1);
	run((uint64_t)n * (n - 1), false);
	judge("all to all");
	free_net();
}

static void
hundreds(void **state)
{
	(void)state;
	all_to_all_of(300, 24, 0);
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

static struct {
	uint32_t n, paths;
	uint64_t loss_ppb;
} asked;

static void
what_was_asked(void **state)
{
	(void)state;
	all_to_all_of(asked.n, asked.paths, asked.loss_ppb);
}

static int
run_asked(char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_asked)};

	asked.n = (uint32_t)strtoul(argv[0], NULL, 0);
	asked.paths = (uint32_t)strtoul(argv[1], NULL, 0);
	asked.loss_ppb = strtoull(argv[2], NULL, 0) * 1000;
	if (asked.n < 2 || asked.n > ENDS_MAX || asked.paths < 2) {
		fprintf(stderr, "2 to %u processes of 2 paths or more\n", ENDS_MAX);
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Without arguments the suite; PROCESSES PATHS LOST_PPM: all to all of so many. */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(enough),
		cmocka_unit_test(all_to_all_seeds),
		cmocka_unit_test(many),
		cmocka_unit_test(hundreds),
	};
	if (argc == 4)
		return run_asked(argv + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
