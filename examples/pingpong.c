/* SPDX-License-Identifier: BSD-2-Clause */
/* pingpong - latency and bandwidth between two MPI processes, every byte checked.
 *
 *   pingpong [--max BYTES] [--quick] [--json FILE] [--peer RANK] [--budget-ms MS]
 *
 * Rank 0 and the peer (default: the highest rank, so over two clusters it is
 * a process of the other one) bounce messages of 0, 1, 2, 4 ... BYTES bytes
 * (default 4 MiB).  The pattern of a message depends on its size, round and
 * direction; each receiver compares every byte.  Each size runs as many rounds
 * as fit its share of the budget (at least 3); a size of which one exchange takes
 * a quarter of the budget is the last (a lossy or slow WAN).  Rank 0 prints half round trip
 * (median and minimum) and bandwidth; --json writes the same. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 2000
#define TAG_DATA   7
#define TAG_ROUNDS 8

struct options {
	size_t max_bytes;
	const char *json;
	int peer;
	double budget_s;
};

static void
usage(const char *why)
{
	fprintf(stderr,
		"pingpong: %s\nusage: pingpong [--max BYTES] [--quick] [--json FILE] [--peer RANK] "
		"[--budget-ms MS]\n",
		why);
	MPI_Abort(MPI_COMM_WORLD, 2);
	exit(2);
}

static struct options
options_read(int argc, char **argv, int size)
{
	struct options o = {.max_bytes = 4u << 20, .peer = size - 1, .budget_s = 4.0};
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--quick"))
			o.budget_s = 1.0;
		else if (i + 1 >= argc)
			usage("an option is unknown or lacks its value");
		else if (!strcmp(argv[i], "--max"))
			o.max_bytes = strtoull(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--json"))
			o.json = argv[++i];
		else if (!strcmp(argv[i], "--peer"))
			o.peer = (int)strtol(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--budget-ms"))
			o.budget_s = strtod(argv[++i], NULL) / 1e3;
		else
			usage("unknown option");
	}
	if (o.peer <= 0 || o.peer >= size)
		usage("needs two processes, and a peer rank between 1 and the last");
	return o;
}

static void
fill(uint8_t *p, size_t n, uint32_t seed)
{
	uint32_t x = seed * 2654435761u + 1;
	size_t i = 0;
	for (; i + 4 <= n; i += 4) {
		x ^= x << 13, x ^= x >> 17, x ^= x << 5;
		memcpy(p + i, &x, 4);
	}
	for (; i < n; i++)
		p[i] = (uint8_t)(seed + i);
}

static void
check(const uint8_t *got, uint8_t *want, size_t n, uint32_t seed, MPI_Status *st)
{
	int count;
	MPI_Get_count(st, MPI_BYTE, &count);
	fill(want, n, seed);
	if ((size_t)count == n && !memcmp(got, want, n))
		return;
	size_t at = 0;
	while (at < n && got[at] == want[at])
		at++;
	fprintf(stderr,
		"pingpong: message of %zu bytes came as %d bytes, first wrong byte at %zu\n", n,
		count, at);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

struct row {
	size_t bytes;
	int rounds;
	int last; /* no time for larger ones */
	double half_us_median, half_us_min, mb_per_s;
};

/* One exchange; the times of checking and filling stay outside. */
static double
exchange(uint8_t *out, uint8_t *in, uint8_t *want, size_t n, int peer, int first, uint32_t seed)
{
	MPI_Status st;
	double t0 = 0, t1 = 0;
	if (first) {
		fill(out, n, seed);
		t0 = MPI_Wtime();
		MPI_Send(out, (int)n, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD);
		MPI_Recv(in, (int)n, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, &st);
		t1 = MPI_Wtime();
		check(in, want, n, seed + 1, &st);
	} else {
		fill(out, n, seed + 1);
		MPI_Recv(in, (int)n, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, &st);
		MPI_Send(out, (int)n, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD);
		check(in, want, n, seed, &st);
	}
	return t1 - t0;
}

/* The answer leaves before it is checked, so a wrong byte shows one step later
 * but the time is that of the network. */
