/* SPDX-License-Identifier: BSD-2-Clause */
#include "rows.h"

#include "stats.h"

#include "relay/addr.h"

#include <stdio.h>

/* Where a field goes. */
struct to {
	const struct rd_fields *f;
	void *to;
};

static void
put_number(struct to t, const char *name, uint64_t value)
{
	t.f->number(t.to, name, value);
}

static void
text(struct to t, const char *name, const char *value)
{
	t.f->text(t.to, name, value);
}

static void
flag(struct to t, const char *name, bool value)
{
	t.f->flag(t.to, name, value);
}

/* ---- the relay, its workers ------------------------------------------------------------- */

/* Of one worker, or of all. */
static void
put_shared(struct to t, const struct rd_shard *s, uint32_t nworkers)
{
	put_number(t, "busy_permille", rd_busy_permille(s, nworkers));
	put_number(t, "paths", s->npaths);
	put_number(t, "segments", s->relay.tx_segments);
	put_number(t, "bytes", s->relay.tx_bytes);
	put_number(t, "retransmits", s->suci.tx_retransmits);
	put_number(t, "tx_ce", s->suci.tx_ce);
	put_number(t, "ecn_failed", s->suci.ecn_failed);
	put_number(t, "events_lost", s->worker.events_lost);
	put_number(t, "notes_lost", s->worker.notes_lost);
	put_number(t, "paths_moved", s->suci.paths_moved);
	put_number(t, "tx_mtu_probes", s->suci.tx_mtu_probes);
	put_number(t, "custody", s->relay_held);
	put_number(t, "pool_size", s->pool_size);
	put_number(t, "pool_in_use", s->pool_in_use);
}

static void
put_leg(struct to t, const char *leg, const struct rd_leg_counters *l)
{
	const struct {
		const char *name;
		uint64_t value;
	} row[] = {
		{"rx_frames", l->rx_frames},
		{"rx_bytes", l->rx_bytes},
		{"tx_frames", l->tx_frames},
		{"tx_bytes", l->tx_bytes},
		{"tx_sealed", l->tx_sealed},
		{"steered", l->steered},
		{"rx_steered", l->rx_steered},
		{"tx_steered", l->tx_steered},
		{"drop_steer_full", l->drop_steer_full},
		{"rx_tap", l->rx_tap},
		{"tx_tap", l->tx_tap},
	};
	char name[64];
	for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
		snprintf(name, sizeof name, "%s/%s", leg, row[k].name);
		put_number(t, name, row[k].value);
	}
}

void
rd_fields_relay(const struct rd_fields *f, void *to, const struct rd_conf *conf,
		const struct rd_snapshot *s)
{
	const struct to t = {f, to};
	char a[RD_IPV4_TEXT], name[64];
	text(t, "cluster", conf->cluster.name);
	put_number(t, "relay", conf->cluster.self);
	put_number(t, "relays", conf->cluster.nrelays);
	text(t, "instance", conf->eal.file_prefix);
	text(t, "private", rd_ipv4_text(conf->port[RD_LEG_PRIVATE].address, a));
	text(t, "global", rd_ipv4_text(conf->port[RD_LEG_GLOBAL].address, a));
	text(t, "impi_server", conf->impi.server);
	put_number(t, "uptime_ms", s->sum.uptime_ns / 1000000);
	put_number(t, "jobs", s->sum.njobs);
	if (s->sum.checked)
		flag(t, "consistent", s->sum.consistent);
	put_shared(t, &s->sum, s->nshards);
	for (uint32_t i = 0; i < s->sum.nlegs; i++) {
		put_leg(t, rd_leg_names[i], &s->sum.leg[i]);
		snprintf(name, sizeof name, "%s/neighbours", rd_leg_names[i]);
		put_number(t, name, s->sum.neigh_used[i]);
	}
}

