/* SPDX-License-Identifier: BSD-2-Clause */
/* test_suci_link.h - two Suci endpoints and a wire between them, in virtual
 * time.  The wire delays, drops, duplicates, reorders and corrupts by a seeded
 * generator, or by a filter that a test aims at one datagram.  Datagrams are
 * single allocations, so that the sanitizer sees every byte read too far. */
#ifndef TEST_SUCI_LINK_H
#define TEST_SUCI_LINK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "block_pool.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/prng.h"
#include "suci/endpoint.h"

#define LINK_SPIN_MAX 200000
#define LINK_LEGS     8

struct dgram {
	struct dgram *next;
	uint64_t at_ns;
	uint32_t holds;
	int to;
	struct suci_addr from;
	uint8_t ecn;
	size_t len;
	uint8_t bytes[];
};

struct link {
	struct suci *ep[2];
	struct suci_addr addr[2];
	struct dgram *wire;
	uint64_t now_ns;
	struct base_prng prng;
	uint64_t delay_ns, jitter_ns;
	uint64_t loss_ppb, dup_ppb, corrupt_ppb;
	bool cut; /* nothing gets through */
	/* Several paths: each leg is a wire of its own. */
	bool leg_cut[LINK_LEGS];
	uint64_t leg_delay_ns[LINK_LEGS]; /* added */
	/* true: this datagram is lost. */
	bool (*filter)(struct link *l, int from, const uint8_t *bytes, size_t len);
	/* What the network makes of the ECN bits; NULL: nothing is marked. */
	uint8_t (*mark)(struct link *l, int from, uint8_t ecn);
	uint8_t ecn; /* of the datagram at hand */
	/* Where a side was before it moved: what is sent there is lost. */
	struct suci_addr former[2];
	/* Not NULL: what a side sends to anybody else goes there. */
	void (*elsewhere)(struct link *l, int from, const struct suci_addr *to,
			  const uint8_t *bytes, size_t len);
	void *arg;
	uint64_t sent[2], lost[2], held;
};

static inline struct suci_addr
link_addr(int side)
{
	struct suci_addr a = {.port = (uint16_t)(7000 + side), .family = 4};
	a.ip[12] = 10;
	a.ip[15] = (uint8_t)(1 + side);
	return a;
}

static inline void
link_init(struct link *l, uint64_t seed, uint64_t delay_ns)
{
	memset(l, 0, sizeof *l);
	l->prng = base_prng_seed(seed);
	l->delay_ns = delay_ns;
	l->now_ns = BASE_S_NS;
	l->addr[0] = link_addr(0);
	l->addr[1] = link_addr(1);
}

static inline void
link_insert(struct link *l, struct dgram *d)
{
	struct dgram **at = &l->wire;
	while (*at && (*at)->at_ns <= d->at_ns)
		at = &(*at)->next;
	d->next = *at;
	*at = d;
}

static inline struct dgram *
link_dgram(int to, const struct suci_addr *from, const uint8_t *bytes, size_t len)
{
	struct dgram *d = malloc(sizeof *d + len);
	assert_non_null(d);
	*d = (struct dgram){.to = to, .from = *from, .len = len};
	memcpy(d->bytes, bytes, len);
	return d;
}

static inline void
link_put_leg(struct link *l, int from, uint8_t leg, const uint8_t *bytes, size_t len)
{
	l->sent[from]++;
	if (l->cut || l->leg_cut[leg] || (l->filter && l->filter(l, from, bytes, len)) ||
	    base_prng_chance(&l->prng, l->loss_ppb)) {
		l->lost[from]++;
		return;
	}
	int copies = base_prng_chance(&l->prng, l->dup_ppb) ? 2 : 1;
	while (copies--) {
		struct dgram *d = link_dgram(!from, &l->addr[from], bytes, len);
		d->from.leg = leg;
		d->at_ns = l->now_ns + l->delay_ns + l->leg_delay_ns[leg] +
			   base_prng_below(&l->prng, l->jitter_ns + 1);
		d->ecn = l->mark ? l->mark(l, from, l->ecn) : 0;
		if (base_prng_chance(&l->prng, l->corrupt_ppb))
			d->bytes[base_prng_below(&l->prng, len)] ^=
				(uint8_t)(1 + base_prng_below(&l->prng, 255));
		link_insert(l, d);
	}
}

static inline void
link_put(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	link_put_leg(l, from, 0, bytes, len);
}

static inline size_t
link_flatten(const struct suci_out *o, uint8_t *bytes)
{
	size_t n = 0;
	memcpy(bytes, o->head, o->head_len);
	n += o->head_len;
	if (o->seg_head_len)
		memcpy(bytes + n, o->seg_head, o->seg_head_len);
	n += o->seg_head_len;
	if (o->data_len)
		memcpy(bytes + n, o->data, o->data_len);
	return n + o->data_len;
}

