/* SPDX-License-Identifier: BSD-2-Clause */
/* Partitioned communication (MPI 5.0, chapter 4).
 *
 * The k-th MPI_Psend_init to a process with some tag belongs to its k-th MPI_Precv_init from
 * here with that tag; both sides count, per communicator.  The sender tells how many
 * partitions it has, the receiver answers with as many tags of its own choice; both
 * messages go on context ids made of the communicator's and k.  From then on every
 * partition is a message by itself, sent when it is ready and received where it belongs,
 * in any order.
 *
 * Threads  the lock is held. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "impi.h"
#include "impl.h"
#include "p2p.h"

/* How many times a side has been set up. */
struct count {
	struct count *next;
	int peer, tag;
	bool send;
	uint64_t n;
};
/* Those of a communicator. */
struct counts {
	struct lmpi_attached attached;
	struct count *first;
};

/* One partition of the sender. */
struct piece {
	struct lmpi_req req; /* first */
	struct lmpi_partitioned *part;
	bool ready, done;
};

struct lmpi_partitioned {
	struct lmpi_req hello, answer; /* sender to receiver, and back */
	uint64_t offer[2];	       /* partitions of the sender, bytes of each */
	uint64_t channel;	       /* tag of the sender's partition 0 */
	int awaited;		       /* of the two messages */
	bool met;
	struct lmpi_request *request; /* NULL: freed */
	bool send;
	uint32_t world;
	uint64_t cid; /* of the two messages */
	int tag;      /* the program's, of both: cid counts by tag */
	int partitions;
	int64_t bytes;	     /* of one partition of mine, packed */
	struct piece *piece; /* [offer[0]] */
	uint64_t left;
};

/* Context ids of communicators are counted up from 0; k stands above them. */
#define CID_BITS   40
#define COUNT_MAX  (UINT64_C(1) << 22)
#define ANSWER_BIT (UINT64_C(1) << 63)

static uint64_t last_channel;

static int
partitioned_no_memory(void)
{
	return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
}

static void
drop_counts(struct lmpi_attached *a, const struct lmpi_comm *comm)
{
	struct counts *all = (struct counts *)(void *)a;

	(void)comm;
	for (struct count *c = all->first, *next; c != NULL; c = next) {
		next = c->next;
		free(c);
	}
	free(all);
}

/* NULL: no memory. */
static struct counts *
counts_of(struct lmpi_comm *comm)
{
	struct counts *all = (struct counts *)(void *)comm->slot[LMPI_COMM_PART];

	if (all == NULL)
		all = (struct counts *)(void *)lmpi_comm_attach(comm, LMPI_COMM_PART, sizeof(*all),
								drop_counts);
	return all;
}

/* The context id of this side's next setting up; 0: no memory, or too often. */
static uint64_t
next_cid(struct lmpi_comm *comm, int peer, int tag, bool send)
{
	uint64_t cid = comm->cid == LMPI_CID_LOCAL ? (UINT64_C(1) << CID_BITS) - 1 : comm->cid;
	struct counts *all = counts_of(comm);
	struct count *c = all != NULL ? all->first : NULL;

	while (c != NULL && (c->peer != peer || c->tag != tag || c->send != send))
		c = c->next;
	if (c == NULL) {
		c = all != NULL ? calloc(1, sizeof(*c)) : NULL;
		if (c == NULL)
			return 0;
		*c = (struct count){all->first, peer, tag, send, 0};
		all->first = c;
	}
	if (cid >> CID_BITS != 0 || c->n == COUNT_MAX)
		return 0;
	return cid | ++c->n << CID_BITS;
}

/* ---- the partitions */

static void
all_done(struct lmpi_partitioned *part)
{
	struct lmpi_request *r = part->request;

	r->e.source = r->peer;
	r->e.tag = r->tag;
	r->e.bytes = part->offer[0] * part->offer[1];
	lmpi_request_complete(r);
}

static void
piece_done(struct lmpi_req *req)
{
	struct piece *e = (struct piece *)(void *)req;
	struct lmpi_partitioned *part = e->part;
	struct lmpi_request *r = part->request;
	int64_t at = (int64_t)part->offer[1] * (e - part->piece);

	e->done = true;
	if (req->error != MPI_SUCCESS)
		r->e.error = req->error;
	else if (!part->send && r->staging != NULL)
		lmpi_type_unpack(r->type, r->buf, r->count, (char *)r->staging + at, at,
				 (int64_t)req->bytes);
	if (--part->left == 0)
		all_done(part);
}

