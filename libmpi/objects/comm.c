/* Communicator objects: life, lookup, and the calls that only look at one. */
#include "comm.h"
#include "coll_light.h"
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bsend.h"
#include "engine.h"
#include "errhandler.h"
#include "errors.h"
#include "impi_attr.h"
#include "impl.h"
#include "info.h"
#include "partitioned.h"
#include "topo.h"

struct lmpi_pool lmpi_comm_pool = {.what = "communicator",
				   .magic = 0x434f4d4d,
				   .size = sizeof(struct lmpi_comm),
				   .offset = offsetof(struct lmpi_comm, obj)};
struct lmpi_comm *lmpi_comm_world, *lmpi_comm_self;

struct lmpi_comm *
lmpi_comm_find(MPI_Comm handle)
{
	if (handle == MPI_COMM_WORLD)
		return lmpi_comm_world;
	if (handle == MPI_COMM_SELF)
		return lmpi_comm_self;
	return lmpi_object_valid(&lmpi_comm_pool, handle) ? (void *)handle : NULL;
}

int
lmpi_comm_get(MPI_Comm handle, struct lmpi_comm **comm)
{
	*comm = lmpi_comm_find(handle);
	if (__builtin_expect(*comm == NULL || (*comm)->user_freed, 0))
		return lmpi_error(MPI_ERR_COMM, "%s (%p)",
				  handle == MPI_COMM_NULL ? "the communicator is MPI_COMM_NULL"
							  : "the communicator is not a valid one",
				  (void *)handle);
	return MPI_SUCCESS;
}

int
lmpi_comm_get_intra(MPI_Comm handle, struct lmpi_comm **comm)
{
	int rc = lmpi_comm_get(handle, comm);

	if (rc == MPI_SUCCESS && (*comm)->remote != NULL)
		return lmpi_error(MPI_ERR_COMM, "the communicator is an inter-communicator");
	return rc;
}

/* Cluster of each rank, for hierarchical collectives; NULL if all are in one. */
static uint32_t *
clusters_of(const struct lmpi_group *g)
{
	uint32_t *of;
	bool several = false;

	if (lmpi_world.nclients < 2)
		return NULL;
	of = malloc((size_t)(g->size + 1) * sizeof(*of));
	for (int i = 0; of != NULL && i < g->size; i++) {
		of[i] = lmpi_world.proc[g->world[i]].client;
		several |= of[i] != of[0];
	}
	if (!several) {
		free(of);
		return NULL;
	}
	return of;
}

/* Clusters if there are several, else nodes; all processes of the group find the same. */
static void
find_near(struct lmpi_comm *c)
{
	uint32_t n = (uint32_t)c->group->size;
	uint32_t *key = malloc((2 * (size_t)n + 1) * sizeof(*key)), *number;
	bool known = key != NULL;

	for (uint32_t i = 0; known && i < n; i++) {
		const struct lmpi_proc *x = &lmpi_world.proc[c->group->world[i]];

		key[i] = c->cluster_of != NULL ? x->client : x->node_first;
		known = key[i] < lmpi_world.size; /* a launcher may not say */
	}
	number = known ? malloc(((size_t)n + 1) * sizeof(*number)) : NULL;
	if (number != NULL)
		c->near = coll_locality_of(key, n, number, key + n);
	if (c->near.of == NULL)
		free(number);
	free(key);
}

int
lmpi_group_foreign(const struct lmpi_group *g)
{
	int lowest = -1;

	for (int i = 0; i < g->size && lmpi_world.any_foreign; i++) {
		int client = (int)lmpi_world.proc[g->world[i]].client;

		if (lmpi_world.clients[client].foreign && (lowest < 0 || client < lowest))
			lowest = client;
	}
	return lowest;
}

struct lmpi_comm *
lmpi_comm_new(struct lmpi_group *group, uint64_t cid, const struct lmpi_comm *parent)
{
	struct lmpi_comm *c = lmpi_object_new(&lmpi_comm_pool);

	if (c == NULL)
		return NULL;
	c->handle = (MPI_Comm)c;
	c->cid = cid;
	c->group = group;
	c->rank = group->rank;
	c->size = group->size;
	c->errhandler = parent ? parent->errhandler : MPI_ERRORS_ARE_FATAL;
	c->cluster_of = clusters_of(group);
	find_near(c);
	c->foreign = lmpi_group_foreign(group);
	lmpi_errhandler_ref(c->errhandler);
	return c;
}

void
lmpi_comm_ref(struct lmpi_comm *comm)
{
	comm->obj.refs++;
}

void
lmpi_comm_unref(struct lmpi_comm *comm)
{
	if (--comm->obj.refs > 0)
		return;
	lmpi_coll_light_forget(comm);
	lmpi_plans_free(comm->plans);
	lmpi_group_unref(comm->group);
	lmpi_group_unref(comm->remote);
	if (comm->local != NULL)
		lmpi_comm_unref(comm->local);
	lmpi_errhandler_unref(comm->errhandler);
	if (comm->info != NULL)
		lmpi_info_delete(comm->info);
	lmpi_topology_free(comm->topo);
	lmpi_part_forget_counts(comm->part_counts);
	free(comm->cluster_of);
	free((void *)(uintptr_t)comm->near.of);
	lmpi_object_delete(&lmpi_comm_pool, comm);
}

