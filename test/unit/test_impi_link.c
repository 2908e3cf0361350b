/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet splitter and the life of a host-to-host channel. */
#include "impi/link.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmocka_all.h"
#include "test_impi_packets.h"

/* --- packets ---------------------------------------------------------------- */

static size_t
put_packet(uint8_t *out, uint32_t type, uint32_t len, uint64_t msglen)
{
	struct impi_packet p = {.type = type, .len = len, .msglen = msglen};
	impi_packet_encode(&p, out);
	uint32_t n = impi_packet_payload_bytes(&p);
	for (uint32_t i = 0; i < n; i++)
		out[IMPI_PACKET_BYTES + i] = (uint8_t)(i * 7 + type);
	return IMPI_PACKET_BYTES + n;
}

/* As LAM writes them: len and msglen 128, junk in what is to be ignored. */
static size_t
put_control(uint8_t *out, uint32_t type)
{
	struct impi_packet p = {.type = type,
				.len = 128,
				.msglen = 128,
				.lsrank = -1,
				.tag = -1,
				.count = -1,
				.cid = 0x4900000000000000u};
	impi_packet_encode(&p, out);
	return IMPI_PACKET_BYTES;
}

static void
splitter_tells_header_spans_and_end(void **state)
{
	(void)state;
	static uint8_t bytes[4096];
	struct impi_stream s;
	struct impi_stream_step step;
	size_t len = put_packet(bytes, IMPI_PK_DATA, 1000, 1000), at;
	len += put_packet(bytes + len, IMPI_PK_DATA, 0, 0);

	impi_stream_init(&s, 1024);
	assert_false(impi_stream_is_midway(&s));
	at = impi_stream_rx(&s, bytes, 100, &step);
	assert_int_equal(at, 100);
	assert_int_equal(step.what, 0);
	assert_true(impi_stream_is_midway(&s));
	at += impi_stream_rx(&s, bytes + at, len - at, &step);
	assert_int_equal(at, 128);
	assert_int_equal(step.what, IMPI_STREAM_HEADER);
	assert_int_equal(impi_stream_packet(&s).msglen, 1000);
	at += impi_stream_rx(&s, bytes + at, 400, &step);
	assert_int_equal(step.what, IMPI_STREAM_PAYLOAD);
	assert_true(step.span == bytes + 128 && step.bytes == 400 && step.off == 0);
	at += impi_stream_rx(&s, bytes + at, len - at, &step);
	assert_int_equal(at, 1128);
	assert_int_equal(step.what, IMPI_STREAM_PAYLOAD | IMPI_STREAM_END);
	assert_true(step.span == bytes + 528 && step.bytes == 600 && step.off == 400);
	assert_false(impi_stream_is_midway(&s));
	assert_int_equal(impi_stream_packet(&s).msglen, 1000); /* still to be read */
	at += impi_stream_rx(&s, bytes + at, len - at, &step);
	assert_int_equal(at, len);
	assert_int_equal(step.what, IMPI_STREAM_HEADER | IMPI_STREAM_END);
	assert_int_equal(s.npackets, 2);
	assert_int_equal(impi_stream_rx(&s, bytes, 0, &step), 0);
	assert_int_equal(step.what, 0);
}

static void
splitter_stops_at_what_is_no_packet(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint32_t type, len;
		uint64_t msglen;
		enum impi_packet_fault want;
	} cases[] = {
		{"type 8", 8, 0, 0, IMPI_PACKET_BAD_TYPE},
		{"type in another byte order", 1u << 24, 0, 0, IMPI_PACKET_BAD_TYPE},
		{"DATA above DATALEN", IMPI_PK_DATA, 1025, 4096, IMPI_PACKET_OVERLONG},
		{"DATASYNC of 4 GiB", IMPI_PK_DATASYNC, UINT32_MAX, UINT64_MAX,
		 IMPI_PACKET_OVERLONG},
		{"more payload than message", IMPI_PK_DATA, 5, 4, IMPI_PACKET_BAD_MSGLEN},
		{"all of DATALEN", IMPI_PK_DATASYNC, 1024, 1024, IMPI_PACKET_OK},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t cut = 0; cut <= IMPI_PACKET_BYTES; cut++) {
			struct impi_stream s;
			struct impi_stream_step step;
			uint8_t head[IMPI_PACKET_BYTES], *where;
			struct impi_packet p = {.type = cases[i].type,
						.len = cases[i].len,
						.msglen = cases[i].msglen};
			impi_packet_encode(&p, head);
			impi_stream_init(&s, 1024);
			size_t at = impi_stream_rx(&s, head, cut, &step);
			assert_int_equal(at, cut);
			if (cut < sizeof head)
				impi_stream_rx(&s, head + cut, sizeof head - cut, &step);
			assert_int_equal(s.fault, cases[i].want);
			bool bad = cases[i].want != IMPI_PACKET_OK;
			assert_int_equal(step.what, bad ? IMPI_STREAM_FAILED : IMPI_STREAM_HEADER);
			if (!bad)
				continue;
			assert_int_equal(impi_stream_rx(&s, head, 1, &step), 0);
			assert_int_equal(step.what, 0);
			assert_int_equal(impi_stream_want(&s, &where), 0);
			assert_int_equal(s.npackets, 0);
		}
}

