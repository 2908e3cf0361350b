/* peer SCRIPT [NAME=VALUE ...]: scripts of test/interop/scripts.py as an MPI program, for
 * jobs in which libmpi talks to a foreign client.  Exit status 0 if all checks hold;
 * a check that fails says so and calls MPI_Abort. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x)                              \
	do {                                  \
		if (!(x))                     \
			failed(__LINE__, #x); \
	} while (0)

static int rank, size;
static int datalen = 16384; /* the job's; sizes around it are sent */

static void
failed(int line, const char *what)
{
	fprintf(stderr, "peer: rank %d: line %d: %s\n", rank, line, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

/* pattern() of scripts.py */
static unsigned char *
pattern(int n, int seed)
{
	unsigned char *p = malloc((size_t)n + 1);
	CHECK(p);
	for (int i = 0; i < n; i++)
		p[i] = (unsigned char)(i * 7 + seed * 31 + (i >> 8));
	return p;
}

static void
send_bytes(int n, int seed, int dest, int tag, int sync)
{
	unsigned char *p = pattern(n, seed);
	(sync ? MPI_Ssend : MPI_Send)(p, n, MPI_BYTE, dest, tag, MPI_COMM_WORLD);
	free(p);
}

static void
check_bytes(const unsigned char *got, int n, int seed)
{
	unsigned char *want = pattern(n, seed);
	CHECK(memcmp(got, want, (size_t)n) == 0);
	free(want);
}

static void
recv_bytes(int n, int seed, int src, int tag)
{
	unsigned char *p = malloc((size_t)n + 1);
	MPI_Status st;
	int count;
	CHECK(p);
	MPI_Recv(p, n, MPI_BYTE, src, tag, MPI_COMM_WORLD, &st);
	MPI_Get_count(&st, MPI_BYTE, &count);
	CHECK(count == n && st.MPI_SOURCE == src && st.MPI_TAG == tag);
	check_bytes(p, n, seed);
	free(p);
}

/* First and last rank talk; the others stand by. */
static int
other_end(void)
{
	return rank == 0 ? size - 1 : rank == size - 1 ? 0 : -1;
}

static void
pingpong(void)
{
	static const int n[] = {0, 1, 8, 100, 1024};
	for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
		if (rank == 0) {
			send_bytes(n[i], 1, size - 1, 11, 0);
			recv_bytes(n[i], 1, size - 1, 12);
		} else if (rank == size - 1) {
			recv_bytes(n[i], 1, 0, 11);
			send_bytes(n[i], 1, 0, 12, 0);
		}
	}
}

static void
one_size(int n, int sync, int posted, int sender, int other)
{
	if (rank == sender) {
		if (posted)
			recv_bytes(0, 0, other, 90);
		send_bytes(n, n, other, 21, sync);
		return;
	}
	MPI_Status st;
	if (!posted) {
		int count;
		MPI_Probe(other, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
		MPI_Get_count(&st, MPI_BYTE, &count);
		CHECK(st.MPI_TAG == 21 && count == n);
		recv_bytes(n, n, other, 21);
		return;
	}
	unsigned char *p = malloc((size_t)n + 1);
	MPI_Request req;
	CHECK(p);
	MPI_Irecv(p, n, MPI_BYTE, other, 21, MPI_COMM_WORLD, &req);
	send_bytes(0, 0, other, 90, 0);
	MPI_Wait(&req, &st);
	check_bytes(p, n, n);
	free(p);
}

static void
sizes(void)
{
	const int d = datalen, other = other_end();
	const int n[] = {0, 1, d - 1, d, d + 1, 2 * d, 2 * d + 1, 10 * d + 1};
	for (size_t i = 0; i < sizeof n / sizeof *n && other >= 0; i++) {
		if (i >= 2 && n[i] <= n[i - 1])
			continue; /* the script sends each size once */
		for (int k = 0; k < 8; k++)
			one_size(n[i], k >> 2, k >> 1 & 1, k & 1 ? size - 1 : 0, other);
	}
}

static void
all_pairs(void)
{
	for (int r = 0; r < size; r++) {
		int v = rank * 1000 + r;
		if (r != rank)
			MPI_Send(&v, 1, MPI_INT, r, 30, MPI_COMM_WORLD);
	}
	for (int r = 0; r < size; r++) {
		int v = 0;
		if (r == rank)
			continue;
		MPI_Recv(&v, 1, MPI_INT, r, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(v == r * 1000 + rank);
	}
}

static void
types(void)
{
	static const signed char b[] = {-128, -1, 127};
	static const short h[] = {-2, 0x1234};
	static const int i[] = {0x01020304, -1};
	static const long l[] = {-3, 0x7fffffff};
	static const long long q[] = {-0x7fffffffffffffff - 1, (1ll << 40) + 1};
	static const float f[] = {0.5f, -1.5f};
	static const double d[] = {1.5, -2.25, 1e300};
	const struct {
		const void *v;
		int n;
		size_t bytes;
		MPI_Datatype type;
	} t[] = {{b, 3, sizeof b, MPI_SIGNED_CHAR}, {h, 2, sizeof h, MPI_SHORT},
		 {i, 2, sizeof i, MPI_INT},	    {l, 2, sizeof l, MPI_LONG},
		 {q, 2, sizeof q, MPI_LONG_LONG},   {f, 2, sizeof f, MPI_FLOAT},
		 {d, 3, sizeof d, MPI_DOUBLE}};
	const int other = other_end();
	for (int k = 0; k < (int)(sizeof t / sizeof *t) && other >= 0; k++) {
		unsigned char got[64];
		MPI_Status st;
		int n;
		MPI_Send(t[k].v, t[k].n, t[k].type, other, k, MPI_COMM_WORLD);
		MPI_Recv(got, t[k].n, t[k].type, other, k, MPI_COMM_WORLD, &st);
		MPI_Get_count(&st, t[k].type, &n);
		CHECK(n == t[k].n && memcmp(got, t[k].v, t[k].bytes) == 0);
	}
}

/* collectives of the script with world_only=1, but for its non-commutative reduce of
 * 2x2 matrices as four 64-bit integers, which is here a user operation. */
static void
matrices(void *in, void *inout, int *len, MPI_Datatype *type)
{
	(void)type;
	for (int k = 0; k < *len; k++) {
		const long long *a = (const long long *)in + 4 * k;
		long long *b = (long long *)inout + 4 * k;
		const long long c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
					a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
		memcpy(b, c, sizeof c);
	}
}

static void
bcast_and_reduce(int root, int count)
{
	int v[8], sum[8] = {0};
	for (int k = 0; k < count; k++)
		v[k] = rank == root ? root * 100 + k : -1;
	MPI_Bcast(v, count, MPI_INT, root, MPI_COMM_WORLD);
	for (int k = 0; k < count; k++)
		CHECK(v[k] == root * 100 + k);
	for (int k = 0; k < count; k++)
		v[k] = rank + k;
	MPI_Reduce(v, sum, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
	for (int k = 0; k < count && rank == root; k++)
		CHECK(sum[k] == size * (size - 1) / 2 + k * size);
}

static void
collectives(void)
{
	MPI_Datatype matrix;
	MPI_Op op;
	int v[2] = {rank, 1}, sum[2];
	double x = rank + 0.5, y;

	MPI_Type_contiguous(4, MPI_LONG_LONG, &matrix);
	MPI_Type_commit(&matrix);
	MPI_Op_create(matrices, 0, &op);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int root = 0; root < size; root++) {
		long long mine[4] = {rank + 1, 1, 0, 1}, got[4], want[4] = {1, 0, 0, 1};
		static const int counts[] = {1, 0, 5};
		for (int k = 0; k < 3; k++)
			bcast_and_reduce(root, counts[k]);
		MPI_Reduce(mine, got, 1, matrix, op, root, MPI_COMM_WORLD);
		for (int r = size - 1; r >= 0 && rank == root; r--) {
			long long one[4] = {r + 1, 1, 0, 1};
			int n = 1;
			matrices(one, want, &n, &matrix);
		}
		CHECK(rank != root || memcmp(got, want, sizeof want) == 0);
	}
	MPI_Allreduce(v, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(sum[0] == size * (size - 1) / 2 && sum[1] == size);
	MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	CHECK(y > size - 0.75 && y < size - 0.25);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Op_free(&op);
	MPI_Type_free(&matrix);
}

static void
empty(void)
{
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scripts[] = {
		{"empty", empty},	  {"pingpong", pingpong}, {"sizes", sizes},
		{"all_pairs", all_pairs}, {"types", types},	  {"collectives", collectives},
	};
	void (*run)(void) = NULL;
	for (size_t i = 0; argc > 1 && i < sizeof scripts / sizeof *scripts; i++)
		if (!strcmp(argv[1], scripts[i].name))
			run = scripts[i].run;
	for (int i = 2; i < argc; i++)
		if (!strncmp(argv[i], "datalen=", 8))
			datalen = (int)strtol(argv[i] + 8, NULL, 10);
	if (!run) {
		fprintf(stderr, "usage: peer SCRIPT [datalen=N]; scripts:");
		for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
			fprintf(stderr, " %s", scripts[i].name);
		fprintf(stderr, "\n");
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	run();
	MPI_Finalize();
	return 0;
}
