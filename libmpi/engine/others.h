/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/engine/others.h - processes of other jobs: what the engine does for libmpi/dyn.
 *
 * A job numbers its processes by their ranks in MPI_COMM_WORLD.  Those of other jobs get slots
 * behind them, in each process for itself: the table of processes grows (mpi/engine.h).  Who a
 * process is, is said by its card: the name of its job, its number there, where its socket is.
 *
 * A job of one cluster is called by its token.  Clusters have a token each and do not know those
 * of others, so a job of several agrees on a number when it begins (dyn/name.c).
 *
 *	lmpi_meet_ready()	once, in each process: there is a socket
 *	lmpi_card_mine()	this process's card; all cards go to the others somehow
 *	lmpi_others_adopt()	those cards become slots
 *	lmpi_others_met()	all on both sides have adopted: messages may go
 *
 * Two processes of different jobs have a path of their own, which says who they are, or a pair of
 * doors.  So neither needs to know its slot at the other, and threads may make the same processes
 * known at once, in another order at each end.
 *
 * A port is a TCP socket that listens; its name is a door's address (door/address.h) that says
 * where, with a token that proves the right to knock.  Over it two roots exchange cards.
 *
 * Where there is a relay (LIBMPI_RELAY, or those that connect the clusters of this job) each
 * process has a door there, and its card says the address.  A port has one too, and its name two
 * addresses with a comma between them.  Who has a door at another relay comes by the door, all
 * others come directly: so do processes afterwards.
 *
 * Threads  the lock is held.
 * Limits   LIBMPI_PROCESSES_MAX slots; paths to PATHS_MORE processes at a time (net_setup.c).
 * Errors   0 or an MPI error class; why[] says what is wrong and what helps. */
#ifndef LMPI_OTHERS_H
#define LMPI_OTHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meet/talk.h"

struct door_address;

#define LMPI_CARD_BYTES	  160u
#define LMPI_CARD_NUMBERS (1u << 20)
#define LMPI_WHY	  256u
#define LMPI_FOR_EVER	  (-1.0)

/* --- slots (start/others.c) */
int lmpi_meet_ready(char why[LMPI_WHY]);
void lmpi_card_mine(uint8_t card[LMPI_CARD_BYTES]);
/* n cards become world[n]: those that are known keep their slots, others get the next ones. */
int lmpi_others_adopt(const uint8_t *cards, uint32_t n, uint32_t *world, char why[LMPI_WHY]);
/* How are those reached, by UDP or through shared memory?  Who is connected already stays so. */
void lmpi_others_met(const uint32_t *world, uint32_t n);
/* --- names (start/procs.c) */
/* This job is called so by all its clusters; before any card is made. */
void lmpi_job_called(uint64_t name);
/* Does process a come before b in an order that all processes of all their jobs agree on? */
bool lmpi_proc_before(uint32_t a, uint32_t b);
/* The same of two uint32_t, for qsort() and bsearch(). */
int lmpi_proc_order(const void *a, const void *b);
/* Its number here; UINT32_MAX: it is not known. */
uint32_t lmpi_proc_find(uint64_t job, uint32_t number);

/* --- the rest (start/others.c) */
/* Who asks whether a communicator still has that process: its silence is then an error. */
void lmpi_others_watch(bool (*wanted)(uint32_t world));
/* All that was sent to anybody has arrived. */
void lmpi_drain(void);

/* --- doors (transport/doors.c, doors_talk.c): at a relay of this cluster */
#define LMPI_RELAY_NAME 128u
/* There is a relay that is to carry them. */
bool lmpi_doors_wanted(void);
/* "10.0.0.254:7812", ours, or two with a comma between them; "": there is none. */
void lmpi_doors_relay(char name[LMPI_RELAY_NAME]);
/* This process has a door, if any is wanted; waits for the relay. */
int lmpi_doors_ready(char why[LMPI_WHY]);
/* False: it has none. */
bool lmpi_doors_mine(struct door_address *a);
/* Is what has that door reached by it (meet/lines.h)?  Else its process is of this cluster, or one
 * side has no relay. */
bool lmpi_doors_lead(const struct door_address *to);
/* The process world is behind that door.  False: no memory. */
bool lmpi_doors_import(uint32_t world, const struct door_address *a);
/* One more, for a port. */
int lmpi_doors_open(uint32_t *door, struct door_address *a, char why[LMPI_WHY]);
void lmpi_doors_close(uint32_t door);
/* Somebody at that door who has said something: a conversation, or UINT32_MAX. */
uint32_t lmpi_doors_knock(uint32_t door);
bool lmpi_doors_knocks(uint32_t door);
int lmpi_doors_call(const struct door_address *to, uint64_t deadline_ns, uint32_t *talk,
		    char why[LMPI_WHY]);
/* Who was called is behind no such door, as was heard only when the first words were on their way.
 */
