/* SPDX-License-Identifier: BSD-2-Clause */
/* What the table says, as JSON, as JSON Schema, as Markdown.  Keys of one group
 * stand together in the table, which is all the nesting needs. */
#include "rd/conf.h"
#include "rd/reload.h"

#include <string.h>

static const char *
example_of(const struct rd_key *key)
{
	static const struct {
		const char *path, *value;
	} examples[] = {
		{"ports.private.address", "10.0.0.1"},
		{"ports.global.address", "198.51.100.1"},
		{"ports.private.interface", "eth0"},
		{"ports.global.interface", "eth1"},
	};
	for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++)
		if (strcmp(examples[i].path, key->path) == 0)
			return examples[i].value;
	return key->fallback;
}

static void
print_value(FILE *out, const struct rd_key *key)
{
	switch (key->type) {
	case RD_KEY_UINT:
	case RD_KEY_BOOL:
		fputs(key->fallback, out);
		break;
	case RD_KEY_STRINGS:
	case RD_KEY_LIGHTS:
		fputs("[]", out);
		break;
	case RD_KEY_RELAYS:
		fputs("[{ \"private\": \"10.0.0.1\", \"global\": \"198.51.100.1\" }]", out);
		break;
	case RD_KEY_STRING:
	case RD_KEY_ENUM:
	case RD_KEY_IPV4:
		fprintf(out, "\"%s\"", example_of(key));
		break;
	}
}

static void
indent(FILE *out, uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i++)
		fputc('\t', out);
}

/* Components of path that are groups (all but the last). */
static uint32_t
groups_of(const char *path, const char *part[8], size_t len[8])
{
	uint32_t n = 0;
	for (const char *dot; (dot = strchr(path, '.')) && n < 8; path = dot + 1) {
		part[n] = path;
		len[n++] = (size_t)(dot - path);
	}
	return n;
}

struct group_ops {
	void (*open)(FILE *out, const char *name, size_t len, uint32_t depth);
	void (*close)(FILE *out, uint32_t depth);
	void (*key)(FILE *out, const struct rd_key *key, const char *name, uint32_t depth);
};

/* Walk the table, opening and closing groups where the path changes. */
static void
print_tree(FILE *out, const struct group_ops *ops)
{
	const char *at[8];
	size_t at_len[8];
	uint32_t depth = 0;
	bool first = true;
	for (uint32_t i = 0; i < rd_conf_keys_count; i++) {
		const struct rd_key *key = &rd_conf_keys[i];
		const char *part[8];
		size_t len[8];
		uint32_t n = groups_of(key->path, part, len), same = 0;
		while (same < n && same < depth && len[same] == at_len[same] &&
		       memcmp(part[same], at[same], len[same]) == 0)
			same++;
		while (depth > same)
			ops->close(out, depth--);
		fputs(first ? "" : ",\n", out);
		while (depth < n) {
			at[depth] = part[depth];
			at_len[depth] = len[depth];
			depth++;
			ops->open(out, part[depth - 1], len[depth - 1], depth);
		}
		const char *name = n ? part[n - 1] + len[n - 1] + 1 : key->path;
		ops->key(out, key, name, depth + 1);
		first = false;
	}
	while (depth)
		ops->close(out, depth--);
}

static void
defaults_open(FILE *out, const char *name, size_t len, uint32_t depth)
{
	indent(out, depth);
	fprintf(out, "\"%.*s\": {\n", (int)len, name);
}

static void
defaults_close(FILE *out, uint32_t depth)
{
	fputc('\n', out);
	indent(out, depth);
	fputc('}', out);
}

static void
defaults_key(FILE *out, const struct rd_key *key, const char *name, uint32_t depth)
{
	indent(out, depth);
	fprintf(out, "\"%s\": ", name);
	print_value(out, key);
}

void
rd_conf_print_defaults(FILE *out)
{
	static const struct group_ops ops = {defaults_open, defaults_close, defaults_key};
	fputs("{\n", out);
	print_tree(out, &ops);
	fputs("\n}\n", out);
}

/* A schema group: two levels of indent a depth (the object, its properties). */
static void
schema_open(FILE *out, const char *name, size_t len, uint32_t depth)
{
	indent(out, depth * 2);
	fprintf(out, "\"%.*s\": {\n", (int)len, name);
	indent(out, depth * 2 + 1);
	fputs("\"type\": \"object\",\n", out);
	indent(out, depth * 2 + 1);
	fputs("\"additionalProperties\": false,\n", out);
	indent(out, depth * 2 + 1);
	fputs("\"properties\": {\n", out);
}

static void
schema_close(FILE *out, uint32_t depth)
{
	fputc('\n', out);
	indent(out, depth * 2 + 1);
	fputs("}\n", out);
	indent(out, depth * 2);
	fputc('}', out);
}

static void
schema_words(FILE *out, const char *words)
{
	fputs("\"enum\": [", out);
	for (const char *at = words; *at;) {
		size_t n = strcspn(at, "|");
		fprintf(out, "%s\"%.*s\"", at == words ? "" : ", ", (int)n, at);
		at += n + (at[n] ? 1 : 0);
	}
	fputs("], ", out);
}

