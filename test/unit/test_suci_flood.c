/* SPDX-License-Identifier: BSD-2-Clause */
/* Floods: a million datagrams in a second that ask for work - handshakes, refusals, asks,
 * acks for what was never sent, farewells, moves to other addresses.  Each costs a bounded
 * number of datagrams, bytes, callbacks and wake-ups and no table; honest traffic beside it
 * is hardly slower. */
#include "path_internal.h"
#include "suci_lane_kit.h"

#define PER_SLICE 100
#define SLICE_NS  (100 * BASE_US_NS)
#define BLOCKS	  400
#define BYTES	  8000

struct flood;
typedef size_t make_fn(struct flood *f, uint32_t i, struct suci_addr *from, uint8_t *out);

/* Somebody with a path of his own to the victim, and all other addresses. */
struct flood {
	struct world *w; /* side 1 is the victim */
	struct suci *ep; /* the victim's */
	struct suci_addr addr;
	uint32_t path;
	uint64_t in, in_bytes, out, out_bytes, wakes;
	uint32_t paths_before;
	uint8_t cookie[8];
};

static struct suci_addr
anybody(uint32_t i)
{
	struct suci_addr a = {.port = (uint16_t)(10000 + i % 50000), .family = 4};
	a.ip[12] = 192;
	a.ip[14] = (uint8_t)(i >> 16);
	a.ip[15] = 9;
	return a;
}

/* Everything the victim has to say: honest datagrams go on the wire. */
static void
listen_to(struct flood *f)
{
	static uint8_t bytes[70000];
	struct suci_out o;
	while (suci_tx(f->ep, &o, f->w->l.now_ns)) {
		size_t len = link_flatten(&o, bytes);
		if (!memcmp(&o.to, &f->w->l.addr[0], sizeof o.to)) {
			link_put(&f->w->l, 1, bytes, len);
			continue;
		}
		f->out++;
		f->out_bytes += len;
		if ((bytes[0] & 0x0f) == SUCI_T_COOKIE)
			memcpy(f->cookie, bytes + SUCI_PATH_HDR + 16, 8);
	}
}

static void
throw_at(struct flood *f, const struct suci_addr *from, const uint8_t *bytes, size_t len)
{
	uint8_t copy[1500];
	memcpy(copy, bytes, len);
	f->in++;
	f->in_bytes += len;
	suci_rx(f->ep, from, copy, len, 0, f->w->l.now_ns);
	listen_to(f);
}

static size_t
greeting(enum suci_type type, uint32_t tag, uint64_t incarnation, const uint8_t *cookie,
	 uint8_t *out)
{
	memset(out, 0, SUCI_PATH_HDR + SUCI_BODY_HDR);
	out[0] = (uint8_t)(SUCI_VERSION << 4 | type);
	uint8_t *b = out + SUCI_PATH_HDR;
	be32_store(b, tag);
	be16_store(b + 4, 1432);
	be64_store(b + 8, incarnation);
	if (cookie)
		memcpy(b + 16, cookie, 8);
	if (type != SUCI_T_OPEN)
		return SUCI_PATH_HDR + SUCI_BODY_HDR;
	be16_store(b + 6, 7);
	memcpy(b + SUCI_BODY_HDR, "hello-a", 7);
	return SUCI_PATH_HDR + SUCI_BODY_HDR + 7;
}

/* A bare datagram on the attacker's own path with an ack block of len bytes. */
static size_t
bare(const struct flood *f, const uint8_t *ack, size_t len, uint8_t *out)
{
	memset(out, 0, SUCI_PATH_HDR);
	out[0] = SUCI_VERSION << 4 | SUCI_T_DATA;
	out[1] = SUCI_PF_BARE;
	be16_store(out + 2, (uint16_t)len);
	be32_store(out + 4, f->ep->path[f->path].rx_tag);
	be32_store(out + 8, (uint32_t)f->in + 1);
	memcpy(out + SUCI_PATH_HDR, ack, len);
	return SUCI_PATH_HDR + len;
}

