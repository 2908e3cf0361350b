/* SPDX-License-Identifier: BSD-2-Clause */
/* Files: opening, errors and their handlers, hints, sizes, pointers, data representations,
 * atomicity, large offsets, non-blocking collectives. */
#include <unistd.h>

#include "check.h"

static char path[200];

#define OK(CALL) WANT(MPI_SUCCESS, CALL)

static const int NEW = MPI_MODE_RDWR | MPI_MODE_CREATE;

static MPI_File
fresh(int amode)
{
	MPI_File f;

	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank == 0)
		unlink(path);
	OK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &f));
	return f;
}

static void
opening(void)
{
	MPI_File f = fresh(NEW), g;
	char text[MPI_MAX_ERROR_STRING], missing[220];
	int amode, len, rc;

	OK(MPI_File_get_amode(f, &amode));
	CHECK(amode == NEW && MPI_File_fromint(MPI_File_toint(f)) == f);
	CHECK(MPI_File_toint(f) >= 4096);
	WANT(MPI_ERR_FILE_EXISTS,
	     MPI_File_open(MPI_COMM_WORLD, path, NEW | MPI_MODE_EXCL, MPI_INFO_NULL, &g));
	CHECK(g == MPI_FILE_NULL);
	WANT(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, 0, MPI_INFO_NULL, &g));
	WANT(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_CREATE,
					  MPI_INFO_NULL, &g));
	WANT(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
					  MPI_INFO_NULL, &g));
	if (check_size > 1)
		WANT(MPI_ERR_NOT_SAME,
		     MPI_File_open(MPI_COMM_WORLD, path,
				   check_rank == 1 ? MPI_MODE_RDONLY : MPI_MODE_RDWR, MPI_INFO_NULL,
				   &g));
	snprintf(missing, sizeof(missing), "%s/nothing", path);
	WANT(MPI_ERR_BAD_FILE, MPI_File_open(MPI_COMM_SELF, "/", MPI_MODE_RDWR, MPI_INFO_NULL, &g));
	WANT(MPI_ERR_BAD_FILE,
	     MPI_File_open(MPI_COMM_WORLD, missing, MPI_MODE_RDONLY, MPI_INFO_NULL, &g));
	snprintf(missing, sizeof(missing), "%s.nothing", path);
	rc = MPI_File_open(MPI_COMM_WORLD, missing, MPI_MODE_RDONLY, MPI_INFO_NULL, &g);
	WANT(MPI_ERR_NO_SUCH_FILE, rc);
	MPI_Error_string(rc, text, &len);
	CHECKF(strstr(text, missing) != NULL, "\"%s\"", text);
	WANT(MPI_ERR_NO_SUCH_FILE, MPI_File_delete(missing, MPI_INFO_NULL));
	OK(MPI_File_close(&f));
	CHECK(f == MPI_FILE_NULL);
	WANT(MPI_ERR_FILE, MPI_File_close(&f));
	WANT(MPI_ERR_FILE, MPI_File_sync(MPI_FILE_NULL));
}

/* Only one process sees the file: all get the error. */
static void
unseen(void)
{
	MPI_File f;
	char mine[220];

	snprintf(mine, sizeof(mine), "%s.of%d", path, check_rank);
	if (check_size > 1) {
		WANT(MPI_ERR_NO_SUCH_FILE,
		     MPI_File_open(MPI_COMM_WORLD, mine, NEW, MPI_INFO_NULL, &f));
		CHECK(access(mine, F_OK) != 0); /* what was created is taken away again */
	}
	OK(MPI_File_open(MPI_COMM_SELF, mine, NEW | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f));
	OK(MPI_File_close(&f));
}

