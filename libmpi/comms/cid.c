/* SPDX-License-Identifier: BSD-2-Clause */
/* Context ids: IMPI reference 6.  A new communicator takes the maximum over all
 * processes involved plus one; every process involved raises its own maximum by
 * two, for the point-to-point and the collective context.
 *
 * A process raises its maximum already when it makes its offer, so that two
 * agreements under way on one communicator (MPI_Comm_idup) get different ids.  That is not enough
 * for agreements that processes begin in different orders, as threads do, and as MPI_Comm_idup on
 * two communicators may: the maxima of both may be the same.  So where all are our own no two
 * offers of the job are alike: each process has its residue, and a block above each offer.
 *
 * Processes of several jobs have no numbers in common: each draws its residue, of so many that
 * two rarely have the same one, and then only if their agreements cross each other as well.
 *
 * Among our own an agreement is for BLOCK communicators.  All processes take from what
 * it left in the same order, that of their collective calls, and need no message for it:
 * over a WAN MPI_Comm_dup would else cost a round trip. */
#include <sys/random.h>

#include "call.h"
#include "coll.h"
#include "comm.h"
#include "engine.h"
#include "impi.h"

/* Communicators per agreement; ids are 64 bits wide, what is left of a block is no loss. */
#define BLOCK	 64
#define RESIDUES (1u << 16)

static uint64_t cid_max = 1; /* MPI_COMM_WORLD's collective id */

/* My residue among *n. */
static uint64_t
residue_of_cids(uint64_t *n)
{
	static uint64_t drawn;

	*n = lmpi_world.size;
	if (lmpi_world.slots == lmpi_world.size)
		return lmpi_world.rank;
	*n = RESIDUES;
	while (drawn == 0)
		if (getrandom(&drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn))
			drawn = lmpi_world.rank + 1;
	return drawn % RESIDUES;
}

static uint64_t
offer_cid(uint64_t pairs)
{
	uint64_t residues, residue = residue_of_cids(&residues);
	uint64_t was = cid_max, span = 2 * BLOCK * residues;

	if (!lmpi_world.any_foreign) {
		if (cid_max > LMPI_CID_MAX - 2 * span)
			return LMPI_CID_MAX;
		was = (cid_max / span + 1) * span + 2 * BLOCK * residue;
		cid_max = was + 2 * BLOCK;
		return was;
	}
	if (cid_max <= LMPI_CID_MAX - 2 * pairs)
		cid_max += 2 * pairs;
	return was;
}

uint64_t
lmpi_cid_offer(void)
{
	return offer_cid(1);
}

/* How many pairs of ids the processes get whose maximum is max: fewer where they end. */
static uint64_t
pairs_above(uint64_t max, uint64_t wanted)
{
	uint64_t there = max < LMPI_CID_MAX ? (LMPI_CID_MAX - max) / 2 : 0;

	return there < wanted ? there : wanted;
}

uint64_t
lmpi_cid_take(uint64_t max)
{
	if (pairs_above(max, 1) == 0) /* a foreign MPI may say anything */
		return 0;
	if (cid_max < max + 2)
		cid_max = max + 2;
	return max + 1;
}

static int
take_cid(uint64_t max, uint64_t *cid)
{
	*cid = lmpi_cid_take(max);
	if (*cid == 0)
		return lmpi_error(MPI_ERR_OTHER,
				  "there is no context id left: a process of the "
				  "communicator uses %llu already",
				  (unsigned long long)max);
	return MPI_SUCCESS;
}

static uint64_t
block_of(const struct lmpi_comm *comm)
{
	bool foreign = comm->foreign >= 0 ||
		       (comm->remote != NULL && lmpi_group_foreign(comm->remote) >= 0);

	return foreign ? 1 : BLOCK;
}

/* Of a communicator: ids agreed on already for what is made of it. */
struct cids {
	struct lmpi_attached attached;
	uint32_t left;
	uint64_t next;
};

bool
lmpi_cid_left(struct lmpi_comm *comm, uint64_t *cid)
{
	struct cids *c = (struct cids *)(void *)comm->slot[LMPI_COMM_CIDS];

	if (c == NULL || c->left == 0)
		return false;
	c->left--;
	*cid = c->next;
	c->next += 2;
	return true;
}

uint64_t
lmpi_cid_offer_for(const struct lmpi_comm *comm)
{
	return offer_cid(block_of(comm));
}

