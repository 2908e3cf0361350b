/* SPDX-License-Identifier: BSD-2-Clause */
#include "domain.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>

/* The number that a file below the thread's folder begins with. */
static bool
read_first_number(const char *sys, unsigned cpu, const char *name, unsigned *out)
{
	char path[512];
	snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%u/%s", sys, cpu, name);
	FILE *f = fopen(path, "re");
	bool known = f && fscanf(f, "%u", out) == 1;
	if (f)
		fclose(f);
	return known;
}

/* The thread's folder has an entry node0, or another number. */
static bool
read_node(const char *sys, unsigned cpu, unsigned *out)
{
	char path[512], rest;
	bool known = false;
	snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%u", sys, cpu);
	DIR *d = opendir(path);
	for (const struct dirent *e; d && !known && (e = readdir(d)) != NULL;)
		known = sscanf(e->d_name, "node%u%c", out, &rest) == 1;
	if (d)
		closedir(d);
	return known;
}

unsigned
mpirun_domain_of(const char *sys, unsigned cpu, enum mpirun_domain kind)
{
	unsigned n = 0;
	switch (kind) {
	case MPIRUN_CORE:
		return read_first_number(sys, cpu, "topology/thread_siblings_list", &n) ? n : cpu;
	case MPIRUN_L3:
		if (read_first_number(sys, cpu, "cache/index3/shared_cpu_list", &n))
			return n;
		break;
	case MPIRUN_NUMA:
		return read_node(sys, cpu, &n) ? n : 0;
	case MPIRUN_SOCKET:
		break;
	}
	return read_first_number(sys, cpu, "topology/physical_package_id", &n) ? n : 0;
}
