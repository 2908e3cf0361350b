/* SPDX-License-Identifier: BSD-2-Clause */
/* mpicount - what one call of an MPI library asks of the machine: `make bench-counts`.
 *
 *   mpicount WHAT BYTES CALLS
 *
 * WHAT is alltoall, sendrecv or pingpong.  After a tenth as many calls for warming up, CALLS of
 * them are counted.  The process runs under `perf stat --control fifo:$MPICOUNT-ctl,$MPICOUNT-ack`,
 * which is told to count then; rank 0 prints one line of JSON, of the time and of what went over
 * eth0.  MPICOUNT_ALONE=1: while it counts it is scheduled in real time, so that other work of the
 * machine does not take part. */
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct wire {
	double rx_bytes, rx, tx_bytes, tx;
};

static int control = -1, answer = -1;

static void
open_control(int rank)
{
	const char *at = getenv("MPICOUNT");
	char path[4096];

	if (!at)
		return;
	snprintf(path, sizeof path, "%s-ctl", at);
	control = open(path, O_WRONLY);
	snprintf(path, sizeof path, "%s-ack", at);
	answer = open(path, O_RDONLY);
	if (control < 0 || answer < 0) {
		fprintf(stderr, "mpicount: rank %d: no perf at %s\n", rank, at);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

/* What perf is told, and that it has heard. */
static void
tell_perf(const char *word)
{
	char b[16];

	if (control < 0)
		return;
	if (write(control, word, strlen(word)) < 0 || read(answer, b, sizeof b) <= 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
}

static void
be_alone(bool yes)
{
	struct sched_param p = {.sched_priority = yes ? 10 : 0};

	if (getenv("MPICOUNT_ALONE") && sched_setscheduler(0, yes ? SCHED_RR : SCHED_OTHER, &p) < 0)
		perror("mpicount: sched_setscheduler");
}

static struct wire
read_wire(void)
{
	struct wire w = {0};
	char line[512];
	FILE *f = fopen("/proc/self/net/dev", "r");

	while (f && fgets(line, sizeof line, f)) {
		char *p = strstr(line, "eth0:");
		if (p)
			sscanf(p + 5, "%lf %lf %*f %*f %*f %*f %*f %*f %lf %lf", &w.rx_bytes, &w.rx,
			       &w.tx_bytes, &w.tx);
	}
	if (f)
		fclose(f);
	return w;
}

static void
run_calls(const char *what, int bytes, char *out, char *in, int rank, int calls)
{
	int other = !rank;

	for (int i = 0; i < calls; i++) {
		if (!strcmp(what, "alltoall")) {
			MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
		} else if (!strcmp(what, "sendrecv")) {
			MPI_Sendrecv(out, bytes, MPI_BYTE, other, 1, in, bytes, MPI_BYTE, other, 1,
				     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			if (rank == 0)
				MPI_Send(out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
			MPI_Recv(in, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			if (rank == 1)
				MPI_Send(out, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
		}
	}
}

int
main(int argc, char **argv)
{
	struct rusage a, b;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc != 4)
		MPI_Abort(MPI_COMM_WORLD, 2);
	int bytes = (int)strtol(argv[2], NULL, 10), calls = (int)strtol(argv[3], NULL, 10);
	char *out = malloc(2 * (size_t)bytes), *in = malloc(2 * (size_t)bytes);
	memset(out, 1, 2 * (size_t)bytes);
	memset(in, 1, 2 * (size_t)bytes);
	open_control(rank);
	MPI_Barrier(MPI_COMM_WORLD);
	be_alone(true);
	run_calls(argv[1], bytes, out, in, rank, calls / 10);
	be_alone(false);
	tell_perf("enable\n");
	MPI_Barrier(MPI_COMM_WORLD);
	be_alone(true);
	struct wire w = read_wire();
	getrusage(RUSAGE_SELF, &a);
	double t = MPI_Wtime();
	run_calls(argv[1], bytes, out, in, rank, calls);
	t = MPI_Wtime() - t;
	getrusage(RUSAGE_SELF, &b);
	struct wire v = read_wire();
	be_alone(false);
	tell_perf("disable\n");
	MPI_Barrier(MPI_COMM_WORLD);
	double n = calls;
#define US(f) (((double)(b.f.tv_sec - a.f.tv_sec) * 1e6 + (double)(b.f.tv_usec - a.f.tv_usec)) / n)
	if (rank == 0)
		printf("{\"us\": %.2f, \"user_us\": %.2f, \"sys_us\": %.2f, \"own_switches\": "
		       "%.3f, "
		       "\"switched\": %.3f, \"tx\": %.2f, \"rx\": %.2f, \"tx_bytes\": %.0f, "
		       "\"rx_bytes\": %.0f}\n",
		       t / n * 1e6, US(ru_utime), US(ru_stime),
		       (double)(b.ru_nvcsw - a.ru_nvcsw) / n,
		       (double)(b.ru_nivcsw - a.ru_nivcsw) / n, (v.tx - w.tx) / n,
		       (v.rx - w.rx) / n, (v.tx_bytes - w.tx_bytes) / n,
		       (v.rx_bytes - w.rx_bytes) / n);
	MPI_Finalize();
	free(out);
	free(in);
	return 0;
}
