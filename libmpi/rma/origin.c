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
	struct rma_op *op;     /* that waits for it, or NULL */
	struct lmpi_win *from; /* whose memory it is, or NULL */
	void *owned;
	uint64_t room;
	_Alignas(16) char data[];
};

/* An operation with something still to happen. */
struct rma_op {
	struct lmpi_req recv; /* first: its result, when that comes beside its reply */
	struct lmpi_win *win;
	int target;
	uint32_t left; /* events to come */
	uint64_t id;
	struct lmpi_request *request;
	struct rma_place to;
	struct lmpi_type *to_type; /* held */
	void *temp;		   /* the result, packed */
	uint64_t expected;
};

#define SMALL	   512u
#define SPARES_MAX 64u
static struct out *spare;
static unsigned spares;

static int64_t unsent;	 /* bytes of packets that are not placed */
static uint32_t results; /* of operations, to come */
static uint32_t last_tag;
/* Operations that wait for a reply; packets name them by slot and generation. */
static struct {
	struct rma_op **slot;
	uint32_t *generation, *free;
	uint32_t size, nfree;
} named;

/* ---- names */

static bool
more_names(void)
{
	uint32_t size = named.size ? 2 * named.size : 64;
	void *s = realloc(named.slot, size * sizeof(*named.slot));

	if (s == NULL)
		return false;
	named.slot = s;
	s = realloc(named.generation, size * sizeof(*named.generation));
	if (s == NULL)
		return false;
	named.generation = s;
	s = realloc(named.free, size * sizeof(*named.free));
	if (s == NULL)
		return false;
	named.free = s;
	for (uint32_t i = size; i-- > named.size;) {
		named.slot[i] = NULL;
		named.generation[i] = 1;
		named.free[named.nfree++] = i;
	}
	named.size = size;
	return true;
}

static bool
name_op(struct rma_op *op)
{
	uint32_t i;

	if (named.nfree == 0 && !more_names())
		return false;
	i = named.free[--named.nfree];
	named.slot[i] = op;
	op->id = (uint64_t)named.generation[i] << 32 | i;
	return true;
}

static struct rma_op *
op_named(uint64_t id)
{
	uint32_t i = (uint32_t)id;

	return i < named.size && named.generation[i] == (uint32_t)(id >> 32) ? named.slot[i] : NULL;
}

static void
unname_origin(struct rma_op *op)
{
	uint32_t i = (uint32_t)op->id;

	named.slot[i] = NULL;
	named.generation[i]++;
	named.free[named.nfree++] = i;
}

/* ---- the end of operations */

static void
op_event(struct rma_op *op)
{
	if (--op->left > 0)
		return;
	op->win->peer[op->target].pending--;
	if (op->to_type != NULL)
		lmpi_type_unref(op->to_type);
	free(op->temp);
	if (op->request != NULL)
		lmpi_request_complete(op->request);
	free(op);
}

static void
op_failed(struct rma_op *op, int error)
{
	if (op->request != NULL)
		op->request->e.error = error;
	else
		op->win->peer[op->target].error = error;
}

void
lmpi_rma_drop_target(const struct lmpi_win *win, int target)
{
	for (uint32_t i = 0; i < named.size; i++) {
		struct rma_op *op = named.slot[i];

		if (op == NULL || op->win != win || op->target != target)
			continue;
		unname_origin(op);
		results--;
		op_failed(op, LMPI_ERR_PROC_FAILED);
		op_event(op);
	}
}

static void
result_came(struct lmpi_req *req)
{
	struct rma_op *op = (struct rma_op *)(void *)req;

	results--;
	if (req->error || req->bytes != op->expected)
		op_failed(op, req->error == LMPI_ERR_PROC_FAILED ? req->error : MPI_ERR_RMA_RANGE);
	else if (op->temp != NULL)
		lmpi_rma_store(&op->to, op->temp);
	op_event(op);
}

void
lmpi_rma_on_reply(struct lmpi_win *win, int target, const struct rma_packet *p, const void *data,
		  uint64_t bytes)
{
	struct rma_op *op = op_named(p->id);

	if (op == NULL || op->win != win || op->target != target)
		lmpi_engine_abort(MPI_ERR_INTERN, "a window's reply to nothing that was asked");
	unname_origin(op);
	results--;
	if (p->error != 0 || bytes != op->expected)
		op_failed(op, p->error ? (int)p->error : MPI_ERR_RMA_RANGE);
	else
		lmpi_rma_store(&op->to, data);
	op_event(op);
}

/* ---- sending */

static void
out_gone(struct lmpi_req *req)
{
	struct out *o = (struct out *)(void *)req;
	struct rma_op *op = o->op;

	unsent -= (int64_t)o->room;
	free(o->owned);
	if (o->from != NULL)
		o->from->leaving--;
	if (o->room == SMALL && spares < SPARES_MAX) {
		o->next = spare;
		spare = o;
		spares++;
	} else {
		free(o);
	}
	if (op != NULL)
		op_event(op);
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
	o->from = NULL;
	o->owned = NULL;
	o->room = room;
	unsent += (int64_t)room;
	return o;
}

