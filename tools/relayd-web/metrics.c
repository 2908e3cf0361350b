/* SPDX-License-Identifier: BSD-2-Clause */
#include "metrics.h"

#include "../ctl/label.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN  96
#define LABEL_MAX_LEN 512

struct sample {
	char family[NAME_MAX_LEN], labels[LABEL_MAX_LEN];
	json_int_t value;
	unsigned seq;
};

struct samples {
	struct sample *at;
	unsigned n, max;
	bool failed;
};

/* ---- what is known of a field ------------------------------------------------------------------
 */

/* What only grows while a relay runs; everything else that is a number is a gauge. */
static const char *const counters[] = {
	"segments",   "bytes",	     "retransmits",   "tx_ce",	    "ecn_failed", "events_lost",
	"notes_lost", "paths_moved", "tx_mtu_probes", "rx_frames",  "rx_bytes",	  "tx_frames",
	"tx_bytes",   "tx_sealed",   "steered",	      "rx_steered", "tx_steered", "drop_steer_full",
	"rx_tap",     "tx_tap",	     "turns",	      "busy_turns", "busy_us",	  "slept_us",
	"uptime_us",  "tx_segments", "rx_segments",   "moves",	    "dropped",	  "refused",
	"drops",      "rx_missed",   "rx_nombuf",     "rx_errors",  "tx_errors",  "link_changes",
	"removed",    "resets",	     "resets_done",   "driver",	    "sleeps",	  "woken",
};

static const struct {
	const char *field, *help;
} helps[] = {
	{"segments", "segments passed on"},
	{"bytes", "bytes of segments passed on"},
	{"retransmits", "segments sent again"},
	{"custody", "segments taken and not yet acknowledged by the next hop"},
	{"pool_in_use", "packet buffers in use"},
	{"pool_size", "packet buffers"},
	{"busy_permille", "share of time the workers had something to do, of a thousand"},
	{"jobs", "jobs now running"},
	{"starts", "jobs that do not run yet (relayctl starts)"},
	{"starts_ms", "how long the oldest of them has waited"},
	{"paths", "paths to processes, relays and gateways"},
	{"uptime_ms", "since the start of the relay"},
	{"rtt_us", "smoothed round trip of a trunk"},
	{"cwnd", "congestion window of a trunk, in segments"},
	{"queued", "segments that wait for a trunk"},
	{"rate_bps", "what congestion control believes a trunk can carry"},
	{"mtu", "largest datagram of a trunk"},
	{"drops", "what was lost or refused, by reason (relayctl drops says what each means)"},
	{"neighbours", "hosts of a leg whose MAC address is known"},
	{"link_up", "1: the link of a leg is up"},
	{"driver", "what the driver of a leg's port counts, by its own names"},
	{"up", "1: the relay answers"},
	{"info", "who a relay is"},
};

static const char *
field_of_row(const char *family)
{
	static const char *const scopes[] = {"leg_",	 "worker_", "trunk_",
					     "gateway_", "port_",   "peer_"};
	const char *f = family + strlen("relayd_");
	for (unsigned i = 0; i < sizeof scopes / sizeof scopes[0]; i++)
		if (strncmp(f, scopes[i], strlen(scopes[i])) == 0)
			return f + strlen(scopes[i]);
	return f;
}

static bool
is_counter(const char *family)
{
	const char *f = field_of_row(family);
	for (unsigned i = 0; i < sizeof counters / sizeof counters[0]; i++)
		if (strcmp(f, counters[i]) == 0)
			return true;
	return strncmp(f, "io_", 3) == 0;
}

static const char *
help_of(const char *family)
{
	const char *f = field_of_row(family);
	for (unsigned i = 0; i < sizeof helps / sizeof helps[0]; i++)
		if (strcmp(f, helps[i].field) == 0)
			return helps[i].help;
	return "see doc/control.md";
}

/* ---- samples -----------------------------------------------------------------------------------
 */

static void
add_label(char labels[LABEL_MAX_LEN], const char *k, const char *v)
{
	ctl_add_label(labels, LABEL_MAX_LEN, k, v);
}

static void
add_number_label(char *labels, const char *k, const json_t *o)
{
	char text[24];
	snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT,
		 json_integer_value(json_object_get(o, k)));
	add_label(labels, k, text);
}

