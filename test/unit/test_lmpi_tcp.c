/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine against a foreign host that is written down packet by packet: what a
 * correct peer and LAM/MPI may send, what it must get back, cancel, the end. */
#include "lmpi_tcp_kit.h"
#include "quick_ack_kit.h"

#include <stdlib.h>

#define DATALEN 100u
#define ACKMARK 3u
#define HIWATER 4u

static int
set_up(void **state)
{
	(void)state;
	return start(DATALEN, ACKMARK, HIWATER);
}

/* --- receiving -------------------------------------------------------------- */

static void
short_messages_split_anyhow(void **state)
{
	struct lmpi_req r[2] = {0};
	uint8_t in[2][64], b[2 * (IMPI_PACKET_BYTES + 64)];
	struct impi_packet p = packet(IMPI_PK_DATA, 1, 64, 64);

	(void)state;
	impi_packet_encode(&p, b);
	memset(b + 128, 'a', 64);
	p.src = impi_proc_decode(peers[2].id);
	p.lsrank = 2;
	impi_packet_encode(&p, b + 192);
	memset(b + 192 + 128, 'b', 64);
	lmpi_irecv(&r[0], in[0], 64, 1, 5, 0);
	lmpi_irecv(&r[1], in[1], 64, 2, 5, 0);
	for (size_t i = 0; i < sizeof b; i++) {
		assert_int_equal(send(wire, b + i, 1, 0), 1);
		lmpi_progress();
	}
	assert_true(r[0].done && r[1].done);
	assert_true(in[0][0] == 'a' && in[0][63] == 'a' && in[1][0] == 'b' && in[1][63] == 'b');
	expect_nothing();
}

/* Header and payload are written apart, and the kernel there holds the payload back until the
 * header is acknowledged. */
static void
a_header_alone_is_acknowledged_at_once(void **state)
{
	uint8_t in[8], b[IMPI_PACKET_BYTES];
	struct impi_packet p = packet(IMPI_PK_DATA, 1, sizeof in, sizeof in);
	int pair[2], quick = 0;

	(void)state;
	tear_down(NULL);
	quick_tcp_pair(pair);
	assert_int_equal(start_on(pair, DATALEN, 1000, 2000), 0);
	impi_packet_encode(&p, b);
	for (int i = 0; i < QUICK_ROUNDS; i++) {
		struct lmpi_req r = {0}, answer = {0};
		lmpi_irecv(&r, in, sizeof in, 1, 5, 0);
		assert_int_equal(send(wire, b, sizeof b, 0), sizeof b);
		for (int k = 0; k < 4; k++)
			lmpi_progress();
		quick += quick_acknowledged(wire);
		assert_int_equal(send(wire, in, sizeof in, 0), sizeof in);
		while (!r.done)
			lmpi_progress();
		/* who answers is taken for somebody whose answers acknowledge */
		lmpi_isend(&answer, in, sizeof in, 1, 0, 5, 0, LMPI_STANDARD);
		while (!answer.done)
			lmpi_progress();
		assert_int_equal(get(NULL).type, IMPI_PK_DATA);
	}
	if (quick < QUICK_ENOUGH)
		fail_msg("%d of %d headers were acknowledged at once", quick, QUICK_ROUNDS);
}

/* Of a wait counts what was silent in it; a FINI'd channel may be. */
static void
silence_of_a_host(void **state)
{
	struct impi_packet p = packet(IMPI_PK_DATA, 1, 8, 8);
	const uint64_t s = 1000000000ull;

	(void)state;
	setenv("IMPI_SILENCE_S", "60", 1);
	tear_down(NULL);
	assert_int_equal(start(DATALEN, ACKMARK, HIWATER), 0);
	unsetenv("IMPI_SILENCE_S");
	lmpi_tcp_watch(100 * s, 101 * s);
	lmpi_tcp_watch(100 * s, 160 * s);
	assert_false(lmpi_failing());
	give(&p, 1); /* heard */
	lmpi_tcp_watch(100 * s, 162 * s);
	lmpi_tcp_watch(100 * s, 221 * s);
	assert_false(lmpi_failing());
	lmpi_tcp_watch(230 * s, 300 * s); /* another wait */
	lmpi_tcp_watch(230 * s, 359 * s);
	assert_false(lmpi_failing());
	lmpi_tcp_watch(230 * s, 361 * s);
	assert_true(lmpi_failing());
	lmpi_fail_forget();
	/* without the variable for ever */
	tear_down(NULL);
	assert_int_equal(start(DATALEN, ACKMARK, HIWATER), 0);
	lmpi_tcp_watch(100 * s, 101 * s);
	lmpi_tcp_watch(100 * s, 1000000 * s);
	assert_false(lmpi_failing());
}

