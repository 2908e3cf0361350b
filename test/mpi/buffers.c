/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffers of buffered mode: of the process, of communicators, of sessions; waiting for what
 * is in them, at once or by a request.  Error classes and codes that come and go. */
#include "check.h"

#include <unistd.h>

enum { LEN = 50000 };

/* One message to the right neighbour, one from the left. */
static void
pass(MPI_Comm comm, int tag)
{
	int rank, size, *out = malloc(LEN * sizeof(int)), *in = malloc(LEN * sizeof(int)), bad = 0;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	for (int i = 0; i < LEN; i++)
		out[i] = rank + tag + i;
	CHECK(MPI_Bsend(out, LEN, MPI_INT, (rank + 1) % size, tag, comm) == MPI_SUCCESS);
	memset(out, 0, LEN * sizeof(int));
	MPI_Recv(in, LEN, MPI_INT, (rank + size - 1) % size, tag, comm, MPI_STATUS_IGNORE);
	for (int i = 0; i < LEN; i++)
		bad += in[i] != (rank + size - 1) % size + tag + i;
	CHECKF(bad == 0, "%d", bad);
	free(out);
	free(in);
}

/* The request is complete when what lay in the buffer is out, whatever comes later. */
static void
request_of(int (*iflush)(MPI_Request *), MPI_Comm comm)
{
	int rank, size, v[4] = {1, 2, 3, 4}, flag;
	MPI_Request r;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	CHECK(iflush(&r) == MPI_SUCCESS);
	MPI_Wait(&r, MPI_STATUS_IGNORE); /* nothing lies there */
	CHECK(r == MPI_REQUEST_NULL);
	for (int i = 0; i < 10; i++)
		MPI_Bsend(v, 4, MPI_INT, (rank + 1) % size, i, comm);
	iflush(&r);
	for (int i = 0; i < 10; i++)
		MPI_Recv(v, 4, MPI_INT, (rank + size - 1) % size, i, comm, MPI_STATUS_IGNORE);
	for (flag = 0; !flag;)
		MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
}

static MPI_Comm the_comm;
static MPI_Session the_session;

static int
of_process(MPI_Request *r)
{
	return MPI_Buffer_iflush(r);
}
static int
of_comm(MPI_Request *r)
{
	return MPI_Comm_iflush_buffer(the_comm, r);
}
static int
of_session(MPI_Request *r)
{
	return MPI_Session_iflush_buffer(the_session, r);
}

