/* SPDX-License-Identifier: BSD-2-Clause */
/* What a binary made with any header of the standard ABI relies on at run time. */
#include "check.h"

#include "tables.h"

static void
datatypes(void)
{
	static const struct {
		const char *name;
		MPI_Datatype type;
		int value, size, extent;
	} all[] = {
#define X(name, value, size, extent) {#name, name, value, size, extent},
		LMPI_DATATYPES(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		MPI_Aint lb, extent;
		int size;

		MPI_Type_size(all[i].type, &size);
		MPI_Type_get_extent(all[i].type, &lb, &extent);
		CHECKF(size == all[i].size && lb == 0 && extent == all[i].extent,
		       "%s: size %d, extent %td", all[i].name, size, extent);
		CHECK(MPI_Type_toint(all[i].type) == all[i].value);
		CHECK(MPI_Type_fromint(all[i].value) == all[i].type);
	}
}

static void
serialisation(void)
{
	MPI_Comm c;
	MPI_Group g;
	MPI_Info info;
	int n;

	CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 257 && MPI_Comm_fromint(258) == MPI_COMM_SELF);
	CHECK(MPI_Op_toint(MPI_MAXLOC) == 57 && MPI_Op_fromint(33) == MPI_SUM);
	CHECK(MPI_Request_toint(MPI_REQUEST_NULL) == 384);
	CHECK(MPI_Win_fromint(272) == MPI_WIN_NULL && MPI_File_toint(MPI_FILE_NULL) == 280);
	CHECK(MPI_Session_fromint(288) == MPI_SESSION_NULL);
	MPI_Comm_dup(MPI_COMM_WORLD, &c);
	n = MPI_Comm_toint(c);
	CHECK(n > 4095 && MPI_Comm_toint(c) == n && MPI_Comm_fromint(n) == c);
	CHECK((uintptr_t)c > 4095);
	MPI_Comm_free(&c);
	MPI_Comm_group(MPI_COMM_WORLD, &g);
	n = MPI_Group_toint(g);
	CHECK(n > 4095 && MPI_Group_fromint(n) == g);
	MPI_Group_free(&g);
	MPI_Info_create(&info);
	CHECK(MPI_Info_fromint(MPI_Info_toint(info)) == info);
	MPI_Info_free(&info);
}

/* A status goes through all three languages and is still of that message. */
static void
fortran_statuses(void)
{
	MPI_Fint f[MPI_F_STATUS_SIZE], again[MPI_F_STATUS_SIZE];
	int in[3] = {0}, out[3] = {4, 5, 6}, n = 0, cancelled = 1;
	MPI_F08_status f08, from_f;
	MPI_Status st, back;

	_Static_assert(sizeof(MPI_F08_status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint),
		       "TYPE(MPI_Status) of module mpi_f08");
	MPI_Sendrecv(out, 3, MPI_INT, 0, 41, in, 3, MPI_INT, 0, 41, MPI_COMM_SELF, &st);
	st.MPI_ERROR = MPI_ERR_TAG;
	CHECK(MPI_Status_c2f08(&st, &f08) == MPI_SUCCESS);
	CHECK(f08.MPI_SOURCE == 0 && f08.MPI_TAG == 41 && f08.MPI_ERROR == MPI_ERR_TAG);
	CHECK(MPI_Status_f082f(&f08, f) == MPI_SUCCESS);
	CHECK(PMPI_Status_c2f(&st, again) == MPI_SUCCESS && memcmp(f, again, sizeof(f)) == 0);
	CHECK(MPI_Status_f2f08(f, &from_f) == MPI_SUCCESS);
	memset(&back, 0, sizeof(back));
	CHECK(MPI_Status_f082c(&from_f, &back) == MPI_SUCCESS);
	MPI_Get_count(&back, MPI_INT, &n);
	MPI_Test_cancelled(&back, &cancelled);
	CHECK(n == 3 && !cancelled && back.MPI_TAG == 41 && back.MPI_ERROR == MPI_ERR_TAG);
}

static void
queries(void)
{
	int major = 0, minor = -1, flag = 0, set = 1, t = 1, f = 0, gt, gf;
	MPI_Info info;
	char value[32];

	MPI_Abi_get_version(&major, &minor);
	CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION);
	MPI_Abi_get_info(&info);
	MPI_Info_get(info, "mpi_count_size", 31, value, &flag);
	CHECK(flag && strcmp(value, "8") == 0);
	MPI_Info_free(&info);
	MPI_Abi_get_fortran_info(&info);
	CHECK(info == MPI_INFO_NULL);
	MPI_Abi_get_fortran_booleans(4, &gt, &gf, &set);
	CHECK(!set);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	CHECK(MPI_Abi_set_fortran_booleans(4, &t, &f) == MPI_SUCCESS);
	CHECK(MPI_Abi_set_fortran_booleans(4, &t, &f) == MPI_ERR_ABI);
	MPI_Abi_get_fortran_booleans(4, &gt, &gf, &set);
	CHECK(set && gt == 1 && gf == 0);
}

/* Counts beyond 2^32, and a status at an address aligned to 4 only. */
static void
statuses(void)
{
	union {
		MPI_Status st;
		int words[16];
	} a, b;
	MPI_Count n = 0;
	int small = 0;
	MPI_Datatype big;

	MPI_Status_set_elements_c(&a.st, MPI_BYTE, (MPI_Count)5000000000);
	memcpy(&b.words[1], &a.st, sizeof(MPI_Status));
	MPI_Get_count_c((MPI_Status *)&b.words[1], MPI_BYTE, &n);
	CHECK(n == 5000000000);
	MPI_Get_count(&a.st, MPI_BYTE, &small);
	CHECK(small == MPI_UNDEFINED);
	MPI_Get_elements_x(&a.st, MPI_BYTE, &n);
	CHECK(n == 5000000000);
	MPI_Type_contiguous(1 << 30, MPI_INT, &big);
	MPI_Type_size(big, &small);
	MPI_Type_size_c(big, &n);
	CHECK(small == MPI_UNDEFINED && n == (MPI_Count)4 << 30);
	MPI_Type_free(&big);
	MPI_Status_set_cancelled(&a.st, 1);
	MPI_Test_cancelled(&a.st, &small);
	CHECK(small == 1);
}

int
main(int argc, char **argv)
{
	int flag = 1, version, sub, len;
	char text[MPI_MAX_LIBRARY_VERSION_STRING];

	MPI_Initialized(&flag);
	CHECK(!flag);
	MPI_Get_version(&version, &sub);
	CHECK(version == 5 && sub == 0);
	MPI_Get_library_version(text, &len);
	CHECK(len == (int)strlen(text));
	CHECK(sscanf(text, "libmpi %d.%d,", &version, &sub) == 2);
	start(&argc, &argv);
	datatypes();
	serialisation();
	fortran_statuses();
	queries();
	statuses();
	return finish();
}
