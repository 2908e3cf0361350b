/* SPDX-License-Identifier: BSD-2-Clause */
/* The controller where wavelengths are fewer than ports: lit_max of one job, and of two. */
#include "cmocka_all.h"

#include "light_controller_kit.h"

/* Links that the switch has lit: a circuit each way. */
static uint32_t
lit_links(const struct kit *k)
{
	uint32_t n = 0;
	for (uint32_t p = 0; p < EASY_PORTS; p++)
		n += k->easy.out_of[p] != OCS_NO_PORT;
	assert_int_equal(n % 2, 0);
	return n / 2;
}

/* Two ports at each relay and light for one link: the second waits for the first. */
static void
one_link_at_a_time(void **state)
{
	static const enum circ_mode modes[] = {CIRC_MODE_NAIVE, CIRC_MODE_BATCHED,
					       CIRC_MODE_PIPELINED, CIRC_MODE_CACHED};
	(void)state;
	for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
		struct kit k;
		begin_limited(&k, 2, 10, 1, AGENTS);
		call(&k, 0, KEY, 1, modes[i], 1000);
		turns(&k, 5);
		assert_int_equal(lit_links(&k), 1);
		assert_int_equal(k.go[0][1] + k.go[0][2], 1);
		uint32_t first = k.go[0][1] ? 1 : 2;
		over(&k, KEY, 1, 0, first);
		turns(&k, 10);
		assert_int_equal(lit_links(&k), 1);
		assert_int_equal(k.go[0][3 - first], 1);
		over(&k, KEY, 1, 0, 3 - first);
		turns(&k, 5);
		assert_true(lit_links(&k) <= 1);
		assert_int_equal(counters(&k)->by_light, 2);
		assert_int_equal(k.any, 0);
		finish(&k);
	}
}

static void
no_limit_lights_both(void **state)
{
	struct kit k;
	(void)state;
	begin_limited(&k, 2, 10, 0, AGENTS);
	call(&k, 0, KEY, 1, CIRC_MODE_CACHED, 1000);
	turns(&k, 5);
	assert_int_equal(lit_links(&k), 2);
	finish(&k);
}

/* A job of relays 3 and 4, as its clients 0 and 1. */
static void
other_job(struct kit *k)
{
	static const uint8_t clients[] = {0, 1};
	uint8_t bytes[LIGHT_NOTE_MAX];
	struct light_note n = {.kind = LIGHT_NOTE_COMM,
			       .u.piece = {.comm = 1, .p = 2, .n = 2, .rank = {0, 1}}};
	for (uint8_t i = 0; i < 2; i++)
		heard(k, 3u + i,
		      (struct light_frame){.type = LIGHT_FRAME_JOB, .key = KEY + 1, .client = i});
	heard(k, 3,
	      (struct light_frame){.type = LIGHT_FRAME_NOTE,
				   .key = KEY + 1,
				   .note = bytes,
				   .note_len = (uint16_t)light_note_encode(&n, bytes),
				   .clients = clients,
				   .nclients = 2});
}

/* What one job has the other has not: it goes by packets, at once, until the first makes room. */
static void
jobs_share_the_light(void **state)
{
	struct kit k;
	(void)state;
	begin_limited(&k, 2, 10, 1, 3);
	other_job(&k);
	call(&k, 0, KEY, 1, CIRC_MODE_CACHED, 1000);
	turns(&k, 3);
	assert_int_equal(lit_links(&k), 1);
	call(&k, 3, KEY + 1, 1, CIRC_MODE_CACHED, 1000);
	turns(&k, 1);
	assert_string_equal(k.text, "no wavelength is left");
	assert_int_equal(counters(&k)->calls, 1);
	assert_int_equal(k.any, 2);
	over(&k, KEY, 1, 0, 1);
	turns(&k, 10);
	over(&k, KEY, 1, 0, 2);
	turns(&k, 250); /* its slice is over, and it leaves */
	assert_int_equal(lit_links(&k), 0);
	call(&k, 3, KEY + 1, 2, CIRC_MODE_CACHED, 1000);
	turns(&k, 5);
	assert_int_equal(counters(&k)->calls, 2);
	assert_int_equal(lit_links(&k), 1);
	/* And back. */
	call(&k, 0, KEY, 2, CIRC_MODE_CACHED, 1000);
	turns(&k, 1);
	assert_string_equal(k.text, "no wavelength is left");
	finish(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_link_at_a_time),
		cmocka_unit_test(no_limit_lights_both),
		cmocka_unit_test(jobs_share_the_light),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
