/* SPDX-License-Identifier: BSD-2-Clause */
/* Point-to-point: argument checks, packing, starting. */
#include "p2p.h"

#include <stdlib.h>
#include <string.h>

#include "bsend.h"
#include "call.h"
#include "impl.h"
#include "mpisp.h"
#include "spx.h"

static __attribute__((cold, noinline)) int
bad_rank(const char *what, int rank, const struct lmpi_comm *comm)
{
	return lmpi_error(MPI_ERR_RANK, "%s %d is not a rank of %s, which has %d processes", what,
			  rank, comm->name[0] ? comm->name : "the communicator",
			  lmpi_comm_peers(comm));
}

/* On the way of every message: special ranks must not cost it its place there. */
static inline __attribute__((always_inline)) int
buffer_args(struct lmpi_p2p *a, const void *buf, MPI_Count count, MPI_Datatype datatype)
{
	int rc = lmpi_check_count(count);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(datatype, &a->type);
	if (rc == MPI_SUCCESS && a->peer != MPI_PROC_NULL)
		rc = lmpi_check_buffer(buf, count, a->type);
	a->buf = (void *)(uintptr_t)buf;
	a->count = count;
	return rc;
}

/* Also for a special rank. */
static __attribute__((cold, noinline)) int
special_buffer(int rc, struct lmpi_p2p *a, const void *buf, MPI_Count count, MPI_Datatype datatype)
{
	if (rc != LMPI_P2P_SPECIAL)
		return rc;
	rc = buffer_args(a, buf, count, datatype);
	return rc ? rc : LMPI_P2P_SPECIAL;
}

static __attribute__((cold, noinline)) int
bad_tag(int tag, bool any)
{
	return lmpi_error(MPI_ERR_TAG, "tag %d is %s between 0 and %d (MPI_TAG_UB)", tag,
			  any ? "neither MPI_ANY_TAG nor" : "not", lmpi_world.tag_ub);
}

/* A rank that is none of the communicator's. */
static __attribute__((cold, noinline)) int
take_special(struct lmpi_p2p *a, const char *what, int rank, int special, int tag)
{
	bool any = special == MPISP_CLUSTER_IN;

	if (rank != special || a->comm->remote != NULL)
		return bad_rank(what, rank, a->comm);
	if ((tag < 0 || tag > lmpi_world.tag_ub) && !(any && tag == MPI_ANY_TAG))
		return bad_tag(tag, any);
	a->peer = rank;
	a->tag = tag;
	return LMPI_P2P_SPECIAL;
}

/* Nothing is sent, and yet it is a call on a communicator that is no good any more. */
static __attribute__((cold, noinline)) int
check_null_peer(const struct lmpi_comm *c)
{
	return lmpi_revoked(c->cid) ? lmpi_error(LMPI_ERR_REVOKED, "the communicator was revoked")
				    : MPI_SUCCESS;
}

static inline __attribute__((always_inline)) int
take_send_args(struct lmpi_p2p *a, const void *buf, MPI_Count count, MPI_Datatype datatype,
	       int dest, int tag, MPI_Comm comm)
{
	int rc = lmpi_comm_get(comm, &a->comm);

	if (rc)
		return rc;
	if (dest < 0 || dest >= lmpi_comm_peers(a->comm)) {
		if (dest != MPI_PROC_NULL)
			return dest == MPISP_CLUSTER_OUT ? LMPI_P2P_SPECIAL
							 : bad_rank("dest", dest, a->comm);
		rc = check_null_peer(a->comm);
		if (rc)
			return rc;
	}
	if (tag < 0 || tag > lmpi_world.tag_ub)
		return bad_tag(tag, false);
	a->peer = dest;
	a->tag = tag;
	return buffer_args(a, buf, count, datatype);
}

int
lmpi_p2p_send_args(struct lmpi_p2p *a, const void *buf, MPI_Count count, MPI_Datatype datatype,
		   int dest, int tag, MPI_Comm comm)
{
	return take_send_args(a, buf, count, datatype, dest, tag, comm);
}

