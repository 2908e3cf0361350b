/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of windows, and operations on those of others, on engines of the simulator. */
#include "windows.h"

#include "draw.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

struct windows *windows_running;

struct user *
windows_user(const struct enode *n)
{
	return &((struct windows *)(void *)n->all)->user[n->end->rank];
}

static struct user *
exposes(const struct lmpi_exposed *x)
{
	return (struct user *)(void *)((char *)(uintptr_t)x - offsetof(struct user, x));
}

void *
windows_take(void *user, size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	(void)user;
	BASE_ASSERT(p);
	return p;
}

void
windows_give(void *user, void *p)
{
	(void)user;
	free(p);
}

uint64_t
windows_mark(uint32_t rank, uint32_t element)
{
	return (uint64_t)((rank + 1) << 24 | element) << 32;
}

/* ---- sending ---- */

struct parcel {
	struct lmpi_req req; /* first */
	uint64_t len;
	_Alignas(16) uint8_t bytes[];
};

static void
burn_parcel(struct lmpi_req *req)
{
	free(req);
}

static void hear_packet(struct user *u, uint32_t from, const void *data, uint64_t len);

/* A copy of data on that context, behind a header if there is one. */
static void
mail(struct user *u, uint32_t to, uint64_t cid, uint32_t tag, const struct rma_packet *p,
     const void *data, uint64_t len)
{
	uint64_t head = p ? sizeof *p : 0;
	struct parcel *out = windows_take(NULL, sizeof *out + head + len);

	if (p)
		memcpy(out->bytes, p, head);
	if (len)
		memcpy(out->bytes + head, data, len);
	out->len = head + len;
	if (p && to == u->n->end->rank) {
		hear_packet(u, to, out->bytes, out->len);
		free(out);
		return;
	}
	out->req = (struct lmpi_req){.on_done = burn_parcel};
	lmpi_engine_isend(&u->n->e, &out->req, out->bytes, out->len, to, (int)u->n->end->rank,
			  (int)tag, cid, LMPI_STANDARD);
}

void
windows_tell(struct user *u, uint32_t to, struct rma_packet p, const void *data, uint64_t len)
{
	p.win = CID;
	p.rank = u->n->end->rank;
	u->targets[to].loose = true;
	mail(u, to, LMPI_CID_SERVICE, 0, &p, data, len);
}

struct operation {
	struct lmpi_act act; /* first */
	struct user *u;
};

static bool
receive_result(struct lmpi_act *act, uint32_t tag)
{
	struct user *u = ((struct operation *)(void *)act)->u;

	lmpi_engine_irecv(&u->n->e, &act->recv, u->result, act->expected,
			  (int)(act->target - u->targets), (int)tag, LMPI_CID_BULK);
	return true;
}

static void
store_result(struct lmpi_act *act, const void *data)
{
	if (data)
		memcpy(((struct operation *)(void *)act)->u->result, data, act->expected);
}

static void
end_operation(struct lmpi_act *act)
{
	struct user *u = ((struct operation *)(void *)act)->u;

	INVARIANT(windows_sim(u), RESULT,
		  !act->error || !u->n->end->alive ||
			  (act->error == LMPI_ERR_PROC_FAILED &&
			   u->lost >> (act->target - u->targets) & 1),
		  "rank %u: an operation ends with error %d", u->n->end->rank, act->error);
	if (act->expected)
		u->waits = false;
	free(act);
}

static const struct lmpi_acting_ops acting_ops = {
	.receive = receive_result, .result = store_result, .ended = end_operation};

/* It may die when its packet has gone, and the bulk data that this announces has not. */
static bool
dies_between(struct user *u)
{
	struct trouble *t = &windows_running->t;

	if (t->nodes.w->nrelay || t->died || !coin(&t->prng, 5))
		return false;
	trouble_kill(t, u->n->end->rank, base_prng_below(&t->prng, BASE_MS_NS));
	return true;
}

void
windows_operate(struct user *u, enum rma_kind kind, uint64_t at, const void *data, uint64_t len)
{
	struct rma_packet p = {
		.kind = (uint8_t)kind, .op = ADD, .element = u->adds, .at = at, .bytes = len};
	struct lmpi_target *t = &u->targets[u->target];
	struct operation *op = windows_take(NULL, sizeof *op);
	bool beside = data && len > RMA_INLINE_MAX;

	op->u = u;
	if (beside)
		p.data_tag = lmpi_acting_tag(&u->acting);
	lmpi_act_begin(&u->acting, &op->act, t, kind);
	if (kind == RMA_GET || kind == RMA_GET_ACC) {
		u->waits = true;
		(void)lmpi_act_want(&op->act, &p, len);
	}
	windows_tell(u, u->target, p, data, beside || !data ? 0 : len);
	if (beside && !dies_between(u))
		mail(u, u->target, LMPI_CID_BULK, p.data_tag, NULL, data, len);
	lmpi_act_event(&op->act);
}

void
windows_flush(struct user *u)
{
	for (uint32_t r = 0; r < u->n->e.size; r++)
		if (lmpi_target_flush(&u->targets[r], u->lost >> r & 1))
			windows_tell(u, r, (struct rma_packet){.kind = RMA_FLUSH}, NULL, 0);
}

bool
windows_is_still(const struct user *u)
{
	for (uint32_t r = 0; r < u->n->e.size; r++)
		if (!lmpi_target_is_still(&u->targets[r]))
			return false;
	return true;
}

/* ---- what a part of a window asks for ---- */

