/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/coll/coll.h - running collective operations.
 *
 * lib/collectives says what each process does, as a schedule over packed bytes;
 * this runs it on the engine.  A collective call
 *
 *	1. fills struct lmpi_coll: arguments for the schedule, the three buffers
 *	   (the user's memory where that is packed already, copies where not)
 *	   and what to unpack in the end,
 *	2. is started; blocking forms wait, others hand out the request.
 *
 * Messages of one call use one tag, made of the communicator's count of
 * collective calls, on the collective context: calls under way at the same time
 * do not mix.  Messages to and from other MPIs are another matter: impi.h.
 *
 * Threads  the lock is held. */
#ifndef LMPI_COLL_H
#define LMPI_COLL_H

#include <stdbool.h>
#include <stdint.h>

#include "coll/schedule.h"
#include "comm.h"
#include "mpi/steps.h"
#include "op.h"
#include "request.h"

/* Blocks of user memory and their packed copy: packed when the operation starts
 * (input), unpacked when it is done (output). */
struct lmpi_side {
	struct lmpi_type *type;	  /* of all blocks, or */
	struct lmpi_type **types; /* [blocks] */
	char *buf;
	int64_t blocks;
	int64_t count;	 /* elements of each block, or */
	int64_t *counts; /* [blocks] */
	int64_t *displs; /* [blocks] bytes from buf; NULL: one after another */
	char *packed;
};

struct lmpi_step_wire;
struct lmpi_owned;
struct lmpi_coll_light;
struct lmpi_plan;
struct lmpi_plans;

struct lmpi_coll {
	struct coll_args args;
	const char *algorithm; /* NULL: the default rules choose */
	struct lmpi_comm *comm;
	struct lmpi_type *type; /* of a reduction */
	/* Of COLL_SEND and COLL_RECV where the call has such an argument, else NULL; no
	 * references: only blocking calls look (impi.h). */
	struct lmpi_type *side_type[2];
	bool not_impi; /* IMPI 0.0 has no form of it */
	/* Of a rooted call: has this process the root's arguments, those of everybody? */
	bool at_root, is_leaf;
	bool strict; /* external32 to all foreign clients, whatever else they want */
	struct lmpi_op_use op;
	char *send, *recv, *tmp; /* bases of the schedule's buffers */
	struct lmpi_side in[2], out;
	int ins;
	bool has_out;
	/* Called with the result when all is done; may be NULL. */
	void (*finish)(struct lmpi_coll *c);
	void *finish_arg;
	struct lmpi_owned *owned; /* memory that goes with the operation */
	/* execution */
	struct coll_schedule schedule;
	struct lmpi_plan *plan;	     /* kept by comm, in use; NULL: the own one */
	struct lmpi_steps run;	     /* run.error: the result so far */
	struct lmpi_step_wire *wire; /* [steps] */
	struct lmpi_coll *next,
		**at;	    /* of all that run, where a job survives deaths; at NULL: no */
	bool done;	    /* of these: all has come, and the program has not been told */
	int tag, local_tag; /* of messages inside the own group of an inter-communicator */
	struct lmpi_request *request;
	/* coll_light.h: of this start, or NULL; memory for it; starts so far */
	struct lmpi_coll_light *light, *light_kept;
	uint32_t starts;
};

static inline struct lmpi_coll *
lmpi_coll_of_run(struct lmpi_steps *run)
{
	return (struct lmpi_coll *)(void *)((char *)run - offsetof(struct lmpi_coll, run));
}

/* Memory freed with the operation; NULL: none (the caller fails the call). */
void *lmpi_coll_alloc(struct lmpi_coll *c, int64_t n, size_t size);
/* What the calls of a communicator leave for later ones, in its slot LMPI_COMM_COLL. */
struct lmpi_comm_coll {
	struct lmpi_attached attached;
	uint32_t seq;	      /* calls so far: makes their tags */
	uint32_t *cluster_of; /* [size] IMPI client of each rank, NULL: one cluster */
	struct coll_locality near;
	uint32_t piece, segment, slice; /* of coll_args: what all of its processes know */
	struct lmpi_plans *plans;	/* plan.h */
	uint32_t light_told;		/* coll_light.h */
	uint32_t light_turned;		/* bit of an enum coll_op: calls so far are odd */
};
/* NULL: there was no call yet. */
static inline struct lmpi_comm_coll *
lmpi_comm_coll(const struct lmpi_comm *comm)
{
	return (struct lmpi_comm_coll *)(void *)comm->slot[LMPI_COMM_COLL];
}
bool lmpi_comm_coll_find(struct lmpi_comm *comm);
/* It has that from now on.  False: no memory. */
static inline bool
lmpi_coll_attach(struct lmpi_comm *comm)
{
	return lmpi_comm_coll(comm) != NULL || lmpi_comm_coll_find(comm);
}

/* A new, empty one; NULL: out of memory. */
struct lmpi_coll *lmpi_coll_new(struct lmpi_comm *comm, enum coll_op op);
/* Build the schedule, or take one that was built before; afterwards the operation can be started
 * any number of times, one after another.  persistent: it will be, for long.  An error code. */
int lmpi_coll_prepare(struct lmpi_coll *c, bool persistent);

/* What a call wants of the operation. */
enum lmpi_coll_how { LMPI_COLL_BLOCKING, LMPI_COLL_NONBLOCKING, LMPI_COLL_PERSISTENT };
/* The root of a rooted call, which in an inter-communicator may be MPI_ROOT or
 * MPI_PROC_NULL: sets at_root, is_leaf and the schedule's arguments.  An error code. */
int lmpi_coll_set_root(struct lmpi_coll *c, int root);
/* How many processes blocks are exchanged with: of the other group, if there is one. */
static inline int
lmpi_coll_width(const struct lmpi_coll *c)
{
	return lmpi_comm_peers(c->comm);
}

static inline void *
lmpi_coll_address(const struct lmpi_coll *c, const struct coll_range *r)
{
	char *base = r->buf == COLL_SEND ? c->send : r->buf == COLL_RECV ? c->recv : c->tmp;

	return (void *)((uintptr_t)base + (uintptr_t)r->off);
}

void lmpi_coll_release(struct lmpi_coll *c);
/* A step that is no message. */
void lmpi_coll_compute(struct lmpi_coll *c, const struct coll_step *s);

/* A process has failed, and communicators know (lost): calls of theirs that are under way end with
 * LMPI_ERR_PROC_FAILED, whoever their own messages are to and from. */
void lmpi_coll_lose(void);
/* Is a call under way that such a failure would end? */
bool lmpi_coll_meets(uint32_t world);

/* Prepare and, unless persistent, start.  Takes over c in all cases; rc is an
 * error of filling it in, which is passed on. */
int lmpi_coll_go(struct lmpi_coll *c, int rc, enum lmpi_coll_how how, MPI_Request *request);

/* ---- filling in buffers; MPI_SUCCESS or MPI_ERR_NO_MEM */
enum lmpi_side_role { LMPI_SIDE_IN = 1, LMPI_SIDE_OUT = 2 };
/* blocks * count elements at buf, one after another: *base is where their packed
 * form lies.  role: whether it has content before, after, or both. */
int lmpi_side_uniform(struct lmpi_coll *c, const void *buf, int64_t blocks, int64_t count,
		      struct lmpi_type *type, int role, char **base);
/* Blocks of different lengths at displs[i] extents (NULL: one after another);
 * makes the tables the schedule wants. */
int lmpi_side_vector(struct lmpi_coll *c, const void *buf, int64_t blocks, struct lmpi_ints counts,
		     struct lmpi_ints displs, struct lmpi_type *type, int role, char **base,
		     const uint64_t **bytes_of, const uint64_t **displ);
/* Blocks of different types at displs[i] bytes. */
int lmpi_side_types(struct lmpi_coll *c, const void *buf, int64_t blocks, struct lmpi_ints counts,
		    struct lmpi_ints displs, const MPI_Datatype *types, int role, char **base,
		    const uint64_t **bytes_of, const uint64_t **displ);
void lmpi_side_pack(const struct lmpi_side *s);
void lmpi_side_unpack(const struct lmpi_side *s);
void lmpi_side_release(struct lmpi_side *s);

/* ---- for the library's own use, blocking */
/* To foreign clients as 8 bytes, big-endian (IMPI reference 6).  In an
 * inter-communicator over both groups. */
int lmpi_coll_max_u64(struct lmpi_comm *comm, uint64_t *value);
/* In an inter-communicator what the processes of the other group give. */
int lmpi_coll_allgather_ints(struct lmpi_comm *comm, const int *mine, int *all, int count);
int lmpi_coll_bcast_bytes(struct lmpi_comm *comm, void *data, int64_t bytes, int root);
int lmpi_coll_barrier(struct lmpi_comm *comm);

#endif
