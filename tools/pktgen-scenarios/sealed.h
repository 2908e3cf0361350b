/* SPDX-License-Identifier: BSD-2-Clause */
/* sealed.h - datagrams of a sealed path that a player sends and receives in the place of an
 * endpoint of lib/suci, under the keys that the endpoint has agreed on with its peer.
 *
 * The endpoint goes on owning keys, epochs and the count of packet numbers: it is told of each
 * number that is used here, so none is ever used twice, and it can close the path in the end.
 *
 * Units    bytes of a UDP payload.
 * Threads  one, that of the endpoint.
 * Errors   what is not authentic is counted by the endpoint (drop_seal, drop_duplicate_pn). */
#ifndef PKTGEN_SEALED_H
#define PKTGEN_SEALED_H

#include "suci/endpoint.h"

/* Is that path up and sealed? */
bool pg_sealed_is(const struct suci *ep, uint32_t path);
/* Seal a whole DATA datagram of len bytes in place; behind it is room for SUCI_SEAL_TAG.  held:
 * packets that are not acknowledged, this one not counted.  Its new length; 0: the path has gone
 * down. */
size_t pg_sealed_close(struct suci *ep, uint32_t path, uint8_t *dgram, size_t len, uint32_t held);
/* Open a DATA datagram in place; its length without the tag, or 0: it is not for that path, not
 * authentic, or was here before. */
size_t pg_sealed_open(struct suci *ep, uint32_t path, uint8_t *dgram, size_t len);

/* Hand a datagram to the endpoint.  Its length without the tag if the endpoint has opened it, so
 * that it can be read now, or 0. */
size_t pg_sealed_through(struct suci *ep, const struct suci_addr *from, uint8_t *dgram, size_t len,
			 uint8_t ecn, uint64_t now_ns);

#endif
