/* SPDX-License-Identifier: BSD-2-Clause */
/* A snapshot as JSON. */
#include "rows.h"
#include "rpc_internal.h"

#include "base/clock.h"
#include "base/version.h"

static void
put_u64(void *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, json_integer((json_int_t)v));
}

static void
put_text(void *o, const char *key, const char *v)
{
	json_object_set_new(o, key, json_string(v));
}

static void
put_flag(void *o, const char *key, bool v)
{
	json_object_set_new(o, key, json_boolean(v));
}

static const struct rd_fields fields = {put_u64, put_text, put_flag};

static json_t *
row_of(rd_fields_row *row, const struct rd_snapshot *s, uint32_t i)
{
	json_t *o = json_object();
	row(&fields, o, s, i);
	return o;
}

/* The relays of the cluster, as far as the channels to them tell. */
static json_t *
relay_rows(const struct rd_rpc_env *env)
{
	const struct rd_conf *conf = env->conf;
	json_t *rows = json_array();
	char a[RD_IPV4_TEXT];
	for (uint32_t i = 0; i < conf->cluster.nrelays; i++) {
		const struct rd_peer *p = &env->jobs->peer[i];
		bool self = i == conf->cluster.self;
		const char *told = self ? BASE_VERSION : p->version;
		json_t *o = json_object();
		put_u64(o, "relay", i);
		put_text(o, "private", rd_ipv4_text(conf->cluster.relay[i].private_address, a));
		put_text(o, "state", self ? "here" : p->live ? "up" : "down");
		put_text(o, "version", *told ? told : "unknown");
		json_array_append_new(rows, o);
	}
	return rows;
}

json_t *
rd_rpc_status(const struct rd_rpc_env *env, const struct rd_snapshot *s)
{
	json_t *o = json_object(), *workers = json_array();
	rd_fields_relay(&fields, o, env->conf, s);
	put_text(o, "phase", env->settings->phase);
	put_u64(o, "weight", env->settings->weight);
	for (uint32_t i = 0; i < s->nshards; i++)
		json_array_append_new(workers, row_of(rd_fields_worker, s, i));
	json_object_set_new(o, "workers", workers);
	json_object_set_new(o, "ports", rd_rpc_port_rows(env->nics, false));
	json_object_set_new(o, "cluster_relays", relay_rows(env));
	put_text(o, "version", BASE_VERSION);
	return o;
}

json_t *
rd_rpc_gateway(const struct rd_snapshot *s)
{
	json_t *o = json_object();
	rd_fields_gateway(&fields, o, s);
	return o;
}

struct drops {
	json_t *rows;
	bool all;
};

static void
add_drop_row(void *user, const char *name, uint64_t count, const char *help)
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
	rd_stats_drops(s, add_drop_row, &d);
	put_u64(o, "time_us", s->sum.now_ns / 1000);
	json_object_set_new(o, "drops", d.rows);
	return o;
}

/* ---- rows -------------------------------------------------------------------------------- */

/* {time_us, count, [next,] NAME: [rows of first..]} */
static json_t *
page_at(uint64_t now_ns, const char *name, uint32_t count, uint32_t next, json_t *rows)
{
	json_t *o = json_object();
	put_u64(o, "time_us", now_ns / 1000);
	put_u64(o, "count", count);
	if (next < count)
		put_u64(o, "next", next);
	json_object_set_new(o, name, rows);
	return o;
}

static json_t *
page(const struct rd_snapshot *s, const char *name, uint32_t count, uint32_t next, json_t *rows)
{
	return page_at(s->sum.now_ns, name, count, next, rows);
}

json_t *
rd_rpc_paths(const struct rd_snapshot *s, uint32_t first, uint32_t max, uint32_t kind)
{
	json_t *rows = json_array();
	uint32_t i = first, n = 0;
	for (; i < s->sum.npaths && n < max; i++) {
		const struct rd_path_row *r = &s->sum.path[i];
		if (kind != RELAY_PATH_NONE && (!r->known || r->relay.kind != kind))
			continue;
		json_array_append_new(rows, row_of(rd_fields_path, s, i));
		n++;
	}
	return page(s, "paths", s->sum.npaths, i, rows);
}

json_t *
rd_rpc_jobs(const struct rd_snapshot *s, uint32_t first, uint32_t max)
{
	json_t *rows = json_array();
	uint32_t i = first;
	for (; i < s->sum.njobs && i - first < max; i++)
		json_array_append_new(rows, row_of(rd_fields_job, s, i));
	return page(s, "jobs", s->sum.njobs, i, rows);
}

json_t *
rd_rpc_doors(const struct rd_snapshot *s, uint32_t first, uint32_t max)
{
	json_t *rows = json_array();
	uint32_t i = first;
	for (; i < s->nshards && i - first < max; i++)
		json_array_append_new(rows, row_of(rd_fields_doors, s, i));
	return page(s, "doors", s->nshards, i, rows);
}

json_t *
rd_rpc_channels(const struct rd_snapshot *s, uint32_t first, uint32_t max)
{
	json_t *rows = json_array();
	uint32_t n = s->gateway.on ? s->gateway.nchannels : 0, i = first;
	for (; i < n && i - first < max; i++)
		json_array_append_new(rows, row_of(rd_fields_channel, s, i));
	return page(s, "channels", n, i, rows);
}

/* ---- jobs that start: control's own, without a snapshot ---------------------------------- */

struct start_rows {
	json_t *rows;
	uint32_t n, first, max;
};

static void
add_start_row(void *user, const struct rd_start *s)
{
	struct start_rows *r = user;
	uint32_t i = r->n++;
	if (i < r->first || i - r->first >= r->max)
		return;
	json_t *o = json_object();
	if (s->job != RD_START_NO_JOB)
		put_u64(o, "job", s->job);
	put_u64(o, "port", s->port);
	put_text(o, "from", s->from);
	if (s->rank >= 0)
		put_u64(o, "client", (uint64_t)s->rank);
	if (s->clients)
		put_u64(o, "clients", s->clients);
	put_u64(o, "age_ms", s->age_ns / BASE_MS_NS);
	put_text(o, "waits_for", s->waits);
	json_array_append_new(r->rows, o);
}

json_t *
rd_rpc_starts(const struct rd_rpc_env *env, uint32_t first, uint32_t max)
{
	struct start_rows r = {.rows = json_array(), .first = first, .max = max};
	rd_jobs_starts(env->jobs, add_start_row, &r);
	return page_at(env->loop->now_ns, "starts", r.n, first + (uint32_t)json_array_size(r.rows),
		       r.rows);
}
