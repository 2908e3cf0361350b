/* SPDX-License-Identifier: BSD-2-Clause */
/* The phases of a kernel, from a file that test/eval/npb32-record writes. */
#include "eval.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 200

struct reading {
	struct eval_app *a;
	const uint32_t *cluster_of;
	const char *alltoall;	 /* its algorithm; NULL: what is selected */
	struct eval_app_rank *r; /* whose lines come; NULL: not there yet */
	uint32_t me, room;
	uint64_t compute_ns; /* before the next phase */
};

static struct eval_phase *
add_phase(struct reading *g)
{
	struct eval_app_rank *r = g->r;

	if (r->phases == g->room) {
		g->room = g->room ? 2 * g->room : 16;
		r->phase = realloc(r->phase, g->room * sizeof *r->phase);
		BASE_ASSERT(r->phase);
	}
	struct eval_phase *f = &r->phase[r->phases++];
	*f = (struct eval_phase){.compute_ns = g->compute_ns};
	g->compute_ns = 0;
	return f;
}

/* MPI_Sendrecv: both at once. */
static void
add_exchange(struct reading *g, uint32_t to, uint64_t out, uint32_t from, uint64_t in)
{
	struct eval_phase *f = add_phase(g);
	struct coll_step *st = calloc(2, sizeof *st);

	BASE_ASSERT(st);
	st[0] = (struct coll_step){
		.kind = COLL_STEP_SEND, .peer = to, .from = {.buf = COLL_SEND, .len = out}};
	st[1] = (struct coll_step){
		.kind = COLL_STEP_RECV, .peer = from, .into = {.buf = COLL_RECV, .len = in}};
	f->arena = st;
	f->s = (struct coll_schedule){
		.rank = g->me, .size = g->a->n, .step = st, .steps = 2, .steps_max = 2};
}

/* bytes: of the vector of a reduction, of a block of the others. */
static void
add_collective(struct reading *g, enum coll_op op, uint64_t bytes)
{
	bool reduces = op == COLL_ALLREDUCE;
	struct coll_args args = {.op = op,
				 .rank = g->me,
				 .size = g->a->n,
				 .bytes = bytes,
				 .elem = reduces && bytes % 8 == 0 ? 8
					 : reduces		   ? 4
								   : 1,
				 .commutative = true,
				 .cluster_of = g->cluster_of};

	eval_phase_collective(add_phase(g), &args, op == COLL_ALLTOALL ? g->alltoall : NULL);
}

/* A line within a rank; NULL: good. */
static const char *
read_step(struct reading *g, const char *line)
{
	unsigned to, from;
	unsigned long long a, b;
	char name[32];

	if (sscanf(line, "c %llu", &a) == 1) {
		g->compute_ns += a;
		return NULL;
	}
	if (sscanf(line, "x %u %llu %u %llu", &to, &a, &from, &b) == 4) {
		if (to >= g->a->n || from >= g->a->n || to == g->me || from == g->me)
			return "a rank exchanges with none that there is";
		add_exchange(g, to, a, from, b);
		return NULL;
	}
	if (sscanf(line, "a %31s %llu", name, &a) == 2) {
		enum coll_op op = coll_op_of(name);
		if (op != COLL_ALLREDUCE && op != COLL_ALLTOALL && op != COLL_BARRIER)
			return "an operation is not allreduce, alltoall or barrier";
		add_collective(g, op, a);
		return NULL;
	}
	return "a line is not c, x or a";
}

/* A process computes so long in an iteration; what the pattern says are shares. */
static void
scale(struct eval_app *a, uint64_t compute_ns)
{
	for (uint32_t i = 0; i < a->n; i++) {
		struct eval_app_rank *r = &a->rank[i];
		uint64_t sum = 0;
		for (uint32_t f = 0; f < r->phases; f++)
			sum += r->phase[f].compute_ns;
		for (uint32_t f = 0; f < r->phases && sum; f++)
			r->phase[f].compute_ns = (uint64_t)((double)r->phase[f].compute_ns *
							    (double)compute_ns / (double)sum);
	}
}

static const char *
read_kernel(FILE *file, const char *kernel, struct reading *g)
{
	char line[LINE_MAX_BYTES], name[32];
	unsigned ranks, rank;
	bool inside = false;
	const char *why = NULL;

	while (!why && fgets(line, sizeof line, file)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (sscanf(line, "kernel %31s class %*s ranks %u", name, &ranks) == 2) {
			if (inside)
				break;
			inside = !strcmp(name, kernel);
			if (inside && ranks != g->a->n)
				why = "the kernel ran on another number of processes";
		} else if (inside && sscanf(line, "rank %u", &rank) == 1) {
			if (rank >= g->a->n || g->a->rank[rank].phases)
				why = "a rank is twice, or is none of these";
			else
				g->r = &g->a->rank[g->me = rank];
			g->room = 0;
			g->compute_ns = 0;
		} else if (inside) {
			why = g->r ? read_step(g, line) : "a line is of no rank";
		}
	}
	for (uint32_t i = 0; !why && i < g->a->n; i++)
		if (!g->a->rank[i].phases)
			why = inside ? "a rank is not there" : "there is no such kernel";
	return why;
}

bool
eval_app_kernel(struct eval_app *a, const struct eval_conf *c, const uint32_t *cluster_of,
		const char **why)
{
	struct reading g = {.a = a, .cluster_of = cluster_of, .alltoall = c->algorithm};
	FILE *f = fopen(c->pattern, "r");

	*why = "cannot be opened";
	if (!f)
		return false;
	*why = read_kernel(f, c->kernel ? c->kernel : "", &g);
	fclose(f);
	if (*why)
		return false;
	if (c->compute_ns)
		scale(a, c->compute_ns);
	eval_app_ready(a);
	return true;
}
