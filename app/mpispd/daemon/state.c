/* SPDX-License-Identifier: BSD-2-Clause */
/* What this daemon is and knows: the files beside this one share it. */
#include "daemon.h"

#include "base/clock.h"

#include <time.h>

struct spd spd;

uint64_t
spd_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * BASE_S_NS + (uint64_t)t.tv_nsec;
}

const struct sp_view *
spd_view(void)
{
	return spd.node ? sp_node_view(spd.node) : NULL;
}
