/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes are a list of reads (the first part) over a buffer (the rest): the cursor
 * against arithmetic on an offset.  The buffer is a heap copy of its exact size, so
 * that AddressSanitizer sees a read of one byte too many. */
#include "base/assert.h"
#include "base/bytes.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t
naive_be(const uint8_t *p, size_t n)
{
	uint64_t v = 0;
	for (size_t i = 0; i < n; i++)
		v = v << 8 | p[i];
	return v;
}

static uint64_t
read_one(struct base_reader *r, size_t n, uint8_t out[256])
{
	switch (n) {
	case 1:
		return base_read_u8(r);
	case 2:
		return base_read_be16(r);
	case 4:
		return base_read_be32(r);
	case 8:
		return base_read_be64(r);
	default: {
		const uint8_t *p = base_read_bytes(r, n);
		if (p && n)
			memcpy(out, p, n);
		return 0;
	}
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	size_t reads = data[0], left = size - 1;
	if (reads > left)
		reads = left;
	const uint8_t *script = data + 1;
	size_t len = left - reads, at = 0;
	uint8_t *buf = malloc(len ? len : 1), copied[256], written[16];
	BASE_ASSERT(buf);
	memcpy(buf, script + reads, len);
	struct base_reader r = base_reader(buf, len);
	bool ok = true;
	for (size_t i = 0; i < reads; i++) {
		size_t n = script[i];
		uint64_t got = read_one(&r, n, copied);
		ok = ok && n <= len - at;
		BASE_ASSERT(base_reader_ok(&r) == ok);
		if (!ok) {
			BASE_ASSERT(got == 0);
			continue;
		}
		if (n == 1 || n == 2 || n == 4 || n == 8) {
			BASE_ASSERT(got == naive_be(buf + at, n));
			struct base_writer w = base_writer(written, sizeof written);
			base_write_be64(&w, got);
			BASE_ASSERT(memcmp(written + 8 - n, buf + at, n) == 0);
		} else {
			BASE_ASSERT(memcmp(copied, buf + at, n) == 0);
		}
		at += n;
		BASE_ASSERT(base_reader_left(&r) == len - at);
	}
	free(buf);
	return 0;
}
