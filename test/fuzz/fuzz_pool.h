/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_pool.h - memory that a fuzz target asks for anew in every run: the same blocks again,
 * poisoned in between, so the kernel need not find and clear their pages each time.
 *
 *     fuzz_take(n, clear)   a block of n bytes, aligned to 64; zeros, or 0x5a the first time and
 *                           what the last run left later: who reads what it has not written is
 *                           found by the unit suites, which fill theirs
 *     fuzz_give(p)          back; a use after it is an error of the AddressSanitizer */
#ifndef FUZZ_POOL_H
#define FUZZ_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <sanitizer/asan_interface.h>

#define FUZZ_POOL_BLOCKS 32

struct fuzz_block {
	void *at;
	size_t n;
	bool taken;
};

static struct fuzz_block fuzz_pool[FUZZ_POOL_BLOCKS];

static inline void *
fuzz_take(size_t n, bool clear)
{
	struct fuzz_block *b = fuzz_pool, *end = fuzz_pool + FUZZ_POOL_BLOCKS;
	while (b < end && b->at && (b->taken || b->n != n))
		b++;
	if (b == end)
		abort(); /* sizes that change from run to run do not belong here */
	if (!b->at) {
		b->at = aligned_alloc(64, (n + 63) & ~(size_t)63);
		if (!b->at)
			abort();
		memset(b->at, 0x5a, n);
		b->n = n;
	}
	__asan_unpoison_memory_region(b->at, n);
	if (clear)
		memset(b->at, 0, n);
	b->taken = true;
	return b->at;
}

static inline void
fuzz_give(void *p)
{
	struct fuzz_block *b = fuzz_pool;
	while (b < fuzz_pool + FUZZ_POOL_BLOCKS && b->at != p)
		b++;
	if (b == fuzz_pool + FUZZ_POOL_BLOCKS || !b->taken)
		abort();
	b->taken = false;
	__asan_poison_memory_region(b->at, b->n);
}

#endif
