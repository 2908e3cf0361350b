/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes between daemons: what is read is written again as the same bytes. */
#include "spd/wire.h"

#include "base/assert.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spd_note n;
	static uint8_t bytes[SPD_HEAD + SPD_BODY_MAX];

	if (!spd_note_read(&n, data, size) || n.type == SPD_NOTE_SP)
		return 0;
	BASE_ASSERT(spd_note_write(&n, bytes, sizeof bytes) == size);
	BASE_ASSERT(memcmp(bytes, data, size) == 0);
	return 0;
}
