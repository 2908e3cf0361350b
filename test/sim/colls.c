/* SPDX-License-Identifier: BSD-2-Clause */
/* Collective calls on real engines of lib/mpi: schedules of lib/collectives, run by the executors
 * that libmpi has (mpi/steps.h), over real relays (sim/trouble.h).
 *
 * All processes make the same calls of a few communicators in the same order, each at times of
 * its own: calls that block one after the other, others several at a time.
 *
 * Checked  when a call is over: its result is what the operation is to give (test/coll_model.h),
 *	    now and at the end; nobody leaves a barrier that not all have entered; its memory is
 *	    read no more (it is poisoned); an error is that of a member that is dead.
 *	    At the end: every call of every living process is over. */
#include "draw.h"
#include "trouble.h"

#include "coll_model.h"

#include "coll/impi.h"
#include "mpi/steps.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_MAX  40u
#define COMMS_MAX  4u
#define BYTES_MOST 65536u /* of a buffer */
#define CID_FIRST  16u	  /* of a communicator; the next one is for its calls */
#define TAG_FIRST  1024
#define POISON	   0x55

struct comm {
	uint32_t size;
	uint32_t world[ENODES_MAX];
	uint32_t cluster[ENODES_MAX], number[ENODES_MAX]; /* of its members; coll_locality_of() */
	struct coll_locality near;
};

/* The same at all processes. */
struct call {
	struct comm *comm;
	struct coll_args a;
	const char *algorithm;
	bool uneven, in_place, blocks;
	uint32_t entered; /* bits of ranks in comm */
};

struct colls;
/* One process in a call. */
struct part {
	struct lmpi_steps run; /* first */
	struct colls *all;
	struct enode *n;
	const struct call *call;
	struct lmpi_few few; /* call->blocks */
	struct coll_model m;
	struct coll_schedule schedule;
	void *arena, *lists;
	uint8_t *buf[3];
	size_t room;
	int tag;
	bool over;
};

struct caller {
	uint32_t begun, open; /* calls */
	uint32_t lost;	      /* bits of world ranks */
	struct part *part[CALLS_MAX];
};

struct colls {
	struct trouble t; /* first */
	uint32_t ncomms, ncalls;
	uint32_t open_max; /* of a process at a time */
	struct comm comm[COMMS_MAX];
	struct call call[CALLS_MAX];
	struct caller caller[ENODES_MAX];
	uint32_t broken; /* calls that ended with an error */
};

static struct colls *
colls_of(const struct enode *n)
{
	return (struct colls *)(void *)n->all;
}

static struct caller *
caller_of(const struct enode *n)
{
	return &colls_of(n)->caller[n->end->rank];
}

static uint32_t
rank_in(const struct comm *c, uint32_t world)
{
	for (uint32_t r = 0; r < c->size; r++)
		if (c->world[r] == world)
			return r;
	return COLL_NO_RANK;
}

static uint64_t
cid_of(const struct colls *all, const struct comm *c)
{
	return CID_FIRST + 2 * (uint64_t)(c - all->comm) + 1;
}

static bool
has_lost(const struct part *p)
{
	const struct comm *c = p->call->comm;

	for (uint32_t r = 0; r < c->size; r++)
		if (caller_of(p->n)->lost >> c->world[r] & 1)
			return true;
	return false;
}

/* ---- a step's message ---- */

static struct part *
part_of(struct lmpi_steps *run)
{
	return (struct part *)(void *)run;
}

static void
check_came(const struct part *p, uint32_t i)
{
	const struct lmpi_req *req = &p->run.step[i].e;
	const struct coll_step *st = &p->schedule.step[i];

	INVARIANT(p->n->end->w->s, RESULT,
		  st->kind != COLL_STEP_RECV || req->error || req->cancelled ||
			  req->bytes == st->into.len,
		  "rank %u: a step of %s gets %llu of %llu bytes", p->n->end->rank,
		  coll_op_name(p->call->a.op), (unsigned long long)req->bytes,
		  (unsigned long long)st->into.len);
}

