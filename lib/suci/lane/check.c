/* SPDX-License-Identifier: BSD-2-Clause */
/* suci_lanes_check(): what the tables of the lanes owe each other.  For tests. */
#include "lane_internal.h"

#include "base/serial.h"

struct sums {
	uint32_t lanes, blocks, rx_blocks, held, ranges, again, long_early, askers[PRIOS];
	uint64_t beyond; /* the first windows */
};

static const char *
check_receiver(const struct suci_lanes *ls, const struct lane *l, struct sums *s)
{
	uint32_t seq = l->rx_next, n = 0;
	for (uint32_t i = l->ranges.head; i != NONE; i = ls->range[i].link.next) {
		const struct rx_range *r = &ls->range[i];
		if (serial_le(r->lo, seq) || serial_le(r->end, r->lo) ||
		    ++n > ls->limits.ranges_max)
			return "ranges are disjoint, in order and past rx_next";
		seq = r->end;
	}
	s->ranges += n;
	n = 0;
	for (uint32_t i = l->rx_blocks.head; i != NONE; i = ls->rx_block[i].link.next) {
		const struct rx_block *b = &ls->rx_block[i];
		if (!b->left || b->left >= b->nsegs || ++n > ls->limits.rx_blocks_max)
			return "an incoming block lacks some of its segments, not all";
		if (serial_gt(b->first_seq + b->nsegs, l->next_begin))
			return "incoming blocks end before the next one begins";
	}
	s->rx_blocks += n;
	n = 0;
	for (uint32_t i = l->early.head; i != NONE; i = ls->early[i].link.next) {
		const struct suci_segment *h = &ls->early[i].seg;
		if (serial_lt(h->seq, l->next_begin) || (n && serial_le(h->seq, seq)) ||
		    ++n > ls->limits.held_max)
			return "held segments are in order and of blocks not begun";
		seq = h->seq;
		s->long_early += (h->flags & (SUCI_SF_FIRST | SUCI_SF_LAST)) == SUCI_SF_FIRST;
	}
	s->held += n;
	s->askers[l->conf.prio] += l->asker;
	if (l->window < l->conf.window || l->window > l->conf.window_max)
		return "a window is between the first and the largest";
	if (l->tune == NONE ? l->window != l->conf.window : !l->live)
		return "a window that grew is looked at";
	s->beyond += l->window - l->conf.window;
	return NULL;
}

static const char *
check_sender(const struct suci_lanes *ls, const struct lane *l, uint32_t lane, struct sums *s)
{
	uint32_t n = 0, held = 0;
	for (uint32_t i = l->blocks.head; i != NONE; i = ls->block[i].link.next, n++) {
		const struct tx_block *b = &ls->block[i];
		if (b->lane != lane || b->held > b->sent + ls->limits.ranges_max ||
		    b->sent > b->nsegs || n > ls->limits.blocks_max)
			return "a lane's blocks are its own, with no more sent than they have";
		held += b->held;
	}
	if (held != l->outstanding)
		return "a lane's outstanding = segments the path holds of its blocks";
	if (serial_gt(l->acked_seq, l->next_seq))
		return "acknowledged is what was sent";
	s->blocks += n;
	n = 0;
	for (uint32_t i = l->again.head; i != NONE && n <= l->nagain; i = ls->again[i].link.next)
		n++;
	s->again += n;
	return n == l->nagain ? NULL : "a lane's refused ranges = their number";
}

static uint32_t
free_of(uint32_t head, const uint32_t *next, size_t stride, uint32_t most)
{
	uint32_t n = 0;
	while (head != NONE && n <= most) {
		head = *(const uint32_t *)(const void *)((const char *)next + head * stride);
		n++;
	}
	return n;
}

static const char *
check_sums(const struct suci_lanes *ls, const struct sums *s)
{
	const struct suci_lane_limits *l = &ls->limits;
	if (s->blocks != ls->pending_blocks)
		return "blocks pending = blocks of all lanes";
	if (free_of(ls->range_free, &ls->range->link.next, sizeof *ls->range, l->ranges_max) !=
		    ls->ranges_left ||
	    ls->ranges_left + s->ranges != l->ranges_max)
		return "ranges free + in lists = ranges_max";
	if (free_of(ls->rx_block_free, &ls->rx_block->link.next, sizeof *ls->rx_block,
		    l->rx_blocks_max) != ls->rx_blocks_left ||
	    ls->rx_blocks_left + s->rx_blocks != l->rx_blocks_max)
		return "incoming blocks free + in lists = rx_blocks_max";
	if (free_of(ls->early_free, &ls->early->link.next, sizeof *ls->early, l->held_max) !=
		    ls->early_left ||
	    ls->early_left + s->held != l->held_max)
		return "held segments free + in lists = held_max";
	if (ls->credit_left + s->beyond !=
	    (l->held_max < l->ranges_max ? l->held_max : l->ranges_max))
		return "credit left + beyond the first windows = what there is";
	if (s->held != ls->ranges_owed || s->long_early != ls->rx_blocks_owed)
		return "held segments are owed their ranges and blocks";
	if (ls->ranges_owed > ls->ranges_left)
		return "no more owed than is free";
	for (uint32_t prio = 0; prio < PRIOS; prio++)
		if (s->askers[prio] != ls->askers[prio])
			return "lanes that were refused something = their number";
	return NULL;
}

static const char *
check_lane_groups(const struct suci_lanes *ls)
{
	uint32_t down = 0;
	for (uint32_t i = 0; i < ls->limits.groups_max; i++) {
		const struct lane_group *g = &ls->group[i];
		uint32_t lanes = 0;
		if (!g->used)
			continue;
		down += g->down;
		if (g->down && g->n)
			return "a group with paths is not down";
		for (uint32_t k = g->lanes.head; k != NONE && lanes <= g->nlanes; lanes++)
			k = ls->lane[k].path_link.next;
		if (lanes != g->nlanes)
			return "lanes of a group = their number";
		for (uint32_t k = 0; k < g->n; k++) {
			uint32_t path = g->m[k].path, at = lane_hop(ls, path)->groups, n = 0;
			while (at != NONE && at != i * SUCI_GROUP_PATHS + k &&
			       n++ < ls->limits.groups_max)
				at = ls->group[at / SUCI_GROUP_PATHS].m[at % SUCI_GROUP_PATHS].next;
			if (!suci_path_mss(ls->ep, path) || at != i * SUCI_GROUP_PATHS + k)
				return "paths of a group are up and know it";
		}
	}
	return down == ls->groups_down ? NULL : "groups that are down = their number";
}

bool
suci_lanes_check(const struct suci_lanes *ls, const char **what)
{
	struct sums s = {0};
	const char *fault = NULL;
	for (uint32_t i = 0; i < ls->limits.lanes_max && !fault; i++) {
		if (ls->lane[i].state != LANE_OPEN)
			continue;
		fault = check_receiver(ls, &ls->lane[i], &s);
		if (!fault)
			fault = check_sender(ls, &ls->lane[i], i, &s);
	}
	if (!fault)
		fault = check_sums(ls, &s);
	if (!fault)
		fault = check_lane_groups(ls);
	*what = fault ? fault : "";
	return !fault;
}
