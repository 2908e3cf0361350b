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
	return ep->crowd >= SUCI_CC_CROWD && suci_crowding(p);
}

#endif
