/* SPDX-License-Identifier: BSD-2-Clause */
#include "post.h"

#include "base/assert.h"

#include <string.h>

struct rd_mail *
rd_post_mail(struct rd_post *p, uint32_t worker, enum rd_mail_type type)
{
	struct rd_mailbox *box = p->box[worker];
	BASE_ASSERT(box->nfree_mail > 0);
	struct rd_mail *mail = box->free_mail[--box->nfree_mail];
	memset(mail, 0, sizeof *mail);
	mail->type = type;
	mail->worker = worker;
	return mail;
}

static void
send_at(struct rd_post *p, struct rd_mail *mail, uint32_t worker)
{
	mail->at = worker;
	bool posted = base_ring_push(&p->box[worker]->to_worker, mail);
	BASE_ASSERT(posted); /* as many slots as mails, and one snapshot more */
	rd_wake_up(&p->box[worker]->wake_worker);
}

void
rd_post_send(struct rd_post *p, struct rd_mail *mail)
{
	send_at(p, mail, mail->worker);
}

void
rd_post_send_gateway(struct rd_post *p, struct rd_mail *mail)
{
	BASE_ASSERT(p->gateway);
	bool posted = base_ring_push(&p->gateway->mails, mail);
	BASE_ASSERT(posted); /* as many slots as mails */
	rd_wake_up(&p->gateway->wake);
}

/* A snapshot goes to each worker and to the gateway before it is done, in one mail:
 * false once it has been everywhere. */
static bool
pass_mail_on(struct rd_post *p, struct rd_mail *mail)
{
	if (mail->type != RD_MAIL_SNAPSHOT || mail->gateway)
		return false;
	if (mail->at + 1 < p->nworkers) {
		send_at(p, mail, mail->at + 1);
		return true;
	}
	if (!p->gateway)
		return false;
	rd_post_send_gateway(p, mail);
	return true;
}

static void
read_replies(struct rd_post *p, struct base_ring *ring)
{
	struct rd_mail *mail;
	while ((mail = base_ring_pop(ring))) {
		struct rd_mailbox *box = p->box[mail->worker];
		if (pass_mail_on(p, mail))
			continue;
		if (mail->done)
			mail->done(mail);
		if (mail->type == RD_MAIL_NOTE)
			rd_mailbox_note_back(box, mail->note.bytes);
		box->free_mail[box->nfree_mail++] = mail;
	}
}

void
rd_post_read(struct rd_post *p)
{
	for (uint32_t i = 0; i < p->nworkers; i++)
		read_replies(p, &p->box[i]->replies);
	if (p->gateway)
		read_replies(p, &p->gateway->replies);
}

static void
read_events(struct base_ring *events, struct base_ring *free_ring,
	    void (*fn)(void *user, const struct rd_event *e), void *user)
{
	struct rd_event *e;
	while ((e = base_ring_pop(events))) {
		fn(user, e);
		(void)base_ring_push(free_ring, e); /* as many slots as events */
	}
}

void
rd_post_events(struct rd_post *p, void (*fn)(void *user, const struct rd_event *e), void *user)
{
	for (uint32_t i = 0; i < p->nworkers; i++)
		read_events(&p->box[i]->events, &p->box[i]->event_free, fn, user);
	if (p->gateway)
		read_events(&p->gateway->events, &p->gateway->event_free, fn, user);
}

bool
rd_post_waiting(const struct rd_post *p)
{
	for (uint32_t i = 0; i < p->nworkers; i++)
		if (base_ring_count(&p->box[i]->replies) || base_ring_count(&p->box[i]->events))
			return true;
	if (p->gateway)
		return base_ring_count(&p->gateway->replies) ||
		       base_ring_count(&p->gateway->events);
	return base_ring_count(&p->box[0]->to_tap[0]) || base_ring_count(&p->box[0]->to_tap[1]);
}
