/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame that ends whoever begins it.  Only frames that somebody died with are spoken of, so
 * others cost nothing.  Such a one begins when its I/O process has answered: a word that meets
 * another view is lost, and who said it may be dead at once. */
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

	bool begins = !(m->bits & SPX_BIT_DONE);

	/* A process is in one frame at a time. */
	for (uint32_t i = 0; i < s->norigins && begins; i++)
		for (uint32_t k = 0; k < s->conf.window_max; k++)
			if (s->origin[i].slot[k].down == from)
				s->origin[i].slot[k].inside = false;
	if (t && (t->state == SPX_SLOT_GIVEN || t->state == SPX_SLOT_WORKING) && t->down == from)
		t->inside = begins;
	if (begins)
		spx_answer(s, from, SPX_MSG_CLEAR, m, 0);
}

bool
spx_is_cleared(const struct spx *s, const struct spx_slot *t)
{
	return !s->conf.aside || !t->lost || t->cleared || !spx_is_living(s, t->up);
}

static bool
is_program_busy(const struct spx *s)
{
	for (uint32_t i = 0; i < s->norigins; i++)
		for (uint32_t k = 0; k < s->conf.window_max; k++)
			if (s->origin[i].slot[k].state == SPX_SLOT_BEGUN)
				return true;
	return false;
}

/* One at a time, and no other frame begins meanwhile: that would be the one to blame. */
void
spx_ask_to_begin(struct spx *s, struct spx_slot *t)
{
	if (s->asking || is_program_busy(s))
		return;
	s->asking = t;
	t->tries = 0;
	spx_say_inside(s, t, true);
	spx_arm_slot(s, t);
}

void
spx_queued_timer(struct spx *s, struct spx_slot *t)
{
	if (s->asking != t || spx_is_cleared(s, t)) {
		spx_stalled(s, t);
		return;
	}
	s->count.repeated++;
	spx_say_inside(s, t, true);
	spx_arm_slot(s, t);
}

void
spx_count_death(struct spx *s, struct spx_slot *t)
{
	char text[SPX_TEXT_MAX];
	/* What the first one was in is not known. */
	bool in_it = !t->lost || t->inside || SPX_BUG(BLAMED);

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
