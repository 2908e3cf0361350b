/* SPDX-License-Identifier: BSD-2-Clause */
/* The receiving half: matching, placing, unexpected messages, probing. */
#include "internal.h"

#include "canary.h"
#include "base/assert.h"
#include "base/copy.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Messages to oneself up to that length are copied, longer ones wait for their receive. */
#define SELF_COPY_MAX 8192u

/* Rare, and out of the way: what is left is short enough for its callers. */
static __attribute__((noinline)) struct lmpi_msg *
msg_more(struct lmpi_engine *e)
{
	struct lmpi_msg *m = lmpi_get(e, sizeof *m);
	*m = (struct lmpi_msg){.ever = e->msgs};
	return e->msgs = m;
}

/* What is before `queued` its caller sets, or the match queue. */
static inline struct lmpi_msg *
msg_new(struct lmpi_engine *e)
{
	struct lmpi_msg *m = e->free_msgs ? e->free_msgs : msg_more(e);
	e->free_msgs = m->in_all.tqe_next;
	memset((uint8_t *)m + offsetof(struct lmpi_msg, queued), 0,
	       sizeof *m - offsetof(struct lmpi_msg, queued));
	m->live = true;
	return m;
}

static __attribute__((noinline)) struct lmpi_sink *
sink_more(struct lmpi_engine *e)
{
	struct lmpi_sink *s = lmpi_get(e, sizeof *s);
	*s = (struct lmpi_sink){.ever = e->sinks};
	return e->sinks = s;
}

static inline struct lmpi_sink *
sink_new(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_msg *m, uint64_t base,
	 uint64_t len, bool first)
{
	struct lmpi_sink *s = e->free_sinks ? e->free_sinks : sink_more(e);
	e->free_sinks = s->next;
	s->msg = m;
	s->peer = peer;
	s->base = base;
	s->head = 0; /* unless its transport has another */
	s->len = len;
	s->first = first;
	m->sinks++;
	return s;
}

void
lmpi_sink_free(struct lmpi_engine *e, struct lmpi_sink *s)
{
	s->msg = NULL;
	s->next = e->free_sinks;
	e->free_sinks = s;
}

/* --- memory for unexpected messages --------------------------------------- */

static void
give_credit(struct lmpi_engine *e, struct lmpi_peer *peer)
{
	/* At the end nobody needs it, and who has left would never take it; but a
	 * channel to a foreign host stays until both have said FINI. */
	if (!lmpi_speaks_impi(peer) || (e->ending && !(peer->caps & LMPI_CAP_STAYS)))
		return;
	while (!LMPI_BUG(CREDIT) && impi_flow_ack_due(&peer->flow, e->ackmark)) {
		struct lmpi_hdr h = lmpi_hdr_make(e, LMPI_T_PROTOACK);
		lmpi_send_control(e, peer, &h);
	}
}

void
lmpi_take_more(struct lmpi_engine *e)
{
	for (uint32_t r = 0; r < e->size; r++)
		give_credit(e, &e->peer[r]);
}

static void
memory_eased(struct lmpi_engine *e)
{
	e->over = false;
	for (uint32_t r = 0; r < e->size; r++) {
		struct lmpi_peer *peer = &e->peer[r];
		if (peer->sent_eager_off) {
			struct lmpi_hdr h = lmpi_hdr_make(e, LMPI_T_EAGER_ON);
			peer->sent_eager_off = false;
			lmpi_send_control(e, peer, &h);
		}
		give_credit(e, peer);
	}
}

static void
buffer_new(struct lmpi_engine *e, struct lmpi_msg *m, struct lmpi_peer *peer, uint64_t n)
{
	m->buf = lmpi_get(e, n);
	m->first_len = n;
	e->unexpected_bytes += n;
	e->n.unexpected_bytes += n;
	if (e->unexpected_bytes > e->n.unexpected_bytes_max)
		e->n.unexpected_bytes_max = e->unexpected_bytes;
	if (e->unexpected_bytes > e->unexpected_bytes_max)
		e->over = true;
	/* Ask whoever fills our memory to ask first; over relays the credit we
	 * hold back does it. */
	if (e->over && !peer->sent_eager_off && (peer->caps & LMPI_CAP_ASKS_OFF)) {
		struct lmpi_hdr h = lmpi_hdr_make(e, LMPI_T_EAGER_OFF);
		peer->sent_eager_off = true;
		lmpi_send_control(e, peer, &h);
	}
}

