/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that show what is. */
#include "commands.h"
#include "print.h"

#include <stdio.h>
#include <string.h>

static void
show_ports(json_t *rows)
{
	static const struct column columns[] = {
		{"leg", NULL},	     {"driver", NULL},	     {"node", NULL},
		{"link_up", "link"}, {"speed_mbps", NULL},   {"mtu", NULL},
		{"rx_missed", NULL}, {"rx_nombuf", NULL},    {"rx_errors", NULL},
		{"tx_errors", NULL}, {"link_changes", NULL}, {"mac", NULL},
		{NULL, NULL},
	};
	print_table(rows, columns);
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
	show_ports(rows);
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
		{"worker", NULL},  {"lcore", NULL},    {"busy_pct", "busy %"}, {"uptime_us", NULL},
		{"busy_us", NULL}, {"slept_us", NULL}, {"rx_frames", NULL},    {"tx_frames", NULL},
		{"steered", NULL}, {"segments", NULL}, {"custody", NULL},      {"paths", NULL},
		{NULL, NULL},
	};
	static const struct column relays[] = {
		{"relay", NULL},   {"private", NULL}, {"state", NULL},
		{"version", NULL}, {NULL, NULL},
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
		print_table(json_object_get(v, "cluster_relays"), relays);
		putchar('\n');
	}
	print_table(rows, workers);
	putchar('\n');
	show_ports(json_object_get(v, "ports"));
	json_decref(v);
	return CTL_OK;
}

int
show_rows(json_t *rows, const struct options *o, const char *what, const struct column *columns)
{
	if (o->json)
		print_json(rows);
	else if (json_array_size(rows))
		print_table(rows, columns);
	else
		printf("no %s\n", what);
	json_decref(rows);
	return CTL_OK;
}

int
cmd_jobs(struct ctl *c, const struct options *o)
{
	static const struct column columns[] = {
		{"job", NULL},	      {"client", NULL},	     {"clients", NULL},
		{"processes", NULL},  {"local", NULL},	     {"local_up", NULL},
		{"local_left", NULL}, {"trunks", NULL},	     {"trunks_up", NULL},
		{"gateways", NULL},   {"rx_segments", NULL}, {"rx_bytes", NULL},
		{"age_ms", NULL},     {"label_base", NULL},  {NULL, NULL},
	};
	return show_rows(ask_rows(c, "jobs", NULL), o, "jobs", columns);
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
		{"path", NULL},
		{"kind", NULL},
		{"peer", NULL},
		{"state", NULL},
		{"sealed", NULL},
		{"cc", NULL},
		{"mtu", NULL},
		{"job", NULL},
		{"rank", NULL},
		{"rtt_us", NULL},
		{"rtt_min_us", "min_us"},
		{"cwnd", NULL},
		{"in_flight", NULL},
		{"queued", NULL},
		{"rate_bps", NULL},
		{"tx_segments", NULL},
		{"retransmits", NULL},
		{"loss_pct", "loss %"},
		{"rx_segments", NULL},
		{"held", NULL},
		{"dropped", NULL},
		{"tx_ce", NULL},
		{"moves", NULL},
		{NULL, NULL},
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
		{"worker", NULL},   {"own", NULL},	  {"imports", NULL}, {"exports", NULL},
		{"going", NULL},    {"free", NULL},	  {"holds", NULL},   {"processes", NULL},
		{"clusters", NULL}, {"registered", NULL}, {"gone", NULL},    {"imported", NULL},
		{"dropped", NULL},  {"asks", NULL},	  {"granted", NULL}, {NULL, NULL},
	};
	return show_rows(ask_rows(c, "doors", NULL), o, "workers", columns);
}

int
cmd_lights(struct ctl *c, const struct options *o)
{
	static const struct column columns[] = {
		{"slot", NULL},		{"state", NULL},     {"address", NULL},
		{"ingress", NULL},	{"egress", NULL},    {"peer", NULL},
		{"peer_address", NULL}, {"path", NULL},	     {"opened_us", NULL},
		{"drained_us", NULL},	{"tx_frames", NULL}, {"rx_frames", NULL},
		{"tx_bytes", NULL},	{"rx_bytes", NULL},  {NULL, NULL},
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
		{"channel", NULL},    {"label_base", NULL},   {"state", NULL},
		{"local", NULL},      {"remote", NULL},	      {"rx_packets", NULL},
		{"tx_packets", NULL}, {"queued_bytes", NULL}, {"held_bytes", NULL},
		{"paused", NULL},     {NULL, NULL},
	};
	json_t *v = ask(c, "gateway", check_param(o)), *rows = ask_rows(c, "channels", NULL);
	if (o->json) {
		json_object_set(v, "channel", rows);
		print_json(v);
	} else {
		print_pairs(v);
		if (json_array_size(rows)) {
			putchar('\n');
			print_table(rows, columns);
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
	static const struct column plain[] = {
		{"name", NULL}, {"count", NULL}, {"help", "meaning"}, {NULL, NULL}};
	static const struct column rated[] = {{"name", NULL},
					      {"count", NULL},
					      {"per_s", "per second"},
					      {"help", "meaning"},
					      {NULL, NULL}};
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
		print_table(rows, o->given_d ? rated : plain);
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
	static const struct column columns[] = {
		{"name", NULL}, {"with", "parameters"}, {"help", "meaning"}, {NULL, NULL}};
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
