/* SPDX-License-Identifier: BSD-2-Clause */
#include "coll/play.h"

#include "base/assert.h"
#include "base/carve.h"

#include <string.h>

struct coll_play {
	const struct coll_schedule *s;
	uint32_t p, total, nmessages, left;
	void (*local)(void *arg, uint32_t rank, const struct coll_step *step);
	void *arg;
	/* [p + 1] index of a process's first step among all */
	uint32_t *base;
	uint32_t *steps_left; /* [p] */
	/* [total] by step */
	uint32_t *owner;
	uint32_t *waits;	    /* steps this one waits for; messages: of their own end */
	uint32_t *dependents_first; /* [total + 1], into dependents */
	uint32_t *dependents;
	uint32_t *message_of; /* of send and receive steps */
	uint32_t *todo;	      /* [total] stack of local steps that can run */
	uint32_t ntodo;
	/* [nmessages] */
	struct coll_message *message;
	uint8_t *ends;	 /* how many ends have come to it, and whether the one before is named */
	uint32_t *after; /* the next message of the same pair */
	/* ready messages: ring of [nmessages + 1] */
	uint32_t *ready;
	uint32_t head, tail;
	/* coll_play_rounds() */
	uint32_t *waiting; /* [2 * nmessages] */
	uint32_t *mark;	   /* [2p] what a process sends, receives in this round */
};

static void
count_play(const struct coll_schedule *s, uint32_t p, size_t *steps, size_t *deps, size_t *sends)
{
	*steps = *deps = *sends = 0;
	for (uint32_t r = 0; r < p; r++) {
		*steps += s[r].steps;
		*deps += s[r].deps;
		for (uint32_t i = 0; i < s[r].steps; i++)
			*sends += s[r].step[i].kind == COLL_STEP_SEND;
	}
}

size_t
coll_play_footprint(const struct coll_schedule *s, uint32_t p)
{
	size_t steps, deps, sends;
	count_play(s, p, &steps, &deps, &sends);
	return base_carved(sizeof(struct coll_play)) + base_carved((p + 1) * 4) +
	       base_carved(p * 4) + 5 * base_carved((steps + 1) * 4) + base_carved(deps * 4) +
	       base_carved(sends * sizeof(struct coll_message)) + base_carved(sends) +
	       base_carved(sends * 4) + base_carved((sends + 1) * 4) + base_carved(2 * sends * 4) +
	       base_carved(2 * p * 4);
}

static bool
is_message(const struct coll_step *st)
{
	return st->kind == COLL_STEP_SEND || st->kind == COLL_STEP_RECV;
}

static const struct coll_step *
step_at(const struct coll_play *pl, uint32_t i)
{
	return &pl->s[pl->owner[i]].step[i - pl->base[pl->owner[i]]];
}

/* Who waits for whom, in rows by the step that is waited for. */
static void
link_dependents(struct coll_play *pl)
{
	uint32_t *first = pl->dependents_first;
	memset(first, 0, (pl->total + 1) * sizeof *first);
	for (uint32_t r = 0; r < pl->p; r++)
		for (uint32_t d = 0; d < pl->s[r].deps; d++)
			first[pl->base[r] + pl->s[r].dep[d] + 1]++;
	for (uint32_t i = 0; i < pl->total; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 0; i < pl->total; i++) {
		const struct coll_schedule *s = &pl->s[pl->owner[i]];
		const struct coll_step *st = step_at(pl, i);
		for (uint32_t d = 0; d < st->dep_count; d++) {
			uint32_t on = pl->base[pl->owner[i]] + s->dep[st->dep_first + d];
			/* the row fills up from its end; its start comes out right */
			pl->dependents[--first[on + 1]] = i;
		}
	}
	/* first[on + 1] has become the start of row on: shift */
	for (uint32_t i = 0; i < pl->total; i++)
		first[i] = first[i + 1];
	uint32_t deps = 0;
	for (uint32_t r = 0; r < pl->p; r++)
		deps += pl->s[r].deps;
	first[pl->total] = deps;
}

/* The receive at q that takes the send `nth` from r; a cursor a pair would need p * p
 * memory, so that the messages of a sender to one peer remember the last one. */
static uint32_t
pair_up(struct coll_play *pl, uint32_t m, uint32_t from_step)
{
	const struct coll_schedule *q = &pl->s[pl->message[m].to];
	for (uint32_t i = from_step; i < q->steps; i++)
		if (q->step[i].kind == COLL_STEP_RECV && q->step[i].peer == pl->message[m].from &&
		    pl->message_of[pl->base[pl->message[m].to] + i] == COLL_NO_MESSAGE)
			return i;
	return UINT32_MAX;
}

