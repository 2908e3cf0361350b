/* SPDX-License-Identifier: BSD-2-Clause */
/* ft - kernel FT of the NAS Parallel Benchmarks: a heat equation by three-dimensional FFT.
 *
 *   ft [S|W|A|B]         under mpirun; class S by default, a power of two of processes, at most as
 *                        many as there are planes
 *
 * Written from the definition (NASA RNR-94-007, section 2.6).  A box of random complex numbers is
 * transformed once; in each step the spectrum is multiplied by exp(-4 alpha pi^2 k^2) and
 * transformed back, and 1024 of its numbers are added up.
 *
 * Each process has planes of constant z, transforms x and y in them, and gets columns of z by a
 * transposition: everybody sends everybody a block, all of the data each time.  That is what
 * this kernel measures.  The spectrum stays transposed, so a step has one.
 *
 * Verified: each step's checksum to 1e-12 of the published one.  Exit status 1: not verified. */
#include "npb.h"

#include <math.h>

#define ALPHA	  1e-6
#define TOLERANCE 1e-12
#define STEPS	  20 /* of the class that has most */
#define SAMPLES	  1024

struct complex {
	double re, im;
};

static const struct ft_class {
	char name;
	int nx, ny, nz, steps;
	struct complex sum[STEPS];
} classes[] = {
	{.name = 'S',
	 .nx = 64,
	 .ny = 64,
	 .nz = 64,
	 .steps = 6,
	 .sum = {{5.546087004964e+02, 4.845363331978e+02},
		 {5.546385409189e+02, 4.865304269511e+02},
		 {5.546148406171e+02, 4.883910722336e+02},
		 {5.545423607415e+02, 4.901273169046e+02},
		 {5.544255039624e+02, 4.917475857993e+02},
		 {5.542683411902e+02, 4.932597244941e+02}}},
	{.name = 'W',
	 .nx = 128,
	 .ny = 128,
	 .nz = 32,
	 .steps = 6,
	 .sum = {{5.673612178944e+02, 5.293246849175e+02},
		 {5.631436885271e+02, 5.282149986629e+02},
		 {5.594024089970e+02, 5.270996558037e+02},
		 {5.560698047020e+02, 5.260027904925e+02},
		 {5.530898991250e+02, 5.249400845633e+02},
		 {5.504159734538e+02, 5.239212247086e+02}}},
	{.name = 'A',
	 .nx = 256,
	 .ny = 256,
	 .nz = 128,
	 .steps = 6,
	 .sum = {{5.046735008193e+02, 5.114047905510e+02},
		 {5.059412319734e+02, 5.098809666433e+02},
		 {5.069376896287e+02, 5.098144042213e+02},
		 {5.077892868474e+02, 5.101336130759e+02},
		 {5.085233095391e+02, 5.104914655194e+02},
		 {5.091487099959e+02, 5.107917842803e+02}}},
	{.name = 'B',
	 .nx = 512,
	 .ny = 256,
	 .nz = 256,
	 .steps = 20,
	 .sum = {{5.177643571579e+02, 5.077803458597e+02},
		 {5.154521291263e+02, 5.088249431599e+02},
		 {5.146409228649e+02, 5.096208912659e+02},
		 {5.142378756213e+02, 5.101023387619e+02},
		 {5.139626667737e+02, 5.103976610617e+02},
		 {5.137423460082e+02, 5.105948019802e+02},
		 {5.135547056878e+02, 5.107404165783e+02},
		 {5.133910925466e+02, 5.108576573661e+02},
		 {5.132470705390e+02, 5.109577278523e+02},
		 {5.131197729984e+02, 5.110460304483e+02},
		 {5.130070319283e+02, 5.111252433800e+02},
		 {5.129070537032e+02, 5.111968077718e+02},
		 {5.128182883502e+02, 5.112616233064e+02},
		 {5.127393733383e+02, 5.113203605551e+02},
		 {5.126691062020e+02, 5.113735928093e+02},
		 {5.126064276004e+02, 5.114218460548e+02},
		 {5.125504076570e+02, 5.114656139760e+02},
		 {5.125002331720e+02, 5.115053595966e+02},
		 {5.124551951846e+02, 5.115415130407e+02},
		 {5.124146770029e+02, 5.115744692211e+02}}},
};

/* Planes of z: at[(z * ny + y) * nx + x], own planes only.
 * Columns: at[(x * ny + y) * nz + z], own x only. */
struct ft {
	const struct ft_class *c;
	int planes, columns; /* own */
	size_t numbers;	     /* of this process */
	struct complex *spectrum, *at, *tmp, *line;
	struct complex *root; /* exp(2 pi i k / most), of the longest side */
	int most;
	double *decay[3]; /* exp(-4 alpha pi^2 k^2) of each side */
};

static const struct ft_class *
find_class(char name)
{
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (classes[i].name == name)
			return &classes[i];
	npb_stop("no such class: they are S, W, A and B");
}

/* ---- transforms ---- */

