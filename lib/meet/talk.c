/* SPDX-License-Identifier: BSD-2-Clause */
#include "meet/talk.h"

#include "canary.h"

#include "base/assert.h"
#include "base/clock.h"

#include <string.h>

#ifdef SUCI_CANARY
enum meet_bug meet_canary;
#endif

void
meet_talk_init(struct meet_talk *t, bool far, uint64_t token, uint64_t swap_ns, uint64_t decide_ns)
{
	*t = (struct meet_talk){
		.far = far, .token = token, .swap_ns = swap_ns, .decide_ns = decide_ns};
}

static void
begin_step(struct meet_talk *t, enum meet_phase phase, const uint8_t *out, size_t to_say,
	   uint8_t *in, size_t to_hear)
{
	t->state = MEET_UNDER_WAY;
	t->phase = phase;
	t->out = out;
	t->in = in;
	t->to_say = to_say;
	t->to_hear = to_hear;
	t->said = t->heard = 0;
}

static uint64_t
later(uint64_t now_ns, uint64_t ns)
{
	return ns > BASE_NEVER_NS - now_ns ? BASE_NEVER_NS : now_ns + ns;
}

/* ---- steps ---- */

void
meet_talk_knock(struct meet_talk *t, const uint8_t mine[MEET_GREETING_BYTES],
		uint8_t theirs[MEET_GREETING_BYTES], const void *first, size_t first_len,
		uint8_t knock[MEET_KNOCK_BYTES], uint64_t due_ns)
{
	size_t len = MEET_WORD_BYTES;

	t->accepts = false;
	t->mine = mine;
	t->theirs = theirs;
	t->due_ns = due_ns;
	meet_word_write(knock, t->far ? MEET_KNOCK_FAR : MEET_KNOCK, t->token);
	if (t->far) {
		memcpy(knock + len, mine, MEET_GREETING_BYTES);
		len += MEET_GREETING_BYTES;
		t->ahead = first_len <= MEET_KNOCK_BYTES - MEET_FROM_BYTES - len;
		if (t->ahead && first_len)
			memcpy(knock + len, first, first_len);
		len += t->ahead ? first_len : 0;
	}
	begin_step(t, MEET_PHASE_KNOCK, knock, len, t->words,
		   t->far ? MEET_FAR_BYTES : MEET_WORD_BYTES);
}

void
meet_talk_take(struct meet_talk *t, const uint8_t mine[MEET_GREETING_BYTES],
	       uint8_t theirs[MEET_GREETING_BYTES], uint64_t now_ns)
{
	t->accepts = true;
	t->mine = mine;
	t->theirs = theirs;
	t->due_ns = now_ns;
	begin_step(t, MEET_PHASE_KNOCK, NULL, 0, t->words, MEET_FAR_BYTES);
}

void
meet_talk_greet(struct meet_talk *t, const uint8_t mine[MEET_GREETING_BYTES],
		uint8_t theirs[MEET_GREETING_BYTES], uint64_t now_ns)
{
	t->accepts = true;
	meet_talk_swap(t, mine, MEET_GREETING_BYTES, theirs, MEET_GREETING_BYTES, now_ns);
}

void
meet_talk_swap(struct meet_talk *t, const void *mine, size_t len, void *theirs, size_t their_len,
	       uint64_t now_ns)
{
	t->due_ns = later(now_ns, t->swap_ns);
	begin_step(t, MEET_PHASE_SWAP, mine, len, theirs, their_len);
	(void)meet_talk_over(t, now_ns);
}

/* Words of 8 bytes, as this machine has them: both sides are of one kind. */
void
meet_talk_decide(struct meet_talk *t, uint64_t mine, uint64_t now_ns)
{
	bool waits = !t->accepts && !mine && !MEET_BUG(PRESUMED);

	t->verdict = mine;
	t->due_ns = waits ? later(t->heard_ns, t->decide_ns) : later(now_ns, t->swap_ns);
	begin_step(t, MEET_PHASE_DECIDE, (const uint8_t *)&t->verdict, waits ? 0 : sizeof mine,
		   (uint8_t *)&t->outcome, sizeof t->outcome);
	(void)meet_talk_over(t, now_ns);
}

