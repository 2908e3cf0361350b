/* SPDX-License-Identifier: BSD-2-Clause */
/* Wrong arguments come back as the right classes, through the right handler. */
#include "check.h"

static void
arguments(void)
{
	int v[4] = {0}, flag;
	MPI_Request r = MPI_REQUEST_NULL;
	MPI_Datatype t;
	MPI_Comm c;
	MPI_Group g;

	WANT(MPI_ERR_RANK, MPI_Send(v, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD));
	WANT(MPI_ERR_RANK, MPI_Send(v, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD));
	WANT(MPI_ERR_RANK, MPI_Irecv(v, 1, MPI_INT, -7, 0, MPI_COMM_WORLD, &r));
	WANT(MPI_ERR_TAG, MPI_Send(v, 1, MPI_INT, 0, -5, MPI_COMM_WORLD));
	WANT(MPI_ERR_COUNT, MPI_Send(v, -1, MPI_INT, 0, 0, MPI_COMM_WORLD));
	WANT(MPI_ERR_TYPE, MPI_Send(v, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD));
	WANT(MPI_ERR_COMM, MPI_Send(v, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
	WANT(MPI_ERR_BUFFER, MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
	MPI_Type_contiguous(2, MPI_INT, &t);
	WANT(MPI_ERR_TYPE, MPI_Send(v, 1, t, 0, 0, MPI_COMM_WORLD));
	MPI_Type_free(&t);
	WANT(MPI_ERR_OP, MPI_Allreduce(v, v + 1, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
	WANT(MPI_ERR_OP, MPI_Allreduce(v, v + 1, 1, MPI_FLOAT, MPI_BAND, MPI_COMM_WORLD));
	WANT(MPI_ERR_ROOT, MPI_Bcast(v, 1, MPI_INT, check_size, MPI_COMM_WORLD));
	WANT(MPI_ERR_BUFFER, MPI_Allreduce(v, v, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	WANT(MPI_ERR_ARG, MPI_Comm_split(MPI_COMM_WORLD, -3, 0, &c));
	WANT(MPI_ERR_COMM, MPI_Comm_free(&(MPI_Comm){MPI_COMM_WORLD}));
	WANT(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, v));
	MPI_Comm_group(MPI_COMM_WORLD, &g);
	v[0] = v[1] = 0;
	WANT(MPI_ERR_RANK, MPI_Group_incl(g, 2, v, &(MPI_Group){MPI_GROUP_NULL}));
	MPI_Group_free(&g);
	WANT(MPI_ERR_KEYVAL, MPI_Comm_get_attr(MPI_COMM_WORLD, 12345, v, &flag));
	WANT(MPI_ERR_TYPE, MPI_Type_free(&(MPI_Datatype){MPI_INT}));
	WANT(MPI_ERR_TYPE, MPI_Type_get_value_index(MPI_DATATYPE_NULL, MPI_INT, &t));
	WANT(MPI_ERR_TYPE, MPI_Type_get_value_index(MPI_INT, MPI_DATATYPE_NULL, &t));
	WANT(MPI_ERR_BUFFER, MPI_Bsend(v, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
	WANT(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(MPI_COMM_WORLD, v));
	WANT(MPI_ERR_OTHER, MPI_Comm_join(-1, &c)); /* no socket */
	WANT(MPI_ERR_BUFFER, MPI_Reduce_local(MPI_IN_PLACE, v, 1, MPI_INT, MPI_SUM));
	WANT(MPI_ERR_BUFFER, MPI_Reduce_local(v, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM));
	WANT(MPI_ERR_BUFFER, MPI_Reduce_local(v, v, 1, MPI_INT, MPI_SUM));
	WANT(MPI_ERR_BUFFER, MPI_Reduce_local(NULL, v, 1, MPI_INT, MPI_SUM));
}

/* Nothing to write the result to. */
static void
nulls(void)
{
	int v[4] = {0};
	MPI_Aint lb;
	MPI_Count wide;
	MPI_Group g;
	MPI_Request r = MPI_REQUEST_NULL;
	char text[MPI_MAX_ERROR_STRING];
	int len;

	MPI_Comm_group(MPI_COMM_WORLD, &g);
	WANT(MPI_ERR_ARG, MPI_Comm_size(MPI_COMM_WORLD, NULL));
	MPI_Error_string(MPI_Comm_size(MPI_COMM_WORLD, NULL), text, &len);
	CHECKF(strstr(text, "size is a null pointer"), "\"%s\"", text);
	WANT(MPI_ERR_ARG, MPI_Comm_dup(MPI_COMM_WORLD, NULL));
	WANT(MPI_ERR_ARG, MPI_Comm_free(NULL));
	WANT(MPI_ERR_ARG, MPI_Group_rank(g, NULL));
	WANT(MPI_ERR_ARG, MPI_Group_incl(g, 1, v, NULL));
	WANT(MPI_ERR_ARG, MPI_Group_translate_ranks(g, 1, v, g, NULL));
	WANT(MPI_ERR_ARG, MPI_Group_translate_ranks(g, 1, NULL, g, v));
	CHECK(MPI_Group_translate_ranks(g, 0, NULL, g, NULL) == MPI_SUCCESS);
	WANT(MPI_ERR_ARG, MPI_Type_contiguous(2, MPI_INT, NULL));
	WANT(MPI_ERR_ARG, MPI_Type_get_extent(MPI_INT, &lb, NULL));
	WANT(MPI_ERR_ARG, MPI_Type_size_c(MPI_INT, NULL));
	WANT(MPI_ERR_ARG, MPI_Type_get_extent_c(MPI_INT, NULL, &wide));
	WANT(MPI_ERR_ARG, MPI_Irecv(v, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL));
	WANT(MPI_ERR_ARG, MPI_Ibarrier(MPI_COMM_WORLD, NULL));
	WANT(MPI_ERR_ARG, MPI_Test(&r, NULL, MPI_STATUS_IGNORE));
	WANT(MPI_ERR_ARG, MPI_Wait(NULL, MPI_STATUS_IGNORE));
	WANT(MPI_ERR_ARG, MPI_Info_create(NULL));
	/* these may be */
	CHECK(MPI_Test(&r, v, MPI_STATUS_IGNORE) == MPI_SUCCESS);
	CHECK(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_SELF) == MPI_SUCCESS);
	MPI_Group_free(&g);
}

static void
truncation(void)
{
	int big[100] = {0}, small[11] = {0};
	MPI_Request r[2];
	MPI_Status st[2];
	char text[MPI_MAX_ERROR_STRING];
	int rc, len;

	small[10] = 77;
	MPI_Isend(big, 100, MPI_INT, check_rank, 1, MPI_COMM_WORLD, &r[0]);
	WANT(MPI_ERR_TRUNCATE, MPI_Recv(small, 10, MPI_INT, check_rank, 1, MPI_COMM_WORLD, &st[0]));
	CHECK(small[10] == 77 && st[0].MPI_SOURCE == check_rank);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	MPI_Irecv(small, 10, MPI_INT, check_rank, 2, MPI_COMM_WORLD, &r[0]);
	MPI_Isend(big, 100, MPI_INT, check_rank, 2, MPI_COMM_WORLD, &r[1]);
	rc = MPI_Waitall(2, r, st);
	CHECK(check_class(rc) == MPI_ERR_IN_STATUS);
	/* Its own words, then those of the first that failed, whole. */
	MPI_Error_string(rc, text, &len);
	CHECKF(strstr(text, "requests failed: ") && strstr(text, "of 400 bytes"), "\"%s\"", text);
	CHECK(check_class(st[0].MPI_ERROR) == MPI_ERR_TRUNCATE && st[1].MPI_ERROR == MPI_SUCCESS);
	CHECK(small[10] == 77);
}

static int called, called_code;
static MPI_Comm called_comm;

static void
handler(MPI_Comm *comm, int *code, ...)
{
	int n;

	called++;
	called_code = *code;
	called_comm = *comm;
	MPI_Comm_size(*comm, &n); /* handlers may call MPI */
}

static void
freeing_handler(MPI_Comm *comm, int *code, ...)
{
	handler(comm, code);
	MPI_Comm_free(comm);
}

/* A request is the last that knows of its communicator: errors are that one's all the same. */
static void
handler_of_freed(void)
{
	int two[2] = {1, 2}, one, before = called;
	MPI_Errhandler h;
	MPI_Request r[2];
	MPI_Comm dup;

	for (int i = 0; i < 2; i++) {
		MPI_Comm_dup(MPI_COMM_SELF, &dup);
		MPI_Comm_create_errhandler(i ? freeing_handler : handler, &h);
		MPI_Comm_set_errhandler(dup, h);
		MPI_Errhandler_free(&h);
		MPI_Irecv(&one, 1, MPI_INT, 0, 5, dup, &r[0]);
		MPI_Isend(two, 2, MPI_INT, 0, 5, dup, &r[1]);
		MPI_Wait(&r[1], MPI_STATUS_IGNORE);
		MPI_Comm_free(&dup);
		int rc = MPI_Wait(&r[0], MPI_STATUS_IGNORE);
		CHECK(r[0] == MPI_REQUEST_NULL && check_class(rc) == MPI_ERR_TRUNCATE);
		CHECK(called == before + 1 + i && check_class(called_code) == MPI_ERR_TRUNCATE);
	}
	/* Now it is gone: its handle, if it is nobody else's, is not valid. */
	CHECK(check_class(MPI_Comm_size(called_comm, &one)) == MPI_ERR_COMM);
}

/* Where a call says that an error is in a status, the handler is told that one, and is that of the
 * request that failed first; others may have failed on communicators with other handlers. */
static void
handler_of_several(void)
{
	int two[2] = {1, 2}, one[3], before = called;
	int index[6], n, rc;
	MPI_Comm dup, other;
	MPI_Errhandler h;
	MPI_Request r[6];
	MPI_Status st[6];

	MPI_Comm_dup(MPI_COMM_SELF, &dup);
	MPI_Comm_dup(MPI_COMM_SELF, &other);
	MPI_Comm_create_errhandler(handler, &h);
	MPI_Comm_set_errhandler(dup, h);
	MPI_Errhandler_free(&h);
	MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
	for (int how = 0; how < 4; how++) {
		int flag = 0;

		for (int i = 0; i < 3; i++) /* the second and third fail, by one comm each */
			MPI_Irecv(&one[i], 1, MPI_INT, 0, i, i < 2 ? dup : other, &r[i]);
		for (int i = 0; i < 3; i++)
			MPI_Isend(two, i ? 2 : 1, MPI_INT, 0, i, i < 2 ? dup : other, &r[3 + i]);
		if (how == 0)
			rc = MPI_Waitall(6, r, st);
		else if (how == 1)
			do
				rc = MPI_Testall(6, r, &flag, st);
			while (!flag);
		else if (how == 2)
			rc = MPI_Waitsome(6, r, &n, index, st);
		else
			rc = MPI_Testsome(6, r, &n, index, st);
		CHECK(check_class(rc) == MPI_ERR_IN_STATUS);
		CHECKF(called == before + 1 + how && called_comm == dup &&
			       check_class(called_code) == MPI_ERR_TRUNCATE,
		       "call %d: the handler was called %d times, told %d", how, called - before,
		       called_code);
		MPI_Waitall(6, r, MPI_STATUSES_IGNORE);
	}
	MPI_Comm_free(&dup);
	MPI_Comm_free(&other);
}

static void
handlers(void)
{
	MPI_Errhandler h, got;
	MPI_Comm dup;
	int class, code, len;
	char text[MPI_MAX_ERROR_STRING];

	MPI_Comm_create_errhandler(handler, &h);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Comm_set_errhandler(dup, h);
	MPI_Comm_get_errhandler(dup, &got);
	CHECK(got == h);
	MPI_Errhandler_free(&got);
	MPI_Errhandler_free(&h);
	CHECK(h == MPI_ERRHANDLER_NULL);
	MPI_Send(NULL, 0, MPI_INT, 99, 0, dup);
	CHECK(called == 1 && check_class(called_code) == MPI_ERR_RANK && called_comm == dup);
	MPI_Comm_call_errhandler(dup, MPI_ERR_OTHER);
	CHECK(called == 2 && called_code == MPI_ERR_OTHER);
	MPI_Comm_free(&dup);
	handler_of_freed();
	handler_of_several();
	MPI_Add_error_class(&class);
	MPI_Add_error_code(class, &code);
	MPI_Add_error_string(code, "out of cheese");
	MPI_Error_string(code, text, &len);
	CHECK(strcmp(text, "out of cheese") == 0 && check_class(code) == class);
	CHECK(class > MPI_ERR_LASTCODE);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	arguments();
	nulls();
	truncation();
	handlers();
	return finish();
}
