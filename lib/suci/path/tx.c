/* SPDX-License-Identifier: BSD-2-Clause */
/* What leaves next.  Paths with something to send stand in a ready list and
 * take turns, one datagram each; a path that is held back by its window, its
 * pace or an empty queue leaves the list until an ack, a timer or a caller
 * brings it back. */
#include "shared_link.h"
#include "path_internal.h"

#include "base/assert.h"

#include <string.h>

#define ASK_EVERY 8 /* packets between two SUCI_PF_ACK_NOW of a full window */

size_t
suci_put_path_hdr(struct suci_path *p, enum suci_type type, uint8_t flags, uint16_t ack_len,
		  uint32_t pn, uint64_t now_ns, uint8_t *out)
{
	struct suci_path_hdr h = {
		.version = SUCI_VERSION,
		.type = (uint8_t)type,
		.flags = (uint8_t)(flags | (p->seal ? SUCI_PF_SEALED : 0)),
		.ack_len = ack_len,
		.path_tag = p->tx_tag,
		.pn = pn,
		.time_us = base_us32(now_ns),
	};
	return suci_path_hdr_encode(&h, out);
}

/* Write the pending ack block if it fits into room bytes; its length. */
static size_t
put_ack(struct suci *ep, struct suci_path *p, size_t room, uint64_t now_ns, uint8_t *out)
{
	size_t need = SUCI_ACK_HDR + SUCI_ACK_RANGE * (size_t)suci_acks_more(&p->ack_tx.acks) +
		      SUCI_ACK_REFUSED * (size_t)p->ack_tx.acks.nrefused;
	/* A block that acknowledges nothing, only to tell the credit, has to have ROOM. */
	bool tell_room = suci_grants_due(p) || (p->ack_tx.due && !p->ack_tx.acks.n);
	need += tell_room ? SUCI_ACK_ROOM : 0;
	need += p->marks.rx_ect | p->marks.rx_ce ? SUCI_ACK_ECN : 0;
	if ((!p->ack_tx.acks.n && !p->ack_tx.acks.nrefused && !tell_room) || need > room)
		return 0;
	struct suci_ack a;
	suci_acks_build(&p->ack_tx.acks, suci_credit_limit(ep, p), now_ns, &a);
	if (p->ack_tx.refused)
		a.flags |= SUCI_AF_REFUSED;
	suci_marks_put(&p->marks, &a);
	if (tell_room)
		suci_grants_put(ep, p, &a);
	p->ack_tx.refused = false;
	p->ack_tx.pending = 0;
	p->ack_tx.at_ns = BASE_NEVER_NS;
	p->ack_tx.due = false;
	p->ack_tx.sent_ns = now_ns;
	return suci_ack_encode(&a, out);
}

size_t
suci_put_bare_ack(struct suci *ep, struct suci_path *p, uint8_t *out, uint64_t now_ns)
{
	size_t n = put_ack(ep, p, SUCI_ACK_MAX, now_ns, out + SUCI_PATH_HDR);
	if (!n)
		return 0;
	return n + suci_put_path_hdr(p, SUCI_T_DATA, SUCI_PF_BARE, (uint16_t)n,
				     (uint32_t)++p->sent.bare_pn, now_ns, out);
}

static uint32_t
window(const struct suci_path *p)
{
	uint32_t w = suci_cc_window(&p->cc);
	return SUCI_BUG(WINDOW) ? w + w / 2 + 1 : w;
}

/* suci_tx() has said "not sealed" before. */
static inline void
mark_sealed(const struct suci_path *p, struct suci_out *out, uint64_t pn)
{
	out->pn = pn;
	if (!p->seal)
		return;
	out->sealed = true;
	out->seal_serial = p->seal->serial;
}

/* An ack that need not leave yet does not make a full segment longer than its neighbours, which
 * the kernel could not cut out of one run then: the last one of a block mostly has room. */
static bool
ack_can_wait(const struct suci *ep, const struct suci_path *p, size_t len, uint64_t now_ns)
{
	return ep->conf.ack_ride_ns && !p->ack_tx.due && now_ns < p->ack_tx.at_ns &&
	       len + SUCI_SEAL_TAG + SUCI_FIRST_EXT >= p->mtu;
}

