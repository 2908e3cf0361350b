/* SPDX-License-Identifier: BSD-2-Clause */
/* A datagram came in.  It is checked as a whole before any of it is believed. */
#include "path_internal.h"

#include "base/serial.h"

#include <string.h>

/* Decide when the ack for a packet that just arrived has to leave. */
static void
schedule_ack(struct suci *ep, struct suci_path *p, uint8_t flags, bool out_of_order,
	     uint64_t now_ns)
{
	p->ack_tx.pending++;
	if (!p->ack_tx.owes) {
		p->ack_tx.owes = true;
		ep->owes[ep->owes_count++] = path_index(ep, p);
	}
	uint64_t at = p->ack_tx.at_ns; /* what is due stays due */
	bool many = p->ack_tx.pending >= ep->conf.ack_every;
	if ((flags & (SUCI_PF_ACK_NOW | SUCI_PF_PROBE)) || p->ack_tx.all ||
	    (many && (!ep->conf.ack_ride_ns || p->ack_tx.pending / 2 >= ep->conf.ack_every))) {
		at = now_ns;
	} else if (many) {
		/* The answer of the layer above, which it could ride on, would leave behind it. */
		at = base_min_ns(at, now_ns + ep->conf.ack_ride_ns);
	} else if (out_of_order) {
		/* The sender wants to know, but not by an ack per packet. */
		uint64_t wait = suci_loss_ack_delay(ep, p);
		uint64_t gap = base_min_ns(p->rtt.smoothed_ns, wait) / 8;
		at = base_max_ns(now_ns, p->ack_tx.sent_ns + gap);
	} else if (at == BASE_NEVER_NS) {
		at = now_ns + suci_loss_ack_delay(ep, p);
	}
	if (at < p->ack_tx.at_ns)
		p->ack_tx.at_ns = at;
	if (p->ack_tx.at_ns <= now_ns) {
		p->ack_tx.due = true;
		suci_path_ready(ep, p);
	} else if (!base_timer_armed(&p->timer.t) || p->timer.t.deadline_ns > p->ack_tx.at_ns) {
		suci_path_arm(ep, p);
	}
}

/* A note, or a part. */
static bool
offer_other(struct suci *ep, struct suci_path *p, const struct suci_segment *seg, uint64_t now_ns)
{
	if (seg->head_len)
		return suci_reasm_rx(ep, p, seg, now_ns);
	ep->note_rx = seg->seq;
	if (ep->ops->note)
		ep->ops->note(ep->user, path_index(ep, p), seg->data, seg->data_len, now_ns);
	return true;
}

/* False: no room, the packet must not be acknowledged. */
static inline bool
offer_rx(struct suci *ep, struct suci_path *p, struct suci_segment *seg, uint64_t now_ns)
{
	uint32_t path = path_index(ep, p);
	if (seg->flags & SUCI_SF_NOTE)
		return offer_other(ep, p, seg, now_ns);
	ep->count.rx_segments++;
	p->stat.rx_segments++;
	switch (ep->ops->segment(ep->user, path, seg, now_ns)) {
	case SUCI_TAKEN:
		break;
	case SUCI_REFUSED:
		ep->count.drop_refused++;
		return SUCI_BUG(CUSTODY);
	case SUCI_DROPPED:
		ep->count.drop_rejected++;
		break;
	}
	return true;
}

bool
suci_offer(struct suci *ep, struct suci_path *p, struct suci_segment *seg, uint64_t now_ns)
{
	return offer_rx(ep, p, seg, now_ns);
}

static inline bool
is_new(struct suci *ep, const struct suci_path *p, uint32_t pn)
{
	enum suci_acks_seen seen = suci_acks_look(&p->ack_tx.acks, pn);
	if (seen == SUCI_ACKS_NEW)
		return true;
	ep->count.drop_duplicate_pn += seen == SUCI_ACKS_DUPLICATE;
	ep->count.drop_old_pn += seen == SUCI_ACKS_OLD;
	return false;
}

