/* SPDX-License-Identifier: BSD-2-Clause */
/* The receiving half of lanes.
 *
 *      rx_next     everything before it is placed
 *      ranges      placed beyond rx_next, sorted
 *      next_begin  where the first block not yet begun starts; known because
 *                  every begun block has said its length
 *      held        segments at or after next_begin whose block cannot begin
 *                  yet, sorted; popped from the front as blocks begin
 *
 * The segment at rx_next is always taken: it needs no range, its block has
 * begun or begins with it.  So whatever else is refused, a lane moves on. */
#include "lane_internal.h"

#include "base/serial.h"

#include <string.h>

#define BLOCK_MAX      (1ull << 42)
#define NSEGS_MAX      ((1u << 31) - (1u << 21))
#define CRC_BAD_IN_ROW 32 /* then the lane is given up */

static inline __attribute__((always_inline)) struct lane *
find_rx(struct suci_lanes *ls, uint32_t path, const struct suci_segment *seg)
{
	uint32_t i;
	if (__builtin_expect(seg->src_label >= ls->limits.labels_max, 0)) {
		i = suci_lane_find(ls, path, seg->src_label, seg->dst_label);
	} else {
		i = ls->label[seg->src_label];
		while (i != NONE && ls->lane[i].conf.rx_dst_label != seg->dst_label)
			i = ls->lane[i].label_next;
	}
	return i == NONE ? NULL : &ls->lane[i];
}

/* Segments that can still be held. */
static uint32_t
count_places(const struct suci_lanes *ls)
{
	uint32_t ranges = ls->ranges_left > ls->ranges_owed ? ls->ranges_left - ls->ranges_owed : 0;
	return ranges < ls->early_left ? ranges : ls->early_left;
}

uint32_t
suci_lane_room(void *user, uint32_t path)
{
	const struct suci_lanes *ls = user;
	uint32_t n = count_places(ls);
	bool want = path != NONE && ls->ops->room;
	return want && n && !ls->ops->room(ls->user, path) ? 0 : n;
}

/* ---- ranges ---- */

static struct base_ilinks
range_links(const struct suci_lanes *ls)
{
	return BASE_ILINKS(ls->range, link);
}

static uint32_t
range_take(struct suci_lanes *ls, uint32_t lo, uint32_t end)
{
	uint32_t i = ls->range_free;
	ls->range_free = ls->range[i].link.next;
	ls->ranges_left--;
	ls->range[i] = (struct rx_range){.lo = lo, .end = end};
	return i;
}

static void
range_remove(struct suci_lanes *ls, struct lane *l, uint32_t i)
{
	struct rx_range *r = &ls->range[i];
	base_ilist_unlink(&l->ranges, range_links(ls), i);
	r->link.next = ls->range_free;
	ls->range_free = i;
	ls->ranges_left++;
}

/* The last range that begins at or before seq, NONE if there is none.  Looked
 * for from the end: what arrives is mostly new. */
static uint32_t
range_before(const struct suci_lanes *ls, const struct lane *l, uint32_t seq)
{
	uint32_t i = l->ranges.head;
	if (i == NONE || serial_lt(seq, ls->range[i].lo))
		return NONE; /* also the usual repair of the oldest hole */
	i = l->ranges.tail;
	while (serial_gt(ls->range[i].lo, seq))
		i = ls->range[i].link.prev;
	return i;
}

static bool
rx_placed(const struct suci_lanes *ls, const struct lane *l, uint32_t seq)
{
	if (serial_lt(seq, l->rx_next))
		return true;
	uint32_t i = range_before(ls, l, seq);
	return i != NONE && serial_lt(seq, ls->range[i].end);
}

static bool
needs_range(const struct suci_lanes *ls, const struct lane *l, uint32_t seq)
{
	if (seq == l->rx_next)
		return false;
	uint32_t i = range_before(ls, l, seq);
	if (i != NONE && ls->range[i].end == seq)
		return false;
	uint32_t after = i == NONE ? l->ranges.head : ls->range[i].link.next;
	return after == NONE || ls->range[after].lo != seq + 1;
}

