/* SPDX-License-Identifier: BSD-2-Clause */
/* Collective operations that move data.  Whoever hears others hears a block of each of them. */
#include "coll.h"

#include <stdlib.h>
#include <string.h>

/* Rank r of its group is the root; the root's own group is side. */
struct root {
	int side, rank;
	int arg; /* as this process passes it */
	bool is_me;
	bool hears; /* this process is on the side that hears the root, or that it hears */
};

static struct root
draw_root(const struct sw_comm *c)
{
	struct root r = {.side = c->inter ? (int)sw_draw(2) : 0};

	r.rank = (int)sw_draw((uint32_t)c->n[r.side]);
	r.is_me = c->me == r.rank && c->side == r.side;
	r.arg = r.rank;
	r.hears = !c->inter || c->side != r.side;
	if (c->inter && c->side == r.side)
		r.arg = r.is_me ? MPI_ROOT : MPI_PROC_NULL;
	return r;
}

static uint64_t
draw_block(void)
{
	static const uint32_t bound[] = {3, 30, 300, 3000, 20000};

	return sw_draw(bound[sw_draw(sizeof bound / sizeof *bound)]);
}

/* What rank i of a side sends to rank j of the other. */
static uint64_t
key_of(uint64_t base, int side, int i, int j)
{
	return base + ((uint64_t)(side * 4096 + i * 64 + j) << 20);
}

static uint64_t
base_key(void)
{
	uint64_t base = sw_key();

	for (int i = 0; i < 8192; i++)
		(void)sw_key();
	return base;
}

static int *
new_ints(struct coll *o, int k, int n)
{
	return o->ints[k] = sw_alloc((size_t)n * sizeof(int));
}

/* A layout for blocks of so many elements, n of which follow each other. */
static struct sw_layout *
layout_of_blocks(struct coll *o, int k, MPI_Datatype basic, uint64_t elements, int n,
		 uint32_t *count)
{
	struct sw_layout *l = sw_layout_for(basic, elements, count);

	if (!l->named && !sw_fits(l, *count * (uint32_t)n)) {
		sw_layout_free(l);
		l = sw_layout_plain(basic);
		*count = (uint32_t)elements;
	}
	return o->layout[k] = l;
}

/* ---- one block of each ---- */

static void
move_bcast(struct coll *o)
{
	struct root r = draw_root(o->c);
	MPI_Datatype basic = sw_basic();
	uint64_t n = draw_block() * 2, key = base_key();
	uint32_t counts[2];

	/* The root's layout is another one than the others'. */
	struct sw_layout *l[2] = {layout_of_blocks(o, 0, basic, n, 1, &counts[0]),
				  layout_of_blocks(o, 1, basic, n, 1, &counts[1])};
	if (!coll_takes_part(o))
		return;
	int k = r.is_me;
	sw_buf_new(&o->in, l[k], counts[k]);
	if (r.is_me)
		sw_fill(&o->in, 0, n, key, 0);
	else if (r.hears)
		sw_expect(&o->in, 0, n, key, 0);
	coll_keep(o);
	COLL_CALL(o, Bcast, bcast, o->in.base, (int)counts[k], l[k]->type, r.arg, o->c->comm);
}

