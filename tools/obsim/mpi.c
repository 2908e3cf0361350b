/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces of libmpitrace: collective calls and messages.  Files are read one after another; what
 * lies between their calls is computing of that rank.  The n-th call of a rank among some processes
 * is that of the others: calls on several communicators of the same ones have one order at all of
 * them. Messages are matched when all files are read (match.c). */
#include "mpi.h"

#include "base/siphash.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 65536u
#define COMMS_MAX  65536u /* of a file */
#define NO_GROUP   UINT32_MAX

/* Processes that make calls together. */
struct group {
	uint32_t first, n; /* of obs_trace.member */
	uint32_t reader;   /* 1 + the rank whose file is read */
	uint32_t comms;	   /* communicators of these processes that it has made */
	uint32_t at;	   /* the call that it has come to last, or OBS_NO_CALL */
	uint32_t call;	   /* the first of all */
	uint64_t hash;	   /* of its members */
};

/* A collective call while files are read. */
struct meeting {
	uint64_t in, out; /* the most of any */
	int64_t root;
	uint32_t group, here, next; /* next: of the group */
	uint32_t rank;		    /* that came first, and where */
	uint32_t line;
};

struct comm {
	uint32_t group, number; /* the how manieth of this group */
	uint32_t peers, npeers; /* of the group's members: those that messages go to */
	bool calls;		/* its collective calls are replayed */
};

/* What completes with a request: halves of messages, or a call. */
struct request {
	uint32_t half, halves, call;
};

struct rank_file {
	struct mpitrace t;
	bool open;
};

