/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/coll/coll_light.h - collective calls and light paths (light/client.h): which calls are
 * announced, and the gate of their messages to other clusters.
 *
 * Announced are calls of communicators over several clusters, all of them ours, that have the
 * same counts everywhere, if light is worth it for them.  Irregular and neighbourhood calls,
 * those between two groups and those with foreign clients go as ever.
 *
 * Threads  the lock is held. */
#ifndef LMPI_COLL_LIGHT_H
#define LMPI_COLL_LIGHT_H

#include "coll.h"
#include "light.h"

struct lmpi_coll_light {
	struct light_gate gate;
	uint32_t *sent; /* [size] messages to each rank so far */
};

/* Is the call to go through its messages the other way round (coll_args.reversed)?  In mode cached
 * every second one of its kind, which so begins with the circuits that the one before ended with.
 * To be asked once for each operation, in the order of the calls. */
bool lmpi_coll_light_reverses(struct lmpi_coll *c);
/* The call starts: c->light is set if its messages are gated.  Only with lmpi_light. */
void lmpi_coll_light_start(struct lmpi_coll *c);
/* A persistent operation was made, and will be started. */
void lmpi_coll_light_forecast(struct lmpi_coll *c);
/* Must the message of this step ask?  Then it waits, and w->go() is called when it may go.  To
 * be called once for every send of a call with c->light, in order. */
bool lmpi_coll_light_holds(struct lmpi_coll *c, uint32_t step, struct light_wait *w);
/* A message of this call has arrived. */
void lmpi_coll_light_arrived(struct lmpi_coll *c, const struct coll_step *s);
/* The call is over. */
void lmpi_coll_light_end(struct lmpi_coll *c);
/* The communicator goes, some of whose calls were announced. */
void lmpi_coll_light_forget(const struct lmpi_comm *comm);

#endif
