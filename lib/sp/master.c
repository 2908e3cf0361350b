/* SPDX-License-Identifier: BSD-2-Clause */
/* Cluster master: who is silent, what has died, what is to change next. */
#include "internal.h"

#include "canary.h"

#include "base/assert.h"

#include <string.h>

#define RATE_WINDOW_NS (2 * BASE_S_NS)
#define RATE_BAD_MAX   3u

/* The time in which this master looked: while it was stopped it could not hear, and a clock may
 * step.  A turn comes with each tick of lib/quorum, so a longer time was not looked at. */
static uint64_t
tick_ns(const struct sp_node *n)
{
	return n->conf.heartbeat_ms * BASE_MS_NS / 2 + BASE_MS_NS / 4;
}

static void
pass_listening(struct sp_node *n)
{
	struct sp_master *m = &n->master;
	uint64_t dt = n->now_ns - m->turned_ns;

	m->listen_ns += SP_BUG(HURRIED) ? dt : base_min_ns(dt, tick_ns(n));
	m->turned_ns = n->now_ns;
}

/* --- what units get -------------------------------------------------------- */

/* Changes from view `from` on, behind the head of an ACK; false: they are not all kept. */
static bool
write_changes(const struct sp_node *n, struct base_writer *w, uint64_t from, uint32_t *count)
{
	*count = 0;
	if (from + SP_CHANGES_KEPT < n->agreed->number)
		return false;
	for (uint64_t base = from; base < n->agreed->number; base++, ++*count) {
		const struct sp_kept *k = &n->kept[base % SP_CHANGES_KEPT];
		if (k->base != base || k->len == 0)
			return false;
		base_write_be32(w, k->len);
		base_write_bytes(w, k->bytes, k->len);
	}
	return base_writer_ok(w);
}

static void
send_whole_view(struct sp_node *n, uint32_t to)
{
	struct base_writer w = base_writer(n->frame, n->frame_room);
	struct sp_frame f = {
		.type = SP_FRAME_VIEW, .cluster = n->conf.cluster, .term = n->master.term};

	sp_frame_begin(&w, &f);
	size_t head = base_writer_len(&w);
	size_t len = sp_view_write(n->agreed, n->frame + head, n->frame_room - head);
	BASE_ASSERT(head + len <= n->frame_room);
	sp_send(n, to, head + len);
}

/* view: that the unit has; 0: not known. */
static void
answer_unit(struct sp_node *n, uint32_t to, uint64_t echo_ns, uint64_t view)
{
	struct sp_frame f = {.type = SP_FRAME_ACK,
			     .cluster = n->conf.cluster,
			     .echo_ns = echo_ns,
			     .term = n->master.term,
			     .view = n->agreed->number};
	struct sp_frame whole;
	bool all = true;

	if (to == n->conf.me)
		sp_unit_follow(n);
	else if (view && view < n->agreed->number)
		all = !SP_BUG(MUTE);
	struct base_writer w = base_writer(n->frame, n->frame_room);
	sp_frame_begin(&w, &f);
	if (to != n->conf.me && view && all && view < n->agreed->number) {
		all = write_changes(n, &w, view, &f.nchanges);
		if (!all) {
			send_whole_view(n, to);
			f.nchanges = 0;
			w = base_writer(n->frame, n->frame_room);
			sp_frame_begin(&w, &f);
		}
		be32_store(n->frame + SP_FRAME_HEAD + 24, f.nchanges);
	}
	n->count.acks++;
	if (to != n->conf.me) {
		sp_send(n, to, base_writer_len(&w));
		return;
	}
	BASE_ASSERT(sp_frame_parse(&whole, n->frame, base_writer_len(&w)));
	sp_unit_ack(n, to, &whole);
}

/* --- beats ----------------------------------------------------------------- */

/* Most of at least two others are off in the direction in which h is: then it is the clock that
 * they are measured by. */
static bool
is_own_clock(const struct sp_node *n, const struct sp_heard *h)
{
	uint32_t others = 0, alike = 0;

	for (uint32_t u = 0; u < n->conf.limits.units; u++) {
		const struct sp_heard *o = &n->master.heard[u];

		if (u == n->conf.me || o->rate_now_ns == 0 || n->agreed->unit[u].down)
			continue;
		others++;
		alike += o->rate_bad > 0 && o->rate_fast == h->rate_fast;
	}
	return others > 1 && 2 * alike > others && !SP_BUG(INFALLIBLE);
}

