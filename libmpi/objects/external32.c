/* SPDX-License-Identifier: BSD-2-Clause */
#include "external32.h"

#include <string.h>

#include "binary128.h"

/* Packed bytes handled at a time where elements do not lie in one piece: half of a
 * usual first-level cache. */
#define CHUNK 16384
/* The same of memory on the stack. */
#define WINDOW 4096

/* Machine words as the wire knows them.  The first five are turned round. */
enum lmpi_wire {
	WIRE_1,
	WIRE_2,
	WIRE_4,
	WIRE_8,
	WIRE_16,
	WIRE_LONG,
	WIRE_ULONG,
	WIRE_WCHAR,
	WIRE_LONG_DOUBLE,
	WIRES
};

_Static_assert(sizeof(long) == 8 && sizeof(wchar_t) == 4, "an LP64 machine");

static const uint8_t wire_size[WIRES][LMPI_REPS] = {
	/* native, external32, with long8 */
	[WIRE_1] = {1, 1, 1},	  [WIRE_2] = {2, 2, 2},	    [WIRE_4] = {4, 4, 4},
	[WIRE_8] = {8, 8, 8},	  [WIRE_16] = {16, 16, 16}, [WIRE_LONG] = {8, 4, 8},
	[WIRE_ULONG] = {8, 4, 8}, [WIRE_WCHAR] = {4, 2, 2}, [WIRE_LONG_DOUBLE] = {16, 16, 16},
};

static inline int64_t
external32_min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- what a type measures */

static enum lmpi_wire
wire_of(const struct lmpi_type *t)
{
	if (t->handle == MPI_LONG)
		return WIRE_LONG;
	if (t->handle == MPI_UNSIGNED_LONG)
		return WIRE_ULONG;
	switch (t->basic) {
	case LMPI_BASIC_I16:
	case LMPI_BASIC_U16:
	case LMPI_BASIC_L16:
	case LMPI_BASIC_HALF: /* the complex one, too: two halves */
		return WIRE_2;
	case LMPI_BASIC_I32:
	case LMPI_BASIC_U32:
	case LMPI_BASIC_L32:
	case LMPI_BASIC_F32:
	case LMPI_BASIC_C32:
		return WIRE_4;
	case LMPI_BASIC_I64:
	case LMPI_BASIC_U64:
	case LMPI_BASIC_L64:
	case LMPI_BASIC_F64:
	case LMPI_BASIC_C64:
		return WIRE_8;
	case LMPI_BASIC_I128:
	case LMPI_BASIC_L128:
	case LMPI_BASIC_F128:
	case LMPI_BASIC_C128:
		return WIRE_16;
	case LMPI_BASIC_WCHAR:
		return WIRE_WCHAR;
	case LMPI_BASIC_F80:
	case LMPI_BASIC_C80:
		return WIRE_LONG_DOUBLE;
	default:
		return WIRE_1;
	}
}

