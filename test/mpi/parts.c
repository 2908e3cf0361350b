/* SPDX-License-Identifier: BSD-2-Clause */
/* Partitioned communication: numbers of partitions that differ between the sides, in any
 * order, again and again, several of the same tag, by threads, and what is wrong. */
#include "check.h"

#include <pthread.h>

/* total ints in s partitions to the right neighbour, from the left one in r. */
static void
numbers(int s, int r, int total, int order)
{
	int right = (check_rank + 1) % check_size;
	int left = (check_rank + check_size - 1) % check_size, flag, count, bad;
	int *out = calloc((size_t)total, sizeof(int)), *in = malloc((size_t)total * sizeof(int));
	int each = total / s;
	MPI_Request q[2];
	MPI_Status st[2];

	MPI_Psend_init(out, s, each, MPI_INT, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
	MPI_Precv_init(in, r, total / r, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]);
	for (int round = 0; round < 3; round++) {
		memset(in, 0, (size_t)total * sizeof(int));
		MPI_Startall(2, q);
		for (int k = 0; k < s; k++) {
			int p = order == 0 ? k : order == 1 ? s - 1 - k : k ^ (s > 1);

			for (int i = 0; i < each; i++)
				out[p * each + i] = check_rank * 1000000 + round * 7 + p * each + i;
			if (order != 2 || k % 2 == 0)
				MPI_Pready(p, q[0]);
			else
				MPI_Pready_list(1, &p, q[0]);
		}
		for (int p = 0; p < r; p++) {
			for (flag = 0; !flag;)
				MPI_Parrived(q[1], p, &flag);
			for (int i = p * (total / r); i < (p + 1) * (total / r); i++)
				if (in[i] != left * 1000000 + round * 7 + i)
					flag = 2;
			CHECKF(flag == 1, "%d of %d partitions: one is wrong", p, r);
		}
		MPI_Waitall(2, q, st);
		MPI_Get_count(&st[1], MPI_INT, &count);
		CHECK(count == total && st[1].MPI_SOURCE == left && st[1].MPI_TAG == 3);
		bad = 0;
		for (int i = 0; i < total; i++)
			bad += in[i] != left * 1000000 + round * 7 + i;
		CHECKF(bad == 0, "%d to %d partitions, %d wrong", s, r, bad);
		MPI_Parrived(q[1], 0, &flag);
		CHECK(flag);
	}
	MPI_Request_free(&q[0]);
	MPI_Request_free(&q[1]);
	free(out);
	free(in);
}

/* By the names that only the header of the Forum's stubs has, one side at a time. */
static void
by_stubs_names(int send_c, int recv_c)
{
	int right = (check_rank + 1) % check_size, in[4] = {0}, out[4];
	int left = (check_rank + check_size - 1) % check_size;
	MPI_Request q[2];

	for (int i = 0; i < 4; i++)
		out[i] = 10 * check_rank + i;
	CHECK((send_c ? MPI_Psend_init_c : MPI_Psend_init)(out, 4, 1, MPI_INT, right, 4,
							   MPI_COMM_WORLD, MPI_INFO_NULL,
							   &q[0]) == MPI_SUCCESS);
	CHECK((recv_c ? MPI_Precv_init_c : MPI_Precv_init)(in, 2, 2, MPI_INT, left, 4,
							   MPI_COMM_WORLD, MPI_INFO_NULL,
							   &q[1]) == MPI_SUCCESS);
	MPI_Startall(2, q);
	MPI_Pready_range(0, 3, q[0]);
	MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 4; i++)
		CHECK(in[i] == 10 * left + i);
	MPI_Request_free(&q[0]);
	MPI_Request_free(&q[1]);
}

/* One partition is here before another is ready; two pairs of one tag belong together in the
 * order in which they were set up, not started. */
static void
dependent(void)
{
	int right = (check_rank + 1) % check_size;
	int left = (check_rank + check_size - 1) % check_size, flag;
	int out[2][4], in[2][4] = {{0}};
	MPI_Request s[2], r[2];

	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < 4; i++)
			out[k][i] = 100 * k + i;
		MPI_Psend_init(out[k], 4, 1, MPI_INT, right, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
			       &s[k]);
		MPI_Precv_init(in[k], 4, 1, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &r[k]);
	}
	MPI_Start(&s[1]);
	MPI_Start(&r[0]);
	MPI_Start(&r[1]);
	MPI_Start(&s[0]);
	MPI_Pready(2, s[1]);
	for (flag = 0; !flag;)
		MPI_Parrived(r[1], 2, &flag);
	CHECK(in[1][2] == 102 && in[1][0] == 0);
	MPI_Parrived(r[1], 0, &flag);
	CHECK(!flag);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Pready_range(0, 1, s[1]);
	MPI_Pready_list(1, (int[]){3}, s[1]);
	MPI_Pready_range(0, 3, s[0]);
	MPI_Waitall(2, s, MPI_STATUSES_IGNORE);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < 4; i++)
			CHECK(in[k][i] == 100 * k + i);
		MPI_Request_free(&s[k]);
		MPI_Request_free(&r[k]);
	}
}

