/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi/engine.h - the byte-moving half of MPI as an object: matching, protocols, credit.
 *
 * One engine is one process of a job.  It moves contiguous bytes between world ranks, and knows
 * context ids and tags; it knows no communicators, datatypes or handles, and no transport: those
 * are tables of functions, one for each peer.
 *
 *     who posts     lmpi_engine_isend(), _irecv(), ...         requests (mpi/request.h)
 *     engine        matching, eager and rendezvous, credit, cancel, unexpected messages
 *     transports    table->send(), try_short(), read_remote()  packets (mpi/packet.h) out
 *                   lmpi_arrive(), lmpi_sink_data(), _end()    packets in
 *
 * Matching key (IMPI reference 5.1): context id, rank of the source in the
 * communicator, tag; messages of one (source, context) match in sending order
 * on every transport, wildcards included.
 *
 * A turn   who drives the engine
 *		sets in_transport, lets transports deliver what has come, clears it;
 *		lmpi_pump()	if e->pending: packets that wait go to their transports
 *		lmpi_run_done()	if e->done_first: on_done() of requests that became done
 *	    and does the last two after each call that posts, too.
 * Growing  the table of processes grows, up to slots_max (lmpi_engine_grow()): processes of other
 *	    jobs get the slots behind those of this one.  Nothing else changes its place, and a
 *	    slot is never used again.  Each job numbers processes for itself, so for such a
 *	    process `apart` leads from the one number to the other.
 * Memory   comes from e->memory and goes back there; its get() never fails, or does not return.
 *	    What is kept is bounded by copied_bytes_max (outgoing copies) and, as far as peers
 *	    heed credit and EAGER_OFF, by unexpected_bytes_max.  Messages to the library itself
 *	    take memory when they are announced: what is longer, or more, than LMPI_SERVICE_* of
 *	    mpi/request.h allow is malformed.
 * Units    bytes, world ranks.  No time: nothing here waits for a clock.
 * Threads  one at a time for one engine.
 * Errors   MPI error classes in requests; what ends the job goes to e->fail as a text.  A process
 *	    that dies ends the job, or is lost if the engine is tolerant (mpi/lost.h). */
#ifndef MPI_ENGINE_H
#define MPI_ENGINE_H

#include "mpi/idtab.h"
#include "mpi/lost.h"
#include "mpi/match.h"
#include "mpi/packet.h"
#include "mpi/request.h"

#include "impi/flow.h"

struct lmpi_engine;
struct lmpi_peer;
struct lmpi_service_msg;

/* A packet waiting to be sent, or being sent. */
struct lmpi_out {
	struct lmpi_out *next;
	struct lmpi_hdr hdr;
	const uint8_t *data;
	uint64_t len;
	uint64_t sent;	      /* the transport's: bytes of data that have gone */
	struct lmpi_req *req; /* one of its events is "this is placed"; or NULL */
	uint32_t peer;
	uint32_t copied; /* bytes of copy[] charged to the pool */
	bool wait;	 /* somebody waits for it to be placed */
	bool both;	 /* DATA: who sends it receives at the same time (mpi/stream.h) */
	uint8_t copy[];
};

/* What peers over a transport can do, and what its packets look like. */
enum lmpi_cap {
	LMPI_CAP_SELF = 1,	/* this process itself: no packets at all */
	LMPI_CAP_IMPI = 2,	/* IMPI packets with IMPI's credit (mpi/impi_packet.h) */
	LMPI_CAP_MEMORY = 4,	/* read_remote() and help(): the peer's memory can be read */
	LMPI_CAP_NESTS = 8,	/* try_short() may be called while arrivals are delivered */
	LMPI_CAP_ASKS_OFF = 16, /* it understands EAGER_OFF and EAGER_ON */
	LMPI_CAP_RECALLS = 32,	/* a whole message has room for a name to cancel it by */
	LMPI_CAP_STAYS = 64,	/* takes credit until the very end */
};

