/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations that go as packets, seen from the origin; and how packets are sent. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "impl.h"
#include "layout_wire.h"
#include "rma.h"

#include "base/copy.h"

/* What may be under way before an operation waits for some of it to be done. */
#define UNSENT_MAX  (INT64_C(16) << 20)
#define RESULTS_MAX 512

/* A packet, or bulk data, on its way out. */
struct out {
	struct lmpi_req req; /* first */
	struct out *next;
	struct rma_op *op;	    /* that waits for it, or NULL */
	struct lmpi_exposed *owing; /* whose result it is, or NULL */
	int to;			    /* that origin */
	uint64_t owes;
	void *owned;
	uint64_t room;
	_Alignas(16) char data[];
};

/* An operation with something still to happen. */
struct rma_op {
	struct lmpi_act act; /* first */
	struct lmpi_win *win;
	int target;
	struct lmpi_request *request;
	struct rma_place to;
	struct lmpi_type *to_type; /* held */
	void *temp;		   /* the result, packed */
};

#define SMALL	   512u
#define SPARES_MAX 64u
static struct out *spare;
static unsigned spares;

static int64_t unsent; /* bytes of packets that are not placed */

/* ---- what becomes of operations */

static bool
receive_result(struct lmpi_act *act, uint32_t tag)
{
	struct rma_op *op = (struct rma_op *)(void *)act;
	void *into = op->to.at;

	if (op->to.type != NULL) {
		into = op->temp = malloc((size_t)act->expected);
		if (into == NULL)
			return false;
	}
	lmpi_irecv(&act->recv, into, act->expected, (int)rma_world(op->win, op->target), (int)tag,
		   LMPI_CID_BULK);
	return true;
}

static void
store_result(struct lmpi_act *act, const void *data)
{
	struct rma_op *op = (struct rma_op *)(void *)act;

	if (data == NULL)
		data = op->temp;
	if (data != NULL)
		lmpi_rma_store(&op->to, data);
}

static void
free_op(struct rma_op *op)
{
	if (op->to_type != NULL)
		lmpi_type_unref(op->to_type);
	free(op->temp);
	free(op);
}

static void
end_op(struct lmpi_act *act)
{
	struct rma_op *op = (struct rma_op *)(void *)act;
	struct lmpi_request *request = op->request;

	if (request != NULL && act->error)
		request->e.error = act->error;
	free_op(op);
	if (request != NULL)
		lmpi_request_complete(request);
}

static const struct lmpi_acting_ops acting_ops = {
	.receive = receive_result, .result = store_result, .ended = end_op};
struct lmpi_acting lmpi_rma_acting = {.ops = &acting_ops,
				      .memory = {.get = lmpi_rma_take, .put = lmpi_rma_give},
				      .room = LMPI_ROOM};

/* ---- sending */

static void
out_gone(struct lmpi_req *req)
{
	struct out *o = (struct out *)(void *)req;
	struct rma_op *op = o->op;
	struct lmpi_exposed *owing = o->owing;
	uint64_t owes = o->owes;
	int to = o->to;

	unsent -= (int64_t)o->room;
	free(o->owned);
	if (o->room == SMALL && spares < SPARES_MAX) {
		o->next = spare;
		spare = o;
		spares++;
	} else {
		free(o);
	}
	if (owing != NULL)
		lmpi_exposed_paid(owing, to, owes);
	if (op != NULL)
		lmpi_act_event(&op->act);
}

static struct out *
origin_out_new(uint64_t bytes)
{
	uint64_t room = bytes <= SMALL ? SMALL : bytes;
	struct out *o = spare;

	if (o != NULL && room == SMALL) {
		spare = o->next;
		spares--;
	} else if ((o = malloc(sizeof(*o) + room)) == NULL) {
		lmpi_engine_abort(MPI_ERR_NO_MEM, "out of memory for packets of a window");
	}
	memset(&o->req, 0, sizeof(o->req));
	o->req.on_done = out_gone;
	o->op = NULL;
	o->owing = NULL;
	o->owned = NULL;
	o->room = room;
	unsent += (int64_t)room;
	return o;
}

