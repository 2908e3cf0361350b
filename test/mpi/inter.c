/* SPDX-License-Identifier: BSD-2-Clause */
/* Inter-communicators: making, merging, cutting down, talking, and their collectives. */
#include "check.h"

#define MOST 64

/* Side 0 has the lower third, at least one; side 1 the others. */
static int
lower(void)
{
	return (check_size + 2) / 3;
}
static int side, own_size, far_size, own_rank, far_first;

static void
make(MPI_Comm *half, MPI_Comm *inter)
{
	side = check_rank >= lower();
	own_size = side ? check_size - lower() : lower();
	far_size = check_size - own_size;
	far_first = side ? 0 : lower();
	MPI_Comm_split(MPI_COMM_WORLD, side, 0, half);
	MPI_Comm_rank(*half, &own_rank);
	/* the leaders are the last process of each side */
	MPI_Intercomm_create(*half, own_size - 1, MPI_COMM_WORLD,
			     side ? lower() - 1 : check_size - 1, 11, inter);
}

static void
what_it_is(MPI_Comm inter)
{
	int flag, n, r, ranks[MOST], world[MOST];
	MPI_Group far, all;

	MPI_Comm_test_inter(inter, &flag);
	MPI_Comm_remote_size(inter, &n);
	MPI_Comm_size(inter, &r);
	CHECK(flag && n == far_size && r == own_size);
	MPI_Comm_rank(inter, &r);
	CHECK(r == own_rank);
	MPI_Comm_remote_group(inter, &far);
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	for (int i = 0; i < n; i++)
		ranks[i] = i;
	MPI_Group_translate_ranks(far, n, ranks, all, world);
	for (int i = 0; i < n; i++)
		CHECK(world[i] == far_first + i);
	MPI_Group_free(&far);
	MPI_Group_free(&all);
}

/* Everybody to everybody over there, with wildcards and probes. */
static void
messages(MPI_Comm inter)
{
	int in, seen[MOST] = {0};
	MPI_Request r[MOST];
	MPI_Status st;

	for (int i = 0; i < far_size; i++)
		MPI_Isend(&check_rank, 1, MPI_INT, i, own_rank, inter, &r[i]);
	for (int i = 0; i < far_size; i++) {
		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &st);
		MPI_Recv(&in, 1, MPI_INT, st.MPI_SOURCE, st.MPI_TAG, inter, &st);
		CHECK(in == far_first + st.MPI_SOURCE && st.MPI_TAG == st.MPI_SOURCE);
		seen[st.MPI_SOURCE]++;
	}
	MPI_Waitall(far_size, r, MPI_STATUSES_IGNORE);
	for (int i = 0; i < far_size; i++)
		CHECK(seen[i] == 1);
	MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
	CHECK(MPI_Send(&in, 1, MPI_INT, far_size, 0, inter) == MPI_ERR_RANK);
	MPI_Comm_set_errhandler(inter, MPI_ERRORS_ARE_FATAL);
}

/* The root argument for a root that is process r of side s. */
static int
root_of(int s, int r)
{
	return s != side ? r : own_rank == r ? MPI_ROOT : MPI_PROC_NULL;
}

