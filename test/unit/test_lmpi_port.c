/* SPDX-License-Identifier: BSD-2-Clause */
/* Conversations of two roots: what one of them waits for has an end, and its text says whose fault
 * that is. */
#include "others.h"

#include "base/clock.h"
#include "cmocka_all.h"
#include "driver/suci_udp.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MINE   "0123456789"
#define THEIRS "abcdef"

/* There is no loop that would go on meanwhile. */
bool __wrap_lmpi_wait_until(bool (*ready)(void *arg), void *arg, uint64_t deadline_ns);
bool
__wrap_lmpi_wait_until(bool (*ready)(void *arg), void *arg, uint64_t deadline_ns)
{
	while (!ready(arg)) {
		if (suci_udp_now_ns() >= deadline_ns)
			return false;
		(void)usleep(100);
	}
	return true;
}

/* Two ends of a TCP connection; *port: of the far one. */
static void
join_sockets(int fd[2], unsigned *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof at;
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd[0], (struct sockaddr *)&at, sizeof at), 0);
	fd[1] = accept(listener, NULL, NULL);
	assert_true(fd[1] >= 0);
	*port = ntohs(at.sin_port);
	close(listener);
	assert_int_equal(fcntl(fd[0], F_SETFL, O_NONBLOCK), 0);
}

/* The other root says so many bytes of what it should, and hangs up or not. */
static int
swap_with(size_t says, bool hangs_up, bool unsure, char why[LMPI_WHY], char name[64])
{
	unsigned port;
	int fd[2];
	char theirs[sizeof THEIRS] = "";

	join_sockets(fd, &port);
	snprintf(name, 64, "the root at 127.0.0.1:%u", port);
	struct lmpi_talk t = {.fd = fd[0], .door = UINT32_MAX, .swap_s = 0.05};
	meet_talk_init(&t.say, false, 0, 50 * BASE_MS_NS, 25 * BASE_MS_NS);
	t.say.unsure = unsure;
	assert_int_equal(send(fd[1], THEIRS, says, 0), says);
	if (hangs_up)
		close(fd[1]);
	int rc = lmpi_talk_swap(&t, "the cards", MINE, sizeof MINE, theirs, sizeof theirs, why);
	if (rc == 0)
		assert_string_equal(theirs, THEIRS);
	lmpi_talk_end(&t);
	assert_int_equal(t.fd, -1);
	if (!hangs_up) {
		char heard[sizeof MINE] = "";
		assert_int_equal(recv(fd[1], heard, sizeof heard, MSG_WAITALL), sizeof heard);
		assert_string_equal(heard, MINE);
		close(fd[1]);
	}
	return rc;
}

static void
swaps_have_an_end(void **state)
{
	static const struct {
		size_t says;
		bool hangs_up;
		const char *text; /* NULL: it goes well */
	} cases[] = {
		{sizeof THEIRS, false, NULL},
		{0, false, "swapping the cards: 0 of 7 bytes came from the root at "},
		{3, false, "swapping the cards: 3 of 7 bytes came from the root at "},
		{3, true, "went away"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char why[LMPI_WHY] = "", name[64];
		int rc = swap_with(cases[i].says, cases[i].hangs_up, false, why, name);
		print_message("  %zu bytes: %s\n", cases[i].says, why);
		assert_int_equal(rc != 0, cases[i].text != NULL);
		if (cases[i].text) {
			assert_non_null(strstr(why, cases[i].text));
			assert_non_null(strstr(why, name));
		}
	}
}

/* Who gave up before it heard that it was accepted is told from who is late. */
static void
who_had_given_up_is_told_apart(void **state)
{
	char why[LMPI_WHY], name[64];

	(void)state;
	assert_int_equal(swap_with(3, true, true, why, name), LMPI_TALK_GONE);
	assert_int_not_equal(swap_with(3, false, true, why, name), LMPI_TALK_GONE);
	assert_int_equal(swap_with(sizeof THEIRS, false, true, why, name), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(swaps_have_an_end),
		cmocka_unit_test(who_had_given_up_is_told_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
