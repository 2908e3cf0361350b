/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp/meet.h - how the ranks of several sites learn each other's doors (doc/mmp.md, Sites).
 *
 * All others say to rank 0 who they are; it answers when all are there, or why not.  All
 * big-endian:
 *
 *     HERE    0 "MMPH" | 4 version 8 = 2 | card's flags 8 | bytes of door 8 | zero 8
 *             8 rank 32 | 12 size 32 | 16 job 64 | 24 share 64 | 32 door, zeros: 64 bytes
 *     TABLE   0 "MMPT" | 4 version 8 = 2 | zero 24 | 8 size 32 | 12 zero 32
 *             16 size x { flags 8 | bytes of door 8 | zero 48 | share 64 | door, zeros: 64 bytes }
 *     NO      0 "MMPN" | 4 text, not empty, to the end
 *
 * Later a rank whose door has another address says so to all who are elsewhere, and is answered:
 *
 *     MOVED   0 "MMPM" | 4 as HERE | 96 proof 64, of the door that it had first (door/address.h)
 *     YES     0 "MMPY" | 4 version 8 = 2 | zero 24
 *
 * Version 1 had doors of two labels, and its lanes could not begin anew.
 *
 * flags: 1: its engine is a thread.  A door is an address as its maker wrote it (door/address.h).
 *
 * Threads  one owner.  Hostile  what cannot be is refused with a text; each rank is taken once. */
#ifndef MMP_MEET_H
#define MMP_MEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MMP_MEET_DOOR	      64u
#define MMP_HERE_BYTES	      96u
#define MMP_MOVED_BYTES	      104u
#define MMP_YES_BYTES	      8u
#define MMP_NO_MAX	      120u
#define MMP_MEET_WHY	      (MMP_NO_MAX - 4)
#define MMP_TABLE_BYTES(size) (16u + (size_t)(size)*80u)

/* What the others have to know of a process. */
struct mmp_card {
	uint64_t share; /* mmp_engine_share(); never 0 */
	bool threaded;
	uint8_t ndoor; /* 1 .. MMP_MEET_DOOR */
	uint8_t door[MMP_MEET_DOOR];
};

struct mmp_here {
	uint32_t rank, size;
	uint64_t job; /* the same in all of a job, and hardly in others */
	struct mmp_card card;
};

void mmp_here_put(uint8_t out[MMP_HERE_BYTES], const struct mmp_here *h);

/* ---- rank 0 */
struct mmp_meet {
	uint32_t size, there;
	uint64_t job;
	struct mmp_card *card; /* [size]; share 0: not there */
};
size_t mmp_meet_footprint(uint32_t size);
/* mem: so many bytes, zeros. */
struct mmp_meet *mmp_meet_new(void *mem, uint32_t size, uint64_t job, const struct mmp_card *me);
/* NULL: *rank is there; else why it is none of ours. */
const char *mmp_meet_take(struct mmp_meet *m, const uint8_t *in, size_t len, uint32_t *rank);
/* The first that is not there; size: all are. */
uint32_t mmp_meet_missing(const struct mmp_meet *m);
/* MMP_TABLE_BYTES(size). */
void mmp_meet_table(const struct mmp_meet *m, uint8_t *out);
/* Bytes written. */
size_t mmp_meet_no(uint8_t out[MMP_NO_MAX], const char *why);

/* ---- the others */
/* card[size], if true; else why has what was said, printable, or what is wrong with it. */
bool mmp_answer_get(const uint8_t *in, size_t len, uint32_t size, struct mmp_card *card,
		    char why[MMP_MEET_WHY]);

/* ---- later, between any two of different sites */
void mmp_moved_put(uint8_t out[MMP_MOVED_BYTES], const struct mmp_here *h, uint64_t proof);
/* NULL, or why it cannot be.  Whether rank and proof are right is the caller's to see. */
const char *mmp_moved_get(const uint8_t *in, size_t len, struct mmp_here *h, uint64_t *proof);
void mmp_yes_put(uint8_t out[MMP_YES_BYTES]);
/* true: yes; else why has what was said, printable, or what is wrong with it. */
bool mmp_yes_get(const uint8_t *in, size_t len, char why[MMP_MEET_WHY]);

#endif
