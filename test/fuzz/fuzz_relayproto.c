/* SPDX-License-Identifier: BSD-2-Clause */
/* Hello data, notes, texts of ends: lib/relayproto (the first byte of the input chooses). */
#include "relayproto/door.h"
#include "relayproto/hello.h"
#include "relayproto/note.h"

#include "base/assert.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_hello(const uint8_t *data, size_t size)
{
	struct relay_hello h, back;
	uint8_t out[RELAY_HELLO_LEN];
	if (relay_hello_decode(data, size, &h))
		return;
	relay_hello_encode(&h, out);
	BASE_ASSERT(memcmp(out, data, 18) == 0);
	BASE_ASSERT(relay_hello_decode(out, sizeof out, &back) == 0);
}

static void
check_list(const uint8_t *data, size_t size)
{
	struct relay_list l, back;
	uint8_t out[RELAY_LIST_MAX];
	if (relay_list_decode(data, size, &l))
		return;
	BASE_ASSERT(l.n <= RELAY_GROUP_MAX && l.self < l.n && l.npolicies <= RELAY_LIST_POLICIES);
	size_t len = relay_list_encode(&l, out);
	BASE_ASSERT(len <= sizeof out && relay_list_decode(out, len, &back) == 0);
	BASE_ASSERT(memcmp(&back, &l, sizeof l) == 0);
}

static void
check_note(const uint8_t *data, size_t size)
{
	struct relay_note n, back;
	uint8_t out[RELAY_NOTE_MAX];
	if (relay_note_decode(data, size, &n))
		return;
	BASE_ASSERT(memchr(n.text, 0, sizeof n.text));
	size_t len = relay_note_encode(&n, out);
	BASE_ASSERT(len <= sizeof out && relay_note_decode(out, len, &back) == 0);
	BASE_ASSERT(back.type == n.type && back.label_base == n.label_base &&
		    (n.type == RELAY_NOTE_RELAYS || back.token == n.token) && back.ways == n.ways &&
		    back.resend == n.resend && back.ipv4 == n.ipv4 && back.port == n.port &&
		    back.lost == n.lost && back.first == n.first && back.count == n.count);
	BASE_ASSERT(n.type != RELAY_NOTE_ABORT || strcmp(back.text, n.text) == 0);
}

static void
check_door(const uint8_t *data, size_t size)
{
	struct relay_door_note n, back;
	uint8_t out[RELAY_DOOR_NOTE_MAX];
	if (relay_door_decode(data, size, &n))
		return;
	BASE_ASSERT(n.address.len <= RELAY_DOOR_ADDRESS_MAX && n.own.len <= RELAY_DOOR_ADDRESS_MAX);
	size_t len = relay_door_encode(&n, out);
	BASE_ASSERT(len <= sizeof out && relay_door_decode(out, len, &back) == 0);
	BASE_ASSERT(back.op == n.op && back.request == n.request && back.label == n.label &&
		    back.n == n.n && back.realm == n.realm && back.token == n.token &&
		    back.ok == n.ok && back.called == n.called && back.offered == n.offered);
	BASE_ASSERT(back.address.len == n.address.len &&
		    (!n.address.len || memcmp(back.address.at, n.address.at, n.address.len) == 0));
	BASE_ASSERT(n.text.len <= RELAY_DOOR_TEXT_MAX && back.text.len == n.text.len &&
		    (!n.text.len || memcmp(back.text.at, n.text.at, n.text.len) == 0));
}

static void
check_text(const uint8_t *data, size_t size)
{
	char text[RELAY_WHY_MAX];
	relay_text_copy(text, data, size);
	BASE_ASSERT(memchr(text, 0, sizeof text));
	for (const char *p = text; *p; p++)
		BASE_ASSERT(*p >= 0x20 && *p < 0x7f);
	(void)relay_text_status(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] == 4)
		check_door(data + 1, size - 1);
	else if (data[0] == 3)
		check_text(data + 1, size - 1);
	else if (data[0] == 2)
		check_list(data + 1, size - 1);
	else if (data[0] & 1)
		check_note(data + 1, size - 1);
	else
		check_hello(data + 1, size - 1);
	return 0;
}
