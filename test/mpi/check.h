/* SPDX-License-Identifier: BSD-2-Clause */
/* test/mpi/check.h - what every conformance program uses: CHECK() counts, finish()
 * adds up over all ranks, says "ok" or how many failed, and gives the exit code. */
#ifndef MPI_CHECK_H
#define MPI_CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_rank, check_size;
static long check_failed, check_done;

__attribute__((format(printf, 4, 5), unused)) static void
check_report(int good, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	check_done++;
	if (good)
		return;
	if (++check_failed > 10)
		return;
	va_start(ap, fmt);
	fprintf(stderr, "%s:%d: rank %d: ", file, line, check_rank);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

#define CHECK(cond)	  check_report(!!(cond), __FILE__, __LINE__, "%s", #cond)
#define CHECKF(cond, ...) check_report(!!(cond), __FILE__, __LINE__, __VA_ARGS__)

/* The class of an error code. */
__attribute__((unused)) static int
check_class(int code)
{
	int c;

	MPI_Error_class(code, &c);
	return c;
}

/* The error rc is of that class, and its text has part in it; printed if not. */
__attribute__((unused)) static int
check_says(int rc, int class, const char *part)
{
	char text[MPI_MAX_ERROR_STRING];
	int len, good;

	MPI_Error_string(rc, text, &len);
	good = check_class(rc) == class && strstr(text, part) != NULL;
	if (!good)
		printf("rc %d: %s\n", rc, text);
	return good;
}

/* CALL returns an error of CLASS, or MPI_SUCCESS; either has a text. */
#define WANT(CLASS, CALL)                                                                       \
	do {                                                                                    \
		int rc_ = (CALL);                                                               \
		char text_[MPI_MAX_ERROR_STRING];                                               \
		int len_;                                                                       \
                                                                                                \
		CHECKF(check_class(rc_) == (CLASS), "%s gives %d, not %s", #CALL, rc_, #CLASS); \
		MPI_Error_string(rc_, text_, &len_);                                            \
		CHECK(len_ > 0 && len_ == (int)strlen(text_));                                  \
	} while (0)

__attribute__((unused)) static void
start(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &check_size);
}

/* The same for a program of threads. */
__attribute__((unused)) static void
start_threaded(int *argc, char ***argv)
{
	int provided;

	MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &check_size);
	CHECK(provided == MPI_THREAD_MULTIPLE);
}

__attribute__((unused)) static int
finish(void)
{
	long all[2], mine[2] = {check_failed, check_done};

	MPI_Reduce(mine, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Finalize();
	if (check_rank != 0)
		return check_failed != 0;
	if (all[0] != 0)
		printf("%ld of %ld checks failed\n", all[0], all[1]);
	else
		printf("ok, %ld checks\n", all[1]);
	return all[0] != 0;
}

/* Deterministic numbers for patterns and choices. */
__attribute__((unused)) static uint32_t
mix(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352du;
	x ^= x >> 15;
	x *= 0x846ca68bu;
	return x ^ x >> 16;
}

__attribute__((unused)) static void
fill(unsigned char *p, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)mix(seed + (uint32_t)i);
}

/* Index of the first wrong byte, -1: all right. */
__attribute__((unused)) static long
wrong(const unsigned char *p, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != (unsigned char)mix(seed + (uint32_t)i))
			return (long)i;
	return -1;
}

#endif
