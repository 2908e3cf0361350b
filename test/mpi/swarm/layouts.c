/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts: datatypes of random constructors, and where their elements lie; buffers of these. */
#include "swarm.h"

#include <stdlib.h>
#include <string.h>

#define ELEMENTS 3000	   /* of one layout, at most */
#define SPAN	 (1 << 17) /* bytes of a buffer that is not plain */
#define MARGIN	 64	   /* bytes around a buffer */
#define PLAIN	 (1 << 20) /* bytes of a buffer of basic elements */

/* ---- basic types ---- */

MPI_Datatype
sw_basic(void)
{
	static const MPI_Datatype types[] = {
		MPI_INT,     MPI_DOUBLE, MPI_CHAR, MPI_SHORT,	 MPI_INT8_T,
		MPI_INT64_T, MPI_FLOAT,	 MPI_BYTE, MPI_UNSIGNED, MPI_C_DOUBLE_COMPLEX};

	return types[sw_draw(sizeof types / sizeof *types)];
}

static struct sw_layout *
new_layout(MPI_Datatype basic, uint32_t n)
{
	struct sw_layout *l = sw_alloc(sizeof *l);
	int width;

	MPI_Type_size(basic, &width);
	*l = (struct sw_layout){.basic = basic, .width = (uint32_t)width, .n = n};
	l->at = sw_alloc(n * sizeof *l->at);
	return l;
}

struct sw_layout *
sw_layout_plain(MPI_Datatype basic)
{
	struct sw_layout *l = new_layout(basic, 1);

	l->type = basic;
	l->extent = l->width;
	l->named = true;
	return l;
}

void
sw_layout_free(struct sw_layout *l)
{
	if (!l->named)
		MPI_Type_free(&l->type);
	free(l->at);
	free(l);
}

/* ---- constructors ---- */

enum { PLACES = 64 };

/* What a constructor makes: copies of one layout at displacements in bytes. */
struct places {
	int n;
	ptrdiff_t at[PLACES];
	ptrdiff_t whole; /* extent of the array that it is a part of, 0: of none */
};

static void
put_place(struct places *p, ptrdiff_t at)
{
	if (p->n < PLACES)
		p->at[p->n] = at;
	p->n++;
}

static int
signed_draw(int bound)
{
	return (int)sw_draw(2 * (uint32_t)bound + 1) - bound;
}

static MPI_Datatype
make_contiguous(const struct sw_layout *b, struct places *p)
{
	MPI_Datatype t;
	int n = (int)sw_few(PLACES);

	for (int i = 0; i < n; i++)
		put_place(p, i * b->extent);
	MPI_Type_contiguous(n, b->type, &t);
	return t;
}

static MPI_Datatype
make_vector(const struct sw_layout *b, struct places *p)
{
	MPI_Datatype t;
	int n = (int)sw_few(8), len = (int)sw_few(8), stride = signed_draw(12);
	bool bytes = sw_one_in(2);
	ptrdiff_t step = stride * (bytes ? (ptrdiff_t)b->width : b->extent);

	for (int i = 0; i < n; i++)
		for (int j = 0; j < len; j++)
			put_place(p, i * step + j * b->extent);
	if (bytes)
		MPI_Type_create_hvector(n, len, step, b->type, &t);
	else
		MPI_Type_vector(n, len, stride, b->type, &t);
	return t;
}

static MPI_Datatype
make_indexed(const struct sw_layout *b, struct places *p)
{
	MPI_Datatype t;
	int n = (int)sw_few(8), len[8], at[8];
	MPI_Aint byte_at[8];
	bool bytes = sw_one_in(2), block = sw_one_in(2);
	ptrdiff_t unit = bytes ? (ptrdiff_t)b->width : b->extent;

	for (int i = 0; i < n; i++) {
		len[i] = block && i > 0 ? len[0] : (int)sw_draw(6);
		at[i] = signed_draw(40);
		byte_at[i] = at[i] * unit;
		for (int j = 0; j < len[i]; j++)
			put_place(p, byte_at[i] + j * b->extent);
	}
	if (block && bytes)
		MPI_Type_create_hindexed_block(n, len[0], byte_at, b->type, &t);
	else if (block)
		MPI_Type_create_indexed_block(n, len[0], at, b->type, &t);
	else if (bytes)
		MPI_Type_create_hindexed(n, len, byte_at, b->type, &t);
	else
		MPI_Type_indexed(n, len, at, b->type, &t);
	return t;
}

