/* SPDX-License-Identifier: BSD-2-Clause */
/* The object: memory, views, messages in, timers. */
#include "internal.h"

#include "canary.h"

#include "base/arena.h"
#include "base/assert.h"

#include <string.h>

#define TICK_SHIFT 14 /* 16 us */

#ifdef SUCI_CANARY
enum spx_bug spx_canary;
#endif

bool
spx_conf_check(const struct spx_conf *c, char *why)
{
	if (c->procs_max < 1 || c->procs_max > SPX_PROCS_MAX)
		return spx_say(why, "procs_max %u is not 1 to %d", c->procs_max, SPX_PROCS_MAX);
	if (c->origins_max < 1)
		return spx_say(why, "origins_max has to be 1 at least");
	if (c->window_max < 8 || c->window_max > SPX_WINDOW_MAX ||
	    (c->window_max & (c->window_max - 1)))
		return spx_say(why, "window_max %u is not a power of two from 8 to %d",
			       c->window_max, SPX_WINDOW_MAX);
	if (c->room < 1 || c->ahead < 1 || c->ahead > SPX_AHEAD_MAX)
		return spx_say(why, "room %u has to be 1 at least, ahead %u 1 to %d", c->room,
			       c->ahead, SPX_AHEAD_MAX);
	if (c->in_flight > SPX_DROP)
		return spx_say(why, "in_flight %u is not 0 to %d", c->in_flight, SPX_DROP);
	if (c->aside == 1 || c->aside > SPX_ASIDE_MAX)
		return spx_say(why, "aside %u is not 0, or 2 to %u", c->aside, SPX_ASIDE_MAX);
	if (!c->retry_ns || c->retry_max_ns < c->retry_ns || !c->poll_ns)
		return spx_say(why,
			       "retry_ns and poll_ns must not be 0, nor retry_max_ns < retry_ns");
	return true;
}

static size_t
place_tables(const struct spx_conf *c, void *mem, struct spx *s)
{
	struct base_arena a = base_arena(mem);

	base_arena_take(&a, 1, sizeof *s);
	s->asks_words = (c->procs_max + 63) / 64;
	s->view.proc = base_arena_take(&a, c->procs_max, sizeof *s->view.proc);
	s->view.cluster = base_arena_take(&a, SPX_CLUSTERS_MAX, sizeof *s->view.cluster);
	s->view.chain = base_arena_take(&a, SPX_CHAINS_MAX, sizeof *s->view.chain);
	s->peer = base_arena_take(&a, c->procs_max, sizeof *s->peer);
	s->peer_old = base_arena_take(&a, c->procs_max, sizeof *s->peer_old);
	s->pool = base_arena_take(&a, c->procs_max, sizeof *s->pool);
	s->candidate = base_arena_take(&a, c->procs_max, sizeof *s->candidate);
	s->asks = base_arena_take(&a, (size_t)c->room * s->asks_words, sizeof *s->asks);
	s->ask_used = base_arena_take(&a, c->room, sizeof *s->ask_used);
	s->origin = base_arena_take(&a, c->origins_max, sizeof *s->origin);
	struct spx_slot *slot =
		base_arena_take(&a, (size_t)c->origins_max * c->window_max, sizeof *slot);
	for (uint32_t i = 0; mem && i < c->origins_max; i++)
		s->origin[i].slot = slot + (size_t)i * c->window_max;
	return base_arena_bytes(&a);
}

size_t
spx_bytes(const struct spx_conf *c)
{
	struct spx counting;

	return place_tables(c, NULL, &counting);
}

struct spx *
spx_new(void *mem, const struct spx_conf *c, const struct spx_ops *ops, void *user,
	const struct spx_memory *memory, uint64_t now_ns)
{
	struct spx *s = mem;
	char why[SPX_TEXT_MAX];

	BASE_ASSERT(spx_conf_check(c, why));
	memset(mem, 0, spx_bytes(c));
	place_tables(c, mem, s);
	s->conf = *c;
	s->ops = ops;
	s->user = user;
	s->memory = memory;
	s->now_ns = now_ns;
	s->pick_out = (struct spx_picker){SPX_NONE, ops->pick, user, true};
	s->pick_in = (struct spx_picker){SPX_NONE, ops->pick, user, false};
	base_wheel_init(&s->wheel, TICK_SHIFT, now_ns);
	return s;
}

