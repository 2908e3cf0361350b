/* SPDX-License-Identifier: BSD-2-Clause */
/* frag.h - segments larger than the datagrams of their path leave in fragments: frag.c. */
#ifndef SUCI_FRAG_H
#define SUCI_FRAG_H

#include "base/ilist.h"

#include <stdbool.h>
#include <stdint.h>

struct suci_frag {
	uint32_t rec;	       /* the segment that is being cut */
	bool peer_reassembles; /* it puts fragments together, and we cut */
	bool on;	       /* segments may be larger than datagrams */
};

/* Only touched where there are fragments; of each path, beside the table of those. */
struct suci_frags {
	struct base_ilist sent; /* sent, see frag.c */
	uint32_t id;		/* of the last one */
	uint16_t off;		/* of the last one, if that is rec: sent so far */
	uint16_t n_frags : 15;
	uint16_t careful : 1;	   /* one was refused, and none has come through since */
	uint16_t reasms, n_reasms; /* received, see reasm.c */
};

struct suci;
struct suci_path;

/* A record in no list is to leave.  It, if it fits; else the first part of it, or NONE: no room for
 * that now. */
uint32_t suci_frag_fit(struct suci *ep, struct suci_path *p, uint32_t rec);
/* Of what was lost, or is being cut, what goes next, in no list any more; NONE: look elsewhere,
 * or, if something is being cut, wait. */
uint32_t suci_frag_lost(struct suci *ep, struct suci_path *p);
/* A part whose segment has ended, or begun anew. */
bool suci_frag_orphan(const struct suci *ep, uint32_t part);
/* A part of segment whole, cut as number id, was acknowledged. */
void suci_frag_acked(struct suci *ep, struct suci_path *p, uint32_t whole, uint32_t id,
		     uint64_t now_ns);
/* The peer refused a part, in no list now: nothing is kept of its segment. */
void suci_frag_refused(struct suci *ep, struct suci_path *p, uint32_t part, uint64_t now_ns);
/* One is under way, and another one had better wait for its end. */
bool suci_frag_alone(const struct suci *ep, const struct suci_path *p);
/* Datagrams have become smaller: what was sent larger is lost. */
void suci_frag_shrunk(struct suci *ep, struct suci_path *p);

#endif
