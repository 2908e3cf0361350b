/* SPDX-License-Identifier: BSD-2-Clause */
/* MPI_COMM_WORLD after a takeover: the same ranks, all of them there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "comm.h"
#include "engine.h"
#include "epoch.h"
#include "sp.h"

#include "mpi-ext.h"

_Static_assert(MPIX_ERR_AGAIN == LMPI_ERR_AGAIN, "one number for the engine and for programs");

/* The program calls MPIX_Comm_repair(), so it knows that epochs end. */
static bool repairs;

/* ---- what calls return ---- */

static int
code_of_epoch(const struct lmpi_call *call, int code)
{
	int of_epoch = lmpi_state == LMPI_RUNNING ? lmpi_sp_code(code) : code;

	(void)call;
	if (of_epoch != LMPI_ERR_AGAIN || code == LMPI_ERR_AGAIN)
		return of_epoch;
	return lmpi_error(of_epoch, "a rank of cluster %s went to another process",
			  lmpi_sp_self()->cluster);
}

/* in_flight drop: the program need not know.  What was under way is over, as if it had gone well.
 */
static int
go_on(void)
{
	int rc;

	lmpi_lock();
	rc = lmpi_sp_rejoin();
	if (rc == MPI_SUCCESS)
		rc = lmpi_comm_renew();
	lmpi_unlock();
	if (rc)
		lmpi_engine_abort(rc, "the new epoch could not be joined, see above");
	return MPI_SUCCESS;
}

/* A program that ignores the code would compute nonsense. */
static int
end_unless_known(const char *fn)
{
	static const char why[] =
		"a rank went to another process, and the program does not know of that: it is to "
		"heed MPIX_ERR_AGAIN and call MPIX_Comm_repair()";
	char text[400];

	if (lmpi_sp_self()->in_flight == LMPI_SP_DROP && !repairs)
		return go_on();
	if (repairs || lmpi_comm_world->errhandler != MPI_ERRORS_ARE_FATAL)
		return LMPI_ERR_AGAIN;
	snprintf(text, sizeof(text), "%s: %s", fn, why);
	lmpi_engine_abort(LMPI_ERR_AGAIN, text);
}

void
lmpi_sp_init(void)
{
	if (!lmpi_sp())
		return;
	lmpi_epoch_code = code_of_epoch;
	lmpi_epoch_ended = end_unless_known;
}

/* ---- repair ---- */

int
lmpi_sp_repair(MPI_Comm broken, MPI_Comm *same_size, int *i_am_new)
{
	static bool said;
	int rc = MPI_SUCCESS;

	repairs = true;
	if (broken != MPI_COMM_WORLD)
		return lmpi_error(MPI_ERR_COMM, "only MPI_COMM_WORLD is repaired; make other "
						"communicators of it anew");
	if (!lmpi_sp())
		return lmpi_error(MPI_ERR_UNSUPPORTED_OPERATION,
				  "this process was not started by mpispd");
	if (lmpi_sp_over() || lmpi_failures(&(const uint32_t *){NULL}) > 0)
		rc = lmpi_sp_rejoin();
	if (rc)
		return lmpi_error(rc, "the new epoch could not be joined, see above");
	/* Also if it is over before a new process could ask. */
	if (i_am_new != NULL)
		*i_am_new = lmpi_sp_self()->spare && !said;
	said = true;
	rc = lmpi_comm_renew();
	*same_size = MPI_COMM_WORLD;
	return rc;
}

LMPI_EXPORT int
PMPIX_Comm_repair(MPI_Comm broken, MPI_Comm *same_size, int *i_am_new)
{
	struct lmpi_call call;

	lmpi_enter(&call, "MPIX_Comm_repair", LMPI_ON_COMM, broken);
	if (!lmpi_running())
		return lmpi_leave(&call, lmpi_not_running());
	return lmpi_leave(&call, lmpi_sp_repair(broken, same_size, i_am_new));
}
LMPI_EXPORT int MPIX_Comm_repair(MPI_Comm broken, MPI_Comm *same_size, int *i_am_new)
	LMPI_ALIAS("PMPIX_Comm_repair");
