/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages of a frame: whatever comes, a walk stays within it, and what is well formed is
 * written again as the same bytes but for what fills up. */
#include "spx/record.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool good = spx_records_check(data, size);
	uint8_t *again = malloc(size + 1);
	struct spx_record r;
	size_t at = 0, before = 0;

	BASE_ASSERT(again);
	while (spx_record_next(data, size, &at, &r)) {
		BASE_ASSERT(at <= size && at - before == spx_record_bytes((size_t)r.len));
		void *to = spx_record_write(again + before, r.tag, (size_t)r.len);
		if (r.len)
			memcpy(to, r.bytes, (size_t)r.len);
		BASE_ASSERT(
			!memcmp(again + before, data + before, SPX_RECORD_HEAD + (size_t)r.len));
		before = at;
	}
	BASE_ASSERT(good == (at == size));
	free(again);
	return 0;
}
