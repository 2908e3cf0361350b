/* SPDX-License-Identifier: BSD-2-Clause */
/* gateway/gateway.h: channel to channel, without lanes. */
#include "cmocka_all.h"

#define KIT_BUF (1u << 20)
#include "gateway_kit.h"

static void
expect_failed(struct kit *k, const char *text)
{
	assert_int_equal(k->failed, 1);
	if (!strstr(k->why, text))
		fail_msg("\"%s\" does not say \"%s\"", k->why, text);
	for (int i = 0; i < KIT_CHANS; i++)
		assert_true(k->ch[i].closed);
	assert_int_equal(gw_held_bytes(k->g), 0);
	kit_check(k);
}

static void
test_identification(void **state)
{
	(void)state;
	struct kit *k = kit_new(1 << 20);
	struct gw_channel_info info;
	uint8_t id[4] = {0, 0, 0, 1};
	assert_int_equal(gw_job_add(k->g, &k->job, k->l.now_ns), 0);
	assert_int_equal(gw_job_add(k->g, &k->job, k->l.now_ns), GW_ERR_EXISTS);
	assert_true(gw_channel(k->g, k->ch[0].chan, &info));
	assert_true(info.connects);
	assert_int_equal(info.local_ip, 0x0a000064);
	assert_int_equal(info.remote_ip, 0x0a000007);
	assert_int_equal(info.remote_port, 4000);
	assert_true(gw_channel(k->g, k->ch[2].chan, &info));
	assert_false(info.connects);
	/* Nobody: wrong rank, port, address; a host we connect to ourselves. */
	id[3] = 2;
	assert_int_equal(gw_accept(k->g, 0xc0000201, 5001, 1, id, k->l.now_ns), UINT32_MAX);
	id[3] = 1;
	assert_int_equal(gw_accept(k->g, 0xc0000201, 5000, 1, id, k->l.now_ns), UINT32_MAX);
	assert_int_equal(gw_accept(k->g, 0xc0000202, 5001, 1, id, k->l.now_ns), UINT32_MAX);
	id[3] = 0;
	assert_int_equal(gw_accept(k->g, 0x0a000064, 5000, 1, id, k->l.now_ns), UINT32_MAX);
	id[3] = 1;
	assert_int_equal(gw_accept(k->g, 0xc0000201, 5001, 1, id, k->l.now_ns), k->ch[2].chan);
	/* The same rank once more. */
	assert_int_equal(gw_accept(k->g, 0xc0000201, 5001, 1, id, k->l.now_ns), UINT32_MAX);
	assert_int_equal(gw_counters(k->g)->strangers, 5);
	/* The 4 bytes leave in whatever pieces. */
	k->ch[0].room = 1;
	gw_channel_connected(k->g, k->ch[0].chan, k->l.now_ns);
	assert_int_equal(k->ch[0].ngot, 1);
	k->ch[0].room = SIZE_MAX;
	kit_write(k, &k->ch[0]);
	assert_int_equal(k->ch[0].ngot, 4);
	assert_int_equal(be32_load(k->ch[0].got), 1);
	kit_free(k);
}

static void
test_connect_again_then_give_up(void **state)
{
	(void)state;
	struct kit *k = kit_new(1 << 20);
	assert_int_equal(gw_job_add(k->g, &k->job, k->l.now_ns), 0);
	for (int i = 0; i < 5; i++) {
		assert_true(k->ch[0].opened);
		gw_channel_connect_failed(k->g, k->ch[0].chan, "Connection refused", k->l.now_ns);
		k->ch[0].opened = false;
		k->l.now_ns += 99 * BASE_MS_NS;
		gw_tick(k->g, k->l.now_ns);
		assert_false(k->ch[0].opened);
		k->l.now_ns += BASE_MS_NS;
		assert_true(gw_expiry_ns(k->g) <= k->l.now_ns);
		gw_tick(k->g, k->l.now_ns);
	}
	k->l.now_ns += 60 * BASE_S_NS;
	gw_tick(k->g, k->l.now_ns);
	assert_int_equal(k->failed, 1);
	assert_int_equal(gw_counters(k->g)->failed_connect, 1);
	assert_non_null(strstr(k->why, "client "));
	kit_free(k);
}

