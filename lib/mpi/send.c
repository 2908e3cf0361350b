/* SPDX-License-Identifier: BSD-2-Clause */
/* The sending half: choosing a protocol, queues of packets per peer, answers. */
#include "internal.h"

#include "canary.h"

#include "base/assert.h"
#include "base/copy.h"
#include "impi/message.h"
#include "mpi/far.h"

#include <string.h>

struct lmpi_hdr
lmpi_hdr_make(const struct lmpi_engine *e, enum lmpi_type type)
{
	return (struct lmpi_hdr){.magic = LMPI_HDR_MAGIC, .type = (uint8_t)type, .src = e->rank};
}

void
lmpi_req_event(struct lmpi_engine *e, struct lmpi_req *req)
{
	/* Of a send request, placed counts the events it still waits for. */
	BASE_ASSERT(req->placed > 0);
	if (--req->placed == 0) {
		e->sends--;
		lmpi_complete(e, req, req->error);
	}
}

static void
list_peer(struct lmpi_engine *e, struct lmpi_peer *peer)
{
	if (peer->out_listed || peer->parked)
		return;
	peer->out_listed = true;
	peer->next_pending = e->pending;
	e->pending = peer;
}

void
lmpi_unpark(struct lmpi_engine *e, struct lmpi_peer *peer)
{
	peer->parked = false;
	if (peer->out_first)
		list_peer(e, peer);
}

static void
out_append(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out)
{
	out->next = NULL;
	if (peer->out_first)
		peer->out_last->next = out;
	else
		peer->out_first = out;
	peer->out_last = out;
	list_peer(e, peer);
}

static struct lmpi_out *
out_new(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *hdr, const void *data,
	uint64_t len, size_t copy_bytes)
{
	struct lmpi_out *out = lmpi_get(e, sizeof *out + copy_bytes);

	*out = (struct lmpi_out){.hdr = *hdr,
				 .data = data,
				 .len = len,
				 .peer = peer->world,
				 .copied = (uint32_t)copy_bytes};
	if (copy_bytes) {
		base_copy(out->copy, data, len);
		out->data = out->copy;
		e->copied_bytes += copy_bytes;
		peer->copied_bytes += copy_bytes;
	}
	e->outs++;
	return out;
}

void
lmpi_out_done(struct lmpi_engine *e, struct lmpi_out *out, bool ok)
{
	e->copied_bytes -= out->copied;
	e->peer[out->peer].copied_bytes -= out->copied;
	e->outs--;
	/* Not placed: the receiver is lost; or the job is being aborted and the request stays
	 * undone; or the receiver got it and took leave (net_ops.c). */
	if (out->req && !ok && e->tolerant && !e->ending && !out->req->cancelled)
		out->req->error = LMPI_ERR_PROC_FAILED;
	if (out->req && (ok || e->ending || e->tolerant || e->peer[out->peer].other))
		lmpi_req_event(e, out->req);
	lmpi_put(e, out);
}

static uint64_t
new_id(struct lmpi_engine *e, struct lmpi_req *req)
{
	req->srq = lmpi_id_new(&e->send_ids, &e->memory, req);
	req->answers = IMPI_SEND_WAITS;
	return req->srq;
}

void
lmpi_srq_drop(struct lmpi_engine *e, struct lmpi_req *req)
{
	lmpi_id_drop(&e->send_ids, req->srq);
	req->srq = 0;
}

/* The receiver's memory filled up while this message waited: only announce it. */
static void
ask_first(struct lmpi_engine *e, struct lmpi_out *out)
{
	struct lmpi_req *req = out->req;

	req->buf = (void *)(uintptr_t)out->data;
	req->cap = out->len;
	if (out->hdr.flags & LMPI_HF_SYNC)
		req->placed--; /* asking first is synchronous by itself */
	else
		out->hdr.srq = new_id(e, req);
	out->hdr.flags = 0;
	out->hdr.type = LMPI_T_RTS;
	out->hdr.offset = (uint64_t)(uintptr_t)out->data;
	out->req = NULL;
	out->data = NULL;
	out->len = 0;
}

/* Offer the packets of one peer; true if one was taken.  *rest: some are left. */
static bool
pump_peer(struct lmpi_engine *e, struct lmpi_peer *peer, bool *rest)
{
	bool moved = false;

	while (peer->out_first) {
		struct lmpi_out *out = peer->out_first;
		if (lmpi_speaks_impi(peer) && !lmpi_pkt_may_go(e, peer, &out->hdr))
			break;
		if (peer->eager_off && out->hdr.type == LMPI_T_EAGER && out->req)
			ask_first(e, out);
		/* A transport that takes the packet owns it and ends it with
		 * lmpi_out_done(), perhaps before it returns. */
		struct lmpi_out *next = out->next;
		if (!peer->tp->send(e, peer, out))
			break;
		peer->out_first = next;
		moved = true;
	}
	*rest = peer->out_first != NULL;
	return moved;
}

