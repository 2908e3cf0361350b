/* SPDX-License-Identifier: BSD-2-Clause */
/* Topology, start, and the checks that concern everybody. */
#include "world.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "relay/deal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
world_conf_default(struct world_conf *c)
{
	*c = (struct world_conf){
		.nclusters = 1,
		.cluster = {{2, 0}},
		.private_nic = {.rate_bps = 1250000000,
				.delay_ns = 5 * BASE_US_NS,
				.overhead_bytes = SIM_UDP_OVERHEAD},
		.global_nic = {.rate_bps = 125000000, .overhead_bytes = SIM_UDP_OVERHEAD},
		.trunk = {.delay_ns = 5 * BASE_MS_NS},
		.lane_window = 4096,
		.private_mtu = 9000 - SIM_IP_UDP,
		.global_mtu = 1500 - SIM_IP_UDP,
		.start_ns = BASE_MS_NS,
	};
	c->end = (struct suci_config){
		.limits = {.paths_max = 32,
			   .segments_max = 8192,
			   .queue_max = 4096,
			   .window_max = 4096},
		.cc = SUCI_CC_CUBIC,
		.mtu_max = 1472,
	};
	c->relay = c->end;
	c->relay.limits = (struct suci_limits){
		.paths_max = 64, .segments_max = 32768, .queue_max = 8192, .window_max = 8192};
	c->lanes = (struct suci_lane_limits){.lanes_max = 32,
					     .blocks_max = 64,
					     .rx_blocks_max = 64,
					     .held_max = 256,
					     .ranges_max = 4096,
					     .labels_max = LABEL_BASE + RANKS_MAX};
}

/* The relay of cluster `client` that carries its own process, or answers for a remote
 * one. */
uint32_t
world_relay_for(const struct world *w, uint32_t client, uint32_t rank)
{
	uint32_t of = w->end[rank].client;
	uint32_t takers =
		relay_deal_takers(w->conf.cluster[client].ranks, w->conf.cluster[client].relays);
	return w->first_relay[client] +
	       relay_deal_owner(w->conf.cluster[of].ranks, takers, rank - w->first_rank[of]);
}

static void
make_id(uint8_t out[RELAY_PROC_ID_LEN], uint64_t token, uint8_t kind, uint32_t ipv4, uint32_t label)
{
	struct impi_hostid id = {
		.token = (uint32_t)token, .kind = kind, .port = UDP_PORT, .ipv4 = ipv4};
	impi_hostid_encode(&id, out);
	be64_store(out + 16, impi_pid_of(token, label));
}

static void
make_ids(struct world *w)
{
	for (uint32_t r = 0; r < w->nend; r++) {
		uint32_t c = w->end[r].client;
		uint32_t own = OWN_TOKEN + r;
		if (w->conf.cluster[c].relays)
			make_id(w->global_id[r], w->token[c], IMPI_HOSTID_RELAY,
				w->relay[world_relay_for(w, c, r)].ipv4[RELAY_LEG_GLOBAL],
				w->label_base[c] + r);
		else
			make_id(w->global_id[r], own, IMPI_HOSTID_LIBMPI, w->end[r].ipv4,
				LABEL_BASE + r);
		for (uint32_t v = 0; v < w->conf.nclusters; v++) {
			BASE_ASSERT(w->private_id[v]);
			uint8_t *id = w->private_id[v][r];
			if (v == c && w->conf.cluster[c].relays)
				make_id(id, own, IMPI_HOSTID_LIBMPI, w->end[r].ipv4,
					LABEL_BASE + r);
			else if (v != c && w->conf.cluster[v].relays)
				make_id(id, w->token[v], IMPI_HOSTID_RELAY,
					w->relay[world_relay_for(w, v, r)].ipv4[RELAY_LEG_PRIVATE],
					w->label_base[v] + r);
			else
				memcpy(id, w->global_id[r], RELAY_PROC_ID_LEN);
		}
	}
}

/* One link out and one link in for each port, in the middle a link of the pair where
 * conf has one. */
