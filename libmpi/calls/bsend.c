/* SPDX-License-Identifier: BSD-2-Clause */
#include "bsend.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "engine.h"
#include "impl.h"
#include "session.h"

#define ALIGN 16

/* In front of every message in the buffer; free space has none. */
struct cell {
	struct lmpi_req e; /* first: on_done gets its address */
	struct cell *next; /* by address */
	struct lmpi_bsend *owner;
	int64_t len; /* header and data, rounded up */
	uint64_t number;
	struct lmpi_req *as; /* during lmpi_bsend(): gets what names the message */
	_Alignas(ALIGN) char data[];
};
_Static_assert(sizeof(struct cell) + 2 * ALIGN <= MPI_BSEND_OVERHEAD, "bookkeeping fits");

/* A flush that somebody may wait for: of the messages numbered up to `last`. */
struct flushing {
	struct flushing *next;
	struct lmpi_request *request;
	uint64_t last;
	int64_t left;
};

struct lmpi_bsend {
	void *buffer; /* as attached */
	int64_t size;
	char *first, *end; /* aligned */
	bool automatic;	   /* MPI_BUFFER_AUTOMATIC: cells come from malloc */
	struct cell *cells;
	uint64_t messages; /* so far */
	struct flushing *flushing;
};

static struct lmpi_bsend *process_buffer;

/* A communicator's own buffer comes first, then that of the session it was made from,
 * then that of the process. */
static struct lmpi_bsend *
buffer_for(struct lmpi_comm *comm)
{
	struct lmpi_session *session = lmpi_session_of(comm);

	if (comm->bsend != NULL)
		return comm->bsend;
	return session != NULL && session->bsend != NULL ? session->bsend : process_buffer;
}

/* Room for len bytes of a message on comm. */
static int
take_bsend(struct lmpi_comm *comm, int64_t len, struct cell **cell)
{
	struct lmpi_bsend *b = buffer_for(comm);
	struct cell **at, *c;
	int64_t need = (int64_t)sizeof(*c) + (len + ALIGN - 1) / ALIGN * ALIGN;
	char *gap;

	if (b == NULL)
		return lmpi_error(MPI_ERR_BUFFER, "no buffer is attached for buffered sends");
	lmpi_progress(); /* what is out by now makes room */
	if (b->automatic) {
		c = malloc((size_t)need);
		if (c == NULL)
			return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
		c->next = b->cells;
		b->cells = c;
	} else {
		gap = b->first;
		for (at = &b->cells; *at != NULL && (char *)*at - gap < need; at = &(*at)->next)
			gap = (char *)*at + (*at)->len;
		if (*at == NULL && b->end - gap < need)
			return lmpi_error(MPI_ERR_BUFFER,
					  "the attached buffer of %lld bytes has no room for "
					  "%lld bytes more",
					  (long long)b->size, (long long)len);
		c = (struct cell *)(void *)gap;
		c->next = *at;
		*at = c;
	}
	c->owner = b;
	c->len = need;
	c->number = ++b->messages;
	*cell = c;
	return MPI_SUCCESS;
}

/* The program's request is complete from the start; this is enough for MPI_Cancel. */
static void
name_as(struct cell *c)
{
	if (c->as == NULL)
		return;
	c->as->kind = c->e.kind;
	c->as->peer = c->e.peer;
	c->as->number = c->e.number;
	c->as = NULL;
}

static void
cell_done(struct lmpi_req *e)
{
	struct cell *c = (struct cell *)(void *)e, **at = &c->owner->cells;
	struct flushing **fat = &c->owner->flushing, *f;
	uint64_t number = c->number;

	name_as(c);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (c->owner->automatic)
		free(c);
	while ((f = *fat) != NULL) {
		if (number > f->last || --f->left > 0) {
			fat = &f->next;
			continue;
		}
		*fat = f->next;
		lmpi_request_complete(f->request);
		free(f);
	}
}

int
lmpi_bsend(const struct lmpi_p2p *a, struct lmpi_req *as)
{
	enum lmpi_rep rep = lmpi_comm_rep(a->comm, a->peer);
	int64_t len = a->count * a->type->rep[rep].size;
	struct cell *c = NULL;
	int rc = take_bsend(a->comm, len, &c);

	if (rc)
		return rc;
	memset(&c->e, 0, sizeof(c->e));
	c->as = NULL;
	rc = lmpi_rep_pack(a->type, a->buf, a->count, rep, c->data);
	if (rc) {
		cell_done(&c->e);
		return lmpi_p2p_unsendable(a, rc);
	}
	c->e.on_done = cell_done;
	c->as = as;
	lmpi_isend(&c->e, c->data, (uint64_t)len, lmpi_comm_world_rank(a->comm, a->peer),
		   a->comm->rank, a->tag, a->comm->cid, as ? LMPI_CANCELLABLE : LMPI_STANDARD);
	if (as != NULL && as->kind == 0) /* else it is done, and the cell gone */
		name_as(c);
	return MPI_SUCCESS;
}

