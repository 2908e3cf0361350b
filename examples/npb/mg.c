/* SPDX-License-Identifier: BSD-2-Clause */
/* mg - kernel MG of the NAS Parallel Benchmarks: Poisson's equation by a V-cycle of grids.
 *
 *   mg [S|W|A|B]         under mpirun; class S by default, a power of two of processes
 *
 * Written from the definition (NASA RNR-94-007, section 2.5).  A periodic cube with charges of +1
 * where ten random numbers are largest and -1 where ten are smallest.  Each iteration carries the
 * residual down to a grid of 2^3, smooths there, and carries corrections up again, smoothing.
 *
 * Processes stand in a grid of three dimensions, each power of two in turn cut from z, y, x, as in
 * NPB 2; each has a box, and the nearest numbers of its six neighbours around it: many messages of
 * one face, shorter on each coarser grid.  What lies beyond an edge or a corner comes with the
 * faces, for those of y go after those of x and have their borders, those of z have both.  Grids
 * with less than two numbers a side for each process are on all of them: added up where they
 * begin, computed by everybody from there on.
 *
 * Verified: the norm of the last residual to 1e-8 of the published one.  Exit status 1: not
 * verified. */
#include "npb.h"

#include <math.h>

#define LEVELS	  10
#define CHARGES	  10
#define TOLERANCE 1e-8

static const struct mg_class {
	char name;
	int log_side, iterations;
	double norm;
	double smooth[3]; /* of the number itself, its 6 faces, its 12 edges */
} classes[] = {
	{'S', 5, 4, 0.5307707005734e-04, {-3.0 / 8, 1.0 / 32, -1.0 / 64}},
	{'W', 7, 4, 0.6467329375339e-05, {-3.0 / 8, 1.0 / 32, -1.0 / 64}},
	{'A', 8, 4, 0.2433365309069e-05, {-3.0 / 8, 1.0 / 32, -1.0 / 64}},
	{'B', 8, 20, 0.1800564401355e-05, {-3.0 / 17, 1.0 / 33, -1.0 / 61}},
};

enum { X, Y, Z, AXES };

/* Numbers have a border of one on all sides: row y of plane z begins at row_at(). */
struct grid {
	int n;			    /* side of all of it */
	int own[AXES], first[AXES]; /* numbers of this process, and which of all they are */
	bool everywhere;	    /* all processes have all of it */
	double *u, *r;
};
struct mg {
	const struct mg_class *c;
	int top;
	int procs[AXES], up[AXES], down[AXES]; /* processes along an axis; the neighbours' ranks */
	struct grid grid[LEVELS];	       /* of side 2^i, from 1 */
	double *v, *tmp, *face[2];
};

static const struct mg_class *
find_class(char name)
{
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (classes[i].name == name)
			return &classes[i];
	npb_stop("no such class: they are S, W, A and B");
}

static size_t
row_numbers(const struct grid *g)
{
	return (size_t)(g->own[X] + 2);
}

static size_t
plane_numbers(const struct grid *g)
{
	return row_numbers(g) * (size_t)(g->own[Y] + 2);
}

static size_t
grid_numbers(const struct grid *g)
{
	return plane_numbers(g) * (size_t)(g->own[Z] + 2);
}

/* Place of x = 0; y and z from -1. */
static size_t
row_at(const struct grid *g, int y, int z)
{
	return (size_t)(z + 1) * plane_numbers(g) + (size_t)(y + 1) * row_numbers(g) + 1;
}

/* ---- the grid of processes ---- */

static void
place_processes(struct mg *m, int me[AXES])
{
	int logs = 0, size = npb_size(), rank = npb_rank();
	while (1 << logs < size)
		logs++;
	m->procs[X] = 1 << logs / 3;
	m->procs[Y] = 1 << (logs - logs / 3) / 2;
	m->procs[Z] = size / (m->procs[X] * m->procs[Y]);
	for (int a = X, step = 1; a < AXES; step *= m->procs[a++]) {
		int p = m->procs[a], i = me[a] = rank / step % p;
		m->up[a] = rank + ((i + 1) % p - i) * step;
		m->down[a] = rank + ((i + p - 1) % p - i) * step;
	}
}

/* ---- borders ---- */

/* The numbers of one face, at a place of its axis, into a row or out of it; with borders along the
 * axes before it.  How many. */
