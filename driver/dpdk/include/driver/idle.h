/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/idle.h - what a poll loop does when a turn found nothing.
 *
 *   busy   spins: a dedicated core, lowest latency.
 *   pause  spins with the CPU's pause instruction: kinder to a hyper-thread.
 *   sleep  spins, then pauses, each for an eighth (RD_IDLE_SPIN_SHARE) of what a sleep
 *          is measured to overshoot, so that looking costs little beside the sleep it
 *          may save; then nanosleeps, doubling from 1 us to sleep_max_ns; any work
 *          starts over.  For machines where poll loops share cores.
 *
 * A sleep never goes beyond the next deadline the caller names, minus what a
 * sleep on this machine is measured to overshoot; nearer than that it spins, unless
 * the caller set slack_ns: then it sleeps that long, so that work arriving or due every
 * few microseconds is done in bursts instead of costing a wake-up each.
 *
 * Where work can end a nap (nap, sleep_max_ns above RD_IDLE_SLEEP_MAX_NS) one short nap of slack_ns
 * is enough: then nothing happens just now, and a long one begins.  If work comes so seldom that
 * the short one was in vain, the long one begins at once: one wake-up for each frame of a paced
 * flow.
 *
 *	for (;;) {
 *		uint64_t now = rd_clock_ns(&clk);
 *		unsigned work = one_turn(now);
 *		rd_idle_turn(&idle, work, now, next_deadline_ns);
 *	}
 *
 * Threads  one per loop, used by that thread only; rd_idle_init sets the calling
 *          thread's timer slack to 1 ns. */
#ifndef DRIVER_IDLE_H
#define DRIVER_IDLE_H

#include <stdbool.h>
#include <stdint.h>

enum rd_idle_mode { RD_IDLE_BUSY, RD_IDLE_PAUSE, RD_IDLE_SLEEP };

#define RD_IDLE_SPIN_SHARE   8
#define RD_IDLE_SLEEP_MIN_NS 1000u
#define RD_IDLE_SLEEP_MAX_NS 100000u

struct rd_idle {
	enum rd_idle_mode mode;
	bool empty;		 /* the last turn was without work, */
	uint64_t empty_since_ns; /* and all since then */
	uint32_t sleep_ns;	 /* next sleep */
	uint32_t sleep_max_ns;
	uint32_t overshoot_ns; /* smoothed: how much later than asked we wake */
	uint32_t slack_ns;     /* caller: deadlines may be missed by about this much */
	bool sparse;	       /* the last long nap was longer than two short ones */
	/* Caller: sleep so long (< 1 s), or until there is work of which the caller can be told;
	 * NULL: nanosleep. */
	void (*nap)(void *user, uint32_t ns);
	void *user;
	uint64_t turns, sleeps; /* counters */
	uint64_t slept_ns;	/* wall time asleep: busy share = 1 - slept/run time */
};

/* "busy", "pause", "sleep" -> *out; -EINVAL otherwise. */
int rd_idle_parse(const char *name, enum rd_idle_mode *out);
const char *rd_idle_name(enum rd_idle_mode m);

/* sleep_max_ns 0: RD_IDLE_SLEEP_MAX_NS.  Call it in the thread that will use it. */
void rd_idle_init(struct rd_idle *i, enum rd_idle_mode mode, uint32_t sleep_max_ns);

/* The decision alone: how long to sleep, 0 = poll again at once.  next_ns is the
 * next moment something is due (BASE_NEVER_NS: nothing). */
uint32_t rd_idle_decide(struct rd_idle *i, unsigned work, uint64_t now_ns, uint64_t next_ns);

/* Asked to sleep so long and did: what is learnt of it. */
void rd_idle_slept(struct rd_idle *i, uint32_t sleep_ns, uint64_t slept_ns);

/* Decide and do it. */
void rd_idle_turn(struct rd_idle *i, unsigned work, uint64_t now_ns, uint64_t next_ns);

#endif