static void
buffer_free(struct lmpi_engine *e, struct lmpi_msg *m)
{
	if (!m->buf)
		return;
	if (!LMPI_BUG(BUFFER))
		e->unexpected_bytes -= m->first_len;
	lmpi_put(e, m->buf);
	m->buf = NULL;
	if (e->over && e->unexpected_bytes <= e->unexpected_bytes_max / 2)
		memory_eased(e);
}

void
lmpi_msg_free(struct lmpi_engine *e, struct lmpi_msg *m)
{
	m->live = false;
	if (m->drq)
		lmpi_id_drop(&e->recv_ids, m->drq);
	buffer_free(e, m);
	m->in_all.tqe_next = e->free_msgs;
	e->free_msgs = m;
}

/* --- placing ------------------------------------------------------------- */

/* Put n bytes of the message into the receive's buffer, as far as they fit. */
static void
place_bytes(struct lmpi_req *req, uint64_t offset, const uint8_t *data, uint64_t n)
{
	if (offset >= req->cap)
		return;
	if (n > req->cap - offset)
		n = req->cap - offset;
	if (n)
		base_copy((uint8_t *)req->buf + offset, data, n);
}

static void
finish_if_whole(struct lmpi_engine *e, struct lmpi_msg *m)
{
	struct lmpi_req *req = m->req;
	if (!req || m->sinks || !m->first_done || m->arrived != m->expect)
		return;
	e->n.recvs[e->peer[m->peer].row]++;
	e->filling--;
	int error = m->msglen > req->cap ? LMPI_ERR_TRUNCATE : LMPI_OK;
	lmpi_msg_free(e, m);
	lmpi_complete(e, req, error);
}

static void
name_msg(struct lmpi_engine *e, struct lmpi_msg *m)
{
	m->drq = lmpi_id_new(&e->recv_ids, &e->memory, m);
}

/* The receive is known: let the rest of an announced message come. */
static void
fetch(struct lmpi_engine *e, struct lmpi_msg *m, struct lmpi_req *req)
{
	struct lmpi_peer *peer = &e->peer[m->peer];
	uint64_t want = m->msglen < req->cap ? m->msglen : req->cap;
	struct lmpi_hdr h = lmpi_hdr_make(e, LMPI_T_CTS);

	h.srq = m->srq;
	m->expect = want;
	if (peer->caps & LMPI_CAP_MEMORY) {
		int r = want ? peer->tp->read_remote(e, peer, m->srq, m->address, req->buf, want)
			     : 1;
		if (r < 0 && e->tolerant) {
			e->tolerant->gone(e, peer);
			return;
		}
		if (r < 0) {
			char text[64];

			snprintf(text, sizeof text, "rank %u on this node has gone", m->peer);
			e->fail(e, text);
			return;
		}
		if (r > 0) {
			h.type = LMPI_T_FIN;
			m->arrived = want;
			lmpi_send_control(e, peer, &h);
			return;
		}
	}
	if (want)
		name_msg(e, m);
	h.drq = m->drq;
	h.msglen = want;
	lmpi_send_control(e, peer, &h);
}

/* Message m goes to receive req.  It may complete in here. */
static void
attach(struct lmpi_engine *e, struct lmpi_msg *m, struct lmpi_req *req)
{
	struct lmpi_peer *peer = &e->peer[m->peer];

	m->req = req;
	e->filling++;
	if (peer->foreign && peer->queued > 0 && m->srq)
		lmpi_supersede(e, m);
	req->source = m->source;
	req->tag = m->tag;
	req->bytes = m->msglen;
	req->peer = m->peer;
	m->expect = m->msglen;
	if (m->self) {
		place_bytes(req, 0, m->self->buf, m->msglen);
		m->arrived = m->msglen;
		lmpi_req_event(e, m->self);
	} else if (m->type == LMPI_T_RTS) {
		fetch(e, m, req);
	} else {
		if (m->sync) {
			struct lmpi_hdr h = lmpi_hdr_make(e, LMPI_T_MATCHED);
			h.srq = m->srq;
			if (m->msglen > m->first_len) {
				name_msg(e, m);
				h.drq = m->drq;
			}
			lmpi_send_control(e, peer, &h);
		}
		if (m->buf && m->first_done) {
			place_bytes(req, 0, m->buf, m->first_len);
			buffer_free(e, m);
		}
	}
	finish_if_whole(e, m);
}

static void
keep(struct lmpi_engine *e, struct lmpi_msg *m)
{
	lmpi_match_keep(&e->match, m);
	e->peer[m->peer].queued++;
	e->n.unexpected++;
}

