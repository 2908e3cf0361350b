/* SPDX-License-Identifier: BSD-2-Clause */
#include "bytes.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/prng.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int pool_fd = -1;

static uint8_t *
map_pool(void *at, size_t len, int prot)
{
	int flags = MAP_SHARED | (at ? MAP_FIXED : 0);
	void *p = mmap(at, len, prot, flags, pool_fd, 0);
	BASE_ASSERT(p != MAP_FAILED);
	return p;
}

const uint8_t *
pool_bytes(void)
{
	static const uint8_t *pool;
	if (pool)
		return pool;
	pool_fd = memfd_create("pool", MFD_CLOEXEC);
	BASE_ASSERT(pool_fd >= 0 && ftruncate(pool_fd, POOL_BYTES) == 0);
	uint8_t *w = map_pool(NULL, POOL_BYTES, PROT_READ | PROT_WRITE);
	struct base_prng p = base_prng_seed(0x9001);
	for (size_t i = 0; i < POOL_BYTES; i += 8)
		be64_store(w + i, base_prng_next(&p));
	munmap(w, POOL_BYTES);
	w = mmap(NULL, POOL_BYTES + POOL_BEYOND, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	BASE_ASSERT(w != MAP_FAILED);
	map_pool(w, POOL_BYTES, PROT_READ);
	map_pool(w + POOL_BYTES, POOL_BEYOND, PROT_READ);
	pool = w;
	return pool;
}

static bool
mapped(size_t len)
{
	return len > POOL_BEYOND;
}

static size_t
map_len(uint64_t off, size_t len)
{
	return (off % POOL_BYTES + len + POOL_BYTES - 1) / POOL_BYTES * POOL_BYTES;
}

uint8_t *
lent_new(uint64_t off, size_t len)
{
	if (!mapped(len)) {
		uint8_t *copy = malloc(len ? len : 1);
		BASE_ASSERT(copy);
		memcpy(copy, pool_at(off), len);
		return copy;
	}
	pool_bytes();
	size_t all = map_len(off, len);
	uint8_t *p = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	BASE_ASSERT(p != MAP_FAILED);
	for (size_t at = 0; at < all; at += POOL_BYTES)
		map_pool(p + at, POOL_BYTES, PROT_READ);
	return p + off % POOL_BYTES;
}

bool
lent_end(uint8_t *lent, uint64_t off, size_t len)
{
	if (!mapped(len)) {
		memset(lent, 0xdd, len);
		free(lent);
		return true;
	}
	/* The addresses stay taken, so that nothing else comes to lie there. */
	int err = mprotect(lent - off % POOL_BYTES, map_len(off, len), PROT_NONE);
	BASE_ASSERT(!err);
	return false;
}

void
lent_free(uint8_t *lent, uint64_t off, size_t len)
{
	if (!mapped(len))
		free(lent);
	else
		munmap(lent - off % POOL_BYTES, map_len(off, len));
}

bool
cover_add(struct cover *c, uint64_t lo, uint64_t len)
{
	uint64_t hi = lo + len;
	if (!len)
		return true;
	/* The first range that ends at lo or later. */
	uint32_t i = 0, end = c->n;
	while (i < end) {
		uint32_t mid = i + (end - i) / 2;
		if (c->range[mid].hi < lo)
			i = mid + 1;
		else
			end = mid;
	}
	bool below = i < c->n && c->range[i].hi == lo;
	uint32_t next = i + below;
	if (next < c->n && c->range[next].lo < hi)
		return false;
	bool above = next < c->n && c->range[next].lo == hi;
	if (below && above) {
		c->range[i].hi = c->range[next].hi;
		memmove(&c->range[next], &c->range[next + 1],
			(c->n - next - 1) * sizeof c->range[0]);
		c->n--;
	} else if (below) {
		c->range[i].hi = hi;
	} else if (above) {
		c->range[next].lo = lo;
	} else {
		if (c->n == c->cap) {
			c->cap = c->cap ? 2 * c->cap : 8;
			c->range = realloc(c->range, c->cap * sizeof c->range[0]);
			BASE_ASSERT(c->range);
		}
		memmove(&c->range[i + 1], &c->range[i], (c->n - i) * sizeof c->range[0]);
		c->range[i] = (struct cover_range){lo, hi};
		c->n++;
	}
	return true;
}

void
cover_free(struct cover *c)
{
	free(c->range);
	*c = (struct cover){0};
}
