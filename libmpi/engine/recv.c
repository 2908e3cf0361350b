/* The receiving half: matching, placing, unexpected messages, probing. */
#include "internal.h"
#include "cycles.h"
#include "patience.h"

#include "lock.h"
#include "../transport/transport.h"

#include "base/assert.h"
#include "base/copy.h"

#include <string.h>

#define eng lmpi_eng

/* Of lmpi_recv_whole(): so long without a turn of the loop, where other nodes may wait for our
 * acks. */
#define WHOLE_US 100u

static struct lmpi_patience patience;
static struct {
	uint64_t turned; /* the last turn of the loop instead of looking at one ring */
	uint64_t looked; /* the clock at the last look that read it */
	uint64_t missed; /* looking began; the message has not come by the end of it */
	uint64_t most;	 /* cycles without a turn, where there are other nodes */
} whole;

static void *
must_alloc(size_t n)
{
	void *p = malloc(n);
	if (!p)
		lmpi_engine_abort(LMPI_ERR_NO_MEM, "out of memory for incoming messages");
	return p;
}

static struct lmpi_msg *
msg_new(void)
{
	struct lmpi_msg *m = eng.free_msgs;
	if (m)
		eng.free_msgs = m->in_all.tqe_next;
	else
		m = must_alloc(sizeof *m);
	*m = (struct lmpi_msg){0};
	return m;
}

static struct lmpi_sink *
sink_new(struct lmpi_peer *peer, struct lmpi_msg *m, uint64_t base, uint64_t len, bool first)
{
	struct lmpi_sink *s = eng.free_sinks;
	if (s)
		eng.free_sinks = s->next;
	else
		s = must_alloc(sizeof *s);
	*s = (struct lmpi_sink){.msg = m, .peer = peer, .base = base, .len = len, .first = first};
	m->sinks++;
	return s;
}

/* --- memory for unexpected messages --------------------------------------- */

static void
give_credit(struct lmpi_peer *peer)
{
	/* At the end nobody needs it, and who has left would never take it; but a
	 * channel to a foreign host stays until both have said FINI. */
	if (!lmpi_speaks_impi(peer) || (eng.ending && peer->reach != LMPI_REACH_TCP))
		return;
	while (impi_flow_ack_due(&peer->flow, eng.ackmark)) {
		struct lmpi_hdr h = lmpi_hdr_make(LMPI_T_PROTOACK);
		lmpi_send_control(peer, &h);
	}
}

void
lmpi_take_more(void)
{
	for (uint32_t r = 0; r < lmpi_world.size; r++)
		give_credit(&eng.peer[r]);
}

static void
memory_eased(void)
{
	eng.over = false;
	for (uint32_t r = 0; r < lmpi_world.size; r++) {
		struct lmpi_peer *peer = &eng.peer[r];
		if (peer->told_off) {
			struct lmpi_hdr h = lmpi_hdr_make(LMPI_T_EAGER_ON);
			peer->told_off = false;
			lmpi_send_control(peer, &h);
		}
		give_credit(peer);
	}
}

static void
buffer_new(struct lmpi_msg *m, struct lmpi_peer *peer, uint64_t n)
{
	m->buf = must_alloc(n);
	m->first_len = n;
	eng.unexpected_bytes += n;
	lmpi_stats.unexpected_bytes += n;
	if (eng.unexpected_bytes > lmpi_stats.unexpected_bytes_max)
		lmpi_stats.unexpected_bytes_max = eng.unexpected_bytes;
	if (eng.unexpected_bytes > eng.unexpected_bytes_max)
		eng.over = true;
	/* Ask whoever fills our memory to ask first; over relays the credit we
	 * hold back does it. */
	if (eng.over && !peer->told_off &&
	    (peer->reach == LMPI_REACH_SHM || peer->reach == LMPI_REACH_DIRECT)) {
		struct lmpi_hdr h = lmpi_hdr_make(LMPI_T_EAGER_OFF);
		peer->told_off = true;
		lmpi_send_control(peer, &h);
	}
}

static void
buffer_free(struct lmpi_msg *m)
{
	if (!m->buf)
		return;
	eng.unexpected_bytes -= m->first_len;
	free(m->buf);
	m->buf = NULL;
	if (eng.over && eng.unexpected_bytes < eng.unexpected_bytes_max / 2)
		memory_eased();
}

