/* SPDX-License-Identifier: BSD-2-Clause */
/* mpibench - times of an MPI library in short turns, the same source for every library.
 *
 *   mpibench DIR
 *
 * Each rank reads what to do from the FIFO DIR/RANK, and sleeps there while it is not its job's
 * turn.  A line "WHAT BYTES MS" is a turn of about that long:
 *
 *   pingpong   half a round trip between ranks 0 and 1
 *   bandwidth  per message, windows of non-blocking sends of rank 0 to rank 1
 *   fresh      the same, but rank 0 writes each message before it sends it and rank 1 reads it:
 *              what nobody writes stays in the caches of both, which no program is fast by
 *   rate       bandwidth with messages so small that their number counts
 *   allreduce  sum of doubles, BYTES in all; per call
 *   alltoall   BYTES to every rank
 *   bcast      a root after the other, so no call starts before the one before has arrived
 *   reduce     sum of doubles, BYTES in all, to one root after the other
 *   allgather  BYTES of every rank
 *
 * When a rank is through it writes a line to DIR/out: "RANK US CPU_US SWITCHES", the time of one
 * (median of a few batches), and what this rank took of its CPU, and how often it gave it up
 * itself, for each.  When there is nothing more to read it leaves.
 *
 * What arrived last is compared with what must arrive; a wrong byte ends the job. */
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BATCHES	    5
#define WINDOW	    64
#define WINDOW_SIZE (16u << 20) /* most bytes in flight */
#define TAG	    5

struct bench {
	int rank, size;
	unsigned char *out, *in;
	size_t room;
	const struct measure *m; /* of the turn before, */
	size_t bytes;		 /* whose memory is kept; */
	int n;			 /* calls of a batch that fill its part of a turn, at rank 0 */
};