static int
place_of(const struct lmpi_job *j, void **at)
{
	bool inside =
		j->p.at <= sizeof(struct layout) && j->p.bytes <= sizeof(struct layout) - j->p.at;

	*at = inside ? (uint8_t *)exposes(j->x)->mem + j->p.at : NULL;
	INVARIANT(windows_sim(exposes(j->x)), RESULT, inside,
		  "something is done outside of a window");
	return inside ? LMPI_OK : LMPI_ERR_OTHER;
}

static int
store_put(const struct lmpi_job *j, const void *data)
{
	void *at;
	int rc = place_of(j, &at);

	if (!rc)
		memcpy(at, data, j->p.bytes);
	return rc;
}

static int
perform_job(const struct lmpi_job *j)
{
	struct user *u = exposes(j->x);
	uint8_t old[SLICE];
	void *at;
	int rc = place_of(j, &at);

	BASE_ASSERT(!rc && j->p.bytes <= sizeof old);
	memcpy(old, at, j->p.bytes);
	for (uint64_t i = 0; j->p.kind != RMA_GET && i + 8 <= j->p.bytes; i += 8) {
		uint64_t is, add;
		memcpy(&is, (uint8_t *)at + i, 8);
		memcpy(&add, j->data + i, 8);
		INVARIANT(windows_sim(u), RESULT,
			  j->p.kind != RMA_ACC ||
				  add >> 32 << 32 ==
					  windows_mark((uint32_t)j->origin, j->p.element),
			  "rank %u adds what rank %d has not sent", u->n->end->rank, j->origin);
		is += add;
		memcpy((uint8_t *)at + i, &is, 8);
	}
	if (j->p.kind == RMA_ACC)
		return LMPI_OK;
	if (j->p.reply_tag)
		mail(u, (uint32_t)j->origin, LMPI_CID_BULK, j->p.reply_tag, NULL, old, j->p.bytes);
	else
		windows_tell(u, (uint32_t)j->origin,
			     (struct rma_packet){.kind = RMA_REPLY, .id = j->p.id}, old,
			     j->p.bytes);
	return LMPI_OK;
}

static void
hear_job(const struct lmpi_job *j)
{
	struct user *u = exposes(j->x);
	bool good = lmpi_target_hear(&u->acting, &u->targets[j->origin], j);

	INVARIANT(windows_sim(u), RESULT, good && !j->p.error,
		  "rank %u hears packet %u with error %u from rank %d", u->n->end->rank, j->p.kind,
		  j->p.error, j->origin);
}

static void
note_job(struct lmpi_exposed *x, int origin, enum rma_kind kind, int error)
{
	windows_tell(exposes(x), (uint32_t)origin,
		     (struct rma_packet){.kind = (uint8_t)kind, .error = (uint32_t)error}, NULL, 0);
}

static void
grant_own(struct lmpi_exposed *x)
{
	exposes(x)->targets[x->me].held = LMPI_LOCK_HELD;
}

static void
receive_bulk(struct lmpi_exposed *x, struct lmpi_req *req, void *into, uint64_t cap, int origin,
	     uint32_t tag)
{
	lmpi_engine_irecv(&exposes(x)->n->e, req, into, cap, origin, (int)tag, LMPI_CID_BULK);
}

static bool
has_lost(const struct lmpi_exposed *x)
{
	return exposes(x)->lost != 0;
}

static __attribute__((noreturn)) void
is_malformed(void)
{
	abort();
}

static const struct lmpi_exposed_ops exposed_ops = {.place = place_of,
						    .put = store_put,
						    .perform = perform_job,
						    .hear = hear_job,
						    .note = note_job,
						    .granted = grant_own,
						    .receive = receive_bulk,
						    .is_void = has_lost,
						    .malformed = is_malformed};

static void
hear_packet(struct user *u, uint32_t from, const void *data, uint64_t len)
{
	struct lmpi_job j;
	bool good = lmpi_job_read(&j, data, len);

	BASE_ASSERT(good && j.p.win == CID && j.p.rank == from);
	INVARIANT(windows_sim(u), RESULT, u->deed != GONE,
		  "rank %u: a packet from rank %u to a window that has gone", u->n->end->rank,
		  from);
	if (u->deed == GONE)
		return;
	j.x = &u->x;
	j.origin = (int)from;
	lmpi_exposed_arrive(&j);
}

static void
open_packet(uint32_t from, const void *data, uint64_t len)
{
	hear_packet(windows_user(windows_running->t.nodes.current), from, data, len);
}

void
windows_lose(struct enode *n, uint32_t dead)
{
	struct user *u = windows_user(n);

	if (u->lost >> dead & 1)
		return;
	enode_run_done(n);
	u->lost |= 1u << dead;
	lmpi_engine_lost(&n->e, &n->peer[dead]);
	lmpi_target_lost(&u->acting, &u->targets[dead]);
	lmpi_exposed_serve(&u->x);
	enode_run_done(n);
}

void
windows_expose(struct user *u)
{
	u->n->e.handler = open_packet;
	u->x = (struct lmpi_exposed){.ops = &exposed_ops,
				     .memory = {.get = windows_take, .put = windows_give},
				     .bulks = &u->bulks,
				     .lock = &u->lock,
				     .me = (int)u->n->end->rank,
				     .origin = u->origin};
	u->acting = (struct lmpi_acting){.ops = &acting_ops,
					 .memory = {.get = windows_take, .put = windows_give}};
}
