/* SPDX-License-Identifier: BSD-2-Clause */
/* test/mpi/shared_file.h - what the root of one job leaves in a file for that of another one:
 * whole, or not there yet. */
#ifndef MPI_SHARED_FILE_H
#define MPI_SHARED_FILE_H

#include "check.h"

#include <stdio.h>
#include <unistd.h>

static inline void
leave_in_file(const char *file, const void *data, size_t len)
{
	char fresh[4096];

	snprintf(fresh, sizeof(fresh), "%s.new", file);
	FILE *f = fopen(fresh, "w");
	CHECK(f != NULL && fwrite(data, 1, len, f) == len);
	CHECK(f != NULL && fclose(f) == 0 && rename(fresh, file) == 0);
}

/* It comes within so many seconds. */
static inline void
await_file(const char *file, void *data, size_t len, int seconds)
{
	FILE *f = NULL;

	for (int i = 0; f == NULL && i < 100 * seconds; i++) {
		f = fopen(file, "r");
		if (f == NULL)
			usleep(10000);
	}
	CHECK(f != NULL && fread(data, 1, len, f) == len);
	if (f != NULL)
		fclose(f);
}

#endif
