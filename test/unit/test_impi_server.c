/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/server.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmocka_all.h"
#include "test_impi_captured.h"
#include "test_impi_golden.h"
#include "test_impi_rig.h"

static void
send_split(int conn, const uint8_t *p, size_t len, size_t split)
{
	if (split > len)
		split = len;
	send_bytes(conn, p, split);
	drain_all(2);
	send_bytes(conn, p + split, len - split);
	drain_all(2);
}

static void
check_golden(void)
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(r.out_len[i], sizeof golden_s2c);
		assert_memory_equal(r.out[i], golden_s2c, sizeof golden_s2c);
	}
	assert_int_equal(r.started, 1);
	assert_int_equal(r.sized, 1);
	assert_int_equal(impi_server_state(r.s), IMPI_SVS_RUNNING);
	send_bytes(0, golden_fini, sizeof golden_fini);
	assert_int_equal(r.complete, 0);
	assert_true(r.is_closed[0] && r.close_err[0].code == IMPI_ERR_OK);
	send_bytes(1, golden_fini, sizeof golden_fini);
	assert_int_equal(r.complete, 1);
	assert_int_equal(r.closed, 2);
	assert_int_equal(r.failed, 0);
	assert_int_equal(impi_server_open_from(r.s, 0, "", 0), -1);
}

static void
conformance_13_1_server_replay_at_every_split(void **state)
{
	(void)state;
	for (size_t split = 0; split <= sizeof golden_c2s_0; split++) {
		rig_init(2, IMPI_AUTH_MASK_NONE, split % 2 ? 64 : 4096);
		assert_int_equal(open_conn(), 0);
		assert_int_equal(open_conn(), 1);
		if (split % 3) {
			send_split(0, golden_c2s_0, sizeof golden_c2s_0, split);
			send_split(1, golden_c2s_1, sizeof golden_c2s_1, split);
		} else {
			send_split(1, golden_c2s_1, sizeof golden_c2s_1, split);
			send_split(0, golden_c2s_0, sizeof golden_c2s_0, split);
		}
		check_golden();
		rig_fini();
	}
}

static void
conformance_13_1_server_replay_byte_by_byte(void **state)
{
	(void)state;
	for (size_t lag = 0; lag < 64; lag++) {
		rig_init(2, IMPI_AUTH_MASK_NONE, 64);
		open_conn();
		open_conn();
		for (size_t i = 0; i < sizeof golden_c2s_0 + lag; i++) {
			if (i < sizeof golden_c2s_0)
				send_bytes(0, golden_c2s_0 + i, 1);
			if (i >= lag && i - lag < sizeof golden_c2s_1)
				send_bytes(1, golden_c2s_1 + (i - lag), 1);
			drain(0, 3);
			drain(1, 1);
		}
		drain_all(2);
		check_golden();
		rig_fini();
	}
}

/* One client reads nothing until all has been sent: the other gets every
 * reply, and DONE only when the slow one's replies are on their way. */
static void
slow_reader_holds_its_own_replies_only(void **state)
{
	(void)state;
	rig_init(2, IMPI_AUTH_MASK_NONE, 64);
	open_conn();
	open_conn();
	send_bytes(0, golden_c2s_0, sizeof golden_c2s_0);
	send_bytes(1, golden_c2s_1, sizeof golden_c2s_1);
	while (drain(0, OUT) > 0)
		;
	assert_int_equal(r.out_len[0], sizeof golden_s2c - 8);
	while (drain(1, 5) > 0 && r.out_len[1] < 60)
		drain(0, OUT);
	assert_int_equal(r.out_len[0], sizeof golden_s2c - 8);
	drain_all(2);
	check_golden();
	rig_fini();
}

/* Labels only some submit are answered when the rest has said DONE, to those who
 * submitted them; the server does not care what labels mean. */
static void
labels_of_some_clients(void **state)
{
	(void)state;
	static const uint8_t a_says[] = {AUTH_NONE,
					 RANK(0),
					 HEAD('C', 'O', 'L', 'L', 6),
					 U4(77),
					 0xaa,
					 0xbb,
					 HEAD('C', 'O', 'L', 'L', 4),
					 U4(78),
					 HEAD('D', 'O', 'N', 'E', 0)};
	static const uint8_t b_joins[] = {AUTH_NONE, RANK(1), HEAD('C', 'O', 'L', 'L', 5), U4(78),
					  0xcc};
	static const uint8_t b_done[] = {HEAD('D', 'O', 'N', 'E', 0)};
	static const uint8_t want_a[] = {0,
					 0,
					 0,
					 0,
					 0,
					 0,
					 0,
					 0,
					 HEAD('I', 'M', 'P', 'I', 4),
					 U4(2),
					 HEAD('C', 'O', 'L', 'L', 9),
					 U4(78),
					 U4(3),
					 0xcc,
					 HEAD('C', 'O', 'L', 'L', 10),
					 U4(77),
					 U4(1),
					 0xaa,
					 0xbb,
					 HEAD('D', 'O', 'N', 'E', 0)};
	static const uint8_t want_b[] = {0,
					 0,
					 0,
					 0,
					 0,
					 0,
					 0,
					 0,
					 HEAD('I', 'M', 'P', 'I', 4),
					 U4(2),
					 HEAD('C', 'O', 'L', 'L', 9),
					 U4(78),
					 U4(3),
					 0xcc,
					 HEAD('D', 'O', 'N', 'E', 0)};
	rig_init(2, 1, 4096);
	open_conn();
	open_conn();
	send_bytes(0, a_says, sizeof a_says);
	send_bytes(1, b_joins, sizeof b_joins);
	drain_all(2);
	assert_int_equal(r.out_len[0], 8 + 12 + 17);
	send_bytes(1, b_done, sizeof b_done);
	drain_all(2);
	assert_int_equal(r.out_len[0], sizeof want_a);
	assert_memory_equal(r.out[0], want_a, sizeof want_a);
	assert_int_equal(r.out_len[1], sizeof want_b);
	assert_memory_equal(r.out[1], want_b, sizeof want_b);
	rig_fini();
}

