/* A snapshot as JSON. */
#include "rpc_private.h"

#include "relay/addr.h"

static void
put_u64(json_t *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, json_integer((json_int_t)v));
}

static void
put_text(json_t *o, const char *key, const char *v)
{
	json_object_set_new(o, key, json_string(v));
}

static void
put_bool(json_t *o, const char *key, bool v)
{
	json_object_set_new(o, key, json_boolean(v));
}

/* ---- status ---------------------------------------------------------------------------- */

static void
put_leg(json_t *o, const char *leg, const struct rd_leg_counters *l, uint32_t neighbours)
{
	const struct {
		const char *name;
		uint64_t value;
	} row[] = {
		{"rx_frames", l->rx_frames}, {"rx_bytes", l->rx_bytes},
		{"tx_frames", l->tx_frames}, {"tx_bytes", l->tx_bytes},
		{"tx_sealed", l->tx_sealed}, {"rx_tap", l->rx_tap},
		{"tx_tap", l->tx_tap},	     {"neighbours", neighbours},
	};
	char name[64];
	for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
		snprintf(name, sizeof name, "%s/%s", leg, row[k].name);
		put_u64(o, name, row[k].value);
	}
}

static json_t *
worker_row(const struct rd_snapshot *s)
{
	json_t *o = json_object();
	put_u64(o, "worker", s->index);
	put_u64(o, "lcore", s->lcore);
	put_u64(o, "node", s->socket < 0 ? 0 : (uint64_t)s->socket);
	put_u64(o, "uptime_us", s->uptime_ns / 1000);
	put_u64(o, "busy_us", s->worker.busy_ns / 1000);
	put_u64(o, "slept_us", s->slept_ns / 1000);
	put_u64(o, "turns", s->worker.turns);
	put_u64(o, "busy_turns", s->worker.busy_turns);
	put_u64(o, "rx_frames", s->leg[0].rx_frames + s->leg[1].rx_frames);
	put_u64(o, "tx_frames", s->leg[0].tx_frames + s->leg[1].tx_frames);
	put_u64(o, "steered", s->leg[0].steered + s->leg[1].steered);
	put_u64(o, "rx_steered", s->leg[0].rx_steered + s->leg[1].rx_steered);
	put_u64(o, "tx_steered", s->leg[0].tx_steered + s->leg[1].tx_steered);
	put_u64(o, "paths", s->npaths);
	put_u64(o, "segments", s->relay.tx_segments);
	put_u64(o, "bytes", s->relay.tx_bytes);
	put_u64(o, "retransmits", s->suci.tx_retransmits);
	put_u64(o, "custody", s->relay_held);
	put_u64(o, "pool_size", s->pool_size);
	put_u64(o, "pool_in_use", s->pool_in_use);
	return o;
}

json_t *
rd_rpc_status(const struct rd_control *c, const struct rd_snapshot *s)
{
	static const char *const phases[] = {"run", "drain", "end", "close", "stop"};
	const struct rd_conf *conf = c->conf;
	char a[RD_IPV4_TEXT];
	json_t *o = json_object(), *workers = json_array();
	put_text(o, "cluster", conf->cluster.name);
	put_u64(o, "relay", conf->cluster.self);
	put_u64(o, "relays", conf->cluster.nrelays);
	put_text(o, "instance", conf->eal.file_prefix);
	put_text(o, "phase", phases[c->phase]);
	put_u64(o, "weight", c->rpc->weight);
	put_text(o, "private", rd_ipv4_text(conf->port[RD_LEG_PRIVATE].address, a));
	put_text(o, "global", rd_ipv4_text(conf->port[RD_LEG_GLOBAL].address, a));
	put_text(o, "impi_server", conf->impi.server);
	put_u64(o, "uptime_ms", s->uptime_ns / 1000000);
	put_u64(o, "jobs", s->njobs);
	put_u64(o, "paths", s->npaths);
	put_u64(o, "segments", s->relay.tx_segments);
	put_u64(o, "bytes", s->relay.tx_bytes);
	put_u64(o, "retransmits", s->suci.tx_retransmits);
	put_u64(o, "custody", s->relay_held);
	put_u64(o, "pool_size", s->pool_size);
	put_u64(o, "pool_in_use", s->pool_in_use);
	put_bool(o, "consistent", s->consistent);
	put_u64(o, "busy_permille", rd_busy_permille(s));
	for (int i = 0; i < RD_LEGS; i++)
		put_leg(o, rd_leg_names[i], &s->leg[i], s->neigh_used[i]);
	for (uint32_t i = 0; i < s->nshards; i++)
		json_array_append_new(workers, worker_row(s->shard[i]));
	json_object_set_new(o, "workers", workers);
	return o;
}