static void
modes(void)
{
	MPI_File f = fresh(MPI_MODE_WRONLY | MPI_MODE_CREATE);
	MPI_Offset at;
	MPI_Request r;
	int v = 7, n;
	MPI_Status st;

	WANT(MPI_ERR_ACCESS, MPI_File_read(f, &v, 1, MPI_INT, &st));
	OK(MPI_File_write_at(f, check_rank * 4, &v, 1, MPI_INT, &st));
	OK(MPI_File_close(&f));
	OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &f));
	WANT(MPI_ERR_READ_ONLY, MPI_File_write(f, &v, 1, MPI_INT, &st));
	WANT(MPI_ERR_READ_ONLY, MPI_File_write_all(f, &v, 1, MPI_INT, &st));
	WANT(MPI_ERR_READ_ONLY, MPI_File_iwrite(f, &v, 1, MPI_INT, &r));
	WANT(MPI_ERR_READ_ONLY, MPI_File_set_size(f, 1));
	WANT(MPI_ERR_COUNT, MPI_File_read(f, &v, -1, MPI_INT, &st));
	WANT(MPI_ERR_TYPE, MPI_File_read(f, &v, 1, MPI_DATATYPE_NULL, &st));
	WANT(MPI_ERR_ARG, MPI_File_read_at(f, -1, &v, 1, MPI_INT, &st));
	WANT(MPI_ERR_ARG, MPI_File_seek(f, -1, MPI_SEEK_SET));
	WANT(MPI_ERR_OTHER, MPI_File_read_all_end(f, &v, &st));
	OK(MPI_File_read_at(f, 4 * check_size - 2, &v, 1, MPI_INT, &st));
	MPI_Get_count(&st, MPI_BYTE, &n);
	CHECK(n == 2);
	OK(MPI_File_close(&f));

	OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_APPEND, MPI_INFO_NULL, &f));
	OK(MPI_File_get_position(f, &at));
	CHECK(at == 4 * check_size);
	OK(MPI_File_get_position_shared(f, &at));
	CHECK(at == 4 * check_size);
	OK(MPI_File_close(&f));

	OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL,
			 &f));
	WANT(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_read_at(f, 0, &v, 1, MPI_INT, &st));
	WANT(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_seek(f, 0, MPI_SEEK_SET));
	WANT(MPI_ERR_DISP, MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
	OK(MPI_File_read_ordered(f, &v, 1, MPI_INT, &st));
	CHECK(v == 7);
	OK(MPI_File_set_view(f, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native",
			     MPI_INFO_NULL));
	OK(MPI_File_get_view(f, &at, &(MPI_Datatype){0}, &(MPI_Datatype){0},
			     (char[MPI_MAX_DATAREP_STRING]){0}));
	CHECK(at == 4 * check_size);
	OK(MPI_File_close(&f));
}

/* ---- error handlers */

static int called;
static MPI_File called_file;

static void
handler(MPI_File *file, int *code, ...)
{
	(void)code;
	called++;
	called_file = *file;
}

static void
handlers(void)
{
	MPI_Errhandler h, got;
	MPI_File f = fresh(NEW), g;
	MPI_Request r;
	int v;

	OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
	CHECK(got == MPI_ERRORS_RETURN);
	OK(MPI_File_create_errhandler(handler, &h));
	OK(MPI_File_set_errhandler(f, h));
	OK(MPI_File_get_errhandler(f, &got));
	CHECK(got == h);
	MPI_Errhandler_free(&got);
	WANT(MPI_ERR_COUNT, MPI_File_read(f, &v, -1, MPI_INT, MPI_STATUS_IGNORE));
	CHECK(called == 1 && called_file == f);
	WANT(MPI_ERR_COUNT, MPI_File_iread(f, &v, -1, MPI_INT, &r));
	CHECK(called == 2);
	OK(MPI_File_call_errhandler(f, MPI_ERR_IO));
	CHECK(called == 3);
	OK(MPI_File_set_errhandler(MPI_FILE_NULL, h));
	WANT(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, 0, MPI_INFO_NULL, &g));
	CHECK(called == 4 && called_file == MPI_FILE_NULL);
	WANT(MPI_ERR_NO_SUCH_FILE, MPI_File_delete("/nothing/at/all", MPI_INFO_NULL));
	CHECK(called == 5);
	OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &g));
	OK(MPI_File_get_errhandler(g, &got)); /* files inherit the default at their opening */
	CHECK(got == h);
	MPI_Errhandler_free(&got);
	OK(MPI_File_close(&g));
	OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
	MPI_Errhandler_free(&h);
	OK(MPI_File_close(&f));
}

