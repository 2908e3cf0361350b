/* SPDX-License-Identifier: BSD-2-Clause */
/* Golden bytes, written from suci/wire.h by hand, and malformed ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire_internal.h"

static const uint8_t hdr_bytes[] = {
	0x10, 0x03, 0x00, 0x14, 0xde, 0xad, 0xbe, 0xef, 0, 0, 1, 2, 0x0a, 0x0b, 0x0c, 0x0d,
};

static const uint8_t ack_bytes[] = {
	0,    0,    0, 100, /* largest */
	1,    2,    3, 4,   /* echo */
	0,    250,	    /* delay */
	0x04, 0x00,	    /* credit */
	2,    0,	    /* ranges, flags */
	0,    10,	    /* 91 .. 100 */
	0,    1,    0, 5,   /* 90 is missing, 85 .. 89 */
	0,    80,   0, 3,   /* 5 .. 84 are missing, 2 .. 4 */
};

static const uint8_t seg_bytes[] = {
	0,    0,    0, 17, 0, 0,    0,	  18,	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0xff, 0,    0, 0,  9, 0x01, 0x00, 0x00, 0x31, 0x05, 0x78, 2,	0,    0xca, 0xfe,
	0xba, 0xbe, 0, 0,  0, 1,    0,	  0,	0,    0,    'a',  'b',	'c',
};

static const uint8_t body_bytes[] = {
	0, 0, 0, 7, 0x05, 0x98, 0, 3, 0, 0, 0, 0, 0, 0,	 0,   42,  1,	2,
	3, 4, 5, 6, 7,	  8,	0, 0, 0, 0, 0, 0, 0, 43, 'h', 'e', 'y',
};

static const uint8_t part_bytes[] = {
	0,    0,    0x01, 0x02, /* id */
	0,    0,    0x00, 0xff, /* low */
	0x05, 0x78,		/* off */
	0x23, 0x0c,		/* total */
	'd',  'e',  'f',
};

static void
test_golden(void **state)
{
	(void)state;
	uint8_t out[128];
	struct suci_path_hdr h;
	assert_true(suci_path_hdr_decode(&h, hdr_bytes, sizeof hdr_bytes));
	assert_int_equal(h.version, 1);
	assert_int_equal(h.type, SUCI_T_DATA);
	assert_int_equal(h.flags, SUCI_PF_ACK_NOW | SUCI_PF_PROBE);
	assert_int_equal(h.ack_len, 20);
	assert_int_equal(h.path_tag, 0xdeadbeef);
	assert_int_equal(h.pn, 258);
	assert_int_equal(h.time_us, 0x0a0b0c0d);
	assert_int_equal(suci_path_hdr_encode(&h, out), sizeof hdr_bytes);
	assert_memory_equal(out, hdr_bytes, sizeof hdr_bytes);

	struct suci_ack a;
	assert_true(suci_ack_decode(&a, ack_bytes, sizeof ack_bytes));
	assert_int_equal(a.n, 3);
	assert_int_equal(a.delay_us, 250);
	assert_int_equal(a.credit, 1024);
	static const uint32_t want[3][2] = {{91, 100}, {85, 89}, {2, 4}};
	for (int i = 0; i < 3; i++) {
		assert_int_equal(a.range[i].lo, want[i][0]);
		assert_int_equal(a.range[i].hi, want[i][1]);
	}
	assert_int_equal(suci_ack_encode(&a, out), sizeof ack_bytes);
	assert_memory_equal(out, ack_bytes, sizeof ack_bytes);

	struct suci_segment s;
	assert_true(suci_segment_decode(&s, seg_bytes, sizeof seg_bytes));
	assert_int_equal(s.dst_label, 17);
	assert_int_equal(s.src_label, 18);
	assert_int_equal(s.seq, UINT32_MAX);
	assert_int_equal(s.block, UINT32_MAX);
	assert_int_equal(s.ack, 9);
	assert_int_equal(s.window, 256);
	assert_int_equal(s.flags, SUCI_SF_FIRST | SUCI_SF_CRC | 1 << SUCI_SF_PRIO_SHIFT);
	assert_int_equal(s.mss, 1400);
	assert_int_equal(s.credit_shift, 2);
	assert_int_equal(s.crc32c, 0xcafebabe);
	assert_true(s.block_bytes == 1ull << 32);
	assert_int_equal(s.data_len, 3);
	assert_memory_equal(s.data, "abc", 3);
	assert_int_equal(suci_segment_encode(&s, out), sizeof seg_bytes - 3);
	assert_memory_equal(out, seg_bytes, sizeof seg_bytes - 3);

	struct suci_part t;
	assert_true(suci_part_decode(&t, part_bytes, sizeof part_bytes));
	assert_int_equal(t.id, 258);
	assert_int_equal(t.low, 255);
	assert_int_equal(t.off, 1400);
	assert_int_equal(t.total, 8972);
	assert_int_equal(t.len, 3);
	assert_memory_equal(t.bytes, "def", 3);
	assert_int_equal(suci_part_encode(&t, out), sizeof part_bytes - 3);
	assert_memory_equal(out, part_bytes, sizeof part_bytes - 3);

	struct suci_body b;
	assert_true(suci_body_decode(&b, body_bytes, sizeof body_bytes));
	assert_int_equal(b.tag, 7);
	assert_int_equal(b.mtu, 1432);
	assert_true(b.incarnation == 42 && b.peer_incarnation == 43);
	assert_true(b.cookie == 0x0102030405060708ull);
	assert_memory_equal(b.hello, "hey", 3);
	assert_int_equal(suci_body_encode(&b, out), sizeof body_bytes);
	assert_memory_equal(out, body_bytes, sizeof body_bytes);
}

