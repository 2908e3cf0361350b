/* SPDX-License-Identifier: BSD-2-Clause */
/* Type constructors: bounds, signature and layout of a new type from its
 * components.  Bounds follow MPI 5.0, 5.1 (type maps with lb and ub markers). */
#include <stdlib.h>
#include <string.h>

#include "external32.h"
#include "layout.h"

struct lmpi_pool lmpi_type_pool = {.what = "datatype",
				   .magic = 0x54595045,
				   .size = sizeof(struct lmpi_type),
				   .offset = offsetof(struct lmpi_type, obj)};

void
lmpi_type_ref(struct lmpi_type *t)
{
	if (t->basic == LMPI_BASIC_NONE)
		t->obj.refs++;
}

void
lmpi_type_unref(struct lmpi_type *t)
{
	if (t->basic != LMPI_BASIC_NONE || --t->obj.refs > 0)
		return;
	for (int64_t i = 0; i < t->contents.ntypes; i++)
		lmpi_type_unref(t->contents.types[i]);
	lmpi_type_free_chunks(t);
	lmpi_object_delete(&lmpi_type_pool, t);
}

/* What has been placed so far. */
struct bounds {
	bool any_data;
	unsigned any, sticky; /* of LMPI_MARK_*: ends placed, and placed by markers */
	int64_t lb, ub, true_lb, true_ub;
	int align;
};

static int64_t
construct_min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Markers of an end count alone; without any, the data does. */
static void
place_end(struct bounds *b, const struct lmpi_type *c, enum lmpi_mark end, int64_t disp)
{
	bool marked = c->sticky & end;
	bool lower = end == LMPI_MARK_LB;
	int64_t *bound = lower ? &b->lb : &b->ub, at = disp + (lower ? c->lb : c->ub);

	if (!marked && (c->size == 0 || b->sticky & end))
		return;
	if (!(b->any & end) || (marked && !(b->sticky & end)))
		*bound = at; /* the first that counts */
	else
		*bound = lower ? construct_min64(*bound, at) : max64(*bound, at);
	b->any |= end;
	if (marked)
		b->sticky |= end;
}

/* One instance of c at displacement disp. */
static void
place_construct(struct bounds *b, const struct lmpi_type *c, int64_t disp)
{
	if (c->size != 0) {
		int64_t lo = disp + c->true_lb, hi = disp + c->true_ub;

		b->true_lb = b->any_data ? construct_min64(b->true_lb, lo) : lo;
		b->true_ub = b->any_data ? max64(b->true_ub, hi) : hi;
		b->any_data = true;
	}
	if (c->align > b->align)
		b->align = c->align;
	place_end(b, c, LMPI_MARK_LB, disp);
	place_end(b, c, LMPI_MARK_UB, disp);
}

/* n instances, the first at disp, one every stride bytes. */
static void
place_row(struct bounds *b, const struct lmpi_type *c, int64_t disp, int64_t n, int64_t stride)
{
	if (n <= 0)
		return;
	place_construct(b, c, disp);
	if (n > 1)
		place_construct(b, c, disp + (n - 1) * stride);
}

static void
set_bounds(struct lmpi_type *t, const struct bounds *b)
{
	t->lb = b->lb;
	t->ub = b->ub;
	t->true_lb = b->true_lb;
	t->true_ub = b->true_ub;
	t->sticky = (uint8_t)b->sticky;
	t->align = b->align > 0 ? b->align : 1;
	if (!(t->sticky & LMPI_MARK_UB)) { /* the epsilon of the standard */
		int64_t over = (t->ub - t->lb) % t->align;

		if (over != 0)
			t->ub += t->align - over;
	}
}

static struct lmpi_type *
new_type(int64_t sigs)
{
	struct lmpi_type *t = lmpi_object_new(&lmpi_type_pool);

	if (t == NULL)
		return NULL;
	t->handle = (MPI_Datatype)t;
	t->sig = lmpi_type_alloc(t, sigs, sizeof(*t->sig));
	if (t->sig == NULL) {
		lmpi_type_unref(t);
		return NULL;
	}
	for (int r = 0; r < LMPI_REPS; r++)
		t->rep[r].swap = 1; /* of nothing */
	return t;
}

/* Append n times c to the signature, and count. */
static void
sign(struct lmpi_type *t, int64_t n, struct lmpi_type *c)
{
	if (n == 0 || c->elements == 0)
		return;
	if (t->sigs > 0 && t->sig[t->sigs - 1].child == c)
		t->sig[t->sigs - 1].n += n;
	else
		t->sig[t->sigs++] = (struct lmpi_sig){n, c};
	lmpi_external32_append(t, n, c);
	t->elements += n * c->elements;
	t->size += n * c->size;
}

