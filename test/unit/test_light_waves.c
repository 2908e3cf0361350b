/* SPDX-License-Identifier: BSD-2-Clause */
/* The controller where wavelengths are fewer than ports: lit_max and groups, of one job, of two. */
#include "cmocka_all.h"

#include "light_controller_kit.h"

/* Ports 2 n and 2 n + 1 are those of relay n. */
static const uint32_t one_wave[] = {1, 1};
static const uint32_t of_all[EASY_PORTS] = {0};
static const uint32_t of_root[EASY_PORTS] = {0, 0, 2, 2, 2, 2, 2, 2, 2, 2};
static const uint32_t of_both_ends[EASY_PORTS] = {0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
static const uint32_t of_leaf[EASY_PORTS] = {2, 2, 1, 1, 2, 2, 2, 2, 2, 2};
static const uint32_t through_root[EASY_PORTS] = {0, 1, 2, 2, 2, 2, 2, 2, 2, 2};

/* Light for one link of a broadcast from relay 0, and of what there is of other relays. */
static const struct kit_limits for_one[] = {
	{.lit_max = 1},
	{0, 1, of_all, one_wave},
	{0, 2, of_root, one_wave},
	{0, 2, of_both_ends, one_wave},
	{4, 1, of_all, one_wave},
};

/* Two ports at each relay and light for one link: the second waits for the first. */
static void
one_link_at_a_time(void **state)
{
	static const enum circ_mode modes[] = {CIRC_MODE_NAIVE, CIRC_MODE_BATCHED,
					       CIRC_MODE_PIPELINED, CIRC_MODE_CACHED};
	(void)state;
	for (size_t i = 0; i < 4 * sizeof for_one / sizeof for_one[0]; i++) {
		struct kit k;
		begin_under(&k, 2, 10, &for_one[i / 4], AGENTS);
		call(&k, 0, KEY, 1, modes[i % 4], 1000);
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
	/* Each link is the only one in its group. */
	begin_under(&k, 2, 10, &(struct kit_limits){0, 2, of_leaf, one_wave}, AGENTS);
	call(&k, 0, KEY, 1, CIRC_MODE_CACHED, 1000);
	turns(&k, 5);
	assert_int_equal(lit_links(&k), 2);
	finish(&k);
}

/* A relay in two groups counts under neither: it has no light, and its calls go on. */
static void
a_relay_in_two_groups(void **state)
{
	struct kit k;
	(void)state;
	begin_under(&k, 2, 10, &(struct kit_limits){0, 2, through_root, one_wave}, AGENTS);
	assert_string_equal(k.agent_text, LIGHT_TEXT_GROUPS);
	call(&k, 0, KEY, 1, CIRC_MODE_CACHED, 1000);
	turns(&k, 5);
	assert_int_equal(lit_links(&k), 0);
	assert_int_equal(k.go[0][1], 1);
	assert_int_equal(k.go[0][2], 1);
	assert_int_equal(counters(&k)->by_packets, 2);
	assert_int_equal(k.offers, AGENTS - 1);
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
jobs_share(const struct kit_limits *limits)
{
	struct kit k;
	begin_under(&k, 2, 10, limits, 3);
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

static void
jobs_share_the_light(void **state)
{
	(void)state;
	jobs_share(&(struct kit_limits){.lit_max = 1});
	jobs_share(&(struct kit_limits){0, 1, of_all, one_wave});
}

/* Who has waited gets the light that another gives up, be that one the first to call again. */
static void
who_waits_is_next(void **state)
{
	struct kit k;
	(void)state;
	begin_under(&k, 2, 10, &(struct kit_limits){0, 1, of_all, one_wave}, 3);
	other_job(&k);
	call(&k, 0, KEY, 1, CIRC_MODE_CACHED, 1000);
	turns(&k, 3);
	call(&k, 3, KEY + 1, 1, CIRC_MODE_CACHED, 1000);
	turns(&k, 1);
	assert_string_equal(k.text, "no wavelength is left");
	over(&k, KEY, 1, 0, 1);
	turns(&k, 10);
	over(&k, KEY, 1, 0, 2);
	turns(&k, 250);
	k.text = NULL;
	call(&k, 0, KEY, 2, CIRC_MODE_CACHED, 1000);
	turns(&k, 3);
	assert_string_equal(k.text, "no wavelength is left");
	call(&k, 3, KEY + 1, 2, CIRC_MODE_CACHED, 1000);
	turns(&k, 5);
	assert_int_equal(counters(&k)->calls, 2);
	assert_int_equal(lit_links(&k), 1);
	finish(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_link_at_a_time),	 cmocka_unit_test(no_limit_lights_both),
		cmocka_unit_test(a_relay_in_two_groups), cmocka_unit_test(jobs_share_the_light),
		cmocka_unit_test(who_waits_is_next),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
