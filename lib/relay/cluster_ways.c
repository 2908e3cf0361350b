/* SPDX-License-Identifier: BSD-2-Clause */
/* Which clients the workers of this relay and the other relays of the cluster can reach. */
#include "cluster_internal.h"

static void
send_ways(struct relay_cluster *c, uint32_t i, const struct cluster_job *j)
{
	struct relay_peer_frame f = {
		.type = RELAY_PEER_WAYS,
		.job = j->label_base,
		.ways = j->ways.told_relays,
	};
	(void)c->conf.ops->send(c->conf.user, i, &f); /* a channel that comes is told again */
}

void
relay_ways_tell(struct relay_cluster *c, const struct cluster_job *j, uint32_t i)
{
	send_ways(c, i, j);
}

static void
tell_workers(struct relay_cluster *c, struct cluster_job *j)
{
	uint32_t relays = 0;
	for (uint32_t i = 0; i < c->conf.nrelays; i++)
		relays |= j->ways.relay[i];
	for (uint32_t w = 0; w < c->nworkers; w++) {
		uint32_t others = relays;
		for (uint32_t k = 0; k < c->nworkers; k++)
			others |= k == w ? 0 : j->ways.worker[k];
		if (others == j->ways.told_worker[w])
			continue;
		j->ways.told_worker[w] = others;
		struct relay_cluster_order o = {
			.type = RELAY_CLUSTER_ELSEWHERE,
			.place = w,
			.job = RELAY_CLUSTER_NONE,
			.label_base = j->label_base,
			.ways = others,
			.text = "",
		};
		c->conf.ops->order(c->conf.user, &o);
	}
}

void
relay_ways_share(struct relay_cluster *c, struct cluster_job *j)
{
	uint32_t ours = 0;
	tell_workers(c, j);
	for (uint32_t w = 0; w < c->nworkers; w++)
		ours |= j->ways.worker[w];
	if (ours == j->ways.told_relays)
		return;
	j->ways.told_relays = ours;
	for (uint32_t i = 0; i < c->conf.nrelays; i++)
		if (i != c->conf.self)
			send_ways(c, i, j);
}
