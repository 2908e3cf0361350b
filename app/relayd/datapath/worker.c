/* SPDX-License-Identifier: BSD-2-Clause */
#include "worker.h"
#include "keys.h"
#include "worker_internal.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "custody.h"
#include "edge.h"
#include "driver/poller.h"
#include "frame.h"
#include "rd/lanes.h"
#include "rd/packet6.h"
#include "relay/addr.h"
#include "suci/wire.h"
#include "sniff.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <string.h>

#include <bsd/string.h>

/* Frames whose first line is fetched before it is read. */
#define RD_AHEAD 4
/* So often paths are looked at for silence. */
#define SUSPECT_NS (100 * BASE_MS_NS)
/* Idle sleep only: packets that come or are due in a row are handled in bursts. */
#define IDLE_SLACK_NS (30 * BASE_US_NS)
/* But not while somebody waits for answers over a TAP: a nap is added to each of them, and
 * they come one at a time. */
#define TAP_ALERT_NS (500 * BASE_US_NS)

/* ---- receive ----------------------------------------------------------------- */

/* An address of IPv4, or the number of an IPv6 next hop. */
static void
set_address(struct rd_event *e, const struct rd_leg *leg, uint32_t ip)
{
	const uint8_t *six = rd_hops_is_number(ip) ? rd_hops_address(&leg->hops, ip) : NULL;
	e->log.leg = leg->index;
	e->log.address = six ? 0 : ip;
	if (six)
		e->log.peer = suci_addr_of(six, 0);
}

void
rd_worker_neighbour_gone(void *user, struct rd_leg *leg, uint32_t ip)
{
	struct rd_worker *w = user;
	if (leg->index >= RD_LEG_LIGHT)
		return; /* it is dark */
	struct rd_event *e = rd_worker_event(w, false);
	if (!e)
		return;
	e->type = RD_EVENT_NEIGHBOUR;
	set_address(e, leg, ip);
	rd_worker_post(w, e);
}

void
rd_worker_to_kernel(void *user, struct rd_leg *leg, struct rte_mbuf *m)
{
	struct rd_worker *w = user;
	if (leg->index >= RD_LEGS) {
		leg->count.drop_no_tap++;
		rte_pktmbuf_free(m);
		return;
	}
	/* Nobody reads another worker's ring; rd_packet_shard sends what is for it to worker 0. */
	if (w->index || !base_ring_push(&w->box->to_tap[leg->index], m)) {
		leg->count.drop_tap_full++;
		rte_pktmbuf_free(m);
		return;
	}
	leg->count.rx_tap++;
	w->tap_ns = w->now_ns;
	if (w->gateway) /* its thread serves the TAPs */
		w->wake_gateway = true;
	else
		w->wake_control = true;
}

/* A whole frame for the gateway's thread, from now on its. */
static void
to_gateway(struct rd_worker *w, struct rd_leg *leg, struct rte_mbuf *m)
{
	if (!w->gateway || !base_ring_push(&w->gateway->to_gateway[w->index], m)) {
		leg->count.drop_gateway_full++;
		rte_pktmbuf_free(m);
		return;
	}
	leg->count.rx_gateway++;
	w->wake_gateway = true;
}

static void
mac_text(char *out, size_t max, const uint8_t mac[6])
{
	snprintf(out, max, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
		 mac[5]);
}

void
rd_worker_contested(void *user, struct rd_leg *leg, uint32_t ip, const uint8_t known[6],
		    const uint8_t claim[6])
{
	struct rd_worker *w = user;
	if (w->now_ns - w->contested_ns < BASE_S_NS)
		return;
	struct rd_event *e = rd_worker_event(w, false);
	if (!e)
		return;
	w->contested_ns = w->now_ns;
	e->type = RD_EVENT_CONTESTED;
	set_address(e, leg, ip);
	mac_text(e->log.what, sizeof e->log.what, known);
	mac_text(e->text, sizeof e->text, claim);
	rd_worker_post(w, e);
}

