/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of a window, or of an origin, seen through a datatype. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "rma.h"

#include "base/copy.h"

/* Accumulating holds the lock for about so many bytes at a time. */
#define CHUNK 65536

struct rma_place
lmpi_rma_place_of(const void *buf, int64_t count, const struct lmpi_type *type)
{
	const struct lmpi_node *l = type->layout;
	struct rma_place p = {.bytes = count * type->size};

	if (p.bytes == 0)
		return p;
	p.at = (void *)(uintptr_t)buf;
	if (l->kind == LMPI_RUN && l->n == 1 && (count == 1 || l->len == lmpi_type_extent(type))) {
		p.at = (void *)((uintptr_t)buf + (uintptr_t)l->off);
		return p;
	}
	p.type = type;
	p.count = count;
	return p;
}

void
lmpi_rma_load(const struct rma_place *p, void *packed)
{
	if (p->bytes == 0)
		return;
	if (p->type == NULL)
		base_copy(packed, p->at, (size_t)p->bytes);
	else
		lmpi_type_pack(p->type, p->at, p->count, packed, 0, p->bytes);
}

void
lmpi_rma_store(const struct rma_place *p, const void *packed)
{
	if (p->bytes == 0)
		return;
	if (p->type == NULL)
		base_copy(p->at, packed, (size_t)p->bytes);
	else
		lmpi_type_unpack(p->type, p->at, p->count, packed, 0, p->bytes);
}

bool
lmpi_rma_move(const struct rma_place *from, const struct rma_place *to)
{
	char *between;

	if (from->bytes == 0)
		return true;
	if (from->type == NULL) {
		lmpi_rma_store(to, from->at);
		return true;
	}
	if (to->type == NULL) {
		lmpi_rma_load(from, to->at);
		return true;
	}
	between = malloc(CHUNK);
	if (between == NULL)
		return false;
	for (int64_t at = 0; at < from->bytes; at += CHUNK) {
		int64_t n = from->bytes - at < CHUNK ? from->bytes - at : CHUNK;

		lmpi_type_pack(from->type, from->at, from->count, between, at, n);
		lmpi_type_unpack(to->type, to->at, to->count, between, at, n);
	}
	free(between);
	return true;
}

/* ---- accumulating */

/* Whoever holds it does not wait for anything, but may have lost its core, or be dead.  The word is
 * 1 + its world rank. */
static void
hold_place(struct rma_ctl *ctl)
{
	const uint32_t mine = 1 + lmpi_world.rank;
	uint32_t holder = 0;

	for (unsigned n = 1; !atomic_compare_exchange_weak_explicit(
		     &ctl->busy, &holder, mine, memory_order_acquire, memory_order_relaxed);
	     n++) {
		if (n % 64 == 0)
			sched_yield();
		else
			__builtin_ia32_pause();
		if (holder == 0 || n % 64 != 0 || !lmpi_is_gone(holder - 1))
			holder = 0; /* else it is taken from the dead */
	}
}

static void
let_go_place(struct rma_ctl *ctl)
{
	atomic_store_explicit(&ctl->busy, 0, memory_order_release);
}

/* place = place op data for packed data. */
static void
combine_place(const struct rma_combine *how, void *place, const void *data, int64_t bytes)
{
	struct lmpi_op_use use = {how->op, NULL, true};

	if (how->op == MPI_NO_OP)
		return;
	if (how->op == MPI_REPLACE)
		base_copy(place, data, (size_t)bytes);
	else
		(void)lmpi_op_apply_packed(&use, how->element, data, place,
					   bytes / how->element->size, true);
}

/* Does it lie as the element's arithmetic wants it? */
static bool
aligned(const void *at, const struct lmpi_type *element)
{
	return element->align <= 1 || (uintptr_t)at % (uintptr_t)element->align == 0;
}

/* A part of a place by way of a copy: from there, or back. */
static void
copy_part(const struct rma_place *p, char *copy, int64_t at, int64_t n, bool back)
{
	char *there = (char *)p->at + at;

	if (p->type != NULL && back)
		lmpi_type_unpack(p->type, p->at, p->count, copy, at, n);
	else if (p->type != NULL)
		lmpi_type_pack(p->type, p->at, p->count, copy, at, n);
	else
		base_copy(back ? there : copy, back ? copy : there, (size_t)n);
}

bool
lmpi_rma_accumulate(struct rma_ctl *ctl, const struct rma_place *p, const struct rma_combine *how,
		    const void *data, void *old)
{
	int64_t step = CHUNK - CHUNK % how->element->size;
	bool as_it_lies = p->type == NULL && aligned(p->at, how->element);
	bool move_data = how->op != MPI_NO_OP && !aligned(data, how->element);
	char *copies = NULL, *moved;

	if (p->bytes == 0)
		return true;
	if ((!as_it_lies || move_data) && (copies = malloc(2 * CHUNK)) == NULL)
		return false;
	moved = copies + (copies ? CHUNK : 0);
	for (int64_t at = 0; at < p->bytes; at += step) {
		int64_t n = p->bytes - at < step ? p->bytes - at : step;
		const char *part = how->op == MPI_NO_OP ? NULL : (const char *)data + at;
		char *place = as_it_lies ? (char *)p->at + at : copies;

		if (move_data)
			part = memcpy(moved, part, (size_t)n);
		hold_place(ctl);
		if (!as_it_lies)
			copy_part(p, place, at, n, false);
		if (old != NULL)
			memcpy((char *)old + at, place, (size_t)n);
		combine_place(how, place, part, n);
		if (!as_it_lies && how->op != MPI_NO_OP)
			copy_part(p, place, at, n, true);
		let_go_place(ctl);
	}
	free(copies);
	return true;
}

void
lmpi_rma_swap(struct rma_ctl *ctl, void *at, const void *compare, const void *with, void *old,
	      int64_t size)
{
	char was[64];

	hold_place(ctl);
	memcpy(was, at, (size_t)size);
	if (memcmp(was, compare, (size_t)size) == 0)
		memcpy(at, with, (size_t)size);
	let_go_place(ctl);
	memcpy(old, was, (size_t)size);
}