static void
rooted(MPI_Comm inter, int s, int r)
{
	int root = root_of(s, r), leaf = s != side, me = root == MPI_ROOT,
	    n = leaf ? own_size : far_size;
	int buf[3] = {-1, -1, -1}, all[MOST * 3], counts[MOST], displs[MOST], sum;

	if (me)
		for (int i = 0; i < 3; i++)
			buf[i] = 100 * r + i;
	MPI_Bcast(buf, 3, MPI_INT, root, inter);
	CHECK(leaf || me ? buf[2] == 100 * r + 2 : buf[2] == -1);

	memset(all, 0xff, sizeof(all));
	for (int i = 0; i < 3; i++)
		buf[i] = 10 * own_rank + i;
	MPI_Gather(buf, 3, MPI_INT, all, 3, MPI_INT, root, inter);
	for (int i = 0; me && i < n; i++)
		CHECK(all[3 * i + 1] == 10 * i + 1);
	for (int i = 0; i < n; i++) { /* rank i gives i % 3 + 1, from the back */
		counts[i] = i % 3 + 1;
		displs[i] = 3 * (n - 1 - i);
	}
	memset(all, 0xff, sizeof(all));
	MPI_Gatherv(buf, own_rank % 3 + 1, MPI_INT, all, counts, displs, MPI_INT, root, inter);
	for (int i = 0; me && i < n; i++)
		CHECK(all[displs[i]] == 10 * i && (i % 3 == 2 || all[displs[i] + 2] == -1));

	for (int i = 0; i < MOST * 3; i++)
		all[i] = me ? 7 * i : -1;
	MPI_Scatter(all, 2, MPI_INT, buf, 2, MPI_INT, root, inter);
	CHECK(!leaf || buf[1] == 7 * (2 * own_rank + 1));
	MPI_Scatterv(all, counts, displs, MPI_INT, buf, own_rank % 3 + 1, MPI_INT, root, inter);
	CHECK(!leaf || buf[0] == 7 * 3 * (n - 1 - own_rank));

	sum = -1;
	if (root == MPI_PROC_NULL) /* what else it says is nobody's business */
		MPI_Reduce(NULL, NULL, 1, MPI_BYTE, MPI_SUM, root, inter);
	else
		MPI_Reduce(&own_rank, &sum, 1, MPI_INT, MPI_SUM, root, inter);
	CHECK(sum == (me ? n * (n - 1) / 2 : -1));
}

static void
unrooted(MPI_Comm inter)
{
	int out[MOST * 2], in[MOST * 2], counts[MOST], displs[MOST], mine, sum, same[MOST];

	MPI_Barrier(inter);
	MPI_Allreduce(&own_rank, &sum, 1, MPI_INT, MPI_SUM, inter);
	CHECK(sum == far_size * (far_size - 1) / 2);
	mine = 1000 * side + own_rank;
	MPI_Allgather(&mine, 1, MPI_INT, in, 1, MPI_INT, inter);
	for (int i = 0; i < far_size; i++) {
		CHECK(in[i] == 1000 * !side + i);
		counts[i] = i % 2 + 1;
		displs[i] = 2 * i;
	}
	out[0] = out[1] = mine;
	memset(in, 0xff, sizeof(in));
	MPI_Allgatherv(out, own_rank % 2 + 1, MPI_INT, in, counts, displs, MPI_INT, inter);
	for (int i = 0; i < far_size; i++)
		CHECK(in[2 * i] == 1000 * !side + i && (i % 2 || in[2 * i + 1] == -1));
	/* the two directions have blocks of different lengths */
	for (int i = 0; i < far_size * 2; i++)
		out[i] = 1000 * check_rank + i;
	MPI_Alltoall(out, 1 + side, MPI_INT, in, 2 - side, MPI_INT, inter);
	for (int i = 0; i < far_size; i++)
		CHECK(in[i * (2 - side)] == 1000 * (far_first + i) + own_rank * (2 - side));
	for (int i = 0; i < far_size; i++)
		same[i] = 1;
	for (int i = 0; i < far_size; i++)
		displs[i] = i;
	MPI_Alltoallv(out, same, displs, MPI_INT, in, same, displs, MPI_INT, inter);
	for (int i = 0; i < far_size; i++)
		CHECK(in[i] == 1000 * (far_first + i) + own_rank);
}

