/* internal.h - what the parts of the engine know of each other.
 *
 *   send.c      isend, queues of outgoing packets per peer, rendezvous sending
 *   cancel.c    taking sends back
 *   recv.c      irecv, arriving packets, placing, probing
 *   service.c   messages to the library itself, which no receive waits for
 *   progress.c  the loop, waiting, failing
 *   spin.c      how long to spin before a sleep
 *   patience.c  how long to look at one ring only
 *   cycles.c    the clock of short loops
 *   lock.c      the one lock, taken by who calls
 *   background.c  the loop in a thread of its own, if asked for
 *   engine.c    start and end
 *   ../transport/shm.c       within a node: rings in shared memory, single copy
 *   ../transport/net.c       Suci: direct lanes and lanes over relays
 *   ../transport/tcp.c       channels to foreign hosts, or to this host's switch
 *   ../transport/pkt_impi.c  IMPI packets on lanes over relays and on TCP channels
 *   ../boot/...              launcher, IMPI job, addresses
 *
 * Native packets (self, shm, direct) begin with struct lmpi_hdr:
 *
 *   EAGER            the whole message follows; with SYNC the receiver answers
 *                    MATCHED when a receive took it
 *   RTS              "I have msglen bytes"; the receiver answers, once matched,
 *                    CTS (send me so many, they go to drq) -> DATA packets,
 *                    or, having read them from my memory itself, FIN
 *   HELP             the receiver is reading the announced message and a sender that has
 *                    nothing else to do may write the rest (../transport/shm_share.h)
 *   EAGER_OFF / _ON  the receiver's memory for unexpected messages is (no
 *                    longer) used up: send RTS only
 *   CANCEL           take the message srq back; answered CANCELYES (it was not
 *                    matched and is gone) or CANCELNO
 *
 * Over relays and to foreign hosts the same steps are IMPI packets (IMPI reference 5.3): EAGER =
 * DATA or DATASYNC, the first packet of a long message = DATASYNC, MATCHED and CTS = SYNCACK. */
#ifndef LMPI_INTERNAL_H
#define LMPI_INTERNAL_H

#include "engine.h"
#include "idtab.h"
#include "match.h"

#include "impi/flow.h"

#include <stdatomic.h>

/* MPI error classes (libmpi/abi has them all; these are what the engine says). */
enum {
	LMPI_OK = 0,
	LMPI_ERR_TRUNCATE = 15,
	LMPI_ERR_OTHER = 16,
	LMPI_ERR_INTERN = 17,
	LMPI_ERR_NO_MEM = 39
};

#define LMPI_LABEL_BASE 16 /* label of world rank 0 in every process's label space */

enum lmpi_kind { LMPI_KIND_SEND = 1, LMPI_KIND_RECV = 2 };

enum lmpi_type {
	LMPI_T_EAGER = 1,
	LMPI_T_RTS,
	LMPI_T_CTS,
	LMPI_T_DATA,
	LMPI_T_FIN,
	LMPI_T_MATCHED,
	LMPI_T_EAGER_OFF,
	LMPI_T_EAGER_ON,
	LMPI_T_PROTOACK, /* IMPI only */
	LMPI_T_CANCEL,
	LMPI_T_CANCELYES,
	LMPI_T_CANCELNO,
	LMPI_T_HELP, /* shm only */
	LMPI_T_MAX
};

#define LMPI_HDR_MAGIC 0x4d4c /* "LM" */
#define LMPI_HF_SYNC   0x01

/* In the byte order of the host: both ends run this library. */
struct lmpi_hdr {
	uint16_t magic;
	uint8_t type, flags;
	uint32_t src; /* world rank of the sending process */
	int32_t lsrank;
	int32_t tag;
	uint64_t cid;
	uint64_t msglen;   /* of the whole message; CTS: bytes wanted */
	uint64_t srq, drq; /* names of the send and of the receive */
	uint64_t offset;   /* DATA: of its first byte; RTS: address in the sender's memory */
	uint64_t reserved;
};
_Static_assert(sizeof(struct lmpi_hdr) == 64, "goes over the wire");
_Static_assert(offsetof(struct lmpi_hdr, cid) == 16 && offsetof(struct lmpi_hdr, offset) == 48,
	       "goes over the wire");

/* A packet waiting to be sent, or being sent. */
struct lmpi_out {
	struct lmpi_out *next;
	struct lmpi_hdr hdr;
	const uint8_t *data;
	uint64_t len;
	uint64_t sent;	      /* shm: bytes of data already in the ring */
	struct lmpi_req *req; /* one of its events is "this is placed"; or NULL */
	uint32_t peer;
	uint32_t copied; /* bytes of copy[] charged to the pool */
	bool wait;	 /* somebody waits for it to be placed */
	uint8_t copy[];
};

