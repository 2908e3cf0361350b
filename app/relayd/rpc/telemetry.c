/* SPDX-License-Identifier: BSD-2-Clause */
#include "telemetry.h"
#include "rows.h"
#include "stats.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_telemetry.h>

#include <bsd/stdlib.h>
#include <rte_version.h>

#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
#define add_dict_uint rte_tel_data_add_dict_uint
#else
#define add_dict_uint rte_tel_data_add_dict_u64
#endif

#define ANSWER_MS 1000 /* longest wait for the worker */

static struct {
	pthread_mutex_t call;  /* one callback at a time */
	pthread_mutex_t state; /* what follows */
	pthread_cond_t changed;
	const struct rd_figures *of; /* NULL: not serving */
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
snapshot_made(struct rd_snapshot *made, void *owner)
{
	(void)made;
	(void)owner;
	pthread_mutex_lock(&tel.state);
	tel.out = false;
	tel.made++;
	pthread_cond_broadcast(&tel.changed);
	pthread_mutex_unlock(&tel.state);
}

void
rd_telemetry_poll(void)
{
	pthread_mutex_lock(&tel.state);
	bool post = tel.wanted && !tel.out && tel.of;
	if (post) {
		tel.wanted = false;
		tel.out = true;
	}
	pthread_mutex_unlock(&tel.state);
	if (!post)
		return;
	rd_snapshot_take(tel.of, tel.snapshot, snapshot_made, NULL);
}

/* Call with tel.state held.  A fresh snapshot, or NULL. */
static const struct rd_snapshot *
fetch_counter(void)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ANSWER_MS / 1000;
	if (!tel.of)
		return NULL;
	/* An answer that a call before us gave up on does not count. */
	uint64_t need = tel.made + (tel.out ? 2 : 1);
	while (tel.of && tel.made < need) {
		if (!tel.out && !tel.wanted) {
			tel.wanted = true;
			rd_wake_up(&tel.of->post->waker);
		}
		if (pthread_cond_timedwait(&tel.changed, &tel.state, &until) == ETIMEDOUT)
			return NULL;
	}
	return tel.of ? tel.snapshot : NULL;
}

typedef void (*fill_fn)(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first);

static int
answer_telemetry(const char *params, struct rte_tel_data *d, fill_fn fill)
{
	const char *bad = NULL;
	long long first = params && *params ? strtonum(params, 0, UINT32_MAX, &bad) : 0;
	if (bad)
		return -EINVAL;
	pthread_mutex_lock(&tel.call);
	pthread_mutex_lock(&tel.state);
	const struct rd_snapshot *s = fetch_counter();
	if (s) /* nobody writes it before the next call asks for it */
		fill(d, s, (uint32_t)first);
	pthread_mutex_unlock(&tel.state);
	pthread_mutex_unlock(&tel.call);
	return s ? 0 : -EAGAIN;
}

/* ---- contents ------------------------------------------------------------------ */

static void
put_drop(void *user, const char *name, uint64_t count, const char *help)
{
	(void)help;
	if (count)
		(void)add_dict_uint(user, name, count);
}

static void
fill_drops(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	(void)first;
	rte_tel_data_start_dict(d);
	/* DPDK takes names of [a-zA-Z0-9_/] up to 64 bytes; ours are. */
	rd_stats_drops(s, put_drop, d);
}

static void
write_number(void *to, const char *name, uint64_t value)
{
	(void)add_dict_uint(to, name, value);
}

static void
write_text(void *to, const char *name, const char *value)
{
	(void)rte_tel_data_add_dict_string(to, name, value);
}

static void
write_flag(void *to, const char *name, bool value)
{
	write_number(to, name, value);
}

static const struct rd_fields fields = {write_number, write_text, write_flag};

static void
fill_info(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	(void)first;
	rte_tel_data_start_dict(d);
	rd_fields_relay(&fields, d, tel.of->conf, s);
	write_number(d, "workers", s->nshards);
}

/* {first, count, [next,] rows: [...]} with the rows [first, first + RD_TEL_ROWS). */
static void
fill_rows(struct rte_tel_data *d, uint32_t first, uint32_t n, const char *name,
	  const struct rd_snapshot *s, rd_fields_row *row)
{
	rte_tel_data_start_dict(d);
	add_dict_uint(d, "count", n);
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
		row(&fields, r, s, i);
		snprintf(key, sizeof key, "%u", i);
		rte_tel_data_add_dict_container(rows, key, r, 0);
	}
	if (i < n)
		add_dict_uint(d, "next", i);
	rte_tel_data_add_dict_container(d, name, rows, 0);
}

static void
fill_channels(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	fill_rows(d, first, s->gateway.on ? s->gateway.nchannels : 0, "channels", s,
		  rd_fields_channel);
}

static void
fill_gateway(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	(void)first;
	rte_tel_data_start_dict(d);
	rd_fields_gateway(&fields, d, s);
}

static void
fill_paths(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	fill_rows(d, first, s->sum.npaths, "paths", s, rd_fields_path);
}

static void
fill_jobs(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	fill_rows(d, first, s->sum.njobs, "jobs", s, rd_fields_job);
}

static void
fill_workers(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	fill_rows(d, first, s->nshards, "workers", s, rd_fields_worker);
}

static int
on_workers(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer_telemetry(params, d, fill_workers);
}

static int
on_info(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer_telemetry(params, d, fill_info);
}

static int
on_jobs(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer_telemetry(params, d, fill_jobs);
}

static int
on_paths(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer_telemetry(params, d, fill_paths);
}

static int
on_drops(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer_telemetry(params, d, fill_drops);
}

static int
on_gateway(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer_telemetry(params, d, fill_gateway);
}

static void
fill_circuits(struct rte_tel_data *d, const struct rd_snapshot *s, uint32_t first)
{
	const struct rd_light_figures *l = &s->circuits;
	(void)first;
	rte_tel_data_start_dict(d);
	(void)add_dict_uint(d, "configured", l->configured);
	(void)add_dict_uint(d, "connected", l->connected);
	(void)add_dict_uint(d, "conductor", l->controller);
	(void)add_dict_uint(d, "online", l->online);
	(void)add_dict_uint(d, "gamma_us", l->gamma_us);
#define X(name, help) (void)add_dict_uint(d, #name, l->count.name);
	LIGHT_CONTROLLER_COUNTERS(X)
#undef X
}

static int
on_circuits(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer_telemetry(params, d, fill_circuits);
}

static int
on_channels(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	return answer_telemetry(params, d, fill_channels);
}

int
rd_telemetry_init(const struct rd_figures *of)
{
	tel.snapshot = rd_snapshot_new(of->conf);
	if (!tel.snapshot)
		return -1;
	pthread_mutex_lock(&tel.state);
	tel.of = of;
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
	    rte_telemetry_register_cmd("/relayd/circuits", on_circuits,
				       "Circuits of the circuit controller. No parameters") ||
	    rte_telemetry_register_cmd("/relayd/drops", on_drops,
				       "Drop counters that are not zero. No parameters"))
		return -1;
	return 0;
}

void
rd_telemetry_fini(void)
{
	pthread_mutex_lock(&tel.state);
	tel.of = NULL;
	pthread_cond_broadcast(&tel.changed);
	pthread_mutex_unlock(&tel.state);
	/* A callback that was inside has left once its lock can be had. */
	pthread_mutex_lock(&tel.call);
	rd_snapshot_free(tel.snapshot);
	tel.snapshot = NULL;
	pthread_mutex_unlock(&tel.call);
}
