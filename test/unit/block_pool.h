/* SPDX-License-Identifier: BSD-2-Clause */
/* block_pool.h - large memory that a test asks for again and again: the same blocks, poisoned in
 * between, so the kernel need not find and clear their pages each time.
 *
 *     block_take(n)   n bytes, aligned to 64, never NULL; what the last user left is in them
 *     block_give(p)   back; p may be NULL.  A use after it is an error of the AddressSanitizer,
 *                     like a byte before or past the n: the bytes around them stay poisoned
 *
 * A block that is never given back is found by the LeakSanitizer: the pool knows only those that
 * are free.  Of one thread. */
#ifndef BLOCK_POOL_H
#define BLOCK_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <sanitizer/asan_interface.h>

#define BLOCK_EDGE  64u
#define BLOCK_MAGIC 0xb10cf4eeb10c7a3eull

/* Before the bytes; BLOCK_EDGE or fewer. */
struct block_head {
	struct block_head *next; /* of the free */
	uint64_t magic;		 /* BLOCK_MAGIC: taken */
	size_t room;
};

static struct block_head *block_free;

static inline struct block_head *
block_new(size_t n)
{
	size_t room = (n + BLOCK_EDGE - 1) / BLOCK_EDGE * BLOCK_EDGE;
	struct block_head *b = aligned_alloc(BLOCK_EDGE, room + 2 * BLOCK_EDGE);
	if (!b)
		abort();
	b->room = room;
	ASAN_POISON_MEMORY_REGION((char *)b + BLOCK_EDGE, room + BLOCK_EDGE);
	return b;
}

/* The smallest that has room. */
static inline void *
block_take(size_t n)
{
	struct block_head **best = NULL;
	for (struct block_head **at = &block_free; *at; at = &(*at)->next)
		if ((*at)->room >= n && (!best || (*at)->room < (*best)->room))
			best = at;
	struct block_head *b = best ? *best : block_new(n);
	if (best)
		*best = b->next;
	b->next = NULL;
	b->magic = BLOCK_MAGIC;
	char *p = (char *)b + BLOCK_EDGE;
	ASAN_POISON_MEMORY_REGION(b, BLOCK_EDGE);
	ASAN_UNPOISON_MEMORY_REGION(p, n);
	return p;
}

static inline void
block_give(void *p)
{
	if (!p)
		return;
	struct block_head *b = (struct block_head *)(void *)((char *)p - BLOCK_EDGE);
	ASAN_UNPOISON_MEMORY_REGION(b, BLOCK_EDGE);
	if (b->magic != BLOCK_MAGIC)
		abort(); /* twice, or not from here */
	b->magic = 0;
	b->next = block_free;
	block_free = b;
	ASAN_POISON_MEMORY_REGION(p, b->room);
}

#endif
