/* SPDX-License-Identifier: BSD-2-Clause */
/* Hello data and notes of doc/job-setup.md and doc/wire.md: golden bytes, which are written from
 * there and not from the encoder, round trips, what is refused. */
#include "cmocka_all.h"

#include "relayproto/door.h"
#include "relayproto/hello.h"
#include "relayproto/note.h"

#include <limits.h>
#include <string.h>

static const uint8_t hello_golden[24] = {'S',  'H',  1,	   1,	 0xde, 0xad, 0xbe, 0xef,
					 0x01, 0x00, 0x00, 0x43, 0x00, 0x00, 0x00, 0x03,
					 0x05, 0xc0, 0,	   0,	 0x12, 0x34, 0x56, 0x78};

static void
hello_golden_both_ways(void **state)
{
	(void)state;
	struct relay_hello h = {.kind = RELAY_HELLO_PROCESS,
				.token = 0x12345678deadbeef,
				.label = 0x01000043,
				.rank = 3,
				.mtu = 1472};
	uint8_t out[RELAY_HELLO_LEN];
	relay_hello_encode(&h, out);
	assert_memory_equal(out, hello_golden, sizeof out);
	struct relay_hello back;
	assert_int_equal(relay_hello_decode(hello_golden, 24, &back), 0);
	assert_int_equal(back.token, h.token);
	assert_int_equal(back.label, h.label);
	assert_int_equal(back.rank, h.rank);
	assert_int_equal(back.mtu, h.mtu);
	out[3] = RELAY_HELLO_GATEWAY;
	assert_int_equal(relay_hello_decode(out, 24, &back), 0);
	assert_int_equal(back.kind, RELAY_HELLO_GATEWAY);
}

static void
hello_says_that_a_job_survives(void **state)
{
	struct relay_hello h = {.kind = RELAY_HELLO_PROCESS, .rank = 1, .survives = true}, back;
	uint8_t out[RELAY_HELLO_LEN];

	(void)state;
	relay_hello_encode(&h, out);
	assert_int_equal(out[18], 1);
	assert_int_equal(relay_hello_decode(out, sizeof out, &back), 0);
	assert_true(back.survives);
	/* Other bits are of later versions. */
	out[18] = 0xfe;
	assert_int_equal(relay_hello_decode(out, sizeof out, &back), 0);
	assert_false(back.survives);
}

static void
hello_bad_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int at, value;
		size_t len;
	} cases[] = {
		{"short", 0, 'S', 23}, {"empty", 0, 'S', 0}, {"magic", 1, 'X', 24},
		{"version", 2, 2, 24}, {"kind 0", 3, 0, 24}, {"kind 3", 3, 3, 24},
		{"kind 6", 3, 6, 24},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		print_message("%s\n", cases[i].name);
		uint8_t in[24];
		struct relay_hello h = {.token = 42};
		memcpy(in, hello_golden, 24);
		in[cases[i].at] = (uint8_t)cases[i].value;
		assert_int_equal(relay_hello_decode(in, cases[i].len, &h),
				 RELAYPROTO_ERR_MALFORMED);
		assert_int_equal(h.token, 42);
	}
}

/* A vector that shell tools or another language can check; a token of 32 bits is said as it is. */
static void
token_for_each_label(void **state)
{
	(void)state;
	assert_int_equal(relay_hello_token(0x12345678deadbeef, 0x01000043), 0x785d032c868c93b1);
	assert_int_not_equal(relay_hello_token(0x12345678deadbeef, 0x01000044),
			     relay_hello_token(0x12345678deadbeef, 0x01000043));
	assert_int_equal(relay_hello_token(0xdeadbeef, 0x01000043), 0xdeadbeef);
	assert_int_equal(relay_hello_token(0, 0), 0);
}