static void
mark_rx(struct suci_lanes *ls, struct lane *l, uint32_t seq)
{
	if (seq == l->rx_next) {
		l->rx_next++;
		l->in_order += l->in_order < l->window;
		uint32_t h = l->ranges.head;
		if (h != NONE && ls->range[h].lo == l->rx_next) {
			l->rx_next = ls->range[h].end;
			range_remove(ls, l, h);
		}
		return;
	}
	uint32_t i = range_before(ls, l, seq);
	uint32_t after = i == NONE ? l->ranges.head : ls->range[i].link.next;
	bool joins_after = after != NONE && ls->range[after].lo == seq + 1;
	if (i != NONE && ls->range[i].end == seq) {
		ls->range[i].end = seq + 1;
		if (joins_after) {
			ls->range[i].end = ls->range[after].end;
			range_remove(ls, l, after);
		}
		return;
	}
	if (joins_after) {
		ls->range[after].lo = seq;
		return;
	}
	uint32_t n = range_take(ls, seq, seq + 1);
	base_ilist_insert(&l->ranges, range_links(ls), i, n);
}

/* ---- blocks ---- */

static uint32_t
rx_block_find(const struct suci_lanes *ls, const struct lane *l, uint32_t block)
{
	uint32_t i = l->rx_blocks.head;
	if (i != NONE && ls->rx_block[i].first_seq == block)
		return i;
	i = l->rx_blocks.tail;
	while (i != NONE && serial_gt(ls->rx_block[i].first_seq, block))
		i = ls->rx_block[i].link.prev;
	return i != NONE && ls->rx_block[i].first_seq == block ? i : NONE;
}

static struct base_ilinks
rx_block_links(const struct suci_lanes *ls)
{
	return BASE_ILINKS(ls->rx_block, link);
}

static uint32_t
rx_block_take(struct suci_lanes *ls, struct lane *l)
{
	uint32_t i = ls->rx_block_free;
	struct rx_block *b = &ls->rx_block[i];
	ls->rx_block_free = b->link.next;
	ls->rx_blocks_left--;
	base_ilist_append(&l->rx_blocks, rx_block_links(ls), i);
	return i;
}

static void
rx_block_give(struct suci_lanes *ls, struct lane *l, uint32_t i)
{
	struct rx_block *b = &ls->rx_block[i];
	base_ilist_unlink(&l->rx_blocks, rx_block_links(ls), i);
	b->link.next = ls->rx_block_free;
	ls->rx_block_free = i;
	ls->rx_blocks_left++;
}

/* Segments of a block as its first segment tells; 0 if that is nonsense. */
static uint32_t
nsegs_of(const struct suci_segment *s)
{
	if (s->seq != s->block || s->block_bytes > BLOCK_MAX || s->mss <= SUCI_FIRST_EXT)
		return 0;
	uint64_t n = lane_nsegs(s->block_bytes, s->mss);
	uint64_t first = n > 1 ? lane_seg_offset(1, s->mss) : s->block_bytes;
	if (n > NSEGS_MAX || s->data_len != first || (n == 1) != !!(s->flags & SUCI_SF_LAST))
		return 0;
	return (uint32_t)n;
}

/* A segment of a block that has begun: do its fields fit? */
static bool
rx_fits(const struct rx_block *b, const struct suci_segment *s)
{
	uint32_t k = s->seq - b->first_seq;
	if (k >= b->nsegs || s->mss != b->mss || (s->flags & SUCI_SF_FIRST ? k != 0 : k == 0))
		return false;
	bool last = k + 1 == b->nsegs;
	uint64_t want =
		(last ? b->bytes : lane_seg_offset(k + 1, b->mss)) - lane_seg_offset(k, b->mss);
	return s->data_len == want && last == !!(s->flags & SUCI_SF_LAST);
}

static void
deliver_rx(struct suci_lanes *ls, struct lane *l, void *handle, uint64_t off,
	   const struct suci_segment *s)
{
	if (s->data_len)
		ls->ops->block_data(ls->user, lane_index(ls, l), handle, off, s->data, s->data_len);
	ls->count.rx_bytes += s->data_len;
}

static void
complete_rx(struct suci_lanes *ls, struct lane *l, void *handle, uint64_t now_ns)
{
	ls->count.rx_blocks++;
	l->block_over = true;
	ls->ops->block_end(ls->user, lane_index(ls, l), handle, now_ns);
}

