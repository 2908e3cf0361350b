/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of windows, and operations on those of others, on engines of the simulator. */
#include "windows.h"

#include "draw.h"

#include "base/assert.h"

#include <setjmp.h>
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

/* ---- memory ---- */

struct piece {
	uint64_t bytes;
	_Alignas(16) uint8_t data[];
};

struct parcel {
	struct lmpi_req req;	/* first */
	struct lmpi_exposed *x; /* whose result it is, or NULL */
	uint32_t to;
	uint64_t len;
	_Alignas(16) uint8_t bytes[];
};

/* What waits, and what is behind a LOCK, and results, of all.  A packet behind a LOCK counts as its
 * own bytes. */
static uint64_t
most_kept(const struct user *u)
{
	const struct lmpi_room *room = &windows_running->room;
	uint64_t of_one = RMA_BEHIND_MOST(room) +
			  (room->early / sizeof(struct rma_packet) + 2) * RMA_ENTRY + room->early +
			  SLICE + room->results + SLICE + sizeof(struct parcel);

	return u->n->e.size * of_one + (uint64_t)u->bulks.made * (uint64_t)RMA_PIECE;
}

void *
windows_take(void *user, size_t bytes)
{
	struct user *u = user;
	struct piece *p = calloc(1, sizeof *p + bytes);

	BASE_ASSERT(p);
	p->bytes = bytes;
	if (!u)
		return p->data;
	u->kept += bytes;
	INVARIANT(windows_sim(u), MEMORY, u->kept <= most_kept(u),
		  "rank %u: what others send takes %llu bytes, at most %llu were to wait",
		  u->n->end->rank, (unsigned long long)u->kept, (unsigned long long)most_kept(u));
	return p->data;
}

void
windows_give(void *user, void *data)
{
	struct user *u = user;
	struct piece *p;

	if (!data)
		return;
	p = (struct piece *)(void *)((uint8_t *)data - offsetof(struct piece, data));
	if (u)
		u->kept -= p->bytes;
	free(p);
}

uint64_t
windows_mark(uint32_t rank, uint32_t element)
{
	return (uint64_t)((rank + 1) << 24 | element) << 32;
}

/* ---- sending ---- */

static void
burn_parcel(struct lmpi_req *req)
{
	struct parcel *p = (struct parcel *)(void *)req;
	struct lmpi_exposed *x = p->x;
	uint64_t bytes = sizeof *p + p->len;
	int to = (int)p->to;

	windows_give(x ? x->memory.user : NULL, req);
	if (x)
		lmpi_exposed_paid(x, to, bytes);
}

static void hear_packet(struct user *u, uint32_t from, const void *data, uint64_t len);

/* A copy of data on that context, behind a header if there is one.  result: of an operation on
 * u's part. */
static void
mail(struct user *u, uint32_t to, uint64_t cid, uint32_t tag, const struct rma_packet *p,
     const void *data, uint64_t len, bool result)
{
	uint64_t head = p ? sizeof *p : 0;
	struct parcel *out = windows_take(result ? u : NULL, sizeof *out + head + len);

	if (p)
		memcpy(out->bytes, p, head);
	if (len)
		memcpy(out->bytes + head, data, len);
	out->len = head + len;
	out->x = result ? &u->x : NULL;
	out->to = to;
	if (result)
		lmpi_exposed_owe(&u->x, (int)to, sizeof *out + out->len);
	if (p && to == u->n->end->rank) {
		hear_packet(u, to, out->bytes, out->len);
		burn_parcel(&out->req);
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
	mail(u, to, LMPI_CID_SERVICE, 0, &p, data, len, p.kind == RMA_REPLY);
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
	windows_give(NULL, act);
}

static const struct lmpi_acting_ops acting_ops = {
	.receive = receive_result, .result = store_result, .ended = end_operation};

/* It may die when its packet has gone, and the bulk data that this announces has not. */
static bool
dies_between(struct user *u)
{
	struct trouble *t = &windows_running->t;

	if (t->nodes.w->nrelay || t->died || t->immortal || !coin(&t->prng, 5))
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
	lmpi_target_note_early(t, sizeof p + (beside || !data ? 0 : len));
	if (beside && kind != RMA_PUT)
		lmpi_target_note_beside(t, len);
	windows_tell(u, u->target, p, data, beside || !data ? 0 : len);
	if (beside && !dies_between(u))
		mail(u, u->target, LMPI_CID_BULK, p.data_tag, NULL, data, len, false);
	lmpi_act_event(&op->act);
}

static void
flush_target(struct user *u, uint32_t rank)
{
	if (lmpi_target_flush(&u->targets[rank], u->lost >> rank & 1))
		windows_tell(u, rank, (struct rma_packet){.kind = RMA_FLUSH}, NULL, 0);
}

void
windows_flush(struct user *u)
{
	for (uint32_t r = 0; r < u->n->e.size; r++)
		flush_target(u, r);
}

bool
windows_has_room(struct user *u)
{
	const struct lmpi_target *t = &u->targets[u->target];

	if (!lmpi_target_is_full(&u->acting, t))
		return true;
	if (t->held == LMPI_LOCK_ASKED || t->acks > 0)
		return false;
	flush_target(u, u->target);
	return true;
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
		mail(u, (uint32_t)j->origin, LMPI_CID_BULK, j->p.reply_tag, NULL, old, j->p.bytes,
		     true);
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

	INVARIANT(windows_sim(u), RESULT, u->hostile || (good && !j->p.error),
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

/* A job ends then; here the packet goes, so that a flood goes on.  What has begun to be done does
 * not end so. */
static jmp_buf refused;
static struct user *refuses; /* who is in lmpi_exposed_arrive() */

static __attribute__((noreturn)) void
is_malformed(const struct lmpi_job *j, const char *what)
{
	struct user *u = refuses;

	if (!u || !j)
		abort();
	INVARIANT(windows_sim(u), HONEST, windows_running->user[j->origin].hostile,
		  "rank %u refuses packet %u of rank %d: %s", u->n->end->rank, j->p.kind, j->origin,
		  what);
	u->refused++;
	longjmp(refused, 1);
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
	struct user *outer = refuses;
	if (!outer && setjmp(refused)) {
		refuses = NULL;
		return;
	}
	refuses = u;
	lmpi_exposed_arrive(&j);
	refuses = outer;
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
	u->x = (struct lmpi_exposed){
		.ops = &exposed_ops,
		.memory = {.get = windows_take, .put = windows_give, .user = u},
		.room = windows_running->room,
		.bulks = &u->bulks,
		.lock = &u->lock,
		.me = (int)u->n->end->rank,
		.origin = u->origin};
	u->acting = (struct lmpi_acting){.ops = &acting_ops,
					 .memory = {.get = windows_take, .put = windows_give},
					 .room = windows_running->room};
}
