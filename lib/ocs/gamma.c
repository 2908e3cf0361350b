/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocs/gamma.h"

#include <string.h>

static uint32_t
size_of(uint32_t batch)
{
	uint32_t i = 0;
	while (i + 1 < OCS_GAMMA_SIZES && (1u << i) < batch)
		i++;
	return i;
}

void
ocs_gamma_init(struct ocs_gamma *g, uint64_t guess_ns)
{
	memset(g, 0, sizeof *g);
	g->guess_ns = guess_ns;
}

void
ocs_gamma_add(struct ocs_gamma *g, uint32_t batch, uint64_t took_ns)
{
	uint32_t i = size_of(batch);
	g->of[i].last_ns[g->of[i].count % OCS_GAMMA_KEEP] = took_ns;
	if (!g->of[i].count++)
		g->of[i].mean_ns = took_ns;
	else
		g->of[i].mean_ns = g->of[i].mean_ns - g->of[i].mean_ns / 8 + took_ns / 8;
}

/* The size to answer for this one, or OCS_GAMMA_SIZES. */
static uint32_t
known(const struct ocs_gamma *g, uint32_t batch)
{
	uint32_t want = size_of(batch), i = want;
	while (i < OCS_GAMMA_SIZES && !g->of[i].count)
		i--; /* wraps beyond all sizes */
	for (; i >= OCS_GAMMA_SIZES && want < OCS_GAMMA_SIZES; want++)
		if (g->of[want].count)
			return want;
	return i;
}

uint64_t
ocs_gamma_mean_ns(const struct ocs_gamma *g, uint32_t batch)
{
	uint32_t i = known(g, batch);
	return i < OCS_GAMMA_SIZES ? g->of[i].mean_ns : g->guess_ns;
}

uint64_t
ocs_gamma_p99_ns(const struct ocs_gamma *g, uint32_t batch)
{
	uint32_t i = known(g, batch);
	if (i >= OCS_GAMMA_SIZES)
		return g->guess_ns;
	uint64_t n = g->of[i].count < OCS_GAMMA_KEEP ? g->of[i].count : OCS_GAMMA_KEEP;
	/* the largest, without one for every hundred */
	uint64_t top = 0, below = 0;
	for (uint64_t k = 0; k < n; k++) {
		uint64_t v = g->of[i].last_ns[k];
		if (v > top) {
			below = top;
			top = v;
		} else if (v > below) {
			below = v;
		}
	}
	return n > 100 ? below : top;
}
