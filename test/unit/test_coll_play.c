/* SPDX-License-Identifier: BSD-2-Clause */
/* The verifier: every schedule of every algorithm plays to its end, each process sending
 * and receiving one message a round; what is wrong with broken ones is found. */
#include "coll/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define P_MAX 40

static void
rounds_hold(const struct coll_schedule *s, uint32_t p, const char *what)
{
	void *mem = malloc(coll_play_footprint(s, p));
	struct coll_play *pl = coll_play_new(mem, s, p, NULL, NULL);
	if (!pl)
		fail_msg("%s: sends and receives do not pair", what);
	uint32_t n, rounds = coll_play_rounds(pl);
	const struct coll_message *m = coll_play_messages(pl, &n);
	if (n && !rounds)
		fail_msg("%s: deadlock", what);
	uint32_t *busy = calloc((size_t)rounds * p * 2 + 1, sizeof *busy);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(m[i].round < rounds);
		assert_int_equal(busy[(m[i].round * p + m[i].from) * 2]++, 0);
		assert_int_equal(busy[(m[i].round * p + m[i].to) * 2 + 1]++, 0);
	}
	/* and once more by hand, one message at a time */
	for (uint32_t at; (at = coll_play_next(pl)) != COLL_NO_MESSAGE;)
		coll_play_over(pl, at);
	if (coll_play_left(pl))
		fail_msg("%s: %u steps are left", what, coll_play_left(pl));
	free(busy);
	free(mem);
}

static void
test_every_algorithm(void **state)
{
	(void)state;
	static const uint32_t procs[] = {1, 2, 3, 4, 7, 8, 12, 17, 32, 33, 40};
	size_t n, cases = 0;
	const struct coll_algorithm *alg = coll_algorithms(&n);
	for (size_t i = 0; i < n; i++)
		for (size_t z = 0; z < 4 * sizeof procs / sizeof procs[0]; z++) {
			struct coll_schedule s[P_MAX];
			void *arena[P_MAX];
			struct coll_args a = {.op = alg[i].op,
					      .size = procs[z / 4],
					      .root = procs[z / 4] / 2,
					      .bytes = z & 1 ? 640 : 0,
					      .elem = 1,
					      .commutative = true,
					      .degree = 2 + (uint32_t)(z % 3),
					      .reversed = z & 2};
			if (a.op == COLL_NEIGHBOR || !strcmp(alg[i].name, COLL_INTER) ||
			    (alg[i].fits && !alg[i].fits(&a)))
				continue;
			for (uint32_t r = 0; r < a.size; r++) {
				a.rank = r;
				arena[r] = malloc(coll_arena_hint(&a));
				assert_int_equal(coll_build(&s[r], &a, alg[i].name, arena[r],
							    coll_arena_hint(&a)),
						 COLL_ERR_OK);
			}
			char what[120];
			snprintf(what, sizeof what, "%s/%s p=%u bytes=%u%s", coll_op_name(a.op),
				 alg[i].name, a.size, (unsigned)a.bytes,
				 a.reversed ? " reversed" : "");
			rounds_hold(s, a.size, what);
			for (uint32_t r = 0; r < a.size; r++)
				free(arena[r]);
			cases++;
		}
	assert_true(cases > 800);
}

static const struct coll_step send1 = {.kind = COLL_STEP_SEND, .peer = 1, .from = {0, 0, 8}};
static const struct coll_step recv1 = {.kind = COLL_STEP_RECV, .peer = 1, .into = {1, 0, 8}};
static const struct coll_step send0 = {.kind = COLL_STEP_SEND, .peer = 0, .from = {0, 0, 8}};
static const struct coll_step recv0 = {.kind = COLL_STEP_RECV, .peer = 0, .into = {1, 0, 8}};

static struct coll_play *
two(struct coll_schedule s[2], struct coll_step *x, uint32_t nx, struct coll_step *y, uint32_t ny,
    uint32_t *deps, void **mem)
{
	s[0] = (struct coll_schedule){
		.rank = 0, .size = 2, .step = x, .steps = nx, .dep = deps, .deps = nx / 2};
	s[1] = (struct coll_schedule){
		.rank = 1, .size = 2, .step = y, .steps = ny, .dep = deps, .deps = ny / 2};
	*mem = malloc(coll_play_footprint(s, 2));
	return coll_play_new(*mem, s, 2, NULL, NULL);
}

static void
test_faults_are_found(void **state)
{
	(void)state;
	struct coll_schedule s[2];
	uint32_t first[] = {0};
	void *mem;
	/* both receive before they send: with dependencies that is a deadlock */
	struct coll_step x[2] = {recv1, send1}, y[2] = {recv0, send0};
	x[1].dep_count = y[1].dep_count = 1;
	struct coll_play *pl = two(s, x, 2, y, 2, first, &mem);
	assert_non_null(pl);
	assert_int_equal(coll_play_rounds(pl), 0);
	assert_int_equal(coll_play_left(pl), 4);
	free(mem);
	/* one that sends first undoes it */
	struct coll_step z[2] = {send0, recv0};
	z[1].dep_count = 1;
	pl = two(s, x, 2, z, 2, first, &mem);
	assert_int_equal(coll_play_rounds(pl), 2);
	free(mem);
	/* a send that nobody receives; a receive that nobody sends; lengths that differ */
	struct coll_step alone[1] = {send1}, waits[1] = {recv0}, small[1] = {recv0};
	small[0].into.len = 4;
	assert_null(two(s, alone, 1, NULL, 0, first, &mem));
	free(mem);
	assert_null(two(s, NULL, 0, waits, 1, first, &mem));
	free(mem);
	assert_null(two(s, alone, 1, small, 1, first, &mem));
	free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_algorithm),
		cmocka_unit_test(test_faults_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