static void
unqueue(struct lmpi_engine *e, struct lmpi_msg *m)
{
	lmpi_match_take(&e->match, m);
	e->peer[m->peer].queued--;
}

void
lmpi_take_nowhere(struct lmpi_engine *e, struct lmpi_msg *m)
{
	unqueue(e, m);
	attach(e, m, &e->nowhere);
}

void
lmpi_msg_forget(struct lmpi_engine *e, struct lmpi_msg *m)
{
	unqueue(e, m);
	if (m->sinks)
		m->dropped = true; /* the rest of its packet has to go somewhere */
	else
		lmpi_msg_free(e, m);
}

/* --- packets ------------------------------------------------------------- */

static struct lmpi_sink *
malformed(struct lmpi_engine *e, const struct lmpi_peer *peer, const char *what)
{
	char text[128];

	snprintf(text, sizeof text, "rank %u sent a malformed packet: %s", peer->world, what);
	e->fail(e, text);
	return NULL;
}

static struct lmpi_sink *
arrive_first(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h,
	     uint64_t payload)
{
	bool rts = h->type == LMPI_T_RTS, impi = lmpi_speaks_impi(peer);

	if (payload > h->msglen || (rts && (payload || impi)) ||
	    (!rts && payload < h->msglen && !(impi && (h->flags & LMPI_HF_SYNC))))
		return malformed(e, peer, "its length is not its message's");
	if (h->lsrank < 0 || h->tag < 0)
		return malformed(e, peer, "negative rank or tag");
	struct lmpi_req *service = NULL;
	if (lmpi_is_service(h->cid)) {
		const char *why = NULL;
		service = lmpi_service_take(e, peer, h->cid, h->msglen, &why);
		if (!service)
			return malformed(e, peer, why);
	}

	struct lmpi_msg *m = msg_new(e);
	m->cid = h->cid;
	m->source = h->lsrank;
	m->tag = h->tag;
	m->type = h->type;
	m->sync = h->flags & LMPI_HF_SYNC;
	m->peer = peer->world;
	m->msglen = h->msglen;
	m->first_len = payload;
	m->next_offset = payload;
	m->srq = h->srq;
	m->number = ++e->arrivals;
	m->address = h->offset;
	m->first_done = rts;

	/* The sink is made before attach(e): a message with a sink stays. */
	struct lmpi_sink *s = rts ? NULL : sink_new(e, peer, m, 0, payload, true);
	struct lmpi_req *req =
		service ? service : lmpi_match_arrive(&e->match, m->cid, m->source, m->tag);
	if (e->troubled && !req && lmpi_is_void(e, m->cid))
		req = &e->nowhere;
	if (req) {
		attach(e, m, req);
	} else {
		if (payload)
			buffer_new(e, m, peer, payload);
		keep(e, m);
	}
	/* attach(e) or the match queue owns m. */
	return s; /* NOLINT(clang-analyzer-unix.Malloc) */
}

static struct lmpi_sink *
arrive_data(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h,
	    uint64_t payload)
{
	struct lmpi_msg *m = lmpi_id_find(&e->recv_ids, h->drq);
	uint64_t base = h->offset;

	if (!m || m->peer != peer->world || !m->req)
		return malformed(e, peer, "data for a receive that is not there");
	if (lmpi_speaks_impi(peer)) {
		base = m->next_offset; /* IMPI packets of a message come in order */
		m->next_offset += payload;
	}
	if (base > m->expect || payload > m->expect - base)
		return malformed(e, peer, "data beyond the end of its message");
	return sink_new(e, peer, m, base, payload, false);
}

