/* SPDX-License-Identifier: BSD-2-Clause */
/* A stream with anything at its other end: its HELLO, its frames, in pieces of any size.
 *
 * Input: packets that open messages (they come another way, and are sound), then bytes of the
 * stream.  One byte says what happens: low 2 bits 0: a message is announced, 1: a receive is
 * posted, 2: bytes of the input come over the stream, 3: a frame that answers a receive, but for
 * one byte of it; the rest says how many, how long. */
#include "mpi/stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 8
#define BUF   512u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const uint8_t *at, *end;
static struct lmpi_engine e;
static struct lmpi_peer peer[2];
static struct lmpi_stream s;
static uint64_t drq[SLOTS], want[SLOTS];
static unsigned asked;
static bool failing;

static struct slot {
	struct lmpi_req req;
	bool used;
	uint8_t buf[BUF];
} slot[SLOTS];

static uint8_t
next_input(void)
{
	return at < end ? *at++ : 0;
}

static void *
get_empty(void *user, size_t bytes)
{
	void *p = calloc(1, bytes);

	(void)user;
	if (!p)
		abort();
	return p;
}

static void
give_memory_back(void *user, void *p)
{
	(void)user;
	free(p);
}

static void
stop_input(struct lmpi_engine *engine, const char *text)
{
	(void)engine;
	assert(text[0]);
	failing = true;
}

static bool
note_asked(struct lmpi_engine *engine, struct lmpi_peer *to, struct lmpi_out *out)
{
	(void)to;
	if (out->hdr.type == LMPI_T_CTS && out->hdr.drq) {
		want[asked % SLOTS] = out->hdr.msglen;
		drq[asked++ % SLOTS] = out->hdr.drq;
	}
	lmpi_out_done(engine, out, true);
	return true;
}

static bool
take_none(struct lmpi_engine *engine, struct lmpi_peer *to, const struct lmpi_hdr *h,
	  const void *data, uint64_t len)
{
	(void)engine, (void)to, (void)h, (void)data, (void)len;
	return false;
}

static const struct lmpi_transport transport = {.send = note_asked, .try_short = take_none};

static void
begin_input(void)
{
	memset(peer, 0, sizeof peer);
	memset(slot, 0, sizeof slot);
	asked = 0;
	failing = false;
	peer[0] = (struct lmpi_peer){.caps = LMPI_CAP_SELF};
	peer[1] = (struct lmpi_peer){.world = 1, .tp = &transport, .eager_max = 10};
	e = (struct lmpi_engine){.size = 2,
				 .peer = peer,
				 .memory = {.get = get_empty, .put = give_memory_back},
				 .fail = stop_input,
				 .copied_bytes_max = 1000,
				 .unexpected_bytes_max = 1000};
	lmpi_engine_reset(&e);
	lmpi_stream_expect(&s);
}

static void
announce_message(uint8_t how)
{
	struct lmpi_hdr h = {.magic = LMPI_HDR_MAGIC,
			     .type = LMPI_T_RTS,
			     .src = 1,
			     .tag = how >> 2 & 1,
			     .cid = 1,
			     .msglen = 1 + next_input(),
			     .srq = 1 + next_input()};

	e.in_transport = true;
	lmpi_arrive(&e, &peer[1], &h, 0);
	e.in_transport = false;
}

static void
post_receive(uint8_t how)
{
	for (int i = 0; i < SLOTS; i++) {
		if (slot[i].used && !slot[i].req.done)
			continue;
		slot[i].used = true;
		memset(&slot[i].req, 0, sizeof slot[i].req);
		lmpi_engine_irecv(&e, &slot[i].req, slot[i].buf, (uint64_t)next_input() * 2, 0,
				  how >> 2 & 1, 1);
		return;
	}
}

/* As libmpi/transport/streams.c reads. */
static void
come(const uint8_t *b, size_t n)
{
	while (n > 0 && !failing && s.state != LMPI_STREAM_OVER) {
		size_t room, k;
		uint8_t *to = lmpi_stream_into(&s, &room);
		if (to) {
			k = n < room ? n : room;
			memcpy(to, b, k);
			lmpi_stream_came(&e, &s, k);
		} else {
			k = lmpi_stream_in(&e, &s, b, n);
			assert(k <= n);
		}
		if (lmpi_stream_has_hello(&s))
			lmpi_stream_meet(&s, &peer[1], NULL);
		else if (k == 0)
			break;
		b += k;
		n -= k;
	}
}

static void
come_from_input(uint8_t how)
{
	size_t n = how >> 2, left = (size_t)(end - at);
	uint8_t b[64];

	n = n < left ? n : left;
	memcpy(b, at, n);
	at += n;
	come(b, n);
}

static void
come_sound(uint8_t how)
{
	uint32_t k = how >> 2 & 7;
	struct lmpi_hdr h = {.magic = LMPI_HDR_MAGIC,
			     .type = LMPI_T_DATA,
			     .src = 1,
			     .msglen = want[k],
			     .drq = drq[k]};
	uint8_t frame[sizeof h + 300] = {0};
	uint8_t where = next_input(), what = next_input();

	memcpy(frame, &h, sizeof h);
	if (how & 64)
		frame[where % sizeof h] = what;
	come(frame, sizeof h + (want[k] < 300 ? (size_t)want[k] : 300));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *what;

	if (len > 4096)
		return 0;
	at = data;
	end = data + len;
	begin_input();
	while (at < end && !failing) {
		uint8_t how = next_input();
		switch (how & 3) {
		case 0:
			announce_message(how);
			break;
		case 1:
			post_receive(how);
			break;
		case 2:
			come_from_input(how);
			break;
		default:
			come_sound(how);
		}
		if (e.pending)
			lmpi_pump(&e);
		lmpi_run_done(&e);
		assert(failing || lmpi_engine_check(&e, &what));
	}
	lmpi_stream_end(&e, &s);
	for (int i = 0; i < SLOTS; i++)
		if (slot[i].used && !slot[i].req.done)
			(void)lmpi_engine_cancel_recv(&e, &slot[i].req);
	lmpi_engine_drop(&e);
	return 0;
}
