/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces of libmpitrace: the collective calls.  Each rank's file is read from one of them to the
 * next; what lies between is computing and waiting of that rank.  A call is a step when all its
 * processes have come to it.  Which communicator a rank names is told by who is in it: calls on
 * several of the same processes have one order at all of them. */
#include "read.h"
#include "trace.h"

#include "base/siphash.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX  65536u
#define NO_GROUP    UINT32_MAX
#define GROUP_SLOTS (2 * GROUPS_MAX)

/* A request that is under way, of a call that is replayed. */
struct under_way {
	uint64_t request;
	uint32_t number;
};

/* Processes that make calls together, and the call that some of them have come to. */
struct group {
	uint32_t first, n; /* of obs_trace.member */
	uint32_t here;
	enum coll_op op;
	bool start;
	uint64_t in, out; /* the most of any */
	int64_t root;
};

struct rank_file {
	struct mpitrace t;
	uint32_t rank;
	uint32_t *group; /* [communicators], or NO_GROUP: its calls are not replayed */
	uint32_t groups, room;
	double compute_s; /* since the last step of this rank */
	double inside_s;  /* of the last call: computing, unless it has completed something */
	struct mpitrace_record r;
	enum coll_op op; /* COLL_OP_COUNT: the file is over */
	bool start;
	uint64_t request; /* that the call has begun */
	struct under_way way[OBS_OPEN_MAX];
	uint32_t ways;
	bool open;
};

