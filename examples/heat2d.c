/* SPDX-License-Identifier: BSD-2-Clause */
/* heat2d - the 2-D heat equation on a plate, written as a PNG.
 *
 *   heat2d [--nx N] [--ny N] [--steps S] [--png FILE] [--every K]
 *
 * u_t = laplace(u) by the explicit five-point scheme; the plate's edge is held
 * at 0, two hot spots sit on it.  Rows are spread over the processes; each step
 * exchanges one halo row with either neighbour, every K steps an Allreduce
 * tells the largest change.  The picture is the same, bit for bit, for any
 * number of processes: each cell is computed by the same operations. */
#include <math.h>
#include <mpi.h>
#include <png.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	int nx, ny, steps, every;
	const char *png;
};

struct field {
	int nx, ny;	  /* whole plate */
	int first, rows;  /* my rows of it */
	double *u, *next; /* rows + 2 rows of nx: halo above and below */
};

static int
number(const char *text, int min, int max, const char *what)
{
	char *end;
	long v = strtol(text, &end, 10);
	if (*end || v < min || v > max) {
		fprintf(stderr, "heat2d: %s must be a number from %d to %d, not '%s'\n", what, min,
			max, text);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	return (int)v;
}

static struct options
options_read(int argc, char **argv)
{
	struct options o = {.nx = 256, .ny = 256, .steps = 500, .every = 50, .png = NULL};
	for (int i = 1; i < argc; i++) {
		const char *opt = argv[i], *value = i + 1 < argc ? argv[++i] : "";
		if (!strcmp(opt, "--nx"))
			o.nx = number(value, 4, 1 << 15, "--nx");
		else if (!strcmp(opt, "--ny"))
			o.ny = number(value, 4, 1 << 15, "--ny");
		else if (!strcmp(opt, "--steps"))
			o.steps = number(value, 1, 1 << 30, "--steps");
		else if (!strcmp(opt, "--every"))
			o.every = number(value, 1, 1 << 30, "--every");
		else if (!strcmp(opt, "--png"))
			o.png = value;
		else {
			fprintf(stderr, "heat2d: unknown option '%s'\n", opt);
			MPI_Abort(MPI_COMM_WORLD, 2);
		}
	}
	return o;
}

static double
initial(int x, int y, int nx, int ny)
{
	double dx = (double)x / nx, dy = (double)y / ny;
	double a = (dx - 0.3) * (dx - 0.3) + (dy - 0.35) * (dy - 0.35);
	double b = (dx - 0.7) * (dx - 0.7) + (dy - 0.6) * (dy - 0.6);
	return (a < 0.02 ? 1.0 : 0.0) + (b < 0.035 ? 0.8 : 0.0);
}

static int
first_row(int ny, int size, int rank)
{
	return (int)((long)ny * rank / size);
}

static struct field
field_new(const struct options *o, int rank, int size)
{
	struct field f = {.nx = o->nx, .ny = o->ny, .first = first_row(o->ny, size, rank)};
	f.rows = first_row(o->ny, size, rank + 1) - f.first;
	size_t cells = (size_t)(f.rows + 2) * (size_t)f.nx;
	f.u = calloc(cells, sizeof(double));
	f.next = calloc(cells, sizeof(double));
	if (!f.u || !f.next)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int y = 0; y < f.rows; y++)
		for (int x = 0; x < f.nx; x++)
			f.u[(y + 1) * f.nx + x] = initial(x, f.first + y, f.nx, f.ny);
	return f;
}

static void
halo(struct field *f, int rank, int size)
{
	int up = rank > 0 ? rank - 1 : MPI_PROC_NULL,
	    down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
	MPI_Request req[4];
	double *row = f->u;
	MPI_Irecv(row, f->nx, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &req[0]);
	MPI_Irecv(row + (f->rows + 1) * f->nx, f->nx, MPI_DOUBLE, down, 2, MPI_COMM_WORLD, &req[1]);
	MPI_Isend(row + f->nx, f->nx, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, &req[2]);
	MPI_Isend(row + f->rows * f->nx, f->nx, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &req[3]);
	MPI_Waitall(4, req, MPI_STATUSES_IGNORE);
}

