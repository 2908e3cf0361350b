/* SPDX-License-Identifier: BSD-2-Clause */
/* Unit master: beats, lease, own processes. */
#include "internal.h"

#include "canary.h"

#include "base/assert.h"

#include <string.h>

static bool
is_own_living(const struct sp_node *n, uint32_t slot)
{
	const struct sp_view *v = n->unit.view;

	return sp_slot_lives(v, slot) && v->slot[slot].unit == n->conf.me;
}

static bool
has_master(const struct sp_node *n)
{
	const struct sp_unit *u = &n->unit;

	return u->master != SP_NONE && n->now_ns - u->master_ns <= 2 * n->conf.beat_ns;
}

void
sp_unit_new(struct sp_node *n)
{
	struct sp_unit *u = &n->unit;

	u->master = SP_NONE;
	u->fenced = true;
	u->beat_ns = n->now_ns;
	sp_view_begin(u->view, n->conf.unit_of, n->conf.slots);
	sp_view_begin_pools(u->view, n->conf.pool_of, n->conf.off, n->conf.fact);
	for (uint32_t s = 0; s < n->conf.slots; s++) {
		uint8_t pool = n->conf.pool_of ? n->conf.pool_of[s] : 0;
		if (n->conf.unit_of[s] != n->conf.me)
			continue;
		u->want[pool]++;
		u->fresh[pool] += n->conf.off >> pool & 1;
	}
}

/* --- views ----------------------------------------------------------------- */

/* Processes that were started here and have a slot now. */
static void
bind_starts(struct sp_node *n)
{
	struct sp_unit *u = &n->unit;
	const struct sp_view *v = u->view;

	for (uint32_t s = 0; s < v->slots && u->nstart; s++) {
		if (v->slot[s].unit != n->conf.me)
			continue;
		for (uint32_t i = 0; i < u->nstart; i++) {
			if (u->start[i].token != v->slot[s].token)
				continue;
			u->alive[s] = sp_slot_lives(v, s);
			u->sign_ns[s] = n->now_ns;
			u->start[i] = u->start[--u->nstart];
			break;
		}
	}
}

/* The view is another now. */
static void
adopt_view(struct sp_node *n)
{
	struct sp_unit *u = &n->unit;
	const struct sp_unit_state *me = &u->view->unit[n->conf.me];

	n->count.views++;
	u->beat_ns = n->now_ns;
	u->joined = me->incarnation == n->conf.incarnation && !me->down;
	if (!u->told && !u->joined)
		return;
	for (uint32_t s = 0; s < u->view->slots && !u->told; s++)
		if (is_own_living(n, s)) {
			u->alive[s] = true;
			u->sign_ns[s] = n->now_ns;
		}
	u->told = true;
	bind_starts(n);
	sp_again_view(n);
	sp_unit_fill(n);
	n->ops.view(n->user, u->view);
}

void
sp_unit_follow(struct sp_node *n)
{
	if (n->agreed->number <= n->unit.view->number)
		return;
	sp_view_copy(n->unit.view, n->agreed);
	adopt_view(n);
}

void
sp_unit_whole_view(struct sp_node *n, uint32_t from, const struct sp_frame *f)
{
	struct sp_unit *u = &n->unit;
	uint64_t number = u->view->number;

	(void)from;
	if (f->term < u->term) {
		n->count.stale++;
		return;
	}
	/* Its number is behind version, over, units, roles, slots and epoch. */
	if (f->body_len < 24 || be64_load(f->body + 16) <= number)
		return;
	if (!sp_view_read(u->view, n->scratch, f->body, f->body_len)) {
		n->count.malformed++;
		return;
	}
	adopt_view(n);
}

/* --- the master's word ----------------------------------------------------- */