struct reading {
	struct obs_trace *t;
	struct rank_file *f; /* [ranks] */
	struct group *group;
	uint32_t groups, group_room;
	uint32_t *slot;		 /* [slots] 1 + group, by hash of its members; 0: free */
	uint32_t slots;		 /* twice as many as there is room for groups */
	uint32_t *rank;		 /* [2 * ranks] for a moment */
	struct meeting *meeting; /* [calls] */
	uint32_t meeting_room;
	struct obs_halves halves;
	/* of the file that is read */
	uint32_t me, line;
	struct comm *comm;
	uint32_t comms, comm_room;
	struct request *request;
	uint32_t requests, request_room;
	double compute_s; /* since the last step of this rank */
	double inside_s;  /* of the last call: computing, unless it has to do with what is replayed
			   */
	double all_s, waited_s;
	uint32_t begun;	       /* a non-blocking call that wants its request, or OBS_NO_CALL */
	uint32_t over, novers; /* halves of the call that was read last: it was over with them */
	uint32_t last_call;    /* the collective that this rank has made last */
	struct mpitrace_record r;
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

__attribute__((format(printf, 2, 3))) static bool
fail_mpi(struct reading *m, const char *format, ...)
{
	struct obs_trace *t = m->t;
	va_list ap;
	va_start(ap, format);
	int n = snprintf(t->why, sizeof t->why, "rank %u, line %u of its mpitrace: ", m->me,
			 m->line);
	vsnprintf(t->why + n, sizeof t->why - (size_t)n, format, ap);
	va_end(ap);
	return false;
}

/* Room for one more of them. */
static bool
room_mpi(void **at, uint32_t n, uint32_t *room, size_t size)
{
	if (n < *room)
		return true;
	uint32_t more = *room ? 2 * *room : 64;
	void *p = realloc(*at, more * size);
	if (!p)
		return false;
	*at = p;
	*room = more;
	return true;
}

/* What was computed since the last step, and one more. */
static bool
step_mpi(struct reading *m, enum obs_kind kind, uint32_t call)
{
	struct obs_step c = {.kind = OBS_COMPUTE, .rank = m->me, .s = m->compute_s};
	struct obs_step s = {.kind = kind, .rank = m->me, .call = call};
	m->compute_s = 0;
	return ((c.s <= 0 || obs_trace_add(m->t, &c)) && obs_trace_add(m->t, &s)) ||
	       fail_mpi(m, "too many calls");
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

/* Room for one group more and a free slot beside, as far as there may be more groups. */
static bool
room_groups(struct reading *m)
{
	uint32_t room = m->group_room;
	if (m->groups == GROUPS_MAX)
		return true;
	if (!room_mpi((void **)&m->group, m->groups, &m->group_room, sizeof *m->group))
		return false;
	if (m->group_room == room)
		return true;
	free(m->slot);
	m->slots = 2 * m->group_room;
	m->slot = calloc(m->slots, sizeof *m->slot);
	for (uint32_t g = 0; m->slot && g < m->groups; g++) {
		uint64_t at = m->group[g].hash % m->slots;
		while (m->slot[at])
			at = (at + 1) % m->slots;
		m->slot[at] = g + 1;
	}
	return m->slot;
}

/* The group of these processes, in this order; false: there are too many. */
static bool
find_group(struct reading *m, const uint32_t *rank, uint32_t n, uint32_t *found)
{
	static const uint8_t key[16] = "obsim";
	if (!room_groups(m))
		return fail_mpi(m, "out of memory");
	uint64_t hash = base_siphash(key, rank, (size_t)n * sizeof *rank), at = hash % m->slots;
	for (; m->slot[at]; at = (at + 1) % m->slots) {
		const struct group *g = &m->group[m->slot[at] - 1];
		if (g->n == n && !memcmp(m->t->member + g->first, rank, (size_t)n * sizeof *rank)) {
			*found = m->slot[at] - 1;
			return true;
		}
	}
	struct group g = {.first = m->t->nmembers, .n = n, .call = OBS_NO_CALL, .hash = hash};
	bool ok = m->groups < GROUPS_MAX;
	for (uint32_t i = 0; ok && i < n; i++)
		ok = obs_trace_member(m->t, rank[i]);
	if (!ok)
		return fail_mpi(m, "too many communicators");
	m->group[m->groups] = g;
	*found = m->groups++;
	m->slot[at] = m->groups;
	return true;
}

/* It is one more of its processes that this rank has made. */
static bool
group_mpi(struct reading *m, uint32_t n, struct comm *c)
{
	if (!find_group(m, m->rank, n, &c->group))
		return false;
	struct group *g = &m->group[c->group];
	if (g->reader != m->me + 1) {
		g->reader = m->me + 1;
		g->comms = 0;
		g->at = OBS_NO_CALL;
	}
	c->number = g->comms++;
	return true;
}

/* A communicator of two groups is that of all its processes, those of the lesser group first. */
static bool
comm_mpi(struct reading *m, const struct mpitrace *t)
{
	uint32_t own = (uint32_t)m->r.nlocal, others = (uint32_t)m->r.nremote;
	struct comm c = {.npeers = others ? others : own, .calls = own > 1 && !others};
	if (m->comms == COMMS_MAX ||
	    !room_mpi((void **)&m->comm, m->comms, &m->comm_room, sizeof *m->comm))
		return fail_mpi(m, "too many communicators");
	if (!own)
		return fail_mpi(m, "a communicator of nobody");
	mpitrace_local(t, &m->r, m->rank);
	mpitrace_remote(t, &m->r, m->rank + own);
	if (others && m->rank[own] < m->rank[0]) {
		mpitrace_remote(t, &m->r, m->rank);
		mpitrace_local(t, &m->r, m->rank + others);
	} else if (others) {
		c.peers = own;
	}
	bool wrong = own + others > m->t->ranks || has_twice(m->rank, own + others, m->me);
	/* processes of another world have no number here: nothing of it is replayed */
	if (wrong && !c.calls)
		c.group = NO_GROUP;
	else if (wrong)
		return fail_mpi(m,
				"a communicator that has a process twice, or not the file's own");
	else if (!group_mpi(m, own + others, &c))
		return false;
	m->comm[m->comms++] = c; /* they are numbered one after another, from 1 on */
	return true;
}

/* ---- collective calls ---- */

/* As MPI_COMM_WORLD: all ranks, in their order. */
static bool
is_world(const struct obs_trace *t, const struct group *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (t->member[g->first + i] != i)
			return false;
	return g->n == t->ranks;
}

static bool
new_meeting(struct reading *m, uint32_t group, enum coll_op op, bool start)
{
	const struct group *g = &m->group[group];
	bool world = is_world(m->t, g);
	struct obs_trace_call c = {.op = op,
				   .start = start,
				   .next = OBS_NO_CALL,
				   .first_member = world ? 0 : g->first,
				   .members = world ? 0 : g->n};
	if (!room_mpi((void **)&m->meeting, m->t->calls, &m->meeting_room, sizeof *m->meeting) ||
	    !obs_trace_add_call(m->t, &c))
		return fail_mpi(m, "too many calls");
	m->meeting[m->t->calls - 1] = (struct meeting){.root = m->r.peer,
						       .group = group,
						       .next = OBS_NO_CALL,
						       .rank = m->me,
						       .line = m->line};
	m->t->starts += start;
	return true;
}

static bool
collective_mpi(struct reading *m, enum coll_op op, bool start)
{
	struct group *g = &m->group[m->comm[m->r.comm - 1].group];
	uint32_t *behind = g->at == OBS_NO_CALL ? &g->call : &m->meeting[g->at].next;
	uint32_t call = *behind;
	if (call == OBS_NO_CALL) {
		call = m->t->calls;
		if (!new_meeting(m, m->comm[m->r.comm - 1].group, op, start))
			return false;
		*(g->at == OBS_NO_CALL ? &g->call : &m->meeting[g->at].next) = call;
	}
	g->at = call;
	struct meeting *w = &m->meeting[call];
	if (m->t->call[call].op != op || m->t->call[call].start != start)
		return fail_mpi(m, "%s: the ranks do not make the same collective calls",
				m->r.name);
	w->here++;
	w->in = m->r.in > w->in ? m->r.in : w->in;
	w->out = m->r.out > w->out ? m->r.out : w->out;
	if (m->last_call != OBS_NO_CALL &&
	    m->t->member[m->group[m->meeting[m->last_call].group].first] == m->me)
		m->t->call[m->last_call].next = call;
	m->last_call = call;
	m->inside_s = 0;
	if (start)
		m->begun = call;
	return step_mpi(m, OBS_COME, call) && (start || step_mpi(m, OBS_WAIT, call));
}

static uint64_t
meeting_bytes(const struct meeting *w, enum coll_op op, uint32_t n)
{
	switch (op) {
	case COLL_GATHER:
	case COLL_ALLGATHER:
		return w->out;
	case COLL_SCATTER:
	case COLL_REDUCE_SCATTER:
		return w->in;
	case COLL_ALLTOALL:
		return (w->out > w->in ? w->out : w->in) / n;
	default:
		return w->out > w->in ? w->out : w->in;
	}
}

/* All files are read: calls are what the most of their ranks have said of them. */
static bool
end_meetings(struct reading *m)
{
	for (uint32_t i = 0; i < m->t->calls; i++) {
		struct obs_trace_call *c = &m->t->call[i];
		const struct meeting *w = &m->meeting[i];
		uint32_t n = m->group[w->group].n;
		m->me = w->rank;
		m->line = w->line;
		bool rooted = c->op == COLL_BCAST || c->op == COLL_REDUCE || c->op == COLL_GATHER ||
			      c->op == COLL_SCATTER;
		c->bytes = meeting_bytes(w, c->op, n);
		if (w->here != n)
			return fail_mpi(
				m,
				"the ranks do not make the same collective calls: %s is one "
				"of %u, %u have made it",
				coll_op_name(c->op), n, w->here);
		if (c->bytes > OBS_BYTES_MAX)
			return fail_mpi(m, "a call of more bytes than there are");
		if (rooted && (w->root < 0 || w->root >= n))
			return fail_mpi(m, "a root that is no rank");
		c->root = rooted ? (uint32_t)w->root : 0;
	}
	return true;
}

/* ---- messages ---- */

static bool
message_mpi(struct reading *m)
{
	const struct mpitrace_record *r = &m->r;
	const struct comm *c = &m->comm[r->comm - 1];
	bool sends = r->type == MPITRACE_SEND;
	if (c->group == NO_GROUP)
		return true;
	struct obs_half h = {.group = c->group,
			     .number = c->number,
			     .tag = r->tag,
			     .sends = sends,
			     .synchronous = sends && r->how == MPITRACE_SYNCHRONOUS,
			     .buffered = sends && r->how == MPITRACE_BUFFERED,
			     .mine = m->me,
			     .other = OBS_NO_CALL,
			     .bytes = sends ? r->out : r->in,
			     .had = -1,
			     .line = m->line,
			     .call = OBS_NO_CALL};
	struct request *q = r->request ? &m->request[r->request - 1] : NULL;
	if (r->peer >= (int64_t)c->npeers || h.bytes > OBS_BYTES_MAX)
		return fail_mpi(m,
				"a message with a process that is not there, or of too many bytes");
	h.peers = m->group[c->group].first + c->peers;
	h.npeers = c->npeers;
	if (r->peer >= 0)
		h.other = m->t->member[h.peers + (uint32_t)r->peer];
	if (q && q->halves && q->half + q->halves != m->halves.n)
		return fail_mpi(m, "a message of no call");
	if (!obs_halves_add(&m->halves, &h))
		return fail_mpi(m, "too many messages");
	if (q) {
		q->half = q->halves ? q->half : m->halves.n - 1;
		q->halves++;
	} else {
		m->over = m->novers ? m->over : m->halves.n - 1;
		m->novers++;
	}
	m->inside_s = 0;
	return step_mpi(m, OBS_COME, OBS_HALF | (m->halves.n - 1));
}

static bool
had_mpi(struct reading *m)
{
	uint32_t at = m->over, n = m->novers;
	if (m->r.request) {
		const struct request *q = &m->request[m->r.request - 1];
		at = q->half;
		n = q->halves;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct obs_half *h = &m->halves.half[at + i];
		if (m->r.peer < 0) {
			h->nothing = true;
		} else if (!h->sends) {
			if (m->r.peer >= (int64_t)h->npeers)
				return fail_mpi(m, "a message from a process that is not there");
			h->other = m->t->member[h->peers + (uint32_t)m->r.peer];
			h->tag = m->r.tag;
			h->had = m->r.had;
			h->known = true;
		}
	}
	return true;
}

static bool
wait_halves(struct reading *m, uint32_t at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!step_mpi(m, OBS_WAIT, OBS_HALF | (at + i)))
			return false;
	return true;
}

/* ---- records ---- */

static bool
start_mpi(struct reading *m)
{
	if (!room_mpi((void **)&m->request, m->requests, &m->request_room, sizeof *m->request))
		return fail_mpi(m, "out of memory");
	m->request[m->requests++] = (struct request){.call = m->begun};
	m->begun = OBS_NO_CALL;
	return true;
}

/* What is replayed was waited for in this call, so it did not compute. */
static bool
done_mpi(struct reading *m)
{
	struct request *q = &m->request[m->r.request - 1], was = *q;
	if (was.call == OBS_NO_CALL && !was.halves)
		return true;
	q->call = OBS_NO_CALL; /* once; halves stay for what they had */
	m->inside_s = 0;
	if (was.call != OBS_NO_CALL)
		return step_mpi(m, OBS_WAIT, was.call);
	return wait_halves(m, was.half, was.halves);
}

static bool
call_mpi(struct reading *m, uint32_t version)
{
	bool start = false;
	enum coll_op op = op_of(m->r.name, &start);
	m->inside_s = (double)(m->r.inside_ns - m->r.inside_waited_ns) * 1e-9;
	if (version > 1 && (!strcmp(m->r.name, "MPI_Probe") || !strcmp(m->r.name, "MPI_Mprobe")))
		m->inside_s = 0; /* the receive waits */
	if (op == COLL_OP_COUNT || !m->r.comm || !m->comm[m->r.comm - 1].calls)
		return true;
	return collective_mpi(m, op, start);
}

static bool
record_mpi(struct reading *m, const struct mpitrace *t)
{
	enum mpitrace_type type = m->r.type;
	bool part = type == MPITRACE_SEND || type == MPITRACE_RECV || type == MPITRACE_HAD;
	if (m->begun != OBS_NO_CALL && type != MPITRACE_START)
		return fail_mpi(m, "a non-blocking call without its request");
	/* behind all messages of a call its end */
	if (m->novers && !part) {
		uint32_t n = m->novers;
		m->novers = 0;
		if (!wait_halves(m, m->over, n))
			return false;
	}
	m->all_s += (double)m->r.compute_ns * 1e-9 + (double)m->r.inside_ns * 1e-9;
	if (type == MPITRACE_CALL || type == MPITRACE_END) {
		m->compute_s +=
			(double)(m->r.compute_ns - m->r.compute_waited_ns) * 1e-9 + m->inside_s;
		m->waited_s += (double)m->r.compute_waited_ns * 1e-9;
		m->inside_s = 0;
	}
	switch (type) {
	case MPITRACE_CALL:
		return call_mpi(m, t->version);
	case MPITRACE_COMM:
		return comm_mpi(m, t);
	case MPITRACE_START:
		return start_mpi(m);
	case MPITRACE_DONE:
		return done_mpi(m);
	case MPITRACE_SEND:
	case MPITRACE_RECV:
		return message_mpi(m);
	case MPITRACE_HAD:
		return had_mpi(m);
	case MPITRACE_END:
		break;
	}
	return true;
}

static bool
read_file_mpi(struct reading *m, struct mpitrace *t)
{
	const char *why = NULL;
	size_t at;
	int more;
	m->comms = m->requests = m->line = m->novers = 0;
	m->compute_s = m->inside_s = m->all_s = m->waited_s = 0;
	m->begun = m->last_call = OBS_NO_CALL;
	while ((more = mpitrace_next(t, &m->r, &why, &at)) > 0) {
		m->line++;
		if (!record_mpi(m, t))
			return false;
	}
	if (more < 0)
		return fail_mpi(m, "%s", why);
	if (m->begun != OBS_NO_CALL)
		return fail_mpi(m, "a non-blocking call without its request");
	m->compute_s += m->inside_s;
	if (!wait_halves(m, m->over, m->novers))
		return false;
	struct obs_step c = {.kind = OBS_COMPUTE, .rank = m->me, .s = m->compute_s};
	m->t->measured_s = m->all_s > m->t->measured_s ? m->all_s : m->t->measured_s;
	m->t->waited_s = m->waited_s > m->t->waited_s ? m->waited_s : m->t->waited_s;
	return c.s <= 0 || obs_trace_add(m->t, &c) || fail_mpi(m, "too many calls");
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
		f[head.rank].open = true;
	}
	return NULL;
}

