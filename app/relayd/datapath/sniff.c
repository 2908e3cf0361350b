/* SPDX-License-Identifier: BSD-2-Clause */
/* rte_pcapng.h is complete, but DPDK 22.11 does not promise its ABI. */
#define ALLOW_EXPERIMENTAL_API
#include "sniff.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_pcapng.h>
#include <rte_version.h>

static uint32_t *
mark_of(const struct rd_sniffer *s, const struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, s->mark_at, uint32_t *);
}

static void
count(_Atomic uint64_t *n)
{
	/* One writer. */
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

static struct rte_mbuf *
copy(const struct rd_sniffer *s, uint16_t port, const struct rte_mbuf *m,
     enum rte_pcapng_direction dir)
{
#if RTE_VERSION >= RTE_VERSION_NUM(24, 11, 0, 0) /* takes the time itself, and a comment */
	return rte_pcapng_copy(port, 0, m, s->pool, s->snaplen, dir, NULL);
#else
	return rte_pcapng_copy(port, 0, m, s->pool, s->snaplen, rte_get_tsc_cycles(), dir);
#endif
}

/* c NULL: there was no buffer for it. */
static void
keep_frame(struct rd_sniffer *s, struct rte_mbuf *c)
{
	count(&s->seen);
	if (c && base_ring_push(&s->ring, c))
		return;
	count(&s->lost);
	rte_pktmbuf_free(c);
}

void
rd_sniff_rx(struct rd_sniffer *s, uint32_t leg, uint16_t port, const struct rte_mbuf *m)
{
	s->hit = false;
	if (!rd_filter_frame(&s->filter, leg, RD_IN, rte_pktmbuf_mtod(m, uint8_t *), m->data_len))
		return;
	s->pending = copy(s, port, m, RTE_PCAPNG_DIRECTION_IN);
	if (!s->pending && !s->segments)
		keep_frame(s, NULL);
	s->hit = !s->segments;
}

void
rd_sniff_rx_done(struct rd_sniffer *s)
{
	if (s->pending && s->hit)
		keep_frame(s, s->pending);
	else
		rte_pktmbuf_free(s->pending);
	s->pending = NULL;
}

void
rd_sniff_segment(struct rd_sniffer *s, const struct relay_seen *seen)
{
	bool chosen = rd_filter_segment(&s->filter, seen->job, seen->src_rank, seen->dst_rank);
	s->hit = s->hit || chosen;
	if (seen->bytes)
		*mark_of(s, (const struct rte_mbuf *)(uintptr_t)seen->cookie) =
			chosen ? s->mark : 0;
}

void
rd_sniff_built(const struct rd_sniffer *s, struct rte_mbuf *frame, const struct rte_mbuf *payload)
{
	*mark_of(s, frame) = payload ? *mark_of(s, payload) : 0;
}

void
rd_sniff_tx(struct rd_sniffer *s, uint32_t leg, uint16_t port, struct rte_mbuf *const *m,
	    uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (s->segments && *mark_of(s, m[i]) != s->mark)
			continue;
		if (rd_filter_frame(&s->filter, leg, RD_OUT, rte_pktmbuf_mtod(m[i], uint8_t *),
				    m[i]->data_len))
			keep_frame(s, copy(s, port, m[i], RTE_PCAPNG_DIRECTION_OUT));
	}
}
