/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi/stream.h - data of long messages as bytes of a stream between two processes.
 *
 * A DATA packet names its receive, so it needs no place in the order of other packets: it may go
 * another way than they do.  Where datagrams are short, to receive them costs a processor more than
 * to receive as many bytes of a stream that the kernel carries (TCP), which it hands over in long
 * pieces; to send them costs about the same.  So a stream is for who sends and receives at the same
 * time (lmpi_stream_wanted()); how long data has to be for it is the driver's to say.
 *
 *     stream	HELLO, then frames
 *     HELLO	LMPI_STREAM_HELLO bytes that say and prove who is there; the driver's
 *     frame	struct lmpi_hdr of a DATA packet, then its msglen bytes of data
 *
 * Both sides may begin at the same time.  The connection that the lower rank began stays; whoever
 * has both knows from lmpi_stream_takes_other().  Data goes only over a stream that is UP, so none
 * is on the one that is given up.
 *
 *     opener	lmpi_stream_ask()    HELLO goes out; ASKED until the answer has come
 *     other	lmpi_stream_expect() CAME until a HELLO has come
 *     both	lmpi_stream_meet()   UP
 *
 * Out	 lmpi_stream_send() queues a packet, lmpi_stream_out() says which bytes are next,
 *	 lmpi_stream_sent() that so many of them have gone.  Bytes that have gone belong to the
 *	 reliable stream: the packet's request is done.
 * In	 lmpi_stream_into() says where the next bytes may be put, so that data is read to where it
 *	 belongs; lmpi_stream_came() that they are there.  Bytes of HELLO and of headers, and data
 *	 that nobody wants any more, go through a place of the caller's: lmpi_stream_in().
 * Limits   one frame comes in at a time; packets that wait to go are bounded as those of a lane.
 * Threads  those of the engine; in_transport is set around calls that deliver.
 * Errors   a frame that makes no sense fails the job (e->fail), and nothing is taken after it. */
#ifndef MPI_STREAM_H
#define MPI_STREAM_H

#include "mpi/engine.h"

#include <stddef.h>

#define LMPI_STREAM_HELLO 24u

enum lmpi_stream_state {
	LMPI_STREAM_NONE,  /* nobody has begun one */
	LMPI_STREAM_ASKED, /* we have, and wait for the answer */
	LMPI_STREAM_CAME,  /* somebody has, who has not said who it is */
	LMPI_STREAM_UP,
	LMPI_STREAM_OVER, /* nothing comes or goes any more */
};

struct lmpi_stream {
	enum lmpi_stream_state state;
	struct lmpi_peer *peer; /* CAME: NULL */
	/* coming in */
	uint8_t head[sizeof(struct lmpi_hdr)]; /* HELLO, header of a frame */
	uint32_t head_n;		       /* bytes of it that are there */
	struct lmpi_sink *sink;		       /* of the frame whose data comes; NULL: none */
	uint64_t at;			       /* bytes of that data that are there */
	/* going out */
	uint8_t hello[LMPI_STREAM_HELLO];
	uint32_t hello_left; /* its last bytes, which have not gone */
	struct lmpi_out *out_first, *out_last;
};
_Static_assert(LMPI_STREAM_HELLO <= sizeof(struct lmpi_hdr), "both are read to one place");

void lmpi_stream_ask(struct lmpi_stream *s, struct lmpi_peer *peer,
		     const uint8_t hello[LMPI_STREAM_HELLO]);
void lmpi_stream_expect(struct lmpi_stream *s);
/* That peer is at the other end.  answer: of who was asked; NULL: the answer has come. */
void lmpi_stream_meet(struct lmpi_stream *s, struct lmpi_peer *peer,
		      const uint8_t answer[LMPI_STREAM_HELLO]);
/* mine: the state of the stream towards peer, which has begun another one: is that one taken in its
 * place?  me: my rank among the same numbers. */
bool lmpi_stream_takes_other(enum lmpi_stream_state mine, uint32_t me, uint32_t peer);

/* --- going out */
/* Asked of each DATA packet that is long enough: is it for a stream?  Yes if a receive was open, or
 * its message coming in, when this one was announced or asked for; and of the few packets after
 * that, for who sends first and receives then. */
struct lmpi_stream_habit {
	uint32_t left; /* such packets */
};
bool lmpi_stream_wanted(struct lmpi_stream_habit *h, const struct lmpi_out *out);
/* Is that a packet that a stream carries? */
static inline bool
lmpi_stream_carries(const struct lmpi_out *out)
{
	return out->hdr.type == LMPI_T_DATA && out->hdr.offset == 0 &&
	       out->hdr.msglen == out->len && out->len > 0;
}
/* s is UP; out is the stream's from now on. */
void lmpi_stream_send(struct lmpi_stream *s, struct lmpi_out *out);
struct lmpi_stream_bytes {
	const void *at;
	size_t n;
};
/* The next bytes: up to two pieces, of which the second may be empty.  Number of pieces. */
int lmpi_stream_out(const struct lmpi_stream *s, struct lmpi_stream_bytes piece[2]);
static inline bool
lmpi_stream_has_out(const struct lmpi_stream *s)
{
	return s->hello_left > 0 || s->out_first != NULL;
}
/* n of them have gone, which is no more than all. */
void lmpi_stream_sent(struct lmpi_engine *e, struct lmpi_stream *s, size_t n);

/* --- coming in */
/* Where up to *n bytes may be put that come next; NULL: nowhere, they are read to a place of the
 * caller's.  The place holds until the next call into the engine. */
uint8_t *lmpi_stream_into(const struct lmpi_stream *s, size_t *n);
/* n bytes are there. */
void lmpi_stream_came(struct lmpi_engine *e, struct lmpi_stream *s, size_t n);
/* Bytes that are elsewhere: how many of them were taken.  Fewer than len: HELLO has come, and the
 * driver says with lmpi_stream_meet() or lmpi_stream_end() what is to become of it; or the stream
 * is OVER. */
size_t lmpi_stream_in(struct lmpi_engine *e, struct lmpi_stream *s, const uint8_t *data,
		      size_t len);
/* HELLO is in head[]. */
static inline bool
lmpi_stream_has_hello(const struct lmpi_stream *s)
{
	return s->head_n == LMPI_STREAM_HELLO &&
	       (s->state == LMPI_STREAM_ASKED || s->state == LMPI_STREAM_CAME);
}
/* Neither side is amid a frame. */
static inline bool
lmpi_stream_at_rest(const struct lmpi_stream *s)
{
	return s->head_n == 0 && !s->sink && !lmpi_stream_has_out(s);
}

/* Nothing comes or goes any more: what waits to go is not placed, what was coming stays unfinished
 * (lmpi_engine_lost() forgets a lost process's). */
void lmpi_stream_end(struct lmpi_engine *e, struct lmpi_stream *s);

#endif
