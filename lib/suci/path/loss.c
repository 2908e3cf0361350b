/* SPDX-License-Identifier: BSD-2-Clause */
/* Acks, loss, probe timeouts (RFC 9002 sections 5 and 6, RFC 8985).
 *
 * A packet is lost when a later one was acknowledged and it is either
 * reorder_packets behind it or was sent more than 9/8 round trips ago.  Both
 * thresholds grow when an ack comes for a packet already given up, and shrink
 * again while that does not happen.
 *
 * A probe timeout sends the oldest unacknowledged segment again at once: if
 * it was the one that is missing, the tail is repaired half a round trip
 * later; its ack in any case lets the rule above see all other losses.
 *
 * Persistent congestion (RFC 9002 section 7.6): an ack that leaves out everything sent
 * since what was acknowledged before, over three probe timeouts or more, where first and
 * last of that are lost.  Only then the window collapses: silence alone proves nothing
 * about what was sent. */
#include "shared_link.h"
#include "path_internal.h"

#include "base/serial.h"

#define REORDER_EXTRA_MAX   8
#define REORDER_PACKETS_MIN SUCI_REORDER_PACKETS
#define REORDER_PACKETS_MAX 1024
#define QUIET_LOSSES	    64 /* then thresholds go down a step */
#define PERSISTENT_PTOS	    3
#define ACK_DELAY_LEAST_NS  (50 * BASE_US_NS)
#define FULL_DELAY_ACKS	    64
#define ECN_PROBES	    3 /* probe timeouts before marks are held to be the cause */
#define BACK_OFF_STEPS	    2
#define REFUSED_WINDOW_MIN  64
#define REFUSED_PROBES	    2 /* back-off stops here while the peer refuses we know not what */

uint64_t
suci_loss_ack_delay(const struct suci *ep, const struct suci_path *p)
{
	uint64_t most = ep->conf.ack_delay_ns;
	uint64_t rtt = p->rtt.sampled ? p->rtt.smoothed_ns : 0;
	/* The first samples may have the peer's delay in them. */
	if (p->hs.rtt_ns && (!rtt || p->hs.rtt_ns < rtt))
		rtt = p->hs.rtt_ns;
	return rtt ? base_min_ns(base_max_ns(2 * rtt, ACK_DELAY_LEAST_NS), most) : most;
}

/* The peer does the same if it knows the round trip, from the handshake or because it sends
 * packets with numbers.  When a probe turns out to have been too early, more is granted for a
 * while. */
static uint64_t
peer_ack_delay(const struct suci *ep, const struct suci_path *p)
{
	uint64_t most = ep->conf.ack_delay_ns;
	bool knows = p->hs.rtt_ns || p->ack_tx.acks.n;
	if (p->loss.full_delay_acks || !p->rtt.sampled || !knows)
		return most;
	return base_min_ns(base_max_ns(4 * p->rtt.smoothed_ns, 2 * ACK_DELAY_LEAST_NS), most);
}

/* Where silence counts, probes come twice in the time that it may last: a way that comes and
 * goes is used when it is there, and not after pauses that grow beyond the time for which it
 * is.  Two steps it always backs off, for the round trip may have grown. */
uint64_t
suci_loss_probe_at(const struct suci *ep, const struct suci_path *p)
{
	if (!p->sent.in_flight || p->loss.at_ns != BASE_NEVER_NS || p->loss.probe_due ||
	    SUCI_BUG(NO_PROBE))
		return BASE_NEVER_NS;
	uint64_t delay = peer_ack_delay(ep, p);
	uint64_t wait = suci_rtt_pto_ns(&p->rtt, delay, p->loss.probes);
	if (p->loss.probes > BACK_OFF_STEPS && p->liveness_ns)
		wait = base_min_ns(wait,
				   base_max_ns(p->liveness_ns / 2,
					       suci_rtt_pto_ns(&p->rtt, delay, BACK_OFF_STEPS)));
	return p->sent.flight_ns + wait;
}

void
suci_loss_probe_fired(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	ep->count.tx_probes++;
	p->loss.probes++;
	if (SUCI_BUG(GIVE_UP) && p->loss.probes == 3)
		suci_path_fail(ep, p, SUCI_DOWN_LOCAL, "");
	p->loss.probe_due = true;
	(void)now_ns;
	if (suci_pmtu_grown(p))
		suci_pmtu_timeout(p);
	if (p->loss.probes == ECN_PROBES && p->marks.send && !p->marks.acked)
		suci_marks_fail(ep, p);
	suci_path_ready(ep, p);
}

