/* SPDX-License-Identifier: BSD-2-Clause */
/* Collective operations: their memory, and what the executor (mpi/steps.h) asks of this library. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "coll.h"
#include "coll_light.h"
#include "engine.h"
#include "impi.h"
#include "plan.h"

#include "base/copy.h"

/* A chunk that is cut from front to back, or one large piece. */
struct lmpi_owned {
	struct lmpi_owned *next;
	size_t room, used;
	_Alignas(64) char data[];
};

/* What a small operation takes, schedule and all, fits in one; making and freeing it
 * anew is half of the time of such an operation. */
#define CHUNK	   ((size_t)64 << 10)
#define SPARES_MAX 4
static struct lmpi_owned *spare;
static unsigned spares;

static struct lmpi_owned *
owned_new(size_t room)
{
	struct lmpi_owned *o = spare;

	if (room == CHUNK && o != NULL) {
		spare = o->next;
		spares--;
	} else {
		o = aligned_alloc(64, sizeof(*o) + room);
	}
	if (o != NULL) {
		o->room = room;
		o->used = 0;
	}
	return o;
}

static void
owned_free(struct lmpi_owned *o)
{
	if (o->room != CHUNK || spares == SPARES_MAX) {
		free(o);
		return;
	}
	o->next = spare;
	spare = o;
	spares++;
}

