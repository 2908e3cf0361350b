/* SPDX-License-Identifier: BSD-2-Clause */
/* The sending half of lanes: blocks wait in their lane, lanes with something
 * to send stand in a ring of their path, segments are cut when the path asks. */
#include "lane_internal.h"

#include "base/assert.h"
#include "base/serial.h"

#include <string.h>

#define MSS_MIN	      (1200 - SUCI_OVERHEAD)
#define NSEGS_MAX     ((1u << 31) - (1u << 21)) /* serial numbers and a full window apart */
#define BLOCK_MAX     (1ull << 42)
#define BACKLOG_LANES 8 /* looked at to tell how much waits */

/* Something the receiver refused, and it has room now. */
static bool
again_sendable(const struct suci_lanes *ls, const struct lane *l)
{
	return l->again.head != NONE &&
	       serial_lt(ls->again[l->again.head].lo, l->acked_seq + l->tx_window);
}

static bool
sendable(const struct suci_lanes *ls, const struct lane *l)
{
	if (again_sendable(ls, l))
		return true;
	if (l->current == NONE)
		return false;
	uint32_t out = l->conf.direct ? l->outstanding : l->next_seq - l->acked_seq;
	return out < l->tx_window * (SUCI_BUG(LANE_WINDOW) ? 2 : 1);
}

/* Where lanes like this one wait for their turn: the last of a ring. */
static uint32_t *
tx_ring_of(struct suci_lanes *ls, const struct lane *l)
{
	struct lane_group *g = lane_group_of(ls, l);
	return g ? &g->ready[l->conf.prio] : &lane_hop(ls, l->conf.path)->ready[l->conf.prio];
}

void
suci_lane_ready(struct suci_lanes *ls, struct lane *l)
{
	if (l->ready || l->state != LANE_OPEN || lane_rests(l) || !sendable(ls, l))
		return;
	uint32_t i = lane_index(ls, l);
	uint32_t *last = tx_ring_of(ls, l);
	bool first = *last == NONE;
	if (first) {
		l->ready_next = l->ready_prev = i;
	} else {
		l->ready_prev = *last;
		l->ready_next = ls->lane[*last].ready_next;
		ls->lane[l->ready_next].ready_prev = i;
		ls->lane[l->ready_prev].ready_next = i;
	}
	*last = i;
	l->ready = true;
	struct lane_group *g = lane_group_of(ls, l);
	if (!g)
		suci_path_wake(ls->ep, l->conf.path);
	else if (first)
		suci_lane_group_wake(ls, g);
}

void
suci_lane_unready(struct suci_lanes *ls, struct lane *l)
{
	if (!l->ready)
		return;
	uint32_t i = lane_index(ls, l);
	uint32_t *last = tx_ring_of(ls, l);
	if (l->ready_next == i) {
		*last = NONE;
	} else {
		ls->lane[l->ready_prev].ready_next = l->ready_next;
		ls->lane[l->ready_next].ready_prev = l->ready_prev;
		if (*last == i)
			*last = l->ready_prev;
	}
	l->ready = false;
	if (l->deficit > 0) /* a turn cannot be saved; a debt stays */
		l->deficit = 0;
}

void
suci_lane_fill_ack(struct suci_lanes *ls, struct lane *l, struct suci_segment *seg)
{
	suci_lane_put_ack(ls, l, seg);
	l->told = l->rx_next;
	if (l->nnacks)
		return;
	l->block_over = false;
	l->ack_waits = 0;
	suci_lane_ack_unpend(ls, l);
}

/* Of the segments of a block that begins now; 0 if no path is up. */
static uint32_t
mss_of(const struct suci_lanes *ls, const struct lane *l)
{
	const struct lane_group *g = lane_group_of(ls, l);
	uint32_t mss = g	       ? suci_lane_group_mss(ls, g)
		       : lane_rests(l) ? 0
				       : suci_path_mss(ls->ep, l->conf.path);
	return l->conf.mss && l->conf.mss < mss ? l->conf.mss : mss;
}

