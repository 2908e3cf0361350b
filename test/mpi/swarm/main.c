/* SPDX-License-Identifier: BSD-2-Clause */
/* swarm: so many steps of each seed.
 *
 *   SWARM=SEED,SEEDS,STEPS    the first seed, how many of these, steps of each (1,1,60)
 *   SWARM_ONLY=p2p,coll       steps of these kinds only */
#include "swarm.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sw_rank, sw_size;

static uint64_t seed, common, own, keys;
static uint32_t step;
static const char *doing = "start";

static uint64_t
next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint32_t
sw_draw(uint32_t n)
{
	return n > 1 ? (uint32_t)(next(&common) >> 32) % n : 0;
}

uint32_t
sw_own(uint32_t n)
{
	return n > 1 ? (uint32_t)(next(&own) >> 32) % n : 0;
}

bool
sw_one_in(uint32_t n)
{
	return sw_draw(n) == 0;
}

uint32_t
sw_few(uint32_t max)
{
	uint32_t bound = max;

	while (bound > 1 && sw_draw(3))
		bound = (bound + 2) / 3;
	return 1 + sw_draw(bound);
}

uint64_t
sw_key(void)
{
	return ++keys << 20;
}

void
sw_shuffle(int *list, int n, uint32_t (*draw)(uint32_t))
{
	for (int i = n - 1; i > 0; i--) {
		int j = (int)draw((uint32_t)i + 1), t = list[i];

		list[i] = list[j];
		list[j] = t;
	}
}

void
sw_fail(const char *fmt, ...)
{
	char text[500];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	fprintf(stderr, "swarm: seed %llu step %u (%s) rank %d of %d: %s\n",
		(unsigned long long)seed, step, doing, sw_rank, sw_size, text);
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

void *
sw_alloc(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	if (p == NULL)
		sw_fail("no memory");
	return p;
}

static const struct {
	const char *name;
	uint32_t share;
	void (*run)(void);
} steps[] = {
	{"comm", 3, sw_step_comm},  {"p2p", 10, sw_step_p2p},
	{"coll", 12, sw_step_coll}, {"neighbor", 3, sw_step_neighbor},
	{"rma", 4, sw_step_rma},    {"pack", 3, sw_step_pack},
	{"io", 1, sw_step_io},
};
enum { NSTEPS = sizeof steps / sizeof *steps };

static void
run_seed(uint32_t nsteps, const char *only)
{
	uint32_t all = 0;

	common = seed;
	own = seed * 1000003 + (uint32_t)sw_rank;
	for (size_t i = 0; i < NSTEPS; i++)
		all += steps[i].share;
	sw_comms_init();
	for (step = 0; step < nsteps; step++) {
		uint32_t at = sw_draw(all);
		size_t i = 0;

		while (at >= steps[i].share)
			at -= steps[i++].share;
		doing = steps[i].name;
		if (only == NULL || strstr(only, doing))
			steps[i].run();
	}
	doing = "end";
	sw_comms_end();
}

int
main(int argc, char **argv)
{
	const char *words = getenv("SWARM"), *only = getenv("SWARM_ONLY");
	unsigned long long first = 1;
	unsigned nseeds = 1, nsteps = 60;
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &sw_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &sw_size);
	if (words != NULL && sscanf(words, "%llu,%u,%u", &first, &nseeds, &nsteps) < 1)
		sw_fail("SWARM is \"%s\", not SEED,SEEDS,STEPS", words);
	for (seed = first; seed < first + nseeds; seed++)
		run_seed(nsteps, only);
	MPI_Finalize();
	if (sw_rank == 0)
		printf("ok, %u seeds of %u steps\n", nseeds, nsteps);
	return 0;
}