/* DATASYNC may be short of DATALEN, and chunks too; two messages of one pair come
 * interleaved and are told apart by what we gave them. */
static void
conformance_13_7_long_messages_interleaved(void **state)
{
	struct lmpi_req r[2] = {0};
	uint8_t in[2][250];

	(void)state;
	struct impi_packet p = packet(IMPI_PK_DATASYNC, 1, 40, 250);
	p.srqid = 1;
	give(&p, 1);
	p.srqid = 2;
	p.tag = 6;
	p.len = 100;
	give(&p, 11);
	lmpi_irecv(&r[1], in[1], 250, 1, 6, 0); /* in reverse order */
	struct impi_packet ack2 = get(NULL);
	lmpi_irecv(&r[0], in[0], 250, 1, 5, 0);
	struct impi_packet ack1 = get(NULL);
	assert_int_equal(ack1.type, IMPI_PK_SYNCACK);
	assert_int_equal(ack1.srqid, 1);
	assert_int_equal(ack2.srqid, 2);
	assert_int_not_equal(ack1.drqid, ack2.drqid);
	p = packet(IMPI_PK_DATA, 1, 7, 250);
	struct impi_packet q = p;
	p.drqid = ack1.drqid;
	q.drqid = ack2.drqid;
	q.len = 100;
	give(&p, 2);
	expect(IMPI_PK_PROTOACK, 1, 0); /* the third packet of this pair */
	give(&q, 12);
	p.len = 100;
	give(&p, 3);
	q.len = 50;
	give(&q, 13);
	assert_true(r[1].done && !r[0].done);
	p.len = 100;
	give(&p, 4);
	p.len = 3;
	give(&p, 5);
	assert_true(r[0].done && r[0].bytes == 250);
	assert_true(in[0][39] == 1 && in[0][40] == 2 && in[0][47] == 3 && in[0][249] == 5);
	assert_true(in[1][99] == 11 && in[1][100] == 12 && in[1][249] == 13);
	assert_int_equal(lmpi_eng.filling, 0);
}

static void
sending_long_to_lam(void **state)
{
	struct lmpi_req s = {0};
	uint8_t out[250], in[128];

	(void)state;
	memset(out, 9, sizeof out);
	lmpi_isend(&s, out, sizeof out, 2, 0, 77, 0, LMPI_STANDARD);
	struct impi_packet first = get(in);
	assert_int_equal(first.type, IMPI_PK_DATASYNC);
	assert_true(first.len == DATALEN && first.msglen == 250 && first.drqid == 0);
	assert_int_not_equal(first.srqid, 0);
	expect_nothing();
	struct impi_packet ack = lam_control(IMPI_PK_SYNCACK, 2, first.srqid, 0);
	give(&ack, 0); /* a receiver may well name its request 0 */
	for (uint32_t at = 100; at < 250; at += 100) {
		struct impi_packet p = get(in);
		assert_int_equal(p.type, IMPI_PK_DATA);
		assert_true(p.drqid == 0 && p.srqid == first.srqid && p.msglen == 250);
		assert_int_equal(p.len, at == 200 ? 50 : 100);
		assert_true(p.tag == 77 && p.lsrank == 0 && in[p.len - 1] == 9);
	}
	assert_true(s.done && !s.cancelled);
	expect_nothing();
}

/* --- flow control ------------------------------------------------------------- */

