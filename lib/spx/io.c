/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame at an I/O process: ASKING whether somebody has it already, READY, GIVEN, WORKING; then
 * DONE.
 *
 * Frames of a filter that dies are dropped: the I/O process before it gives them to another one,
 * which puts them again.  Frames whose origin dies are kept: nobody else may have them. */
#include "internal.h"

#include "canary.h"

#include <string.h>

static bool
is_lead(const struct spx *s, uint32_t c, uint32_t id)
{
	const struct spx_proc *lead = spx_view_lead(&s->view, SPX_CHAIN_BIT(c));

	return (lead && lead->id == id) || !s->view.chain[c].ordered || SPX_BUG(TWO_LEADS);
}

/* It may give frames of that cluster to that process. */
static bool
may_give(const struct spx *s, uint16_t from, const struct spx_proc *to)
{
	uint64_t chains = spx_view_giving(&s->view, s->me->chains, from);

	if (to->kind != SPX_COMPUTE || to->state == SPX_DEAD || !spx_running(s))
		return false;
	for (uint32_t c = 0; c < s->view.nchain; c++) {
		if (!(chains & SPX_CHAIN_BIT(c)))
			continue;
		if (spx_view_reaches(&s->view, c, to->cluster) && is_lead(s, c, to->id))
			return true;
		if (SPX_BUG(LAZY_CHAIN))
			break;
	}
	return false;
}

uint32_t
spx_io_room(const struct spx *s, const struct spx_proc *to)
{
	if (s->me->kind != SPX_IO || s->me->state != SPX_ALIVE || to->kind != SPX_COMPUTE ||
	    s->held >= s->conf.room)
		return 0;
	for (uint32_t c = 0; c < s->view.nchain; c++)
		if ((s->me->chains & SPX_CHAIN_BIT(c)) && s->view.chain[c].from == to->cluster &&
		    s->view.chain[c].state == SPX_CHAIN_ACTIVE)
			return s->conf.room - s->held;
	return 0;
}

uint32_t
spx_io_ready(const struct spx *s, const struct spx_proc *to)
{
	uint32_t from = SPX_NONE, n = 0;
	bool may = false;

	if (s->me->kind != SPX_IO || to->kind != SPX_COMPUTE)
		return 0;
	for (const struct spx_slot *t = s->line.first; t; t = t->next) {
		if (t->from != from)
			may = may_give(s, t->from, to);
		from = t->from;
		n += may;
	}
	return n;
}

static void
send_row(struct spx *s, uint32_t to)
{
	struct spx_msg m = {.type = SPX_MSG_ROW, .origin = SPX_NONE};

	spx_send(s, to, &m);
}

/* Those who had nothing hear of it, as many as there are frames. */
static void
offer_frames(struct spx *s)
{
	uint32_t left = s->line.n;

	for (uint32_t i = 0; i < s->view.nproc && left; i++) {
		struct spx_peer *p = &s->peer[i];
		if (!p->hungry || !spx_io_ready(s, &s->view.proc[i]))
			continue;
		p->hungry = false;
		left--;
		send_row(s, p->p.id);
	}
}

void
spx_io_freed(struct spx *s)
{
	for (uint32_t i = 0; i < s->view.nproc; i++) {
		struct spx_peer *p = &s->peer[i];
		if (!p->starved || !spx_io_room(s, &s->view.proc[i]))
			continue;
		p->starved = false;
		send_row(s, p->p.id);
	}
}

/* --- asking ------------------------------------------------------------------- */

/* Chain d begins at that cluster, or behind a lost one that is passed by. */
static bool
is_chain_behind(const struct spx_view *v, uint16_t from, uint32_t d)
{
	if (v->chain[d].from == from)
		return true;
	for (uint32_t c = 0; c < v->nchain; c++)
		if (v->chain[c].from == from && v->cluster[v->chain[c].to].lost &&
		    v->chain[c].on_lost == SPX_BYPASS && is_chain_behind(v, v->chain[c].to, d))
			return true;
	return false;
}