static size_t
hellos(struct flood *f, uint32_t i, struct suci_addr *from, uint8_t *out)
{
	(void)f;
	*from = anybody(i);
	return greeting(SUCI_T_HELLO, i + 1, i + 1, NULL, out);
}

static size_t
opens(struct flood *f, uint32_t i, struct suci_addr *from, uint8_t *out)
{
	uint8_t guess[8];
	be64_store(guess, 0x9e3779b97f4a7c15ull * (i + 1));
	(void)f;
	*from = anybody(i);
	return greeting(SUCI_T_OPEN, i + 1, i + 1, guess, out);
}

/* With a cookie of his own, ever new incarnations. */
static size_t
restarts(struct flood *f, uint32_t i, struct suci_addr *from, uint8_t *out)
{
	*from = anybody(7);
	if (i % 2 == 0)
		return greeting(SUCI_T_HELLO, i + 1, i + 1, NULL, out);
	return greeting(SUCI_T_OPEN, i, i, f->cookie, out);
}

static size_t
tags(struct flood *f, uint32_t i, struct suci_addr *from, uint8_t *out)
{
	uint8_t none[SUCI_ACK_HDR] = {0};
	*from = anybody(i);
	size_t len = bare(f, none, 0, out);
	out[1] = SUCI_PF_PROBE;
	be32_store(out + 4, 0x1234567u * (i + 1));
	return len;
}

static size_t
farewells(struct flood *f, uint32_t i, struct suci_addr *from, uint8_t *out)
{
	*from = i % 2 ? anybody(i) : f->w->l.addr[0];
	memset(out, 0, SUCI_PATH_HDR + 4);
	out[0] = (uint8_t)(SUCI_VERSION << 4 | (i % 4 < 2 ? SUCI_T_CLOSE : SUCI_T_RESET));
	/* The honest path's own tag is not known to who is not on its way. */
	be32_store(out + 4, i % 2 ? f->ep->path[f->w->h[1].path].rx_tag : 0x7654321u * (i + 1));
	return SUCI_PATH_HDR + 4;
}

/* The honest path's tag, from anywhere. */
static size_t
moves(struct flood *f, uint32_t i, struct suci_addr *from, uint8_t *out)
{
	uint8_t none[SUCI_ACK_HDR] = {0};
	size_t len = bare(f, none, 0, out);
	*from = anybody(i);
	out[1] = SUCI_PF_PROBE;
	be32_store(out + 8, 100 + i);
	return len;
}

static size_t
acks_unsent(struct flood *f, uint32_t i, struct suci_addr *from, uint8_t *out)
{
	uint8_t a[SUCI_ACK_HDR] = {0};
	*from = f->addr;
	be32_store(a, (uint32_t)f->ep->path[f->path].sent.next_pn + i % 100000);
	be16_store(a + 10, 60000);
	be16_store(a + 14, 1);
	return bare(f, a, sizeof a, out);
}

/* Acks for all that was sent, over and over. */
static size_t
acks_old(struct flood *f, uint32_t i, struct suci_addr *from, uint8_t *out)
{
	uint8_t a[SUCI_ACK_HDR] = {0};
	*from = f->addr;
	be32_store(a, (uint32_t)f->ep->path[f->path].sent.next_pn - 1 - i % 8);
	be16_store(a + 10, 60000);
	be16_store(a + 14, 1);
	return bare(f, a, sizeof a, out);
}

/* Refuses whatever is sent to him, again and again. */
static size_t
refusals(struct flood *f, uint32_t i, struct suci_addr *from, uint8_t *out)
{
	uint8_t a[SUCI_ACK_HDR + SUCI_ACK_REFUSED] = {0};
	uint32_t sent = (uint32_t)f->ep->path[f->path].sent.next_pn - 1;
	*from = f->addr;
	(void)i;
	be16_store(a + 10, 60000);
	a[13] = SUCI_AF_REFUSED;
	be32_store(a + SUCI_ACK_HDR, 1);
	be32_store(a + SUCI_ACK_HDR + 4, sent ? sent : 1);
	return bare(f, a, sizeof a, out);
}

