/* SPDX-License-Identifier: BSD-2-Clause */
/* Making intra-communicators from others. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "coll.h"
#include "comm.h"
#include "comm_create.h"
#include "engine.h"
#include "impi.h"
#include "impl.h"
#include "info.h"
#include "others.h"
#include "topo.h"

static int
choices_no_memory(void)
{
	return lmpi_error(MPI_ERR_NO_MEM, "no memory for a new communicator");
}

/* The user's handle; a reference to group is taken over. */
static int
hand_out_choices(struct lmpi_group *group, uint64_t cid, const struct lmpi_comm *parent,
		 struct lmpi_comm **comm)
{
	*comm = lmpi_comm_new(group, cid, parent);
	if (*comm == NULL) {
		lmpi_group_unref(group);
		return choices_no_memory();
	}
	return MPI_SUCCESS;
}

/* ---- duplicates */

/* What a duplicate has before its context id is known. */
static int
copy_of(struct lmpi_comm *from, const struct lmpi_info *info, bool with_info,
	struct lmpi_comm **comm)
{
	int rc;

	lmpi_group_ref(from->group);
	if (from->remote != NULL) {
		lmpi_group_ref(from->remote);
		rc = lmpi_comm_new_inter(from->group, from->remote, (uint64_t[2]){0, 0}, from,
					 comm);
	} else {
		rc = hand_out_choices(from->group, 0, from, comm);
	}
	if (rc)
		return rc;
	if (from->topo != NULL) {
		(*comm)->topo = lmpi_topology_copy(from->topo);
		if ((*comm)->topo == NULL)
			rc = choices_no_memory();
	}
	if (!with_info)
		info = from->info;
	if (rc == MPI_SUCCESS && info != NULL) {
		(*comm)->info = lmpi_info_copy(info);
		if ((*comm)->info == NULL)
			rc = choices_no_memory();
	}
	if (rc == MPI_SUCCESS)
		rc = lmpi_attr_copy_all(LMPI_ATTR_COMM, from->handle, from->attrs, &(*comm)->attrs);
	if (rc) {
		(void)lmpi_attr_delete_all(LMPI_ATTR_COMM, (*comm)->handle, &(*comm)->attrs);
		lmpi_comm_unref(*comm);
	}
	return rc;
}

static void
set_cids(struct lmpi_comm *comm, const uint64_t cid[2])
{
	comm->cid = cid[0];
	if (comm->local != NULL)
		comm->local->cid = cid[1];
}

static int
dup(MPI_Comm handle, const struct lmpi_info *info, bool with_info, MPI_Comm *newcomm)
{
	struct lmpi_comm *from, *comm;
	int rc = lmpi_comm_get(handle, &from), rc2;
	uint64_t cid[2];

	*newcomm = MPI_COMM_NULL;
	if (rc)
		return rc;
	/* a failing attribute callback must not leave the others waiting */
	rc = copy_of(from, info, with_info, &comm);
	rc2 = from->remote ? lmpi_cid_agree_two(from, cid) : lmpi_cid_agree(from, cid);
	if (rc)
		return rc;
	if (rc2) {
		lmpi_comm_unref(comm);
		return rc2;
	}
	set_cids(comm, cid);
	*newcomm = comm->handle;
	return MPI_SUCCESS;
}

int
impl_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
	return dup(comm, NULL, false, newcomm);
}

int
impl_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
	struct lmpi_info *i;
	int rc = lmpi_info_arg(info, &i);

	return rc ? rc : dup(comm, i, true, newcomm);
}

/* Non-blocking: the handle is there at once, its context id when the request is
 * complete. */
struct idup {
	struct lmpi_comm *comm;
	uint64_t offer, max;
};

static void
idup_done(struct lmpi_coll *c)
{
	struct idup *d = c->finish_arg;

	uint64_t cid[2];

	c->run.error = lmpi_cid_take_two(d->max, cid);
	if (c->run.error == MPI_SUCCESS)
		set_cids(d->comm, cid);
	lmpi_comm_unref(d->comm);
}