void
spx_end(struct spx *s)
{
	for (uint32_t i = 0; i < s->norigins; i++)
		for (uint32_t k = 0; k < s->conf.window_max; k++) {
			spx_drop(s, &s->origin[i].slot[k].in);
			spx_drop(s, &s->origin[i].slot[k].out);
		}
}

/* --- questions ------------------------------------------------------------------ */

const struct spx_view *
spx_view_of(const struct spx *s)
{
	return &s->view;
}

struct spx_peer *
spx_peer_of(struct spx *s, uint32_t id)
{
	const struct spx_proc *p = spx_view_proc(&s->view, id);

	return p ? &s->peer[p - s->view.proc] : NULL;
}

bool
spx_is_living(const struct spx *s, uint32_t id)
{
	const struct spx_proc *p = id == SPX_NONE ? NULL : spx_view_proc(&s->view, id);

	return p && p->state != SPX_DEAD;
}

uint32_t
spx_busy(const struct spx *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->norigins; i++)
		for (uint32_t k = 0; k < s->conf.window_max; k++) {
			enum spx_slot_state st = s->origin[i].slot[k].state;
			n += st != SPX_SLOT_FREE && st != SPX_SLOT_CLOSED;
		}
	return n;
}

bool
spx_running(const struct spx *s)
{
	return s->running && !s->halted;
}

const struct spx_counts *
spx_counters(const struct spx *s)
{
	return &s->count;
}

enum spx_policy
spx_policy_of(const struct spx *s, uint64_t chains)
{
	for (uint32_t c = 0; c < s->view.nchain; c++)
		if (chains & SPX_CHAIN_BIT(c))
			return s->view.chain[c].policy;
	return SPX_RR;
}

uint32_t
spx_candidates(struct spx *s, uint64_t chains, bool room)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->npool; i++) {
		const struct spx_peer *p = &s->peer[s->pool[i]];
		uint32_t mine = p->mine, amount = room ? p->room : p->ready;
		if (!(p->p.chains & chains) || p->p.state == SPX_DEAD ||
		    (room && p->p.state != SPX_ALIVE) || !amount)
			continue;
		for (uint32_t k = 0; k < SPX_AHEAD_MAX && !room; k++)
			mine += s->want[k].used && s->want[k].to == p->p.id;
		s->candidate[n++] =
			(struct spx_candidate){p->p.id, amount, mine, p->p.weight, p->turn};
	}
	return n;
}

/* --- the way up ------------------------------------------------------------------- */

void
spx_forgotten(struct spx *s, struct spx_slot *t)
{
	bool last = s->me->kind == SPX_COMPUTE && !s->out_of;
	uint32_t also = t->also;

	t->also = SPX_NONE;
	if (t->state == SPX_SLOT_DONE && spx_is_living(s, also)) {
		t->up = also;
		t->tries = 0;
		spx_tell_up(s, t);
		return;
	}
	if (t->number < t->o->floor) {
		spx_slot_end(s, t, SPX_SLOT_FREE);
	} else {
		spx_slot_end(s, t, SPX_SLOT_CLOSED);
	}
	if (last)
		s->ops->done(s->user, t->o->id, t->number);
}

void
spx_tell_up(struct spx *s, struct spx_slot *t)
{
	uint32_t to = t->up;

	if (s->me->kind == SPX_IO && SPX_ROLE_CLUSTER(t->o->id) == t->from) {
		/* Whoever has that rank now. */
		const struct spx_proc *p = spx_view_role(&s->view, t->o->id);
		if (!p)
			return;
		to = p->id;
	}
	if (!spx_is_living(s, to)) {
		spx_forgotten(s, t);
		return;
	}
	t->up = to;
	spx_send_slot(s, to, SPX_MSG_COMMIT, t, NULL, 0);
	spx_arm_slot(s, t);
}

void
spx_done_below(struct spx *s, struct spx_slot *t)
{
	struct spx_origin *o = t->o;
	uint64_t number = t->number;

	s->count.committed++;
	if (spx_is_mine(s, o)) {
		spx_mark_closed(s, o, number);
		s->ops->done(s->user, o->id, number);
		s->news_room = true;
		return;
	}
	spx_slot_end(s, t, SPX_SLOT_DONE);
	spx_tell_up(s, t);
}

/* --- views -------------------------------------------------------------------------- */

