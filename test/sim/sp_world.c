/* SPDX-License-Identifier: BSD-2-Clause */
/* Daemons of lib/sp in virtual time: network, clocks, disks, processes, and what must hold. */
#include "sp.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#define NETWORK	   1u
#define ADDR(unit) (0x0a000001u + (unit))

/* ---- clocks ---- */

uint64_t
spw_local_ns(const struct spw_daemon *d)
{
	const struct spw_clock *c = &d->clock;
	uint64_t dt = d->w->s->now_ns - c->base_ns;

	return c->local_ns + dt + (uint64_t)((int64_t)dt * c->ppm / 1000000);
}

/* When its clock shows at least that. */
static uint64_t
sim_time_of(const struct spw_daemon *d, uint64_t local_ns)
{
	const struct spw_clock *c = &d->clock;
	uint64_t now = spw_local_ns(d);

	if (local_ns <= now)
		return d->w->s->now_ns;
	int64_t dt = (int64_t)base_min_ns(local_ns - now, 1000 * BASE_S_NS);
	return d->w->s->now_ns + (uint64_t)(dt * 1000000 / (1000000 + c->ppm)) + 1;
}

void
spw_step_clock(struct spw_daemon *d, uint64_t ns)
{
	d->clock.local_ns = spw_local_ns(d) + ns;
	d->clock.base_ns = d->w->s->now_ns;
	if (d->alive)
		spw_after(d);
}

/* ---- disk ---- */

static bool
store_bytes(struct spw_disk *k, const void *bytes, size_t len)
{
	if (k->room < k->len + len) {
		k->room = 2 * (k->len + len);
		k->bytes = realloc(k->bytes, k->room);
		BASE_ASSERT(k->bytes);
	}
	if (len)
		memcpy(k->bytes + k->len, bytes, len);
	k->len += len;
	return true;
}

static bool
append_disk(struct spw_daemon *d, const void *bytes, size_t len)
{
	size_t part = d->disk.fails ? base_prng_below(&d->w->prng, len + 1) : len;

	store_bytes(&d->disk, bytes, part);
	if (!d->disk.fails)
		return true;
	d->disk.failures++;
	d->w->disk_faults++;
	return false;
}

static bool
rewrite_disk(struct spw_daemon *d, const void *bytes, size_t len)
{
	if (d->disk.fails) { /* before or after the new one took its place */
		d->w->disk_faults++;
		if (coin(&d->w->prng, 50))
			return false;
	}
	d->disk.len = 0;
	store_bytes(&d->disk, bytes, len);
	return !d->disk.fails;
}

static void
lose_disk_writes(struct spw_disk *k)
{
	for (uint32_t i = 0; i < k->nbegun; i++)
		free(k->begun[i].bytes);
	k->nbegun = 0;
	k->free_ns = 0;
	k->generation++;
}

/* A write comes to its end. */
static void
end_disk_write(struct sim *s, void *who, uint64_t arg)
{
	struct spw_daemon *d = who;
	struct spw_disk *k = &d->disk;

	(void)s;
	if (!d->alive || arg != k->generation)
		return;
	struct spw_write w = k->begun[0];
	memmove(k->begun, k->begun + 1, --k->nbegun * sizeof w);
	bool ok = w.replaces ? rewrite_disk(d, w.bytes, w.len) : append_disk(d, w.bytes, w.len);
	free(w.bytes);
	if (!ok)
		lose_disk_writes(k);
	sp_node_written(d->node, ok, spw_local_ns(d));
	spw_after(d);
}

static bool
begin_disk_write(struct spw_daemon *d, const void *bytes, size_t len, bool replaces)
{
	struct spw_disk *k = &d->disk;
	struct sim *s = d->w->s;

	if (k->nbegun == k->begun_room) {
		k->begun_room = 2 * k->begun_room + 8;
		k->begun = realloc(k->begun, k->begun_room * sizeof *k->begun);
	}
	struct spw_write *w = &k->begun[k->nbegun++];
	*w = (struct spw_write){malloc(len + 1), len, replaces};
	BASE_ASSERT(w->bytes);
	memcpy(w->bytes, bytes, len);
	k->free_ns = base_max_ns(k->free_ns, s->now_ns) + k->slow_ns;
	sim_at(s, k->free_ns, end_disk_write, d, k->generation);
	return true;
}

static bool
write_disk(void *user, const void *bytes, size_t len)
{
	struct spw_daemon *d = user;

	return d->w->conf.late_disk ? begin_disk_write(d, bytes, len, false)
				    : append_disk(d, bytes, len);
}

