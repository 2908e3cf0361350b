/* SPDX-License-Identifier: BSD-2-Clause */
#include "frame.h"

#include "base/bytes.h"
#include "rd/packet6.h"
#include "relay/core.h"

#include <rte_mbuf.h>
#include <string.h>

static uint32_t
address_of(const struct suci_addr *a)
{
	return be32_load(a->ip + 12);
}

/* Ethernet, IP and UDP in front of it. */
static uint32_t
headers_of(const struct suci_out *o)
{
	return o->to.family == 6 ? RD_FRAME6_HDR : RD_FRAME_HDR;
}

static bool
to_self(const struct rd_leg *leg, const struct suci_out *o)
{
	return address_of(&o->to) == leg->self.address && o->to.family == 4;
}

/* The port sums up what leaves through it; what is for ourselves (the own gateway's, the own
 * core's) never gets there. */
static bool
offloaded(const struct rd_leg *leg, const struct suci_out *o)
{
	return leg->port->tx_cksum && !to_self(leg, o);
}

/* After the ECN bits: the port wants 0 for the header's checksum and the sum of the pseudo
 * header for UDP's. */
static void
ask_port(struct rte_mbuf *m, uint8_t *at)
{
	uint8_t *ip = at + RD_ETH_HDR, *udp = ip + RD_IPV4_HDR;
	uint64_t pseudo =
		rd_cksum_pseudo(be32_load(ip + 12), be32_load(ip + 16), 17, be16_load(udp + 4));
	be16_store(ip + 10, 0);
	be16_store(udp + 6, (uint16_t)~rd_cksum_fold(pseudo));
	m->l2_len = RD_ETH_HDR;
	m->l3_len = RD_IPV4_HDR;
	m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
}

static void
ask_port6(struct rte_mbuf *m, uint8_t *at)
{
	uint8_t *ip = at + RD_ETH_HDR, *udp = ip + RD_IPV6_HDR;
	uint64_t pseudo = rd_cksum6_pseudo(ip + 8, ip + 24, 17, be16_load(udp + 4));
	be16_store(udp + 6, (uint16_t)~rd_cksum_fold(pseudo));
	m->l2_len = RD_ETH_HDR;
	m->l3_len = RD_IPV6_HDR;
	m->ol_flags |= RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM;
}

/* m's only buffer is the whole frame, udp bytes of payload.  What goes to a port that sums up
 * nothing waits for the burst to be complete: to read now what was written just now in other
 * pieces would hold the processor up. */
static void
checksum(struct rd_leg *leg, struct rte_mbuf *m, const struct suci_out *o, uint8_t *at,
	 uint32_t udp)
{
	if (o->to.family == 6) {
		if (offloaded(leg, o))
			ask_port6(m, at);
		else
			m->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IPV6;
	} else if (offloaded(leg, o)) {
		ask_port(m, at);
	} else if (to_self(leg, o)) {
		rd_udp_checksum(at, udp, 0);
	} else {
		m->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM;
	}
}

uint32_t
rd_frame_known(const struct rd_port *port, const struct rte_mbuf *m)
{
	uint64_t ip = m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK,
		 udp = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
	uint32_t known = 0;
	if (port->rx_ip_cksum)
		known = ip == RTE_MBUF_F_RX_IP_CKSUM_GOOD  ? RD_KNOWN_IP_GOOD
			: ip == RTE_MBUF_F_RX_IP_CKSUM_BAD ? RD_KNOWN_IP_BAD
							   : 0;
	if (port->rx_udp_cksum)
		known |= udp == RTE_MBUF_F_RX_L4_CKSUM_GOOD  ? RD_KNOWN_UDP_GOOD
			 : udp == RTE_MBUF_F_RX_L4_CKSUM_BAD ? RD_KNOWN_UDP_BAD
							     : 0;
	return known;
}

void
rd_frame_complete(struct rd_leg *leg, struct rte_mbuf *m)
{
	m->ol_flags &= ~RTE_MBUF_F_RX_L4_CKSUM_MASK;
	if (!leg->port->rx_udp_cksum ||
	    !rd_packet_complete(rte_pktmbuf_mtod(m, uint8_t *), m->data_len))
		return;
	m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	leg->count.rx_completed++;
}

