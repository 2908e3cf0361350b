/* What is connected: disconnecting, and the end. */
#include <stdlib.h>

#include "call.h"
#include "coll.h"
#include "dyn.h"
#include "engine.h"
#include "impl.h"
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

	if (l == NULL)
		return false;
	while (*at != NULL && (*at)->comm->cid < comm->cid)
		at = &(*at)->next;
	lmpi_comm_ref(comm);
	*l = (struct link){*at, comm};
	*at = l;
	lmpi_others_watch(lmpi_comm_has);
	return true;
}

static void
drop_link(struct link **at)
{
	struct link *l = *at;

	*at = l->next;
	lmpi_comm_unref(l->comm);
	free(l);
}

void
lmpi_links_end(void)
{
	/* Who has several jobs meets them in one order, so nobody waits in a circle. */
	for (struct link *l = links; l != NULL; l = l->next)
		(void)lmpi_coll_barrier(l->comm);
	lmpi_others_watch(NULL);
	while (links != NULL)
		drop_link(&links);
}

int
impl_Comm_disconnect(MPI_Comm *comm)
{
	struct link **at = &links;
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(*comm, &c);

	if (rc)
		return rc;
	if (!lmpi_comm_mixed(c)) /* what is under way is the caller's to complete */
		return impl_Comm_free(comm);
	/* The last message that the others wait for arrives before anybody leaves. */
	rc = lmpi_coll_barrier(c);
	if (rc)
		return rc;
	while (*at != NULL && (*at)->comm != c)
		at = &(*at)->next;
	lmpi_parent_forget(c);
	if (*at != NULL)
		drop_link(at);
	rc = impl_Comm_free(comm);
	lmpi_drain();
	return rc;
}
