/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/bytes.h"

#include "cmocka_all.h"

static const uint8_t ramp[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
				 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};

static void
loads_are_big_endian_at_any_alignment(void **state)
{
	(void)state;
	assert_int_equal(be16_load(ramp + 1), 0x1122);
	assert_int_equal(be32_load(ramp + 1), 0x11223344);
	assert_true(be64_load(ramp + 7) == 0x778899aabbccddeeull);
}

static void
stores_undo_loads(void **state)
{
	(void)state;
	uint8_t b[16] = {0};
	be16_store(b + 1, 0x1122);
	be32_store(b + 3, 0x33445566);
	be64_store(b + 7, 0x778899aabbccddeeull);
	assert_memory_equal(b + 1, ramp + 1, 14);
	assert_int_equal(b[0], 0);
	assert_int_equal(b[15], 0);
}

static void
reader_reads_in_order(void **state)
{
	(void)state;
	struct base_reader r = base_reader(ramp, sizeof ramp);
	assert_int_equal(base_read_u8(&r), 0x00);
	assert_int_equal(base_read_be16(&r), 0x1122);
	assert_int_equal(base_read_be32(&r), 0x33445566);
	assert_true(base_read_be64(&r) == 0x778899aabbccddeeull);
	assert_int_equal(base_reader_left(&r), 1);
	assert_ptr_equal(base_read_bytes(&r, 1), ramp + 15);
	assert_int_equal(base_reader_left(&r), 0);
	assert_true(base_reader_ok(&r));
}

static void
overrun_is_sticky_and_reads_zero(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t len;
	} cases[] = {{"empty", 0}, {"one byte", 1}, {"seven bytes", 7}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		print_message("%s\n", cases[i].name);
		struct base_reader r = base_reader(ramp + 1, cases[i].len);
		assert_true(base_read_be64(&r) == 0);
		assert_false(base_reader_ok(&r));
		/* A shorter read that would fit fails too. */
		assert_int_equal(base_read_u8(&r), 0);
		assert_int_equal(base_read_be16(&r), 0);
		assert_int_equal(base_read_be32(&r), 0);
		assert_null(base_read_bytes(&r, 0));
		assert_false(base_reader_ok(&r));
	}
}

static void
huge_lengths_do_not_wrap(void **state)
{
	(void)state;
	struct base_reader r = base_reader(ramp, sizeof ramp);
	assert_null(base_read_bytes(&r, SIZE_MAX));
	assert_false(base_reader_ok(&r));
	uint8_t b[4];
	struct base_writer w = base_writer(b, sizeof b);
	assert_null(base_write_room(&w, SIZE_MAX));
	assert_false(base_writer_ok(&w));
}

static void
null_of_no_length_is_empty(void **state)
{
	(void)state;
	struct base_reader r = base_reader(NULL, 0);
	assert_int_equal(base_reader_left(&r), 0);
	base_read_bytes(&r, 0);
	assert_true(base_reader_ok(&r));
	base_read_u8(&r);
	assert_false(base_reader_ok(&r));
	struct base_writer w = base_writer(NULL, 0);
	base_write_bytes(&w, NULL, 0);
	assert_true(base_writer_ok(&w));
	assert_int_equal(base_writer_len(&w), 0);
	base_write_u8(&w, 1);
	assert_false(base_writer_ok(&w));
}

static void
writer_fills_exactly(void **state)
{
	(void)state;
	uint8_t b[18];
	memset(b, 0xee, sizeof b);
	struct base_writer w = base_writer(b, 16);
	base_write_u8(&w, 0x00);
	base_write_be16(&w, 0x1122);
	base_write_be32(&w, 0x33445566);
	base_write_be64(&w, 0x778899aabbccddeeull);
	base_write_bytes(&w, ramp + 15, 1);
	assert_true(base_writer_ok(&w));
	assert_int_equal(base_writer_len(&w), 16);
	assert_memory_equal(b, ramp, 16);
	base_write_u8(&w, 1);
	assert_false(base_writer_ok(&w));
	assert_int_equal(base_writer_len(&w), 16);
	assert_int_equal(b[16], 0xee);
}

static void
write_that_does_not_fit_is_left_out_whole(void **state)
{
	(void)state;
	uint8_t b[8];
	memset(b, 0xee, sizeof b);
	struct base_writer w = base_writer(b, 7);
	base_write_be32(&w, 0);
	base_write_be32(&w, 0);
	assert_false(base_writer_ok(&w));
	assert_int_equal(base_writer_len(&w), 4);
	assert_int_equal(b[4], 0xee);
	base_write_u8(&w, 0); /* would fit, but the flag is sticky */
	assert_int_equal(base_writer_len(&w), 4);
	assert_int_equal(b[4], 0xee);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_are_big_endian_at_any_alignment),
		cmocka_unit_test(stores_undo_loads),
		cmocka_unit_test(reader_reads_in_order),
		cmocka_unit_test(overrun_is_sticky_and_reads_zero),
		cmocka_unit_test(huge_lengths_do_not_wrap),
		cmocka_unit_test(null_of_no_length_is_empty),
		cmocka_unit_test(writer_fills_exactly),
		cmocka_unit_test(write_that_does_not_fit_is_left_out_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
