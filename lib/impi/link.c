/* SPDX-License-Identifier: BSD-2-Clause */
/* link.c - see impi/link.h. */
#include "impi/link.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum impi_link_role
impi_link_role(const struct impi_tables *t, uint32_t me, uint32_t peer)
{
	if (impi_tables_client_of_host(t, me) == impi_tables_client_of_host(t, peer))
		return IMPI_LINK_NONE;
	return me > peer ? IMPI_LINK_CONNECT : IMPI_LINK_ACCEPT;
}

void
impi_link_init(struct impi_link *l, enum impi_link_role role, uint32_t me, uint32_t peer,
	       uint32_t datalen, uint64_t deadline_ns)
{
	BASE_ASSERT(role != IMPI_LINK_NONE && me != peer);
	*l = (struct impi_link){.role = role, .me = me, .peer = peer, .deadline_ns = deadline_ns};
	impi_stream_init(&l->rx, datalen);
}

void
impi_link_connected(struct impi_link *l, uint8_t ident[IMPI_IDENT_BYTES])
{
	BASE_ASSERT(l->role == IMPI_LINK_CONNECT && l->state == IMPI_LINK_WAITING);
	be32_store(ident, l->me);
	l->state = IMPI_LINK_RUNNING;
}

void
impi_link_adopt(struct impi_link *l)
{
	BASE_ASSERT(l->role == IMPI_LINK_ACCEPT && l->state == IMPI_LINK_WAITING);
	l->state = IMPI_LINK_RUNNING;
}

void
impi_link_fail(struct impi_link *l, enum impi_err code, const char *fmt, ...)
{
	char text[IMPI_ERROR_TEXT_MAX];
	va_list ap;

	if (l->state == IMPI_LINK_FAILED || l->state == IMPI_LINK_FINISHED)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	impi_error_set(&l->err, code, "%s", text);
	l->state = IMPI_LINK_FAILED;
}

bool
impi_link_tick(struct impi_link *l, uint64_t now_ns)
{
	if (l->state != IMPI_LINK_WAITING || now_ns < l->deadline_ns)
		return false;
	impi_link_fail(l, IMPI_ERR_TIMEOUT,
		       l->role == IMPI_LINK_CONNECT ? "no connection to host %" PRIu32 " in time"
						    : "host %" PRIu32 " has not connected in time",
		       l->peer);
	return true;
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
		impi_link_fail(l, IMPI_ERR_PACKET,
			       "host %" PRIu32 " sent a packet of type %" PRIu32 ", length %" PRIu32
			       ", message length %" PRIu64 ": %s",
			       l->peer, p.type, p.len, p.msglen,
			       impi_packet_fault_name(l->rx.fault));
	} else if (what & IMPI_STREAM_HEADER) {
		uint32_t type = be32_load(l->rx.head);
		if (l->fini_seen) {
			impi_link_fail(l, IMPI_ERR_ORDER, "host %" PRIu32 " sent %s after FINI",
				       l->peer, impi_packet_type_name(type));
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

uint32_t
impi_link_want(struct impi_link *l, uint8_t **where)
{
	*where = NULL;
	return l->state == IMPI_LINK_RUNNING ? impi_stream_want(&l->rx, where) : 0;
}

unsigned int
impi_link_took(struct impi_link *l, uint32_t n)
{
	BASE_ASSERT(l->state == IMPI_LINK_RUNNING);
	return judge_link(l, impi_stream_took(&l->rx, n));
}

bool
impi_link_eof(struct impi_link *l)
{
	if (l->state != IMPI_LINK_WAITING && l->state != IMPI_LINK_RUNNING)
		return false;
	l->peer_closed = true;
	if (l->fini_seen && !impi_stream_is_midway(&l->rx)) {
		fini_done(l);
		return false;
	}
	impi_link_fail(l, IMPI_ERR_EOF, "host %" PRIu32 " closed the connection %s", l->peer,
		       impi_stream_is_midway(&l->rx) ? "inside a packet" : "without FINI");
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

void
impi_ident_init(struct impi_ident *in, uint64_t deadline_ns)
{
	*in = (struct impi_ident){.deadline_ns = deadline_ns};
}

size_t
impi_ident_rx(struct impi_ident *in, const void *bytes, size_t len)
{
	uint32_t want = impi_ident_want(in), n = len < want ? (uint32_t)len : want;
	memcpy(in->byte + in->len, bytes, n);
	in->len += n;
	return n;
}

uint32_t
impi_ident_rank(const struct impi_ident *in)
{
	BASE_ASSERT(in->len == IMPI_IDENT_BYTES);
	return be32_load(in->byte);
}

enum impi_err
impi_ident_check(const struct impi_tables *t, uint32_t me, uint32_t rank, enum impi_link_state have,
		 struct impi_error *err)
{
	if (rank >= t->nhosts)
		return impi_error_set(err, IMPI_ERR_RANK,
				      "a connection names itself host %" PRIu32 " of %" PRIu32,
				      rank, t->nhosts);
	if (rank <= me)
		return impi_error_set(err, IMPI_ERR_RANK,
				      "a connection names itself host %" PRIu32
				      ", which is not above this one (%" PRIu32 ")",
				      rank, me);
	if (impi_link_role(t, me, rank) == IMPI_LINK_NONE)
		return impi_error_set(err, IMPI_ERR_RANK,
				      "a connection names itself host %" PRIu32
				      ", which is of the same client",
				      rank);
	if (have != IMPI_LINK_WAITING)
		return impi_error_set(err, IMPI_ERR_DUPLICATE,
				      "a second connection names itself host %" PRIu32, rank);
	return IMPI_ERR_OK;
}

bool
impi_ident_source_matches(const struct impi_tables *t, uint32_t rank, uint32_t ipv4)
{
	uint32_t announced;
	BASE_ASSERT(rank < t->nhosts);
	return impi_addr_classify(t->host[rank].addr, &announced) != IMPI_ADDR_V4 ||
	       announced == ipv4;
}