/* Vectors as long as both groups together can cut evenly. */
static void
scattered(MPI_Comm inter)
{
	int total = own_size * far_size, out[MOST * MOST / 4], in[MOST], counts[MOST];

	if (total > MOST * MOST / 4)
		return;
	for (int i = 0; i < total; i++)
		out[i] = own_rank + i;
	MPI_Reduce_scatter_block(out, in, far_size, MPI_INT, MPI_SUM, inter);
	for (int i = 0; i < far_size; i++)
		CHECK(in[i] ==
		      far_size * (far_size - 1) / 2 + far_size * (own_rank * far_size + i));
	for (int i = 0; i < own_size; i++)
		counts[i] = i + 1 < own_size ? 1 : total - (own_size - 1);
	memset(in, 0xff, sizeof(in));
	if (counts[own_size - 1] > MOST)
		return;
	MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, inter);
	CHECK(in[0] == far_size * (far_size - 1) / 2 + far_size * own_rank);
}

static void
background(MPI_Comm inter)
{
	int sum[4], a = own_rank, in[MOST];
	MPI_Request r[6];

	for (int i = 0; i < 4; i++)
		MPI_Iallreduce(&a, &sum[i], 1, MPI_INT, i % 2 ? MPI_MAX : MPI_SUM, inter, &r[i]);
	MPI_Ibarrier(inter, &r[4]);
	MPI_Iallgather(&a, 1, MPI_INT, in, 1, MPI_INT, inter, &r[5]);
	MPI_Waitall(6, r, MPI_STATUSES_IGNORE);
	CHECK(sum[2] == far_size * (far_size - 1) / 2 && sum[3] == far_size - 1);
	CHECK(in[far_size - 1] == far_size - 1);
	MPI_Allgather_init(&a, 1, MPI_INT, in, 1, MPI_INT, inter, MPI_INFO_NULL, &r[0]);
	for (int k = 0; k < 3; k++) {
		a = own_rank + k;
		MPI_Start(&r[0]);
		MPI_Wait(&r[0], MPI_STATUS_IGNORE);
		CHECK(in[0] == k);
	}
	MPI_Request_free(&r[0]);
}

static void
merged(MPI_Comm inter)
{
	int r, n;

	for (int high = 0; high < 2; high++) {
		MPI_Comm all;

		MPI_Intercomm_merge(inter, side == high, &all); /* side `high` comes last */
		MPI_Comm_rank(all, &r);
		MPI_Comm_size(all, &n);
		CHECK(n == check_size && r == (side == high ? far_size + own_rank : own_rank));
		MPI_Allreduce(&own_rank, &n, 1, MPI_INT, MPI_SUM, all);
		CHECK(n == (own_size * (own_size - 1) + far_size * (far_size - 1)) / 2);
		MPI_Comm_free(&all);
	}
}