static void
message_done(struct lmpi_req *req)
{
	const struct lmpi_step *st = (struct lmpi_step *)(void *)req;
	struct lmpi_steps *run = st->run;

	check_came(part_of(run), st->index);
	lmpi_step_returned(run, st->index);
	lmpi_steps_error(run, req->error);
	lmpi_step_arrived(run, st->index);
}

static void
post_step(struct part *p, uint32_t i, void (*on_done)(struct lmpi_req *))
{
	const struct coll_step *st = &p->schedule.step[i];
	const struct comm *c = p->call->comm;
	struct lmpi_req *req = &p->run.step[i].e;
	uint64_t cid = cid_of(p->all, c);

	*req = (struct lmpi_req){.on_done = on_done};
	if (st->kind == COLL_STEP_SEND)
		lmpi_engine_isend(&p->n->e, req, p->buf[st->from.buf] + st->from.off, st->from.len,
				  c->world[st->peer], (int)p->m.a.rank, p->tag, cid, LMPI_STANDARD);
	else
		lmpi_engine_irecv(&p->n->e, req, p->buf[st->into.buf] + st->into.off, st->into.len,
				  (int)st->peer, p->tag, cid);
}

static bool
is_message(const struct coll_step *st)
{
	return st->kind == COLL_STEP_SEND || st->kind == COLL_STEP_RECV;
}

static void
issue_step(struct lmpi_steps *run, uint32_t i)
{
	struct part *p = part_of(run);

	if (is_message(&p->schedule.step[i])) {
		lmpi_step_posted(run, i);
		post_step(p, i, message_done);
		lmpi_step_issued(run, i);
		return;
	}
	coll_model_compute(&p->m.a, &p->schedule.step[i], p->buf);
	lmpi_step_done(run, i);
}

static bool
issue_few(struct lmpi_steps *run, uint32_t i)
{
	struct part *p = part_of(run);

	if (is_message(&p->schedule.step[i])) {
		post_step(p, i, NULL);
		return false;
	}
	coll_model_compute(&p->m.a, &p->schedule.step[i], p->buf);
	return true;
}

static void
take_back_step(struct lmpi_steps *run, uint32_t i)
{
	struct part *p = part_of(run);

	if (p->schedule.step[i].kind == COLL_STEP_RECV)
		(void)lmpi_engine_cancel_recv(&p->n->e, &run->step[i].e);
	else
		lmpi_engine_cancel_send(&p->n->e, &run->step[i].e);
}

/* ---- a call's end ---- */

static void
check_result(const struct part *p)
{
	uint8_t *want = malloc(p->room);

	BASE_ASSERT(want);
	INVARIANT(p->n->end->w->s, RESULT,
		  coll_model_is_right(&p->m, p->buf[COLL_RECV], want, p->room),
		  "rank %u: call %u, %s/%s of %llu bytes between %u: a wrong result",
		  p->n->end->rank, (uint32_t)(p->call - p->all->call), coll_op_name(p->m.a.op),
		  p->schedule.algorithm, (unsigned long long)p->m.a.bytes, p->m.a.size);
	free(want);
}

static void
end_part(struct lmpi_steps *run)
{
	struct part *p = part_of(run);
	struct sim *s = p->n->end->w->s;

	p->over = true;
	caller_of(p->n)->open--;
	if (!p->n->end->alive)
		return;
	memset(p->buf[COLL_SEND], POISON, p->room);
	p->all->broken += run->error != LMPI_OK;
	INVARIANT(s, RESULT, !run->error || (run->error == LMPI_ERR_PROC_FAILED && has_lost(p)),
		  "rank %u: call %u ends with error %d", p->n->end->rank,
		  (uint32_t)(p->call - p->all->call), run->error);
	if (run->error)
		return;
	uint32_t everybody = UINT32_MAX >> (32 - p->m.a.size);
	INVARIANT(s, RESULT, p->m.a.op != COLL_BARRIER || p->call->entered == everybody,
		  "rank %u: a barrier ends that not all have entered", p->n->end->rank);
	check_result(p);
}