static struct lmpi_comm *
predefined(MPI_Comm handle, const char *name, int size, uint64_t cid)
{
	struct lmpi_group *g = lmpi_group_new(size);
	struct lmpi_comm *c;

	if (g == NULL)
		return NULL;
	for (int i = 0; i < size; i++)
		g->world[i] = size == 1 ? lmpi_world.rank : (uint32_t)i;
	lmpi_group_ready(g);
	c = lmpi_comm_new(g, cid, NULL);
	if (c == NULL) {
		lmpi_group_unref(g);
		return NULL;
	}
	c->handle = handle;
	snprintf(c->name, sizeof(c->name), "%s", name);
	return c;
}

int
lmpi_comm_init(void)
{
	lmpi_group_empty = lmpi_group_new(0);
	lmpi_comm_world = predefined(MPI_COMM_WORLD, "MPI_COMM_WORLD", (int)lmpi_world.size, 0);
	lmpi_comm_self = predefined(MPI_COMM_SELF, "MPI_COMM_SELF", 1, LMPI_CID_LOCAL);
	if (!lmpi_group_empty || !lmpi_comm_world || !lmpi_comm_self)
		return MPI_ERR_NO_MEM;
	return MPI_SUCCESS;
}

void
lmpi_comm_fini(void)
{
	lmpi_comm_unref(lmpi_comm_world);
	lmpi_comm_unref(lmpi_comm_self);
	lmpi_group_unref(lmpi_group_empty);
	lmpi_comm_world = NULL;
	lmpi_comm_self = NULL;
	lmpi_group_empty = NULL;
}

/* ---- looking at one */

int
impl_Comm_size(MPI_Comm comm, int *size)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		*size = c->size;
	return rc;
}

int
impl_Comm_rank(MPI_Comm comm, int *rank)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		*rank = c->rank;
	return rc;
}

int
impl_Comm_remote_size(MPI_Comm comm, int *size)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	if (c->remote == NULL)
		return lmpi_error(MPI_ERR_COMM, "the communicator is not an inter-communicator");
	*size = c->remote->size;
	return MPI_SUCCESS;
}

int
impl_Comm_test_inter(MPI_Comm comm, int *flag)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		*flag = c->remote != NULL;
	return rc;
}

int
impl_Comm_group(MPI_Comm comm, MPI_Group *group)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	lmpi_group_ref(c->group);
	*group = lmpi_group_handle(c->group);
	return MPI_SUCCESS;
}

int
impl_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	if (c->remote == NULL)
		return lmpi_error(MPI_ERR_COMM, "the communicator is not an inter-communicator");
	lmpi_group_ref(c->remote);
	*group = lmpi_group_handle(c->remote);
	return MPI_SUCCESS;
}

int
impl_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
	struct lmpi_comm *a, *b;
	int rc = lmpi_comm_get(comm1, &a), remote;

	if (rc == MPI_SUCCESS)
		rc = lmpi_comm_get(comm2, &b);
	if (rc)
		return rc;
	if (a == b) {
		*result = MPI_IDENT;
		return MPI_SUCCESS;
	}
	if ((a->remote == NULL) != (b->remote == NULL)) {
		*result = MPI_UNEQUAL;
		return MPI_SUCCESS;
	}
	*result = lmpi_group_compare(a->group, b->group);
	if (a->remote != NULL && *result != MPI_UNEQUAL) {
		remote = lmpi_group_compare(a->remote, b->remote);
		if (remote != MPI_IDENT)
			*result = remote;
	}
	if (*result == MPI_IDENT)
		*result = MPI_CONGRUENT;
	return MPI_SUCCESS;
}

int
impl_Comm_set_name(MPI_Comm comm, const char *comm_name)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		snprintf(c->name, sizeof(c->name), "%s", comm_name);
	return rc;
}

int
impl_Comm_get_name(MPI_Comm comm, char *comm_name, int *resultlen)
{
	struct lmpi_comm *c;
	int rc;

	if (comm == MPI_COMM_NULL) {
		*resultlen = snprintf(comm_name, MPI_MAX_OBJECT_NAME, "MPI_COMM_NULL");
		return MPI_SUCCESS;
	}
	rc = lmpi_comm_get(comm, &c);
	if (rc == MPI_SUCCESS)
		*resultlen = snprintf(comm_name, MPI_MAX_OBJECT_NAME, "%s", c->name);
	return rc;
}

int
impl_Comm_free(MPI_Comm *comm)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(*comm, &c);

	if (rc)
		return rc;
	if (c == lmpi_comm_world || c == lmpi_comm_self)
		return lmpi_error(MPI_ERR_COMM, "%s cannot be freed", c->name);
	rc = lmpi_attr_delete_all(LMPI_ATTR_COMM, c->handle, &c->attrs);
	if (rc)
		return rc;
	c->user_freed = true; /* pending requests may still hold it */
	lmpi_comm_unref(c);
	*comm = MPI_COMM_NULL;
	return MPI_SUCCESS;
}

