/* SPDX-License-Identifier: BSD-2-Clause */
/* The wire representation of every predefined datatype: golden bytes by IEEE and MPI
 * definitions, the compiler's own conversions, and a naive model. */
#include "cmocka_all.h"

#include <float.h>
#include <wchar.h>

#include "lmpi_external32_model.h"
#include "tables.h"

static uint64_t state;

static uint32_t
random_below(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return n == 0 ? 0 : (uint32_t)(state >> 33) % n;
}

static uint64_t
random_word(void)
{
	return (uint64_t)random_below(1u << 31) << 42 ^ (uint64_t)random_below(1u << 31) << 21 ^
	       random_below(1u << 31);
}

/* ---- sizes: the table of the IMPI reference, 2.2 */

#define LARGER 0x80 /* with long8: 4 bytes more */

static const struct {
	int size; /* in external32 */
	MPI_Datatype types[24];
} sizes[] = {
	{1,
	 {MPI_BYTE, MPI_PACKED, MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_CHARACTER,
	  MPI_C_BOOL, MPI_CXX_BOOL, MPI_INT8_T, MPI_UINT8_T, MPI_LOGICAL1, MPI_INTEGER1}},
	{2,
	 {MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT16_T, MPI_UINT16_T, MPI_LOGICAL2, MPI_INTEGER2,
	  MPI_REAL2, MPI_WCHAR}},
	{4,
	 {MPI_INT, MPI_UNSIGNED, MPI_FLOAT, MPI_LOGICAL, MPI_INTEGER, MPI_REAL, MPI_INT32_T,
	  MPI_UINT32_T, MPI_LOGICAL4, MPI_INTEGER4, MPI_REAL4, MPI_COMPLEX4}},
	{4 | LARGER, {MPI_LONG, MPI_UNSIGNED_LONG}},
	{6, {MPI_SHORT_INT}},
	{8,
	 {MPI_LONG_LONG,
	  MPI_LONG_LONG_INT,
	  MPI_UNSIGNED_LONG_LONG,
	  MPI_DOUBLE,
	  MPI_DOUBLE_PRECISION,
	  MPI_AINT,
	  MPI_OFFSET,
	  MPI_COUNT,
	  MPI_INT64_T,
	  MPI_UINT64_T,
	  MPI_LOGICAL8,
	  MPI_INTEGER8,
	  MPI_REAL8,
	  MPI_C_COMPLEX,
	  MPI_C_FLOAT_COMPLEX,
	  MPI_CXX_FLOAT_COMPLEX,
	  MPI_COMPLEX,
	  MPI_COMPLEX8,
	  MPI_FLOAT_INT,
	  MPI_2INT,
	  MPI_2REAL,
	  MPI_2INTEGER}},
	{8 | LARGER, {MPI_LONG_INT}},
	{12, {MPI_DOUBLE_INT}},
	{16,
	 {MPI_LONG_DOUBLE, MPI_C_DOUBLE_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX,
	  MPI_COMPLEX16, MPI_LOGICAL16, MPI_INTEGER16, MPI_REAL16, MPI_2DOUBLE_PRECISION}},
	{20, {MPI_LONG_DOUBLE_INT}},
	{32, {MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX, MPI_COMPLEX32}},
};

static int
golden_size(MPI_Datatype h)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t k = 0; k < 24 && sizes[i].types[k] != NULL; k++)
			if (sizes[i].types[k] == h)
				return sizes[i].size;
	return 0;
}

static bool
in_the_model(MPI_Datatype h)
{
	for (size_t i = 0; i < MODEL_BASICS; i++)
		if (model_every_basic[i].h == h)
			return true;
	return false;
}

static void
check_size(const char *name, MPI_Datatype h)
{
	const struct lmpi_type *t = lmpi_type_find(h);
	int golden = golden_size(h), small = golden & ~LARGER;
	int large = golden & LARGER ? small + 4 : small;

	if (golden == 0 || !in_the_model(h))
		fail_msg("%s is missing in the tables of this test", name);
	if (t->rep[LMPI_REP_NATIVE].size != t->size || t->rep[LMPI_REP_EXTERNAL32].size != small ||
	    t->rep[LMPI_REP_EXTERNAL32_LONG8].size != large)
		fail_msg("%s has %lld and %lld bytes, not %d and %d", name,
			 (long long)t->rep[LMPI_REP_EXTERNAL32].size,
			 (long long)t->rep[LMPI_REP_EXTERNAL32_LONG8].size, small, large);
}

