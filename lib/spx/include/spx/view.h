/* SPDX-License-Identifier: BSD-2-Clause */
/* spx/view.h - who is there and what is chained to what: the view that all processes act by.
 *
 * A view is a plain table with a number.  Somebody else agrees on views and hands the same ones,
 * in rising order, to every process; some may be left out.  In a view:
 *
 *     cluster   a stage: a program with ranks 0 .. compute - 1, which never change
 *     process   computing (has a rank of its cluster) or I/O (between clusters, has none)
 *     chain     frames go from one cluster to another.  Chains are a graph without circles.
 *
 *		 input --chain 0--> filter --chain 2--> output
 *		       \-chain 1--> filter2 -chain 3--/
 *
 * An I/O process serves the chains whose bits it has, none of them behind another.  Chains that
 * leave the same cluster are alternatives: a frame goes over one of them.
 *
 * States   of a chain: OFF (never was, or is drained and removed), ACTIVE, DRAINING (takes no
 *	    new frames; what its I/O processes have taken still goes over it).  Its place in the
 *	    table, and so its bit, stays its own.
 *	    of a process: ALIVE, DRAINING (an I/O process that takes no more frames), DEAD (for
 *	    good: whoever takes the rank over has another id, and takeovers counts).
 * A lost cluster is one that fell silent as a whole; on_lost of the chains into it says what then:
 *	    WAIT     frames wait for it (unless another chain goes on)
 *	    BYPASS   frames go to the clusters behind it, as they are
 *	    STOP     nobody begins a frame any more
 *	    RESTART  frames wait, and whoever manages clusters is asked to start it again
 * Start    no frame is begun until all of a pipeline are there: all ranks of all clusters that
 *	    chains connect, and an I/O process for each chain.  A cluster that has `started` does
 *	    not wait again.
 *
 * Ids      32 bits, never used again.  Ranks of clusters: SPX_ROLE(cluster, rank).
 * Threads  pure functions.  Limits below.
 * Errors   texts of at most SPX_TEXT_MAX bytes: what is wrong, where, and what helps.
 * Source   [SX] 3.1 to 3.5; what is left open there (start, policies) is here. */
#ifndef SPX_VIEW_H
#define SPX_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPX_CLUSTERS_MAX 64
#define SPX_CHAINS_MAX	 64
#define SPX_PROCS_MAX	 4096
#define SPX_NAME_MAX	 32
#define SPX_TEXT_MAX	 256
#define SPX_WINDOW_MAX	 256
#define SPX_NONE	 UINT32_MAX

#define SPX_ROLE(cluster, rank) ((uint32_t)(cluster) << 16 | (uint32_t)(rank))
#define SPX_ROLE_CLUSTER(role)	((uint16_t)((role) >> 16))
#define SPX_CHAIN_BIT(chain)	(UINT64_C(1) << (chain))

enum spx_kind { SPX_COMPUTE, SPX_IO };
enum spx_proc_state { SPX_ALIVE, SPX_PROC_DRAINING, SPX_DEAD };
enum spx_chain_state { SPX_CHAIN_OFF, SPX_CHAIN_ACTIVE, SPX_CHAIN_DRAINING };
enum spx_policy { SPX_RR, SPX_LEAST, SPX_WEIGHT, SPX_STICKY, SPX_USER };
enum spx_on_lost { SPX_WAIT, SPX_BYPASS, SPX_STOP, SPX_RESTART };

struct spx_proc {
	uint32_t id;
	uint16_t cluster; /* I/O: of whom it is named; nothing depends on it */
	uint16_t rank;	  /* computing */
	enum spx_kind kind;
	enum spx_proc_state state;
	bool ready;	    /* its program has started and waits for frames */
	uint16_t weight;    /* for SPX_WEIGHT; 0 is 1 */
	uint16_t takeovers; /* how often its rank was taken over before */
	uint64_t chains;    /* I/O: bits of the chains it serves */
};

struct spx_cluster {
	char name[SPX_NAME_MAX];
	uint16_t compute; /* ranks */
	bool lost, started;
};

struct spx_chain {
	uint16_t from, to; /* clusters */
	enum spx_chain_state state;
	bool ordered;	 /* frames of an origin begin in rising order, none left out */
	uint16_t window; /* frames of an origin that are not committed; 1 .. SPX_WINDOW_MAX */
	enum spx_policy policy;
	enum spx_on_lost on_lost;
};

struct spx_view {
	uint64_t number; /* 1, 2, ... */
	uint32_t nproc, ncluster, nchain;
	struct spx_proc *proc; /* by rising id */
	struct spx_cluster *cluster;
	struct spx_chain *chain;
};

/* false: why[SPX_TEXT_MAX] names what cannot work: a circle, a cluster or chain that is not
 * there, ids that do not rise, a rank twice. */
bool spx_view_check(const struct spx_view *v, char *why);
const struct spx_proc *spx_view_proc(const struct spx_view *v, uint32_t id);
/* Who lives and has that rank; NULL: nobody. */
const struct spx_proc *spx_view_role(const struct spx_view *v, uint32_t role);
/* The cluster named so, or SPX_NONE. */
uint32_t spx_view_cluster(const struct spx_view *v, const char *name);
/* Frames on chain c may be given to that cluster: it is the chain's, or behind lost ones that are
 * bypassed. */
bool spx_view_reaches(const struct spx_view *v, uint32_t c, uint16_t cluster);
/* Chains into a cluster, or out of it, that are not off; bits. */
uint64_t spx_view_into(const struct spx_view *v, uint16_t cluster);
uint64_t spx_view_out_of(const struct spx_view *v, uint16_t cluster);
/* Chains out of `from`, of those in `serves`, over which frames are given now: the active ones,
 * or if there are none (that are not lost) those that drain.  Bits. */
uint64_t spx_view_giving(const struct spx_view *v, uint64_t serves, uint16_t from);
/* The computing process that begins all frames of `from` where these chains are ordered: the
 * lowest living rank behind the first of them.  NULL: nobody, or not ordered. */
const struct spx_proc *spx_view_lead(const struct spx_view *v, uint64_t chains);
/* true: the pipeline of that cluster may run.  Else why[SPX_TEXT_MAX] says who is missing. */
bool spx_view_complete(const struct spx_view *v, uint16_t cluster, char *why);

/* Changes chains[*nchain], for which there is room for SPX_CHAINS_MAX, as a text says:
 *
 *     add FROM TO [ordered] [policy=rr|least|weight|sticky|user] [window=N]
 *		   [on_lost=wait|bypass|stop|restart]
 *     drain FROM TO	    remove FROM TO	  (it was drained before)
 *     move FROM TO NEW	    = add FROM NEW, with what FROM TO has; drain FROM TO
 *
 * separated by ';' or line ends.  All of it, or false, a why, and nothing is changed. */
bool spx_chain_ops(const struct spx_view *names, struct spx_chain *chains, uint32_t *nchain,
		   const char *ops, size_t len, char *why);
const char *spx_policy_name(enum spx_policy p);
const char *spx_on_lost_name(enum spx_on_lost l);

/* Writes a text of at most SPX_TEXT_MAX bytes; false, always. */
bool spx_say(char *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