static void
copy_view(struct spx *s, const struct spx_view *v)
{
	uint32_t had = s->view.nproc;

	memcpy(s->peer_old, s->peer, had * sizeof *s->peer);
	s->view.number = v->number;
	s->view.nproc = v->nproc;
	s->view.ncluster = v->ncluster;
	s->view.nchain = v->nchain;
	memcpy(s->view.proc, v->proc, v->nproc * sizeof *v->proc);
	memcpy(s->view.cluster, v->cluster, v->ncluster * sizeof *v->cluster);
	memcpy(s->view.chain, v->chain, v->nchain * sizeof *v->chain);
	for (uint32_t i = 0, k = 0; i < v->nproc; i++) {
		while (k < had && s->peer_old[k].p.id < v->proc[i].id)
			k++;
		bool known = k < had && s->peer_old[k].p.id == v->proc[i].id;
		s->peer[i] = known ? s->peer_old[k] : (struct spx_peer){.mine = 0};
		s->peer[i].p = v->proc[i];
		if (v->proc[i].state == SPX_DEAD && !s->peer[i].dead_view)
			s->peer[i].dead_view = v->number;
	}
	for (uint32_t c = 0; c < v->nchain; c++)
		if (v->chain[c].window > s->window_most)
			s->window_most = v->chain[c].window;
}

static void
find_own_place(struct spx *s)
{
	s->me = spx_view_proc(&s->view, s->conf.id);
	s->into = s->out_of = 0;
	s->ordered = false;
	if (s->me && s->me->kind == SPX_COMPUTE) {
		s->into = spx_view_into(&s->view, s->me->cluster);
		s->out_of = spx_view_out_of(&s->view, s->me->cluster);
	}
	for (uint32_t c = 0; c < s->view.nchain; c++)
		s->ordered |= s->into & SPX_CHAIN_BIT(c) && s->view.chain[c].ordered;
	uint64_t near = s->me && s->me->kind == SPX_IO ? s->me->chains : s->into | s->out_of;
	s->npool = 0;
	for (uint32_t i = 0; i < s->view.nproc; i++)
		if (s->view.proc[i].kind == SPX_IO && (s->view.proc[i].chains & near))
			s->pool[s->npool++] = i;
}

static void
review_slot(struct spx *s, struct spx_slot *t)
{
	if (t->state == SPX_SLOT_DONE && (s->me->kind == SPX_IO || !spx_is_living(s, t->up)))
		spx_tell_up(s, t);
	else if (spx_is_io_state(t->state))
		spx_io_view(s, t);
	else if (spx_is_source_state(t->state))
		spx_source_view(s, t);
	else if (t->state == SPX_SLOT_QUEUED || t->state == SPX_SLOT_BEGUN)
		t->up = spx_is_living(s, t->up) ? t->up : SPX_NONE;
}

static void
review_wants(struct spx *s)
{
	for (uint32_t i = 0; i < SPX_AHEAD_MAX; i++) {
		struct spx_want *w = &s->want[i];
		if (!w->used || spx_is_living(s, w->to))
			continue;
		base_wheel_cancel(&s->wheel, &w->timer);
		w->used = false;
		s->wants--;
	}
}

void
spx_act(struct spx *s)
{
	if (!s->me || s->me->state == SPX_DEAD)
		return;
	spx_queue_go(s);
	spx_place(s);
	spx_pull(s);
}

void
spx_go_on(struct spx *s)
{
	spx_act(s);
	if (s->telling)
		return;
	s->telling = true;
	while (s->news_ready || s->news_room) {
		bool ready = s->news_ready, room = s->news_room;
		s->news_ready = s->news_room = false;
		if (ready)
			s->ops->ready(s->user);
		if (room)
			s->ops->room(s->user);
	}
	s->telling = false;
}

