/* SPDX-License-Identifier: BSD-2-Clause */
/* settings.h - what of the configuration may be other while relayd runs: first from conf, then by
 * the control socket, or by a reload of a file in which it was changed.
 *
 * Threads  control. */
#ifndef RD_SETTINGS_H
#define RD_SETTINGS_H

#include <stdint.h>

struct rd_settings {
	uint32_t drain_ms, idle, policy;
	uint32_t weight;   /* of this relay, 0: it drains */
	const char *phase; /* control's word of what it is at */
};

#endif
