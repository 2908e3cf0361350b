/* SPDX-License-Identifier: BSD-2-Clause */
/* Point-to-point in all modes and sizes: contents, status, null processes. */
#include "check.h"

static const int sizes[] = {0,	   1,	  7,	 64,	255,   1024,   4095,	4096,	8191,
			    16384, 40960, 40961, 65535, 65536, 262144, 1000003, 4194304};
#define SIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))

static void
ring(int mode)
{
	int right = (check_rank + 1) % check_size;
	int left = (check_rank + check_size - 1) % check_size;
	unsigned char *out = malloc(4194304 + 1), *in = malloc(4194304 + 1);

	for (int s = 0; s < SIZES; s++) {
		MPI_Request r[2];
		MPI_Status st;
		int n;

		fill(out, (size_t)sizes[s], (uint32_t)(check_rank * 1000 + s));
		memset(in, 0xee, (size_t)sizes[s] + 1);
		MPI_Irecv(in, sizes[s], MPI_BYTE, left, s, MPI_COMM_WORLD, &r[0]);
		if (mode == 0)
			MPI_Isend(out, sizes[s], MPI_BYTE, right, s, MPI_COMM_WORLD, &r[1]);
		else if (mode == 1)
			MPI_Issend(out, sizes[s], MPI_BYTE, right, s, MPI_COMM_WORLD, &r[1]);
		else
			MPI_Isend_c(out, sizes[s], MPI_BYTE, right, s, MPI_COMM_WORLD, &r[1]);
		MPI_Wait(&r[0], &st);
		MPI_Wait(&r[1], MPI_STATUS_IGNORE);
		MPI_Get_count(&st, MPI_BYTE, &n);
		CHECKF(n == sizes[s], "size %d arrived as %d", sizes[s], n);
		CHECK(st.MPI_SOURCE == left && st.MPI_TAG == s);
		CHECKF(wrong(in, (size_t)n, (uint32_t)(left * 1000 + s)) == -1, "size %d: byte %ld",
		       n, wrong(in, (size_t)n, (uint32_t)(left * 1000 + s)));
		CHECK(in[sizes[s]] == 0xee);
	}
	free(out);
	free(in);
}

static void
blocking_pairs(void)
{
	int partner = check_rank ^ 1, v = check_rank, got = -1;
	MPI_Status st;

	if (partner >= check_size)
		return;
	if (check_rank < partner) {
		MPI_Send(&v, 1, MPI_INT, partner, 1, MPI_COMM_WORLD);
		MPI_Recv(&got, 1, MPI_INT, partner, 2, MPI_COMM_WORLD, &st);
		MPI_Ssend(&v, 1, MPI_INT, partner, 3, MPI_COMM_WORLD);
	} else {
		MPI_Recv(&got, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, &st);
		MPI_Send(&v, 1, MPI_INT, partner, 2, MPI_COMM_WORLD);
		MPI_Recv(&got, 1, MPI_INT, partner, 3, MPI_COMM_WORLD, &st);
	}
	CHECK(got == partner);
}

static void
exchanges(void)
{
	int right = (check_rank + 1) % check_size;
	int left = (check_rank + check_size - 1) % check_size;
	static int out[100000], in[100000];
	MPI_Status st;
	MPI_Request r;

	for (int i = 0; i < 100000; i++)
		out[i] = check_rank * 7 + i;
	MPI_Sendrecv(out, 100000, MPI_INT, right, 5, in, 100000, MPI_INT, left, 5, MPI_COMM_WORLD,
		     &st);
	CHECK(in[0] == left * 7 && in[99999] == left * 7 + 99999);
	MPI_Sendrecv_replace(out, 100000, MPI_INT, right, 6, left, 6, MPI_COMM_WORLD, &st);
	CHECK(out[0] == left * 7 && out[99999] == left * 7 + 99999);
	MPI_Isendrecv_replace(out, 100000, MPI_INT, left, 7, right, 7, MPI_COMM_WORLD, &r);
	MPI_Wait(&r, &st);
	CHECK(st.MPI_SOURCE == right);
	CHECK(out[0] == check_rank * 7 && out[99999] == check_rank * 7 + 99999);
	MPI_Isendrecv(out, 10, MPI_INT, right, 8, in, 10, MPI_INT, left, 8, MPI_COMM_WORLD, &r);
	MPI_Wait(&r, &st);
	CHECK(in[3] == left * 7 + 3);
}

static void
null_process(void)
{
	MPI_Status st;
	MPI_Request r;
	int v = 17, n = -1, flag;

	MPI_Send(&v, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
	MPI_Recv(&v, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &st);
	MPI_Get_count(&st, MPI_INT, &n);
	CHECK(v == 17 && n == 0 && st.MPI_SOURCE == MPI_PROC_NULL && st.MPI_TAG == MPI_ANY_TAG);
	MPI_Irecv(&v, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r);
	MPI_Test(&r, &flag, &st);
	CHECK(flag && r == MPI_REQUEST_NULL && st.MPI_SOURCE == MPI_PROC_NULL);
	MPI_Iprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &st);
	CHECK(flag && st.MPI_SOURCE == MPI_PROC_NULL);
}

static void
to_self(void)
{
	int a = 41, b = 0;
	MPI_Request r;

	MPI_Isend(&a, 1, MPI_INT, check_rank, 9, MPI_COMM_WORLD, &r);
	MPI_Recv(&b, 1, MPI_INT, check_rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	CHECK(b == 41);
	MPI_Irecv(&b, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &r);
	a = 42;
	MPI_Send(&a, 1, MPI_INT, 0, 9, MPI_COMM_SELF);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	CHECK(b == 42);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	for (int mode = 0; mode < 3; mode++)
		ring(mode);
	blocking_pairs();
	exchanges();
	null_process();
	to_self();
	return finish();
}
