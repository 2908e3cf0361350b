/* SPDX-License-Identifier: BSD-2-Clause */
/* Inter-communicators: made of two groups that have a leader each, merged, cut down.
 *
 * An inter-communicator has its context, on which the two groups send to each other, and
 * an intra-communicator of the own group with a context of its own, on which the members
 * of one side do (MPI 5.0, 7.6; coll/inter in lib/collectives). */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "coll.h"
#include "comm.h"
#include "comm_create.h"
#include "engine.h"
#include "impi.h"
#include "impl.h"
#include "introduce.h"
#include "others.h"

static int
inter_no_memory(void)
{
	return lmpi_error(MPI_ERR_NO_MEM, "no memory for an inter-communicator");
}

int
lmpi_comm_new_inter(struct lmpi_group *group, struct lmpi_group *remote, const uint64_t cid[2],
		    const struct lmpi_comm *parent, struct lmpi_comm **comm)
{
	struct lmpi_comm *c = lmpi_comm_new(group, cid[0], parent);

	if (c == NULL) {
		lmpi_group_unref(group);
		lmpi_group_unref(remote);
		return inter_no_memory();
	}
	c->remote = remote;
	c->lost += lmpi_group_lost(remote);
	lmpi_group_ref(group);
	c->local = lmpi_comm_new(group, cid[1], parent);
	if (c->local == NULL) {
		lmpi_group_unref(group);
		lmpi_comm_unref(c);
		return inter_no_memory();
	}
	*comm = c;
	return MPI_SUCCESS;
}

/* ---- MPI_Intercomm_create */

struct leaders {
	struct lmpi_comm *peer;
	int rank; /* of the other leader in it */
	int tag;
};

/* Both leaders send n bytes and receive as many as the other one sends, at most room. */
static int
swap_inter(const struct leaders *l, const void *mine, size_t n, void *theirs, size_t room)
{
	struct lmpi_req out = {0}, in = {0};
	uint64_t cid = l->peer->cid + 1;

	lmpi_irecv(&in, theirs, room, l->rank, l->tag, cid);
	lmpi_isend(&out, mine, n, lmpi_comm_world_rank(l->peer, l->rank), l->peer->rank, l->tag,
		   cid, LMPI_STANDARD);
	if (!out.done)
		lmpi_wait(&out.done);
	if (!in.done)
		lmpi_wait(&in.done);
	return out.error ? out.error : in.error;
}

static int
swap_as_leader(void *arg, const char *phase, const void *mine, size_t len, void *theirs,
	       size_t their_len)
{
	int rc = swap_inter(arg, mine, len, theirs, their_len);

	return rc ? lmpi_error(rc, "the leaders could not swap %s", phase) : rc;
}

static int
decide_as_leader(void *arg, const char *phase, uint64_t mine, uint64_t *theirs)
{
	return swap_as_leader(arg, phase, &mine, sizeof(mine), theirs, sizeof(*theirs));
}

static int
check_leaders(const struct lmpi_comm *c, MPI_Comm peer, int remote_leader, int tag,
	      struct leaders *l)
{
	int rc = lmpi_comm_get(peer, &l->peer);

	if (rc)
		return rc;
	if (remote_leader < 0 || remote_leader >= lmpi_comm_peers(l->peer))
		return lmpi_error(MPI_ERR_RANK, "remote_leader %d is not a rank of peer_comm",
				  remote_leader);
	if (tag < 0 || tag > lmpi_world.tag_ub)
		return lmpi_error(MPI_ERR_TAG, "tag %d is not between 0 and %d (MPI_TAG_UB)", tag,
				  lmpi_world.tag_ub);
	if (lmpi_group_rank_of(c->group, lmpi_comm_world_rank(l->peer, remote_leader)) !=
	    MPI_UNDEFINED)
		return lmpi_error(MPI_ERR_RANK, "remote_leader %d is a process of local_comm",
				  remote_leader);
	l->rank = remote_leader;
	l->tag = LMPI_LEADER_TAG_FIRST + tag % LMPI_USER_TAGS;
	return MPI_SUCCESS;
}