/* One process of the job, the private half. */
struct lmpi_peer {
	enum lmpi_reach reach;
	uint32_t world;
	uint64_t eager_max; /* longest message sent without asking */
	struct lmpi_out *out_first, *out_last;
	bool out_listed; /* in eng.pending */
	struct lmpi_peer *next_pending;
	uint64_t copied_bytes; /* of its packets, in our memory */
	bool eager_off;	       /* it asked us to ask first */
	bool told_off;	       /* we asked it */
	uint32_t node_index;   /* shm: index among the processes of my node */
	/* Suci */
	bool has_lane;
	uint32_t lane;
	uint32_t path;	/* direct: path index, UINT32_MAX none */
	uint32_t relay; /* relayed: index of the relay */
	uint32_t label; /* of the process, in the label space of the next endpoint */
	uint64_t token;
	uint8_t ip[4];
	uint16_t port;
	uint8_t id[24];	       /* IMPI_Proc as my side knows it */
	bool foreign;	       /* a process of another MPI: IMPI to the letter */
	struct impi_flow flow; /* if it speaks IMPI */
	uint32_t cancels;      /* CANCELs it owes an answer */
	uint32_t queued;       /* its messages in the unexpected queue */
	struct lmpi_service_msg *service_first, *service_last; /* begun to arrive, not handled */
	/* TCP */
	uint32_t channel; /* index in tcp.c */
};

/* Where the bytes of a packet being received go. */
struct lmpi_sink {
	struct lmpi_sink *next; /* free list */
	struct lmpi_msg *msg;
	struct lmpi_peer *peer;
	uint64_t base; /* offset in the message of the packet's first data byte */
	uint64_t head; /* packet header bytes in front of the data */
	uint64_t len;  /* data bytes */
	bool first;    /* the packet that opened the message */
};

struct lmpi_engine {
	bool up;		/* transports may be used */
	bool ending;		/* only the last meeting still sends */
	bool closing;		/* peers going away is normal */
	bool in_transport;	/* inside a transport's callback: only queue packets */
	bool in_done;		/* inside an on_done callback */
	uint32_t outs;		/* packets waiting or being sent */
	uint32_t sends;		/* send requests not yet done */
	uint32_t cancels;	/* answers to CANCEL not yet come */
	uint32_t filling;	/* messages matched and not yet complete */
	uint64_t arrivals;	/* number of the last message that began to arrive */
	struct lmpi_peer *peer; /* [world.size] */
	struct lmpi_peer *pending;
	struct lmpi_match match;
	struct lmpi_idtab send_ids; /* of struct lmpi_req */
	struct lmpi_req *recalled;  /* sends that were done and whose CANCEL is not answered */
	uint32_t names;		    /* of sends to be recalled, so far */
	struct lmpi_idtab recv_ids; /* of struct lmpi_msg */
	uint64_t copied_bytes, copied_bytes_max;
	uint64_t unexpected_bytes, unexpected_bytes_max;
	/* Unexpected messages fill their memory: more are taken only when nothing has moved for
	 * over_ns, as what frees it may be behind them. */
	bool over;
	uint64_t over_ns;
	uint64_t idle_since_ns; /* of the last turns; BASE_NEVER_NS: something moved in the last */
	struct lmpi_req *done_first, *done_last;
	struct lmpi_sink *free_sinks;
	struct lmpi_msg *free_msgs; /* linked by in_all.tqe_next */
	/* of the IMPI job */
	uint32_t datalen, ackmark, hiwater;
	uint64_t token;
	uint64_t now_ns; /* of this turn */
};
extern struct lmpi_engine lmpi_eng;

static inline bool
lmpi_speaks_impi(const struct lmpi_peer *peer)
{
	return peer->reach == LMPI_REACH_RELAY || peer->reach == LMPI_REACH_TCP;
}

/* --- send.c */
struct lmpi_hdr lmpi_hdr_make(enum lmpi_type type);
/* Queue a packet without data for peer. */
void lmpi_send_control(struct lmpi_peer *peer, const struct lmpi_hdr *hdr);
/* A packet's bytes need no longer be kept. */
void lmpi_out_done(struct lmpi_out *out, bool ok);
/* Offer waiting packets to their transports; true if one was taken. */
bool lmpi_pump(void);
/* Answers to our sends.  false: nobody asked for that. */
bool lmpi_on_matched(const struct lmpi_peer *peer, uint64_t srq); /* or FIN */
bool lmpi_on_help(const struct lmpi_peer *peer, const struct lmpi_hdr *h);
bool lmpi_on_cts(struct lmpi_peer *peer, uint64_t srq, uint64_t drq, uint64_t want);
bool lmpi_on_syncack(struct lmpi_peer *peer, uint64_t srq, uint64_t drq);
/* The name of a request is not needed any more. */
void lmpi_srq_drop(struct lmpi_req *req);
/* --- cancel.c: a message that goes without asking gets a name, so that it can be taken back. */
void lmpi_recall_name(struct lmpi_req *req, const struct lmpi_peer *peer, struct lmpi_hdr *h);
/* The answer to our CANCEL.  false: nobody asked. */
bool lmpi_on_cancel_answer(struct lmpi_peer *peer, uint64_t srq, bool yes);
/* The peer wants its message back; answered at once. */
void lmpi_on_cancel(struct lmpi_peer *peer, uint64_t srq);
/* m goes to a receive: earlier messages of its sender with the same name can no
 * longer be meant by a CANCEL (IMPI reference 5.7). */
