/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes that go on by another path: Moving, in lane.h. */
#include "lane_internal.h"

static bool
of_moving(void *arg, uint64_t cookie)
{
	const struct suci_lanes *ls = ((void **)arg)[0];
	return cookie != COOKIE_ACK &&
	       ls->block[cookie].lane == *(const uint32_t *)((void **)arg)[1];
}

/* What waits for its turn or is to be told waits for the next path; what was placed and only waited
 * for the old one to let go of it is done.  Its callbacks may close any lane. */
void
suci_lane_take_off(struct suci_lanes *ls, struct lane *l, uint64_t now_ns)
{
	uint32_t i = lane_index(ls, l), path = l->conf.path;
	void *arg[2] = {ls, &i};
	suci_lane_unready(ls, l);
	suci_lane_ack_unpend(ls, l);
	suci_lane_unlive(ls, l);
	suci_lane_tune_end(ls, l);
	suci_lane_unlink(ls, l);
	l->conf.path = NONE;
	suci_path_purge(ls->ep, path, of_moving, arg, now_ns);
	(void)suci_lane_retire(ls, l, now_ns);
}

static struct lane *
moving_lane(struct suci_lanes *ls, uint32_t lane)
{
	struct lane *l = suci_lane_get(ls, lane);
	return l && l->conf.moves && !l->close_wanted ? l : NULL;
}

void
suci_lane_rest(struct suci_lanes *ls, uint32_t lane, uint64_t now_ns)
{
	struct lane *l = moving_lane(ls, lane);
	if (l && l->conf.path != NONE)
		suci_lane_take_off(ls, l, now_ns);
}

/* The largest segment that it may have to send again. */
static uint32_t
mss_in_use(const struct suci_lanes *ls, const struct lane *l)
{
	uint32_t most = 0;
	for (uint32_t i = l->blocks.head; i != NONE && ls->block[i].sent;
	     i = ls->block[i].link.next)
		most = ls->block[i].mss > most ? ls->block[i].mss : most;
	return most;
}

int
suci_lane_move(struct suci_lanes *ls, uint32_t lane, uint32_t path, uint32_t tx_dst_label,
	       uint32_t rx_src_label, uint64_t now_ns)
{
	struct lane *l = moving_lane(ls, lane);
	if (!l)
		return SUCI_ERR_INVAL;
	if (!suci_path_usable(ls->ep, path) || !suci_path_mss(ls->ep, path))
		return SUCI_ERR_DOWN;
	if (!ls->limits.buckets && rx_src_label >= ls->limits.labels_max)
		return SUCI_ERR_INVAL;
	if (suci_path_mss(ls->ep, path) < mss_in_use(ls, l))
		return SUCI_ERR_TOOBIG;
	if (l->conf.path != NONE)
		suci_lane_take_off(ls, l, now_ns);
	if (l->state != LANE_OPEN) /* a callback closed it */
		return SUCI_ERR_INVAL;
	if (suci_lane_find(ls, path, rx_src_label, l->conf.rx_dst_label) != NONE)
		return SUCI_ERR_EXISTS;
	l->conf.path = path;
	l->conf.tx_dst_label = tx_dst_label;
	l->conf.rx_src_label = rx_src_label;
	suci_lane_link(ls, l);
	ls->count.moved++;
	if (!SUCI_BUG(MOVED_MUTE))
		suci_lane_resend(ls, l);
	suci_lane_ready(ls, l);
	/* What it had told may be lost as well. */
	l->block_over = true;
	suci_lane_ack_pend(ls, l, now_ns);
	return SUCI_ERR_OK;
}