static const struct lmpi_steps_ops step_ops = {
	.issue = issue_step, .take_back = take_back_step, .over = end_part};

/* ---- a call's beginning ---- */

static void *
need(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	BASE_ASSERT(p);
	return p;
}

static void
link_part(struct part *p)
{
	const struct coll_schedule *s = &p->schedule;
	uint32_t *last = need(2 * (size_t)s->size * sizeof *last);

	p->lists = need(s->steps * sizeof *p->run.step + (s->deps + s->steps) * sizeof(uint32_t));
	p->run.step = p->lists;
	p->run.dependents = (uint32_t *)(void *)(p->run.step + s->steps);
	p->run.ready = p->run.dependents + s->deps;
	lmpi_steps_link(s, p->run.step, p->run.dependents, last);
	free(last);
	for (uint32_t i = 0; i < s->steps; i++)
		p->run.step[i].run = &p->run;
	p->run.ops = &step_ops;
	p->run.schedule = s;
}

static struct coll_args
args_of(const struct call *call, uint32_t rank)
{
	struct coll_args a = call->a;

	a.rank = rank;
	a.in_place = call->in_place && coll_model_takes_in_place(&a);
	return a;
}

static struct part *
make_part(struct enode *n, uint32_t k)
{
	struct colls *all = colls_of(n);
	const struct call *call = &all->call[k];
	struct part *p = need(sizeof *p);

	p->all = all;
	p->n = n;
	p->call = call;
	p->tag = TAG_FIRST + (int)k;
	p->m.salt = k + 1;
	p->m.a = args_of(call, rank_in(call->comm, n->end->rank));
	coll_model_lay_out(&p->m, call->uneven);
	size_t hint = coll_arena_hint(&p->m.a);
	p->arena = need(hint);
	int rc = coll_build(&p->schedule, &p->m.a, call->algorithm, p->arena, hint);
	BASE_ASSERT(rc == COLL_ERR_OK);
	p->room = coll_model_room(&p->m.a);
	p->buf[COLL_SEND] = need(p->room);
	p->buf[COLL_RECV] = need(p->room);
	p->buf[COLL_TMP] = need(p->schedule.tmp_bytes);
	coll_model_fill(&p->m, p->buf[COLL_SEND], p->buf[COLL_RECV], p->room);
	link_part(p);
	return p;
}

static bool
is_few(const struct part *p)
{
	return p->call->blocks && p->schedule.steps <= LMPI_STEPS_SET;
}

static void
go_on_few(struct part *p)
{
	if (has_lost(p))
		lmpi_steps_error(&p->run, LMPI_ERR_PROC_FAILED);
	if (!lmpi_few_run(&p->few, issue_few))
		return;
	for (uint32_t i = 0; i < p->schedule.steps; i++)
		if (is_message(&p->schedule.step[i]) && p->run.error == LMPI_OK)
			check_came(p, i);
	end_part(&p->run);
}

static void
begin_call(struct enode *n)
{
	struct colls *all = colls_of(n);
	struct caller *c = caller_of(n);
	uint32_t k = c->begun++;
	struct call *call = &all->call[k];
	uint32_t rank = rank_in(call->comm, n->end->rank);

	if (rank == COLL_NO_RANK)
		return;
	struct part *p = c->part[k] = make_part(n, k);
	c->open++;
	call->entered |= 1u << rank;
	if (is_few(p)) {
		lmpi_few_start(&p->few, &p->run);
		go_on_few(p);
	} else {
		lmpi_steps_start(&p->run, has_lost(p) ? LMPI_ERR_PROC_FAILED : LMPI_OK);
	}
}

