/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/object.h - what all dynamic handles have in common.
 *
 * A handle is the address of its object.  Objects come from one pool per kind
 * and go back to it, never to malloc, so that looking at the magic number of a
 * stale handle is always allowed and tells it from a live one.
 *
 * Numbers for MPI_X_toint/_fromint are given out on first demand: from 4096 up,
 * unique in the kind, valid until the object is freed.
 *
 * Threads  the lock is held. */
#ifndef LMPI_OBJECT_H
#define LMPI_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LMPI_PREDEFINED_MAX 4095 /* handles up to here are the ABI's constants */

struct lmpi_obj {
	uint32_t magic; /* the pool's while alive, 0 in the free list */
	int32_t refs;
	int number; /* toint, 0 = none yet */
	struct lmpi_obj *next_free;
};

struct lmpi_pool {
	const char *what;
	uint32_t magic;
	size_t size;   /* of the whole object */
	size_t offset; /* of its struct lmpi_obj */
	struct lmpi_obj *free;
	void **numbered; /* [numbered_max], index = number - 4096 */
	int numbered_max;
	uint64_t live; /* objects handed out */
};

/* A zeroed object with one reference, or NULL: out of memory. */
void *lmpi_object_new(struct lmpi_pool *pool);
void lmpi_object_delete(struct lmpi_pool *pool, void *object);

/* Is this handle a live object of the pool? */
static inline bool
lmpi_object_valid(const struct lmpi_pool *pool, const void *handle)
{
	uintptr_t v = (uintptr_t)handle;

	if (v <= LMPI_PREDEFINED_MAX || v % _Alignof(struct lmpi_obj) != 0)
		return false;
	return ((const struct lmpi_obj *)(v + pool->offset))->magic == pool->magic;
}

/* -1: out of memory. */
int lmpi_object_number(struct lmpi_pool *pool, void *object);
/* NULL: no live object has that number. */
void *lmpi_object_numbered(const struct lmpi_pool *pool, int number);

extern struct lmpi_pool lmpi_comm_pool, lmpi_group_pool, lmpi_type_pool, lmpi_op_pool,
	lmpi_request_pool, lmpi_errhandler_pool, lmpi_info_pool, lmpi_message_pool,
	lmpi_session_pool;

#endif