/* Holes at both ends. */
static void
with_types(void)
{
	int right = (check_rank + 1) % check_size;
	int left = (check_rank + check_size - 1) % check_size, out[60], in[60];
	MPI_Datatype t;
	MPI_Request q[2];

	MPI_Type_vector(2, 1, 2, MPI_INT, &t);
	MPI_Type_create_resized(t, 0, 5 * sizeof(int), &t);
	MPI_Type_commit(&t);
	for (int i = 0; i < 60; i++) {
		out[i] = check_rank * 100 + i;
		in[i] = -1;
	}
	MPI_Psend_init(out, 6, 2, t, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
	MPI_Precv_init(in, 4, 3, t, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]);
	MPI_Startall(2, q);
	MPI_Pready_range(0, 5, q[0]);
	MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 60; i++)
		CHECK(in[i] == (i % 5 == 0 || i % 5 == 2 ? left * 100 + i : -1));
	MPI_Request_free(&q[0]);
	MPI_Request_free(&q[1]);
	MPI_Type_free(&t);
}

enum { THREADS = 4, PARTS = 32, LEN = 500 };
static MPI_Request shared;
static int *data;

static void *
fill_some(void *arg)
{
	for (int p = *(int *)arg; p < PARTS; p += THREADS) {
		for (int i = 0; i < LEN; i++)
			data[p * LEN + i] = p * 10000 + i;
		MPI_Pready(p, shared);
	}
	return NULL;
}

static void
by_threads(void)
{
	int right = (check_rank + 1) % check_size;
	int left = (check_rank + check_size - 1) % check_size, id[THREADS], level, bad = 0;
	int *in = malloc(PARTS * LEN * sizeof(int));
	pthread_t t[THREADS];
	MPI_Request r;

	MPI_Query_thread(&level);
	data = malloc(PARTS * LEN * sizeof(int));
	MPI_Psend_init(data, PARTS, LEN, MPI_INT, right, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &shared);
	MPI_Precv_init(in, PARTS / 2, 2 * LEN, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
	MPI_Start(&r);
	MPI_Start(&shared);
	for (int i = 0; i < THREADS; i++) {
		id[i] = i;
		if (level == MPI_THREAD_MULTIPLE)
			pthread_create(&t[i], NULL, fill_some, &id[i]);
		else
			fill_some(&id[i]);
	}
	for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++)
		pthread_join(t[i], NULL);
	MPI_Wait(&shared, MPI_STATUS_IGNORE);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	for (int i = 0; i < PARTS * LEN; i++)
		bad += in[i] != i / LEN * 10000 + i % LEN;
	CHECKF(bad == 0, "%d", bad);
	MPI_Request_free(&shared);
	MPI_Request_free(&r);
	free(data);
	free(in);
}

/* No partitions at all, at one side or at both: nothing to mark, and complete. */
static void
none(void)
{
	int v[2] = {7, 7}, next = (check_rank + 1) % check_size;
	int prev = (check_rank + check_size - 1) % check_size;
	static const struct {
		int sent, received;
	} cases[] = {{0, 0}, {0, 3}, {3, 0}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		MPI_Request q[2];
		MPI_Status st[2];
		int count = -1;

		/* what is sent in three partitions has none of the elements either */
		CHECK(MPI_Psend_init(v, cases[i].sent, cases[i].sent ? 0 : 1, MPI_INT, next, 11,
				     MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]) == MPI_SUCCESS);
		CHECK(MPI_Precv_init(v, cases[i].received, cases[i].received ? 0 : 1, MPI_INT, prev,
				     11, MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]) == MPI_SUCCESS);
		for (int round = 0; round < 3; round++) {
			MPI_Startall(2, q);
			if (cases[i].sent)
				MPI_Pready_range(0, cases[i].sent - 1, q[0]);
			MPI_Waitall(2, q, st);
			MPI_Get_count(&st[1], MPI_INT, &count);
			CHECK(count == 0);
			CHECK(st[1].MPI_SOURCE == prev && st[1].MPI_TAG == 11);
		}
		MPI_Request_free(&q[0]);
		MPI_Request_free(&q[1]);
	}
	CHECK(v[0] == 7 && v[1] == 7);
}

