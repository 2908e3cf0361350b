/* SPDX-License-Identifier: BSD-2-Clause */
/* Active target: fence, and general active target synchronisation; completion of what is
 * under way. */
#include <stdlib.h>

#include "call.h"
#include "coll.h"
#include "impl.h"
#include "rma.h"

/* ---- completion */

struct wait {
	const struct lmpi_win *win;
	int first, end; /* ranks */
};

static struct wait
ranks(const struct lmpi_win *win, int rank)
{
	return rank < 0 ? (struct wait){win, 0, win->comm->size}
			: (struct wait){win, rank, rank + 1};
}

static bool
here(void *arg)
{
	const struct wait *w = arg;

	for (int r = w->first; r < w->end; r++)
		if (w->win->peer[r].t.pending > 0)
			return false;
	return true;
}

static bool
there(void *arg)
{
	const struct wait *w = arg;

	for (int r = w->first; r < w->end; r++)
		if (!lmpi_target_is_still(&w->win->peer[r].t))
			return false;
	return true;
}

#define POKE_EVERY 16

void
lmpi_rma_poke(void)
{
	static uint32_t calls;

	if (++calls % POKE_EVERY == 0)
		lmpi_poke();
}

void
lmpi_rma_flush_local(struct lmpi_win *win, int rank)
{
	struct wait w = ranks(win, rank);

	if (!here(&w))
		lmpi_wait_for(here, &w);
	else
		lmpi_rma_poke();
	rma_barrier();
}

static void
ask_flush(struct lmpi_win *win, int rank, bool is_void)
{
	if (lmpi_target_flush(&win->peer[rank].t, is_void && lmpi_has_failed(rma_world(win, rank))))
		lmpi_rma_send_note(win, rank, RMA_FLUSH, 0, 0);
}

static bool
has_answered(void *arg)
{
	return ((const struct lmpi_target *)arg)->acks == 0;
}

void
lmpi_rma_make_room(struct lmpi_win *win, int rank)
{
	struct lmpi_target *t = &win->peer[rank].t;

	while (lmpi_target_is_full(&lmpi_rma_acting, t)) {
		if (t->held == LMPI_LOCK_ASKED)
			lmpi_rma_lock_await(&win->peer[rank]);
		else if (!has_answered(t))
			lmpi_wait_for(has_answered, t);
		else
			ask_flush(win, rank, rma_is_void(win));
	}
}

int
lmpi_rma_flush(struct lmpi_win *win, int rank)
{
	struct wait w = ranks(win, rank);
	int error = MPI_SUCCESS, at = 0;
	bool is_void = rma_is_void(win);

	for (int r = w.first; r < w.end; r++)
		ask_flush(win, r, is_void);
	if (!there(&w))
		lmpi_wait_for(there, &w);
	else
		lmpi_rma_poke();
	rma_barrier();
	for (int r = w.first; r < w.end; r++) {
		int own = lmpi_target_take_error(&win->peer[r].t);

		if (own != MPI_SUCCESS) {
			error = own;
			at = r;
		}
	}
	return error ? lmpi_error(error, "rank %d could not do an operation on its memory", at)
		     : MPI_SUCCESS;
}

int
lmpi_rma_may_access(struct lmpi_win *win, int target)
{
	if (rma_is_void(win))
		return lmpi_rma_outcome(win, MPI_SUCCESS);
	if (target == MPI_PROC_NULL
		    ? win->lock_all || win->locks > 0 || win->starts >= 0
		    : win->peer[target].t.held != LMPI_LOCK_FREE || win->peer[target].started)
		return MPI_SUCCESS;
	if (win->fence != RMA_NO_FENCE) {
		win->fence = RMA_FENCE_USED;
		return MPI_SUCCESS;
	}
	if (target == MPI_PROC_NULL)
		return MPI_SUCCESS; /* a lock of MPI_PROC_NULL leaves no trace */
	return lmpi_error(MPI_ERR_RMA_SYNC, "no epoch in which rank %d may be accessed is open",
			  target);
}

/* ---- fence */

#define FENCE_MODES (MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED)

int
impl_Win_fence(int assert, MPI_Win handle)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win), rc2;

	if (rc)
		return rc;
	if (assert & ~FENCE_MODES)
		return lmpi_error(MPI_ERR_ASSERT, "assert is %d", assert);
	if (win->lock_all || win->locks > 0)
		return lmpi_error(MPI_ERR_RMA_SYNC, "a passive target epoch is open");
	if (win->starts >= 0 || win->posts >= 0)
		return lmpi_error(MPI_ERR_RMA_SYNC,
				  "an epoch of MPI_Win_start or MPI_Win_post is open");
	rc = lmpi_rma_flush(win, -1);
	rc2 = lmpi_coll_barrier(win->comm);
	rma_barrier();
	win->fence = assert &MPI_MODE_NOSUCCEED ? RMA_NO_FENCE : RMA_FENCED;
	return lmpi_rma_outcome(win, rc ? rc : rc2);
}

/* ---- post, start, complete, wait */

/* The ranks in the window of a group's processes. */
static int
ranks_of(const struct lmpi_win *win, MPI_Group handle, int **list, int *n)
{
	struct lmpi_group *g;
	int rc = lmpi_group_get(handle, &g);

	if (rc)
		return rc;
	*list = malloc((size_t)(g->size + 1) * sizeof(**list));
	if (*list == NULL)
		return lmpi_rma_no_memory();
	for (int i = 0; i < g->size; i++) {
		(*list)[i] = lmpi_group_rank_of(win->comm->group, g->world[i]);
		if ((*list)[i] == MPI_UNDEFINED) {
			free(*list);
			return lmpi_error(MPI_ERR_GROUP,
					  "rank %d of the group is not in the window's", i);
		}
	}
	*n = g->size;
	return MPI_SUCCESS;
}

