/* Hello data, notes, IMPI packets of relayed lanes: bytes of doc/job-setup.md. */
#include "transport.h"

#include "base/bytes.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void
hello_bytes(void **state)
{
	static const uint8_t want[LMPI_HELLO_BYTES] = {'S',  'H',  1, 1,    0xde, 0xad, 0xbe, 0xef,
						       0,    0,	   0, 0x12, 0,	  0,	0,    2,
						       0x05, 0xdc, 0, 0,    0x12, 0x34, 0x56, 0x78};
	struct lmpi_hello h = {LMPI_HELLO_LIBMPI, 0x12345678deadbeef, 0x12, 2, 1500}, g;
	uint8_t bytes[LMPI_HELLO_BYTES];

	(void)state;
	lmpi_hello_encode(&h, bytes);
	assert_memory_equal(bytes, want, sizeof want);
	assert_true(lmpi_hello_decode(want, sizeof want, &g));
	assert_int_equal(g.kind, LMPI_HELLO_LIBMPI);
	assert_true(g.token == 0x12345678deadbeef && g.label == 0x12 && g.rank == 2 &&
		    g.mtu == 1500);
	assert_false(lmpi_hello_decode(want, sizeof want - 1, &g));
	for (int i = 0; i < 4; i++) {
		memcpy(bytes, want, sizeof want);
		bytes[i] = 9;
		assert_false(lmpi_hello_decode(bytes, sizeof bytes, &g));
	}
}

static void
notes(void **state)
{
	static const uint8_t want[] = {1, 0, 0, 0, 16, 0, 4, 'd', 'e', 'a', 'd'};
	uint8_t bytes[LMPI_NOTE_MAX], type;
	char text[LMPI_NOTE_MAX], longest[2000];
	uint32_t base;

	(void)state;
	size_t n = lmpi_note_encode(LMPI_NOTE_ABORT, 16, "dead", bytes);
	assert_int_equal(n, sizeof want);
	assert_memory_equal(bytes, want, n);
	assert_true(lmpi_note_decode(want, sizeof want, &type, &base, text));
	assert_true(type == LMPI_NOTE_ABORT && base == 16);
	assert_string_equal(text, "dead");
	for (n = 0; n < sizeof want; n++)
		assert_false(lmpi_note_decode(want, n, &type, &base, text));
	memset(longest, 'x', sizeof longest);
	longest[sizeof longest - 1] = 0;
	n = lmpi_note_encode(LMPI_NOTE_ABORT, 16, longest, bytes);
	assert_true(n <= LMPI_NOTE_MAX);
	assert_true(lmpi_note_decode(bytes, n, &type, &base, text));
	n = lmpi_note_encode(LMPI_NOTE_LEAVE, 7, "", bytes);
	assert_int_equal(n, 5);
	assert_true(lmpi_note_decode(bytes, n, &type, &base, text));
	assert_string_equal(text, "");
	bytes[0] = LMPI_NOTE_ABORT; /* no escape sequences to the user's terminal */
	be16_store(bytes + 5, 2);
	bytes[7] = 27, bytes[8] = 'A';
	assert_true(lmpi_note_decode(bytes, 9, &type, &base, text));
	assert_string_equal(text, "?A");
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
		if (lmpi_abort_code(cases[i].text) != cases[i].code)
			fail_msg("%s: %d", cases[i].text, lmpi_abort_code(cases[i].text));
}

static void
notes_of_several_relays(void **state)
{
	static const uint8_t relays[] = {
		4,  0, 0, 0,   16,   1,	   2,	3,
		4,  0, 1, 0,   2,    0,	   60,	   /* base token client self own n s */
		10, 0, 0, 254, 0x1b, 0x58, 7,	0, /* relay 0 */
		10, 0, 0, 253, 0x1b, 0x59, 200, 1, /* relay 1: too much of a weight */
		3,  1, 2, 2,   9,    40,   1,	   /* client 1 stripe, 2: unknown, 40: none */
		99,				   /* of a later version */
	};
	static const uint8_t ways[] = {5, 0, 0, 0, 16, 1, 2, 3, 4, 0, 0, 0, 6, 0, 0, 0, 2};
	static const uint8_t lost[LMPI_NOTE_LOST_BYTES] = {6, 1, 0, 0,	  0,	10,
							   0, 0, 7, 0x1b, 0x58, 1};
	struct lmpi_relays n;
	struct lmpi_ways w;
	uint8_t bytes[sizeof relays];

	(void)state;
	assert_true(lmpi_note_relays_decode(relays, sizeof relays, &n));
	assert_true(n.base == 16 && n.token == 0x01020304 && n.n == 2 && n.self == 1 && n.own == 0);
	assert_int_equal(n.partition_s, 60);
	assert_memory_equal(n.relay[1].ip, relays + 23, 4);
	assert_true(n.relay[0].port == 7000 && n.relay[1].port == 7001);
	assert_true(n.relay[0].weight == 7 && n.relay[1].weight == LMPI_RELAY_WEIGHT_MAX);
	for (uint32_t c = 0; c < LMPI_CLIENTS_MAX; c++)
		assert_int_equal(n.policy[c], c == 1 ? LMPI_POLICY_STRIPE : LMPI_POLICY_UNSAID);
	for (size_t len = 0; len < sizeof relays - 1; len++)
		assert_false(lmpi_note_relays_decode(relays, len, &n));
	/* type, self, own, n */
	static const struct {
		size_t at;
		uint8_t value;
	} bad[] = {{0, 5}, {10, 2}, {11, 2}, {12, 0}, {12, 33}};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		memcpy(bytes, relays, sizeof bytes);
		bytes[bad[i].at] = bad[i].value;
		assert_false(lmpi_note_relays_decode(bytes, sizeof bytes, &n));
	}
	bytes[12] = 2, bytes[11] = 0xff; /* owned by none of them */
	assert_true(lmpi_note_relays_decode(bytes, sizeof bytes, &n));

	assert_true(lmpi_note_ways_decode(ways, sizeof ways, &w));
	assert_true(w.base == 16 && w.token == 0x01020304 && w.ways == 6 && w.resend == 2);
	for (size_t len = 0; len < sizeof ways; len++)
		assert_false(lmpi_note_ways_decode(ways, len, &w));
	assert_false(lmpi_note_ways_decode(relays, sizeof relays, &w));

	lmpi_note_lost_encode(1u << 24, (const uint8_t[]){10, 0, 0, 7}, 7000, true, bytes);
	assert_memory_equal(bytes, lost, sizeof lost);
}

