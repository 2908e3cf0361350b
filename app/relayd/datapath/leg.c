/* SPDX-License-Identifier: BSD-2-Clause */
#include "leg.h"
#include "edge.h"
#include "frame.h"
#include "rd/packet6.h"
#include "sniff.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <string.h>

/* Echo requests are answered, but not as a service. */
#define ECHO_EVERY_NS (BASE_S_NS / 1000)
#define ECHO_BURST    200

/* How many of them it is then. */
static uint16_t
tag_burst(struct rd_leg *leg, uint16_t n)
{
	uint16_t tagged = 0;
	for (uint16_t i = 0; i < n; i++) {
		if (rd_edge_out(leg, leg->tx[i])) {
			leg->tx[tagged++] = leg->tx[i];
			continue;
		}
		leg->count.drop_no_buffer++;
		rte_pktmbuf_free(leg->tx[i]);
	}
	return tagged;
}

void
rd_leg_flush(struct rd_leg *leg)
{
	uint16_t sent = 0, n = leg->ntx;
	if (!n)
		return;
	if (leg->off) {
		rte_pktmbuf_free_bulk(leg->tx, n);
		leg->count.drop_reset += n;
		leg->ntx = 0;
		return;
	}
	uint64_t bytes = 0;
	if (!leg->port->tx_cksum)
		for (uint16_t i = 0; i < n; i++)
			if (leg->tx[i]->ol_flags & RTE_MBUF_F_TX_UDP_CKSUM)
				rd_frame_sum(leg->tx[i]);
	if (leg->sniffer)
		rd_sniff_tx(leg->sniffer, leg->index, leg->port->id, leg->tx, n);
	if (leg->vlan)
		n = tag_burst(leg, n);
	for (uint16_t i = 0; i < n; i++)
		bytes += leg->tx[i]->pkt_len;
	for (uint32_t tries = 0; sent < n && tries <= RD_TX_RETRIES; tries++) {
		sent = (uint16_t)(sent + rte_eth_tx_burst(leg->port->id, leg->txq, leg->tx + sent,
							  (uint16_t)(n - sent)));
		if (sent < n)
			leg->count.tx_retries++;
	}
	for (uint16_t i = sent; i < n; i++) {
		bytes -= leg->tx[i]->pkt_len;
		leg->count.drop_tx_refused++;
		rte_pktmbuf_free(leg->tx[i]);
	}
	leg->count.tx_frames += sent;
	leg->count.tx_bytes += bytes;
	leg->ntx = 0;
}

void
rd_leg_push(struct rd_leg *leg, struct rte_mbuf *m)
{
	if (leg->txq == RD_NO_QUEUE) {
		leg->hand_over(leg->user, leg, m);
		return;
	}
	leg->tx[leg->ntx++] = m;
	if (leg->ntx == RD_BURST)
		rd_leg_flush(leg);
}

/* To hop; key is what the next frame to the same place has, too. */
static void
send_to_hop(struct rd_leg *leg, struct rte_mbuf *m, uint32_t hop, uint32_t key)
{
	uint8_t mac[6];
	if (!hop) {
		leg->count.drop_no_route++;
		rte_pktmbuf_free(m);
		return;
	}
	if (!rd_neigh_lookup(leg->neigh, hop, RD_NEIGH_PEER, mac, m, leg->now_ns))
		return;
	memcpy(leg->last_mac, mac, sizeof mac);
	leg->last_ip = key;
	leg->last_ns = leg->now_ns;
	rd_set_dst_mac(rte_pktmbuf_mtod(m, uint8_t *), mac);
	rd_leg_push(leg, m);
}

/* Nearly always to where the last one went; the table has seen that in this turn. */
static bool
send_to_last(struct rd_leg *leg, struct rte_mbuf *m, uint32_t key)
{
	if (key != leg->last_ip || leg->now_ns != leg->last_ns)
		return false;
	rd_set_dst_mac(rte_pktmbuf_mtod(m, uint8_t *), leg->last_mac);
	rd_leg_push(leg, m);
	return true;
}

void
rd_leg_send_ip(struct rd_leg *leg, struct rte_mbuf *m, uint32_t dst)
{
	if (!send_to_last(leg, m, dst))
		send_to_hop(leg, m, rd_next_hop(&leg->self, dst), dst);
}

uint32_t
rd_leg_hop6(struct rd_leg *leg, const uint8_t dst[16])
{
	const uint8_t *hop = leg->self.six ? rd_next_hop6(&leg->self, dst) : NULL;
	return hop ? rd_hops_number(&leg->hops, hop) : 0;
}