static struct complex
product(struct complex a, struct complex b)
{
	return (struct complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* One line of n numbers, from v into v: Stockham's, which needs no order of bits. sign 1 or -1. */
static void
transform_line(const struct ft *f, struct complex *v, struct complex *w, int n, int sign)
{
	struct complex *from = v, *to = w;
	for (int half = n / 2, stride = 1; half >= 1; half /= 2, stride *= 2) {
		for (int j = 0; j < half; j++) {
			struct complex r = f->root[(long)j * stride * (f->most / n)];
			r.im *= sign;
			for (int k = 0; k < stride; k++) {
				struct complex a = from[j * stride + k];
				struct complex b = from[(j + half) * stride + k];
				to[2 * j * stride + k] = (struct complex){a.re + b.re, a.im + b.im};
				to[(2 * j + 1) * stride + k] =
					product(r, (struct complex){a.re - b.re, a.im - b.im});
			}
		}
		struct complex *t = from;
		from = to;
		to = t;
	}
	if (from != v)
		memcpy(v, from, (size_t)n * sizeof *v);
}

/* Lines along x, then y, of all planes. */
static void
transform_planes(struct ft *f, int sign)
{
	int nx = f->c->nx, ny = f->c->ny;
	struct complex *column = f->line + f->most;
	for (int z = 0; z < f->planes; z++) {
		struct complex *plane = f->at + (size_t)z * (size_t)ny * (size_t)nx;
		for (int y = 0; y < ny; y++)
			transform_line(f, plane + y * nx, f->line, nx, sign);
		for (int x = 0; x < nx; x++) {
			for (int y = 0; y < ny; y++)
				column[y] = plane[y * nx + x];
			transform_line(f, column, f->line, ny, sign);
			for (int y = 0; y < ny; y++)
				plane[y * nx + x] = column[y];
		}
	}
}

static void
transform_columns(struct ft *f, int sign)
{
	int nz = f->c->nz, lines = f->columns * f->c->ny;
	for (int i = 0; i < lines; i++)
		transform_line(f, f->at + (size_t)i * (size_t)nz, f->line, nz, sign);
}

/* ---- transpositions ---- */

/* Of planes a block for each process: its x, my z; (x, y, z) in both.  forth: into the blocks. */
static void
copy_blocks(const struct ft *f, struct complex *planes, struct complex *blocks, bool forth)
{
	size_t nx = (size_t)f->c->nx, ny = (size_t)f->c->ny, nz = (size_t)f->planes, n = 0;
	for (size_t x = 0; x < nx; x++)
		for (size_t y = 0; y < ny; y++)
			for (size_t z = 0; z < nz; z++, n++) {
				struct complex *in = planes + (z * ny + y) * nx + x;
				if (forth)
					blocks[n] = *in;
				else
					*in = blocks[n];
			}
}

/* Of columns a block for each process: my x, its z; as they lie there. */
static void
copy_columns(const struct ft *f, struct complex *columns, struct complex *blocks, bool forth)
{
	size_t lines = (size_t)f->columns * (size_t)f->c->ny, nz = (size_t)f->c->nz;
	size_t each = (size_t)f->planes;
	for (int p = 0; p < npb_size(); p++)
		for (size_t i = 0; i < lines; i++) {
			struct complex *block = blocks + ((size_t)p * lines + i) * each;
			struct complex *column = columns + i * nz + (size_t)p * each;
			memcpy(forth ? block : column, forth ? column : block,
			       each * sizeof *block);
		}
}

/* Blocks in tmp go to their processes, theirs come to at. */
static void
send_blocks(struct ft *f)
{
	npb_alltoall_double(&f->tmp->re, &f->at->re, 2 * f->numbers / (size_t)npb_size());
}

static void
turn_over(struct ft *f)
{
	struct complex *t = f->at;
	f->at = f->tmp;
	f->tmp = t;
}

static void
planes_to_columns(struct ft *f)
{
	copy_blocks(f, f->at, f->tmp, true);
	send_blocks(f);
	copy_columns(f, f->tmp, f->at, false);
	turn_over(f);
}

static void
columns_to_planes(struct ft *f)
{
	copy_columns(f, f->at, f->tmp, true);
	send_blocks(f);
	copy_blocks(f, f->tmp, f->at, false);
	turn_over(f);
}

/* ---- the equation ---- */

static void
make_numbers(struct ft *f)
{
	uint64_t first = (uint64_t)f->numbers * (unsigned)npb_rank();
	uint64_t state = npb_random_at(NPB_SEED, 2 * first);
	for (size_t i = 0; i < f->numbers; i++) {
		f->at[i].re = npb_random(&state);
		f->at[i].im = npb_random(&state);
	}
}

static void
decay_spectrum(struct ft *f)
{
	int ny = f->c->ny, nz = f->c->nz, first = npb_rank() * f->columns;
	struct complex *v = f->spectrum;
	for (int x = 0; x < f->columns; x++)
		for (int y = 0; y < ny; y++) {
			double of_line = f->decay[0][first + x] * f->decay[1][y];
			for (int z = 0; z < nz; z++, v++) {
				v->re *= of_line * f->decay[2][z];
				v->im *= of_line * f->decay[2][z];
			}
		}
}

static struct complex
checksum(const struct ft *f)
{
	const struct ft_class *c = f->c;
	double sum[2] = {0}, tmp[2], all = (double)c->nx * c->ny * c->nz;
	for (int j = 1; j <= SAMPLES; j++) {
		int x = j % c->nx, y = 3 * j % c->ny, z = 5 * j % c->nz - npb_rank() * f->planes;
		if (z < 0 || z >= f->planes)
			continue;
		const struct complex *v =
			&f->at[((size_t)z * (size_t)c->ny + (size_t)y) * (size_t)c->nx + (size_t)x];
		sum[0] += v->re;
		sum[1] += v->im;
	}
	npb_sum_double(sum, tmp, 2);
	return (struct complex){sum[0] / all, sum[1] / all};
}

static bool
is_near(double got, double want)
{
	return fabs((got - want) / want) <= TOLERANCE;
}

/* One step; true: its checksum is right. */
static bool
step(struct ft *f, int number)
{
	const struct complex *want = &f->c->sum[number];
	decay_spectrum(f);
	memcpy(f->at, f->spectrum, f->numbers * sizeof *f->at);
	transform_columns(f, -1);
	columns_to_planes(f);
	transform_planes(f, -1);
	struct complex got = checksum(f);
	bool good = is_near(got.re, want->re) && is_near(got.im, want->im);
	if (npb_rank() == 0)
		printf(" T = %4d     Checksum = %21.12e %21.12e%s\n", number + 1, got.re, got.im,
		       good ? "" : ", which is wrong");
	return good;
}

/* ---- the program ---- */

static double *
new_decay(int n)
{
	double *d = npb_new((size_t)n, sizeof *d);
	for (int i = 0; i < n; i++) {
		double k = (i + n / 2) % n - n / 2;
		d[i] = exp(-4 * ALPHA * M_PI * M_PI * k * k);
	}
	return d;
}

static int
larger(int a, int b)
{
	return a > b ? a : b;
}

static void
ft_new(struct ft *f, char class)
{
	const struct ft_class *c = f->c = find_class(class);
	if (npb_size() > c->nz || npb_size() > c->nx)
		npb_stop("more processes than planes: take fewer or a larger class");
	f->planes = c->nz / npb_size();
	f->columns = c->nx / npb_size();
	f->numbers = (size_t)f->planes * (size_t)c->ny * (size_t)c->nx;
	f->most = larger(c->nx, larger(c->ny, c->nz));
	f->spectrum = npb_new(f->numbers, sizeof *f->spectrum);
	f->at = npb_new(f->numbers, sizeof *f->at);
	f->tmp = npb_new(f->numbers, sizeof *f->tmp);
	f->line = npb_new(2 * (size_t)f->most, sizeof *f->line);
	f->root = npb_new((size_t)f->most, sizeof *f->root);
	for (int k = 0; k < f->most; k++)
		f->root[k] =
			(struct complex){cos(2 * M_PI * k / f->most), sin(2 * M_PI * k / f->most)};
	f->decay[0] = new_decay(c->nx);
	f->decay[1] = new_decay(c->ny);
	f->decay[2] = new_decay(c->nz);
}

static void
ft_free(struct ft *f)
{
	void *all[] = {f->spectrum, f->at,	 f->tmp,      f->line,
		       f->root,	    f->decay[0], f->decay[1], f->decay[2]};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		free(all[i]);
}

static void
begin(struct ft *f)
{
	make_numbers(f);
	transform_planes(f, 1);
	planes_to_columns(f);
	transform_columns(f, 1);
	memcpy(f->spectrum, f->at, f->numbers * sizeof *f->at);
}

int
main(int argc, char **argv)
{
	static struct ft f;
	bool good = true;
	npb_init(&argc, &argv);
	ft_new(&f, npb_class(argc, argv));
	const struct ft_class *c = f.c;
	double all = (double)c->nx * c->ny * c->nz;
	if (npb_rank() == 0)
		printf(" NAS Parallel Benchmarks, FT\n Size: %dx%dx%d (class %c)\n"
		       " Iterations: %d\n Processes: %d\n",
		       c->nx, c->ny, c->nz, c->name, c->steps, npb_size());
	begin(&f); /* to have all memory and paths; not timed */
	npb_barrier();
	double from = npb_wtime();
	begin(&f);
	for (int i = 0; i < c->steps; i++)
		good &= step(&f, i);
	double seconds = npb_wtime() - from;
	npb_barrier();
	/* Operations as NPB counts them. */
	double of_step = 5.23518 + 7.21113 * log(all), once = 14.8157 + 7.19641 * log(all);
	struct npb_run run = {.kernel = "FT",
			      .unit = "floating point",
			      .class = c->name,
			      .size = (long)all,
			      .iterations = c->steps,
			      .seconds = npb_max_double(seconds),
			      .mop = all * (once + of_step * c->steps) / 1e6,
			      .verified = good};
	ft_free(&f);
	int rc = npb_report(&run);
	npb_finalize();
	return rc;
}