static void
every_type_has_its_size(void **unused)
{
	(void)unused;
#define X(name, value, size, extent) check_size(#name, name);
	LMPI_DATATYPES(X)
#undef X
}

/* ---- bytes */

static const signed char c_char = -2;
static const unsigned char c_uchar = 0xf1;
static const short c_short = 0x1234;
static const int c_int = -2, c_ints[3] = {1, 0x01020304, INT32_MIN};
static const unsigned c_unsigned = 0xdeadbeef;
static const long c_long = -5, c_longs[2] = {INT32_MAX, INT32_MIN};
static const unsigned long c_ulong = 0xfffffffe;
static const long long c_llong = 0x0102030405060708;
static const float c_float = 1.5f, c_complex[2] = {1.0f, -2.0f};
static const double c_double = -0.1, c_dcomplex[2] = {2.0, -1.0};
static const wchar_t c_wchar[2] = {0x20ac, L'A'};
static const bool c_bool = true;
static const MPI_Count c_count = -1;
static const uint8_t c_half[4] = {0x00, 0x3c, 0x00, 0xc0}; /* 1, -2 */
static const uint8_t c_int128[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const struct {
	float v;
	int i;
} c_float_int = {-1.0f, 7};
static const struct {
	double v;
	int i;
} c_double_int[2] = {{1.0, 2}, {-1.0, -2}};
static const struct {
	long v;
	int i;
} c_long_int[2] = {{-3, 4}, {5, -6}};
static const struct {
	short v;
	int i;
} c_short_int[2] = {{0x0102, 3}, {-1, 4}};
static const struct {
	long double v;
	int i;
} c_ldouble_int = {1.0L, 9};
static const long double c_ldouble = -2.5L, c_lcomplex[2] = {1.0L, 3.14159265358979323846264L};

static const struct {
	const char *name;
	MPI_Datatype type;
	const void *at;
	int count;
	const char *hex, *long8; /* NULL: the same */
} golden[] = {
	{"char", MPI_CHAR, &c_char, 1, "fe", NULL},
	{"signed char", MPI_SIGNED_CHAR, &c_char, 1, "fe", NULL},
	{"unsigned char", MPI_UNSIGNED_CHAR, &c_uchar, 1, "f1", NULL},
	{"byte", MPI_BYTE, c_int128, 4, "01020304", NULL},
	{"packed", MPI_PACKED, c_int128, 3, "010203", NULL},
	{"short", MPI_SHORT, &c_short, 1, "1234", NULL},
	{"int", MPI_INT, &c_int, 1, "fffffffe", NULL},
	{"ints", MPI_INT, c_ints, 3, "000000010102030480000000", NULL},
	{"unsigned", MPI_UNSIGNED, &c_unsigned, 1, "deadbeef", NULL},
	{"long", MPI_LONG, &c_long, 1, "fffffffb", "fffffffffffffffb"},
	{"longs at the limits", MPI_LONG, c_longs, 2, "7fffffff80000000",
	 "000000007fffffffffffffff80000000"},
	{"unsigned long", MPI_UNSIGNED_LONG, &c_ulong, 1, "fffffffe", "00000000fffffffe"},
	{"long long", MPI_LONG_LONG, &c_llong, 1, "0102030405060708", NULL},
	{"int64_t", MPI_INT64_T, &c_llong, 1, "0102030405060708", NULL},
	{"count", MPI_COUNT, &c_count, 1, "ffffffffffffffff", NULL},
	{"float", MPI_FLOAT, &c_float, 1, "3fc00000", NULL},
	{"float complex", MPI_C_FLOAT_COMPLEX, c_complex, 1, "3f800000c0000000", NULL},
	{"double", MPI_DOUBLE, &c_double, 1, "bfb999999999999a", NULL},
	{"double complex", MPI_C_DOUBLE_COMPLEX, c_dcomplex, 1, "4000000000000000bff0000000000000",
	 NULL},
	{"wchar_t", MPI_WCHAR, c_wchar, 2, "20ac0041", NULL},
	{"_Bool", MPI_C_BOOL, &c_bool, 1, "01", NULL},
	{"REAL*2", MPI_REAL2, c_half, 2, "3c00c000", NULL},
	{"COMPLEX*4", MPI_COMPLEX4, c_half, 1, "3c00c000", NULL},
	{"INTEGER*16", MPI_INTEGER16, c_int128, 1, "100f0e0d0c0b0a090807060504030201", NULL},
	{"FLOAT_INT", MPI_FLOAT_INT, &c_float_int, 1, "bf80000000000007", NULL},
	{"DOUBLE_INTs", MPI_DOUBLE_INT, c_double_int, 2,
	 "3ff000000000000000000002bff0000000000000fffffffe", NULL},
	{"LONG_INTs", MPI_LONG_INT, c_long_int, 2, "fffffffd0000000400000005fffffffa",
	 "fffffffffffffffd000000040000000000000005fffffffa"},
	{"SHORT_INTs", MPI_SHORT_INT, c_short_int, 2, "010200000003ffff00000004", NULL},
	{"LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT, &c_ldouble_int, 1,
	 "3fff000000000000000000000000000000000009", NULL},
	{"2INT", MPI_2INT, c_ints, 1, "0000000101020304", NULL},
	{"long double", MPI_LONG_DOUBLE, &c_ldouble, 1, "c0004000000000000000000000000000", NULL},
	{"long double complex", MPI_C_LONG_DOUBLE_COMPLEX, c_lcomplex, 1,
	 "3fff0000000000000000000000000000"
	 "4000921fb54442d1846a000000000000",
	 NULL},
};

static int64_t
from_hex(const char *hex, unsigned char *out)
{
	int64_t n = 0;

	for (; *hex != 0; hex += 2) {
		char two[3] = {hex[0], hex[1], 0};

		out[n++] = (unsigned char)strtoul(two, NULL, 16);
	}
	return n;
}

static void
golden_bytes(void **unused)
{
	struct lmpi_unfit unfit;

	(void)unused;
	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++)
		for (enum lmpi_rep rep = LMPI_REP_EXTERNAL32; rep < LMPI_REPS; rep++) {
			const struct lmpi_type *t = lmpi_type_find(golden[i].type);
			bool large = rep == LMPI_REP_EXTERNAL32_LONG8 && golden[i].long8;
			_Alignas(16) unsigned char want[64], got[64], back[64], copy[64];
			int64_t n = from_hex(large ? golden[i].long8 : golden[i].hex, want);

			print_message("%s, representation %d\n", golden[i].name, (int)rep);
			assert_int_equal(n, golden[i].count * t->rep[rep].size);
			assert_true(lmpi_external32_pack(t, golden[i].at, golden[i].count, rep, got,
							 &unfit));
			assert_memory_equal(got, want, (size_t)n);
			memset(back, 0, sizeof(back));
			memset(copy, 0, sizeof(copy));
			lmpi_external32_unpack(t, back, golden[i].count, rep, want, n);
			n = golden[i].count * t->size;
			lmpi_type_pack(t, golden[i].at, golden[i].count, got, 0, n);
			lmpi_type_pack(t, back, golden[i].count, copy, 0, n);
			/* the padding of long double is not part of its value */
			if (golden[i].type == MPI_LONG_DOUBLE_INT) {
				assert_true(*(long double *)(void *)back == c_ldouble_int.v);
				assert_memory_equal(copy + 16, got + 16, 4);
			} else if (t->part[0].wire ==
				   lmpi_type_find(MPI_LONG_DOUBLE)->part[0].wire) {
				for (int k = 0; k < n / 16; k++)
					assert_true(((long double *)(void *)back)[k] ==
						    ((const long double *)golden[i].at)[k]);
			} else {
				assert_memory_equal(copy, got, (size_t)n);
			}
		}
}

