/* SPDX-License-Identifier: BSD-2-Clause */
/* Who misbehaves, is too slow or vanishes, and what becomes of the job. */
#include "test_impi_golden.h"
#include "test_impi_rig.h"

static const struct {
	const char *name;
	size_t len;
	uint32_t server_mask;
	enum impi_err want;
	uint8_t bytes[64];
} strangers[] = {
	{"IMPI first", 12, 1, IMPI_ERR_ORDER, B(RANK(0))},
	{"COLL after AUTH", 20, 1, IMPI_ERR_ORDER, B(AUTH_NONE, HEAD('C', 'O', 'L', 'L', 4))},
	{"DONE after AUTH", 20, 1, IMPI_ERR_ORDER, B(AUTH_NONE, HEAD('D', 'O', 'N', 'E', 0))},
	{"AUTH twice", 24, 1, IMPI_ERR_ORDER, B(AUTH_NONE, AUTH_NONE)},
	{"garbage", 16, 1, IMPI_ERR_COMMAND, B('G', 'E', 'T', ' ', '/', ' ', 'H', 'T', 'T', 'P')},
	{"AUTH of 8", 8, 1, IMPI_ERR_LENGTH, B(HEAD('A', 'U', 'T', 'H', 8))},
	{"giant AUTH", 8, 1, IMPI_ERR_LENGTH, B('A', 'U', 'T', 'H', 0x7f, 255, 255, 255)},
	{"no common method", 12, 2, IMPI_ERR_AUTH, B(AUTH_NONE)},
	{"no method at all", 12, 3, IMPI_ERR_AUTH, B('A', 'U', 'T', 'H', U4(4), U4(0))},
	{"wrong key", 20, 2, IMPI_ERR_KEY, B(AUTH_KEY, 0, 0, 0, 0, 0, 0, 0x16, 0x2f)},
	{"half a key, wrong", 20, 3, IMPI_ERR_KEY, B(AUTH_KEY, 1, 0, 0, 0, 0, 0, 0x16, 0x2e)},
	{"rank 2 of 2", 24, 1, IMPI_ERR_RANK, B(AUTH_NONE, RANK(2))},
	{"rank -1", 24, 1, IMPI_ERR_RANK,
	 B(AUTH_NONE, HEAD('I', 'M', 'P', 'I', 4), 255, 255, 255, 255)},
	{"rank taken", 24, 1, IMPI_ERR_DUPLICATE, B(AUTH_NONE, RANK(0))},
};

static void
conformance_13_3_strangers_are_closed_and_the_job_waits_on(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
		for (size_t split = 0; split < strangers[i].len; split++) {
			rig_init(2, strangers[i].server_mask, 64);
			int good = open_conn(), bad = open_conn();
			if (strangers[i].server_mask & 2)
				send_bytes(good, join_key_0, sizeof join_key_0);
			else
				send_bytes(good, join_none_0, sizeof join_none_0);
			send_bytes(bad, strangers[i].bytes, split);
			send_bytes(bad, strangers[i].bytes + split, strangers[i].len - split);
			if (split == 0)
				print_message("%s: %s\n", strangers[i].name, r.close_err[bad].text);
			assert_true(r.is_closed[bad]);
			assert_int_equal(r.close_err[bad].code, strangers[i].want);
			assert_int_equal(r.closed, 1);
			assert_int_equal(impi_server_state(r.s), IMPI_SVS_GATHERING);
			assert_int_equal(impi_server_joined(r.s), 1);
			assert_int_equal(open_conn(), bad); /* its place is free again */
			rig_fini();
		}
}

