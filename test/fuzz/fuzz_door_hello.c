/* SPDX-License-Identifier: BSD-2-Clause */
/* What a stranger says who opens a path to a door without a relay: lib/door, door/hello.h. */
#include "door/hello.h"

#include "base/assert.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct door_address me = {
		.realm = 7, .token = 99, .label = 1, .n = 4, .flags = DOOR_FLAG_PROCESS};
	uint8_t out[DOOR_HELLO_LEN];
	struct door_hello h, mine = door_hello_to(&me, 0);
	if (!door_hello_read(data, size, &h)) {
		/* Nothing but its beginning is asked of a hello. */
		BASE_ASSERT(size < DOOR_HELLO_LEN || memcmp(data, "SUCI\0\2", 6) != 0);
		return 0;
	}
	door_hello_write(&h, out);
	BASE_ASSERT(memcmp(out, data, 12) == 0 && memcmp(out + 16, data + 16, 8) == 0);
	BASE_ASSERT(door_hello_proves(&h, &me) == (h.label == me.label && h.proof == mine.proof));
	return 0;
}
