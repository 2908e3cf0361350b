/* SPDX-License-Identifier: BSD-2-Clause */
/* lib/spx/internal.h - what the parts know of each other.
 *
 *   spx.c     the object: messages in, timers, views
 *   slots.c   frames by origin and number
 *   source.c  a frame at who puts it: HELD, PUT, TAKEN
 *   io.c      a frame at an I/O process: ASKING, READY, GIVEN, WORKING
 *   sink.c    a frame at who begins it: QUEUED, BEGUN
 *   aside.c   frames in which one process after another dies
 *   find.c    what an origin's frames have come to: after a take-over, and for order
 *   watch.c   start, lost clusters, frames that do not go on
 *   wire.c    messages
 *   view.c, chain.c, policy.c   know none of the others */
#ifndef SPX_INTERNAL_H
#define SPX_INTERNAL_H

#include "spx/spx.h"

#include "base/clock.h"
#include "base/wheel.h"

/* --- view.c, watch.c */
bool spx_chains_check(const struct spx_view *v, char *why);

enum spx_type {
	SPX_MSG_PUT = 1, /* frame; want: number of the PUT */
	SPX_MSG_TOOK,
	SPX_MSG_REFUSED,
	SPX_MSG_WANT, /* want: one frame, for this want */
	SPX_MSG_NOTHING,
	SPX_MSG_GIVE, /* frame; want */
	SPX_MSG_GOT,
	SPX_MSG_BACK, /* nobody wants it here */
	SPX_MSG_COMMIT,
	SPX_MSG_FORGOT, /* of a COMMIT: it need not come again */
	SPX_MSG_ASK,	/* is it there, or was it? */
	SPX_MSG_KNOWS,	/* bit DONE: it was */
	SPX_MSG_NEVER,
	SPX_MSG_FIND,  /* what is open, what is done of that origin? */
	SPX_MSG_STATE, /* two bits a number, from floor on */
	SPX_MSG_POLL,  /* your row? */
	SPX_MSG_ROW,
	SPX_MSG_WHERE, /* where is it now? */
	SPX_MSG_HERE,  /* want: the process that has it, or SPX_NONE */
	SPX_MSG_IN,    /* the program is to be in this frame, of one that died; DONE: no more */
	SPX_MSG_CLEAR, /* of an IN: it is known, begin */
	SPX_MSG_LAST = SPX_MSG_CLEAR
};

#define SPX_BIT_AGAIN	1u
#define SPX_BIT_SKIPPED 2u
#define SPX_BIT_LOST	8u /* of GIVE: a computing process had it, and died */
#define SPX_BIT_DONE	4u /* of STATE: no I/O process died after this rank was heard here */

struct spx_msg {
	enum spx_type type;
	uint8_t bits;
	uint64_t view;
	uint32_t origin, want;
	uint64_t number, floor;
	uint32_t room, ready; /* the sender's row, for the receiver */
	const uint8_t *bytes; /* PUT, GIVE: the frame; STATE */
	size_t len;
};

enum spx_slot_state {
	SPX_SLOT_FREE,
	SPX_SLOT_HELD, /* source: no I/O process has it */
	SPX_SLOT_PUT,
	SPX_SLOT_TAKEN,
	SPX_SLOT_ASKING, /* I/O: does anybody know it? */
	SPX_SLOT_READY,
	SPX_SLOT_GIVEN,
	SPX_SLOT_WORKING,
	SPX_SLOT_QUEUED, /* sink */
	SPX_SLOT_BEGUN,
	SPX_SLOT_DONE,	/* COMMIT goes up until it is FORGOT */
	SPX_SLOT_CLOSED /* a mark: it is done */
};

struct spx_origin;

struct spx_slot {
	struct base_timer timer; /* first */
	struct spx_slot *next, *prev;
	struct spx_origin *o;
	uint64_t number, since_ns;
	enum spx_slot_state state;
	bool listed, again, lost, skipped, has_out;
	bool inside;	/* I/O: the program there is in it, or was as it died */
	bool cleared;	/* computing: the I/O process knows that it begins */
	uint8_t deaths; /* I/O: of processes that died with it, and in it */
	uint8_t tries;
	uint16_t from; /* I/O: cluster of who put it */
	uint32_t up;   /* from whom it came; SPX_NONE: made here, or that process is dead */
	uint32_t also; /* sink: who gave it before another one asked for it, or SPX_NONE */
	uint32_t down; /* to whom it went */
	uint32_t want; /* it was given for */
	uint32_t put;  /* number of its PUT, of this process */
	uint32_t ask;  /* place in spx.asks, or SPX_NONE */
	uint32_t in_len, out_len;
	void *in;  /* as it came; at an I/O process: the frame */
	void *out; /* as it is put */
};