static void
start_block(struct suci_lanes *ls, struct lane *l, struct tx_block *b)
{
	struct lane_group *g = lane_group_of(ls, l);
	b->mss = mss_of(ls, l);
	if (g && b->mss > g->mss_used)
		g->mss_used = b->mss;
	b->first_seq = l->next_seq;
	uint64_t n = lane_nsegs(b->bytes, b->mss);
	BASE_ASSERT(n <= NSEGS_MAX); /* suci_lane_send() checked with a smaller mss */
	b->nsegs = (uint32_t)n;
}

/* Segment k of a block. */
static void
fill_tx(struct suci_lanes *ls, struct lane *l, uint32_t block, uint32_t k, struct suci_segment *seg)
{
	struct tx_block *b = &ls->block[block];
	uint64_t off = lane_seg_offset(k, b->mss);
	uint64_t left = lane_seg_offset(k + 1, b->mss) - off;
	uint32_t len = (uint32_t)(b->bytes - off < left ? b->bytes - off : left);
	uint32_t from_head = 0;
	if (off < b->head_len) {
		from_head = b->head_len - (uint32_t)off;
		from_head = from_head < len ? from_head : len;
	}
	*seg = (struct suci_segment){
		.dst_label = l->conf.tx_dst_label,
		.src_label = l->conf.tx_src_label,
		.seq = b->first_seq + k,
		.block = b->first_seq,
		.flags = (uint16_t)(l->conf.prio << SUCI_SF_PRIO_SHIFT),
		.mss = (uint16_t)b->mss,
		.life = l->life,
		.head = from_head ? b->head + off : NULL,
		.head_len = (uint16_t)from_head,
		.data_len = (uint16_t)(len - from_head),
		.cookie = block,
	};
	if (seg->data_len)
		seg->data = b->data + (off + from_head - b->head_len);
	if (k == 0) {
		seg->flags |= SUCI_SF_FIRST;
		seg->block_bytes = b->bytes;
	}
	if (k + 1 == b->nsegs)
		seg->flags |= SUCI_SF_LAST;
	b->held++;
	l->outstanding++;
}

static void
seal_tx(struct suci_lanes *ls, struct lane *l, struct suci_segment *seg)
{
	suci_lane_fill_ack(ls, l, seg);
	if (!l->conf.crc)
		return;
	seg->flags |= SUCI_SF_CRC;
	seg->crc32c = suci_lane_crc(l->conf.tx_salt, seg, l->conf.skip_off, l->conf.skip_len);
}

static void
cut_tx(struct suci_lanes *ls, struct lane *l, struct suci_segment *seg)
{
	struct tx_block *b = &ls->block[l->current];
	if (!b->sent)
		start_block(ls, l, b);
	fill_tx(ls, l, l->current, b->sent++, seg);
	l->next_seq++;
	bool last = seg->flags & SUCI_SF_LAST;
	/* Someone waits for the end of the block, or the lane stops here until
	 * the receiver has spoken. */
	if ((last && b->wait) || (!l->conf.direct && l->next_seq - l->acked_seq >= l->tx_window))
		seg->flags |= SUCI_SF_ASK;
	seal_tx(ls, l, seg);
	if (last) {
		l->current = b->link.next;
		ls->count.tx_blocks++;
	}
}

/* ---- what the receiver refused ---- */

static struct base_ilinks
again_links(const struct suci_lanes *ls)
{
	return BASE_ILINKS(ls->again, link);
}

static void
again_remove(struct suci_lanes *ls, struct lane *l, uint32_t i)
{
	struct rx_range *r = &ls->again[i];
	base_ilist_unlink(&l->again, again_links(ls), i);
	r->link.next = ls->again_free;
	ls->again_free = i;
	ls->again_more -= --l->nagain != 0;
}

/* Everything before seq needs no more sending. */
static void
again_trim(struct suci_lanes *ls, struct lane *l, uint32_t seq)
{
	while (l->again.head != NONE) {
		struct rx_range *r = &ls->again[l->again.head];
		if (serial_gt(r->end, seq)) {
			if (serial_lt(r->lo, seq))
				r->lo = seq;
			return;
		}
		again_remove(ls, l, l->again.head);
	}
}

