/* SPDX-License-Identifier: BSD-2-Clause */
/* lib/mpi/internal.h - what the parts of the engine know of each other.
 *
 *   send.c         isend, queues of outgoing packets per peer, rendezvous sending
 *   cancel.c       taking sends back
 *   recv.c         irecv, arriving packets, placing, unexpected messages, probing
 *   service.c      messages to the library itself, which no receive waits for
 *   lost.c         processes that are lost, contexts that are void
 *   done.c         requests that became done; start, end, self-check
 *   match.c        posted receives and unexpected messages
 *   impi_packet.c  IMPI packets, and credit for them
 *   lanes.c        packets as blocks of Suci lanes
 *   stream.c       DATA packets as bytes of a stream */
#ifndef MPI_INTERNAL_H
#define MPI_INTERNAL_H

#include "mpi/engine.h"
#include "mpi/impi_packet.h"

enum lmpi_kind { LMPI_KIND_SEND = 1, LMPI_KIND_RECV = 2 };

/* --- send.c */
/* Queue a packet without data for peer. */
void lmpi_send_control(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *hdr);
/* Answers to our sends.  false: nobody asked for that. */
bool lmpi_on_matched(struct lmpi_engine *e, const struct lmpi_peer *peer,
		     uint64_t srq); /* or FIN */
bool lmpi_on_help(struct lmpi_engine *e, const struct lmpi_peer *peer, const struct lmpi_hdr *h);
bool lmpi_on_cts(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t srq, uint64_t drq,
		 uint64_t want);
bool lmpi_on_syncack(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t srq, uint64_t drq);
/* The name of a request is not needed any more. */
void lmpi_srq_drop(struct lmpi_engine *e, struct lmpi_req *req);
/* One event a request waits for has happened; done when none is left. */
void lmpi_req_event(struct lmpi_engine *e, struct lmpi_req *req);

/* --- cancel.c: a message that goes without asking gets a name, so that it can be taken back. */
void lmpi_recall_name(struct lmpi_engine *e, struct lmpi_req *req, const struct lmpi_peer *peer,
		      struct lmpi_hdr *h);
/* lmpi_engine_cancel_send() without offering packets to transports. */
void lmpi_take_back(struct lmpi_engine *e, struct lmpi_req *req);
/* The answer to our CANCEL.  false: nobody asked. */
bool lmpi_on_cancel_answer(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t srq, bool yes);
/* The peer wants its message back; answered at once. */
void lmpi_on_cancel(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t srq);
/* m goes to a receive: earlier messages of its sender with the same name can no
 * longer be meant by a CANCEL (IMPI reference 5.7). */
void lmpi_supersede(struct lmpi_engine *e, const struct lmpi_msg *m);

/* --- recv.c */
/* A message to myself. */
void lmpi_self_send(struct lmpi_engine *e, struct lmpi_req *req, const void *data, uint64_t len,
		    int lsrank);
/* A queued message that nobody will receive. */
void lmpi_msg_forget(struct lmpi_engine *e, struct lmpi_msg *m);
/* One that is in no queue, and whose packets have all come or are forgotten. */
void lmpi_msg_free(struct lmpi_engine *e, struct lmpi_msg *m);
void lmpi_sink_free(struct lmpi_engine *e, struct lmpi_sink *s);
/* A queued message gets the receive that takes no byte. */
void lmpi_take_nowhere(struct lmpi_engine *e, struct lmpi_msg *m);
void lmpi_recv_drop(struct lmpi_engine *e);

/* --- service.c: the receive of a message on LMPI_CID_SERVICE or _FT; NULL: it may not come, and
 * *why says so. */
static inline bool
lmpi_is_service(uint64_t cid)
{
	return cid - LMPI_CID_FT <= LMPI_CID_SERVICE - LMPI_CID_FT;
}
struct lmpi_req *lmpi_service_take(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t cid,
				   uint64_t len, const char **why);
void lmpi_service_drop(struct lmpi_engine *e);

/* --- lost.c, once e->troubled.  True: req is complete, with an error. */
bool lmpi_refuse_send(struct lmpi_engine *e, struct lmpi_req *req);
bool lmpi_refuse_recv(struct lmpi_engine *e, struct lmpi_req *req);
void lmpi_voids_drop(struct lmpi_engine *e);

/* --- done.c */
/* req is done: tell its owner when no transport is on the stack. */
void lmpi_complete(struct lmpi_engine *e, struct lmpi_req *req, int error);

static inline void *
lmpi_get(struct lmpi_engine *e, size_t bytes)
{
	return e->memory.get(e->memory.user, bytes);
}

static inline void
lmpi_put(struct lmpi_engine *e, void *p)
{
	e->memory.put(e->memory.user, p);
}

#endif
