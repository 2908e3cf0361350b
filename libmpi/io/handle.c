/* SPDX-License-Identifier: BSD-2-Clause */
/* File handles: apart from the rest, because error handling needs no more than this. */
#include "io.h"

struct lmpi_pool lmpi_file_pool = {.what = "file",
				   .magic = 0x46494c45,
				   .size = sizeof(struct lmpi_file),
				   .offset = offsetof(struct lmpi_file, obj)};

struct lmpi_file *
lmpi_file_find(MPI_File handle)
{
	return lmpi_object_valid(&lmpi_file_pool, handle) ? (void *)handle : NULL;
}