static void
take_changes(struct sp_node *n, const struct sp_frame *f)
{
	struct base_reader r = base_reader(f->body, f->body_len);
	bool changed = false;

	for (uint32_t i = 0; i < f->nchanges; i++) {
		uint32_t len = base_read_be32(&r);
		const uint8_t *p = base_read_bytes(&r, len);
		changed |= p && sp_view_apply(n->unit.view, n->scratch, p, len) == SP_APPLIED;
	}
	if (changed)
		adopt_view(n);
}

static void
take_lease(struct sp_node *n, const struct sp_frame *f)
{
	struct sp_unit *u = &n->unit;

	if (f->echo_ns == 0 || f->echo_ns > n->now_ns || !u->joined ||
	    (f->view != u->view->number && !SP_BUG(OLD_VIEW)))
		return;
	u->lease_ns = base_max_ns(u->lease_ns, f->echo_ns + n->conf.lease_ns);
	if (!u->fenced || n->now_ns >= u->lease_ns)
		return;
	u->fenced = false;
	sp_tell(n, SP_EVENT_LEASE, 0, 0);
	n->ops.fence(n->user, false);
}

void
sp_unit_ack(struct sp_node *n, uint32_t from, const struct sp_frame *f)
{
	struct sp_unit *u = &n->unit;

	if (f->term < u->term) {
		n->count.stale++;
		return;
	}
	if (f->term > u->term || u->master != from)
		u->beat_ns = n->now_ns;
	u->term = f->term;
	u->master = from;
	u->master_ns = u->answered_ns = n->now_ns;
	if (!SP_BUG(OLD_VIEW) || f->echo_ns == 0)
		take_changes(n, f);
	take_lease(n, f);
	if (f->view > u->view->number) /* ask for the rest at once */
		u->beat_ns = base_min_ns(u->beat_ns, n->now_ns + n->conf.beat_ns / 4);
}

void
sp_unit_hint(struct sp_node *n, const struct sp_frame *f)
{
	struct sp_unit *u = &n->unit;

	if (f->term < u->term || has_master(n) || f->master >= n->conf.voters ||
	    f->master == u->master)
		return;
	u->master = f->master;
	u->master_ns = n->now_ns;
	u->beat_ns = n->now_ns;
}

/* --- beats ----------------------------------------------------------------- */

static void
write_report(struct base_writer *w, unsigned kind, unsigned why, uint32_t a, uint32_t b)
{
	base_write_u8(w, (uint8_t)kind);
	base_write_u8(w, (uint8_t)why);
	base_write_be16(w, 0);
	base_write_be32(w, a);
	base_write_be32(w, b);
}

static void
write_beat_reports(struct sp_node *n, struct base_writer *w)
{
	struct sp_unit *u = &n->unit;

	for (uint32_t s = 0; s < u->view->slots && u->joined; s++) {
		if (!is_own_living(n, s) || u->alive[s] || u->why[s] == SP_WHY_COUNT)
			continue;
		write_report(w, SP_REPORT_DEAD, u->why[s] ? u->why[s] : SP_WHY_EXIT, s, 0);
		if (SP_BUG(LOST_DEATH))
			u->why[s] = SP_WHY_COUNT;
	}
	for (uint32_t s = 0; s < u->view->slots && u->joined; s++)
		if (u->reached[s] && is_own_living(n, s) && !u->view->slot[s].ready)
			write_report(w, SP_REPORT_REACHED, 0, s, 0);
	for (uint32_t i = 0; i < u->nstart && u->joined; i++)
		if (u->start[i].ready)
			write_report(w, SP_REPORT_READY, 0, u->start[i].token, u->start[i].pool);
	for (uint32_t i = 0; i < u->nask; i++) {
		const struct sp_op *o = &u->ask[i].op;
		write_report(w, sp_report_of_op(o->kind), o->why, o->a, o->b);
	}
	for (uint32_t i = 0; i < u->npath; i++)
		write_report(w, SP_REPORT_PATH, 0, u->path[i].slot, u->path[i].other);
	if (u->drain)
		write_report(w, SP_REPORT_DRAIN, 0, 0, 0);
	if (u->stop)
		write_report(w, SP_REPORT_STOP, u->stop, 0, 0);
}