static void
conflict(struct rd_worker *w, struct rd_leg *leg, const struct rd_rx_frame *f)
{
	bool six = f->drop == RD_DROP_nd_conflict;
	if (six)
		rd_leg_defend6(leg);
	else
		rd_leg_defend(leg, f->src_ip);
	if (w->now_ns - w->conflict_ns < BASE_S_NS)
		return;
	struct rd_event *e = rd_worker_event(w, false);
	if (!e)
		return;
	w->conflict_ns = w->now_ns;
	e->type = RD_EVENT_CONFLICT;
	set_address(e, leg, f->src_ip);
	if (six) {
		e->log.address = 0;
		e->log.peer = suci_addr_of(leg->six.address, 0);
	}
	mac_text(e->log.what, sizeof e->log.what, f->src_mac);
	rd_worker_post(w, e);
}

/* Worker 0 answers for all; what a frame tells all learn.  False: there is no answer in m. */
static bool
arp(struct rd_worker *w, struct rd_leg *leg, struct rte_mbuf *m, const struct rd_rx_frame *f)
{
	bool request = f->verdict == RD_RX_ARP_REQUEST;
	enum rd_neigh_word word = request	 ? RD_NEIGH_ASKS
				  : f->announced ? RD_NEIGH_ANNOUNCES
						 : RD_NEIGH_ANSWERS;
	if (f->src_ip)
		rd_neigh_learn(leg->neigh, f->src_ip, f->src_mac, word, w->now_ns);
	if (w->index)
		return false;
	if (w->nworkers > 1 && f->src_ip)
		rd_steer_tell(w, leg, m);
	if (!request)
		return false;
	rd_arp_answer(rte_pktmbuf_mtod(m, uint8_t *), &leg->self);
	m->data_len = RD_ARP_FRAME;
	m->pkt_len = RD_ARP_FRAME;
	m->ol_flags = 0;
	leg->count.rx_arp++;
	return true;
}

/* The same for IPv6: only of next hops that peers are behind is anything learned. */
static bool
discover(struct rd_worker *w, struct rd_leg *leg, struct rte_mbuf *m, const struct rd_rx_frame *f)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	bool request = f->verdict == RD_RX_ND_REQUEST;
	uint32_t hop = f->src_6 ? rd_hops_known(&leg->hops, frame + f->src_6) : 0;
	enum rd_neigh_word word = request	 ? RD_NEIGH_ASKS
				  : f->announced ? RD_NEIGH_ANNOUNCES
						 : RD_NEIGH_ANSWERS;
	if (hop)
		rd_neigh_learn(leg->neigh, hop, f->src_mac, word, w->now_ns);
	if (w->index)
		return false;
	if (w->nworkers > 1 && f->src_6)
		rd_steer_tell(w, leg, m);
	if (!request || m->data_len + (uint32_t)rte_pktmbuf_tailroom(m) < RD_ND_FRAME)
		return false;
	rd_nd_answer(frame, &leg->self, f);
	m->data_len = RD_ND_FRAME;
	m->pkt_len = RD_ND_FRAME;
	m->ol_flags = 0;
	leg->count.rx_arp++;
	return true;
}

static inline void
take_datagram(struct rd_worker *w, struct rd_leg *leg, struct rte_mbuf *m,
	      const struct rd_rx_frame *f)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct suci_addr from;
	uint32_t sender = f->src_ip;
	if (f->src_6) {
		from = suci_addr_of(frame + f->src_6, f->src_port);
		from.leg = leg->index;
		sender = rd_leg_sender6(from.ip);
	} else {
		relay_addr_set_v4(&from, f->src_ip, f->src_port, leg->index);
	}
	leg->count.rx_suci++;
	leg->count.rx_known += (f->known & RD_KNOWN_UDP_GOOD) != 0;
	/* All but data may be about a path that is not.  So may data, and with IPv6 the answer to
	 * them finds its station here or nowhere. */
	if (f->payload_len && (f->src_6 || (frame[f->payload_off] & 15) != SUCI_T_DATA))
		rd_leg_note_sender(leg, sender, f->src_mac);
	rd_frame_set_tail(m, f);
	rd_custody_offer(w, &from, m, frame + f->payload_off, f->payload_len, f->ecn);
}

/* ICMP says that a datagram of ours did not arrive. */
static void
take_error(struct rd_worker *w, struct rd_leg *leg, const uint8_t *frame,
	   const struct rd_rx_frame *f)
{
	struct suci_addr to = relay_addr_v4(f->quoted_ip, f->quoted_port, leg->index);
	if (f->quoted_6) {
		to = suci_addr_of(frame + f->quoted_6, f->quoted_port);
		to.leg = leg->index;
	}
	leg->count.rx_unreachable++;
	/* Code 4 is about size, not about absence. */
	if (f->icmp_code != 4)
		suci_path_unreachable(w->ep, &to, frame + f->quote_off, f->quote_len, w->now_ns);
}

