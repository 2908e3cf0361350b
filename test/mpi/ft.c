/* SPDX-License-Identifier: BSD-2-Clause */
/* Failures as errors: mpi-ext.h.  Without a death what needs none; under mpirun --keep-going the
 * last rank dies, and the others see what that makes of their calls. */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>

#if !OMPI_HAVE_MPI_EXT_FTMPI || !OMPI_HAVE_MPIX_COMM_GET_FAILED || \
	!OMPI_HAVE_MPIX_COMM_ACK_FAILED || !OMPI_HAVE_MPIX_COMM_ISHRINK
#error programs for Open MPI ask for these
#endif

/* As a tool does, which puts its own function in the place of the library's. */
static int asked_revoked;

int
MPIX_Comm_is_revoked(MPI_Comm comm, int *flag)
{
	asked_revoked++;
	return PMPIX_Comm_is_revoked(comm, flag);
}

static void
no_failures(MPI_Comm comm)
{
	MPI_Group g;
	int n, flag;

	MPIX_Comm_get_failed(comm, &g);
	MPI_Group_size(g, &n);
	CHECK(n == 0);
	MPI_Group_free(&g);
	MPI_Comm_ack_failed(comm, 5, &n);
	CHECK(n == 0);
	asked_revoked = 0;
	CHECK(MPIX_Comm_is_revoked(comm, &flag) == MPI_SUCCESS && !flag && asked_revoked == 1);
	int *survives = NULL;
	MPI_Comm_get_attr(comm, MPIX_FT, &survives, &flag);
	CHECK(flag && *survives == (getenv("LIBMPI_KEEP_GOING") != NULL));
}

/* The AND over all, and over the other side of two. */
static void
agreeing(void)
{
	int flag = ~(1 << check_rank), all = ~0;
	MPI_Request r[3];
	int f[3] = {1, check_rank != 0, 7};

	for (int i = 0; i < check_size; i++)
		all &= ~(1 << i);
	CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag) == MPI_SUCCESS && flag == all);
	/* Several at once, each its own. */
	for (int i = 0; i < 3; i++)
		CHECK(MPIX_Comm_iagree(MPI_COMM_WORLD, &f[i], &r[i]) == MPI_SUCCESS);
	CHECK(MPI_Waitall(3, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
	CHECK(f[0] == 1 && f[1] == 0 && f[2] == 7);
}

/* Two sides, all even and all odd ranks. */
static void
between_two(void)
{
	MPI_Comm half, inter, less;
	int color = check_rank % 2, n;

	if (check_size < 2)
		return;
	MPI_Comm_split(MPI_COMM_WORLD, color, 0, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - color, 3, &inter);
	MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
	int flag = color ? 6 : 3;
	CHECK(MPIX_Comm_agree(inter, &flag) == MPI_SUCCESS && flag == (color ? 3 : 6));
	CHECK(MPIX_Comm_shrink(inter, &less) == MPI_SUCCESS);
	MPI_Comm_remote_size(less, &n);
	CHECK(n == (check_size + color) / 2);
	MPI_Barrier(less);
	MPI_Comm_free(&less);
	/* Revoked by one: also what is inside a side. */
	if (check_rank == 0)
		MPIX_Comm_revoke(inter);
	int rc;
	do
		rc = MPI_Barrier(inter);
	while (rc == MPI_SUCCESS);
	CHECK(check_class(rc) == MPIX_ERR_REVOKED);
	CHECK(MPIX_Comm_shrink(inter, &less) == MPI_SUCCESS);
	MPI_Barrier(less);
	MPI_Comm_free(&less);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

/* One revokes; whatever the others wait for ends. */
static void
revoking(void)
{
	MPI_Comm comm, next;
	MPI_Request r[2];
	MPI_Status st[2];
	int x = 0, flag;
	static char big[1 << 20];

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	int to = (check_rank + 1) % check_size;
	MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 77, comm, &r[0]);
	MPI_Isend(big, sizeof big, MPI_CHAR, to, 78, comm, &r[1]);
	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank == check_size - 1)
		CHECK(MPI_Comm_revoke(comm) == MPI_SUCCESS);
	MPI_Waitall(2, r, st);
	CHECK(check_class(st[0].MPI_ERROR) == MPIX_ERR_REVOKED);
	WANT(MPIX_ERR_REVOKED, MPI_Send(&x, 1, MPI_INT, to, 1, comm));
	WANT(MPIX_ERR_REVOKED, MPI_Recv(&x, 1, MPI_INT, to, 1, comm, MPI_STATUS_IGNORE));
	WANT(MPIX_ERR_REVOKED, MPI_Probe(to, 1, comm, MPI_STATUS_IGNORE));
	WANT(MPIX_ERR_REVOKED, MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 1, comm));
	WANT(MPIX_ERR_REVOKED, MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 1, comm, MPI_STATUS_IGNORE));
	WANT(MPIX_ERR_REVOKED, MPI_Barrier(comm));
	MPI_Comm_is_revoked(comm, &flag);
	CHECK(flag);
	CHECK(MPIX_Comm_ishrink(comm, &next, &r[0]) == MPI_SUCCESS);
	CHECK(MPI_Wait(&r[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
	CHECK(MPI_Barrier(next) == MPI_SUCCESS);
	no_failures(next);
	MPI_Comm_free(&next);
	MPI_Comm_free(&comm);
}

/* Windows and a file of all, made while all live.  The last one dies with the lock of rank 0's
 * part. */
static struct shared {
	MPI_Win locked, fenced, posted;
	int *part;
	MPI_File file;
} s;

static void
share(void)
{
	int last = check_size - 1;
	MPI_Group all, one;

	MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &s.part,
			 &s.locked);
	MPI_Win_create(s.part, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &s.fenced);
	MPI_Win_create(s.part, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &s.posted);
	MPI_Win_set_errhandler(s.locked, MPI_ERRORS_RETURN);
	MPI_Win_set_errhandler(s.fenced, MPI_ERRORS_RETURN);
	MPI_Win_set_errhandler(s.posted, MPI_ERRORS_RETURN);
	CHECK(MPI_File_open(MPI_COMM_WORLD, "ft.shared",
			    MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
			    MPI_INFO_NULL, &s.file) == MPI_SUCCESS);
	CHECK(MPI_Win_fence(0, s.fenced) == MPI_SUCCESS);
	MPI_Win_get_group(s.posted, &all);
	MPI_Group_incl(all, 1, &last, &one);
	if (check_rank != last)
		CHECK(MPI_Win_post(one, 0, s.posted) == MPI_SUCCESS);
	else
		CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, s.locked) == MPI_SUCCESS);
	MPI_Group_free(&one);
	MPI_Group_free(&all);
}

