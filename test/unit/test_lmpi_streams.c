/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi's streams over real sockets: what they carry in whatever pieces, who may begin one, what
 * hostile bytes and deaths come to, and how many there may be.  The bytes themselves are in
 * test_lmpi_stream. */
#include "lmpi_streams_kit.h"

#include <stdlib.h>

enum { LEN = 100000, LONG = 6 << 20, FRAMES = 3, SEATS = 16 };

#define HELLO_S	 10 /* that a connection has to say who it is */
#define BROKEN_S 2  /* until a broken one is told of */

static uint8_t *
bytes_of(size_t n, unsigned salt)
{
	uint8_t *b = malloc(n);

	assert_non_null(b);
	for (size_t i = 0; i < n; i++)
		b[i] = (uint8_t)(i * 7 + i / 251 + salt);
	return b;
}

/* --- what goes and comes ------------------------------------------------------ */

/* HELLO and frames are cut anywhere, and several come at once. */
static void
frames_cut_anywhere(void **state)
{
	static const size_t cut[] = {1, 7, 63, 64, 65, 1000, 4096, 70000, 3 * LEN};
	uint8_t *data = bytes_of(LEN, 0), *all = malloc(FRAMES * (HDR + LEN));

	(void)state;
	assert_non_null(all);
	int fd = stream_from(0);
	for (size_t c = 0; c < sizeof cut / sizeof *cut; c++) {
		struct lmpi_req req[FRAMES] = {0};
		uint8_t *in[FRAMES];
		size_t n = 0, of = c == 0 ? 500 : LEN;
		for (int i = 0; i < FRAMES; i++) {
			in[i] = calloc(1, of);
			struct lmpi_hdr h = announce(0, &req[i], in[i], of);
			memcpy(all + n, &h, HDR);
			memcpy(all + n + HDR, data + i, of - FRAMES);
			memset(all + n + HDR + of - FRAMES, i, FRAMES);
			n += HDR + of;
		}
		for (size_t at = 0; at < n; at += cut[c])
			write_all(fd, all + at, n - at < cut[c] ? n - at : cut[c]);
		TURNS_UNTIL(req[0].done && req[1].done && req[2].done);
		for (int i = 0; i < FRAMES; i++) {
			assert_memory_equal(in[i], data + i, of - FRAMES);
			assert_int_equal(in[i][of - 1], i);
			free(in[i]);
		}
	}
	assert_int_equal(lmpi_stream_counts.opened, 1);
	assert_false(lmpi_failing());
	close(fd);
	free(all);
	free(data);
}

/* What nobody wants any more is read all the same, and what follows is right. */
static void
unwanted_data_is_read_past(void **state)
{
	uint8_t *data = bytes_of(LONG, 1), *in = calloc(1, LONG);
	struct lmpi_req first = {0}, second = {0};

	(void)state;
	int fd = stream_from(0);
	struct lmpi_hdr h = announce(0, &first, in, LONG);
	write_all(fd, &h, HDR);
	write_all(fd, data, LEN);
	TURNS_UNTIL(in[LEN - 1] == data[LEN - 1]);
	lmpi_engine_revoke(&lmpi_eng, CID);
	assert_int_equal(first.error, LMPI_ERR_REVOKED);
	memset(in, 0, LONG);
	write_all(fd, data + LEN, LONG - LEN);
	lmpi_eng.voids.n = 0;
	h = announce(0, &second, in, LEN);
	write_all(fd, &h, HDR);
	write_all(fd, data, LEN);
	TURNS_UNTIL(second.done);
	assert_memory_equal(in, data, LEN);
	assert_int_equal(in[LEN], 0);
	assert_false(lmpi_failing());
	close(fd);
	free(in);
	free(data);
}

/* What has gone when frame k has. */
static uint64_t
ends_at(int k)
{
	return LMPI_STREAM_HELLO + (uint64_t)(k + 1) * (HDR + LONG);
}