int
lmpi_cid_take_for(struct lmpi_comm *comm, uint64_t max, uint64_t *cid)
{
	uint64_t pairs = pairs_above(max, block_of(comm));
	struct cids *c = (struct cids *)(void *)comm->slot[LMPI_COMM_CIDS];
	int rc = take_cid(max, cid);

	if (rc)
		return rc;
	if (c == NULL)
		c = (struct cids *)(void *)lmpi_comm_attach(comm, LMPI_COMM_CIDS, sizeof(*c), NULL);
	if (c == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "no memory for context ids");
	c->left = (uint32_t)pairs - 1;
	c->next = *cid + 2;
	if (cid_max < max + 2 * pairs)
		cid_max = max + 2 * pairs;
	return MPI_SUCCESS;
}

int
lmpi_cid_agree(struct lmpi_comm *comm, uint64_t *cid)
{
	uint64_t max;
	int rc;

	if (lmpi_cid_left(comm, cid))
		return MPI_SUCCESS;
	max = lmpi_cid_offer_for(comm);
	rc = lmpi_coll_max_u64(comm, &max);
	return rc ? rc : lmpi_cid_take_for(comm, max, cid);
}

uint64_t
lmpi_cid_offer_two(void)
{
	uint64_t offer = lmpi_cid_offer();

	(void)lmpi_cid_offer();
	return offer;
}

int
lmpi_cid_take_two(uint64_t max, uint64_t cid[2])
{
	int rc = take_cid(max, &cid[0]);

	return rc ? rc : take_cid(cid[0] + 1, &cid[1]);
}

int
lmpi_cid_agree_two(struct lmpi_comm *comm, uint64_t cid[2])
{
	uint64_t max;
	int rc;

	if (block_of(comm) > 1) {
		rc = lmpi_cid_agree(comm, &cid[0]);
		return rc ? rc : lmpi_cid_agree(comm, &cid[1]);
	}
	max = lmpi_cid_offer_two();
	rc = lmpi_coll_max_u64(comm, &max);
	return rc ? rc : lmpi_cid_take_two(max, cid);
}

/* One blocking message of 8 bytes on the collective context of comm. */
static int
send_max(struct lmpi_comm *comm, uint32_t world, int tag, const uint64_t *value)
{
	struct lmpi_req e = {0};

	lmpi_isend(&e, value, sizeof(*value), world, comm->rank, tag, comm->cid + 1, LMPI_STANDARD);
	if (!e.done)
		lmpi_wait(&e.done);
	return e.error;
}

static int
recv_max(struct lmpi_comm *comm, int source, int tag, uint64_t *value)
{
	struct lmpi_req e = {0};

	lmpi_irecv(&e, value, sizeof(*value), source, tag, comm->cid + 1);
	if (!e.done)
		lmpi_wait(&e.done);
	return e.error;
}

/* Up and down a binomial tree over the group; only its members take part.  IMPI 0.0 does
 * not know MPI_Comm_create_group, so they have to be our own. */
int
lmpi_cid_agree_group(struct lmpi_comm *comm, const struct lmpi_group *group, int tag, uint64_t *cid)
{
	int n = group->size, me = group->rank, mask, rc = MPI_SUCCESS;
	uint64_t max, other;

	rc = lmpi_impi_refuse_group(group);
	if (rc)
		return rc;
	max = lmpi_cid_offer();
	for (mask = 1; mask < n && !(me & mask); mask <<= 1) {
		if (me + mask >= n)
			continue;
		rc = recv_max(comm, lmpi_group_rank_of(comm->group, group->world[me + mask]), tag,
			      &other);
		if (rc)
			return rc;
		max = other > max ? other : max;
	}
	if (me != 0) {
		rc = send_max(comm, group->world[me - mask], tag, &max);
		if (rc == MPI_SUCCESS)
			rc = recv_max(comm,
				      lmpi_group_rank_of(comm->group, group->world[me - mask]), tag,
				      &max);
	}
	for (mask >>= 1; mask > 0 && rc == MPI_SUCCESS; mask >>= 1)
		if (me + mask < n)
			rc = send_max(comm, group->world[me + mask], tag, &max);
	if (rc)
		return lmpi_error(rc, "agreeing on a context id failed");
	return take_cid(max, cid);
}