static void
windows_after_death(void)
{
	int x = 1, rc;
	MPI_Request r = MPI_REQUEST_NULL;

	/* It was held by the dead: granted, or refused when the death is known. */
	rc = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, s.locked);
	CHECK(check_class(rc) == MPIX_ERR_PROC_FAILED);
	WANT(MPIX_ERR_PROC_FAILED, MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, s.locked));
	WANT(MPIX_ERR_PROC_FAILED,
	     MPI_Rget(&x, 1, MPI_INT, check_size - 1, 0, 1, MPI_INT, s.locked, &r));
	WANT(MPIX_ERR_PROC_FAILED, MPI_Win_lock_all(0, s.locked));
	WANT(MPIX_ERR_PROC_FAILED, MPI_Win_wait(s.posted));
	WANT(MPIX_ERR_PROC_FAILED, MPI_Win_fence(0, s.fenced));
	/* Freeing ends, and tells all. */
	WANT(MPIX_ERR_PROC_FAILED, MPI_Win_free(&s.posted));
	WANT(MPIX_ERR_PROC_FAILED, MPI_Win_free(&s.fenced));
	WANT(MPIX_ERR_PROC_FAILED, MPI_Win_free(&s.locked));
	CHECK(s.locked == MPI_WIN_NULL);
}