void *
lmpi_coll_alloc(struct lmpi_coll *c, int64_t n, size_t size)
{
	struct lmpi_owned *o = c->owned; /* there is always one */
	size_t bytes;

	if (n < 0 || __builtin_mul_overflow((size_t)n, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + 63) / 64 * 64;
	if (o->room - o->used < bytes) {
		o = owned_new(bytes > CHUNK / 2 ? bytes : CHUNK);
		if (o == NULL)
			return NULL;
		/* The one that has room left stays or becomes the first. */
		struct lmpi_owned **at = bytes > CHUNK / 2 ? &c->owned->next : &c->owned;
		o->next = *at;
		*at = o;
	}
	o->used += bytes;
	return o->data + o->used - bytes;
}

struct lmpi_coll *
lmpi_coll_new(struct lmpi_comm *comm, enum coll_op op)
{
	struct lmpi_owned *o;
	struct lmpi_coll *c;

	if (!lmpi_coll_attach(comm) || (comm->local != NULL && !lmpi_coll_attach(comm->local)))
		return NULL;
	o = owned_new(CHUNK);
	if (o == NULL)
		return NULL;
	c = (struct lmpi_coll *)(void *)o->data;
	memset(c, 0, sizeof(*c));
	o->next = NULL;
	o->used = (sizeof(*c) + 63) / 64 * 64;
	c->owned = o; /* c lies in it */
	c->comm = comm;
	lmpi_comm_ref(comm);
	c->args.op = op;
	c->args.rank = (uint32_t)comm->rank;
	c->args.size = (uint32_t)comm->size;
	c->args.elem = 1;
	c->args.cluster_of = lmpi_comm_coll(comm)->cluster_of;
	c->args.near = lmpi_comm_coll(comm)->near;
	c->args.piece = lmpi_comm_coll(comm)->piece;
	c->args.segment = lmpi_comm_coll(comm)->segment;
	c->args.slice = lmpi_comm_coll(comm)->slice;
	c->args.remote = comm->remote ? (uint32_t)comm->remote->size : 0;
	return c;
}

void
lmpi_coll_release(struct lmpi_coll *c)
{
	if (c->type != NULL)
		lmpi_type_unref(c->type);
	for (int i = 0; i < c->ins; i++)
		lmpi_side_release(&c->in[i]);
	if (c->has_out)
		lmpi_side_release(&c->out);
	if (c->op.user != NULL && --c->op.user->obj.refs == 0)
		lmpi_object_delete(&lmpi_op_pool, c->op.user);
	lmpi_plan_release(c);
	lmpi_comm_unref(c->comm);
	for (struct lmpi_owned *o = c->owned, *next; o != NULL; o = next) {
		next = o->next;
		owned_free(o); /* c goes with one of them */
	}
}

static int
steps_no_memory(void)
{
	return lmpi_error(MPI_ERR_NO_MEM, "no memory for a collective operation");
}

/* ---- execution */

static void
deliver_steps(struct lmpi_coll *c)
{
	if (c->run.error != MPI_SUCCESS)
		return;
	if (c->has_out)
		lmpi_side_unpack(&c->out);
	if (c->finish != NULL)
		c->finish(c);
}

/* Under way, where a job survives deaths. */
static struct lmpi_coll *running;

static void
list_running(struct lmpi_coll *c)
{
	c->done = false;
	c->next = running;
	c->at = &running;
	if (running != NULL)
		running->at = &c->next;
	running = c;
}

static void
unlist_running(struct lmpi_coll *c)
{
	*c->at = c->next;
	if (c->next != NULL)
		c->next->at = c->at;
	c->at = NULL;
	lmpi_last_words_over();
}

static void
complete_coll(struct lmpi_steps *run)
{
	struct lmpi_coll *c = lmpi_coll_of_run(run);
	struct lmpi_request *r = c->request;

	/* A program that asks for messages while it waits is to hear first that the call is over,
	 * then of who died behind it. */
	if (c->at != NULL && r->persistent)
		unlist_running(c);
	else if (c->at != NULL)
		c->done = true;
	if (c->light != NULL)
		lmpi_coll_light_end(c);
	deliver_steps(c);
	r->e.error = c->run.error;
	lmpi_request_complete(r); /* may free c */
}

/* Errors with a text of their own, in all calls so far. */
static uint64_t explained;

static void
note_error(struct lmpi_coll *c, int rc)
{
	if (rc != MPI_SUCCESS && c->run.error == MPI_SUCCESS) {
		c->run.error = rc;
		explained++;
	}
}

static void
light_done(struct lmpi_coll *c, const struct coll_step *s, uint32_t i)
{
	if (s->kind == COLL_STEP_RECV)
		lmpi_coll_light_arrived(c, s);
	else if (c->wire[i].gate.gate != NULL)
		light_client_sent(lmpi_light, &c->wire[i].gate);
}

static void
message_done(struct lmpi_req *e)
{
	const struct lmpi_step *st = (struct lmpi_step *)(void *)e;
	struct lmpi_coll *c = lmpi_coll_of_run(st->run);
	const struct coll_step *s = &c->schedule.step[st->index];
	const struct lmpi_wire *w = &c->wire[st->index].wire;

	lmpi_step_returned(&c->run, st->index);
	lmpi_steps_error(&c->run, e->error);
	if (s->kind == COLL_STEP_RECV && e->error == MPI_SUCCESS && !e->cancelled)
		note_error(c,
			   lmpi_impi_received(c, s, lmpi_coll_address(c, &s->into), w, e->bytes));
	if (c->light != NULL)
		light_done(c, s, st->index);
	free(w->copy);
	lmpi_step_arrived(&c->run, st->index);
}

/* Where the message of a step goes to or comes from. */
struct far_end {
	uint32_t world;
	int rank; /* in the group it is addressed by */
};

/* In an inter-communicator peers from size on are the other group, the others are reached
 * over the communicator of the own group, so that the ranks of the two do not mix. */
static struct far_end
far_end(const struct lmpi_coll *c, uint32_t peer, struct lmpi_wire *w)
{
	const struct lmpi_comm *comm = c->comm;
	uint32_t own = (uint32_t)comm->size;

	if (comm->remote == NULL)
		return (struct far_end){comm->group->world[peer], (int)peer};
	if (peer >= own)
		return (struct far_end){comm->remote->world[peer - own], (int)(peer - own)};
	w->cid = comm->local->cid + 1;
	w->tag = c->local_tag;
	return (struct far_end){comm->group->world[peer], (int)peer};
}

static void
issue_message(struct lmpi_coll *c, const struct coll_step *s, uint32_t i)
{
	bool sends = s->kind == COLL_STEP_SEND;
	struct lmpi_step *st = &c->run.step[i];
	struct lmpi_wire *w = &c->wire[i].wire;
	int rc = lmpi_impi_wire(c, s, lmpi_coll_address(c, sends ? &s->from : &s->into), w);
	struct far_end far = far_end(c, s->peer, w);

	note_error(c, rc);
	/* Data that has no form at the other end: an empty message in its place, which is an error
	 * there too, where nothing at all would be waited for without end. */
	if (rc && sends)
		w->bytes = 0;
	if (rc && !sends) {
		if (c->light != NULL)
			light_done(c, s, i);
		free(w->copy);
		lmpi_step_done(&c->run, i);
	} else if (sends && c->light == NULL &&
		   lmpi_send_whole(w->at, w->bytes, far.world, c->comm->rank, w->tag, w->cid)) {
		free(w->copy);
		lmpi_step_done(&c->run, i);
	} else {
		memset(&st->e, 0, sizeof(st->e));
		st->e.on_done = message_done;
		lmpi_step_posted(&c->run, i);
		if (sends)
			lmpi_isend(&st->e, w->at, w->bytes, far.world, c->comm->rank, w->tag,
				   w->cid,
				   c->light != NULL && c->wire[i].gate.gate ? LMPI_ON_RECEIPT
									    : LMPI_STANDARD);
		else
			lmpi_irecv(&st->e, w->at, w->bytes, far.rank, w->tag, w->cid);
	}
	lmpi_step_issued(&c->run, i);
}

/* A message that had to ask may go. */
static void
let_go_steps(struct light_wait *w)
{
	const struct lmpi_step_wire *wire =
		(struct lmpi_step_wire *)(void *)((char *)w -
						  offsetof(struct lmpi_step_wire, gate));
	struct lmpi_steps *run = wire->step->run;
	struct lmpi_coll *c = lmpi_coll_of_run(run);
	uint32_t i = wire->step->index;

	run->draining = true; /* it may be done at once, and the call with it: not before the end */
	issue_message(c, &c->schedule.step[i], i);
	lmpi_steps_drain(run);
}

void
lmpi_coll_compute(struct lmpi_coll *c, const struct coll_step *s)
{
	void *from = lmpi_coll_address(c, &s->from), *into = lmpi_coll_address(c, &s->into);
	int rc = MPI_SUCCESS;

	if (s->kind == COLL_STEP_REDUCE)
		rc = lmpi_op_apply_packed(&c->op, c->type, from, into,
					  (int64_t)(s->from.len / c->args.elem), s->left);
	else if (s->from.len != 0)
		base_copy(into, from, s->from.len);
	lmpi_steps_error(&c->run, rc);
}

static void
issue_steps(struct lmpi_steps *run, uint32_t i)
{
	struct lmpi_coll *c = lmpi_coll_of_run(run);
	const struct coll_step *s = &c->schedule.step[i];

	switch (s->kind) {
	case COLL_STEP_SEND:
		c->wire[i].gate.go = let_go_steps;
		if (c->light != NULL && lmpi_coll_light_holds(c, i, &c->wire[i].gate))
			return;
		/* fall through */
	case COLL_STEP_RECV:
		issue_message(c, s, i);
		return;
	case COLL_STEP_REDUCE:
	case COLL_STEP_COPY:
		lmpi_coll_compute(c, s);
		break;
	}
	lmpi_step_done(run, i);
}

static void
take_back_message(struct lmpi_steps *run, uint32_t i)
{
	if (run->schedule->step[i].kind == COLL_STEP_RECV)
		(void)lmpi_cancel_recv(&run->step[i].e);
	else
		lmpi_cancel_send(&run->step[i].e);
}

static const struct lmpi_steps_ops step_ops = {
	.issue = issue_steps, .take_back = take_back_message, .over = complete_coll};

int
lmpi_coll_prepare(struct lmpi_coll *c, bool persistent)
{
	int rc;

	if (c->args.remote != 0) { /* there is one way between two groups */
		c->algorithm = NULL;
		c->args.in_place &= c->args.role != COLL_IDLE; /* whatever it says there */
	}
	c->args.reversed = lmpi_coll_light_reverses(c);
	rc = lmpi_plan_make(c, !persistent && lmpi_light == NULL);
	if (rc)
		return rc;
	c->run.ops = &step_ops;
	c->run.schedule = &c->schedule;
	c->tmp = lmpi_coll_alloc(c, (int64_t)c->schedule.tmp_bytes, 1);
	return c->tmp != NULL ? MPI_SUCCESS : steps_no_memory();
}

/* One at a time: what ends may start another. */
void
lmpi_coll_lose(void)
{
	for (struct lmpi_coll *c = running; c != NULL;) {
		/* Blocking calls of a few steps, without a request, see to themselves. */
		if (c->request == NULL || c->done || c->comm->lost == 0 ||
		    c->run.error != MPI_SUCCESS) {
			c = c->next;
			continue;
		}
		lmpi_steps_fail(&c->run, LMPI_ERR_PROC_FAILED);
		c = running;
	}
}

bool
lmpi_coll_meets(uint32_t world)
{
	for (const struct lmpi_coll *c = running; c != NULL; c = c->next)
		if (!lmpi_steps_break(c->run.error) && lmpi_comm_has_member(c->comm, world))
			return true;
	return false;
}

static int
next_tag(const struct lmpi_comm *comm)
{
	return LMPI_COLL_TAG_FIRST + (int)(lmpi_comm_coll(comm)->seq++ & (LMPI_COLL_TAGS - 1));
}

/* In the order of the calls, which is the same everywhere; persistent operations are
 * started in any order and keep theirs, for messages between two do not overtake. */
static void
take_tags(struct lmpi_coll *c)
{
	c->tag = next_tag(c->comm);
	if (c->comm->local != NULL)
		c->local_tag = next_tag(c->comm->local);
}

static void
start_steps(struct lmpi_coll *c)
{
	if (lmpi_survives())
		list_running(c);
	memset(&c->request->e, 0, sizeof(c->request->e));
	c->request->active = true;
	if (lmpi_light != NULL)
		lmpi_coll_light_start(c);
	c->starts++;
	for (int i = 0; i < c->ins; i++)
		lmpi_side_pack(&c->in[i]);
	lmpi_steps_start(&c->run, c->comm->lost > 0 ? LMPI_ERR_PROC_FAILED : LMPI_OK);
}

static int
restart_coll(struct lmpi_request *r)
{
	start_steps(r->coll);
	return MPI_SUCCESS;
}

static void
release_coll(struct lmpi_request *r)
{
	if (r->coll->at != NULL)
		unlist_running(r->coll);
	lmpi_coll_release(r->coll);
}

static const struct lmpi_request_ops coll_requests = {restart_coll, release_coll};

static int
end_blocking(int rc, uint64_t explained_before)
{
	lmpi_push(); /* steps that send are done when their data is copied */
	if (rc == MPI_SUCCESS || (explained != explained_before && lmpi_error_text(rc)[0] != '\0'))
		return rc;
	return lmpi_error(rc, "the collective operation failed in a message of its own");
}

static int
go_quick(struct lmpi_coll *c)
{
	uint64_t before = explained;
	int rc;

	take_tags(c);
	for (int i = 0; i < c->ins; i++)
		lmpi_side_pack(&c->in[i]);
	if (lmpi_survives())
		list_running(c);
	lmpi_coll_run_quick(c);
	if (c->at != NULL)
		unlist_running(c);
	deliver_steps(c);
	rc = c->run.error;
	lmpi_coll_release(c);
	return end_blocking(rc, before);
}

int
lmpi_coll_go(struct lmpi_coll *c, int rc, enum lmpi_coll_how how, MPI_Request *request)
{
	uint64_t before = explained;
	struct lmpi_request *r;

	if (c == NULL)
		return rc ? rc : steps_no_memory();
	lmpi_last_words_review(false);
	if (rc == MPI_SUCCESS && lmpi_revoked(c->comm->cid)) /* it may need no message */
		rc = lmpi_error(LMPI_ERR_REVOKED, "the communicator was revoked");
	if (rc == MPI_SUCCESS && c->comm->lost > 0 && how != LMPI_COLL_PERSISTENT)
		rc = lmpi_error(LMPI_ERR_PROC_FAILED, "a process of the communicator has failed");
	if (rc == MPI_SUCCESS)
		rc = lmpi_impi_choose(c, how);
	if (rc == MPI_SUCCESS)
		rc = lmpi_coll_prepare(c, how == LMPI_COLL_PERSISTENT);
	if (rc) {
		lmpi_coll_release(c);
		return rc;
	}
	if (how == LMPI_COLL_BLOCKING && lmpi_coll_is_quick(c))
		return go_quick(c);
	r = lmpi_request_new(LMPI_RQ_COLL, c->comm, NULL);
	if (r == NULL) {
		lmpi_coll_release(c);
		return steps_no_memory();
	}
	r->coll = c;
	r->ops = &coll_requests;
	c->request = r;
	take_tags(c);
	if (how == LMPI_COLL_PERSISTENT) {
		r->persistent = true;
		if (lmpi_light != NULL)
			lmpi_coll_light_forecast(c);
		*request = lmpi_request_handle(r);
		return MPI_SUCCESS;
	}
	if (how == LMPI_COLL_NONBLOCKING) {
		*request = lmpi_request_handle(r);
		start_steps(c);
		return MPI_SUCCESS;
	}
	start_steps(c);
	return end_blocking(lmpi_request_finish(r, MPI_STATUS_IGNORE), before);
}
