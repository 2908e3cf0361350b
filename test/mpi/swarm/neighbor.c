/* SPDX-License-Identifier: BSD-2-Clause */
/* Neighbourhoods: a random graph over a communicator, also with edges to oneself and the same edge
 * more than once, and what is exchanged along it. */
#include "swarm.h"

#include <stdlib.h>
#include <string.h>

enum { EDGES = 24 };

struct edge {
	int from, to;
};

static struct edge edges[EDGES];
static int nedges;

/* Which edges lead to this process, or from it, in the order of the graph. */
static int
edges_of(int me, bool in, int *list)
{
	int n = 0;

	for (int i = 0; i < nedges; i++)
		if ((in ? edges[i].to : edges[i].from) == me)
			list[n++] = i;
	return n;
}

static MPI_Comm
make_graph(const struct sw_comm *c, const int *ins, int nin, const int *outs, int nout)
{
	MPI_Comm g;
	int from[EDGES], to[EDGES], heard, told, weighted;

	for (int i = 0; i < nin; i++)
		from[i] = edges[ins[i]].from;
	for (int i = 0; i < nout; i++)
		to[i] = edges[outs[i]].to;
	MPI_Dist_graph_create_adjacent(c->comm, nin, from, MPI_UNWEIGHTED, nout, to, MPI_UNWEIGHTED,
				       MPI_INFO_NULL, 0, &g);
	MPI_Dist_graph_neighbors_count(g, &heard, &told, &weighted);
	SW_CHECK(heard == nin && told == nout && !weighted);
	return g;
}

/* What the layout of a block is on both sides, and the sums of blocks in a buffer. */
struct blocks {
	struct sw_layout *out, *in;
	uint32_t nout, nin;
	uint64_t n, key; /* elements of a block */
};

/* What goes along an edge, or from a process to all it has edges to. */
static uint64_t
key_of(const struct blocks *b, int of)
{
	return b->key + ((uint64_t)of << 20);
}

/* By blocks of one length; all: the same block to everyone, else one for each. */
static void
exchange(MPI_Comm g, int me, const int *ins, int nin, const int *outs, int nout,
	 const struct blocks *b, bool all, bool later)
{
	struct sw_buf from, to;
	MPI_Request q = MPI_REQUEST_NULL;

	sw_buf_new(&from, b->out, b->nout * (uint32_t)(all ? 1 : nout));
	sw_buf_new(&to, b->in, b->nin * (uint32_t)nin);
	for (int i = 0; i < (all ? 1 : nout); i++)
		sw_fill(&from, b->n * (uint64_t)i, b->n, key_of(b, all ? EDGES + me : outs[i]), 0);
	for (int i = 0; i < nin; i++)
		sw_expect(&to, b->n * (uint64_t)i, b->n,
			  key_of(b, all ? EDGES + edges[ins[i]].from : ins[i]), 0);
	const void *out = from.base;
	int no = (int)b->nout, ni = (int)b->nin;
	if (all && later)
		MPI_Ineighbor_allgather(out, no, b->out->type, to.base, ni, b->in->type, g, &q);
	else if (all)
		MPI_Neighbor_allgather(out, no, b->out->type, to.base, ni, b->in->type, g);
	else if (later)
		MPI_Ineighbor_alltoall(out, no, b->out->type, to.base, ni, b->in->type, g, &q);
	else
		MPI_Neighbor_alltoall(out, no, b->out->type, to.base, ni, b->in->type, g);
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	sw_verify(&to, all ? "neighbour's allgather" : "neighbour's alltoall");
	sw_verify(&from, "what neighbours got");
	sw_buf_free(&to);
	sw_buf_free(&from);
}

/* By alltoallw with blocks of their own length for each edge, one layout. */
static void
exchange_w(MPI_Comm g, const int *ins, int nin, const int *outs, int nout, const uint32_t *len,
	   const struct blocks *b, bool lasting)
{
	int counts[2][EDGES];
	MPI_Aint at[2][EDGES];
	MPI_Datatype types[2][EDGES];
	struct sw_buf buf[2];
	MPI_Request q;

	for (int k = 0; k < 2; k++) {
		const int *list = k ? ins : outs;
		int n = k ? nin : nout;
		uint32_t units = 0;
		for (int i = 0; i < n; i++) {
			counts[k][i] = (int)len[list[i]];
			at[k][i] = (MPI_Aint)units * b->out->extent;
			types[k][i] = b->out->type;
			units += len[list[i]] + 1;
		}
		sw_buf_new(&buf[k], b->out, units);
		for (int i = 0, u = 0; i < n; u += counts[k][i++] + 1) {
			uint64_t first = (uint64_t)u * b->out->n,
				 m = (uint64_t)counts[k][i] * b->out->n, key = key_of(b, list[i]);
			if (k)
				sw_expect(&buf[1], first, m, key, 0);
			else
				sw_fill(&buf[0], first, m, key, 0);
		}
	}
	if (lasting) {
		MPI_Neighbor_alltoallw_init(buf[0].base, counts[0], at[0], types[0], buf[1].base,
					    counts[1], at[1], types[1], g, MPI_INFO_NULL, &q);
		MPI_Start(&q);
		MPI_Wait(&q, MPI_STATUS_IGNORE);
		MPI_Request_free(&q);
	} else {
		MPI_Neighbor_alltoallw(buf[0].base, counts[0], at[0], types[0], buf[1].base,
				       counts[1], at[1], types[1], g);
	}
	sw_verify(&buf[1], "neighbour's alltoallw");
	sw_buf_free(&buf[0]);
	sw_buf_free(&buf[1]);
}

static void
draw_blocks(struct blocks *b)
{
	MPI_Datatype basic = sw_basic();

	b->n = sw_draw(sw_one_in(2) ? 10 : 2000);
	b->out = sw_layout_for(basic, b->n, &b->nout);
	if (!sw_fits(b->out, SW_MAX(b->nout, 6) * EDGES)) {
		sw_layout_free(b->out);
		b->out = sw_layout_plain(basic);
		b->nout = (uint32_t)b->n;
	}
	b->in = sw_layout_for(basic, b->n, &b->nin);
	if (!sw_fits(b->in, b->nin * EDGES)) {
		sw_layout_free(b->in);
		b->in = sw_layout_plain(basic);
		b->nin = (uint32_t)b->n;
	}
	b->key = sw_key();
	for (int i = 0; i < 128; i++)
		(void)sw_key();
}

void
sw_step_neighbor(void)
{
	const struct sw_comm *c = sw_intra_comm();
	int ins[EDGES], outs[EDGES];
	uint32_t len[EDGES];
	struct blocks b;

	nedges = (int)sw_draw(EDGES + 1);
	for (int i = 0; i < nedges; i++) {
		edges[i] = (struct edge){(int)sw_draw((uint32_t)c->n[0]),
					 (int)sw_draw((uint32_t)c->n[0])};
		len[i] = sw_draw(5);
	}
	draw_blocks(&b);
	uint32_t later = sw_draw(4);
	if (c->me >= 0) {
		int nin = edges_of(c->me, true, ins), nout = edges_of(c->me, false, outs);
		MPI_Comm g = make_graph(c, ins, nin, outs, nout);
		exchange(g, c->me, ins, nin, outs, nout, &b, false, later & 1);
		exchange_w(g, ins, nin, outs, nout, len, &b, later & 2);
		exchange(g, c->me, ins, nin, outs, nout, &b, true, later & 2);
		MPI_Comm_free(&g);
	}
	sw_layout_free(b.out);
	sw_layout_free(b.in);
}
