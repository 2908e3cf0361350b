/* SPDX-License-Identifier: BSD-2-Clause */
/* What windows carry: every predefined operation on the kinds it works on, against
 * MPI_Reduce_local; datatypes of all shapes at both ends; long transfers; many threads. */
#include "check.h"

#include <pthread.h>
#include <stdbool.h>

/* ---- operations */

static const struct {
	MPI_Datatype type;
	int bytes;
	char kind; /* i integer, f real, c complex, l logical, b byte, p pair */
} types[] = {
	{MPI_SIGNED_CHAR, 1, 'i'},
	{MPI_UNSIGNED_CHAR, 1, 'i'},
	{MPI_SHORT, 2, 'i'},
	{MPI_INT, 4, 'i'},
	{MPI_UNSIGNED, 4, 'i'},
	{MPI_LONG, 8, 'i'},
	{MPI_LONG_LONG, 8, 'i'},
	{MPI_UINT16_T, 2, 'i'},
	{MPI_AINT, 8, 'i'},
	{MPI_COUNT, 8, 'i'},
	{MPI_FLOAT, 4, 'f'},
	{MPI_DOUBLE, 8, 'f'},
	{MPI_LONG_DOUBLE, 16, 'f'},
	{MPI_C_FLOAT_COMPLEX, 8, 'c'},
	{MPI_C_DOUBLE_COMPLEX, 16, 'c'},
	{MPI_C_BOOL, 1, 'l'},
	{MPI_BYTE, 1, 'b'},
	{MPI_FLOAT_INT, 8, 'p'},
	{MPI_DOUBLE_INT, 16, 'p'},
	{MPI_2INT, 8, 'p'},
	{MPI_SHORT_INT, 8, 'p'},
	{MPI_LONG_INT, 16, 'p'},
	{MPI_LONG_DOUBLE_INT, 32, 'p'},
};
#define TYPES ((int)(sizeof(types) / sizeof(types[0])))

static const struct {
	MPI_Op op;
	const char *kinds;
} ops[] = {
	{MPI_SUM, "ifc"},	 {MPI_PROD, "ifc"}, {MPI_MAX, "if"},   {MPI_MIN, "if"},
	{MPI_BAND, "ib"},	 {MPI_BOR, "ib"},   {MPI_BXOR, "ib"},  {MPI_LAND, "il"},
	{MPI_LOR, "il"},	 {MPI_LXOR, "il"},  {MPI_MINLOC, "p"}, {MPI_MAXLOC, "p"},
	{MPI_REPLACE, "ifclbp"},
};
#define OPS ((int)(sizeof(ops) / sizeof(ops[0])))

/* Element i of a type, some small number made of seed; holes are zero. */
static void
element(char *p, int t, uint32_t seed)
{
	int v = (int)(mix(seed) % 5), where = (int)(mix(seed + 1) % 3);

	memset(p, 0, (size_t)types[t].bytes);
#define IS(T) (types[t].type == (T))
	if (IS(MPI_FLOAT))
		memcpy(p, &(float){(float)v}, 4);
	else if (IS(MPI_DOUBLE))
		memcpy(p, &(double){v}, 8);
	else if (IS(MPI_LONG_DOUBLE))
		memcpy(p, &(long double){v}, 10);
	else if (IS(MPI_C_FLOAT_COMPLEX))
		memcpy(p, (float[]){(float)v, (float)where}, 8);
	else if (IS(MPI_C_DOUBLE_COMPLEX))
		memcpy(p, (double[]){v, where}, 16);
	else if (IS(MPI_C_BOOL))
		*p = (char)(v % 2);
	else if (IS(MPI_FLOAT_INT))
		memcpy(p, &(struct {
			       float a;
			       int b;
		       }){(float)v, where},
		       8);
	else if (IS(MPI_DOUBLE_INT))
		memcpy(p, &(double){v}, 8), memcpy(p + 8, &where, 4);
	else if (IS(MPI_2INT))
		memcpy(p, (int[]){v, where}, 8);
	else if (IS(MPI_SHORT_INT))
		memcpy(p, &(short){(short)v}, 2), memcpy(p + 4, &where, 4);
	else if (IS(MPI_LONG_INT))
		memcpy(p, &(long){v}, 8), memcpy(p + 8, &where, 4);
	else if (IS(MPI_LONG_DOUBLE_INT))
		memcpy(p, &(long double){v}, 10), memcpy(p + 16, &where, 4);
	else
		*p = (char)v;
}

