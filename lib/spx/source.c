/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame at the process that puts it: HELD, PUT to an I/O process, TAKEN by it.
 *
 * Its bytes stay until COMMIT.  When the I/O process dies it is HELD once more, with bit `again`:
 * somebody may have begun it. */
#include "internal.h"

#include "canary.h"

/* Chains over which new frames leave. */
static uint64_t
open_chains(const struct spx *s)
{
	uint64_t bits = 0;

	for (uint32_t c = 0; c < s->view.nchain; c++)
		if ((s->out_of & SPX_CHAIN_BIT(c)) && s->view.chain[c].state == SPX_CHAIN_ACTIVE)
			bits |= SPX_CHAIN_BIT(c);
	return bits;
}

static uint64_t
smallest_window(const struct spx *s)
{
	uint64_t window = s->conf.window_max;

	for (uint32_t c = 0; c < s->view.nchain; c++)
		if ((s->out_of & SPX_CHAIN_BIT(c)) && s->view.chain[c].window < window)
			window = s->view.chain[c].window;
	return window;
}

static void
send_put(struct spx *s, struct spx_slot *t)
{
	spx_send_slot(s, t->down, SPX_MSG_PUT, t, t->out, t->out_len);
	if (!SPX_BUG(ONE_SHOT) || t->tries == 0)
		spx_arm_slot(s, t);
}

static void
put_to(struct spx *s, struct spx_slot *t, const struct spx_candidate *c)
{
	spx_peer_of(s, c->id)->room--;
	t->down = c->id;
	t->put = ++s->put_next;
	spx_slot_set(s, t, SPX_SLOT_PUT);
	send_put(s, t);
}

void
spx_place(struct spx *s)
{
	uint64_t chains = open_chains(s);

	while (s->me->kind == SPX_COMPUTE && s->line.n && spx_running(s)) {
		uint32_t n = spx_candidates(s, chains, true);
		if (n == 0)
			break;
		uint32_t i = spx_pick(spx_policy_of(s, chains), &s->pick_out, s->candidate, n);
		/* Turns change for all that were weighed. */
		for (uint32_t k = 0; k < n; k++)
			spx_peer_of(s, s->candidate[k].id)->turn = s->candidate[k].turn;
		put_to(s, s->line.first, &s->candidate[i]);
	}
	spx_poll_later(s);
}

void
spx_hold(struct spx *s, struct spx_slot *t)
{
	spx_slot_set(s, t, SPX_SLOT_HELD);
	spx_arm_stall(s, t);
}

void
spx_source_timer(struct spx *s, struct spx_slot *t)
{
	send_put(s, t);
}

void
spx_source_view(struct spx *s, struct spx_slot *t)
{
	if (t->up != SPX_NONE && !spx_is_living(s, t->up))
		t->up = SPX_NONE;
	if (t->state == SPX_SLOT_HELD || spx_is_living(s, t->down))
		return;
	s->count.put_again++;
	if (spx_is_mine(s, t->o) && !t->out) {
		/* Known of, made by a dead one: spx_next() asks for it. */
		spx_slot_end(s, t, SPX_SLOT_FREE);
		return;
	}
	t->again = true;
	spx_hold(s, t);
}

/* --- messages ----------------------------------------------------------------- */

static void
take_put_answer(struct spx *s, uint32_t from, const struct spx_msg *m, struct spx_slot *t)
{
	if (!t || t->state != SPX_SLOT_PUT || t->down != from || t->put != m->want)
		return;
	if (m->type == SPX_MSG_REFUSED) {
		s->count.refused++;
		spx_peer_of(s, from)->room = 0;
		spx_hold(s, t);
		return;
	}
	spx_slot_set(s, t, SPX_SLOT_TAKEN);
	spx_arm_stall(s, t);
	if (SPX_BUG(HASTY_COMMIT) && !spx_is_mine(s, t->o))
		spx_done_below(s, t);
}

static void
take_commit(struct spx *s, uint32_t from, const struct spx_msg *m, struct spx_origin *o,
	    struct spx_slot *t)
{
	bool mine = o && spx_is_mine(s, o);

	if (mine && !s->found)
		return; /* it comes again */
	if (t && (spx_is_source_state(t->state) || t->state == SPX_SLOT_QUEUED))
		spx_done_below(s, t);
	else if (mine && !t)
		spx_mark_closed(s, o, m->number);
	spx_answer(s, from, SPX_MSG_FORGOT, m, 0);
}

void
spx_source_message(struct spx *s, uint32_t from, const struct spx_msg *m)
{
	struct spx_origin *o = spx_origin_of(s, m->origin, false);
	struct spx_slot *t = o ? spx_slot_of(s, o, m->number) : NULL;

	if (m->type == SPX_MSG_COMMIT)
		take_commit(s, from, m, o, t);
	else
		take_put_answer(s, from, m, t);
}

/* --- calls -------------------------------------------------------------------- */

static bool
is_origin(const struct spx *s)
{
	return s->me && s->me->kind == SPX_COMPUTE && s->me->state != SPX_DEAD && s->out_of &&
	       !s->into;
}

bool
spx_next(struct spx *s, uint64_t *number, bool *again)
{
	if (!is_origin(s) || !s->found || !spx_running(s))
		return false;
	const struct spx_origin *o = spx_origin_of(s, SPX_ROLE(s->me->cluster, s->me->rank), true);
	uint64_t window = smallest_window(s);
	for (uint64_t n = o ? o->floor : 0; o && n < o->floor + window; n++) {
		const struct spx_slot *t = spx_slot_of(s, o, n);
		if (t && (t->state != SPX_SLOT_TAKEN || t->out))
			continue;
		*number = n;
		*again = t || n < s->remade_below;
		return true;
	}
	return false;
}

static struct spx_slot *
make_own(struct spx *s, struct spx_origin *o, uint64_t number)
{
	if (!is_origin(s) || !s->found || !spx_is_mine(s, o) ||
	    number >= o->floor + smallest_window(s))
		return NULL;
	return spx_slot_make(s, o, number);
}

bool
spx_put(struct spx *s, uint32_t origin, uint64_t number, const void *bytes, size_t len,
	uint64_t now_ns)
{
	struct spx_origin *o = spx_origin_of(s, origin, false);
	struct spx_slot *t = o ? spx_slot_of(s, o, number) : NULL;
	bool remote = t && t->state == SPX_SLOT_TAKEN && !t->out, made = false;

	s->now_ns = base_max_ns(s->now_ns, now_ns);
	if (!o || len > s->conf.frame_max ||
	    (t && !remote && (t->state != SPX_SLOT_BEGUN || !s->out_of)))
		return false;
	void *copy = spx_copy(s, bytes, len);
	if (!copy)
		return false;
	if (!t) {
		t = make_own(s, o, number);
		made = t != NULL;
	}
	if (!t) {
		spx_drop(s, &copy);
		return false;
	}
	spx_drop(s, &t->out);
	t->out = copy;
	t->out_len = (uint32_t)len;
	if (made) {
		t->again = number < s->remade_below;
		s->count.made++;
		spx_hold(s, t);
	}
	spx_go_on(s);
	return true;
}
