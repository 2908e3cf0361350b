/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/epoch/join.h - start-up by mpispd, for ../start. */
#ifndef LMPI_JOIN_H
#define LMPI_JOIN_H

#include <stdbool.h>

/* Where mpispd has started this process: waits for a role, as long as it takes, and for an epoch
 * newer than the one that was left; from then on boot.h's functions speak with mpispd.  An error
 * class. */
int lmpi_epoch_join(void);
/* Starting failed with err: is there a newer epoch to be joined instead? */
bool lmpi_epoch_retry(int err);
/* The loop may be woken from now on, or not any more. */
void lmpi_epoch_inside(bool inside);

#endif
