/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/spxrun/spxrun_internal.h - what the files here share.
 *
 *   run.c   the object, its thread, the program's calls
 *   talk.c  the stream to the manager
 *   net.c   messages to and from other processes
 *
 * Threads  all of it with the lock held, but for poll(). */
#ifndef DRIVER_SPXRUN_INTERNAL_H
#define DRIVER_SPXRUN_INTERNAL_H

#include <pthread.h>

#include "driver/spxrun.h"
#include "suci.h"

enum { SPXRUN_EVENTS = 64 };

/* Where a process of the view is. */
struct spxrun_peer {
	uint32_t id;
	int64_t door; /* of libsuci; -1: not opened */
	char address[SPX_ADDRESS_MAX];
};

struct spxrun {
	pthread_mutex_t lock;
	pthread_cond_t news; /* something to begin, a place, an answer, an end */
	pthread_t thread;
	bool started, stop;
	int feed, bell; /* bell: the thread has to look again */
	/* The thread sleeps until then, for these events of the socket; 0: it is awake. */
	uint64_t sleeps_until_ns;
	short sleeps_on;

	struct spx_conf conf;
	struct spx *x;
	void *x_memory;
	struct spx_ops ops;
	struct spx_memory memory;
	spx_pick_fn *pick;
	void *pick_user;

	/* talk.c */
	uint8_t *in; /* of the stream: in_len bytes of in_room */
	size_t in_len, in_room;
	struct spx_view view; /* tables for reading one */
	char (*where)[SPX_ADDRESS_MAX];
	bool over;
	char why_over[SPX_TEXT_MAX];
	uint32_t asked, answered; /* numbers of CHAIN_OPS */
	bool answer_ok;
	char answer[SPX_TEXT_MAX];

	/* net.c */
	struct datagram_sock *sock;
	uint32_t changes;		     /* of its address, as the manager knows */
	struct spxrun_peer *peer, *peer_old; /* [procs_max], by rising id */
	uint32_t npeer;
	uint8_t *out, *block; /* one message; one block */
	size_t out_room, block_room;

	bool in_frame, made_here; /* the program has one */
	struct spxrun_event event[SPXRUN_EVENTS];
	uint32_t event_first, events;
	struct spxrun_counts count;
};

/* --- run.c */
uint64_t spxrun_now_ns(void);
void spxrun_ring(struct spxrun *r);
/* All is over: the first reason counts. */
void spxrun_set_over(struct spxrun *r, const char *why);

/* --- talk.c */
/* Blocks until SETUP has come; takes conf from it and opens the socket. */
bool spxrun_talk_begin(struct spxrun *r, char *why);
/* What the stream has. */
void spxrun_talk_turn(struct spxrun *r);
bool spxrun_tell(struct spxrun *r, const struct spx_feed *f);

/* --- net.c */
bool spxrun_net_open(struct spxrun *r, const struct spx_feed *setup, char *why);
void spxrun_net_close(struct spxrun *r);
void spxrun_net_view(struct spxrun *r);
/* true: messages came. */
bool spxrun_net_turn(struct spxrun *r);
void spxrun_net_send(void *user, uint32_t to, const void *head, size_t head_len, const void *frame,
		     size_t len);

#endif