static void
list_golden_and_bad(void **state)
{
	(void)state;
	static const uint8_t golden[] = {4, 0, 0,  0,  16,  0, 0, 0xab, 0xcd, 1,   0, 0xff,
					 2, 0, 10, 10, 0,   0, 1, 30,	132,  100, 0, 10,
					 0, 0, 2,  30, 132, 0, 1, 2,	0,    2,   2, 9};
	struct relay_list l, back;
	uint8_t out[RELAY_LIST_MAX];
	assert_int_equal(relay_list_decode(golden, sizeof golden, &l), 0);
	assert_int_equal(l.label_base, 16);
	assert_int_equal(l.token, 0xabcd);
	assert_int_equal(l.client, 1);
	assert_int_equal(l.own, RELAY_LIST_NONE);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.partition_s, 10);
	assert_int_equal(l.relay[0].ipv4, 0x0a000001);
	assert_int_equal(l.relay[0].port, 7812);
	assert_int_equal(l.relay[0].weight, 100);
	assert_int_equal(l.relay[1].flags, RELAY_LIST_LOST);
	assert_int_equal(l.npolicies, 2);
	assert_int_equal(l.policy[0].policy, RELAY_POLICY_STRIPE);
	assert_int_equal(l.policy[1].policy, RELAY_POLICY_DEST); /* 9 is none we know */
	assert_int_equal(relay_list_encode(&l, out), sizeof golden);
	assert_memory_equal(out, golden, sizeof golden - 1);
	for (size_t len = 0; len < sizeof golden; len++)
		assert_int_equal(relay_list_decode(golden, len, &back), RELAYPROTO_ERR_MALFORMED);
	static const struct {
		const char *name;
		size_t at;
		uint8_t value;
	} bad[] = {{"client", 9, 32},
		   {"self", 10, 2},
		   {"own", 11, 2},
		   {"n", 12, 33},
		   {"policies", 31, 33}};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		uint8_t in[sizeof golden];
		print_message("%s\n", bad[i].name);
		memcpy(in, golden, sizeof in);
		in[bad[i].at] = bad[i].value;
		assert_int_equal(relay_list_decode(in, sizeof in, &l), RELAYPROTO_ERR_MALFORMED);
	}
}

/* What a later version may say does not cost the rest of the list. */
static void
list_of_a_later_version(void **state)
{
	(void)state;
	static const uint8_t in[] = {
		4,  0, 0, 0,   16,   1,	   2,	3,
		4,  0, 1, 0,   2,    0,	   60,	   /* base token client self own n s */
		10, 0, 0, 254, 0x1b, 0x58, 7,	0, /* relay 0 */
		10, 0, 0, 253, 0x1b, 0x59, 200, 1, /* relay 1: too much of a weight */
		3,  1, 2, 2,   9,    40,   1,	   /* client 1 stripe, 2: unknown, 40: none */
		99,				   /* behind the note */
	};
	struct relay_list l;
	assert_int_equal(relay_list_decode(in, sizeof in, &l), 0);
	assert_int_equal(l.relay[0].weight, 7);
	assert_int_equal(l.relay[1].weight, RELAY_WEIGHT_MAX);
	assert_int_equal(l.npolicies, 2);
	assert_int_equal(l.policy[0].client, 1);
	assert_int_equal(l.policy[0].policy, RELAY_POLICY_STRIPE);
	assert_int_equal(l.policy[1].client, 2);
	assert_int_equal(l.policy[1].policy, RELAY_POLICY_DEST);
	uint8_t none[sizeof in];
	memcpy(none, in, sizeof in);
	none[12] = 0; /* a list names its sender at least */
	none[10] = 0;
	assert_int_equal(relay_list_decode(none, sizeof none, &l), RELAYPROTO_ERR_MALFORMED);
}

