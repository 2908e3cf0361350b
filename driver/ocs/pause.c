/* SPDX-License-Identifier: BSD-2-Clause */
/* pause.c - pauses between attempts to reach a switch; see driver/ocs_plugin.h. */
#include "driver/ocs_plugin.h"

#include "base/clock.h"

#define RETRY_NS     (100 * BASE_MS_NS)
#define RETRY_MAX_NS (10 * BASE_S_NS)

void
ocsdrv_pause_init(struct ocsdrv_pause *p, const struct ocs_driver_config *cfg)
{
	p->first_ns = cfg->retry_ns ? cfg->retry_ns : RETRY_NS;
	p->max_ns = cfg->retry_max_ns ? cfg->retry_max_ns : RETRY_MAX_NS;
	p->now_ns = 0;
	p->seed = (uintptr_t)p;
}

uint64_t
ocsdrv_pause_next_ns(struct ocsdrv_pause *p)
{
	uint64_t twice = base_add_ns(p->now_ns, p->now_ns);
	p->now_ns = twice < p->first_ns ? p->first_ns : base_min_ns(twice, p->max_ns);
	p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
	return p->now_ns - (p->seed >> 33) % (p->now_ns / 4 + 1);
}

void
ocsdrv_pause_reset(struct ocsdrv_pause *p)
{
	p->now_ns = 0;
}
