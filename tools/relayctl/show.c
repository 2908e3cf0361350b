/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that show what is. */
#include "commands.h"
#include "print.h"

#include <stdio.h>
#include <string.h>

static void
show_ports(json_t *rows, const struct options *o)
{
	static const struct column columns[] = {
		{"leg", .goes = 0},
		{"driver", .goes = 5},
		{"node", .goes = 2},
		{"link_up", "link", .goes = 0},
		{"speed_mbps", "speed Mbit/s", .goes = 4},
		{"mtu", "mtu B", .goes = 6},
		{"rx_missed", .goes = 8},
		{"rx_nombuf", .goes = 7},
		{"rx_errors", .goes = 7},
		{"tx_errors", .goes = 7},
		{"link_changes", .goes = 3},
		{"mac", .goes = 1},
		{.key = NULL},
	};
	print_table(rows, columns, o);
}

int
cmd_ports(struct ctl *c, const struct options *o)
{
	json_t *v = ask(c, "ports", NULL), *rows = json_object_get(v, "ports"), *row, *count;
	const char *name;
	size_t i;
	if (o->json) {
		print_json(rows);
		json_decref(v);
		return CTL_OK;
	}
	show_ports(rows, o);
	json_array_foreach(rows, i, row)
	{
		printf("\n%s, as its driver counts\n",
		       json_string_value(json_object_get(row, "leg")));
		json_object_foreach(json_object_get(row, "xstats"), name,
				    count) if (o->all || json_integer_value(count))
			printf("%-32s %lld\n", name, (long long)json_integer_value(count));
	}
	json_decref(v);
	return CTL_OK;
}

static json_t *
check_param(const struct options *o)
{
	return o->check ? json_pack("{s:b}", "check", 1) : NULL;
}

int
cmd_status(struct ctl *c, const struct options *o)
{
	static const struct column workers[] = {
		{"worker", .goes = 0},
		{"lcore", .goes = 3},
		{"busy_pct", "busy %", .goes = 0},
		{"uptime_us", "uptime s", .goes = 2, .scale = 1e-6},
		{"busy_us", "busy s", .goes = 1, .scale = 1e-6},
		{"slept_us", "slept s", .goes = 1, .scale = 1e-6},
		{"rx_frames", .goes = 6},
		{"tx_frames", .goes = 6},
		{"steered", .goes = 4},
		{"segments", .goes = 8},
		{"custody", .goes = 7},
		{"paths", .goes = 5},
		{.key = NULL},
	};
	static const struct column relays[] = {
		{"relay", .goes = 0},	{"private", .goes = 1}, {"state", .goes = 0},
		{"version", .goes = 2}, {.key = NULL},
	};
	json_t *v = ask(c, "status", check_param(o)), *rows = json_object_get(v, "workers"), *row;
	size_t i;
	if (o->json) {
		print_json(v);
		json_decref(v);
		return CTL_OK;
	}
	json_array_foreach(rows, i, row)
	{
		double up = (double)json_integer_value(json_object_get(row, "uptime_us"));
		double busy = (double)json_integer_value(json_object_get(row, "busy_us"));
		json_object_set_new(row, "busy_pct", json_real(up > 0 ? busy * 100 / up : 0));
	}
	print_pairs(v);
	putchar('\n');
	if (json_object_get(v, "cluster_relays")) { /* older ones do not tell */
		print_table(json_object_get(v, "cluster_relays"), relays, o);
		putchar('\n');
	}
	print_table(rows, workers, o);
	putchar('\n');
	show_ports(json_object_get(v, "ports"), o);
	json_decref(v);
	return CTL_OK;
}

int
show_rows(json_t *rows, const struct options *o, const char *what, const struct column *columns)
{
	if (o->json)
		print_json(rows);
	else if (json_array_size(rows))
		print_table(rows, columns, o);
	else
		printf("no %s\n", what);
	json_decref(rows);
	return CTL_OK;
}

int
cmd_jobs(struct ctl *c, const struct options *o)
{
	static const struct column columns[] = {
		{"job", .goes = 0},
		{"client", .goes = 3},
		{"clients", .goes = 3},
		{"processes", .goes = 8},
		{"local", .goes = 7},
		{"local_up", .goes = 0},
		{"local_left", .goes = 4},
		{"trunks", .goes = 6},
		{"trunks_up", .goes = 0},
		{"gateways", .goes = 1},
		{"rx_segments", .goes = 2},
		{"rx_bytes", "rx B", .goes = 5, .si = true},
		{"age_ms", "age s", .goes = 5, .scale = 1e-3},
		{"label_base", .goes = 3},
		{.key = NULL},
	};
	return show_rows(ask_rows(c, "jobs", NULL), o, "jobs", columns);
}

