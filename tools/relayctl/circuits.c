/* SPDX-License-Identifier: BSD-2-Clause */
/* relayctl circuits: who is lit for whom, and what happened. */
#include "commands.h"
#include "print.h"

#include <stdio.h>
#include <string.h>

/* All events the controller remembers, page by page. */
static json_t *
whole_log(struct ctl *c, json_int_t *time_us)
{
	json_t *all = json_array();
	json_int_t after = 0;
	for (bool more = true; more && !interrupted;) {
		json_t *params = json_pack("{s:I}", "after", after);
		json_t *v = ask(c, "circuit_log", params);
		json_array_extend(all, json_object_get(v, "events"));
		after = int_of(v, "next");
		*time_us = int_of(v, "time_us");
		more = json_is_true(json_object_get(v, "more"));
		json_decref(v);
	}
	return all;
}

static int
show_log(struct ctl *c, const struct options *o)
{
	static const struct column columns[] = {
		{"ago_ms", "ago ms", .goes = 0},
		{"kind", .goes = 0},
		{"x", .goes = 7},
		{"y", .goes = 7},
		{"a", .goes = 6},
		{"b", .goes = 6},
		{"op", .goes = 5},
		{"bytes", "B", .goes = 3, .si = true},
		{"seq", .goes = 1},
		{"mode", .goes = 2},
		{"messages", .goes = 4},
		{"setups", .goes = 4},
		{"took_ms", "took ms", .goes = 8},
		{"text", .goes = 3, .prose = true},
		{.key = NULL},
	};
	json_int_t now_us = 0;
	json_t *rows = whole_log(c, &now_us), *row;
	size_t i;
	json_array_foreach(rows, i, row)
	{
		json_int_t t = int_of(row, "t_us");
		if (o->json)
			continue;
		json_object_set_new(row, "ago_ms", json_real((double)(now_us - t) / 1e3));
		if (json_object_get(row, "from_us"))
			json_object_set_new(row, "took_ms",
					    json_real((double)(t - int_of(row, "from_us")) / 1e3));
	}
	return show_rows(rows, o, "events", columns);
}

static void
circuits_table(const json_t *v, const char *key, const char *none, const struct column *columns,
	       const struct options *o)
{
	json_t *rows = json_object_get(v, key);
	putchar('\n');
	if (json_array_size(rows))
		print_table(rows, columns, o);
	else
		printf("no %s\n", none);
}

/* Of a port: "dark", "draining", or "in service". */
static void
port_state(struct ctl *c, uint32_t port, char state[16])
{
	json_t *v = ask(c, "circuits", NULL), *row;
	size_t i;
	snprintf(state, 16, "in service");
	json_array_foreach(json_object_get(v, "withdrawn"), i, row)
	{
		if (int_of(row, "port") == port)
			snprintf(state, 16, "%s", json_string_value(json_object_get(row, "state")));
	}
	json_decref(v);
}

#define PORT_POLL_S 0.05
#define PORT_POLLS  200

/* Withdrawn: when it comes back nothing is lit over the port any more. */
static int
steer_port(struct ctl *c, const struct options *o)
{
	char state[16];
	bool away = strcmp(o->arg[0], "withdraw") == 0;
	if ((!away && strcmp(o->arg[0], "restore")) || o->nargs != 2)
		ctl_die(CTL_USAGE, "circuits, circuits withdraw PORT, or circuits restore PORT");
	uint32_t port = number_of(o->arg[1], "PORT", 0, 4095);
	json_decref(ask(c, away ? "port_withdraw" : "port_restore",
			json_pack("{s:i}", "port", (int)port)));
	port_state(c, port, state);
	for (int polls = 0; polls < PORT_POLLS && !interrupted && !strcmp(state, "draining");
	     polls++) {
		wait_s(PORT_POLL_S);
		port_state(c, port, state);
	}
	if (o->json)
		printf("{ \"port\": %u, \"state\": \"%s\" }\n", port, state);
	else
		printf("port %u of the switch: %s\n", port, state);
	return strcmp(state, "draining") ? CTL_OK : CTL_REFUSED;
}

int
cmd_circuits(struct ctl *c, const struct options *o)
{
	static const struct column links[] = {
		{"x", .goes = 0},   {"y", .goes = 0},	  {"a", .goes = 0},
		{"b", .goes = 0},   {"state", .goes = 0}, {"since_us", "since us", .goes = 1},
		{"job", .goes = 2}, {.key = NULL},
	};
	static const struct column jobs[] = {
		{"job", .goes = 0},
		{"lease", .goes = 1},
		{"relays", .goes = 3},
		{"comms", .goes = 2},
		{"queued", .goes = 4},
		{"op", .goes = 0},
		{"bytes", "B", .goes = 5, .si = true},
		{"seq", .goes = 1},
		{"mode", .goes = 5},
		{"left", .goes = 6},
		{"messages", .goes = 6},
		{.key = NULL},
	};
	static const struct column relays[] = {
		{"relay", .goes = 0}, {"ports", .goes = 0}, {"offered", .goes = 1}, {.key = NULL}};
	static const struct column slots[] = {{"slot", .goes = 0},
					      {"switch_port", .goes = 0},
					      {"told", .goes = 0},
					      {"peer", .goes = 0},
					      {.key = NULL}};
	static const struct column gammas[] = {{"batch", .goes = 0},
					       {"mean_us", "mean us", .goes = 0},
					       {"p99_us", "p99 us", .goes = 0},
					       {"count", .goes = 0},
					       {.key = NULL}};
	static const struct column away[] = {
		{"port", .goes = 0}, {"relay", .goes = 0}, {"state", .goes = 0}, {.key = NULL}};
	if (o->nargs)
		return steer_port(c, o);
	if (o->log)
		return show_log(c, o);
	json_t *v = ask(c, "circuits", NULL);
	if (o->json) {
		print_json(v);
		json_decref(v);
		return CTL_OK;
	}
	print_pairs(v);
	if (json_is_true(json_object_get(v, "conductor"))) {
		circuits_table(v, "links", "links", links, o);
		circuits_table(v, "jobs", "jobs", jobs, o);
		circuits_table(v, "relays", "relays", relays, o);
		circuits_table(v, "withdrawn", "ports withdrawn", away, o);
		circuits_table(v, "gammas", "set-up times learnt", gammas, o);
	}
	circuits_table(v, "slots", "light ports", slots, o);
	json_decref(v);
	return CTL_OK;
}
