/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts of datatypes as packets of windows carry them: whatever the bytes are, what is
 * taken stays within the bounds it told, in packing and in unpacking. */
#include "layout_wire.h"

#include <stdlib.h>
#include <string.h>

#define ROOM (1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t words[512], n = size / 8 < 512 ? size / 8 : 512;
	struct lmpi_type t;
	int64_t bytes, lo, hi, count = 1;

	memcpy(words, data, n * 8);
	if (size % 8 > 0)
		count = data[size - 1];
	if (!lmpi_rma_layout_decode(&t, words, n, count, &bytes, &lo, &hi))
		return 0;
	if (bytes <= 0 || hi <= lo)
		abort();
	if (bytes <= ROOM && hi - lo > 0 && hi - lo <= ROOM) {
		char *memory = malloc((size_t)(hi - lo)), *packed = malloc((size_t)bytes);
		void *base = (void *)((uintptr_t)memory - (uintptr_t)lo);

		memset(memory, 1, (size_t)(hi - lo));
		lmpi_type_pack(&t, base, count, packed, 0, bytes);
		lmpi_type_unpack(&t, base, count, packed, 0, bytes);
		lmpi_type_pack(&t, base, count, packed, bytes / 3, bytes - bytes / 3);
		free(memory);
		free(packed);
	}
	lmpi_rma_layout_release(&t);
	return 0;
}