static bool
replace_disk(void *user, const void *bytes, size_t len)
{
	struct spw_daemon *d = user;

	return d->w->conf.late_disk ? begin_disk_write(d, bytes, len, true)
				    : rewrite_disk(d, bytes, len);
}

/* ---- what must hold ---- */

/* Who is given up had no spare, and never comes back. */
static void
check_gone(struct spw *w, const struct sp_view *v)
{
	bool spare = false, fresh = false;

	for (uint32_t s = 0; s < v->slots; s++)
		spare |= v->slot[s].state == SP_SLOT_SPARE;
	for (uint32_t r = 0; r < v->l.roles; r++) {
		INVARIANT(w->s, SLOT, v->number < w->newest || !w->gone[r] || v->gone[r],
			  "role %u was given up and is there again in view %llu", r,
			  (unsigned long long)v->number);
		fresh |= v->gone[r] && !w->gone[r];
		w->gone[r] |= v->gone[r];
	}
	INVARIANT(w->s, SLOT, !fresh || !spare, "view %llu gives a role up while a spare is left",
		  (unsigned long long)v->number);
}

/* Roles kept for later get a pool once. */
static void
check_pools(struct spw *w, const struct sp_view *v)
{
	for (uint32_t r = 0; r < v->l.roles; r++) {
		uint8_t pool = sp_role_pool(v, r);
		if (pool == SP_POOL_LATER)
			continue;
		INVARIANT(w->s, SLOT, !w->pool_of_role[r] || w->pool_of_role[r] == pool + 1,
			  "role %u was of pool %u and is of pool %u in view %llu", r,
			  w->pool_of_role[r] - 1, pool, (unsigned long long)v->number);
		w->pool_of_role[r] = (uint8_t)(pool + 1);
	}
}

static void
check_view(struct spw_daemon *d, const struct sp_view *v)
{
	struct spw *w = d->w;
	const char *what;

	INVARIANT(w->s, TABLES, v->slots <= w->conf.limits.slots_max, "unit %u: %u slots of %u",
		  d->unit, v->slots, w->conf.limits.slots_max);
	INVARIANT(w->s, SLOT, sp_view_check(v, &what), "unit %u, view %llu: %s", d->unit,
		  (unsigned long long)v->number, what);
	BASE_ASSERT(v->number < SPW_VIEWS_MAX);
	struct spw_truth *t = &w->truth[v->number];
	uint64_t hash = sp_view_hash(v);
	if (t->hash == 0)
		*t = (struct spw_truth){hash, w->s->now_ns, v->epoch};
	if (v->number >= w->newest) {
		check_gone(w, v);
		check_pools(w, v);
	}
	INVARIANT(w->s, VIEWS, t->hash == hash, "unit %u: its view %llu is not that of others",
		  d->unit, (unsigned long long)v->number);
	INVARIANT(w->s, VIEWS, v->number > d->number, "unit %u: view %llu after view %llu", d->unit,
		  (unsigned long long)v->number, (unsigned long long)d->number);
	w->newest = base_max_ns(w->newest, v->number);
	for (uint32_t s = 0; s < v->slots && s < SPW_SLOTS_MAX; s++) {
		if (v->slot[s].role == SP_NONE)
			continue;
		INVARIANT(w->s, SLOT, !w->role_of[s] || w->role_of[s] == v->slot[s].role + 1,
			  "slot %u had role %u and has role %u", s, w->role_of[s] - 1,
			  v->slot[s].role);
		w->role_of[s] = v->slot[s].role + 1;
	}
}

/* The time by which who has no newer view must stand still; BASE_NEVER_NS: it is not old. */
static uint64_t
end_of_epoch(const struct spw *w, uint64_t number)
{
	for (uint64_t k = number + 1; k <= w->newest; k++)
		if (w->truth[k].hash && w->truth[k].epoch > w->truth[number].epoch)
			return w->truth[k].at_ns + w->conf.lease_ns + w->slack_ns;
	return BASE_NEVER_NS;
}

