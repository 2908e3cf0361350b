/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/auth.h"
#include "impi/flow.h"
#include "impi/hostid.h"
#include "impi/wire.h"

#include "cmocka_all.h"
#include "test_impi_packets.h"

static struct impi_proc
proc_v4(uint32_t ipv4, uint64_t pid)
{
	struct impi_proc p = {.pid = pid};
	impi_addr_from_ipv4(p.hostid, ipv4);
	return p;
}

#define IP0 0x0a000001u
#define IP1 0x0a000002u

static void
packets_have_the_golden_bytes(void **state)
{
	(void)state;
	struct impi_packet a = {.type = IMPI_PK_DATA,
				.len = 8,
				.src = proc_v4(IP0, 1001),
				.dest = proc_v4(IP1, 2001),
				.srqid = 0x11,
				.msglen = 8,
				.tag = 7,
				.seqnum = 1,
				.count = 2};
	struct impi_packet b = {.type = IMPI_PK_DATA,
				.src = proc_v4(IP1, 2001),
				.dest = proc_v4(IP0, 1001),
				.srqid = 1,
				.lsrank = 2,
				.tag = 110,
				.cid = 1,
				.seqnum = 1};
	struct impi_packet c = {.type = IMPI_PK_SYNCACK,
				.src = proc_v4(IP1, 2001),
				.dest = proc_v4(IP0, 1001),
				.srqid = 0x12,
				.drqid = 0x5001};
	struct impi_packet d = {
		.type = IMPI_PK_PROTOACK, .src = proc_v4(IP1, 2001), .dest = proc_v4(IP0, 1001)};
	struct impi_packet e = {.type = IMPI_PK_FINI};
	struct {
		const char *name;
		struct impi_packet packet;
		const uint8_t *bytes;
		uint32_t payload_bytes;
		bool counted;
	} cases[] = {
		{"A", a, packet_a, 8, true},  {"B", b, packet_b, 0, true},
		{"C", c, packet_c, 0, true},  {"D", d, packet_d, 0, false},
		{"E", e, packet_e, 0, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint8_t out[IMPI_PACKET_BYTES], again[IMPI_PACKET_BYTES];
		print_message("packet %s\n", cases[i].name);
		impi_packet_encode(&cases[i].packet, out);
		assert_memory_equal(out, cases[i].bytes, sizeof out);
		struct impi_packet p = impi_packet_decode(cases[i].bytes);
		impi_packet_encode(&p, again);
		assert_memory_equal(again, cases[i].bytes, sizeof again);
		assert_int_equal(impi_packet_payload_bytes(&p), cases[i].payload_bytes);
		assert_int_equal(impi_flow_counts(p.type), cases[i].counted);
		assert_int_equal(impi_packet_check(&p, 16384), IMPI_PACKET_OK);
	}
}

static void
packet_fields_keep_every_bit(void **state)
{
	(void)state;
	uint8_t in[IMPI_PACKET_BYTES], out[IMPI_PACKET_BYTES];
	for (int round = 0; round < 256; round++) {
		for (size_t i = 0; i < sizeof in; i++)
			in[i] = (uint8_t)(i * 7 + (size_t)round * 31);
		struct impi_packet p = impi_packet_decode(in);
		impi_packet_encode(&p, out);
		assert_memory_equal(in, out, sizeof in);
	}
}

static void
bad_packets_are_named(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint32_t type, len;
		uint64_t msglen;
		enum impi_packet_fault want;
	} cases[] = {
		{"largest", IMPI_PK_DATA, 1024, 1024, IMPI_PACKET_OK},
		{"one too long", IMPI_PK_DATA, 1025, 2000, IMPI_PACKET_OVERLONG},
		{"longer than its message", IMPI_PK_DATASYNC, 10, 9, IMPI_PACKET_BAD_MSGLEN},
		{"LAM's control packet", IMPI_PK_SYNCACK, 128, 128, IMPI_PACKET_OK},
		{"junk in a control packet", IMPI_PK_PROTOACK, UINT32_MAX, 0, IMPI_PACKET_OK},
		{"type 8", 8, 0, 0, IMPI_PACKET_BAD_TYPE},
		{"type -1", UINT32_MAX, 0, 0, IMPI_PACKET_BAD_TYPE},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct impi_packet p = {
			.type = cases[i].type, .len = cases[i].len, .msglen = cases[i].msglen};
		print_message("%s\n", cases[i].name);
		assert_int_equal(impi_packet_check(&p, 1024), cases[i].want);
	}
	assert_string_equal(impi_packet_type_name(IMPI_PK_FINI), "FINI");
	assert_string_equal(impi_packet_type_name(8), "unknown");
}

