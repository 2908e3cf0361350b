/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame at the process that begins it: QUEUED, BEGUN.  Then it is put on, or DONE. */
#include "internal.h"

#include "canary.h"

uint64_t
spx_first_unbegun(const struct spx *s, const struct spx_origin *o)
{
	uint64_t n = o->floor;

	for (const struct spx_slot *t; (t = spx_slot_of(s, o, n)) && t->state != SPX_SLOT_QUEUED;)
		n++;
	return n;
}

bool
spx_may_begin(const struct spx *s, const struct spx_slot *t)
{
	return spx_running(s) && (!s->ordered || t->number == spx_first_unbegun(s, t->o) ||
				  SPX_BUG(OUT_OF_ORDER) || SPX_BUG(TWO_LEADS));
}

/* --- wanting ------------------------------------------------------------------ */

static void
send_want(struct spx *s, struct spx_want *w)
{
	struct spx_msg m = {.type = SPX_MSG_WANT, .origin = SPX_NONE, .want = w->id};

	spx_send(s, w->to, &m);
	spx_arm(s, &w->timer, w->tries);
	if (w->tries < UINT8_MAX)
		w->tries++;
}

void
spx_want_timer(struct spx *s, struct spx_want *w)
{
	s->count.repeated++;
	send_want(s, w);
}

static void
want_from(struct spx *s, uint32_t to)
{
	struct spx_want *w = s->want;

	while (w->used)
		w++;
	w->used = true;
	w->id = ++s->want_next;
	w->to = to;
	w->tries = 0;
	s->wants++;
	spx_peer_of(s, to)->ready--;
	send_want(s, w);
}

static struct spx_want *
find_want(struct spx *s, uint32_t from, uint32_t id)
{
	for (struct spx_want *w = s->want; w < s->want + SPX_AHEAD_MAX; w++)
		if (w->used && w->to == from && w->id == id)
			return w;
	return NULL;
}

static void
end_want(struct spx *s, struct spx_want *w)
{
	if (!w)
		return;
	base_wheel_cancel(&s->wheel, &w->timer);
	w->used = false;
	s->wants--;
}

void
spx_pull(struct spx *s)
{
	uint32_t have = 0;

	if (s->me->kind != SPX_COMPUTE || !s->into || !spx_running(s))
		return;
	/* Where order is kept, what has to wait for others does not count. */
	for (const struct spx_slot *t = s->queue.first; t; t = t->next)
		have += spx_may_begin(s, t);
	while (s->wants + have < s->conf.ahead) {
		uint32_t n = spx_candidates(s, s->into, false);
		if (n == 0)
			break;
		uint32_t i = spx_pick(spx_policy_of(s, s->into), &s->pick_in, s->candidate, n);
		for (uint32_t k = 0; k < n; k++)
			spx_peer_of(s, s->candidate[k].id)->turn = s->candidate[k].turn;
		want_from(s, s->candidate[i].id);
	}
	spx_poll_later(s);
}

/* --- getting ------------------------------------------------------------------ */

static void
take_give(struct spx *s, uint32_t from, const struct spx_msg *m)
{
	struct spx_origin *o = spx_origin_of(s, m->origin, true);
	struct spx_slot *t = o ? spx_slot_of(s, o, m->number) : NULL;
	struct spx_want *w = find_want(s, from, m->want);

	if (t) {
		s->count.duplicate++;
		bool done = t->state == SPX_SLOT_DONE || t->state == SPX_SLOT_CLOSED;
		end_want(s, w);
		if (!done && !spx_is_living(s, t->up))
			t->up = from;
		else if (!done && t->up != from)
			t->also = from; /* it hears that the frame is here, and waits for its end */
		spx_answer(s, from,
			   done		   ? SPX_MSG_COMMIT
			   : t->up == from ? SPX_MSG_GOT
					   : SPX_MSG_KNOWS,
			   m, 0);
		return;
	}
	t = o && w ? spx_slot_make(s, o, m->number) : NULL;
	void *copy = t ? spx_copy(s, m->bytes, m->len) : NULL;
	if (!copy) {
		end_want(s, w);
		spx_answer(s, from, SPX_MSG_BACK, m, 0);
		return;
	}
	end_want(s, w);
	t->in = copy;
	t->in_len = (uint32_t)m->len;
	t->again = m->bits & SPX_BIT_AGAIN;
	t->lost = m->bits & SPX_BIT_LOST;
	bool drop = t->lost && s->conf.in_flight == SPX_DROP && !SPX_BUG(NOT_DROPPED);
	s->count.dropped += drop;
	t->skipped = drop || m->bits & SPX_BIT_SKIPPED;
	t->up = from;
	t->want = m->want;
	spx_slot_set(s, t, SPX_SLOT_QUEUED);
	spx_arm_stall(s, t);
	spx_answer(s, from, SPX_MSG_GOT, m, 0);
}

/* An I/O process may have it from a stage that the asker is not before: that stage answers. */
static bool
is_for_asker(const struct spx *s, uint32_t from, const struct spx_slot *t)
{
	const struct spx_proc *p = spx_view_proc(&s->view, from);

	for (uint32_t c = 0; c < s->view.nchain && s->me->kind == SPX_IO; c++)
		if ((p->chains & SPX_CHAIN_BIT(c)) && s->view.chain[c].from == t->from)
			return true;
	return s->me->kind == SPX_COMPUTE;
}

