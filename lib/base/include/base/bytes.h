/* SPDX-License-Identifier: BSD-2-Clause */
/* base/bytes.h - big-endian loads and stores, and a bounds-checked cursor.
 *
 * A parser of outside bytes reads through struct base_reader: reading past the
 * end returns zeros and sets a sticky flag, so the parser checks once, at the
 * end, with base_reader_ok().  A writer works alike.  Nothing here casts a
 * byte pointer to a wider type; compilers turn the loads into one move and a
 * byte swap.
 *
 * Threads  plain values, one owner.  Allocates nothing. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t
be16_load(const void *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof v);
	return __builtin_bswap16(v);
}

static inline uint32_t
be32_load(const void *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return __builtin_bswap32(v);
}

static inline uint64_t
be64_load(const void *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return __builtin_bswap64(v);
}

static inline void
be16_store(void *p, uint16_t v)
{
	v = __builtin_bswap16(v);
	memcpy(p, &v, sizeof v);
}

static inline void
be32_store(void *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof v);
}

static inline void
be64_store(void *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof v);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "base/bytes.h swaps; a big-endian host needs its own loads");

struct base_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool overrun; /* sticky: some read went past end */
};

static inline struct base_reader
base_reader(const void *p, size_t len)
{
	const uint8_t *b = p;
	return (struct base_reader){.at = b, .end = len ? b + len : b};
}

static inline size_t
base_reader_left(const struct base_reader *r)
{
	return (size_t)(r->end - r->at);
}

/* True while no read overran. */
static inline bool
base_reader_ok(const struct base_reader *r)
{
	return !r->overrun;
}

/* The next len bytes, or NULL (and the sticky flag) if there are fewer.  After an
 * overrun every read fails: what follows a bad length is not looked at. */
static inline const uint8_t *
base_read_bytes(struct base_reader *r, size_t len)
{
	if (r->overrun || base_reader_left(r) < len) {
		r->overrun = true;
		return NULL;
	}
	const uint8_t *p = r->at;
	if (len) /* at may be NULL in an empty reader */
		r->at += len;
	return p;
}

static inline uint8_t
base_read_u8(struct base_reader *r)
{
	const uint8_t *p = base_read_bytes(r, 1);
	return p ? *p : 0;
}

static inline uint16_t
base_read_be16(struct base_reader *r)
{
	const uint8_t *p = base_read_bytes(r, 2);
	return p ? be16_load(p) : 0;
}

static inline uint32_t
base_read_be32(struct base_reader *r)
{
	const uint8_t *p = base_read_bytes(r, 4);
	return p ? be32_load(p) : 0;
}

static inline uint64_t
base_read_be64(struct base_reader *r)
{
	const uint8_t *p = base_read_bytes(r, 8);
	return p ? be64_load(p) : 0;
}

struct base_writer {
	uint8_t *start;
	uint8_t *at;
	uint8_t *end;
	bool overrun; /* sticky: some write did not fit and was left out */
};

static inline struct base_writer
base_writer(void *p, size_t len)
{
	uint8_t *b = p;
	return (struct base_writer){.start = b, .at = b, .end = len ? b + len : b};
}

static inline bool
base_writer_ok(const struct base_writer *w)
{
	return !w->overrun;
}

static inline size_t
base_writer_len(const struct base_writer *w)
{
	return (size_t)(w->at - w->start);
}

/* Room for len bytes, or NULL (and the sticky flag). */
static inline uint8_t *
base_write_room(struct base_writer *w, size_t len)
{
	if (w->overrun || (size_t)(w->end - w->at) < len) {
		w->overrun = true;
		return NULL;
	}
	uint8_t *p = w->at;
	if (len)
		w->at += len;
	return p;
}

static inline void
base_write_u8(struct base_writer *w, uint8_t v)
{
	uint8_t *p = base_write_room(w, 1);
	if (p)
		*p = v;
}

static inline void
base_write_be16(struct base_writer *w, uint16_t v)
{
	uint8_t *p = base_write_room(w, 2);
	if (p)
		be16_store(p, v);
}

static inline void
base_write_be32(struct base_writer *w, uint32_t v)
{
	uint8_t *p = base_write_room(w, 4);
	if (p)
		be32_store(p, v);
}

static inline void
base_write_be64(struct base_writer *w, uint64_t v)
{
	uint8_t *p = base_write_room(w, 8);
	if (p)
		be64_store(p, v);
}

static inline void
base_write_bytes(struct base_writer *w, const void *src, size_t len)
{
	uint8_t *p = base_write_room(w, len);
	if (p && len)
		memcpy(p, src, len);
}

#endif
