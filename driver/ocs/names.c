/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c - files with names of ports; see driver/ocs.h. */
#include "driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
ocs_names_free(char **names)
{
	for (uint32_t i = 0; names && names[i]; i++)
		free(names[i]);
	free(names);
}

char **
ocs_names_read(const char *path, uint32_t *n, char why[OCS_DRIVER_WHY])
{
	char line[64];
	char **names = calloc(OCS_PORTS_MAX + 1, sizeof *names);
	FILE *f = fopen(path, "re");
	bool well = names && f;
	*n = 0;
	if (!f)
		snprintf(why, OCS_DRIVER_WHY, "%.100s: %s", path, strerror(errno));
	while (well && fgets(line, sizeof line, f)) {
		size_t len = strcspn(line, "\r\n");
		well = line[len] || feof(f);
		line[len] = 0;
		if (!well || (len && *n == OCS_PORTS_MAX)) {
			snprintf(why, OCS_DRIVER_WHY, "%.100s: %s", path,
				 well ? "too many ports" : "a line is too long for a name");
			well = false;
		} else if (len && !(names[(*n)++] = strdup(line))) {
			well = false;
		}
	}
	if (f)
		fclose(f);
	if (well && *n > 0)
		return names;
	if (well)
		snprintf(why, OCS_DRIVER_WHY, "%.100s: no names in it", path);
	ocs_names_free(names);
	return NULL;
}
