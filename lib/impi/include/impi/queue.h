/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/queue.h - bounded queue of bytes on the way out, in the caller's memory.
 *
 * Threads  one owner. */
#ifndef IMPI_QUEUE_H
#define IMPI_QUEUE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* bytes [start, start + len) of buf, modulo cap */
struct impi_queue {
	uint8_t *buf;
	size_t cap, start, len;
};

static inline size_t
impi_queue_room(const struct impi_queue *q)
{
	return q->cap - q->len;
}

/* Append as much of data as fits; returns how much. */
static inline size_t
impi_queue_put(struct impi_queue *q, const void *data, size_t len)
{
	const uint8_t *from = data;
	if (len > impi_queue_room(q))
		len = impi_queue_room(q);
	if (len == 0)
		return 0;
	size_t at = q->start + q->len;
	if (at >= q->cap)
		at -= q->cap;
	size_t first = q->cap - at < len ? q->cap - at : len;
	memcpy(q->buf + at, from, first);
	if (len > first)
		memcpy(q->buf, from + first, len - first);
	q->len += len;
	return len;
}

/* Take at most cap bytes from the front; returns how many. */
static inline size_t
impi_queue_take(struct impi_queue *q, void *out, size_t cap)
{
	uint8_t *to = out;
	size_t len = cap < q->len ? cap : q->len;
	if (len == 0)
		return 0;
	size_t first = q->cap - q->start < len ? q->cap - q->start : len;
	memcpy(to, q->buf + q->start, first);
	if (len > first)
		memcpy(to + first, q->buf, len - first);
	q->len -= len;
	q->start += len;
	if (q->start >= q->cap)
		q->start -= q->cap;
	if (q->len == 0)
		q->start = 0;
	return len;
}

#endif