static void
forget_paths(struct sp_node *n)
{
	struct sp_unit *u = &n->unit;

	for (uint32_t i = 0; i < u->npath;)
		if (u->path[i].until_ns <= n->now_ns)
			u->path[i] = u->path[--u->npath];
		else
			i++;
}

/* The view shows it, or something that stands against it. */
static bool
is_ask_answered(const struct sp_view *v, const struct sp_op *o)
{
	if (o->kind == SP_OP_POOL)
		return (v->off >> o->a & 1) == (o->b == 0);
	if (o->kind == SP_OP_ROLES)
		return sp_role_pool(v, o->a) != SP_POOL_LATER;
	const struct sp_fact *f = &v->fact[o->why];
	return (f->a == o->a && f->b == o->b) || (o->kind == SP_OP_CLAIM && (f->a || f->b));
}

static void
forget_asks(struct sp_node *n)
{
	struct sp_unit *u = &n->unit;

	for (uint32_t i = 0; i < u->nask;) {
		bool late = u->ask[i].until_ns <= n->now_ns;
		if (!late && !is_ask_answered(u->view, &u->ask[i].op)) {
			i++;
			continue;
		}
		u->given_up += late;
		u->nask--;
		memmove(&u->ask[i], &u->ask[i + 1], (u->nask - i) * sizeof u->ask[i]);
	}
}

static size_t
write_beat(struct sp_node *n)
{
	const struct sp_unit *u = &n->unit;
	struct base_writer w = base_writer(n->frame, n->frame_room);
	struct sp_frame f = {.type = SP_FRAME_BEAT,
			     .cluster = n->conf.cluster,
			     .incarnation = n->conf.incarnation,
			     .sent_ns = n->now_ns,
			     .view = u->view->number,
			     .term = u->term};

	sp_frame_begin(&w, &f);
	size_t fixed = base_writer_len(&w);
	write_beat_reports(n, &w);
	BASE_ASSERT(base_writer_ok(&w));
	be32_store(n->frame + SP_FRAME_HEAD + 4,
		   (uint32_t)((base_writer_len(&w) - fixed) / SP_REPORT_BYTES));
	return base_writer_len(&w);
}

static void
beat_to(struct sp_node *n, uint32_t to)
{
	size_t len = write_beat(n);
	struct sp_frame f;

	n->count.beats++;
	if (to != n->conf.me) {
		sp_send_beat(n, to, len);
	} else if (n->master.leads) {
		BASE_ASSERT(sp_frame_parse(&f, n->frame, len));
		sp_master_beat(n, to, &f);
	}
}

static void
send_beats(struct sp_node *n)
{
	struct sp_unit *u = &n->unit;

	u->beat_ns = n->now_ns + n->conf.beat_ns;
	forget_paths(n);
	forget_asks(n);
	if (has_master(n)) {
		beat_to(n, u->master);
		return;
	}
	for (uint32_t v = 0; v < n->conf.voters && !SP_BUG(NO_BEAT); v++)
		beat_to(n, v);
}

/* --- own processes --------------------------------------------------------- */

static uint32_t
processes_of(const struct sp_node *n, uint8_t pool)
{
	const struct sp_unit *u = &n->unit;
	uint32_t k = 0;

	for (uint32_t i = 0; i < u->nstart; i++)
		k += u->start[i].pool == pool;
	for (uint32_t s = 0; s < u->view->slots; s++)
		k += u->view->slot[s].pool == pool && is_own_living(n, s);
	return k;
}

