/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that have come: operations of other processes on my part of a window. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "layout_wire.h"
#include "rma.h"

/* A packet with what it speaks of. */
struct job {
	struct lmpi_win *win;
	int origin;
	struct rma_packet p;
	const char *layout;
	const char *data;
	uint64_t bytes; /* of data */
};

/* One that has to wait: for its own bulk data, or for what came before it. */
struct rma_later {
	struct lmpi_req req; /* first: of the bulk data */
	struct rma_later *next;
	struct job job;
	uint64_t turn; /* of the last bulk put before it */
	bool ready;
	void *bulk;
	_Alignas(16) char copy[];
};

/* One that came while its origin waited for the lock. */
struct rma_kept {
	struct rma_kept *next;
	struct job job;
	_Alignas(16) char copy[];
};

/* A bulk put that is arriving. */
struct rma_filling {
	struct lmpi_req req; /* first */
	struct rma_filling *prev, *next;
	uint64_t turn;
	struct job job;
	void *temp; /* packed, to be stored then; NULL: it goes to the window by itself */
	_Alignas(16) char copy[];
};

static _Noreturn void
target_malformed(void)
{
	lmpi_engine_abort(MPI_ERR_INTERN, "a malformed packet of a window");
}

static void *
must_alloc(uint64_t bytes)
{
	void *p = malloc(bytes > 0 ? bytes : 1);

	if (p == NULL)
		lmpi_engine_abort(MPI_ERR_NO_MEM, "out of memory for an operation on a window");
	return p;
}

/* Memory for data to be accumulated; giving it back to the system each time would cost more
 * than the work. */
#define SPARES_MAX 4
static void *spare[SPARES_MAX];
static int spares;

static void *
bulk_new(uint64_t bytes)
{
	if (bytes > RMA_PIECE)
		return must_alloc(bytes);
	return spares > 0 ? spare[--spares] : must_alloc(RMA_PIECE);
}

static void
bulk_free(void *bulk, uint64_t bytes)
{
	if (bytes <= RMA_PIECE && bulk != NULL && spares < SPARES_MAX)
		spare[spares++] = bulk;
	else
		free(bulk);
}

/* Where the packet's operation goes.  false: outside the window.  The type lives until
 * lmpi_rma_layout_release(). */
static bool
locate(const struct job *j, struct rma_place *place, struct lmpi_type *type)
{
	const struct lmpi_win *win = j->win;
	int64_t lo = 0, hi = (int64_t)j->p.bytes, bytes = hi;
	uintptr_t base = 0;

	*type = (struct lmpi_type){0};
	if (hi < 0)
		target_malformed();
	if (j->p.layout > 0 &&
	    !lmpi_rma_layout_decode(type, (const uint64_t *)(const void *)j->layout,
				    j->p.layout / sizeof(uint64_t), (int64_t)j->p.count, &bytes,
				    &lo, &hi))
		target_malformed();
	if (bytes != (int64_t)j->p.bytes) {
		lmpi_rma_layout_release(type);
		target_malformed();
	}
	if (__builtin_add_overflow(lo, (int64_t)j->p.at, &lo) ||
	    __builtin_add_overflow(hi, (int64_t)j->p.at, &hi))
		return false;
	if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC) {
		if (bytes > 0 && !lmpi_rma_attached(win, (uintptr_t)lo, (uint64_t)(hi - lo)))
			return false;
	} else {
		base = (uintptr_t)win->base;
		if (bytes > 0 && (lo < 0 || hi > win->size))
			return false;
	}
	*place = (struct rma_place){.at = (void *)(base + (uintptr_t)j->p.at),
				    .type = j->p.layout > 0 ? type : NULL,
				    .count = (int64_t)j->p.count,
				    .bytes = bytes};
	return true;
}

/* ---- the order of what must keep it */

static void execute(const struct job *j);

/* Has each bulk put up to that turn arrived?  Those that began later are not waited for. */
static bool
filled_up_to(const struct rma_peer *peer, uint64_t turn)
{
	return peer->filling_first == NULL || peer->filling_first->turn > turn;
}