/* Indices of a sub-array in the order of the type map: the first dimension varies slowest with
 * MPI_ORDER_C. */
static MPI_Datatype
make_subarray(const struct sw_layout *b, struct places *p)
{
	MPI_Datatype t;
	int d = 1 + (int)sw_draw(3), size[3] = {1, 1, 1}, sub[3] = {1, 1, 1}, from[3] = {0};
	bool c = sw_one_in(2);

	for (int i = 0; i < d; i++) {
		size[i] = 1 + (int)sw_draw(6);
		sub[i] = 1 + (int)sw_draw((uint32_t)size[i]);
		from[i] = (int)sw_draw((uint32_t)(size[i] - sub[i] + 1));
	}
	/* The same as an array of three dimensions, outermost first. */
	int s[3] = {1, 1, 1}, u[3] = {1, 1, 1}, f[3] = {0};
	for (int i = 0; i < d; i++) {
		int to = c ? 3 - d + i : 2 - i;
		s[to] = size[i], u[to] = sub[i], f[to] = from[i];
	}
	for (int x = f[0]; x < f[0] + u[0]; x++)
		for (int y = f[1]; y < f[1] + u[1]; y++)
			for (int z = f[2]; z < f[2] + u[2]; z++)
				put_place(p, (((ptrdiff_t)x * s[1] + y) * s[2] + z) * b->extent);
	p->whole = (ptrdiff_t)s[0] * s[1] * s[2] * b->extent;
	MPI_Type_create_subarray(d, size, sub, from, c ? MPI_ORDER_C : MPI_ORDER_FORTRAN, b->type,
				 &t);
	return t;
}

static MPI_Datatype
make_dup(const struct sw_layout *b, struct places *p)
{
	MPI_Datatype t;

	put_place(p, 0);
	MPI_Type_dup(b->type, &t);
	return t;
}

/* Copies of b at those places; NULL: too many. */
static struct sw_layout *
place_copies(const struct sw_layout *b, const struct places *p)
{
	if (p->n == 0 || p->n > PLACES || (uint64_t)p->n * b->n > ELEMENTS)
		return NULL;
	struct sw_layout *l = new_layout(b->basic, (uint32_t)p->n * b->n);
	ptrdiff_t ub = 0;
	for (int i = 0; i < p->n; i++) {
		for (uint32_t e = 0; e < b->n; e++)
			l->at[(uint32_t)i * b->n + e] = p->at[i] + b->at[e];
		l->lb = i ? SW_MIN(l->lb, p->at[i] + b->lb) : p->at[i] + b->lb;
		ub = i ? SW_MAX(ub, p->at[i] + b->lb + b->extent) : p->at[i] + b->lb + b->extent;
	}
	l->extent = ub - l->lb;
	l->bounds = b->bounds;
	return l;
}

/* What has bounds of its own decides alone, if there is one: only that, as with the markers that
 * MPI once had. */
static void
join_parts(struct sw_layout *l, struct sw_layout *const *part, int n)
{
	ptrdiff_t ub = 0;
	bool first = true;

	for (int i = 0; i < n; i++)
		l->bounds |= part[i]->bounds;
	for (int i = 0, e = 0; i < n; i++) {
		ptrdiff_t lb = part[i]->lb, end = lb + part[i]->extent;
		memcpy(l->at + e, part[i]->at, part[i]->n * sizeof *l->at);
		e += (int)part[i]->n;
		if (part[i]->bounds != l->bounds)
			continue;
		l->lb = first ? lb : SW_MIN(l->lb, lb);
		ub = first ? end : SW_MAX(ub, end);
		first = false;
	}
	l->extent = ub - l->lb;
}

