/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_LEN 256
#define WORDS_MAX    8

struct reader {
	struct obs_trace *t;
	uint32_t line;
	size_t repeat_from; /* first step of the open repeat, and call */
	uint32_t repeat_call;
	uint64_t repeat; /* 0: none is open */
	char *word[WORDS_MAX + 1];
	uint32_t words;
};

__attribute__((format(printf, 2, 3))) static bool
fail_line(struct reader *r, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	int n = snprintf(r->t->why, sizeof r->t->why, "line %u: ", r->line);
	vsnprintf(r->t->why + n, sizeof r->t->why - (size_t)n, format, ap);
	va_end(ap);
	return false;
}

bool
obs_trace_add(struct obs_trace *t, const struct obs_step *s)
{
	if (t->steps == OBS_STEPS_MAX)
		return false;
	if (t->steps == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		struct obs_step *more = realloc(t->step, room * sizeof *more);
		if (!more)
			return false;
		t->step = more;
		t->room = room;
	}
	t->step[t->steps++] = *s;
	return true;
}

bool
obs_trace_add_call(struct obs_trace *t, const struct obs_trace_call *c)
{
	if (t->calls == OBS_CALLS_MAX)
		return false;
	if (t->calls == t->call_room) {
		uint32_t room = t->call_room ? 2 * t->call_room : 64;
		struct obs_trace_call *more = realloc(t->call, room * sizeof *more);
		if (!more)
			return false;
		t->call = more;
		t->call_room = room;
	}
	t->call[t->calls++] = *c;
	return true;
}

static bool
trace_number(const char *text, uint64_t max, uint64_t *v)
{
	if (!isdigit((unsigned char)*text) || strlen(text) > 19)
		return false;
	char *end;
	*v = strtoull(text, &end, 10);
	return !*end && *v <= max;
}

static bool
trace_seconds(const char *text, double *v)
{
	char *end;
	*v = strtod(text, &end);
	return end != text && !*end && isfinite(*v) && *v >= 0 && *v <= 1e9;
}

static bool
compute_trace(struct reader *r)
{
	struct obs_step s = {.kind = OBS_COMPUTE, .rank = OBS_EVERY};
	uint64_t rank;
	if (r->words < 2 || r->words > 3 || !trace_seconds(r->word[r->words - 1], &s.s))
		return fail_line(r, "compute [RANK] SECONDS");
	if (r->words == 3) {
		if (!trace_number(r->word[1], r->t->ranks - 1, &rank))
			return fail_line(r, "no rank %.20s", r->word[1]);
		s.rank = (uint32_t)rank;
	}
	return obs_trace_add(r->t, &s) || fail_line(r, "too long a trace");
}

bool
obs_trace_member(struct obs_trace *t, uint32_t rank)
{
	if (t->nmembers == OBS_MEMBERS_MAX)
		return false;
	if (t->nmembers == t->member_room) {
		uint32_t room = t->member_room ? 2 * t->member_room : 64;
		uint32_t *more = realloc(t->member, room * sizeof *more);
		if (!more)
			return false;
		t->member = more;
		t->member_room = room;
	}
	t->member[t->nmembers++] = rank;
	return true;
}

/* A rank more that takes part in the call.  False: too many. */
static bool
join_trace_call(struct obs_trace *t, struct obs_trace_call *s, uint32_t rank)
{
	if (!s->members)
		s->first_member = t->nmembers;
	s->members++;
	return obs_trace_member(t, rank);
}

static bool
rank_of_list(const char **at, uint32_t ranks, uint32_t *rank)
{
	size_t digits = strspn(*at, "0123456789");
	if (!digits || digits > 9)
		return false;
	*rank = (uint32_t)strtoul(*at, NULL, 10);
	*at += digits;
	return *rank < ranks;
}

/* "0,4,8-11": two ranks at least, upwards. */
static bool
trace_members(struct obs_trace *t, struct obs_trace_call *s, const char *at)
{
	uint32_t from, to, next = 0;
	for (bool more = true; more; at++) {
		if (!rank_of_list(&at, t->ranks, &from) || from < next)
			return false;
		to = from;
		if (*at == '-' && (at++, !rank_of_list(&at, t->ranks, &to) || to < from))
			return false;
		for (next = from; next <= to; next++)
			if (!join_trace_call(t, s, next))
				return false;
		more = *at == ',';
		if (!more && *at)
			return false;
	}
	return s->members >= 2;
}