int
impl_Win_post(MPI_Group group, int assert, MPI_Win handle)
{
	struct lmpi_win *win;
	int *list = NULL, n = 0, rc = lmpi_win_get(handle, &win);

	if (rc)
		return rc;
	if (assert & ~(MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT))
		return lmpi_error(MPI_ERR_ASSERT, "assert is %d", assert);
	if (win->posts >= 0)
		return lmpi_error(MPI_ERR_RMA_SYNC, "an epoch of MPI_Win_post is open already");
	if (win->fence == RMA_FENCE_USED)
		return lmpi_error(MPI_ERR_RMA_SYNC, "an epoch of MPI_Win_fence is open");
	rc = ranks_of(win, group, &list, &n);
	if (rc)
		return rc;
	win->fence = RMA_NO_FENCE;
	win->post = list;
	win->posts = n;
	rma_barrier();
	for (int i = 0; i < n; i++)
		lmpi_rma_send_note(win, list[i], RMA_POST, 0, 0);
	return lmpi_rma_outcome(win, MPI_SUCCESS);
}

static bool
all_posted(void *arg)
{
	const struct lmpi_win *win = arg;

	for (int i = 0; i < win->starts; i++)
		if (win->peer[win->start[i]].t.posted == 0)
			return rma_is_void(win);
	return true;
}

int
impl_Win_start(MPI_Group group, int assert, MPI_Win handle)
{
	struct lmpi_win *win;
	int *list = NULL, n = 0, rc = lmpi_win_get(handle, &win);

	if (rc)
		return rc;
	if (assert & ~MPI_MODE_NOCHECK)
		return lmpi_error(MPI_ERR_ASSERT, "assert is %d", assert);
	if (win->starts >= 0)
		return lmpi_error(MPI_ERR_RMA_SYNC, "an epoch of MPI_Win_start is open already");
	if (win->lock_all || win->locks > 0)
		return lmpi_error(MPI_ERR_RMA_SYNC, "a passive target epoch is open");
	if (win->fence == RMA_FENCE_USED)
		return lmpi_error(MPI_ERR_RMA_SYNC, "an epoch of MPI_Win_fence is open");
	rc = ranks_of(win, group, &list, &n);
	if (rc)
		return rc;
	win->fence = RMA_NO_FENCE;
	win->start = list;
	win->starts = n;
	if (!all_posted(win))
		lmpi_wait_for(all_posted, win);
	for (int i = 0; i < n; i++) {
		if (win->peer[list[i]].t.posted > 0) /* else the window is void */
			win->peer[list[i]].t.posted--;
		win->peer[list[i]].started = true;
	}
	rma_barrier();
	return lmpi_rma_outcome(win, MPI_SUCCESS);
}

int
impl_Win_complete(MPI_Win handle)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win);

	if (rc)
		return rc;
	if (win->starts < 0)
		return lmpi_error(MPI_ERR_RMA_SYNC, "there was no MPI_Win_start");
	/* Only the target of a dynamic window knows what is attached: its word is waited for. */
	if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
		rc = lmpi_rma_flush(win, -1);
	else
		lmpi_rma_flush_local(win, -1);
	/* What is sent now is dealt with at the target after all that was sent before. */
	for (int i = 0; i < win->starts; i++) {
		win->peer[win->start[i]].started = false;
		lmpi_target_complete(&lmpi_rma_acting, &win->peer[win->start[i]].t);
		lmpi_rma_send_note(win, win->start[i], RMA_COMPLETE, 0, 0);
	}
	free(win->start);
	win->start = NULL;
	win->starts = -1;
	return lmpi_rma_outcome(win, rc);
}

static bool
all_completed(void *arg)
{
	const struct lmpi_win *win = arg;

	for (int i = 0; i < win->posts; i++)
		if (win->mine.origin[win->post[i]].completed == 0)
			return rma_is_void(win);
	return true;
}

static void
end_exposure(struct lmpi_win *win)
{
	for (int i = 0; i < win->posts; i++)
		if (win->mine.origin[win->post[i]].completed > 0) /* else the window is void */
			win->mine.origin[win->post[i]].completed--;
	free(win->post);
	win->post = NULL;
	win->posts = -1;
	rma_barrier();
}

int
impl_Win_wait(MPI_Win handle)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win);

	if (rc)
		return rc;
	if (win->posts < 0)
		return lmpi_error(MPI_ERR_RMA_SYNC, "there was no MPI_Win_post");
	if (!all_completed(win))
		lmpi_wait_for(all_completed, win);
	end_exposure(win);
	return lmpi_rma_outcome(win, MPI_SUCCESS);
}

int
impl_Win_test(MPI_Win handle, int *flag)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win);

	if (rc)
		return rc;
	if (win->posts < 0)
		return lmpi_error(MPI_ERR_RMA_SYNC, "there was no MPI_Win_post");
	if (!all_completed(win))
		lmpi_poke();
	*flag = all_completed(win);
	if (*flag)
		end_exposure(win);
	return lmpi_rma_outcome(win, MPI_SUCCESS);
}
