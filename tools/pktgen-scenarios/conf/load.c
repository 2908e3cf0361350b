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

/* An integer with its bounds: read by name, so that an error names it. */
struct number {
	const char *key;
	json_int_t v, low, high;
};

static int
in_bounds(const char *group, const struct number *n, size_t count, const struct bad *b)
{
	for (size_t i = 0; i < count; i++)
		if (n[i].v < n[i].low || n[i].v > n[i].high)
			return fail(b, "%s.%s: %lld to %lld is wanted", group, n[i].key,
				    (long long)n[i].low, (long long)n[i].high);
	return 0;
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
	struct number n[] = {
		{"hosts", 1, 1, 16384},
		{"relays", 1, 1, 64},
		{"procs_per_relay", 1, 1, 65536},
		{"jobs", 1, 1, 512},
	};
	json_error_t e;
	int series = 0;
	if (json_unpack_ex(o, &e, JSON_STRICT, "{s?I,s?I,s?I,s?I,s?b}", n[0].key, &n[0].v, n[1].key,
			   &n[1].v, n[2].key, &n[2].v, n[3].key, &n[3].v, "series", &series))
		return fail(b, "world: %s", e.text);
	if (in_bounds("world", n, 4, b))
		return -1;
	if (series && n[1].v != 1)
		return fail(b, "world.relays: in series there is one");
	l->series = series;
	l->hosts = (uint32_t)n[0].v;
	l->relays = (uint32_t)n[1].v;
	l->procs_per_relay = (uint32_t)n[2].v;
	l->jobs = (uint32_t)n[3].v;
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

static int
read_traffic(struct pg_load *l, json_t *o, const struct bad *b)
{
	static const char *const patterns[] = {"pairs", "incast", "all"};
	static const char *const directions[] = {"", "out", "in", "both"};
	static const char *const ccs[] = {"cubic", "fixed"};
	static const char *const generators[] = {"endpoint", "template"};
	const char *pattern = "pairs", *direction = "both", *cc = "cubic", *gen = "endpoint";
	struct number n[] = {
		{"lanes", 0, 0, 1 << 20},	 {"message", 0, 0, 1 << 30},
		{"rate_pps", 0, 0, 100000000},	 {"window", 256, 1, 4096},
		{"receiver_pps", 0, 0, 1 << 30}, {"loss_ppm", 0, 0, 500000},
		{"seed", 1, 0, INT64_MAX},
	};
	json_t *payload;
	json_error_t e;
	if (json_unpack_ex(o, &e, JSON_STRICT, "{s:s,s?s,s:o,s?s,s?s,s?I,s?I,s?I,s?I,s?I,s?I,s?I}",
			   "pattern", &pattern, "direction", &direction, "payload", &payload, "cc",
			   &cc, "generator", &gen, n[0].key, &n[0].v, n[1].key, &n[1].v, n[2].key, &n[2].v, n[3].key,
			   &n[3].v, n[4].key, &n[4].v, n[5].key, &n[5].v, n[6].key, &n[6].v))
		return fail(b, "traffic: %s", e.text);
	int p = one_of(pattern, patterns, 3), d = one_of(direction, directions, 4);
	int fixed = one_of(cc, ccs, 2), template = one_of(gen, generators, 2);
	if (p < 0 || d < 1 || fixed < 0 || template < 0)
		return fail(b, "traffic.%s: there is no such one",
			    p < 0	? "pattern"
			    : d < 1	? "direction"
			    : fixed < 0 ? "cc"
					: "generator");
	if (in_bounds("traffic", n, 7, b))
		return -1;
	l->pattern = (enum pg_pattern)p;
	l->direction = (enum pg_direction)d;
	l->fixed = fixed;
	l->from_template = template;
	l->lanes = (uint32_t)n[0].v;
	l->message = (uint32_t)n[1].v;
	l->rate_pps = (uint64_t)n[2].v;
	l->window = (uint32_t)n[3].v;
	l->receiver_pps = (uint32_t)n[4].v;
	l->loss_ppm = (uint32_t)n[5].v;
	l->seed = (uint64_t)n[6].v;
	if (read_payload(l, payload, b))
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
	struct number n[] = {
		{"warmup_ms", 100, 0, 600000},
		{"measure_ms", 1000, 1, 86400000},
		{"drain_ms", 30000, 0, 600000},
		{"rounds", 1, 1, 1000},
	};
	json_error_t e;
	int may_end = 0;
	if (o &&
	    json_unpack_ex(o, &e, JSON_STRICT, "{s?I,s?I,s?I,s?I,s?b}", n[0].key, &n[0].v, n[1].key,
			   &n[1].v, n[2].key, &n[2].v, n[3].key, &n[3].v, "may_end", &may_end))
		return fail(b, "run: %s", e.text);
	if (in_bounds("run", n, 4, b))
		return -1;
	l->warmup_ms = (uint32_t)n[0].v;
	l->measure_ms = (uint32_t)n[1].v;
	l->drain_ms = (uint32_t)n[2].v;
	l->rounds = (uint32_t)n[3].v;
	l->may_end = may_end;
	return 0;
}

static int
read_events(struct pg_load *l, json_t *list, const struct bad *b)
{
	size_t i;
	json_t *v;
	if (list && (!json_is_array(list) || json_array_size(list) > PG_EVENTS_MAX))
		return fail(b, "events: a list of at most %d is wanted", PG_EVENTS_MAX);
	json_array_foreach(list, i, v)
	{
		const char *what;
		json_int_t at, dur = 0;
		json_error_t e;
		if (json_unpack_ex(v, &e, JSON_STRICT, "{s:s,s:I,s?I}", "do", &what, "at_ms", &at,
				   "for_ms", &dur))
			return fail(b, "events[%zu]: %s", i, e.text);
		int k = one_of(what, pg_action_names, PG_ACTIONS_COUNT);
		if (k < 0)
			return fail(b, "events[%zu].do: there is no \"%s\"", i, what);
		if (at < 0 || at > 86400000 || dur < 0 || dur > 86400000)
			return fail(b, "events[%zu]: times of 0 to 86400000 ms are wanted", i);
		l->event[l->nevents++] =
			(struct pg_event){(enum pg_action)k, (uint32_t)at, (uint32_t)dur};
	}
	return 0;
}

static int
read_want(struct pg_want *w, json_t *v, size_t i, const struct bad *b)
{
	const char *measure = NULL, *why = NULL;
	json_t *counters = NULL, *name;
	json_error_t e;
	size_t n;
	if (json_unpack_ex(v, &e, JSON_STRICT, "{s?s,s?o,s?F,s?F,s?s}", "measure", &measure,
			   "counters", &counters, "min", &w->min, "max", &w->max, "why", &why))
		return fail(b, "expect[%zu]: %s", i, e.text);
	w->has_min = json_object_get(v, "min") != NULL;
	w->has_max = json_object_get(v, "max") != NULL;
	if (!w->has_max && (!w->has_min || w->min <= 0))
		return fail(b, "expect[%zu]: neither min nor max: it cannot fail", i);
	if (w->has_min && w->has_max && w->max < w->min)
		return fail(b, "expect[%zu]: max is less than min", i);
	if (!measure == !counters)
		return fail(b, "expect[%zu]: either measure or counters is wanted", i);
	if (measure) {
		int m = one_of(measure, pg_measure_names, PG_MEASURES_COUNT);
		w->measure = (enum pg_measure)m;
		return m < 0 ? fail(b, "expect[%zu].measure: there is no \"%s\"", i, measure) : 0;
	}
	w->counters = true;
	if (!json_is_array(counters) || !json_array_size(counters) ||
	    json_array_size(counters) > PG_WANT_NAMES_MAX)
		return fail(b, "expect[%zu].counters: a list of 1 to %d names is wanted", i,
			    PG_WANT_NAMES_MAX);
	json_array_foreach(counters, n, name)
	{
		const char *text = json_is_string(name) ? json_string_value(name) : "";
		if (!strchr(text, '/') || strlcpy(w->counter[n], text, PG_NAME_MAX) >= PG_NAME_MAX)
			return fail(b, "expect[%zu].counters: \"%s\" is not a counter's name", i,
				    text);
		w->ncounters++;
	}
	return 0;
}

/* A player has one frame, and sends nothing a second time. */
static int
check_template(const struct pg_load *l, const struct bad *b)
{
	if (!l->from_template)
		return 0;
	if (l->nsizes > 1 || l->message || l->receiver_pps || l->loss_ppm ||
	    l->nevents || l->series)
		return fail(b, "traffic.generator: a template is for segments of one size, without "
			       "message, receiver_pps, loss_ppm, series and events");
	return 0;
}

static int
read_root(struct pg_load *l, json_t *root, const struct bad *b)
{
	const char *schema, *name, *proves;
	json_t *world, *traffic, *run = NULL, *events = NULL, *expect, *v;
	json_error_t e;
	size_t i;
	if (json_unpack_ex(root, &e, JSON_STRICT, "{s?s,s:s,s:s,s:o,s:o,s?o,s?o,s:o}", "$schema",
			   &schema, "name", &name, "proves", &proves, "world", &world, "traffic",
			   &traffic, "run", &run, "events", &events, "expect", &expect))
		return fail(b, "%s", e.text);
	if (!*name || strlcpy(l->name, name, sizeof l->name) >= sizeof l->name)
		return fail(b, "name: 1 to %zu characters are wanted", sizeof l->name - 1);
	if (!*proves || strlcpy(l->proves, proves, sizeof l->proves) >= sizeof l->proves)
		return fail(b, "proves: 1 to %zu characters are wanted", sizeof l->proves - 1);
	if (!json_is_array(expect) || !json_array_size(expect) ||
	    json_array_size(expect) > PG_WANTS_MAX)
		return fail(b, "expect: a list of 1 to %d expectations is wanted", PG_WANTS_MAX);
	if (read_world(l, world, b) || read_traffic(l, traffic, b) || read_run(l, run, b) ||
	    read_events(l, events, b) || check_template(l, b))
		return -1;
	json_array_foreach(expect, i, v) if (read_want(&l->want[l->nwants++], v, i, b)) return -1;
	return 0;
}

static int
take(struct pg_load *l, json_t *root, const json_error_t *e, char *err, size_t err_max)
{
	struct bad b = {err, err_max};
	memset(l, 0, sizeof *l);
	if (!root)
		return fail(&b, "line %d: %s", e->line, e->text);
	int r = read_root(l, root, &b);
	json_decref(root);
	return r;
}

int
pg_load_load(struct pg_load *l, const char *path, char *err, size_t err_max)
{
	json_error_t e;
	return take(l, json_load_file(path, JSON_REJECT_DUPLICATES, &e), &e, err, err_max);
}

int
pg_load_parse(struct pg_load *l, const char *text, size_t len, char *err, size_t err_max)
{
	json_error_t e;
	return take(l, json_loadb(text, len, JSON_REJECT_DUPLICATES, &e), &e, err, err_max);
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