static void
check_actor(struct spw_daemon *d, uint32_t *actor)
{
	struct spw *w = d->w;
	const struct sp_view *v = sp_node_view(d->node);
	uint64_t end = end_of_epoch(w, v->number);

	INVARIANT(w->s, LEASE, w->s->now_ns <= end,
		  "unit %u acts in view %llu, whose epoch was over %llu us ago", d->unit,
		  (unsigned long long)v->number, (unsigned long long)(w->s->now_ns - end) / 1000);
	for (uint32_t r = 0; r < v->l.roles; r++) {
		uint32_t s = v->role[r];
		if (s == SP_NONE || s >= v->l.slots_max || v->slot[s].unit != d->unit ||
		    !d->runs[s])
			continue;
		INVARIANT(w->s, LEASE, actor[r] == SP_NONE || actor[r] == s,
			  "role %u: slots %u and %u act at once", r, actor[r], s);
		actor[r] = s;
	}
}

void
spw_check_actors(struct spw *w)
{
	uint32_t actor[SP_ROLES_MAX], reigns = SP_NONE;

	memset(actor, 0xff, sizeof *actor * w->conf.limits.roles);
	for (uint32_t u = 0; u < w->n && !w->s->failed; u++) {
		struct spw_daemon *d = w->daemon[u];
		if (!d->alive || w->s->now_ns < d->paused_until_ns)
			continue;
		if (sp_node_may_act(d->node, spw_local_ns(d)))
			check_actor(d, actor);
		if (!sp_node_reigns(d->node, spw_local_ns(d)))
			continue;
		INVARIANT(w->s, LEASE, reigns == SP_NONE, "units %u and %u both may grant leases",
			  reigns, u);
		reigns = u;
	}
}

static void
check_again(struct sim *s, void *who, uint64_t every_ns)
{
	spw_check_actors(who);
	sim_at(s, s->now_ns + every_ns, check_again, who, every_ns);
}

void
spw_check_often(struct spw *w, uint64_t every_ns)
{
	sim_at(w->s, w->s->now_ns + every_ns, check_again, w, every_ns);
}

uint32_t
spw_find_master(const struct spw *w, uint32_t other_than)
{
	for (uint32_t u = 0; u < w->conf.voters; u++) {
		const struct spw_daemon *d = w->daemon[u];
		if (u != other_than && d->alive && sp_node_reigns(d->node, spw_local_ns(d)))
			return u;
	}
	return SP_NONE;
}

/* ---- the end ---- */

/* Of some pool fewer wait than in view 1. */
static bool
lacks_spares(const struct spw *w, const struct sp_view *v)
{
	int32_t n[SP_POOLS_MAX] = {0};

	for (uint32_t s = 0; s < v->slots; s++)
		n[v->slot[s].pool] += v->slot[s].state == SP_SLOT_SPARE;
	for (uint32_t s = v->l.roles; s < w->conf.slots; s++)
		n[w->conf.pool_of ? w->conf.pool_of[s] : 0]--;
	for (uint32_t p = 0; p < SP_POOLS_MAX; p++)
		if (n[p] < 0 && !(v->off >> p & 1))
			return true;
	return false;
}

/* Somebody is to play it. */
static bool
is_role_wanted(const struct sp_view *v, uint32_t r)
{
	return !v->gone[r] && !(v->off >> sp_role_pool(v, r) & 1);
}

uint32_t
spw_unfinished(const struct spw *w, const char **what)
{
	for (uint32_t u = 0; u < w->n; u++) {
		const struct spw_daemon *d = w->daemon[u];
		*what = "is not started";
		if (!d->alive)
			return u;
		const struct sp_view *v = sp_node_view(d->node);
		*what = "has not got the newest view";
		if (v->number != w->newest)
			return u;
		if (v->over)
			continue;
		*what = "is not up in the view";
		if (!sp_node_joined(d->node))
			return u;
		*what = "has no lease";
		if (!sp_node_may_act(d->node, spw_local_ns(d)))
			return u;
		*what = "has a role that nobody plays";
		for (uint32_t r = 0; r < v->l.roles; r++)
			if (v->role[r] == SP_NONE && is_role_wanted(v, r) &&
			    v->slots < v->l.slots_max)
				return u;
		*what = "has too few spares, and they are to be made up for";
		if (w->conf.refill && v->slots < v->l.slots_max && lacks_spares(w, v))
			return u;
		*what = "has a role whose process is dead";
		for (uint32_t r = 0; r < v->l.roles; r++)
			if (v->role[r] != SP_NONE && v->slot[v->role[r]].unit == u &&
			    !d->runs[v->role[r]])
				return u;
	}
	return SP_NONE;
}

bool
spw_is_whole(const struct spw *w)
{
	const char *what;

	return spw_find_master(w, SP_NONE) != SP_NONE && spw_unfinished(w, &what) == SP_NONE;
}

/* ---- what a daemon asks for ---- */

