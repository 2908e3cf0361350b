/* SPDX-License-Identifier: BSD-2-Clause */
/* pmtu.h - how large a datagram may be: probing for the path MTU, pmtu.c. */
#ifndef SUCI_PMTU_H
#define SUCI_PMTU_H

#include <stdbool.h>
#include <stdint.h>

/* Probing for the path MTU, see pmtu.c.  Sizes are UDP payloads. */
struct suci_pmtu {
	uint32_t min;	/* where the path began; 0: not probed, all below is unused */
	uint32_t floor; /* to where it may shrink: packets are small up to this */
	uint32_t bad;	/* the smallest size known not to pass, else one more than the most */
	uint32_t size;	/* being tried; 0 = none */
	uint32_t rec;	/* outstanding REC_MTU */
	uint8_t tries;	/* of that size that were lost */
	uint8_t rounds; /* of losses of large packets while small ones passed */
	bool due : 1;	/* the probe is to be sent */
	/* A timeout found nothing but large ones unanswered; the first of this round has left; and
	 * something small is to go right behind it. */
	bool doubted : 1, followed : 1, follow : 1;
	uint64_t at_ns;	    /* look again */
	uint64_t raise_ns;  /* for something larger */
	uint64_t passed_ns; /* something large was sent then, and arrived */
	/* Numbers: of the first small packet that passed since a large one did, 0 = none; and no
	 * loss of what was sent up to this counts. */
	uint64_t small_pn, mark_pn;
};

struct suci;
struct suci_path;
struct suci_rec;

void suci_pmtu_init(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* The way there is another: try everything above again. */
void suci_pmtu_again(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* A probe of that size arrived; or was lost or given up. */
void suci_pmtu_passed(struct suci *ep, struct suci_path *p, uint32_t size, uint64_t now_ns);
void suci_pmtu_lost(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* A probe timeout; a datagram of that size leaves. */
void suci_pmtu_timeout(struct suci_path *p);
void suci_pmtu_sent(struct suci_path *p, uint32_t len);
void suci_pmtu_timer(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* A record for the probe that is due. */
uint32_t suci_pmtu_take(struct suci *ep, struct suci_path *p);
/* A packet with a segment, len bytes without its ack block, arrived or was lost. */
void suci_pmtu_seg_passed(struct suci_path *p, const struct suci_rec *r);
void suci_pmtu_seg_lost(struct suci *ep, struct suci_path *p, const struct suci_rec *r,
			uint64_t now_ns);
/* Instead of a large segment, send something small after a probe timeout. */
bool suci_pmtu_doubt(const struct suci_path *p);
/* A segment of len bytes does not fit any more. */
void suci_pmtu_too_small(struct suci *ep, struct suci_path *p, uint32_t len);

#endif