static void
free_reading(struct reading *m)
{
	for (uint32_t i = 0; m->f && i < m->t->ranks; i++)
		if (m->f[i].open)
			mpitrace_done(&m->f[i].t);
	free(m->f);
	free(m->group);
	free(m->slot);
	free(m->rank);
	free(m->meeting);
	free(m->comm);
	free(m->request);
	free(m->halves.half);
}

static bool
read_all_mpi(struct reading *m)
{
	struct obs_trace *t = m->t;
	for (m->me = 0; m->me < t->ranks; m->me++) {
		t->first[m->me] = t->steps;
		if (!read_file_mpi(m, &m->f[m->me].t))
			return false;
	}
	t->first[t->ranks] = t->steps;
	return end_meetings(m) && obs_halves_match(&m->halves, t);
}

bool
obs_trace_mpi(struct obs_trace *t, const void *const data[], const size_t len[], uint32_t files)
{
	*t = (struct obs_trace){.ranks = files};
	const char *why = files && files <= OBS_RANKS_MAX ? NULL : "too many ranks";
	struct reading m = {.t = t};
	if (!why) {
		m.f = calloc(files, sizeof *m.f);
		m.rank = calloc(2 * (size_t)files, sizeof *m.rank);
		t->first = calloc((size_t)files + 1, sizeof *t->first);
		why = m.f && m.rank && t->first ? open_all_mpi(m.f, data, len, files)
						: "out of memory";
	}
	if (why)
		snprintf(t->why, sizeof t->why, "%s", why);
	bool ok = !why && read_all_mpi(&m);
	free_reading(&m);
	return ok;
}
