/* SPDX-License-Identifier: BSD-2-Clause */
/* engine_internal.h - what the files of the engine share.
 *
 *	engine.c      making, turns, peers that go
 *	engine_tx.c   sending: queues, credit of the peers
 *	engine_rx.c   fragments that come: messages, placing, freeing
 *	match.c       posted receives and messages that nobody has received */
#ifndef MMP_ENGINE_INTERNAL_H
#define MMP_ENGINE_INTERNAL_H

#include "canary.h"
#include "mmp/engine.h"

/* Records of one kind: the free ones in a list, those never used behind fresh. */
struct pool {
	uint32_t *next;
	uint32_t free, fresh, cap, used;
};
uint32_t mmp_pool_take(struct pool *p); /* MMP_NONE: none */
void mmp_pool_give(struct pool *p, uint32_t i);

struct list {
	uint32_t head, tail;
};
#define LIST_EMPTY ((struct list){MMP_NONE, MMP_NONE})

/* A fragment to send; named by the program. */
struct tx {
	struct mmp_head head;
	const uint8_t *data;
	uint8_t in[MMP_INLINE];
	uint32_t peer, next;
	bool far;
};
/* A fragment that came. */
struct rec {
	uint32_t msg; /* MMP_NONE: its message is over, the program has yet to copy */
	uint32_t peer, next;
	uint32_t piece;	 /* of the receive half, or MMP_NONE */
	uint32_t cookie; /* of what lies with the sender, or MMP_NONE */
	uint32_t bytes;
	uint64_t offset;
	uint8_t *data;
	bool straight, complete, eager, told;
};
/* A message of which something came. */
struct msg {
	uint32_t source; /* peer * MMP_STREAMS + stream */
	uint32_t number, post;
	int32_t tag;
	uint64_t all, got, begun_bytes;
	struct list recs; /* held, in the order of coming */
	uint32_t hash_next;
	uint32_t prev, next;   /* of those of its source that are begun and not matched */
	uint32_t aprev, anext; /* of all such of its stream */
	uint32_t due_next, want_next;
	bool used, begun, announced, wanted, due;
};
struct post {
	uint32_t receive; /* the program's name */
	int32_t from, tag;
	uint32_t stream;
	uint8_t *buf;
	uint64_t bytes, serial;
	uint32_t prev, next;
	/* When it is done and the program not told: */
	uint64_t all;
	uint32_t rank;
	int32_t got_tag;
	int error;
};
struct source {
	uint32_t expected; /* number of the next message to begin */
	struct list posts, msgs;
	uint32_t sent_begun; /* number of the next message of which nothing was sent */
	uint32_t announced;  /* wants of it */
};
struct peer {
	bool up, near, down;
	bool told; /* a receive of anybody has ended because it is gone */
	int error;
	struct list queue; /* tx */
	bool dirty;
	uint32_t dirty_next;
	/* What the peer lets us send. */
	uint64_t share, eager_sent, eager_freed, frags_sent, frags_freed;
	/* What we let it. */
	uint64_t bytes_in, frags_in; /* not freed */
	uint64_t bytes_freed, frags_freed_in, bytes_said, frags_said;
	bool credit_due;
	struct list want_queue; /* of msg, to be asked for, by want_next */
	uint64_t stalls, straight, held, sent_bytes, received_bytes;
};
/* A message that was announced, for want of credit; then the peer wants it. */
struct want {
	uint32_t source, number, next;
	bool wanted;
};

#define WANT_BINS 256u
struct mmp_engine {
	struct mmp_engine_config c;
	struct mmp_engine_counters n;
	struct mmp_area area;
	struct mmp_piece *piece;
	uint32_t pieces;
	struct mmp_ring_end request, reply, notice, freed;
	struct tx *tx;
	struct rec *rec;
	struct msg *msg;
	struct post *post;
	struct peer *peer;
	struct source *source;
	struct want *want;
	struct pool recs, msgs, posts, wants;
	uint32_t *hash, hash_mask;
	uint32_t want_bin[WANT_BINS];
	struct list any_posts[MMP_STREAMS], any_msgs[MMP_STREAMS];
	struct list due, ended; /* msgs with something to tell; posts that failed */
	uint32_t dirty;		/* peers to be pumped */
	uint32_t done_head;	/* tx whose memory is free, by next */
	uint32_t unsent;
	uint64_t serial, share;
};

/* engine_tx.c */
void mmp_tx_dirty(struct mmp_engine *e, uint32_t peer);
void mmp_tx_request(struct mmp_engine *e, const struct mmp_send_request *r);
bool mmp_tx_pump(struct mmp_engine *e);
void mmp_tx_drop(struct mmp_engine *e, uint32_t peer);
uint32_t mmp_tx_credit(struct mmp_engine *e, uint32_t peer, const struct mmp_head *h);
uint32_t mmp_tx_want(struct mmp_engine *e, uint32_t peer, const struct mmp_head *h);

/* engine_rx.c */
void mmp_rx_freed(struct mmp_engine *e, uint32_t record);
void mmp_rx_matched(struct mmp_engine *e, uint32_t m);
void mmp_rx_msg_free(struct mmp_engine *e, uint32_t m);
void mmp_rx_rec_free(struct mmp_engine *e, uint32_t r);
void mmp_rx_down(struct mmp_engine *e, uint32_t peer);

/* match.c */
void mmp_match_post(struct mmp_engine *e, const struct mmp_receive_reply *r);
/* The message has begun, and comes after all before it. */
void mmp_match_begun(struct mmp_engine *e, uint32_t m);
void mmp_match_forget_msg(struct mmp_engine *e, uint32_t m);
void mmp_match_down(struct mmp_engine *e, uint32_t peer);
void mmp_match_end_post(struct mmp_engine *e, uint32_t p, int error);

#endif
