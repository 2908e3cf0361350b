/* SPDX-License-Identifier: BSD-2-Clause */
/* gw_check(): do the tables agree with each other? */
#include "gateway_internal.h"

struct sums {
	uint64_t packets, mem, whole, for_lanes;
};

static void
add_check(const struct gw *g, struct sums *s, uint32_t packet, bool whole)
{
	s->packets++;
	s->mem += g->pool.packet[packet].mem;
	s->whole += whole;
}

static bool
queue_good(const struct gw *g, const struct gw_queue *q, struct sums *s)
{
	uint32_t n = 0, prev = GW_NONE;
	for (uint32_t i = q->l.head; i != GW_NONE; i = g->pool.packet[i].link.next) {
		const struct gw_packet *k = &g->pool.packet[i];
		if (k->mem == 0 || k->link.prev != prev || ++n > q->n)
			return false;
		add_check(g, s, i, k->whole);
		prev = i;
	}
	return n == q->n && q->l.tail == prev;
}

static const char *
check_chan(struct gw *g, uint32_t chan, struct sums *s)
{
	const struct gw_chan *c = &g->chan[chan];
	struct sums mine = {0};
	uint32_t half = c->ring;
	if (c->state == GW_CHAN_FREE)
		return NULL;
	if (!queue_good(g, &c->out, &mine) || !queue_good(g, &c->acks, &mine))
		return "a queue of a channel is broken";
	while (half != GW_NONE) {
		const struct gw_half *h = gw_half(g, half);
		if (h->out_chan != chan || h->queue.n == 0 ||
		    gw_half(g, h->ring_next)->ring_prev != half)
			return "the ring of a channel is broken";
		if (!queue_good(g, &h->queue, &mine))
			return "a queue of a pair is broken";
		half = h->ring_next == c->ring ? GW_NONE : h->ring_next;
	}
	if (mine.packets != c->nqueued)
		return "packets queued for a channel do not add up";
	if (c->state == GW_CHAN_OVER && (mine.packets || c->rx_packet != GW_NONE))
		return "a closed channel has packets";
	if (c->rx_packet != GW_NONE)
		add_check(g, &mine, c->rx_packet, false);
	s->packets += mine.packets;
	s->mem += mine.mem;
	s->whole += mine.whole;
	return NULL;
}

static const char *
check_pair(struct gw *g, const struct gw_pair *p, struct sums *s)
{
	if (!p->used)
		return NULL;
	if (!queue_good(g, &p->arriving, s))
		return "a queue of arriving packets is broken";
	if (p->half[0].out_chan == GW_NONE && !queue_good(g, &p->half[0].queue, s))
		return "a queue for a lane is broken";
	if (p->waiting != (p->half[0].out_chan == GW_NONE && p->half[0].queue.n > 0))
		return "a pair waits for the path without a packet, or the reverse";
	s->for_lanes += p->waiting ? p->half[0].queue.n : 0;
	if (p->lane != GW_NONE && g->lane_pair[p->lane] != (uint32_t)(p - g->pair))
		return "lane and pair do not agree";
	return NULL;
}

/* Charges of the channels, from the packets themselves. */
static const char *
check_charges(struct gw *g)
{
	uint64_t held = 0, lane = 0, mem = 0;
	const struct gw_arena *a = g->pool.arena;
	for (uint32_t i = 0; i < g->conf.limits.channels_max; i++)
		if (g->chan[i].state != GW_CHAN_FREE) {
			held += g->chan[i].held_mem;
			lane += g->chan[i].lane_mem;
		}
	for (uint32_t i = 0; i < g->pool.npackets; i++)
		mem += g->pool.packet[i].mem;
	return held != a[GW_FROM_CHANNEL].used || lane != a[GW_FROM_LANE].used ||
			       mem != gw_pool_used(&g->pool)
		       ? "charges do not add up to the memory used"
		       : NULL;
}

bool
gw_check(struct gw *g, const char **what)
{
	struct sums s = {0};
	const char *bad = NULL;
	if (!gw_pool_check(&g->pool, what))
		return false;
	for (uint32_t i = 0; i < g->conf.limits.channels_max && !bad; i++)
		bad = check_chan(g, i, &s);
	for (uint32_t i = 0; i < g->conf.limits.lanes_max && !bad; i++)
		bad = check_pair(g, &g->pair[i], &s);
	/* The others are blocks on their way over lanes. */
	uint32_t on_lanes = suci_lanes_pending(g->lanes);
	uint64_t undelivered = 0;
	const struct gw_counters *n = &g->n;
	if (!bad &&
	    s.packets + on_lanes != g->pool.arena[0].packets_used + g->pool.arena[1].packets_used)
		bad = "packets are lost";
	for (uint32_t i = 0; i < g->conf.limits.jobs_max; i++)
		undelivered += g->job[i].used ? g->job[i].undelivered : 0;
	if (!bad && undelivered != s.for_lanes + on_lanes)
		bad = "packets for processes do not add up";
	if (!bad && s.whole + on_lanes != g->whole)
		bad = "whole packets do not add up";
	if (!bad && n->rx_tcp + n->rx_lane != n->tx_tcp + n->tx_lane + g->whole +
						      n->drop_after_fini + n->drop_job_over +
						      n->drop_lane_malformed)
		bad = "packets in and out do not add up";
	if (!bad)
		bad = check_charges(g);
	*what = bad;
	return bad == NULL;
}
