#include "pktgen/lab.h"

#include "pktgen/scenario.h"

#include <stdarg.h>
#include <string.h>

#include <bsd/string.h>

static int __attribute__((format(printf, 3, 4)))
fail(char *err, size_t err_max, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(err, err_max, fmt, ap);
	va_end(ap);
	return -1;
}

/* Text as it came out of the file, before it is checked. */
struct raw_side {
	const char *port, *pmd, *relay, *global, *primary, *first;
	json_int_t descriptors, mtu, prefix_len, udp_port, nshards, peer_port, index;
	int queues;
};

static int
addresses(struct pg_side_conf *s, const struct raw_side *r, const char *name, char *err, size_t max)
{
	const struct {
		const char *key, *text;
		uint32_t *out;
		bool needed;
	} a[] = {
		{"relay", r->relay, &s->relay, true},
		{"relay_global", r->global, &s->relay_global, false},
		{"primary", r->primary, &s->primary, false},
		{"first", r->first, &s->first, true},
	};
	uint32_t mask = ~0u << (32 - s->prefix_len);
	for (size_t i = 0; i < sizeof a / sizeof a[0]; i++) {
		if (!a[i].needed && !*a[i].text)
			continue;
		if (!pg_ip_parse(a[i].text, a[i].out))
			return fail(err, max, "%s.%s: \"%s\" is not an IPv4 address", name,
				    a[i].key, a[i].text);
		if (a[i].out != &s->relay_global && ((*a[i].out ^ s->relay) & mask))
			return fail(err, max, "%s.%s: not in the subnet of the relay", name,
				    a[i].key);
	}
	return 0;
}

static int
check_numbers(const struct raw_side *r, const char *name, char *err, size_t max)
{
	const struct {
		const char *key;
		json_int_t v, low, high;
	} n[] = {
		{"descriptors", r->descriptors, 64, 16384}, {"mtu", r->mtu, 1280, 9600},
		{"prefix_len", r->prefix_len, 1, 30},	    {"udp_port", r->udp_port, 1, 65535},
		{"shards", r->nshards, 1, PG_SHARDS_MAX},   {"peer_port", r->peer_port, 1, 65535},
		{"primary_index", r->index, 0, 62},
	};
	for (size_t i = 0; i < sizeof n / sizeof n[0]; i++)
		if (n[i].v < n[i].low || n[i].v > n[i].high)
			return fail(err, max, "%s.%s: %lld to %lld is wanted", name, n[i].key,
				    (long long)n[i].low, (long long)n[i].high);
	return 0;
}

static int
read_side(struct pg_side_conf *s, json_t *o, const char *name, char *err, size_t max)
{
	struct raw_side r = {.pmd = "af_packet",
			     .global = "",
			     .primary = "",
			     .descriptors = 1024,
			     .mtu = 1500,
			     .udp_port = 7812,
			     .nshards = 1,
			     .peer_port = 7813};
	json_error_t e;
	if (json_unpack_ex(o, &e, JSON_STRICT,
			   "{s:s,s?s,s?I,s?I,s:I,s:s,s?s,s?I,s?I,s?b,s?s,s?I,s?I,s:s}", "port",
			   &r.port, "pmd", &r.pmd, "descriptors", &r.descriptors, "mtu", &r.mtu,
			   "prefix_len", &r.prefix_len, "relay", &r.relay, "relay_global",
			   &r.global, "udp_port", &r.udp_port, "shards", &r.nshards, "queues",
			   &r.queues, "primary", &r.primary, "peer_port", &r.peer_port,
			   "primary_index", &r.index, "first", &r.first))
		return fail(err, max, "%s: %s", name, e.text);
	if (check_numbers(&r, name, err, max))
		return -1;
	if (!*r.port || strlcpy(s->port, r.port, sizeof s->port) >= sizeof s->port)
		return fail(err, max, "%s.port: 1 to %zu characters are wanted", name,
			    sizeof s->port - 1);
	s->af_xdp = strcmp(r.pmd, "af_xdp") == 0;
	if (!s->af_xdp && strcmp(r.pmd, "af_packet") != 0)
		return fail(err, max, "%s.pmd: af_packet or af_xdp is wanted", name);
	s->descriptors = (uint16_t)r.descriptors;
	s->mtu = (uint16_t)r.mtu;
	s->prefix_len = (uint32_t)r.prefix_len;
	s->udp_port = (uint16_t)r.udp_port;
	s->nshards = (uint16_t)r.nshards;
	s->queues = r.queues;
	s->peer_port = (uint16_t)r.peer_port;
	s->primary_index = (uint32_t)r.index;
	return addresses(s, &r, name, err, max);
}

