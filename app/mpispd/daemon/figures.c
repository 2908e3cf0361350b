/* SPDX-License-Identifier: BSD-2-Clause */
/* What this daemon has counted, by group and name (doc/counters.md). */
#include "daemon.h"

#include "spd/fence.h"
#include "spd/pmix.h"

#include <jansson.h>

static void
put_figure(json_t *o, const char *name, uint64_t n)
{
	json_object_set_new(o, name, json_integer((json_int_t)n));
}

static json_t *
count_blocks(void)
{
	json_t *o = json_object();
	uint64_t dropped = 0, malformed = 0;

	for (uint32_t u = 0; u < spd.conf->nunits; u++) {
		dropped += spd.peer[u].dropped;
		malformed += spd.peer[u].malformed;
	}
	put_figure(o, "dropped", dropped);
	put_figure(o, "malformed", malformed + spd.far_malformed);
	return o;
}

static json_t *
count_network(void)
{
	json_t *o = json_object();
	struct datagram_counter c, far = {0};
	struct datagram_sock *doors = spd_sites_net();

	for (unsigned i = 0; datagram_counter(spd.net, i, &c) == 0; i++)
		put_figure(
			o, c.name,
			c.value + (doors && datagram_counter(doors, i, &far) == 0 ? far.value : 0));
	return o;
}

#define PUT(n, help) put_figure(o, #n, c->n);

static json_t *
count_node(const struct sp_node_counts *c)
{
	json_t *o = json_object();

	SP_NODE_COUNTERS(PUT)
	return o;
}

static json_t *
count_quorum(const struct quorum_counts *c)
{
	json_t *o = json_object();

	QUORUM_COUNTERS(PUT)
	return o;
}

static json_t *
count_fences(const struct spd_fence_counts *c)
{
	json_t *o = json_object();

	SPD_FENCE_COUNTERS(PUT)
	return o;
}

json_t *
spd_figures(void)
{
	const struct quorum_counts *q = spd.node ? sp_node_quorum(spd.node) : NULL;
	const struct spd_fence_counts *f = spd_foreign_fences();
	json_t *o = json_pack("{s:o, s:o, s:{s:I}}", "blocks", count_blocks(), "network",
			      count_network(), "pmix", "refused", (json_int_t)spd_pmix_refused());

	if (spd.node)
		json_object_set_new(o, "node", count_node(sp_node_counters(spd.node)));
	if (q)
		json_object_set_new(o, "quorum", count_quorum(q));
	if (f)
		json_object_set_new(o, "fences", count_fences(f));
	return json_pack("{s:s, s:s, s:o}", "universe", spd.conf->name, "unit",
			 spd.conf->unit[spd.me].name, "counters", o);
}
