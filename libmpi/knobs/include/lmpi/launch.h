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
/* From a rank of a job that survives deaths: all ranks have told each other where they are.  It is
 * below PMIX_EXTERNAL_ERR_BASE. */
#define LMPI_LAUNCH_MET (-3701)

#endif