/* Begin the block at next_begin with its first segment.  Room was checked. */
static void
begin_rx(struct suci_lanes *ls, struct lane *l, const struct suci_segment *s, uint32_t nsegs,
	 uint64_t now_ns)
{
	l->next_begin = s->seq + nsegs;
	mark_rx(ls, l, s->seq);
	uint32_t i = NONE;
	if (nsegs > 1) {
		i = rx_block_take(ls, l);
		struct rx_block *b = &ls->rx_block[i];
		b->first_seq = s->seq;
		b->nsegs = nsegs;
		b->left = nsegs - 1;
		b->mss = s->mss;
		b->bytes = s->block_bytes;
	}
	void *handle = ls->ops->block_begin(ls->user, lane_index(ls, l), s->block_bytes, s->data,
					    s->data_len, now_ns);
	if (i != NONE)
		ls->rx_block[i].handle = handle;
	deliver_rx(ls, l, handle, 0, s);
	if (i == NONE)
		complete_rx(ls, l, handle, now_ns);
}

/* Place a segment of a begun block. */
static void
place_rx(struct suci_lanes *ls, struct lane *l, uint32_t i, const struct suci_segment *s,
	 uint64_t now_ns)
{
	struct rx_block *b = &ls->rx_block[i];
	void *handle = b->handle;
	uint64_t off = lane_seg_offset(s->seq - b->first_seq, b->mss) + (SUCI_BUG(OFFSET) ? 8 : 0);
	mark_rx(ls, l, s->seq);
	bool done = --b->left == 0;
	if (done)
		rx_block_give(ls, l, i);
	deliver_rx(ls, l, handle, off, s);
	if (done)
		complete_rx(ls, l, handle, now_ns);
}

/* ---- segments that came before the first of their block ---- */

static bool
opens_long_block(const struct suci_segment *s)
{
	return (s->flags & (SUCI_SF_FIRST | SUCI_SF_LAST)) == SUCI_SF_FIRST;
}

static struct base_ilinks
early_links(const struct suci_lanes *ls)
{
	return BASE_ILINKS(ls->early, link);
}

static struct suci_segment
early_take(struct suci_lanes *ls, struct lane *l, uint32_t i)
{
	struct rx_early *h = &ls->early[i];
	base_ilist_unlink(&l->early, early_links(ls), i);
	h->link.next = ls->early_free;
	ls->early_free = i;
	ls->early_left++;
	ls->ranges_owed--;
	ls->rx_blocks_owed -= opens_long_block(&h->seg);
	return h->seg;
}

/* Of what a lane has early, what it needs first is worth most: the last one held makes way for
 * seq.  Else those that once came too early keep the room until all before them has come
 * one by one.  On a direct lane it was acknowledged, and nobody has it any more. */
static bool
make_way(struct suci_lanes *ls, struct lane *l, uint32_t seq, uint64_t now_ns)
{
	uint32_t last = l->early.tail;
	if (l->conf.direct || last == NONE || serial_le(ls->early[last].seg.seq, seq))
		return false;
	struct suci_segment s = early_take(ls, l, last);
	ls->count.refused_held++;
	suci_lane_refuse(ls, l, &s, now_ns);
	ls->ops->release(ls->user, s.cookie);
	return true;
}

/* What a direct lane has early is acknowledged and cannot make way.  So its last segments leave a
 * quarter of the places to those before them, which come later; else those would be taken one by
 * one, a round trip and more each, as long as the others hold all of them. */
static uint32_t
keep_places(const struct suci_lanes *ls, const struct lane *l)
{
	uint32_t all = ls->limits.held_max < ls->limits.ranges_max ? ls->limits.held_max
								   : ls->limits.ranges_max;
	return l->conf.direct ? all / 4 : 0;
}

