/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/engine/engine.h - the byte-moving half of libmpi.
 *
 * Below the MPI_* surface (libmpi/calls and below) and above the transports (self, shm,
 * Suci direct, Suci over relays): one process table, one matching engine, one
 * progress loop.  It knows contiguous bytes, world ranks, context ids, tags; it
 * does not know communicators, datatypes or MPI handles.
 *
 * Matching key (IMPI reference 5.1): context id, rank of the source in the
 * communicator, tag; messages of one (source, context) match in sending order
 * on every transport, wildcards included.
 *
 * Threads  one at a time: who calls holds the lock (lock.h).
 * Errors   MPI error classes as plain ints (0 = MPI_SUCCESS), never handles. */
#ifndef LMPI_ENGINE_H
#define LMPI_ENGINE_H

#include "lmpi/knobs.h"

#include "mpi/request.h"

/* One process of the job, by world rank. */
enum lmpi_reach {
	LMPI_REACH_SELF,
	LMPI_REACH_SHM,
	LMPI_REACH_DIRECT, /* Suci to the process itself */
	LMPI_REACH_RELAY,  /* Suci to a relay of this cluster, IMPI packets in its blocks */
	LMPI_REACH_TCP,	   /* IMPI packets on a TCP channel to a foreign host */
	LMPI_REACHES
};
struct lmpi_proc {
	enum lmpi_reach reach;
	uint32_t client;     /* IMPI client (cluster) number */
	uint32_t host;	     /* IMPI host number, global */
	char node[64];	     /* name of its node as PMIx told, "" if remote client */
	uint32_t node_first; /* lowest rank on that node, UINT32_MAX if it has no name */
	uint64_t job;	     /* name of its job, by which other jobs know it (others.h) */
	uint32_t number;     /* its rank in MPI_COMM_WORLD there */
};

/* How the elements of a message look on the wire between this client and
 * another one (IMPI reference 2.2). */
enum lmpi_rep {
	LMPI_REP_NATIVE,	   /* as in memory: our own clients, and `native-payload` */
	LMPI_REP_EXTERNAL32,	   /* big-endian, MPI_LONG 4 bytes: what IMPI 0.0 says */
	LMPI_REP_EXTERNAL32_LONG8, /* the same with 8-byte long: `long8` */
	LMPI_REPS
};

/* One IMPI client, by number.  rep and the switches come from IMPI_PEERS / impirun
 * --peer (doc/interop.md); our own clients always have native payload, no switches. */
struct lmpi_client {
	bool foreign;	      /* not libmpi: profile impi-0.0 in collectives */
	enum lmpi_rep rep;    /* of messages to and from its processes */
	bool reduce_on_pt2pt; /* its Reduce messages go on the pt2pt context (LAM/MPI) */
	uint32_t nhosts, nprocs, first_rank;
};

/* Set by lmpi_engine_init(), constant afterwards but for slots and proc[], which grow (others.h):
 * processes of other jobs have world ranks from size on, which are this process's alone. */
struct lmpi_world {
	uint32_t rank, size;
	uint32_t slots;
	uint32_t client, nclients, nhosts;
	uint32_t client_first; /* world rank of my client's first process */
	uint32_t client_size;
	uint32_t node_rank, node_size; /* among the processes of my node */
	int tag_ub;
	int coll_xsize, coll_maxlinear; /* IMPI_C_COLL_*: as agreed, defaults filled in */
	int universe_size, appnum;
	uint32_t piece;		 /* coll_args.piece, the same on the whole node */
	uint32_t segment, slice; /* of coll_args, the same in all of the client */
	bool any_foreign;	 /* some client is foreign */
	bool hides_nodes; /* other jobs do not hear on which nodes this one's processes are */
	const struct lmpi_client *clients; /* [nclients] */
	const struct lmpi_proc *proc;	   /* [slots] */
	char node_name[256];
};
extern struct lmpi_world lmpi_world;

/* Connect to the launcher (PMIx), open transports, join the IMPI job if
 * IMPI_CLIENT / IMPI_SERVER say so.  Returns 0 or an MPI error class after
 * printing the cause.  Without a launcher: a job of one process. */
int lmpi_engine_init(void);
/* First half of the end: wait until everything sent is placed.  From here on no
 * flow control is sent; the caller then has all processes of all clusters meet. */
void lmpi_engine_quiesce(void);
/* Wait until everything sent is placed, meet the processes of this cluster, close. */
int lmpi_engine_fini(void);
/* End the whole job, in every cluster, with code and a message that names why. */
_Noreturn void lmpi_engine_abort(int code, const char *why);

/* Start sending len bytes at data, which must stay valid until req->done.
 * lsrank: my rank in the communicator (what the receiver sees as source). */
