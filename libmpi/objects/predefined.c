/* SPDX-License-Identifier: BSD-2-Clause */
/* The predefined datatypes: one static object per handle of the ABI. */
#include "external32.h"

#include <string.h>

#include "tables.h"

#define HANDLE_MASK 0xffu

/* Markers have no bytes: as little as packed ones do they take part in reductions. */
#define MARKER LMPI_BASIC_PACKED

static struct lmpi_type predefined[HANDLE_MASK + 1];
static struct lmpi_node layouts[HANDLE_MASK + 1];

/* MPI_SHORT_INT is the only one with a hole inside. */
static const struct lmpi_block short_int_blocks[] = {{0, 2, 0}, {4, 4, 2}};

static const struct {
	MPI_Datatype handle;
	enum lmpi_basic basic;
} kinds[] = {
	{MPI_AINT, LMPI_BASIC_I64},
	{MPI_COUNT, LMPI_BASIC_I64},
	{MPI_OFFSET, LMPI_BASIC_I64},
	{MPI_PACKED, LMPI_BASIC_PACKED},
	{MPI_LB, MARKER},
	{MPI_UB, MARKER},
	{MPI_SHORT, LMPI_BASIC_I16},
	{MPI_INT, LMPI_BASIC_I32},
	{MPI_LONG, LMPI_BASIC_I64},
	{MPI_LONG_LONG, LMPI_BASIC_I64},
	{MPI_UNSIGNED_SHORT, LMPI_BASIC_U16},
	{MPI_UNSIGNED, LMPI_BASIC_U32},
	{MPI_UNSIGNED_LONG, LMPI_BASIC_U64},
	{MPI_UNSIGNED_LONG_LONG, LMPI_BASIC_U64},
	{MPI_FLOAT, LMPI_BASIC_F32},
	{MPI_C_FLOAT_COMPLEX, LMPI_BASIC_C32},
	{MPI_CXX_FLOAT_COMPLEX, LMPI_BASIC_C32},
	{MPI_DOUBLE, LMPI_BASIC_F64},
	{MPI_C_DOUBLE_COMPLEX, LMPI_BASIC_C64},
	{MPI_CXX_DOUBLE_COMPLEX, LMPI_BASIC_C64},
	{MPI_LOGICAL, LMPI_BASIC_L32},
	{MPI_INTEGER, LMPI_BASIC_I32},
	{MPI_REAL, LMPI_BASIC_F32},
	{MPI_COMPLEX, LMPI_BASIC_C32},
	{MPI_DOUBLE_PRECISION, LMPI_BASIC_F64},
	{MPI_DOUBLE_COMPLEX, LMPI_BASIC_C64},
	{MPI_CHARACTER, LMPI_BASIC_CHARACTER},
	{MPI_LONG_DOUBLE, LMPI_BASIC_F80},
	{MPI_C_LONG_DOUBLE_COMPLEX, LMPI_BASIC_C80},
	{MPI_CXX_LONG_DOUBLE_COMPLEX, LMPI_BASIC_C80},
	{MPI_FLOAT_INT, LMPI_BASIC_F32_INT},
	{MPI_DOUBLE_INT, LMPI_BASIC_F64_INT},
	{MPI_LONG_INT, LMPI_BASIC_I64_INT},
	{MPI_2INT, LMPI_BASIC_I32_INT},
	{MPI_SHORT_INT, LMPI_BASIC_I16_INT},
	{MPI_LONG_DOUBLE_INT, LMPI_BASIC_F80_INT},
	{MPI_2REAL, LMPI_BASIC_F32_F32},
	{MPI_2DOUBLE_PRECISION, LMPI_BASIC_F64_F64},
	{MPI_2INTEGER, LMPI_BASIC_I32_INT},
	{MPI_C_BOOL, LMPI_BASIC_BOOL},
	{MPI_CXX_BOOL, LMPI_BASIC_BOOL},
	{MPI_WCHAR, LMPI_BASIC_WCHAR},
	{MPI_INT8_T, LMPI_BASIC_I8},
	{MPI_UINT8_T, LMPI_BASIC_U8},
	{MPI_CHAR, LMPI_BASIC_I8}, /* not for reductions by the standard; others take it too */
	{MPI_SIGNED_CHAR, LMPI_BASIC_I8},
	{MPI_UNSIGNED_CHAR, LMPI_BASIC_U8},
	{MPI_BYTE, LMPI_BASIC_BYTE},
	{MPI_INT16_T, LMPI_BASIC_I16},
	{MPI_UINT16_T, LMPI_BASIC_U16},
	{MPI_INT32_T, LMPI_BASIC_I32},
	{MPI_UINT32_T, LMPI_BASIC_U32},
	{MPI_INT64_T, LMPI_BASIC_I64},
	{MPI_UINT64_T, LMPI_BASIC_U64},
	{MPI_LOGICAL1, LMPI_BASIC_L8},
	{MPI_INTEGER1, LMPI_BASIC_I8},
	{MPI_LOGICAL2, LMPI_BASIC_L16},
	{MPI_INTEGER2, LMPI_BASIC_I16},
	{MPI_REAL2, LMPI_BASIC_HALF},
	{MPI_LOGICAL4, LMPI_BASIC_L32},
	{MPI_INTEGER4, LMPI_BASIC_I32},
	{MPI_REAL4, LMPI_BASIC_F32},
	{MPI_COMPLEX4, LMPI_BASIC_HALF},
	{MPI_LOGICAL8, LMPI_BASIC_L64},
	{MPI_INTEGER8, LMPI_BASIC_I64},
	{MPI_REAL8, LMPI_BASIC_F64},
	{MPI_COMPLEX8, LMPI_BASIC_C32},
	{MPI_LOGICAL16, LMPI_BASIC_L128},
	{MPI_INTEGER16, LMPI_BASIC_I128},
	{MPI_REAL16, LMPI_BASIC_F128},
	{MPI_COMPLEX16, LMPI_BASIC_C64},
	{MPI_COMPLEX32, LMPI_BASIC_C128},
};

