/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/stream.h - the packets in the byte stream of a host-to-host channel.
 *
 * A stream is 128-byte headers, each followed by its payload if it is DATA or
 * DATASYNC (IMPI reference 5.1).  The splitter finds them whatever the cuts, holds
 * one header and no payload, and judges every header with impi_packet_check()
 * before a byte of its payload is looked at.
 *
 * Two ways to feed it, free to be mixed:
 *
 *   push   bytes that are here already; payload is told as spans of them
 *
 *     for (; (n = impi_stream_rx(s, p, len, &step)) > 0; p += n, len -= n) {
 *             if (step.what & IMPI_STREAM_HEADER)  begin(impi_stream_packet(s));
 *             if (step.what & IMPI_STREAM_PAYLOAD) take(step.off, step.span, step.bytes);
 *             if (step.what & IMPI_STREAM_END)     end();
 *             if (step.what & IMPI_STREAM_FAILED)  close, see s->fault
 *     }
 *
 *   pull   ask what comes next, recv() it straight to where it belongs
 *
 *     n = impi_stream_want(s, &where);   // where: NULL = payload, to the caller's own place,
 *                                        // which begins s->payload_off bytes into the payload
 *     n = recv(fd, where ? where : place, n, 0);
 *     what = impi_stream_took(s, n);     // the same bits; PAYLOAD: those n bytes
 *
 * A packet without payload is HEADER and END in one step; one with payload is
 * HEADER, then PAYLOAD once or more, the last together with END.
 *
 * Memory   the struct (160 bytes).
 * Threads  one owner. */
#ifndef IMPI_STREAM_H
#define IMPI_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/wire.h"

#define IMPI_STREAM_HEADER  0x1u /* a header is complete and in order */
#define IMPI_STREAM_PAYLOAD 0x2u /* a piece of payload */
#define IMPI_STREAM_END	    0x4u /* the packet is complete; the next byte begins a header */
#define IMPI_STREAM_FAILED  0x8u /* not a packet stream; nothing more is taken.  Told once */

struct impi_stream_step {
	unsigned int what;   /* IMPI_STREAM_* bits, 0: nothing to tell */
	const uint8_t *span; /* PAYLOAD: in the bytes given */
	uint32_t bytes;	     /* PAYLOAD: of span */
	uint32_t off;	     /* PAYLOAD: of the span in the packet's payload */
};

/* Read all fields freely, write none. */
struct impi_stream {
	uint64_t npackets;	      /* headers that were in order */
	uint32_t datalen;	      /* negotiated */
	uint32_t head_len;	      /* bytes of head that are here; 128 from HEADER to END */
	uint32_t payload_off;	      /* bytes of this packet's payload taken */
	uint32_t payload_left;	      /* and still to come */
	enum impi_packet_fault fault; /* IMPI_PACKET_OK unless FAILED */
	uint8_t head[IMPI_PACKET_BYTES];
};

/* datalen: as negotiated (impi_tables.datalen). */
void impi_stream_init(struct impi_stream *s, uint32_t datalen);

/* Take bytes up to and including the first thing to tell; returns how many
 * (0 only if len is 0 or the stream has failed). */
size_t impi_stream_rx(struct impi_stream *s, const void *bytes, size_t len,
		      struct impi_stream_step *step);

/* How many bytes may come next, all of one kind; 0 if the stream has failed.
 * *where: into the header, or NULL for payload. */
uint32_t impi_stream_want(struct impi_stream *s, uint8_t **where);
/* n of them have come, 1 <= n <= what want said.  IMPI_STREAM_* bits. */
unsigned int impi_stream_took(struct impi_stream *s, uint32_t n);

/* From HEADER on, until a byte of the next packet comes: the packet. */
static inline struct impi_packet
impi_stream_packet(const struct impi_stream *s)
{
	return impi_packet_decode(s->head);
}

/* Inside a packet: an end of the stream here cuts it off. */
static inline bool
impi_stream_is_midway(const struct impi_stream *s)
{
	return s->payload_left > 0 || (s->head_len > 0 && s->head_len < IMPI_PACKET_BYTES);
}

#endif