struct reading {
	struct obs_trace *t;
	struct rank_file *f; /* [ranks] */
	struct group *group;
	uint32_t groups;
	uint32_t *slot;	 /* [GROUP_SLOTS] 1 + group, by hash of its members; 0: free */
	uint32_t *ready; /* [ranks] a ring: groups whose call all have come to */
	uint32_t ready_at, readies;
	uint32_t *rank; /* [ranks] for a moment */
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

/* ---- communicators ---- */

static bool
has_twice(const uint32_t *rank, uint32_t n, uint32_t mine)
{
	uint8_t seen[OBS_RANKS_MAX / 8] = {0};
	bool here = false;
	for (uint32_t i = 0; i < n; i++) {
		uint8_t bit = (uint8_t)(1u << rank[i] % 8);
		if (seen[rank[i] / 8] & bit)
			return true;
		seen[rank[i] / 8] |= bit;
		here |= rank[i] == mine;
	}
	return !here;
}

static bool
members_add(struct obs_trace *t, const uint32_t *rank, uint32_t n, uint32_t *first)
{
	*first = t->nmembers;
	for (uint32_t i = 0; i < n; i++)
		if (!obs_trace_member(t, rank[i]))
			return false;
	return true;
}

/* The group of these processes, in this order; NULL: there are too many. */
static const char *
find_group(struct reading *m, const uint32_t *rank, uint32_t n, uint32_t *found)
{
	static const uint8_t key[16] = "obsim";
	uint64_t at = base_siphash(key, rank, (size_t)n * sizeof *rank) % GROUP_SLOTS;
	for (; m->slot[at]; at = (at + 1) % GROUP_SLOTS) {
		const struct group *g = &m->group[m->slot[at] - 1];
		if (g->n == n && !memcmp(m->t->member + g->first, rank, (size_t)n * sizeof *rank)) {
			*found = m->slot[at] - 1;
			return NULL;
		}
	}
	struct group g = {.n = n};
	if (m->groups == GROUPS_MAX || !members_add(m->t, rank, n, &g.first))
		return "too many communicators";
	m->group[m->groups] = g;
	*found = m->groups++;
	m->slot[at] = m->groups;
	return NULL;
}

/* Of one process, or of two groups: its calls count as computing. */
static const char *
mpi_communicator(struct reading *m, struct rank_file *f)
{
	uint32_t n = (uint32_t)f->r.nlocal, g = NO_GROUP;
	if (f->groups == f->room) {
		uint32_t room = f->room ? 2 * f->room : 16;
		uint32_t *more = realloc(f->group, room * sizeof *more);
		if (!more)
			return "out of memory";
		f->group = more;
		f->room = room;
	}
	if (n > 1 && !f->r.nremote) {
		mpitrace_local(&f->t, &f->r, m->rank);
		if (has_twice(m->rank, n, f->rank))
			return "a communicator that has a process twice, or not the file's own";
		const char *why = find_group(m, m->rank, n, &g);
		if (why)
			return why;
	}
	f->group[f->groups++] = g; /* they are numbered one after another, from 1 on */
	return NULL;
}

/* ---- to the next call ---- */

/* Is it a call that is replayed?  A non-blocking one says behind itself which request is its. */
static bool
replayed(struct rank_file *f)
{
	bool start = false;
	enum coll_op op = f->r.type == MPITRACE_CALL ? op_of(f->r.name, &start) : COLL_OP_COUNT;
	if (op == COLL_OP_COUNT || !f->r.comm || f->group[f->r.comm - 1] == NO_GROUP)
		return false;
	f->op = op;
	f->start = start;
	return true;
}

static const char *
start_mpi(struct rank_file *f)
{
	const char *why = NULL;
	struct mpitrace_record r;
	size_t at;
	if (mpitrace_next(&f->t, &r, &why, &at) < 0)
		return why;
	if (r.type != MPITRACE_START)
		return "a non-blocking call without its request";
	f->request = r.request;
	return NULL;
}

/* Go on to the next call that is replayed. */
static const char *
advance_mpi(struct reading *m, struct rank_file *f)
{
	const char *why = NULL;
	size_t at;
	int more;
	while ((more = mpitrace_next(&f->t, &f->r, &why, &at)) > 0) {
		if (f->r.type == MPITRACE_DONE) {
			if (!completed(m->t, f))
				return "too many calls";
			continue;
		}
		f->compute_s += (double)f->r.compute_ns * 1e-9 + f->inside_s;
		f->inside_s = 0;
		if (f->r.type == MPITRACE_COMM && (why = mpi_communicator(m, f)) != NULL)
			return why;
		if (replayed(f))
			return !computed(m->t, f) ? "too many calls"
			       : f->start	  ? start_mpi(f)
						  : NULL;
		f->inside_s = (double)f->r.inside_ns * 1e-9;
	}
	f->op = COLL_OP_COUNT;
	return more < 0 ? why : computed(m->t, f) ? NULL : "too many calls";
}

static const char *
arrive_mpi(struct reading *m, struct rank_file *f)
{
	const char *why = advance_mpi(m, f);
	if (why || f->op == COLL_OP_COUNT)
		return why;
	uint32_t at = f->group[f->r.comm - 1];
	struct group *g = &m->group[at];
	if (!g->here) {
		g->op = f->op;
		g->start = f->start;
		g->root = f->r.peer;
		g->in = g->out = 0;
	}
	if (g->op != f->op || g->start != f->start)
		return "the ranks do not make the same collective calls";
	g->in = f->r.in > g->in ? f->r.in : g->in;
	g->out = f->r.out > g->out ? f->r.out : g->out;
	if (++g->here == g->n)
		m->ready[(m->ready_at + m->readies++) % m->t->ranks] = at;
	return NULL;
}

/* ---- calls ---- */

static uint64_t
bytes(const struct group *g)
{
	switch (g->op) {
	case COLL_GATHER:
	case COLL_ALLGATHER:
		return g->out;
	case COLL_SCATTER:
	case COLL_REDUCE_SCATTER:
		return g->in;
	case COLL_ALLTOALL:
		return (g->out > g->in ? g->out : g->in) / g->n;
	default:
		return g->out > g->in ? g->out : g->in;
	}
}

/* As MPI_COMM_WORLD: all ranks, in their order. */
static bool
is_world(const struct obs_trace *t, const struct group *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (t->member[g->first + i] != i)
			return false;
	return g->n == t->ranks;
}

static const char *
add_call(struct reading *m, const struct group *g)
{
	struct obs_trace *t = m->t;
	bool world = is_world(t, g);
	struct obs_step s = {.kind = g->start ? OBS_START : OBS_CALL,
			     .op = g->op,
			     .bytes = bytes(g),
			     .number = g->start ? t->starts++ : 0,
			     .first_member = world ? 0 : g->first,
			     .members = world ? 0 : g->n};
	bool rooted = s.op == COLL_BCAST || s.op == COLL_REDUCE || s.op == COLL_GATHER ||
		      s.op == COLL_SCATTER;
	if (s.bytes > OBS_BYTES_MAX)
		return "a call of more bytes than there are";
	if (rooted && (g->root < 0 || g->root >= g->n))
		return "a root that is no rank";
	s.root = rooted ? (uint32_t)g->root : 0;
	for (uint32_t i = 0; g->start && i < g->n; i++) {
		struct rank_file *f = &m->f[t->member[g->first + i]];
		if (f->ways == OBS_OPEN_MAX)
			return "too many calls under way";
		f->way[f->ways++] = (struct under_way){f->request, s.number};
	}
	return obs_trace_add(t, &s) ? NULL : "too many calls";
}

static const char *
next_call(struct reading *m)
{
	struct group *g = &m->group[m->ready[m->ready_at]];
	const char *why = add_call(m, g);
	m->ready_at = (m->ready_at + 1) % m->t->ranks;
	m->readies--;
	g->here = 0;
	for (uint32_t i = 0; !why && i < g->n; i++)
		why = arrive_mpi(m, &m->f[m->t->member[g->first + i]]);
	return why;
}

/* All files: how each goes on depends on when the others come. */
static const char *
read_calls(struct reading *m)
{
	const char *why = NULL;
	for (uint32_t r = 0; !why && r < m->t->ranks; r++)
		why = arrive_mpi(m, &m->f[r]);
	while (!why && m->readies)
		why = next_call(m);
	for (uint32_t r = 0; !why && r < m->t->ranks; r++)
		if (m->f[r].op != COLL_OP_COUNT)
			why = "the ranks do not make the same collective calls";
	return why;
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

static void
free_reading(struct reading *m)
{
	for (uint32_t i = 0; m->f && i < m->t->ranks; i++) {
		if (m->f[i].open)
			mpitrace_done(&m->f[i].t);
		free(m->f[i].group);
	}
	free(m->f);
	free(m->group);
	free(m->slot);
	free(m->ready);
	free(m->rank);
}

bool
obs_trace_mpi(struct obs_trace *t, const void *const data[], const size_t len[], uint32_t files)
{
	*t = (struct obs_trace){.ranks = files};
	const char *why = files && files <= OBS_RANKS_MAX ? NULL : "too many ranks";
	struct reading m = {.t = t};
	if (!why) {
		m.f = calloc(files, sizeof *m.f);
		m.group = calloc(GROUPS_MAX, sizeof *m.group);
		m.slot = calloc(GROUP_SLOTS, sizeof *m.slot);
		m.ready = calloc(files, sizeof *m.ready);
		m.rank = calloc(files, sizeof *m.rank);
		why = m.f && m.group && m.slot && m.ready && m.rank
			      ? open_all_mpi(m.f, data, len, files)
			      : "out of memory";
	}
	if (!why)
		why = read_calls(&m);
	free_reading(&m);
	if (why)
		snprintf(t->why, sizeof t->why, "%s", why);
	return !why;
}