__attribute__((cold, noinline)) int
lmpi_p2p_special_send_args(struct lmpi_p2p *a, const void *buf, MPI_Count count,
			   MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
	int rc = lmpi_comm_get(comm, &a->comm);

	return rc ? rc
		  : special_buffer(take_special(a, "dest", dest, MPISP_CLUSTER_OUT, tag), a, buf,
				   count, datatype);
}

static inline __attribute__((always_inline)) int
take_probe_args(struct lmpi_p2p *a, int source, int tag, MPI_Comm comm)
{
	int rc = lmpi_comm_get(comm, &a->comm);

	if (rc)
		return rc;
	if ((source < 0 || source >= lmpi_comm_peers(a->comm)) && source != MPI_ANY_SOURCE) {
		if (source != MPI_PROC_NULL)
			return take_special(a, "source", source, MPISP_CLUSTER_IN, tag);
		rc = check_null_peer(a->comm);
		if (rc)
			return rc;
	}
	if ((tag < 0 || tag > lmpi_world.tag_ub) && tag != MPI_ANY_TAG)
		return bad_tag(tag, true);
	a->peer = source;
	a->tag = tag;
	return MPI_SUCCESS;
}

int
lmpi_p2p_probe_args(struct lmpi_p2p *a, int source, int tag, MPI_Comm comm)
{
	return take_probe_args(a, source, tag, comm);
}

static inline __attribute__((always_inline)) int
take_recv_args(struct lmpi_p2p *a, void *buf, MPI_Count count, MPI_Datatype datatype, int source,
	       int tag, MPI_Comm comm)
{
	int rc = take_probe_args(a, source, tag, comm);

	return rc ? special_buffer(rc, a, buf, count, datatype)
		  : buffer_args(a, buf, count, datatype);
}

int
lmpi_p2p_recv_args(struct lmpi_p2p *a, void *buf, MPI_Count count, MPI_Datatype datatype,
		   int source, int tag, MPI_Comm comm)
{
	return take_recv_args(a, buf, count, datatype, source, tag, comm);
}

/* ---- special ranks: messages of a frame */

__attribute__((cold)) int
lmpi_p2p_refuse_special(int rc, int rank)
{
	if (rc != LMPI_P2P_SPECIAL)
		return rc;
	return lmpi_error(MPI_ERR_UNSUPPORTED_OPERATION,
			  "%s is not for this call: use MPI_Send, MPI_Recv, MPI_Isend, MPI_Irecv, "
			  "MPI_Sendrecv or MPI_Probe",
			  rank == MPISP_CLUSTER_IN ? "MPISP_CLUSTER_IN" : "MPISP_CLUSTER_OUT");
}

static void
fill_status(MPI_Status *status, const struct lmpi_spx_got *got)
{
	if (status != MPI_STATUS_IGNORE)
		lmpi_status_set(status, NULL, MPISP_CLUSTER_IN, got->tag, got->bytes, false);
}

__attribute__((cold)) int
lmpi_p2p_send_special(const struct lmpi_p2p *a)
{
	return lmpi_spx_send(a->type, a->buf, a->count, a->tag);
}

__attribute__((cold)) int
lmpi_p2p_recv_special(const struct lmpi_p2p *a, MPI_Status *status)
{
	struct lmpi_spx_got got;
	int rc = lmpi_spx_recv(a->type, a->buf, a->count, a->tag, &got);

	if (rc == MPI_SUCCESS || rc == MPI_ERR_TRUNCATE)
		fill_status(status, &got);
	return rc;
}

__attribute__((cold)) int
lmpi_p2p_probe_special(const struct lmpi_p2p *a, bool must, int *flag, MPI_Status *status)
{
	struct lmpi_spx_got got;
	bool any = false;
	int rc = lmpi_spx_probe(a->tag, must, &any, &got);

	*flag = any;
	if (rc == MPI_SUCCESS && any)
		fill_status(status, &got);
	return rc;
}