static void
msg_free(struct lmpi_msg *m)
{
	if (m->drq)
		lmpi_id_drop(&eng.recv_ids, m->drq);
	buffer_free(m);
	m->in_all.tqe_next = eng.free_msgs;
	eng.free_msgs = m;
}

/* --- placing ------------------------------------------------------------- */

/* Put n bytes of the message into the receive's buffer, as far as they fit. */
static void
place(struct lmpi_req *req, uint64_t offset, const uint8_t *data, uint64_t n)
{
	if (offset >= req->cap)
		return;
	if (n > req->cap - offset)
		n = req->cap - offset;
	if (n)
		base_copy((uint8_t *)req->buf + offset, data, n);
}

static void
finish_if_whole(struct lmpi_msg *m)
{
	struct lmpi_req *req = m->req;
	if (!req || m->sinks || !m->first_done || m->arrived != m->expect)
		return;
	lmpi_stats.recvs[eng.peer[m->peer].reach]++;
	eng.filling--;
	int error = m->msglen > req->cap ? LMPI_ERR_TRUNCATE : LMPI_OK;
	msg_free(m);
	lmpi_complete(req, error);
}

static void
name_msg(struct lmpi_msg *m)
{
	m->drq = lmpi_id_new(&eng.recv_ids, m);
	if (!m->drq)
		lmpi_engine_abort(LMPI_ERR_NO_MEM, "out of memory for requests");
}

/* The receive is known: let the rest of an announced message come. */
static void
fetch(struct lmpi_msg *m, struct lmpi_req *req)
{
	struct lmpi_peer *peer = &eng.peer[m->peer];
	uint64_t want = m->msglen < req->cap ? m->msglen : req->cap;
	struct lmpi_hdr h = lmpi_hdr_make(LMPI_T_CTS);

	h.srq = m->srq;
	m->expect = want;
	if (peer->reach == LMPI_REACH_SHM) {
		int r = want ? lmpi_tp_read(peer, m->srq, m->address, req->buf, want) : 1;
		if (r < 0) {
			lmpi_fail("rank %u on this node has gone", m->peer);
			return;
		}
		if (r > 0) {
			h.type = LMPI_T_FIN;
			m->arrived = want;
			lmpi_send_control(peer, &h);
			return;
		}
	}
	if (want)
		name_msg(m);
	h.drq = m->drq;
	h.msglen = want;
	lmpi_send_control(peer, &h);
}

/* Message m goes to receive req.  It may complete in here. */
static void
attach(struct lmpi_msg *m, struct lmpi_req *req)
{
	struct lmpi_peer *peer = &eng.peer[m->peer];

	m->req = req;
	eng.filling++;
	if (peer->foreign && peer->queued > 0 && m->srq)
		lmpi_supersede(m);
	req->source = m->source;
	req->tag = m->tag;
	req->bytes = m->msglen;
	req->peer = m->peer;
	m->expect = m->msglen;
	if (m->self) {
		place(req, 0, m->self->buf, m->msglen);
		m->arrived = m->msglen;
		lmpi_req_event(m->self);
	} else if (m->type == LMPI_T_RTS) {
		fetch(m, req);
	} else {
		if (m->sync) {
			struct lmpi_hdr h = lmpi_hdr_make(LMPI_T_MATCHED);
			h.srq = m->srq;
			if (m->msglen > m->first_len) {
				name_msg(m);
				h.drq = m->drq;
			}
			lmpi_send_control(peer, &h);
		}
		if (m->buf && m->first_done) {
			place(req, 0, m->buf, m->first_len);
			buffer_free(m);
		}
	}
	finish_if_whole(m);
}

static void
keep(struct lmpi_msg *m)
{
	lmpi_match_keep(&eng.match, m);
	eng.peer[m->peer].queued++;
	lmpi_stats.unexpected++;
}

static void
unqueue(struct lmpi_msg *m)
{
	lmpi_match_take(&eng.match, m);
	eng.peer[m->peer].queued--;
}

void
lmpi_msg_forget(struct lmpi_msg *m)
{
	unqueue(m);
	if (m->sinks)
		m->dropped = true; /* the rest of its packet has to go somewhere */
	else
		msg_free(m);
}

/* --- packets ------------------------------------------------------------- */

