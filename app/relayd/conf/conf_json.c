/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON text -> struct rd_conf, by the table.  The only file of relayd that
 * knows jansson. */
#include "rd/conf.h"

#include "base/nearest.h"
#include "conf_internal.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#define CONF_BYTES_MAX (1u << 20)

struct parse {
	const char *text;
	size_t len;
	struct rd_conf *conf;
	struct rd_faults *faults;
	bool seen[RD_KEYS_MAX];
	bool wrong_group; /* what it should hold is not known */
};

static uint32_t
line_of(const struct parse *p, const char *pointer)
{
	return rd_conf_locate(p->text, p->len, pointer);
}

#define FAULT(p, pointer, ...) rd_fault_add((p)->faults, pointer, line_of(p, pointer), __VA_ARGS__)

/* pointer + "/" + name, with RFC 6901 escapes; cut at the end if too long. */
static void
join(char *out, size_t size, const char *pointer, const char *name)
{
	strlcpy(out, pointer, size);
	strlcat(out, "/", size);
	size_t n = strlen(out);
	for (; *name && n + 3 < size; name++) {
		if (*name == '~' || *name == '/') {
			out[n++] = '~';
			out[n++] = *name == '~' ? '0' : '1';
		} else {
			out[n++] = *name;
		}
	}
	out[n] = '\0';
}

static void
join_index(char *out, size_t size, const char *pointer, size_t index)
{
	char name[24];
	snprintf(name, sizeof name, "%zu", index);
	join(out, size, pointer, name);
}

static const char *
type_name(const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "an integer";
	case JSON_REAL:
		return "a number with a fraction";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		return "null";
	}
	return "something else";
}

static void
set_string(struct parse *p, const char *pointer, const json_t *v, char *field, size_t size)
{
	if (!json_is_string(v))
		FAULT(p, pointer, "must be a string, is %s", type_name(v));
	else if (strlen(json_string_value(v)) != json_string_length(v))
		FAULT(p, pointer, "must not contain a NUL character");
	else if (strlcpy(field, json_string_value(v), size) >= size)
		FAULT(p, pointer, "is longer than %zu characters", size - 1);
}

static void
set_ipv4(struct parse *p, const char *pointer, const json_t *v, bool required, uint32_t *field)
{
	if (!json_is_string(v)) {
		FAULT(p, pointer, "must be a string like \"10.0.0.1\", is %s", type_name(v));
		return;
	}
	const char *s = json_string_value(v);
	if (!*s && !required)
		return;
	if (!rd_ipv4_parse(s, field))
		FAULT(p, pointer, "\"%.40s\" is not an IPv4 address", s);
	else if (*field >> 28 >= 14 || *field >> 24 == 0 || *field >> 24 == 127)
		FAULT(p, pointer, "%s cannot be the address of a host on a network", s);
}

/* Of a relay inside; "" as if it were not there. */
static void
set_private6(struct parse *p, const char *pointer, const json_t *v, uint8_t address[16])
{
	const char *s = json_is_string(v) ? json_string_value(v) : NULL, *why;
	if (!s)
		FAULT(p, pointer, "must be a string like \"fd00::fe\", is %s", type_name(v));
	else if (*s && (why = rd_conf_read_six(s, strlen(s), address)))
		FAULT(p, pointer, "\"%.47s\" %s", s, why);
}

static void
set_strings(struct parse *p, const char *pointer, const json_t *v)
{
	if (!json_is_array(v)) {
		FAULT(p, pointer, "must be an array of strings, is %s", type_name(v));
		return;
	}
	if (json_array_size(v) > RD_EAL_EXTRA_MAX) {
		FAULT(p, pointer, "has %zu elements, at most %d", json_array_size(v),
		      RD_EAL_EXTRA_MAX);
		return;
	}
	for (size_t i = 0; i < json_array_size(v); i++) {
		char sub[128];
		join_index(sub, sizeof sub, pointer, i);
		set_string(p, sub, json_array_get(v, i), p->conf->eal.extra[i],
			   sizeof p->conf->eal.extra[i]);
	}
	p->conf->eal.nextra = (uint32_t)json_array_size(v);
}

