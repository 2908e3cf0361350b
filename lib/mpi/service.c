/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of the library to itself: whole, in sending order, to a handler. */
#include "internal.h"

struct lmpi_service_msg {
	struct lmpi_req req; /* first: the receive it arrives by */
	struct lmpi_engine *e;
	struct lmpi_service_msg *next;
	lmpi_service_fn *handler;
	uint64_t room;
	uint64_t from, to; /* its weight, on the scale of all that its sender has in the queue */
	_Alignas(16) uint8_t data[];
};

/* Small ones come by the million: their memory is kept. */
#define SMALL	   1024u
#define SPARES_MAX 64u

static void
msg_free(struct lmpi_engine *e, struct lmpi_service_msg *s)
{
	if (s->room != SMALL || e->service_spares == SPARES_MAX) {
		lmpi_put(e, s);
		return;
	}
	s->next = e->service_spare;
	e->service_spare = s;
	e->service_spares++;
}

/* Hand over what is complete, as far as nothing older is missing: a long message, or one
 * of which a piece was lost, holds up those behind it. */
static void
arrived(struct lmpi_req *req)
{
	struct lmpi_service_msg *s = (struct lmpi_service_msg *)(void *)req;
	struct lmpi_engine *e = s->e;
	struct lmpi_peer *peer = &e->peer[req->peer];

	while ((s = peer->service_first) != NULL && s->req.done) {
		peer->service_first = s->next;
		if (!s->next)
			peer->service_last = NULL;
		if (!s->req.error && !peer->lost)
			s->handler(peer->world, s->data, s->req.bytes);
		msg_free(e, s);
	}
}

static uint64_t
weigh_message(uint64_t len)
{
	return LMPI_SERVICE_ENTRY + (len < LMPI_SERVICE_ENTRY_MAX ? len : LMPI_SERVICE_ENTRY_MAX);
}

/* A header says how long it is, and its bytes may never come: others wait behind it. */
static const char *
refuse_message(const struct lmpi_engine *e, const struct lmpi_peer *peer, uint64_t len)
{
	uint64_t begun = 0;

	if (len > LMPI_SERVICE_MAX)
		return "for the library, and longer than any such message";
	if (peer->service_first)
		begun = peer->service_last->to - peer->service_first->from;
	if (begun + weigh_message(len) > LMPI_SERVICE_ROOM + e->service_more)
		return "for the library, which has begun more of that process than it may send";
	return NULL;
}

struct lmpi_req *
lmpi_service_take(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t cid, uint64_t len,
		  const char **why)
{
	struct lmpi_service_msg *s = e->service_spare;
	lmpi_service_fn *handler = cid == LMPI_CID_FT ? e->ft_handler : e->handler;
	uint64_t room = len <= SMALL ? SMALL : len;

	*why = handler ? refuse_message(e, peer, len)
		       : "for a part of the library that is not in use";
	if (*why)
		return NULL;
	if (s && room == SMALL) {
		e->service_spare = s->next;
		e->service_spares--;
	} else {
		s = lmpi_get(e, sizeof *s + room);
	}
	s->e = e;
	s->handler = handler;
	s->room = room;
	s->next = NULL;
	s->from = peer->service_last ? peer->service_last->to : 0;
	s->to = s->from + weigh_message(len);
	s->req = (struct lmpi_req){
		.kind = LMPI_KIND_RECV, .buf = s->data, .cap = len, .on_done = arrived};
	if (peer->service_last)
		peer->service_last->next = s;
	else
		peer->service_first = s;
	peer->service_last = s;
	return &s->req;
}

void
lmpi_service_drop(struct lmpi_engine *e)
{
	while (e->service_spare) {
		struct lmpi_service_msg *s = e->service_spare;
		e->service_spare = s->next;
		lmpi_put(e, s);
	}
	e->service_spares = 0;
}
