/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks that come in, and reading them.
 *
 * A block gets its memory when it begins, so what has begun can be finished; without
 * memory it does not begin.  If a reader waits and nothing else is under way, a
 * block goes straight into the reader's buffer, also one that has begun already.
 * Should another be complete earlier, the reader gets that one and the first moves into
 * memory of ours, if there is some: a slow sender does not stand in the way. */
#include "datagram_internal.h"

#include "base/copy.h"

#include <errno.h>
#include <string.h>

#define ADOPT_MIN (32u << 10) /* bytes missing that make it worth while */
#define BEGGARS	  8u	      /* lanes without memory that are looked at in one go */

/* Its first piece of memory. */
static uint32_t
arrival_piece(uint64_t bytes)
{
	return (uint32_t)sizeof(struct in) + (bytes <= IN_INSIDE_MAX ? (uint32_t)bytes : 0);
}

/* Bytes of the limit that a block takes. */
static uint64_t
need(uint64_t bytes)
{
	return datagram_mem_cost(arrival_piece(bytes)) +
	       (bytes > IN_INSIDE_MAX ? datagram_mem_cost(bytes) : 0);
}

/* Can it ever be kept? */
static bool
oversize(const struct datagram_sock *s, uint64_t bytes)
{
	return need(bytes) > s->in_mem.limit;
}

static bool
have_ready(const struct datagram_sock *s)
{
	return s->ready[0].head || s->ready[1].head || s->ready[2].head || s->ready[3].head;
}

static void
push_arrival(struct in_list *l, struct in *b)
{
	b->next = NULL;
	if (l->tail)
		l->tail->next = b;
	else
		l->head = b;
	l->tail = b;
}

static struct in *
pop_arrival(struct in_list *l)
{
	struct in *b = l->head;
	l->head = b->next;
	if (!l->head)
		l->tail = NULL;
	return b;
}

static void
drop_arrival(struct datagram_sock *s, struct in *b)
{
	if (b->apart)
		datagram_mem_give(&s->in_mem, b->data, b->bytes);
	if (b->spare)
		s->spare_used = false;
	else
		datagram_mem_give(&s->in_mem, b, b->size);
}

void
datagram_in_init(struct datagram_sock *s)
{
	datagram_mem_init(&s->in_mem, s->conf.read_bytes);
	s->beg_head = s->beg_tail = s->oversize_lane = NONE;
	s->source = -1;
}

/* ---- lanes without memory ---- */

static void
beg(struct datagram_sock *s, uint32_t lane, uint64_t bytes)
{
	struct lane_state *l = &s->lane[lane];
	l->beg_bytes = bytes;
	if (s->oversize_lane == NONE && oversize(s, bytes))
		s->oversize_lane = lane;
	if (l->begging)
		return;
	l->begging = true;
	l->beg_next = NONE;
	if (s->beg_tail == NONE)
		s->beg_head = lane;
	else
		s->lane[s->beg_tail].beg_next = lane;
	s->beg_tail = lane;
}

static void
beg_no_more(struct datagram_sock *s, uint32_t lane)
{
	struct lane_state *l = &s->lane[lane];
	if (s->oversize_lane == lane)
		s->oversize_lane = NONE;
	if (!l->begging)
		return;
	uint32_t prev = NONE, i = s->beg_head;
	for (; i != lane; i = s->lane[i].beg_next)
		prev = i;
	if (prev == NONE)
		s->beg_head = l->beg_next;
	else
		s->lane[prev].beg_next = l->beg_next;
	if (s->beg_tail == lane)
		s->beg_tail = prev;
	l->begging = false;
}

static bool may_go_straight(const struct datagram_sock *s, uint32_t lane, uint64_t bytes);

/* Those that beg get memory in the order of begging, as far as that is looked at: who would
 * be refused again need not send. */