/* A device that is always full: errors of aggregators reach everybody. */
static void
no_space(void)
{
	static const char *const choice[] = {"enable", "disable"};
	MPI_File f;
	MPI_Request r;
	MPI_Info info;
	int v[100] = {0};

	for (int i = 0; i < 2; i++) {
		MPI_Info_create(&info);
		MPI_Info_set(info, "romio_cb_write", choice[i]);
		OK(MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, info, &f));
		MPI_Info_free(&info);
		WANT(MPI_ERR_NO_SPACE, MPI_File_write_at(f, 0, v, 100, MPI_INT, MPI_STATUS_IGNORE));
		WANT(MPI_ERR_NO_SPACE, MPI_File_write_at_all(f, 400 * check_rank, v, 100, MPI_INT,
							     MPI_STATUS_IGNORE));
		OK(MPI_File_iwrite_at_all(f, 400 * check_rank, v, 100, MPI_INT, &r));
		WANT(MPI_ERR_NO_SPACE, MPI_Wait(&r, MPI_STATUS_IGNORE));
		OK(MPI_File_close(&f));
	}
}

/* ---- views, pointers, sizes */

static void
queries(void)
{
	MPI_File f = fresh(NEW);
	MPI_Datatype t, e, got;
	MPI_Offset at;
	MPI_Aint extent;
	MPI_Group g, w;
	MPI_Count big;
	char rep[MPI_MAX_DATAREP_STRING];
	int same;

	MPI_File_get_group(f, &g);
	MPI_Comm_group(MPI_COMM_WORLD, &w);
	MPI_Group_compare(g, w, &same);
	CHECK(same == MPI_IDENT);
	MPI_Group_free(&g);
	MPI_Group_free(&w);
	MPI_Type_vector(3, 2, 4, MPI_INT, &t);
	MPI_Type_commit(&t);
	OK(MPI_File_set_view(f, 12, MPI_INT, t, "internal", MPI_INFO_NULL));
	OK(MPI_File_get_view(f, &at, &e, &got, rep));
	CHECK(at == 12 && e == MPI_INT && strcmp(rep, "internal") == 0);
	OK(MPI_File_get_type_extent(f, got, &extent));
	CHECK(extent == 40);
	OK(MPI_File_get_type_extent_c(f, MPI_DOUBLE, &big));
	CHECK(big == 8);
	MPI_Type_free(&got);
	/* units at 0 1 4 5 8 9 of every 10 */
	OK(MPI_File_get_byte_offset(f, 0, &at));
	CHECK(at == 12);
	OK(MPI_File_get_byte_offset(f, 3, &at));
	CHECK(at == 12 + 5 * 4);
	OK(MPI_File_get_byte_offset(f, 6 + 2, &at));
	CHECK(at == 12 + 40 + 4 * 4);
	OK(MPI_File_set_size(f, 12 + 40 + 4 * 4 + 2)); /* in the middle of etype 8 */
	OK(MPI_File_seek(f, 0, MPI_SEEK_END));
	OK(MPI_File_get_position(f, &at));
	CHECK(at == 9);
	OK(MPI_File_seek(f, -3, MPI_SEEK_CUR));
	OK(MPI_File_get_position(f, &at));
	CHECK(at == 6);
	WANT(MPI_ERR_ARG, MPI_File_seek(f, -7, MPI_SEEK_CUR));
	WANT(MPI_ERR_ARG, MPI_File_seek(f, 0, 12345));
	WANT(MPI_ERR_UNSUPPORTED_DATAREP,
	     MPI_File_set_view(f, 0, MPI_INT, t, "none such", MPI_INFO_NULL));
	WANT(MPI_ERR_DISP, MPI_File_set_view(f, -3, MPI_INT, t, "native", MPI_INFO_NULL));
	WANT(MPI_ERR_IO, MPI_File_set_view(f, 0, MPI_DOUBLE, MPI_INT, "native", MPI_INFO_NULL));
	if (check_size > 1) {
		WANT(MPI_ERR_NOT_SAME, MPI_File_set_view(f, 0, check_rank ? MPI_INT : MPI_CHAR,
							 MPI_INT, "native", MPI_INFO_NULL));
		WANT(MPI_ERR_NOT_SAME,
		     MPI_File_set_view(f, 0, MPI_INT, MPI_INT, check_rank ? "native" : "external32",
				       MPI_INFO_NULL));
		WANT(MPI_ERR_NOT_SAME, MPI_File_set_size(f, 100 + check_rank));
		WANT(MPI_ERR_NOT_SAME, MPI_File_set_atomicity(f, check_rank == 1));
	}
	OK(MPI_File_get_position(f, &at)); /* failed views change nothing */
	CHECK(at == 6);
	MPI_Type_free(&t);
	OK(MPI_File_preallocate(f, 10000));
	OK(MPI_File_get_size(f, &at));
	CHECK(at == 10000);
	OK(MPI_File_preallocate(f, 100));
	OK(MPI_File_get_size(f, &at));
	CHECK(at == 10000);
	OK(MPI_File_set_size(f, 3));
	OK(MPI_File_get_size(f, &at));
	CHECK(at == 3);
	OK(MPI_File_sync(f));
	OK(MPI_File_close(&f));
}