static void
drain_target(struct rma_peer *peer)
{
	struct rma_later *l;

	while ((l = peer->later_first) != NULL && l->ready && filled_up_to(peer, l->turn)) {
		peer->later_first = l->next;
		if (l->next == NULL)
			peer->later_last = NULL;
		execute(&l->job);
		bulk_free(l->bulk, l->job.p.bytes);
		free(l);
	}
}

static void
bulk_came(struct lmpi_req *req)
{
	struct rma_later *l = (struct rma_later *)(void *)req;

	l->ready = true;
	drain_target(&l->job.win->peer[l->job.origin]);
}

/* A copy of what the packet holds, for the memory it came in goes. */
static void
keep_target(struct job *j, char *copy)
{
	if (j->p.layout > 0)
		memcpy(copy, j->layout, j->p.layout);
	if (j->bytes > 0)
		memcpy(copy + rma_padded(j->p.layout), j->data, j->bytes);
	j->layout = copy;
	j->data = copy + rma_padded(j->p.layout);
}

static void
target_in_order(const struct job *j)
{
	struct rma_peer *peer = &j->win->peer[j->origin];
	struct rma_later *l;

	if (peer->later_first == NULL && j->p.data_tag == 0 && peer->filling_first == NULL) {
		execute(j);
		return;
	}
	l = must_alloc(sizeof(*l) + rma_padded(j->p.layout) + j->bytes);
	*l = (struct rma_later){.job = *j, .turn = peer->filling_turn, .ready = j->p.data_tag == 0};
	keep_target(&l->job, l->copy);
	if (peer->later_last != NULL)
		peer->later_last->next = l;
	else
		peer->later_first = l;
	peer->later_last = l;
	if (l->ready)
		return;
	l->bulk = bulk_new(j->p.bytes);
	l->job.data = l->bulk;
	l->job.bytes = j->p.bytes;
	l->req.on_done = bulk_came;
	lmpi_irecv(&l->req, l->bulk, j->p.bytes, (int)rma_world(j->win, j->origin),
		   (int)j->p.data_tag, LMPI_CID_BULK);
}

/* ---- operations */

static void
filled(struct lmpi_req *req)
{
	struct rma_filling *f = (struct rma_filling *)(void *)req;
	struct rma_peer *peer = &f->job.win->peer[f->job.origin];
	struct rma_place place;
	struct lmpi_type type;

	if (f->temp != NULL && !req->error) {
		if (locate(&f->job, &place, &type))
			lmpi_rma_store(&place, f->temp);
		lmpi_rma_layout_release(&type);
	}
	*(f->prev ? &f->prev->next : &peer->filling_first) = f->next;
	*(f->next ? &f->next->prev : &peer->filling_last) = f->prev;
	free(f->temp);
	free(f);
	drain_target(peer);
}

static void
put_target(const struct job *j)
{
	struct rma_peer *peer = &j->win->peer[j->origin];
	struct rma_place place = {0};
	struct lmpi_type type;
	bool inside = locate(j, &place, &type);
	struct rma_filling *f;
	void *into;

	if (!inside)
		peer->fault = MPI_ERR_RMA_RANGE;
	if (j->p.data_tag == 0) {
		if (inside && j->bytes != j->p.bytes)
			target_malformed();
		if (inside)
			lmpi_rma_store(&place, j->data);
		lmpi_rma_layout_release(&type);
		return;
	}
	f = must_alloc(sizeof(*f) + j->p.layout);
	*f = (struct rma_filling){
		.job = *j, .prev = peer->filling_last, .turn = ++peer->filling_turn};
	keep_target(&f->job, f->copy);
	into = place.at;
	if (!inside || place.type != NULL)
		into = f->temp = must_alloc(j->p.bytes);
	lmpi_rma_layout_release(&type);
	f->req.on_done = filled;
	*(f->prev ? &f->prev->next : &peer->filling_first) = f;
	peer->filling_last = f;
	lmpi_irecv(&f->req, into, j->p.bytes, (int)rma_world(j->win, j->origin), (int)j->p.data_tag,
		   LMPI_CID_BULK);
}