void
suci_loss_mark_lost(struct suci *ep, struct suci_path *p, uint32_t rec, bool probing)
{
	struct suci_rec *r = &ep->rec[rec];
	struct suci_lost *t = &p->loss.history[p->loss.history_next++ % LOST_HISTORY];
	if (!t->pn)
		p->loss.history_live++;
	*t = (struct suci_lost){.pn = r->pn, .rec = rec, .probing = probing, .sent_ns = r->sent_ns};
	r->lost_pn = r->pn;
	r->lost_sent_ns = r->sent_ns;
	r->probing = probing;
}

/* A packet in flight, in no list now, is lost; true if congestion may be the cause. */
static bool
lose_loss(struct suci *ep, struct suci_path *p, uint32_t i, uint64_t now_ns)
{
	struct suci_rec *r = &ep->rec[i];
	uint8_t kind = r->kind;
	bool counts = r->pn >= p->move.moved_pn;
	if (kind >= REC_PROBE || suci_frag_orphan(ep, i)) {
		suci_rec_give(ep, i);
		if (kind == REC_MTU)
			suci_pmtu_lost(ep, p, now_ns);
		return (kind == REC_PURGED || kind == REC_FRAG) && counts;
	}
	if (SUCI_BUG(LOST)) {
		suci_rec_release(ep, i, SUCI_FATE_ACKED, now_ns);
		return counts;
	}
	suci_loss_mark_lost(ep, p, i, false);
	r->where = WHERE_LOST;
	if (kind == REC_FRAG)
		base_ilist_prepend(&p->sent.lost, rec_links(ep), i);
	else
		base_ilist_append(&p->sent.lost, rec_links(ep), i);
	p->sent.n_lost++;
	if (suci_pmtu_grown(p))
		suci_pmtu_seg_lost(ep, p, r, now_ns);
	return counts;
}

void
suci_loss_detect(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	uint64_t wait = suci_rtt_loss_ns(&p->rtt, p->loss.reorder_extra);
	uint32_t lost = 0;
	uint64_t newest_ns = 0, shrunk = ep->count.mtu_shrunk;
	p->loss.at_ns = BASE_NEVER_NS;
	while (p->sent.flight.head != NONE) {
		uint32_t i = p->sent.flight.head;
		struct suci_rec *r = &ep->rec[i];
		if (r->pn >= p->loss.largest_acked)
			break;
		if (p->loss.largest_acked - r->pn < p->loss.reorder_packets &&
		    now_ns < r->sent_ns + wait) {
			p->loss.at_ns = r->sent_ns + wait;
			break;
		}
		suci_rec_detach(ep, p, i);
		newest_ns = r->sent_ns;
		lost += lose_loss(ep, p, i, now_ns);
	}
	/* They were too large, and congestion is as it was. */
	if (!lost || shrunk != ep->count.mtu_shrunk)
		return;
	p->loss.reorder_quiet += lost;
	if (p->loss.reorder_quiet >= QUIET_LOSSES) {
		p->loss.reorder_quiet = 0;
		if (p->loss.reorder_extra > 1)
			p->loss.reorder_extra--;
		p->loss.reorder_packets = p->loss.reorder_packets / 2 > REORDER_PACKETS_MIN
						  ? p->loss.reorder_packets / 2
						  : REORDER_PACKETS_MIN;
	}
	p->rate.lost += lost;
	p->cc.holds = suci_pmtu_grown(p);
	p->cc.ops->lost(&p->cc, lost, newest_ns, now_ns);
	suci_path_ready(ep, p);
}

/* What one ack block did. */
struct news {
	uint32_t done;		  /* records to release, chained by next */
	uint32_t packets, former; /* of this address, and before the path moved */
	uint32_t marked;	  /* of both */
	uint32_t mtu;		  /* a probe of that size arrived */
	uint32_t late;		  /* acked after being declared lost */
	uint32_t retried;	  /* acked after being refused */
	uint64_t sent_ns;	  /* of the newest acked */
	uint64_t newest_pn;
	uint32_t newest; /* record; NONE if packets is 0 */
	uint64_t bytes;	 /* if congestion control wants to know */
	uint64_t rtt_ns;
	uint64_t probed_ns; /* a probe replaced a packet sent then; 0 = none */
};

/* It is in no list now. */
static void
chain(struct suci *ep, uint32_t i, struct news *n)
{
	ep->rec[i].link.next = n->done;
	n->done = i;
}

static bool
covered(const struct suci_ack *a, uint32_t pn)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (serial_ge(pn, a->range[i].lo) && serial_le(pn, a->range[i].hi))
			return true;
	return false;
}

