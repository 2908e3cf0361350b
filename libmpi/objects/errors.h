/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/errors.h - error classes, codes and their texts.
 *
 * Codes of the library are the classes themselves; the text of MPI_Error_string
 * adds what the last failing call of this thread had to say. */
#ifndef LMPI_ERRORS_H
#define LMPI_ERRORS_H

/* "MPI_ERR_RANK" or the like. */
const char *lmpi_error_name(int code);
/* MPI_LASTUSEDCODE. */
extern int lmpi_last_used_code;

#endif