/* What the leader tells its group of the other one. */
struct news {
	int64_t rc, size;
	uint64_t max;	 /* context id of both */
	uint64_t others; /* world ranks of one side are not those of the other */
};

/* In the second word of what leaders tell each other first, beside the size. */
#define KNOWS_OTHERS (UINT64_C(1) << 63)

/* The leader's part: the other group's size, its maximum, its members. */
static int
ask_leader(const struct lmpi_comm *c, const struct leaders *l, struct news *news, uint32_t **world)
{
	uint64_t knows = lmpi_world.slots > lmpi_world.size ? KNOWS_OTHERS : 0;
	uint64_t mine[2] = {news->max, (uint64_t)c->size | knows}, theirs[2] = {0, 0};
	int rc = swap_inter(l, mine, sizeof(mine), theirs, sizeof(theirs));

	if (rc)
		return lmpi_error(rc, "the leaders could not reach each other");
	news->others = (theirs[1] | knows) & KNOWS_OTHERS;
	theirs[1] &= ~KNOWS_OTHERS;
	if (theirs[1] == 0 || theirs[1] > (news->others ? LMPI_CARD_NUMBERS : lmpi_world.size))
		return lmpi_error(MPI_ERR_OTHER, "the remote leader tells of %llu processes",
				  (unsigned long long)theirs[1]);
	news->size = (int64_t)theirs[1];
	news->max = theirs[0] > mine[0] ? theirs[0] : mine[0];
	if (news->others)
		return MPI_SUCCESS; /* lmpi_introduce() is to come */
	*world = malloc(theirs[1] * sizeof(**world));
	if (*world == NULL)
		return inter_no_memory();
	rc = swap_inter(l, c->group->world, (size_t)c->size * sizeof(**world), *world,
			theirs[1] * sizeof(**world));
	return rc ? lmpi_error(rc, "the leaders could not exchange their groups") : MPI_SUCCESS;
}

/* Tell everybody what the leader knows; the other group. */
static int
share_news(struct lmpi_comm *c, int leader, struct news *news, uint32_t *world,
	   struct lmpi_group **remote)
{
	int rc = lmpi_coll_bcast_bytes(c, news, sizeof(*news), leader);

	if (rc)
		return rc;
	if (news->rc != MPI_SUCCESS) /* the leader has said why */
		return lmpi_error((int)news->rc, "%s",
				  c->rank == leader ? lmpi_error_text((int)news->rc)
						    : "the leader could not make it");
	if (news->others)
		return MPI_SUCCESS;
	*remote = lmpi_group_new((int)news->size);
	if (*remote == NULL)
		return inter_no_memory();
	if (world != NULL)
		memcpy((*remote)->world, world, (size_t)news->size * sizeof(*world));
	rc = lmpi_coll_bcast_bytes(c, (*remote)->world, news->size * (int64_t)sizeof(*world),
				   leader);
	if (rc) {
		lmpi_group_unref(*remote);
		return rc;
	}
	lmpi_group_ready(*remote);
	return MPI_SUCCESS;
}

/* Every process of both sides finds the same. */
static int
fit_together(const struct lmpi_comm *c, const struct lmpi_group *remote)
{
	for (int i = 0; i < remote->size; i++)
		if (remote->world[i] >= lmpi_world.slots ||
		    lmpi_group_rank_of(c->group, remote->world[i]) != MPI_UNDEFINED)
			return lmpi_error(MPI_ERR_COMM, "the two groups have process %u in common",
					  remote->world[i]);
	return lmpi_impi_refuse_group(remote);
}