/* Send a result; packed: a copy of it that may go away, or NULL. */
static void
answer_target(const struct job *j, int error, const void *data, uint64_t bytes, void *packed)
{
	if (j->p.reply_tag != 0) {
		lmpi_rma_send_bulk(j->win, j->origin, j->p.reply_tag, data, error ? 0 : bytes,
				   packed);
		return;
	}
	lmpi_rma_send_reply(j->win, j->origin, &j->p, error, data, error ? 0 : bytes);
	free(packed);
}

static void
get_target(const struct job *j)
{
	struct rma_place place;
	struct lmpi_type type;
	void *packed = NULL;

	if (!locate(j, &place, &type)) {
		answer_target(j, MPI_ERR_RMA_RANGE, NULL, 0, NULL);
		lmpi_rma_layout_release(&type);
		return;
	}
	if (place.type != NULL) {
		packed = must_alloc(j->p.bytes);
		lmpi_rma_load(&place, packed);
	}
	lmpi_rma_layout_release(&type);
	answer_target(j, MPI_SUCCESS, packed ? packed : place.at, j->p.bytes, packed);
}

static void
accumulate_target(const struct job *j)
{
	struct rma_combine how = {(MPI_Op)(uintptr_t)j->p.op,
				  lmpi_type_find((MPI_Datatype)(uintptr_t)j->p.element)};
	bool fetch = j->p.kind == RMA_GET_ACC;
	struct lmpi_op_use use;
	struct rma_place place;
	struct lmpi_type type;
	void *old = NULL;

	if (how.element == NULL || how.element->size == 0 ||
	    j->p.bytes % (uint64_t)how.element->size != 0 ||
	    (how.op != MPI_NO_OP && j->bytes != j->p.bytes) ||
	    (how.op != MPI_NO_OP && how.op != MPI_REPLACE &&
	     (lmpi_op_check(how.op, how.element, &use) != MPI_SUCCESS || use.user != NULL)))
		target_malformed();
	if (!locate(j, &place, &type)) {
		if (fetch)
			answer_target(j, MPI_ERR_RMA_RANGE, NULL, 0, NULL);
		else
			j->win->peer[j->origin].fault = MPI_ERR_RMA_RANGE;
		lmpi_rma_layout_release(&type);
		return;
	}
	if (fetch)
		old = must_alloc(j->p.bytes);
	if (!lmpi_rma_accumulate(rma_me(j->win)->ctl, &place, &how, j->data, old))
		lmpi_engine_abort(MPI_ERR_NO_MEM, "out of memory for an accumulate");
	lmpi_rma_layout_release(&type);
	if (fetch)
		answer_target(j, MPI_SUCCESS, old, j->p.bytes, old);
}

static void
swap_target(const struct job *j)
{
	struct rma_place place;
	struct lmpi_type type;
	char old[64];

	if (j->p.bytes > sizeof(old) || j->bytes != 2 * j->p.bytes || j->p.layout != 0)
		target_malformed();
	if (!locate(j, &place, &type)) {
		answer_target(j, MPI_ERR_RMA_RANGE, NULL, 0, NULL);
		return;
	}
	lmpi_rma_swap(rma_me(j->win)->ctl, place.at, j->data, j->data + j->p.bytes, old,
		      (int64_t)j->p.bytes);
	answer_target(j, MPI_SUCCESS, old, j->p.bytes, NULL);
}

static void
execute(const struct job *j)
{
	struct rma_peer *peer = &j->win->peer[j->origin];

	switch (j->p.kind) {
	case RMA_GET:
		get_target(j);
		break;
	case RMA_ACC:
	case RMA_GET_ACC:
		accumulate_target(j);
		break;
	case RMA_CAS:
		swap_target(j);
		break;
	case RMA_FLUSH:
		lmpi_rma_send_note(j->win, j->origin, RMA_ACK, 0, peer->fault);
		peer->fault = MPI_SUCCESS;
		break;
	case RMA_UNLOCK:
		lmpi_rma_lock_returned(j->win, j->p.flags & RMA_EXCLUSIVE);
		break;
	case RMA_COMPLETE:
		peer->completed++;
		break;
	default:
		target_malformed();
	}
}

