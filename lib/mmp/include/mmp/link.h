/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp/link.h - blocks between two ranks whose lane may break and be opened anew: which lane that
 * is, what is to be sent again, what has come before.
 *
 * Blocks of a direction have numbers, from 0, in the order of sending.  The sender keeps those
 * that are not acknowledged end to end: their heads here, their bytes where they lie.  On each
 * lane it says MMP_FIRST before all others: the number of the block that follows.  So nothing is
 * asked and awaited; what the receiver has already is dropped there by its number.  Blocks begin in
 * the order of sending and may end in another.
 *
 * Lanes of a pair have turns, from 1.  Who finds that its way broke opens a lane of the next turn;
 * the other one follows when it hears it.  The lanes of two turns have other labels: the turn
 * modulo MMP_LINK_SLOTS is seen from the labels alone, so what an older lane has left on its way
 * never gets into a newer one.  An end is at most MMP_LINK_AHEAD turns ahead of the last one on
 * which it heard the other.
 *
 * Units    blocks.  Threads  one owner, the engine's.
 * Memory   fixed: MMP_LINK_BLOCKS that are not acknowledged.
 * Hostile  a number that cannot be: MMP_LINK_BAD, and the caller ends the peer. */
#ifndef MMP_LINK_H
#define MMP_LINK_H

#include "mmp/head.h"

#define MMP_LINK_BLOCKS 2048u
#define MMP_LINK_SLOTS	8u
#define MMP_LINK_AHEAD	4u

struct mmp_link_block {
	struct mmp_head head;
	const void *data;
	uint32_t name;
};
struct mmp_link {
	uint32_t turn, heard; /* of the last lane; of the last one on which the peer was heard */
	/* Sending: acked <= given <= put. */
	uint64_t put, acked, given;
	uint64_t top; /* given at most, on any lane */
	bool began;   /* MMP_FIRST was given to this lane */
	/* Receiving: all before have are here, and some of those behind it. */
	uint64_t have, next; /* next: number of the block that begins next on this lane */
	uint64_t again, dropped;
	uint64_t here[MMP_LINK_BLOCKS / 64];
	struct mmp_link_block block[MMP_LINK_BLOCKS];
};

/* Zeros are a link without a lane. */

/* ---- lanes */
/* Our way broke, or there was none: a lane of the next turn is opened.  false: the peer was not
 * heard on the last ones. */
bool mmp_link_open(struct mmp_link *l);
static inline uint32_t
mmp_link_slot(const struct mmp_link *l)
{
	return l->turn % MMP_LINK_SLOTS;
}
/* The peer is at a lane of that slot, which has no lane here.  true: it is a newer one, opened
 * here, too. */
bool mmp_link_follow(struct mmp_link *l, uint32_t slot);
static inline bool
mmp_link_is_heard(const struct mmp_link *l)
{
	return l->heard == l->turn;
}

/* ---- sending */
/* false: no room, MMP_LINK_BLOCKS are not acknowledged. */
bool mmp_link_put(struct mmp_link *l, const struct mmp_head *h, const void *data, uint32_t name);
/* What this lane is to be given now, MMP_FIRST first; false: nothing.  Then mmp_link_gave(). */
bool mmp_link_next(const struct mmp_link *l, struct mmp_link_block *out);
void mmp_link_gave(struct mmp_link *l);
/* The peer has all up to that number: *name, again and again until false.  UINT64_MAX: the peer is
 * gone, and needs nothing. */
bool mmp_link_acked(struct mmp_link *l, uint64_t number, uint32_t *name);

/* ---- receiving */
enum mmp_link_is { MMP_LINK_NEW, MMP_LINK_HERE, MMP_LINK_BAD };
/* The peer's MMP_FIRST; false: it cannot be. */
bool mmp_link_first(struct mmp_link *l, uint64_t number);
/* Is the next one here already? */
bool mmp_link_is_here(const struct mmp_link *l);
/* The next block begins; its number. */
enum mmp_link_is mmp_link_begin(struct mmp_link *l, uint64_t *number);
void mmp_link_end(struct mmp_link *l, uint64_t number);

#endif
