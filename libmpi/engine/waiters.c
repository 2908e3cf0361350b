/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that wait at the same time: see waiters.h. */
#include "waiters.h"

#include "lock.h"

#include "base/clock.h"
#include "driver/suci_udp.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Who rests: looks at its word, has been told, sleeps until its word changes. */
enum { RESTS, TOLD, SLEEPS };

#define LEAD_NS	   (5 * BASE_US_NS)
#define NAP_NS	   (50 * BASE_US_NS)
#define NAP_MAX_NS BASE_MS_NS

struct lmpi_waiter *_Atomic lmpi_waiters_top;
static _Atomic uint64_t left_ns; /* when the last one that led went */

void
lmpi_waiter_push(struct lmpi_waiter *w)
{
	w->nap_ns = NAP_NS;
	w->below = lmpi_waiters_top;
	lmpi_waiters_top = w;
}

void
lmpi_waiter_pop(struct lmpi_waiter *w)
{
	if (lmpi_waiter_leads(w)) {
		lmpi_waiters_top = w->below;
		if (w->below)
			left_ns = suci_udp_now_ns();
		return;
	}
	struct lmpi_waiter *above = lmpi_waiters_top;
	while (above->below != w)
		above = above->below;
	above->below = w->below;
}

void
lmpi_waiters_tell_all(void)
{
	struct lmpi_waiter *top = lmpi_waiters_top;

	for (struct lmpi_waiter *w = top->below; w; w = w->below) {
		if (w->word == TOLD || !w->ready(w->arg))
			continue;
		if (atomic_exchange(&w->word, TOLD) == SLEEPS)
			(void)syscall(SYS_futex, &w->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

/* It leads, and whoever did has not come back. */
static bool
takes_lead(const struct lmpi_waiter *w, uint64_t now_ns)
{
	return lmpi_waiters_top == w && now_ns >= left_ns + LEAD_NS;
}

/* Until it is told, or leads, or has slept for so long; false: nobody has told it. */
static bool
sleep_told(struct lmpi_waiter *w)
{
	uint32_t as = RESTS;
	struct timespec nap = {.tv_nsec = (long)w->nap_ns};

	if (!atomic_compare_exchange_strong(&w->word, &as, SLEEPS))
		return true;
	(void)syscall(SYS_futex, &w->word, FUTEX_WAIT_PRIVATE, SLEEPS, &nap, NULL, 0);
	w->nap_ns = base_min_ns(2 * w->nap_ns, NAP_MAX_NS);
	as = SLEEPS;
	return !atomic_compare_exchange_strong(&w->word, &as, RESTS);
}

void
lmpi_waiter_rest(struct lmpi_waiter *w, uint64_t spin_ns)
{
	unsigned depth = lmpi_lock_drop();
	uint64_t since = suci_udp_now_ns(), now = since;

	while (w->word == RESTS && !takes_lead(w, now)) {
		if (w->spun_ns + (now - since) < spin_ns) {
			sched_yield();
			now = suci_udp_now_ns();
			continue;
		}
		w->spun_ns = spin_ns;
		if (sleep_told(w))
			break;
		now = suci_udp_now_ns();
	}
	if (w->spun_ns < spin_ns)
		w->spun_ns += now - since;
	lmpi_lock_enter(depth);
	w->word = RESTS; /* who tells holds the lock, and ready() is asked after this */
}