static void
send_packet(struct lmpi_win *win, int target, struct out *o, uint64_t len)
{
	uint32_t world = rma_world(win, target);

	win->peer[target].t.loose = true;
	if (world == lmpi_world.rank) {
		lmpi_rma_on_packet(world, o->data, len);
		o->req.done = true;
		out_gone(&o->req);
		return;
	}
	lmpi_isend(&o->req, o->data, len, world, (int)lmpi_world.rank, 0, LMPI_CID_SERVICE,
		   LMPI_STANDARD);
}

static struct rma_packet *
packet_in(struct out *o)
{
	return (struct rma_packet *)(void *)o->data;
}

void
lmpi_rma_send_note(struct lmpi_win *win, int target, enum rma_kind kind, uint8_t flags, int error)
{
	struct out *o = origin_out_new(sizeof(struct rma_packet));

	*packet_in(o) = (struct rma_packet){.kind = (uint8_t)kind,
					    .flags = flags,
					    .win = win->comm->cid,
					    .rank = (uint32_t)win->comm->rank,
					    .error = (uint32_t)error};
	send_packet(win, target, o, sizeof(struct rma_packet));
}

/* It is a result for that origin, with so many bytes beside it. */
static void
note_result(struct out *o, struct lmpi_win *win, int origin, uint64_t beside)
{
	o->owing = &win->mine;
	o->to = origin;
	o->owes = sizeof(*o) + o->room + beside;
	lmpi_exposed_owe(o->owing, origin, o->owes);
}

void
lmpi_rma_send_reply(struct lmpi_win *win, int target, const struct rma_packet *to, int error,
		    const void *data, uint64_t bytes)
{
	struct out *o = origin_out_new(sizeof(struct rma_packet) + bytes);

	*packet_in(o) = (struct rma_packet){.kind = RMA_REPLY,
					    .win = win->comm->cid,
					    .rank = (uint32_t)win->comm->rank,
					    .id = to->id,
					    .error = (uint32_t)error};
	if (bytes > 0)
		base_copy(o->data + sizeof(struct rma_packet), data, bytes);
	note_result(o, win, target, 0);
	send_packet(win, target, o, sizeof(struct rma_packet) + bytes);
}

static void
send_bulk(struct lmpi_win *win, int target, uint32_t tag, const void *data, uint64_t bytes,
	  void *owned, struct rma_op *op, bool result)
{
	struct out *o = origin_out_new(0);

	o->op = op;
	o->owned = owned;
	if (result)
		note_result(o, win, target, owned != NULL ? bytes : 0);
	lmpi_isend(&o->req, data, bytes, rma_world(win, target), (int)lmpi_world.rank, (int)tag,
		   LMPI_CID_BULK, LMPI_STANDARD);
}

void
lmpi_rma_send_bulk(struct lmpi_win *win, int target, uint32_t tag, const void *data, uint64_t bytes,
		   void *owned)
{
	send_bulk(win, target, tag, data, bytes, owned, NULL, true);
}

static bool
carries_data(const struct rma_args *a)
{
	return a->kind != RMA_GET && a->how.op != MPI_NO_OP;
}

/* The packet's tail: layout, then data if it is short.  *bulk: longer data, to go beside it;
 * *owned: a packed copy of it. */