static void
mail_unit(void *user, uint32_t to, const void *frame, size_t len)
{
	struct spw_daemon *d = user;
	struct sim_piece p = {frame, len};

	BASE_ASSERT(to < d->w->n && to != d->unit);
	if (d->w->cut[d->unit][to])
		return;
	sim_send(d->w->s, d->port, ADDR(to), &p, 1);
}

/* Its processes, as a view wants them. */
static void
follow_view(void *user, const struct sp_view *v)
{
	struct spw_daemon *d = user;
	struct spw *w = d->w;

	check_view(d, v);
	for (uint32_t s = 0; s < v->slots && s < SPW_SLOTS_MAX; s++) {
		if (v->slot[s].unit != d->unit)
			continue;
		if (v->slot[s].state == SP_SLOT_DEAD) {
			d->runs[s] = false;
			continue;
		}
		/* View 1's, when the daemon joins; later ones were started before. */
		if (d->number == 0)
			d->runs[s] = true;
		for (uint32_t i = 0; i < SPW_STARTS_MAX; i++)
			if (d->start[i].used && d->start[i].token == v->slot[s].token) {
				d->start[i].used = false;
				d->runs[s] = true;
			}
		if (v->slot[s].state == SP_SLOT_ROLE && s >= w->conf.limits.roles)
			w->takeovers++;
	}
	d->number = v->number;
	sim_log(w->s, "unit %u: view %llu, epoch %u%s%s", d->unit, (unsigned long long)v->number,
		v->epoch, v->over ? ", over: " : "", sp_why_text(v->over));
}

static void
hold_processes(void *user, bool on)
{
	struct spw_daemon *d = user;

	d->fenced = on;
}

/* A daemon and which life of it, as one number. */
static uint64_t
life_of(const struct spw_daemon *d, uint32_t what)
{
	return (uint64_t)d->incarnation << 32 | what;
}

static bool
lives_still(const struct spw_daemon *d, uint64_t arg)
{
	return d->alive && d->incarnation == arg >> 32;
}

static void
see_death(struct sim *s, void *who, uint64_t arg)
{
	struct spw_daemon *d = who;

	(void)s;
	if (!lives_still(d, arg))
		return;
	sp_node_died(d->node, (uint32_t)arg, SP_WHY_EXIT, spw_local_ns(d));
	spw_after(d);
}

void
spw_kill_process(struct spw_daemon *d, uint32_t slot)
{
	if (!d->alive || !d->runs[slot])
		return;
	d->runs[slot] = d->hangs[slot] = false;
	d->w->deaths++;
	sim_log(d->w->s, "unit %u: the process of slot %u dies", d->unit, slot);
	sim_at(d->w->s, d->w->s->now_ns + base_prng_below(&d->w->prng, 2 * BASE_MS_NS), see_death,
	       d, life_of(d, slot));
}

static void
end_process(void *user, uint32_t slot)
{
	spw_kill_process(user, slot);
}

static void
have_started(struct sim *s, void *who, uint64_t arg)
{
	struct spw_daemon *d = who;
	struct spw *w = d->w;

	(void)s;
	if (!lives_still(d, arg))
		return;
	if (coin(&w->prng, 10)) {
		for (uint32_t i = 0; i < SPW_STARTS_MAX; i++)
			if (d->start[i].token == (uint32_t)arg)
				d->start[i].used = false;
		sp_node_gone(d->node, (uint32_t)arg, spw_local_ns(d));
	} else {
		sp_node_ready(d->node, (uint32_t)arg, spw_local_ns(d));
	}
	spw_after(d);
}

static void
start_process(void *user, uint32_t token, uint8_t pool)
{
	struct spw_daemon *d = user;
	uint32_t i = 0;

	(void)pool;
	while (i < SPW_STARTS_MAX && d->start[i].used)
		i++;
	INVARIANT(d->w->s, TABLES, i < SPW_STARTS_MAX, "unit %u: too many processes are started",
		  d->unit);
	if (i == SPW_STARTS_MAX)
		return;
	d->start[i] = (struct spw_start){token, true};
	d->w->starts++;
	sim_at(d->w->s, d->w->s->now_ns + base_prng_below(&d->w->prng, 30 * BASE_MS_NS),
	       have_started, d, life_of(d, token));
}