/* The call that the process is in; NULL: none that blocks. */
static struct part *
blocking(const struct caller *c)
{
	struct part *p = c->begun ? c->part[c->begun - 1] : NULL;

	return p && p->call->blocks && !p->over ? p : NULL;
}

static void
act_caller(struct enode *n)
{
	const struct colls *all = colls_of(n);
	const struct caller *c = caller_of(n);
	struct part *p = blocking(c);

	if (p && is_few(p))
		go_on_few(p);
	else if (!p && c->begun < all->ncalls && c->open < all->open_max)
		begin_call(n);
}

/* ---- deaths ---- */

static void
lose_member(struct enode *n, uint32_t dead)
{
	struct caller *c = caller_of(n);

	if (c->lost >> dead & 1)
		return;
	enode_run_done(n);
	c->lost |= 1u << dead;
	lmpi_engine_lost(&n->e, &n->peer[dead]);
	enode_run_done(n);
	for (uint32_t k = 0; k < c->begun; k++) {
		struct part *p = c->part[k];
		if (p && !p->over && !is_few(p) && !p->run.error && has_lost(p))
			lmpi_steps_fail(&p->run, LMPI_ERR_PROC_FAILED);
	}
}

static void
forget_caller(struct enode *n)
{
	(void)n;
}

static uint32_t
world_of(const struct lmpi_engine *e, uint64_t cid, int source)
{
	const struct colls *all = colls_of(e->user);
	const struct comm *c = &all->comm[(cid - CID_FIRST) / 2];

	return (uint32_t)source < c->size ? c->world[source] : COLL_NO_RANK;
}

static bool
is_complete(const struct trouble *t, char *rest, size_t len)
{
	const struct colls *all = (const struct colls *)(const void *)t;

	for (uint32_t r = 0; r < t->nodes.w->nend; r++) {
		const struct caller *c = &all->caller[r];
		if (!t->nodes.w->end[r].alive || (c->begun == all->ncalls && c->open == 0))
			continue;
		if (rest)
			snprintf(rest, len, "rank %u: %u of %u calls begun, %u not over", r,
				 c->begun, all->ncalls, c->open);
		return false;
	}
	return true;
}

static const struct trouble_ops ops = {
	.act = act_caller, .perished = forget_caller, .complete = is_complete};

/* ---- what is called ---- */

static void
draw_comm(struct colls *all, struct comm *c)
{
	struct base_prng *p = &all->t.prng;
	const struct world *w = all->t.nodes.w;
	uint32_t scratch[ENODES_MAX];
	bool everybody = c == all->comm;

	for (uint32_t r = 0; r < w->nend; r++)
		if (everybody || coin(p, 70))
			c->world[c->size++] = r;
	if (c->size == 0)
		c->world[c->size++] = (uint32_t)base_prng_below(p, w->nend);
	/* In another order than that of the world. */
	for (uint32_t r = c->size; coin(p, 30) && r > 1; r--) {
		uint32_t with = (uint32_t)base_prng_below(p, r), was = c->world[r - 1];
		c->world[r - 1] = c->world[with];
		c->world[with] = was;
	}
	for (uint32_t r = 0; r < c->size; r++)
		c->cluster[r] = w->end[c->world[r]].client;
	c->near = coll_locality_of(c->cluster, c->size, c->number, scratch);
}

/* Which algorithms all members can take; NULL, which is the choice of the rules, too. */
static const char *
draw_algorithm(struct base_prng *p, const struct call *call)
{
	size_t n;
	const struct coll_algorithm *of = coll_algorithms(&n);
	const char *fit[32];
	size_t fits = 0;

	for (size_t i = 0; i < n; i++) {
		bool all = of[i].op == call->a.op && strcmp(of[i].name, COLL_IMPI) &&
			   strcmp(of[i].name, COLL_INTER);
		for (uint32_t r = 0; r < call->comm->size && all; r++) {
			struct coll_model m = {.a = args_of(call, r)};
			coll_model_lay_out(&m, call->uneven);
			all = !of[i].fits || of[i].fits(&m.a);
		}
		if (all && fits < sizeof fit / sizeof *fit)
			fit[fits++] = of[i].name;
	}
	return fits && coin(p, 80) ? fit[base_prng_below(p, fits)] : NULL;
}

