/* SPDX-License-Identifier: BSD-2-Clause */
/* base/ilist.h against a list that is an array. */
#include "base/ilist.h"
#include "base/prng.h"

#include "cmocka_all.h"

#include <string.h>

#define ROWS 9

struct row {
	uint64_t before;
	struct base_ilink link;
	uint8_t behind;
};

struct model {
	uint32_t n, at[ROWS];
};

static void
model_insert(struct model *m, uint32_t place, uint32_t i)
{
	memmove(m->at + place + 1, m->at + place, (m->n - place) * sizeof *m->at);
	m->at[place] = i;
	m->n++;
}

static uint32_t
model_find(const struct model *m, uint32_t i)
{
	uint32_t k = 0;
	while (k < m->n && m->at[k] != i)
		k++;
	return k;
}

static void
model_remove(struct model *m, uint32_t i)
{
	uint32_t k = model_find(m, i);
	memmove(m->at + k, m->at + k + 1, (m->n - k - 1) * sizeof *m->at);
	m->n--;
}

static void
check_same(const struct row *row, uint32_t head, const uint32_t *tail, const struct model *m)
{
	uint32_t n = 0, prev = BASE_INONE;
	for (uint32_t i = head; i != BASE_INONE; prev = i, i = row[i].link.next, n++) {
		assert_true(n < m->n);
		assert_int_equal(i, m->at[n]);
		assert_int_equal(row[i].link.prev, prev);
		assert_int_equal(row[i].before, 1);
		assert_int_equal(row[i].behind, 2);
	}
	assert_int_equal(n, m->n);
	if (tail)
		assert_int_equal(*tail, prev);
}

static void
fill_rows(struct row *row)
{
	for (uint32_t i = 0; i < ROWS; i++)
		row[i] = (struct row){.before = 1, .behind = 2};
}

static void
test_list_is_as_its_model(void **state)
{
	struct row row[ROWS];
	struct base_ilinks links = BASE_ILINKS(row, link);
	struct base_ilist list = BASE_ILIST_EMPTY;
	struct base_prng r = base_prng_seed(1);
	struct model m = {0};
	(void)state;
	fill_rows(row);
	for (int turn = 0; turn < 20000; turn++) {
		uint32_t i = (uint32_t)base_prng_below(&r, ROWS), k = model_find(&m, i);
		if (k < m.n) {
			base_ilist_unlink(&list, links, i);
			model_remove(&m, i);
		} else if (turn % 3 == 0) {
			base_ilist_append(&list, links, i);
			model_insert(&m, m.n, i);
		} else if (turn % 3 == 1) {
			base_ilist_prepend(&list, links, i);
			model_insert(&m, 0, i);
		} else {
			uint32_t place = (uint32_t)base_prng_below(&r, m.n + 1);
			base_ilist_insert(&list, links, place ? m.at[place - 1] : BASE_INONE, i);
			model_insert(&m, place, i);
		}
		check_same(row, list.head, &list.tail, &m);
	}
	base_ilist_init(&list);
	assert_int_equal(list.head, BASE_INONE);
	assert_int_equal(list.tail, BASE_INONE);
}

static void
test_chain_is_as_its_model(void **state)
{
	struct row row[ROWS];
	struct base_ilinks links = BASE_ILINKS(row, link);
	struct base_ichain chain = BASE_ICHAIN_EMPTY;
	struct base_prng r = base_prng_seed(2);
	struct model m = {0};
	(void)state;
	fill_rows(row);
	for (int turn = 0; turn < 20000; turn++) {
		uint32_t i = (uint32_t)base_prng_below(&r, ROWS), k = model_find(&m, i);
		if (k < m.n) {
			base_ichain_unlink(&chain, links, i);
			model_remove(&m, i);
		} else {
			base_ichain_push(&chain, links, i);
			model_insert(&m, 0, i);
		}
		check_same(row, chain.head, NULL, &m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list_is_as_its_model),
		cmocka_unit_test(test_chain_is_as_its_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
