/* SPDX-License-Identifier: BSD-2-Clause */
#include "lights.h"

#include "base/clock.h"

#include <string.h>

const char *
rd_lights_word(enum base_lightpath state)
{
	switch (state) {
	case BASE_LIGHTPATH_OPENING:
		return "opening";
	case BASE_LIGHTPATH_OPEN:
		return "lit";
	case BASE_LIGHTPATH_CLOSING:
		return "draining";
	case BASE_LIGHTPATH_DRAINED:
		return "drained";
	case BASE_LIGHTPATH_FAILED:
		return "failed";
	case BASE_LIGHTPATH_DARK:
		break;
	}
	return "dark";
}

void
rd_lights_init(struct rd_lights *l, const struct rd_conf *conf, struct rd_loop *loop,
	       struct rd_post *post)
{
	*l = (struct rd_lights){.conf = conf,
				.loop = loop,
				.post = post,
				.limit = {.interval_ns = BASE_S_NS, .burst = 200}};
}

void
rd_lights_user(struct rd_lights *l, const struct rd_light_user *user)
{
	l->user = user ? *user : (struct rd_light_user){0};
}

bool
rd_lights_used(const struct rd_lights *l)
{
	return l->user.state != NULL;
}

static void
tell_state(struct rd_lights *l, uint32_t slot, enum base_lightpath state)
{
	if (l->user.state)
		l->user.state(l->user.user, slot, state);
}

/* The core refused; a slot that is not there has been refused before. */
static void
ordered(struct rd_mail *mail)
{
	struct rd_lights *l = mail->owner;
	if (!mail->result)
		return;
	rd_log(RD_LOG_WARNING, "light port %u: %s", mail->light.slot, mail->text);
	tell_state(l, mail->light.slot, BASE_LIGHTPATH_FAILED);
}

bool
rd_lights_order(struct rd_lights *l, uint32_t slot, const struct relay_light *light,
		void (*done)(struct rd_mail *mail), void *owner)
{
	if (slot >= l->conf->optical.nports || (light && light->addr.leg != RELAY_LEG_LIGHT + slot))
		return false;
	struct rd_mail *mail = rd_post_mail(l->post, 0, light ? RD_MAIL_LIGHT : RD_MAIL_DARK);
	mail->light.slot = slot;
	if (light)
		mail->light.to = *light;
	mail->done = done;
	mail->owner = owner;
	rd_post_send(l->post, mail);
	return true;
}

bool
rd_lights_up(struct rd_lights *l, uint32_t slot, const struct relay_light *light)
{
	return rd_lights_order(l, slot, light, ordered, l);
}

bool
rd_lights_dark(struct rd_lights *l, uint32_t slot)
{
	return rd_lights_order(l, slot, NULL, ordered, l);
}

bool
rd_lights_note(struct rd_lights *l, uint32_t label_base, uint32_t rank, const void *note,
	       size_t len)
{
	struct rd_note *n = len <= RELAY_NOTE_LIGHT_MAX ? rd_mailbox_note(l->post->box[0]) : NULL;
	if (!n)
		return false;
	memcpy(n->bytes, note, len);
	n->len = (uint16_t)len;
	struct rd_mail *mail = rd_post_mail(l->post, 0, RD_MAIL_NOTE);
	mail->note.label_base = label_base;
	mail->note.rank = rank;
	mail->note.bytes = n;
	rd_post_send(l->post, mail);
	return true;
}

void
rd_lights_tick(struct rd_lights *l)
{
	rd_log_limit_tick(&l->limit, l->loop->now_ns);
}

void
rd_lights_event(struct rd_lights *l, const struct rd_event *e)
{
	struct rd_light_user *u = &l->user;
	switch (e->type) {
	case RD_EVENT_LIGHT:
		rd_log_limited(&l->limit, l->loop->now_ns,
			       e->light.state == BASE_LIGHTPATH_FAILED ? RD_LOG_INFO : RD_LOG_DEBUG,
			       "light port %u: %s", e->light.slot, rd_lights_word(e->light.state));
		tell_state(l, e->light.slot, e->light.state);
		break;
	case RD_EVENT_PROC:
		if (u->proc)
			u->proc(u->user, e->light.label_base, e->light.rank);
		break;
	case RD_EVENT_NOTE:
		if (u->note)
			u->note(u->user, e->light.label_base, e->light.rank, e->light.note->bytes,
				e->light.note->len);
		(void)base_ring_push(&l->post->box[e->worker]->note_free,
				     e->light.note); /* as many slots */
		break;
	default:
		break;
	}
}
