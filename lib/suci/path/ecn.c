/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks of congestion in the IP header (RFC 3168), as RFC 9000 section 13.4 uses them.
 *
 * What we send with a packet number is marked ECT(0).  The peer tells in each ack block
 * how many packets came so marked and how many marked CE, once any did; new CE marks are
 * told to congestion control.  A network may wipe the bits out or set them wrongly, and a
 * peer's driver may not see them.  So the counts are believed only as long as
 *
 *      acked so far  <=  ect + ce  <=  sent so far       (of marked packets)
 *
 * and both grow; else no more marks are sent.  A packet is counted before it is
 * acknowledged and duplicates are not counted, so on a good path this always holds, also
 * for blocks that overtake each other: those with lower counts are left out.  The same
 * when nothing marked ever arrives although FIRST_PROBES probe timeouts have asked. */
#include "path_internal.h"

#include "base/serial.h"

void
suci_marks_put(const struct suci_marks *m, struct suci_ack *a)
{
	if (!(m->rx_ect | m->rx_ce))
		return;
	a->flags |= SUCI_AF_ECN;
	a->ect = m->rx_ect;
	a->ce = m->rx_ce;
}

void
suci_marks_fail(struct suci *ep, struct suci_path *p)
{
	p->marks.send = false;
	ep->count.ecn_failed++;
}

void
suci_marks_heard(struct suci *ep, struct suci_path *p, const struct suci_ack *a, uint32_t acked,
		 uint64_t sent_ns, uint64_t now_ns)
{
	struct suci_marks *m = &p->marks;
	m->acked += acked;
	if (!m->send)
		return;
	if (!(a->flags & SUCI_AF_ECN)) {
		if (acked)
			suci_marks_fail(ep, p);
		return;
	}
	if (m->seen && serial_le(a->ect, m->ect) && serial_le(a->ce, m->ce))
		return; /* an older block, or nothing new */
	uint32_t total = a->ect + a->ce, more = a->ce - m->ce;
	if (serial_lt(a->ect, m->ect) || serial_lt(a->ce, m->ce) || serial_lt(total, m->acked) ||
	    serial_gt(total, m->sent)) {
		suci_marks_fail(ep, p);
		return;
	}
	m->seen = true;
	m->ect = a->ect;
	m->ce = a->ce;
	if (!more)
		return;
	ep->count.tx_ce += more;
	if (p->cc.ops->ce)
		p->cc.ops->ce(&p->cc, more, sent_ns ? sent_ns : now_ns, now_ns);
}
