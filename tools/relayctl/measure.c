/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that measure for a while: lanes, advise, top. */
#include "commands.h"
#include "print.h"
#include "screen.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TOP_LANES 10

json_int_t
int_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static double
real_of(const json_t *o, const char *key)
{
	return (double)int_of(o, key);
}

static json_t *
measure_traffic(struct ctl *c, const char *method, const struct options *o, double s)
{
	unsigned ms = (unsigned)(s * 1000);
	json_t *params = json_pack("{s:i}", "ms", (int)(ms < 100 ? 100 : ms));
	if (o->given_n)
		json_object_set_new(params, "max", json_integer(o->n));
	if (o->job)
		json_object_set_new(params, "job", json_integer(job_of(c, o->job)));
	return ask_try(c, method, params, ms, -1);
}

/* ---- lanes ----------------------------------------------------------------------------- */

static const struct column lane_columns[] = {
	{"job", .goes = 2},
	{"src", .goes = 0},
	{"dst", .goes = 0},
	{"direction", .goes = 0},
	{"bps", "bit/s", .si = true},
	{"segments_per_s", "segments/s", .goes = 3},
	{"segments", .goes = 1},
	{"bytes", "B", .goes = 1, .si = true},
	{.key = NULL},
};

int
cmd_lanes(struct ctl *c, const struct options *o)
{
	json_t *v = measure_traffic(c, "lanes", o, o->interval);
	if (!v)
		ctl_die(CTL_REFUSED, "%s", c->why);
	json_t *rows = json_object_get(v, "lanes");
	if (o->json) {
		print_json(v);
	} else {
		show_rows(json_incref(rows), o, "lanes carried anything", lane_columns);
		if ((size_t)int_of(v, "count") > json_array_size(rows))
			printf("(%zu of %lld lanes; -n shows more)\n", json_array_size(rows),
			       (long long)int_of(v, "count"));
	}
	json_decref(v);
	return CTL_OK;
}

/* ---- advise ---------------------------------------------------------------------------- */

/* The other direction; an older relay does not tell. */
static void
print_received(json_t *v, const struct options *o)
{
	static const struct column trunks[] = {
		{"path", .goes = 0},
		{"worker", .goes = 4},
		{"peer", .goes = 0},
		{"rate_bps", "bit/s", .si = true},
		{"loss_ppm", "loss %", .goes = 7, .scale = 1e-4},
		{"refused", .goes = 5},
		{"under_way", "under way", .goes = 2},
		{"credit", .goes = 2},
		{"waits_permille", "waits %", .goes = 3, .scale = 0.1},
		{"busy_permille", "busy %", .goes = 6, .scale = 0.1},
		{"limit", "limited by", .goes = 0},
		{.key = NULL},
	};
	char bits[PRINT_SI_MAX];
	json_t *rows = json_object_get(v, "trunk"), *row;
	size_t i;
	if (!json_array_size(rows))
		return;
	printf("\nother relays send %sbit/s here over %lld trunk%s\n",
	       print_si(real_of(v, "rate_bps"), bits, sizeof bits), int_of(v, "active"),
	       int_of(v, "active") == 1 ? "" : "s");
	json_array_foreach(json_object_get(v, "reasons"), i, row)
		printf("- %s\n", json_string_value(row));
	putchar('\n');
	print_table(rows, trunks, o);
}

static void
print_advice(json_t *v, const struct options *o)
{
	static const struct column trunks[] = {
		{"path", .goes = 0},
		{"worker", .goes = 4},
		{"peer", .goes = 0},
		{"rate_bps", "bit/s", .si = true},
		{"loss_ppm", "loss %", .goes = 7, .scale = 1e-4},
		{"rtt_us", "rtt us", .goes = 3},
		{"queue_us", "queue us", .goes = 5},
		{"waiting", .goes = 1},
		{"full_permille", "full %", .goes = 2, .scale = 0.1},
		{"busy_permille", "busy %", .goes = 6, .scale = 0.1},
		{"limit", "limited by", .goes = 0},
		{"could_bps", "could bit/s", .goes = 8, .si = true},
		{.key = NULL},
	};
	char bits[PRINT_SI_MAX];
	json_t *rows = json_object_get(v, "trunk"), *row, *reasons = json_object_get(v, "reasons");
	size_t i;
	printf("this traffic can use %s%lld trunk%s; %lld of %lld carry %sbit/s now, policy %s\n",
	       json_is_true(json_object_get(v, "at_least")) ? "at least " : "",
	       (long long)int_of(v, "useful"), int_of(v, "useful") == 1 ? "" : "s",
	       (long long)int_of(v, "active"), (long long)int_of(v, "trunks"),
	       print_si(real_of(v, "rate_bps"), bits, sizeof bits),
	       json_string_value(json_object_get(v, "policy")));
	json_array_foreach(reasons, i, row) printf("- %s\n", json_string_value(row));
	if (json_array_size(rows)) {
		putchar('\n');
		print_table(rows, trunks, o);
	}
	print_received(json_object_get(v, "received"), o);
	rows = json_object_get(v, "matrix");
	if (!json_array_size(rows))
		return;
	printf("\n%lld pairs towards other clusters, %lld senders, %lld receivers\n",
	       (long long)int_of(v, "pairs"), (long long)int_of(v, "senders"),
	       (long long)int_of(v, "receivers"));
	print_table(rows, lane_columns, o);
}

