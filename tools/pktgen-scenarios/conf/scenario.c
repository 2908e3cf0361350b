/* SPDX-License-Identifier: BSD-2-Clause */
#include "pktgen/keys.h"
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
fail_scenario(const struct bad *b, const char *fmt, ...)
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

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define TEXT(s, f)                                                 \
	{                                                          \
#f, PG_KEY_TEXT, true, offsetof(struct s, f), 0, 0 \
	}
#define WHOLE(s, f, low, high)                                           \
	{                                                                \
#f, PG_KEY_WHOLE, true, offsetof(struct s, f), low, high \
	}
#define LIST(s, f, low, high)                                           \
	{                                                               \
#f, PG_KEY_LIST, true, offsetof(struct s, f), low, high \
	}

struct end {
	const char *mac, *ip;
	json_int_t udp_port;
};

static int
read_addresses(struct pg_conf *c, json_t *target, json_t *source, const struct bad *b)
{
	static const struct pg_key keys[] = {
		TEXT(end, mac), TEXT(end, ip), WHOLE(end, udp_port, 1, 65535), /* of a target */
	};
	struct end to, from;
	if (pg_keys_read(target, "target", keys, COUNT(keys), &to, b->err, b->max) ||
	    pg_keys_read(source, "source", keys, COUNT(keys) - 1, &from, b->err, b->max))
		return -1;
	const char *dmac = to.mac, *dip = to.ip, *smac = from.mac, *sip = from.ip;
	if (!pg_mac_parse(dmac, c->dst_mac))
		return fail_scenario(b, "target.mac: \"%s\" is not a MAC address", dmac);
	if (!pg_mac_parse(smac, c->src_mac))
		return fail_scenario(b, "source.mac: \"%s\" is not a MAC address", smac);
	if (!pg_ip_parse(dip, &c->dst_ip))
		return fail_scenario(b, "target.ip: \"%s\" is not an IPv4 address", dip);
	if (!pg_ip_parse(sip, &c->src_ip))
		return fail_scenario(b, "source.ip: \"%s\" is not an IPv4 address", sip);
	c->dst_port = (uint16_t)to.udp_port;
	return 0;
}

static int
read_scenario_frames(struct pg_conf *c, json_t *frames, const struct bad *b)
{
	struct frame {
		const char *kind;
		json_int_t weight;
	} x;
	static const struct pg_key keys[] = {
		TEXT(frame, kind),
		WHOLE(frame, weight, 1, PG_WEIGHT_MAX),
	};
	size_t i;
	json_t *f;
	json_array_foreach(frames, i, f)
	{
		char where[32];
		snprintf(where, sizeof where, "frames[%zu]", i);
		if (pg_keys_read(f, where, keys, COUNT(keys), &x, b->err, b->max))
			return -1;
		enum pg_kind k = pg_kind_find(x.kind);
		if (k == PG_KINDS_COUNT)
			return fail_scenario(b,
					     "%s.kind: there is no \"%s\"; doc/pktgen.md has all",
					     where, x.kind);
		if (c->weight[k])
			return fail_scenario(b, "%s.kind: \"%s\" is there twice", where, x.kind);
		c->weight[k] = (uint32_t)x.weight;
	}
	return 0;
}

static int
read_expect_lists(struct pg_expect *x, const struct pg_conf *c, json_t *kinds, json_t *counters,
		  size_t i, const struct bad *b)
{
	size_t n;
	json_t *v;
	json_array_foreach(kinds, n, v)
	{
		const char *name = json_is_string(v) ? json_string_value(v) : "";
		enum pg_kind k = pg_kind_find(name);
		if (k == PG_KINDS_COUNT || !c->weight[k])
			return fail_scenario(b, "expect[%zu].kinds: \"%s\" is not among the frames",
					     i, name);
		x->kind[k] = true;
	}
	json_array_foreach(counters, n, v)
	{
		const char *name = json_is_string(v) ? json_string_value(v) : "";
		if (!strchr(name, '/') ||
		    strlcpy(x->counter[n], name, PG_COUNTER_TEXT) >= PG_COUNTER_TEXT)
			return fail_scenario(
				b, "expect[%zu].counters: \"%s\" is not a counter's name", i, name);
		x->ncounters++;
	}
	return 0;
}

