/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/type.h - the datatype engine.
 *
 * A datatype is kept in two forms: its contents (what the user called, for
 * MPI_Type_get_contents and for counting elements) and its layout, a small tree
 * of loops over byte runs that packing and unpacking walk:
 *
 *	RUN     n blocks of len bytes, one every stride bytes
 *	BLOCKS  n blocks of various offsets and lengths
 *	LOOP    n copies of a child, one every stride bytes
 *	LIST    different children at different offsets
 *
 * Constructors merge what they can, so that a vector of a contiguous type is
 * one RUN and a struct without holes is one block.
 *
 * The packed form of a message is the concatenation of its basic elements in
 * type map order, in native bytes.  Any range of it can be moved, so a message
 * shorter than the receive buffer, or a fragment, needs nothing special.
 * Messages to and from foreign MPIs have another form: external32.h.
 *
 * Units    bytes; displacements and extents are signed.
 * Threads  types are immutable after construction, except for reference counts,
 *          names and attributes, which the lock protects.
 * Errors   constructors return NULL when out of memory. */
#ifndef LMPI_TYPE_H
#define LMPI_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "ints.h"
#include "object.h"
#include "basic.h"
#include "engine.h" /* enum lmpi_rep */
#include "mpi.h"

enum lmpi_node_kind { LMPI_RUN, LMPI_BLOCKS, LMPI_LOOP, LMPI_LIST };

struct lmpi_block {
	int64_t off, len;
	int64_t before; /* packed bytes of the blocks in front of this one */
};

struct lmpi_node;
struct lmpi_item {
	int64_t before; /* packed bytes of the items in front */
	const struct lmpi_node *node;
};

struct lmpi_node {
	enum lmpi_node_kind kind;
	int64_t off;	/* added to all addresses below */
	int64_t size;	/* packed bytes */
	int64_t n;	/* blocks, iterations or items */
	int64_t len;	/* RUN: bytes of a block */
	int64_t stride; /* RUN, LOOP */
	union {
		const struct lmpi_block *blocks;
		const struct lmpi_node *child;
		const struct lmpi_item *items;
	};
};

/* The type signature: n times child, one after another. */
struct lmpi_sig {
	int64_t n;
	struct lmpi_type *child;
};

/* What one element of a type measures in a representation of messages. */
struct lmpi_measure {
	int64_t size;	      /* packed bytes */
	int64_t element_size; /* of every basic element, if they are all of one size, else 0 */
	/* The packed form differs from the native one only in that every unit of
	 * this many bytes is turned round (1: it does not differ); 0: it differs in
	 * more, or the units are of several sizes. */
	uint8_t swap;
};

/* A predefined type, as far as external32 cares: one or two runs of machine words. */
struct lmpi_part {
	uint8_t wire; /* enum lmpi_wire of external32.c */
	uint8_t n;    /* 2 of the complex kinds; 0: no second part */
};

/* The arguments of the constructor, as MPI_Type_get_contents gives them back. */
struct lmpi_contents {
	int combiner;
	int64_t nints, naddrs, ncounts, ntypes;
	int *ints;
	MPI_Aint *addrs;
	MPI_Count *counts;
	struct lmpi_type **types; /* a reference to each is held */
};

/* The ends of a type that MPI_Type_create_resized, MPI_LB or MPI_UB have set. */
enum lmpi_mark {
	LMPI_MARK_LB = 1,
	LMPI_MARK_UB = 2,
};

struct lmpi_attr;
struct lmpi_chunk;

struct lmpi_type {
	struct lmpi_obj obj;
	MPI_Datatype handle;
	enum lmpi_basic basic; /* LMPI_BASIC_NONE for derived ones */
	bool committed;
	uint8_t sticky; /* LMPI_MARK_*: ends set by a component, which count alone */
	int align;	/* strictest of the basic types */
	int64_t size;	/* = rep[LMPI_REP_NATIVE].size */
	int64_t lb, ub;
	int64_t true_lb, true_ub;
	int64_t elements; /* basic elements in one */
	struct lmpi_measure rep[LMPI_REPS];
	struct lmpi_part part[2]; /* predefined ones only */
	const struct lmpi_node *layout;
	struct lmpi_sig *sig;
	int64_t sigs;
	struct lmpi_contents contents;
	struct lmpi_chunk *chunks; /* memory of layout, sig, contents */
	struct lmpi_attr *attrs;
	char name[MPI_MAX_OBJECT_NAME];
};

