/* SPDX-License-Identifier: BSD-2-Clause */
/* base/nearest.h - words of a list, and which was meant by one that is not in it: for hints.
 *
 * Limits   names longer than BASE_NEAREST_MAX are as far as can be.
 * Threads  plain functions. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

#define BASE_NEAREST_MAX 63

/* How many letters to add, drop or change; a swap of neighbours counts as one, as when typing.
 * UINT_MAX if one is too long. */
unsigned base_edit_distance(const char *a, size_t na, const char *b, size_t nb);

/* Is that distance small enough for a name of so many letters: at most a third of them? */
static inline int
base_edit_is_near(unsigned distance, size_t letters)
{
	return distance <= BASE_NEAREST_MAX && distance * 3 <= letters;
}

/* Index of word in "a|b|c", or -1. */
int base_word_index(const char *words, const char *word);

#endif
