/* SPDX-License-Identifier: BSD-2-Clause */
/* Long messages to both neighbours at the same time, which go over TCP where LIBMPI_STREAM says so,
 * while somebody connects to the port of rank 0 who has no business there: says nothing, says
 * anything, goes at once.  The job is none the wiser; what was refused is counted. */
#include "check.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES	  200000
#define ROUNDS	  80
#define SILENT	  40 /* more than a process lets wait */
#define TALKERS	  20
#define MEANWHILE 5 /* the round in which they come */

static unsigned long long
counted(const char *name)
{
	MPI_T_pvar_handle h = MPI_T_PVAR_HANDLE_NULL;
	MPI_T_pvar_session s;
	unsigned long long v = 0;
	int i, n;

	MPI_T_pvar_session_create(&s);
	CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &i) == MPI_SUCCESS);
	CHECK(MPI_T_pvar_handle_alloc(s, i, NULL, &h, &n) == MPI_SUCCESS);
	CHECK(MPI_T_pvar_read(s, h, &v) == MPI_SUCCESS);
	MPI_T_pvar_handle_free(s, &h);
	MPI_T_pvar_session_free(&s);
	return v;
}

/* Where this process listens; a family of 0: nowhere. */
static struct sockaddr_in6
find_own_port(void)
{
	struct sockaddr_in6 at = {0};
	socklen_t len, one;
	int listens;

	for (int fd = 3; fd < 200; fd++) {
		one = sizeof listens;
		len = sizeof at;
		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &one) == 0 && listens &&
		    getsockname(fd, (struct sockaddr *)&at, &len) == 0 &&
		    (at.sin6_family == AF_INET || at.sin6_family == AF_INET6))
			return at;
	}
	return (struct sockaddr_in6){0};
}

static int
knock(const struct sockaddr_in6 *at)
{
	int fd = socket(at->sin6_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0 &&
	      connect(fd, (const struct sockaddr *)at,
		      at->sin6_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof *at) == 0);
	return fd;
}

static void
trouble(const struct sockaddr_in6 *at, int silent[SILENT])
{
	unsigned char b[1000];

	for (int i = 0; i < TALKERS; i++) {
		int fd = knock(at);
		fill(b, sizeof b, (uint32_t)i << 8);
		if (i % 3 == 0)
			memcpy(b, "SH\1\1", 4); /* as a hello begins */
		if (i % 4)
			(void)!send(fd, b, i % 2 ? sizeof b : 10, MSG_NOSIGNAL);
		close(fd);
	}
	for (int i = 0; i < SILENT; i++)
		silent[i] = knock(at);
}

/* With who is no neighbour: a connection that is made while others hold the door. */
static void
exchange_across(int round, unsigned char *out, unsigned char *in)
{
	int far = (check_rank + check_size / 2) % check_size;

	fill(out, BYTES, (uint32_t)(check_rank * ROUNDS + round) << 8 | 7);
	MPI_Sendrecv(out, BYTES, MPI_BYTE, far, 9999, in, BYTES, MPI_BYTE, far, 9999,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(wrong(in, BYTES, (uint32_t)(far * ROUNDS + round) << 8 | 7) < 0);
}

static void
exchange_both(int round, unsigned char *out[2], unsigned char *in[2])
{
	int near[2] = {(check_rank + check_size - 1) % check_size, (check_rank + 1) % check_size};
	MPI_Request q[4];

	for (int i = 0; i < 2; i++) {
		fill(out[i], BYTES, (uint32_t)(check_rank * ROUNDS + round) << 8 | (uint32_t)i);
		MPI_Irecv(in[i], BYTES, MPI_BYTE, near[i], 2 * round + i, MPI_COMM_WORLD, &q[i]);
	}
	for (int i = 0; i < 2; i++)
		MPI_Isend(out[i], BYTES, MPI_BYTE, near[i], 2 * round + !i, MPI_COMM_WORLD,
			  &q[2 + i]);
	MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 2; i++) {
		long at = wrong(in[i], BYTES,
				(uint32_t)(near[i] * ROUNDS + round) << 8 | (uint32_t)!i);
		CHECKF(at < 0, "round %d: byte %ld of rank %d is wrong", round, at, near[i]);
	}
}

int
main(int argc, char **argv)
{
	const char *set = getenv("LIBMPI_STREAM");
	int provided, silent[SILENT], wanted = set && strtol(set, NULL, 10) > 0;
	unsigned char *out[2], *in[2];
	struct sockaddr_in6 at;

	MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
	start(&argc, &argv);
	for (int i = 0; i < 2; i++) {
		out[i] = malloc(BYTES);
		in[i] = malloc(BYTES);
		if (!out[i] || !in[i])
			MPI_Abort(MPI_COMM_WORLD, 3);
	}
	at = find_own_port();
	MPI_Bcast(&at, sizeof at, MPI_BYTE, 0, MPI_COMM_WORLD);
	CHECK((at.sin6_family != 0) == wanted);
	for (int round = 0; round < ROUNDS; round++) {
		if (round == MEANWHILE && check_rank == check_size - 1 && wanted)
			trouble(&at, silent);
		exchange_both(round, out, in);
		if (round > 2 * MEANWHILE && check_size == 4)
			exchange_across(round, out[0], in[0]);
	}
	if (wanted) {
		CHECK(counted("stream_bytes_sent") > 10ull * BYTES);
		CHECK(counted("stream_bytes_received") > 10ull * BYTES);
		CHECK(counted("stream_broken") == 0);
		CHECK(check_size < 4 || counted("stream_opened") == 3);
		CHECK(check_rank > 0 || counted("stream_refused") >= TALKERS);
	} else {
		CHECK(counted("stream_opened") == 0);
	}
	for (int i = 0; i < SILENT && check_rank == check_size - 1 && wanted; i++)
		close(silent[i]);
	for (int i = 0; i < 2; i++) {
		free(out[i]);
		free(in[i]);
	}
	MPI_T_finalize();
	return finish();
}
