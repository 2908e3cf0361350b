/* SPDX-License-Identifier: BSD-2-Clause */
/* suci_star_kit.h - some Suci endpoints on a wire that takes every datagram the same time, in
 * virtual time: for suites of what many do to one.  Two ends and a wire with faults are
 * test_suci_link.h, whose addresses and configuration these have. */
#ifndef SUCI_STAR_KIT_H
#define SUCI_STAR_KIT_H

#include "test_suci_link.h"

#define STAR_ENDS     32u
#define STAR_SPIN_MAX 1000000

struct star_dgram {
	struct star_dgram *next;
	uint64_t at_ns;
	uint32_t from, to;
	size_t len;
	uint8_t bytes[];
};

struct star_end {
	struct star *star;
	struct suci *ep;
	struct suci_addr addr;
	uint32_t path;	/* for star_open() and the test */
	uint32_t acked; /* segments released so */
	bool up, down;
};

struct star {
	struct star_end end[STAR_ENDS];
	uint32_t n;
	uint64_t now_ns, delay_ns, datagrams;
	bool checks; /* suci_check() of all, whenever all have sent what they had */
	/* What leaves: true, it is lost; and what arrives.  May be NULL. */
	bool (*leaves)(struct star *s, const struct star_dgram *d);
	void (*arrives)(struct star *s, const struct star_dgram *d);
	struct star_dgram *head, **tail;
};

static inline void
star_on_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	   size_t hello_len, bool incoming)
{
	struct star_end *e = user;
	(void)path, (void)peer, (void)hello, (void)hello_len, (void)incoming;
	e->up = true;
}

static inline void
star_on_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct star_end *e = user;
	(void)path, (void)why, (void)text;
	e->down = true;
}

static inline void
star_on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct star_end *e = user;
	(void)path, (void)cookie, (void)now_ns;
	e->acked += fate == SUCI_FATE_ACKED;
}

static inline void
star_init(struct star *s, uint32_t n, uint64_t delay_ns)
{
	assert_true(n <= STAR_ENDS);
	s->n = n;
	s->now_ns = BASE_S_NS;
	s->delay_ns = delay_ns;
	s->tail = &s->head;
}

/* Of end i; its user is the struct star_end. */
static inline void
star_endpoint(struct star *s, uint32_t i, struct suci_config *c)
{
	struct star_end *e = &s->end[i];
	e->star = s;
	e->addr = link_addr((int)i);
	c->seed = c->incarnation = 10 + (uint64_t)i;
	c->user = e;
	e->ep = link_endpoint(c, s->now_ns);
}

static inline void
star_open(struct star *s, uint32_t from, uint32_t to)
{
	struct star_end *e = &s->end[from];
	assert_int_equal(suci_path_open(e->ep, &s->end[to].addr, NULL, 0, &e->path, s->now_ns), 0);
}

static inline void
star_send(struct star *s, uint32_t from, const struct suci_segment *seg)
{
	assert_int_equal(suci_path_send(s->end[from].ep, s->end[from].path, seg, s->now_ns), 0);
}

static inline void
star_put(struct star *s, uint32_t from, const struct suci_out *o)
{
	size_t len = suci_out_len(o);
	struct star_dgram *d = malloc(sizeof *d + len);
	assert_non_null(d);
	*d = (struct star_dgram){.from = from,
				 .to = (uint32_t)(o->to.port - link_addr(0).port),
				 .len = len,
				 .at_ns = s->now_ns + s->delay_ns};
	assert_true(d->to < s->n);
	link_flatten(o, d->bytes);
	s->datagrams++;
	if (s->leaves && s->leaves(s, d)) {
		free(d);
		return;
	}
	*s->tail = d; /* all take the same time */
	s->tail = &d->next;
}

static inline void
star_pump(struct star *s)
{
	struct suci_out o;
	const char *what;
	for (uint32_t i = 0; i < s->n; i++) {
		struct suci *ep = s->end[i].ep;
		while (ep && suci_tx(ep, &o, s->now_ns))
			star_put(s, i, &o);
		if (ep && s->checks && !suci_check(ep, &what))
			fail_msg("end %u: %s", i, what);
	}
}

static inline void
star_deliver(struct star *s)
{
	while (s->head && s->head->at_ns <= s->now_ns) {
		struct star_dgram *d = s->head;
		s->head = d->next;
		if (!s->head)
			s->tail = &s->head;
		if (s->arrives)
			s->arrives(s, d);
		if (s->end[d->to].ep)
			suci_rx(s->end[d->to].ep, &s->end[d->from].addr, d->bytes, d->len, 0,
				s->now_ns);
		free(d);
	}
}

/* Until then, or until done() (may be NULL): true. */
static inline bool
star_run(struct star *s, uint64_t until_ns, bool (*done)(struct star *s))
{
	for (uint32_t spin = 0;; spin++) {
		star_pump(s);
		if (done && done(s))
			return true;
		uint64_t next = s->head ? s->head->at_ns : BASE_NEVER_NS;
		for (uint32_t i = 0; i < s->n; i++)
			if (s->end[i].ep)
				next = base_min_ns(next, suci_expiry_ns(s->end[i].ep));
		if (next > until_ns)
			break;
		assert_true(spin < STAR_SPIN_MAX);
		s->now_ns = base_max_ns(s->now_ns, next);
		star_deliver(s);
		for (uint32_t i = 0; i < s->n; i++)
			if (s->end[i].ep && suci_expiry_ns(s->end[i].ep) <= s->now_ns)
				suci_tick(s->end[i].ep, s->now_ns);
	}
	s->now_ns = base_max_ns(s->now_ns, until_ns);
	return false;
}

static inline void
star_fini(struct star *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		LINK_GIVE(suci_fini(s->end[i].ep, s->now_ns));
	while (s->head) {
		struct star_dgram *d = s->head;
		s->head = d->next;
		free(d);
	}
}

#endif
