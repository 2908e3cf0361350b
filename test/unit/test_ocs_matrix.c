/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/prng.h"
#include "ocs/matrix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PORTS 8

static struct ocs_matrix *
fresh(void)
{
	return ocs_matrix_new(malloc(ocs_matrix_footprint(PORTS)), PORTS, 10000000);
}

static struct ocs_circuit removing[64], adding[64];

static struct ocs_batch
batch(struct ocs_matrix *m, uint64_t now_ns)
{
	struct ocs_batch b = {.remove = removing, .add = adding};
	ocs_take_batch(m, &b, 64, now_ns);
	assert_null(ocs_check(m));
	return b;
}

static void
light_up(struct ocs_matrix *m, uint32_t in, uint32_t out)
{
	assert_int_equal(ocs_request(m, in, out, 1, 0), OCS_ERR_OK);
	batch(m, 0);
	assert_int_equal(ocs_report(m, in, true, 5), OCS_ERR_OK);
	assert_int_equal(ocs_light(m, in, true, 8), OCS_ERR_OK);
	assert_int_equal(ocs_at(m, in).state, OCS_LIT);
}

static void
test_life_of_a_circuit(void **state)
{
	(void)state;
	struct ocs_matrix *m = fresh();
	assert_int_equal(ocs_request(m, 1, 5, 77, 100), OCS_ERR_OK);
	assert_int_equal(ocs_at(m, 1).state, OCS_REQUESTED);
	struct ocs_batch b = batch(m, 200);
	assert_int_equal(b.additions, 1);
	assert_int_equal(b.removals, 0);
	assert_int_equal(b.add[0].in, 1);
	assert_int_equal(b.add[0].out, 5);
	assert_int_equal(batch(m, 201).additions, 0); /* ordered once */
	assert_int_equal(ocs_report(m, 1, true, 300), OCS_ERR_OK);
	assert_int_equal(ocs_at(m, 1).state, OCS_REPORTED);
	assert_int_equal(ocs_light(m, 1, true, 16000200), OCS_ERR_OK);
	assert_int_equal(ocs_at(m, 1).state, OCS_LIT);
	assert_int_equal(ocs_at(m, 1).owner, 77);
	/* 10 ms were a guess, 16 ms were seen */
	assert_int_equal(ocs_gamma_ns(m), 16000000);
	assert_int_equal(ocs_release(m, 1, 20), OCS_ERR_OK);
	b = batch(m, 30);
	assert_int_equal(b.removals, 1);
	/* its ports stay taken until the switch has said so */
	assert_int_equal(ocs_request(m, 2, 5, 1, 31), OCS_ERR_BUSY);
	assert_int_equal(ocs_report(m, 1, true, 40), OCS_ERR_OK);
	assert_int_equal(ocs_at(m, 1).state, OCS_FREE);
	assert_int_equal(ocs_request(m, 2, 5, 1, 41), OCS_ERR_OK);
	free(m);
}