int
cmd_starts(struct ctl *c, const struct options *o)
{
	static const struct column columns[] = {
		{"job", .goes = 3},
		{"port", .goes = 2},
		{"client", .goes = 0},
		{"clients", .goes = 1},
		{"from", .goes = 4},
		{"age_ms", "age s", .goes = 0, .scale = 1e-3},
		{"waits_for", "waits for", .goes = 0, .prose = true},
		{.key = NULL},
	};
	return show_rows(ask_rows(c, "starts", NULL), o, "jobs that start", columns);
}

/* Lost in percent of what was sent. */
static void
add_losses(json_t *rows)
{
	json_t *row;
	size_t i;
	json_array_foreach(rows, i, row)
	{
		double sent = (double)json_integer_value(json_object_get(row, "tx_segments"));
		double again = (double)json_integer_value(json_object_get(row, "retransmits"));
		json_object_set_new(row, "loss_pct", json_real(sent > 0 ? again * 100 / sent : 0));
	}
}

int
cmd_paths(struct ctl *c, const struct options *o)
{
	static const struct column columns[] = {
		{"path", .goes = 0},
		{"kind", .goes = 11},
		{"peer", .goes = 0},
		{"state", .goes = 0},
		{"sealed", .goes = 3},
		{"cc", .goes = 4},
		{"mtu", "mtu B", .goes = 2},
		{"job", .goes = 8},
		{"rank", .goes = 8},
		{"rtt_us", "rtt us", .goes = 10},
		{"rtt_min_us", "min us", .goes = 5},
		{"cwnd", .goes = 6},
		{"in_flight", .goes = 6},
		{"queued", .goes = 7},
		{"rate_bps", "pace bit/s", .goes = 2, .si = true},
		{"tx_segments", .goes = 9},
		{"retransmits", .goes = 5},
		{"loss_pct", "loss %", .goes = 10},
		{"rx_segments", .goes = 9},
		{"held", .goes = 4},
		{"dropped", .goes = 7},
		{"tx_ce", .goes = 1},
		{"moves", .goes = 1},
		{.key = NULL},
	};
	json_t *params = o->kind ? json_pack("{s:s}", "kind", o->kind) : NULL;
	json_t *rows = ask_rows(c, "paths", params);
	json_decref(params);
	if (!o->json)
		add_losses(rows);
	return show_rows(rows, o, "paths", columns);
}

int
cmd_doors(struct ctl *c, const struct options *o)
{
	static const struct column columns[] = {
		{"worker", .goes = 0},	 {"own", .goes = 0},
		{"imports", .goes = 0},	 {"exports", .goes = 0},
		{"going", .goes = 6},	 {"free", .goes = 7},
		{"holds", .goes = 5},	 {"processes", .goes = 4},
		{"clusters", .goes = 4}, {"registered", .goes = 1},
		{"gone", .goes = 1},	 {"imported", .goes = 1},
		{"dropped", .goes = 3},	 {"asks", .goes = 2},
		{"granted", .goes = 2},	 {.key = NULL},
	};
	return show_rows(ask_rows(c, "doors", NULL), o, "workers", columns);
}