enum { ELEMENTS = 40, LONG_ELEMENTS = 3000 };

/* One operation on n elements at my neighbour: result and what was there. */
static void
one_operation(MPI_Win win, char *mem, int t, int o, int n)
{
	int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
	size_t bytes = (size_t)n * (size_t)types[t].bytes;
	char *mine = malloc(bytes), *theirs = malloc(bytes), *was = calloc(bytes, 1);
	char *before = malloc(bytes);
	int name = t * 100 + o;
	bool fetch = name % 2;

	for (int i = 0; i < n; i++) {
		size_t at = (size_t)i * (size_t)types[t].bytes;

		element(mine + at, t, (uint32_t)(check_rank * 7919 + name + 3 * i));
		element(theirs + at, t, (uint32_t)(from * 7919 + name + 3 * i));
		element(before + at, t, (uint32_t)(name + 17 * i));
	}
	memcpy(mem, before, bytes);
	MPI_Win_fence(0, win);
	if (fetch)
		MPI_Get_accumulate(mine, n, types[t].type, was, n, types[t].type, to, 0, n,
				   types[t].type, ops[o].op, win);
	else
		MPI_Accumulate(mine, n, types[t].type, to, 0, n, types[t].type, ops[o].op, win);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	if (fetch)
		CHECKF(memcmp(was, before, bytes) == 0, "type %d, operation %d: fetched", t, o);
	if (ops[o].op == MPI_REPLACE)
		memcpy(before, theirs, bytes);
	else
		MPI_Reduce_local(theirs, before, n, types[t].type, ops[o].op);
	CHECKF(memcmp(mem, before, bytes) == 0, "type %d, operation %d, %d elements: result", t, o,
	       n);
	free(mine);
	free(theirs);
	free(was);
	free(before);
}

static void
operations(int allocated)
{
	size_t bytes = LONG_ELEMENTS * 32;
	char *mem;
	MPI_Win win;

	if (allocated) {
		MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
	} else {
		mem = malloc(bytes);
		MPI_Win_create(mem, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	}
	for (int t = 0; t < TYPES; t++) {
		for (int o = 0; o < OPS; o++) {
			if (strchr(ops[o].kinds, types[t].kind) == NULL)
				continue;
			one_operation(win, mem, t, o, ELEMENTS);
			if (t % 4 == 3)
				one_operation(win, mem, t, o, LONG_ELEMENTS);
		}
	}
	MPI_Win_free(&win);
	if (!allocated)
		free(mem);
}

/* ---- datatypes: what leaves by one and comes back by another */

static MPI_Datatype
shape(int which)
{
	MPI_Datatype a, b, t;

	switch (which) {
	case 0: /* holes */
		MPI_Type_vector(50, 3, 7, MPI_INT, &t);
		break;
	case 1: /* of various lengths, downwards */
		MPI_Type_indexed(4, (int[]){60, 1, 80, 9}, (int[]){300, 250, 100, 0}, MPI_INT, &t);
		break;
	case 2: /* a vector of a struct with holes */
		MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){0, 8},
				       (MPI_Datatype[]){MPI_INT, MPI_INT}, &a);
		MPI_Type_vector(25, 1, 2, a, &b);
		MPI_Type_create_hvector(2, 1, 1000, b, &t);
		MPI_Type_free(&a);
		MPI_Type_free(&b);
		break;
	case 3: /* a piece of a matrix */
		MPI_Type_create_subarray(2, (int[]){20, 30}, (int[]){10, 15}, (int[]){3, 5},
					 MPI_ORDER_C, MPI_INT, &t);
		break;
	default: /* elements that overlap in their extents, negative lower bound */
		MPI_Type_create_hindexed(2, (int[]){75, 75}, (MPI_Aint[]){-400, 4}, MPI_INT, &a);
		MPI_Type_create_resized(a, -400, 16, &t);
		MPI_Type_free(&a);
	}
	MPI_Type_commit(&t);
	return t;
}
enum { SHAPES = 5, SHAPE_INTS = 150, ROOM = 32768, OFF = 512 };

/* What a window holds, and what it should. */
struct shapes {
	MPI_Win win;
	int to;
	int *mem, *model, *src;
};