static void
send_packet(struct lmpi_win *win, int target, struct out *o, uint64_t len)
{
	uint32_t world = rma_world(win, target);

	win->peer[target].loose = true;
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
	send_packet(win, target, o, sizeof(struct rma_packet) + bytes);
}

static void
send_bulk(struct lmpi_win *win, int target, uint32_t tag, const void *data, uint64_t bytes,
	  void *owned, struct rma_op *op)
{
	struct out *o = origin_out_new(0);

	o->op = op;
	o->owned = owned;
	if (op == NULL && owned == NULL) {
		o->from = win;
		win->leaving++;
	}
	lmpi_isend(&o->req, data, bytes, rma_world(win, target), (int)lmpi_world.rank, (int)tag,
		   LMPI_CID_BULK, LMPI_STANDARD);
}

void
lmpi_rma_send_bulk(struct lmpi_win *win, int target, uint32_t tag, const void *data, uint64_t bytes,
		   void *owned)
{
	send_bulk(win, target, tag, data, bytes, owned, NULL);
}

/* Never 0.  Bulk data towards a process is named by its sender (what an operation carries)
 * or by itself (what it asked for): a bit keeps these apart. */
#define RESULT_TAG UINT32_C(0x20000000)
static uint32_t
origin_new_tag(void)
{
	last_tag = last_tag % (RESULT_TAG - 1) + 1;
	return last_tag;
}

/* Where the result goes, and who tells that it has come. */
static int
want_result(struct rma_op *op, const struct rma_args *a, struct rma_packet *p)
{
	void *into = a->to.at;

	op->to = a->to;
	op->expected = (uint64_t)a->bytes;
	if (a->to.type != NULL) {
		lmpi_type_ref(a->to_type);
		op->to_type = a->to_type;
	}
	op->left++;
	if (a->bytes <= RMA_INLINE_MAX) {
		if (!name_op(op))
			return lmpi_rma_no_memory();
		p->id = op->id;
		results++;
		return MPI_SUCCESS;
	}
	if (a->to.type != NULL) {
		into = op->temp = malloc((size_t)a->bytes);
		if (into == NULL)
			return lmpi_rma_no_memory();
	}
	p->reply_tag = origin_new_tag() | RESULT_TAG;
	results++;
	op->recv.on_done = result_came;
	lmpi_irecv(&op->recv, into, op->expected, (int)rma_world(a->win, a->target),
		   (int)p->reply_tag, LMPI_CID_BULK);
	return MPI_SUCCESS;
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
	if (words < 0 || tail > UINT32_MAX) {
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
			p.data_tag = origin_new_tag();
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

/* Give up an operation of which nothing has been sent. */
static void
op_drop(struct rma_op *op)
{
	if (op->id != 0) {
		unname_origin(op);
		results--;
	}
	if (op->to_type != NULL)
		lmpi_type_unref(op->to_type);
	free(op->temp);
	free(op);
}

int
lmpi_rma_send_op(const struct rma_args *a)
{
	struct rma_peer *peer = &a->win->peer[a->target];
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
	*op = (struct rma_op){.win = a->win, .target = a->target, .left = 1, .request = a->request};
	o = make_packet(a, &p, &len, &bulk, &owned, &rc);
	if (o == NULL) {
		free(op);
		return rc;
	}
	peer->pending++;
	peer->wrote = a->kind != RMA_GET || (peer->dirty && peer->wrote);
	peer->dirty = true;
	if (a->to.bytes > 0)
		rc = want_result(op, a, packet_in(o));
	if (rc) {
		peer->pending--;
		out_gone(&o->req);
		free(owned);
		op_drop(op);
		return rc;
	}
	uint32_t tag = packet_in(o)->data_tag;

	if (peer->held == RMA_ASKED)
		peer->early += (uint32_t)len; /* a layout, too, is far shorter than 4 GB */
	send_packet(a->win, a->target, o, len);
	if (bulk != NULL && owned == NULL)
		op->left++; /* the origin's buffer is in use */
	if (bulk != NULL)
		send_bulk(a->win, a->target, tag, bulk, (uint64_t)a->bytes, owned,
			  owned == NULL ? op : NULL);
	op_event(op);
	/* The last event frees op. */
	return MPI_SUCCESS; /* NOLINT(clang-analyzer-unix.Malloc) */
}

/* ---- bounds */

static bool
has_left(void *arg)
{
	return ((const struct lmpi_win *)arg)->leaving == 0;
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
	return unsent <= UNSENT_MAX && results <= RESULTS_MAX;
}

void
lmpi_rma_throttle(void)
{
	if (!little_enough(NULL))
		lmpi_wait_for(little_enough, NULL);
}
