/* SPDX-License-Identifier: BSD-2-Clause */
/* light/client.h - a process's part of the light paths: what it tells its relay of the collective
 * calls it is in, and which of its messages to other clusters may go now.
 *
 *     relay: OFFER on ---> light_client_wants() ---> light_client_begin(): COMM, CALL
 *     a send is due   ---> light_client_wait() ---> [gate] ---> light_client_next(): send it now
 *     relay: CLEAR_TO_SEND -------------------^              light_client_sent() when it is out
 *     a message came  ---> light_client_over(): RECEIVED with the next light_client_turn()
 *
 * The gate opens for a message when the relay has said CLEAR_TO_SEND for it, when there is no light
 * any more, or when it has waited for so long that nobody can know better: patience.  Messages
 * leave one at a time, in the order of calls and steps: several at once would share the relay's
 * NIC and all end late.  One that may go waits for an earlier one of its call that may not, but
 * no longer than the last message took.  One that is not out after patience lets the next
 * go all the same, so that two processes never wait for each other here.  So does one whose
 * receiver has all but its last eighth: that is on its way, on its own port, while the next asks
 * for its receiver's buffer; more than two are never out.  What the receiver has is asked of the
 * caller: reckoned by time, one that is slower than those before it shares its way for its second
 * half, and the port that it leaves late is the one the plan moves next.
 *
 * All processes of a communicator have to come to the same answer of light_client_wants():
 * it depends on the offer and on the arguments all of them have.  Where they differ for a moment -
 * an offer arrives here earlier than there - messages wait for patience at most.
 *
 * Relays of one cluster may all offer light: ports at any of them are for all its processes.  One
 * that offers is told everything (the first, then another when it is gone or offers no more: calls
 * under way then go as they like), and CLEAR_TO_SEND is heard from each.
 *
 * CLEAR_TO_SEND may come before the call has begun here; as many of those as the limits say are
 * kept. A note that the relay's path does not take now is told again with the next turn.
 *
 * Units    bytes; nanoseconds of the caller's monotonic clock.
 * Bounds   no allocation but the memory given; gates and waits are the caller's.
 * Threads  one owner. */
#ifndef LIGHT_CLIENT_H
#define LIGHT_CLIENT_H

#include "light/note.h"

struct light_wait;
struct light_client_conf {
	enum circ_mode mode; /* of the calls announced; AUTO: the controller's choice */
	uint64_t patience_ns;
	uint32_t early_max; /* CLEAR_TO_SENDs kept for calls that have not begun here, 1 .. */
	uint32_t relays;    /* that may offer light; others are not heard; 1 .. */
	/* A note for the relay, its label base 0; false: not now. */
	bool (*tell)(void *user, uint32_t relay, struct light_note *note);
	/* How much of one that went its receiver is known to have; NULL: the next one waits until
	 * it is out. */
	uint64_t (*placed)(void *user, const struct light_wait *w);
	void *user;
};

struct light_counters {
	uint64_t announced;	/* calls, by this process */
	uint64_t gated;		/* messages that had to ask */
	uint64_t waited_ns;	/* all of them together */
	uint64_t without_go;	/* messages whose patience ended first */
	uint64_t overs;		/* messages reported as arrived */
	uint64_t other_version; /* offers of relays that plan by another LIGHT_VERSION: no light */
	uint64_t gos_dropped; /* CLEAR_TO_SENDs of calls that never began, or too many too early */
};

/* One call, in the caller's memory from light_client_begin() to light_client_end(). */
struct light_gate {
	struct light_call call;
	uint32_t rank, p;      /* in the communicator */
	const uint32_t *world; /* [p] world ranks */
	uint32_t *told;	       /* the communicator's: when all of its ranks were told, 0 at first */
	bool speaks;	       /* this process announces for its cluster: the lowest rank there */
	uint32_t *go, *arrived; /* [p], 0 at first */
	/* private */
	struct light_gate *next;
	uint64_t serial;
	uint32_t at; /* ranks told so far */
	bool any, untold;
};

/* One message that waits, in the caller's memory until light_client_sent(). */
struct light_wait {
	struct light_gate *gate;
	uint32_t to, count; /* it is the count-th, from 1, to that rank in this call */
	uint32_t step;	    /* orders those of one call */
	uint64_t bytes;
	void (*go)(struct light_wait *w);
	uint64_t mark; /* the caller's */
	/* private */
	struct light_wait *next;
	uint64_t since_ns;
};

struct light_client; /* opaque */

size_t light_client_footprint(const struct light_client_conf *conf);
struct light_client *light_client_new(void *mem, const struct light_client_conf *conf);

/* OFFER and CLEAR_TO_SEND of that relay; others are ignored. */
void light_client_heard(struct light_client *c, uint32_t relay, const struct light_note *n);
/* That relay is gone, or offers none. */
void light_client_dark(struct light_client *c, uint32_t relay);
/* Is a call worth announcing whose largest message has about so many bytes? */
bool light_client_wants(const struct light_client *c, uint64_t bytes);

/* The call begins; its messages to other clusters are gated from now on. */
void light_client_begin(struct light_client *c, struct light_gate *g);
/* Say that it will come (call.flags has FORECAST); the gate is not kept.  False: not said. */
bool light_client_forecast(struct light_client *c, struct light_gate *g);
/* The call is over here. */
void light_client_end(struct light_client *c, struct light_gate *g);
/* The communicator is gone that was told. */
void light_client_free(struct light_client *c, uint32_t comm, uint32_t leader);

void light_client_wait(struct light_client *c, struct light_wait *w, uint64_t now_ns);
/* One that may go now; it waits no more.  NULL: none. */
struct light_wait *light_client_next(struct light_client *c, uint64_t now_ns);
/* It has been handed over, to the last byte. */
void light_client_sent(struct light_client *c, const struct light_wait *w);
/* A message of rank `from` has arrived. */
void light_client_over(struct light_client *c, struct light_gate *g, uint32_t from);
/* Tell what is to be told. */
void light_client_turn(struct light_client *c);
/* Is there something that light_client_turn() or _next() may have to do? */
bool light_client_busy(const struct light_client *c);
/* When light_client_next() is to be asked at the latest; UINT64_MAX: never. */
uint64_t light_client_expiry_ns(const struct light_client *c);
const struct light_counters *light_client_counters(const struct light_client *c);

#endif
