/* SPDX-License-Identifier: BSD-2-Clause */
#include "pktgen/keys.h"
#include "pktgen/lab.h"

#include "base/prefix.h"
#include "pktgen/scenario.h"

#include <stdarg.h>
#include <string.h>

#include <bsd/string.h>

static int __attribute__((format(printf, 3, 4)))
fail_lab(char *err, size_t err_max, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(err, err_max, fmt, ap);
	va_end(ap);
	return -1;
}

/* Text as it came out of the file, before it is checked. */
struct raw_side {
	const char *port, *pmd, *relay, *global, *primary, *first, *ipv6;
	json_int_t descriptors, mtu, prefix_len, udp_port, nshards, peer_port, index;
	bool queues;
};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define TEXT(s, name, f, need)                                       \
	{                                                            \
		name, PG_KEY_TEXT, need, offsetof(struct s, f), 0, 0 \
	}
#define WHOLE(s, name, f, low, high)                                        \
	{                                                                   \
		name, PG_KEY_WHOLE, false, offsetof(struct s, f), low, high \
	}
#define TRUTH(s, name, f)                                              \
	{                                                              \
		name, PG_KEY_TRUTH, false, offsetof(struct s, f), 0, 0 \
	}

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
			return fail_lab(err, max, "%s.%s: \"%s\" is not an IPv4 address", name,
					a[i].key, a[i].text);
		if (a[i].out != &s->relay_global && ((*a[i].out ^ s->relay) & mask))
			return fail_lab(err, max, "%s.%s: not in the subnet of the relay", name,
					a[i].key);
	}
	return 0;
}

static int
read_ipv6(struct pg_side_conf *s, const char *text, const char *name, char *err, size_t max)
{
	struct base_prefix p;
	if (!*text)
		return 0;
	if (!strchr(text, ':') || !base_prefix_parse(text, strlen(text), &p) || p.len != 96)
		return fail_lab(err, max, "%s.ipv6: \"%s\" is not a prefix like fd00:57a6::/96",
				name, text);
	s->six = true;
	memcpy(s->six_prefix, p.addr, sizeof s->six_prefix);
	return 0;
}

static int
read_lab_side(struct pg_side_conf *s, json_t *o, const char *name, char *err, size_t max)
{
	struct raw_side r = {.pmd = "af_packet",
			     .global = "",
			     .primary = "",
			     .ipv6 = "",
			     .descriptors = 1024,
			     .mtu = 1500,
			     .udp_port = 7812,
			     .nshards = 1,
			     .peer_port = 7813};
	static const struct pg_key keys[] = {
		TEXT(raw_side, "port", port, true),
		TEXT(raw_side, "pmd", pmd, false),
		WHOLE(raw_side, "descriptors", descriptors, 64, 16384),
		WHOLE(raw_side, "mtu", mtu, 1280, 9600),
		{"prefix_len", PG_KEY_WHOLE, true, offsetof(struct raw_side, prefix_len), 1, 30},
		TEXT(raw_side, "relay", relay, true),
		TEXT(raw_side, "relay_global", global, false),
		WHOLE(raw_side, "udp_port", udp_port, 1, 65535),
		WHOLE(raw_side, "shards", nshards, 1, PG_SHARDS_MAX),
		TRUTH(raw_side, "queues", queues),
		TEXT(raw_side, "primary", primary, false),
		WHOLE(raw_side, "peer_port", peer_port, 1, 65535),
		WHOLE(raw_side, "primary_index", index, 0, 62),
		TEXT(raw_side, "first", first, true),
		TEXT(raw_side, "ipv6", ipv6, false),
	};
	if (pg_keys_read(o, name, keys, COUNT(keys), &r, err, max))
		return -1;
	if (!*r.port || strlcpy(s->port, r.port, sizeof s->port) >= sizeof s->port)
		return fail_lab(err, max, "%s.port: 1 to %zu characters are wanted", name,
				sizeof s->port - 1);
	s->af_xdp = strcmp(r.pmd, "af_xdp") == 0;
	if (!s->af_xdp && strcmp(r.pmd, "af_packet") != 0)
		return fail_lab(err, max, "%s.pmd: af_packet or af_xdp is wanted", name);
	s->descriptors = (uint16_t)r.descriptors;
	s->mtu = (uint16_t)r.mtu;
	s->prefix_len = (uint32_t)r.prefix_len;
	s->udp_port = (uint16_t)r.udp_port;
	s->nshards = (uint16_t)r.nshards;
	s->queues = r.queues;
	s->peer_port = (uint16_t)r.peer_port;
	s->primary_index = (uint32_t)r.index;
	if (addresses(s, &r, name, err, max))
		return -1;
	return read_ipv6(s, r.ipv6, name, err, max);
}

