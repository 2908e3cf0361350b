/* SPDX-License-Identifier: BSD-2-Clause */
/* Lane acks: how far the receiving half is, how much it grants, what it threw away. */
#include "lane_internal.h"

#include "base/serial.h"

#define ACK_WAIT_NS	BASE_MS_NS
#define ACK_LONG	64 /* of them count as one while the sender has no use for it */
#define ACK_WAITS_MAX	15 /* of those */
#define ACK_WAITS_GROUP 2  /* the same in a group */

/* ---- acks ---- */

static struct base_ilinks
pending_links(const struct suci_lanes *ls)
{
	return BASE_ILINKS(ls->lane, pending_link);
}

void
suci_lane_ack_unpend(struct suci_lanes *ls, struct lane *l)
{
	if (!l->ack_pending)
		return;
	base_ilist_unlink(&ls->pending, pending_links(ls), lane_index(ls, l));
	l->ack_pending = false;
}

void
suci_lane_ack_pend(struct suci_lanes *ls, struct lane *l, uint64_t now_ns)
{
	if (lane_rests(l))
		return; /* it tells with its next path */
	if (!l->ack_pending) {
		base_ilist_append(&ls->pending, pending_links(ls), lane_index(ls, l));
		l->ack_pending = true;
	}
	if (ls->ack_at_ns == BASE_NEVER_NS) {
		ls->ack_at_ns = now_ns + ACK_WAIT_NS;
		suci_lane_arm(ls);
	}
}

/* Segments past rx_next that the sender may have outstanding.  One always: it needs no
 * room, and neither do those behind it as long as they come in order.  So a lane that was
 * refused something may send as much as came in order since, which doubles with each round trip,
 * however little room there is.  Beyond that it gets its share of the room there is now:
 * strictly by priority, evenly within one. */
static uint32_t
grant_ack(struct suci_lanes *ls, const struct lane *l)
{
	if (!l->asker)
		return l->window;
	uint32_t n = 1 + l->in_order;
	bool first = true;
	for (uint32_t prio = l->conf.prio + 1u; prio < PRIOS; prio++)
		first = first && !ls->askers[prio];
	if (first)
		n += suci_lane_room(ls, NONE) / ls->askers[l->conf.prio];
	return n < l->window ? n : l->window;
}

void
suci_lane_put_ack(struct suci_lanes *ls, struct lane *l, struct suci_segment *seg)
{
	uint32_t window = grant_ack(ls, l);
	seg->credit_shift = 0;
	while (window >> seg->credit_shift > UINT16_MAX)
		seg->credit_shift++;
	seg->window = (uint16_t)(window >> seg->credit_shift);
	seg->ack = l->rx_next;
	if (SUCI_BUG(EARLY_ACK) && l->ranges.head != NONE)
		seg->ack = ls->range[l->ranges.head].end;
	uint32_t edge = l->rx_next + window;
	if (serial_gt(edge, l->edge)) {
		suci_lane_tune_told(ls, l, suci_upper_now(ls->ep));
		l->edge = edge;
	}
	if (l->conf.group != NONE) {
		l->told_now = true;
		suci_lane_live(ls, l);
	}
}

/* Over the path of the lane; of a group's each in turn, so that one which is dead and
 * not known to be does not swallow all of them.  Those that drain only if there is no other. */
static int
send_away(struct suci_lanes *ls, struct lane *l, const struct suci_segment *seg, uint64_t now_ns)
{
	struct lane_group *g = lane_group_of(ls, l);
	if (lane_rests(l))
		return SUCI_ERR_DOWN;
	if (!g)
		return suci_path_send(ls->ep, l->conf.path, seg, now_ns);
	int err = SUCI_ERR_DOWN;
	for (uint32_t drains = 0; drains < 2 && err == SUCI_ERR_DOWN; drains++)
		for (uint32_t i = 0; i < g->n && err; i++) {
			const struct lane_member *m = &g->m[++g->ack_turn % g->n];
			if (m->drains == drains)
				err = suci_path_send(ls->ep, m->path, seg, now_ns);
		}
	return err;
}

/* Tell the sender how far we are and what we threw away, by segments of their own. */
bool
suci_lane_send_ack(struct suci_lanes *ls, struct lane *l, uint64_t now_ns)
{
	do {
		struct suci_segment seg = {
			.dst_label = l->conf.tx_dst_label,
			.src_label = l->conf.tx_src_label,
			.flags = (uint16_t)(SUCI_SF_ACK | l->conf.prio << SUCI_SF_PRIO_SHIFT),
			.life = l->life,
			.cookie = COOKIE_ACK,
		};
		suci_lane_put_ack(ls, l, &seg);
		if (l->nnacks) {
			const struct lane_nack *k = &l->nack[l->nnacks - 1];
			seg.flags |= SUCI_SF_REFUSED;
			seg.seq = k->lo;
			seg.block = k->end - k->lo;
		}
		if (send_away(ls, l, &seg, now_ns) != SUCI_ERR_OK)
			return false;
		l->told = l->rx_next;
		ls->count.tx_acks++;
		if (l->nnacks) {
			ls->count.tx_refusals++;
			l->nnacks--;
		}
	} while (l->nnacks);
	l->block_over = false;
	l->ack_waits = 0;
	suci_lane_ack_unpend(ls, l);
	return true;
}