void lmpi_isend(struct lmpi_req *req, const void *data, uint64_t len, uint32_t dest_world,
		int lsrank, int tag, uint64_t cid, enum lmpi_mode mode);
/* The same without a request, as LMPI_STANDARD: true if the message has gone and data is free
 * again, false if nothing has happened and it takes lmpi_isend().  For short messages within
 * a node, which are most of what such calls cost. */
bool lmpi_send_whole(const void *data, uint64_t len, uint32_t dest_world, int lsrank, int tag,
		     uint64_t cid);
/* Post a receive of at most cap bytes.  source: rank in the communicator or
 * LMPI_ANY_SOURCE. */
void lmpi_irecv(struct lmpi_req *req, void *buf, uint64_t cap, int source, int tag, uint64_t cid);
/* Take a posted receive out of the queue if it has not matched: then
 * done and cancelled are set and true is returned. */
bool lmpi_cancel_recv(struct lmpi_req *req);
/* Ask to take a send back (MPI_Cancel).  If it has not left yet, or the receiver
 * confirms that no receive took it (IMPI: CANCEL, CANCELYES), done and cancelled
 * become set, else it goes on as if nothing had been asked.  Returns at once; the
 * request becomes done either way without any act of the receiving program.  A NAMED
 * send that went to another node without asking and is done is not done again until
 * the receiver has answered. */
void lmpi_cancel_send(struct lmpi_req *req);

/* Wait for a posted receive.  If it has to report LMPI_ERR_PROC_FAILED_PENDING it is taken back,
 * and ends with LMPI_ERR_PROC_FAILED. */
void lmpi_wait_recv(struct lmpi_req *req);
/* Why a probe would look in vain, an error class: revoked, or whom it asks for has failed. */
int lmpi_probe_error(int source, uint64_t cid);
/* Look for a message; makes no progress.  What it takes is to be given to lmpi_mrecv(). */
bool lmpi_iprobe(int source, int tag, uint64_t cid, bool take, struct lmpi_probed *out);
/* lmpi_irecv() without a request, for a short whole message of a process of this node: true if it
 * has been received, *out says what it was; false if nothing has happened and it takes
 * lmpi_irecv(). With wait it looks for the message for about as long as an answer takes. */
bool lmpi_recv_whole(void *buf, uint64_t cap, uint32_t source_world, int source, int tag,
		     uint64_t cid, bool wait, struct lmpi_probed *out);
void lmpi_mrecv(struct lmpi_req *req, void *buf, uint64_t cap, void *message);

/* Who handles messages on LMPI_CID_SERVICE, and what a process may have begun to send beyond
 * LMPI_SERVICE_ROOM. */
void lmpi_serve(lmpi_service_fn *fn, uint64_t more);

/* Memory that processes of one node share: anonymous, without a name that could stay behind.
 * The maker tells the others pid and fd, and closes fd when all have mapped it. */
struct lmpi_segment {
	void *base;
	uint64_t bytes;
	int pid, fd;
};
/* 0, or an error class: no such memory. */
int lmpi_segment_make(struct lmpi_segment *s, uint64_t bytes);
int lmpi_segment_map(struct lmpi_segment *s, int pid, int fd, uint64_t bytes);
void lmpi_segment_seal(struct lmpi_segment *s);
void lmpi_segment_unmap(struct lmpi_segment *s);
/* Are messages with that process, and copies, in memory of this node? */
bool lmpi_node_reads(uint32_t world);
/* Copy n bytes between my memory and that of a process of this node.  false: not allowed. */
bool lmpi_node_copy(uint32_t world, uint64_t address, void *mine, uint64_t n, bool write);

/* ---- a job that survives deaths (start/survive.c; LIBMPI_KEEP_GOING, mpirun --keep-going)
 * The death of a process is an error of the calls that have to do with it: mpi/lost.h, ft/ft.h. */
struct ft_offer;
struct ft_result;
/* What the surface knows of contexts, as struct lmpi_contexts asks. */
struct lmpi_comms {
	uint32_t (*world_of)(uint64_t cid, int source);
	bool (*unacked)(uint64_t cid);
	/* Context cid was revoked: another one that goes with it, or cid itself. */
	uint64_t (*goes_with)(uint64_t cid);
	/* That process is lost; the engine knows. */
	void (*lost)(uint32_t world);
	/* A collective call with that process is under way. */
	bool (*meets)(uint32_t world);
};
void lmpi_survive(const struct lmpi_comms *comms);
bool lmpi_survives(void);
/* Those that are known, in the order in which they became known here: world ranks. */
uint32_t lmpi_failures(const uint32_t **world);
/* A loss waits for collective calls with the dead one (LIBMPI_LAST_WORDS_MS).  One of them is over;
 * any context.  And: those losses count that no call holds up, or all, as before a call that asks
 * for failures. */
