/* SPDX-License-Identifier: BSD-2-Clause */
/* spx/record.h - the messages of one frame: a frame's bytes as MPI programs see them.
 *
 *     {u32 tag, u32 0, u64 length, bytes, 0 up to a multiple of 8} ...	 big-endian
 *
 * A program that is in a frame sends any number of messages to the next stage: they become records
 * one behind the other.  The next stage receives them by tag, in that order.
 *
 * Errors   bytes from outside: spx_records_check() says false; then nobody may walk them.
 * Threads  pure functions. */
#ifndef SPX_RECORD_H
#define SPX_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPX_RECORD_HEAD 16u

struct spx_record {
	uint32_t tag;
	uint64_t len;
	const void *bytes;
};

/* Bytes that a message of len takes. */
static inline size_t
spx_record_bytes(size_t len)
{
	return SPX_RECORD_HEAD + ((len + 7) & ~(size_t)7);
}
/* Writes all but the message: where that goes, len bytes. */
void *spx_record_write(void *to, uint32_t tag, size_t len);
bool spx_records_check(const void *frame, size_t len);
/* The record at *at, which goes on to the next one; false: there is none.  *at is 0 at first. */
bool spx_record_next(const void *frame, size_t len, size_t *at, struct spx_record *r);

#endif
