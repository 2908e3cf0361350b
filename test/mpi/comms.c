/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups, communicators, attributes, topologies. */
#include "check.h"

static void
split(void)
{
	MPI_Comm c, d;
	int n, r, sum, result;

	MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &c);
	MPI_Comm_size(c, &n);
	MPI_Comm_rank(c, &r);
	CHECK(n == (check_size + 1 - check_rank % 2) / 2);
	CHECK(r == n - 1 - check_rank / 2); /* the key turns the order round */
	MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, c);
	CHECK(sum == n * (n - 1) + n * (check_rank % 2));
	MPI_Comm_dup(c, &d);
	MPI_Comm_compare(c, d, &result);
	CHECK(result == MPI_CONGRUENT);
	MPI_Comm_compare(c, c, &result);
	CHECK(result == MPI_IDENT);
	MPI_Comm_free(&d);
	CHECK(d == MPI_COMM_NULL);
	MPI_Comm_free(&c);
	MPI_Comm_split(MPI_COMM_WORLD, check_rank == 0 ? MPI_UNDEFINED : 3, 0, &c);
	CHECK((c == MPI_COMM_NULL) == (check_rank == 0));
	if (c != MPI_COMM_NULL)
		MPI_Comm_free(&c);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c);
	MPI_Comm_size(c, &n);
	CHECK(n >= 1 && n <= check_size);
	MPI_Comm_free(&c);
}

/* Splits by what info names. */
static void
guided(void)
{
	static const struct {
		int type;
		const char *key, *value;
		int like; /* 0: none, 1: as MPI_COMM_TYPE_SHARED, 2: all, 3: alone */
	} t[] = {
		{MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory", 1},
		{MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "a toaster", 0},
		{MPI_COMM_TYPE_HW_GUIDED, "mpi_pset_name", "mpi://WORLD", 0},
		{MPI_COMM_TYPE_HW_GUIDED, NULL, NULL, 0},
		{MPI_COMM_TYPE_HW_UNGUIDED, "mpi_hw_resource_type", "mpi_shared_memory", 0},
		{MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory", 1},
		{MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD", 2},
		{MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF", 3},
		{MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://MARS", 0},
	};
	MPI_Comm shared, c;
	int size[4] = {0, 0, check_size, 1}, n;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
	MPI_Comm_size(shared, &size[1]);
	MPI_Comm_free(&shared);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		MPI_Info info;

		MPI_Info_create(&info);
		if (t[i].key)
			MPI_Info_set(info, t[i].key, t[i].value);
		MPI_Comm_split_type(MPI_COMM_WORLD, t[i].type, 0, info, &c);
		n = 0;
		if (c != MPI_COMM_NULL) {
			MPI_Comm_size(c, &n);
			MPI_Comm_free(&c);
		}
		CHECKF(n == size[t[i].like], "split %zu: %d ranks, not %d", i, n, size[t[i].like]);
		MPI_Info_free(&info);
	}
}

/* Same tag, same ranks, different communicators: no message strays. */
static void
contexts(void)
{
	enum { K = 5 };
	MPI_Comm c[K];
	MPI_Request r[K];
	int right = (check_rank + 1) % check_size, in[K], out;
	int left = (check_rank + check_size - 1) % check_size;

	for (int k = 0; k < K; k++)
		MPI_Comm_dup(MPI_COMM_WORLD, &c[k]);
	for (int k = 0; k < K; k++)
		MPI_Irecv(&in[k], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, c[k], &r[k]);
	for (int k = K; k-- > 0;) {
		out = check_rank * 10 + k;
		MPI_Send(&out, 1, MPI_INT, right, 0, c[k]);
	}
	MPI_Waitall(K, r, MPI_STATUSES_IGNORE);
	for (int k = 0; k < K; k++) {
		CHECK(in[k] == left * 10 + k);
		MPI_Comm_free(&c[k]);
	}
}

static void
groups(void)
{
	MPI_Group world, odd, even, both, none;
	int ranges[1][3] = {{0, check_size - 1, 2}}, n, result, r[2] = {0, MPI_PROC_NULL}, t[2];
	MPI_Comm c;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_range_incl(world, 1, ranges, &even);
	MPI_Group_difference(world, even, &odd);
	MPI_Group_size(odd, &n);
	CHECK(n == check_size / 2);
	MPI_Group_union(odd, even, &both);
	MPI_Group_compare(both, world, &result);
	CHECK(result == (check_size == 1 ? MPI_IDENT : MPI_SIMILAR));
	MPI_Group_intersection(odd, even, &none);
	CHECK(none == MPI_GROUP_EMPTY);
	MPI_Group_translate_ranks(world, 2, r, even, t);
	CHECK(t[0] == 0 && t[1] == MPI_PROC_NULL);
	MPI_Comm_create(MPI_COMM_WORLD, even, &c);
	CHECK((c != MPI_COMM_NULL) == (check_rank % 2 == 0));
	if (c != MPI_COMM_NULL) {
		MPI_Barrier(c);
		MPI_Comm_free(&c);
	}
	if (check_rank % 2 == 0) {
		MPI_Comm_create_group(MPI_COMM_WORLD, even, 7, &c);
		MPI_Comm_size(c, &n);
		CHECK(n == (check_size + 1) / 2);
		MPI_Barrier(c);
		MPI_Comm_free(&c);
	}
	MPI_Group_free(&world);
	MPI_Group_free(&odd);
	MPI_Group_free(&even);
	MPI_Group_free(&both);
}

static int copies, deletes;

static int
copy(MPI_Comm c, int k, void *extra, void *in, void *out, int *flag)
{
	(void)c;
	(void)k;
	CHECK(*(int *)extra == 5);
	copies++;
	*(void **)out = (char *)in + 1;
	*flag = 1;
	return MPI_SUCCESS;
}

static int delete (MPI_Comm c, int k, void *value, void *extra)
{
	int n;

	(void)k;
	(void)value;
	(void)extra;
	MPI_Comm_size(c, &n); /* a callback may call MPI */
	deletes++;
	return MPI_SUCCESS;
}

static void
attributes(void)
{
	static char values[4];
	static int extra = 5;
	int key, flag, *ub, plain;
	void *got;
	MPI_Comm d;

	MPI_Comm_create_keyval(copy, delete, &key, &extra);
	MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, key, &values[0]);
	MPI_Comm_set_attr(MPI_COMM_WORLD, plain, &values[3]);
	MPI_Comm_dup(MPI_COMM_WORLD, &d);
	MPI_Comm_get_attr(d, key, &got, &flag);
	CHECK(flag && got == &values[1] && copies == 1);
	MPI_Comm_get_attr(d, plain, &got, &flag);
	CHECK(flag && got == &values[3]);
	MPI_Comm_set_attr(d, key, &values[2]);
	CHECK(deletes == 1);
	MPI_Comm_free(&d);
	CHECK(deletes == 2);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, plain);
	CHECK(deletes == 3);
	MPI_Comm_free_keyval(&key);
	MPI_Comm_free_keyval(&plain);
	CHECK(key == MPI_KEYVAL_INVALID);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &ub, &flag);
	CHECK(flag && *ub >= 32767);
}

static void
cartesian(void)
{
	int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], rank, src, dst, n, sum;
	MPI_Comm cart, row;

	MPI_Dims_create(check_size, 2, dims);
	CHECK(dims[0] * dims[1] == check_size && dims[0] >= dims[1]);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
	MPI_Cart_coords(cart, check_rank, 2, coords);
	MPI_Cart_rank(cart, coords, &rank);
	CHECK(rank == check_rank);
	MPI_Cart_shift(cart, 0, 1, &src, &dst);
	CHECK(dst == (coords[0] + 1) % dims[0] * dims[1] + coords[1]);
	MPI_Cart_shift(cart, 1, 1, &src, &dst);
	CHECK((dst == MPI_PROC_NULL) == (coords[1] == dims[1] - 1));
	MPI_Cart_sub(cart, (int[]){0, 1}, &row);
	MPI_Comm_size(row, &n);
	CHECK(n == dims[1]);
	MPI_Allreduce(&coords[1], &sum, 1, MPI_INT, MPI_SUM, row);
	CHECK(sum == n * (n - 1) / 2);
	MPI_Comm_free(&row);
	MPI_Comm_free(&cart);
	dims[0] = dims[1] = 0;
	MPI_Dims_create(12, 2, dims);
	CHECK(dims[0] == 4 && dims[1] == 3);
}

