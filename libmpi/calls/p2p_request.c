/* SPDX-License-Identifier: BSD-2-Clause */
/* The non-blocking and persistent point-to-point calls. */
#include <stdlib.h>

#include "call.h"
#include "impl.h"
#include "p2p.h"

static int
begin_message_request(struct lmpi_request *r, MPI_Request *request)
{
	int rc;

	if (r == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	rc = r->persistent ? MPI_SUCCESS : lmpi_p2p_start(r);
	if (rc) {
		lmpi_request_free(r);
		return rc;
	}
	*request = lmpi_request_handle(r);
	return MPI_SUCCESS;
}

static int
send_message_request(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
		     MPI_Comm comm, enum lmpi_send_mode mode, bool persistent, MPI_Request *request)
{
	struct lmpi_p2p a;
	struct lmpi_piece p = {0};
	int rc = lmpi_p2p_send_args(&a, buf, count, datatype, dest, tag, comm);

	if (rc == LMPI_P2P_SPECIAL) {
		rc = lmpi_p2p_special_send_args(&a, buf, count, datatype, dest, tag, comm);
		if (rc == LMPI_P2P_SPECIAL)
			return begin_message_request(
				lmpi_p2p_request(LMPI_RQ_SEND, &a, mode, persistent), request);
	}
	if (rc)
		return rc;
	if (!persistent && dest != MPI_PROC_NULL && !lmpi_world.any_foreign)
		p.data = lmpi_type_span(a.type, buf, count);
	if (p.data != NULL) {
		p.len = count * a.type->size;
		if (lmpi_p2p_send_whole(&a, &p, mode)) {
			*request = lmpi_request_handle(&lmpi_request_sent);
			return MPI_SUCCESS;
		}
	}
	return begin_message_request(lmpi_p2p_request(LMPI_RQ_SEND, &a, mode, persistent), request);
}

static int
recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
     bool persistent, MPI_Request *request)
{
	struct lmpi_p2p a;
	int rc = lmpi_p2p_recv_args(&a, buf, count, datatype, source, tag, comm);

	if (rc && rc != LMPI_P2P_SPECIAL)
		return rc;
	return begin_message_request(
		lmpi_p2p_request(LMPI_RQ_RECV, &a, LMPI_SEND_STANDARD, persistent), request);
}

int
impl_Isend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
	   MPI_Comm comm, MPI_Request *request)
{
	return send_message_request(buf, count, datatype, dest, tag, comm, LMPI_SEND_STANDARD,
				    false, request);
}

int
impl_Issend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
	    MPI_Comm comm, MPI_Request *request)
{
	return send_message_request(buf, count, datatype, dest, tag, comm, LMPI_SEND_SYNC, false,
				    request);
}

int
impl_Irsend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
	    MPI_Comm comm, MPI_Request *request)
{
	return send_message_request(buf, count, datatype, dest, tag, comm, LMPI_SEND_READY, false,
				    request);
}

int
impl_Ibsend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
	    MPI_Comm comm, MPI_Request *request)
{
	return send_message_request(buf, count, datatype, dest, tag, comm, LMPI_SEND_BUFFERED,
				    false, request);
}

int
impl_Irecv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
	   MPI_Request *request)
{
	return recv(buf, count, datatype, source, tag, comm, false, request);
}

int
impl_Send_init(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
	       MPI_Comm comm, MPI_Request *request)
{
	return send_message_request(buf, count, datatype, dest, tag, comm, LMPI_SEND_STANDARD, true,
				    request);
}

int
impl_Ssend_init(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
		MPI_Comm comm, MPI_Request *request)
{
	return send_message_request(buf, count, datatype, dest, tag, comm, LMPI_SEND_SYNC, true,
				    request);
}

int
impl_Rsend_init(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
		MPI_Comm comm, MPI_Request *request)
{
	return send_message_request(buf, count, datatype, dest, tag, comm, LMPI_SEND_READY, true,
				    request);
}

int
impl_Bsend_init(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
		MPI_Comm comm, MPI_Request *request)
{
	return send_message_request(buf, count, datatype, dest, tag, comm, LMPI_SEND_BUFFERED, true,
				    request);
}

int
impl_Recv_init(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
	       MPI_Comm comm, MPI_Request *request)
{
	return recv(buf, count, datatype, source, tag, comm, true, request);
}

/* ---- MPI_Isendrecv: the pair completes when both halves have */

