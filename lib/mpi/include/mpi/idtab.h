/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi/idtab.h - numbers that name our objects to a peer, and come back.
 *
 * A peer never sees a pointer: it gets (generation << 32 | index + 1), never 0,
 * and a number that is stale or made up finds NULL.
 *
 * Memory   grows by doubling: 16 bytes for each object that was named at once.
 * Threads  one owner. */
#ifndef MPI_IDTAB_H
#define MPI_IDTAB_H

#include <stddef.h>
#include <stdint.h>

/* Where memory comes from.  get() does not fail: it ends the program, or does not return. */
struct lmpi_memory {
	void *(*get)(void *user, size_t bytes);
	void (*put)(void *user, void *p); /* NULL: nothing */
	void *user;
};

struct lmpi_idtab {
	struct lmpi_idslot {
		void *object; /* NULL: free */
		uint32_t generation;
		uint32_t next_free; /* index + 1 */
	} * slot;
	uint32_t size, free_first, used;
};

/* Twice as many slots. */
void lmpi_id_grow(struct lmpi_idtab *t, const struct lmpi_memory *memory);
/* All names are forgotten. */
void lmpi_id_clear(struct lmpi_idtab *t, const struct lmpi_memory *memory);

static inline uint64_t
lmpi_id_new(struct lmpi_idtab *t, const struct lmpi_memory *memory, void *object)
{
	if (!t->free_first)
		lmpi_id_grow(t, memory);
	uint32_t i = t->free_first - 1;
	struct lmpi_idslot *s = &t->slot[i];
	t->free_first = s->next_free;
	s->object = object;
	t->used++;
	return (uint64_t)s->generation << 32 | (i + 1);
}

static inline void *
lmpi_id_find(const struct lmpi_idtab *t, uint64_t id)
{
	uint32_t i = (uint32_t)id - 1;
	if ((uint32_t)id == 0 || i >= t->size || t->slot[i].generation != (uint32_t)(id >> 32))
		return NULL;
	return t->slot[i].object;
}

static inline void
lmpi_id_drop(struct lmpi_idtab *t, uint64_t id)
{
	uint32_t i = (uint32_t)id - 1;
	if (!lmpi_id_find(t, id))
		return;
	t->slot[i].object = NULL;
	t->slot[i].generation++;
	t->slot[i].next_free = t->free_first;
	t->free_first = i + 1;
	t->used--;
}

#endif
