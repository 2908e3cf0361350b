/* SPDX-License-Identifier: BSD-2-Clause */
/* ecn.h - marks of congestion, ours and the peer's: ecn.c. */
#ifndef SUCI_ECN_H
#define SUCI_ECN_H

#include "suci/endpoint.h"
#include "wire_internal.h"

#include <stdbool.h>
#include <stdint.h>

/* Marks of congestion, see ecn.c.  Packets since the path came up, modulo 2^32. */
struct suci_marks {
	bool send;	      /* what we send is marked ECT(0) */
	bool seen;	      /* the peer has reported counts */
	uint32_t sent, acked; /* packets of ours that were marked */
	uint32_t ect, ce;     /* of them, as reported by the peer */
	uint32_t rx_ect, rx_ce;
};

struct suci;
struct suci_path;

static inline void
suci_marks_rx(struct suci_marks *m, uint8_t ecn)
{
	m->rx_ect += ecn == SUCI_ECN_ECT0;
	m->rx_ce += ecn == SUCI_ECN_CE;
}
void suci_marks_put(const struct suci_marks *m, struct suci_ack *a);
/* An ack block that newly acknowledged so many marked packets, the newest sent then. */
void suci_marks_heard(struct suci *ep, struct suci_path *p, const struct suci_ack *a,
		      uint32_t acked, uint64_t sent_ns, uint64_t now_ns);
void suci_marks_fail(struct suci *ep, struct suci_path *p);

#endif