struct lmpi_sink *
lmpi_arrive(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h,
	    uint64_t payload)
{
	bool impi = lmpi_speaks_impi(peer), ok = true;

	if (e->troubled && peer->lost)
		return NULL;
	if (h->magic != LMPI_HDR_MAGIC || h->src + peer->apart != peer->world)
		return malformed(e, peer, "not one of its own");
	if (impi) {
		impi_flow_on_taken(&peer->flow, lmpi_pkt_type(h));
		if (!e->over)
			give_credit(e, peer);
		/* Our own answers do not wait for credit (lmpi_pkt_may_go(e)). */
		if (peer->foreign && impi_flow_is_overrun(&peer->flow, e->hiwater))
			return malformed(e, peer,
					 "more packets than HIWATER without credit for them");
	}
	switch (h->type) {
	case LMPI_T_EAGER:
	case LMPI_T_RTS:
		return arrive_first(e, peer, h, payload);
	case LMPI_T_DATA:
		return arrive_data(e, peer, h, payload);
	case LMPI_T_CTS:
		ok = !impi && lmpi_on_cts(e, peer, h->srq, h->drq, h->msglen);
		break;
	case LMPI_T_FIN:
		ok = lmpi_on_matched(e, peer, h->srq);
		break;
	case LMPI_T_MATCHED:
		ok = impi ? lmpi_on_syncack(e, peer, h->srq, h->drq)
			  : lmpi_on_matched(e, peer, h->srq);
		break;
	case LMPI_T_HELP:
		ok = (peer->caps & LMPI_CAP_MEMORY) && lmpi_on_help(e, peer, h);
		break;
	case LMPI_T_EAGER_OFF:
	case LMPI_T_EAGER_ON:
		peer->eager_off = h->type == LMPI_T_EAGER_OFF;
		break;
	case LMPI_T_PROTOACK:
		if (!impi || !impi_flow_on_protoack(&peer->flow, e->ackmark))
			return malformed(e, peer, "PROTOACK for packets that were never sent");
		break;
	case LMPI_T_CANCEL:
		lmpi_on_cancel(e, peer, h->srq);
		break;
	case LMPI_T_CANCELYES:
	case LMPI_T_CANCELNO:
		ok = lmpi_on_cancel_answer(e, peer, h->srq, h->type == LMPI_T_CANCELYES);
		break;
	default:
		return malformed(e, peer, "unknown type");
	}
	return ok ? NULL : malformed(e, peer, "answers a send that is not there");
}

void
lmpi_sink_data(struct lmpi_sink *s, uint64_t offset, const uint8_t *data, size_t len)
{
	struct lmpi_msg *m = s->msg;

	if (offset < s->head) {
		size_t skip = s->head - offset < len ? (size_t)(s->head - offset) : len;
		offset += skip;
		data += skip;
		len -= skip;
	}
	if (len == 0)
		return;
	offset -= s->head;
	BASE_ASSERT(offset + len <= s->len);
	m->arrived += len;
	if (s->first && m->buf)
		base_copy(m->buf + offset, data, len);
	else
		place_bytes(m->req, s->base + offset, data, len);
}

uint8_t *
lmpi_sink_place(const struct lmpi_sink *s, uint64_t offset, uint64_t *n)
{
	const struct lmpi_msg *m = s->msg;
	uint64_t at = s->base + offset;

	*n = 0;
	if (s->first || s->head > 0 || at >= m->req->cap)
		return NULL;
	*n = s->len - offset < m->req->cap - at ? s->len - offset : m->req->cap - at;
	return (uint8_t *)m->req->buf + (LMPI_BUG(STREAM_ASTRAY) ? s->base : at);
}

void
lmpi_sink_placed(struct lmpi_sink *s, uint64_t n)
{
	s->msg->arrived += n;
}

void
lmpi_sink_end(struct lmpi_engine *e, struct lmpi_sink *s)
{
	struct lmpi_msg *m = s->msg;

	m->sinks--;
	if (s->first) {
		m->first_done = true;
		if (m->req && m->buf) {
			place_bytes(m->req, 0, m->buf, m->first_len);
			buffer_free(e, m);
		}
	}
	lmpi_sink_free(e, s);
	if (m->dropped && m->sinks == 0)
		lmpi_msg_free(e, m);
	else
		finish_if_whole(e, m);
}

void
lmpi_arrive_whole(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t cid, int lsrank, int tag,
		  const uint8_t *data, size_t len)
{
	struct lmpi_req *req = NULL;

	if (lsrank >= 0 && tag >= 0 && !lmpi_is_service(cid))
		req = lmpi_match_arrive(&e->match, cid, lsrank, tag);
	if (!req) {
		struct lmpi_hdr h = lmpi_hdr_make(e, LMPI_T_EAGER);
		h.src = peer->world - peer->apart;
		h.lsrank = lsrank;
		h.tag = tag;
		h.cid = cid;
		h.msglen = len;
		struct lmpi_sink *s = lmpi_arrive(e, peer, &h, len);
		if (s) {
			lmpi_sink_data(s, 0, data, len);
			lmpi_sink_end(e, s);
		}
		return;
	}
	e->arrivals++;
	req->source = lsrank;
	req->tag = tag;
	req->bytes = len;
	req->peer = peer->world;
	e->n.recvs[peer->row]++;
	place_bytes(req, 0, data, len);
	lmpi_complete(e, req, len > req->cap ? LMPI_ERR_TRUNCATE : LMPI_OK);
}

