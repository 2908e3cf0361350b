/* SPDX-License-Identifier: BSD-2-Clause */
/* base/arena.h: what is counted is what is carved. */
#include "base/arena.h"

#include "cmocka_all.h"

struct thing {
	uint8_t *bytes;
	uint64_t *words;
	void *nothing;
};

static size_t
lay_out(void *mem, struct thing *t)
{
	struct base_arena a = base_arena(mem);
	base_arena_take(&a, 1, sizeof *t);
	t->bytes = base_arena_take(&a, 65, 1);
	t->nothing = base_arena_take(&a, 0, 100);
	t->words = base_arena_take(&a, 3, sizeof *t->words);
	return base_arena_bytes(&a);
}

static void
test_counting_gives_no_place(void **state)
{
	struct thing t;
	(void)state;
	assert_int_equal(lay_out(NULL, &t), 64 + 128 + 64);
	assert_null(t.bytes);
	assert_null(t.words);
	assert_null(t.nothing);
}

static void
test_carving_takes_what_was_counted(void **state)
{
	static _Alignas(BASE_ARENA_ALIGN) uint8_t mem[256];
	struct thing counting, *t = (void *)mem;
	(void)state;
	assert_int_equal(lay_out(NULL, &counting), sizeof mem);
	assert_int_equal(lay_out(mem, t), sizeof mem);
	assert_ptr_equal(t->bytes, mem + 64);
	assert_ptr_equal(t->words, mem + 192);
	/* Of no bytes, and in front of what comes next. */
	assert_ptr_equal(t->nothing, t->words);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counting_gives_no_place),
		cmocka_unit_test(test_carving_takes_what_was_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