static void
check_rate(struct sp_node *n, uint32_t unit, struct sp_heard *h)
{
	uint64_t there = h->sent_ns - h->rate_sent_ns, here = n->now_ns - h->rate_now_ns;

	if (h->rate_now_ns == 0) {
		h->rate_sent_ns = h->sent_ns;
		h->rate_now_ns = n->now_ns;
		return;
	}
	if (here < RATE_WINDOW_NS)
		return;
	uint64_t off = there > here ? there - here : here - there;
	bool bad = off > here / 32 + 2 * n->conf.beat_ns;
	h->rate_bad = bad ? h->rate_bad + 1 : 0;
	h->rate_fast = there > here;
	h->rate_sent_ns = h->sent_ns;
	h->rate_now_ns = n->now_ns;
	if (h->rate_bad < RATE_BAD_MAX || h->clock || n->master.own_clock)
		return;
	if (is_own_clock(n, h)) {
		n->master.own_clock = true;
		sp_tell(n, SP_EVENT_OWN_CLOCK, n->conf.me, (uint32_t)(off * 1000 / here));
		return;
	}
	h->clock = true;
	n->master.dirty = true;
	sp_tell(n, SP_EVENT_CLOCK, unit, (uint32_t)(off * 1000 / here));
}

static void
take_path(struct sp_node *n, const struct sp_report *p)
{
	struct sp_master *m = &n->master;

	for (uint32_t i = 0; i < m->npath; i++)
		if (m->path[i].slot == p->a && m->path[i].other == p->b)
			return;
	if (m->npath == SP_PATHS_MAX || !sp_slot_lives(n->agreed, p->a) ||
	    !sp_slot_lives(n->agreed, p->b))
		return;
	m->path[m->npath++] = (struct sp_path){p->a, p->b, n->now_ns + SP_PATH_NS};
	m->dirty = true;
	sp_tell(n, SP_EVENT_PATH, p->a, p->b);
}

/* It comes again with each beat, so what finds no room is not lost. */
static void
take_unit_ask(struct sp_node *n, const struct sp_report *p)
{
	struct sp_master *m = &n->master;
	struct sp_op o = {sp_op_of_report(p->kind), p->why, p->a, p->b};
	bool by_a = o.kind == SP_OP_POOL || o.kind == SP_OP_ROLES;

	for (uint32_t i = 0; i < m->nask; i++)
		if (m->ask[i].kind == o.kind && m->ask[i].why == o.why &&
		    (!by_a || m->ask[i].a == o.a))
			return;
	if (m->nask == SP_ASKS_MAX)
		return;
	m->ask[m->nask++] = o;
	m->dirty = true;
}

static void
take_report(struct sp_node *n, uint32_t from, struct sp_heard *h, const struct sp_report *p)
{
	struct sp_master *m = &n->master;

	switch (p->kind) {
	case SP_REPORT_DEAD:
		if (!sp_slot_lives(n->agreed, p->a) || n->agreed->slot[p->a].unit != from)
			return;
		m->reported[p->a] = p->why == SP_WHY_HANG ? SP_WHY_HANG : SP_WHY_EXIT;
		m->dirty = true;
		break;
	case SP_REPORT_READY:
		if (h->nready < SP_STARTS_MAX)
			h->ready[h->nready++] = *p;
		m->dirty = true;
		break;
	case SP_REPORT_REACHED:
		if (!sp_slot_lives(n->agreed, p->a) || n->agreed->slot[p->a].unit != from ||
		    n->agreed->slot[p->a].ready)
			return;
		m->reached[p->a] = true;
		m->dirty = true;
		break;
	case SP_REPORT_POOL:
	case SP_REPORT_FACT:
	case SP_REPORT_CLAIM:
	case SP_REPORT_ROLES:
		take_unit_ask(n, p);
		break;
	case SP_REPORT_PATH:
		take_path(n, p);
		break;
	case SP_REPORT_DRAIN:
		h->drain = true;
		m->dirty = true;
		break;
	default:
		m->stop = p->why ? p->why : SP_WHY_OPERATOR;
		m->dirty = true;
	}
}