/* One of a shape becomes one of another, and comes back in a row. */
static void
reshape(struct shapes *w, int s, int d)
{
	int back[SHAPE_INTS] = {0}, packed[SHAPE_INTS], at = 0;
	MPI_Datatype out = shape(s), in = shape(d);

	for (int i = 0; i < ROOM; i++) {
		w->src[i] = (int)mix((uint32_t)(s * 100 + d + i));
		w->mem[i] = w->model[i] = -i;
	}
	MPI_Pack(w->src + OFF, 1, out, packed, sizeof(packed), &at, MPI_COMM_WORLD);
	CHECK(at == sizeof(packed));
	at = 0;
	MPI_Unpack(packed, sizeof(packed), &at, w->model + OFF, 1, in, MPI_COMM_WORLD);
	MPI_Win_fence(0, w->win);
	MPI_Put(w->src + OFF, 1, out, w->to, OFF, 1, in, w->win);
	MPI_Win_fence(0, w->win);
	CHECKF(memcmp(w->mem, w->model, ROOM * sizeof(int)) == 0, "shape %d to %d", s, d);
	MPI_Get(back, SHAPE_INTS, MPI_INT, w->to, OFF, 1, in, w->win);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
	CHECKF(memcmp(back, packed, sizeof(packed)) == 0, "shape %d back", d);
	MPI_Type_free(&out);
	MPI_Type_free(&in);
}

/* Several of a shape, more than goes in a packet, added to the same; in a shape whose
 * elements overlap some take part twice, so only that it ends is seen there. */
static void
add_shape(struct shapes *w, int s, int n)
{
	MPI_Datatype t = shape(s);
	int at = 0, end, bytes, *p, *q;

	for (int i = 0; i < ROOM; i++) {
		w->src[i] = 7 * i;
		w->mem[i] = w->model[i] = i;
	}
	MPI_Win_fence(0, w->win);
	MPI_Accumulate(w->src + OFF, n, t, w->to, OFF, n, t, MPI_SUM, w->win);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
	MPI_Pack_size(n, t, MPI_COMM_WORLD, &bytes);
	p = malloc((size_t)bytes);
	q = malloc((size_t)bytes);
	MPI_Pack(w->src + OFF, n, t, p, bytes, &at, MPI_COMM_WORLD);
	at = 0;
	MPI_Pack(w->model + OFF, n, t, q, bytes, &at, MPI_COMM_WORLD);
	for (int i = 0; i < at / (int)sizeof(int); i++)
		q[i] += p[i];
	end = at;
	at = 0;
	MPI_Unpack(q, end, &at, w->model + OFF, n, t, MPI_COMM_WORLD);
	CHECKF(s == 4 || memcmp(w->mem, w->model, ROOM * sizeof(int)) == 0, "sum of %d of shape %d",
	       n, s);
	free(p);
	free(q);
	MPI_Type_free(&t);
}

static void
shapes(int allocated)
{
	struct shapes w = {.to = (check_rank + 1) % check_size};

	w.model = malloc(ROOM * sizeof(int));
	w.src = malloc(ROOM * sizeof(int));
	if (allocated) {
		MPI_Win_allocate(ROOM * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
				 &w.mem, &w.win);
	} else {
		w.mem = malloc(ROOM * sizeof(int));
		MPI_Win_create(w.mem, ROOM * sizeof(int), sizeof(int), MPI_INFO_NULL,
			       MPI_COMM_WORLD, &w.win);
	}
	for (int s = 0; s < SHAPES; s++)
		for (int d = 0; d < SHAPES; d++)
			reshape(&w, s, d);
	for (int s = 0; s < SHAPES; s++) {
		add_shape(&w, s, 1);
		add_shape(&w, s, 16);
	}
	MPI_Win_free(&w.win);
	if (!allocated)
		free(w.mem);
	free(w.model);
	free(w.src);
}

/* ---- long ones, of every length around the borders */