static void
idup(void)
{
	MPI_Comm a, b;
	MPI_Request r[2];
	int x = 1, s = 0, t = 0;

	MPI_Comm_idup(MPI_COMM_WORLD, &a, &r[0]);
	MPI_Comm_idup(MPI_COMM_WORLD, &b, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	MPI_Iallreduce(&x, &s, 1, MPI_INT, MPI_SUM, a, &r[0]);
	x = 1;
	MPI_Allreduce(&check_rank, &t, 1, MPI_INT, MPI_SUM, b);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	CHECK(s == check_size && t == check_size * (check_size - 1) / 2);
	MPI_Comm_free(&a);
	MPI_Comm_free(&b);
}

/* Many made of one, of all kinds, while others are under way: no message strays. */
static void
many(void)
{
	enum { N = 150 };
	MPI_Comm c[N], late;
	MPI_Request r, in[N];
	MPI_Group all, own;
	int got[N], to = (check_rank + 1) % check_size;

	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, 1, &check_rank, &own);
	MPI_Comm_idup(MPI_COMM_WORLD, &late, &r);
	for (int i = 0; i < N; i++) {
		if (i % 3 == 0) {
			MPI_Comm_dup(MPI_COMM_WORLD, &c[i]);
		} else if (i % 3 == 1) {
			MPI_Comm_split(MPI_COMM_WORLD, 0, check_rank, &c[i]);
		} else { /* of all, by way of one that not everybody gets */
			MPI_Comm_create(MPI_COMM_WORLD, check_rank == 0 ? own : MPI_GROUP_EMPTY,
					&c[i]);
			CHECK((c[i] != MPI_COMM_NULL) == (check_rank == 0));
			if (c[i] != MPI_COMM_NULL)
				MPI_Comm_free(&c[i]);
			MPI_Comm_dup(i > 2 ? c[i - 2] : MPI_COMM_WORLD, &c[i]);
		}
		MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, 0, c[i], &in[i]);
	}
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	for (int i = N; i-- > 0;)
		MPI_Send(&i, 1, MPI_INT, to, 0, c[i]);
	MPI_Barrier(late);
	MPI_Waitall(N, in, MPI_STATUSES_IGNORE);
	for (int i = 0; i < N; i++) {
		CHECK(got[i] == i);
		MPI_Comm_free(&c[i]);
	}
	MPI_Comm_free(&late);
	MPI_Group_free(&own);
	MPI_Group_free(&all);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	split();
	guided();
	contexts();
	groups();
	attributes();
	cartesian();
	idup();
	many();
	return finish();
}
