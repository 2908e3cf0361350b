/* SPDX-License-Identifier: BSD-2-Clause */
/* A process is lost, a context is void: what waits for either ends, what came goes. */
#include "internal.h"

#include "canary.h"

#include "base/assert.h"
#include "impi/message.h"

#include <string.h>

/* --- what is void --------------------------------------------------------- */

/* The place of cid, or where it belongs. */
static uint32_t
place_of_void(const struct lmpi_voids *v, uint64_t cid)
{
	uint32_t from = 0, to = v->n;

	while (from < to) {
		uint32_t at = (from + to) / 2;
		if (v->cid[at] < cid)
			from = at + 1;
		else
			to = at;
	}
	return from;
}

static bool
is_revoked(const struct lmpi_voids *v, uint64_t cid)
{
	uint32_t at = place_of_void(v, cid);

	return at < v->n && v->cid[at] == cid;
}

bool
lmpi_is_void(const struct lmpi_engine *e, uint64_t cid)
{
	return (cid >> LMPI_EPOCH_SHIFT < e->voids.epoch && !LMPI_BUG(EPOCH)) ||
	       is_revoked(&e->voids, cid);
}

static void
add_void(struct lmpi_engine *e, uint64_t cid)
{
	struct lmpi_voids *v = &e->voids;

	if (v->n == v->room) {
		uint32_t room = v->room ? 2 * v->room : 16;
		uint64_t *more = lmpi_get(e, room * sizeof *more);
		if (v->n)
			memcpy(more, v->cid, v->n * sizeof *more);
		lmpi_put(e, v->cid);
		v->cid = more;
		v->room = room;
	}
	uint32_t at = place_of_void(v, cid);
	memmove(&v->cid[at + 1], &v->cid[at], (v->n - at) * sizeof *v->cid);
	v->cid[at] = cid;
	v->n++;
}

/* --- what is posted from now on ------------------------------------------- */

bool
lmpi_refuse_send(struct lmpi_engine *e, struct lmpi_req *req)
{
	bool lost = e->peer[req->peer].lost;

	if (!lost && !lmpi_is_void(e, req->cid))
		return false;
	req->placed = 0;
	lmpi_complete(e, req, lost ? LMPI_ERR_PROC_FAILED : LMPI_ERR_REVOKED);
	return true;
}

/* Whom a posted receive waits for is lost. */
static bool
waits_for_lost(const struct lmpi_engine *e, const struct lmpi_req *req)
{
	if (!e->tolerant || req->source == LMPI_ANY_SOURCE)
		return false;
	uint32_t world = e->tolerant->world_of(e, req->cid, req->source);
	return world < e->size && e->peer[world].lost;
}

static bool
is_unacked(const struct lmpi_engine *e, const struct lmpi_req *req)
{
	return req->source == LMPI_ANY_SOURCE && e->tolerant && !LMPI_BUG(PENDING) &&
	       e->tolerant->unacked(e, req->cid);
}

bool
lmpi_refuse_recv(struct lmpi_engine *e, struct lmpi_req *req)
{
	bool revoked = lmpi_is_void(e, req->cid);

	if (revoked || waits_for_lost(e, req)) {
		lmpi_complete(e, req, revoked ? LMPI_ERR_REVOKED : LMPI_ERR_PROC_FAILED);
		return true;
	}
	req->pending = is_unacked(e, req);
	return false;
}

bool
lmpi_is_pending(const struct lmpi_engine *e, const struct lmpi_req *req)
{
	/* A receive that has matched names its source; pending was set if it has not. */
	return e->troubled && !req->done && req->kind == LMPI_KIND_RECV &&
	       req->source == LMPI_ANY_SOURCE && req->pending;
}

/* --- posted receives ------------------------------------------------------- */

static void
review_receive(void *arg, struct lmpi_req *req)
{
	struct lmpi_engine *e = arg;
	bool revoked = lmpi_is_void(e, req->cid);

	if (!revoked && !(waits_for_lost(e, req) && !LMPI_BUG(WAITS))) {
		req->pending = is_unacked(e, req);
		return;
	}
	(void)lmpi_match_unpost(&e->match, req);
	lmpi_complete(e, req, revoked ? LMPI_ERR_REVOKED : LMPI_ERR_PROC_FAILED);
}

static void
review_receives(struct lmpi_engine *e)
{
	e->troubled = true;
	lmpi_match_visit(&e->match, review_receive, e);
}

void
lmpi_engine_acked(struct lmpi_engine *e)
{
	review_receives(e);
}

/* --- loss ------------------------------------------------------------------ */

/* One of the events that req waits for will not come. */
static void
end_with_failure(struct lmpi_engine *e, struct lmpi_req *req)
{
	if (!req->cancelled)
		req->error = LMPI_ERR_PROC_FAILED;
	lmpi_req_event(e, req);
}

static void
drop_queue(struct lmpi_engine *e, struct lmpi_peer *peer)
{
	struct lmpi_peer **at = &e->pending;
	struct lmpi_out *out;

	while ((out = peer->out_first) != NULL) {
		peer->out_first = out->next;
		lmpi_out_done(e, out, false);
	}
	peer->parked = false;
	if (!peer->out_listed)
		return;
	while (*at != peer)
		at = &(*at)->next_pending;
	*at = peer->next_pending;
	peer->out_listed = false;
}

