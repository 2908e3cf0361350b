/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process with keys shows of itself. */
#include "driver/secrets.h"

#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* AddressSanitizer turns mlock() into nothing. */
#if defined __has_feature
#if __has_feature(address_sanitizer)
#define LOCKS_ARE_REAL 0
#endif
#endif
#ifndef LOCKS_ARE_REAL
#define LOCKS_ARE_REAL 1
#endif

/* In a child: a sanitizer looks at this process when it ends. */
static void
nobody_looks_in(void **state)
{
	(void)state;
	pid_t child = fork();
	if (child == 0) {
		struct rlimit core;
		bool ok = process_hide() && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 &&
			  getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 0;
		_exit(ok ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Kilobytes of the mapping at that address which cannot be swapped. */
static long
locked_kb(const void *at)
{
	char line[256];
	long kb = -1;
	bool here = false;
	FILE *f = fopen("/proc/self/smaps", "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		unsigned long from, to;
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = (unsigned long)at >= from && (unsigned long)at < to;
		else if (here && sscanf(line, "Locked: %ld kB", &kb) == 1)
			break;
	}
	fclose(f);
	return kb;
}

static void
pages_are_kept(void **state)
{
	(void)state;
	if (!LOCKS_ARE_REAL)
		skip();
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	/* Two bytes on the edge of two pages: both. */
	assert_true(process_keep(p + 2 * page - 1, 2));
	assert_int_equal(locked_kb(p + page), 2 * page / 1024);
	assert_int_equal(locked_kb(p), 0);
	munmap(p, 4 * page);
}

static void
environment_forgets(void **state)
{
	(void)state;
	char text[8], word[] = "NAME_OF_KEY=123456";
	assert_false(process_take_env("NAME_OF_KEY", text, sizeof text));
	assert_int_equal(putenv(word), 0);
	assert_true(process_take_env("NAME_OF_KEY", text, sizeof text));
	assert_string_equal(text, "123456");
	assert_null(getenv("NAME_OF_KEY"));
	assert_null(strstr(word, "1"));

	char longer[] = "NAME_OF_KEY=12345678";
	assert_int_equal(putenv(longer), 0);
	assert_false(process_take_env("NAME_OF_KEY", text, sizeof text));
	assert_string_equal(text, "");
	assert_null(strstr(longer, "1"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_looks_in),
		cmocka_unit_test(pages_are_kept),
		cmocka_unit_test(environment_forgets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
