/* SPDX-License-Identifier: BSD-2-Clause */
/* Two processes with their engines' threads: all that program and thread share is touched by both
 * at once, which ThreadSanitizer looks at (make unit-threaded).  Short and long messages, receives
 * posted early and late, an area that is full, in a node's memory and over the socket. */
#include "mmp.h"

#include "cmocka_all.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 40
#define EACH   24 /* messages of a round, each way */
#define LONG   50000u

static unsigned char in[EACH][LONG], out[LONG];

static size_t
letter_length(int from, int round, int k)
{
	static const size_t lengths[] = {0, 1, 20, 21, 300, 5000, LONG};
	return lengths[(size_t)(from + 3 * round + k) % (sizeof lengths / sizeof *lengths)];
}

static unsigned char
letter_byte(int from, int round, int k)
{
	return (unsigned char)(100 * from + 7 * round + k);
}

/* false: what came is not what was sent. */
static bool
talk_once(int me, int round)
{
	mp_handle r[EACH], s[EACH];
	int early = round % 3 ? EACH : EACH / 2;
	for (int k = 0; k < early; k++)
		r[k] = MP_receive(!me, in[k], LONG);
	for (int k = 0; k < EACH; k++) {
		size_t n = letter_length(me, round, k);
		memset(out, letter_byte(me, round, k), n);
		s[k] = MP_send(!me, out, n);
		if (s[k] >= 0 && s[k] & MP_KEPT && MP_wait(s[k], NULL) < 0)
			return false;
	}
	for (int k = early; k < EACH; k++)
		r[k] = MP_receive(!me, in[k], LONG);
	for (int k = 0; k < EACH; k++) {
		size_t n = letter_length(!me, round, k);
		if (MP_wait(r[k], NULL) != (int64_t)n)
			return false;
		for (size_t i = 0; i < n; i++)
			if (in[k][i] != letter_byte(!me, round, k))
				return false;
		if (!(s[k] & MP_KEPT) && MP_wait(s[k], NULL) < 0)
			return false;
	}
	return MP_barrier() == 0;
}

static int
be_rank(int me, const char *hosts, bool shm)
{
	setenv("LIBMMP_RANK", me ? "1" : "0", 1);
	setenv("LIBMMP_PROGRESS", "thread", 1);
	setenv("LIBMMP_AREA", "256K", 1);
	setenv("LIBMMP_SHM", shm ? "1" : "0", 1);
	unsetenv("LIBMMP_FRAGMENT");
	int rc = MP_init(hosts) < 0;
	for (int i = 0; !rc && i < ROUNDS; i++)
		rc = !talk_once(me, i);
	if (rc)
		fprintf(stderr, "rank %d: %s\n", me, MP_error());
	rc |= MP_finalize() < 0;
	return rc;
}

/* Two ports that nobody has; they are taken again at once. */
static void
write_hosts(const char *file)
{
	struct sockaddr_in at[2];
	int fd[2];
	for (int i = 0; i < 2; i++) {
		socklen_t len = sizeof at[i];
		at[i] = (struct sockaddr_in){.sin_family = AF_INET};
		at[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		fd[i] = socket(AF_INET, SOCK_DGRAM, 0);
		assert_return_code(bind(fd[i], (struct sockaddr *)&at[i], len), 0);
		assert_return_code(getsockname(fd[i], (struct sockaddr *)&at[i], &len), 0);
	}
	FILE *f = fopen(file, "we");
	assert_non_null(f);
	for (int i = 0; i < 2; i++) {
		fprintf(f, "127.0.0.1 %u\n", ntohs(at[i].sin_port));
		close(fd[i]);
	}
	assert_int_equal(fclose(f), 0);
}

static void
two_talk(bool shm)
{
	char file[] = "/tmp/test_mmp_thread.XXXXXX";
	pid_t pid[2];
	int fd = mkstemp(file), status;
	assert_true(fd >= 0);
	close(fd);
	write_hosts(file);
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		assert_return_code(pid[i], 0);
		if (!pid[i])
			exit(be_rank(i, file, shm));
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	unlink(file);
}

static void
threads_in_a_node(void **state)
{
	(void)state;
	two_talk(true);
}

static void
threads_over_the_socket(void **state)
{
	(void)state;
	two_talk(false);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_in_a_node),
		cmocka_unit_test(threads_over_the_socket),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