static void
members_that_misbehave_end_the_job(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t len;
		uint8_t bytes[64];
		enum impi_err want;
	} cases[] = {
		{"AUTH again", 8, B(HEAD('A', 'U', 'T', 'H', 4)), IMPI_ERR_ORDER},
		{"rank again", 8, B(HEAD('I', 'M', 'P', 'I', 4)), IMPI_ERR_ORDER},
		{"FINI before DONE", 8, B(HEAD('F', 'I', 'N', 'I', 0)), IMPI_ERR_ORDER},
		{"label after DONE", 16,
		 B(HEAD('D', 'O', 'N', 'E', 0), HEAD('C', 'O', 'L', 'L', 8)), IMPI_ERR_ORDER},
		{"DONE with 4 bytes", 8, B(HEAD('D', 'O', 'N', 'E', 4)), IMPI_ERR_LENGTH},
		{"COLL of 3", 8, B(HEAD('C', 'O', 'L', 'L', 3)), IMPI_ERR_LENGTH},
		{"label 0", 12, B(HEAD('C', 'O', 'L', 'L', 4), U4(0)), IMPI_ERR_LABEL},
		{"label twice", 24,
		 B(HEAD('C', 'O', 'L', 'L', 4), U4(9), HEAD('C', 'O', 'L', 'L', 4), U4(9)),
		 IMPI_ERR_LABEL},
		{"more than the store", 8, B('C', 'O', 'L', 'L', 0, 1, 0, 5), IMPI_ERR_OVERSIZE},
		{"more than 64 MiB", 8, B('C', 'O', 'L', 'L', 4, 0, 0, 1), IMPI_ERR_LENGTH},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int all_here = 0; all_here < 2; all_here++) {
			rig_init(2, 1, 64);
			int a = open_conn(), b = open_conn(), c = open_conn();
			send_bytes(a, join_none_0, sizeof join_none_0);
			if (all_here)
				send_bytes(b, join_none_1, sizeof join_none_1);
			send_bytes(a, cases[i].bytes, cases[i].len);
			print_message("%s: %s\n", cases[i].name, r.job_err.text);
			assert_int_equal(r.failed, 1);
			assert_int_equal(r.job_err.code, IMPI_ERR_LOST);
			assert_int_equal(r.close_err[a].code, cases[i].want);
			assert_true(r.is_closed[a] && r.is_closed[b] && r.is_closed[c]);
			assert_int_equal(r.close_err[b].code, IMPI_ERR_LOST);
			assert_int_equal(impi_server_open_from(r.s, 0, "", 0), -1);
			assert_int_equal(drain(b, OUT), 0);
			rig_fini();
		}
}

static void
lost_clients_end_a_start_up(void **state)
{
	(void)state;
	for (size_t cut = 0; cut < sizeof golden_c2s_0; cut++) {
		rig_init(2, 1, 4096);
		open_conn();
		open_conn();
		send_bytes(1, golden_c2s_1, sizeof golden_c2s_1);
		send_bytes(0, golden_c2s_0, cut);
		drain_all(2);
		impi_server_eof(r.s, 0);
		run_events();
		bool joined = cut >= 24;
		assert_int_equal(r.failed, joined);
		assert_true(r.is_closed[0]);
		assert_int_equal(r.is_closed[1], joined);
		assert_int_equal(r.close_err[0].code, IMPI_ERR_EOF);
		assert_int_equal(impi_server_lost(r.s), 0);
		rig_fini();
	}
}

/* Reference 3.7: the others are served on, and the job has failed in the end; who does
 * not end is told by the end of its connection. */
static void
lost_clients_of_a_running_job_leave_the_others(void **state)
{
	(void)state;
	for (int how = 0; how < 6; how++) {
		bool taken = how & 1; /* were the last bytes, DONE, taken before? */
		rig_init(3, 1, 4096);
		static const uint8_t two[] = {AUTH_NONE, RANK(2), HEAD('D', 'O', 'N', 'E', 0)};
		for (int i = 0; i < 3; i++)
			open_conn();
		send_bytes(1, golden_c2s_1, sizeof golden_c2s_1);
		send_bytes(0, golden_c2s_0, sizeof golden_c2s_0);
		send_bytes(2, two, sizeof two);
		assert_int_equal(r.started, 1);
		if (taken)
			drain_all(3);
		if (how < 2)
			impi_server_eof(r.s, 1);
		else if (how < 4)
			send_bytes(1, "GET ", 4), send_bytes(1, "/ HT", 4);
		else
			send_bytes(1, two, 8);
		run_events();
		assert_true(r.is_closed[1]);
		assert_int_equal(r.close_err[1].code, how < 2	? IMPI_ERR_EOF
						      : how < 4 ? IMPI_ERR_COMMAND
								: IMPI_ERR_ORDER);
		assert_int_equal(impi_server_lost(r.s), 2);
		assert_int_equal(r.failed, 0);
		assert_true(!r.is_closed[0] && !r.is_closed[2]);
		assert_int_equal(impi_server_state(r.s), IMPI_SVS_RUNNING);
		drain_all(3);
		assert_memory_equal(r.out[0] + r.out_len[0] - 8, "DONE\0\0\0\0", 8);
		assert_memory_equal(r.out[2] + r.out_len[2] - 8, "DONE\0\0\0\0", 8);
		send_bytes(0, golden_fini, sizeof golden_fini);
		assert_int_equal(r.failed, 0);
		send_bytes(2, golden_fini, sizeof golden_fini);
		assert_int_equal(r.failed, 1);
		assert_int_equal(r.complete, 0);
		assert_int_equal(r.job_err.code, IMPI_ERR_LOST);
		assert_non_null(strstr(r.job_err.text, "client 1 was lost"));
		rig_fini();
	}
}

