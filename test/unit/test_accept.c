/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is out of descriptors is told to look away from its listener, and nobody else is. */
#include "driver/accept.h"

#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

static int
listen_locally(struct sockaddr_in *at)
{
	socklen_t len = sizeof *at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	*at = (struct sockaddr_in){.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	assert_int_equal(bind(fd, (struct sockaddr *)at, len), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len), 0);
	return fd;
}

static bool
readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void
without_descriptors(void **state)
{
	struct sockaddr_in at, from = {0};
	socklen_t len = sizeof from;
	struct rlimit was, none;
	bool pause = true;
	int listener = listen_locally(&at), caller = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(process_accept(listener, NULL, NULL, &pause), -1);
	assert_int_equal(errno, EAGAIN);
	assert_false(pause);
	assert_int_equal(connect(caller, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){0, was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	int fd = process_accept(listener, NULL, NULL, &pause);
	int err = errno;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(err, EMFILE);
	assert_true(pause);
	assert_true(readable(listener)); /* who polls it now turns without end */
	fd = process_accept(listener, (struct sockaddr *)&from, &len, &pause);
	assert_true(fd >= 0);
	assert_false(pause);
	assert_int_equal(ntohl(from.sin_addr.s_addr), INADDR_LOOPBACK);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	close(caller);
	close(listener);
}

static void
what_is_no_listener(void **state)
{
	int pair[2];
	bool pause = false;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(process_accept(pair[0], NULL, NULL, &pause), -1);
	assert_true(pause);
	close(pair[0]);
	close(pair[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_descriptors),
		cmocka_unit_test(what_is_no_listener),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