/* To a process with IPv6 alone: where they are. */
static void
list_with_places(void **state)
{
	(void)state;
	uint8_t in[] = {4,  0,	0, 0, 16, 0,  0,   0xab, 0xcd, 1, 0, 0xff, 1, 0,
			10, 10, 0, 0, 1,  30, 132, 100,	 0,    0, 6, 0xfd, 0, 0,
			0,  0,	0, 0, 0,  0,  0,   0,	 0,    0, 0, 0,	   7};
	struct relay_list l;
	uint8_t out[RELAY_LIST_MAX];
	assert_int_equal(relay_list_decode(in, sizeof in, &l), 0);
	assert_true(l.places);
	assert_memory_equal(l.place[0], in + sizeof in - 16, 16);
	assert_int_equal(relay_list_encode(&l, out), sizeof in);
	assert_memory_equal(out, in, sizeof in);
	for (size_t cut = 1; cut < 17; cut++)
		assert_int_equal(relay_list_decode(in, sizeof in - cut, &l),
				 RELAYPROTO_ERR_MALFORMED);
	/* Without them it is as ever, and so is what is none. */
	assert_int_equal(relay_list_decode(in, sizeof in - 17, &l), 0);
	assert_false(l.places);
	in[sizeof in - 17] = 4;
	assert_int_equal(relay_list_decode(in, sizeof in, &l), 0);
	assert_false(l.places);
	/* The longest is a note. */
	l = (struct relay_list){
		.n = RELAY_GROUP_MAX, .npolicies = RELAY_LIST_POLICIES, .places = true};
	assert_int_equal(relay_list_encode(&l, out), RELAY_LIST_MAX);
	assert_true(RELAY_LIST_MAX <= 1024);
}

static void
ways_and_lost(void **state)
{
	(void)state;
	static const uint8_t ways_golden[] = {5, 0, 0, 0, 16, 0, 0, 0, 7, 0x80, 0,
					      0, 1, 0, 0, 0,  2, 0, 0, 4, 0};
	static const uint8_t lost_golden[] = {6, 1, 0, 0, 0, 10, 0, 0, 7, 0x1b, 0x58, 1};
	struct relay_note n;
	uint8_t note[RELAY_NOTE_MAX];
	struct relay_note ways = {.type = RELAY_NOTE_WAYS,
				  .label_base = 16,
				  .token = 7,
				  .ways = 0x80000001,
				  .resend = 2,
				  .lit = 0x400};
	size_t len = relay_note_encode(&ways, note);
	assert_int_equal(len, sizeof ways_golden);
	assert_memory_equal(note, ways_golden, len);
	assert_int_equal(relay_note_decode(note, len - 5, &n), RELAYPROTO_ERR_MALFORMED);
	/* Older senders say nothing of light. */
	assert_int_equal(relay_note_decode(note, len - 4, &n), 0);
	assert_int_equal(n.lit, 0);
	assert_int_equal(n.resend, 2);
	assert_int_equal(relay_note_decode(note, len, &n), 0);
	assert_int_equal(n.lit, 0x400);
	assert_int_equal(n.ways, 0x80000001);
	assert_int_equal(n.resend, 2);
	assert_int_equal(n.token, 7);
	struct relay_note lost = {.type = RELAY_NOTE_LOST,
				  .label_base = 1u << 24,
				  .ipv4 = 0x0a000007,
				  .port = 7000,
				  .lost = true};
	len = relay_note_encode(&lost, note);
	assert_int_equal(len, sizeof lost_golden);
	assert_memory_equal(note, lost_golden, len);
	assert_int_equal(relay_note_decode(note, len - 1, &n), RELAYPROTO_ERR_MALFORMED);
	assert_int_equal(relay_note_decode(note, len, &n), 0);
	assert_true(n.lost && n.ipv4 == 0x0a000007 && n.port == 7000);
}

static void
note_of_deaths(void **state)
{
	(void)state;
	static const uint8_t golden[] = {9, 0, 0, 0, 16, 0, 0, 0, 7, 0, 0, 1, 2, 0, 0, 0, 3};
	static const uint8_t beyond[] = {9,    0,    0,	   0,	 16, 0, 0, 0, 7,
					 0xff, 0xff, 0xff, 0xff, 0,  0, 0, 1};
	struct relay_note n, death = {.type = RELAY_NOTE_DEATH,
				      .label_base = 16,
				      .token = 7,
				      .first = 0x102,
				      .count = 3};
	uint8_t note[RELAY_NOTE_MAX];
	size_t len = relay_note_encode(&death, note);
	assert_int_equal(len, sizeof golden);
	assert_memory_equal(note, golden, len);
	assert_int_equal(relay_note_decode(note, len - 1, &n), RELAYPROTO_ERR_MALFORMED);
	assert_int_equal(relay_note_decode(beyond, sizeof beyond, &n), RELAYPROTO_ERR_MALFORMED);
	assert_int_equal(relay_note_decode(note, len, &n), 0);
	assert_true(n.token == 7 && n.first == 0x102 && n.count == 3);
}