static void
test_truncated(void **state)
{
	(void)state;
	struct suci_path_hdr h;
	struct suci_ack a;
	struct suci_segment s;
	struct suci_part t;
	struct suci_body b;
	for (size_t n = 0; n < sizeof hdr_bytes; n++)
		assert_false(suci_path_hdr_decode(&h, hdr_bytes, n));
	for (size_t n = 0; n < sizeof ack_bytes; n++)
		assert_false(suci_ack_decode(&a, ack_bytes, n));
	for (size_t n = 0; n < SUCI_LANE_HDR + SUCI_FIRST_EXT; n++)
		assert_false(suci_segment_decode(&s, seg_bytes, n));
	for (size_t n = 0; n < sizeof body_bytes; n++)
		assert_false(suci_body_decode(&b, body_bytes, n));
	for (size_t n = 0; n <= SUCI_PART_HDR; n++)
		assert_false(suci_part_decode(&t, part_bytes, n));
}

static const struct {
	const char *name;
	uint32_t id, low;
	uint16_t off, total, len;
	bool good;
} part_cases[] = {
	{"all of it", 1, 1, 0, 1000, 1000, true},
	{"the smallest there is", 1, 1, 0, SUCI_LANE_HDR, 1, true},
	{"no lane header", 1, 1, 0, SUCI_LANE_HDR - 1, 1, false},
	{"the last byte", 1, 1, 999, 1000, 1, true},
	{"one byte beyond it", 1, 1, 999, 1000, 2, false},
	{"behind the end", 1, 1, 1000, 1000, 1, false},
	{"the largest there is", 1, 1, UINT16_MAX - 2000, UINT16_MAX, 2000, true},
	{"off + len wraps", 1, 1, UINT16_MAX - 100, UINT16_MAX, 2000, false},
	{"nothing of it", 1, 1, 0, 1000, 0, false},
	{"low above id", 7, 8, 0, 1000, 1, false},
	{"low across the wrap", 3, UINT32_MAX, 0, 1000, 1, true},
	{"low above id across the wrap", UINT32_MAX, 3, 0, 1000, 1, false},
};

static void
test_parts(void **state)
{
	(void)state;
	static uint8_t bytes[SUCI_PART_HDR + 2000];
	for (size_t i = 0; i < sizeof part_cases / sizeof *part_cases; i++) {
		print_message("  %s\n", part_cases[i].name);
		struct suci_part t = {.id = part_cases[i].id,
				      .low = part_cases[i].low,
				      .off = part_cases[i].off,
				      .total = part_cases[i].total};
		assert_int_equal(suci_part_encode(&t, bytes), SUCI_PART_HDR);
		assert_int_equal(
			suci_part_decode(&t, bytes, SUCI_PART_HDR + (size_t)part_cases[i].len),
			part_cases[i].good);
	}
}