/* Answers that will not come. */
static void
drop_answers(struct lmpi_engine *e, struct lmpi_peer *peer)
{
	for (uint32_t i = 0; i < e->send_ids.size; i++) {
		struct lmpi_req *req = e->send_ids.slot[i].object;
		if (!req || req->peer != peer->world)
			continue;
		lmpi_srq_drop(e, req);
		req->answers = IMPI_SEND_SETTLED;
		end_with_failure(e, req);
	}
	/* These were sent, and are not taken back. */
	struct lmpi_req **at = &e->recalled;
	while (*at) {
		struct lmpi_req *req = *at;
		if (req->peer != peer->world) {
			at = &req->next;
			continue;
		}
		*at = req->next;
		req->answers = IMPI_SEND_SETTLED;
		req->number = 0;
		lmpi_req_event(e, req);
	}
	e->cancels -= peer->cancels;
	peer->cancels = 0;
}

static void
drop_message(struct lmpi_engine *e, struct lmpi_msg *m)
{
	struct lmpi_req *req = m->req;

	m->sinks = 0;
	if (m->taken && !req) {
		m->lost = true; /* until its receive comes */
		return;
	}
	if (req) {
		e->filling--;
		lmpi_complete(e, req, LMPI_ERR_PROC_FAILED);
	}
	if (m->queued)
		lmpi_msg_forget(e, m);
	else
		lmpi_msg_free(e, m);
}

static void
drop_arrivals(struct lmpi_engine *e, struct lmpi_peer *peer)
{
	for (struct lmpi_sink *s = e->sinks; s; s = s->ever)
		if (s->msg && s->peer == peer)
			lmpi_sink_free(e, s);
	for (struct lmpi_msg *m = e->msgs; m; m = m->ever) {
		if (!m->live || m->peer != peer->world)
			continue;
		if (LMPI_BUG(HALF) && m->queued && m->sinks == 0)
			continue;
		drop_message(e, m);
	}
}

void
lmpi_engine_lost(struct lmpi_engine *e, struct lmpi_peer *peer)
{
	BASE_ASSERT(e->tolerant && !(peer->caps & LMPI_CAP_SELF));
	if (peer->lost)
		return;
	e->troubled = true;
	peer->lost = true;
	peer->eager_off = true;
	peer->sent_eager_off = false;
	peer->caps = 0;
	drop_queue(e, peer);
	drop_answers(e, peer);
	drop_arrivals(e, peer);
	review_receives(e);
}

/* --- void contexts --------------------------------------------------------- */

/* A send that has not ended: taken back if it has not left, else it ends with the answer. */
static void
end_void_send(struct lmpi_engine *e, struct lmpi_req *req)
{
	req->error = LMPI_ERR_REVOKED;
	lmpi_take_back(e, req);
}

static void
void_sends(struct lmpi_engine *e)
{
	for (uint32_t i = 0; i < e->send_ids.size; i++) {
		struct lmpi_req *req = e->send_ids.slot[i].object;
		if (req && lmpi_is_void(e, req->cid))
			end_void_send(e, req);
	}
	for (uint32_t r = 0; r < e->size; r++) {
		struct lmpi_out *out = e->peer[r].out_first;
		while (out) {
			struct lmpi_out *next = out->next;
			/* Only this packet of its message is taken out of the queue. */
			if (out->req && out->hdr.type == LMPI_T_EAGER &&
			    lmpi_is_void(e, out->req->cid))
				end_void_send(e, out->req);
			out = next;
		}
	}
}

/* Messages: those that have a receive go nowhere from now on; those that have none get it. */
static void
void_messages(struct lmpi_engine *e)
{
	for (struct lmpi_msg *m = e->msgs; m; m = m->ever) {
		if (!m->live || m->dropped || !lmpi_is_void(e, m->cid))
			continue;
		if (m->req && m->req != &e->nowhere) {
			lmpi_complete(e, m->req, LMPI_ERR_REVOKED);
			m->req = &e->nowhere;
		} else if (m->queued) {
			if (m->self)
				m->self->error = LMPI_ERR_REVOKED;
			lmpi_take_nowhere(e, m);
		}
	}
}

static void
review_contexts(struct lmpi_engine *e)
{
	review_receives(e);
	void_sends(e);
	void_messages(e);
	if (e->pending)
		lmpi_pump(e);
}

void
lmpi_engine_revoke(struct lmpi_engine *e, uint64_t cid)
{
	if (is_revoked(&e->voids, cid))
		return;
	add_void(e, cid);
	review_contexts(e);
}

void
lmpi_engine_epoch(struct lmpi_engine *e, uint16_t epoch)
{
	if (epoch <= e->voids.epoch)
		return;
	e->voids.epoch = epoch;
	review_contexts(e);
}

void
lmpi_voids_drop(struct lmpi_engine *e)
{
	lmpi_put(e, e->voids.cid);
	e->voids = (struct lmpi_voids){0};
}
