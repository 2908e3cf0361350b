/* SPDX-License-Identifier: BSD-2-Clause */
/* base/carve.h - arrays out of one piece of memory that the caller has given.
 *
 *     size = base_carved(n1) + base_carved(n2) + BASE_CARVE_ALIGN;
 *     uint8_t *at = base_carve_from(mem); a = base_carve(&at, n1); b = base_carve(&at, n2);
 *
 * Where nobody knows beforehand how much it takes:
 *
 *     struct base_space s = base_space(mem, len);
 *     if (!(a = base_take(&s, n1)) || !(b = base_take(&s, n2))) ... it does not fit */
#ifndef BASE_CARVE_H
#define BASE_CARVE_H

#include <stddef.h>
#include <stdint.h>

#define BASE_CARVE_ALIGN 16

static inline size_t
base_carved(size_t bytes)
{
	return (bytes + BASE_CARVE_ALIGN - 1) & ~(size_t)(BASE_CARVE_ALIGN - 1);
}

static inline uint8_t *
base_carve_from(void *mem)
{
	return (uint8_t *)base_carved((uintptr_t)mem);
}

static inline void *
base_carve(uint8_t **at, size_t bytes)
{
	void *got = *at;
	*at += base_carved(bytes);
	return got;
}

struct base_space {
	uint8_t *at, *end;
};

static inline struct base_space
base_space(void *mem, size_t len)
{
	uint8_t *at = base_carve_from(mem), *end = (uint8_t *)mem + len;
	return (struct base_space){at < end ? at : end, end};
}

/* NULL: there is not so much left. */
static inline void *
base_take(struct base_space *s, size_t bytes)
{
	size_t left = (size_t)(s->end - s->at);
	if (bytes > left || base_carved(bytes) > left)
		return NULL;
	return base_carve(&s->at, bytes);
}

#endif
