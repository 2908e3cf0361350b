/* SPDX-License-Identifier: BSD-2-Clause */
/* internal.h - what the parts of this half know of each other: lib/mpi's engine with
 * transports, a clock, a loop, a start and an end.
 *
 *   calls.c     the engine's calls for the surface, short messages past the queues
 *   progress.c  the loop, waiting, failing
 *   spin.c      how long to spin before a sleep
 *   patience.c  how long to look at one ring only
 *   cycles.c    the clock of short loops
 *   lock.c      the one lock, taken by who calls
 *   waiters.c   threads that wait at the same time
 *   background.c  the loop in a thread of its own, if asked for
 *   abort.c     the end of a job that cannot go on
 * Above are ../boot (launcher, IMPI job, addresses), ../transport (transports.h is what the engine
 * asks of them) and ../start (start and end, tools, numbers of the machine). */
#ifndef LMPI_INTERNAL_H
#define LMPI_INTERNAL_H

#include "engine.h"

#include "mpi/engine.h"
#include "mpi/impi_packet.h"
#include "suci/addr.h"

#include <stdatomic.h>
#include <stdlib.h>

#define LMPI_ERR_PORT	43 /* MPI_ERR_PORT */
#define LMPI_LABEL_BASE 16 /* label of world rank 0 in every process's label space */
/* Source label of a process of another job.  It is beyond Suci's array of labels, so the path says
 * who it is. */
#define LMPI_LABEL_STRANGER 0x80000000u

/* The engine of this process.  Its size and rank are those of lmpi_world. */
extern struct lmpi_engine lmpi_eng;

/* What only the loop and the transports know. */
struct lmpi_loop {
	bool up; /* transports may be used */
	/* Unexpected messages fill their memory: more are taken only when nothing has moved for
	 * over_ns, as what frees it may be behind them. */
	uint64_t over_ns;
	uint64_t idle_since_ns; /* of the last turns; BASE_NEVER_NS: something moved in the last */
	uint64_t token;		/* of the job */
	/* Processes are lost; any thread sets it.  Who survives them takes the news. */
	_Atomic bool news;
	void (*take_news)(void);
	uint64_t look_ns; /* when he is to look again; 0: never */
	/* Tells others that the job ends; NULL: nobody is known yet. */
	void (*end_job)(int code, const char *why);
};
extern struct lmpi_loop lmpi_loop;

/* How a process is reached, by world rank: the transports' half of struct lmpi_peer.  Its number
 * there (peer->at) is the index among the processes of my node, or of a channel (tcp.c). */
struct lmpi_route {
	enum lmpi_reach reach;
	/* Suci */
	bool has_lane;
	uint8_t gone; /* of another job: why its path went down, + 1; 0: it did not */
	bool door;    /* of another job in another cluster: over a pair of doors */
	uint32_t lane;
	uint32_t path;	/* direct: path index, UINT32_MAX none */
	uint32_t relay; /* relayed: index of the relay */
	uint32_t label; /* of the process, in the label space of the next endpoint */
	uint64_t token;
	struct suci_addr at;  /* of its socket, or its relay's */
	uint16_t stream_port; /* of its streams there (TCP); 0: none, or not any more */
	uint16_t stream;      /* 1 + the number of the connection (streams.c); 0: none */
};
extern struct lmpi_route *lmpi_route; /* [world.slots] */

/* --- calls.c */
/* Give lmpi_eng memory and a way to fail; nothing has been sent or has arrived. */
void lmpi_make_engine(void);
/* Before the first message; after lmpi_cycles_start(). */
void lmpi_calls_init(void);
/* A wait is over, perhaps for what lmpi_recv_whole() gave up. */
void lmpi_recv_waited(void);

/* --- survive.c of start */
int lmpi_survive_start(void); /* an error class */
void lmpi_survive_stop(void);
/* NULL: there are none. */
const struct ft_counts *lmpi_survive_counts(void);
void lmpi_survive_grow(void); /* lmpi_world.slots has */
/* The epoch is over, for a cluster that goes on (epoch.h): all other processes are lost. */
void lmpi_end_epoch(void);
/* Process world has gone.  Any thread.  True: this job survives it, and the next turn of the loop
 * sees to it; false: nothing has happened. */
extern bool (*lmpi_outlive)(uint32_t world);

/* --- progress.c */
/* The job cannot go on; the next turn of the loop ends it with this text. */
void lmpi_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* With a status of its own; lmpi_fail()'s is 1. */
void lmpi_fail_as(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same from any other thread; wakes the engine, and ends the process itself
 * when the engine does not react (the program computes). */
void lmpi_fail_async(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool lmpi_failing(void);
/* As if nothing had failed; for tests that go on after a failure. */
void lmpi_fail_forget(void);
/* Wait with a deadline; false if it passed first. */
bool lmpi_wait_until(bool (*ready)(void *arg), void *arg, uint64_t deadline_ns);
/* How long to spin before sleeping, given so many ranks on this machine. */
void lmpi_set_spin(uint32_t ranks_here);
uint64_t lmpi_spin_us(void);
bool lmpi_crowded(void); /* fewer cores than ranks */
void lmpi_spin_to(uint64_t us);
/* In the engine's thread: did a control thread or PMIx report the end? */
void lmpi_check_fail(void);

/* --- tune.c of transport: numbers that belong to the machine: from the environment, else the store
 * of mpitune, else defaults. */
struct lmpi_tuned {
	/* Of the node, the same in all its processes: those of node rank 0. */
	uint32_t eager_node,
		eager_wide; /* longest message through a ring, and through a wide one */
	uint32_t share;	    /* from so many bytes on both sides copy */
	uint32_t piece;	    /* of long reductions */
	/* Of the network. */
	uint32_t bcast_piece, alltoall_piece; /* 0: whole; those of rank 0 are the client's */
	uint32_t run, ack;		      /* 0: the driver's */
	bool run_stored;		      /* by the store, not by hand */
	uint64_t eager_net;
	bool eager_stored;
	uint64_t stream; /* 0: not known, see lmpi_stream_least() */
};
extern struct lmpi_tuned lmpi_tuned;
#define LMPI_TUNED_EAGER_MOST 49152u /* a record has to be below a quarter of its ring */
#define LMPI_TUNED_NARROW     12288u
void lmpi_tune_node(void);
void lmpi_tune_net(const struct suci_addr *at);
/* Messages up to that length go to processes over direct Suci lanes without asking; what
 * LIBMPI_EAGER sets. */
uint64_t lmpi_eager(void);
/* Nobody has said so: neither the environment, the store nor a tool.  Then far processes get
 * longer ones (mpi/far.h). */
bool lmpi_eager_free(void);
void lmpi_eager_to(uint64_t bytes);
/* Data of a long message goes to another node over TCP from so many bytes on (LIBMPI_STREAM);
 * UINT64_MAX: never.  Where nobody has said it, datagrams that carry less than a page make a
 * stream cheaper.  never(): nobody can change that. */
uint64_t lmpi_stream_least(void);
bool lmpi_stream_never(void);
void lmpi_stream_to(uint64_t bytes);
/* A node's part as node rank 0 has it: taken if it is within bounds. */
void lmpi_tune_adopt(const struct lmpi_tuned *of_first);
/* A client's as its rank 0 says, likewise. */
void lmpi_tune_adopt_pieces(uint32_t bcast_piece, uint32_t alltoall_piece);

/* --- tool.c: eng.copied_bytes_max and unexpected_bytes_max from the environment, unless a
 * tool has set them; lmpi_loop.over_ns. */
void lmpi_memory_limits(void);

#endif
