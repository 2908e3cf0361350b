/* SPDX-License-Identifier: BSD-2-Clause */
/* meet/talk.h - a conversation of two roots, one end of it: what is said and heard in which order,
 * and how long each waits for what.
 *
 *	over a socket				over doors
 *	connector	acceptor		connector	acceptor
 *	KNOCK ->				KNOCK_FAR greeting [first] ->
 *			<- TAKEN				<- TAKEN greeting
 *	GO greeting ->
 *			<- greeting
 *
 * then swaps: both say something, and know how long it is.  Over doors nobody waits for GO, for
 * the other side may be far away.  So who accepts is unsure: who knocked may have given up before
 * it heard TAKEN.  What the connector swaps first goes along with its knock if both are short
 * (ahead); then it says nothing in that swap.
 *
 * At last they decide whether they are connected.  Either says an outcome, 0 if all went well at
 * its side.  The acceptor says its own at once and has as long as a swap for the other one.  The
 * connector says that all is well only when it has heard the same, and in time: within decide_ns of
 * what it heard before.  The acceptor has not given up when it hears that, if a swap of its may
 * take decide_ns longer and as long again as the other root may be out of reach before anybody
 * notices.  So both are connected, or neither.  What is lost with a way that broke just then leaves
 * one connected with somebody who is out of reach, as any death does.
 *
 * Words over a socket before GO are the port's (meet/port.h): there the acceptor begins by
 * meet_talk_greet().
 *
 * The owner begins a step, and as long as it is UNDER_WAY says what meet_talk_says(), puts what
 * comes where meet_talk_hears() tells, never more than that, tells of both and of the end of the
 * other side, and looks at the clock at meet_talk_due(), if it was not there before.
 *
 * Sans-I/O.  Memory  the owner's: what it gives to a step stays until that is over.
 * Units    nanoseconds, bytes.  Threads  one owner at a time.
 * Errors   enum meet_state: LATE, GONE, WRONG; phase says in which step. */
#ifndef MEET_TALK_H
#define MEET_TALK_H

#include "meet/word.h"

#include <stddef.h>

#define MEET_GREETING_BYTES 24u
#define MEET_KNOCK_BYTES    16384u /* of a first word over doors, with what follows it */
#define MEET_FROM_BYTES	    80u	   /* of that for what a line may say before it (meet/lines.h) */
#define MEET_FAR_BYTES	    (MEET_WORD_BYTES + MEET_GREETING_BYTES)

enum meet_state {
	MEET_IDLE,
	MEET_UNDER_WAY,
	MEET_DONE,
	MEET_LATE,  /* it took too long */
	MEET_GONE,  /* the other end is gone */
	MEET_WRONG, /* it says something else */
};

enum meet_phase { MEET_PHASE_KNOCK, MEET_PHASE_GO, MEET_PHASE_SWAP, MEET_PHASE_DECIDE };

struct meet_talk {
	/* For the owner to read. */
	enum meet_state state;
	enum meet_phase phase; /* of the step that is under way, or was */
	bool far;	       /* over doors */
	bool ahead;	       /* the first that is swapped was said with the knock */
	bool unsure;	       /* who was accepted may have given up before it heard of that */
	size_t said, heard;    /* of this step */
	size_t to_say, to_hear;
	uint64_t outcome; /* decided: the other one's */
	/* Its own. */
	bool accepts;
	uint64_t token, swap_ns, decide_ns, due_ns, heard_ns;
	uint64_t verdict;
	const uint8_t *mine, *out;
	uint8_t *theirs, *in;
	uint8_t words[MEET_FAR_BYTES];
};

/* swap_ns: what a swap may take, and how long nobody may be reached meanwhile; decide_ns: half of
 * the least that it is at anybody without that. */
void meet_talk_init(struct meet_talk *t, bool far, uint64_t token, uint64_t swap_ns,
		    uint64_t decide_ns);
/* Step of the connector: until both have greeted.  knock[]: the owner's, until then.  due_ns: until
 * when somebody has to accept.  Over a socket greetings have as long as a swap, from then on. */
void meet_talk_knock(struct meet_talk *t, const uint8_t mine[MEET_GREETING_BYTES],
		     uint8_t theirs[MEET_GREETING_BYTES], const void *first, size_t first_len,
		     uint8_t knock[MEET_KNOCK_BYTES], uint64_t due_ns);
/* Step of the acceptor over doors: somebody has said something, which is here as a whole.  Who has
 * not knocked at that port is LATE or WRONG at once. */
void meet_talk_take(struct meet_talk *t, const uint8_t mine[MEET_GREETING_BYTES],
		    uint8_t theirs[MEET_GREETING_BYTES], uint64_t now_ns);
/* Step of the acceptor over a socket: GO was heard. */
void meet_talk_greet(struct meet_talk *t, const uint8_t mine[MEET_GREETING_BYTES],
		     uint8_t theirs[MEET_GREETING_BYTES], uint64_t now_ns);
/* Step of either: len bytes are said, their_len are heard. */
void meet_talk_swap(struct meet_talk *t, const void *mine, size_t len, void *theirs,
		    size_t their_len, uint64_t now_ns);
/* Last step of either: DONE, and both outcomes are 0: connected. */
void meet_talk_decide(struct meet_talk *t, uint64_t mine, uint64_t now_ns);

/* What is to be said now; 0: nothing. */
size_t meet_talk_says(const struct meet_talk *t, const uint8_t **at);
void meet_talk_said(struct meet_talk *t, size_t n, uint64_t now_ns);
/* Where what comes goes, and how much of it at most; 0: nothing is waited for. */
size_t meet_talk_hears(const struct meet_talk *t, uint8_t **at);
void meet_talk_heard(struct meet_talk *t, size_t n, uint64_t now_ns);
/* The other end is gone. */
void meet_talk_broke(struct meet_talk *t);
/* Is it over? */
bool meet_talk_over(struct meet_talk *t, uint64_t now_ns);
/* Until when the step has to be over; never, if none is under way. */
uint64_t meet_talk_due(const struct meet_talk *t);

#endif