/* The pool of which a process is to be started first; SP_POOLS_MAX: none. */
static uint8_t
wanted_pool(const struct sp_node *n)
{
	uint8_t found = SP_POOLS_MAX;
	const struct sp_unit *u = &n->unit;
	bool again = n->conf.severity.of[SP_FAULT_PROCESS].set & SP_RESTART;

	if (!u->joined || u->view->over || u->drain || u->nstart == SP_STARTS_MAX ||
	    u->view->slots >= u->view->l.slots_max)
		return SP_POOLS_MAX;
	for (uint8_t p = 0; p < SP_POOLS_MAX; p++)
		if (u->want[p] && !(u->view->off >> p & 1)) {
			uint32_t most = again || u->fresh[p] ? u->want[p] : 0;
			if (most < u->fill[p])
				most = u->fill[p];
			if (most && processes_of(n, p) < most &&
			    (found == SP_POOLS_MAX || u->start_ns[p] < u->start_ns[found]))
				found = p;
		}
	return found;
}

static void
start_processes(struct sp_node *n)
{
	struct sp_unit *u = &n->unit;

	uint8_t pool;

	while ((pool = wanted_pool(n)) < SP_POOLS_MAX && n->now_ns >= u->start_ns[pool]) {
		uint32_t token = n->conf.incarnation << 16 | (++u->tokens & 0xffff);
		u->start[u->nstart++] = (struct sp_start){.token = token, .pool = pool};
		u->fresh[pool] -= u->fresh[pool] > 0;
		n->ops.start(n->user, token, pool);
	}
}

static void
find_hanging(struct sp_node *n)
{
	struct sp_unit *u = &n->unit;

	for (uint32_t s = 0; s < u->view->slots && n->conf.hang_ns && u->joined; s++)
		if (is_own_living(n, s) && u->alive[s] && !u->why[s] &&
		    n->now_ns - u->sign_ns[s] > n->conf.hang_ns) {
			u->why[s] = SP_WHY_HANG;
			n->ops.kill(n->user, s);
		}
}

void
sp_node_died(struct sp_node *n, uint32_t slot, enum sp_why why, uint64_t now_ns)
{
	struct sp_unit *u = &n->unit;

	n->now_ns = base_max_ns(n->now_ns, now_ns);
	if (slot >= u->view->l.slots_max || !u->alive[slot])
		return;
	u->alive[slot] = false;
	if (!u->why[slot])
		u->why[slot] = (uint8_t)why;
	u->beat_ns = n->now_ns;
	sp_again_died(n, slot);
	sp_node_turn(n, now_ns);
}

void
sp_node_alive(struct sp_node *n, uint32_t slot, uint64_t now_ns)
{
	if (slot < n->unit.view->l.slots_max)
		n->unit.sign_ns[slot] = base_max_ns(n->unit.sign_ns[slot], now_ns);
}

void
sp_node_ready(struct sp_node *n, uint32_t token, uint64_t now_ns)
{
	struct sp_unit *u = &n->unit;

	for (uint32_t i = 0; i < u->nstart; i++)
		if (u->start[i].token == token) {
			u->start[i].ready = true;
			u->beat_ns = base_max_ns(n->now_ns, now_ns);
		}
	sp_node_turn(n, now_ns);
}

void
sp_node_gone(struct sp_node *n, uint32_t token, uint64_t now_ns)
{
	struct sp_unit *u = &n->unit;

	for (uint32_t i = 0; i < u->nstart; i++)
		if (u->start[i].token == token) {
			uint8_t pool = u->start[i].pool;
			u->start[i] = u->start[--u->nstart];
			n->now_ns = base_max_ns(n->now_ns, now_ns);
			sp_again_fell(n, pool);
			break;
		}
	sp_node_turn(n, now_ns);
}

void
sp_node_path_down(struct sp_node *n, uint32_t slot, uint32_t other, uint64_t now_ns)
{
	struct sp_unit *u = &n->unit;

	for (uint32_t i = 0; i < u->npath; i++)
		if (u->path[i].slot == slot && u->path[i].other == other)
			return;
	if (u->npath == SP_PATHS_MAX || !sp_slot_lives(u->view, slot) ||
	    !sp_slot_lives(u->view, other))
		return;
	u->path[u->npath++] = (struct sp_path){slot, other, now_ns + SP_PATH_NS};
	u->beat_ns = base_max_ns(n->now_ns, now_ns);
	sp_node_turn(n, now_ns);
}

