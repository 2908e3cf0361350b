/* SPDX-License-Identifier: BSD-2-Clause */
/* Clusters that go on: daemons of lib/sp by seed, with deaths of processes and nodes, partitions,
 * disks that fail, clocks that step and drift, nodes that stand still.  Then all heals, and every
 * unit has the same view, in which every role is played that can be. */
#include "scenario.h"
#include "sp.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

#define FAULTS_NS   (4 * BASE_S_NS)
#define COMPLETE_NS (6 * BASE_S_NS)
#define CHECK_NS    (BASE_MS_NS / 2)

struct campaign {
	struct spw *w;
	struct base_prng prng;
	uint32_t kinds;	   /* bits of faults that this seed has */
	uint64_t every_ns; /* between two of them, about */
	bool healed;
	/* Voters alone, again and again: they are back before they are missed, and see each other
	 * in part.  What is promised must outlive that. */
	bool storm;
	uint32_t kills, cuts, pauses, steps;
	/* Roles kept for later, the last ones: two operators want them for pools of their own. */
	uint32_t later;
	uint32_t operators[2];
	uint64_t ask_ns;
	/* A pool of its own on the last units, one or two, which is off at first, for the last
	 * roles: these units come and an operator starts it while others run. */
	uint32_t placed, places;
};

enum { PROCESS, NODE, CUT, ONE_WAY, DISK, PAUSE, STEP, HANG, KINDS };

static struct spw_daemon *
any_daemon(struct campaign *c)
{
	return c->w->daemon[base_prng_below(&c->prng, c->storm ? c->w->conf.voters : c->w->n)];
}

static void
restart_unit(struct sim *s, void *who, uint64_t arg)
{
	(void)s, (void)arg;
	spw_start(who);
}

static void
kill_any_process(struct campaign *c, bool hang)
{
	struct spw_daemon *d = any_daemon(c);
	uint32_t slots = c->w->conf.limits.slots_max,
		 at = (uint32_t)base_prng_below(&c->prng, slots);

	for (uint32_t i = 0; i < slots && d->alive; i++) {
		uint32_t slot = (at + i) % slots;
		if (!d->runs[slot])
			continue;
		if (hang)
			d->hangs[slot] = true;
		else
			spw_kill_process(d, slot);
		return;
	}
}

static void
mend_net(struct sim *s, void *who, uint64_t arg)
{
	struct campaign *c = who;

	(void)s, (void)arg;
	memset(c->w->cut, 0, sizeof c->w->cut);
}

static void
cut_net(struct campaign *c, bool one_way)
{
	struct spw *w = c->w;
	uint64_t side = base_prng_next(&c->prng);

	c->cuts++;
	sim_at(w->s, w->s->now_ns + base_prng_below(&c->prng, 800 * BASE_MS_NS), mend_net, c, 0);
	if (c->storm || coin(&c->prng, 25)) { /* two alone: the others see both */
		uint32_t a = any_daemon(c)->unit, b = any_daemon(c)->unit;
		w->cut[a][b] = true;
		w->cut[b][a] = !one_way;
		sim_log(w->s, "the net is cut between units %u and %u", a, b);
		return;
	}
	if (coin(&c->prng, 40)) /* one alone: often the master */
		side = UINT64_C(1) << base_prng_below(&c->prng, w->n);
	for (uint32_t a = 0; a < w->n; a++)
		for (uint32_t b = 0; b < w->n; b++)
			if ((side >> a & 1) != (side >> b & 1) && !(one_way && (side >> a & 1)))
				w->cut[a][b] = true;
	sim_log(w->s, "the net is cut%s, one side 0x%llx", one_way ? " in one direction" : "",
		(unsigned long long)side);
}

static void
mend_disk(struct sim *s, void *who, uint64_t arg)
{
	struct spw_daemon *d = who;

	(void)s, (void)arg;
	d->disk.fails = false;
}

