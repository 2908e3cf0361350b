/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes about light, between a process and its relay. */
#include "light/note.h"

#include "base/assert.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct light_note n, back;
	uint8_t out[LIGHT_NOTE_MAX];
	if (light_note_decode(data, size, &n))
		return 0;
	size_t len = light_note_encode(&n, out);
	BASE_ASSERT(len <= sizeof out && len <= size);
	BASE_ASSERT(light_note_decode(out, len, &back) == 0);
	BASE_ASSERT(memcmp(&n, &back, sizeof n) == 0);
	return 0;
}
