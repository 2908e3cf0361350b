/* SPDX-License-Identifier: BSD-2-Clause */
/* Making, turns, peers that go. */
#include "engine_internal.h"

#include "base/carve.h"

#include <errno.h>

#ifdef SUCI_CANARY
enum mmp_bug mmp_canary;
#endif

uint32_t
mmp_pool_take(struct pool *p)
{
	uint32_t i = p->free;
	if (i != MMP_NONE)
		p->free = p->next[i];
	else if (p->fresh < p->cap)
		i = p->fresh++;
	p->used += i != MMP_NONE;
	return i;
}

void
mmp_pool_give(struct pool *p, uint32_t i)
{
	p->next[i] = p->free;
	p->free = i;
	p->used--;
}

static void
carve_pool(struct pool *p, uint32_t cap, uint8_t **at)
{
	*p = (struct pool){
		.free = MMP_NONE, .cap = cap, .next = base_carve(at, cap * sizeof *p->next)};
}

/* What the engine of so many processes consists of, behind *at. */
static void
carve_engine(struct mmp_engine *e, uint32_t size, uint8_t **at)
{
	uint32_t recs = size * MMP_PEER_FRAGMENTS, msgs = recs + MMP_RECEIVES_MAX, bins = 1024;
	uint32_t wants = size * MMP_PEER_WANTS * MMP_STREAMS;
	while (bins < msgs / 4)
		bins *= 2;
	e->hash_mask = bins - 1;
	carve_pool(&e->recs, recs, at);
	carve_pool(&e->msgs, msgs, at);
	carve_pool(&e->posts, MMP_RECEIVES_MAX, at);
	carve_pool(&e->wants, wants, at);
	e->pieces = 2 * recs + 2;
	e->piece = base_carve(at, e->pieces * sizeof *e->piece);
	e->tx = base_carve(at, MMP_SENDS_MAX * sizeof *e->tx);
	e->rec = base_carve(at, recs * sizeof *e->rec);
	e->msg = base_carve(at, msgs * sizeof *e->msg);
	e->post = base_carve(at, MMP_RECEIVES_MAX * sizeof *e->post);
	e->peer = base_carve(at, size * sizeof *e->peer);
	e->source = base_carve(at, size * MMP_STREAMS * sizeof *e->source);
	e->want = base_carve(at, wants * sizeof *e->want);
	e->hash = base_carve(at, bins * sizeof *e->hash);
}

size_t
mmp_engine_footprint(uint32_t size)
{
	struct mmp_engine e;
	uint8_t *at = (uint8_t *)base_carved(sizeof e);
	carve_engine(&e, size, &at);
	return (size_t)at + BASE_CARVE_ALIGN;
}

struct mmp_engine *
mmp_engine_new(void *mem, const struct mmp_engine_config *c)
{
	uint8_t *at = base_carve_from(mem);
	struct mmp_engine *e = base_carve(&at, sizeof *e);
	carve_engine(e, c->size, &at);
	e->c = *c;
	mmp_area_init(&e->area, c->recv_bytes, e->piece, e->pieces);
	for (uint32_t i = 0; i <= e->hash_mask; i++)
		e->hash[i] = MMP_NONE;
	e->request = mmp_ring_end(c->rings.send_request, MMP_RING_SLOTS);
	e->reply = mmp_ring_end(c->rings.send_reply, MMP_RING_SLOTS);
	e->notice = mmp_ring_end(c->rings.receive_notice, MMP_RING_SLOTS);
	e->freed = mmp_ring_end(c->rings.receive_reply, MMP_RING_SLOTS);
	/* Half of the half is for what is lost between pieces. */
	e->share = c->recv_bytes / 2 / (c->size > 1 ? c->size - 1 : 1);
	for (uint32_t i = 0; i < c->size * MMP_STREAMS; i++)
		e->source[i].posts = e->source[i].msgs = LIST_EMPTY;
	for (uint32_t i = 0; i < c->size; i++)
		e->peer[i].queue = e->peer[i].want_queue = LIST_EMPTY;
	for (uint32_t i = 0; i < MMP_STREAMS; i++)
		e->any_posts[i] = e->any_msgs[i] = LIST_EMPTY;
	for (uint32_t i = 0; i < WANT_BINS; i++)
		e->want_bin[i] = MMP_NONE;
	e->due = e->ended = LIST_EMPTY;
	e->dirty = e->done_head = MMP_NONE;
	mmp_engine_up(e, c->rank, true, 0);
	return e;
}

