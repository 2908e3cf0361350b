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
		{"ago_ms", NULL},  {"kind", NULL}, {"x", NULL},	       {"y", NULL},
		{"a", NULL},	   {"b", NULL},	   {"op", NULL},       {"bytes", NULL},
		{"seq", NULL},	   {"mode", NULL}, {"messages", NULL}, {"setups", NULL},
		{"took_ms", NULL}, {"text", NULL}, {NULL, NULL},
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
circuits_table(const json_t *v, const char *key, const char *none, const struct column *columns)
{
	json_t *rows = json_object_get(v, key);
	putchar('\n');
	if (json_array_size(rows))
		print_table(rows, columns);
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
		{"x", NULL},	 {"y", NULL},	     {"a", NULL},   {"b", NULL},
		{"state", NULL}, {"since_us", NULL}, {"job", NULL}, {NULL, NULL},
	};
	static const struct column jobs[] = {
		{"job", NULL},	  {"lease", NULL}, {"relays", NULL},   {"comms", NULL},
		{"queued", NULL}, {"op", NULL},	   {"bytes", NULL},    {"seq", NULL},
		{"mode", NULL},	  {"left", NULL},  {"messages", NULL}, {NULL, NULL},
	};
	static const struct column relays[] = {
		{"relay", NULL}, {"ports", NULL}, {"offered", NULL}, {NULL, NULL}};
	static const struct column slots[] = {{"slot", NULL},
					      {"switch_port", NULL},
					      {"told", NULL},
					      {"peer", NULL},
					      {NULL, NULL}};
	static const struct column gammas[] = {{"batch", NULL},
					       {"mean_us", NULL},
					       {"p99_us", NULL},
					       {"count", NULL},
					       {NULL, NULL}};
	static const struct column away[] = {
		{"port", NULL}, {"relay", NULL}, {"state", NULL}, {NULL, NULL}};
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
		circuits_table(v, "links", "links", links);
		circuits_table(v, "jobs", "jobs", jobs);
		circuits_table(v, "relays", "relays", relays);
		circuits_table(v, "withdrawn", "ports withdrawn", away);
		circuits_table(v, "gammas", "set-up times learnt", gammas);
	}
	circuits_table(v, "slots", "light ports", slots);
	json_decref(v);
	return CTL_OK;
}