/* false: it is older than what is known. */
static bool
take_heard(struct sp_node *n, uint32_t from, const struct sp_frame *f)
{
	struct sp_heard *h = &n->master.heard[from];
	const struct sp_unit_state *s = &n->agreed->unit[from];

	if (f->incarnation < h->incarnation || f->incarnation < s->incarnation ||
	    (f->incarnation == h->incarnation && f->sent_ns < h->sent_ns))
		return false;
	if (f->incarnation > h->incarnation)
		*h = (struct sp_heard){.incarnation = f->incarnation, .condemned = h->condemned};
	h->listen_ns = n->master.listen_ns;
	h->before_ns = 0;
	h->sent_ns = f->sent_ns;
	h->view = f->view;
	h->nready = 0;
	h->drain = false;
	n->master.dirty |= s->incarnation != f->incarnation || s->down;
	return true;
}

void
sp_master_beat(struct sp_node *n, uint32_t from, const struct sp_frame *f)
{
	struct sp_master *m = &n->master;
	struct sp_heard *h = &m->heard[from];

	pass_listening(n);
	bool fresh = f->incarnation > h->incarnation;
	if (!take_heard(n, from, f))
		return;
	check_rate(n, from, h);
	sp_witness_beat(n, from, fresh);
	bool same = h->incarnation == n->agreed->unit[from].incarnation;
	for (uint32_t i = 0; i < f->nreports && same; i++) {
		struct sp_report p = sp_frame_report(f, i);
		take_report(n, from, h, &p);
	}
	bool grants = (quorum_lease_ns(n->quorum) > n->now_ns || SP_BUG(GENEROUS)) &&
		      !h->condemned && !h->clock;
	answer_unit(n, from, grants ? f->sent_ns : 0, h->view);
}

/* --- planning: operations go to the view that is planned ------------------- */

static bool
add_op(struct sp_node *n, enum sp_op_kind kind, unsigned why, uint32_t a, uint32_t b)
{
	struct sp_master *m = &n->master;
	struct sp_op o = {(uint8_t)kind, (uint8_t)why, a, b};
	bool epoch;

	if (m->nop == m->op_max || !sp_view_op(m->plan, &o, &epoch))
		return false;
	m->op[m->nop++] = o;
	return true;
}

static void
kill_unit(struct sp_node *n, uint32_t unit, enum sp_why why)
{
	for (uint32_t s = 0; s < n->master.plan->slots; s++)
		if (n->master.plan->slot[s].unit == unit && sp_slot_lives(n->master.plan, s))
			add_op(n, SP_OP_DEAD, why, s, 0);
}

static void
end_cluster(struct sp_node *n, enum sp_why why)
{
	if (!n->master.plan->over)
		add_op(n, SP_OP_END, why, 0, 0);
}

static const struct sp_measures *
measures_of(const struct sp_node *n, enum sp_fault fault)
{
	return &n->conf.severity.of[fault];
}

static void
plan_unit(struct sp_node *n, uint32_t unit)
{
	struct sp_master *m = &n->master;
	struct sp_heard *h = &m->heard[unit];
	const struct sp_unit_state *s = &m->plan->unit[unit];
	uint64_t until = h->listen_ns + n->detect_ns;
	bool silent = m->listen_ns >= until;

	/* Who never came is waited for. */
	if (s->incarnation == 0 && h->incarnation == 0)
		return;
	if (!s->down && s->incarnation && (h->clock || (silent && sp_witness_silence(n, unit)))) {
		enum sp_why why = h->clock ? SP_WHY_CLOCK : SP_WHY_NODE;
		kill_unit(n, unit, why);
		h->condemned |= add_op(n, SP_OP_DOWN, why, unit, 0);
		if (measures_of(n, SP_FAULT_NODE)->set & SP_STOP)
			end_cluster(n, SP_WHY_SEVERITY);
		return;
	}
	if (silent || h->clock)
		return;
	m->silence_ns = base_min_ns(m->silence_ns, until);
	if (h->incarnation == s->incarnation && !s->down)
		return;
	if (h->incarnation > s->incarnation && s->incarnation)
		kill_unit(n, unit, SP_WHY_RESTART);
	add_op(n, SP_OP_UP, 0, unit, h->incarnation);
}