static void
files_after_death(void)
{
	int x = 17, y = 0;
	MPI_Status st;
	MPI_Request r;

	/* Together no more; alone as ever. */
	WANT(MPIX_ERR_PROC_FAILED,
	     MPI_File_write_at_all(s.file, 4 * check_rank, &x, 1, MPI_INT, &st));
	WANT(MPIX_ERR_PROC_FAILED, MPI_File_set_size(s.file, 400));
	if (MPI_File_iwrite_at_all(s.file, 0, &x, 1, MPI_INT, &r) == MPI_SUCCESS)
		CHECK(MPI_Wait(&r, &st) != MPI_SUCCESS);
	CHECK(MPI_File_write_at(s.file, 4 * check_rank, &x, 1, MPI_INT, &st) == MPI_SUCCESS);
	CHECK(MPI_File_read_at(s.file, 4 * check_rank, &y, 1, MPI_INT, &st) == MPI_SUCCESS &&
	      y == 17);
	WANT(MPIX_ERR_PROC_FAILED, MPI_File_close(&s.file));
	CHECK(s.file == MPI_FILE_NULL);
}

/* Collective calls are over in all processes, also in those that wait for the living: here for
 * rank 0, which stays away.  One of them was begun before the death. */
static MPI_Comm begun;
static MPI_Request begun_call[2];

static void
begin_collectives(void)
{
	static char big[1 << 20];
	static int small;

	MPI_Comm_dup(MPI_COMM_WORLD, &begun);
	MPI_Comm_set_errhandler(begun, MPI_ERRORS_RETURN);
	if (check_rank == 0)
		return;
	MPI_Ibcast(&small, 1, MPI_INT, 0, begun, &begun_call[0]);
	MPI_Ibcast(big, sizeof big, MPI_CHAR, 0, begun, &begun_call[1]);
}

static void
collectives_after_death(void)
{
	int x = 0;

	if (check_rank == 0)
		return;
	WANT(MPIX_ERR_PROC_FAILED, MPI_Bcast(&x, 1, MPI_INT, 0, begun));
	WANT(MPIX_ERR_PROC_FAILED, MPI_Wait(&begun_call[0], MPI_STATUS_IGNORE));
	WANT(MPIX_ERR_PROC_FAILED, MPI_Wait(&begun_call[1], MPI_STATUS_IGNORE));
	CHECK(check_class(MPI_Bcast(&x, 1, MPI_INT, 0, begun)) == MPIX_ERR_PROC_FAILED);
}

/* A program's own error handler mends: rank 0 waits for the dead one and revokes, the others wait
 * for rank 0.  All shrink in the handler and go on with what it has made. */
static MPI_Comm mended;
static int mended_class;

static void
mend_in_handler(MPI_Comm *comm, int *code, ...)
{
	int old, all[64] = {-1}, n;

	mended_class = check_class(*code);
	MPI_Comm_rank(*comm, &old);
	if (mended_class == MPIX_ERR_PROC_FAILED)
		MPIX_Comm_revoke(*comm);
	CHECK(MPIX_Comm_shrink(*comm, &mended) == MPI_SUCCESS);
	MPI_Comm_size(mended, &n);
	CHECK(MPI_Gather(&old, 1, MPI_INT, all, 1, MPI_INT, 0, mended) == MPI_SUCCESS);
	for (int i = 0; check_rank == 0 && i < n && i < 64; i++)
		CHECK(all[i] == i);
}

static MPI_Comm
with_handler(MPI_Comm comm)
{
	MPI_Errhandler mend;
	MPI_Comm own;

	MPI_Comm_dup(comm, &own);
	MPI_Comm_create_errhandler(mend_in_handler, &mend);
	MPI_Comm_set_errhandler(own, mend);
	MPI_Errhandler_free(&mend);
	return own;
}

static void
mend_after_death(MPI_Comm own)
{
	int from = check_rank == 0 ? check_size - 1 : 0, x = 1, sum = 0;
	int class = check_rank == 0 ? MPIX_ERR_PROC_FAILED : MPIX_ERR_REVOKED;

	WANT(class, MPI_Recv(&x, 1, MPI_INT, from, 4, own, MPI_STATUS_IGNORE));
	CHECK(mended_class == class);
	CHECK(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, mended) == MPI_SUCCESS);
	CHECK(sum == check_size - 1);
	MPI_Comm_free(&mended);
	MPI_Comm_free(&own);
}

