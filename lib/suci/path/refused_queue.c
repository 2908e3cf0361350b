/* SPDX-License-Identifier: BSD-2-Clause */
/* What the peer refused.  It is alive and had no room, so neither the network nor
 * our clock has anything to do with it: such a record leaves the flight, frees its
 * place in the window for others, and is sent again after a pause, which is a
 * round trip doubled with each refusal in a row, PAUSE_MAX_NS at most.
 *
 * Each list holds the records of one number of refusals: their pauses are the
 * same, so it is ordered by time without sorting.
 *
 * A peer that can tell when it has room is asked, and grants a number of them: these
 * go at once, see grants.c.  What follows is for peers that cannot tell, or have nobody
 * to ask yet; one that ever granted is tried with a single record per pause.
 *
 * With very many refused the pause alone would not save the peer from a storm.
 * So at most TOKENS of them are tried at a time, after which all wait: 1 ms, doubled
 * to 5 ms while none is taken.  For each that is taken two more may go, these
 * without waiting: once there is room, the rest follows in a few round trips. */
#include "path_internal.h"

#define PAUSE_MAX_NS (5 * BASE_MS_NS)
#define TOKENS	     8u
#define REFILL_NS    BASE_MS_NS /* at first */

static uint64_t
pause_ns(const struct suci_path *p, uint32_t list)
{
	uint64_t rtt = p->rtt.sampled ? p->rtt.smoothed_ns : BASE_MS_NS;
	rtt = base_min_ns(base_max_ns(rtt, SUCI_RTT_GRAIN_NS), PAUSE_MAX_NS);
	return base_min_ns(rtt << list, PAUSE_MAX_NS);
}

void
suci_refused_put(struct suci *ep, struct suci_path *p, uint32_t rec, uint64_t now_ns)
{
	struct suci_rec *r = &ep->rec[rec];
	uint32_t list = r->refusals;
	if (r->refusals < REFUSED_LISTS - 1)
		r->refusals++;
	r->where = WHERE_REFUSED;
	r->refused_in = (uint8_t)list;
	r->sent_ns = now_ns + pause_ns(p, list);
	base_ilist_append(&p->refused.list[list], rec_links(ep), rec);
	p->refused.n++;
	if (p->refused.n > 2 * p->grants.ask_told) {
		p->ack_tx.due = true; /* carries the ask */
		suci_path_ready(ep, p);
	}
	if (!p->refused.ready)
		p->refused.at_ns = base_min_ns(p->refused.at_ns, r->sent_ns);
}

uint32_t
suci_refused_take(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	uint32_t first = NONE;
	p->refused.ready = false;
	p->refused.at_ns = BASE_NEVER_NS;
	for (uint32_t k = 0; k < REFUSED_LISTS; k++) {
		uint32_t i = p->refused.list[k].head;
		if (i != NONE && (first == NONE || ep->rec[i].sent_ns < ep->rec[first].sent_ns))
			first = i;
	}
	if (first == NONE) {
		p->refused.earned = p->refused.granted = 0;
		return NONE;
	}
	if (p->frag.on && suci_frag_alone(ep, p)) {
		p->refused.at_ns = now_ns + pause_ns(p, 0);
		return NONE;
	}
	if (p->refused.granted) {
		p->refused.granted--;
	} else if (p->refused.earned) {
		p->refused.earned--;
	} else if (now_ns < ep->rec[first].sent_ns) {
		p->refused.at_ns = ep->rec[first].sent_ns;
		return NONE;
	} else {
		if (!p->refused.tokens && now_ns < p->refused.refill_ns) {
			p->refused.at_ns = p->refused.refill_ns;
			return NONE;
		}
		if (now_ns >= p->refused.refill_ns) {
			p->refused.tokens = p->grants.seen ? 1 : TOKENS;
			p->ack_tx.due = true; /* asks again */
			p->refused.gap_ns = base_max_ns(p->refused.gap_ns, REFILL_NS);
			p->refused.refill_ns = now_ns + p->refused.gap_ns;
			p->refused.gap_ns = base_min_ns(2 * p->refused.gap_ns, PAUSE_MAX_NS);
		}
		p->refused.tokens--;
	}
	p->refused.ready = true;
	suci_rec_detach(ep, p, first);
	return first;
}

void
suci_refused_accepted(struct suci_path *p, uint32_t n)
{
	p->refused.gap_ns = REFILL_NS;
	if (!p->refused.n || p->grants.seen)
		return;
	/* More than are refused would be left over for those refused later. */
	p->refused.earned += 2 * n;
	if (p->refused.earned > p->refused.n)
		p->refused.earned = p->refused.n;
	p->refused.ready = true;
	p->refused.at_ns = BASE_NEVER_NS;
}
