/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames from an AF_XDP socket: what is a datagram, what its checksums are worth. */
#include "frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N(a)  (sizeof(a) / sizeof((a)[0]))
#define PAY   101u /* odd on purpose */
#define TOTAL (FRAME_HDR_BYTES + PAY)

/* RFC 1071 as it stands: big-endian words, one after the other. */
static uint16_t
plain_sum(const uint8_t *p, size_t n, uint32_t sum)
{
	for (size_t i = 0; i < n; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)sum;
}

static void
put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint16_t
pseudo(const uint8_t *f)
{
	uint16_t len = (uint16_t)(f[38] << 8 | f[39]);
	return plain_sum(f + 26, 8, 17u + len);
}

static void
seal_sums(uint8_t *f)
{
	uint16_t len = (uint16_t)(f[38] << 8 | f[39]);
	put16(f + 24, 0);
	put16(f + 24, (uint16_t)~plain_sum(f + 14, 20, 0));
	put16(f + 40, 0);
	put16(f + 40, (uint16_t)~plain_sum(f + 34, len, pseudo(f)));
}

static void
make_frame(uint8_t f[TOTAL])
{
	memset(f, 0, TOTAL);
	put16(f + 12, 0x0800);
	f[14] = 0x45;
	f[15] = 2; /* ECT(0) */
	put16(f + 16, 28 + PAY);
	put16(f + 20, 0x4000); /* do not fragment */
	f[22] = 64;
	f[23] = 17;
	memcpy(f + 26, (const uint8_t[]){192, 0, 2, 1, 192, 0, 2, 2}, 8);
	put16(f + 34, 7001);
	put16(f + 36, 7000);
	put16(f + 38, 8 + PAY);
	for (uint32_t i = 0; i < PAY; i++)
		f[42 + i] = (uint8_t)(i * 37 + 11);
	seal_sums(f);
}

static void
sums(void **state)
{
	static uint8_t buf[70000];

	(void)state;
	srand(5);
	for (size_t i = 0; i < sizeof buf; i++)
		buf[i] = (uint8_t)rand();
	for (int ff = 0; ff < 2; ff++) {
		for (uint32_t n = 0; n < 300; n++)
			for (uint32_t at = 0; at < 5; at++) {
				uint16_t s = suci_udp_frame_sum(buf + at, n);
				uint8_t b[2];
				memcpy(b, &s, 2);
				assert_int_equal(b[0] << 8 | b[1], plain_sum(buf + at, n, 0));
			}
		memset(buf, 0xff, sizeof buf); /* the largest sums */
	}
	uint16_t s = suci_udp_frame_sum(buf, 65535);
	assert_int_equal((s & 0xff) << 8 | s >> 8, plain_sum(buf, 65535, 0));
}

static void
good(void **state)
{
	uint8_t f[TOTAL + 9];
	struct udp_frame out;

	(void)state;
	make_frame(f);
	for (uint32_t pad = 0; pad <= 9; pad++) { /* Ethernet fills up short frames */
		assert_int_equal(suci_udp_frame_parse(f, TOTAL + pad, &out), FRAME_OK);
		assert_int_equal(out.at, 42);
		assert_int_equal(out.len, PAY);
		assert_int_equal(out.ecn, 2);
		assert_int_equal(out.family, 4);
		assert_ptr_equal(out.src, f + 26);
		assert_ptr_equal(out.dst, f + 30);
		assert_memory_equal(&out.src_port, f + 34, 2);
		assert_memory_equal(&out.dst_port, f + 36, 2);
	}
	put16(f + 40, 0); /* no checksum */
	assert_int_equal(suci_udp_frame_parse(f, TOTAL, &out), FRAME_OK);
	put16(f + 40, pseudo(f)); /* left to a device it never saw */
	assert_int_equal(suci_udp_frame_parse(f, TOTAL, &out), FRAME_OK);
}

