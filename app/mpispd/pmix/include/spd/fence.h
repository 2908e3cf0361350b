/* SPDX-License-Identifier: BSD-2-Clause */
/* spd/fence.h - fences of processes on several units: each unit has what its own ones gave, all
 * are to have everything.  Without I/O.
 *
 * Set	    The ranks that meet, as a number that is the same on all units.  A fence of a set has a
 *	    number, which each unit counts by itself, from 1: the units of a set meet in the same
 *	    order.
 * Parts    Each unit sends its part to the others of the set when its own processes have come
 *	    (spd_fences_begin()).  A part that is lost is asked for: spd_fences_missing() says whom,
 *	    and spd_fences_own() has the part of the fence that is under way and of the one before,
 *	    for a unit may be one behind.
 * Ends	    When all parts are there, spd_fences_done(): their bytes, one after the other, in the
 *	    order of units.  A unit without living processes gives nothing (spd_fences_lost()).
 * Limits   SPD_FENCE_SETS sets, SPD_FENCE_KEPT bytes of parts.  A part that does not fit is dropped
 *	    and counted; it is asked for again.  A fence with more than SPD_FENCE_MOST bytes ends
 *	    without data.
 * Memory   malloc.  Threads: one owner.  Units: as numbered by the caller. */
#ifndef SPD_FENCE_H
#define SPD_FENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPD_FENCE_SETS 64u
#define SPD_FENCE_KEPT ((size_t)64 << 20)
#define SPD_FENCE_MOST (SPD_FENCE_KEPT / 4)

/* X(name, help): what is counted of fences. */
#define SPD_FENCE_COUNTERS(X)                                                           \
	X(fences, "fences that are over here")                                          \
	X(late, "parts of units that came again, dropped")                              \
	X(ahead, "parts of a fence that cannot be yet, dropped: sent by one unlike us") \
	X(no_room, "parts and fences for which there was no room, dropped")

/* Only grow. */
struct spd_fence_counts {
#define X(n, help) uint64_t n;
	SPD_FENCE_COUNTERS(X)
#undef X
};

struct spd_fence_done {
	uint64_t set, number;
	void *ticket;  /* of spd_fences_begin() */
	bool ok;       /* false: too much data */
	uint8_t *data; /* malloc'd, the caller's; NULL: nothing */
	size_t len;
};

struct spd_fences;

/* NULL: out of memory. */
struct spd_fences *spd_fences_new(uint32_t units, uint32_t me);
void spd_fences_free(struct spd_fences *f);

/* All that are here have come.  takes[units]: who has ranks in it; data is copied.  The fence's
 * number; 0: one of this set is under way, or there is no room. */
uint64_t spd_fences_begin(struct spd_fences *f, uint64_t set, const bool *takes, const void *data,
			  size_t len, void *ticket);
/* A part of another unit.  false: it is not kept; counted. */
bool spd_fences_part(struct spd_fences *f, uint32_t unit, uint64_t set, uint64_t number,
		     const void *data, size_t len);
/* No process lives there any more. */
void spd_fences_lost(struct spd_fences *f, uint32_t unit);
/* One that is over; false: there is none. */
bool spd_fences_done(struct spd_fences *f, struct spd_fence_done *done);
/* What another unit asks for; NULL: it is not there (yet).  Nothing but a pointer is *len 0. */
const void *spd_fences_own(const struct spd_fences *f, uint64_t set, uint64_t number, size_t *len);
/* A part that has not come.  *at: from 0, for the next call; false: no more. */
bool spd_fences_missing(const struct spd_fences *f, uint32_t *at, uint32_t *unit, uint64_t *set,
			uint64_t *number);
const struct spd_fence_counts *spd_fences_counters(const struct spd_fences *f);

#endif