/* Packets given up and acknowledged after all. */
static void
spurious_acked(struct suci *ep, struct suci_path *p, const struct suci_ack *a, uint64_t largest,
	       uint64_t now_ns, struct news *n)
{
	for (uint32_t k = 0; k < LOST_HISTORY; k++) {
		struct suci_lost t = p->loss.history[k];
		if (!t.pn || !covered(a, (uint32_t)t.pn))
			continue;
		p->loss.history[k].pn = 0;
		p->loss.history_live--;
		struct suci_rec *r = &ep->rec[t.rec];
		/* The record may have gone on to another life. */
		bool ours = r->path == path_index(ep, p) && r->lost_pn == t.pn;
		if (!ours || r->where != WHERE_LOST) /* else it still waits to be sent again */
			ep->count.tx_spurious++;
		if (t.probing)
			p->loss.full_delay_acks = FULL_DELAY_ACKS;
		/* Numbers are not used twice: it says how long the first one took. */
		if (t.pn == largest)
			n->rtt_ns = now_ns > t.sent_ns ? now_ns - t.sent_ns : 1;
		if (!t.probing) {
			n->late++;
			p->loss.reorder_quiet = 0;
			if (p->loss.reorder_extra < REORDER_EXTRA_MAX)
				p->loss.reorder_extra++;
			if (p->loss.reorder_packets < REORDER_PACKETS_MAX)
				p->loss.reorder_packets *= 2;
		}
		if (ours && r->where != WHERE_FREE && r->where != WHERE_DONE) {
			suci_rec_detach(ep, p, t.rec);
			chain(ep, t.rec, n);
		}
	}
}

static void
walk_loss(struct suci *ep, struct suci_path *p, const struct suci_ack *a, uint64_t largest,
	  uint64_t now_ns, struct news *n)
{
	uint32_t i = p->sent.flight.head;
	for (uint32_t k = a->n; k-- > 0 && i != NONE;) {
		uint64_t lo = largest - (a->largest - a->range[k].lo);
		uint64_t hi = largest - (a->largest - a->range[k].hi);
		while (i != NONE && ep->rec[i].pn < lo)
			i = ep->rec[i].link.next;
		while (i != NONE && ep->rec[i].pn <= hi) {
			struct suci_rec *r = &ep->rec[i];
			uint32_t next = r->link.next;
			bool former = r->pn < p->move.moved_pn;
			n->packets += !former;
			n->former += former;
			n->marked += r->ect;
			n->sent_ns = r->sent_ns;
			n->newest_pn = r->pn; /* the list is ordered by it */
			if (!former) {
				n->newest = i;
				if (p->cc.ops->rated)
					n->bytes += suci_rec_len(p, r);
			}
			if (r->pn == largest && !former)
				n->rtt_ns = now_ns > r->sent_ns ? now_ns - r->sent_ns : 1;
			if (r->kind == REC_MTU)
				n->mtu = suci_rec_len(p, r);
			else if (suci_pmtu_grown(p))
				suci_pmtu_seg_passed(p, r);
			n->retried += r->refusals != 0;
			if (r->probing)
				n->probed_ns = r->lost_sent_ns;
			suci_rec_land(ep, p, i);
			chain(ep, i, n);
			i = next;
		}
	}
	if (largest == p->loss.largest_acked)
		p->loss.after_ns = i == NONE ? 0 : ep->rec[i].sent_ns;
}

/* The lowest number above floor that an ack block names. */
static uint64_t
lowest_named(const struct suci_path *p, const struct suci_ack *a, uint64_t floor)
{
	uint64_t lowest = UINT64_MAX;
	for (uint32_t k = 0; k < a->n + a->nrefused; k++) {
		const struct suci_pn_range *r = k < a->n ? &a->range[k] : &a->refused[k - a->n];
		uint64_t hi = p->sent.next_pn - (uint32_t)((uint32_t)p->sent.next_pn - r->hi);
		uint64_t lo = hi - (r->hi - r->lo);
		if (hi > floor && lo < lowest)
			lowest = lo > floor ? lo : floor + 1;
	}
	return lowest;
}

/* Everything with numbers between floor and top is unacknowledged, the first was sent at
 * first_ns.  Is what is lost of it spread over more time than congestion lasts that goes
 * away by itself? */