static __attribute__((cold, noinline)) int
start_special(struct lmpi_request *r)
{
	struct lmpi_p2p a = lmpi_p2p_of(r);
	struct lmpi_spx_got got = {.tag = MPI_ANY_TAG};
	int rc = r->kind == LMPI_RQ_SEND ? lmpi_p2p_send_special(&a)
					 : lmpi_spx_recv(a.type, a.buf, a.count, a.tag, &got);

	if (rc)
		return rc;
	r->e.source = r->peer;
	r->e.tag = got.tag;
	r->e.bytes = (uint64_t)got.bytes;
	r->active = true;
	lmpi_request_complete(r);
	return MPI_SUCCESS;
}

/* How a message looks on the wire. */
struct form {
	enum lmpi_rep rep; /* of a send */
	int64_t len;
	bool as_is; /* its bytes are, or will become in place, those in memory */
};

/* The same where foreign MPIs take part.  A receive from any source makes room for
 * the largest form a message that fits can have. */
static __attribute__((noinline, cold)) void
foreign_form(const struct lmpi_p2p *a, enum lmpi_piece_use use, struct form *f)
{
	const struct lmpi_comm *c = a->comm;
	unsigned set;

	if (a->peer != MPI_ANY_SOURCE) {
		f->rep = lmpi_comm_rep(c, a->peer);
		f->len = a->count * a->type->rep[f->rep].size;
		f->as_is = use == LMPI_PIECE_RECV ? lmpi_external32_in_place(a->type, f->rep)
						  : lmpi_external32_as_is(a->type, f->rep);
		return;
	}
	set = lmpi_group_reps(c->remote != NULL ? c->remote : c->group);
	for (enum lmpi_rep r = 0; r < LMPI_REPS; r++) {
		int64_t len = a->count * a->type->rep[r].size;

		if (!(set & LMPI_REP_BIT(r)))
			continue;
		f->as_is = f->as_is && lmpi_external32_in_place(a->type, r);
		f->len = len > f->len ? len : f->len;
	}
}

static void
free_request(struct lmpi_req *e)
{
	free(e);
}

__attribute__((cold)) int
lmpi_p2p_unsendable(const struct lmpi_p2p *a, int rc)
{
	struct lmpi_req *e = rc == MPI_ERR_CONVERSION ? calloc(1, sizeof(*e)) : NULL;

	if (e != NULL) {
		e->on_done = free_request;
		lmpi_isend(e, NULL, 0, lmpi_comm_world_rank(a->comm, a->peer), a->comm->rank,
			   a->tag, a->comm->cid, LMPI_STANDARD);
	}
	return rc;
}

int
lmpi_piece_make(struct lmpi_piece *p, const struct lmpi_p2p *a, enum lmpi_piece_use use)
{
	struct form f = {LMPI_REP_NATIVE, a->count * a->type->size, true};
	int rc = MPI_SUCCESS;

	if (__builtin_expect(lmpi_world.any_foreign, 0))
		foreign_form(a, use, &f);
	p->copy = NULL;
	p->len = f.len;
	p->data = f.len == 0 ? a->buf : NULL;
	if (f.len != 0 && f.as_is && use != LMPI_PIECE_SEND_COPY)
		p->data = lmpi_type_span(a->type, a->buf, a->count);
	if (p->data != NULL || p->len == 0)
		return MPI_SUCCESS;
	p->copy = p->data = malloc((size_t)p->len);
	if (p->data == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "no memory for a copy of %lld bytes",
				  (long long)p->len);
	if (use != LMPI_PIECE_RECV)
		rc = lmpi_rep_pack(a->type, a->buf, a->count, f.rep, p->data);
	if (rc) {
		free(p->copy);
		*p = (struct lmpi_piece){0};
		return lmpi_p2p_unsendable(a, rc);
	}
	return MPI_SUCCESS;
}

