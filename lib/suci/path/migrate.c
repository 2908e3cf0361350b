/* SPDX-License-Identifier: BSD-2-Clause */
/* The peer has another address: both are challenged, and when the answer comes from there and the
 * old one is silent, the path moves (RFC 9000 section 9).
 *
 *      we                                the peer, now at B instead of A
 *        <- DATA with our tag, newest pn   from B: dropped, but
 *        CHALLENGE token ->                to B, not longer than the DATA was
 *        CHALLENGE another ->              to A, up to ASKED times, a wait apart
 *        <- RESPONSE token                 from B
 *        ... nothing from A                then the path is at B
 *
 * What is sent meanwhile goes to A, and what comes from A counts.  The tokens are
 * SipHash under the endpoint's secret over address, tag, time and a count, so who does
 * not get the challenge cannot answer it: a false source address moves nothing.  Nor does one
 * who hands datagrams on, both ways, from an address of his (section 9.3.3): the peer is still at
 * A, and answers there or goes on sending from there.  One challenge is open per path, for PENDING
 * waits, and the endpoint sends no more of them than of RESETs.  Only the newest packet number
 * counts, so that a late datagram from A does not move the path back. */
#include "path_internal.h"

#include "base/serial.h"
#include "base/siphash.h"

#include <string.h>

#define ASKED	3u /* times, of the old address; move.asked */
#define PENDING ASKED
#define PROVEN	0x80u /* in move.asked: the new one has answered */

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
	struct suci_stateless *o = spend(ep, now_ns) ? suci_stateless_new(ep, to, true) : NULL;
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
	suci_stateless_send(ep, o, 0, 0);
	return true;
}

/* Who hands copies on by a way faster than the wire makes round trips look short.  So the old
 * address has at least as long as the handshake took, and as a path without a sample. */
static uint64_t
answer_wait_ns(const struct suci *ep, const struct suci_path *p)
{
	uint64_t least = base_max_ns(SUCI_RTT_INITIAL_NS, p->hs.rtt_ns) + ep->conf.ack_delay_ns;
	return base_max_ns(least, suci_rtt_pto_ns(&p->rtt, ep->conf.ack_delay_ns, 0));
}

static uint64_t
pending_ns(const struct suci *ep, const struct suci_path *p)
{
	return PENDING * answer_wait_ns(ep, p);
}

static uint64_t
token_for(const struct suci *ep, const struct suci_path *p, const struct suci_addr *addr)
{
	struct {
		struct suci_addr addr;
		uint32_t tag;
		uint64_t at_ns, count;
	} in = {*addr, p->rx_tag, p->move.at_ns, p->move.count};
	uint64_t token = base_siphash(ep->conf.cookie_secret, &in, sizeof in);
	return token ? token : 1;
}

static uint32_t
migrate_asked(const struct suci_path *p)
{
	return p->move.asked & (PROVEN - 1);
}

static void
end_attempt(struct suci_path *p)
{
	p->move.token = 0;
	p->move.asked = 0;
}

/* Ask the old address; where that cannot be sent now, nothing is shown by its silence. */
static void
ask_old(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	if (send_token(ep, p, SUCI_T_CHALLENGE, &p->peer, token_for(ep, p, &p->peer), now_ns))
		p->move.asked++;
	else
		end_attempt(p);
	suci_path_arm(ep, p);
}

void
suci_move_heard(struct suci *ep, struct suci_path *p, const struct suci_addr *from,
		const struct suci_path_hdr *h, uint64_t now_ns)
{
	struct suci_move *m = &p->move;
	ep->count.drop_address++;
	if (!ep->conf.migrate || p->state != PATH_UP || p->closing || h->flags & SUCI_PF_BARE)
		return;
	if (p->ack_tx.acks.n && serial_le(h->pn, p->ack_tx.acks.range[0].hi))
		return;
	if (m->at_ns && now_ns - m->at_ns < pending_ns(ep, p))
		return;
	end_attempt(p);
	m->at_ns = now_ns;
	uint64_t token = token_for(ep, p, from);
	if (!send_token(ep, p, SUCI_T_CHALLENGE, from, token, now_ns))
		return;
	ep->count.tx_challenges++;
	m->to = *from;
	m->token = token;
	ask_old(ep, p, now_ns);
}

static void
move_migrate(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	struct suci_addr old = p->peer;
	/* Another port at the same place is the same way there. */
	bool elsewhere = memcmp(old.ip, p->move.to.ip, sizeof old.ip) || old.leg != p->move.to.leg;
	suci_path_readdress(ep, p, &p->move.to);
	p->move.count++;
	p->move.moved_pn = p->sent.next_pn;
	p->loss.probes = 0;
	p->last_rx_ns = now_ns;
	ep->count.paths_moved++;
	if (elsewhere) {
		suci_rtt_init(&p->rtt, 0);
		p->loss.sampled_ns = 0;
		suci_path_restart_cc(ep, p, now_ns);
		suci_pmtu_again(ep, p, now_ns);
	}
	if (outstanding(p))
		p->loss.probe_due = true; /* what is missing is found out at once */
	suci_path_ready(ep, p);
	suci_path_arm(ep, p);
	if (ep->ops->path_moved)
		ep->ops->path_moved(ep->user, path_index(ep, p), &old, &p->peer);
}

uint64_t
suci_move_look_at(const struct suci *ep, const struct suci_path *p)
{
	return base_add_ns(p->move.at_ns, migrate_asked(p) * answer_wait_ns(ep, p));
}

void
suci_move_look(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	struct suci_move *m = &p->move;
	if (p->last_rx_ns > m->at_ns) {
		ep->count.moves_denied += (p->move.asked & PROVEN) != 0;
		end_attempt(p);
	} else if (migrate_asked(p) < ASKED) {
		ask_old(ep, p, now_ns);
	} else {
		bool proven = p->move.asked & PROVEN;
		bool taken = suci_path_find(ep, &m->to) != UINT32_MAX; /* another path is there */
		end_attempt(p);
		if (proven && !taken)
			move_migrate(ep, p, now_ns);
	}
}

/* Who answers an open challenge at all; the newest token of either address. */
static void
migrate_answered(struct suci *ep, struct suci_path *p, const struct suci_addr *from, uint64_t token,
		 uint64_t now_ns)
{
	struct suci_move *m = &p->move;
	bool open = m->token && now_ns - m->at_ns <= pending_ns(ep, p);
	if (open && token == m->token && !memcmp(&m->to, from, sizeof *from)) {
		p->move.asked |= PROVEN;
		if (SUCI_BUG(MOVE) && suci_path_find(ep, from) == UINT32_MAX) {
			end_attempt(p);
			move_migrate(ep, p, now_ns);
		}
	} else if (open && !memcmp(&p->peer, from, sizeof *from) &&
		   token == token_for(ep, p, from)) {
		ep->count.moves_denied++;
		end_attempt(p);
	} else {
		ep->count.drop_response++;
	}
}

void
suci_move_rx(struct suci *ep, struct suci_path *p, const struct suci_addr *from,
	     const struct suci_path_hdr *h, uint64_t now_ns)
{
	uint64_t token = (uint64_t)h->pn << 32 | h->time_us;
	if (p->state != PATH_UP || p->closing)
		ep->count.drop_state++;
	else if (h->type == SUCI_T_RESPONSE)
		migrate_answered(ep, p, from, token, now_ns);
	else if (memcmp(&p->peer, from, sizeof *from))
		ep->count.drop_address++;
	else
		send_token(ep, p, SUCI_T_RESPONSE, from, token, now_ns);
}
