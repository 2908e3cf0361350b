/* SPDX-License-Identifier: BSD-2-Clause */
/* How large a window the receiver of a lane grants, and what is looked at now and then.
 *
 * A round is the time from an ack that lets in new segments until the first of them is
 * here: the round trip of the lane, longer if the sender had nothing to send or the way
 * holds a queue.  With n segments come in it,
 *
 *      n / round * shortest round
 *
 * is what has to be under way for that rate, and twice as much is granted.  A round not
 * much longer than the shortest shows that nothing queues yet: then four times as much.
 * A sender that used the whole window and a queue nevertheless: the window is too
 * large, and shrinks a little.  As rounds see queues of the lane's own making, the
 * window is halved every PERIOD_US for a round, which leaves just enough under way, and
 * the shortest round is forgotten after two periods. */
#include "lane_internal.h"

#include "base/serial.h"

#define PERIOD_US	10000000u
#define IDLE_LOOKS	((uint32_t)(SUCI_LANE_IDLE_NS / LANE_LOOK_NS))
#define STALL_LOOKS	4u /* after the first silence; doubled by each resend */
#define RESENDS_MAX	4u
#define STALL_LOOKS_MAX (STALL_LOOKS << RESENDS_MAX)
#define PACE_SLOW	8u  /* a shorter time counts by so much less */
#define PACE_MAX	40u /* 10 s */

/* ---- the window ---- */

static void
resize_tuning(struct suci_lanes *ls, struct lane *l, uint64_t want)
{
	uint32_t to = want < l->conf.window	  ? l->conf.window
		      : want > l->conf.window_max ? l->conf.window_max
						  : (uint32_t)want;
	if (to > l->window && to - l->window > ls->credit_left)
		to = l->window + ls->credit_left;
	ls->count.window_grown += to > l->window;
	ls->credit_left += l->window - to;
	l->window = to;
}

static struct lane_tune *
tune_of(struct suci_lanes *ls, struct lane *l, uint64_t now_ns)
{
	if (l->tune != NONE)
		return &ls->tune[l->tune];
	if (l->conf.window_max == l->conf.window || ls->tune_free == NONE)
		return NULL;
	l->tune = ls->tune_free;
	struct lane_tune *t = &ls->tune[l->tune];
	ls->tune_free = t->next;
	*t = (struct lane_tune){.lane = lane_index(ls, l), .period_us = base_us32(now_ns)};
	suci_lane_live(ls, l);
	return t;
}

void
suci_lane_tune_end(struct suci_lanes *ls, struct lane *l)
{
	if (l->tune == NONE)
		return;
	resize_tuning(ls, l, 0);
	ls->tune[l->tune].next = ls->tune_free;
	ls->tune_free = l->tune;
	l->tune = NONE;
}

static void
mark_tuning(struct lane_tune *t, uint32_t seq, uint64_t now_ns)
{
	t->marked = true;
	t->mark = seq;
	t->mark_count = t->count;
	t->mark_us = base_us32(now_ns);
}

void
suci_lane_tune_told(struct suci_lanes *ls, struct lane *l, uint64_t now_ns)
{
	if (l->tune != NONE && !l->conf.direct && !ls->tune[l->tune].marked)
		mark_tuning(&ls->tune[l->tune], l->edge, now_ns);
}

/* A round ended: n segments in us. */
static void
judge_tuning(struct suci_lanes *ls, struct lane *l, struct lane_tune *t, uint32_t n, uint32_t us)
{
	if (!t->rtt_now_us || us < t->rtt_now_us)
		t->rtt_now_us = us;
	if (!t->rtt_us || us < t->rtt_us)
		t->rtt_us = us;
	uint64_t least = (uint64_t)n * t->rtt_us;
	bool no_queue = us <= t->rtt_us + t->rtt_us / 4;
	uint64_t want = (no_queue ? 4 : 2) * least / us;
	/* The sender was held back by the window, not by want of data. */
	bool used = n >= l->window / 2;
	if (want > l->window)
		resize_tuning(ls, l, want);
	else if (used && want < l->window - l->window / 4)
		resize_tuning(ls, l, l->window - l->window / 8);
}

void
suci_lane_tune_came(struct suci_lanes *ls, struct lane *l, uint32_t seq, uint64_t now_ns)
{
	struct lane_tune *t = l->asker ? NULL : tune_of(ls, l, now_ns);
	if (!t)
		return;
	uint32_t us = base_us32(now_ns), before = l->window;
	t->count++;
	if (t->marked && serial_ge(seq, t->mark)) {
		t->marked = false;
		uint32_t took = us - t->mark_us;
		judge_tuning(ls, l, t, t->count - t->mark_count, took ? took : 1);
	}
	if (us - t->period_us >= PERIOD_US) {
		t->period_us = us;
		t->rtt_us = t->rtt_now_us;
		t->rtt_now_us = 0;
		resize_tuning(ls, l, l->window / 2);
	}
	if (!l->conf.direct)
		return;
	/* Its sender counts acks of the path, so a round goes by what came. */
	if (!t->marked)
		mark_tuning(t, l->rx_next + l->window, now_ns);
	if (l->window != before)
		suci_lane_send_ack(ls, l, now_ns);
}

/* ---- looks ---- */

static struct base_ilinks
live_links(const struct suci_lanes *ls)
{
	return BASE_ILINKS(ls->lane, live_link);
}