static void
set_uint(struct parse *p, const char *pointer, const json_t *v, const struct rd_key *key,
	 uint32_t *field)
{
	const char *space = *key->unit ? " " : "";
	if (!json_is_integer(v)) {
		FAULT(p, pointer, "must be an integer from %u to %u%s%s, is %s", key->min, key->max,
		      space, key->unit, type_name(v));
		return;
	}
	json_int_t n = json_integer_value(v);
	if (n < (json_int_t)key->min || n > (json_int_t)key->max)
		FAULT(p, pointer, "%" JSON_INTEGER_FORMAT " is out of range, %u to %u%s%s", n,
		      key->min, key->max, space, key->unit);
	else
		*field = (uint32_t)n;
}

static void
set_gates(struct parse *p, const char *pointer, const json_t *v, struct rd_conf_relay *relay)
{
	if (!json_is_array(v)) {
		FAULT(p, pointer, "must be an array of IPv4 addresses, is %s", type_name(v));
		return;
	}
	size_t n = json_array_size(v);
	if (n > RD_GATES_MAX - 1) {
		FAULT(p, pointer, "has %zu addresses, at most %d", n, RD_GATES_MAX - 1);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		char sub[128];
		join_index(sub, sizeof sub, pointer, i);
		set_ipv4(p, sub, json_array_get(v, i), true, &relay->gate[i]);
	}
	relay->ngates = (uint32_t)n;
}

static void
set_relay(struct parse *p, const char *pointer, const json_t *v, struct rd_conf_relay *relay)
{
	if (!json_is_object(v)) {
		FAULT(p, pointer, "must be an object with private and global, is %s", type_name(v));
		return;
	}
	static const char *const names[2] = {"private", "global"};
	static const struct rd_key workers = {.unit = "", .min = 1, .max = RD_WORKERS_MAX};
	for (int i = 0; i < 2; i++)
		if (!json_object_get(v, names[i]))
			FAULT(p, pointer, "lacks \"%s\", an IPv4 address", names[i]);
	const char *key;
	json_t *val;
	json_object_foreach((json_t *)(uintptr_t)v, key, val)
	{
		char sub[128];
		join(sub, sizeof sub, pointer, key);
		if (strcmp(key, "private") == 0)
			set_ipv4(p, sub, val, true, &relay->private_address);
		else if (strcmp(key, "global") == 0)
			set_ipv4(p, sub, val, true, &relay->global_address);
		else if (strcmp(key, "gate_global") == 0)
			set_ipv4(p, sub, val, false, &relay->gate_global);
		else if (strcmp(key, "gates") == 0)
			set_gates(p, sub, val, relay);
		else if (strcmp(key, "workers") == 0)
			set_uint(p, sub, val, &workers, &relay->workers);
		else if (strcmp(key, "private6") == 0)
			set_private6(p, sub, val, relay->private6);
		else
			FAULT(p, sub,
			      "unknown key; a relay has private and global, and may have gates, "
			      "gate_global, workers and private6");
	}
}

static void
set_relays(struct parse *p, const char *pointer, const json_t *v)
{
	if (!json_is_array(v)) {
		FAULT(p, pointer, "must be an array of relays, is %s", type_name(v));
		return;
	}
	size_t n = json_array_size(v);
	if (n == 0 || n > RD_RELAYS_MAX) {
		FAULT(p, pointer, "has %zu relays, must be 1 to %d", n, RD_RELAYS_MAX);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		char sub[128];
		join_index(sub, sizeof sub, pointer, i);
		set_relay(p, sub, json_array_get(v, i), &p->conf->cluster.relay[i]);
	}
	p->conf->cluster.nrelays = (uint32_t)n;
}

/* "10.50.0.1/24" */
static void
set_prefix(struct parse *p, const char *pointer, const json_t *v, struct rd_conf_port *port)
{
	char text[24];
	const char *bad = NULL;
	set_string(p, pointer, v, text, sizeof text);
	char *slash = json_is_string(v) ? strchr(text, '/') : NULL;
	if (slash)
		*slash = '\0';
	port->prefix_len = slash ? (uint32_t)strtonum(slash + 1, 1, 31, &bad) : 0;
	if (json_is_string(v) &&
	    (!slash || bad || !rd_ipv4_parse(text, &port->address) || port->address >> 28 >= 14 ||
	     port->address >> 24 == 0 || port->address >> 24 == 127))
		FAULT(p, pointer,
		      "\"%.40s\" is not the address of a host and the length of its prefix, like "
		      "10.50.0.1/24",
		      json_string_value(v));
}

