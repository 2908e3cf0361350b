/* SPDX-License-Identifier: BSD-2-Clause */
/* One-sided communication: every operation under every way of synchronisation, in every
 * kind of window, checked against what the target must hold. */
#include "check.h"

#define N 4096 /* ints in each part */

enum flavor { CREATE, ALLOCATE, SHARED, DYNAMIC, FLAVORS };
static const char *const flavor_name[] = {"create", "allocate", "shared", "dynamic"};

enum how { FENCE, PSCW, LOCK, LOCK_SHARED, LOCK_ALL, HOWS };
static const char *const how_name[] = {"fence", "pscw", "lock", "lock shared", "lock_all"};

struct box {
	enum flavor flavor;
	MPI_Comm comm;
	MPI_Win win;
	int *mem;
	int rank, size;
	MPI_Aint *at; /* of each part, in a dynamic window */
};

static void
make(struct box *b, enum flavor flavor, MPI_Comm comm)
{
	MPI_Aint at;

	*b = (struct box){.flavor = flavor, .comm = comm};
	MPI_Comm_rank(comm, &b->rank);
	MPI_Comm_size(comm, &b->size);
	b->at = calloc((size_t)b->size, sizeof(*b->at));
	switch (flavor) {
	case CREATE:
		b->mem = malloc(N * sizeof(int));
		MPI_Win_create(b->mem, N * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &b->win);
		break;
	case ALLOCATE:
		MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &b->mem,
				 &b->win);
		break;
	case SHARED:
		MPI_Win_allocate_shared(N * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &b->mem,
					&b->win);
		break;
	default:
		b->mem = malloc(N * sizeof(int));
		MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &b->win);
		MPI_Win_attach(b->win, b->mem, N * sizeof(int));
		MPI_Get_address(b->mem, &at);
		MPI_Allgather(&at, 1, MPI_AINT, b->at, 1, MPI_AINT, comm);
	}
}

static void
unmake(struct box *b)
{
	if (b->flavor == DYNAMIC)
		CHECK(MPI_Win_detach(b->win, b->mem) == MPI_SUCCESS);
	CHECK(MPI_Win_free(&b->win) == MPI_SUCCESS);
	CHECK(b->win == MPI_WIN_NULL);
	if (b->flavor == CREATE || b->flavor == DYNAMIC)
		free(b->mem);
	free(b->at);
}

/* Displacement of the i-th int of a part. */
static MPI_Aint
disp(const struct box *b, int target, int i)
{
	return b->flavor == DYNAMIC ? MPI_Aint_add(b->at[target], i * (MPI_Aint)sizeof(int)) : i;
}

/* Everybody fills its own part. */
static void
reset(struct box *b, int value)
{
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, b->rank, 0, b->win);
	for (int i = 0; i < N; i++)
		b->mem[i] = value + i;
	MPI_Win_unlock(b->rank, b->win);
	MPI_Barrier(b->comm);
}

/* An epoch of mine towards `to`, while `from` has one towards me. */
static void
begin(struct box *b, enum how how, int to, int from)
{
	MPI_Group all, one;

	switch (how) {
	case FENCE:
		MPI_Win_fence(MPI_MODE_NOPRECEDE, b->win);
		break;
	case PSCW:
		MPI_Win_get_group(b->win, &all);
		MPI_Group_incl(all, 1, &from, &one);
		MPI_Win_post(one, 0, b->win);
		MPI_Group_free(&one);
		MPI_Group_incl(all, 1, &to, &one);
		MPI_Win_start(one, 0, b->win);
		MPI_Group_free(&one);
		MPI_Group_free(&all);
		break;
	case LOCK:
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, b->win);
		break;
	case LOCK_SHARED:
		MPI_Win_lock(MPI_LOCK_SHARED, to, 0, b->win);
		break;
	default:
		MPI_Win_lock_all(0, b->win);
	}
}

