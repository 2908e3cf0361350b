/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections at a port (libmpi/others/guests.h): they are heard side by side, whoever is silent,
 * slow or says something else; one by one they are taken. */
#include "guests.h"

#include "cmocka_all.h"
#include "engine.h"

#include "base/bytes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TOKEN 0x1122334455667788u

struct port {
	int listening;
	struct sockaddr_in at;
	struct lmpi_guests *guests;
	uint64_t now_ns;
	bool idle; /* nobody was taken, or knocks */
};

static bool
say_word(int fd, enum meet_word what, uint64_t token)
{
	uint8_t b[MEET_WORD_BYTES];

	meet_word_write(b, what, token);
	return send(fd, b, sizeof b, 0) == (ssize_t)sizeof b;
}

static struct port
open_port(void)
{
	struct port p = {.listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),
			 .at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
			 .guests = lmpi_guests_new(TOKEN),
			 .now_ns = BASE_S_NS};
	socklen_t len = sizeof p.at;

	assert_non_null(p.guests);
	assert_int_equal(bind(p.listening, (struct sockaddr *)&p.at, sizeof p.at), 0);
	assert_int_equal(listen(p.listening, 1024), 0);
	assert_int_equal(getsockname(p.listening, (struct sockaddr *)&p.at, &len), 0);
	memset(&lmpi_stats, 0, sizeof lmpi_stats);
	return p;
}

static void
close_port(struct port *p)
{
	lmpi_guests_free(p->guests);
	close(p->listening);
}

/* From 127.0.0.host. */
static int
connect_from(const struct port *p, uint8_t host)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(0x7f000000u | host)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&p->at, sizeof p->at), 0);
	return fd;
}

static int
knock_from(const struct port *p, uint8_t host)
{
	int fd = connect_from(p, host);

	assert_true(say_word(fd, MEET_KNOCK, TOKEN));
	return fd;
}

/* A turn at the same moment; the conversation that begins, or -1. */
static int
turn_port(struct port *p)
{
	enum meet_turn turn;
	int fd;

	assert_int_equal(
		lmpi_guests_turn(p->guests, p->listening, false, p->now_ns, p->now_ns, &fd, &turn),
		0);
	p->idle = turn == MEET_TURN_LATE;
	return fd;
}

static bool
hears(int fd, enum meet_word what)
{
	uint8_t b[MEET_WORD_BYTES];

	return recv(fd, b, sizeof b, MSG_DONTWAIT) == (ssize_t)sizeof b &&
	       meet_word_is(b, what, TOKEN);
}

/* Turns until it is; the port's clock stands still, and the kernel delivers when it likes. */
static void
await_taken(struct port *p, int fd)
{
	while (!hears(fd, MEET_TAKEN)) {
		assert_int_equal(turn_port(p), -1);
		usleep(100);
	}
}

static void
await_hung_up(struct port *p, int fd)
{
	char c;

	while (recv(fd, &c, 1, MSG_DONTWAIT) != 0) {
		assert_int_equal(turn_port(p), -1);
		usleep(100);
	}
}

/* After TAKEN. */
static void
begin_conversation(struct port *p, int fd)
{
	char text[16];
	int talk;

	assert_true(say_word(fd, MEET_GO, TOKEN));
	assert_int_equal(send(fd, "first words", 11, 0), 11);
	while ((talk = turn_port(p)) < 0)
		usleep(100);
	struct pollfd wait = {.fd = talk, .events = POLLIN};
	assert_int_equal(poll(&wait, 1, -1), 1);
	assert_int_equal(recv(talk, text, sizeof text, 0), 11); /* nothing of it was taken away */
	close(talk);
}

static void
one_knocks(void **state)
{
	struct port p = open_port();
	int fd = knock_from(&p, 1);

	(void)state;
	await_taken(&p, fd);
	assert_int_equal(turn_port(&p), -1);
	assert_false(p.idle);
	begin_conversation(&p, fd);
	assert_int_equal(turn_port(&p), -1);
	assert_true(p.idle);
	close(fd);
	close_port(&p);
}

static void
one_knocks_by_ipv6(void **state)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	socklen_t len = sizeof at;
	(void)state;
	if (access("/proc/net/if_inet6", F_OK) != 0)
		skip();
	struct port p = open_port();
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	close(p.listening);
	p.listening = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(p.listening, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(p.listening, 1024), 0);
	assert_int_equal(getsockname(p.listening, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, len), 0);
	assert_true(say_word(fd, MEET_KNOCK, TOKEN));
	await_taken(&p, fd);
	begin_conversation(&p, fd);
	close(fd);
	close_port(&p);
}