static void
hint_is(MPI_File f, const char *key, const char *want)
{
	char value[MPI_MAX_INFO_VAL + 1];
	MPI_Info info;
	int flag;

	OK(MPI_File_get_info(f, &info));
	MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
	CHECKF(flag && strcmp(value, want) == 0, "%s is \"%s\", not \"%s\"", key, flag ? value : "",
	       want);
	MPI_Info_free(&info);
}

static void
hints(void)
{
	MPI_File f;
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "cb_buffer_size", "8192");
	MPI_Info_set(info, "romio_ds_read", "disable");
	MPI_Info_set(info, "cb_nodes", "1");
	MPI_Info_set(info, "striping_unit", "nonsense");
	MPI_Info_set(info, "no_such_hint", "1");
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_open(MPI_COMM_WORLD, path, NEW, info, &f));
	hint_is(f, "cb_buffer_size", "8192");
	hint_is(f, "romio_ds_read", "disable");
	hint_is(f, "cb_nodes", "1");
	hint_is(f, "striping_unit", "4096");
	MPI_Info_set(info, "cb_config_list", "*:2");
	MPI_Info_set(info, "cb_nodes", "2");
	MPI_Info_set(info, "cb_buffer_size", "65536");
	MPI_Info_set(info, "collective_buffering", "false");
	OK(MPI_File_set_info(f, info));
	hint_is(f, "cb_buffer_size", "65536");
	hint_is(f, "romio_cb_write", "disable");
	hint_is(f, "collective_buffering", "false");
	hint_is(f, "cb_nodes", check_size == 1 ? "1" : "2");
	MPI_Info_free(&info);
	OK(MPI_File_close(&f));
}

/* ---- the shared pointer */