static void
plan_deaths(struct sp_node *n)
{
	struct sp_master *m = &n->master;
	const struct sp_measures *p = measures_of(n, SP_FAULT_PROCESS);
	uint32_t before = m->plan->faults, recent = 0;

	for (uint32_t s = 0; s < m->plan->slots; s++)
		if (m->reported[s] && sp_slot_lives(m->plan, s))
			add_op(n, SP_OP_DEAD, m->reported[s], s, 0);
	if (m->plan->faults == before)
		return;
	if (p->set & SP_STOP)
		end_cluster(n, SP_WHY_SEVERITY);
	for (uint32_t i = 0; i < SP_FAULTS_MAX && i < m->plan->faults; i++)
		recent += m->plan->clock_ms - m->plan->fault_ms[i] <= (uint64_t)p->within_s * 1000;
	if (p->stop_n && recent >= p->stop_n)
		end_cluster(n, SP_WHY_FAULTS);
}

static void
plan_paths(struct sp_node *n)
{
	struct sp_master *m = &n->master;
	uint32_t set = measures_of(n, SP_FAULT_PATH)->set;

	for (uint32_t i = 0; i < m->npath;) {
		if (set & SP_STOP)
			end_cluster(n, SP_WHY_SEVERITY);
		else if (set & SP_TAKEOVER)
			add_op(n, SP_OP_DEAD, SP_WHY_PATH, m->path[i].other, 0);
		if (m->path[i].until_ns <= n->now_ns || !sp_slot_lives(m->plan, m->path[i].other))
			m->path[i] = m->path[--m->npath];
		else
			i++;
	}
}

static bool
has_token(const struct sp_view *v, uint32_t unit, uint32_t token)
{
	for (uint32_t s = 0; s < v->slots; s++)
		if (v->slot[s].unit == unit && v->slot[s].token == token)
			return true;
	return false;
}

static void
plan_joins(struct sp_node *n, uint32_t unit)
{
	struct sp_master *m = &n->master;
	const struct sp_heard *h = &m->heard[unit];

	if (m->plan->unit[unit].down || h->incarnation != m->plan->unit[unit].incarnation ||
	    h->drain || h->condemned)
		return;
	for (uint32_t i = 0; i < h->nready; i++) {
		const struct sp_report *p = &h->ready[i];
		if (has_token(m->plan, unit, p->a) || (m->plan->off >> p->b & 1))
			continue;
		if (add_op(n, SP_OP_JOIN, p->b, unit, p->a) || m->full_told)
			continue;
		m->full_told = true;
		sp_tell(n, SP_EVENT_FULL, unit, 0);
	}
}

/* A living spare on a unit that is neither emptied nor about to be put down; one that is ready,
 * if there is one. */
static uint32_t
find_spare(const struct sp_node *n, uint8_t pool)
{
	const struct sp_view *v = n->master.plan;
	uint32_t found = SP_NONE;

	for (uint32_t s = 0; s < v->slots; s++) {
		const struct sp_slot *p = &v->slot[s];
		if (p->state != SP_SLOT_SPARE || p->pool != pool ||
		    n->master.heard[p->unit].drain || n->master.heard[p->unit].condemned)
			continue;
		if (p->ready)
			return s;
		found = found == SP_NONE ? s : found;
	}
	return found;
}

/* Somebody may play it, and nobody does. */
static bool
is_role_open(const struct sp_view *v, uint32_t r)
{
	return v->role[r] == SP_NONE && !v->gone[r] && !(v->off >> sp_role_pool(v, r) & 1);
}

/* Spares of a pool elsewhere that no role waits for. */
static uint32_t
count_free_spares(const struct sp_node *n, uint8_t pool)
{
	const struct sp_view *v = n->master.plan;
	uint32_t spares = 0;

	for (uint32_t s = 0; s < v->slots; s++)
		spares += v->slot[s].state == SP_SLOT_SPARE && v->slot[s].pool == pool &&
			  !n->master.heard[v->slot[s].unit].drain;
	for (uint32_t r = 0; r < v->l.roles; r++)
		spares -= is_role_open(v, r) && sp_role_pool(v, r) == pool && spares > 0;
	return spares;
}