/* Value and index; false: not such a type. */
static bool
describe_pair(struct lmpi_type *t)
{
	static const struct {
		enum lmpi_basic basic;
		enum lmpi_wire value, index;
	} pairs[] = {
		{LMPI_BASIC_F32_INT, WIRE_4, WIRE_4},
		{LMPI_BASIC_F64_INT, WIRE_8, WIRE_4},
		{LMPI_BASIC_I64_INT, WIRE_LONG, WIRE_4}, /* MPI_LONG_INT */
		{LMPI_BASIC_I32_INT, WIRE_4, WIRE_4},
		{LMPI_BASIC_I16_INT, WIRE_2, WIRE_4},
		{LMPI_BASIC_F80_INT, WIRE_LONG_DOUBLE, WIRE_4},
		{LMPI_BASIC_F32_F32, WIRE_4, WIRE_4},
		{LMPI_BASIC_F64_F64, WIRE_8, WIRE_8},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (pairs[i].basic == t->basic) {
			t->part[0] = (struct lmpi_part){(uint8_t)pairs[i].value, 1};
			t->part[1] = (struct lmpi_part){(uint8_t)pairs[i].index, 1};
			return true;
		}
	return false;
}

static int64_t
part_size(const struct lmpi_part *p, enum lmpi_rep rep)
{
	return (int64_t)p->n * wire_size[p->wire][rep];
}

/* Unit in which a part is turned round, 0: it is converted. */
static uint8_t
part_swap(const struct lmpi_part *p, enum lmpi_rep rep)
{
	if (rep == LMPI_REP_NATIVE)
		return 1;
	if (p->wire <= WIRE_16)
		return wire_size[p->wire][rep];
	if (p->wire == WIRE_LONG || p->wire == WIRE_ULONG)
		return wire_size[p->wire][rep] == sizeof(long) ? sizeof(long) : 0;
	return 0;
}

void
lmpi_external32_describe(struct lmpi_type *t)
{
	bool pair = describe_pair(t);

	if (!pair) {
		enum lmpi_wire wire = wire_of(t);

		t->part[0].wire = (uint8_t)wire;
		t->part[0].n = (uint8_t)(t->size / wire_size[wire][LMPI_REP_NATIVE]);
	}
	for (int r = 0; r < LMPI_REPS; r++) {
		const struct lmpi_part *p = t->part;
		struct lmpi_measure *m = &t->rep[r];
		int64_t a = part_size(&p[0], r), b = part_size(&p[1], r);

		m->size = a + b;
		m->element_size = !pair || a == b ? a : 0;
		m->swap = part_swap(&p[0], r);
		if (pair && part_swap(&p[1], r) != m->swap)
			m->swap = 0;
	}
}

void
lmpi_external32_append(struct lmpi_type *t, int64_t n, const struct lmpi_type *c)
{
	for (int r = 0; r < LMPI_REPS; r++) {
		struct lmpi_measure *m = &t->rep[r];
		const struct lmpi_measure *add = &c->rep[r];

		if (t->elements == 0)
			*m = (struct lmpi_measure){0, add->element_size, add->swap};
		if (m->element_size != add->element_size)
			m->element_size = 0;
		if (m->swap != add->swap)
			m->swap = 0;
		m->size += n * add->size;
	}
}

int64_t
lmpi_external32_value_size(const struct lmpi_type *t, enum lmpi_rep rep)
{
	return part_size(&t->part[0], rep);
}

/* ---- turning words round; in may be out */

static inline uint64_t
load64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void
store64(char *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* What does not fill a 64-bit word: len < 8 bytes in units of 2 or 4. */
static inline void
swap_tail(char *out, const char *in, int64_t len, int unit)
{
	uint16_t half;
	uint32_t word;

	if (unit == 4 && len == 4) {
		memcpy(&word, in, sizeof(word));
		word = __builtin_bswap32(word);
		memcpy(out, &word, sizeof(word));
		return;
	}
	for (int64_t i = 0; unit == 2 && i < len; i += 2) {
		memcpy(&half, in + i, sizeof(half));
		half = __builtin_bswap16(half);
		memcpy(out + i, &half, sizeof(half));
	}
}

/* len bytes, a multiple of unit.  Two and four at a time within 64-bit words. */
static void
swap_units(char *out, const char *in, int64_t len, int unit)
{
	const uint64_t even = 0x00ff00ff00ff00ff;
	int64_t whole = len / 8 * 8, i;

	if (unit == 1 || __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) {
		if (out != in)
			memcpy(out, in, (size_t)len);
		return;
	}
	switch (unit) {
	case 2:
		for (i = 0; i < whole; i += 8) {
			uint64_t v = load64(in + i);

			store64(out + i, (v & even) << 8 | (v >> 8 & even));
		}
		break;
	case 4:
		for (i = 0; i < whole; i += 8) {
			uint64_t v = __builtin_bswap64(load64(in + i));

			store64(out + i, v << 32 | v >> 32);
		}
		break;
	case 8:
		for (i = 0; i < whole; i += 8)
			store64(out + i, __builtin_bswap64(load64(in + i)));
		return;
	default: /* 16 */
		for (i = 0; i < whole; i += 16) {
			uint64_t a = load64(in + i), b = load64(in + i + 8);

			store64(out + i, __builtin_bswap64(b));
			store64(out + i + 8, __builtin_bswap64(a));
		}
		return;
	}
	swap_tail(out + whole, in + whole, len - whole, unit);
}

/* ---- words that change size.  Each element is read before it is written. */

static inline void
store_big(char *p, uint64_t v, int bytes)
{
	for (int k = 0; k < bytes; k++)
		p[k] = (char)(v >> 8 * (bytes - 1 - k));
}

static inline uint64_t
load_big(const char *p, int bytes)
{
	uint64_t v = 0;

	for (int k = 0; k < bytes; k++)
		v = v << 8 | (uint8_t)p[k];
	return v;
}

/* n elements; the index of the first that does not fit, or n. */
static int64_t
narrow_external32(enum lmpi_wire wire, char *out, const char *in, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		if (wire == WIRE_WCHAR) {
			uint32_t v;

			memcpy(&v, in + 4 * i, sizeof(v));
			if (v > UINT16_MAX)
				return i;
			store_big(out + 2 * i, v, 2);
		} else {
			uint64_t v = load64(in + 8 * i);
			bool fits = wire == WIRE_ULONG ? v <= UINT32_MAX
						       : (int64_t)v == (int32_t)(uint32_t)v;

			if (!fits)
				return i;
			store_big(out + 4 * i, v, 4);
		}
	}
	return n;
}

static void
widen(enum lmpi_wire wire, char *out, const char *in, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		if (wire == WIRE_WCHAR) {
			uint32_t v = (uint32_t)load_big(in + 2 * i, 2);

			memcpy(out + 4 * i, &v, sizeof(v));
		} else {
			uint64_t v = load_big(in + 4 * i, 4);

			store64(out + 8 * i, wire == WIRE_ULONG ? v : (uint64_t)(int32_t)v);
		}
	}
}

