#include "lights.h"
#include "control.h"

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
rd_lights_user(struct rd_control *c, const struct rd_light_user *user)
{
	c->light_user = user ? *user : (struct rd_light_user){0};
}

bool
rd_lights_used(const struct rd_control *c)
{
	return c->light_user.state != NULL;
}

static void
tell_state(struct rd_control *c, uint32_t slot, enum base_lightpath state)
{
	if (c->light_user.state)
		c->light_user.state(c->light_user.user, slot, state);
}

/* The core refused; a slot that is not there has been refused before. */
static void
ordered(struct rd_mail *mail)
{
	struct rd_control *c = mail->owner;
	if (!mail->result)
		return;
	rd_log(RD_LOG_WARNING, "light port %u: %s", mail->number, mail->text);
	tell_state(c, mail->number, BASE_LIGHTPATH_FAILED);
}

bool
rd_lights_order(struct rd_control *c, uint32_t slot, const struct relay_light *light,
		void (*done)(struct rd_mail *mail), void *owner)
{
	if (slot >= c->conf->optical.nports || (light && light->addr.leg != RELAY_LEG_LIGHT + slot))
		return false;
	struct rd_mail *mail = rd_control_mail(c, 0, light ? RD_MAIL_LIGHT : RD_MAIL_DARK);
	mail->number = slot;
	if (light)
		mail->light = *light;
	mail->done = done;
	mail->owner = owner;
	rd_control_post(c, mail);
	return true;
}

bool
rd_lights_up(struct rd_control *c, uint32_t slot, const struct relay_light *light)
{
	return rd_lights_order(c, slot, light, ordered, c);
}

bool
rd_lights_dark(struct rd_control *c, uint32_t slot)
{
	return rd_lights_order(c, slot, NULL, ordered, c);
}

bool
rd_lights_note(struct rd_control *c, uint32_t label_base, uint32_t rank, const void *note,
	       size_t len)
{
	struct rd_note *n = len <= RELAY_NOTE_LIGHT_MAX ? rd_mailbox_note(c->box[0]) : NULL;
	if (!n)
		return false;
	memcpy(n->bytes, note, len);
	n->len = (uint16_t)len;
	struct rd_mail *mail = rd_control_mail(c, 0, RD_MAIL_NOTE);
	mail->label_base = label_base;
	mail->number = rank;
	mail->note = n;
	rd_control_post(c, mail);
	return true;
}

void
rd_lights_event(struct rd_control *c, const struct rd_event *e)
{
	struct rd_light_user *u = &c->light_user;
	switch (e->type) {
	case RD_EVENT_LIGHT:
		rd_log_limited(&c->limit_path, c->now_ns,
			       e->state == BASE_LIGHTPATH_FAILED ? RD_LOG_INFO : RD_LOG_DEBUG,
			       "light port %u: %s", e->slot, rd_lights_word(e->state));
		tell_state(c, e->slot, e->state);
		break;
	case RD_EVENT_PROC:
		if (u->proc)
			u->proc(u->user, e->label_base, e->rank);
		break;
	case RD_EVENT_NOTE:
		if (u->note)
			u->note(u->user, e->label_base, e->rank, e->note->bytes, e->note->len);
		(void)base_ring_push(&c->box[e->worker]->note_free, e->note); /* as many slots */
		break;
	default:
		break;
	}
}