/* ---- long double */

#if LDBL_MANT_DIG == 64

struct x87 {
	uint64_t mantissa;
	uint16_t sign_exponent;
	uint16_t padding[3];
};

/* the wire, the machine; exact one way, rounded the other */
static const struct {
	const char *name, *wire;
	uint16_t sign_exponent;
	uint64_t mantissa;
	int ways; /* 1: to the wire, 2: from it */
} formats[] = {
	{"one", "3fff0000000000000000000000000000", 0x3fff, UINT64_C(1) << 63, 3},
	{"minus zero", "80000000000000000000000000000000", 0x8000, 0, 3},
	{"largest", "7ffefffffffffffffffe000000000000", 0x7ffe, UINT64_MAX, 3},
	{"smallest normal", "00010000000000000000000000000000", 1, UINT64_C(1) << 63, 3},
	{"smallest subnormal", "00000000000000000002000000000000", 0, 1, 3},
	{"largest subnormal", "0000fffffffffffffffe000000000000", 0, UINT64_MAX >> 1, 3},
	{"infinity", "7fff0000000000000000000000000000", 0x7fff, UINT64_C(1) << 63, 3},
	{"minus infinity", "ffff0000000000000000000000000000", 0xffff, UINT64_C(1) << 63, 3},
	{"quiet NaN", "7fff8000000000000000000000000000", 0x7fff, UINT64_C(3) << 62, 3},
	{"signalling NaN", "ffff0000000000000002000000000000", 0xffff, (UINT64_C(1) << 63) + 1, 3},
	/* encodings only the machine has */
	{"pseudo-denormal", "00010000000000000000000000000000", 0, UINT64_C(1) << 63, 1},
	{"unnormal", "7fff8000000000000000000000000000", 0x3fff, UINT64_C(1) << 62, 1},
	{"pseudo-infinity", "ffff8000000000000000000000000000", 0xffff, 0, 1},
	/* values only the wire has */
	{"tie to even, down", "3fff0000000000000001000000000000", 0x3fff, UINT64_C(1) << 63, 2},
	{"tie to even, up", "3fff0000000000000003000000000000", 0x3fff, (UINT64_C(1) << 63) + 2, 2},
	{"more than half", "3fff0000000000000001000000000001", 0x3fff, (UINT64_C(1) << 63) + 1, 2},
	{"less than half", "3fff0000000000000000ffffffffffff", 0x3fff, UINT64_C(1) << 63, 2},
	{"carry into the exponent", "3fffffffffffffffffffffffffffffff", 0x4000, UINT64_C(1) << 63,
	 2},
	{"too large", "fffeffffffffffffffff000000000000", 0xffff, UINT64_C(1) << 63, 2},
	{"too small", "80000000000000000000000000000001", 0x8000, 0, 2},
	{"half the smallest", "00000000000000000001000000000000", 0, 0, 2},
	{"more than half the smallest", "00000000000000000001000000000001", 0, 1, 2},
	{"subnormal that becomes normal", "0000ffffffffffffffffffffffffffff", 1, UINT64_C(1) << 63,
	 2},
	{"NaN that must not vanish", "7fff0000000000000000000000000001", 0x7fff, UINT64_C(3) << 62,
	 2},
	{"payload cut off", "7fff0000000000000003ffffffffffff", 0x7fff, (UINT64_C(1) << 63) + 1, 2},
};

