/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/engine/epoch.h - a process of a cluster that goes on: started by mpispd (sp/client.h).
 *
 * Who plays which rank is the daemons' matter.  Each time a rank goes to another process there is
 * a new epoch.  This process hears of it at once, in a thread of its own:
 *
 *	lmpi_sp_over()	  true from then on; all that waits for others ends with an error, which
 *			  the surface turns into MPISP_ERR_AGAIN (lmpi_sp_code())
 *	lmpi_sp_rejoin()  leaves the old epoch and joins the newest: all transports are closed and
 *			  opened anew, so no message of an old epoch can arrive in a newer one.
 *			  It returns when all ranks have done so.
 *
 * Ranks and the size stay; where the configuration says shrink, and no spare is left, the others
 * are the world, in their order.  Communicators but MPI_COMM_WORLD and MPI_COMM_SELF, windows and
 * files of an old epoch are void for good.
 *
 * Threads  the lock is held, but for lmpi_sp() and lmpi_sp_over(). */
#ifndef LMPI_EPOCH_H
#define LMPI_EPOCH_H

#include <stdbool.h>
#include <stdint.h>

enum lmpi_sp_in_flight { LMPI_SP_EPOCH, LMPI_SP_ULFM, LMPI_SP_DROP }; /* as enum sp_in_flight */

struct lmpi_sp_self {
	char cluster[64], unit[64];
	uint32_t compute; /* ranks of the cluster */
	uint32_t role;	  /* rank, or compute + number of an I/O process */
	uint32_t slot;
	uint32_t takeovers; /* how often this role was taken over */
	uint64_t epoch, view;
	enum lmpi_sp_in_flight in_flight;
	bool spare; /* this process was one before it got its role */
};

/* Has mpispd started this process?  From lmpi_engine_init() on. */
bool lmpi_sp(void);
/* Of the epoch that this process is in. */
const struct lmpi_sp_self *lmpi_sp_self(void);
/* There is a newer epoch. */
bool lmpi_sp_over(void);
/* What a failing call returns in place of code: LMPI_ERR_AGAIN if the epoch is over, or a process
 * of it is lost, which ends it soon; else code. */
int lmpi_sp_code(int code);
/* An error class.  All requests that waited for others are over. */
int lmpi_sp_rejoin(void);

#endif
