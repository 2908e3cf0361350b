/* SPDX-License-Identifier: BSD-2-Clause */
/* What people are told: who is missing at the start, clusters that fall silent, frames that do
 * not go on. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>

bool
spx_say(char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, SPX_TEXT_MAX, fmt, ap);
	va_end(ap);
	return false;
}

void
spx_tell_event(struct spx *s, enum spx_event_kind kind, uint32_t proc, const struct spx_slot *t,
	       const char *text)
{
	s->ops->event(s->user, &(struct spx_event){.kind = kind,
						   .cluster = SPX_NONE,
						   .proc = proc,
						   .origin = t ? t->o->id : SPX_NONE,
						   .number = t ? t->number : 0,
						   .text = text});
}

/* --- start -------------------------------------------------------------------- */

/* A cluster of the pipeline that this process is in. */
static uint32_t
cluster_of_mine(const struct spx *s)
{
	if (s->me->kind == SPX_COMPUTE)
		return s->me->cluster;
	for (uint32_t c = 0; c < s->view.nchain; c++)
		if (s->me->chains & SPX_CHAIN_BIT(c) && s->view.chain[c].state != SPX_CHAIN_OFF)
			return s->view.chain[c].from;
	return SPX_NONE;
}

static void
review_start(struct spx *s, bool due)
{
	uint32_t k = cluster_of_mine(s);
	char why[SPX_TEXT_MAX];

	if (s->running || k == SPX_NONE)
		return;
	if (spx_view_complete(&s->view, (uint16_t)k, why)) {
		s->running = true;
		base_wheel_cancel(&s->wheel, &s->start);
		spx_tell_event(s, SPX_EVENT_RUNNING, SPX_NONE, NULL,
			       "all of the pipeline are there");
		return;
	}
	if (due)
		spx_tell_event(s, SPX_EVENT_MISSING, SPX_NONE, NULL, why);
	if (s->conf.start_ns && !base_timer_armed(&s->start))
		base_wheel_arm(&s->wheel, &s->start, s->now_ns + s->conf.start_ns);
}

void
spx_start_timer(struct spx *s)
{
	if (s->me)
		review_start(s, true);
}

/* --- clusters that fall silent -------------------------------------------------- */

static void
tell_lost_cluster(struct spx *s, uint32_t k)
{
	static const char *const then[] = {"frames for it wait", "frames go past it, as they are",
					   "no frame is begun any more",
					   "frames for it wait, it should be started again"};
	const struct spx_cluster *c = &s->view.cluster[k];
	enum spx_on_lost on_lost = SPX_WAIT;
	char text[SPX_TEXT_MAX];

	for (uint32_t i = 0; i < s->view.nchain; i++)
		if (s->view.chain[i].to == k && s->view.chain[i].state != SPX_CHAIN_OFF)
			on_lost = s->view.chain[i].on_lost;
	spx_say(text, "cluster %s is silent: %s (on_lost=%s)", c->name, then[on_lost],
		spx_on_lost_name(on_lost));
	s->ops->event(s->user, &(struct spx_event){.kind = SPX_EVENT_LOST,
						   .on_lost = on_lost,
						   .cluster = k,
						   .proc = SPX_NONE,
						   .origin = SPX_NONE,
						   .text = text});
}

static void
tell_back(struct spx *s, uint32_t k)
{
	char text[SPX_TEXT_MAX];

	spx_say(text, "cluster %s is there again", s->view.cluster[k].name);
	s->ops->event(s->user, &(struct spx_event){.kind = SPX_EVENT_BACK,
						   .cluster = k,
						   .proc = SPX_NONE,
						   .origin = SPX_NONE,
						   .text = text});
}

void
spx_watch_view(struct spx *s, uint64_t lost_before)
{
	bool halted = false;

	for (uint32_t k = 0; k < s->view.ncluster; k++) {
		bool was = lost_before & SPX_CHAIN_BIT(k), is = s->view.cluster[k].lost;
		if (is && !was)
			tell_lost_cluster(s, k);
		else if (was && !is)
			tell_back(s, k);
	}
	for (uint32_t c = 0; c < s->view.nchain; c++) {
		const struct spx_chain *a = &s->view.chain[c];
		halted |= a->state != SPX_CHAIN_OFF && a->on_lost == SPX_STOP &&
			  s->view.cluster[a->to].lost;
	}
	s->halted = halted;
	review_start(s, false);
}

