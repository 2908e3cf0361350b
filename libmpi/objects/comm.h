/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/comm.h - groups and communicators.
 *
 * A group is an ordered list of world ranks.  A communicator is a group, a
 * context id (and the next one, for collectives: IMPI reference 6), and what
 * hangs on it: error handler, attributes, name, hints, topology.
 *
 * Threads  the lock is held. */
#ifndef LMPI_COMM_H
#define LMPI_COMM_H

#include <stdint.h>

#include "attr.h"
#include "call.h"
#include "engine.h"
#include "object.h"

/* Context ids: IMPI reference 6.  Agreed ones stay below LMPI_CID_MAX; MPI_COMM_SELF,
 * which never appears on the wire, lies above. */
#define LMPI_CID_MAX   UINT64_C(18446744073709551600)
#define LMPI_CID_LOCAL (LMPI_CID_MAX + 8)
_Static_assert(LMPI_CID_SERVICE >= LMPI_CID_MAX && LMPI_CID_PART < LMPI_CID_LOCAL,
	       "no communicator has these");
/* Internal traffic on the collective context: tags of collective calls, and behind them those of
 * agreements of which threads may have several under way, told apart by tags of the user's: for
 * each kind as many as there can be, so that hardly two that differ become one. */
#define LMPI_COLL_TAG_FIRST   1024
#define LMPI_COLL_TAGS	      (1 << 30)
#define LMPI_USER_TAGS	      (1 << 28)
#define LMPI_LEADER_TAG_FIRST (LMPI_COLL_TAG_FIRST + LMPI_COLL_TAGS) /* between two leaders */
#define LMPI_GROUP_TAG_FIRST  (LMPI_LEADER_TAG_FIRST + LMPI_USER_TAGS)
#define LMPI_NAME_TAG_FIRST   (LMPI_GROUP_TAG_FIRST + LMPI_USER_TAGS) /* a string's hash */
_Static_assert(LMPI_NAME_TAG_FIRST <= INT32_MAX - LMPI_USER_TAGS, "a tag is not negative");

struct lmpi_group {
	struct lmpi_obj obj;
	int size;
	int rank;	  /* of this process, or MPI_UNDEFINED */
	uint32_t *world;  /* [size] world ranks */
	uint8_t reps;	  /* rep.c: representations of its foreign members, 0: not known yet */
	uint64_t session; /* serial number of the one it comes from, 0: none */
};

struct lmpi_topology;
struct lmpi_errhandler;
struct lmpi_info;
struct lmpi_bsend;

struct lmpi_comm;
/* What other rooms hang on a communicator, at the beginning of a struct of theirs: NULL until they
 * do, and dropped with the communicator, whose group and id are still there then. */
struct lmpi_attached {
	void (*drop)(struct lmpi_attached *a, const struct lmpi_comm *comm); /* NULL: free() */
};
enum lmpi_comm_slot {
	LMPI_COMM_COLL, /* coll/coll.h */
	LMPI_COMM_CIDS, /* comms/cid.c */
	LMPI_COMM_PART, /* calls/partitioned.c */
	LMPI_COMM_IMPI, /* calls/impi_attr.c */
	LMPI_COMM_SLOTS
};

struct lmpi_comm {
	struct lmpi_obj obj;
	MPI_Comm handle; /* what the user sees */
	uint64_t cid;
	struct lmpi_group *group;
	struct lmpi_group *remote; /* inter-communicator: the other side, else NULL */
	struct lmpi_comm *local;   /* inter-communicator: my side as an intra-communicator */
	int rank, size;		   /* in group */
	bool user_freed;
	bool whole; /* lmpi_comm_make_whole() */
	void (*on_lost)(struct lmpi_comm *c, uint32_t world);
	int acked; /* failures of its members that were acknowledged, the first ones */
	int lost;  /* members, of either group, that have failed: collective calls are over */
	struct lmpi_comm *list_next, **list_at; /* of all */
	MPI_Errhandler errhandler;
	struct lmpi_attr *attrs;
	struct lmpi_topology *topo;
	struct lmpi_info *info; /* hints, or NULL */
	struct lmpi_bsend *bsend;
	int foreign; /* lowest client among the members that is another MPI, -1: none */
	struct lmpi_attached *slot[LMPI_COMM_SLOTS];
	char name[MPI_MAX_OBJECT_NAME];
};

extern struct lmpi_comm *lmpi_comm_world, *lmpi_comm_self;
extern struct lmpi_group *lmpi_group_empty;

/* Make MPI_COMM_WORLD and MPI_COMM_SELF; an MPI error class. */
int lmpi_comm_init(void);
/* The processes are others (engine/epoch.h): MPI_COMM_WORLD as it was in the beginning, but for
 * what the program hung on it; all others but MPI_COMM_SELF are void.  An error code. */
int lmpi_comm_renew(void);
void lmpi_comm_fini(void);