static bool
pair_all(struct coll_play *pl)
{
	uint32_t *last = pl->mark; /* of this sender to each peer: [p], borrowed */
	uint32_t receives = 0;
	for (uint32_t i = 0; i < pl->total; i++) {
		const struct coll_step *st = step_at(pl, i);
		receives += st->kind == COLL_STEP_RECV;
		if (is_message(st) && st->peer >= pl->p)
			return false;
	}
	for (uint32_t r = 0; r < pl->p; r++) {
		memset(last, 0xff, pl->p * sizeof *last);
		for (uint32_t i = 0; i < pl->s[r].steps; i++) {
			const struct coll_step *st = &pl->s[r].step[i];
			if (st->kind != COLL_STEP_SEND)
				continue;
			uint32_t m = pl->nmessages, before = last[st->peer];
			pl->message[m] = (struct coll_message){
				.from = r, .to = st->peer, .send = i, .bytes = st->from.len};
			uint32_t at = pair_up(
				pl, m, before == COLL_NO_MESSAGE ? 0 : pl->message[before].recv);
			if (at == UINT32_MAX || pl->s[st->peer].step[at].into.len != st->from.len)
				return false;
			pl->message[m].recv = at;
			pl->message_of[pl->base[st->peer] + at] = m;
			pl->message_of[pl->base[r] + i] = m;
			pl->after[m] = COLL_NO_MESSAGE;
			if (before != COLL_NO_MESSAGE)
				pl->after[before] = m;
			last[st->peer] = m;
			pl->nmessages++;
		}
	}
	return pl->nmessages == receives;
}

struct coll_play *
coll_play_new(void *mem, const struct coll_schedule *s, uint32_t p,
	      void (*local)(void *, uint32_t, const struct coll_step *), void *arg)
{
	size_t steps, deps, sends;
	count_play(s, p, &steps, &deps, &sends);
	uint8_t *at = mem;
	struct coll_play *pl = base_carve(&at, sizeof *pl);
	*pl = (struct coll_play){
		.s = s, .p = p, .total = (uint32_t)steps, .local = local, .arg = arg};
	pl->base = base_carve(&at, (p + 1) * 4);
	pl->steps_left = base_carve(&at, p * 4);
	pl->owner = base_carve(&at, (steps + 1) * 4);
	pl->waits = base_carve(&at, (steps + 1) * 4);
	pl->dependents_first = base_carve(&at, (steps + 1) * 4);
	pl->message_of = base_carve(&at, (steps + 1) * 4);
	pl->todo = base_carve(&at, (steps + 1) * 4);
	pl->dependents = base_carve(&at, deps * 4);
	pl->message = base_carve(&at, sends * sizeof *pl->message);
	pl->ends = base_carve(&at, sends);
	pl->after = base_carve(&at, sends * 4);
	pl->ready = base_carve(&at, (sends + 1) * 4);
	pl->waiting = base_carve(&at, 2 * sends * 4);
	pl->mark = base_carve(&at, 2 * p * 4);
	pl->base[0] = 0;
	for (uint32_t r = 0; r < p; r++) {
		pl->base[r + 1] = pl->base[r] + s[r].steps;
		for (uint32_t i = pl->base[r]; i < pl->base[r + 1]; i++)
			pl->owner[i] = r;
	}
	memset(pl->message_of, 0xff, (steps + 1) * 4);
	link_dependents(pl);
	if (!pair_all(pl))
		return NULL;
	coll_play_rewind(pl);
	return pl;
}

/* An end has come to message m, or its predecessor of the pair was named. */
static void
reach(struct coll_play *pl, uint32_t m)
{
	if (++pl->ends[m] < 3)
		return;
	pl->ready[pl->tail] = m;
	pl->tail = (pl->tail + 1) % (pl->nmessages + 1);
}

static void
can_start(struct coll_play *pl, uint32_t i)
{
	if (is_message(step_at(pl, i)))
		reach(pl, pl->message_of[i]);
	else
		pl->todo[pl->ntodo++] = i;
}

static void
complete_play(struct coll_play *pl, uint32_t i)
{
	BASE_ASSERT(pl->left > 0);
	pl->left--;
	pl->steps_left[pl->owner[i]]--;
	for (uint32_t d = pl->dependents_first[i]; d < pl->dependents_first[i + 1]; d++)
		if (--pl->waits[pl->dependents[d]] == 0)
			can_start(pl, pl->dependents[d]);
}

static void
run_local(struct coll_play *pl)
{
	while (pl->ntodo) {
		uint32_t i = pl->todo[--pl->ntodo];
		if (pl->local)
			pl->local(pl->arg, pl->owner[i], step_at(pl, i));
		complete_play(pl, i);
	}
}

