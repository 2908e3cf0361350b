/* SPDX-License-Identifier: BSD-2-Clause */
/* survivor: a solver that goes on when ranks die.
 *
 *     mpirun --keep-going -n 8 ./survivor [STEPS [POINTS]]
 *
 * Heat in a rod, by implicit steps: each solves a linear system by conjugate gradients, the rod cut
 * in as many pieces as there are ranks.  A step counts when all agree that it went well
 * (MPIX_Comm_agree).  Else they revoke the communicator, so that nobody is left waiting, shrink it
 * to those that live, cut the rod anew and do the step again: all keep the last good state.  In the
 * end rank 0 computes all alone and compares.  Kill ranks while it runs: the result is the same. */
#include <math.h>
#include <mpi-ext.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm comm;
static int rank, size, points;
static int first, count; /* of my piece */
static double *u;	 /* [points + 2] the last good state, on all ranks */

/* Everything that MPI says must be heeded: the first error ends the step. */
#define TRY(call)                       \
	do {                            \
		int rc_ = (call);       \
		if (rc_ != MPI_SUCCESS) \
			return rc_;     \
	} while (0)

static void *
numbers(int n)
{
	void *p = calloc((size_t)n, sizeof(double));

	if (!p) {
		fprintf(stderr, "survivor: out of memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return p;
}

static int
first_of(int r)
{
	return (int)((long long)points * r / size);
}

static void
cut(void)
{
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	first = first_of(rank);
	count = first_of(rank + 1) - first;
}

/* y = A x; x has a neighbour's point at both ends. */
static int
multiply(double *x, double *y)
{
	int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
	int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;

	x[0] = x[count + 1] = 0;
	TRY(MPI_Sendrecv(x + 1, 1, MPI_DOUBLE, left, 1, x + count + 1, 1, MPI_DOUBLE, right, 1,
			 comm, MPI_STATUS_IGNORE));
	TRY(MPI_Sendrecv(x + count, 1, MPI_DOUBLE, right, 2, x, 1, MPI_DOUBLE, left, 2, comm,
			 MPI_STATUS_IGNORE));
	for (int i = 1; i <= count; i++)
		y[i] = 3 * x[i] - x[i - 1] - x[i + 1];
	return MPI_SUCCESS;
}

static int
dot(const double *a, const double *b, double *sum)
{
	double mine = 0;

	for (int i = 1; i <= count; i++)
		mine += a[i] * b[i];
	return MPI_Allreduce(&mine, sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}

/* A x = b by conjugate gradients; work: three vectors like x. */
static int
solve(double *x, const double *b, double *work[3])
{
	double *r = work[0], *p = work[1], *q = work[2], old, now, pq;

	TRY(multiply(x, q));
	for (int i = 1; i <= count; i++)
		p[i] = r[i] = b[i] - q[i];
	TRY(dot(r, r, &old));
	for (int k = 0; k < 200 && old > 1e-24; k++) {
		TRY(multiply(p, q));
		TRY(dot(p, q, &pq));
		for (int i = 1; i <= count; i++) {
			x[i] += old / pq * p[i];
			r[i] -= old / pq * q[i];
		}
		TRY(dot(r, r, &now));
		for (int i = 1; i <= count; i++)
			p[i] = r[i] + now / old * p[i];
		old = now;
	}
	return MPI_SUCCESS;
}

/* One step; next becomes the whole rod. */
static int
step(double *next, double *x, double *work[3])
{
	int *counts = numbers(size), *firsts = numbers(size);

	for (int r = 0; r < size; r++) {
		firsts[r] = first_of(r);
		counts[r] = first_of(r + 1) - firsts[r];
	}
	memcpy(x + 1, u + 1 + first, (size_t)count * sizeof(double));
	int rc = solve(x, u + first, work);
	if (rc == MPI_SUCCESS)
		rc = MPI_Allgatherv(x + 1, count, MPI_DOUBLE, next + 1, counts, firsts, MPI_DOUBLE,
				    comm);
	free(counts);
	free(firsts);
	return rc;
}

/* Those that live go on without the others. */
static void
shrink(void)
{
	MPI_Comm smaller;
	int was = size;

	MPIX_Comm_revoke(comm);
	if (MPIX_Comm_shrink(comm, &smaller) != MPI_SUCCESS) {
		fprintf(stderr, "survivor: cannot shrink\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	if (comm != MPI_COMM_WORLD)
		MPI_Comm_free(&comm);
	comm = smaller;
	cut();
	if (rank == 0)
		fprintf(stderr, "survivor: %d of %d ranks go on\n", size, was);
}

static void
begin(double *rod)
{
	memset(rod, 0, (size_t)(points + 2) * sizeof(double));
	for (int i = 1; i <= points; i++)
		rod[i] = sin(0.01 * i) + (i % 7 == 0);
}

/* The same alone; the largest difference. */
static double
check(int steps)
{
	double *rod = numbers(points + 2), *mine = u, worst = 0;
	double *x = numbers(points + 2), *work[3], *next = numbers(points + 2);

	for (int i = 0; i < 3; i++)
		work[i] = numbers(points + 2);
	comm = MPI_COMM_SELF;
	cut();
	begin(rod);
	u = rod;
	for (int s = 0; s < steps; s++) {
		step(next, x, work);
		memcpy(u + 1, next + 1, (size_t)points * sizeof(double));
	}
	for (int i = 1; i <= points; i++)
		worst = fmax(worst, fabs(rod[i] - mine[i]));
	u = mine;
	for (int i = 0; i < 3; i++)
		free(work[i]);
	free(x);
	free(next);
	free(rod);
	return worst;
}

int
main(int argc, char **argv)
{
	int steps, began;
	double *work[3], *x, *next;

	MPI_Init(&argc, &argv);
	steps = argc > 1 ? (int)strtoull(argv[1], NULL, 10) : 200;
	points = argc > 2 ? (int)strtoull(argv[2], NULL, 10) : 2000;
	comm = MPI_COMM_WORLD;
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN); /* what is made of it inherits it */
	cut();
	began = size;
	u = numbers(points + 2);
	x = numbers(points + 2);
	next = numbers(points + 2);
	for (int i = 0; i < 3; i++)
		work[i] = numbers(points + 2);
	begin(u);
	if (rank == 0)
		fprintf(stderr, "survivor: %d ranks begin\n", size);
	for (int s = 0; s < steps;) {
		int good = step(next, x, work) == MPI_SUCCESS;

		/* Who has failed in the step lets the others know before it agrees. */
		if (!good)
			MPIX_Comm_revoke(comm);
		if (MPIX_Comm_agree(comm, &good) == MPI_SUCCESS && good) {
			memcpy(u + 1, next + 1, (size_t)points * sizeof(double));
			s++;
		} else {
			shrink();
		}
	}
	/* Each says it, for any of them may yet die. */
	int me = rank, ended = size;
	double worst = check(steps);
	int failed = !(worst < 1e-9);
	printf("survivor: rank %d of %d: %d steps, %d ranks began; largest difference %.1e: %s\n",
	       me, ended, steps, began, worst, failed ? "WRONG" : "right");
	for (int i = 0; i < 3; i++)
		free(work[i]);
	free(x);
	free(next);
	free(u);
	MPI_Finalize();
	return failed;
}
