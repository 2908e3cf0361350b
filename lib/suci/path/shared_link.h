/* SPDX-License-Identifier: BSD-2-Clause */
/* shared_link.h - many busy paths of one endpoint that are held to share a link:
 * doc/engineering-log.md, All-to-all. */
#ifndef SUCI_SHARED_LINK_H
#define SUCI_SHARED_LINK_H

#include "path_internal.h"

/* One of those that count in ep->sharers while they are busy. */
static inline bool
suci_may_share_link(const struct suci_path *p)
{
	return p->cc.ops != &suci_cc_fixed && suci_path_far(p);
}

/* Is p one of many busy paths? */
static inline bool
suci_shares_link(const struct suci *ep, const struct suci_path *p)
{
	return ep->sharers >= SUCI_CC_SHARERS && suci_may_share_link(p);
}

#endif