static struct out *
make_packet(const struct rma_args *a, const struct rma_packet *head, uint64_t *len,
	    const void **bulk, void **owned, int *rc)
{
	struct rma_place there = lmpi_rma_place_of(NULL, a->count, a->type);
	int64_t words = there.type ? lmpi_rma_layout_words(a->type) : 0;
	uint64_t tail = (uint64_t)(words > 0 ? words : 0) * sizeof(uint64_t), data = 0;
	struct rma_packet p = *head;
	struct out *o;

	*bulk = *owned = NULL;
	if (words < 0 || tail > RMA_LAYOUT_MAX) {
		*rc = lmpi_error(MPI_ERR_TYPE, "the target datatype is too deep or too long");
		return NULL;
	}
	if (carries_data(a)) {
		data = (uint64_t)a->bytes * (a->kind == RMA_CAS ? 2 : 1);
		if (data > RMA_INLINE_MAX) {
			*bulk = a->from.at;
			if (a->from.type != NULL) {
				*bulk = *owned = malloc((size_t)data);
				if (*owned == NULL) {
					*rc = lmpi_rma_no_memory();
					return NULL;
				}
				lmpi_rma_load(&a->from, *owned);
			}
			data = 0;
			p.data_tag = lmpi_acting_tag(&lmpi_rma_acting);
		}
	}
	p.layout = (uint32_t)tail;
	p.at = a->at + (uint64_t)(uintptr_t)there.at;
	p.count = (uint64_t)(there.type ? there.count : 0);
	tail = rma_padded(p.layout);
	*len = sizeof(p) + tail + data;
	o = origin_out_new(*len);
	memcpy(o->data, &p, sizeof(p));
	if (p.layout > 0)
		lmpi_rma_layout_encode(a->type, (uint64_t *)(void *)(o->data + sizeof(p)));
	if (data > 0 && a->kind == RMA_CAS) {
		memcpy(o->data + sizeof(p), a->compare, (size_t)a->bytes);
		memcpy(o->data + sizeof(p) + a->bytes, a->from.at, (size_t)a->bytes);
	} else if (data > 0) {
		lmpi_rma_load(&a->from, o->data + sizeof(p) + tail);
	}
	return o;
}

int
lmpi_rma_send_op(const struct rma_args *a)
{
	struct lmpi_target *t = &a->win->peer[a->target].t;
	struct rma_packet p = {.kind = (uint8_t)a->kind,
			       .op = (uint16_t)(uintptr_t)a->how.op,
			       .win = a->win->comm->cid,
			       .rank = (uint32_t)a->win->comm->rank,
			       .bytes = (uint64_t)a->bytes};
	struct rma_op *op = calloc(1, sizeof(*op));
	const void *bulk;
	struct out *o;
	void *owned;
	uint64_t len;
	int rc = MPI_SUCCESS;

	if (op == NULL)
		return lmpi_rma_no_memory();
	if (a->how.element != NULL)
		p.element = (uint32_t)(uintptr_t)a->how.element->handle;
	*op = (struct rma_op){.act.owned = a->request != NULL,
			      .win = a->win,
			      .target = a->target,
			      .request = a->request,
			      .to = a->to};
	o = make_packet(a, &p, &len, &bulk, &owned, &rc);
	if (o == NULL) {
		free(op);
		return rc;
	}
	if (a->to.type != NULL) {
		lmpi_type_ref(a->to_type);
		op->to_type = a->to_type;
	}
	lmpi_act_begin(&lmpi_rma_acting, &op->act, t, a->kind);
	if (a->to.bytes > 0 && !lmpi_act_want(&op->act, packet_in(o), (uint64_t)a->bytes)) {
		out_gone(&o->req);
		free(owned);
		free_op(op);
		return lmpi_rma_no_memory();
	}
	uint32_t tag = packet_in(o)->data_tag;

	lmpi_target_note_early(t, len);
	/* A put of one piece has its place in the window. */
	if (bulk != NULL && (a->kind != RMA_PUT || packet_in(o)->layout > 0))
		lmpi_target_note_beside(t, (uint64_t)a->bytes);
	send_packet(a->win, a->target, o, len);
	if (bulk != NULL && owned == NULL)
		op->act.left++; /* the origin's buffer is in use */
	if (bulk != NULL)
		send_bulk(a->win, a->target, tag, bulk, (uint64_t)a->bytes, owned,
			  owned == NULL ? op : NULL, false);
	lmpi_act_event(&op->act);
	/* The last event frees op. */
	return MPI_SUCCESS; /* NOLINT(clang-analyzer-unix.Malloc) */
}

/* ---- bounds */

static bool
has_left(void *arg)
{
	return ((const struct lmpi_win *)arg)->mine.owing == 0;
}

void
lmpi_rma_settle(struct lmpi_win *win)
{
	if (!has_left(win))
		lmpi_wait_for(has_left, win);
}

static bool
little_enough(void *arg)
{
	(void)arg;
	return unsent <= UNSENT_MAX && lmpi_rma_acting.results <= RESULTS_MAX;
}

void
lmpi_rma_throttle(void)
{
	if (!little_enough(NULL))
		lmpi_wait_for(little_enough, NULL);
}
