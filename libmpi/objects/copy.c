/* SPDX-License-Identifier: BSD-2-Clause */
/* Packing and unpacking: walks a layout over any range of the packed bytes. */
#include <string.h>

#include "layout.h"

#include "base/copy.h"

/* User memory on one side, packed bytes on the other.  User addresses are
 * integers here: with MPI_BOTTOM they begin at 0, and displacements wrap. */
struct mover {
	char *wire;
	bool unpack;
};

static inline uintptr_t
elements_at(uintptr_t user, int64_t off)
{
	return user + (uintptr_t)off;
}

static inline void
move_bytes(struct mover *m, uintptr_t user, int64_t len)
{
	if (m->unpack)
		base_copy((void *)user, m->wire, (size_t)len);
	else
		base_copy(m->wire, (const void *)user, (size_t)len);
	m->wire += len;
}

/* Blocks of a length known to the compiler: memcpy becomes a few loads and stores. */
#define FIXED_RUN(LEN)                                                                             \
	static void run_##LEN(struct mover *m, uintptr_t user, int64_t n, int64_t stride)          \
	{                                                                                          \
		char *wire = m->wire;                                                              \
                                                                                                   \
		if (m->unpack)                                                                     \
			for (int64_t i = 0; i < n; i++)                                            \
				memcpy((void *)elements_at(user, i *stride), wire + i * LEN, LEN); \
		else                                                                               \
			for (int64_t i = 0; i < n; i++)                                            \
				memcpy(wire + i * LEN, (void *)elements_at(user, i * stride),      \
				       LEN);                                                       \
		m->wire = wire + n * LEN;                                                          \
	}
FIXED_RUN(1)
FIXED_RUN(2)
FIXED_RUN(4)
FIXED_RUN(8)
FIXED_RUN(12)
FIXED_RUN(16)
FIXED_RUN(24)
FIXED_RUN(32)
FIXED_RUN(48)
FIXED_RUN(64)
FIXED_RUN(128)

static void
move_run(struct mover *m, uintptr_t user, int64_t n, int64_t len, int64_t stride)
{
	switch (len) {
	case 1:
		run_1(m, user, n, stride);
		return;
	case 2:
		run_2(m, user, n, stride);
		return;
	case 4:
		run_4(m, user, n, stride);
		return;
	case 8:
		run_8(m, user, n, stride);
		return;
	case 12:
		run_12(m, user, n, stride);
		return;
	case 16:
		run_16(m, user, n, stride);
		return;
	case 24:
		run_24(m, user, n, stride);
		return;
	case 32:
		run_32(m, user, n, stride);
		return;
	case 48:
		run_48(m, user, n, stride);
		return;
	case 64:
		run_64(m, user, n, stride);
		return;
	case 128:
		run_128(m, user, n, stride);
		return;
	default:
		for (int64_t i = 0; i < n; i++)
			move_bytes(m, elements_at(user, i * stride), len);
	}
}

static void
move_all(struct mover *m, const struct lmpi_node *node, uintptr_t user)
{
	user = elements_at(user, node->off);
	switch (node->kind) {
	case LMPI_RUN:
		move_run(m, user, node->n, node->len, node->stride);
		break;
	case LMPI_BLOCKS:
		for (int64_t i = 0; i < node->n; i++)
			move_bytes(m, elements_at(user, node->blocks[i].off), node->blocks[i].len);
		break;
	case LMPI_LOOP:
		for (int64_t i = 0; i < node->n; i++)
			move_all(m, node->child, elements_at(user, i * node->stride));
		break;
	case LMPI_LIST:
		for (int64_t i = 0; i < node->n; i++)
			move_all(m, node->items[i].node, user);
		break;
	}
}

static void move_range(struct mover *m, const struct lmpi_node *node, uintptr_t user, int64_t skip,
		       int64_t len);

/* The part of the range that falls on one piece of `size` packed bytes; true
 * while bytes remain after it. */
static int64_t
part_of(int64_t size, int64_t skip, int64_t len)
{
	return len < size - skip ? len : size - skip;
}