static void
label_table_is_bounded(void **state)
{
	(void)state;
	rig_init(1, 1, 64);
	open_conn();
	send_bytes(0, join_none_0, sizeof join_none_0);
	for (uint8_t i = 1; i <= 64; i++) {
		uint8_t coll[] = {HEAD('C', 'O', 'L', 'L', 4), U4(0)};
		coll[11] = i;
		send_bytes(0, coll, sizeof coll);
		assert_int_equal(r.failed, 0);
	}
	uint8_t coll[] = {HEAD('C', 'O', 'L', 'L', 4), U4(65)};
	send_bytes(0, coll, sizeof coll);
	assert_int_equal(r.failed, 1);
	assert_int_equal(r.close_err[0].code, IMPI_ERR_OVERSIZE);
	rig_fini();
}

/* A store holds what waits, not what was ever sent. */
static void
answered_values_make_room(void **state)
{
	(void)state;
	rig_init_mem(1, (struct impi_auth){1, 0}, 4096, 128);
	open_conn();
	send_bytes(0, join_none_0, sizeof join_none_0);
	for (uint8_t i = 1; i <= 20; i++) {
		uint8_t coll[12 + 100] = {HEAD('C', 'O', 'L', 'L', 104), U4(0)};
		coll[11] = i;
		memset(coll + 12, i, 100);
		send_bytes(0, coll, sizeof coll);
		drain_all(1);
		assert_int_equal(r.failed, 0);
		assert_int_equal(r.out_len[0], 20 + (size_t)i * 116);
		assert_int_equal(r.out[0][r.out_len[0] - 1], i);
	}
	rig_fini();
}

static void
captured_clients_get_the_captured_answers(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int nclients;
		uint32_t mask;
	} cases[] = {{"01-p2p-barrier-bcast-2x2", 2, 1},
		     {"02-same-own-server-2x2", 2, 1},
		     {"03-keyauth-1x1", 2, 3},
		     {"10-three-clients-2x1x2", 3, 1}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static uint8_t c2s[3][4096], s2c[4096];
		size_t len[3] = {0};
		char name[128];
		rig_init((uint32_t)cases[i].nclients, cases[i].mask, 64);
		for (int c = 0; c < cases[i].nclients; c++) {
			snprintf(name, sizeof name, "%s.client%d.c2s", cases[i].name, c);
			print_message("%s\n", name);
			len[c] = captured_read(name, c2s[c], sizeof c2s[c]);
			assert_int_equal(open_conn(), c);
			send_bytes(c, c2s[c], len[c] - 8); /* all but FINI */
		}
		drain_all(cases[i].nclients);
		for (int c = 0; c < cases[i].nclients; c++) {
			snprintf(name, sizeof name, "%s.client%d.s2c", cases[i].name, c);
			size_t want_len = captured_read(name, s2c, sizeof s2c);
			assert_int_equal(r.out_len[c], want_len);
			assert_memory_equal(r.out[c], s2c, want_len);
		}
		for (int c = 0; c < cases[i].nclients; c++)
			send_bytes(c, c2s[c] + len[c] - 8, 8);
		assert_int_equal(r.complete, 1);
		rig_fini();
	}
}

static void
bad_configurations_have_no_footprint(void **state)
{
	(void)state;
	struct impi_server_config good = {.nclients = 1,
					  .auth = {1, 0},
					  .join_timeout_ns = 1,
					  .store_bytes = 64,
					  .tx_bytes = 64},
				  c;
	assert_true(impi_server_footprint(&good) > 0);
	c = good, c.nclients = 0;
	assert_int_equal(impi_server_footprint(&c), 0);
	c = good, c.nclients = 33;
	assert_int_equal(impi_server_footprint(&c), 0);
	c = good, c.auth.mask = 0;
	assert_int_equal(impi_server_footprint(&c), 0);
	c = good, c.join_timeout_ns = 0;
	assert_int_equal(impi_server_footprint(&c), 0);
	c = good, c.tx_bytes = 63;
	assert_int_equal(impi_server_footprint(&c), 0);
	impi_server_end(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conformance_13_1_server_replay_at_every_split),
		cmocka_unit_test(conformance_13_1_server_replay_byte_by_byte),
		cmocka_unit_test(slow_reader_holds_its_own_replies_only),
		cmocka_unit_test(labels_of_some_clients),
		cmocka_unit_test(label_table_is_bounded),
		cmocka_unit_test(answered_values_make_room),
		cmocka_unit_test(captured_clients_get_the_captured_answers),
		cmocka_unit_test(bad_configurations_have_no_footprint),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