int
cmd_lights(struct ctl *c, const struct options *o)
{
	static const struct column columns[] = {
		{"slot", .goes = 0},
		{"state", .goes = 0},
		{"address", .goes = 4},
		{"ingress", .goes = 2},
		{"egress", .goes = 2},
		{"peer", .goes = 7},
		{"peer_address", .goes = 4},
		{"path", .goes = 1},
		{"opened_us", "opened us", .goes = 3},
		{"drained_us", "drained us", .goes = 3},
		{"tx_frames", .goes = 5},
		{"rx_frames", .goes = 5},
		{"tx_bytes", "tx B", .goes = 6, .si = true},
		{"rx_bytes", "rx B", .goes = 6, .si = true},
		{.key = NULL},
	};
	json_t *v = ask(c, "lights", NULL);
	if (o->json) {
		json_dumpf(v, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(v);
		return CTL_OK;
	}
	printf("light paths: %lld came up, %lld failed, %lld drained (%lld not empty in time); "
	       "%lld segments, %lld bytes sent, %lld segments received\n",
	       int_of(v, "up"), int_of(v, "failed"), int_of(v, "drained"), int_of(v, "cut"),
	       int_of(v, "tx_segments"), int_of(v, "tx_bytes"), int_of(v, "rx_segments"));
	json_t *rows = json_incref(json_object_get(v, "lights"));
	json_decref(v);
	return show_rows(rows, o, "light ports", columns);
}

int
cmd_gateway(struct ctl *c, const struct options *o)
{
	static const struct column columns[] = {
		{"channel", .goes = 0},
		{"label_base", .goes = 1},
		{"state", .goes = 0},
		{"local", .goes = 4},
		{"remote", .goes = 0},
		{"rx_packets", .goes = 5},
		{"tx_packets", .goes = 5},
		{"queued_bytes", "queued B", .goes = 3, .si = true},
		{"held_bytes", "held B", .goes = 3, .si = true},
		{"paused", .goes = 2},
		{.key = NULL},
	};
	json_t *v = ask(c, "gateway", check_param(o)), *rows = ask_rows(c, "channels", NULL);
	if (o->json) {
		json_object_set(v, "channel", rows);
		print_json(v);
	} else {
		print_pairs(v);
		if (json_array_size(rows)) {
			putchar('\n');
			print_table(rows, columns, o);
		}
	}
	json_decref(rows);
	json_decref(v);
	return CTL_OK;
}

/* ---- drops ----------------------------------------------------------------------------- */

static json_t *
find_drop(json_t *rows, const char *name)
{
	json_t *row;
	size_t i;
	json_array_foreach(rows, i, row) if (strcmp(json_string_value(json_object_get(row, "name")),
						    name) == 0) return row;
	return NULL;
}

/* per_s of each, from the answer before. */
static void
add_rates(json_t *before, json_t *after)
{
	json_t *rows = json_object_get(after, "drops"), *old = json_object_get(before, "drops"),
	       *row;
	double s = (double)(json_integer_value(json_object_get(after, "time_us")) -
			    json_integer_value(json_object_get(before, "time_us"))) /
		   1e6;
	size_t i;
	json_array_foreach(rows, i, row)
	{
		json_t *was = find_drop(old, json_string_value(json_object_get(row, "name")));
		json_int_t n = json_integer_value(json_object_get(row, "count")) -
			       json_integer_value(json_object_get(was, "count"));
		json_object_set_new(row, "per_s", json_real(s > 0 ? (double)n / s : 0));
	}
}

/* By name; with rates, members count and per_s, else the count alone. */
static json_t *
drops_by_name(json_t *rows, bool rates)
{
	json_t *o = json_object(), *row;
	size_t i;
	json_array_foreach(rows, i, row)
	{
		const char *name = json_string_value(json_object_get(row, "name"));
		json_t *count = json_object_get(row, "count");
		if (rates)
			json_object_set_new(o, name,
					    json_pack("{s:O, s:O}", "count", count, "per_s",
						      json_object_get(row, "per_s")));
		else
			json_object_set(o, name, count);
	}
	return o;
}

/* Those that are not zero first, in the relay's order. */
static void
sort_drops(json_t *v)
{
	json_t *rows = json_object_get(v, "drops"), *sorted = json_array(), *row;
	size_t i;
	for (int zero = 0; zero < 2; zero++)
		json_array_foreach(rows, i, row)
		{
			bool is_zero = json_integer_value(json_object_get(row, "count")) == 0;
			if (is_zero == (zero == 1))
				json_array_append(sorted, row);
		}
	json_object_set_new(v, "drops", sorted);
}

int
cmd_drops(struct ctl *c, const struct options *o)
{
	static const struct column plain[] = {{"name", .goes = 0},
					      {"count", .goes = 0},
					      {"help", "meaning", .goes = 1, .prose = true},
					      {.key = NULL}};
	static const struct column rated[] = {{"name", .goes = 0},
					      {"count", .goes = 0},
					      {"per_s", "per second", .goes = 0},
					      {"help", "meaning", .goes = 1, .prose = true},
					      {.key = NULL}};
	json_t *v = ask(c, "drops", json_pack("{s:b}", "all", (int)o->all));
	if (o->given_d) {
		json_t *before = v;
		wait_s(o->interval);
		v = ask(c, "drops", json_pack("{s:b}", "all", (int)o->all));
		add_rates(before, v);
		json_decref(before);
	}
	sort_drops(v);
	json_t *rows = json_object_get(v, "drops");
	if (o->json) {
		json_t *by_name = drops_by_name(rows, o->given_d);
		print_json(by_name);
		json_decref(by_name);
	} else if (json_array_size(rows)) {
		print_table(rows, o->given_d ? rated : plain, o);
	} else {
		printf("no drops\n");
	}
	json_decref(v);
	return CTL_OK;
}

/* ---- methods ----------------------------------------------------------------------------- */

int
cmd_methods(struct ctl *c, const struct options *o)
{
	static const struct column columns[] = {{"name", .goes = 0},
						{"with", "parameters", .goes = 1},
						{"help", "meaning", .goes = 2, .prose = true},
						{.key = NULL}};
	json_t *rows = ask(c, "methods", NULL), *row, *p;
	size_t i, k;
	json_array_foreach(rows, i, row)
	{
		char with[200] = "";
		json_array_foreach(json_object_get(row, "params"), k, p)
		{
			size_t at = strlen(with);
			snprintf(with + at, sizeof with - at, "%s%s", k ? " " : "",
				 json_string_value(json_object_get(p, "name")));
		}
		if (!o->json)
			json_object_set_new(row, "with", json_string(with));
	}
	return show_rows(rows, o, "methods", columns);
}
