/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver/poller.h"

#include "base/assert.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS	  20000
#define LOOKS_MAX 50000 /* a second: a thread that a debugger has stopped holds nobody for ever */

static struct rd_poller pollers[RD_POLLERS_MAX];
static _Atomic uint32_t npollers;
static _Thread_local struct rd_poller *mine;
_Atomic bool rd_poller_guards;

struct rd_poller *
rd_poller_new(void)
{
	if (mine)
		return mine;
	uint32_t i = atomic_fetch_add(&npollers, 1);
	BASE_ASSERT(i < RD_POLLERS_MAX);
	mine = &pollers[i];
	return mine;
}

static void
wait_for_pollers(void)
{
	const struct timespec look = {.tv_nsec = LOOK_NS};
	/* A full barrier on every processor that relayd runs on; TSan knows no fence. */
	uint32_t n = atomic_fetch_add(&npollers, 0);
	for (uint32_t i = 0; i < n; i++) {
		struct rd_poller *p = &pollers[i];
		uint64_t turn = atomic_load(&p->turn);
		for (int k = 0; p != mine && turn % 2 && k < LOOKS_MAX; k++) {
			if (atomic_load(&p->turn) != turn)
				break;
			(void)nanosleep(&look, NULL);
		}
	}
}

void
rd_poller_guard(void)
{
	atomic_store(&rd_poller_guards, true);
}

/* In front of libc's, also for the drivers: they are shared objects, and a program's own
 * definition comes first.  The interrupt thread has marked the port as not connected before. */
int
munmap(void *addr, size_t len)
{
	if (atomic_load(&rd_poller_guards))
		wait_for_pollers();
	return (int)syscall(SYS_munmap, addr, len);
}
