/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing.  A block that fits is copied, so that the caller has its buffer back at once;
 * a long one is sent from the caller's buffer, and the call lasts until the peer has it. */
#include "datagram_internal.h"

#include "base/copy.h"

#include <errno.h>
#include <string.h>

#define LOOK_EACH 16u	/* writes after which we also look what has come */
#define NEAR_US	  1000u /* nearer peers: see tuned.c */

static uint64_t
message_limit_of(const struct datagram_sock *s)
{
	uint64_t one = s->conf.write_bytes_peer;
	return one && one < s->conf.write_bytes ? one : s->conf.write_bytes;
}

/* Bytes of write memory a copied block takes. */
static uint64_t
cost(uint64_t len)
{
	return datagram_mem_cost(sizeof(struct out) + len);
}

static bool
message_fits(const struct datagram_sock *s, const struct peer *p, uint64_t len)
{
	uint64_t c = cost(len), limit = message_limit_of(s);
	if (p->near && p->queue_bytes && limit > s->near_queue)
		limit = s->near_queue;
	return s->outs < s->conf.blocks && s->out_mem.used + c <= s->out_mem.limit &&
	       p->queue_bytes + c <= limit;
}

static bool
worth_copying(const struct datagram_sock *s, const struct peer *p, uint64_t len)
{
	return p->near ? len <= s->near_copy && 2 * cost(len) <= message_limit_of(s)
		       : 2 * cost(len) <= message_limit_of(s);
}

static void
look_how_far(struct datagram_sock *s, struct peer *p)
{
	struct datagram_info i;
	p->near = p->up && !p->relayed && datagram_info(s, p->id, &i) == 0 && i.delay_us_min &&
		  i.delay_us_min < NEAR_US;
}

/* Bytes of a block as they are counted in the queue: what it takes of write memory. */
static uint64_t
queued(const struct out *o)
{
	return cost(o->end ? 0 : o->bytes);
}

static struct out *
message_out_new(struct datagram_sock *s, struct peer *p, const void *buf, uint64_t len, int *end)
{
	uint64_t copied = end ? 0 : len;
	struct out *o = datagram_mem_take(&s->out_mem, sizeof *o + copied);
	if (!o)
		return NULL;
	*o = (struct out){.peer = p, .data = buf, .bytes = len, .prio = p->prio, .end = end};
	if (!end) {
		o->data = (const uint8_t *)(o + 1);
		if (len)
			base_copy(o + 1, buf, len);
	}
	o->prev = p->tail;
	if (p->tail)
		p->tail->next = o;
	else
		p->head = o;
	p->tail = o;
	p->queue_blocks++;
	p->queue_bytes += queued(o);
	p->written_blocks++;
	p->written_bytes += len;
	s->outs++;
	return o;
}

void
datagram_out_done(struct datagram_sock *s, struct out *o, bool ok)
{
	struct peer *p = o->peer;
	if (o->prev)
		o->prev->next = o->next;
	else
		p->head = o->next;
	if (o->next)
		o->next->prev = o->prev;
	else
		p->tail = o->prev;
	if (p->give == o)
		p->give = o->next;
	p->queue_blocks--;
	p->queue_bytes -= queued(o);
	p->lost_blocks += !ok;
	s->lost += !ok;
	s->outs--;
	if (o->end)
		*o->end = ok ? WRITE_DONE : WRITE_LOST;
	datagram_mem_give(&s->out_mem, o, sizeof *o + (o->end ? 0 : o->bytes));
}

void
datagram_outs_lose(struct datagram_sock *s, struct peer *p)
{
	while (p->head)
		datagram_out_done(s, p->head, false);
}

/* ---- waiting for room ---- */

struct room {
	struct peer *peer;
	uint64_t len;
};

static bool
message_has_room(struct datagram_sock *s, void *arg)
{
	const struct room *r = arg;
	return r->peer->error || (r->peer == s->me ? true : message_fits(s, r->peer, r->len));
}

int
datagram_wait(struct datagram_sock *s, long sec, long usec, size_t size, uint32_t id)
{
	struct peer *p = datagram_enter(s) ? NULL : datagram_peer_get(s, id);
	if (!p || datagram_peer_error(s, p))
		return -1;
	if (size > DATAGRAM_BLOCK_MAX || cost(size) > message_limit_of(s))
		return datagram_fail(s, EMSGSIZE,
				     "%zu bytes are never written without blocking: at most %llu",
				     size, (unsigned long long)message_limit_of(s));
	struct room r = {.peer = p, .len = size};
	if (message_has_room(s, &r))
		return 1;
	int got =
		datagram_wait_until(s, message_has_room, &r, datagram_deadline_of(sec, usec), NULL);
	datagram_settle(s);
	return got > 0 && datagram_peer_error(s, p) ? -1 : got;
}

/* ---- writing ---- */

