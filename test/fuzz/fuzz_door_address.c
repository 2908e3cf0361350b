/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of doors, as bytes (first byte even) and as text: lib/door. */
#include "door/address.h"

#include "base/assert.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One address has one form. */
static void
check_forms(const struct door_address *a, const void *bytes, size_t len)
{
	struct door_address back;
	uint8_t out[DOOR_ADDRESS_MAX];
	char text[DOOR_TEXT_MAX];
	memset(&back, 0xff, sizeof back);
	size_t n = door_address_encode(a, out);
	BASE_ASSERT(n && n <= sizeof out);
	BASE_ASSERT(!bytes || (n == len && memcmp(out, bytes, n) == 0));
	BASE_ASSERT(door_address_print(a, text) == 0 && strlen(text) < sizeof text);
	BASE_ASSERT(door_address_parse(text, &back) == 0);
	BASE_ASSERT(back.label == a->label && back.token == a->token && back.n == a->n);
	if (!(a->flags & DOOR_FLAG_PROCESS))
		return;
	uint8_t ip[16], whole[DOOR_ADDRESS_MAX];
	door_address_place(a, ip);
	door_address_put_place(&back, ip, a->relay[0].port);
	BASE_ASSERT(door_address_encode(&back, whole) == n && memcmp(whole, out, n) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct door_address a;
	char text[256], again[DOOR_TEXT_MAX];
	if (size == 0)
		return 0;
	if (!(data[0] & 1)) {
		if (door_address_decode(data + 1, size - 1, &a) == 0)
			check_forms(&a, data + 1, size - 1);
		return 0;
	}
	size_t len = size - 1 < sizeof text - 1 ? size - 1 : sizeof text - 1;
	memcpy(text, data + 1, len);
	text[len] = 0;
	if (door_address_parse(text, &a))
		return 0;
	check_forms(&a, NULL, 0);
	BASE_ASSERT(door_address_print(&a, again) == 0 && strcmp(again, text) == 0);
	return 0;
}
