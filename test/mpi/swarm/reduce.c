/* SPDX-License-Identifier: BSD-2-Clause */
/* Collective operations that compute: exact ones, so that no order of theirs matters, and one that
 * does not commute. */
#include "coll.h"

#include <stdlib.h>
#include <string.h>

/* 2 x 2 matrices of 32 bit, and a hole behind: a type of the program's own. */
struct matrix {
	uint32_t a[4];
	uint32_t hole[2];
};

struct pair {
	int value, where;
};

enum value { INT, DOUBLE, SHORT, PAIR, MATRIX };

struct kind {
	MPI_Op op;
	enum value value;
	const char *name;
};

union element {
	int i;
	double d;
	short s;
	struct pair p;
	struct matrix m;
};

static MPI_Op product;

static void
multiply(void *in, void *inout, int *len, MPI_Datatype *type)
{
	struct matrix *left = in, *right = inout;

	(void)type;
	for (int i = 0; i < *len; i++) {
		const uint32_t *x = left[i].a,
			       y[4] = {right[i].a[0], right[i].a[1], right[i].a[2], right[i].a[3]};
		right[i].a[0] = x[0] * y[0] + x[1] * y[2];
		right[i].a[1] = x[0] * y[1] + x[1] * y[3];
		right[i].a[2] = x[2] * y[0] + x[3] * y[2];
		right[i].a[3] = x[2] * y[1] + x[3] * y[3];
	}
}

static struct kind
draw_kind(struct coll *o, MPI_Datatype *type)
{
	static const struct kind kinds[] = {
		{MPI_SUM, INT, "sum"},	      {MPI_BXOR, INT, "xor"},
		{MPI_MAX, INT, "max"},	      {MPI_SUM, DOUBLE, "sum"},
		{MPI_MIN, DOUBLE, "min"},     {MPI_SUM, SHORT, "sum"},
		{MPI_MAXLOC, PAIR, "maxloc"}, {MPI_OP_NULL, MATRIX, "product"}};
	struct kind k = kinds[sw_draw(sizeof kinds / sizeof *kinds)];

	if (product == MPI_OP_NULL || product == (MPI_Op)0)
		MPI_Op_create(multiply, 0, &product);
	if (k.value == MATRIX) {
		MPI_Datatype four;
		k.op = product;
		MPI_Type_contiguous(4, MPI_UINT32_T, &four);
		MPI_Type_create_resized(four, 0, sizeof(struct matrix), &o->own_type);
		MPI_Type_free(&four);
		MPI_Type_commit(&o->own_type);
	}
	*type = k.value == INT	    ? MPI_INT
		: k.value == DOUBLE ? MPI_DOUBLE
		: k.value == SHORT  ? MPI_SHORT
		: k.value == PAIR   ? MPI_2INT
				    : o->own_type;
	return k;
}

static size_t
width_of(enum value v)
{
	return v == INT	     ? sizeof(int)
	       : v == DOUBLE ? sizeof(double)
	       : v == SHORT  ? sizeof(short)
	       : v == PAIR   ? sizeof(struct pair)
			     : sizeof(struct matrix);
}

/* Element e of rank r's. */
static union element
element(enum value v, uint64_t key, int r, uint64_t e)
{
	uint32_t x[4];
	union element y;

	memset(&y, 0, sizeof y);
	sw_stream((unsigned char *)x, 16, 1, key + ((uint64_t)r << 20), e);
	if (v == INT)
		y.i = (int)(x[0] >> 8);
	else if (v == DOUBLE)
		y.d = (double)(x[0] >> 12);
	else if (v == SHORT)
		y.s = (short)(x[0] % 500);
	else if (v == PAIR)
		y.p = (struct pair){(int)(x[0] % 5), r};
	else
		memcpy(y.m.a, x, sizeof y.m.a);
	return y;
}

