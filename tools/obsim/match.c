/* SPDX-License-Identifier: BSD-2-Clause */
/* Which send is whose receive: the n-th of a rank to another with this tag on this communicator.  A
 * receive from anybody is known by what it had. */
#include "mpi.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool
obs_halves_add(struct obs_halves *h, const struct obs_half *half)
{
	if (h->n == OBS_HALVES_MAX)
		return false;
	if (h->n == h->room) {
		uint32_t room = h->room ? 2 * h->room : 64;
		struct obs_half *more = realloc(h->half, room * sizeof *more);
		if (!more)
			return false;
		h->half = more;
		h->room = room;
	}
	h->half[h->n++] = *half;
	return true;
}

#define ORDER(x, y)     \
	if ((x) != (y)) \
	return (x) < (y) ? -1 : 1

static int
by_channel(const struct obs_half *a, const struct obs_half *b)
{
	uint32_t a_from = a->sends ? a->mine : a->other, a_to = a->sends ? a->other : a->mine;
	uint32_t b_from = b->sends ? b->mine : b->other, b_to = b->sends ? b->other : b->mine;
	ORDER(a->group, b->group);
	ORDER(a->number, b->number);
	ORDER(a_from, b_from);
	ORDER(a_to, b_to);
	ORDER(a->tag, b->tag);
	return 0;
}

/* Sends before receives of a channel, and each in the order of the file. */
static int
by_order(const void *x, const void *y)
{
	const struct obs_half *a = *(const struct obs_half *const *)x;
	const struct obs_half *b = *(const struct obs_half *const *)y;
	int channel = by_channel(a, b);
	if (channel)
		return channel;
	ORDER(b->sends, a->sends);
	ORDER(a, b);
	return 0;
}

static bool
fail_half(struct obs_trace *t, const struct obs_half *h, const char *what)
{
	snprintf(t->why, sizeof t->why,
		 "rank %u, line %u of its mpitrace: it %s rank %u, tag %" PRId64 ", %" PRIu64
		 " bytes, and %s: a trace is incomplete",
		 h->mine, h->line, h->sends ? "sends to" : "receives from", h->other, h->tag,
		 h->bytes, what);
	return false;
}

/* Nothing of what was cancelled, or the half; false: nobody knows whose it is. */
static bool
pick_halves(struct obs_halves *h, struct obs_trace *t, struct obs_half **one, uint32_t *n)
{
	*n = 0;
	for (uint32_t i = 0; i < h->n; i++) {
		struct obs_half *a = &h->half[i];
		if (a->nothing)
			continue;
		if (!a->sends && !a->known && (a->other == OBS_NO_CALL || a->tag < 0)) {
			snprintf(t->why, sizeof t->why,
				 "rank %u, line %u of its mpitrace: what this receive from any had "
				 "is "
				 "not said: the trace is incomplete",
				 a->mine, a->line);
			return false;
		}
		one[(*n)++] = a;
	}
	return true;
}

/* All of it; or what there was room for, of a message that is longer: all of that comes. */
static bool
may_have_had(const struct obs_half *receive, uint64_t sent)
{
	uint64_t had = (uint64_t)receive->had;
	return had == sent || (sent > receive->bytes && had <= receive->bytes);
}

static bool
join_halves(struct obs_trace *t, struct obs_half *send, struct obs_half *receive)
{
	struct obs_trace_call c = {.message = true,
				   .synchronous = send->synchronous,
				   .buffered = send->buffered,
				   .bytes = send->bytes,
				   .from = send->mine,
				   .to = receive->mine,
				   .next = OBS_NO_CALL};
	if (receive->had >= 0 && !may_have_had(receive, send->bytes))
		return fail_half(t, receive, "had other bytes than what was sent");
	send->call = receive->call = t->calls;
	if (obs_trace_add_call(t, &c))
		return true;
	snprintf(t->why, sizeof t->why, "too many messages");
	return false;
}

/* Of one channel: sends from a on, receives from b on. */
static bool
match_channel(struct obs_trace *t, struct obs_half **a, uint32_t sends, uint32_t all)
{
	for (uint32_t i = 0; i < sends || sends + i < all; i++) {
		if (i >= sends)
			return fail_half(t, a[sends + i], "nobody sends it");
		if (sends + i >= all)
			return fail_half(t, a[i], "nobody receives it");
		if (!join_halves(t, a[i], a[sends + i]))
			return false;
	}
	return true;
}

static bool
match_channels(struct obs_trace *t, struct obs_half **one, uint32_t n)
{
	for (uint32_t i = 0, end; i < n; i = end) {
		uint32_t sends = 0;
		for (end = i; end < n && !by_channel(one[i], one[end]); end++)
			sends += one[end]->sends;
		if (!match_channel(t, one + i, sends, end - i))
			return false;
	}
	return true;
}

bool
obs_halves_match(struct obs_halves *h, struct obs_trace *t)
{
	uint32_t n;
	struct obs_half **one = malloc((h->n + 1) * sizeof *one);
	if (!one)
		snprintf(t->why, sizeof t->why, "out of memory");
	bool ok = one && pick_halves(h, t, one, &n);
	if (ok) {
		qsort(one, n, sizeof *one, by_order);
		ok = match_channels(t, one, n);
	}
	free(one);
	for (size_t i = 0; ok && i < t->steps; i++) {
		struct obs_step *s = &t->step[i];
		if (s->kind == OBS_COMPUTE || !(s->call & OBS_HALF))
			continue;
		s->call = h->half[s->call & ~OBS_HALF].call;
		if (s->call == OBS_NO_CALL)
			*s = (struct obs_step){.kind = OBS_COMPUTE, .rank = s->rank};
	}
	return ok;
}
