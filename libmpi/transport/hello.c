/* Hello data and notes of Suci paths, doc/job-setup.md. */
#include "transport.h"

#include "base/bytes.h"

#include <string.h>

void
lmpi_hello_encode(const struct lmpi_hello *h, uint8_t out[LMPI_HELLO_BYTES])
{
	memset(out, 0, LMPI_HELLO_BYTES);
	out[0] = 'S';
	out[1] = 'H';
	out[2] = 1;
	out[3] = h->kind;
	be32_store(out + 4, h->token);
	be32_store(out + 8, h->label);
	be32_store(out + 12, h->rank);
	be16_store(out + 16, h->mtu);
}

bool
lmpi_hello_decode(const void *in, size_t len, struct lmpi_hello *h)
{
	const uint8_t *p = in;

	if (len < LMPI_HELLO_BYTES || p[0] != 'S' || p[1] != 'H' || p[2] != 1)
		return false;
	*h = (struct lmpi_hello){.kind = p[3],
				 .token = be32_load(p + 4),
				 .label = be32_load(p + 8),
				 .rank = be32_load(p + 12),
				 .mtu = be16_load(p + 16)};
	return h->kind == LMPI_HELLO_LIBMPI || h->kind == LMPI_HELLO_RELAY;
}

size_t
lmpi_note_encode(uint8_t type, uint32_t base, const char *text, uint8_t out[LMPI_NOTE_MAX])
{
	struct base_writer w = base_writer(out, LMPI_NOTE_MAX);

	base_write_u8(&w, type);
	base_write_be32(&w, base);
	if (type == LMPI_NOTE_ABORT) {
		size_t n = strnlen(text, LMPI_NOTE_MAX - 8);
		base_write_be16(&w, (uint16_t)n);
		base_write_bytes(&w, text, n);
	}
	return base_writer_len(&w);
}

bool
lmpi_note_decode(const void *in, size_t len, uint8_t *type, uint32_t *base,
		 char text[LMPI_NOTE_MAX])
{
	struct base_reader r = base_reader(in, len);

	*type = base_read_u8(&r);
	*base = base_read_be32(&r);
	text[0] = 0;
	if (*type == LMPI_NOTE_ABORT) {
		size_t n = base_read_be16(&r);
		const uint8_t *p = base_read_bytes(&r, n);
		if (p) {
			n = n < LMPI_NOTE_MAX ? n : LMPI_NOTE_MAX - 1;
			for (size_t i = 0; i < n; i++) /* goes to a terminal */
				text[i] = p[i] >= 32 && p[i] < 127 ? (char)p[i] : '?';
			text[n] = 0;
		}
	}
	return base_reader_ok(&r);
}