bool
suci_rx_is_new(struct suci *ep, const struct suci_path *p, uint32_t pn)
{
	return is_new(ep, p, pn);
}

static void
rx_data(struct suci *ep, struct suci_path *p, const struct suci_path_hdr *h, const uint8_t *body,
	size_t len, uint8_t ecn, uint64_t cookie, uint64_t now_ns)
{
	struct suci_ack ack;
	struct suci_segment seg;
	bool bare = h->flags & SUCI_PF_BARE, probe = h->flags & SUCI_PF_PROBE;
	if (h->ack_len > len) {
		ep->count.drop_short++;
		return;
	}
	size_t rest = len - h->ack_len;
	bool shape = bare ? !rest && !probe : rest || probe;
	if (!shape || (h->ack_len && !suci_ack_decode(&ack, body, h->ack_len))) {
		ep->count.drop_malformed++;
		return;
	}
	if (probe)
		rest = 0; /* padding */
	if (rest &&
	    !(h->flags & SUCI_PF_PART ? suci_reasm_good(ep, p, &seg, body + h->ack_len, rest)
				      : suci_segment_decode(&seg, body + h->ack_len, rest))) {
		ep->count.drop_short += !(h->flags & SUCI_PF_PART);
		return;
	}
	if (!bare && !is_new(ep, p, h->pn))
		return;
	p->last_rx_ns = now_ns;
	p->stat.rx_bytes += SUCI_PATH_HDR + len + seal_tag(p);
	if (!bare)
		suci_marks_rx(&p->marks, ecn);
	if (h->ack_len) {
		ep->count.rx_acks++;
		if (!suci_loss_ack(ep, p, &ack, now_ns)) {
			ep->count.drop_bad_ack++;
			return;
		}
		if (ack.flags & SUCI_AF_ROOM) {
			suci_grants_heard(ep, p, &ack, now_ns);
			suci_credit_asked(ep, p, &ack, now_ns);
		}
	}
	if (bare)
		return;
	uint32_t prio = rest ? (uint32_t)(seg.flags & SUCI_SF_PRIO_MASK) >> SUCI_SF_PRIO_SHIFT : 0;
	suci_credit_seen(ep, p, h->pn, h->flags, prio, now_ns);
	/* Bound by nobody else, it only has to hear of it. */
	bool ack_now = h->flags & SUCI_PF_MORE && !p->credit_rx.near;
	if (rest) {
		seg.cookie = cookie;
		if (!offer_rx(ep, p, &seg, now_ns)) {
			/* Not acknowledged; but tell the sender that we live. */
			p->ack_tx.refused = true;
			suci_acks_refuse(&p->ack_tx.acks, h->pn);
			schedule_ack(ep, p, 0, true, now_ns);
			return;
		}
	}
	bool ooo = suci_acks_add(&p->ack_tx.acks, h->pn, h->time_us, now_ns);
	/* The sender can tell now what is lost, so it is told; once in so many packets, should
	 * there be hole after hole. */
	if (suci_acks_ripe(&p->ack_tx.acks, h->pn) && p->ack_tx.pending + 1 >= SUCI_REORDER_PACKETS)
		ack_now = true;
	schedule_ack(ep, p, ack_now ? SUCI_PF_ACK_NOW : h->flags, ooo, now_ns);
}

