/* SPDX-License-Identifier: BSD-2-Clause */
/* Clusters that agree on one view together. */
#include "spd/conf.h"

#include <stdlib.h>
#include <string.h>

static bool
is_in_group(const struct spd_conf *c, uint32_t cluster, uint32_t k)
{
	return k == cluster || (c->cluster[cluster].stage && c->cluster[k].stage);
}

uint32_t
spd_voters(const struct spd_conf *c, uint32_t units)
{
	uint32_t n = units < c->voters ? units : c->voters;

	return n - (n % 2 == 0); /* of an even number one more death stops all */
}

static void
count_members(const struct spd_conf *c, uint32_t cluster, struct spd_group *g)
{
	for (uint32_t k = 0; k < c->nclusters; k++) {
		const struct spd_cluster *of = &c->cluster[k];
		if (!is_in_group(c, cluster, k))
			continue;
		g->cluster[g->clusters++] = (uint16_t)k;
		g->role0[k] = g->roles;
		g->roles += spd_roles(of);
		g->slots += spd_slots(of);
		if (of->io_spares == 0)
			g->cold |= UINT64_C(1) << SPX_POOL(k, true);
		if (of->later)
			g->off |= UINT64_C(3) << SPX_POOL(k, false);
		for (uint32_t u = 0; u < of->units; u++)
			g->unit[g->units++] = (uint16_t)(of->first + u);
	}
	g->voters = spd_voters(c, g->units);
}

/* Slots from..to of a cluster, behind those that are there. */
static uint32_t
place_slots(const struct spd_conf *c, struct spd_group *g, uint32_t k, uint32_t from, uint32_t to,
	    uint32_t at)
{
	const struct spd_cluster *of = &c->cluster[k];

	for (uint32_t i = from; i < to; i++, at++) {
		bool io =
			(i >= of->compute && i < spd_roles(of)) || i >= spd_roles(of) + of->spares;
		g->unit_of[at] = (uint16_t)spd_group_unit(g, of->first + of->unit_of[i]);
		g->pool_of[at] = (uint8_t)SPX_POOL(k, io);
	}
	return at;
}

/* What each role is: of each cluster its ranks, then its I/O processes. */
static void
describe_roles(const struct spd_conf *c, struct spd_group *g)
{
	for (uint32_t i = 0; i < g->clusters; i++) {
		uint16_t k = g->cluster[i];
		const struct spd_cluster *of = &c->cluster[k];
		struct spx_role *r = &g->role[g->role0[k]];
		for (uint16_t n = 0; n < of->compute; n++)
			*r++ = (struct spx_role){SPX_PART_RANK, k, n};
		for (uint16_t n = 0; n < of->in; n++)
			*r++ = (struct spx_role){SPX_PART_BEFORE, k, n};
		for (uint16_t n = 0; n < of->out; n++)
			*r++ = (struct spx_role){SPX_PART_BEHIND, k, n};
	}
	for (uint32_t k = 0; k < c->nclusters; k++) {
		memcpy(g->names[k].name, c->cluster[k].name, sizeof g->names[k].name);
		g->names[k].compute = (uint16_t)c->cluster[k].compute;
	}
	g->agreed.role = g->role;
	g->agreed.cluster = g->names;
	g->agreed.clusters = c->nclusters;
}

bool
spd_group_make(const struct spd_conf *c, uint32_t cluster, struct spd_group *g)
{
	uint32_t at = 0;

	*g = (struct spd_group){.pipeline = c->cluster[cluster].stage};
	count_members(c, cluster, g);
	g->unit_of = calloc(g->slots, sizeof *g->unit_of);
	g->pool_of = calloc(g->slots, sizeof *g->pool_of);
	g->role = calloc(g->roles, sizeof *g->role);
	g->names = calloc(c->nclusters, sizeof *g->names);
	g->agreed.played = calloc(g->roles, sizeof *g->agreed.played);
	if (!g->unit_of || !g->pool_of || !g->role || !g->names || !g->agreed.played) {
		spd_group_free(g);
		return false;
	}
	describe_roles(c, g);
	for (uint32_t i = 0; i < g->clusters; i++)
		at = place_slots(c, g, g->cluster[i], 0, spd_roles(&c->cluster[g->cluster[i]]), at);
	for (uint32_t i = 0; i < g->clusters; i++) {
		const struct spd_cluster *of = &c->cluster[g->cluster[i]];
		at = place_slots(c, g, g->cluster[i], spd_roles(of), spd_slots(of), at);
	}
	return true;
}

void
spd_group_free(struct spd_group *g)
{
	free(g->unit_of);
	free(g->pool_of);
	free(g->role);
	free(g->names);
	free(g->agreed.played);
	g->unit_of = NULL;
	g->pool_of = NULL;
	g->role = NULL;
	g->names = NULL;
	g->agreed = (struct spx_agreed){.role = NULL};
}

uint32_t
spd_group_unit(const struct spd_group *g, uint32_t unit)
{
	for (uint32_t u = 0; u < g->units; u++)
		if (g->unit[u] == unit)
			return u;
	return SP_NONE;
}
