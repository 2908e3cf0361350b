/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking sends back (MPI_Cancel of a send, IMPI reference 5.7). */
#include "internal.h"

#include "canary.h"

#include "impi/message.h"

/* --- the sender ----------------------------------------------------------- */

/* A message to myself that no receive has taken. */
static bool
take_back_self(struct lmpi_engine *e, const struct lmpi_req *req)
{
	struct lmpi_msg *m;

	TAILQ_FOREACH(m, &e->match.all, in_all)
	{
		if (m->self == req) {
			lmpi_msg_forget(e, m);
			return true;
		}
	}
	return false;
}

/* Is this the packet that opens req's message, and none of it has gone? */
static bool
opens(const struct lmpi_out *out, const struct lmpi_req *req)
{
	if (out->sent > 0 || (out->hdr.type != LMPI_T_EAGER && out->hdr.type != LMPI_T_RTS))
		return false;
	return out->req == req || (req->srq != 0 && out->hdr.srq == req->srq) ||
	       (req->number != 0 && out->hdr.srq == req->number);
}

/* Take the first packet out of the queue, if it is still there. */
static bool
take_back(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_req *req)
{
	struct lmpi_out **at = &peer->out_first, *before = NULL;

	while (*at && !opens(*at, req)) {
		before = *at;
		at = &before->next;
	}
	struct lmpi_out *out = *at;
	if (!out)
		return false;
	*at = out->next;
	if (peer->out_last == out)
		peer->out_last = before;
	/* MPI_Ibsend's buffer has a request of its own, which is over. */
	if (out->req == req)
		out->req = NULL;
	lmpi_out_done(e, out, true);
	return true;
}

static void
ask(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t srq)
{
	struct lmpi_hdr h = lmpi_hdr_make(e, LMPI_T_CANCEL);

	h.srq = srq;
	peer->cancels++;
	e->cancels++;
	lmpi_send_control(e, peer, &h);
}

/* --- sends that the receiver did not have to agree to ----------------------
 *
 * They are done when a copy of them is kept, or has gone.  What names them has no
 * lower half, so it is none of send_ids'.  Within a node messages go without a header
 * that has room for one; a foreign receiver is known to refuse. */

void
lmpi_recall_name(struct lmpi_engine *e, struct lmpi_req *req, const struct lmpi_peer *peer,
		 struct lmpi_hdr *h)
{
	if (peer->foreign || !(peer->caps & LMPI_CAP_RECALLS))
		return;
	if (++e->names == 0)
		e->names = 1;
	h->srq = req->number = (uint64_t)e->names << 32;
}

/* The request waits for one event more, the answer. */
static void
recall(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_req *req)
{
	if (req->done) {
		req->done = false;
		e->sends++;
	}
	req->placed++;
	req->answers = IMPI_SEND_ASKED;
	req->next = e->recalled;
	e->recalled = req;
	ask(e, peer, req->number);
}

static bool
recall_answered(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t name, bool yes)
{
	struct lmpi_req **at = &e->recalled;

	while (*at && ((*at)->number != name || (*at)->peer != peer->world))
		at = &(*at)->next;
	struct lmpi_req *req = *at;
	if (!req)
		return false;
	*at = req->next;
	peer->cancels--;
	e->cancels--;
	req->answers = IMPI_SEND_SETTLED;
	req->number = 0; /* not asked again */
	req->cancelled = yes;
	lmpi_req_event(e, req);
	return true;
}

void
lmpi_take_back(struct lmpi_engine *e, struct lmpi_req *req)
{
	struct lmpi_peer *peer = &e->peer[req->peer];

	if (req->kind != LMPI_KIND_SEND || req->cancelled || peer->lost ||
	    (req->done ? req->number == 0 : req->placed == 0))
		return;
	if (peer->caps & LMPI_CAP_SELF ? take_back_self(e, req) : take_back(e, peer, req)) {
		if (req->srq)
			lmpi_srq_drop(e, req);
		req->cancelled = req->error == LMPI_OK; /* else its context is void */
		if (!req->done) {
			req->placed = 1; /* nothing else is awaited */
			lmpi_req_event(e, req);
		}
	} else if (req->answers == IMPI_SEND_WAITS) {
		req->answers = (uint8_t)impi_send_next(req->answers, IMPI_SEND_EV_CANCEL);
		ask(e, peer, req->srq);
	} else if (req->answers == IMPI_SEND_SETTLED && req->number) {
		recall(e, peer, req);
	}
}

void
lmpi_engine_cancel_send(struct lmpi_engine *e, struct lmpi_req *req)
{
	lmpi_take_back(e, req);
	if (e->pending)
		lmpi_pump(e);
}

bool
lmpi_on_cancel_answer(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t srq, bool yes)
{
	struct lmpi_req *req = lmpi_id_find(&e->send_ids, srq);
	bool here = req && req->peer == peer->world;

	if (peer->cancels == 0)
		return false;
	if ((uint32_t)srq == 0)
		return recall_answered(e, peer, srq, yes);
	/* When the SYNCACK came first the name is gone, and perhaps the request. */
	enum impi_send_state next =
		impi_send_next(here ? req->answers : IMPI_SEND_MATCHED,
			       yes ? IMPI_SEND_EV_CANCELYES : IMPI_SEND_EV_CANCELNO);
	if (next == IMPI_SEND_BAD)
		return false;
	peer->cancels--;
	e->cancels--;
	if (here)
		req->answers = (uint8_t)next;
	if (next == IMPI_SEND_CANCELLED) {
		lmpi_srq_drop(e, req);
		req->cancelled = req->error == LMPI_OK;
		lmpi_req_event(e, req);
	}
	return true;
}

/* --- the receiver --------------------------------------------------------- */

void
lmpi_on_cancel(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t srq)
{
	struct lmpi_hdr h = lmpi_hdr_make(e, LMPI_T_CANCELNO);
	struct lmpi_msg *m = NULL;

	/* Names may be used again: the newest message is meant. */
	if (peer->queued > 0) {
		TAILQ_FOREACH_REVERSE(m, &e->match.all, lmpi_msg_list, in_all)
		{
			if (m->peer == peer->world && m->srq == srq && !m->self)
				break;
		}
	}
	if (m && !m->superseded) {
		if (!LMPI_BUG(TAKEN))
			lmpi_msg_forget(e, m);
		h.type = LMPI_T_CANCELYES;
	}
	h.srq = srq;
	lmpi_send_control(e, peer, &h);
}

void
lmpi_supersede(struct lmpi_engine *e, const struct lmpi_msg *m)
{
	struct lmpi_msg *o;

	TAILQ_FOREACH(o, &e->match.all, in_all)
	{
		if (o->peer == m->peer && o->srq == m->srq && o->number < m->number)
			o->superseded = true;
	}
}