static size_t
asks(struct flood *f, uint32_t i, struct suci_addr *from, uint8_t *out)
{
	uint8_t a[SUCI_ACK_HDR + SUCI_ACK_ROOM] = {0};
	*from = f->addr;
	be16_store(a + 10, 60000);
	a[13] = SUCI_AF_ROOM;
	be16_store(a + 16, (uint16_t)(i % 3 ? UINT16_MAX : 0));
	be16_store(a + 18, (uint16_t)(i % 5));
	be32_store(a + 20, i * 77);
	be32_store(a + 24, i * 0x1000001u);
	return bare(f, a, sizeof a, out);
}

/* ---- the run ---- */

/* A slice of time after the other, with what is thrown in between; when all is there. */
static uint64_t
deliver(struct flood *f, make_fn *make)
{
	struct world *w = f->w;
	uint64_t from_ns = w->l.now_ns;
	uint32_t i = 0;
	for (uint32_t k = 0; k < BLOCKS; k++)
		send_block(w, 0, 8, BYTES, false);
	while (!all_done(w)) {
		uint8_t bytes[1500];
		struct suci_addr from;
		assert_true(w->l.now_ns < from_ns + 10 * BASE_S_NS);
		uint64_t until = w->l.now_ns + SLICE_NS;
		for (uint32_t k = 0; make && k < PER_SLICE; k++, i++) {
			size_t len = make(f, i, &from, bytes);
			throw_at(f, &from, bytes, len);
		}
		/* As link_run(), with what the victim says to others kept apart. */
		while (w->l.now_ns < until) {
			listen_to(f); /* which ticks, too */
			uint64_t next = base_min_ns(until, suci_expiry_ns(f->ep));
			next = base_max_ns(next, w->l.now_ns + BASE_US_NS);
			struct suci *victim = w->l.ep[1];
			if (w->l.wire)
				next = base_min_ns(next,
						   base_max_ns(w->l.wire->at_ns, w->l.now_ns));
			next = base_min_ns(next, suci_expiry_ns(w->l.ep[0]));
			w->l.now_ns = base_max_ns(next, w->l.now_ns);
			f->wakes += suci_expiry_ns(f->ep) <= w->l.now_ns;
			while (w->l.wire && w->l.wire->at_ns <= w->l.now_ns) {
				struct dgram *d = w->l.wire;
				w->l.wire = d->next;
				link_deliver(&w->l, d);
			}
			listen_to(f);
			if (suci_expiry_ns(w->l.ep[0]) <= w->l.now_ns)
				suci_tick(w->l.ep[0], w->l.now_ns);
			w->l.ep[1] = NULL; /* only the honest sender */
			link_pump(&w->l);
			w->l.ep[1] = victim;
		}
	}
	return w->l.now_ns - from_ns;
}

/* The attacker opens his path; the victim sends him a few segments that he never takes. */
static void
flood_begin(struct flood *f, uint64_t seed)
{
	uint8_t bytes[200];
	memset(f, 0, sizeof *f);
	f->w = world_up(seed, true, NULL);
	f->w->late = true; /* no lane for the attacker */
	f->w->l.delay_ns = BASE_MS_NS;
	f->ep = f->w->l.ep[1];
	f->addr = anybody(3);
	size_t len = greeting(SUCI_T_HELLO, 77, 5, NULL, bytes);
	throw_at(f, &f->addr, bytes, len);
	len = greeting(SUCI_T_OPEN, 77, 5, f->cookie, bytes);
	throw_at(f, &f->addr, bytes, len);
	f->path = suci_path_find(f->ep, &f->addr);
	assert_int_not_equal(f->path, NONE);
	f->w->h[1].path = suci_path_find(f->ep, &f->w->l.addr[0]);
	for (uint32_t i = 0; i < 40; i++) {
		struct suci_segment s = {
			.flags = SUCI_SF_ACK, .dst_label = 1, .src_label = 2, .cookie = UINT64_MAX};
		assert_int_equal(suci_path_send(f->ep, f->path, &s, f->w->l.now_ns), 0);
	}
	listen_to(f);
	f->in = f->in_bytes = f->out = f->out_bytes = f->wakes = 0;
	f->paths_before = f->ep->paths_used;
}

