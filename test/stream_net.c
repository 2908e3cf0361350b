/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream_net.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#define PROCS_MAX 16u
#define PIPE	  4096u

/* Bytes on their way. */
struct pipe {
	uint8_t byte[PIPE];
	uint32_t first, n;
};

/* One end of a connection. */
struct side {
	struct lmpi_stream s;
	bool open;
	struct pipe out;
};

/* Of who began it, and of the other. */
struct pair {
	struct side side[2];
};

struct stream_net {
	uint32_t procs;
	struct lmpi_engine *const *engine;
	struct base_prng rnd;
	bool always;
	struct lmpi_stream_habit habit[PROCS_MAX];
	struct pair *pair[PROCS_MAX][PROCS_MAX]; /* [who began][other] */
	struct side *use[PROCS_MAX][PROCS_MAX];	 /* [of][to] */
	bool off[PROCS_MAX][PROCS_MAX];		 /* [of][to]: begins none any more */
	struct stream_net_counts count;
};

static uint64_t
draw_chance(struct stream_net *n, uint64_t of)
{
	return base_prng_below(&n->rnd, of);
}

struct stream_net *
stream_net_new(uint32_t procs, struct lmpi_engine *const *engine, uint64_t seed, bool always)
{
	struct stream_net *n = calloc(1, sizeof *n);

	BASE_ASSERT(n && procs <= PROCS_MAX);
	n->procs = procs;
	n->engine = engine;
	n->rnd = base_prng_seed(seed);
	n->always = always;
	return n;
}

/* ---- connections ---- */

/* That end of the connection which `began` began. */
static struct side *
side_of(const struct stream_net *n, uint32_t began, uint32_t other, uint32_t of)
{
	struct pair *p = n->pair[began][other];

	return p ? &p->side[of != began] : NULL;
}

static void
drop_side(struct stream_net *n, struct side *s, uint32_t of, uint32_t to)
{
	struct lmpi_engine *e = n->engine[of];
	bool was = e->in_transport;

	if (!s || !s->open)
		return;
	s->open = false;
	if (n->use[of][to] == s)
		n->use[of][to] = NULL;
	e->in_transport = true;
	lmpi_stream_end(e, &s->s);
	e->in_transport = was;
}

void
stream_net_cut(struct stream_net *n, uint32_t a, uint32_t b)
{
	for (int i = 0; i < 2; i++) {
		uint32_t from = i ? a : b, to = i ? b : a;
		for (int k = 0; k < 2; k++) {
			struct side *s = side_of(n, k ? a : b, k ? b : a, from);
			drop_side(n, s, from, to);
			if (s)
				s->out.n = 0;
		}
		n->off[from][to] = true;
	}
}

void
stream_net_free(struct stream_net *n)
{
	if (!n)
		return;
	for (uint32_t a = 0; a < n->procs; a++)
		for (uint32_t b = 0; b < n->procs; b++)
			if (n->pair[a][b])
				stream_net_cut(n, a, b);
	for (uint32_t a = 0; a < n->procs; a++)
		for (uint32_t b = 0; b < n->procs; b++)
			free(n->pair[a][b]);
	free(n);
}

static void
make_side_hello(uint32_t rank, uint8_t out[LMPI_STREAM_HELLO])
{
	memset(out, 0xc0, LMPI_STREAM_HELLO);
	out[0] = (uint8_t)rank;
}

static void
begin_pair(struct stream_net *n, uint32_t of, uint32_t to)
{
	uint8_t hello[LMPI_STREAM_HELLO];
	struct pair *p = n->pair[of][to] = calloc(1, sizeof *p);

	BASE_ASSERT(p);
	make_side_hello(of, hello);
	lmpi_stream_ask(&p->side[0].s, &n->engine[of]->peer[to], hello);
	lmpi_stream_expect(&p->side[1].s);
	p->side[0].open = p->side[1].open = true;
	n->use[of][to] = &p->side[0];
}

/* A HELLO has come to an end of a connection. */
static void
meet_side(struct stream_net *n, struct side *s, uint32_t of, uint32_t from)
{
	uint8_t answer[LMPI_STREAM_HELLO];
	struct side *mine = n->use[of][from];
	struct lmpi_peer *peer = &n->engine[of]->peer[from];

	BASE_ASSERT(s->s.head[0] == from);
	if (s->s.state == LMPI_STREAM_ASKED) {
		lmpi_stream_meet(&s->s, peer, NULL);
		return;
	}
	if (mine)
		n->count.crossed++;
	if (!lmpi_stream_takes_other(mine ? mine->s.state : LMPI_STREAM_NONE, of, from)) {
		drop_side(n, s, of, from);
		return;
	}
	drop_side(n, mine, of, from);
	make_side_hello(of, answer);
	lmpi_stream_meet(&s->s, peer, answer);
	n->use[of][from] = s;
}