uint64_t
mmp_engine_share(const struct mmp_engine *e)
{
	return e->share;
}

void
mmp_engine_up(struct mmp_engine *e, uint32_t peer, bool near, uint64_t share)
{
	struct peer *p = &e->peer[peer];
	p->up = true;
	p->near = near;
	p->share = share;
	mmp_tx_dirty(e, peer);
}

void
mmp_engine_pause(struct mmp_engine *e, uint32_t peer)
{
	e->peer[peer].up = false;
}

void
mmp_engine_down(struct mmp_engine *e, uint32_t peer, int err)
{
	struct peer *p = &e->peer[peer];
	if (p->down)
		return;
	p->up = false;
	p->down = true;
	p->error = err ? err : ECONNRESET;
	mmp_tx_drop(e, peer);
	mmp_rx_down(e, peer);
	mmp_match_down(e, peer);
}

/* ---- telling the program ---- */

static bool
tell_done(struct mmp_engine *e)
{
	bool moved = false;
	struct mmp_names *s;
	while (e->done_head != MMP_NONE && (s = mmp_ring_room(&e->reply))) {
		s->n = 0;
		while (e->done_head != MMP_NONE && s->n < MMP_NAMES) {
			s->name[s->n++] = e->done_head;
			e->done_head = e->tx[e->done_head].next;
		}
		mmp_ring_push(&e->reply);
		moved = true;
	}
	return moved;
}

static bool
tell_end(struct mmp_engine *e, uint32_t p)
{
	struct post *o = &e->post[p];
	struct mmp_notice *s = mmp_ring_room(&e->notice);
	if (!s)
		return false;
	*s = (struct mmp_notice){.kind = MMP_NOTE_END, .receive = o->receive};
	s->end.all = o->all;
	s->end.rank = o->rank;
	s->end.tag = o->got_tag;
	s->end.error = o->error;
	mmp_ring_push(&e->notice);
	mmp_pool_give(&e->posts, p);
	return true;
}

/* The held fragments of a matched message, and its end. */
static bool
tell_msg(struct mmp_engine *e, uint32_t m)
{
	struct msg *g = &e->msg[m];
	uint32_t *at = &g->recs.head, last = MMP_NONE;
	while (*at != MMP_NONE) {
		uint32_t r = *at;
		struct rec *c = &e->rec[r];
		if (!c->complete) {
			last = r;
			at = &c->next;
			continue;
		}
		struct mmp_notice *s = c->bytes ? mmp_ring_room(&e->notice) : NULL;
		if (c->bytes && !s)
			return false;
		*at = c->next;
		if (g->recs.tail == r)
			g->recs.tail = last;
		c->msg = MMP_NONE;
		if (!s) {
			mmp_rx_rec_free(e, r);
			continue;
		}
		c->told = true;
		*s = (struct mmp_notice){.kind = MMP_NOTE_COPY,
					 .receive = e->post[g->post].receive};
		s->copy.data = (uint64_t)(uintptr_t)c->data;
		s->copy.offset = c->offset;
		s->copy.bytes = c->bytes;
		s->copy.record = r;
		mmp_ring_push(&e->notice);
	}
	if (g->got < g->all || g->recs.head != MMP_NONE)
		return true;
	struct post *o = &e->post[g->post];
	o->all = g->all;
	o->rank = g->source / MMP_STREAMS;
	o->got_tag = g->tag;
	o->error = g->all > o->bytes ? EMSGSIZE : 0;
	if (!tell_end(e, g->post))
		return false;
	e->peer[o->rank].received_bytes += g->all;
	g->post = MMP_NONE;
	mmp_rx_msg_free(e, m);
	return true;
}

