/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/prng.h"
#include "wanem_core.h"

#define SMALL_FRAME_BYTES 64u
#define SMALL_FRAMES_MAX  20480u
#define MEAN_FRAME_BYTES  512u
#define DEFAULT_RATE_BPS  1000000000ull
#define DEFAULT_QUEUE_NS  (10 * BASE_MS_NS)

struct entry {
	void *cookie;
	uint64_t due_ns;
	uint64_t order; /* arrival: ties leave in this order */
	uint32_t len_bytes;
	uint32_t copies;
};

/* Delay is constant, so frames that are not reordered leave in the order they
 * came: a ring.  The few reordered ones are in a heap by due time. */
struct wan_dir {
	struct wan_conf conf;
	struct wan_stats stats;
	struct base_prng prng;
	uint64_t link_free_ns; /* when the last queued bit has left */
	uint64_t link_rem;     /* fraction of a ns owed, / rate_bps */
	uint64_t order;
	uint32_t fifo_at, fifo_n;
	uint32_t heap_n;
	struct entry *fifo, *heap;
};

static bool
wan_conf_ok(const struct wan_conf *c)
{
	return c->delay_ns <= WAN_DELAY_NS_MAX && c->reorder_extra_ns <= WAN_DELAY_NS_MAX &&
	       c->rate_bps <= WAN_RATE_BPS_MAX && c->loss_ppb <= WAN_PPB && c->dup_ppb <= WAN_PPB &&
	       c->reorder_ppb <= WAN_PPB && c->frames_max > 0 && c->frames_max <= WAN_FRAMES_MAX;
}

size_t
wan_footprint(const struct wan_conf *c)
{
	if (!wan_conf_ok(c))
		return 0;
	return sizeof(struct wan_dir) + 2 * (size_t)c->frames_max * sizeof(struct entry);
}

struct wan_dir *
wan_new(void *mem, const struct wan_conf *c)
{
	if (!wan_conf_ok(c))
		return NULL;
	struct wan_dir *d = mem;
	memset(d, 0, sizeof *d);
	d->conf = *c;
	d->prng = base_prng_seed(c->seed);
	d->fifo = (struct entry *)(d + 1);
	d->heap = d->fifo + c->frames_max;
	return d;
}