static void
move_gather(struct coll *o)
{
	const struct sw_comm *c = o->c;
	struct root r = draw_root(c);
	MPI_Datatype basic = sw_basic();
	uint64_t n = draw_block(), key = base_key();
	uint32_t nout, nin;
	int from = c->inter ? !r.side : 0, senders = c->n[from];
	bool in_place = !c->inter && sw_one_in(2);
	struct sw_layout *out = layout_of_blocks(o, 0, basic, n, 1, &nout),
			 *in = layout_of_blocks(o, 1, basic, n, senders, &nin);

	if (!coll_takes_part(o))
		return;
	if (r.hears) {
		sw_buf_new(&o->out, out, nout);
		sw_fill(&o->out, 0, n, key_of(key, from, c->me, r.rank), 0);
	}
	if (r.is_me) {
		sw_buf_new(&o->in, in, nin * (uint32_t)senders);
		for (int i = 0; i < senders; i++)
			sw_expect(&o->in, n * (uint64_t)i, n, key_of(key, from, i, r.rank), 0);
		if (in_place)
			sw_fill(&o->in, n * (uint64_t)r.rank, n, key_of(key, from, r.rank, r.rank),
				0);
	}
	coll_keep(o);
	COLL_CALL(o, Gather, gather, in_place && r.is_me ? MPI_IN_PLACE : o->out.base, (int)nout,
		  out->type, o->in.base, (int)nin, in->type, r.arg, c->comm);
}

static void
move_scatter(struct coll *o)
{
	const struct sw_comm *c = o->c;
	struct root r = draw_root(c);
	MPI_Datatype basic = sw_basic();
	uint64_t n = draw_block(), key = base_key();
	uint32_t nout, nin;
	int to = c->inter ? !r.side : 0, hearers = c->n[to];
	bool in_place = !c->inter && sw_one_in(2);
	struct sw_layout *in = layout_of_blocks(o, 0, basic, n, 1, &nin),
			 *out = layout_of_blocks(o, 1, basic, n, hearers, &nout);

	if (!coll_takes_part(o))
		return;
	if (r.is_me) {
		sw_buf_new(&o->out, out, nout * (uint32_t)hearers);
		for (int i = 0; i < hearers; i++)
			sw_fill(&o->out, n * (uint64_t)i, n, key_of(key, r.side, r.rank, i), 0);
	}
	if (r.hears && !(in_place && r.is_me)) {
		sw_buf_new(&o->in, in, nin);
		sw_expect(&o->in, 0, n, key_of(key, r.side, r.rank, c->me), 0);
	}
	coll_keep(o);
	COLL_CALL(o, Scatter, scatter, o->out.base, (int)nout, out->type,
		  in_place && r.is_me ? MPI_IN_PLACE : o->in.base, (int)nin, in->type, r.arg,
		  c->comm);
}

static void
move_allgather(struct coll *o)
{
	const struct sw_comm *c = o->c;
	MPI_Datatype basic = sw_basic();
	uint64_t key = base_key(), n = draw_block();
	uint32_t nout, nin;
	int most = SW_MAX(c->n[0], c->n[1]), senders = coll_senders(c, c->side);
	bool in_place = !c->inter && sw_one_in(2);
	struct sw_layout *out = layout_of_blocks(o, 0, basic, n, 1, &nout),
			 *in = layout_of_blocks(o, 1, basic, n, most, &nin);

	if (!coll_takes_part(o))
		return;
	sw_buf_new(&o->in, in, nin * (uint32_t)senders);
	for (int i = 0; i < senders; i++)
		sw_expect(&o->in, n * (uint64_t)i, n, key_of(key, c->inter ? !c->side : 0, i, 0),
			  0);
	if (in_place) {
		sw_fill(&o->in, n * (uint64_t)c->me, n, key_of(key, c->side, c->me, 0), 0);
	} else {
		sw_buf_new(&o->out, out, nout);
		sw_fill(&o->out, 0, n, key_of(key, c->side, c->me, 0), 0);
	}
	coll_keep(o);
	COLL_CALL(o, Allgather, allgather, in_place ? MPI_IN_PLACE : o->out.base, (int)nout,
		  out->type, o->in.base, (int)nin, in->type, c->comm);
}

