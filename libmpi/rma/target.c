/* SPDX-License-Identifier: BSD-2-Clause */
/* What other processes do to my part of a window; when is decided in mpi/window.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "layout_wire.h"
#include "rma.h"

#include "lmpi/knobs.h"

/* What is longer than the memory that it goes to or comes from lies beside that, up to here. */
#define RMA_OVERLAP_MAX (INT64_C(64) << 20)

static __attribute__((noreturn)) void
refuse_packet(uint32_t world, const char *what)
{
	char text[160];

	snprintf(text, sizeof(text), "a malformed packet of a window from process %u: %s", world,
		 what);
	lmpi_engine_abort(MPI_ERR_INTERN, text);
}

void *
lmpi_rma_take(void *user, size_t bytes)
{
	void *p = malloc(bytes > 0 ? bytes : 1);

	(void)user;
	if (p == NULL)
		lmpi_engine_abort(MPI_ERR_NO_MEM, "out of memory for an operation on a window");
	return p;
}

void
lmpi_rma_give(void *user, void *p)
{
	(void)user;
	free(p);
}

static struct lmpi_win *
win_of(const struct lmpi_exposed *x)
{
	return (struct lmpi_win *)(void *)((char *)(uintptr_t)x - offsetof(struct lmpi_win, mine));
}

static __attribute__((noreturn)) void
target_malformed(const struct lmpi_job *j, const char *what)
{
	if (j == NULL)
		lmpi_engine_abort(MPI_ERR_INTERN, what);
	refuse_packet(rma_world(win_of(j->x), j->origin), what);
}

/* Of what lies from lo to hi more is spoken of than there is, and it is a lot. */
static bool
repeats_too_much(const struct lmpi_job *j, int64_t lo, int64_t hi)
{
	int64_t span;

	return __builtin_sub_overflow(hi, lo, &span) ||
	       ((int64_t)j->p.bytes > span && (int64_t)j->p.bytes > RMA_OVERLAP_MAX);
}

/* Where the packet's operation goes.  false: outside the window, or it overlaps as it may not.  The
 * type lives until lmpi_rma_layout_release(). */
static bool
locate(const struct lmpi_job *j, struct rma_place *place, struct lmpi_type *type)
{
	const struct lmpi_win *win = win_of(j->x);
	int64_t lo = 0, hi = (int64_t)j->p.bytes, bytes = hi;
	uintptr_t base = 0;

	*type = (struct lmpi_type){0};
	if (j->outside)
		return false;
	if (j->p.layout > 0 &&
	    !lmpi_rma_layout_decode(type, (const uint64_t *)(const void *)j->layout,
				    j->p.layout / sizeof(uint64_t), (int64_t)j->p.count, &bytes,
				    &lo, &hi))
		target_malformed(j, "no layout");
	if (bytes != (int64_t)j->p.bytes) {
		lmpi_rma_layout_release(type);
		target_malformed(j, "a layout of another length than it says");
	}
	if (j->p.layout > 0 && repeats_too_much(j, lo, hi))
		return false;
	if (__builtin_add_overflow(lo, (int64_t)j->p.at, &lo) ||
	    __builtin_add_overflow(hi, (int64_t)j->p.at, &hi))
		return false;
	if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC) {
		if (bytes > 0 &&
		    !lmpi_rma_attached(win, (uintptr_t)lo, (uint64_t)hi - (uint64_t)lo))
			return false;
	} else {
		base = (uintptr_t)win->base;
		if (bytes > 0 && (lo < 0 || hi > win->size))
			return false;
	}
	*place = (struct rma_place){.at = (void *)(base + (uintptr_t)j->p.at),
				    .type = j->p.layout > 0 ? type : NULL,
				    .count = (int64_t)j->p.count,
				    .bytes = bytes};
	return true;
}

/* ---- operations */

static int
place_target(const struct lmpi_job *j, void **at)
{
	struct rma_place place;
	struct lmpi_type type;
	bool inside = locate(j, &place, &type);

	*at = inside && place.type == NULL ? place.at : NULL;
	lmpi_rma_layout_release(&type);
	return inside ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
}

static int
put_target(const struct lmpi_job *j, const void *data)
{
	struct rma_place place;
	struct lmpi_type type;
	bool inside = locate(j, &place, &type);

	if (inside)
		lmpi_rma_store(&place, data);
	lmpi_rma_layout_release(&type);
	return inside ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
}

/* Send a result; packed: a copy of it that may go away, or NULL. */
static void
answer_target(const struct lmpi_job *j, int error, const void *data, uint64_t bytes, void *packed)
{
	if (j->p.reply_tag != 0) {
		lmpi_rma_send_bulk(win_of(j->x), j->origin, j->p.reply_tag, data, error ? 0 : bytes,
				   packed);
		return;
	}
	lmpi_rma_send_reply(win_of(j->x), j->origin, &j->p, error, data, error ? 0 : bytes);
	free(packed);
}

static int
get_target(const struct lmpi_job *j)
{
	struct rma_place place;
	struct lmpi_type type;
	void *packed = NULL;

	if (!locate(j, &place, &type)) {
		answer_target(j, MPI_ERR_RMA_RANGE, NULL, 0, NULL);
		lmpi_rma_layout_release(&type);
		return MPI_SUCCESS;
	}
	if (place.type != NULL) {
		packed = lmpi_rma_take(NULL, j->p.bytes);
		lmpi_rma_load(&place, packed);
	}
	lmpi_rma_layout_release(&type);
	answer_target(j, MPI_SUCCESS, packed ? packed : place.at, j->p.bytes, packed);
	return MPI_SUCCESS;
}