static void
the_grace_of_the_others_ends(void **state)
{
	(void)state;
	for (uint64_t grace = 0; grace <= 5 * SECOND; grace += 5 * SECOND) {
		rig_init(2, 1, 4096);
		r.cfg.loss_grace_ns = grace;
		r.s = impi_server_new(r.mem, &r.cfg);
		open_conn();
		open_conn();
		send_bytes(1, golden_c2s_1, sizeof golden_c2s_1);
		send_bytes(0, golden_c2s_0, sizeof golden_c2s_0);
		drain_all(2);
		assert_true(impi_server_expiry_ns(r.s) == UINT64_MAX);
		impi_server_eof(r.s, 1);
		run_events();
		assert_true(impi_server_expiry_ns(r.s) <= 7 * SECOND); /* it asks for the time */
		impi_server_tick(r.s, 7 * SECOND);
		if (grace > 0) {
			assert_true(impi_server_expiry_ns(r.s) == 7 * SECOND + grace);
			impi_server_tick(r.s, 7 * SECOND + grace - 1);
			run_events();
			assert_int_equal(r.failed, 0);
			assert_false(r.is_closed[0]);
			impi_server_tick(r.s, 7 * SECOND + grace);
		}
		run_events();
		assert_int_equal(r.failed, 1);
		assert_true(r.is_closed[0]);
		assert_int_equal(r.close_err[0].code, IMPI_ERR_LOST);
		assert_non_null(strstr(r.close_err[0].text, "client 1 was lost"));
		assert_true(impi_server_expiry_ns(r.s) == UINT64_MAX);
		rig_fini();
	}
}

static void
too_slow(void **state)
{
	(void)state;
	rig_init(2, 1, 64);
	assert_true(impi_server_expiry_ns(r.s) == UINT64_MAX);
	int a = impi_server_open_from(r.s, 0, "", 5);
	assert_true(impi_server_expiry_ns(r.s) == SECOND + 5);
	impi_server_rx(r.s, a, "AUTH", 4, SECOND); /* a trickle does not help a stranger */
	assert_true(impi_server_expiry_ns(r.s) == SECOND + 5);
	impi_server_tick(r.s, SECOND + 4);
	run_events();
	assert_int_equal(r.closed, 0);
	impi_server_tick(r.s, SECOND + 5);
	run_events();
	assert_int_equal(r.close_err[a].code, IMPI_ERR_TIMEOUT);
	assert_int_equal(r.failed, 0);
	/* a member may be silent between commands, not inside one */
	a = open_conn();
	impi_server_rx(r.s, a, join_none_0, sizeof join_none_0, 0);
	assert_true(impi_server_expiry_ns(r.s) == UINT64_MAX);
	impi_server_tick(r.s, 1000 * SECOND);
	impi_server_rx(r.s, a, "COLL", 4, 2000 * SECOND);
	assert_true(impi_server_expiry_ns(r.s) == 2001 * SECOND);
	impi_server_rx(r.s, a, "\0\0\0\10", 4, 2001 * SECOND - 1);
	assert_true(impi_server_expiry_ns(r.s) == 2002 * SECOND - 1);
	run_events();
	assert_int_equal(r.failed, 0);
	impi_server_tick(r.s, 2002 * SECOND);
	run_events();
	assert_int_equal(r.failed, 1);
	assert_int_equal(r.close_err[a].code, IMPI_ERR_TIMEOUT);
	rig_fini();
}