int
impl_Bsend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
	   MPI_Comm comm)
{
	struct lmpi_p2p a;
	int rc = lmpi_p2p_send_args(&a, buf, count, datatype, dest, tag, comm);

	if (rc == LMPI_P2P_SPECIAL) /* it is copied anyway */
		return impl_Send(buf, count, datatype, dest, tag, comm);
	return rc || dest == MPI_PROC_NULL ? rc : lmpi_bsend(&a, NULL);
}

static int
attach_bsend(struct lmpi_bsend **slot, void *buffer, MPI_Count size)
{
	struct lmpi_bsend *b;
	uintptr_t first = ((uintptr_t)buffer + ALIGN - 1) / ALIGN * ALIGN;

	if (*slot != NULL)
		return lmpi_error(MPI_ERR_BUFFER, "a buffer is attached already");
	if (size < 0)
		return lmpi_error(MPI_ERR_ARG, "size is %lld", (long long)size);
	b = calloc(1, sizeof(*b));
	if (b == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	b->buffer = buffer;
	b->size = size;
	b->automatic = buffer == MPI_BUFFER_AUTOMATIC;
	b->first = (char *)first;
	b->end = (char *)((uintptr_t)buffer + (uintptr_t)size);
	*slot = b;
	return MPI_SUCCESS;
}

static bool
bsend_drained(void *arg)
{
	return ((struct lmpi_bsend *)arg)->cells == NULL;
}

static void
flush_bsend(struct lmpi_bsend *b)
{
	if (b != NULL && !bsend_drained(b))
		lmpi_wait_for(bsend_drained, b);
}

/* Nothing attached: nothing to wait for. */
static int
iflush(struct lmpi_bsend *b, MPI_Request *request)
{
	struct lmpi_request *r = lmpi_request_new(LMPI_RQ_NOTHING, NULL, NULL);
	struct flushing *f = NULL;

	if (r == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	r->active = true;
	if (b != NULL && b->cells != NULL) {
		f = calloc(1, sizeof(*f));
		if (f == NULL) {
			lmpi_request_free(r);
			return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
		}
		*f = (struct flushing){b->flushing, r, b->messages, 0};
		for (const struct cell *c = b->cells; c != NULL; c = c->next)
			f->left++;
		b->flushing = f;
	} else {
		lmpi_request_complete(r);
	}
	*request = lmpi_request_handle(r);
	return MPI_SUCCESS;
}

static int
detach(struct lmpi_bsend **slot, void *buffer_addr, MPI_Count *size)
{
	struct lmpi_bsend *b = *slot;

	if (b == NULL)
		return lmpi_error(MPI_ERR_BUFFER, "no buffer is attached");
	flush_bsend(b);
	*(void **)buffer_addr = b->buffer;
	*size = b->size;
	free(b);
	*slot = NULL;
	return MPI_SUCCESS;
}

void
lmpi_bsend_end(struct lmpi_bsend **slot)
{
	flush_bsend(*slot);
	free(*slot);
	*slot = NULL;
}

int
impl_Buffer_attach(void *buffer, MPI_Count size)
{
	return attach_bsend(&process_buffer, buffer, size);
}

int
impl_Buffer_detach(void *buffer_addr, MPI_Count *size)
{
	return detach(&process_buffer, buffer_addr, size);
}

int
impl_Buffer_flush(void)
{
	flush_bsend(process_buffer);
	return MPI_SUCCESS;
}

int
impl_Comm_attach_buffer(MPI_Comm comm, void *buffer, MPI_Count size)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	return rc ? rc : attach_bsend(&c->bsend, buffer, size);
}

int
impl_Comm_detach_buffer(MPI_Comm comm, void *buffer_addr, MPI_Count *size)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	return rc ? rc : detach(&c->bsend, buffer_addr, size);
}

int
impl_Comm_flush_buffer(MPI_Comm comm)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		flush_bsend(c->bsend);
	return rc;
}

int
impl_Buffer_iflush(MPI_Request *request)
{
	return iflush(process_buffer, request);
}

int
impl_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	return rc ? rc : iflush(c->bsend, request);
}

/* ---- sessions */

static int
get_session(MPI_Session handle, struct lmpi_session **s)
{
	*s = lmpi_session_find(handle);
	return *s ? MPI_SUCCESS : lmpi_error(MPI_ERR_SESSION, "the session is not a valid one");
}

int
impl_Session_attach_buffer(MPI_Session session, void *buffer, MPI_Count size)
{
	struct lmpi_session *s;
	int rc = get_session(session, &s);

	return rc ? rc : attach_bsend(&s->bsend, buffer, size);
}

int
impl_Session_detach_buffer(MPI_Session session, void *buffer_addr, MPI_Count *size)
{
	struct lmpi_session *s;
	int rc = get_session(session, &s);

	return rc ? rc : detach(&s->bsend, buffer_addr, size);
}

int
impl_Session_flush_buffer(MPI_Session session)
{
	struct lmpi_session *s;
	int rc = get_session(session, &s);

	if (rc == MPI_SUCCESS)
		flush_bsend(s->bsend);
	return rc;
}

int
impl_Session_iflush_buffer(MPI_Session session, MPI_Request *request)
{
	struct lmpi_session *s;
	int rc = get_session(session, &s);

	return rc ? rc : iflush(s->bsend, request);
}
