/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/enode.h - processes with engines of lib/mpi, on lanes of a world.
 *
 * A scenario has a struct enodes, which is its world's `scenario`; enode_app is its `app`.  It
 * makes the engines, kills processes, tells the others, and is asked by calls.
 *
 * Streams  if a scenario has any, data of long messages within a cluster goes over them where
 *	    lib/mpi says so (mpi/stream.h); their bytes take a while, and are never lost.
 * Death    enode_kill() outside of that process's own calls; others hear by enode_hear(), when
 *	    their path to it is down, or when a relay says so.  Who hears takes nothing more from
 *	    the dead, then enodes.lost() is called. */
#ifndef SIM_ENODE_H
#define SIM_ENODE_H

#include "world.h"

#include "stream_net.h"

#include "mpi/engine.h"

#define ENODES_MAX 16

struct enodes;

struct enode {
	struct enodes *all;
	struct end *end;
	struct lmpi_engine e;
	struct lmpi_peer peer[ENODES_MAX];
	uint64_t steps; /* the scenario's */
	uint64_t turns; /* of its loop */
};

struct enodes {
	struct world *w;
	struct enode node[ENODES_MAX];
	bool over;		    /* what fails now is no fault */
	uint32_t dead, left;	    /* bits of ranks */
	uint32_t apart[ENODES_MAX]; /* the same: whom nothing connects with this one any more */
	struct stream_net *streams; /* or NULL */
	uint32_t flows[ENODES_MAX]; /* bits of those to whom bytes of a stream are on their way */
	uint32_t news;		    /* of deaths, on their way; a scenario may add its own */
	struct enode *current;	    /* whose callbacks run */
	void (*turned)(struct enode *n); /* after a turn; or NULL */
	void (*lost)(struct enode *n, uint32_t dead);
};

extern const struct end_app enode_app;
/* Of a scenario in which a source is its world rank and nobody receives from any. */
extern const struct lmpi_contexts enode_contexts;

/* limits: what of an engine the scenario decides.  eager_max of peers may be changed after. */
void enode_make(struct enodes *all, uint32_t rank, const struct lmpi_engine *limits);
uint64_t enode_now(const struct enode *n);
void enode_run_done(struct enode *n);
void enode_check(const struct enode *n);
/* false: it is dead already, or the last one. */
bool enode_kill(struct enode *n);
void enode_hear(struct enode *n, uint32_t dead, uint64_t in_ns);
/* That process may be taken for dead there. */
bool enode_may_miss(const struct enode *n, uint32_t rank);
/* What the dead, and who has gone, have left in their engines goes. */
void enodes_bury(struct enodes *all);

#endif