/* The root as one of the members; false: it is none. */
static bool
root_among(const struct obs_trace *t, struct obs_trace_call *s)
{
	for (uint32_t i = 0; i < s->members; i++)
		if (t->member[s->first_member + i] == s->root) {
			s->root = i;
			return true;
		}
	return !s->members;
}

/* All come to the call that is added, and wait for it where it does not go on. */
static bool
add_trace_call(struct reader *r, const struct obs_trace_call *c)
{
	struct obs_step s = {.kind = OBS_COME, .rank = OBS_EVERY, .call = r->t->calls};
	bool ok = obs_trace_add_call(r->t, c) && obs_trace_add(r->t, &s);
	s.kind = OBS_WAIT;
	return (ok && (c->start || obs_trace_add(r->t, &s))) || fail_line(r, "too long a trace");
}

static bool
send_trace(struct reader *r)
{
	struct obs_trace_call s = {.message = true, .synchronous = true};
	uint64_t from, to, last = r->t->ranks - 1;
	if (r->words != 4 || !trace_number(r->word[1], last, &from) ||
	    !trace_number(r->word[2], last, &to) || from == to ||
	    !trace_number(r->word[3], OBS_BYTES_MAX, &s.bytes))
		return fail_line(r, "send FROM TO BYTES, of two ranks");
	s.from = (uint32_t)from;
	s.to = (uint32_t)to;
	return add_trace_call(r, &s);
}

static bool
call_trace(struct reader *r, bool start)
{
	uint32_t at = start;
	enum coll_op op = at < r->words ? coll_op_of(r->word[at]) : COLL_OP_COUNT;
	struct obs_trace_call s = {.op = op, .start = start};
	uint64_t v;
	if (op == COLL_OP_COUNT)
		return fail_line(r, "%.40s is no event", r->word[at < r->words ? at : 0]);
	if (op == COLL_NEIGHBOR)
		return fail_line(r, "neighbor has no graph here");
	if (op != COLL_BARRIER) {
		if (++at >= r->words || !trace_number(r->word[at], OBS_BYTES_MAX, &s.bytes))
			return fail_line(r, "%s wants its bytes", coll_op_name(op));
	}
	for (at++; at < r->words; at++) {
		const char *w = r->word[at];
		if (!strncmp(w, "root=", 5) && trace_number(w + 5, r->t->ranks - 1, &v)) {
			s.root = (uint32_t)v;
		} else if (!strncmp(w, "among=", 6)) {
			if (start || s.members || !trace_members(r->t, &s, w + 6))
				return fail_line(r, "among= lists two ranks or more, upwards, of a "
						    "call without start");
		} else if (!strncmp(w, "algorithm=", 10)) {
			struct coll_rule rule = {.op = op};
			if (strlen(w + 10) >= sizeof rule.algorithm)
				return fail_line(r, "no algorithm %.40s", w + 10);
			memcpy(rule.algorithm, w + 10, strlen(w + 10));
			if (!coll_rule_ok(&rule))
				return fail_line(r, "no algorithm %.40s", w + 10);
			memcpy(s.algorithm, rule.algorithm, sizeof s.algorithm);
		} else {
			return fail_line(r, "%.40s says nothing here", w);
		}
	}
	if (!root_among(r->t, &s))
		return fail_line(r, "the root is not among them: root= is a rank of all");
	return add_trace_call(r, &s);
}

static bool
end_repeat(struct reader *r)
{
	size_t from = r->repeat_from, n = r->t->steps - from;
	uint32_t first = r->repeat_call, calls = r->t->calls - first;
	if (r->repeat == 0)
		return fail_line(r, "end of no repeat");
	for (uint32_t i = 1; i < r->repeat && n; i++) {
		for (uint32_t k = 0; k < calls; k++) {
			struct obs_trace_call c = r->t->call[first + k];
			if (!obs_trace_add_call(r->t, &c))
				return fail_line(r, "too long a trace");
		}
		for (size_t k = 0; k < n; k++) {
			struct obs_step s = r->t->step[from + k];
			if (s.kind != OBS_COMPUTE && s.call != OBS_NO_CALL)
				s.call += i * calls;
			if (!obs_trace_add(r->t, &s))
				return fail_line(r, "too long a trace");
		}
	}
	r->repeat = 0;
	return true;
}