static void
lengths(void)
{
	static const int sizes[] = {1,	   7679,  7680,	  7681,	  8192,	  65535,
				    65536, 65537, 262144, 262145, 3000001};
	int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
	int most = 3000001;
	unsigned char *mem = malloc((size_t)most), *buf = malloc((size_t)most);
	unsigned char *old = malloc((size_t)most);
	MPI_Win win;

	MPI_Win_create(mem, most, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int n = sizes[i], rest = most - n < 100 ? most - n : 100;

		memset(mem, 0, (size_t)most);
		fill(buf, (size_t)n, (uint32_t)check_rank);
		MPI_Win_fence(0, win);
		MPI_Put(buf, n, MPI_BYTE, to, rest, n, MPI_BYTE, win);
		MPI_Win_fence(0, win);
		CHECKF(wrong(mem + rest, (size_t)n, (uint32_t)from) < 0, "put of %d", n);
		for (int k = 0; k < rest; k++)
			CHECK(mem[k] == 0);
		memset(buf, 0, (size_t)n);
		MPI_Get(buf, n, MPI_BYTE, to, rest, n, MPI_BYTE, win);
		MPI_Win_fence(0, win);
		CHECKF(wrong(buf, (size_t)n, (uint32_t)check_rank) < 0, "get of %d", n);
		memset(buf, 255, (size_t)n);
		memset(old, 0, (size_t)n);
		MPI_Get_accumulate(buf, n, MPI_BYTE, old, n, MPI_BYTE, to, rest, n, MPI_BYTE,
				   MPI_BXOR, win);
		MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
		CHECKF(wrong(old, (size_t)n, (uint32_t)check_rank) < 0, "fetch of %d", n);
		for (int k = 0; k < n; k++)
			mem[rest + k] ^= 255;
		CHECKF(wrong(mem + rest, (size_t)n, (uint32_t)from) < 0, "xor of %d", n);
	}
	MPI_Win_free(&win);
	free(mem);
	free(buf);
	free(old);
}

