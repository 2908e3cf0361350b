/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes, plain and matched. */
#include "check.h"

static void
plain(void)
{
	if (check_rank == 0) {
		for (int k = 1; k < check_size; k++) {
			MPI_Status st, st2;
			int n, *buf;

			MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
			MPI_Get_count(&st, MPI_INT, &n);
			CHECK(n == st.MPI_SOURCE * 1000 && st.MPI_TAG == st.MPI_SOURCE + 5);
			buf = malloc((size_t)n * sizeof(int));
			MPI_Recv(buf, n, MPI_INT, st.MPI_SOURCE, st.MPI_TAG, MPI_COMM_WORLD, &st2);
			CHECK(buf[n - 1] == st.MPI_SOURCE);
			free(buf);
		}
	} else {
		int n = check_rank * 1000, *buf = malloc((size_t)n * sizeof(int));

		for (int i = 0; i < n; i++)
			buf[i] = check_rank;
		MPI_Send(buf, n, MPI_INT, 0, check_rank + 5, MPI_COMM_WORLD);
		free(buf);
	}
}

/* A matched message is out of matching: a later receive gets the next one. */
static void
matched(void)
{
	int v[2] = {check_rank * 10, check_rank * 10 + 1};

	if (check_rank == 0) {
		for (int src = 1; src < check_size; src++) {
			MPI_Message m;
			MPI_Status st;
			MPI_Request r;
			int first = -1, second = -1, flag = 0;

			if (src % 2)
				MPI_Mprobe(src, 1, MPI_COMM_WORLD, &m, &st);
			else
				while (!flag)
					MPI_Improbe(src, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &m,
						    &st);
			CHECK(st.MPI_SOURCE == src && m != MPI_MESSAGE_NULL);
			MPI_Recv(&second, 1, MPI_INT, src, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			if (src % 2) {
				MPI_Mrecv(&first, 1, MPI_INT, &m, &st);
			} else {
				MPI_Imrecv(&first, 1, MPI_INT, &m, &r);
				MPI_Wait(&r, &st);
			}
			CHECK(m == MPI_MESSAGE_NULL);
			CHECK(st.MPI_SOURCE == src && st.MPI_TAG == 1);
			CHECKF(first == src * 10 && second == src * 10 + 1, "%d %d", first, second);
		}
	} else {
		MPI_Send(&v[0], 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
		MPI_Send(&v[1], 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
	}
}

static void
nothing_there(void)
{
	int flag = 1;
	MPI_Message m;
	MPI_Status st;

	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	CHECK(!flag);
	MPI_Improbe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &flag, &m, &st);
	CHECK(!flag);
	MPI_Barrier(MPI_COMM_WORLD); /* nobody sends before all have looked */
	MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &m, &st);
	CHECK(m == MPI_MESSAGE_NO_PROC);
	MPI_Mrecv(NULL, 0, MPI_INT, &m, &st);
	CHECK(m == MPI_MESSAGE_NULL && st.MPI_SOURCE == MPI_PROC_NULL);
}

/* Large ones as well: the message may still be on its way when it is probed. */
static void
large(void)
{
	size_t n = 3000000;
	unsigned char *buf = malloc(n);

	if (check_rank == 0)
		for (int src = 1; src < check_size; src++) {
			MPI_Message m;
			MPI_Status st;
			MPI_Count c;

			MPI_Mprobe(src, 2, MPI_COMM_WORLD, &m, &st);
			MPI_Get_count_c(&st, MPI_BYTE, &c);
			CHECK(c == (MPI_Count)n);
			MPI_Mrecv(buf, (int)n, MPI_BYTE, &m, &st);
			CHECK(wrong(buf, n, (uint32_t)src) == -1);
		}
	else {
		fill(buf, n, (uint32_t)check_rank);
		MPI_Send(buf, (int)n, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
	}
	free(buf);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	plain();
	MPI_Barrier(MPI_COMM_WORLD); /* the wildcards above must not see what follows */
	matched();
	nothing_there();
	large();
	return finish();
}