static bool
tell_engine(struct mmp_engine *e)
{
	bool moved = tell_done(e);
	while (e->due.head != MMP_NONE) {
		uint32_t m = e->due.head, next = e->msg[m].due_next;
		/* Freed inside: what is behind it is remembered here. */
		e->msg[m].due = false;
		if (!tell_msg(e, m)) {
			e->msg[m].due = true;
			return moved;
		}
		e->due.head = next;
		if (next == MMP_NONE)
			e->due.tail = MMP_NONE;
		moved = true;
	}
	while (e->ended.head != MMP_NONE) {
		uint32_t p = e->ended.head, next = e->post[p].next;
		if (!tell_end(e, p))
			return moved;
		e->ended.head = next;
		if (next == MMP_NONE)
			e->ended.tail = MMP_NONE;
		moved = true;
	}
	return moved;
}

/* ---- a turn ---- */

static void
take_reply(struct mmp_engine *e, const struct mmp_receive_reply *r)
{
	if (r->kind == MMP_REPLY_POST) {
		mmp_match_post(e, r);
		return;
	}
	for (uint32_t i = 0; i < r->freed.n && i < MMP_NAMES; i++)
		mmp_rx_freed(e, r->freed.name[i]);
}

bool
mmp_engine_turn(struct mmp_engine *e)
{
	bool moved = false;
	const void *s;
	/* Receives first: what comes now may be for them. */
	for (unsigned i = 0; i < MMP_RING_SLOTS && (s = mmp_ring_peek(&e->freed)); i++) {
		take_reply(e, s);
		mmp_ring_pop(&e->freed);
		moved = true;
	}
	for (unsigned i = 0; i < MMP_RING_SLOTS && (s = mmp_ring_peek(&e->request)); i++) {
		mmp_tx_request(e, s);
		mmp_ring_pop(&e->request);
		moved = true;
	}
	if (e->dirty != MMP_NONE)
		moved |= mmp_tx_pump(e);
	return tell_engine(e) | moved;
}

bool
mmp_engine_idle(const struct mmp_engine *e)
{
	return e->due.head == MMP_NONE && e->ended.head == MMP_NONE && e->done_head == MMP_NONE &&
	       e->dirty == MMP_NONE && mmp_ring_is_empty(&e->request) &&
	       mmp_ring_is_empty(&e->freed);
}

bool
mmp_engine_waits(struct mmp_engine *e)
{
	bool told = e->due.head == MMP_NONE && e->ended.head == MMP_NONE;
	return (told || !mmp_ring_room(&e->notice)) &&
	       (e->done_head == MMP_NONE || !mmp_ring_room(&e->reply)) && e->dirty == MMP_NONE &&
	       mmp_ring_is_empty(&e->request) && mmp_ring_is_empty(&e->freed);
}

uint32_t
mmp_engine_unsent(const struct mmp_engine *e)
{
	return e->unsent;
}

void
mmp_engine_get_peer(const struct mmp_engine *e, uint32_t peer, struct mmp_engine_peer *out)
{
	const struct peer *p = &e->peer[peer];
	*out = (struct mmp_engine_peer){.stalls = p->stalls,
					.straight = p->straight,
					.held = p->held,
					.sent_bytes = p->sent_bytes,
					.received_bytes = p->received_bytes,
					.up = p->up,
					.near = p->near,
					.error = p->error};
}

const struct mmp_engine_counters *
mmp_engine_counters(const struct mmp_engine *e)
{
	return &e->n;
}

const struct mmp_area *
mmp_engine_area(const struct mmp_engine *e)
{
	return &e->area;
}

bool
mmp_engine_empty(const struct mmp_engine *e, const char **what)
{
	*what = e->msgs.used	? "a message"
		: e->recs.used	? "a fragment"
		: e->posts.used ? "a receive"
		: e->wants.used ? "an announcement"
		: e->area.used	? "a piece of the area"
				: NULL;
	return !*what;
}