static bool
trace_event(struct reader *r)
{
	uint64_t v;
	const char *what = r->word[0];
	if (!strcmp(what, "ranks")) {
		if (r->t->ranks || r->words != 2 || !trace_number(r->word[1], OBS_RANKS_MAX, &v) ||
		    !v)
			return fail_line(r, "ranks 1 to %d, once", OBS_RANKS_MAX);
		r->t->ranks = (uint32_t)v;
		return true;
	}
	if (!r->t->ranks)
		return fail_line(r, "the first line says ranks N");
	if (!strcmp(what, "compute"))
		return compute_trace(r);
	if (!strcmp(what, "repeat")) {
		if (r->repeat || r->words != 2 || !trace_number(r->word[1], OBS_STEPS_MAX, &v) ||
		    !v)
			return fail_line(r, "repeat 1 to %u, not in another", OBS_STEPS_MAX);
		r->repeat = v;
		r->repeat_from = r->t->steps;
		r->repeat_call = r->t->calls;
		return true;
	}
	if (!strcmp(what, "end"))
		return r->words == 1 ? end_repeat(r) : fail_line(r, "end stands alone");
	if (!strcmp(what, "send"))
		return send_trace(r);
	if (!strcmp(what, "wait")) {
		const struct obs_step s = {
			.kind = OBS_WAIT, .rank = OBS_EVERY, .call = OBS_NO_CALL};
		return r->words == 1 ? obs_trace_add(r->t, &s) || fail_line(r, "too long a trace")
				     : fail_line(r, "wait stands alone");
	}
	return call_trace(r, !strcmp(what, "start"));
}

/* Which wait is for which start, known when repeats are written out; and what comes next. */
static bool
pair(struct reader *r)
{
	struct obs_trace *t = r->t;
	uint32_t waits = 0, at = 0, next = OBS_NO_CALL;
	for (size_t i = 0; i < t->steps; i++) {
		struct obs_step *s = &t->step[i];
		if (s->kind == OBS_COME) {
			t->starts += t->call[s->call].start;
		} else if (s->kind == OBS_WAIT && s->call == OBS_NO_CALL) {
			if (++waits > t->starts)
				return fail_line(r, "more waits than starts before them");
			while (!t->call[at].start)
				at++;
			s->call = at++;
		}
		if (t->starts - waits > OBS_OPEN_MAX)
			return fail_line(r, "more than %d starts at a time", OBS_OPEN_MAX);
	}
	for (uint32_t c = t->calls; c-- > 0;) {
		t->call[c].next = next;
		next = t->call[c].message ? next : c;
	}
	return true;
}

static bool
split_trace(struct reader *r, char *line)
{
	char *hash = strchr(line, '#');
	if (hash)
		*hash = 0;
	for (r->words = 0; r->words <= WORDS_MAX; r->words++) {
		line += strspn(line, " \t\r");
		if (!*line)
			return true;
		r->word[r->words] = line;
		line += strcspn(line, " \t\r");
		if (*line)
			*line++ = 0;
	}
	return fail_line(r, "too many words");
}

bool
obs_trace_text(struct obs_trace *t, const char *text, size_t len)
{
	*t = (struct obs_trace){0};
	struct reader r = {.t = t};
	const char *end = text + len;
	while (text < end) {
		char line[LINE_MAX_LEN];
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((nl ? nl : end) - text);
		r.line++;
		if (n >= sizeof line)
			return fail_line(&r, "longer than %d letters", LINE_MAX_LEN - 1);
		memcpy(line, text, n);
		line[n] = 0;
		if (strlen(line) != n || !split_trace(&r, line))
			return *t->why ? false : fail_line(&r, "a zero byte");
		if (r.words && !trace_event(&r))
			return false;
		text += n + 1;
	}
	if (r.repeat)
		return fail_line(&r, "a repeat without end");
	return t->ranks ? pair(&r) : fail_line(&r, "empty");
}

void
obs_trace_free(struct obs_trace *t)
{
	free(t->step);
	free(t->member);
	free(t->call);
	free(t->first);
	t->step = NULL;
	t->member = NULL;
	t->call = NULL;
	t->first = NULL;
	t->calls = t->call_room = 0;
	t->nmembers = t->member_room = 0;
	t->steps = t->room = 0;
}
