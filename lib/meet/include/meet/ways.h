/* SPDX-License-Identifier: BSD-2-Clause */
/* meet/ways.h - ways of a process to those of other jobs that it has met: for each an import of its
 * door, and a lane, from the one door of this process at a relay of its cluster or at two.
 *
 *     ASKED --its door is reached, meet_ways_open()--> ON <---> RESTS --wait_ns--> lost
 *
 * The lane of a way moves (suci/lane.h).  When a relay of the way dies, or the way between two
 * relays breaks, it rests until the door is reached anew, here by the other relay or there, and
 * goes on where it was: what is said comes once and in order.  Both ends do so by what their own
 * relay tells; nothing is said between them.  A door that all its relays have lost is asked for by
 * the address that it had (door_client_keep()), so a way also comes back when the only relay of a
 * cluster is started anew.
 *
 * A way is lost for good
 *
 *     when its process has ended, or has no such door and never had;
 *     when it has rested for wait_ns (meet/rest.h);
 *
 *     when our door is lost, and came back as another one; when its segments do not fit through
 * the relay that is left.
 *
 * The owner has the paths to the relays (door/sites.h).  It tells what the client of doors and
 * the lanes tell, and calls meet_ways_turn() when it was woken and when that is due.
 *
 * Sans-I/O.  Memory  the owner's: the object and its table.  Units  nanoseconds.
 * Threads  one owner at a time.  Callbacks of lanes and of the client of doors may call any
 * function. Limits   the table.  Errors  MEET_WAY_NONE, false. */
#ifndef MEET_WAYS_H
#define MEET_WAYS_H

#include "base/clock.h"
#include "door/sites.h"
#include "meet/rest.h"
#include "suci/lane.h"

#define MEET_WAY_NONE UINT32_MAX

struct meet_way {
	bool used;
	uint8_t why;	 /* rests: enum door_client_lost */
	uint32_t whose;	 /* the owner's */
	uint32_t import; /* NONE: none now */
	uint32_t lane;	 /* NONE: not yet */
	struct door_address at;
	struct meet_rest rest;
};

struct meet_ways_ops {
	/* Of a lane to that process: salts, windows; the rest is there. */
	void (*lane)(void *user, uint32_t whose, struct suci_lane_conf *c);
	/* It is that lane, from now on and until it is lost. */
	void (*opened)(void *user, uint32_t whose, uint32_t lane);
	/* For good; its lane is closed.  words: its last ones, or "". */
	void (*lost)(void *user, uint32_t whose, enum door_client_lost why, const char *words);
	/* meet_ways_turn() has something to do. */
	void (*wake)(void *user);
};

struct meet_ways {
	const struct door_sites *sites; /* the paths to the relays */
	struct door_client *client;
	struct suci_lanes *lanes;
	const struct meet_ways_ops *ops;
	void *user;
	uint32_t mine; /* our door, at the client; NONE: none, or it is lost */
	struct meet_rests rests;
	struct meet_way *way;
	uint32_t n, max;
	bool seeks;		  /* our door was not given back: ask again */
	struct door_address told; /* as the others know our door */
	uint64_t seek_ns;
	uint64_t moves, losses; /* lanes that were moved; ways that were lost */
};

/* way[max]: zeroed. */
void meet_ways_init(struct meet_ways *w, struct door_client *client, const struct door_sites *sites,
		    struct suci_lanes *lanes, const struct meet_ways_ops *ops, void *user,
		    struct meet_way *way, uint32_t max, uint64_t wait_ns);
/* A larger table, with what was in the old one at its beginning. */
void meet_ways_grow(struct meet_ways *w, struct meet_way *way, uint32_t max);
/* Our door, which HAS its address: ways are from there. */
void meet_ways_from(struct meet_ways *w, uint32_t own);

/* ---- ways */
/* The way to a process behind that door.  NONE: no room, here or at the client of doors. */
uint32_t meet_ways_to(struct meet_ways *w, uint32_t whose, const struct door_address *at,
		      uint64_t now_ns);
/* The way of that process; NONE: it has none (any more). */
uint32_t meet_ways_of(const struct meet_ways *w, uint32_t whose);
/* It has its lane.  false: its door is not reached yet, or there is no room. */
bool meet_ways_open(struct meet_ways *w, uint32_t way, uint64_t now_ns);
/* Not needed any more. */
void meet_ways_drop(struct meet_ways *w, uint32_t way, uint64_t now_ns);

/* Nobody waits any more: our door and all ways are lost. */
void meet_ways_over(struct meet_ways *w, uint64_t now_ns);

/* ---- what the client of doors tells: of our door, and of imports whose `whose` is a way */
void meet_ways_opened(struct meet_ways *w, uint64_t now_ns);
void meet_ways_reached(struct meet_ways *w, uint32_t import, uint64_t now_ns);
void meet_ways_lost(struct meet_ways *w, uint32_t import, enum door_client_lost why,
		    uint64_t now_ns);

/* ---- what lanes tell */
/* A first segment for our door. */
enum suci_verdict meet_ways_came(struct meet_ways *w, uint32_t site, uint32_t label,
				 uint64_t now_ns);
/* Its lane is unusable, and no more. */
void meet_ways_lane_down(struct meet_ways *w, uint32_t whose, uint64_t now_ns);

void meet_ways_turn(struct meet_ways *w, uint64_t now_ns);
/* When the next turn is due; never, if nothing waits for the clock. */
uint64_t meet_ways_due(const struct meet_ways *w);

/* For tests: NULL, or what does not agree. */
const char *meet_ways_check(const struct meet_ways *w);

#endif