/* Put record i on the wire under the next packet number. */
static void
transmit_tx(struct suci *ep, struct suci_path *p, uint32_t i, uint8_t flags, uint64_t now_ns,
	    struct suci_out *out)
{
	struct suci_rec *r = &ep->rec[i];
	uint32_t w = window(p);
	/* On a shared link windows are small and shut for a round trip: the first acks count. */
	bool full = p->sent.in_flight + 1 >= w, shares = suci_shares_link(ep, p);
	uint64_t ask_gap = full ? w / 2 : w / 4;
	ask_gap = ask_gap < ASK_EVERY ? ask_gap : ASK_EVERY;
	if (r->ask || ((full || shares) && p->sent.next_pn - p->sent.asked_pn >= ask_gap))
		flags |= SUCI_PF_ACK_NOW;
	if (flags & SUCI_PF_ACK_NOW)
		p->sent.asked_pn = p->sent.next_pn;
	if (r->kind <= REC_FRAG && suci_credit_more(ep, p))
		flags |= SUCI_PF_MORE;
	if (r->kind == REC_FRAG)
		flags |= SUCI_PF_PART;
	size_t len = suci_rec_len(p, r), ack = 0;
	/* A small datagram stays one, see pmtu.c. */
	size_t most = suci_pmtu_grown(p) && len <= p->pmtu.floor ? p->pmtu.floor : p->mtu;
	if ((p->ack_tx.pending || p->ack_tx.due) && len < most && !ack_can_wait(ep, p, len, now_ns))
		ack = put_ack(ep, p, most - len, now_ns, out->head + SUCI_PATH_HDR);
	suci_put_path_hdr(p, SUCI_T_DATA, flags, (uint16_t)ack, (uint32_t)p->sent.next_pn, now_ns,
			  out->head);
	/* The whole field, whose size the compiler knows; what is forwarded has its own in data. */
	if (r->hdr_len)
		memcpy(out->head + SUCI_PATH_HDR + ack, r->hdr, sizeof r->hdr);
	out->head_len = (uint16_t)(SUCI_PATH_HDR + ack + r->hdr_len);
	out->seg_head = r->head;
	out->seg_head_len = r->head_len;
	out->data = r->data;
	out->data_len = r->data_len;
	out->cookie = r->cookie;
	out->has_segment = r->kind == REC_SEGMENT;
	out->retransmit = r->again;
	mark_sealed(p, out, p->sent.next_pn);
	if (r->kind <= REC_NOTE && r->again) {
		ep->count.tx_retransmits++;
		p->stat.tx_retransmits++;
	} else if (r->kind <= REC_NOTE) {
		ep->count.tx_segments++;
		p->stat.tx_segments++;
	}
	/* What is sent again has been due all the time. */
	if (!r->again && !outstanding(p))
		p->sent.due_ns = now_ns;
	r->again = true;
	r->ect = p->marks.send;
	p->marks.sent += r->ect;
	out->ecn = r->ect ? SUCI_ECN_ECT0 : SUCI_ECN_NOT;
	r->pn = p->sent.next_pn++;
	r->sent_ns = now_ns;
	if (!p->loss.after_ns)
		p->loss.after_ns = now_ns;
	r->where = WHERE_FLIGHT;
	base_ilist_append(&p->sent.flight, rec_links(ep), i);
	if (p->cc.ops->rated)
		suci_rate_sent(&p->rate, &ep->snap[i], p->sent.in_flight, now_ns);
	p->sent.in_flight++;
	if (!p->shares_link && suci_may_share_link(p)) {
		p->shares_link = true;
		ep->sharers++;
	}
	p->sent.flight_ns = now_ns;
	suci_pacer_sent(&p->pacer, (uint32_t)(len + ack) + seal_tag(p), now_ns);
	if (p->pmtu.doubted && r->kind != REC_MTU)
		suci_pmtu_sent(p, suci_rec_len(p, r));
}

/* Who has lost a sealed path answers nothing that is shorter than its RESET, and all that is
 * missing may be.  So each other probe that nobody answers is long enough, and so is a question
 * after a RESET. */
static bool
must_be_long(const struct suci_path *p)
{
	return p->seal &&
	       (p->seal->want_challenge || (p->loss.probes >= 2 && p->loss.probes % 2 == 0));
}

