/* SPDX-License-Identifier: BSD-2-Clause */
/* npb.h - what the kernels share beside communication: random numbers and the record of a run.
 *
 * Random numbers (RNR-94-007, section 2.3): x' = a x mod 2^46, a = 5^13; a double is x / 2^46. */
#ifndef NPB_H
#define NPB_H

#include "npb_comm.h"

#define NPB_A	 1220703125u /* 5^13 */
#define NPB_SEED 314159265u
#define NPB_MASK (((uint64_t)1 << 46) - 1)

static inline double
npb_random(uint64_t *x)
{
	*x = *x * NPB_A & NPB_MASK;
	return (double)*x * 0x1p-46;
}

/* The state after so many numbers from the seed. */
static inline uint64_t
npb_random_at(uint64_t seed, uint64_t steps)
{
	uint64_t a = NPB_A;
	for (; steps; steps >>= 1, a = a * a & NPB_MASK)
		if (steps & 1)
			seed = seed * a & NPB_MASK;
	return seed;
}

static inline void *
npb_new(size_t n, size_t each)
{
	void *p = calloc(n ? n : 1, each);
	if (!p)
		npb_stop("no memory: take more processes or a smaller class");
	return p;
}

struct npb_run {
	const char *kernel; /* IS, CG, EP, FT, MG */
	const char *unit;   /* what an operation is */
	char class;
	long size;
	int iterations;
	double seconds, mop; /* the longest of all processes; millions of operations of all */
	bool verified;
};

/* Rank 0 prints the record; the exit status of the program. */
static inline int
npb_report(const struct npb_run *r)
{
	if (npb_rank() == 0) {
		double rate = r->seconds > 0 ? r->mop / r->seconds : 0;
		printf("\n %s Benchmark Completed\n", r->kernel);
		printf(" Class           = %24c\n", r->class);
		printf(" Size            = %24ld\n", r->size);
		printf(" Iterations      = %24d\n", r->iterations);
		printf(" Time in seconds = %24.4f\n", r->seconds);
		printf(" Total processes = %24d\n", npb_size());
		printf(" Mop/s total     = %24.2f\n", rate);
		printf(" Mop/s/process   = %24.2f\n", rate / npb_size());
		printf(" Operation type  = %24s\n", r->unit);
		printf(" Verification    = %24s\n", r->verified ? "SUCCESSFUL" : "UNSUCCESSFUL");
		printf("npb {\"kernel\": \"%s\", \"class\": \"%c\", \"ranks\": %d, \"seconds\": "
		       "%.6f, "
		       "\"mops\": %.3f, \"verified\": %s, \"library\": \"%s\"}\n",
		       r->kernel, r->class, npb_size(), r->seconds, rate,
		       r->verified ? "true" : "false", npb_library());
		fflush(stdout);
	}
	return r->verified ? 0 : 1;
}

/* The argument of the program: a letter of a class, S without one. */
static inline char
npb_class(int argc, char **argv)
{
	if (argc > 2 || (argc == 2 && strlen(argv[1]) != 1))
		npb_stop("usage: is|cg|ep|ft|mg [CLASS], a class is S, W, A or B");
	return argc == 2 ? argv[1][0] : 'S';
}

#endif