/* A struct of layouts, with MPI_Type_create_struct. */
static struct sw_layout *
make_struct(struct sw_layout *const *of, int n)
{
	int len[3];
	MPI_Aint at[3];
	MPI_Datatype types[3];
	struct sw_layout *part[3] = {NULL}, *l = NULL;
	uint32_t all = 0;
	bool ok = true;

	for (int i = 0; i < n; i++) {
		struct places p = {0};
		len[i] = (int)sw_few(4);
		at[i] = signed_draw(100) * (MPI_Aint)of[i]->width;
		types[i] = of[i]->type;
		for (int j = 0; j < len[i]; j++)
			put_place(&p, at[i] + j * of[i]->extent);
		part[i] = place_copies(of[i], &p);
		ok &= part[i] != NULL;
		all += part[i] ? part[i]->n : 0;
	}
	if (ok && all <= ELEMENTS) {
		l = new_layout(of[0]->basic, all);
		join_parts(l, part, n);
		MPI_Type_create_struct(n, len, at, types, &l->type);
	}
	for (int i = 0; i < n; i++) {
		if (part[i]) {
			free(part[i]->at);
			free(part[i]);
		}
	}
	return l;
}

static struct sw_layout *
make_resized(const struct sw_layout *b)
{
	struct sw_layout *l = new_layout(b->basic, b->n);

	memcpy(l->at, b->at, b->n * sizeof *l->at);
	l->lb = b->lb + signed_draw(8) * (ptrdiff_t)b->width;
	l->extent = (ptrdiff_t)b->width * signed_draw(200);
	l->bounds = true;
	MPI_Type_create_resized(b->type, l->lb, l->extent, &l->type);
	return l;
}

static struct sw_layout *
make_of_one(const struct sw_layout *b)
{
	static MPI_Datatype (*const make[])(const struct sw_layout *, struct places *) = {
		make_contiguous, make_vector, make_indexed, make_subarray, make_dup};
	struct places p = {0};
	uint32_t which = sw_draw(sizeof make / sizeof *make);
	MPI_Datatype t = make[which](b, &p);
	struct sw_layout *l = place_copies(b, &p);

	if (l == NULL) {
		MPI_Type_free(&t);
		return NULL;
	}
	l->type = t;
	if (make[which] == make_subarray) {
		l->lb = 0;
		l->extent = p.whole;
		l->bounds = true;
	}
	return l;
}

static void
check_layout(const struct sw_layout *l)
{
	MPI_Aint lb, extent, true_lb, true_extent;
	MPI_Count size;
	ptrdiff_t low = l->at[0], high = l->at[0];

	for (uint32_t e = 0; e < l->n; e++) {
		low = SW_MIN(low, l->at[e]);
		high = SW_MAX(high, l->at[e]);
	}
	MPI_Type_size_x(l->type, &size);
	MPI_Type_get_extent(l->type, &lb, &extent);
	MPI_Type_get_true_extent(l->type, &true_lb, &true_extent);
	if (size != (MPI_Count)l->n * l->width || lb != l->lb || extent != l->extent ||
	    true_lb != low || true_extent != high + (ptrdiff_t)l->width - low)
		sw_fail("a type of size %lld, lb %ld, extent %ld, true %ld %ld; model: %u, %ld, "
			"%ld, %ld, %ld",
			(long long)size, (long)lb, (long)extent, (long)true_lb, (long)true_extent,
			l->n * l->width, (long)l->lb, (long)l->extent, (long)low,
			(long)(high + (ptrdiff_t)l->width - low));
}

struct sw_layout *
sw_layout_new(MPI_Datatype basic)
{
	struct sw_layout *l = sw_layout_plain(basic);

	for (uint32_t depth = sw_draw(4); depth > 0; depth--) {
		struct sw_layout *n;
		switch (sw_draw(7)) {
		case 0: {
			struct sw_layout *other =
				sw_one_in(2) ? sw_layout_plain(basic) : make_of_one(l);
			struct sw_layout *of[3] = {l, other ? other : l, l};
			n = make_struct(of, 1 + (int)sw_draw(3));
			if (other)
				sw_layout_free(other);
			break;
		}
		case 1:
			n = make_resized(l);
			break;
		default:
			n = make_of_one(l);
		}
		if (n == NULL)
			continue;
		if (!sw_fits(n, 1)) {
			sw_layout_free(n);
			continue;
		}
		sw_layout_free(l);
		l = n;
	}
	if (!l->named)
		MPI_Type_commit(&l->type);
	check_layout(l);
	return l;
}

