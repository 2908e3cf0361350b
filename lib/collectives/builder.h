/* SPDX-License-Identifier: BSD-2-Clause */
/* Private: how algorithms write schedules.
 *
 * Steps are added in program order.  coll_send, _recv, _reduce, _copy find
 * their dependencies by themselves: a step waits for every earlier step that
 * wrote what it reads, or touched what it writes, if need be by way of others.
 * Zero-byte steps touch nothing, so a barrier names its dependencies with coll_after().
 * Errors are sticky in the builder and returned by coll_build().
 *
 * Algorithms work on a group: virtual ranks 0..n-1, of which `me` is ours;
 * rank[v] is the communicator rank (NULL: v itself).  That is what lets the
 * hierarchical ones run the flat ones inside a cluster and among masters. */
#ifndef COLL_BUILDER_H
#define COLL_BUILDER_H

#include "coll/schedule.h"

struct coll_group {
	const uint32_t *rank;
	uint32_t n, me;
	bool reversed; /* coll_args.reversed */
};

static inline struct coll_group
coll_flat(const struct coll_args *a)
{
	return (struct coll_group){NULL, a->size, a->rank, a->reversed};
}

static inline uint32_t
coll_real(const struct coll_group *g, uint32_t v)
{
	return g->rank ? g->rank[v] : v;
}

/* Index of the step, or UINT32_MAX after an error. */
uint32_t coll_send(struct coll_schedule *s, uint32_t peer, enum coll_buf buf, uint64_t off,
		   uint64_t len);
uint32_t coll_recv(struct coll_schedule *s, uint32_t peer, enum coll_buf buf, uint64_t off,
		   uint64_t len);
/* into = from op into if left, else into op from. */
uint32_t coll_reduce(struct coll_schedule *s, enum coll_buf from, uint64_t from_off,
		     enum coll_buf into, uint64_t into_off, uint64_t len, bool left);
uint32_t coll_copy(struct coll_schedule *s, enum coll_buf from, uint64_t from_off,
		   enum coll_buf into, uint64_t into_off, uint64_t len);
/* The step added last also waits for step on. */
void coll_after(struct coll_schedule *s, uint32_t on);
/* The step added last also waits for all steps in [first, s->steps - 1). */
void coll_after_all(struct coll_schedule *s, uint32_t first);
/* len bytes of COLL_TMP, 64-byte aligned; returns the offset. */
uint64_t coll_tmp(struct coll_schedule *s, uint64_t len);
/* Like the adders, without looking for dependencies (disjoint by construction). */
uint32_t coll_step_add(struct coll_schedule *s, struct coll_step step);

/* Block i of the operation's receive (or send) side. */
static inline uint64_t
coll_block_len(const struct coll_args *a, uint32_t i)
{
	return a->bytes_of ? a->bytes_of[i] : a->bytes;
}
static inline uint64_t
coll_block_off(const struct coll_args *a, uint32_t i)
{
	return a->displ ? a->displ[i] : (uint64_t)i * a->bytes;
}
static inline uint64_t
coll_send_len(const struct coll_args *a, uint32_t i)
{
	return a->send_bytes ? a->send_bytes[i] : a->bytes;
}
static inline uint64_t
coll_send_off(const struct coll_args *a, uint32_t i)
{
	return a->send_displ ? a->send_displ[i] : (uint64_t)i * a->bytes;
}

/* Pieces that several algorithms share. */
void coll_barrier_group(struct coll_schedule *s, const struct coll_group *g);
void coll_bcast_group(struct coll_schedule *s, const struct coll_group *g, uint32_t root,
		      struct coll_range what);
void coll_scatter_ring_group(struct coll_schedule *s, const struct coll_group *g, uint32_t root,
			     uint64_t bytes);
/* Of elements of that many bytes; at least as many as there are processes. */
void coll_ring_group(struct coll_schedule *s, const struct coll_group *g, uint64_t off,
		     uint64_t bytes, uint64_t elem);