json_t *
rd_rpc_gateway(const struct rd_snapshot *s)
{
	const struct rd_gateway_snapshot *g = &s->gateway;
	json_t *o = json_object();
	put_bool(o, "enabled", g->on);
	if (!g->on)
		return o;
	put_u64(o, "channels", g->nchannels);
	put_u64(o, "channels_max", g->channels_max);
	put_u64(o, "held_bytes", g->held_bytes);
	put_u64(o, "packet_bytes", g->packet_bytes);
	put_u64(o, "guests", g->guests);
	put_bool(o, "consistent", g->consistent);
	put_u64(o, "suci_held", g->suci_held);
#define X(n, h) put_u64(o, #n, g->gw.n);
	GW_COUNTERS(X)
#undef X
#define X(n, h) put_u64(o, "io/" #n, g->io.n);
	RD_GATEWAY_COUNTERS(X)
#undef X
	return o;
}

struct drops {
	json_t *rows;
	bool all;
};

static void
add_drop(void *user, const char *name, uint64_t count, const char *help)
{
	struct drops *d = user;
	if (!count && !d->all)
		return;
	json_t *o = json_object();
	put_text(o, "name", name);
	put_u64(o, "count", count);
	put_text(o, "help", help);
	json_array_append_new(d->rows, o);
}

json_t *
rd_rpc_drops(const struct rd_snapshot *s, bool all)
{
	struct drops d = {json_array(), all};
	json_t *o = json_object();
	rd_stats_drops(s, add_drop, &d);
	put_u64(o, "time_us", s->now_ns / 1000);
	json_object_set_new(o, "drops", d.rows);
	return o;
}

/* ---- rows -------------------------------------------------------------------------------- */

/* {time_us, count, [next,] NAME: [rows of first..]} */
static json_t *
page(const struct rd_snapshot *s, const char *name, uint32_t count, uint32_t next, json_t *rows)
{
	json_t *o = json_object();
	put_u64(o, "time_us", s->now_ns / 1000);
	put_u64(o, "count", count);
	if (next < count)
		put_u64(o, "next", next);
	json_object_set_new(o, name, rows);
	return o;
}

static const char *
cc_name(enum suci_cc_kind cc)
{
	static const char *const names[] = {"fixed", "cubic", "bbr"};
	return (unsigned)cc < sizeof names / sizeof names[0] ? names[cc] : "?";
}

static json_t *
path_row(const struct rd_snapshot *s, const struct rd_path_row *r)
{
	const struct suci_path_info *p = &r->suci;
	char peer[RELAY_ADDR_TEXT_MAX];
	json_t *o = json_object();
	put_u64(o, "path", r->path);
	put_u64(o, "worker", r->worker);
	put_text(o, "kind", rd_path_kind_name(r->known ? r->relay.kind : RELAY_PATH_NONE));
	put_text(o, "peer", relay_addr_text(&p->peer, peer));
	put_text(o, "leg", rd_leg_names[p->peer.leg == RELAY_LEG_GLOBAL]);
	put_text(o, "state", p->up ? "up" : "connecting");
	put_bool(o, "sealed", p->sealed);
	if (p->sealed)
		put_u64(o, "key", p->key_id);
	put_text(o, "cc", cc_name(p->cc));
	put_bool(o, "ecn", p->ecn);
	put_u64(o, "mtu", p->mtu);
	put_u64(o, "mtu_max", p->mtu_max);
	put_u64(o, "rtt_us", p->rtt_ns / 1000);
	put_u64(o, "rtt_min_us", p->rtt_ns_min / 1000);
	put_u64(o, "rtt_var_us", p->rtt_ns_var / 1000);
	put_u64(o, "cwnd", p->cwnd);
	put_u64(o, "in_flight", p->in_flight);
	put_u64(o, "credit", p->peer_credit);
	put_u64(o, "queued", p->queued);
	put_u64(o, "rate_bps", p->rate_bps * 8);
	put_u64(o, "tx_segments", p->tx_segments);
	put_u64(o, "retransmits", p->tx_retransmits);
	put_u64(o, "rx_segments", p->rx_segments);
	put_u64(o, "tx_bytes", p->tx_bytes);
	put_u64(o, "rx_bytes", p->rx_bytes);
	put_u64(o, "silent_ms",
		s->now_ns > p->last_rx_ns ? (s->now_ns - p->last_rx_ns) / 1000000 : 0);
	put_u64(o, "moves", p->moves);
	if (!r->known)
		return o;
	put_u64(o, "job", r->relay.job);
	if (r->relay.kind == RELAY_PATH_PROC)
		put_u64(o, "rank", r->relay.rank);
	put_u64(o, "dropped", r->relay.dropped);
	put_u64(o, "refused", r->relay.refused);
	put_u64(o, "held", r->relay.held);
	return o;
}