/* Sizes at and around every boundary, both ways, bytes as they were but for the ids. */
static void
test_sizes(void **state)
{
	(void)state;
	static const uint32_t size[] = {0,    1,    63,	  64,	65,   1023, 1024,
					1025, 2048, 4000, 4095, 4096, 0,    7};
	struct kit *k = kit_new(1 << 20);
	kit_up(k);
	for (uint32_t i = 0; i < 14; i++) {
		kit_say(k, 0, i & 1 ? IMPI_PK_DATASYNC : IMPI_PK_DATA, 0, 2, size[i], i);
		kit_say(k, 2, i & 1 ? IMPI_PK_DATA : IMPI_PK_DATASYNC, 3, 1, size[i], 100 + i);
	}
	kit_read_all(k, SIZE_MAX);
	for (uint32_t i = 0; i < 14; i++) {
		kit_heard(k, 2, i & 1 ? IMPI_PK_DATASYNC : IMPI_PK_DATA, 0, 2, size[i], i);
		kit_heard(k, 0, i & 1 ? IMPI_PK_DATA : IMPI_PK_DATASYNC, 3, 1, size[i], 100 + i);
	}
	assert_int_equal(gw_counters(k->g)->direct, 28);
	assert_int_equal(gw_counters(k->g)->rx_tcp, 28);
	assert_int_equal(gw_held_bytes(k->g), 0);
	kit_free(k);
}

static void
say_mix(struct kit *k)
{
	kit_say(k, 0, IMPI_PK_DATA, 0, 2, 5, 1);
	kit_say(k, 0, IMPI_PK_SYNCACK, 1, 3, 0, 2);
	kit_say(k, 0, IMPI_PK_DATA, 1, 2, 0, 3);
	kit_say(k, 0, IMPI_PK_CANCELNO, 0, 2, 0, 4);
	kit_say(k, 0, IMPI_PK_DATASYNC, 0, 2, 70, 5);
}

static void
hear_mix(struct kit *k)
{
	uint32_t order[8] = {0}, n = 0;
	k->ch[2].at = 0;
	while (k->ch[2].at < k->ch[2].ngot) {
		size_t at = k->ch[2].at;
		struct impi_packet p = kit_next(k, 2);
		uint32_t src = (uint32_t)p.lsrank, len = impi_packet_payload_bytes(&p);
		k->ch[2].at = at;
		kit_heard(k, 2, p.type, src, p.seqnum == 2 ? 3 : 2, len, (uint32_t)p.seqnum);
		order[n++] = (uint32_t)p.seqnum;
	}
	assert_int_equal(n, 5);
	uint32_t last = 0; /* in order for the pair 0 -> 2 */
	for (uint32_t i = 0; i < n; i++)
		if (order[i] != 2 && order[i] != 3) {
			assert_true(order[i] > last);
			last = order[i];
		}
}

/* LAM's control packets (pk_len 128, no payload) pass as they are; the stream may be cut
 * anywhere and the socket take any number of bytes. */
static void
test_cut_at_every_byte(void **state)
{
	(void)state;
	size_t total = 5 * IMPI_PACKET_BYTES + 75;
	for (size_t at = 1; at < total; at++) {
		struct kit *k = kit_new(1 << 20);
		kit_up(k);
		say_mix(k);
		assert_int_equal(k->ch[0].nsend, total);
		assert_true(kit_read(k, &k->ch[0], at));
		kit_check(k);
		kit_read_all(k, SIZE_MAX);
		hear_mix(k);
		kit_free(k);
	}
	for (size_t piece = 1; piece < 140; piece += 1 + piece / 8) {
		struct kit *k = kit_new(1 << 20);
		kit_up(k);
		say_mix(k);
		k->iov_max = 2;
		k->ch[2].room = 0;
		while (k->ch[2].ngot < total) {
			kit_read_all(k, piece);
			k->ch[2].room = piece;
			kit_write(k, &k->ch[2]);
			kit_check(k);
		}
		hear_mix(k);
		kit_free(k);
	}
}

/* hiwater packets may be under way, one more is one too many; an acknowledgement
 * makes room for ackmark. */
