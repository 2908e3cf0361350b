/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's side, as mmp/port.h says. */
#include "mmp/port.h"

#include "base/carve.h"
#include "base/copy.h"

#include <errno.h>
#include <string.h>

#define SPARE 16u /* names that only barriers may use */

enum state { UNUSED, SENDING, POSTING, POSTED, DONE };
struct request {
	enum state state;
	uint32_t next; /* of the pending or unused ones */
	uint8_t *buf;
	uint64_t n, sent;
	uint32_t peer, stream, number;
	int32_t from, tag;
	struct mmp_result result;
};
struct name {
	uint32_t piece, next;
	uint32_t bytes; /* of a long message, else 0 */
};
struct to {
	uint64_t fragment;
	int error;
	uint32_t number[MMP_STREAMS]; /* of the next message */
	uint32_t begun[MMP_STREAMS];  /* of the next one that has not begun */
};
struct queue {
	uint32_t head, tail;
};

struct mmp_port {
	struct mmp_port_config c;
	struct mmp_area area;
	struct mmp_piece *piece;
	struct mmp_ring_end request, reply, notice, freed;
	struct request *req;
	struct name *name;
	struct to *to;
	uint32_t unused, fresh;
	uint32_t unused_name, fresh_name, names;
	struct queue sends, posts; /* pending */
	uint64_t long_used, pushed;
	struct mmp_names copied;
	bool rang;
};

static void
carve_port(struct mmp_port *p, uint32_t size, uint8_t **at)
{
	p->piece = base_carve(at, (2 * MMP_SENDS_MAX + 2) * sizeof *p->piece);
	p->req = base_carve(at, MMP_RECEIVES_MAX * sizeof *p->req);
	p->name = base_carve(at, MMP_SENDS_MAX * sizeof *p->name);
	p->to = base_carve(at, size * sizeof *p->to);
}

size_t
mmp_port_footprint(uint32_t size)
{
	struct mmp_port p;
	uint8_t *at = (uint8_t *)base_carved(sizeof p);
	carve_port(&p, size, &at);
	return (size_t)at + BASE_CARVE_ALIGN;
}

struct mmp_port *
mmp_port_new(void *mem, const struct mmp_port_config *c)
{
	uint8_t *at = base_carve_from(mem);
	struct mmp_port *p = base_carve(&at, sizeof *p);
	carve_port(p, c->size, &at);
	p->c = *c;
	mmp_area_init(&p->area, c->send_bytes, p->piece, 2 * MMP_SENDS_MAX + 2);
	p->request = mmp_ring_end(c->rings.send_request, MMP_RING_SLOTS);
	p->reply = mmp_ring_end(c->rings.send_reply, MMP_RING_SLOTS);
	p->notice = mmp_ring_end(c->rings.receive_notice, MMP_RING_SLOTS);
	p->freed = mmp_ring_end(c->rings.receive_reply, MMP_RING_SLOTS);
	p->unused = p->unused_name = MMP_NONE;
	p->sends = p->posts = (struct queue){MMP_NONE, MMP_NONE};
	for (uint32_t i = 0; i < c->size; i++)
		mmp_port_set_fragment(p, i, c->fragment);
	return p;
}

uint64_t
mmp_port_short(const struct mmp_port *p)
{
	return p->c.send_bytes / 2;
}

void
mmp_port_set_fragment(struct mmp_port *p, uint32_t peer, uint64_t bytes)
{
	uint64_t most = p->c.send_bytes / 4;
	bytes = bytes < most ? bytes : most;
	bytes = bytes < MMP_FRAGMENT_MAX ? bytes : MMP_FRAGMENT_MAX;
	p->to[peer].fragment = bytes > MMP_FRAGMENT_LEAST ? bytes : MMP_FRAGMENT_LEAST;
}

uint64_t
mmp_port_fragment(const struct mmp_port *p, uint32_t peer)
{
	return p->to[peer].fragment;
}

/* ---- requests ---- */

static void
put_last(struct mmp_port *p, struct queue *q, uint32_t i)
{
	p->req[i].next = MMP_NONE;
	if (q->tail != MMP_NONE)
		p->req[q->tail].next = i;
	else
		q->head = i;
	q->tail = i;
}

static uint32_t
new_request(struct mmp_port *p)
{
	uint32_t i = p->unused;
	if (i != MMP_NONE)
		p->unused = p->req[i].next;
	else if (p->fresh < MMP_RECEIVES_MAX)
		i = p->fresh++;
	return i;
}

void
mmp_port_forget(struct mmp_port *p, uint32_t i)
{
	p->req[i].state = UNUSED;
	p->req[i].next = p->unused;
	p->unused = i;
}

bool
mmp_port_valid(const struct mmp_port *p, uint32_t i)
{
	return i < p->fresh && p->req[i].state != UNUSED;
}

