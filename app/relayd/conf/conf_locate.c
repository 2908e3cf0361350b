/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the line of a JSON pointer in the text: jansson keeps no positions of
 * values.  A recursive descent over JSON text that never reads past its end;
 * on text that is not JSON it gives up with 0. */
#include "rd/conf.h"

#include <string.h>

#define DEPTH_MAX 64

struct scan {
	const char *at, *end;
	uint32_t line;
};

static void
skip_space(struct scan *s)
{
	for (; s->at < s->end; s->at++) {
		if (*s->at == '\n')
			s->line++;
		else if (*s->at != ' ' && *s->at != '\t' && *s->at != '\r')
			return;
	}
}

static bool
take_value(struct scan *s, char c)
{
	skip_space(s);
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

/* The raw inside of a string, escapes left as they are. */
static bool
scan_string(struct scan *s, const char **inside, size_t *len)
{
	if (!take_value(s, '"'))
		return false;
	*inside = s->at;
	while (s->at < s->end && *s->at != '"') {
		if (*s->at == '\\' && s->at + 1 < s->end)
			s->at++;
		s->at++;
	}
	if (s->at >= s->end)
		return false;
	*len = (size_t)(s->at - *inside);
	s->at++;
	return true;
}

static bool
skip_value(struct scan *s, uint32_t depth)
{
	skip_space(s);
	if (s->at == s->end || depth > DEPTH_MAX)
		return false;
	const char *str;
	size_t len;
	char open = *s->at;
	if (open == '"')
		return scan_string(s, &str, &len);
	if (open != '{' && open != '[') {
		const char *start = s->at;
		while (s->at < s->end && !strchr(",]} \t\r\n", *s->at))
			s->at++;
		return s->at > start;
	}
	char close = open == '{' ? '}' : ']';
	s->at++;
	if (take_value(s, close))
		return true;
	do {
		if (open == '{' && (!scan_string(s, &str, &len) || !take_value(s, ':')))
			return false;
		if (!skip_value(s, depth + 1))
			return false;
	} while (take_value(s, ','));
	return take_value(s, close);
}

/* Does the raw key equal a pointer token, in which "~1" is '/' and "~0" is
 * '~'?  A key with escapes other than \" \\ \/ does not match: such keys are
 * unknown to the table anyway. */
static bool
same_key(const char *key, size_t key_len, const char *token, size_t token_len)
{
	size_t k = 0, t = 0;
	while (k < key_len && t < token_len) {
		char a = key[k++], b = token[t++];
		if (a == '\\' && k < key_len)
			a = key[k++];
		if (b == '~' && t < token_len)
			b = token[t++] == '1' ? '/' : '~';
		if (a != b)
			return false;
	}
	return k == key_len && t == token_len;
}

/* Enter the member or element named by token; *line is where it begins. */
static bool
enter(struct scan *s, const char *token, size_t token_len, uint32_t *line)
{
	bool object = take_value(s, '{');
	if (!object && !take_value(s, '['))
		return false;
	uint64_t want = 0;
	if (!object)
		for (size_t i = 0; i < token_len && i < 9; i++) {
			if (token[i] < '0' || token[i] > '9')
				return false;
			want = want * 10 + (uint64_t)(token[i] - '0');
		}
	uint64_t index = 0;
	do {
		skip_space(s);
		*line = s->line;
		bool here = index == want;
		if (object) {
			const char *key;
			size_t len;
			if (!scan_string(s, &key, &len) || !take_value(s, ':'))
				return false;
			here = same_key(key, len, token, token_len);
		}
		if (here) {
			skip_space(s);
			return s->at < s->end;
		}
		if (!skip_value(s, 0))
			return false;
		index++;
	} while (take_value(s, ','));
	return false;
}

uint32_t
rd_conf_locate(const char *text, size_t len, const char *pointer)
{
	struct scan s = {.at = text, .end = text + len, .line = 1};
	skip_space(&s);
	uint32_t line = s.line;
	while (*pointer == '/') {
		pointer++;
		size_t n = strcspn(pointer, "/");
		if (!enter(&s, pointer, n, &line))
			return 0;
		pointer += n;
	}
	return line;
}
