/* mg - kernel MG of the NAS Parallel Benchmarks: Poisson's equation by a V-cycle of grids.
 *
 *   mg [S|W|A|B]         under mpirun; class S by default, a power of two of processes, at most
 * half as many as there are planes
 *
 * Written from the definition (NASA RNR-94-007, section 2.5).  A periodic cube with charges of +1
 * where ten random numbers are largest and -1 where ten are smallest.  Each iteration carries the
 * residual down to a grid of 2^3, smooths there, and carries corrections up again, smoothing.
 *
 * Each process has planes of constant z, and the nearest one of either neighbour beside them: many
 * messages of one plane, shorter on each coarser grid.  Grids with less than two planes for each
 * process are on all of them: added up where they begin, computed by everybody from there on.
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

/* Numbers have a border of one on all sides: row x of plane z begins at row_at(). */
struct grid {
	int n, planes, first; /* side; own planes, and which of all they are */
	bool everywhere;      /* all processes have all of it */
	double *u, *r;
};
struct mg {
	const struct mg_class *c;
	int top;
	struct grid grid[LEVELS]; /* of side 2^i, from 1 */
	double *v, *tmp;
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
plane_numbers(const struct grid *g)
{
	return (size_t)(g->n + 2) * (size_t)(g->n + 2);
}

static size_t
grid_numbers(const struct grid *g)
{
	return plane_numbers(g) * (size_t)(g->planes + 2);
}

/* Place of x = 0; y and z from -1. */
static size_t
row_at(const struct grid *g, int y, int z)
{
	return (size_t)(z + 1) * plane_numbers(g) + (size_t)(y + 1) * (size_t)(g->n + 2) + 1;
}

/* ---- borders ---- */

static void
swap_planes(const struct grid *g, double *a)
{
	size_t n = plane_numbers(g), len = n * sizeof *a;
	double *low = a + n, *high = a + n * (size_t)g->planes, *below = a, *above = high + n;
	int size = npb_size(), up = (npb_rank() + 1) % size, down = (npb_rank() + size - 1) % size;
	if (g->everywhere || size == 1) {
		memcpy(below, high, len);
		memcpy(above, low, len);
		return;
	}
	npb_exchange(up, high, len, down, below, len, sizeof *a);
	npb_exchange(down, low, len, up, above, len, sizeof *a);
}

static void
fill_border(const struct grid *g, double *a)
{
	int n = g->n;
	size_t row = (size_t)(n + 2);
	for (int z = 0; z < g->planes; z++) {
		for (int y = 0; y < n; y++) {
			double *at = a + row_at(g, y, z);
			at[-1] = at[n - 1];
			at[n] = at[0];
		}
		memcpy(a + row_at(g, -1, z) - 1, a + row_at(g, n - 1, z) - 1, row * sizeof *a);
		memcpy(a + row_at(g, n, z) - 1, a + row_at(g, 0, z) - 1, row * sizeof *a);
	}
	swap_planes(g, a);
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
find_residual(const struct grid *g, const double *u, const double *v, double *r)
{
	ptrdiff_t y1 = g->n + 2, z1 = (ptrdiff_t)plane_numbers(g);
	for (int z = 0; z < g->planes; z++)
		for (int y = 0; y < g->n; y++) {
			size_t at = row_at(g, y, z);
			for (int x = 0; x < g->n; x++, at++) {
				struct around a = look_around(u + at, y1, z1);
				r[at] = v[at] + 8.0 / 3 * u[at] - a.edges / 6 - a.corners / 12;
			}
		}
	fill_border(g, r);
}

/* u += S r */
static void
smooth(const struct mg *m, const struct grid *g)
{
	const double *c = m->c->smooth;
	ptrdiff_t y1 = g->n + 2, z1 = (ptrdiff_t)plane_numbers(g);
	for (int z = 0; z < g->planes; z++)
		for (int y = 0; y < g->n; y++) {
			size_t at = row_at(g, y, z);
			for (int x = 0; x < g->n; x++, at++) {
				struct around a = look_around(g->r + at, y1, z1);
				g->u[at] += c[0] * g->r[at] + c[1] * a.faces + c[2] * a.edges;
			}
		}
	fill_border(g, g->u);
}

/* The residual to the next coarser grid: its number i lies where 2 i + 1 is here. */
static void
coarsen(const struct mg *m, const struct grid *fine, const struct grid *coarse)
{
	ptrdiff_t y1 = fine->n + 2, z1 = (ptrdiff_t)plane_numbers(fine);
	/* Those of which the middle is here. */
	bool spreads = coarse->everywhere && !fine->everywhere;
	int first = spreads ? fine->first / 2 : 0, planes = fine->planes / 2;
	memset(coarse->r, 0, grid_numbers(coarse) * sizeof *coarse->r);
	for (int z = 0; z < planes; z++)
		for (int y = 0; y < coarse->n; y++) {
			const double *p = fine->r + row_at(fine, 2 * y + 1, 2 * z + 1) + 1;
			double *to = coarse->r + row_at(coarse, y, first + z);
			for (int x = 0; x < coarse->n; x++, p += 2) {
				struct around a = look_around(p, y1, z1);
				to[x] = p[0] / 2 + a.faces / 4 + a.edges / 8 + a.corners / 16;
			}
		}
	if (spreads)
		npb_sum_double(coarse->r, m->tmp, (int)grid_numbers(coarse));
	fill_border(coarse, coarse->r);
}

/* A correction to the next finer grid, halfway between two numbers the mean of them. */
static void
refine(const struct grid *coarse, const struct grid *fine)
{
	int shift = coarse->everywhere && !fine->everywhere ? fine->first / 2 : 0;
	for (int z = 0; z < fine->planes; z++)
		for (int y = 0; y < fine->n; y++) {
			/* Even ones lie between the one before and the one at half. */
			const double *row[4];
			for (int k = 0; k < 4; k++) {
				int cy = (y - 1) / 2, cz = (z - 1) / 2;
				cy = y % 2 ? cy : y / 2 - (k & 1);
				cz = z % 2 ? cz : z / 2 - (k >> 1);
				row[k] = coarse->u + row_at(coarse, cy, cz + shift);
			}
			double *to = fine->u + row_at(fine, y, z);
			double before = (row[0][-1] + row[1][-1] + row[2][-1] + row[3][-1]) / 4;
			for (int x = 0; x < coarse->n; x++) {
				double here = (row[0][x] + row[1][x] + row[2][x] + row[3][x]) / 4;
				to[2 * x] += (before + here) / 2;
				to[2 * x + 1] += here;
				before = here;
			}
		}
	fill_border(fine, fine->u);
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
			refine(&g[k - 1], &g[k]);
			find_residual(&g[k], g[k].u, k < m->top ? g[k].r : m->v, g[k].r);
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
		int z = (int)(at / (n * n)) - g->first;
		if (z >= 0 && z < g->planes)
			m->v[row_at(g, (int)(at / n % n), z) + (size_t)(at % n)] = charge;
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
	uint64_t first = (uint64_t)g->n * (uint64_t)g->n * (uint64_t)g->first;
	uint64_t end = first + (uint64_t)g->n * (uint64_t)g->n * (uint64_t)g->planes;
	uint64_t state = npb_random_at(NPB_SEED, first);
	for (int i = 0; i < CHARGES; i++)
		own[i] = best[i] = (struct extreme){.value = sign > 0 ? -1 : 2};
	for (uint64_t i = first; i < end; i++)
		keep(own, (struct extreme){npb_random(&state), (double)i}, sign);
	memcpy(of + each * (size_t)npb_rank(), own, sizeof own);
	npb_sum_double(of, of + all, (int)all);
	for (size_t i = 0; i < all; i += 2)
		keep(best, (struct extreme){of[i], of[i + 1]}, sign);
	put_charges(m, best, sign);
	free(of);
}

/* ---- the program ---- */

static void
mg_new(struct mg *m, char class)
{
	const struct mg_class *c = m->c = find_class(class);
	m->top = c->log_side;
	if (npb_size() > 1 << (m->top - 1))
		npb_stop("more processes than pairs of planes: take fewer or a larger class");
	for (int k = 1; k <= m->top; k++) {
		struct grid *g = &m->grid[k];
		g->n = 1 << k;
		g->everywhere = g->n < 2 * npb_size();
		g->planes = g->everywhere ? g->n : g->n / npb_size();
		g->first = g->everywhere ? 0 : g->planes * npb_rank();
		g->u = npb_new(grid_numbers(g), sizeof *g->u);
		g->r = npb_new(grid_numbers(g), sizeof *g->r);
	}
	m->v = npb_new(grid_numbers(&m->grid[m->top]), sizeof *m->v);
	/* For the largest that all have. */
	int k = m->top;
	while (k > 1 && !m->grid[k].everywhere)
		k--;
	m->tmp = npb_new(grid_numbers(&m->grid[k]), sizeof *m->tmp);
	find_charges(m, 1);
	find_charges(m, -1);
	fill_border(&m->grid[m->top], m->v);
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
}

static double
find_norm(const struct mg *m)
{
	const struct grid *g = &m->grid[m->top];
	double sum = 0, tmp;
	for (int z = 0; z < g->planes; z++)
		for (int y = 0; y < g->n; y++)
			for (int x = 0; x < g->n; x++) {
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
	find_residual(g, g->u, m->v, g->r);
	for (int i = 0; i < iterations; i++) {
		cycle(m);
		find_residual(g, g->u, m->v, g->r);
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
