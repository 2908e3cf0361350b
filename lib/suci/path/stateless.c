/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams that belong to no path: answers to unverified sources, CLOSE and RESET.  A small
 * fixed number; when they are used up the answer is simply not sent, as if it
 * had been lost on the way. */
#include "path_internal.h"

#include <string.h>

void
suci_stateless_init(struct suci *ep)
{
	ep->stateless_free = NONE;
	for (uint32_t i = STATELESS_MAX; i-- > 0;) {
		ep->stateless[i].next = ep->stateless_free;
		ep->stateless_free = i;
	}
	ep->stateless_ready.head = ep->stateless_ready.tail = NONE;
	ep->stateless_count = 0;
}

struct suci_stateless *
suci_stateless_new(struct suci *ep, const struct suci_addr *to, bool for_unverified)
{
	uint32_t most = for_unverified ? STATELESS_MAX - STATELESS_RESERVED : STATELESS_MAX;
	if (ep->stateless_count >= most)
		return NULL;
	struct suci_stateless *o = &ep->stateless[ep->stateless_free];
	ep->stateless_free = o->next;
	ep->stateless_count++;
	memset(&o->timer, 0, sizeof o->timer);
	o->timer.kind = TIMER_STATELESS;
	o->to = *to;
	o->len = 0;
	return o;
}

static void
append(struct suci *ep, struct suci_stateless *o)
{
	uint32_t i = (uint32_t)(o - ep->stateless);
	o->next = NONE;
	if (ep->stateless_ready.tail == NONE)
		ep->stateless_ready.head = i;
	else
		ep->stateless[ep->stateless_ready.tail].next = i;
	ep->stateless_ready.tail = i;
}

void
suci_stateless_send(struct suci *ep, struct suci_stateless *o, uint32_t repeats, uint64_t gap_ns)
{
	o->repeats = (uint8_t)repeats;
	o->gap_ns = gap_ns;
	append(ep, o);
}

void
suci_stateless_timer(struct suci *ep, struct suci_stateless *o)
{
	append(ep, o);
}

bool
suci_stateless_tx(struct suci *ep, struct suci_out *out, uint64_t now_ns)
{
	uint32_t i = ep->stateless_ready.head;
	if (i == NONE)
		return false;
	struct suci_stateless *o = &ep->stateless[i];
	ep->stateless_ready.head = o->next;
	if (o->next == NONE)
		ep->stateless_ready.tail = NONE;
	out->to = o->to;
	out->head_len = o->len;
	memcpy(out->head, o->bytes, o->len);
	if (o->repeats) {
		o->repeats--;
		suci_arm(ep, &o->timer, now_ns + o->gap_ns);
		o->gap_ns *= 2;
		return true;
	}
	o->next = ep->stateless_free;
	ep->stateless_free = i;
	ep->stateless_count--;
	return true;
}