/* Reference 13, point 8. */
static void
conformance_13_8_control_packets_as_lam_writes_them(void **state)
{
	(void)state;
	static const uint32_t types[] = {IMPI_PK_PROTOACK,  IMPI_PK_SYNCACK,  IMPI_PK_CANCEL,
					 IMPI_PK_CANCELYES, IMPI_PK_CANCELNO, IMPI_PK_FINI};
	uint8_t bytes[8 * IMPI_PACKET_BYTES];
	size_t len = 0;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		len += put_control(bytes + len, types[i]);
	len += put_packet(bytes + len, IMPI_PK_DATA, 3, 3);
	for (uint32_t datalen = 1; datalen < 200; datalen += 63) /* 1: 128 would not fit */
		for (size_t cut = 0; cut <= len; cut++) {
			struct impi_stream s;
			struct impi_stream_step step;
			uint32_t ends = 0;
			impi_stream_init(&s, datalen < 3 ? 3 : datalen);
			for (size_t at = 0, n; at < len; at += n) {
				size_t upto = at < cut ? cut : len;
				n = impi_stream_rx(&s, bytes + at, upto - at, &step);
				assert_true(n > 0);
				assert_false(step.what & IMPI_STREAM_FAILED);
				if (ends < 6)
					assert_false(step.what & IMPI_STREAM_PAYLOAD);
				if (step.what & IMPI_STREAM_HEADER && ends < 6)
					assert_int_equal(impi_stream_packet(&s).type, types[ends]);
				ends += !!(step.what & IMPI_STREAM_END);
			}
			assert_int_equal(ends, 7);
		}
}

/* --- running and ending -------------------------------------------------------- */

static void
running(struct impi_link *l)
{
	impi_link_init(l, 3, 1024);
	assert_int_equal(l->state, IMPI_LINK_RUNNING);
}

static unsigned int
give(struct impi_link *l, const uint8_t *p, size_t len)
{
	struct impi_stream_step step = {0};
	unsigned int what = 0;
	for (size_t n; (n = impi_link_rx(l, p, len, &step)) > 0; p += n, len -= n)
		what |= step.what;
	return what;
}

static void
give_fini(struct impi_link *l)
{
	uint8_t fini[IMPI_PACKET_BYTES];
	impi_link_fini_packet(fini);
	assert_int_equal(give(l, fini, sizeof fini), IMPI_STREAM_HEADER | IMPI_STREAM_END);
}

/* Reference 13, point 11. */
static void
conformance_13_11_fini_of_both_in_either_order(void **state)
{
	(void)state;
	uint8_t fini[IMPI_PACKET_BYTES];
	impi_link_fini_packet(fini);
	assert_memory_equal(fini, packet_e, sizeof fini);
	for (int theirs_first = 0; theirs_first < 2; theirs_first++) {
		struct impi_link l;
		running(&l);
		if (theirs_first)
			give_fini(&l);
		else
			impi_link_fini_sent(&l);
		assert_int_equal(l.state, IMPI_LINK_RUNNING);
		if (theirs_first)
			impi_link_fini_sent(&l);
		else
			give_fini(&l);
		assert_int_equal(l.state, IMPI_LINK_FINISHED);
		assert_false(impi_link_eof(&l));
		assert_int_equal(l.state, IMPI_LINK_FINISHED);
		assert_int_equal(l.err.code, IMPI_ERR_OK);
	}
}

static void
conformance_13_11_traffic_up_to_the_last_fini(void **state)
{
	(void)state;
	struct impi_link l;
	uint8_t bytes[2048];
	size_t len = put_packet(bytes, IMPI_PK_DATA, 500, 500);
	len += put_control(bytes + len, IMPI_PK_PROTOACK);
	running(&l);
	impi_link_fini_sent(&l); /* the peer may still send what it likes */
	for (uint32_t type = 0; type < IMPI_PK_TYPES; type++)
		assert_false(impi_link_may_send(&l, type));
	assert_true(give(&l, bytes, len) & IMPI_STREAM_PAYLOAD);
	len = put_control(bytes, IMPI_PK_FINI);
	assert_int_equal(give(&l, bytes, len), IMPI_STREAM_HEADER | IMPI_STREAM_END);
	assert_int_equal(l.state, IMPI_LINK_FINISHED);
}

