/* SPDX-License-Identifier: BSD-2-Clause */
#include "pktgen/keys.h"
#include "pktgen/load.h"

#include "pktgen/scenario.h"

#include <stdarg.h>
#include <string.h>

#include <bsd/string.h>

const char *const pg_action_names[PG_ACTIONS_COUNT] = {
#define X(n, h) #n,
	PG_ACTIONS(X)
#undef X
};
const char *const pg_measure_names[PG_MEASURES_COUNT] = {
#define X(n, h) #n,
	PG_MEASURES(X)
#undef X
};
const char *const pg_measure_help[PG_MEASURES_COUNT] = {
#define X(n, h) h,
	PG_MEASURES(X)
#undef X
};

struct bad {
	char *err;
	size_t max;
};

static int __attribute__((format(printf, 2, 3))) fail(const struct bad *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(b->err, b->max, fmt, ap);
	va_end(ap);
	return -1;
}

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define TEXT(s, f, need)                                           \
	{                                                          \
#f, PG_KEY_TEXT, need, offsetof(struct s, f), 0, 0 \
	}
#define WHOLE(s, f, low, high)                                            \
	{                                                                 \
#f, PG_KEY_WHOLE, false, offsetof(struct s, f), low, high \
	}

static int
one_of(const char *text, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(text, names[i]) == 0)
			return i;
	return -1;
}

/* ---- the parts of a file ------------------------------------------------------------ */

static int
read_world(struct pg_load *l, json_t *o, const struct bad *b)
{
	struct world {
		json_int_t hosts, relays, procs_per_relay, jobs;
		bool series;
	} w = {1, 1, 1, 1, false};
	static const struct pg_key keys[] = {
		WHOLE(world, hosts, 1, 16384),
		WHOLE(world, relays, 1, 64),
		WHOLE(world, procs_per_relay, 1, 65536),
		WHOLE(world, jobs, 1, 512),
		{"series", PG_KEY_TRUTH, false, offsetof(struct world, series), 0, 0},
	};
	if (pg_keys_read(o, "world", keys, COUNT(keys), &w, b->err, b->max))
		return -1;
	if (w.series && w.relays != 1)
		return fail(b, "world.relays: in series there is one");
	l->series = w.series;
	l->hosts = (uint32_t)w.hosts;
	l->relays = (uint32_t)w.relays;
	l->procs_per_relay = (uint32_t)w.procs_per_relay;
	l->jobs = (uint32_t)w.jobs;
	uint64_t world = (uint64_t)l->relays * l->procs_per_relay + l->hosts;
	if (world > 1u << 18 || world * l->jobs > 1u << 18)
		return fail(b, "world: at most %u processes in all jobs", 1u << 18);
	if ((uint64_t)l->hosts * l->jobs > 16384)
		return fail(b, "world: at most 16384 hosts in all jobs");
	return 0;
}

static int
read_payload(struct pg_load *l, json_t *p, const struct bad *b)
{
	static const struct pg_size imix[] = {{64, 7}, {570, 4}, {1400, 1}};
	size_t i;
	json_t *v;
	if (json_is_string(p) && strcmp(json_string_value(p), "imix") == 0) {
		memcpy(l->size, imix, sizeof imix);
		l->nsizes = 3;
		return 0;
	}
	if (json_is_integer(p)) {
		l->size[0] = (struct pg_size){(uint32_t)json_integer_value(p), 1};
		l->nsizes = json_integer_value(p) >= PG_PAYLOAD_MIN &&
			    json_integer_value(p) <= PG_PAYLOAD_MAX;
	} else if (json_is_array(p) && json_array_size(p) <= PG_SIZES_MAX) {
		json_array_foreach(p, i, v)
		{
			json_int_t bytes = 0, weight = 0;
			if (json_unpack(v, "[I,I!]", &bytes, &weight) || bytes < PG_PAYLOAD_MIN ||
			    bytes > PG_PAYLOAD_MAX || weight < 1 || weight > 1000)
				return fail(b,
					    "traffic.payload[%zu]: [bytes, weight] is wanted, "
					    "64 to 9000 and 1 to 1000",
					    i);
			l->size[l->nsizes++] = (struct pg_size){(uint32_t)bytes, (uint32_t)weight};
		}
	}
	if (!l->nsizes)
		return fail(b,
			    "traffic.payload: 64 to 9000, \"imix\" or a list of [bytes, weight]");
	return 0;
}

struct traffic {
	const char *pattern, *direction, *cc, *generator;
	json_t *payload;
	json_int_t lanes, message, rate_pps, window, receiver_pps, loss_ppm, seed;
};

