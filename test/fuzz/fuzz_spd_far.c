/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of daemons of other sites: whatever comes, what two honest ones say afterwards is heard
 * once they have greeted; and nothing that is not theirs is a block, where they have a key.
 *
 *	u8 flags (1: without keys; 2: the head is made right) | pieces: u8 length | bytes */
#include "spd/far.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "../toy_aead.h"

#include <string.h>

#define ROOM 320u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* To unit 0, of unit 1. */
static enum spd_far_got
hear_bytes(struct spd_far *to, const uint8_t *bytes, size_t n)
{
	uint8_t copy[ROOM];
	const uint8_t *block = NULL;
	uint32_t unit = 9;
	size_t len = 0;

	memcpy(copy, bytes, n);
	enum spd_far_got got = spd_far_open(to, copy, n, &unit, &block, &len);
	BASE_ASSERT(got == SPD_FAR_BAD || unit == 9 || unit == 1);
	if (got == SPD_FAR_BLOCK)
		BASE_ASSERT(block >= copy && block + len <= copy + n);
	return got;
}

static void
right_head(uint8_t *b, size_t n, bool open)
{
	if (n < SPD_FAR_HEAD)
		return;
	b[0] = 1;
	b[1] = 1 + (b[1] & 1);
	be16_store(b + 2, 1);
	be16_store(b + 4, 0);
	be16_store(b + 6, 0);
	be32_store(b + 8, open ? 0 : 7);
	be32_store(b + 12, 0);
	be64_store(b + 16, b[23] & 1 ? 5 : 6);
	be64_store(b + 24, b[31] & 1 ? 4 : 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct seal_psk key = {.id = 7, .secret = "a key"};
	uint8_t bytes[ROOM], flags = size ? data[0] : 0;
	struct spd_far *f = spd_far_new(toy_aead(), 2, 0, 4), *other;
	bool open = flags & 1;

	BASE_ASSERT(f);
	spd_far_keys(f, &key, !open);
	for (size_t at = 1; at < size;) {
		size_t n = data[at++];
		n = n < size - at ? n : size - at;
		memcpy(bytes, data + at, n);
		at += n;
		if (flags & 2)
			right_head(bytes, n, open);
		enum spd_far_got got = hear_bytes(f, bytes, n);
		BASE_ASSERT(got != SPD_FAR_BLOCK || open);
	}
	other = spd_far_new(toy_aead(), 2, 1, 99);
	BASE_ASSERT(other);
	spd_far_keys(other, &key, !open);
	for (uint32_t i = 0; i < 4; i++) {
		(void)hear_bytes(f, bytes, spd_far_hello(other, 0, bytes));
		size_t n = spd_far_hello(f, 1, bytes), len;
		const uint8_t *block;
		uint32_t unit;
		(void)spd_far_open(other, bytes, n, &unit, &block, &len);
	}
	BASE_ASSERT(spd_far_knows(f, 1) && spd_far_knows(other, 0));
	BASE_ASSERT(hear_bytes(f, bytes, spd_far_seal(other, 0, "x", 1, bytes)) == SPD_FAR_BLOCK);
	spd_far_free(f);
	spd_far_free(other);
	return 0;
}