static void
cut_again(struct suci_lanes *ls, struct lane *l, struct suci_segment *seg)
{
	uint32_t seq = ls->again[l->again.head].lo;
	uint32_t i = l->blocks.head;
	while (serial_ge(seq, ls->block[i].first_seq + ls->block[i].nsegs))
		i = ls->block[i].link.next;
	fill_tx(ls, l, i, seq - ls->block[i].first_seq, seg);
	again_trim(ls, l, seq + 1);
	/* Nothing more until the receiver has spoken. */
	if (!sendable(ls, l))
		seg->flags |= SUCI_SF_ASK;
	seal_tx(ls, l, seg);
	ls->count.tx_again++;
}

void
suci_lane_refused(struct suci_lanes *ls, struct lane *l, uint32_t lo, uint32_t n)
{
	uint32_t end = lo + n;
	/* It can only name what was sent; of that, what is not placed counts: another copy may
	 * have been, between the refusal and the word of it. */
	if (l->conf.direct || !n || serial_gt(end, l->next_seq) || serial_le(end, l->acked_seq))
		return;
	if (n > end - l->acked_seq)
		lo = l->acked_seq;
	uint32_t before = l->again.tail;
	while (before != NONE && serial_gt(ls->again[before].lo, lo))
		before = ls->again[before].link.prev;
	uint32_t i = before;
	bool joins = i != NONE && serial_ge(ls->again[i].end, lo);
	/* A lane's first range has its place; further ones share what there is. */
	bool fits = !l->nagain || (l->nagain < AGAIN_MAX && ls->again_more < ls->limits.ranges_max);
	if (!joins && fits) {
		i = ls->again_free;
		ls->again_free = ls->again[i].link.next;
		ls->again[i] = (struct rx_range){.lo = lo, .end = lo};
		base_ilist_insert(&l->again, again_links(ls), before, i);
		ls->again_more += l->nagain++ != 0;
	} else if (i == NONE) {
		i = l->again.head; /* grows downwards, over what lies between */
		ls->again[i].lo = lo;
	}
	if (serial_gt(end, ls->again[i].end))
		ls->again[i].end = end;
	while (ls->again[i].link.next != NONE &&
	       serial_ge(ls->again[i].end, ls->again[ls->again[i].link.next].lo)) {
		uint32_t k = ls->again[i].link.next;
		if (serial_gt(ls->again[k].end, ls->again[i].end))
			ls->again[i].end = ls->again[k].end;
		again_remove(ls, l, k);
	}
	suci_lane_ready(ls, l);
}

void
suci_lane_resend(struct suci_lanes *ls, struct lane *l)
{
	if (l->conf.direct || l->next_seq == l->acked_seq)
		return;
	ls->count.tx_resent++;
	suci_lane_refused(ls, l, l->acked_seq, l->next_seq - l->acked_seq);
}

/* By bytes: a lane sends until its deficit is used up, then the others do, and with its
 * next turn it gets as much as the largest datagram.  Looks at no lane but those which
 * take a turn or leave the ring. */
bool
suci_lane_serve(struct suci_lanes *ls, uint32_t *ring, uint32_t path, struct suci_segment *seg,
		uint64_t now_ns)
{
	while (*ring != NONE) {
		struct lane *l = &ls->lane[ls->lane[*ring].ready_next];
		if (!sendable(ls, l)) {
			suci_lane_unready(ls, l);
			continue;
		}
		if (l->deficit <= 0) {
			l->deficit += (int32_t)(suci_path_mss(ls->ep, path) + SUCI_OVERHEAD);
			if (l->deficit <= 0)
				l->deficit = 1; /* a path of its group takes larger ones */
		}
		if (again_sendable(ls, l))
			cut_again(ls, l, seg);
		else
			cut_tx(ls, l, seg);
		l->deficit -= seg->head_len + seg->data_len + SUCI_OVERHEAD;
		l->sent_ms = (uint32_t)(now_ns >> 20);
		if (l->conf.group != NONE || l->life || l->conf.moves)
			suci_lane_live(ls, l);
		if (!sendable(ls, l))
			suci_lane_unready(ls, l);
		else if (l->deficit <= 0)
			*ring = lane_index(ls, l); /* to the end */
		return true;
	}
	return false;
}

