/* SPDX-License-Identifier: BSD-2-Clause */
/* rec.h - one segment in our custody, or what else has a packet number. */
#ifndef SUCI_REC_H
#define SUCI_REC_H

#include "suci/wire.h"

#include "base/ilist.h"

#include <stdbool.h>
#include <stdint.h>

#define SEG_HDR_MAX (SUCI_LANE_HDR + SUCI_FIRST_EXT)

enum rec_kind {
	REC_SEGMENT,
	REC_NOTE,   /* cookie is the note's slot */
	REC_FRAG,   /* of a segment, cookie is that one's record; see frag.c */
	REC_PROBE,  /* no segment: asks for an ack */
	REC_MTU,    /* padding: does that size get through? */
	REC_PURGED, /* was a segment whose owner is gone; not sent again */
};

/* One segment in our custody. */
struct suci_rec {
	struct base_ilink link; /* in one list of its path, or the free list */
	uint32_t path;
	uint8_t kind;
	uint8_t where; /* enum rec_where */
	uint8_t prio;
	uint8_t hdr_len;  /* of hdr; 0: the lane header is in data, see suci_path_forward() */
	uint64_t pn;	  /* of the last transmission */
	uint64_t sent_ns; /* its time; refused: when to send again */
	uint64_t lost_pn; /* of the transmission given up last, 0 = none */
	uint64_t lost_sent_ns;
	const uint8_t *head, *data;
	uint64_t cookie;
	uint16_t head_len, data_len;
	bool probing;	    /* sent again by a probe timeout: not known to be lost */
	bool ask;	    /* carries SUCI_SF_ASK */
	bool again;	    /* sent before */
	bool ect;	    /* sent with a mark */
	uint8_t refusals;   /* saturating */
	uint8_t refused_in; /* which list */
	uint8_t hdr[SEG_HDR_MAX];
	uint16_t frags; /* WHERE_FRAGMENTED: sent and not acknowledged; pn numbers the cut then */
};

enum rec_where {
	WHERE_FREE,
	WHERE_QUEUED,
	WHERE_FLIGHT,
	WHERE_LOST,
	WHERE_REFUSED,
	WHERE_FRAGMENTED, /* its parts are under way */
	WHERE_DONE,
};

_Static_assert(sizeof(struct suci_rec) <= 128, "two cache lines per segment");

#endif
