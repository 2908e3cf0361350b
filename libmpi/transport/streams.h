/* SPDX-License-Identifier: BSD-2-Clause */
/* streams.h - data of long messages over TCP, between nodes of one client (mpi/stream.h).
 *
 *     net.c	offers each DATA packet that goes to another node of this client
 *     streams.c	takes it if it is long enough (lmpi_stream()) and there is a connection to
 *		that process; else it goes over Suci, and a connection is begun
 *
 * Each process listens at the address of its Suci socket, and says the port in its contact; 0: it
 * takes none.  One connection leads to a process, whoever begins it, and carries both ways.
 *
 * Limits   LIBMPI_STREAMS_MAX connections; to more processes data goes over Suci.  WAITING more
 *	    that have not said who they are, HELLO_NS at most, in a lobby (base/lobby.h).
 * Polling  every turn while a message is on its way in or out; else when the process sleeps and
 *	    every QUIET_NS, for who begins a connection.
 * Errors   a connection that is not made is not tried again.  One that breaks while data is on it,
 *	    or may be, takes the process with it: the data cannot be told again.  It is lost, or the
 *	    job ends, BROKEN_NS later, if nobody has said more about it until then.
 * Threads  the lock is held. */
#ifndef LMPI_STREAMS_H
#define LMPI_STREAMS_H

#include "mpi/engine.h"

#include "suci/addr.h"

struct lmpi_stream_counts {
	uint64_t opened, refused, broken;
	uint64_t bytes_sent, bytes_received; /* headers, too */
};
extern struct lmpi_stream_counts lmpi_stream_counts;

/* Listen there; the port, or 0: no process of another node sends anything like this. */
uint16_t lmpi_streams_open(const struct suci_addr *at);
/* false: it goes over Suci. */
bool lmpi_streams_send(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out);
bool lmpi_streams_poll(uint64_t now_ns);
/* Readable when there is news; -1. */
int lmpi_streams_fd(void);
void lmpi_streams_hear(void); /* it is: the next turn looks */
uint64_t lmpi_streams_expiry_ns(void);
bool lmpi_streams_drained(void);
/* Nothing goes to that process or comes from it any more. */
void lmpi_streams_shun(uint32_t world);
void lmpi_streams_print_stats(void);
void lmpi_streams_close(void);

#endif