int
lmpi_inter_make(struct lmpi_comm *c, int local_leader, MPI_Comm peer_comm, int remote_leader,
		int tag, struct lmpi_comm **made)
{
	struct news news = {MPI_SUCCESS, 0, lmpi_cid_offer_two(), 0};
	struct lmpi_cards cards = {0};
	struct lmpi_group *remote = NULL;
	uint32_t *world = NULL;
	struct leaders l;
	uint64_t cid[2];
	int rc;

	if (local_leader < 0 || local_leader >= c->size)
		return lmpi_error(MPI_ERR_RANK, "local_leader %d is not a rank of the local group",
				  local_leader);
	rc = lmpi_coll_max_u64(c, &news.max);
	if (rc)
		return rc;
	if (c->rank == local_leader) {
		news.rc = check_leaders(c, peer_comm, remote_leader, tag, &l);
		if (news.rc == MPI_SUCCESS)
			news.rc = ask_leader(c, &l, &news, &world);
	}
	rc = share_news(c, local_leader, &news, world, &remote);
	free(world);
	if (rc == MPI_SUCCESS && news.others)
		rc = lmpi_introduce(c, local_leader,
				    &(struct lmpi_leaders){swap_as_leader, decide_as_leader, &l},
				    (uint32_t)news.size, &cards, &remote);
	lmpi_cards_free(&cards);
	if (rc)
		return rc;
	rc = fit_together(c, remote);
	if (rc == MPI_SUCCESS)
		rc = lmpi_cid_take_two(news.max, cid);
	if (rc) {
		lmpi_group_unref(remote);
		return rc;
	}
	lmpi_group_ref(c->group);
	return lmpi_comm_new_inter(c->group, remote, cid, c, made);
}

int
impl_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader,
		      int tag, MPI_Comm *newintercomm)
{
	struct lmpi_comm *c, *made;
	int rc = lmpi_comm_get_intra(local_comm, &c);

	*newintercomm = MPI_COMM_NULL;
	if (rc == MPI_SUCCESS)
		rc = lmpi_impi_refuse(c);
	if (rc == MPI_SUCCESS)
		rc = lmpi_inter_make(c, local_leader, peer_comm, remote_leader, tag, &made);
	if (rc == MPI_SUCCESS)
		*newintercomm = made->handle;
	return rc;
}

/* ---- MPI_Intercomm_merge */

static struct lmpi_group *
one_after_another(const struct lmpi_group *a, const struct lmpi_group *b)
{
	struct lmpi_group *g = lmpi_group_new(a->size + b->size);

	if (g == NULL)
		return NULL;
	memcpy(g->world, a->world, (size_t)a->size * sizeof(*g->world));
	memcpy(g->world + a->size, b->world, (size_t)b->size * sizeof(*g->world));
	lmpi_group_ready(g);
	return g;
}

int
impl_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newintracomm)
{
	struct lmpi_comm *c, *made;
	struct lmpi_group *g;
	uint64_t cid;
	int *theirs, mine = high != 0, rc = lmpi_comm_get(intercomm, &c);
	bool first;

	*newintracomm = MPI_COMM_NULL;
	if (rc)
		return rc;
	if (c->remote == NULL)
		return lmpi_error(MPI_ERR_COMM, "the communicator is not an inter-communicator");
	theirs = malloc((size_t)c->remote->size * sizeof(*theirs));
	if (theirs == NULL)
		return inter_no_memory();
	rc = lmpi_coll_allgather_ints(c, &mine, theirs, 1);
	/* both the same: the one whose first process comes first in the job */
	first = rc == MPI_SUCCESS &&
		(theirs[0] != mine ? mine < theirs[0]
				   : lmpi_proc_before(c->group->world[0], c->remote->world[0]));
	free(theirs);
	if (rc == MPI_SUCCESS)
		rc = lmpi_cid_agree(c, &cid);
	if (rc)
		return rc;
	g = first ? one_after_another(c->group, c->remote) : one_after_another(c->remote, c->group);
	if (g == NULL)
		return inter_no_memory();
	made = lmpi_comm_new(g, cid, c);
	if (made == NULL) {
		lmpi_group_unref(g);
		return inter_no_memory();
	}
	*newintracomm = made->handle;
	return MPI_SUCCESS;
}

