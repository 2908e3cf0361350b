/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations on windows: what is asked for, whether it may be, and which way it goes. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "impl.h"
#include "rma.h"

/* ---- arguments */

/* One side of an operation. */
struct side {
	const void *buf;
	MPI_Count count;
	MPI_Datatype type;
};

/* Do count elements of type at byte `at` lie within size bytes? */
static bool
ops_inside(int64_t at, int64_t count, const struct lmpi_type *type, int64_t size)
{
	int64_t lo = type->true_lb, hi = type->true_ub, last;

	if (__builtin_mul_overflow(count - 1, lmpi_type_extent(type), &last) ||
	    __builtin_add_overflow(last < 0 ? lo : hi, last, last < 0 ? &lo : &hi))
		return false;
	return !__builtin_add_overflow(lo, at, &lo) && !__builtin_add_overflow(hi, at, &hi) &&
	       lo >= 0 && hi <= size;
}

/* The part of a call that all have: window, target, what lies there.  *nothing: there is
 * nothing to do. */
static int
target_args(struct rma_args *a, MPI_Win handle, int target, MPI_Aint disp, MPI_Count count,
	    MPI_Datatype datatype, bool *nothing)
{
	struct lmpi_type *type;
	struct rma_peer *peer;
	int64_t at;
	int rc = lmpi_win_get(handle, &a->win);

	*nothing = false;
	if (rc)
		return rc;
	if ((target < 0 || target >= a->win->comm->size) && target != MPI_PROC_NULL)
		return lmpi_error(MPI_ERR_RANK, "rank %d is not one of the window's %d processes",
				  target, a->win->comm->size);
	rc = lmpi_check_count(count);
	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(datatype, &type);
	if (rc == MPI_SUCCESS)
		rc = lmpi_rma_may_access(a->win, target);
	if (rc)
		return rc;
	a->target = target;
	a->type = type;
	a->count = count;
	*nothing = true;
	if (target == MPI_PROC_NULL)
		return MPI_SUCCESS;
	if (__builtin_mul_overflow(count, type->size, &a->bytes))
		return lmpi_error(MPI_ERR_COUNT, "count is %lld", (long long)count);
	if (a->bytes == 0)
		return MPI_SUCCESS;
	*nothing = false;
	peer = &a->win->peer[target];
	a->at = (uint64_t)disp;
	if (a->win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
		return MPI_SUCCESS; /* the target knows */
	if (disp < 0)
		return lmpi_error(MPI_ERR_DISP, "target_disp is %td", disp);
	if (__builtin_mul_overflow(disp, peer->unit, &at) ||
	    !ops_inside(at, count, type, peer->size))
		return lmpi_error(MPI_ERR_RMA_RANGE,
				  "%lld bytes at displacement %td are not within the %lld bytes of "
				  "rank %d's part",
				  (long long)a->bytes, disp, (long long)peer->size, target);
	a->at = (uint64_t)at;
	return MPI_SUCCESS;
}

/* Memory of this process that takes part, of as many bytes as the target's. */
static int
own_window_side(const struct rma_args *a, const struct side *s, struct rma_place *place,
		struct lmpi_type **type)
{
	int rc = lmpi_check_count(s->count);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(s->type, type);
	if (rc)
		return rc;
	if (a->target == MPI_PROC_NULL)
		return MPI_SUCCESS;
	rc = lmpi_check_buffer(s->buf, s->count, *type);
	if (rc)
		return rc;
	*place = lmpi_rma_place_of(s->buf, s->count, *type);
	if (place->bytes != a->bytes)
		return lmpi_error(place->bytes > a->bytes ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT,
				  "%lld bytes here and %lld bytes at the target",
				  (long long)place->bytes, (long long)a->bytes);
	return MPI_SUCCESS;
}

/* The predefined type that a type is made of; NULL: there are several. */
static struct lmpi_type *
element_of(struct lmpi_type *t)
{
	struct lmpi_type *found = NULL;

	if (t->basic != LMPI_BASIC_NONE)
		return t;
	for (int64_t i = 0; i < t->sigs; i++) {
		struct lmpi_type *e;

		if (t->sig[i].n == 0 || t->sig[i].child->size == 0)
			continue;
		e = element_of(t->sig[i].child);
		if (e == NULL || (found != NULL && e != found))
			return NULL;
		found = e;
	}
	return found;
}

static int
combine_args(struct rma_args *a, MPI_Op op)
{
	struct lmpi_op_use use;
	struct lmpi_type *e = element_of((struct lmpi_type *)(uintptr_t)a->type);
	int rc;

	a->how = (struct rma_combine){op, e};
	if (op == MPI_REPLACE || op == MPI_NO_OP || a->bytes == 0) {
		if (e == NULL)
			a->how.element = lmpi_type_find(MPI_BYTE);
		return MPI_SUCCESS;
	}
	if (e == NULL)
		return lmpi_error(MPI_ERR_TYPE,
				  "the target datatype is made of several predefined ones");
	rc = lmpi_op_check(op, e, &use);
	if (rc == MPI_SUCCESS && use.user != NULL)
		return lmpi_error(MPI_ERR_OP, "only predefined operations work on windows");
	return rc;
}

/* ---- which way */

/* Within the node the system copies between two pieces of memory.  What went by packets and
 * writes may not be there yet: a get behind it goes by packets too. */
static bool
copied(const struct rma_args *a)
{
	struct rma_peer *peer = &a->win->peer[a->target];
	struct rma_place there = lmpi_rma_place_of(NULL, a->count, a->type);
	bool write = a->kind == RMA_PUT;
	const struct rma_place *here = write ? &a->from : &a->to;

	if ((a->kind != RMA_PUT && a->kind != RMA_GET) || peer->no_copy ||
	    a->win->flavor != MPI_WIN_FLAVOR_CREATE || there.type != NULL || here->type != NULL ||
	    (!write && (peer->t.acks > 0 || (peer->t.dirty && peer->t.wrote))))
		return false;
	peer->no_copy = !lmpi_node_copy(rma_world(a->win, a->target),
					peer->address + a->at + (uint64_t)(uintptr_t)there.at,
					here->at, (uint64_t)a->bytes, write);
	return !peer->no_copy;
}

/* Packed data of the origin, where it lies or in a copy that *copy is to free. */
static const void *
packed_data(const struct rma_args *a, void **copy)
{
	*copy = NULL;
	if (a->how.op == MPI_NO_OP || a->from.type == NULL)
		return a->from.at;
	*copy = malloc((size_t)a->bytes);
	if (*copy != NULL)
		lmpi_rma_load(&a->from, *copy);
	return *copy;
}

static bool
accumulate_direct(const struct rma_args *a, const struct rma_place *there)
{
	struct rma_ctl *ctl = a->win->peer[a->target].ctl;
	void *copy, *old = NULL;
	const void *data = packed_data(a, &copy);
	bool fetch = a->kind == RMA_GET_ACC, ok = data != NULL || a->how.op == MPI_NO_OP;

	if (ok && fetch && a->to.type != NULL) {
		old = malloc((size_t)a->bytes);
		ok = old != NULL;
	}
	ok = ok && lmpi_rma_accumulate(ctl, there, &a->how, data,
				       !fetch	     ? NULL
				       : old != NULL ? old
						     : a->to.at);
	if (ok && old != NULL)
		lmpi_rma_store(&a->to, old);
	free(old);
	free(copy);
	return ok;
}

static int
go_direct(const struct rma_args *a)
{
	struct rma_peer *peer = &a->win->peer[a->target];
	struct rma_place there = lmpi_rma_place_of(peer->base + a->at, a->count, a->type);
	bool ok = true;

	switch (a->kind) {
	case RMA_PUT:
		ok = lmpi_rma_move(&a->from, &there);
		break;
	case RMA_GET:
		ok = lmpi_rma_move(&there, &a->to);
		break;
	case RMA_CAS:
		lmpi_rma_swap(peer->ctl, there.at, a->compare, a->from.at, a->to.at, a->bytes);
		break;
	default:
		ok = accumulate_direct(a, &there);
	}
	return ok ? MPI_SUCCESS : lmpi_rma_no_memory();
}

/* What is sent behind a LOCK lies at the target until it is granted, what is sent behind bulk data
 * until that has come. */
static int
send_bounded(const struct rma_args *a)
{
	int rc;

	if (lmpi_target_is_full(&lmpi_rma_acting, &a->win->peer[a->target].t))
		lmpi_rma_make_room(a->win, a->target);
	rc = lmpi_rma_send_op(a);
	lmpi_rma_throttle();
	return rc;
}

/* The target keeps what it is to accumulate until it has all of it: long ones go in pieces,
 * where everything lies in one piece and nobody waits for the whole. */
static int
send_ops(const struct rma_args *a)
{
	struct rma_args part = *a;
	bool cut = (a->kind == RMA_ACC || a->kind == RMA_GET_ACC) && a->request == NULL &&
		   a->bytes > RMA_PIECE && a->from.type == NULL && a->to.type == NULL;
	struct rma_place there = lmpi_rma_place_of(NULL, a->count, a->type);
	int64_t step = RMA_PIECE;
	int rc = MPI_SUCCESS;

	if (!cut || there.type != NULL)
		return send_bounded(a);
	step -= step % a->how.element->size;
	part.type = lmpi_type_find(MPI_BYTE);
	for (int64_t at = 0; at < a->bytes && rc == MPI_SUCCESS; at += step) {
		part.bytes = part.count = a->bytes - at < step ? a->bytes - at : step;
		part.at = a->at + (uint64_t)(uintptr_t)there.at + (uint64_t)at;
		if (a->from.bytes > 0) {
			part.from.at = (char *)a->from.at + at;
			part.from.bytes = part.bytes;
		}
		if (a->to.bytes > 0) {
			part.to.at = (char *)a->to.at + at;
			part.to.bytes = part.bytes;
		}
		rc = send_bounded(&part);
	}
	return rc;
}

static int
go_ops(const struct rma_args *a)
{
	int rc = MPI_SUCCESS;

	if (a->win->peer[a->target].base != NULL)
		rc = go_direct(a);
	else if (!copied(a))
		return send_ops(a);
	if (a->request != NULL)
		lmpi_request_complete(a->request);
	return rc;
}

/* A request for the operation, if request is not NULL; only in passive epochs. */
static int
with_request(struct rma_args *a, MPI_Request *request, bool nothing)
{
	struct lmpi_request *r;
	int rc;

	if (request == NULL)
		return nothing ? MPI_SUCCESS : go_ops(a);
	if (a->win->locks == 0 && !a->win->lock_all && a->target != MPI_PROC_NULL)
		return lmpi_error(MPI_ERR_RMA_SYNC, "no passive target epoch is open");
	r = lmpi_request_new(LMPI_RQ_RMA, NULL, NULL);
	if (r == NULL)
		return lmpi_rma_no_memory();
	r->active = true;
	r->win = (MPI_Win)a->win;
	a->request = r;
	if (nothing) {
		lmpi_request_complete(r);
		rc = MPI_SUCCESS;
	} else {
		rc = go_ops(a);
	}
	if (rc)
		lmpi_request_free(r);
	else
		*request = lmpi_request_handle(r);
	return rc;
}

/* ---- the calls */

static int
put_ops(const struct side *origin, int target, MPI_Aint disp, MPI_Count count, MPI_Datatype type,
	MPI_Win win, MPI_Request *request)
{
	struct rma_args a = {.kind = RMA_PUT};
	struct lmpi_type *t;
	bool nothing;
	int rc = target_args(&a, win, target, disp, count, type, &nothing);

	if (rc == MPI_SUCCESS)
		rc = own_window_side(&a, origin, &a.from, &t);
	return rc ? rc : with_request(&a, request, nothing);
}

static int
get_ops(const struct side *origin, int target, MPI_Aint disp, MPI_Count count, MPI_Datatype type,
	MPI_Win win, MPI_Request *request)
{
	struct rma_args a = {.kind = RMA_GET};
	bool nothing;
	int rc = target_args(&a, win, target, disp, count, type, &nothing);

	if (rc == MPI_SUCCESS)
		rc = own_window_side(&a, origin, &a.to, &a.to_type);
	return rc ? rc : with_request(&a, request, nothing);
}

/* result NULL: nothing is fetched. */
static int
accumulate_rma_ops(const struct side *origin, const struct side *result, int target, MPI_Aint disp,
		   MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Win win, MPI_Request *request)
{
	struct rma_args a = {.kind = result ? RMA_GET_ACC : RMA_ACC};
	struct lmpi_type *t;
	bool nothing;
	int rc = target_args(&a, win, target, disp, count, type, &nothing);

	if (rc == MPI_SUCCESS)
		rc = combine_args(&a, op);
	if (rc == MPI_SUCCESS && op != MPI_NO_OP)
		rc = own_window_side(&a, origin, &a.from, &t);
	if (rc == MPI_SUCCESS && result != NULL)
		rc = own_window_side(&a, result, &a.to, &a.to_type);
	return rc ? rc : with_request(&a, request, nothing || (op == MPI_NO_OP && !result));
}

int
impl_Put(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
	 int target_rank, MPI_Aint target_disp, MPI_Count target_count,
	 MPI_Datatype target_datatype, MPI_Win win)
{
	struct side o = {origin_addr, origin_count, origin_datatype};

	return put_ops(&o, target_rank, target_disp, target_count, target_datatype, win, NULL);
}

int
impl_Rput(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
	  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
	  MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request)
{
	struct side o = {origin_addr, origin_count, origin_datatype};

	return put_ops(&o, target_rank, target_disp, target_count, target_datatype, win, request);
}

int
impl_Get(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
	 MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win)
{
	struct side o = {origin_addr, origin_count, origin_datatype};

	return get_ops(&o, target_rank, target_disp, target_count, target_datatype, win, NULL);
}

int
impl_Rget(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
	  MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
	  MPI_Request *request)
{
	struct side o = {origin_addr, origin_count, origin_datatype};

	return get_ops(&o, target_rank, target_disp, target_count, target_datatype, win, request);
}

int
impl_Accumulate(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
		int target_rank, MPI_Aint target_disp, MPI_Count target_count,
		MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
	struct side o = {origin_addr, origin_count, origin_datatype};

	return accumulate_rma_ops(&o, NULL, target_rank, target_disp, target_count, target_datatype,
				  op, win, NULL);
}

int
impl_Raccumulate(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
		 int target_rank, MPI_Aint target_disp, MPI_Count target_count,
		 MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request)
{
	struct side o = {origin_addr, origin_count, origin_datatype};

	return accumulate_rma_ops(&o, NULL, target_rank, target_disp, target_count, target_datatype,
				  op, win, request);
}

int
impl_Get_accumulate(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
		    void *result_addr, MPI_Count result_count, MPI_Datatype result_datatype,
		    int target_rank, MPI_Aint target_disp, MPI_Count target_count,
		    MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
	struct side o = {origin_addr, origin_count, origin_datatype};
	struct side r = {result_addr, result_count, result_datatype};

	return accumulate_rma_ops(&o, &r, target_rank, target_disp, target_count, target_datatype,
				  op, win, NULL);
}

int
impl_Rget_accumulate(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
		     void *result_addr, MPI_Count result_count, MPI_Datatype result_datatype,
		     int target_rank, MPI_Aint target_disp, MPI_Count target_count,
		     MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request)
{
	struct side o = {origin_addr, origin_count, origin_datatype};
	struct side r = {result_addr, result_count, result_datatype};

	return accumulate_rma_ops(&o, &r, target_rank, target_disp, target_count, target_datatype,
				  op, win, request);
}

/* Of a predefined datatype only. */
static int
check_predefined(MPI_Datatype datatype)
{
	struct lmpi_type *t;
	int rc = lmpi_check_type(datatype, &t);

	if (rc == MPI_SUCCESS && t->basic == LMPI_BASIC_NONE)
		return lmpi_error(MPI_ERR_TYPE, "the datatype is not a predefined one");
	return rc;
}

int
impl_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype,
		  int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win)
{
	struct side o = {origin_addr, 1, datatype}, r = {result_addr, 1, datatype};
	int rc = check_predefined(datatype);

	return rc ? rc
		  : accumulate_rma_ops(&o, &r, target_rank, target_disp, 1, datatype, op, win,
				       NULL);
}

