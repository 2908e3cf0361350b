/* SPDX-License-Identifier: BSD-2-Clause */
/* coll/schedule.h - collective operations as data.
 *
 * A schedule is what one process of p does in one collective call: steps
 * (send, receive, reduce, copy) over byte ranges of three buffers, with the
 * steps each one has to wait for.  It knows no MPI, no transport, no clock.
 * libmpi executes schedules, the simulator and the circuit planner read them,
 * the verifier (test_coll_schedule.c) runs all p of them against each other on paper.
 *
 * Buffers  COLL_SEND is only read.  COLL_RECV and COLL_TMP are read and
 *          written.  Offsets and lengths are bytes of *packed* elements; a
 *          reduce works on len / elem elements.  With the in-place form the
 *          builder is told so and does not touch COLL_SEND.
 * Order    a step may start when every step it depends on is complete.  Sends
 *          to one peer go out in step order, receives from one peer are posted
 *          in step order, so equal tags match.  Both ends of every pair issue
 *          them in the same order: the verifier checks that.
 * Reduce   into = into op from with `from` on the left or right as `left` says,
 *          so that non-commutative operations come out in rank order.
 *
 * Memory   the caller gives an arena; building fails with COLL_ERR_NOMEM if it
 *          is too small (coll_arena_hint() says how much is enough).
 * Threads  a schedule is immutable once built.
 * Source   the four families of [OC] (linear, ring, recursive doubling,
 *          binomial), plus the customary algorithms of MPI libraries. */
#ifndef COLL_SCHEDULE_H
#define COLL_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COLL_ERRORS(X)                                                 \
	X(OK, 0, "success")                                            \
	X(INVAL, -1, "argument out of its documented range")           \
	X(NOMEM, -2, "the arena is too small")                         \
	X(UNKNOWN, -3, "no algorithm of that name for this operation") \
	X(RESTRICT, -4, "the algorithm does not take these arguments")
enum coll_err {
#define X(n, v, t) COLL_ERR_##n = v,
	COLL_ERRORS(X)
#undef X
};
const char *coll_strerror(int err);

enum coll_buf { COLL_SEND, COLL_RECV, COLL_TMP };
enum coll_kind { COLL_STEP_SEND, COLL_STEP_RECV, COLL_STEP_REDUCE, COLL_STEP_COPY };

struct coll_range {
	enum coll_buf buf;
	uint64_t off, len;
};

struct coll_step {
	enum coll_kind kind;
	uint32_t peer;		/* send, receive: rank in the communicator */
	uint32_t tag;		/* send, receive: 0, or the tag prescribed (coll/impi.h) */
	struct coll_range from; /* send: what; reduce, copy: source */
	struct coll_range into; /* receive: where; reduce, copy: target */
	bool left;		/* reduce: from is the left operand */
	uint32_t dep_first;	/* deps[dep_first .. dep_first + dep_count) */
	uint32_t dep_count;	/* indices of earlier steps */
};

struct coll_schedule {
	const char *algorithm;
	uint32_t rank, size; /* size: peers are below it */
	struct coll_step *step;
	uint32_t steps, steps_max;
	uint32_t *dep;
	uint32_t deps, deps_max;
	uint64_t tmp_bytes; /* COLL_TMP the executor has to provide */
};

enum coll_op {
	COLL_BARRIER,
	COLL_BCAST,
	COLL_REDUCE,
	COLL_ALLREDUCE,
	COLL_GATHER,
	COLL_ALLGATHER,
	COLL_SCATTER,
	COLL_ALLTOALL,
	COLL_REDUCE_SCATTER,
	COLL_SCAN,
	COLL_EXSCAN,
	COLL_NEIGHBOR,
	COLL_OP_COUNT
};
const char *coll_op_name(enum coll_op op);

/* One end of an edge of a process topology: a neighbour and the block that goes there or
 * comes from there.  Edges between the same two processes match in the order in which
 * their ends are listed. */
struct coll_edge {
	uint32_t rank; /* COLL_NO_RANK: none there, the block stays as it is */
	uint32_t block;
};
#define COLL_NO_RANK UINT32_MAX

/* What a process is in a rooted operation between two groups. */
enum coll_role {
	COLL_LEAF, /* of the group that faces the root, which is args.root there */
	COLL_ROOT,
	COLL_IDLE, /* in the root's group, not the root */
};

/* Which ranks are near each other.  A domain is a cluster or a node; domains count from 0 in the
 * order of their lowest ranks.  All zero: nothing is known. */
struct coll_locality {
	const uint32_t *of; /* [ranks] the domain of each; NULL: one, not known, or each alone */
	uint32_t count;	    /* domains; 1: all share memory; 0: not known, or each rank is alone */
	uint32_t each;	    /* ranks of each domain; 0: not all have as many */
};
/* Domains of n ranks from any numbers key[n] that those of one share.  number[n] has room for .of
 * and lasts as long as the result; scratch[n] does not. */
struct coll_locality coll_locality_of(const uint32_t *key, uint32_t n, uint32_t *number,
				      uint32_t *scratch);