/* Five hundred of one source were there first; they take no second each, nor any time at all. */
static void
silent_ones_hold_nobody_up(void **state)
{
	static int fd[500];
	struct port p = open_port();

	(void)state;
	for (uint32_t i = 0; i < 500; i++)
		fd[i] = connect_from(&p, 66);
	int honest = knock_from(&p, 1);
	await_taken(&p, honest);
	begin_conversation(&p, honest);
	assert_true(lmpi_stats.knocks_evicted >= 500 - MEET_GUESTS_MAX);
	assert_int_equal(lmpi_stats.knocks_silent, 0);
	/* What is left of them goes after a second. */
	p.now_ns += MEET_GUEST_NS;
	for (uint32_t i = 0; i < 500; i++) {
		await_hung_up(&p, fd[i]);
		close(fd[i]);
	}
	assert_int_equal(lmpi_stats.knocks_evicted + lmpi_stats.knocks_silent, 500);
	close(honest);
	close_port(&p);
}

/* Each from an address of its own: then a second is the longest that they keep their places. */
static void
many_sources_have_a_second(void **state)
{
	static int fd[MEET_GUESTS_MAX];
	struct port p = open_port();

	(void)state;
	for (uint32_t i = 0; i < MEET_GUESTS_MAX; i++)
		fd[i] = connect_from(&p, (uint8_t)(100 + i));
	for (uint32_t i = 0; i < MEET_GUESTS_MAX / MEET_GUESTS_A_TURN; i++)
		assert_int_equal(turn_port(&p), -1);
	int honest = knock_from(&p, 1);
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(turn_port(&p), -1);
		assert_false(hears(honest, MEET_TAKEN));
	}
	p.now_ns += MEET_GUEST_NS;
	await_taken(&p, honest);
	begin_conversation(&p, honest);
	for (uint32_t i = 0; i < MEET_GUESTS_MAX; i++)
		close(fd[i]);
	close(honest);
	close_port(&p);
}

static void
wrong_words_are_hung_up_on(void **state)
{
	struct port p = open_port();
	int other = connect_from(&p, 2), early = connect_from(&p, 3), half = connect_from(&p, 4);
	int token = connect_from(&p, 5), gone = connect_from(&p, 6);

	(void)state;
	assert_int_equal(send(other, "GET / HTTP/1.0\r\n", 16, 0), 16);
	assert_true(say_word(early, MEET_GO, TOKEN));
	assert_int_equal(send(half, "half", 4, 0), 4);
	assert_true(say_word(token, MEET_KNOCK, TOKEN ^ 1));
	close(gone);
	await_hung_up(&p, other);
	await_hung_up(&p, early);
	await_hung_up(&p, token);
	while (lmpi_stats.knocks_wrong < 4)
		assert_int_equal(turn_port(&p), -1);
	/* It is taken, and says anything but GO. */
	int talker = knock_from(&p, 7);
	await_taken(&p, talker);
	assert_true(say_word(talker, MEET_KNOCK, TOKEN));
	await_hung_up(&p, talker);
	assert_int_equal(turn_port(&p), -1);
	assert_true(p.idle);
	assert_int_equal(lmpi_stats.knocks_silent, 0);
	p.now_ns += MEET_GUEST_NS;
	await_hung_up(&p, half);
	assert_int_equal(lmpi_stats.knocks_silent, 1);
	close(other), close(early), close(half), close(token), close(talker);
	close_port(&p);
}

/* Who knocks later waits, here or in the kernel, until the first has begun or is given up; between
 * two calls of the acceptor nobody is forgotten. */
static void
one_by_one(void **state)
{
	struct port p = open_port();
	int first = knock_from(&p, 1);

	(void)state;
	await_taken(&p, first);
	int second = knock_from(&p, 2);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(turn_port(&p), -1);
	assert_false(hears(second, MEET_TAKEN));
	/* The first does not go on. */
	p.now_ns += MEET_GUEST_NS;
	await_hung_up(&p, first);
	await_taken(&p, second);
	int third = knock_from(&p, 3);
	begin_conversation(&p, second);
	p.now_ns += 100 * BASE_S_NS; /* the program computes */
	await_taken(&p, third);
	begin_conversation(&p, third);
	close(first), close(second), close(third);
	close_port(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_knocks),
		cmocka_unit_test(one_knocks_by_ipv6),
		cmocka_unit_test(silent_ones_hold_nobody_up),
		cmocka_unit_test(many_sources_have_a_second),
		cmocka_unit_test(wrong_words_are_hung_up_on),
		cmocka_unit_test(one_by_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
