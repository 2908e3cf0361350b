/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/trouble.h - a job of engines of lib/mpi in a world that is drawn, and what happens to it.
 *
 * One to three clusters, over relays if there are several.  Links lose, repeat and reorder;
 * processes and relays are not scheduled for a while, so that they read nothing; relays die and
 * come back as long as another of their cluster knows the job.  In a job of one cluster processes
 * die, too: the others hear of it from their launcher or by a path that is down, each at a time of
 * its own.
 *
 *     trouble_begin() ; the scenario's own ; trouble_plan() ; trouble_run() ; its checks ;
 *     trouble_end() ; free what engines had
 *
 * A scenario has a struct trouble, and is asked by its operations. */
#ifndef SIM_TROUBLE_H
#define SIM_TROUBLE_H

#include "enode.h"
#include "scenario.h"

struct trouble;
struct trouble_ops {
	/* One act of that process; queues of its engine are driven then. */
	void (*act)(struct enode *n);
	/* That process has died. */
	void (*perished)(struct enode *n);
	/* All has been done; a text of what has not, if not NULL. */
	bool (*complete)(const struct trouble *t, char *rest, size_t len);
};

struct trouble {
	struct enodes nodes; /* first */
	const struct trouble_ops *ops;
	struct base_prng prng;
	uint64_t start_ns, end_ns; /* of trouble */
	uint64_t step_ns;	   /* between two acts of a process, at most */
	uint32_t killed, died;
	bool immortal; /* no process dies but by trouble_kill() */
	bool one_cluster;
};

static inline struct trouble *
trouble_of(const struct enode *n)
{
	return (struct trouble *)(void *)n->all;
}

/* A world and its engines.  t is zero but for ops, immortal, one_cluster, nodes.turned, nodes.lost.
 */
void trouble_begin(struct trouble *t, uint64_t seed, uint64_t salt, bool verbose,
		   const struct lmpi_contexts *tolerant);
void trouble_plan(struct trouble *t);
/* That process dies in a while, unless it is the last one. */
void trouble_kill(struct trouble *t, uint32_t rank, uint64_t in_ns);
/* Until all is complete, which must be. */
void trouble_run(struct trouble *t);
void trouble_end(struct trouble *t, struct outcome *o);

#endif