static void
drop_probe(struct suci *ep, struct suci_path *p)
{
	if (p->loss.probe_rec == NONE)
		return;
	suci_rec_detach(ep, p, p->loss.probe_rec);
	suci_rec_give(ep, p->loss.probe_rec);
}

/* What is in flight is held to be lost.  false: it is nothing to send again, and is given back. */
static bool
lose_record(struct suci *ep, struct suci_path *p, uint32_t i)
{
	suci_rec_detach(ep, p, i);
	if (ep->rec[i].kind >= REC_PROBE || suci_frag_orphan(ep, i)) {
		suci_rec_give(ep, i);
		return false;
	}
	suci_loss_mark_lost(ep, p, i, true);
	return true;
}

/* A full window has no room for a probe beside it: the oldest that is missing is held to be lost,
 * and goes again when there is room.  Had it arrived after all, its ack takes it back. */
static void
make_room_for_probe(struct suci *ep, struct suci_path *p)
{
	for (uint32_t i = p->sent.flight.head, next;
	     i != NONE && p->sent.in_flight >= ep->conf.limits.window_max; i = next) {
		next = ep->rec[i].link.next;
		if (ep->rec[i].kind == REC_MTU)
			continue; /* shows with the next ack */
		if (!lose_record(ep, p, i))
			continue;
		ep->rec[i].where = WHERE_LOST;
		base_ilist_prepend(&p->sent.lost, rec_links(ep), i);
		p->sent.n_lost++;
	}
}

/* A probe timeout or a keepalive: the oldest segment again, or a bare probe. */
static void
transmit_probe(struct suci *ep, struct suci_path *p, uint64_t now_ns, struct suci_out *out)
{
	bool unanswered = outstanding(p) > 0;
	uint64_t due_ns = p->sent.due_ns;
	bool doubt = unanswered && suci_pmtu_doubt(p), bare = doubt || must_be_long(p);
	p->loss.probe_due = false;
	/* What is sent in place of the last probe has its room. */
	if (p->sent.in_flight >= ep->conf.limits.window_max)
		drop_probe(ep, p);
	if (p->sent.lost.head != NONE && !bare) {
		uint32_t i = p->frag.on ? suci_frag_lost(ep, p) : p->sent.lost.head;
		if (!p->frag.on)
			suci_rec_detach(ep, p, i);
		if (i != NONE) {
			transmit_tx(ep, p, i, SUCI_PF_ACK_NOW, now_ns, out);
			return;
		}
	}
	for (uint32_t i = bare ? NONE : p->sent.flight.head, next; i != NONE; i = next) {
		next = ep->rec[i].link.next;
		if (ep->rec[i].kind == REC_MTU)
			continue; /* shows with the next ack */
		if (!lose_record(ep, p, i))
			continue;
		transmit_tx(ep, p, i, SUCI_PF_ACK_NOW, now_ns, out);
		return;
	}
	drop_probe(ep, p);
	make_room_for_probe(ep, p);
	static const uint8_t padding[SUCI_RESET_SEALED];
	uint32_t i = suci_rec_take(ep, REC_PROBE, path_index(ep, p));
	p->loss.probe_rec = i;
	/* Long enough for a RESET to be the answer. */
	ep->rec[i].data = padding;
	ep->rec[i].data_len =
		(p->seal ? SUCI_RESET_SEALED - SUCI_SEAL_TAG : SUCI_RESET_PLAIN) - SUCI_PATH_HDR;
	p->pmtu.follow = false;
	transmit_tx(ep, p, i, SUCI_PF_ACK_NOW | SUCI_PF_PROBE, now_ns, out);
	/* A probe in place of an unanswered one does not begin the wait anew. */
	if (unanswered)
		p->sent.due_ns = due_ns;
}

/* The next of what ops->pull has; NONE if there is none or no room for it. */
static uint32_t
pull_rec(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	/* An ack brings a full path back. */
	if (!p->pull_ready || p->closing || path_full(ep, p, ep->keep))
		return NONE;
	if (!suci_rec_room(ep, p, ep->keep)) {
		suci_path_starve(ep, p);
		return NONE;
	}
	struct suci_segment seg;
	p->pull_ready = false; /* a wake from inside the call counts */
	if (!ep->ops->pull(ep->user, path_index(ep, p), &seg, now_ns))
		return NONE;
	p->pull_ready = true;
	uint32_t i = suci_rec_take(ep, REC_SEGMENT, path_index(ep, p));
	struct suci_rec *r = &ep->rec[i];
	suci_rec_fill(r, &seg);
	if (suci_rec_len(p, r) > p->mtu && !suci_frag_fits(p, r)) {
		BASE_ASSERT(p->pmtu.min); /* else it never fitted */
		suci_pmtu_too_small(ep, p, suci_rec_len(p, r));
		suci_rec_release(ep, i, SUCI_FATE_ABANDONED, now_ns);
		return NONE;
	}
	return i;
}

