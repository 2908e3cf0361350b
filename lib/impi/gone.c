/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/gone.h"

void
impi_gone_text(char out[IMPI_GONE_TEXT], const void *text, uint32_t len)
{
	const uint8_t *p = text;
	uint32_t n = len < IMPI_GONE_TEXT ? len : IMPI_GONE_TEXT - 1;
	for (uint32_t i = 0; i < n; i++)
		out[i] = p[i] >= 0x20 && p[i] < 0x7f ? (char)p[i] : '?';
	out[n] = '\0';
}

uint32_t
impi_gone_encode(uint8_t out[IMPI_CMD_HDR_BYTES + IMPI_GONE_BYTES_MAX], uint64_t number,
		 uint32_t bytes, const char *text)
{
	uint32_t n = (uint32_t)strnlen(text, IMPI_GONE_TEXT - 1);
	uint8_t *p = out + IMPI_CMD_HDR_BYTES;
	be32_store(out, IMPI_CMD_GONE);
	be32_store(out + 4, bytes + n);
	if (bytes == 8)
		be64_store(p, number);
	else
		be32_store(p, (uint32_t)number);
	memcpy(p + bytes, text, n);
	return IMPI_CMD_HDR_BYTES + bytes + n;
}