/* One step; the largest change of a cell of mine. */
static double
step(struct field *f)
{
	double change = 0;
	int nx = f->nx;
	for (int y = 1; y <= f->rows; y++) {
		int gy = f->first + y - 1;
		for (int x = 0; x < nx; x++) {
			int i = y * nx + x;
			double v = 0; /* the edge of the plate is cold */
			if (gy > 0 && gy + 1 < f->ny && x > 0 && x + 1 < nx)
				v = f->u[i] + 0.2 * (f->u[i - 1] + f->u[i + 1] + f->u[i - nx] +
						     f->u[i + nx] - 4 * f->u[i]);
			double d = fabs(v - f->u[i]);
			change = d > change ? d : change;
			f->next[i] = v;
		}
	}
	double *t = f->u;
	f->u = f->next;
	f->next = t;
	return change;
}

/* Black, red, yellow, white. */
static void
colour(double v, png_byte *rgb)
{
	double t = v < 0 ? 0 : v > 1 ? 1 : v;
	for (int c = 0; c < 3; c++) {
		double k = 3 * t - c;
		rgb[c] = (png_byte)(255 * (k < 0 ? 0 : k > 1 ? 1 : k));
	}
}

static void
png_save(const char *path, const double *all, int nx, int ny)
{
	png_image img = {.version = PNG_IMAGE_VERSION,
			 .width = (png_uint_32)nx,
			 .height = (png_uint_32)ny,
			 .format = PNG_FORMAT_RGB};
	png_byte *rgb = malloc((size_t)nx * (size_t)ny * 3);
	if (!rgb)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (long i = 0; i < (long)nx * ny; i++)
		colour(all[i], rgb + 3 * i);
	if (!png_image_write_to_file(&img, path, 0, rgb, 0, NULL)) {
		fprintf(stderr, "heat2d: %s: %s\n", path, img.message);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	free(rgb);
}

/* Blocks differ in size by a row: point to point, in rank order. */
static void
collect_and_save(const struct field *f, const char *path, int rank, int size)
{
	if (rank) {
		MPI_Send(f->u + f->nx, f->rows * f->nx, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
		return;
	}
	double *all = malloc((size_t)f->nx * (size_t)f->ny * sizeof *all);
	if (!all)
		MPI_Abort(MPI_COMM_WORLD, 1);
	memcpy(all, f->u + f->nx, (size_t)f->rows * (size_t)f->nx * sizeof *all);
	for (int r = 1; r < size; r++) {
		int first = first_row(f->ny, size, r), end = first_row(f->ny, size, r + 1);
		MPI_Recv(all + (long)first * f->nx, (end - first) * f->nx, MPI_DOUBLE, r, 3,
			 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	png_save(path, all, f->nx, f->ny);
	free(all);
}

int
main(int argc, char **argv)
{
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	struct options o = options_read(argc, argv);
	if (o.ny < size) {
		fprintf(stderr, "heat2d: --ny %d is less than the %d processes\n", o.ny, size);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	struct field f = field_new(&o, rank, size);
	double t0 = MPI_Wtime(), change = 0;
	for (int s = 1; s <= o.steps; s++) {
		halo(&f, rank, size);
		double mine = step(&f);
		if (s % o.every == 0 || s == o.steps)
			MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	}
	if (!rank)
		printf("heat2d: %d x %d, %d steps on %d processes in %.2f s, last change %.3e\n",
		       o.nx, o.ny, o.steps, size, MPI_Wtime() - t0, change);
	if (o.png)
		collect_and_save(&f, o.png, rank, size);
	free(f.u);
	free(f.next);
	MPI_Finalize();
	return 0;
}
