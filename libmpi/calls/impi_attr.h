/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/calls/impi_attr.h - the attributes IMPI adds to communicators (reference 6.1).
 *
 *	IMPI_CLIENT_SIZE	clients (MPI implementations, clusters) in the communicator
 *	IMPI_CLIENT_COLOR	0 .. size-1, the same at all processes of one client
 *	IMPI_HOST_SIZE		hosts in the communicator
 *	IMPI_HOST_COLOR		0 .. size-1, the same at all processes of one host
 *
 * On every intra-communicator, relative to it: colours count the clients (hosts) that
 * have members in it, by ascending number, so that on MPI_COMM_WORLD IMPI_CLIENT_COLOR is
 * the client's number.  The colours are meant for MPI_Comm_split.  Values are pointers
 * to int; they cannot be set or deleted.  In a job without IMPI sizes are 1, colours 0.
 * Inter-communicators do not have them.
 *
 * Host: an agent that carries the traffic of processes.  libmpi's processes have one for
 * their whole client; the relays in between are not theirs and not counted, because the
 * clusters of a job see different ones.  A foreign client's hosts are told apart where
 * we speak to them directly over TCP, and count as one behind a relay.
 *
 * The key numbers (libmpi/abi/extensions.csv) are this library's: 901 to 904, which the
 * ABI leaves free and user keys (1000 and up) do not reach.
 *
 * Threads  the lock is held. */
#ifndef LMPI_IMPI_ATTR_H
#define LMPI_IMPI_ATTR_H

#include <stdbool.h>

#include "comm.h"

static inline bool
lmpi_is_impi_attr(int keyval)
{
	return keyval >= IMPI_CLIENT_SIZE && keyval <= IMPI_HOST_COLOR;
}

/* *value is NULL if the communicator does not have it, or it is another key; else it
 * lives as long as the communicator. */
int lmpi_impi_attr(struct lmpi_comm *comm, int keyval, int **value);

#endif
