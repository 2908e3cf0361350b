/* SPDX-License-Identifier: BSD-2-Clause */
#include "mail.h"

#include <string.h>

int
rd_mailbox_init(struct rd_mailbox *b, struct rd_wake *wake)
{
	memset(b, 0, sizeof *b);
	b->wake = wake;
	base_ring_init(&b->to_worker, b->slot_to_worker, RD_MAILS);
	base_ring_init(&b->replies, b->slot_replies, RD_MAILS);
	base_ring_init(&b->events, b->slot_events, RD_EVENTS);
	base_ring_init(&b->event_free, b->slot_event_free, RD_EVENTS);
	for (int leg = 0; leg < RD_LEGS; leg++) {
		base_ring_init(&b->to_tap[leg], b->slot_to_tap[leg], RD_TAP_RING);
		base_ring_init(&b->from_tap[leg], b->slot_from_tap[leg], RD_TAP_RING);
	}
	base_ring_init(&b->note_free, b->slot_note_free, RD_NOTES);
	for (uint32_t i = 0; i < RD_NOTES; i++) {
		base_ring_push(&b->note_free, &b->note_in[i]);
		b->free_note[b->nfree_note++] = &b->note_out[i];
	}
	for (uint32_t i = 0; i < RD_EVENTS; i++)
		base_ring_push(&b->event_free, &b->event[i]);
	for (uint32_t i = 0; i < RD_MAILS; i++)
		b->free_mail[b->nfree_mail++] = &b->mail[i];
	return rd_wake_init(&b->wake_worker);
}

struct rd_note *
rd_mailbox_note(struct rd_mailbox *b)
{
	return b->nfree_note ? b->free_note[--b->nfree_note] : NULL;
}

void
rd_mailbox_note_back(struct rd_mailbox *b, struct rd_note *note)
{
	b->free_note[b->nfree_note++] = note;
}

void
rd_mailbox_fini(struct rd_mailbox *b)
{
	rd_wake_fini(&b->wake_worker);
}

int
rd_gateway_box_init(struct rd_gateway_box *b)
{
	memset(b, 0, sizeof *b);
	for (uint32_t i = 0; i < RD_WORKERS_MAX; i++) {
		base_ring_init(&b->to_gateway[i], b->slot_to_gateway[i], RD_GW_RING);
		base_ring_init(&b->to_worker[i], b->slot_to_worker[i], RD_GW_RING);
	}
	base_ring_init(&b->mails, b->slot_mails, RD_MAILS);
	base_ring_init(&b->replies, b->slot_replies, RD_MAILS);
	base_ring_init(&b->events, b->slot_events, RD_GW_EVENTS);
	base_ring_init(&b->event_free, b->slot_event_free, RD_GW_EVENTS);
	for (uint32_t i = 0; i < RD_GW_EVENTS; i++)
		base_ring_push(&b->event_free, &b->event[i]);
	return rd_wake_init(&b->wake);
}

void
rd_gateway_box_fini(struct rd_gateway_box *b)
{
	rd_wake_fini(&b->wake);
}