/* Its end: all is done here and there, for everybody. */
static void
end(struct box *b, enum how how, int to)
{
	int flag = 0;

	switch (how) {
	case FENCE:
		MPI_Win_fence(MPI_MODE_NOSUCCEED, b->win);
		return;
	case PSCW:
		MPI_Win_complete(b->win);
		if (b->rank % 2 == 0)
			MPI_Win_wait(b->win);
		else
			while (!flag)
				MPI_Win_test(b->win, &flag);
		break;
	case LOCK:
	case LOCK_SHARED:
		MPI_Win_unlock(to, b->win);
		break;
	default:
		MPI_Win_unlock_all(b->win);
	}
	MPI_Barrier(b->comm);
}

/* Put, get, accumulate and the fetching ones to the right neighbour, with `count` ints each. */
static void
exchange(struct box *b, enum how how, int count)
{
	int to = (b->rank + 1) % b->size, from = (b->rank + b->size - 1) % b->size;
	int *out = malloc((size_t)count * sizeof(int)), *in = calloc((size_t)count, sizeof(int));
	int *old = calloc((size_t)count, sizeof(int)), *nop = calloc((size_t)count, sizeof(int));
	int one = 1000, was = -1, compare = 7 + 3 * N / 4 + 1, swapped = -1, bad;

	reset(b, 7);
	for (int i = 0; i < count; i++)
		out[i] = b->rank * 100000 + i;
	begin(b, how, to, from);
	MPI_Put(out, count, MPI_INT, to, disp(b, to, 0), count, MPI_INT, b->win);
	MPI_Get(in, count, MPI_INT, to, disp(b, to, N / 4), count, MPI_INT, b->win);
	MPI_Get_accumulate(out, count, MPI_INT, old, count, MPI_INT, to, disp(b, to, N / 2), count,
			   MPI_INT, MPI_SUM, b->win);
	MPI_Accumulate(out, count, MPI_INT, to, disp(b, to, N / 2), count, MPI_INT, MPI_SUM,
		       b->win);
	MPI_Get_accumulate(NULL, 0, MPI_INT, nop, count, MPI_INT, to, disp(b, to, N / 2), count,
			   MPI_INT, MPI_NO_OP, b->win);
	MPI_Fetch_and_op(&one, &was, MPI_INT, to, disp(b, to, 3 * N / 4), MPI_SUM, b->win);
	MPI_Compare_and_swap(&one, &compare, &swapped, MPI_INT, to, disp(b, to, 3 * N / 4 + 1),
			     b->win);
	end(b, how, to);

	bad = -1;
	for (int i = 0; i < count; i++) {
		if (in[i] != 7 + N / 4 + i || old[i] != 7 + N / 2 + i ||
		    nop[i] != 7 + N / 2 + i + 2 * out[i])
			bad = i;
	}
	CHECKF(bad < 0, "%s, %s, %d ints: what was fetched is wrong at %d: %d %d %d",
	       flavor_name[b->flavor], how_name[how], count, bad, in[bad < 0 ? 0 : bad],
	       old[bad < 0 ? 0 : bad], nop[bad < 0 ? 0 : bad]);
	CHECKF(was == 7 + 3 * N / 4 && swapped == compare, "%s, %s: %d %d", flavor_name[b->flavor],
	       how_name[how], was, swapped);
	MPI_Win_lock(MPI_LOCK_SHARED, b->rank, 0, b->win);
	bad = -1;
	for (int i = 0; i < count; i++) {
		int theirs = from * 100000 + i;

		if (b->mem[i] != theirs || b->mem[N / 4 + i] != 7 + N / 4 + i ||
		    b->mem[N / 2 + i] != 7 + N / 2 + i + 2 * theirs)
			bad = i;
	}
	CHECKF(bad < 0, "%s, %s, %d ints: my part is wrong at %d: %d %d", flavor_name[b->flavor],
	       how_name[how], count, bad, b->mem[bad < 0 ? 0 : bad],
	       b->mem[N / 2 + (bad < 0 ? 0 : bad)]);
	CHECK(b->mem[3 * N / 4] == 7 + 3 * N / 4 + 1000);
	CHECK(b->mem[3 * N / 4 + 1] == 1000);
	CHECK(b->mem[count] == (count == N / 4 ? 7 + N / 4 : 7 + count));
	MPI_Win_unlock(b->rank, b->win);
	MPI_Barrier(b->comm);
	free(out);
	free(in);
	free(old);
	free(nop);
}