static enum suci_verdict
hold_rx(struct suci_lanes *ls, struct lane *l, const struct suci_segment *s, uint64_t now_ns)
{
	bool first = s->flags & SUCI_SF_FIRST;
	if (serial_gt(s->block, s->seq) || first != (s->seq == s->block) ||
	    (first && !nsegs_of(s))) {
		ls->count.drop_malformed++;
		return SUCI_DROPPED;
	}
	uint32_t before = l->early.tail;
	while (before != NONE && serial_gt(ls->early[before].seg.seq, s->seq))
		before = ls->early[before].link.prev;
	if (before != NONE && ls->early[before].seg.seq == s->seq) {
		ls->count.drop_duplicate++;
		return SUCI_TAKEN;
	}
	/* One incoming block is left for the lane whose turn it is. */
	if (opens_long_block(s) && ls->rx_blocks_left <= ls->rx_blocks_owed + 1) {
		ls->count.refused_blocks++;
		return suci_lane_refuse(ls, l, s, now_ns);
	}
	uint32_t kept = before != NONE && before == l->early.tail ? keep_places(ls, l) : 0;
	if (count_places(ls) <= kept && !make_way(ls, l, s->seq, now_ns)) {
		ls->count.refused_held++;
		return suci_lane_refuse(ls, l, s, now_ns);
	}
	uint32_t i = ls->early_free;
	struct rx_early *h = &ls->early[i];
	ls->early_free = h->link.next;
	ls->early_left--;
	ls->ranges_owed++;
	ls->rx_blocks_owed += opens_long_block(s);
	h->seg = *s;
	base_ilist_insert(&l->early, early_links(ls), before, i);
	ls->count.held++;
	ls->ops->hold(ls->user, s->cookie);
	suci_lane_tune_came(ls, l, s->seq, now_ns);
	return SUCI_TAKEN;
}

static bool
rx_has_room(struct suci_lanes *ls, struct lane *l, const struct suci_segment *s)
{
	if (!ls->ops->block_room ||
	    ls->ops->block_room(ls->user, lane_index(ls, l), s->block_bytes))
		return true;
	ls->count.refused_room++;
	return false;
}

/* A block has begun: held segments may have their turn now. */
static void
drain_rx(struct suci_lanes *ls, struct lane *l, uint64_t now_ns)
{
	while (l->early.head != NONE && !l->close_wanted) {
		const struct suci_segment *s = &ls->early[l->early.head].seg;
		bool begun = serial_lt(s->seq, l->next_begin);
		bool starts = s->seq == l->next_begin && s->flags & SUCI_SF_FIRST;
		if (!begun && (!starts || !rx_has_room(ls, l, s)))
			return;
		struct suci_segment seg = early_take(ls, l, l->early.head);
		uint32_t i = begun ? rx_block_find(ls, l, seg.block) : NONE;
		if (starts)
			begin_rx(ls, l, &seg, nsegs_of(&seg), now_ns);
		else if (rx_placed(ls, l, seg.seq))
			ls->count.drop_duplicate++;
		else if (i == NONE || !rx_fits(&ls->rx_block[i], &seg))
			ls->count.drop_malformed++;
		else
			place_rx(ls, l, i, &seg, now_ns);
		if (!SUCI_BUG(HELD_NEVER))
			ls->ops->release(ls->user, seg.cookie);
		if (SUCI_BUG(HELD_TWICE))
			ls->ops->release(ls->user, seg.cookie);
	}
}

void
suci_lane_rx_end(struct suci_lanes *ls, struct lane *l)
{
	suci_lane_ask_no_more(ls, l);
	suci_lane_tune_end(ls, l);
	while (l->early.head != NONE) {
		struct suci_segment seg = early_take(ls, l, l->early.head);
		ls->ops->release(ls->user, seg.cookie);
	}
	while (l->ranges.head != NONE)
		range_remove(ls, l, l->ranges.head);
	while (l->rx_blocks.head != NONE)
		rx_block_give(ls, l, l->rx_blocks.head);
}

/* ---- one segment ---- */

/* Segments may have been placed: tell, as far as that is due. */
static void
moved_on(struct suci_lanes *ls, struct lane *l, uint64_t now_ns)
{
	bool over = l->asker && serial_ge(l->rx_next, l->refused_end);
	if (over) /* the sender should know that it has its whole window again */
		suci_lane_ask_no_more(ls, l);
	suci_lane_owe_ack(ls, l, over, now_ns);
}

/* The first segment beyond the window.  It may be smaller now than what the sender was
 * told; the sender of a direct lane counts what is under way, not from rx_next. */
static uint32_t
limit(const struct lane *l)
{
	if (l->conf.direct)
		return l->rx_next + l->conf.window_max;
	return serial_max(l->rx_next + l->window, l->edge);
}

