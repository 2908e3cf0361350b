/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/rma/layout_wire.h - datatypes in packets.
 *
 * What travels is the layout, not the signature: 64-bit words in the byte order of the
 * host,
 *
 *	extent, then a node:
 *	node = kind, off, then by kind
 *		RUN	n, len, stride
 *		BLOCKS	n, n times (off, len)
 *		LOOP	n, stride, node
 *		LIST	n, n times node
 *
 * What comes out of lmpi_rma_layout_decode() may be packed and unpacked like any datatype; it
 * has no handle.  The bytes are somebody else's: whatever they are, a layout comes out
 * that lies within lo .. hi, or none. */
#ifndef LMPI_LAYOUT_WIRE_H
#define LMPI_LAYOUT_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "type.h"

#define RMA_LAYOUT_DEPTH 512

/* Words it takes; -1: deeper than RMA_LAYOUT_DEPTH. */
int64_t lmpi_rma_layout_words(const struct lmpi_type *type);
void lmpi_rma_layout_encode(const struct lmpi_type *type, uint64_t *words);
/* false: nonsense, or out of memory.  Otherwise type is to be given to
 * lmpi_rma_layout_release(); a row of count elements has `bytes` packed bytes, in user memory
 * from true_lb to true_ub around its address. */
bool lmpi_rma_layout_decode(struct lmpi_type *type, const uint64_t *words, uint64_t n,
			    int64_t count, int64_t *bytes, int64_t *lo, int64_t *hi);
void lmpi_rma_layout_release(struct lmpi_type *type);

#endif
