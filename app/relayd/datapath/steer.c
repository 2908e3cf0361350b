/* SPDX-License-Identifier: BSD-2-Clause */
#include "steer.h"

#include "worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#define TOLD_MAX 256u /* bytes of what a neighbour says */

int
rd_steer_init(struct rd_steer *s, uint32_t workers)
{
	size_t len = (size_t)workers * workers * sizeof *s->pair;
	s->pair = aligned_alloc(64, (len + 63) & ~(size_t)63);
	if (!s->pair)
		return -ENOMEM;
	memset(s->pair, 0, len);
	s->n = workers;
	for (uint32_t i = 0; i < workers * workers; i++) {
		base_ring_init(&s->pair[i].rx, s->pair[i].slot_rx, RD_STEER_RING);
		base_ring_init(&s->pair[i].tx, s->pair[i].slot_tx, RD_STEER_RING);
	}
	return 0;
}

void
rd_steer_fini(struct rd_steer *s)
{
	struct rte_mbuf *m;
	for (uint32_t i = 0; i < s->n * s->n; i++) {
		while ((m = base_ring_pop(&s->pair[i].rx)))
			rte_pktmbuf_free(m);
		while ((m = base_ring_pop(&s->pair[i].tx)))
			rte_pktmbuf_free(m);
	}
	free(s->pair);
	*s = (struct rd_steer){0};
}

void
rd_steer_hand(struct rd_worker *w, struct rd_leg *leg, struct rte_mbuf *m, uint32_t to)
{
	if (!base_ring_push(&rd_steer_pair(w->steer, w->index, to)->rx, m)) {
		leg->count.drop_steer_full++;
		rte_pktmbuf_free(m);
		return;
	}
	leg->count.steered++;
	w->wake_workers |= 1u << to;
}

void
rd_steer_tell(struct rd_worker *w, struct rd_leg *leg, const struct rte_mbuf *m)
{
	/* Neighbour discovery has more to say than ARP, but not much. */
	uint16_t len = m->data_len < TOLD_MAX ? m->data_len : TOLD_MAX;
	for (uint32_t to = 0; to < w->nworkers; to++) {
		if (to == w->index)
			continue;
		struct rte_mbuf *copy = rte_pktmbuf_alloc(w->pool);
		void *at = copy ? rte_pktmbuf_append(copy, len) : NULL;
		if (!at) {
			leg->count.drop_no_buffer++;
			rte_pktmbuf_free(copy);
			return;
		}
		memcpy(at, rte_pktmbuf_mtod(m, void *), len);
		copy->port = leg->index;
		if (base_ring_push(&rd_steer_pair(w->steer, w->index, to)->rx, copy)) {
			leg->count.steer_told++;
			w->wake_workers |= 1u << to;
		} else {
			leg->count.drop_steer_full++;
			rte_pktmbuf_free(copy);
		}
	}
}

void
rd_steer_out(void *user, struct rd_leg *leg, struct rte_mbuf *m)
{
	struct rd_worker *w = user;
	m->port = leg->index;
	if (!base_ring_push(&rd_steer_pair(w->steer, w->index, leg->via)->tx, m)) {
		leg->count.drop_steer_full++;
		rte_pktmbuf_free(m);
		return;
	}
	leg->count.tx_steered++;
	w->wake_workers |= 1u << leg->via;
}

static struct rd_leg *
leg_of(struct rd_worker *w, const struct rte_mbuf *m)
{
	return &w->leg[m->port < w->nlegs ? m->port : RD_LEG_PRIVATE];
}

/* Into a buffer of our own pool: what we hold must not starve another's queue. */
static struct rte_mbuf *
own_copy(struct rd_worker *w, struct rd_leg *leg, const struct rte_mbuf *m)
{
	struct rte_mbuf *copy = rte_pktmbuf_alloc(w->pool);
	void *at = copy ? rte_pktmbuf_append(copy, (uint16_t)m->pkt_len) : NULL;
	if (!at) {
		leg->count.drop_no_buffer++;
		rte_pktmbuf_free(copy);
		return NULL;
	}
	memcpy(at, rte_pktmbuf_mtod(m, void *), m->pkt_len);
	copy->port = m->port;
	copy->ol_flags = m->ol_flags & (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK);
	return copy;
}

uint32_t
rd_steer_in(struct rd_worker *w,
	    void (*fn)(struct rd_worker *w, struct rd_leg *leg, struct rte_mbuf *m))
{
	uint32_t n = 0;
	for (uint32_t from = 0; from < w->nworkers; from++) {
		struct rd_steer_pair *p = rd_steer_pair(w->steer, from, w->index);
		struct rte_mbuf *m, *burst[RD_BURST];
		uint32_t came = 0;
		if (from == w->index)
			continue;
		while (came < RD_BURST && (m = base_ring_pop(&p->rx)))
			burst[came++] = m;
		if (came)
			rd_worker_see_clock(w);
		for (uint32_t k = 0; k < came; k++, n++) {
			struct rd_leg *leg = leg_of(w, burst[k]);
			struct rte_mbuf *copy = own_copy(w, leg, burst[k]);
			rte_pktmbuf_free(burst[k]);
			if (copy)
				fn(w, leg, copy);
		}
		for (uint32_t k = 0; k < RD_BURST && (m = base_ring_pop(&p->tx)); k++, n++)
			rd_leg_push(leg_of(w, m), m);
	}
	return n;
}

bool
rd_steer_waiting(const struct rd_worker *w)
{
	for (uint32_t from = 0; w->steer && from < w->nworkers; from++) {
		struct rd_steer_pair *p = rd_steer_pair(w->steer, from, w->index);
		if (from != w->index && (base_ring_count(&p->rx) || base_ring_count(&p->tx)))
			return true;
	}
	return false;
}