static uint64_t
undisturbed(void)
{
	static uint64_t took;
	struct flood f;
	if (took)
		return took;
	flood_begin(&f, 1);
	took = deliver(&f, NULL);
	world_free(f.w);
	return took;
}

struct row {
	const char *name;
	make_fn *make;
	/* Datagrams out for 100 in, at most; beyond them those of EXTRA. */
	uint32_t out_per_100;
	uint32_t paths_more;
};

#define EXTRA 400 /* his 40 segments, tried again now and then */

static void
run_row(const struct row *r)
{
	struct flood f;
	const char *what = "";
	uint64_t quiet_ns = undisturbed();
	flood_begin(&f, 1);
	uint64_t took_ns = deliver(&f, r->make);
	print_message("%-12s %7llu in, %6llu out, %5llu wake-ups; honest traffic %llu us, "
		      "undisturbed %llu us\n",
		      r->name, (unsigned long long)f.in, (unsigned long long)f.out,
		      (unsigned long long)f.wakes, (unsigned long long)took_ns / 1000,
		      (unsigned long long)quiet_ns / 1000);
	assert_true(f.in >= 5000);
	/* Work: what leaves, how often it wakes.  A slice has 100 datagrams in. */
	assert_true(f.out <= f.in * r->out_per_100 / 100 + EXTRA);
	assert_true(f.out_bytes <= f.in_bytes * 3 / 2 + EXTRA * 200);
	assert_true(f.wakes <= 4 * (took_ns / SLICE_NS) + 2000);
	/* Memory: no path, no record more than its own; every table agrees. */
	assert_true(f.ep->paths_used <= f.paths_before + r->paths_more);
	assert_true(f.ep->path[f.path].state == PATH_FREE || f.ep->path[f.path].sent.recs <= 40);
	assert_true(suci_check(f.ep, &what));
	assert_true(suci_lanes_check(f.w->h[1].ls, &what));
	assert_true(f.ep->stateless_count <= STATELESS_MAX);
	expect_all(f.w, 0);
	assert_true(took_ns <= quiet_ns + quiet_ns / 10 + BASE_MS_NS);
	world_free(f.w);
}

#define FLOOD(name, per_100, paths)                                        \
	static void test_##name(void **state)                              \
	{                                                                  \
		static const struct row r = {#name, name, per_100, paths}; \
		(void)state;                                               \
		run_row(&r);                                               \
	}
FLOOD(hellos, 100, 0)
FLOOD(opens, 0, 0)
FLOOD(restarts, 200, 1)
FLOOD(tags, 1, 0)
FLOOD(farewells, 0, 0)
FLOOD(moves, 1, 0)
FLOOD(acks_unsent, 0, 0)
FLOOD(acks_old, 1, 0)
FLOOD(refusals, 5, 0)
FLOOD(asks, 100, 0)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hellos),	    cmocka_unit_test(test_opens),
		cmocka_unit_test(test_restarts),    cmocka_unit_test(test_tags),
		cmocka_unit_test(test_farewells),   cmocka_unit_test(test_moves),
		cmocka_unit_test(test_acks_unsent), cmocka_unit_test(test_acks_old),
		cmocka_unit_test(test_refusals),    cmocka_unit_test(test_asks),
	};
	return cmocka_run_group_tests_name("suci flood", tests, NULL, NULL);
}