static struct lmpi_sink *
malformed(const struct lmpi_peer *peer, const char *what)
{
	lmpi_fail("rank %u sent a malformed packet: %s", peer->world, what);
	return NULL;
}

static struct lmpi_sink *
arrive_first(struct lmpi_peer *peer, const struct lmpi_hdr *h, uint64_t payload)
{
	bool rts = h->type == LMPI_T_RTS, impi = lmpi_speaks_impi(peer);

	if (payload > h->msglen || (rts && (payload || impi)) ||
	    (!rts && payload < h->msglen && !(impi && (h->flags & LMPI_HF_SYNC))))
		return malformed(peer, "its length is not its message's");
	if (h->lsrank < 0 || h->tag < 0)
		return malformed(peer, "negative rank or tag");
	struct lmpi_req *service = NULL;
	if (h->cid == LMPI_CID_SERVICE) {
		service = lmpi_service_take(peer, h->msglen);
		if (!service)
			return malformed(peer, "for a part of the library that is not in use");
	}

	struct lmpi_msg *m = msg_new();
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
	m->number = ++eng.arrivals;
	m->address = h->offset;
	m->first_done = rts;

	/* The sink is made before attach(): a message with a sink stays. */
	struct lmpi_sink *s = rts ? NULL : sink_new(peer, m, 0, payload, true);
	struct lmpi_req *req =
		service ? service : lmpi_match_arrive(&eng.match, m->cid, m->source, m->tag);
	if (req) {
		attach(m, req);
	} else {
		if (payload)
			buffer_new(m, peer, payload);
		keep(m);
	}
	/* attach() or the match queue owns m. */
	return s; /* NOLINT(clang-analyzer-unix.Malloc) */
}

static struct lmpi_sink *
arrive_data(struct lmpi_peer *peer, const struct lmpi_hdr *h, uint64_t payload)
{
	struct lmpi_msg *m = lmpi_id_find(&eng.recv_ids, h->drq);
	uint64_t base = h->offset;

	if (!m || m->peer != peer->world || !m->req)
		return malformed(peer, "data for a receive that is not there");
	if (lmpi_speaks_impi(peer)) {
		base = m->next_offset; /* IMPI packets of a message come in order */
		m->next_offset += payload;
	}
	if (base > m->expect || payload > m->expect - base)
		return malformed(peer, "data beyond the end of its message");
	return sink_new(peer, m, base, payload, false);
}

struct lmpi_sink *
lmpi_arrive(struct lmpi_peer *peer, const struct lmpi_hdr *h, uint64_t payload)
{
	bool impi = lmpi_speaks_impi(peer), ok = true;

	if (h->magic != LMPI_HDR_MAGIC || h->src != peer->world)
		return malformed(peer, "not one of its own");
	if (impi) {
		impi_flow_on_taken(&peer->flow, lmpi_pkt_type(h));
		if (!eng.over)
			give_credit(peer);
		/* Our own answers do not wait for credit (lmpi_pkt_may_go()). */
		if (peer->foreign && impi_flow_is_overrun(&peer->flow, eng.hiwater))
			return malformed(peer, "more packets than HIWATER without credit for them");
	}
	switch (h->type) {
	case LMPI_T_EAGER:
	case LMPI_T_RTS:
		return arrive_first(peer, h, payload);
	case LMPI_T_DATA:
		return arrive_data(peer, h, payload);
	case LMPI_T_CTS:
		ok = !impi && lmpi_on_cts(peer, h->srq, h->drq, h->msglen);
		break;
	case LMPI_T_FIN:
		ok = lmpi_on_matched(peer, h->srq);
		break;
	case LMPI_T_MATCHED:
		ok = impi ? lmpi_on_syncack(peer, h->srq, h->drq) : lmpi_on_matched(peer, h->srq);
		break;
	case LMPI_T_HELP:
		ok = peer->reach == LMPI_REACH_SHM && lmpi_on_help(peer, h);
		break;
	case LMPI_T_EAGER_OFF:
	case LMPI_T_EAGER_ON:
		peer->eager_off = h->type == LMPI_T_EAGER_OFF;
		break;
	case LMPI_T_PROTOACK:
		if (!impi || !impi_flow_on_protoack(&peer->flow, eng.ackmark))
			return malformed(peer, "PROTOACK for packets that were never sent");
		break;
	case LMPI_T_CANCEL:
		lmpi_on_cancel(peer, h->srq);
		break;
	case LMPI_T_CANCELYES:
	case LMPI_T_CANCELNO:
		ok = lmpi_on_cancel_answer(peer, h->srq, h->type == LMPI_T_CANCELYES);
		break;
	default:
		return malformed(peer, "unknown type");
	}
	return ok ? NULL : malformed(peer, "answers a send that is not there");
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
		place(m->req, s->base + offset, data, len);
}