static int
idup(MPI_Comm handle, const struct lmpi_info *info, bool with_info, MPI_Comm *newcomm,
     MPI_Request *request)
{
	struct lmpi_coll *c = NULL;
	struct lmpi_comm *from, *comm;
	struct idup *d;
	int rc = lmpi_comm_get(handle, &from);

	if (rc == MPI_SUCCESS)
		rc = lmpi_impi_refuse(from);
	if (rc == MPI_SUCCESS)
		rc = copy_of(from, info, with_info, &comm);
	if (rc)
		return rc;
	c = lmpi_coll_new(from, COLL_ALLREDUCE);
	d = c ? lmpi_coll_alloc(c, 1, sizeof(*d)) : NULL;
	if (d == NULL) {
		if (c != NULL)
			lmpi_coll_release(c);
		lmpi_comm_unref(comm);
		return choices_no_memory();
	}
	*d = (struct idup){comm, lmpi_cid_offer_two(), 0};
	lmpi_comm_ref(comm); /* the request's */
	c->type = lmpi_type_find(MPI_UINT64_T);
	c->op = (struct lmpi_op_use){MPI_MAX, NULL, true};
	c->args.commutative = c->args.both = true;
	c->args.elem = c->args.bytes = sizeof(uint64_t);
	c->send = (char *)&d->offer;
	c->recv = (char *)&d->max;
	c->finish = idup_done;
	c->finish_arg = d;
	*newcomm = comm->handle;
	return lmpi_coll_go(c, MPI_SUCCESS, LMPI_COLL_NONBLOCKING, request);
}

int
impl_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
	return idup(comm, NULL, false, newcomm, request);
}

int
impl_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
	struct lmpi_info *i;
	int rc = lmpi_info_arg(info, &i);

	return rc ? rc : idup(comm, i, true, newcomm, request);
}

/* ---- subsets */

static int
is_subset(const struct lmpi_group *g, const struct lmpi_comm *c)
{
	for (int i = 0; i < g->size; i++)
		if (lmpi_group_rank_of(c->group, g->world[i]) == MPI_UNDEFINED)
			return lmpi_error(MPI_ERR_GROUP,
					  "process %d of the group is not in the "
					  "communicator",
					  i);
	return MPI_SUCCESS;
}

int
impl_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
	struct lmpi_comm *c, *made;
	struct lmpi_group *g = NULL;
	uint64_t cid;
	int rc = lmpi_comm_get(comm, &c);

	*newcomm = MPI_COMM_NULL;
	if (rc == MPI_SUCCESS)
		rc = lmpi_group_get(group, &g);
	if (rc == MPI_SUCCESS)
		rc = is_subset(g, c);
	if (rc == MPI_SUCCESS && c->remote != NULL)
		return lmpi_inter_create(c, g, newcomm);
	if (rc == MPI_SUCCESS)
		rc = lmpi_cid_agree(c, &cid);
	if (rc || g->rank == MPI_UNDEFINED)
		return rc;
	lmpi_group_ref(g);
	rc = hand_out_choices(g, cid, c, &made);
	if (rc == MPI_SUCCESS)
		*newcomm = made->handle;
	return rc;
}

int
impl_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
	struct lmpi_comm *c, *made;
	struct lmpi_group *g = NULL;
	uint64_t cid;
	int rc = lmpi_comm_get_intra(comm, &c);

	*newcomm = MPI_COMM_NULL;
	if (rc == MPI_SUCCESS)
		rc = lmpi_group_get(group, &g);
	if (rc == MPI_SUCCESS)
		rc = is_subset(g, c);
	if (rc == MPI_SUCCESS && (tag < 0 || tag > lmpi_world.tag_ub))
		rc = lmpi_error(MPI_ERR_TAG, "tag %d is not between 0 and %d (MPI_TAG_UB)", tag,
				lmpi_world.tag_ub);
	if (rc || g->rank == MPI_UNDEFINED)
		return rc;
	rc = lmpi_cid_agree_group(c, g, LMPI_GROUP_TAG_FIRST + tag % LMPI_USER_TAGS, &cid);
	if (rc)
		return rc;
	lmpi_group_ref(g);
	rc = hand_out_choices(g, cid, c, &made);
	if (rc == MPI_SUCCESS)
		*newcomm = made->handle;
	return rc;
}

