/* SPDX-License-Identifier: BSD-2-Clause */
#include "door/hello.h"

#include "base/bytes.h"

struct door_hello
door_hello_to(const struct door_address *to, uint16_t flags)
{
	return (struct door_hello){.flags = flags, .label = to->label, .proof = door_proof(to)};
}

void
door_hello_write(const struct door_hello *h, uint8_t out[DOOR_HELLO_LEN])
{
	be32_store(out, DOOR_HELLO_MAGIC);
	be32_store(out + 4, DOOR_HELLO_VERSION << 16 | h->flags);
	be32_store(out + 8, h->label);
	be32_store(out + 12, 0);
	be64_store(out + 16, h->proof);
}

bool
door_hello_read(const void *in, size_t len, struct door_hello *h)
{
	const uint8_t *b = in;

	if (len < DOOR_HELLO_LEN || be32_load(b) != DOOR_HELLO_MAGIC ||
	    be32_load(b + 4) >> 16 != DOOR_HELLO_VERSION)
		return false;
	*h = (struct door_hello){.flags = (uint16_t)be32_load(b + 4),
				 .label = be32_load(b + 8),
				 .proof = be64_load(b + 16)};
	return true;
}

bool
door_hello_proves(const struct door_hello *h, const struct door_address *me)
{
	return h->label == me->label && h->proof == door_proof(me);
}
