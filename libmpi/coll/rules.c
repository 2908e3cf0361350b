/* SPDX-License-Identifier: BSD-2-Clause */
#include "rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmpi/knobs.h"

struct cursor {
	const char *at, *begin, *end, *wrong;
};

static void
space(struct cursor *c)
{
	while (c->at < c->end &&
	       (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
		c->at++;
}

/* Is this the next letter?  Then it is behind us. */
static bool
next(struct cursor *c, char letter)
{
	space(c);
	if (c->at == c->end || *c->at != letter)
		return false;
	c->at++;
	return true;
}

static bool
rules_bad(struct cursor *c, const char *what)
{
	if (c->wrong == NULL)
		c->wrong = what;
	return false;
}

static bool
rules_word(struct cursor *c, char *into, size_t room)
{
	size_t n = 0;

	if (!next(c, '"'))
		return rules_bad(c, "a string is wanted");
	for (; c->at < c->end && *c->at != '"'; c->at++) {
		if (*c->at == '\\' || (unsigned char)*c->at < ' ' || n + 1 >= room)
			return rules_bad(c, "a string that names nothing");
		into[n++] = *c->at;
	}
	into[n] = '\0';
	return next(c, '"') || rules_bad(c, "a string without end");
}

static bool
rules_number(struct cursor *c, uint64_t max, uint64_t *v)
{
	space(c);
	if (c->at == c->end || *c->at < '1' || *c->at > '9')
		return rules_bad(c, "a whole number from 1 is wanted");
	for (*v = 0; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
		uint64_t digit = (uint64_t)(*c->at - '0');

		if (*v > (max - digit) / 10)
			return rules_bad(c, "a number that is too large");
		*v = *v * 10 + digit;
	}
	return true;
}

static bool
rules_member(struct cursor *c, struct coll_rule *r, unsigned *seen)
{
	static const char *const names[] = {"op", "algorithm", "bytes_max", "size_max"};
	char name[16], op[32];
	unsigned i = 0;
	uint64_t v;

	if (!rules_word(c, name, sizeof name) ||
	    (!next(c, ':') && !rules_bad(c, "a colon is wanted")))
		return false;
	while (i < 4 && strcmp(name, names[i]) != 0)
		i++;
	if (i == 4 || (*seen & 1u << i))
		return rules_bad(c, "a member is unknown or there twice");
	*seen |= 1u << i;
	if (i == 0) {
		if (!rules_word(c, op, sizeof op))
			return false;
		r->op = coll_op_of(op);
		return r->op < COLL_OP_COUNT || rules_bad(c, "no such operation");
	}
	if (i == 1)
		return rules_word(c, r->algorithm, sizeof r->algorithm);
	if (!rules_number(c, i == 2 ? INT64_MAX : UINT32_MAX, &v))
		return false;
	if (i == 2)
		r->bytes_max = v;
	else
		r->size_max = (uint32_t)v;
	return true;
}

static bool
one(struct cursor *c, struct coll_rule *r)
{
	unsigned seen = 0;

	memset(r, 0, sizeof *r);
	r->bytes_max = UINT64_MAX;
	r->size_max = UINT32_MAX;
	if (!next(c, '{'))
		return rules_bad(c, "a rule, { ... }, is wanted");
	do {
		if (!rules_member(c, r, &seen))
			return false;
	} while (next(c, ','));
	if (!next(c, '}'))
		return rules_bad(c, "a comma or } is wanted");
	if ((seen & 3) != 3 || !coll_rule_ok(r))
		return rules_bad(c, "the rule names no algorithm of an operation");
	return true;
}

bool
lmpi_rules_parse(const char *text, size_t len, struct coll_rule rule[LMPI_RULES_MAX],
		 uint32_t *count, char why[160])
{
	struct cursor c = {text, text, text + len, NULL};
	bool ok = next(&c, '[') || rules_bad(&c, "an array of rules, [ ... ], is wanted");

	*count = 0;
	if (ok && !next(&c, ']')) {
		do {
			ok = *count < LMPI_RULES_MAX ? one(&c, &rule[*count])
						     : rules_bad(&c, "too many");
			*count += ok;
		} while (ok && next(&c, ','));
		ok = ok && (next(&c, ']') || rules_bad(&c, "a comma or ] is wanted"));
	}
	space(&c);
	if (ok && c.at != c.end)
		ok = rules_bad(&c, "something is behind the rules");
	if (!ok)
		snprintf(why, 160, "byte %zu: %s", (size_t)(c.at - c.begin), c.wrong);
	return ok;
}

static void
load_rules(const char *path, struct coll_rules *into)
{
	static struct coll_rule rule[LMPI_RULES_MAX];
	static char text[65536];
	char why[160] = "cannot be read, or is longer than 64 KiB";
	FILE *f = fopen(path, "re");
	size_t len = f != NULL ? fread(text, 1, sizeof text, f) : 0;

	if (f == NULL || ferror(f) || len == sizeof text ||
	    !lmpi_rules_parse(text, len, rule, &into->count, why)) {
		fprintf(stderr, "libmpi: LIBMPI_COLL_RULES=%s: %s; ignored\n", path, why);
		into->count = 0;
	}
	into->rule = rule;
	if (f != NULL)
		fclose(f);
}

const struct coll_rules *
lmpi_rules(void)
{
	static struct coll_rules rules;
	static bool known;
	const char *path = known ? NULL : lmpi_knob_text(LMPI_KNOB_COLL_RULES);

	if (path != NULL)
		load_rules(path, &rules);
	known = true;
	return rules.count > 0 ? &rules : NULL;
}