static void
test_credit(void **state)
{
	(void)state;
	static const uint32_t marks[][2] = {{1, 1}, {7, 7}, {10, 20}};
	for (int m = 0; m < 3; m++) {
		struct kit *k = kit_new(1 << 20);
		k->job.ackmark = marks[m][0];
		k->job.hiwater = marks[m][1];
		kit_up(k);
		for (uint32_t i = 0; i < marks[m][1]; i++) {
			kit_say(k, 0, i % 3 ? IMPI_PK_DATA : IMPI_PK_SYNCACK, 0, 2, 10, i);
			kit_say(k, 0, IMPI_PK_DATA, 1, 2, 10, i); /* another pair */
			kit_say(k, 2, IMPI_PK_DATA, 2, 0, 10, i); /* the other way */
		}
		kit_read_all(k, SIZE_MAX);
		assert_int_equal(k->failed, 0);
		/* Acknowledged while the other direction has no credit left. */
		kit_say(k, 2, IMPI_PK_PROTOACK, 2, 0, 0, 0);
		kit_read_all(k, SIZE_MAX);
		for (uint32_t i = 0; i < marks[m][0]; i++)
			kit_say(k, 0, IMPI_PK_DATA, 0, 2, 10, 50 + i);
		kit_read_all(k, SIZE_MAX);
		assert_int_equal(k->failed, 0);
		kit_say(k, 0, IMPI_PK_CANCEL, 0, 2, 10, 99);
		kit_read_all(k, SIZE_MAX);
		expect_failed(k, "HIWATER) from process 0 to 2");
		assert_int_equal(gw_counters(k->g)->failed_protocol, 1);
		kit_free(k);
	}
}

/* PROTOACK goes before data that waits, never into a packet. */
static void
test_protoack_first(void **state)
{
	(void)state;
	struct kit *k = kit_new(1 << 20);
	k->job.ackmark = 1;
	kit_up(k);
	kit_say(k, 0, IMPI_PK_DATA, 0, 2, 10, 0);
	kit_read_all(k, SIZE_MAX);
	kit_heard(k, 2, IMPI_PK_DATA, 0, 2, 10, 0);
	/* Host 0's socket takes part of a packet, then nothing. */
	k->ch[0].room = 130;
	for (uint32_t i = 0; i < 6; i++)
		kit_say(k, 2, IMPI_PK_DATA, 2, 0, 300, i);
	kit_read_all(k, SIZE_MAX);
	assert_int_equal(k->ch[0].ngot, 4 + 130);
	kit_say(k, 2, IMPI_PK_PROTOACK, 2, 0, 0, 77);
	kit_read_all(k, SIZE_MAX);
	k->ch[0].room = SIZE_MAX;
	kit_write(k, &k->ch[0]);
	kit_heard(k, 0, IMPI_PK_DATA, 2, 0, 300, 0);
	kit_heard(k, 0, IMPI_PK_PROTOACK, 2, 0, 0, 77);
	for (uint32_t i = 1; i < 6; i++)
		kit_heard(k, 0, IMPI_PK_DATA, 2, 0, 300, i);
	kit_free(k);
}

/* Pairs take turns: who comes last is not behind all that waits. */
static void
test_round_robin(void **state)
{
	(void)state;
	struct kit *k = kit_new(1 << 20);
	kit_up(k);
	k->ch[2].room = 0;
	for (uint32_t i = 0; i < 15; i++)
		kit_say(k, 0, IMPI_PK_DATA, 0, 2, 100, i);
	kit_say(k, 0, IMPI_PK_DATA, 1, 2, 100, 50);
	kit_say(k, 0, IMPI_PK_DATA, 1, 3, 100, 60);
	kit_read_all(k, SIZE_MAX);
	k->ch[2].room = SIZE_MAX;
	kit_write(k, &k->ch[2]);
	kit_heard(k, 2, IMPI_PK_DATA, 0, 2, 100, 0);
	kit_heard(k, 2, IMPI_PK_DATA, 1, 2, 100, 50);
	kit_heard(k, 2, IMPI_PK_DATA, 1, 3, 100, 60);
	for (uint32_t i = 1; i < 15; i++)
		kit_heard(k, 2, IMPI_PK_DATA, 0, 2, 100, i);
	kit_free(k);
}

