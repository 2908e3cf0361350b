/* SPDX-License-Identifier: BSD-2-Clause */
/* The controller where two clusters may have several links: as many as are worth it, taken down one
 * by one, and nobody waits for more than the first. */
#include "cmocka_all.h"

#include "light_controller_kit.h"

#define LARGE (100ull << 20) /* many times gamma */

/* How many links the switch has lit between two relays. */
static uint32_t
between(const struct kit *k, uint32_t a, uint32_t b)
{
	uint32_t n = 0;
	for (uint32_t p = 2 * a; p < 2 * a + 2; p++)
		n += k->easy.out_of[p] != OCS_NO_PORT && k->easy.out_of[p] / 2 == b;
	return n;
}

static void
begin_links(struct kit *k, uint32_t links_max)
{
	kit_links_max = links_max;
	begin(k);
}

/* A large message has both ports, then the other one's; with one link a pair each has one. */
static void
both_ports_for_one(void **state)
{
	static const enum circ_mode modes[] = {CIRC_MODE_BATCHED, CIRC_MODE_PIPELINED,
					       CIRC_MODE_CACHED, CIRC_MODE_HYBRID};
	(void)state;
	for (size_t i = 0; i < 8; i++) {
		uint32_t links = 1 + (uint32_t)i / 4;
		struct kit k;
		begin_links(&k, links);
		call(&k, 0, KEY, 1, modes[i % 4], LARGE);
		turns(&k, 5);
		uint32_t first = k.go[0][1] ? 1 : 2;
		assert_int_equal(between(&k, 0, first), links);
		assert_int_equal(between(&k, 0, 3 - first), 2 - links);
		over(&k, KEY, 1, 0, first);
		turns(&k, 20);
		assert_int_equal(between(&k, 0, 3 - first), links);
		assert_int_equal(k.go[0][3 - first], 1);
		over(&k, KEY, 1, 0, 3 - first);
		turns(&k, 5);
		assert_int_equal(counters(&k)->by_light, 2);
		assert_int_equal(counters(&k)->extra_links, links == 1 ? 0 : 2);
		assert_int_equal(counters(&k)->misses, 2 * links);
		assert_null(light_controller_go_check(k.c));
		assert_int_equal(k.any, 0);
		finish(&k);
	}
}

/* A short message is over before a second link pays: each keeps a port of its own. */
static void
one_each_for_short_ones(void **state)
{
	struct kit k;
	(void)state;
	begin_links(&k, 2);
	call(&k, 0, KEY, 1, CIRC_MODE_PIPELINED, 1000);
	turns(&k, 5);
	assert_int_equal(between(&k, 0, 1), 1);
	assert_int_equal(between(&k, 0, 2), 1);
	assert_int_equal(counters(&k)->extra_links, 0);
	finish(&k);
}

/* The ends of one link do not find each other, be it the first or the second: the message goes by
 * the other, which stays. */
static void
one_of_two_fails(void **state)
{
	(void)state;
	for (uint32_t bad = 0; bad < 2; bad++) {
		struct kit k;
		begin_links(&k, 2);
		k.ends_answer = false;
		call(&k, 0, KEY, 1, CIRC_MODE_PIPELINED, LARGE);
		turns(&k, 5);
		assert_int_equal(k.ups, 4);
		assert_int_equal(k.go[0][1] + k.go[0][2], 0);
		uint32_t n = k.nsaid;
		k.nsaid = 0;
		for (uint32_t i = 0; i < n; i++) {
			bool fails = k.said[i][0] == k.said[0][0] ? bad == 0 : bad == 1;
			struct light_frame f = {.type = LIGHT_FRAME_LINK,
						.link = k.said[i][0],
						.slot = (uint8_t)k.said[i][1],
						.state = fails ? BASE_LIGHTPATH_FAILED
							       : BASE_LIGHTPATH_OPEN};
			heard(&k, k.said[i][2] & 255, f);
		}
		k.ends_answer = true;
		turns(&k, 5);
		assert_int_equal(between(&k, 0, 1), 1);
		assert_int_equal(between(&k, 0, 2), 1); /* the port is the next one's */
		assert_int_equal(k.go[0][1] + k.go[0][2], 2);
		assert_int_equal(counters(&k)->by_light, 2);
		assert_int_equal(counters(&k)->by_packets, 0);
		finish(&k);
	}
}

