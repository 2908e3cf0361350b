/* SPDX-License-Identifier: BSD-2-Clause */
/* text.h - what the readers of key files share. */
#ifndef SEAL_PRIVATE_TEXT_H
#define SEAL_PRIVATE_TEXT_H

#include "seal/keys.h"

static inline bool
seal_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* 64 hexadecimal digits and nothing else. */
bool seal_unhex(const char *s, size_t len, uint8_t out[SEAL_DH]);

/* The next line that counts, without blanks around it; its number in *line, which begins at 0.
 * False: none is left. */
bool seal_next_line(const char **text, size_t *len, unsigned *line, const char **at, size_t *n);

#endif