static void
schema_key(FILE *out, const struct rd_key *key, const char *name, uint32_t depth)
{
	indent(out, depth * 2);
	fprintf(out, "\"%s\": { ", name);
	switch (key->type) {
	case RD_KEY_UINT:
		fprintf(out, "\"type\": \"integer\", \"minimum\": %u, \"maximum\": %u, ", key->min,
			key->max);
		break;
	case RD_KEY_BOOL:
		fputs("\"type\": \"boolean\", ", out);
		break;
	case RD_KEY_ENUM:
		schema_words(out, key->words);
		break;
	case RD_KEY_STRINGS:
		fprintf(out,
			"\"type\": \"array\", \"maxItems\": %u, \"items\": "
			"{ \"type\": \"string\" }, ",
			key->max);
		break;
	case RD_KEY_RELAYS:
		fprintf(out,
			"\"type\": \"array\", \"minItems\": %u, \"maxItems\": %u, \"items\": "
			"{ \"type\": \"object\", \"required\": [\"private\", \"global\"], "
			"\"additionalProperties\": false, \"properties\": { "
			"\"private\": { \"type\": \"string\", \"format\": \"ipv4\" }, "
			"\"global\": { \"type\": \"string\", \"format\": \"ipv4\" }, "
			"\"gates\": { \"type\": \"array\", \"maxItems\": %u, \"items\": "
			"{ \"type\": \"string\", \"format\": \"ipv4\" } }, "
			"\"gate_global\": { \"type\": \"string\", \"format\": \"ipv4\" }, "
			"\"private6\": { \"type\": \"string\", \"format\": \"ipv6\" }, "
			"\"workers\": { \"type\": \"integer\", \"minimum\": 1, \"maximum\": %u } } "
			"}, ",
			key->min, key->max, (uint32_t)(RD_GATES_MAX - 1), (uint32_t)RD_WORKERS_MAX);
		break;
	case RD_KEY_LIGHTS:
		fprintf(out,
			"\"type\": \"array\", \"maxItems\": %u, \"items\": "
			"{ \"type\": \"object\", \"required\": [\"address\"], "
			"\"additionalProperties\": false, \"properties\": { "
			"\"interface\": { \"type\": \"string\" }, "
			"\"device\": { \"type\": \"string\" }, "
			"\"address\": { \"type\": \"string\" }, "
			"\"switch_port\": { \"type\": \"integer\", \"minimum\": 0 }, "
			"\"ingress\": { \"type\": \"integer\", \"minimum\": 0 }, "
			"\"egress\": { \"type\": \"integer\", \"minimum\": 0 } } }, ",
			key->max);
		break;
	case RD_KEY_IPV4:
		fprintf(out,
			"\"type\": \"string\", \"pattern\": "
			"\"^%s([0-9]{1,3}\\\\.){3}[0-9]{1,3}%s$\", ",
			key->required ? "" : "(", key->required ? "" : ")?");
		break;
	case RD_KEY_STRING:
		fprintf(out, "\"type\": \"string\", \"maxLength\": %zu, ", key->size - 1);
		break;
	}
	if (!key->required && key->type != RD_KEY_RELAYS) {
		fputs("\"default\": ", out);
		print_value(out, key);
		fputs(", ", out);
	}
	fprintf(out, "\"description\": \"%s%s%s%s\" }", key->help, *key->unit ? " [" : "",
		key->unit, *key->unit ? "]" : "");
}

void
rd_conf_print_schema(FILE *out)
{
	static const struct group_ops ops = {schema_open, schema_close, schema_key};
	fputs("{\n"
	      "\t\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
	      "\t\"title\": \"relayd configuration\",\n"
	      "\t\"type\": \"object\",\n"
	      "\t\"required\": [\"cluster\", \"ports\", \"impi\"],\n"
	      "\t\"additionalProperties\": false,\n"
	      "\t\"properties\": {\n",
	      out);
	print_tree(out, &ops);
	fputs("\n\t}\n}\n", out);
}

void
rd_conf_print_table(FILE *out)
{
	fputs("| key | values | default | changed by | meaning |\n|---|---|---|---|---|\n", out);
	for (uint32_t i = 0; i < rd_conf_keys_count; i++) {
		const struct rd_key *key = &rd_conf_keys[i];
		fprintf(out, "| `%s` | ", key->path);
		switch (key->type) {
		case RD_KEY_UINT:
			fprintf(out, "%u to %u%s%s", key->min, key->max, *key->unit ? " " : "",
				key->unit);
			break;
		case RD_KEY_ENUM:
			for (const char *c = key->words; *c; c++)
				if (*c == '|')
					fputs(", ", out);
				else
					fputc(*c, out);
			break;
		case RD_KEY_BOOL:
			fputs("true, false", out);
			break;
		case RD_KEY_IPV4:
			fputs("IPv4 address", out);
			break;
		case RD_KEY_STRINGS:
			fputs("list of strings", out);
			break;
		case RD_KEY_RELAYS:
		case RD_KEY_LIGHTS:
			fprintf(out, "list of %u to %u", key->min, key->max);
			break;
		case RD_KEY_STRING:
			fputs("string", out);
			break;
		}
		fprintf(out, " | %s%s%s | %s | %s |\n", key->required ? "" : "`",
			key->required						    ? "required"
			: key->type == RD_KEY_STRINGS || key->type == RD_KEY_LIGHTS ? "[]"
			: *key->fallback					    ? key->fallback
										    : "\"\"",
			key->required ? "" : "`", rd_conf_reloads(key) ? "reload" : "restart",
			key->help);
	}
}
