#include "pktgen/scenario.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <string.h>

#include <bsd/string.h>

struct bad {
	char *err;
	size_t max;
};

__attribute__((format(printf, 2, 3))) static int
fail(const struct bad *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(b->err, b->max, fmt, ap);
	va_end(ap);
	return -1;
}

bool
pg_mac_parse(const char *text, uint8_t mac[6])
{
	unsigned v[6];
	int end = 0;
	if (strlen(text) != 17 || strspn(text, "0123456789abcdefABCDEF:") != 17 ||
	    sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5],
		   &end) != 6 ||
	    end != 17)
		return false;
	for (int i = 0; i < 6; i++)
		mac[i] = (uint8_t)v[i];
	return true;
}

bool
pg_ip_parse(const char *text, uint32_t *ip)
{
	struct in_addr a;
	if (inet_pton(AF_INET, text, &a) != 1)
		return false;
	*ip = ntohl(a.s_addr);
	return true;
}

/* ---- the parts of a file ------------------------------------------------------------ */

static int
read_addresses(struct pg_conf *c, json_t *target, json_t *source, const struct bad *b)
{
	const char *dmac, *dip, *smac, *sip;
	json_int_t port;
	json_error_t e;
	if (json_unpack_ex(target, &e, JSON_STRICT, "{s:s,s:s,s:I}", "mac", &dmac, "ip", &dip,
			   "udp_port", &port))
		return fail(b, "target: %s", e.text);
	if (json_unpack_ex(source, &e, JSON_STRICT, "{s:s,s:s}", "mac", &smac, "ip", &sip))
		return fail(b, "source: %s", e.text);
	if (!pg_mac_parse(dmac, c->dst_mac))
		return fail(b, "target.mac: \"%s\" is not a MAC address", dmac);
	if (!pg_mac_parse(smac, c->src_mac))
		return fail(b, "source.mac: \"%s\" is not a MAC address", smac);
	if (!pg_ip_parse(dip, &c->dst_ip))
		return fail(b, "target.ip: \"%s\" is not an IPv4 address", dip);
	if (!pg_ip_parse(sip, &c->src_ip))
		return fail(b, "source.ip: \"%s\" is not an IPv4 address", sip);
	if (port < 1 || port > 65535)
		return fail(b, "target.udp_port: 1 to 65535 is wanted");
	c->dst_port = (uint16_t)port;
	return 0;
}

static int
read_frames(struct pg_conf *c, json_t *frames, const struct bad *b)
{
	size_t i;
	json_t *f;
	json_error_t e;
	if (!json_is_array(frames) || json_array_size(frames) == 0)
		return fail(b, "frames: a list of {kind, weight} is wanted");
	json_array_foreach(frames, i, f)
	{
		const char *name;
		json_int_t weight;
		if (json_unpack_ex(f, &e, JSON_STRICT, "{s:s,s:I}", "kind", &name, "weight",
				   &weight))
			return fail(b, "frames[%zu]: %s", i, e.text);
		enum pg_kind k = pg_kind_find(name);
		if (k == PG_KINDS_COUNT)
			return fail(b, "frames[%zu].kind: there is no \"%s\"", i, name);
		if (weight < 1 || weight > PG_WEIGHT_MAX)
			return fail(b, "frames[%zu].weight: 1 to %u is wanted", i, PG_WEIGHT_MAX);
		if (c->weight[k])
			return fail(b, "frames[%zu].kind: \"%s\" is there twice", i, name);
		c->weight[k] = (uint32_t)weight;
	}
	return 0;
}