/* CHALLENGE or RESPONSE. */
static void
rx_token(struct suci *ep, const struct suci_addr *from, const struct suci_path_hdr *h,
	 uint8_t *dgram, size_t len, uint64_t now_ns)
{
	bool sealed = h->flags & SUCI_PF_SEALED;
	struct suci_path *p = suci_path_by_tag(ep, h->path_tag);
	if (h->ack_len || len != SUCI_PATH_HDR + (sealed ? (size_t)SUCI_SEAL_TAG : 0))
		ep->count.drop_malformed++;
	else if (!p)
		ep->count.drop_unknown_tag++;
	else if (sealed == (p->seal != NULL) || p->state != PATH_UP) {
		if (!sealed || p->state != PATH_UP ||
		    suci_seal_control_open(ep, p, dgram, SUCI_PATH_HDR, len))
			suci_move_rx(ep, p, from, h, now_ns);
	} else {
		ep->count.drop_sealed += sealed;
		ep->count.drop_unsealed += !sealed;
	}
}

/* As memcmp() of the whole, in the pieces a driver has just written one of them in. */
static bool
rx_same_addr(const struct suci_addr *a, const struct suci_addr *b)
{
	uint64_t x[2], y[2];
	memcpy(x, a->ip, sizeof x);
	memcpy(y, b->ip, sizeof y);
	return x[0] == y[0] && x[1] == y[1] && a->port == b->port && a->family == b->family &&
	       a->leg == b->leg;
}

/* A datagram of a path. */
static void
rx_tagged(struct suci *ep, const struct suci_addr *from, const struct suci_path_hdr *h,
	  uint8_t *dgram, size_t len, uint8_t ecn, uint64_t cookie, uint64_t now_ns)
{
	bool sealed = h->flags & SUCI_PF_SEALED;
	struct suci_path *p = suci_path_by_tag(ep, h->path_tag);
	if (!p) {
		ep->count.drop_unknown_tag++;
		if (!(h->flags & SUCI_PF_BARE))
			suci_send_reset(ep, from, h, dgram, len, now_ns);
		return;
	}
	bool elsewhere = !rx_same_addr(&p->peer, from);
	if (elsewhere && !ep->conf.migrate) {
		ep->count.drop_address++;
	} else if (p->state != PATH_UP) {
		ep->count.drop_state++;
	} else if (sealed != (p->seal != NULL)) {
		ep->count.drop_sealed += sealed;
		ep->count.drop_unsealed += !sealed;
	} else if (sealed && !suci_seal_open(ep, p, h, dgram, len)) {
		return;
	} else if (elsewhere) {
		suci_move_heard(ep, p, from, h, now_ns);
	} else {
		rx_data(ep, p, h, dgram + SUCI_PATH_HDR, len - SUCI_PATH_HDR - seal_tag(p), ecn,
			cookie, now_ns);
	}
}

void
suci_rx(struct suci *ep, const struct suci_addr *from, void *dgram, size_t len, uint64_t cookie,
	uint64_t now_ns)
{
	suci_rx_ecn(ep, from, dgram, len, SUCI_ECN_NOT, cookie, now_ns);
}

void
suci_rx_ecn(struct suci *ep, const struct suci_addr *from, void *dgram, size_t len, uint8_t ecn,
	    uint64_t cookie, uint64_t now_ns)
{
	struct suci_path_hdr h;
	suci_enter(ep, now_ns);
	ep->count.rx_datagrams++;
	ep->count.rx_bytes += len;
	if (!suci_path_hdr_decode(&h, dgram, len)) {
		ep->count.drop_short++;
	} else if (h.version != SUCI_VERSION) {
		ep->count.drop_version++;
	} else if (h.type > SUCI_T_RESPONSE) {
		ep->count.drop_type++;
	} else if (h.type >= SUCI_T_CHALLENGE) {
		rx_token(ep, from, &h, dgram, len, now_ns);
	} else if (h.type != SUCI_T_DATA) {
		bool offers = h.type == SUCI_T_OPEN || h.type == SUCI_T_ACCEPT;
		if (h.ack_len || (h.pn && !offers))
			ep->count.drop_malformed++;
		else
			suci_handshake_rx(ep, from, &h, dgram, len, now_ns);
	} else {
		rx_tagged(ep, from, &h, dgram, len, ecn, cookie, now_ns);
	}
	suci_leave(ep);
}
