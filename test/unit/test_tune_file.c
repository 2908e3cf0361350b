/* SPDX-License-Identifier: BSD-2-Clause */
/* The store's file in a folder of the test's own: written whole, refused where it is not ours. */
#include "driver/tune_file.h"

#include "cmocka_all.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[64], dir[96], path[TUNE_FILE_PATH], why[TUNE_FILE_WHY];
static struct tune_store s;

static int
setup(void **state)
{
	(void)state;
	snprintf(base, sizeof base, "/tmp/test_tune_file.XXXXXX");
	assert_non_null(mkdtemp(base));
	assert_true(setenv("XDG_CACHE_HOME", base, 1) == 0);
	snprintf(dir, sizeof dir, "%s/mpitune", base);
	assert_true(tune_file_path(path));
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	DIR *d = opendir(dir);
	struct dirent *e;
	while (d && (e = readdir(d)))
		(void)unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	(void)unlink(dir);
	(void)rmdir(dir);
	return rmdir(base);
}

static struct tune_key
key(void)
{
	struct tune_key k;
	tune_file_key(&k, "shm", "mpi");
	return k;
}

static void
keep(uint64_t run)
{
	struct tune_key k = key();
	struct tune_values v = {0};
	assert_true(tune_value_set(&v, TUNE_RUN, run));
	if (tune_file_keep(&k, &v, why))
		fail_msg("%s", why);
}

static void
put_text(const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

static void
kept_and_found(void **state)
{
	struct tune_key k = key();
	struct tune_values v;
	struct stat st;
	(void)state;

	assert_true(tune_file_find(&k, &v, why) == TUNE_FILE_NONE && !why[0]);
	keep(44);
	keep(50);
	assert_true(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600);
	assert_true(stat(dir, &st) == 0 && (st.st_mode & 07777) == 0700);
	if (tune_file_find(&k, &v, why) != TUNE_FILE_FOUND)
		fail_msg("%s", why);
	assert_true(tune_value_or(&v, TUNE_RUN, 30) == 50);
	assert_true(v.set >> TUNE_COPY_NS & 1 && v.set >> TUNE_CALL_NS & 1);
	assert_true(tune_file_read(path, &s, why) == TUNE_FILE_FOUND && s.n == 1);
	/* Nothing half done is left. */
	DIR *d = opendir(dir);
	int files = 0;
	for (struct dirent *e; (e = readdir(d));)
		files += e->d_name[0] != '.' || strlen(e->d_name) > 2;
	closedir(d);
	assert_true(files == 1);
	tune_word(k.cpu, sizeof k.cpu, "another");
	assert_true(tune_file_find(&k, &v, why) == TUNE_FILE_NONE && !v.set);
}

/* A row of this key that this machine cannot have written. */
static void
forged_is_stale(void **state)
{
	struct tune_key k = key();
	struct tune_values v;
	static char text[TUNE_STORE_BYTES];
	static const struct {
		enum tune_value i;
		uint64_t factor, divisor;
	} forged[] = {{TUNE_COPY_NS, 5, 1}, {TUNE_COPY_NS, 1, 5}, {TUNE_CALL_NS, 9, 1}};
	(void)state;

	for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
		keep(64);
		assert_true(tune_file_read(path, &s, why) == TUNE_FILE_FOUND);
		uint64_t *x = &s.entry[0].values.v[forged[i].i];
		*x = *x * forged[i].factor / forged[i].divisor;
		assert_true(tune_store_print(&s, text, sizeof text) > 0);
		put_text(text);
		assert_true(tune_file_find(&k, &v, why) == TUNE_FILE_STALE && !v.set);
		assert_non_null(strstr(why, "run mpitune again"));
	}
	/* Right key, right figures, and a value that no machine has as its best. */
	assert_true(unlink(path) == 0);
	v = (struct tune_values){0};
	assert_true(tune_value_set(&v, TUNE_EAGER_WIDE, 512));
	assert_true(tune_file_keep(&k, &v, why) == 0);
	assert_true(tune_file_find(&k, &v, why) == TUNE_FILE_STALE && !v.set);
	assert_non_null(strstr(why, "eager-wide=512 cannot be the best of a machine"));
	assert_true(unlink(path) == 0);
}

static void
refused(const char *says)
{
	struct tune_key k = key();
	struct tune_values v;
	assert_true(tune_file_find(&k, &v, why) == TUNE_FILE_REFUSED && !v.set);
	if (!strstr(why, says) || strncmp(why, path, strlen(path)) != 0)
		fail_msg("says: %s", why);
	/* Nor is it written over. */
	assert_true(tune_value_set(&v, TUNE_RUN, 3));
	assert_true(tune_file_keep(&k, &v, why) == -1 && strstr(why, says));
}

