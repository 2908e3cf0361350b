/* SPDX-License-Identifier: BSD-2-Clause */
/* Real endpoints, relay cores and lanes that send to each other in virtual time, for tests of
 * lib/relay: the datagrams on their way, which are receive buffers as well, and what any end
 * says to its owner when nobody asks. */
#ifndef TEST_RELAY_WIRE_KIT_H
#define TEST_RELAY_WIRE_KIT_H

#include "cmocka_all.h"

#include "relay_job_maker.h"

#include "base/clock.h"
#include "base/prng.h"
#include "suci/lane.h"

#include <stdio.h>

#define WIRE_MTU 1472

/* First member of what its test calls a node: user of its callbacks. */
struct wire_end {
	struct wire *wire;
	struct suci *ep;
	struct suci_lanes *lanes; /* processes and gateways */
	struct relay_core *core;  /* relays */
	struct suci_addr addr[2]; /* by leg */
	const struct relay_job *job;
	uint32_t cluster;
	bool dead;
	bool computes; /* is not in the library: answers nobody */
	uint32_t aborts;
	char why[RELAY_WHY_MAX];
};

struct wire_datagram {
	uint64_t due_ns;
	struct wire_end *to;
	struct suci_addr from;
	size_t len;
	uint32_t next;
	int refs; /* held by cookie = index */
	uint8_t bytes[WIRE_MTU];
};

struct wire {
	struct wire_datagram *d;
	struct base_prng prng;
	uint64_t now, loss_ppb;
	uint32_t bufs, head, tail, free;
};

static inline void
wire_init(struct wire *w, uint32_t bufs, uint64_t seed, uint64_t loss_ppb)
{
	*w = (struct wire){.d = calloc(bufs, sizeof *w->d),
			   .prng = base_prng_seed(seed),
			   .now = BASE_S_NS,
			   .loss_ppb = loss_ppb,
			   .bufs = bufs,
			   .head = UINT32_MAX,
			   .tail = UINT32_MAX};
	for (uint32_t i = 0; i < bufs; i++)
		w->d[i].next = i + 1 < bufs ? i + 1 : UINT32_MAX;
}

/* Every buffer is back, but for those still on the wire. */
static inline void
wire_fini(struct wire *w)
{
	uint32_t known = 0;
	for (uint32_t i = w->head; i != UINT32_MAX; i = w->d[i].next)
		known++;
	for (uint32_t i = w->free; i != UINT32_MAX; i = w->d[i].next)
		known++;
	assert_int_equal(known, w->bufs);
	free(w->d);
}

/* ---- what relay cores and lanes call -------------------------------------------------------- */

static inline void
wire_hold(void *user, uint64_t cookie)
{
	((struct wire_end *)user)->wire->d[cookie].refs++;
}

static inline void
wire_release(void *user, uint64_t cookie)
{
	struct wire *w = ((struct wire_end *)user)->wire;
	struct wire_datagram *d = &w->d[cookie];
	assert_true(d->refs > 0);
	if (--d->refs == 0) {
		d->next = w->free;
		w->free = (uint32_t)cookie;
	}
}

static inline uint8_t *
wire_writable(void *user, uint64_t cookie, const uint8_t *data, size_t len)
{
	struct wire_datagram *d = &((struct wire_end *)user)->wire->d[cookie];
	assert_true(data >= d->bytes && data + len <= d->bytes + d->len);
	return d->bytes + (data - d->bytes);
}

static inline void
wire_job_ended(void *user, uint32_t base, const char *why)
{
	struct wire_end *r = user;
	assert_int_equal(base, r->job->label_base);
	r->aborts++;
	snprintf(r->why, sizeof r->why, "%s", why);
}

static const struct relay_core_ops wire_core_ops = {.writable = wire_writable,
						    .hold = wire_hold,
						    .release = wire_release,
						    .job_ended = wire_job_ended};

static inline void
wire_lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	(void)user, (void)lane, (void)why, (void)text;
}

static inline void
wire_path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
	     bool incoming)
{
	(void)user, (void)path, (void)peer, (void)hello, (void)len, (void)incoming;
}

static inline void
wire_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	(void)user, (void)path, (void)why, (void)text;
}

/* ---- datagrams
 * ----------------------------------------------------------------------------------- */

/* One is on its way to to, if it is not lost. */
static inline void
wire_put(const struct wire_end *from, struct wire_end *to, const struct suci_out *o, uint64_t takes)
{
	struct wire *w = from->wire;
	uint32_t i = w->free;
	if (!to || i == UINT32_MAX || base_prng_chance(&w->prng, w->loss_ppb))
		return;
	struct wire_datagram *d = &w->d[i];
	w->free = d->next;
	d->to = to;
	d->from = from->addr[o->to.leg];
	d->next = UINT32_MAX;
	d->due_ns = w->now + takes;
	d->refs = 1;
	d->len = (size_t)o->head_len + o->seg_head_len + o->data_len;
	assert_true(d->len <= WIRE_MTU);
	memcpy(d->bytes, o->head, o->head_len);
	if (o->seg_head_len)
		memcpy(d->bytes + o->head_len, o->seg_head, o->seg_head_len);
	if (o->data_len)
		memcpy(d->bytes + o->head_len + o->seg_head_len, o->data, o->data_len);
	if (w->head == UINT32_MAX)
		w->head = i;
	else
		w->d[w->tail].next = i;
	w->tail = i;
}

/* Everything that is due; returns when the next datagram is. */
static inline uint64_t
wire_deliver(struct wire *w)
{
	uint32_t *at = &w->head, last = UINT32_MAX;
	uint64_t next = BASE_NEVER_NS;
	while (*at != UINT32_MAX) {
		uint32_t i = *at;
		struct wire_datagram *d = &w->d[i];
		struct wire_end *x = d->to;
		if (d->due_ns > w->now) {
			next = base_min_ns(next, d->due_ns);
			last = i;
			at = &d->next;
			continue;
		}
		*at = d->next;
		if (!x->dead && !x->computes)
			suci_rx(x->ep, &d->from, d->bytes, d->len, i, w->now);
		wire_release(x, i);
	}
	w->tail = last;
	return next;
}

/* Timers of one end; returns when its core wants the next turn. */
static inline uint64_t
wire_tick(struct wire_end *x)
{
	uint64_t now = x->wire->now;
	const char *what = NULL;
	suci_tick(x->ep, now);
	if (!x->core) {
		suci_lanes_flush(x->lanes, now);
		return BASE_NEVER_NS;
	}
	relay_core_tick(x->core, now);
	if (!relay_core_check(x->core, &what))
		fail_msg("relay of %u: %s", x->cluster, what);
	return relay_core_expiry_ns(x->core);
}

#endif
