/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/copy.h"

void
base_copy_in_pieces(void *to, const void *from, size_t n)
{
	uint8_t *out = to;
	const uint8_t *in = from;

	for (; n > BASE_COPY_PIECE; n -= BASE_COPY_PIECE) {
		memcpy(out, in, BASE_COPY_PIECE);
		out += BASE_COPY_PIECE;
		in += BASE_COPY_PIECE;
	}
	memcpy(out, in, n);
}
