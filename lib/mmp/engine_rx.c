/* SPDX-License-Identifier: BSD-2-Clause */
/* Fragments that come: which message, where to, and when they are done with. */
#include "engine_internal.h"

#include "base/copy.h"

#include <errno.h>
#include <string.h>

#define AHEAD (1u << 20) /* messages that may overtake the next one */

static uint32_t
hash_of(const struct mmp_engine *e, uint32_t source, uint32_t number)
{
	return (source * 0x9e3779b1u ^ number) & e->hash_mask;
}

static uint32_t
find_record(const struct mmp_engine *e, uint32_t source, uint32_t number)
{
	uint32_t m = e->hash[hash_of(e, source, number)];
	while (m != MMP_NONE && (e->msg[m].source != source || e->msg[m].number != number))
		m = e->msg[m].hash_next;
	return m;
}

static uint32_t
new_msg(struct mmp_engine *e, uint32_t source, const struct mmp_head *h)
{
	uint32_t m = mmp_pool_take(&e->msgs), bin = hash_of(e, source, h->number);
	if (m == MMP_NONE)
		return m;
	e->msg[m] = (struct msg){.source = source,
				 .number = h->number,
				 .post = MMP_NONE,
				 .tag = h->tag,
				 .all = h->all,
				 .recs = LIST_EMPTY,
				 .hash_next = e->hash[bin],
				 .used = true};
	e->hash[bin] = m;
	return m;
}

/* Out of a list by a link that follows one direction only; such lists are short. */
static void
unlink_due(struct mmp_engine *e, uint32_t m)
{
	uint32_t *at = &e->due.head, last = MMP_NONE;
	while (*at != m) {
		last = *at;
		at = &e->msg[last].due_next;
	}
	*at = e->msg[m].due_next;
	if (e->due.tail == m)
		e->due.tail = last;
}

static void
unlink_want(struct mmp_engine *e, uint32_t m)
{
	struct list *q = &e->peer[e->msg[m].source / MMP_STREAMS].want_queue;
	uint32_t *at = &q->head, last = MMP_NONE;
	while (*at != MMP_NONE && *at != m) {
		last = *at;
		at = &e->msg[last].want_next;
	}
	if (*at == MMP_NONE)
		return;
	*at = e->msg[m].want_next;
	if (q->tail == m)
		q->tail = last;
}

void
mmp_rx_msg_free(struct mmp_engine *e, uint32_t m)
{
	struct msg *g = &e->msg[m];
	uint32_t *at = &e->hash[hash_of(e, g->source, g->number)];
	while (*at != m)
		at = &e->msg[*at].hash_next;
	*at = g->hash_next;
	if (g->due)
		unlink_due(e, m);
	if (g->wanted)
		unlink_want(e, m);
	g->used = false;
	mmp_pool_give(&e->msgs, m);
}

static void
due(struct mmp_engine *e, uint32_t m)
{
	struct msg *g = &e->msg[m];
	if (g->due)
		return;
	g->due = true;
	g->due_next = MMP_NONE;
	if (e->due.tail != MMP_NONE)
		e->msg[e->due.tail].due_next = m;
	else
		e->due.head = m;
	e->due.tail = m;
}

/* ---- freeing ---- */

void
mmp_rx_rec_free(struct mmp_engine *e, uint32_t r)
{
	struct rec *c = &e->rec[r];
	struct peer *p = &e->peer[c->peer];
	if (c->piece != MMP_NONE && !(MMP_BUG(PIECES) && c->piece % 16 == 3))
		mmp_area_give(&e->area, c->piece);
	if (c->cookie != MMP_NONE && c->peer == e->c.rank)
		mmp_engine_sent(e, c->cookie);
	else if (c->cookie != MMP_NONE)
		e->c.ops->release(e->c.user, c->peer, c->cookie);
	p->frags_in--;
	p->frags_freed_in++;
	if (c->eager) {
		p->bytes_in -= c->bytes;
		p->bytes_freed += c->bytes;
	}
	mmp_pool_give(&e->recs, r);
	if (c->peer == e->c.rank) {
		p->frags_freed = p->frags_freed_in;
		if (p->queue.head != MMP_NONE)
			mmp_tx_dirty(e, c->peer);
	} else if (!p->credit_due && !p->down &&
		   (p->bytes_freed - p->bytes_said > e->share / 4 ||
		    p->frags_freed_in - p->frags_said >= MMP_PEER_FRAGMENTS / 4)) {
		p->credit_due = true;
		mmp_tx_dirty(e, c->peer);
	}
}

/* The program has copied it. */
void
mmp_rx_freed(struct mmp_engine *e, uint32_t r)
{
	if (r < e->recs.fresh && e->rec[r].told) {
		e->rec[r].told = false;
		mmp_rx_rec_free(e, r);
	}
}

/* ---- coming ---- */