/* What all writes check first. */
static struct peer *
destination(struct datagram_sock *s, size_t len)
{
	if (datagram_enter(s))
		return NULL;
	if (!s->dest) {
		datagram_fail(s, EDESTADDRREQ, "datagram_destination() first");
		return NULL;
	}
	if (len > DATAGRAM_BLOCK_MAX) {
		datagram_fail(s, EMSGSIZE, "a block of %zu bytes is too large", len);
		return NULL;
	}
	return datagram_peer_error(s, s->dest) ? NULL : s->dest;
}

static int64_t
write_self(struct datagram_sock *s, const void *buf, size_t len, int full)
{
	if (!datagram_in_loop(s, buf, len))
		return datagram_fail(s, full, "no room for %zu bytes among the blocks not read",
				     len);
	s->me->written_blocks++;
	s->me->written_bytes += len;
	return (int64_t)len;
}

/* A block is new: on its way with it. */
static void
send_on_message(struct datagram_sock *s, struct peer *p, struct out *o)
{
	if (!p->give)
		p->give = o;
	s->now_ns = suci_udp_now_ns();
	if (p->give == o && datagram_peer_give(s, p, o))
		p->give = NULL;
	else
		datagram_peer_pend(s, p, 0);
	/* Also when we do nothing but write, acknowledgements want to be heard. */
	if (++s->writes % LOOK_EACH && p->up) {
		datagram_kick(s);
		return;
	}
	datagram_turn(s);
	look_how_far(s, p);
}

static bool
message_has_ended(struct datagram_sock *s, void *arg)
{
	(void)s;
	return *(const int *)arg != WRITE_WAITS;
}

static bool
message_never(struct datagram_sock *s)
{
	(void)s;
	return false;
}

/* From the caller's buffer, until the peer has it. */
static int64_t
write_long(struct datagram_sock *s, struct peer *p, const void *buf, size_t len)
{
	int end = WRITE_WAITS;
	struct out *o = message_out_new(s, p, buf, len, &end);
	if (!o)
		return datagram_fail(s, ENOMEM, "out of memory");
	send_on_message(s, p, o);
	datagram_wait_until(s, message_has_ended, &end, BASE_NEVER_NS, message_never);
	datagram_settle(s);
	if (end == WRITE_DONE)
		return (int64_t)len;
	return datagram_peer_error(s, p) ? -1
					 : datagram_fail(s, ECONNRESET, "id %u went away", p->id);
}

int64_t
datagram_write(struct datagram_sock *s, const void *buf, size_t len)
{
	struct peer *p = destination(s, len);
	if (!p)
		return -1;
	if (p == s->me)
		return write_self(s, buf, len, ENOBUFS);
	bool copy = worth_copying(s, p, len);
	struct room r = {.peer = p, .len = copy ? len : 0};
	if (!message_fits(s, p, r.len)) {
		if (datagram_wait_until(s, message_has_room, &r, BASE_NEVER_NS, NULL) < 0 ||
		    datagram_peer_error(s, p))
			return -1;
	}
	if (!copy)
		return write_long(s, p, buf, len);
	struct out *o = message_out_new(s, p, buf, len, NULL);
	if (!o)
		return datagram_fail(s, ENOMEM, "out of memory");
	send_on_message(s, p, o);
	return (int64_t)len;
}

int64_t
datagram_write0(struct datagram_sock *s, const void *buf, size_t len)
{
	struct peer *p = destination(s, len);
	if (!p)
		return -1;
	if (p == s->me)
		return write_self(s, buf, len, EAGAIN);
	if (cost(len) > message_limit_of(s))
		return datagram_fail(s, EMSGSIZE,
				     "%zu bytes are never written without blocking: at most %llu",
				     len, (unsigned long long)message_limit_of(s));
	if (!message_fits(s, p, len)) {
		datagram_turn(s);
		if (datagram_peer_error(s, p))
			return -1;
		if (!message_fits(s, p, len))
			return datagram_fail(s, EAGAIN, "%llu blocks to id %u are not acknowledged",
					     (unsigned long long)p->queue_blocks, p->id);
	}
	struct out *o = message_out_new(s, p, buf, len, NULL);
	if (!o)
		return datagram_fail(s, ENOMEM, "out of memory");
	send_on_message(s, p, o);
	return (int64_t)len;
}

int
datagram_destination(struct datagram_sock *s, uint32_t id)
{
	struct peer *p = datagram_enter(s) ? NULL : datagram_peer_get(s, id);
	if (!p)
		return -1;
	s->dest = p;
	return 0;
}

int64_t
datagram_queue_length(struct datagram_sock *s, uint32_t id)
{
	struct peer *p = datagram_enter(s) ? NULL : datagram_peer_get(s, id);
	if (!p)
		return -1;
	/* Who waits for it to become shorter by asking again and again shall see that. */
	datagram_turn(s);
	return datagram_peer_error(s, p) ? -1 : (int64_t)p->queue_blocks;
}

int64_t
datagram_retransmission(struct datagram_sock *s, uint32_t id)
{
	struct peer *p = datagram_enter(s) ? NULL : datagram_peer_get(s, id);
	if (!p)
		return -1;
	datagram_turn(s);
	return datagram_peer_error(s, p) ? -1 : (int64_t)p->queue_blocks;
}
