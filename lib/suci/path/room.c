/* Asks and grants, hop by hop.
 *
 *      sender                                          receiver
 *        packets ------------------------------------->  no room: refused
 *        parked  <------------------- REFUSED, which ---
 *        --- ask: so many wait, of such priority ------>  remembers the number
 *                                                         room appears
 *        <--------------------------- grant: so many ---
 *        so many of the parked ----------------------->  taken
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
suci_room_init(struct suci *ep)
{
	for (uint32_t prio = 0; prio < PRIOS; prio++)
		base_ilist_init(&ep->askers[prio]);
}

static struct base_ilinks
ask_links(const struct suci *ep)
{
	return BASE_ILINKS(ep->path, ask_link);
}

static void
asker_link(struct suci *ep, struct suci_path *p)
{
	base_ilist_append(&ep->askers[p->ask_prio], ask_links(ep), path_index(ep, p));
	ep->naskers[p->ask_prio]++;
	ep->nasking++;
}

static void
asker_unlink(struct suci *ep, struct suci_path *p)
{
	base_ilist_unlink(&ep->askers[p->ask_prio], ask_links(ep), path_index(ep, p));
	ep->naskers[p->ask_prio]--;
	ep->nasking--;
}

static void
used_up_to(struct suci *ep, struct suci_path *p, uint32_t used)
{
	if (serial_le(used, p->ask_used))
		return;
	if (serial_gt(used, p->granted)) {
		/* More than it ever got: it heard a wrong number.  From there on, else it
		 * would take none of ours for new, and the two of us would ask and grant as
		 * fast as datagrams go. */
		ep->grants_out -= p->granted - p->ask_used;
		p->granted = p->ask_used = used;
		return;
	}
	ep->grants_out -= SUCI_BUG(GRANTS) ? 0 : used - p->ask_used;
	p->ask_used = used;
}

void
suci_room_down(struct suci *ep, struct suci_path *p)
{
	used_up_to(ep, p, p->granted);
	if (p->ask)
		asker_unlink(ep, p);
	p->ask = 0;
}

void
suci_room_heard(struct suci *ep, struct suci_path *p, const struct suci_ack *a, uint64_t now_ns)
{
	if (p->ask)
		asker_unlink(ep, p);
	p->ask = a->ask;
	p->ask_prio = a->ask_prio < PRIOS ? (uint8_t)a->ask_prio : PRIOS - 1;
	if (p->ask)
		asker_link(ep, p);
	bool lies = p->granted != p->ask_used && now_ns > p->granted_ns + VOID_NS;
	used_up_to(ep, p, lies || !a->ask ? p->granted : a->used);
	if (serial_gt(a->grant, p->grant_seen)) {
		uint32_t more = a->grant - p->grant_seen;
		p->grant_seen = a->grant;
		/* Beyond what waits here they are of no use. */
		uint32_t most = p->n_parked - p->park_granted;
		p->park_granted += more < most ? more : most;
		p->park_ready = p->park_ready || p->park_granted;
		suci_path_ready(ep, p);
	}
}

bool
suci_room_due(const struct suci_path *p)
{
	return p->n_parked || p->ask_told || p->grant_due || p->ask_due;
}

/* Highest priority among the oldest of each list of what is parked, and of what waits for
 * credit. */
static uint8_t
ask_prio(const struct suci *ep, const struct suci_path *p)
{
	uint8_t prio = 0;
	for (uint32_t k = 0; k < PARK_LISTS; k++)
		if (p->parked[k].head != NONE && ep->rec[p->parked[k].head].prio > prio)
			prio = ep->rec[p->parked[k].head].prio;
	for (uint32_t q = PRIOS; p->held_ns && q-- > prio;)
		if (p->queue[q].head != NONE)
			prio = (uint8_t)q;
	return prio;
}

void
suci_room_put(struct suci *ep, struct suci_path *p, struct suci_ack *a)
{
	a->flags |= SUCI_AF_ROOM;
	a->ask = p->n_parked < UINT16_MAX ? (uint16_t)p->n_parked : UINT16_MAX;
	a->ask_prio = ask_prio(ep, p);
	a->waiting = suci_credit_waiting(ep, p);
	a->used = p->grant_seen - p->park_granted;
	a->grant = p->granted;
	p->ask_told = p->n_parked;
	p->grant_due = p->ask_due = false;
	ep->count.tx_asks += a->ask || a->waiting;
}

/* Strictly by priority; within one the room that is not promised yet evenly. */
void
suci_room_share(struct suci *ep)
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
			uint32_t out = p->granted - p->ask_used;
			if (out >= p->ask)
				continue;
			uint32_t room = ep->ops->room(ep->user, path_index(ep, p));
			room = room > promised ? room - promised : 0;
			uint32_t give = room >= n ? room / n : room > given;
			if (give < p->ask - out)
				unmet = true;
			else
				give = p->ask - out;
			if (!give)
				continue;
			given += give;
			p->granted += give;
			p->granted_ns = ep->now_ns;
			ep->grants_out += give;
			ep->count.tx_grants += give;
			p->grant_due = p->send_ack = true;
			suci_path_ready(ep, p);
		}
		if (unmet)
			return;
	}
}