struct bad {
	const char *what;
	void (*make)(struct kit *k);
	const char *says;
};

#define AT(k)	     ((k)->ch[0].send + (k)->ch[0].nsend)
#define BAD(name)    static void bad_##name(struct kit *k)
#define PUT(k, n)    ((k)->ch[0].nsend += (n))
#define DATA(k, ...) kit_packet(k, AT(k), 0, IMPI_PK_DATA, __VA_ARGS__)

BAD(type)
{
	size_t n = DATA(k, 0, 2, 4, 0);
	be32_store(AT(k), 8);
	PUT(k, n);
}
BAD(overlong)
{
	size_t n = DATA(k, 0, 2, 4096, 0);
	be32_store(AT(k) + 4, 4097);
	be64_store(AT(k) + 72, 4097);
	PUT(k, n);
}
BAD(msglen)
{
	size_t n = DATA(k, 0, 2, 4, 0);
	be64_store(AT(k) + 72, 3);
	PUT(k, n);
}
BAD(source)
{
	size_t n = DATA(k, 0, 2, 4, 0);
	AT(k)[20] ^= 1;
	PUT(k, n);
}
BAD(source_pid)
{
	size_t n = DATA(k, 0, 2, 4, 0);
	AT(k)[24] ^= 1;
	PUT(k, n);
}
BAD(foreign_source)
{
	PUT(k, DATA(k, 2, 2, 4, 0));
}
BAD(dest)
{
	size_t n = DATA(k, 0, 2, 4, 0);
	AT(k)[55] ^= 0x80;
	PUT(k, n);
}
BAD(other_gate)
{
	PUT(k, DATA(k, 0, 4, 4, 0));
}
BAD(itself)
{
	PUT(k, DATA(k, 0, 1, 4, 0));
}
BAD(global_id)
{
	size_t n = DATA(k, 0, 2, 4, 0);
	memcpy(AT(k) + 32, k->global_id[2], 24);
	PUT(k, n);
}
BAD(ack)
{
	PUT(k, kit_packet(k, AT(k), 0, IMPI_PK_PROTOACK, 0, 2, 0, 0));
}
BAD(after_fini)
{
	kit_say_fini(k, 0);
	PUT(k, DATA(k, 0, 2, 4, 0));
}
BAD(two_finis)
{
	k->ch[0].room = 0; /* ours has not left, so the channel is still there */
	kit_say_fini(k, 0);
	kit_say_fini(k, 0);
}

static const struct bad bads[] = {
	{"type", bad_type, "unknown packet type"},
	{"overlong", bad_overlong, "longer than DATALEN"},
	{"msglen", bad_msglen, "longer than its message"},
	{"source", bad_source, "source is no process"},
	{"source pid", bad_source_pid, "source is no process"},
	{"foreign source", bad_foreign_source, "from process 2, which is not its own"},
	{"dest", bad_dest, "from process 0 to no process"},
	{"other gate", bad_other_gate, "for process 4 to our gate 1"},
	{"itself", bad_itself, "for process 1 to our gate 1"},
	{"global id", bad_global_id, "to no process"},
	{"ack", bad_ack, "acknowledges packets from process 2 to 0 that were not sent"},
	{"after fini", bad_after_fini, "after its FINI"},
	{"two finis", bad_two_finis, "after its FINI"},
};

/* Each way to break the protocol: the job fails with host, client, address and what. */
static void
test_misbehaviour(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++)
		for (size_t cut = 1; cut < 5000; cut *= 17) {
			struct kit *k = kit_new(1 << 20);
			kit_up(k);
			if (bads[i].make == bad_after_fini)
				k->ch[0].room = 0;
			kit_say(k, 0, IMPI_PK_DATA, 0, 2, 3, 0);
			bads[i].make(k);
			kit_read_all(k, cut);
			expect_failed(k, bads[i].says);
			assert_non_null(strstr(k->why, "host 0 of client 0 (10.0.0.7:4000)"));
			assert_int_equal(gw_counters(k->g)->failed_protocol, 1);
			kit_free(k);
		}
}

