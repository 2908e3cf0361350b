/* SPDX-License-Identifier: BSD-2-Clause */
/* Graphs, distributed graphs, neighbourhood collectives. */
#include "check.h"

#define EDGES_MAX 64

/* A ring with a chord: what MPI_Graph_create is told at every process. */
static void
ring_graph(MPI_Comm *c, int nodes)
{
	int index[64], edges[3 * 64], at = 0;

	for (int i = 0; i < nodes; i++) {
		edges[at++] = (i + 1) % nodes;
		edges[at++] = (i + nodes - 1) % nodes;
		if (i == 0 || i == nodes / 2)
			edges[at++] = i == 0 ? nodes / 2 : 0;
		index[i] = at;
	}
	MPI_Graph_create(MPI_COMM_WORLD, nodes, index, edges, 0, c);
}

static void
graphs(void)
{
	int nodes = check_size > 1 ? check_size - 1 : 1, n, e, kind, index[64], edges[192], two[2];
	MPI_Comm c, d;

	ring_graph(&c, nodes);
	CHECK((c == MPI_COMM_NULL) == (check_rank >= nodes));
	MPI_Graph_map(MPI_COMM_WORLD, 1, (int[]){0}, edges, &n);
	CHECK(n == (check_rank == 0 ? 0 : MPI_UNDEFINED));
	if (c == MPI_COMM_NULL)
		return;
	MPI_Topo_test(c, &kind);
	CHECK(kind == MPI_GRAPH);
	MPI_Comm_dup(c, &d);
	MPI_Comm_free(&c);
	MPI_Graphdims_get(d, &n, &e);
	CHECK(n == nodes && e == 2 * nodes + (nodes > 1 ? 2 : 1));
	MPI_Graph_get(d, n, e, index, edges);
	CHECK(index[n - 1] == e && edges[0] == 1 % nodes);
	MPI_Graph_neighbors_count(d, 0, &n);
	CHECK(n == 3);
	MPI_Graph_neighbors(d, 0, 2, two);
	CHECK(two[0] == 1 % nodes && two[1] == nodes - 1);
	MPI_Comm_set_errhandler(d, MPI_ERRORS_RETURN);
	CHECK(MPI_Graph_neighbors_count(d, nodes, &n) == MPI_ERR_RANK);
	CHECK(MPI_Cartdim_get(d, &n) == MPI_ERR_TOPOLOGY);
	MPI_Comm_free(&d);
}

static void
bad_graphs(void)
{
	MPI_Comm c, self;
	int x;

	MPI_Comm_dup(MPI_COMM_SELF, &self);
	MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
	CHECK(MPI_Graph_create(self, 2, (int[]){0, 0}, &x, 0, &c) == MPI_ERR_ARG);
	CHECK(MPI_Graph_create(self, 1, (int[]){1}, (int[]){1}, 0, &c) == MPI_ERR_ARG);
	CHECK(MPI_Dist_graph_create_adjacent(self, 1, (int[]){1}, MPI_UNWEIGHTED, 0, NULL,
					     MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c) == MPI_ERR_ARG);
	CHECK(MPI_Dist_graph_create_adjacent(self, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
					     MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c) == MPI_ERR_ARG);
	CHECK(MPI_Dist_graph_create(self, 1, (int[]){0}, (int[]){-1}, NULL, MPI_UNWEIGHTED,
				    MPI_INFO_NULL, 0, &c) == MPI_ERR_ARG);
	CHECK(c == MPI_COMM_NULL);
	CHECK(MPI_Dist_graph_neighbors_count(self, &x, &x, &x) == MPI_ERR_TOPOLOGY);
	CHECK(MPI_Neighbor_allgather(&x, 1, MPI_INT, &x, 1, MPI_INT, self) == MPI_ERR_TOPOLOGY);
	MPI_Comm_free(&self);
}

/* Rank r sends to r + 1 (twice), to r + 2, and to itself; weights name the edge. */
#define OUT 4
static int
to(int r, int k)
{
	return (r + (int[]){1, 1, 2, 0}[k]) % check_size;
}
static int
from(int r, int k)
{
	return (r + 2 * check_size - (int[]){1, 1, 2, 0}[k]) % check_size;
}

static void
adjacent(MPI_Comm *c)
{
	int in[OUT], out[OUT], in_w[OUT], out_w[OUT];

	for (int k = 0; k < OUT; k++) {
		out[k] = to(check_rank, k);
		in[k] = from(check_rank, k);
		out_w[k] = 100 * check_rank + k;
		in_w[k] = 100 * in[k] + k;
	}
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, OUT, in, in_w, OUT, out, out_w,
				       MPI_INFO_NULL, 0, c);
}

