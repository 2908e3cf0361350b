/* SPDX-License-Identifier: BSD-2-Clause */
/* sp/view.h - who is who in a cluster: role -> slot, one view after the other.
 *
 * A role is what MPI calls a rank, or an I/O process; roles are 0 .. roles - 1 and never change.
 * A slot is a process: it is made once, on a unit, and dies once; its number is never used again.
 * A view says for each role which slot plays it.  Views have numbers without gaps; the epoch
 * counts how often a role went to another slot.
 *
 *     view n --sp_view_apply(change with base n)--> view n + 1
 *
 * Pools    Slots are of kinds: a slot plays roles of its own pool only, as its program is another.
 *	    A pool may be off: nothing of it runs, and its roles wait until it is on.
 *	    A role of pool SP_POOL_LATER is nobody's yet: SP_OP_ROLES gives it a pool.
 * Gone	    A role may be given up for good, when no spare is left: the others go on without it.
 * Ready    A slot has said that it can be reached.
 * Facts    are numbers that somebody else gives a meaning; all agree on them as on the rest.
 * Changes  are bytes that the master of the cluster writes and the voters agree on; applying one
 *	    is a function of view and bytes alone, so everybody who applies the same changes has
 *	    the same view.  A change that does not follow from the view is refused whole.
 * Clock    clock_ms adds up what changes say about the time since the one before.  Masters come
 *	    and go with clocks of their own, so it may run late, never early.
 * Memory   the caller's: sp_view_footprint() bytes.
 * Limits   SP_ROLES_MAX, SP_SLOTS_MAX, SP_UNITS_MAX, SP_POOLS_MAX, SP_FACTS_MAX; slots are never
 *	    freed, so slots_max bounds the deaths a run survives.
 * Threads  one owner. */
#ifndef SP_VIEW_H
#define SP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_NONE	      UINT32_MAX
#define SP_ROLES_MAX  4096u
#define SP_SLOTS_MAX  16384u
#define SP_UNITS_MAX  256u
#define SP_FAULTS_MAX 16u
#define SP_POOLS_MAX  64u
#define SP_FACTS_MAX  256u
#define SP_POOL_LATER (SP_POOLS_MAX - 1u) /* of roles that are kept for later; it stays off */

enum sp_slot_state { SP_SLOT_SPARE, SP_SLOT_ROLE, SP_SLOT_DEAD };

/* X(id, text): why a slot is dead, or all is over. */
#define SP_WHYS(X)                                                    \
	X(NONE, "")                                                   \
	X(EXIT, "its process ended")                                  \
	X(HANG, "its process gave no sign of life")                   \
	X(NODE, "its node fell silent")                               \
	X(RESTART, "its node was started again")                      \
	X(CLOCK, "its node's clock runs too fast or too slow")        \
	X(PATH, "others cannot reach it")                             \
	X(DRAIN, "its node is being emptied")                         \
	X(FAULTS, "too many processes died in too short a time")      \
	X(NO_SPARE, "no spare was left for a role")                   \
	X(SEVERITY, "the configuration stops all after such a fault") \
	X(OPERATOR, "an operator stopped it")                         \
	X(OTHER, "another cluster stopped")

enum sp_why {
#define X(id, text) SP_WHY_##id,
	SP_WHYS(X)
#undef X
		SP_WHY_COUNT
};

struct sp_slot {
	uint32_t role;	/* SP_NONE: none; of a dead one: what it was */
	uint32_t token; /* by which its unit knows it */
	uint16_t unit;
	uint8_t state, why;
	uint8_t pool;
	bool ready;
};

struct sp_unit_state {
	uint32_t incarnation; /* of its daemon */
	bool down;
};

struct sp_fact {
	uint32_t a, b;
};

struct sp_limits {
	uint32_t roles, slots_max, units;
	uint32_t facts;
};

struct sp_view {
	struct sp_limits l;
	uint64_t number, clock_ms;
	uint32_t epoch, slots;
	uint8_t over;			  /* enum sp_why; SP_WHY_NONE: it goes on */
	uint32_t faults;		  /* deaths of processes so far */
	uint64_t fault_ms[SP_FAULTS_MAX]; /* of the last ones, by faults % SP_FAULTS_MAX */
	uint64_t off;			  /* bits of pools */
	uint32_t *role;			  /* -> slot; SP_NONE: nobody plays it */
	bool *gone;			  /* [l.roles] nobody ever will */
	struct sp_slot *slot;
	struct sp_unit_state *unit;
	struct sp_fact *fact; /* [l.facts] */
};

