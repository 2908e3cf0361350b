/* SPDX-License-Identifier: BSD-2-Clause */
/* What is connected: disconnecting, and the end. */
#include <stdlib.h>

#include "dyn.h"
#include "engine.h"
#include "meet.h"
#include "others.h"

struct link {
	struct link *next;
	struct lmpi_comm *comm; /* a reference */
};
static struct link *links; /* by rising context ids */

bool
lmpi_link_add(struct lmpi_comm *comm)
{
	struct link *l = malloc(sizeof(*l)), **at = &links;
	uint32_t n = 0, *member = lmpi_comm_members(comm, &n);

	if (l == NULL || member == NULL) {
		free(l);
		free(member);
		return false;
	}
	while (*at != NULL && (*at)->comm->cid < comm->cid)
		at = &(*at)->next;
	lmpi_comm_ref(comm);
	*l = (struct link){*at, comm};
	*at = l;
	lmpi_others_watch(lmpi_comm_has);
	lmpi_failures_join(comm->cid, member, n);
	free(member);
	return true;
}

static bool
shares_strangers(const struct lmpi_group *g)
{
	for (int i = 0; i < g->size; i++)
		if (g->world[i] >= lmpi_world.size && lmpi_comm_has(g->world[i]))
			return true;
	return false;
}

/* Links are gone, or communicators: who has nothing in common any more hears of no failures. */
static void
review_failures(struct lmpi_group *own, struct lmpi_group *remote, uint64_t cid)
{
	if (!shares_strangers(own) && !shares_strangers(remote))
		lmpi_failures_leave(cid);
}

static void
drop_link(struct link **at)
{
	struct link *l = *at;
	struct lmpi_group *own = l->comm->group, *remote = l->comm->remote;
	uint64_t cid = l->comm->cid;

	*at = l->next;
	lmpi_group_ref(own);
	lmpi_group_ref(remote);
	lmpi_comm_unref(l->comm);
	review_failures(own, remote, cid);
	lmpi_group_unref(own);
	lmpi_group_unref(remote);
	free(l);
}

void
lmpi_links_end(void)
{
	/* Who has several jobs meets them in one order, so nobody waits in a circle. */
	for (struct link *l = links; l != NULL; l = l->next)
		(void)lmpi_comm_meet(l->comm);
	lmpi_others_watch(NULL);
	while (links != NULL)
		drop_link(&links);
}

int
lmpi_link_leave(struct lmpi_comm *c)
{
	/* The last message that the others wait for arrives before anybody leaves. */
	int rc = lmpi_comm_meet(c);

	if (rc && (rc == MPI_ERR_NO_MEM || !lmpi_survives()))
		return rc;
	lmpi_parent_forget(c);
	return MPI_SUCCESS;
}

void
lmpi_link_drop(const struct lmpi_comm *c)
{
	struct link **at = &links;

	while (*at != NULL && (*at)->comm != c)
		at = &(*at)->next;
	if (*at != NULL)
		drop_link(at);
	lmpi_drain();
}