static void
add_sample(struct samples *s, const char *scope, const char *field, const char *labels,
	   json_int_t v)
{
	if (s->n == s->max) {
		unsigned max = s->max ? s->max * 2 : 1024;
		struct sample *more = realloc(s->at, max * sizeof *more);
		s->failed |= !more;
		if (!more)
			return;
		s->at = more;
		s->max = max;
	}
	struct sample *x = &s->at[s->n];
	snprintf(x->family, sizeof x->family, "relayd_%s%s", scope, field);
	for (char *c = x->family; *c; c++)
		if (*c == '/')
			*c = '_';
	snprintf(x->labels, sizeof x->labels, "%s", labels);
	x->value = v;
	x->seq = s->n++;
}

/* Numbers and truth of an object, but what stands in labels already. */
static void
add_fields(struct samples *s, const char *scope, const char *labels, json_t *o,
	   const char *const *skip)
{
	const char *key;
	json_t *v;
	json_object_foreach(o, key, v)
	{
		bool out = !json_is_integer(v) && !json_is_boolean(v);
		for (unsigned i = 0; skip && skip[i] && !out; i++)
			out = strcmp(key, skip[i]) == 0;
		if (!out)
			add_sample(s, scope, key, labels,
				   json_is_integer(v) ? json_integer_value(v) : json_is_true(v));
	}
}

/* private/rx_frames of the relay is relayd_leg_rx_frames{leg="private"}. */
static void
add_status(struct samples *s, const char *base, json_t *status)
{
	const char *key;
	json_t *v;
	json_object_foreach(status, key, v)
	{
		char labels[LABEL_MAX_LEN], leg[32];
		const char *slash = strchr(key, '/');
		if (!json_is_integer(v) && !json_is_boolean(v))
			continue;
		snprintf(labels, sizeof labels, "%s", base);
		if (slash) {
			snprintf(leg, sizeof leg, "%.*s", (int)(slash - key), key);
			add_label(labels, "leg", leg);
		}
		add_sample(s, slash ? "leg_" : "", slash ? slash + 1 : key, labels,
			   json_is_integer(v) ? json_integer_value(v) : json_is_true(v));
	}
}

static void
add_ports(struct samples *s, const char *base, json_t *ports)
{
	size_t i;
	json_t *row, *v;
	const char *name;
	char labels[LABEL_MAX_LEN];
	json_array_foreach(ports, i, row)
	{
		const char *leg = json_string_value(json_object_get(row, "leg"));
		char of_leg[LABEL_MAX_LEN];
		snprintf(of_leg, sizeof of_leg, "%s", base);
		add_label(of_leg, "leg", leg ? leg : "?");
		add_fields(s, "port_", of_leg, row, NULL);
		json_object_foreach(json_object_get(row, "xstats"), name, v)
		{
			snprintf(labels, sizeof labels, "%s", of_leg);
			add_label(labels, "counter", name);
			add_sample(s, "port_", "driver", labels, json_integer_value(v));
		}
	}
}

static void
add_peers(struct samples *s, const char *base, json_t *relays)
{
	size_t i;
	json_t *row;
	char labels[LABEL_MAX_LEN];
	json_array_foreach(relays, i, row)
	{
		const char *peer = json_string_value(json_object_get(row, "private"));
		const char *state = json_string_value(json_object_get(row, "state"));
		const char *version = json_string_value(json_object_get(row, "version"));
		if (!state || strcmp(state, "here") == 0)
			continue;
		snprintf(labels, sizeof labels, "%s", base);
		add_label(labels, "peer", peer ? peer : "?");
		add_label(labels, "version", version ? version : "unknown");
		add_sample(s, "peer_", "up", labels, strcmp(state, "up") == 0);
	}
}

/* Who has not said who it is is no job yet. */
static void
add_starts(struct samples *s, const char *base, json_t *starts)
{
	json_int_t n = 0, oldest = 0;
	size_t i;
	json_t *row;
	json_array_foreach(starts, i, row)
	{
		json_int_t age = json_integer_value(json_object_get(row, "age_ms"));
		if (!json_object_get(row, "job"))
			continue;
		n++;
		oldest = age > oldest ? age : oldest;
	}
	add_sample(s, "", "starts", base, n);
	add_sample(s, "", "starts_ms", base, oldest);
}

