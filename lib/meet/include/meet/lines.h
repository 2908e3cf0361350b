/* SPDX-License-Identifier: BSD-2-Clause */
/* meet/lines.h - lines of a process: what carries conversations of two roots over a pair of doors
 * (meet/talk.h), a lane each.
 *
 *     called	FREE --a first segment--> KNOCKS --meet_lines_knock()--> ON --hang up--> ENDS
 *     calls	FREE --meet_lines_call()--> CALLS --granted--> ON --hang up--> ENDS
 *
 * Who calls has a door and an import for the line, and gives up both when all that it said has
 * arrived, or MEET_LINE_LINGER_NS after hanging up: what was lost with a relay never arrives.  Who
 * is called keeps the lane until it hears that the other door is gone: what comes late is then
 * still of this conversation.
 *
 * Who calls first is taken first.  If there is no place left, one makes room that ENDS, and is only
 * kept for that, or has not heard what was said for MEET_LINE_LINGER_NS; else the first who has
 * called and not said a word for MEET_LINE_SILENT_NS.
 *
 * A line outlives relays if the caller's door or the port's is at two.  Then the first block is
 * FROM (meet/word.h) and the address of the caller's door, and who is called imports that.  So each
 * end hears by its own relay where the other one is, and moves its lane (suci/lane.h), as ways do
 * (meet/ways.h): what is said comes once and in order.  It is over when it has rested for wait_ns
 * (meet/rest.h).  wait_ns should be longer than ways
 * wait: who gives up a conversation is then out of reach for who believes to be connected.  As long
 * as there is such a line at a port, who comes by another relay than it waits, for it may be that
 * one, which knows before us that a relay is gone.  Who has said nothing for MEET_LINE_SILENT_NS
 * keeps nobody waiting so.  An older version that is called by a door at two relays takes FROM for
 * a wrong knock.
 *
 * What is said are bytes, in blocks of the lane; what comes is kept until it is heard.  Before
 * somebody accepts no more than MEET_KNOCK_BYTES are kept of who knocks, afterwards
 * MEET_LINE_BYTES.  Who says more than that is over.  After hanging up nothing is kept.
 *
 * The owner has the client of doors and the lanes, tells lines what comes of both, and calls
 * meet_lines_turn() when it was woken.
 *
 * Sans-I/O.  Memory  the owner's: the object; what comes and what is said by ops->take(), give().
 * Units    nanoseconds, bytes.  Threads  one owner at a time.  Callbacks of lanes and of the client
 *          of doors may call any function.
 * Limits   MEET_LINES_MAX.  Errors  MEET_LINE_NONE, -1, false. */
#ifndef MEET_LINES_H
#define MEET_LINES_H

#include "base/clock.h"
#include "door/client.h"
#include "meet/rest.h"
#include "meet/talk.h"
#include "suci/lane.h"

#define MEET_LINES_MAX	    64u
#define MEET_LINE_NONE	    UINT32_MAX
#define MEET_LINE_SILENT_NS (10 * BASE_S_NS)
#define MEET_LINE_LINGER_NS (30 * BASE_S_NS)
#define MEET_LINE_SAY_BYTES 65536u	 /* of what is said at a time */
#define MEET_LINE_BYTES	    (256u << 20) /* what is kept until it is heard */

enum meet_line_state {
	MEET_LINE_FREE,
	MEET_LINE_KNOCKS,
	MEET_LINE_CALLS,
	MEET_LINE_ON,
	MEET_LINE_ENDS,
};

/* What came, in the order of sending. */
struct meet_piece {
	struct meet_piece *next;
	uint64_t len, at;
	bool whole;
	uint8_t data[];
};

struct meet_line {
	enum meet_line_state state;
	bool has_lane;
	bool over; /* the other end is gone, or says nonsense */
	bool refused;
	bool closes;  /* its door is that of a port that is closed */
	bool called;  /* at a port of ours */
	bool greeted; /* called: its first block is there */
	bool moves;   /* it outlives relays */
	bool left;    /* called: the relay by which it came told that who calls is gone */
	uint32_t lane;
	uint32_t door;	   /* ours: of the port, or of this line; NONE: not yet */
	uint32_t site;	   /* of the relay by which it goes; CALLS: not known yet */
	uint32_t import;   /* of the other door; NONE: none, or none now */
	uint32_t label;	   /* what our relay calls the other door */
	uint32_t unacked;  /* blocks */
	uint64_t turn;	   /* KNOCKS: the lowest is the first */
	uint64_t since_ns; /* it was called, or calls; ENDS: it was hung up */
	uint64_t kept;
	struct meet_rest rest;
	struct door_address at; /* moves: the other door */
	struct meet_piece *first, **last;
};

