/* Datagrams that belong to no path: answers to strangers, farewells.  A small
 * fixed number; when they are used up the answer is simply not sent, as if it
 * had been lost on the way. */
#include "path_internal.h"

#include <string.h>

void
suci_oob_init(struct suci *ep)
{
	ep->oob_free = NONE;
	for (uint32_t i = OOB_MAX; i-- > 0;) {
		ep->oob[i].next = ep->oob_free;
		ep->oob_free = i;
	}
	ep->oob_ready.head = ep->oob_ready.tail = NONE;
	ep->oob_count = 0;
}

struct suci_oob *
suci_oob_new(struct suci *ep, const struct suci_addr *to, bool for_stranger)
{
	uint32_t most = for_stranger ? OOB_MAX - OOB_RESERVED : OOB_MAX;
	if (ep->oob_count >= most)
		return NULL;
	struct suci_oob *o = &ep->oob[ep->oob_free];
	ep->oob_free = o->next;
	ep->oob_count++;
	memset(&o->timer, 0, sizeof o->timer);
	o->timer.kind = TIMER_OOB;
	o->to = *to;
	o->len = 0;
	return o;
}

static void
append(struct suci *ep, struct suci_oob *o)
{
	uint32_t i = (uint32_t)(o - ep->oob);
	o->next = NONE;
	if (ep->oob_ready.tail == NONE)
		ep->oob_ready.head = i;
	else
		ep->oob[ep->oob_ready.tail].next = i;
	ep->oob_ready.tail = i;
}

void
suci_oob_send(struct suci *ep, struct suci_oob *o, uint32_t repeats, uint64_t gap_ns)
{
	o->repeats = (uint8_t)repeats;
	o->gap_ns = gap_ns;
	append(ep, o);
}

void
suci_oob_timer(struct suci *ep, struct suci_oob *o)
{
	append(ep, o);
}

bool
suci_oob_tx(struct suci *ep, struct suci_out *out, uint64_t now_ns)
{
	uint32_t i = ep->oob_ready.head;
	if (i == NONE)
		return false;
	struct suci_oob *o = &ep->oob[i];
	ep->oob_ready.head = o->next;
	if (o->next == NONE)
		ep->oob_ready.tail = NONE;
	out->to = o->to;
	out->head_len = o->len;
	memcpy(out->head, o->bytes, o->len);
	if (o->repeats) {
		o->repeats--;
		suci_arm(ep, &o->timer, now_ns + o->gap_ns);
		o->gap_ns *= 2;
		return true;
	}
	o->next = ep->oob_free;
	ep->oob_free = i;
	ep->oob_count--;
	return true;
}