/* Roles leave a unit that is emptied, as far as there are spares elsewhere. */
static void
plan_drain(struct sp_node *n, uint32_t unit)
{
	struct sp_master *m = &n->master;

	for (uint32_t s = 0; s < m->plan->slots && m->heard[unit].drain; s++) {
		const struct sp_slot *p = &m->plan->slot[s];
		if (p->unit == unit && sp_slot_lives(m->plan, s) &&
		    (p->state != SP_SLOT_ROLE || count_free_spares(n, p->pool)))
			add_op(n, SP_OP_DEAD, SP_WHY_DRAIN, s, 0);
	}
}

/* The dead slot that played the role last; SP_NONE: there is none. */
static uint32_t
last_of_role(const struct sp_view *v, uint32_t role)
{
	for (uint32_t s = v->slots; s-- > 0;)
		if (v->slot[s].state == SP_SLOT_DEAD && v->slot[s].role == role)
			return s;
	return SP_NONE;
}

/* Nobody plays the role that the dead slot had: its process is over for certain. */
static bool
is_slot_over(struct sp_node *n, uint32_t slot)
{
	const struct sp_slot *s = &n->master.plan->slot[slot];

	/* A unit that lives is told to end the process; it has when it has the view. */
	if (s->why == SP_WHY_PATH || s->why == SP_WHY_DRAIN || s->why == SP_WHY_OPERATOR)
		return n->master.plan->unit[s->unit].down ||
		       (!sp_slot_lives(n->agreed, slot) &&
			n->master.heard[s->unit].view >= n->agreed->number);
	/* Its lease runs by a clock that is wrong. */
	if (s->why == SP_WHY_CLOCK)
		return n->master.listen_ns - n->master.heard[s->unit].listen_ns >=
			       4 * n->detect_ns ||
		       n->master.heard[s->unit].view >= n->agreed->number;
	if (s->why == SP_WHY_NODE)
		return sp_witness_lease_over(n, s->unit) ||
		       (!sp_slot_lives(n->agreed, slot) &&
			n->master.heard[s->unit].view >= n->agreed->number);
	return true;
}

static bool
may_take_over(const struct sp_node *n, uint32_t slot)
{
	if (slot == SP_NONE)
		return true;
	switch (n->master.plan->slot[slot].why) {
	case SP_WHY_EXIT:
	case SP_WHY_HANG:
		return !(measures_of(n, SP_FAULT_PROCESS)->set & SP_CONTINUE);
	case SP_WHY_NODE:
	case SP_WHY_RESTART:
	case SP_WHY_CLOCK:
		return !(measures_of(n, SP_FAULT_NODE)->set & SP_CONTINUE);
	default:
		return true;
	}
}

/* There is no spare, and none is started in place of the one that is dead. */
static void
plan_without_spare(struct sp_node *n, uint32_t r)
{
	struct sp_master *m = &n->master;
	uint32_t played = 0;

	if (n->conf.none_left == SP_NONE_LEFT_STOP)
		end_cluster(n, SP_WHY_NO_SPARE);
	if (n->conf.none_left != SP_NONE_LEFT_SHRINK)
		return;
	/* One may be on a unit that is emptied, or about to be put down. */
	for (uint32_t s = 0; s < m->plan->slots && !SP_BUG(DESERTED); s++)
		if (m->plan->slot[s].state == SP_SLOT_SPARE &&
		    m->plan->slot[s].pool == sp_role_pool(m->plan, r)) {
			m->silence_ns = base_min_ns(m->silence_ns, m->listen_ns + n->conf.beat_ns);
			return;
		}
	for (uint32_t i = 0; i < m->plan->l.roles; i++)
		played += m->plan->role[i] != SP_NONE;
	if (played == 0)
		end_cluster(n, SP_WHY_NO_SPARE);
	else if (add_op(n, SP_OP_GONE, 0, r, 0))
		sp_tell(n, SP_EVENT_GONE, r, 0);
}

