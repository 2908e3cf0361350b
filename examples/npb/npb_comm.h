/* SPDX-License-Identifier: BSD-2-Clause */
/* npb_comm.h - all the communication of the NPB kernels here, over MPI or over MMP.
 *
 *   NPB_MMP    over libmmp (mmp.h); otherwise over MPI, whichever the compiler wrapper means
 *   NPB_P2P    MPI, but collectives are exchanges of pairs, as MMP has them: what a trace of such
 *              a run shows is the pattern that MMP carries (test/eval/mmp)
 *   NPB_PLANT  a bug on purpose: the last element of the data that come from another process is
 *              zero, those of npb_exchange() and npb_alltoall*().  Kernels that do not call
 *              such a run UNSUCCESSFUL do not verify what they got.
 *
 * One process has one thread; processes are a power of two.  What fails ends the whole job. */
#ifndef NPB_COMM_H
#define NPB_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef NPB_MMP
#include <mmp.h>
#else
#include <mpi.h>
#endif

#define NPB_RANKS_MAX 1024
#define NPB_TAG	      5

static int npb_my_rank, npb_ranks;

static inline int
npb_rank(void)
{
	return npb_my_rank;
}

static inline int
npb_size(void)
{
	return npb_ranks;
}

/* Seconds since some moment. */
static inline double
npb_wtime(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* End the job, as an error of what or how somebody asked. */
static inline _Noreturn void
npb_stop(const char *why)
{
	fprintf(stderr, "npb: rank %d: %s\n", npb_my_rank, why);
#ifdef NPB_MMP
	if (*MP_error())
		fprintf(stderr, "npb: rank %d: %s\n", npb_my_rank, MP_error());
#else
	MPI_Abort(MPI_COMM_WORLD, 2);
#endif
	_Exit(2);
}

static inline void
npb_init(int *argc, char ***argv)
{
#ifdef NPB_MMP
	(void)argc, (void)argv;
	if (MP_init(getenv("NPB_HOSTS")) < 0)
		npb_stop("MP_init failed");
	npb_my_rank = MP_rank();
	npb_ranks = MP_size();
#else
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &npb_my_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &npb_ranks);
#endif
	if (npb_ranks > NPB_RANKS_MAX || (npb_ranks & (npb_ranks - 1)))
		npb_stop("the number of processes must be a power of two, at most 1024");
}

static inline void
npb_finalize(void)
{
#ifdef NPB_MMP
	MP_finalize();
#else
	MPI_Finalize();
#endif
}

/* What carries the bytes, for the record of a run. */
static inline const char *
npb_library(void)
{
#ifdef NPB_MMP
	return "MMP";
#else
	static char name[MPI_MAX_LIBRARY_VERSION_STRING];
	int n;
	MPI_Get_library_version(name, &n);
	for (n = 0; name[n] && name[n] != '\n' && name[n] != ','; n++)
		if (name[n] < ' ' || name[n] == '"' || name[n] == '\\')
			name[n] = ' ';
	name[n] = 0;
	return name;
#endif
}

static inline void
npb_barrier(void)
{
#ifdef NPB_MMP
	if (MP_barrier() < 0)
		npb_stop("MP_barrier failed");
#else
	MPI_Barrier(MPI_COMM_WORLD);
#endif
}

static inline void
npb_planted(void *in, size_t n, size_t elem, int from)
{
#ifdef NPB_PLANT
	if (n && from >= 0 && from != npb_my_rank)
		memset((char *)in + n - elem, 0, elem);
#else
	(void)in, (void)n, (void)elem, (void)from;
#endif
}

