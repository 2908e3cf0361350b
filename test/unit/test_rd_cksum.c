/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include "naive_cksum.h"
#include "rd/packet.h"

#include <string.h>

static void
checksum_is_rfc1071(void **state)
{
	uint8_t buf[300];
	(void)state;
	for (size_t i = 0; i < sizeof buf; i++)
		buf[i] = (uint8_t)(i * 37 + 11);
	for (size_t len = 0; len <= sizeof buf; len++) {
		assert_int_equal(rd_cksum_fold(rd_cksum_add(0, buf, len)), naive_cksum(buf, len));
		size_t half = len / 4 * 2; /* pieces of even length */
		uint64_t s = rd_cksum_add(0, buf, half);
		assert_int_equal(rd_cksum_fold(rd_cksum_add(s, buf + half, len - half)),
				 naive_cksum(buf, len));
	}
	memset(buf, 0xff, sizeof buf);
	assert_int_equal(rd_cksum_fold(rd_cksum_add(0, buf, 300)), 0);
}

/* Every way that this processor has, from any alignment, and where sums are largest. */
static void
checksum_by_all_ways(void **state)
{
	static uint8_t buf[9216 + 64];
	(void)state;
	for (int full = 0; full < 2; full++) {
		for (size_t i = 0; i < sizeof buf; i++)
			buf[i] = full ? 0xff : (uint8_t)(i * 41 + (i >> 8) * 7 + 3);
		for (int way = RD_SUM_ANY; way <= (int)rd_sum_best(); way++)
			for (size_t blocks = 0; blocks <= 9216 / RD_SUM_BLOCK;
			     blocks += 1 + blocks / 3)
				for (size_t at = 0; at < 64; at += 7)
					assert_int_equal(
						rd_cksum_fold(rd_sum_by((enum rd_sum_way)way,
									buf + at, blocks)),
						naive_cksum(buf + at, blocks * RD_SUM_BLOCK));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checksum_is_rfc1071),
		cmocka_unit_test(checksum_by_all_ways),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
