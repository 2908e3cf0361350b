#include "telemetry.h"
#include "control.h"
#include "stats.h"

#include "relay/addr.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_telemetry.h>

#include <bsd/stdlib.h>

#define ANSWER_MS 1000 /* longest wait for the worker */

static struct {
	pthread_mutex_t call;  /* one callback at a time */
	pthread_mutex_t state; /* what follows */
	pthread_cond_t changed;
	struct rd_control *ctl; /* NULL: not serving */
	struct rd_snapshot *snapshot;
	bool wanted; /* a callback waits */
	bool out;    /* the worker is writing the snapshot */
	uint64_t made;
} tel = {
	.call = PTHREAD_MUTEX_INITIALIZER,
	.state = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

static void
mail_done(struct rd_mail *mail)
{
	(void)mail;
	pthread_mutex_lock(&tel.state);
	tel.out = false;
	tel.made++;
	pthread_cond_broadcast(&tel.changed);
	pthread_mutex_unlock(&tel.state);
}

void
rd_telemetry_poll(struct rd_control *c)
{
	pthread_mutex_lock(&tel.state);
	bool post = tel.wanted && !tel.out && tel.ctl == c;
	if (post) {
		tel.wanted = false;
		tel.out = true;
	}
	pthread_mutex_unlock(&tel.state);
	if (!post)
		return;
	rd_control_snapshot(c, tel.snapshot, mail_done, NULL);
}

/* Call with tel.state held.  A fresh snapshot, or NULL. */
static const struct rd_snapshot *
fetch(void)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ANSWER_MS / 1000;
	if (!tel.ctl)
		return NULL;
	/* An answer that a call before us gave up on does not count. */
	uint64_t need = tel.made + (tel.out ? 2 : 1);
	while (tel.ctl && tel.made < need) {
		if (!tel.out && !tel.wanted) {
			tel.wanted = true;
			rd_wake_up(&tel.ctl->waker);
		}
		if (pthread_cond_timedwait(&tel.changed, &tel.state, &until) == ETIMEDOUT)
			return NULL;
	}
	return tel.ctl ? tel.snapshot : NULL;
}

typedef void (*fill_fn)(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first);

static int
answer(const char *params, struct rte_tel_data *d, fill_fn fill)
{
	const char *bad = NULL;
	long long first = params && *params ? strtonum(params, 0, UINT32_MAX, &bad) : 0;
	if (bad)
		return -EINVAL;
	pthread_mutex_lock(&tel.call);
	pthread_mutex_lock(&tel.state);
	const struct rd_snapshot *s = fetch();
	if (s) /* nobody writes it before the next call asks for it */
		fill(d, s, (uint32_t)first);
	pthread_mutex_unlock(&tel.state);
	pthread_mutex_unlock(&tel.call);
	return s ? 0 : -EAGAIN;
}

/* ---- contents ------------------------------------------------------------------ */

static void
add_drop(void *user, const char *name, uint64_t count, const char *help)
{
	(void)help;
	if (count)
		(void)rte_tel_data_add_dict_u64(user, name, count);
}

static void
fill_drops(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	(void)first;
	rte_tel_data_start_dict(d);
	/* DPDK takes names of [a-zA-Z0-9_/] up to 64 bytes; ours are. */
	rd_stats_drops(s, add_drop, d);
}