static int
read_expect(struct pg_scenario *s, json_t *expect, const struct bad *b)
{
	struct want {
		json_t *kinds, *counters;
		double min, max;
		json_int_t slack;
		const char *why;
	};
	static const struct pg_key keys[] = {
		LIST(want, kinds, 1, PG_KINDS_COUNT),
		LIST(want, counters, 1, PG_COUNTERS_MAX),
		{"min", PG_KEY_NUMBER, false, offsetof(struct want, min), 0, 0},
		{"max", PG_KEY_NUMBER, false, offsetof(struct want, max), 0, 0},
		{"slack", PG_KEY_WHOLE, false, offsetof(struct want, slack), 0, INT64_MAX},
		{"why", PG_KEY_TEXT, false, offsetof(struct want, why), 0, 0},
	};
	size_t i;
	json_t *v;
	json_array_foreach(expect, i, v)
	{
		struct pg_expect *x = &s->expect[i];
		struct want w = {.max = -1};
		char where[32];
		snprintf(where, sizeof where, "expect[%zu]", i);
		if (pg_keys_read(v, where, keys, COUNT(keys), &w, b->err, b->max))
			return -1;
		bool has_max = json_object_get(v, "max") != NULL;
		if (!has_max && w.min <= 0)
			return fail_scenario(b, "%s: neither min nor max: it cannot fail", where);
		if (w.min < 0 || (has_max && w.max < w.min))
			return fail_scenario(b, "%s: 0 <= min <= max are wanted", where);
		x->min = w.min;
		x->max = w.max;
		x->slack = (uint64_t)w.slack;
		if (read_expect_lists(x, &s->conf, w.kinds, w.counters, i, b))
			return -1;
	}
	s->nexpect = (uint32_t)i;
	return 0;
}

static int
read_scenario_root(struct pg_scenario *s, json_t *root, const struct bad *b)
{
	struct file {
		const char *schema, *name, *proves;
		json_t *target, *source, *frames, *expect;
		json_int_t seed, count, rate_pps;
	} f;
	static const struct pg_key keys[] = {
		{"$schema", PG_KEY_TEXT, false, offsetof(struct file, schema), 0, 0},
		TEXT(file, name),
		TEXT(file, proves),
		{"target", PG_KEY_OBJECT, true, offsetof(struct file, target), 0, 0},
		{"source", PG_KEY_OBJECT, true, offsetof(struct file, source), 0, 0},
		WHOLE(file, seed, 0, INT64_MAX),
		WHOLE(file, count, 1, PG_COUNT_MAX),
		WHOLE(file, rate_pps, 1, PG_RATE_PPS_MAX),
		LIST(file, frames, 1, PG_KINDS_COUNT),
		LIST(file, expect, 1, PG_EXPECT_MAX),
	};
	if (json_object_get(root, "world"))
		return fail_scenario(
			b, "this scenario is stateful (it has \"world\"); play it in a lab: "
			   "relay-pktgen --lab LAB.json SCENARIO.json");
	if (pg_keys_read(root, "", keys, COUNT(keys), &f, b->err, b->max))
		return -1;
	if (!*f.name || strlcpy(s->name, f.name, sizeof s->name) >= sizeof s->name)
		return fail_scenario(b, "name: 1 to %zu characters are wanted", sizeof s->name - 1);
	if (!*f.proves || strlcpy(s->proves, f.proves, sizeof s->proves) >= sizeof s->proves)
		return fail_scenario(b, "proves: 1 to %zu characters are wanted",
				     sizeof s->proves - 1);
	s->conf.mtu = 1500;
	s->conf.seed = (uint64_t)f.seed;
	s->count = (uint64_t)f.count;
	s->rate_pps = (uint64_t)f.rate_pps;
	if (read_addresses(&s->conf, f.target, f.source, b) ||
	    read_scenario_frames(&s->conf, f.frames, b) || read_expect(s, f.expect, b))
		return -1;
	return 0;
}

static int
take_scenario(struct pg_scenario *s, json_t *root, const json_error_t *e, char *err, size_t err_max)
{
	struct bad b = {err, err_max};
	memset(s, 0, sizeof *s);
	if (!root)
		return pg_keys_no_json(e, err, err_max);
	int r = read_scenario_root(s, root, &b);
	json_decref(root);
	return r;
}

int
pg_scenario_load(struct pg_scenario *s, const char *path, char *err, size_t err_max)
{
	json_error_t e;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
	return take_scenario(s, root, &e, err, err_max);
}

int
pg_scenario_parse(struct pg_scenario *s, const char *text, char *err, size_t err_max)
{
	json_error_t e;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &e);
	return take_scenario(s, root, &e, err, err_max);
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