static void
conformance_13_6_credit_per_pair(void **state)
{
	struct lmpi_req s[8] = {0}, r = {0};
	uint8_t in[8];

	(void)state;
	for (int i = 0; i < 7; i++)
		lmpi_isend(&s[i], "x", 1, 1, 0, i, 0, LMPI_STANDARD);
	lmpi_isend(&s[7], "y", 1, 2, 0, 0, 0, LMPI_STANDARD);
	for (uint32_t i = 0; i < HIWATER; i++)
		expect(IMPI_PK_DATA, 1, 0);
	expect(IMPI_PK_DATA, 2, 0); /* another pair is not held up */
	expect_nothing();
	/* An answer that is counted waits for credit, PROTOACK never does. */
	struct impi_packet p = packet(IMPI_PK_DATASYNC, 1, 8, 8);
	p.srqid = 5;
	lmpi_irecv(&r, in, 8, 1, 5, 0);
	give(&p, 0);
	expect_nothing();
	p.type = IMPI_PK_DATA;
	give(&p, 0);
	give(&p, 0);
	expect(IMPI_PK_PROTOACK, 1, 0);
	expect_nothing();
	p = lam_control(IMPI_PK_PROTOACK, 1, 0, 0);
	give(&p, 0);
	for (int i = 0; i < 3; i++)
		expect(IMPI_PK_DATA, 1, 0);
	expect_nothing();
	give(&p, 0);
	expect(IMPI_PK_SYNCACK, 1, 5);
	assert_int_equal(lmpi_eng.outs, 0);
}

/* --- cancel -------------------------------------------------------------------- */

static void
conformance_13_9_their_cancel(void **state)
{
	struct lmpi_req r = {0};
	struct impi_packet c = lam_control(IMPI_PK_CANCEL, 1, 77, 0);
	uint8_t in[10];

	(void)state;
	give(&c, 0); /* unknown */
	expect(IMPI_PK_CANCELNO, 1, 77);
	struct impi_packet p = packet(IMPI_PK_DATASYNC, 1, 10, 10);
	p.srqid = 77;
	give(&p, 1);
	give(&p, 2); /* the same name again: this is the one */
	expect(IMPI_PK_PROTOACK, 1, 0);
	c = lam_control(IMPI_PK_CANCEL, 1, 77, 0);
	give(&c, 0);
	expect(IMPI_PK_CANCELYES, 1, 77);
	lmpi_irecv(&r, in, 10, LMPI_ANY_SOURCE, LMPI_ANY_TAG, 0);
	assert_true(r.done && in[0] == 1);
	expect(IMPI_PK_SYNCACK, 1, 77);
	give(&c, 0); /* matched */
	expect(IMPI_PK_CANCELNO, 1, 77);
	struct lmpi_probed found;
	assert_false(lmpi_iprobe(LMPI_ANY_SOURCE, LMPI_ANY_TAG, 0, false, &found));
	assert_int_equal(peers[1].queued, 0);
}

/* Of two with one name the newer is matched: CANCEL means it, and comes too late. The
 * other process's message of that name is none of its business. */
static void
conformance_13_9_newest_is_matched(void **state)
{
	struct lmpi_req r = {0};
	struct impi_packet p = packet(IMPI_PK_DATASYNC, 1, 10, 10);
	struct impi_packet c = lam_control(IMPI_PK_CANCEL, 1, 77, 0);
	uint8_t in[10];

	(void)state;
	p.srqid = 77;
	give(&p, 1);
	struct impi_packet other = packet(IMPI_PK_DATASYNC, 2, 10, 10);
	other.srqid = 77;
	give(&other, 3);
	lmpi_irecv(&r, in, 10, 1, 6, 0);
	p.tag = 6;
	give(&p, 2);
	assert_true(r.done && in[0] == 2);
	expect(IMPI_PK_SYNCACK, 1, 77);
	give(&c, 0);
	expect(IMPI_PK_PROTOACK, 1, 0);
	expect(IMPI_PK_CANCELNO, 1, 77);
	assert_int_equal(peers[1].queued, 1);
	assert_int_equal(peers[2].queued, 1);
}

