/* SPDX-License-Identifier: BSD-2-Clause */
/* lmpi/launch.h - what ranks and our own mpirun tell each other through PMIx.
 *
 * Events   status codes of PMIx_Notify_event(), range SESSION (the server keeps others to
 *	    itself).
 * Threads  constants only. */
#ifndef LMPI_LAUNCH_H
#define LMPI_LAUNCH_H

/* Namespaces of jobs of our mpirun begin with it. */
#define LMPI_LAUNCH_NSPACE "mpirun-"
/* From a rank: all ranks of its job have told each other where they are, in a job that survives
 * deaths; of a job that was spawned, it has also met who asked for it.  Both are below
 * PMIX_EXTERNAL_ERR_BASE. */
#define LMPI_LAUNCH_MET (-3701)
/* To the rank that asked for a job, about a process of that one: it ended before it had met who
 * asked for it, and nothing of the job is left.  PMIX_EVENT_TEXT_MESSAGE says how it ended. */
#define LMPI_LAUNCH_UNMET (-3702)

#endif