void lmpi_last_words_over(void);
void lmpi_last_words_review(bool all);
bool lmpi_has_failed(uint32_t world);
/* lmpi_comms.unacked() says something else from now on. */
void lmpi_acked(void);
/* req waits for any source, and has to report LMPI_ERR_PROC_FAILED_PENDING. */
bool lmpi_pending(const struct lmpi_req *req);
/* From now on these processes of several jobs tell each other of their failures; cid names them.
 * Members, here and below: in the order of lmpi_proc_order() of others.h, which is that of rising
 * world ranks in one job. */
void lmpi_failures_join(uint64_t cid, const uint32_t *member, uint32_t n);
void lmpi_failures_leave(uint64_t cid);
/* Context cid and the next one, for these members. */
void lmpi_revoke(uint64_t cid, const uint32_t *member, uint32_t n);
bool lmpi_revoked(uint64_t cid);
/* The same for this process only: who makes it void does so in all of them. */
void lmpi_void(uint64_t cid);
/* Somebody says that this process is gone, perhaps before it is lost; any thread, any time. */
bool lmpi_is_gone(uint32_t world);
/* The next agreement of cid; then(arg, ...) is called with its result, perhaps before this
 * returns. */
void lmpi_agree(uint64_t cid, const uint32_t *member, uint32_t n, const struct ft_offer *offer,
		void (*then)(void *arg, const struct ft_result *r), void *arg);
/* All that live come to this call.  Returns the largest number that one of them brings, the same
 * to all. */
uint64_t lmpi_meet(uint64_t mine);
/* Those of this process's client; once. */
void lmpi_meet_client(void);
/* All members that live do, in the order in which they call.  Has one of them failed?   The same
 * answer for all. */
bool lmpi_meet_members(uint64_t cid, const uint32_t *member, uint32_t n);

/* One turn of the progress loop; true if something moved. */
bool lmpi_progress(void);
/* The same for MPI_Test, MPI_Iprobe and their kin: programs call them in loops until
 * another rank has done something, so one that finds nothing gives the core away as
 * often as a waiting one does. */
bool lmpi_poke(void);
/* Progress until *flag is true: spins a little, yields, then sleeps until a
 * transport has news.  The only place libmpi waits. */
void lmpi_wait(const volatile bool *flag);
/* After a blocking send or collective that is complete because its messages were copied: what waits
 * for its receiver's credit gets the time of an answer, as the program may compute for long now. */
void lmpi_push(void);
/* The same with a predicate. */
void lmpi_wait_for(bool (*ready)(void *arg), void *arg);
/* The same with one that changes nothing and says the same to any thread: threads that wait with
 * such at the same time leave the progress to one of them (waiters.h). */
void lmpi_wait_done(bool (*done)(void *arg), void *arg);

/* A thread that makes progress while the program computes: does the environment ask for one?
 * Then the lock is to be shared, and is held when the thread is started and stopped. */
bool lmpi_background_wanted(void);
void lmpi_background_start(void);
void lmpi_background_stop(void);

/* Cluster-wide id for a shared object name etc. */
uint64_t lmpi_job_token(void);
/* Seconds, monotonic, and its resolution (MPI_Wtime, MPI_Wtick). */
double lmpi_wtime(void);
double lmpi_wtick(void);

/* Counts for diagnostics, printed with LIBMPI_STATS=1 at finalize; those of messages are the
 * engine's (struct lmpi_counts). */
struct lmpi_stats {
	uint64_t progress_turns, sleeps;
	/* Connections to ports (others/guests.h) that said something else or went away, said
	 * nothing, made room for others. */
	uint64_t knocks_wrong, knocks_silent, knocks_evicted;
};
extern struct lmpi_stats lmpi_stats;

/* What a tool may look at while the program runs: the surface shows it as performance
 * and control variables (MPI_T).  Counters only grow. */
enum lmpi_gauge_class { LMPI_COUNTER, LMPI_LEVEL, LMPI_HIGHWATER };
struct lmpi_gauge {
	const char *name, *help, *group;
	enum lmpi_gauge_class class;
	uint64_t (*read)(const struct lmpi_gauge *g); /* 0 before MPI_Init */
	size_t at;				      /* private */
};
size_t lmpi_gauges(const struct lmpi_gauge **gauges);

/* A number of the environment (lmpi/knobs.h) that can also be set while the program runs. */
struct lmpi_live_knob {
	enum lmpi_knob knob;
	uint64_t (*get)(void);	     /* before MPI_Init: what it will be */
	void (*set)(uint64_t value); /* any time */
};
const struct lmpi_live_knob *lmpi_live_knob(enum lmpi_knob k); /* NULL: it is none */

#endif