bool
datagram_in_promise(const struct datagram_sock *s, const struct peer *p)
{
	uint64_t left = s->in_mem.limit - s->in_mem.used;
	uint32_t i = s->beg_head;
	bool begs = false, fits = false;
	for (unsigned k = 0; i != NONE && k < BEGGARS && !fits; k++, i = s->lane[i].beg_next) {
		const struct lane_state *l = &s->lane[i];
		uint64_t n = need(l->beg_bytes);
		bool straight = may_go_straight(s, i, l->beg_bytes);
		begs |= l->peer == p;
		fits = l->peer == p && (n <= left || straight);
		left -= n <= left && !straight ? n : 0;
	}
	for (unsigned prio = 0; prio < PRIOS && !begs; prio++)
		begs = p->lane[prio] != NONE && s->lane[p->lane[prio]].begging;
	return fits || !begs;
}

void
datagram_in_resume(struct datagram_sock *s)
{
	uint32_t i = s->beg_head, next;
	for (unsigned k = 0; i != NONE && k < BEGGARS; k++, i = next) {
		const struct lane_state *l = &s->lane[i];
		next = l->beg_next;
		/* Begins, if its first segment is here; else it is granted to come. */
		if (need(l->beg_bytes) <= s->in_mem.limit - s->in_mem.used ||
		    may_go_straight(s, i, l->beg_bytes))
			suci_lane_resume(s->lanes, i, s->now_ns);
	}
	s->dirty = true;
}

/* ---- beginning, data, end ---- */

static bool
may_go_straight(const struct datagram_sock *s, uint32_t lane, uint64_t bytes)
{
	return s->want.waits && !s->want.block && bytes <= s->want.len && !have_ready(s) &&
	       !s->lane[lane].coming.head && (!s->coming || oversize(s, bytes));
}

/* The next block of the lane wants to begin: prepare it, or say no. */
bool
datagram_in_room(struct datagram_sock *s, uint32_t lane, uint64_t bytes)
{
	bool straight = may_go_straight(s, lane, bytes);
	bool apart = bytes > IN_INSIDE_MAX;
	uint32_t size = straight ? sizeof(struct in) : arrival_piece(bytes);
	struct in *b = datagram_mem_take(&s->in_mem, size);
	if (!b && straight && !s->spare_used) {
		b = &s->spare;
		s->spare_used = true;
	}
	void *data = NULL;
	if (b && !straight && apart) {
		data = datagram_mem_take(&s->in_mem, bytes);
		if (!data) {
			datagram_mem_give(&s->in_mem, b, size);
			b = NULL;
		}
	}
	if (!b) {
		beg(s, lane, bytes);
		return false;
	}
	*b = (struct in){
		.data = straight ? s->want.buf
			: data	 ? data
				 : (uint8_t *)(b + 1),
		.size = size,
		.apart = data != NULL,
		.direct = straight,
		.spare = b == &s->spare,
	};
	s->prepared = b;
	return true;
}

struct in *
datagram_in_begin(struct datagram_sock *s, uint32_t lane, uint64_t bytes)
{
	struct lane_state *l = &s->lane[lane];
	struct in *b = s->prepared;
	s->prepared = NULL;
	beg_no_more(s, lane);
	b->peer = l->peer;
	b->bytes = bytes;
	if (b->direct)
		s->want.block = b;
	push_arrival(&l->coming, b);
	s->only = s->coming++ ? NULL : b;
	return b;
}

void
datagram_in_data(struct datagram_sock *s, struct in *b, uint64_t off, const uint8_t *data,
		 size_t len)
{
	(void)s;
	base_copy(b->data + off, data, len);
	if (off + len > b->top)
		b->top = off + len;
}

static void
to_ready(struct datagram_sock *s, struct in *b, unsigned prio)
{
	push_arrival(&s->ready[prio], b);
	b->peer->unread_blocks++;
	b->peer->unread_bytes += b->bytes;
}

void
datagram_in_end(struct datagram_sock *s, uint32_t lane, struct in *b)
{
	struct lane_state *l = &s->lane[lane];
	b->complete = true;
	l->peer->got[l->prio]++;
	s->notes |= l->peer->leave_asked;
	s->coming--;
	while (l->coming.head && l->coming.head->complete) {
		struct in *c = pop_arrival(&l->coming);
		if (!c->direct)
			to_ready(s, c, l->prio);
	}
	/* What is left under way may be the next of this lane. */
	s->only = s->coming == 1 && l->coming.head && !l->coming.head->next ? l->coming.head : NULL;
}