/* One transport.  out and data are the caller's until true is returned. */
struct lmpi_transport {
	uint32_t caps; /* bits of enum lmpi_cap */
	/* Take a packet: true and the transport owns out, which it ends with lmpi_out_done(),
	 * perhaps before it returns; or false: not now. */
	bool (*send)(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out);
	/* Send a packet without keeping data: true if that is possible and was done. */
	bool (*try_short)(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h,
			  const void *data, uint64_t len);
	/* NULL, or: a message is longer than peer->eager_max; how long may it be after all, and
	 * those that come after it?  Not in the way of shorter ones. */
	uint64_t (*eager)(struct lmpi_engine *e, const struct lmpi_peer *peer);
	/* LMPI_CAP_MEMORY.  Copy n bytes of the peer's message srq from address in its memory; it
	 * may be told to help.  1: done, 0: the system does not allow it, -1: the peer is gone. */
	int (*read_remote)(struct lmpi_engine *e, const struct lmpi_peer *peer, uint64_t srq,
			   uint64_t address, void *to, uint64_t n);
	/* What it was told: copy pieces of the n bytes at data to address in its memory, while
	 * there are any to be copied. */
	void (*help)(struct lmpi_engine *e, const struct lmpi_peer *peer, uint64_t number,
		     const void *data, uint64_t n, uint64_t address);
};

#define LMPI_COUNT_ROWS 5 /* of the counters by peer: the driver's kinds of transports */

/* One process of the job: two cache lines. */
struct lmpi_peer {
	/* Set by who builds the engine. */
	uint32_t world;
	uint32_t caps;			 /* tp->caps */
	const struct lmpi_transport *tp; /* unless it is this process */
	uint64_t eager_max;		 /* longest message sent without asking */
	uint32_t at;			 /* the transport's own number for it */
	uint8_t row;			 /* of lmpi_counts */
	bool foreign;			 /* a process of another MPI: IMPI to the letter */

	bool eager_off;	 /* it asked us to ask first */
	bool out_listed; /* in e->pending */
	struct lmpi_out *out_first, *out_last;
	struct lmpi_peer *next_pending;
	uint64_t copied_bytes; /* of its packets, in our memory */
	struct impi_flow flow; /* LMPI_CAP_IMPI */
	uint32_t cancels;      /* CANCELs it owes an answer */
	uint32_t queued;       /* its messages in the unexpected queue */
	struct lmpi_service_msg *service_first, *service_last; /* begun to arrive, not handled */
	bool sent_eager_off;				       /* we asked it to ask first */
	bool parked;					       /* lmpi_park() */
	bool lost;					       /* mpi/lost.h; then caps are 0 */
	bool other;	/* of another job: when it goes, this one does not end */
	uint8_t id[24]; /* IMPI_Proc as my side knows it; set, if it speaks IMPI */
	/* Its slot here minus its number in its own job, which its packets say: 0 but for
	 * processes that came later. */
	uint32_t apart;
};
_Static_assert(sizeof(struct lmpi_peer) == 128, "an index is a shift");

/* Where the bytes of a packet being received go. */
struct lmpi_sink {
	struct lmpi_sink *next; /* free list */
	struct lmpi_sink *ever; /* list of all there are */
	struct lmpi_msg *msg;	/* NULL: it is free */
	struct lmpi_peer *peer;
	uint64_t base; /* offset in the message of the packet's first data byte */
	uint64_t head; /* packet header bytes in front of the data; 0, or the transport's to set */
	uint64_t len;  /* data bytes */
	bool first;    /* the packet that opened the message */
};

/* Only grow. */
struct lmpi_counts {
	uint64_t sends[LMPI_COUNT_ROWS], recvs[LMPI_COUNT_ROWS]; /* by peer->row */
	uint64_t bytes_sent[LMPI_COUNT_ROWS];
	uint64_t unexpected, unexpected_bytes, unexpected_bytes_max;
};