static void
set_light(struct parse *p, const char *pointer, const json_t *v, uint32_t i)
{
	static const struct rd_key number = {.unit = "", .min = 0, .max = 65535};
	struct rd_conf_port *port = &p->conf->port[RD_LEG_LIGHT + i];
	uint32_t both = RD_NO_SWITCH_PORT, *in = &p->conf->optical.at[i].in,
		 *out = &p->conf->optical.at[i].out;
	*in = *out = RD_NO_SWITCH_PORT;
	if (!json_is_object(v)) {
		FAULT(p, pointer,
		      "must be an object with an interface or device and an address, is %s",
		      type_name(v));
		return;
	}
	if (!json_object_get(v, "address"))
		FAULT(p, pointer, "lacks \"address\", like \"10.50.0.1/24\"");
	const char *key;
	json_t *val;
	json_object_foreach((json_t *)(uintptr_t)v, key, val)
	{
		char sub[128];
		join(sub, sizeof sub, pointer, key);
		if (strcmp(key, "interface") == 0)
			set_string(p, sub, val, port->interface, sizeof port->interface);
		else if (strcmp(key, "device") == 0)
			set_string(p, sub, val, port->device, sizeof port->device);
		else if (strcmp(key, "address") == 0)
			set_prefix(p, sub, val, port);
		else if (strcmp(key, "switch_port") == 0)
			set_uint(p, sub, val, &number, &both);
		else if (strcmp(key, "ingress") == 0)
			set_uint(p, sub, val, &number, in);
		else if (strcmp(key, "egress") == 0)
			set_uint(p, sub, val, &number, out);
		else
			FAULT(p, sub,
			      "unknown key; a light port has interface or device, address, and "
			      "switch_port or ingress and egress");
	}
	if ((*in == RD_NO_SWITCH_PORT) != (*out == RD_NO_SWITCH_PORT) ||
	    (both != RD_NO_SWITCH_PORT && *in != RD_NO_SWITCH_PORT))
		FAULT(p, pointer, "give switch_port, or both ingress and egress");
	if (both != RD_NO_SWITCH_PORT)
		*in = *out = both;
}

static void
set_lights(struct parse *p, const char *pointer, const json_t *v)
{
	if (!json_is_array(v)) {
		FAULT(p, pointer, "must be an array of light ports, is %s", type_name(v));
		return;
	}
	size_t n = json_array_size(v);
	if (n > RD_LIGHTS_MAX) {
		FAULT(p, pointer, "has %zu ports, at most %d", n, RD_LIGHTS_MAX);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		char sub[128];
		join_index(sub, sizeof sub, pointer, i);
		set_light(p, sub, json_array_get(v, i), (uint32_t)i);
	}
	p->conf->optical.nports = (uint32_t)n;
	p->conf->nlegs = RD_LEG_LIGHT + (uint32_t)n;
}

static void
set_enum(struct parse *p, const char *pointer, const json_t *v, const struct rd_key *key,
	 uint32_t *field)
{
	if (!json_is_string(v)) {
		FAULT(p, pointer, "must be one of %s, is %s", key->words, type_name(v));
		return;
	}
	int index = base_word_index(key->words, json_string_value(v));
	if (index < 0)
		FAULT(p, pointer, "\"%.40s\" is not one of %s", json_string_value(v), key->words);
	else
		*field = (uint32_t)index;
}

static void
set_key(struct parse *p, const char *pointer, const json_t *v, const struct rd_key *key)
{
	void *field = (uint8_t *)p->conf + key->offset;
	switch (key->type) {
	case RD_KEY_STRING:
		set_string(p, pointer, v, field, key->size);
		if (key->required && json_is_string(v) && !*json_string_value(v))
			FAULT(p, pointer, "must not be empty");
		return;
	case RD_KEY_ENUM:
		set_enum(p, pointer, v, key, field);
		return;
	case RD_KEY_UINT:
		set_uint(p, pointer, v, key, field);
		return;
	case RD_KEY_BOOL:
		if (json_is_boolean(v))
			*(bool *)field = json_is_true(v);
		else
			FAULT(p, pointer, "must be true or false, is %s", type_name(v));
		return;
	case RD_KEY_IPV4:
		set_ipv4(p, pointer, v, key->required, field);
		return;
	case RD_KEY_STRINGS:
		set_strings(p, pointer, v);
		return;
	case RD_KEY_RELAYS:
		set_relays(p, pointer, v);
		return;
	case RD_KEY_LIGHTS:
		set_lights(p, pointer, v);
		return;
	}
}

