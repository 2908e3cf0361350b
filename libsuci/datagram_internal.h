/* SPDX-License-Identifier: BSD-2-Clause */
/* datagram_internal.h - what the files of libsuci share.
 *
 *      db.c     the address database
 *      mem.c    bounded memory for blocks
 *      open.c   configuration, opening, closing
 *      peer.c   paths and lanes to peers, trying and giving up
 *      recv.c   blocks that come in, reading
 *      send.c   writing
 *      door.c   ids of others' addresses, the relay
 *      address.c  our own address
 *      turn.c   progress, waiting, event loops
 *      info.c   flow information, errors
 *      counters.c  what was counted, by names
 *
 * A lane is opened per peer and priority; its labels are id * 4 + priority, so both
 * sides know them without asking.  Between doors they are DOOR_LABEL + priority, or what the relay
 * says; they belong to the path (suci_lane_limits.buckets). */
#ifndef LIBSUCI_INTERNAL_H
#define LIBSUCI_INTERNAL_H

#include "suci.h"

#include "base/clock.h"
#include "door/hello.h"
#include "door/sites.h"
#include "driver/aead.h"
#include "driver/suci_udp.h"
#include "suci/lane.h"

#include <stdarg.h>
#include <stdbool.h>

#define NONE	 UINT32_MAX
#define PRIOS	 4
#define TEXT_MAX 320
#define WHY_MAX	 96

/* ---- mem.c: memory for blocks, by classes of size, never more than limit ---- */
#define MEM_CLASSES 168
struct mem {
	uint64_t limit, used, cached, used_max;
	void *free[MEM_CLASSES];
};
void datagram_mem_init(struct mem *m, uint64_t limit);
void datagram_mem_fini(struct mem *m);
/* Bytes of the limit that a piece of size bytes takes. */
uint64_t datagram_mem_cost(uint64_t size);
void *datagram_mem_take(struct mem *m, uint64_t size); /* NULL: no room */
void datagram_mem_give(struct mem *m, void *p, uint64_t size);

/* ---- db.c ---- */
struct db_entry {
	uint32_t id;
	bool anywhere;
	struct suci_addr at; /* all zero if anywhere */
};
struct datagram_db {
	struct db_entry *e; /* sorted by id */
	size_t n, room;
};
const struct db_entry *datagram_db_find(const struct datagram_db *db, uint32_t id);
/* NULL, or what is wrong with it as the end of a sentence; an address to bind to may be all zero.
 */
const char *datagram_db_ip(const char *text, struct suci_addr *out);

/* ---- blocks ---- */
/* A written block; its data follow unless they are the caller's. */
struct out {
	struct out *next, *prev; /* of its peer */
	struct peer *peer;
	const uint8_t *data;
	uint64_t bytes;
	uint8_t prio;
	bool given; /* its lane has it */
	/* The caller waits, with its own data: WRITE_DONE or WRITE_LOST at the end. */
	int *end;
};
enum { WRITE_WAITS, WRITE_DONE, WRITE_LOST };

/* A block coming in.  Short ones are one piece of memory, long ones have their data
 * apart, so that the rest of one can still go straight to a reader. */
struct in {
	struct in *next; /* of its lane, then of the ready ones */
	struct peer *peer;
	uint8_t *data;
	uint64_t bytes;
	uint64_t top; /* no byte at or after it has come */
	uint32_t size;
	bool complete;
	bool apart;  /* data is a piece of its own */
	bool direct; /* data is the reader's buffer */
	bool spare;  /* this is s->spare */
};
#define IN_INSIDE_MAX 4096u /* longer ones have their data apart */
struct in_list {
	struct in *head, *tail;
};

/* What is known about an open lane, by its index. */
struct lane_state {
	struct peer *peer; /* NULL: not open */
	uint8_t prio;
	bool begging; /* its next block was refused for want of memory */
	uint32_t beg_next;
	uint64_t beg_bytes;
	struct in_list coming; /* begun; the first is not complete */
};

/* Why we refused somebody at a peer's address. */
enum stranger { STRANGER_NONE, STRANGER_BARE, STRANGER_ELSEWHERE, STRANGER_UNKNOWN };