int
cmd_advise(struct ctl *c, const struct options *o)
{
	struct options with = *o;
	if (!o->given_n) {
		with.given_n = true;
		with.n = 20;
	}
	json_t *v = measure_traffic(c, "advise", &with, o->given_d ? o->interval : 5);
	if (!v)
		ctl_die(CTL_REFUSED, "%s", c->why);
	if (o->json)
		print_json(v);
	else
		print_advice(v, o);
	json_decref(v);
	return CTL_OK;
}

/* ---- top ------------------------------------------------------------------------------- */

struct view {
	json_t *status, *paths, *drops, *lanes; /* lanes NULL: not measured */
};

static void
view_free(struct view *w)
{
	json_decref(w->status);
	json_decref(w->paths);
	json_decref(w->drops);
	json_decref(w->lanes);
	memset(w, 0, sizeof *w);
}

static void
look_traffic(struct ctl *c, struct view *w)
{
	json_t *params = json_pack("{s:s}", "kind", "trunk");
	w->status = ask(c, "status", NULL);
	w->paths = ask_rows(c, "paths", params);
	w->drops = ask(c, "drops", NULL);
	json_decref(params);
}

/* The row in which all of keys are as in like. */
static json_t *
row_like(json_t *rows, const json_t *like, const char *const *keys)
{
	json_t *row;
	size_t i;
	json_array_foreach(rows, i, row)
	{
		const char *const *k = keys;
		while (*k && json_equal(json_object_get(row, *k), json_object_get(like, *k)))
			k++;
		if (!*k)
			return row;
	}
	return NULL;
}

/* Counts of rows become rates: NAME_per_s. */
static void
rate(json_t *row, const json_t *was, const char *key, double s, double scale)
{
	char name[48];
	double n = real_of(row, key) - (was ? real_of(was, key) : 0);
	snprintf(name, sizeof name, "%s_per_s", key);
	json_object_set_new(row, name, json_real(s > 0 ? n * scale / s : 0));
}

static json_t *
view_json(struct view *now, struct view *before)
{
	static const char *const of_worker[] = {"worker", NULL};
	static const char *const of_path[] = {"worker", "path", "peer", NULL};
	static const char *const of_drop[] = {"name", NULL};
	json_t *old = json_object_get(before->status, "workers"), *row, *was;
	json_t *workers = json_object_get(now->status, "workers"),
	       *drops = json_object_get(now->drops, "drops");
	double s = (real_of(now->drops, "time_us") - real_of(before->drops, "time_us")) / 1e6;
	size_t i;
	json_array_foreach(workers, i, row)
	{
		was = row_like(old, row, of_worker);
		double up = real_of(row, "uptime_us") - real_of(was, "uptime_us");
		double busy = real_of(row, "busy_us") - real_of(was, "busy_us");
		json_object_set_new(row, "busy_pct", json_real(up > 0 ? busy * 100 / up : 0));
		rate(row, was, "rx_frames", s, 1);
		rate(row, was, "tx_frames", s, 1);
	}
	json_array_foreach(now->paths, i, row)
	{
		was = row_like(before->paths, row, of_path);
		rate(row, was, "tx_bytes", s, 8);
		rate(row, was, "rx_bytes", s, 8);
		rate(row, was, "tx_segments", s, 1);
		rate(row, was, "retransmits", s, 1);
	}
	json_array_foreach(drops, i, row)
	{
		was = row_like(json_object_get(before->drops, "drops"), row, of_drop);
		rate(row, was, "count", s, 1);
	}
	rate(now->status, before->status, "segments", s, 1);
	rate(now->status, before->status, "bytes", s, 8);
	json_t *lanes = now->lanes ? json_incref(json_object_get(now->lanes, "lanes")) : NULL;
	return json_pack("{s:f, s:O, s:O, s:O, s:o?}", "interval_s", s, "status", now->status,
			 "trunks", now->paths, "drops", drops, "lanes", lanes);
}