static void
conformance_13_9_our_cancel(void **state)
{
	struct lmpi_req s = {0};
	uint8_t out[250] = {0};

	(void)state;
	/* Yes. */
	lmpi_isend(&s, out, 10, 1, 0, 1, 0, LMPI_SYNC);
	struct impi_packet p = get(NULL);
	lmpi_cancel_send(&s);
	lmpi_cancel_send(&s); /* asked already */
	expect(IMPI_PK_CANCEL, 1, p.srqid);
	expect_nothing();
	assert_false(s.done);
	struct impi_packet a = lam_control(IMPI_PK_CANCELYES, 1, p.srqid, 0);
	give(&a, 0);
	assert_true(s.done && s.cancelled && lmpi_eng.sends == 0 && lmpi_eng.cancels == 0);
	/* No, after the SYNCACK that made it so, of a long one. */
	lmpi_isend(&s, out, 250, 1, 0, 1, 0, LMPI_STANDARD);
	p = get(NULL);
	lmpi_cancel_send(&s);
	struct impi_packet credit = lam_control(IMPI_PK_PROTOACK, 1, 0, 0);
	give(&credit, 0);
	expect(IMPI_PK_CANCEL, 1, p.srqid);
	a = lam_control(IMPI_PK_SYNCACK, 1, p.srqid, 9);
	give(&a, 0);
	expect(IMPI_PK_DATA, 1, p.srqid);
	expect(IMPI_PK_DATA, 1, p.srqid);
	assert_true(s.done && !s.cancelled && lmpi_eng.cancels == 1);
	a = lam_control(IMPI_PK_CANCELNO, 1, p.srqid, 0);
	give(&a, 0);
	expect(IMPI_PK_PROTOACK, 1, 0);
	assert_int_equal(lmpi_eng.cancels, 0);
}

/* What has not left is taken back without a word. */
static void
conformance_13_9_our_cancel_in_the_queue(void **state)
{
	struct lmpi_req s[7] = {0};
	uint8_t out[250] = {0};

	(void)state;
	for (int i = 0; i < 7; i++)
		lmpi_isend(&s[i], out, i == 5 ? 250 : 10, 1, 0, i, 0,
			   i == 6 ? LMPI_SYNC : LMPI_STANDARD);
	lmpi_cancel_send(&s[5]);
	lmpi_cancel_send(&s[6]);
	assert_true(s[5].done && s[5].cancelled && s[6].done && s[6].cancelled);
	lmpi_cancel_send(&s[4]); /* its bytes were copied: it is done */
	assert_true(s[4].done && !s[4].cancelled);
	for (uint32_t i = 0; i < HIWATER; i++)
		expect(IMPI_PK_DATA, 1, 0);
	struct impi_packet credit = lam_control(IMPI_PK_PROTOACK, 1, 0, 0);
	give(&credit, 0);
	expect(IMPI_PK_DATA, 1, 0);
	expect_nothing();
	assert_true(lmpi_eng.outs == 0 && lmpi_eng.sends == 0 && lmpi_eng.send_ids.used == 0);
}

/* --- the end --------------------------------------------------------------------- */

static void
fini_both_ways(void **state)
{
	uint8_t b[IMPI_PACKET_BYTES];

	(void)state;
	/* Early, as LAM/MPI says it; what still comes for flow control is let go. */
	struct impi_packet p = packet(IMPI_PK_DATA, 1, 1, 1);
	for (int i = 0; i < 2; i++)
		give(&p, 0);
	p = lam_control(IMPI_PK_FINI, 1, 0, 0);
	memset(&p.src, 0, sizeof p.src);
	memset(&p.dest, 0, sizeof p.dest);
	p.src.pid = p.dest.pid = UINT64_MAX;
	impi_packet_encode(&p, b);
	assert_int_equal(send(wire, b, sizeof b, 0), sizeof b);
	lmpi_tcp_finish();
	assert_int_equal(get(NULL).type, IMPI_PK_FINI);
	assert_false(lmpi_failing());
}

/* A connection that ends before FINI ends the job. */
static void
end_without_fini(void **state)
{
	(void)state;
	assert_false(lmpi_failing());
	shutdown(wire, SHUT_WR);
	lmpi_tcp_poll();
	assert_true(lmpi_failing());
	lmpi_fail_forget();
}

/* --- what ends the job ------------------------------------------------------------ */

