/* The peer has another address: it is challenged, and when the answer comes from there
 * the path moves (RFC 9000 section 9).
 *
 *      we                                the peer, now at B instead of A
 *        <- DATA with our tag, newest pn   from B: dropped, but
 *        CHALLENGE token ->                to B, not longer than the DATA was
 *        <- RESPONSE token                 from B: the path is there
 *
 * What is sent meanwhile goes to A, and what comes from A counts.  The token is
 * SipHash under the endpoint's secret over address, tag, time and a count, so who does
 * not get the challenge cannot answer it: a false source address moves nothing.  One
 * challenge is open per path, for PENDING probe timeouts, and the endpoint sends no more
 * of them than of RESETs.  Only the newest packet number counts, so that a late datagram
 * from A does not move the path back. */
#include "private.h"

#include "base/serial.h"
#include "base/siphash.h"

#include <string.h>

#define PENDING 3u

static bool
spend(struct suci *ep, uint64_t now_ns)
{
	if (suci_pacer_next_ns(&ep->reset_pacer, now_ns) > now_ns)
		return false;
	suci_pacer_sent(&ep->reset_pacer, 1, now_ns);
	return true;
}

static bool
send_token(struct suci *ep, struct suci_path *p, enum suci_type type, const struct suci_addr *to,
	   uint64_t token, uint64_t now_ns)
{
	struct suci_oob *o = spend(ep, now_ns) ? suci_oob_new(ep, to, true) : NULL;
	if (!o)
		return false;
	struct suci_path_hdr h = {
		.version = SUCI_VERSION,
		.type = (uint8_t)type,
		.path_tag = p->tx_tag,
		.pn = (uint32_t)(token >> 32),
		.time_us = (uint32_t)token,
	};
	size_t len = suci_path_hdr_encode(&h, o->bytes);
	if (p->seal)
		len = suci_seal_control(ep, p, o->bytes, len, len);
	o->len = (uint16_t)len;
	suci_oob_send(ep, o, 0, 0);
	return true;
}

static uint64_t
pending_ns(const struct suci *ep, const struct suci_path *p)
{
	return PENDING * suci_rtt_pto_ns(&p->rtt, ep->conf.ack_delay_ns, 0);
}

void
suci_move_heard(struct suci *ep, struct suci_path *p, const struct suci_addr *from,
		const struct suci_path_hdr *h, uint64_t now_ns)
{
	struct suci_move *m = &p->move;
	ep->count.drop_address++;
	if (!ep->conf.migrate || p->state != PATH_UP || p->closing || h->flags & SUCI_PF_BARE)
		return;
	if (p->acks.n && serial_le(h->pn, p->acks.range[0].hi))
		return;
	if (m->token && now_ns - m->at_ns < pending_ns(ep, p))
		return;
	struct {
		struct suci_addr addr;
		uint32_t tag;
		uint64_t now_ns, count;
	} in = {*from, p->rx_tag, now_ns, ep->count.tx_challenges};
	uint64_t token = base_siphash(ep->conf.cookie_secret, &in, sizeof in);
	token = token ? token : 1;
	if (!send_token(ep, p, SUCI_T_CHALLENGE, from, token, now_ns))
		return;
	ep->count.tx_challenges++;
	m->to = *from;
	m->token = token;
	m->at_ns = now_ns;
}

static void
move(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	struct suci_addr old = p->peer;
	/* Another port at the same place is the same way there. */
	bool elsewhere = memcmp(old.ip, p->move.to.ip, sizeof old.ip) || old.leg != p->move.to.leg;
	suci_path_readdress(ep, p, &p->move.to);
	p->move.count++;
	p->move.moved_pn = p->next_pn;
	p->probes = 0;
	p->last_rx_ns = now_ns;
	ep->count.paths_moved++;
	if (elsewhere) {
		suci_rtt_init(&p->rtt, 0);
		p->sampled_ns = 0;
		suci_path_restart_cc(ep, p, now_ns);
		suci_pmtu_again(ep, p, now_ns);
	}
	if (outstanding(p))
		p->send_probe = true; /* what is missing is found out at once */
	suci_path_ready(ep, p);
	suci_path_arm(ep, p);
	if (ep->ops->path_moved)
		ep->ops->path_moved(ep->user, path_index(ep, p), &old, &p->peer);
}

void
suci_move_rx(struct suci *ep, struct suci_path *p, const struct suci_addr *from,
	     const struct suci_path_hdr *h, uint64_t now_ns)
{
	struct suci_move *m = &p->move;
	uint64_t token = (uint64_t)h->pn << 32 | h->time_us;
	if (p->state != PATH_UP || p->closing) {
		ep->count.drop_state++;
	} else if (h->type == SUCI_T_CHALLENGE) {
		if (memcmp(&p->peer, from, sizeof *from))
			ep->count.drop_address++;
		else
			send_token(ep, p, SUCI_T_RESPONSE, from, token, now_ns);
	} else if (!m->token || m->token != token || memcmp(&m->to, from, sizeof *from) ||
		   now_ns - m->at_ns > pending_ns(ep, p)) {
		ep->count.drop_response++;
	} else {
		m->token = 0;
		if (suci_path_find(ep, from) != UINT32_MAX)
			ep->count.drop_response++; /* another path is there */
		else
			move(ep, p, now_ns);
	}
}
