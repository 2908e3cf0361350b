/* SPDX-License-Identifier: BSD-2-Clause */
/* Window objects: making and freeing them, and what hangs on them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "coll.h"
#include "comm_create.h"
#include "errhandler.h"
#include "impi.h"
#include "impl.h"
#include "meet.h"
#include "rma.h"

struct lmpi_pool lmpi_win_pool = {.what = "window",
				  .magic = 0x57494e44,
				  .size = sizeof(struct lmpi_win),
				  .offset = offsetof(struct lmpi_win, obj)};

#define BUCKETS 64
static struct lmpi_win *windows[BUCKETS]; /* by context id */
static uint64_t nwindows;

struct lmpi_win *
lmpi_win_find(MPI_Win handle)
{
	return lmpi_object_valid(&lmpi_win_pool, handle) ? (void *)handle : NULL;
}

int
lmpi_win_get(MPI_Win handle, struct lmpi_win **win)
{
	*win = lmpi_win_find(handle);
	if (__builtin_expect(*win == NULL, 0))
		return lmpi_error(MPI_ERR_WIN, "the window is %s",
				  handle == MPI_WIN_NULL ? "MPI_WIN_NULL" : "not a valid one");
	return MPI_SUCCESS;
}

int
lmpi_rma_outcome(const struct lmpi_win *win, int rc)
{
	if (!rma_is_void(win))
		return rc;
	return lmpi_error(LMPI_ERR_PROC_FAILED,
			  "a process of the window has failed: what is in it is not defined");
}

/* What was asked of it ends; who waits for a lock that it has may go on. */
static void
lose_of_window(struct lmpi_comm *comm, uint32_t world)
{
	struct lmpi_win *win = lmpi_rma_win_of(comm->cid);
	int rank = lmpi_group_rank_of(comm->group, world);

	if (win == NULL || win->peer == NULL)
		return;
	lmpi_target_lost(&lmpi_rma_acting, &win->peer[rank].t);
	lmpi_exposed_serve(&win->mine);
}

struct lmpi_win *
lmpi_rma_win_of(uint64_t cid)
{
	struct lmpi_win *w = windows[cid % BUCKETS];

	while (w != NULL && w->comm->cid != cid)
		w = w->next;
	return w;
}

int
lmpi_rma_no_memory(void)
{
	return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
}

/* ---- hints */

static const struct {
	const char *key, *value;
} hints[] = {
	{"no_locks", "false"},
	{"accumulate_ordering", "rar,raw,war,waw"},
	{"same_size", "false"},
	{"accumulate_ops", "same_op_no_op"},
	{"same_disp_unit", "false"},
	{"mpi_accumulate_granularity", "0"},
	{"alloc_shared_noncontig", "false"},
};
#define HINTS (sizeof(hints) / sizeof(hints[0]))

/* What is known of them takes the value the user gives. */
static bool
take_hints(struct lmpi_info *to, const struct lmpi_info *from)
{
	for (size_t i = 0; i < HINTS; i++) {
		const char *value = from ? lmpi_info_value(from, hints[i].key) : NULL;

		if (value == NULL && lmpi_info_value(to, hints[i].key) == NULL)
			value = hints[i].value;
		if (value != NULL && !lmpi_info_put(to, hints[i].key, value))
			return false;
	}
	return true;
}

int
impl_Win_set_info(MPI_Win handle, MPI_Info info)
{
	struct lmpi_win *win;
	struct lmpi_info *from;
	int rc = lmpi_win_get(handle, &win);

	if (rc == MPI_SUCCESS)
		rc = lmpi_info_arg(info, &from);
	if (rc)
		return rc;
	return take_hints(win->info, from) ? MPI_SUCCESS : lmpi_rma_no_memory();
}

int
impl_Win_get_info(MPI_Win handle, MPI_Info *info_used)
{
	struct lmpi_win *win;
	struct lmpi_info *copy;
	int rc = lmpi_win_get(handle, &win);

	if (rc)
		return rc;
	copy = lmpi_info_copy(win->info);
	if (copy == NULL)
		return lmpi_rma_no_memory();
	*info_used = (MPI_Info)copy;
	return MPI_SUCCESS;
}

/* ---- life */

/* Each window has so much of each process under way: its notes stand behind the first. */
static void
serve_windows(void)
{
	lmpi_serve(lmpi_rma_on_packet, nwindows * RMA_BEHIND_MOST(&lmpi_rma_acting.room));
}

