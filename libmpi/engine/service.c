/* Messages of the library to itself: whole, in sending order, to a handler. */
#include "internal.h"

#include <string.h>

#define eng lmpi_eng

struct lmpi_service_msg {
	struct lmpi_req req; /* first: the receive it arrives by */
	struct lmpi_service_msg *next;
	uint64_t room;
	_Alignas(16) uint8_t data[];
};

/* Small ones come by the million: their memory is kept. */
#define SMALL	   1024u
#define SPARES_MAX 64u
static struct lmpi_service_msg *spare;
static uint32_t spares;
static lmpi_service_fn *handler;

void
lmpi_serve(lmpi_service_fn *fn)
{
	handler = fn;
}

static void
msg_free(struct lmpi_service_msg *s)
{
	if (s->room != SMALL || spares == SPARES_MAX) {
		free(s);
		return;
	}
	s->next = spare;
	spare = s;
	spares++;
}

/* Hand over what is complete, as far as nothing older is missing: a long message, or one
 * of which a piece was lost, holds up those behind it. */
static void
arrived(struct lmpi_req *req)
{
	struct lmpi_peer *peer = &eng.peer[req->peer];
	struct lmpi_service_msg *s;

	while ((s = peer->service_first) != NULL && s->req.done) {
		peer->service_first = s->next;
		if (!s->next)
			peer->service_last = NULL;
		handler(peer->world, s->data, s->req.bytes);
		msg_free(s);
	}
}

struct lmpi_req *
lmpi_service_take(struct lmpi_peer *peer, uint64_t len)
{
	struct lmpi_service_msg *s = spare;
	uint64_t room = len <= SMALL ? SMALL : len;

	if (!handler)
		return NULL;
	if (s && room == SMALL) {
		spare = s->next;
		spares--;
	} else if (room > SIZE_MAX - sizeof *s || (s = malloc(sizeof *s + room)) == NULL) {
		lmpi_engine_abort(LMPI_ERR_NO_MEM, "out of memory for incoming messages");
	}
	s->room = room;
	s->next = NULL;
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
lmpi_service_fini(void)
{
	while (spare) {
		struct lmpi_service_msg *s = spare;
		spare = s->next;
		free(s);
	}
	spares = 0;
}