static void
test_refusals(void **state)
{
	(void)state;
	struct ocs_matrix *m = fresh();
	light_up(m, 0, 4);
	static const struct {
		const char *name;
		uint32_t in, out;
		int want;
	} rows[] = {
		{"lit already is a hit", 0, 4, OCS_ERR_OK},
		{"ingress in use", 0, 5, OCS_ERR_BUSY},
		{"egress in use", 1, 4, OCS_ERR_BUSY},
		{"ingress out of range", PORTS, 1, OCS_ERR_INVAL},
		{"egress out of range", 1, PORTS, OCS_ERR_INVAL},
		{"free pair", 1, 5, OCS_ERR_OK},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (ocs_request(m, rows[i].in, rows[i].out, 1, 9) != rows[i].want)
			fail_msg("%s", rows[i].name);
	assert_int_equal(ocs_counters(m)->hits, 1);
	ocs_port_dark(m, true, 2, true);
	assert_int_equal(ocs_request(m, 2, 6, 1, 9), OCS_ERR_DARK);
	ocs_port_dark(m, true, 2, false);
	assert_int_equal(ocs_request(m, 2, 6, 1, 9), OCS_ERR_OK);
	batch(m, 10);
	assert_int_equal(ocs_report(m, 2, false, 11), OCS_ERR_OK); /* the switch refuses */
	assert_int_equal(ocs_at(m, 2).state, OCS_FREE);
	assert_int_equal(ocs_user_of(m, 6), OCS_NO_PORT);
	assert_int_equal(ocs_report(m, 2, true, 12), OCS_ERR_UNKNOWN);
	free(m);
}

static void
test_release_while_ordered(void **state)
{
	(void)state;
	struct ocs_matrix *m = fresh();
	ocs_request(m, 3, 3, 1, 0);
	batch(m, 1);
	assert_int_equal(ocs_release(m, 3, 2), OCS_ERR_OK);
	ocs_report(m, 3, true, 3);
	assert_int_equal(ocs_at(m, 3).state, OCS_RELEASE_PENDING);
	assert_int_equal(ocs_request(m, 3, 3, 2, 4),
			 OCS_ERR_OK); /* and wanted again: no switching */
	assert_int_equal(ocs_at(m, 3).state, OCS_LIT);
	assert_int_equal(batch(m, 5).removals, 0);
	free(m);
}

static void
test_no_light(void **state)
{
	(void)state;
	struct ocs_matrix *m = fresh();
	ocs_request(m, 1, 2, 1, 0);
	batch(m, 1);
	ocs_report(m, 1, true, 2);
	assert_int_equal(ocs_light(m, 1, false, 3), OCS_ERR_OK); /* once: remove, try again */
	assert_int_equal(ocs_request(m, 1, 2, 1, 3), OCS_ERR_OK);
	assert_int_equal(batch(m, 4).removals, 1);
	ocs_report(m, 1, true, 4);
	assert_int_equal(batch(m, 4).additions, 1);
	ocs_report(m, 1, true, 5);
	assert_int_equal(ocs_light(m, 1, false, 6), OCS_ERR_DARK);
	assert_int_equal(batch(m, 7).removals, 1);
	ocs_report(m, 1, true, 8);
	assert_int_equal(ocs_request(m, 1, 3, 1, 9), OCS_ERR_DARK);
	assert_int_equal(ocs_request(m, 4, 2, 1, 9), OCS_ERR_DARK);
	free(m);
}

static const uint64_t second = 1000000000u;

/* Order, report; light or none; what remains is removed. */
static int
tried(struct ocs_matrix *m, uint32_t in, uint32_t out, bool lit, uint64_t now)
{
	assert_int_equal(ocs_request(m, in, out, 1, now), OCS_ERR_OK);
	assert_int_equal(batch(m, now).additions, 1);
	ocs_report(m, in, true, now);
	int err = ocs_light(m, in, lit, now);
	if (lit)
		ocs_release(m, in, now);
	assert_int_equal(batch(m, now).removals, 1);
	ocs_report(m, in, true, now);
	return err;
}

/* Lit, says the switch, and nobody is found by it: given up at once, dark the second time in a row,
 * for longer each time although there is light; the next that is found ends it. */
static void
test_blind_ports(void **state)
{
	(void)state;
	struct ocs_matrix *m = fresh();
	uint64_t now = 1;
	for (uint64_t pause = 1; pause <= 8; pause *= 2) {
		now += pause == 1 ? 0 : pause * second;
		assert_int_equal(ocs_request(m, 1, 2, 1, now), OCS_ERR_OK);
		assert_int_equal(batch(m, now).additions, 1);
		ocs_report(m, 1, true, now);
		assert_int_equal(ocs_light(m, 1, true, now), OCS_ERR_OK);
		assert_int_equal(ocs_ends(m, 1, 2, false, now),
				 pause == 1 ? OCS_ERR_OK : OCS_ERR_DARK);
		assert_int_equal(batch(m, now).removals, 1);
		ocs_report(m, 1, true, now);
		assert_null(ocs_check(m));
		if (pause > 1)
			assert_int_equal(ocs_request(m, 1, 3, 1, now + pause * second - 1),
					 OCS_ERR_DARK);
	}
	now += 16 * second;
	assert_int_equal(tried(m, 1, 2, true, now), OCS_ERR_OK);
	assert_int_equal(ocs_ends(m, 1, 2, true, now), OCS_ERR_OK);
	assert_int_equal(ocs_ends(m, 1, 2, false, now), OCS_ERR_OK); /* the first one again */
	assert_int_equal(ocs_request(m, 1, 2, 1, now), OCS_ERR_OK);
	free(m);
}

/* The ports of a circuit without light are tried again, once a time and after longer and longer
 * pauses; light over one ends its own. */
static void
dark_ports_are_tried_again(struct ocs_matrix *m, uint64_t longest)
{
	uint64_t now = 1;
	assert_int_equal(tried(m, 1, 2, false, now), OCS_ERR_OK);
	assert_int_equal(batch(m, now).additions, 1); /* by itself */
	ocs_report(m, 1, true, now);
	assert_int_equal(ocs_light(m, 1, false, now), OCS_ERR_DARK);
	assert_int_equal(batch(m, now).removals, 1);
	ocs_report(m, 1, true, now);
	for (uint64_t pause = 2; pause <= 512; pause *= 2) {
		uint64_t wait = (pause < longest ? pause : longest) * second;
		assert_int_equal(ocs_request(m, 1, 2, 1, now + wait - 1), OCS_ERR_DARK);
		assert_int_equal(ocs_request(m, 1, 3, 1, now + wait - 1), OCS_ERR_DARK);
		assert_int_equal(ocs_request(m, 4, 2, 1, now + wait - 1), OCS_ERR_DARK);
		now += wait;
		assert_int_equal(tried(m, 1, 2, false, now), OCS_ERR_DARK);
		assert_false(ocs_take_batch(m, &(struct ocs_batch){0}, 0, now));
		assert_int_equal(ocs_at(m, 1).state, OCS_FREE);
		assert_null(ocs_check(m));
	}
	now += longest * second;
	/* It was the ingress: over the egress there is light. */
	assert_int_equal(tried(m, 4, 2, true, now), OCS_ERR_OK);
	assert_int_equal(tried(m, 1, 5, false, now), OCS_ERR_DARK);
	assert_int_equal(ocs_request(m, 1, 6, 1, now + longest * second - 1), OCS_ERR_DARK);
	assert_int_equal(ocs_request(m, 4, 5, 1, now + 2 * second - 1), OCS_ERR_DARK);
	assert_int_equal(tried(m, 4, 5, true, now + 2 * second), OCS_ERR_OK);
	/* Mended: somebody says so, and it is like any other. */
	assert_int_equal(ocs_port_dark(m, true, 1, false), OCS_ERR_OK);
	assert_int_equal(tried(m, 1, 6, false, now), OCS_ERR_OK);
	assert_int_equal(ocs_at(m, 1).state, OCS_REQUESTED);
	/* Said to be dark: no time changes that. */
	ocs_port_dark(m, false, 3, true);
	assert_int_equal(ocs_request(m, 5, 3, 1, UINT64_MAX - 1), OCS_ERR_DARK);
	free(m);
}

/* The longest pause is what makes trying cost one part in a hundred. */
static void
test_dark_ports_are_tried_again(void **state)
{
	static const uint64_t tenths[] = {10, 3, 2, 1};
	(void)state;
	dark_ports_are_tried_again(fresh(), 100);
	for (size_t i = 0; i < sizeof tenths / sizeof tenths[0]; i++) {
		struct ocs_matrix *m = fresh();
		ocs_try_costs(m, tenths[i] * second / 10);
		dark_ports_are_tried_again(m, 10 * tenths[i]);
	}
}

static void
test_reconcile(void **state)
{
	(void)state;
	struct ocs_matrix *m = fresh();
	light_up(m, 0, 0);
	light_up(m, 1, 1);
	light_up(m, 2, 2);
	ocs_request(m, 3, 3, 1, 10); /* ordered, answer lost */
	batch(m, 11);
	ocs_request(m, 4, 4, 1, 12);
	ocs_release(m, 2, 12); /* to be removed */
	ocs_offline(m);
	struct ocs_batch b = {.remove = removing, .add = adding};
	assert_false(ocs_take_batch(m, &b, 64, 13));
	/* the switch: 0 kept, 1 gone, 2 still there, 3 was done; a stranger took
	 * egress 4 from ingress 6 */
	struct ocs_circuit have[] = {
		{.in = 0, .out = 0}, {.in = 2, .out = 2}, {.in = 3, .out = 3}, {.in = 6, .out = 4}};
	ocs_reconcile(m, have, 4, 20);
	assert_null(ocs_check(m));
	assert_int_equal(ocs_at(m, 0).state, OCS_LIT);
	assert_int_equal(ocs_at(m, 1).state, OCS_REQUESTED);
	assert_int_equal(ocs_at(m, 2).state, OCS_RELEASE_PENDING);
	assert_int_equal(ocs_at(m, 3).state, OCS_REPORTED);
	assert_int_equal(ocs_at(m, 4).state, OCS_FREE);
	assert_int_equal(ocs_at(m, 6).state, OCS_FOREIGN);
	assert_int_equal(ocs_request(m, 4, 4, 1, 21), OCS_ERR_FOREIGN);
	assert_int_equal(ocs_request(m, 6, 7, 1, 21), OCS_ERR_FOREIGN);
	assert_int_equal(ocs_release(m, 6, 21), OCS_ERR_FOREIGN);
	b = batch(m, 22);
	assert_int_equal(b.removals, 1); /* ours only, never the foreign one */
	assert_int_equal(b.remove[0].in, 2);
	ocs_reconcile(m, have, 3, 30); /* the stranger left */
	assert_int_equal(ocs_at(m, 6).state, OCS_FREE);
	free(m);
}

/* What is on its way out because its ports are dark is not taken back. */
static void
test_dark_is_not_taken_back(void **state)
{
	(void)state;
	for (int seen = 0; seen < 2; seen++) {
		struct ocs_matrix *m = fresh();
		light_up(m, 1, 5);
		if (seen) { /* by the switch */
			ocs_light(m, 1, false, 10);
			batch(m, 11);
			ocs_report(m, 1, true, 12);
			batch(m, 13);
			ocs_report(m, 1, true, 14);
			assert_int_equal(ocs_light(m, 1, false, 15), OCS_ERR_DARK);
		} else { /* by who uses it */
			ocs_ends(m, 1, 5, false, 10);
			assert_int_equal(ocs_request(m, 1, 5, 1, 11), OCS_ERR_OK);
			assert_int_equal(ocs_ends(m, 1, 5, false, 15), OCS_ERR_DARK);
		}
		assert_int_equal(ocs_at(m, 1).state, OCS_RELEASE_PENDING);
		assert_int_equal(ocs_request(m, 1, 5, 1, 16), OCS_ERR_DARK);
		assert_int_equal(batch(m, 17).removals, 1);
		ocs_report(m, 1, true, 18);
		assert_int_equal(ocs_at(m, 1).state, OCS_FREE);
		free(m);
	}
}

/* A circuit without light is to be set up once more, unless it has been released: a read-back that
 * still shows it changes neither. */
static void
test_release_outlives_a_read_back(void **state)
{
	(void)state;
	const struct ocs_circuit have[] = {{.in = 1, .out = 5}, {.in = 2, .out = 6}};
	for (int releasing = 0; releasing < 2; releasing++) {
		struct ocs_matrix *m = fresh();
		light_up(m, 1, 5);
		light_up(m, 2, 6);
		ocs_light(m, 1, false, 10);
		ocs_light(m, 2, false, 10);
		if (releasing)
			assert_int_equal(batch(m, 11).removals, 2);
		assert_int_equal(ocs_release(m, 1, 12), OCS_ERR_OK);
		ocs_offline(m);
		ocs_reconcile(m, have, 2, 20);
		assert_int_equal(batch(m, 21).removals, 2);
		ocs_report(m, 1, true, 22);
		ocs_report(m, 2, true, 22);
		assert_int_equal(ocs_at(m, 1).state, OCS_FREE);
		assert_int_equal(ocs_at(m, 2).state, OCS_REQUESTED);
		free(m);
	}
}

/* A model switch with its own idea of the circuits; random wants, failures,
 * lost sessions.  Ours and the switch's never contradict after a read-back. */
static void
test_random_against_switch(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct base_prng r = base_prng_seed(seed);
		struct ocs_matrix *m = fresh();
		uint32_t sw[PORTS];
		for (uint32_t p = 0; p < PORTS; p++)
			sw[p] = OCS_NO_PORT;
		for (uint64_t now = 1; now < 400; now++) {
			uint32_t in = (uint32_t)base_prng_below(&r, PORTS);
			uint32_t out = (uint32_t)base_prng_below(&r, PORTS);
			if (base_prng_below(&r, 2))
				ocs_request(m, in, out, now, now);
			else
				ocs_release(m, in, now);
			struct ocs_batch b = {.remove = removing, .add = adding};
			if (ocs_take_batch(m, &b, 64, now)) {
				bool lost = base_prng_below(&r, 10) == 0;
				for (uint32_t i = 0; i < b.removals; i++) {
					assert_int_equal(sw[b.remove[i].in], b.remove[i].out);
					sw[b.remove[i].in] = OCS_NO_PORT;
					if (!lost)
						ocs_report(m, b.remove[i].in, true, now);
				}
				for (uint32_t i = 0; i < b.additions; i++) {
					bool ok = base_prng_below(&r, 5) > 0;
					for (uint32_t p = 0; p < PORTS;
					     p++) /* a port is in one circuit */
						assert_int_not_equal(sw[p], b.add[i].out);
					assert_int_equal(sw[b.add[i].in], OCS_NO_PORT);
					if (ok)
						sw[b.add[i].in] = b.add[i].out;
					if (!lost)
						ocs_report(m, b.add[i].in, ok, now);
				}
				if (lost)
					ocs_offline(m);
			}
			if (base_prng_below(&r, 4) == 0) {
				struct ocs_circuit have[PORTS];
				uint32_t n = 0;
				for (uint32_t p = 0; p < PORTS; p++)
					if (sw[p] != OCS_NO_PORT)
						have[n++] =
							(struct ocs_circuit){.in = p, .out = sw[p]};
				ocs_reconcile(m, have, n, now);
				for (uint32_t p = 0; p < PORTS; p++)
					if (ocs_at(m, p).state == OCS_REPORTED)
						ocs_light(m, p, base_prng_below(&r, 8) > 0, now);
				for (uint32_t p = 0; p < PORTS; p++) {
					enum ocs_state s = ocs_at(m, p).state;
					if (sw[p] == OCS_NO_PORT)
						assert_true(s == OCS_FREE || s == OCS_REQUESTED);
					else
						assert_int_equal(ocs_at(m, p).out, sw[p]);
				}
			}
			const char *why = ocs_check(m);
			if (why)
				fail_msg("seed %llu at %llu: %s", (unsigned long long)seed,
					 (unsigned long long)now, why);
		}
		free(m);
	}
}