/* Elements at addresses that suit no element. */
static void
misaligned(void)
{
	int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
	char mem[16 * 20 + 3], mine[16 * 20 + 1];
	long double a = check_rank, b = 100, c;
	MPI_Win win;

	memset(mem, 0, sizeof(mem));
	for (int i = 0; i < 20; i++) {
		memcpy(mine + 1 + 16 * i, &a, sizeof(a));
		memcpy(mem + 3 + 16 * i, &b, sizeof(b));
	}
	MPI_Win_create(mem, sizeof(mem), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Accumulate(mine + 1, 20, MPI_LONG_DOUBLE, to, 3, 20, MPI_LONG_DOUBLE, MPI_SUM, win);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	for (int i = 0; i < 20; i++) {
		memcpy(&c, mem + 3 + 16 * i, sizeof(c));
		CHECK(c == 100 + from);
	}
	MPI_Win_free(&win);
}

/* Long data on its way to me that I asked for and that others give me, at the same time. */
static void
crossing(void)
{
	enum { LEN = 20000 };
	int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
	MPI_Datatype evens; /* nothing the system copies by itself */
	int *mem = malloc(4 * LEN * sizeof(int)), *out = malloc(2 * LEN * sizeof(int));
	int *in = calloc(2 * LEN, sizeof(int)), bad = 0;
	MPI_Win win;

	MPI_Type_vector(LEN, 1, 2, MPI_INT, &evens);
	MPI_Type_commit(&evens);
	MPI_Win_create(mem, 4 * LEN * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
		       &win);
	for (int i = 0; i < 2 * LEN; i++) {
		out[i] = -1 - check_rank;
		mem[i] = check_rank;
		mem[2 * LEN + i] = 0;
	}
	MPI_Win_fence(0, win);
	if (check_rank % 2 == 0)
		MPI_Get(in, 1, evens, to, 0, 1, evens, win);
	MPI_Put(out, 1, evens, from, 2 * LEN, 1, evens, win);
	if (check_rank % 2 == 1)
		MPI_Get(in, 1, evens, to, 0, 1, evens, win);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	for (int i = 0; i < 2 * LEN; i += 2)
		bad += in[i] != to || mem[2 * LEN + i] != -1 - to;
	CHECKF(bad == 0, "%d", bad);
	MPI_Win_free(&win);
	MPI_Type_free(&evens);
	free(mem);
	free(out);
	free(in);
}

/* Who reads what it wrote, however long it is and whatever way it goes, sees it: no flush is
 * between, or one that waits for this side only. */
static void
own_writes(void)
{
	enum { LEN = 1 << 17, ALL = 2 * LEN, LAST = ALL - 2 };
	enum { GET, GET_GAPS, FETCH, FETCH_ONE, SWAP, SUM, READS };
	int to = (check_rank + 1) % check_size, one = 1;
	int *mem = calloc(ALL, sizeof(int)), *out = malloc(ALL * sizeof(int));
	int *in = malloc(ALL * sizeof(int));
	MPI_Datatype evens; /* nothing the system copies by itself */
	MPI_Win win;

	MPI_Type_vector(LEN, 1, 2, MPI_INT, &evens);
	MPI_Type_commit(&evens);
	MPI_Win_create(mem, ALL * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_lock_all(0, win);
	for (int round = 0; round < 4 * READS; round++) {
		int how = round / 4, gaps = round % 2, value = 1 + 100 * round + check_rank;
		int at = how >= FETCH_ONE ? LAST : 0, bad = 0;

		for (int i = 0; i < ALL; i++) {
			out[i] = value;
			in[i] = -1;
		}
		MPI_Put(out, gaps ? 1 : ALL, gaps ? evens : MPI_INT, to, 0, gaps ? 1 : ALL,
			gaps ? evens : MPI_INT, win);
		if (round & 2)
			MPI_Win_flush_local(to, win);
		if (how == GET)
			MPI_Get(in, ALL, MPI_INT, to, 0, ALL, MPI_INT, win);
		else if (how == GET_GAPS)
			MPI_Get(in, 1, evens, to, 0, 1, evens, win);
		else if (how == FETCH)
			MPI_Get_accumulate(NULL, 0, MPI_INT, in, ALL, MPI_INT, to, 0, ALL, MPI_INT,
					   MPI_NO_OP, win);
		else if (how == FETCH_ONE)
			MPI_Fetch_and_op(NULL, in + LAST, MPI_INT, to, LAST, MPI_NO_OP, win);
		else if (how == SWAP)
			MPI_Compare_and_swap(&one, &value, in + LAST, MPI_INT, to, LAST, win);
		else
			MPI_Accumulate(&one, 1, MPI_INT, to, LAST, 1, MPI_INT, MPI_SUM, win);
		if (how >= SWAP) { /* what it left */
			int left = 0, expected = how == SWAP ? one : value + one;

			MPI_Get(&left, 1, MPI_INT, to, LAST, 1, MPI_INT, win);
			MPI_Win_flush_local(to, win);
			CHECKF(left == expected, "round %d: %d, not %d", round, left, expected);
		} else {
			MPI_Win_flush_local(to, win);
		}
		for (int i = at; i <= LAST && how != SUM; i += 2)
			bad += in[i] != value;
		CHECKF(bad == 0, "round %d: %d of %d", round, bad, LEN);
	}
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	MPI_Type_free(&evens);
	free(mem);
	free(out);
	free(in);
}

/* Thousands under way at once, in both directions, long and short mixed. */
static void
flood(void)
{
	enum { OPS_EACH = 3000, SLOTS = 64, SLOT = 1000 };
	int *mem = calloc(SLOTS * SLOT, sizeof(int)), *src = malloc(SLOTS * SLOT * sizeof(int));
	int *in = malloc(SLOTS * SLOT * sizeof(int)), bad = 0;
	int one = 1;
	MPI_Win win;

	for (int i = 0; i < SLOTS * SLOT; i++)
		src[i] = i;
	MPI_Win_create(mem, SLOTS * SLOT * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
		       &win);
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < OPS_EACH; i++) {
		int to = (int)(mix((uint32_t)i) % (uint32_t)check_size), slot = i % SLOTS;

		if (i % 3 == 0)
			MPI_Accumulate(&one, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, win);
		else if (i % 100 == 1)
			MPI_Put(src + slot * SLOT + 1, SLOT - 1, MPI_INT, to, slot * SLOT + 1,
				SLOT - 1, MPI_INT, win);
		else
			MPI_Get(in + slot * SLOT, 1 + i % 50, MPI_INT, to, slot * SLOT, 1 + i % 50,
				MPI_INT, win);
	}
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	int total, expected = 0;
	for (int i = 0; i < OPS_EACH; i += 3)
		expected += (int)(mix((uint32_t)i) % (uint32_t)check_size) == check_rank;
	total = mem[0];
	CHECKF(total == expected * check_size, "%d of %d", total, expected * check_size);
	for (int i = 1; i < SLOTS * SLOT; i++)
		bad += mem[i] != 0 && mem[i] != i;
	CHECK(bad == 0);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_free(&win);
	free(mem);
	free(src);
	free(in);
}

/* More at once than a target has room for, to each other: both wait, and nobody for ever. */
static void
beyond_room(void)
{
	enum { LEN = 1 << 17, ALL = 2 * LEN, TIMES = 80 }; /* 40 MiB */
	int *mem = calloc(ALL, sizeof(int)), *out = malloc(ALL * sizeof(int)), bad = 0;
	int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
	MPI_Datatype evens; /* has no place in the window as it is sent */
	MPI_Win win;

	for (int i = 0; i < ALL; i++)
		out[i] = 1 + check_rank;
	MPI_Type_vector(LEN, 1, 2, MPI_INT, &evens);
	MPI_Type_commit(&evens);
	MPI_Win_create(mem, ALL * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < TIMES; i++) {
		if (i % 2 == 0)
			MPI_Put(out, 1, evens, to, 0, 1, evens, win);
		else
			MPI_Accumulate(out, 1, evens, to, 0, 1, evens, MPI_MAX, win);
	}
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < ALL; i++)
		bad += mem[i] != (i % 2 ? 0 : 1 + from);
	CHECKF(bad == 0, "%d", bad);
	MPI_Win_free(&win);
	MPI_Type_free(&evens);
	free(mem);
	free(out);
}

