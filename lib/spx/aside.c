/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame that ends whoever begins it.  Only frames that somebody died with are spoken of, so
 * others cost nothing; a word that is lost lets one more process die. */
#include "internal.h"

#include "canary.h"

void
spx_say_inside(struct spx *s, const struct spx_slot *t, bool inside)
{
	struct spx_msg m = {.type = SPX_MSG_IN,
			    .bits = inside ? 0 : SPX_BIT_DONE,
			    .origin = t->o->id,
			    .number = t->number,
			    .want = t->want};

	if (t->lost && s->conf.aside && spx_is_living(s, t->up))
		spx_send(s, t->up, &m);
}

void
spx_inside_message(struct spx *s, uint32_t from, const struct spx_msg *m)
{
	const struct spx_origin *o = spx_origin_of(s, m->origin, false);
	struct spx_slot *t = o ? spx_slot_of(s, o, m->number) : NULL;

	if (t && (t->state == SPX_SLOT_GIVEN || t->state == SPX_SLOT_WORKING) && t->down == from)
		t->inside = !(m->bits & SPX_BIT_DONE);
}

void
spx_count_death(struct spx *s, struct spx_slot *t)
{
	char text[SPX_TEXT_MAX];
	/* What the first one was in is not known. */
	bool in_it = !t->lost || t->inside;

	t->lost = true;
	t->inside = false;
	if (in_it && t->deaths < SPX_ASIDE_MAX)
		t->deaths++;
	if (!s->conf.aside || t->deaths < s->conf.aside || t->skipped || SPX_BUG(POISON))
		return;
	t->skipped = true;
	s->count.aside++;
	spx_say(text, "frame %llu of %s rank %u is set aside: %u processes died in it",
		(unsigned long long)t->number,
		s->view.cluster[SPX_ROLE_CLUSTER(t->o->id) % s->view.ncluster].name,
		t->o->id & 0xffff, t->deaths);
	spx_tell_event(s, SPX_EVENT_ASIDE, t->down, t, text);
}