static void
dist_graphs(void)
{
	int i, o, w, in[OUT], out[OUT], in_w[OUT], out_w[OUT], kind;
	MPI_Comm c;

	adjacent(&c);
	MPI_Topo_test(c, &kind);
	CHECK(kind == MPI_DIST_GRAPH);
	MPI_Dist_graph_neighbors_count(c, &i, &o, &w);
	CHECK(i == OUT && o == OUT && w);
	MPI_Dist_graph_neighbors(c, OUT, in, in_w, OUT, out, out_w);
	for (int k = 0; k < OUT; k++) {
		CHECK(in[k] == from(check_rank, k) && in_w[k] == 100 * in[k] + k);
		CHECK(out[k] == to(check_rank, k) && out_w[k] == 100 * check_rank + k);
	}
	MPI_Comm_free(&c);
}

/* The same graph named by other processes: r names the edges of r + 1. */
static void
dist_graph_create(void)
{
	int src = (check_rank + 1) % check_size, n, o, w, in[EDGES_MAX], out[EDGES_MAX];
	int out_w[EDGES_MAX], in_w[EDGES_MAX], dst[OUT], weight[OUT], seen = 0;
	MPI_Comm c;

	for (int k = 0; k < OUT; k++) {
		dst[k] = to(src, k);
		weight[k] = 100 * src + k;
	}
	MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &src, (int[]){OUT}, dst, weight, MPI_INFO_NULL, 0,
			      &c);
	MPI_Dist_graph_neighbors_count(c, &n, &o, &w);
	CHECK(n == OUT && o == OUT && w);
	MPI_Dist_graph_neighbors(c, EDGES_MAX, in, in_w, EDGES_MAX, out, out_w);
	for (int k = 0; k < OUT; k++) {
		int e = out_w[k] % 100;

		CHECK(out_w[k] / 100 == check_rank && out[k] == to(check_rank, e));
		seen |= 1 << e;
		CHECK(in_w[k] / 100 == in[k] && to(in[k], in_w[k] % 100) == check_rank);
	}
	CHECK(seen == 15);
	MPI_Comm_free(&c);
	/* nobody names anything; unweighted */
	MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
			      &c);
	MPI_Dist_graph_neighbors_count(c, &n, &o, &w);
	CHECK(n == 0 && o == 0 && !w);
	MPI_Neighbor_allgather(&n, 1, MPI_INT, in, 1, MPI_INT, c);
	MPI_Comm_free(&c);
}

static int
value(int rank, int edge, int i)
{
	return rank * 10000 + edge * 100 + i;
}

/* All five operations in all three forms over the multigraph. */
enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
#define N 3

static void
finish_form(int form, MPI_Request *r)
{
	if (form == PERSISTENT)
		MPI_Start(r);
	if (form != BLOCKING)
		MPI_Wait(r, MPI_STATUS_IGNORE);
	if (form == PERSISTENT)
		MPI_Request_free(r);
}

struct blocks {
	int out[OUT * N], in[OUT * N], counts[OUT], displs[OUT];
	MPI_Aint at[OUT];
	MPI_Datatype types[OUT];
};

static void
gathers(MPI_Comm c, int form, struct blocks *b)
{
	MPI_Request r = MPI_REQUEST_NULL;
	int *in = b->in;

	memset(in, 0xff, sizeof(b->in));
	if (form == BLOCKING)
		MPI_Neighbor_allgather(b->out, N, MPI_INT, in, N, MPI_INT, c);
	else if (form == NONBLOCKING)
		MPI_Ineighbor_allgather(b->out, N, MPI_INT, in, N, MPI_INT, c, &r);
	else
		MPI_Neighbor_allgather_init(b->out, N, MPI_INT, in, N, MPI_INT, c, MPI_INFO_NULL,
					    &r);
	finish_form(form, &r);
	for (int k = 0; k < OUT; k++)
		CHECK(in[k * N + 2] == value(from(check_rank, k), 0, 2));

	memset(in, 0xff, sizeof(b->in));
	if (form == BLOCKING)
		MPI_Neighbor_allgatherv(b->out, N - 1, MPI_INT, in, b->counts, b->displs, MPI_INT,
					c);
	else if (form == NONBLOCKING)
		MPI_Ineighbor_allgatherv(b->out, N - 1, MPI_INT, in, b->counts, b->displs, MPI_INT,
					 c, &r);
	else
		MPI_Neighbor_allgatherv_init(b->out, N - 1, MPI_INT, in, b->counts, b->displs,
					     MPI_INT, c, MPI_INFO_NULL, &r);
	finish_form(form, &r);
	for (int k = 0; k < OUT; k++)
		CHECK(in[b->displs[k] + 1] == value(from(check_rank, k), 0, 1) &&
		      in[b->displs[k] + 2] == -1);
}