void
rd_leg_send_ip6(struct rd_leg *leg, struct rte_mbuf *m, const uint8_t dst[16])
{
	uint32_t hop = rd_leg_hop6(leg, dst);
	if (!hop || !send_to_last(leg, m, hop))
		send_to_hop(leg, m, hop, hop);
}

void
rd_leg_note_sender(struct rd_leg *leg, uint32_t ip, const uint8_t mac[6])
{
	uint32_t at = (leg->nsenders - 1) % RD_SENDERS;
	/* A stream of data takes one place. */
	if (!leg->nsenders || leg->sender[at].ip != ip)
		at = leg->nsenders++ % RD_SENDERS;
	leg->sender[at].ip = ip;
	memcpy(leg->sender[at].mac, mac, 6);
}

uint32_t
rd_leg_sender6(const uint8_t ip[16])
{
	uint32_t x = be32_load(ip) ^ be32_load(ip + 4) ^ be32_load(ip + 8) ^ be32_load(ip + 12);
	return x | 15u << 28; /* no IPv4 host's */
}

/* To the station that sent from there last, if that is remembered. */
static bool
send_to_sender(struct rd_leg *leg, struct rte_mbuf *m, uint32_t from)
{
	for (uint32_t i = 1; i <= RD_SENDERS && i <= leg->nsenders; i++) {
		uint32_t at = (leg->nsenders - i) % RD_SENDERS;
		if (leg->sender[at].ip != from || (leg->sender[at].mac[0] & 1))
			continue;
		leg->count.tx_back++;
		rd_set_dst_mac(rte_pktmbuf_mtod(m, uint8_t *), leg->sender[at].mac);
		rd_leg_push(leg, m);
		return true;
	}
	return false;
}

void
rd_leg_send_back6(struct rd_leg *leg, struct rte_mbuf *m, const uint8_t dst[16])
{
	if (send_to_sender(leg, m, rd_leg_sender6(dst)))
		return;
	leg->count.drop_no_route++;
	rte_pktmbuf_free(m);
}

void
rd_leg_send_back(struct rd_leg *leg, struct rte_mbuf *m, uint32_t dst)
{
	uint32_t hop = rd_next_hop(&leg->self, dst);
	uint8_t mac[6];
	if (send_to_sender(leg, m, dst)) {
		/* If it speaks again it has proved its address, and gets an answer at once. */
		if (hop)
			rd_neigh_want(leg->neigh, hop, leg->now_ns);
		return;
	}
	if (!hop) {
		leg->count.drop_no_route++;
		rte_pktmbuf_free(m);
	} else if (rd_neigh_lookup(leg->neigh, hop, RD_NEIGH_STRANGER, mac, m, leg->now_ns)) {
		rd_set_dst_mac(rte_pktmbuf_mtod(m, uint8_t *), mac);
		rd_leg_push(leg, m);
	}
}

bool
rd_leg_echo(struct rd_leg *leg)
{
	uint64_t at = base_max_ns(leg->echo_ns, leg->now_ns);
	if (at > base_add_ns(leg->now_ns, ECHO_BURST * ECHO_EVERY_NS))
		return false;
	leg->echo_ns = base_add_ns(at, ECHO_EVERY_NS);
	return true;
}

/* ---- the kernel's neighbours -------------------------------------------------------- */

static bool
is_six_frame(struct rte_mbuf *m)
{
	return be16_load(rte_pktmbuf_mtod(m, uint8_t *) + 12) == 0x86dd;
}

/* Of its frames that wait for a neighbour: is that one who asks? */
static bool
is_kernel_asking(struct rd_leg *leg, struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	return be16_load(frame + 12) == 0x0806 ||
	       (is_six_frame(m) && rd_nd_asked(&leg->self, frame, m->data_len));
}

static void
tell_kernel(struct rd_leg *leg, struct rte_mbuf *m, const uint8_t mac[6])
{
	bool six = is_six_frame(m);
	if (six)
		rd_nd_tell(rte_pktmbuf_mtod(m, uint8_t *), mac);
	else
		rd_arp_tell(rte_pktmbuf_mtod(m, uint8_t *), mac);
	m->data_len = six ? RD_ND_FRAME : RD_ARP_FRAME;
	m->pkt_len = m->data_len;
	leg->count.tx_arp_kernel++;
	leg->to_kernel(leg->user, leg, m);
}