/* The same for what lies in one piece and has no foreign form, without a call. */
static inline __attribute__((always_inline)) bool
piece_lies(struct lmpi_piece *p, const struct lmpi_p2p *a)
{
	p->copy = NULL;
	p->data = a->buf;
	p->len = a->count * a->type->size;
	if (p->len != 0)
		p->data = lmpi_type_span(a->type, a->buf, a->count);
	return (p->data != NULL || p->len == 0) && !__builtin_expect(lmpi_world.any_foreign, 0);
}

__attribute__((cold)) void
lmpi_p2p_deliver_foreign(const struct lmpi_p2p *a, struct lmpi_req *e, void *copy)
{
	enum lmpi_rep rep = lmpi_comm_rep(a->comm, e->source);
	int64_t len = (int64_t)e->bytes, room = a->count * a->type->rep[rep].size;

	if (e->error != MPI_SUCCESS && e->error != MPI_ERR_TRUNCATE)
		return;
	if (len > room) {
		len = room;
		e->error = MPI_ERR_TRUNCATE; /* the engine had room for another form */
	}
	if (copy != NULL)
		lmpi_rep_unpack(a->type, a->buf, a->count, rep, copy, len);
	else if (rep != LMPI_REP_NATIVE && len != 0)
		lmpi_rep_unpack(a->type, a->buf, a->count, rep,
				lmpi_type_span(a->type, a->buf, a->count), len);
}

static void
start_send(struct lmpi_req *e, const struct lmpi_p2p *a, const struct lmpi_piece *p,
	   enum lmpi_mode mode)
{
	lmpi_isend(e, p->data, (uint64_t)p->len, lmpi_comm_world_rank(a->comm, a->peer),
		   a->comm->rank, a->tag, a->comm->cid, mode);
}

/* Nobody can cancel what has no request. */
static enum lmpi_mode
engine_mode(enum lmpi_send_mode mode)
{
	return mode == LMPI_SEND_SYNC	 ? LMPI_SYNC
	       : mode == LMPI_SEND_READY ? LMPI_READY
					 : LMPI_STANDARD;
}

static inline __attribute__((always_inline)) bool
send_whole(const struct lmpi_p2p *a, const struct lmpi_piece *p, enum lmpi_send_mode mode)
{
	return p->copy == NULL && (mode == LMPI_SEND_STANDARD || mode == LMPI_SEND_READY) &&
	       lmpi_send_whole(p->data, (uint64_t)p->len, lmpi_comm_world_rank(a->comm, a->peer),
			       a->comm->rank, a->tag, a->comm->cid);
}

bool
lmpi_p2p_send_whole(const struct lmpi_p2p *a, const struct lmpi_piece *p, enum lmpi_send_mode mode)
{
	return send_whole(a, p, mode);
}

/* ---- blocking, without a request object */

static int
report_recv(const struct lmpi_req *e, const struct lmpi_p2p *a)
{
	if (e->error == MPI_ERR_TRUNCATE)
		return lmpi_error(MPI_ERR_TRUNCATE,
				  "a message of %llu bytes from rank %d with tag %d does not fit a "
				  "receive buffer of %lld bytes",
				  (unsigned long long)e->bytes, e->source, e->tag,
				  (long long)lmpi_p2p_room(a->comm, a->type, a->count, e->source));
	if (e->error)
		return lmpi_error(e->error, "receiving from rank %d failed", a->peer);
	return MPI_SUCCESS;
}

/* Without a request, see lmpi_recv_whole(). */
static inline __attribute__((always_inline)) bool
recv_whole(const struct lmpi_p2p *a, const struct lmpi_piece *p, MPI_Status *status)
{
	struct lmpi_probed got;

	if (!lmpi_recv_whole(p->data, (uint64_t)p->len, lmpi_comm_world_rank(a->comm, a->peer),
			     a->peer, a->tag, a->comm->cid, true, &got))
		return false;
	if (status != MPI_STATUS_IGNORE)
		lmpi_status_set(status, a->comm, got.source, got.tag, (int64_t)got.bytes, false);
	return true;
}