static void
labels_know_their_place(void **state)
{
	(void)state;
	assert_int_equal(impi_label_index(IMPI_C_VERSION), 0);
	assert_int_equal(impi_label_index(IMPI_P_PID), IMPI_NLABELS - 1);
	assert_int_equal(impi_label_index(0x1001), -1);
	assert_int_equal(impi_label_at(IMPI_NLABELS), IMPI_NO_LABEL);
	assert_int_equal(impi_label_elem_bytes(0x3100), 8);
	assert_int_equal(impi_label_elem_bytes(0x2000), 16);
	assert_int_equal(impi_label_elem_bytes(7), 0);
	assert_string_equal(impi_label_name(0x1300), "IMPI_C_DATALEN");
	uint32_t last = 0;
	for (unsigned int i = 0; i < IMPI_NLABELS; i++) {
		assert_true(impi_label_at(i) > last);
		last = impi_label_at(i);
	}
}

static void
addresses_in_both_forms(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint8_t addr[16];
		enum impi_addr_kind kind;
		uint32_t ipv4;
	} cases[] = {
		{"compatible (LAM)", {[12] = 10, 99, 0, 2}, IMPI_ADDR_V4, 0x0a630002},
		{"mapped", {[10] = 255, 255, 10, 99, 0, 2}, IMPI_ADDR_V4, 0x0a630002},
		{"zero", {0}, IMPI_ADDR_NONE, 0},
		{"::1", {[15] = 1}, IMPI_ADDR_V6, 0},
		{"global", {0x20, 1, [15] = 1}, IMPI_ADDR_V6, 0},
		{"half mapped", {[10] = 255, 0, 10, 0, 0, 1}, IMPI_ADDR_V6, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint32_t ipv4 = 0;
		print_message("%s\n", cases[i].name);
		assert_int_equal(impi_addr_classify(cases[i].addr, &ipv4), cases[i].kind);
		assert_int_equal(ipv4, cases[i].ipv4);
		assert_int_equal(impi_addr_classify(cases[i].addr, NULL), cases[i].kind);
	}
	uint8_t made[16];
	impi_addr_from_ipv4(made, 0x0a630002);
	assert_memory_equal(made, cases[1].addr, 16);
}

static void
hostids(void **state)
{
	(void)state;
	static const uint8_t golden[16] = {0xfd, 'S',  'U',  'C',  0xde, 0xad, 0xbe, 0xef,
					   0x31, 0x26, 0x12, 0x34, 10,	 0,    0,    9};
	struct impi_hostid id = {.token = 0xdeadbeef,
				 .kind = IMPI_HOSTID_RELAY,
				 .major = 3,
				 .minor = 9,
				 .port = 0x1234,
				 .ipv4 = 0x0a000009};
	struct impi_hostid back = {0};
	uint8_t out[16];
	impi_hostid_encode(&id, out);
	assert_memory_equal(out, golden, 16);
	assert_int_equal(impi_hostid_decode(golden, &back), IMPI_HOSTID_SUCI);
	assert_true(back.token == id.token && back.kind == id.kind && back.port == id.port &&
		    back.ipv4 == id.ipv4 && back.major == 3 && back.minor == 9);
	static const struct {
		const char *name;
		int at;
		uint8_t value;
		enum impi_hostid_result want;
	} cases[] = {
		{"other prefix", 3, 'D', IMPI_HOSTID_FOREIGN},
		{"no prefix", 0, 0, IMPI_HOSTID_FOREIGN},
		{"version 2", 8, 2, IMPI_HOSTID_BAD},
		{"kind 0", 9, 0, IMPI_HOSTID_BAD},
		{"kind 3, a relay for a foreign process", 9, 3, IMPI_HOSTID_SUCI},
		{"kind 0 of a later libmpi", 9, 63 << 2, IMPI_HOSTID_BAD},
		{"the last MAJOR", 8, 0xf1, IMPI_HOSTID_SUCI},
		{"kind 1", 9, 1, IMPI_HOSTID_SUCI},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		memcpy(out, golden, 16);
		out[cases[i].at] = cases[i].value;
		print_message("%s\n", cases[i].name);
		assert_int_equal(impi_hostid_decode(out, &back), cases[i].want);
	}
	memcpy(out, golden, 16);
	out[10] = out[11] = 0;
	assert_int_equal(impi_hostid_decode(out, &back), IMPI_HOSTID_BAD);
	memcpy(out, golden, 16);
	memset(out + 12, 0, 4);
	assert_int_equal(impi_hostid_decode(out, &back), IMPI_HOSTID_BAD);
}