static void
want(struct mmp_engine *e, uint32_t m)
{
	struct msg *g = &e->msg[m];
	uint32_t peer = g->source / MMP_STREAMS;
	struct list *q = &e->peer[peer].want_queue;
	if (g->wanted || e->peer[peer].down || MMP_BUG(UNASKED))
		return;
	g->wanted = true;
	g->want_next = MMP_NONE;
	if (q->tail != MMP_NONE)
		e->msg[q->tail].want_next = m;
	else
		q->head = m;
	q->tail = m;
	mmp_tx_dirty(e, peer);
}

void
mmp_rx_matched(struct mmp_engine *e, uint32_t m)
{
	struct msg *g = &e->msg[m];
	if (g->announced)
		want(e, m);
	if (g->recs.head != MMP_NONE || g->got == g->all)
		due(e, m);
}

/* Whatever may begin now in that stream: messages that overtook it, too. */
static void
begin_messages(struct mmp_engine *e, uint32_t source)
{
	struct source *s = &e->source[source];
	uint32_t m;
	while ((m = find_record(e, source, s->expected)) != MMP_NONE && !e->msg[m].begun) {
		s->expected++;
		e->msg[m].begun = true;
		mmp_match_begun(e, m);
	}
}

static uint32_t
bad(uint64_t *counter)
{
	(*counter)++;
	return MMP_BAD;
}

/* The message of the fragment, made if it is the first one; MMP_BAD. */
static uint32_t
message_of(struct mmp_engine *e, uint32_t source, const struct mmp_head *h)
{
	uint32_t m = find_record(e, source, h->number);
	if (m == MMP_NONE) {
		if (h->number - e->source[source].expected >= AHEAD)
			return bad(&e->n.drop_number);
		m = new_msg(e, source, h);
		return m == MMP_NONE ? bad(&e->n.drop_credit) : m;
	}
	const struct msg *g = &e->msg[m];
	if (g->tag != h->tag || g->all != h->all || g->begun_bytes + h->bytes > g->all)
		return bad(&e->n.drop_mixed);
	return m;
}

bool
mmp_engine_room(const struct mmp_engine *e, uint64_t bytes)
{
	return mmp_area_has(&e->area, bytes) && e->recs.used < e->recs.cap &&
	       e->msgs.used < e->msgs.cap;
}

static bool
has_credit(const struct mmp_engine *e, const struct peer *p, const struct mmp_head *h)
{
	return p->frags_in < MMP_PEER_FRAGMENTS &&
	       (!(h->flags & MMP_EAGER) || p->bytes_in + h->bytes <= e->share);
}

static void
hold(struct mmp_engine *e, uint32_t m, uint32_t r)
{
	struct msg *g = &e->msg[m];
	e->rec[r].next = MMP_NONE;
	if (g->recs.tail != MMP_NONE)
		e->rec[g->recs.tail].next = r;
	else
		g->recs.head = r;
	g->recs.tail = r;
}

/* A record for the fragment, and where its bytes go unless there lies already. */
static uint32_t
begin_msg(struct mmp_engine *e, uint32_t peer, const struct mmp_head *h, uint8_t *there,
	  uint32_t cookie)
{
	struct peer *p = &e->peer[peer];
	uint32_t source = peer * MMP_STREAMS + h->stream, m, r;
	if (p->down || !has_credit(e, p, h))
		return bad(&e->n.drop_credit);
	if ((m = message_of(e, source, h)) == MMP_BAD)
		return MMP_BAD;
	struct msg *g = &e->msg[m];
	g->announced |= !h->bytes && h->all;
	begin_messages(e, source);
	struct rec c = {.msg = m,
			.peer = peer,
			.piece = MMP_NONE,
			.cookie = cookie,
			.bytes = h->bytes,
			.offset = h->offset,
			.data = there,
			.eager = h->flags & MMP_EAGER,
			.straight = g->post != MMP_NONE};
	if (c.straight) {
		if (g->announced)
			want(e, m);
		c.data = e->post[g->post].buf + (MMP_BUG(MISPLACED) ? 0 : h->offset);
	} else if (!there && h->bytes) {
		c.piece = mmp_area_take(&e->area, h->bytes);
		if (c.piece == MMP_NONE)
			return bad(&e->n.refused);
		c.data = e->c.recv_half + mmp_area_at(&e->area, c.piece);
	}
	r = mmp_pool_take(&e->recs);
	e->rec[r] = c;
	g->begun_bytes += h->bytes;
	p->frags_in++;
	p->bytes_in += c.eager ? h->bytes : 0;
	if (!c.straight)
		hold(e, m, r);
	if (h->bytes) {
		(*(c.straight ? &p->straight : &p->held))++;
		(*(c.straight ? &e->n.straight : &e->n.held))++;
	}
	return r;
}

