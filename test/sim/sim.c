/* SPDX-License-Identifier: BSD-2-Clause */
#include "invariants.h"
#include "scenario.h"
#include "sim.h"

#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NIL UINT32_MAX

struct sim *
sim_new(uint64_t seed)
{
	struct sim *s = calloc(1, sizeof *s);
	BASE_ASSERT(s);
	s->seed = seed;
	s->now_ns = BASE_S_NS; /* not zero: a zero is often a bug */
	s->hash = 0xcbf29ce484222325ull;
	s->buf_free = NIL;
	s->events_max = 40000000;
	return s;
}

void
sim_outcome(const struct sim *s, struct outcome *o)
{
	o->ok = !s->failed;
	o->broken = s->broken;
	o->hash = s->hash;
	o->events = s->events;
	o->virtual_ns = s->now_ns;
	memcpy(o->why, s->why, sizeof o->why);
}

void
sim_free(struct sim *s)
{
	for (uint32_t i = 0; i < s->nbuf; i++)
		free(s->buf[i].data);
	free(s->buf);
	free(s->heap);
	free(s);
}

void
sim_mix(struct sim *s, uint64_t v)
{
	s->hash = (s->hash ^ v) * 0x100000001b3ull;
	s->hash ^= s->hash >> 29;
}

void
sim_fail(struct sim *s, const char *fmt, ...)
{
	if (s->failed)
		return;
	s->failed = true;
	va_list ap;
	va_start(ap, fmt);
	int n = snprintf(s->why, sizeof s->why,
			 "t=%llu.%09llu s: ", (unsigned long long)(s->now_ns / BASE_S_NS),
			 (unsigned long long)(s->now_ns % BASE_S_NS));
	vsnprintf(s->why + n, sizeof s->why - (size_t)n, fmt, ap);
	va_end(ap);
}