void coll_reduce_group(struct coll_schedule *s, const struct coll_group *g, uint32_t root,
		       uint64_t bytes, bool commutative);
/* To virtual rank 0, of bytes at acc in COLL_TMP; in rank order. */
void coll_reduce_scratch_group(struct coll_schedule *s, const struct coll_group *g, uint64_t acc,
			       uint64_t bytes);
/* Of the part of the vector from off on. */
void coll_allreduce_group(struct coll_schedule *s, const struct coll_group *g, uint64_t off,
			  uint64_t bytes);
/* Alltoall in ceil(log2 p) rounds by store and forward; xor: partners exchange (p a
 * power of two), else to the one 2^i after and from the one 2^i before. */
int coll_alltoall_rounds(struct coll_schedule *s, const struct coll_args *a, bool xor);
/* Folding p processes into the largest power of two: the first 2 * extra work in
 * pairs, of which the odd one goes on.  pow2 are left, numbered v in rank order. */
struct coll_fold {
	uint32_t pow2, extra;
	bool out;   /* I am folded into my right neighbour */
	bool pair;  /* my left neighbour is folded into me */
	uint32_t v; /* my number, if I am not out */
};
struct coll_fold coll_fold(uint32_t p, uint32_t me);
static inline uint32_t
coll_unfold(const struct coll_fold *f, uint32_t v)
{
	return v < f->extra ? 2 * v + 1 : v + f->extra;
}
/* COLL_RECV := own contribution (reductions). */
void coll_own_into_recv(struct coll_schedule *s, const struct coll_args *a);
/* Even split of bytes into n parts at element borders. */
struct coll_part {
	uint64_t off, len;
};
struct coll_part coll_part(uint64_t bytes, uint64_t elem, uint32_t n, uint32_t i);
/* Into how many segments the vector is cut. */
uint32_t coll_segments(const struct coll_args *a);
/* The same for what is cut only if asked: into pieces of at least `piece` bytes, 1 if that is 0. */
#define COLL_PIECES_MAX 16u
uint32_t coll_pieces(uint64_t bytes, uint64_t piece);

/* n numbers of memory that lasts as long as the schedule, from the end of the arena; NULL
 * (and the sticky error) if there is no room. */
uint32_t *coll_numbers(struct coll_schedule *s, uint32_t n);
uint64_t *coll_offsets(struct coll_schedule *s, uint32_t n);
/* Are there several places? */
bool coll_many_places(const struct coll_args *a);

/* The domain of each rank, and the lowest rank of each; returns how many there are. */
uint32_t coll_domains_number(const uint32_t *key, uint32_t n, uint32_t *number, uint32_t *lowest);
/* The same, and who is in each: rank[first[d]] .. rank[first[d + 1] - 1], ascending.  False: the
 * arena is too small. */
struct coll_domains {
	uint32_t count, mine, me; /* me: which of its domain the rank is */
	const uint32_t *number;	  /* [n] */
	const uint32_t *first;	  /* [count + 1] */
	const uint32_t *rank;	  /* [n] */
};
bool coll_domains_find(struct coll_schedule *s, const uint32_t *key, uint32_t n, uint32_t rank,
		       struct coll_domains *d);

/* The members of my place and the masters (lowest rank of each place), as
 * groups.  Root, if given, is master of its own place.  A place is a cluster, or, if there is
 * only one, a node.  False if the arena is too small. */
struct coll_hier {
	const uint32_t *of; /* the domain of each rank */
	struct coll_group local, masters;
	bool is_master;
	uint32_t master_local; /* my place's master, as a local virtual rank */
	uint32_t root_master;  /* the root's place, as a masters virtual rank */
};
bool coll_hier_find(struct coll_schedule *s, const struct coll_args *a, struct coll_hier *h);

static inline struct coll_range
coll_vector(uint64_t bytes)
{
	return (struct coll_range){COLL_RECV, 0, bytes};
}

/* What a file of this folder knows of its algorithm: struct coll_algorithm without the number. */
struct coll_recipe {
	enum coll_op op;
	const char *name, *cost;
	bool (*fits)(const struct coll_args *a);
	int (*build)(struct coll_schedule *s, const struct coll_args *a);
};

