/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/coll/meet.h - a barrier that ends whoever dies.
 *
 * Threads  the lock is held. */
#ifndef LMPI_MEET_H
#define LMPI_MEET_H

#include <stdint.h>

struct lmpi_comm;

/* Processes of both groups in the order of lmpi_proc_order(), malloc'd; NULL: no memory. */
uint32_t *lmpi_comm_members(const struct lmpi_comm *c, uint32_t *n);

/* All members that live have come, those of both groups.  A barrier in a job that does not survive
 * deaths, an agreement elsewhere and between jobs.  LMPI_ERR_PROC_FAILED, for all: one has
 * failed. */
int lmpi_comm_meet(struct lmpi_comm *c);
/* The same by agreement, in every job. */
int lmpi_comm_meet_living(struct lmpi_comm *c);

#endif