static int
copy_text(char *out, size_t room, const char *text, const char *key, char *err, size_t max)
{
	if (strlcpy(out, text, room) < room)
		return 0;
	return fail(err, max, "%s: at most %zu characters are wanted", key, room - 1);
}

static int
read_root(struct pg_lab *lab, json_t *root, char *err, size_t max)
{
	json_t *private, *global = NULL, *second = NULL;
	const char *schema, *about, *stats = "", *restart = "", *key = "", *lcores = "",
				    *prefix = "";
	json_int_t memory = 0;
	json_error_t e;
	int huge = 0, sleep = 0;
	if (json_unpack_ex(root, &e, JSON_STRICT,
			   "{s?s,s?s,s:o,s?o,s?o,s?s,s?s,s?s,s?s,s?s,s?I,s?b,s?b}", "$schema",
			   &schema, "about", &about, "private", &private, "global", &global,
			   "second", &second, "stats", &stats, "restart", &restart, "key_file",
			   &key, "lcores", &lcores, "file_prefix", &prefix, "memory_mb", &memory,
			   "hugepages", &huge, "sleep", &sleep))
		return fail(err, max, "%s", e.text);
	if (!global == !second)
		return fail(err, max, "either global or second is wanted");
	if (memory < 0 || memory > 1 << 20)
		return fail(err, max, "memory_mb: 0 to %d is wanted", 1 << 20);
	lab->memory_mb = (uint32_t)memory;
	lab->hugepages = huge;
	lab->sleep = sleep;
	lab->series = second != NULL;
	if (read_side(&lab->side[0], private, "private", err, max) ||
	    read_side(&lab->side[1], second ? second : global, second ? "second" : "global", err,
		      max) ||
	    copy_text(lab->stats, sizeof lab->stats, stats, "stats", err, max) ||
	    copy_text(lab->restart, sizeof lab->restart, restart, "restart", err, max) ||
	    copy_text(lab->key_file, sizeof lab->key_file, key, "key_file", err, max) ||
	    copy_text(lab->lcores, sizeof lab->lcores, lcores, "lcores", err, max) ||
	    copy_text(lab->file_prefix, sizeof lab->file_prefix, prefix, "file_prefix", err, max))
		return -1;
	for (int i = 0; i < (lab->series ? 2 : 1); i++)
		if (!lab->side[i].primary || !lab->side[i].relay_global)
			return fail(err, max, "%s: primary and relay_global are wanted",
				    i ? "second" : "private");
	if (lab->series && lab->side[0].nshards + lab->side[1].nshards > 2)
		return fail(err, max, "second: relays in series have one worker each here");
	return 0;
}

static int
take(struct pg_lab *lab, json_t *root, const json_error_t *e, char *err, size_t max)
{
	memset(lab, 0, sizeof *lab);
	if (!root)
		return fail(err, max, "line %d: %s", e->line, e->text);
	int r = read_root(lab, root, err, max);
	json_decref(root);
	return r;
}

int
pg_lab_load(struct pg_lab *lab, const char *path, char *err, size_t max)
{
	json_error_t e;
	return take(lab, json_load_file(path, JSON_REJECT_DUPLICATES, &e), &e, err, max);
}

int
pg_lab_parse(struct pg_lab *lab, const char *text, char *err, size_t max)
{
	json_error_t e;
	return take(lab, json_loads(text, JSON_REJECT_DUPLICATES, &e), &e, err, max);
}
