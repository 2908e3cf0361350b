/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/layout.h - building the tree of loops and runs of a type.
 *
 * All memory comes from the type the layout is for and goes with it; children
 * may belong to its components, to which it holds references.
 * NULL: out of memory. */
#ifndef LMPI_LAYOUT_H
#define LMPI_LAYOUT_H

#include "type.h"

/* Memory that is freed with the type. */
void *lmpi_type_alloc(struct lmpi_type *t, int64_t n, size_t size);

/* n copies of child, one every stride bytes. */
const struct lmpi_node *lmpi_layout_loop(struct lmpi_type *t, const struct lmpi_node *child,
					 int64_t n, int64_t stride);
/* child, off bytes further on. */
const struct lmpi_node *lmpi_layout_shift(struct lmpi_type *t, const struct lmpi_node *child,
					  int64_t off);
/* The nodes one after another; the array may be changed. */
const struct lmpi_node *lmpi_layout_list(struct lmpi_type *t, const struct lmpi_node **nodes,
					 int64_t n);
/* The loop lmpi_layout_loop() would make, as a value, without allocating. */
struct lmpi_node lmpi_layout_loop_value(const struct lmpi_node *child, int64_t n, int64_t stride);

/* Free what lmpi_type_alloc() gave. */
void lmpi_type_free_chunks(struct lmpi_type *t);

#endif