/* The nearest of the keys beside it, in the same object; else the same word in another object. */
static const char *
nearest_key(const char *dotted)
{
	const char *dot = strrchr(dotted, '.'), *name = dot ? dot + 1 : dotted, *best = NULL;
	size_t head = (size_t)(name - dotted);
	unsigned least = UINT_MAX;

	for (uint32_t i = 0; i < rd_conf_keys_count; i++) {
		const char *path = rd_conf_keys[i].path, *last = strrchr(path, '.');
		const char *word = last ? last + 1 : path;
		bool beside = strncmp(path, dotted, head) == 0 && strcmp(word, name) != 0;
		const char *rest = beside ? path + head : word;
		size_t n = strcspn(rest, beside ? "." : "");
		unsigned d = base_edit_distance(name, strlen(name), rest, n);
		if (!base_edit_is_near(d, n) || (!beside && d > 0))
			continue;
		if (!beside)
			d = BASE_NEAREST_MAX; /* any that is beside it comes first */
		if (d < least) {
			best = path;
			least = d;
		}
	}
	return best;
}

static void
unknown_key(struct parse *p, const char *pointer, const char *dotted)
{
	const char *best = nearest_key(dotted);

	if (best)
		FAULT(p, pointer, "unknown key; did you mean %s?", best);
	else
		FAULT(p, pointer, "unknown key; relayd --print-defaults shows all keys");
}

/* Is the key in the group of which the first n characters of dotted are the name? */
static bool
lies_below(const struct rd_key *key, const char *dotted, size_t n)
{
	return strncmp(key->path, dotted, n) == 0 && key->path[n] == '.';
}

/* One fault was said: not one more for each key that is not in it, nor for rules between those. */
static void
close_group(struct parse *p, const char *dotted, size_t n)
{
	for (uint32_t i = 0; i < rd_conf_keys_count; i++)
		if (lies_below(&rd_conf_keys[i], dotted, n))
			p->seen[i] = true;
	p->wrong_group = true;
}

static void
wrong_group(struct parse *p, const char *pointer, const char *dotted, const json_t *v)
{
	FAULT(p, pointer, "must be an object, is %s", type_name(v));
	close_group(p, dotted, strlen(dotted));
}

static void
walk(struct parse *p, const json_t *object, const char *dotted, const char *pointer)
{
	const char *name;
	json_t *v;
	json_object_foreach((json_t *)(uintptr_t)object, name, v)
	{
		char sub_dotted[128], sub_pointer[128];
		strlcpy(sub_dotted, dotted, sizeof sub_dotted);
		if (*dotted)
			strlcat(sub_dotted, ".", sizeof sub_dotted);
		strlcat(sub_dotted, name, sizeof sub_dotted);
		join(sub_pointer, sizeof sub_pointer, pointer, name);
		size_t n = strlen(sub_dotted);
		if (strchr(name, '.')) { /* would look like a nested key of the table */
			FAULT(p, sub_pointer, "unknown key; nested keys are written as objects");
			continue;
		}
		bool group = false, known = false;
		for (uint32_t i = 0; i < rd_conf_keys_count; i++) {
			const char *path = rd_conf_keys[i].path;
			if (strcmp(path, sub_dotted) == 0) {
				known = true;
				p->seen[i] = true;
				set_key(p, sub_pointer, v, &rd_conf_keys[i]);
			} else if (lies_below(&rd_conf_keys[i], sub_dotted, n)) {
				group = true;
			}
		}
		if (known)
			continue;
		if (!group)
			unknown_key(p, sub_pointer, sub_dotted);
		else if (!json_is_object(v))
			wrong_group(p, sub_pointer, sub_dotted, v);
		else
			walk(p, v, sub_dotted, sub_pointer);
	}
}

/* The length of the name of the outermost group around the key of which nothing was given, though
 * it needs more than this key; or 0. */
static size_t
empty_group(const struct parse *p, const char *path)
{
	for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
		size_t n = (size_t)(dot - path);
		uint32_t given = 0, needed = 0;
		for (uint32_t i = 0; i < rd_conf_keys_count; i++)
			if (lies_below(&rd_conf_keys[i], path, n)) {
				given += p->seen[i];
				needed += rd_conf_keys[i].required;
			}
		if (!given && needed > 1)
			return n;
	}
	return 0;
}