static char *
memory_of(struct lmpi_request *r)
{
	return r->staging != NULL ? r->staging : lmpi_type_span(r->type, r->buf, r->count);
}

static void
send_piece(struct lmpi_partitioned *part, uint64_t p)
{
	struct lmpi_request *r = part->request;
	int64_t at = (int64_t)(p * part->offer[1]);
	struct piece *e = &part->piece[p];

	if (r->staging != NULL)
		lmpi_type_pack(r->type, r->buf, r->count, (char *)r->staging + at, at,
			       (int64_t)part->offer[1]);
	e->req.on_done = piece_done;
	lmpi_isend(&e->req, memory_of(r) + at, part->offer[1], part->world, (int)lmpi_world.rank,
		   (int)(part->channel + p), LMPI_CID_PART, LMPI_STANDARD);
}

static void
receive_all(struct lmpi_partitioned *part)
{
	struct lmpi_request *r = part->request;
	uint64_t room = (uint64_t)(part->bytes * part->partitions), b = part->offer[1];

	part->left = part->offer[0];
	if (part->left == 0)
		all_done(part);
	for (uint64_t p = 0; p < part->offer[0]; p++)
		part->piece[p] = (struct piece){.part = part, .req = {.on_done = piece_done}};
	for (uint64_t p = 0; p < part->offer[0]; p++) {
		uint64_t at = p * b < room ? p * b : room;

		lmpi_irecv(&part->piece[p].req, memory_of(r) + at, room - at < b ? room - at : b,
			   (int)part->world, (int)(part->channel + p), LMPI_CID_PART);
	}
}

/* ---- meeting */

static void
partitioned_event(struct lmpi_partitioned *part)
{
	if (--part->awaited == 0 && part->request == NULL) {
		free(part->piece);
		free(part);
	}
}

static bool
make_pieces(struct lmpi_partitioned *part)
{
	if (part->offer[0] > INT32_MAX / 4)
		return false;
	part->piece = calloc(part->offer[0] ? part->offer[0] : 1, sizeof(*part->piece));
	return part->piece != NULL;
}

/* The receiver has answered: what is ready can go. */
static void
partitioned_answered(struct lmpi_req *req)
{
	struct lmpi_partitioned *part =
		(struct lmpi_partitioned *)(void *)((char *)req -
						    offsetof(struct lmpi_partitioned, answer));

	part->met = !req->cancelled;
	for (uint64_t p = 0; part->met && part->request != NULL && p < part->offer[0]; p++)
		if (part->request->active && part->piece[p].ready)
			send_piece(part, p);
	partitioned_event(part);
}

static void
hello_gone(struct lmpi_req *req)
{
	partitioned_event((struct lmpi_partitioned *)(void *)req);
}

/* The sender has said how many they are: choose tags for them. */
static void
offered(struct lmpi_req *req)
{
	struct lmpi_partitioned *part = (struct lmpi_partitioned *)(void *)req;

	if (req->cancelled) {
		part->awaited--; /* no answer is to be sent */
		partitioned_event(part);
		return;
	}
	if (!make_pieces(part))
		lmpi_engine_abort(MPI_ERR_NO_MEM, "out of memory for partitions");
	if (last_channel + part->offer[0] >= INT32_MAX)
		last_channel = 0;
	part->channel = last_channel;
	last_channel += part->offer[0];
	part->met = true;
	lmpi_isend(&part->answer, &part->channel, sizeof(part->channel), part->world,
		   (int)lmpi_world.rank, part->tag, part->cid | ANSWER_BIT, LMPI_STANDARD);
	if (part->request != NULL && part->request->active)
		receive_all(part);
	partitioned_event(part);
}

static void
answer_gone(struct lmpi_req *req)
{
	partitioned_event(
		(struct lmpi_partitioned *)(void *)((char *)req -
						    offsetof(struct lmpi_partitioned, answer)));
}

