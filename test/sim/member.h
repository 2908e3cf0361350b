/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/member.h - processes with engines that survive deaths: lib/ft with messages of the engine,
 * as libmpi has it, and what must hold of agreements.
 *
 * A scenario has a struct members, whose nodes are made by enode_make().  Agreements of all
 * processes are numbered; those of others (member_meet()) only end.
 *
 * Checked  who ends an agreement ends it with the same result as all others that can be reached;
 *	    it is made of what members offered, all the living among them. */
#ifndef SIM_MEMBER_H
#define SIM_MEMBER_H

#include "enode.h"

#include "ft/ft.h"

#define MEMBER_AGREEMENTS 8u

struct agreed {
	uint64_t and_of[2], max_of, failed;
};

struct member {
	struct ft *f;
	uint32_t begun, ended; /* agreements of all */
	bool revoked;
	uint32_t knows; /* bits of failures */
	struct agreed got[MEMBER_AGREEMENTS];
};

struct members {
	struct enodes nodes; /* first */
	struct member member[ENODES_MAX];
	uint32_t began[MEMBER_AGREEMENTS]; /* bits of ranks */
	/* Agreement k of all has ended at n, or member_meet(). */
	void (*agreed)(struct enode *n, uint32_t k);
	void (*met)(struct enode *n);
};

struct members *members_of(const struct enode *n);
struct member *member_of(const struct enode *n);
/* engine: what it is made with; handler and tolerant are the member's. */
void member_make(struct members *m, uint32_t rank, const struct lmpi_engine *engine);
void member_free(struct members *m, uint32_t rank);
void member_agree(struct enode *n);
/* All of first .. first + count - 1 do that. */
void member_meet(struct enode *n, uint32_t first, uint32_t count);
/* All processes are in context ctx. */
void member_revoke(struct enode *n, uint64_t ctx);
void member_check(const struct enode *n);

#endif