void lmpi_types_init(void);
/* The object of a handle, NULL if it is none (MPI_DATATYPE_NULL included). */
struct lmpi_type *lmpi_type_find(MPI_Datatype handle);
static inline int64_t
lmpi_type_extent(const struct lmpi_type *t)
{
	return t->ub - t->lb;
}
void lmpi_type_ref(struct lmpi_type *t);
/* Frees it with the last reference; its attributes must have been deleted. */
void lmpi_type_unref(struct lmpi_type *t);

/* ---- moving data */
/* Where the packed form of count elements at buf already lies in memory, or
 * NULL if they have to be packed. */
static inline void *
lmpi_type_span(const struct lmpi_type *t, const void *buf, int64_t count)
{
	const struct lmpi_node *l = t->layout;

	if (l->kind == LMPI_RUN && l->n == 1 && (count == 1 || l->len == t->ub - t->lb))
		return (void *)((uintptr_t)buf + (uintptr_t)l->off);
	return NULL;
}
/* Move the packed bytes [skip, skip + len) of count elements at buf into out /
 * from in.  The range must lie within count * t->size. */
void lmpi_type_pack(const struct lmpi_type *t, const void *buf, int64_t count, void *out,
		    int64_t skip, int64_t len);
void lmpi_type_unpack(const struct lmpi_type *t, void *buf, int64_t count, const void *in,
		      int64_t skip, int64_t len);
/* How many basic elements the first `bytes` packed bytes, in a representation, of a
 * row of t hold completely; *left_over gets the bytes after the last complete one. */
int64_t lmpi_type_elements_in(const struct lmpi_type *t, enum lmpi_rep rep, int64_t bytes,
			      int64_t *left_over);
/* Packed bytes of the first n basic elements of a row of t. */
int64_t lmpi_type_bytes_of(const struct lmpi_type *t, int64_t n);

/* ---- constructors; arguments were checked by the caller */
struct lmpi_type *lmpi_type_contiguous(int64_t count, struct lmpi_type *old);
/* stride in bytes */
struct lmpi_type *lmpi_type_hvector(int64_t count, int64_t blocklen, int64_t stride,
				    struct lmpi_type *old);
/* Blocks of blocklen[i] (or of `same` each, with blocklens.at NULL) elements at
 * displs[i] * unit bytes. */
struct lmpi_type *lmpi_type_hindexed(int64_t count, struct lmpi_ints blocklens, int64_t same,
				     struct lmpi_ints displs, int64_t unit, struct lmpi_type *old);
struct lmpi_type *lmpi_type_struct(int64_t count, struct lmpi_ints blocklens,
				   struct lmpi_ints displs, struct lmpi_type *const *types);
struct lmpi_type *lmpi_type_resized(struct lmpi_type *old, int64_t lb, int64_t extent);
struct lmpi_type *lmpi_type_subarray(int ndims, struct lmpi_ints sizes, struct lmpi_ints subsizes,
				     struct lmpi_ints starts, bool fortran, struct lmpi_type *old);

/* One dimension of an array over a grid of processes; arg 0: the default. */
struct lmpi_darray_dim {
	int64_t gsize;
	int distribution; /* MPI_DISTRIBUTE_* */
	int64_t arg;
	int procs, coord;
};
struct lmpi_type *lmpi_type_darray(int ndims, const struct lmpi_darray_dim *dim, bool fortran,
				   struct lmpi_type *old);

/* Note the constructor's arguments; the counts are of what the caller then
 * fills in.  Takes a reference to each of types.  False: out of memory. */
bool lmpi_type_set_contents(struct lmpi_type *t, int combiner, int64_t nints, int64_t naddrs,
			    int64_t ncounts, int64_t ntypes, struct lmpi_type *const *types);

#endif
