/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/tool/tool.h - the tool information interface, MPI_T.
 *
 * Control variables are the engine's knobs, performance variables its gauges
 * (engine.h): every counter of the transports is there by name. No variable is bound
 * to an object, all are 64-bit unsigned, performance variables run all the time.
 * There are no events.
 *
 * Works before MPI_Init and after MPI_Finalize.  Errors are returned, no error handler
 * hears of them (MPI-4.1 15.3.10).
 *
 * Threads  the lock is held. */
#ifndef LMPI_TOOL_H
#define LMPI_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "engine.h"
#include "mpi.h"

/* Between MPI_T_init_thread and as many MPI_T_finalize. */
bool lmpi_tool_up(void);
/* text into a string of *len bytes; *len becomes what all of it needs (15.3.3). */
void lmpi_tool_text(const char *text, char *out, int *len);

/* Groups of variables by name: one for the control variables, one for each group of gauges. */

#endif
