/* SPDX-License-Identifier: BSD-2-Clause */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

/* A run of up to this many blocks is spelled out when it is part of a list. */
#define SPELL_OUT_BLOCKS 16

struct lmpi_chunk {
	struct lmpi_chunk *next;
	_Alignas(16) char data[];
};

void *
lmpi_type_alloc(struct lmpi_type *t, int64_t n, size_t size)
{
	struct lmpi_chunk *c;
	size_t bytes;

	if (n < 0 || __builtin_mul_overflow((size_t)n, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	c = malloc(sizeof(*c) + bytes);
	if (c == NULL)
		return NULL;
	memset(c->data, 0, bytes);
	c->next = t->chunks;
	t->chunks = c;
	return c->data;
}

void
lmpi_type_free_chunks(struct lmpi_type *t)
{
	while (t->chunks != NULL) {
		struct lmpi_chunk *c = t->chunks;

		t->chunks = c->next;
		free(c);
	}
}

static const struct lmpi_node *
keep_layout(struct lmpi_type *t, struct lmpi_node value)
{
	struct lmpi_node *node = lmpi_type_alloc(t, 1, sizeof(*node));

	if (node != NULL)
		*node = value;
	return node;
}

struct lmpi_node
lmpi_layout_loop_value(const struct lmpi_node *child, int64_t n, int64_t stride)
{
	struct lmpi_node v = *child;

	if (n == 0 || child->size == 0)
		return (struct lmpi_node){.kind = LMPI_RUN};
	if (n == 1)
		return v;
	v.size = child->size * n;
	if (child->kind == LMPI_RUN && child->n == 1) {
		if (child->len == stride) {
			v.len = stride * n;
			return v;
		}
		v.n = n;
		v.stride = stride;
		return v;
	}
	if (child->kind == LMPI_RUN && child->n * child->stride == stride) {
		v.n = child->n * n;
		return v;
	}
	return (struct lmpi_node){
		.kind = LMPI_LOOP, .size = v.size, .n = n, .stride = stride, .child = child};
}

const struct lmpi_node *
lmpi_layout_loop(struct lmpi_type *t, const struct lmpi_node *child, int64_t n, int64_t stride)
{
	if (n == 1)
		return child;
	return keep_layout(t, lmpi_layout_loop_value(child, n, stride));
}

const struct lmpi_node *
lmpi_layout_shift(struct lmpi_type *t, const struct lmpi_node *child, int64_t off)
{
	struct lmpi_node v = *child;

	if (off == 0)
		return child;
	v.off += off;
	return keep_layout(t, v);
}

/* Blocks a node becomes when it is spelled out, -1: better not. */
static int64_t
spelled(const struct lmpi_node *node)
{
	if (node->kind == LMPI_BLOCKS)
		return node->n;
	if (node->kind == LMPI_RUN && node->n <= SPELL_OUT_BLOCKS)
		return node->n;
	return -1;
}

/* Append a block, merging it with the last one if it follows on. */
static int64_t
put_block(struct lmpi_block *blocks, int64_t n, int64_t off, int64_t len)
{
	if (len == 0)
		return n;
	if (n > 0 && blocks[n - 1].off + blocks[n - 1].len == off) {
		blocks[n - 1].len += len;
		return n;
	}
	blocks[n] = (struct lmpi_block){.off = off, .len = len};
	return n + 1;
}

static int64_t
spell_out(struct lmpi_block *blocks, const struct lmpi_node **nodes, int64_t n)
{
	int64_t out = 0;

	for (int64_t i = 0; i < n; i++) {
		const struct lmpi_node *a = nodes[i];

		for (int64_t k = 0; k < a->n; k++) {
			if (a->kind == LMPI_RUN)
				out = put_block(blocks, out, a->off + k * a->stride, a->len);
			else
				out = put_block(blocks, out, a->off + a->blocks[k].off,
						a->blocks[k].len);
		}
	}
	return out;
}

/* A list of blocks is often regular after all. */
static const struct lmpi_node *
from_blocks(struct lmpi_type *t, struct lmpi_block *b, int64_t n)
{
	int64_t size = 0, stride = n > 1 ? b[1].off - b[0].off : 0;
	bool regular = true;

	for (int64_t i = 0; i < n; i++) {
		b[i].before = size;
		size += b[i].len;
		regular &= b[i].len == b[0].len && b[i].off == b[0].off + i * stride;
	}
	if (n == 0)
		return keep_layout(t, (struct lmpi_node){.kind = LMPI_RUN});
	if (regular)
		return keep_layout(t, (struct lmpi_node){.kind = LMPI_RUN,
							 .off = b[0].off,
							 .size = size,
							 .n = n,
							 .len = b[0].len,
							 .stride = stride});
	return keep_layout(
		t, (struct lmpi_node){.kind = LMPI_BLOCKS, .size = size, .n = n, .blocks = b});
}

const struct lmpi_node *
lmpi_layout_list(struct lmpi_type *t, const struct lmpi_node **nodes, int64_t n)
{
	struct lmpi_item *items;
	int64_t used = 0, blocks = 0, size = 0;

	for (int64_t i = 0; i < n; i++)
		if (nodes[i]->size != 0)
			nodes[used++] = nodes[i];
	if (used == 1)
		return nodes[0];
	for (int64_t i = 0; i < used && blocks >= 0; i++) {
		int64_t s = spelled(nodes[i]);

		blocks = s < 0 ? -1 : blocks + s;
	}
	if (blocks >= 0) {
		struct lmpi_block *b = lmpi_type_alloc(t, blocks, sizeof(*b));

		return b == NULL ? NULL : from_blocks(t, b, spell_out(b, nodes, used));
	}
	items = lmpi_type_alloc(t, used, sizeof(*items));
	if (items == NULL)
		return NULL;
	for (int64_t i = 0; i < used; i++) {
		items[i] = (struct lmpi_item){size, nodes[i]};
		size += nodes[i]->size;
	}
	return keep_layout(
		t, (struct lmpi_node){.kind = LMPI_LIST, .size = size, .n = used, .items = items});
}
