/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp/far.h - fragments that come as blocks of a reliable stream: which record, whether now.
 *
 * A block is a head and the bytes of its fragment.  The transport calls this as its blocks begin,
 * go on and end, asks before one begins whether there is room, and goes on with those that had
 * to wait when mmp_far_next() says so.  A peer of MMP_NONE is nobody: what it sends is dropped.
 *
 * A peer with a link may lose its stream and get another one: mmp_far_pause() takes back what had
 * begun, and what was here already is dropped when it comes again.
 *
 * Hostile  a head that cannot be breaks the peer: nothing of it is taken any more, why says
 *          what it did, and the caller ends it after the call (mmp_far_broken).
 * Threads  one owner, the engine's. */
#ifndef MMP_FAR_H
#define MMP_FAR_H

#include "mmp/engine.h"
#include "mmp/link.h"

/* For whoever opens the streams: all have to be there after so long, unless the user says
 * otherwise; a peer that cannot be reached is called again so soon. */
#define MMP_START_S  30u
#define MMP_CALL_MS  20u
#define MMP_FAR_WHY  64
#define MMP_FAR_WORD UINT64_MAX /* names a block that nobody waits for */

struct mmp_far_peer {
	bool begs;   /* waits for room */
	bool deaf;   /* nothing of it is taken */
	bool broken; /* nor was the caller told why */
	uint64_t beg_bytes;
	struct mmp_link *link; /* the owner's; NULL: its stream does not break */
	char why[MMP_FAR_WHY];
};
struct mmp_far {
	struct mmp_engine *engine;
	uint32_t size;
	uint64_t half;	  /* of the area: longer blocks cannot be and are begun, to be refused */
	uint16_t *coming; /* by record: 1 + peer, while it comes */
	uint64_t *number; /* by record: of its block at the link */
	struct mmp_far_peer *peer;
	uint32_t begs, broken;
};

size_t mmp_far_footprint(uint32_t size);
/* mem: so many bytes, zeros.  size below 2^16. */
struct mmp_far *mmp_far_new(void *mem, struct mmp_engine *e, uint32_t size, uint64_t half);

/* May the next block, of so many bytes, begin? */
bool mmp_far_room(struct mmp_far *f, uint32_t peer, uint64_t bytes);
/* Might that which the peer was refused begin now? */
bool mmp_far_has(const struct mmp_far *f, uint32_t peer);
/* A peer whose blocks may go on now; MMP_NONE: none. */
uint32_t mmp_far_next(struct mmp_far *f);

/* What names the block in the next two, never NULL. */
void *mmp_far_begin(struct mmp_far *f, uint32_t peer, uint64_t bytes, const uint8_t *first,
		    size_t first_len);
/* off: in the block. */
void mmp_far_data(struct mmp_far *f, void *block, uint64_t off, const uint8_t *data, size_t len);
void mmp_far_end(struct mmp_far *f, void *block);
/* The block that was sent with that name has been taken, or never will be. */
void mmp_far_sent(struct mmp_far *f, uint64_t name);

/* One to be ended, for its why, each told once; MMP_NONE. */
uint32_t mmp_far_broken(struct mmp_far *f);
/* The peer's stream is no more, and its blocks will come again by another one. */
void mmp_far_pause(struct mmp_far *f, uint32_t peer);
/* The peer is gone: what was begun is aborted, what waits for it ends with err. */
void mmp_far_down(struct mmp_far *f, uint32_t peer, int err);

#endif
