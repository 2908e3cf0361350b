/* Which algorithm for which call: a table of rules, first match wins.  A rule
 * holds for totals up to bytes_max (of the whole vector or of one block, as
 * the operation counts) and sizes up to size_max. */
#include "builder.h"

#include "base/assert.h"

#include <string.h>

#define ANY UINT64_MAX

struct rule {
	enum coll_op op;
	uint64_t bytes_max;
	uint32_t size_max;
	const char *name;
};

static const struct rule rules[] = {
	{COLL_BARRIER, ANY, UINT32_MAX, "hier"},
	{COLL_BARRIER, ANY, UINT32_MAX, "dissemination"},
	{COLL_BCAST, ANY, UINT32_MAX, "hier"},
	{COLL_BCAST, 128 * 1024, UINT32_MAX, "binomial"},
	{COLL_BCAST, ANY, 3, "binomial"},
	{COLL_BCAST, ANY, UINT32_MAX, "scatter_ring"},
	{COLL_REDUCE, ANY, UINT32_MAX, "hier"},
	{COLL_REDUCE, ANY, UINT32_MAX, "binomial"},
	{COLL_ALLREDUCE, ANY, UINT32_MAX, "hier"},
	{COLL_ALLREDUCE, 16 * 1024, UINT32_MAX, "recursive_doubling"},
	{COLL_ALLREDUCE, ANY, UINT32_MAX, "ring"},
	{COLL_ALLREDUCE, ANY, UINT32_MAX, "recursive_doubling"},
	{COLL_GATHER, 8 * 1024, UINT32_MAX, "binomial"},
	{COLL_GATHER, ANY, UINT32_MAX, "linear"},
	{COLL_SCATTER, 8 * 1024, UINT32_MAX, "binomial"},
	{COLL_SCATTER, ANY, UINT32_MAX, "linear"},
	{COLL_ALLGATHER, 4 * 1024, UINT32_MAX, "bruck"},
	{COLL_ALLGATHER, ANY, UINT32_MAX, "ring"},
	{COLL_ALLTOALL, 512, 64, "linear"},
	{COLL_ALLTOALL, ANY, UINT32_MAX, "pairwise"},
	{COLL_REDUCE_SCATTER, ANY, UINT32_MAX, "pairwise"},
	{COLL_REDUCE_SCATTER, ANY, UINT32_MAX, "reduce"},
	{COLL_SCAN, ANY, UINT32_MAX, "doubling"},
	{COLL_EXSCAN, ANY, UINT32_MAX, "doubling"},
	{COLL_NEIGHBOR, ANY, UINT32_MAX, "linear"},
};

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
	size_t count;
	const struct coll_algorithm *alg = coll_algorithms(&count);
	for (size_t i = 0; i < count; i++)
		if (alg[i].op == r->op && !strcmp(alg[i].name, r->algorithm))
			return strcmp(alg[i].name, COLL_INTER) != 0;
	return false;
}

/* The algorithm of that name, if it takes these arguments. */
static const char *
usable(const struct coll_args *a, const char *name)
{
	size_t count;
	const struct coll_algorithm *alg = coll_algorithms(&count);
	for (size_t i = 0; i < count; i++)
		if (alg[i].op == a->op && !strcmp(alg[i].name, name) &&
		    (!alg[i].fits || alg[i].fits(a)))
			return alg[i].name;
	return NULL;
}

const char *
coll_select(const struct coll_args *a)
{
	const char *name;
	if (a->remote)
		return COLL_INTER;
	for (uint32_t r = 0; a->rules && r < a->rules->count; r++) {
		const struct coll_rule *t = &a->rules->rule[r];
		if (t->op == a->op && a->bytes <= t->bytes_max && a->size <= t->size_max &&
		    (name = usable(a, t->algorithm)) != NULL)
			return name;
	}
	for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++)
		if (rules[r].op == a->op && a->bytes <= rules[r].bytes_max &&
		    a->size <= rules[r].size_max && (name = usable(a, rules[r].name)) != NULL)
			return name;
	/* cppcheck-suppress incorrectStringBooleanError ; the text is for whoever reads it */
	BASE_ASSERT(false && "every operation has a rule that fits everything");
	return "";
}
