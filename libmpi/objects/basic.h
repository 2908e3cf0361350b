/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/basic.h - machine kinds behind the predefined datatypes.
 *
 * Several MPI names share one kind (MPI_INT, MPI_INT32_T, MPI_INTEGER: I32);
 * reductions are written per kind. */
#ifndef LMPI_BASIC_H
#define LMPI_BASIC_H

#include "mpi.h"

enum lmpi_basic {
	LMPI_BASIC_NONE, /* a derived type */
	LMPI_BASIC_I8,
	LMPI_BASIC_U8,
	LMPI_BASIC_I16,
	LMPI_BASIC_U16,
	LMPI_BASIC_I32,
	LMPI_BASIC_U32,
	LMPI_BASIC_I64,
	LMPI_BASIC_U64,
	LMPI_BASIC_I128,
	LMPI_BASIC_F32,
	LMPI_BASIC_F64,
	LMPI_BASIC_F80, /* long double */
	LMPI_BASIC_F128,
	LMPI_BASIC_C32, /* complex, by its parts */
	LMPI_BASIC_C64,
	LMPI_BASIC_C80,
	LMPI_BASIC_C128,
	LMPI_BASIC_BOOL, /* C and C++ */
	LMPI_BASIC_L8,	 /* Fortran LOGICAL by size */
	LMPI_BASIC_L16,
	LMPI_BASIC_L32,
	LMPI_BASIC_L64,
	LMPI_BASIC_L128,
	LMPI_BASIC_BYTE,
	LMPI_BASIC_CHARACTER, /* text: no arithmetic */
	LMPI_BASIC_WCHAR,
	LMPI_BASIC_PACKED,
	LMPI_BASIC_HALF, /* 2-byte reals: moved, not computed with */
	/* value and index */
	LMPI_BASIC_F32_INT,
	LMPI_BASIC_F64_INT,
	LMPI_BASIC_I64_INT,
	LMPI_BASIC_I32_INT,
	LMPI_BASIC_I16_INT,
	LMPI_BASIC_F80_INT,
	LMPI_BASIC_F32_F32,
	LMPI_BASIC_F64_F64,
	LMPI_BASIC_COUNT
};

#endif
