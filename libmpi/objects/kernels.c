/* SPDX-License-Identifier: BSD-2-Clause */
/* Loops of the predefined operations on plain numbers, one per operation and
 * machine kind.
 *
 * The order of operands is kept (left or right), so that two processes that
 * combine the same two vectors get the same bits even where an operation is not
 * quite commutative (signed zeros, NaNs). */
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "op.h"

__extension__ typedef __int128 i128;
__extension__ typedef __float128 f128;
__extension__ typedef _Complex float c32;
__extension__ typedef _Complex double c64;
__extension__ typedef _Complex long double c80;
/* two halves: not every compiler has a complex __float128 */
struct c128 {
	f128 re, im;
};

#define KERNEL(NAME, KIND, TYPE, EXPR)                                               \
	static void NAME##_##KIND(const void *in, void *inout, int64_t n, bool left) \
	{                                                                            \
		const TYPE *restrict from = in;                                      \
		TYPE *restrict into = inout;                                         \
                                                                                     \
		if (left)                                                            \
			for (int64_t i = 0; i < n; i++) {                            \
				TYPE a = from[i], b = into[i];                       \
				into[i] = (TYPE)(EXPR);                              \
			}                                                            \
		else                                                                 \
			for (int64_t i = 0; i < n; i++) {                            \
				TYPE a = into[i], b = from[i];                       \
				into[i] = (TYPE)(EXPR);                              \
			}                                                            \
	}

/* Signed sums and products wrap: computed as unsigned. */
#define INTEGER_KERNELS(KIND, TYPE, UTYPE)           \
	KERNEL(max, KIND, TYPE, a > b ? a : b)       \
	KERNEL(min, KIND, TYPE, a < b ? a : b)       \
	KERNEL(sum, KIND, TYPE, (UTYPE)a + (UTYPE)b) \
	KERNEL(prod, KIND, TYPE, (UTYPE)a *(UTYPE)b) \
	KERNEL(land, KIND, TYPE, a &&b)              \
	KERNEL(lor, KIND, TYPE, a || b)              \
	KERNEL(lxor, KIND, TYPE, !a != !b)           \
	BITWISE_KERNELS(KIND, TYPE)
#define BITWISE_KERNELS(KIND, TYPE)    \
	KERNEL(band, KIND, TYPE, a &b) \
	KERNEL(bor, KIND, TYPE, a | b) \
	KERNEL(bxor, KIND, TYPE, a ^ b)
#define REAL_KERNELS(KIND, TYPE)               \
	KERNEL(max, KIND, TYPE, a > b ? a : b) \
	KERNEL(min, KIND, TYPE, a < b ? a : b) \
	KERNEL(sum, KIND, TYPE, a + b)         \
	KERNEL(prod, KIND, TYPE, a *b)
#define COMPLEX_KERNELS(KIND, TYPE)    \
	KERNEL(sum, KIND, TYPE, a + b) \
	KERNEL(prod, KIND, TYPE, a *b)
#define LOGICAL_KERNELS(KIND, TYPE)     \
	KERNEL(land, KIND, TYPE, a &&b) \
	KERNEL(lor, KIND, TYPE, a || b) \
	KERNEL(lxor, KIND, TYPE, !a != !b)

/* 16-bit products are done in unsigned int: uint16_t would promote to int. */
INTEGER_KERNELS(i8, int8_t, unsigned)
INTEGER_KERNELS(u8, uint8_t, unsigned)
INTEGER_KERNELS(i16, int16_t, unsigned)
INTEGER_KERNELS(u16, uint16_t, unsigned)
INTEGER_KERNELS(i32, int32_t, uint32_t)
INTEGER_KERNELS(u32, uint32_t, uint32_t)
INTEGER_KERNELS(i64, int64_t, uint64_t)
INTEGER_KERNELS(u64, uint64_t, uint64_t)
__extension__ typedef unsigned __int128 u128;
INTEGER_KERNELS(i128, i128, u128)
REAL_KERNELS(f32, float)
REAL_KERNELS(f64, double)
REAL_KERNELS(f80, long double)
REAL_KERNELS(f128, f128)
COMPLEX_KERNELS(c32, c32)
COMPLEX_KERNELS(c64, c64)
COMPLEX_KERNELS(c80, c80)
LOGICAL_KERNELS(logic, uint8_t) /* what comes may be neither 0 nor 1 */
LOGICAL_KERNELS(l8, int8_t)
LOGICAL_KERNELS(l16, int16_t)
LOGICAL_KERNELS(l32, int32_t)
LOGICAL_KERNELS(l64, int64_t)
LOGICAL_KERNELS(l128, i128)
BITWISE_KERNELS(byte, uint8_t)

