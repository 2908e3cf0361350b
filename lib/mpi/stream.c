/* SPDX-License-Identifier: BSD-2-Clause */
#include "mpi/stream.h"

#include "internal.h"

#include "canary.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

#define HABIT 4u /* packets */

/* --- who is there --------------------------------------------------------- */

static void
say_hello(struct lmpi_stream *s, const uint8_t hello[LMPI_STREAM_HELLO])
{
	memcpy(s->hello, hello, LMPI_STREAM_HELLO);
	s->hello_left = LMPI_STREAM_HELLO;
}

void
lmpi_stream_ask(struct lmpi_stream *s, struct lmpi_peer *peer,
		const uint8_t hello[LMPI_STREAM_HELLO])
{
	*s = (struct lmpi_stream){.state = LMPI_STREAM_ASKED, .peer = peer};
	say_hello(s, hello);
}

void
lmpi_stream_expect(struct lmpi_stream *s)
{
	*s = (struct lmpi_stream){.state = LMPI_STREAM_CAME};
}

void
lmpi_stream_meet(struct lmpi_stream *s, struct lmpi_peer *peer,
		 const uint8_t answer[LMPI_STREAM_HELLO])
{
	BASE_ASSERT(lmpi_stream_has_hello(s));
	s->state = LMPI_STREAM_UP;
	s->peer = peer;
	s->head_n = 0;
	if (answer)
		say_hello(s, answer);
}

bool
lmpi_stream_takes_other(enum lmpi_stream_state mine, uint32_t me, uint32_t peer)
{
	return mine == LMPI_STREAM_NONE || mine == LMPI_STREAM_OVER ||
	       (mine == LMPI_STREAM_ASKED && peer < me);
}

/* --- going out ------------------------------------------------------------ */

bool
lmpi_stream_wanted(struct lmpi_stream_habit *h, const struct lmpi_out *out)
{
	if (out->both)
		h->left = HABIT;
	else
		h->left -= h->left > 0;
	return h->left > 0;
}

void
lmpi_stream_send(struct lmpi_stream *s, struct lmpi_out *out)
{
	BASE_ASSERT(s->state == LMPI_STREAM_UP && lmpi_stream_carries(out));
	out->sent = 0;
	out->next = NULL;
	if (s->out_first)
		s->out_last->next = out;
	else
		s->out_first = out;
	s->out_last = out;
}

int
lmpi_stream_out(const struct lmpi_stream *s, struct lmpi_stream_bytes piece[2])
{
	const struct lmpi_out *out = s->out_first;
	int n = 0;

	if (s->hello_left > 0) {
		piece[n++] = (struct lmpi_stream_bytes){
			s->hello + LMPI_STREAM_HELLO - s->hello_left, s->hello_left};
		return n;
	}
	if (!out)
		return 0;
	uint64_t head = out->sent < sizeof out->hdr ? sizeof out->hdr - out->sent : 0;
	if (head > 0)
		piece[n++] = (struct lmpi_stream_bytes){
			(const uint8_t *)&out->hdr + sizeof out->hdr - head, head};
	uint64_t done = head > 0 ? 0 : out->sent - sizeof out->hdr;
	piece[n++] = (struct lmpi_stream_bytes){out->data + done, out->len - done};
	return n;
}

void
lmpi_stream_sent(struct lmpi_engine *e, struct lmpi_stream *s, size_t n)
{
	struct lmpi_out *out = s->out_first;

	if (s->hello_left > 0) {
		BASE_ASSERT(n <= s->hello_left);
		s->hello_left -= (uint32_t)n;
		return;
	}
	BASE_ASSERT(out && n <= sizeof out->hdr + out->len - out->sent);
	out->sent += n;
	if (out->sent < sizeof out->hdr + out->len && !LMPI_BUG(STREAM_EARLY))
		return;
	s->out_first = out->next;
	lmpi_out_done(e, out, true);
}

/* --- coming in ------------------------------------------------------------ */

uint8_t *
lmpi_stream_into(const struct lmpi_stream *s, size_t *n)
{
	uint64_t room = 0;
	uint8_t *to = s->sink ? lmpi_sink_place(s->sink, s->at, &room) : NULL;

	*n = (size_t)room;
	return to;
}

static void
end_frame_if_whole(struct lmpi_engine *e, struct lmpi_stream *s)
{
	struct lmpi_sink *sink = s->sink;

	if (s->at < sink->len)
		return;
	s->sink = NULL;
	s->at = 0;
	lmpi_sink_end(e, sink);
}

void
lmpi_stream_came(struct lmpi_engine *e, struct lmpi_stream *s, size_t n)
{
	BASE_ASSERT(s->sink && n <= s->sink->len - s->at);
	lmpi_sink_placed(s->sink, n);
	s->at += n;
	end_frame_if_whole(e, s);
}

/* A header is whole. */
static void
begin_stream_frame(struct lmpi_engine *e, struct lmpi_stream *s)
{
	struct lmpi_hdr h;
	char text[96];

	memcpy(&h, s->head, sizeof h);
	s->head_n = 0;
	if (h.type != LMPI_T_DATA || h.offset != 0 || h.msglen == 0) {
		snprintf(text, sizeof text, "rank %u sent a malformed frame over its stream",
			 s->peer->world);
		e->fail(e, text);
		s->state = LMPI_STREAM_OVER;
		return;
	}
	s->sink = lmpi_arrive(e, s->peer, &h, h.msglen);
	if (!s->sink)
		s->state = LMPI_STREAM_OVER; /* said, or its sender is lost */
}

/* Bytes of a HELLO or of a header. */
static size_t
take_frame_head(struct lmpi_engine *e, struct lmpi_stream *s, const uint8_t *data, size_t len)
{
	size_t whole = s->state == LMPI_STREAM_UP ? sizeof s->head : LMPI_STREAM_HELLO;
	size_t n = whole - s->head_n < len ? whole - s->head_n : len;

	memcpy(s->head + s->head_n, data, n);
	s->head_n += (uint32_t)n;
	if (s->state == LMPI_STREAM_UP && s->head_n == whole)
		begin_stream_frame(e, s);
	return n;
}

static size_t
take_frame_data(struct lmpi_engine *e, struct lmpi_stream *s, const uint8_t *data, size_t len)
{
	uint64_t left = s->sink->len - s->at;
	size_t n = left < len ? (size_t)left : len;

	lmpi_sink_data(s->sink, s->at, data, n);
	s->at += n;
	end_frame_if_whole(e, s);
	return n;
}

size_t
lmpi_stream_in(struct lmpi_engine *e, struct lmpi_stream *s, const uint8_t *data, size_t len)
{
	size_t done = 0;

	while (done < len && s->state != LMPI_STREAM_OVER && s->state != LMPI_STREAM_NONE &&
	       !lmpi_stream_has_hello(s))
		done += s->sink ? take_frame_data(e, s, data + done, len - done)
				: take_frame_head(e, s, data + done, len - done);
	return done;
}

void
lmpi_stream_end(struct lmpi_engine *e, struct lmpi_stream *s)
{
	struct lmpi_out *out;

	s->state = LMPI_STREAM_OVER;
	s->sink = NULL;
	s->head_n = 0;
	s->hello_left = 0;
	while ((out = s->out_first) != NULL) {
		s->out_first = out->next;
		lmpi_out_done(e, out, false);
	}
}