/* The pointer of the first n characters of a dotted name; *line: of it, or of the innermost object
 * around it that is there. */
static void
locate_name(const struct parse *p, const char *dotted, size_t n, char pointer[static 128],
	    uint32_t *line)
{
	snprintf(pointer, 128, "/%.*s", (int)n, dotted);
	for (char *c = pointer; *c; c++)
		if (*c == '.')
			*c = '/';
	char parent[128];
	strlcpy(parent, pointer, sizeof parent);
	*line = line_of(p, parent);
	while (!*line && *parent) {
		*strrchr(parent, '/') = '\0';
		*line = line_of(p, parent);
	}
}

static void
missing_group(struct parse *p, const char *dotted, size_t n)
{
	char pointer[128], names[128] = "";
	uint32_t line;
	locate_name(p, dotted, n, pointer, &line);
	for (uint32_t i = 0; i < rd_conf_keys_count; i++)
		if (rd_conf_keys[i].required && lies_below(&rd_conf_keys[i], dotted, n)) {
			strlcat(names, *names ? ", " : "", sizeof names);
			strlcat(names, rd_conf_keys[i].path + n + 1, sizeof names);
		}
	rd_fault_add(p->faults, pointer, line,
		     "is missing or empty: it needs %s; relayd --print-defaults shows all of it",
		     names);
	close_group(p, dotted, n);
}

static void
missing_key(struct parse *p, const struct rd_key *key)
{
	char pointer[128];
	uint32_t line;
	size_t group = empty_group(p, key->path);
	if (group) {
		missing_group(p, key->path, group);
		return;
	}
	locate_name(p, key->path, strlen(key->path), pointer, &line);
	/* What it is; the details do not fit. */
	const char *end = strstr(key->help, ": ");
	rd_fault_add(p->faults, pointer, line, "is missing: %.*s",
		     end ? (int)(end - key->help) : (int)strlen(key->help), key->help);
}

bool
rd_conf_parse(const char *text, size_t len, struct rd_conf *conf, struct rd_faults *faults)
{
	struct parse p = {.text = text, .len = len, .conf = conf, .faults = faults};
	uint32_t before = faults->count;
	_Static_assert(sizeof(struct rd_conf) < 65536, "fits the stack of its users");
	rd_conf_defaults(conf);
	size_t blank = 0;
	while (blank < len && strchr(" \t\r\n", text[blank]) && text[blank])
		blank++;
	if (blank == len) {
		rd_fault_add(
			faults, "", 0,
			"the file is empty; fix: begin with what relayd --print-defaults says");
		return false;
	}
	json_error_t err;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &err);
	if (!root) {
		rd_fault_add(faults, "", err.line > 0 ? (uint32_t)err.line : 0,
			     "not JSON: %s (column %d)", err.text, err.column);
		return false;
	}
	if (json_is_object(root)) {
		walk(&p, root, "", "");
		for (uint32_t i = 0; i < rd_conf_keys_count && i < RD_KEYS_MAX; i++)
			if (rd_conf_keys[i].required && !p.seen[i])
				missing_key(&p, &rd_conf_keys[i]);
		if (!p.wrong_group)
			rd_conf_cross_check(conf, text, len, faults);
	} else {
		FAULT(&p, "", "must be an object, is %s", type_name(root));
	}
	json_decref(root);
	return faults->count == before;
}

bool
rd_conf_load(const char *path, struct rd_conf *conf, struct rd_faults *faults)
{
	FILE *f = fopen(path, "re");
	if (!f) {
		rd_fault_add(faults, "", 0, "cannot be opened: %s", strerror(errno));
		return false;
	}
	char *text = malloc(CONF_BYTES_MAX);
	if (!text) {
		fclose(f);
		rd_fault_add(faults, "", 0, "out of memory");
		return false;
	}
	size_t len = fread(text, 1, CONF_BYTES_MAX, f);
	bool good = !ferror(f);
	if (!good)
		rd_fault_add(faults, "", 0, "cannot be read: %s", strerror(errno));
	else if (len == CONF_BYTES_MAX)
		rd_fault_add(faults, "", 0, "is larger than %u bytes", CONF_BYTES_MAX);
	good = good && len < CONF_BYTES_MAX && rd_conf_parse(text, len, conf, faults);
	free(text);
	fclose(f);
	return good;
}