static enum lmpi_basic
predefined_kind_of(MPI_Datatype handle)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].handle == handle)
			return kinds[i].basic;
	return LMPI_BASIC_NONE;
}

static int
align_of(enum lmpi_basic basic, int64_t size)
{
	switch (basic) {
	case LMPI_BASIC_C32:
	case LMPI_BASIC_C64:
	case LMPI_BASIC_C80:
	case LMPI_BASIC_C128:
	case LMPI_BASIC_F32_F32:
	case LMPI_BASIC_F64_F64:
		return (int)(size / 2);
	case LMPI_BASIC_F32_INT:
	case LMPI_BASIC_I32_INT:
	case LMPI_BASIC_I16_INT:
		return 4;
	case LMPI_BASIC_F64_INT:
	case LMPI_BASIC_I64_INT:
		return 8;
	case LMPI_BASIC_F80_INT:
		return 16;
	default:
		return (int)size;
	}
}

static void
add_predefined(MPI_Datatype handle, const char *name, int64_t size, int64_t extent)
{
	size_t i = (uintptr_t)handle & HANDLE_MASK;
	struct lmpi_type *t = &predefined[i];
	struct lmpi_node *l = &layouts[i];
	enum lmpi_basic basic = predefined_kind_of(handle);

	*l = (struct lmpi_node){.kind = LMPI_RUN, .size = size, .n = 1, .len = size};
	if (basic == LMPI_BASIC_I16_INT)
		*l = (struct lmpi_node){
			.kind = LMPI_BLOCKS, .size = size, .n = 2, .blocks = short_int_blocks};
	t->obj.refs = 1;
	t->handle = handle;
	t->basic = basic;
	t->committed = true;
	t->align = align_of(basic, size);
	t->size = size;
	t->ub = extent;
	t->true_ub = basic == LMPI_BASIC_I16_INT ? 8 : size;
	t->elements = size == 0 ? 0 : basic >= LMPI_BASIC_F32_INT ? 2 : 1;
	t->layout = l;
	t->contents.combiner = MPI_COMBINER_NAMED;
	strncpy(t->name, name, sizeof(t->name) - 1);
	lmpi_external32_describe(t);
}

void
lmpi_types_init(void)
{
#define X(name, value, size, extent) add_predefined(name, #name, size, extent);
	LMPI_DATATYPES(X)
#undef X
	add_predefined(MPI_LB, "MPI_LB", 0, 0);
	add_predefined(MPI_UB, "MPI_UB", 0, 0);
	predefined[(uintptr_t)MPI_LB & HANDLE_MASK].sticky = LMPI_MARK_LB;
	predefined[(uintptr_t)MPI_UB & HANDLE_MASK].sticky = LMPI_MARK_UB;
}

struct lmpi_type *
lmpi_type_find(MPI_Datatype handle)
{
	uintptr_t v = (uintptr_t)handle;

	if (v <= LMPI_PREDEFINED_MAX) {
		struct lmpi_type *t = &predefined[v & HANDLE_MASK];

		return (v & ~(uintptr_t)HANDLE_MASK) == 0x200 && t->handle == handle ? t : NULL;
	}
	return lmpi_object_valid(&lmpi_type_pool, (void *)handle) ? (void *)handle : NULL;
}