static struct row
measure(size_t n, int peer, int first, double budget_s, double whole_s, uint8_t *buf[3])
{
	static double half_us[ROUNDS_MAX];
	uint32_t seed = (uint32_t)(n * 7 + 13);
	double warm = exchange(buf[0], buf[1], buf[2], n, peer, first, seed);
	int plan[2] = {0, 0}; /* rounds, is this the last size */
	if (first) {
		double each = warm > 1e-7 ? warm : 1e-7;
		plan[0] = budget_s / each > ROUNDS_MAX ? ROUNDS_MAX : (int)(budget_s / each);
		plan[0] = plan[0] < 3 ? 3 : plan[0];
		plan[1] = 4 * each > whole_s;
		MPI_Send(plan, 2, MPI_INT, peer, TAG_ROUNDS, MPI_COMM_WORLD);
	} else {
		MPI_Recv(plan, 2, MPI_INT, peer, TAG_ROUNDS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	int rounds = plan[0];
	for (int i = 0; i < rounds; i++) {
		seed += 2;
		half_us[i] = exchange(buf[0], buf[1], buf[2], n, peer, first, seed) * 1e6 / 2;
	}
	qsort(half_us, (size_t)rounds, sizeof *half_us, by_value);
	struct row r = {.bytes = n,
			.rounds = rounds,
			.last = plan[1],
			.half_us_median = half_us[rounds / 2],
			.half_us_min = half_us[0]};
	r.mb_per_s = r.half_us_median > 0 ? (double)n / r.half_us_median : 0;
	return r;
}

static void
json_write(const char *path, const struct row *row, int rows, const char *here, const char *there)
{
	FILE *f = fopen(path, "w");
	if (!f) {
		perror(path);
		MPI_Abort(MPI_COMM_WORLD, 1);
		return;
	}
	fprintf(f, "{\"from\": \"%s\", \"to\": \"%s\", \"rows\": [\n", here, there);
	for (int i = 0; i < rows; i++)
		fprintf(f,
			"  {\"bytes\": %zu, \"rounds\": %d, \"half_us_median\": %.3f, "
			"\"half_us_min\": %.3f, \"mb_per_s\": %.3f}%s\n",
			row[i].bytes, row[i].rounds, row[i].half_us_median, row[i].half_us_min,
			row[i].mb_per_s, i + 1 < rows ? "," : "");
	fprintf(f, "]}\n");
	if (fclose(f))
		perror(path);
}

int
main(int argc, char **argv)
{
	int rank, size, len;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	struct options o = options_read(argc, argv, size);
	char name[2][MPI_MAX_PROCESSOR_NAME] = {"", ""};
	MPI_Get_processor_name(name[0], &len);
	if (rank == o.peer)
		MPI_Send(name[0], sizeof name[0], MPI_CHAR, 0, 1, MPI_COMM_WORLD);
	if (rank == 0) {
		MPI_Recv(name[1], sizeof name[1], MPI_CHAR, o.peer, 1, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		printf("rank 0 (%s) <-> rank %d (%s), every byte checked\n", name[0], o.peer,
		       name[1]);
		printf("%10s %8s %14s %12s %12s\n", "bytes", "rounds", "half rtt us", "min us",
		       "MB/s");
	}
	struct row row[64];
	int rows = 0, sizes = 2;
	for (size_t n = 1; n < o.max_bytes; n *= 2)
		sizes++;
	if (rank == 0 || rank == o.peer) {
		uint8_t *buf[3];
		for (int i = 0; i < 3; i++)
			if (!(buf[i] = malloc(o.max_bytes + 1)))
				MPI_Abort(MPI_COMM_WORLD, 1);
		for (size_t n = 0; n <= o.max_bytes && rows < 64; n = n ? n * 2 : 1) {
			row[rows] = measure(n, rank ? 0 : o.peer, !rank, o.budget_s / sizes,
					    o.budget_s, buf);
			if (!rank)
				printf("%10zu %8d %14.2f %12.2f %12.2f\n", n, row[rows].rounds,
				       row[rows].half_us_median, row[rows].half_us_min,
				       row[rows].mb_per_s);
			if (!rank)
				fflush(stdout);
			if (row[rows++].last)
				break;
		}
		for (int i = 0; i < 3; i++)
			free(buf[i]);
		if (!rank && o.json)
			json_write(o.json, row, rows, name[0], name[1]);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