struct sw_layout *
sw_layout_for(MPI_Datatype basic, uint64_t n, uint32_t *count)
{
	struct sw_layout *l = sw_layout_new(basic);

	if (n % l->n == 0 && sw_fits(l, (uint32_t)(n / l->n))) {
		*count = (uint32_t)(n / l->n);
		return l;
	}
	sw_layout_free(l);
	*count = (uint32_t)n;
	return sw_layout_plain(basic);
}

/* ---- buffers ---- */

void
sw_span(const struct sw_layout *l, uint32_t count, ptrdiff_t *low, ptrdiff_t *high)
{
	*low = *high = 0;
	for (uint32_t e = 0; e < l->n && count > 0; e++) {
		ptrdiff_t last = l->at[e] + (ptrdiff_t)(count - 1) * l->extent;

		*low = SW_MIN(*low, SW_MIN(l->at[e], last));
		*high = SW_MAX(*high, SW_MAX(l->at[e], last) + (ptrdiff_t)l->width);
	}
}

bool
sw_fits(const struct sw_layout *l, uint32_t count)
{
	static unsigned char taken[SPAN];
	ptrdiff_t low, high;

	if (l->named)
		return (uint64_t)count * l->width <= PLAIN;
	sw_span(l, count, &low, &high);
	if (high - low > SPAN)
		return false;
	memset(taken, 0, (size_t)(high - low));
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t e = 0; e < l->n; e++) {
			unsigned char *t = taken + (l->at[e] + (ptrdiff_t)i * l->extent - low);
			for (uint32_t k = 0; k < l->width; k++) {
				if (t[k]++)
					return false;
			}
		}
	}
	return true;
}

void
sw_buf_new(struct sw_buf *b, const struct sw_layout *l, uint32_t count)
{
	ptrdiff_t low, high;

	sw_span(l, count, &low, &high);
	*b = (struct sw_buf){.l = l, .count = count};
	b->bytes = (size_t)(high - low) + 2 * MARGIN;
	b->mem = sw_alloc(b->bytes);
	b->want = sw_alloc(b->bytes);
	b->base = b->mem + MARGIN - low;
	for (size_t i = 0; i < b->bytes; i++)
		b->mem[i] = b->want[i] = (unsigned char)(i * 37 + 11);
}

static unsigned char
stream_byte(uint64_t key, uint64_t at)
{
	uint64_t z = (key + at) * UINT64_C(0x9e3779b97f4a7c15);

	return (unsigned char)(z >> 56 ^ z >> 29);
}

void
sw_stream(unsigned char *out, uint32_t width, uint64_t n, uint64_t key, uint64_t from)
{
	for (uint64_t i = 0; i < n * width; i++)
		out[i] = stream_byte(key, from * width + i);
}

void
sw_put(unsigned char *base, const struct sw_layout *l, uint64_t first, uint64_t n, uint64_t key,
       uint64_t from)
{
	for (uint64_t e = first; e < first + n; e++)
		sw_stream(base + (ptrdiff_t)(e / l->n) * l->extent + l->at[e % l->n], l->width, 1,
			  key, from + e - first);
}

void
sw_expect(struct sw_buf *b, uint64_t first, uint64_t n, uint64_t key, uint64_t from)
{
	sw_put(b->want + (b->base - b->mem), b->l, first, n, key, from);
}

void
sw_fill(struct sw_buf *b, uint64_t first, uint64_t n, uint64_t key, uint64_t from)
{
	sw_put(b->base, b->l, first, n, key, from);
	sw_expect(b, first, n, key, from);
}

void
sw_verify(const struct sw_buf *b, const char *what)
{
	if (memcmp(b->mem, b->want, b->bytes) == 0)
		return;
	size_t i = 0, bad = 0;
	for (size_t k = b->bytes; k-- > 0;) {
		if (b->mem[k] != b->want[k])
			i = k, bad++;
	}
	sw_fail("%s: %zu of %zu bytes are wrong, the first at %td of the buffer (%02x, not %02x); "
		"%u of %u elements of %u bytes, extent %td",
		what, bad, b->bytes, b->mem + i - b->base, b->mem[i], b->want[i], b->count, b->l->n,
		b->l->width, b->l->extent);
}

void
sw_buf_free(struct sw_buf *b)
{
	free(b->mem);
	free(b->want);
}