/* m is ours, and no other worker's; afterwards it is not. */
static inline void
take_burst(struct rd_worker *w, struct rd_leg *leg, struct rte_mbuf *m)
{
	struct rd_rx_frame f;
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	rd_packet_parse_known(&leg->self, frame, m->data_len, rd_frame_known(leg->port, m), &f);
	switch (f.verdict) {
	case RD_RX_SUCI:
		take_datagram(w, leg, m, &f);
		return;
	case RD_RX_GATEWAY:
		to_gateway(w, leg, m);
		return;
	case RD_RX_ARP_REQUEST:
	case RD_RX_ARP_REPLY:
		if (!arp(w, leg, m, &f))
			break;
		rd_leg_push(leg, m);
		return;
	case RD_RX_ND_REQUEST:
	case RD_RX_ND_REPLY:
		if (!discover(w, leg, m, &f))
			break;
		rd_leg_push(leg, m);
		return;
	case RD_RX_ECHO:
		if (!rd_leg_echo(leg)) {
			leg->count.drop_echo++;
			break;
		}
		if (f.src_6)
			rd_echo6_answer(frame, &f);
		else
			rd_echo_answer(frame, &f);
		m->data_len = (uint16_t)f.frame_len;
		m->pkt_len = f.frame_len;
		m->ol_flags = 0;
		leg->count.rx_echo++;
		rd_leg_push(leg, m);
		return;
	case RD_RX_UNREACHABLE:
		take_error(w, leg, frame, &f);
		break;
	case RD_RX_TAP_FLOW:
		if (!leg->flows || !rd_flows_knows(leg->flows, &f.flow, w->now_ns)) {
			leg->count.rx_drop[RD_DROP_tap_port]++;
			break;
		}
		/* fall through */
	case RD_RX_TAP:
		rd_worker_to_kernel(w, leg, m);
		return;
	case RD_RX_DROP:
		leg->count.rx_drop[f.drop]++;
		if (f.drop == RD_DROP_arp_conflict || f.drop == RD_DROP_nd_conflict)
			conflict(w, leg, &f);
		break;
	}
	rte_pktmbuf_free(m);
}

/* The same, and whoever captures sees it before anything in it is changed. */
static void
take_seen(struct rd_worker *w, struct rd_leg *leg, struct rte_mbuf *m)
{
	if (w->sniffer)
		rd_sniff_rx(w->sniffer, leg->index, leg->port->id, m);
	take_burst(w, leg, m);
	if (w->sniffer)
		rd_sniff_rx_done(w->sniffer);
}