static void
note_of_rest(void **state)
{
	(void)state;
	static const uint8_t golden[] = {10, 0, 0, 0, 16, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 1, 2};
	struct relay_note n, rest = {.type = RELAY_NOTE_REST,
				     .label_base = 16,
				     .token = 7,
				     .say = 1,
				     .number = 0x102};
	uint8_t note[RELAY_NOTE_MAX];
	size_t len = relay_note_encode(&rest, note);
	assert_int_equal(len, sizeof golden);
	assert_memory_equal(note, golden, len);
	assert_int_equal(relay_note_decode(note, len - 1, &n), RELAYPROTO_ERR_MALFORMED);
	assert_int_equal(relay_note_decode(note, len, &n), 0);
	assert_true(n.token == 7 && n.say == 1 && n.number == 0x102);
}

static void
note_golden_and_bad(void **state)
{
	(void)state;
	static const uint8_t golden[] = {1, 0x01, 0, 0, 0x40, 0, 5, 'n', 'o', '\n', 'g', 'o'};
	struct relay_note n;
	assert_int_equal(relay_note_decode(golden, sizeof golden, &n), 0);
	assert_int_equal(n.type, RELAY_NOTE_ABORT);
	assert_int_equal(n.label_base, 0x01000040);
	assert_string_equal(n.text, "no?go");
	for (size_t len = 0; len < sizeof golden; len++)
		assert_int_equal(relay_note_decode(golden, len, &n), RELAYPROTO_ERR_MALFORMED);
	assert_int_equal(relay_note_decode("\2\0\0\0\7", 5, &n), 0);
	assert_int_equal(n.type, RELAY_NOTE_LEAVE);
	assert_int_equal(n.label_base, 7);
	assert_int_equal(n.token, 0);
	/* With the token, and with less than that behind. */
	assert_int_equal(relay_note_decode("\2\0\0\0\7\0\1\2\3", 9, &n), 0);
	assert_int_equal(n.token, 0x010203);
	assert_int_equal(relay_note_decode("\2\0\0\0\7\0\1\2", 8, &n), 0);
	assert_int_equal(n.token, 0);
	assert_int_equal(relay_note_decode("\1\0\0\0\7\0\1x\0\1\2\3", 12, &n), 0);
	assert_string_equal(n.text, "x");
	assert_int_equal(n.token, 0x010203);
	assert_int_equal(relay_note_decode("\10\0\0\0\7", 5, &n), RELAYPROTO_ERR_MALFORMED);
	assert_int_equal(relay_note_decode("\3", 1, &n), 0);
	assert_int_equal(n.type, RELAY_NOTE_PING);
	assert_int_equal(n.label_base, 0);
	assert_string_equal(n.text, "");

	uint8_t out[RELAY_NOTE_MAX];
	struct relay_note max = {.type = RELAY_NOTE_ABORT, .label_base = 1};
	memset(max.text, 'x', sizeof max.text);
	assert_int_equal(relay_note_encode(&n, out), 1);
	assert_int_equal(out[0], 3);
	size_t len = relay_note_encode(&max, out);
	assert_int_equal(len, 7 + RELAY_WHY_MAX - 1);
	assert_int_equal(relay_note_decode(out, len, &n), 0);
	assert_int_equal(strlen(n.text), RELAY_WHY_MAX - 1);
	max.token = 0xabcd;
	assert_int_equal(relay_note_encode(&max, out), len + 4);
	assert_int_equal(relay_note_decode(out, len + 4, &n), 0);
	assert_int_equal(n.token, 0xabcd);
}

/* What ends on a terminal is printable ASCII. */
static void
texts(void **state)
{
	(void)state;
	char out[RELAY_WHY_MAX], longest[400];
	relay_text_copy(out, "\033[A \177 \302\233 \303\251 ~", 13);
	assert_string_equal(out, "?[A ? ?? ?? ~");
	memset(longest, 'x', sizeof longest);
	relay_text_copy(out, longest, sizeof longest);
	assert_int_equal(strlen(out), RELAY_WHY_MAX - 1);
	relay_text_copy(out, NULL, 0);
	assert_string_equal(out, "");
	relay_text_set(out, "%s %d", "n", 7);
	assert_string_equal(out, "n 7");
}