struct lmpi_engine {
	/* Set before lmpi_engine_reset(). */
	uint32_t rank, size;
	uint32_t slots_max;	/* 0: size, the table does not grow */
	struct lmpi_peer *peer; /* [slots_max] */
	struct lmpi_memory memory;
	/* The job cannot go on; may be called again. */
	void (*fail)(struct lmpi_engine *e, const char *text);
	void *user;
	/* Processes may be lost: who asks the driver, which knows communicators.  NULL: the death
	 * of one ends the job. */
	const struct lmpi_contexts *tolerant;
	uint64_t copied_bytes_max, unexpected_bytes_max;
	uint32_t datalen, ackmark, hiwater; /* of the IMPI job */

	/* The driver's. */
	bool ending;  /* only the last meeting still sends */
	bool closing; /* peers going away is normal */
	union {	      /* looked at as one by the shortest ways, which either forbids */
		struct {
			bool in_transport; /* inside a transport's callback: only queue packets */
			bool troubled;	   /* the engine's: something is lost or revoked */
		};
		uint16_t careful;
	};
	uint64_t now_ns; /* of this turn; the engine does not look at it */

	bool in_done;	   /* inside an on_done callback */
	uint32_t outs;	   /* packets waiting or being sent */
	uint32_t sends;	   /* send requests not yet done */
	uint32_t cancels;  /* answers to CANCEL not yet come */
	uint32_t filling;  /* messages matched and not yet complete */
	uint64_t arrivals; /* number of the last message that began to arrive */
	struct lmpi_peer *pending;
	struct lmpi_match match;
	struct lmpi_idtab send_ids; /* of struct lmpi_req */
	struct lmpi_req *recalled;  /* sends that were done and whose CANCEL is not answered */
	uint32_t names;		    /* of sends to be recalled, so far */
	struct lmpi_idtab recv_ids; /* of struct lmpi_msg */
	uint64_t copied_bytes;
	uint64_t unexpected_bytes;
	bool over; /* unexpected messages fill their memory */
	struct lmpi_req *done_first, *done_last;
	struct lmpi_sink *free_sinks, *sinks; /* free ones, and all there are */
	struct lmpi_msg *free_msgs, *msgs;    /* the same; free ones by in_all.tqe_next */
	lmpi_service_fn *handler, *ft_handler;
	/* Set by who sets handler: what a process may have begun beyond LMPI_SERVICE_ROOM. */
	uint64_t service_more;
	struct lmpi_service_msg *service_spare;
	uint32_t service_spares;
	struct lmpi_voids voids;
	struct lmpi_req nowhere; /* the receive of what nobody wants any more: it takes no byte */
	struct lmpi_counts n;
};

static inline bool
lmpi_speaks_impi(const struct lmpi_peer *peer)
{
	return peer->caps & LMPI_CAP_IMPI;
}

/* Nothing has been sent or has arrived yet.  Fields that are set before stay as they are. */
void lmpi_engine_reset(struct lmpi_engine *e);
/* n more processes, whose slots begin at `from`, which is not below size: slots that are skipped
 * belong to nobody.  False: they would not fit, and nothing has changed.  The caller sets what "who
 * builds the engine" sets of them, before anything is sent to them or arrives. */
bool lmpi_engine_grow(struct lmpi_engine *e, uint32_t from, uint32_t n);
/* Forget unexpected messages, give all memory back.  Requests that are not done stay so. */
void lmpi_engine_drop(struct lmpi_engine *e);

/* --- who posts */

/* Start sending len bytes at data, which must stay valid until req->done.
 * lsrank: my rank in the communicator (what the receiver sees as source). */
void lmpi_engine_isend(struct lmpi_engine *e, struct lmpi_req *req, const void *data, uint64_t len,
		       uint32_t dest_world, int lsrank, int tag, uint64_t cid, enum lmpi_mode mode);
/* Post a receive of at most cap bytes.  source: rank in the communicator or
 * LMPI_ANY_SOURCE.  True: it took a message that was there, and may have packets to send. */