static void
move_alltoall(struct coll *o)
{
	const struct sw_comm *c = o->c;
	MPI_Datatype basic = sw_basic();
	uint64_t key = base_key(), n = draw_block() / 4;
	uint32_t nout, nin;
	int most = SW_MAX(c->n[0], c->n[1]), others = coll_senders(c, c->side);
	int theirs = c->inter ? !c->side : 0;
	bool in_place = !c->inter && sw_one_in(3);
	struct sw_layout *out = layout_of_blocks(o, 0, basic, n, most, &nout),
			 *in = layout_of_blocks(o, 1, basic, n, most, &nin);

	if (!coll_takes_part(o))
		return;
	sw_buf_new(&o->in, in, nin * (uint32_t)others);
	if (!in_place)
		sw_buf_new(&o->out, out, nout * (uint32_t)others);
	for (int i = 0; i < others; i++) {
		uint64_t mine = key_of(key, c->side, c->me, i), at = n * (uint64_t)i;
		sw_fill(in_place ? &o->in : &o->out, at, n, mine, 0);
		sw_expect(&o->in, at, n, key_of(key, theirs, i, c->me), 0);
	}
	coll_keep(o);
	COLL_CALL(o, Alltoall, alltoall, in_place ? MPI_IN_PLACE : o->out.base, (int)nout,
		  out->type, o->in.base, (int)nin, in->type, c->comm);
}

/* ---- blocks of lengths of their own ---- */

/* Two layouts of that many elements of one basic type, in which blocks of a multiple of their
 * product are counted by either. */
static uint64_t
draw_pair(struct coll *o, MPI_Datatype basic)
{
	o->layout[0] = sw_layout_new(basic);
	o->layout[1] = sw_layout_new(basic);
	while ((uint64_t)o->layout[0]->n * o->layout[1]->n > 200) {
		int k = o->layout[0]->n < o->layout[1]->n;
		sw_layout_free(o->layout[k]);
		o->layout[k] = sw_layout_new(basic);
	}
	return (uint64_t)o->layout[0]->n * o->layout[1]->n;
}

/* n blocks of a layout, in any order, with gaps of whole extents between them; counts and
 * displacements in units of the layout.  How many units there are in all. */
static uint32_t
spread_blocks(int *displs, const int *counts, int n)
{
	int order[64];
	uint32_t at = 0;

	for (int i = 0; i < n; i++)
		order[i] = i;
	sw_shuffle(order, n, sw_own);
	for (int i = 0; i < n; i++) {
		at += sw_own(3);
		displs[order[i]] = (int)at;
		at += (uint32_t)counts[order[i]];
	}
	return at;
}

/* A plain layout instead of one of which so many units do not fit. */
static void
make_fit(struct coll *o, int k, uint32_t *units, int *counts, int *displs, int n)
{
	struct sw_layout *l = o->layout[k];
	uint32_t ratio = l->n;

	if (sw_fits(l, *units))
		return;
	o->layout[k] = sw_layout_plain(l->basic);
	sw_layout_free(l);
	for (int i = 0; i < n; i++) {
		counts[i] *= (int)ratio;
		displs[i] *= (int)ratio;
	}
	*units *= ratio;
}

