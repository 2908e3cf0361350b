/* SPDX-License-Identifier: BSD-2-Clause */
/* cycles.h - the time stamp counter as the clock of loops that are shorter than a system clock's
 * reading.
 *
 * Its rate is measured against CLOCK_MONOTONIC while MPI_Init does other things.  Only differences
 * on one thread are used, as bounds of waiting: a counter that is not the same on all CPUs ends a
 * wait too early, or a little late, and nothing else. */
#ifndef LMPI_CYCLES_H
#define LMPI_CYCLES_H

#include <stdint.h>

static inline uint64_t
lmpi_cycles(void)
{
	return __builtin_ia32_rdtsc();
}

/* How many a microsecond has, as between two readings of both clocks; what cannot be, or was too
 * short to be measured, is taken for that of a CPU of 2 GHz. */
uint32_t lmpi_cycles_rate(uint64_t cycles, uint64_t ns);

/* Begin of the measuring; and its result so far. */
void lmpi_cycles_start(void);
uint32_t lmpi_cycles_per_us(void);

#endif