void
rd_fields_worker(const struct rd_fields *f, void *to, const struct rd_snapshot *s, uint32_t i)
{
	const struct rd_shard *w = s->shard[i];
	const struct to t = {f, to};
	struct rd_leg_counters sum = {0};
	for (uint32_t k = 0; k < w->nlegs; k++) {
#define X(n, h) sum.n += w->leg[k].n;
		RD_LEG_COUNTERS(X)
#undef X
	}
	put_number(t, "worker", w->index);
	put_number(t, "lcore", w->lcore);
	put_number(t, "node", w->socket < 0 ? 0 : (uint64_t)w->socket);
	put_number(t, "uptime_us", w->uptime_ns / 1000);
	put_number(t, "busy_us", w->worker.busy_ns / 1000);
	put_number(t, "slept_us", w->slept_ns / 1000);
	put_number(t, "turns", w->worker.turns);
	put_number(t, "busy_turns", w->worker.busy_turns);
	put_number(t, "sleeps", w->sleeps);
	put_number(t, "woken", w->woken);
	put_number(t, "look_us", w->look_ns / 1000);
	put_number(t, "rx_frames", sum.rx_frames);
	put_number(t, "tx_frames", sum.tx_frames);
	put_number(t, "steered", sum.steered);
	put_number(t, "rx_steered", sum.rx_steered);
	put_number(t, "tx_steered", sum.tx_steered);
	put_number(t, "drop_steer_full", sum.drop_steer_full);
	put_shared(t, w, 1);
}

/* ---- doors ------------------------------------------------------------------------------ */

void
rd_fields_doors(const struct rd_fields *f, void *to, const struct rd_snapshot *s, uint32_t i)
{
	const struct rd_shard *w = s->shard[i];
	const struct relay_door_info *d = &w->doors;
	const struct relay_counters *n = &w->relay;
	const struct to t = {f, to};
	put_number(t, "worker", w->index);
	put_number(t, "own", d->own);
	put_number(t, "imports", d->imports);
	put_number(t, "exports", d->exports);
	put_number(t, "going", d->dying);
	put_number(t, "free", d->places_free);
	put_number(t, "holds", d->holds);
	put_number(t, "processes", d->processes);
	put_number(t, "clusters", d->clusters);
	put_number(t, "registered", n->doors_registered);
	put_number(t, "gone", n->doors_gone);
	put_number(t, "imported", n->doors_imported);
	put_number(t, "dropped", n->doors_dropped);
	put_number(t, "asks", n->door_asks);
	put_number(t, "granted", n->door_answers);
}

/* ---- paths, jobs ------------------------------------------------------------------------ */

static const char *
cc_name(enum suci_cc_kind cc)
{
	static const char *const names[] = {"fixed", "cubic", "bbr"};
	return (unsigned)cc < sizeof names / sizeof names[0] ? names[cc] : "?";
}

void
rd_fields_path(const struct rd_fields *f, void *to, const struct rd_snapshot *s, uint32_t i)
{
	const struct rd_path_row *r = &s->sum.path[i];
	const struct suci_path_info *p = &r->suci;
	const struct to t = {f, to};
	char peer[SUCI_ADDR_TEXT_MAX];
	put_number(t, "path", r->path);
	put_number(t, "worker", r->worker);
	text(t, "kind", rd_path_kind_name(r->known ? r->relay.kind : RELAY_PATH_NONE));
	text(t, "peer", suci_addr_text(&p->peer, peer));
	text(t, "leg", rd_path_leg_name(p));
	text(t, "state", p->up ? "up" : "connecting");
	flag(t, "sealed", p->sealed);
	if (p->sealed)
		put_number(t, "key", p->key_id);
	text(t, "cc", cc_name(p->cc));
	flag(t, "ecn", p->ecn);
	put_number(t, "tx_ce", p->tx_ce);
	put_number(t, "mtu", p->mtu);
	put_number(t, "mtu_max", p->mtu_max);
	put_number(t, "moves", p->moves);
	put_number(t, "rtt_us", p->rtt_ns / 1000);
	put_number(t, "rtt_min_us", p->rtt_ns_min / 1000);
	put_number(t, "rtt_var_us", p->rtt_ns_var / 1000);
	put_number(t, "cwnd", p->cwnd);
	put_number(t, "in_flight", p->in_flight);
	put_number(t, "credit", p->peer_credit);
	put_number(t, "queued", p->queued);
	put_number(t, "rate_bps", p->rate_bps * 8);
	put_number(t, "tx_segments", p->tx_segments);
	put_number(t, "retransmits", p->tx_retransmits);
	put_number(t, "rx_segments", p->rx_segments);
	put_number(t, "tx_bytes", p->tx_bytes);
	put_number(t, "rx_bytes", p->rx_bytes);
	put_number(t, "silent_ms",
		   s->sum.now_ns > p->last_rx_ns ? (s->sum.now_ns - p->last_rx_ns) / 1000000 : 0);
	if (!r->known)
		return;
	put_number(t, "job", r->relay.job);
	if (r->relay.kind == RELAY_PATH_PROC)
		put_number(t, "rank", r->relay.rank);
	if (r->relay.kind == RELAY_PATH_LIGHT)
		put_number(t, "slot", r->relay.rank);
	put_number(t, "dropped", r->relay.dropped);
	put_number(t, "refused", r->relay.refused);
	put_number(t, "held", r->relay.held);
}

