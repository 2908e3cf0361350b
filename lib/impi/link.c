/* SPDX-License-Identifier: BSD-2-Clause */
/* link.c - see impi/link.h. */
#include "impi/link.h"

#include <inttypes.h>

void
impi_link_init(struct impi_link *l, uint32_t peer, uint32_t datalen)
{
	*l = (struct impi_link){.peer = peer};
	impi_stream_init(&l->rx, datalen);
}

static void
fini_done(struct impi_link *l)
{
	if (l->fini_seen && (l->fini_sent || l->peer_closed))
		l->state = IMPI_LINK_FINISHED;
}

/* The splitter's word, with what a channel demands besides. */
static unsigned int
judge_link(struct impi_link *l, unsigned int what)
{
	if (what & IMPI_STREAM_FAILED) {
		struct impi_packet p = impi_stream_packet(&l->rx);
		impi_error_set(&l->err, IMPI_ERR_PACKET,
			       "host %" PRIu32 " sent a packet of type %" PRIu32 ", length %" PRIu32
			       ", message length %" PRIu64 ": %s",
			       l->peer, p.type, p.len, p.msglen,
			       impi_packet_fault_name(l->rx.fault));
		l->state = IMPI_LINK_FAILED;
	} else if (what & IMPI_STREAM_HEADER) {
		uint32_t type = be32_load(l->rx.head);
		if (l->fini_seen) {
			impi_error_set(&l->err, IMPI_ERR_ORDER,
				       "host %" PRIu32 " sent %s after FINI", l->peer,
				       impi_packet_type_name(type));
			l->state = IMPI_LINK_FAILED;
			return IMPI_STREAM_FAILED;
		}
		if (type == IMPI_PK_FINI) {
			l->fini_seen = true;
			fini_done(l);
		}
	}
	return what;
}

size_t
impi_link_rx(struct impi_link *l, const void *bytes, size_t len, struct impi_stream_step *step)
{
	*step = (struct impi_stream_step){0};
	if (l->state != IMPI_LINK_RUNNING)
		return 0;
	size_t n = impi_stream_rx(&l->rx, bytes, len, step);
	step->what = judge_link(l, step->what);
	return n;
}

bool
impi_link_eof(struct impi_link *l)
{
	if (l->state != IMPI_LINK_RUNNING)
		return false;
	l->peer_closed = true;
	if (l->fini_seen && !impi_stream_is_midway(&l->rx)) {
		fini_done(l);
		return false;
	}
	impi_error_set(&l->err, IMPI_ERR_EOF, "host %" PRIu32 " closed the connection %s", l->peer,
		       impi_stream_is_midway(&l->rx) ? "inside a packet" : "without FINI");
	l->state = IMPI_LINK_FAILED;
	return true;
}

bool
impi_link_may_send(const struct impi_link *l, uint32_t type)
{
	if (l->state != IMPI_LINK_RUNNING || l->fini_sent)
		return false;
	return !l->fini_seen || type == IMPI_PK_PROTOACK || type == IMPI_PK_CANCELYES ||
	       type == IMPI_PK_CANCELNO || type == IMPI_PK_FINI;
}

void
impi_link_fini_packet(uint8_t out[IMPI_PACKET_BYTES])
{
	struct impi_packet p = {.type = IMPI_PK_FINI};
	impi_packet_encode(&p, out);
}

void
impi_link_fini_sent(struct impi_link *l)
{
	if (l->state != IMPI_LINK_RUNNING)
		return;
	l->fini_sent = true;
	fini_done(l);
}