static void
plan_roles(struct sp_node *n)
{
	struct sp_master *m = &n->master;

	for (uint32_t r = 0; r < m->plan->l.roles; r++) {
		if (!is_role_open(m->plan, r)) {
			m->waits[r] = false;
			continue;
		}
		uint32_t last = last_of_role(m->plan, r);
		if (!may_take_over(n, last))
			continue;
		if (last != SP_NONE && !is_slot_over(n, last)) {
			m->silence_ns = base_min_ns(m->silence_ns, m->listen_ns + n->conf.beat_ns);
			continue;
		}
		uint32_t spare = find_spare(n, sp_role_pool(m->plan, r));
		if (SP_BUG(DESERTED) && n->conf.none_left == SP_NONE_LEFT_SHRINK)
			spare = SP_NONE;
		if (SP_BUG(DOUBLED) && m->plan->role[0] != SP_NONE)
			spare = m->plan->role[0];
		if (spare != SP_NONE && add_op(n, SP_OP_GIVE, 0, r, spare))
			continue;
		bool comes = n->conf.cold >> sp_role_pool(m->plan, r) & 1 || last == SP_NONE ||
			     n->conf.refill;
		if (!comes)
			plan_without_spare(n, r);
		if (!m->waits[r] && !m->plan->gone[r])
			sp_tell(n, SP_EVENT_NO_SPARE, r, 0);
		m->waits[r] = true;
	}
}

static uint32_t
elapsed_ms(const struct sp_node *n)
{
	uint64_t ms = (n->now_ns - n->master.changed_ns) / BASE_MS_NS;

	return ms > 3600000 ? 3600000 : (uint32_t)ms;
}

static void
plan_reached(struct sp_node *n)
{
	struct sp_master *m = &n->master;

	for (uint32_t s = 0; s < m->plan->slots; s++)
		if (m->reached[s] && sp_slot_lives(m->plan, s) && !m->plan->slot[s].ready)
			add_op(n, SP_OP_READY, 0, s, 0);
}

/* What units ask for, all of it or nothing. */
static void
plan_asks(struct sp_node *n)
{
	struct sp_master *m = &n->master;

	for (uint32_t i = 0; i < m->nask; i++) {
		const struct sp_op *o = &m->ask[i];
		for (uint32_t s = 0; s < m->plan->slots && o->kind == SP_OP_POOL && !o->b; s++)
			if (m->plan->slot[s].pool == o->a && sp_slot_lives(m->plan, s))
				add_op(n, SP_OP_DEAD, SP_WHY_OPERATOR, s, 0);
		add_op(n, (enum sp_op_kind)o->kind, o->why, o->a, o->b);
	}
	if (m->nop && n->ops.fits && !n->ops.fits(n->user, m->plan)) {
		m->nop = 0;
		sp_view_copy(m->plan, n->agreed);
		m->plan->clock_ms += elapsed_ms(n);
	}
	m->nask = 0;
}

static void
plan_all(struct sp_node *n)
{
	struct sp_master *m = &n->master;

	m->dirty = false;
	m->nop = 0;
	m->silence_ns = BASE_NEVER_NS;
	sp_view_copy(m->plan, n->agreed);
	m->plan->clock_ms += elapsed_ms(n);
	if (m->plan->over)
		return;
	plan_asks(n);
	for (uint32_t u = 0; u < m->plan->l.units; u++)
		plan_unit(n, u);
	plan_deaths(n);
	plan_paths(n);
	if (m->stop)
		end_cluster(n, m->stop);
	for (uint32_t u = 0; u < m->plan->l.units; u++) {
		plan_joins(n, u);
		plan_drain(n, u);
	}
	plan_roles(n);
	plan_reached(n);
}

static void
propose_plan(struct sp_node *n)
{
	struct sp_master *m = &n->master;
	struct sp_change c = {.base = n->agreed->number,
			      .term = m->term,
			      .proposer = n->conf.me,
			      .elapsed_ms = elapsed_ms(n),
			      .n = m->nop};

	sp_change_write(&c, m->op, m->change);
	if (!quorum_propose(n->quorum, m->change, sp_change_bytes(m->nop))) {
		m->dirty = true;
		m->retry_ns = n->now_ns + n->conf.heartbeat_ms * BASE_MS_NS;
		return;
	}
	n->count.proposals++;
	m->pending++;
	m->waiting = true;
	m->proposed_ns = n->now_ns;
	if (SP_BUG(SOLO)) {
		sp_view_apply(n->unit.view, n->scratch, m->change, sp_change_bytes(m->nop));
		n->ops.view(n->user, n->unit.view);
	}
}

