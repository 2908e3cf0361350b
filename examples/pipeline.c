/* SPDX-License-Identifier: BSD-2-Clause */
/* pipeline - pulse compression of a radar in three stages, which may lose processes while it runs.
 *
 *   pipeline input [--frames N] [--every MS] [--go FILE]
 *                                   makes N echoes: a chirp from three targets, and noise; not
 *                                   faster than one in MS; the last twentieth when FILE is there
 *   pipeline filter [--work MS]     correlates each with the chirp; MS more, as if it were longer
 *		     [--late 1]	     gives up what another process died in: in_flight ulfm
 *		     [--dies N]	     ends in frame N and all behind it, as a program with a fault
 *		     [--poison N]    ends in frame N alone, as if that were damaged
 *   pipeline output [--frames N] [--png FILE] [--log FILE]
 *                                   one row of a picture for each; what was lost, came twice or
 *                                   out of order; a line of time and number for each
 *   pipeline alone [--frames N] [--png FILE]    all of it in one process: the same picture
 *
 * A plan for mpisprun:
 *
 *   cluster input program ./pipeline input --frames 500
 *   cluster filter ranks=4 spares=2 program ./pipeline filter
 *   cluster output program ./pipeline output --frames 500 --png radar.png
 *   chain add input filter window=32
 *   chain add filter output ordered window=32
 *   io input filter
 *   io filter output
 *
 * Echoes are numbers that depend on the frame's alone, and all is computed with integers, so the
 * picture is the same whoever computes which frame, and however often. */
#include <math.h>
#include <mpi-ext.h>
#include <mpi.h>
#include <mpisp.h>
#include <png.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 1024, CHIRP = 128, TAG_ECHO = 1, TAG_ROW = 2, FRAMES_MAX = 1 << 20 };

struct sample {
	int16_t re, im;
};
struct echo {
	struct sample s[SAMPLES + CHIRP];
};

static struct sample chirp[CHIRP];

static struct {
	long frames, work_ms, every_ms, late, dies, poison;
	const char *png, *log, *go;
} option = {.frames = 500, .dies = FRAMES_MAX, .poison = -1};

/* ---- the radar ---- */

static void
make_chirp(void)
{
	for (int i = 0; i < CHIRP; i++) {
		double t = i - CHIRP / 2.0, phase = M_PI * t * t / CHIRP;
		chirp[i].re = (int16_t)lrint(60 * cos(phase));
		chirp[i].im = (int16_t)lrint(60 * sin(phase));
	}
}