#define COLL_DECLARE(id, version, name) extern const struct coll_recipe coll_alg_##name;
/* Number, version, name.  Numbers go over the wire (light/note.h): a new algorithm takes the next
 * one, that of one which is gone is not given again.  The version is raised when the messages
 * change that the algorithm makes of the same arguments; test_coll_numbers has their sums. */
/* clang-format off */
#define COLL_ALL(X)                                             \
	X(1, 1, barrier_dissemination)                          \
	X(2, 1, barrier_hier)                                   \
	X(3, 1, barrier_linear)                                 \
	X(4, 1, bcast_binomial)                                 \
	X(5, 1, bcast_linear)                                   \
	X(6, 1, allreduce_linear)                               \
	X(7, 1, bcast_scatter_ring)                             \
	X(8, 1, bcast_hier)                                     \
	X(9, 1, reduce_binomial)                                \
	X(10, 1, reduce_hier)                                   \
	X(11, 1, allreduce_recursive_doubling)                  \
	X(12, 1, allreduce_ring)                                \
	X(13, 1, allreduce_hier)                                \
	X(14, 1, allreduce_places)                              \
	X(15, 1, allgather_hier)                                \
	X(16, 1, allgather_linear)                              \
	X(17, 1, gather_binomial)                               \
	X(18, 1, gather_linear)                                 \
	X(19, 1, scatter_binomial)                              \
	X(20, 1, scatter_linear)                                \
	X(21, 1, allgather_ring)                                \
	X(22, 1, allgather_bruck)                               \
	X(23, 1, allgather_recursive_doubling)                  \
	X(24, 1, alltoall_pairwise)                             \
	X(25, 1, alltoall_pairs)                                \
	X(26, 1, alltoall_bruck)                                \
	X(27, 1, alltoall_recursive_doubling)                   \
	X(28, 1, barrier_recursive_doubling)                    \
	X(29, 1, allreduce_rabenseifner)                        \
	X(30, 1, bcast_graph)                                   \
	X(31, 1, alltoall_linear)                               \
	X(32, 1, alltoall_hier)                                 \
	X(33, 1, reduce_scatter_pairwise)                       \
	X(34, 1, reduce_scatter_reduce)                         \
	X(35, 1, reduce_scatter_hier)                           \
	X(36, 1, scan_doubling)                                 \
	X(37, 1, exscan_doubling)                               \
	X(38, 1, impi_barrier)                                  \
	X(39, 1, impi_bcast)                                    \
	X(40, 1, impi_reduce)                                   \
	X(41, 1, impi_allreduce)                                \
	X(42, 1, impi_gather)                                   \
	X(43, 1, impi_scatter)                                  \
	X(44, 1, impi_allgather)                                \
	X(45, 1, impi_alltoall)                                 \
	X(46, 1, impi_reduce_scatter)                           \
	X(47, 1, impi_scan)                                     \
	X(48, 1, neighbor_linear)                               \
	X(49, 1, inter_barrier)                                 \
	X(50, 1, inter_bcast)                                   \
	X(51, 1, inter_reduce)                                  \
	X(52, 1, inter_allreduce)                               \
	X(53, 1, inter_gather)                                  \
	X(54, 1, inter_scatter)                                 \
	X(55, 1, inter_allgather)                               \
	X(56, 1, inter_alltoall)                                \
	X(57, 1, inter_reduce_scatter)                          \
	X(58, 1, reduce_graph)                                  \
	X(59, 1, allreduce_graph)                               \
	X(60, 1, alltoall_ring)                                 \
	X(61, 1, alltoall_torus)                                \
	X(62, 1, allgather_torus)                               \
	X(63, 1, allreduce_torus)                               \
	X(64, 1, allreduce_torus_whole)                         \
	X(65, 1, bcast_pipeline)                                \
	X(66, 1, bcast_torus)
/* clang-format on */
COLL_ALL(COLL_DECLARE)

#endif
