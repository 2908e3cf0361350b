/* SPDX-License-Identifier: BSD-2-Clause */
/* taps.h - the TAPs on which the kernel speaks TCP with our addresses: made and set up here.
 *
 * Frames go through them by tap.h, in the gateway's thread if there is one; else here.
 *
 * Threads  control. */
#ifndef RD_TAPS_H
#define RD_TAPS_H

#include "loop.h"
#include "tap.h"
#include "worker.h"

struct rd_kernel {
	const struct rd_conf *conf; /* both set before rd_kernel_open() */
	struct rd_loop *loop;
	struct rd_watch watch[RD_LEGS];
	struct rd_taps taps;
	char name[RD_LEGS][16]; /* of the devices */
};

/* Nothing is open. */
void rd_kernel_zero(struct rd_kernel *k);
/* With the legs' addresses as worker 0, first, has them.  0, or -1 and err; then close. */
int rd_kernel_open(struct rd_kernel *k, const struct rd_worker *first, char *err, size_t err_max);
void rd_kernel_close(struct rd_kernel *k);
/* Frames from worker 0 to the kernel, while no gateway does that. */
void rd_kernel_drain(struct rd_kernel *k);

#endif