/* ---- types of several kinds of words: along the type signature */

/* Native packed bytes on one side, seen through a window: the user's memory itself,
 * or a copy of some of it that is exchanged as the walk goes on.  Bytes on the wire
 * on the other side. */
struct walk {
	const struct lmpi_type *row;
	uintptr_t user;
	int64_t count;
	enum lmpi_rep rep;
	bool unpack;
	bool stop; /* the wire's bytes are used up, or a value does not fit */
	struct lmpi_unfit *unfit;
	char *near, *near_end; /* what is left of the window */
	char *window;	       /* its beginning if it is a copy, else NULL */
	int64_t pos, total;    /* packed bytes before the window, and in all */
	char *wire, *wire_end;
};

/* The window has no room for a whole element: move it on. */
static void
move_window(struct walk *w)
{
	int64_t used = w->near - w->window;

	if (w->unpack)
		lmpi_type_unpack(w->row, (void *)w->user, w->count, w->window, w->pos, used);
	w->pos += used;
	w->near = w->window;
	w->near_end = w->window + external32_min64(WINDOW, w->total - w->pos);
	if (!w->unpack)
		lmpi_type_pack(w->row, (const void *)w->user, w->count, w->window, w->pos,
			       w->near_end - w->near);
}

static void
does_not_fit(struct walk *w, enum lmpi_wire wire, const char *at)
{
	uint32_t wide;

	w->stop = true;
	w->unfit->bytes = wire_size[wire][w->rep];
	w->unfit->is_unsigned = wire != WIRE_LONG;
	if (wire == WIRE_WCHAR) {
		memcpy(&wide, at, sizeof(wide));
		w->unfit->type = "MPI_WCHAR";
		w->unfit->value = wide;
	} else {
		w->unfit->type = wire == WIRE_LONG ? "MPI_LONG" : "MPI_UNSIGNED_LONG";
		w->unfit->value = load64(at);
	}
}

/* n words, all there on both sides. */
static void
convert_external32(struct walk *w, enum lmpi_wire wire, int64_t n)
{
	int64_t native = wire_size[wire][LMPI_REP_NATIVE], far = wire_size[wire][w->rep];

	if (wire == WIRE_LONG_DOUBLE) {
		for (int64_t i = 0; i < n; i++)
			if (w->unpack)
				lmpi_binary128_load(w->near + i * native, w->wire + i * far);
			else
				lmpi_binary128_store(w->wire + i * far, w->near + i * native);
	} else if (native == far && w->unpack) {
		swap_units(w->near, w->wire, n * far, (int)far);
	} else if (native == far) {
		swap_units(w->wire, w->near, n * far, (int)far);
	} else if (w->unpack) {
		widen(wire, w->near, w->wire, n);
	} else {
		int64_t good = narrow_external32(wire, w->wire, w->near, n);

		if (good < n)
			does_not_fit(w, wire, w->near + good * native);
	}
	w->near += n * native;
	w->wire += n * far;
}

