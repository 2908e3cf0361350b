/* SPDX-License-Identifier: BSD-2-Clause */
/* Which part of a machine a hardware thread is in: two sockets of two nodes each, with and without
 * what some machines do not say. */
#include "cmocka_all.h"

#include "domain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void
write_entry(unsigned cpu, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%u/%s", root, cpu, name);
	for (char *c = path + strlen(root) + 1; (c = strchr(c, '/')) != NULL; c++) {
		*c = '\0';
		(void)mkdir(path, 0755);
		*c = '/';
	}
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%s\n", text);
	fclose(f);
}

/* CPUs 0 .. 15: 0 and 8 share a core, and so on; four cores a socket, two a node. */
static int
make_machine(void **state)
{
	char text[32];
	(void)state;
	snprintf(root, sizeof root, "/tmp/mpirun-domain.XXXXXX");
	if (!mkdtemp(root))
		return -1;
	for (unsigned cpu = 0; cpu < 16; cpu++) {
		unsigned core = cpu % 8;
		snprintf(text, sizeof text, "%u,%u", core, core + 8);
		write_entry(cpu, "topology/thread_siblings_list", text);
		snprintf(text, sizeof text, "%u", core / 4);
		write_entry(cpu, "topology/physical_package_id", text);
		snprintf(text, sizeof text, "%u-%u", core / 2 * 2, core / 2 * 2 + 1);
		write_entry(cpu, "cache/index3/shared_cpu_list", text);
		snprintf(text, sizeof text, "node%u/cpulist", core / 2);
		write_entry(cpu, text, "");
	}
	return 0;
}

static int
remove_machine(void **state)
{
	char line[128];
	(void)state;
	snprintf(line, sizeof line, "rm -r %s", root);
	return system(line);
}

static void
parts_are_found(void **state)
{
	(void)state;
	for (unsigned cpu = 0; cpu < 16; cpu++) {
		unsigned core = cpu % 8;
		assert_int_equal(mpirun_domain_of(root, cpu, MPIRUN_CORE), core);
		assert_int_equal(mpirun_domain_of(root, cpu, MPIRUN_L3), core / 2 * 2);
		assert_int_equal(mpirun_domain_of(root, cpu, MPIRUN_NUMA), core / 2);
		assert_int_equal(mpirun_domain_of(root, cpu, MPIRUN_SOCKET), core / 4);
	}
}

static void
what_is_not_said_is_the_next_larger(void **state)
{
	char path[256];
	(void)state;
	snprintf(path, sizeof path, "%s/devices/system/cpu/cpu9/cache/index3/shared_cpu_list",
		 root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mpirun_domain_of(root, 9, MPIRUN_L3), 0);
	assert_int_equal(mpirun_domain_of(root, 77, MPIRUN_CORE), 77);
	assert_int_equal(mpirun_domain_of(root, 77, MPIRUN_L3), 0);
	assert_int_equal(mpirun_domain_of(root, 77, MPIRUN_NUMA), 0);
	assert_int_equal(mpirun_domain_of(root, 77, MPIRUN_SOCKET), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_found),
		cmocka_unit_test(what_is_not_said_is_the_next_larger),
	};
	return cmocka_run_group_tests(tests, make_machine, remove_machine);
}
