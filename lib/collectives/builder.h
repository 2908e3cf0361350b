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

/* n numbers of memory that lasts as long as the schedule, from the end of the arena; NULL
 * (and the sticky error) if there is no room. */
uint32_t *coll_numbers(struct coll_schedule *s, uint32_t n);
uint64_t *coll_offsets(struct coll_schedule *s, uint32_t n);
/* Are there several places? */
bool coll_many_places(const struct coll_args *a);

/* The members of my place and the masters (lowest rank of each place), as
 * groups.  Root, if given, is master of its own place.  A place is a cluster, or, if there is
 * only one, a node.  False if the arena is too small. */
struct coll_hier {
	const uint32_t *of; /* the place of each rank, any number */
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

#define COLL_DECLARE(name) extern const struct coll_algorithm coll_alg_##name;
/* clang-format off */
#define COLL_ALL(X)                                                            \
	X(barrier_dissemination) X(barrier_hier) X(barrier_linear)                \
	X(bcast_binomial) X(bcast_linear) X(allreduce_linear)                     \
	X(bcast_scatter_ring) X(bcast_hier) X(reduce_binomial)   \
	X(reduce_hier) X(allreduce_recursive_doubling) X(allreduce_ring)          \
	X(allreduce_hier) X(allreduce_places)           \
	X(allgather_hier) X(allgather_linear) X(gather_binomial)                  \
	X(gather_linear) X(scatter_binomial) X(scatter_linear) X(allgather_ring)  \
	X(allgather_bruck) X(allgather_recursive_doubling) X(alltoall_pairwise)   \
	X(alltoall_pairs) X(alltoall_bruck) X(alltoall_recursive_doubling)        \
	X(barrier_recursive_doubling) X(allreduce_rabenseifner) X(bcast_graph)    \
	X(alltoall_linear) X(alltoall_hier) X(reduce_scatter_pairwise)            \
	X(reduce_scatter_reduce) X(reduce_scatter_hier)                           \
	X(scan_doubling) X(exscan_doubling)                                       \
	X(impi_barrier) X(impi_bcast) X(impi_reduce) X(impi_allreduce)            \
	X(impi_gather) X(impi_scatter) X(impi_allgather) X(impi_alltoall)         \
	X(impi_reduce_scatter) X(impi_scan) X(neighbor_linear)      \
	X(inter_barrier) X(inter_bcast) X(inter_reduce) X(inter_allreduce)        \
	X(inter_gather) X(inter_scatter) X(inter_allgather) X(inter_alltoall)     \
	X(inter_reduce_scatter)                                                   \
	X(reduce_graph) X(allreduce_graph) X(alltoall_ring)
/* clang-format on */
COLL_ALL(COLL_DECLARE)

#endif