static void
fill_info(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	const struct rd_conf *conf = tel.ctl->conf;
	char a[RD_IPV4_TEXT];
	(void)first;
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "cluster", conf->cluster.name);
	rte_tel_data_add_dict_u64(d, "relay", conf->cluster.self);
	rte_tel_data_add_dict_u64(d, "relays", conf->cluster.nrelays);
	rte_tel_data_add_dict_string(d, "private",
				     rd_ipv4_text(conf->port[RD_LEG_PRIVATE].address, a));
	rte_tel_data_add_dict_string(d, "global",
				     rd_ipv4_text(conf->port[RD_LEG_GLOBAL].address, a));
	rte_tel_data_add_dict_string(d, "impi_server", conf->impi.server);
	rte_tel_data_add_dict_u64(d, "workers", s->nshards);
	rte_tel_data_add_dict_u64(d, "uptime_ms", s->uptime_ns / 1000000);
	rte_tel_data_add_dict_u64(d, "jobs", s->njobs);
	rte_tel_data_add_dict_u64(d, "paths", s->npaths);
	rte_tel_data_add_dict_u64(d, "segments", s->relay.tx_segments);
	rte_tel_data_add_dict_u64(d, "bytes", s->relay.tx_bytes);
	rte_tel_data_add_dict_u64(d, "retransmits", s->suci.tx_retransmits);
	rte_tel_data_add_dict_u64(d, "custody", s->relay_held);
	rte_tel_data_add_dict_u64(d, "pool_size", s->pool_size);
	rte_tel_data_add_dict_u64(d, "pool_in_use", s->pool_in_use);
	rte_tel_data_add_dict_u64(d, "consistent", s->consistent);
	rte_tel_data_add_dict_u64(d, "busy_permille", rd_busy_permille(s));
	for (int i = 0; i < RD_LEGS; i++) {
		const struct rd_leg_counters *l = &s->leg[i];
		char name[64];
		const struct {
			const char *name;
			uint64_t value;
		} row[] = {
			{"rx_frames", l->rx_frames},   {"rx_bytes", l->rx_bytes},
			{"tx_frames", l->tx_frames},   {"tx_bytes", l->tx_bytes},
			{"tx_sealed", l->tx_sealed},   {"steered", l->steered},
			{"tx_steered", l->tx_steered}, {"rx_tap", l->rx_tap},
			{"tx_tap", l->tx_tap},	       {"neighbours", s->neigh_used[i]},
		};
		for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
			snprintf(name, sizeof name, "%s/%s", rd_leg_names[i], row[k].name);
			rte_tel_data_add_dict_u64(d, name, row[k].value);
		}
	}
}

/* {first, count, [next,] rows: [...]} with the rows [first, first + RD_TEL_ROWS). */
static void
fill_rows(struct rte_tel_data *d, uint32_t first, uint32_t n, const char *name,
	  const struct rd_snapshot *s,
	  void (*row)(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t i))
{
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_u64(d, "count", n);
	struct rte_tel_data *rows = rte_tel_data_alloc();
	if (!rows)
		return;
	rte_tel_data_start_dict(rows);
	uint32_t i = first;
	for (; i < n && i - first < RD_TEL_ROWS; i++) {
		struct rte_tel_data *r = rte_tel_data_alloc();
		char key[16];
		if (!r)
			break;
		rte_tel_data_start_dict(r);
		row(r, s, i);
		snprintf(key, sizeof key, "%u", i);
		rte_tel_data_add_dict_container(rows, key, r, 0);
	}
	if (i < n)
		rte_tel_data_add_dict_u64(d, "next", i);
	rte_tel_data_add_dict_container(d, name, rows, 0);
}

static void
path_row(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t i)
{
	const struct rd_path_row *r = &s->path[i];
	char peer[RELAY_ADDR_TEXT_MAX];
	rte_tel_data_add_dict_u64(d, "path", r->path);
	rte_tel_data_add_dict_u64(d, "worker", r->worker);
	rte_tel_data_add_dict_string(d, "kind",
				     rd_path_kind_name(r->known ? r->relay.kind : RELAY_PATH_NONE));
	rte_tel_data_add_dict_string(d, "peer", relay_addr_text(&r->suci.peer, peer));
	rte_tel_data_add_dict_string(d, "leg", rd_leg_names[r->suci.peer.leg == RELAY_LEG_GLOBAL]);
	rte_tel_data_add_dict_string(d, "state", r->suci.up ? "up" : "connecting");
	rte_tel_data_add_dict_u64(d, "rtt_us", r->suci.rtt_ns / 1000);
	rte_tel_data_add_dict_u64(d, "cwnd", r->suci.cwnd);
	rte_tel_data_add_dict_u64(d, "in_flight", r->suci.in_flight);
	rte_tel_data_add_dict_u64(d, "queued", r->suci.queued);
	rte_tel_data_add_dict_u64(d, "rate_bps", r->suci.rate_bps * 8);
	rte_tel_data_add_dict_u64(d, "tx_segments", r->suci.tx_segments);
	rte_tel_data_add_dict_u64(d, "retransmits", r->suci.tx_retransmits);
	rte_tel_data_add_dict_u64(d, "rx_segments", r->suci.rx_segments);
	rte_tel_data_add_dict_u64(d, "tx_bytes", r->suci.tx_bytes);
	rte_tel_data_add_dict_u64(d, "rx_bytes", r->suci.rx_bytes);
	if (!r->known)
		return;
	rte_tel_data_add_dict_u64(d, "job", r->relay.job);
	if (r->relay.kind == RELAY_PATH_PROC)
		rte_tel_data_add_dict_u64(d, "rank", r->relay.rank);
	rte_tel_data_add_dict_u64(d, "dropped", r->relay.dropped);
	rte_tel_data_add_dict_u64(d, "refused", r->relay.refused);
	rte_tel_data_add_dict_u64(d, "held", r->relay.held);
}