static void
wire_network(struct sim *s, uint32_t network, const struct sim_link_conf *nic,
	     const struct sim_link_conf *trunk, uint32_t *first, uint32_t *end,
	     uint32_t *trunk_first, uint32_t *trunk_end)
{
	uint32_t out[SIM_PORTS_MAX], in[SIM_PORTS_MAX];
	struct sim_link_conf egress = {
		.rate_bps = nic->rate_bps, .overhead_bytes = nic->overhead_bytes, .mtu = nic->mtu};
	*first = s->nlink;
	for (uint32_t p = 0; p < s->nport; p++) {
		if (s->port[p].network != network)
			continue;
		out[p] = sim_add_link(s, &egress);
		in[p] = sim_add_link(s, nic);
	}
	*end = s->nlink;
	if (trunk)
		*trunk_first = s->nlink;
	for (uint32_t a = 0; a < s->nport; a++)
		for (uint32_t b = 0; b < s->nport; b++) {
			if (a == b || s->port[a].network != network ||
			    s->port[b].network != network)
				continue;
			uint32_t hops[3] = {out[a], trunk ? sim_add_link(s, trunk) : in[b], in[b]};
			sim_set_route(s, a, b, hops, trunk ? 3 : 2);
		}
	if (trunk)
		*trunk_end = s->nlink;
}

static void
wire_all(struct world *w)
{
	struct sim_link_conf nic = w->conf.private_nic, global = w->conf.global_nic,
			     trunk = w->conf.trunk;
	nic.mtu = w->conf.private_mtu;
	global.mtu = trunk.mtu = w->conf.global_mtu;
	uint32_t first, end;
	w->private_links_first = w->s->nlink;
	for (uint32_t c = 0; c < w->conf.nclusters; c++)
		wire_network(w->s, c, &nic, NULL, &first, &end, NULL, NULL);
	w->private_links_end = w->s->nlink;
	wire_network(w->s, NET_GLOBAL, &global, &trunk, &w->global_links_first,
		     &w->global_links_end, &w->trunk_links_first, &w->trunk_links_end);
	struct sim_link_conf dark = {
		.delay_ns = 20 * BASE_US_NS, .mtu = w->conf.global_mtu, .loss_ppb = 1000000000};
	wire_network(w->s, NET_LIGHT, &w->conf.global_nic, &dark, &first, &end,
		     &w->light_links_first, &w->light_links_end);
}

struct world *
world_new(struct sim *s, const struct world_conf *conf)
{
	struct world *w = calloc(1, sizeof *w);
	BASE_ASSERT(w);
	w->s = s;
	w->conf = *conf;
	uint32_t hosts_max = w->conf.hosts_max ? w->conf.hosts_max : HOSTS_MAX;
	w->conf.hosts_max = hosts_max;
	w->global_id = calloc(RANKS_MAX, RELAY_PROC_ID_LEN);
	BASE_ASSERT(w->global_id);
	for (uint32_t c = 0; c < conf->nclusters; c++) {
		w->private_id[c] = calloc(RANKS_MAX, RELAY_PROC_ID_LEN);
		BASE_ASSERT(w->private_id[c]);
		w->first_rank[c] = w->nend;
		w->first_relay[c] = w->nrelay;
		w->label_base[c] = (1u << 24) + RELAY_LABEL_PAGE * (c + (uint32_t)(s->seed % 1000));
		w->token[c] = 0x5ec2e7000abc00 + c;
		BASE_ASSERT(w->nend + conf->cluster[c].ranks <=
			    (conf->cluster[c].relays ? hosts_max : RANKS_MAX));
		BASE_ASSERT(w->nrelay + conf->cluster[c].relays <= RELAYS_MAX);
		bool outside = conf->nclusters > 1 && !conf->cluster[c].relays;
		for (uint32_t i = 0; i < conf->cluster[c].ranks; i++, w->nend++)
			w->end[w->nend] = (struct end){.w = w,
						       .rank = w->nend,
						       .client = c,
						       .ipv4 = outside ? 0xc6336401 + w->nend
								       : 0x0a000001 + i};
		for (uint32_t i = 0; i < conf->cluster[c].relays; i++, w->nrelay++) {
			struct rnode *r = &w->relay[w->nrelay];
			*r = (struct rnode){.w = w,
					    .client = c,
					    .index = i,
					    .nlegs = 2 + conf->lights,
					    .ipv4 = {0x0a0000c8 + i, 0xc0000201 + 16 * c + i}};
			for (uint32_t leg = 2; leg < r->nlegs; leg++)
				r->ipv4[leg] = 0x0a320000 + LIGHTS_MAX * w->nrelay + leg;
		}
	}
	make_ids(w);
	for (uint32_t i = 0; i < w->nend; i++)
		end_new(&w->end[i]);
	for (uint32_t i = 0; i < w->nrelay; i++)
		rnode_new(&w->relay[i]);
	wire_all(w);
	sim_run(s, s->now_ns, NULL, NULL); /* channels come up */
	for (uint32_t c = 0; c < conf->nclusters; c++)
		if (conf->cluster[c].relays)
			rnode_begin(&w->relay[w->first_relay[c]]);
	sim_run(s, s->now_ns, NULL, NULL); /* the others get its job */
	w->started = true;
	return w;
}

