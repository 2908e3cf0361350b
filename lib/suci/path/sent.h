/* SPDX-License-Identifier: BSD-2-Clause */
/* sent.h - what left, or is to leave: records in lists, in the order of their numbers. */
#ifndef SUCI_SENT_H
#define SUCI_SENT_H

#include "rec.h"
#include "suci/upper.h"

#include <stdbool.h>
#include <stdint.h>

struct suci_sent {
	struct base_ilist queue[PRIOS], lost, flight;
	uint32_t queued, in_flight, n_lost;
	uint32_t recs;	     /* segments of ours: queued, in flight, lost, refused */
	uint64_t next_pn;    /* 64 bits here, 32 on the wire */
	uint64_t bare_pn;    /* the same of bare acks */
	uint64_t limited_pn; /* before it, window or pace held back more that waited */
	uint64_t asked_pn;   /* last one sent with SUCI_PF_ACK_NOW */
	uint64_t flight_ns;  /* when the last packet that wants an ack was sent */
	uint64_t due_ns;     /* since when something is outstanding */
	uint64_t pace_at_ns; /* the next one may leave */
};

#endif
