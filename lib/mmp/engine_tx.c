/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending: a queue for each peer, and what the peer has room for. */
#include "engine_internal.h"

#include <string.h>

#define SPARE 16u /* fragments of a peer's room that only barriers may use */

void
mmp_tx_dirty(struct mmp_engine *e, uint32_t peer)
{
	struct peer *p = &e->peer[peer];
	if (p->dirty)
		return;
	p->dirty = true;
	p->dirty_next = e->dirty;
	e->dirty = peer;
}

void
mmp_engine_sent(struct mmp_engine *e, uint32_t name)
{
	struct tx *t = &e->tx[name];
	t->next = e->done_head;
	e->done_head = name;
	e->unsent -= t->far;
}

void
mmp_tx_request(struct mmp_engine *e, const struct mmp_send_request *r)
{
	struct tx *t = &e->tx[r->name];
	struct peer *p = &e->peer[r->peer];
	t->head = r->head;
	t->peer = r->peer;
	t->next = MMP_NONE;
	if (r->head.bytes <= MMP_INLINE) {
		memcpy(t->in, r->in, MMP_INLINE);
		t->data = t->in;
	} else {
		t->data = e->c.send_half + ((uint64_t)r->at_high << 32 | r->at_low);
	}
	t->far = !p->near;
	e->unsent += t->far;
	if (p->down) {
		mmp_engine_sent(e, r->name);
		return;
	}
	if (p->queue.tail != MMP_NONE)
		e->tx[p->queue.tail].next = r->name;
	else
		p->queue.head = r->name;
	p->queue.tail = r->name;
	mmp_tx_dirty(e, r->peer);
}

/* ---- what was announced ---- */

static uint32_t *
want_find(struct mmp_engine *e, uint32_t source, uint32_t number)
{
	uint32_t *at = &e->want_bin[(source * 31 + number) % WANT_BINS];
	while (*at != MMP_NONE && (e->want[*at].source != source || e->want[*at].number != number))
		at = &e->want[*at].next;
	return at;
}

static void
want_drop(struct mmp_engine *e, uint32_t *at)
{
	uint32_t w = *at;
	*at = e->want[w].next;
	e->source[e->want[w].source].announced--;
	mmp_pool_give(&e->wants, w);
}

static bool
is_wanted(struct mmp_engine *e, uint32_t source, uint32_t number)
{
	uint32_t w = *want_find(e, source, number);
	return w != MMP_NONE && e->want[w].wanted;
}

uint32_t
mmp_tx_want(struct mmp_engine *e, uint32_t peer, const struct mmp_head *h)
{
	uint32_t w = *want_find(e, peer * MMP_STREAMS + h->stream, h->number);
	/* Credit may have come first, and all has been sent. */
	if (w == MMP_NONE)
		return MMP_NONE;
	e->want[w].wanted = true;
	mmp_tx_dirty(e, peer);
	return MMP_NONE;
}

uint32_t
mmp_tx_credit(struct mmp_engine *e, uint32_t peer, const struct mmp_head *h)
{
	struct peer *p = &e->peer[peer];
	/* Freed can only be what was sent, and it only grows; words may overtake each other. */
	if (h->all > p->eager_sent || h->offset > p->frags_sent) {
		e->n.drop_credit++;
		return MMP_BAD;
	}
	p->eager_freed = h->all > p->eager_freed ? h->all : p->eager_freed;
	p->frags_freed = h->offset > p->frags_freed ? h->offset : p->frags_freed;
	mmp_tx_dirty(e, peer);
	return MMP_NONE;
}

/* ---- the queue ---- */

static bool
transmit(struct mmp_engine *e, uint32_t peer, const struct mmp_head *h, const void *data,
	 uint32_t name)
{
	struct peer *p = &e->peer[peer];
	if (peer == e->c.rank) {
		uint32_t bad = mmp_engine_offer(e, peer, h, data, name);
		if (bad == MMP_BAD) /* cannot be: our own head */
			mmp_engine_sent(e, name);
	} else if (!e->c.ops->send(e->c.user, peer, h, data, name)) {
		return false;
	}
	if (h->kind == MMP_FRAGMENT)
		p->frags_sent++;
	return true;
}

/* Without credit for its bytes: say that there is one, once. */
static bool
announce(struct mmp_engine *e, uint32_t peer, const struct tx *t)
{
	uint32_t source = peer * MMP_STREAMS + t->head.stream, *at, w;
	struct source *s = &e->source[source];
	at = want_find(e, source, t->head.number);
	if (*at != MMP_NONE || s->announced >= MMP_PEER_WANTS)
		return true;
	struct mmp_head h = t->head;
	h.bytes = 0;
	h.offset = 0;
	h.flags = 0;
	if (!transmit(e, peer, &h, NULL, MMP_NONE))
		return false;
	w = mmp_pool_take(&e->wants);
	e->want[w] = (struct want){.source = source, .number = t->head.number, .next = MMP_NONE};
	*at = w;
	s->announced++;
	if (s->sent_begun == t->head.number)
		s->sent_begun++;
	return true;
}

enum may { MAY_NOT, MAY_NOT_BYTES, MAY, MAY_EAGER };