static struct lmpi_type *
finish_construct(struct lmpi_type *t, const struct bounds *b, const struct lmpi_node *layout)
{
	if (layout == NULL) {
		lmpi_type_unref(t);
		return NULL;
	}
	set_bounds(t, b);
	t->layout = layout;
	return t;
}

struct lmpi_type *
lmpi_type_contiguous(int64_t count, struct lmpi_type *old)
{
	return lmpi_type_hvector(count, 1, lmpi_type_extent(old), old);
}

struct lmpi_type *
lmpi_type_hvector(int64_t count, int64_t blocklen, int64_t stride, struct lmpi_type *old)
{
	struct lmpi_type *t = new_type(1);
	const struct lmpi_node *block;
	struct bounds b = {0};
	int64_t extent = lmpi_type_extent(old);

	if (t == NULL)
		return NULL;
	if (count > 0) {
		place_row(&b, old, 0, blocklen, extent);
		place_row(&b, old, (count - 1) * stride, blocklen, extent);
	}
	sign(t, count * blocklen, old);
	block = lmpi_layout_loop(t, old->layout, blocklen, extent);
	return finish_construct(t, &b, block ? lmpi_layout_loop(t, block, count, stride) : NULL);
}

/* A block of n elements of c at disp, as a layout node. */
static const struct lmpi_node *
block_node(struct lmpi_type *t, const struct lmpi_type *c, int64_t n, int64_t disp)
{
	const struct lmpi_node *row = lmpi_layout_loop(t, c->layout, n, lmpi_type_extent(c));

	return row ? lmpi_layout_shift(t, row, disp) : NULL;
}

/* Blocks of blocklens[i] elements, or each of same, at displs[i] units: types[i], or all of old. */
static struct lmpi_type *
type_of_blocks(struct lmpi_type *t, int64_t count, struct lmpi_ints blocklens, int64_t same,
	       struct lmpi_ints displs, int64_t unit, struct lmpi_type *old,
	       struct lmpi_type *const *types)
{
	const struct lmpi_node **nodes;
	struct bounds b = {0};

	if (t == NULL)
		return NULL;
	nodes = calloc((size_t)count + 1, sizeof(*nodes));
	for (int64_t i = 0; nodes != NULL && i < count; i++) {
		struct lmpi_type *e = types ? types[i] : old;
		int64_t len = blocklens.at ? ints_at(blocklens, i) : same;
		int64_t disp = ints_at(displs, i) * unit;

		place_row(&b, e, disp, len, lmpi_type_extent(e));
		sign(t, len, e);
		nodes[i] = block_node(t, e, len, disp);
		if (nodes[i] == NULL) {
			free(nodes);
			nodes = NULL;
		}
	}
	if (nodes == NULL) {
		lmpi_type_unref(t);
		return NULL;
	}
	t = finish_construct(t, &b, lmpi_layout_list(t, nodes, count));
	free(nodes);
	return t;
}

struct lmpi_type *
lmpi_type_hindexed(int64_t count, struct lmpi_ints blocklens, int64_t same, struct lmpi_ints displs,
		   int64_t unit, struct lmpi_type *old)
{
	return type_of_blocks(new_type(1), count, blocklens, same, displs, unit, old, NULL);
}

struct lmpi_type *
lmpi_type_struct(int64_t count, struct lmpi_ints blocklens, struct lmpi_ints displs,
		 struct lmpi_type *const *types)
{
	return type_of_blocks(new_type(count > 0 ? count : 1), count, blocklens, 0, displs, 1, NULL,
			      types);
}

struct lmpi_type *
lmpi_type_resized(struct lmpi_type *old, int64_t lb, int64_t extent)
{
	struct lmpi_type *t = new_type(1);
	struct bounds b = {0};

	if (t == NULL)
		return NULL;
	place_construct(&b, old, 0);
	sign(t, 1, old);
	b.lb = lb;
	b.ub = lb + extent;
	b.sticky = LMPI_MARK_LB | LMPI_MARK_UB;
	return finish_construct(t, &b, old->layout);
}

struct lmpi_type *
lmpi_type_subarray(int ndims, struct lmpi_ints sizes, struct lmpi_ints subsizes,
		   struct lmpi_ints starts, bool fortran, struct lmpi_type *old)
{
	struct lmpi_type *t = new_type(1);
	const struct lmpi_node *node = old->layout;
	struct bounds b = {0};
	int64_t stride = lmpi_type_extent(old), first = 0, n = 1;