/* The connector has heard the acceptor's outcome, and says what it is to both. */
static void
answer_outcome(struct meet_talk *t)
{
	t->verdict = t->outcome;
	t->to_say = sizeof t->verdict;
}

/* ---- words ---- */

/* Somebody knocks over a door: tell it that it is taken. */
static void
answer_knock(struct meet_talk *t)
{
	if (!MEET_BUG(ANYBODY) && !meet_word_is(t->words, MEET_KNOCK_FAR, t->token)) {
		t->state = MEET_WRONG;
		return;
	}
	memcpy(t->theirs, t->words + MEET_WORD_BYTES, MEET_GREETING_BYTES);
	meet_word_write(t->words, MEET_TAKEN, t->token);
	memcpy(t->words + MEET_WORD_BYTES, t->mine, MEET_GREETING_BYTES);
	t->unsure = !MEET_BUG(SURE);
	begin_step(t, MEET_PHASE_GO, t->words, MEET_FAR_BYTES, NULL, 0);
}

static void
hear_taken(struct meet_talk *t)
{
	if (!meet_word_is(t->words, MEET_TAKEN, t->token)) {
		t->state = MEET_WRONG;
	} else if (t->far) {
		memcpy(t->theirs, t->words + MEET_WORD_BYTES, MEET_GREETING_BYTES);
		t->state = MEET_DONE;
	} else {
		meet_word_write(t->words, MEET_GO, t->token);
		begin_step(t, MEET_PHASE_GO, t->words, MEET_WORD_BYTES, NULL, 0);
	}
}

/* All of a step is said and heard. */
static void
end_step(struct meet_talk *t, uint64_t now_ns)
{
	if (t->phase == MEET_PHASE_KNOCK && t->accepts)
		answer_knock(t);
	else if (t->phase == MEET_PHASE_KNOCK)
		hear_taken(t);
	else if (t->phase == MEET_PHASE_GO && !t->accepts)
		meet_talk_swap(t, t->mine, MEET_GREETING_BYTES, t->theirs, MEET_GREETING_BYTES,
			       now_ns);
	else if (t->phase == MEET_PHASE_DECIDE && !t->to_say)
		answer_outcome(t);
	else
		t->state = MEET_DONE;
}

/* ---- saying, hearing ---- */

size_t
meet_talk_says(const struct meet_talk *t, const uint8_t **at)
{
	if (t->state != MEET_UNDER_WAY || t->said == t->to_say)
		return 0;
	*at = t->out + t->said;
	return t->to_say - t->said;
}

void
meet_talk_said(struct meet_talk *t, size_t n, uint64_t now_ns)
{
	BASE_ASSERT(t->state == MEET_UNDER_WAY && n <= t->to_say - t->said);
	t->said += n;
	if (t->said == t->to_say && t->heard == t->to_hear)
		end_step(t, now_ns);
}

size_t
meet_talk_hears(const struct meet_talk *t, uint8_t **at)
{
	if (t->state != MEET_UNDER_WAY || t->heard == t->to_hear)
		return 0;
	*at = t->in + t->heard;
	return t->to_hear - t->heard;
}

void
meet_talk_heard(struct meet_talk *t, size_t n, uint64_t now_ns)
{
	BASE_ASSERT(t->state == MEET_UNDER_WAY && n <= t->to_hear - t->heard);
	t->heard += n;
	t->heard_ns = now_ns;
	if (t->said == t->to_say && t->heard == t->to_hear)
		end_step(t, now_ns);
}

void
meet_talk_broke(struct meet_talk *t)
{
	if (t->state == MEET_UNDER_WAY)
		t->state = MEET_GONE;
}

bool
meet_talk_over(struct meet_talk *t, uint64_t now_ns)
{
	if (t->state == MEET_UNDER_WAY && !t->to_say && !t->to_hear)
		t->state = MEET_DONE;
	if (t->state == MEET_UNDER_WAY && now_ns >= t->due_ns && !MEET_BUG(PATIENT))
		t->state = MEET_LATE;
	return t->state != MEET_UNDER_WAY;
}

uint64_t
meet_talk_due(const struct meet_talk *t)
{
	return t->state == MEET_UNDER_WAY ? t->due_ns : BASE_NEVER_NS;
}
