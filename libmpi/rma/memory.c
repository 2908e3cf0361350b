/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of windows: who has it where, and sharing it within a node. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "coll.h"
#include "comm_create.h"
#include "rma.h"

#define PAGE 4096

/* What each process says of its part, as ints for the gathering. */
union offer {
	struct {
		int64_t size, unit;
		uint64_t address;
	};
	int words[6];
};
/* What the first process of each node says of the segment it made. */
union segment {
	struct {
		int32_t pid, fd;
		int64_t bytes; /* 0: it could not */
	};
	int words[4];
};

static int64_t
up_to(int64_t n, int64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static int
tell_all(struct lmpi_win *win)
{
	union offer mine = {{win->size, win->disp_unit, (uintptr_t)win->base}};
	union offer *all = calloc((size_t)win->comm->size, sizeof(*all));
	int rc;

	if (all == NULL)
		return lmpi_rma_no_memory();
	rc = lmpi_coll_allgather_ints(win->comm, mine.words, all[0].words,
				      (int)(sizeof(mine) / sizeof(int)));
	for (int r = 0; r < win->comm->size && rc == MPI_SUCCESS; r++) {
		win->peer[r].size = all[r].size;
		win->peer[r].unit = all[r].unit;
		win->peer[r].address = all[r].address;
	}
	free(all);
	return rc;
}

/* Bytes in front of the part of rank `end`, or of all parts: control words of those who
 * share it, then the parts.  An overflow shows as a negative number. */
static int64_t
offset_of(const struct lmpi_win *win, int end, bool contiguous)
{
	int64_t at = 0;

	for (int r = 0; r < win->comm->size; r++)
		if (lmpi_proc_on_my_node(rma_world(win, r)))
			at += (int64_t)sizeof(struct rma_ctl);
	at = up_to(at, PAGE);
	for (int r = 0; r < end; r++) {
		int64_t size = win->peer[r].size;

		if (!lmpi_proc_on_my_node(rma_world(win, r)))
			continue;
		if (size > INT64_MAX - at - 2 * PAGE)
			return -1;
		at += contiguous ? size : up_to(size, size < PAGE ? 64 : PAGE);
	}
	return at;
}

/* The parts of my node in its segment. */
static void
lay_out_segment(struct lmpi_win *win, bool contiguous)
{
	struct rma_ctl *ctl = win->segment.base;

	for (int r = 0; r < win->comm->size; r++) {
		struct rma_peer *peer = &win->peer[r];

		if (!lmpi_proc_on_my_node(rma_world(win, r)))
			continue;
		peer->base = (uint8_t *)win->segment.base + offset_of(win, r, contiguous);
		peer->ctl = ctl++;
	}
	win->base = rma_me(win)->base;
	win->mine.lock = &rma_me(win)->ctl->lock;
}

/* One segment per node.  MPI_SUCCESS with win->segment.base NULL: some node has none. */
static int
share_segment(struct lmpi_win *win, bool contiguous)
{
	int leader = 0, rc;
	int64_t bytes = offset_of(win, win->comm->size, contiguous);
	union segment mine = {{0}}, *all;
	uint64_t failed = 0;

	while (!lmpi_proc_on_my_node(rma_world(win, leader)))
		leader++;
	if (leader == win->comm->rank && bytes > 0 &&
	    lmpi_segment_make(&win->segment, (uint64_t)up_to(bytes, PAGE)) == 0)
		mine = (union segment){
			{win->segment.pid, win->segment.fd, (int64_t)win->segment.bytes}};
	all = calloc((size_t)win->comm->size, sizeof(*all));
	if (all == NULL)
		return lmpi_rma_no_memory();
	rc = lmpi_coll_allgather_ints(win->comm, mine.words, all[0].words,
				      (int)(sizeof(mine) / sizeof(int)));
	if (rc == MPI_SUCCESS && leader != win->comm->rank && all[leader].bytes > 0)
		(void)lmpi_segment_map(&win->segment, all[leader].pid, all[leader].fd,
				       (uint64_t)all[leader].bytes);
	free(all);
	failed = win->segment.base == NULL;
	if (rc == MPI_SUCCESS)
		rc = lmpi_coll_max_u64(win->comm, &failed);
	lmpi_segment_seal(&win->segment);
	if (failed)
		lmpi_segment_unmap(&win->segment);
	if (rc == MPI_SUCCESS && !failed)
		lay_out_segment(win, contiguous);
	return rc;
}

static bool
on_one_node(const struct lmpi_win *win)
{
	for (int r = 0; r < win->comm->size; r++)
		if (!lmpi_proc_on_my_node(rma_world(win, r)))
			return false;
	return true;
}

int
lmpi_rma_memory_setup(struct lmpi_win *win, bool contiguous)
{
	uint64_t failed = 0;
	int rc = tell_all(win);

	if (rc)
		return rc;
	rma_me(win)->ctl = &win->own_ctl;
	if (win->flavor == MPI_WIN_FLAVOR_CREATE)
		rma_me(win)->base = win->base;
	if (win->flavor == MPI_WIN_FLAVOR_CREATE || win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
		return MPI_SUCCESS;
	if (win->flavor == MPI_WIN_FLAVOR_SHARED && !on_one_node(win))
		return lmpi_error(MPI_ERR_RMA_SHARED,
				  "the processes of the communicator are not all on one node");
	rc = share_segment(win, contiguous);
	if (rc || win->segment.base != NULL)
		return rc;
	if (win->flavor == MPI_WIN_FLAVOR_SHARED)
		return lmpi_error(MPI_ERR_RMA_SHARED,
				  "the system has no shared memory of that size");
	if (posix_memalign(&win->memory, 64, win->size > 0 ? (size_t)win->size : 1) != 0) {
		win->memory = NULL;
		failed = 1;
	}
	rc = lmpi_coll_max_u64(win->comm, &failed);
	if (rc == MPI_SUCCESS && failed)
		return lmpi_error(MPI_ERR_NO_MEM, "no memory for %lld bytes", (long long)win->size);
	win->base = rma_me(win)->base = win->memory;
	return rc;
}

void
lmpi_rma_memory_release(struct lmpi_win *win)
{
	lmpi_segment_unmap(&win->segment);
	free(win->memory);
	while (win->regions != NULL) {
		struct rma_region *g = win->regions;

		win->regions = g->next;
		free(g);
	}
}

bool
lmpi_rma_attached(const struct lmpi_win *win, uintptr_t at, uint64_t bytes)
{
	const struct rma_region *g = win->regions;

	while (g != NULL) {
		if (at < g->base || at - g->base >= g->size) {
			g = g->next;
			continue;
		}
		uint64_t left = g->size - (at - g->base);

		if (bytes <= left)
			return true;
		at += left; /* it may go on in another one */
		bytes -= left;
		g = win->regions;
	}
	return false;
}