/* Who could have a frame of that cluster, or know that it is done. */
static bool
is_to_be_asked(const struct spx *s, uint16_t from, const struct spx_proc *p)
{
	if (p->state == SPX_DEAD || p->id == s->conf.id)
		return false;
	for (uint32_t c = 0; c < s->view.nchain; c++)
		if (is_chain_behind(&s->view, from, c) &&
		    (p->kind == SPX_IO ? (p->chains & SPX_CHAIN_BIT(c)) != 0
				       : s->view.chain[c].to == p->cluster))
			return true;
	return false;
}

static uint64_t *
asks_of(const struct spx *s, const struct spx_slot *t)
{
	return s->asks + (size_t)t->ask * s->asks_words;
}

/* ASK goes to who has not answered; true: somebody has not. */
static bool
send_asks(struct spx *s, const struct spx_slot *t)
{
	const uint64_t *bits = asks_of(s, t);
	bool some = false;

	for (uint32_t i = 0; i < s->view.nproc; i++) {
		if (!(bits[i / 64] >> i % 64 & 1))
			continue;
		some = true;
		spx_send_slot(s, s->view.proc[i].id, SPX_MSG_ASK, t, NULL, 0);
	}
	return some;
}

static void
make_slot_ready(struct spx *s, struct spx_slot *t)
{
	spx_slot_set(s, t, SPX_SLOT_READY);
	offer_frames(s);
}

static void
begin_asking(struct spx *s, struct spx_slot *t)
{
	if (t->ask == SPX_NONE) {
		uint32_t i = 0;
		while (i < s->conf.room && s->ask_used[i])
			i++;
		if (SPX_BUG(UNASKED)) {
			make_slot_ready(s, t);
			return;
		}
		if (i == s->conf.room) { /* as soon as others have been answered */
			spx_slot_set(s, t, SPX_SLOT_ASKING);
			spx_arm_slot(s, t);
			return;
		}
		s->ask_used[i] = true;
		t->ask = i;
	}
	uint64_t *bits = asks_of(s, t);
	memset(bits, 0, s->asks_words * sizeof *bits);
	for (uint32_t i = 0; i < s->view.nproc; i++)
		if (is_to_be_asked(s, t->from, &s->view.proc[i]))
			bits[i / 64] |= UINT64_C(1) << i % 64;
	spx_slot_set(s, t, SPX_SLOT_ASKING);
	if (send_asks(s, t))
		spx_arm_slot(s, t);
	else
		make_slot_ready(s, t);
}

/* Who lives loses no frame, so what it says of itself holds as long as the view, also if it is late
 * or was not asked for.  What is of another view, or of the dead, does not come here. */
static void
take_known(struct spx *s, uint32_t from, const struct spx_msg *m, struct spx_slot *t)
{
	if (m->type == SPX_MSG_KNOWS) {
		if (t->state != SPX_SLOT_ASKING && t->state != SPX_SLOT_GIVEN)
			return;
		s->count.adopted++;
		if (m->bits & SPX_BIT_DONE) {
			spx_done_below(s, t);
			return;
		}
		/* It came there for another want, or as another process's: this want is not it. */
		t->down = from;
		t->want = 0;
		spx_slot_set(s, t, SPX_SLOT_WORKING);
		return;
	}
	if (t->state != SPX_SLOT_ASKING || t->ask == SPX_NONE)
		return;
	uint32_t at = (uint32_t)(spx_view_proc(&s->view, from) - s->view.proc);
	uint64_t *bits = asks_of(s, t), any = 0;
	bits[at / 64] &= ~(UINT64_C(1) << at % 64);
	for (uint32_t i = 0; i < s->asks_words; i++)
		any |= bits[i];
	if (!any)
		make_slot_ready(s, t);
}

/* --- taking ------------------------------------------------------------------- */

/* NULL: refused. */
static struct spx_slot *
take_put_frame(struct spx *s, const struct spx_proc *from, const struct spx_msg *m,
	       struct spx_origin *o)
{
	bool room = spx_io_room(s, from) > 0 || (SPX_BUG(ROOMY) && s->held == s->conf.room);
	struct spx_slot *t = o && room ? spx_slot_make(s, o, m->number) : NULL;
	void *copy = t ? spx_copy(s, m->bytes, m->len) : NULL;

