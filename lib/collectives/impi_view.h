/* SPDX-License-Identifier: BSD-2-Clause */
/* Private: what the two halves of the profile impi-0.0 share - who is whose master, and
 * steps that carry the prescribed tags.
 *
 * Words of the reference: a client is an MPI implementation with its processes; its
 * master is its lowest rank in the communicator; masters are numbered by rank.  What
 * happens inside one client (the local phases) is our own: steps with tag 0. */
#ifndef COLL_IMPI_VIEW_H
#define COLL_IMPI_VIEW_H

#include "coll/impi.h"

#include "base/assert.h"
#include "builder.h"

#include <string.h>

struct view {
	struct coll_schedule *s;
	const struct coll_args *a;
	uint32_t n;	       /* masters, i.e. clients in the communicator */
	uint32_t mine;	       /* number of my client's master */
	uint32_t *lnum;	       /* [size] of each rank: number of its client's master */
	uint32_t *mrank;       /* [n] rank of each master */
	uint32_t *members;     /* [n] processes of each client */
	const uint32_t *local; /* [nlocal] ranks of my client, ascending */
	uint32_t nlocal, lme;  /* lme: my index among them */
	uint32_t gate;	       /* what every later step waits for, UINT32_MAX: nothing */
};

/* A range of one of the schedule's buffers. */
struct place {
	enum coll_buf buf;
	uint64_t off, len;
};

/* The tables take 4 * size entries from the end of the dependency array. */
static inline int
look(struct view *v, struct coll_schedule *s, const struct coll_args *a)
{
	uint32_t p = a->size;

	if (s->deps_max < s->deps + 4 * p)
		return COLL_ERR_NOMEM;
	s->deps_max -= 4 * p;
	uint32_t *local = s->dep + s->deps_max + 3 * p;
	*v = (struct view){.s = s,
			   .a = a,
			   .lnum = s->dep + s->deps_max,
			   .mrank = s->dep + s->deps_max + p,
			   .members = s->dep + s->deps_max + 2 * p,
			   .local = local,
			   .gate = UINT32_MAX};
	v->n = coll_domains_number(a->cluster_of, p, v->lnum, v->mrank);
	memset(v->members, 0, v->n * sizeof *v->members);
	for (uint32_t r = 0; r < p; r++)
		v->members[v->lnum[r]]++;
	v->mine = v->lnum[a->rank];
	for (uint32_t r = 0; r < p; r++) {
		if (v->lnum[r] != v->mine)
			continue;
		if (r == a->rank)
			v->lme = v->nlocal;
		local[v->nlocal++] = r;
	}
	BASE_ASSERT(v->n > 0 && v->nlocal > 0); /* I am one, and have a master */
	return COLL_ERR_OK;
}

static inline bool
fits(const struct coll_args *a)
{
	for (uint32_t r = 1; a->cluster_of && r < a->size; r++)
		if (a->cluster_of[r] != a->cluster_of[0])
			return true;
	return false;
}

/* ---- steps */

/* A step that waits for everything received or computed so far, and that every
 * later step waits for: one dependency instead of many, and for zero-byte messages,
 * which find none by themselves. */
static inline void
gate(struct view *v)
{
	struct coll_schedule *s = v->s;
	uint32_t at = coll_step_add(s, (struct coll_step){.kind = COLL_STEP_COPY});

	if (at == UINT32_MAX)
		return;
	for (uint32_t i = 0; i < at; i++) {
		if (s->step[i].kind == COLL_STEP_SEND)
			continue;
		if (s->deps >= s->deps_max) {
			s->steps_max = 0;
			return;
		}
		s->dep[s->deps++] = i;
		s->step[at].dep_count++;
	}
	v->gate = at;
}

/* The tag of a message between me and peer: the prescribed one, or none inside a client. */
static inline uint32_t
tag_to(const struct view *v, uint32_t peer, uint32_t tag)
{
	return v->lnum[peer] == v->mine ? 0 : tag;
}

