/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/spxrun.h - one process of a pipeline: lib/spx with a thread, a socket and a manager.
 *
 *	manager (mpisprun) ==pair of sockets, spx/feed.h==> spxrun <==libsuci doors==> others
 *							      |
 *				    spxrun_begin(), spxrun_end(): the program
 *
 * Thread   One of ours receives, answers, sends again and installs views, so others need not wait
 *	    for a program that computes.  Calls may come from any thread of the program.
 * Frames   A process that no chain leads to makes frames, all others are given them; both begin
 *	    and end them alike.  A process has one frame at a time: the next one is given when
 *	    the one before it has ended.
 * Place    Who is not in a view yet, as a spare, waits in spxrun_self().
 * Errors   false and a text of at most SPX_TEXT_MAX bytes.
 * Memory   malloc(); frames up to lib/spx's bounds, and as much for what is on its way.
 * Limits   a frame has frame_max bytes, as the manager says. */
#ifndef DRIVER_SPXRUN_H
#define DRIVER_SPXRUN_H

#include "spx/feed.h"

struct spxrun;

struct spxrun_self {
	uint32_t id;
	enum spx_kind kind;
	uint16_t rank, ranks; /* computing */
	uint16_t takeovers;
	char cluster[SPX_NAME_MAX];
	bool makes, ends; /* no chain leads here; none leads on */
	uint64_t view;
};

enum spxrun_got {
	SPXRUN_FRAME,
	SPXRUN_NONE, /* not in that time */
	SPXRUN_OVER, /* the pipeline has ended, or the manager */
};

struct spxrun_event {
	struct spx_event e; /* but for its text */
	char text[SPX_TEXT_MAX];
};

struct spxrun_counts {
	uint64_t unsent;    /* messages that found no room or no way; they come again */
	uint64_t oversized; /* blocks that no process of ours can have sent */
	uint64_t unheard;   /* events that the program did not fetch, and that were too many */
};

/* Takes the descriptor over, says hello.  Waits for SETUP.  NULL: why. */
struct spxrun *spxrun_open(int feed, char why[SPX_TEXT_MAX]);
/* Waits until this process has a place, wait_ms < 0 for ever.  false: not in that time, or all is
 * over. */
bool spxrun_self(struct spxrun *r, struct spxrun_self *self, int64_t wait_ms);
/* What clusters this process is between: I/O the ends of its chains, else its own.  Names in
 * place; their number, at most SPX_CLUSTERS_MAX. */
uint32_t spxrun_worlds(struct spxrun *r, char (*name)[SPX_NAME_MAX]);

/* f->bytes are NULL where frames are made; else valid until the frame is ended. */
enum spxrun_got spxrun_begin(struct spxrun *r, struct spx_frame *f, int64_t wait_ms);
/* What goes to the next stage; bytes may be NULL where frames are only taken: an empty frame. */
bool spxrun_end(struct spxrun *r, const struct spx_frame *f, const void *bytes, size_t len,
		char why[SPX_TEXT_MAX]);
/* It will be begun again. */
void spxrun_abandon(struct spxrun *r, const struct spx_frame *f);
/* Bytes of a frame, at most. */
size_t spxrun_frame_max(const struct spxrun *r);
enum spx_in_flight spxrun_in_flight(const struct spxrun *r);

/* Changes chains, as spx_chain_ops() says; waits for the manager. */
bool spxrun_chain(struct spxrun *r, const char *ops, char why[SPX_TEXT_MAX]);
/* For chains with policy=user: of this process from now on. */
void spxrun_policy(struct spxrun *r, spx_pick_fn *pick, void *user);
/* The oldest event that was not fetched; false: none. */
bool spxrun_event(struct spxrun *r, struct spxrun_event *e);
void spxrun_alive(struct spxrun *r);
/* NULL: it goes on. */
const char *spxrun_over(struct spxrun *r);
void spxrun_counters(struct spxrun *r, struct spx_counts *spx, struct spxrun_counts *own);

/* The program makes and takes no more.  Waits until all that was made here is committed, says so,
 * and waits until the pipeline is over.  false: why, and what is left.  Then spxrun_free(). */
bool spxrun_finish(struct spxrun *r, int64_t wait_ms, char why[SPX_TEXT_MAX]);
/* At once, as a process that dies. */
void spxrun_free(struct spxrun *r);

#endif
