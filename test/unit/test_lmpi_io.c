/* SPDX-License-Identifier: BSD-2-Clause */
/* Views and lists of pieces, against naive models. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "runs.h"

#define SPACE 4000

static uint32_t
draw(uint32_t *s, uint32_t n)
{
	*s = *s * 1664525u + 1013904223u;
	return (*s >> 8) % n;
}

/* Marks the bytes of a list, which must not overlap and must rise. */
static void
paint(const struct lmpi_io_runs *list, unsigned char *at)
{
	struct lmpi_runs_at p;
	int64_t off, len, end = 0, pieces = 0, bytes = 0;

	memset(at, 0, SPACE);
	assert_true(lmpi_runs_valid(list->run, list->n, 0, SPACE));
	lmpi_runs_begin(&p, list->run, list->n);
	while (lmpi_runs_next(&p, SPACE, &off, &len)) {
		assert_true(off >= end && len > 0 && off + len <= SPACE);
		memset(at + off, 1, (size_t)len);
		end = off + len;
		bytes += len;
		pieces++;
	}
	assert_int_equal(bytes, list->bytes);
	assert_int_equal(pieces, list->pieces);
}

static void
some_pieces(struct lmpi_io_runs *list, unsigned char *model, uint32_t seed)
{
	int64_t at = draw(&seed, 50), len = 1 + draw(&seed, 20), gap = draw(&seed, 20);

	memset(model, 0, SPACE);
	while (at + len < SPACE) {
		memset(model + at, 1, (size_t)len);
		assert_true(lmpi_runs_add(list, at, len));
		at += len + gap;
		if (draw(&seed, 6) == 0) { /* another pattern */
			len = 1 + draw(&seed, 20);
			gap = draw(&seed, 20);
		}
	}
}

static void
runs_are_pieces(void **state)
{
	static unsigned char model[SPACE], seen[SPACE];

	(void)state;
	for (uint32_t seed = 1; seed < 300; seed++) {
		struct lmpi_io_runs list = {0};

		some_pieces(&list, model, seed);
		paint(&list, seen);
		assert_memory_equal(model, seen, SPACE);
		free(list.run);
	}
}

static void
regular_pieces_are_one_run(void **state)
{
	struct lmpi_io_runs list = {0};

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_true(lmpi_runs_add(&list, 100 + 48 * i, 16));
	assert_int_equal(list.n, 1);
	assert_int_equal(list.run[0].n, 1000);
	free(list.run);
}

static void
cuts_and_skips(void **state)
{
	static unsigned char model[SPACE], seen[SPACE];

	(void)state;
	for (uint32_t seed = 1; seed < 2000; seed++) {
		struct lmpi_io_runs list = {0}, cut = {0};
		struct lmpi_runs_at p;
		uint32_t s = seed;
		int64_t lo = draw(&s, SPACE), hi = lo + draw(&s, 600), below = 0;

		some_pieces(&list, model, seed % 100);
		if (hi > SPACE)
			hi = SPACE;
		for (int64_t i = 0; i < lo; i++)
			below += model[i];
		lmpi_runs_begin(&p, list.run, list.n);
		assert_int_equal(lmpi_runs_skip(&p, lo / 2) + lmpi_runs_skip(&p, lo), below);
		assert_true(!lmpi_runs_more(&p) || lmpi_runs_offset(&p) >= lo);
		assert_true(lmpi_runs_cut(&list, lo, hi, &cut));
		assert_true(cut.n <= lmpi_runs_cut_max(list.n));
		assert_true(lmpi_runs_valid(cut.run, cut.n, lo, hi));
		paint(&cut, seen);
		memset(model, 0, (size_t)lo);
		memset(model + hi, 0, (size_t)(SPACE - hi));
		assert_memory_equal(model, seen, SPACE);
		free(list.run);
		free(cut.run);
	}
}

