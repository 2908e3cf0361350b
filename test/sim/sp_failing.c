/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that fails: whoever plays a role ends a few milliseconds later.  It is started again,
 * but ever later, so minutes of it leave room in the table of slots.  Then the program is mended,
 * and all roles are played again. */
#include "sp.h"

#include <stdio.h>

#define BEGIN_NS   (3 * BASE_S_NS)
#define FAILING_NS (120 * BASE_S_NS)
#define LOOK_NS	   (5 * BASE_MS_NS)
#define LIVES_NS   (40 * BASE_MS_NS)
#define MENDED_NS  (6 * SP_AGAIN_NS) /* of what is started a tenth does not come up */

struct failing {
	struct spw *w;
	bool mended, all; /* all roles, or the first one */
};

static bool
plays_all_roles(void *who)
{
	const struct failing *t = who;

	return spw_is_whole(t->w);
}

/* Processes in roles end, soon. */
static void
fail_roles(struct sim *s, void *who, uint64_t arg)
{
	struct failing *t = who;
	const struct sp_limits *l = &t->w->conf.limits;

	if (t->mended || s->failed)
		return;
	for (uint32_t u = 0; u < t->w->n; u++) {
		struct spw_daemon *d = t->w->daemon[u];
		const struct sp_view *v = sp_node_view(d->node);
		for (uint32_t r = 0; r < (t->all ? l->roles : 1); r++)
			if (v->role[r] != SP_NONE && v->slot[v->role[r]].unit == u &&
			    base_prng_below(&t->w->prng, LIVES_NS / LOOK_NS) == 0)
				spw_kill_process(d, v->role[r]);
	}
	sim_at(s, s->now_ns + LOOK_NS, fail_roles, who, arg);
}

static uint32_t
used_slots(const struct spw *w)
{
	uint32_t most = 0;

	for (uint32_t u = 0; u < w->n; u++)
		if (sp_node_view(w->daemon[u]->node)->slots > most)
			most = sp_node_view(w->daemon[u]->node)->slots;
	return most;
}

static void
play_failing(struct failing *t)
{
	struct spw *w = t->w;
	struct sim *s = w->s;

	for (uint32_t u = 0; u < w->n; u++)
		spw_start(w->daemon[u]);
	sim_run(s, s->now_ns + BEGIN_NS, plays_all_roles, t);
	INVARIANT(s, COMPLETE, plays_all_roles(t), "the cluster does not begin");
	spw_check_often(w, 50 * BASE_MS_NS);
	fail_roles(s, t, 0);
	sim_run(s, s->now_ns + FAILING_NS, NULL, NULL);
	INVARIANT(s, TABLES, used_slots(w) < w->conf.limits.slots_max,
		  "a program that fails has used up all %u slots", w->conf.limits.slots_max);
	t->mended = true;
	sim_run(s, s->now_ns + MENDED_NS, plays_all_roles, t);
	INVARIANT(s, COMPLETE, s->failed || plays_all_roles(t),
		  "the program is mended, but its roles are not played");
}

void
sp_failing_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed);
	struct sim *s = sim_new(seed);
	struct sp_node_conf conf = {.cluster = 4,
				    .voters = 3,
				    .beat_ns = 40 * BASE_MS_NS,
				    .missed = 6,
				    .election_ms = 120,
				    .heartbeat_ms = 20,
				    .snapshot_every = 16,
				    .severity = sp_severity_default()};
	struct spw_links l = {.rate_bps = 125000000, .delay_ns = 50000};
	struct failing t = {.all = false};

	t.all = coin(&p, 50);
	conf.refill = coin(&p, 30);
	conf.restart_ns = between(&p, 20, 200) * BASE_MS_NS;
	conf.limits = (struct sp_limits){
		.units = (uint32_t)between(&p, 3, 6), .roles = 6, .slots_max = 400};
	conf.slots = conf.limits.roles + conf.limits.units;
	s->verbose = verbose;
	t.w = spw_new(s, &conf, &l);
	play_failing(&t);
	sim_outcome(s, o);
	snprintf(o->note, sizeof o->note, "%u units, %s fail for %u s: %u of %u slots used", t.w->n,
		 t.all ? "all roles" : "processes of one role", (unsigned)(FAILING_NS / BASE_S_NS),
		 used_slots(t.w), conf.limits.slots_max);
	spw_free(t.w);
	sim_free(s);
}