/* Of two links that are lit one is withdrawn: it is drained alone, the other stays and carries. */
static void
one_of_two_is_withdrawn(void **state)
{
	struct kit k;
	(void)state;
	begin_links(&k, 2);
	call(&k, 0, KEY, 1, CIRC_MODE_PIPELINED, LARGE);
	turns(&k, 5);
	uint32_t to = k.go[0][1] ? 1 : 2;
	assert_int_equal(between(&k, 0, to), 2);
	assert_true(light_controller_withdraw(k.c, 0, true, k.now_ns));
	turns(&k, 5);
	assert_int_equal(between(&k, 0, to), 1);
	assert_int_equal(k.easy.out_of[0], OCS_NO_PORT);
	assert_int_equal(k.downs, 2); /* of one link, at both ends */
	over(&k, KEY, 1, 0, to);
	turns(&k, 20);
	assert_int_equal(between(&k, 0, 3 - to), 1);
	assert_int_equal(k.go[0][3 - to], 1);
	assert_int_equal(counters(&k)->by_light, 2);
	finish(&k);
}

/* A broadcast among relays 0 and 1 alone, begun and over within a turn or two. */
static void
short_call(struct kit *k, uint32_t seq)
{
	const struct coll_algorithm *linear = coll_algorithm_of(COLL_BCAST, "linear");
	struct light_note n = {.kind = LIGHT_NOTE_CALL,
			       .u.call = {.comm = 2,
					  .seq = seq,
					  .op = COLL_BCAST,
					  .algorithm = linear->id,
					  .algorithm_version = linear->version,
					  .mode = CIRC_MODE_CACHED,
					  .bytes = 1000,
					  .elem = 1}};
	note(k, 0, KEY, &n);
	turns(k, 1);
	n = (struct light_note){
		.kind = LIGHT_NOTE_RECEIVED, .counts = 1, .u.count = {{2, 0, seq, 0, 1, 1}}};
	note(k, 1, KEY, &n);
}

/* Ports that nobody needs are lit for the calls behind; a link that is lost comes back so, though
 * no call is long enough to see it come. */
static void
a_link_comes_back(void **state)
{
	struct kit k;
	(void)state;
	begin_links(&k, 2);
	struct light_note pair = {.kind = LIGHT_NOTE_COMM,
				  .u.piece = {.comm = 2, .p = 2, .n = 2, .rank = {0, 1}}};
	note(&k, 0, KEY, &pair);
	for (uint32_t seq = 1; seq <= 4; seq++)
		short_call(&k, seq);
	turns(&k, 2);
	assert_int_equal(between(&k, 0, 1), 2);
	assert_int_equal(counters(&k)->misses, 2);
	assert_int_equal(counters(&k)->extra_links, 1);
	assert_true(light_controller_withdraw(k.c, 0, true, k.now_ns));
	turns(&k, 5);
	short_call(&k, 5);
	turns(&k, 2);
	assert_int_equal(between(&k, 0, 1), 1);
	assert_true(light_controller_withdraw(k.c, 0, false, k.now_ns));
	k.ends_answer = false; /* relays take their time */
	for (uint32_t seq = 6; seq <= 8; seq++)
		short_call(&k, seq);
	assert_int_equal(counters(&k)->misses, 3);
	k.ends_answer = true;
	turns(&k, 2);
	short_call(&k, 9);
	turns(&k, 2);
	assert_int_equal(between(&k, 0, 1), 2);
	assert_int_equal(counters(&k)->misses, 3); /* asked for once */
	assert_int_equal(counters(&k)->by_light, 9);
	assert_int_equal(counters(&k)->links_failed, 0);
	finish(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ports_for_one), cmocka_unit_test(one_each_for_short_ones),
		cmocka_unit_test(one_of_two_fails),   cmocka_unit_test(one_of_two_is_withdrawn),
		cmocka_unit_test(a_link_comes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
