/* SPDX-License-Identifier: BSD-2-Clause */
/* meet/rest.h - how ways and lines (meet/ways.h, meet/lines.h) rest while the other door is out of
 * reach, and go on.
 *
 *     GOES --its way breaks--> RESTS --reached by a name--> NAMED --granted--> GOES
 *                                                             +--refused--> RESTS
 *
 * A name may still be refused, and be given as often as it is asked for: so the time of a rest runs
 * on until the door is granted.  Only time counts in which the owner had its turns.  All that rest
 * are looked at each MEET_REST_LOOK_NS.
 *
 * Sans-I/O.  Memory  the owner's.  Units  nanoseconds.  Threads  one owner at a time. */
#ifndef MEET_REST_H
#define MEET_REST_H

#include "base/clock.h"
#include "door/client.h"

#define MEET_REST_LOOK_NS (100 * BASE_MS_NS)

/* Of one. */
struct meet_rest {
	bool met;	    /* the other door was reached once */
	bool rests;	    /* its lane goes nowhere */
	bool named;	    /* it rested, and goes on by a name */
	bool unsure;	    /* what was said is behind a question that may be answered elsewhere */
	uint64_t rested_ns; /* and had turns; since it was granted last */
	uint64_t again_ns;  /* without an import: then there is to be one */
};

/* Of all of an owner. */
struct meet_rests {
	uint32_t n; /* that rest or are named */
	uint64_t looked_ns, wait_ns;
};

static inline bool
meet_rest_is_on(const struct meet_rest *x)
{
	return x->rests || x->named;
}

/* False: it rests already. */
bool meet_rest_begin(struct meet_rests *all, struct meet_rest *x, uint64_t now_ns);
/* It goes on by that import: by its name, if that is all it has. */
void meet_rest_go_on(struct meet_rests *all, struct meet_rest *x,
		     const struct door_client_import *m);
/* The import of one that goes is granted. */
void meet_rest_granted(struct meet_rests *all, struct meet_rest *x,
		       const struct door_client_import *m);
/* It rests no more, or is no more. */
void meet_rest_end(struct meet_rests *all, struct meet_rest *x);

/* What is said by that import is behind a question: of a door at two relays either may be the one
 * to carry it, and what was said before that was settled may be lost. */
static inline bool
meet_rest_is_unsure(const struct door_client_import *m)
{
	return m->state == DOOR_CLIENT_NAMED && m->at.nrelays > 1;
}

/* The time since the last look at those that rest; 0: it is not time for another one. */
uint64_t meet_rest_step(struct meet_rests *all, uint64_t now_ns);
/* When it is; never, if none rests. */
uint64_t meet_rest_due(const struct meet_rests *all);
enum meet_rest_next {
	MEET_REST_WAITS,
	MEET_REST_OVER, /* it has rested for wait_ns */
	MEET_REST_ASKS, /* for another import */
	MEET_REST_GOES, /* its import reaches the door */
};
/* Of one that is on, at such a look. */
enum meet_rest_next meet_rest_look(const struct meet_rests *all, struct meet_rest *x,
				   const struct door_client *client, uint32_t import,
				   uint64_t step_ns, uint64_t now_ns);

#endif