static int
read_expect_lists(struct pg_expect *x, const struct pg_conf *c, json_t *kinds, json_t *counters,
		  size_t i, const struct bad *b)
{
	size_t n;
	json_t *v;
	if (!json_is_array(kinds) || json_array_size(kinds) == 0)
		return fail(b, "expect[%zu].kinds: a list of names is wanted", i);
	if (!json_is_array(counters) || json_array_size(counters) == 0 ||
	    json_array_size(counters) > PG_COUNTERS_MAX)
		return fail(b, "expect[%zu].counters: a list of 1 to %d names is wanted", i,
			    PG_COUNTERS_MAX);
	json_array_foreach(kinds, n, v)
	{
		const char *name = json_is_string(v) ? json_string_value(v) : "";
		enum pg_kind k = pg_kind_find(name);
		if (k == PG_KINDS_COUNT || !c->weight[k])
			return fail(b, "expect[%zu].kinds: \"%s\" is not among the frames", i,
				    name);
		x->kind[k] = true;
	}
	json_array_foreach(counters, n, v)
	{
		const char *name = json_is_string(v) ? json_string_value(v) : "";
		if (!strchr(name, '/') ||
		    strlcpy(x->counter[n], name, PG_COUNTER_TEXT) >= PG_COUNTER_TEXT)
			return fail(b, "expect[%zu].counters: \"%s\" is not a counter's name", i,
				    name);
		x->ncounters++;
	}
	return 0;
}

static int
read_expect(struct pg_scenario *s, json_t *expect, const struct bad *b)
{
	size_t i;
	json_t *v;
	json_error_t e;
	if (!json_is_array(expect) || json_array_size(expect) == 0 ||
	    json_array_size(expect) > PG_EXPECT_MAX)
		return fail(b, "expect: a list of 1 to %d expectations is wanted", PG_EXPECT_MAX);
	json_array_foreach(expect, i, v)
	{
		struct pg_expect *x = &s->expect[i];
		json_t *kinds, *counters;
		json_int_t slack = 0;
		const char *why = NULL;
		x->max = -1;
		if (json_unpack_ex(v, &e, JSON_STRICT, "{s:o,s:o,s?F,s?F,s?I,s?s}", "kinds", &kinds,
				   "counters", &counters, "min", &x->min, "max", &x->max, "slack",
				   &slack, "why", &why))
			return fail(b, "expect[%zu]: %s", i, e.text);
		bool has_max = json_object_get(v, "max") != NULL;
		if (!has_max && x->min <= 0)
			return fail(b, "expect[%zu]: neither min nor max: it cannot fail", i);
		if (x->min < 0 || (has_max && x->max < x->min) || slack < 0)
			return fail(b, "expect[%zu]: 0 <= min <= max and slack >= 0 are wanted", i);
		x->slack = (uint64_t)slack;
		if (read_expect_lists(x, &s->conf, kinds, counters, i, b))
			return -1;
	}
	s->nexpect = (uint32_t)i;
	return 0;
}

static int
read_root(struct pg_scenario *s, json_t *root, const struct bad *b)
{
	json_t *target, *source, *frames, *expect;
	const char *schema = NULL, *name, *proves;
	json_int_t seed, count, rate;
	json_error_t e;
	if (json_unpack_ex(root, &e, JSON_STRICT, "{s?s,s:s,s:s,s:o,s:o,s:I,s:I,s:I,s:o,s:o}",
			   "$schema", &schema, "name", &name, "proves", &proves, "target", &target,
			   "source", &source, "seed", &seed, "count", &count, "rate_pps", &rate,
			   "frames", &frames, "expect", &expect))
		return fail(b, "%s", e.text);
	if (!*name || strlcpy(s->name, name, sizeof s->name) >= sizeof s->name)
		return fail(b, "name: 1 to %zu characters are wanted", sizeof s->name - 1);
	if (!*proves || strlcpy(s->proves, proves, sizeof s->proves) >= sizeof s->proves)
		return fail(b, "proves: 1 to %zu characters are wanted", sizeof s->proves - 1);
	if (seed < 0)
		return fail(b, "seed: 0 or more is wanted");
	if (count < 1 || count > PG_COUNT_MAX)
		return fail(b, "count: 1 to %u is wanted", PG_COUNT_MAX);
	if (rate < 1 || rate > PG_RATE_PPS_MAX)
		return fail(b, "rate_pps: 1 to %u is wanted", PG_RATE_PPS_MAX);
	s->conf.mtu = 1500;
	s->conf.seed = (uint64_t)seed;
	s->count = (uint64_t)count;
	s->rate_pps = (uint64_t)rate;
	if (read_addresses(&s->conf, target, source, b) || read_frames(&s->conf, frames, b) ||
	    read_expect(s, expect, b))
		return -1;
	return 0;
}