static void
draw_call(struct colls *all, struct call *call)
{
	struct base_prng *p = &all->t.prng;
	uint64_t most = PICK(p, 0, 16, 400, 4000, BYTES_MOST);

	call->comm = &all->comm[coin(p, 50) ? 0 : base_prng_below(p, all->ncomms)];
	call->uneven = coin(p, 30);
	call->in_place = coin(p, 30);
	call->blocks = coin(p, 50);
	call->a = (struct coll_args){.size = call->comm->size,
				     .elem = COLL_MODEL_ELEM,
				     .cluster_of = call->comm->cluster,
				     .near = call->comm->near};
	call->a.op = (enum coll_op)base_prng_below(p, COLL_OP_COUNT);
	call->a.commutative = coin(p, 60);
	call->a.reversed = coin(p, 20);
	call->a.degree = (uint32_t)between(p, 1, 4);
	call->a.piece = PICK(p, 0, 320, 4096);
	call->uneven &= coll_model_takes_uneven(call->a.op);
	call->a.vector = call->uneven;
	call->a.root = (uint32_t)base_prng_below(p, call->a.size);
	bool blocks = coll_model_takes_uneven(call->a.op) || call->a.op == COLL_NEIGHBOR;
	call->a.bytes = base_prng_below(p, most / (blocks ? call->a.size : 1) + 1) /
			COLL_MODEL_ELEM * COLL_MODEL_ELEM;
	if (call->a.op == COLL_BARRIER)
		call->a.bytes = 0;
	call->algorithm = draw_algorithm(p, call);
}

static void
free_part(struct part *p)
{
	if (!p)
		return;
	for (int b = 0; b < 3; b++)
		free(p->buf[b]);
	free(p->arena);
	free(p->lists);
	free(p);
}

/* What was received has stayed as it was. */
static void
check_kept(const struct colls *all)
{
	for (uint32_t r = 0; r < all->t.nodes.w->nend; r++)
		for (uint32_t k = 0; k < all->ncalls; k++) {
			const struct part *p = all->caller[r].part[k];
			if (p && p->over && !p->run.error && all->t.nodes.w->end[r].alive)
				check_result(p);
		}
}

void
colls_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct colls *all = need(sizeof *all);
	struct base_prng *p = &all->t.prng;
	static struct lmpi_contexts contexts;

	contexts = enode_contexts;
	contexts.world_of = world_of;
	all->t.ops = &ops;
	all->t.nodes.lost = lose_member;
	trouble_begin(&all->t, seed, 0xc0115, verbose, &contexts);
	const struct world *w = all->t.nodes.w;
	all->ncomms = (uint32_t)between(p, 1, COMMS_MAX);
	for (uint32_t i = 0; i < all->ncomms; i++)
		draw_comm(all, &all->comm[i]);
	all->ncalls = (uint32_t)between(p, 5, CALLS_MAX);
	for (uint32_t k = 0; k < all->ncalls; k++)
		draw_call(all, &all->call[k]);
	all->open_max = (uint32_t)between(p, 1, 4);
	trouble_plan(&all->t);
	trouble_run(&all->t);
	if (!w->s->failed)
		check_kept(all);
	snprintf(o->note, sizeof o->note,
		 "%u ranks, %u relays, %u kills, %u deaths, %u calls, %u ends of them by a death",
		 w->nend, w->nrelay, all->t.killed, all->t.died, all->ncalls, all->broken);
	trouble_end(&all->t, o);
	for (uint32_t r = 0; r < ENODES_MAX; r++)
		for (uint32_t k = 0; k < CALLS_MAX; k++)
			free_part(all->caller[r].part[k]);
	free(all);
}
