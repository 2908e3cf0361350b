/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine's turn, by its thread or by whoever waits; sleeping, and waking each other. */
#include "mmp_internal.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FLUSH_NS (5 * BASE_S_NS)
#define YIELD_NS BASE_US_NS
/* What waits for a peer that does not read its ring, or for room here, is tried again so soon. */
#define BLOCKED_NS BASE_MS_NS

bool
mmp_turn(struct mmp *m)
{
	return mmp_net_turn(m);
}

/* ---- sleeping ----
 *
 * Who is about to sleep says so with an exchange and looks again; who has pushed something looks
 * with an operation that writes, too.  Of two such on one word one is first: either the sleeper
 * sees what was pushed, or the other sees that it sleeps. */

static struct timespec *
until(uint64_t at_ns, struct timespec *t)
{
	if (at_ns == BASE_NEVER_NS)
		return NULL;
	uint64_t now = suci_udp_now_ns(), left = at_ns > now ? at_ns - now : 0;
	t->tv_sec = (time_t)(left / BASE_S_NS);
	t->tv_nsec = (long)(left % BASE_S_NS);
	return t;
}

/* Nothing has come, or been asked for, since the turn, and nothing is left that a turn could do. */
static bool
quiet(const struct mmp *m)
{
	if (!mmp_engine_waits(m->engine))
		return false;
	for (uint32_t k = 0; k < m->nears; k++) {
		const struct mmp_peer *p = &m->peer[m->near_rank[k]];
		if (p->near && !p->over && !mmp_pair_is_empty(&p->near->pair))
			return false;
	}
	return true;
}

void
mmp_engine_sleep(struct mmp *m, uint64_t until_ns)
{
	struct pollfd p[2] = {{.fd = suci_udp_fd(m->udp), .events = suci_udp_events(m->udp)},
			      {.fd = m->share.bell[0], .events = POLLIN}};
	struct timespec t;
	char drop[64];
	(void)atomic_exchange(&m->share.page->asleep, 1);
	bool sleeps = quiet(m);
	if (!sleeps && !mmp_turn(m)) {
		sleeps = true;
		until_ns = base_min_ns(until_ns, m->now_ns + BLOCKED_NS);
	}
	if (sleeps)
		(void)ppoll(p, 2,
			    until(base_min_ns(base_min_ns(until_ns, suci_expiry_ns(m->ep)),
					      mmp_sites_expiry_ns(m)),
				  &t),
			    NULL);
	atomic_store(&m->share.page->asleep, 0);
	m->udp_at_ns = 0;
	while (read(m->share.bell[0], drop, sizeof drop) > 0)
		;
}

static void
wake_engine(struct mmp *m)
{
	if (atomic_fetch_or(&m->share.page->asleep, 0) &&
	    atomic_exchange(&m->share.page->asleep, 0) && write(m->share.bell[1], "", 1) < 0)
		return; /* full: it is awake soon */
}

static void
wake_program(struct mmp *m)
{
	if (atomic_fetch_or(&m->program_sleeps, 0) && atomic_exchange(&m->program_sleeps, 0))
		syscall(SYS_futex, &m->program_sleeps, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void
sleep_program(struct mmp *m)
{
	(void)atomic_exchange(&m->program_sleeps, 1);
	if (mmp_port_quiet(m->port) && atomic_load(&m->deaths) == m->deaths_seen)
		syscall(SYS_futex, &m->program_sleeps, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
	atomic_store(&m->program_sleeps, 0);
}

/* ---- the thread ---- */

static void *
run_engine(void *arg)
{
	struct mmp *m = arg;
	uint64_t idle_since = 0, flush_until = 0;
	for (;;) {
		bool moved = mmp_turn(m);
		if (moved)
			wake_program(m);
		if (atomic_load_explicit(&m->leave, memory_order_acquire)) {
			flush_until = flush_until ? flush_until : m->now_ns + FLUSH_NS;
			if ((!mmp_engine_unsent(m->engine) && mmp_engine_waits(m->engine)) ||
			    m->now_ns >= flush_until)
				break;
		}
		if (moved || !idle_since) {
			idle_since = m->now_ns;
			continue;
		}
		if (m->now_ns - idle_since < m->env.spin_ns) {
			if (m->now_ns - idle_since > YIELD_NS)
				sched_yield();
			continue;
		}
		mmp_engine_sleep(m, flush_until ? flush_until : BASE_NEVER_NS);
		idle_since = 0;
	}
	return NULL;
}

int
mmp_thread_start(struct mmp *m)
{
	sigset_t all, old;
	/* Signals are the program's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int err = pthread_create(&m->thread, NULL, run_engine, m);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return mmp_fail(err, "no thread for the engine: %s", strerror(err));
	m->thread_runs = true;
	return 0;
}

/* Without a thread: the same flush here. */
void
mmp_thread_stop(struct mmp *m)
{
	atomic_store_explicit(&m->leave, 1, memory_order_release);
	if (!m->thread_runs) {
		run_engine(m);
		return;
	}
	wake_engine(m);
	pthread_join(m->thread, NULL);
	m->thread_runs = false;
}

/* ---- the program ---- */

static void
hear_deaths(struct mmp *m)
{
	uint32_t deaths = atomic_load_explicit(&m->deaths, memory_order_acquire);
	if (deaths == m->deaths_seen)
		return;
	m->deaths_seen = deaths;
	for (uint32_t i = 0; i < m->job.size; i++) {
		int gone = atomic_load_explicit(&m->peer[i].gone, memory_order_acquire);
		if (gone)
			mmp_port_down(m->port, i, gone);
	}
}

bool
mmp_progress(struct mmp *m)
{
	bool moved = mmp_port_turn(m->port);
	if (!m->thread_runs) {
		(void)mmp_port_rang(m->port);
		moved |= mmp_turn(m);
		moved |= mmp_port_turn(m->port);
	} else if (mmp_port_rang(m->port)) {
		wake_engine(m);
	}
	hear_deaths(m);
	return moved;
}

void
mmp_wait_step(struct mmp *m, uint64_t *idle_since)
{
	bool moved = mmp_progress(m);
	uint64_t now = m->thread_runs ? suci_udp_now_ns() : m->now_ns;
	if (moved || !*idle_since) {
		*idle_since = now;
		return;
	}
	if (now - *idle_since < m->env.spin_ns) {
		/* Processes that share a CPU get on with it; what comes from another CPU comes
		 * sooner than that, and a yield with nobody to yield to takes less. */
		if (now - *idle_since > YIELD_NS)
			sched_yield();
		return;
	}
	if (m->thread_runs)
		sleep_program(m);
	else
		mmp_engine_sleep(m, BASE_NEVER_NS);
	*idle_since = 0;
}
