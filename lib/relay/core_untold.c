/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends of jobs that the relay behind a trunk has not been told, for the trunk was not up.
 *
 * A trunk with such ends keeps its slot, so that the other relay, which has the job and
 * keeps trying, gets in; it is not opened from here.  Label bases are used again: the
 * note names the job by the other relay's token too. */
#include "core_internal.h"

static struct untold *
untold_of(const struct relay_core *c, uint32_t t)
{
	return &c->untold[(size_t)t * UNTOLD_MAX];
}

static void
drop(struct relay_core *c, uint32_t t, struct untold *u)
{
	u->used = false;
	c->trunk[t].nuntold--;
}

void
relay_untold_keep(struct relay_core *c, uint32_t t, const struct relay_note *n)
{
	struct untold *u = untold_of(c, t), *at = u;
	for (uint32_t i = 1; i < UNTOLD_MAX && at->used; i++)
		if (!u[i].used || u[i].until_ns < at->until_ns)
			at = &u[i];
	if (at->used) {
		c->n.notes_forgotten++;
		drop(c, t, at);
	}
	*at = (struct untold){true, base_add_ns(c->now_ns, UNTOLD_NS), *n};
	c->trunk[t].nuntold++;
	c->n.notes_kept++;
	wake_at(c, at->until_ns);
}

void
relay_untold_forget(struct relay_core *c, uint32_t t)
{
	struct untold *u = untold_of(c, t);
	for (uint32_t i = 0; i < UNTOLD_MAX && c->trunk[t].nuntold; i++) {
		if (!u[i].used)
			continue;
		c->n.notes_forgotten++;
		drop(c, t, &u[i]);
	}
}

static bool
send(struct relay_core *c, const struct trunk *k, const struct relay_note *n)
{
	uint8_t buf[RELAY_NOTE_MAX];
	return k->up && !suci_path_note(c->ep, k->path, buf, relay_note_encode(n, buf), c->now_ns);
}

void
relay_untold_tick(struct relay_core *c)
{
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++) {
		struct trunk *k = &c->trunk[t];
		struct untold *u = untold_of(c, t);
		if (!k->nuntold)
			continue;
		for (uint32_t i = 0; i < UNTOLD_MAX; i++) {
			if (!u[i].used)
				continue;
			if (send(c, k, &u[i].note)) {
				c->n.notes_tx++;
				drop(c, t, &u[i]);
			} else if (c->now_ns >= u[i].until_ns) {
				c->n.notes_forgotten++;
				drop(c, t, &u[i]);
			} else {
				/* Up, and no room: soon.  Else relay_path_up() wakes us. */
				wake_at(c, k->up ? base_add_ns(c->now_ns, c->conf.retry_ns)
						 : u[i].until_ns);
			}
		}
		relay_trunk_rest(c, t);
	}
}