/* Send and receive at once, bytes; to or from -1: nobody. */
static inline void
npb_swap(int to, const void *out, size_t nout, int from, void *in, size_t nin)
{
	if (nout > INT32_MAX || nin > INT32_MAX)
		npb_stop("a message of more than 2 GiB: take more processes or a smaller class");
#ifdef NPB_MMP
	mp_handle get = 0, put = 0;
	if (from >= 0 && (get = MP_receive(from, in, nin)) < 0)
		npb_stop("MP_receive failed");
	if (to >= 0 && (put = MP_send(to, out, nout)) < 0)
		npb_stop("MP_send failed");
	if (from >= 0 && MP_wait(get, NULL) != (int64_t)nin)
		npb_stop("a message is not as long as agreed");
	if (to >= 0 && MP_wait(put, NULL) < 0)
		npb_stop("a message could not be sent");
#else
	MPI_Sendrecv(out, (int)nout, MPI_BYTE, to < 0 ? MPI_PROC_NULL : to, NPB_TAG, in, (int)nin,
		     MPI_BYTE, from < 0 ? MPI_PROC_NULL : from, NPB_TAG, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
#endif
}

/* The same for data of the kernel; elem is the length of an element. */
static inline void
npb_exchange(int to, const void *out, size_t nout, int from, void *in, size_t nin, size_t elem)
{
	npb_swap(to, out, nout, from, in, nin);
	npb_planted(in, nin, elem, from);
}

/* v[n] of all processes added up, modulo 2^32, everywhere; tmp[n] is room. */
static inline void
npb_sum_u32(uint32_t *v, uint32_t *tmp, int n)
{
#if defined(NPB_MMP) || defined(NPB_P2P)
	size_t len = (size_t)n * sizeof *v;
	for (int bit = 1; bit < npb_ranks; bit *= 2) {
		int peer = npb_my_rank ^ bit;
		npb_swap(peer, v, len, peer, tmp, len);
		for (int i = 0; i < n; i++)
			v[i] += tmp[i];
	}
#else
	memcpy(tmp, v, (size_t)n * sizeof *v);
	MPI_Allreduce(tmp, v, n, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
#endif
}

/* v[n] of all processes added up, everywhere the same; tmp[n] is room.  With a planted bug over
 * MPI, too, the data go in pairs: a library's own sum leaves nothing to damage. */
static inline void
npb_sum_double(double *v, double *tmp, int n)
{
#if defined(NPB_MMP) || defined(NPB_P2P) || defined(NPB_PLANT)
	size_t len = (size_t)n * sizeof *v;
	memset(tmp, 0, len);
	for (int bit = 1; bit < npb_ranks; bit *= 2) {
		int peer = npb_my_rank ^ bit;
		npb_exchange(peer, v, len, peer, tmp, len, sizeof *v);
		for (int i = 0; i < n; i++)
			v[i] += tmp[i];
	}
#else
	memcpy(tmp, v, (size_t)n * sizeof *v);
	MPI_Allreduce(tmp, v, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
#endif
}

/* The largest of all processes' values, everywhere. */
static inline double
npb_max_double(double v)
{
	double most = v;
#if defined(NPB_MMP) || defined(NPB_P2P)
	for (int bit = 1; bit < npb_ranks; bit *= 2) {
		int peer = npb_my_rank ^ bit;
		double other = v;
		npb_swap(peer, &most, sizeof most, peer, &other, sizeof other);
		most = other > most ? other : most;
	}
#else
	MPI_Allreduce(&v, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
#endif
	return most;
}

/* One number to each process, one from each. */
static inline void
npb_alltoall_int(const int *out, int *in)
{
#if defined(NPB_MMP) || defined(NPB_P2P)
	in[npb_my_rank] = out[npb_my_rank];
	for (int step = 1; step < npb_ranks; step++) {
		int peer = npb_my_rank ^ step;
		npb_swap(peer, &out[peer], sizeof *out, peer, &in[peer], sizeof *in);
	}
#else
	MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
#endif
}

/* n numbers to each process, n from each, in the order of ranks. */
static inline void
npb_alltoall_double(const double *out, double *in, size_t n)
{
	size_t len = n * sizeof *in;
#if defined(NPB_MMP) || defined(NPB_P2P)
	memcpy(in + (size_t)npb_my_rank * n, out + (size_t)npb_my_rank * n, len);
	for (int step = 1; step < npb_ranks; step++) {
		int p = npb_my_rank ^ step;
		npb_exchange(p, out + (size_t)p * n, len, p, in + (size_t)p * n, len, sizeof *in);
	}
#else
	if (len > INT32_MAX)
		npb_stop("a message of more than 2 GiB: take more processes or a smaller class");
	MPI_Alltoall(out, (int)n, MPI_DOUBLE, in, (int)n, MPI_DOUBLE, MPI_COMM_WORLD);
	for (int p = 0; p < npb_ranks; p++)
		npb_planted(in + (size_t)p * n, len, sizeof *in, p);
#endif
}

/* As MPI_Alltoallv has it; displacements and counts in numbers. */
static inline void
npb_alltoallv_u32(const uint32_t *out, const int *nout, const int *out_at, uint32_t *in,
		  const int *nin, const int *in_at)
{
#if defined(NPB_MMP) || defined(NPB_P2P)
	memcpy(in + in_at[npb_my_rank], out + out_at[npb_my_rank],
	       (size_t)nout[npb_my_rank] * sizeof *in);
	for (int step = 1; step < npb_ranks; step++) {
		int p = npb_my_rank ^ step;
		npb_exchange(p, out + out_at[p], (size_t)nout[p] * sizeof *in, p, in + in_at[p],
			     (size_t)nin[p] * sizeof *in, sizeof *in);
	}
#else
	MPI_Alltoallv(out, nout, out_at, MPI_UINT32_T, in, nin, in_at, MPI_UINT32_T,
		      MPI_COMM_WORLD);
	for (int p = 0; p < npb_ranks; p++)
		npb_planted(in + in_at[p], (size_t)nin[p] * sizeof *in, sizeof *in, p);
#endif
}

#endif
