/* SPDX-License-Identifier: BSD-2-Clause */
/* What the application does: blocks out of a pool of random bytes, so that a byte in
 * the wrong place is a wrong byte; the sender's copy is poisoned the moment it is
 * given back, so a segment built from it afterwards is wrong too. */
#include "world.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

static size_t
lent_len(const struct block *b)
{
	return b->bytes - b->head_len;
}

struct stream *
world_stream(struct world *w, uint32_t src, uint32_t dst, uint32_t n,
	     uint64_t (*size)(void *arg, uint32_t i), void *arg)
{
	BASE_ASSERT(w->nstream < STREAMS_MAX && src != dst && !stream_of(w, src, dst));
	struct stream *st = &w->stream[w->nstream++];
	bool relayed = !world_same_cluster(w, src, dst);
	*st = (struct stream){.w = w, .src = src, .dst = dst, .n = n, .outstanding_max = 4};
	struct end *e = &w->end[src];
	if (e->last)
		e->last->next = st;
	else
		e->first = st;
	e->last = st;
	w->blocks_total += n;
	st->block = calloc(n ? n : 1, sizeof *st->block);
	BASE_ASSERT(st->block);
	struct base_prng p = base_prng_seed(w->s->seed ^ (uint64_t)(src + 1) << 32 ^ (dst + 1));
	for (uint32_t i = 0; i < n; i++) {
		struct block *b = &st->block[i];
		b->bytes = size(arg, i);
		if (relayed && b->bytes < HEAD_BYTES)
			b->bytes = HEAD_BYTES;
		b->pool_off = (uint32_t)base_prng_below(&p, POOL_BYTES / 2);
		b->head_len = relayed ? HEAD_BYTES
				      : (uint8_t)base_prng_below(
						&p, base_min_ns(b->bytes, SUCI_BLOCK_HEAD_MAX) + 1);
		w->bytes_total += b->bytes;
	}
	return st;
}

void
streams_free(struct world *w)
{
	for (uint32_t i = 0; i < w->nstream; i++) {
		for (uint32_t k = 0; k < w->stream[i].n; k++) {
			struct block *b = &w->stream[i].block[k];
			if (b->copy)
				lent_free(b->copy, b->pool_off + b->head_len, lent_len(b));
			cover_free(&b->seen);
		}
		free(w->stream[i].block);
	}
}

struct stream *
stream_of(struct world *w, uint32_t src, uint32_t dst)
{
	struct stream *st = w->end[src].first;
	while (st && st->dst != dst)
		st = st->next;
	return st;
}

/* The first bytes of a relayed block as they are known in cluster `view`. */
static void
head_fill(const struct stream *st, const struct block *b, uint32_t view, uint8_t *head)
{
	const struct world *w = st->w;
	memcpy(head, pool_bytes() + b->pool_off, HEAD_BYTES);
	memcpy(head + 8, w->private_id[view][st->src], RELAY_PROC_ID_LEN);
	memcpy(head + 8 + RELAY_PROC_ID_LEN, w->private_id[view][st->dst], RELAY_PROC_ID_LEN);
}

bool
stream_push(struct end *e, struct stream *st)
{
	struct world *w = st->w;
	bool any = false;
	uint32_t limit = st->manual ? st->allowed : st->n;
	while (st->sent < limit && st->sent - st->done < st->outstanding_max) {
		struct block *b = &st->block[st->sent];
		uint8_t head[SUCI_BLOCK_HEAD_MAX];
		memcpy(head, pool_bytes() + b->pool_off, b->head_len);
		if (!world_same_cluster(w, st->src, st->dst))
			head_fill(st, b, e->client, head);
		size_t data_len = lent_len(b);
		b->copy = lent_new(b->pool_off + b->head_len, data_len);
		int err = suci_lane_send(e->lanes, e->lane[st->dst], head, b->head_len, b->copy,
					 data_len, st->wait,
					 (uint64_t)(st - w->stream) << 32 | st->sent, w->s->now_ns);
		if (err) {
			lent_free(b->copy, b->pool_off + b->head_len, data_len);
			b->copy = NULL;
			SIM_CHECK(w->s, err == SUCI_ERR_NOMEM || w->conf.die_ok,
				  "rank %u: suci_lane_send to %u: %s", st->src, st->dst,
				  suci_strerror(err));
			return any;
		}
		b->sent_ns = w->s->now_ns;
		st->sent++;
		any = true;
	}
	return any;
}

