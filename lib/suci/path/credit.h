/* credit.h - how much each peer may have on its way here, and room for what was refused: credit.c
 * and room.c.  The end of path_internal.h, whose structs it needs. */
#ifndef SUCI_CREDIT_H
#define SUCI_CREDIT_H

#include "path_internal.h"

/* Packets the peer may still send. */
static inline uint32_t
suci_credit_promised(const struct suci_path *p)
{
	return (int32_t)(p->rx_limit - p->rx_high) > 0 ? p->rx_limit - p->rx_high : 0;
}

/* Packets that may still be sent. */
static inline uint32_t
suci_credit_left(const struct suci_path *p)
{
	return p->tx_limit >= p->next_pn ? (uint32_t)(p->tx_limit - p->next_pn) + 1 : 0;
}

/* credit.c */
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
/* Sending: the limit in an ack block; what a ROOM or a packet says of what waits for a higher one;
 * may the first of the queue go without? */
void suci_credit_heard(struct suci *ep, struct suci_path *p, const struct suci_ack *a,
		       uint64_t now_ns);
uint8_t suci_credit_waiting(struct suci *ep, const struct suci_path *p);
bool suci_credit_short(struct suci *ep, struct suci_path *p);
#define SUCI_TELL_MORE 4u /* packets before the limit, at least, MORE is set */
static inline bool
suci_credit_more(struct suci *ep, struct suci_path *p)
{
	bool far = p->next_pn < p->more_from && p->tx_limit > SUCI_TELL_MORE;
	return !far && suci_credit_short(ep, p);
}
bool suci_credit_small(const struct suci *ep, const struct suci_path *p);
void suci_credit_held(struct suci *ep, struct suci_path *p, uint64_t now_ns);
void suci_credit_nothing_waits(struct suci_path *p);
void suci_credit_ask_again(struct suci *ep, struct suci_path *p, uint64_t now_ns);

/* room.c */
void suci_room_init(struct suci *ep);
/* The ask and the grant in an ack block of the peer. */
void suci_room_heard(struct suci *ep, struct suci_path *p, const struct suci_ack *a,
		     uint64_t now_ns);
/* Has the path something to ask or grant that its next ack block should tell? */
bool suci_room_due(const struct suci_path *p);
void suci_room_put(struct suci *ep, struct suci_path *p, struct suci_ack *a);
/* Grant what there is room for, if anybody waits. */
void suci_room_share(struct suci *ep);
void suci_room_down(struct suci *ep, struct suci_path *p);

#endif