void
rd_fields_job(const struct rd_fields *f, void *to, const struct rd_snapshot *s, uint32_t i)
{
	const struct relay_job_info *j = &s->sum.job[i];
	const struct to t = {f, to};
	put_number(t, "job", j->id);
	put_number(t, "label_base", j->label_base);
	put_number(t, "client", j->my_client);
	put_number(t, "clients", j->nclients);
	put_number(t, "processes", j->nworld);
	put_number(t, "first_local", j->first_local);
	put_number(t, "local", j->nlocal);
	put_number(t, "local_up", j->local_up);
	put_number(t, "local_left", j->local_left);
	put_number(t, "relay_hosts", j->nhosts);
	put_number(t, "trunks", j->trunks);
	put_number(t, "trunks_up", j->trunks_up);
	put_number(t, "gateways", j->gateways);
	put_number(t, "gateways_up", j->gateways_up);
	put_number(t, "rx_segments", j->rx_segments);
	put_number(t, "rx_bytes", j->rx_bytes);
	put_number(t, "age_ms", (s->sum.now_ns - j->since_ns) / 1000000);
}

/* ---- the gateway ------------------------------------------------------------------------ */

void
rd_fields_gateway(const struct rd_fields *f, void *to, const struct rd_snapshot *s)
{
	const struct rd_gateway_snapshot *g = &s->gateway;
	const struct to t = {f, to};
	flag(t, "enabled", g->on);
	if (!g->on)
		return;
	put_number(t, "channels", g->nchannels);
	put_number(t, "channels_max", g->channels_max);
	put_number(t, "held_bytes", g->held_bytes);
	put_number(t, "packet_bytes", g->packet_bytes);
	put_number(t, "guests", g->guests);
	put_number(t, "look_us", g->look_ns / 1000);
	if (g->checked)
		flag(t, "consistent", g->consistent);
	put_number(t, "suci_held", g->suci_held);
#define X(n, h) put_number(t, #n, g->gw.n);
	GW_COUNTERS(X)
#undef X
#define X(n, h) put_number(t, "io/" #n, g->io.n);
	RD_GATEWAY_COUNTERS(X)
#undef X
}

void
rd_fields_channel(const struct rd_fields *f, void *to, const struct rd_snapshot *s, uint32_t i)
{
	const struct rd_channel_row *r = &s->gateway.channel[i];
	const struct gw_channel_info *c = &r->info;
	const struct to t = {f, to};
	char ip[RD_IPV4_TEXT], at[RD_IPV4_TEXT + 8];
	put_number(t, "channel", r->channel);
	put_number(t, "label_base", c->job);
	text(t, "state", rd_channel_state_name(c));
	snprintf(at, sizeof at, "%s:%u", rd_ipv4_text(c->local_ip, ip), c->local_port);
	text(t, "local", at);
	snprintf(at, sizeof at, "%s:%u", rd_ipv4_text(c->remote_ip, ip), c->remote_port);
	text(t, "remote", at);
	flag(t, "connects", c->connects);
	flag(t, "up", c->up);
	flag(t, "fini_rx", c->fini_rx);
	flag(t, "fini_tx", c->fini_tx);
	put_number(t, "rx_packets", c->rx_packets);
	put_number(t, "rx_bytes", c->rx_bytes);
	put_number(t, "tx_packets", c->tx_packets);
	put_number(t, "tx_bytes", c->tx_bytes);
	put_number(t, "queued_bytes", c->queued_bytes);
	put_number(t, "held_bytes", c->held_bytes);
	flag(t, "paused", c->paused);
}
