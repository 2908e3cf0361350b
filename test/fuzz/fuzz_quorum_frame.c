/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of lib/quorum: bytes from anybody who has the cluster's key, to the codec.  libraft itself
 * is not fed: it asserts what only another libraft keeps to. */
#include "quorum/quorum.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	(void)quorum_frame_read(data, size);
	return 0;
}