static void
status_of_an_abort(void **state)
{
	static const struct {
		const char *text;
		int code;
	} cases[] = {
		{"MPI_Abort(MPI_COMM_WORLD, 42) called by rank 0 of MPI_COMM_WORLD on n1", 42},
		{"MPI_Abort(MPI_COMM_WORLD, -1) called by rank 0", -1},
		{"MPI_Abort(a, 7) called by b, 9) called by rank 0", 9},
		{"MPI_Abort(unnamed communicator, 2147483647) called by rank 3", INT_MAX},
		{"MPI_Abort(w, 2147483648) called by rank 3", 1},
		{"MPI_Abort(w, 99999999999999999999) called by rank 3", 1},
		{"MPI_Abort(w, 42x) called by rank 3", 1},
		{"MPI_Abort(w42) called by rank 3", 1},
		{"MPI_Abort(w, 42", 1},
		{"MPI_Abort(w, ) called by ", 1},
		{") called by MPI_Abort(", 1},
		{"rank 1 says MPI_Abort(w, 42) called by rank 3", 1},
		{"relay 10.0.0.254 is silent", 1},
		{"", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (relay_text_status(cases[i].text) != cases[i].code)
			fail_msg("%s: %d", cases[i].text, relay_text_status(cases[i].text));
}

static void
abort_text_keeps_its_status(void **state)
{
	(void)state;
	char name[300], by[300], out[RELAY_WHY_MAX];
	memset(name, 'n', sizeof name - 1);
	memset(by, 'b', sizeof by - 1);
	name[sizeof name - 1] = by[sizeof by - 1] = '\0';
	relay_text_abort(out, name, INT_MIN, by);
	assert_int_equal(strlen(out), RELAY_WHY_MAX - 1);
	assert_int_equal(relay_text_status(out), INT_MIN);
	relay_text_abort(out, "MPI_COMM_WORLD", 42, "rank 0 of MPI_COMM_WORLD on n1");
	assert_string_equal(out, "MPI_Abort(MPI_COMM_WORLD, 42) called by rank 0 of "
				 "MPI_COMM_WORLD on n1");
}

static void
door_golden_both_ways(void **state)
{
	(void)state;
	static const uint8_t registering[] = {8, 1, 0, 0, 0, 7, 0,  0,	0,  0,	0,  4,	1,  2, 3,
					      4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1, 0};
	static const uint8_t asking[] = {8, 10, 0, 0, 0, 9, 0, 4, 1, 2, 3, 'a', 'b', 'c', 1, 'd'};
	static const uint8_t answer[] = {8, 11, 0, 0, 0, 9, 0, 4, 1, 2, 1, 0, 0, 0, 5, 0, 0, 0, 6};
	static const uint8_t gone[] = {8, 9, 0, 0, 0, 9, 0, 4, 1, 2};
	static const uint8_t words[] = {8, 9, 0, 0, 0, 9, 0, 4, 1, 2, 2, 'n', 'o'};
	static const struct {
		const uint8_t *bytes;
		size_t len;
	} all[] = {{registering, sizeof registering},
		   {asking, sizeof asking},
		   {answer, sizeof answer},
		   {gone, sizeof gone}};
	struct relay_door_note n[4];
	uint8_t out[RELAY_DOOR_NOTE_MAX];
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(relay_door_decode(all[i].bytes, all[i].len, &n[i]), 0);
		assert_int_equal(relay_door_encode(&n[i], out), all[i].len);
		assert_memory_equal(out, all[i].bytes, all[i].len);
		for (size_t len = 0; len < all[i].len; len++)
			assert_int_equal(relay_door_decode(all[i].bytes, len, &n[i]),
					 RELAYPROTO_ERR_MALFORMED);
	}
	assert_int_equal(n[0].request, 7);
	assert_int_equal(n[0].n, 4);
	assert_int_equal(n[0].realm, 0x0102030405060708);
	assert_int_equal(n[0].token, 0x090a0b0c0d0e0f10);
	assert_int_equal(n[0].importers, 256);
	assert_int_equal(n[1].label, 0x00040102);
	assert_int_equal(n[1].address.len, 3);
	assert_memory_equal(n[1].address.at, "abc", 3);
	assert_int_equal(n[1].own.len, 1);
	assert_true(n[2].ok);
	assert_int_equal(n[2].called, 5);
	assert_int_equal(n[2].offered, 6);
	assert_int_equal(n[3].text.len, 0);
	/* Behind a GONE there may be last words, whole ones. */
	assert_int_equal(relay_door_decode(words, sizeof words, &n[3]), 0);
	assert_int_equal(n[3].text.len, 2);
	assert_memory_equal(n[3].text.at, "no", 2);
	assert_int_equal(relay_door_encode(&n[3], out), sizeof words);
	assert_memory_equal(out, words, sizeof words);
	for (size_t len = sizeof gone + 1; len < sizeof words; len++)
		assert_int_equal(relay_door_decode(words, len, &n[3]), RELAYPROTO_ERR_MALFORMED);
}

static void
door_bad_is_refused(void **state)
{
	(void)state;
	uint8_t in[RELAY_DOOR_NOTE_MAX + 1] = {8, 4, 0, 0, 0, 9, 0, 4, 1, 2};
	struct relay_door_note n = {.label = 42};
	in[10] = RELAY_DOOR_ADDRESS_MAX + 1;
	assert_int_equal(relay_door_decode(in, sizeof in, &n), RELAYPROTO_ERR_MALFORMED);
	in[10] = RELAY_DOOR_ADDRESS_MAX;
	assert_int_equal(relay_door_decode(in, sizeof in, &n), 0);
	n.label = 42;
	for (int op = 0; op < 256; op++) {
		in[1] = (uint8_t)op;
		if (op < RELAY_DOOR_REGISTER || op > RELAY_DOOR_NAMED)
			assert_int_equal(relay_door_decode(in, sizeof in, &n),
					 RELAYPROTO_ERR_MALFORMED);
	}
	/* GONE: nothing, a text, or that it ended, with or without one. */
	uint8_t out[RELAY_DOOR_NOTE_MAX];
	static const uint8_t ends[] = {'d', 'o', 'n', 'e'};
	static const size_t bytes[] = {10, 12, 15, 16};
	for (uint32_t k = 0; k < 4; k++) {
		struct relay_door_note m = {.op = RELAY_DOOR_GONE, .label = 42, .ended = k & 1};
		m.text = (struct relay_door_bytes){ends, k & 2 ? sizeof ends : 0};
		size_t len = relay_door_encode(&m, out);
		assert_int_equal(len, bytes[k]);
		assert_int_equal(relay_door_decode(out, len, &n), 0);
		assert_true(n.ended == (k & 1) && n.text.len == m.text.len);
		assert_true(!(k & 1) || out[len - 1] == 1);
	}
	n.label = 42;
	in[0] = 7;
	in[1] = RELAY_DOOR_GONE;
	assert_int_equal(relay_door_decode(in, sizeof in, &n), RELAYPROTO_ERR_MALFORMED);
	assert_int_equal(n.label, 42);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_golden_both_ways),
		cmocka_unit_test(token_for_each_label),
		cmocka_unit_test(hello_bad_is_refused),
		cmocka_unit_test(hello_says_that_a_job_survives),
		cmocka_unit_test(list_golden_and_bad),
		cmocka_unit_test(list_of_a_later_version),
		cmocka_unit_test(list_with_places),
		cmocka_unit_test(ways_and_lost),
		cmocka_unit_test(note_of_deaths),
		cmocka_unit_test(note_of_rest),
		cmocka_unit_test(note_golden_and_bad),
		cmocka_unit_test(texts),
		cmocka_unit_test(status_of_an_abort),
		cmocka_unit_test(abort_text_keeps_its_status),
		cmocka_unit_test(door_golden_both_ways),
		cmocka_unit_test(door_bad_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
