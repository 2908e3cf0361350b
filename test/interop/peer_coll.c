/* SPDX-License-Identifier: BSD-2-Clause */
/* Scripts of scripts.py: collectives, communicators, attributes. */
#include "peer.h"

#include <unistd.h>

enum { COMMS = 7 };

/* 2x2 matrices of long long: not commutative. */
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

/* The communicator a test runs on, and the operation above. */
static struct {
	MPI_Comm comm;
	int me, size;
	MPI_Datatype matrix;
	MPI_Op multiply;
} on;

static void
matrices_begin(void)
{
	MPI_Type_contiguous(4, MPI_LONG_LONG, &on.matrix);
	MPI_Type_commit(&on.matrix);
	MPI_Op_create(matrices, 0, &on.multiply);
}

static void
matrices_end(void)
{
	MPI_Op_free(&on.multiply);
	MPI_Type_free(&on.matrix);
}

/* The product of the matrices of ranks 0 .. last. */
static void
product(int last, long long want[4])
{
	const long long unit[4] = {1, 0, 0, 1};
	memcpy(want, unit, sizeof unit);
	for (int r = last; r >= 0; r--) {
		long long one[4] = {r + 1, 1, 0, 1};
		int n = 1;
		matrices(one, want, &n, &on.matrix);
	}
}

/* --- communicators: other_comms() ------------------------------------------ */

static MPI_Comm
create(const int *ranks, int n)
{
	MPI_Group all, some;
	MPI_Comm made;
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, n, ranks, &some);
	MPI_Comm_create(MPI_COMM_WORLD, some, &made);
	MPI_Group_free(&some);
	MPI_Group_free(&all);
	return made;
}

/* Of turns: by number inside its client, then by descending rank. */
static int
before(int a, int b)
{
	int na = a - peer_first_rank_of_client(peer_client_of(a));
	int nb = b - peer_first_rank_of_client(peer_client_of(b));
	return na != nb ? na < nb : a > b;
}

static int
other_comms(MPI_Comm comm[COMMS])
{
	int *ranks = peer_room((size_t)(peer_size + 1) * sizeof *ranks), n = 0;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm[0]);
	for (int r = 0; r < peer_size; r++)
		ranks[r] = peer_size - 1 - r;
	comm[1] = create(ranks, peer_size);
	for (int r = 0; r < peer_size; r++) {
		int at = r;
		for (; at > 0 && before(r, ranks[at - 1]); at--)
			ranks[at] = ranks[at - 1];
		ranks[at] = r;
	}
	comm[2] = create(ranks, peer_size);
	for (int r = 0; r < peer_size; r += 2)
		ranks[n++] = r;
	if (ranks[n - 1] != peer_size - 1)
		ranks[n++] = peer_size - 1;
	comm[3] = create(ranks, n);
	free(ranks);
	return 4;
}

static int
set_comm(MPI_Comm comm)
{
	if (comm == MPI_COMM_NULL)
		return 0;
	on.comm = comm;
	MPI_Comm_rank(comm, &on.me);
	MPI_Comm_size(comm, &on.size);
	return 1;
}

/* --- collectives ------------------------------------------------------------ */

static void
bcast_and_reduce(int root, int count)
{
	int *v = peer_room((size_t)count * sizeof *v), *sum = peer_room((size_t)count * sizeof *v);
	for (int k = 0; k < count; k++)
		v[k] = on.me == root ? root * 100 + k : -1;
	MPI_Bcast(v, count, MPI_INT, root, on.comm);
	for (int k = 0; k < count; k++)
		CHECK(v[k] == root * 100 + k);
	for (int k = 0; k < count; k++)
		v[k] = on.me + k;
	MPI_Reduce(v, sum, count, MPI_INT, MPI_SUM, root, on.comm);
	for (int k = 0; k < count && on.me == root; k++)
		CHECK(sum[k] == on.size * (on.size - 1) / 2 + k * on.size);
	free(v);
	free(sum);
}

static void
reduce_matrices(int root)
{
	long long mine[4] = {on.me + 1, 1, 0, 1}, got[4], want[4];
	MPI_Reduce(mine, got, 1, on.matrix, on.multiply, root, on.comm);
	product(on.size - 1, want);
	CHECK(on.me != root || memcmp(got, want, sizeof want) == 0);
}

static void
collectives_on(MPI_Comm comm)
{
	if (!set_comm(comm))
		return;
	int v[2] = {on.me, 1}, sum[2];
	double x = on.me + 0.5, y = 0;

	MPI_Barrier(on.comm);
	for (int root = 0; root < on.size; root++) {
		bcast_and_reduce(root, 1);
		bcast_and_reduce(root, 0);
		bcast_and_reduce(root, peer_args.world_only ? 5 : peer_args.datalen / 4 + 3);
		reduce_matrices(root);
	}
	MPI_Allreduce(v, sum, 2, MPI_INT, MPI_SUM, on.comm);
	CHECK(sum[0] == on.size * (on.size - 1) / 2 && sum[1] == on.size);
	MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_MAX, on.comm);
	CHECK(y > on.size - 0.75 && y < on.size - 0.25);
	MPI_Barrier(on.comm);
}