struct peer {
	uint32_t id;
	struct suci_addr addr;
	bool anywhere; /* addr is where it came from last, if port is not 0 */
	bool up;
	bool near;	  /* round trips are short */
	uint8_t stranger; /* enum stranger: we have refused it for who it is */
	bool pending;	  /* in the list of those that have something to be given or tried */
	uint8_t prio;
	int error; /* to be told once, with why and lost_now */
	uint64_t lost_now;
	char why[WHY_MAX]; /* the last path's end */
	uint32_t path;
	uint32_t lane[PRIOS];
	uint32_t own, label; /* what we are called to it, and it to us: at priority 0 */
	bool door;	     /* beyond the database */
	bool taken;	     /* door: its place was somebody's */
	bool known;	     /* door: it was opened by its address, at */
	bool relayed;	     /* its path is that of our relay */
	bool resting;	     /* relayed: closed; its lanes go on, numbers of both ends must agree */
	uint32_t import;     /* relayed: of the client; NONE: it is not asked for, or came itself */
	uint8_t site, life;  /* relayed: of path; of its next lanes, no lane of before was in it */
	uint32_t acked;	     /* relayed: over its lanes, and since when no more */
	uint64_t acked_ns;
	struct door_address at;
	struct peer *pending_next;
	uint64_t pend_at_ns;
	struct out *head, *tail; /* written, not acknowledged */
	struct out *give;	 /* the first of them that its lane does not have */
	uint64_t queue_blocks, queue_bytes;
	/* Trying: since when, when next, and the pause after that. */
	uint64_t try_since_ns, try_at_ns, try_gap_ns;
	uint64_t pace;
	uint32_t window; /* 0: conf.window */
	/* Blocks over the path that is there now, by priority: given to the lanes, and
	 * complete here; and what the peer says it gave, when it wants to leave. */
	uint32_t given[PRIOS], got[PRIOS], leave_at[PRIOS];
	bool leave_asked; /* it waits for our word that all of that is complete */
	bool leave_sent, leave_done;
	uint64_t unread_blocks, unread_bytes;
	uint64_t written_blocks, written_bytes, read_blocks, read_bytes, lost_blocks;
};

struct datagram_sock {
	uint64_t magic;
	const uint8_t *alive;	/* a page that is wiped in a child */
	struct seal_ring *ring; /* NULL: no identities */
	struct key_files {	/* NULL: none */
		char *psk, *identity, *peers;
	} files;
	bool sealed;
	struct datagram_conf conf;
	struct suci_udp *udp;
	struct suci *ep;
	struct suci_lanes *lanes;
	void *ep_mem, *lanes_mem;
	uint64_t fixed_bytes;
	uint32_t lanes_max, paths_max;
	struct peer *peer; /* those of the database, sorted by id, then places for doors */
	uint32_t npeers, nplaces;
	uint32_t place_next; /* where the next door is looked for */
	struct {
		bool have, via;		/* via: a relay */
		struct door_address at; /* ours, once have */
		struct door_sites sites;
		struct door_client client; /* via; whose: index of the peer */
		struct door_client_own own[1];
		struct door_client_import *import;
		uint64_t due_ns, look_ns;
		struct door_address was; /* ours, that it was last; n 0: none yet */
		uint32_t changes;
		uint8_t life; /* newer than those of lanes to whom nothing is known of any more */
		bool claims;  /* conf.address: claim, asked for again at claim_ns */
		struct door_address claim;
		uint64_t claim_ns;
		int error;
		char why[WHY_MAX];
	} door;
	struct peer *me, *dest;
	struct peer **path_peer;
	struct lane_state *lane;
	struct peer *pending; /* peers with blocks not given, or to be tried */
	uint64_t pending_at_ns;

	struct mem in_mem, out_mem;
	uint32_t outs; /* written blocks not done */
	uint32_t writes;