static void
add_rows(struct samples *s, const char *base, json_t *o)
{
	static const char *const in_worker[] = {"worker", "lcore", NULL};
	static const char *const in_trunk[] = {"worker", "path", "job", "slot", NULL};
	size_t i;
	json_t *row;
	char labels[LABEL_MAX_LEN];
	json_array_foreach(json_object_get(json_object_get(o, "status"), "workers"), i, row)
	{
		snprintf(labels, sizeof labels, "%s", base);
		add_number_label(labels, "worker", row);
		add_number_label(labels, "lcore", row);
		add_fields(s, "worker_", labels, row, in_worker);
	}
	json_array_foreach(json_object_get(o, "trunks"), i, row)
	{
		const char *peer = json_string_value(json_object_get(row, "peer"));
		const char *state = json_string_value(json_object_get(row, "state"));
		snprintf(labels, sizeof labels, "%s", base);
		add_label(labels, "peer", peer ? peer : "?");
		add_number_label(labels, "worker", row);
		add_number_label(labels, "path", row);
		add_fields(s, "trunk_", labels, row, in_trunk);
		add_sample(s, "trunk_", "up", labels, state && strcmp(state, "up") == 0);
	}
	json_array_foreach(json_object_get(o, "drops"), i, row)
	{
		const char *name = json_string_value(json_object_get(row, "name"));
		snprintf(labels, sizeof labels, "%s", base);
		add_label(labels, "reason", name ? name : "?");
		add_sample(s, "", "drops", labels,
			   json_integer_value(json_object_get(row, "count")));
	}
	add_starts(s, base, json_object_get(o, "starts"));
	add_peers(s, base, json_object_get(json_object_get(o, "status"), "cluster_relays"));
	add_ports(s, base, json_object_get(o, "ports"));
	add_fields(s, "gateway_", base, json_object_get(o, "gateway"), NULL);
}

static void
add_relay(struct samples *s, json_t *o)
{
	static const char *const who[] = {"private", "global", "impi_server", "phase", "version"};
	json_t *status = json_object_get(o, "status");
	const char *name = json_string_value(json_object_get(o, "name"));
	const char *cluster = json_string_value(json_object_get(status, "cluster"));
	char base[LABEL_MAX_LEN] = "", labels[LABEL_MAX_LEN];
	bool up = json_is_true(json_object_get(o, "up"));
	add_label(base, "relay", name ? name : "?");
	add_sample(s, "", "up", base, up);
	if (!up)
		return;
	add_label(base, "cluster", cluster ? cluster : "?");
	snprintf(labels, sizeof labels, "%s", base);
	for (unsigned i = 0; i < sizeof who / sizeof who[0]; i++) {
		const char *v = json_string_value(json_object_get(status, who[i]));
		add_label(labels, who[i], v ? v : "?");
	}
	add_sample(s, "", "info", labels, 1);
	add_status(s, base, status);
	add_rows(s, base, o);
}

/* ---- text ---------------------------------------------------------------------------------------
 */

static int
compare_samples(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	int c = strcmp(x->family, y->family);
	return c ? c : x->seq < y->seq ? -1 : x->seq > y->seq;
}

char *
web_metrics(const json_t *relays, size_t *len)
{
	struct samples s = {0};
	char *text = NULL;
	size_t i;
	json_t *o;
	json_array_foreach(relays, i, o) add_relay(&s, o);
	FILE *f = open_memstream(&text, len);
	if (s.n)
		qsort(s.at, s.n, sizeof s.at[0], compare_samples);
	for (unsigned k = 0; f && k < s.n; k++) {
		const struct sample *x = &s.at[k];
		bool counter = is_counter(x->family);
		if (!k || strcmp(x->family, s.at[k - 1].family) != 0)
			fprintf(f, "# TYPE %s %s\n# HELP %s %s\n", x->family,
				counter ? "counter" : "gauge", x->family, help_of(x->family));
		fprintf(f, "%s%s{%s} %" JSON_INTEGER_FORMAT "\n", x->family,
			counter ? "_total" : "", x->labels, x->value);
	}
	if (f) {
		fputs("# EOF\n", f);
		s.failed |= fclose(f) != 0;
	}
	free(s.at);
	if (!s.failed)
		return text;
	free(text);
	return NULL;
}
