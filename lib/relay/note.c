#include "relay/note.h"

#include "base/bytes.h"
#include "relay/error.h"

#include <stdarg.h>
#include <stdio.h>

void
relay_text_set(char out[RELAY_WHY_MAX], const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(out, RELAY_WHY_MAX, fmt, ap);
	va_end(ap);
}

void
relay_text_copy(char out[RELAY_WHY_MAX], const void *text, size_t len)
{
	const uint8_t *p = text;
	size_t n = len < RELAY_WHY_MAX - 1 ? len : RELAY_WHY_MAX - 1;
	for (size_t i = 0; i < n; i++)
		out[i] = p[i] >= 0x20 && p[i] != 0x7f ? (char)p[i] : '?';
	out[n] = '\0';
}

size_t
relay_note_encode(const struct relay_note *n, uint8_t out[RELAY_NOTE_MAX])
{
	out[0] = n->type;
	if (n->type == RELAY_NOTE_PING)
		return 1;
	be32_store(out + 1, n->label_base);
	size_t at = 5;
	if (n->type == RELAY_NOTE_ABORT) {
		size_t len = strnlen(n->text, RELAY_WHY_MAX - 1);
		be16_store(out + 5, (uint16_t)len);
		memcpy(out + 7, n->text, len);
		at = 7 + len;
	}
	if (!n->token)
		return at;
	be32_store(out + at, n->token);
	return at + 4;
}

int
relay_note_decode(const void *in, size_t len, struct relay_note *n)
{
	struct base_reader r = base_reader(in, len);
	uint8_t type = base_read_u8(&r);
	uint32_t label_base = type == RELAY_NOTE_PING ? 0 : base_read_be32(&r);
	const uint8_t *text = NULL;
	size_t text_len = 0;
	if (type == RELAY_NOTE_ABORT) {
		text_len = base_read_be16(&r);
		text = base_read_bytes(&r, text_len);
	} else if (type != RELAY_NOTE_LEAVE && type != RELAY_NOTE_PING) {
		return RELAY_ERR_MALFORMED;
	}
	/* From a relay: the job's token.  Older ones and processes send none. */
	uint32_t token = 0;
	if (type != RELAY_NOTE_PING && base_reader_ok(&r) && base_reader_left(&r) >= 4)
		token = base_read_be32(&r);
	if (!base_reader_ok(&r))
		return RELAY_ERR_MALFORMED;
	n->type = type;
	n->token = token;
	n->label_base = label_base;
	relay_text_copy(n->text, text, text_len);
	return RELAY_ERR_OK;
}