struct spx_origin {
	uint32_t id;
	uint64_t floor;	       /* those before are committed */
	struct spx_slot *slot; /* [window_max] */
	bool used;
	uint64_t lacks_ns;   /* since when an ordered number is missing; BASE_NEVER_NS */
	uint64_t heard_view; /* I/O: the last view in which the rank put an unmarked frame here */
};

struct spx_list {
	struct spx_slot *first, *last;
	uint32_t n;
};

/* What is known of another process. */
struct spx_peer {
	struct spx_proc p;
	uint32_t room, ready; /* its row */
	uint32_t mine;	      /* frames or wants of this process there */
	int64_t turn;
	bool starved, hungry; /* I/O: it waits for room, for data */
	bool unfound;	      /* has not answered FIND */
	uint64_t dead_view;   /* the first one seen in which it is dead; 0: it lives */
	/* Its PUTs up to that are refused, its WANTs got nothing, also if they come again. */
	uint32_t refused, nothing;
};

struct spx_want {
	struct base_timer timer; /* first */
	uint32_t id, to;
	uint8_t tries;
	bool used;
};

struct spx {
	struct spx_conf conf;
	const struct spx_ops *ops;
	void *user;
	const struct spx_memory *memory;
	uint64_t now_ns;
	struct base_wheel wheel;
	struct spx_view view;	   /* tables of its own */
	struct spx_peer *peer;	   /* [view.nproc], beside view.proc */
	struct spx_peer *peer_old; /* while a view is installed */
	uint32_t *pool;		   /* [npool]: places of I/O processes on chains of my cluster */
	uint32_t npool;
	const struct spx_proc *me; /* NULL: not in the view */
	uint64_t into, out_of;	   /* bits of chains of my cluster; I/O: out_of is what it serves */
	bool running, halted, ordered, found;
	bool news_ready, news_room, telling; /* ops.ready(), ops.room() are due, under way */
	uint64_t remade_below; /* numbers of this rank that may have been made before */
	bool all_known;	       /* somebody heard of this rank after all deaths of I/O processes */
	uint32_t window_most;  /* of all chains of all views so far */
	uint32_t norigins;
	struct spx_origin *origin; /* [conf.origins_max] */
	struct spx_list line;	   /* HELD, READY: by number */
	struct spx_list queue;	   /* QUEUED: likewise */
	struct spx_slot *asking;   /* QUEUED, and begins once the I/O process knows; or NULL */
	uint32_t held;		   /* I/O: frames that nobody has got yet */
	uint64_t *asks;		   /* [conf.room][asks_words]: who has not answered */
	uint32_t asks_words;
	bool *ask_used; /* [conf.room] */
	struct spx_want want[SPX_AHEAD_MAX];
	uint32_t wants, want_next, put_next;
	struct spx_picker pick_out, pick_in;
	struct spx_candidate *candidate; /* [procs_max] */
	struct base_timer poll, find, start;
	uint8_t find_tries, start_tries;
	struct spx_counts count;
	uint8_t head[SPX_MESSAGE_MAX];
};

/* --- wire.c */
size_t spx_write(uint8_t *to, const struct spx_msg *m);
bool spx_read(const uint8_t *bytes, size_t len, uint32_t window, struct spx_msg *m);
/* Row, view and floor are put in. */
void spx_send(struct spx *s, uint32_t to, struct spx_msg *m);
void spx_send_slot(struct spx *s, uint32_t to, enum spx_type type, const struct spx_slot *t,
		   const void *bytes, size_t len);
/* About a number that has no slot. */
void spx_answer(struct spx *s, uint32_t to, enum spx_type type, const struct spx_msg *about,
		unsigned bits);

/* --- slots.c */
struct spx_origin *spx_origin_of(struct spx *s, uint32_t id, bool make);
/* The slot of a number, in any state but FREE; NULL: none. */
struct spx_slot *spx_slot_of(const struct spx *s, const struct spx_origin *o, uint64_t number);
/* A FREE slot for that number, or NULL: its place is taken, or it is below the floor. */
struct spx_slot *spx_slot_make(struct spx *s, struct spx_origin *o, uint64_t number);
void spx_slot_set(struct spx *s, struct spx_slot *t, enum spx_slot_state state);
/* Lists, timers, bytes; then the state. */
void spx_slot_end(struct spx *s, struct spx_slot *t, enum spx_slot_state state);
void spx_floor_raise(struct spx *s, struct spx_origin *o, uint64_t floor);
void spx_mark_closed(struct spx *s, struct spx_origin *o, uint64_t number);
void *spx_copy(struct spx *s, const void *bytes, size_t len);
void spx_drop(struct spx *s, void **bytes);
void spx_list_add(struct spx_list *l, struct spx_slot *t); /* by number */
void spx_list_cut(struct spx_list *l, struct spx_slot *t);
void spx_arm(struct spx *s, struct base_timer *timer, uint8_t tries);
void spx_arm_slot(struct spx *s, struct spx_slot *t); /* and count a try */
void spx_arm_stall(struct spx *s, struct spx_slot *t);

