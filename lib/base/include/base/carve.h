/* base/carve.h - arrays out of one piece of memory that the caller has given.
 *
 *     size = base_carved(n1) + base_carved(n2) + BASE_CARVE_ALIGN;
 *     uint8_t *at = base_carve_from(mem); a = base_carve(&at, n1); b = base_carve(&at, n2); */
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

#endif
