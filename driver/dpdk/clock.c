/* SPDX-License-Identifier: BSD-2-Clause */
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/assert.h"
#include "base/clock.h"
#include "driver/clock.h"

#define RESYNC_NS     (10 * BASE_MS_NS)
#define SLOPE_AGE_NS  (50 * BASE_MS_NS) /* shorter spans measure the reading error */
#define ANCHOR_AGE_NS (2 * BASE_S_NS)
#define JUMP_NS	      BASE_MS_NS /* errors beyond this are not drift */
#define CALIBRATE_NS  BASE_MS_NS

uint64_t
rd_clock_system_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * BASE_S_NS + (uint64_t)ts.tv_nsec;
}

static bool
tsc_invariant(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8));
#else
	return false;
#endif
}

/* TSC and clock as of one moment: the try with the least time in between, for a
 * preemption between the two readings would show as drift. */
static void
read_pair(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;
	*tsc = *ns = 0;
	for (int i = 0; i < 4; i++) {
		uint64_t t0 = rd_clock_tsc();
		uint64_t n = rd_clock_system_ns();
		uint64_t t1 = rd_clock_tsc();
		if (t1 - t0 < best) {
			best = t1 - t0;
			*tsc = t0 + (t1 - t0) / 2;
			*ns = n;
		}
	}
}

static uint64_t
mul_32_32(uint64_t ticks, uint64_t mult)
{
	return (uint64_t)((__extension__(unsigned __int128) ticks * mult) >> 32);
}

static uint64_t
ratio_32_32(uint64_t ns, uint64_t ticks)
{
	return (uint64_t)(((__extension__(unsigned __int128) ns) << 32) / ticks);
}

void
rd_clock_start_at(struct rd_clock *c, uint64_t tsc, uint64_t ns, uint64_t tsc_hz)
{
	BASE_ASSERT(tsc_hz > 0);
	uint64_t slope = ratio_32_32(BASE_S_NS, tsc_hz);
	uint64_t step =
		(uint64_t)((__extension__(unsigned __int128) tsc_hz * RESYNC_NS) / BASE_S_NS);
	*c = (struct rd_clock){
		.base_tsc = tsc,
		.base_ns = ns,
		.mult = slope,
		.slope = slope,
		.resync_step = step ? step : 1,
		.resync_tsc = tsc + step,
		.last_ns = ns,
		.true_ns = ns,
		.true_tsc = tsc,
		.use_tsc = true,
	};
}

void
rd_clock_init(struct rd_clock *c)
{
	uint64_t t0, n0, t1, n1;
	read_pair(&t0, &n0);
	do {
		read_pair(&t1, &n1);
	} while (n1 - n0 < CALIBRATE_NS);
	uint64_t hz = t1 - t0 == 0
			      ? BASE_S_NS
			      : (uint64_t)((__extension__(unsigned __int128)(t1 - t0) * BASE_S_NS) /
					   (n1 - n0));
	rd_clock_start_at(c, t1, n1, hz);
	if (!tsc_invariant()) {
		c->use_tsc = false;
		c->resync_step = 0;
		c->resync_tsc = t1;
	}
}

/* A clock that was set or a VM that stood still gives an absurd ratio: not taken. */
static void
learn_slope(struct rd_clock *c, uint64_t tsc, uint64_t ns)
{
	if (ns <= c->true_ns || tsc <= c->true_tsc || ns - c->true_ns < SLOPE_AGE_NS)
		return;
	uint64_t s = ratio_32_32(ns - c->true_ns, tsc - c->true_tsc);
	if (s > c->slope - c->slope / 8 && s < c->slope + c->slope / 8)
		c->slope = s;
	if (ns - c->true_ns >= ANCHOR_AGE_NS) {
		c->true_ns = ns;
		c->true_tsc = tsc;
	}
}

void
rd_clock_resync_at(struct rd_clock *c, uint64_t tsc, uint64_t ns)
{
	c->resyncs++;
	if (!c->use_tsc) {
		c->base_tsc = c->resync_tsc = tsc;
		c->base_ns = ns;
		c->mult = 0;
		return;
	}
	/* What was shown until now: the bent slope for one step, the measured one
	 * for whatever came after it (the loop slept). */
	uint64_t d = tsc - c->base_tsc;
	if ((int64_t)d < 0)
		d = 0;
	uint64_t bent = d < c->resync_step ? d : c->resync_step;
	uint64_t shown = c->base_ns + mul_32_32(bent, c->mult) + mul_32_32(d - bent, c->slope);
	if (shown < c->last_ns)
		shown = c->last_ns;

	learn_slope(c, tsc, ns);
	uint64_t step_ns = mul_32_32(c->resync_step, c->slope);
	if (ns >= shown + JUMP_NS || shown >= ns + JUMP_NS) {
		c->jumps++;
		c->true_ns = ns;
		c->true_tsc = tsc;
	}
	if (ns >= shown + JUMP_NS) {
		shown = ns;
		c->mult = c->slope;
	} else if (ns >= shown) {
		uint64_t m = ratio_32_32(step_ns + (ns - shown), c->resync_step);
		c->mult = m < 2 * c->slope ? m : 2 * c->slope;
	} else {
		uint64_t ahead = shown - ns < step_ns / 2 ? shown - ns : step_ns / 2;
		c->mult = ratio_32_32(step_ns - ahead, c->resync_step);
	}
	c->base_tsc = tsc;
	c->base_ns = shown;
	c->resync_tsc = tsc + c->resync_step;
}

void
rd_clock_resync(struct rd_clock *c, uint64_t tsc)
{
	uint64_t ns;
	if (c->use_tsc)
		read_pair(&tsc, &ns);
	else
		ns = rd_clock_system_ns();
	rd_clock_resync_at(c, tsc, ns);
}