static void
long_double_formats(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct x87 x = {
			formats[i].mantissa, formats[i].sign_exponent, {0x1111, 0x2222, 0x3333}};
		unsigned char want[16], got[16];

		print_message("%s\n", formats[i].name);
		assert_int_equal(from_hex(formats[i].wire, want), 16);
		if (formats[i].ways & 1) {
			lmpi_binary128_store(got, &x);
			assert_memory_equal(got, want, 16);
		}
		if (formats[i].ways & 2) {
			lmpi_binary128_load(&x, want);
			assert_int_equal(x.sign_exponent, formats[i].sign_exponent);
			assert_true(x.mantissa == formats[i].mantissa);
			assert_int_equal(x.padding[0] | x.padding[1] | x.padding[2], 0);
		}
	}
}

__extension__ typedef __float128 quad;

static void
reverse(unsigned char *out, const void *in)
{
	for (int i = 0; i < 16; i++)
		out[i] = ((const unsigned char *)in)[15 - i];
}

/* Mostly bits at random, with the interesting exponents more often than chance. */
static uint16_t
random_exponent(void)
{
	uint16_t sign = (uint16_t)(random_below(2) << 15);

	switch (random_below(6)) {
	case 0:
		return sign;
	case 1:
		return sign | 0x7ffe;
	case 2:
		return sign | (uint16_t)random_below(3);
	default:
		return sign | (uint16_t)random_below(0x7fff);
	}
}

