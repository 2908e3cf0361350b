/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/flow.h - credit between two processes (IMPI reference 5.5).
 *
 * One struct per pair (me, peer), both directions.  ackmark and hiwater are the
 * job's (impi_tables), 1 <= ackmark <= hiwater.
 *
 *   sending    if (!impi_flow_may_send(f, hiwater, type)) queue it, for this pair only
 *              send; impi_flow_on_sent(f, type)
 *              PROTOACK comes: impi_flow_on_protoack(f, ackmark), send what was queued
 *   receiving  a packet is taken in: impi_flow_on_taken(f, type)
 *              while (impi_flow_ack_due(f, ackmark)) send a PROTOACK, before anything else;
 *              who is short of memory may put this off: the other side stops after
 *              hiwater packets
 *
 * Who only watches a pair (a gateway) keeps one struct per direction and uses the sending half.
 *
 * PROTOACK and FINI are not counted and need no credit; every other type does,
 * in its own direction.  One PROTOACK stands for exactly ackmark packets.
 *
 * Threads  one owner. */
#ifndef IMPI_FLOW_H
#define IMPI_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "impi/wire.h"

struct impi_flow {
	uint32_t sent;	   /* me -> peer, not acknowledged; <= hiwater if may_send() is heeded */
	uint32_t received; /* peer -> me, not acknowledged */
};

static inline bool
impi_flow_counts(uint32_t type)
{
	return type != IMPI_PK_PROTOACK && type != IMPI_PK_FINI;
}

static inline bool
impi_flow_may_send(const struct impi_flow *f, uint32_t hiwater, uint32_t type)
{
	return !impi_flow_counts(type) || f->sent < hiwater;
}

static inline void
impi_flow_on_sent(struct impi_flow *f, uint32_t type)
{
	f->sent += impi_flow_counts(type);
}

/* false: the peer claims to have taken what was never sent (nothing changes). */
static inline bool
impi_flow_on_protoack(struct impi_flow *f, uint32_t ackmark)
{
	if (f->sent < ackmark)
		return false;
	f->sent -= ackmark;
	return true;
}

static inline void
impi_flow_on_taken(struct impi_flow *f, uint32_t type)
{
	f->received += impi_flow_counts(type);
}

/* true: a PROTOACK must go out, and counts as sent. */
static inline bool
impi_flow_ack_due(struct impi_flow *f, uint32_t ackmark)
{
	if (f->received < ackmark)
		return false;
	f->received -= ackmark;
	return true;
}

/* The peer has sent more than hiwater allows (it keeps no flow control): the
 * owner's memory for this pair is not bounded by the protocol. */
static inline bool
impi_flow_is_overrun(const struct impi_flow *f, uint32_t hiwater)
{
	return f->received > hiwater;
}

#endif
