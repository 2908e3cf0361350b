/* SPDX-License-Identifier: BSD-2-Clause */
/* door/client.h - what a process has at the relays that carry its doors, and what it says there
 * (relayproto/door.h; doc/job-setup.md, Doors): its own doors, doors of others that it imports, and
 * those who called it.
 *
 *     own      FREE --open--> WANTED --REGISTER--> ASKED --ADDRESS--> HAVE --close, LEAVE--> FREE
 *     import   FREE --import-> WANTED --IMPORT---> ASKED --IMPORTED-> HAVE --drop, DROP----> FREE
 *                                                    +-NAMED-> NAMED -^
 *
 * A refused one, and an import that is gone, is OVER until the owner closes or drops it.  What is
 * closed or dropped while it is ASKED or NAMED waits for the answer, and gives that back.  What is
 * NAMED may be written to, and may still be refused: it is asked for, and what is said is behind
 * that on the way.
 *
 * There may be two relays, called sites 0 and 1; who has one uses 0.  A door is WANTED at the first
 * that is up.  If the other one is up then, or is coming, the door is registered there, too, under
 * the label that it has; then the first hears where else it is, and it is HAVE, with both in its
 * address.  A relay that knows nothing of that, or of the other one, leaves it at one.  A door that
 * is at two outlives either: it is registered again at the one that comes back.  Imports are all at
 * its home, and move with it: RESET says so.
 *
 * The owner has the paths to the relays, its clock, and the lanes.  It calls door_client_up() and
 * _down(), hands in notes, and calls door_client_turn() when ops->wake() says so and, if that had
 * no room, a millisecond later.
 *
 * A token is never used twice, also not for a door that is registered again behind another path:
 * by the old address nobody reaches lanes that begin anew.  Unless door_client_keep() was said: a
 * door that is lost then is asked for by the address that it had, for its owner's lanes say
 * themselves that they are new.  It is OVER if no relay gives it: somebody has its labels, or they
 * are not free yet.
 *
 * A door may also be asked for by an address that its owner was given (door_client_claim()), as if
 * it had had that and lost it.
 *
 * Sans-I/O.  Memory  the owner's: the object and its two tables.  Units  nanoseconds.
 * Threads  one owner at a time.  Callbacks may call any function but _turn, _note, _up, _down.
 * Limits   the tables; DOOR_CLIENT_PLACES each; DOOR_CLIENT_LETTERS words that wait for room, at
 *          each site.
 * Errors   DOOR_CLIENT_NONE, false: no room now. */
#ifndef DOOR_CLIENT_H
#define DOOR_CLIENT_H

#include "door/address.h"
#include "relayproto/door.h"
#include "relayproto/hello.h"
#include "relayproto/text.h"

#define DOOR_CLIENT_NONE    UINT32_MAX
#define DOOR_CLIENT_PLACES  (1u << 20)
#define DOOR_CLIENT_LETTERS 256u
#define DOOR_CLIENT_SECRET  16u
#define DOOR_CLIENT_SITES   2u
#define DOOR_CLIENT_SOON_NS 1000000ull /* look again, if a note found no room */

enum door_client_state {
	DOOR_CLIENT_FREE,
	DOOR_CLIENT_WANTED, /* the relay is still to be asked */
	DOOR_CLIENT_ASKED,
	DOOR_CLIENT_NAMED, /* an import: it has a label, if it is granted */
	DOOR_CLIENT_HAVE,
	DOOR_CLIENT_OVER,  /* refused, or gone */
	DOOR_CLIENT_WAITS, /* not needed any more: the answer is to come */
	DOOR_CLIENT_ENDS,  /* and that is still to be said */
};

/* Why an own door is OVER. */
enum door_client_why {
	DOOR_CLIENT_FULL,      /* its relay has no room, or none for doors of that kind */
	DOOR_CLIENT_TAKEN,     /* somebody has its address, or had it until just now */
	DOOR_CLIENT_ELSEWHERE, /* the relay gave another address: is_at */
};

