/* SPDX-License-Identifier: BSD-2-Clause */
/* spx/spx.h - frames through a pipeline of clusters: nothing acknowledged is lost, nothing comes
 * twice.
 *
 * One object is one process of a view (spx/view.h): a computing process or an I/O process.
 *
 *	 computing, no chain in	    I/O process		 computing		  ...  no chain out
 *	 spx_next, spx_put ---PUT-->  holds it  ---GIVE--> spx_begin, spx_put,	       spx_begin,
 *	       HELD, TAKEN  <-TOOK--  HAS DATA	<--WANT--  spx_finish ----PUT--> ...   spx_finish
 *		 forgotten <-COMMIT--  done   <--COMMIT--  done	  <-----COMMIT-- ...   done
 *
 * Numbers  A frame is known by its origin - the rank (SPX_ROLE) that made it - and its number
 *	    there: 0, 1, 2, ...  What a stage makes of a frame has the frame's name; a frame that
 *	    ends without anything put goes on as an empty one (no program sees it), so that no
 *	    number is missing.
 * Promise  The bytes of a frame stay where it was made until the last stage has finished it and
 *	    the COMMIT has come back through all stages.  Whoever dies on its way, the process
 *	    before it gives the frame again: bit `again`.  What was given again is asked for
 *	    before: who has it or had it keeps it.	So a frame is begun twice only if all who
 *	    knew that it was done have died.  It is lost only if its origin died together with
 *	    everybody who had it; then spx_next() asks for it again.
 * Views    Processes talk within one view only: a message of another view is dropped (counted as
 *	    epoch) and its sender tries again.	So nothing of a process that a view calls dead
 *	    arrives behind that view.
 * Rows	    "Can take" (room) and "has data" of an I/O process ride on all it sends.  A row may be
 *	    old: then it is refused, or nothing is there, and the next one is tried.
 * Order    on ordered chains, of each origin: begun in rising order, no number left out, also
 *	    when another process takes over.  It may ask the origin what is done already.
 * Window   At most `window` frames of an origin are not committed, the smallest of the chains out
 *	    of its cluster; spx_next() waits for it.  An I/O process takes `room` frames that
 *	    nobody behind it has got yet.
 * Bound    of memory, of each process: the sum of the windows of all origins x frame_max.
 * Take-over  The process that has a dead one's rank (takeovers > 0) asks all I/O processes what
 *	    they have of its frames.  spx_next() then names what has to be made again.  Where an
 *	    I/O process has died, too, and none that lives got a frame of the rank after that,
 *	    nobody may know how far the rank was: all that it makes has bit `again` then.
 * Drop	    With in_flight SPX_DROP a frame that a computing process had, and that process died, is
 *	    given up: it goes on empty from the next one that gets it (counted as dropped).  Who
 *	    makes frames makes them anyway; where an I/O process has died, too, nobody may know
 *	    who had a frame, and it is done again.
 * Set aside  With conf.aside = n a frame in which n computing processes died, one after another, is
 *	    given up likewise: it goes on empty, an event names it, and it is counted as aside.  Who
 *	    gets a frame that somebody died with begins it when the I/O process has answered that it
 *	    knows, and says when it has ended; no other frame begins meanwhile.  So what only lay
 *	    beside such a frame is not meant.  The I/O process counts: one that dies forgets.
 * Timers   Whatever waits for an answer is sent again, after retry_ns, doubling up to
 *	    retry_max_ns.  spx_expiry_ns() says when to call spx_tick().
 * Noticed  A frame that does not go on for stall_ns is an event with a text: a program that does
 *	    not take or finish it (said where that is), an I/O process that hoards.
 * Errors   Bytes from outside: spx_on_message() says false, counted as malformed.
 * Units    ns, bytes.  Threads: one owner.  ops may not call back, but for begin, next, put and
 *	    finish out of ready() and room().
 * Memory   tables in one piece, given to spx_new(); bytes of frames by struct spx_memory, whose
 *	    get() may return NULL: then the frame is refused or stays where it is.
 * Limits   spx_conf; SPX_WINDOW_MAX.
 * Source   [SX] 3.2, 3.3, 3.5; doc/sp.md. */
