/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading and writing files in every form, against a model: an image of the file in
 * memory.  Views, memory types, hints and forms are drawn by a seed that is the same at
 * all ranks, who all keep the whole image. */
#include <unistd.h>

#include "check.h"

#define IMAGE  (4 << 20)
#define UNIT   4 /* bytes of an etype */
#define PARTS  64
#define ROUNDS 40

static char path[200];
static unsigned char image[IMAGE], seen[IMAGE];
static int64_t image_end;

static uint32_t
draw(uint32_t *seed, uint32_t n)
{
	*seed = mix(*seed + 0x9e3779b9u);
	return *seed % n;
}

/* ---- views: lists of (offset, length) in units per tile */

struct view {
	int disp, extent; /* bytes; units */
	int n, off[PARTS], len[PARTS], size;
	MPI_Datatype type;
};

/* Every rank's view out of a tile of `cells` units, dealt to the ranks in turn, or each a
 * part of its own; nobody's overlap. */
static void
make_view(struct view *v, uint32_t *seed, int rank)
{
	int kind = (int)draw(seed, 4), block = 1 + (int)draw(seed, 40), gap = (int)draw(seed, 3);
	int rows = 1 + (int)draw(seed, 12), odd = (int)draw(seed, 2);
	MPI_Datatype t;

	v->disp = (int)draw(seed, 50);
	v->n = 0;
	if (kind == 0) { /* dense: each has a range */
		v->disp += rank * (IMAGE / 2 / check_size / UNIT * UNIT);
		v->off[v->n] = 0;
		v->len[v->n++] = block;
		v->extent = block;
	} else {
		int stride = block * check_size + gap;

		for (int i = 0; i < rows; i++) {
			int len = odd && i % 3 == 1 && block > 1 ? block - 1 : block;

			v->off[v->n] = i * stride + rank * block;
			v->len[v->n++] = len;
		}
		v->extent = rows * stride + (kind == 2 ? 7 : 0);
	}
	v->size = 0;
	for (int i = 0; i < v->n; i++)
		v->size += v->len[i];
	MPI_Type_indexed(v->n, v->len, v->off, MPI_INT, &t);
	MPI_Type_create_resized(t, 0, (MPI_Aint)v->extent * UNIT, &v->type);
	MPI_Type_commit(&v->type);
	MPI_Type_free(&t);
}

/* File offset of byte `pos` of the view's stream. */
static int64_t
place(const struct view *v, int64_t pos)
{
	int64_t unit = pos / UNIT, tile = unit / v->size, in = unit % v->size;
	int i = 0;

	for (; in >= v->len[i]; i++)
		in -= v->len[i];
	return v->disp + (tile * v->extent + v->off[i] + in) * UNIT + pos % UNIT;
}

/* ---- memory: contiguous, or with holes; the bytes of a buffer in stream order */

struct memory {
	int count, step; /* units; distance of units, 1: no holes */
	MPI_Datatype type;
	unsigned char *buf;
};

static void
make_memory(struct memory *m, uint32_t *seed, int units)
{
	m->step = 1 + (int)draw(seed, 3);
	m->count = units;
	m->buf = malloc((size_t)units * (size_t)m->step * UNIT + 1);
	memset(m->buf, 0xee, (size_t)units * (size_t)m->step * UNIT + 1);
	MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)m->step * UNIT, &m->type);
	MPI_Type_commit(&m->type);
}

static unsigned char *
byte_of(const struct memory *m, int64_t i)
{
	return m->buf + i / UNIT * m->step * UNIT + i % UNIT;
}

static void
free_memory(struct memory *m)
{
	free(m->buf);
	MPI_Type_free(&m->type);
}

/* ---- forms of a call */

enum form { AT, OWN, I_AT, I_OWN, AT_ALL, ALL, I_AT_ALL, I_ALL, SPLIT_AT, SPLIT, FORMS };
static const char *const form_names[] = {"at",	"own",	   "iat",  "iown",     "at_all",
					 "all", "iat_all", "iall", "split at", "split"};

static void
finish_request(MPI_Request *r, MPI_Status *st, uint32_t how)
{
	int flag = 0;

	if (how % 2)
		MPI_Wait(r, st);
	while (!flag)
		MPI_Test(r, &flag, how % 2 ? MPI_STATUS_IGNORE : st);
	CHECK(*r == MPI_REQUEST_NULL);
}