static void
duplicates(MPI_Comm inter)
{
	MPI_Comm d, e;
	MPI_Request r;
	int result, sum;

	MPI_Comm_dup(inter, &d);
	MPI_Comm_compare(inter, d, &result);
	CHECK(result == MPI_CONGRUENT);
	MPI_Comm_idup(d, &e, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Comm_free(&d);
	what_it_is(e);
	messages(e);
	MPI_Allreduce(&own_rank, &sum, 1, MPI_INT, MPI_SUM, e);
	CHECK(sum == far_size * (far_size - 1) / 2);
	MPI_Comm_free(&e);
}

static void
parts(MPI_Comm inter)
{
	MPI_Comm c;
	MPI_Group g, sub;
	int n, far, sum, first = 0;

	/* even ranks, turned round by the key */
	MPI_Comm_split(inter, own_rank % 2, -own_rank, &c);
	if (own_rank % 2 == 1 && far_size == 1) {
		CHECK(c == MPI_COMM_NULL); /* nobody over there */
	} else {
		MPI_Comm_size(c, &n);
		MPI_Comm_remote_size(c, &far);
		CHECK(n == (own_size + 1 - own_rank % 2) / 2);
		CHECK(far == (far_size + 1 - own_rank % 2) / 2);
		MPI_Allreduce(&own_rank, &sum, 1, MPI_INT, MPI_SUM, c);
		CHECK(sum == far * (far - 1) + far * (own_rank % 2));
		MPI_Allgather(&own_rank, 1, MPI_INT, (int[MOST]){0}, 1, MPI_INT, c);
		MPI_Comm_free(&c);
	}
	MPI_Comm_group(inter, &g);
	MPI_Group_incl(g, 1, &first, &sub);
	MPI_Comm_create(inter, sub, &c);
	CHECK((c != MPI_COMM_NULL) == (own_rank == 0));
	if (c != MPI_COMM_NULL) {
		MPI_Comm_remote_size(c, &far);
		MPI_Sendrecv(&side, 1, MPI_INT, 0, 1, &n, 1, MPI_INT, 0, 1, c, MPI_STATUS_IGNORE);
		CHECK(far == 1 && n == !side);
		MPI_Comm_free(&c);
	}
	MPI_Comm_create(inter, side ? MPI_GROUP_EMPTY : g, &c);
	CHECK(c == MPI_COMM_NULL);
	MPI_Group_free(&sub);
	MPI_Group_free(&g);
}

/* By nodes, and by what pairs nobody with the other side. */
static void
by_type(MPI_Comm inter)
{
	MPI_Comm node, c;
	MPI_Info info;
	int ranks[MOST], world[MOST], n, far, on_node[2] = {0, 0}, sum;
	MPI_Group g, all;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_size(node, &n);
	MPI_Comm_group(node, &g);
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	for (int i = 0; i < n; i++)
		ranks[i] = i;
	MPI_Group_translate_ranks(g, n, ranks, all, world);
	for (int i = 0; i < n; i++)
		on_node[world[i] >= lower()]++;
	MPI_Group_free(&all);
	MPI_Group_free(&g);
	MPI_Comm_free(&node);

	MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c);
	CHECK((c != MPI_COMM_NULL) == (on_node[!side] > 0));
	if (c != MPI_COMM_NULL) {
		MPI_Comm_size(c, &n);
		MPI_Comm_remote_size(c, &far);
		CHECK(n == on_node[side] && far == on_node[!side]);
		MPI_Allreduce(&side, &sum, 1, MPI_INT, MPI_SUM, c);
		CHECK(sum == (side ? 0 : far));
		MPI_Comm_free(&c);
	}
	MPI_Comm_split_type(inter, MPI_UNDEFINED, 0, MPI_INFO_NULL, &c);
	CHECK(c == MPI_COMM_NULL);
	MPI_Info_create(&info);
	MPI_Info_set(info, "mpi_pset_name", "mpi://SELF");
	MPI_Comm_split_type(inter, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &c);
	CHECK(c == MPI_COMM_NULL);
	MPI_Info_free(&info);
}

static void
errors(MPI_Comm half, MPI_Comm inter)
{
	MPI_Comm c;
	int x = 0, y[MOST];

	MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
	CHECK(MPI_Scan(&x, y, 1, MPI_INT, MPI_SUM, inter) == MPI_ERR_COMM);
	CHECK(MPI_Bcast(&x, 1, MPI_INT, far_size, inter) == MPI_ERR_ROOT);
	CHECK(MPI_Allreduce(MPI_IN_PLACE, y, 1, MPI_INT, MPI_SUM, inter) == MPI_ERR_BUFFER);
	CHECK(MPI_Intercomm_merge(half, 0, &c) == MPI_ERR_COMM);
	CHECK(MPI_Intercomm_create(half, own_size, half, 0, 0, &c) == MPI_ERR_RANK);
	CHECK(MPI_Intercomm_create(half, 0, half, 0, 0, &c) == MPI_ERR_RANK);
}

int
main(int argc, char **argv)
{
	MPI_Comm half, inter;

	start(&argc, &argv);
	if (check_size == 1)
		return finish(); /* takes two */
	make(&half, &inter);
	what_it_is(inter);
	messages(inter);
	for (int s = 0; s < 2; s++)
		for (int r = 0; r < (s ? check_size - lower() : lower()); r++)
			rooted(inter, s, r);
	unrooted(inter);
	scattered(inter);
	background(inter);
	merged(inter);
	duplicates(inter);
	parts(inter);
	by_type(inter);
	errors(half, inter);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
	return finish();
}
