#include "rules.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *
one(const json_t *j, struct coll_rule *r)
{
	const char *key;
	json_t *v;
	bool op = false, algorithm = false;
	*r = (struct coll_rule){.bytes_max = UINT64_MAX, .size_max = UINT32_MAX};
	if (!json_is_object(j))
		return "is no object";
	json_object_foreach((json_t *)(uintptr_t)j, key, v)
	{
		if (!strcmp(key, "op") && json_is_string(v)) {
			r->op = coll_op_of(json_string_value(v));
			op = r->op < COLL_OP_COUNT;
		} else if (!strcmp(key, "algorithm") && json_is_string(v)) {
			algorithm = json_string_length(v) < sizeof r->algorithm;
			if (algorithm)
				memcpy(r->algorithm, json_string_value(v), json_string_length(v));
		} else if (!strcmp(key, "bytes_max") && json_integer_value(v) > 0) {
			r->bytes_max = (uint64_t)json_integer_value(v);
		} else if (!strcmp(key, "size_max") && json_integer_value(v) > 0 &&
			   json_integer_value(v) < UINT32_MAX) {
			r->size_max = (uint32_t)json_integer_value(v);
		} else {
			return "has a member that is not op, algorithm, bytes_max or size_max";
		}
	}
	return op && algorithm && coll_rule_ok(r) ? NULL : "names no algorithm of an operation";
}

struct coll_rule *
obs_rules_read(const char *text, size_t len, uint32_t *count, char why[160])
{
	json_error_t e;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
	size_t n = json_array_size(root);
	struct coll_rule *rule = NULL;
	if (!root || !json_is_array(root) || n > 4096) {
		snprintf(why, 160, "%s", root ? "not an array of rules" : e.text);
	} else if ((rule = calloc(n + 1, sizeof *rule)) == NULL) {
		snprintf(why, 160, "out of memory");
	}
	for (size_t i = 0; rule && i < n; i++) {
		const char *bad = one(json_array_get(root, i), &rule[i]);
		if (bad) {
			snprintf(why, 160, "rule %zu %s", i, bad);
			free(rule);
			rule = NULL;
		}
	}
	json_decref(root);
	*count = (uint32_t)n;
	return rule;
}