/* The socket takes a part at a time; a request is done when all of it has gone, and not before. */
static void
socket_takes_a_part(void **state)
{
	uint8_t *data[FRAMES], *got = malloc(HDR + LONG);
	struct lmpi_req req[FRAMES];
	struct lmpi_hdr h;

	(void)state;
	assert_non_null(got);
	int fd = stream_from(0);
	for (int i = 0; i < FRAMES; i++) {
		data[i] = bytes_of(LONG, (unsigned)i);
		post_data(0, &req[i], data[i], LONG, 50 + (uint64_t)i);
	}
	for (int i = 0; i < 1000; i++)
		turn();
	assert_false(req[2].done || lmpi_streams_drained());
	for (int i = 0; i < FRAMES; i++) {
		for (int k = 0; k < FRAMES; k++)
			assert_int_equal(req[k].done, lmpi_stream_counts.bytes_sent >= ends_at(k));
		read_all(fd, got, HDR + LONG);
		memcpy(&h, got, HDR);
		assert_int_equal(h.type, LMPI_T_DATA);
		assert_int_equal(h.src, ME);
		assert_int_equal(h.drq, 50 + i);
		assert_int_equal(h.msglen, LONG);
		assert_memory_equal(got + HDR, data[i], LONG);
		assert_true(req[i].done);
	}
	assert_true(lmpi_streams_drained());
	assert_int_equal(lmpi_stream_counts.bytes_sent, ends_at(FRAMES - 1));
	assert_int_equal(elsewhere, 0);
	close(fd);
	for (int i = 0; i < FRAMES; i++)
		free(data[i]);
	free(got);
}

/* Who sleeps is woken: when there is room, when something comes, when somebody begins one. */
static void
sleeper_is_woken(void **state)
{
	struct pollfd p = {.fd = lmpi_streams_fd(), .events = POLLIN};
	uint8_t *data = bytes_of(LONG, 0), *got = malloc(LONG);
	struct lmpi_req req[2];

	(void)state;
	assert_int_equal(poll(&p, 1, 0), 0);
	int other = call_us("127.0.0.1");
	assert_int_equal(poll(&p, 1, 10000), 1);
	close(other);
	int fd = stream_from(0);
	post_data(0, &req[0], data, LONG, 1);
	post_data(0, &req[1], data, LONG, 2);
	do
		turn();
	while (poll(&p, 1, 100) > 0); /* full; the kernel's buffers may still grow */
	while (recv(fd, got, LONG, MSG_DONTWAIT) > 0)
		continue;
	assert_int_equal(poll(&p, 1, 10000), 1);
	close(fd);
	free(got);
	free(data);
}

/* --- who begins ------------------------------------------------------------------ */

/* Data goes over Suci until the answer has come. */
static void
ours_is_begun(void **state)
{
	uint8_t *data = bytes_of(LEN, 2), *got = malloc(HDR + LEN), hello[LMPI_STREAM_HELLO];
	struct lmpi_req req;
	int listener = listen_as(2);

	(void)state;
	post_data(2, &req, data, 99, 4); /* too short to be worth one */
	assert_int_equal(elsewhere, 1);
	assert_int_equal(routes[2].stream, 0);
	post_data(2, &req, data, LEN, 5);
	assert_int_equal(elsewhere, 2);
	int fd = accept_ours(listener, 2);
	post_data(2, &req, data, LEN, 6);
	assert_int_equal(elsewhere, 3);
	hello_of(2, ME, hello);
	write_all(fd, hello, 5);
	write_all(fd, hello + 5, sizeof hello - 5);
	TURNS_UNTIL(lmpi_stream_counts.opened == 1);
	post_data(2, &req, data, LEN, 7);
	assert_int_equal(elsewhere, 3);
	read_all(fd, got, HDR + LEN);
	assert_memory_equal(got + HDR, data, LEN);
	assert_true(req.done);
	close(fd);
	close(listener);
	free(got);
	free(data);
}

