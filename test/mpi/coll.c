/* SPDX-License-Identifier: BSD-2-Clause */
/* Every collective against what it must give, by count, root, type, in place,
 * blocking and non-blocking. */
#include "check.h"

#include <stdbool.h>

#define MAX 70000

static int *in, *out, *all;
static const int counts[] = {0, 1, 3, 17, 1000, 5000, 60000};
#define COUNTS ((int)(sizeof(counts) / sizeof(counts[0])))

static int
value(int rank, int i)
{
	return (int)(mix((uint32_t)(rank * 100003 + i)) >> 8);
}

static void
set_in(int n)
{
	for (int i = 0; i < n; i++)
		in[i] = value(check_rank, i);
}

static void
end(MPI_Request *r)
{
	if (*r != MPI_REQUEST_NULL)
		MPI_Wait(r, MPI_STATUS_IGNORE);
}

static void
bcast(int n, bool nonblocking)
{
	for (int root = 0; root < check_size; root++) {
		MPI_Request r = MPI_REQUEST_NULL;
		bool good = true;

		for (int i = 0; i < n; i++)
			out[i] = check_rank == root ? value(root, i) : -1;
		if (nonblocking)
			MPI_Ibcast(out, n, MPI_INT, root, MPI_COMM_WORLD, &r);
		else
			MPI_Bcast(out, n, MPI_INT, root, MPI_COMM_WORLD);
		end(&r);
		for (int i = 0; i < n; i++)
			good &= out[i] == value(root, i);
		CHECKF(good, "bcast of %d from %d", n, root);
	}
}

static int
sum_to(int upto, int i)
{
	unsigned s = 0;

	for (int k = 0; k < upto; k++)
		s += (unsigned)value(k, i);
	return (int)s;
}