static void
process_and_comm(void)
{
	int size = 4 * (LEN * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
	void *a = malloc((size_t)size), *b = malloc((size_t)size), *got;
	MPI_Count wide;

	MPI_Buffer_attach(a, size);
	pass(MPI_COMM_WORLD, 1);
	request_of(of_process, MPI_COMM_WORLD);
	CHECK(MPI_Buffer_flush() == MPI_SUCCESS);
	MPI_Buffer_detach(&got, &size);
	CHECK(got == a);
	MPI_Comm_dup(MPI_COMM_WORLD, &the_comm);
	MPI_Comm_set_errhandler(the_comm, MPI_ERRORS_RETURN);
	CHECK(MPI_Bsend(a, 1, MPI_BYTE, 0, 0, the_comm) == MPI_ERR_BUFFER);
	MPI_Comm_attach_buffer_c(the_comm, b, size);
	pass(the_comm, 2);
	request_of(of_comm, the_comm);
	CHECK(MPI_Comm_flush_buffer(the_comm) == MPI_SUCCESS);
	MPI_Comm_detach_buffer_c(the_comm, &got, &wide);
	CHECK(got == b && wide == size);
	MPI_Comm_attach_buffer(the_comm, MPI_BUFFER_AUTOMATIC, 0);
	pass(the_comm, 3);
	MPI_Comm_detach_buffer(the_comm, &got, &size);
	CHECK(got == MPI_BUFFER_AUTOMATIC);
	MPI_Buffer_attach_c(a, wide);
	MPI_Buffer_detach_c(&got, &wide);
	MPI_Comm_free(&the_comm);
	free(a);
	free(b);
}

/* A communicator that goes takes its buffer along: whoever frees it may write to the memory. */
static void
left_behind(void)
{
	int size = LEN * (int)sizeof(int) + MPI_BSEND_OVERHEAD, rank, all, bad = 0;
	int *b = malloc((size_t)size), *out = malloc(LEN * sizeof(int)),
	    *in = malloc(LEN * sizeof(int));
	MPI_Request r;

	MPI_Comm_dup(MPI_COMM_WORLD, &the_comm);
	MPI_Comm_rank(the_comm, &rank);
	MPI_Comm_size(the_comm, &all);
	MPI_Comm_attach_buffer(the_comm, b, size);
	for (int i = 0; i < LEN; i++)
		out[i] = rank + i;
	MPI_Irecv(in, LEN, MPI_INT, (rank + all - 1) % all, 0, the_comm, &r);
	MPI_Bsend(out, LEN, MPI_INT, (rank + 1) % all, 0, the_comm);
	MPI_Comm_free(&the_comm);
	memset(b, 0xff, (size_t)size);
	usleep(20000); /* the neighbour has done so, too, before I take its message */
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	for (int i = 0; i < LEN; i++)
		bad += in[i] != (rank + all - 1) % all + i;
	CHECKF(bad == 0, "%d", bad);
	free(b);
	free(out);
	free(in);
}

static void
sessions(void)
{
	int size = 4 * (LEN * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
	void *a = malloc((size_t)size), *got;
	MPI_Group all, some;
	MPI_Comm half;
	MPI_Count wide;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &the_session);
	MPI_Group_from_session_pset(the_session, "mpi://WORLD", &all);
	MPI_Group_incl(all, check_size, (int[]){0, 1, 2, 3, 4, 5, 6, 7}, &some);
	MPI_Comm_create_from_group(some, "buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &the_comm);
	MPI_Comm_split(the_comm, check_rank % 2, 0, &half);
	CHECK(MPI_Bsend(a, 1, MPI_BYTE, 0, 0, the_comm) == MPI_ERR_BUFFER);
	CHECK(MPI_Session_attach_buffer(the_session, a, size) == MPI_SUCCESS);
	CHECK(MPI_Session_attach_buffer(the_session, a, size) == MPI_ERR_BUFFER);
	pass(the_comm, 4);
	pass(half, 5);
	request_of(of_session, half);
	CHECK(MPI_Session_flush_buffer(the_session) == MPI_SUCCESS);
	MPI_Session_detach_buffer(the_session, &got, &size);
	CHECK(got == a);
	CHECK(MPI_Bsend(a, 1, MPI_BYTE, 0, 0, half) == MPI_ERR_BUFFER);
	MPI_Session_attach_buffer_c(the_session, a, size);
	MPI_Session_detach_buffer_c(the_session, &got, &wide);
	CHECK(got == a && wide == size);
	/* it leaves with the session */
	MPI_Session_attach_buffer(the_session, a, size);
	pass(half, 6);
	MPI_Comm_free(&half);
	MPI_Comm_free(&the_comm);
	MPI_Group_free(&all);
	MPI_Group_free(&some);
	MPI_Session_finalize(&the_session);
	free(a);
}

static int
last_used(void)
{
	int *last, flag;

	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
	return *last;
}

static void
codes(void)
{
	char text[MPI_MAX_ERROR_STRING];
	int class, code, again, before = last_used(), len;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Add_error_class(&class);
	MPI_Add_error_code(class, &code);
	MPI_Add_error_string(code, "lost at sea");
	CHECK(last_used() == code);
	CHECK(MPI_Remove_error_string(class) != MPI_SUCCESS);
	CHECK(MPI_Remove_error_class(class) != MPI_SUCCESS); /* it has a code */
	CHECK(MPI_Remove_error_class(code) != MPI_SUCCESS);
	CHECK(MPI_Remove_error_code(class) != MPI_SUCCESS);
	CHECK(MPI_Remove_error_code(MPI_ERR_ARG) != MPI_SUCCESS);
	CHECK(MPI_Remove_error_class(MPI_ERR_ARG) != MPI_SUCCESS);
	CHECK(MPI_Remove_error_code(code) != MPI_SUCCESS); /* it has a string */
	CHECK(MPI_Remove_error_string(code) == MPI_SUCCESS);
	MPI_Error_string(code, text, &len);
	CHECK(len == 0 && text[0] == '\0');
	CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS);
	CHECK(MPI_Error_class(code, &again) != MPI_SUCCESS);
	CHECK(last_used() == class);
	MPI_Add_error_string(class, "lost");
	CHECK(MPI_Remove_error_class(class) != MPI_SUCCESS);
	MPI_Remove_error_string(class);
	CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS);
	CHECK(last_used() == before);
	MPI_Add_error_class(&again);
	CHECK(again == class);
	MPI_Remove_error_class(again);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	process_and_comm();
	left_behind();
	sessions();
	codes();
	return finish();
}
