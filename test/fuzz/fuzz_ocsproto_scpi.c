/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of a SCPI switch, see fuzz_ocsproto.h. */
#include "fuzz_ocsproto.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_session((struct ocsproto_config){.kind = OCSPROTO_SCPI}, data, size);
}