static void
vote_again(struct sim *s, void *who, uint64_t arg)
{
	struct spw_daemon *d = who;
	char why[QUORUM_WHY_MAX];

	if (!lives_still(d, arg))
		return;
	if (d->disk.fails ||
	    !sp_node_vote_again(d->node, d->disk.bytes, d->disk.len, spw_local_ns(d), why)) {
		sim_at(s, s->now_ns + 50 * BASE_MS_NS, vote_again, d, arg);
		return;
	}
	spw_after(d);
}

static void
end_daemon(struct sim *s, void *who, uint64_t arg)
{
	(void)s;
	if (lives_still(who, arg))
		spw_kill(who);
}

static void
hear_event(void *user, const struct sp_event *e)
{
	struct spw_daemon *d = user;
	struct spw *w = d->w;

	if (e->kind == SP_EVENT_LEAD) {
		w->masters++;
		sim_log(w->s, "unit %u is master", d->unit);
	} else if (e->kind == SP_EVENT_DISK) {
		sim_log(w->s, "unit %u: its disk fails", d->unit);
		sim_at(w->s, w->s->now_ns + 50 * BASE_MS_NS, vote_again, d, life_of(d, 0));
	} else if (e->kind == SP_EVENT_OWN_CLOCK) {
		sim_log(w->s, "unit %u: its own clock is wrong", d->unit);
		sim_at(w->s, w->s->now_ns + 20 * BASE_MS_NS, end_daemon, d, life_of(d, 0));
	} else if (e->kind == SP_EVENT_CLOCK) {
		sim_log(w->s, "unit %u: the clock of unit %u is wrong", d->unit, e->a);
	}
}

static const struct sp_node_ops ops = {.send = mail_unit,
				       .view = follow_view,
				       .fence = hold_processes,
				       .kill = end_process,
				       .start = start_process,
				       .event = hear_event,
				       .write = write_disk,
				       .replace = replace_disk};

/* ---- driving ---- */

static void
turn_daemon(struct sim *s, void *who, uint64_t arg)
{
	struct spw_daemon *d = who;

	if (!d->alive || arg != d->generation)
		return;
	d->armed_ns = BASE_NEVER_NS;
	if (s->now_ns < d->paused_until_ns) {
		d->armed_ns = d->paused_until_ns;
		sim_at(s, d->paused_until_ns, turn_daemon, d, arg);
		return;
	}
	sp_node_turn(d->node, spw_local_ns(d));
	spw_after(d);
}

void
spw_after(struct spw_daemon *d)
{
	struct spw *w = d->w;
	const char *what;
	uint64_t expiry = sp_node_expiry_ns(d->node);

	INVARIANT(w->s, TIMER, expiry <= spw_local_ns(d) + 10 * BASE_S_NS,
		  "unit %u waits and sets no timer", d->unit);
	INVARIANT(w->s, TABLES, sp_node_check(d->node, &what), "unit %u: %s", d->unit, what);
	INVARIANT(w->s, HONEST, !sp_node_counters(d->node)->malformed, "unit %u: a malformed frame",
		  d->unit);
	if (expiry == BASE_NEVER_NS)
		return;
	uint64_t at = base_max_ns(sim_time_of(d, expiry), w->s->now_ns + 1000);
	if (at >= d->armed_ns && d->armed_ns > w->s->now_ns)
		return;
	d->armed_ns = at;
	sim_at(w->s, at, turn_daemon, d, ++d->generation);
}

/* A frame that waited in the socket of a node that stood still is held, and marked so. */
#define WAITED (UINT64_C(1) << 63)

static void
deliver_frame(struct sim *s, void *node, uint64_t buf)
{
	struct spw_daemon *d = node;
	uint64_t b = buf & ~WAITED;
	const struct sim_buf *p = &s->buf[b];

	if (d->alive && s->now_ns < d->paused_until_ns) {
		if (b == buf)
			sim_hold(s, b);
		sim_at(s, d->paused_until_ns, deliver_frame, d, b | WAITED);
		return;
	}
	/* Ports were made in the order of units. */
	if (d->alive) {
		sp_node_on_frame(d->node, p->from, p->data, p->len, spw_local_ns(d));
		spw_after(d);
	}
	if (b != buf)
		sim_release(s, b);
}

void
spw_pause(struct spw_daemon *d, uint64_t ns)
{
	d->paused_until_ns = base_max_ns(d->paused_until_ns, d->w->s->now_ns + ns);
}