bool
spx_install(struct spx *s, const struct spx_view *v, uint64_t now_ns, char *why)
{
	uint64_t lost = 0;

	if (v->number <= s->view.number)
		return true;
	if (!spx_view_check(v, why))
		return false;
	if (v->nproc > s->conf.procs_max)
		return spx_say(why, "%u processes, but procs_max is %u", v->nproc,
			       s->conf.procs_max);
	s->now_ns = base_max_ns(s->now_ns, now_ns);
	for (uint32_t i = 0; i < s->view.ncluster; i++)
		lost |= s->view.cluster[i].lost ? SPX_CHAIN_BIT(i) : 0;
	copy_view(s, v);
	find_own_place(s);
	if (!s->me)
		return true;
	for (uint32_t i = 0; i < s->norigins; i++)
		for (uint32_t k = 0; k < s->conf.window_max; k++)
			if (s->origin[i].slot[k].state != SPX_SLOT_FREE)
				review_slot(s, &s->origin[i].slot[k]);
	review_wants(s);
	spx_watch_view(s, lost);
	spx_find_begin(s);
	s->news_room = s->news_ready = true;
	spx_poll_later(s);
	spx_go_on(s);
	return true;
}

/* --- messages ------------------------------------------------------------------------ */

static void
take_message(struct spx *s, uint32_t from, const struct spx_msg *m)
{
	switch (m->type) {
	case SPX_MSG_TOOK:
	case SPX_MSG_REFUSED:
		spx_source_message(s, from, m);
		break;
	case SPX_MSG_COMMIT:
		if (s->me->kind == SPX_IO)
			spx_io_message(s, from, m);
		else
			spx_source_message(s, from, m);
		break;
	case SPX_MSG_PUT:
	case SPX_MSG_WANT:
	case SPX_MSG_GOT:
	case SPX_MSG_BACK:
	case SPX_MSG_KNOWS:
	case SPX_MSG_NEVER:
	case SPX_MSG_POLL:
		if (s->me->kind == SPX_IO)
			spx_io_message(s, from, m);
		break;
	case SPX_MSG_NOTHING:
	case SPX_MSG_GIVE:
	case SPX_MSG_CLEAR:
	case SPX_MSG_ASK:
	case SPX_MSG_FORGOT:
		spx_sink_message(s, from, m);
		break;
	case SPX_MSG_FIND:
	case SPX_MSG_STATE:
		spx_find_message(s, from, m);
		break;
	case SPX_MSG_IN:
		spx_inside_message(s, from, m);
		break;
	case SPX_MSG_WHERE:
	case SPX_MSG_HERE:
		spx_where_message(s, from, m);
		break;
	case SPX_MSG_ROW:
		break;
	}
}

bool
spx_on_message(struct spx *s, uint32_t from, const void *bytes, size_t len, uint64_t now_ns)
{
	struct spx_msg m;

	s->now_ns = base_max_ns(s->now_ns, now_ns);
	s->count.received++;
	if (!spx_read(bytes, len, s->conf.window_max, &m) || m.len > s->conf.frame_max ||
	    from == s->conf.id) {
		s->count.malformed++;
		return false;
	}
	if (!s->me || s->me->state == SPX_DEAD || (m.view != s->view.number && !SPX_BUG(VIEWS))) {
		s->count.epoch++;
		return true;
	}
	struct spx_peer *p = spx_peer_of(s, from);
	if (!p || (p->p.state == SPX_DEAD && !SPX_BUG(VIEWS))) {
		s->count.stranger++;
		return true;
	}
	if (p->p.kind == SPX_IO) {
		p->room = m.room;
		p->ready = m.ready;
	}
	struct spx_origin *o =
		spx_origin_of(s, m.origin, m.type == SPX_MSG_PUT || m.type == SPX_MSG_GIVE);
	if (o)
		spx_floor_raise(s, o, m.floor);
	take_message(s, from, &m);
	spx_go_on(s);
	return true;
}

/* --- timers ---------------------------------------------------------------------------- */

static bool
is_hungry(const struct spx *s)
{
	return s->into && s->wants < s->conf.ahead && spx_running(s) && !SPX_BUG(SLOW_START);
}

void
spx_poll_later(struct spx *s)
{
	bool lacking = false;

	for (uint32_t i = 0; i < s->norigins && s->ordered; i++)
		lacking |= s->origin[i].lacks_ns != BASE_NEVER_NS;
	if (base_timer_armed(&s->poll) || !s->me || s->me->kind != SPX_COMPUTE ||
	    (!s->line.n && !is_hungry(s) && !lacking))
		return;
	base_wheel_arm(&s->wheel, &s->poll, s->now_ns + s->conf.poll_ns);
}

