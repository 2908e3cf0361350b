/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of one sender match in order, whatever their size and however they
 * are received: by source and tag, with wildcards, posted early or late. */
#include "check.h"

#include <stdbool.h>

#define N 400

static int
length(int i)
{
	static const int len[] = {4, 4, 100, 4, 9000, 4, 70000, 8, 4, 300000};

	return i % 40 == 9 ? len[9] : len[i % 9];
}

/* The receiver takes them in any order, so all are on their way at once. */
static void
sender(bool tags)
{
	unsigned char *buf = calloc(N, 300000);
	MPI_Request r[N];

	for (int i = 0; i < N; i++) {
		memcpy(buf + (size_t)i * 300000, &i, sizeof(i));
		MPI_Isend(buf + (size_t)i * 300000, length(i), MPI_BYTE, 0, tags ? i % 3 : 0,
			  MPI_COMM_WORLD, &r[i]);
	}
	MPI_Waitall(N, r, MPI_STATUSES_IGNORE);
	free(buf);
}

static void
receive_any(void)
{
	int *next = calloc((size_t)check_size, sizeof(int));
	unsigned char *buf = malloc(300000);

	for (int k = 0; k < N * (check_size - 1); k++) {
		MPI_Status st;
		int i, n;

		MPI_Recv(buf, 300000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
		memcpy(&i, buf, sizeof(i));
		MPI_Get_count(&st, MPI_BYTE, &n);
		CHECKF(i == next[st.MPI_SOURCE], "from %d came %d instead of %d", st.MPI_SOURCE, i,
		       next[st.MPI_SOURCE]);
		CHECK(n == length(i));
		next[st.MPI_SOURCE]++;
	}
	free(next);
	free(buf);
}

/* All receives posted first, alternately for a source and for anybody: with two
 * processes only, so that it is known who gets what. */
static void
receive_posted(void)
{
	unsigned char *buf = malloc((size_t)N * 300000);
	MPI_Request *r = malloc(N * sizeof(MPI_Request));

	for (int i = 0; i < N; i++)
		MPI_Irecv(buf + (size_t)i * 300000, 300000, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : 1,
			  i % 3 ? 0 : MPI_ANY_TAG, MPI_COMM_WORLD, &r[i]);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Waitall(N, r, MPI_STATUSES_IGNORE);
	for (int i = 0; i < N; i++) {
		int v;

		memcpy(&v, buf + (size_t)i * 300000, sizeof(v));
		CHECKF(v == i, "receive %d got message %d", i, v);
	}
	free(buf);
	free(r);
}

/* Tags chosen out of order; within a tag the order holds. */
static void
receive_by_tag(void)
{
	unsigned char *buf = malloc(300000);

	for (int source = check_size - 1; source > 0; source--)
		for (int tag = 2; tag >= 0; tag--)
			for (int i = tag; i < N; i += 3) {
				int v;

				MPI_Recv(buf, 300000, MPI_BYTE, source, tag, MPI_COMM_WORLD,
					 MPI_STATUS_IGNORE);
				memcpy(&v, buf, sizeof(v));
				CHECKF(v == i, "tag %d: got %d instead of %d", tag, v, i);
			}
	free(buf);
}

/* Short ones to a blocking receive while an earlier receive waits that would take them, too, and
 * while one that nobody wants yet lies before them; the last is too long. */
static void
receive_beside(void)
{
	for (int i = 0; i < N; i++) {
		MPI_Comm comm = MPI_COMM_WORLD;
		MPI_Status st, early;
		MPI_Request r;
		int v[4] = {-1, -1, -1, -1};

		MPI_Irecv(&v[0], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : 1, i % 3 ? 5 : MPI_ANY_TAG,
			  comm, &r);
		MPI_Recv(&v[1], 1, MPI_INT, 1, i % 5 ? 5 : MPI_ANY_TAG, comm, &st);
		MPI_Wait(&r, &early);
		CHECKF(v[0] == 4 * i && v[1] == 4 * i + 1, "%d: %d was early, %d late", i, v[0],
		       v[1]);
		CHECK(early.MPI_TAG == 5 && st.MPI_TAG == 5 && st.MPI_SOURCE == 1);
		MPI_Recv(&v[3], 1, MPI_INT, 1, 7, comm, &st);
		MPI_Recv(&v[2], 1, MPI_INT, 1, MPI_ANY_TAG, comm, &st);
		CHECKF(v[2] == 4 * i + 2 && v[3] == 4 * i + 3, "%d: %d by tag, %d left", i, v[3],
		       v[2]);
		CHECK(st.MPI_TAG == 6);
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
		CHECK(MPI_Recv(v, 1, MPI_INT, 1, 8, comm, &st) == MPI_ERR_TRUNCATE);
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
		CHECK(st.MPI_TAG == 8);
		MPI_Recv(NULL, 0, MPI_BYTE, 1, 9, comm, MPI_STATUS_IGNORE);
	}
}

static void
send_beside(void)
{
	for (int i = 0; i < N; i++) {
		int v[2];

		for (int k = 0; k < 5; k++) {
			v[0] = v[1] = 4 * i + k;
			MPI_Send(v, k < 4 ? 1 : 2, MPI_INT, 0, k < 2 ? 5 : 4 + k, MPI_COMM_WORLD);
		}
		MPI_Send(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD);
	}
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	if (check_rank == 0)
		receive_beside();
	else if (check_rank == 1)
		send_beside();
	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank == 0)
		receive_any();
	else
		sender(false);
	MPI_Barrier(MPI_COMM_WORLD);
	if (check_size == 2) {
		if (check_rank == 0) {
			receive_posted();
		} else {
			MPI_Barrier(MPI_COMM_WORLD);
			sender(false);
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank != 0)
		sender(true);
	else
		receive_by_tag();
	return finish();
}