static inline uint32_t
tagged(struct view *v, uint32_t step, uint32_t peer, uint32_t tag)
{
	if (step != UINT32_MAX) {
		v->s->step[step].tag = tag_to(v, peer, tag);
		coll_after(v->s, v->gate);
	}
	return step;
}

/* These find their dependencies. */
static inline uint32_t
put(struct view *v, uint32_t peer, uint32_t tag, struct place from)
{
	return tagged(v, coll_send(v->s, peer, from.buf, from.off, from.len), peer, tag);
}

static inline uint32_t
get(struct view *v, uint32_t peer, uint32_t tag, struct place into)
{
	return tagged(v, coll_recv(v->s, peer, into.buf, into.off, into.len), peer, tag);
}

/* These do not, save for the gate: the buffers are disjoint, or complete. */
static inline uint32_t
put_raw(struct view *v, uint32_t peer, uint32_t tag, struct place from)
{
	struct coll_step step = {
		.kind = COLL_STEP_SEND, .peer = peer, .from = {from.buf, from.off, from.len}};

	return tagged(v, coll_step_add(v->s, step), peer, tag);
}

static inline uint32_t
get_raw(struct view *v, uint32_t peer, uint32_t tag, struct place into)
{
	struct coll_step step = {
		.kind = COLL_STEP_RECV, .peer = peer, .into = {into.buf, into.off, into.len}};

	return tagged(v, coll_step_add(v->s, step), peer, tag);
}

static inline void
copy(struct view *v, struct place from, enum coll_buf buf, uint64_t off)
{
	if (coll_copy(v->s, from.buf, from.off, buf, off, from.len) != UINT32_MAX)
		coll_after(v->s, v->gate);
}

static inline struct place
scratch(struct view *v, uint64_t len)
{
	return (struct place){COLL_TMP, coll_tmp(v->s, len), len};
}

/* acc = (what comes from peer) op acc */
static inline void
combine(struct view *v, uint32_t peer, uint32_t tag, struct place acc)
{
	struct place t = scratch(v, acc.len);

	get(v, peer, tag, t);
	coll_reduce(v->s, t.buf, t.off, acc.buf, acc.off, acc.len, true);
}

/* ---- helpers of the reference */

static inline uint32_t
cubedim(uint32_t n)
{
	uint32_t d = 0;

	while (d < 31 && (1u << d) < n)
		d++;
	return d;
}

/* Index of the highest 1 of m, -1 for 0. */
static inline int
hibit(uint32_t m)
{
	return m ? 31 - __builtin_clz(m) : -1;
}

static inline bool
linear(const struct view *v)
{
	return v->n <= v->a->maxlinear;
}

/* In a global phase with a root, that root stands in for its client's master, and
 * masters are counted from the root's client: virtual numbers. */
static inline uint32_t
virtual_of(const struct view *v, uint32_t root)
{
	return (v->mine + v->n - v->lnum[root]) % v->n;
}

static inline uint32_t
rank_of_virtual(const struct view *v, uint32_t root, uint32_t w)
{
	return w == 0 ? root : v->mrank[(w + v->lnum[root]) % v->n];
}

/* Who of my client takes part in the global phase. */
static inline uint32_t
speaker(const struct view *v, uint32_t root)
{
	return v->lnum[root] == v->mine ? root : v->mrank[v->mine];
}

/* My contribution of len bytes to a reduction. */
static inline struct place
own_vector(const struct coll_args *a, uint64_t len)
{
	return (struct place){a->in_place ? COLL_RECV : COLL_SEND, 0, len};
}

/* ---- whole phases, impi.c */

/* data lies at root, and at everybody's in the end. */
void coll_impi_bcast(struct view *v, uint32_t root, struct place data);
/* The result is in acc at the root; elsewhere acc is used for partial results. */
void coll_impi_reduce(struct view *v, uint32_t root, struct place acc);

/* Its schedule is made by build_impi_NAME(). */
#define COLL_IMPI_ALGORITHM(op, name)                     \
	const struct coll_recipe coll_alg_impi_##name = { \
		op, COLL_IMPI, "not chosen for cost: IMPI 0.0 says how", fits, build_impi_##name};

#endif