static inline bool
spx_is_source_state(enum spx_slot_state st)
{
	return st == SPX_SLOT_HELD || st == SPX_SLOT_PUT || st == SPX_SLOT_TAKEN;
}

static inline bool
spx_is_io_state(enum spx_slot_state st)
{
	return st >= SPX_SLOT_ASKING && st <= SPX_SLOT_WORKING;
}

/* It counts for the room of an I/O process. */
static inline bool
spx_is_waiting(enum spx_slot_state st)
{
	return st >= SPX_SLOT_ASKING && st <= SPX_SLOT_GIVEN;
}

static inline bool
spx_is_mine(const struct spx *s, const struct spx_origin *o)
{
	return s->me && s->me->kind == SPX_COMPUTE &&
	       SPX_ROLE(s->me->cluster, s->me->rank) == o->id;
}

/* --- spx.c */
struct spx_peer *spx_peer_of(struct spx *s, uint32_t id);
bool spx_is_living(const struct spx *s, uint32_t id);
void spx_poll_later(struct spx *s);
/* What follows from anything that has happened; spx_go_on(): then the program hears of it. */
void spx_act(struct spx *s);
void spx_go_on(struct spx *s);
/* COMMIT has come from below, or the last stage has finished it. */
void spx_done_below(struct spx *s, struct spx_slot *t);
void spx_tell_up(struct spx *s, struct spx_slot *t);
/* It may have come to an end everywhere: CLOSED. */
void spx_forgotten(struct spx *s, struct spx_slot *t);
/* Candidates of the pool on these chains; amounts by row. */
uint32_t spx_candidates(struct spx *s, uint64_t chains, bool room);
enum spx_policy spx_policy_of(const struct spx *s, uint64_t chains);

/* --- source.c */
void spx_place(struct spx *s);
void spx_hold(struct spx *s, struct spx_slot *t);
void spx_source_message(struct spx *s, uint32_t from, const struct spx_msg *m);
void spx_source_timer(struct spx *s, struct spx_slot *t);
void spx_source_view(struct spx *s, struct spx_slot *t);

/* --- io.c */
void spx_io_message(struct spx *s, uint32_t from, const struct spx_msg *m);
void spx_io_timer(struct spx *s, struct spx_slot *t);
void spx_io_view(struct spx *s, struct spx_slot *t);
void spx_io_freed(struct spx *s);
uint32_t spx_io_room(const struct spx *s, const struct spx_proc *to);
uint32_t spx_io_ready(const struct spx *s, const struct spx_proc *to);

/* --- aside.c */
/* Of a frame that somebody died with: the program begins it here, or has ended it. */
void spx_say_inside(struct spx *s, const struct spx_slot *t, bool inside);
/* Nobody died with it, or who gave it knows that it begins. */
bool spx_is_cleared(const struct spx *s, const struct spx_slot *t);
void spx_ask_to_begin(struct spx *s, struct spx_slot *t);
void spx_queued_timer(struct spx *s, struct spx_slot *t);
void spx_inside_message(struct spx *s, uint32_t from, const struct spx_msg *m);
/* Whoever had it has died. */
void spx_count_death(struct spx *s, struct spx_slot *t);

/* --- sink.c */
void spx_pull(struct spx *s);
void spx_sink_message(struct spx *s, uint32_t from, const struct spx_msg *m);
void spx_want_timer(struct spx *s, struct spx_want *w);
/* The first number of an origin that an ordered chain has not begun. */
uint64_t spx_first_unbegun(const struct spx *s, const struct spx_origin *o);
bool spx_may_begin(const struct spx *s, const struct spx_slot *t);
void spx_queue_go(struct spx *s);

/* --- find.c */
void spx_find_begin(struct spx *s); /* after a view */
void spx_find_timer(struct spx *s);
void spx_find_message(struct spx *s, uint32_t from, const struct spx_msg *m);
void spx_find_lacking(struct spx *s); /* on a poll */

/* --- watch.c */
void spx_watch_view(struct spx *s, uint64_t lost_before);
void spx_start_timer(struct spx *s);
void spx_tell_event(struct spx *s, enum spx_event_kind kind, uint32_t proc,
		    const struct spx_slot *t, const char *text);
void spx_stalled(struct spx *s, struct spx_slot *t);
void spx_where_message(struct spx *s, uint32_t from, const struct spx_msg *m);

#endif