static void
do_write(MPI_File f, enum form form, MPI_Offset at, struct memory *m, MPI_Status *st, uint32_t how)
{
	MPI_Request r;
	int n = m->count;

	if (form == OWN || form == I_OWN || form == ALL || form == I_ALL || form == SPLIT)
		MPI_File_seek(f, at, MPI_SEEK_SET);
	switch (form) {
	case AT:
		if (how % 3)
			MPI_File_write_at(f, at, m->buf, n, m->type, st);
		else
			MPI_File_write_at_c(f, at, m->buf, n, m->type, st);
		return;
	case OWN:
		MPI_File_write(f, m->buf, n, m->type, st);
		return;
	case I_AT:
		MPI_File_iwrite_at(f, at, m->buf, n, m->type, &r);
		break;
	case I_OWN:
		MPI_File_iwrite(f, m->buf, n, m->type, &r);
		break;
	case AT_ALL:
		MPI_File_write_at_all(f, at, m->buf, n, m->type, st);
		return;
	case ALL:
		MPI_File_write_all_c(f, m->buf, n, m->type, st);
		return;
	case I_AT_ALL:
		MPI_File_iwrite_at_all(f, at, m->buf, n, m->type, &r);
		break;
	case I_ALL:
		MPI_File_iwrite_all_c(f, m->buf, n, m->type, &r);
		break;
	case SPLIT_AT:
		MPI_File_write_at_all_begin(f, at, m->buf, n, m->type);
		MPI_File_write_at_all_end(f, m->buf, st);
		return;
	default:
		MPI_File_write_all_begin_c(f, m->buf, n, m->type);
		MPI_File_write_all_end(f, m->buf, st);
		return;
	}
	finish_request(&r, st, how);
}

static void
do_read(MPI_File f, enum form form, MPI_Offset at, struct memory *m, MPI_Status *st, uint32_t how)
{
	MPI_Request r;
	int n = m->count;

	if (form == OWN || form == I_OWN || form == ALL || form == I_ALL || form == SPLIT)
		MPI_File_seek(f, at, MPI_SEEK_SET);
	switch (form) {
	case AT:
		MPI_File_read_at(f, at, m->buf, n, m->type, st);
		return;
	case OWN:
		MPI_File_read_c(f, m->buf, n, m->type, st);
		return;
	case I_AT:
		MPI_File_iread_at_c(f, at, m->buf, n, m->type, &r);
		break;
	case I_OWN:
		MPI_File_iread(f, m->buf, n, m->type, &r);
		break;
	case AT_ALL:
		MPI_File_read_at_all_c(f, at, m->buf, n, m->type, st);
		return;
	case ALL:
		MPI_File_read_all(f, m->buf, n, m->type, st);
		return;
	case I_AT_ALL:
		MPI_File_iread_at_all(f, at, m->buf, n, m->type, &r);
		break;
	case I_ALL:
		MPI_File_iread_all(f, m->buf, n, m->type, &r);
		break;
	case SPLIT_AT:
		MPI_File_read_at_all_begin_c(f, at, m->buf, n, m->type);
		MPI_File_read_at_all_end(f, m->buf, st);
		return;
	default:
		MPI_File_read_all_begin(f, m->buf, n, m->type);
		MPI_File_read_all_end(f, m->buf, st);
		return;
	}
	finish_request(&r, st, how);
}

static void
check_status(MPI_Status *st, int64_t bytes, const char *what)
{
	int count, elements;

	MPI_Get_count(st, MPI_INT, &count);
	MPI_Get_elements(st, MPI_INT, &elements);
	CHECKF(count == (bytes % UNIT ? MPI_UNDEFINED : bytes / UNIT), "%s: count %d of %lld bytes",
	       what, count, (long long)bytes);
	MPI_Get_count(st, MPI_BYTE, &count);
	CHECKF(count == bytes, "%s: %d bytes, not %lld", what, count, (long long)bytes);
	CHECK(elements == MPI_UNDEFINED || elements == bytes / UNIT);
}

/* ---- one round */

static MPI_Info
draw_hints(uint32_t *seed)
{
	static const char *const choice[] = {"automatic", "enable", "disable"};
	static const char *const size[] = {"4096", "16384", "1048576"};
	char nodes[12];
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_cb_write", choice[draw(seed, 3)]);
	MPI_Info_set(info, "romio_cb_read", choice[draw(seed, 3)]);
	MPI_Info_set(info, "romio_ds_write", choice[draw(seed, 3)]);
	MPI_Info_set(info, "romio_ds_read", choice[draw(seed, 3)]);
	MPI_Info_set(info, "cb_buffer_size", size[draw(seed, 3)]);
	MPI_Info_set(info, "ind_wr_buffer_size", size[draw(seed, 3)]);
	MPI_Info_set(info, "ind_rd_buffer_size", size[draw(seed, 3)]);
	MPI_Info_set(info, "striping_unit", draw(seed, 2) ? "512" : "4096");
	snprintf(nodes, sizeof(nodes), "%d", 1 + (int)draw(seed, 5));
	MPI_Info_set(info, "cb_nodes", nodes);
	return info;
}