static int
take(struct pg_scenario *s, json_t *root, const json_error_t *e, char *err, size_t err_max)
{
	struct bad b = {err, err_max};
	memset(s, 0, sizeof *s);
	if (!root)
		return fail(&b, "line %d: %s", e->line, e->text);
	int r = read_root(s, root, &b);
	json_decref(root);
	return r;
}

int
pg_scenario_load(struct pg_scenario *s, const char *path, char *err, size_t err_max)
{
	json_error_t e;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
	return take(s, root, &e, err, err_max);
}

int
pg_scenario_parse(struct pg_scenario *s, const char *text, char *err, size_t err_max)
{
	json_error_t e;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &e);
	return take(s, root, &e, err, err_max);
}

/* ---- the verdict --------------------------------------------------------------------- */

bool
pg_counter(const json_t *stats, const char *counter, const char *leg, uint64_t *value)
{
	char group[PG_COUNTER_TEXT] = "", mid[PG_COUNTER_TEXT] = "", last[PG_COUNTER_TEXT] = "";
	const json_t *at;
	int n = sscanf(counter, "%63[^/]/%63[^/]/%63s", group, mid, last);
	if (n == 3) {
		at = json_object_get(stats, "legs");
		at = json_object_get(at, strcmp(mid, "*") == 0 ? leg : mid);
		if (strcmp(group, "rx") == 0)
			at = json_object_get(at, "rx_drops");
		else if (strcmp(group, "neighbours") == 0)
			at = json_object_get(at, "neighbours");
		else if (strcmp(group, "leg") != 0)
			return false;
		at = json_object_get(at, last);
	} else if (n == 2) {
		bool relay = strcmp(group, "relay") == 0;
		at = json_object_get(json_object_get(stats, relay ? "forwarding" : group), mid);
	} else {
		return false;
	}
	if (!json_is_integer(at) || json_integer_value(at) < 0)
		return false;
	*value = (uint64_t)json_integer_value(at);
	return true;
}

static void
print_names(FILE *f, const struct pg_expect *x)
{
	const char *sep = "";
	for (int k = 0; k < PG_KINDS_COUNT; k++)
		if (x->kind[k]) {
			fprintf(f, "%s%s", sep, pg_kind_names[k]);
			sep = "+";
		}
	fprintf(f, " -> %s", x->counter[0]);
	if (x->ncounters > 1)
		fprintf(f, " and %u more", x->ncounters - 1);
}

int
pg_judge(const struct pg_scenario *s, const uint64_t made[PG_KINDS_COUNT], const json_t *before,
	 const json_t *after, const char *leg, FILE *f, char *err, size_t err_max)
{
	int verdict = 0;
	for (uint32_t i = 0; i < s->nexpect; i++) {
		const struct pg_expect *x = &s->expect[i];
		uint64_t frames = 0, rose = 0;
		for (int k = 0; k < PG_KINDS_COUNT; k++)
			frames += x->kind[k] ? made[k] : 0;
		for (uint32_t c = 0; c < x->ncounters; c++) {
			uint64_t was, is;
			if (!pg_counter(before, x->counter[c], leg, &was) ||
			    !pg_counter(after, x->counter[c], leg, &is)) {
				snprintf(err, err_max, "expect[%u]: no counter %s (leg %s)", i,
					 x->counter[c], leg);
				return -1;
			}
			if (is < was) {
				snprintf(err, err_max, "%s fell: another run of relayd?",
					 x->counter[c]);
				return -1;
			}
			rose += is - was;
		}
		double low = x->min * (double)frames;
		double high = x->max * (double)frames + (double)x->slack;
		bool good = (double)rose >= low && (x->max < 0 || (double)rose <= high);
		fprintf(f, "%-4s ", good ? "ok" : "BAD");
		print_names(f, x);
		fprintf(f, ": %llu frames, counted %llu, wanted %.0f ..",
			(unsigned long long)frames, (unsigned long long)rose, low);
		if (x->max >= 0)
			fprintf(f, " %.0f", high);
		fputc('\n', f);
		if (!good)
			verdict = 1;
	}
	return verdict;
}
