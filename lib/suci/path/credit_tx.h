/* SPDX-License-Identifier: BSD-2-Clause */
/* credit_tx.h - how much we may have on its way to the peer: credit.c. */
#ifndef SUCI_CREDIT_TX_H
#define SUCI_CREDIT_TX_H

#include <stdbool.h>
#include <stdint.h>

/* The peer takes packets up to limit. */
struct suci_credit_tx {
	uint64_t limit;
	uint64_t more_from;	/* from here on say if more wait */
	uint64_t more_pn;	/* last one sent with SUCI_PF_MORE */
	uint64_t blocked_ns;	/* since when something may not go; 0 = nothing waits for that */
	uint64_t ask_at_ns;	/* ask again then */
	uint64_t ask_wait_ns;	/* how long it took lately */
	uint32_t limit_largest; /* of the newest ack block heard */
	uint32_t asks;		/* since it waits, beyond the first */
	bool ask_due;		/* with the next ack block */
};

/* Packets that may still be sent, if next_pn is the next. */
static inline uint32_t
suci_credit_left(const struct suci_credit_tx *c, uint64_t next_pn)
{
	return c->limit >= next_pn ? (uint32_t)(c->limit - next_pn) + 1 : 0;
}

struct suci;
struct suci_path;
struct suci_ack;

/* Sending: the limit in an ack block; what a ROOM or a packet says of what waits for a higher one;
 * may the first of the queue go without? */
void suci_credit_heard(struct suci *ep, struct suci_path *p, const struct suci_ack *a,
		       uint64_t now_ns);
uint8_t suci_credit_waiting(struct suci *ep, const struct suci_path *p);
bool suci_credit_short(struct suci *ep, struct suci_path *p);
#define SUCI_TELL_MORE 4u /* packets before the limit, at least, MORE is set */
bool suci_credit_small(const struct suci *ep, const struct suci_path *p);
void suci_credit_blocked(struct suci *ep, struct suci_path *p, uint64_t now_ns);
void suci_credit_nothing_waits(struct suci_credit_tx *c);
void suci_credit_ask_again(struct suci *ep, struct suci_path *p, uint64_t now_ns);

#endif
