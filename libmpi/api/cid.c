/* Context ids: IMPI reference 6.  A new communicator takes the maximum over all
 * processes involved plus one; every process involved raises its own maximum by
 * two, for the point-to-point and the collective context.
 *
 * A process raises its maximum already when it makes its offer, so that two
 * agreements under way on one communicator (MPI_Comm_idup) get different ids. */
#include "call.h"
#include "coll.h"
#include "comm.h"
#include "engine.h"
#include "impi.h"

/* Messages of lmpi_cid_agree_group(): below all collective tags. */
#define GROUP_TAG_FIRST 256
#define GROUP_TAGS	512

static uint64_t cid_max = 1; /* MPI_COMM_WORLD's collective id */

uint64_t
lmpi_cid_offer(void)
{
	uint64_t offer = cid_max;

	if (cid_max <= LMPI_CID_MAX - 2)
		cid_max += 2;
	return offer;
}

uint64_t
lmpi_cid_take(uint64_t max)
{
	if (max > LMPI_CID_MAX - 2) /* a foreign MPI may say anything */
		return 0;
	if (cid_max < max + 2)
		cid_max = max + 2;
	return max + 1;
}

static int
take(uint64_t max, uint64_t *cid)
{
	*cid = lmpi_cid_take(max);
	if (*cid == 0)
		return lmpi_error(MPI_ERR_OTHER,
				  "there is no context id left: a process of the "
				  "communicator uses %llu already",
				  (unsigned long long)max);
	return MPI_SUCCESS;
}

int
lmpi_cid_agree(struct lmpi_comm *comm, uint64_t *cid)
{
	uint64_t max = lmpi_cid_offer();
	int rc = lmpi_coll_max_u64(comm, &max);

	return rc ? rc : take(max, cid);
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
	int rc = take(max, &cid[0]);

	return rc ? rc : take(cid[0] + 1, &cid[1]);
}

int
lmpi_cid_agree_two(struct lmpi_comm *comm, uint64_t cid[2])
{
	uint64_t max = lmpi_cid_offer_two();
	int rc = lmpi_coll_max_u64(comm, &max);

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
	tag = GROUP_TAG_FIRST + tag % GROUP_TAGS;
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
	return take(max, cid);
}
