/* SPDX-License-Identifier: BSD-2-Clause */
/* Passive target: locks, and flushing. */
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

#include "call.h"
#include "impl.h"
#include "rma.h"

#include "mpi/lock_word.h"

/* How long a lock word in shared memory is tried before the target is asked: as long as a question
 * and its answer take where CPUs share no cache. */
#define TRY_NS (10 * BASE_US_NS)

/* ---- acquiring and giving up */

static uint64_t
read_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * BASE_S_NS + (uint64_t)t.tv_nsec;
}

/* The word of a target in this node. */
static bool
try_word(struct rma_peer *peer, bool exclusive)
{
	if (lock_word_try(&peer->ctl->lock, exclusive, false))
		return true;
	uint64_t until = read_clock() + TRY_NS;
	do {
		lmpi_progress();
		sched_yield();
		if (lock_word_try(&peer->ctl->lock, exclusive, false))
			return true;
	} while (read_clock() < until);
	return false;
}

static void
ask_passive(struct lmpi_win *win, int rank, bool exclusive)
{
	struct rma_peer *peer = &win->peer[rank];

	if (!lmpi_target_ask(&peer->t, exclusive,
			     rma_is_void(win) && lmpi_has_failed(rma_world(win, rank))))
		return;
	if (peer->ctl != NULL && try_word(peer, exclusive)) {
		peer->t.held = LMPI_LOCK_HELD;
		return;
	}
	if (peer->t.held != LMPI_LOCK_ASKED)
		return; /* its process has died meanwhile */
	if (rank == win->comm->rank)
		lmpi_exposed_ask(&win->mine, rank, exclusive);
	else
		lmpi_rma_send_note(win, rank, RMA_LOCK, exclusive ? RMA_EXCLUSIVE : 0, 0);
}

static bool
passive_held(void *arg)
{
	return ((struct rma_peer *)arg)->t.held != LMPI_LOCK_ASKED;
}

void
lmpi_rma_lock_await(struct rma_peer *peer)
{
	if (peer->t.held == LMPI_LOCK_ASKED)
		lmpi_wait_for(passive_held, peer);
}

/* Within the node the lock is waited for: operations may go there without packets. */
static void
await_if_near(struct lmpi_win *win, int rank)
{
	uint32_t world = rma_world(win, rank);

	if (win->peer[rank].ctl != NULL || lmpi_node_reads(world))
		lmpi_rma_lock_await(&win->peer[rank]);
}

/* With nothing done under it, it may not have been granted yet. */
static void
give_up_passive(struct lmpi_win *win, int rank)
{
	struct rma_peer *peer = &win->peer[rank];

	lmpi_rma_lock_await(peer);
	bool real = peer->t.held == LMPI_LOCK_HELD;

	peer->t.held = LMPI_LOCK_FREE;
	if (!real)
		return;
	if (peer->ctl == NULL)
		lmpi_rma_send_note(win, rank, RMA_UNLOCK, peer->t.exclusive ? RMA_EXCLUSIVE : 0, 0);
	else if (rank == win->comm->rank)
		lmpi_exposed_return(&win->mine, peer->t.exclusive);
	else if (lock_word_drop(&peer->ctl->lock, peer->t.exclusive))
		lmpi_rma_send_note(win, rank, RMA_KICK, 0, 0);
}

/* ---- the calls */

static int
get_with_rank(MPI_Win handle, int rank, struct lmpi_win **win)
{
	int rc = lmpi_win_get(handle, win);

	if (rc)
		return rc;
	if ((rank < 0 || rank >= (*win)->comm->size) && rank != MPI_PROC_NULL)
		return lmpi_error(MPI_ERR_RANK, "rank %d is not one of the window's %d processes",
				  rank, (*win)->comm->size);
	return MPI_SUCCESS;
}

/* May a passive epoch begin?  A fence that nothing followed began none. */
static int
may_lock(struct lmpi_win *win, int assert)
{
	if (assert & ~MPI_MODE_NOCHECK)
		return lmpi_error(MPI_ERR_ASSERT, "assert %d is not 0 or MPI_MODE_NOCHECK", assert);
	if (win->lock_all)
		return lmpi_error(MPI_ERR_RMA_SYNC, "the window is locked by MPI_Win_lock_all");
	if (win->starts >= 0)
		return lmpi_error(MPI_ERR_RMA_SYNC, "an epoch of MPI_Win_start is open");
	if (win->fence == RMA_FENCE_USED)
		return lmpi_error(MPI_ERR_RMA_SYNC, "an epoch of MPI_Win_fence is open");
	win->fence = RMA_NO_FENCE;
	return MPI_SUCCESS;
}

