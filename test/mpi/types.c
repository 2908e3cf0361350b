/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of every kind of datatype, sent as one and received as another. */
#include "check.h"

#include <stddef.h>

/* Send `count` of st from out on rank 0 and of all the others receive as rt. */
static void
pass(const void *out, int scount, MPI_Datatype st, void *in, int rcount, MPI_Datatype rt)
{
	MPI_Request r;

	MPI_Irecv(in, rcount, rt, check_rank, 3, MPI_COMM_WORLD, &r);
	MPI_Send(out, scount, st, check_rank, 3, MPI_COMM_WORLD);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	if (check_size > 1) {
		int right = (check_rank + 1) % check_size;
		int left = (check_rank + check_size - 1) % check_size;

		MPI_Sendrecv(out, scount, st, right, 4, in, rcount, rt, left, 4, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	}
}

static void
vectors(void)
{
	static double a[100][100], b[100 * 100];
	MPI_Datatype col, cols;

	for (int i = 0; i < 100; i++)
		for (int j = 0; j < 100; j++)
			a[i][j] = i * 100 + j;
	MPI_Type_vector(100, 1, 100, MPI_DOUBLE, &col);
	MPI_Type_create_resized(col, 0, sizeof(double), &cols);
	MPI_Type_commit(&cols);
	MPI_Type_free(&col);
	pass(a, 100, cols, b, 10000, MPI_DOUBLE); /* a transpose */
	for (int i = 0; i < 100; i++)
		for (int j = 0; j < 100; j++)
			CHECK(b[j * 100 + i] == a[i][j]);
	memset(b, 0, sizeof(b));
	pass(a, 10000, MPI_DOUBLE, b, 100, cols);
	CHECK(b[1] == 100 && b[100] == 1 && b[9999] == 9999);
	MPI_Type_free(&cols);
}

/* MPI-1's way to give a type its bounds. */
static void
markers(void)
{
	static const double out[6] = {1, 2, 3, 4, 5, 6};
	double in[6] = {0};
	int len[3] = {1, 1, 1}, n, ints[4], size;
	MPI_Aint disp[3] = {8, 0, 24}, at[3], lb, ub, extent;
	MPI_Datatype parts[3] = {MPI_DOUBLE, MPI_LB, MPI_UB}, got[3], t, row, dup;
	char name[MPI_MAX_OBJECT_NAME];

	MPI_Type_struct(3, len, disp, parts, &t);
	MPI_Type_commit(&t);
	MPI_Type_lb(t, &lb);
	MPI_Type_ub(t, &ub);
	MPI_Type_size(t, &size);
	CHECKF(lb == 0 && ub == 24 && size == 8, "lb %ld, ub %ld, size %d", (long)lb, (long)ub,
	       size);
	pass(out, 2, t, in, 2, t); /* the second and the fifth */
	CHECK(in[0] == 0 && in[1] == 2 && in[2] == 0 && in[3] == 0 && in[4] == 5 && in[5] == 0);
	MPI_Type_get_contents(t, 4, 3, 3, ints, at, got);
	CHECK(got[1] == MPI_LB && got[2] == MPI_UB && at[2] == 24);

	/* They stay with what is made of it: here an int after the end does not count. */
	parts[0] = t;
	parts[1] = MPI_INT;
	disp[0] = 0;
	disp[1] = 100;
	MPI_Type_struct(2, len, disp, parts, &row);
	MPI_Type_get_extent(row, &lb, &extent);
	CHECKF(lb == 0 && extent == 24, "lb %ld, extent %ld", (long)lb, (long)extent);
	MPI_Type_free(&row);
	MPI_Type_free(&t);

	/* One end alone: the other one is that of the data. */
	parts[0] = MPI_INT;
	parts[1] = MPI_LB;
	disp[0] = 4;
	disp[1] = -12;
	MPI_Type_struct(2, len, disp, parts, &t);
	MPI_Type_dup(t, &dup);
	MPI_Type_get_extent(dup, &lb, &extent);
	CHECKF(lb == -12 && extent == 20, "lb %ld, extent %ld", (long)lb, (long)extent);
	MPI_Type_get_true_extent(dup, &lb, &extent);
	CHECK(lb == 4 && extent == 4);
	MPI_Type_free(&dup);
	MPI_Type_free(&t);

	MPI_Type_get_name(MPI_UB, name, &n);
	MPI_Type_size(MPI_UB, &size);
	CHECK(strcmp(name, "MPI_UB") == 0 && size == 0);
}

struct part {
	char c;
	double d;
	short s[3];
};

static void
structs(void)
{
	struct part out[50], in[50];
	int len[3] = {1, 1, 3};
	MPI_Aint disp[3] = {offsetof(struct part, c), offsetof(struct part, d),
			    offsetof(struct part, s)};
	MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT}, t;
	MPI_Aint lb, extent;
	int size, n;
	MPI_Status st;

	MPI_Type_create_struct(3, len, disp, types, &t);
	MPI_Type_commit(&t);
	MPI_Type_get_extent(t, &lb, &extent);
	MPI_Type_size(t, &size);
	CHECK(lb == 0 && extent == sizeof(struct part) && size == 15);
	memset(out, 0x55, sizeof(out));
	memset(in, 0xaa, sizeof(in));
	for (int i = 0; i < 50; i++)
		out[i] =
			(struct part){(char)i, i * 1.5, {(short)i, (short)(i + 1), (short)(i + 2)}};
	pass(out, 50, t, in, 50, t);
	for (int i = 0; i < 50; i++)
		CHECK(in[i].c == i && in[i].d == i * 1.5 && in[i].s[2] == i + 2);
	CHECK(((unsigned char *)in)[1] == 0xaa); /* the hole is untouched */
	/* a shorter message than the buffer: elements are counted */
	MPI_Sendrecv(out, 7, t, check_rank, 1, in, 50, t, check_rank, 1, MPI_COMM_WORLD, &st);
	MPI_Get_count(&st, t, &n);
	CHECK(n == 7);
	MPI_Get_elements(&st, t, &n);
	CHECK(n == 35);
	MPI_Type_free(&t);
}