static enum suci_verdict
take_rx(struct suci_lanes *ls, struct lane *l, const struct suci_segment *s, uint64_t now_ns)
{
	if (rx_placed(ls, l, s->seq) && !SUCI_BUG(DUPLICATE)) {
		ls->count.drop_duplicate++;
		suci_lane_owe_ack(ls, l, s->flags & SUCI_SF_ASK, now_ns);
		return SUCI_TAKEN;
	}
	if (!serial_lt(s->seq, limit(l))) {
		ls->count.drop_window++;
		return suci_lane_refuse(ls, l, s, now_ns);
	}
	bool begun = serial_lt(s->block, l->next_begin);
	bool starts = (s->block == l->next_begin || (SUCI_BUG(ORDER) && !begun)) &&
		      s->flags & SUCI_SF_FIRST;
	if (!begun && !starts)
		return hold_rx(ls, l, s, now_ns);
	uint32_t i = begun ? rx_block_find(ls, l, s->block) : NONE;
	uint32_t nsegs = starts ? nsegs_of(s) : 0;
	if (begun ? i == NONE || !rx_fits(&ls->rx_block[i], s) : !nsegs) {
		ls->count.drop_malformed++;
		return SUCI_DROPPED;
	}
	if (nsegs > 1 && ls->rx_blocks_left <= ls->rx_blocks_owed) {
		ls->count.refused_blocks++;
		return suci_lane_refuse(ls, l, s, now_ns);
	}
	if (ls->ranges_left <= ls->ranges_owed && needs_range(ls, l, s->seq) &&
	    !make_way(ls, l, s->seq, now_ns)) {
		ls->count.refused_ranges++;
		return suci_lane_refuse(ls, l, s, now_ns);
	}
	if (!begun && !rx_has_room(ls, l, s))
		return suci_lane_refuse(ls, l, s, now_ns);
	if (begun)
		place_rx(ls, l, i, s, now_ns);
	else
		begin_rx(ls, l, s, nsegs, now_ns);
	if (l->early.head != NONE)
		drain_rx(ls, l, now_ns);
	suci_lane_tune_came(ls, l, s->seq, now_ns);
	return SUCI_TAKEN;
}

static bool
crc_good(const struct lane *l, const struct suci_segment *s)
{
	if (SUCI_BUG(CRC))
		return true;
	return s->flags & SUCI_SF_CRC &&
	       s->crc32c == suci_lane_crc(l->conf.rx_salt, s, l->conf.skip_off, l->conf.skip_len);
}

/* A segment with a wrong CRC.  Refused, it is sent again by the hop before; but what the
 * relay has may be wrong itself, if it was garbled on the way there.  So its sender is asked,
 * unless it was here before.  A number that makes no sense was garbled, too: the hop before
 * gets it back until it is right or the lane is given up. */
static enum suci_verdict
want_again(struct suci_lanes *ls, struct lane *l, const struct suci_segment *s, uint64_t now_ns)
{
	if (l->conf.direct || !serial_lt(s->seq, l->rx_next + l->conf.window_max))
		return SUCI_REFUSED;
	if (!rx_placed(ls, l, s->seq))
		suci_lane_want_again(ls, l, s->seq, now_ns);
	return SUCI_TAKEN;
}

/* The callbacks are over: what was put off because of them. */
static void
not_busy(struct suci_lanes *ls, struct lane *l, uint64_t now_ns)
{
	l->busy = false;
	if (l->close_wanted)
		suci_lane_close(ls, lane_index(ls, l), now_ns);
	else if (l->broken)
		suci_lane_abort(ls, l, SUCI_DOWN_LOCAL,
				"the end-to-end CRC failed many times in a row: a relay corrupts "
				"segments or sends them to the wrong process",
				now_ns);
}

/* ---- lives ---- */

/* The other end is behind: it hears so within a millisecond. */
static bool
tell_life(struct suci_lanes *ls, struct lane *l, uint64_t now_ns)
{
	l->block_over = true;
	suci_lane_ack_pend(ls, l, now_ns);
	return false;
}

/* Is the segment of the life that *at is in now?  opened: for this segment.  *at NULL: its life is
 * over, and another lane may take the segment.  One that is garbled says nothing of that. */