static void
range_run(struct mover *m, const struct lmpi_node *node, uintptr_t user, int64_t skip, int64_t len)
{
	int64_t i = skip / node->len, inside = skip % node->len, whole;

	if (inside != 0) {
		int64_t part = part_of(node->len, inside, len);

		move_bytes(m, elements_at(user, i * node->stride + inside), part);
		len -= part;
		i++;
	}
	whole = len / node->len;
	move_run(m, elements_at(user, i * node->stride), whole, node->len, node->stride);
	len -= whole * node->len;
	if (len != 0)
		move_bytes(m, elements_at(user, (i + whole) * node->stride), len);
}

static void
range_loop(struct mover *m, const struct lmpi_node *node, uintptr_t user, int64_t skip, int64_t len)
{
	int64_t size = node->child->size;

	for (int64_t i = skip / size; len != 0; i++) {
		int64_t from = skip % size, part = part_of(size, from, len);

		if (part == size)
			move_all(m, node->child, elements_at(user, i * node->stride));
		else
			move_range(m, node->child, elements_at(user, i * node->stride), from, part);
		len -= part;
		skip = 0;
	}
}

static void
range_blocks(struct mover *m, const struct lmpi_node *node, uintptr_t user, int64_t skip,
	     int64_t len)
{
	const struct lmpi_block *b = node->blocks;
	int64_t lo = 0, hi = node->n - 1;

	while (lo < hi) { /* the last block that begins at or before skip */
		int64_t mid = (lo + hi + 1) / 2;

		if (b[mid].before <= skip)
			lo = mid;
		else
			hi = mid - 1;
	}
	for (int64_t from = skip - b[lo].before; len != 0; lo++, from = 0) {
		int64_t part = part_of(b[lo].len, from, len);

		move_bytes(m, elements_at(user, b[lo].off + from), part);
		len -= part;
	}
}

static void
range_list(struct mover *m, const struct lmpi_node *node, uintptr_t user, int64_t skip, int64_t len)
{
	const struct lmpi_item *item = node->items;
	int64_t lo = 0, hi = node->n - 1;

	while (lo < hi) {
		int64_t mid = (lo + hi + 1) / 2;

		if (item[mid].before <= skip)
			lo = mid;
		else
			hi = mid - 1;
	}
	for (int64_t from = skip - item[lo].before; len != 0; lo++, from = 0) {
		int64_t part = part_of(item[lo].node->size, from, len);

		move_range(m, item[lo].node, user, from, part);
		len -= part;
	}
}

static void
move_range(struct mover *m, const struct lmpi_node *node, uintptr_t user, int64_t skip, int64_t len)
{
	if (len <= 0)
		return;
	if (skip == 0 && len == node->size) {
		move_all(m, node, user);
		return;
	}
	user = elements_at(user, node->off);
	switch (node->kind) {
	case LMPI_RUN:
		range_run(m, node, user, skip, len);
		break;
	case LMPI_BLOCKS:
		range_blocks(m, node, user, skip, len);
		break;
	case LMPI_LOOP:
		range_loop(m, node, user, skip, len);
		break;
	case LMPI_LIST:
		range_list(m, node, user, skip, len);
		break;
	}
}

void
lmpi_type_pack(const struct lmpi_type *t, const void *buf, int64_t count, void *out, int64_t skip,
	       int64_t len)
{
	struct lmpi_node rows = lmpi_layout_loop_value(t->layout, count, t->ub - t->lb);
	struct mover m = {out, false};

	move_range(&m, &rows, (uintptr_t)buf, skip, len);
}

void
lmpi_type_unpack(const struct lmpi_type *t, void *buf, int64_t count, const void *in, int64_t skip,
		 int64_t len)
{
	struct lmpi_node rows = lmpi_layout_loop_value(t->layout, count, t->ub - t->lb);
	struct mover m = {(char *)(uintptr_t)in, true};

	move_range(&m, &rows, (uintptr_t)buf, skip, len);
}
