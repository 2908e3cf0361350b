/* libmpi/engine/others.h - processes of other jobs: what the engine does for libmpi/dyn.
 *
 * A job numbers its processes by their ranks in MPI_COMM_WORLD.  Those of other jobs get slots
 * behind them, in each process for itself: the table of processes grows (mpi/engine.h).  Who a
 * process is, is said by its card: the token of its job, its number there, where its socket is.
 *
 *	lmpi_meet_ready()	once, in each process: there is a socket
 *	lmpi_card_mine()	this process's card; all cards go to the others somehow
 *	lmpi_others_adopt()	those cards become slots
 *
 * Messages may go when all on both sides have adopted.
 *
 * Two that adopt each other tell before where free slots begin, so that each knows its label at
 * the other.  So processes know each other both ways or not at all.
 *
 * A port is a TCP socket that listens; its name is a door's address (door/address.h) that says
 * where, with a token that proves the right to knock.  Over it two roots exchange cards.
 *
 * Threads  the lock is held.
 * Limits   LIBMPI_PROCESSES_MAX slots; paths to PATHS_MORE processes at a time (net_setup.c).
 * Errors   0 or an MPI error class; why[] says what is wrong and what helps. */
#ifndef LMPI_OTHERS_H
#define LMPI_OTHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LMPI_CARD_BYTES	  88u
#define LMPI_CARD_NUMBERS (1u << 20)
#define LMPI_WHY	  256u
#define LMPI_FOR_EVER	  (-1.0)

/* --- slots (start/others.c) */
int lmpi_meet_ready(char why[LMPI_WHY]);
void lmpi_card_mine(uint8_t card[LMPI_CARD_BYTES]);
/* n cards become world[n]: those that are known keep their slots, others get base + their index.
 * me_there: the slot of this process there, if they do not know it yet. */
int lmpi_others_adopt(const uint8_t *cards, uint32_t n, uint32_t base, uint32_t me_there,
		      uint32_t *world, char why[LMPI_WHY]);
/* Does process a come before b in an order that all processes of both jobs agree on? */
bool lmpi_proc_before(uint32_t a, uint32_t b);
/* Who asks whether a communicator still has that process: its silence is then an error. */
void lmpi_others_watch(bool (*wanted)(uint32_t world));
/* All that was sent to anybody has arrived. */
void lmpi_drain(void);

/* --- ports (boot/port.c) */
int lmpi_port_open(char name[], size_t room, char why[LMPI_WHY]);
int lmpi_port_close(const char *name, char why[LMPI_WHY]);
/* Somebody knocks there within so many seconds: *fd is the conversation.  MPI_ERR_PORT: no such
 * port of this process, or nobody came. */
int lmpi_port_accept(const char *name, double seconds, int *fd, char why[LMPI_WHY]);
int lmpi_port_connect(const char *name, double seconds, int *fd, char why[LMPI_WHY]);
/* Both say something, and know how long it is. */
int lmpi_talk_swap(int fd, const void *mine, size_t len, void *theirs, size_t their_len,
		   char why[LMPI_WHY]);
void lmpi_talk_end(int fd);

/* --- the launcher (boot/spawn.c) */
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
/* Start them as one job, which finds `port` in its environment.  errhandler: of its communicators in
 * the beginning, NULL: the usual.  MPI_ERR_SPAWN; *full: there is no room for so many. */
int lmpi_spawn(const struct lmpi_program *program, uint32_t n, const char *port,
	       const char *errhandler, bool *full, char why[LMPI_WHY]);

#endif