static void
long_double_agrees_with_the_compiler(void **unused)
{
	(void)unused;
	state = 5;
	for (int i = 0; i < 400000; i++) {
		struct x87 x = {.sign_exponent = random_exponent()};
		unsigned char wire[16], want[16];
		long double v;
		quad q;

		x.mantissa = random_word();
		if (random_below(4) == 0)
			x.mantissa |= ~UINT64_C(0) << random_below(63);
		x.mantissa =
			x.sign_exponent & 0x7fff ? x.mantissa | UINT64_C(1) << 63 : x.mantissa >> 1;
		memcpy(&v, &x, sizeof(v));
		q = (quad)v;
		reverse(want, &q);
		lmpi_binary128_store(wire, &x);
		assert_memory_equal(wire, want, 16);

		/* the other way, with bits the machine has no room for */
		for (int k = 2; k < 16; k++)
			wire[k] = (unsigned char)random_below(256);
		if (random_below(3) == 0) /* near a tie */
			memset(wire + 10, random_below(2) ? 0 : 0xff, 6);
		if (random_below(3) == 0)
			memset(wire + 2, 0xff, 7);
		wire[9] = (unsigned char)random_below(256);
		reverse((unsigned char *)&q, wire);
		v = (long double)q;
		lmpi_binary128_load(&x, wire);
		assert_memory_equal(&x, &v, 10);
	}
}

#endif

/* ---- what does not fit */

static void
values_that_do_not_fit(void **unused)
{
	const long big = (long)INT32_MAX + 1, low = (long)INT32_MIN - 1, fine = INT32_MIN;
	const unsigned long ubig = (unsigned long)UINT32_MAX + 1;
	const wchar_t wbig = 0x1f600, wfine = 0xffff;
	const struct {
		MPI_Datatype type;
		const void *at;
		bool fits, fits_long8;
		uint64_t value;
		const char *name;
	} cases[] = {
		{MPI_LONG, &big, false, true, (uint64_t)big, "MPI_LONG"},
		{MPI_LONG, &low, false, true, (uint64_t)low, "MPI_LONG"},
		{MPI_LONG, &fine, true, true, 0, NULL},
		{MPI_UNSIGNED_LONG, &ubig, false, true, ubig, "MPI_UNSIGNED_LONG"},
		{MPI_UNSIGNED_LONG, &low, false, true, (uint64_t)low, "MPI_UNSIGNED_LONG"},
		{MPI_WCHAR, &wbig, false, false, 0x1f600, "MPI_WCHAR"},
		{MPI_WCHAR, &wfine, true, true, 0, NULL},
	};
	char out[64];

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct lmpi_type *t = lmpi_type_find(cases[i].type);
		struct lmpi_unfit u = {0};

		assert_int_equal(
			lmpi_external32_pack(t, cases[i].at, 1, LMPI_REP_EXTERNAL32, out, &u),
			cases[i].fits);
		if (!cases[i].fits) {
			assert_string_equal(u.type, cases[i].name);
			assert_true(u.value == cases[i].value);
			assert_int_equal(u.bytes, t->rep[LMPI_REP_EXTERNAL32].size);
			assert_int_equal(u.is_unsigned, cases[i].type != MPI_LONG);
		}
		assert_int_equal(
			lmpi_external32_pack(t, cases[i].at, 1, LMPI_REP_EXTERNAL32_LONG8, out, &u),
			cases[i].fits_long8);
	}
}

/* ---- against the model */

static void
predefined_types_agree_with_the_model(void **unused)
{
	struct model *m = calloc(1, sizeof(*m));

	(void)unused;
	assert_non_null(m);
	for (size_t k = 0; k < MODEL_BASICS; k++)
		for (uint64_t seed = 0; seed < 8; seed++) {
			model_one_basic(m, k);
			model_compare_shape(m);
			state = seed * 1000 + k;
			model_compare_external32(m, LMPI_REP_EXTERNAL32, random_below);
			model_compare_external32(m, LMPI_REP_EXTERNAL32_LONG8, random_below);
		}
	free(m);
}

static void
derived_types_agree_with_the_model(void **unused)
{
	struct model *m = calloc(1, sizeof(*m));

	(void)unused;
	assert_non_null(m);
	model_all_basics = true;
	for (uint64_t seed = 1; seed <= 1500; seed++) {
		state = seed;
		model_make(m, random_below, 4);
		model_compare_shape(m);
		model_compare_external32(m, LMPI_REP_EXTERNAL32, random_below);
		model_compare_external32(m, LMPI_REP_EXTERNAL32_LONG8, random_below);
		lmpi_type_unref(m->t);
	}
	model_all_basics = false;
	free(m);
	assert_int_equal(lmpi_type_pool.live, 0);
}

/* Rows longer than what is converted at a time, of elements that do not lie in one
 * piece: n elements of a basic type, one every `stride` bytes. */