static inline bool
link_pump(struct link *l)
{
	static uint8_t bytes[70000];
	struct suci_out out;
	bool any = false;
	for (int side = 0; side < 2; side++) {
		uint32_t spin = 0;
		while (l->ep[side] && suci_tx(l->ep[side], &out, l->now_ns)) {
			assert_true(++spin < LINK_SPIN_MAX);
			size_t len = out.sealed ? suci_seal(l->ep[side], &out, bytes, sizeof bytes)
						: link_flatten(&out, bytes);
			assert_int_equal(len, suci_out_len(&out));
			any = true;
			if (l->former[!side].family &&
			    !memcmp(&out.to, &l->former[!side], sizeof out.to)) {
				l->lost[side]++;
				continue;
			}
			struct suci_addr to = l->addr[!side];
			to.leg = out.to.leg;
			assert_true(to.leg < LINK_LEGS);
			if (l->elsewhere && memcmp(&out.to, &to, sizeof to)) {
				l->elsewhere(l, side, &out.to, bytes, len);
				continue;
			}
			assert_memory_equal(&out.to, &to, sizeof out.to);
			l->ecn = out.ecn;
			link_put_leg(l, side, to.leg, bytes, len);
		}
	}
	return any;
}

/* The cookie of suci_rx() is the datagram: hold and release count. */
static inline void
link_hold(struct link *l, uint64_t cookie)
{
	((struct dgram *)(uintptr_t)cookie)->holds++;
	l->held++;
}

static inline void
link_release(struct link *l, uint64_t cookie)
{
	struct dgram *d = (struct dgram *)(uintptr_t)cookie;
	assert_true(d->holds > 0);
	l->held--;
	if (!--d->holds)
		free(d);
}

static inline void
link_deliver(struct link *l, struct dgram *d)
{
	d->holds = 1;
	l->held++;
	if (l->ep[d->to])
		suci_rx_ecn(l->ep[d->to], &d->from, d->bytes, d->len, d->ecn, (uintptr_t)d,
			    l->now_ns);
	link_release(l, (uintptr_t)d);
}

/* Run until done() (may be NULL) or until_ns; true if done. */
static inline bool
link_run(struct link *l, uint64_t until_ns, bool (*done)(void *arg), void *arg)
{
	uint32_t spin = 0;
	for (;;) {
		link_pump(l);
		if (done && done(arg))
			return true;
		uint64_t next = l->wire ? l->wire->at_ns : BASE_NEVER_NS;
		for (int side = 0; side < 2; side++)
			if (l->ep[side])
				next = base_min_ns(next, suci_expiry_ns(l->ep[side]));
		if (next > until_ns) {
			l->now_ns = base_max_ns(l->now_ns, until_ns);
			return false;
		}
		spin = next > l->now_ns ? 0 : spin + 1;
		assert_true(spin < LINK_SPIN_MAX); /* time has to move on */
		l->now_ns = base_max_ns(l->now_ns, next);
		while (l->wire && l->wire->at_ns <= l->now_ns) {
			struct dgram *d = l->wire;
			l->wire = d->next;
			link_deliver(l, d);
		}
		for (int side = 0; side < 2; side++)
			if (l->ep[side] && suci_expiry_ns(l->ep[side]) <= l->now_ns)
				suci_tick(l->ep[side], l->now_ns);
	}
}

static inline void
link_drop_wire(struct link *l)
{
	while (l->wire) {
		struct dgram *d = l->wire;
		l->wire = d->next;
		free(d);
	}
}

/* Memory of an endpoint, of old contents; a fuzz target leaves there what the last run left. */
#ifndef LINK_TAKE
#define LINK_TAKE(n) memset(block_take(n), 0xa5, n)
#define LINK_GIVE(p) block_give(p)
#endif
#ifndef LINK_WINDOW
#define LINK_WINDOW 2048
#endif

/* ops->accept: anybody. */
static inline int
link_accept(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
	    char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)hello_len, (void)why;
	return 0;
}

static inline struct suci *
link_endpoint(const struct suci_config *conf, uint64_t now_ns)
{
	size_t n = suci_footprint(&conf->limits);
	assert_true(n > 0);
	void *mem = LINK_TAKE(n);
	struct suci *ep = suci_new(mem, conf, now_ns);
	assert_non_null(ep);
	return ep;
}

static inline struct suci_config
link_config(int side)
{
	struct suci_config c = {
		.limits = {.paths_max = 8,
			   .segments_max = 2 * LINK_WINDOW,
			   .queue_max = LINK_WINDOW,
			   .window_max = LINK_WINDOW},
		.incarnation = 100 + (uint64_t)side,
		.cookie_secret = {1, 2, 3, (uint8_t)side},
		.seed = 7 + (uint64_t)side,
		.mtu_max = 1432,
		.cc = SUCI_CC_CUBIC,
	};
	memcpy(c.hello, side ? "hello-b" : "hello-a", 7);
	c.hello_len = 7;
	return c;
}

#endif
