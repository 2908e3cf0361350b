/* SPDX-License-Identifier: BSD-2-Clause */
/* What follows from caches: defaults within their bounds, and values that are not believed. */
#include "tune/caches.h"

#include "cmocka_all.h"

#define K 1024ull

static const struct tune_caches here = {32 * K, 1024 * K, 32768 * K};
/* L1, L2, L3 of machines there are, or not there. */
static const struct tune_caches many[] = {
	{32 * K, 1024 * K, 32768 * K},
	{48 * K, 2048 * K, 266240 * K},
	{32 * K, 256 * K, 8192 * K},
	{128 * K, 12288 * K, 0},
	{64 * K, 512 * K, 0},
	{16 * K, 128 * K, 2048 * K},
	{0, 0, 0},
	{1, 1, 1},
	{1u << 30, 1u << 30, 1ull << 40},
};
#define MANY (sizeof many / sizeof *many)

static void
derived(void **state)
{
	(void)state;
	struct tune_values v = {0};
	tune_derive(&here, &v);
	assert_true(v.set == (1u << TUNE_NEAR_COPY | 1u << TUNE_NEAR_QUEUE));
	assert_int_equal(v.v[TUNE_NEAR_QUEUE], 1024 * K);
	assert_int_equal(v.v[TUNE_NEAR_COPY], 256 * K);
	/* Nobody says anything: the same as of a common machine. */
	tune_derive(&many[6], &v);
	assert_int_equal(v.v[TUNE_NEAR_QUEUE], 1024 * K);
	for (unsigned i = 0; i < MANY; i++) {
		v = (struct tune_values){0};
		tune_derive(&many[i], &v);
		assert_true(v.set == (1u << TUNE_NEAR_COPY | 1u << TUNE_NEAR_QUEUE));
		assert_true(v.v[TUNE_NEAR_COPY] <= v.v[TUNE_NEAR_QUEUE]);
	}
	tune_derive(&many[1], &v);
	assert_int_equal(v.v[TUNE_NEAR_QUEUE], 2048 * K);
	tune_derive(&many[2], &v);
	assert_int_equal(v.v[TUNE_NEAR_QUEUE], 256 * K);
}

static void
value(struct tune_values *v, enum tune_value i, uint64_t x)
{
	*v = (struct tune_values){0};
	assert_true(tune_value_set(v, i, x));
}

/* The defaults of libmpi and libsuci are believed on every machine, else nobody could keep them. */
static void
defaults_are_believed(void **state)
{
	(void)state;
	static const struct {
		enum tune_value i;
		uint64_t x;
	} of[] = {{TUNE_EAGER_NODE, 12288},
		  {TUNE_EAGER_WIDE, 40960},
		  {TUNE_EAGER_NET, 65536},
		  {TUNE_SHARE, 40960},
		  {TUNE_PIECE, 65536},
		  {TUNE_ACK, 32},
		  {TUNE_BCAST_PIECE, 1 << 30},
		  {TUNE_ALLTOALL_PIECE, 1 << 30},
		  {TUNE_RUN, 30},
		  {TUNE_FRAGMENT, 65536}};
	for (unsigned m = 0; m < 7; m++)
		for (unsigned i = 0; i < sizeof of / sizeof *of; i++) {
			struct tune_values v;
			enum tune_value which;
			uint64_t least, most;
			value(&v, of[i].i, of[i].x);
			if (tune_unbelievable(&many[m], &v, &which, &least, &most))
				fail_msg("machine %u: %s=%llu", m, tune_value_name(of[i].i),
					 (unsigned long long)of[i].x);
		}
	for (unsigned m = 0; m < MANY; m++) {
		struct tune_values v = {0};
		enum tune_value which;
		uint64_t least, most;
		tune_derive(&many[m], &v);
		if (m < 7)
			assert_false(tune_unbelievable(&many[m], &v, &which, &least, &most));
		for (enum tune_value i = 0; i < TUNE_NVALUES; i++)
			if (tune_believed(&many[m], i, &least, &most) && least > most)
				fail_msg("machine %u: %s", m, tune_value_name(i));
	}
}

static void
forged(void **state)
{
	(void)state;
	static const struct {
		enum tune_value i;
		uint64_t x;
		bool lies;
	} of[] = {{TUNE_EAGER_WIDE, 512, true},
		  {TUNE_EAGER_WIDE, 32767, true},
		  {TUNE_EAGER_WIDE, 32768, false},
		  {TUNE_EAGER_NODE, 512, true},
		  {TUNE_EAGER_NODE, 12287, true},
		  {TUNE_EAGER_NODE, 12288, false},
		  {TUNE_EAGER_NET, 32768, true},
		  {TUNE_EAGER_NET, 524288, false},
		  {TUNE_SHARE, 131072, true},
		  {TUNE_SHARE, 65536, false},
		  {TUNE_SHARE, 16384, false},
		  {TUNE_PIECE, 4096, true},
		  {TUNE_PIECE, 32768, false},
		  {TUNE_PIECE, 1048576, false},
		  {TUNE_BCAST_PIECE, 16384, true},
		  {TUNE_BCAST_PIECE, 65536, false},
		  {TUNE_ALLTOALL_PIECE, 4096, true},
		  {TUNE_ALLTOALL_PIECE, 1 << 30, false},
		  {TUNE_ACK, 1, true},
		  {TUNE_ACK, 256, true},
		  {TUNE_NEAR_COPY, 1024, true},
		  {TUNE_NEAR_COPY, 16777216, true},
		  {TUNE_NEAR_QUEUE, 65536, true},
		  {TUNE_NEAR_QUEUE, 67108864, true},
		  {TUNE_NEAR_QUEUE, 262144, false},
		  {TUNE_RATE, 1, false}};
	for (unsigned i = 0; i < sizeof of / sizeof *of; i++) {
		struct tune_values v;
		enum tune_value which = TUNE_NVALUES;
		uint64_t least, most;
		value(&v, of[i].i, of[i].x);
		bool lies = tune_unbelievable(&here, &v, &which, &least, &most);
		if (lies != of[i].lies)
			fail_msg("%s=%llu", tune_value_name(of[i].i), (unsigned long long)of[i].x);
		if (lies)
			assert_true(which == of[i].i && (of[i].x < least || of[i].x > most));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(derived),
		cmocka_unit_test(defaults_are_believed),
		cmocka_unit_test(forged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
