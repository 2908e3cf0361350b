/* SPDX-License-Identifier: BSD-2-Clause */
/* cg - kernel CG of the NAS Parallel Benchmarks: the smallest eigenvalue of a sparse matrix.
 *
 *   cg [S|W|A|B]         under mpirun; class S by default, a power of two of processes
 *
 * Written from the definition (NASA RNR-94-007, section 2.3.  The matrix is the sum of n weighted
 * outer products of random sparse vectors, and of a diagonal).  Inverse iteration: solve A z = x by
 * 25 steps of conjugate gradients, zeta = shift + 1 / (x, z), x = z / |z|.  zeta of the last
 * iteration is published, and must be met to 1e-10 of it.  Exit status 1: it is not.
 *
 * Processes stand in a grid of rows and columns, as many columns as rows or twice.  Process (r, c)
 * has block (r, c) of the matrix and the part c of every vector, as all of column c have.  A
 * product is a sum over the row of the grid, in pairs, and an exchange with the process that has
 * the part of the sum that this one needs. */
#include "npb.h"

#include <math.h>

#define STEPS	25
#define RCOND	0.1
#define EPSILON 1e-10

static const struct cg_class {
	char name;
	int n, nonzer, iterations;
	double shift, zeta;
} classes[] = {
	{'S', 1400, 7, 15, 10, 8.5971775078648},
	{'W', 7000, 8, 15, 12, 10.362595087124},
	{'A', 14000, 11, 15, 20, 17.130235054029},
	{'B', 75000, 13, 75, 60, 22.712745482631},
};

struct cg {
	const struct cg_class *c;
	int rows, cols, row, col;   /* the grid, and my place in it */
	int row0, nrow, col0, ncol; /* my block of the matrix */
	int half0, nhalf;    /* the rows of it that are part of a vector of my row's processes */
	int partner;	     /* has the part of a product that I need, and needs mine */
	int *start, *column; /* of row i: start[i] <= k < start[i + 1] */
	double *value;
	double *x, *z, *p, *q, *r; /* parts of vectors, ncol numbers */
	double *w, *tmp;	   /* of a product: nrow numbers */
};

/* The random sparse vectors, and in which of them each row is. */
struct sources {
	int *count, *index;
	double *value;
	int *first, *of; /* row i: vectors of[first[i]] .. */
	int room;	 /* of a vector */
};

static int
part(int n, int parts, int i)
{
	return (int)((long)n * i / parts);
}

static void
grid(struct cg *s)
{
	for (s->rows = 1; s->rows * s->rows * 4 <= npb_size(); s->rows *= 2)
		;
	s->cols = npb_size() / s->rows;
	s->row = npb_rank() / s->cols;
	s->col = npb_rank() % s->cols;
	int wide = s->cols / s->rows; /* columns of vectors in a row of the matrix: 1 or 2 */
	int n = s->c->n;
	s->row0 = part(n, s->cols, s->row * wide);
	s->nrow = part(n, s->cols, (s->row + 1) * wide) - s->row0;
	s->col0 = part(n, s->cols, s->col);
	s->ncol = part(n, s->cols, s->col + 1) - s->col0;
	/* Of my row's sum I end with the part that my partner needs, the half of my parity. */
	int mine = s->row * wide + s->col % wide;
	s->half0 = part(n, s->cols, mine) - s->row0;
	s->nhalf = part(n, s->cols, mine + 1) - s->row0 - s->half0;
	s->partner = s->col / wide * s->cols + mine;
}

/* A vector of "nonzer" random elements at random places, and 0.5 at place o. */
static int
sparse_vector(const struct cg_class *c, int o, uint64_t *x, int *index, double *value)
{
	int n2 = 1, have = 0, k;
	while (n2 < c->n)
		n2 *= 2;
	while (have < c->nonzer) {
		double v = npb_random(x);
		int at = (int)(npb_random(x) * n2);
		for (k = 0; k < have && index[k] != at; k++)
			;
		if (at >= c->n || k < have)
			continue;
		index[have] = at;
		value[have++] = v;
	}
	for (k = 0; k < have && index[k] != o; k++)
		;
	index[k] = o;
	value[k] = 0.5;
	return k == have ? have + 1 : have;
}

