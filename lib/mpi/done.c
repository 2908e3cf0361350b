/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that became done; the engine's start and end. */
#include "internal.h"

#include "canary.h"

#include <string.h>

#ifdef SUCI_CANARY
enum lmpi_bug lmpi_canary;
#endif

void
lmpi_complete(struct lmpi_engine *e, struct lmpi_req *req, int error)
{
	req->error = error;
	if (!req->on_done) {
		req->done = true;
		return;
	}
	req->next = NULL;
	if (e->done_first)
		e->done_last->next = req;
	else
		e->done_first = req;
	e->done_last = req;
}

void
lmpi_run_done(struct lmpi_engine *e)
{
	/* Callbacks post further operations, which come back here: the outermost
	 * call does them all, so chains do not grow the stack. */
	if (e->in_done || e->in_transport)
		return;
	e->in_done = true;
	while (e->done_first) {
		struct lmpi_req *req = e->done_first;
		e->done_first = req->next;
		req->next = NULL;
		req->done = true;
		req->on_done(req);
	}
	e->in_done = false;
}

void
lmpi_engine_reset(struct lmpi_engine *e)
{
	lmpi_match_init(&e->match);
}

bool
lmpi_engine_grow(struct lmpi_engine *e, uint32_t from, uint32_t n)
{
	if (from < e->size || from > e->slots_max || n > e->slots_max - from)
		return false;
	memset(&e->peer[e->size], 0, (from + n - e->size) * sizeof *e->peer);
	for (uint32_t i = e->size; i < from + n; i++) {
		e->peer[i].world = i;
		e->peer[i].other = true;
		e->peer[i].lost = i < from;
	}
	e->size = from + n;
	return true;
}

void
lmpi_engine_drop(struct lmpi_engine *e)
{
	lmpi_recv_drop(e);
	lmpi_service_drop(e);
	lmpi_voids_drop(e);
	lmpi_id_clear(&e->recv_ids, &e->memory);
	lmpi_id_clear(&e->send_ids, &e->memory);
}

/* ---- self-check ---- */

static uint64_t
count_posted(const struct lmpi_match *m)
{
	uint64_t n = 0;

	for (int i = 0; i <= LMPI_MATCH_BINS; i++) {
		const struct lmpi_req_list *l =
			i < LMPI_MATCH_BINS ? &m->posted[i] : &m->posted_any;
		for (const struct lmpi_req *r = l->first; r; r = r->next)
			n++;
	}
	return n;
}

static bool
check_peers(const struct lmpi_engine *e, const char **what)
{
	uint64_t copied = 0, queued = 0, cancels = 0;
	uint32_t listed = 0, waiting = 0, pending = 0;

	for (uint32_t r = 0; r < e->size; r++) {
		const struct lmpi_peer *peer = &e->peer[r];
		copied += peer->copied_bytes;
		queued += peer->queued;
		cancels += peer->cancels;
		listed += peer->out_listed;
		waiting += peer->out_first && !peer->parked;
	}
	for (const struct lmpi_peer *peer = e->pending; peer; peer = peer->next_pending)
		pending++;
	*what = copied != e->copied_bytes	? "bytes of copies"
		: queued != e->match.unexpected ? "unexpected messages by peer"
		: cancels != e->cancels		? "cancels by peer"
		: listed != pending		? "peers with packets that wait"
		: waiting > listed		? "a peer whose packets nobody offers"
						: NULL;
	return *what == NULL;
}

bool
lmpi_engine_check(const struct lmpi_engine *e, const char **what)
{
	const struct lmpi_msg *m;
	uint64_t unexpected = 0, bytes = 0;

	TAILQ_FOREACH(m, &e->match.all, in_all)
	{
		unexpected++;
		bytes += m->buf ? m->first_len : 0;
	}
	*what = unexpected != e->match.unexpected	       ? "unexpected messages"
		: count_posted(&e->match) != e->match.posted_n ? "posted receives"
		: bytes > e->unexpected_bytes		       ? "bytes of unexpected messages"
		: e->over && e->unexpected_bytes == 0	       ? "memory that is full of nothing"
							       : NULL;
	return *what == NULL && check_peers(e, what);
}