struct meet_lines_ops {
	/* NULL: none left. */
	void *(*take)(void *user, size_t bytes);
	void (*give)(void *user, void *mem);
	/* Of a lane between that door of ours and that label, by the relay of that site; salts are
	 * ours. */
	void (*lane)(void *user, uint32_t site, uint32_t own, uint32_t label,
		     struct suci_lane_conf *c);
	/* That lane is of that line. */
	void (*opened)(void *user, uint32_t lane, uint32_t line);
	/* An import of that door, for that door of ours; NONE: no room. */
	uint32_t (*import)(void *user, const struct door_address *at, uint32_t own);
	/* meet_lines_turn() has something to do. */
	void (*wake)(void *user);
};

struct meet_lines {
	struct door_client *client;
	struct suci_lanes *lanes;
	const struct meet_lines_ops *ops;
	void *user;
	uint64_t turns;
	struct meet_rests rests;
	uint64_t moved; /* lanes that went on elsewhere */
	struct meet_line line[MEET_LINES_MAX];
};

void meet_lines_init(struct meet_lines *l, struct door_client *client, struct suci_lanes *lanes,
		     const struct meet_lines_ops *ops, void *user, uint64_t wait_ns);

/* How a port or a process is reached whose door at a relay has that address: by the door if both
 * sides have one (own: ours, or NONE; to->n 0: none) and no relay in common.  Else directly: who is
 * at the same relay is of the same cluster. */
bool meet_lines_lead(const struct meet_lines *l, uint32_t own, const struct door_address *to);

/* ---- calling */
/* A line to be: a place is kept until it calls, or is hung up. */
uint32_t meet_lines_keep(struct meet_lines *l, uint64_t now_ns);
/* A door of ours and an import of the other one, which are the line's now. */
void meet_lines_call(struct meet_lines *l, uint32_t line, uint32_t door, uint32_t import);
/* The import was granted: words may go.  false: it is lost, or there is no room for a lane. */
bool meet_lines_go(struct meet_lines *l, uint32_t line, uint64_t now_ns);

/* ---- being called */
/* A first segment for a door that is a port's, from the relay of that site. */
enum suci_verdict meet_lines_came(struct meet_lines *l, uint32_t site, uint32_t door,
				  uint32_t label, uint64_t now_ns);
/* The first at that door who has said something, or NONE. */
uint32_t meet_lines_knocks(const struct meet_lines *l, uint32_t door);
/* The same; now it is a conversation. */
uint32_t meet_lines_knock(struct meet_lines *l, uint32_t door);

/* A port is closed: who knocks at its door is hung up on, and the door is closed, but not before
 * the conversations are over that began there. */
void meet_lines_close(struct meet_lines *l, uint32_t door, uint64_t now_ns);

/* ---- saying, hearing */
/* Bytes that were taken, or that came; 0: none now, -1: the other end is gone. */
int64_t meet_lines_say(struct meet_lines *l, uint32_t line, const void *data, size_t len,
		       uint64_t now_ns);
int64_t meet_lines_hear(struct meet_lines *l, uint32_t line, void *data, size_t len);
bool meet_lines_heard(const struct meet_lines *l, uint32_t line);
/* What was said still arrives. */
void meet_lines_hang_up(struct meet_lines *l, uint32_t line, uint64_t now_ns);

/* ---- what the client of doors tells */
/* Who is called so by the relay of that site is gone. */
void meet_lines_gone(struct meet_lines *l, uint32_t site, uint32_t label, uint64_t now_ns);
void meet_lines_reached(struct meet_lines *l, uint32_t import, uint64_t now_ns);
void meet_lines_lost(struct meet_lines *l, uint32_t import, enum door_client_lost why,
		     uint64_t now_ns);
/* The relay of that site is gone, and all with it that goes by it and does not move; or all that
 * went by it, for nobody waits any more.  Before door_client_down(). */
void meet_lines_over(struct meet_lines *l, uint32_t site, bool for_good, uint64_t now_ns);
void meet_lines_turn(struct meet_lines *l, uint64_t now_ns);
/* When the next turn is due; never, if nothing waits for the clock. */
uint64_t meet_lines_due(const struct meet_lines *l);

/* ---- what lanes tell (suci_lane_ops) */
void *meet_lines_block_begin(struct meet_lines *l, uint32_t line, uint64_t bytes);
void meet_lines_block_data(void *block, uint64_t offset, const uint8_t *data, size_t len);
void meet_lines_block_end(struct meet_lines *l, uint32_t line, void *block);
void meet_lines_block_done(struct meet_lines *l, uint32_t line, uint64_t cookie);
void meet_lines_lane_down(struct meet_lines *l, uint32_t line);

/* For tests: NULL, or what does not agree. */
const char *meet_lines_check(const struct meet_lines *l);

#endif