/* Whom does it ask for?  A number if that is an IPv6 address, which has to be a next hop; 0:
 * nobody. */
static uint32_t
asked_by_kernel(struct rd_leg *leg, struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *), *target, *hop;
	if (!is_six_frame(m))
		return rd_arp_asked(frame, m->data_len);
	target = rd_nd_asked(&leg->self, frame, m->data_len);
	hop = target ? rd_next_hop6(&leg->self, target) : NULL;
	if (!hop || memcmp(hop, target, 16) != 0 || rte_pktmbuf_tailroom(m) < RD_ND_FRAME)
		return 0;
	return rd_hops_number(&leg->hops, hop);
}

static void
kernel_asks(struct rd_leg *leg, struct rte_mbuf *m)
{
	uint32_t ip = asked_by_kernel(leg, m);
	uint8_t mac[6];
	if (!ip || rd_station_has(&leg->self, ip) || !leg->to_kernel) {
		leg->count.drop_tap_frame++;
		rte_pktmbuf_free(m);
		return;
	}
	/* It asks for those it knows when they are silent. */
	rd_neigh_suspect(leg->neigh, ip, leg->now_ns);
	/* Perhaps only for the answer to somebody's SYN: no peer yet. */
	if (rd_neigh_lookup(leg->neigh, ip, RD_NEIGH_STRANGER, mac, m, leg->now_ns))
		tell_kernel(leg, m, mac);
}

/* The next hop of whom it talks to with success; 0: none, or that cannot be told. */
static uint32_t
hop_of_talk(const struct rd_leg *leg, const uint8_t *frame, size_t len)
{
	const uint8_t *peer6 = leg->self.six ? rd_kernel6_peer(frame, len) : NULL;
	if (peer6) {
		const uint8_t *hop = rd_next_hop6(&leg->self, peer6);
		return hop ? rd_hops_known(&leg->hops, hop) : 0;
	}
	uint32_t peer = rd_kernel_peer(frame, len);
	return peer ? rd_next_hop(&leg->self, peer) : 0;
}

void
rd_leg_from_kernel(struct rd_leg *leg, struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint16_t type = be16_load(frame + 12);
	uint32_t hop;
	struct rd_flow flow;
	if (is_kernel_asking(leg, m)) {
		kernel_asks(leg, m);
		return;
	}
	if (type != 0x0800 && !rd_kernel6_speaks(&leg->self, frame, m->data_len)) {
		leg->count.drop_tap_frame++;
		rte_pktmbuf_free(m);
		return;
	}
	leg->count.tx_tap++;
	if (leg->flows && rd_kernel_flow(&leg->self, frame, m->data_len, &flow))
		rd_flows_note(leg->flows, &flow, leg->now_ns);
	hop = hop_of_talk(leg, frame, m->data_len);
	if (hop)
		rd_neigh_touch(leg->neigh, hop, leg->now_ns);
	rd_leg_push(leg, m);
}

static void
neighbour_moved(void *user, uint32_t ip, const uint8_t *mac)
{
	struct rd_leg *leg = user;
	leg->last_ns = 0; /* the MAC that was looked up last may be its */
	struct rte_mbuf *m =
		leg->to_kernel && !rd_hops_is_number(ip) ? rte_pktmbuf_alloc(leg->pool) : NULL;
	if (!m)
		return; /* the kernel asks when it is silent */
	rd_write_arp_request((uint8_t *)rte_pktmbuf_append(m, RD_ARP_FRAME), &leg->self, ip, NULL);
	tell_kernel(leg, m, mac);
}

static void
neighbour_contested(void *user, uint32_t ip, const uint8_t *known, const uint8_t *claim)
{
	struct rd_leg *leg = user;
	if (leg->contested)
		leg->contested(leg->user, leg, ip, known, claim);
}

/* ---- the table's calls ---------------------------------------------------------------- */

static void
send_request(void *user, uint32_t ip, const uint8_t *mac)
{
	struct rd_leg *leg = user;
	struct rte_mbuf *m = rte_pktmbuf_alloc(leg->pool);
	if (!m) {
		leg->count.drop_no_buffer++;
		return;
	}
	if (!rd_hops_is_number(ip)) {
		rd_write_arp_request((uint8_t *)rte_pktmbuf_append(m, RD_ARP_FRAME), &leg->self, ip,
				     mac);
		rd_leg_push(leg, m);
		return;
	}
	const uint8_t *target = leg->self.six ? rd_hops_address(&leg->hops, ip) : NULL;
	if (!target) { /* nobody sends there any more */
		rte_pktmbuf_free(m);
		return;
	}
	rd_write_nd_request((uint8_t *)rte_pktmbuf_append(m, RD_ND_FRAME), &leg->self, target, mac);
	rd_leg_push(leg, m);
}

