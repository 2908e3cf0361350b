/* SPDX-License-Identifier: BSD-2-Clause */
/* Communicators: a pool of them, made of each other. */
#include "swarm.h"

#include <stdlib.h>
#include <string.h>

enum { COMMS = 10 };

static struct sw_comm pool[COMMS];
static int npool;

static void
find_me(struct sw_comm *c)
{
	c->me = -1;
	c->side = 0;
	for (int s = 0; s < 2; s++) {
		for (int i = 0; i < c->n[s]; i++) {
			if (c->of[s][i] == sw_rank)
				c->side = s, c->me = i;
		}
	}
}

static int *
copy_ranks(const int *of, int n)
{
	int *to = sw_alloc((size_t)n * sizeof *to);

	memcpy(to, of, (size_t)n * sizeof *to);
	return to;
}

static void
check_comm(const struct sw_comm *c)
{
	int n, r, inter, remote;

	if (c->me < 0)
		return;
	MPI_Comm_size(c->comm, &n);
	MPI_Comm_rank(c->comm, &r);
	MPI_Comm_test_inter(c->comm, &inter);
	SW_CHECK(n == c->n[c->side] && r == c->me && inter == c->inter);
	if (inter) {
		MPI_Comm_remote_size(c->comm, &remote);
		SW_CHECK(remote == c->n[!c->side]);
	}
	MPI_Comm_set_errhandler(c->comm, MPI_ERRORS_ARE_FATAL);
}

static void
add(struct sw_comm c)
{
	find_me(&c);
	check_comm(&c);
	pool[npool++] = c;
}

static void
drop(int i)
{
	if (pool[i].me >= 0)
		MPI_Comm_free(&pool[i].comm);
	free(pool[i].of[0]);
	free(pool[i].of[1]);
	pool[i] = pool[--npool];
}

void
sw_comms_init(void)
{
	int *of = sw_alloc((size_t)sw_size * sizeof *of);
	MPI_Comm world;

	for (int i = 0; i < sw_size; i++)
		of[i] = i;
	MPI_Comm_dup(MPI_COMM_WORLD, &world);
	add((struct sw_comm){.comm = world, .n = {sw_size}, .of = {of}});
}

void
sw_comms_end(void)
{
	while (npool > 0)
		drop(npool - 1);
}

const struct sw_comm *
sw_any_comm(void)
{
	return &pool[sw_draw((uint32_t)npool)];
}

/* The first one is intra. */
const struct sw_comm *
sw_intra_comm(void)
{
	for (int i = 0; i < 4; i++) {
		const struct sw_comm *c = sw_any_comm();
		if (!c->inter)
			return c;
	}
	return &pool[0];
}

/* ---- new ones ---- */

static void
dup_comm(const struct sw_comm *c)
{
	struct sw_comm d = *c;
	MPI_Request q;

	for (int s = 0; s < 2; s++)
		d.of[s] = copy_ranks(c->of[s], c->n[s]);
	bool later = sw_one_in(2);
	if (c->me >= 0 && later) {
		MPI_Comm_idup(c->comm, &d.comm, &q);
		MPI_Wait(&q, MPI_STATUS_IGNORE);
	} else if (c->me >= 0) {
		MPI_Comm_dup(c->comm, &d.comm);
	}
	add(d);
}

/* By colour and key, both drawn: one colour stays. */
static void
split_comm(const struct sw_comm *c)
{
	int n = c->n[0], colours = 1 + (int)sw_draw(3), *colour = sw_alloc((size_t)n * sizeof(int)),
	    *key = sw_alloc((size_t)n * sizeof(int)), keep;
	struct sw_comm d = {.of = {sw_alloc((size_t)n * sizeof(int))}};
	MPI_Comm mine = MPI_COMM_NULL;

	for (int i = 0; i < n; i++) {
		colour[i] = (int)sw_draw((uint32_t)colours + 1) - 1;
		key[i] = (int)sw_draw(4) - 2;
	}
	keep = colour[sw_draw((uint32_t)n)];
	if (c->me >= 0)
		MPI_Comm_split(c->comm, colour[c->me] < 0 ? MPI_UNDEFINED : colour[c->me],
			       key[c->me], &mine);
	for (int k = -2; k < 2; k++) {
		for (int i = 0; i < n && keep >= 0; i++) {
			if (colour[i] == keep && key[i] == k)
				d.of[0][d.n[0]++] = c->of[0][i];
		}
	}
	if (c->me >= 0) {
		SW_CHECK((mine == MPI_COMM_NULL) == (colour[c->me] < 0));
		if (keep >= 0 && colour[c->me] == keep)
			d.comm = mine;
		else if (mine != MPI_COMM_NULL)
			MPI_Comm_free(&mine);
	}
	if (keep >= 0)
		add(d);
	else
		free(d.of[0]);
	free(colour);
	free(key);
}