bool
lmpi_pump(struct lmpi_engine *e)
{
	struct lmpi_peer *list = e->pending, *stuck = NULL, **stuck_end = &stuck, *served = NULL,
			 **served_end = &served;
	bool moved = false;

	if (e->in_transport)
		return false;
	e->pending = NULL;
	while (list) {
		struct lmpi_peer *peer = list;
		bool rest, some;
		list = peer->next_pending;
		some = pump_peer(e, peer, &rest);
		moved |= some;
		peer->out_listed = rest && !peer->parked;
		if (peer->out_listed) {
			struct lmpi_peer ***end = some ? &served_end : &stuck_end;
			peer->next_pending = NULL;
			**end = peer;
			*end = &peer->next_pending;
		}
	}
	/* Whoever got nothing is first the next time: peers may share a socket. */
	*served_end = e->pending;
	*stuck_end = served;
	e->pending = stuck;
	return moved;
}

void
lmpi_send_control(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *hdr)
{
	if (peer->lost)
		return;
	if ((peer->caps & LMPI_CAP_NESTS) && !peer->out_first &&
	    peer->tp->try_short(e, peer, hdr, NULL, 0))
		return;
	struct lmpi_out *out = out_new(e, peer, hdr, NULL, 0, 0);
	/* A credit note must not wait behind data that waits for credit. */
	if (hdr->type == LMPI_T_PROTOACK && peer->out_first) {
		out->next = peer->out_first;
		peer->out_first = out;
		return;
	}
	out_append(e, peer, out);
}

/* Try to hand a packet straight to the transport, from the user's memory. */
static bool
send_at_once(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h,
	     const void *data, uint64_t len)
{
	return !e->in_transport && !peer->out_first && peer->tp->try_short(e, peer, h, data, len);
}

/* The message goes whole, without asking. */
static void
send_eager(struct lmpi_engine *e, struct lmpi_req *req, struct lmpi_peer *peer, struct lmpi_hdr *h,
	   const void *data, uint64_t len)
{
	if (send_at_once(e, peer, h, data, len)) {
		lmpi_req_event(e, req);
		return;
	}
	bool whole = req->mode == LMPI_ON_RECEIPT && len >= LMPI_ON_RECEIPT_BYTES;
	bool copy = len > 0 && !whole && e->copied_bytes + len <= e->copied_bytes_max &&
		    peer->copied_bytes + len <= LMPI_PEER_COPIES_MAX;
	struct lmpi_out *out = out_new(e, peer, h, data, len, copy ? len : 0);
	if (copy || len == 0) {
		out_append(e, peer, out);
		lmpi_req_event(e, req);
	} else {
		out->req = req;
		out->wait = true;
		out_append(e, peer, out);
	}
}

/* A receive is open, or its message is coming in. */
static bool
receives(const struct lmpi_engine *e)
{
	return e->filling > 0 || e->match.posted_n > 0;
}

/* Only what the message is goes now; the rest when the receiver asks. */
static void
send_rendezvous(struct lmpi_engine *e, struct lmpi_req *req, struct lmpi_peer *peer,
		struct lmpi_hdr *h, const void *data, uint64_t len)
{
	req->buf = (void *)(uintptr_t)data;
	req->cap = len;
	h->srq = new_id(e, req);
	if (lmpi_speaks_impi(peer)) {
		/* IMPI's long protocol: the first packet carries data. */
		h->type = LMPI_T_EAGER;
		h->flags |= LMPI_HF_SYNC;
		req->placed++;
		struct impi_piece x = impi_message_piece(len, e->datalen, 0);
		struct lmpi_out *out = out_new(e, peer, h, data, x.len, 0);
		out->req = req;
		out_append(e, peer, out);
		return;
	}
	req->both = receives(e);
	h->type = LMPI_T_RTS;
	h->offset = (uint64_t)(uintptr_t)data;
	if (!send_at_once(e, peer, h, NULL, 0))
		out_append(e, peer, out_new(e, peer, h, NULL, 0, 0));
}

/* Longer than what goes without asking, as far as that was known. */
static bool
is_too_long(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t len)
{
	if (peer->tp->eager)
		peer->eager_max = peer->tp->eager(e, peer);
	return len > peer->eager_max;
}

