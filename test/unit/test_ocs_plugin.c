/* SPDX-License-Identifier: BSD-2-Clause */
/* Drivers that are shared objects: what is missing, of another release or open to others is not
 * loaded, and the text says which file and what helps. */
#include "cmocka_all.h"

#include "driver.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/ocs-plugin.XXXXXX";

/* The object of test/unit/ocs_plugin_fake.c as the driver of a protocol. */
static void
put_driver(const char *protocol, mode_t mode)
{
	char self[512], from[600], to[512];
	struct stat st;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	assert_true(n > 0);
	self[n] = 0;
	*strrchr(self, '/') = 0;
	snprintf(from, sizeof from, "%s/../ocs_plugin_fake.so", self);
	snprintf(to, sizeof to, "%s/ocs-%s.so", folder, protocol);
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_CREAT | O_WRONLY, 0600);
	assert_true(in >= 0 && out >= 0 && fstat(in, &st) == 0);
	assert_int_equal(sendfile(out, in, NULL, (size_t)st.st_size), st.st_size);
	assert_int_equal(fchmod(out, mode), 0);
	close(in);
	close(out);
}

static void
refuses(const char *protocol, const char *words)
{
	char why[OCS_DRIVER_WHY] = "", name[64];
	assert_null(ocsdrv_plugin_load(folder, protocol, why));
	printf("  %s\n", why);
	snprintf(name, sizeof name, "ocs-%s.so", protocol);
	assert_non_null(strstr(why, name));
	assert_non_null(strstr(why, words));
	assert_non_null(strstr(why, "; fix: "));
}

static void
test_loads(void **state)
{
	(void)state;
	char why[OCS_DRIVER_WHY] = "before";
	put_driver("fake", 0644);
	const struct ocs_plugin *p = ocsdrv_plugin_load(folder, "fake", why);
	if (!p)
		fail_msg("%s", why);
	assert_string_equal(why, "");
	assert_ptr_equal(ocsdrv_plugin_load(folder, "fake", why), p);
	assert_null(p->open(&(struct ocs_driver_config){.address = "here"}, why));
	assert_string_equal(why, "fake at here");
}

static void
test_missing(void **state)
{
	(void)state;
	char path[512];
	refuses("none", "No such file");
	snprintf(path, sizeof path, "%s/ocs-text.so", folder);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs("no shared object\n", f);
	fclose(f);
	refuses("text", "too short");
}

static void
test_of_another_release(void **state)
{
	(void)state;
	put_driver("newer", 0644);
	setenv("FAKE_VERSION", "2", 1);
	refuses("newer", "its version is 2, this program takes 1");
	unsetenv("FAKE_VERSION");
	put_driver("larger", 0644);
	setenv("FAKE_MORE", "8", 1);
	setenv("FAKE_PROTOCOL", "larger", 1);
	refuses("larger", "other structures");
	unsetenv("FAKE_MORE");
	setenv("FAKE_PROTOCOL", "snmp", 1);
	put_driver("other", 0644);
	refuses("other", "a driver of snmp");
	unsetenv("FAKE_PROTOCOL");
}

/* Nobody gets the rights of the program by a file or folder that he may write. */
static void
test_open_to_others(void **state)
{
	(void)state;
	char why[OCS_DRIVER_WHY];
	put_driver("open", 0666);
	refuses("open", "may not write this program");
	struct stat program;
	assert_int_equal(stat("/proc/self/exe", &program), 0);
	if ((program.st_mode & S_IWGRP) == 0) { /* else the group may write it */
		put_driver("group", 0664);
		refuses("group", "may not write this program");
	}
	assert_int_equal(chmod(folder, 0777), 0);
	assert_null(ocsdrv_plugin_load(folder, "fake", why));
	assert_non_null(strstr(why, "may not write this program"));
	assert_int_equal(chmod(folder, 0755), 0);
	assert_non_null(ocsdrv_plugin_load(folder, "fake", why));
	if (geteuid() != 0)
		return;
	char path[512];
	put_driver("stranger", 0644);
	snprintf(path, sizeof path, "%s/ocs-stranger.so", folder);
	assert_int_equal(chown(path, 65534, 65534), 0);
	refuses("stranger", "may not write this program");
}

static void
test_by_protocol(void **state)
{
	(void)state;
	char why[OCS_DRIVER_WHY];
	assert_true(ocs_driver_is_there("scpi", why));
	assert_true(ocs_driver_is_there("openflow", why));
	assert_false(ocs_driver_is_there("../fake", why));
	assert_non_null(strstr(why, "no protocol \"../fake\"; there are netconf, "));
	/* This program has no lib/relayd beside its folder. */
	assert_false(ocs_driver_is_there("netconf", why));
	printf("  %s\n", why);
	assert_non_null(strstr(why, "/lib/relayd/ocs-netconf.so: No such file"));
	assert_non_null(strstr(why, "fix: install the package relayd-optics"));
}

static int
make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chmod(folder, 0755) == 0 ? 0 : -1;
}

static int
remove_folder(void **state)
{
	(void)state;
	static const char *const names[] = {"fake",  "text", "newer", "larger",
					    "other", "open", "group", "stranger"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[512];
		snprintf(path, sizeof path, "%s/ocs-%s.so", folder, names[i]);
		unlink(path);
	}
	return rmdir(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loads),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_of_another_release),
		cmocka_unit_test(test_open_to_others),
		cmocka_unit_test(test_by_protocol),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
