/* SPDX-License-Identifier: BSD-2-Clause */
/* The pipeline: what all stages have agreed on (spx/agreed.h), and changes of it. */
#include "daemon.h"

#include "spx/spx.h"

#include <stdlib.h>
#include <string.h>

const struct sp_fact *
spd_pipeline_facts(void)
{
	static struct sp_fact fact[SPD_FACTS];

	if (spd.group.pipeline)
		spx_agreed_facts(spd.conf->chain, spd.conf->nchains, fact);
	return fact;
}

/* ---- a view of lib/spx ---- */

/* All its ranks are gone, and it has no node that could bring one back. */
static bool
is_cluster_lost(const struct sp_view *v, uint32_t k)
{
	const struct spd_cluster *c = &spd.conf->cluster[k];
	uint32_t role0 = spd.group.role0[k];

	for (uint32_t r = role0; r < role0 + c->compute; r++)
		if (v->role[r] != SP_NONE)
			return false;
	for (uint32_t u = 0; u < c->units && !(v->off >> SPX_POOL(k, false) & 1); u++)
		if (!v->unit[spd_group_unit(&spd.group, c->first + u)].down)
			return false;
	return true;
}

void
spd_pipeline_view(const struct sp_view *v, struct spx_view *x)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < spd.group.clusters; i++) {
		uint32_t k = spd.group.cluster[i];
		lost |= (uint64_t)is_cluster_lost(v, k) << k;
	}
	spx_agreed_view(&spd.group.agreed, v, lost, x);
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
	if (x)
		spd_pipeline_view(v, x);
	return x;
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

	if (!x)
		return spx_say(why, "no pipeline runs here");
	return spx_agreed_ask(spd.node, x, ops, len, why, now_ns);
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
	if (on == !(v->off >> SPX_POOL(k, false) & 1))
		return spx_say(why, "cluster %.40s %s already", name, on ? "runs" : "does not run");
	for (uint32_t io = 0; io < 2; io++)
		if (!sp_node_ask(spd.node, SP_OP_POOL, 0, SPX_POOL(k, io), on, now_ns))
			return spx_say(why, "too many changes are under way; ask again");
	return true;
}

/* ---- the master's ---- */

static void
mark_complete(const struct spx_view *x, uint64_t now_ns)
{
	uint64_t fresh = spx_agreed_complete(x);

	for (uint32_t k = 0; k < x->ncluster; k++)
		if (fresh >> k & 1)
			spd_say("cluster %s is complete", x->cluster[k].name);
	if (fresh)
		spx_agreed_start(spd.node, fresh, now_ns);
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
	mark_complete(x, now_ns);
	judge_lost(x, now_ns);
}