/* A process without an IPv4 address: it is where its host is. */
static void
hostids_at_hosts(void **state)
{
	static const uint8_t golden[16] = {0xfd, 'S',  'U',  'C',  0xde, 0xad, 0xbe, 0xef,
					   0x32, 0x25, 0x12, 0x34, 0,	 0,    0,    0};
	static const uint8_t v6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 7}, none[16];
	static const uint8_t mapped[16] = {[10] = 0xff, 0xff, 10, 0, 0, 9};
	struct impi_hostid id = {
		.token = 0xdeadbeef, .kind = 1, .major = 3, .minor = 9, .port = 0x1234};
	struct impi_hostid back = {0};
	uint8_t out[16];

	(void)state;
	impi_hostid_encode(&id, out);
	assert_memory_equal(out, golden, 16);
	assert_int_equal(impi_hostid_decode_at(golden, v6, &back), IMPI_HOSTID_SUCI);
	assert_true(back.token == id.token && back.kind == 1 && back.port == id.port &&
		    back.ipv4 == 0 && back.major == 3 && back.minor == 9);
	static const struct {
		const char *name;
		int at;
		uint8_t value;
		const uint8_t *host;
	} bad[] = {
		{"an IPv4 address beside it", 15, 1, v6},
		{"a relay", 9, 0x26, v6},
		{"a relay for a foreign process", 9, 0x27, v6},
		{"version 3", 8, 0x33, v6},
		{"version 1 without an address", 8, 0x31, v6},
		{"at an IPv4 host", 0, 0xfd, mapped},
		{"at no host", 0, 0xfd, none},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		memcpy(out, golden, 16);
		out[bad[i].at] = bad[i].value;
		if (impi_hostid_decode_at(out, bad[i].host, &back) != IMPI_HOSTID_BAD)
			fail_msg("%s is taken", bad[i].name);
	}
	/* Who calls by IPv4 address takes none of them. */
	assert_int_equal(impi_hostid_decode(golden, &back), IMPI_HOSTID_BAD);
	id.ipv4 = 9;
	impi_hostid_encode(&id, out);
	assert_int_equal(impi_hostid_decode_at(out, none, &back), IMPI_HOSTID_SUCI);
	out[0] = 0;
	assert_int_equal(impi_hostid_decode_at(out, v6, &back), IMPI_HOSTID_FOREIGN);
}

static void
auth_words(void **state)
{
	(void)state;
	static const struct {
		const char *none, *key;
		uint32_t mask;
		uint64_t value;
	} cases[] = {
		{NULL, NULL, 0, 0},
		{"", NULL, 1, 0},
		{"0", NULL, 1, 0}, /* presence counts */
		{NULL, "5678", 2, 5678},
		{"1", "18446744073709551615", 3, UINT64_MAX},
		{NULL, "18446744073709551616", 0, 0},
		{"1", "", 0, 0},
		{"1", "0x12", 0, 0},
		{"1", "-1", 0, 0},
		{"1", " 1", 0, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct impi_auth auth = {7, 7};
		struct impi_error err = {0};
		print_message("none %s key %s\n", cases[i].none ? cases[i].none : "unset",
			      cases[i].key ? cases[i].key : "unset");
		enum impi_err e = impi_auth_from_env(&auth, cases[i].none, cases[i].key, &err);
		assert_int_equal(e, cases[i].mask ? IMPI_ERR_OK : IMPI_ERR_INVAL);
		assert_int_equal(auth.mask, cases[i].mask);
		assert_true(auth.key == cases[i].value);
		assert_int_equal(err.text[0] != 0, cases[i].mask == 0);
	}
}

static void
first_error_stays(void **state)
{
	(void)state;
	struct impi_error err = {0};
	assert_int_equal(impi_error_set(&err, IMPI_ERR_KEY, "one %d", 1), IMPI_ERR_KEY);
	assert_int_equal(impi_error_set(&err, IMPI_ERR_RANK, "two"), IMPI_ERR_KEY);
	assert_string_equal(err.text, "one 1");
	assert_string_equal(impi_strerror(IMPI_ERR_KEY), "wrong key");
	assert_string_equal(impi_strerror((enum impi_err)12345), "unknown error");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_have_the_golden_bytes),
		cmocka_unit_test(packet_fields_keep_every_bit),
		cmocka_unit_test(bad_packets_are_named),
		cmocka_unit_test(labels_know_their_place),
		cmocka_unit_test(addresses_in_both_forms),
		cmocka_unit_test(hostids),
		cmocka_unit_test(hostids_at_hosts),
		cmocka_unit_test(auth_words),
		cmocka_unit_test(first_error_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