/* On its own, so that what comes at once makes no room for a request. */
static __attribute__((noinline)) int
recv_by_request(const struct lmpi_p2p *a, void *message, MPI_Status *status)
{
	struct lmpi_piece p;
	int rc = MPI_SUCCESS;

	if (a->peer != MPI_PROC_NULL)
		rc = lmpi_piece_make(&p, a, LMPI_PIECE_RECV);
	if (rc)
		return rc;
	struct lmpi_req e = {.source = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
	if (a->peer != MPI_PROC_NULL) {
		if (message != NULL)
			lmpi_mrecv(&e, p.data, (uint64_t)p.len, message);
		else
			lmpi_irecv(&e, p.data, (uint64_t)p.len, a->peer, a->tag, a->comm->cid);
		if (!e.done)
			lmpi_wait_recv(&e);
		lmpi_p2p_deliver(a, &e, p.copy);
		free(p.copy);
	}
	if (status != MPI_STATUS_IGNORE)
		lmpi_status_set(status, a->comm, e.source, e.tag, (int64_t)e.bytes, false);
	return e.error ? report_recv(&e, a) : MPI_SUCCESS;
}

static inline __attribute__((always_inline)) int
recv_blocking(const struct lmpi_p2p *a, void *message, MPI_Status *status)
{
	struct lmpi_piece p;

	if (message == NULL && a->peer >= 0 && piece_lies(&p, a) && recv_whole(a, &p, status))
		return MPI_SUCCESS;
	return recv_by_request(a, message, status);
}

int
lmpi_p2p_recv(const struct lmpi_p2p *a, void *message, MPI_Status *status)
{
	return recv_blocking(a, message, status);
}

static __attribute__((cold, noinline)) int
send_to_special(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
		MPI_Comm comm)
{
	struct lmpi_p2p a;
	int rc = lmpi_p2p_special_send_args(&a, buf, count, datatype, dest, tag, comm);

	return rc == LMPI_P2P_SPECIAL ? lmpi_p2p_send_special(&a) : rc;
}

static __attribute__((noinline)) int
send_by_request(const struct lmpi_p2p *a, enum lmpi_send_mode mode)
{
	struct lmpi_piece p;
	struct lmpi_req e = {0};
	int rc = lmpi_piece_make(&p, a, LMPI_PIECE_SEND);

	/* Of a job with foreign MPIs it was not tried. */
	if (rc || (lmpi_world.any_foreign && send_whole(a, &p, mode)))
		return rc;
	start_send(&e, a, &p, engine_mode(mode));
	if (!e.done)
		lmpi_wait(&e.done);
	else
		lmpi_push();
	free(p.copy);
	return e.error ? lmpi_error(e.error, "sending to rank %d failed", a->peer) : MPI_SUCCESS;
}

static int
send_blocking(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
	      MPI_Comm comm, enum lmpi_send_mode mode)
{
	struct lmpi_p2p a;
	struct lmpi_piece p;
	int rc = take_send_args(&a, buf, count, datatype, dest, tag, comm);

	if (rc || dest == MPI_PROC_NULL)
		return rc == LMPI_P2P_SPECIAL
			       ? send_to_special(buf, count, datatype, dest, tag, comm)
			       : rc;
	if (piece_lies(&p, &a) && send_whole(&a, &p, mode))
		return MPI_SUCCESS;
	return send_by_request(&a, mode);
}

int
impl_Send(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
	return send_blocking(buf, count, datatype, dest, tag, comm, LMPI_SEND_STANDARD);
}

int
impl_Ssend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
	   MPI_Comm comm)
{
	return send_blocking(buf, count, datatype, dest, tag, comm, LMPI_SEND_SYNC);
}

int
impl_Rsend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
	   MPI_Comm comm)
{
	return send_blocking(buf, count, datatype, dest, tag, comm, LMPI_SEND_READY);
}

