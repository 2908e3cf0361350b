/* SPDX-License-Identifier: BSD-2-Clause */
/* base_copy() against a copy byte by byte: sizes around its pieces, distances around the bad ones,
 * with and without overlap. */
#include "base/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#define ROOM 32768

static const size_t sizes[] = {0,    1,	   31,	 2047, 2048, 2049, 4064,
			       4096, 4097, 6144, 8192, 9001, 12288};
static const int distances[] = {0,    1,    2,	   16,	  31,	 32,	33,    4095,  4096,
				4097, 4112, 4127,  4128,  8208,	 12304, 12319, 16384, -1,
				-16,  -31,  -4065, -4080, -4095, -4096, -8176, -12272};

static void
fill(uint8_t *at)
{
	for (size_t i = 0; i < ROOM; i++)
		at[i] = (uint8_t)(i * 131 + (i >> 8) * 7 + 1);
}

static void
copies(void **state)
{
	uint8_t *is = NULL, *want = malloc(ROOM), *was = malloc(ROOM);

	(void)state;
	assert_int_equal(posix_memalign((void **)&is, 4096, ROOM), 0);
	for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
		for (size_t d = 0; d < sizeof distances / sizeof distances[0]; d++) {
			size_t n = sizes[s], from = distances[d] < 0 ? 12800 : 0;
			size_t to = (size_t)((long)from + distances[d]);
			fill(is);
			fill(want);
			fill(was);
			for (size_t i = 0; i < n; i++)
				want[to + i] = was[from + i];
			base_copy(is + to, is + from, n);
			if (memcmp(is, want, ROOM) != 0)
				fail_msg("%zu bytes, %d behind the source: not what was there", n,
					 distances[d]);
		}
	free(is);
	free(want);
	free(was);
}

/* Every few bytes, and what lies around them. */
static void
copies_few(void **state)
{
	uint8_t from[80], want[80], is[80];
	(void)state;
	for (size_t i = 0; i < sizeof from; i++)
		from[i] = (uint8_t)(i * 7 + 1);
	for (size_t n = 0; n <= 64; n++) {
		memset(want, 0xee, sizeof want);
		memset(is, 0xee, sizeof is);
		for (size_t i = 0; i < n; i++)
			want[8 + i] = from[3 + i];
		base_copy_few(is + 8, from + 3, n);
		if (memcmp(is, want, sizeof is) != 0)
			fail_msg("%zu bytes: not what was there", n);
	}
	base_copy_few(NULL, NULL, 0);
}

static void
nothing_of_nothing(void **state)
{
	(void)state;
	base_copy(NULL, NULL, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies),
		cmocka_unit_test(copies_few),
		cmocka_unit_test(nothing_of_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
