/* SPDX-License-Identifier: BSD-2-Clause */
#include "meet/word.h"

#include "base/bytes.h"

#define MAGIC 0x4c4d4b31u /* "LMK1" */

void
meet_word_write(uint8_t b[MEET_WORD_BYTES], enum meet_word what, uint64_t token)
{
	be32_store(b, MAGIC);
	be32_store(b + 4, what);
	be64_store(b + 8, token);
}

bool
meet_word_is(const uint8_t b[MEET_WORD_BYTES], enum meet_word what, uint64_t token)
{
	return be32_load(b) == MAGIC && be32_load(b + 4) == what && be64_load(b + 8) == token;
}