static void
persistent(struct suci *ep, struct suci_path *p, uint64_t floor, uint64_t top, uint64_t first_ns,
	   uint64_t now_ns)
{
	uint64_t last_ns = 0, wait = suci_rtt_loss_ns(&p->rtt, p->loss.reorder_extra);
	uint64_t most = PERSISTENT_PTOS * suci_rtt_pto_ns(&p->rtt, ep->conf.ack_delay_ns, 0);
	uint32_t packets = 0;
	if (now_ns < first_ns + most)
		return;
	for (uint32_t i = p->sent.lost.head; i != NONE; i = ep->rec[i].link.next) {
		const struct suci_rec *r = &ep->rec[i];
		if (r->pn <= floor || r->pn >= top)
			continue;
		last_ns = base_max_ns(last_ns, r->sent_ns);
		packets++;
	}
	for (uint32_t k = 0; k < LOST_HISTORY; k++) {
		const struct suci_lost *t = &p->loss.history[k];
		if (!t->pn || !t->probing || t->pn <= floor || t->pn >= top ||
		    now_ns < t->sent_ns + wait)
			continue;
		last_ns = base_max_ns(last_ns, t->sent_ns);
		packets++;
	}
	if (packets < 2 || last_ns < first_ns + most)
		return;
	ep->count.persistent++;
	p->cc.ops->collapsed(&p->cc, now_ns);
	p->rtt.min_ns = p->rtt.latest_ns; /* the way may have become another */
}

static void
tell_cc(struct suci *ep, struct suci_path *p, const struct news *n, uint32_t in_flight,
	uint64_t now_ns)
{
	if (n->late)
		p->cc.ops->spurious(&p->cc, n->late, now_ns);
	if (n->packets) {
		struct suci_cc_ack a = {
			.packets = n->packets,
			.in_flight = in_flight,
			.window_limited = n->newest_pn < p->sent.limited_pn,
			.rtt_ns = n->rtt_ns,
			.smoothed_ns = p->rtt.sampled ? p->rtt.smoothed_ns : 0,
			.var_ns = p->rtt.var_ns,
			.sent_ns = n->sent_ns,
			.min_ns = p->rtt.min_ns,
			.sharers = suci_shares_link(ep, p) ? ep->sharers : 1,
			.now_ns = now_ns,
		};
		if (p->cc.ops->rated) {
			suci_rate_acked(&p->rate, &ep->snap[n->newest], n->newest_pn, n->sent_ns,
					n->bytes, p->rtt.sampled ? p->rtt.min_ns : 0, now_ns,
					&a.sample);
			a.bytes = n->bytes;
			a.delivered = p->rate.delivered;
		}
		p->cc.ops->acked(&p->cc, &a);
	}
	p->rate.lost += n->probed_ns != 0;
	if (n->probed_ns)
		p->cc.ops->lost(&p->cc, 1, n->probed_ns, now_ns);
}

/* Put aside the records of list l whose last (in flight) or given up (lost) number is
 * lo .. hi; how many. */
static uint32_t
refuse_range(struct suci *ep, struct suci_path *p, struct base_ilist *l, uint64_t lo, uint64_t hi,
	     uint64_t *fresh_ns, uint64_t now_ns)
{
	uint32_t n = 0;
	for (uint32_t i = l->head, next; i != NONE; i = next) {
		struct suci_rec *r = &ep->rec[i];
		next = r->link.next;
		if (r->pn > hi && l == &p->sent.flight)
			break;
		if (r->pn < lo || r->pn > hi || r->kind == REC_PROBE)
			continue;
		n++;
		/* Refused for the first time, it tells of congestion at the peer; after
		 * that the pause does what is needed. */
		if (!r->refusals && r->where == WHERE_FLIGHT)
			*fresh_ns = base_max_ns(*fresh_ns, r->sent_ns);
		suci_rec_detach(ep, p, i);
		if (r->kind == REC_PURGED)
			suci_rec_give(ep, i);
		else if (r->kind == REC_FRAG)
			suci_frag_refused(ep, p, i, now_ns);
		else
			suci_refused_put(ep, p, i, now_ns);
	}
	return n;
}

static bool
hear_refused(struct suci *ep, struct suci_path *p, const struct suci_ack *a, uint64_t now_ns)
{
	uint64_t fresh_ns = 0, before = p->sent.next_pn;
	uint32_t refused = 0;
	for (uint32_t k = 0; k < a->nrefused; k++) {
		uint64_t hi = before - ((uint32_t)before - a->refused[k].hi);
		uint64_t lo = hi - (a->refused[k].hi - a->refused[k].lo);
		/* It arrived, so what was sent long before it should have, too. */
		if (hi > p->loss.largest_acked) {
			p->loss.largest_acked = hi;
			p->loss.after_ns = 0; /* of what is sent next: late rather than early */
		}
		refused += refuse_range(ep, p, &p->sent.flight, lo, hi, &fresh_ns, now_ns);
		if (p->sent.n_lost)
			refused += refuse_range(ep, p, &p->sent.lost, lo, hi, &fresh_ns, now_ns);
	}
	ep->count.tx_refused += refused;
	p->rate.lost += refused; /* more than the peer takes is more than the path delivers */
	/* A small window is not what fills the peer: it refuses for another reason (its own
	 * way on is not up yet), and slow start should not end for that. */
	if (fresh_ns && p->cc.window > REFUSED_WINDOW_MIN) {
		p->cc.sure = true;
		p->cc.ops->lost(&p->cc, 1, fresh_ns, now_ns);
		p->cc.sure = false;
	}
	return refused;
}