static void
half_done(struct lmpi_request *half)
{
	struct lmpi_request *pair = half->pair.of;

	if (half->kind == LMPI_RQ_RECV) {
		pair->e.source = half->e.source;
		pair->e.tag = half->e.tag;
		pair->e.bytes = half->e.bytes;
		if (half->e.error)
			pair->e.error = half->e.error;
	} else if (pair->e.error == MPI_SUCCESS) {
		pair->e.error = half->e.error;
	}
	lmpi_request_free(half);
	if (--pair->pair.left == 0)
		lmpi_request_complete(pair);
}

static void
half_done_req(struct lmpi_req *e)
{
	struct lmpi_request *r = (struct lmpi_request *)(void *)e;

	if (r->kind == LMPI_RQ_RECV) {
		struct lmpi_p2p a = lmpi_p2p_of(r);

		lmpi_p2p_deliver(&a, e, r->staging);
	}
	half_done(r);
}

static int
start_half(struct lmpi_request *half, struct lmpi_request *pair, const struct lmpi_p2p *a,
	   struct lmpi_piece *p)
{
	half->pair.of = pair;
	half->e.on_done = half_done_req;
	half->active = true;
	if (half->peer == MPI_PROC_NULL) {
		half->e.source = MPI_PROC_NULL;
		half->e.tag = MPI_ANY_TAG;
		half_done(half);
		return MPI_SUCCESS;
	}
	half->staging = p->copy;
	half->staging_len = p->len;
	if (half->kind == LMPI_RQ_RECV)
		lmpi_irecv(&half->e, p->data, (uint64_t)p->len, a->peer, a->tag, a->comm->cid);
	else
		lmpi_isend(&half->e, p->data, (uint64_t)p->len,
			   lmpi_comm_world_rank(a->comm, a->peer), a->comm->rank, a->tag,
			   a->comm->cid, LMPI_STANDARD);
	return MPI_SUCCESS;
}

/* replace: the data to send are copied first in any case. */
static int
isendrecv(const struct lmpi_p2p *s, const struct lmpi_p2p *r, bool replace, MPI_Request *request)
{
	/* cppcheck-suppress uninitvar ; callers come here only with both filled in */
	struct lmpi_request *pair = lmpi_request_new(LMPI_RQ_PAIR, s->comm, r->type);
	struct lmpi_request *out = lmpi_p2p_request(LMPI_RQ_SEND, s, LMPI_SEND_STANDARD, false);
	struct lmpi_request *in = lmpi_p2p_request(LMPI_RQ_RECV, r, LMPI_SEND_STANDARD, false);
	struct lmpi_piece sp = {0}, rp = {0};
	int rc = MPI_SUCCESS;

	if (pair == NULL || out == NULL || in == NULL)
		rc = lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	if (rc == MPI_SUCCESS && s->peer != MPI_PROC_NULL)
		rc = lmpi_piece_make(&sp, s, replace ? LMPI_PIECE_SEND_COPY : LMPI_PIECE_SEND);
	if (rc == MPI_SUCCESS && r->peer != MPI_PROC_NULL)
		rc = lmpi_piece_make(&rp, r, LMPI_PIECE_RECV);
	if (rc) {
		free(sp.copy);
		if (pair != NULL)
			lmpi_request_free(pair);
		if (out != NULL)
			lmpi_request_free(out);
		if (in != NULL)
			lmpi_request_free(in);
		return rc;
	}
	pair->peer = r->peer;
	pair->tag = r->tag;
	pair->count = r->count;
	pair->active = true;
	pair->pair.left = 2;
	*request = lmpi_request_handle(pair);
	start_half(in, pair, r, &rp);
	start_half(out, pair, s, &sp);
	/* A copy was made only for a peer, and then the half owns it. */
	return MPI_SUCCESS; /* NOLINT(clang-analyzer-unix.Malloc) */
}

int
impl_Isendrecv(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
	       int sendtag, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source,
	       int recvtag, MPI_Comm comm, MPI_Request *request)
{
	struct lmpi_p2p s, r;
	int rc = lmpi_p2p_send_args(&s, sendbuf, sendcount, sendtype, dest, sendtag, comm);

	if (rc)
		return lmpi_p2p_refuse_special(rc, dest);
	rc = lmpi_p2p_recv_args(&r, recvbuf, recvcount, recvtype, source, recvtag, comm);
	return rc ? lmpi_p2p_refuse_special(rc, source) : isendrecv(&s, &r, false, request);
}

int
impl_Isendrecv_replace(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
		       int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
	struct lmpi_p2p s, r;
	int rc = lmpi_p2p_send_args(&s, buf, count, datatype, dest, sendtag, comm);

	if (rc)
		return lmpi_p2p_refuse_special(rc, dest);
	rc = lmpi_p2p_recv_args(&r, buf, count, datatype, source, recvtag, comm);
	return rc ? lmpi_p2p_refuse_special(rc, source) : isendrecv(&s, &r, true, request);
}