void
coll_play_rewind(struct coll_play *pl)
{
	pl->left = pl->total;
	pl->head = pl->tail = pl->ntodo = 0;
	memset(pl->ends, 1, pl->nmessages); /* the first of a pair waits for none before it */
	for (uint32_t m = 0; m < pl->nmessages; m++)
		if (pl->after[m] != COLL_NO_MESSAGE)
			pl->ends[pl->after[m]] = 0;
	for (uint32_t r = 0; r < pl->p; r++)
		pl->steps_left[r] = pl->s[r].steps;
	for (uint32_t i = 0; i < pl->total; i++)
		pl->waits[i] = step_at(pl, i)->dep_count;
	for (uint32_t i = 0; i < pl->total; i++)
		if (!step_at(pl, i)->dep_count)
			can_start(pl, i);
	run_local(pl);
}

const struct coll_message *
coll_play_messages(const struct coll_play *pl, uint32_t *n)
{
	*n = pl->nmessages;
	return pl->message;
}

uint32_t
coll_play_next(struct coll_play *pl)
{
	if (pl->head == pl->tail)
		return COLL_NO_MESSAGE;
	uint32_t m = pl->ready[pl->head];
	pl->head = (pl->head + 1) % (pl->nmessages + 1);
	if (pl->after[m] != COLL_NO_MESSAGE)
		reach(pl, pl->after[m]);
	return m;
}

void
coll_play_over(struct coll_play *pl, uint32_t m)
{
	const struct coll_message *msg = &pl->message[m];
	complete_play(pl, pl->base[msg->from] + msg->send);
	complete_play(pl, pl->base[msg->to] + msg->recv);
	run_local(pl);
}

uint32_t
coll_play_left(const struct coll_play *pl)
{
	return pl->left;
}

/* Messages that can go join those that could not yet, in the order of their senders'
 * steps (which is mostly the order they come in). */
static uint32_t
take_in(struct coll_play *pl, uint32_t n)
{
	uint32_t *waiting = pl->waiting;
	for (uint32_t m; (m = coll_play_next(pl)) != COLL_NO_MESSAGE; n++) {
		uint32_t i = n;
		for (; i && pl->message[waiting[i - 1]].send > pl->message[m].send; i--)
			waiting[i] = waiting[i - 1];
		waiting[i] = m;
	}
	return n;
}

/* Of those who want to send to one receiver, each what is its turn, the one with most to
 * send goes first: what comes last shall be short.  Then whoever still finds both
 * ends free.  Those that go are moved to going; how many. */
static uint32_t
pick_play(struct coll_play *pl, uint32_t n, uint32_t *going)
{
	uint32_t *sent = pl->mark, *got = pl->mark + pl->p, *waiting = pl->waiting, go = 0;
	memset(pl->mark, 0xff, 2 * pl->p * sizeof *pl->mark);
	for (uint32_t i = 0; i < n; i++) {
		const struct coll_message *msg = &pl->message[waiting[i]];
		if (sent[msg->from] != COLL_NO_MESSAGE)
			continue; /* not its turn */
		sent[msg->from] = waiting[i];
		uint32_t best = got[msg->to];
		if (best == COLL_NO_MESSAGE || pl->message[best].bytes < msg->bytes)
			got[msg->to] = waiting[i];
	}
	for (uint32_t r = 0; r < pl->p; r++)
		if (sent[r] != COLL_NO_MESSAGE && got[pl->message[sent[r]].to] != sent[r])
			sent[r] = COLL_NO_MESSAGE;
	for (uint32_t i = 0; i < n; i++) {
		const struct coll_message *msg = &pl->message[waiting[i]];
		if (sent[msg->from] == COLL_NO_MESSAGE && got[msg->to] == COLL_NO_MESSAGE)
			sent[msg->from] = got[msg->to] = waiting[i];
		if (sent[msg->from] == waiting[i])
			going[go++] = waiting[i];
	}
	return go;
}

uint32_t
coll_play_rounds(struct coll_play *pl)
{
	uint32_t round = 0, n = 0, *going = pl->waiting + pl->nmessages;
	coll_play_rewind(pl);
	while ((n = take_in(pl, n)) > 0) {
		uint32_t go = pick_play(pl, n, going), keep = 0;
		for (uint32_t i = 0; i < n; i++)
			if (pl->mark[pl->message[pl->waiting[i]].from] != pl->waiting[i])
				pl->waiting[keep++] = pl->waiting[i];
		n = keep;
		for (uint32_t i = 0; i < go; i++) {
			pl->message[going[i]].round = round;
			coll_play_over(pl, going[i]);
		}
		round++;
	}
	bool stuck = pl->left != 0;
	coll_play_rewind(pl);
	return stuck ? 0 : round;
}