/* Not at once: who claims an address does so in bursts, and the last word counts. */
#define DEFENCE_NS (5 * BASE_MS_NS)

void
rd_leg_defend(struct rd_leg *leg, uint32_t ip)
{
	if (ip == leg->self.address)
		leg->defence |= 1;
	for (uint32_t i = 0; i < leg->self.nmore; i++)
		if (ip == leg->self.more[i])
			leg->defence |= 2ull << i;
	if (!leg->defence_ns)
		leg->defence_ns = base_add_ns(leg->now_ns, DEFENCE_NS);
}

void
rd_leg_defend6(struct rd_leg *leg)
{
	leg->defence_6 = true;
	if (!leg->defence_ns)
		leg->defence_ns = base_add_ns(leg->now_ns, DEFENCE_NS);
}

static void
announce_six(struct rd_leg *leg)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(leg->pool);
	leg->defence_6 = false;
	if (!m) {
		leg->count.drop_no_buffer++;
		return;
	}
	rd_write_nd_announcement((uint8_t *)rte_pktmbuf_append(m, RD_ND_FRAME), &leg->self);
	leg->count.tx_arp_defence++;
	rd_leg_push(leg, m);
}

uint64_t
rd_leg_defence_ns(const struct rd_leg *leg)
{
	return leg->defence_ns ? leg->defence_ns : BASE_NEVER_NS;
}

void
rd_leg_defend_tick(struct rd_leg *leg)
{
	uint64_t which = leg->defence;
	if (!leg->defence_ns || leg->now_ns < leg->defence_ns)
		return;
	leg->defence = leg->defence_ns = 0;
	if (leg->defence_6)
		announce_six(leg);
	for (; which; which &= which - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(which);
		struct rte_mbuf *m = rte_pktmbuf_alloc(leg->pool);
		if (!m) {
			leg->count.drop_no_buffer++;
			continue;
		}
		rd_write_arp_announcement((uint8_t *)rte_pktmbuf_append(m, RD_ARP_FRAME),
					  &leg->self,
					  i ? leg->self.more[i - 1] : leg->self.address);
		leg->count.tx_arp_defence++;
		rd_leg_push(leg, m);
	}
}

static void
send_waiting(void *user, void *packet, const uint8_t mac[6])
{
	struct rd_leg *leg = user;
	struct rte_mbuf *m = packet;
	if (is_kernel_asking(leg, m)) {
		tell_kernel(leg, m, mac);
		return;
	}
	rd_set_dst_mac(rte_pktmbuf_mtod(m, uint8_t *), mac);
	rd_leg_push(leg, m);
}

static void
drop_waiting(void *user, void *packet)
{
	(void)user; /* the table has counted it */
	rte_pktmbuf_free(packet);
}

static void
neighbour_gone(void *user, uint32_t ip)
{
	struct rd_leg *leg = user;
	if (leg->unreachable)
		leg->unreachable(leg->user, leg, ip);
}

int
rd_leg_init(struct rd_leg *leg, void *neigh_mem, struct rd_neigh_conf *neigh_conf)
{
	static const struct rd_neigh_ops ops = {
		.request = send_request,
		.send = send_waiting,
		.drop = drop_waiting,
		.unreachable = neighbour_gone,
		.contested = neighbour_contested,
		.moved = neighbour_moved,
	};
	neigh_conf->ops = &ops;
	neigh_conf->user = leg;
	leg->neigh = rd_neigh_new(neigh_mem, neigh_conf);
	return leg->neigh ? 0 : -1;
}

void
rd_leg_fini(struct rd_leg *leg)
{
	rd_neigh_fini(leg->neigh);
	leg->neigh = NULL;
	for (uint16_t i = 0; i < leg->ntx; i++)
		rte_pktmbuf_free(leg->tx[i]);
	leg->ntx = 0;
}

void
rd_leg_reclaim(struct rd_leg *leg)
{
	/* -ENOTSUP from drivers that copy at once (af_packet): nothing to give back. */
	if (leg->txq != RD_NO_QUEUE && !leg->off)
		(void)rte_eth_tx_done_cleanup(leg->port->id, leg->txq, 0);
}