static void
poll_rows(struct spx *s)
{
	bool asks = s->line.n > 0 || is_hungry(s);

	for (uint32_t i = 0; asks && i < s->npool; i++) {
		struct spx_msg m = {.type = SPX_MSG_POLL, .origin = SPX_NONE};
		spx_send(s, s->peer[s->pool[i]].p.id, &m);
	}
	spx_find_lacking(s);
	spx_poll_later(s);
}

static void
fire_slot(struct spx *s, struct spx_slot *t)
{
	if (t->state == SPX_SLOT_DONE) {
		s->count.repeated++;
		spx_tell_up(s, t);
	} else if (t->state == SPX_SLOT_QUEUED) {
		spx_queued_timer(s, t);
	} else if (t->state == SPX_SLOT_TAKEN || t->state == SPX_SLOT_BEGUN ||
		   t->state == SPX_SLOT_HELD) {
		spx_stalled(s, t);
	} else if (t->state == SPX_SLOT_PUT) {
		s->count.repeated++;
		spx_source_timer(s, t);
	} else {
		spx_io_timer(s, t);
	}
}

static void
fire(struct spx *s, struct base_timer *timer)
{
	uintptr_t at = (uintptr_t)timer, want = (uintptr_t)s->want;

	if (timer == &s->poll)
		poll_rows(s);
	else if (timer == &s->find)
		spx_find_timer(s);
	else if (timer == &s->start)
		spx_start_timer(s);
	else if (at >= want && at < want + sizeof s->want)
		spx_want_timer(s, (struct spx_want *)(void *)timer);
	else
		fire_slot(s, (struct spx_slot *)(void *)timer);
}

uint64_t
spx_expiry_ns(const struct spx *s)
{
	return base_wheel_next_ns(&s->wheel);
}

void
spx_tick(struct spx *s, uint64_t now_ns)
{
	struct base_timer *timer;

	s->now_ns = base_max_ns(s->now_ns, now_ns);
	base_wheel_advance(&s->wheel, s->now_ns);
	while ((timer = base_wheel_pop(&s->wheel)))
		fire(s, timer);
	spx_go_on(s);
}

/* --- what must hold ---------------------------------------------------------------------- */

static const char *
check_slot(const struct spx *s, const struct spx_slot *t)
{
	bool list = t->state == SPX_SLOT_HELD || t->state == SPX_SLOT_READY ||
		    t->state == SPX_SLOT_QUEUED;
	bool waits = t->state == SPX_SLOT_PUT || t->state == SPX_SLOT_ASKING ||
		     t->state == SPX_SLOT_GIVEN ||
		     (t->state == SPX_SLOT_DONE && spx_is_living(s, t->up));

	if (list != t->listed)
		return "a frame is in a list that its state has not, or the other way round";
	if (waits && !base_timer_armed(&t->timer))
		return "a frame waits for an answer without a timer";
	if (t->state != SPX_SLOT_ASKING && t->ask != SPX_NONE)
		return "a frame that does not ask has a list of whom";
	if (t->number < t->o->floor && t->state != SPX_SLOT_BEGUN && t->state != SPX_SLOT_DONE)
		return "a frame below its floor is kept";
	if (spx_is_io_state(t->state) && !t->in)
		return "an I/O process has lost the bytes of a frame";
	if (t->state == SPX_SLOT_HELD && s->me && s->me->kind == SPX_COMPUTE &&
	    !base_timer_armed(&s->poll) && s->me->state != SPX_DEAD)
		return "a frame waits for room and nothing asks for rows";
	return NULL;
}

bool
spx_check(const struct spx *s, const char **what)
{
	uint32_t io = 0, fresh = 0, listed = 0;

	*what = NULL;
	for (uint32_t i = 0; i < s->norigins; i++)
		for (uint32_t k = 0; k < s->conf.window_max; k++) {
			const struct spx_slot *t = &s->origin[i].slot[k];
			if (t->state == SPX_SLOT_FREE)
				continue;
			const char *why = check_slot(s, t);
			if (why)
				*what = why;
			io += spx_is_waiting(t->state);
			/* What is given again comes back above all. */
			fresh += spx_is_waiting(t->state) && !t->again;
			listed += t->listed;
		}
	if (io != s->held || fresh > s->conf.room)
		*what = "frames held are not those counted, or more than there is room for";
	if (listed != s->line.n + s->queue.n)
		*what = "lists and slots disagree";
	if (s->wants > s->conf.ahead)
		*what = "more frames are asked for than wanted";
	return !*what;
}
