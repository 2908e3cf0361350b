/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi/match.h - posted receives and unexpected messages of one process.
 *
 * The key is (context id, source rank in the communicator, tag); a receive may
 * leave source and tag open.  An arriving message takes the earliest posted
 * receive that fits; a receive takes the earliest arrived message that fits:
 * this keeps MPI's order on every transport.  Both sides are hashed by (context,
 * source); receives from any source stand in a list of their own and are told
 * apart from the others by a running number.
 *
 * Pure: no transport, clock or allocation in here.  One owner. */
#ifndef MPI_MATCH_H
#define MPI_MATCH_H

#include "mpi/request.h"

#include <sys/queue.h>

#define LMPI_MATCH_BINS 256

/* A message that has begun to arrive.  Everything past tag is the business of
 * the receiving half (recv.c). */
struct lmpi_msg {
	TAILQ_ENTRY(lmpi_msg) in_bin, in_all;
	struct lmpi_msg *ever; /* list of all there are */
	uint64_t cid;
	int source, tag;
	bool queued; /* in the unexpected queue */

	uint8_t type;	    /* enum lmpi_type of its first packet */
	bool sync;	    /* the sender waits to hear of the match */
	bool taken;	    /* by a matched probe */
	bool first_done;    /* the first packet is complete */
	bool copied;	    /* what was buffered is in the user's buffer */
	bool dropped;	    /* cancelled while its first packet was coming */
	bool live;	    /* not free */
	bool lost;	    /* taken by a probe, and its sender was lost */
	bool superseded;    /* a later one with the same srq was matched */
	uint64_t number;    /* in the order in which messages began to arrive */
	uint32_t peer;	    /* world rank */
	uint32_t sinks;	    /* packets of it being received now */
	uint64_t msglen;    /* bytes of the whole message */
	uint64_t first_len; /* bytes that came with the first packet */
	uint64_t expect;    /* bytes that will come, once matched */
	uint64_t arrived;
	uint64_t next_offset;  /* of the next continuation packet */
	uint64_t srq;	       /* the sender's name for it */
	uint64_t drq;	       /* ours, 0 = none given */
	uint64_t address;      /* in the sender's memory, for a single copy */
	uint8_t *buf;	       /* first packet of an unexpected message */
	struct lmpi_req *req;  /* the receive it matched */
	struct lmpi_req *self; /* sender, of a message to oneself that was not copied */
};

TAILQ_HEAD(lmpi_msg_list, lmpi_msg);

struct lmpi_req_list {
	struct lmpi_req *first, *last;
};

struct lmpi_match {
	uint64_t number; /* of the next posted receive */
	struct lmpi_req_list posted[LMPI_MATCH_BINS], posted_any;
	struct lmpi_msg_list bin[LMPI_MATCH_BINS], all;
	uint64_t posted_n;   /* receives in posted and posted_any */
	uint64_t unexpected; /* messages in all */
	uint64_t searched;   /* elements looked at, for diagnostics */
};

void lmpi_match_init(struct lmpi_match *m);

/* Queue a receive; req->cid, source, tag say what it wants. */
void lmpi_match_post(struct lmpi_match *m, struct lmpi_req *req);
/* Take the receive a message with this key goes to, or NULL. */
struct lmpi_req *lmpi_match_arrive(struct lmpi_match *m, uint64_t cid, int source, int tag);
/* Take req out if it is still posted. */
bool lmpi_match_unpost(struct lmpi_match *m, struct lmpi_req *req);
/* For all posted receives; what visit() is given it may take out. */
void lmpi_match_visit(struct lmpi_match *m, void (*visit)(void *arg, struct lmpi_req *req),
		      void *arg);

/* Queue a message nobody waits for. */
void lmpi_match_keep(struct lmpi_match *m, struct lmpi_msg *msg);
/* The message a receive with this key would get, left where it is; or NULL. */
struct lmpi_msg *lmpi_match_find(struct lmpi_match *m, uint64_t cid, int source, int tag);
void lmpi_match_take(struct lmpi_match *m, struct lmpi_msg *msg);

#endif