static size_t
copy_face(const struct grid *g, double *a, int axis, int at, double *row, bool out)
{
	int low[AXES], end[AXES];
	size_t n = 0;
	for (int i = X; i < AXES; i++) {
		low[i] = i == axis ? at : i < axis ? -1 : 0;
		end[i] = i == axis ? at + 1 : g->own[i] + (i < axis);
	}
	for (int z = low[Z]; z < end[Z]; z++)
		for (int y = low[Y]; y < end[Y]; y++) {
			double *from = a + row_at(g, y, z) + low[X];
			size_t len = (size_t)(end[X] - low[X]);
			if (out)
				memcpy(row + n, from, len * sizeof *row);
			else
				memcpy(from, row + n, len * sizeof *row);
			n += len;
		}
	return n;
}

/* The face at `from` becomes the border at `to` of the neighbour on that side. */
static void
pass_face(const struct mg *m, const struct grid *g, double *a, int axis, int from, int to)
{
	size_t n = copy_face(g, a, axis, from, m->face[0], true), len = n * sizeof *a;
	bool up = to < 0;
	double *got = m->face[0];
	if (!g->everywhere && m->procs[axis] > 1) {
		got = m->face[1];
		npb_exchange(up ? m->up[axis] : m->down[axis], m->face[0], len,
			     up ? m->down[axis] : m->up[axis], got, len, sizeof *a);
	}
	(void)copy_face(g, a, axis, to, got, false);
}

static void
fill_border(const struct mg *m, const struct grid *g, double *a)
{
	for (int axis = X; axis < AXES; axis++) {
		int n = g->own[axis];
		pass_face(m, g, a, axis, n - 1, -1);
		pass_face(m, g, a, axis, 0, n);
	}
}

/* ---- stencils: around a number are 6 faces, 12 edges and 8 corners ---- */

struct around {
	double faces, edges, corners;
};

static inline struct around
look_around(const double *p, ptrdiff_t y, ptrdiff_t z)
{
	const double *l = p - 1, *r = p + 1;
	struct around a;
	a.faces = l[0] + r[0] + p[-y] + p[y] + p[-z] + p[z];
	a.edges = p[-y - z] + p[y - z] + p[-y + z] + p[y + z] + l[-y] + l[y] + l[-z] + l[z] +
		  r[-y] + r[y] + r[-z] + r[z];
	a.corners = l[-y - z] + l[y - z] + l[-y + z] + l[y + z] + r[-y - z] + r[y - z] + r[-y + z] +
		    r[y + z];
	return a;
}

/* r = v - A u; r may be v. */
static void
find_residual(const struct mg *m, const struct grid *g, const double *u, const double *v, double *r)
{
	ptrdiff_t y1 = (ptrdiff_t)row_numbers(g), z1 = (ptrdiff_t)plane_numbers(g);
	for (int z = 0; z < g->own[Z]; z++)
		for (int y = 0; y < g->own[Y]; y++) {
			size_t at = row_at(g, y, z);
			for (int x = 0; x < g->own[X]; x++, at++) {
				struct around a = look_around(u + at, y1, z1);
				r[at] = v[at] + 8.0 / 3 * u[at] - a.edges / 6 - a.corners / 12;
			}
		}
	fill_border(m, g, r);
}

/* u += S r */
static void
smooth(const struct mg *m, const struct grid *g)
{
	const double *c = m->c->smooth;
	ptrdiff_t y1 = (ptrdiff_t)row_numbers(g), z1 = (ptrdiff_t)plane_numbers(g);
	for (int z = 0; z < g->own[Z]; z++)
		for (int y = 0; y < g->own[Y]; y++) {
			size_t at = row_at(g, y, z);
			for (int x = 0; x < g->own[X]; x++, at++) {
				struct around a = look_around(g->r + at, y1, z1);
				g->u[at] += c[0] * g->r[at] + c[1] * a.faces + c[2] * a.edges;
			}
		}
	fill_border(m, g, g->u);
}

/* Where this process's numbers of a grid begin in the next coarser one, as it has that. */
static void
find_shift(const struct grid *coarse, const struct grid *fine, int shift[AXES])
{
	for (int i = X; i < AXES; i++)
		shift[i] = coarse->everywhere && !fine->everywhere ? fine->first[i] / 2 : 0;
}

/* The residual to the next coarser grid: its number i lies where 2 i + 1 is here. */
static void
coarsen(const struct mg *m, const struct grid *fine, const struct grid *coarse)
{
	ptrdiff_t y1 = (ptrdiff_t)row_numbers(fine), z1 = (ptrdiff_t)plane_numbers(fine);
	/* Those of which the middle is here. */
	bool spreads = coarse->everywhere && !fine->everywhere;
	int shift[AXES];
	find_shift(coarse, fine, shift);
	memset(coarse->r, 0, grid_numbers(coarse) * sizeof *coarse->r);
	for (int z = 0; z < fine->own[Z] / 2; z++)
		for (int y = 0; y < fine->own[Y] / 2; y++) {
			const double *p = fine->r + row_at(fine, 2 * y + 1, 2 * z + 1) + 1;
			double *to =
				coarse->r + row_at(coarse, y + shift[Y], z + shift[Z]) + shift[X];
			for (int x = 0; x < fine->own[X] / 2; x++, p += 2) {
				struct around a = look_around(p, y1, z1);
				to[x] = p[0] / 2 + a.faces / 4 + a.edges / 8 + a.corners / 16;
			}
		}
	if (spreads)
		npb_sum_double(coarse->r, m->tmp, (int)grid_numbers(coarse));
	fill_border(m, coarse, coarse->r);
}

