/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions before, beside and without MPI_COMM_WORLD; names that MPI-3 removed. */
#include "check.h"

/* A library's own communicator over all processes. */
static void
library(const char *level)
{
	MPI_Session s;
	MPI_Info info, used;
	MPI_Group all;
	MPI_Comm c;
	char value[64];
	int n, r, sum, flag, len = 0, *attr = NULL;

	MPI_Info_create(&info);
	MPI_Info_set(info, "thread_level", level);
	CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &s) == MPI_SUCCESS);
	MPI_Info_free(&info);
	MPI_Session_get_info(s, &used);
	MPI_Info_get(used, "thread_level", sizeof(value) - 1, value, &flag);
	CHECK(flag && strcmp(value, level) == 0);
	MPI_Info_free(&used);
	MPI_Session_get_num_psets(s, MPI_INFO_NULL, &n);
	CHECK(n == 2);
	MPI_Session_get_nth_pset(s, MPI_INFO_NULL, 0, &len, NULL);
	CHECK(len == (int)strlen("mpi://WORLD") + 1);
	CHECK(check_says(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, 0, &len, NULL), MPI_ERR_ARG,
			 "pset_name is a null pointer"));
	CHECK(check_says(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, 0, NULL, value), MPI_ERR_ARG,
			 "pset_len is a null pointer"));
	CHECK(MPI_Group_from_session_pset(s, "mpi://nobody", &all) == MPI_ERR_ARG);
	MPI_Group_from_session_pset(s, "mpi://world", &all);
	MPI_Session_get_pset_info(s, "mpi://WORLD", &info);
	MPI_Group_size(all, &n);
	MPI_Info_get(info, "mpi_size", sizeof(value) - 1, value, &flag);
	CHECK(flag && strtol(value, NULL, 10) == n);
	MPI_Info_free(&info);
	MPI_Comm_create_from_group(all, "test.library", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c);
	MPI_Group_free(&all);
	MPI_Comm_rank(c, &r);
	MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, c);
	CHECK(sum == n * (n - 1) / 2);
	/* of what is known about the environment only this hangs on it, and on its kin */
	MPI_Comm_get_attr(c, MPI_TAG_UB, &attr, &flag);
	CHECK(flag && *attr >= 32767);
	MPI_Comm_get_attr(c, MPI_IO, &attr, &flag);
	CHECK(!flag);
	MPI_Comm_get_attr(c, MPI_WTIME_IS_GLOBAL, &attr, &flag);
	CHECK(!flag);
	MPI_Comm_free(&c);
	CHECK(MPI_Session_finalize(&s) == MPI_SUCCESS && s == MPI_SESSION_NULL);
}

static int called;

/* Frees what it hangs on. */
static void
on_error(MPI_Session *s, int *code, ...)
{
	called += *code == MPI_ERR_OTHER;
	MPI_Session_finalize(s);
}

static void
handlers(void)
{
	MPI_Session s, same;
	MPI_Errhandler h, got;

	MPI_Session_create_errhandler(on_error, &h);
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
	MPI_Session_set_errhandler(s, h);
	MPI_Errhandler_free(&h);
	MPI_Session_get_errhandler(s, &got);
	MPI_Errhandler_free(&got);
	same = s;
	CHECK(MPI_Session_call_errhandler(s, MPI_ERR_OTHER) == MPI_SUCCESS && called == 1);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	CHECK(MPI_Session_finalize(&same) == MPI_ERR_SESSION); /* the handler did */
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void
groups_of_two(void)
{
	MPI_Group world, own, far;
	MPI_Comm inter;
	int r, other = check_rank ^ 1, in = -1;

	if (other >= check_size)
		return;
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &check_rank, &own);
	MPI_Group_incl(world, 1, &other, &far);
	MPI_Intercomm_create_from_groups(own, 0, far, 0, "test.pair", MPI_INFO_NULL,
					 MPI_ERRORS_ARE_FATAL, &inter);
	MPI_Comm_remote_size(inter, &r);
	MPI_Sendrecv(&check_rank, 1, MPI_INT, 0, 3, &in, 1, MPI_INT, 0, 3, inter,
		     MPI_STATUS_IGNORE);
	CHECK(r == 1 && in == other);
	MPI_Comm_free(&inter);
	MPI_Group_free(&own);
	MPI_Group_free(&far);
	MPI_Group_free(&world);
}

static void
removed_names(void)
{
	MPI_Datatype t;
	MPI_Aint a, lb, ub, extent, displs[2] = {0, 16};
	MPI_Comm d;
	int lens[2] = {1, 1};
	MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};

	MPI_Address(&a, &lb);
	CHECK(lb == (MPI_Aint)&a);
	MPI_Type_struct(2, lens, displs, types, &t);
	MPI_Type_lb(t, &lb);
	MPI_Type_ub(t, &ub);
	MPI_Type_extent(t, &extent);
	CHECK(lb == 0 && ub == 24 && extent == 24);
	CHECK(MPI_Type_f2c(MPI_Type_c2f(t)) == t);
	CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_INT)) == MPI_INT);
	MPI_Type_free(&t);
	MPI_Comm_dup(MPI_COMM_WORLD, &d);
	CHECK(MPI_Comm_f2c(MPI_Comm_c2f(d)) == d);
	MPI_Comm_free(&d);
}

/* Largest and smallest as close as can be, then the larger small ones. */
static void
balanced(void)
{
	static const struct {
		int n, k, want[5];
	} rows[] = {{12, 2, {4, 3}},
		    {5040, 3, {21, 16, 15}},
		    {19008, 3, {33, 24, 24}},
		    {216, 4, {6, 4, 3, 3}},
		    {98784, 5, {14, 14, 9, 8, 7}},
		    {7, 3, {7, 1, 1}},
		    {2147483647, 1, {2147483647}},
		    {1, 2, {1, 1}}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int dims[5] = {0};

		MPI_Dims_create(rows[i].n, rows[i].k, dims);
		CHECKF(memcmp(dims, rows[i].want, (size_t)rows[i].k * sizeof(int)) == 0,
		       "%d in %d dimensions: %d x %d x %d ...", rows[i].n, rows[i].k, dims[0],
		       dims[1], dims[2]);
	}
}

int
main(int argc, char **argv)
{
	int flag;

	library("MPI_THREAD_SINGLE");
	library("MPI_THREAD_SERIALIZED");
	MPI_Initialized(&flag);
	CHECK(!flag);
	start(&argc, &argv);
	library("MPI_THREAD_MULTIPLE");
	MPI_Initialized(&flag);
	CHECK(flag);
	handlers();
	groups_of_two();
	removed_names();
	balanced();
	return finish();
}