/* Who answers is somebody else, or says nothing, or is not there: Suci has it from then on. */
static void
ours_is_given_up(void **state)
{
	enum how { NOBODY, OTHER_RANK, GARBAGE, GOES, SILENT, HOWS };
	uint8_t *data = bytes_of(LEN, 3), hello[LMPI_STREAM_HELLO];
	struct lmpi_req req;

	(void)state;
	for (enum how how = NOBODY; how < HOWS; how++) {
		int listener = listen_as(2), fd = -1, before = elsewhere;
		uint64_t refused = lmpi_stream_counts.refused;
		if (how == NOBODY)
			close(listener);
		post_data(2, &req, data, LEN, 5);
		if (how != NOBODY)
			fd = accept_ours(listener, 2);
		hello_of(how == OTHER_RANK ? 0 : 2, ME, hello);
		if (how == GARBAGE)
			memset(hello, 0x5a, sizeof hello);
		if (how == OTHER_RANK || how == GARBAGE)
			write_all(fd, hello, sizeof hello);
		if (how == GOES)
			shutdown(fd, SHUT_WR);
		turn();
		if (how == SILENT) {
			assert_int_not_equal(routes[2].stream, 0);
			ahead_ns += (HELLO_S + 1) * BASE_S_NS;
		}
		TURNS_UNTIL(routes[2].stream == 0);
		assert_int_equal(routes[2].stream_port, 0);
		assert_int_equal(lmpi_stream_counts.refused, refused + 1);
		post_data(2, &req, data, LEN, 5);
		assert_int_equal(elsewhere, before + 2);
		assert_int_equal(routes[2].stream, 0);
		if (how != NOBODY) {
			close(listener);
			close(fd);
		}
	}
	assert_false(lmpi_failing());
	assert_int_equal(lmpi_stream_counts.opened, 0);
	free(data);
}

/* Both begin one: the one that the lower rank began stays, at either end. */
static void
both_begin(void **state)
{
	static const uint32_t other[] = {0, 2};
	uint8_t *data = bytes_of(LEN, 4), hello[LMPI_STREAM_HELLO], answer[LMPI_STREAM_HELLO];
	struct lmpi_req req;

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint32_t r = other[i];
		int listener = listen_as(r);
		post_data(r, &req, data, LEN, 5);
		int ours = accept_ours(listener, r), theirs = call_us("127.0.0.1");
		hello_of(r, ME, hello);
		write_all(theirs, hello, sizeof hello);
		if (r < ME) {
			read_all(theirs, answer, sizeof answer);
			TURNS_UNTIL(is_closed(ours));
		} else {
			TURNS_UNTIL(is_closed(theirs));
			write_all(ours, hello, sizeof hello);
		}
		TURNS_UNTIL(lmpi_stream_counts.opened == (uint64_t)i + 1);
		int at = elsewhere;
		post_data(r, &req, data, LEN, 6);
		assert_int_equal(elsewhere, at);
		/* One more of a process that has one is refused, and the first goes on. */
		int more = call_us("127.0.0.1");
		write_all(more, hello, sizeof hello);
		TURNS_UNTIL(is_closed(more));
		assert_false(is_closed(r < ME ? theirs : ours) && routes[r].stream == 0);
		close(more);
		close(ours);
		close(theirs);
		close(listener);
	}
	free(data);
}

/* --- strangers --------------------------------------------------------------------- */

static const struct {
	const char *what;
	size_t at;
	uint8_t change; /* of that byte */
	uint32_t from;
} stranger[] = {
	{"magic", 0, 1, 0},
	{"version", 2, 3, 0},
	{"kind: a relay", 3, RELAY_HELLO_PROCESS ^ RELAY_HELLO_RELAY, 0},
	{"kind: a gateway", 3, RELAY_HELLO_PROCESS ^ RELAY_HELLO_GATEWAY, 0},
	{"token", 7, 1, 0},
	{"upper half of the token", 20, 1, 0},
	{"for another label", 11, 1, 0},
	{"us", 0, 0, ME},
	{"of our node", 0, 0, 3},
	{"of another client", 0, 0, 5},
	{"rank out of range", 0, 0, PROCS},
	{"rank out of all ranges", 0, 0, UINT32_MAX},
};