/* The record that may go now, in no list any more; NONE if there is none. */
static uint32_t
next_rec(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	uint32_t i = p->sent.lost.head;
	if (i != NONE) {
		suci_rec_detach(ep, p, i);
		return i;
	}
	/* By turns: what was refused, again and again perhaps, must not stand in the way of
	 * a segment that the peer needs before it can have room. */
	if (p->refused.ready && !(p->refused.turn && p->sent.queued)) {
		i = suci_refused_take(ep, p, now_ns);
		if (i != NONE) {
			p->refused.turn = true;
			return i;
		}
	}
	p->refused.turn = false;
	if (!p->sent.queued)
		return pull_rec(ep, p, now_ns);
	i = p->sent.queue[PRIOS - 1].head;
	for (uint32_t prio = PRIOS - 1; prio-- > 0 && i == NONE;)
		i = p->sent.queue[prio].head;
	suci_rec_unqueue(ep, p, i);
	return i;
}

static bool
wants_to_send(const struct suci_path *p)
{
	return p->frag.rec != NONE || p->sent.n_lost || p->sent.queued || p->pull_ready ||
	       p->refused.ready;
}

/* The peer's credit is used up: may the next record go all the same?  One is fetched, so
 * that it is known whether anything waits. */
static bool
beyond_credit(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	if (!p->sent.queued && !p->sent.n_lost && !p->refused.granted && p->frag.rec == NONE) {
		uint32_t i = pull_rec(ep, p, now_ns);
		if (i != NONE) {
			struct suci_rec *r = &ep->rec[i];
			r->where = WHERE_QUEUED;
			base_ilist_append(&p->sent.queue[r->prio], rec_links(ep), i);
			p->sent.queued++;
		} else if (!p->refused.ready) {
			suci_credit_nothing_waits(&p->credit_tx);
			return false;
		}
	}
	if (suci_credit_small(ep, p))
		return true;
	suci_credit_blocked(ep, p, now_ns);
	suci_rate_idle(&p->rate, p->sent.next_pn);
	return false;
}

static uint64_t
rate_on_shared_link(const struct suci_path *p, uint64_t rtt)
{
	uint64_t even = (suci_cc_exact(&p->cc) * p->mtu >> SUCI_CC_FRAC) * BASE_S_NS / rtt;
	even = p->cc.sharing ? even / 8 * 9 : even / 16 * 13;
	return p->cc.rate_bps && p->cc.rate_bps < even ? p->cc.rate_bps : even;
}

/* Many paths of one endpoint that begin at the same time, as in an all-to-all, and share a
 * link further on are a burst of all their first windows: as many as the endpoint's peers
 * do the same, and no queue holds it.  So each spreads its window over a round trip, a fifth
 * slower than acks would until it knows its share.  It sends in bursts of its part of one.
 * It is the round trip of now, with the queue: paced for the shortest, all would send
 * for the same part of it and leave the link idle for the rest. */
static void
pace_on_shared_link(const struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	uint64_t rtt = p->rtt.sampled ? p->rtt.smoothed_ns : p->hs.rtt_ns;
	if (!rtt)
		return;
	suci_pacer_set_rate(&p->pacer, rate_on_shared_link(p, rtt), now_ns);
	/* A large window needs the driver's batches more. */
	if ((uint64_t)p->cc.window * p->mtu >= 2ull * p->pacer.burst_min_bytes)
		return;
	uint32_t packets = p->pacer.burst_min_bytes / ep->sharers / p->mtu;
	suci_pacer_cap(&p->pacer, packets ? (packets - 1) * p->mtu + 1 : 1);
}

/* An ack is due and a segment that it could ride on soon: bare acks of all that share a link are a
 * part of the traffic that counts. */
