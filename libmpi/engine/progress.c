/* SPDX-License-Identifier: BSD-2-Clause */
/* The loop: turns, waiting, done callbacks, and how a job fails. */
#include "internal.h"
#include "light.h"
#include "spin.h"

#include "lock.h"
#include "transports.h"
#include "waiters.h"

#include "base/clock.h"
#include "driver/suci_udp.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define eng lmpi_eng

#define SLEEP_MAX_NS  (200 * BASE_MS_NS) /* look at relays that often while waiting */
#define SHARED_MAX_NS BASE_MS_NS	 /* another thread's news do not wake us */
#define CLOCK_TURNS   8			 /* between two looks at the clock, if turns are short */
#define PUSH_NS	      BASE_MS_NS /* round trips within a cluster, and a slice of a busy core */
#define PUSH_LAST_NS  (20 * BASE_MS_NS) /* where this rank may die next */

static struct lmpi_spin spin = LMPI_SPIN_INIT;

static struct {
	_Atomic int state; /* 0 fine, 1 being written, 2 text is there */
	int code;	   /* the job's status */
	char text[512];
} failure;

/* --- failing ------------------------------------------------------------- */

static bool __attribute__((format(printf, 2, 0))) fail_text(int code, const char *fmt, va_list ap)
{
	int fine = 0;
	if (!atomic_compare_exchange_strong(&failure.state, &fine, 1))
		return false;
	failure.code = code;
	vsnprintf(failure.text, sizeof failure.text, fmt, ap);
	atomic_store(&failure.state, 2);
	return true;
}

void
lmpi_fail(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fail_text(1, fmt, ap);
	va_end(ap);
}

void
lmpi_fail_as(int code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fail_text(code, fmt, ap);
	va_end(ap);
}

bool
lmpi_failing(void)
{
	return atomic_load_explicit(&failure.state, memory_order_acquire) == 2;
}

void
lmpi_fail_forget(void)
{
	atomic_store(&failure.state, 0);
}

void
lmpi_check_fail(void)
{
	if (lmpi_failing())
		lmpi_engine_abort(failure.code, failure.text);
}

void
lmpi_fail_async(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	bool first = fail_text(1, fmt, ap);
	va_end(ap);
	if (!first)
		return;
	lmpi_tp_wake();
	/* A program that computes does not come by: end it from here. */
	struct timespec ts = {.tv_sec = 1};
	nanosleep(&ts, NULL);
	lmpi_engine_abort(failure.code, failure.text);
}

/* --- turns and waiting --------------------------------------------------- */

static bool
is_time_to_look(void)
{
	return lmpi_loop.look_ns != 0 && eng.now_ns >= lmpi_loop.look_ns;
}

bool
lmpi_progress(void)
{
	if (!lmpi_loop.up)
		return false;
	/* In shared memory news are looked for much faster than the clock is read. */
	if (lmpi_stats.progress_turns++ % CLOCK_TURNS == 0 || !lmpi_tp_near())
		eng.now_ns = suci_udp_now_ns();
	bool moved = lmpi_tp_poll();
	if (eng.pending)
		moved |= lmpi_pump(&eng);
	lmpi_tp_kick();
	if (eng.done_first) {
		moved = true;
		lmpi_run_done(&eng);
	}
	if (lmpi_light != NULL && light_client_busy(lmpi_light))
		moved |= lmpi_light_turn();
	if (moved)
		lmpi_loop.idle_since_ns = BASE_NEVER_NS;
	else if (lmpi_loop.idle_since_ns == BASE_NEVER_NS)
		lmpi_loop.idle_since_ns = eng.now_ns;
	if (eng.over && !moved && eng.now_ns - lmpi_loop.idle_since_ns >= lmpi_loop.over_ns)
		lmpi_take_more(&eng);
	if (lmpi_failing())
		lmpi_check_fail();
	if (atomic_load_explicit(&lmpi_loop.news, memory_order_relaxed) ||
	    __builtin_expect(is_time_to_look(), 0)) {
		lmpi_loop.take_news();
		moved = true;
	}
	if (moved)
		lmpi_waiters_tell();
	return moved;
}

bool
lmpi_survives(void)
{
	return eng.tolerant != NULL;
}

void
lmpi_set_spin(uint32_t ranks_here)
{
	cpu_set_t set;
	int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;

	/* Ranks that are bound have few each, and together as many as they need. */
	if (ranks_here > (uint32_t)cores && lmpi_tp_near())
		cores = lmpi_tp_cores();
	if (ranks_here > (uint32_t)cores)
		lmpi_spin_crowd(&spin);
	lmpi_spin_to(lmpi_knob_number_or(LMPI_KNOB_SPIN, spin.max_ns / 1000));
}

bool
lmpi_crowded(void)
{
	return lmpi_spin_crowded(&spin);
}