bool lmpi_doors_refused(uint32_t talk, char why[LMPI_WHY]);
/* Bytes that were taken, or that came; 0: none now, -1: the other end is gone. */
int64_t lmpi_doors_say(uint32_t talk, const void *data, size_t len);
int64_t lmpi_doors_hear(uint32_t talk, void *data, size_t len);
bool lmpi_doors_heard(uint32_t talk);
/* What was said still arrives. */
void lmpi_doors_hang_up(uint32_t talk);
/* So long at most nobody is reached before a conversation is over, or who met by it hears that the
 * other one is out of reach. */
uint64_t lmpi_doors_outage_ns(void);

/* --- ports (others/port.c) */
/* A conversation of two roots: over a socket, or over doors. */
struct lmpi_talk {
	int fd;		      /* -1: over doors */
	uint32_t door;	      /* UINT32_MAX: over a socket */
	double swap_s;	      /* that an exchange may take while the other one is in reach */
	struct meet_talk say; /* what is said, in which order, and how long that may take */
};
#define LMPI_NO_TALK ((struct lmpi_talk){.fd = -1, .door = UINT32_MAX})
int lmpi_port_open(char name[], size_t room, char why[LMPI_WHY]);
/* One of another process stays as it is, and that is no error: programs close what they have
 * connected to. */
int lmpi_port_close(const char *name, char why[LMPI_WHY]);
/* Who is to come there is at the other end of the socket fd: accepting ends when that has gone. */
void lmpi_port_await_socket(const char *name, int fd);
/* What two roots say first. */
struct lmpi_greeting {
	uint64_t size; /* of the group */
	uint64_t cid[2];
};
/* Somebody knocks there within so many seconds.  MPI_ERR_PORT: no such port of this process, or
 * nobody came.  Over doors the other root may be far away and is not waited for again: it may have
 * given up meanwhile, which the first swaps say (LMPI_TALK_GONE). */
int lmpi_port_accept(const char *name, double seconds, struct lmpi_talk *t,
		     const struct lmpi_greeting *mine, struct lmpi_greeting *theirs,
		     char why[LMPI_WHY]);
/* first: what this root swaps first.  Over doors it goes along with the greeting if it is short,
 * which saves a round trip: t->say.ahead. */
int lmpi_port_connect(const char *name, double seconds, struct lmpi_talk *t,
		      const struct lmpi_greeting *mine, const void *first, size_t first_len,
		      struct lmpi_greeting *theirs, char why[LMPI_WHY]);
/* Who was accepted had given up: as if nobody had come. */
#define LMPI_TALK_GONE (-1)
/* Both say something, and know how long it is.  phase: what is swapped, as "the greetings".  The
 * other side may not have come so far, or its processes may still be on their way to the call: it
 * has t->say.swap_ns for that.  MPI_ERR_OTHER: it went away, or took longer; why names it, and
 * phase. LMPI_TALK_GONE: it went away, and t->say.unsure. */
int lmpi_talk_swap(struct lmpi_talk *t, const char *phase, const void *mine, size_t len,
		   void *theirs, size_t their_len, char why[LMPI_WHY]);
/* What came of it at either side, last of all; 0: all went well (meet/talk.h says who waits for
 * whom).  As lmpi_talk_swap(). */
int lmpi_talk_decide(struct lmpi_talk *t, const char *phase, uint64_t mine, uint64_t *theirs,
		     char why[LMPI_WHY]);
/* Does nothing for LMPI_NO_TALK. */
void lmpi_talk_end(struct lmpi_talk *t);
/* A socket that nobody here watches is looked at again a little later; the loop goes on meanwhile.
 */
void lmpi_look_again(void);

/* --- the launcher (others/spawn.c) */
/* Names of ports: the launcher keeps them, or the folder of driver/names.h.  MPI_ERR_SERVICE: it is
 * taken, or not this job's; MPI_ERR_NAME: nobody has published it. */
int lmpi_name_publish(const char *service, const char *port, char why[LMPI_WHY]);
int lmpi_name_unpublish(const char *service, char why[LMPI_WHY]);
int lmpi_name_lookup(const char *service, char *port, size_t room, char why[LMPI_WHY]);
struct lmpi_program {
	const char *command;
	char **argv; /* what follows the command, NULL-terminated; NULL: nothing */
	uint32_t n;
	const char *host, *wdir; /* NULL: the launcher's choice */
};
/* Start them as one job, which finds `port` in its environment.  errhandler: of its communicators
 * in the beginning, NULL: the usual.  MPI_ERR_SPAWN; *full: there is no room for so many. */
int lmpi_spawn(const struct lmpi_program *program, uint32_t n, const char *port,
	       const char *errhandler, bool *full, char why[LMPI_WHY]);
/* What was started to come to that port does not come; why[] says how it ended. */
bool lmpi_spawn_unmet(const char *port, char why[LMPI_WHY]);
/* Nobody waits for it any more: its end is then no news. */
void lmpi_spawn_give_up(const char *port);
/* This process was spawned, and has met who asked for it: its launcher is to know, if it is our
 * mpirun.  Before that the end of a process of this job ends the whole job, and accepting at `port`
 * fails with a text that says how it ended. */
void lmpi_spawn_met(void);

#endif