void
sim_log(struct sim *s, const char *fmt, ...)
{
	if (!s->verbose)
		return;
	va_list ap;
	va_start(ap, fmt);
	printf("%llu.%09llu ", (unsigned long long)(s->now_ns / BASE_S_NS),
	       (unsigned long long)(s->now_ns % BASE_S_NS));
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

/* ---- events: a binary heap by (time, order of making) ------------------- */

static bool
before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void
sim_at(struct sim *s, uint64_t at_ns, sim_fn *fn, void *who, uint64_t arg)
{
	if (s->nheap == s->heap_cap) {
		s->heap_cap = s->heap_cap ? 2 * s->heap_cap : 1024;
		s->heap = realloc(s->heap, s->heap_cap * sizeof *s->heap);
		BASE_ASSERT(s->heap);
	}
	struct sim_event e = {base_max_ns(at_ns, s->now_ns), s->order++, fn, who, arg};
	size_t i = s->nheap++;
	for (; i > 0 && before(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = e;
}

static struct sim_event
take_first(struct sim *s)
{
	struct sim_event top = s->heap[0], last = s->heap[--s->nheap];
	size_t i = 0;
	for (;;) {
		size_t c = 2 * i + 1;
		if (c >= s->nheap)
			break;
		if (c + 1 < s->nheap && before(&s->heap[c + 1], &s->heap[c]))
			c++;
		if (!before(&s->heap[c], &last))
			break;
		s->heap[i] = s->heap[c];
		i = c;
	}
	s->heap[i] = last;
	return top;
}

void
sim_run(struct sim *s, uint64_t until_ns, bool (*stop)(void *who), void *who)
{
	while (s->nheap && !s->failed && s->heap[0].at_ns <= until_ns) {
		if (stop && stop(who))
			return;
		if (++s->events > s->events_max) {
			invariant_broken(s, INV_SPIN, "more than %llu events: something spins",
					 (unsigned long long)s->events_max);
			return;
		}
		struct sim_event e = take_first(s);
		s->now_ns = e.at_ns;
		e.fn(s, e.who, e.arg);
	}
	if (!s->failed && (!stop || !stop(who)) && until_ns != BASE_NEVER_NS)
		s->now_ns = base_max_ns(s->now_ns, until_ns);
}

/* ---- buffers ------------------------------------------------------------- */

static uint32_t
buf_new(struct sim *s, uint32_t len)
{
	uint32_t i = s->buf_free;
	if (i != NIL) {
		s->buf_free = s->buf[i].next_free;
	} else {
		i = s->nbuf;
		uint32_t cap = s->nbuf ? 2 * s->nbuf : 256;
		s->buf = realloc(s->buf, cap * sizeof *s->buf);
		BASE_ASSERT(s->buf);
		memset(s->buf + s->nbuf, 0, (cap - s->nbuf) * sizeof *s->buf);
		for (uint32_t k = cap; k-- > i + 1;) {
			s->buf[k].next_free = s->buf_free;
			s->buf_free = k;
		}
		s->nbuf = cap;
	}
	s->buf[i] = (struct sim_buf){.data = malloc(len ? len : 1), .len = len, .refs = 1};
	BASE_ASSERT(s->buf[i].data);
	if (++s->buf_live > s->buf_live_max)
		s->buf_live_max = s->buf_live;
	return i;
}

uint64_t
sim_buffer(struct sim *s, uint32_t len)
{
	return buf_new(s, len);
}

void
sim_hold(struct sim *s, uint64_t buf)
{
	BASE_ASSERT(buf < s->nbuf && s->buf[buf].refs > 0);
	s->buf[buf].refs++;
}

void
sim_release(struct sim *s, uint64_t buf)
{
	BASE_ASSERT(buf < s->nbuf && s->buf[buf].refs > 0);
	if (--s->buf[buf].refs)
		return;
	free(s->buf[buf].data);
	s->buf[buf].data = NULL;
	s->buf[buf].next_free = s->buf_free;
	s->buf_free = (uint32_t)buf;
	s->buf_live--;
}

/* ---- links --------------------------------------------------------------- */

uint32_t
sim_add_link(struct sim *s, const struct sim_link_conf *conf)
{
	BASE_ASSERT(s->nlink < SIM_LINKS_MAX);
	struct sim_link *l = &s->link[s->nlink];
	l->conf = *conf;
	l->prng = base_prng_seed(s->seed ^ (0x11ull + s->nlink) * 0x9e3779b97f4a7c15ull);
	return s->nlink++;
}

static uint32_t
addr_slot(uint32_t network, uint32_t ipv4)
{
	return (ipv4 * 2654435761u ^ network * 40503u) >> 7 & (SIM_ADDR_SLOTS - 1);
}

uint32_t
sim_add_port(struct sim *s, void *node, sim_fn *deliver, uint32_t network, uint32_t ipv4)
{
	BASE_ASSERT(s->nport < SIM_PORTS_MAX);
	s->port[s->nport] = (struct sim_port){.node = node,
					      .deliver = deliver,
					      .network = network,
					      .ipv4 = ipv4,
					      .next = SIM_LINK_NONE};
	/* To the end of its chain: the first of several is found first. */
	uint32_t *slot = &s->at_addr[addr_slot(network, ipv4)];
	if (!*slot) {
		*slot = s->nport + 1;
	} else {
		uint32_t p = *slot - 1;
		while (s->port[p].next != SIM_LINK_NONE)
			p = s->port[p].next;
		s->port[p].next = s->nport;
	}
	return s->nport++;
}

void
sim_set_route(struct sim *s, uint32_t from, uint32_t to, const uint32_t *links, size_t n)
{
	BASE_ASSERT(n >= 1 && n <= SIM_HOPS_MAX);
	for (size_t i = 0; i < SIM_HOPS_MAX; i++)
		s->route[from][to][i] = i < n ? (uint16_t)(links[i] + 1) : 0;
}

static void enter_hop(struct sim *s, uint32_t b);

static void
deliver(struct sim *s, uint32_t b)
{
	struct sim_port *p = &s->port[s->buf[b].to];
	const uint8_t *d = s->buf[b].data;
	p->delivered++;
	sim_mix(s, s->now_ns);
	sim_mix(s, (uint64_t)s->buf[b].from << 48 | (uint64_t)s->buf[b].to << 32 | s->buf[b].len);
	if (s->buf[b].len)
		sim_mix(s, (uint64_t)d[0] << 56 | (uint64_t)d[s->buf[b].len - 1] << 48 |
				   (uint64_t)d[s->buf[b].len / 2] << 40);
	p->deliver(s, p->node, b);
	sim_release(s, b);
}

static void
leave_link(struct sim *s, void *who, uint64_t b)
{
	struct sim_link *l = who;
	l->inside--;
	l->n.passed++;
	s->buf[b].hop++;
	enter_hop(s, (uint32_t)b);
}

/* Which fault, if any, takes the datagram away: its counter. */
static uint64_t *
fault_of(struct sim *s, struct sim_link *l, const struct sim_buf *b, uint64_t waiting_bytes)
{
	const struct sim_link_conf *c = &l->conf;
	(void)s;
	if (l->down)
		return &l->n.drop_down;
	if (l->aim && l->aim(l->aim_who, b))
		return &l->n.drop_aimed;
	if (c->mtu && b->len > c->mtu)
		return &l->n.drop_mtu;
	if (c->loss_ppb && base_prng_chance(&l->prng, c->loss_ppb))
		return &l->n.drop_loss;
	if (c->burst_in_ppb) {
		bool turns =
			base_prng_chance(&l->prng, l->bad ? c->burst_out_ppb : c->burst_in_ppb);
		l->bad = l->bad != turns;
		if (l->bad && base_prng_chance(&l->prng, c->burst_loss_ppb))
			return &l->n.drop_burst;
	}
	if (c->corrupt_ppb && base_prng_chance(&l->prng, c->corrupt_ppb))
		return &l->n.drop_checksum; /* the UDP checksum finds it */
	if (c->queue_bytes && waiting_bytes + b->len + c->overhead_bytes > c->queue_bytes &&
	    waiting_bytes)
		return &l->n.drop_queue;
	return NULL;
}

static uint64_t
mul_div_up(uint64_t a, uint64_t b, uint64_t div)
{
	return (uint64_t)((__extension__(unsigned __int128) a * b + div - 1) / div);
}

static void
enter_link(struct sim *s, struct sim_link *l, uint32_t b)
{
	const struct sim_link_conf *c = &l->conf;
	uint64_t start = base_max_ns(s->now_ns, l->free_at_ns);
	uint64_t waiting = mul_div_up(start - s->now_ns, c->rate_bps, BASE_S_NS);
	l->n.offered++;
	uint64_t *fault = fault_of(s, l, &s->buf[b], waiting);
	if (fault) {
		++*fault;
		sim_release(s, b);
		return;
	}
	if (c->garble_ppb && s->garble && base_prng_chance(&l->prng, c->garble_ppb))
		l->n.garbled += s->garble(s->garble_who, &l->prng, &s->buf[b]);
	uint64_t bytes = s->buf[b].len + c->overhead_bytes;
	uint64_t out = start + c->packet_ns +
		       (c->rate_bps ? mul_div_up(bytes, BASE_S_NS, c->rate_bps) : 0);
	uint64_t at = out + c->delay_ns;
	l->free_at_ns = out;
	l->n.bytes += bytes;
	if (c->reorder_ppb && base_prng_chance(&l->prng, c->reorder_ppb)) {
		at += base_prng_below(&l->prng, c->reorder_ns + 1);
		l->n.reordered++;
	}
	l->inside++;
	sim_at(s, at, leave_link, l, b);
	if (c->dup_ppb && base_prng_chance(&l->prng, c->dup_ppb)) {
		uint32_t d = buf_new(s, s->buf[b].len);
		memcpy(s->buf[d].data, s->buf[b].data, s->buf[b].len);
		s->buf[d].from = s->buf[b].from;
		s->buf[d].to = s->buf[b].to;
		s->buf[d].hop = s->buf[b].hop;
		l->n.offered++;
		l->n.duplicated++;
		l->inside++;
		sim_at(s, at + base_prng_below(&l->prng, c->reorder_ns + 1000), leave_link, l, d);
	}
}

static void
enter_hop(struct sim *s, uint32_t b)
{
	uint32_t hop = s->buf[b].hop;
	uint16_t next = hop < SIM_HOPS_MAX ? s->route[s->buf[b].from][s->buf[b].to][hop] : 0;
	if (next)
		enter_link(s, &s->link[next - 1], b);
	else
		deliver(s, b);
}

void
sim_send(struct sim *s, uint32_t from, uint32_t ipv4, const struct sim_piece *piece, size_t n)
{
	size_t len = 0;
	for (size_t i = 0; i < n; i++)
		len += piece[i].len;
	s->port[from].sent++;
	uint32_t to = s->at_addr[addr_slot(s->port[from].network, ipv4)] - 1;
	while (to != SIM_LINK_NONE && !(s->port[to].network == s->port[from].network &&
					s->port[to].ipv4 == ipv4 && s->route[from][to][0]))
		to = s->port[to].next;
	if (to == SIM_LINK_NONE) {
		s->port[from].unroutable++;
		return;
	}
	uint32_t b = buf_new(s, (uint32_t)len);
	size_t at = 0;
	for (size_t i = 0; i < n; i++) {
		if (piece[i].len)
			memcpy(s->buf[b].data + at, piece[i].p, piece[i].len);
		at += piece[i].len;
	}
	s->buf[b].from = (uint16_t)from;
	s->buf[b].to = (uint16_t)to;
	if (s->spy)
		s->spy(s->spy_who, &s->buf[b]);
	enter_hop(s, b);
}

void
sim_arrive(struct sim *s, uint32_t from, uint32_t to, const void *bytes, uint32_t len)
{
	uint32_t b = buf_new(s, len);
	if (len)
		memcpy(s->buf[b].data, bytes, len);
	s->buf[b].from = (uint16_t)from;
	s->buf[b].to = (uint16_t)to;
	deliver(s, b);
}

void
sim_check_links(struct sim *s)
{
	for (uint32_t i = 0; i < s->nlink; i++) {
		const struct sim_link *l = &s->link[i];
		uint64_t drops = l->n.drop_down + l->n.drop_mtu + l->n.drop_loss + l->n.drop_burst +
				 l->n.drop_queue + l->n.drop_checksum + l->n.drop_aimed;
		INVARIANT(s, ACCOUNT, l->n.offered == l->n.passed + drops + l->inside,
			  "link %u: offered is not passed + drops + inside", i);
	}
}