static void
test_eof(void **state)
{
	(void)state;
	static const char *const text[] = {NULL, "Connection reset by peer"};
	for (int i = 0; i < 4; i++) {
		struct kit *k = kit_new(1 << 20);
		kit_up(k);
		kit_say(k, 0, IMPI_PK_DATA, 0, 2, 100, 0);
		kit_read(k, &k->ch[0], i & 2 ? 140 : SIZE_MAX);
		gw_channel_eof(k->g, k->ch[0].chan, text[i & 1], k->l.now_ns);
		expect_failed(k, i & 1	 ? "reset by peer"
				 : i & 2 ? "inside a packet"
					 : "without FINI");
		assert_int_equal(gw_counters(k->g)->failed_eof, 1);
		kit_free(k);
	}
}

/* FINI is answered once all that waits has left; then the channel is closed. */
static void
test_fini(void **state)
{
	(void)state;
	struct kit *k = kit_new(1 << 20);
	struct gw_channel_info info;
	kit_up(k);
	k->ch[0].room = 10;
	kit_say(k, 2, IMPI_PK_DATA, 2, 0, 100, 0);
	kit_read_all(k, SIZE_MAX);
	kit_say_fini(k, 0);
	kit_read_all(k, SIZE_MAX);
	assert_false(k->ch[0].closed);
	k->ch[0].room = SIZE_MAX;
	kit_write(k, &k->ch[0]);
	kit_heard(k, 0, IMPI_PK_DATA, 2, 0, 100, 0);
	kit_heard_fini(k, 0);
	assert_true(k->ch[0].closed);
	assert_true(gw_channel(k->g, k->ch[0].chan, &info));
	assert_true(info.over && !info.up && info.fini_rx && info.fini_tx);
	/* What is late is dropped, and counted. */
	kit_say(k, 2, IMPI_PK_PROTOACK, 2, 0, 0, 0);
	kit_say(k, 2, IMPI_PK_DATA, 2, 0, 5, 0);
	k->failed = 0;
	kit_read_all(k, SIZE_MAX);
	assert_int_equal(k->failed, 1); /* the acknowledgement was for nothing */
	kit_free(k);

	k = kit_new(1 << 20);
	kit_up(k);
	kit_say_fini(k, 0);
	kit_read_all(k, SIZE_MAX);
	kit_heard_fini(k, 0);
	kit_say(k, 2, IMPI_PK_DATA, 2, 0, 5, 0);
	kit_read_all(k, SIZE_MAX);
	assert_int_equal(k->failed, 0);
	assert_int_equal(gw_counters(k->g)->drop_after_fini, 1);
	/* The end of the job: FINI without waiting for the host's, then its answer. */
	assert_int_equal(gw_job_finish(k->g, KIT_BASE, k->l.now_ns), 0);
	kit_heard_fini(k, 2);
	kit_heard_fini(k, 1);
	assert_int_equal(k->finished, 0);
	kit_say_fini(k, 2);
	kit_say_fini(k, 1);
	kit_read_all(k, 1);
	assert_int_equal(k->finished, 1);
	assert_string_equal(k->why, "");
	assert_int_equal(gw_job_finish(k->g, KIT_BASE, k->l.now_ns), GW_ERR_NOTFOUND);
	for (int i = 0; i < KIT_CHANS; i++)
		assert_true(k->ch[i].closed);
	/* The label base may come again. */
	for (int i = 0; i < KIT_CHANS; i++)
		k->ch[i] = (struct kit_chan){
			.got = k->ch[i].got, .send = k->ch[i].send, .room = SIZE_MAX};
	kit_up(k);
	kit_free(k);
}

/* A host that closes after its FINI and before ours wants nothing any more. */
static void
test_close_after_fini(void **state)
{
	(void)state;
	struct kit *k = kit_new(1 << 20);
	kit_up(k);
	k->ch[0].room = 0;
	kit_say(k, 2, IMPI_PK_DATA, 2, 0, 100, 0);
	kit_say_fini(k, 0);
	kit_read_all(k, SIZE_MAX);
	gw_channel_eof(k->g, k->ch[0].chan, NULL, k->l.now_ns);
	kit_check(k);
	assert_int_equal(k->failed, 0);
	assert_true(k->ch[0].closed);
	assert_int_equal(gw_counters(k->g)->drop_after_fini, 1);
	kit_free(k);
}

