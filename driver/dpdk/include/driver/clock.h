/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/clock.h - nanoseconds of CLOCK_MONOTONIC at the price of reading the TSC.
 *
 * Each owner thread has its own struct rd_clock: nothing is shared.  About every
 * 10 ms a reading is checked against CLOCK_MONOTONIC and the slope is bent so
 * that the error (drift, wrong Hz in a VM, a clock slewed by NTP) runs out over
 * the next interval; a jump forward (VM was stopped) is taken at once; the
 * clock never runs backwards.  So readings of different threads and processes
 * agree to a few microseconds.  A machine without an invariant TSC gets
 * clock_gettime on every call.
 *
 * Limits   one owner.  Init spends about 1 ms. */
#ifndef DRIVER_CLOCK_H
#define DRIVER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct rd_clock {
	uint64_t base_tsc;
	uint64_t base_ns;
	uint64_t mult;	      /* ns per TSC tick, 32.32 fixed point, bent to converge */
	uint64_t slope;	      /* the same, as measured */
	uint64_t resync_tsc;  /* next check against CLOCK_MONOTONIC */
	uint64_t resync_step; /* TSC ticks between checks */
	uint64_t last_ns;
	uint64_t true_ns, true_tsc; /* pair the slope is measured from */
	uint64_t resyncs, jumps;
	bool use_tsc;
};

void rd_clock_init(struct rd_clock *c);
void rd_clock_resync(struct rd_clock *c, uint64_t tsc);

/* CLOCK_MONOTONIC by the system, for the rare path. */
uint64_t rd_clock_system_ns(void);

static inline uint64_t
rd_clock_tsc(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return rd_clock_system_ns();
#endif
}

/* Pure part: the time c shows at TSC reading tsc.  Never less than before. */
static inline uint64_t
rd_clock_at(struct rd_clock *c, uint64_t tsc)
{
	uint64_t d = tsc - c->base_tsc;
	if ((int64_t)d < 0)
		d = 0;
	uint64_t ns = c->base_ns + (uint64_t)((__extension__(unsigned __int128) d * c->mult) >> 32);
	if (ns < c->last_ns)
		ns = c->last_ns;
	c->last_ns = ns;
	return ns;
}

static inline uint64_t
rd_clock_ns(struct rd_clock *c)
{
	uint64_t tsc = rd_clock_tsc();
	if (__builtin_expect((int64_t)(tsc - c->resync_tsc) >= 0, 0))
		rd_clock_resync(c, tsc);
	return rd_clock_at(c, tsc);
}

/* The pure steps of rd_clock_init and rd_clock_resync: for tests. */
void rd_clock_start_at(struct rd_clock *c, uint64_t tsc, uint64_t ns, uint64_t tsc_hz);
void rd_clock_resync_at(struct rd_clock *c, uint64_t tsc, uint64_t ns);

#endif