/* The last one is no more. */
static void
after_death(void)
{
	int dead = check_size - 1, x = 1, y = 0, n, flag, rc;
	MPI_Comm world = MPI_COMM_WORLD, own = with_handler(world), less;
	MPI_Request any, r;
	MPI_Status st;
	MPI_Group g;

	begin_collectives();
	MPI_Irecv(&y, 1, MPI_INT, MPI_ANY_SOURCE, 5, world, &any);
	MPI_Irecv(&x, 1, MPI_INT, dead, 6, world, &r);
	share();
	MPI_Barrier(world);
	if (check_rank == dead)
		raise(SIGKILL);
	collectives_after_death();
	MPI_Comm_free(&begun);
	WANT(MPIX_ERR_PROC_FAILED, MPI_Wait(&r, &st));
	mend_after_death(own);
	windows_after_death();
	files_after_death();
	WANT(MPIX_ERR_PROC_FAILED, MPI_Send(&x, 1, MPI_INT, dead, 1, world));
	WANT(MPIX_ERR_PROC_FAILED, MPI_Recv(&x, 1, MPI_INT, dead, 1, world, &st));
	WANT(MPIX_ERR_PROC_FAILED, MPI_Probe(dead, 1, world, &st));
	/* From any source: pending, until it is acknowledged. */
	WANT(MPIX_ERR_PROC_FAILED_PENDING, MPI_Wait(&any, &st));
	CHECK(any != MPI_REQUEST_NULL);
	int at;
	CHECK(MPI_Request_get_status(any, &flag, &st) == MPI_SUCCESS && !flag);
	CHECK(MPI_Request_get_status_any(1, &any, &at, &flag, &st) == MPI_SUCCESS && !flag);
	CHECK(MPI_Request_get_status_all(1, &any, &flag, &st) == MPI_SUCCESS && !flag);
	CHECK(MPI_Request_get_status_some(1, &any, &n, &at, &st) == MPI_SUCCESS && n == 0);
	WANT(MPIX_ERR_PROC_FAILED, MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, &st));
	MPIX_Comm_failure_get_acked(world, &g);
	MPI_Group_size(g, &n);
	CHECK(n == 0);
	MPI_Group_free(&g);
	/* Not acknowledged by all: the same error for all. */
	flag = 1;
	if (check_rank == 0)
		MPIX_Comm_failure_ack(world);
	if (check_size > 2) {
		WANT(MPIX_ERR_PROC_FAILED, MPIX_Comm_agree(world, &flag));
		CHECK(flag == 1);
	}
	MPIX_Comm_failure_ack(world);
	MPIX_Comm_failure_get_acked(world, &g);
	MPI_Group_size(g, &n);
	CHECK(n == 1);
	MPI_Group_free(&g);
	CHECK(MPIX_Comm_agree(world, &flag) == MPI_SUCCESS);
	/* The living go on with each other. */
	int to = (check_rank + 1) % dead;
	x = 17;
	CHECK(MPI_Send(&x, 1, MPI_INT, to, 5, world) == MPI_SUCCESS);
	CHECK(MPI_Wait(&any, &st) == MPI_SUCCESS && y == 17);
	do
		rc = MPI_Barrier(world);
	while (rc == MPI_SUCCESS);
	CHECK(check_class(rc) == MPIX_ERR_PROC_FAILED);
	CHECK(MPIX_Comm_shrink(world, &less) == MPI_SUCCESS);
	MPI_Comm_size(less, &n);
	CHECK(n == dead);
	x = 1;
	CHECK(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, less) == MPI_SUCCESS && y == dead);
	int sum = 0, mine = (int)check_failed;
	MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, less);
	if (check_rank == 0)
		printf("%s: %ld checks, %d failed\n", sum ? "FAIL" : "ok", check_done, sum);
	MPI_Comm_free(&less);
}

/* MPI_ERRORS_ARE_FATAL: the text names the call and the dead (test/run-mpi looks). */
static void
fatal_death(void)
{
	int x = 0;

	if (check_rank == check_size - 1)
		raise(SIGKILL);
	MPI_Recv(&x, 1, MPI_INT, check_size - 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	if (argc > 1) {
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
		fatal_death();
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	no_failures(MPI_COMM_WORLD);
	agreeing();
	between_two();
	revoking();
	const char *survive = getenv("LIBMPI_KEEP_GOING");
	if (!survive || check_size < 2)
		return finish();
	after_death();
	MPI_Finalize();
	return check_failed != 0;
}