/* Refused twice in a row, whoever is at the other end: left alone for a while, longer each time. */
static void
test_refused_ports(void **state)
{
	(void)state;
	struct ocs_matrix *m = fresh();
	uint64_t now = 1000000;
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t out = i == 0 ? 4 : 5; /* port 0 is the one */
		assert_int_equal(ocs_port_usable(m, 0, now), true);
		assert_int_equal(ocs_request(m, 0, out, 1, now), OCS_ERR_OK);
		batch(m, now);
		assert_int_equal(ocs_refuse(m, 0, now), OCS_ERR_OK);
		assert_int_equal(ocs_at(m, 0).state, OCS_FREE);
		if (i == 0)
			continue;
		assert_false(ocs_port_usable(m, 0, now));
		assert_int_equal(ocs_request(m, 0, 6, 1, now), OCS_ERR_DARK);
		assert_true(ocs_port_usable(m, 4, now));
		now += 2000000000ull << (i - 1);
	}
	/* One that is set ends that: the next refusal is the first. */
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(ocs_request(m, 0, 6, 1, now), OCS_ERR_OK);
		batch(m, now);
		if (i == 0) {
			assert_int_equal(ocs_report(m, 0, true, now), OCS_ERR_OK);
			assert_int_equal(ocs_light(m, 0, true, now), OCS_ERR_OK);
			assert_int_equal(ocs_release(m, 0, now), OCS_ERR_OK);
			batch(m, now);
			assert_int_equal(ocs_report(m, 0, true, now), OCS_ERR_OK);
		} else {
			assert_int_equal(ocs_refuse(m, 0, now), OCS_ERR_OK);
		}
	}
	assert_true(ocs_port_usable(m, 0, now));
	assert_int_equal(ocs_refuse(m, 0, now), OCS_ERR_UNKNOWN);
	assert_false(ocs_port_usable(m, PORTS, now));
	free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life_of_a_circuit),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_release_while_ordered),
		cmocka_unit_test(test_no_light),
		cmocka_unit_test(test_dark_ports_are_tried_again),
		cmocka_unit_test(test_blind_ports),
		cmocka_unit_test(test_refused_ports),
		cmocka_unit_test(test_reconcile),
		cmocka_unit_test(test_dark_is_not_taken_back),
		cmocka_unit_test(test_release_outlives_a_read_back),
		cmocka_unit_test(test_random_against_switch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
