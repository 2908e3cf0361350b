/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/names.h - names of ports (MPI_Publish_name), between the jobs of one user on one machine.
 *
 * A name is a file in the folder of the user, "$XDG_RUNTIME_DIR/mpi-names" or, without that
 * variable, "/tmp/mpi-names-UID", which only the user may read.  The file's name is the name's,
 * with %XX for all but letters, digits and - _ ; its text is the process id of the keeper and the
 * port, a line each.  A name whose keeper is gone is no name, and is taken over by who wants it.
 *
 * Units    texts end with NUL.  Limits  NAMES_MAX bytes of a name, NAMES_PORT_MAX of a port.
 * Threads  any; each call opens, looks and closes.
 * Errors   enum names_result; why[NAMES_WHY] says what is wrong and what helps. */
#ifndef DRIVER_NAMES_H
#define DRIVER_NAMES_H

#include <stddef.h>
#include <sys/types.h>

#define NAMES_MAX      80u
#define NAMES_PORT_MAX 1024u
#define NAMES_WHY      200u

enum names_result {
	NAMES_OK,
	NAMES_TAKEN,   /* somebody has published it */
	NAMES_UNKNOWN, /* nobody has, or not this keeper */
	NAMES_BROKEN,  /* the name is too long, or the folder cannot be used */
};

enum names_result names_publish(const char *name, const char *port, pid_t keeper,
				char why[NAMES_WHY]);
enum names_result names_unpublish(const char *name, pid_t keeper, char why[NAMES_WHY]);
enum names_result names_lookup(const char *name, char port[NAMES_PORT_MAX], char why[NAMES_WHY]);
/* All names of that keeper go. */
void names_drop(pid_t keeper);

#endif