/* Whatever comes from another process: what is called valid stays inside. */
static void
damaged_plans(void **state)
{
	static const struct {
		const char *what;
		struct lmpi_run run[2];
		int n;
		bool valid;
	} rows[] = {
		{"one piece", {{100, 10, 0, 1}}, 1, true},
		{"up to the end", {{990, 10, 0, 1}}, 1, true},
		{"a row", {{100, 10, 20, 5}}, 1, true},
		{"before the domain", {{99, 10, 0, 1}}, 1, false},
		{"behind the domain", {{995, 10, 0, 1}}, 1, false},
		{"no length", {{100, 0, 0, 1}}, 1, false},
		{"negative length", {{100, -5, 0, 1}}, 1, false},
		{"huge length", {{100, INT64_MAX, 0, 1}}, 1, false},
		{"no pieces", {{100, 10, 20, 0}}, 1, false},
		{"pieces overlap", {{100, 10, 9, 5}}, 1, false},
		{"negative stride", {{100, 10, -20, 2}}, 1, false},
		{"row ends outside", {{100, 10, 200, 6}}, 1, false},
		{"row overflows", {{100, 10, INT64_MAX / 2, 5}}, 1, false},
		{"runs overlap", {{100, 10, 20, 5}, {185, 1, 0, 1}}, 2, false},
		{"runs fall", {{500, 10, 0, 1}, {200, 10, 0, 1}}, 2, false},
		{"runs touch", {{100, 10, 20, 5}, {190, 1, 0, 1}}, 2, true},
		{"negative offset", {{-100, 10, 0, 1}}, 1, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("%s\n", rows[i].what);
		assert_int_equal(lmpi_runs_valid(rows[i].run, rows[i].n, 100, 1000), rows[i].valid);
	}
}

/* Positions of a view of three segments a tile against counting. */
static void
positions(void **state)
{
	struct lmpi_block seg[] = {{2, 3, 0}, {7, 1, 3}, {10, 4, 4}};
	struct lmpi_view v = {
		.disp = 5, .esize = 1, .seg = seg, .segs = 3, .size = 8, .extent = 16};
	struct lmpi_walk w;
	int64_t pos = 0, len;

	(void)state;
	for (int64_t off = 0; off < 200; off++) {
		int64_t in = (off - 5) % 16;
		bool there = off >= 5 && ((in >= 2 && in < 5) || in == 7 || (in >= 10 && in < 14));

		assert_int_equal(lmpi_view_below(&v, off), pos);
		if (there) {
			assert_int_equal(lmpi_view_offset(&v, pos), off);
			lmpi_walk_start(&w, &v, pos);
			assert_int_equal(lmpi_walk_next(&w, 100, &len), off);
			assert_int_equal(lmpi_view_offset(&v, pos + len - 1), off + len - 1);
			assert_true(lmpi_view_offset(&v, pos + len) > off + len);
			pos++;
		}
	}
}

static void
no_trap(const char *path, const char *words)
{
	const char *why = "";

	assert_int_equal(lmpi_shared_open(path, &why), -1);
	if (!strstr(why, words))
		fail_msg("'%s' lacks '%s'", why, words);
	assert_int_equal(unlink(path), 0);
}

/* The file of a shared pointer lies where everybody may write. */
static void
hidden_files(void **state)
{
	char dir[] = "/tmp/lmpi-io.XXXXXX", path[64], other[64];
	const char *why = "";
	struct stat st;
	int fd, again;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/hidden", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	fd = lmpi_shared_open(path, &why);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	again = lmpi_shared_open(path, &why); /* as another process of the job */
	assert_true(again >= 0);
	close(again);

	assert_int_equal(fchmod(fd, 0666), 0);
	no_trap(path, "others may write");
	close(fd);
	fd = open(other, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(symlink(other, path), 0);
	no_trap(path, "symbolic link");
	assert_int_equal(symlink("/nowhere/at/all", path), 0);
	no_trap(path, "symbolic link");
	assert_int_equal(link(other, path), 0);
	no_trap(path, "second name");
	assert_int_equal(mkfifo(path, 0600), 0);
	no_trap(path, "no regular file");
	if (geteuid() == 0) {
		assert_int_equal(rename(other, path), 0);
		assert_int_equal(chown(path, 1, 1), 0);
		no_trap(path, "another user");
	} else {
		assert_int_equal(unlink(other), 0);
	}
	close(fd);
	snprintf(path, sizeof(path), "%s/none/hidden", dir);
	assert_int_equal(lmpi_shared_open(path, &why), -1);
	assert_non_null(strstr(why, "No such file"));
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_pieces), cmocka_unit_test(regular_pieces_are_one_run),
		cmocka_unit_test(cuts_and_skips),  cmocka_unit_test(damaged_plans),
		cmocka_unit_test(positions),	   cmocka_unit_test(hidden_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