static void
start_up_that_stands_still_ends(void **state)
{
	(void)state;
	static const uint8_t label[] = {HEAD('C', 'O', 'L', 'L', 8), 0, 0, 0x14, 0, U4(7)};
	static const uint8_t done[] = {HEAD('D', 'O', 'N', 'E', 0)};
	static const char *const words[] = {
		"IMPI_C_TAGUB (0x1400) lacks client 1",
		"client 1 submits nothing and does not say DONE",
		"does not take the answers",
	};
	for (int how = 0; how < 3; how++) {
		static uint8_t big[12 + 70000] = {'C', 'O', 'L', 'L', 0, 1, 17, 116, 0, 0, 0, 9};
		rig_init_watched(2, 64, 1 << 17, 10 * SECOND);
		open_conn();
		open_conn();
		send_bytes(0, join_none_0, sizeof join_none_0);
		assert_true(impi_server_expiry_ns(r.s) == 60 * SECOND); /* of the stranger */
		impi_server_rx(r.s, 1, join_none_1, sizeof join_none_1, 5 * SECOND);
		assert_true(impi_server_expiry_ns(r.s) == 15 * SECOND);
		/* whatever is complete gives all the time again, bytes do not */
		impi_server_rx(r.s, 0, label, sizeof label, 6 * SECOND);
		assert_true(impi_server_expiry_ns(r.s) == 16 * SECOND);
		if (how == 1)
			impi_server_rx(r.s, 0, done, sizeof done, 6 * SECOND);
		if (how >= 1)
			impi_server_rx(r.s, 1, label, sizeof label, 6 * SECOND);
		if (how == 2) {
			for (int c = 0; c < 2; c++)
				impi_server_rx(r.s, c, big, sizeof big, 6 * SECOND);
			impi_server_rx(r.s, 0, done, sizeof done, 6 * SECOND);
			impi_server_rx(r.s, 1, done, sizeof done, 6 * SECOND);
			while (drain(0, OUT))
				r.out_len[0] = 0;
		}
		impi_server_tick(r.s, 7 * SECOND);
		if (how == 0)
			impi_server_rx(r.s, 1, "COL", 3, 15 * SECOND);
		uint64_t at = impi_server_expiry_ns(r.s);
		assert_true(at == (how == 2 ? 17 : 16) * SECOND);
		impi_server_tick(r.s, at - 1);
		run_events();
		assert_int_equal(r.failed, 0);
		impi_server_tick(r.s, at);
		run_events();
		print_message("%s\n", r.job_err.text);
		assert_int_equal(r.failed, 1);
		assert_int_equal(r.job_err.code, IMPI_ERR_TIMEOUT);
		assert_non_null(strstr(r.job_err.text, words[how]));
		assert_true(r.is_closed[0] && r.is_closed[1]);
		rig_fini();
	}
	/* a job that runs is not watched */
	rig_init_watched(2, 4096, 4096, 10 * SECOND);
	open_conn();
	open_conn();
	send_bytes(1, golden_c2s_1, sizeof golden_c2s_1);
	send_bytes(0, golden_c2s_0, sizeof golden_c2s_0);
	drain_all(2);
	impi_server_tick(r.s, SECOND);
	assert_true(impi_server_expiry_ns(r.s) == UINT64_MAX);
	rig_fini();
}

static void
strangers_are_bounded_and_members_find_room(void **state)
{
	(void)state;
	rig_init(32, 1, 64);
	for (int i = 0; i < IMPI_SERVER_STRANGERS_MAX; i++)
		assert_int_equal(open_conn(), i);
	assert_int_equal(open_conn(), -1);
	for (uint8_t i = 0; i < 32; i++) {
		uint8_t join[] = {AUTH_NONE, RANK(0)};
		join[23] = i;
		send_bytes(i, join, sizeof join);
		if (i < 31)
			assert_true(open_conn() >= 0);
		else
			assert_int_equal(r.sized, 1);
	}
	rig_fini();
}

/* 32 silent connections: the next one takes the place of the oldest. */
static void
the_oldest_stranger_makes_room(void **state)
{
	(void)state;
	rig_init(1, 1, 64);
	for (uint64_t i = 0; i < IMPI_SERVER_STRANGERS_MAX; i++) {
		assert_true(impi_server_room_ns(r.s) == 0);
		assert_int_equal(impi_server_open_from(r.s, 0, "", i), i);
	}
	assert_true(impi_server_room_ns(r.s) == IMPI_SERVER_STRANGER_GRACE_NS);
	assert_int_equal(impi_server_open_from(r.s, 0, "", IMPI_SERVER_STRANGER_GRACE_NS - 1), -1);
	run_events();
	assert_int_equal(r.closed, 0);
	assert_int_equal(impi_server_open_from(r.s, 0, "", IMPI_SERVER_STRANGER_GRACE_NS), -1);
	run_events();
	assert_int_equal(r.closed, 1);
	assert_true(r.is_closed[0]);
	assert_int_equal(r.close_err[0].code, IMPI_ERR_TIMEOUT);
	assert_true(impi_server_room_ns(r.s) == 0);
	assert_int_equal(impi_server_open_from(r.s, 0, "", IMPI_SERVER_STRANGER_GRACE_NS), 0);
	r.is_closed[0] = false;
	send_bytes(0, join_none_0, sizeof join_none_0);
	assert_int_equal(r.sized, 1);
	impi_server_eof(r.s, 0);
	run_events();
	assert_true(impi_server_room_ns(r.s) == UINT64_MAX);
	rig_fini();
}

