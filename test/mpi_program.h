/* SPDX-License-Identifier: BSD-2-Clause */
/* test/mpi_program.h - random programs on engines of lib/mpi, and what must come of them.
 *
 * Every process posts sends and receives in an order of its own: receives from any source or with
 * any tag, short buffers, synchronous sends, sends that are taken back, messages of the library
 * to itself.  When it has posted all, and has waited for a while, it takes its receives back and
 * looks for what has come by probing, until it has all that was sent to it.
 *
 * Checked  when something is done: what was received is one message that was sent to this process,
 *	    whole, for the first time, and fits the receive; nothing else was written; a
 *	    synchronous send is matched; a send's memory is not read any more (it is poisoned).
 *	    At the end: matching kept the order of MPI 4.1, 3.5; each message was received once,
 *	    or taken back and not received.
 * Trouble  Processes may die, and those that live may go over to a next epoch, each at a time of
 *	    its own.  Then also: nothing from a process is received after it was lost; operations
 *	    end with an error if, and only if, their process is lost or their epoch is over; what
 *	    living processes send each other in the last epoch is received; no message meets a
 *	    receive of another epoch; a receive from any source says when a loss was not
 *	    acknowledged.
 * Threads  one program at a time. */
#ifndef TEST_MPI_PROGRAM_H
#define TEST_MPI_PROGRAM_H

#include "mpi/engine.h"

#include "base/prng.h"

#define PROGRAM_PROCS 16

struct program_conf {
	uint64_t seed;
	uint32_t procs, messages;
	uint32_t len_max; /* bytes of a message: most are far below */
	uint32_t idle;	  /* steps without anything to post before it probes */
	bool revokes;	  /* an epoch ends by revoking its contexts one by one */
};

struct program;
/* engine: [procs], without anything sent. */
struct program *program_new(const struct program_conf *c, struct lmpi_engine *const *engine);
void program_free(struct program *p);
/* One act of that process; the engine's queues are then the driver's. */
void program_step(struct program *p, uint32_t rank);
/* That process does nothing any more. */
void program_kill(struct program *p, uint32_t rank);
/* rank learns that dead is lost; outside of transports. */
void program_lost(struct program *p, uint32_t rank, uint32_t dead);
/* rank goes over to the next epoch; outside of transports. */
void program_epoch(struct program *p, uint32_t rank);
/* Bits of processes that a transport of rank has found gone (struct lmpi_contexts). */
uint32_t program_gone(const struct program *p, uint32_t rank);
bool program_is_dead(const struct program *p, uint32_t rank);
/* Of all engines (struct lmpi_engine.tolerant), if there is to be trouble. */
extern const struct lmpi_contexts program_contexts;
/* All is posted, done and received. */
bool program_complete(const struct program *p);
/* The first thing that went wrong, or NULL.  at_end: also what only then can be seen. */
const char *program_broken(struct program *p, bool at_end);
/* What is not complete, for a failure's text. */
void program_rest(const struct program *p, char *text, size_t len);
uint32_t program_cancelled(const struct program *p);

#endif