static int
by_key(const void *a, const void *b)
{
	const struct lmpi_choice *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

struct lmpi_group *
lmpi_group_of_color(const struct lmpi_group *of, struct lmpi_choice *all, int color)
{
	struct lmpi_group *g;
	int n = 0;

	for (int i = 0; i < of->size; i++)
		if (all[i].color == color)
			all[n++] = all[i];
	qsort(all, (size_t)n, sizeof(*all), by_key);
	g = lmpi_group_new(n);
	for (int i = 0; g != NULL && i < n; i++)
		g->world[i] = of->world[all[i].rank];
	if (g != NULL) {
		g->session = of->session;
		lmpi_group_ready(g);
	}
	return g;
}

int
lmpi_gather_choices(struct lmpi_comm *via, int n, int color, int key, struct lmpi_choice *all)
{
	int mine[2] = {color, key}, *flat = malloc((size_t)n * sizeof(mine)), rc;

	if (flat == NULL)
		return choices_no_memory();
	rc = lmpi_coll_allgather_ints(via, mine, flat, 2);
	for (int i = 0; rc == MPI_SUCCESS && i < n; i++)
		all[i] = (struct lmpi_choice){flat[2 * i], flat[2 * i + 1], i};
	free(flat);
	return rc;
}

/* The choices and the agreement on the context id in one exchange. */
static int
gather_all(struct lmpi_comm *c, int color, int key, struct lmpi_choice *all, uint64_t *cid)
{
	struct words {
		int color, key;
		uint64_t offer;
	} mine = {color, key, lmpi_cid_offer_for(c)}, *theirs;
	uint64_t max = 0;
	int rc;

	theirs = malloc((size_t)c->size * sizeof(*theirs));
	if (theirs == NULL)
		return choices_no_memory();
	rc = lmpi_coll_allgather_ints(c, (const int *)&mine, (int *)theirs,
				      sizeof(mine) / sizeof(int));
	for (int i = 0; rc == MPI_SUCCESS && i < c->size; i++) {
		all[i] = (struct lmpi_choice){theirs[i].color, theirs[i].key, i};
		max = theirs[i].offer > max ? theirs[i].offer : max;
	}
	free(theirs);
	return rc ? rc : lmpi_cid_take_for(c, max, cid);
}

/* [R] IMPI reference 6: the Allreduce of the context id, for all colors the same one,
 * then the Allgather of (color, key).  Other MPIs have other values of MPI_UNDEFINED:
 * a color below 0 is nobody's.  Among our own one exchange is enough. */
int
lmpi_comm_split(struct lmpi_comm *c, int color, int key, struct lmpi_comm **comm)
{
	struct lmpi_group *g;
	struct lmpi_choice *all;
	uint64_t cid;
	int rc;

	*comm = NULL;
	all = malloc((size_t)c->size * sizeof(*all));
	if (all == NULL)
		return choices_no_memory();
	if (c->foreign < 0 && !lmpi_cid_left(c, &cid)) {
		rc = gather_all(c, color, key, all, &cid);
	} else {
		rc = c->foreign < 0 ? MPI_SUCCESS : lmpi_cid_agree(c, &cid);
		if (rc == MPI_SUCCESS)
			rc = lmpi_gather_choices(c, c->size, color, key, all);
	}
	if (rc || color == MPI_UNDEFINED) {
		free(all);
		return rc;
	}
	g = lmpi_group_of_color(c->group, all, color);
	free(all);
	return g ? hand_out_choices(g, cid, c, comm) : choices_no_memory();
}

static int
split_choices(struct lmpi_comm *c, int color, int key, MPI_Comm *newcomm)
{
	struct lmpi_comm *made;
	int rc;

	if (c->remote != NULL)
		return lmpi_inter_split(c, color, key, newcomm);
	rc = lmpi_comm_split(c, color, key, &made);
	if (rc == MPI_SUCCESS && made != NULL)
		*newcomm = made->handle;
	return rc;
}

int
impl_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	*newcomm = MPI_COMM_NULL;
	if (rc)
		return rc;
	if (color < 0 && color != MPI_UNDEFINED)
		return lmpi_error(MPI_ERR_ARG, "color %d is neither MPI_UNDEFINED nor at least 0",
				  color);
	return split_choices(c, color, key, newcomm);
}

