/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces of libmpitrace: the collective calls on communicators of all processes.  Each rank's file
 * is read from one of them to the next; what lies between is computing and waiting of that rank. */
#include "read.h"
#include "trace.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request that is under way, of a call that is replayed. */
struct under_way {
	uint64_t request;
	uint32_t number;
};

struct rank_file {
	struct mpitrace t;
	uint32_t rank;
	uint64_t whole[64]; /* communicators of all processes */
	uint32_t wholes;
	double compute_s; /* since the last step of this rank */
	double inside_s;  /* of the last call: computing, unless it has completed something */
	struct mpitrace_record r;
	enum coll_op op; /* COLL_OP_COUNT: the file is over */
	bool start;
	struct under_way way[OBS_OPEN_MAX];
	uint32_t ways;
	bool open;
};

/* Blocking forms and, with an I before, the others; also those of large counts. */
static enum coll_op
op_of(const char *name, bool *start)
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
	*start = !strncmp(name, "MPI_I", 5) && islower((unsigned char)name[5]);
	size_t skip = *start ? 5 : 4; /* an MPI_Ibcast is a Bcast */
	if (strncmp(name, "MPI_", 4) != 0 || len <= skip)
		return COLL_OP_COUNT;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		const char *of = table[i].name + 4;
		if (strlen(of) == len - skip &&
		    toupper((unsigned char)name[skip]) == (unsigned char)*of &&
		    !strncmp(of + 1, name + skip + 1, len - skip - 1))
			return table[i].op;
	}
	return COLL_OP_COUNT;
}

static bool
mpi_is_whole(const struct rank_file *f, uint64_t comm)
{
	for (uint32_t i = 0; i < f->wholes; i++)
		if (f->whole[i] == comm)
			return true;
	return false;
}

static bool
computed(struct obs_trace *t, struct rank_file *f)
{
	struct obs_step s = {.kind = OBS_COMPUTE, .rank = f->rank, .s = f->compute_s};
	f->compute_s = 0;
	return s.s <= 0 || obs_trace_add(t, &s);
}

/* The request of a call that is replayed is complete here. */
static bool
completed(struct obs_trace *t, struct rank_file *f)
{
	for (uint32_t i = 0; i < f->ways; i++) {
		if (f->way[i].request != f->r.request)
			continue;
		struct obs_step s = {.kind = OBS_WAIT, .rank = f->rank, .number = f->way[i].number};
		f->way[i] = f->way[--f->ways];
		f->inside_s = 0;
		return computed(t, f) && obs_trace_add(t, &s);
	}
	return true;
}

static void
mpi_communicator(struct rank_file *f)
{
	if (f->r.nlocal == f->t.size && !f->r.nremote && f->wholes < 64)
		f->whole[f->wholes++] = f->r.comm;
}

/* Is it a call that is replayed?  A non-blocking one says behind itself which request is its. */
static bool
replayed(struct rank_file *f)
{
	bool start = false;
	enum coll_op op = f->r.type == MPITRACE_CALL ? op_of(f->r.name, &start) : COLL_OP_COUNT;
	if (op == COLL_OP_COUNT || !mpi_is_whole(f, f->r.comm))
		return false;
	f->op = op;
	f->start = start;
	return true;
}

static const char *
start_mpi(const struct obs_trace *t, struct rank_file *f)
{
	const char *why = NULL;
	struct mpitrace_record r;
	size_t at;
	if (mpitrace_next(&f->t, &r, &why, &at) < 0)
		return why;
	if (r.type != MPITRACE_START)
		return "a non-blocking call without its request";
	if (f->ways == OBS_OPEN_MAX)
		return "too many calls under way";
	f->way[f->ways++] = (struct under_way){r.request, t->starts};
	return NULL;
}

/* Go on to the next call that is replayed. */
static const char *
advance_mpi(struct obs_trace *t, struct rank_file *f)
{
	const char *why = NULL;
	size_t at;
	int more;
	while ((more = mpitrace_next(&f->t, &f->r, &why, &at)) > 0) {
		if (f->r.type == MPITRACE_DONE) {
			if (!completed(t, f))
				return "too many calls";
			continue;
		}
		f->compute_s += (double)f->r.compute_ns * 1e-9 + f->inside_s;
		f->inside_s = 0;
		if (f->r.type == MPITRACE_COMM)
			mpi_communicator(f);
		if (replayed(f))
			return !computed(t, f) ? "too many calls"
			       : f->start      ? start_mpi(t, f)
					       : NULL;
		f->inside_s = (double)f->r.inside_ns * 1e-9;
	}
	f->op = COLL_OP_COUNT;
	return more < 0 ? why : computed(t, f) ? NULL : "too many calls";
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
		const char *why = advance_mpi(t, &f[r]);
		if (why)
			return why;
	}
	for (uint32_t r = 0; r < files; r++)
		if (f[r].op != f[0].op || (f[r].op != COLL_OP_COUNT && f[r].start != f[0].start))
			return "the ranks do not make the same collective calls";
	*over = f[0].op == COLL_OP_COUNT;
	if (*over)
		return NULL;
	struct obs_step s = {.kind = f[0].start ? OBS_START : OBS_CALL,
			     .op = f[0].op,
			     .bytes = bytes(t, f, files),
			     .number = f[0].start ? t->starts++ : 0};
	if (s.bytes > OBS_BYTES_MAX)
		return "a call of more bytes than there are";
	bool rooted = s.op == COLL_BCAST || s.op == COLL_REDUCE || s.op == COLL_GATHER ||
		      s.op == COLL_SCATTER;
	if (rooted && (f[0].r.peer < 0 || f[0].r.peer >= t->ranks))
		return "a root that is no rank";
	s.root = rooted ? (uint32_t)f[0].r.peer : 0;
	return obs_trace_add(t, &s) ? NULL : "too many calls";
}

static const char *
open_all_mpi(struct rank_file *f, const void *const data[], const size_t len[], uint32_t files)
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
		f[head.rank].rank = head.rank;
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
		why = f ? open_all_mpi(f, data, len, files) : "out of memory";
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
