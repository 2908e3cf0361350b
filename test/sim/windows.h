/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/windows.h - what scenario `windows` is made of: windows.c has what processes do and what must
 * come of it, windows_part.c their parts and operations as libmpi has them, windows_flood.c what
 * one of them does that is hostile (scenario `windows-flood`). */
#ifndef SIM_WINDOWS_H
#define SIM_WINDOWS_H

#include "trouble.h"

#include "mpi/target.h"

#define CID	 16u
#define SUMS	 2000u /* beyond RMA_INLINE_MAX */
#define SLICE	 20000u
#define ROUNDS	 3u
#define ACTS_MAX 30u /* of a process in a round */
#define ADD	 1u  /* rma_packet.op */

struct layout {
	uint64_t tickets, guarded, sums[SUMS];
	uint8_t slice[ENODES_MAX][SLICE];
};
#define AT(field) offsetof(struct layout, field)

enum deed {
	IDLE,
	WRITES,
	DRAWS,
	ADDS,
	GUARDS,
	POURS,
	READS,
	FLUSHES,
	MEETS,
	EXPOSES,
	LEAVES,
	GONE,
	FLOODS
};

struct user {
	struct enode *n;
	struct lmpi_exposed x;
	struct lmpi_origin origin[ENODES_MAX];
	struct lmpi_bulks bulks;
	_Atomic uint32_t lock;
	struct layout *mem;	 /* what others do things to */
	uint8_t (*wrote)[SLICE]; /* [target] what its slice there must hold */
	struct lmpi_acting acting;
	struct lmpi_target targets[ENODES_MAX];
	uint8_t result[SLICE];
	enum deed deed;
	uint32_t target, step; /* of the deed */
	uint64_t from, len;    /* of WRITES, in the slice */
	uint64_t seen;	       /* GUARDS, READS */
	bool waits;	       /* for a result */
	bool met;	       /* it has come to the last meeting */
	uint32_t lost;	       /* bits of processes */
	uint32_t acts, round;
	uint32_t adds, pours; /* pours: left */
	uint64_t kept;	      /* bytes that its part has of memory */
	bool hostile;	      /* scenario windows-flood */
	uint32_t refused;     /* packets of others */
};

struct windows {
	struct trouble t;				   /* first */
	struct user *user;				   /* [ENODES_MAX] */
	struct lmpi_room room;				   /* of all */
	uint32_t acts;					   /* of each process in a round */
	uint64_t tickets[ENODES_MAX], guarded[ENODES_MAX]; /* what the parts are to hold */
	uint64_t sums[ENODES_MAX][SUMS];
	uint64_t drawn[ENODES_MAX][ROUNDS * ACTS_MAX * ENODES_MAX / 64 + 1]; /* bits of tickets */
	uint32_t inside[ENODES_MAX]; /* who holds the lock exclusively, + 1 */
	uint32_t met[2 * ROUNDS];    /* how many have come to each meeting */
	uint32_t deeds;
};

/* Handlers of the library's own messages are not told who they are. */
extern struct windows *windows_running;

struct user *windows_user(const struct enode *n);
static inline struct sim *
windows_sim(const struct user *u)
{
	return u->n->end->w->s;
}
/* Zeroed.  Of a struct user: counted, and bounded. */
void *windows_take(void *user, size_t bytes);
void windows_give(void *user, void *p);
/* The upper half of each summand of an operation, which its packet tells as `element`: no memory
 * that holds something else looks like it. */
uint64_t windows_mark(uint32_t rank, uint32_t element);

/* u->n and u->mem are set: a part that others may use. */
void windows_expose(struct user *u);
void windows_tell(struct user *u, uint32_t to, struct rma_packet p, const void *data, uint64_t len);
/* An operation on the target of the deed. */
void windows_operate(struct user *u, enum rma_kind kind, uint64_t at, const void *data,
		     uint64_t len);
void windows_flush(struct user *u);
/* May an operation go to the target of the deed?  A FLUSH went before it if one has to. */
bool windows_has_room(struct user *u);
/* Nothing is under way to any. */
bool windows_is_still(const struct user *u);
/* That process has died; u hears of it. */
void windows_lose(struct enode *n, uint32_t dead);

/* windows_flood.c: an act of who is hostile.  Does it ask for results, and takes none? */
void windows_do_floods(struct user *u);
bool windows_flood_is_untaken(const struct windows *all);

#endif