bool
stream_net_send(struct stream_net *n, struct lmpi_engine *e, struct lmpi_peer *peer,
		struct lmpi_out *out)
{
	uint32_t of = e->rank, to = peer->world;
	bool wanted = lmpi_stream_wanted(&n->habit[of], out);

	if (!lmpi_stream_carries(out) || !(wanted || n->always))
		return false;
	if (!n->use[of][to] && !n->off[of][to] && !n->pair[of][to])
		begin_pair(n, of, to);
	struct side *s = n->use[of][to];
	if (!s || s->s.state != LMPI_STREAM_UP)
		return false;
	n->count.packets++;
	lmpi_stream_send(&s->s, out);
	return true;
}

/* ---- bytes ---- */

static bool
side_writes(struct stream_net *n, struct side *s, uint32_t of)
{
	struct lmpi_engine *e = n->engine[of];
	struct lmpi_stream_bytes piece[2];
	struct pipe *p = &s->out;
	int pieces = s->open ? lmpi_stream_out(&s->s, piece) : 0;
	size_t sent = 0;

	for (int i = 0; i < pieces && p->n < PIPE; i++) {
		size_t room = PIPE - p->n, k = piece[i].n < room ? piece[i].n : room;
		if (draw_chance(n, 2))
			k = 1 + (size_t)draw_chance(n, k);
		for (size_t b = 0; b < k; b++)
			p->byte[(p->first + p->n++) % PIPE] = ((const uint8_t *)piece[i].at)[b];
		sent += k;
		if (k < piece[i].n)
			break;
	}
	if (sent == 0)
		return false;
	n->count.bytes += sent;
	e->in_transport = true;
	lmpi_stream_sent(e, &s->s, sent);
	e->in_transport = false;
	return true;
}

static size_t
take_from_pipe(struct pipe *p, uint8_t *to, size_t len)
{
	size_t k = p->n < len ? p->n : len;

	for (size_t b = 0; b < k; b++)
		to[b] = p->byte[(p->first + b) % PIPE];
	p->first = (p->first + (uint32_t)k) % PIPE;
	p->n -= (uint32_t)k;
	return k;
}

static void
read_elsewhere(struct stream_net *n, struct side *s, uint32_t of, uint32_t from,
	       const uint8_t *byte, size_t len)
{
	for (size_t done = 0; done < len && s->open;) {
		done += lmpi_stream_in(n->engine[of], &s->s, byte + done, len - done);
		if (s->s.state == LMPI_STREAM_OVER)
			drop_side(n, s, of, from);
		else if (lmpi_stream_has_hello(&s->s))
			meet_side(n, s, of, from);
	}
}

/* p: what the other end has written. */
static bool
side_reads(struct stream_net *n, struct side *s, struct pipe *p, uint32_t of, uint32_t from)
{
	struct lmpi_engine *e = n->engine[of];
	uint8_t byte[600];
	size_t room, len = 1 + (size_t)draw_chance(n, sizeof byte);

	if (!s->open || p->n == 0)
		return false;
	e->in_transport = true;
	uint8_t *to = lmpi_stream_into(&s->s, &room);
	if (to && draw_chance(n, 4))
		lmpi_stream_came(e, &s->s, take_from_pipe(p, to, room < len ? room : len));
	else
		read_elsewhere(n, s, of, from, byte, take_from_pipe(p, byte, len));
	e->in_transport = false;
	return true;
}

/* The other end is closed, and all that it wrote has been read. */
static void
see_end(struct stream_net *n, struct side *s, const struct side *other, uint32_t of, uint32_t from)
{
	if (!s->open || other->open || other->out.n > 0)
		return;
	BASE_ASSERT(s->s.state != LMPI_STREAM_UP || lmpi_stream_at_rest(&s->s));
	drop_side(n, s, of, from);
}

bool
stream_net_step(struct stream_net *n, uint32_t from, uint32_t to)
{
	bool moved = false;

	for (int k = 0; k < 2; k++) {
		struct side *a = side_of(n, k ? from : to, k ? to : from, from);
		struct side *b = side_of(n, k ? from : to, k ? to : from, to);
		if (!a)
			continue;
		moved |= side_writes(n, a, from);
		moved |= side_reads(n, b, &a->out, to, from);
		see_end(n, b, a, to, from);
	}
	return moved;
}

bool
stream_net_moves(const struct stream_net *n, uint32_t from, uint32_t to)
{
	for (int k = 0; k < 2; k++) {
		const struct side *a = side_of(n, k ? from : to, k ? to : from, from);
		const struct side *b = side_of(n, k ? from : to, k ? to : from, to);
		if (a && ((b->open && a->out.n > 0) ||
			  (a->open && lmpi_stream_has_out(&a->s) && a->out.n < PIPE)))
			return true;
	}
	return false;
}

struct stream_net_counts
stream_net_counts(const struct stream_net *n)
{
	return n->count;
}