static void
break_something(struct sim *s, void *who, uint64_t arg)
{
	struct campaign *c = who;
	uint32_t kind = (uint32_t)base_prng_below(&c->prng, KINDS);
	struct spw_daemon *d = any_daemon(c);

	(void)arg;
	if (c->healed)
		return;
	sim_at(s, s->now_ns + base_prng_below(&c->prng, 2 * c->every_ns), break_something, c, 0);
	if (!(c->kinds >> kind & 1))
		return;
	switch (kind) {
	case PROCESS:
	case HANG:
		kill_any_process(c, kind == HANG && c->w->conf.hang_ns);
		break;
	case NODE:
		c->kills += d->alive;
		spw_kill(d);
		/* Often so soon that nobody has missed it. */
		sim_at(s,
		       s->now_ns + base_prng_below(&c->prng,
						   (c->storm || coin(&c->prng, 40) ? 5 : 900) *
							   BASE_MS_NS),
		       restart_unit, d, 0);
		break;
	case CUT:
	case ONE_WAY:
		cut_net(c, kind == ONE_WAY);
		break;
	case DISK:
		d->disk.fails = true;
		sim_at(s, s->now_ns + base_prng_below(&c->prng, 300 * BASE_MS_NS), mend_disk, d, 0);
		break;
	case PAUSE:
		c->pauses++;
		spw_pause(d, base_prng_below(&c->prng, 400 * BASE_MS_NS));
		break;
	default:
		if (s->now_ns - d->clock.base_ns < BASE_S_NS / 2)
			break; /* each step may cost a part of the margin */
		c->steps++;
		spw_step_clock(d, base_prng_below(&c->prng, 300 * BASE_MS_NS));
	}
}

static void
give_signs(struct sim *s, void *who, uint64_t arg)
{
	struct campaign *c = who;
	struct spw *w = c->w;

	(void)arg;
	for (uint32_t u = 0; u < w->n; u++) {
		struct spw_daemon *d = w->daemon[u];
		for (uint32_t k = 0; k < w->conf.limits.slots_max && d->alive; k++)
			if (d->runs[k] && !d->hangs[k] && s->now_ns >= d->paused_until_ns)
				sp_node_alive(d->node, k, spw_local_ns(d));
	}
	sim_at(s, s->now_ns + w->conf.hang_ns / 8, give_signs, c, 0);
}

/* Both ask until the roles have a pool; whose pool it is, all agree on. */
static void
ask_for_roles(struct sim *s, void *who, uint64_t arg)
{
	struct campaign *c = who;
	struct spw *w = c->w;
	uint32_t first = w->conf.limits.roles - c->later;
	uint64_t given_up;

	(void)arg;
	for (uint32_t i = 0; i < 2; i++) {
		struct spw_daemon *d = w->daemon[c->operators[i]];
		if (!d->alive || s->now_ns < d->paused_until_ns ||
		    sp_node_asks(d->node, &given_up) ||
		    sp_role_pool(sp_node_view(d->node), first) != SP_POOL_LATER)
			continue;
		(void)sp_node_ask(d->node, SP_OP_ROLES, (uint8_t)(1 + i), first, c->later,
				  spw_local_ns(d));
		(void)sp_node_ask(d->node, SP_OP_POOL, 0, 1 + i, 1, spw_local_ns(d));
		spw_after(d);
	}
	/* Each unit starts its part, as soon as it knows. */
	for (uint32_t u = 0; u < w->n; u++) {
		struct spw_daemon *d = w->daemon[u];
		if (!d->alive || s->now_ns < d->paused_until_ns)
			continue;
		uint8_t pool = sp_role_pool(sp_node_view(d->node), first);
		if (pool == SP_POOL_LATER)
			continue;
		sp_node_want(d->node, pool, 1 + c->later / w->n, spw_local_ns(d));
		spw_after(d);
	}
	sim_at(s, s->now_ns + 5 * BASE_MS_NS, ask_for_roles, c, 0);
}

/* The operator does not wait for the unit, nor the unit for the operator. */
static void
start_placed(struct sim *s, void *who, uint64_t arg)
{
	struct campaign *c = who;
	struct spw_daemon *d = c->w->daemon[c->operators[0]];
	uint64_t given_up;

	(void)arg;
	if (d->alive && s->now_ns >= d->paused_until_ns && !sp_node_asks(d->node, &given_up)) {
		if (!(sp_node_view(d->node)->off >> 1 & 1))
			return;
		(void)sp_node_ask(d->node, SP_OP_POOL, 0, 1, 1, spw_local_ns(d));
		spw_after(d);
	}
	sim_at(s, s->now_ns + 5 * BASE_MS_NS, start_placed, c, 0);
}

/* ---- the end ---- */

static bool
is_cluster_whole(void *who)
{
	const struct campaign *c = who;
	const char *what;

	return spw_unfinished(c->w, &what) == SP_NONE;
}

static void
heal_units(struct campaign *c)
{
	struct spw *w = c->w;

	c->healed = true;
	sim_log(w->s, "all is well again");
	memset(w->cut, 0, sizeof w->cut);
	for (uint32_t u = 0; u < w->n; u++) {
		w->s->link[w->egress[u]].conf.loss_ppb = 0;
		w->daemon[u]->disk.fails = false;
		w->daemon[u]->disk.slow_ns = base_min_ns(w->daemon[u]->disk.slow_ns, BASE_MS_NS);
		spw_start(w->daemon[u]);
	}
}