/* Two numbers in a field that is a receiving port's. */
void
rd_frame_set_tail(struct rte_mbuf *m, const struct rd_rx_frame *f)
{
	m->hash.usr = f->tail_off ? (uint32_t)(m->data_off + f->tail_off) << 16 | f->tail_sum : 0;
}

void
rd_frame_sum(struct rte_mbuf *m)
{
	uint8_t *at = rte_pktmbuf_mtod(m, uint8_t *);
	bool six = m->ol_flags & RTE_MBUF_F_TX_IPV6;
	uint32_t front = six ? RD_FRAME6_HDR : RD_FRAME_HDR;
	uint32_t here = m->data_len - front, tail = m->hash.usr >> 16;
	if (tail)
		here = tail - m->data_off - front;
	uint64_t rest = tail ? m->hash.usr & UINT16_MAX : 0;
	if (six)
		rd_udp6_checksum(at, here, rest);
	else
		rd_udp_checksum(at, here, rest);
	m->ol_flags &= ~(RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IPV6);
}

/* Is the sum of the tail still that of what is to be sent?  It began behind all that the core
 * writes, and the datagram ended where it ends now: a sealed one ended in a tag. */
static bool
tail_good(const struct rte_mbuf *m, const struct suci_out *o)
{
	const uint8_t *start = m->buf_addr, *tail = start + (m->hash.usr >> 16);
	return tail >= o->data + RELAY_WRITES_MAX &&
	       o->data + o->data_len == start + m->data_off + m->data_len;
}

/* Eth, IP, UDP of len bytes; the destination MAC is still open. */
static void
write_headers(uint8_t *at, struct rd_leg *leg, const struct suci_out *o, uint32_t len)
{
	static const uint8_t open[6];
	if (o->to.family == 6)
		rd_write_udp6(at, &leg->self, open, o->to.ip, o->to.port, len, o->ecn);
	else
		rd_write_udp(at, &leg->self, open, address_of(&o->to), o->to.port, leg->ip_id++,
			     len, o->ecn);
}

/* The headers and the two small pieces. */
static void
write_frame_head(uint8_t *at, struct rd_leg *leg, const struct suci_out *o)
{
	write_headers(at, leg, o, suci_out_len(o));
	at += headers_of(o);
	memcpy(at, o->head, o->head_len);
	if (o->seg_head_len)
		memcpy(at + o->head_len, o->seg_head, o->seg_head_len);
}

/* The payload's own mbuf, if its front has room and nobody else reads it. */
static bool
in_place_ok(const struct rd_leg *leg, const struct rte_mbuf *m, const struct suci_out *o)
{
	uint32_t front = headers_of(o) + (uint32_t)o->head_len + o->seg_head_len +
			 (leg->vlan ? RD_VLAN_TAG : 0);
	const uint8_t *start = m->buf_addr;
	return rte_mbuf_refcnt_read(m) == 1 && RTE_MBUF_DIRECT(m) && m->nb_segs == 1 &&
	       o->data >= start && (size_t)(o->data - start) >= front &&
	       (size_t)(o->data - start) + o->data_len <= m->buf_len;
}

static struct rte_mbuf *
build_in_place(struct rd_leg *leg, const struct suci_out *o, struct rte_mbuf *m)
{
	uint32_t front = headers_of(o) + (uint32_t)o->head_len + o->seg_head_len;
	uint32_t len = front + o->data_len;
	if (!tail_good(m, o))
		m->hash.usr = 0;
	m->data_off = (uint16_t)((size_t)(o->data - (const uint8_t *)m->buf_addr) - front);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	m->ol_flags = 0;
	uint8_t *at = rte_pktmbuf_mtod(m, uint8_t *);
	write_frame_head(at, leg, o);
	checksum(leg, m, o, at, len - headers_of(o));
	rte_mbuf_refcnt_update(m, 1); /* the driver's; ours is custody */
	leg->count.tx_in_place++;
	return m;
}