void
lmpi_rma_win_destroy(struct lmpi_win *win)
{
	struct lmpi_win **at = &windows[win->comm->cid % BUCKETS];

	while (*at != win)
		at = &(*at)->next;
	*at = win->next;
	nwindows--;
	serve_windows();
	lmpi_exposed_drop(&win->mine);
	lmpi_rma_memory_release(win);
	lmpi_comm_unref(win->comm);
	lmpi_errhandler_unref(win->errhandler);
	if (win->info != NULL)
		lmpi_info_delete(win->info);
	free(win->peer);
	free(win->mine.origin);
	free(win->start);
	free(win->post);
	lmpi_object_delete(&lmpi_win_pool, win);
}

/* A communicator of the same processes that only the window uses. */
static int
window_own_comm(struct lmpi_comm *of, struct lmpi_comm **comm)
{
	uint64_t cid;
	int rc = lmpi_cid_agree(of, &cid);

	if (rc)
		return rc;
	lmpi_group_ref(of->group);
	*comm = lmpi_comm_new(of->group, cid, NULL);
	if (*comm == NULL) {
		lmpi_group_unref(of->group);
		return lmpi_rma_no_memory();
	}
	lmpi_comm_make_whole(*comm, lose_of_window);
	return MPI_SUCCESS;
}

int
lmpi_rma_win_new(struct lmpi_comm *comm, int flavor, const struct lmpi_info *info,
		 struct lmpi_win **out)
{
	struct lmpi_win *win = lmpi_object_new(&lmpi_win_pool);

	if (win == NULL) {
		lmpi_comm_unref(comm);
		return lmpi_rma_no_memory();
	}
	win->comm = comm;
	win->flavor = flavor;
	win->model = MPI_WIN_UNIFIED;
	win->starts = win->posts = -1;
	win->segment.fd = -1;
	win->errhandler = MPI_ERRORS_ARE_FATAL;
	win->next = windows[comm->cid % BUCKETS];
	windows[comm->cid % BUCKETS] = win;
	nwindows++;
	serve_windows();
	win->peer = calloc((size_t)comm->size, sizeof(*win->peer));
	win->info = lmpi_info_new();
	if (!lmpi_rma_expose(win) || win->peer == NULL || win->info == NULL ||
	    !take_hints(win->info, info)) {
		lmpi_rma_win_destroy(win);
		return lmpi_rma_no_memory();
	}
	*out = win;
	return MPI_SUCCESS;
}

static int
create_window(int flavor, void *base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info,
	      MPI_Comm comm, struct lmpi_win **out)
{
	struct lmpi_comm *c;
	struct lmpi_info *i;
	struct lmpi_comm *own;
	struct lmpi_win *win = NULL;
	bool contiguous;
	int rc = lmpi_comm_get_intra(comm, &c);

	if (rc == MPI_SUCCESS)
		rc = lmpi_impi_refuse(c);
	if (rc == MPI_SUCCESS)
		rc = lmpi_info_arg(info, &i);
	if (rc)
		return rc;
	if (size < 0)
		return lmpi_error(MPI_ERR_SIZE, "size is %td", size);
	if (disp_unit <= 0 || disp_unit > INT_MAX)
		return lmpi_error(MPI_ERR_DISP, "disp_unit is %td", disp_unit);
	rc = window_own_comm(c, &own);
	if (rc == MPI_SUCCESS)
		rc = lmpi_rma_win_new(own, flavor, i, &win);
	if (rc)
		return rc;
	win->base = base;
	win->size = size;
	win->disp_unit = (int)disp_unit;
	contiguous = flavor == MPI_WIN_FLAVOR_SHARED &&
		     strcmp(lmpi_info_value(win->info, "alloc_shared_noncontig"), "true") != 0;
	rc = lmpi_rma_outcome(win, lmpi_rma_memory_setup(win, contiguous));
	if (rc) {
		lmpi_rma_win_destroy(win);
		return rc;
	}
	*out = win;
	/* Nobody writes to my part before I have said where it is. */
	win->open = true;
	return lmpi_coll_barrier(win->comm);
}

int
impl_Win_create(void *base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
		MPI_Win *win)
{
	struct lmpi_win *w;
	int rc;

	*win = MPI_WIN_NULL;
	if (base == NULL && size > 0)
		return lmpi_error(MPI_ERR_BASE, "base is a null pointer, size is %td", size);
	rc = create_window(MPI_WIN_FLAVOR_CREATE, base, size, disp_unit, info, comm, &w);
	if (rc == MPI_SUCCESS)
		*win = (MPI_Win)w;
	return rc;
}

static int
allocate(int flavor, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
	 MPI_Win *win)
{
	struct lmpi_win *w;
	int rc;

	*win = MPI_WIN_NULL;
	if (baseptr == NULL)
		return lmpi_error(MPI_ERR_ARG, "baseptr is a null pointer");
	rc = create_window(flavor, NULL, size, disp_unit, info, comm, &w);
	if (rc)
		return rc;
	*win = (MPI_Win)w;
	*(void **)baseptr = w->base;
	return MPI_SUCCESS;
}

