/* SPDX-License-Identifier: BSD-2-Clause */
/* sniff.h - a worker's end of a capture: copies of the frames that a filter chooses.
 *
 *     rx burst -- rd_sniff_rx, suci_rx, rd_sniff_rx_done --+
 *                  (core: rd_sniff_segment)                +--> ring --> capture.h's thread
 *     tx flush -- rd_sniff_tx -----------------------------+
 *
 * Frames are taken as they are on the wire: before the endpoint opens what is sealed, after
 * it has sealed.  Whether a frame has a segment of chosen processes is known from the
 * core, which has it in its hands right after the frame came in; its buffer is marked, so
 * that the frames in which it leaves are known too.  (A segment without payload has no
 * buffer to mark: pure lane acknowledgements of chosen processes are seen as they come
 * in only.)
 *
 * Nothing here waits: without a free buffer or room in the ring a frame is counted as lost
 * to the capture and goes its way.  A relay without a capture pays one test a burst.
 *
 * Threads  the worker that was given it; seen and lost are read by others, too. */
#ifndef RD_SNIFF_H
#define RD_SNIFF_H

#include "base/ring.h"
#include "rd/filter.h"
#include "relay/core.h"

#include <stdatomic.h>

#define RD_SNIFF_RING 2048

struct rte_mbuf;
struct rte_mempool;

struct rd_sniffer {
	struct rd_filter filter;
	bool segments; /* rd_filter_wants_segments() */
	struct rte_mempool *pool;
	uint32_t snaplen;
	size_t mark_at; /* offset of the mark in struct rte_mbuf */
	uint32_t mark;	/* of this capture; not 0 */
	struct rte_mbuf *pending;
	bool hit;
	_Atomic uint64_t seen, lost; /* frames chosen; of them not captured */
	struct base_ring ring;	     /* of copies, ready to be written */
	void *slot[RD_SNIFF_RING];
};

void rd_sniff_rx(struct rd_sniffer *s, uint32_t leg, uint16_t port, const struct rte_mbuf *m);
void rd_sniff_rx_done(struct rd_sniffer *s);
/* The core took a segment out of the frame of the last rd_sniff_rx(), or one of the
 * gateway's. */
void rd_sniff_segment(struct rd_sniffer *s, const struct relay_seen *seen);
/* A datagram was built for the segment whose buffer is payload (NULL: for none). */
void rd_sniff_built(const struct rd_sniffer *s, struct rte_mbuf *frame,
		    const struct rte_mbuf *payload);
void rd_sniff_tx(struct rd_sniffer *s, uint32_t leg, uint16_t port, struct rte_mbuf *const *m,
		 uint32_t n);

#endif