static struct rte_mbuf *
build_chain(struct rd_leg *leg, const struct suci_out *o, struct rte_mbuf *payload)
{
	uint32_t front = headers_of(o) + (uint32_t)o->head_len + o->seg_head_len;
	struct rte_mbuf *head = rte_pktmbuf_alloc(leg->pool);
	struct rte_mbuf *body = head ? rte_pktmbuf_alloc(leg->pool) : NULL;
	if (!body) {
		leg->count.drop_no_buffer++;
		rte_pktmbuf_free(head);
		return NULL;
	}
	rte_pktmbuf_attach(body, payload);
	body->data_off = (uint16_t)(o->data - (const uint8_t *)payload->buf_addr);
	body->data_len = o->data_len;
	body->pkt_len = o->data_len;
	body->nb_segs = 1;
	body->next = NULL;
	uint8_t *at = (uint8_t *)rte_pktmbuf_append(head, (uint16_t)front);
	write_frame_head(at, leg, o);
	uint64_t rest = offloaded(leg, o) ? 0 : rd_cksum_add(0, o->data, o->data_len);
	if (offloaded(leg, o))
		o->to.family == 6 ? ask_port6(head, at) : ask_port(head, at);
	else if (o->to.family == 6)
		rd_udp6_checksum(at, front - headers_of(o), rest);
	else
		rd_udp_checksum(at, front - headers_of(o), rest);
	head->next = body;
	head->nb_segs = 2;
	head->pkt_len = front + o->data_len;
	leg->count.tx_chained++;
	return head;
}

static struct rte_mbuf *
build_copy(struct rd_leg *leg, const struct suci_out *o)
{
	uint32_t front = headers_of(o) + (uint32_t)o->head_len + o->seg_head_len;
	uint32_t len = front + o->data_len;
	struct rte_mbuf *m = rte_pktmbuf_alloc(leg->pool);
	uint8_t *at = m ? (uint8_t *)rte_pktmbuf_append(m, (uint16_t)len) : NULL;
	if (!at) { /* append fails only if the pool's buffers are smaller than the MTU */
		leg->count.drop_no_buffer++;
		rte_pktmbuf_free(m);
		return NULL;
	}
	m->hash.usr = 0;
	write_frame_head(at, leg, o);
	if (o->data_len)
		memcpy(at + front, o->data, o->data_len);
	checksum(leg, m, o, at, len - headers_of(o));
	leg->count.tx_copied++;
	return m;
}

/* Payloads in custody stay readable, so what is sealed is a copy. */
static struct rte_mbuf *
build_sealed(struct rd_leg *leg, struct suci *ep, const struct suci_out *o)
{
	uint32_t udp = suci_out_len(o), front = headers_of(o), len = front + udp;
	struct rte_mbuf *m = rte_pktmbuf_alloc(leg->pool);
	uint8_t *at = m ? (uint8_t *)rte_pktmbuf_append(m, (uint16_t)len) : NULL;
	if (!at || !suci_seal(ep, o, at + front, udp)) {
		/* No buffer; its path going down meanwhile is as good as lost on the way. */
		leg->count.drop_no_buffer += !at;
		rte_pktmbuf_free(m);
		return NULL;
	}
	write_headers(at, leg, o, udp);
	m->hash.usr = 0;
	checksum(leg, m, o, at, udp);
	leg->count.tx_sealed++;
	return m;
}

struct rte_mbuf *
rd_frame_build(struct rd_leg *leg, struct suci *ep, const struct suci_out *o,
	       struct rte_mbuf *payload)
{
	if (o->to.family == 6 && !leg->self.six) {
		leg->count.drop_no_route++;
		return NULL;
	}
	if (suci_out_len(o) + headers_of(o) - RD_ETH_HDR > leg->mtu) {
		leg->count.drop_toobig++;
		return NULL;
	}
	if (o->sealed)
		return build_sealed(leg, ep, o);
	if (payload && o->data_len) {
		if (in_place_ok(leg, payload, o))
			return build_in_place(leg, o, payload);
		if (leg->port->tx_multi_seg)
			return build_chain(leg, o, payload);
	}
	return build_copy(leg, o);
}

uint8_t *
rd_frame_buffer(struct rd_leg *leg, uint32_t len, uint64_t *cookie)
{
	uint32_t front = RD_FRAME_HDR + SUCI_PATH_HDR;
	struct rte_mbuf *m = rte_pktmbuf_alloc(leg->pool);
	uint8_t *at = m ? (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(front + len)) : NULL;
	if (!at) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	m->hash.usr = 0;
	*cookie = (uint64_t)(uintptr_t)m;
	return at + front;
}