static void
move_gatherv(struct coll *o, bool scatter)
{
	const struct sw_comm *c = o->c;
	struct root r = draw_root(c);
	MPI_Datatype basic = sw_basic();
	uint64_t key = base_key(), unit = draw_pair(o, basic);
	int far = c->inter ? !r.side : 0, n = c->n[far], times[64];
	bool in_place = !c->inter && sw_one_in(2);
	int *counts = new_ints(o, 0, n), *displs = new_ints(o, 1, n);

	for (int i = 0; i < n; i++) {
		times[i] = (int)sw_draw(12);
		counts[i] = times[i] * (int)(unit / o->layout[1]->n);
	}
	if (!coll_takes_part(o))
		return;
	uint32_t units = spread_blocks(displs, counts, n);
	make_fit(o, 1, &units, counts, displs, n);
	struct sw_layout *mine = o->layout[0], *whole = o->layout[1];
	uint64_t len = r.hears ? (uint64_t)times[c->me] * unit : 0;
	int count = (int)(len / mine->n);
	struct sw_buf *one = scatter ? &o->in : &o->out, *all = scatter ? &o->out : &o->in;
	if (len && !sw_fits(mine, (uint32_t)count)) {
		int none = 0;
		uint32_t u = (uint32_t)count;
		make_fit(o, 0, &u, &count, &none, 1);
		mine = o->layout[0];
	}
	bool skip = in_place && r.is_me;
	if (r.hears && !skip) {
		sw_buf_new(one, mine, (uint32_t)count);
		if (scatter)
			sw_expect(one, 0, len, key_of(key, 0, c->me, 0), 0);
		else
			sw_fill(one, 0, len, key_of(key, 0, c->me, 0), 0);
	}
	if (r.is_me) {
		sw_buf_new(all, whole, units);
		for (int i = 0; i < n; i++) {
			uint64_t at = (uint64_t)displs[i] * whole->n,
				 m = (uint64_t)counts[i] * whole->n;
			if (scatter || (skip && i == r.rank))
				sw_fill(all, at, m, key_of(key, 0, i, 0), 0);
			else
				sw_expect(all, at, m, key_of(key, 0, i, 0), 0);
		}
	}
	coll_keep(o);
	if (scatter)
		COLL_CALL(o, Scatterv, scatterv, all->base, counts, displs, whole->type,
			  skip ? MPI_IN_PLACE : one->base, count, mine->type, r.arg, c->comm);
	else
		COLL_CALL(o, Gatherv, gatherv, skip ? MPI_IN_PLACE : one->base, count, mine->type,
			  all->base, counts, displs, whole->type, r.arg, c->comm);
}

static void
move_allgatherv(struct coll *o)
{
	const struct sw_comm *c = o->c;
	MPI_Datatype basic = sw_basic();
	uint64_t key = base_key(), unit = draw_pair(o, basic);
	int times[2][64] = {{0}}, theirs = c->inter ? !c->side : 0, n = c->n[theirs];
	bool in_place = !c->inter && sw_one_in(3);

	for (int s = 0; s < 2; s++)
		for (int i = 0; i < c->n[s]; i++)
			times[s][i] = (int)sw_draw(12);
	if (!coll_takes_part(o))
		return;
	int *counts = new_ints(o, 0, n), *displs = new_ints(o, 1, n);
	for (int i = 0; i < n; i++)
		counts[i] = times[theirs][i] * (int)(unit / o->layout[1]->n);
	uint32_t units = spread_blocks(displs, counts, n);
	make_fit(o, 1, &units, counts, displs, n);
	uint64_t len = (uint64_t)times[c->side][c->me] * unit;
	int count = (int)(len / o->layout[0]->n), none = 0;
	uint32_t u = (uint32_t)count;
	make_fit(o, 0, &u, &count, &none, 1);
	struct sw_layout *mine = o->layout[0], *whole = o->layout[1];
	sw_buf_new(&o->in, whole, units);
	for (int i = 0; i < n; i++) {
		uint64_t at = (uint64_t)displs[i] * whole->n, m = (uint64_t)counts[i] * whole->n;
		if (in_place && i == c->me)
			sw_fill(&o->in, at, m, key_of(key, theirs, i, 0), 0);
		else
			sw_expect(&o->in, at, m, key_of(key, theirs, i, 0), 0);
	}
	if (!in_place) {
		sw_buf_new(&o->out, mine, (uint32_t)count);
		sw_fill(&o->out, 0, len, key_of(key, c->side, c->me, 0), 0);
	}
	coll_keep(o);
	COLL_CALL(o, Allgatherv, allgatherv, in_place ? MPI_IN_PLACE : o->out.base, count,
		  mine->type, o->in.base, counts, displs, whole->type, c->comm);
}