static void
test_malformed_acks(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t at;
		uint8_t value;
	} cases[] = {
		{"more ranges than bytes", 12, 3},
		{"fewer ranges than bytes", 12, 1},
		{"too many ranges", 12, 17},
		{"empty first range", 15, 0},
		{"empty gap", 17, 0},
		{"empty range", 19, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		print_message("  %s\n", cases[i].name);
		uint8_t x[sizeof ack_bytes];
		struct suci_ack a;
		memcpy(x, ack_bytes, sizeof x);
		x[cases[i].at] = cases[i].value;
		assert_false(suci_ack_decode(&a, x, sizeof x));
	}
}

static void
test_refused(void **state)
{
	(void)state;
	static const uint8_t bytes[] = {
		0, 0,  0, 100, 1, 2, 3, 4,  0, 250, 0x04, 0x00, 1, SUCI_AF_REFUSED,
		0, 10, 0, 1,   0, 5,	   /* 90 is missing, 85 .. 89 */
		0, 0,  0, 90,  0, 0, 0, 1, /* 90 was refused */
		0, 0,  0, 101, 0, 0, 0, 20,
	};
	static const uint8_t nothing_yet[] = {
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, SUCI_AF_REFUSED,
		0, 0, 0, 0, 0, 1, 0, 0, 0, 2,
	};
	uint8_t x[SUCI_ACK_MAX + SUCI_ACK_REFUSED] = {0}, out[SUCI_ACK_MAX];
	struct suci_ack a;
	assert_true(suci_ack_decode(&a, bytes, sizeof bytes));
	assert_int_equal(a.n, 2);
	assert_int_equal(a.nrefused, 2);
	assert_int_equal(a.refused[0].lo, 90);
	assert_int_equal(a.refused[0].hi, 90);
	assert_int_equal(a.refused[1].lo, 101);
	assert_int_equal(a.refused[1].hi, 120);
	assert_int_equal(suci_ack_encode(&a, out), sizeof bytes);
	assert_memory_equal(out, bytes, sizeof bytes);
	for (size_t n = 0; n < sizeof bytes; n++) /* only whole entries, or none */
		assert_int_equal(suci_ack_decode(&a, bytes, n), n == 20 || n == 28);

	assert_true(suci_ack_decode(&a, nothing_yet, sizeof nothing_yet));
	assert_int_equal(a.n, 0);
	assert_int_equal(a.nrefused, 1);
	assert_int_equal(suci_ack_encode(&a, out), sizeof nothing_yet);
	assert_memory_equal(out, nothing_yet, sizeof nothing_yet);

	static const struct {
		uint8_t at, value;
	} bad[] = {
		{13, 0}, /* a list and no flag */
		{12, 1}, /* ranges, and the length does not fit */
		{3, 1},	 /* nothing arrived up to 1 */
		{23, 0}, /* an empty range */
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		memcpy(x, nothing_yet, sizeof nothing_yet);
		x[bad[i].at] = bad[i].value;
		assert_false(suci_ack_decode(&a, x, sizeof nothing_yet));
	}
	memset(x, 1, sizeof x);
	x[12] = SUCI_ACK_RANGES_MAX;
	size_t most = SUCI_ACK_MAX - SUCI_ACK_ROOM - SUCI_ACK_ECN;
	assert_true(suci_ack_decode(&a, x, most));
	assert_false(suci_ack_decode(&a, x, most + SUCI_ACK_REFUSED));
	x[13] |= SUCI_AF_ROOM | SUCI_AF_ECN;
	assert_true(suci_ack_decode(&a, x, SUCI_ACK_MAX));
	assert_false(suci_ack_decode(&a, x, sizeof x)); /* one range too many */
}

