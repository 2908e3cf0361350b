/* SPDX-License-Identifier: BSD-2-Clause */
/* MPI_MINLOC and MPI_MAXLOC.  Pairs may lie packed or with holes, so they are
 * reached by offsets and copied. */
#include <stdint.h>
#include <string.h>

#include "op.h"

/* Equal values: the smaller index.  Symmetric, so the operand order is moot. */
#define LOC_KERNEL(NAME, VALUE, INDEX)                                                           \
	static void loc_##NAME(bool max, const char *in, char *inout, int64_t n, int64_t stride, \
			       int64_t index)                                                    \
	{                                                                                        \
		for (int64_t i = 0; i < n; i++, in += stride, inout += stride) {                 \
			VALUE a, b;                                                              \
			INDEX ia, ib;                                                            \
                                                                                                 \
			memcpy(&a, in, sizeof(a));                                               \
			memcpy(&b, inout, sizeof(b));                                            \
			memcpy(&ia, in + index, sizeof(ia));                                     \
			memcpy(&ib, inout + index, sizeof(ib));                                  \
			if (max ? a > b : a < b) {                                               \
				memcpy(inout, &a, sizeof(a));                                    \
				memcpy(inout + index, &ia, sizeof(ia));                          \
			} else if (!(max ? b > a : b < a) && ia < ib) {                          \
				memcpy(inout + index, &ia, sizeof(ia));                          \
			}                                                                        \
		}                                                                                \
	}

LOC_KERNEL(f32_int, float, int)
LOC_KERNEL(f64_int, double, int)
LOC_KERNEL(i64_int, int64_t, int)
LOC_KERNEL(i32_int, int32_t, int32_t)
LOC_KERNEL(i16_int, int16_t, int)
LOC_KERNEL(f80_int, long double, int)
LOC_KERNEL(f32_f32, float, float)
LOC_KERNEL(f64_f64, double, double)

bool
lmpi_loc_apply(MPI_Op op, enum lmpi_basic basic, const void *in, void *inout, int64_t n, bool left,
	       int64_t stride, int64_t index)
{
	static void (*const kernels[])(bool, const char *, char *, int64_t, int64_t, int64_t) = {
		[LMPI_BASIC_F32_INT] = loc_f32_int, [LMPI_BASIC_F64_INT] = loc_f64_int,
		[LMPI_BASIC_I64_INT] = loc_i64_int, [LMPI_BASIC_I32_INT] = loc_i32_int,
		[LMPI_BASIC_I16_INT] = loc_i16_int, [LMPI_BASIC_F80_INT] = loc_f80_int,
		[LMPI_BASIC_F32_F32] = loc_f32_f32, [LMPI_BASIC_F64_F64] = loc_f64_f64,
	};

	(void)left;
	if (basic < LMPI_BASIC_F32_INT || basic >= LMPI_BASIC_COUNT)
		return false;
	if (n > 0)
		kernels[basic](op == MPI_MAXLOC, in, inout, n, stride, index);
	return true;
}