static void
job_row(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t i)
{
	const struct relay_job_info *j = &s->job[i];
	rte_tel_data_add_dict_u64(d, "job", j->id);
	rte_tel_data_add_dict_u64(d, "label_base", j->label_base);
	rte_tel_data_add_dict_u64(d, "client", j->my_client);
	rte_tel_data_add_dict_u64(d, "clients", j->nclients);
	rte_tel_data_add_dict_u64(d, "processes", j->nworld);
	rte_tel_data_add_dict_u64(d, "first_local", j->first_local);
	rte_tel_data_add_dict_u64(d, "local", j->nlocal);
	rte_tel_data_add_dict_u64(d, "local_up", j->local_up);
	rte_tel_data_add_dict_u64(d, "local_left", j->local_left);
	rte_tel_data_add_dict_u64(d, "relay_hosts", j->nhosts);
	rte_tel_data_add_dict_u64(d, "trunks", j->trunks);
	rte_tel_data_add_dict_u64(d, "trunks_up", j->trunks_up);
	rte_tel_data_add_dict_u64(d, "rx_segments", j->rx_segments);
	rte_tel_data_add_dict_u64(d, "rx_bytes", j->rx_bytes);
	rte_tel_data_add_dict_u64(d, "age_ms", (s->now_ns - j->since_ns) / 1000000);
}

static void
channel_row(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t i)
{
	const struct gw_channel_info *c = &s->gateway.channel[i].info;
	char ip[RD_IPV4_TEXT], at[RD_IPV4_TEXT + 8];
	rte_tel_data_add_dict_u64(d, "channel", s->gateway.channel[i].channel);
	rte_tel_data_add_dict_u64(d, "label_base", c->job);
	rte_tel_data_add_dict_string(d, "state", rd_channel_state_name(c));
	snprintf(at, sizeof at, "%s:%u", rd_ipv4_text(c->local_ip, ip), c->local_port);
	rte_tel_data_add_dict_string(d, "local", at);
	snprintf(at, sizeof at, "%s:%u", rd_ipv4_text(c->remote_ip, ip), c->remote_port);
	rte_tel_data_add_dict_string(d, "remote", at);
	rte_tel_data_add_dict_u64(d, "connects", c->connects);
	rte_tel_data_add_dict_u64(d, "up", c->up);
	rte_tel_data_add_dict_u64(d, "fini_rx", c->fini_rx);
	rte_tel_data_add_dict_u64(d, "fini_tx", c->fini_tx);
	rte_tel_data_add_dict_u64(d, "rx_packets", c->rx_packets);
	rte_tel_data_add_dict_u64(d, "rx_bytes", c->rx_bytes);
	rte_tel_data_add_dict_u64(d, "tx_packets", c->tx_packets);
	rte_tel_data_add_dict_u64(d, "tx_bytes", c->tx_bytes);
	rte_tel_data_add_dict_u64(d, "queued_bytes", c->queued_bytes);
	rte_tel_data_add_dict_u64(d, "held_bytes", c->held_bytes);
	rte_tel_data_add_dict_u64(d, "paused", c->paused);
}

static void
fill_channels(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	fill_rows(d, first, s->gateway.on ? s->gateway.nchannels : 0, "channels", s, channel_row);
}

static void
fill_gateway(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	const struct rd_gateway_snapshot *g = &s->gateway;
	(void)first;
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_u64(d, "enabled", g->on);
	if (!g->on)
		return;
	rte_tel_data_add_dict_u64(d, "channels", g->nchannels);
	rte_tel_data_add_dict_u64(d, "channels_max", g->channels_max);
	rte_tel_data_add_dict_u64(d, "held_bytes", g->held_bytes);
	rte_tel_data_add_dict_u64(d, "packet_bytes", g->packet_bytes);
	rte_tel_data_add_dict_u64(d, "guests", g->guests);
	rte_tel_data_add_dict_u64(d, "consistent", g->consistent);
	rte_tel_data_add_dict_u64(d, "suci_held", g->suci_held);
#define X(n, h) rte_tel_data_add_dict_u64(d, #n, g->gw.n);
	GW_COUNTERS(X)
#undef X
#define X(n, h) rte_tel_data_add_dict_u64(d, "io/" #n, g->io.n);
	RD_GATEWAY_COUNTERS(X)
#undef X
}

