/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/ints.h - an array of counts or displacements as the caller gave it:
 * int of the classic bindings, 64 bits of the large-count ones. */
#ifndef LMPI_INTS_H
#define LMPI_INTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi.h"

struct lmpi_ints {
	const void *at; /* const int [] or const int64_t []; may be NULL */
	bool wide;
};

static inline int64_t
ints_at(struct lmpi_ints a, int64_t i)
{
	return a.wide ? ((const int64_t *)a.at)[i] : ((const int *)a.at)[i];
}

/* What the int form of a call reports for a value that int cannot hold. */
static inline int
lmpi_narrow_int(int64_t v)
{
	return v > INT_MAX || v < INT_MIN ? MPI_UNDEFINED : (int)v;
}

static inline MPI_Aint
lmpi_narrow_MPI_Aint(int64_t v)
{
	return v;
}

#endif