bool
mmp_port_done(const struct mmp_port *p, uint32_t i, struct mmp_result *out)
{
	if (p->req[i].state != DONE)
		return false;
	*out = p->req[i].result;
	return true;
}

bool
mmp_port_copied(const struct mmp_port *p, uint32_t i)
{
	return p->req[i].state == DONE;
}

/* ---- sending ---- */

static uint32_t
new_name(struct mmp_port *p, uint32_t stream)
{
	uint32_t i = p->unused_name;
	if (p->names >= MMP_SENDS_MAX - (stream ? 0 : SPARE))
		return MMP_NONE;
	if (i != MMP_NONE)
		p->unused_name = p->name[i].next;
	else
		i = p->fresh_name++;
	p->names++;
	return i;
}

static void
free_name(struct mmp_port *p, uint32_t i)
{
	struct name *n = &p->name[i];
	if (n->piece != MMP_NONE)
		mmp_area_give(&p->area, n->piece);
	p->long_used -= n->bytes;
	n->next = p->unused_name;
	p->unused_name = i;
	p->names--;
}

/* The next fragment of a message; false: no room for it now. */
static bool
push_fragment(struct mmp_port *p, struct request *r)
{
	struct to *t = &p->to[r->peer];
	uint64_t left = r->n - r->sent;
	uint32_t len = (uint32_t)(left < t->fragment ? left : t->fragment), piece = MMP_NONE;
	bool is_long = r->n > mmp_port_short(p);
	struct mmp_send_request *s = mmp_ring_room(&p->request);
	if (!s || (is_long && p->long_used + len > p->c.send_bytes / 2))
		return false;
	if (len > MMP_INLINE && (piece = mmp_area_take(&p->area, len)) == MMP_NONE)
		return false;
	uint32_t name = new_name(p, r->stream);
	if (name == MMP_NONE) {
		if (piece != MMP_NONE)
			mmp_area_give(&p->area, piece);
		return false;
	}
	p->name[name] = (struct name){.piece = piece, .bytes = is_long ? len : 0};
	p->long_used += p->name[name].bytes;
	s->head = (struct mmp_head){.kind = MMP_FRAGMENT,
				    .stream = (uint16_t)r->stream,
				    .tag = r->tag,
				    .number = r->number,
				    .bytes = len,
				    .all = r->n,
				    .offset = r->sent};
	s->peer = r->peer;
	s->name = name;
	if (piece != MMP_NONE) {
		uint64_t at = mmp_area_at(&p->area, piece);
		if (r->buf)
			base_copy(p->c.send_half + at, r->buf + r->sent, len);
		s->at_high = (uint32_t)(at >> 32);
		s->at_low = (uint32_t)at;
	} else if (len && r->buf) {
		memcpy(s->in, r->buf + r->sent, len);
	}
	mmp_ring_push(&p->request);
	r->sent += len;
	p->pushed += len;
	p->rang = true;
	return true;
}

/* As much as goes.  True: it is done. */
static bool
push_message(struct mmp_port *p, struct request *r, bool *moved)
{
	struct to *t = &p->to[r->peer];
	if (t->error) {
		r->result.error = t->error;
		r->state = DONE;
		return true;
	}
	if (r->number - t->begun[r->stream] < UINT32_MAX / 2 && r->number != t->begun[r->stream])
		return false;
	for (bool first = r->sent == 0; first || r->sent < r->n; first = false) {
		if (!push_fragment(p, r))
			return false;
		*moved = true;
		if (r->number == t->begun[r->stream])
			t->begun[r->stream]++;
	}
	r->state = DONE;
	return true;
}

static bool
push_pending(struct mmp_port *p)
{
	uint32_t *at = &p->sends.head, last = MMP_NONE;
	bool moved = false;
	while (*at != MMP_NONE) {
		uint32_t i = *at;
		if (push_message(p, &p->req[i], &moved)) {
			*at = p->req[i].next;
			if (p->sends.tail == i)
				p->sends.tail = last;
			moved = true;
		} else {
			last = i;
			at = &p->req[i].next;
		}
	}
	return moved;
}

uint32_t
mmp_port_send(struct mmp_port *p, uint32_t to, uint32_t stream, int32_t tag, const void *buf,
	      uint64_t n)
{
	uint32_t i = new_request(p);
	bool moved;
	if (i == MMP_NONE)
		return i;
	p->req[i] = (struct request){
		.state = SENDING,
		.next = MMP_NONE,
		.buf = (uint8_t *)(uintptr_t)buf,
		.n = n,
		.peer = to,
		.stream = stream,
		.number = p->to[to].number[stream]++,
		.tag = tag,
		.result = {.rank = to, .tag = tag, .bytes = n},
	};
	/* A long one that waits for its half does not keep short ones to others waiting. */
	if (!push_message(p, &p->req[i], &moved))
		put_last(p, &p->sends, i);
	return i;
}

