/* mpibench - times of an MPI library, the same source for every library.
 *
 *   mpibench BUDGET_MS WHAT:BYTES...
 *
 * Rank 0 prints "WHAT BYTES MICROSECONDS" as each is known, the median of some batches:
 *
 *   pingpong   half a round trip between ranks 0 and 1
 *   bandwidth  per message, windows of non-blocking sends of rank 0 to rank 1
 *   rate       the same with messages so small that their number counts
 *   allreduce  sum of doubles, BYTES in all; per call
 *   alltoall   BYTES to every rank
 *   bcast      a root after the other, so no call starts before the one before has arrived
 *
 * and at the end "others PERCENT": what other programs took of the CPUs meanwhile.
 *
 * What arrived last is compared with what must arrive; a wrong byte ends the job. */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BATCHES	    7
#define WINDOW	    64
#define WINDOW_SIZE (16u << 20) /* most bytes in flight */
#define TAG	    5

struct bench {
	int rank, size;
	unsigned char *out, *in;
	size_t room;
	double budget_s;
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
run_window(struct bench *b, size_t bytes, int n)
{
	MPI_Request req[WINDOW];
	int w = window_of(bytes), count = (int)bytes;

	for (int i = 0; i < n && b->rank < 2; i++) {
		for (int k = 0; k < w; k++) {
			size_t at = (size_t)k * bytes;
			if (b->rank == 0)
				MPI_Isend(b->out + at, count, MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
					  &req[k]);
			else
				MPI_Irecv(b->in + at, count, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
					  &req[k]);
		}
		MPI_Waitall(w, req, MPI_STATUSES_IGNORE);
		if (b->rank == 0)
			MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		else
			MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
	}
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

/* ---- what is sent, and what must have come ---- */

static void
fill_bytes(struct bench *b)
{
	for (size_t i = 0; i < b->room; i++)
		b->out[i] = pattern(i, b->rank);
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

struct measure {
	const char *name;
	void (*fill)(struct bench *);
	void (*run)(struct bench *, size_t bytes, int n);
	int (*right)(struct bench *, size_t bytes);
};

static const struct measure measures[] = {
	{"pingpong", fill_bytes, run_pingpong, right_pair},
	{"bandwidth", fill_bytes, run_window, right_window},
	{"rate", fill_bytes, run_window, right_window},
	{"allreduce", fill_doubles, run_allreduce, right_sum},
	{"alltoall", fill_bytes, run_alltoall, right_blocks},
	{"bcast", fill_bcast, run_bcast, right_pattern},
};

/* How many of it one run or call stands for. */
static double
parts(const struct measure *m, size_t bytes)
{
	if (m->run == run_pingpong)
		return 2;
	return m->run == run_window ? window_of(bytes) : 1;
}

static size_t
room_for(const struct measure *m, size_t bytes, int size)
{
	if (m->run == run_window)
		return (size_t)window_of(bytes) * bytes;
	return m->run == run_alltoall ? bytes * (size_t)size : bytes;
}

/* ---- how often ---- */

static double
timed(struct bench *b, const struct measure *m, size_t bytes, int n)
{
	double t0;

	MPI_Barrier(MPI_COMM_WORLD);
	t0 = MPI_Wtime();
	m->run(b, bytes, n);
	return MPI_Wtime() - t0;
}

/* Of one batch, so that BATCHES of them fill the budget; rank 0 says it to all. */
static int
rounds_for(struct bench *b, const struct measure *m, size_t bytes)
{
	double t, want = b->budget_s / BATCHES;
	int say[2] = {1, 0}; /* how many next, whether that is it */

	while (!say[1]) {
		t = timed(b, m, bytes, say[0]);
		if (t > want / 2 || say[0] > 1000000) {
			double n = say[0] * want / t;
			/* Of broadcasts one for each root: the first one's return says nothing. */
			int least = m->run == run_bcast ? b->size : 1;
			say[0] = n < least ? least : (int)n;
			say[1] = 1;
		} else {
			say[0] *= 4;
		}
		MPI_Bcast(say, 2, MPI_INT, 0, MPI_COMM_WORLD);
	}
	return say[0];
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void
measure(struct bench *b, const struct measure *m, size_t bytes)
{
	double t[BATCHES];
	int n;

	b->room = room_for(m, bytes, b->size);
	/* Page aligned, and never 0 bytes. */
	b->out = aligned_alloc(4096, (b->room / 4096 + 1) * 4096);
	b->in = aligned_alloc(4096, (b->room / 4096 + 1) * 4096);
	if (!b->out || !b->in)
		fail("memory", b->room);
	memset(b->in, 0, b->room);
	m->fill(b);
	n = rounds_for(b, m, bytes);
	for (int i = 0; i < BATCHES; i++)
		t[i] = timed(b, m, bytes, n);
	if (!m->right(b, bytes))
		fail(m->name, bytes);
	qsort(t, BATCHES, sizeof t[0], by_value);
	if (b->rank == 0) {
		printf("%s %zu %.4f\n", m->name, bytes, t[BATCHES / 2] / n / parts(m, bytes) * 1e6);
		fflush(stdout);
	}
	free(b->out);
	free(b->in);
}

/* measure_named: "WHAT:BYTES"; false if there is no such. */
static int
measure_named(struct bench *b, const char *word)
{
	const char *colon = strchr(word, ':');

	for (size_t k = 0; colon && k < sizeof measures / sizeof measures[0]; k++)
		if (!strncmp(measures[k].name, word, (size_t)(colon - word)) &&
		    !measures[k].name[colon - word]) {
			measure(b, &measures[k], strtoul(colon + 1, NULL, 10));
			return 1;
		}
	return 0;
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

/* Seconds that programs ran on all CPUs, not what interrupts took (a rank's own packets, here),
 * and those of this process; without /proc/stat both 0. */
struct used {
	double all, own;
};

static struct used
used_now(void)
{
	double user, nice, system;
	struct used u = {0};
	struct rusage r;
	FILE *f = fopen("/proc/stat", "r");

	if (!f)
		return u;
	if (fscanf(f, "cpu %lf %lf %lf", &user, &nice, &system) == 3 &&
	    !getrusage(RUSAGE_SELF, &r)) {
		u.all = (user + nice + system) / (double)sysconf(_SC_CLK_TCK);
		u.own = (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
			(double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
	}
	fclose(f);
	return u;
}

static void
tell_others(const struct bench *b, struct used u0, double t0)
{
	struct used u = used_now();
	double own = u.own - u0.own, ranks = 0;
	double room = (MPI_Wtime() - t0) * (double)sysconf(_SC_NPROCESSORS_ONLN);

	MPI_Reduce(&own, &ranks, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (b->rank == 0)
		printf("others %.0f\n", room > 0 ? 100 * (u.all - u0.all - ranks) / room : 0);
}

int
main(int argc, char **argv)
{
	struct bench b = {.budget_s = argc > 1 ? strtod(argv[1], NULL) / 1e3 : 0};
	struct used u0;
	double t0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &b.size);
	pin(&b);
	MPI_Barrier(MPI_COMM_WORLD);
	u0 = used_now();
	t0 = MPI_Wtime();
	for (int i = 2; i < argc; i++)
		if (b.size < 2 || !measure_named(&b, argv[i])) {
			fprintf(stderr, "mpibench BUDGET_MS WHAT:BYTES..., 2 ranks or more\n");
			MPI_Abort(MPI_COMM_WORLD, 2);
		}
	tell_others(&b, u0, t0);
	MPI_Finalize();
	return 0;
}