void
spw_start(struct spw_daemon *d)
{
	struct spw *w = d->w;
	struct sp_node_conf c = w->conf;
	char why[QUORUM_WHY_MAX] = "";

	if (d->alive)
		return;
	c.me = d->unit;
	c.incarnation = ++d->incarnation;
	c.seed = base_prng_next(&w->prng);
	d->mem = malloc(sp_node_footprint(&c));
	BASE_ASSERT(d->mem);
	d->alive = true;
	d->number = 0;
	d->paused_until_ns = 0;
	d->armed_ns = BASE_NEVER_NS;
	memset(d->runs, 0, sizeof d->runs);
	memset(d->hangs, 0, sizeof d->hangs);
	memset(d->start, 0, sizeof d->start);
	d->node =
		sp_node_new(&c, &ops, d, d->mem, d->disk.bytes, d->disk.len, spw_local_ns(d), why);
	if (!d->node) { /* its disk fails still */
		INVARIANT(w->s, HONEST, d->disk.fails, "unit %u does not start: %s", d->unit, why);
		d->alive = false;
		free(d->mem);
		return;
	}
	sim_log(w->s, "unit %u starts, life %u", d->unit, d->incarnation);
	spw_after(d);
}

void
spw_kill(struct spw_daemon *d)
{
	if (!d->alive)
		return;
	d->alive = false;
	d->generation++;
	lose_disk_writes(&d->disk);
	sp_node_free(d->node);
	free(d->mem);
	sim_log(d->w->s, "unit %u dies", d->unit);
}

/* ---- the world ---- */

static void
join_units(struct spw *w, const struct spw_links *l)
{
	struct sim_link_conf c = {.rate_bps = l->rate_bps,
				  .delay_ns = l->delay_ns,
				  .queue_bytes = l->queue_bytes,
				  .overhead_bytes = SIM_UDP_OVERHEAD,
				  .loss_ppb = l->loss_ppb,
				  .dup_ppb = l->dup_ppb,
				  .reorder_ppb = l->reorder_ppb,
				  .reorder_ns = 5 * BASE_MS_NS};

	for (uint32_t u = 0; u < w->n; u++) {
		w->egress[u] = sim_add_link(w->s, &c);
		c.loss_ppb = c.dup_ppb = c.reorder_ppb = 0;
		w->ingress[u] = sim_add_link(w->s, &c);
		c.loss_ppb = l->loss_ppb;
		c.dup_ppb = l->dup_ppb;
		c.reorder_ppb = l->reorder_ppb;
	}
	for (uint32_t a = 0; a < w->n; a++)
		for (uint32_t b = 0; b < w->n; b++) {
			uint32_t way[2] = {w->egress[a], w->ingress[b]};
			if (a != b)
				sim_set_route(w->s, w->daemon[a]->port, w->daemon[b]->port, way, 2);
		}
}

struct spw *
spw_new(struct sim *s, const struct sp_node_conf *conf, const struct spw_links *links)
{
	struct spw *w = calloc(1, sizeof *w);

	BASE_ASSERT(w && conf->limits.units <= SPW_UNITS_MAX &&
		    conf->limits.slots_max <= SPW_SLOTS_MAX);
	w->s = s;
	w->prng = base_prng_seed(s->seed ^ 0x59);
	w->conf = *conf;
	w->conf.unit_of = w->unit_of;
	if (!w->conf.lease_ns)
		w->conf.lease_ns = conf->beat_ns * conf->missed / 10 * 9;
	w->slack_ns = w->conf.lease_ns / 32 + BASE_MS_NS;
	w->n = conf->limits.units;
	for (uint32_t i = 0; i < conf->slots; i++)
		w->unit_of[i] = (uint16_t)(i < conf->limits.roles ? i % w->n : w->n - 1 - i % w->n);
	w->truth[1].at_ns = s->now_ns;
	for (uint32_t u = 0; u < w->n; u++) {
		struct spw_daemon *d = w->daemon[u] = calloc(1, sizeof *d);
		BASE_ASSERT(d);
		d->w = w;
		d->unit = u;
		d->clock = (struct spw_clock){
			.base_ns = s->now_ns,
			.local_ns = BASE_S_NS + base_prng_below(&w->prng, 1000 * BASE_S_NS)};
		d->port = sim_add_port(s, d, deliver_frame, NETWORK, ADDR(u));
		BASE_ASSERT(d->port == u);
	}
	join_units(w, links);
	return w;
}

void
spw_free(struct spw *w)
{
	for (uint32_t u = 0; u < w->n; u++) {
		spw_kill(w->daemon[u]);
		free(w->daemon[u]->disk.bytes);
		free(w->daemon[u]->disk.begun);
		free(w->daemon[u]);
	}
	free(w);
}