void
datagram_in_lane_end(struct datagram_sock *s, uint32_t lane)
{
	struct lane_state *l = &s->lane[lane];
	beg_no_more(s, lane);
	while (l->coming.head) {
		struct in *b = pop_arrival(&l->coming);
		s->coming -= !b->complete;
		if (s->want.block == b)
			s->want.block = NULL;
		drop_arrival(s, b);
	}
	s->only = NULL;
	l->peer = NULL;
}

bool
datagram_in_loop(struct datagram_sock *s, const void *buf, uint64_t len)
{
	struct in *b = datagram_mem_take(&s->in_mem, arrival_piece(len));
	if (!b)
		return false;
	*b = (struct in){.peer = s->me,
			 .data = (uint8_t *)(b + 1),
			 .bytes = len,
			 .size = arrival_piece(len),
			 .complete = true};
	if (len > IN_INSIDE_MAX) {
		b->apart = true;
		b->data = datagram_mem_take(&s->in_mem, len);
		if (!b->data) {
			datagram_mem_give(&s->in_mem, b, arrival_piece(len));
			return false;
		}
	}
	if (len)
		base_copy(b->data, buf, len);
	to_ready(s, b, s->me->prio);
	return true;
}

/* ---- reading ---- */

static struct in_list *
first_ready(struct datagram_sock *s)
{
	unsigned prio = PRIOS - 1;
	while (prio && !s->ready[prio].head)
		prio--;
	return &s->ready[prio];
}

static int64_t
was_read(struct datagram_sock *s, struct in *b)
{
	uint64_t bytes = b->bytes;
	s->source = b->peer->id;
	b->peer->read_blocks++;
	b->peer->read_bytes += bytes;
	drop_arrival(s, b);
	if (s->beg_head != NONE)
		datagram_in_resume(s);
	return (int64_t)bytes;
}

static int64_t
arrival_too_small(struct datagram_sock *s, uint64_t bytes, size_t len)
{
	return datagram_fail(s, EMSGSIZE, "the next block has %llu bytes, the buffer %zu",
			     (unsigned long long)bytes, len);
}

/* There is a complete one: hand it over. */
static int64_t
take_ready(struct datagram_sock *s, void *buf, size_t len)
{
	struct in_list *l = first_ready(s);
	if (l->head->bytes > len)
		return arrival_too_small(s, l->head->bytes, len);
	struct in *b = pop_arrival(l);
	if (b->bytes)
		base_copy(buf, b->data, b->bytes);
	b->peer->unread_blocks--;
	b->peer->unread_bytes -= b->bytes;
	return was_read(s, b);
}

/* The only block under way shall go on in the reader's buffer. */
static void
adopt_arrival(struct datagram_sock *s)
{
	struct in *b = s->only;
	if (!b || !b->apart || b->bytes > s->want.len || b->bytes - b->top < ADOPT_MIN)
		return;
	memcpy(s->want.buf, b->data, b->top);
	datagram_mem_give(&s->in_mem, b->data, b->bytes);
	b->data = s->want.buf;
	b->apart = false;
	b->direct = true;
	s->want.block = b;
}

/* The reverse: the buffer is needed for another.  False: no memory. */
static bool
put_aside(struct datagram_sock *s)
{
	struct in *b = s->want.block;
	uint8_t *data = datagram_mem_take(&s->in_mem, b->bytes ? b->bytes : 1);
	if (!data)
		return false;
	memcpy(data, b->data, b->top);
	b->data = data;
	b->direct = false;
	b->apart = true;
	s->want.block = NULL;
	return true;
}

static bool
arrival_readable(struct datagram_sock *s, void *arg)
{
	(void)arg;
	if (s->want.block)
		return s->want.block->complete || (have_ready(s) && put_aside(s));
	return have_ready(s) ||
	       (s->oversize_lane != NONE && s->lane[s->oversize_lane].beg_bytes > s->want.len);
}

static bool
nothing_bound(struct datagram_sock *s)
{
	return !s->want.block;
}