/* acc op= x, x from the right. */
static void
combine(const struct kind *k, union element *acc, const union element *x)
{
	union element y = *x;
	int one = 1;

	if (k->value == MATRIX) {
		multiply(acc, &y, &one, NULL);
		*acc = y;
	} else if (k->value == PAIR) {
		if (x->p.value > acc->p.value)
			*acc = y;
	} else if (k->value == DOUBLE) {
		acc->d = k->op == MPI_SUM ? acc->d + y.d : SW_MIN(acc->d, y.d);
	} else if (k->value == SHORT) {
		acc->s = (short)(acc->s + y.s);
	} else if (k->op == MPI_SUM) {
		acc->i = (int)((unsigned)acc->i + (unsigned)y.i);
	} else if (k->op == MPI_BXOR) {
		acc->i ^= y.i;
	} else {
		acc->i = SW_MAX(acc->i, y.i);
	}
}

/* Buffers are plain ones of bytes; a matrix's hole is never written. */
static ptrdiff_t nowhere[1];
static const struct sw_layout byte = {.width = 1, .n = 1, .at = nowhere, .extent = 1};

static void
plain_buf(struct sw_buf *b, size_t bytes)
{
	sw_buf_new(b, &byte, (uint32_t)bytes);
}

static void
put(const struct sw_buf *b, bool fill, enum value v, uint64_t i, const union element *y)
{
	size_t w = width_of(v), len = v == MATRIX ? sizeof y->m.a : w;
	unsigned char *at = b->base + i * w;

	if (fill)
		memcpy(at, y, len);
	memcpy(b->want + (at - b->mem), y, len);
}

static void
fill_own(struct sw_buf *b, const struct kind *k, uint64_t key, int r, uint64_t n)
{
	for (uint64_t e = 0; e < n; e++) {
		union element y = element(k->value, key, r, e);
		put(b, true, k->value, e, &y);
	}
}

/* Elements [from, from + n) of what ranks first to last - 1 have. */
static void
expect_result(struct sw_buf *b, const struct kind *k, uint64_t key, int first, int last,
	      uint64_t from, uint64_t n)
{
	for (uint64_t e = 0; e < n; e++) {
		union element acc = element(k->value, key, first, from + e);
		for (int r = first + 1; r < last; r++) {
			union element y = element(k->value, key, r, from + e);
			combine(k, &acc, &y);
		}
		put(b, false, k->value, e, &acc);
	}
}

struct plan {
	struct kind k;
	MPI_Datatype type;
	uint64_t n, key[2]; /* elements; by side */
	bool in_place;
};

static void
make_buffers(struct coll *o, const struct plan *p, uint64_t nin)
{
	const struct sw_comm *c = o->c;
	size_t w = width_of(p->k.value);

	if (p->in_place) {
		plain_buf(&o->in, SW_MAX(p->n, nin) * w);
		fill_own(&o->in, &p->k, p->key[c->side], c->me, p->n);
		return;
	}
	plain_buf(&o->out, p->n * w);
	fill_own(&o->out, &p->k, p->key[c->side], c->me, p->n);
	plain_buf(&o->in, nin * w);
}

static const void *
sends(const struct coll *o, const struct plan *p)
{
	return p->in_place ? MPI_IN_PLACE : o->out.base;
}

static void
do_reduce(struct coll *o, struct plan *p)
{
	const struct sw_comm *c = o->c;
	int side = c->inter ? (int)sw_draw(2) : 0, root = (int)sw_draw((uint32_t)c->n[side]);
	int from = c->inter ? !side : 0, arg = root;
	bool is_root = c->side == side && c->me == root;

	if (!coll_takes_part(o))
		return;
	if (c->inter && c->side == side)
		arg = is_root ? MPI_ROOT : MPI_PROC_NULL;
	p->in_place = p->in_place && is_root;
	make_buffers(o, p, p->n);
	if (is_root)
		expect_result(&o->in, &p->k, p->key[from], 0, c->n[from], 0, p->n);
	coll_keep(o);
	COLL_CALL(o, Reduce, reduce, sends(o, p), o->in.base, (int)p->n, p->type, p->k.op, arg,
		  c->comm);
}

