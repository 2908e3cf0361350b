/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/external32.h - messages in the representation IMPI puts on the wire.
 *
 * external32 (IMPI reference 2.2; MPI 5.0, "External Data Representation") is the
 * packed form of a message - its basic elements in type map order, nothing between
 * them - with every element big-endian, floating point in IEEE formats, and sizes
 * that do not depend on the machine:
 *
 *	1 byte	BYTE PACKED CHAR SIGNED_CHAR UNSIGNED_CHAR CHARACTER C_BOOL CXX_BOOL
 *	2	SHORT UNSIGNED_SHORT and WCHAR (4 in memory)
 *	4	INT UNSIGNED FLOAT INTEGER REAL LOGICAL, and LONG UNSIGNED_LONG (8 in
 *		memory); in LMPI_REP_EXTERNAL32_LONG8 these two have 8
 *	8	LONG_LONG UNSIGNED_LONG_LONG DOUBLE DOUBLE_PRECISION AINT OFFSET COUNT
 *	16	LONG_DOUBLE (datatype/binary128.h)
 *	n	INTn_T UINTn_T INTEGERn LOGICALn REALn by name
 *	2 * n	the complex types
 *	n + 4	value and index, without a gap: FLOAT_INT 8, DOUBLE_INT 12, LONG_INT 8
 *		(12 with long8), 2INT 8, SHORT_INT 6, LONG_DOUBLE_INT 20
 *
 * How it works: a type knows, per representation, its size and - if all its elements
 * are turned round in units of one size - that unit (struct lmpi_measure in type.h).
 * Such types are packed as native ones and the units swapped; all others walk the
 * type signature beside the native packed form, so layouts matter to neither.
 *
 * Units    bytes.
 * Threads  pure functions on immutable types.
 * Errors   only packing can fail: a value of LONG, UNSIGNED_LONG or WCHAR that the
 *          smaller external form cannot hold.  Whatever bytes come in, unpacking
 *          gives values. */
#ifndef LMPI_EXTERNAL32_H
#define LMPI_EXTERNAL32_H

#include "type.h"

/* The value that made packing fail. */
struct lmpi_unfit {
	const char *type; /* "MPI_LONG" */
	int bytes;	  /* its size on the wire */
	bool is_unsigned;
	uint64_t value; /* two's complement if signed */
};

/* Pack count elements at buf into out, which has room for
 * count * t->rep[rep].size bytes.  False: a value does not fit, *unfit says which;
 * out then holds an unspecified part of the message.  rep may be NATIVE. */
bool lmpi_external32_pack(const struct lmpi_type *t, const void *buf, int64_t count,
			  enum lmpi_rep rep, void *out, struct lmpi_unfit *unfit);

/* Unpack the first len bytes of a message of count elements from in to buf.  len may
 * be anything: bytes beyond the count elements are ignored, and so is an element of
 * which only a part is there (except of types swapped in units of 1: those have no
 * parts).  Memory of elements that are not in the message stays as it was.
 * In place: in may be lmpi_type_span(t, buf, count) if lmpi_external32_in_place();
 * bytes of a cut-off element are then left as they came.  rep may be NATIVE. */
void lmpi_external32_unpack(const struct lmpi_type *t, void *buf, int64_t count, enum lmpi_rep rep,
			    const void *in, int64_t len);

/* A message of these elements has the same size in rep and in memory, so that it can
 * be received where it belongs and converted there. */
static inline bool
lmpi_external32_in_place(const struct lmpi_type *t, enum lmpi_rep rep)
{
	/* No element is larger in external32, so equal sums mean equal parts. */
	return t->rep[rep].size == t->size;
}
/* It even has the same bytes: MPI_BYTE, MPI_CHAR and the like. */
static inline bool
lmpi_external32_as_is(const struct lmpi_type *t, enum lmpi_rep rep)
{
	return t->rep[rep].swap == 1;
}

/* ---- for the constructors of types */
/* Set t->part and t->rep of a predefined type from its kind. */
void lmpi_external32_describe(struct lmpi_type *t);
/* Account for n more elements of type c at the end of t, which has `elements` so far. */
void lmpi_external32_append(struct lmpi_type *t, int64_t n, const struct lmpi_type *c);
/* Bytes of the first of the two elements of a value-and-index type. */
int64_t lmpi_external32_value_size(const struct lmpi_type *t, enum lmpi_rep rep);

#endif
