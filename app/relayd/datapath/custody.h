/* SPDX-License-Identifier: BSD-2-Clause */
/* custody.h - received mbufs and the relay core: a segment in custody keeps the buffer it came in,
 * whose address is the core's cookie, until the next hop has acknowledged it.
 *
 * Threads  the worker. */
#ifndef RD_CUSTODY_H
#define RD_CUSTODY_H

#include "worker.h"

struct rte_mbuf;

/* For struct relay_core_ops; user is the worker. */
uint8_t *rd_custody_writable(void *user, uint64_t cookie, const uint8_t *data, size_t len);
void rd_custody_hold(void *user, uint64_t cookie);
void rd_custody_release(void *user, uint64_t cookie);
uint8_t *rd_custody_buffer(void *user, uint32_t path, uint32_t len, uint64_t *cookie);

/* Give the endpoint a datagram that lies in m.  m is ours, afterwards it is not. */
void rd_custody_offer(struct rd_worker *w, const struct suci_addr *from, struct rte_mbuf *m,
		      uint8_t *datagram, size_t len, uint8_t ecn);
/* The mbuf that a datagram's payload lies in, or NULL: notes and acks have cookies of the endpoint
 * and data elsewhere. */
struct rte_mbuf *rd_custody_of(const struct rd_worker *w, const struct suci_out *o);
/* Buffers that are released go back to the pool together: those that wait for it now. */
void rd_custody_flush(struct rd_worker *w);

#endif