void
suci_lane_live(struct suci_lanes *ls, struct lane *l)
{
	if (l->live)
		return;
	l->live = true;
	l->stalled = l->resends = 0;
	l->moved = false;
	base_ilist_append(&ls->live, live_links(ls), lane_index(ls, l));
	if (ls->look_at_ns == BASE_NEVER_NS) {
		ls->look_at_ns = base_add_ns(suci_upper_now(ls->ep), LANE_LOOK_NS);
		suci_lane_arm(ls);
	}
}

static bool
times(const struct suci_lanes *ls, const struct lane_pace *t, const struct lane *l)
{
	return t->lane == lane_index(ls, l);
}

void
suci_lane_unlive(struct suci_lanes *ls, struct lane *l)
{
	struct lane_group *g = lane_group_of(ls, l);
	if (g && times(ls, &g->pace, l))
		g->pace.lane = NONE;
	if (!l->live)
		return;
	l->live = false;
	base_ilist_unlink(&ls->live, live_links(ls), lane_index(ls, l));
}

static void
learn(struct lane_pace *t, uint32_t took)
{
	if (took >= t->most)
		t->most = (uint16_t)took;
	else
		t->most = (uint16_t)(t->most - (t->most - took + PACE_SLOW - 1) / PACE_SLOW);
}

/* Relays of a trunk slower than what comes hold seconds of it.  Acks of a lane come that late, too,
 * and many at once: silence of a second is no loss there, and what went again for it would make the
 * queue longer for all.  So as in RFC 6298 the time that acks take is known before silence counts,
 * and as Karn has it only by what went once. */
static void
time_lane(struct suci_lanes *ls, struct lane_pace *t, struct lane *l)
{
	if (t->lane == NONE) {
		*t = (struct lane_pace){
			.lane = lane_index(ls, l), .seq = l->next_seq, .most = t->most};
		return;
	}
	if (!times(ls, t, l))
		return;
	if (t->fresh && l->next_seq != t->seq) {
		t->fresh = false;
		t->seq = l->next_seq;
		t->took = 0;
		return;
	}
	t->took = (uint16_t)(t->took + (t->took < PACE_MAX));
	if (!t->fresh && l->moved && t->took > t->most)
		t->most = t->took; /* so long at least */
	if (serial_lt(l->acked_seq, t->seq))
		return;
	if (!t->fresh)
		learn(t, t->took);
	t->lane = NONE;
}

static uint32_t
patience(uint32_t most, const struct lane *l)
{
	uint32_t looks = (2u * most < STALL_LOOKS ? STALL_LOOKS : 2u * most) << l->resends;
	return looks < STALL_LOOKS_MAX ? looks : STALL_LOOKS_MAX;
}

/* True: it is to be sent again what is not acknowledged end to end. */
static bool
is_stalled(struct lane *l, uint32_t most)
{
	if (l->moved || l->outstanding) {
		if (l->moved)
			l->resends = 0;
		l->moved = false;
		l->stalled = 0;
		return false;
	}
	if (++l->stalled < patience(most, l))
		return false;
	l->stalled = 0;
	if (l->resends < RESENDS_MAX)
		l->resends++;
	return true;
}

/* In a group, in lives, or one that moves: no ack came, and no path here is at it any more.
 * Something was lost with a relay.  True: there is something to wait for. */
static bool
look_at_sent(struct suci_lanes *ls, struct lane *l)
{
	struct lane_group *g = lane_group_of(ls, l);
	if (!g && !l->life && !l->conf.moves)
		return false;
	if (l->next_seq == l->acked_seq) {
		if (g && times(ls, &g->pace, l))
			time_lane(ls, &g->pace, l);
		if (g && times(ls, &g->pace, l))
			g->pace.lane = NONE;
		return false;
	}
	if (g)
		time_lane(ls, &g->pace, l);
	if (!is_stalled(l, g ? g->pace.most : 0))
		return true;
	if (g && times(ls, &g->pace, l)) {
		g->pace.fresh = true;
		g->pace.seq = l->next_seq;
	}
	suci_lane_resend(ls, l);
	return true;
}

static bool
look_at_received(struct suci_lanes *ls, struct lane *l)
{
	l->told_late = l->told_now;
	l->told_now = false;
	if (l->tune == NONE)
		return l->told_late;
	struct lane_tune *t = &ls->tune[l->tune];
	t->idle = t->count == t->seen ? (uint8_t)(t->idle + 1) : 0;
	t->seen = t->count;
	/* The sender begins again by itself, a little earlier. */
	if (t->idle <= IDLE_LOOKS)
		return true;
	ls->count.window_idle += l->window > l->conf.window;
	suci_lane_tune_end(ls, l);
	return l->told_late;
}

void
suci_lane_look(struct suci_lanes *ls, uint64_t now_ns)
{
	suci_lane_group_look(ls, now_ns);
	for (uint32_t i = ls->live.head, next; i != NONE; i = next) {
		struct lane *l = &ls->lane[i];
		next = l->live_link.next;
		bool sent = look_at_sent(ls, l);
		if (!look_at_received(ls, l) && !sent)
			suci_lane_unlive(ls, l);
	}
	bool more = ls->live.head != NONE || ls->groups_down;
	ls->look_at_ns = more ? base_add_ns(now_ns, LANE_LOOK_NS) : BASE_NEVER_NS;
}