static bool
wan_before(const struct entry *a, const struct entry *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void
heap_push(struct wan_dir *d, const struct entry *e)
{
	uint32_t i = d->heap_n++;
	while (i > 0 && wan_before(e, &d->heap[(i - 1) / 2])) {
		d->heap[i] = d->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	d->heap[i] = *e;
}

static void
heap_pop(struct wan_dir *d)
{
	struct entry last = d->heap[--d->heap_n];
	uint32_t i = 0;
	for (;;) {
		uint32_t kid = 2 * i + 1;
		if (kid >= d->heap_n)
			break;
		if (kid + 1 < d->heap_n && wan_before(&d->heap[kid + 1], &d->heap[kid]))
			kid++;
		if (!wan_before(&d->heap[kid], &last))
			break;
		d->heap[i] = d->heap[kid];
		i = kid;
	}
	d->heap[i] = last;
}

/* Bytes that still wait for, or are on, the link. */
static uint64_t
backlog_bytes(const struct wan_dir *d, uint64_t now_ns)
{
	if (d->conf.rate_bps == 0 || d->link_free_ns <= now_ns)
		return 0;
	__extension__ unsigned __int128 bits =
		(__extension__(unsigned __int128)(d->link_free_ns - now_ns)) * d->conf.rate_bps;
	return (uint64_t)((bits + 8 * BASE_S_NS - 1) / (8 * BASE_S_NS));
}

/* Put len_bytes on the link: when its last bit has left. */
static uint64_t
serialize(struct wan_dir *d, uint32_t len_bytes, uint64_t now_ns)
{
	if (d->conf.rate_bps == 0)
		return now_ns;
	if (d->link_free_ns <= now_ns) {
		d->link_free_ns = now_ns;
		d->link_rem = 0;
	}
	uint64_t bits_ns = (uint64_t)len_bytes * 8 * BASE_S_NS + d->link_rem;
	d->link_free_ns += bits_ns / d->conf.rate_bps;
	d->link_rem = bits_ns % d->conf.rate_bps;
	return d->link_free_ns;
}

enum wan_fate
wan_in(struct wan_dir *d, void *cookie, uint32_t len_bytes, uint64_t now_ns)
{
	const struct wan_conf *c = &d->conf;
	struct wan_stats *s = &d->stats;

	s->rx++;
	s->rx_bytes += len_bytes;
	/* Drawn for every frame, so that one setting does not shift another's dice. */
	bool lost = base_prng_chance(&d->prng, c->loss_ppb);
	bool dup = base_prng_chance(&d->prng, c->dup_ppb);
	bool late = base_prng_chance(&d->prng, c->reorder_ppb);

	if (lost) {
		s->drop_loss++;
		return WAN_DROP_LOSS;
	}
	uint64_t queued = backlog_bytes(d, now_ns) + len_bytes;
	if (c->rate_bps && c->queue_bytes && queued > c->queue_bytes) {
		s->drop_queue++;
		return WAN_DROP_QUEUE;
	}
	if (s->held + 1 > c->frames_max) {
		s->drop_hold++;
		return WAN_DROP_HOLD;
	}
	if (s->held + 2 > c->frames_max)
		dup = false;
	if (c->rate_bps && queued > s->queue_bytes_max)
		s->queue_bytes_max = queued;

	struct entry e = {
		.cookie = cookie,
		.due_ns = serialize(d, len_bytes, now_ns) + c->delay_ns,
		.order = d->order++,
		.len_bytes = len_bytes,
		.copies = dup ? 2 : 1,
	};
	s->dup += dup;
	s->held += e.copies;
	if (s->held > s->held_max)
		s->held_max = s->held;
	if (late) {
		s->reorder++;
		e.due_ns += c->reorder_extra_ns;
		heap_push(d, &e);
	} else {
		uint32_t at = d->fifo_at + d->fifo_n++;
		d->fifo[at < c->frames_max ? at : at - c->frames_max] = e;
	}
	return WAN_HELD;
}

static struct entry *
wan_first(const struct wan_dir *d)
{
	struct entry *f = d->fifo_n ? &d->fifo[d->fifo_at] : NULL;
	struct entry *h = d->heap_n ? &d->heap[0] : NULL;
	if (f && h)
		return wan_before(f, h) ? f : h;
	return f ? f : h;
}

static void
take_wan(struct wan_dir *d, struct entry *e, struct wan_frame *f)
{
	*f = (struct wan_frame){
		.cookie = e->cookie,
		.len_bytes = e->len_bytes,
		.due_ns = e->due_ns,
		.again = e->copies > 1,
	};
	BASE_ASSERT(d->stats.held > 0);
	d->stats.held--;
	if (--e->copies)
		return;
	if (d->heap_n && e == &d->heap[0]) {
		heap_pop(d);
	} else {
		d->fifo_n--;
		if (++d->fifo_at == d->conf.frames_max)
			d->fifo_at = 0;
	}
}

bool
wan_out(struct wan_dir *d, uint64_t now_ns, struct wan_frame *f)
{
	struct entry *e = wan_first(d);
	if (!e || e->due_ns > now_ns)
		return false;
	take_wan(d, e, f);
	d->stats.tx++;
	d->stats.tx_bytes += f->len_bytes;
	return true;
}

void
wan_tx_refused(struct wan_dir *d, uint32_t len_bytes)
{
	BASE_ASSERT(d->stats.tx > 0 && d->stats.tx_bytes >= len_bytes);
	d->stats.tx--;
	d->stats.tx_bytes -= len_bytes;
	d->stats.drop_tx++;
}

uint64_t
wan_next_ns(const struct wan_dir *d)
{
	const struct entry *e = wan_first(d);
	return e ? e->due_ns : BASE_NEVER_NS;
}

bool
wan_flush(struct wan_dir *d, struct wan_frame *f)
{
	struct entry *e = wan_first(d);
	if (!e)
		return false;
	take_wan(d, e, f);
	/* The books stay right: what is thrown away at the end was not sent. */
	d->stats.drop_tx++;
	return true;
}

const struct wan_stats *
wan_stats(const struct wan_dir *d)
{
	return &d->stats;
}

bool
wan_books_ok(const struct wan_dir *d)
{
	const struct wan_stats *s = &d->stats;
	return s->rx + s->dup ==
	       s->tx + s->held + s->drop_queue + s->drop_loss + s->drop_hold + s->drop_tx;
}

uint32_t
wan_frames_needed(const struct wan_conf *c)
{
	uint64_t rate = c->rate_bps ? c->rate_bps : DEFAULT_RATE_BPS;
	uint64_t delay = c->delay_ns + (c->reorder_ppb ? c->reorder_extra_ns : 0);
	uint64_t bytes_per_ms = rate / 8 / 1000;
	uint64_t bytes = bytes_per_ms * ((delay + BASE_MS_NS - 1) / BASE_MS_NS);
	if (c->rate_bps)
		bytes += c->queue_bytes ? c->queue_bytes
					: bytes_per_ms * (DEFAULT_QUEUE_NS / BASE_MS_NS);
	uint64_t small = bytes / SMALL_FRAME_BYTES + 1024;
	uint64_t frames = small < SMALL_FRAMES_MAX ? small : SMALL_FRAMES_MAX;
	uint64_t mean = bytes / MEAN_FRAME_BYTES;
	if (mean > frames)
		frames = mean;
	return frames > WAN_FRAMES_MAX ? WAN_FRAMES_MAX : (uint32_t)frames;
}