static void
alltoalls(MPI_Comm c, int form, struct blocks *b)
{
	MPI_Request r = MPI_REQUEST_NULL;
	int *in = b->in, *n = b->counts;

	memset(in, 0xff, sizeof(b->in));
	if (form == BLOCKING)
		MPI_Neighbor_alltoall(b->out, N, MPI_INT, in, N, MPI_INT, c);
	else if (form == NONBLOCKING)
		MPI_Ineighbor_alltoall(b->out, N, MPI_INT, in, N, MPI_INT, c, &r);
	else
		MPI_Neighbor_alltoall_init(b->out, N, MPI_INT, in, N, MPI_INT, c, MPI_INFO_NULL,
					   &r);
	finish_form(form, &r);
	for (int k = 0; k < OUT; k++)
		CHECK(in[k * N] == value(from(check_rank, k), k, 0));

	memset(in, 0xff, sizeof(b->in));
	if (form == BLOCKING)
		MPI_Neighbor_alltoallv(b->out, n, b->displs, MPI_INT, in, n, b->displs, MPI_INT, c);
	else if (form == NONBLOCKING)
		MPI_Ineighbor_alltoallv(b->out, n, b->displs, MPI_INT, in, n, b->displs, MPI_INT, c,
					&r);
	else
		MPI_Neighbor_alltoallv_init(b->out, n, b->displs, MPI_INT, in, n, b->displs,
					    MPI_INT, c, MPI_INFO_NULL, &r);
	finish_form(form, &r);
	for (int k = 0; k < OUT; k++)
		CHECK(in[b->displs[k] + 1] == value(from(check_rank, k), OUT - 1 - k, 1));

	memset(in, 0xff, sizeof(b->in));
	if (form == BLOCKING)
		MPI_Neighbor_alltoallw(b->out, n, b->at, b->types, in, n, b->at, b->types, c);
	else if (form == NONBLOCKING)
		MPI_Ineighbor_alltoallw(b->out, n, b->at, b->types, in, n, b->at, b->types, c, &r);
	else
		MPI_Neighbor_alltoallw_init(b->out, n, b->at, b->types, in, n, b->at, b->types, c,
					    MPI_INFO_NULL, &r);
	finish_form(form, &r);
	for (int k = 0; k < OUT; k++)
		CHECK(in[b->displs[k] + 1] == value(from(check_rank, k), OUT - 1 - k, 1));
}

static void
exchange(MPI_Comm c, int form)
{
	struct blocks b;

	for (int k = 0; k < OUT; k++) {
		for (int i = 0; i < N; i++)
			b.out[k * N + i] = value(check_rank, k, i);
		b.counts[k] = N - 1;
		b.displs[k] = (OUT - 1 - k) * N; /* turned round */
		b.at[k] = (MPI_Aint)((size_t)b.displs[k] * sizeof(int));
		b.types[k] = MPI_INT;
	}
	gathers(c, form, &b);
	alltoalls(c, form, &b);
}

/* What left in the negative direction comes in from the positive one, also where both
 * neighbours are the same process; over the edge nothing changes.  The blocks are not
 * contiguous, so they are packed. */
static void
grid(int periodic)
{
	int dims[2] = {0, 0}, periods[2] = {periodic, periodic}, out[4 * 4], in[4 * 4];
	MPI_Datatype spread;
	MPI_Comm c;

	MPI_Dims_create(check_size, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &c);
	MPI_Type_vector(2, 1, 2, MPI_INT, &spread); /* x . x */
	MPI_Type_create_resized(spread, 0, 4 * sizeof(int), &spread);
	MPI_Type_commit(&spread);
	for (int k = 0; k < 4; k++)
		for (int i = 0; i < 4; i++) {
			out[4 * k + i] = value(check_rank, k, i);
			in[4 * k + i] = -7;
		}
	MPI_Neighbor_alltoall(out, 1, spread, in, 1, spread, c);
	for (int k = 0; k < 4; k++) {
		int src, dst, peer;

		MPI_Cart_shift(c, k / 2, 1, &src, &dst);
		peer = k % 2 ? dst : src;
		CHECK(in[4 * k + 1] == -7 && in[4 * k + 3] == -7);
		if (peer == MPI_PROC_NULL)
			CHECK(in[4 * k] == -7 && in[4 * k + 2] == -7);
		else
			CHECKF(in[4 * k] == value(peer, k ^ 1, 0) &&
				       in[4 * k + 2] == value(peer, k ^ 1, 2),
			       "block %d has %d, not what %d sent", k, in[4 * k], peer);
	}
	MPI_Type_free(&spread);
	MPI_Comm_free(&c);
}

static void
over_a_graph(void)
{
	MPI_Comm c;
	int in[EDGES_MAX], n;

	ring_graph(&c, check_size);
	MPI_Neighbor_allgather(&check_rank, 1, MPI_INT, in, 1, MPI_INT, c);
	MPI_Graph_neighbors_count(c, check_rank, &n);
	CHECK(n >= 2 && in[0] == (check_rank + 1) % check_size &&
	      in[1] == (check_rank + check_size - 1) % check_size);
	MPI_Comm_free(&c);
}

int
main(int argc, char **argv)
{
	MPI_Comm c;

	start(&argc, &argv);
	graphs();
	bad_graphs();
	dist_graphs();
	dist_graph_create();
	adjacent(&c);
	for (int form = 0; form < FORMS; form++)
		exchange(c, form);
	MPI_Comm_free(&c);
	grid(0);
	grid(1);
	over_a_graph();
	return finish();
}
