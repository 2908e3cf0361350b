/* SPDX-License-Identifier: BSD-2-Clause */
/* What a person wants to see when a run hangs. */
#include "world.h"

#include <stdio.h>

static void
dump_endpoint(const struct suci *ep, uint32_t paths_max)
{
	const struct suci_counters *n = suci_counters(ep);
	printf("   ");
#define X(name, help) \
	if (n->name)  \
		printf(" %s=%llu", #name, (unsigned long long)n->name);
	SUCI_COUNTERS(X)
#undef X
	printf(" held=%u expiry=%lld us\n", suci_held(ep),
	       suci_expiry_ns(ep) == BASE_NEVER_NS ? -1LL : (long long)suci_expiry_ns(ep) / 1000);
	struct suci_path_info i;
	for (uint32_t p = 0; p < paths_max; p++)
		if (suci_path_info(ep, p, &i))
			printf("    path %u to ..%u.%u%s: mtu %u cwnd %u in flight %u queued %u "
			       "credit %u rtt %llu us rate %llu tx %llu again %llu rx %llu\n",
			       p, i.peer.ip[14], i.peer.ip[15], i.up ? "" : " (not up)", i.mtu,
			       i.cwnd, i.in_flight, i.queued, i.peer_credit,
			       (unsigned long long)i.rtt_ns / 1000, (unsigned long long)i.rate_bps,
			       (unsigned long long)i.tx_segments,
			       (unsigned long long)i.tx_retransmits,
			       (unsigned long long)i.rx_segments);
}

static void
dump_end(const struct end *e)
{
	printf("rank %u (client %u)%s%s\n", e->rank, e->client, e->alive ? "" : " dead",
	       e->ended ? " knows the end" : "");
	if (!e->alive)
		return;
	dump_endpoint(e->ep, e->w->conf.end.limits.paths_max);
	const struct suci_lane_counters *n = suci_lane_counters(e->lanes);
	printf("   ");
#define X(name, help) \
	if (n->name)  \
		printf(" %s=%llu", #name, (unsigned long long)n->name);
	SUCI_LANE_COUNTERS(X)
#undef X
	printf(" pending=%u\n", suci_lanes_pending(e->lanes));
	struct suci_lane_info i;
	for (uint32_t r = 0; r < e->w->nend; r++)
		if (e->lane[r] != NONE_U32 && suci_lane_info(e->lanes, e->lane[r], &i))
			printf("    lane to %u on path %u%s: tx next %u acked %u window %u blocks "
			       "%u; "
			       "rx next %u window %u\n",
			       r, i.path, i.direct ? " direct" : "", i.tx_next_seq, i.tx_acked_seq,
			       i.tx_window, i.tx_blocks_queued, i.rx_next_seq, i.rx_window);
}

void
world_dump(const struct world *w)
{
	for (uint32_t i = 0; i < w->nend; i++)
		dump_end(&w->end[i]);
	for (uint32_t i = 0; i < w->nrelay; i++) {
		const struct rnode *r = &w->relay[i];
		printf("relay %u.%u%s\n", r->client, r->index, r->alive ? "" : " dead");
		if (!r->alive)
			continue;
		dump_endpoint(r->ep, w->conf.relay.limits.paths_max);
		const struct relay_counters *n = relay_core_counters(r->core);
		printf("   ");
#define X(name, help) \
	if (n->name)  \
		printf(" %s=%llu", #name, (unsigned long long)n->name);
		RELAY_COUNTERS(X)
#undef X
		printf(" held=%llu\n", (unsigned long long)relay_core_held(r->core));
	}
	for (uint32_t i = 0; i < w->nstream; i++) {
		const struct stream *st = &w->stream[i];
		printf("stream %u->%u: %u blocks, %u sent %u begun %u placed %u done\n", st->src,
		       st->dst, st->n, st->sent, st->begun, st->placed, st->done);
	}
	for (uint32_t i = 0; i < w->s->nlink; i++) {
		const struct sim_link *l = &w->s->link[i];
		if (!l->n.offered)
			continue;
		printf("link %u:", i);
#define X(name)        \
	if (l->n.name) \
		printf(" %s=%llu", #name, (unsigned long long)l->n.name);
		SIM_LINK_COUNTERS(X)
#undef X
		printf("%s\n", l->down ? " down" : "");
	}
}
