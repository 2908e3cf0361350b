/* SPDX-License-Identifier: BSD-2-Clause */
/* What an origin's frames have come to: FIND, STATE.
 *
 * Who takes a rank over asks all who may know.  I/O processes tell what they have (open) and what
 * is done, those behind them what is done.  An ordered process that lacks a number asks its
 * origin: it may be done, by who had the lead before. */
#include "internal.h"

#include <string.h>

/* --- a rank that is taken over ------------------------------------------------ */

static bool
may_know(const struct spx *s, const struct spx_proc *p)
{
	if (p->state == SPX_DEAD || p->id == s->conf.id)
		return false;
	for (uint32_t c = 0; c < s->view.nchain; c++)
		if (s->view.chain[c].from == s->me->cluster &&
		    (p->kind == SPX_IO ? (p->chains & SPX_CHAIN_BIT(c)) != 0
				       : spx_view_reaches(&s->view, c, p->cluster)))
			return true;
	return false;
}

/* FIND to who has not answered; the number of them. */
static uint32_t
send_finds(struct spx *s)
{
	struct spx_msg m = {.type = SPX_MSG_FIND, .origin = SPX_ROLE(s->me->cluster, s->me->rank)};
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->view.nproc; i++)
		if (s->peer[i].unfound) {
			n++;
			spx_send(s, s->view.proc[i].id, &m);
		}
	spx_arm(s, &s->find, s->find_tries);
	if (s->find_tries < UINT8_MAX)
		s->find_tries++;
	return n;
}

/* All that this rank ever made went to an I/O process, which knows it or a floor beyond it.  One
 * that is dead may have known more than all who live, unless one of these heard of the rank later:
 * by then the rank's floor was told to it, and what came after went to those who live. */
static bool
is_all_known(const struct spx *s)
{
	if (s->all_known)
		return true;
	for (uint32_t i = 0; i < s->view.nproc; i++) {
		const struct spx_proc *p = &s->view.proc[i];
		if (p->kind == SPX_IO && (p->chains & s->out_of) &&
		    (p->state == SPX_DEAD || p->takeovers))
			return false;
	}
	return true;
}

static void
end_finding(struct spx *s)
{
	const struct spx_origin *o = spx_origin_of(s, SPX_ROLE(s->me->cluster, s->me->rank), false);

	base_wheel_cancel(&s->wheel, &s->find);
	s->found = true;
	if (s->me->takeovers && o)
		s->remade_below = is_all_known(s) ? o->floor + s->window_most : UINT64_MAX;
	s->news_room = true;
}

/* An I/O process has to be among those who answer. */
static void
end_if_all(struct spx *s)
{
	bool io = false;

	for (uint32_t i = 0; i < s->view.nproc; i++) {
		if (s->peer[i].unfound)
			return;
		io |= s->view.proc[i].kind == SPX_IO && may_know(s, &s->view.proc[i]);
	}
	if (io)
		end_finding(s);
}

void
spx_find_begin(struct spx *s)
{
	if (s->found || s->me->kind != SPX_COMPUTE || s->into || !s->out_of)
		return;
	(void)spx_origin_of(s, SPX_ROLE(s->me->cluster, s->me->rank), true);
	if (!s->me->takeovers) {
		end_finding(s);
		return;
	}
	for (uint32_t i = 0; i < s->view.nproc; i++)
		s->peer[i].unfound = may_know(s, &s->view.proc[i]);
	s->find_tries = 0;
	s->all_known = false;
	send_finds(s);
}

void
spx_find_timer(struct spx *s)
{
	if (s->found || !s->me)
		return;
	s->count.repeated++;
	send_finds(s);
}

/* --- answers ------------------------------------------------------------------ */

static void
set_bit(uint8_t *bits, uint32_t i)
{
	bits[i / 8] |= (uint8_t)(0x80u >> i % 8);
}

static bool
has_bit(const uint8_t *bits, uint32_t i)
{
	return bits[i / 8] >> (7 - i % 8) & 1;
}