bool
suci_lane_pull(void *user, uint32_t path, struct suci_segment *seg, uint64_t now_ns)
{
	struct suci_lanes *ls = user;
	struct lane_hop *h = lane_hop(ls, path);
	if (h->groups == NONE) {
		for (uint32_t prio = PRIOS; prio-- > 0;)
			if (h->ready[prio] != NONE &&
			    suci_lane_serve(ls, &h->ready[prio], path, seg, now_ns))
				return true;
		return false;
	}
	suci_lane_group_unblock(ls, path);
	for (uint32_t prio = PRIOS; prio-- > 0;)
		for (int k = 0; k < 2; k++) {
			/* Its own lanes and those of groups by turns. */
			bool own = k == h->group_turn;
			if (own ? suci_lane_serve(ls, &h->ready[prio], path, seg, now_ns)
				: suci_lane_group_pull(ls, path, prio, seg, now_ns)) {
				h->group_turn = own;
				return true;
			}
		}
	return false;
}

/* Segments of the lanes that are ready, as far as a short look tells. */
uint32_t
suci_lane_backlog(void *user, uint32_t path)
{
	const struct suci_lanes *ls = user;
	const struct lane_hop *h = lane_hop(ls, path);
	uint64_t n = 0;
	uint32_t looked = 0;
	for (uint32_t prio = PRIOS; prio-- > 0;) {
		uint32_t first = h->ready[prio], i = first;
		do {
			if (i == NONE || looked++ >= BACKLOG_LANES)
				break;
			const struct lane *l = &ls->lane[i];
			n += l->nagain;
			if (l->current != NONE) {
				const struct tx_block *b = &ls->block[l->current];
				n += b->sent ? b->nsegs - b->sent
					     : lane_nsegs(b->bytes, suci_path_mss(ls->ep, path));
			}
			i = l->ready_next;
		} while (i != first);
	}
	return n < UINT16_MAX ? (uint32_t)n : UINT16_MAX;
}

static struct base_ilinks
block_tx_links(const struct suci_lanes *ls)
{
	return BASE_ILINKS(ls->block, link);
}

static void
free_block(struct suci_lanes *ls, struct tx_block *b)
{
	b->link.next = ls->block_free;
	ls->block_free = (uint32_t)(b - ls->block);
}

static void
finish_tx(struct suci_lanes *ls, struct lane *l, struct tx_block *b, bool ok, uint64_t now_ns)
{
	uint64_t cookie = b->cookie;
	base_ilist_unlink(&l->blocks, block_tx_links(ls), (uint32_t)(b - ls->block));
	ls->pending_blocks--;
	b->lane = NONE;
	if (!b->held)
		free_block(ls, b);
	ls->ops->block_done(ls->user, lane_index(ls, l), cookie, ok, now_ns);
}

bool
suci_lane_retire(struct suci_lanes *ls, struct lane *l, uint64_t now_ns)
{
	bool any = false;
	while (l->state == LANE_OPEN && l->blocks.head != NONE) {
		struct tx_block *b = &ls->block[l->blocks.head];
		if (b->held || !b->sent || b->sent < b->nsegs ||
		    serial_gt(b->first_seq + b->nsegs, l->acked_seq))
			break;
		any = true;
		finish_tx(ls, l, b, true, now_ns);
	}
	return any;
}

