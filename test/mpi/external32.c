/* SPDX-License-Identifier: BSD-2-Clause */
/* MPI_Pack_external and its kin: bytes that any MPI on any machine understands. */
#include "check.h"

#include <limits.h>
#include <stddef.h>

struct part { /* with holes */
	char c;
	double d;
	short s[3];
	long l;
	float f;
	int i;
};

static MPI_Datatype
part_type(void)
{
	int len[5] = {1, 1, 3, 1, 1};
	MPI_Aint disp[5] = {offsetof(struct part, c), offsetof(struct part, d),
			    offsetof(struct part, s), offsetof(struct part, l),
			    offsetof(struct part, f)};
	MPI_Datatype types[5] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_LONG, MPI_FLOAT_INT}, t;

	MPI_Type_create_struct(5, len, disp, types, &t);
	MPI_Type_commit(&t);
	return t;
}

static void
sizes(void)
{
	static const struct {
		MPI_Datatype type;
		MPI_Aint size;
	} want[] = {
		{MPI_CHAR, 1},
		{MPI_SHORT, 2},
		{MPI_WCHAR, 2},
		{MPI_INT, 4},
		{MPI_LONG, 4},
		{MPI_UNSIGNED_LONG, 4},
		{MPI_LONG_LONG, 8},
		{MPI_FLOAT, 4},
		{MPI_DOUBLE, 8},
		{MPI_LONG_DOUBLE, 16},
		{MPI_C_BOOL, 1},
		{MPI_AINT, 8},
		{MPI_COUNT, 8},
		{MPI_SHORT_INT, 6},
		{MPI_DOUBLE_INT, 12},
		{MPI_LONG_INT, 8},
		{MPI_LONG_DOUBLE_INT, 20},
		{MPI_C_DOUBLE_COMPLEX, 16},
		{MPI_C_LONG_DOUBLE_COMPLEX, 32},
	};
	MPI_Datatype t = part_type();
	MPI_Aint size;
	MPI_Count wide;

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		MPI_Pack_external_size("external32", 3, want[i].type, &size);
		CHECKF(size == 3 * want[i].size, "type %zu: %ld bytes", i, (long)size);
	}
	MPI_Pack_external_size("external32", 10, t, &size);
	CHECK(size == 10 * (1 + 8 + 6 + 4 + 8));
	MPI_Pack_external_size_c("external32", (MPI_Count)1 << 40, MPI_LONG, &wide);
	CHECK(wide == (MPI_Count)4 << 40);
	MPI_Type_free(&t);
}

static void
bytes(void)
{
	struct part in = {'a', -0.5, {1, -2, 0x304}, -7, 2.0f, 9}, out;
	static const unsigned char want[27] = {
		'a',  0xbf, 0xe0, 0,	0, 0, 0,    0,	  0,	/* char, double */
		0,    1,    0xff, 0xfe, 3, 4, 0xff, 0xff, 0xff, /* shorts, long */
		0xf9, 0x40, 0,	  0,	0, 0, 0,    0,	  9,	/* pair */
	};
	MPI_Datatype t = part_type();
	unsigned char wire[64];
	MPI_Aint at = 3;
	MPI_Count wide = 3;
	long double ld = 1.0L, back = 0;

	memset(wire, 0xee, sizeof(wire));
	MPI_Pack_external("external32", &in, 1, t, wire, sizeof(wire), &at);
	CHECK(at == 30 && memcmp(wire + 3, want, 27) == 0 && wire[2] == 0xee && wire[30] == 0xee);
	memset(&out, 0x11, sizeof(out));
	at = 3;
	MPI_Unpack_external("external32", wire, 30, &at, &out, 1, t);
	CHECK(at == 30 && out.c == 'a' && out.d == -0.5 && out.s[1] == -2 && out.s[2] == 0x304);
	CHECK(out.l == -7 && out.f == 2.0f && out.i == 9);
	CHECK(((unsigned char *)&out)[1] == 0x11); /* the hole */
	MPI_Pack_external_c("external32", &in, 1, t, wire, sizeof(wire), &wide);
	CHECK(wide == 30 && memcmp(wire + 3, want, 27) == 0);
	wide = 3;
	memset(&out, 0, sizeof(out));
	MPI_Unpack_external_c("external32", wire, 30, &wide, &out, 1, t);
	CHECK(wide == 30 && out.d == -0.5 && out.l == -7);
	at = 0;
	MPI_Pack_external("external32", &ld, 1, MPI_LONG_DOUBLE, wire, sizeof(wire), &at);
	CHECK(at == 16 && wire[0] == 0x3f && wire[1] == 0xff && wire[2] == 0 && wire[15] == 0);
	at = 0;
	MPI_Unpack_external("external32", wire, 16, &at, &back, 1, MPI_LONG_DOUBLE);
	CHECK(back == 1.0L);
	MPI_Type_free(&t);
}