static uint64_t
random_of(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Three targets that move at speeds of their own, under noise as strong as each of them. */
static void
make_echo(int64_t number, struct echo *e)
{
	uint64_t state = 0x5eed ^ (uint64_t)number << 20;

	for (int i = 0; i < SAMPLES + CHIRP; i++) {
		uint64_t x = random_of(&state);
		e->s[i].re = (int16_t)((int)(x & 127) - 64);
		e->s[i].im = (int16_t)((int)(x >> 8 & 127) - 64);
	}
	for (int target = 0; target < 3; target++) {
		int64_t at = (100 + 300 * target + number * (target + 1) / 2) % SAMPLES;
		for (int i = 0; i < CHIRP; i++) {
			e->s[at + i].re = (int16_t)(e->s[at + i].re + chirp[i].re);
			e->s[at + i].im = (int16_t)(e->s[at + i].im + chirp[i].im);
		}
	}
}

static void
compress(const struct echo *e, uint8_t row[SAMPLES])
{
	for (int k = 0; k < SAMPLES; k++) {
		int64_t re = 0, im = 0;
		for (int i = 0; i < CHIRP; i++) {
			const struct sample *s = &e->s[k + i];
			re += s->re * chirp[i].re + s->im * chirp[i].im;
			im += s->im * chirp[i].re - s->re * chirp[i].im;
		}
		int64_t power = (re * re + im * im) >> 30;
		row[k] = (uint8_t)(power > 255 ? 255 : power);
	}
}

/* ---- the stages: one frame each ---- */

static int
input_frame(int64_t frame, int again, void *arg)
{
	static struct echo e;
	struct timespec pause = {option.every_ms / 1000, option.every_ms % 1000 * 1000000};

	(void)arg, (void)again;
	nanosleep(&pause, NULL);
	while (option.go && MPISP_FRAME_NUMBER(frame) >= option.frames - option.frames / 20 &&
	       access(option.go, F_OK) != 0)
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	make_echo(MPISP_FRAME_NUMBER(frame), &e);
	return MPI_Send(&e, sizeof e, MPI_BYTE, MPISP_CLUSTER_OUT, TAG_ECHO, MPI_COMM_WORLD);
}

static int
filter_frame(int64_t frame, int again, void *arg)
{
	static struct echo e;
	uint8_t row[SAMPLES];
	struct timespec pause = {option.work_ms / 1000, option.work_ms % 1000 * 1000000};
	long *done = arg;
	int rc = MPI_Recv(&e, sizeof e, MPI_BYTE, MPISP_CLUSTER_IN, TAG_ECHO, MPI_COMM_WORLD,
			  MPI_STATUS_IGNORE);

	if (rc != MPI_SUCCESS)
		return rc;
	if (MPISP_FRAME_NUMBER(frame) >= option.dies || MPISP_FRAME_NUMBER(frame) == option.poison)
		_exit(3);
	compress(&e, row);
	nanosleep(&pause, NULL);
	done[0]++;
	done[1] += again;
	return MPI_Send(row, SAMPLES, MPI_BYTE, MPISP_CLUSTER_OUT, TAG_ROW, MPI_COMM_WORLD);
}

struct picture {
	uint8_t *row; /* [frames][SAMPLES] */
	uint8_t *seen;
	FILE *log;
	long taken, twice, disorder, again, strange;
	int64_t last;
	double last_s, gap_s;
};

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int
output_frame(int64_t frame, int again, void *arg)
{
	struct picture *p = arg;
	uint8_t row[SAMPLES];
	int64_t number = MPISP_FRAME_NUMBER(frame);
	double now = now_s();
	int rc = MPI_Recv(row, SAMPLES, MPI_BYTE, MPISP_CLUSTER_IN, TAG_ROW, MPI_COMM_WORLD,
			  MPI_STATUS_IGNORE);

	if (rc != MPI_SUCCESS)
		return rc;
	if (p->taken++ > 0 && now - p->last_s > p->gap_s)
		p->gap_s = now - p->last_s;
	p->last_s = now;
	p->again += again;
	p->disorder += number != p->last + 1;
	p->last = number;
	if (p->log)
		fprintf(p->log, "%.6f %lld %d\n", now, (long long)number, again);
	if (number >= option.frames) {
		p->strange++;
		return MPI_SUCCESS;
	}
	p->twice += p->seen[number]++ != 0;
	memcpy(p->row + number * SAMPLES, row, SAMPLES);
	return MPI_SUCCESS;
}

/* ---- the picture ---- */

static int
write_png(const char *file, uint8_t *row)
{
	png_image image = {.version = PNG_IMAGE_VERSION,
			   .width = SAMPLES,
			   .height = (png_uint_32)option.frames,
			   .format = PNG_FORMAT_GRAY};

	if (png_image_write_to_file(&image, file, 0, row, 0, NULL))
		return 0;
	fprintf(stderr, "pipeline: %s: %s\n", file, image.message);
	return 1;
}

static int
finish_picture(struct picture *p)
{
	long lost = 0;
	int bad;

	for (long i = 0; i < option.frames; i++)
		lost += !p->seen[i];
	printf("output: %ld frames, %ld lost, %ld twice, %ld out of order, %ld told again, longest "
	       "gap %.1f ms\n",
	       p->taken, lost, p->twice, p->disorder, p->again, p->gap_s * 1e3);
	fflush(stdout);
	bad = lost || p->twice || p->disorder || p->strange;
	if (option.png)
		bad |= write_png(option.png, p->row);
	if (p->log)
		bad |= fclose(p->log) != 0;
	return bad;
}

static int
open_picture(struct picture *p)
{
	*p = (struct picture){.last = -1};
	p->row = calloc((size_t)option.frames, SAMPLES);
	p->seen = calloc((size_t)option.frames, 1);
	if (option.log && !(p->log = fopen(option.log, "w"))) {
		perror(option.log);
		return 1;
	}
	return p->row && p->seen ? 0 : 1;
}

static int
run_alone(void)
{
	static struct echo e;
	struct picture p;

	if (open_picture(&p))
		return 1;
	for (long i = 0; i < option.frames; i++) {
		make_echo(i, &e);
		compress(&e, p.row + i * SAMPLES);
	}
	return option.png ? write_png(option.png, p.row) : 0;
}

/* ---- beginning ---- */

static int
read_options(int argc, char **argv)
{
	for (int i = 2; i < argc; i += 2) {
		const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
		if (!strcmp(name, "--frames"))
			option.frames = strtol(value, NULL, 10);
		else if (!strcmp(name, "--work"))
			option.work_ms = strtol(value, NULL, 10);
		else if (!strcmp(name, "--every"))
			option.every_ms = strtol(value, NULL, 10);
		else if (!strcmp(name, "--late"))
			option.late = strtol(value, NULL, 10);
		else if (!strcmp(name, "--poison"))
			option.poison = strtol(value, NULL, 10);
		else if (!strcmp(name, "--dies"))
			option.dies = strtol(value, NULL, 10);
		else if (!strcmp(name, "--png"))
			option.png = value;
		else if (!strcmp(name, "--go"))
			option.go = value;
		else if (!strcmp(name, "--log"))
			option.log = value;
		else {
			fprintf(stderr, "pipeline: unknown option %s\n", name);
			return 2;
		}
	}
	if (option.frames < 1 || option.frames > FRAMES_MAX || option.work_ms < 0 ||
	    option.every_ms < 0) {
		fprintf(stderr, "pipeline: --frames is 1 to %d, --work and --every not negative\n",
			FRAMES_MAX);
		return 2;
	}
	return 0;
}

/* Who makes frames decides how many there are. */
static int
make_all(void)
{
	int64_t frame;
	int again;

	for (;;) {
		MPISP_Frame_begin(MPI_COMM_WORLD, &frame, &again);
		if (frame == MPISP_FRAME_END || MPISP_FRAME_NUMBER(frame) >= option.frames)
			return 0;
		input_frame(frame, again, NULL);
		MPISP_Frame_end(MPI_COMM_WORLD, frame);
	}
}

/* A frame that somebody died in is late: it goes on empty. */
static void
filter_in_time(long *done)
{
	int64_t frame;
	int again, code;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (;;) {
		int rc = MPISP_Frame_begin(MPI_COMM_WORLD, &frame, &again);
		if (frame == MPISP_FRAME_END)
			return;
		if (rc != MPI_SUCCESS)
			MPI_Error_class(rc, &code);
		if (rc != MPI_SUCCESS && code == MPIX_ERR_PROC_FAILED)
			printf("filter: frame %lld is given up\n",
			       (long long)MPISP_FRAME_NUMBER(frame));
		else
			filter_frame(frame, again, done);
		fflush(stdout);
		MPISP_Frame_end(MPI_COMM_WORLD, frame);
	}
}

int
main(int argc, char **argv)
{
	const char *stage = argc > 1 ? argv[1] : "";
	long done[2] = {0, 0};
	struct picture p;
	int bad = 0;

	make_chirp();
	if (read_options(argc, argv))
		return 2;
	if (!strcmp(stage, "alone"))
		return run_alone();
	if (strcmp(stage, "input") != 0 && strcmp(stage, "filter") != 0 &&
	    strcmp(stage, "output") != 0) {
		fprintf(stderr, "pipeline: which stage: input, filter, output or alone?\n");
		return 2;
	}
	MPISP_Init(&argc, &argv, NULL);
	if (!strcmp(stage, "input")) {
		bad = make_all();
	} else if (!strcmp(stage, "filter")) {
		if (option.late)
			filter_in_time(done);
		else
			MPISP_Run(MPI_COMM_WORLD, NULL, filter_frame, done);
		if (done[0])
			printf("filter: %ld frames, %ld of them told again\n", done[0], done[1]);
	} else {
		bad = open_picture(&p);
		if (!bad)
			MPISP_Run(MPI_COMM_WORLD, NULL, output_frame, &p);
		bad = bad || finish_picture(&p);
	}
	MPI_Finalize();
	return bad;
}
