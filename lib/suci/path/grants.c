/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks and grants, hop by hop.
 *
 *      sender                                          receiver
 *        packets ------------------------------------->  no room: refused
 *        refused  <------------------- REFUSED, which ---
 *        --- ask: so many wait, of such priority ------>  remembers the number
 *                                                         room appears
 *        <--------------------------- grant: so many ---
 *        so many of the refused ----------------------->  taken
 *
 * Both numbers are totals over the life of the path or plain states, so an ack block
 * that is lost, late or doubled does no harm: the next one says it again.  What is out
 * is granted - used; it counts as taken room until the peer used it, withdrew its ask,
 * or let it lie for VOID_NS.
 *
 * The receiver's memory for this is a few words per path.  Its work is bounded by what
 * it receives: TURN paths are looked at per datagram, in turns. */
#include "path_internal.h"

#include "base/serial.h"

#define TURN	16u
#define VOID_NS (50 * BASE_MS_NS)

void
suci_grants_init(struct suci *ep)
{
	for (uint32_t prio = 0; prio < PRIOS; prio++)
		base_ilist_init(&ep->askers[prio]);
}

static struct base_ilinks
ask_links(const struct suci *ep)
{
	return BASE_ILINKS(ep->path, grants.link);
}

static void
asker_link(struct suci *ep, struct suci_path *p)
{
	base_ilist_append(&ep->askers[p->grants.ask_prio], ask_links(ep), path_index(ep, p));
	ep->naskers[p->grants.ask_prio]++;
	ep->nasking++;
}

static void
asker_unlink(struct suci *ep, struct suci_path *p)
{
	base_ilist_unlink(&ep->askers[p->grants.ask_prio], ask_links(ep), path_index(ep, p));
	ep->naskers[p->grants.ask_prio]--;
	ep->nasking--;
}

static void
used_up_to(struct suci *ep, struct suci_path *p, uint32_t used)
{
	if (serial_le(used, p->grants.used))
		return;
	if (serial_gt(used, p->grants.granted)) {
		/* More than it ever got: it heard a wrong number.  From there on, else it
		 * would take none of ours for new, and the two of us would ask and grant as
		 * fast as datagrams go. */
		ep->grants_out -= p->grants.granted - p->grants.used;
		p->grants.granted = p->grants.used = used;
		return;
	}
	ep->grants_out -= SUCI_BUG(GRANTS) ? 0 : used - p->grants.used;
	p->grants.used = used;
}

void
suci_grants_down(struct suci *ep, struct suci_path *p)
{
	used_up_to(ep, p, p->grants.granted);
	if (p->grants.ask)
		asker_unlink(ep, p);
	p->grants.ask = 0;
}

void
suci_grants_heard(struct suci *ep, struct suci_path *p, const struct suci_ack *a, uint64_t now_ns)
{
	if (p->grants.ask)
		asker_unlink(ep, p);
	p->grants.ask = a->ask;
	p->grants.ask_prio = a->ask_prio < PRIOS ? (uint8_t)a->ask_prio : PRIOS - 1;
	if (p->grants.ask)
		asker_link(ep, p);
	bool lies = p->grants.granted != p->grants.used && now_ns > p->grants.granted_ns + VOID_NS;
	used_up_to(ep, p, lies || !a->ask ? p->grants.granted : a->used);
	if (serial_gt(a->grant, p->grants.seen)) {
		uint32_t more = a->grant - p->grants.seen;
		p->grants.seen = a->grant;
		/* Beyond what waits here they are of no use. */
		uint32_t most = p->refused.n - p->refused.granted;
		p->refused.granted += more < most ? more : most;
		p->refused.ready = p->refused.ready || p->refused.granted;
		suci_path_ready(ep, p);
	}
}

bool
suci_grants_due(const struct suci_path *p)
{
	return p->refused.n || p->grants.ask_told || p->grants.due || p->credit_tx.ask_due;
}

/* Highest priority among the oldest of each list of what is refused, and of what waits for
 * credit. */
static uint8_t
ask_prio(const struct suci *ep, const struct suci_path *p)
{
	uint8_t prio = 0;
	for (uint32_t k = 0; k < REFUSED_LISTS; k++)
		if (p->refused.list[k].head != NONE && ep->rec[p->refused.list[k].head].prio > prio)
			prio = ep->rec[p->refused.list[k].head].prio;
	for (uint32_t q = PRIOS; p->credit_tx.blocked_ns && q-- > prio;)
		if (p->sent.queue[q].head != NONE)
			prio = (uint8_t)q;
	return prio;
}

void
suci_grants_put(struct suci *ep, struct suci_path *p, struct suci_ack *a)
{
	a->flags |= SUCI_AF_ROOM;
	a->ask = p->refused.n < UINT16_MAX ? (uint16_t)p->refused.n : UINT16_MAX;
	a->ask_prio = ask_prio(ep, p);
	a->waiting = suci_credit_waiting(ep, p);
	a->used = p->grants.seen - p->refused.granted;
	a->grant = p->grants.granted;
	p->grants.ask_told = p->refused.n;
	p->grants.due = p->credit_tx.ask_due = false;
	ep->count.tx_asks += a->ask || a->waiting;
}

/* Strictly by priority; within one the room that is not promised yet evenly. */
void
suci_grants_share(struct suci *ep)
{
	if (!ep->ops->room)
		return;
	for (uint32_t prio = PRIOS; prio-- > 0;) {
		uint32_t n = ep->naskers[prio];
		bool unmet = false;
		uint32_t promised = ep->grants_out, given = 0;
		for (uint32_t k = 0; k < n && k < TURN; k++) {
			struct suci_path *p = &ep->path[ep->askers[prio].head];
			asker_unlink(ep, p);
			asker_link(ep, p); /* to the end */
			uint32_t out = p->grants.granted - p->grants.used;
			if (out >= p->grants.ask)
				continue;
			uint32_t room = ep->ops->room(ep->user, path_index(ep, p));
			room = room > promised ? room - promised : 0;
			uint32_t give = room >= n ? room / n : room > given;
			if (give < p->grants.ask - out)
				unmet = true;
			else
				give = p->grants.ask - out;
			if (!give)
				continue;
			given += give;
			p->grants.granted += give;
			p->grants.granted_ns = ep->now_ns;
			ep->grants_out += give;
			ep->count.tx_grants += give;
			p->grants.due = p->ack_tx.due = true;
			suci_path_ready(ep, p);
		}
		if (unmet)
			return;
	}
}