static int
copy_text(char *out, size_t room, const char *text, const char *key, char *err, size_t max)
{
	if (strlcpy(out, text, room) < room)
		return 0;
	return fail_lab(err, max, "%s: at most %zu characters are wanted", key, room - 1);
}

static int
read_root(struct pg_lab *lab, json_t *root, char *err, size_t max)
{
	struct file {
		const char *schema, *about, *stats, *restart, *key_file, *lcores, *prefix;
		json_t *side_private, *global, *second;
		json_int_t memory_mb;
		bool hugepages, sleep;
	} f = {.stats = "", .restart = "", .key_file = "", .lcores = "", .prefix = ""};
#define OBJECT(name, f, need)                                             \
	{                                                                 \
		name, PG_KEY_OBJECT, need, offsetof(struct file, f), 0, 0 \
	}
	static const struct pg_key keys[] = {
		TEXT(file, "$schema", schema, false),
		TEXT(file, "about", about, false),
		OBJECT("private", side_private, true),
		OBJECT("global", global, false),
		OBJECT("second", second, false),
		TEXT(file, "stats", stats, false),
		TEXT(file, "restart", restart, false),
		TEXT(file, "key_file", key_file, false),
		TEXT(file, "lcores", lcores, false),
		TEXT(file, "file_prefix", prefix, false),
		WHOLE(file, "memory_mb", memory_mb, 0, 1 << 20),
		TRUTH(file, "hugepages", hugepages),
		TRUTH(file, "sleep", sleep),
	};
#undef OBJECT
	if (pg_keys_read(root, "", keys, COUNT(keys), &f, err, max))
		return -1;
	if (!f.global == !f.second)
		return fail_lab(
			err, max,
			"either global (remote relays) or second (a relay in series) is wanted");
	lab->memory_mb = (uint32_t)f.memory_mb;
	lab->hugepages = f.hugepages;
	lab->sleep = f.sleep;
	lab->series = f.second != NULL;
	if (read_lab_side(&lab->side[0], f.side_private, "private", err, max) ||
	    read_lab_side(&lab->side[1], f.second ? f.second : f.global,
			  f.second ? "second" : "global", err, max) ||
	    copy_text(lab->stats, sizeof lab->stats, f.stats, "stats", err, max) ||
	    copy_text(lab->restart, sizeof lab->restart, f.restart, "restart", err, max) ||
	    copy_text(lab->key_file, sizeof lab->key_file, f.key_file, "key_file", err, max) ||
	    copy_text(lab->lcores, sizeof lab->lcores, f.lcores, "lcores", err, max) ||
	    copy_text(lab->file_prefix, sizeof lab->file_prefix, f.prefix, "file_prefix", err, max))
		return -1;
	for (int i = 0; i < (lab->series ? 2 : 1); i++) {
		const char *name = i ? "second" : "private";
		if (lab->side[i].six)
			return fail_lab(err, max, "%s.ipv6: relayd has no IPv6 on its private leg",
					name);
		if (!lab->side[i].primary || !lab->side[i].relay_global)
			return fail_lab(err, max, "%s: primary and relay_global are wanted", name);
	}
	if (lab->series && lab->side[0].nshards + lab->side[1].nshards > 2)
		return fail_lab(err, max, "second: relays in series have one worker each here");
	return 0;
}

static int
take_lab(struct pg_lab *lab, json_t *root, const json_error_t *e, char *err, size_t max)
{
	memset(lab, 0, sizeof *lab);
	if (!root)
		return pg_keys_no_json(e, err, max);
	int r = read_root(lab, root, err, max);
	json_decref(root);
	return r;
}

int
pg_lab_load(struct pg_lab *lab, const char *path, char *err, size_t max)
{
	json_error_t e;
	return take_lab(lab, json_load_file(path, JSON_REJECT_DUPLICATES, &e), &e, err, max);
}

int
pg_lab_parse(struct pg_lab *lab, const char *text, char *err, size_t max)
{
	json_error_t e;
	return take_lab(lab, json_loads(text, JSON_REJECT_DUPLICATES, &e), &e, err, max);
}
