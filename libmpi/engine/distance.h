/* SPDX-License-Identifier: BSD-2-Clause */
/* distance.h - is the process that I send to through a ring on a CPU that is near mine, or far?
 *
 * A message through a ring is copied twice, and each of its lines goes from one CPU's caches to the
 * other's and back.  Where both share a cache that beats the system call that reads the sender's
 * memory up to some 40 KiB; where they do not, up to a few KiB only.  Which it is cannot be asked:
 * processes are moved, and so are the CPUs of a virtual machine (within seconds, here).  So who
 * sends long records looks how long copying them into the ring takes: that is where a far CPU
 * shows, as it holds the lines that are written.  It is compared with what the system call takes
 * for as much of the caller's own memory, measured at start.
 *
 * With s + k n for the system call and r n for the ring both are equal at (s / k) / (r / k - 1)
 * bytes; s / k is 20 to 36 KiB.  So at r = 3 k the limit of narrow rings, 12 KiB, is about right;
 * there near ends.  Seen on one machine: r = 1.7 k near and 6 k far (doc/tuning.md).
 *
 * No clock and no memory in here: shm.c measures.  Times are in cycles (cycles.h).  Not for
 * several threads at once. */
#ifndef LMPI_DISTANCE_H
#define LMPI_DISTANCE_H

#include <stdbool.h>
#include <stdint.h>

/* Shorter records say more of the calls around them. */
#define LMPI_DISTANCE_BYTES 8192u

struct lmpi_distance {
	uint32_t bound; /* cycles for a KiB into the ring; 0: not known, always near */
	int32_t votes;	/* the last records said far (up) or near (down) */
	bool far;
};

/* What the system call takes to copy so many bytes, few and many, of the caller's own memory. */
void lmpi_distance_init(struct lmpi_distance *d, uint32_t few, uint64_t few_cycles, uint32_t many,
			uint64_t many_cycles);

/* A record of so many bytes was copied into the ring.  True: d->far is another now. */
bool lmpi_distance_copied(struct lmpi_distance *d, uint64_t bytes, uint64_t cycles);

#endif
