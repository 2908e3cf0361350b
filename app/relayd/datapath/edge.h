/* SPDX-License-Identifier: BSD-2-Clause */
/* edge.h - between a leg and its port: VLAN tags, and two legs at one port.
 *
 * Behind the edge all frames are untagged: the parser, the neighbours, the TAPs and captures see
 * none.  A leg with a VLAN takes frames of that one alone, and all that it sends has its tag.  The
 * worker takes tags away unless the port has done so (rd_port.rx_vlan_strip), and writes them: the
 * line is in its hands anyway, and a port's own insertion refuses buffers that custody holds, where
 * a driver does it in software.
 *
 * Two legs at one port (rd_leg.shared) have one receive queue a worker, which the private leg
 * polls.  A frame is the leg's whose VLAN it has; where both have the same, the global leg's if it
 * is to one of its addresses, and else the private one's.
 *
 * A frame on its way inside the relay has its leg's index in m->port.
 *
 * Threads  the worker. */
#ifndef RD_EDGE_H
#define RD_EDGE_H

#include "leg.h"

struct rte_mbuf;

/* A frame that came to leg's queue, in one buffer: whose it is, untagged then.  NULL: nobody's; it
 * is still the caller's.  other: the leg that shares the port, or NULL. */
struct rd_leg *rd_edge_in(struct rd_leg *leg, struct rd_leg *other, struct rte_mbuf *m);

/* Tag a frame that leaves.  False: there is no room in front of it; it is still the caller's. */
bool rd_edge_out(const struct rd_leg *leg, struct rte_mbuf *m);

#endif