void
lmpi_engine_isend(struct lmpi_engine *e, struct lmpi_req *req, const void *data, uint64_t len,
		  uint32_t dest_world, int lsrank, int tag, uint64_t cid, enum lmpi_mode mode)
{
	BASE_ASSERT(dest_world < e->size);
	struct lmpi_peer *peer = &e->peer[dest_world];

	req->done = false;
	req->cancelled = false;
	req->kind = LMPI_KIND_SEND;
	req->mode = (uint8_t)mode;
	req->error = LMPI_OK;
	req->source = lsrank;
	req->tag = tag;
	req->bytes = len;
	req->cid = cid;
	req->peer = dest_world;
	req->srq = 0;
	req->answers = IMPI_SEND_SETTLED;
	req->placed = 1;
	if (e->troubled && lmpi_refuse_send(e, req))
		return;
	e->sends++;
	e->n.sends[peer->row]++;
	e->n.bytes_sent[peer->row] += len;
	if (peer->caps & LMPI_CAP_SELF) {
		lmpi_self_send(e, req, data, len, lsrank);
		return;
	}
	struct lmpi_hdr h = lmpi_hdr_make(e, LMPI_T_EAGER);
	h.lsrank = lsrank;
	h.tag = tag;
	h.cid = cid;
	h.msglen = len;
	if ((len > peer->eager_max && is_too_long(e, peer, len)) || (peer->eager_off && len > 0)) {
		send_rendezvous(e, req, peer, &h, data, len);
	} else {
		if (mode == LMPI_SYNC && !LMPI_BUG(SYNC)) {
			/* Two events: bytes placed (or copied), receive matched. */
			h.flags |= LMPI_HF_SYNC;
			h.srq = new_id(e, req);
			req->placed++;
		} else if (mode == LMPI_CANCELLABLE) {
			lmpi_recall_name(e, req, peer, &h);
		}
		send_eager(e, req, peer, &h, data, len);
	}
	if (e->pending)
		lmpi_pump(e);
}

/* A receive has taken the send that peer calls srq.  NULL: nobody asked for that. */
static struct lmpi_req *
matched(struct lmpi_engine *e, const struct lmpi_peer *peer, uint64_t srq)
{
	struct lmpi_req *req = lmpi_id_find(&e->send_ids, srq);
	if (!req || req->peer != peer->world)
		return NULL;
	enum impi_send_state next = impi_send_next(req->answers, IMPI_SEND_EV_SYNCACK);
	if (next == IMPI_SEND_BAD)
		return NULL;
	req->answers = (uint8_t)next;
	lmpi_srq_drop(e, req);
	return req;
}

bool
lmpi_on_matched(struct lmpi_engine *e, const struct lmpi_peer *peer, uint64_t srq)
{
	struct lmpi_req *req = matched(e, peer, srq);
	if (!req)
		return false;
	lmpi_req_event(e, req);
	return true;
}

bool
lmpi_on_help(struct lmpi_engine *e, const struct lmpi_peer *peer, const struct lmpi_hdr *h)
{
	const struct lmpi_req *req = lmpi_id_find(&e->send_ids, h->srq);

	if (!req || req->peer != peer->world || h->msglen > req->cap)
		return false;
	peer->tp->help(e, peer, h->drq, req->buf, h->msglen, h->offset);
	return true;
}

bool
lmpi_on_cts(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t srq, uint64_t drq,
	    uint64_t want)
{
	struct lmpi_req *req = matched(e, peer, srq);
	if (!req || want > req->cap)
		return false;
	if (want == 0) {
		lmpi_req_event(e, req);
		return true;
	}
	struct lmpi_hdr h = lmpi_hdr_make(e, LMPI_T_DATA);
	h.drq = drq;
	h.msglen = want;
	struct lmpi_out *out = out_new(e, peer, &h, req->buf, want, 0);
	out->req = req;
	out->wait = true;
	out->both = req->both || receives(e);
	out_append(e, peer, out);
	return true;
}

bool
lmpi_on_syncack(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t srq, uint64_t drq)
{
	struct lmpi_req *req = matched(e, peer, srq);
	if (!req)
		return false;
	/* The rest of a long message; a short one has none. */
	uint64_t n = impi_message_packets(req->bytes, e->datalen);
	struct lmpi_hdr h = lmpi_hdr_make(e, LMPI_T_DATA);
	h.lsrank = req->source;
	h.tag = req->tag;
	h.cid = req->cid;
	h.msglen = req->bytes;
	h.srq = srq;
	h.drq = drq;
	for (uint64_t k = 1; k < n; k++) {
		struct impi_piece x = impi_message_piece(req->bytes, e->datalen, k);
		struct lmpi_out *out = out_new(e, peer, &h, (uint8_t *)req->buf + x.off, x.len, 0);
		out->req = req;
		out->wait = k + 1 == n;
		req->placed++;
		out_append(e, peer, out);
	}
	lmpi_req_event(e, req);
	return true;
}