static void
conformance_13_11_fini_before_our_own(void **state)
{
	(void)state;
	struct impi_link l;
	running(&l);
	for (uint32_t type = 0; type < IMPI_PK_TYPES; type++)
		assert_true(impi_link_may_send(&l, type));
	give_fini(&l);
	static const bool may[IMPI_PK_TYPES] = {
		[IMPI_PK_PROTOACK] = true,
		[IMPI_PK_CANCELYES] = true,
		[IMPI_PK_CANCELNO] = true,
		[IMPI_PK_FINI] = true,
	};
	for (uint32_t type = 0; type < IMPI_PK_TYPES; type++)
		assert_int_equal(impi_link_may_send(&l, type), may[type]);
	/* it does not wait for ours: nothing more can be sent, and nothing is wrong */
	assert_false(impi_link_eof(&l));
	assert_int_equal(l.state, IMPI_LINK_FINISHED);
	assert_true(l.peer_closed);
	assert_false(impi_link_may_send(&l, IMPI_PK_FINI));
}

static void
conformance_13_11_closed_without_fini(void **state)
{
	(void)state;
	uint8_t bytes[2048];
	size_t len = put_packet(bytes, IMPI_PK_DATA, 500, 500);
	for (size_t cut = 0; cut <= len; cut++)
		for (int fini_sent = 0; fini_sent < 2; fini_sent++) {
			struct impi_link l;
			running(&l);
			if (fini_sent)
				impi_link_fini_sent(&l);
			give(&l, bytes, cut);
			assert_true(impi_link_eof(&l));
			assert_int_equal(l.state, IMPI_LINK_FAILED);
			assert_int_equal(l.err.code, IMPI_ERR_EOF);
			assert_non_null(strstr(l.err.text, "host 3 closed the connection"));
			assert_int_equal(!strstr(l.err.text, "without FINI"),
					 cut != 0 && cut != len);
			assert_false(impi_link_eof(&l)); /* told once */
		}
}

static void
nothing_may_follow_the_peers_fini(void **state)
{
	(void)state;
	struct impi_link l;
	uint8_t bytes[IMPI_PACKET_BYTES];
	for (uint32_t type = 0; type < IMPI_PK_TYPES; type++) {
		running(&l);
		give_fini(&l);
		put_packet(bytes, type, 0, 0);
		assert_int_equal(give(&l, bytes, sizeof bytes), IMPI_STREAM_FAILED);
		assert_int_equal(l.state, IMPI_LINK_FAILED);
		assert_int_equal(l.err.code, IMPI_ERR_ORDER);
		print_message("%s\n", l.err.text);
	}
	/* half a packet after FINI, then the end: cut off, not finished */
	running(&l);
	give_fini(&l);
	give(&l, bytes, 5);
	assert_true(impi_link_eof(&l));
}

static void
garbage_ends_the_channel_with_words(void **state)
{
	(void)state;
	struct impi_link l;
	uint8_t bytes[IMPI_PACKET_BYTES];
	struct impi_packet p = {.type = 99, .len = 5};
	impi_packet_encode(&p, bytes);
	running(&l);
	assert_int_equal(give(&l, bytes, sizeof bytes), IMPI_STREAM_FAILED);
	assert_int_equal(l.state, IMPI_LINK_FAILED);
	assert_int_equal(l.err.code, IMPI_ERR_PACKET);
	assert_string_equal(l.err.text, "host 3 sent a packet of type 99, length 5, message "
					"length 0: unknown packet type");
	assert_false(impi_link_eof(&l));
	assert_int_equal(l.err.code, IMPI_ERR_PACKET);
	assert_int_equal(give(&l, bytes, sizeof bytes), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splitter_tells_header_spans_and_end),
		cmocka_unit_test(splitter_stops_at_what_is_no_packet),
		cmocka_unit_test(conformance_13_8_control_packets_as_lam_writes_them),
		cmocka_unit_test(conformance_13_11_fini_of_both_in_either_order),
		cmocka_unit_test(conformance_13_11_traffic_up_to_the_last_fini),
		cmocka_unit_test(conformance_13_11_fini_before_our_own),
		cmocka_unit_test(conformance_13_11_closed_without_fini),
		cmocka_unit_test(nothing_may_follow_the_peers_fini),
		cmocka_unit_test(garbage_ends_the_channel_with_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