/* A source that has every place keeps nobody else out, not even for the grace. */
static void
one_source_does_not_keep_others_out(void **state)
{
	(void)state;
	rig_init(1, 1, 64);
	for (int i = 0; i < IMPI_SERVER_STRANGERS_MAX; i++)
		assert_int_equal(impi_server_open_from(r.s, 666, "10.6.6.6:1", 0), i);
	assert_true(impi_server_room_ns(r.s) == 0);
	assert_int_equal(impi_server_open_from(r.s, 7, "10.0.0.7:1", 0), -1);
	run_events();
	assert_int_equal(r.closed, 1);
	assert_int_equal(impi_server_open_from(r.s, 7, "10.0.0.7:1", 0), 0);
	r.is_closed[0] = false;
	send_bytes(0, join_none_0, sizeof join_none_0);
	assert_int_equal(r.sized, 1);
	rig_fini();
}

/* Who wants a rank that is taken is told who has it. */
static void
the_holder_of_a_rank_is_named(void **state)
{
	(void)state;
	rig_init(2, 1, 64);
	assert_int_equal(impi_server_open_from(r.s, 1, "10.0.0.1:4711", 0), 0);
	send_bytes(0, join_none_0, sizeof join_none_0);
	assert_int_equal(impi_server_open_from(r.s, 2, "10.0.0.2:1", 0), 1);
	send_bytes(1, join_none_0, sizeof join_none_0);
	assert_int_equal(r.close_err[1].code, IMPI_ERR_DUPLICATE);
	assert_non_null(strstr(r.close_err[1].text, "client rank 0 is already taken by "
						    "10.0.0.1:4711"));
	rig_fini();
}

/* A launcher says that its client will not come: age in seconds, rank, at the server's time now. */
static void
say_gone(int conn, uint8_t rank, uint64_t age_s, uint64_t now_s)
{
	uint8_t cmd[IMPI_CMD_HDR_BYTES + IMPI_GONE_BYTES_MAX];
	uint32_t n = impi_gone_encode(cmd, age_s * SECOND, 8, "it\n ended");
	const uint8_t join[] = {AUTH_NONE, RANK(rank)};
	assert_int_equal(impi_server_open_from(r.s, 0, "", now_s * SECOND), conn);
	r.is_closed[conn] = false;
	send_bytes(conn, join, 12);
	send_bytes(conn, cmd, n);
	send_bytes(conn, join + 12, 12);
	assert_true(r.is_closed[conn]);
	assert_int_equal(r.close_err[conn].code, IMPI_ERR_LOST); /* no line in a log */
}

static void
tick_at(uint64_t ns)
{
	impi_server_tick(r.s, ns);
	run_events();
}

/* The others are told which client is missing and why, and the waiting has an end. */
static void
a_client_that_will_not_come_ends_the_waiting(void **state)
{
	(void)state;
	static const uint8_t told[] = {0,   0,	 0,   0,   0,	   0,	  0,   0,
				       'G', 'O', 'N', 'E', U4(13), U4(1), 'i', 't',
				       '?', ' ', 'e', 'n', 'd',	   'e',	  'd'};
	rig_init(2, 1, 4096);
	open_conn();
	send_bytes(0, join_none_0, sizeof join_none_0);
	say_gone(1, 1, 5, 3);
	tick_at(4 * SECOND);
	assert_int_equal(impi_server_expiry_ns(r.s), 4 * SECOND + IMPI_SERVER_GONE_NS);
	drain_all(1);
	assert_int_equal(r.out_len[0], sizeof told);
	assert_memory_equal(r.out[0], told, sizeof told);
	assert_int_equal(impi_server_state(r.s), IMPI_SVS_GATHERING);
	tick_at(4 * SECOND + IMPI_SERVER_GONE_NS);
	assert_int_equal(r.failed, 1);
	assert_true(r.is_closed[0]);
	assert_string_equal(r.job_err.text, "client 1 is gone before it joined: it? ended");
	rig_fini();
}