static int
read_words(struct pg_load *l, const struct traffic *t, const struct bad *b)
{
	static const char *const patterns[] = {"pairs", "incast", "all"};
	static const char *const directions[] = {"", "out", "in", "both"};
	static const char *const ccs[] = {"cubic", "fixed"};
	static const char *const generators[] = {"endpoint", "template"};
	int p = one_of(t->pattern, patterns, 3), d = one_of(t->direction, directions, 4);
	int fixed = one_of(t->cc, ccs, 2), template = one_of(t->generator, generators, 2);
	if (p < 0)
		return fail(b, "traffic.pattern: pairs, incast or all is wanted, not \"%s\"",
			    t->pattern);
	if (d < 1)
		return fail(b, "traffic.direction: out, in or both is wanted, not \"%s\"",
			    t->direction);
	if (fixed < 0)
		return fail(b, "traffic.cc: cubic or fixed is wanted, not \"%s\"", t->cc);
	if (template <0)
		return fail(b, "traffic.generator: endpoint or template is wanted, not \"%s\"",
			    t->generator);
	l->pattern = (enum pg_pattern)p;
	l->direction = (enum pg_direction)d;
	l->fixed = fixed;
	l->from_template = template;
	return 0;
}

static int
read_traffic(struct pg_load *l, json_t *o, const struct bad *b)
{
	struct traffic t = {.pattern = "pairs",
			    .direction = "both",
			    .cc = "cubic",
			    .generator = "endpoint",
			    .window = 256,
			    .seed = 1};
	static const struct pg_key keys[] = {
		TEXT(traffic, pattern, true),
		TEXT(traffic, direction, false),
		TEXT(traffic, cc, false),
		TEXT(traffic, generator, false),
		{"payload", PG_KEY_ANY, true, offsetof(struct traffic, payload), 0, 0},
		WHOLE(traffic, lanes, 0, 1 << 20),
		WHOLE(traffic, message, 0, 1 << 30),
		WHOLE(traffic, rate_pps, 0, 100000000),
		WHOLE(traffic, window, 1, 4096),
		WHOLE(traffic, receiver_pps, 0, 1 << 30),
		WHOLE(traffic, loss_ppm, 0, 500000),
		WHOLE(traffic, seed, 0, INT64_MAX),
	};
	if (pg_keys_read(o, "traffic", keys, COUNT(keys), &t, b->err, b->max) ||
	    read_words(l, &t, b))
		return -1;
	l->lanes = (uint32_t)t.lanes;
	l->message = (uint32_t)t.message;
	l->rate_pps = (uint64_t)t.rate_pps;
	l->window = (uint32_t)t.window;
	l->receiver_pps = (uint32_t)t.receiver_pps;
	l->loss_ppm = (uint32_t)t.loss_ppm;
	l->seed = (uint64_t)t.seed;
	if (read_payload(l, t.payload, b))
		return -1;
	if (l->message && l->nsizes > 1)
		return fail(b, "traffic.message: segments of one size only");
	if (pg_load_lanes(l) * l->jobs > 4u << 20)
		return fail(b, "traffic: at most %u lanes; set lanes", 4u << 20);
	return 0;
}

static int
read_run(struct pg_load *l, json_t *o, const struct bad *b)
{
	struct times {
		json_int_t warmup_ms, measure_ms, drain_ms, rounds;
		bool may_end;
	} t = {100, 1000, 30000, 1, false};
	static const struct pg_key keys[] = {
		WHOLE(times, warmup_ms, 0, 600000),
		WHOLE(times, measure_ms, 1, 86400000),
		WHOLE(times, drain_ms, 0, 600000),
		WHOLE(times, rounds, 1, 1000),
		{"may_end", PG_KEY_TRUTH, false, offsetof(struct times, may_end), 0, 0},
	};
	if (o && pg_keys_read(o, "run", keys, COUNT(keys), &t, b->err, b->max))
		return -1;
	l->warmup_ms = (uint32_t)t.warmup_ms;
	l->measure_ms = (uint32_t)t.measure_ms;
	l->drain_ms = (uint32_t)t.drain_ms;
	l->rounds = (uint32_t)t.rounds;
	l->may_end = t.may_end;
	return 0;
}

static int
read_load_events(struct pg_load *l, json_t *list, const struct bad *b)
{
	size_t i;
	json_t *v;
	struct event {
		const char *action;
		json_int_t at_ms, for_ms;
	};
	static const struct pg_key keys[] = {
		{"do", PG_KEY_TEXT, true, offsetof(struct event, action), 0, 0},
		{"at_ms", PG_KEY_WHOLE, true, offsetof(struct event, at_ms), 0, 86400000},
		WHOLE(event, for_ms, 0, 86400000),
	};
	json_array_foreach(list, i, v)
	{
		char where[32];
		struct event e = {.for_ms = 0};
		snprintf(where, sizeof where, "events[%zu]", i);
		if (pg_keys_read(v, where, keys, COUNT(keys), &e, b->err, b->max))
			return -1;
		int k = one_of(e.action, pg_action_names, PG_ACTIONS_COUNT);
		if (k < 0)
			return fail(b, "%s.do: there is no \"%s\"; doc/pktgen.md has all", where,
				    e.action);
		l->event[l->nevents++] =
			(struct pg_event){(enum pg_action)k, (uint32_t)e.at_ms, (uint32_t)e.for_ms};
	}
	return 0;
}

