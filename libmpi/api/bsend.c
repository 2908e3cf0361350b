#include "bsend.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "engine.h"
#include "impl.h"

#define ALIGN 16

/* In front of every message in the buffer; free space has none. */
struct cell {
	struct lmpi_req e; /* first: on_done gets its address */
	struct cell *next; /* by address */
	struct lmpi_bsend *owner;
	int64_t len; /* header and data, rounded up */
	_Alignas(ALIGN) char data[];
};
_Static_assert(sizeof(struct cell) + 2 * ALIGN <= MPI_BSEND_OVERHEAD, "bookkeeping fits");

struct lmpi_bsend {
	void *buffer; /* as attached */
	int64_t size;
	char *first, *end; /* aligned */
	bool automatic;	   /* MPI_BUFFER_AUTOMATIC: cells come from malloc */
	struct cell *cells;
};

static struct lmpi_bsend *process_buffer;

static struct lmpi_bsend **
slot_of(struct lmpi_comm *comm)
{
	return comm != NULL ? &comm->bsend : &process_buffer;
}

static struct lmpi_bsend *
buffer_for(struct lmpi_comm *comm)
{
	return comm->bsend != NULL ? comm->bsend : process_buffer;
}

/* Room for len bytes of a message on comm. */
static int
take(struct lmpi_comm *comm, int64_t len, struct cell **cell)
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
	*cell = c;
	return MPI_SUCCESS;
}

static void
cell_done(struct lmpi_req *e)
{
	struct cell *c = (struct cell *)(void *)e, **at = &c->owner->cells;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (c->owner->automatic)
		free(c);
}

int
lmpi_bsend(const struct lmpi_p2p *a)
{
	enum lmpi_rep rep = lmpi_comm_rep(a->comm, a->peer);
	int64_t len = a->count * a->type->rep[rep].size;
	struct cell *c = NULL;
	int rc = take(a->comm, len, &c);

	if (rc)
		return rc;
	memset(&c->e, 0, sizeof(c->e));
	rc = lmpi_rep_pack(a->type, a->buf, a->count, rep, c->data);
	if (rc) {
		cell_done(&c->e);
		return rc;
	}
	c->e.on_done = cell_done;
	lmpi_isend(&c->e, c->data, (uint64_t)len, lmpi_comm_world_rank(a->comm, a->peer),
		   a->comm->rank, a->tag, a->comm->cid, LMPI_STANDARD);
	return MPI_SUCCESS;
}

int
impl_Bsend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
	   MPI_Comm comm)
{
	struct lmpi_p2p a;
	int rc = lmpi_p2p_send_args(&a, buf, count, datatype, dest, tag, comm);

	return rc || dest == MPI_PROC_NULL ? rc : lmpi_bsend(&a);
}

static int
attach(struct lmpi_comm *comm, void *buffer, MPI_Count size)
{
	struct lmpi_bsend **slot = slot_of(comm), *b;
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
drained(void *arg)
{
	return ((struct lmpi_bsend *)arg)->cells == NULL;
}

static void
flush(struct lmpi_bsend *b)
{
	if (b != NULL && !drained(b))
		lmpi_wait_for(drained, b);
}

static int
detach(struct lmpi_comm *comm, void *buffer_addr, MPI_Count *size)
{
	struct lmpi_bsend **slot = slot_of(comm), *b = *slot;

	if (b == NULL)
		return lmpi_error(MPI_ERR_BUFFER, "no buffer is attached");
	flush(b);
	*(void **)buffer_addr = b->buffer;
	*size = b->size;
	free(b);
	*slot = NULL;
	return MPI_SUCCESS;
}

int
impl_Buffer_attach(void *buffer, MPI_Count size)
{
	return attach(NULL, buffer, size);
}

int
impl_Buffer_detach(void *buffer_addr, MPI_Count *size)
{
	return detach(NULL, buffer_addr, size);
}

int
impl_Buffer_flush(void)
{
	flush(process_buffer);
	return MPI_SUCCESS;
}

int
impl_Comm_attach_buffer(MPI_Comm comm, void *buffer, MPI_Count size)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	return rc ? rc : attach(c, buffer, size);
}

int
impl_Comm_detach_buffer(MPI_Comm comm, void *buffer_addr, MPI_Count *size)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	return rc ? rc : detach(c, buffer_addr, size);
}

int
impl_Comm_flush_buffer(MPI_Comm comm)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		flush(c->bsend);
	return rc;
}
