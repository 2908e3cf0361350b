/* SPDX-License-Identifier: BSD-2-Clause */
/* The pipeline: what all stages have agreed on (lib/sp), as a view of lib/spx; changes of it.
 *
 * Facts of the agreed view (sp/view.h):
 *	FACT_CHAIN + i	   chain i: a = IS_CHAIN | from << 16 | to, b = state, order, policy, window
 *	FACT_STARTED	   bits of clusters that were complete once
 *	FACT_PROGRAM + p   what program pool p began with: its hash */
#include "daemon.h"

#include "spx/spx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IS_CHAIN UINT32_C(0x80000000)

/* ---- facts ---- */

static struct sp_fact
fact_of_chain(const struct spx_chain *c)
{
	return (struct sp_fact){IS_CHAIN | (uint32_t)c->from << 16 | c->to,
				(uint32_t)c->state | (uint32_t)c->ordered << 2 |
					(uint32_t)c->policy << 3 | (uint32_t)c->on_lost << 6 |
					(uint32_t)c->window << 16};
}

static struct spx_chain
chain_of_fact(struct sp_fact f)
{
	return (struct spx_chain){.from = (uint16_t)((f.a & ~IS_CHAIN) >> 16),
				  .to = (uint16_t)f.a,
				  .state = (enum spx_chain_state)(f.b & 3),
				  .ordered = f.b >> 2 & 1,
				  .policy = (enum spx_policy)(f.b >> 3 & 7),
				  .on_lost = (enum spx_on_lost)(f.b >> 6 & 3),
				  .window = (uint16_t)(f.b >> 16)};
}

const struct sp_fact *
spd_pipeline_facts(void)
{
	static struct sp_fact fact[SPD_FACTS];

	for (uint32_t i = 0; i < spd.conf->nchains && spd.group.pipeline; i++)
		fact[SPD_FACT_CHAIN + i] = fact_of_chain(&spd.conf->chain[i]);
	return fact;
}

static uint64_t
started_of(const struct sp_view *v)
{
	const struct sp_fact *f = &v->fact[SPD_FACT_STARTED];

	return (uint64_t)f->a << 32 | f->b;
}

/* ---- a view of lib/spx ---- */

static void
read_chain_facts(const struct sp_view *v, struct spx_view *x)
{
	x->nchain = 0;
	for (uint32_t i = 0; i < SPX_CHAINS_MAX && v->fact[SPD_FACT_CHAIN + i].a; i++)
		x->chain[x->nchain++] = chain_of_fact(v->fact[SPD_FACT_CHAIN + i]);
}

/* All its ranks are gone, and it has no node that could bring one back. */
static bool
is_cluster_lost(const struct sp_view *v, uint32_t k)
{
	const struct spd_cluster *c = &spd.conf->cluster[k];
	uint32_t role0 = spd.group.role0[k];

	for (uint32_t r = role0; r < role0 + c->compute; r++)
		if (v->role[r] != SP_NONE)
			return false;
	for (uint32_t u = 0; u < c->units && !(v->off >> SPD_POOL(k, false) & 1); u++)
		if (!v->unit[spd_group_unit(&spd.group, c->first + u)].down)
			return false;
	return true;
}

static void
fill_spx_clusters(const struct sp_view *v, struct spx_view *x)
{
	uint64_t started = started_of(v);

	x->ncluster = spd.conf->nclusters;
	for (uint32_t k = 0; k < x->ncluster; k++) {
		const struct spd_cluster *c = &spd.conf->cluster[k];
		struct spx_cluster *to = &x->cluster[k];
		*to = (struct spx_cluster){.compute = (uint16_t)c->compute,
					   .started = started >> k & 1};
		snprintf(to->name, sizeof to->name, "%s", c->name);
		to->lost = to->started && is_cluster_lost(v, k);
	}
}

/* Chains that lead to a cluster, or from it, whatever their state: an I/O process serves them from
 * its beginning to its end. */