int
impl_Win_allocate(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
		  MPI_Win *win)
{
	return allocate(MPI_WIN_FLAVOR_ALLOCATE, size, disp_unit, info, comm, baseptr, win);
}

int
impl_Win_allocate_shared(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
			 void *baseptr, MPI_Win *win)
{
	return allocate(MPI_WIN_FLAVOR_SHARED, size, disp_unit, info, comm, baseptr, win);
}

int
impl_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
	struct lmpi_win *w;
	int rc;

	*win = MPI_WIN_NULL;
	rc = create_window(MPI_WIN_FLAVOR_DYNAMIC, MPI_BOTTOM, 0, 1, info, comm, &w);
	if (rc == MPI_SUCCESS)
		*win = (MPI_Win)w;
	return rc;
}

int
impl_Win_free(MPI_Win *handle)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(*handle, &win), met;

	if (rc)
		return rc;
	if (!rma_is_void(win) &&
	    (win->lock_all || win->locks > 0 || win->starts >= 0 || win->posts >= 0))
		return lmpi_error(MPI_ERR_RMA_SYNC, "an epoch is open");
	rc = lmpi_attr_delete_all(LMPI_ATTR_WIN, *handle, &win->attrs);
	if (rc)
		return rc;
	for (int r = 0; r < win->comm->size; r++)
		lmpi_target_leave(&win->peer[r].t);
	rc = lmpi_rma_flush(win, -1);
	/* Whatever became of my operations, those of others may still be coming. */
	met = lmpi_comm_meet(win->comm);
	lmpi_rma_settle(win);
	lmpi_rma_win_destroy(win);
	*handle = MPI_WIN_NULL;
	return met ? met : rc;
}

/* ---- dynamic memory */

static int
get_dynamic(MPI_Win handle, struct lmpi_win **win)
{
	int rc = lmpi_win_get(handle, win);

	if (rc == MPI_SUCCESS && (*win)->flavor != MPI_WIN_FLAVOR_DYNAMIC)
		return lmpi_error(MPI_ERR_RMA_FLAVOR,
				  "the window was not made by MPI_Win_create_dynamic");
	return rc;
}

int
impl_Win_attach(MPI_Win handle, void *base, MPI_Aint size)
{
	struct lmpi_win *win;
	struct rma_region *g;
	uintptr_t at = (uintptr_t)base;
	int rc = get_dynamic(handle, &win);

	if (rc)
		return rc;
	if (size < 0)
		return lmpi_error(MPI_ERR_SIZE, "size is %td", size);
	for (g = win->regions; g != NULL; g = g->next)
		if (g->size > 0 && size > 0 && at < g->base + g->size &&
		    g->base < at + (uintptr_t)size)
			return lmpi_error(MPI_ERR_RMA_ATTACH,
					  "%p overlaps memory that is attached already", base);
	g = malloc(sizeof(*g));
	if (g == NULL)
		return lmpi_rma_no_memory();
	*g = (struct rma_region){win->regions, at, (uint64_t)size};
	win->regions = g;
	return MPI_SUCCESS;
}

int
impl_Win_detach(MPI_Win handle, const void *base)
{
	struct lmpi_win *win;
	struct rma_region **at, *g;
	int rc = get_dynamic(handle, &win);

	if (rc)
		return rc;
	for (at = &win->regions; (g = *at) != NULL; at = &g->next) {
		if (g->base != (uintptr_t)base)
			continue;
		lmpi_rma_settle(win);
		*at = g->next;
		free(g);
		return MPI_SUCCESS;
	}
	return lmpi_error(MPI_ERR_RMA_ATTACH, "no memory is attached at %p", base);
}

/* ---- looking at one */

int
impl_Win_shared_query(MPI_Win handle, int rank, MPI_Aint *size, MPI_Aint *disp_unit, void *baseptr)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win);

	if (rc)
		return rc;
	/* MPI 4.1, 12.2.3: of other windows too, where a part that cannot be reached is empty */
	if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
		return lmpi_error(MPI_ERR_RMA_FLAVOR,
				  "the window is a dynamic one: it has no memory of its own");
	if ((rank < 0 || rank >= win->comm->size) && rank != MPI_PROC_NULL)
		return lmpi_error(MPI_ERR_RANK, "rank %d is not one of the window's %d processes",
				  rank, win->comm->size);
	if (rank == MPI_PROC_NULL) { /* the lowest one that has memory, be it in reach or not */
		for (rank = 0; rank < win->comm->size - 1; rank++)
			if (win->peer[rank].size > 0)
				break;
	}
	*size = win->peer[rank].base ? win->peer[rank].size : 0;
	*disp_unit = win->peer[rank].unit;
	*(void **)baseptr = *size > 0 ? win->peer[rank].base : NULL;
	return MPI_SUCCESS;
}