	if (t == NULL)
		return NULL;
	for (int k = 0; k < ndims && node != NULL; k++) { /* fastest dimension first */
		int d = fortran ? k : ndims - 1 - k;

		first += ints_at(starts, d) * stride;
		n *= ints_at(subsizes, d);
		node = lmpi_layout_loop(t, node, ints_at(subsizes, d), stride);
		stride *= ints_at(sizes, d);
	}
	if (node != NULL)
		node = lmpi_layout_shift(t, node, first);
	if (n > 0) {
		int64_t last = first, unit = lmpi_type_extent(old);

		for (int k = 0; k < ndims; k++) {
			int d = fortran ? k : ndims - 1 - k;

			last += (ints_at(subsizes, d) - 1) * unit;
			unit *= ints_at(sizes, d);
		}
		place_construct(&b, old, first);
		place_construct(&b, old, last);
	}
	sign(t, n, old);
	b.lb = 0;
	b.ub = stride;
	b.sticky = LMPI_MARK_LB | LMPI_MARK_UB;
	return finish_construct(t, &b, node);
}

/* What one process has of one dimension of a distributed array (MPI 5.0, 5.1.4):
 * `full` blocks of len, one every `every`, from first on, and perhaps a shorter one. */
struct cut {
	int64_t first, len, every, full, rest;
};

static struct cut
cut_construct(const struct lmpi_darray_dim *d)
{
	struct cut c = {.len = d->gsize};
	int64_t size = d->gsize;

	if (d->distribution == MPI_DISTRIBUTE_BLOCK)
		c.len = d->arg ? d->arg : (size + d->procs - 1) / d->procs;
	else if (d->distribution == MPI_DISTRIBUTE_CYCLIC)
		c.len = d->arg ? d->arg : 1;
	c.first = d->coord * c.len;
	c.every = c.len * d->procs;
	if (c.first < size) {
		c.full = (size - c.first) / c.every;
		c.rest = size - c.first - c.full * c.every;
		if (c.rest >= c.len) {
			c.full++;
			c.rest = 0;
		}
	}
	return c;
}

static const struct lmpi_node *
cut_layout(struct lmpi_type *t, const struct cut *c, const struct lmpi_node *inner, int64_t stride)
{
	const struct lmpi_node *part[2];
	int n = 0;

	if (c->full > 0) {
		part[n] = lmpi_layout_loop(t, inner, c->len, stride);
		if (part[n] != NULL)
			part[n] = lmpi_layout_loop(t, part[n], c->full, c->every * stride);
		if (part[n++] == NULL)
			return NULL;
	}
	if (c->rest > 0) {
		part[n] = lmpi_layout_loop(t, inner, c->rest, stride);
		if (part[n] != NULL)
			part[n] = lmpi_layout_shift(t, part[n], c->full * c->every * stride);
		if (part[n++] == NULL)
			return NULL;
	}
	inner = lmpi_layout_list(t, part, n);
	return inner ? lmpi_layout_shift(t, inner, c->first * stride) : NULL;
}

struct lmpi_type *
lmpi_type_darray(int ndims, const struct lmpi_darray_dim *dim, bool fortran, struct lmpi_type *old)
{
	struct lmpi_type *t = new_type(1);
	const struct lmpi_node *node = old->layout;
	struct bounds b = {0};
	int64_t stride = lmpi_type_extent(old), first = 0, last = 0, n = 1;

	if (t == NULL)
		return NULL;
	for (int k = 0; k < ndims && node != NULL; k++) { /* fastest dimension first */
		const struct lmpi_darray_dim *d = &dim[fortran ? k : ndims - 1 - k];
		struct cut c = cut_construct(d);

		node = cut_layout(t, &c, node, stride);
		n *= c.full * c.len + c.rest;
		first += c.first * stride;
		last += (c.first + c.full * c.every + (c.rest ? c.rest - 1 : c.len - 1 - c.every)) *
			stride;
		stride *= d->gsize;
	}
	if (n > 0) {
		place_construct(&b, old, first);
		place_construct(&b, old, last);
	}
	sign(t, n, old);
	b.lb = 0;
	b.ub = stride;
	b.sticky = LMPI_MARK_LB | LMPI_MARK_UB;
	return finish_construct(t, &b, node);
}

bool
lmpi_type_set_contents(struct lmpi_type *t, int combiner, int64_t nints, int64_t naddrs,
		       int64_t ncounts, int64_t ntypes, struct lmpi_type *const *types)
{
	struct lmpi_contents *c = &t->contents;

	c->combiner = combiner;
	c->ints = lmpi_type_alloc(t, nints, sizeof(*c->ints));
	c->addrs = lmpi_type_alloc(t, naddrs, sizeof(*c->addrs));
	c->counts = lmpi_type_alloc(t, ncounts, sizeof(*c->counts));
	c->types = lmpi_type_alloc(t, ntypes, sizeof(struct lmpi_type *));
	if (!c->ints || !c->addrs || !c->counts || !c->types)
		return false;
	c->nints = nints;
	c->naddrs = naddrs;
	c->ncounts = ncounts;
	c->ntypes = ntypes;
	for (int64_t i = 0; i < ntypes; i++) {
		c->types[i] = types[i];
		lmpi_type_ref(types[i]);
	}
	return true;
}
