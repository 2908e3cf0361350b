/* SPDX-License-Identifier: BSD-2-Clause */
/* Ethernet frames as an AF_XDP socket gets them.  What is taken lies inside the frame, and a
 * bit that changes in what its checksums cover is noticed. */
#include "frame.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct udp_frame f, again;

	if (size > 4096 || suci_udp_frame_parse(data, (uint32_t)size, &f) != FRAME_OK)
		return 0;
	BASE_ASSERT(f.at == (f.family == 6 ? FRAME_HDR6_BYTES : FRAME_HDR_BYTES));
	BASE_ASSERT(f.len <= size - f.at);
	if (f.family == 6)
		return 0;
	BASE_ASSERT(suci_udp_frame_sum(data + 14, 20) == 0xffff);
	uint8_t *copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	/* The IP header is always covered. */
	copy[14 + data[0] % 20] ^= (uint8_t)(1u << data[1] % 8);
	BASE_ASSERT(suci_udp_frame_parse(copy, (uint32_t)size, &again) != FRAME_OK);
	free(copy);
	return 0;
}