static void
shared(void)
{
	MPI_File f = fresh(NEW);
	int v[2], seen = 0, *all, n = check_rank + 1, total = check_size * (check_size + 1) / 2;
	MPI_Request r;
	MPI_Status st;
	MPI_Offset at;

	OK(MPI_File_set_view(f, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
	for (int i = 0; i < 10; i++) {
		v[0] = check_rank;
		v[1] = i;
		if (i % 2) {
			OK(MPI_File_iwrite_shared(f, v, 2, MPI_INT, &r));
			MPI_Wait(&r, &st);
		} else {
			OK(MPI_File_write_shared_c(f, v, 2, MPI_INT, &st));
		}
		MPI_Get_count(&st, MPI_INT, &n);
		CHECK(n == 2);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_get_position_shared(f, &at));
	CHECK(at == 20 * check_size);
	/* every pair is there once, and those of one rank in order */
	all = calloc((size_t)check_size, sizeof(*all));
	for (int i = 0; i < 10 * check_size; i++) {
		OK(MPI_File_read_at(f, 2 * i, v, 2, MPI_INT, &st));
		CHECK(v[0] >= 0 && v[0] < check_size && all[v[0]]++ == v[1]);
	}
	free(all);
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_seek_shared(f, -6, MPI_SEEK_END));
	OK(MPI_File_get_position_shared(f, &at));
	CHECK(at == 20 * check_size - 6);
	if (check_size > 1)
		WANT(MPI_ERR_NOT_SAME, MPI_File_seek_shared(f, check_rank, MPI_SEEK_SET));
	OK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET));
	OK(MPI_File_read_shared(f, v, 2, MPI_INT, &st));
	OK(MPI_File_iread_shared(f, v, 2, MPI_INT, &r));
	MPI_Wait(&r, &st);
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_get_position_shared(f, &at));
	CHECK(at == 4 * check_size);

	/* ordered: rank r writes r + 1 numbers */
	OK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
	OK(MPI_File_get_position_shared(f, &at));
	CHECK(at == 0);
	all = calloc((size_t)total, sizeof(*all));
	n = check_rank + 1;
	for (int i = 0; i < n; i++)
		all[i] = check_rank * 100 + i;
	OK(MPI_File_write_ordered(f, all, n, MPI_INT, &st));
	OK(MPI_File_write_ordered_begin(f, all, n, MPI_INT));
	OK(MPI_File_write_ordered_end(f, all, &st));
	MPI_Get_count(&st, MPI_INT, &seen);
	CHECK(seen == n);
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_read_at(f, total, all, total, MPI_INT, &st));
	for (int k = 0, i = 0; k < check_size; k++)
		for (int j = 0; j <= k; j++, i++)
			CHECK(all[i] == k * 100 + j);
	OK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET));
	OK(MPI_File_read_ordered_begin_c(f, all, n, MPI_INT));
	WANT(MPI_ERR_OTHER, MPI_File_write_ordered_begin(f, all, 1, MPI_INT));
	OK(MPI_File_read_ordered_end(f, all, &st));
	CHECK(all[0] == check_rank * 100 && all[n - 1] == check_rank * 100 + n - 1);
	free(all);
	OK(MPI_File_close(&f));
}

/* ---- data representations */

static void
external32(void)
{
	MPI_File f = fresh(NEW);
	long l[3] = {0x01020304, -2, 77}, back[3] = {0};
	unsigned char raw[12];
	MPI_Datatype pair, t;
	MPI_Aint extent;
	MPI_Offset at;
	MPI_Status st;
	int n;

	/* MPI_LONG has 4 bytes in external32; ranks' longs are interleaved */
	MPI_Type_vector(3, 1, check_size, MPI_LONG, &t);
	MPI_Type_commit(&t);
	OK(MPI_File_set_view(f, 4 * check_rank, MPI_LONG, t, "external32", MPI_INFO_NULL));
	OK(MPI_File_get_type_extent(f, MPI_LONG, &extent));
	CHECK(extent == 4);
	OK(MPI_File_get_type_extent(f, t, &extent));
	CHECK(extent == 4 * (2 * check_size + 1));
	OK(MPI_File_get_byte_offset(f, 1, &at));
	CHECK(at == 4 * check_rank + 4 * check_size);
	OK(MPI_File_write_all(f, l, 3, MPI_LONG, &st));
	MPI_Get_count(&st, MPI_LONG, &n);
	CHECK(n == 3);
	OK(MPI_File_read_at_all(f, 0, back, 3, MPI_LONG, &st));
	CHECK(memcmp(l, back, sizeof(l)) == 0);
	WANT(MPI_ERR_CONVERSION,
	     MPI_File_write_at(f, 0, &(long){1L << 40}, 1, MPI_LONG, MPI_STATUS_IGNORE));
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
	OK(MPI_File_read_at(f, 4 * check_rank, raw, 4, MPI_BYTE, &st));
	CHECK(memcmp(raw, "\1\2\3\4", 4) == 0);
	OK(MPI_File_get_size(f, &at));
	CHECK(at == 12 * check_size);
	/* the end of the file inside an element: only whole ones count */
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_set_size(f, 10));
	OK(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
	back[2] = 5;
	OK(MPI_File_read_at_all(f, 0, back, 3, MPI_LONG, &st));
	MPI_Get_count(&st, MPI_LONG, &n);
	CHECK(n == 2 && back[0] == l[0] && back[2] == 5);
	MPI_Type_contiguous(2, MPI_LONG, &pair);
	MPI_Type_commit(&pair);
	OK(MPI_File_read_at(f, 2, back, 1, pair, &st));
	MPI_Get_elements(&st, pair, &n);
	CHECK(n == 2);
	MPI_Type_free(&pair);
	MPI_Type_free(&t);
	OK(MPI_File_close(&f));
}