int
impl_Recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
	  MPI_Status *status)
{
	struct lmpi_p2p a;
	int rc = take_recv_args(&a, buf, count, datatype, source, tag, comm);

	if (rc)
		return rc == LMPI_P2P_SPECIAL ? lmpi_p2p_recv_special(&a, status) : rc;
	return recv_blocking(&a, NULL, status);
}

/* Both directions at once, so that a ring of them cannot lock up. */
static int
exchange_p2p(const struct lmpi_p2p *s, enum lmpi_piece_use send_use, const struct lmpi_p2p *r,
	     MPI_Status *status)
{
	struct lmpi_piece sp = {0}, rp = {0};
	struct lmpi_req se = {.done = true}, re = {.done = true};
	int rc = MPI_SUCCESS;

	re.source = MPI_PROC_NULL;
	re.tag = MPI_ANY_TAG;
	if (s->peer != MPI_PROC_NULL)
		rc = lmpi_piece_make(&sp, s, send_use);
	if (rc == MPI_SUCCESS && r->peer != MPI_PROC_NULL)
		rc = lmpi_piece_make(&rp, r, LMPI_PIECE_RECV);
	if (rc) {
		free(sp.copy);
		return rc;
	}
	if (r->peer != MPI_PROC_NULL) {
		re.done = false;
		lmpi_irecv(&re, rp.data, (uint64_t)rp.len, r->peer, r->tag, r->comm->cid);
	}
	if (s->peer != MPI_PROC_NULL) {
		se.done = false;
		start_send(&se, s, &sp, LMPI_STANDARD);
	}
	if (!re.done)
		lmpi_wait_recv(&re);
	if (!se.done)
		lmpi_wait(&se.done);
	if (r->peer != MPI_PROC_NULL)
		lmpi_p2p_deliver(r, &re, rp.copy);
	free(sp.copy);
	free(rp.copy);
	if (status != MPI_STATUS_IGNORE)
		lmpi_status_set(status, r->comm, re.source, re.tag, (int64_t)re.bytes, false);
	if (re.error)
		return report_recv(&re, r);
	return se.error ? lmpi_error(se.error, "sending to rank %d failed", s->peer) : MPI_SUCCESS;
}

int
impl_Sendrecv(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
	      int sendtag, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source,
	      int recvtag, MPI_Comm comm, MPI_Status *status)
{
	struct lmpi_p2p s, r;
	int rc = lmpi_p2p_send_args(&s, sendbuf, sendcount, sendtype, dest, sendtag, comm);

	if (rc == MPI_SUCCESS)
		rc = lmpi_p2p_recv_args(&r, recvbuf, recvcount, recvtype, source, recvtag, comm);
	if (rc == LMPI_P2P_SPECIAL) {
		/* What is special never waits, so one call can follow the other. */
		rc = impl_Send(sendbuf, sendcount, sendtype, dest, sendtag, comm);
		return rc ? rc
			  : impl_Recv(recvbuf, recvcount, recvtype, source, recvtag, comm, status);
	}
	return rc ? rc : exchange_p2p(&s, LMPI_PIECE_SEND, &r, status);
}

int
impl_Sendrecv_replace(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
		      int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
	struct lmpi_p2p s, r;
	int rc = lmpi_p2p_send_args(&s, buf, count, datatype, dest, sendtag, comm);

	if (rc == MPI_SUCCESS)
		rc = lmpi_p2p_recv_args(&r, buf, count, datatype, source, recvtag, comm);
	if (rc == LMPI_P2P_SPECIAL) {
		rc = impl_Send(buf, count, datatype, dest, sendtag, comm);
		return rc ? rc : impl_Recv(buf, count, datatype, source, recvtag, comm, status);
	}
	return rc ? rc : exchange_p2p(&s, LMPI_PIECE_SEND_COPY, &r, status);
}

/* ---- requests */

static void
send_done(struct lmpi_req *e)
{
	lmpi_request_settle((struct lmpi_request *)(void *)e);
}