void
mmp_port_down(struct mmp_port *p, uint32_t peer, int err)
{
	p->to[peer].error = err ? err : ECONNRESET;
	(void)push_pending(p);
}

/* ---- receiving ---- */

/* Tell the engine of fragments that were copied; false: no room. */
static bool
flush_copied(struct mmp_port *p)
{
	struct mmp_receive_reply *s;
	if (!p->copied.n)
		return true;
	if (!(s = mmp_ring_room(&p->freed)))
		return false;
	s->kind = MMP_REPLY_FREED;
	s->freed = p->copied;
	mmp_ring_push(&p->freed);
	p->copied.n = 0;
	p->rang = true;
	return true;
}

static bool
push_post(struct mmp_port *p, uint32_t i)
{
	struct request *r = &p->req[i];
	struct mmp_receive_reply *s = mmp_ring_room(&p->freed);
	if (!s)
		return false;
	*s = (struct mmp_receive_reply){.kind = MMP_REPLY_POST};
	s->post.receive = i;
	s->post.from = r->from;
	s->post.tag = r->tag;
	s->post.stream = r->stream;
	s->post.buf = (uint64_t)(uintptr_t)r->buf;
	s->post.bytes = r->n;
	mmp_ring_push(&p->freed);
	r->state = POSTED;
	p->rang = true;
	return true;
}

uint32_t
mmp_port_receive(struct mmp_port *p, int32_t from, uint32_t stream, int32_t tag, void *buf,
		 uint64_t n)
{
	uint32_t i = new_request(p);
	if (i == MMP_NONE)
		return i;
	p->req[i] = (struct request){.state = POSTING,
				     .next = MMP_NONE,
				     .buf = buf,
				     .n = n,
				     .stream = stream,
				     .from = from,
				     .tag = tag};
	if (p->posts.head != MMP_NONE || !push_post(p, i))
		put_last(p, &p->posts, i);
	return i;
}

static bool
push_posts(struct mmp_port *p)
{
	bool moved = false;
	while (p->posts.head != MMP_NONE && push_post(p, p->posts.head)) {
		p->posts.head = p->req[p->posts.head].next;
		if (p->posts.head == MMP_NONE)
			p->posts.tail = MMP_NONE;
		moved = true;
	}
	return moved;
}

static void
copy_out(struct mmp_port *p, const struct mmp_notice *n)
{
	struct request *r = &p->req[n->receive];
	uint64_t off = n->copy.offset, len = n->copy.bytes;
	if (off < r->n) {
		len = len < r->n - off ? len : r->n - off;
		base_copy(r->buf + off, (const void *)(uintptr_t)n->copy.data, len);
	}
	p->copied.name[p->copied.n++] = n->copy.record;
}

static bool
hear_notices(struct mmp_port *p)
{
	const struct mmp_notice *n;
	bool moved = false;
	while ((n = mmp_ring_peek(&p->notice))) {
		if (p->copied.n == MMP_NAMES && !flush_copied(p))
			break;
		struct request *r = &p->req[n->receive];
		if (n->kind == MMP_NOTE_COPY) {
			copy_out(p, n);
		} else {
			r->result = (struct mmp_result){.rank = n->end.rank,
							.tag = n->end.tag,
							.bytes = n->end.all,
							.error = n->end.error};
			r->state = DONE;
		}
		mmp_ring_pop(&p->notice);
		moved = true;
	}
	(void)flush_copied(p);
	return moved;
}

bool
mmp_port_turn(struct mmp_port *p)
{
	const struct mmp_names *s;
	uint32_t notices = p->notice.seen, replies = p->reply.seen;
	bool moved = hear_notices(p);
	while ((s = mmp_ring_peek(&p->reply))) {
		for (uint32_t i = 0; i < s->n; i++)
			free_name(p, s->name[i]);
		mmp_ring_pop(&p->reply);
		moved = true;
	}
	/* The engine was told how far we have read: it may have waited for that. */
	p->rang |= p->notice.seen != notices || p->reply.seen != replies;
	if (p->posts.head != MMP_NONE)
		moved |= push_posts(p);
	if (p->sends.head != MMP_NONE)
		moved |= push_pending(p);
	return moved;
}

bool
mmp_port_quiet(const struct mmp_port *p)
{
	return mmp_ring_is_empty(&p->notice) && mmp_ring_is_empty(&p->reply);
}

bool
mmp_port_rang(struct mmp_port *p)
{
	bool rang = p->rang;
	p->rang = false;
	return rang;
}

const struct mmp_area *
mmp_port_area(const struct mmp_port *p)
{
	return &p->area;
}

uint64_t
mmp_port_pushed(const struct mmp_port *p)
{
	return p->pushed;
}
