/* SPDX-License-Identifier: BSD-2-Clause */
/* The file with a process id: one holder, and nothing that others planted is followed. */
#include "driver/pidfile.h"

#include "cmocka_all.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/rd-pidfile.XXXXXX", path[64], other[64];

static void
write_text(const char *to, const char *text)
{
	FILE *f = fopen(to, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void
holds(const char *at, const char *text)
{
	char have[64] = "";
	FILE *f = fopen(at, "r");
	assert_non_null(f);
	size_t n = fread(have, 1, sizeof have - 1, f);
	have[n] = 0;
	fclose(f);
	assert_string_equal(have, text);
}

static void
refused(const char *words)
{
	struct process_pidfile p;
	char err[256] = "";
	assert_int_equal(process_pidfile_open(&p, path, err, sizeof err), -1);
	assert_int_equal(p.fd, -1);
	if (!strstr(err, words) || !strstr(err, path))
		fail_msg("'%s' lacks '%s'", err, words);
	process_pidfile_remove(&p); /* of what never was: nothing */
}

static void
one_at_a_time(void **state)
{
	(void)state;
	struct process_pidfile p;
	char err[256], mine[64];
	snprintf(mine, sizeof mine, "%ld\n", (long)getpid());
	write_text(path, "99999999999 of an earlier one"); /* killed: nobody holds it */
	assert_int_equal(process_pidfile_open(&p, path, err, sizeof err), 0);
	holds(path, mine);
	snprintf(mine, sizeof mine, "running already, process %ld", (long)getpid());
	refused(mine);
	process_pidfile_remove(&p);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void
what_others_planted(void **state)
{
	(void)state;
	write_text(other, "precious");
	assert_int_equal(symlink(other, path), 0);
	refused("symbolic link");
	holds(other, "precious");
	assert_int_equal(unlink(path), 0);

	assert_int_equal(symlink("/nowhere/at/all", path), 0);
	refused("symbolic link");
	assert_int_equal(unlink(path), 0);

	assert_int_equal(link(other, path), 0);
	refused("second name");
	holds(other, "precious");
	assert_int_equal(unlink(path), 0);

	assert_int_equal(mkfifo(path, 0600), 0); /* and does not wait for its other end */
	refused("no regular file");
	assert_int_equal(unlink(path), 0);

	if (geteuid() == 0) {
		write_text(path, "1");
		assert_int_equal(chown(path, 1, 1), 0);
		refused("another user");
		holds(path, "1");
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(mkdir(path, 0700), 0);
	refused("directory");
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(unlink(other), 0);
}

/* Somebody replaced it while we ran: the name is not ours to remove. */
static void
the_name_is_another_file(void **state)
{
	(void)state;
	struct process_pidfile p;
	char err[256];
	assert_int_equal(process_pidfile_open(&p, path, err, sizeof err), 0);
	assert_int_equal(unlink(path), 0);
	write_text(path, "2");
	process_pidfile_remove(&p);
	holds(path, "2");
	assert_int_equal(unlink(path), 0);
}

/* No room for the number: nothing is left that would say "running" without one. */
static void
the_disk_is_full(void **state)
{
	(void)state;
	struct rlimit old, none;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	none = (struct rlimit){0, old.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	struct process_pidfile p;
	char err[256] = "";
	int e = process_pidfile_open(&p, path, err, sizeof err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(e, -1);
	assert_non_null(strstr(err, "too large"));
	assert_int_equal(access(path, F_OK), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_at_a_time),
		cmocka_unit_test(what_others_planted),
		cmocka_unit_test(the_name_is_another_file),
		cmocka_unit_test(the_disk_is_full),
	};
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof path, "%s/pid", dir);
	snprintf(other, sizeof other, "%s/other", dir);
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(dir);
	return rc;
}