/* A matrix transposed on the way; types on both sides, bases off the start. */
static void
transposed(struct box *b)
{
	enum { M = 24 };
	int to = (b->rank + 1) % b->size, from = (b->rank + b->size - 1) % b->size;
	int mine[M][M], back[M][M], bad = 0;
	MPI_Datatype column, columns, rows;

	for (int i = 0; i < M; i++)
		for (int k = 0; k < M; k++)
			mine[i][k] = b->rank * 10000 + i * M + k;
	MPI_Type_vector(M, 1, M, MPI_INT, &column);
	MPI_Type_create_hvector(M, 1, sizeof(int), column, &columns);
	MPI_Type_contiguous(M * M, MPI_INT, &rows);
	MPI_Type_commit(&columns);
	MPI_Type_commit(&rows);
	reset(b, 0);
	begin(b, LOCK_ALL, to, from);
	MPI_Put(mine, 1, rows, to, disp(b, to, 5), 1, columns, b->win);
	MPI_Win_flush(to, b->win);
	memset(back, 0, sizeof(back));
	MPI_Get(back, 1, columns, to, disp(b, to, 5), 1, rows, b->win);
	MPI_Win_flush_local(to, b->win);
	for (int i = 0; i < M; i++)
		for (int k = 0; k < M; k++)
			bad += back[i][k] != mine[i][k];
	CHECKF(bad == 0, "%s: %d of what came back are wrong", flavor_name[b->flavor], bad);
	MPI_Accumulate(mine, 1, columns, to, disp(b, to, 5), 1, columns, MPI_SUM, b->win);
	end(b, LOCK_ALL, to);
	bad = 0;
	for (int i = 0; i < M; i++)
		for (int k = 0; k < M; k++)
			bad += b->mem[5 + k * M + i] != from * 20000 + i * M + k + k * M + i;
	CHECKF(bad == 0, "%s: %d of my part are wrong", flavor_name[b->flavor], bad);
	CHECK(b->mem[4] == 4 && b->mem[5 + M * M] == 5 + M * M);
	MPI_Type_free(&column);
	MPI_Type_free(&columns);
	MPI_Type_free(&rows);
	MPI_Barrier(b->comm);
}