/* From our queue at the port of at. */
static void
receive(struct rd_worker *w, struct rd_leg *at, struct rte_mbuf *m)
{
	struct rd_leg *leg = at;
	uint32_t bytes = m->pkt_len;
	bool good = m->nb_segs == 1 || rte_pktmbuf_linearize(m) == 0;
	if (good && (at->vlan || at->shared || (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)))
		leg = rd_edge_in(at, at->shared ? &w->leg[RD_LEG_GLOBAL] : NULL, m);
	if (!leg || !good) {
		at->count.drop_segments += !good;
		at->count.rx_drop[RD_DROP_vlan] += good;
		at->count.rx_frames++;
		at->count.rx_bytes += bytes;
		rte_pktmbuf_free(m);
		return;
	}
	leg->count.rx_frames++;
	leg->count.rx_bytes += bytes;
	m->port = leg->index;
	if ((m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_NONE)
		rd_frame_complete(leg, m);
	if (w->nworkers > 1) {
		uint32_t to =
			rd_packet_shard(&leg->self, rte_pktmbuf_mtod(m, uint8_t *), m->data_len);
		if (to != w->index && to != RD_SHARD_HERE) {
			rd_steer_hand(w, leg, m, to);
			return;
		}
	}
	take_seen(w, leg, m);
}

/* From another worker's queue. */
static void
receive_steered(struct rd_worker *w, struct rd_leg *leg, struct rte_mbuf *m)
{
	leg->count.rx_steered++;
	take_seen(w, leg, m);
}

static uint32_t
receive_leg(struct rd_worker *w, struct rd_leg *leg)
{
	struct rte_mbuf *burst[RD_BURST];
	if (leg->rxq == RD_NO_QUEUE || leg->off || leg->shares)
		return 0;
	uint16_t n = rte_eth_rx_burst(leg->port->id, leg->rxq, burst, RD_BURST);
	if (n)
		rd_worker_see_clock(w);
	for (uint16_t i = 0; i < n && i < RD_AHEAD; i++)
		__builtin_prefetch(rte_pktmbuf_mtod(burst[i], void *));
	for (uint16_t i = 0; i < n; i++) {
		if (i + RD_AHEAD < n)
			__builtin_prefetch(rte_pktmbuf_mtod(burst[i + RD_AHEAD], void *));
		receive(w, leg, burst[i]);
	}
	return n;
}

/* Frames of the kernel. */
static uint32_t
from_tap(struct rd_worker *w, struct rd_leg *leg)
{
	uint32_t n = 0;
	struct rte_mbuf *m;
	while (n < RD_BURST && (m = base_ring_pop(&w->box->from_tap[leg->index]))) {
		n++;
		w->tap_ns = w->now_ns;
		rd_leg_from_kernel(leg, m);
	}
	return n;
}

/* Frames of the gateway: to the own core or, for those of other relays, on the wire. */
static uint32_t
from_gateway(struct rd_worker *w)
{
	struct rd_leg *leg = &w->leg[RD_LEG_PRIVATE];
	uint32_t n = 0;
	struct rte_mbuf *m;
	while (n < RD_BURST && (m = base_ring_pop(&w->gateway->to_worker[w->index]))) {
		uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
		uint32_t dst = be32_load(frame + RD_ETH_HDR + 16);
		n++;
		leg->count.tx_gateway++;
		if (dst != leg->self.address) {
			rd_leg_send_ip(leg, m, dst);
			continue;
		}
		struct suci_addr from =
			relay_addr_v4(leg->self.address, leg->self.gateway_port, RELAY_LEG_PRIVATE);
		m->hash.usr = 0; /* nobody has summed it up */
		rd_custody_offer(w, &from, m, frame + RD_FRAME_HDR,
				 m->data_len - (size_t)RD_FRAME_HDR, SUCI_ECN_NOT);
	}
	return n;
}

/* ---- transmit ---------------------------------------------------------------- */

static bool
for_own_gateway(const struct rd_worker *w, const struct suci_addr *to)
{
	const struct rd_station *self = &w->leg[RD_LEG_PRIVATE].self;
	return w->gateway && to->leg == RELAY_LEG_PRIVATE && to->port == self->gateway_port &&
	       be32_load(to->ip + 12) == self->address;
}

static void
send_six(struct rd_leg *leg, struct rte_mbuf *m, const struct suci_out *o)
{
	if (o->path == UINT32_MAX)
		rd_leg_send_back6(leg, m, o->to.ip);
	else
		rd_leg_send_ip6(leg, m, o->to.ip);
}

static uint32_t
transmit_burst(struct rd_worker *w)
{
	struct suci_out *o = &w->out;
	uint32_t n = 0;
	for (; n < RD_TX_BUDGET; n++) {
		if (!suci_tx(w->ep, o, w->now_ns))
			return n;
		struct rd_leg *leg = &w->leg[o->to.leg < w->nlegs ? o->to.leg : RD_LEG_PRIVATE];
		/* Copied for other threads, the gateway's and the worker's whose queue we use: they
		 * must not share an mbuf with custody. */
		bool own = for_own_gateway(w, &o->to), copy = own || leg->txq == RD_NO_QUEUE;
		struct rte_mbuf *payload = rd_custody_of(w, o);
		struct rte_mbuf *m = rd_frame_build(leg, w->ep, o, copy ? NULL : payload);
		if (m && w->sniffer)
			rd_sniff_built(w->sniffer, m, payload);
		if (m && own)
			to_gateway(w, leg, m);
		else if (m && o->to.family == 6)
			send_six(leg, m, o);
		else if (m && o->path == UINT32_MAX)
			rd_leg_send_back(leg, m, be32_load(o->to.ip + 12));
		else if (m)
			rd_leg_send_ip(leg, m, be32_load(o->to.ip + 12));
	}
	w->count.tx_budget++;
	return n;
}

/* ---- mail, timers, loop -------------------------------------------------------- */

/* Somebody looks at what passes. */
static void
core_seen(void *user, const struct relay_seen *s)
{
	struct rd_worker *w = user;
	if (w->lanes)
		rd_lanes_count(w->lanes, s->job, s->src_rank, s->dst_rank, s->in_path, s->bytes);
	if (w->sniffer)
		rd_sniff_segment(w->sniffer, s);
}

static void
take_tool(struct rd_worker *w, const struct rd_mail *mail)
{
	if (mail->type == RD_MAIL_IDLE) {
		w->idle.mode = (enum rd_idle_mode)mail->idle;
		return;
	}
	if (mail->type == RD_MAIL_LANES)
		w->lanes = mail->tool;
	else
		w->sniffer = mail->tool;
	for (uint32_t i = 0; i < w->nlegs; i++)
		w->leg[i].sniffer = w->sniffer;
	relay_core_watch(w->core, w->lanes || w->sniffer ? core_seen : NULL, w);
}

static void
take_keys(struct rd_worker *w, struct rd_mail *mail)
{
	struct suci_seal_conf seal = {0};
	rd_keys_give(mail->tool, &seal);
	if (suci_rekey(w->ep, &seal, w->now_ns))
		mail->result = RELAY_ERR_INVAL;
	else
		w->keys = mail->tool;
	explicit_bzero(&seal, sizeof seal);
}

/* How segments are dealt among trunks from now on. */
static int
deal_trunks(struct rd_worker *w, const struct rd_mail *mail)
{
	if (mail->type == RD_MAIL_POLICY)
		return relay_core_set_policy(w->core, &mail->trunks.rule, w->now_ns);
	if (mail->type == RD_MAIL_POLICIES)
		return relay_core_set_policies(w->core, mail->rules.rule, mail->rules.n, w->now_ns);
	return relay_core_set_weight(w->core, mail->trunks.weight, w->now_ns);
}

/* What ends a nap: mail, and frames where the driver says so. */
static void
find_naps(struct rd_worker *w)
{
	rd_nap_fini(&w->naps);
	rd_nap_init(&w->naps, w->box->wake_worker.fd);
	for (uint32_t i = 0; i < w->nlegs; i++)
		if (w->leg[i].rxq != RD_NO_QUEUE && !w->leg[i].off && !w->leg[i].shares)
			rd_nap_add(&w->naps, w->leg[i].port, w->leg[i].rxq);
}

/* Its port is reset meanwhile, and may be another one then. */
static void
switch_leg(struct rd_worker *w, uint32_t i, bool off)
{
	struct rd_leg *leg = &w->leg[i];
	if (leg->shared)
		switch_leg(w, RD_LEG_GLOBAL, off);
	rd_leg_flush(leg);
	leg->off = off;
	find_naps(w);
	if (off)
		return;
	memcpy(leg->self.mac, leg->port->mac, sizeof leg->self.mac);
	if (w->index == 0) /* others may know another MAC */
		rd_leg_defend(leg, leg->self.address);
}

static void
take_change(struct rd_worker *w, struct rd_mail *mail)
{
	if (mail->type == RD_MAIL_KEYS)
		take_keys(w, mail);
	else if (mail->type == RD_MAIL_SUCI)
		mail->result = rd_worker_retune(w, mail->tool);
	else
		switch_leg(w, mail->port.leg, mail->port.off);
}

static int
change_job(struct rd_worker *w, const struct rd_mail *mail)
{
	if (mail->type == RD_MAIL_JOB_ADD)
		return relay_job_add(w->core, mail->job.table, w->now_ns);
	if (mail->type == RD_MAIL_ELSEWHERE)
		return relay_job_elsewhere(w->core, mail->job.label_base, mail->job.ways,
					   w->now_ns);
	return relay_job_end(w->core, mail->job.label_base, *mail->text ? mail->text : NULL,
			     w->now_ns);
}

static uint32_t
read_mail(struct rd_worker *w)
{
	uint32_t n = 0;
	struct rd_mail *mail;
	/* A snapshot that is not whole holds back what came after it, for some turns. */
	while ((mail = w->looks ? w->looks : base_ring_pop(&w->box->to_worker))) {
		n++;
		mail->result = RELAY_ERR_OK;
		switch (mail->type) {
		case RD_MAIL_JOB_ADD:
		case RD_MAIL_JOB_END:
		case RD_MAIL_ELSEWHERE:
			mail->result = change_job(w, mail);
			break;
		case RD_MAIL_POLICY:
		case RD_MAIL_POLICIES:
		case RD_MAIL_WEIGHT:
			mail->result = deal_trunks(w, mail);
			break;
		case RD_MAIL_END_ALL:
			relay_core_end_all(w->core, mail->text, w->now_ns);
			break;
		case RD_MAIL_LEAVE:
			relay_core_leave(w->core, mail->text, w->now_ns);
			break;
		case RD_MAIL_LIGHT:
			mail->result = relay_core_light(w->core, mail->light.slot, &mail->light.to,
							w->now_ns);
			break;
		case RD_MAIL_DARK:
			mail->result = relay_core_dark(w->core, mail->light.slot, w->now_ns);
			break;
		case RD_MAIL_KEYS:
		case RD_MAIL_SUCI:
		case RD_MAIL_LEG:
			take_change(w, mail);
			break;
		case RD_MAIL_NOTE:
			mail->result = relay_core_note(w->core, mail->note.label_base,
						       mail->note.rank, mail->note.bytes->bytes,
						       mail->note.bytes->len, w->now_ns);
			break;
		case RD_MAIL_SNAPSHOT:
			rd_custody_flush(w); /* buffers in use are counted */
			if (!rd_worker_look(w, mail))
				return n;
			break;
		case RD_MAIL_TURN:
		case RD_MAIL_JOB_FINISH: /* the gateway's */
			break;
		case RD_MAIL_LANES:
		case RD_MAIL_SNIFF:
		case RD_MAIL_IDLE:
			take_tool(w, mail);
			break;
		case RD_MAIL_STOP:
			w->stop = true;
			continue;
		}
		mail->gateway = false;
		if (mail->result)
			strlcpy(mail->text, relay_strerror(mail->result), sizeof mail->text);
		if (!base_ring_push(&w->box->replies, mail))
			w->count.events_lost++; /* cannot be: as many slots as mails */
		w->wake_control = true;
	}
	return n;
}

/* A peer that is silent for longer than its keepalives take may have got another MAC.  A part of
 * the paths at a time. */
static void
suspect_silent(struct rd_worker *w)
{
	uint32_t paths = w->conf->limits.paths, n = paths / 8 + 64;
	uint64_t silence_ns =
		(w->suci.keepalive_ms + w->suci.liveness_ms / 8) * (uint64_t)BASE_MS_NS;
	struct suci_path_info p;
	w->suspect_ns = base_add_ns(w->now_ns, SUSPECT_NS);
	for (n = n < paths ? n : paths; n > 0; n--, w->suspect_at++) {
		w->suspect_at = w->suspect_at < paths ? w->suspect_at : 0;
		if (!suci_path_info(w->ep, w->suspect_at, &p) || p.peer.leg >= RD_LEGS ||
		    w->now_ns - p.last_rx_ns < silence_ns)
			continue;
		struct rd_leg *leg = &w->leg[p.peer.leg];
		uint32_t hop = p.peer.family == 6
				       ? rd_leg_hop6(leg, p.peer.ip)
				       : rd_next_hop(&leg->self, be32_load(p.peer.ip + 12));
		rd_neigh_suspect(leg->neigh, hop, w->now_ns);
	}
}

static void
timers(struct rd_worker *w)
{
	uint64_t now = w->now_ns;
	if (now >= suci_expiry_ns(w->ep))
		suci_tick(w->ep, now);
	if (now >= relay_core_expiry_ns(w->core))
		relay_core_tick(w->core, now);
	if (now >= w->suspect_ns) /* with the next turn is soon enough */
		suspect_silent(w);
	for (uint32_t i = 0; i < w->nlegs; i++) {
		rd_neigh_tick(w->leg[i].neigh, now);
		rd_leg_defend_tick(&w->leg[i]);
	}
}

/* When something is due although nothing comes in. */
static uint64_t
next_due(const struct rd_worker *w)
{
	uint64_t next = base_min_ns(suci_expiry_ns(w->ep), relay_core_expiry_ns(w->core));
	for (uint32_t i = 0; i < w->nlegs; i++) {
		next = base_min_ns(next, rd_neigh_expiry_ns(w->leg[i].neigh));
		next = base_min_ns(next, rd_leg_defence_ns(&w->leg[i]));
	}
	return next;
}

uint32_t
rd_worker_turn(struct rd_worker *w)
{
	uint32_t work = 0;
	rd_worker_see_clock(w);
	w->turn_ns = w->now_ns;
	for (uint32_t i = 0; i < w->nlegs; i++) {
		work += receive_leg(w, &w->leg[i]);
		if (i < RD_LEGS)
			work += from_tap(w, &w->leg[i]);
	}
	if (w->steer)
		work += rd_steer_in(w, receive_steered);
	if (w->gateway)
		work += from_gateway(w);
	work += read_mail(w);
	if (w->nfresh)
		rd_worker_fresh_cc(w);
	timers(w);
	work += transmit_burst(w);
	rd_custody_flush(w);
	for (uint32_t i = 0; i < w->nlegs; i++)
		rd_leg_flush(&w->leg[i]);
	if (w->wake_control) {
		w->wake_control = false;
		rd_wake_up(w->box->wake);
	}
	if (w->wake_gateway) {
		w->wake_gateway = false;
		rd_wake_up(&w->gateway->wake);
	}
	for (; w->wake_workers; w->wake_workers &= w->wake_workers - 1)
		rd_wake_up(w->wake_of[__builtin_ctz(w->wake_workers)]);
	return work;
}

/* Idle sleep only: what other threads push ends the nap; what comes in from the legs a long
 * one. */
static void
nap(void *user, uint32_t ns)
{
	struct rd_worker *w = user;
	struct rd_mailbox *b = w->box;
	rd_wake_sleep(&b->wake_worker);
	if (base_ring_count(&b->to_worker) || base_ring_count(&b->from_tap[RD_LEG_PRIVATE]) ||
	    base_ring_count(&b->from_tap[RD_LEG_GLOBAL]) ||
	    (w->gateway && base_ring_count(&w->gateway->to_worker[w->index])) ||
	    rd_steer_waiting(w))
		ns = 0;
	rd_nap(&w->naps, ns);
	rd_wake_awake(&b->wake_worker);
}

static void
start_idle(struct rd_worker *w)
{
	find_naps(w);
	rd_idle_init(&w->idle, w->idle.mode, rd_nap_max_ns(&w->naps));
	w->idle.nap = nap;
	w->idle.user = w;
}

static void
drain_taps(struct rd_worker *w)
{
	for (int i = 0; i < RD_LEGS; i++)
		for (int k = 0; k < RD_TAP_RING / RD_BURST && from_tap(w, &w->leg[i]); k++)
			rd_leg_flush(&w->leg[i]);
}

int
rd_worker_run(void *arg)
{
	struct rd_worker *w = arg;
	start_idle(w);
	rd_clock_init(&w->clock);
	struct rd_poller *poller = rd_poller_new();
	uint32_t work = 0;
	while (!w->stop) {
		uint64_t began_ns = w->turn_ns;
		uint32_t last = work;
		rd_poll_begin(poller);
		work = rd_worker_turn(w);
		/* A turn lasts until the next one begins; no sleep follows a busy one. */
		w->count.busy_ns += last ? w->turn_ns - began_ns : 0;
		w->count.turns++;
		w->count.busy_turns += work > 0;
		if (w->count.turns % RD_HOUSEKEEPING == 0)
			for (uint32_t i = 0; i < w->nlegs; i++)
				rd_leg_reclaim(&w->leg[i]);
		rd_poll_end(poller);
		w->idle.slack_ns = w->now_ns - w->tap_ns < TAP_ALERT_NS ? 0 : IDLE_SLACK_NS;
		rd_idle_turn(&w->idle, work, w->now_ns, next_due(w));
	}
	rd_nap_fini(&w->naps);
	rd_poll_begin(poller);
	drain_taps(w);
	for (uint32_t i = 0; i < w->nlegs; i++)
		rd_leg_reclaim(&w->leg[i]);
	rd_poll_end(poller);
	atomic_store(&w->ended, true);
	return 0;
}
