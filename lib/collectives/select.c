/* SPDX-License-Identifier: BSD-2-Clause */
/* Which algorithm for which call: a table of rules, first match wins.  A rule
 * holds where the processes are so, for totals up to bytes_max (of the whole vector or of
 * one block, as the operation counts) and sizes up to size_max. */
#include "builder.h"

#include "base/assert.h"

#include <string.h>

#define ANY  UINT64_MAX
#define MANY UINT32_MAX
#define KiB  (UINT64_C(1) << 10)

/* Where the processes are. */
enum {
	CLUSTERS = 1, /* in several clusters */
	NODES = 2,    /* on several nodes of one, some of them on the same */
	MEMORY = 4,   /* all on one node */
	APART = 8,    /* each on its own, or nobody knows */
	ALL = 15
};

struct rule {
	enum coll_op op;
	unsigned where;
	uint64_t bytes_max;
	uint32_t size_max;
	const char *name;
};

/* On one node a message costs little and a process that waits for another one much: few
 * rounds, everybody reads what it needs from whoever has it. */
static const struct rule rules[] = {
	{COLL_BARRIER, CLUSTERS | NODES, ANY, MANY, "hier"},
	{COLL_BARRIER, MEMORY, ANY, 16, "linear"},
	{COLL_BARRIER, ALL, ANY, MANY, "dissemination"},
	{COLL_BCAST, CLUSTERS | NODES, ANY, MANY, "hier"},
	{COLL_BCAST, MEMORY, 1 * KiB, 16, "linear"},
	{COLL_BCAST, MEMORY, 8 * KiB, MANY, "binomial"},
	{COLL_BCAST, MEMORY, ANY, 32, "linear"},
	{COLL_BCAST, ALL, 128 * KiB, MANY, "binomial"},
	{COLL_BCAST, ALL, ANY, 3, "binomial"},
	{COLL_BCAST, ALL, ANY, MANY, "scatter_ring"},
	{COLL_REDUCE, CLUSTERS | NODES, ANY, MANY, "hier"},
	{COLL_REDUCE, ALL, ANY, MANY, "binomial"},
	{COLL_ALLREDUCE, CLUSTERS, 64 * KiB, MANY, "hier"},
	{COLL_ALLREDUCE, NODES, 4 * KiB, MANY, "hier"},
	{COLL_ALLREDUCE, MEMORY, 256, 16, "linear"},
	{COLL_ALLREDUCE, MEMORY, 4 * KiB, MANY, "recursive_doubling"},
	{COLL_ALLREDUCE, CLUSTERS | NODES | MEMORY, ANY, 256, "places"},
	{COLL_ALLREDUCE, CLUSTERS, ANY, MANY, "hier"},
	{COLL_ALLREDUCE, ALL, 16 * KiB, MANY, "recursive_doubling"},
	{COLL_ALLREDUCE, ALL, ANY, MANY, "ring"},
	{COLL_ALLREDUCE, ALL, ANY, MANY, "recursive_doubling"},
	{COLL_GATHER, ALL, 8 * KiB, MANY, "binomial"},
	{COLL_GATHER, ALL, ANY, MANY, "linear"},
	{COLL_SCATTER, ALL, 8 * KiB, MANY, "binomial"},
	{COLL_SCATTER, ALL, ANY, MANY, "linear"},
	{COLL_ALLGATHER, CLUSTERS, ANY, MANY, "hier"},
	{COLL_ALLGATHER, ALL, 4 * KiB, MANY, "bruck"},
	{COLL_ALLGATHER, MEMORY, ANY, 32, "linear"},
	{COLL_ALLGATHER, ALL, ANY, MANY, "ring"},
	/* Of short blocks a datagram each is what costs. */
	{COLL_ALLTOALL, CLUSTERS | NODES, 256, 256, "hier"},
	/* Over a WAN rounds cost round trips, and few of a round's messages cross it, so that most
	 * of several relays have nothing to do: doc/evaluation.md, Schedules. */
	{COLL_ALLTOALL, CLUSTERS, ANY, 64, "linear"},
	{COLL_ALLTOALL, MEMORY, ANY, 32, "linear"},
	/* Measured with 4 and 8 processes on 2 nodes: 1.0 to 1.2 times as fast as pairwise. */
	{COLL_ALLTOALL, NODES, 64 * KiB, 8, "linear"},
	{COLL_ALLTOALL, ALL, 512, 64, "linear"},
	{COLL_ALLTOALL, ALL, ANY, MANY, "pairwise"},
	{COLL_REDUCE_SCATTER, CLUSTERS, ANY, MANY, "hier"},
	{COLL_REDUCE_SCATTER, ALL, ANY, MANY, "pairwise"},
	{COLL_REDUCE_SCATTER, ALL, ANY, MANY, "reduce"},
	{COLL_SCAN, ALL, ANY, MANY, "doubling"},
	{COLL_EXSCAN, ALL, ANY, MANY, "doubling"},
	{COLL_NEIGHBOR, ALL, ANY, MANY, "linear"},
};

static unsigned
where(const struct coll_args *a)
{
	if (a->cluster_of)
		return CLUSTERS;
	return a->near.of ? NODES : a->near.count == 1 ? MEMORY : APART;
}

enum coll_op
coll_op_of(const char *name)
{
	int op = 0;
	while (op < COLL_OP_COUNT && strcmp(coll_op_name((enum coll_op)op), name) != 0)
		op++;
	return (enum coll_op)op;
}

bool
coll_rule_ok(const struct coll_rule *r)
{
	return coll_algorithm_of(r->op, r->algorithm) && strcmp(r->algorithm, COLL_INTER) != 0;
}

/* The algorithm of that name, if it takes these arguments. */
static const char *
select_usable(const struct coll_args *a, const char *name)
{
	const struct coll_algorithm *alg = coll_algorithm_of(a->op, name);
	return alg && (!alg->fits || alg->fits(a)) ? alg->name : NULL;
}

const char *
coll_select(const struct coll_args *a)
{
	unsigned at = where(a);
	const char *name;
	if (a->remote)
		return COLL_INTER;
	for (uint32_t r = 0; a->rules && r < a->rules->count; r++) {
		const struct coll_rule *t = &a->rules->rule[r];
		if (t->op == a->op && a->bytes <= t->bytes_max && a->size <= t->size_max &&
		    (name = select_usable(a, t->algorithm)) != NULL)
			return name;
	}
	for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++)
		if (rules[r].op == a->op && (rules[r].where & at) != 0 &&
		    a->bytes <= rules[r].bytes_max && a->size <= rules[r].size_max &&
		    (name = select_usable(a, rules[r].name)) != NULL)
			return name;
	/* cppcheck-suppress incorrectStringBooleanError ; the text is for whoever reads it */
	BASE_ASSERT(false && "every operation has a rule that fits everything");
	return "";
}
