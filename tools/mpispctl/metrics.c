/* SPDX-License-Identifier: BSD-2-Clause */
#include "metrics.h"

#include "../ctl/label.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LABELS_MAX 1024

static void
print_family(const char *family, const char *type, const char *help)
{
	printf("# HELP mpispd_%s %s\n# TYPE mpispd_%s %s\n", family, help, family, type);
}

static void
print_gauge(const char *family, const char *help, const char *labels, json_int_t v)
{
	print_family(family, "gauge", help);
	printf("mpispd_%s{%s} %" JSON_INTEGER_FORMAT "\n", family, labels, v);
}

static void
print_states(const char *family, const char *help, const char *labels, const char *const *name,
	     const uint64_t *n, unsigned of)
{
	print_family(family, "gauge", help);
	for (unsigned i = 0; i < of; i++)
		printf("mpispd_%s{%s,state=\"%s\"} %" PRIu64 "\n", family, labels, name[i], n[i]);
}

static void
print_units(const char *labels, const json_t *units)
{
	static const char *const unit_state[] = {"up", "down"};
	static const char *const slot_state[] = {"role", "spare", "dead"};
	uint64_t unit[2] = {0}, slot[3] = {0};
	const json_t *u, *s;
	size_t i, k;

	json_array_foreach(units, i, u)
	{
		unit[json_is_true(json_object_get(u, "down"))]++;
		json_array_foreach(json_object_get(u, "slots"), k, s)
		{
			const char *is = json_string_value(json_object_get(s, "state"));
			for (unsigned j = 0; is && j < 3; j++)
				slot[j] += strcmp(is, slot_state[j]) == 0;
		}
	}
	print_states("units", "nodes of the cluster", labels, unit_state, unit, 2);
	print_states("processes", "processes: those that play a role, spares, dead ones", labels,
		     slot_state, slot, 3);
}

static void
print_counted(const char *labels, json_t *counters)
{
	const char *group, *name;
	json_t *of, *n;

	print_family("counted_total", "counter", "what the daemon has counted (doc/counters.md)");
	json_object_foreach(counters, group, of)
	{
		json_object_foreach(of, name, n)
			printf("mpispd_counted_total{%s,group=\"%s\",counter=\"%s\"} "
			       "%" JSON_INTEGER_FORMAT "\n",
			       labels, group, name, json_integer_value(n));
	}
}

void
metrics_print(json_t *status, json_t *counters)
{
	static const char *const info[] = {"cluster", "state", "master"};
	char labels[LABELS_MAX] = "", more[LABELS_MAX];

	ctl_add_label(labels, LABELS_MAX, "universe",
		      json_string_value(json_object_get(status, "universe")));
	ctl_add_label(labels, LABELS_MAX, "unit",
		      json_string_value(json_object_get(status, "unit")));
	memcpy(more, labels, sizeof more);
	for (unsigned i = 0; i < sizeof info / sizeof *info; i++)
		ctl_add_label(more, LABELS_MAX, info[i],
			      json_string_value(json_object_get(status, info[i])));
	print_gauge("info", "which cluster, what it does, who is master", more, 1);
	if (json_object_get(status, "view")) {
		print_gauge("view", "number of the view in force", labels,
			    json_integer_value(json_object_get(status, "view")));
		print_gauge("epoch", "times that roles have moved", labels,
			    json_integer_value(json_object_get(status, "epoch")));
		print_gauge("leads", "1: this unit is the master", labels,
			    json_is_true(json_object_get(status, "leads")));
		print_gauge("lease", "1: its processes may run", labels,
			    json_is_true(json_object_get(status, "lease")));
		print_units(labels, json_object_get(status, "units"));
	}
	print_counted(labels, json_object_get(counters, "counters"));
}