static void
sum_c128(const void *in, void *inout, int64_t n, bool left)
{
	sum_f128(in, inout, 2 * n, left);
}

static void
prod_c128(const void *in, void *inout, int64_t n, bool left)
{
	const struct c128 *from = in;
	struct c128 *into = inout;

	for (int64_t i = 0; i < n; i++) {
		struct c128 a = left ? from[i] : into[i], b = left ? into[i] : from[i];

		into[i].re = a.re * b.re - a.im * b.im;
		into[i].im = a.re * b.im + a.im * b.re;
	}
}

enum { MAX, MIN, SUM, PROD, LAND, LOR, LXOR, BAND, BOR, BXOR, OPS };

#define INTEGER_ROW(KIND)                                                                 \
	{                                                                                 \
		max_##KIND, min_##KIND, sum_##KIND, prod_##KIND, land_##KIND, lor_##KIND, \
			lxor_##KIND, band_##KIND, bor_##KIND, bxor_##KIND                 \
	}
#define REAL_ROW(KIND)                                          \
	{                                                       \
		max_##KIND, min_##KIND, sum_##KIND, prod_##KIND \
	}
#define COMPLEX_ROW(KIND)                                \
	{                                                \
		[SUM] = sum_##KIND, [PROD] = prod_##KIND \
	}
#define LOGICAL_ROW(KIND)                                                      \
	{                                                                      \
		[LAND] = land_##KIND, [LOR] = lor_##KIND, [LXOR] = lxor_##KIND \
	}

static lmpi_kernel *const table[LMPI_BASIC_COUNT][OPS] = {
	[LMPI_BASIC_I8] = INTEGER_ROW(i8),
	[LMPI_BASIC_U8] = INTEGER_ROW(u8),
	[LMPI_BASIC_I16] = INTEGER_ROW(i16),
	[LMPI_BASIC_U16] = INTEGER_ROW(u16),
	[LMPI_BASIC_I32] = INTEGER_ROW(i32),
	[LMPI_BASIC_U32] = INTEGER_ROW(u32),
	[LMPI_BASIC_I64] = INTEGER_ROW(i64),
	[LMPI_BASIC_U64] = INTEGER_ROW(u64),
	[LMPI_BASIC_I128] = INTEGER_ROW(i128),
	[LMPI_BASIC_F32] = REAL_ROW(f32),
	[LMPI_BASIC_F64] = REAL_ROW(f64),
	[LMPI_BASIC_F80] = REAL_ROW(f80),
	[LMPI_BASIC_F128] = REAL_ROW(f128),
	[LMPI_BASIC_C32] = COMPLEX_ROW(c32),
	[LMPI_BASIC_C64] = COMPLEX_ROW(c64),
	[LMPI_BASIC_C80] = COMPLEX_ROW(c80),
	[LMPI_BASIC_C128] = COMPLEX_ROW(c128),
	[LMPI_BASIC_BOOL] = LOGICAL_ROW(logic),
	[LMPI_BASIC_L8] = LOGICAL_ROW(l8),
	[LMPI_BASIC_L16] = LOGICAL_ROW(l16),
	[LMPI_BASIC_L32] = LOGICAL_ROW(l32),
	[LMPI_BASIC_L64] = LOGICAL_ROW(l64),
	[LMPI_BASIC_L128] = LOGICAL_ROW(l128),
	[LMPI_BASIC_BYTE] = {[BAND] = band_byte, [BOR] = bor_byte, [BXOR] = bxor_byte},
};

lmpi_kernel *
lmpi_kernel_for(MPI_Op op, enum lmpi_basic basic)
{
	static const struct {
		MPI_Op op;
		int row;
	} ops[] = {
		{MPI_SUM, SUM},	  {MPI_MAX, MAX},   {MPI_MIN, MIN},   {MPI_PROD, PROD},
		{MPI_LAND, LAND}, {MPI_LOR, LOR},   {MPI_LXOR, LXOR}, {MPI_BAND, BAND},
		{MPI_BOR, BOR},	  {MPI_BXOR, BXOR},
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i].op == op)
			return table[basic][ops[i].row];
	return NULL;
}