void
peer_collectives(void)
{
	MPI_Comm comm[COMMS];
	int n = peer_args.world_only ? 0 : other_comms(comm);

	matrices_begin();
	collectives_on(MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		collectives_on(comm[i]);
	for (int i = 0; i < n; i++)
		if (comm[i] != MPI_COMM_NULL)
			MPI_Comm_free(&comm[i]);
	matrices_end();
}

/* --- the profile's others: profile() ---------------------------------------- */

static int
value(int src, int dest, int k)
{
	return src * 1000 + dest * 37 + k;
}

/* Gather and scatter; of longs if wide. */
static void
rooted(int root, int count, int wide)
{
	const size_t one = wide ? sizeof(long) : sizeof(int), n = (size_t)(count * on.size);
	MPI_Datatype type = wide ? MPI_LONG : MPI_INT;
	long *ls = peer_room(n * sizeof *ls), *lr = peer_room(n * sizeof *lr);
	int *s = (int *)ls, *r = (int *)lr;

	memset(lr, 0, n * one);
	for (int k = 0; k < count; k++)
		wide ? (ls[k] = value(on.me, root, k)) : (s[k] = value(on.me, root, k));
	MPI_Gather(ls, count, type, lr, count, type, root, on.comm);
	for (int i = 0; i < on.size && on.me == root; i++)
		for (int k = 0; k < count; k++)
			CHECK((wide ? lr[i * count + k] : r[i * count + k]) == value(i, root, k));
	for (int i = 0; i < on.size; i++)
		for (int k = 0; k < count; k++) {
			int v = on.me == root ? value(root, i, k) : -1;
			wide ? (ls[i * count + k] = v) : (s[i * count + k] = v);
		}
	memset(lr, 0, n * one);
	MPI_Scatter(ls, count, type, lr, count, type, root, on.comm);
	for (int k = 0; k < count; k++)
		CHECK((wide ? lr[k] : r[k]) == value(root, on.me, k));
	free(ls);
	free(lr);
}

/* counts[i] = i % 3 and where each block begins; how many in all. */
static int
uneven(int *counts, int *at)
{
	int total = 0;
	for (int i = 0; i < on.size; i++) {
		counts[i] = i % 3;
		at[i] = total;
		total += counts[i];
	}
	return total;
}

static void
rooted_v(int root)
{
	int *counts = peer_room((size_t)on.size * 2 * sizeof *counts), *at = counts + on.size;
	int total = uneven(counts, at), mine[2], got[2];
	int *all = peer_room((size_t)total * sizeof *all);

	for (int k = 0; k < counts[on.me]; k++)
		mine[k] = value(on.me, root, k);
	MPI_Gatherv(mine, counts[on.me], MPI_INT, all, counts, at, MPI_INT, root, on.comm);
	for (int i = 0; i < on.size && on.me == root; i++)
		for (int k = 0; k < counts[i]; k++)
			CHECK(all[at[i] + k] == value(i, root, k));
	MPI_Scatterv(all, counts, at, MPI_INT, got, counts[on.me], MPI_INT, root, on.comm);
	CHECK(memcmp(got, mine, (size_t)counts[on.me] * sizeof *got) == 0);
	free(all);
	free(counts);
}

static void
everywhere(int count)
{
	const size_t n = (size_t)(count * on.size);
	int *s = peer_room(n * sizeof *s), *r = peer_room(n * sizeof *r);

	for (int k = 0; k < count; k++)
		s[k] = value(on.me, 0, k);
	MPI_Allgather(s, count, MPI_INT, r, count, MPI_INT, on.comm);
	for (int i = 0; i < on.size; i++)
		for (int k = 0; k < count; k++)
			CHECK(r[i * count + k] == value(i, 0, k));
	for (int i = 0; i < on.size; i++)
		for (int k = 0; k < count; k++)
			s[i * count + k] = value(on.me, i, k);
	MPI_Alltoall(s, count, MPI_INT, r, count, MPI_INT, on.comm);
	for (int i = 0; i < on.size; i++)
		for (int k = 0; k < count; k++)
			CHECK(r[i * count + k] == value(i, on.me, k));
	free(s);
	free(r);
}

static void
alltoall_uneven(void)
{
	const size_t n = (size_t)on.size;
	int *counts = peer_room(2 * n * sizeof *counts), *at = counts + n, total = 0;

	for (int i = 0; i < on.size; i++) {
		counts[i] = (on.me + i) % 3;
		at[i] = total;
		total += counts[i];
	}
	int *s = peer_room((size_t)total * sizeof *s), *r = peer_room((size_t)total * sizeof *r);
	for (int i = 0; i < on.size; i++)
		for (int k = 0; k < counts[i]; k++)
			s[at[i] + k] = value(on.me, i, k);
	MPI_Alltoallv(s, counts, at, MPI_INT, r, counts, at, MPI_INT, on.comm);
	for (int i = 0; i < on.size; i++)
		for (int k = 0; k < counts[i]; k++)
			CHECK(r[at[i] + k] == value(i, on.me, k));
	free(s);
	free(r);
	free(counts);
}

static void
everywhere_v(void)
{
	int *counts = peer_room((size_t)on.size * 2 * sizeof *counts), *at = counts + on.size;
	int total = uneven(counts, at), mine[2], got[2];
	int *all = peer_room((size_t)total * sizeof *all);

	for (int k = 0; k < counts[on.me]; k++)
		mine[k] = value(on.me, 0, k);
	MPI_Allgatherv(mine, counts[on.me], MPI_INT, all, counts, at, MPI_INT, on.comm);
	for (int i = 0; i < on.size; i++)
		for (int k = 0; k < counts[i]; k++)
			CHECK(all[at[i] + k] == value(i, 0, k));
	alltoall_uneven();
	for (int k = 0; k < total; k++)
		all[k] = on.me + k;
	MPI_Reduce_scatter(all, got, counts, MPI_INT, MPI_SUM, on.comm);
	for (int k = 0; k < counts[on.me]; k++)
		CHECK(got[k] == on.size * (on.size - 1) / 2 + (at[on.me] + k) * on.size);
	free(all);
	free(counts);
}

static void
scan(void)
{
	int v[2] = {on.me, 1}, sum[2];
	long long mine[4] = {on.me + 1, 1, 0, 1}, got[4], want[4];

	MPI_Scan(v, sum, 2, MPI_INT, MPI_SUM, on.comm);
	CHECK(sum[0] == on.me * (on.me + 1) / 2 && sum[1] == on.me + 1);
	MPI_Scan(mine, got, 1, on.matrix, on.multiply, on.comm);
	product(on.me, want);
	CHECK(memcmp(got, want, sizeof want) == 0);
}

static void
profile_on(MPI_Comm comm)
{
	if (!set_comm(comm))
		return;
	const int x = peer_args.xsize / 4, counts[3] = {0, 3, x + 1};
	for (int root = 0; root < on.size; root++) {
		for (int i = 0; i < 3; i++)
			rooted(root, counts[i], 0);
		rooted(root, x - x / 4, 1); /* short on the wire, long in memory */
		rooted_v(root);
	}
	for (int i = 0; i < 3; i++)
		everywhere(counts[i]);
	everywhere_v();
	scan();
	MPI_Barrier(on.comm);
}

void
peer_profile(void)
{
	MPI_Comm comm[COMMS];
	int n = other_comms(comm);

	MPI_Comm_split(MPI_COMM_WORLD, peer_rank % 2, -peer_rank, &comm[n++]);
	MPI_Comm_split(MPI_COMM_WORLD, peer_rank == peer_size - 1 ? MPI_UNDEFINED : 0, peer_rank,
		       &comm[n++]);
	matrices_begin();
	profile_on(MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		profile_on(comm[i]);
	for (int i = 0; i < n; i++)
		if (comm[i] != MPI_COMM_NULL)
			MPI_Comm_free(&comm[i]);
	matrices_end();
}

/* --- barrier, attributes ------------------------------------------------------ */

void
peer_barriers(void)
{
	char path[sizeof peer_args.dir + 32];
	for (int k = 0; k < 6; k++) {
		if (peer_rank == k % peer_size)
			usleep(30000);
		snprintf(path, sizeof path, "%s/%d.%d", peer_args.dir, k, peer_rank);
		FILE *f = fopen(path, "wx");
		CHECK(f);
		fclose(f);
		MPI_Barrier(MPI_COMM_WORLD);
		for (int r = 0; r < peer_size; r++) {
			snprintf(path, sizeof path, "%s/%d.%d", peer_args.dir, k, r);
			CHECK(access(path, F_OK) == 0);
		}
	}
}

static int
attribute(MPI_Comm comm, int key)
{
	int *v = NULL, flag = 0;
	MPI_Comm_get_attr(comm, key, &v, &flag);
	CHECK(flag && v);
	return *v;
}

void
peer_attributes(void)
{
	const int mine = peer_client_of(peer_rank);
	CHECK(attribute(MPI_COMM_WORLD, IMPI_CLIENT_SIZE) == peer_args.nclients);
	CHECK(attribute(MPI_COMM_WORLD, IMPI_CLIENT_COLOR) == mine);
	CHECK(attribute(MPI_COMM_WORLD, IMPI_HOST_SIZE) >= peer_args.nclients);
	CHECK(attribute(MPI_COMM_WORLD, IMPI_HOST_COLOR) >= mine);
	CHECK(attribute(MPI_COMM_SELF, IMPI_CLIENT_SIZE) == 1);
	CHECK(attribute(MPI_COMM_SELF, IMPI_CLIENT_COLOR) == 0);
	CHECK(attribute(MPI_COMM_WORLD, MPI_TAG_UB) >= 32767);
}