static bool
ack_rides(const struct suci *ep, const struct suci_path *p, uint64_t at_ns, uint64_t now_ns)
{
	return suci_shares_link(ep, p) && p->sent.in_flight + 2 >= window(p) &&
	       at_ns - now_ns < p->rtt.min_ns / 8;
}

static bool
path_tx(struct suci *ep, struct suci_path *p, struct suci_out *out, uint64_t now_ns)
{
	out->to = p->peer;
	out->path = path_index(ep, p);
	if (p->hs.due) {
		p->hs.due = false;
		out->head_len = (uint16_t)suci_handshake_tx(ep, p, out->head, now_ns);
		return true;
	}
	if (p->state != PATH_UP)
		return false;
	if (p->loss.probe_due) {
		transmit_probe(ep, p, now_ns, out);
		return true;
	}
	if (p->pmtu.due) {
		transmit_tx(ep, p, suci_pmtu_take(ep, p), SUCI_PF_ACK_NOW | SUCI_PF_PROBE, now_ns,
			    out);
		return true;
	}
	if (p->sent.in_flight >= window(p)) {
		if (wants_to_send(p))
			p->sent.limited_pn = p->sent.next_pn;
	} else if (p->sent.next_pn <= p->credit_tx.limit || beyond_credit(ep, p, now_ns)) {
		if (suci_shares_link(ep, p))
			pace_on_shared_link(ep, p, now_ns);
		uint64_t at = suci_pacer_next_ns(&p->pacer, now_ns);
		if (at > now_ns) {
			if (wants_to_send(p)) {
				p->sent.pace_at_ns = at;
				p->sent.limited_pn = p->sent.next_pn;
				if (ack_rides(ep, p, at, now_ns))
					return false;
			}
		} else {
			uint32_t i = p->frag.on ? suci_frag_lost(ep, p) : NONE;
			if (i == NONE && p->frag.rec == NONE)
				i = next_rec(ep, p, now_ns);
			if (p->frag.on && i != NONE)
				i = suci_frag_fit(ep, p, i);
			if (i != NONE) {
				transmit_tx(ep, p, i, 0, now_ns, out);
				return true;
			}
			suci_rate_idle(&p->rate, p->sent.next_pn);
		}
	}
	if (!p->ack_tx.due)
		return false;
	out->head_len = (uint16_t)suci_put_bare_ack(ep, p, out->head, now_ns);
	mark_sealed(p, out, p->sent.bare_pn);
	p->ack_tx.due = false;
	ep->count.tx_pure_acks += out->head_len != 0;
	return out->head_len != 0;
}

int
suci_tx(struct suci *ep, struct suci_out *out, uint64_t now_ns)
{
	suci_enter(ep, now_ns);
	if (now_ns >= ep->next_ns)
		suci_tick(ep, now_ns);
	/* Whoever was found dead gives its segments back; no datagram is made of them. */
	if (ep->dying != NONE)
		suci_leave_work(ep);
	out->seg_head_len = out->data_len = 0;
	out->seg_head = out->data = NULL;
	out->has_segment = out->retransmit = out->sealed = false;
	out->ecn = SUCI_ECN_NOT;
	out->path = NONE;
	bool found = ep->stateless_ready.head != NONE && suci_stateless_tx(ep, out, now_ns);
	while (!found && ep->ready.head != NONE) {
		struct suci_path *p = &ep->path[ep->ready.head];
		found = path_tx(ep, p, out, now_ns);
		/* Alone and still to be served: it stands where it has to. */
		bool again = found && p->on_list == ON_READY && ep->ready.head == ep->ready.tail &&
			     !p->going_down;
		if (!again && p->on_list != ON_STARVED)
			suci_path_unready(ep, p);
		if (p->pull_ready && !(found && out->has_segment) && ep->upper)
			ep->upper->blocked(ep->user, path_index(ep, p));
		if (found) {
			p->stat.tx_bytes += suci_out_len(out);
			if (!again)
				suci_path_ready(ep, p);
		}
		/* A path in the list is due now (suci_expiry_ns()); its timer is set when it
		 * leaves the list, not for each datagram. */
		if (p->on_list != ON_READY)
			suci_path_arm(ep, p);
	}
	if (found) {
		ep->count.tx_datagrams += !(SUCI_BUG(COUNT) && out->retransmit);
		ep->count.tx_bytes += suci_out_len(out);
	}
	suci_leave(ep);
	return found;
}