static uint64_t
chains_at(const struct spx_view *x, uint32_t cluster, bool into)
{
	uint64_t bits = 0;

	for (uint32_t c = 0; c < x->nchain; c++)
		if ((into ? x->chain[c].to : x->chain[c].from) == cluster)
			bits |= SPX_CHAIN_BIT(c);
	return bits;
}

static void
fill_spx_proc(const struct sp_view *v, uint32_t s, uint16_t *played, const struct spx_view *x,
	      struct spx_proc *p)
{
	const struct sp_slot *of = &v->slot[s];
	uint32_t k = spd_group_cluster_of(&spd.group, of->role);
	uint32_t i = of->role - spd.group.role0[k];
	const struct spd_cluster *c = &spd.conf->cluster[k];

	*p = (struct spx_proc){.id = SPD_ID_OF_SLOT(s),
			       .cluster = (uint16_t)k,
			       .kind = i < c->compute ? SPX_COMPUTE : SPX_IO,
			       .state = of->state == SP_SLOT_DEAD ? SPX_DEAD : SPX_ALIVE,
			       .ready = of->ready};
	if (p->kind == SPX_COMPUTE) {
		p->rank = (uint16_t)i;
		p->takeovers = played[of->role];
	} else {
		p->chains = chains_at(x, k, i < c->compute + c->in);
	}
	played[of->role]++;
}

bool
spd_pipeline_view(const struct sp_view *v, struct spx_view *x)
{
	uint16_t *played = calloc(v->l.roles, sizeof *played);

	if (!played)
		return false;
	x->number = v->number;
	x->nproc = 0;
	read_chain_facts(v, x);
	fill_spx_clusters(v, x);
	for (uint32_t s = 0; s < v->slots; s++)
		if (v->slot[s].role != SP_NONE)
			fill_spx_proc(v, s, played, x, &x->proc[x->nproc++]);
	free(played);
	return true;
}

struct spx_view *
spd_pipeline_tables(void)
{
	struct spx_view *x = calloc(1, sizeof *x);

	if (!x)
		return NULL;
	x->proc = calloc(spd.conf->slots_max, sizeof *x->proc);
	x->cluster = calloc(SPX_CLUSTERS_MAX, sizeof *x->cluster);
	x->chain = calloc(SPX_CHAINS_MAX, sizeof *x->chain);
	return x->proc && x->cluster && x->chain ? x : NULL;
}

/* A table of our own for questions. */
static struct spx_view *
view_now(const struct sp_view *v)
{
	static struct spx_view *x;

	if (!x)
		x = spd_pipeline_tables();
	return x && spd_pipeline_view(v, x) ? x : NULL;
}

bool
spd_pipeline_fits(void *user, const struct sp_view *plan)
{
	struct spx_view *x = spd.group.pipeline ? view_now(plan) : NULL;
	char why[SPX_TEXT_MAX];

	(void)user;
	if (!spd.group.pipeline || (x && spx_view_check(x, why)))
		return true;
	spd_log("a change of the pipeline is refused: %s", x ? why : "out of memory");
	return false;
}

/* ---- what is asked for ---- */

bool
spd_pipeline_chain(const char *ops, size_t len, char why[SPX_TEXT_MAX], uint64_t now_ns)
{
	const struct sp_view *v = spd_view();
	struct spx_view *x = v && spd.group.pipeline ? view_now(v) : NULL;
	uint64_t given_up;

	if (!x)
		return spx_say(why, "no pipeline runs here");
	if (sp_node_asks(spd.node, &given_up))
		return spx_say(why, "another change is under way; ask again");
	if (!spx_chain_ops(x, x->chain, &x->nchain, ops, len, why))
		return false;
	for (uint32_t i = 0; i < x->nchain; i++) {
		struct sp_fact f = fact_of_chain(&x->chain[i]);
		const struct sp_fact *is = &v->fact[SPD_FACT_CHAIN + i];
		if (f.a != is->a || f.b != is->b)
			(void)sp_node_ask(spd.node, SP_OP_FACT, (uint8_t)(SPD_FACT_CHAIN + i), f.a,
					  f.b, now_ns);
	}
	return true;
}

