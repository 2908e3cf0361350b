/* SPDX-License-Identifier: BSD-2-Clause */
/* Scripts of scripts.py: one message of every basic datatype. */
#include "peer.h"

#include <complex.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

struct row {
	const void *values;
	int n;
	MPI_Datatype type;
};

/* Of x86's long double only 10 of the 16 bytes are the value. */
static bool
same(const struct row *row, const unsigned char *a, const unsigned char *b, size_t bytes)
{
	enum { VALUE = 10, LONG_DOUBLE = 16, PAIR = 32 };
	bool pair = row->type == MPI_LONG_DOUBLE_INT;
	if (!pair && row->type != MPI_LONG_DOUBLE && row->type != MPI_C_LONG_DOUBLE_COMPLEX)
		return memcmp(a, b, bytes) == 0;
	for (size_t at = 0; at < bytes; at += pair ? PAIR : LONG_DOUBLE)
		if (memcmp(a + at, b + at, VALUE) != 0 ||
		    (pair && memcmp(a + at + LONG_DOUBLE, b + at + LONG_DOUBLE, sizeof(int)) != 0))
			return false;
	return true;
}

static void
exchange(const struct row *row, int times, int other, int tag)
{
	MPI_Aint lb, extent, true_lb, true_extent;
	MPI_Type_get_extent(row->type, &lb, &extent);
	MPI_Type_get_true_extent(row->type, &true_lb, &true_extent);
	const size_t one = (size_t)extent * (size_t)row->n, all = one * (size_t)times;
	unsigned char *out = peer_room(all), *in = peer_room(all);
	MPI_Request req;
	MPI_Status st;
	int count;

	for (int i = 0; i < times; i++)
		memcpy(out + (size_t)i * one, row->values, one);
	memcpy(in, out, all);
	/* what is not of the value must stay: gaps; all else is scratched */
	for (int i = 0; i < row->n * times; i++) {
		unsigned char *at = in + (size_t)i * (size_t)extent;
		int size = 0, position = 0;
		unsigned char zero[64] = {0};
		MPI_Type_size(row->type, &size);
		CHECK((size_t)size <= sizeof zero);
		MPI_Unpack(zero, size, &position, at, 1, row->type, MPI_COMM_SELF);
	}
	MPI_Isend(out, row->n * times, row->type, other, tag, MPI_COMM_WORLD, &req);
	MPI_Recv(in, row->n * times, row->type, other, tag, MPI_COMM_WORLD, &st);
	MPI_Get_count(&st, row->type, &count);
	CHECK(count == row->n * times);
	if (!same(row, in, out, all)) {
		fprintf(stderr, "peer: rank %d: row %d of the types, %d times, came as", peer_rank,
			tag, times);
		for (size_t i = 0; i < one; i++)
			fprintf(stderr, " %02x", in[i]);
		fprintf(stderr, " instead of");
		for (size_t i = 0; i < one; i++)
			fprintf(stderr, " %02x", out[i]);
		fprintf(stderr, "\n");
	}
	CHECK(same(row, in, out, all));
	MPI_Wait(&req, MPI_STATUS_IGNORE);
	free(out);
	free(in);
}

#define ROW(type, ...)                                                                           \
	{                                                                                        \
		(const void *)(__VA_ARGS__), (int)(sizeof(__VA_ARGS__) / sizeof *(__VA_ARGS__)), \
			type                                                                     \
	}

void
peer_types(void)
{
	const struct row rows[] = {
		ROW(MPI_SIGNED_CHAR, (signed char[]){-128, -1, 127}),
		ROW(MPI_SHORT, (short[]){-2, 0x1234}),
		ROW(MPI_INT, (int[]){0x01020304, -1}),
		ROW(MPI_LONG, (long[]){-3, 0x7fffffff}),
		ROW(MPI_LONG_LONG, (long long[]){LLONG_MIN, (1ll << 40) + 1}),
		ROW(MPI_FLOAT, (float[]){0.5f, -1.5f}),
		ROW(MPI_DOUBLE, (double[]){1.5, -2.25, 1e300}),
	};
	const int other = peer_other_end();
	for (int k = 0; k < (int)(sizeof rows / sizeof *rows) && other >= 0; k++)
		exchange(&rows[k], 1, other, k);
}

/* A structure with a gap, that MPI is told of. */
struct gap {
	double d;
	int i;
	int not_sent;
};