void lmpi_supersede(const struct lmpi_msg *m);
/* One event a request waits for has happened; done when none is left. */
void lmpi_req_event(struct lmpi_req *req);

/* --- recv.c */
/* A packet begins: payload data bytes follow the header.  NULL: it has no data
 * and is dealt with, or it was malformed and the job is failing. */
struct lmpi_sink *lmpi_arrive(struct lmpi_peer *peer, const struct lmpi_hdr *h, uint64_t payload);
/* A whole message at once, as EAGER without flags. */
void lmpi_arrive_whole(struct lmpi_peer *peer, uint64_t cid, int lsrank, int tag,
		       const uint8_t *data, size_t len);
/* len bytes of its data from offset on; each byte once, any order. */
void lmpi_sink_data(struct lmpi_sink *s, uint64_t offset, const uint8_t *data, size_t len);
void lmpi_sink_end(struct lmpi_sink *s);
/* A message to myself. */
void lmpi_self_send(struct lmpi_req *req, const void *data, uint64_t len, int lsrank);
/* A queued message that nobody will receive; out of the queue already. */
void lmpi_msg_forget(struct lmpi_msg *m);
/* The program waits and what it waits for has not come: it may stand behind
 * messages we hold back, so let more of them come although memory is short. */
void lmpi_take_more(void);
/* Before the first message; after lmpi_cycles_start(). */
void lmpi_recv_init(void);
/* A wait is over, perhaps for what lmpi_recv_whole() gave up. */
void lmpi_recv_waited(void);
/* Forget unexpected messages and free lists. */
void lmpi_recv_fini(void);

/* --- service.c: the receive of a message on LMPI_CID_SERVICE; NULL: nobody handles them. */
struct lmpi_req *lmpi_service_take(struct lmpi_peer *peer, uint64_t len);
void lmpi_service_fini(void);

/* --- progress.c */
/* req is done: tell its owner when no transport is on the stack. */
void lmpi_complete(struct lmpi_req *req, int error);
/* Tell the owners of requests that became done, unless inside a transport. */
void lmpi_run_done(void);
/* The job cannot go on; the next turn of the loop ends it with this text. */
void lmpi_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* With a status of its own; lmpi_fail()'s is 1. */
void lmpi_fail_as(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same from any other thread; wakes the engine, and ends the process itself
 * when the engine does not react (the program computes). */
void lmpi_fail_async(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool lmpi_failing(void);
/* As if nothing had failed; for tests that go on after a failure. */
void lmpi_fail_forget(void);
/* Wait with a deadline; false if it passed first. */
bool lmpi_wait_until(bool (*ready)(void *arg), void *arg, uint64_t deadline_ns);
/* How long to spin before sleeping, given so many ranks on this machine. */
void lmpi_set_spin(uint32_t ranks_here);
uint64_t lmpi_spin_us(void);
bool lmpi_crowded(void); /* fewer cores than ranks */
void lmpi_spin_to(uint64_t us);
/* In the engine's thread: did a control thread or PMIx report the end? */
void lmpi_check_fail(void);

/* --- engine.c: messages up to that length go to processes of this cluster over Suci without
 * asking; what LIBMPI_EAGER sets. */
uint64_t lmpi_eager(void);
void lmpi_eager_to(uint64_t bytes);

/* --- tune.c: numbers that belong to the machine: from the environment, else the store of mpitune,
 * else defaults. */
struct lmpi_tuned {
	/* Of the node, the same in all its processes: those of node rank 0. */
	uint32_t eager_node,
		eager_wide; /* longest message through a ring, and through a wide one */
	uint32_t share;	    /* from so many bytes on both sides copy */
	uint32_t piece;	    /* of long collectives */
	/* Of the network. */
	uint32_t run, ack; /* 0: the driver's */
	bool run_stored;   /* by the store, not by hand */
	uint64_t eager_net;
};
extern struct lmpi_tuned lmpi_tuned;
#define LMPI_TUNED_EAGER_MOST 49152u /* a record has to be below a quarter of its ring */
#define LMPI_TUNED_NARROW     12288u
void lmpi_tune_node(void);
void lmpi_tune_net(const uint8_t ip[4]);
/* A node's part as node rank 0 has it: taken if it is within bounds. */
void lmpi_tune_adopt(const struct lmpi_tuned *of_first);

/* --- tool.c: eng.copied_bytes_max and unexpected_bytes_max from the environment, unless a
 * tool has set them; eng.over_ns. */
void lmpi_memory_limits(void);

#endif
