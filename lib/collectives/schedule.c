/* SPDX-License-Identifier: BSD-2-Clause */
#include "builder.h"

#include "base/assert.h"

#include <string.h>

const char *
coll_strerror(int err)
{
	switch (err) {
#define X(n, v, t) \
	case v:    \
		return t;
		COLL_ERRORS(X)
#undef X
	}
	return "unknown error";
}

const char *
coll_op_name(enum coll_op op)
{
	static const char *const name[COLL_OP_COUNT] = {
		"barrier", "bcast",    "reduce",	 "allreduce", "gather", "allgather",
		"scatter", "alltoall", "reduce_scatter", "scan",      "exscan", "neighbor"};
	return (unsigned)op < COLL_OP_COUNT ? name[op] : "?";
}

static const struct {
	uint16_t id;
	uint8_t version;
	const struct coll_recipe *r;
} algorithms[] = {
#define X(id, version, n) {id, version, &coll_alg_##n},
	COLL_ALL(X)
#undef X
};
#define ALGORITHMS (sizeof algorithms / sizeof algorithms[0])

static struct coll_algorithm flat[ALGORITHMS];

__attribute__((constructor)) static void
flatten(void)
{
	for (size_t i = 0; i < ALGORITHMS; i++) {
		const struct coll_recipe *r = algorithms[i].r;
		flat[i] = (struct coll_algorithm){.op = r->op,
						  .name = r->name,
						  .cost = r->cost,
						  .fits = r->fits,
						  .build = r->build,
						  .id = algorithms[i].id,
						  .version = algorithms[i].version};
	}
}

const struct coll_algorithm *
coll_algorithms(size_t *count)
{
	*count = ALGORITHMS;
	return flat;
}

const struct coll_algorithm *
coll_algorithm_of(enum coll_op op, const char *name)
{
	for (size_t i = 0; i < ALGORITHMS; i++)
		if (flat[i].op == op && !strcmp(flat[i].name, name))
			return &flat[i];
	return NULL;
}

const struct coll_algorithm *
coll_algorithm_by_id(uint16_t id)
{
	for (size_t i = 0; i < ALGORITHMS; i++)
		if (flat[i].id == id)
			return &flat[i];
	return NULL;
}

#define SEGMENT	     (UINT64_C(64) << 10)
#define SEGMENTS_MAX 256u

uint32_t
coll_segments(const struct coll_args *a)
{
	uint64_t each = a->segment ? a->segment : SEGMENT;
	uint64_t n = a->bytes / each + (a->bytes % each != 0);
	return n > SEGMENTS_MAX ? SEGMENTS_MAX : n ? (uint32_t)n : 1;
}

uint32_t
coll_pieces(uint64_t bytes, uint64_t piece)
{
	uint64_t n = piece ? bytes / piece + (bytes % piece != 0) : 1;
	return n > COLL_PIECES_MAX ? COLL_PIECES_MAX : n ? (uint32_t)n : 1;
}

/* Steps of a Bcast in segments: a segment comes, and goes to two neighbours a dimension. */
static size_t
segment_steps(const struct coll_args *a)
{
	size_t dims = 2;
	for (uint64_t d = a->dims >> 16; d; d >>= 8)
		dims++;
	return a->op == COLL_BCAST ? coll_segments(a) * (1 + 2 * dims) : 0;
}

/* Steps that are there because something is cut in pieces: each of them, to and from all. */
static size_t
piece_steps(const struct coll_args *a)
{
	bool cut = a->op == COLL_BCAST ? a->segment : a->op == COLL_ALLTOALL && a->slice;
	return cut ? (size_t)2 * COLL_PIECES_MAX * a->size : 0;
}

/* Every algorithm here adds at most 6 steps per peer or per round, and a step
 * depends on at most about 6 others, plus p for the ones that gather. */
size_t
coll_arena_hint(const struct coll_args *a)
{
	size_t p = (size_t)a->size + a->remote;
	size_t cut = segment_steps(a) + piece_steps(a);
	size_t steps = 8 * p + 256 + a->indegree + a->outdegree + cut;
	size_t deps = 40 * p + 1024 + 2 * cut;
	return steps * sizeof(struct coll_step) + deps * sizeof(uint32_t) + 64;
}

static bool
args_ok(const struct coll_args *a)
{
	uint32_t roots = a->remote ? a->remote : a->size;
	if ((unsigned)a->op >= COLL_OP_COUNT || !a->size || a->rank >= a->size || a->root >= roots)
		return false;
	if (!a->elem || (!a->bytes_of && a->bytes % a->elem))
		return false;
	return true;
}

int
coll_build(struct coll_schedule *s, const struct coll_args *a, const char *algorithm, void *arena,
	   size_t arena_len)
{
	if (!args_ok(a))
		return COLL_ERR_INVAL;
	if (!algorithm)
		algorithm = coll_select(a);
	const struct coll_algorithm *alg = coll_algorithm_of(a->op, algorithm);
	if (!alg)
		return COLL_ERR_UNKNOWN;
	if ((a->remote != 0) != !strcmp(alg->name, COLL_INTER) || (alg->fits && !alg->fits(a)))
		return COLL_ERR_RESTRICT;
	/* Three quarters for steps, the rest for dependencies. */
	uintptr_t at = ((uintptr_t)arena + 15) & ~(uintptr_t)15;
	uintptr_t end = (uintptr_t)arena + arena_len;
	if (end < at + 256)
		return COLL_ERR_NOMEM;
	size_t room = end - at;
	memset(s, 0, sizeof *s);
	s->algorithm = alg->name;
	s->rank = a->rank;
	s->size = a->size + a->remote;
	s->steps_max = (uint32_t)(room * 3 / 4 / sizeof(struct coll_step));
	s->step = (struct coll_step *)at;
	s->dep = (uint32_t *)(at + s->steps_max * sizeof(struct coll_step));
	s->deps_max = (uint32_t)((end - (uintptr_t)s->dep) / sizeof(uint32_t));
	int rc = alg->build(s, a);
	if (rc != COLL_ERR_OK)
		return rc;
	return s->steps_max ? COLL_ERR_OK : COLL_ERR_NOMEM;
}