void
lmpi_sink_end(struct lmpi_sink *s)
{
	struct lmpi_msg *m = s->msg;

	m->sinks--;
	if (s->first) {
		m->first_done = true;
		if (m->req && m->buf) {
			place(m->req, 0, m->buf, m->first_len);
			buffer_free(m);
		}
	}
	s->next = eng.free_sinks;
	eng.free_sinks = s;
	if (m->dropped && m->sinks == 0)
		msg_free(m);
	else
		finish_if_whole(m);
}

void
lmpi_arrive_whole(struct lmpi_peer *peer, uint64_t cid, int lsrank, int tag, const uint8_t *data,
		  size_t len)
{
	struct lmpi_req *req = NULL;

	if (lsrank >= 0 && tag >= 0 && cid != LMPI_CID_SERVICE)
		req = lmpi_match_arrive(&eng.match, cid, lsrank, tag);
	if (!req) {
		struct lmpi_hdr h = lmpi_hdr_make(LMPI_T_EAGER);
		h.src = peer->world;
		h.lsrank = lsrank;
		h.tag = tag;
		h.cid = cid;
		h.msglen = len;
		struct lmpi_sink *s = lmpi_arrive(peer, &h, len);
		if (s) {
			lmpi_sink_data(s, 0, data, len);
			lmpi_sink_end(s);
		}
		return;
	}
	eng.arrivals++;
	req->source = lsrank;
	req->tag = tag;
	req->bytes = len;
	req->peer = peer->world;
	lmpi_stats.recvs[peer->reach]++;
	place(req, 0, data, len);
	lmpi_complete(req, len > req->cap ? LMPI_ERR_TRUNCATE : LMPI_OK);
}

