/* SPDX-License-Identifier: BSD-2-Clause */
#include "channels.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#define DIAL_NS	  (200 * BASE_MS_NS)
#define DELAY_NS  (BASE_MS_NS / 2)
#define HEIR_NS	  (1200 * BASE_MS_NS) /* until a channel that does not answer gives way */
#define JITTER_NS BASE_MS_NS

struct frame {
	struct frame *next;
	size_t len;
	uint8_t bytes[];
};

/* One direction of a pair. */
struct flow {
	struct frame *first, **last;
	uint64_t at_ns; /* nothing arrives before that */
	uint32_t n;
};

struct pair {
	struct channels *of;
	uint32_t relay[2];
	bool cable, dialling;
	bool up[2]; /* as that end sees it */
	uint64_t epoch, cut_epoch;
	struct flow flow[2]; /* towards that end */
};

struct channels {
	struct sim *s;
	uint32_t n;
	void (*after)(void *user, uint32_t i);
	void *user;
	struct base_prng prng;
	uint64_t began_ns;			     /* then there are no delays */
	struct relay_cluster *cluster[CHANNELS_MAX]; /* NULL: dead */
	struct pair pair[CHANNELS_MAX * CHANNELS_MAX];
};

static struct pair *
pair_of(struct channels *c, uint32_t i, uint32_t k)
{
	return i < k ? &c->pair[i * CHANNELS_MAX + k] : &c->pair[k * CHANNELS_MAX + i];
}

static uint64_t
random_ns(struct channels *c, uint64_t below)
{
	return c->s->now_ns == c->began_ns ? 0 : base_prng_next(&c->prng) % below;
}

static uint64_t
delay_ns(const struct channels *c)
{
	return c->s->now_ns == c->began_ns ? 0 : DELAY_NS;
}

static void
drop_flow(struct flow *f)
{
	while (f->first) {
		struct frame *next = f->first->next;
		free(f->first);
		f->first = next;
	}
	f->last = &f->first;
	f->n = 0;
}

struct channels *
channels_new(struct sim *s, uint32_t n, void (*after)(void *user, uint32_t i), void *user,
	     uint64_t seed)
{
	struct channels *c = calloc(1, sizeof *c);
	BASE_ASSERT(c && n <= CHANNELS_MAX);
	c->s = s;
	c->began_ns = s->now_ns;
	c->n = n;
	c->after = after;
	c->user = user;
	c->prng = base_prng_seed(seed ^ 0xc4a11);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = i + 1; k < n; k++) {
			struct pair *p = pair_of(c, i, k);
			*p = (struct pair){.of = c, .relay = {i, k}, .cable = true};
			p->flow[0].last = &p->flow[0].first;
			p->flow[1].last = &p->flow[1].first;
		}
	return c;
}

void
channels_free(struct channels *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		for (uint32_t k = i + 1; k < c->n; k++) {
			drop_flow(&pair_of(c, i, k)->flow[0]);
			drop_flow(&pair_of(c, i, k)->flow[1]);
		}
	free(c);
}

/* An event of a pair, for one end and one life of the connection. */
#define ARG(epoch, end) ((epoch) << 1 | (end))

/* ---- up and down ----------------------------------------------------------------- */

static sim_fn connected, arrive;

static void
dial(struct pair *p)
{
	struct channels *c = p->of;
	if (p->dialling || p->up[0] || p->up[1] || !p->cable || !c->cluster[p->relay[0]] ||
	    !c->cluster[p->relay[1]])
		return;
	p->dialling = true;
	p->epoch++;
	drop_flow(&p->flow[0]);
	drop_flow(&p->flow[1]);
	sim_at(c->s, c->s->now_ns + delay_ns(c) + random_ns(c, DIAL_NS), connected, p, p->epoch);
}

static void
read_all(struct pair *p, uint32_t end, uint64_t after_ns)
{
	for (uint32_t n = p->flow[end].n; n; n--)
		sim_at(p->of->s, p->of->s->now_ns + after_ns, arrive, p, ARG(p->epoch, end));
}

static void
come_up(struct sim *s, void *who, uint64_t arg)
{
	struct pair *p = who;
	struct channels *c = p->of;
	uint32_t end = arg & 1, i = p->relay[end];
	if (p->epoch != arg >> 1 || p->up[end] || !c->cluster[i])
		return;
	p->up[end] = true;
	sim_log(s, "channel %u-%u is up at %u", p->relay[0], p->relay[1], i);
	relay_cluster_up(c->cluster[i], p->relay[!end]);
	c->after(c->user, i);
	read_all(p, end, 0); /* what came before */
}

static void
connected(struct sim *s, void *who, uint64_t epoch)
{
	struct pair *p = who;
	struct channels *c = p->of;
	if (p->epoch != epoch)
		return;
	p->dialling = false;
	if (!p->cable || !c->cluster[p->relay[0]] || !c->cluster[p->relay[1]])
		return;
	uint32_t later = (uint32_t)base_prng_next(&c->prng) & 1;
	come_up(s, p, ARG(p->epoch, !later));
	sim_at(s, s->now_ns + random_ns(c, 2 * JITTER_NS), come_up, p, ARG(p->epoch, later));
}

static void
go_down(struct sim *s, void *who, uint64_t arg)
{
	struct pair *p = who;
	struct channels *c = p->of;
	uint32_t end = arg & 1, i = p->relay[end];
	if (p->epoch != arg >> 1 || !p->up[end])
		return;
	p->up[end] = false;
	if (c->cluster[i]) {
		sim_log(s, "channel %u-%u is down at %u", p->relay[0], p->relay[1], i);
		relay_cluster_down(c->cluster[i], p->relay[!end], "the channel is down");
		c->after(c->user, i);
	}
	if (p->cable && p->up[!end]) /* it hears of it, or finds out */
		sim_at(s, s->now_ns + random_ns(c, HEIR_NS), go_down, p, ARG(p->epoch, !end));
	dial(p);
}

