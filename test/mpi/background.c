/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages move while their receiver computes, with LIBMPI_PROGRESS=thread: long ones, of
 * which the receiver has to ask for the data, a collective, and a window's target; and while
 * their sender does: short ones, more than its receiver gives room or credit for at once. */
#include "check.h"

#include <time.h>
#include <unistd.h>

#define BYTES	  (1 << 20)
#define COMPUTE_S 0.6
#define IN_TIME_S 0.3
#define SHORT	  8192
#define SHORTS	  512

static int expected; /* the environment asks for the thread */

static void
compute(void)
{
	double begin = MPI_Wtime(), sum = 0;

	while (MPI_Wtime() - begin < COMPUTE_S) {
		for (int i = 0; i < 1000; i++)
			sum += i * 1e-9;
		usleep(1000); /* cores are few here */
	}
	CHECKF(sum > 0, "sum %g", sum);
}

static void
in_time(const char *what, double began)
{
	double took = MPI_Wtime() - began;

	if (expected)
		CHECKF(took < IN_TIME_S, "%s took %.3f s while its peer computed", what, took);
}

static void
long_message(void)
{
	static char buf[BYTES];
	MPI_Request r;
	double t;

	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank == 1) {
		MPI_Irecv(buf, BYTES, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &r);
		MPI_Barrier(MPI_COMM_WORLD);
		compute();
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		for (int i = 0; i < BYTES; i++)
			if (buf[i] != (char)(i * 7)) {
				CHECKF(0, "byte %d is %d", i, buf[i]);
				break;
			}
		return;
	}
	for (int i = 0; i < BYTES; i++)
		buf[i] = (char)(i * 7);
	MPI_Barrier(MPI_COMM_WORLD);
	t = MPI_Wtime();
	if (check_rank == 0) {
		MPI_Send(buf, BYTES, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
		in_time("a send", t);
	}
}

static void
short_messages(void)
{
	char *buf = malloc((size_t)SHORT * SHORTS);
	MPI_Request r[SHORTS];
	double t;

	MPI_Barrier(MPI_COMM_WORLD);
	t = MPI_Wtime();
	if (check_rank == 1) {
		memset(buf, 1, (size_t)SHORT * SHORTS);
		for (int i = 0; i < SHORTS; i++)
			MPI_Isend(buf + (size_t)i * SHORT, SHORT, MPI_CHAR, 0, i, MPI_COMM_WORLD,
				  &r[i]);
		compute();
		MPI_Waitall(SHORTS, r, MPI_STATUSES_IGNORE);
	} else if (check_rank == 0) {
		for (int i = 0; i < SHORTS; i++)
			MPI_Recv(buf, SHORT, MPI_CHAR, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		in_time("sends", t);
	}
	free(buf);
}

static void
collective(void)
{
	int one = 1, sum = 0;
	MPI_Request r;
	double t;

	MPI_Barrier(MPI_COMM_WORLD);
	t = MPI_Wtime();
	MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
	if (check_rank == 1)
		compute();
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	CHECKF(sum == check_size, "sum %d", sum);
	if (check_rank != 1)
		in_time("an allreduce", t);
}

static void
window(void)
{
	long *base, *one = malloc(sizeof *one);
	MPI_Win win;
	double t;

	MPI_Alloc_mem(sizeof *base, MPI_INFO_NULL, &base);
	*base = 0;
	*one = 1;
	MPI_Win_create(base, sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_lock_all(0, win);
	MPI_Barrier(MPI_COMM_WORLD);
	t = MPI_Wtime();
	if (check_rank == 1) {
		compute();
	} else {
		MPI_Accumulate(one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win);
		MPI_Win_flush(1, win);
		in_time("an accumulate", t);
	}
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank == 1)
		CHECKF(*base == check_size - 1, "%ld were added", *base);
	MPI_Win_free(&win);
	MPI_Free_mem(base);
	free(one);
}

int
main(int argc, char **argv)
{
	const char *how = getenv("LIBMPI_PROGRESS");

	start(&argc, &argv);
	expected = how && !strcmp(how, "thread");
	long_message();
	short_messages();
	collective();
	window();
	return finish();
}