static void
fill_paths(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	fill_rows(d, first, s->npaths, "paths", s, path_row);
}

static void
fill_jobs(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	fill_rows(d, first, s->njobs, "jobs", s, job_row);
}

static void
worker_row(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t i)
{
	const struct rd_snapshot *w = s->shard[i];
	rte_tel_data_add_dict_u64(d, "worker", w->index);
	rte_tel_data_add_dict_u64(d, "lcore", w->lcore);
	rte_tel_data_add_dict_u64(d, "node", (uint64_t)(w->socket < 0 ? 0 : w->socket));
	rte_tel_data_add_dict_u64(d, "busy_permille", rd_busy_permille(w));
	rte_tel_data_add_dict_u64(d, "paths", w->npaths);
	rte_tel_data_add_dict_u64(d, "segments", w->relay.tx_segments);
	rte_tel_data_add_dict_u64(d, "bytes", w->relay.tx_bytes);
	rte_tel_data_add_dict_u64(d, "retransmits", w->suci.tx_retransmits);
	rte_tel_data_add_dict_u64(d, "custody", w->relay_held);
	rte_tel_data_add_dict_u64(d, "pool_size", w->pool_size);
	rte_tel_data_add_dict_u64(d, "pool_in_use", w->pool_in_use);
	for (int leg = 0; leg < RD_LEGS; leg++) {
		const struct rd_leg_counters *l = &w->leg[leg];
		char name[64];
		const struct {
			const char *name;
			uint64_t value;
		} row[] = {
			{"rx_frames", l->rx_frames},   {"tx_frames", l->tx_frames},
			{"steered", l->steered},       {"rx_steered", l->rx_steered},
			{"tx_steered", l->tx_steered}, {"drop_steer_full", l->drop_steer_full},
		};
		for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
			snprintf(name, sizeof name, "%s/%s", rd_leg_names[leg], row[k].name);
			rte_tel_data_add_dict_u64(d, name, row[k].value);
		}
	}
}

static void
fill_workers(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	fill_rows(d, first, s->nshards, "workers", s, worker_row);
}

static int
on_workers(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer(params, d, fill_workers);
}

static int
on_info(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer(params, d, fill_info);
}

static int
on_jobs(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer(params, d, fill_jobs);
}

static int
on_paths(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer(params, d, fill_paths);
}

static int
on_drops(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer(params, d, fill_drops);
}

static int
on_gateway(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer(params, d, fill_gateway);
}

static int
on_channels(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer(params, d, fill_channels);
}

int
rd_telemetry_init(struct rd_control *c)
{
	tel.snapshot = rd_snapshot_new(c->conf);
	if (!tel.snapshot)
		return -1;
	pthread_mutex_lock(&tel.state);
	tel.ctl = c;
	pthread_mutex_unlock(&tel.state);
	if (rte_telemetry_register_cmd("/relayd/info", on_info, "The relay. No parameters") ||
	    rte_telemetry_register_cmd("/relayd/jobs", on_jobs, "Jobs. Parameter: first row") ||
	    rte_telemetry_register_cmd("/relayd/workers", on_workers,
				       "Worker lcores. Parameter: first row") ||
	    rte_telemetry_register_cmd("/relayd/paths", on_paths, "Paths. Parameter: first row") ||
	    rte_telemetry_register_cmd("/relayd/gateway", on_gateway,
				       "The gateway to foreign hosts. No parameters") ||
	    rte_telemetry_register_cmd("/relayd/channels", on_channels,
				       "Its channels. Parameter: first row") ||
	    rte_telemetry_register_cmd("/relayd/drops", on_drops,
				       "Drop counters that are not zero. No parameters"))
		return -1;
	return 0;
}

void
rd_telemetry_fini(void)
{
	pthread_mutex_lock(&tel.state);
	tel.ctl = NULL;
	pthread_cond_broadcast(&tel.changed);
	pthread_mutex_unlock(&tel.state);
	/* A callback that was inside has left once its lock can be had. */
	pthread_mutex_lock(&tel.call);
	rd_snapshot_free(tel.snapshot);
	tel.snapshot = NULL;
	pthread_mutex_unlock(&tel.call);
}
