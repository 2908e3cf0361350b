/* SPDX-License-Identifier: BSD-2-Clause */
/* packbench - how fast MPI_Pack and MPI_Unpack move a vector, beside memcpy of as many bytes.
 *
 * Vectors of blocks as far apart as they are long.  The two take turns, ROUNDS times; what is
 * printed, as JSON, is of the best round of either, in CPU time, so that what else the machine
 * does counts little, and the ratio of memcpy's time to ours (1: as fast).  The bar is 0.7
 * from blocks of 256 bytes on. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS	  31
#define BUDGET	  1e-3 /* seconds of one measure */
#define BAR	  0.7
#define BAR_BYTES 256

struct work {
	MPI_Datatype type;
	char *spread, *packed, *plain;
	int bytes;
};

static void
pack(const struct work *w)
{
	int at = 0;
	MPI_Pack(w->spread, 1, w->type, w->packed, w->bytes, &at, MPI_COMM_SELF);
}

static void
unpack(const struct work *w)
{
	int at = 0;
	MPI_Unpack(w->packed, w->bytes, &at, w->spread, 1, w->type, MPI_COMM_SELF);
}

static void
copy(const struct work *w)
{
	memcpy(w->packed, w->plain, (size_t)w->bytes);
	__asm__ volatile("" : : "r"(w->packed) : "memory");
}

static double
cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of one call, if that is less than best. */
static double
better(double best, void (*f)(const struct work *), const struct work *w)
{
	int n = 0;
	double begin = cpu_s(), now;

	do {
		for (int i = 0; i < 2; i++)
			f(w);
		n += 2;
		now = cpu_s();
	} while (now - begin < BUDGET);
	return (now - begin) / n < best ? (now - begin) / n : best;
}

/* Below the bar where it counts? */
static int
row(const char *what, void (*f)(const struct work *), const struct work *w, int block, int first)
{
	double ours = 1, theirs = 1, r;

	for (int i = 0; i < ROUNDS; i++) {
		ours = better(ours, f, w);
		theirs = better(theirs, copy, w);
	}
	r = theirs / ours;
	printf("%s\n  {\"what\": \"%s\", \"block\": %d, \"bytes\": %d, \"ours_mb_s\": %.0f, "
	       "\"memcpy_mb_s\": %.0f, \"ratio\": %.2f}",
	       first ? "" : ",", what, block, w->bytes, w->bytes / ours / 1e6,
	       w->bytes / theirs / 1e6, r);
	return block >= BAR_BYTES && r < BAR;
}

int
main(int argc, char **argv)
{
	static const int blocks[] = {8, 16, 32, 64, 128, 256, 1024, 8192},
			 totals[] = {64 << 10, 4 << 20};
	int below = 0, first = 1;

	MPI_Init(&argc, &argv);
	printf("[");
	for (size_t t = 0; t < sizeof totals / sizeof *totals; t++)
		for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
			size_t bytes = (size_t)totals[t];
			struct work w = {.bytes = totals[t],
					 .spread = aligned_alloc(4096, 2 * bytes),
					 .packed = aligned_alloc(4096, bytes),
					 .plain = aligned_alloc(4096, bytes)};
			if (!w.spread || !w.packed || !w.plain)
				MPI_Abort(MPI_COMM_WORLD, 1);
			memset(w.spread, 1, 2 * bytes);
			memset(w.plain, 2, bytes);
			MPI_Type_vector(totals[t] / blocks[b], blocks[b], 2 * blocks[b], MPI_BYTE,
					&w.type);
			MPI_Type_commit(&w.type);
			below += row("pack", pack, &w, blocks[b], first);
			below += row("unpack", unpack, &w, blocks[b], 0);
			first = 0;
			MPI_Type_free(&w.type);
			free(w.spread);
			free(w.packed);
			free(w.plain);
		}
	printf("\n]\n");
	MPI_Finalize();
	if (below)
		fprintf(stderr, "packbench: %d rows below %.1f of memcpy from %d bytes on\n", below,
			BAR, BAR_BYTES);
	return below != 0;
}
