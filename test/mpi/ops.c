/* SPDX-License-Identifier: BSD-2-Clause */
/* Reductions: predefined operations on many types, and the user's own. */
#include "check.h"

#include <complex.h>
#include <stdbool.h>

#define N 37

#define TEST_OP(NAME, TYPE, MTYPE, MOP, A, EXPR)                         \
	do {                                                             \
		TYPE in_[N], out_[N];                                    \
		bool good_ = true;                                       \
                                                                         \
		for (int i = 0; i < N; i++) {                            \
			int rank = check_rank;                           \
			in_[i] = (TYPE)(A);                              \
		}                                                        \
		MPI_Allreduce(in_, out_, N, MTYPE, MOP, MPI_COMM_WORLD); \
		for (int i = 0; i < N; i++) {                            \
			TYPE acc;                                        \
			{                                                \
				int rank = 0;                            \
				acc = (TYPE)(A);                         \
			}                                                \
			for (int rank = 1; rank < check_size; rank++) {  \
				TYPE a = acc, b = (TYPE)(A);             \
				acc = (TYPE)(EXPR);                      \
			}                                                \
			good_ &= acc == out_[i];                         \
		}                                                        \
		CHECKF(good_, "%s on %s", #MOP, #MTYPE);                 \
	} while (0)

#define INTEGERS(TYPE, MTYPE)                                                     \
	TEST_OP(x, TYPE, MTYPE, MPI_SUM, (rank + 1) * (i + 1) % 9, a + b);        \
	TEST_OP(x, TYPE, MTYPE, MPI_PROD, 1 + (rank + i) % 2, a * b);             \
	TEST_OP(x, TYPE, MTYPE, MPI_MAX, (rank * 7 + i * 3) % 50, a > b ? a : b); \
	TEST_OP(x, TYPE, MTYPE, MPI_MIN, (rank * 7 + i * 3) % 50, a < b ? a : b); \
	TEST_OP(x, TYPE, MTYPE, MPI_LAND, (rank + i) % 3, a && b);                \
	TEST_OP(x, TYPE, MTYPE, MPI_LOR, (rank + i) % 3 == 0, a || b);            \
	TEST_OP(x, TYPE, MTYPE, MPI_LXOR, (rank + i) % 2, !a != !b);              \
	TEST_OP(x, TYPE, MTYPE, MPI_BAND, 127 - (1 << rank % 5) - i % 2, a & b);  \
	TEST_OP(x, TYPE, MTYPE, MPI_BOR, 1 << (rank + i) % 6, a | b);             \
	TEST_OP(x, TYPE, MTYPE, MPI_BXOR, rank * 5 + i, a ^ b)

#define REALS(TYPE, MTYPE)                                                             \
	TEST_OP(x, TYPE, MTYPE, MPI_SUM, rank * 0.5 + i, a + b);                       \
	TEST_OP(x, TYPE, MTYPE, MPI_PROD, 1 + (rank + i) % 2, a * b);                  \
	TEST_OP(x, TYPE, MTYPE, MPI_MAX, (rank * 7 + i * 3) % 50 - 20, a > b ? a : b); \
	TEST_OP(x, TYPE, MTYPE, MPI_MIN, (rank * 7 + i * 3) % 50 - 20, a < b ? a : b)

#define LOGICALS(TYPE, MTYPE)                                           \
	TEST_OP(x, TYPE, MTYPE, MPI_LAND, (rank + i) % 3 != 0, a && b); \
	TEST_OP(x, TYPE, MTYPE, MPI_LOR, (rank + i) % 3 == 0, a || b);  \
	TEST_OP(x, TYPE, MTYPE, MPI_LXOR, (rank + i) % 2, !a != !b)

#define COMPLEXES(TYPE, MTYPE)                                 \
	TEST_OP(x, TYPE, MTYPE, MPI_SUM, rank + i * I, a + b); \
	TEST_OP(x, TYPE, MTYPE, MPI_PROD, 1 + (rank % 2) * I, a * b)

static void
integers(void)
{
	INTEGERS(signed char, MPI_SIGNED_CHAR);
	INTEGERS(unsigned char, MPI_UNSIGNED_CHAR);
	INTEGERS(short, MPI_SHORT);
	INTEGERS(unsigned short, MPI_UNSIGNED_SHORT);
	INTEGERS(int, MPI_INT);
	INTEGERS(unsigned, MPI_UNSIGNED);
	INTEGERS(long, MPI_LONG);
	INTEGERS(unsigned long, MPI_UNSIGNED_LONG);
	INTEGERS(long long, MPI_LONG_LONG);
	INTEGERS(unsigned long long, MPI_UNSIGNED_LONG_LONG);
	INTEGERS(int8_t, MPI_INT8_T);
	INTEGERS(uint16_t, MPI_UINT16_T);
	INTEGERS(int32_t, MPI_INT32_T);
	INTEGERS(uint64_t, MPI_UINT64_T);
	INTEGERS(int, MPI_INTEGER);
	INTEGERS(MPI_Aint, MPI_AINT);
	INTEGERS(MPI_Count, MPI_COUNT);
}

static void
others(void)
{
	REALS(float, MPI_FLOAT);
	REALS(double, MPI_DOUBLE);
	REALS(long double, MPI_LONG_DOUBLE);
	REALS(double, MPI_DOUBLE_PRECISION);
	LOGICALS(_Bool, MPI_C_BOOL);
	LOGICALS(int, MPI_LOGICAL);
	COMPLEXES(float _Complex, MPI_C_FLOAT_COMPLEX);
	COMPLEXES(double _Complex, MPI_C_DOUBLE_COMPLEX);
	COMPLEXES(long double _Complex, MPI_C_LONG_DOUBLE_COMPLEX);
	TEST_OP(x, unsigned char, MPI_BYTE, MPI_BXOR, rank * 5 + i, a ^ b);
}

#define LOC(TYPE, MTYPE)                                                                 \
	do {                                                                             \
		struct {                                                                 \
			TYPE v;                                                          \
			int i;                                                           \
		} in_[N], max_[N], min_[N];                                              \
		memset(in_, 0, sizeof(in_));                                             \
		for (int i = 0; i < N; i++) {                                            \
			in_[i].v = (TYPE)((check_rank * 3 + i) % 4);                     \
			in_[i].i = check_rank;                                           \
		}                                                                        \
		MPI_Allreduce(in_, max_, N, MTYPE, MPI_MAXLOC, MPI_COMM_WORLD);          \
		MPI_Allreduce(in_, min_, N, MTYPE, MPI_MINLOC, MPI_COMM_WORLD);          \
		for (int i = 0; i < N; i++) {                                            \
			int hi = 0, lo = 0;                                              \
			for (int r = 1; r < check_size; r++) {                           \
				if ((r * 3 + i) % 4 > (hi * 3 + i) % 4)                  \
					hi = r;                                          \
				if ((r * 3 + i) % 4 < (lo * 3 + i) % 4)                  \
					lo = r;                                          \
			}                                                                \
			CHECKF(max_[i].i == hi && max_[i].v == (TYPE)((hi * 3 + i) % 4), \
			       "MAXLOC on %s", #MTYPE);                                  \
			CHECKF(min_[i].i == lo && min_[i].v == (TYPE)((lo * 3 + i) % 4), \
			       "MINLOC on %s", #MTYPE);                                  \
		}                                                                        \
	} while (0)

static void
locations(void)
{
	LOC(float, MPI_FLOAT_INT);
	LOC(double, MPI_DOUBLE_INT);
	LOC(long, MPI_LONG_INT);
	LOC(int, MPI_2INT);
	LOC(short, MPI_SHORT_INT);
	LOC(long double, MPI_LONG_DOUBLE_INT);
}

/* 2x2 matrices: associative, not commutative. */
static void
matmul(void *a, void *b, int *len, MPI_Datatype *type)
{
	const unsigned *x = a;
	unsigned *y = b;

	(void)type;
	for (int i = 0; i < *len; i++, x += 4, y += 4) {
		unsigned r[4] = {x[0] * y[0] + x[1] * y[2], x[0] * y[1] + x[1] * y[3],
				 x[2] * y[0] + x[3] * y[2], x[2] * y[1] + x[3] * y[3]};

		memcpy(y, r, sizeof(r));
	}
}

static void
matrix_of(int rank, int i, unsigned *m)
{
	for (unsigned k = 0; k < 4; k++)
		m[k] = mix((uint32_t)(rank * 1000 + i) * 4 + k) % 10;
}

static void
product(int upto, int i, unsigned *m)
{
	matrix_of(0, i, m);
	for (int r = 1; r < upto; r++) {
		unsigned next[4];
		int one = 1;

		matrix_of(r, i, next);
		matmul(m, next, &one, NULL);
		memcpy(m, next, sizeof(next));
	}
}

static void
user_op(void)
{
	static const int counts[] = {1, 5, 3000};
	MPI_Datatype mat;
	MPI_Op op;
	int commute;
	unsigned *in = malloc(3000 * 16), *out = malloc(3000 * 16), want[4];

	MPI_Type_contiguous(4, MPI_UNSIGNED, &mat);
	MPI_Type_commit(&mat);
	MPI_Op_create(matmul, 0, &op);
	MPI_Op_commutative(op, &commute);
	CHECK(!commute);
	for (size_t k = 0; k < 3; k++) {
		int n = counts[k];

		for (int i = 0; i < n; i++)
			matrix_of(check_rank, i, in + 4 * i);
		for (int root = -1; root < check_size; root++) {
			if (root == -1)
				MPI_Allreduce(in, out, n, mat, op, MPI_COMM_WORLD);
			else
				MPI_Reduce(in, out, n, mat, op, root, MPI_COMM_WORLD);
			for (int i = 0; i < n && (root == -1 || root == check_rank); i++) {
				product(check_size, i, want);
				CHECKF(memcmp(out + 4 * i, want, 16) == 0, "root %d, %d of %d",
				       root, i, n);
			}
		}
		MPI_Scan(in, out, n, mat, op, MPI_COMM_WORLD);
		product(check_rank + 1, n - 1, want);
		CHECK(memcmp(out + 4 * (n - 1), want, 16) == 0);
		MPI_Exscan(in, out, n, mat, op, MPI_COMM_WORLD);
		product(check_rank, n - 1, want);
		CHECK(check_rank == 0 || memcmp(out + 4 * (n - 1), want, 16) == 0);
	}
	MPI_Op_free(&op);
	CHECK(op == MPI_OP_NULL);
	MPI_Type_free(&mat);
	free(in);
	free(out);
}

/* A user operation on a type with holes sees the user's layout. */
struct holed {
	double d;
	char c;
};

static void
add_holed(void *a, void *b, int *len, MPI_Datatype *type)
{
	const struct holed *x = a;
	struct holed *y = b;

	(void)type;
	for (int i = 0; i < *len; i++) {
		y[i].d += x[i].d;
		y[i].c = (char)(y[i].c + x[i].c);
	}
}

static void
holed(void)
{
	struct holed in[20], out[20];
	int len[2] = {1, 1};
	MPI_Aint disp[2] = {0, 8};
	MPI_Datatype types[2] = {MPI_DOUBLE, MPI_CHAR}, t;
	MPI_Op op;

	MPI_Type_create_struct(2, len, disp, types, &t);
	MPI_Type_commit(&t);
	MPI_Op_create(add_holed, 1, &op);
	for (int i = 0; i < 20; i++)
		in[i] = (struct holed){check_rank + i, (char)check_rank};
	MPI_Allreduce(in, out, 20, t, op, MPI_COMM_WORLD);
	for (int i = 0; i < 20; i++)
		CHECK(out[i].d == check_size * (check_size - 1) / 2 + i * check_size &&
		      out[i].c == check_size * (check_size - 1) / 2);
	MPI_Reduce_local(in, out, 20, t, op);
	CHECK(out[3].d == check_size * (check_size - 1) / 2 + 3 * check_size + check_rank + 3);
	MPI_Op_free(&op);
	MPI_Type_free(&t);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	integers();
	others();
	locations();
	user_op();
	holed();
	return finish();
}
