/* SPDX-License-Identifier: BSD-2-Clause */
/* Communicator objects: life and lookup. */
#include "comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "errhandler.h"
#include "info.h"
#include "topo.h"

struct lmpi_pool lmpi_comm_pool = {.what = "communicator",
				   .magic = 0x434f4d4d,
				   .size = sizeof(struct lmpi_comm),
				   .offset = offsetof(struct lmpi_comm, obj)};
struct lmpi_comm *lmpi_comm_world, *lmpi_comm_self;

static struct lmpi_comm *comms;

struct lmpi_comm *
lmpi_comm_of_cid(uint64_t cid)
{
	struct lmpi_comm *c = comms;

	while (c != NULL && c->cid != cid && c->cid + 1 != cid)
		c = c->list_next;
	return c;
}

bool
lmpi_comm_has_member(const struct lmpi_comm *c, uint32_t world)
{
	return lmpi_group_rank_of(c->group, world) != MPI_UNDEFINED ||
	       (c->remote != NULL && lmpi_group_rank_of(c->remote, world) != MPI_UNDEFINED);
}

void
lmpi_comm_lose(uint32_t world)
{
	for (struct lmpi_comm *c = comms; c != NULL; c = c->list_next) {
		c->lost += lmpi_comm_has_member(c, world);
		if (!c->whole || lmpi_group_rank_of(c->group, world) == MPI_UNDEFINED)
			continue;
		lmpi_void(c->cid);
		if (c->on_lost != NULL)
			c->on_lost(c, world);
	}
}

void
lmpi_comm_make_whole(struct lmpi_comm *c, void (*on_lost)(struct lmpi_comm *c, uint32_t world))
{
	c->whole = true;
	c->on_lost = on_lost;
	for (int i = 0; i < c->group->size; i++)
		if (lmpi_has_failed(c->group->world[i]))
			lmpi_void(c->cid);
}

bool
lmpi_group_mixed(const struct lmpi_group *g)
{
	for (int i = 0; g != NULL && i < g->size; i++)
		if (g->world[i] >= lmpi_world.size)
			return true;
	return false;
}

bool
lmpi_comm_mixed(const struct lmpi_comm *comm)
{
	return lmpi_world.slots > lmpi_world.size &&
	       (lmpi_group_mixed(comm->group) || lmpi_group_mixed(comm->remote));
}

bool
lmpi_comm_has(uint32_t world)
{
	for (const struct lmpi_comm *c = comms; c != NULL; c = c->list_next)
		if (lmpi_comm_has_member(c, world))
			return true;
	return false;
}

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

void
lmpi_comm_rename(struct lmpi_comm *c, const char *name)
{
	snprintf(c->name, sizeof(c->name), "%s", name);
}