/* Requests of the operations; complete in any order. */
static void
requests(struct box *b)
{
	int to = (b->rank + 1) % b->size, from = (b->rank + b->size - 1) % b->size;
	int out[300], in[300], old[300], bad = 0, flag;
	MPI_Request r[4];
	MPI_Status s[4];

	reset(b, 50);
	for (int i = 0; i < 300; i++)
		out[i] = from + i;
	MPI_Win_lock(MPI_LOCK_SHARED, to, MPI_MODE_NOCHECK, b->win);
	MPI_Rput(out, 300, MPI_INT, to, disp(b, to, 0), 300, MPI_INT, b->win, &r[0]);
	MPI_Rget(in, 300, MPI_INT, to, disp(b, to, 300), 300, MPI_INT, b->win, &r[1]);
	MPI_Raccumulate(out, 300, MPI_INT, to, disp(b, to, 600), 300, MPI_INT, MPI_MAX, b->win,
			&r[2]);
	MPI_Rget_accumulate(out, 300, MPI_INT, old, 300, MPI_INT, to, disp(b, to, 900), 300,
			    MPI_INT, MPI_REPLACE, b->win, &r[3]);
	MPI_Waitall(4, r, s);
	for (int i = 0; i < 4; i++)
		CHECK(r[i] == MPI_REQUEST_NULL);
	for (int i = 0; i < 300; i++)
		bad += in[i] != 350 + i || old[i] != 950 + i;
	CHECKF(bad == 0, "%s: %d", flavor_name[b->flavor], bad);
	MPI_Rput(out, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, b->win, &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	MPI_Rget(in, 0, MPI_INT, to, disp(b, to, 0), 0, MPI_INT, b->win, &r[0]);
	for (flag = 0; !flag;)
		MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
	MPI_Win_unlock(to, b->win);
	MPI_Barrier(b->comm);
	bad = 0;
	for (int i = 0; i < 300; i++) {
		int theirs = (from + b->size - 1) % b->size + i;

		bad += b->mem[i] != theirs || b->mem[900 + i] != theirs ||
		       b->mem[600 + i] != (theirs > 650 + i ? theirs : 650 + i);
	}
	CHECKF(bad == 0, "%s: %d", flavor_name[b->flavor], bad);
	MPI_Barrier(b->comm);
}

/* Everybody counts in the part of rank 0 at once, in all the ways there are. */
static void
counters(struct box *b)
{
	enum { TURNS = 40 };
	int one = 1, was, seen[4] = {0}, expected;

	reset(b, 0);
	MPI_Win_lock_all(0, b->win);
	for (int i = 0; i < TURNS; i++) {
		int now, got;

		MPI_Accumulate(&one, 1, MPI_INT, 0, disp(b, 0, 0), 1, MPI_INT, MPI_SUM, b->win);
		MPI_Fetch_and_op(&one, &was, MPI_INT, 0, disp(b, 0, 0), MPI_SUM, b->win);
		/* increment by compare and swap */
		MPI_Fetch_and_op(NULL, &now, MPI_INT, 0, disp(b, 0, 4), MPI_NO_OP, b->win);
		MPI_Win_flush_local_all(b->win);
		for (;;) {
			int next = now + 1;

			MPI_Compare_and_swap(&next, &now, &got, MPI_INT, 0, disp(b, 0, 4), b->win);
			MPI_Win_flush_local(0, b->win);
			if (got == now)
				break;
			now = got;
		}
	}
	MPI_Win_flush_all(b->win);
	MPI_Win_unlock_all(b->win);
	MPI_Barrier(b->comm);
	for (int i = 0; i < TURNS; i++) { /* read, add, write, under the lock alone */
		int v;

		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, b->win);
		MPI_Get(&v, 1, MPI_INT, 0, disp(b, 0, 8), 1, MPI_INT, b->win);
		MPI_Win_flush(0, b->win);
		v++;
		MPI_Put(&v, 1, MPI_INT, 0, disp(b, 0, 8), 1, MPI_INT, b->win);
		MPI_Win_unlock(0, b->win);
	}
	MPI_Barrier(b->comm);
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, b->win);
	for (int i = 0; i < 3; i++)
		MPI_Get(&seen[i], 1, MPI_INT, 0, disp(b, 0, 4 * i), 1, MPI_INT, b->win);
	MPI_Win_unlock(0, b->win);
	expected = TURNS * b->size;
	CHECKF(seen[0] == 2 * expected && seen[1] == 4 + expected && seen[2] == 8 + expected,
	       "%s: %d %d %d, not %d", flavor_name[b->flavor], seen[0], seen[1] - 4, seen[2] - 8,
	       expected);
	MPI_Barrier(b->comm);
}