/* A change of one byte; the checksums mended afterwards if told so. */
static void
bad(void **state)
{
	static const struct {
		uint32_t at;
		uint8_t is;
		int mend;
		enum udp_frame_fault want;
	} table[] = {
		{12, 0x86, 1, FRAME_MALFORMED},		/* not IPv4 */
		{14, 0x65, 1, FRAME_MALFORMED},		/* version */
		{14, 0x46, 1, FRAME_MALFORMED},		/* options */
		{23, 6, 1, FRAME_MALFORMED},		/* TCP */
		{20, 0x60, 1, FRAME_MALFORMED},		/* more fragments */
		{21, 1, 1, FRAME_MALFORMED},		/* a later fragment */
		{17, 28 + PAY + 1, 1, FRAME_MALFORMED}, /* longer than the frame */
		{17, 27, 1, FRAME_MALFORMED},
		{17, 0, 1, FRAME_MALFORMED},
		{39, 8 + PAY + 1, 0, FRAME_MALFORMED}, /* longer than IP's */
		{39, 7, 0, FRAME_MALFORMED},
		{22, 63, 0, FRAME_BAD_SUM}, /* IP's own sum */
		{22, 63, 1, FRAME_OK},
		{26, 193, 0, FRAME_BAD_SUM},
		{34, 1, 0, FRAME_BAD_SUM},
		{42, 0, 0, FRAME_BAD_SUM},
		{42 + PAY - 1, 1, 0, FRAME_BAD_SUM},
		{42 + PAY - 1, 1, 1, FRAME_OK},
		{41, 0, 0, FRAME_BAD_SUM},
	};
	struct udp_frame out;

	(void)state;
	for (size_t i = 0; i < N(table); i++) {
		uint8_t f[TOTAL];
		make_frame(f);
		assert_int_not_equal(f[table[i].at], table[i].is);
		f[table[i].at] = table[i].is;
		if (table[i].mend)
			seal_sums(f);
		assert_int_equal(suci_udp_frame_parse(f, TOTAL, &out), table[i].want);
	}
	uint8_t f[TOTAL];
	make_frame(f);
	for (uint32_t n = 0; n < TOTAL; n++) { /* cut off anywhere */
		uint8_t *exact = malloc(n ? n : 1);
		memcpy(exact, f, n);
		assert_int_equal(suci_udp_frame_parse(exact, n, &out), FRAME_MALFORMED);
		free(exact);
	}
	/* One bit anywhere, but of the Ethernet addresses and where it makes "no checksum". */
	for (uint32_t bit = 12 * 8; bit < TOTAL * 8; bit++) {
		f[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_not_equal(suci_udp_frame_parse(f, TOTAL, &out), FRAME_OK);
		f[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

/* ---- IPv6 ---- */

#define TOTAL6 (FRAME_HDR6_BYTES + PAY)

static uint16_t
pseudo6(const uint8_t *f)
{
	uint16_t len = (uint16_t)(f[58] << 8 | f[59]);
	return plain_sum(f + 22, 32, 17u + len);
}

static void
seal_sum6(uint8_t *f)
{
	uint16_t len = (uint16_t)(f[58] << 8 | f[59]);
	put16(f + 60, 0);
	put16(f + 60, (uint16_t)~plain_sum(f + 54, len, pseudo6(f)));
}

static void
make_frame6(uint8_t f[TOTAL6])
{
	memset(f, 0, TOTAL6);
	put16(f + 12, 0x86dd);
	f[14] = 0x60;
	f[15] = 1 << 4; /* ECT(1) */
	put16(f + 18, 8 + PAY);
	f[20] = 17;
	f[21] = 64;
	for (uint32_t i = 0; i < 32; i++)
		f[22 + i] = (uint8_t)(0x20 + i * 13);
	put16(f + 54, 7001);
	put16(f + 56, 7000);
	put16(f + 58, 8 + PAY);
	for (uint32_t i = 0; i < PAY; i++)
		f[62 + i] = (uint8_t)(i * 37 + 11);
	seal_sum6(f);
}

static void
six(void **state)
{
	static const struct {
		uint32_t at;
		uint8_t is;
		int mend;
		enum udp_frame_fault want;
	} table[] = {
		{13, 0, 1, FRAME_MALFORMED},	/* IPv4 by its type */
		{14, 0x40, 1, FRAME_MALFORMED}, /* version */
		{20, 44, 1, FRAME_MALFORMED},	/* a fragment */
		{20, 6, 1, FRAME_MALFORMED},	/* TCP */
		{19, 8 + PAY + 1, 1, FRAME_MALFORMED},
		{19, 8 + PAY - 1, 1, FRAME_MALFORMED}, /* shorter than UDP's */
		{59, 7, 0, FRAME_MALFORMED},
		{21, 3, 0, FRAME_OK}, /* no sum covers the hop limit */
		{22, 1, 0, FRAME_BAD_SUM},
		{53, 1, 0, FRAME_BAD_SUM},
		{54, 1, 0, FRAME_BAD_SUM},
		{62 + PAY - 1, 1, 0, FRAME_BAD_SUM},
		{62 + PAY - 1, 1, 1, FRAME_OK},
	};
	uint8_t f[TOTAL6 + 9];
	struct udp_frame out;

	(void)state;
	make_frame6(f);
	for (uint32_t pad = 0; pad <= 9; pad++) {
		assert_int_equal(suci_udp_frame_parse(f, TOTAL6 + pad, &out), FRAME_OK);
		assert_int_equal(out.family, 6);
		assert_int_equal(out.at, 62);
		assert_int_equal(out.len, PAY);
		assert_int_equal(out.ecn, 1);
		assert_ptr_equal(out.src, f + 22);
		assert_ptr_equal(out.dst, f + 38);
		assert_memory_equal(&out.src_port, f + 54, 2);
		assert_memory_equal(&out.dst_port, f + 56, 2);
	}
	put16(f + 60, pseudo6(f)); /* left to a device it never saw */
	assert_int_equal(suci_udp_frame_parse(f, TOTAL6, &out), FRAME_OK);
	put16(f + 60, 0); /* RFC 8200: not without */
	assert_int_equal(suci_udp_frame_parse(f, TOTAL6, &out), FRAME_BAD_SUM);
	for (size_t i = 0; i < N(table); i++) {
		make_frame6(f);
		assert_int_not_equal(f[table[i].at], table[i].is);
		f[table[i].at] = table[i].is;
		if (table[i].mend)
			seal_sum6(f);
		assert_int_equal(suci_udp_frame_parse(f, TOTAL6, &out), table[i].want);
	}
	make_frame6(f);
	for (uint32_t n = 0; n < TOTAL6; n++) {
		uint8_t *exact = malloc(n ? n : 1);
		memcpy(exact, f, n);
		assert_int_equal(suci_udp_frame_parse(exact, n, &out), FRAME_MALFORMED);
		free(exact);
	}
	/* One bit anywhere that is covered: the addresses and all from the UDP header on. */
	for (uint32_t bit = 22 * 8; bit < TOTAL6 * 8; bit++) {
		f[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_not_equal(suci_udp_frame_parse(f, TOTAL6, &out), FRAME_OK);
		f[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),
		cmocka_unit_test(good),
		cmocka_unit_test(bad),
		cmocka_unit_test(six),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