void
sp_node_reached(struct sp_node *n, uint32_t slot, uint64_t now_ns)
{
	if (slot >= n->unit.view->l.slots_max || n->unit.reached[slot])
		return;
	n->unit.reached[slot] = true;
	n->unit.beat_ns = base_max_ns(n->now_ns, now_ns);
	sp_node_turn(n, now_ns);
}

void
sp_node_forgo(struct sp_node *n, uint8_t pool)
{
	if (pool < SP_POOLS_MAX)
		n->unit.want[pool] = 0;
}

void
sp_node_want(struct sp_node *n, uint8_t pool, uint32_t count, uint64_t now_ns)
{
	struct sp_unit *u = &n->unit;

	BASE_ASSERT(pool < SP_POOL_LATER && count >= u->want[pool]);
	u->fresh[pool] += count - u->want[pool];
	u->want[pool] = count;
	sp_node_turn(n, now_ns);
}

bool
sp_node_ask(struct sp_node *n, enum sp_op_kind kind, uint8_t index, uint32_t a, uint32_t b,
	    uint64_t now_ns)
{
	struct sp_unit *u = &n->unit;

	BASE_ASSERT(kind == SP_OP_POOL	  ? a < SP_POOL_LATER && b <= 1
		    : kind == SP_OP_ROLES ? index < SP_POOL_LATER && b && a < u->view->l.roles &&
						    b <= u->view->l.roles - a
					  : (kind == SP_OP_FACT || kind == SP_OP_CLAIM) &&
						    index < u->view->l.facts);
	n->now_ns = base_max_ns(n->now_ns, now_ns);
	for (uint32_t i = 0; i < u->nask; i++) {
		const struct sp_op *o = &u->ask[i].op;
		if (o->kind == kind && o->why == index && o->a == a && o->b == b)
			return true;
	}
	if (u->nask == SP_ASKS_MAX)
		return false;
	u->ask[u->nask++] = (struct sp_ask){{(uint8_t)kind, index, a, b}, n->now_ns + SP_ASK_NS};
	u->beat_ns = n->now_ns;
	return true;
}

uint32_t
sp_node_asks(const struct sp_node *n, uint64_t *given_up)
{
	*given_up = n->unit.given_up;
	return n->unit.nask;
}

void
sp_node_stop(struct sp_node *n, enum sp_why why, uint64_t now_ns)
{
	n->unit.stop = (uint8_t)why;
	n->unit.beat_ns = base_max_ns(n->now_ns, now_ns);
	sp_node_turn(n, now_ns);
}

void
sp_node_drain(struct sp_node *n, bool on, uint64_t now_ns)
{
	n->unit.drain = on;
	n->unit.beat_ns = base_max_ns(n->now_ns, now_ns);
	sp_node_turn(n, now_ns);
}

/* --- time ------------------------------------------------------------------ */

void
sp_unit_turn(struct sp_node *n)
{
	struct sp_unit *u = &n->unit;

	if (!u->fenced && n->now_ns >= u->lease_ns) {
		u->fenced = true;
		n->count.fenced++;
		sp_tell(n, SP_EVENT_FENCED, 0, 0);
		n->ops.fence(n->user, true);
	}
	find_hanging(n);
	start_processes(n);
	if (n->now_ns >= u->beat_ns)
		send_beats(n);
}

uint64_t
sp_unit_expiry_ns(const struct sp_node *n)
{
	const struct sp_unit *u = &n->unit;
	uint64_t at = u->beat_ns;

	if (SP_BUG(NO_BEAT) && !has_master(n))
		at = BASE_NEVER_NS;
	if (!u->fenced)
		at = base_min_ns(at, u->lease_ns);
	uint8_t pool = wanted_pool(n);
	if (pool < SP_POOLS_MAX)
		at = base_min_ns(at, u->start_ns[pool]);
	return at;
}