	if (!copy)
		return NULL;
	t->in = copy;
	t->in_len = (uint32_t)m->len;
	t->up = from->id;
	t->from = from->cluster;
	t->again = m->bits & SPX_BIT_AGAIN;
	t->skipped = m->bits & SPX_BIT_SKIPPED;
	return t;
}

/* What a rank makes has its own name; so it is known whom to tell. */
static bool
may_put(const struct spx_proc *from, uint32_t origin)
{
	return from->kind == SPX_COMPUTE && (SPX_ROLE_CLUSTER(origin) != from->cluster ||
					     origin == SPX_ROLE(from->cluster, from->rank));
}

static void
take_put(struct spx *s, uint32_t from, const struct spx_msg *m, struct spx_origin *o,
	 struct spx_slot *t)
{
	struct spx_peer *p = spx_peer_of(s, from);

	bool other = t && spx_is_io_state(t->state) && p->p.cluster != t->from &&
		     SPX_ROLE_CLUSTER(m->origin) == t->from;
	if (!may_put(&p->p, m->origin) || other) {
		spx_answer(s, from, SPX_MSG_REFUSED, m, 0);
		return;
	}
	/* With the mark it may be of one that took over, and does not know how far the rank was. */
	if (o && !(m->bits & SPX_BIT_AGAIN) && p->p.kind == SPX_COMPUTE &&
	    m->origin == SPX_ROLE(p->p.cluster, p->p.rank))
		o->heard_view = s->view.number;
	if ((t && !spx_is_io_state(t->state)) || (o && m->number < o->floor)) {
		spx_answer(s, from, SPX_MSG_COMMIT, m, 0);
		return;
	}
	if (t) {
		s->count.duplicate++;
		t->up = from;
		t->from = p->p.cluster;
		spx_answer(s, from, SPX_MSG_TOOK, m, 0);
		return;
	}
	t = m->want > p->refused ? take_put_frame(s, &p->p, m, o) : NULL;
	if (!t) {
		p->starved = true;
		p->refused = m->want > p->refused ? m->want : p->refused;
		spx_answer(s, from, SPX_MSG_REFUSED, m, 0);
		return;
	}
	/* A state that counts, before anything is sent. */
	spx_slot_set(s, t, SPX_SLOT_READY);
	spx_answer(s, from, SPX_MSG_TOOK, m, 0);
	if (t->again)
		begin_asking(s, t);
	else
		offer_frames(s);
}

/* --- giving ------------------------------------------------------------------- */

static void
send_give(struct spx *s, struct spx_slot *t)
{
	spx_send_slot(s, t->down, SPX_MSG_GIVE, t, t->in, t->in_len);
	spx_arm_slot(s, t);
}

/* What this want has got already: its GIVE was lost, or is late. */
static struct spx_slot *
find_given(struct spx *s, uint32_t to, uint32_t want)
{
	for (uint32_t i = 0; i < s->norigins; i++)
		for (uint32_t k = 0; k < s->conf.window_max; k++) {
			struct spx_slot *t = &s->origin[i].slot[k];
			if ((t->state == SPX_SLOT_GIVEN || t->state == SPX_SLOT_WORKING) &&
			    t->down == to && t->want == want)
				return t;
		}
	return NULL;
}

static void
take_want(struct spx *s, uint32_t from, const struct spx_msg *m)
{
	struct spx_peer *p = spx_peer_of(s, from);
	struct spx_slot *t = find_given(s, from, m->want);

	if (t) {
		if (t->state == SPX_SLOT_GIVEN)
			send_give(s, t);
		return;
	}
	t = m->want > p->nothing ? s->line.first : NULL;
	while (t && !may_give(s, t->from, &p->p))
		t = t->next;
	if (!t) {
		p->hungry = true;
		p->nothing = m->want > p->nothing ? m->want : p->nothing;
		spx_answer(s, from, SPX_MSG_NOTHING, m, 0);
		return;
	}
	p->hungry = false;
	t->down = from;
	t->want = m->want;
	t->inside = false;
	spx_slot_set(s, t, SPX_SLOT_GIVEN);
	send_give(s, t);
}