static const struct {
	const char *what;
	uint32_t type, len;
	uint64_t msglen, srqid, drqid;
	int32_t lsrank, tag;
	uint8_t src, dest; /* first byte of the ids */
	bool fails;
} packets[] = {
	{"in order", IMPI_PK_DATA, 10, 10, 0, 0, 1, 5, 0x11, 0x10, false},
	{"odd context and numbers of a control packet", IMPI_PK_CANCEL, 999, 3, 7, 9, -5, -6, 0x11,
	 0x10, false},
	{"unknown type", 8, 0, 0, 0, 0, 0, 0, 0x11, 0x10, true},
	{"payload above DATALEN", IMPI_PK_DATA, DATALEN + 1, DATALEN + 1, 0, 0, 1, 5, 0x11, 0x10,
	 true},
	{"payload above msglen", IMPI_PK_DATASYNC, 10, 9, 1, 0, 1, 5, 0x11, 0x10, true},
	{"unknown source", IMPI_PK_DATA, 1, 1, 0, 0, 1, 5, 0x77, 0x10, true},
	{"source is us", IMPI_PK_DATA, 1, 1, 0, 0, 1, 5, 0x10, 0x10, true},
	{"for somebody else", IMPI_PK_DATA, 1, 1, 0, 0, 1, 5, 0x11, 0x12, true},
	{"negative rank", IMPI_PK_DATA, 1, 1, 0, 0, -1, 5, 0x11, 0x10, true},
	{"negative tag", IMPI_PK_DATASYNC, 1, 1, 3, 0, 1, -5, 0x11, 0x10, true},
	{"rest of nothing", IMPI_PK_DATA, 5, 10, 1, 1, 1, 5, 0x11, 0x10, true},
	{"SYNCACK for nothing", IMPI_PK_SYNCACK, 0, 0, 4294967297, 1, 0, 0, 0x11, 0x10, true},
	{"CANCELYES for nothing", IMPI_PK_CANCELYES, 0, 0, 4294967297, 0, 0, 0, 0x11, 0x10, true},
	{"CANCELNO for nothing", IMPI_PK_CANCELNO, 0, 0, 4294967297, 0, 0, 0, 0x11, 0x10, true},
	{"PROTOACK for nothing", IMPI_PK_PROTOACK, 0, 0, 0, 0, 0, 0, 0x11, 0x10, true},
};

static void
packets_that_end_the_job(void **state)
{
	for (size_t i = 0; i < sizeof packets / sizeof *packets; i++) {
		struct impi_packet p =
			packet(packets[i].type, 1, packets[i].len, packets[i].msglen);
		uint8_t b[IMPI_PACKET_BYTES + DATALEN + 1] = {0};

		printf("  %s\n", packets[i].what);
		if (i > 0)
			set_up(state);
		p.srqid = packets[i].srqid;
		p.drqid = packets[i].drqid;
		p.lsrank = packets[i].lsrank;
		p.tag = packets[i].tag;
		p.cid = packets[i].type == IMPI_PK_CANCEL ? UINT64_MAX : 0;
		impi_packet_encode(&p, b);
		memset(b + IMPI_PACKET_OFF_SRC, packets[i].src, IMPI_PROC_BYTES);
		memset(b + IMPI_PACKET_OFF_DEST, packets[i].dest, IMPI_PROC_BYTES);
		ssize_t n = IMPI_PACKET_BYTES + (ssize_t)impi_packet_payload_bytes(&p);
		assert_int_equal(send(wire, b, (size_t)n, 0), n);
		lmpi_eng.in_transport = true;
		lmpi_tcp_poll();
		lmpi_eng.in_transport = false;
		assert_int_equal(lmpi_failing(), packets[i].fails);
		lmpi_fail_forget();
		for (uint32_t r = 1; r < 3; r++) {
			while (peers[r].out_first) {
				struct lmpi_out *o = peers[r].out_first;
				peers[r].out_first = o->next;
				lmpi_out_done(&lmpi_eng, o, true);
			}
		}
		if (i + 1 < sizeof packets / sizeof *packets)
			tear_down(state);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(short_messages_split_anyhow),
		TEST(conformance_13_7_long_messages_interleaved),
		TEST(sending_long_to_lam),
		TEST(conformance_13_6_credit_per_pair),
		TEST(conformance_13_9_their_cancel),
		TEST(conformance_13_9_newest_is_matched),
		TEST(conformance_13_9_our_cancel),
		TEST(conformance_13_9_our_cancel_in_the_queue),
		TEST(a_header_alone_is_acknowledged_at_once),
		TEST(silence_of_a_host),
		TEST(fini_both_ways),
		TEST(end_without_fini),
		TEST(packets_that_end_the_job),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
