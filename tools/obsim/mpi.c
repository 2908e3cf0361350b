/* Traces of libmpitrace: the collective calls on communicators of all processes. */
#include "read.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rank_file {
	struct mpitrace t;
	uint64_t whole[64]; /* communicators of all processes */
	uint32_t wholes;
	double compute_s; /* since the last call that is replayed */
	struct mpitrace_record r;
	enum coll_op op; /* COLL_OP_COUNT: the file is over */
	bool open;
};

/* Blocking forms, also those of large counts. */
static enum coll_op
op_of(const char *name)
{
	static const struct {
		const char *name;
		enum coll_op op;
	} table[] = {
		{"MPI_Barrier", COLL_BARRIER},
		{"MPI_Bcast", COLL_BCAST},
		{"MPI_Reduce", COLL_REDUCE},
		{"MPI_Allreduce", COLL_ALLREDUCE},
		{"MPI_Gather", COLL_GATHER},
		{"MPI_Gatherv", COLL_GATHER},
		{"MPI_Allgather", COLL_ALLGATHER},
		{"MPI_Allgatherv", COLL_ALLGATHER},
		{"MPI_Scatter", COLL_SCATTER},
		{"MPI_Scatterv", COLL_SCATTER},
		{"MPI_Alltoall", COLL_ALLTOALL},
		{"MPI_Alltoallv", COLL_ALLTOALL},
		{"MPI_Alltoallw", COLL_ALLTOALL},
		{"MPI_Reduce_scatter", COLL_REDUCE_SCATTER},
		{"MPI_Reduce_scatter_block", COLL_REDUCE_SCATTER},
		{"MPI_Scan", COLL_SCAN},
		{"MPI_Exscan", COLL_EXSCAN},
	};
	size_t len = strlen(name);
	if (len > 2 && !strcmp(name + len - 2, "_c"))
		len -= 2;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (strlen(table[i].name) == len && !strncmp(table[i].name, name, len))
			return table[i].op;
	return COLL_OP_COUNT;
}

static bool
is_whole(const struct rank_file *f, uint64_t comm)
{
	for (uint32_t i = 0; i < f->wholes; i++)
		if (f->whole[i] == comm)
			return true;
	return false;
}

/* Go on to the next call that is replayed. */
static const char *
advance(struct rank_file *f)
{
	const char *why = NULL;
	size_t at;
	int more;
	f->compute_s = 0;
	while ((more = mpitrace_next(&f->t, &f->r, &why, &at)) > 0) {
		f->compute_s += (double)f->r.compute_ns * 1e-9;
		if (f->r.type == MPITRACE_COMM && f->r.nlocal == f->t.size && !f->r.nremote &&
		    f->wholes < 64)
			f->whole[f->wholes++] = f->r.comm;
		if (f->r.type != MPITRACE_CALL)
			continue;
		f->op = op_of(f->r.name);
		if (f->op < COLL_OP_COUNT && is_whole(f, f->r.comm))
			return NULL;
		f->compute_s += (double)f->r.inside_ns * 1e-9;
	}
	f->op = COLL_OP_COUNT;
	return more < 0 ? why : NULL;
}

static uint64_t
bytes(const struct obs_trace *t, const struct rank_file *f, uint32_t files)
{
	uint64_t in = 0, out = 0;
	for (uint32_t r = 0; r < files; r++) {
		in = f[r].r.in > in ? f[r].r.in : in;
		out = f[r].r.out > out ? f[r].r.out : out;
	}
	switch (f[0].op) {
	case COLL_GATHER:
	case COLL_ALLGATHER:
		return out;
	case COLL_SCATTER:
	case COLL_REDUCE_SCATTER:
		return in;
	case COLL_ALLTOALL:
		return (out > in ? out : in) / t->ranks;
	default:
		return out > in ? out : in;
	}
}

static const char *
next_call(struct obs_trace *t, struct rank_file *f, uint32_t files, bool *over)
{
	for (uint32_t r = 0; r < files; r++) {
		const char *why = advance(&f[r]);
		if (why)
			return why;
	}
	for (uint32_t r = 0; r < files; r++) {
		struct obs_step s = {.rank = r, .s = f[r].compute_s};
		if (f[r].op != f[0].op)
			return "the ranks do not make the same collective calls";
		if (s.s > 0 && !(t->steps < OBS_STEPS_MAX))
			return "too many calls";
		if (t->steps + 2 > t->room) {
			t->room = t->room ? 2 * t->room : 64;
			struct obs_step *more = realloc(t->step, t->room * sizeof *more);
			if (!more)
				return "out of memory";
			t->step = more;
		}
		t->step[t->steps++] = s;
	}
	*over = f[0].op == COLL_OP_COUNT;
	if (*over)
		return NULL;
	struct obs_step s = {.call = true, .op = f[0].op, .bytes = bytes(t, f, files)};
	if (s.bytes > OBS_BYTES_MAX)
		return "a call of more bytes than there are";
	bool rooted = s.op == COLL_BCAST || s.op == COLL_REDUCE || s.op == COLL_GATHER ||
		      s.op == COLL_SCATTER;
	if (rooted && (f[0].r.peer < 0 || f[0].r.peer >= t->ranks))
		return "a root that is no rank";
	s.root = rooted ? (uint32_t)f[0].r.peer : 0;
	t->step[t->steps++] = s;
	return NULL;
}

static const char *
open_all(struct rank_file *f, const void *const data[], const size_t len[], uint32_t files)
{
	for (uint32_t i = 0; i < files; i++) {
		struct mpitrace head;
		const char *why = mpitrace_open(&head, data[i], len[i]);
		if (!why && (head.size != files || f[head.rank].open))
			why = "not one file of every rank";
		if (why) {
			mpitrace_done(&head);
			return why;
		}
		f[head.rank].t = head;
		f[head.rank].open = true;
	}
	return NULL;
}

bool
obs_trace_mpi(struct obs_trace *t, const void *const data[], const size_t len[], uint32_t files)
{
	*t = (struct obs_trace){.ranks = files};
	const char *why = files && files <= OBS_RANKS_MAX ? NULL : "too many ranks";
	struct rank_file *f = why ? NULL : calloc(files, sizeof *f);
	bool over = false;
	if (!why)
		why = f ? open_all(f, data, len, files) : "out of memory";
	while (!why && !over)
		why = next_call(t, f, files, &over);
	for (uint32_t i = 0; f && i < files; i++)
		if (f[i].open)
			mpitrace_done(&f[i].t);
	free(f);
	if (why)
		snprintf(t->why, sizeof t->why, "%s", why);
	return !why;
}