static void
test_finish_lingers(void **state)
{
	(void)state;
	struct kit *k = kit_new(1 << 20);
	kit_up(k);
	assert_int_equal(gw_job_finish(k->g, KIT_BASE, k->l.now_ns), 0);
	k->l.now_ns += 29 * BASE_S_NS;
	gw_tick(k->g, k->l.now_ns);
	assert_int_equal(k->finished, 0);
	k->l.now_ns += 2 * BASE_S_NS;
	assert_true(gw_expiry_ns(k->g) <= k->l.now_ns);
	gw_tick(k->g, k->l.now_ns);
	assert_int_equal(k->finished, 1);
	assert_non_null(strstr(k->why, "did not send FINI in time"));
	assert_int_equal(k->failed, 0);
	kit_free(k);
}

static void
test_abort(void **state)
{
	(void)state;
	struct kit *k = kit_new(1 << 20);
	kit_up(k);
	k->ch[2].room = 0;
	kit_say(k, 0, IMPI_PK_DATA, 0, 2, 100, 0);
	kit_read_all(k, SIZE_MAX);
	assert_true(gw_held_bytes(k->g) > 0);
	assert_int_equal(gw_job_abort(k->g, KIT_BASE, "test", k->l.now_ns), 0);
	assert_int_equal(gw_counters(k->g)->drop_job_over, 1);
	assert_int_equal(gw_held_bytes(k->g), 0);
	assert_int_equal(k->failed + k->finished, 0);
	for (int i = 0; i < KIT_CHANS; i++)
		assert_true(k->ch[i].closed);
	kit_free(k);
}

static void
test_bad_tables(void **state)
{
	(void)state;
	struct kit *k = kit_new(1 << 20);
	struct relay_job good = k->job;
	k->job.datalen = 0;
	assert_int_equal(gw_job_add(k->g, &k->job, 0), GW_ERR_INVAL);
	k->job = good;
	k->job.ackmark = 21;
	assert_int_equal(gw_job_add(k->g, &k->job, 0), GW_ERR_INVAL);
	k->job = good;
	k->job.label_base = 0x40;
	assert_int_equal(gw_job_add(k->g, &k->job, 0), GW_ERR_INVAL);
	k->job = good;
	k->job.datalen = 2 << 20;
	assert_int_equal(gw_job_add(k->g, &k->job, 0), GW_ERR_NOMEM);
	k->job = good;
	k->gate[1].nprocs = 5;
	assert_int_equal(gw_job_add(k->g, &k->job, 0), GW_ERR_INVAL);
	k->gate[1].nprocs = 4;
	k->foreign[1].first_rank = 7;
	assert_int_equal(gw_job_add(k->g, &k->job, 0), GW_ERR_INVAL);
	k->foreign[1].first_rank = 2;
	memset(k->foreign[0].addr, 1, 16); /* IPv6, and the gates connect to it */
	assert_int_equal(gw_job_add(k->g, &k->job, 0), GW_ERR_ADDRESS);
	impi_addr_from_ipv4(k->foreign[0].addr, 0x0a000007);
	memcpy(k->private_id[5], k->private_id[3], RELAY_PROC_ID_LEN);
	assert_int_equal(gw_job_add(k->g, &k->job, 0), GW_ERR_INVAL);
	assert_false(k->ch[0].opened);
	kit_table(k);
	kit_up(k);
	kit_free(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identification),
		cmocka_unit_test(test_connect_again_then_give_up),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_cut_at_every_byte),
		cmocka_unit_test(test_credit),
		cmocka_unit_test(test_protoack_first),
		cmocka_unit_test(test_round_robin),
		cmocka_unit_test(test_misbehaviour),
		cmocka_unit_test(test_eof),
		cmocka_unit_test(test_fini),
		cmocka_unit_test(test_close_after_fini),
		cmocka_unit_test(test_finish_lingers),
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test_bad_tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