/* ---- parts of both groups */

/* The new inter-communicator if both sides have somebody; takes the references. */
static int
of_parts(struct lmpi_group *own, struct lmpi_group *remote, const uint64_t cid[2],
	 const struct lmpi_comm *parent, MPI_Comm *newcomm)
{
	struct lmpi_comm *made;
	int rc;

	if (own == NULL || remote == NULL || own->size == 0 || remote->size == 0 ||
	    own->rank == MPI_UNDEFINED) {
		bool lacking = own == NULL || remote == NULL;

		if (own != NULL)
			lmpi_group_unref(own);
		if (remote != NULL)
			lmpi_group_unref(remote);
		return lacking ? inter_no_memory() : MPI_SUCCESS;
	}
	rc = lmpi_comm_new_inter(own, remote, cid, parent, &made);
	if (rc == MPI_SUCCESS)
		*newcomm = made->handle;
	return rc;
}

/* Every process tells the other side its rank in the new group. */
static int
remote_part(struct lmpi_comm *c, int mine, struct lmpi_group **out)
{
	int *theirs = malloc((size_t)c->remote->size * sizeof(*theirs)), n = 0, rc;
	struct lmpi_group *g;

	if (theirs == NULL)
		return inter_no_memory();
	rc = lmpi_coll_allgather_ints(c, &mine, theirs, 1);
	for (int i = 0; rc == MPI_SUCCESS && i < c->remote->size; i++)
		n += theirs[i] >= 0;
	*out = g = rc ? NULL : lmpi_group_new(n);
	for (int i = 0; g != NULL && i < c->remote->size; i++)
		if (theirs[i] >= 0 && theirs[i] < n)
			g->world[theirs[i]] = c->remote->world[i];
	if (g != NULL)
		lmpi_group_ready(g);
	free(theirs);
	return rc ? rc : g ? MPI_SUCCESS : inter_no_memory();
}

int
lmpi_inter_create(struct lmpi_comm *c, struct lmpi_group *g, MPI_Comm *newcomm)
{
	struct lmpi_group *remote;
	uint64_t cid[2];
	int rc = lmpi_cid_agree_two(c, cid);

	if (rc == MPI_SUCCESS)
		rc = remote_part(c, g->rank == MPI_UNDEFINED ? -1 : g->rank, &remote);
	if (rc)
		return rc;
	lmpi_group_ref(g);
	return of_parts(g, remote, cid, c, newcomm);
}

int
lmpi_inter_split(struct lmpi_comm *c, int color, int key, MPI_Comm *newcomm)
{
	int most = c->size > c->remote->size ? c->size : c->remote->size, rc;
	struct lmpi_choice *all = malloc((size_t)most * sizeof(*all));
	struct lmpi_group *own = NULL, *remote = NULL;
	uint64_t cid[2];

	if (all == NULL)
		return inter_no_memory();
	rc = lmpi_cid_agree_two(c, cid);
	if (rc == MPI_SUCCESS)
		rc = lmpi_gather_choices(c->local, c->size, color, key, all);
	if (rc == MPI_SUCCESS && color != MPI_UNDEFINED)
		own = lmpi_group_of_color(c->group, all, color);
	if (rc == MPI_SUCCESS)
		rc = lmpi_gather_choices(c, c->remote->size, color, key, all);
	if (rc == MPI_SUCCESS && color != MPI_UNDEFINED)
		remote = lmpi_group_of_color(c->remote, all, color);
	free(all);
	if (rc || color == MPI_UNDEFINED) {
		if (own != NULL)
			lmpi_group_unref(own);
		return rc;
	}
	return of_parts(own, remote, cid, c, newcomm);
}