/* Accumulates of one process to one place happen in their order, long ones too. */
static void
ordered(struct box *b)
{
	enum { LEN = N };
	int *a = malloc(LEN * sizeof(int)), *old = calloc(LEN, sizeof(int)), bad = 0;
	int to = (b->rank + 1) % b->size, last = -5, was = 0;

	reset(b, 0);
	MPI_Win_lock_all(0, b->win);
	for (int turn = 1; turn <= 3; turn++) {
		for (int i = 0; i < LEN; i++)
			a[i] = turn * 10000 + i;
		MPI_Accumulate(a, LEN, MPI_INT, to, disp(b, to, 0), LEN, MPI_INT, MPI_REPLACE,
			       b->win);
		MPI_Fetch_and_op(&last, &was, MPI_INT, to, disp(b, to, 17), MPI_REPLACE, b->win);
		MPI_Get_accumulate(NULL, 0, MPI_INT, old, LEN, MPI_INT, to, disp(b, to, 0), LEN,
				   MPI_INT, MPI_NO_OP, b->win);
		MPI_Win_flush_local(to, b->win);
		for (int i = 0; i < LEN; i++)
			bad += old[i] != (i == 17 ? -5 : turn * 10000 + i);
		CHECKF(was == turn * 10000 + 17, "%s: %d", flavor_name[b->flavor], was);
	}
	CHECKF(bad == 0, "%s: %d out of order", flavor_name[b->flavor], bad);
	MPI_Win_unlock_all(b->win);
	MPI_Barrier(b->comm);
	free(a);
	free(old);
}

/* The target computes, then calls MPI: an origin with a passive epoch gets through. */
static void
busy_target(struct box *b)
{
	int v = 77 + b->rank;

	reset(b, 0);
	if (b->rank == 0) {
		volatile double x = 1;

		for (double until = MPI_Wtime() + 0.02; MPI_Wtime() < until;)
			x = x * 1.0000001;
	} else {
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, b->win);
		MPI_Put(&v, 1, MPI_INT, 0, disp(b, 0, b->rank), 1, MPI_INT, b->win);
		MPI_Win_unlock(0, b->win);
	}
	MPI_Barrier(b->comm);
	for (int i = 1; b->rank == 0 && i < b->size; i++)
		CHECKF(b->mem[i] == 77 + i, "%s: %d", flavor_name[b->flavor], b->mem[i]);
	MPI_Barrier(b->comm);
}

/* Loads and stores of the neighbours' parts. */
static void
shared(struct box *b)
{
	int to = (b->rank + 1) % b->size, unit;
	MPI_Aint size;
	int *p, *first;

	reset(b, b->rank);
	CHECK(MPI_Win_shared_query(b->win, to, &size, &unit, &p) == MPI_SUCCESS);
	CHECK(size == N * (MPI_Aint)sizeof(int) && unit == sizeof(int));
	CHECK(p[3] == to + 3);
	MPI_Win_shared_query(b->win, MPI_PROC_NULL, &size, &unit, &first);
	CHECK(first[0] == 0);
	MPI_Win_shared_query(b->win, b->rank, &size, &unit, &p);
	CHECK(p == b->mem);
	CHECK(b->mem == first + (size_t)b->rank * N); /* one behind the other */
	MPI_Win_lock_all(MPI_MODE_NOCHECK, b->win);
	MPI_Barrier(b->comm);
	MPI_Win_shared_query(b->win, to, &size, &unit, &p);
	p[1] = -b->rank;
	MPI_Win_sync(b->win);
	MPI_Barrier(b->comm);
	MPI_Win_sync(b->win);
	CHECK(b->mem[1] == -((b->rank + b->size - 1) % b->size));
	MPI_Win_unlock_all(b->win);
	MPI_Barrier(b->comm);
}

int
main(int argc, char **argv)
{
	MPI_Comm node;
	struct box b;

	start(&argc, &argv);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	for (enum flavor f = 0; f < FLAVORS; f++) {
		make(&b, f, f == SHARED ? node : MPI_COMM_WORLD);
		for (enum how h = 0; h < HOWS; h++) {
			exchange(&b, h, 1);
			exchange(&b, h, N / 4);
		}
		transposed(&b);
		requests(&b);
		counters(&b);
		ordered(&b);
		busy_target(&b);
		if (f == SHARED)
			shared(&b);
		unmake(&b);
	}
	MPI_Comm_free(&node);
	return finish();
}