/* --- leading --------------------------------------------------------------- */

void
sp_master_lead(struct sp_node *n, uint64_t term)
{
	struct sp_master *m = &n->master;
	uint32_t units = n->conf.limits.units;

	m->leads = m->dirty = true;
	m->waiting = m->full_told = m->own_clock = false;
	m->term = term;
	m->turned_ns = m->changed_ns = n->now_ns;
	m->retry_ns = 0;
	m->npath = m->nop = m->pending = 0;
	/* Views were made before: another master made them, and is lost. */
	bool lost = n->agreed->number > 1 && measures_of(n, SP_FAULT_MASTER)->set & SP_STOP;
	m->stop = lost ? SP_WHY_SEVERITY : SP_WHY_NONE;
	/* Its time of listening begins now: leases of the one before it may hold until then. */
	uint64_t known = SP_BUG(IMPATIENT) ? n->detect_ns - n->conf.beat_ns : 0;
	memset(m->mark, 0, (size_t)units * units * sizeof *m->mark);
	for (uint32_t u = 0; u < units; u++) {
		uint64_t before = base_max_ns(known, sp_witness_before(n, u));
		m->heard[u] =
			(struct sp_heard){.listen_ns = m->listen_ns - before, .before_ns = before};
	}
	memset(m->reported, 0, n->conf.limits.slots_max);
	memset(m->reached, 0, n->conf.limits.slots_max * sizeof *m->reached);
	m->nask = 0;
	memset(m->waits, 0, n->conf.limits.roles * sizeof *m->waits);
	sp_tell(n, SP_EVENT_LEAD, (uint32_t)n->agreed->number, 0);
	for (uint32_t u = 0; u < units; u++)
		answer_unit(n, u, 0, 0);
}

void
sp_master_follow(struct sp_node *n)
{
	n->master.leads = false;
	sp_tell(n, SP_EVENT_FOLLOW, 0, 0);
}

void
sp_master_applied(struct sp_node *n, bool applied)
{
	struct sp_master *m = &n->master;

	m->waiting = m->pending > 0;
	m->dirty = true;
	/* Whose end was proposed is down now, or the proposal was overtaken. */
	for (uint32_t u = 0; u < n->conf.limits.units && !m->pending; u++)
		m->heard[u].condemned = false;
	if (!applied)
		return;
	m->changed_ns = n->now_ns;
	for (uint32_t u = 0; u < n->conf.limits.units; u++)
		if (u != n->conf.me && m->heard[u].incarnation)
			answer_unit(n, u, 0, m->heard[u].view);
}

void
sp_master_turn(struct sp_node *n)
{
	struct sp_master *m = &n->master;

	if (!m->leads)
		return;
	pass_listening(n);
	if (m->waiting && n->now_ns - m->proposed_ns > 4 * n->conf.election_ms * BASE_MS_NS) {
		m->waiting = false; /* a second one is refused if the first comes about */
		m->dirty = true;
	}
	if (m->waiting || n->now_ns < m->retry_ns || (!m->dirty && m->listen_ns < m->silence_ns))
		return;
	plan_all(n);
	if (m->nop)
		propose_plan(n);
}

uint64_t
sp_master_expiry_ns(const struct sp_node *n)
{
	const struct sp_master *m = &n->master;

	if (!m->leads)
		return BASE_NEVER_NS;
	if (m->waiting)
		return m->proposed_ns + 4 * n->conf.election_ms * BASE_MS_NS + 1;
	if (m->dirty)
		return base_max_ns(m->retry_ns, n->now_ns);
	/* Listening counts at most a tick in a turn. */
	uint64_t left = m->silence_ns == BASE_NEVER_NS ? BASE_NEVER_NS
			: m->silence_ns > m->listen_ns ? m->silence_ns - m->listen_ns
						       : 0;
	return n->now_ns + base_min_ns(left, tick_ns(n));
}
