/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion in all its forms; persistent, cancelled, generalised, freed requests. */
#include "check.h"

#define N 16

static void
any_some(void)
{
	MPI_Request r[N + 1];
	int buf[N], seen[N] = {0}, left = N, index, out[N + 1], n, flag;
	MPI_Status st, sts[N + 1];

	if (check_rank == 0 && check_size > 1) {
		for (int i = 0; i < N; i++)
			MPI_Irecv(&buf[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &r[i]);
		r[N] = MPI_REQUEST_NULL;
		MPI_Barrier(MPI_COMM_WORLD);
		for (int k = 0; k < 3; k++, left--) {
			MPI_Waitany(N + 1, r, &index, &st);
			CHECK(index >= 0 && index < N && !seen[index]);
			CHECK(st.MPI_TAG == index && buf[index] == index * index);
			seen[index] = 1;
		}
		while (left > 0) {
			MPI_Waitsome(N + 1, r, &n, out, sts);
			CHECK(n > 0 && n <= left);
			for (int i = 0; i < n; i++) {
				CHECK(!seen[out[i]] && sts[i].MPI_TAG == out[i]);
				seen[out[i]] = 1;
			}
			left -= n;
		}
		MPI_Waitany(N + 1, r, &index, &st);
		CHECK(index == MPI_UNDEFINED);
		MPI_Testsome(N + 1, r, &n, out, sts);
		CHECK(n == MPI_UNDEFINED);
		MPI_Testany(N + 1, r, &index, &flag, &st);
		CHECK(flag && index == MPI_UNDEFINED);
		MPI_Testall(N + 1, r, &flag, sts);
		CHECK(flag && sts[0].MPI_SOURCE == MPI_ANY_SOURCE);
	} else {
		MPI_Barrier(MPI_COMM_WORLD);
		for (int i = N - 1; check_rank == 1 && i >= 0; i--) {
			int v = i * i;

			MPI_Send(&v, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
		}
	}
}

static void
persistent(void)
{
	int right = (check_rank + 1) % check_size;
	int left = (check_rank + check_size - 1) % check_size, out[4], in[4];
	MPI_Request r[2], c;

	MPI_Send_init(out, 4, MPI_INT, right, 3, MPI_COMM_WORLD, &r[0]);
	MPI_Recv_init(in, 4, MPI_INT, left, 3, MPI_COMM_WORLD, &r[1]);
	for (int k = 0; k < 20; k++) {
		MPI_Status st[2];
		int n;

		for (int i = 0; i < 4; i++)
			out[i] = check_rank * 100 + k + i;
		MPI_Startall(2, r);
		MPI_Waitall(2, r, st);
		MPI_Get_count(&st[1], MPI_INT, &n);
		CHECK(n == 4 && in[3] == left * 100 + k + 3);
		CHECK(r[0] != MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL);
	}
	MPI_Wait(&r[0], MPI_STATUS_IGNORE); /* inactive: at once */
	MPI_Request_free(&r[0]);
	MPI_Request_free(&r[1]);
	CHECK(r[0] == MPI_REQUEST_NULL);

	MPI_Allreduce_init(out, in, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &c);
	for (int k = 0; k < 5; k++) {
		out[0] = k;
		MPI_Start(&c);
		MPI_Wait(&c, MPI_STATUS_IGNORE);
		CHECK(in[0] == k * check_size);
	}
	MPI_Request_free(&c);
}

static void
cancelled(void)
{
	MPI_Request r;
	MPI_Status st;
	int v = 5, flag = 0;

	MPI_Irecv(&v, 1, MPI_INT, MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &r);
	MPI_Request_get_status(r, &flag, &st);
	CHECK(!flag);
	MPI_Cancel(&r);
	MPI_Wait(&r, &st);
	MPI_Test_cancelled(&st, &flag);
	CHECK(flag && v == 5 && r == MPI_REQUEST_NULL);
	MPI_Irecv(&v, 1, MPI_INT, check_rank, 998, MPI_COMM_WORLD, &r);
	MPI_Send(&check_rank, 1, MPI_INT, check_rank, 998, MPI_COMM_WORLD);
	MPI_Cancel(&r); /* too late: the message has matched */
	MPI_Wait(&r, &st);
	MPI_Test_cancelled(&st, &flag);
	CHECK(!flag && v == check_rank);
}

static int queries, frees;

static int
query(void *extra, MPI_Status *st)
{
	queries++;
	MPI_Status_set_elements(st, MPI_INT, *(int *)extra);
	MPI_Status_set_cancelled(st, 0);
	st->MPI_SOURCE = 77;
	st->MPI_TAG = 78;
	return MPI_SUCCESS;
}

static int
release(void *extra)
{
	(void)extra;
	frees++;
	return MPI_SUCCESS;
}

static int
cancel(void *extra, int complete)
{
	(void)extra;
	(void)complete;
	return MPI_SUCCESS;
}

static void
generalised(void)
{
	MPI_Request r;
	MPI_Status st;
	int n = 12, got = 0, flag = 1;

	MPI_Grequest_start(query, release, cancel, &n, &r);
	MPI_Test(&r, &flag, &st);
	CHECK(!flag);
	MPI_Grequest_complete(r);
	MPI_Wait(&r, &st);
	MPI_Get_count(&st, MPI_INT, &got);
	CHECK(got == 12 && st.MPI_SOURCE == 77 && queries == 1 && frees == 1);
}

/* A freed request still completes. */
static void
freed(void)
{
	int right = (check_rank + 1) % check_size;
	int left = (check_rank + check_size - 1) % check_size;
	static int big[200000], in[200000];
	MPI_Request r;

	for (int i = 0; i < 200000; i++)
		big[i] = i ^ check_rank;
	MPI_Isend(big, 200000, MPI_INT, right, 4, MPI_COMM_WORLD, &r);
	MPI_Request_free(&r);
	CHECK(r == MPI_REQUEST_NULL);
	MPI_Recv(in, 200000, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(in[199999] == (199999 ^ left));
	MPI_Barrier(MPI_COMM_WORLD);
}

static void
buffered(void)
{
	int right = (check_rank + 1) % check_size;
	int left = (check_rank + check_size - 1) % check_size, size, v[10], in, n = 10;
	size_t len = 10 * (sizeof(int) + MPI_BSEND_OVERHEAD);
	char *buf = malloc(len);
	void *back;
	MPI_Request r;

	MPI_Buffer_attach(buf, (int)len);
	for (int i = 0; i < n - 1; i++) {
		v[i] = check_rank * 10 + i;
		MPI_Bsend(&v[i], 1, MPI_INT, right, 8, MPI_COMM_WORLD);
	}
	v[9] = check_rank * 10 + 9;
	MPI_Ibsend(&v[9], 1, MPI_INT, right, 8, MPI_COMM_WORLD, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	for (int i = 0; i < n; i++) {
		MPI_Recv(&in, 1, MPI_INT, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(in == left * 10 + i);
	}
	MPI_Buffer_detach(&back, &size);
	CHECK(back == buf && size == (int)len);
	free(buf);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	any_some();
	persistent();
	cancelled();
	generalised();
	freed();
	buffered();
	return finish();
}