bool
spd_pipeline_cluster(const char *name, bool on, char why[SPX_TEXT_MAX], uint64_t now_ns)
{
	const struct sp_view *v = spd_view();
	uint32_t k = 0;

	while (k < spd.conf->nclusters && strcmp(spd.conf->cluster[k].name, name) != 0)
		k++;
	if (!v || k == spd.conf->nclusters)
		return spx_say(why, "there is no cluster %.40s in %.120s", name, spd.file);
	if (!spd.conf->cluster[k].stage || !spd.group.pipeline)
		return spx_say(why, "cluster %.40s is no stage of the pipeline of this unit", name);
	if (on == !(v->off >> SPD_POOL(k, false) & 1))
		return spx_say(why, "cluster %.40s %s already", name, on ? "runs" : "does not run");
	for (uint32_t io = 0; io < 2; io++)
		if (!sp_node_ask(spd.node, SP_OP_POOL, 0, SPD_POOL(k, io), on, now_ns))
			return spx_say(why, "too many changes are under way; ask again");
	return true;
}

/* ---- the master's ---- */

static void
mark_complete(const struct sp_view *v, const struct spx_view *x, uint64_t now_ns)
{
	uint64_t was = started_of(v), is = was;
	char why[SPX_TEXT_MAX];

	for (uint32_t k = 0; k < x->ncluster; k++) {
		bool chained = spx_view_into(x, (uint16_t)k) | spx_view_out_of(x, (uint16_t)k);
		if (was >> k & 1 || !chained || !spx_view_complete(x, (uint16_t)k, why))
			continue;
		is |= UINT64_C(1) << k;
		spd_say("cluster %s is complete", x->cluster[k].name);
	}
	if (is != was)
		(void)sp_node_ask(spd.node, SP_OP_FACT, SPD_FACT_STARTED, (uint32_t)(is >> 32),
				  (uint32_t)is, now_ns);
}

static void
judge_lost(const struct spx_view *x, uint64_t now_ns)
{
	static uint64_t said;

	for (uint32_t k = 0; k < x->ncluster; k++) {
		uint64_t bit = UINT64_C(1) << k;
		if (!x->cluster[k].lost) {
			said &= ~bit;
			continue;
		}
		bool stops = spd.conf->severity.of[SP_FAULT_CLUSTER].set & SP_STOP &&
			     spx_view_into(x, (uint16_t)k) | spx_view_out_of(x, (uint16_t)k);
		if (!(said & bit))
			spd_say("cluster %s is lost%s", x->cluster[k].name,
				stops ? "; severity.cluster stops all" : "");
		said |= bit;
		if (stops)
			sp_node_stop(spd.node, SP_WHY_SEVERITY, now_ns);
	}
}

void
spd_pipeline_lead(const struct sp_view *v, const struct spx_view *x, uint64_t now_ns)
{
	static uint64_t judged;

	if (!sp_node_leads(spd.node) || judged == v->number)
		return;
	judged = v->number;
	mark_complete(v, x, now_ns);
	judge_lost(x, now_ns);
}

/* All that make frames have made and seen committed what they wanted. */
bool
spd_pipeline_is_done(const struct sp_view *v, const struct spx_view *x)
{
	bool any = false;

	for (uint32_t k = 0; k < x->ncluster; k++) {
		if (spx_view_into(x, (uint16_t)k) || !spx_view_out_of(x, (uint16_t)k))
			continue;
		any = true;
		for (uint32_t i = 0; i < spd.conf->cluster[k].compute; i++) {
			uint32_t s = v->role[spd.group.role0[k] + i];
			if (s == SP_NONE || !spd.left[s])
				return false;
		}
	}
	return any;
}