static void
sources_new(struct sources *g, const struct cg_class *c)
{
	uint64_t x = NPB_SEED;
	npb_random(&x); /* the benchmark draws one before */
	g->room = c->nonzer + 1;
	g->count = npb_new((size_t)c->n, sizeof *g->count);
	g->index = npb_new((size_t)c->n * (size_t)g->room, sizeof *g->index);
	g->value = npb_new((size_t)c->n * (size_t)g->room, sizeof *g->value);
	g->first = npb_new((size_t)c->n + 2, sizeof *g->first);
	g->of = npb_new((size_t)c->n * (size_t)g->room, sizeof *g->of);
	for (int o = 0; o < c->n; o++) {
		int *index = g->index + (long)o * g->room;
		g->count[o] = sparse_vector(c, o, &x, index, g->value + (long)o * g->room);
		for (int k = 0; k < g->count[o]; k++)
			g->first[index[k] + 2]++;
	}
	for (int i = 2; i <= c->n; i++)
		g->first[i] += g->first[i - 1];
	for (int o = 0; o < c->n; o++)
		for (int k = 0; k < g->count[o]; k++)
			g->of[g->first[g->index[(long)o * g->room + k] + 1]++] = o;
}

static void
sources_free(struct sources *g)
{
	free(g->count);
	free(g->index);
	free(g->value);
	free(g->first);
	free(g->of);
}

static int
by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Row i of my block: sums[] by column, and which columns it has, in order. */
static int
matrix_row(const struct cg *s, const struct sources *g, int i, double *sums, char *has, int *list)
{
	int n = 0;
	for (int k = g->first[i]; k < g->first[i + 1]; k++) {
		int o = g->of[k], count = g->count[o];
		const int *index = g->index + (long)o * g->room;
		const double *value = g->value + (long)o * g->room;
		double weight = pow(RCOND, (double)o / s->c->n);
		int at = 0;
		while (index[at] != i)
			at++;
		for (int e = 0; e < count; e++) {
			int j = index[e] - s->col0;
			if (j < 0 || j >= s->ncol)
				continue;
			if (!has[j]) {
				has[j] = 1;
				sums[j] = 0;
				list[n++] = j;
			}
			sums[j] += weight * value[at] * value[e];
		}
	}
	int j = i - s->col0;
	if (j >= 0 && j < s->ncol) /* every vector i has an element i */
		sums[j] += RCOND - s->c->shift;
	qsort(list, (size_t)n, sizeof *list, by_number);
	return n;
}

static void
new_matrix(struct cg *s)
{
	struct sources g;
	sources_new(&g, s->c);
	double *sums = npb_new((size_t)s->ncol, sizeof *sums);
	char *has = npb_new((size_t)s->ncol, 1);
	int *list = npb_new((size_t)s->ncol, sizeof *list);
	size_t room = 0, n = 0;
	s->start = npb_new((size_t)s->nrow + 1, sizeof *s->start);
	for (int i = 0; i < s->nrow; i++) {
		int row = matrix_row(s, &g, s->row0 + i, sums, has, list);
		if (n + (size_t)row > room) {
			room = (n + (size_t)row) * 2;
			s->column = realloc(s->column, room * sizeof *s->column);
			s->value = realloc(s->value, room * sizeof *s->value);
			if (!s->column || !s->value || room > INT32_MAX)
				npb_stop("no memory: take more processes or a smaller class");
		}
		for (int k = 0; k < row; k++) {
			s->column[n] = list[k];
			s->value[n++] = sums[list[k]];
			has[list[k]] = 0;
		}
		s->start[i + 1] = (int)n;
	}
	free(sums);
	free(has);
	free(list);
	sources_free(&g);
}

static void
cg_new(struct cg *s, char name)
{
	memset(s, 0, sizeof *s);
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (classes[i].name == name)
			s->c = &classes[i];
	if (!s->c)
		npb_stop("a class of CG is S, W, A or B");
	grid(s);
	new_matrix(s);
	double **part_of[] = {&s->x, &s->z, &s->p, &s->q, &s->r};
	for (size_t i = 0; i < sizeof part_of / sizeof *part_of; i++)
		*part_of[i] = npb_new((size_t)s->ncol, sizeof(double));
	s->w = npb_new((size_t)s->nrow, sizeof *s->w);
	s->tmp = npb_new((size_t)s->nrow, sizeof *s->tmp);
}

static void
cg_free(struct cg *s)
{
	free(s->start);
	free(s->column);
	free(s->value);
	free(s->x);
	free(s->z);
	free(s->p);
	free(s->q);
	free(s->r);
	free(s->w);
	free(s->tmp);
}

static void
swap(int peer, const double *out, int nout, double *in, int nin)
{
	npb_exchange(peer, out, (size_t)nout * sizeof *out, peer, in, (size_t)nin * sizeof *in,
		     sizeof *in);
}

/* Add n numbers up over my row of the grid, where all parts of a vector are. */
static void
row_sum(const struct cg *s, double *v, int n)
{
	double other[2];
	for (int bit = 1; bit < s->cols; bit *= 2) {
		swap(npb_rank() ^ bit, v, n, other, n);
		for (int i = 0; i < n; i++)
			v[i] += other[i];
	}
}