static bool
heard_after_deaths(const struct spx *s, const struct spx_origin *o)
{
	for (uint32_t i = 0; i < s->view.nproc; i++)
		if (s->peer[i].p.kind == SPX_IO && s->peer[i].dead_view > o->heard_view)
			return false;
	return o->heard_view > 0;
}

static void
answer_find(struct spx *s, uint32_t to, const struct spx_msg *about)
{
	const struct spx_origin *o = spx_origin_of(s, about->origin, false);
	uint8_t bits[2 * SPX_WINDOW_MAX / 8] = {0};
	uint32_t n = s->conf.window_max;
	struct spx_msg m = {.type = SPX_MSG_STATE,
			    .origin = about->origin,
			    .bytes = bits,
			    .len = 2 * (size_t)n / 8};

	/* The one that took the rank over does not know itself. */
	if (o && spx_is_mine(s, o) && !s->found)
		return;
	if (o && s->me->kind == SPX_IO && heard_after_deaths(s, o))
		m.bits = SPX_BIT_DONE;
	for (uint32_t i = 0; o && i < n; i++) {
		const struct spx_slot *t = spx_slot_of(s, o, o->floor + i);
		if (t && spx_is_io_state(t->state))
			set_bit(bits, i);
		else if (t && (t->state == SPX_SLOT_DONE || t->state == SPX_SLOT_CLOSED))
			set_bit(bits + n / 8, i);
	}
	spx_send(s, to, &m);
}

/* Of this rank, from who has had frames of it. */
static void
learn_own(struct spx *s, uint32_t from, const struct spx_msg *m, struct spx_origin *o)
{
	bool io = spx_view_proc(&s->view, from)->kind == SPX_IO;

	for (uint32_t i = 0; i < s->conf.window_max; i++) {
		uint64_t n = m->floor + i;
		if (has_bit(m->bytes + s->conf.window_max / 8, i)) {
			spx_mark_closed(s, o, n);
		} else if (has_bit(m->bytes, i) && io && !spx_slot_of(s, o, n)) {
			struct spx_slot *t = spx_slot_make(s, o, n);
			if (!t)
				continue;
			t->down = from;
			t->again = true;
			spx_slot_set(s, t, SPX_SLOT_TAKEN);
		}
	}
}

/* Of another, for order. */
static void
learn_done(struct spx *s, const struct spx_msg *m, struct spx_origin *o)
{
	for (uint32_t i = 0; i < s->conf.window_max; i++) {
		uint64_t n = m->floor + i;
		struct spx_slot *t = spx_slot_of(s, o, n);
		bool done = has_bit(m->bytes + s->conf.window_max / 8, i);
		if (done && !t)
			spx_mark_closed(s, o, n);
		else if (done && t->state == SPX_SLOT_QUEUED)
			spx_done_below(s, t); /* who gave it waits for that */
	}
}

void
spx_find_message(struct spx *s, uint32_t from, const struct spx_msg *m)
{
	struct spx_origin *o = spx_origin_of(s, m->origin, false);

	if (m->type == SPX_MSG_FIND) {
		answer_find(s, from, m);
		return;
	}
	if (!o)
		return;
	if (!spx_is_mine(s, o)) {
		const struct spx_proc *p = spx_view_role(&s->view, o->id);
		if (p && p->id == from)
			learn_done(s, m, o);
		return;
	}
	struct spx_peer *p = spx_peer_of(s, from);
	if (s->found || !p->unfound)
		return;
	p->unfound = false;
	s->all_known |= (m->bits & SPX_BIT_DONE) != 0;
	learn_own(s, from, m, o);
	end_if_all(s);
}

void
spx_find_lacking(struct spx *s)
{
	for (uint32_t i = 0; i < s->norigins && s->ordered; i++) {
		const struct spx_origin *o = &s->origin[i];
		const struct spx_proc *p = spx_view_role(&s->view, o->id);
		struct spx_msg m = {.type = SPX_MSG_FIND, .origin = o->id};
		if (o->lacks_ns != BASE_NEVER_NS && p && p->id != s->conf.id)
			spx_send(s, p->id, &m);
	}
}