/* Not of who has joined, not of a job that runs, not by a launcher of the job before. */
static void
who_is_gone_is_not_believed_of_others(void **state)
{
	(void)state;
	static const struct {
		uint64_t began_s, age_s, now_s;
		uint8_t rank;
		bool believed;
	} cases[] = {
		{0, 100, 3, 1, true},	{0, 0, 3, 0, false},
		{10, 3, 20, 1, true},	{10, 9, 20, 1, true},
		{10, 10, 20, 1, false}, {10, 50, 20, 1, false},
		{10, 0, 20, 0, false},	{10, UINT64_MAX / SECOND, 20, 1, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		rig_init(2, 1, 4096);
		r.cfg.began_ns = cases[i].began_s * SECOND;
		r.s = impi_server_new(r.mem, &r.cfg);
		open_conn();
		send_bytes(0, join_none_0, sizeof join_none_0);
		say_gone(1, cases[i].rank, cases[i].age_s, cases[i].now_s);
		tick_at(30 * SECOND);
		tick_at(40 * SECOND);
		assert_int_equal(r.failed, cases[i].believed);
		if (!cases[i].believed) {
			open_conn();
			send_bytes(1, join_none_1, sizeof join_none_1);
			assert_int_equal(r.sized, 1);
		}
		rig_fini();
	}
}

/* With nobody there: the only job cannot come to be, of several the next clients are waited for. */
static void
who_is_gone_before_all(void **state)
{
	(void)state;
	for (uint64_t began = 0; began < 2; began++) {
		rig_init(2, 1, 4096);
		r.cfg.began_ns = began * SECOND;
		r.s = impi_server_new(r.mem, &r.cfg);
		say_gone(0, 1, 0, 3);
		tick_at(4 * SECOND);
		tick_at(5 * SECOND);
		assert_int_equal(r.failed, began == 0);
		rig_fini();
	}
}

/* Nobody without the key, once only, and nothing that is too long. */
static void
who_may_say_gone(void **state)
{
	(void)state;
	static const struct {
		size_t len;
		uint32_t mask;
		enum impi_err want;
		uint8_t bytes[64];
	} bad[] = {
		{16, 1, IMPI_ERR_ORDER, B(HEAD('G', 'O', 'N', 'E', 8), U4(0), U4(1))},
		{36, 2, IMPI_ERR_KEY, B(AUTH_KEY, HEAD('G', 'O', 'N', 'E', 8), U4(0), U4(1))},
		{20, 1, IMPI_ERR_LENGTH, B(AUTH_NONE, HEAD('G', 'O', 'N', 'E', 7))},
		{20, 1, IMPI_ERR_LENGTH, B(AUTH_NONE, HEAD('G', 'O', 'N', 'E', 104))},
		{36, 1, IMPI_ERR_ORDER,
		 B(AUTH_NONE, HEAD('G', 'O', 'N', 'E', 8), U4(0), U4(1),
		   HEAD('G', 'O', 'N', 'E', 8))},
		{24, 1, IMPI_ERR_ORDER, B(AUTH_NONE, RANK(1), HEAD('G', 'O', 'N', 'E', 8))},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		rig_init(3, bad[i].mask, 4096);
		open_conn();
		send_bytes(0, bad[i].bytes, bad[i].len);
		if (bad[i].len == 24) /* after its rank it is a member like any other */
			send_bytes(0, bad[i].bytes, 24);
		assert_true(r.is_closed[0]);
		assert_int_equal(r.close_err[0].code, bad[i].want);
		tick_at(SECOND / 2);
		rig_fini();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conformance_13_3_strangers_are_closed_and_the_job_waits_on),
		cmocka_unit_test(members_that_misbehave_end_the_job),
		cmocka_unit_test(lost_clients_end_a_start_up),
		cmocka_unit_test(lost_clients_of_a_running_job_leave_the_others),
		cmocka_unit_test(the_grace_of_the_others_ends),
		cmocka_unit_test(too_slow),
		cmocka_unit_test(start_up_that_stands_still_ends),
		cmocka_unit_test(strangers_are_bounded_and_members_find_room),
		cmocka_unit_test(the_oldest_stranger_makes_room),
		cmocka_unit_test(one_source_does_not_keep_others_out),
		cmocka_unit_test(the_holder_of_a_rank_is_named),
		cmocka_unit_test(a_client_that_will_not_come_ends_the_waiting),
		cmocka_unit_test(who_is_gone_is_not_believed_of_others),
		cmocka_unit_test(who_is_gone_before_all),
		cmocka_unit_test(who_may_say_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
