/* libmpi/api/p2p.h - one point-to-point operation with its arguments checked.
 *
 * The same description serves blocking calls (on the stack), non-blocking ones
 * and persistent ones (inside a request). */
#ifndef LMPI_P2P_H
#define LMPI_P2P_H

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
/* Without the buffer: probes. */
int lmpi_p2p_probe_args(struct lmpi_p2p *a, int source, int tag, MPI_Comm comm);

/* The bytes of a message in one piece: the user's memory or a copy. */
struct lmpi_piece {
	void *data;
	int64_t len;
	void *copy; /* to be freed, or NULL */
};
/* MPI_ERR_NO_MEM if there is no room for a copy.  pack: fill the copy. */
int lmpi_piece_make(struct lmpi_piece *p, const struct lmpi_p2p *a, bool pack);

/* Blocking receive of a message taken by a matched probe, or by matching when
 * message is NULL. */
int lmpi_p2p_recv(const struct lmpi_p2p *a, void *message, MPI_Status *status);
/* A new request for the operation, not started; NULL: out of memory. */
struct lmpi_request *lmpi_p2p_request(enum lmpi_request_kind kind, const struct lmpi_p2p *a,
				      enum lmpi_send_mode mode, bool persistent);
/* The receive of a matched message. */
int lmpi_p2p_start_matched(struct lmpi_request *r, void *message);

#endif
