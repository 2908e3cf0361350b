/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "layout.h"
#include "layout_wire.h"

/* ---- writing */

static int64_t
words_of(const struct lmpi_node *node, int depth)
{
	int64_t sum = 3;

	if (depth == RMA_LAYOUT_DEPTH)
		return -1;
	switch (node->kind) {
	case LMPI_RUN:
		return 5;
	case LMPI_BLOCKS:
		return 3 + 2 * node->n;
	case LMPI_LOOP:
		sum = words_of(node->child, depth + 1);
		return sum < 0 ? sum : 4 + sum;
	case LMPI_LIST:
		break;
	}
	for (int64_t i = 0; i < node->n; i++) {
		int64_t w = words_of(node->items[i].node, depth + 1);

		if (w < 0)
			return w;
		sum += w;
	}
	return sum;
}

int64_t
lmpi_rma_layout_words(const struct lmpi_type *type)
{
	int64_t w = words_of(type->layout, 0);

	return w < 0 ? w : 1 + w;
}

static uint64_t *
put_node(uint64_t *w, const struct lmpi_node *node)
{
	*w++ = (uint64_t)node->kind;
	*w++ = (uint64_t)node->off;
	*w++ = (uint64_t)node->n;
	switch (node->kind) {
	case LMPI_RUN:
		*w++ = (uint64_t)node->len;
		*w++ = (uint64_t)node->stride;
		break;
	case LMPI_BLOCKS:
		for (int64_t i = 0; i < node->n; i++) {
			*w++ = (uint64_t)node->blocks[i].off;
			*w++ = (uint64_t)node->blocks[i].len;
		}
		break;
	case LMPI_LOOP:
		*w++ = (uint64_t)node->stride;
		w = put_node(w, node->child);
		break;
	case LMPI_LIST:
		for (int64_t i = 0; i < node->n; i++)
			w = put_node(w, node->items[i].node);
		break;
	}
	return w;
}

void
lmpi_rma_layout_encode(const struct lmpi_type *type, uint64_t *words)
{
	*words = (uint64_t)lmpi_type_extent(type);
	(void)put_node(words + 1, type->layout);
}

/* ---- reading */

struct reader {
	struct lmpi_type *type;
	const uint64_t *at, *end;
};
struct bounds {
	int64_t lo, hi;
};

static bool
take_layout(struct reader *r, int64_t *v)
{
	if (r->at == r->end)
		return false;
	*v = (int64_t)*r->at++;
	return true;
}

/* b moved by off. */
static bool
shift(struct bounds *b, int64_t off)
{
	return !__builtin_add_overflow(b->lo, off, &b->lo) &&
	       !__builtin_add_overflow(b->hi, off, &b->hi);
}

static void
include(struct bounds *b, struct bounds more)
{
	b->lo = more.lo < b->lo ? more.lo : b->lo;
	b->hi = more.hi > b->hi ? more.hi : b->hi;
}

/* b and n - 1 more of it, one every stride bytes. */
static bool
spread_layout(struct bounds *b, int64_t n, int64_t stride)
{
	struct bounds last = *b;
	int64_t off;

	if (__builtin_mul_overflow(n - 1, stride, &off) || !shift(&last, off))
		return false;
	include(b, last);
	return true;
}

static bool get_node(struct reader *r, struct lmpi_node *node, struct bounds *b, int depth);

static bool
get_run(struct reader *r, struct lmpi_node *node, struct bounds *b)
{
	if (!take_layout(r, &node->len) || !take_layout(r, &node->stride) || node->len <= 0 ||
	    __builtin_mul_overflow(node->n, node->len, &node->size))
		return false;
	int64_t whole; /* the datatype engine compares it with strides around */

	*b = (struct bounds){0, node->len};
	return !__builtin_mul_overflow(node->n, node->stride, &whole) &&
	       spread_layout(b, node->n, node->stride);
}