static void
wrong_calls(void)
{
	int v[4] = {0}, flag;
	MPI_Request s, r, plain;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	WANT(MPI_ERR_ARG,
	     MPI_Psend_init(v, -1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &s));
	WANT(MPI_ERR_RANK, MPI_Precv_init(v, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
					  MPI_INFO_NULL, &r));
	WANT(MPI_ERR_TAG,
	     MPI_Precv_init(v, 1, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
	MPI_Psend_init(v, 2, 1, MPI_INT, check_rank, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &s);
	MPI_Precv_init(v + 2, 2, 1, MPI_INT, check_rank, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
	WANT(MPI_ERR_REQUEST, MPI_Pready(0, s)); /* not started */
	WANT(MPI_ERR_REQUEST, MPI_Pready(0, r));
	WANT(MPI_ERR_REQUEST, MPI_Parrived(s, 0, &flag));
	MPI_Start(&s);
	MPI_Start(&r);
	WANT(MPI_ERR_ARG, MPI_Pready(2, s));
	WANT(MPI_ERR_ARG, MPI_Pready(-1, s));
	CHECK(MPI_Pready(1, s) == MPI_SUCCESS);
	WANT(MPI_ERR_ARG, MPI_Pready(1, s));
	WANT(MPI_ERR_ARG, MPI_Pready_range(1, 0, s));
	WANT(MPI_ERR_ARG, MPI_Parrived(r, 2, &flag));
	WANT(MPI_ERR_REQUEST, MPI_Cancel(&s));
	MPI_Pready(0, s);
	MPI_Wait(&s, MPI_STATUS_IGNORE);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Request_free(&s);
	MPI_Request_free(&r);
	MPI_Irecv(v, 1, MPI_INT, check_rank, 0, MPI_COMM_WORLD, &plain);
	WANT(MPI_ERR_REQUEST, MPI_Pready(0, plain));
	MPI_Send(v, 1, MPI_INT, check_rank, 0, MPI_COMM_WORLD);
	MPI_Wait(&plain, MPI_STATUS_IGNORE);
	/* to nobody; and a pair of which nothing was ever started */
	MPI_Psend_init(v, 2, 1, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &s);
	MPI_Start(&s);
	CHECK(MPI_Pready_range(0, 1, s) == MPI_SUCCESS);
	MPI_Wait(&s, MPI_STATUS_IGNORE);
	MPI_Request_free(&s);
	MPI_Psend_init(v, 2, 1, MPI_INT, check_rank, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &s);
	MPI_Precv_init(v, 2, 1, MPI_INT, check_rank, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
	MPI_Request_free(&s);
	MPI_Request_free(&r);
	/* more than there is room for */
	MPI_Psend_init(v, 2, 2, MPI_INT, check_rank, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &s);
	MPI_Precv_init(&flag, 1, 1, MPI_INT, check_rank, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
	MPI_Start(&s);
	MPI_Start(&r);
	MPI_Pready_range(0, 1, s);
	MPI_Wait(&s, MPI_STATUS_IGNORE);
	WANT(MPI_ERR_TRUNCATE, MPI_Wait(&r, MPI_STATUS_IGNORE));
	MPI_Request_free(&s);
	MPI_Request_free(&r);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Two tags at once; their senders have said so in the other order before the receivers begin. */
static void
two_tags(void)
{
	int right = (check_rank + 1) % check_size;
	int left = (check_rank + check_size - 1) % check_size;
	int out[2][8], in[2][8], token = 0;
	MPI_Request s[2], r[2];

	for (int t = 1; t >= 0; t--)
		MPI_Psend_init(out[t], 4, 2, MPI_INT, right, 50 + t, MPI_COMM_WORLD, MPI_INFO_NULL,
			       &s[t]);
	MPI_Sendrecv_replace(&token, 1, MPI_INT, right, 4, left, 4, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	for (int t = 0; t < 2; t++)
		MPI_Precv_init(in[t], 4, 2, MPI_INT, left, 50 + t, MPI_COMM_WORLD, MPI_INFO_NULL,
			       &r[t]);
	MPI_Startall(2, r);
	MPI_Startall(2, s);
	for (int t = 0; t < 2; t++) {
		for (int i = 0; i < 8; i++)
			out[t][i] = check_rank * 100 + t * 10 + i;
		MPI_Pready_range(0, 3, s[t]);
	}
	MPI_Waitall(2, s, MPI_STATUSES_IGNORE);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	for (int t = 0; t < 2; t++) {
		for (int i = 0; i < 8; i++)
			CHECKF(in[t][i] == left * 100 + t * 10 + i, "tag %d, %d: %d", 50 + t, i,
			       in[t][i]);
		MPI_Request_free(&s[t]);
		MPI_Request_free(&r[t]);
	}
}

int
main(int argc, char **argv)
{
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &check_size);
	for (int order = 0; order < 3; order++) {
		numbers(1, 1, 64, order);
		numbers(8, 8, 64, order);
		numbers(1, 16, 64, order);
		numbers(16, 1, 64, order);
		numbers(6, 4, 120, order);
		numbers(8, 12, 240000, order);
		numbers(2, 2, 400000, order);
	}
	for (int k = 0; k < 4; k++)
		by_stubs_names(k & 1, k & 2);
	dependent();
	with_types();
	by_threads();
	two_tags();
	none();
	wrong_calls();
	return finish();
}
