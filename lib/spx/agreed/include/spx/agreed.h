/* SPDX-License-Identifier: BSD-2-Clause */
/* spx/agreed.h - a pipeline as the daemons of lib/sp agree on it.
 *
 * lib/sp decides who plays which role, and which facts hold.  This turns that into what processes
 * of lib/spx act by, a function of the agreed view and of the tables below; it decides nothing.
 *
 *     agreed view (sp/view.h) + what roles are --spx_agreed_view()--> view for processes
 *     text that changes chains --spx_agreed_ask()--> facts that are asked for
 *
 * Facts    SPX_FACT_CHAIN + i   chain i: a = IS_CHAIN | from << 16 | to, b = state, order, policy,
 *				 on_lost, window
 *	    SPX_FACT_STARTED     bits of clusters that were complete once
 *	    SPX_FACT_FREE ..     of whoever uses this
 * Pools    SPX_POOL(cluster, io): ranks and their spares, I/O processes and theirs.
 * Ids      of processes count from 1, by slot.  Slots below `first` are nobody's: roles that are
 *	    kept for later have them.
 * Memory   the caller's.
 * Threads  pure functions of their arguments. */
#ifndef SPX_AGREED_H
#define SPX_AGREED_H

#include "sp/node.h"
#include "spx/view.h"

enum { SPX_FACT_CHAIN = 0, SPX_FACT_STARTED = SPX_CHAINS_MAX, SPX_FACT_FREE };

#define SPX_POOL(cluster, io) (2u * (cluster) + ((io) ? 1u : 0u))
#define SPX_POOLED_MAX	      31u /* clusters: two pools each, and SP_POOL_LATER */

/* What a role of lib/sp is. */
enum spx_part {
	SPX_PART_NONE,	 /* nobody's yet */
	SPX_PART_RANK,	 /* index: the rank */
	SPX_PART_BEFORE, /* an I/O process of all chains into the cluster */
	SPX_PART_BEHIND, /* ... of all that lead on from it */
	SPX_PART_CHAIN	 /* ... of one chain, whose number is index */
};

struct spx_role {
	uint8_t part;
	uint16_t cluster, index;
};

struct spx_agreed {
	const struct spx_role *role;	   /* [roles of lib/sp] */
	const struct spx_cluster *cluster; /* name, compute; the rest is not looked at */
	uint32_t clusters, first;	   /* first: the slot of id 1 */
	uint16_t *played;		   /* [roles] for work */
};

static inline uint32_t
spx_id_of_slot(const struct spx_agreed *a, uint32_t slot)
{
	return slot - a->first + 1;
}

static inline uint32_t
spx_slot_of_id(const struct spx_agreed *a, uint32_t id)
{
	return id - 1 + a->first;
}

/* Chains as facts of view 1: writes fact[SPX_FACT_CHAIN ..]. */
void spx_agreed_facts(const struct spx_chain *chain, uint32_t n, struct sp_fact *fact);
/* Into x, which has room for as many processes as v has slots.  lost: bits of clusters all of whose
 * nodes and ranks are gone; of those that were complete once they count. */
void spx_agreed_view(const struct spx_agreed *a, const struct sp_view *v, uint64_t lost,
		     struct spx_view *x);
/* Asks for what ops says (spx_chain_ops()), as seen in x, which is changed.  false: why; x is as
 * before. */
bool spx_agreed_ask(struct sp_node *n, struct spx_view *x, const char *ops, size_t len, char *why,
		    uint64_t now_ns);
/* Clusters that are complete the first time, bits; spx_agreed_start() asks that all know it. */
uint64_t spx_agreed_complete(const struct spx_view *x);
void spx_agreed_start(struct sp_node *n, uint64_t bits, uint64_t now_ns);
/* The first stages have made all their frames and seen them committed.  left: [slots] finished. */
bool spx_agreed_done(const struct spx_agreed *a, const struct sp_view *v, const struct spx_view *x,
		     const bool *left);
/* "rank 2 of filter", "I/O process 0 before filter"; text[SPX_TEXT_MAX]. */
void spx_agreed_name(const struct spx_agreed *a, uint32_t role, char *text);

#endif