static struct stream *
incoming(struct end *e, uint32_t lane)
{
	for (uint32_t r = 0; r < e->w->nend; r++)
		if (e->lane[r] == lane)
			return stream_of(e->w, r, e->rank);
	return NULL;
}

void *
app_block_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
		uint64_t now_ns)
{
	struct end *e = user;
	struct sim *s = e->w->s;
	struct stream *st = incoming(e, lane);
	(void)now_ns;
	(void)first;
	if (!st || st->begun >= st->n) {
		invariant_broken(s, INV_ORDER,
				 "rank %u: a block begins on lane %u that nobody sent", e->rank,
				 lane);
		return NULL;
	}
	struct block *b = &st->block[st->begun];
	INVARIANT(s, ORDER, st->begun < st->sent, "%u->%u: block %u begins before it was sent",
		  st->src, st->dst, st->begun);
	INVARIANT(s, ORDER, bytes == b->bytes, "%u->%u block %u: %llu bytes announced, %llu sent",
		  st->src, st->dst, st->begun, (unsigned long long)bytes,
		  (unsigned long long)b->bytes);
	INVARIANT(s, ORDER, first_len <= bytes,
		  "%u->%u block %u: first segment is longer than the block", st->src, st->dst,
		  st->begun);
	b->begun = true;
	b->whole = bytes == first_len;
	e->begun_long += !b->whole;
	INVARIANT(s, MEMORY, e->begun_long <= e->lane_limits.rx_blocks_max,
		  "rank %u: %u incoming blocks begun and not complete, its limit is %u", e->rank,
		  e->begun_long, e->lane_limits.rx_blocks_max);
	e->rx_bytes += bytes;
	INVARIANT(s, MEMORY,
		  !e->w->conf.rx_bytes_max || e->rx_bytes <= e->w->conf.rx_bytes_max ||
			  e->rx_bytes == bytes,
		  "rank %u: %llu bytes of blocks begun and not consumed, its limit is %llu",
		  e->rank, (unsigned long long)e->rx_bytes,
		  (unsigned long long)e->w->conf.rx_bytes_max);
	e->w->seen.begun++;
	sim_mix(s, 0xb0 | (uint64_t)st->begun << 8);
	sim_log(s, "%u->%u block %u begins (%llu bytes)", st->src, st->dst, st->begun,
		(unsigned long long)bytes);
	st->begun++;
	return b;
}

void
app_block_data(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data,
	       size_t len)
{
	struct end *e = user;
	struct sim *s = e->w->s;
	struct stream *st = incoming(e, lane);
	struct block *b = block;
	if (!st || !b || b < st->block || b >= st->block + st->n) {
		invariant_broken(s, INV_ORDER, "rank %u: data for a block of another lane",
				 e->rank);
		return;
	}
	unsigned i = (unsigned)(b - st->block);
	if (!b->begun || b->placed || offset > b->bytes || len > b->bytes - offset) {
		invariant_broken(s, INV_BYTES,
				 "%u->%u block %u: data at %llu+%zu outside the block or its time",
				 st->src, st->dst, i, (unsigned long long)offset, len);
		return;
	}
	INVARIANT(s, ONCE, cover_add(&b->seen, offset, len),
		  "%u->%u block %u: a byte of %llu+%zu again", st->src, st->dst, i,
		  (unsigned long long)offset, len);
	b->got += len;
	if (st->last_ns && s->now_ns - st->last_ns > st->gap_ns) {
		st->gap_ns = s->now_ns - st->last_ns;
		st->gap_end_ns = s->now_ns;
	}
	st->last_ns = s->now_ns;
	uint64_t at = 0;
	if (!world_same_cluster(e->w, st->src, st->dst) && offset < HEAD_BYTES) {
		uint8_t head[HEAD_BYTES];
		head_fill(st, b, e->client, head);
		at = base_min_ns(len, HEAD_BYTES - offset);
		INVARIANT(s, BYTES, memcmp(data, head + offset, at) == 0,
			  "%u->%u block %u: wrong header or process ids", st->src, st->dst, i);
	}
	INVARIANT(s, BYTES, memcmp(data + at, pool_at(b->pool_off + offset + at), len - at) == 0,
		  "%u->%u block %u: wrong bytes at %llu+%zu", st->src, st->dst, i,
		  (unsigned long long)offset, len);
}

