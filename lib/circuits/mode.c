/* SPDX-License-Identifier: BSD-2-Clause */
#include "circ/mode.h"

#include <stdbool.h>
#include <string.h>

const char *
circ_mode_name(uint32_t mode)
{
	static const char *const names[] = {
#define X(n, v, t) t,
		CIRC_MODES(X)
#undef X
	};
	return mode < CIRC_MODE_COUNT ? names[mode] : NULL;
}

enum circ_mode
circ_mode_of(const char *name)
{
	uint32_t m = 0;
	while (m < CIRC_MODE_COUNT && strcmp(circ_mode_name(m), name) != 0)
		m++;
	return (enum circ_mode)m;
}

bool
circ_mode_batches(enum circ_mode m)
{
	return m == CIRC_MODE_NAIVE || m == CIRC_MODE_BATCHED;
}

bool
circ_mode_keeps(enum circ_mode m)
{
	return !circ_mode_batches(m) && m != CIRC_MODE_PIPELINED;
}