/* Wait for a block, or a part of the buffer's own.  As datagram_wait_until(). */
static int
wait_read(struct datagram_sock *s, uint64_t deadline_ns)
{
	int r = datagram_wait_until(s, arrival_readable, NULL, deadline_ns, NULL);
	if (r > 0 || !s->want.block || put_aside(s))
		return r;
	/* No memory to put it aside: the buffer is in use until it is complete. */
	return datagram_wait_until(s, arrival_readable, NULL, BASE_NEVER_NS, nothing_bound);
}

int64_t
datagram_read_within(struct datagram_sock *s, long sec, long usec, void *buf, size_t len)
{
	if (datagram_enter(s))
		return -1;
	if (have_ready(s)) {
		int64_t n = take_ready(s, buf, len);
		datagram_kick(s);
		return n;
	}
	s->want.buf = buf;
	s->want.len = len;
	s->want.waits = true;
	s->want.block = NULL;
	if (s->only)
		adopt_arrival(s);
	if (s->beg_head != NONE && !s->coming)
		datagram_in_resume(s);
	int r = wait_read(s, datagram_deadline_of(sec, usec));
	struct in *b = s->want.block;
	s->want.waits = false;
	s->want.block = NULL;
	int64_t n = -1;
	if (r == 0)
		n = datagram_fail(s, EAGAIN, "no block in that time");
	else if (r > 0 && b)
		n = was_read(s, b);
	else if (r > 0 && have_ready(s))
		n = take_ready(s, buf, len);
	else if (r > 0)
		n = arrival_too_small(s, s->lane[s->oversize_lane].beg_bytes, len);
	int err = errno;
	datagram_settle(s);
	errno = err;
	return n;
}

int64_t
datagram_read(struct datagram_sock *s, void *buf, size_t len)
{
	return datagram_read_within(s, -1, 0, buf, len);
}

int64_t
datagram_read0(struct datagram_sock *s, void *buf, size_t len)
{
	if (datagram_enter(s))
		return -1;
	if (!have_ready(s))
		datagram_turn(s);
	if (!have_ready(s))
		return datagram_fail(s, EAGAIN, "no block is complete");
	int64_t n = take_ready(s, buf, len);
	datagram_kick(s);
	return n;
}

int64_t
datagram_source(const struct datagram_sock *s)
{
	if (s->source < 0)
		errno = ENOENT;
	return s->source;
}

static bool
announced(struct datagram_sock *s, void *arg)
{
	(void)arg;
	return have_ready(s) || s->oversize_lane != NONE;
}

int
datagram_peek(struct datagram_sock *s, uint32_t *id, uint64_t *size)
{
	if (datagram_enter(s))
		return -1;
	if (!announced(s, NULL))
		datagram_turn(s);
	if (have_ready(s)) {
		const struct in *b = first_ready(s)->head;
		if (id)
			*id = b->peer->id;
		if (size)
			*size = b->bytes;
		return 1;
	}
	if (s->oversize_lane == NONE)
		return 0;
	const struct lane_state *l = &s->lane[s->oversize_lane];
	if (id)
		*id = l->peer->id;
	if (size)
		*size = l->beg_bytes;
	return 1;
}

int64_t
datagram_ready(struct datagram_sock *s, long sec, long usec)
{
	if (datagram_enter(s))
		return -1;
	if (!announced(s, NULL)) {
		int r = datagram_wait_until(s, announced, NULL, datagram_deadline_of(sec, usec),
					    NULL);
		datagram_settle(s);
		if (r <= 0)
			return r;
	}
	if (have_ready(s))
		return (int64_t)first_ready(s)->head->bytes;
	return (int64_t)s->lane[s->oversize_lane].beg_bytes;
}

void
datagram_in_fini(struct datagram_sock *s)
{
	for (unsigned prio = 0; prio < PRIOS; prio++)
		while (s->ready[prio].head)
			drop_arrival(s, pop_arrival(&s->ready[prio]));
	for (uint32_t i = 0; i < s->nplaces; i++)
		datagram_outs_lose(s, &s->peer[i]);
}
