/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "coll/impi.h"
#include "engine.h"

/* ---- which profile */

static bool
forced(void)
{
	static int known = -1; /* the environment is the same all along */

	if (known < 0)
		known = lmpi_knob_word(LMPI_KNOB_COLL_PROFILE); /* own, impi-0.0 */
	return known;
}

static int
refuse_impi(uint32_t client)
{
	return lmpi_error(MPI_ERR_UNSUPPORTED_OPERATION,
			  "IMPI 0.0 has no form of %s, and client %u of the job, which takes part, "
			  "is another MPI",
			  lmpi_call_top ? lmpi_call_top->fn : "this operation", client);
}

int
lmpi_impi_refuse(const struct lmpi_comm *comm)
{
	return comm->foreign >= 0 ? refuse_impi((uint32_t)comm->foreign) : MPI_SUCCESS;
}

int
lmpi_impi_refuse_group(const struct lmpi_group *group)
{
	int client = lmpi_group_foreign(group);

	return client >= 0 ? refuse_impi((uint32_t)client) : MPI_SUCCESS;
}

/* ---- datatypes of buffers */

/* Of the elements in a buffer of the schedule; NULL: none has elements. */
static struct lmpi_type *
type_of(const struct lmpi_coll *c, enum coll_buf buf)
{
	if (c->type != NULL)
		return c->type;
	if (buf != COLL_TMP && c->side_type[buf] != NULL)
		return c->side_type[buf];
	return c->side_type[COLL_RECV] ? c->side_type[COLL_RECV] : c->side_type[COLL_SEND];
}

/* [R] Short or long is decided by one process's block in strict external32. */
static uint64_t
block_on_the_wire(const struct lmpi_coll *c)
{
	const struct lmpi_type *t = type_of(c, COLL_RECV);

	if (t == NULL || t->size == 0)
		return 0;
	return c->args.bytes / (uint64_t)t->size * (uint64_t)t->rep[LMPI_REP_EXTERNAL32].size;
}

int
lmpi_impi_choose(struct lmpi_coll *c, enum lmpi_coll_how how)
{
	const struct lmpi_comm *comm = c->comm;
	bool has_form = how == LMPI_COLL_BLOCKING && !c->not_impi && c->args.op != COLL_EXSCAN;
	bool told = lmpi_world.clients != NULL;

	if (comm->foreign < 0 && (lmpi_comm_coll(comm)->cluster_of == NULL ||
				  comm->remote != NULL || !has_form || !forced()))
		return MPI_SUCCESS;
	if (!has_form)
		return lmpi_impi_refuse(comm);
	c->algorithm = COLL_IMPI;
	c->args.wire_bytes = block_on_the_wire(c);
	c->args.xsize = told ? (uint64_t)lmpi_world.coll_xsize : COLL_IMPI_XSIZE;
	c->args.maxlinear = told ? (uint32_t)lmpi_world.coll_maxlinear : COLL_IMPI_MAXLINEAR;
	return MPI_SUCCESS;
}

/* ---- messages */

/* A type whose elements lie in memory the way they are packed: t without its layout. */
struct flat {
	struct lmpi_type type;
	struct lmpi_node run;
};

static void
flatten_impi(struct flat *f, const struct lmpi_type *t)
{
	f->type = *t;
	f->run = (struct lmpi_node){.kind = LMPI_RUN, .size = t->size, .n = 1, .len = t->size};
	f->type.layout = &f->run;
	f->type.lb = 0;
	f->type.ub = t->size;
}

static const struct coll_range *
range_of(const struct coll_step *s)
{
	return s->kind == COLL_STEP_SEND ? &s->from : &s->into;
}

static bool
with_foreigner(const struct lmpi_coll *c, const struct coll_step *s)
{
	return c->comm->foreign >= 0 && lmpi_proc_foreign(c->comm->group->world[s->peer]);
}

static enum lmpi_rep
impi_rep_of(const struct lmpi_coll *c, const struct coll_step *s)
{
	if (!with_foreigner(c, s))
		return LMPI_REP_NATIVE;
	return c->strict ? LMPI_REP_EXTERNAL32 : lmpi_rep_of(c->comm->group->world[s->peer]);
}

static uint64_t
context_of(const struct lmpi_coll *c, const struct coll_step *s)
{
	uint32_t world;

	if (s->tag != COLL_IMPI_REDUCE || !with_foreigner(c, s))
		return c->comm->cid + 1;
	world = c->comm->group->world[s->peer];
	return c->comm->cid + !lmpi_world.clients[lmpi_world.proc[world].client].reduce_on_pt2pt;
}

int
lmpi_impi_wire(struct lmpi_coll *c, const struct coll_step *s, void *memory, struct lmpi_wire *w)
{
	const struct coll_range *r = range_of(s);
	const struct lmpi_type *t = type_of(c, r->buf);
	enum lmpi_rep rep = impi_rep_of(c, s);
	struct flat f;
	int64_t n;

	*w = (struct lmpi_wire){.at = memory,
				.bytes = r->len,
				.cid = context_of(c, s),
				.tag = s->tag ? (int)s->tag : c->tag};
	if (rep == LMPI_REP_NATIVE || r->len == 0 || t == NULL || lmpi_external32_as_is(t, rep))
		return MPI_SUCCESS;
	if (s->kind == COLL_STEP_RECV && lmpi_external32_in_place(t, rep))
		return MPI_SUCCESS;
	n = (int64_t)r->len / t->size;
	w->bytes = (uint64_t)(n * t->rep[rep].size);
	w->at = w->copy = malloc(w->bytes + 1);
	if (w->copy == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "no memory to convert a message");
	if (s->kind == COLL_STEP_RECV)
		return MPI_SUCCESS;
	flatten_impi(&f, t);
	return lmpi_rep_pack(&f.type, memory, n, rep, w->at);
}

int
lmpi_impi_received(struct lmpi_coll *c, const struct coll_step *s, void *memory,
		   const struct lmpi_wire *w, uint64_t bytes)
{
	const struct coll_range *r = range_of(s);
	const struct lmpi_type *t = type_of(c, r->buf);
	enum lmpi_rep rep = impi_rep_of(c, s);
	struct flat f;

	if (!with_foreigner(c, s))
		return MPI_SUCCESS;
	if (bytes != w->bytes)
		return lmpi_error(MPI_ERR_OTHER,
				  "rank %u, of client %u which is another MPI, sent %llu bytes "
				  "where %llu are due; are its counts and datatypes the same, and "
				  "does IMPI_PEERS say how it represents data?",
				  s->peer, lmpi_world.proc[c->comm->group->world[s->peer]].client,
				  (unsigned long long)bytes, (unsigned long long)w->bytes);
	if (rep == LMPI_REP_NATIVE || bytes == 0 || t == NULL || lmpi_external32_as_is(t, rep))
		return MPI_SUCCESS;
	flatten_impi(&f, t);
	lmpi_rep_unpack(&f.type, memory, (int64_t)r->len / t->size, rep, w->at, (int64_t)bytes);
	return MPI_SUCCESS;
}
