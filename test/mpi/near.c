/* SPDX-License-Identifier: BSD-2-Clause */
/* Two jobs of one machine: messages of all lengths between all processes, both ways at once.
 *
 *	near			starts four of itself
 *	near accept FILE	its port goes to that file
 *	near connect FILE	as soon as it is there
 *	near wait ...		as above; then each waits for a message that never comes */
#include "check.h"
#include "shared_file.h"

#include <mpi-ext.h>
#include <stdbool.h>
#include <unistd.h>

#define CHILDREN 4
#define WAIT_S	 60
#define LONGEST	 (3 << 20)

static const int lengths[] = {0, 1, 100, 12288, 12289, 70000, LONGEST};
#define LENGTHS ((int)(sizeof(lengths) / sizeof(*lengths)))

static uint32_t
seed_of(bool low, int from, int to, int i)
{
	return (uint32_t)(low * 7919 + from * 104729 + to * 1299709 + i * 15485863);
}

/* What has i waits at its receiver before it is asked for, or not; some are synchronous. */
static void
send_all_lengths(MPI_Comm inter, bool low, int me, int n)
{
	MPI_Request *req = calloc((size_t)(2 * n * LENGTHS), sizeof(MPI_Request));
	unsigned char **in = calloc((size_t)(n * LENGTHS), sizeof(*in)),
		      **out = calloc((size_t)(n * LENGTHS), sizeof(*out));
	int k = 0;

	for (int late = 0; late < 2; late++) {
		for (int p = 0; p < n; p++) {
			for (int i = late; i < LENGTHS; i += 2) {
				unsigned char *b = in[p * LENGTHS + i] = malloc(LONGEST);
				MPI_Irecv(b, LONGEST, MPI_BYTE, p, i, inter, &req[k++]);
			}
		}
		for (int p = 0; p < n && late == 0; p++) {
			for (int i = 0; i < LENGTHS; i++) {
				unsigned char *b = out[p * LENGTHS + i] = malloc(LONGEST);
				fill(b, (size_t)lengths[i], seed_of(low, me, p, i));
				(i % 3 ? MPI_Isend : MPI_Issend)(b, lengths[i], MPI_BYTE, p, i,
								 inter, &req[k++]);
			}
		}
	}
	MPI_Waitall(k, req, MPI_STATUSES_IGNORE);
	for (int p = 0; p < n; p++) {
		for (int i = 0; i < LENGTHS; i++) {
			long bad = wrong(in[p * LENGTHS + i], (size_t)lengths[i],
					 seed_of(!low, p, me, i));
			CHECKF(bad < 0, "byte %ld of %d from %d is wrong", bad, lengths[i], p);
			free(in[p * LENGTHS + i]);
			free(out[p * LENGTHS + i]);
		}
	}
	free(in);
	free(out);
	free(req);
}

/* A window over both jobs, and locks. */
static void
put_all(MPI_Comm both, int me, int n)
{
	int *mine, got = -1;
	MPI_Win win;

	MPI_Win_allocate(n * (int)sizeof(int), sizeof(int), MPI_INFO_NULL, both, &mine, &win);
	MPI_Barrier(both);
	for (int p = 0; p < n; p++) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, p, 0, win);
		MPI_Put(&me, 1, MPI_INT, p, me, 1, MPI_INT, win);
		MPI_Win_unlock(p, win);
	}
	MPI_Barrier(both);
	for (int p = 0; p < n; p++) {
		MPI_Win_lock(MPI_LOCK_SHARED, p, 0, win);
		MPI_Get(&got, 1, MPI_INT, p, (me + 1) % n, 1, MPI_INT, win);
		MPI_Win_unlock(p, win);
		CHECK(got == (me + 1) % n);
	}
	MPI_Win_free(&win);
}

static void
exercise_both(MPI_Comm inter, bool low)
{
	int me, n, all, sum = 0;
	MPI_Comm both;

	MPI_Comm_rank(inter, &me);
	MPI_Comm_remote_size(inter, &n);
	for (int round = 0; round < 3; round++)
		send_all_lengths(inter, low, me, n);
	MPI_Intercomm_merge(inter, !low, &both);
	MPI_Comm_rank(both, &me);
	MPI_Comm_size(both, &all);
	put_all(both, me, all);
	MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, both);
	CHECK(sum == all * (all - 1) / 2);
	MPI_Comm_free(&both);
}

/* Somebody kills the other side. */
static void
await_kill(MPI_Comm inter)
{
	int me, n, rc, word;
	double from = MPI_Wtime();

	MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
	MPI_Comm_rank(inter, &me);
	MPI_Comm_remote_size(inter, &n);
	printf("waits %d\n", (int)getpid());
	fflush(stdout);
	rc = MPI_Recv(&word, 1, MPI_INT, me % n, 99, inter, MPI_STATUS_IGNORE);
	printf("%s after %.3f s\n",
	       check_class(rc) == MPIX_ERR_PROC_FAILED ? "failed" : "ended otherwise",
	       MPI_Wtime() - from);
	fflush(stdout);
	_exit(check_class(rc) == MPIX_ERR_PROC_FAILED ? 0 : 3);
}

static void
accept_others(const char *file, MPI_Comm *inter)
{
	char port[MPI_MAX_PORT_NAME] = "";

	if (check_rank == 0) {
		MPI_Open_port(MPI_INFO_NULL, port);
		leave_in_file(file, port, sizeof(port));
	}
	MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter);
	if (check_rank == 0)
		MPI_Close_port(port);
}

static void
connect_others(const char *file, MPI_Comm *inter)
{
	char port[MPI_MAX_PORT_NAME] = "";

	if (check_rank == 0)
		await_file(file, port, sizeof(port), WAIT_S);
	MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter);
}

int
main(int argc, char **argv)
{
	bool waits = argc > 1 && strcmp(argv[1], "wait") == 0;
	char **more = argv + 1 + waits, *again[] = {waits ? argv[1] : NULL, NULL};
	MPI_Comm inter, parent;
	bool low = true;

	start(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL) {
		inter = parent;
		low = false;
	} else if (*more == NULL) {
		CHECK(MPI_Comm_spawn(argv[0], again, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
				     &inter, MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
	} else if (strcmp(more[0], "accept") == 0) {
		accept_others(more[1], &inter);
	} else {
		connect_others(more[1], &inter);
		low = false;
	}
	exercise_both(inter, low);
	if (waits)
		await_kill(inter);
	MPI_Comm_disconnect(&inter);
	return finish();
}