static void
recv_done(struct lmpi_req *e)
{
	struct lmpi_request *r = (struct lmpi_request *)(void *)e;

	if (!e->cancelled) {
		struct lmpi_p2p a = lmpi_p2p_of(r);

		lmpi_p2p_deliver(&a, e, r->staging);
	}
	lmpi_request_settle(r);
}

struct lmpi_request *
lmpi_p2p_request(enum lmpi_request_kind kind, const struct lmpi_p2p *a, enum lmpi_send_mode mode,
		 bool persistent)
{
	struct lmpi_request *r = lmpi_request_new(kind, a->comm, a->type);

	if (r == NULL)
		return NULL;
	r->mode = mode;
	r->buf = a->buf;
	r->count = a->count;
	r->peer = a->peer;
	r->tag = a->tag;
	r->persistent = persistent;
	return r;
}

/* The piece of a request; a persistent one keeps its copy from start to start. */
static int
piece_of(struct lmpi_request *r, struct lmpi_piece *p)
{
	struct lmpi_p2p a = lmpi_p2p_of(r);
	bool send = r->kind == LMPI_RQ_SEND;
	int rc;

	if (r->staging != NULL) {
		*p = (struct lmpi_piece){r->staging, r->staging_len, NULL};
		if (!send)
			return MPI_SUCCESS;
		rc = lmpi_rep_pack(r->type, r->buf, r->count, lmpi_comm_rep(r->comm, r->peer),
				   r->staging);
		return rc ? lmpi_p2p_unsendable(&a, rc) : MPI_SUCCESS;
	}
	rc = lmpi_piece_make(p, &a, send ? LMPI_PIECE_SEND : LMPI_PIECE_RECV);
	if (rc)
		return rc;
	r->staging = p->copy;
	r->staging_len = p->len;
	return MPI_SUCCESS;
}

static int
start_buffered(struct lmpi_request *r)
{
	struct lmpi_p2p a = lmpi_p2p_of(r);
	int rc = lmpi_bsend(&a, &r->e);

	if (rc)
		return rc;
	r->e.on_done = send_done;
	r->active = true;
	lmpi_request_complete(r);
	return MPI_SUCCESS;
}

static void
start_nothing(struct lmpi_request *r)
{
	r->e.source = MPI_PROC_NULL;
	r->e.tag = MPI_ANY_TAG;
	r->active = true;
	lmpi_request_complete(r);
}

int
lmpi_p2p_start(struct lmpi_request *r)
{
	struct lmpi_p2p a = lmpi_p2p_of(r);
	struct lmpi_piece p;
	int rc;

	memset(&r->e, 0, sizeof(r->e));
	if (r->peer < MPI_ANY_SOURCE) {
		if (r->peer != MPI_PROC_NULL)
			return start_special(r);
		start_nothing(r);
		return MPI_SUCCESS;
	}
	if (r->kind == LMPI_RQ_SEND && r->mode == LMPI_SEND_BUFFERED)
		return start_buffered(r);
	rc = piece_of(r, &p);
	if (rc)
		return rc;
	r->active = true;
	r->e.on_done = r->kind == LMPI_RQ_SEND ? send_done : recv_done;
	if (r->kind == LMPI_RQ_SEND)
		start_send(&r->e, &a, &p, r->mode == LMPI_SEND_SYNC ? LMPI_SYNC : LMPI_CANCELLABLE);
	else
		lmpi_irecv(&r->e, p.data, (uint64_t)p.len, r->peer, r->tag, r->comm->cid);
	return MPI_SUCCESS;
}

int
lmpi_p2p_start_matched(struct lmpi_request *r, void *message)
{
	struct lmpi_piece p;
	int rc;

	if (r->peer == MPI_PROC_NULL) {
		start_nothing(r);
		return MPI_SUCCESS;
	}
	rc = piece_of(r, &p);
	if (rc)
		return rc;
	r->active = true;
	r->e.on_done = recv_done;
	lmpi_mrecv(&r->e, p.data, (uint64_t)p.len, message);
	return MPI_SUCCESS;
}