static bool
get_blocks(struct reader *r, struct lmpi_node *node, struct bounds *b)
{
	struct lmpi_block *blocks;

	if (node->n > (r->end - r->at) / 2)
		return false;
	blocks = lmpi_type_alloc(r->type, node->n, sizeof(*blocks));
	if (blocks == NULL)
		return false;
	node->blocks = blocks;
	for (int64_t i = 0; i < node->n; i++) {
		struct lmpi_block *k = &blocks[i];
		struct bounds own;

		if (!take_layout(r, &k->off) || !take_layout(r, &k->len) || k->len <= 0)
			return false;
		k->before = node->size;
		own = (struct bounds){0, k->len};
		if (!shift(&own, k->off) || __builtin_add_overflow(node->size, k->len, &node->size))
			return false;
		if (i == 0)
			*b = own;
		else
			include(b, own);
	}
	return true;
}

static bool
get_loop(struct reader *r, struct lmpi_node *node, struct bounds *b, int depth)
{
	struct lmpi_node *child = lmpi_type_alloc(r->type, 1, sizeof(*child));

	if (child == NULL || !take_layout(r, &node->stride) || !get_node(r, child, b, depth + 1))
		return false;
	node->child = child;
	return !__builtin_mul_overflow(node->n, child->size, &node->size) &&
	       spread_layout(b, node->n, node->stride);
}

static bool
get_list(struct reader *r, struct lmpi_node *node, struct bounds *b, int depth)
{
	struct lmpi_node *children;
	struct lmpi_item *items;

	if (node->n > (r->end - r->at) / 4)
		return false;
	items = lmpi_type_alloc(r->type, node->n, sizeof(*items));
	children = lmpi_type_alloc(r->type, node->n, sizeof(*children));
	if (items == NULL || children == NULL)
		return false;
	node->items = items;
	for (int64_t i = 0; i < node->n; i++) {
		struct bounds own;

		if (!get_node(r, &children[i], &own, depth + 1))
			return false;
		items[i] = (struct lmpi_item){node->size, &children[i]};
		if (__builtin_add_overflow(node->size, children[i].size, &node->size))
			return false;
		if (i == 0)
			*b = own;
		else
			include(b, own);
	}
	return true;
}

/* A node with at least one byte. */
static bool
get_node(struct reader *r, struct lmpi_node *node, struct bounds *b, int depth)
{
	int64_t kind;
	bool ok = false;

	*node = (struct lmpi_node){0};
	*b = (struct bounds){0, 0};
	if (depth >= RMA_LAYOUT_DEPTH || !take_layout(r, &kind) || !take_layout(r, &node->off) ||
	    !take_layout(r, &node->n) || node->n <= 0)
		return false;
	switch (kind) {
	case LMPI_RUN:
		ok = get_run(r, node, b);
		break;
	case LMPI_BLOCKS:
		ok = get_blocks(r, node, b);
		break;
	case LMPI_LOOP:
		ok = get_loop(r, node, b, depth);
		break;
	case LMPI_LIST:
		ok = get_list(r, node, b, depth);
		break;
	default:
		return false;
	}
	node->kind = (enum lmpi_node_kind)kind;
	return ok && shift(b, node->off);
}

bool
lmpi_rma_layout_decode(struct lmpi_type *type, const uint64_t *words, uint64_t n, int64_t count,
		       int64_t *bytes, int64_t *lo, int64_t *hi)
{
	struct reader r = {type, words, words + n};
	struct lmpi_node *root;
	struct bounds b;
	int64_t extent;

	memset(type, 0, sizeof(*type));
	root = lmpi_type_alloc(type, 1, sizeof(*root));
	if (root == NULL || count <= 0 || !take_layout(&r, &extent) || !get_node(&r, root, &b, 0) ||
	    r.at != r.end || __builtin_mul_overflow(root->size, count, bytes) ||
	    !spread_layout(&b, count, extent)) {
		lmpi_rma_layout_release(type);
		return false;
	}
	type->layout = root;
	type->size = root->size;
	type->ub = extent;
	*lo = b.lo;
	*hi = b.hi;
	return true;
}

void
lmpi_rma_layout_release(struct lmpi_type *type)
{
	lmpi_type_free_chunks(type);
}