/* With w each block has a type of its own, all of them the same here, and bytes for a unit. */
static void
move_alltoallv(struct coll *o, bool w)
{
	const struct sw_comm *c = o->c;
	MPI_Datatype basic = sw_basic();
	uint64_t key = base_key(), unit = draw_pair(o, basic);
	int times[64][64], theirs = c->inter ? !c->side : 0, n = c->n[theirs];
	bool in_place = !c->inter && sw_one_in(4);

	/* times[i][j]: from rank i of group 0 to rank j, or back from j to i in the upper half. */
	for (int i = 0; i < c->n[0]; i++)
		for (int j = 0; j < c->n[c->inter]; j++)
			times[i][j] = (int)sw_draw(10);
	if (!coll_takes_part(o))
		return;
	int *count[2], *displs[2];
	uint32_t units[2];
	for (int k = 0; k < 2; k++) { /* out, in */
		count[k] = new_ints(o, 2 * k, n);
		displs[k] = new_ints(o, 2 * k + 1, n);
		for (int i = 0; i < n; i++) {
			int a = c->me, b = i; /* from, to */
			if (c->inter ? c->side == 1 : k == 1)
				a = i, b = c->me;
			if (in_place)
				a = SW_MIN(c->me, i), b = SW_MAX(c->me, i);
			count[k][i] = times[a][b] * (int)(unit / o->layout[k]->n);
		}
		units[k] = spread_blocks(displs[k], count[k], n);
		make_fit(o, k, &units[k], count[k], displs[k], n);
	}
	struct sw_layout *out = o->layout[0], *in = o->layout[1];
	if (!in_place)
		sw_buf_new(&o->out, out, units[0]);
	sw_buf_new(&o->in, in, units[1]);
	for (int i = 0; i < n; i++) {
		struct sw_buf *from = in_place ? &o->in : &o->out;
		int k = in_place;
		sw_fill(from, (uint64_t)displs[k][i] * from->l->n,
			(uint64_t)count[k][i] * from->l->n, key_of(key, c->side, c->me, i), 0);
		sw_expect(&o->in, (uint64_t)displs[1][i] * in->n, (uint64_t)count[1][i] * in->n,
			  key_of(key, theirs, i, c->me), 0);
	}
	coll_keep(o);
	if (!w) {
		COLL_CALL(o, Alltoallv, alltoallv, in_place ? MPI_IN_PLACE : o->out.base, count[0],
			  displs[0], out->type, o->in.base, count[1], displs[1], in->type, c->comm);
		return;
	}
	for (int k = 0; k < 2; k++) {
		o->types[k] = sw_alloc((size_t)n * sizeof(MPI_Datatype));
		for (int i = 0; i < n; i++) {
			o->types[k][i] = o->layout[k]->type;
			displs[k][i] *= (int)o->layout[k]->extent;
		}
	}
	COLL_CALL(o, Alltoallw, alltoallw, in_place ? MPI_IN_PLACE : o->out.base, count[0],
		  displs[0], o->types[0], o->in.base, count[1], displs[1], o->types[1], c->comm);
}

static void
move_nothing(struct coll *o)
{
	if (!coll_takes_part(o))
		return;
	coll_keep(o);
	COLL_CALL(o, Barrier, barrier, o->c->comm);
}

void
coll_move(struct coll *o)
{
	static const char *const names[] = {"Bcast",	 "Gather",    "Scatter",  "Allgather",
					    "Alltoall",	 "Gatherv",   "Scatterv", "Allgatherv",
					    "Alltoallv", "Alltoallw", "Barrier"};
	uint32_t which = sw_draw(sizeof names / sizeof *names);

	o->name = names[which];
	switch (which) {
	case 0:
		move_bcast(o);
		break;
	case 1:
		move_gather(o);
		break;
	case 2:
		move_scatter(o);
		break;
	case 3:
		move_allgather(o);
		break;
	case 4:
		move_alltoall(o);
		break;
	case 5:
	case 6:
		move_gatherv(o, which == 6);
		break;
	case 7:
		move_allgatherv(o);
		break;
	case 8:
	case 9:
		move_alltoallv(o, which == 9);
		break;
	default:
		move_nothing(o);
	}
}
