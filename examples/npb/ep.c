/* SPDX-License-Identifier: BSD-2-Clause */
/* ep - kernel EP of the NAS Parallel Benchmarks: Gaussian pairs from uniform random numbers.
 *
 *   ep [S|W|A|B]         under mpirun; class S by default, a power of two of processes
 *
 * Written from the definition (NASA RNR-94-007, section 2.1).  2^M pairs of numbers in (-1, 1); of
 * those in the unit circle the polar method makes two Gaussian deviates.  Their sums are
 * published, and how many of the pairs lie in each square annulus is counted.
 *
 * Each process has a run of the pairs, whose random state it computes without those before; then
 * one sum of a dozen numbers over all.  So this is the kernel that shows what computing costs
 * when there is next to no communication.
 *
 * Verified: both sums to 1e-8, and that every pair in the circle was counted once.  Exit status 1:
 * not verified. */
#include "npb.h"

#include <math.h>

#define SEED	  271828183u
#define ANNULI	  10
#define TOLERANCE 1e-8

static const struct ep_class {
	char name;
	int log_pairs;
	double sum_x, sum_y;
} classes[] = {
	{'S', 24, -3.247834652034740e3, -6.958407078382297e3},
	{'W', 25, -2.863319731645753e3, -6.320053679109499e3},
	{'A', 28, -4.295875165629892e3, -1.580732573678431e4},
	{'B', 30, 4.033815542441498e4, -2.660669192809235e4},
};

/* What is added up over all processes, in one message. */
enum { IN_CIRCLE = ANNULI, SUM_X, SUM_Y, SUMS };

static const struct ep_class *
find_class(char name)
{
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (classes[i].name == name)
			return &classes[i];
	npb_stop("no such class: they are S, W, A and B");
}

/* Pairs begin .. end - 1. */
static void
count_pairs(double sum[SUMS], uint64_t begin, uint64_t end)
{
	uint64_t state = npb_random_at(SEED, 2 * begin);
	for (uint64_t i = begin; i < end; i++) {
		double x = 2 * npb_random(&state) - 1, y = 2 * npb_random(&state) - 1;
		double t = x * x + y * y;
		if (t > 1)
			continue;
		double scale = sqrt(-2 * log(t) / t), gx = x * scale, gy = y * scale;
		double most = fmax(fabs(gx), fabs(gy));
		/* Of 2^46 numbers none is so far out. */
		sum[most < ANNULI ? (int)most : ANNULI - 1] += 1;
		sum[IN_CIRCLE] += 1;
		sum[SUM_X] += gx;
		sum[SUM_Y] += gy;
	}
}

static bool
is_near(double got, double want)
{
	return fabs((got - want) / want) <= TOLERANCE;
}

static bool
is_verified(const struct ep_class *c, const double sum[SUMS])
{
	double counted = 0;
	for (int i = 0; i < ANNULI; i++)
		counted += sum[i];
	bool good = is_near(sum[SUM_X], c->sum_x) && is_near(sum[SUM_Y], c->sum_y) &&
		    counted == sum[IN_CIRCLE];
	if (npb_rank() == 0) {
		printf(" Sums: %.15e %.15e, of %.0f pairs\n", sum[SUM_X], sum[SUM_Y],
		       sum[IN_CIRCLE]);
		if (!good)
			printf(" they should be %.15e %.15e, of %.0f pairs\n", c->sum_x, c->sum_y,
			       counted);
	}
	return good;
}

int
main(int argc, char **argv)
{
	double sum[SUMS] = {0}, tmp[SUMS];
	npb_init(&argc, &argv);
	const struct ep_class *c = find_class(npb_class(argc, argv));
	uint64_t pairs = (uint64_t)1 << c->log_pairs, each = pairs / (unsigned)npb_size();
	uint64_t first = each * (unsigned)npb_rank();
	if (npb_rank() == 0)
		printf(" NAS Parallel Benchmarks, EP\n Size: 2^%d pairs (class %c)\n Processes: "
		       "%d\n",
		       c->log_pairs, c->name, npb_size());
	npb_sum_double(sum, tmp, SUMS); /* to have all memory and paths; not timed: zeros */
	npb_barrier();
	double begin = npb_wtime();
	count_pairs(sum, first, first + each);
	npb_sum_double(sum, tmp, SUMS);
	double seconds = npb_wtime() - begin;
	npb_barrier();
	struct npb_run run = {.kernel = "EP",
			      .unit = "random numbers",
			      .class = c->name,
			      .size = (long)pairs,
			      .iterations = 1,
			      .seconds = npb_max_double(seconds),
			      .mop = (double)pairs * 2 / 1e6,
			      .verified = is_verified(c, sum)};
	int rc = npb_report(&run);
	npb_finalize();
	return rc;
}
