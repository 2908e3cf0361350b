/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames between the worker's rings and the TAPs. */
#include "tap.h"

#include "rd/packet.h"

#include <unistd.h>

#include <rte_mbuf.h>

uint32_t
rd_tap_read(struct rd_taps *t, int leg, uint32_t max)
{
	uint32_t n = 0;
	while (n < max && t->fd[leg] >= 0) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(t->pool);
		if (!m) {
			uint8_t lost[64]; /* a short read drops the rest of the frame */
			if (read(t->fd[leg], lost, sizeof lost) < 0)
				break;
			n++;
			t->count.drop_no_buffer++;
			continue;
		}
		ssize_t len =
			read(t->fd[leg], rte_pktmbuf_mtod(m, void *), rte_pktmbuf_tailroom(m));
		if (len < 0) { /* EAGAIN: that was all */
			rte_pktmbuf_free(m);
			break;
		}
		n++;
		if (len < RD_ETH_HDR) {
			rte_pktmbuf_free(m);
			continue;
		}
		m->data_len = (uint16_t)len;
		m->pkt_len = (uint32_t)len;
		if (base_ring_push(&t->box->from_tap[leg], m)) {
			t->count.from_kernel++;
		} else {
			t->count.drop_full++;
			rte_pktmbuf_free(m);
		}
	}
	return n;
}

uint32_t
rd_tap_write(struct rd_taps *t, int leg, uint32_t max)
{
	uint32_t n = 0;
	struct rte_mbuf *m;
	for (; n < max && (m = base_ring_pop(&t->box->to_tap[leg])); n++) {
		ssize_t len = t->fd[leg] < 0
				      ? -1
				      : write(t->fd[leg], rte_pktmbuf_mtod(m, void *), m->data_len);
		if (len == m->data_len)
			t->count.to_kernel++;
		else
			t->count.drop_write++;
		rte_pktmbuf_free(m);
	}
	return n;
}