uint64_t
lmpi_spin_us(void)
{
	return spin.max_ns / 1000;
}

void
lmpi_spin_to(uint64_t us)
{
	lmpi_spin_limit(&spin, us * 1000);
}

/* Give the core away, without the lock, and learn of it. */
static void
yield(void)
{
	unsigned depth = lmpi_lock_drop();
	uint64_t before = suci_udp_now_ns();

	sched_yield();
	uint64_t now = suci_udp_now_ns();
	lmpi_lock_retake(depth);
	eng.now_ns = base_max_ns(eng.now_ns, now);
	lmpi_spin_yielded(&spin, before, now);
}

bool
lmpi_poke(void)
{
	if (lmpi_progress())
		return true;
	if (lmpi_loop.up && lmpi_spin_yields(&spin, lmpi_loop.idle_since_ns, eng.now_ns))
		yield();
	return false;
}

/* As lmpi_wait_until(); w, if there is one, is among the waiters, and rests while another leads. */
static bool
wait_among(struct lmpi_waiter *w, bool (*ready)(void *arg), void *arg, uint64_t deadline_ns)
{
	uint64_t since = 0, idle_since = 0;
	bool slept = false, in_time = true;

	if (ready(arg))
		return true;
	for (;;) {
		if (w != NULL && !lmpi_waiter_leads(w)) {
			lmpi_waiter_rest(w, spin.budget_ns);
			idle_since = eng.now_ns = suci_udp_now_ns();
			if (ready(arg))
				break;
			continue;
		}
		bool moved = lmpi_progress();
		uint64_t now = eng.now_ns;
		if (ready(arg))
			break;
		if (since == 0) /* that of the turn may be of an earlier call */
			since = idle_since = eng.now_ns = now = suci_udp_now_ns();
		if (now >= deadline_ns) {
			in_time = false;
			break;
		}
		if (moved) {
			idle_since = now;
			continue;
		}
		if (now - idle_since < spin.budget_ns) {
			if (lmpi_spin_yields(&spin, idle_since, now)) {
				yield();
			} else {
				unsigned depth = lmpi_lock_drop();
				__builtin_ia32_pause();
				lmpi_lock_retake(depth);
			}
			continue;
		}
		uint64_t until = now + (lmpi_lock_shared ? SHARED_MAX_NS : SLEEP_MAX_NS);
		if (lmpi_light != NULL)
			until = base_min_ns(until, lmpi_light_expiry_ns());
		if (lmpi_loop.look_ns != 0)
			until = base_min_ns(until, lmpi_loop.look_ns);
		lmpi_tp_watch(since, now);
		if (eng.over)
			lmpi_take_more(&eng);
		lmpi_stats.sleeps++;
		slept = true;
		lmpi_tp_sleep(base_min_ns(deadline_ns, until));
		if (lmpi_lock_shared)
			lmpi_tp_watch_relays(since, now);
		eng.now_ns = idle_since = suci_udp_now_ns();
	}
	lmpi_recv_waited();
	lmpi_spin_waited(&spin, slept, slept ? suci_udp_now_ns() - since : 0);
	lmpi_tp_flush();
	return in_time;
}

/* Wait until ready(arg); false if deadline_ns came first. */
bool
lmpi_wait_until(bool (*ready)(void *arg), void *arg, uint64_t deadline_ns)
{
	return wait_among(NULL, ready, arg, deadline_ns);
}

void
lmpi_wait_for(bool (*ready)(void *arg), void *arg)
{
	(void)wait_among(NULL, ready, arg, BASE_NEVER_NS);
}

void
lmpi_wait_done(bool (*done)(void *arg), void *arg)
{
	struct lmpi_waiter w = {.ready = done, .arg = arg};

	if (done(arg) || !lmpi_lock_shared) {
		(void)wait_among(NULL, done, arg, BASE_NEVER_NS);
		return;
	}
	lmpi_waiter_push(&w);
	(void)wait_among(&w, done, arg, BASE_NEVER_NS);
	lmpi_waiter_pop(&w);
}

static bool
flag_set(void *arg)
{
	return *(const volatile bool *)arg;
}

void
lmpi_wait(const volatile bool *flag)
{
	lmpi_wait_done(flag_set, (void *)(uintptr_t)flag);
}

void
lmpi_push(void)
{
	static uint64_t in_vain; /* a receiver that is not in the library: not waited for twice */
	uint64_t since = lmpi_tp_short_since_ns();

	if (since == 0 || since == in_vain)
		return;
	uint64_t end = suci_udp_now_ns() + (lmpi_survives() ? PUSH_LAST_NS : PUSH_NS);
	do
		lmpi_poke();
	while ((since = lmpi_tp_short_since_ns()) != 0 && suci_udp_now_ns() < end);
	in_vain = since;
}

double
lmpi_wtime(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

double
lmpi_wtick(void)
{
	struct timespec ts;
	clock_getres(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}