static void
compare_row(size_t basic, int64_t n, int64_t stride, int64_t cut)
{
	struct model *m = calloc(1, sizeof(*m));
	struct lmpi_type *t;
	const int64_t bytes = n * stride;
	unsigned char *memory = malloc((size_t)bytes + 64), *want = malloc((size_t)bytes + 64);
	unsigned char *wire = malloc((size_t)n * 32), *again = malloc((size_t)n * 32);
	struct lmpi_unfit unfit;

	assert_true(m && memory && want && wire && again);
	model_one_basic(m, basic);
	t = lmpi_type_hvector(n, 1, stride, m->t);
	m->ub = stride;
	for (enum lmpi_rep rep = LMPI_REP_EXTERNAL32; rep < LMPI_REPS; rep++) {
		int64_t len = t->rep[rep].size - cut;

		assert_int_equal(t->rep[rep].size, n * model_wire_size(m, rep));
		for (int64_t i = 0; i < len; i++)
			wire[i] = (unsigned char)random_below(256);
		memset(memory, 0x77, (size_t)bytes);
		memset(want, 0x77, (size_t)bytes);
		model_decode(m, want, n, rep, wire, len);
		lmpi_external32_unpack(t, memory, 1, rep, wire, len);
		if (t->rep[rep].swap != 1)
			assert_memory_equal(memory, want, (size_t)bytes);
		if (cut != 0)
			continue;
		assert_int_equal(model_encode(m, want, n, rep, wire), len);
		assert_true(lmpi_external32_pack(t, memory, 1, rep, again, &unfit));
		assert_memory_equal(again, wire, (size_t)len);
	}
	lmpi_type_unref(t);
	free(m);
	free(memory);
	free(want);
	free(wire);
	free(again);
}

static void
long_rows_agree_with_the_model(void **unused)
{
	(void)unused;
	state = 11;
	for (size_t k = 0; k < MODEL_BASICS; k++) {
		compare_row(k, 5001, 40, 0); /* with gaps */
		compare_row(k, 2500, model_every_basic[k].extent, 0);
		compare_row(k, 2500, model_every_basic[k].extent, 1 + random_below(2400));
	}
}

/* A structure with holes, the last of its elements out of range: found wherever it is. */
static void
finds_the_one_that_does_not_fit(void **unused)
{
	struct part {
		double d;
		short s;
		long l;
		int i;
	};
	enum { N = 1000 };
	static struct part a[N];
	static char out[N * 18];
	int len[4] = {1, 1, 1, 1};
	int64_t disp[4] = {offsetof(struct part, d), offsetof(struct part, s),
			   offsetof(struct part, l), offsetof(struct part, i)};
	struct lmpi_type *types[4] = {lmpi_type_find(MPI_DOUBLE), lmpi_type_find(MPI_SHORT),
				      lmpi_type_find(MPI_LONG), lmpi_type_find(MPI_INT)};
	struct lmpi_type *t = lmpi_type_struct(4, (struct lmpi_ints){len, false},
					       (struct lmpi_ints){disp, true}, types);
	struct lmpi_unfit u;

	(void)unused;
	assert_int_equal(t->rep[LMPI_REP_EXTERNAL32].size, 18);
	assert_int_equal(t->rep[LMPI_REP_EXTERNAL32_LONG8].size, 22);
	for (int i = 0; i < N; i++)
		a[i].l = -i;
	assert_true(lmpi_external32_pack(t, a, N, LMPI_REP_EXTERNAL32, out, &u));
	assert_memory_equal(out + 18 * 999 + 10, "\xff\xff\xfc\x19", 4); /* -999 */
	a[N - 1].l = LONG_MIN;
	assert_false(lmpi_external32_pack(t, a, N, LMPI_REP_EXTERNAL32, out, &u));
	assert_true(u.value == (uint64_t)LONG_MIN);
	lmpi_type_unref(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_has_its_size),
		cmocka_unit_test(golden_bytes),
#if LDBL_MANT_DIG == 64
		cmocka_unit_test(long_double_formats),
		cmocka_unit_test(long_double_agrees_with_the_compiler),
#endif
		cmocka_unit_test(values_that_do_not_fit),
		cmocka_unit_test(predefined_types_agree_with_the_model),
		cmocka_unit_test(derived_types_agree_with_the_model),
		cmocka_unit_test(long_rows_agree_with_the_model),
		cmocka_unit_test(finds_the_one_that_does_not_fit),
	};

	lmpi_types_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