/* "wide": every element as 8 bytes, its first 4 turned round, with the address of `state`
 * as proof that it came through. */
static int state, converted;

static int
wide_extent(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
	CHECK(extra == &state && type == MPI_INT);
	*extent = 8;
	return MPI_SUCCESS;
}

static void
turn(unsigned char *to, const unsigned char *from)
{
	for (int i = 0; i < 4; i++)
		to[i] = from[3 - i];
}

/* Elements of MPI_INT, or of a type of two with a hole of one between. */
static int *
element(void *buf, MPI_Datatype type, MPI_Count i)
{
	return (int *)buf + (type == MPI_INT ? i : i / 2 * 4 + i % 2 * 2);
}

static int
wide_read(void *buf, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
	MPI_Count n = type == MPI_INT ? count : 2 * count;

	CHECK(extra == &state && position == 0);
	for (MPI_Count i = 0; i < n; i++)
		turn((unsigned char *)element(buf, type, i), (unsigned char *)file + 8 * i);
	converted += (int)n;
	return MPI_SUCCESS;
}

static int
wide_write(void *buf, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
	MPI_Count n = type == MPI_INT ? count : 2 * count;

	CHECK(extra == &state && position == 0);
	memset(file, 0xaa, (size_t)n * 8);
	for (MPI_Count i = 0; i < n; i++)
		turn((unsigned char *)file + 8 * i, (unsigned char *)element(buf, type, i));
	return MPI_SUCCESS;
}

static int
wide_read_c(void *buf, MPI_Datatype type, MPI_Count count, void *file, MPI_Offset position,
	    void *extra)
{
	return wide_read(buf, type, (int)count, file, position, extra);
}

static int
wide_write_c(void *buf, MPI_Datatype type, MPI_Count count, void *file, MPI_Offset position,
	     void *extra)
{
	return wide_write(buf, type, (int)count, file, position, extra);
}

static int
failing(void *buf, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
	(void)buf, (void)type, (void)count, (void)file, (void)position, (void)extra;
	return MPI_ERR_OTHER;
}

static void
user_datarep(const char *name)
{
	MPI_File f = fresh(NEW);
	int v[8] = {1, -1, 0x10203, -1, 5, -1, 7, -1}, back[8], n;
	unsigned char raw[8];
	MPI_Datatype t, holes;
	MPI_Offset at;
	MPI_Status st;

	MPI_Type_vector(2, 1, 2, MPI_INT, &t);
	MPI_Type_create_resized(t, 0, 16, &holes);
	MPI_Type_commit(&holes);
	MPI_Type_free(&t);
	MPI_Type_vector(4, 1, check_size, MPI_INT, &t);
	MPI_Type_commit(&t);
	OK(MPI_File_set_view(f, 8 * check_rank, MPI_INT, t, name, MPI_INFO_NULL));
	OK(MPI_File_write_all(f, v, 2, holes, &st));
	MPI_Get_elements(&st, holes, &n);
	CHECK(n == 4);
	OK(MPI_File_get_size(f, &at));
	converted = 0;
	memset(back, 0, sizeof(back));
	OK(MPI_File_read_at_all(f, 0, back, 2, holes, &st));
	CHECK(converted == 4 && back[0] == 1 && back[2] == 0x10203 && back[6] == 7 && back[1] == 0);
	OK(MPI_File_read_at(f, 1, back, 1, MPI_INT, &st));
	CHECK(back[0] == 0x10203);
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
	OK(MPI_File_read_at(f, 8 * (check_size + check_rank), raw, 8, MPI_BYTE, &st));
	CHECK(memcmp(raw, "\0\1\2\3\xaa\xaa\xaa\xaa", 8) == 0);
	/* the file ends in the second half of an element with holes */
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_set_size(f, 8 * (2 * check_size + check_size) + 8));
	OK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, name, MPI_INFO_NULL));
	memset(back, 0, sizeof(back));
	OK(MPI_File_read_at(f, 3 * check_size - 2, back, 2, holes, &st));
	MPI_Get_elements(&st, holes, &n);
	CHECKF(n == 3, "%d elements", n);
	CHECK(back[4] == 7 && back[6] == 0);
	MPI_Type_free(&t);
	MPI_Type_free(&holes);
	OK(MPI_File_close(&f));
}