/* ---- by seed ---- */

static struct sp_node_conf
draw_conf(struct base_prng *p)
{
	struct sp_node_conf c = {.cluster = 7, .restart_ns = 20 * BASE_MS_NS};
	uint32_t units = (uint32_t)between(p, 3, 9), roles = (uint32_t)between(p, 1, 12);

	c.slots = roles + (uint32_t)between(p, 0, 5);
	c.limits = (struct sp_limits){
		.roles = roles, .units = units, .slots_max = coin(p, 15) ? c.slots + 6 : 400};
	c.voters = units >= 5 && coin(p, 50) ? 5 : 3;
	c.beat_ns = PICK(p, 10, 20, 20, 40) * BASE_MS_NS;
	c.missed = (uint32_t)between(p, 4, 6);
	c.heartbeat_ms = (uint32_t)(c.beat_ns / BASE_MS_NS / 2);
	c.election_ms = 3 * c.heartbeat_ms;
	c.snapshot_every = (uint32_t)PICK(p, 4, 16, 64);
	c.hang_ns = coin(p, 30) ? 200 * BASE_MS_NS : 0;
	c.severity = sp_severity_default();
	struct base_prng q = *p; /* what older seeds draw stays */
	uint64_t how = base_prng_below(&q, 100);
	if (how < 20) {
		c.refill = true; /* nothing else starts a process again */
		c.severity.of[SP_FAULT_PROCESS].set = SP_TAKEOVER;
	} else if (how < 35) {
		c.none_left = SP_NONE_LEFT_SHRINK;
	}
	return c;
}

/* In some worlds the last roles are kept for later. */
static void
draw_later(struct campaign *c, struct sp_node_conf *conf, uint8_t pool_of[SPW_SLOTS_MAX])
{
	struct base_prng q = base_prng_seed(c->prng.s[0]); /* what seeds drew before stays */

	if (conf->refill || conf->none_left != SP_NONE_LEFT_WAIT || conf->limits.roles < 2 ||
	    !coin(&q, 40))
		return;
	c->later = (uint32_t)between(&q, 1, conf->limits.roles - 1);
	c->ask_ns = between(&q, 300, 3000) * BASE_MS_NS;
	for (uint32_t i = 0; i < 2; i++)
		c->operators[i] = (uint32_t)base_prng_below(&q, conf->limits.units);
	memset(pool_of, 0, SPW_SLOTS_MAX);
	memset(pool_of + conf->limits.roles - c->later, SP_POOL_LATER, c->later);
	conf->pool_of = pool_of;
	conf->off = UINT64_C(1) << SP_POOL_LATER | 6;
}

/* In some worlds the last units have roles and spares that start later. */
static void
draw_placed(struct campaign *c, struct sp_node_conf *conf, uint8_t pool_of[SPW_SLOTS_MAX])
{
	struct base_prng q = base_prng_seed(~c->prng.s[0]); /* what seeds drew before stays */

	if (c->later || conf->none_left != SP_NONE_LEFT_WAIT || conf->limits.roles < 2 ||
	    conf->limits.units <= conf->voters || !coin(&q, 60))
		return;
	c->placed = (uint32_t)between(&q, 1, conf->limits.roles - 1);
	c->ask_ns = between(&q, 300, 3000) * BASE_MS_NS;
	c->operators[0] = (uint32_t)base_prng_below(&q, conf->limits.units);
	memset(pool_of, 0, SPW_SLOTS_MAX);
	memset(pool_of + conf->limits.roles - c->placed, 1, c->placed);
	for (uint32_t i = conf->limits.roles; i < conf->slots; i += 2)
		pool_of[i] = 1;
	conf->pool_of = pool_of;
	conf->off = 2;
	c->places = conf->limits.units > conf->voters + 1 && coin(&q, 60) ? 2 : 1;
}

static void
settle_pools(const struct campaign *c, struct spw *w)
{
	uint32_t others = w->n - c->places;

	for (uint32_t i = 0; c->placed && i < w->conf.slots; i++)
		w->unit_of[i] =
			(uint16_t)(w->conf.pool_of[i] ? others + i % c->places : i % others);
}