int
impl_Win_lock(int lock_type, int rank, int assert, MPI_Win handle)
{
	struct lmpi_win *win;
	struct rma_peer *peer;
	int rc = get_with_rank(handle, rank, &win);

	if (rc)
		return rc;
	if (lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE)
		return lmpi_error(MPI_ERR_LOCKTYPE, "lock_type is %d", lock_type);
	rc = may_lock(win, assert);
	if (rc || rank == MPI_PROC_NULL)
		return rc;
	if (rma_is_void(win))
		return lmpi_rma_outcome(win, rc);
	peer = &win->peer[rank];
	if (peer->t.held != LMPI_LOCK_FREE)
		return lmpi_error(MPI_ERR_RMA_SYNC, "rank %d is locked already", rank);
	win->locks++;
	if (assert & MPI_MODE_NOCHECK) {
		peer->t.held = LMPI_LOCK_NOCHECK;
	} else {
		ask_passive(win, rank, lock_type == MPI_LOCK_EXCLUSIVE);
		await_if_near(win, rank);
	}
	rma_barrier();
	return lmpi_rma_outcome(win, MPI_SUCCESS);
}

int
impl_Win_unlock(int rank, MPI_Win handle)
{
	struct lmpi_win *win;
	int rc = get_with_rank(handle, rank, &win);

	if (rc || rank == MPI_PROC_NULL)
		return rc;
	if (win->lock_all || win->peer[rank].t.held == LMPI_LOCK_FREE)
		return lmpi_error(MPI_ERR_RMA_SYNC, "rank %d is not locked by MPI_Win_lock", rank);
	rc = lmpi_rma_flush(win, rank);
	give_up_passive(win, rank);
	win->locks--;
	return lmpi_rma_outcome(win, rc);
}

int
impl_Win_lock_all(int assert, MPI_Win handle)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win);

	if (rc == MPI_SUCCESS)
		rc = may_lock(win, assert);
	if (rc)
		return rc;
	if (rma_is_void(win))
		return lmpi_rma_outcome(win, rc);
	if (win->locks > 0)
		return lmpi_error(MPI_ERR_RMA_SYNC, "%d ranks are locked by MPI_Win_lock",
				  win->locks);
	win->lock_all = true;
	for (int r = 0; r < win->comm->size; r++) {
		if (assert & MPI_MODE_NOCHECK)
			win->peer[r].t.held = LMPI_LOCK_NOCHECK;
		else
			ask_passive(win, r, false);
	}
	for (int r = 0; r < win->comm->size; r++)
		await_if_near(win, r);
	rma_barrier();
	return lmpi_rma_outcome(win, MPI_SUCCESS);
}

int
impl_Win_unlock_all(MPI_Win handle)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win);

	if (rc)
		return rc;
	if (!win->lock_all)
		return lmpi_error(MPI_ERR_RMA_SYNC, "there was no MPI_Win_lock_all");
	rc = lmpi_rma_flush(win, -1);
	for (int r = 0; r < win->comm->size; r++)
		give_up_passive(win, r);
	win->lock_all = false;
	return lmpi_rma_outcome(win, rc);
}

/* rank -1: all. */
static int
flush_passive(MPI_Win handle, int rank, bool local)
{
	struct lmpi_win *win;
	int rc = rank == -1 ? lmpi_win_get(handle, &win) : get_with_rank(handle, rank, &win);

	if (rc || rank == MPI_PROC_NULL)
		return rc;
	if (rank == -1 ? !win->lock_all && win->locks == 0
		       : win->peer[rank].t.held == LMPI_LOCK_FREE)
		return lmpi_error(MPI_ERR_RMA_SYNC, "no passive target epoch is open");
	if (!local)
		return lmpi_rma_outcome(win, lmpi_rma_flush(win, rank));
	lmpi_rma_flush_local(win, rank);
	return lmpi_rma_outcome(win, MPI_SUCCESS);
}

/* The ranks of the user are not negative. */
static int
flush_one(MPI_Win handle, int rank, bool local)
{
	return rank == -1 ? lmpi_error(MPI_ERR_RANK, "rank is -1")
			  : flush_passive(handle, rank, local);
}

int
impl_Win_flush(int rank, MPI_Win win)
{
	return flush_one(win, rank, false);
}

int
impl_Win_flush_local(int rank, MPI_Win win)
{
	return flush_one(win, rank, true);
}

int
impl_Win_flush_all(MPI_Win win)
{
	return flush_passive(win, -1, false);
}

int
impl_Win_flush_local_all(MPI_Win win)
{
	return flush_passive(win, -1, true);
}

int
impl_Win_sync(MPI_Win handle)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win);

	if (rc)
		return rc;
	rma_barrier();
	lmpi_rma_poke();
	return MPI_SUCCESS;
}
