/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/names: publish, look up, take over, drop. */
#include "cmocka_all.h"

#include "driver/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static int
make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/test_names.XXXXXX");
	assert_non_null(mkdtemp(folder));
	return setenv("XDG_RUNTIME_DIR", folder, 1);
}

static int
remove_folder(void **state)
{
	char path[128];

	(void)state;
	names_drop(getpid());
	snprintf(path, sizeof path, "%s/mpi-names", folder);
	/* Nothing else was left there. */
	assert_int_equal(rmdir(path), 0);
	return rmdir(folder);
}

/* A process id that is nobody's. */
static pid_t
gone(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void
published_and_found(void **state)
{
	char port[NAMES_PORT_MAX], why[NAMES_WHY];

	(void)state;
	assert_int_equal(names_lookup("ocean", port, why), NAMES_UNKNOWN);
	assert_non_null(strstr(why, "ocean"));
	assert_int_equal(names_publish("ocean", "door:abc", getpid(), why), NAMES_OK);
	assert_int_equal(names_publish("../../a b/\xc3\xa4", "door:def", getpid(), why), NAMES_OK);
	assert_int_equal(names_lookup("ocean", port, why), NAMES_OK);
	assert_string_equal(port, "door:abc");
	assert_int_equal(names_lookup("../../a b/\xc3\xa4", port, why), NAMES_OK);
	assert_string_equal(port, "door:def");
	assert_int_equal(names_publish("ocean", "door:x", getppid(), why), NAMES_TAKEN);
	assert_int_equal(names_unpublish("ocean", getppid(), why), NAMES_UNKNOWN);
	assert_int_equal(names_unpublish("ocean", getpid(), why), NAMES_OK);
	assert_int_equal(names_unpublish("ocean", getpid(), why), NAMES_UNKNOWN);
	assert_int_equal(names_publish("ocean", "door:y", getpid(), why), NAMES_OK);
	names_drop(getpid());
	assert_int_equal(names_lookup("ocean", port, why), NAMES_UNKNOWN);
}

static void
keeper_gone(void **state)
{
	char port[NAMES_PORT_MAX], why[NAMES_WHY];

	(void)state;
	assert_int_equal(names_publish("n", "door:old", gone(), why), NAMES_OK);
	assert_int_equal(names_lookup("n", port, why), NAMES_UNKNOWN);
	assert_int_equal(names_publish("n", "door:new", getpid(), why), NAMES_OK);
	assert_int_equal(names_lookup("n", port, why), NAMES_OK);
	assert_string_equal(port, "door:new");
}

static void
bad_input(void **state)
{
	char name[NAMES_MAX + 2], port[NAMES_PORT_MAX + 1], why[NAMES_WHY], path[128];

	(void)state;
	memset(name, '/', sizeof name);
	name[NAMES_MAX + 1] = '\0';
	assert_int_equal(names_publish(name, "p", getpid(), why), NAMES_BROKEN);
	name[NAMES_MAX] = '\0';
	assert_int_equal(names_publish(name, "p", getpid(), why), NAMES_OK);
	assert_int_equal(names_publish("", "p", getpid(), why), NAMES_BROKEN);
	assert_int_equal(names_publish("a", "two\nlines", getpid(), why), NAMES_BROKEN);
	memset(port, 'p', NAMES_PORT_MAX);
	port[NAMES_PORT_MAX] = '\0';
	assert_int_equal(names_publish("a", port, getpid(), why), NAMES_BROKEN);
	/* A folder that others may write to is not believed. */
	snprintf(path, sizeof path, "%s/mpi-names", folder);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(names_lookup("a", port, why), NAMES_BROKEN);
	assert_non_null(strstr(why, "alone"));
	assert_int_equal(chmod(path, 0700), 0);
}

/* Links lead to what somebody else has written. */
static void
no_link_is_followed(void **state)
{
	char port[NAMES_PORT_MAX], why[NAMES_WHY], path[128], there[160], link[160];

	(void)state;
	assert_int_equal(names_publish("n", "door:n", getpid(), why), NAMES_OK);
	snprintf(path, sizeof path, "%s/mpi-names", folder);
	snprintf(there, sizeof there, "%s/n", path);
	snprintf(link, sizeof link, "%s/m", path);
	assert_int_equal(symlink(there, link), 0);
	assert_int_equal(names_lookup("m", port, why), NAMES_UNKNOWN);
	/* The name is free for who takes it: what the link leads to stays as it is. */
	assert_int_equal(names_publish("m", "door:m", getpid(), why), NAMES_OK);
	assert_int_equal(names_lookup("n", port, why), NAMES_OK);
	assert_string_equal(port, "door:n");

	snprintf(there, sizeof there, "%s/elsewhere", folder);
	assert_int_equal(rename(path, there), 0);
	assert_int_equal(symlink(there, path), 0);
	assert_int_equal(names_lookup("n", port, why), NAMES_BROKEN);
	assert_int_equal(names_publish("x", "door:x", getpid(), why), NAMES_BROKEN);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(there, path), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(published_and_found, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(keeper_gone, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(bad_input, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(no_link_is_followed, make_folder, remove_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