size_t sp_view_footprint(const struct sp_limits *l);
/* In memory of that size; no slots, view 0. */
struct sp_view *sp_view_new(const struct sp_limits *l, void *mem);
/* View 1: slot r plays role r on unit_of[r], slots behind it are spares: n in all. */
void sp_view_begin(struct sp_view *v, const uint16_t *unit_of, uint32_t n);
/* Of view 1: pools of its slots, and so of its roles; which are off; facts, l.facts of them. */
void sp_view_begin_pools(struct sp_view *v, const uint8_t *pool_of, uint64_t off,
			 const struct sp_fact *fact);
/* Of the same limits. */
void sp_view_copy(struct sp_view *to, const struct sp_view *from);
bool sp_view_check(const struct sp_view *v, const char **what);
uint64_t sp_view_hash(const struct sp_view *v);
const char *sp_why_text(unsigned why);

/* The whole view as bytes: their number; written if they fit. */
size_t sp_view_write(const struct sp_view *v, void *bytes, size_t room);
/* false: not a view of these limits, and nothing has changed but scratch. */
bool sp_view_read(struct sp_view *v, struct sp_view *scratch, const void *bytes, size_t len);

/* X(id): what a change is made of; see struct sp_op. */
enum sp_op_kind {
	SP_OP_DEAD = 1, /* slot a, why */
	SP_OP_GIVE,	/* role a to slot b, a spare */
	SP_OP_JOIN,	/* a new slot on unit a, token b, of pool why */
	SP_OP_DOWN,	/* unit a, why; its slots are dead before */
	SP_OP_UP,	/* unit a, incarnation b */
	SP_OP_END,	/* all is over: why */
	SP_OP_READY,	/* slot a */
	SP_OP_POOL,	/* pool a is on, b: or off; its slots are dead before */
	SP_OP_FACT,	/* fact number why is a, b */
	SP_OP_CLAIM,	/* ... if it was 0, 0 */
	SP_OP_GONE,	/* role a, which nobody plays */
	SP_OP_ROLES	/* roles a .. a + b - 1, of SP_POOL_LATER before, are of pool why */
};

struct sp_op {
	uint8_t kind, why;
	uint32_t a, b;
};

struct sp_change {
	uint64_t base; /* number of the view it changes */
	uint64_t term; /* of the master that proposes it */
	uint32_t proposer, elapsed_ms;
	uint32_t n;
	const uint8_t *ops; /* n, as bytes; sp_change_op() */
};

#define SP_CHANGE_HEAD 28u
#define SP_OP_BYTES    12u

static inline size_t
sp_change_bytes(uint32_t n)
{
	return SP_CHANGE_HEAD + (size_t)n * SP_OP_BYTES;
}
/* Into sp_change_bytes(c->n) bytes; c->ops is not looked at. */
void sp_change_write(const struct sp_change *c, const struct sp_op *op, void *bytes);
/* c points into bytes; false: malformed. */
bool sp_change_read(struct sp_change *c, const void *bytes, size_t len);
struct sp_op sp_change_op(const struct sp_change *c, uint32_t i);

enum sp_applied {
	SP_APPLIED,
	SP_STALE,  /* made for another view */
	SP_INVALID /* malformed, or against the rules */
};

/* scratch: another view of the same limits.  v changes only with SP_APPLIED. */
enum sp_applied sp_view_apply(struct sp_view *v, struct sp_view *scratch, const void *bytes,
			      size_t len);

/* That of the slot which plays the role in view 1. */
static inline uint8_t
sp_role_pool(const struct sp_view *v, uint32_t role)
{
	return role < v->slots ? v->slot[role].pool : 0;
}

static inline bool
sp_slot_lives(const struct sp_view *v, uint32_t slot)
{
	return slot < v->slots && v->slot[slot].state != SP_SLOT_DEAD;
}

#endif
