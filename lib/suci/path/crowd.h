/* crowd.h - many busy paths of one endpoint that are held to share a link: doc/performance.md,
 * All-to-all. */
#ifndef SUCI_CROWD_H
#define SUCI_CROWD_H

#include "path_internal.h"

/* One of those that count in ep->crowd while they are busy. */
static inline bool
suci_crowding(const struct suci_path *p)
{
	return p->cc.ops != &suci_cc_fixed && suci_path_far(p);
}

/* Is p one of many busy paths? */
static inline bool
suci_crowded(const struct suci *ep, const struct suci_path *p)
{
	return ep->crowd >= (ep->conf.line_bps ? SUCI_CC_CROWD : SUCI_CC_CROWD_BLIND) &&
	       suci_crowding(p);
}

/* Bytes per second: an even share of what the device carries, headers and acks taken off, for
 * each path of a crowd whose every end sends to every other. */
static inline uint64_t
suci_even_rate(const struct suci *ep)
{
	uint64_t rate = ep->conf.line_bps / 16 * 15 / ep->crowd / (ep->crowd + 1);
	return rate ? rate : 1;
}

#endif