/* Of an own door at one site. */
enum door_client_there {
	DOOR_CLIENT_ASK = 1,   /* REGISTER is to be said */
	DOOR_CLIENT_SAID = 2,  /* the answer is to come */
	DOOR_CLIENT_HAS = 4,   /* the relay has it */
	DOOR_CLIENT_LEAVE = 8, /* LEAVE is to be said */
};

struct door_client_own {
	struct door_address at; /* realm, token and n at once, all once HAVE */
	uint32_t request[DOOR_CLIENT_SITES];
	uint32_t whose;			  /* the owner's */
	uint8_t state;			  /* enum door_client_state */
	uint8_t first;			  /* site of the relay that gave the label */
	uint8_t home;			  /* site of its imports */
	uint8_t there[DOOR_CLIENT_SITES]; /* enum door_client_there */
	bool keeps;			  /* its address, when it is lost */
	bool stays;			  /* and never takes another one */
	bool back;			  /* it is asked for by the address that it had */
	bool claimed;			  /* or that it was given */
	uint8_t why;			  /* OVER: enum door_client_why */
	struct door_relay is_at;	  /* ELSEWHERE: the relay, as it says itself */
};

struct door_client_import {
	struct door_address at;
	uint32_t request;
	uint32_t whose;
	uint32_t label; /* NAMED, HAVE: what our relay calls it */
	uint32_t own;	/* ours that comes along: asked for when that is there */
	uint16_t turn;	/* how often it began anew */
	uint8_t state;	/* enum door_client_state */
	uint8_t site;	/* ASKED and on: where */
};

enum door_client_lost {
	DOOR_CLIENT_REFUSED, /* nobody has that address now, or a relay is full */
	DOOR_CLIENT_GONE,    /* it left, or its process died */
	DOOR_CLIENT_RESET,   /* a way to it broke: it is reached anew, unless dropped */
	DOOR_CLIENT_RELAY,   /* our relay is gone, and there is no other */
};

struct door_client_ops {
	/* To the relay.  false: no room now. */
	bool (*say)(void *user, uint32_t site, const void *note, size_t len);
	/* door_client_turn() has something to do. */
	void (*wake)(void *user);
	/* HAVE, or OVER: own[].why. */
	void (*opened)(void *user, uint32_t own);
	/* NAMED, or HAVE, at first or anew. */
	void (*reached)(void *user, uint32_t import);
	/* OVER; or RESET, and it is HAVE: reached() follows unless it is dropped now.  Or RESET,
	 * and it is WANTED, at another site: as if it were imported now. */
	void (*lost)(void *user, uint32_t import, enum door_client_lost why);
	/* Who is called so, and is held, is gone. */
	void (*left)(void *user, uint32_t site, uint32_t label);
};

struct door_client_conf {
	uint8_t secret[DOOR_CLIENT_SECRET]; /* random: tokens are made of it */
	uint32_t not_label;		    /* a label that own doors must not have; 0: none */
	const struct door_client_ops *ops;
	void *user;
};

struct door_client_site {
	bool up;
	uint64_t retry_ns; /* not before is a path to be opened again */
	/* Its own. */
	bool coming;
	uint64_t gap_ns;
	uint32_t nletters;
	struct door_client_letter {
		uint32_t label, request;
		uint8_t op;
	} letter[DOOR_CLIENT_LETTERS];
};

struct door_client {
	/* For the owner to read. */
	struct door_client_own *own;
	struct door_client_import *import;
	uint32_t owns, imports; /* places that were ever used */
	bool up;		/* one of the sites, at least */
	struct door_client_site site[DOOR_CLIENT_SITES];
	char words[RELAY_WHY_MAX]; /* in lost() and left(): the last ones of who is gone, or "" */
	bool ended; /* in lost(), GONE: its process has, else it or its relay may only be lost */
	/* Its own. */
	struct door_client_conf conf;
	uint32_t owns_max, imports_max;
	uint64_t tokens;
	uint32_t serial;
};