static void
fail(const char *what, size_t bytes)
{
	fprintf(stderr, "mpibench: %s of %zu bytes: wrong\n", what, bytes);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned char
pattern(size_t i, int salt)
{
	return (unsigned char)(i * 7 + i / 251 + (size_t)salt);
}

/* ---- one function per measure: n times; seconds are taken around it ---- */

static void
run_pingpong(struct bench *b, size_t bytes, int n)
{
	int count = (int)bytes;

	for (int i = 0; i < n && b->rank < 2; i++) {
		if (b->rank == 0)
			MPI_Send(b->out, count, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
		MPI_Recv(b->in, count, MPI_BYTE, !b->rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (b->rank == 1)
			MPI_Send(b->in, count, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
	}
}

static int
window_of(size_t bytes)
{
	size_t w = bytes ? WINDOW_SIZE / bytes : WINDOW;
	return w > WINDOW ? WINDOW : (int)w;
}

static void
read_block(const unsigned char *from, size_t bytes)
{
	static volatile unsigned long kept;
	unsigned long sum = 0, word;

	for (size_t i = 0; i + sizeof word <= bytes; i += sizeof word) {
		memcpy(&word, from + i, sizeof word);
		sum += word;
	}
	kept = sum;
}

static void
pass_windows(struct bench *b, size_t bytes, int n, int fresh)
{
	MPI_Request req[WINDOW];
	int w = window_of(bytes), count = (int)bytes;

	for (int i = 0; i < n && b->rank < 2; i++) {
		for (int k = 0; k < w; k++) {
			size_t at = (size_t)k * bytes;
			if (b->rank == 0 && fresh)
				memcpy(b->out + at, b->in + at, bytes);
			if (b->rank == 0)
				MPI_Isend(b->out + at, count, MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
					  &req[k]);
			else
				MPI_Irecv(b->in + at, count, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
					  &req[k]);
		}
		for (int k = 0; k < w && fresh; k++) {
			MPI_Wait(&req[k], MPI_STATUS_IGNORE);
			if (b->rank == 1)
				read_block(b->in + (size_t)k * bytes, bytes);
		}
		MPI_Waitall(w, req, MPI_STATUSES_IGNORE);
		if (b->rank == 0)
			MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		else
			MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
	}
}

static void
run_window(struct bench *b, size_t bytes, int n)
{
	pass_windows(b, bytes, n, 0);
}

static void
run_fresh(struct bench *b, size_t bytes, int n)
{
	pass_windows(b, bytes, n, 1);
}

static void
run_allreduce(struct bench *b, size_t bytes, int n)
{
	for (int i = 0; i < n; i++)
		MPI_Allreduce(b->out, b->in, (int)(bytes / sizeof(double)), MPI_DOUBLE, MPI_SUM,
			      MPI_COMM_WORLD);
}

static void
run_alltoall(struct bench *b, size_t bytes, int n)
{
	for (int i = 0; i < n; i++)
		MPI_Alltoall(b->out, (int)bytes, MPI_BYTE, b->in, (int)bytes, MPI_BYTE,
			     MPI_COMM_WORLD);
}

static void
run_bcast(struct bench *b, size_t bytes, int n)
{
	for (int i = 0; i < n; i++)
		MPI_Bcast(b->in, (int)bytes, MPI_BYTE, i % b->size, MPI_COMM_WORLD);
}

static void
run_reduce(struct bench *b, size_t bytes, int n)
{
	for (int i = 0; i < n; i++)
		MPI_Reduce(b->out, b->in, (int)(bytes / sizeof(double)), MPI_DOUBLE, MPI_SUM,
			   i % b->size, MPI_COMM_WORLD);
}

static void
run_allgather(struct bench *b, size_t bytes, int n)
{
	for (int i = 0; i < n; i++)
		MPI_Allgather(b->out, (int)bytes, MPI_BYTE, b->in, (int)bytes, MPI_BYTE,
			      MPI_COMM_WORLD);
}

/* ---- what is sent, and what must have come ---- */

static void
fill_bytes(struct bench *b)
{
	for (size_t i = 0; i < b->room; i++)
		b->out[i] = pattern(i, b->rank);
}

/* What rank 0 takes it from is where it would receive. */
static void
fill_fresh(struct bench *b)
{
	for (size_t i = 0; i < b->room && b->rank == 0; i++)
		b->in[i] = pattern(i, 0);
}

static void
fill_doubles(struct bench *b)
{
	double *d = (double *)(void *)b->out;
	for (size_t i = 0; i < b->room / sizeof *d; i++)
		d[i] = b->rank + 1;
}

static void
fill_bcast(struct bench *b)
{
	for (size_t i = 0; i < b->room && b->rank == 0; i++)
		b->in[i] = pattern(i, 0);
}

static int
right_pattern(struct bench *b, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (b->in[i] != pattern(i, 0))
			return 0;
	return 1;
}

static int
right_pair(struct bench *b, size_t bytes)
{
	return b->rank > 1 || right_pattern(b, bytes);
}

static int
right_window(struct bench *b, size_t bytes)
{
	return b->rank != 1 || right_pattern(b, (size_t)window_of(bytes) * bytes);
}

static int
right_sum(struct bench *b, size_t bytes)
{
	const double *d = (const double *)(const void *)b->in;
	double want = b->size * (b->size + 1) / 2;

	for (size_t i = 0; i < bytes / sizeof *d; i++)
		if (d[i] < want || d[i] > want)
			return 0;
	return 1;
}

static int
right_blocks(struct bench *b, size_t bytes)
{
	for (int from = 0; from < b->size; from++)
		for (size_t i = 0; i < bytes; i++)
			if (b->in[(size_t)from * bytes + i] !=
			    pattern((size_t)b->rank * bytes + i, from))
				return 0;
	return 1;
}

static int
right_gathered(struct bench *b, size_t bytes)
{
	for (int from = 0; from < b->size; from++)
		for (size_t i = 0; i < bytes; i++)
			if (b->in[(size_t)from * bytes + i] != pattern(i, from))
				return 0;
	return 1;
}

struct measure {
	const char *name;
	void (*fill)(struct bench *);
	void (*run)(struct bench *, size_t bytes, int n);
	int (*right)(struct bench *, size_t bytes);
};

static const struct measure measures[] = {
	{"pingpong", fill_bytes, run_pingpong, right_pair},
	{"bandwidth", fill_bytes, run_window, right_window},
	{"fresh", fill_fresh, run_fresh, right_window},
	{"rate", fill_bytes, run_window, right_window},
	{"allreduce", fill_doubles, run_allreduce, right_sum},
	{"alltoall", fill_bytes, run_alltoall, right_blocks},
	{"bcast", fill_bcast, run_bcast, right_pattern},
	{"reduce", fill_doubles, run_reduce, right_sum},
	{"allgather", fill_bytes, run_allgather, right_gathered},
};

static int
is_window(const struct measure *m)
{
	return m->run == run_window || m->run == run_fresh;
}

/* How many of it one run or call stands for. */
static double
parts(const struct measure *m, size_t bytes)
{
	if (m->run == run_pingpong)
		return 2;
	return is_window(m) ? window_of(bytes) : 1;
}

static size_t
room_for(const struct measure *m, size_t bytes, int size)
{
	if (is_window(m))
		return (size_t)window_of(bytes) * bytes;
	return m->run == run_alltoall || m->run == run_allgather ? bytes * (size_t)size : bytes;
}

/* ---- a turn ---- */

static double
timed(struct bench *b, int n)
{
	double t0;

	MPI_Barrier(MPI_COMM_WORLD);
	t0 = MPI_Wtime();
	b->m->run(b, b->bytes, n);
	return MPI_Wtime() - t0;
}

/* How many fill want seconds; of what has a root one for each at least: the first one's return says
 * nothing. */
static int
filling(const struct bench *b, int n, double t, double want)
{
	double more = t > 0 ? n * want / t : 4 * n;
	int least = b->m->run == run_bcast || b->m->run == run_reduce ? b->size : 1;

	if (more > 16.0 * n)
		more = 16.0 * n;
	return more < least ? least : (int)more;
}

/* The first turn of a measure finds out how many that is. */
static void
calibrate(struct bench *b, double want)
{
	int say[2] = {1, 0}; /* how many next, whether that is it */

	while (!say[1]) {
		double t = timed(b, say[0]);

		say[1] = t > want / 2;
		say[0] = filling(b, say[0], t, want);
		MPI_Bcast(say, 2, MPI_INT, 0, MPI_COMM_WORLD);
	}
	b->n = say[0];
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* CPU time of this process so far, us, and how often it gave the CPU up. */
static double
used(double *switches)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	*switches = (double)r.ru_nvcsw;
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e6 +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static void
turn(struct bench *b, double seconds, FILE *out)
{
	double t[BATCHES], want = seconds / BATCHES, cpu, switches, cpu0, switches0, first, done;
	int say[2]; /* calls of a batch, batches */

	if (b->n == 0)
		calibrate(b, want);
	/* The one before counts: what the turns between took from the caches comes back.  A
	 * single call that is longer than the turn is measured once. */
	first = timed(b, b->n);
	say[0] = filling(b, b->n, first, want);
	say[1] = first > seconds ? 1 : BATCHES;
	MPI_Bcast(say, 2, MPI_INT, 0, MPI_COMM_WORLD);
	b->n = say[0];
	cpu0 = used(&switches0);
	for (int i = 0; i < say[1]; i++)
		t[i] = timed(b, b->n);
	cpu = used(&switches);
	/* Who sleeps sends nothing more: the others must have what they wait for. */
	MPI_Barrier(MPI_COMM_WORLD);
	qsort(t, (size_t)say[1], sizeof t[0], by_value);
	done = (double)b->n * parts(b->m, b->bytes);
	fprintf(out, "%d %.4f %.3f %.3f\n", b->rank, t[say[1] / 2] / done * 1e6,
		(cpu - cpu0) / done / say[1], (switches - switches0) / done / say[1]);
	fflush(out);
}

/* ---- measures come and go ---- */

static void
leave(struct bench *b)
{
	if (b->m && !b->m->right(b, b->bytes))
		fail(b->m->name, b->bytes);
	free(b->out);
	free(b->in);
	b->out = b->in = NULL;
	b->m = NULL;
	b->n = 0;
}

static void
enter(struct bench *b, const struct measure *m, size_t bytes)
{
	leave(b);
	b->m = m;
	b->bytes = bytes;
	b->room = room_for(m, bytes, b->size);
	/* Page aligned, and never 0 bytes. */
	b->out = aligned_alloc(4096, (b->room / 4096 + 1) * 4096);
	b->in = aligned_alloc(4096, (b->room / 4096 + 1) * 4096);
	if (!b->out || !b->in)
		fail("memory", b->room);
	memset(b->in, 0, b->room);
	m->fill(b);
}

static const struct measure *
named(const char *name)
{
	for (size_t k = 0; k < sizeof measures / sizeof measures[0]; k++)
		if (!strcmp(measures[k].name, name))
			return &measures[k];
	return NULL;
}

/* As many CPUs as ranks: each its own, for all libraries alike.  Two ranks that spin may else
 * share one for seconds, and what is measured is the scheduler.  Two nodes here are one machine, so
 * launchers cannot know. */
static void
pin(const struct bench *b)
{
	cpu_set_t set;

	if (b->size > sysconf(_SC_NPROCESSORS_ONLN))
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)b->rank, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		perror("mpibench: sched_setaffinity");
}

/* A FIFO of the controller, who has it open already. */
static FILE *
channel(const char *dir, const char *name, const char *mode)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, mode);
	if (!f) {
		perror(path);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	return f;
}

int
main(int argc, char **argv)
{
	struct bench b = {0};
	char line[256], what[32], rank[16];
	FILE *in, *out;
	size_t bytes;
	double ms;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &b.size);
	snprintf(rank, sizeof rank, "%d", b.rank);
	if (argc != 2 || b.size < 2) {
		fprintf(stderr, "mpibench DIR, 2 ranks or more\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	pin(&b);
	in = channel(argv[1], rank, "r");
	out = channel(argv[1], "out", "w");
	MPI_Barrier(MPI_COMM_WORLD);
	fprintf(out, "%d 0 0 0\n", b.rank); /* there */
	fflush(out);
	while (fgets(line, sizeof line, in)) {
		const struct measure *m;

		if (sscanf(line, "%31s %zu %lf", what, &bytes, &ms) != 3 || !(m = named(what)))
			break;
		if (m != b.m || bytes != b.bytes)
			enter(&b, m, bytes);
		turn(&b, ms / 1e3, out);
	}
	leave(&b);
	MPI_Finalize();
	return 0;
}
