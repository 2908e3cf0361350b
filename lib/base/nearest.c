/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/nearest.h"

#include <limits.h>
#include <string.h>

static unsigned
least_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned
base_edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned row[3][BASE_NEAREST_MAX + 1]; /* of a[0 .. i - 2], a[0 .. i - 1], a[0 .. i] */

	if (na > BASE_NEAREST_MAX || nb > BASE_NEAREST_MAX)
		return UINT_MAX;
	for (size_t j = 0; j <= nb; j++)
		row[1][j] = row[2][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		memcpy(row[0], row[1], sizeof row[0]);
		memcpy(row[1], row[2], sizeof row[1]);
		row[2][0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned d = least_of(row[1][j], row[2][j - 1]) + 1;

			d = least_of(d, row[1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d = least_of(d, row[0][j - 2] + 1);
			row[2][j] = d;
		}
	}
	return row[2][nb];
}

int
base_word_index(const char *words, const char *word)
{
	size_t len = strlen(word);
	int index = 0;
	for (const char *at = words; *at; index++) {
		size_t n = strcspn(at, "|");
		if (n == len && memcmp(at, word, n) == 0)
			return index;
		at += n;
		if (*at)
			at++;
	}
	return -1;
}