/* In the middle of a block the sender gets nothing back, and of its window it has three
 * quarters left: it can wait.  In a group a second of silence would look like a dead path. */
static bool
can_wait(struct lane *l, bool long_over)
{
	if (l->block_over || l->nnacks || l->asker)
		return false;
	if (long_over)
		l->ack_waits++;
	bool may_move = l->conf.group != NONE || l->conf.moves;
	return l->ack_waits < (may_move ? ACK_WAITS_GROUP : ACK_WAITS_MAX);
}

static void
send_pending(struct suci_lanes *ls, bool all, uint64_t now_ns)
{
	bool long_over = !all && !(++ls->ack_looks % ACK_LONG);
	for (uint32_t i = ls->pending.head, next; i != NONE; i = next) {
		next = ls->lane[i].pending_link.next;
		if (all || !can_wait(&ls->lane[i], long_over))
			suci_lane_send_ack(ls, &ls->lane[i], now_ns);
	}
}

void
suci_lane_acks_due(struct suci_lanes *ls, uint64_t now_ns)
{
	send_pending(ls, false, now_ns);
	bool more = ls->pending.head != NONE; /* that can wait, or whose queue is full */
	ls->ack_at_ns = more ? now_ns + ACK_WAIT_NS : BASE_NEVER_NS;
}

void
suci_lanes_flush(struct suci_lanes *ls, uint64_t now_ns)
{
	send_pending(ls, true, now_ns);
}

bool
suci_lanes_owing(const struct suci_lanes *ls)
{
	return ls->pending.head != NONE;
}

void
suci_lane_owe_ack(struct suci_lanes *ls, struct lane *l, bool now, uint64_t now_ns)
{
	if (l->conf.direct)
		return; /* the path's ack says it all */
	if (l->ask_set && serial_gt(l->rx_next, l->ask_seq)) {
		l->ask_set = false;
		now = true;
	}
	if (l->rx_next - l->told >= l->window / 4)
		now = true;
	if (now && suci_lane_send_ack(ls, l, now_ns))
		return;
	if (now || l->rx_next != l->told || l->nnacks)
		suci_lane_ack_pend(ls, l, now_ns);
}

/* ---- refusals of a relayed lane ---- */

static void
note_refused(struct lane *l, uint32_t seq)
{
	uint32_t best = 0, least = UINT32_MAX;
	for (uint32_t i = 0; i < l->nnacks; i++) {
		const struct lane_nack *k = &l->nack[i];
		uint32_t away = serial_lt(seq, k->lo)	 ? k->lo - seq
				: serial_ge(seq, k->end) ? seq - k->end + 1
							 : 0;
		if (away < least) {
			least = away;
			best = i;
		}
	}
	if (l->nnacks < NACKS_MAX && least > 1) {
		l->nack[l->nnacks++] = (struct lane_nack){seq, seq + 1};
		return;
	}
	/* Too many holes: the nearest range grows over what lies between, and that may
	 * come once too often. */
	struct lane_nack *k = &l->nack[best];
	if (serial_lt(seq, k->lo))
		k->lo = seq;
	if (serial_ge(seq, k->end))
		k->end = seq + 1;
}

void
suci_lane_want_again(struct suci_lanes *ls, struct lane *l, uint32_t seq, uint64_t now_ns)
{
	note_refused(l, seq);
	suci_lane_ack_pend(ls, l, now_ns);
}

/* No room.  Refused on its path, the segment would stay in the relay before us and take
 * a record there that the one we wait for may need.  So it is taken and thrown away,
 * and its sender, who has it until we placed it, is told to send it again. */
enum suci_verdict
suci_lane_refuse(struct suci_lanes *ls, struct lane *l, const struct suci_segment *s,
		 uint64_t now_ns)
{
	if (l->conf.direct)
		return SUCI_REFUSED;
	/* Once for those of one ack: they were one mistake. */
	if (!l->nnacks)
		l->in_order /= 2;
	suci_lane_want_again(ls, l, s->seq, now_ns);
	if (!l->asker) {
		l->asker = true;
		l->in_order = 0;
		l->refused_end = s->seq + 1;
		ls->askers[l->conf.prio]++;
	} else if (serial_gt(s->seq + 1, l->refused_end)) {
		l->refused_end = s->seq + 1;
	}
	return SUCI_TAKEN;
}

void
suci_lane_ask_no_more(struct suci_lanes *ls, struct lane *l)
{
	if (!l->asker)
		return;
	l->asker = false;
	ls->askers[l->conf.prio]--;
}