/* --- frames that do not go on ----------------------------------------------------- */

static const char *
origin_name(const struct spx *s, const struct spx_slot *t)
{
	return s->view.cluster[SPX_ROLE_CLUSTER(t->o->id) % s->view.ncluster].name;
}

static void
tell_stalled(struct spx *s, const struct spx_slot *t, enum spx_event_kind kind, uint32_t proc,
	     const char *what)
{
	char text[SPX_TEXT_MAX];
	uint64_t ms = (s->now_ns - t->since_ns) / BASE_MS_NS;

	spx_say(text, "frame %llu of %s rank %u: for %llu.%03llu s %s",
		(unsigned long long)t->number, origin_name(s, t), t->o->id & 0xffff,
		(unsigned long long)ms / 1000, (unsigned long long)ms % 1000, what);
	spx_tell_event(s, kind, proc, t, text);
}

/* An earlier frame of the origin is told of: those behind it mostly wait for the same. */
static bool
is_behind_told(const struct spx *s, const struct spx_slot *t)
{
	for (uint64_t n = t->o->floor; n < t->number; n++) {
		const struct spx_slot *u = spx_slot_of(s, t->o, n);
		if (u && u->tries && u->state != SPX_SLOT_PUT && u->state != SPX_SLOT_DONE)
			return true;
	}
	return false;
}

void
spx_stalled(struct spx *s, struct spx_slot *t)
{
	if (t->tries < 16)
		t->tries++;
	if (is_behind_told(s, t)) {
		spx_arm_stall(s, t);
		return;
	}
	if (t->state == SPX_SLOT_TAKEN) {
		spx_send_slot(s, t->down, SPX_MSG_WHERE, t, NULL, 0);
	} else if (t->state == SPX_SLOT_HELD) {
		tell_stalled(s, t, SPX_EVENT_AWAITED, SPX_NONE,
			     "no I/O process has had room for it: are there any, and do the "
			     "clusters behind them keep up?");
	} else if (t->state == SPX_SLOT_BEGUN) {
		tell_stalled(s, t, SPX_EVENT_IGNORED, s->conf.id,
			     "this process is in it: its program does not end the frame");
	} else if (spx_may_begin(s, t)) {
		tell_stalled(s, t, SPX_EVENT_IGNORED, s->conf.id,
			     "it has lain here: the program does not begin it");
	} else {
		tell_stalled(s, t, SPX_EVENT_AWAITED, SPX_NONE,
			     "it waits for a frame before it, as the chain is ordered");
	}
	spx_arm_stall(s, t);
}

static void
take_here(struct spx *s, uint32_t from, const struct spx_msg *m, const struct spx_slot *t)
{
	const struct spx_proc *p = m->want == SPX_NONE ? NULL : spx_view_proc(&s->view, m->want);
	char what[SPX_TEXT_MAX / 2];

	if (t->state != SPX_SLOT_TAKEN || t->down != from || (m->bits & SPX_BIT_DONE))
		return;
	if (p && p->kind == SPX_COMPUTE) {
		snprintf(what, sizeof what, "rank %u of %s has it and what follows is not done",
			 p->rank, s->view.cluster[p->cluster].name);
		tell_stalled(s, t, SPX_EVENT_AWAITED, p->id, what);
		return;
	}
	snprintf(what, sizeof what,
		 "I/O process %u has it and gives it to nobody: it hoards, or nobody behind it "
		 "asks for frames",
		 from);
	tell_stalled(s, t, SPX_EVENT_HOARDED, from, what);
}

void
spx_where_message(struct spx *s, uint32_t from, const struct spx_msg *m)
{
	const struct spx_origin *o = spx_origin_of(s, m->origin, false);
	const struct spx_slot *t = o ? spx_slot_of(s, o, m->number) : NULL;

	if (m->type == SPX_MSG_HERE) {
		if (t)
			take_here(s, from, m, t);
		return;
	}
	struct spx_msg here = {
		.type = SPX_MSG_HERE, .origin = m->origin, .number = m->number, .want = SPX_NONE};
	if (!t || !spx_is_io_state(t->state))
		here.bits = SPX_BIT_DONE;
	else if (t->state == SPX_SLOT_GIVEN || t->state == SPX_SLOT_WORKING)
		here.want = t->down;
	spx_send(s, from, &here);
}
