/* SPDX-License-Identifier: BSD-2-Clause */
/* spd/wire.h - what daemons tell each other, beside the frames of lib/sp.
 *
 * Blocks of libsuci, so each comes once and whole, from who has the key:
 *
 *	u8 type, then as SPD_NOTES says; numbers big-endian
 *
 * Threads  pure functions.  Errors: false, malformed. */
#ifndef SPD_WIRE_H
#define SPD_WIRE_H

#include "sp/client.h"

/* Of the frames of lib/sp and lib/quorum, too: a daemon of another one is refused by name. */
#define SPD_WIRE_VERSION 5u
#define SPD_HEAD	 64u			 /* a note's bytes without its body are fewer */
#define SPD_BODY_MAX	 ((1u << 20) - SPD_HEAD) /* of PART, GOT */

/* X(id, number, what follows, meaning) */
#define SPD_NOTES(X)                                                                             \
	X(SP, 1, "frame", "of lib/sp, to a unit of the same cluster")                            \
	X(HERE, 2, "u8 version, u8 state, u16 0, u64 hash, u64 own", "I am up; enum spd_here")   \
	X(CARD, 3, "u32 cluster, u64 epoch, u32 role, u32 slot, card", "sp/client.h")            \
	X(WANT, 4, "u32 cluster, u64 epoch", "send me cards, or doors, of your processes again") \
	X(LEFT, 5, "u32 cluster, u32 slot", "that process has finished")                         \
	X(ABORT, 6, "u32 cluster, u32 status, text", "a process of that cluster ends them all")  \
	X(DOOR, 7, "u32 cluster, u32 slot, text", "where that process can be reached")           \
	X(SAID, 8, "u32 cluster, text", "what I have to tell, for those who ask you")            \
	X(PART, 9, "u32 cluster, u64 set, u64 number, bytes", "of a fence: spd/fence.h")         \
	X(PART_WANT, 10, "u32 cluster, u64 set, u64 number", "send me your part again")          \
	X(GET, 11, "u32 cluster, u32 rank, u32 id", "what has that process of yours put?")       \
	X(GOT, 12, "u32 cluster, u32 rank, u32 id, u32 status, bytes", "this; status 0: it has")

enum spd_note_type {
#define X(id, number, shape, what) SPD_NOTE_##id = number,
	SPD_NOTES(X)
#undef X
};

enum spd_here {
	SPD_HERE_WAITS, /* some have not told me yet that they are up */
	SPD_HERE_ALL,	/* all have */
	SPD_HERE_RUNS,	/* it has begun: begin, too */
	SPD_HERE_COUNT
};

struct spd_note {
	enum spd_note_type type;
	uint32_t cluster, role, slot, status;
	uint32_t id; /* of GET; role is the rank */
	uint64_t epoch, hash, own, set, number;
	uint8_t version, state;
	uint32_t n; /* bytes of body: a card, a frame, what processes have put */
	const uint8_t *body;
	char text[SP_TEXT_MAX];
};

/* Into room bytes; 0: more than fits.  Not for SP. */
size_t spd_note_write(const struct spd_note *n, void *bytes, size_t room);
bool spd_note_read(struct spd_note *n, const void *bytes, size_t len);

#endif
