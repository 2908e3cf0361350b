/* SPDX-License-Identifier: BSD-2-Clause */
#include "edge.h"

#include <rte_mbuf.h>

/* Is it of this leg's VLAN?  It is untagged then. */
static bool
take_tag(const struct rd_leg *leg, struct rte_mbuf *m)
{
	if (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)
		return (m->vlan_tci & RD_VLAN_MAX) == leg->vlan;
	if (!leg->vlan)
		return true; /* the parser knows tagged ones */
	if (!rd_packet_untag(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, leg->vlan))
		return false;
	return rte_pktmbuf_adj(m, RD_VLAN_TAG) != NULL;
}

static bool
is_tagged(struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	return (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)
		       ? (m->vlan_tci & RD_VLAN_MAX) != 0
		       : m->data_len >= RD_ETH_HDR && frame[12] == 0x81 && frame[13] == 0;
}

struct rd_leg *
rd_edge_in(struct rd_leg *leg, struct rd_leg *other, struct rte_mbuf *m)
{
	if (!other)
		return take_tag(leg, m) ? leg : NULL;
	if (leg->vlan == other->vlan) {
		if (!take_tag(leg, m))
			return NULL;
		return rd_packet_concerns(&other->self, rte_pktmbuf_mtod(m, uint8_t *), m->data_len)
			       ? other
			       : leg;
	}
	/* One of them may be the untagged one. */
	if (!leg->vlan || !other->vlan) {
		struct rd_leg *with = leg->vlan ? leg : other, *without = leg->vlan ? other : leg;
		if (!is_tagged(m))
			return without;
		return take_tag(with, m) ? with : NULL;
	}
	return take_tag(leg, m) ? leg : take_tag(other, m) ? other : NULL;
}

bool
rd_edge_out(const struct rd_leg *leg, struct rte_mbuf *m)
{
	if (!leg->vlan)
		return true;
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	if (!rte_pktmbuf_prepend(m, RD_VLAN_TAG))
		return false;
	rd_packet_tag(frame, leg->vlan);
	if (m->ol_flags & RTE_MBUF_F_TX_UDP_CKSUM)
		m->l2_len += RD_VLAN_TAG;
	return true;
}
