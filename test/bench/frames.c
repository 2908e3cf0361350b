/* SPDX-License-Identifier: BSD-2-Clause */
/* frames - one pipeline, with what protects its frames and without (test/bench/frames.sh).
 *
 *   frames make|filter|take BYTES TAPS MS     a stage of MPI/SPx: MPISP_CLUSTER_IN and _OUT
 *   frames plain BYTES TAPS MS		 ranks of one world: 0 makes, the middle one filters, the
 *					   last takes, those between pass on, as I/O processes do
 *
 * Frames of BYTES are made for MS ms.  The filter does TAPS multiplications for each number of 16
 * bits; with 0 it copies.  Who takes checks each frame and prints how many came in a second, from
 * the one after WARM on.  Plain ranks have RING sends under way, so nobody waits for one. */
#include <mpi.h>
#ifndef PLAIN_ONLY
#include <mpisp.h>
#else
#define MPISP_CLUSTER_IN	  0
#define MPISP_CLUSTER_OUT	  0
#define MPISP_FRAME_NUMBER(frame) (frame)
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RING = 8, WARM = 20, TAPS_MAX = 1024, TAG = 1, TAG_END = 2 };

static struct {
	int bytes, taps, ms;
	double begun, first, last;
	long taken, wrong;
	int16_t *in, *out;
} bench;

static double
bench_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int
count_words(void)
{
	return bench.bytes / (int)sizeof(int16_t);
}

/* The first word says which frame it is; the last one is a function of it. */
static void
make_words(int64_t number, int16_t *to)
{
	memset(to, (int)(number & 0x7f), (size_t)bench.bytes);
	to[0] = to[count_words() - 1] = (int16_t)number;
}

static void
filter_words(const int16_t *in, int16_t *out)
{
	int n = count_words();

	if (bench.taps == 0) {
		memcpy(out, in, (size_t)bench.bytes);
		return;
	}
	for (int i = 0; i < n; i++) {
		int32_t sum = 0;
		for (int k = 0; k < bench.taps; k++)
			sum += in[i + k < n ? i + k : i + k - n] * (k ^ 5);
		out[i] = (int16_t)sum;
	}
	out[0] = in[0];
	out[n - 1] = in[n - 1];
}

static void
check_words(int64_t number, const int16_t *words)
{
	bench.last = bench_now_s();
	if (bench.taken++ == WARM)
		bench.first = bench.last;
	bench.wrong += words[0] != (int16_t)number || words[count_words() - 1] != (int16_t)number;
}

static int
tell_rate(void)
{
	double s = bench.last - bench.first;

	if (bench.wrong) {
		fprintf(stderr, "frames: %ld of %ld frames are wrong\n", bench.wrong, bench.taken);
		return 1;
	}
	printf("frames: %.2f of %ld\n",
	       bench.taken > WARM + 1 ? (double)(bench.taken - WARM - 1) / s : 0.0, bench.taken);
	fflush(stdout);
	return 0;
}

static int
is_turn_over(void)
{
	if (bench.begun == 0)
		bench.begun = bench_now_s();
	return bench_now_s() - bench.begun > bench.ms / 1e3;
}

/* ---- stages of MPI/SPx ---- */

#ifndef PLAIN_ONLY
static int
make_bench_frames(void)
{
	int64_t frame;
	int again;

	for (;;) {
		MPISP_Frame_begin(MPI_COMM_WORLD, &frame, &again);
		if (frame == MPISP_FRAME_END || is_turn_over())
			return 0;
		make_words(MPISP_FRAME_NUMBER(frame), bench.out);
		MPI_Send(bench.out, bench.bytes, MPI_BYTE, MPISP_CLUSTER_OUT, TAG, MPI_COMM_WORLD);
		MPISP_Frame_end(MPI_COMM_WORLD, frame);
	}
}

static int
receive_frame(void)
{
	return MPI_Recv(bench.in, bench.bytes, MPI_BYTE, MPISP_CLUSTER_IN, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
}

static int
filter_bench_frame(int64_t frame, int again, void *arg)
{
	(void)frame, (void)again, (void)arg;
	receive_frame();
	filter_words(bench.in, bench.out);
	return MPI_Send(bench.out, bench.bytes, MPI_BYTE, MPISP_CLUSTER_OUT, TAG, MPI_COMM_WORLD);
}

static int
take_bench_frame(int64_t frame, int again, void *arg)
{
	(void)again, (void)arg;
	receive_frame();
	check_words(MPISP_FRAME_NUMBER(frame), bench.in);
	return MPI_SUCCESS;
}

static int
run_bench_stage(const char *stage)
{
	int bad = 0;

	if (!strcmp(stage, "make"))
		bad = make_bench_frames();
	else
		MPISP_Run(MPI_COMM_WORLD, NULL,
			  !strcmp(stage, "take") ? take_bench_frame : filter_bench_frame, NULL);
	return bad || (!strcmp(stage, "take") && tell_rate());
}
#endif

/* ---- plain ranks ---- */

static int
run_plain(int rank, int ranks)
{
	MPI_Request under_way[RING];
	int16_t *ring = calloc(RING, (size_t)bench.bytes);
	MPI_Status status = {.MPI_TAG = TAG};

	if (!ring)
		return 1;
	for (int i = 0; i < RING; i++)
		under_way[i] = MPI_REQUEST_NULL;
	for (long n = 0; status.MPI_TAG == TAG; n++) {
		int16_t *to = ring + (size_t)(n % RING) * (size_t)count_words();
		int16_t *in = rank == ranks / 2 || rank == ranks - 1 ? bench.in : to;
		MPI_Wait(&under_way[n % RING], MPI_STATUS_IGNORE);
		if (rank > 0)
			MPI_Recv(in, bench.bytes, MPI_BYTE, rank - 1, MPI_ANY_TAG, MPI_COMM_WORLD,
				 &status);
		else if (is_turn_over())
			status.MPI_TAG = TAG_END;
		else
			make_words(n, to);
		if (status.MPI_TAG == TAG && rank == ranks - 1)
			check_words(n, in);
		else if (status.MPI_TAG == TAG && in == bench.in)
			filter_words(in, to);
		if (rank < ranks - 1)
			MPI_Isend(to, bench.bytes, MPI_BYTE, rank + 1, status.MPI_TAG,
				  MPI_COMM_WORLD, &under_way[n % RING]);
	}
	MPI_Waitall(RING, under_way, MPI_STATUSES_IGNORE);
	free(ring);
	return rank == ranks - 1 && tell_rate();
}

int
main(int argc, char **argv)
{
	int rank = 0, ranks = 1, bad;

	if (argc == 5) {
		bench.bytes = (int)strtol(argv[2], NULL, 10) & ~1;
		bench.taps = (int)strtol(argv[3], NULL, 10);
		bench.ms = (int)strtol(argv[4], NULL, 10);
	}
	if (bench.bytes < 4 || bench.taps < 0 || bench.taps > TAPS_MAX ||
	    bench.taps >= count_words() || bench.ms < 1) {
		fprintf(stderr, "usage: frames make|filter|take|plain BYTES TAPS MS\n");
		return 2;
	}
	bench.in = calloc(1, (size_t)bench.bytes);
	bench.out = calloc(1, (size_t)bench.bytes);
	if (!bench.in || !bench.out)
		return 1;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#ifndef PLAIN_ONLY
	bad = !strcmp(argv[1], "plain") ? run_plain(rank, ranks) : run_bench_stage(argv[1]);
#else
	bad = run_plain(rank, ranks);
#endif
	MPI_Finalize();
	free(bench.in);
	free(bench.out);
	return bad;
}