bool lmpi_engine_irecv(struct lmpi_engine *e, struct lmpi_req *req, void *buf, uint64_t cap,
		       int source, int tag, uint64_t cid);
/* Take a posted receive out of the queue if it has not matched: then
 * done and cancelled are set and true is returned. */
bool lmpi_engine_cancel_recv(struct lmpi_engine *e, struct lmpi_req *req);
/* Ask to take a send back (MPI_Cancel).  If it has not left yet, or the receiver
 * confirms that no receive took it (IMPI: CANCEL, CANCELYES), done and cancelled
 * become set, else it goes on as if nothing had been asked.  Returns at once; the
 * request becomes done either way without any act of the receiving program.  A NAMED
 * send that went to another node without asking and is done is not done again until
 * the receiver has answered. */
void lmpi_engine_cancel_send(struct lmpi_engine *e, struct lmpi_req *req);
/* Look for a message; makes no progress. */
bool lmpi_engine_iprobe(struct lmpi_engine *e, int source, int tag, uint64_t cid, bool take,
			struct lmpi_probed *out);
/* The receive of a message that a probe has taken. */
void lmpi_engine_mrecv(struct lmpi_engine *e, struct lmpi_req *req, void *buf, uint64_t cap,
		       void *message);
/* A short message to peer may go at once, past the queues of packets. */
static inline bool
lmpi_may_bypass(const struct lmpi_engine *e, const struct lmpi_peer *peer, uint64_t len)
{
	return len <= peer->eager_max && !peer->eager_off && !peer->out_first && !e->pending &&
	       !e->careful;
}

/* --- who drives */

/* Offer waiting packets to their transports; true if one was taken. */
bool lmpi_pump(struct lmpi_engine *e);
/* For a transport that takes nothing for peer and will know when it does: from then on nothing is
 * offered until lmpi_unpark().  With thousands that wait, a turn would cost by their number. */
static inline void
lmpi_park(struct lmpi_peer *peer)
{
	peer->parked = true;
}
void lmpi_unpark(struct lmpi_engine *e, struct lmpi_peer *peer);
/* Tell the owners of requests that became done, unless inside a transport. */
void lmpi_run_done(struct lmpi_engine *e);
/* The program waits and what it waits for has not come: it may stand behind
 * messages we hold back, so let more of them come although memory is short. */
void lmpi_take_more(struct lmpi_engine *e);
/* Counts, lists and limits agree; *what says which do not.  Walks all queues. */
bool lmpi_engine_check(const struct lmpi_engine *e, const char **what);

/* --- transports */

/* A packet begins: payload data bytes follow the header.  NULL: it has no data
 * and is dealt with, or it was malformed and the job is failing. */
struct lmpi_sink *lmpi_arrive(struct lmpi_engine *e, struct lmpi_peer *peer,
			      const struct lmpi_hdr *h, uint64_t payload);
/* len bytes of its data from offset on; each byte once, any order. */
void lmpi_sink_data(struct lmpi_sink *s, uint64_t offset, const uint8_t *data, size_t len);
/* Of a DATA packet without a header in front: where *n bytes from offset on belong, for who puts
 * them there itself and then says so; NULL: nobody wants them, they go to lmpi_sink_data(). */
uint8_t *lmpi_sink_place(const struct lmpi_sink *s, uint64_t offset, uint64_t *n);
void lmpi_sink_placed(struct lmpi_sink *s, uint64_t n);
void lmpi_sink_end(struct lmpi_engine *e, struct lmpi_sink *s);
/* A whole message at once, as EAGER without flags. */
void lmpi_arrive_whole(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t cid, int lsrank,
		       int tag, const uint8_t *data, size_t len);
/* A packet's bytes need no longer be kept; ok: they are placed.  If not, and the engine is
 * tolerant, its request ends with LMPI_ERR_PROC_FAILED. */
void lmpi_out_done(struct lmpi_engine *e, struct lmpi_out *out, bool ok);
struct lmpi_hdr lmpi_hdr_make(const struct lmpi_engine *e, enum lmpi_type type);

#endif