/* The application is done with a block: others may begin. */
static void
consumed(struct sim *s, void *who, uint64_t arg)
{
	struct end *e = who;
	if (!e->alive || e->incarnation != arg >> 40)
		return;
	e->rx_bytes -= arg & ((1ull << 40) - 1);
	if (!e->short_of_room)
		return;
	e->short_of_room = false;
	for (uint32_t r = 0; r < e->w->nend; r++)
		if (e->lane[r] != NONE_U32)
			suci_lane_resume(e->lanes, e->lane[r], node_now(&e->clock, s->now_ns));
	end_drive(e);
}

bool
app_block_room(void *user, uint32_t lane, uint64_t bytes)
{
	struct end *e = user;
	uint64_t most = e->w->conf.rx_bytes_max;
	(void)lane;
	bool room = !most || !e->rx_bytes || e->rx_bytes + bytes <= most;
	e->short_of_room = e->short_of_room || !room;
	return room;
}

void
app_block_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct end *e = user;
	struct sim *s = e->w->s;
	struct stream *st = incoming(e, lane);
	struct block *b = block;
	(void)now_ns; /* by the node's own clock */
	if (!st || !b) {
		invariant_broken(s, INV_ONCE, "rank %u: end of an unknown block", e->rank);
		return;
	}
	unsigned i = (unsigned)(b - st->block);
	INVARIANT(s, ONCE, b->begun && !b->placed && b->got == b->bytes,
		  "%u->%u block %u: ends with %llu of %llu bytes", st->src, st->dst, i,
		  (unsigned long long)b->got, (unsigned long long)b->bytes);
	b->placed = true;
	e->begun_long -= !b->whole;
	b->placed_ns = s->now_ns;
	cover_free(&b->seen);
	st->placed++;
	e->w->seen.placed++;
	sim_mix(s, 0xe0 | (uint64_t)i << 8);
	if (e->w->conf.rx_bytes_max)
		sim_at(s, s->now_ns + e->w->conf.consume_ns, consumed, e,
		       e->incarnation << 40 | b->bytes);
	else
		e->rx_bytes -= b->bytes;
	if (e->w->on_placed)
		e->w->on_placed(st, i);
}

void
app_block_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct end *e = user;
	struct world *w = e->w;
	struct sim *s = w->s;
	uint32_t k = (uint32_t)(cookie >> 32), i = (uint32_t)cookie;
	(void)lane;
	(void)now_ns;
	if (k >= w->nstream || w->stream[k].src != e->rank || i >= w->stream[k].sent) {
		invariant_broken(s, INV_ONCE, "rank %u: done for a block it never sent", e->rank);
		return;
	}
	struct stream *st = &w->stream[k];
	struct block *b = &st->block[i];
	INVARIANT(s, ONCE, !b->done, "%u->%u block %u: done twice", st->src, st->dst, i);
	/* Direct: the receiving process has all of it, though it may wait there for an
	 * earlier block; that it is placed in the end is world_complete(). */
	INVARIANT(s, PLACED, !ok || b->placed || world_same_cluster(w, st->src, st->dst),
		  "%u->%u block %u: done, but not placed at the receiver", st->src, st->dst, i);
	INVARIANT(s, REASON, ok || w->conf.die_ok || e->quitting,
		  "%u->%u block %u: failed without a reason", st->src, st->dst, i);
	b->done = true;
	b->failed = !ok;
	b->done_ns = s->now_ns;
	/* A mapping stays, without access, until the end: lent_free(). */
	if (b->copy && lent_end(b->copy, b->pool_off + b->head_len, lent_len(b)))
		b->copy = NULL;
	st->done++;
	w->seen.done++;
	if (w->on_done)
		w->on_done(st, i);
}

/* A manual stream may send up to block n. */
void
stream_allow(struct stream *st, uint32_t n)
{
	st->allowed = n < st->n ? n : st->n;
}