static void
down_after(struct pair *p, uint32_t end, uint64_t ns)
{
	sim_at(p->of->s, p->of->s->now_ns + ns, go_down, p, ARG(p->epoch, end));
}

/* Silence, if the cable is still the one that was cut. */
static void
silent(struct sim *s, void *who, uint64_t arg)
{
	struct pair *p = who;
	if (p->cable || p->cut_epoch != arg >> 1)
		return;
	go_down(s, p, ARG(p->epoch, arg & 1));
}

void
channels_join(struct channels *c, uint32_t i, struct relay_cluster *cluster)
{
	c->cluster[i] = cluster;
	for (uint32_t k = 0; k < c->n; k++) {
		if (k == i)
			continue;
		struct pair *p = pair_of(c, i, k);
		uint32_t other = p->relay[0] == i;
		if (p->up[other]) /* it has a channel to the one that was here before */
			down_after(p, other, random_ns(c, HEIR_NS));
		dial(p);
	}
}

void
channels_kill(struct channels *c, uint32_t i, bool quietly)
{
	c->cluster[i] = NULL;
	for (uint32_t k = 0; k < c->n; k++) {
		if (k == i)
			continue;
		struct pair *p = pair_of(c, i, k);
		uint32_t end = p->relay[1] == i;
		p->up[end] = false;
		if (p->dialling) {
			p->dialling = false;
			p->epoch++;
		}
		if (p->up[!end])
			down_after(p, !end, quietly ? RELAY_PEER_DEAD_NS : DELAY_NS);
	}
}

void
channels_cut(struct channels *c, uint32_t i, uint32_t k)
{
	struct pair *p = pair_of(c, i, k);
	if (!p->cable)
		return;
	p->cable = false;
	p->cut_epoch++;
	for (uint32_t end = 0; end < 2; end++)
		sim_at(c->s, c->s->now_ns + RELAY_PEER_DEAD_NS + random_ns(c, BASE_S_NS), silent, p,
		       ARG(p->cut_epoch, end));
}

void
channels_break(struct channels *c, uint32_t i, uint32_t k)
{
	struct pair *p = pair_of(c, i, k);
	down_after(p, 0, random_ns(c, 2 * JITTER_NS));
	down_after(p, 1, random_ns(c, 2 * JITTER_NS));
}

bool
channels_up(const struct channels *c, uint32_t i, uint32_t k)
{
	const struct pair *p =
		i < k ? &c->pair[i * CHANNELS_MAX + k] : &c->pair[k * CHANNELS_MAX + i];
	return p->up[0] && p->up[1] && p->cable;
}

/* ---- frames -------------------------------------------------------------------------- */

static void
arrive(struct sim *s, void *who, uint64_t arg)
{
	struct pair *p = who;
	struct channels *c = p->of;
	uint32_t end = arg & 1, i = p->relay[end];
	struct flow *f = &p->flow[end];
	struct frame *b = f->first;
	if (p->epoch != arg >> 1 || !b || !p->cable || !p->up[end] || !c->cluster[i])
		return;
	f->first = b->next;
	f->n--;
	if (!f->first)
		f->last = &f->first;
	struct relay_peer_frame frame;
	size_t need;
	long n = relay_peer_decode(b->bytes, b->len, &frame, &need);
	SIM_CHECK(s, n == (long)b->len, "a frame of %zu bytes is decoded as %ld", b->len, n);
	sim_mix(s, (uint64_t)frame.type << 32 | frame.job);
	relay_cluster_frame(c->cluster[i], p->relay[!end], &frame);
	free(b);
	c->after(c->user, i);
}

void
channels_heal(struct channels *c, uint32_t i, uint32_t k)
{
	struct pair *p = pair_of(c, i, k);
	if (p->cable)
		return;
	p->cable = true;
	for (uint32_t end = 0; end < 2; end++) {
		read_all(p, end, DELAY_NS);
		if (p->up[end] && !p->up[!end])
			down_after(p, end, random_ns(c, HEIR_NS));
	}
	dial(p);
}

static bool
send_bytes(struct channels *c, uint32_t from, uint32_t to, struct frame *b)
{
	struct pair *p = pair_of(c, from, to);
	uint32_t end = p->relay[1] == to;
	struct flow *f = &p->flow[end];
	if (!p->up[!end]) {
		free(b);
		return false;
	}
	b->next = NULL;
	*f->last = b;
	f->last = &b->next;
	f->n++;
	f->at_ns = base_max_ns(f->at_ns, c->s->now_ns + delay_ns(c) + random_ns(c, JITTER_NS));
	sim_at(c->s, f->at_ns, arrive, p, ARG(p->epoch, end));
	return true;
}

bool
channels_send(struct channels *c, uint32_t from, uint32_t to, const struct relay_peer_frame *f)
{
	struct frame *b = malloc(sizeof *b + RELAY_PEER_SMALL_MAX);
	BASE_ASSERT(b);
	b->len = relay_peer_encode(f, b->bytes);
	return send_bytes(c, from, to, b);
}

bool
channels_send_job(struct channels *c, uint32_t from, uint32_t to, const struct relay_job *table)
{
	size_t len = relay_peer_job_len(table);
	struct frame *b = malloc(sizeof *b + len);
	BASE_ASSERT(b);
	b->len = relay_peer_encode_job(table, b->bytes, len);
	BASE_ASSERT(b->len == len);
	return send_bytes(c, from, to, b);
}