/* In some worlds a write takes its time, and the daemon goes on meanwhile. */
static void
draw_slow_disks(struct spw *w, uint64_t seed, bool storm)
{
	struct base_prng q = base_prng_seed(seed ^ 0xd15c);

	for (uint32_t u = 0; u < w->n && w->conf.late_disk; u++)
		w->daemon[u]->disk.slow_ns = storm    ? between(&q, 100, 4000) * 1000
					     : u == 0 ? PICK(&q, 1, 20, 100, 400) * BASE_MS_NS
						      : between(&q, 50, 3000) * 1000;
}

static void
play_campaign(struct campaign *c)
{
	struct spw *w = c->w;
	struct sim *s = w->s;
	const char *what = "";

	for (uint32_t u = 0; u < w->n; u++) {
		struct spw_daemon *d = w->daemon[u];
		d->clock.ppm = (int32_t)base_prng_below(&c->prng, 20001) - 10000;
		uint64_t at = base_prng_below(&c->prng, 100 * BASE_MS_NS);
		if (c->placed && u >= w->n - c->places)
			at += base_prng_below(&w->prng, 2 * c->ask_ns);
		sim_at(s, s->now_ns + at, restart_unit, d, 0);
	}
	spw_check_often(w, CHECK_NS);
	if (w->conf.hang_ns)
		sim_at(s, s->now_ns, give_signs, c, 0);
	sim_at(s, s->now_ns + base_prng_below(&c->prng, BASE_S_NS), break_something, c, 0);
	if (c->later)
		sim_at(s, s->now_ns + c->ask_ns, ask_for_roles, c, 0);
	if (c->placed)
		sim_at(s, s->now_ns + c->ask_ns, start_placed, c, 0);
	sim_run(s, s->now_ns + FAULTS_NS, NULL, NULL);
	heal_units(c);
	/* What was under way when it healed is over: pauses, hanging processes. */
	sim_run(s, s->now_ns + BASE_S_NS, NULL, NULL);
	sim_run(s, s->now_ns + COMPLETE_NS, is_cluster_whole, c);
	uint32_t u = s->failed ? SP_NONE : spw_unfinished(w, &what);
	INVARIANT(s, COMPLETE, u == SP_NONE, "unit %u %s, %llu s after all was well", u, what,
		  (unsigned long long)(COMPLETE_NS / BASE_S_NS));
}

static void
run_campaign(uint64_t seed, bool verbose, bool storm, struct outcome *o)
{
	struct campaign c = {.prng = base_prng_seed(seed), .storm = storm};
	struct sp_node_conf conf = draw_conf(&c.prng);
	struct spw_links l = {.rate_bps = 125000000};
	struct sim *s = sim_new(seed);
	static uint8_t pool_of[SPW_SLOTS_MAX];

	draw_later(&c, &conf, pool_of);
	draw_placed(&c, &conf, pool_of);
	struct base_prng q = base_prng_seed(~seed);
	conf.late_disk = coin(&q, 50);
	l.delay_ns = PICK(&c.prng, 20000, 50000, 500000);
	l.loss_ppb = (uint32_t)PICK(&c.prng, 0, 0, 1000000, 30000000);
	l.dup_ppb = (uint32_t)PICK(&c.prng, 0, 10000000);
	l.reorder_ppb = (uint32_t)PICK(&c.prng, 0, 20000000);
	s->verbose = verbose;
	c.w = spw_new(s, &conf, &l);
	settle_pools(&c, c.w);
	draw_slow_disks(c.w, seed, storm);
	c.kinds = (uint32_t)base_prng_next(&c.prng) | 1u << PROCESS;
	c.every_ns = PICK(&c.prng, 30, 100, 300) * BASE_MS_NS;
	if (storm) {
		c.kinds = 1u << NODE | 1u << CUT | 1u << ONE_WAY;
		c.every_ns = 5 * BASE_MS_NS;
	}
	play_campaign(&c);
	sim_outcome(s, o);
	snprintf(o->note, sizeof o->note,
		 "%u units, %u roles: %llu views, %u masters; %u processes and %u nodes died, %u "
		 "cuts, "
		 "%u disk faults, %u pauses, %u clock steps",
		 c.w->n, conf.limits.roles, (unsigned long long)c.w->newest, c.w->masters,
		 c.w->deaths, c.kills, c.cuts, c.w->disk_faults, c.pauses, c.steps);
	spw_free(c.w);
	sim_free(s);
}

void
sp_run(uint64_t seed, bool verbose, struct outcome *o)
{
	run_campaign(seed, verbose, false, o);
}

void
sp_storm_run(uint64_t seed, bool verbose, struct outcome *o)
{
	run_campaign(seed, verbose, true, o);
}