/* Some of its processes in another order, without the others. */
static void
create_from_group(const struct sw_comm *c)
{
	int n = c->n[0], *list = sw_alloc((size_t)n * sizeof *list), m;
	struct sw_comm d = {.of = {sw_alloc((size_t)n * sizeof(int))}};
	MPI_Group whole, part;

	for (int i = 0; i < n; i++)
		list[i] = i;
	sw_shuffle(list, n, sw_draw);
	m = 1 + (int)sw_draw((uint32_t)n);
	bool in = false, all_call = sw_one_in(2);
	for (int i = 0; i < m; i++) {
		d.of[0][d.n[0]++] = c->of[0][list[i]];
		in |= c->me == list[i];
	}
	if (c->me >= 0) {
		d.comm = MPI_COMM_NULL;
		MPI_Comm_group(c->comm, &whole);
		MPI_Group_incl(whole, m, list, &part);
		if (all_call)
			MPI_Comm_create(c->comm, part, &d.comm);
		else if (in)
			MPI_Comm_create_group(c->comm, part, 5, &d.comm);
		SW_CHECK(in == (d.comm != MPI_COMM_NULL));
		MPI_Group_free(&whole);
		MPI_Group_free(&part);
	}
	add(d);
	free(list);
}

/* Two halves of an intracommunicator, each in an order of its own. */
static void
make_inter(const struct sw_comm *c)
{
	int n = c->n[0], *list = sw_alloc((size_t)n * sizeof *list), half;
	struct sw_comm d = {.inter = true};
	MPI_Comm mine;

	for (int i = 0; i < n; i++)
		list[i] = i;
	sw_shuffle(list, n, sw_draw);
	half = 1 + (int)sw_draw((uint32_t)n - 1);
	d.n[0] = half;
	d.n[1] = n - half;
	for (int s = 0; s < 2; s++) {
		d.of[s] = sw_alloc((size_t)d.n[s] * sizeof(int));
		for (int i = 0; i < d.n[s]; i++)
			d.of[s][i] = c->of[0][list[s * half + i]];
	}
	find_me(&d);
	int lead[2] = {(int)sw_draw((uint32_t)d.n[0]), (int)sw_draw((uint32_t)d.n[1])};
	if (c->me >= 0) {
		int other = !d.side, at = list[(other ? half : 0) + lead[other]];
		MPI_Comm_split(c->comm, d.side, d.me, &mine);
		MPI_Intercomm_create(mine, lead[d.side], c->comm, at, 9, &d.comm);
		MPI_Comm_free(&mine);
	}
	add(d);
	free(list);
}

static void
merge_inter(const struct sw_comm *c)
{
	int high = (int)sw_draw(2), n = c->n[0] + c->n[1], at = 0;
	struct sw_comm d = {.n = {n}, .of = {sw_alloc((size_t)n * sizeof(int))}};

	/* Group high comes behind the other. */
	for (int k = 0; k < 2; k++) {
		int s = k ? high : !high;
		memcpy(d.of[0] + at, c->of[s], (size_t)c->n[s] * sizeof(int));
		at += c->n[s];
	}
	if (c->me >= 0)
		MPI_Intercomm_merge(c->comm, c->side == high, &d.comm);
	add(d);
}

/* A grid of all its processes, or a slice of that. */
static void
make_cart(const struct sw_comm *c)
{
	int dims[2] = {0, 0}, periods[2] = {(int)sw_draw(2), (int)sw_draw(2)}, keep[2], n = c->n[0];
	struct sw_comm d = {.of = {sw_alloc((size_t)n * sizeof(int))}};
	MPI_Comm whole;

	MPI_Dims_create(n, 2, dims);
	bool slice = sw_one_in(2);
	keep[0] = (int)sw_draw(2);
	keep[1] = !keep[0];
	int line = (int)sw_draw((uint32_t)(keep[0] ? dims[1] : dims[0]));
	for (int i = 0; i < n; i++) {
		if (!slice || (keep[0] ? i % dims[1] : i / dims[1]) == line)
			d.of[0][d.n[0]++] = c->of[0][i];
	}
	if (c->me >= 0) {
		MPI_Cart_create(c->comm, 2, dims, periods, 0, &whole);
		if (slice) {
			MPI_Cart_sub(whole, keep, &d.comm);
			MPI_Comm_free(&whole);
			if ((keep[0] ? c->me % dims[1] : c->me / dims[1]) != line)
				MPI_Comm_free(&d.comm);
		} else {
			d.comm = whole;
		}
	}
	add(d);
}

void
sw_step_comm(void)
{
	const struct sw_comm *c;

	if (npool == COMMS || (npool > 4 && sw_one_in(3))) {
		drop(1 + (int)sw_draw((uint32_t)npool - 1));
		return;
	}
	c = sw_any_comm();
	uint32_t what = sw_draw(6);
	if (what == 0)
		dup_comm(c);
	else if (c->inter)
		merge_inter(c);
	else if (what == 1)
		create_from_group(c);
	else if (what == 2)
		make_cart(c);
	else if (what < 5 && c->n[0] > 1)
		make_inter(c);
	else
		split_comm(c);
}