/* A correction to the next finer grid, halfway between two numbers the mean of them. */
static void
refine(const struct mg *m, const struct grid *coarse, const struct grid *fine)
{
	int shift[AXES];
	find_shift(coarse, fine, shift);
	for (int z = 0; z < fine->own[Z]; z++)
		for (int y = 0; y < fine->own[Y]; y++) {
			/* Even ones lie between the one before and the one at half. */
			const double *row[4];
			for (int k = 0; k < 4; k++) {
				int cy = (y - 1) / 2, cz = (z - 1) / 2;
				cy = y % 2 ? cy : y / 2 - (k & 1);
				cz = z % 2 ? cz : z / 2 - (k >> 1);
				row[k] = coarse->u + row_at(coarse, cy + shift[Y], cz + shift[Z]) +
					 shift[X];
			}
			double *to = fine->u + row_at(fine, y, z);
			double before = (row[0][-1] + row[1][-1] + row[2][-1] + row[3][-1]) / 4;
			for (int x = 0; x < fine->own[X] / 2; x++) {
				double here = (row[0][x] + row[1][x] + row[2][x] + row[3][x]) / 4;
				to[2 * x] += (before + here) / 2;
				to[2 * x + 1] += here;
				before = here;
			}
		}
	fill_border(m, fine, fine->u);
}

static void
cycle(struct mg *m)
{
	struct grid *g = m->grid;
	for (int k = m->top; k > 1; k--)
		coarsen(m, &g[k], &g[k - 1]);
	for (int k = 1; k <= m->top; k++) {
		if (k < m->top)
			memset(g[k].u, 0, grid_numbers(&g[k]) * sizeof *g[k].u);
		if (k > 1) {
			refine(m, &g[k - 1], &g[k]);
			find_residual(m, &g[k], g[k].u, k < m->top ? g[k].r : m->v, g[k].r);
		}
		smooth(m, &g[k]);
	}
}

/* ---- the charges ---- */

struct extreme {
	double value, at; /* of all numbers */
};

/* Keep the first CHARGES in the order of sign * value. */
static void
keep(struct extreme *e, struct extreme one, double sign)
{
	if (sign * one.value <= sign * e[CHARGES - 1].value)
		return;
	int i = CHARGES - 1;
	for (; i > 0 && sign * one.value > sign * e[i - 1].value; i--)
		e[i] = e[i - 1];
	e[i] = one;
}

static void
put_charges(struct mg *m, const struct extreme *e, double charge)
{
	const struct grid *g = &m->grid[m->top];
	for (int i = 0; i < CHARGES; i++) {
		long at = (long)e[i].at, n = g->n;
		int p[AXES] = {(int)(at % n), (int)(at / n % n), (int)(at / (n * n))};
		bool here = true;
		for (int k = X; k < AXES; k++) {
			p[k] -= g->first[k];
			here &= p[k] >= 0 && p[k] < g->own[k];
		}
		if (here)
			m->v[row_at(g, p[Y], p[Z]) + (size_t)p[X]] = charge;
	}
}

/* Each process's ten, then the ten of those. */
static void
find_charges(struct mg *m, double sign)
{
	const struct grid *g = &m->grid[m->top];
	size_t each = 2 * CHARGES, all = each * (size_t)npb_size();
	struct extreme own[CHARGES], best[CHARGES];
	double *of = npb_new(2 * all, sizeof *of);
	for (int i = 0; i < CHARGES; i++)
		own[i] = best[i] = (struct extreme){.value = sign > 0 ? -1 : 2};
	for (int z = g->first[Z]; z < g->first[Z] + g->own[Z]; z++)
		for (int y = g->first[Y]; y < g->first[Y] + g->own[Y]; y++) {
			uint64_t i = ((uint64_t)z * (uint64_t)g->n + (uint64_t)y) * (uint64_t)g->n +
				     (uint64_t)g->first[X];
			uint64_t end = i + (uint64_t)g->own[X], state = npb_random_at(NPB_SEED, i);
			for (; i < end; i++)
				keep(own, (struct extreme){npb_random(&state), (double)i}, sign);
		}
	memcpy(of + each * (size_t)npb_rank(), own, sizeof own);
	npb_sum_double(of, of + all, (int)all);
	for (size_t i = 0; i < all; i += 2)
		keep(best, (struct extreme){of[i], of[i + 1]}, sign);
	put_charges(m, best, sign);
	free(of);
}

