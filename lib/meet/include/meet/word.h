/* SPDX-License-Identifier: BSD-2-Clause */
/* meet/word.h - the words by which two roots begin to talk (meet/talk.h, meet/port.h).
 *
 * Each has 16 bytes: magic 32 "LMK1", which 32, token 64, big-endian.  The token is that of the
 * port, and proves that its name was given to whoever says it.
 *
 * Threads  plain functions.  Errors  false: other bytes. */
#ifndef MEET_WORD_H
#define MEET_WORD_H

#include <stdbool.h>
#include <stdint.h>

#define MEET_WORD_BYTES 16u

/* KNOCK_FAR: over a door, where nothing is said to go on.  FROM: a line's first block, before any
 * knock; the token is that of the door whose address follows (meet/lines.h). */
enum meet_word { MEET_KNOCK = 1, MEET_TAKEN, MEET_GO, MEET_KNOCK_FAR, MEET_FROM };

void meet_word_write(uint8_t bytes[MEET_WORD_BYTES], enum meet_word what, uint64_t token);
bool meet_word_is(const uint8_t bytes[MEET_WORD_BYTES], enum meet_word what, uint64_t token);

#endif
