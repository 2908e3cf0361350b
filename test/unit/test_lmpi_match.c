/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c against a model that keeps two plain lists. */
#include "mpi/match.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N 512

static struct lmpi_match match;

/* --- the model: arrays in order of posting and of arrival */
static struct lmpi_req *posted[N];
static struct lmpi_msg *kept[N];
static int nposted, nkept;

static bool
fits(const struct lmpi_req *r, uint64_t cid, int source, int tag)
{
	return r->cid == cid && (r->source == LMPI_ANY_SOURCE || r->source == source) &&
	       (r->tag == LMPI_ANY_TAG || r->tag == tag);
}

static struct lmpi_req *
model_arrive(uint64_t cid, int source, int tag)
{
	for (int i = 0; i < nposted; i++) {
		if (fits(posted[i], cid, source, tag)) {
			struct lmpi_req *r = posted[i];
			memmove(&posted[i], &posted[i + 1],
				(size_t)(--nposted - i) * sizeof *posted);
			return r;
		}
	}
	return NULL;
}

static int
model_find(const struct lmpi_req *r)
{
	for (int i = 0; i < nkept; i++) {
		if (fits(r, kept[i]->cid, kept[i]->source, kept[i]->tag))
			return i;
	}
	return -1;
}

static void
step_recv(struct base_prng *p)
{
	struct lmpi_req *r = calloc(1, sizeof *r);
	r->cid = base_prng_below(p, 3) << 40;
	r->source = (int)base_prng_below(p, 5) - 1;
	r->tag = base_prng_chance(p, 300000000) ? LMPI_ANY_TAG : (int)base_prng_below(p, 3);
	int at = model_find(r);
	struct lmpi_msg *m = lmpi_match_find(&match, r->cid, r->source, r->tag);
	assert_ptr_equal(m, at < 0 ? NULL : kept[at]);
	if (m) {
		lmpi_match_take(&match, m);
		memmove(&kept[at], &kept[at + 1], (size_t)(--nkept - at) * sizeof *kept);
		free(m);
		free(r);
	} else if (nposted < N) {
		lmpi_match_post(&match, r);
		posted[nposted++] = r;
	} else {
		free(r);
	}
}

static void
step_arrive(struct base_prng *p)
{
	uint64_t cid = base_prng_below(p, 3) << 40;
	int source = (int)base_prng_below(p, 4), tag = (int)base_prng_below(p, 3);
	struct lmpi_req *want = model_arrive(cid, source, tag);
	struct lmpi_req *got = lmpi_match_arrive(&match, cid, source, tag);

	assert_ptr_equal(got, want);
	free(got);
	if (!got && nkept < N) {
		struct lmpi_msg *m = calloc(1, sizeof *m);
		m->cid = cid;
		m->source = source;
		m->tag = tag;
		lmpi_match_keep(&match, m);
		kept[nkept++] = m;
	}
}

static void
step_cancel(struct base_prng *p)
{
	if (nposted == 0)
		return;
	int i = (int)base_prng_below(p, (uint64_t)nposted);
	struct lmpi_req *r = posted[i];
	assert_true(lmpi_match_unpost(&match, r));
	assert_false(lmpi_match_unpost(&match, r));
	memmove(&posted[i], &posted[i + 1], (size_t)(--nposted - i) * sizeof *posted);
	free(r);
}

static void
against_model(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct base_prng p = base_prng_seed(seed);
		uint64_t lean = base_prng_below(&p, 80) + 10; /* receives or messages pile up */
		lmpi_match_init(&match);
		nposted = nkept = 0;
		for (int i = 0; i < 20000; i++) {
			uint64_t k = base_prng_below(&p, 100);
			if (k < 3)
				step_cancel(&p);
			else if (k < lean)
				step_recv(&p);
			else
				step_arrive(&p);
			assert_int_equal(match.unexpected, nkept);
		}
		while (nposted)
			step_cancel(&p);
		for (int i = 0; i < nkept; i++) {
			lmpi_match_take(&match, kept[i]);
			free(kept[i]);
		}
		assert_int_equal(match.unexpected, 0);
		assert_null(TAILQ_FIRST(&match.all));
	}
}

static const struct {
	const char *name;
	int source1, tag1, source2, tag2; /* two receives, posted in this order */
	int want;			  /* which one message (source 2, tag 7) takes */
} order_cases[] = {
	{"exact before any", 2, 7, LMPI_ANY_SOURCE, LMPI_ANY_TAG, 1},
	{"any before exact", LMPI_ANY_SOURCE, LMPI_ANY_TAG, 2, 7, 1},
	{"first does not fit the tag", LMPI_ANY_SOURCE, 8, 2, 7, 2},
	{"first does not fit the source", 3, 7, LMPI_ANY_SOURCE, 7, 2},
	{"any tag of the source", 2, LMPI_ANY_TAG, 2, 7, 1},
	{"none fits", 3, 7, 2, 8, 0},
};

static void
posting_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof order_cases / sizeof order_cases[0]; i++) {
		struct lmpi_req a = {.source = order_cases[i].source1, .tag = order_cases[i].tag1};
		struct lmpi_req b = {.source = order_cases[i].source2, .tag = order_cases[i].tag2};
		struct lmpi_req *const want[] = {NULL, &a, &b};
		printf("  %s\n", order_cases[i].name);
		lmpi_match_init(&match);
		lmpi_match_post(&match, &a);
		lmpi_match_post(&match, &b);
		assert_ptr_equal(lmpi_match_arrive(&match, 0, 2, 7), want[order_cases[i].want]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(posting_order),
		cmocka_unit_test(against_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