static void
strangers_are_sent_away(void **state)
{
	uint8_t hello[LMPI_STREAM_HELLO + 100], *in = calloc(1, LEN), *data = bytes_of(LEN, 5);
	struct lmpi_req req = {0};
	int good = stream_from(0);
	struct lmpi_hdr h = announce(0, &req, in, LEN);

	(void)state;
	write_all(good, &h, HDR);
	for (size_t i = 0; i < sizeof stranger / sizeof *stranger; i++) {
		int fd = call_us("127.0.0.1");
		memset(hello, 0xff, sizeof hello); /* and more, as a frame would be */
		hello_of(stranger[i].from, ME, hello);
		hello[stranger[i].at] ^= stranger[i].change;
		write_all(fd, hello, sizeof hello);
		for (int k = 0; k < MANY && !is_closed(fd); k++)
			turn();
		if (!is_closed(fd) || lmpi_stream_counts.refused != i + 1 || lmpi_failing())
			fail_msg("%s: refused %llu", stranger[i].what,
				 (unsigned long long)lmpi_stream_counts.refused);
		close(fd);
	}
	peers[2].lost = true;
	int fd = call_us("127.0.0.1");
	hello_of(2, ME, hello);
	write_all(fd, hello, LMPI_STREAM_HELLO);
	TURNS_UNTIL(is_closed(fd));
	assert_int_equal(lmpi_stream_counts.opened, 1);
	write_all(good, data, LEN);
	TURNS_UNTIL(req.done);
	assert_memory_equal(in, data, LEN);
	close(fd);
	close(good);
	free(data);
	free(in);
}

/* Who says nothing holds a place for its grace if another wants it, for a while if nobody does. */
static void
silent_ones_make_room(void **state)
{
	int fd[SEATS + 1], one;
	char ip[32];

	(void)state;
	still_ns = suci_udp_now_ns();
	for (int i = 0; i < SEATS; i++) {
		snprintf(ip, sizeof ip, "127.0.1.%d", i + 1);
		fd[i] = call_us(ip);
		turn();
	}
	fd[SEATS] = call_us("127.0.2.1");
	turn();
	for (int i = 0; i <= SEATS; i++)
		assert_false(is_closed(fd[i]));
	still_ns += BASE_MS_NS; /* all of them came a moment ago */
	turn();
	for (int i = 0; i <= SEATS; i++)
		assert_false(is_closed(fd[i]));
	ahead_ns = BASE_S_NS;
	one = stream_from(0);
	assert_true(is_closed(fd[0]) && is_closed(fd[1]));
	for (int i = 2; i <= SEATS; i++)
		assert_false(is_closed(fd[i]));
	assert_int_equal(lmpi_stream_counts.refused, 2);
	ahead_ns = (HELLO_S + 2) * BASE_S_NS;
	for (int i = 2; i <= SEATS; i++)
		TURNS_UNTIL(is_closed(fd[i]));
	assert_false(is_closed(one));
	assert_int_equal(lmpi_stream_counts.refused, SEATS + 1);
	for (int i = 0; i <= SEATS; i++)
		close(fd[i]);
	close(one);
}

/* Each gives back what it had: place, seat, socket. */
static void
places_come_back(void **state)
{
	(void)state;
	for (int i = 0; i < 4 * SEATS; i++) {
		int fd = stream_from(i % 2 ? 0 : 2);
		close(fd);
		TURNS_UNTIL(routes[i % 2 ? 0 : 2].stream == 0);
	}
	assert_int_equal(lmpi_stream_counts.opened, 4 * SEATS);
	assert_int_equal(lmpi_stream_counts.refused, 0);
}