static bool
meets_life(struct suci_lanes *ls, struct lane **at, const struct suci_segment *s, bool opened,
	   uint64_t now_ns)
{
	struct lane *l = *at;
	uint8_t its = s->life & SUCI_LIFE_MAX, ours = l->life & SUCI_LIFE_MAX;
	bool begins = s->life & SUCI_LIFE_BEGINS, heard = !(l->life & SUCI_LIFE_BEGINS);
	bool garbled = !(s->flags & SUCI_SF_ACK) && l->conf.crc && !crc_good(l, s);
	if (!its || garbled || SUCI_BUG(LIFE))
		return true;
	if (its == ours && (begins || !opened)) {
		l->life = ours;
		return true;
	}
	if (its != ours && !suci_life_newer(its, ours)) {
		ls->count.drop_life++;
		return tell_life(ls, l, now_ns);
	}
	ls->count.lives++;
	/* It may have had what we said, and its answer be lost. */
	if (heard || l->next_seq) {
		suci_lane_abort(ls, l, SUCI_DOWN_RESTARTED, "its other end begins anew", now_ns);
		*at = NULL;
		return false;
	}
	l->life = begins ? its : suci_life_next(its) | SUCI_LIFE_BEGINS;
	if (begins)
		return true;
	ls->count.drop_life++;
	return tell_life(ls, l, now_ns);
}

/* ---- all ---- */

/* The lane that takes a segment whose lane is not there (l NULL) or in another life.  NULL: none,
 * and ls->verdict. */
static __attribute__((noinline)) struct lane *
other_lane(struct suci_lanes *ls, struct lane *l, uint32_t path, const struct suci_segment *s,
	   uint64_t now_ns)
{
	ls->verdict = SUCI_DROPPED;
	if (l && (!l->life || meets_life(ls, &l, s, false, now_ns)))
		return l;
	if (l)
		return NULL;
	if (ls->ops->lane_unknown)
		ls->verdict = ls->ops->lane_unknown(ls->user, path, s->dst_label, s->src_label);
	if (ls->verdict == SUCI_TAKEN)
		l = find_rx(ls, path, s);
	if (ls->verdict != SUCI_REFUSED)
		ls->verdict = SUCI_DROPPED;
	if (l)
		return !l->life || meets_life(ls, &l, s, true, now_ns) ? l : NULL;
	if (ls->verdict == SUCI_REFUSED)
		ls->count.refused_label++;
	else
		ls->count.drop_label++;
	return NULL;
}

enum suci_verdict
suci_lane_segment(void *user, uint32_t path, const struct suci_segment *s, uint64_t now_ns)
{
	struct suci_lanes *ls = user;
	struct lane *l = find_rx(ls, path, s);
	if (__builtin_expect(!l || l->life != (s->life & SUCI_LIFE_MAX), 0)) {
		l = other_lane(ls, l, path, s, now_ns);
		if (!l)
			return ls->verdict;
	}
	l->busy = true;
	enum suci_verdict v = SUCI_TAKEN;
	if (!(s->flags & SUCI_SF_ACK) && l->conf.crc && !crc_good(l, s)) {
		/* Most likely it was the wire.  A relay that always sends wrong bytes or
		 * to the wrong process must not keep us busy for ever. */
		ls->count.drop_crc++;
		l->broken = l->crc_bad == CRC_BAD_IN_ROW - 1;
		if (!l->broken)
			l->crc_bad++;
		v = want_again(ls, l, s, now_ns);
	} else {
		suci_lane_heard(ls, l, s, now_ns);
		if (!(s->flags & SUCI_SF_ACK)) {
			l->crc_bad = 0;
			if (s->flags & SUCI_SF_ASK &&
			    (!l->ask_set || serial_gt(s->seq, l->ask_seq))) {
				l->ask_set = true;
				l->ask_seq = s->seq;
			}
			v = take_rx(ls, l, s, now_ns);
			moved_on(ls, l, now_ns);
		} else if (s->flags & SUCI_SF_REFUSED) {
			suci_lane_refused(ls, l, s->seq, s->block);
		}
	}
	not_busy(ls, l, now_ns);
	return v;
}

void
suci_lane_resume(struct suci_lanes *ls, uint32_t lane, uint64_t now_ns)
{
	struct lane *l = suci_lane_get(ls, lane);
	if (!l || l->busy || l->early.head == NONE)
		return;
	l->busy = true;
	drain_rx(ls, l, now_ns);
	moved_on(ls, l, now_ns);
	not_busy(ls, l, now_ns);
}