static void
irregular(void)
{
	int out[200], in[200], len[4] = {3, 0, 5, 1}, disp[4] = {100, 4, 7, 60};
	MPI_Datatype idx, sub, nest;
	int sizes[2] = {10, 20}, subs[2] = {4, 5}, starts[2] = {3, 7}, n = 0;

	for (int i = 0; i < 200; i++)
		out[i] = i;
	MPI_Type_indexed(4, len, disp, MPI_INT, &idx);
	MPI_Type_commit(&idx);
	pass(out, 1, idx, in, 9, MPI_INT);
	for (int b = 0; b < 4; b++)
		for (int i = 0; i < len[b]; i++)
			CHECK(in[n++] == disp[b] + i);
	MPI_Type_create_subarray(2, sizes, subs, starts, MPI_ORDER_C, MPI_INT, &sub);
	MPI_Type_commit(&sub);
	pass(out, 1, sub, in, 20, MPI_INT);
	for (int i = 0; i < 20; i++)
		CHECK(in[i] == (3 + i / 5) * 20 + 7 + i % 5);
	MPI_Type_contiguous(2, idx, &nest);
	MPI_Type_commit(&nest);
	MPI_Type_free(&idx); /* stays alive inside nest */
	MPI_Type_free(&nest);
	MPI_Type_free(&sub);
}

/* Absolute addresses, and a stride that runs backwards. */
static void
addresses(void)
{
	int a = 11, out[10], in[10], len[2] = {1, 1};
	double d = 2.5;
	MPI_Aint disp[2];
	MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, t, back;
	char packed[64];
	int pos = 0, pos2 = 0, a2, size;
	double d2;

	MPI_Get_address(&a, &disp[0]);
	MPI_Get_address(&d, &disp[1]);
	MPI_Type_create_struct(2, len, disp, types, &t);
	MPI_Type_commit(&t);
	MPI_Pack_size(1, t, MPI_COMM_WORLD, &size);
	CHECK(size >= 12);
	MPI_Pack(MPI_BOTTOM, 1, t, packed, 64, &pos, MPI_COMM_WORLD);
	MPI_Unpack(packed, pos, &pos2, &a2, 1, MPI_INT, MPI_COMM_WORLD);
	MPI_Unpack(packed, pos, &pos2, &d2, 1, MPI_DOUBLE, MPI_COMM_WORLD);
	CHECK(a2 == 11 && d2 == 2.5 && pos == pos2);
	a = 0;
	d = 0;
	MPI_Sendrecv(packed, pos, MPI_PACKED, check_rank, 2, MPI_BOTTOM, 1, t, check_rank, 2,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(a == 11 && d == 2.5);
	MPI_Type_free(&t);
	for (int i = 0; i < 10; i++)
		out[i] = i;
	MPI_Type_vector(10, 1, -1, MPI_INT, &back);
	MPI_Type_commit(&back);
	pass(out + 9, 1, back, in, 10, MPI_INT);
	for (int i = 0; i < 10; i++)
		CHECK(in[i] == 9 - i);
	MPI_Type_free(&back);
}

static void
queries(void)
{
	int len[2] = {2, 3}, disp[2] = {5, 1}, ints[5], ni, na, nd, combiner;
	MPI_Aint addrs[1];
	MPI_Datatype t, old[1], dup;
	MPI_Count nc, cints, caddrs, ctypes, counts[5];
	char name[MPI_MAX_OBJECT_NAME];

	MPI_Type_indexed(2, len, disp, MPI_FLOAT, &t);
	MPI_Type_get_envelope(t, &ni, &na, &nd, &combiner);
	CHECK(ni == 5 && na == 0 && nd == 1 && combiner == MPI_COMBINER_INDEXED);
	MPI_Type_get_contents(t, 5, 0, 1, ints, addrs, old);
	CHECK(ints[0] == 2 && ints[2] == 3 && ints[3] == 5 && old[0] == MPI_FLOAT);
	MPI_Type_dup(t, &dup);
	MPI_Type_get_envelope(dup, &ni, &na, &nd, &combiner);
	CHECK(ni == 0 && nd == 1 && combiner == MPI_COMBINER_DUP);
	MPI_Type_free(&dup);
	MPI_Type_free(&t);
	MPI_Type_vector_c(4, 2, 7, MPI_INT, &t);
	MPI_Type_get_envelope_c(t, &cints, &caddrs, &nc, &ctypes, &combiner);
	CHECK(cints == 0 && nc == 3 && ctypes == 1 && combiner == MPI_COMBINER_VECTOR);
	MPI_Type_get_contents_c(t, 0, 0, 3, 1, NULL, NULL, counts, old);
	CHECK(counts[0] == 4 && counts[1] == 2 && counts[2] == 7);
	MPI_Type_set_name(t, "four pairs");
	MPI_Type_get_name(t, name, &ni);
	CHECK(strcmp(name, "four pairs") == 0);
	MPI_Type_free(&t);
	MPI_Type_get_name(MPI_LONG_DOUBLE, name, &ni);
	CHECK(strcmp(name, "MPI_LONG_DOUBLE") == 0 && ni == 15);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	vectors();
	markers();
	structs();
	irregular();
	addresses();
	queries();
	return finish();
}
