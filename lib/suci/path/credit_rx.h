/* SPDX-License-Identifier: BSD-2-Clause */
/* credit_rx.h - how much each peer may have on its way here: credit.c. */
#ifndef SUCI_CREDIT_RX_H
#define SUCI_CREDIT_RX_H

#include "suci/upper.h"

#include <stdbool.h>
#include <stdint.h>

/* Credit of the peers over one leg: what its queue can hold. */
struct suci_pool {
	/* Paths that brought segments in this span of time and in the one before. */
	uint32_t span, senders, senders_before;
	uint32_t paths; /* over that leg */
	uint64_t span_end_ns;
	uint32_t promised;		  /* packets near peers may still send */
	uint32_t nwaiting;		  /* in waiting */
	struct base_ilist waiting[PRIOS]; /* paths that wait for a higher limit */
	struct base_ilist quiet;	  /* near paths, the longest silent first */
};

/* The peer may send packets from after high, the last that came, to limit. */
struct suci_credit_rx {
	uint32_t limit, high;
	uint32_t heard_span;	      /* packets came in this span of time */
	uint16_t first;		      /* if offered */
	uint16_t quantum;	      /* most it gets at its next turn; 0 = its share */
	struct base_ilink wait_link;  /* pool's waiting, if waits */
	struct base_ilink quiet_link; /* pool's quiet, if near */
	uint8_t wait_prio, wait_amount;
	uint8_t pool;	  /* ep->pool */
	bool near;	  /* bound by credit_total */
	bool waits;	  /* for a higher limit */
	bool offered;	  /* first is set */
	uint64_t seen_ns; /* last packet, or looked at for reclaim */
	uint64_t up_ns, told_again_ns;
};

/* Packets the peer may still send. */
static inline uint32_t
suci_credit_promised(const struct suci_credit_rx *c)
{
	return (int32_t)(c->limit - c->high) > 0 ? c->limit - c->high : 0;
}

struct suci;
struct suci_path;
struct suci_ack;

void suci_credit_init(struct suci *ep);
/* A path to p->peer was made; is no more. */
void suci_credit_join(struct suci *ep, struct suci_path *p);
void suci_credit_leave(struct suci *ep, struct suci_path *p);
/* For the pn field of OPEN and ACCEPT; and the round trip an OPEN tells there, or 0. */
uint32_t suci_credit_offer(struct suci *ep, struct suci_path *p);
uint64_t suci_credit_offer_rtt(uint32_t offer);
/* The path comes up; offer is what the peer's OPEN or ACCEPT said. */
void suci_credit_up(struct suci *ep, struct suci_path *p, uint32_t offer, uint64_t now_ns);
void suci_credit_down(struct suci *ep, struct suci_path *p);
/* A new packet came, with those SUCI_PF_* flags, perhaps with a segment of that priority. */
void suci_credit_seen(struct suci *ep, struct suci_path *p, uint32_t pn, uint8_t flags,
		      uint32_t prio, uint64_t now_ns);
/* The ROOM of an ack block. */
void suci_credit_asked(struct suci *ep, struct suci_path *p, const struct suci_ack *a,
		       uint64_t now_ns);
/* Who stands in line gets what there is. */
void suci_credit_share(struct suci *ep);
/* For the ack block to that peer. */
uint16_t suci_credit_limit(struct suci *ep, struct suci_path *p);

#endif