/* The counts of marks stand behind the refused ranges and before ask and grant. */
static void
test_ecn(void **state)
{
	(void)state;
	static const uint8_t bytes[] = {
		0, 0,	0,    100,  1, 2,	    3,	  4,
		0, 250, 0x04, 0x00, 0, SUCI_AF_ECN, 0,	  10, /* 91 .. 100 */
		0, 1,	0,    2,    0, 0,	    0x80, 3,  /* ect, ce */
	};
	uint8_t x[sizeof bytes + SUCI_ACK_REFUSED + SUCI_ACK_ROOM] = {0}, out[SUCI_ACK_MAX];
	struct suci_ack a;
	assert_true(suci_ack_decode(&a, bytes, sizeof bytes));
	assert_int_equal(a.ect, 0x10002);
	assert_int_equal(a.ce, 0x8003);
	assert_int_equal(suci_ack_encode(&a, out), sizeof bytes);
	assert_memory_equal(out, bytes, sizeof bytes);
	for (size_t n = 0; n < sizeof bytes; n++)
		assert_false(suci_ack_decode(&a, bytes, n));
	/* With everything: refused 5 .. 5, ect, ce, room. */
	memcpy(x, bytes, SUCI_ACK_HDR);
	x[13] |= SUCI_AF_REFUSED | SUCI_AF_ROOM;
	x[19] = 5;
	x[23] = 1;
	memcpy(x + 24, bytes + SUCI_ACK_HDR, SUCI_ACK_ECN);
	x[33] = 9; /* ask */
	assert_true(suci_ack_decode(&a, x, sizeof x));
	assert_int_equal(a.refused[0].hi, 5);
	assert_int_equal(a.ce, 0x8003);
	assert_int_equal(a.ask, 9);
	assert_int_equal(suci_ack_encode(&a, out), sizeof x);
	assert_memory_equal(out, x, sizeof x);
}

static void
test_room(void **state)
{
	(void)state;
	static const uint8_t bytes[] = {
		0, 0,  0, 100, 1, 2, 3, 4, 0,	 250, 0x04, 0x00, 0, SUCI_AF_REFUSED | SUCI_AF_ROOM,
		0, 10,			   /* 91 .. 100 */
		0, 0,  0, 90,  0, 0, 0, 1, /* 90 was refused */
		1, 2,  0, 3,   0, 0, 0, 7, 0x80, 0,   0,    9,
	};
	static const uint8_t nothing_yet[] = {
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, SUCI_AF_ROOM,
		0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	};
	uint8_t out[SUCI_ACK_MAX], x[sizeof nothing_yet];
	struct suci_ack a;
	assert_true(suci_ack_decode(&a, bytes, sizeof bytes));
	assert_int_equal(a.nrefused, 1);
	assert_int_equal(a.ask, 0x102);
	assert_int_equal(a.ask_prio, 3);
	assert_int_equal(a.used, 7);
	assert_int_equal(a.grant, 0x80000009u);
	assert_int_equal(suci_ack_encode(&a, out), sizeof bytes);
	assert_memory_equal(out, bytes, sizeof bytes);
	/* The last 12 bytes are ask and grant, whatever stands before them. */
	for (size_t n = 0; n < sizeof bytes; n++)
		assert_int_equal(suci_ack_decode(&a, bytes, n), n == 28);
	assert_true(suci_ack_decode(&a, nothing_yet, sizeof nothing_yet));
	assert_int_equal(a.n, 0);
	assert_int_equal(a.ask, 5);
	assert_int_equal(suci_ack_encode(&a, out), sizeof nothing_yet);
	assert_memory_equal(out, nothing_yet, sizeof nothing_yet);
	memcpy(x, nothing_yet, sizeof x);
	x[13] = 0; /* the same bytes without the flag */
	assert_false(suci_ack_decode(&a, x, sizeof x));
}

static void
test_farewell(void **state)
{
	(void)state;
	static const uint8_t bytes[] = {0, 1, 0, 3, 'b', 'y', 'e'};
	struct suci_close f;
	uint8_t out[16], big[4 + SUCI_TEXT_MAX] = {0, 1, 0, SUCI_TEXT_MAX};
	assert_true(suci_close_decode(&f, bytes, sizeof bytes));
	assert_int_equal(f.reason, SUCI_DOWN_CLOSED);
	assert_int_equal(suci_close_encode(&f, out), sizeof bytes);
	assert_memory_equal(out, bytes, sizeof bytes);
	assert_false(suci_close_decode(&f, bytes, 6));
	assert_false(suci_close_decode(&f, big, sizeof big)); /* no room for the NUL */
}

static void
test_strerror(void **state)
{
	(void)state;
	assert_string_equal(suci_strerror(SUCI_ERR_OK), "success");
	assert_string_equal(suci_strerror(SUCI_ERR_TOOBIG), "does not fit the path's MTU");
	assert_string_equal(suci_strerror(-99), "unknown Suci error");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),	 cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_parts),	 cmocka_unit_test(test_malformed_acks),
		cmocka_unit_test(test_refused),	 cmocka_unit_test(test_ecn),
		cmocka_unit_test(test_room),	 cmocka_unit_test(test_farewell),
		cmocka_unit_test(test_strerror),
	};
	return cmocka_run_group_tests_name("suci wire", tests, NULL, NULL);
}