static const struct {
	const char *name;
	struct lmpi_hdr h;
	uint64_t payload;
	uint32_t pk_type;
	uint8_t back; /* type after decoding */
} packet_cases[] = {
	{"short", {.type = LMPI_T_EAGER, .msglen = 100}, 100, 0, LMPI_T_EAGER},
	{"empty", {.type = LMPI_T_EAGER, .msglen = 0}, 0, 0, LMPI_T_EAGER},
	{"synchronous",
	 {.type = LMPI_T_EAGER, .flags = LMPI_HF_SYNC, .msglen = 9},
	 9,
	 1,
	 LMPI_T_EAGER},
	{"first of a long one",
	 {.type = LMPI_T_EAGER, .flags = LMPI_HF_SYNC, .msglen = 5000},
	 1024,
	 1,
	 LMPI_T_EAGER},
	{"rest of a long one",
	 {.type = LMPI_T_DATA, .msglen = 5000, .drq = 77},
	 1000,
	 0,
	 LMPI_T_DATA},
	{"syncack", {.type = LMPI_T_MATCHED, .srq = 5, .drq = 77}, 0, 3, LMPI_T_MATCHED},
	{"protoack", {.type = LMPI_T_PROTOACK}, 0, 2, LMPI_T_PROTOACK},
};

static void
packets(void **state)
{
	struct lmpi_peer peer[2] = {{.world = 0}, {.world = 1}};
	uint8_t pkt[LMPI_PKT_BYTES];
	struct lmpi_hdr back;

	(void)state;
	memset(peer[0].id, 0xa0, 24);
	memset(peer[1].id, 0xb1, 24);
	lmpi_eng.peer = peer;
	lmpi_eng.datalen = 1024;
	for (size_t i = 0; i < sizeof packet_cases / sizeof packet_cases[0]; i++) {
		struct lmpi_hdr h = packet_cases[i].h;
		uint64_t n = packet_cases[i].payload;
		printf("  %s\n", packet_cases[i].name);
		h.lsrank = 3;
		h.tag = 4;
		h.cid = 1ull << 33;
		lmpi_world.rank = 0;
		lmpi_pkt_encode(&peer[1], &h, n, pkt);
		assert_int_equal(be32_load(pkt), packet_cases[i].pk_type);
		assert_memory_equal(pkt + 8, peer[0].id, 24);
		assert_memory_equal(pkt + 32, peer[1].id, 24);
		lmpi_world.rank = 1;
		assert_null(lmpi_pkt_decode(&peer[0], pkt, n, &back));
		assert_int_equal(back.type, packet_cases[i].back);
		assert_int_equal(back.flags, h.flags);
		assert_int_equal(back.src, 0);
		assert_true(back.srq == h.srq && back.drq == h.drq && back.cid == h.cid);
		assert_true(back.lsrank == 3 && back.tag == 4);
		if (n) {
			assert_true(back.msglen == h.msglen);
			assert_non_null(lmpi_pkt_decode(&peer[0], pkt, n - 1, &back));
		}
		pkt[9] ^= 1; /* somebody else's packet */
		assert_non_null(lmpi_pkt_decode(&peer[0], pkt, n, &back));
		pkt[9] ^= 1;
		pkt[40] ^= 1;
		assert_non_null(lmpi_pkt_decode(&peer[0], pkt, n, &back));
	}
	lmpi_eng.peer = NULL;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_bytes),
		cmocka_unit_test(notes),
		cmocka_unit_test(status_of_an_abort),
		cmocka_unit_test(notes_of_several_relays),
		cmocka_unit_test(packets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