void
world_start(struct world *w)
{
	for (uint32_t i = 0; i < w->nrelay; i++)
		rnode_drive(&w->relay[i]);
	for (uint32_t i = 0; i < w->nend; i++)
		sim_at(w->s, w->s->now_ns + w->conf.start_ns, end_start, &w->end[i], 0);
}

void
world_free(struct world *w)
{
	for (uint32_t i = 0; i < w->nend; i++) {
		end_kill(&w->end[i]);
		free(w->end[i].lane);
		free(w->end[i].path);
		free(w->end[i].relays);
	}
	for (uint32_t i = 0; i < w->nrelay; i++)
		rnode_kill(&w->relay[i]);
	for (uint32_t c = 0; c < w->conf.nclusters; c++)
		if (w->channels[c])
			channels_free(w->channels[c]);
	streams_free(w);
	for (uint32_t c = 0; c < CLUSTERS_MAX; c++)
		free(w->private_id[c]);
	free(w->global_id);
	free(w);
}

uint64_t
node_when(const struct node_clock *c, uint64_t t)
{
	if (t == BASE_NEVER_NS || t <= c->base_ns + c->step_ns)
		return t == BASE_NEVER_NS ? t : c->base_ns;
	/* Close to it from below, then the rest. */
	uint64_t at = t - c->step_ns;
	uint64_t away = (at - c->base_ns) / 1000000 * (uint64_t)(c->ppm < 0 ? -c->ppm : c->ppm);
	at = c->ppm < 0 ? at : at > away + c->base_ns ? at - away : c->base_ns;
	while (node_now(c, at) < t)
		at += t - node_now(c, at);
	return at;
}

bool
world_allow_one(struct world *w)
{
	bool more = false;
	for (uint32_t i = 0; i < w->nstream; i++) {
		stream_allow(&w->stream[i], w->stream[i].allowed + 1);
		more |= w->stream[i].allowed < w->stream[i].n;
	}
	for (uint32_t i = 0; i < w->nend; i++)
		end_drive(&w->end[i]);
	return more;
}

bool
world_complete(void *world)
{
	const struct world *w = world;
	return w->seen.placed == w->blocks_total && w->seen.done == w->blocks_total;
}

bool
world_quiet(void *world)
{
	const struct world *w = world;
	if (!world_complete(world))
		return false;
	for (uint32_t i = 0; i < w->nend; i++)
		if (w->end[i].alive &&
		    (suci_held(w->end[i].ep) || suci_lanes_pending(w->end[i].lanes)))
			return false;
	for (uint32_t i = 0; i < w->nrelay; i++)
		if (w->relay[i].alive &&
		    (relay_core_held(w->relay[i].core) || suci_held(w->relay[i].ep)))
			return false;
	return true;
}

bool
world_all_ended(void *world)
{
	const struct world *w = world;
	for (uint32_t i = 0; i < w->nend; i++)
		if (w->end[i].alive && !w->end[i].ended)
			return false;
	for (uint32_t i = 0; i < w->nrelay; i++)
		if (w->relay[i].alive && w->relay[i].has_job)
			return false;
	return true;
}