/* Was every packet that the block names sent? */
static bool
ack_good(const struct suci_path *p, const struct suci_ack *a)
{
	uint32_t next = (uint32_t)p->sent.next_pn;
	for (uint32_t k = 0; k < a->nrefused; k++) {
		uint32_t behind = next - a->refused[k].lo;
		uint32_t last = next - a->refused[k].hi;
		if (!last || last > behind || behind > INT32_MAX || behind >= p->sent.next_pn)
			return false;
	}
	if (!a->n)
		return true;
	uint32_t behind = next - a->largest; /* 1 = the last one sent */
	if (!behind || behind > INT32_MAX || behind >= p->sent.next_pn)
		return false;
	return a->largest - a->range[a->n - 1].lo < p->sent.next_pn - behind;
}

bool
suci_loss_ack(struct suci *ep, struct suci_path *p, const struct suci_ack *a, uint64_t now_ns)
{
	if (!ack_good(p, a))
		return false;
	uint64_t largest = p->sent.next_pn - (uint32_t)((uint32_t)p->sent.next_pn - a->largest);
	uint64_t floor = p->loss.largest_acked, after_ns = p->loss.after_ns;
	uint64_t shrunk = ep->count.mtu_shrunk;
	struct news n = {.done = NONE, .newest = NONE};
	uint32_t in_flight = p->sent.in_flight;
	suci_credit_heard(ep, p, a, now_ns);
	if (a->n && largest > p->loss.largest_acked)
		p->loss.largest_acked = largest;
	if (p->loss.history_live)
		spurious_acked(ep, p, a, largest, now_ns, &n);
	if (a->n)
		walk_loss(ep, p, a, largest, now_ns, &n);
	bool refused = a->nrefused && hear_refused(ep, p, a, now_ns);
	suci_marks_heard(ep, p, a, n.marked, n.sent_ns, now_ns);
	/* After a delay that the field cannot hold (acks were lost) it measures nothing. */
	if (n.rtt_ns && a->delay_us < UINT16_MAX) {
		suci_rtt_sample(&p->rtt, n.rtt_ns, a->delay_us * 1000ull);
		if (!p->loss.sampled_ns)
			p->loss.sampled_ns = now_ns;
	}
	/* Refused, not lost on a dead path: ask again soon. */
	if (refused) {
		p->loss.probes = 0;
		p->sent.due_ns = now_ns;
	} else if (a->flags & SUCI_AF_REFUSED) {
		p->sent.due_ns = now_ns;
		if (p->loss.probes > REFUSED_PROBES)
			p->loss.probes = REFUSED_PROBES;
	}
	if (n.retried)
		suci_refused_accepted(p, n.retried);
	if (n.packets || n.late || n.former) {
		if (p->loss.full_delay_acks)
			p->loss.full_delay_acks--;
		p->loss.probes = 0;
		p->sent.due_ns = now_ns;
		tell_cc(ep, p, &n, in_flight, now_ns);
	}
	if (n.done != NONE || refused || p->loss.at_ns != BASE_NEVER_NS)
		suci_loss_detect(ep, p, now_ns);
	if (p->loss.largest_acked > floor && p->loss.sampled_ns && after_ns > p->loss.sampled_ns &&
	    shrunk == ep->count.mtu_shrunk)
		persistent(ep, p, floor, lowest_named(p, a, floor), after_ns, now_ns);
	if (n.mtu)
		suci_pmtu_passed(ep, p, n.mtu, now_ns);
	suci_pacer_set_rate(&p->pacer, p->cc.rate_bps, now_ns);
	suci_path_ready(ep, p);
	suci_path_arm(ep, p);
	for (uint32_t i = n.done, next; i != NONE; i = next) {
		next = ep->rec[i].link.next;
		suci_rec_release(ep, i, SUCI_FATE_ACKED, now_ns);
	}
	return true;
}