/* ---- arrival */

static void
act(const struct job *j)
{
	struct rma_peer *peer = &j->win->peer[j->origin];

	switch (j->p.kind) {
	case RMA_PUT:
		put_target(j);
		break;
	case RMA_REPLY:
		lmpi_rma_on_reply(j->win, j->origin, &j->p, j->data, j->bytes);
		break;
	case RMA_ACK:
		if (peer->acks == 0)
			target_malformed();
		peer->acks--;
		if (j->p.error != 0)
			peer->error = (int)j->p.error;
		break;
	case RMA_LOCK:
		lmpi_rma_lock_asked(j->win, j->origin, j->p.flags & RMA_EXCLUSIVE);
		break;
	case RMA_GRANT:
		lmpi_rma_lock_granted(j->win, j->origin);
		break;
	case RMA_KICK:
		lmpi_rma_lock_serve(j->win);
		break;
	case RMA_POST:
		peer->posted++;
		break;
	default:
		target_in_order(j);
	}
}

/* Operations, and what begins and ends epochs: in the order they were sent. */
static bool
behind_lock(const struct job *j)
{
	const struct rma_peer *peer = &j->win->peer[j->origin];

	switch (j->p.kind) {
	case RMA_REPLY:
	case RMA_ACK:
	case RMA_GRANT:
	case RMA_KICK:
	case RMA_POST:
		return false;
	default:
		return peer->waits || peer->kept_first != NULL;
	}
}

static void
keep_for_lock(const struct job *j)
{
	struct rma_peer *peer = &j->win->peer[j->origin];
	struct rma_kept *k = must_alloc(sizeof(*k) + rma_padded(j->p.layout) + j->bytes);

	*k = (struct rma_kept){.job = *j};
	keep_target(&k->job, k->copy);
	*(peer->kept_last ? &peer->kept_last->next : &peer->kept_first) = k;
	peer->kept_last = k;
}

void
lmpi_rma_do_kept(struct lmpi_win *win, int origin)
{
	struct rma_peer *peer = &win->peer[origin];
	struct rma_kept *k;

	/* It stays the first while it is done, so that nothing passes it; it may be another
	 * LOCK. */
	while (!peer->waits && (k = peer->kept_first) != NULL) {
		act(&k->job);
		peer->kept_first = k->next;
		if (k->next == NULL)
			peer->kept_last = NULL;
		free(k);
	}
}

void
lmpi_rma_on_packet(uint32_t from_world, const void *data, uint64_t len)
{
	struct job j = {0};

	if (len < sizeof(j.p))
		target_malformed();
	memcpy(&j.p, data, sizeof(j.p));
	len -= sizeof(j.p);
	j.win = lmpi_rma_win_of(j.p.win);
	if (j.win == NULL || j.p.rank >= (uint32_t)j.win->comm->size ||
	    rma_world(j.win, (int)j.p.rank) != from_world || rma_padded(j.p.layout) > len ||
	    j.p.layout % sizeof(uint64_t) != 0 || j.p.data_tag > INT32_MAX ||
	    j.p.reply_tag > INT32_MAX)
		target_malformed();
	j.origin = (int)j.p.rank;
	j.layout = (const char *)data + sizeof(j.p);
	j.data = j.layout + rma_padded(j.p.layout);
	j.bytes = len - rma_padded(j.p.layout);
	if (j.p.data_tag != 0 && (j.bytes != 0 || (j.p.kind != RMA_PUT && j.p.kind != RMA_ACC &&
						   j.p.kind != RMA_GET_ACC)))
		target_malformed();
	if (j.p.op > LMPI_PREDEFINED_MAX || j.p.element > LMPI_PREDEFINED_MAX)
		target_malformed(); /* only constants of the ABI mean something elsewhere */
	if (behind_lock(&j))
		keep_for_lock(&j);
	else
		act(&j);
}