/* The object of a handle, or an error code with a text that names the argument. */
int lmpi_comm_get(MPI_Comm handle, struct lmpi_comm **comm);
/* The same, refusing inter-communicators. */
int lmpi_comm_get_intra(MPI_Comm handle, struct lmpi_comm **comm);
/* What MPI_Comm_get_name says; cut off where it is too long. */
void lmpi_comm_rename(struct lmpi_comm *c, const char *name);
/* NULL if the handle is not one. */
struct lmpi_comm *lmpi_comm_find(MPI_Comm handle);
/* The one whose messages have that context id, of either kind; NULL: none.  Walks all. */
struct lmpi_comm *lmpi_comm_of_cid(uint64_t cid);
/* Has any of them that process?  Walks all. */
bool lmpi_comm_has(uint32_t world);
/* Has it processes of other jobs? */
bool lmpi_comm_mixed(const struct lmpi_comm *comm);
void lmpi_comm_ref(struct lmpi_comm *comm);
void lmpi_comm_unref(struct lmpi_comm *comm);
/* The process to send to: of the remote group in an inter-communicator. */
static inline uint32_t
lmpi_comm_world_rank(const struct lmpi_comm *comm, int rank)
{
	return (comm->remote ? comm->remote : comm->group)->world[rank];
}
static inline int
lmpi_comm_peers(const struct lmpi_comm *comm)
{
	return comm->remote ? comm->remote->size : comm->size;
}

/* c, of a window or a file, is void from the first failure of a member on, in all processes: all
 * that waits for its messages ends then, whoever these are of.  Then on_lost() is called, unless it
 * is NULL. */
void lmpi_comm_make_whole(struct lmpi_comm *c,
			  void (*on_lost)(struct lmpi_comm *c, uint32_t world));
/* The process of that world rank has failed; once for each. */
void lmpi_comm_lose(uint32_t world);
/* Is that process a member, of either side? */
bool lmpi_comm_has_member(const struct lmpi_comm *c, uint32_t world);
/* A slot that is empty gets size bytes, zero but for drop.  NULL: no memory. */
struct lmpi_attached *lmpi_comm_attach(struct lmpi_comm *c, enum lmpi_comm_slot slot, size_t size,
				       void (*drop)(struct lmpi_attached *a,
						    const struct lmpi_comm *comm));
/* A new communicator that takes over the reference to group; the error handler
 * is the one of parent.  NULL: out of memory (group is still the caller's). */
struct lmpi_comm *lmpi_comm_new(struct lmpi_group *group, uint64_t cid,
				const struct lmpi_comm *parent);

/* ---- groups */
int lmpi_group_get(MPI_Group handle, struct lmpi_group **group);
/* size world ranks to be filled in by the caller, who then calls _ready(). */
struct lmpi_group *lmpi_group_new(int size);
void lmpi_group_ready(struct lmpi_group *group);
/* One with the same processes; NULL: out of memory. */
struct lmpi_group *lmpi_group_copy(const struct lmpi_group *group);
void lmpi_group_ref(struct lmpi_group *group);
void lmpi_group_unref(struct lmpi_group *group);
MPI_Group lmpi_group_handle(struct lmpi_group *group);
int lmpi_group_compare(const struct lmpi_group *a, const struct lmpi_group *b);
/* Rank of a world rank in the group, or MPI_UNDEFINED. */
int lmpi_group_rank_of(const struct lmpi_group *group, uint32_t world);
/* Has it processes of other jobs?  NULL: no. */
bool lmpi_group_mixed(const struct lmpi_group *group);
/* How many of it have failed. */
int lmpi_group_lost(const struct lmpi_group *group);
/* The lowest client with members in the group that is another MPI, -1: none. */
int lmpi_group_foreign(const struct lmpi_group *group);
static inline bool
lmpi_proc_foreign(uint32_t world)
{
	return lmpi_world.any_foreign && lmpi_world.clients[lmpi_world.proc[world].client].foreign;
}

/* ---- context ids (cid.c) */
/* Agree on a new context id among all of comm; an error code.  Mostly without a message:
 * one agreement is for many ids.  So nobody may take it for a barrier. */
int lmpi_cid_agree(struct lmpi_comm *comm, uint64_t *cid);
/* The same for an inter-communicator: cid[0] its own, cid[1] that of its two sides. */
int lmpi_cid_agree_two(struct lmpi_comm *comm, uint64_t cid[2]);
/* For who exchanges something anyway: is an id left, so that nobody has to say more?  If
 * not, every process says lmpi_cid_offer_for() and gives the maximum to lmpi_cid_take_for(). */
bool lmpi_cid_left(struct lmpi_comm *comm, uint64_t *cid);
uint64_t lmpi_cid_offer_for(const struct lmpi_comm *comm);
int lmpi_cid_take_for(struct lmpi_comm *comm, uint64_t max, uint64_t *cid);
/* The two halves of an agreement on two, for who has another way to find the maximum. */
uint64_t lmpi_cid_offer_two(void);
int lmpi_cid_take_two(uint64_t max, uint64_t cid[2]);
/* Among the members of group, who all belong to comm; tag, one of the above, keeps several such
 * calls of one communicator apart. */
int lmpi_cid_agree_group(struct lmpi_comm *comm, const struct lmpi_group *group, int tag,
			 uint64_t *cid);
/* The value this process contributes to an agreement under way, and what to do
 * with its outcome: the new id, 0 if there is none left. */
uint64_t lmpi_cid_offer(void);
uint64_t lmpi_cid_take(uint64_t max);

#endif
