/* SPDX-License-Identifier: BSD-2-Clause */
#include "mpi/idtab.h"

#include <string.h>

void
lmpi_id_grow(struct lmpi_idtab *t, const struct lmpi_memory *memory)
{
	uint32_t size = t->size ? 2 * t->size : 64;
	struct lmpi_idslot *slot = memory->get(memory->user, size * sizeof *slot);

	if (t->size)
		memcpy(slot, t->slot, t->size * sizeof *slot);
	memory->put(memory->user, t->slot);
	t->slot = slot;
	for (uint32_t i = size; i-- > t->size;) {
		slot[i] = (struct lmpi_idslot){.generation = 1, .next_free = t->free_first};
		t->free_first = i + 1;
	}
	t->size = size;
}

void
lmpi_id_clear(struct lmpi_idtab *t, const struct lmpi_memory *memory)
{
	memory->put(memory->user, t->slot);
	*t = (struct lmpi_idtab){0};
}