	struct in_list ready[PRIOS];
	uint32_t coming;     /* blocks begun and not complete */
	struct in *only;     /* the only one of them, if it is known */
	struct in *prepared; /* for the block that ops->block_room let in */
	struct in spare;     /* a last resort for one that goes straight to a reader */
	bool spare_used;
	uint32_t beg_head, beg_tail; /* lanes whose next block found no room */
	uint32_t oversize_lane;	     /* one of them that can only be read straight */
	/* A reader that waits, and the block that is placed in its buffer. */
	struct {
		uint8_t *buf;
		uint64_t len;
		bool waits;
		struct in *block;
	} want;
	int64_t source;

	uint64_t now_ns;
	/* From the store, or the defaults of tuned.c. */
	uint64_t near_copy, near_queue;
	uint32_t ack_every;
	char tuned[TEXT_MAX]; /* why the defaults; empty: from the store */
	uint64_t spin_ns, spin_ns_max;
	uint64_t rx_mark, tx_mark;
	uint64_t lost; /* blocks, over all peers */
	bool closing;
	bool dirty; /* something was queued since the last turn */
	bool notes; /* words to leaving peers are due */
	char text[TEXT_MAX];
};

/* ---- info.c ---- */
/* Set errno and the text; returns -1. */
int datagram_fail(struct datagram_sock *s, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void datagram_fail_open(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* 0, or -1 and EPERM in a child of the owner; NULL and closed sockets are a bug. */
int datagram_enter(struct datagram_sock *s);
struct peer *datagram_peer_find(struct datagram_sock *s, uint32_t id);
/* The same with the error set. */
struct peer *datagram_peer_get(struct datagram_sock *s, uint32_t id);

/* ---- keys.c ---- */
/* Into seal what conf's files say, none if it names none.  0, or said why not.  Frees nothing:
 * datagram_keys_free(). */
int datagram_keys_open(struct datagram_sock *s, const struct datagram_conf *conf,
		       struct suci_seal_conf *seal);
void datagram_keys_free(struct datagram_sock *s);

/* ---- peer.c ---- */
#define HELLO_BYTES 16
extern const struct suci_lane_ops datagram_libsuci_ops;
void datagram_hello_put(uint8_t out[HELLO_BYTES], const struct datagram_conf *me, uint32_t to);
/* Something waits for the peer's path or lane, or for a time. */
void datagram_peer_pend(struct datagram_sock *s, struct peer *p, uint64_t at_ns);
/* Open paths and lanes, hand over blocks, give up: what is due. */
void datagram_peers_pump(struct datagram_sock *s);
/* -1 if an error of the peer is to be told now. */
int datagram_peer_error(struct datagram_sock *s, struct peer *p);
/* Hand a block to the lane; false: not now. */
bool datagram_peer_give(struct datagram_sock *s, struct peer *p, struct out *o);
void datagram_peer_name(const struct peer *p, char out[SUCI_ADDR_TEXT_MAX]);
/* A socket at an IPv4 address has no way to IPv6, nor the other way round; one at :: has both. */
bool datagram_out_of_reach(const struct datagram_sock *s, const struct suci_addr *to);
/* Put its slow write and window into force, if its path is up. */
void datagram_peer_pace(struct datagram_sock *s, struct peer *p);
/* Tell peers that we want to leave; true when all have said that they have everything. */
bool datagram_peers_left(struct datagram_sock *s);
void datagram_peers_answer(struct datagram_sock *s);

/* Its path is gone, or it is: lanes and all. */
void datagram_peer_init(const struct datagram_sock *s, struct peer *p, uint32_t id);
void datagram_peer_forget(struct datagram_sock *s, struct peer *p);
/* All that was written to it is given up, and why: what error says. */
void datagram_peer_lose(struct datagram_sock *s, struct peer *p, int err);
bool datagram_peer_open_lane(struct datagram_sock *s, struct peer *p, unsigned prio, uint32_t path);
/* That lane of it ends, or has: what follows is of another life (suci/lane.h). */
void datagram_peer_outlive(const struct datagram_sock *s, struct peer *p, uint32_t lane);

/* ---- door.c ---- */
#define DOOR_LABEL	    (1u << 24)	   /* between doors without a relay */
#define DOOR_IMPORTS(doors) (2u * (doors)) /* some are given back while others are asked for */
/* 0, or said why not. */
int datagram_door_init(struct datagram_sock *s, const struct datagram_conf *conf);
/* The door is to be registered, if it is not. */
void datagram_door_want(struct datagram_sock *s);
/* Due: open the path to the relay, register, say notes. */
void datagram_door_turn(struct datagram_sock *s);
/* A place for one more, with a new id; NULL: none is free. */
bool datagram_door_unused(const struct peer *p);
struct peer *datagram_door_place(struct datagram_sock *s);
bool datagram_door_free(const struct datagram_sock *s);
void datagram_door_hello(const struct datagram_sock *s, const struct peer *p,
			 uint8_t out[DOOR_HELLO_LEN]);
bool datagram_door_is_hello(const void *hello, size_t len);
/* 0, or why not. */
int datagram_door_accept(struct datagram_sock *s, const void *hello, size_t len,
			 char why[SUCI_TEXT_MAX]);
/* Who came from there, a place made if need be; NULL: none is free. */
struct peer *datagram_door_came(struct datagram_sock *s, const struct suci_addr *from);
/* The relay is to bring us to it.  When to look again. */
uint64_t datagram_door_import(struct datagram_sock *s, struct peer *p, uint64_t end_ns);
/* Why that has not come about. */
void datagram_door_why(struct datagram_sock *s, struct peer *p);
void datagram_door_up(struct datagram_sock *s, uint32_t site, const void *hello, size_t len);
void datagram_door_down(struct datagram_sock *s, uint32_t site, enum suci_down why,
			const char *text);
void datagram_door_note(struct datagram_sock *s, uint32_t site, const void *note, size_t len);
enum suci_verdict datagram_door_unknown(struct datagram_sock *s, uint32_t site, uint32_t dst,
					uint32_t src);

/* ---- claim.c ---- */
/* conf.address, once its relays are read; false: said why not. */
bool datagram_claim_read(struct datagram_sock *s, const struct datagram_conf *conf);

/* ---- recv.c ---- */
bool datagram_in_room(struct datagram_sock *s, uint32_t lane, uint64_t bytes);
struct in *datagram_in_begin(struct datagram_sock *s, uint32_t lane, uint64_t bytes);
void datagram_in_data(struct datagram_sock *s, struct in *b, uint64_t off, const uint8_t *data,
		      size_t len);
void datagram_in_end(struct datagram_sock *s, uint32_t lane, struct in *b);
/* The lane is over: what is not complete of it is dropped. */
void datagram_in_lane_end(struct datagram_sock *s, uint32_t lane);
/* A block of our own to ourselves; false: no room. */
bool datagram_in_loop(struct datagram_sock *s, const void *buf, uint64_t len);
void datagram_in_init(struct datagram_sock *s);
void datagram_in_fini(struct datagram_sock *s);
/* May what was refused to a peer for want of memory come again? */
bool datagram_in_promise(const struct datagram_sock *s, const struct peer *p);
/* Lanes that were short of memory try again. */
void datagram_in_resume(struct datagram_sock *s);

/* ---- tuned.c ---- */
/* What the user's store says of the interface with that address: into s, and the run of the driver
 * that is about to be opened. */
void datagram_tuned_read(struct datagram_sock *s, struct suci_udp_conf *u);

/* ---- send.c ---- */
void datagram_out_done(struct datagram_sock *s, struct out *o, bool ok);
/* All of a peer's are given up. */
void datagram_outs_lose(struct datagram_sock *s, struct peer *p);

/* ---- turn.c ---- */
bool datagram_turn(struct datagram_sock *s);
void datagram_kick(struct datagram_sock *s);
uint64_t datagram_deadline_of(long sec, long usec);
/* Turns until ready(s, arg) or the deadline.  1; 0: time over; -1: EINTR, if
 * interruptible(s, arg) or it is NULL. */
int datagram_wait_until(struct datagram_sock *s, bool (*ready)(struct datagram_sock *s, void *arg),
			void *arg, uint64_t deadline_ns,
			bool (*interruptible)(struct datagram_sock *s));
/* Leaving a call: acknowledge what will not be answered soon. */
void datagram_settle(struct datagram_sock *s);

#endif
