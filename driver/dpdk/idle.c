/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "driver/clock.h"
#include "driver/idle.h"

/* First guess of what a nanosleep adds; measured from then on. */
#define OVERSHOOT_START_NS 20000u
#define OVERSHOOT_MAX_NS   200000u

static const char *const names[] = {"busy", "pause", "sleep"};

int
rd_idle_parse(const char *name, enum rd_idle_mode *out)
{
	for (unsigned m = 0; m < sizeof names / sizeof names[0]; m++)
		if (strcmp(name, names[m]) == 0) {
			*out = (enum rd_idle_mode)m;
			return 0;
		}
	return -EINVAL;
}

const char *
rd_idle_name(enum rd_idle_mode m)
{
	return (unsigned)m < sizeof names / sizeof names[0] ? names[m] : "?";
}

void
rd_idle_init(struct rd_idle *i, enum rd_idle_mode mode, uint32_t sleep_max_ns)
{
	*i = (struct rd_idle){
		.mode = mode,
		.sleep_ns = RD_IDLE_SLEEP_MIN_NS,
		.sleep_max_ns = sleep_max_ns ? sleep_max_ns : RD_IDLE_SLEEP_MAX_NS,
		.overshoot_ns = OVERSHOOT_START_NS,
	};
	if (mode == RD_IDLE_SLEEP)
		(void)prctl(PR_SET_TIMERSLACK, 1ul, 0, 0, 0);
}

static void
cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* A long nap ends when there is work. */
static bool
hears(const struct rd_idle *i)
{
	return i->nap && i->sleep_max_ns > RD_IDLE_SLEEP_MAX_NS;
}

/* Look so long, then as long with pauses. */
static uint64_t
spin_ns(const struct rd_idle *i)
{
	return base_max_ns(i->overshoot_ns / RD_IDLE_SPIN_SHARE, RD_IDLE_SLEEP_MIN_NS);
}

uint32_t
rd_idle_decide(struct rd_idle *i, unsigned work, uint64_t now_ns, uint64_t next_ns)
{
	i->turns++;
	if (work) {
		i->empty = false;
		i->sleep_ns = i->sparse ? i->sleep_max_ns : RD_IDLE_SLEEP_MIN_NS;
		return 0;
	}
	if (!i->empty) {
		i->empty = true;
		i->empty_since_ns = now_ns;
	}
	if (i->mode != RD_IDLE_SLEEP || now_ns - i->empty_since_ns < 2 * spin_ns(i))
		return 0;
	uint64_t sleep = i->sleep_ns;
	if (next_ns != BASE_NEVER_NS) {
		uint64_t left = next_ns > now_ns ? next_ns - now_ns : 0;
		uint64_t until = left > i->overshoot_ns ? left - i->overshoot_ns : 0;
		until = base_max_ns(until, i->slack_ns);
		if (until < RD_IDLE_SLEEP_MIN_NS)
			return 0;
		sleep = base_min_ns(sleep, until);
	}
	sleep = base_max_ns(sleep, i->slack_ns);
	bool double_it = i->sleep_ns < i->sleep_max_ns / 2 && !(hears(i) && i->slack_ns);
	i->sleep_ns = double_it ? i->sleep_ns * 2 : i->sleep_max_ns;
	return (uint32_t)sleep;
}

void
rd_idle_slept(struct rd_idle *i, uint32_t sleep_ns, uint64_t slept_ns)
{
	i->sleeps++;
	i->slept_ns += slept_ns;
	if (hears(i) && sleep_ns > RD_IDLE_SLEEP_MAX_NS)
		i->sparse = slept_ns >= 2 * (uint64_t)i->slack_ns && i->slack_ns;
	if (slept_ns < sleep_ns)
		return; /* ended early */
	uint64_t over = slept_ns - sleep_ns;
	if (over > OVERSHOOT_MAX_NS)
		over = OVERSHOOT_MAX_NS;
	i->overshoot_ns += (uint32_t)over / 8;
	i->overshoot_ns -= i->overshoot_ns / 8;
}

void
rd_idle_turn(struct rd_idle *i, unsigned work, uint64_t now_ns, uint64_t next_ns)
{
	uint32_t sleep = rd_idle_decide(i, work, now_ns, next_ns);
	if (sleep == 0) {
		if (!work && (i->mode == RD_IDLE_PAUSE || now_ns - i->empty_since_ns > spin_ns(i)))
			cpu_relax();
		return;
	}
	uint64_t before = rd_clock_system_ns();
	struct timespec ts = {.tv_nsec = (long)sleep};
	if (i->nap)
		i->nap(i->user, sleep);
	else
		(void)nanosleep(&ts, NULL); /* a signal ends it early: the loop looks at its flag */
	rd_idle_slept(i, sleep, rd_clock_system_ns() - before);
}