#ifndef SPX_SPX_H
#define SPX_SPX_H

#include "spx/policy.h"
#include "spx/view.h"

#define SPX_HEAD	56u /* bytes before those of a frame; see wire.c */
#define SPX_MESSAGE_MAX (SPX_HEAD + 2 * SPX_WINDOW_MAX / 8)
#define SPX_AHEAD_MAX	16

struct spx;

/* Of a frame whose computing process died. */
enum spx_in_flight {
	SPX_EPOCH, /* it is done again */
	SPX_ULFM,  /* likewise; the program is told by an error, and may end it at once */
	SPX_DROP   /* it is given up */
};

#define SPX_ASIDE_MAX 100u

struct spx_conf {
	uint32_t id;	      /* of this process in views */
	uint32_t procs_max;   /* of a view */
	uint32_t origins_max; /* ranks that make frames */
	uint32_t window_max;  /* of a chain; a power of two, at most SPX_WINDOW_MAX */
	uint32_t room;	      /* I/O process: frames that nobody behind it has got */
	uint32_t ahead;	      /* computing: frames asked for before they are begun; 1 .. */
	uint32_t frame_max;   /* bytes */
	uint64_t retry_ns, retry_max_ns;
	uint64_t poll_ns;  /* asks for rows that often while nobody can take or has data */
	uint64_t stall_ns; /* 0: nothing is noticed */
	enum spx_in_flight in_flight; /* computing */
	uint32_t aside;	   /* 2 ..: so many died in a frame, and it is set aside; 0: never */
	uint64_t start_ns; /* an event says who is missing after that, and again; 0: never */
};

struct spx_memory {
	void *(*get)(void *user, size_t bytes);
	void (*put)(void *user, void *p);
	void *user;
};

enum spx_event_kind {
	SPX_EVENT_MISSING, /* the pipeline does not start */
	SPX_EVENT_RUNNING, /* it does */
	SPX_EVENT_LOST,	   /* cluster fell silent; on_lost says what follows */
	SPX_EVENT_BACK,	   /* cluster is there again */
	SPX_EVENT_IGNORED, /* a program does not take or finish a frame */
	SPX_EVENT_HOARDED, /* an I/O process has a frame and gives it to nobody */
	SPX_EVENT_AWAITED, /* a frame waits for processes that could take it */
	SPX_EVENT_ASIDE,   /* a frame in which processes died is given up */
	SPX_EVENT_LAST = SPX_EVENT_ASIDE
};

struct spx_event {
	enum spx_event_kind kind;
	enum spx_on_lost on_lost; /* LOST */
	uint32_t cluster;	  /* LOST, BACK; else SPX_NONE */
	uint32_t proc;		  /* whom it is about, or SPX_NONE */
	uint32_t origin;
	uint64_t number;
	const char *text; /* valid during the call */
};

struct spx_frame {
	uint32_t origin;
	uint64_t number;
	bool again; /* somebody may have begun it before */
	bool lost;  /* somebody had it, and died */
	const void *bytes;
	size_t len;
	uint32_t from; /* the I/O process */
};

struct spx_ops {
	/* head, then frame (may be NULL), to a process of the view; lost, late, twice: no harm. */
	void (*send)(void *user, uint32_t to, const void *head, size_t head_len, const void *frame,
		     size_t len);
	void (*ready)(void *user); /* spx_begin() has something */
	void (*room)(void *user);  /* spx_next() may have something */
	/* Origin: committed, and forgotten here; not for what a process that took the rank over
	 * learns from others.  Where no chain goes out: the end of this frame is known elsewhere.
	 */
	void (*done)(void *user, uint32_t origin, uint64_t number);
	void (*event)(void *user, const struct spx_event *e);
	/* Policy SPX_USER; may be NULL. */
	spx_pick_fn *pick;
};

