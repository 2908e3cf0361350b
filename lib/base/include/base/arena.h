/* SPDX-License-Identifier: BSD-2-Clause */
/* base/arena.h - the tables of an object in one piece of memory: count, then carve.
 *
 * One function of the object says what it consists of.  Without memory it counts, with memory it
 * gives each table its place, so size and places cannot differ:
 *
 *     static size_t
 *     lay_out(const struct limits *l, void *mem, struct thing *t)
 *     {
 *             struct base_arena a = base_arena(mem);
 *             base_arena_take(&a, 1, sizeof *t);
 *             t->row = base_arena_take(&a, l->rows_max, sizeof *t->row);
 *             return base_arena_bytes(&a);
 *     }
 *
 *     footprint:  struct thing counting; return lay_out(l, NULL, &counting);
 *     new:        struct thing *t = mem; lay_out(l, mem, t);
 *
 * For a scratch area of a given size, which may be too small, see base/carve.h.
 *
 * Units    bytes.  Every table begins BASE_ARENA_ALIGN bytes or a multiple of it behind mem; who
 *          wants cache lines for itself aligns mem so.
 * Threads  pure functions.
 * Limits   the caller's: the sum of all tables has to fit a size_t. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#define BASE_ARENA_ALIGN 64

struct base_arena {
	uint8_t *mem; /* NULL: counts only */
	size_t bytes;
};

static inline struct base_arena
base_arena(void *mem)
{
	return (struct base_arena){mem, 0};
}

static inline size_t
base_arena_bytes(const struct base_arena *a)
{
	return (a->bytes + BASE_ARENA_ALIGN - 1) & ~(size_t)(BASE_ARENA_ALIGN - 1);
}

/* A table of count rows of size bytes, as it lies in mem; NULL while counting. */
static inline void *
base_arena_take(struct base_arena *a, size_t count, size_t size)
{
	size_t at = base_arena_bytes(a);
	a->bytes = at + count * size;
	return a->mem ? a->mem + at : NULL;
}

#endif