/* ---- the program ---- */

static void
new_grid(const struct mg *m, struct grid *g, int side, const int me[AXES])
{
	g->n = side;
	/* The last axis has the most processes. */
	g->everywhere = side < 2 * m->procs[Z];
	for (int a = X; a < AXES; a++) {
		g->own[a] = g->everywhere ? side : side / m->procs[a];
		g->first[a] = g->everywhere ? 0 : g->own[a] * me[a];
	}
	g->u = npb_new(grid_numbers(g), sizeof *g->u);
	g->r = npb_new(grid_numbers(g), sizeof *g->r);
}

static void
mg_new(struct mg *m, char class)
{
	const struct mg_class *c = m->c = find_class(class);
	int me[AXES];
	m->top = c->log_side;
	place_processes(m, me);
	if (2 * m->procs[Z] > 1 << m->top)
		npb_stop("too many processes for this class: take fewer or a larger class");
	for (int k = 1; k <= m->top; k++)
		new_grid(m, &m->grid[k], 1 << k, me);
	const struct grid *top = &m->grid[m->top];
	m->v = npb_new(grid_numbers(top), sizeof *m->v);
	for (int i = 0; i < 2; i++)
		m->face[i] = npb_new((size_t)(top->own[X] + 2) * (size_t)(top->own[X] + 2),
				     sizeof **m->face);
	/* For the largest that all have. */
	int k = m->top;
	while (k > 1 && !m->grid[k].everywhere)
		k--;
	m->tmp = npb_new(grid_numbers(&m->grid[k]), sizeof *m->tmp);
	find_charges(m, 1);
	find_charges(m, -1);
	fill_border(m, top, m->v);
}

static void
mg_free(struct mg *m)
{
	for (int k = 1; k <= m->top; k++) {
		free(m->grid[k].u);
		free(m->grid[k].r);
	}
	free(m->v);
	free(m->tmp);
	free(m->face[0]);
	free(m->face[1]);
}

static double
find_norm(const struct mg *m)
{
	const struct grid *g = &m->grid[m->top];
	double sum = 0, tmp;
	for (int z = 0; z < g->own[Z]; z++)
		for (int y = 0; y < g->own[Y]; y++)
			for (int x = 0; x < g->own[X]; x++) {
				double r = g->r[row_at(g, y, z) + (size_t)x];
				sum += r * r;
			}
	npb_sum_double(&sum, &tmp, 1);
	return sqrt(sum / ((double)g->n * g->n * g->n));
}

static void
solve(struct mg *m, int iterations)
{
	struct grid *g = &m->grid[m->top];
	memset(g->u, 0, grid_numbers(g) * sizeof *g->u);
	find_residual(m, g, g->u, m->v, g->r);
	for (int i = 0; i < iterations; i++) {
		cycle(m);
		find_residual(m, g, g->u, m->v, g->r);
	}
}

int
main(int argc, char **argv)
{
	static struct mg m;
	npb_init(&argc, &argv);
	mg_new(&m, npb_class(argc, argv));
	const struct mg_class *c = m.c;
	int side = 1 << m.top;
	if (npb_rank() == 0)
		printf(" NAS Parallel Benchmarks, MG\n Size: %d^3 (class %c)\n Iterations: %d\n"
		       " Processes: %d\n",
		       side, c->name, c->iterations, npb_size());
	solve(&m, 1); /* to have all memory and paths; not timed */
	npb_barrier();
	double begin = npb_wtime();
	solve(&m, c->iterations);
	double norm = find_norm(&m), seconds = npb_wtime() - begin;
	npb_barrier();
	double all = (double)side * side * side;
	bool good = fabs(norm - c->norm) <= TOLERANCE * c->norm;
	if (npb_rank() == 0)
		printf(" Norm of the residual: %.13e%s\n", norm, good ? "" : ", which is wrong");
	struct npb_run run = {.kernel = "MG",
			      .unit = "floating point",
			      .class = c->name,
			      .size = (long)all,
			      .iterations = c->iterations,
			      .seconds = npb_max_double(seconds),
			      .mop = 58 * all * c->iterations / 1e6, /* as NPB counts them */
			      .verified = good};
	mg_free(&m);
	int rc = npb_report(&run);
	npb_finalize();
	return rc;
}
