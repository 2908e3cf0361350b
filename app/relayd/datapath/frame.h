/* SPDX-License-Identifier: BSD-2-Clause */
/* frame.h - from a datagram of the Suci endpoint to a frame in mbufs.
 *
 * A relayed segment's payload lies in the mbuf it was received in, and stays
 * there while we have custody of it.  Sending does not copy it:
 *
 *   nobody else holds the mbuf   headers are written in front of the payload,
 *                                over the old headers, and the mbuf is sent with
 *                                one more reference
 *   the driver still holds it    (a retransmission follows closely) a header
 *                                mbuf and an indirect mbuf of the payload are
 *                                chained, if the port sends chains
 *   otherwise                    everything is copied into a fresh mbuf
 *   sealed                       the same, sealed there
 *
 * Checksums are the port's business if it offers that (rd_port.tx_cksum), except for what
 * goes to our own address: that never meets a port.  Else the worker sums up when the burst
 * leaves, of a payload that is sent from its receive buffer only what the relay has written: the
 * rest keeps the sum it came with, so that what memory did to it shows at the next hop.
 * RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE is not asked for: it wants buffers that nobody else holds, and
 * custody holds them.
 *
 * The destination MAC is left open (rd_leg_send_ip). */
#ifndef RD_FRAME_H
#define RD_FRAME_H

#include "leg.h"

/* ep: the endpoint *o is from, the last one of its suci_tx().  payload: the mbuf that o->data
 * points into, or NULL if it points elsewhere. The frame, or NULL: too large or no buffer, counted
 * in leg. */
struct rte_mbuf *rd_frame_build(struct rd_leg *leg, struct suci *ep, const struct suci_out *o,
				struct rte_mbuf *payload);

/* What the port says of the checksums of m, which came from it: enum rd_known. */
uint32_t rd_frame_known(const struct rd_port *port, const struct rte_mbuf *m);
/* m, in one buffer, has the mark RTE_MBUF_F_RX_L4_CKSUM_NONE: its TCP or UDP checksum is put in if
 * it was left to a port.  Drivers use the mark for datagrams without a checksum, too. */
void rd_frame_complete(struct rd_leg *leg, struct rte_mbuf *m);

/* m came as f says: RD_RX_SUCI, not yet changed. */
void rd_frame_set_tail(struct rte_mbuf *m, const struct rd_rx_frame *f);
/* For one that rd_frame_build() made and left RTE_MBUF_F_TX_UDP_CKSUM on, where the port has no
 * such offload: do it. */
void rd_frame_sum(struct rte_mbuf *m);

/* A buffer for len bytes of a segment that comes over that leg in parts, placed as in a frame, so
 * that its front has room for what it leaves with; its mbuf is *cookie.  NULL if there is none. */
uint8_t *rd_frame_buffer(struct rd_leg *leg, uint32_t len, uint64_t *cookie);

#endif