static MPI_Datatype
gap_type(void)
{
	MPI_Datatype parts, whole;
	MPI_Type_create_struct(2, (int[]){1, 1},
			       (MPI_Aint[]){offsetof(struct gap, d), offsetof(struct gap, i)},
			       (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &parts);
	MPI_Type_create_resized(parts, 0, sizeof(struct gap), &whole);
	MPI_Type_commit(&whole);
	MPI_Type_free(&parts);
	return whole;
}

static void
packed(int other)
{
	char in[64], out[64];
	int size = 0, position = 0, i = -5, count;
	double d = 1.5;
	short h = 77;
	MPI_Status st;

	MPI_Pack(&i, 1, MPI_INT, out, sizeof out, &size, MPI_COMM_WORLD);
	MPI_Pack(&d, 1, MPI_DOUBLE, out, sizeof out, &size, MPI_COMM_WORLD);
	MPI_Pack(&h, 1, MPI_SHORT, out, sizeof out, &size, MPI_COMM_WORLD);
	MPI_Send(out, size, MPI_PACKED, other, 99, MPI_COMM_WORLD);
	MPI_Recv(in, sizeof in, MPI_PACKED, other, 99, MPI_COMM_WORLD, &st);
	MPI_Get_count(&st, MPI_PACKED, &count);
	i = 0, d = 0, h = 0;
	MPI_Unpack(in, count, &position, &i, 1, MPI_INT, MPI_COMM_WORLD);
	MPI_Unpack(in, count, &position, &d, 1, MPI_DOUBLE, MPI_COMM_WORLD);
	MPI_Unpack(in, count, &position, &h, 1, MPI_SHORT, MPI_COMM_WORLD);
	CHECK(i == -5 && h == 77 && d > 1.25 && d < 1.75 && position == count);
}

/* --- rows of ALL_TYPES in scripts.py, in its order; the row's number is the tag --- */

static int
exchange_all(const struct row *rows, int n, int times, int tag)
{
	for (int k = 0; k < n; k++)
		exchange(&rows[k], times, peer_other_end(), tag + k);
	return tag + n;
}
#define EXCHANGE(rows, times, tag) \
	exchange_all(rows, (int)(sizeof(rows) / sizeof *(rows)), times, tag)

static int
c_types(int times, int tag)
{
	const long double tiny = 1.0L / 9223372036854775808.0L; /* 2^-63 */
	const struct row rows[] = {
		ROW(MPI_CHAR, (signed char[]){-128, -1, 127}),
		ROW(MPI_SIGNED_CHAR, (signed char[]){-2, 65}),
		ROW(MPI_UNSIGNED_CHAR, (unsigned char[]){0, 1, 255}),
		ROW(MPI_BYTE, (unsigned char[]){0, 1, 255}),
		ROW(MPI_SHORT, (short[]){-32768, 0x1234}),
		ROW(MPI_UNSIGNED_SHORT, (unsigned short[]){65535, 1}),
		ROW(MPI_INT, (int[]){0x01020304, -1}),
		ROW(MPI_UNSIGNED, (unsigned[]){0xfffffffe, 1}),
		ROW(MPI_LONG, (long[]){-3, 0x7fffffff, -0x7fffffff - 1l}),
		ROW(MPI_UNSIGNED_LONG, (unsigned long[]){0xffffffff, 0}),
		ROW(MPI_LONG_LONG, (long long[]){LLONG_MIN, (1ll << 40) + 1}),
		ROW(MPI_UNSIGNED_LONG_LONG, (unsigned long long[]){ULLONG_MAX, 1}),
		ROW(MPI_FLOAT, (float[]){0.5f, -1.5f}),
		ROW(MPI_DOUBLE, (double[]){1.5, -2.25, 1e300, 4.9406564584124654e-324}),
		ROW(MPI_LONG_DOUBLE, (long double[]){1.5L, -0.0009765625L, 1 + tiny, 0}),
		ROW(MPI_WCHAR, (wchar_t[]){0x41, 0x20ac}),
		ROW(MPI_C_BOOL, (bool[]){true, false, true}),
	};
	return EXCHANGE(rows, times, tag);
}

static int
sized_types(int times, int tag)
{
	const struct row rows[] = {
		ROW(MPI_INT8_T, (int8_t[]){-128, 127}),
		ROW(MPI_INT16_T, (int16_t[]){-2, 3}),
		ROW(MPI_INT32_T, (int32_t[]){-4, 5}),
		ROW(MPI_INT64_T, (int64_t[]){-6, 7}),
		ROW(MPI_UINT8_T, (uint8_t[]){255, 1}),
		ROW(MPI_UINT16_T, (uint16_t[]){65535, 2}),
		ROW(MPI_UINT32_T, (uint32_t[]){UINT32_MAX, 3}),
		ROW(MPI_UINT64_T, (uint64_t[]){UINT64_MAX, 4}),
		ROW(MPI_AINT, (MPI_Aint[]){-1, (MPI_Aint)1 << 40}),
		ROW(MPI_OFFSET, (MPI_Offset[]){-2, (MPI_Offset)1 << 41}),
		ROW(MPI_COUNT, (MPI_Count[]){-3, (MPI_Count)1 << 42}),
		ROW(MPI_C_FLOAT_COMPLEX, (float complex[]){0.5f - 1.5f * I, 2.0f}),
		ROW(MPI_C_DOUBLE_COMPLEX, (double complex[]){1.5 - 2.25 * I}),
		ROW(MPI_C_LONG_DOUBLE_COMPLEX, (long double complex[]){1.5L - 0.25L * I}),
	};
	return EXCHANGE(rows, times, tag);
}

static int
pair_types(int times, int tag)
{
	static const struct {
		float v;
		int i;
	} fi[] = {{0.5f, -1}, {1.5f, 2}};
	static const struct {
		double v;
		int i;
	} di[] = {{0.5, -1}, {1.5, 2}};
	static const struct {
		long v;
		int i;
	} li[] = {{-3, -1}, {4, 2}};
	static const struct {
		int v, i;
	} ii[] = {{-3, -1}, {4, 2}};
	static const struct {
		short v;
		int i;
	} hi[] = {{-3, -1}, {4, 2}};
	static const struct {
		long double v;
		int i;
	} gi[] = {{0.5L, -1}};
	const struct row rows[] = {
		ROW(MPI_FLOAT_INT, fi), ROW(MPI_DOUBLE_INT, di), ROW(MPI_LONG_INT, li),
		ROW(MPI_2INT, ii),	ROW(MPI_SHORT_INT, hi),	 ROW(MPI_LONG_DOUBLE_INT, gi),
	};
	return EXCHANGE(rows, times, tag);
}

static int
fortran_types(int times, int tag)
{
	const struct row rows[] = {
		ROW(MPI_CHARACTER, (char[]){65, 66, 67}),
		ROW(MPI_LOGICAL, (int[]){1, 0}),
		ROW(MPI_INTEGER, (int[]){7, -7}),
		ROW(MPI_REAL, (float[]){0.25f}),
		ROW(MPI_DOUBLE_PRECISION, (double[]){0.125}),
		ROW(MPI_COMPLEX, (float complex[]){0.5f - 1.5f * I}),
		ROW(MPI_DOUBLE_COMPLEX, (double complex[]){1.5 - 2.25 * I}),
		ROW(MPI_INTEGER1, (int8_t[]){-1}),
		ROW(MPI_INTEGER2, (int16_t[]){-1}),
		ROW(MPI_INTEGER4, (int32_t[]){-1}),
		ROW(MPI_INTEGER8, (int64_t[]){-1}),
		ROW(MPI_REAL4, (float[]){1.25f}),
		ROW(MPI_REAL8, (double[]){1.25}),
		ROW(MPI_COMPLEX8, (float complex[]){1.0f + 2.0f * I}),
		ROW(MPI_COMPLEX16, (double complex[]){1.0 + 2.0 * I}),
	};
	return EXCHANGE(rows, times, tag);
}

void
peer_all_types(void)
{
	static const struct gap gaps[] = {{0.5, -1, 0}, {1.5, 2, 0}, {2.5, 3, 0}};
	MPI_Datatype gap = gap_type();
	const struct row rows[] = {ROW(gap, gaps)};

	for (int pass = 0; pass < 2 && peer_other_end() >= 0; pass++) {
		const int times = pass ? peer_args.times : 1;
		int tag = c_types(times, 0);
		tag = sized_types(times, tag);
		tag = pair_types(times, tag);
		tag = fortran_types(times, tag);
		EXCHANGE(rows, times, tag);
	}
	if (peer_other_end() >= 0)
		packed(peer_other_end());
	MPI_Type_free(&gap);
}
