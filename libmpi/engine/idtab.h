/* idtab.h - numbers that name our objects to a peer, and come back.
 *
 * A peer never sees a pointer: it gets (generation << 32 | index + 1), never 0,
 * and a number that is stale or made up finds NULL.  Grows by doubling. */
#ifndef LMPI_IDTAB_H
#define LMPI_IDTAB_H

#include <stdint.h>
#include <stdlib.h>

struct lmpi_idtab {
	struct lmpi_idslot {
		void *object; /* NULL: free */
		uint32_t generation;
		uint32_t next_free; /* index + 1 */
	} * slot;
	uint32_t size, free_first, used;
};

/* 0 if memory is out. */
static inline uint64_t
lmpi_id_new(struct lmpi_idtab *t, void *object)
{
	if (!t->free_first) {
		uint32_t size = t->size ? 2 * t->size : 64;
		void *p = size > t->size ? realloc(t->slot, size * sizeof *t->slot) : NULL;
		if (!p)
			return 0;
		t->slot = p;
		for (uint32_t i = size; i-- > t->size;) {
			t->slot[i] =
				(struct lmpi_idslot){.generation = 1, .next_free = t->free_first};
			t->free_first = i + 1;
		}
		t->size = size;
	}
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
