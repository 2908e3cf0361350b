/* SPDX-License-Identifier: BSD-2-Clause */
/* coll/play.h - the schedules of all processes against each other, on paper.
 *
 * Pairs the n-th send from a to b with the n-th receive at b from a, keeps what every step
 * waits for, and says which messages can go: both ends have come to them.  The
 * caller says when a message is over; copies and reductions then happen in
 * no time (`local` is called for each, in order, for who has data).  Circuit plans,
 * obsim, the simulator and the verifier all play through this one.
 *
 *     coll_play_new() ; while ((m = coll_play_next(p)) != COLL_NO_MESSAGE) ... start m
 *     coll_play_over(p, m) when it has arrived ; coll_play_left(p) == 0: the operation is complete
 *
 * Bounds   no allocation but the memory given: coll_play_footprint().
 * Threads  one owner. */
#ifndef COLL_PLAY_H
#define COLL_PLAY_H

#include "coll/schedule.h"

#define COLL_NO_MESSAGE UINT32_MAX

struct coll_message {
	uint32_t from, to;
	uint32_t send, recv; /* steps of theirs */
	uint64_t bytes;
	uint32_t round; /* coll_play_rounds() */
};

struct coll_play; /* opaque */

/* Schedules of ranks 0 .. p-1. */
size_t coll_play_footprint(const struct coll_schedule *s, uint32_t p);
/* NULL: sends and receives do not pair, or lengths differ. */
struct coll_play *
coll_play_new(void *mem, const struct coll_schedule *s, uint32_t p,
	      void (*local)(void *arg, uint32_t rank, const struct coll_step *step), void *arg);
/* Back to the beginning. */
void coll_play_rewind(struct coll_play *pl);
/* The messages, in order of sender and step; those of a pair in the order they go. */
const struct coll_message *coll_play_messages(const struct coll_play *pl, uint32_t *count);
/* A message that can go and was not named yet, or COLL_NO_MESSAGE. */
uint32_t coll_play_next(struct coll_play *pl);
void coll_play_over(struct coll_play *pl, uint32_t m);
/* Steps that are not complete.  Not 0 with nothing under way and nothing next: deadlock. */
uint32_t coll_play_left(const struct coll_play *pl);
/* Play in lockstep, each process sending and receiving one message a round, in
 * order; note the round of every message; rewind.  How many rounds, or 0: deadlock (or no
 * message at all). */
uint32_t coll_play_rounds(struct coll_play *pl);

#endif