static void
not_ours(void **state)
{
	char other[128];
	(void)state;

	keep(44);
	assert_true(chmod(path, 0620) == 0);
	refused("others may write it (mode 0620); chmod it to 0600");
	assert_true(chmod(path, 0602) == 0);
	refused("others may write it");
	assert_true(chmod(path, 0600) == 0 && chmod(dir, 0770) == 0);
	refused("others may write its folder (mode 0770); chmod it to 0700");
	assert_true(chmod(dir, 0700) == 0);
	snprintf(other, sizeof other, "%s/other", dir);
	assert_true(rename(path, other) == 0 && symlink(other, path) == 0);
	refused("is a symbolic link; delete it");
	assert_true(unlink(path) == 0 && mkfifo(path, 0600) == 0);
	refused("is no regular file");
	assert_true(unlink(path) == 0 && rename(other, path) == 0);
	if (geteuid() == 0) {
		assert_true(chown(path, 1, 1) == 0);
		refused("belongs to somebody else (uid 1)");
		assert_true(chown(path, 0, 0) == 0 && chown(dir, 1, 1) == 0);
		refused("its folder belongs to somebody else (uid 1)");
		assert_true(chown(dir, 0, 0) == 0);
	}
	struct tune_key k = key();
	struct tune_values v;
	assert_true(tune_file_find(&k, &v, why) == TUNE_FILE_FOUND);
}

static void
folder_is_a_link(void **state)
{
	char other[128];
	(void)state;
	snprintf(other, sizeof other, "%s/elsewhere", base);
	assert_true(mkdir(other, 0700) == 0 && symlink(other, dir) == 0);
	refused("its folder is a symbolic link");
	assert_true(unlink(dir) == 0 && rmdir(other) == 0);
}

static void
nonsense(void **state)
{
	(void)state;
	keep(44);
	put_text("tune-store 1\nentry run=4\n");
	refused("line 2: run is no field of a key");
	put_text("");
	refused("line 1: empty");
	FILE *f = fopen(path, "w");
	for (int i = 0; i < TUNE_STORE_BYTES + 2; i++)
		fputc('x', f);
	assert_true(fclose(f) == 0);
	refused("line 1: more than");
}

static void
no_place(void **state)
{
	struct tune_key k = key();
	struct tune_values v = {0};
	(void)state;
	assert_true(setenv("XDG_CACHE_HOME", "relative", 1) == 0);
	char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
	assert_true(unsetenv("HOME") == 0);
	assert_true(tune_file_find(&k, &v, why) == TUNE_FILE_NONE);
	assert_true(tune_value_set(&v, TUNE_RUN, 3));
	assert_true(tune_file_keep(&k, &v, why) == -1 && strstr(why, "set XDG_CACHE_HOME"));
	assert_true(setenv("HOME", "/nowhere/at/all", 1) == 0);
	assert_true(tune_file_find(&k, &v, why) == TUNE_FILE_NONE);
	assert_true(tune_file_keep(&k, &v, why) == -1 && why[0]);
	assert_true(setenv("HOME", home, 1) == 0);
	free(home);
}

static void
keys(void **state)
{
	struct tune_key k = key(), again = key();
	static const uint8_t lo[4] = {127, 0, 0, 1}, nobody[4] = {192, 0, 2, 77};
	uint64_t copy, call;
	(void)state;

	assert_true(tune_key_ok(&k) && tune_key_same(&k, &again));
	assert_true(tune_file_key_ip(&k, "udp", "suci", lo, 4));
	assert_true(k.mtu >= 1280 && k.rtt == TUNE_RTT_ANY);
	k.rtt = 3;
	assert_true(tune_key_ok(&k));
	assert_false(tune_file_key_ip(&k, "udp", "suci", nobody, 4));
	tune_file_figures(&copy, &call);
	print_message("%s, shares %s: copy %llu ns, call %llu ns\n", k.cpu, k.shares,
		      (unsigned long long)copy, (unsigned long long)call);
	assert_true(copy > 100 && call > 1);

	/* Where the kernel tells of caches, sizes make sense and are in the key. */
	struct tune_caches c;
	char size[32];
	tune_file_caches(&c);
	if (c.l1) {
		assert_true(c.l1 >= 4096 && c.l1 <= 1u << 24 && (!c.l2 || c.l2 > c.l1));
		snprintf(size, sizeof size, "@%lluK+", (unsigned long long)c.l1 >> 10);
		assert_non_null(strstr(k.shares, size));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(kept_and_found, setup, teardown),
		cmocka_unit_test_setup_teardown(forged_is_stale, setup, teardown),
		cmocka_unit_test_setup_teardown(not_ours, setup, teardown),
		cmocka_unit_test_setup_teardown(folder_is_a_link, setup, teardown),
		cmocka_unit_test_setup_teardown(nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(no_place, setup, teardown),
		cmocka_unit_test(keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