/* All ranks' accesses go into the image. */
static void
model_write(const struct view *v, MPI_Offset at, int units, uint32_t data)
{
	for (int64_t i = 0; i < (int64_t)units * UNIT; i++) {
		int64_t to = place(v, at * UNIT + i);

		image[to] = (unsigned char)mix(data + (uint32_t)i);
		if (to >= image_end)
			image_end = to + 1;
	}
}

static void
check_read(const struct view *v, MPI_Offset at, struct memory *m, MPI_Status *st, const char *what)
{
	int64_t bytes = 0, bad = 0;

	for (int64_t i = 0; i < (int64_t)m->count * UNIT; i++) {
		int64_t from = place(v, at * UNIT + i);

		if (from < image_end) {
			bytes++;
			bad += *byte_of(m, i) != image[from];
		} else {
			bad += *byte_of(m, i) != 0xee;
		}
	}
	CHECKF(bad == 0, "%s: %lld of %d bytes are wrong", what, (long long)bad, m->count * UNIT);
	check_status(st, bytes, what);
}

static void
round_of(MPI_File f, uint32_t seed)
{
	enum form w = draw(&seed, FORMS), r = draw(&seed, FORMS);
	uint32_t how = draw(&seed, 6), view_seed = seed;
	struct view mine, theirs;
	struct memory m;
	MPI_Status st;
	MPI_Info info = draw_hints(&seed);
	int units[64], at[64];
	int atomic = draw(&seed, 6) == 0;
	unsigned most = draw(&seed, 2) ? 2000 : 40000; /* several aggregators' domains, or one */

	make_view(&mine, &(uint32_t){view_seed}, check_rank);
	MPI_File_set_view(f, mine.disp, MPI_INT, mine.type, "native", info);
	MPI_File_set_atomicity(f, atomic);
	for (int i = 0; i < check_size; i++) {
		units[i] = (int)draw(&seed, 5) == 0 ? 0
						    : (int)draw(&seed, most / (unsigned)check_size);
		at[i] = (int)draw(&seed, 200);
	}
	make_memory(&m, &seed, units[check_rank]);
	for (int64_t i = 0; i < (int64_t)m.count * UNIT; i++)
		*byte_of(&m, i) =
			(unsigned char)mix(seed + (uint32_t)check_rank * 7919 + (uint32_t)i);
	do_write(f, w, at[check_rank], &m, &st, how);
	check_status(&st, (int64_t)m.count * UNIT, form_names[w]);
	free_memory(&m);
	for (int i = 0; i < check_size; i++) {
		make_view(&theirs, &(uint32_t){view_seed}, i);
		model_write(&theirs, at[i], units[i], seed + (uint32_t)i * 7919);
		MPI_Type_free(&theirs.type);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	make_memory(&m, &seed, 1 + (int)draw(&seed, (most + 1000) / (unsigned)check_size));
	at[0] = (int)draw(&seed, 300);
	do_read(f, r, at[0], &m, &st, how);
	check_read(&mine, at[0], &m, &st, form_names[r]);
	free_memory(&m);
	MPI_Type_free(&mine.type);
	MPI_Info_free(&info);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* The file against the image, without views. */
static void
whole(MPI_File f, uint32_t seed)
{
	MPI_Offset size;
	MPI_Status st;
	long bad = -1;

	MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
	MPI_File_get_size(f, &size);
	CHECKF(size == image_end, "size %lld, not %lld", (long long)size, (long long)image_end);
	MPI_File_read_at(f, 0, seen, IMAGE, MPI_BYTE, &st);
	for (int64_t i = 0; i < image_end && bad < 0; i++)
		if (seen[i] != image[i])
			bad = (long)i;
	CHECKF(bad < 0, "seed %u: byte %ld is wrong", seed, bad);
}

int
main(int argc, char **argv)
{
	const char *dir = getenv("TMPDIR");
	MPI_File f;

	start(&argc, &argv);
	MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
	snprintf(path, sizeof(path), "%s/libmpi-io-%d", dir ? dir : "/tmp", (int)getpid());
	MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD);
	MPI_File_open(MPI_COMM_WORLD, path,
		      MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
		      &f);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		uint32_t seed = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) + i : i;

		round_of(f, mix(seed));
		whole(f, seed);
	}
	MPI_File_close(&f);
	CHECK(f == MPI_FILE_NULL && access(path, F_OK) != 0);
	return finish();
}