/* own[owns_max], import[imports_max]: zeroed. */
void door_client_init(struct door_client *c, const struct door_client_conf *conf,
		      struct door_client_own *own, uint32_t owns_max,
		      struct door_client_import *import, uint32_t imports_max);
/* A larger table, with what was in the old one at its beginning. */
void door_client_grow(struct door_client *c, struct door_client_import *import,
		      uint32_t imports_max);

/* ---- the relay */
/* The hello of a process that has no other business with the relay. */
void door_client_hello(uint8_t out[RELAY_HELLO_LEN]);
/* Is it a relay that says so?  *mtu: what its trunks take. */
bool door_client_is_relay(const void *hello, size_t len, uint32_t *mtu);
/* Of segments over the relay: of the path to it, and over trunks of that mtu (0: unknown). */
uint32_t door_client_mss(uint32_t path_mss, uint32_t mtu);
/* A path there is being opened: doors that are registered meanwhile wait for it, or for _down(). */
void door_client_coming(struct door_client *c, uint32_t site);
/* It takes too long: what waits for that alone is opened without. */
void door_client_hurry(struct door_client *c);
void door_client_up(struct door_client *c, uint32_t site);
/* Imports that were reached there are lost.  again, or another site is up: own doors that are
 * nowhere now are WANTED as other doors, imports that were not reached too; else all are OVER, and
 * lost. */
void door_client_down(struct door_client *c, uint32_t site, bool again, uint64_t now_ns);
/* Has any door or import something to say there? */
bool door_client_wants(const struct door_client *c, uint32_t site);
void door_client_note(struct door_client *c, uint32_t site, const void *note, size_t len);
/* Say what is to be said.  false: not all found room. */
bool door_client_turn(struct door_client *c);

/* ---- own doors */
/* n labels; the place is the lowest that is free from `from` on. */
uint32_t door_client_open(struct door_client *c, uint32_t from, uint16_t n, uint64_t realm,
			  uint32_t whose);
/* An address whose label is from DOOR_CLAIMS on, at the relays of the sites, in their order.  Which
 * cluster it says is not looked at.  It keeps it, as after door_client_stay(). */
uint32_t door_client_claim(struct door_client *c, uint32_t from, const struct door_address *at,
			   uint32_t whose);
void door_client_close(struct door_client *c, uint32_t own);
/* Once it HAS an address it keeps that; but if that says one relay, which is gone while the other
 * one is up, it takes another one there. */
void door_client_keep(struct door_client *c, uint32_t own);
/* The same, and it waits for its relay then: who has its address has no other one. */
void door_client_stay(struct door_client *c, uint32_t own);
/* It is OVER because its address was not given, or claimed and at one of two relays alone: ask
 * again.  false: it is not. */
bool door_client_again(struct door_client *c, uint32_t own);
/* The one that HAS that label; NONE. */
uint32_t door_client_mine(const struct door_client *c, uint32_t label);

/* ---- doors of others */
uint32_t door_client_import(struct door_client *c, const struct door_address *at, uint32_t own,
			    uint32_t whose);
static inline bool
door_client_reaches(const struct door_client_import *m)
{
	return m->state == DOOR_CLIENT_NAMED || m->state == DOOR_CLIENT_HAVE;
}
void door_client_drop(struct door_client *c, uint32_t import);
/* Those with that own door: the one that the relay there calls so, or NONE; *more: there are some
 * that it has no name for yet. */
uint32_t door_client_called(const struct door_client *c, uint32_t site, uint32_t own,
			    uint32_t label, bool *more);
/* A relay that carries both: who is behind the address is of this cluster. */
bool door_client_near(const struct door_client *c, uint32_t own, const struct door_address *at);
/* Who called us, or does so no more.  false: no room now, nothing is kept. */
bool door_client_hold(struct door_client *c, uint32_t site, uint32_t label);
bool door_client_unhold(struct door_client *c, uint32_t site, uint32_t label);

/* For tests: NULL, or what does not agree. */
const char *door_client_check(const struct door_client *c);

#endif