static int
read_want(struct pg_want *w, json_t *v, size_t i, const struct bad *b)
{
	struct want {
		const char *measure, *why;
		json_t *counters;
		double min, max;
	} x = {.measure = NULL};
	static const struct pg_key keys[] = {
		TEXT(want, measure, false),
		TEXT(want, why, false),
		{"counters", PG_KEY_LIST, false, offsetof(struct want, counters), 1,
		 PG_WANT_NAMES_MAX},
		{"min", PG_KEY_NUMBER, false, offsetof(struct want, min), 0, 0},
		{"max", PG_KEY_NUMBER, false, offsetof(struct want, max), 0, 0},
	};
	char where[32];
	json_t *name;
	size_t n;
	snprintf(where, sizeof where, "expect[%zu]", i);
	if (pg_keys_read(v, where, keys, COUNT(keys), &x, b->err, b->max))
		return -1;
	w->min = x.min;
	w->max = x.max;
	w->has_min = json_object_get(v, "min") != NULL;
	w->has_max = json_object_get(v, "max") != NULL;
	if (!w->has_max && (!w->has_min || w->min <= 0))
		return fail(b, "expect[%zu]: neither min nor max: it cannot fail", i);
	if (w->has_min && w->has_max && w->max < w->min)
		return fail(b, "expect[%zu]: max is less than min", i);
	if (!x.measure == !x.counters)
		return fail(b, "expect[%zu]: either measure or counters is wanted", i);
	if (x.measure) {
		int m = one_of(x.measure, pg_measure_names, PG_MEASURES_COUNT);
		w->measure = (enum pg_measure)m;
		return m < 0 ? fail(b, "%s.measure: there is no \"%s\"; doc/pktgen.md has all",
				    where, x.measure)
			     : 0;
	}
	w->counters = true;
	json_array_foreach(x.counters, n, name)
	{
		const char *text = json_is_string(name) ? json_string_value(name) : "";
		if (!strchr(text, '/') || strlcpy(w->counter[n], text, PG_NAME_MAX) >= PG_NAME_MAX)
			return fail(b, "expect[%zu].counters: \"%s\" is not a counter's name", i,
				    text);
		w->ncounters++;
	}
	return 0;
}

static int
read_search(struct pg_load *l, json_t *o, const struct bad *b)
{
	struct search {
		json_int_t min_pps, max_pps, loss_ppm, precision_ppm, trials, trial_ms;
	} s = {1000, 0, 5000, 10000, 3, 500};
	static const struct pg_key keys[] = {
		WHOLE(search, min_pps, 1, 100000000),
		{"max_pps", PG_KEY_WHOLE, true, offsetof(struct search, max_pps), 1, 100000000},
		WHOLE(search, loss_ppm, 0, 500000),
		WHOLE(search, precision_ppm, 1000, 500000),
		WHOLE(search, trials, 1, PG_TRIALS_MAX),
		WHOLE(search, trial_ms, 10, 600000),
	};
	if (!o)
		return 0;
	if (pg_keys_read(o, "search", keys, COUNT(keys), &s, b->err, b->max))
		return -1;
	if (s.max_pps < s.min_pps)
		return fail(b, "search.max_pps: %lld is less than min_pps, %lld",
			    (long long)s.max_pps, (long long)s.min_pps);
	if (s.trials % 2 == 0)
		return fail(b, "search.trials: an odd number is wanted: the median decides");
	if (l->rate_pps || l->nevents || l->rounds > 1)
		return fail(b, "search: it sets the rate, in one round: without traffic.rate_pps, "
			       "events and run.rounds");
	l->search = (struct pg_search_conf){.min_pps = (uint64_t)s.min_pps,
					    .max_pps = (uint64_t)s.max_pps,
					    .loss_ppm = (uint32_t)s.loss_ppm,
					    .precision_ppm = (uint32_t)s.precision_ppm,
					    .trials = (uint32_t)s.trials,
					    .trial_ms = (uint32_t)s.trial_ms};
	return 0;
}