/* LIBMPI_STREAMS_MAX bounds those that lead to processes, whoever begins them. */
static void
no_more_than_are_allowed(void **state)
{
	uint8_t *data = bytes_of(LEN, 6), hello[LMPI_STREAM_HELLO];
	struct lmpi_req req;

	(void)state;
	lmpi_streams_close();
	setenv("LIBMPI_STREAMS_MAX", "1", 1);
	struct suci_addr at = loopback();
	port = lmpi_streams_open(&at);
	int fd = stream_from(0), listener = listen_as(2), other = call_us("127.0.0.1");
	post_data(2, &req, data, LEN, 5);
	assert_int_equal(elsewhere, 1);
	assert_int_equal(accept(listener, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(routes[2].stream_port, 0);
	hello_of(4, ME, hello);
	write_all(other, hello, sizeof hello);
	TURNS_UNTIL(is_closed(other));
	assert_int_equal(lmpi_stream_counts.refused, 2);
	assert_int_equal(lmpi_stream_counts.opened, 1);
	assert_false(is_closed(fd));
	close(fd);
	close(other);
	close(listener);
	free(data);
}

/* --- frames that cannot be --------------------------------------------------------------- */

static const struct {
	const char *what;
	size_t at;
	uint8_t byte;
} malformed[] = {
	{"magic", 0, 0},
	{"of another process", offsetof(struct lmpi_hdr, src), 2},
	{"EAGER", offsetof(struct lmpi_hdr, type), LMPI_T_EAGER},
	{"type 255", offsetof(struct lmpi_hdr, type), 255},
	{"not from the beginning", offsetof(struct lmpi_hdr, offset), 1},
	{"unknown receive", offsetof(struct lmpi_hdr, drq), 0xee},
	{"far too long", offsetof(struct lmpi_hdr, msglen) + 7, 0xff},
};

/* The job ends with a text that names the process, and no byte is written beyond. */
static void
malformed_frame_ends_the_job(void **state)
{
	for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
		uint8_t frame[HDR + 2000], in[1000];
		struct lmpi_req req = {0};
		printf("  %s\n", malformed[i].what);
		memset(in, 0x11, sizeof in);
		memset(frame, 0x22, sizeof frame);
		int fd = stream_from(0);
		struct lmpi_hdr h = announce(0, &req, in, 500);
		memcpy(frame, &h, HDR);
		frame[malformed[i].at] = malformed[i].byte;
		assert_int_equal(send(fd, frame, sizeof frame, 0), sizeof frame);
		for (int k = 0; k < MANY && !lmpi_failing(); k++)
			turn();
		expect_failure("rank 0 ");
		assert_false(req.done);
		for (size_t k = 0; k < sizeof in; k++)
			assert_int_equal(in[k], 0x11);
		TURNS_UNTIL(is_closed(fd));
		close(fd);
		tear_down(state);
		set_up(state);
	}
}

/* --- ends ----------------------------------------------------------------------------------- */

static bool
survive_it(uint32_t world)
{
	return world == 0;
}

/* Amid a frame: it is told after a while, for perhaps somebody knows more; else nobody is told. */
static void
end_amid_a_frame(void **state)
{
	enum how { FAILS, CLOSING, LOST, SURVIVED, HOWS };

	for (enum how how = FAILS; how < HOWS; how++) {
		uint8_t *in = calloc(1, LEN);
		struct lmpi_req req = {0};
		int fd = stream_from(0);
		struct lmpi_hdr h = announce(0, &req, in, LEN);
		write_all(fd, &h, HDR);
		write_all(fd, in, LEN / 2);
		lmpi_eng.closing = how == CLOSING;
		peers[0].lost = how == LOST;
		lmpi_outlive = how == SURVIVED ? survive_it : NULL;
		close(fd);
		if (how == FAILS || how == SURVIVED) {
			TURNS_UNTIL(lmpi_stream_counts.broken == 1);
			for (int i = 0; i < 100; i++)
				turn();
			assert_false(lmpi_failing());
			assert_int_not_equal(routes[0].stream, 0);
			ahead_ns += (BROKEN_S + 1) * BASE_S_NS;
		}
		TURNS_UNTIL(routes[0].stream == 0);
		if (how == FAILS)
			expect_failure("the TCP connection with rank 0 (127.0.0.1) broke: closed "
				       "amid a message; fix: ");
		assert_false(lmpi_failing());
		assert_false(req.done);
		assert_int_equal(lmpi_stream_counts.broken, how == FAILS || how == SURVIVED);
		lmpi_outlive = NULL;
		tear_down(state);
		set_up(state);
		free(in);
	}
}

/* Between frames it is a leave, and what is sent then goes over Suci. */
static void
end_between_frames(void **state)
{
	uint8_t *data = bytes_of(LEN, 8);
	struct lmpi_req req;
	int fd = stream_from(0);

	(void)state;
	close(fd);
	TURNS_UNTIL(routes[0].stream == 0);
	post_data(0, &req, data, LEN, 5);
	assert_int_equal(elsewhere, 1);
	ahead_ns += 10 * BASE_S_NS;
	turn();
	assert_false(lmpi_failing());
	assert_int_equal(lmpi_stream_counts.broken, 0);
	free(data);
}

/* What has not gone is not told as if it had. */
static void
reset_with_data_on_the_way(void **state)
{
	struct linger hard = {.l_onoff = 1};
	uint8_t *data = bytes_of(LONG, 9);
	struct lmpi_req req[2];
	int fd = stream_from(0);

	(void)state;
	post_data(0, &req[0], data, LONG, 1);
	post_data(0, &req[1], data, LONG, 2);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
	close(fd);
	TURNS_UNTIL(lmpi_stream_counts.broken == 1);
	assert_false(req[0].done || req[1].done || lmpi_failing());
	ahead_ns += (BROKEN_S + 1) * BASE_S_NS;
	TURNS_UNTIL(lmpi_failing());
	expect_failure("broke: Connection reset by peer");
	assert_true(lmpi_streams_drained());
	assert_int_equal(routes[0].stream, 0);
	free(data);
}

/* Shunned: closed at once, nothing is asked again, and others go on. */
static void
shunned_is_closed(void **state)
{
	uint8_t *data = bytes_of(LONG, 9);
	struct lmpi_req req;
	int fd = stream_from(0), other = stream_from(2), listener = listen_as(0);

	(void)state;
	post_data(0, &req, data, LONG, 1);
	lmpi_streams_shun(0);
	TURNS_UNTIL(lmpi_streams_drained());
	assert_int_equal(routes[0].stream, 0);
	assert_int_equal(routes[0].stream_port, 0);
	post_data(0, &req, data, LEN, 1);
	assert_int_equal(elsewhere, 1);
	assert_int_equal(accept(listener, NULL, NULL), -1);
	assert_false(is_closed(other));
	assert_int_not_equal(routes[2].stream, 0);
	assert_false(lmpi_failing());
	close(fd);
	close(other);
	close(listener);
	free(data);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_cut_anywhere),
		TEST(unwanted_data_is_read_past),
		TEST(socket_takes_a_part),
		TEST(sleeper_is_woken),
		TEST(ours_is_begun),
		TEST(ours_is_given_up),
		TEST(both_begin),
		TEST(strangers_are_sent_away),
		TEST(silent_ones_make_room),
		TEST(places_come_back),
		TEST(no_more_than_are_allowed),
		TEST(malformed_frame_ends_the_job),
		TEST(end_amid_a_frame),
		TEST(end_between_frames),
		TEST(reset_with_data_on_the_way),
		TEST(shunned_is_closed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