bool
lmpi_proc_on_my_node(uint32_t world)
{
	const struct lmpi_proc *me = &lmpi_world.proc[lmpi_world.rank];
	const struct lmpi_proc *p = &lmpi_world.proc[world];

	return p->reach == LMPI_REACH_SELF || p->reach == LMPI_REACH_SHM ||
	       (p->client == me->client && p->node[0] != '\0' && strcmp(p->node, me->node) == 0);
}

/* The color of a split by nodes: where the first process on my node stands that the communicator
 * has, in either group, so that both name a node alike.  World ranks are not the same everywhere,
 * so of two groups the one comes first whose first process is before the other's. */
static int
first_on_my_node(const struct lmpi_comm *c)
{
	const struct lmpi_group *groups[] = {c->group, c->remote};
	int before = 0;

	if (c->remote != NULL && lmpi_proc_before(c->remote->world[0], c->group->world[0])) {
		groups[0] = c->remote;
		groups[1] = c->group;
	}
	for (int g = 0; g < 2 && groups[g] != NULL; before += groups[g++]->size)
		for (int i = 0; i < groups[g]->size; i++)
			if (lmpi_proc_on_my_node(groups[g]->world[i]))
				return before + i;
	return 0;
}

/* The color of a split guided by info; MPI_UNDEFINED where it asks for what is not known
 * here.  Below the node nothing is. */
static int
guided(const struct lmpi_comm *c, int split_type, const struct lmpi_info *info)
{
	const char *type = info ? lmpi_info_value(info, "mpi_hw_resource_type") : NULL;
	const char *pset = info ? lmpi_info_value(info, "mpi_pset_name") : NULL;

	if (type != NULL)
		return strcmp(type, "mpi_shared_memory") == 0 ? first_on_my_node(c) : MPI_UNDEFINED;
	if (split_type != MPI_COMM_TYPE_RESOURCE_GUIDED || pset == NULL)
		return MPI_UNDEFINED;
	if (strcmp(pset, "mpi://WORLD") == 0)
		return 0;
	return strcmp(pset, "mpi://SELF") == 0 ? (int)lmpi_world.rank : MPI_UNDEFINED;
}

int
impl_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
	struct lmpi_comm *c;
	struct lmpi_info *i;
	int rc = lmpi_comm_get(comm, &c);

	*newcomm = MPI_COMM_NULL;
	if (rc == MPI_SUCCESS)
		rc = lmpi_info_arg(info, &i);
	if (rc)
		return rc;
	switch (split_type) {
	case MPI_COMM_TYPE_SHARED:
		return split_choices(c, first_on_my_node(c), key, newcomm);
	case MPI_COMM_TYPE_HW_GUIDED:
	case MPI_COMM_TYPE_RESOURCE_GUIDED:
		return split_choices(c, guided(c, split_type, i), key, newcomm);
	case MPI_COMM_TYPE_HW_UNGUIDED: /* nothing is known below the node */
	case MPI_UNDEFINED:
		return split_choices(c, MPI_UNDEFINED, key, newcomm);
	default:
		return lmpi_error(MPI_ERR_ARG, "split_type %d is not a known one", split_type);
	}
}