static void
do_allreduce(struct coll *o, struct plan *p)
{
	const struct sw_comm *c = o->c;
	int from = c->inter ? !c->side : 0;

	if (!coll_takes_part(o))
		return;
	make_buffers(o, p, p->n);
	expect_result(&o->in, &p->k, p->key[from], 0, c->n[from], 0, p->n);
	coll_keep(o);
	COLL_CALL(o, Allreduce, allreduce, sends(o, p), o->in.base, (int)p->n, p->type, p->k.op,
		  c->comm);
}

static void
do_scan(struct coll *o, struct plan *p, bool exclusive)
{
	const struct sw_comm *c = o->c;

	if (!coll_takes_part(o))
		return;
	make_buffers(o, p, p->n);
	if (!exclusive || c->me > 0)
		expect_result(&o->in, &p->k, p->key[0], 0, c->me + !exclusive, 0, p->n);
	coll_keep(o);
	if (exclusive)
		COLL_CALL(o, Exscan, exscan, sends(o, p), o->in.base, (int)p->n, p->type, p->k.op,
			  c->comm);
	else
		COLL_CALL(o, Scan, scan, sends(o, p), o->in.base, (int)p->n, p->type, p->k.op,
			  c->comm);
}

/* The blocks of a block form are of one length; between groups both have as much in all. */
static void
do_reduce_scatter(struct coll *o, struct plan *p, bool block)
{
	const struct sw_comm *c = o->c;
	int *counts[2], from = c->inter ? !c->side : 0;
	uint64_t at = 0, each = sw_draw(sw_one_in(2) ? 40 : 3000);

	p->n = each * (uint64_t)c->n[0] * (uint64_t)(c->inter ? c->n[1] : 1);
	for (int s = 0; s <= c->inter; s++) {
		uint64_t left = p->n;
		counts[s] = o->ints[s] = sw_alloc((size_t)c->n[s] * sizeof(int));
		for (int i = 0; i < c->n[s]; i++) {
			uint64_t m = block	       ? p->n / (uint64_t)c->n[s]
				     : i + 1 < c->n[s] ? sw_draw((uint32_t)left + 1)
						       : left;
			counts[s][i] = (int)m;
			left -= m;
		}
	}
	if (!coll_takes_part(o))
		return;
	for (int i = 0; i < c->me; i++)
		at += (uint64_t)counts[c->side][i];
	uint64_t mine = (uint64_t)counts[c->side][c->me];
	make_buffers(o, p, mine);
	/* In place, what is behind the result is nobody's to say. */
	if (p->in_place && p->n > mine) {
		p->in_place = false;
		sw_buf_free(&o->in);
		make_buffers(o, p, mine);
	}
	expect_result(&o->in, &p->k, p->key[from], 0, c->n[from], at, mine);
	coll_keep(o);
	if (block)
		COLL_CALL(o, Reduce_scatter_block, reduce_scatter_block, sends(o, p), o->in.base,
			  (int)mine, p->type, p->k.op, c->comm);
	else
		COLL_CALL(o, Reduce_scatter, reduce_scatter, sends(o, p), o->in.base,
			  counts[c->side], p->type, p->k.op, c->comm);
}

void
coll_reduce(struct coll *o)
{
	static const char *const names[] = {"Reduce", "Allreduce",	"Scan",
					    "Exscan", "Reduce_scatter", "Reduce_scatter_block"};
	static const uint32_t bound[] = {3, 30, 1000, 20000};
	uint32_t which = sw_draw(sizeof names / sizeof *names);
	struct plan p = {.n = sw_draw(bound[sw_draw(sizeof bound / sizeof *bound)])};

	p.k = draw_kind(o, &p.type);
	for (int s = 0; s < 2; s++) {
		p.key[s] = sw_key();
		for (int i = 0; i < 64; i++)
			(void)sw_key();
	}
	p.in_place = !o->c->inter && sw_one_in(3);
	if (o->c->inter && (which == 2 || which == 3))
		which = 1;
	o->name = names[which];
	switch (which) {
	case 0:
		do_reduce(o, &p);
		break;
	case 1:
		do_allreduce(o, &p);
		break;
	case 2:
	case 3:
		do_scan(o, &p, which == 3);
		break;
	default:
		do_reduce_scatter(o, &p, which == 5);
	}
}
