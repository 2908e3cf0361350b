/* SPDX-License-Identifier: BSD-2-Clause */
#include "custody.h"
#include "frame.h"

#include <rte_mbuf.h>

static struct rte_mbuf *
mbuf_of(uint64_t cookie)
{
	return (struct rte_mbuf *)(uintptr_t)cookie;
}

/* Receive buffers are ours alone; a driver may still read one only after we sent
 * it, and then its segment is in custody and is not offered again. */
uint8_t *
rd_custody_writable(void *user, uint64_t cookie, const uint8_t *data, size_t len)
{
	(void)user;
	(void)len;
	const struct rte_mbuf *m = mbuf_of(cookie);
	return RTE_MBUF_DIRECT(m) ? (uint8_t *)(uintptr_t)data : NULL;
}

/* Nearly every frame that the endpoint looks at is kept, once: then it gets our reference,
 * where counting up and down again would be two atomic operations. */
void
rd_custody_hold(void *user, uint64_t cookie)
{
	struct rd_worker *w = user;
	if (cookie == w->rx_ours) {
		w->rx_ours = 0;
		w->rx_given = cookie;
	} else {
		rte_mbuf_refcnt_update(mbuf_of(cookie), 1);
	}
}

void
rd_custody_flush(struct rd_worker *w)
{
	if (w->nfreed)
		rte_mempool_put_bulk(w->pool, (void *const *)w->freed, w->nfreed);
	w->nfreed = 0;
}

/* An ack releases many at a time. */
static inline void
free_later(struct rd_worker *w, struct rte_mbuf *m)
{
	if (rte_mbuf_refcnt_read(m) != 1 || !RTE_MBUF_DIRECT(m) || m->nb_segs != 1 || m->next ||
	    m->pool != w->pool) {
		rte_pktmbuf_free(m);
		return;
	}
	w->freed[w->nfreed++] = m;
	if (w->nfreed == RD_BURST)
		rd_custody_flush(w);
}

void
rd_custody_release(void *user, uint64_t cookie)
{
	struct rd_worker *w = user;
	if (cookie == w->rx_given) {
		w->rx_given = 0;
		w->rx_ours = cookie; /* it is still being looked at */
	} else {
		free_later(w, mbuf_of(cookie));
	}
}

/* Processes need none: the private leg takes what it says. */
uint8_t *
rd_custody_buffer(void *user, uint32_t path, uint32_t len, uint64_t *cookie)
{
	struct rd_worker *w = user;
	struct suci_path_info i;
	bool may = suci_path_info(w->ep, path, &i) && i.peer.leg != RD_LEG_PRIVATE;
	return may ? rd_frame_buffer(&w->leg[i.peer.leg], len, cookie) : NULL;
}

void
rd_custody_offer(struct rd_worker *w, const struct suci_addr *from, struct rte_mbuf *m,
		 uint8_t *datagram, size_t len, uint8_t ecn)
{
	uint64_t cookie = (uint64_t)(uintptr_t)m;
	w->rx_ours = cookie;
	suci_rx_ecn(w->ep, from, datagram, len, ecn, cookie, w->now_ns);
	bool ours = w->rx_ours == cookie;
	w->rx_ours = w->rx_given = 0;
	if (ours)
		free_later(w, m);
}

struct rte_mbuf *
rd_custody_of(const struct rd_worker *w, const struct suci_out *o)
{
	if (!o->has_segment || !o->data_len || o->cookie < w->pool_low ||
	    o->cookie >= w->pool_high || (o->cookie & (RTE_CACHE_LINE_SIZE - 1)))
		return NULL;
	struct rte_mbuf *m = mbuf_of(o->cookie);
	const uint8_t *start = m->buf_addr;
	return m->pool == w->pool && o->data >= start && o->data < start + m->buf_len ? m : NULL;
}