/* X(name, help): what a process counts. */
#define SPX_COUNTERS(X)                                                      \
	X(sent, "messages to other processes")                               \
	X(received, "messages of other processes")                           \
	X(malformed, "those that are none, dropped")                         \
	X(epoch, "messages of another view, dropped")                        \
	X(stranger, "messages of who is dead or not in the view, dropped")   \
	X(refused, "frames others would not take: a row was old")            \
	X(nothing, "times that others had no frame for this one: likewise")  \
	X(put_again, "frames given to another I/O process, as one died")     \
	X(give_again, "frames given to another computing process, likewise") \
	X(adopted, "frames given again that somebody had already")           \
	X(repeated, "messages sent again by a timer")                        \
	X(duplicate, "frames that came twice, dropped")                      \
	X(dropped, "frames of the dead, dropped: in_flight is drop")         \
	X(aside, "frames in which conf.aside processes died, set aside")     \
	X(no_memory, "frames for which there was no memory")                 \
	X(made, "frames made here")                                          \
	X(begun, "frames begun here")                                        \
	X(finished, "frames finished here")                                  \
	X(committed, "frames that nobody needs to keep any more")

/* Only grow. */
struct spx_counts {
#define X(n, help) uint64_t n;
	SPX_COUNTERS(X)
#undef X
};

/* false: why[SPX_TEXT_MAX]. */
bool spx_conf_check(const struct spx_conf *c, char *why);
size_t spx_bytes(const struct spx_conf *c);
/* mem: spx_bytes(), aligned like malloc()'s; ops, memory: kept, not copied. */
struct spx *spx_new(void *mem, const struct spx_conf *c, const struct spx_ops *ops, void *user,
		    const struct spx_memory *memory, uint64_t now_ns);
/* Gives the bytes of frames back; mem is the caller's. */
void spx_end(struct spx *s);

/* A view with a higher number than the last; others are passed over.  It is copied.
 * false: it is not consistent, or too large; why[SPX_TEXT_MAX]. */
bool spx_install(struct spx *s, const struct spx_view *v, uint64_t now_ns, char *why);
const struct spx_view *spx_view_of(const struct spx *s);

/* Of a process: from that process, as sent. */
bool spx_on_message(struct spx *s, uint32_t from, const void *bytes, size_t len, uint64_t now_ns);
uint64_t spx_expiry_ns(const struct spx *s);
void spx_tick(struct spx *s, uint64_t now_ns);

/* --- computing processes.
 * The next frame that this rank has to make.  again: somebody with this rank may have made it
 * before.  false: none now; ops.room() says when. */
bool spx_next(struct spx *s, uint64_t *number, bool *again);
/* The bytes of a frame: one that spx_next() has named, or one that is begun here.  They are
 * copied.  false: it is not, or no memory, or more than frame_max. */
bool spx_put(struct spx *s, uint32_t origin, uint64_t number, const void *bytes, size_t len,
	     uint64_t now_ns);
/* The next frame for the program.  bytes are valid until it is finished or abandoned. */
bool spx_begin(struct spx *s, struct spx_frame *f, uint64_t now_ns);
/* false: not begun here. */
bool spx_finish(struct spx *s, uint32_t origin, uint64_t number, uint64_t now_ns);
/* What was begun will be begun again, what was put is thrown away. */
bool spx_abandon(struct spx *s, uint32_t origin, uint64_t number, uint64_t now_ns);

/* Frames that are not done with here: 0 for an I/O process says that it is drained. */
uint32_t spx_busy(const struct spx *s);
bool spx_running(const struct spx *s);
const struct spx_counts *spx_counters(const struct spx *s);
/* Lists, limits and timers agree; *what says which do not. */
bool spx_check(const struct spx *s, const char **what);

#endif