static void
meet_partitioned(struct lmpi_partitioned *part, const struct lmpi_request *r)
{
	part->awaited = 2;
	if (part->send) {
		part->hello.on_done = hello_gone;
		part->answer.on_done = partitioned_answered;
		lmpi_irecv(&part->answer, &part->channel, sizeof(part->channel), (int)part->world,
			   part->tag, part->cid | ANSWER_BIT);
		lmpi_isend(&part->hello, part->offer, sizeof(part->offer), part->world,
			   r->comm->rank, part->tag, part->cid, LMPI_STANDARD);
	} else {
		part->hello.on_done = offered;
		part->answer.on_done = answer_gone;
		lmpi_irecv(&part->hello, part->offer, sizeof(part->offer), r->peer, part->tag,
			   part->cid);
	}
}

static const struct lmpi_request_ops part_requests;

/* ---- life of the request */

static int
init_partitioned(const struct lmpi_p2p *a, int partitions, bool send, MPI_Request *request)
{
	struct lmpi_request *r = lmpi_p2p_request(LMPI_RQ_PART, a, LMPI_SEND_STANDARD, true);
	struct lmpi_partitioned *part = calloc(1, sizeof(*part));

	if (r == NULL || part == NULL)
		goto fail;
	r->part = part; /* ops: when nothing can fail any more */
	r->empty_status = send;
	*part = (struct lmpi_partitioned){.request = r,
					  .send = send,
					  .tag = a->tag,
					  .partitions = partitions,
					  .bytes = a->count / (partitions > 0 ? partitions : 1) *
						   a->type->size};
	part->offer[0] = (uint64_t)partitions;
	part->offer[1] = (uint64_t)part->bytes;
	if (a->peer != MPI_PROC_NULL) {
		part->world = lmpi_comm_world_rank(a->comm, a->peer);
		part->cid = next_cid(a->comm, a->peer, a->tag, send);
		if (part->cid == 0 || (send && !make_pieces(part)))
			goto fail;
		if (part->bytes > 0 && lmpi_type_span(a->type, a->buf, a->count) == NULL) {
			r->staging = malloc((size_t)(part->bytes * partitions));
			if (r->staging == NULL)
				goto fail;
		}
		meet_partitioned(part, r);
	}
	r->ops = &part_requests;
	*request = lmpi_request_handle(r);
	return MPI_SUCCESS;
fail:
	if (part != NULL)
		free(part->piece);
	free(part);
	if (r != NULL) {
		lmpi_request_free(r);
	}
	return partitioned_no_memory();
}

static int
check_partitioned(const struct lmpi_p2p *a, int partitions, MPI_Count count, int64_t *all)
{
	if (partitions < 0)
		return lmpi_error(MPI_ERR_ARG, "partitions is %d", partitions);
	if (__builtin_mul_overflow(count, partitions, all))
		return lmpi_error(MPI_ERR_COUNT, "count is %lld", (long long)count);
	if (a->peer == MPI_ANY_SOURCE)
		return lmpi_error(MPI_ERR_RANK, "source is MPI_ANY_SOURCE");
	if (a->tag == MPI_ANY_TAG)
		return lmpi_error(MPI_ERR_TAG, "tag is MPI_ANY_TAG");
	return lmpi_impi_refuse(a->comm);
}

int
impl_Psend_init(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
		int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
	struct lmpi_p2p a;
	int rc = lmpi_p2p_send_args(&a, buf, count, datatype, dest, tag, comm);

	(void)info;
	if (rc == MPI_SUCCESS)
		rc = check_partitioned(&a, partitions, count, &a.count);
	return rc ? lmpi_p2p_refuse_special(rc, dest)
		  : init_partitioned(&a, partitions, true, request);
}

int
impl_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
		int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
	struct lmpi_p2p a;
	int rc = lmpi_p2p_recv_args(&a, buf, count, datatype, source, tag, comm);

	(void)info;
	if (rc == MPI_SUCCESS)
		rc = check_partitioned(&a, partitions, count, &a.count);
	return rc ? lmpi_p2p_refuse_special(rc, source)
		  : init_partitioned(&a, partitions, false, request);
}

static int
start_part(struct lmpi_request *r)
{
	struct lmpi_partitioned *part = r->part;

	memset(&r->e, 0, sizeof(r->e));
	r->e.source = MPI_PROC_NULL;
	r->e.tag = MPI_ANY_TAG;
	r->active = true;
	if (r->peer == MPI_PROC_NULL) {
		lmpi_request_complete(r);
		return MPI_SUCCESS;
	}
	if (!part->send) {
		if (part->met)
			receive_all(part);
		return MPI_SUCCESS;
	}
	part->left = part->offer[0];
	for (uint64_t p = 0; p < part->offer[0]; p++)
		part->piece[p] = (struct piece){.part = part};
	if (part->left == 0)
		all_done(part);
	return MPI_SUCCESS;
}