/* What the collective is.  Buffer layout by operation (b = counts in bytes):
 *   bcast            COLL_RECV holds `bytes` at every rank
 *   reduce/allreduce/scan/exscan: `bytes` in SEND and RECV; reduce works in
 *                    RECV at every rank (scratch of the executor's at non-roots)
 *   gather           SEND bytes_of[rank]; RECV at root: displ[i], bytes_of[i]
 *   allgather        as gather at every rank
 *   scatter          SEND at root: displ[i], bytes_of[i]; RECV bytes_of[rank]
 *   alltoall         SEND: send_displ[i], send_bytes[i]; RECV: displ[i], bytes_of[i]
 *   reduce_scatter   SEND: whole vector, blocks bytes_of[i] in rank order, RECV block
 *   neighbor         SEND: send_displ[b], send_bytes[b]; RECV: displ[b], bytes_of[b], b being
 *                    the block of an edge; the tables are of blocks, not of ranks
 * With uniform counts the arrays are NULL and every block is `bytes`, at i*bytes. */
struct coll_args {
	enum coll_op op;
	uint32_t rank, size, root;
	uint64_t bytes;
	uint64_t elem;	  /* bytes of one element (reductions), else 1 */
	bool commutative; /* reductions */
	bool in_place;	  /* this rank's own contribution already sits in COLL_RECV */
	const uint64_t *bytes_of, *displ;
	const uint64_t *send_bytes, *send_displ;
	/* Which cluster (IMPI client) each rank belongs to, or NULL: one cluster.
	 * Hierarchical algorithms use it to cross the WAN once. */
	const uint32_t *cluster_of;
	/* By clusters if there are several, else by the nodes of the one; all processes say the
	 * same. */
	struct coll_locality near;
	/* neighbor only */
	const struct coll_edge *sources, *destinations;
	uint32_t indegree, outdegree;
	/* Between two groups (MPI's inter-communicators): processes of the other one, else 0.
	 * size and rank are those of the own group; peers of steps from size on are the other
	 * one.  The tables of blocks are of the processes of the group that faces us, but
	 * for reduce_scatter. */
	uint32_t remote;
	enum coll_role role;
	bool both;	    /* allreduce: of both groups together (commutative) */
	uint64_t own_bytes; /* the own block, in alltoall each of the own, if no table says */
	/* What circuits make worth choosing; every process says the same. */
	bool reversed; /* the distances of a tree or a doubling in the other order, where it has one
			*/
	uint32_t degree; /* "graph": neighbours in the fixed graph; 0: 2 */
	/* What two processes of a place combine at a time in long reductions; 0: 64 KiB.  Every
	 * process of the place says the same. */
	uint64_t piece;
	/* "torus": the processes along each dimension, a byte each, the first one lowest; 0: two
	 * dimensions, as square as may be. */
	uint64_t dims;
	/* "pipeline", "torus": bytes of a segment of Bcast; 0: 64 KiB.  Not more than 256.  "hier"
	 * within one cluster: 0: not cut, else not more than 16. */
	uint64_t segment;
	/* "pairwise", "pairs": of a block of Alltoall what waits for the same of the round before;
	 * 0: not cut, else not more than 16 pieces.  Every process says the same. */
	uint64_t slice;
	/* Rules before the built-in ones, or NULL. */
	const struct coll_rules *rules;
	/* Only for the profile of coll/impi.h. */
	bool vector;	     /* the v form of the operation: no common block size */
	uint64_t wire_bytes; /* one block in external32: decides short or long */
	uint64_t xsize;	     /* a block is long from so many bytes on */
	uint32_t maxlinear;  /* up to so many masters no tree */
};

/* Bytes of arena that suffice for any algorithm of these arguments. */
size_t coll_arena_hint(const struct coll_args *a);
/* The name of the algorithms between two groups; no others take a->remote. */
#define COLL_INTER "inter"
/* Build the schedule of a->rank with the algorithm of that name, or, with NULL,
 * the one coll_select() picks. */
int coll_build(struct coll_schedule *s, const struct coll_args *a, const char *algorithm,
	       void *arena, size_t arena_len);
/* Name of the algorithm the rules pick: the first one of a->rules that holds and whose
 * algorithm takes these arguments, else the first such of the built-in ones. */
const char *coll_select(const struct coll_args *a);

/* Selection as data: whoever has a file of rules reads it and says coll_rule_ok() to each. */
struct coll_rule {
	enum coll_op op;
	uint64_t bytes_max; /* holds for coll_args.bytes up to this */
	uint32_t size_max;  /* and up to so many processes */
	char algorithm[32];
};
struct coll_rules {
	const struct coll_rule *rule;
	uint32_t count;
};
/* Is there such an algorithm for this operation? */
bool coll_rule_ok(const struct coll_rule *r);
/* The operation of that name (coll_op_name()), or COLL_OP_COUNT. */
enum coll_op coll_op_of(const char *name);

/* The algorithms, for help texts and tests that run them all. */
struct coll_algorithm {
	enum coll_op op;
	const char *name;
	const char *cost; /* in alpha, beta, p, n */
	bool (*fits)(const struct coll_args *a);
	int (*build)(struct coll_schedule *s, const struct coll_args *a);
	/* For whoever builds the schedules of others from their words: the same number and version
	 * mean the same messages of the same arguments, in every release. */
	uint16_t id;	 /* from 1 */
	uint8_t version; /* from 1 */
};
const struct coll_algorithm *coll_algorithms(size_t *count);
/* NULL: there is none. */
const struct coll_algorithm *coll_algorithm_of(enum coll_op op, const char *name);
const struct coll_algorithm *coll_algorithm_by_id(uint16_t id);

#endif
