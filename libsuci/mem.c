/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for blocks.  Pieces have sizes in classes, four to a doubling, so that what one
 * block gave back serves the next; what is in use and what is kept for later is
 * together never more than the limit. */
#include "datagram_internal.h"

#include <stdlib.h>
#include <string.h>

#define LEAST 7 /* 128 bytes */

static unsigned
mem_class_of(uint64_t size, uint64_t *bytes)
{
	if (size <= 1u << LEAST) {
		*bytes = 1u << LEAST;
		return 0;
	}
	unsigned log = 63 - (unsigned)__builtin_clzll(size - 1); /* 2^log < size <= 2^(log+1) */
	uint64_t step = 1ull << (log - 2);
	unsigned quarter = (unsigned)((size - 1 - (1ull << log)) / step);
	*bytes = (1ull << log) + (quarter + 1) * step;
	return (log - LEAST) * 4 + quarter + 1;
}

void
datagram_mem_init(struct mem *m, uint64_t limit)
{
	memset(m, 0, sizeof *m);
	m->limit = limit;
}

static void
drop_cached(struct mem *m, uint64_t need)
{
	for (unsigned c = MEM_CLASSES; c-- > 0 && m->used + m->cached + need > m->limit;) {
		while (m->free[c] && m->used + m->cached + need > m->limit) {
			void *p = m->free[c];
			uint64_t bytes;
			memcpy(&m->free[c], p, sizeof m->free[c]);
			memcpy(&bytes, (uint8_t *)p + sizeof(void *), sizeof bytes);
			m->cached -= bytes;
			free(p);
		}
	}
}

void
datagram_mem_fini(struct mem *m)
{
	m->limit = 0;
	drop_cached(m, 0);
}

uint64_t
datagram_mem_cost(uint64_t size)
{
	uint64_t bytes;
	(void)mem_class_of(size, &bytes);
	return bytes;
}

void *
datagram_mem_take(struct mem *m, uint64_t size)
{
	uint64_t bytes;
	unsigned c = mem_class_of(size, &bytes);
	if (m->used + bytes > m->limit)
		return NULL;
	void *p = m->free[c];
	if (p) {
		memcpy(&m->free[c], p, sizeof m->free[c]);
		m->cached -= bytes;
	} else {
		drop_cached(m, bytes);
		p = malloc(bytes);
		if (!p)
			return NULL;
	}
	m->used += bytes;
	m->used_max = m->used > m->used_max ? m->used : m->used_max;
	return p;
}

void
datagram_mem_give(struct mem *m, void *p, uint64_t size)
{
	uint64_t bytes;
	unsigned c = mem_class_of(size, &bytes);
	memcpy(p, &m->free[c], sizeof m->free[c]);
	memcpy((uint8_t *)p + sizeof(void *), &bytes, sizeof bytes);
	m->free[c] = p;
	m->used -= bytes;
	m->cached += bytes;
}