/* Integers, logicals and bytes. */
static bool
swappable(enum lmpi_basic b)
{
	return (b >= LMPI_BASIC_I8 && b <= LMPI_BASIC_I128) ||
	       (b >= LMPI_BASIC_BOOL && b <= LMPI_BASIC_BYTE);
}

int
impl_Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr,
		      MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win)
{
	struct rma_args a = {.kind = RMA_CAS};
	struct side o = {origin_addr, 1, datatype}, r = {result_addr, 1, datatype};
	struct lmpi_type *t;
	bool nothing;
	int rc = check_predefined(datatype);

	if (rc == MPI_SUCCESS)
		rc = target_args(&a, win, target_rank, target_disp, 1, datatype, &nothing);
	if (rc)
		return rc;
	if (!swappable(a.type->basic))
		return lmpi_error(MPI_ERR_TYPE, "%s is neither integer, logical nor byte",
				  a.type->name);
	rc = own_window_side(&a, &o, &a.from, &t);
	if (rc == MPI_SUCCESS)
		rc = own_window_side(&a, &r, &a.to, &a.to_type);
	if (rc == MPI_SUCCESS && compare_addr == NULL && !nothing)
		rc = lmpi_error(MPI_ERR_BUFFER, "compare_addr is a null pointer");
	a.compare = compare_addr;
	return rc ? rc : with_request(&a, NULL, nothing);
}