static void
refusals(void)
{
	long big = LONG_MAX, fine = INT_MIN;
	int v = 1;
	char wire[16];
	MPI_Aint at = 0, size;
	MPI_Errhandler old;

	MPI_Comm_get_errhandler(MPI_COMM_SELF, &old);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	CHECK(MPI_Pack_external("native", &v, 1, MPI_INT, wire, 16, &at) ==
	      MPI_ERR_UNSUPPORTED_DATAREP);
	CHECK(MPI_Unpack_external("", wire, 16, &at, &v, 1, MPI_INT) ==
	      MPI_ERR_UNSUPPORTED_DATAREP);
	CHECK(MPI_Pack_external_size("EXTERNAL32", 1, MPI_INT, &size) ==
	      MPI_ERR_UNSUPPORTED_DATAREP);
	CHECK(MPI_Pack_external("external32", &big, 1, MPI_LONG, wire, 16, &at) ==
	      MPI_ERR_CONVERSION);
	CHECK(at == 0);
	CHECK(MPI_Pack_external("external32", &fine, 1, MPI_LONG, wire, 16, &at) == MPI_SUCCESS);
	CHECK(at == 4);
	CHECK(MPI_Pack_external("external32", &v, 1, MPI_INT, wire, 7, &at) == MPI_ERR_TRUNCATE);
	CHECK(MPI_Unpack_external("external32", wire, 7, &at, &v, 1, MPI_INT) == MPI_ERR_TRUNCATE);
	CHECK(MPI_Pack_external("external32", &v, -1, MPI_INT, wire, 16, &at) == MPI_ERR_COUNT);
	CHECK(MPI_Pack_external("external32", &v, 1, MPI_DATATYPE_NULL, wire, 16, &at) ==
	      MPI_ERR_TYPE);
	CHECK(at == 4);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, old);
}

/* Packed here, sent as bytes, unpacked there: as another datatype of the same elements. */
static void
between_processes(void)
{
	enum { N = 5000 };
	static double column[N][3], all[N];
	static char wire[8 * N], got[8 * N];
	MPI_Datatype t;
	MPI_Aint at = 0;
	int right = (check_rank + 1) % check_size;
	int left = (check_rank + check_size - 1) % check_size;

	for (int i = 0; i < N; i++)
		column[i][1] = check_rank + i / 8.0;
	MPI_Type_vector(N, 1, 3, MPI_DOUBLE, &t);
	MPI_Type_commit(&t);
	MPI_Pack_external("external32", &column[0][1], 1, t, wire, sizeof(wire), &at);
	CHECK(at == sizeof(wire));
	MPI_Sendrecv(wire, (int)at, MPI_BYTE, right, 1, got, sizeof(got), MPI_BYTE, left, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	at = 0;
	MPI_Unpack_external("external32", got, sizeof(got), &at, all, N, MPI_DOUBLE);
	CHECK(at == sizeof(wire));
	for (int i = 0; i < N; i++)
		CHECK(all[i] == left + i / 8.0);
	MPI_Type_free(&t);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	sizes();
	bytes();
	refusals();
	between_processes();
	return finish();
}
