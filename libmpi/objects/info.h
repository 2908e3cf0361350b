/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/info.h - info objects: ordered (key, value) lists.
 *
 * Threads  the lock is held. */
#ifndef LMPI_INFO_H
#define LMPI_INFO_H

#include "mpi.h"
#include "object.h"

struct lmpi_info_pair {
	char *key, *value;
};

struct lmpi_info {
	struct lmpi_obj obj;
	struct lmpi_info_pair *pairs;
	int n;
};

/* NULL: MPI_INFO_NULL or no info at all; MPI_INFO_ENV has an object. */
struct lmpi_info *lmpi_info_find(MPI_Info handle);
/* The same of an argument, where MPI_INFO_NULL is as good as none: an MPI error code. */
int lmpi_info_arg(MPI_Info handle, struct lmpi_info **info);
/* A new, empty one; NULL: out of memory. */
struct lmpi_info *lmpi_info_new(void);
struct lmpi_info *lmpi_info_copy(const struct lmpi_info *from);
/* False: out of memory. */
bool lmpi_info_put(struct lmpi_info *info, const char *key, const char *value);
/* NULL: it has no such key. */
struct lmpi_info_pair *lmpi_info_pair_of(const struct lmpi_info *info, const char *key);
const char *lmpi_info_value(const struct lmpi_info *info, const char *key);
void lmpi_info_delete(struct lmpi_info *info);

#endif