static void
words(struct walk *w, enum lmpi_wire wire, int64_t n)
{
	int64_t native = wire_size[wire][LMPI_REP_NATIVE], far = wire_size[wire][w->rep];

	if (n * native <= w->near_end - w->near && n * far <= w->wire_end - w->wire && !w->stop) {
		convert_external32(w, wire, n); /* without the divisions below: the usual case */
		return;
	}
	while (n > 0 && !w->stop) {
		int64_t there = external32_min64((w->near_end - w->near) / native, n);
		int64_t k = external32_min64((w->wire_end - w->wire) / far, there);

		if (k > 0) {
			convert_external32(w, wire, k);
			n -= k;
		} else if (there > 0 || w->window == NULL) {
			w->stop = true; /* the message ends here */
		} else {
			move_window(w);
		}
	}
}

static void
along(struct walk *w, const struct lmpi_type *t, int64_t n)
{
	const struct lmpi_measure *m = &t->rep[w->rep];

	if (m->swap != 0) {
		words(w, (enum lmpi_wire)__builtin_ctz(m->swap), n * (m->size / m->swap));
		return;
	}
	if (t->basic != LMPI_BASIC_NONE && t->part[1].n == 0) {
		words(w, t->part[0].wire, n * t->part[0].n);
		return;
	}
	if (t->basic == LMPI_BASIC_NONE && t->sigs == 1) {
		along(w, t->sig[0].child, n * t->sig[0].n);
		return;
	}
	for (int64_t i = 0; i < n && !w->stop; i++) {
		if (t->basic != LMPI_BASIC_NONE) {
			words(w, t->part[0].wire, t->part[0].n);
			words(w, t->part[1].wire, t->part[1].n);
			continue;
		}
		for (int64_t k = 0; k < t->sigs && !w->stop; k++)
			along(w, t->sig[k].child, t->sig[k].n);
	}
}

/* False: a value does not fit. */
static bool
walk_external32(struct walk w, char *wire, int64_t len, struct lmpi_unfit *unfit)
{
	char window[WINDOW];

	w.total = w.count * w.row->size;
	w.near = lmpi_type_span(w.row, (const void *)w.user, w.count);
	w.near_end = w.near + w.total;
	if (w.near == NULL)
		w.window = w.near = w.near_end = window;
	w.wire = wire;
	w.wire_end = wire + len;
	w.unfit = unfit;
	unfit->type = NULL;
	along(&w, w.row, w.count);
	if (w.unpack && w.window != NULL)
		move_window(&w);
	return unfit->type == NULL;
}

/* ---- messages */

bool
lmpi_external32_pack(const struct lmpi_type *t, const void *buf, int64_t count, enum lmpi_rep rep,
		     void *out, struct lmpi_unfit *unfit)
{
	struct walk w = {.row = t, .user = (uintptr_t)buf, .count = count, .rep = rep};
	int64_t len = count * t->rep[rep].size;
	int unit = t->rep[rep].swap;
	const char *span;

	if (len == 0)
		return true;
	if (unit == 0)
		return walk_external32(w, out, len, unfit);
	span = lmpi_type_span(t, buf, count);
	if (span != NULL) {
		swap_units(out, span, len, unit);
		return true;
	}
	for (int64_t pos = 0; pos < len; pos += CHUNK) {
		int64_t n = external32_min64(CHUNK, len - pos);
		char *to = (char *)out + pos;

		lmpi_type_pack(t, buf, count, to, pos, n);
		swap_units(to, to, n, unit);
	}
	return true;
}

void
lmpi_external32_unpack(const struct lmpi_type *t, void *buf, int64_t count, enum lmpi_rep rep,
		       const void *in, int64_t len)
{
	struct walk w = {
		.row = t, .user = (uintptr_t)buf, .count = count, .rep = rep, .unpack = true};
	int unit = t->rep[rep].swap;
	struct lmpi_unfit none;
	char window[WINDOW], *span;

	len = external32_min64(len, count * t->rep[rep].size);
	if (unit > 1)
		len = len / unit * unit;
	if (len <= 0)
		return;
	if (unit == 0) {
		walk_external32(w, (char *)(uintptr_t)in, len, &none);
		return;
	}
	span = lmpi_type_span(t, buf, count);
	if (span != NULL) {
		swap_units(span, in, len, unit);
		return;
	}
	if (unit == 1) {
		lmpi_type_unpack(t, buf, count, in, 0, len);
		return;
	}
	for (int64_t pos = 0; pos < len; pos += WINDOW) {
		int64_t n = external32_min64(WINDOW, len - pos);

		swap_units(window, (const char *)in + pos, n, unit);
		lmpi_type_unpack(t, buf, count, window, pos, n);
	}
}