static void
datareps(void)
{
	MPI_File f;
	int v = 3;

	OK(MPI_Register_datarep("wide", wide_read, wide_write, wide_extent, &state));
	OK(MPI_Register_datarep_c("wide c", wide_read_c, wide_write_c, wide_extent, &state));
	OK(MPI_Register_datarep("fails", failing, failing, wide_extent, &state));
	WANT(MPI_ERR_DUP_DATAREP,
	     MPI_Register_datarep("wide", wide_read, wide_write, wide_extent, &state));
	WANT(MPI_ERR_DUP_DATAREP,
	     MPI_Register_datarep("native", wide_read, wide_write, wide_extent, &state));
	WANT(MPI_ERR_ARG, MPI_Register_datarep("", wide_read, wide_write, wide_extent, &state));
	user_datarep("wide");
	user_datarep("wide c");
	f = fresh(NEW);
	OK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "fails", MPI_INFO_NULL));
	WANT(MPI_ERR_CONVERSION, MPI_File_write_all(f, &v, 1, MPI_INT, MPI_STATUS_IGNORE));
	OK(MPI_File_close(&f));
}

/* ---- consistency, sizes, overlap */

/* All write the same pieces, at once: one of them wins everywhere. */
static void
atomicity(void)
{
	enum { PIECES = 200, LEN = 64 };
	static unsigned char mine[PIECES * LEN], got[PIECES * LEN];
	MPI_File f = fresh(NEW);
	MPI_Datatype t;
	int flag;

	MPI_Type_vector(PIECES, LEN, 2 * LEN, MPI_BYTE, &t);
	MPI_Type_commit(&t);
	OK(MPI_File_set_atomicity(f, 1));
	OK(MPI_File_get_atomicity(f, &flag));
	CHECK(flag);
	OK(MPI_File_set_view(f, 0, MPI_BYTE, t, "native", MPI_INFO_NULL));
	for (int i = 0; i < 10; i++) {
		memset(mine, check_rank * 16 + i, sizeof(mine));
		MPI_Barrier(MPI_COMM_WORLD);
		if (i % 2)
			OK(MPI_File_write_at_all(f, 0, mine, sizeof(mine), MPI_BYTE,
						 MPI_STATUS_IGNORE));
		else
			OK(MPI_File_write_at(f, 0, mine, sizeof(mine), MPI_BYTE,
					     MPI_STATUS_IGNORE));
		MPI_Barrier(MPI_COMM_WORLD);
		OK(MPI_File_read_at(f, 0, got, sizeof(got), MPI_BYTE, MPI_STATUS_IGNORE));
		CHECK(got[0] % 16 == i && memcmp(got, got + 1, sizeof(got) - 1) == 0);
	}
	MPI_Type_free(&t);
	OK(MPI_File_close(&f));
}