/* A player has one frame, and sends nothing a second time. */
static int
check_template(const struct pg_load *l, const struct bad *b)
{
	if (!l->from_template)
		return 0;
	if (l->nsizes > 1 || l->message || l->receiver_pps || l->loss_ppm || l->nevents ||
	    l->series)
		return fail(b, "traffic.generator: a template is for segments of one size, without "
			       "message, receiver_pps, loss_ppm, series and events");
	return 0;
}

static int
read_load_root(struct pg_load *l, json_t *root, const struct bad *b)
{
	struct file {
		const char *schema, *name, *proves;
		json_t *world, *traffic, *run, *events, *search, *expect;
	} f = {.run = NULL};
#define OBJECT(f, need)                                                 \
	{                                                               \
#f, PG_KEY_OBJECT, need, offsetof(struct file, f), 0, 0 \
	}
	static const struct pg_key keys[] = {
		{"$schema", PG_KEY_TEXT, false, offsetof(struct file, schema), 0, 0},
		TEXT(file, name, true),
		TEXT(file, proves, true),
		OBJECT(world, true),
		OBJECT(traffic, true),
		OBJECT(run, false),
		OBJECT(search, false),
		{"events", PG_KEY_LIST, false, offsetof(struct file, events), 0, PG_EVENTS_MAX},
		{"expect", PG_KEY_LIST, true, offsetof(struct file, expect), 1, PG_WANTS_MAX},
	};
#undef OBJECT
	json_t *v;
	size_t i;
	if (pg_keys_read(root, "", keys, COUNT(keys), &f, b->err, b->max))
		return -1;
	if (!*f.name || strlcpy(l->name, f.name, sizeof l->name) >= sizeof l->name)
		return fail(b, "name: 1 to %zu characters are wanted", sizeof l->name - 1);
	if (!*f.proves || strlcpy(l->proves, f.proves, sizeof l->proves) >= sizeof l->proves)
		return fail(b, "proves: 1 to %zu characters are wanted", sizeof l->proves - 1);
	if (read_world(l, f.world, b) || read_traffic(l, f.traffic, b) || read_run(l, f.run, b) ||
	    read_load_events(l, f.events, b) || read_search(l, f.search, b) || check_template(l, b))
		return -1;
	json_array_foreach(f.expect, i, v) if (read_want(&l->want[l->nwants++], v, i, b)) return -1;
	return 0;
}

static int
take_load(struct pg_load *l, json_t *root, const json_error_t *e, char *err, size_t err_max)
{
	struct bad b = {err, err_max};
	memset(l, 0, sizeof *l);
	if (!root)
		return pg_keys_no_json(e, err, err_max);
	int r = read_load_root(l, root, &b);
	json_decref(root);
	return r;
}

int
pg_load_load(struct pg_load *l, const char *path, char *err, size_t err_max)
{
	json_error_t e;
	return take_load(l, json_load_file(path, JSON_REJECT_DUPLICATES, &e), &e, err, err_max);
}

int
pg_load_parse(struct pg_load *l, const char *text, size_t len, char *err, size_t err_max)
{
	json_error_t e;
	return take_load(l, json_loadb(text, len, JSON_REJECT_DUPLICATES, &e), &e, err, err_max);
}

bool
pg_load_is(const char *path)
{
	json_t *root = json_load_file(path, 0, NULL);
	bool is = json_is_object(json_object_get(root, "world"));
	json_decref(root);
	return is;
}

uint64_t
pg_load_lanes(const struct pg_load *l)
{
	uint64_t here = l->hosts, there = (uint64_t)l->relays * l->procs_per_relay, n = 0;
	for (int d = PG_OUT; d <= PG_IN; d++) {
		uint64_t from = d == PG_OUT ? here : there, to = d == PG_OUT ? there : here;
		if (!((unsigned)l->direction & (unsigned)d))
			continue;
		uint64_t lanes = l->pattern == PG_ALL ? from * to : from;
		if (l->pattern == PG_PAIRS && to > from)
			lanes = to;
		n += l->lanes && lanes > l->lanes ? l->lanes : lanes;
	}
	return n;
}

bool
pg_stats_rise(const json_t *before, const json_t *after, const char *counter, double *rise)
{
	uint64_t a, b;
	/* "*": both legs. */
	if (strstr(counter, "/*/")) {
		uint64_t c, d;
		if (!pg_counter(before, counter, "private", &a) ||
		    !pg_counter(after, counter, "private", &b) ||
		    !pg_counter(before, counter, "global", &c) ||
		    !pg_counter(after, counter, "global", &d))
			return false;
		*rise = (double)b - (double)a + (double)d - (double)c;
		return true;
	}
	if (!pg_counter(before, counter, "", &a) || !pg_counter(after, counter, "", &b))
		return false;
	*rise = (double)b - (double)a;
	return true;
}