void
suci_lane_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct suci_lanes *ls = user;
	(void)path;
	if (cookie == COOKIE_ACK)
		return;
	struct tx_block *b = &ls->block[cookie];
	b->held--;
	if (b->lane == NONE) {
		if (!b->held)
			free_block(ls, b);
		return;
	}
	struct lane *l = &ls->lane[b->lane];
	l->outstanding--;
	if (fate == SUCI_FATE_ABANDONED)
		return; /* the path or the lane ends; that deals with the blocks */
	b->acked++;
	if (l->conf.direct) {
		if (b->acked == b->nsegs)
			finish_tx(ls, l, b, true, now_ns);
	} else {
		suci_lane_retire(ls, l, now_ns);
	}
	suci_lane_ready(ls, l);
}

void
suci_lane_heard(struct suci_lanes *ls, struct lane *l, const struct suci_segment *seg,
		uint64_t now_ns)
{
	uint32_t window = seg->credit_shift < 16 ? (uint32_t)seg->window << seg->credit_shift : 0;
	bool sane = serial_le(seg->ack, l->next_seq);
	if (!sane || serial_lt(seg->ack, l->acked_seq))
		return;
	/* A stream in one direction says the same with every segment.  But blocks that a path
	 * held when it died wait for just such a word. */
	if (seg->ack == l->acked_seq && (!window || window == l->tx_window) &&
	    l->blocks.head == NONE)
		return;
	l->moved |= seg->ack != l->acked_seq;
	l->acked_seq = seg->ack;
	if (window)
		l->tx_window = window < 1u << 20 ? window : 1u << 20;
	again_trim(ls, l, l->acked_seq);
	if (!l->conf.direct)
		suci_lane_retire(ls, l, now_ns);
	suci_lane_ready(ls, l);
}

void
suci_lane_tx_end(struct suci_lanes *ls, struct lane *l, uint64_t now_ns)
{
	l->current = NONE;
	again_trim(ls, l, l->next_seq);
	while (l->blocks.head != NONE && !SUCI_BUG(FORGET))
		finish_tx(ls, l, &ls->block[l->blocks.head], false, now_ns);
}

/* After a pause in which the receiver took back what it had granted beyond the first
 * window.  It says more with its first ack. */
static void
begin_again(struct lane *l, uint64_t now_ns)
{
	uint32_t idle_ms = (uint32_t)(now_ns >> 20) - l->sent_ms;
	if (l->conf.window_max > l->conf.window && l->tx_window > l->conf.window &&
	    idle_ms >= SUCI_LANE_IDLE_NS >> 20)
		l->tx_window = l->conf.window;
}

int
suci_lane_send(struct suci_lanes *ls, uint32_t lane, const void *head, size_t head_len,
	       const void *data, uint64_t data_len, bool wait, uint64_t cookie, uint64_t now_ns)
{
	struct lane *l = suci_lane_get(ls, lane);
	if (head_len > SUCI_BLOCK_HEAD_MAX || data_len > BLOCK_MAX - SUCI_BLOCK_HEAD_MAX)
		return SUCI_ERR_INVAL;
	if (!l || l->close_wanted || l->broken)
		return SUCI_ERR_DOWN;
	uint32_t mss = mss_of(ls, l);
	mss = mss ? mss : MSS_MIN;
	if (lane_nsegs(head_len + data_len, mss) > NSEGS_MAX)
		return SUCI_ERR_INVAL;
	if (ls->block_free == NONE)
		return SUCI_ERR_NOMEM;
	uint32_t i = ls->block_free;
	struct tx_block *b = &ls->block[i];
	ls->block_free = b->link.next;
	b->lane = lane;
	b->nsegs = b->sent = b->held = b->acked = 0;
	b->wait = wait;
	b->head_len = (uint8_t)head_len;
	b->data = data;
	b->bytes = head_len + data_len;
	b->cookie = cookie;
	if (head_len)
		memcpy(b->head, head, head_len);
	base_ilist_append(&l->blocks, block_tx_links(ls), i);
	if (l->current == NONE)
		l->current = i;
	if (l->blocks.head == i)
		begin_again(l, now_ns);
	ls->pending_blocks++;
	suci_lane_ready(ls, l);
	return SUCI_ERR_OK;
}