static void
print_view(json_t *v, const struct options *o)
{
	static const struct column workers[] = {
		{"worker", .goes = 0},
		{"lcore", .goes = 1},
		{"busy_pct", "busy %", .goes = 0},
		{"rx_frames_per_s", "rx frames/s", .si = true},
		{"tx_frames_per_s", "tx frames/s", .si = true},
		{.key = NULL},
	};
	static const struct column trunks[] = {
		{"path", "trunk", .goes = 0},
		{"worker", .goes = 3},
		{"peer", .goes = 0},
		{"state", .goes = 8},
		{"sealed", .goes = 1},
		{"tx_bytes_per_s", "tx bit/s", .si = true},
		{"rx_bytes_per_s", "rx bit/s", .si = true},
		{"tx_segments_per_s", "segments/s", .goes = 5, .si = true},
		{"retransmits_per_s", "lost/s", .goes = 7, .si = true},
		{"rtt_us", "rtt us", .goes = 6},
		{"rtt_min_us", "min us", .goes = 3},
		{"cwnd", .goes = 2},
		{"in_flight", .goes = 2},
		{"queued", .goes = 4},
		{.key = NULL},
	};
	static const struct column drops[] = {
		{"name", "dropped, refused", .goes = 0},
		{"count_per_s", "per second", .goes = 0},
		{"count", .goes = 1},
		{.key = NULL},
	};
	json_t *s = json_object_get(v, "status"), *rows = json_object_get(s, "workers");
	char bits[PRINT_SI_MAX], segments[PRINT_SI_MAX], head[320];
	snprintf(head, sizeof head,
		 "cluster %s relay %lld  up %lld s  jobs %lld  paths %lld  custody %lld  buffers "
		 "%lld/%lld  "
		 "%sbit/s  %s segments/s",
		 json_string_value(json_object_get(s, "cluster")), (long long)int_of(s, "relay"),
		 (long long)int_of(s, "uptime_ms") / 1000, (long long)int_of(s, "jobs"),
		 (long long)int_of(s, "paths"), (long long)int_of(s, "custody"),
		 (long long)int_of(s, "pool_in_use"), (long long)int_of(s, "pool_size"),
		 print_si(json_real_value(json_object_get(s, "bytes_per_s")), bits, sizeof bits),
		 print_si(json_real_value(json_object_get(s, "segments_per_s")), segments,
			  sizeof segments));
	screen_items(head, !o->wide);
	putchar('\n');
	print_table(rows, workers, o);
	const struct {
		const char *key;
		const struct column *columns;
	} below[] = {{"trunks", trunks}, {"lanes", lane_columns}, {"drops", drops}};
	for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
		rows = json_object_get(v, below[i].key);
		if (!json_array_size(rows))
			continue;
		putchar('\n');
		print_table(rows, below[i].columns, o);
	}
}

/* Waits for the interval, measuring the lanes if nobody else measures. */
static void
measure_or_wait(struct ctl *c, const struct options *o, struct view *w)
{
	struct options with = {.given_n = true, .n = TOP_LANES};
	w->lanes = o->no_lanes ? NULL : measure_traffic(c, "lanes", &with, o->interval);
	if (!w->lanes)
		wait_s(o->interval);
}

int
cmd_top(struct ctl *c, const struct options *o)
{
	struct view before = {0}, now = {0};
	bool terminal = !o->json && !o->once && isatty(STDOUT_FILENO);
	uint32_t rounds = o->once ? 1 : o->given_n ? o->n : 0;
	look_traffic(c, &before);
	for (uint32_t i = 0; !interrupted && (!rounds || i < rounds); i++) {
		measure_or_wait(c, o, &now);
		if (interrupted)
			break;
		look_traffic(c, &now);
		json_t *v = view_json(&now, &before);
		if (terminal)
			terminal = screen_begin();
		if (o->json) { /* one line each */
			json_dumpf(v, stdout, JSON_COMPACT | JSON_SORT_KEYS);
			putchar('\n');
		} else {
			print_view(v, o);
			if (!terminal && !(rounds && i + 1 == rounds))
				putchar('\n');
		}
		json_decref(v);
		if (terminal)
			screen_show();
		if (fflush(stdout))
			break;
		view_free(&before);
		before = now;
		memset(&now, 0, sizeof now);
	}
	view_free(&before);
	view_free(&now);
	return CTL_OK;
}