void
lmpi_self_send(struct lmpi_req *req, const void *data, uint64_t len, int lsrank)
{
	struct lmpi_msg *m = msg_new();

	m->cid = req->cid;
	m->source = lsrank;
	m->tag = req->tag;
	m->type = LMPI_T_EAGER;
	m->peer = lmpi_world.rank;
	m->msglen = len;
	m->first_done = true;
	m->self = req;
	req->buf = (void *)(uintptr_t)data;
	struct lmpi_req *recv = lmpi_match_arrive(&eng.match, m->cid, m->source, m->tag);
	if (recv) {
		attach(m, recv);
		return;
	}
	if (req->mode != LMPI_SYNC && len <= LMPI_SHM_EAGER_MAX) {
		m->self = NULL;
		m->arrived = len;
		if (len) {
			buffer_new(m, &eng.peer[lmpi_world.rank], len);
			base_copy(m->buf, data, len);
		}
		lmpi_req_event(req);
	}
	keep(m);
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

static void
after_post(void)
{
	if (eng.in_transport)
		return;
	if (eng.pending) {
		lmpi_pump();
		lmpi_tp_kick();
	}
	lmpi_run_done();
}

void
lmpi_irecv(struct lmpi_req *req, void *buf, uint64_t cap, int source, int tag, uint64_t cid)
{
	init_recv(req, buf, cap);
	req->source = source;
	req->tag = tag;
	req->cid = cid;
	struct lmpi_msg *m = lmpi_match_find(&eng.match, cid, source, tag);
	if (!m) {
		lmpi_match_post(&eng.match, req);
		return;
	}
	unqueue(m);
	attach(m, req);
	after_post();
}

void
lmpi_recv_init(void)
{
	uint32_t rate = lmpi_cycles_per_us();

	lmpi_patience_init(&patience, rate);
	whole.most = (uint64_t)rate * WHOLE_US;
	whole.turned = lmpi_cycles();
}

/* A turn of the loop instead of looking at one ring. */
static bool
whole_turn(bool due, uint64_t now)
{
	lmpi_patience_turned(&patience, due, now - whole.turned);
	whole.turned = now;
	return false;
}

/* After so many looks: read the clock, which what comes at once does without.  Returns since when
 * the message is looked for; 0: long enough. */
static uint64_t __attribute__((noinline)) whole_goes_on(uint64_t since)
{
	whole.looked = lmpi_cycles();
	if (since == 0)
		since = whole.looked;
	if (whole.looked - since < patience.bound)
		return since;
	whole.missed = since;
	whole_turn(false, whole.looked);
	return 0;
}

void
lmpi_recv_waited(void)
{
	if (whole.missed == 0)
		return;
	lmpi_patience_waited(&patience, lmpi_cycles() - whole.missed);
	whole.missed = 0;
}

bool
lmpi_recv_whole(void *buf, uint64_t cap, uint32_t source_world, int source, int tag, uint64_t cid,
		bool wait, struct lmpi_probed *out)
{
	const struct lmpi_peer *peer = &eng.peer[source_world];
	uint64_t since = 0;
	int r;

	/* Nothing that came before may be meant, nobody else may be waiting; and everybody else
	 * gets turns of the loop, too. */
	if (peer->reach != LMPI_REACH_SHM || eng.match.unexpected != 0 || eng.match.posted_n != 0 ||
	    eng.pending || eng.in_transport)
		return false;
	if (lmpi_patience_turn_due(&patience))
		return whole_turn(true, lmpi_cycles());
	if (lmpi_world.node_size < lmpi_world.size) {
		uint64_t now = lmpi_cycles();
		if (now - whole.turned > whole.most)
			return whole_turn(false, now);
	}
	/* Who has the core, or the lock, is perhaps who keeps the sender from sending. */
	wait = wait && !lmpi_lock_shared && !lmpi_crowded();
	for (uint32_t looks = 1;; looks++) {
		r = lmpi_shm_recv_brief(peer, cid, source, tag, buf, cap, out);
		if (r != 0 || !wait)
			break;
		if (looks % LMPI_PATIENCE_LOOKS == 0 && (since = whole_goes_on(since)) == 0)
			return false;
		__builtin_ia32_pause();
	}
	if (since != 0)
		lmpi_patience_waited(&patience, whole.looked - since);
	if (r != 1)
		return false;
	eng.arrivals++;
	lmpi_stats.recvs[LMPI_REACH_SHM]++;
	return true;
}

bool
lmpi_cancel_recv(struct lmpi_req *req)
{
	if (req->kind != LMPI_KIND_RECV || req->done || !lmpi_match_unpost(&eng.match, req))
		return false;
	req->cancelled = true;
	lmpi_complete(req, LMPI_OK);
	lmpi_run_done();
	return true;
}

bool
lmpi_iprobe(int source, int tag, uint64_t cid, bool take, struct lmpi_probed *out)
{
	struct lmpi_msg *m = lmpi_match_find(&eng.match, cid, source, tag);
	if (!m)
		return false;
	*out = (struct lmpi_probed){.source = m->source, .tag = m->tag, .bytes = m->msglen};
	if (take) {
		unqueue(m);
		m->taken = true;
		if (eng.peer[m->peer].foreign && m->srq)
			lmpi_supersede(m);
		out->message = m;
	}
	return true;
}

void
lmpi_mrecv(struct lmpi_req *req, void *buf, uint64_t cap, void *message)
{
	struct lmpi_msg *m = message;

	BASE_ASSERT(m->taken && !m->req);
	init_recv(req, buf, cap);
	req->cid = m->cid;
	attach(m, req);
	after_post();
}

void
lmpi_recv_fini(void)
{
	struct lmpi_msg *m;

	eng.over = false; /* nobody is to be told that there is room again */
	while ((m = TAILQ_FIRST(&eng.match.all)) != NULL) {
		lmpi_match_take(&eng.match, m);
		msg_free(m);
	}
	while ((m = eng.free_msgs) != NULL) {
		eng.free_msgs = m->in_all.tqe_next;
		free(m);
	}
	lmpi_service_fini();
	struct lmpi_sink *s;
	while ((s = eng.free_sinks) != NULL) {
		eng.free_sinks = s->next;
		free(s);
	}
	free(eng.recv_ids.slot);
	eng.recv_ids = (struct lmpi_idtab){0};
	free(eng.send_ids.slot);
	eng.send_ids = (struct lmpi_idtab){0};
}