void
lmpi_self_send(struct lmpi_engine *e, struct lmpi_req *req, const void *data, uint64_t len,
	       int lsrank)
{
	struct lmpi_msg *m = msg_new(e);

	m->cid = req->cid;
	m->source = lsrank;
	m->tag = req->tag;
	m->type = LMPI_T_EAGER;
	m->peer = e->rank;
	m->msglen = len;
	m->first_done = true;
	m->self = req;
	req->buf = (void *)(uintptr_t)data;
	struct lmpi_req *recv = lmpi_match_arrive(&e->match, m->cid, m->source, m->tag);
	if (recv) {
		attach(e, m, recv);
		return;
	}
	if (req->mode != LMPI_SYNC && len <= SELF_COPY_MAX) {
		m->self = NULL;
		m->arrived = len;
		if (len) {
			buffer_new(e, m, &e->peer[e->rank], len);
			base_copy(m->buf, data, len);
		}
		lmpi_req_event(e, req);
	}
	keep(e, m);
}

/* --- the surface's calls -------------------------------------------------- */

static void
init_recv(struct lmpi_req *req, void *buf, uint64_t cap)
{
	req->done = false;
	req->cancelled = false;
	req->kind = LMPI_KIND_RECV;
	req->error = LMPI_OK;
	req->bytes = 0;
	req->buf = buf;
	req->cap = cap;
}

bool
lmpi_engine_irecv(struct lmpi_engine *e, struct lmpi_req *req, void *buf, uint64_t cap, int source,
		  int tag, uint64_t cid)
{
	init_recv(req, buf, cap);
	req->source = source;
	req->tag = tag;
	req->cid = cid;
	struct lmpi_msg *m = lmpi_match_find(&e->match, cid, source, tag);
	if (!m) {
		if (e->troubled && lmpi_refuse_recv(e, req))
			return true;
		lmpi_match_post(&e->match, req);
		return false;
	}
	unqueue(e, m);
	attach(e, m, req);
	return true;
}

bool
lmpi_engine_cancel_recv(struct lmpi_engine *e, struct lmpi_req *req)
{
	if (req->kind != LMPI_KIND_RECV || req->done || !lmpi_match_unpost(&e->match, req))
		return false;
	req->cancelled = true;
	lmpi_complete(e, req, LMPI_OK);
	return true;
}

bool
lmpi_engine_iprobe(struct lmpi_engine *e, int source, int tag, uint64_t cid, bool take,
		   struct lmpi_probed *out)
{
	struct lmpi_msg *m = lmpi_match_find(&e->match, cid, source, tag);
	if (!m)
		return false;
	*out = (struct lmpi_probed){.source = m->source, .tag = m->tag, .bytes = m->msglen};
	if (take) {
		unqueue(e, m);
		m->taken = true;
		if (e->peer[m->peer].foreign && m->srq)
			lmpi_supersede(e, m);
		out->message = m;
	}
	return true;
}

void
lmpi_engine_mrecv(struct lmpi_engine *e, struct lmpi_req *req, void *buf, uint64_t cap,
		  void *message)
{
	struct lmpi_msg *m = message;

	BASE_ASSERT(m->taken && !m->req);
	init_recv(req, buf, cap);
	req->cid = m->cid;
	if (m->lost) {
		lmpi_msg_free(e, m);
		lmpi_complete(e, req, LMPI_ERR_PROC_FAILED);
	} else if (e->troubled && lmpi_is_void(e, m->cid)) {
		attach(e, m, &e->nowhere);
		lmpi_complete(e, req, LMPI_ERR_REVOKED);
	} else {
		attach(e, m, req);
	}
}

void
lmpi_recv_drop(struct lmpi_engine *e)
{
	struct lmpi_msg *m;

	e->over = false; /* nobody is to be told that there is room again */
	while ((m = TAILQ_FIRST(&e->match.all)) != NULL) {
		lmpi_match_take(&e->match, m);
		lmpi_msg_free(e, m);
	}
	while ((m = e->msgs) != NULL) {
		e->msgs = m->ever;
		lmpi_put(e, m->buf);
		lmpi_put(e, m);
	}
	struct lmpi_sink *s;
	while ((s = e->sinks) != NULL) {
		e->sinks = s->ever;
		lmpi_put(e, s);
	}
	e->free_msgs = NULL;
	e->free_sinks = NULL;
}
