/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/calls/p2p.h - one point-to-point operation with its arguments checked.
 *
 * The same description serves blocking calls (on the stack), non-blocking ones
 * and persistent ones (inside a request). */
#ifndef LMPI_P2P_H
#define LMPI_P2P_H

#include "rep.h"
#include "request.h"

struct lmpi_p2p {
	struct lmpi_comm *comm;
	struct lmpi_type *type;
	void *buf;
	int64_t count;
	int peer, tag;
};

/* An error code, with a text that names the argument. */
int lmpi_p2p_send_args(struct lmpi_p2p *a, const void *buf, MPI_Count count, MPI_Datatype datatype,
		       int dest, int tag, MPI_Comm comm);
int lmpi_p2p_recv_args(struct lmpi_p2p *a, void *buf, MPI_Count count, MPI_Datatype datatype,
		       int source, int tag, MPI_Comm comm);
/* What these say of a special rank (mpisp.h): but for sends all of *a is filled in; the caller goes
 * on with what is below, or refuses. */
#define LMPI_P2P_SPECIAL (-1)
/* lmpi_p2p_send_args() fills in nothing then, which keeps *a of ordinary sends in registers; this
 * does, and says LMPI_P2P_SPECIAL or what is wrong. */
int lmpi_p2p_special_send_args(struct lmpi_p2p *a, const void *buf, MPI_Count count,
			       MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
/* Without the buffer: probes. */
int lmpi_p2p_probe_args(struct lmpi_p2p *a, int source, int tag, MPI_Comm comm);

/* Arguments said LMPI_P2P_SPECIAL.  None of these waits; status may be MPI_STATUS_IGNORE. */
int lmpi_p2p_send_special(const struct lmpi_p2p *a);
int lmpi_p2p_recv_special(const struct lmpi_p2p *a, MPI_Status *status);
int lmpi_p2p_probe_special(const struct lmpi_p2p *a, bool must, int *flag, MPI_Status *status);
/* rc, or for LMPI_P2P_SPECIAL an error: this call does not know special ranks. */
int lmpi_p2p_refuse_special(int rc, int rank);

/* The bytes of a message in one piece: the user's memory or a copy. */
struct lmpi_piece {
	void *data;
	int64_t len; /* on the wire; of a receive: room for the longest message that fits */
	void *copy;  /* to be freed, or NULL */
};
enum lmpi_piece_use {
	LMPI_PIECE_SEND,
	LMPI_PIECE_SEND_COPY, /* never the user's memory, which is to be received into */
	LMPI_PIECE_RECV,
};
/* For a send the piece is filled, in the representation of the destination.
 * MPI_ERR_NO_MEM if there is no room for a copy, MPI_ERR_CONVERSION if a value has no
 * external form, with lmpi_p2p_unsendable(); then there is nothing to free. */
int lmpi_piece_make(struct lmpi_piece *p, const struct lmpi_p2p *a, enum lmpi_piece_use use);
/* The message could not be made, rc says why, and is returned.  If it has no external form, the
 * receiver gets an empty one, where it would wait without end. */
int lmpi_p2p_unsendable(const struct lmpi_p2p *a, int rc);

/* Send it without a request, if that is possible (lmpi_send_whole()). */
bool lmpi_p2p_send_whole(const struct lmpi_p2p *a, const struct lmpi_piece *p,
			 enum lmpi_send_mode mode);

/* Bytes of the longest message from `source` (of any representation) that fits. */
static inline int64_t
lmpi_p2p_room(const struct lmpi_comm *comm, const struct lmpi_type *type, int64_t count, int source)
{
	return count * type->rep[lmpi_comm_rep(comm, source)].size;
}
/* A receive into a piece is complete and was not cancelled: bring the message where
 * the user wants it, decoded as its source requires.  The copy stays the caller's.
 * A message that is too long once decoded makes e->error MPI_ERR_TRUNCATE. */
void lmpi_p2p_deliver_foreign(const struct lmpi_p2p *a, struct lmpi_req *e, void *copy);
static inline void
lmpi_p2p_deliver(const struct lmpi_p2p *a, struct lmpi_req *e, void *copy)
{
	if (__builtin_expect(lmpi_world.any_foreign, 0)) {
		lmpi_p2p_deliver_foreign(a, e, copy);
	} else if (copy != NULL) {
		int64_t len = (int64_t)e->bytes, cap = a->count * a->type->size;

		lmpi_type_unpack(a->type, a->buf, a->count, copy, 0, len < cap ? len : cap);
	}
}

/* Blocking receive of a message taken by a matched probe, or by matching when
 * message is NULL. */
int lmpi_p2p_recv(const struct lmpi_p2p *a, void *message, MPI_Status *status);
/* What a request describes. */
static inline struct lmpi_p2p
lmpi_p2p_of(const struct lmpi_request *r)
{
	return (struct lmpi_p2p){r->comm, r->type, r->buf, r->count, r->peer, r->tag};
}
/* A new request for the operation, not started; NULL: out of memory. */
struct lmpi_request *lmpi_p2p_request(enum lmpi_request_kind kind, const struct lmpi_p2p *a,
				      enum lmpi_send_mode mode, bool persistent);
/* Start what a persistent request describes. */
int lmpi_p2p_start(struct lmpi_request *r);
/* The receive of a matched message. */
int lmpi_p2p_start_matched(struct lmpi_request *r, void *message);

#endif
