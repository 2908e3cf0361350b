/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.c - see impi/stream.h. */
#include "impi/stream.h"

#include "base/assert.h"

#include <assert.h>

static_assert(sizeof(struct impi_stream) == 160, "impi/stream.h says how large it is");

void
impi_stream_init(struct impi_stream *s, uint32_t datalen)
{
	*s = (struct impi_stream){.datalen = datalen};
}

uint32_t
impi_stream_want(struct impi_stream *s, uint8_t **where)
{
	*where = NULL;
	if (s->fault != IMPI_PACKET_OK)
		return 0;
	if (s->payload_left > 0)
		return s->payload_left;
	if (s->head_len == IMPI_PACKET_BYTES) { /* the packet before is over */
		s->head_len = 0;
		s->payload_off = 0;
	}
	*where = s->head + s->head_len;
	return IMPI_PACKET_BYTES - s->head_len;
}

static unsigned int
header_done(struct impi_stream *s)
{
	struct impi_packet p = impi_packet_decode(s->head);
	s->fault = impi_packet_check(&p, s->datalen);
	if (s->fault != IMPI_PACKET_OK)
		return IMPI_STREAM_FAILED;
	s->npackets++;
	s->payload_left = impi_packet_payload_bytes(&p);
	return s->payload_left ? IMPI_STREAM_HEADER : IMPI_STREAM_HEADER | IMPI_STREAM_END;
}

unsigned int
impi_stream_took(struct impi_stream *s, uint32_t n)
{
	if (s->payload_left > 0) {
		BASE_ASSERT(n > 0 && n <= s->payload_left);
		s->payload_off += n;
		s->payload_left -= n;
		return s->payload_left ? IMPI_STREAM_PAYLOAD
				       : IMPI_STREAM_PAYLOAD | IMPI_STREAM_END;
	}
	BASE_ASSERT(n > 0 && n <= IMPI_PACKET_BYTES - s->head_len);
	s->head_len += n;
	return s->head_len == IMPI_PACKET_BYTES ? header_done(s) : 0;
}

size_t
impi_stream_rx(struct impi_stream *s, const void *bytes, size_t len, struct impi_stream_step *step)
{
	uint8_t *where;
	uint32_t n = impi_stream_want(s, &where);

	*step = (struct impi_stream_step){0};
	if (n > len)
		n = (uint32_t)len;
	if (n == 0)
		return 0;
	if (where) {
		memcpy(where, bytes, n);
	} else {
		step->span = bytes;
		step->bytes = n;
		step->off = s->payload_off;
	}
	step->what = impi_stream_took(s, n);
	return n;
}
