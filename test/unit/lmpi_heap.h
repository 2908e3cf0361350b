/* SPDX-License-Identifier: BSD-2-Clause */
/* lmpi_heap.h - an engine's memory from malloc(), which never fails here. */
#ifndef LMPI_HEAP_H
#define LMPI_HEAP_H

#include "mpi/engine.h"

#include "cmocka_all.h"

#include <stdlib.h>

static void *
take_heap(void *user, size_t bytes)
{
	(void)user;
	void *p = malloc(bytes ? bytes : 1);
	assert_non_null(p);
	return p;
}

static void
give_heap(void *user, void *p)
{
	(void)user;
	free(p);
}

static const struct lmpi_memory lmpi_heap = {.get = take_heap, .put = give_heap};

#endif
