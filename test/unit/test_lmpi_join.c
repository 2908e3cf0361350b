/* SPDX-License-Identifier: BSD-2-Clause */
/* Joining a job whose IMPI server takes its time: DONE goes out when every label is answered. */
#include "boot.h"
#include "cmocka_all.h"

#include "base/bytes.h"
#include "impi/wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LABELS	8 /* the last ones that wait for their answers */
#define TOKEN	0x7123456700000063u
#define HELD_MS 300 /* for a DONE that comes too early */

/* A server of one client that answers the last labels only when it has waited for what else
 * comes, as one does that waits for other clients. */
struct slow_server {
	int listener, fd;
	uint32_t held_back;
	bool done_early, done, fini;
	uint64_t pid; /* that the client announced */
};

static bool
take(struct slow_server *s, void *to, size_t n)
{
	return recv(s->fd, to, n, MSG_WAITALL) == (ssize_t)n;
}

static void
give(struct slow_server *s, const void *from, size_t n)
{
	assert_int_equal(send(s->fd, from, n, MSG_NOSIGNAL), n);
}

static void
answer(struct slow_server *s, const uint8_t *command, uint32_t len)
{
	uint8_t head[16];

	be32_store(head, IMPI_CMD_COLL);
	be32_store(head + 4, len + 4); /* a mask more than it had */
	memcpy(head + 8, command + 8, 4);
	be32_store(head + 12, 1);
	give(s, head, sizeof head);
	give(s, command + 12, len - 4);
}

static void
welcome(struct slow_server *s)
{
	static const uint8_t no_key[8] = {0};
	uint8_t b[12], size[12];

	assert_true(take(s, b, sizeof b) && be32_load(b) == IMPI_CMD_AUTH);
	give(s, no_key, sizeof no_key);
	assert_true(take(s, b, sizeof b) && be32_load(b) == IMPI_CMD_IMPI);
	be32_store(size, IMPI_CMD_IMPI);
	be32_store(size + 4, 4);
	be32_store(size + 8, 1);
	give(s, size, sizeof size);
}

/* The rest of the client's commands; held: answers wait until nothing more comes. */
static void
serve(struct slow_server *s)
{
	static uint8_t command[LABELS][4096];
	uint32_t len[LABELS], seen = 0, held = 0;
	uint8_t head[8];

	for (;;) {
		struct pollfd p = {.fd = s->fd, .events = POLLIN};
		if (held && poll(&p, 1, HELD_MS) == 0) {
			for (uint32_t i = 0; i < held; i++)
				answer(s, command[i], len[i]);
			s->held_back += held;
			held = 0;
		}
		if (!take(s, head, sizeof head) || be32_load(head) != IMPI_CMD_COLL)
			break;
		uint32_t n = be32_load(head + 4), i = seen++ >= IMPI_NLABELS - LABELS ? held : 0;
		assert_true(n >= 4 && n <= sizeof command[0] - 8 && i < LABELS);
		memcpy(command[i], head, 8);
		assert_true(take(s, command[i] + 8, n));
		len[i] = n;
		if (be32_load(command[i] + 8) == IMPI_P_PID)
			s->pid = be64_load(command[i] + 12);
		if (seen > IMPI_NLABELS - LABELS)
			held++;
		else
			answer(s, command[i], n);
	}
	s->done_early = held > 0;
	s->done = be32_load(head) == IMPI_CMD_DONE;
	give(s, head, sizeof head);
}

static void *
slow_server(void *arg)
{
	struct slow_server *s = arg;
	uint8_t head[8] = {0};

	s->fd = accept(s->listener, NULL, NULL);
	assert_true(s->fd >= 0);
	welcome(s);
	serve(s);
	s->fini = !s->done_early && take(s, head, sizeof head) && be32_load(head) == IMPI_CMD_FINI;
	close(s->fd);
	return NULL;
}

static void
done_waits_for_every_answer(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof at;
	struct slow_server s = {.listener = socket(AF_INET, SOCK_STREAM, 0)};
	struct lmpi_contact contact = {.at = suci_addr_v4((const uint8_t[]){127, 0, 0, 1}, 4711),
				       .tcp_port = 4712};
	const uint32_t host_of[1] = {0};
	struct lmpi_job job;
	pthread_t thread;
	char where[32];

	(void)state;
	assert_int_equal(bind(s.listener, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(s.listener, 1), 0);
	assert_int_equal(getsockname(s.listener, (struct sockaddr *)&at, &len), 0);
	snprintf(where, sizeof where, "127.0.0.1:%u", ntohs(at.sin_port));
	setenv("IMPI_AUTH_NONE", "1", 1);
	unsetenv("IMPI_AUTH_KEY");
	assert_int_equal(pthread_create(&thread, NULL, slow_server, &s), 0);
	struct lmpi_join how = {.server = where,
				.nprocs = 1,
				.contact = &contact,
				.nhosts = 1,
				.host_of = host_of,
				.token = TOKEN};
	int rc = lmpi_join(&how, &job);
	if (rc == 0)
		lmpi_job_free(&job);
	lmpi_join_fini();
	pthread_join(thread, NULL);
	close(s.listener);
	assert_false(s.done_early);
	assert_int_equal(rc, 0);
	assert_true(s.done && s.fini && s.held_back >= LABELS);
	/* the upper half of the token above the label of rank 0 */
	assert_int_equal(s.pid, TOKEN >> 32 << 32 | 16);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(done_waits_for_every_answer)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