static void
take_commit_below(struct spx *s, uint32_t from, const struct spx_msg *m, struct spx_slot *t)
{
	if (t && spx_is_io_state(t->state)) {
		spx_done_below(s, t);
	} else if (!t) {
		/* Not here any more: but others may ask. */
		struct spx_origin *o = spx_origin_of(s, m->origin, true);
		if (o)
			spx_mark_closed(s, o, m->number);
	}
	spx_answer(s, from, SPX_MSG_FORGOT, m, 0);
}

static void
take_poll(struct spx *s, uint32_t from)
{
	struct spx_peer *p = spx_peer_of(s, from);

	p->hungry = !spx_io_ready(s, &p->p);
	p->starved = !spx_io_room(s, &p->p);
	send_row(s, from);
}

void
spx_io_message(struct spx *s, uint32_t from, const struct spx_msg *m)
{
	struct spx_origin *o = spx_origin_of(s, m->origin, false);
	struct spx_slot *t = o ? spx_slot_of(s, o, m->number) : NULL;
	bool given = t && t->state == SPX_SLOT_GIVEN && t->down == from && t->want == m->want;

	switch (m->type) {
	case SPX_MSG_PUT:
		take_put(s, from, m, o, t);
		break;
	case SPX_MSG_WANT:
		take_want(s, from, m);
		break;
	case SPX_MSG_GOT:
		if (given)
			spx_slot_set(s, t, SPX_SLOT_WORKING);
		break;
	case SPX_MSG_BACK:
		if (given)
			make_slot_ready(s, t);
		break;
	case SPX_MSG_COMMIT:
		take_commit_below(s, from, m, t);
		break;
	case SPX_MSG_POLL:
		take_poll(s, from);
		break;
	default: /* KNOWS, NEVER */
		if (t)
			take_known(s, from, m, t);
		break;
	}
}

void
spx_io_timer(struct spx *s, struct spx_slot *t)
{
	s->count.repeated++;
	if (t->state == SPX_SLOT_GIVEN) {
		send_give(s, t);
	} else if (t->state == SPX_SLOT_ASKING && t->ask == SPX_NONE) {
		begin_asking(s, t);
	} else if (t->state == SPX_SLOT_ASKING) {
		(void)send_asks(s, t);
		spx_arm_slot(s, t);
	}
}

/* --- views -------------------------------------------------------------------- */

void
spx_io_view(struct spx *s, struct spx_slot *t)
{
	bool made_here = SPX_ROLE_CLUSTER(t->o->id) == t->from;
	uint64_t chains = spx_view_giving(&s->view, s->me->chains, t->from);

	if (t->up != SPX_NONE && !spx_is_living(s, t->up)) {
		t->up = SPX_NONE;
		if (!made_here && !SPX_BUG(KEPT_OF_DEAD)) {
			spx_slot_end(s, t, SPX_SLOT_FREE);
			return;
		}
	}
	for (uint32_t c = 0; c < s->view.nchain && SPX_BUG(DRAINED); c++)
		if ((chains & SPX_CHAIN_BIT(c)) && t->state == SPX_SLOT_READY &&
		    s->view.chain[c].state == SPX_CHAIN_DRAINING) {
			spx_slot_end(s, t, SPX_SLOT_FREE);
			return;
		}
	if (t->state == SPX_SLOT_ASKING || (t->state == SPX_SLOT_READY && t->again)) {
		/* A cluster that is passed by from now on brings others who could have it. */
		begin_asking(s, t);
	} else if ((t->state == SPX_SLOT_GIVEN || t->state == SPX_SLOT_WORKING) &&
		   !spx_is_living(s, t->down) && !SPX_BUG(NOT_AGAIN)) {
		s->count.give_again++;
		t->again = true;
		spx_count_death(s, t);
		/* Where a stage is passed by, others may have it from there. */
		begin_asking(s, t);
	}
}