static void
reductions(int n, bool nonblocking, bool in_place)
{
	MPI_Request r = MPI_REQUEST_NULL;
	bool good = true;

	for (int root = 0; root < check_size; root++) {
		const void *src = in;

		set_in(n);
		memset(out, 0, (size_t)n * sizeof(int));
		if (in_place && root == check_rank) {
			memcpy(out, in, (size_t)n * sizeof(int));
			src = MPI_IN_PLACE;
		}
		if (nonblocking)
			MPI_Ireduce(src, out, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &r);
		else
			MPI_Reduce(src, out, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
		end(&r);
		good = true;
		for (int i = 0; i < n && root == check_rank; i++)
			good &= out[i] == sum_to(check_size, i);
		CHECKF(good, "reduce of %d to %d", n, root);
	}
	set_in(n);
	memcpy(out, in, (size_t)n * sizeof(int));
	if (nonblocking)
		MPI_Iallreduce(in_place ? MPI_IN_PLACE : in, out, n, MPI_INT, MPI_SUM,
			       MPI_COMM_WORLD, &r);
	else
		MPI_Allreduce(in_place ? MPI_IN_PLACE : in, out, n, MPI_INT, MPI_SUM,
			      MPI_COMM_WORLD);
	end(&r);
	good = true;
	for (int i = 0; i < n; i++)
		good &= out[i] == sum_to(check_size, i);
	CHECKF(good, "allreduce of %d", n);
	memcpy(out, in, (size_t)n * sizeof(int));
	if (nonblocking)
		MPI_Iscan(in_place ? MPI_IN_PLACE : in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
			  &r);
	else
		MPI_Scan(in_place ? MPI_IN_PLACE : in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	end(&r);
	good = true;
	for (int i = 0; i < n; i++)
		good &= out[i] == sum_to(check_rank + 1, i);
	CHECKF(good, "scan of %d", n);
	for (int i = 0; i < n; i++)
		out[i] = in_place ? in[i] : -7;
	if (nonblocking)
		MPI_Iexscan(in_place ? MPI_IN_PLACE : in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
			    &r);
	else
		MPI_Exscan(in_place ? MPI_IN_PLACE : in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	end(&r);
	good = true;
	for (int i = 0; i < n && check_rank > 0; i++)
		good &= out[i] == sum_to(check_rank, i);
	for (int i = 0; i < n && check_rank == 0 && !in_place; i++)
		good &= out[i] == -7;
	CHECKF(good, "exscan of %d", n);
}

static void
gathers(int n, bool nonblocking, bool in_place)
{
	MPI_Request r = MPI_REQUEST_NULL;

	for (int root = -1; root < check_size; root++) { /* -1: allgather */
		bool here = root == -1 || root == check_rank, good = true;
		const void *src = in;

		set_in(n);
		memset(all, 0xff, (size_t)n * (size_t)check_size * sizeof(int));
		if (here && in_place) {
			memcpy(all + (size_t)n * (size_t)check_rank, in, (size_t)n * sizeof(int));
			src = MPI_IN_PLACE;
		}
		if (root == -1 && nonblocking)
			MPI_Iallgather(src, n, MPI_INT, all, n, MPI_INT, MPI_COMM_WORLD, &r);
		else if (root == -1)
			MPI_Allgather(src, n, MPI_INT, all, n, MPI_INT, MPI_COMM_WORLD);
		else if (nonblocking)
			MPI_Igather(src, n, MPI_INT, all, n, MPI_INT, root, MPI_COMM_WORLD, &r);
		else
			MPI_Gather(src, n, MPI_INT, all, n, MPI_INT, root, MPI_COMM_WORLD);
		end(&r);
		for (int k = 0; here && k < check_size; k++)
			for (int i = 0; i < n; i++)
				good &= all[(size_t)k * (size_t)n + (size_t)i] == value(k, i);
		CHECKF(good, "gather of %d to %d", n, root);
	}
}

static void
scatters(int n, bool nonblocking, bool in_place)
{
	MPI_Request r = MPI_REQUEST_NULL;

	for (int root = 0; root < check_size; root++) {
		bool good = true;
		void *dst = out;

		for (int k = 0; root == check_rank && k < check_size; k++)
			for (int i = 0; i < n; i++)
				all[(size_t)k * (size_t)n + (size_t)i] = value(k + root, i);
		if (in_place && root == check_rank)
			dst = MPI_IN_PLACE;
		if (nonblocking)
			MPI_Iscatter(all, n, MPI_INT, dst, n, MPI_INT, root, MPI_COMM_WORLD, &r);
		else
			MPI_Scatter(all, n, MPI_INT, dst, n, MPI_INT, root, MPI_COMM_WORLD);
		end(&r);
		for (int i = 0; i < n && dst == out; i++)
			good &= out[i] == value(check_rank + root, i);
		CHECKF(good, "scatter of %d from %d", n, root);
	}
}

static void
alltoalls(int n, bool nonblocking, bool in_place)
{
	MPI_Request r = MPI_REQUEST_NULL;
	size_t total = (size_t)n * (size_t)check_size;
	int *to = malloc((total + 1) * sizeof(int));
	bool good = true;

	for (int k = 0; k < check_size; k++)
		for (int i = 0; i < n; i++)
			to[(size_t)k * (size_t)n + (size_t)i] = value(check_rank * 64 + k, i);
	if (in_place)
		memcpy(all, to, total * sizeof(int));
	if (nonblocking)
		MPI_Ialltoall(in_place ? MPI_IN_PLACE : to, n, MPI_INT, all, n, MPI_INT,
			      MPI_COMM_WORLD, &r);
	else
		MPI_Alltoall(in_place ? MPI_IN_PLACE : to, n, MPI_INT, all, n, MPI_INT,
			     MPI_COMM_WORLD);
	end(&r);
	for (int k = 0; k < check_size; k++)
		for (int i = 0; i < n; i++)
			good &= all[(size_t)k * (size_t)n + (size_t)i] ==
				value(k * 64 + check_rank, i);
	CHECKF(good, "alltoall of %d", n);
	free(to);
}

static void
reduce_scatters(int n, bool in_place)
{
	int *rc = malloc((size_t)check_size * sizeof(int)), first = 0, total = 0;
	bool good = true;

	if (n * check_size > MAX)
		n = MAX / check_size;
	for (int k = 0; k < check_size; k++) {
		rc[k] = n > 2 ? n - k % 3 : n;
		if (k < check_rank)
			first += rc[k];
		total += rc[k];
	}
	set_in(n * check_size);
	memcpy(out, in, (size_t)n * (size_t)check_size * sizeof(int));
	MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : in, out, n, MPI_INT, MPI_SUM,
				 MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		good &= out[i] == sum_to(check_size, check_rank * n + i);
	CHECKF(good, "reduce_scatter_block of %d", n);
	memcpy(out, in, (size_t)n * (size_t)check_size * sizeof(int));
	MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : in, out, rc, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	good = true;
	for (int i = 0; i < rc[check_rank]; i++)
		good &= out[i] == sum_to(check_size, first + i);
	CHECKF(good, "reduce_scatter of %d in all", total);
	free(rc);
}

/* The same calls again, more kinds of them than a communicator remembers, several of one kind
 * under way at a time, on communicators that come and go. */
static void
again(void)
{
	enum { KINDS = 20, AT_ONCE = 3 };
	MPI_Comm comm;
	MPI_Request r[AT_ONCE];
	bool good = true;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	set_in(KINDS + AT_ONCE);
	for (int turn = 0; turn < 3; turn++)
		for (int n = 1; n <= KINDS; n++) {
			for (int k = 0; k < AT_ONCE; k++) {
				memset(out + k * KINDS, 0, KINDS * sizeof(int));
				MPI_Iallreduce(in + k, out + k * KINDS, n, MPI_INT, MPI_SUM, comm,
					       &r[k]);
			}
			MPI_Allreduce(in, all, n, MPI_INT, turn == 1 ? MPI_MAX : MPI_SUM, comm);
			MPI_Waitall(AT_ONCE, r, MPI_STATUSES_IGNORE);
			for (int i = 0; i < n; i++) {
				good &= turn == 1 || all[i] == sum_to(check_size, i);
				for (int k = 0; k < AT_ONCE; k++)
					good &= out[k * KINDS + i] == sum_to(check_size, k + i);
			}
		}
	CHECKF(good, "%d kinds of allreduce, %d at once", KINDS, AT_ONCE);
	MPI_Comm_free(&comm);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	in = calloc(MAX * 2, sizeof(int));
	out = calloc(MAX * 2, sizeof(int));
	all = calloc(MAX * (size_t)check_size, sizeof(int));
	for (int k = 0; k < COUNTS; k++)
		for (int form = 0; form < 4; form++) {
			bool nonblocking = form & 1, in_place = form & 2;

			if (!in_place)
				bcast(counts[k], nonblocking);
			reductions(counts[k], nonblocking, in_place);
			gathers(counts[k], nonblocking, in_place);
			scatters(counts[k], nonblocking, in_place);
			alltoalls(counts[k], nonblocking, in_place);
			if (!nonblocking)
				reduce_scatters(counts[k], in_place);
			MPI_Barrier(MPI_COMM_WORLD);
		}
	again();
	free(in);
	free(out);
	free(all);
	return finish();
}