/* q = A p */
static void
product(const struct cg *s, const double *p, double *q)
{
	for (int i = 0; i < s->nrow; i++) {
		double sum = 0;
		for (int k = s->start[i]; k < s->start[i + 1]; k++)
			sum += s->value[k] * p[s->column[k]];
		s->w[i] = sum;
	}
	double *half = s->w + s->half0;
	for (int bit = 1; bit < s->cols; bit *= 2) {
		/* The neighbour ends with the other half, if there are two. */
		bool split = bit == 1 && s->nhalf < s->nrow;
		const double *out = !split ? half : s->half0 ? s->w : s->w + s->nhalf;
		swap(npb_rank() ^ bit, out, split ? s->nrow - s->nhalf : s->nhalf, s->tmp,
		     s->nhalf);
		for (int i = 0; i < s->nhalf; i++)
			half[i] += s->tmp[i];
	}
	if (s->partner == npb_rank())
		memcpy(q, half, (size_t)s->ncol * sizeof *q);
	else
		swap(s->partner, half, s->nhalf, q, s->ncol);
}

static double
dot(const struct cg *s, const double *a, const double *b)
{
	double sum = 0;
	for (int j = 0; j < s->ncol; j++)
		sum += a[j] * b[j];
	row_sum(s, &sum, 1);
	return sum;
}

/* Solve A z = x; |x - A z|. */
static double
solve(struct cg *s)
{
	int n = s->ncol;
	for (int j = 0; j < n; j++) {
		s->z[j] = 0;
		s->r[j] = s->p[j] = s->x[j];
	}
	double rho = dot(s, s->r, s->r);
	for (int step = 0; step < STEPS; step++) {
		product(s, s->p, s->q);
		double alpha = rho / dot(s, s->p, s->q), before = rho;
		for (int j = 0; j < n; j++) {
			s->z[j] += alpha * s->p[j];
			s->r[j] -= alpha * s->q[j];
		}
		rho = dot(s, s->r, s->r);
		double beta = rho / before;
		for (int j = 0; j < n; j++)
			s->p[j] = s->r[j] + beta * s->p[j];
	}
	product(s, s->z, s->q);
	for (int j = 0; j < n; j++)
		s->r[j] = s->x[j] - s->q[j];
	return sqrt(dot(s, s->r, s->r));
}

/* Inverse iteration: zeta of the last one. */
static double
iterate(struct cg *s, int iterations, bool print)
{
	double zeta = 0;
	for (int j = 0; j < s->ncol; j++)
		s->x[j] = 1;
	for (int i = 1; i <= iterations; i++) {
		double rest = solve(s), sums[2] = {0, 0};
		for (int j = 0; j < s->ncol; j++) {
			sums[0] += s->x[j] * s->z[j];
			sums[1] += s->z[j] * s->z[j];
		}
		row_sum(s, sums, 2);
		zeta = s->c->shift + 1 / sums[0];
		for (int j = 0; j < s->ncol; j++)
			s->x[j] = s->z[j] / sqrt(sums[1]);
		if (print && npb_rank() == 0)
			printf(" %9d %20.14e %20.13f\n", i, rest, zeta);
	}
	return zeta;
}

int
main(int argc, char **argv)
{
	struct cg s;
	npb_init(&argc, &argv);
	char class = npb_class(argc, argv);
	cg_new(&s, class);
	const struct cg_class *c = s.c;
	if (npb_rank() == 0)
		printf(" NAS Parallel Benchmarks, CG\n Size: %d (class %c)\n Iterations: %d\n"
		       " Processes: %d (%d x %d)\n\n iteration                ||r||                "
		       " zeta\n",
		       c->n, class, c->iterations, npb_size(), s.rows, s.cols);
	iterate(&s, 1, false); /* to have all memory and paths; not timed */
	npb_barrier();
	double begin = npb_wtime();
	double zeta = iterate(&s, c->iterations, true);
	double seconds = npb_wtime() - begin;
	npb_barrier();
	double error = fabs(zeta - c->zeta) / c->zeta, per_row = c->nonzer * (c->nonzer + 1);
	struct npb_run run = {.kernel = "CG",
			      .unit = "floating point",
			      .class = class,
			      .size = c->n,
			      .iterations = c->iterations,
			      .seconds = npb_max_double(seconds),
			      .mop = 2e-6 * c->iterations * c->n *
				     (3 + per_row + STEPS * (5 + per_row) + 3),
			      .verified = npb_max_double(isfinite(error) ? error : 1) <= EPSILON};
	if (npb_rank() == 0)
		printf(" zeta %.13f, published %.13f, error %.1e\n", zeta, c->zeta, error);
	cg_free(&s);
	int rc = npb_report(&run);
	npb_finalize();
	return rc;
}
