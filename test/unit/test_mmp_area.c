/* SPDX-License-Identifier: BSD-2-Clause */
/* The area: every order of freeing of small cases, and long random runs against a map of bytes. */
#include "base/prng.h"
#include "mmp/area.h"

#include "cmocka_all.h"

#include <string.h>

#define N 6

static void
free_in_order(const uint64_t len[N], const unsigned order[N])
{
	struct mmp_piece piece[2 * N + 2];
	struct mmp_area a;
	uint32_t p[N];
	mmp_area_init(&a, 64 * 64, piece, 2 * N + 2);
	for (unsigned i = 0; i < N; i++) {
		assert_true(mmp_area_has(&a, len[i]));
		p[i] = mmp_area_take(&a, len[i]);
		assert_int_not_equal(p[i], MMP_NONE);
	}
	for (unsigned i = 0; i < N; i++) {
		mmp_area_give(&a, p[order[i]]);
		assert_true(mmp_area_check(&a));
	}
	/* One piece again. */
	assert_int_equal(a.used, 0);
	uint32_t all = mmp_area_take(&a, 64 * 64);
	assert_int_not_equal(all, MMP_NONE);
	assert_int_equal(mmp_area_at(&a, all), 0);
	assert_int_equal(mmp_area_take(&a, 1), MMP_NONE);
}

static void
orders(const uint64_t len[N], unsigned order[N], unsigned k)
{
	if (k == N) {
		free_in_order(len, order);
		return;
	}
	for (unsigned i = k; i < N; i++) {
		unsigned t = order[k];
		order[k] = order[i];
		order[i] = t;
		orders(len, order, k + 1);
		order[i] = order[k];
		order[k] = t;
	}
}

static void
every_order_of_freeing(void **state)
{
	(void)state;
	static const uint64_t len[3][N] = {
		{64, 64, 64, 64, 64, 64}, {0, 1, 65, 700, 300, 64}, {640, 640, 640, 640, 640, 640}};
	for (int i = 0; i < 3; i++) {
		unsigned order[N] = {0, 1, 2, 3, 4, 5};
		orders(len[i], order, 0);
	}
}

static void
random_against_a_map(void **state)
{
	(void)state;
	enum { PIECES = 200, GRAINS = 4096 };
	static struct mmp_piece piece[PIECES];
	static uint8_t map[GRAINS];
	struct mmp_area a;
	uint32_t held[PIECES];
	uint64_t len[PIECES];
	unsigned n = 0;
	struct base_prng r = base_prng_seed(3);
	memset(map, 0, sizeof map);
	mmp_area_init(&a, 64 * GRAINS, piece, PIECES);
	for (int i = 0; i < 200000; i++) {
		if (n == PIECES || (n && base_prng_below(&r, 2))) {
			unsigned k = (unsigned)base_prng_below(&r, n);
			uint64_t g = mmp_area_at(&a, held[k]) / 64;
			memset(map + g, 0, len[k]);
			mmp_area_give(&a, held[k]);
			held[k] = held[--n];
			len[k] = len[n];
		} else {
			uint64_t want = base_prng_below(&r, base_prng_below(&r, 8) ? 5000 : 200000);
			bool has = mmp_area_has(&a, want);
			uint32_t p = mmp_area_take(&a, want);
			assert_true(!has || p != MMP_NONE);
			if (p == MMP_NONE)
				continue;
			uint64_t g = mmp_area_at(&a, p) / 64, k = want ? (want + 63) / 64 : 1;
			for (uint64_t j = g; j < g + k; j++) {
				assert_int_equal(map[j], 0);
				map[j] = 1;
			}
			held[n] = p;
			len[n++] = k;
		}
		if (i % 64 == 0)
			assert_true(mmp_area_check(&a));
	}
	assert_true(a.used_max <= a.size);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_order_of_freeing),
		cmocka_unit_test(random_against_a_map),
	};
	return cmocka_run_group_tests_name("mmp_area", tests, NULL, NULL);
}
