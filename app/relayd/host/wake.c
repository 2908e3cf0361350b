/* SPDX-License-Identifier: BSD-2-Clause */
#include "wake.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

int
rd_wake_init(struct rd_wake *w)
{
	atomic_init(&w->sleeps, 0);
	w->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return w->fd < 0 ? -errno : 0;
}

void
rd_wake_fini(struct rd_wake *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

void
rd_wake_up(struct rd_wake *w)
{
	/* Both sides exchange the flag, so one exchange comes first and the other sees what
	 * was written before it: if it is ours, the sleeper's look finds the push; if it is
	 * the sleeper's, we find that it sleeps. */
	if (!atomic_exchange_explicit(&w->sleeps, 0, memory_order_acq_rel))
		return;
	uint64_t one = 1;
	while (write(w->fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

void
rd_wake_sleep(struct rd_wake *w)
{
	(void)atomic_exchange_explicit(&w->sleeps, 1, memory_order_acq_rel);
}

void
rd_wake_awake(struct rd_wake *w)
{
	uint64_t n;
	atomic_store_explicit(&w->sleeps, 0, memory_order_relaxed);
	if (read(w->fd, &n, sizeof n) < 0 && errno != EAGAIN && errno != EINTR)
		return; /* an eventfd has no other errors */
}