static int
accumulate_target(const struct lmpi_job *j)
{
	struct rma_combine how = {(MPI_Op)(uintptr_t)j->p.op,
				  lmpi_type_find((MPI_Datatype)(uintptr_t)j->p.element)};
	bool fetch = j->p.kind == RMA_GET_ACC;
	struct lmpi_op_use use;
	struct rma_place place;
	struct lmpi_type type;
	void *old = NULL;

	if (how.element == NULL || how.element->size == 0 ||
	    j->p.bytes % (uint64_t)how.element->size != 0 ||
	    (how.op != MPI_NO_OP && j->bytes != j->p.bytes) ||
	    (how.op != MPI_NO_OP && how.op != MPI_REPLACE &&
	     (lmpi_op_check(how.op, how.element, &use) != MPI_SUCCESS || use.user != NULL)))
		target_malformed(j, "no operation on such elements");
	if (!locate(j, &place, &type)) {
		if (fetch)
			answer_target(j, MPI_ERR_RMA_RANGE, NULL, 0, NULL);
		lmpi_rma_layout_release(&type);
		return fetch ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
	}
	if (fetch)
		old = lmpi_rma_take(NULL, j->p.bytes);
	if (!lmpi_rma_accumulate(rma_me(win_of(j->x))->ctl, &place, &how, j->data, old))
		lmpi_engine_abort(MPI_ERR_NO_MEM, "out of memory for an accumulate");
	lmpi_rma_layout_release(&type);
	if (fetch)
		answer_target(j, MPI_SUCCESS, old, j->p.bytes, old);
	return MPI_SUCCESS;
}

static int
swap_target(const struct lmpi_job *j)
{
	struct rma_place place;
	struct lmpi_type type;
	char old[64];

	if (j->p.bytes > sizeof(old) || j->bytes != 2 * j->p.bytes || j->p.layout != 0)
		target_malformed(j, "a swap of no single element");
	if (!locate(j, &place, &type)) {
		answer_target(j, MPI_ERR_RMA_RANGE, NULL, 0, NULL);
		return MPI_SUCCESS;
	}
	lmpi_rma_swap(rma_me(win_of(j->x))->ctl, place.at, j->data, j->data + j->p.bytes, old,
		      (int64_t)j->p.bytes);
	answer_target(j, MPI_SUCCESS, old, j->p.bytes, NULL);
	return MPI_SUCCESS;
}

static int
perform_target(const struct lmpi_job *j)
{
	switch (j->p.kind) {
	case RMA_GET:
		return get_target(j);
	case RMA_CAS:
		return swap_target(j);
	default:
		return accumulate_target(j);
	}
}

/* ---- what is for the origin here */

static void
hear_target(const struct lmpi_job *j)
{
	struct lmpi_win *win = win_of(j->x);

	if (!lmpi_target_hear(&lmpi_rma_acting, &win->peer[j->origin].t, j))
		target_malformed(j, "an answer to nothing that was asked");
}

/* ---- what a part of a window asks for */

static void
note_target(struct lmpi_exposed *x, int origin, enum rma_kind kind, int error)
{
	lmpi_rma_send_note(win_of(x), origin, kind, 0, error);
}

static void
granted_target(struct lmpi_exposed *x)
{
	rma_me(win_of(x))->t.held = LMPI_LOCK_HELD;
}

static void
receive_target(struct lmpi_exposed *x, struct lmpi_req *req, void *into, uint64_t cap, int origin,
	       uint32_t tag)
{
	lmpi_irecv(req, into, cap, (int)rma_world(win_of(x), origin), (int)tag, LMPI_CID_BULK);
}

static bool
is_void_target(const struct lmpi_exposed *x)
{
	return rma_is_void(win_of(x));
}

static const struct lmpi_exposed_ops target_ops = {.place = place_target,
						   .put = put_target,
						   .perform = perform_target,
						   .hear = hear_target,
						   .note = note_target,
						   .granted = granted_target,
						   .receive = receive_target,
						   .is_void = is_void_target,
						   .malformed = target_malformed};

bool
lmpi_rma_expose(struct lmpi_win *win)
{
	static struct lmpi_bulks bulks;

	win->mine = (struct lmpi_exposed){
		.ops = &target_ops,
		.memory = {.get = lmpi_rma_take, .put = lmpi_rma_give},
		.room = LMPI_ROOM,
		.bulks = &bulks,
		.lock = &win->own_ctl.lock,
		.me = win->comm->rank,
		.origin = calloc((size_t)win->comm->size, sizeof(*win->mine.origin))};
	win->mine.room.results = lmpi_knob_number(LMPI_KNOB_RESULTS) << 20;
	return win->mine.origin != NULL;
}

void
lmpi_rma_on_packet(uint32_t from_world, const void *data, uint64_t len)
{
	struct lmpi_win *win;
	struct lmpi_job j;

	if (!lmpi_job_read(&j, data, len))
		refuse_packet(from_world, "no packet");
	win = lmpi_rma_win_of(j.p.win);
	if (win == NULL || !win->open || j.p.rank >= (uint32_t)win->comm->size ||
	    rma_world(win, (int)j.p.rank) != from_world)
		refuse_packet(from_world, "of no window that it has a part of");
	/* Only constants of the ABI mean something elsewhere. */
	if (j.p.op > LMPI_PREDEFINED_MAX || j.p.element > LMPI_PREDEFINED_MAX)
		refuse_packet(from_world, "no predefined operation or datatype");
	j.x = &win->mine;
	j.origin = (int)j.p.rank;
	lmpi_exposed_arrive(&j);
}