static void
large(void)
{
	const MPI_Offset far = INT64_C(5) << 30;
	MPI_File f = fresh(NEW | MPI_MODE_DELETE_ON_CLOSE);
	MPI_Datatype t, still;
	MPI_Offset size;
	MPI_Status st;
	MPI_Count n;
	int v = check_rank + 1, got = 0;

	OK(MPI_File_write_at_all(f, far + 4 * check_rank, &v, 1, MPI_INT, &st));
	OK(MPI_File_read_at(f, far + 4 * check_rank, &got, 1, MPI_INT, &st));
	CHECK(got == v);
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_get_size(f, &size));
	CHECK(size == far + 4 * check_size);
	/* pieces 3 GiB apart */
	MPI_Type_create_hvector(2, 4, INT64_C(3) << 30, MPI_BYTE, &t);
	MPI_Type_commit(&t);
	OK(MPI_File_set_view(f, 4 * check_rank, MPI_BYTE, t, "native", MPI_INFO_NULL));
	OK(MPI_File_write_all(f, (int[]){v, -v}, 2, MPI_INT, &st));
	OK(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
	OK(MPI_File_read_at_all(f, (INT64_C(3) << 30) + 4 * check_rank, &got, 1, MPI_INT, &st));
	CHECK(got == -v);
	/* more than 4 G elements, all in one place of memory; the file has a few of them */
	MPI_Type_create_resized(MPI_BYTE, 0, 0, &still);
	MPI_Type_commit(&still);
	OK(MPI_File_read_at_c(f, size - 4, &got, INT64_C(5) << 30, still, &st));
	MPI_Get_count_c(&st, MPI_BYTE, &n);
	CHECK(n == 4);
	MPI_Type_free(&still);
	MPI_Type_free(&t);
	OK(MPI_File_close(&f));
}

/* Non-blocking collectives wait for nobody, and several may be under way. */
static void
overlap(void)
{
	enum { N = 5000, CALLS = 4 };
	static int v[CALLS][N], got[CALLS][N];
	MPI_File f = fresh(NEW);
	MPI_Datatype t;
	MPI_Request r[CALLS];
	MPI_Status st[CALLS];
	int token = 0, n;

	MPI_Type_create_resized(MPI_INT, 0, 4 * (MPI_Aint)check_size, &t);
	MPI_Type_commit(&t);
	OK(MPI_File_set_view(f, 4 * check_rank, MPI_INT, t, "native", MPI_INFO_NULL));
	for (int c = 0; c < CALLS; c++)
		for (int i = 0; i < N; i++)
			v[c][i] = (c * N + i) * check_size + check_rank;
	/* a chain: each begins when the one before has begun and said so */
	if (check_rank > 0)
		MPI_Recv(&token, 1, MPI_INT, check_rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	OK(MPI_File_iwrite_all(f, v[0], N, MPI_INT, &r[0]));
	if (check_rank + 1 < check_size)
		MPI_Send(&token, 1, MPI_INT, check_rank + 1, 0, MPI_COMM_WORLD);
	OK(MPI_File_iwrite_all(f, v[1], N, MPI_INT, &r[1]));
	MPI_Barrier(MPI_COMM_WORLD);
	for (int c = 2; c < CALLS; c++)
		OK(MPI_File_iwrite_at_all(f, (MPI_Offset)c * N, v[c], N, MPI_INT, &r[c]));
	OK(MPI_Waitall(CALLS, r, st));
	for (int c = 0; c < CALLS; c++) {
		MPI_Get_count(&st[c], MPI_INT, &n);
		CHECK(n == N);
		OK(MPI_File_iread_at_all(f, (MPI_Offset)c * N, got[c], N, MPI_INT, &r[c]));
	}
	OK(MPI_Waitall(CALLS, r, st));
	for (int c = 0; c < CALLS; c++)
		CHECKF(memcmp(v[c], got[c], sizeof(v[c])) == 0, "call %d", c);
	OK(MPI_File_iwrite_at_all(f, 0, v[0], N, MPI_INT, &r[0]));
	MPI_Request_free(&r[0]); /* it ends by itself, before the file is closed */
	MPI_Type_free(&t);
	OK(MPI_File_close(&f));
}

int
main(int argc, char **argv)
{
	const char *dir = getenv("TMPDIR");

	start(&argc, &argv);
	snprintf(path, sizeof(path), "%s/libmpi-io-files-%d", dir ? dir : "/tmp", (int)getpid());
	MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD);
	opening();
	unseen();
	modes();
	handlers();
	no_space();
	queries();
	hints();
	shared();
	external32();
	datareps();
	atomicity();
	large();
	overlap();
	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank == 0)
		OK(MPI_File_delete(path, MPI_INFO_NULL));
	return finish();
}