json_t *
rd_rpc_paths(const struct rd_snapshot *s, uint32_t first, uint32_t max, uint32_t kind)
{
	json_t *rows = json_array();
	uint32_t i = first, n = 0;
	for (; i < s->npaths && n < max; i++) {
		const struct rd_path_row *r = &s->path[i];
		if (kind != RELAY_PATH_NONE && (!r->known || r->relay.kind != kind))
			continue;
		json_array_append_new(rows, path_row(s, r));
		n++;
	}
	return page(s, "paths", s->npaths, i, rows);
}

static json_t *
job_row(const struct rd_snapshot *s, const struct relay_job_info *j)
{
	json_t *o = json_object();
	put_u64(o, "job", j->id);
	put_u64(o, "label_base", j->label_base);
	put_u64(o, "client", j->my_client);
	put_u64(o, "clients", j->nclients);
	put_u64(o, "processes", j->nworld);
	put_u64(o, "first_local", j->first_local);
	put_u64(o, "local", j->nlocal);
	put_u64(o, "local_up", j->local_up);
	put_u64(o, "local_left", j->local_left);
	put_u64(o, "relay_hosts", j->nhosts);
	put_u64(o, "trunks", j->trunks);
	put_u64(o, "trunks_up", j->trunks_up);
	put_u64(o, "gateways", j->gateways);
	put_u64(o, "gateways_up", j->gateways_up);
	put_u64(o, "rx_segments", j->rx_segments);
	put_u64(o, "rx_bytes", j->rx_bytes);
	put_u64(o, "age_ms", (s->now_ns - j->since_ns) / 1000000);
	return o;
}

json_t *
rd_rpc_jobs(const struct rd_snapshot *s, uint32_t first, uint32_t max)
{
	json_t *rows = json_array();
	uint32_t i = first;
	for (; i < s->njobs && i - first < max; i++)
		json_array_append_new(rows, job_row(s, &s->job[i]));
	return page(s, "jobs", s->njobs, i, rows);
}

static json_t *
channel_row(const struct rd_channel_row *r)
{
	const struct gw_channel_info *c = &r->info;
	char ip[RD_IPV4_TEXT], at[RD_IPV4_TEXT + 8];
	json_t *o = json_object();
	put_u64(o, "channel", r->channel);
	put_u64(o, "label_base", c->job);
	put_text(o, "state", rd_channel_state_name(c));
	snprintf(at, sizeof at, "%s:%u", rd_ipv4_text(c->local_ip, ip), c->local_port);
	put_text(o, "local", at);
	snprintf(at, sizeof at, "%s:%u", rd_ipv4_text(c->remote_ip, ip), c->remote_port);
	put_text(o, "remote", at);
	put_bool(o, "connects", c->connects);
	put_bool(o, "up", c->up);
	put_bool(o, "fini_rx", c->fini_rx);
	put_bool(o, "fini_tx", c->fini_tx);
	put_u64(o, "rx_packets", c->rx_packets);
	put_u64(o, "rx_bytes", c->rx_bytes);
	put_u64(o, "tx_packets", c->tx_packets);
	put_u64(o, "tx_bytes", c->tx_bytes);
	put_u64(o, "queued_bytes", c->queued_bytes);
	put_u64(o, "held_bytes", c->held_bytes);
	put_bool(o, "paused", c->paused);
	return o;
}

json_t *
rd_rpc_channels(const struct rd_snapshot *s, uint32_t first, uint32_t max)
{
	json_t *rows = json_array();
	uint32_t n = s->gateway.on ? s->gateway.nchannels : 0, i = first;
	for (; i < n && i - first < max; i++)
		json_array_append_new(rows, channel_row(&s->gateway.channel[i]));
	return page(s, "channels", n, i, rows);
}
