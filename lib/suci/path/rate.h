/* SPDX-License-Identifier: BSD-2-Clause */
/* rate.h - how fast a path delivers (draft-cheng-iccrg-delivery-rate-estimation).
 *
 * With each packet goes a note of how much had been delivered when it was sent.
 * When it is acknowledged, what came in between divided by the time between is
 * a sample of the rate; the longer of the sender's and of the acks' time counts,
 * so neither a burst sent at once nor acks that come together look fast.
 *
 * A sample over a time in which the application had nothing to send says only
 * that the path is not slower: it is marked.
 *
 * Units    bytes of UDP payload, ns, bytes per second.
 * Threads  one owner.  Allocates nothing, reads no clock. */
#ifndef SUCI_RATE_H
#define SUCI_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* Of one path. */
struct suci_rate {
	uint64_t delivered;	/* bytes acknowledged, ever */
	uint64_t delivered_ns;	/* when the last of them was */
	uint64_t first_sent_ns; /* when the packet was sent that began this span */
	uint64_t first_pn;	/* packets before it have no note */
	uint64_t idle_pn;	/* sent after a pause of the application: this and later */
	uint32_t lost;		/* packets, ever, serial */
};

/* Of one packet in flight. */
struct suci_snap {
	uint64_t delivered, delivered_ns, first_sent_ns;
	uint32_t lost;
	uint32_t in_flight : 31; /* with it */
	uint32_t idle : 1;
};

struct suci_rate_sample {
	uint64_t rate_bps;	  /* 0 = no sample */
	uint64_t bytes;		  /* delivered in the span */
	uint64_t prior_delivered; /* when the newest acknowledged packet was sent */
	uint32_t lost;		  /* packets found lost since then */
	uint32_t in_flight;	  /* then */
	bool idle;		  /* of the application */
};

/* Packets from next_pn on are noted. */
void suci_rate_init(struct suci_rate *r, uint64_t next_pn, uint64_t now_ns);
/* A packet leaves beside in_flight others. */
void suci_rate_sent(struct suci_rate *r, struct suci_snap *s, uint32_t in_flight, uint64_t now_ns);
/* The application has nothing, though more could be sent: next_pn comes after a pause. */
static inline void
suci_rate_idle(struct suci_rate *r, uint64_t next_pn)
{
	r->idle_pn = next_pn;
}
/* bytes were acknowledged, the newest packet among them pn, sent at sent_ns.  No
 * sample over less than min_rtt_ns: acks were compressed. */
void suci_rate_acked(struct suci_rate *r, const struct suci_snap *s, uint64_t pn, uint64_t sent_ns,
		     uint64_t bytes, uint64_t min_rtt_ns, uint64_t now_ns,
		     struct suci_rate_sample *out);

#endif