int
lmpi_comm_get_intra(MPI_Comm handle, struct lmpi_comm **comm)
{
	int rc = lmpi_comm_get(handle, comm);

	if (rc == MPI_SUCCESS && (*comm)->remote != NULL)
		return lmpi_error(MPI_ERR_COMM, "the communicator is an inter-communicator");
	return rc;
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

int
lmpi_group_lost(const struct lmpi_group *g)
{
	const uint32_t *world;
	uint32_t all = lmpi_failures(&world);
	int n = 0;

	for (uint32_t i = 0; i < all; i++)
		n += lmpi_group_rank_of(g, world[i]) != MPI_UNDEFINED;
	return n;
}

struct lmpi_comm *
lmpi_comm_new(struct lmpi_group *group, uint64_t cid, const struct lmpi_comm *parent)
{
	struct lmpi_comm *c = lmpi_object_new(&lmpi_comm_pool);

	if (c == NULL)
		return NULL;
	c->handle = (MPI_Comm)c;
	c->cid = cid;
	c->list_next = comms;
	c->list_at = &comms;
	if (comms != NULL)
		comms->list_at = &c->list_next;
	comms = c;
	c->group = group;
	c->rank = group->rank;
	c->size = group->size;
	c->errhandler = parent ? parent->errhandler : MPI_ERRORS_ARE_FATAL;
	c->foreign = lmpi_group_foreign(group);
	c->lost = lmpi_group_lost(group);
	lmpi_errhandler_ref(c->errhandler);
	return c;
}

void
lmpi_comm_ref(struct lmpi_comm *comm)
{
	comm->obj.refs++;
}

struct lmpi_attached *
lmpi_comm_attach(struct lmpi_comm *c, enum lmpi_comm_slot slot, size_t size,
		 void (*drop)(struct lmpi_attached *a, const struct lmpi_comm *comm))
{
	struct lmpi_attached *a = calloc(1, size);

	if (a != NULL)
		a->drop = drop;
	c->slot[slot] = a;
	return a;
}

static void
drop_slots(struct lmpi_comm *c)
{
	for (int i = 0; i < LMPI_COMM_SLOTS; i++) {
		struct lmpi_attached *a = c->slot[i];

		if (a != NULL && a->drop != NULL)
			a->drop(a, c);
		else
			free(a);
		c->slot[i] = NULL;
	}
}

void
lmpi_comm_unref(struct lmpi_comm *comm)
{
	if (--comm->obj.refs > 0)
		return;
	drop_slots(comm);
	lmpi_group_unref(comm->group);
	lmpi_group_unref(comm->remote);
	if (comm->local != NULL)
		lmpi_comm_unref(comm->local);
	lmpi_errhandler_unref(comm->errhandler);
	if (comm->info != NULL)
		lmpi_info_delete(comm->info);
	lmpi_topology_free(comm->topo);
	*comm->list_at = comm->list_next;
	if (comm->list_next != NULL)
		comm->list_next->list_at = comm->list_at;
	lmpi_object_delete(&lmpi_comm_pool, comm);
}

/* As MPI-4 names them for mpiexec and MPI_Comm_spawn. */
static MPI_Errhandler
first_errhandler(void)
{
	static const MPI_Errhandler words[] = {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT,
					       MPI_ERRORS_RETURN};

	return words[lmpi_knob_word(LMPI_KNOB_ERRHANDLER)];
}

static struct lmpi_comm *
comm_predefined(MPI_Comm handle, const char *name, int size, uint64_t cid)
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
	lmpi_errhandler_unref(c->errhandler);
	c->errhandler = first_errhandler();
	lmpi_errhandler_ref(c->errhandler);
	lmpi_comm_rename(c, name);
	return c;
}

int
lmpi_comm_init(void)
{
	lmpi_group_empty = lmpi_group_new(0);
	lmpi_comm_world =
		comm_predefined(MPI_COMM_WORLD, "MPI_COMM_WORLD", (int)lmpi_world.size, 0);
	lmpi_comm_self = comm_predefined(MPI_COMM_SELF, "MPI_COMM_SELF", 1, LMPI_CID_LOCAL);
	if (!lmpi_group_empty || !lmpi_comm_world || !lmpi_comm_self)
		return MPI_ERR_NO_MEM;
	return MPI_SUCCESS;
}

/* The world has other ranks now, or fewer: a cluster that shrinks. */
static int
change_ranks(struct lmpi_comm *c, uint32_t size)
{
	struct lmpi_group *g;

	if ((uint32_t)c->size == size && c->group->world[0] == (size == 1 ? lmpi_world.rank : 0) &&
	    c->group->rank == (size == 1 ? 0 : (int)lmpi_world.rank))
		return MPI_SUCCESS;
	g = lmpi_group_new((int)size);
	if (g == NULL)
		return MPI_ERR_NO_MEM;
	for (uint32_t i = 0; i < size; i++)
		g->world[i] = size == 1 ? lmpi_world.rank : i;
	lmpi_group_ready(g);
	lmpi_group_unref(c->group);
	c->group = g;
	c->rank = g->rank;
	c->size = g->size;
	return MPI_SUCCESS;
}

int
lmpi_comm_renew(void)
{
	struct lmpi_comm *w = lmpi_comm_world;

	if (change_ranks(w, lmpi_world.size) || change_ranks(lmpi_comm_self, 1))
		return MPI_ERR_NO_MEM;

	for (struct lmpi_comm *c = comms; c != NULL; c = c->list_next) {
		c->acked = 0;
		c->lost = 0;
		if (c == w || c == lmpi_comm_self)
			continue;
		lmpi_void(c->cid);
		if (c->local != NULL)
			lmpi_void(c->local->cid);
	}
	drop_slots(w);
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
