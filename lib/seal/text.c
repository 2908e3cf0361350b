/* SPDX-License-Identifier: BSD-2-Clause */
#include "text.h"

#include <string.h>

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool
seal_unhex(const char *s, size_t len, uint8_t out[SEAL_DH])
{
	if (len != 2 * SEAL_DH)
		return false;
	for (size_t n = 0; n < SEAL_DH; n++) {
		int hi = digit(s[2 * n]), lo = digit(s[2 * n + 1]);
		if (hi < 0 || lo < 0)
			return false;
		out[n] = (uint8_t)(hi << 4 | lo);
	}
	return true;
}

void
seal_hex(const uint8_t key[SEAL_DH], char out[2 * SEAL_DH + 1])
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < SEAL_DH; i++) {
		out[2 * i] = digits[key[i] >> 4];
		out[2 * i + 1] = digits[key[i] & 15];
	}
	out[2 * SEAL_DH] = 0;
}

bool
seal_next_line(const char **text, size_t *len, unsigned *line, const char **at, size_t *n)
{
	while (*len) {
		const char *nl = memchr(*text, '\n', *len), *s = *text;
		size_t here = nl ? (size_t)(nl - *text) : *len, whole = here + (nl != NULL);
		*text += whole;
		*len -= whole;
		++*line;
		for (; here && seal_blank(*s); s++)
			here--;
		while (here && seal_blank(s[here - 1]))
			here--;
		if (here && *s != '#') {
			*at = s;
			*n = here;
			return true;
		}
	}
	return false;
}