int
impl_Comm_disconnect(MPI_Comm *comm)
{
	/* Nothing connects processes but the job itself: pending traffic of the
	 * communicator is the caller's to complete, as the standard demands. */
	return impl_Comm_free(comm);
}

int
impl_Comm_get_parent(MPI_Comm *parent)
{
	*parent = MPI_COMM_NULL; /* nobody is spawned */
	return MPI_SUCCESS;
}

/* ---- hints */

int
impl_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
	struct lmpi_comm *c;
	struct lmpi_info *from, *copy;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		rc = lmpi_info_arg(info, &from);
	if (rc || from == NULL)
		return rc;
	copy = lmpi_info_copy(from);
	if (copy == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	if (c->info != NULL)
		lmpi_info_delete(c->info);
	c->info = copy;
	return MPI_SUCCESS;
}

int
impl_Comm_get_info(MPI_Comm comm, MPI_Info *info_used)
{
	struct lmpi_comm *c;
	struct lmpi_info *copy;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	copy = c->info ? lmpi_info_copy(c->info) : lmpi_info_new();
	if (copy == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	*info_used = (MPI_Info)copy;
	return MPI_SUCCESS;
}

/* ---- attributes */

/* Values of the predefined keys; pointers to int, as the ABI says. */
static int *
builtin_attr(int keyval)
{
	static int wtime_is_global, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE;

	switch (keyval) {
	case MPI_TAG_UB:
		return &lmpi_world.tag_ub;
	case MPI_HOST:
		return &host;
	case MPI_IO:
		return &io;
	case MPI_WTIME_IS_GLOBAL:
		return &wtime_is_global;
	case MPI_UNIVERSE_SIZE:
		return lmpi_world.universe_size > 0 ? &lmpi_world.universe_size : NULL;
	case MPI_APPNUM:
		return lmpi_world.appnum >= 0 ? &lmpi_world.appnum : NULL;
	case MPI_LASTUSEDCODE:
		return &lmpi_last_used_code;
	default:
		return NULL;
	}
}

static bool
is_builtin(int keyval)
{
	return (keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE) || lmpi_is_impi_attr(keyval);
}

int
impl_Comm_get_attr(MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	if (is_builtin(comm_keyval)) {
		int *value;

		rc = lmpi_impi_attr(c, comm_keyval, &value);
		if (rc)
			return rc;
		/* Of these a communicator of a session has but one (MPI 5.0, 9.1.2). */
		if (value == NULL && (comm_keyval == MPI_TAG_UB || c->group->session == 0))
			value = builtin_attr(comm_keyval);
		*flag = value != NULL;
		if (value != NULL)
			*(int **)attribute_val = value;
		return MPI_SUCCESS;
	}
	return lmpi_attr_get(LMPI_ATTR_COMM, c->attrs, comm_keyval, attribute_val, flag);
}

int
impl_Comm_set_attr(MPI_Comm comm, int comm_keyval, void *attribute_val)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	if (is_builtin(comm_keyval))
		return lmpi_error(MPI_ERR_KEYVAL, "attribute key %d is predefined", comm_keyval);
	return lmpi_attr_set(LMPI_ATTR_COMM, c->handle, &c->attrs, comm_keyval, attribute_val);
}

int
impl_Comm_delete_attr(MPI_Comm comm, int comm_keyval)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	if (is_builtin(comm_keyval))
		return lmpi_error(MPI_ERR_KEYVAL, "attribute key %d is predefined", comm_keyval);
	return lmpi_attr_delete(LMPI_ATTR_COMM, c->handle, &c->attrs, comm_keyval);
}

int
impl_Comm_create_keyval(MPI_Comm_copy_attr_function *comm_copy_attr_fn,
			MPI_Comm_delete_attr_function *comm_delete_attr_fn, int *comm_keyval,
			void *extra_state)
{
	return lmpi_keyval_create(LMPI_ATTR_COMM, (void (*)(void))comm_copy_attr_fn,
				  (void (*)(void))comm_delete_attr_fn, extra_state, comm_keyval);
}

int
impl_Comm_free_keyval(int *comm_keyval)
{
	return lmpi_keyval_free(LMPI_ATTR_COMM, comm_keyval);
}

/* The MPI-1 names of the same. */

int
impl_Attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
	return impl_Comm_get_attr(comm, keyval, attribute_val, flag);
}

int
impl_Attr_put(MPI_Comm comm, int keyval, void *attribute_val)
{
	return impl_Comm_set_attr(comm, keyval, attribute_val);
}

int
impl_Attr_delete(MPI_Comm comm, int keyval)
{
	return impl_Comm_delete_attr(comm, keyval);
}

int
impl_Keyval_create(MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, int *keyval,
		   void *extra_state)
{
	return lmpi_keyval_create(LMPI_ATTR_COMM, (void (*)(void))copy_fn,
				  (void (*)(void))delete_fn, extra_state, keyval);
}

int
impl_Keyval_free(int *keyval)
{
	return lmpi_keyval_free(LMPI_ATTR_COMM, keyval);
}