static enum may
may_send(struct mmp_engine *e, uint32_t peer, const struct tx *t, bool blocked)
{
	struct peer *p = &e->peer[peer];
	uint64_t room = MMP_PEER_FRAGMENTS - (t->head.stream ? 0 : SPARE);
	uint32_t source = peer * MMP_STREAMS + t->head.stream;
	if (p->frags_sent - p->frags_freed >= room)
		return MAY_NOT;
	if (p->near || !t->head.bytes)
		return MAY;
	if (!blocked &&
	    p->eager_sent - p->eager_freed + t->head.bytes <= p->share << MMP_BUG(BEYOND))
		return MAY_EAGER;
	if (is_wanted(e, source, t->head.number))
		return MAY;
	return MAY_NOT_BYTES;
}

/* The fragment has been sent. */
static void
note_sent(struct mmp_engine *e, uint32_t peer, const struct mmp_head *h, enum may how)
{
	struct peer *p = &e->peer[peer];
	uint32_t source = peer * MMP_STREAMS + h->stream;
	if (how == MAY_EAGER)
		p->eager_sent += h->bytes;
	if (!h->stream)
		p->sent_bytes += h->bytes;
	if (e->source[source].sent_begun == h->number)
		e->source[source].sent_begun++;
	if (h->offset + h->bytes == h->all && e->source[source].announced) {
		uint32_t *at = want_find(e, source, h->number);
		if (*at != MMP_NONE)
			want_drop(e, at);
	}
}

/* The queue from the front; behind one that has no credit only what the peer wants goes, and
 * barriers.  False: the transport takes no more now. */
static bool
pump_queue(struct mmp_engine *e, uint32_t peer, bool *moved)
{
	struct peer *p = &e->peer[peer];
	uint32_t *at = &p->queue.head, last = MMP_NONE;
	bool blocked = false;
	while (*at != MMP_NONE) {
		uint32_t id = *at;
		struct tx *t = &e->tx[id];
		enum may how = may_send(e, peer, t, blocked);
		if (how <= MAY_NOT_BYTES) {
			if (!blocked) {
				p->stalls++;
				e->n.stalls++;
			}
			blocked = true;
			if (how == MAY_NOT_BYTES && !announce(e, peer, t))
				return false;
			last = id;
			at = &t->next;
			continue;
		}
		struct mmp_head h = t->head;
		uint32_t next = t->next;
		h.flags = how == MAY_EAGER ? MMP_EAGER : 0;
		/* It may be reported as sent at once: unlink it first. */
		*at = next;
		if (!transmit(e, peer, &h, t->data, id)) {
			*at = id;
			return false;
		}
		if (p->queue.tail == id)
			p->queue.tail = last;
		note_sent(e, peer, &h, how);
		*moved = true;
	}
	return true;
}

static bool
send_words(struct mmp_engine *e, uint32_t peer)
{
	struct peer *p = &e->peer[peer];
	if (p->credit_due) {
		struct mmp_head h = {
			.kind = MMP_CREDIT, .all = p->bytes_freed, .offset = p->frags_freed_in};
		if (!transmit(e, peer, &h, NULL, MMP_NONE))
			return false;
		p->credit_due = false;
		p->bytes_said = p->bytes_freed;
		p->frags_said = p->frags_freed_in;
	}
	while (p->want_queue.head != MMP_NONE) {
		struct msg *g = &e->msg[p->want_queue.head];
		struct mmp_head h = {.kind = MMP_WANT,
				     .stream = (uint16_t)(g->source % MMP_STREAMS),
				     .number = g->number};
		if (!transmit(e, peer, &h, NULL, MMP_NONE))
			return false;
		p->want_queue.head = g->want_next;
		if (g->want_next == MMP_NONE)
			p->want_queue.tail = MMP_NONE;
		e->n.wants++;
	}
	return true;
}

bool
mmp_tx_pump(struct mmp_engine *e)
{
	uint32_t peer = e->dirty;
	bool moved = false;
	e->dirty = MMP_NONE;
	while (peer != MMP_NONE) {
		struct peer *p = &e->peer[peer];
		uint32_t next = p->dirty_next;
		p->dirty = false;
		/* Until it is up everything waits; mmp_engine_up() marks it. */
		if (p->up && (!send_words(e, peer) || !pump_queue(e, peer, &moved)))
			mmp_tx_dirty(e, peer);
		peer = next;
	}
	return moved;
}

void
mmp_tx_drop(struct mmp_engine *e, uint32_t peer)
{
	struct peer *p = &e->peer[peer];
	while (p->queue.head != MMP_NONE) {
		uint32_t id = p->queue.head;
		p->queue.head = e->tx[id].next;
		mmp_engine_sent(e, id);
	}
	p->queue = p->want_queue = LIST_EMPTY;
	p->credit_due = false;
	for (uint32_t b = 0; b < WANT_BINS; b++) {
		uint32_t *at = &e->want_bin[b];
		while (*at != MMP_NONE) {
			if (e->want[*at].source / MMP_STREAMS == peer)
				want_drop(e, at);
			else
				at = &e->want[*at].next;
		}
	}
}