/* The request goes: what has not met its other side is given up. */
static void
release_part(struct lmpi_request *r)
{
	struct lmpi_partitioned *part = r->part;

	part->request = NULL;
	if (part->awaited == 0) {
		free(part->piece);
		free(part);
		return;
	}
	lmpi_cancel_recv(part->send ? &part->answer : &part->hello);
}

static const struct lmpi_request_ops part_requests = {start_part, release_part};

/* ---- the calls on partitions */

static int
get_partitioned(MPI_Request handle, bool send, struct lmpi_request **r)
{
	*r = lmpi_request_find(handle);
	if (*r == NULL || (*r)->kind != LMPI_RQ_PART || (*r)->part->send != send)
		return lmpi_error(MPI_ERR_REQUEST, "the request is not a partitioned %s",
				  send ? "send" : "receive");
	lmpi_blame_comm((*r)->comm->handle);
	return MPI_SUCCESS;
}

static int
partitioned_ready(struct lmpi_request *r, int partition)
{
	struct lmpi_partitioned *part = r->part;

	if (!r->active)
		return lmpi_error(MPI_ERR_REQUEST, "the request is not active");
	if (partition < 0 || partition >= part->partitions)
		return lmpi_error(MPI_ERR_ARG, "partition %d is not one of %d", partition,
				  part->partitions);
	if (r->peer == MPI_PROC_NULL)
		return MPI_SUCCESS;
	if (part->piece[partition].ready)
		return lmpi_error(MPI_ERR_ARG, "partition %d is marked ready already", partition);
	part->piece[partition].ready = true;
	if (part->met)
		send_piece(part, (uint64_t)partition);
	return MPI_SUCCESS;
}

int
impl_Pready(int partition, MPI_Request request)
{
	struct lmpi_request *r;
	int rc = get_partitioned(request, true, &r);

	return rc ? rc : partitioned_ready(r, partition);
}

int
impl_Pready_range(int partition_low, int partition_high, MPI_Request request)
{
	struct lmpi_request *r;
	int rc = get_partitioned(request, true, &r);

	if (rc == MPI_SUCCESS && partition_low > partition_high)
		rc = lmpi_error(MPI_ERR_ARG, "partitions from %d to %d", partition_low,
				partition_high);
	for (int p = partition_low; p <= partition_high && rc == MPI_SUCCESS; p++)
		rc = partitioned_ready(r, p);
	return rc;
}

int
impl_Pready_list(int length, const int array_of_partitions[], MPI_Request request)
{
	struct lmpi_request *r;
	int rc = get_partitioned(request, true, &r);

	for (int i = 0; i < length && rc == MPI_SUCCESS; i++)
		rc = partitioned_ready(r, array_of_partitions[i]);
	return rc;
}

/* Are the sender's partitions that this one of mine is made of here? */
static bool
partitioned_arrived(const struct lmpi_partitioned *part, int partition)
{
	uint64_t b = part->offer[1], first, end;

	if (!part->met)
		return false;
	if (b == 0 || part->bytes == 0)
		return part->left == 0;
	first = (uint64_t)(part->bytes * partition) / b;
	end = ((uint64_t)(part->bytes * (partition + 1)) + b - 1) / b;
	for (uint64_t p = first; p < end && p < part->offer[0]; p++)
		if (!part->piece[p].done)
			return false;
	return true;
}

int
impl_Parrived(MPI_Request request, int partition, int *flag)
{
	struct lmpi_request *r;
	int rc = get_partitioned(request, false, &r);

	if (rc)
		return rc;
	if (partition < 0 || partition >= r->part->partitions)
		return lmpi_error(MPI_ERR_ARG, "partition %d is not one of %d", partition,
				  r->part->partitions);
	*flag = !r->active || r->e.done || partitioned_arrived(r->part, partition);
	if (!*flag) {
		lmpi_poke();
		*flag = r->e.done || partitioned_arrived(r->part, partition);
	}
	return MPI_SUCCESS;
}