/* Who looks at its own memory again and again, by calls that never wait, sees what others
 * write. */
static void
spinning(void)
{
	int to = (check_rank + 1) % check_size, *mem = calloc(2, sizeof(int)), v = 0, one = 1;
	MPI_Win win;

	MPI_Win_create(mem, 2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_lock_all(0, win);
	for (int round = 1; round <= 20; round++) {
		MPI_Accumulate(&one, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, win);
		MPI_Win_flush(to, win);
		do {
			MPI_Fetch_and_op(NULL, &v, MPI_INT, check_rank, 0, MPI_NO_OP, win);
			MPI_Win_flush(check_rank, win);
		} while (v < round);
		CHECK(v >= round && v <= round + check_size); /* a ring: nobody is further */
	}
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	free(mem);
}

/* ---- threads */

enum { THREADS = 4, THREAD_TURNS = 100 };
static MPI_Win thread_win;

static void *
thread_work(void *arg)
{
	int me = *(int *)arg, one = 1, was, v[8];

	for (int i = 0; i < THREAD_TURNS; i++) {
		int to = (check_rank + i) % check_size;

		MPI_Accumulate(&one, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, thread_win);
		MPI_Fetch_and_op(&one, &was, MPI_INT, to, 1, MPI_SUM, thread_win);
		for (int k = 0; k < 8; k++)
			v[k] = me * 1000 + i;
		MPI_Put(v, 8, MPI_INT, to, 8 + 8 * (check_rank * THREADS + me), 8, MPI_INT,
			thread_win);
		MPI_Win_flush(to, thread_win);
	}
	return NULL;
}

static void
threads(int allocated)
{
	int n = 8 + 8 * check_size * THREADS, *mem, id[THREADS], level;
	pthread_t t[THREADS];

	MPI_Query_thread(&level);
	if (level < MPI_THREAD_MULTIPLE)
		return;
	if (allocated) {
		MPI_Win_allocate(n * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL,
				 MPI_COMM_WORLD, &mem, &thread_win);
	} else {
		mem = malloc((size_t)n * sizeof(int));
		MPI_Win_create(mem, n * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL,
			       MPI_COMM_WORLD, &thread_win);
	}
	memset(mem, 0, (size_t)n * sizeof(int));
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, thread_win);
	for (int i = 0; i < THREADS; i++) {
		id[i] = i;
		pthread_create(&t[i], NULL, thread_work, &id[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	MPI_Win_unlock_all(thread_win);
	MPI_Barrier(MPI_COMM_WORLD);
	int sum[2] = {0};
	MPI_Allreduce(mem, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECKF(sum[0] == THREADS * THREAD_TURNS * check_size && sum[1] == sum[0], "%d %d", sum[0],
	       sum[1]);
	MPI_Win_free(&thread_win);
	if (!allocated)
		free(mem);
}

int
main(int argc, char **argv)
{
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &check_size);
	for (int allocated = 0; allocated < 2; allocated++) {
		operations(allocated);
		shapes(allocated);
		threads(allocated);
	}
	lengths();
	misaligned();
	crossing();
	own_writes();
	flood();
	if (check_size == 2) /* it takes memory */
		beyond_room();
	spinning();
	return finish();
}
