/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/fortran/staged.h - what section.c and staged.c share. */
#ifndef LMPI_FORTRAN_STAGED_H
#define LMPI_FORTRAN_STAGED_H

#include "section.h"

/* Does the address of a buffer not tell all of it? */
bool f_has_gaps(const CFI_cdesc_t *d);

/* A descriptor that has gaps, without dimensions of one element. */
struct f_section {
	char *base;
	size_t element; /* bytes */
	MPI_Count elements;
	int rank;
	struct {
		MPI_Count extent, step; /* elements, bytes */
	} dim[CFI_MAX_RANK];
};
struct f_section f_section_of(const CFI_cdesc_t *d);

/* Where element i lies, in bytes from the base. */
MPI_Count f_offset_of(const struct f_section *s, MPI_Count i);

#endif
