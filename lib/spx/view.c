/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions to a view. */
#include "internal.h"

#include <stdio.h>
#include <string.h>

const struct spx_proc *
spx_view_proc(const struct spx_view *v, uint32_t id)
{
	uint32_t lo = 0, hi = v->nproc;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (v->proc[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < v->nproc && v->proc[lo].id == id ? &v->proc[lo] : NULL;
}

const struct spx_proc *
spx_view_role(const struct spx_view *v, uint32_t role)
{
	for (uint32_t i = 0; i < v->nproc; i++) {
		const struct spx_proc *p = &v->proc[i];
		if (p->kind == SPX_COMPUTE && p->state != SPX_DEAD &&
		    SPX_ROLE(p->cluster, p->rank) == role)
			return p;
	}
	return NULL;
}

uint32_t
spx_view_cluster(const struct spx_view *v, const char *name)
{
	for (uint32_t i = 0; i < v->ncluster; i++)
		if (!strncmp(v->cluster[i].name, name, SPX_NAME_MAX))
			return i;
	return SPX_NONE;
}

bool
spx_view_reaches(const struct spx_view *v, uint32_t c, uint16_t cluster)
{
	const struct spx_chain *a = &v->chain[c];

	if (a->to == cluster)
		return true;
	if (!v->cluster[a->to].lost || a->on_lost != SPX_BYPASS)
		return false;
	for (uint32_t d = 0; d < v->nchain; d++)
		if (v->chain[d].from == a->to && v->chain[d].state != SPX_CHAIN_OFF &&
		    spx_view_reaches(v, d, cluster))
			return true;
	return false;
}

uint64_t
spx_view_into(const struct spx_view *v, uint16_t cluster)
{
	uint64_t bits = 0;

	for (uint32_t c = 0; c < v->nchain; c++)
		if (v->chain[c].state != SPX_CHAIN_OFF && spx_view_reaches(v, c, cluster))
			bits |= SPX_CHAIN_BIT(c);
	return bits;
}

uint64_t
spx_view_out_of(const struct spx_view *v, uint16_t cluster)
{
	uint64_t bits = 0;

	for (uint32_t c = 0; c < v->nchain; c++)
		if (v->chain[c].state != SPX_CHAIN_OFF && v->chain[c].from == cluster)
			bits |= SPX_CHAIN_BIT(c);
	return bits;
}

uint64_t
spx_view_giving(const struct spx_view *v, uint64_t serves, uint16_t from)
{
	uint64_t active = 0, draining = 0;

	for (uint32_t c = 0; c < v->nchain; c++) {
		const struct spx_chain *a = &v->chain[c];
		if (!(serves & SPX_CHAIN_BIT(c)) || a->from != from)
			continue;
		bool dead_end = v->cluster[a->to].lost && a->on_lost != SPX_BYPASS;
		if (a->state == SPX_CHAIN_ACTIVE && !dead_end)
			active |= SPX_CHAIN_BIT(c);
		else if (a->state != SPX_CHAIN_OFF)
			draining |= SPX_CHAIN_BIT(c);
	}
	return active ? active : draining;
}

const struct spx_proc *
spx_view_lead(const struct spx_view *v, uint64_t chains)
{
	for (uint32_t c = 0; c < v->nchain; c++) {
		const struct spx_proc *lead = NULL;
		if (!(chains & SPX_CHAIN_BIT(c)) || !v->chain[c].ordered)
			continue;
		for (uint32_t i = 0; i < v->nproc; i++) {
			const struct spx_proc *p = &v->proc[i];
			if (p->kind == SPX_COMPUTE && p->state != SPX_DEAD &&
			    spx_view_reaches(v, c, p->cluster) &&
			    (!lead ||
			     SPX_ROLE(p->cluster, p->rank) < SPX_ROLE(lead->cluster, lead->rank)))
				lead = p;
		}
		if (lead)
			return lead;
	}
	return NULL;
}

/* --- what a view must be ------------------------------------------------------ */

/* Clusters from which `at` is reached again over chains that are not off. */
static bool
find_circle(const struct spx_view *v, uint32_t first, uint32_t at, uint64_t *seen)
{
	for (uint32_t c = 0; c < v->nchain; c++) {
		const struct spx_chain *a = &v->chain[c];
		if (a->state == SPX_CHAIN_OFF || a->from != at)
			continue;
		if (a->to == first)
			return true;
		if (*seen & SPX_CHAIN_BIT(a->to))
			continue;
		*seen |= SPX_CHAIN_BIT(a->to);
		if (find_circle(v, first, a->to, seen))
			return true;
	}
	return false;
}

bool
spx_chains_check(const struct spx_view *v, char *why)
{
	for (uint32_t c = 0; c < v->nchain; c++) {
		const struct spx_chain *a = &v->chain[c];
		if (a->from >= v->ncluster || a->to >= v->ncluster)
			return spx_say(why,
				       "chain %u joins cluster %u to %u, but there are %u clusters",
				       c, a->from, a->to, v->ncluster);
		if (a->window < 1 || a->window > SPX_WINDOW_MAX)
			return spx_say(why, "chain %s -> %s: window %u is not 1 to %u",
				       v->cluster[a->from].name, v->cluster[a->to].name, a->window,
				       SPX_WINDOW_MAX);
		for (uint32_t d = 0; d < c; d++)
			if (v->chain[d].from == a->from && v->chain[d].to == a->to)
				return spx_say(why, "chain %s -> %s is there twice",
					       v->cluster[a->from].name, v->cluster[a->to].name);
	}
	for (uint32_t k = 0; k < v->ncluster; k++) {
		uint64_t seen = 0;
		if (find_circle(v, k, k, &seen))
			return spx_say(why,
				       "chains lead from cluster %s back to it: a frame would go "
				       "round for ever; remove one of them",
				       v->cluster[k].name);
	}
	return true;
}

/* A frame has one place in an I/O process, so it cannot pass twice. */
static bool
check_no_series(const struct spx_view *v, const struct spx_proc *p, char *why)
{
	for (uint32_t c = 0; c < v->nchain; c++)
		for (uint32_t d = 0; d < v->nchain; d++) {
			const struct spx_chain *a = &v->chain[c], *b = &v->chain[d];
			uint64_t both = SPX_CHAIN_BIT(c) | SPX_CHAIN_BIT(d), seen = 0;
			if ((p->chains & both) != both || a->state == SPX_CHAIN_OFF ||
			    b->state == SPX_CHAIN_OFF)
				continue;
			if (a->to == b->from || find_circle(v, b->from, a->to, &seen))
				return spx_say(why,
					       "I/O process %u serves chains %s -> %s and %s -> "
					       "%s, one behind the other: take two processes",
					       p->id, v->cluster[a->from].name,
					       v->cluster[a->to].name, v->cluster[b->from].name,
					       v->cluster[b->to].name);
		}
	return true;
}

static bool
check_proc(const struct spx_view *v, uint32_t i, char *why)
{
	const struct spx_proc *p = &v->proc[i];

	if (p->id == SPX_NONE || (i > 0 && p->id <= v->proc[i - 1].id))
		return spx_say(why, "ids of processes have to rise: %u is at place %u", p->id, i);
	if (p->cluster >= v->ncluster)
		return spx_say(why, "process %u is of cluster %u, but there are %u", p->id,
			       p->cluster, v->ncluster);
	if (p->kind == SPX_IO && v->nchain < 64 && p->chains >> v->nchain)
		return spx_say(why, "I/O process %u serves a chain that is not there", p->id);
	if (p->kind != SPX_COMPUTE)
		return p->state == SPX_DEAD || check_no_series(v, p, why);
	if (p->rank >= v->cluster[p->cluster].compute)
		return spx_say(why, "process %u has rank %u of cluster %s, which has %u ranks",
			       p->id, p->rank, v->cluster[p->cluster].name,
			       v->cluster[p->cluster].compute);
	const struct spx_proc *other = spx_view_role(v, SPX_ROLE(p->cluster, p->rank));
	if (p->state != SPX_DEAD && other != p)
		return spx_say(why, "processes %u and %u both have rank %u of cluster %s",
			       other->id, p->id, p->rank, v->cluster[p->cluster].name);
	return true;
}

bool
spx_view_check(const struct spx_view *v, char *why)
{
	if (v->nproc > SPX_PROCS_MAX || v->ncluster > SPX_CLUSTERS_MAX ||
	    v->nchain > SPX_CHAINS_MAX)
		return spx_say(why,
			       "%u processes, %u clusters, %u chains: at most %u, %u, %u are "
			       "possible",
			       v->nproc, v->ncluster, v->nchain, SPX_PROCS_MAX, SPX_CLUSTERS_MAX,
			       SPX_CHAINS_MAX);
	for (uint32_t i = 0; i < v->ncluster; i++) {
		const char *name = v->cluster[i].name;
		if (!name[0] || !memchr(name, 0, SPX_NAME_MAX))
			return spx_say(why, "cluster %u needs a name of 1 to %d bytes", i,
				       SPX_NAME_MAX - 1);
		if (spx_view_cluster(v, name) != i)
			return spx_say(why, "two clusters are named %s", name);
	}
	if (!spx_chains_check(v, why))
		return false;
	for (uint32_t i = 0; i < v->nproc; i++)
		if (!check_proc(v, i, why))
			return false;
	return true;
}

/* --- start -------------------------------------------------------------------- */

/* Clusters that chains connect with one, whatever their direction; bits. */
static uint64_t
find_pipeline(const struct spx_view *v, uint16_t cluster)
{
	uint64_t in = SPX_CHAIN_BIT(cluster), before = 0;

	while (in != before) {
		before = in;
		for (uint32_t c = 0; c < v->nchain; c++) {
			uint64_t ends =
				SPX_CHAIN_BIT(v->chain[c].from) | SPX_CHAIN_BIT(v->chain[c].to);
			if (v->chain[c].state != SPX_CHAIN_OFF && (in & ends))
				in |= ends;
		}
	}
	return in;
}

static bool
is_cluster_ready(const struct spx_view *v, uint16_t k, char *why)
{
	for (uint16_t r = 0; r < v->cluster[k].compute; r++) {
		const struct spx_proc *p = spx_view_role(v, SPX_ROLE(k, r));
		if (!p || !p->ready)
			return spx_say(why, "cluster %s: rank %u of %u %s", v->cluster[k].name, r,
				       v->cluster[k].compute,
				       p ? "has not called MPISP_Init yet" : "is not there");
	}
	return true;
}

static bool
is_chain_served(const struct spx_view *v, uint32_t c, char *why)
{
	for (uint32_t i = 0; i < v->nproc; i++) {
		const struct spx_proc *p = &v->proc[i];
		if (p->kind == SPX_IO && p->state == SPX_ALIVE && p->ready &&
		    (p->chains & SPX_CHAIN_BIT(c)))
			return true;
	}
	return spx_say(why, "chain %s -> %s: no I/O process is ready",
		       v->cluster[v->chain[c].from].name, v->cluster[v->chain[c].to].name);
}

bool
spx_view_complete(const struct spx_view *v, uint16_t cluster, char *why)
{
	uint64_t all = find_pipeline(v, cluster);

	for (uint16_t k = 0; k < v->ncluster; k++)
		if ((all & SPX_CHAIN_BIT(k)) && !v->cluster[k].started && !v->cluster[k].lost &&
		    !is_cluster_ready(v, k, why))
			return false;
	for (uint32_t c = 0; c < v->nchain; c++) {
		const struct spx_chain *a = &v->chain[c];
		if (a->state == SPX_CHAIN_ACTIVE && (all & SPX_CHAIN_BIT(a->from)) &&
		    !(v->cluster[a->from].started && v->cluster[a->to].started) &&
		    !is_chain_served(v, c, why))
			return false;
	}
	return true;
}