int
impl_Win_get_group(MPI_Win handle, MPI_Group *group)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win);

	if (rc)
		return rc;
	lmpi_group_ref(win->comm->group);
	*group = lmpi_group_handle(win->comm->group);
	return MPI_SUCCESS;
}

int
impl_Win_set_name(MPI_Win handle, const char *win_name)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win);

	if (rc == MPI_SUCCESS)
		snprintf(win->name, sizeof(win->name), "%s", win_name);
	return rc;
}

int
impl_Win_get_name(MPI_Win handle, char *win_name, int *resultlen)
{
	struct lmpi_win *win;
	int rc;

	if (handle == MPI_WIN_NULL) {
		*resultlen = snprintf(win_name, MPI_MAX_OBJECT_NAME, "MPI_WIN_NULL");
		return MPI_SUCCESS;
	}
	rc = lmpi_win_get(handle, &win);
	if (rc == MPI_SUCCESS)
		*resultlen = snprintf(win_name, MPI_MAX_OBJECT_NAME, "%s", win->name);
	return rc;
}

int
impl_Win_set_errhandler(MPI_Win handle, MPI_Errhandler errhandler)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win);

	return rc ? rc : lmpi_errhandler_set(&win->errhandler, LMPI_ON_WIN, errhandler);
}

int
impl_Win_get_errhandler(MPI_Win handle, MPI_Errhandler *errhandler)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win);

	return rc ? rc : lmpi_errhandler_get(win->errhandler, errhandler);
}

int
impl_Win_call_errhandler(MPI_Win handle, int errorcode)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win);

	if (rc == MPI_SUCCESS)
		lmpi_errhandler_call(win->errhandler, LMPI_ON_WIN, handle, errorcode,
				     "MPI_Win_call_errhandler");
	return rc;
}

/* ---- attributes */

static bool
window_is_builtin(int keyval)
{
	return keyval >= MPI_WIN_BASE && keyval <= MPI_WIN_MODEL;
}

int
impl_Win_get_attr(MPI_Win handle, int win_keyval, void *attribute_val, int *flag)
{
	struct lmpi_win *win;
	void *value;
	int rc = lmpi_win_get(handle, &win);

	if (rc)
		return rc;
	switch (win_keyval) {
	case MPI_WIN_BASE:
		value = win->base;
		break;
	case MPI_WIN_SIZE:
		value = &win->size;
		break;
	case MPI_WIN_DISP_UNIT:
		value = &win->disp_unit;
		break;
	case MPI_WIN_CREATE_FLAVOR:
		value = &win->flavor;
		break;
	case MPI_WIN_MODEL:
		value = &win->model;
		break;
	default:
		return lmpi_attr_get(LMPI_ATTR_WIN, win->attrs, win_keyval, attribute_val, flag);
	}
	*(void **)attribute_val = value;
	*flag = 1;
	return MPI_SUCCESS;
}

int
impl_Win_set_attr(MPI_Win handle, int win_keyval, void *attribute_val)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win);

	if (rc)
		return rc;
	if (window_is_builtin(win_keyval))
		return lmpi_error(MPI_ERR_KEYVAL, "attribute key %d is predefined", win_keyval);
	return lmpi_attr_set(LMPI_ATTR_WIN, handle, &win->attrs, win_keyval, attribute_val);
}

int
impl_Win_delete_attr(MPI_Win handle, int win_keyval)
{
	struct lmpi_win *win;
	int rc = lmpi_win_get(handle, &win);

	if (rc)
		return rc;
	if (window_is_builtin(win_keyval))
		return lmpi_error(MPI_ERR_KEYVAL, "attribute key %d is predefined", win_keyval);
	return lmpi_attr_delete(LMPI_ATTR_WIN, handle, &win->attrs, win_keyval);
}

int
impl_Win_create_keyval(MPI_Win_copy_attr_function *win_copy_attr_fn,
		       MPI_Win_delete_attr_function *win_delete_attr_fn, int *win_keyval,
		       void *extra_state)
{
	return lmpi_keyval_create(LMPI_ATTR_WIN, (void (*)(void))win_copy_attr_fn,
				  (void (*)(void))win_delete_attr_fn, extra_state, win_keyval);
}

int
impl_Win_free_keyval(int *win_keyval)
{
	return lmpi_keyval_free(LMPI_ATTR_WIN, win_keyval);
}