static uint32_t
read_word(struct mmp_engine *e, uint32_t peer, const struct mmp_head *h)
{
	if (h->kind == MMP_FIRST) /* for links alone */
		return bad(&e->n.drop_head);
	if (e->peer[peer].down)
		return bad(&e->n.drop_credit);
	return h->kind == MMP_CREDIT ? mmp_tx_credit(e, peer, h) : mmp_tx_want(e, peer, h);
}

uint32_t
mmp_engine_begin(struct mmp_engine *e, uint32_t peer, const struct mmp_head *h)
{
	const char *what;
	if (!mmp_head_ok(h, &what))
		return bad(&e->n.drop_head);
	if (h->kind != MMP_FRAGMENT)
		return read_word(e, peer, h);
	uint32_t r = begin_msg(e, peer, h, NULL, MMP_NONE);
	if (r == MMP_BAD || h->bytes)
		return r;
	mmp_engine_end(e, r);
	return MMP_NONE;
}

void
mmp_engine_data(struct mmp_engine *e, uint32_t r, uint64_t off, const void *data, uint64_t len)
{
	const struct rec *c = &e->rec[r];
	if (off > c->bytes || len > c->bytes - off)
		return;
	if (c->straight) {
		/* What is beyond the buffer of the receive is dropped. */
		uint64_t cap = e->post[e->msg[c->msg].post].bytes, at = c->offset + off;
		if (at >= cap)
			return;
		len = len < cap - at ? len : cap - at;
	}
	if (len)
		base_copy(c->data + off, data, len);
}

void
mmp_engine_end(struct mmp_engine *e, uint32_t r)
{
	struct rec *c = &e->rec[r];
	struct msg *g = &e->msg[c->msg];
	uint32_t m = c->msg;
	g->got += c->bytes;
	c->complete = true;
	if (c->straight)
		mmp_rx_rec_free(e, r);
	/* Straight ones are told of with the whole message. */
	if (g->post != MMP_NONE && (g->got == g->all || !c->straight))
		due(e, m);
}

static void
drop_held(struct mmp_engine *e, uint32_t m)
{
	struct msg *g = &e->msg[m];
	while (g->recs.head != MMP_NONE) {
		uint32_t r = g->recs.head;
		g->recs.head = e->rec[r].next;
		mmp_rx_rec_free(e, r);
	}
	g->recs = LIST_EMPTY;
}

void
mmp_engine_abort(struct mmp_engine *e, uint32_t r)
{
	struct rec *c = &e->rec[r];
	struct msg *g = &e->msg[c->msg];
	g->begun_bytes -= c->bytes;
	if (!c->straight) {
		uint32_t *at = &g->recs.head, last = MMP_NONE;
		while (*at != r) {
			last = *at;
			at = &e->rec[last].next;
		}
		*at = c->next;
		if (g->recs.tail == r)
			g->recs.tail = last;
	}
	mmp_rx_rec_free(e, r);
}

void
mmp_engine_take_back(struct mmp_engine *e, uint32_t r)
{
	struct rec c = e->rec[r];
	struct peer *p = &e->peer[c.peer];
	mmp_engine_abort(e, r);
	p->frags_freed_in--;
	p->bytes_freed -= c.eager ? c.bytes : 0;
}

uint32_t
mmp_engine_offer(struct mmp_engine *e, uint32_t peer, const struct mmp_head *h, const void *data,
		 uint32_t cookie)
{
	const char *what;
	if (!mmp_head_ok(h, &what))
		return bad(&e->n.drop_head);
	if (h->kind != MMP_FRAGMENT)
		return read_word(e, peer, h);
	/* Kept where it lies, if it may. */
	uint8_t *there = cookie == MMP_NONE ? NULL : (uint8_t *)(uintptr_t)data;
	uint32_t r = begin_msg(e, peer, h, there, cookie);
	if (r == MMP_BAD)
		return r;
	if (e->rec[r].straight || !there)
		mmp_engine_data(e, r, 0, data, h->bytes);
	mmp_engine_end(e, r);
	return MMP_NONE;
}

/* ---- a peer that went ---- */

void
mmp_rx_down(struct mmp_engine *e, uint32_t peer)
{
	for (uint32_t m = 0; m < e->msgs.fresh; m++) {
		struct msg *g = &e->msg[m];
		if (!g->used || g->source / MMP_STREAMS != peer || (g->begun && g->got == g->all))
			continue;
		if (g->post != MMP_NONE) {
			e->post[g->post].rank = peer;
			e->post[g->post].got_tag = g->tag;
			e->peer[peer].told |= e->post[g->post].from < 0;
			mmp_match_end_post(e, g->post, e->peer[peer].error);
		} else if (g->begun) {
			mmp_match_forget_msg(e, m);
		}
		/* Copies the program was told of go on: they have no message any more. */
		drop_held(e, m);
		mmp_rx_msg_free(e, m);
	}
}