static void
take_ask(struct spx *s, uint32_t from, const struct spx_msg *m, const struct spx_origin *o,
	 struct spx_slot *t)
{
	if ((o && m->number < o->floor) ||
	    (t && (t->state == SPX_SLOT_DONE || t->state == SPX_SLOT_CLOSED))) {
		spx_answer(s, from, SPX_MSG_KNOWS, m, SPX_BIT_DONE);
		return;
	}
	if (t && s->me->kind == SPX_COMPUTE && t->up != from) {
		/* It is who says done to the one that put it again.  But who gave it waits, too. */
		t->also = spx_is_living(s, t->up) ? t->up : t->also;
		t->up = from;
	}
	bool knows = t && is_for_asker(s, from, t);
	spx_answer(s, from, knows ? SPX_MSG_KNOWS : SPX_MSG_NEVER, m, 0);
}

void
spx_sink_message(struct spx *s, uint32_t from, const struct spx_msg *m)
{
	struct spx_origin *o = spx_origin_of(s, m->origin, false);
	struct spx_slot *t = o ? spx_slot_of(s, o, m->number) : NULL;

	if (m->type == SPX_MSG_ASK) {
		take_ask(s, from, m, o, t);
	} else if (m->type == SPX_MSG_FORGOT) {
		if (t && t->state == SPX_SLOT_DONE && t->up == from)
			spx_forgotten(s, t);
	} else if (s->me->kind != SPX_COMPUTE) {
		return;
	} else if (m->type == SPX_MSG_GIVE) {
		take_give(s, from, m);
	} else if (m->type == SPX_MSG_CLEAR) {
		if (t && t->up == from)
			t->cleared = true;
	} else { /* NOTHING */
		struct spx_want *w = find_want(s, from, m->want);
		if (!w)
			return;
		end_want(s, w);
		s->count.nothing++;
		spx_peer_of(s, from)->ready = 0;
	}
}

/* --- the program -------------------------------------------------------------- */

/* The program has ended it, or it is empty and no program sees it. */
static void
pass_on_slot(struct spx *s, struct spx_slot *t)
{
	s->count.finished++;
	if (t->number < t->o->floor || !s->out_of) {
		spx_done_below(s, t);
	} else {
		spx_drop(s, &t->in);
		t->skipped = !t->out;
		spx_hold(s, t);
	}
}

void
spx_queue_go(struct spx *s)
{
	bool lacking = false;

	/* One before it has come, where order is kept. */
	if (s->asking && !spx_may_begin(s, s->asking))
		s->asking = NULL;
	for (struct spx_slot *t = s->queue.first; t;) {
		struct spx_slot *next = t->next;
		bool may = spx_may_begin(s, t);
		if (may && t->skipped) {
			pass_on_slot(s, t);
			next = s->queue.first; /* another one may begin now */
		} else if (may && !spx_is_cleared(s, t)) {
			spx_ask_to_begin(s, t);
		} else if (may) {
			t->o->lacks_ns = BASE_NEVER_NS;
			s->news_ready = true;
		} else if (s->ordered && spx_running(s)) {
			const struct spx_slot *first =
				spx_slot_of(s, t->o, spx_first_unbegun(s, t->o));
			if (first)
				t->o->lacks_ns = BASE_NEVER_NS;
			else if (t->o->lacks_ns == BASE_NEVER_NS)
				t->o->lacks_ns = s->now_ns;
			lacking |= !first;
		}
		t = next;
	}
	if (lacking)
		spx_poll_later(s);
}

bool
spx_begin(struct spx *s, struct spx_frame *f, uint64_t now_ns)
{
	s->now_ns = base_max_ns(s->now_ns, now_ns);
	if (!s->me || s->me->state == SPX_DEAD)
		return false;
	for (struct spx_slot *t = s->queue.first; t; t = t->next) {
		if (t->skipped || !spx_may_begin(s, t) || !spx_is_cleared(s, t) ||
		    (s->asking && s->asking != t))
			continue;
		spx_slot_set(s, t, SPX_SLOT_BEGUN);
		spx_arm_stall(s, t);
		s->count.begun++;
		*f = (struct spx_frame){t->o->id, t->number, t->again, t->lost,
					t->in,	  t->in_len, t->up};
		spx_act(s);
		return true;
	}
	return false;
}

static struct spx_slot *
find_begun(struct spx *s, uint32_t origin, uint64_t number)
{
	const struct spx_origin *o = spx_origin_of(s, origin, false);
	struct spx_slot *t = o ? spx_slot_of(s, o, number) : NULL;

	return t && t->state == SPX_SLOT_BEGUN ? t : NULL;
}

bool
spx_finish(struct spx *s, uint32_t origin, uint64_t number, uint64_t now_ns)
{
	struct spx_slot *t = find_begun(s, origin, number);

	s->now_ns = base_max_ns(s->now_ns, now_ns);
	if (!t)
		return false;
	spx_say_inside(s, t, false);
	pass_on_slot(s, t);
	spx_go_on(s);
	return true;
}

bool
spx_abandon(struct spx *s, uint32_t origin, uint64_t number, uint64_t now_ns)
{
	struct spx_slot *t = find_begun(s, origin, number);

	s->now_ns = base_max_ns(s->now_ns, now_ns);
	if (!t)
		return false;
	spx_say_inside(s, t, false);
	t->cleared = false;
	spx_drop(s, &t->out);
	t->again = true;
	spx_slot_set(s, t, SPX_SLOT_QUEUED);
	spx_arm_stall(s, t);
	spx_go_on(s);
	return true;
}
