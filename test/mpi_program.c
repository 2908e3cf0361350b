/* SPDX-License-Identifier: BSD-2-Clause */
#include "mpi_program.h"

#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEN_MIN	  16u /* its number and a mark */
#define CIDS	  3u
#define TAGS	  3
#define GUARD	  16u
#define POISON	  0xddu
#define UNTOUCHED 0xa5u

/* The payload: number, then bytes that follow from it. */
struct message {
	struct lmpi_req req; /* first */
	struct program *p;
	uint32_t number, src, dst, len;
	uint64_t cid;
	uint32_t epoch; /* it was sent in */
	int tag;
	bool service, cancels, asked, sent, received;
	uint32_t stream; /* its place among those of (src, dst, cid) */
	uint32_t taker;	 /* receive */
	uint8_t *data;
};

struct receive {
	struct lmpi_req req; /* first */
	struct program *p;
	uint32_t rank;
	uint64_t cid;
	uint32_t epoch;
	int source, tag; /* as it was posted */
	uint32_t cap;
	uint32_t order; /* among those of its process, as posted */
	bool posted, over, probed;
	uint32_t message; /* UINT32_MAX: none */
	uint8_t *buf;
	struct receive *next; /* of the same process, the newest first */
};

enum act { ACT_SEND, ACT_RECV, ACT_CANCEL };
struct step {
	enum act act;
	uint32_t i;
	uint64_t at; /* sorted by it */
};

struct process {
	struct program *p;
	struct lmpi_engine *e;
	struct step *step;
	uint32_t steps, next, idle, posted;
	uint32_t due; /* messages that it has to receive */
	uint32_t have;
	struct receive *receives;
	bool dead;
	uint32_t epoch;
	uint32_t lost, acked, gone; /* bits of ranks; gone: a transport has found out */
};

struct program {
	struct program_conf conf;
	struct process proc[PROGRAM_PROCS];
	struct message *message;
	struct receive *planned; /* [messages] */
	uint32_t service_next[PROGRAM_PROCS][PROGRAM_PROCS];
	uint32_t sent_in[PROGRAM_PROCS][PROGRAM_PROCS][CIDS];
	bool trouble; /* somebody has died, or is in a later epoch */
	bool broken;
	char why[300];
};

/* Handlers of the library's own messages are not told who they are. */
static struct program *running;

static void __attribute__((format(printf, 2, 3))) breaks(struct program *p, const char *fmt, ...)
{
	va_list ap;

	if (p->broken)
		return;
	p->broken = true;
	va_start(ap, fmt);
	vsnprintf(p->why, sizeof p->why, fmt, ap);
	va_end(ap);
}

static uint8_t
byte_of(uint32_t number, uint32_t i)
{
	uint64_t x = (i / 8 + 1) * 0x9e3779b97f4a7c15ull + number * 0xff51afd7ed558ccdull;

	return (uint8_t)(x >> (8 * (i % 8)));
}

static bool
pattern_fits(const struct receive *r, const struct message *m)
{
	return r->cid == m->cid && r->epoch == m->epoch &&
	       (r->source == LMPI_ANY_SOURCE || r->source == (int)m->src) &&
	       (r->tag == LMPI_ANY_TAG || r->tag == m->tag);
}

/* ---- what is done ---- */

/* A receive of the destination has taken it: it says so before it has all of it. */
static bool
is_matched(const struct program *p, const struct message *m)
{
	if (m->received)
		return true;
	for (const struct receive *r = p->proc[m->dst].receives; r; r = r->next)
		if (!r->over && r->req.source == (int)m->src && r->req.tag == m->tag &&
		    r->req.bytes == m->len && r->cid == m->cid)
			return true;
	return false;
}

static void
taken_back(struct message *m)
{
	if (m->received)
		breaks(m->p, "message %u was received and is taken back", m->number);
	m->p->proc[m->dst].due--;
}

static bool
is_lost(const struct process *q, int rank)
{
	return rank >= 0 && q->lost >> rank & 1;
}

/* A send or a receive of q ended with an error that has a reason.  peer: whom it was with, -1: not
 * known. */
static bool
is_excused(const struct process *q, int error, int peer, uint32_t epoch)
{
	if (error == LMPI_ERR_PROC_FAILED)
		return peer >= 0 && q->p->proc[peer].dead;
	return error == LMPI_ERR_REVOKED && epoch < q->epoch;
}

/* A transport brought the receiver an earlier epoch's message: it goes nowhere. */
static bool
is_over(const struct message *m)
{
	return !m->service && m->epoch < m->p->proc[m->dst].epoch;
}

static void
send_done(struct lmpi_req *req)
{
	struct message *m = (struct message *)(void *)req;
	const struct process *q = &m->p->proc[m->src];

	if (q->dead)
		return;
	if (req->error) {
		if (!is_excused(q, req->error, (int)m->dst, m->epoch) || req->cancelled)
			breaks(m->p, "message %u: sending it ends with error %d", m->number,
			       req->error);
	} else if (req->cancelled) {
		taken_back(m);
	} else if (m->req.mode == LMPI_SYNC && !is_matched(m->p, m) && !is_over(m)) {
		breaks(m->p, "message %u is sent synchronously, done and not matched", m->number);
	}
	memset(m->data, POISON, m->len);
}

static void
check_bytes(struct receive *r, const struct message *m)
{
	uint32_t n = m->len < r->cap ? m->len : r->cap;

	for (uint32_t i = sizeof m->number; i < n; i++)
		if (r->buf[i] != byte_of(m->number, i)) {
			breaks(r->p, "message %u: byte %u is wrong", m->number, i);
			return;
		}
	for (uint32_t i = n; i < r->cap + GUARD; i++)
		if (r->buf[i] != UNTOUCHED) {
			breaks(r->p, "message %u: byte %u behind its end was written", m->number,
			       i);
			return;
		}
}

static void
recv_done(struct lmpi_req *req)
{
	struct receive *r = (struct receive *)(void *)req;
	struct program *p = r->p;
	const struct process *q = &p->proc[r->rank];
	uint32_t number;

	if (q->dead)
		return;
	if (r->over)
		breaks(p, "rank %u: a receive is done twice", r->rank);
	r->over = true;
	if (req->cancelled)
		return;
	if (req->error && req->error != LMPI_ERR_TRUNCATE) {
		if (!is_excused(q, req->error, req->source, r->epoch) &&
		    !is_excused(q, req->error, r->source, r->epoch) && !r->probed)
			breaks(p, "rank %u: a receive ends with error %d", r->rank, req->error);
		return;
	}
	memcpy(&number, r->buf, sizeof number);
	if (number >= p->conf.messages) {
		breaks(p, "rank %u: received what was not sent", r->rank);
		return;
	}
	struct message *m = &p->message[number];
	r->message = number;
	if (m->dst != r->rank || !m->sent || m->service || !pattern_fits(r, m))
		breaks(p, "rank %u: message %u does not fit its receive", r->rank, number);
	if (m->received)
		breaks(p, "rank %u: message %u was received twice", r->rank, number);
	if (is_lost(q, (int)m->src))
		breaks(p, "rank %u: message %u of rank %u was received after its loss", r->rank,
		       number, m->src);
	if (req->source != (int)m->src || req->tag != m->tag || req->bytes != m->len ||
	    req->error != (m->len > r->cap ? LMPI_ERR_TRUNCATE : LMPI_OK))
		breaks(p, "rank %u: message %u has another status", r->rank, number);
	check_bytes(r, m);
	m->received = true;
	m->taker = r->order;
	p->proc[r->rank].have++;
}

static void
service(uint32_t from, const void *data, uint64_t len)
{
	struct program *p = running;
	uint32_t number;

	if (len < LEN_MIN) {
		breaks(p, "a short message of the library");
		return;
	}
	memcpy(&number, data, sizeof number);
	struct message *m = number < p->conf.messages ? &p->message[number] : NULL;
	if (m && p->proc[m->dst].dead)
		return;
	if (m && is_lost(&p->proc[m->dst], (int)from))
		breaks(p, "message %u of the library came after the loss of rank %u", number, from);
	if (!m || m->src != from || !m->service || m->len != len || m->received) {
		breaks(p, "a message of the library that was not sent, or came twice");
		return;
	}
	for (uint32_t i = sizeof number; i < len; i++)
		if (((const uint8_t *)data)[i] != byte_of(number, i)) {
			breaks(p, "message %u: byte %u is wrong", number, i);
			break;
		}
	if (p->service_next[from][m->dst]++ != m->stream)
		breaks(p, "message %u of the library came out of order", number);
	m->received = true;
}

/* ---- what is posted ---- */

static uint64_t
context_of(const struct process *q, uint64_t cid)
{
	return cid | (uint64_t)q->epoch << LMPI_EPOCH_SHIFT;
}

static void
post_send(struct process *q, struct message *m)
{
	enum lmpi_mode mode = m->req.mode;

	memcpy(m->data, &m->number, sizeof m->number);
	for (uint32_t i = sizeof m->number; i < m->len; i++)
		m->data[i] = byte_of(m->number, i);
	m->req = (struct lmpi_req){.on_done = send_done};
	m->sent = true;
	m->epoch = q->epoch;
	m->stream = q->p->sent_in[m->src][m->dst][m->service ? CIDS - 1 : m->cid]++;
	lmpi_engine_isend(q->e, &m->req, m->data, m->len, m->dst, (int)m->src, m->tag,
			  m->service ? m->cid : context_of(q, m->cid), mode);
}

static void
note_posted(struct process *q, struct receive *r)
{
	r->order = q->posted++;
	r->epoch = q->epoch;
	r->posted = true;
	r->buf = malloc(r->cap + GUARD);
	BASE_ASSERT(r->buf);
	memset(r->buf, UNTOUCHED, r->cap + GUARD);
	r->req = (struct lmpi_req){.on_done = recv_done};
	r->next = q->receives;
	q->receives = r;
}

static void
post_recv(struct process *q, struct receive *r)
{
	note_posted(q, r);
	(void)lmpi_engine_irecv(q->e, &r->req, r->buf, r->cap, r->source, r->tag,
				context_of(q, r->cid));
}

/* Nothing is left to post: what still comes meets no receive, and is looked for. */
static void
probe(struct process *q)
{
	struct program *p = q->p;

	for (struct receive *r = q->receives; r; r = r->next)
		if (!r->over)
			(void)lmpi_engine_cancel_recv(q->e, &r->req);
	for (uint64_t cid = 0; cid < CIDS; cid++) {
		struct lmpi_probed found;
		if (!lmpi_engine_iprobe(q->e, LMPI_ANY_SOURCE, LMPI_ANY_TAG, context_of(q, cid),
					true, &found))
			continue;
		struct receive *r = calloc(1, sizeof *r);
		BASE_ASSERT(r);
		*r = (struct receive){.p = p,
				      .rank = (uint32_t)(q - p->proc),
				      .cid = cid,
				      .source = LMPI_ANY_SOURCE,
				      .tag = LMPI_ANY_TAG,
				      .probed = true,
				      .cap = (uint32_t)found.bytes,
				      .message = UINT32_MAX};
		note_posted(q, r);
		lmpi_engine_mrecv(q->e, &r->req, r->buf, r->cap, found.message);
	}
}

/* ---- trouble ---- */

static uint32_t
world_of(const struct lmpi_engine *e, uint64_t cid, int source)
{
	(void)cid;
	return (uint32_t)source < e->size ? (uint32_t)source : UINT32_MAX;
}

static bool
has_unacked(const struct lmpi_engine *e, uint64_t cid)
{
	const struct process *q = &running->proc[e->rank];

	(void)cid;
	return (q->lost & ~q->acked) != 0;
}

static void
note_gone(struct lmpi_engine *e, struct lmpi_peer *peer)
{
	running->proc[e->rank].gone |= 1u << peer->world;
}

const struct lmpi_contexts program_contexts = {world_of, has_unacked, note_gone};

void
program_kill(struct program *p, uint32_t rank)
{
	p->trouble = true;
	p->proc[rank].dead = true;
}

uint32_t
program_gone(const struct program *p, uint32_t rank)
{
	return p->proc[rank].gone;
}

bool
program_is_dead(const struct program *p, uint32_t rank)
{
	return p->proc[rank].dead;
}

void
program_lost(struct program *p, uint32_t rank, uint32_t dead)
{
	struct process *q = &p->proc[rank];

	if (q->dead || is_lost(q, (int)dead))
		return;
	running = p;
	lmpi_run_done(q->e);
	q->lost |= 1u << dead;
	lmpi_engine_lost(q->e, &q->e->peer[dead]);
	lmpi_run_done(q->e);
}

void
program_epoch(struct program *p, uint32_t rank)
{
	struct process *q = &p->proc[rank];

	if (q->dead)
		return;
	running = p;
	p->trouble = true;
	lmpi_run_done(q->e);
	uint32_t was = q->epoch++;
	if (p->conf.revokes)
		for (uint64_t cid = 0; cid < CIDS; cid++)
			lmpi_engine_revoke(q->e, cid | (uint64_t)was << LMPI_EPOCH_SHIFT);
	else
		lmpi_engine_epoch(q->e, (uint16_t)q->epoch);
	lmpi_run_done(q->e);
}

/* A receive that nobody can answer any more has to end. */
static bool
waits_in_vain(const struct process *q)
{
	for (const struct receive *r = q->receives; r; r = r->next)
		if (!r->over && (is_lost(q, r->source) || r->epoch < q->epoch))
			return true;
	return false;
}

/* The program looks at what it has posted, and acknowledges losses now and then. */
static void
look_at_losses(struct process *q)
{
	bool unacked = (q->lost & ~q->acked) != 0;
	for (const struct receive *r = q->receives; r; r = r->next)
		if (!r->over && !r->req.done && r->req.source == LMPI_ANY_SOURCE && !r->probed &&
		    lmpi_is_pending(q->e, &r->req) != unacked)
			breaks(q->p, "a receive from any source is %spending",
			       unacked ? "not " : "");
	if (waits_in_vain(q))
		breaks(q->p, "a receive waits for who is lost, or in an epoch that is over");
	if (unacked && q->idle % 8 == 7) {
		q->acked = q->lost;
		lmpi_engine_acked(q->e);
	}
}

void
program_step(struct program *p, uint32_t rank)
{
	struct process *q = &p->proc[rank];

	running = p;
	if (q->dead)
		return;
	if (p->trouble)
		look_at_losses(q);
	if (q->next == q->steps) {
		if (q->idle < p->conf.idle)
			q->idle++;
		else
			probe(q);
		return;
	}
	struct step *s = &q->step[q->next++];
	struct message *m = &p->message[s->i];
	if (s->act == ACT_SEND) {
		post_send(q, m);
	} else if (s->act == ACT_RECV) {
		post_recv(q, &p->planned[s->i]);
	} else {
		bool was_done = m->req.done;
		m->asked = true;
		lmpi_engine_cancel_send(q->e, &m->req);
		/* Done as a copy of it was kept, and the copy has not left. */
		if (was_done && m->req.done && m->req.cancelled)
			taken_back(m);
	}
}

/* ---- planning ---- */

static uint32_t
draw_len(struct base_prng *r, uint32_t most)
{
	uint64_t bound = base_prng_below(r, 4) ? 200 : base_prng_below(r, 3) ? 6000 : most;

	return LEN_MIN + (uint32_t)base_prng_below(r, bound < most ? bound : most);
}

static void
plan_message(struct program *p, uint32_t i, struct base_prng *r)
{
	struct message *m = &p->message[i];
	uint32_t n = p->conf.procs, kind = (uint32_t)base_prng_below(r, 10);

	*m = (struct message){.p = p,
			      .number = i,
			      .src = (uint32_t)base_prng_below(r, n),
			      .dst = (uint32_t)base_prng_below(r, n),
			      .len = draw_len(r, p->conf.len_max),
			      .cid = base_prng_below(r, CIDS - 1),
			      .tag = (int)base_prng_below(r, TAGS)};
	m->req.mode = kind < 6 ? LMPI_STANDARD : kind < 8 ? LMPI_SYNC : LMPI_CANCELLABLE;
	m->cancels = base_prng_below(r, 8) == 0;
	if (m->src != m->dst && base_prng_below(r, 10) == 0) {
		m->service = true;
		m->cancels = false;
		m->cid = LMPI_CID_SERVICE;
		m->req.mode = LMPI_STANDARD;
	}
	m->data = malloc(m->len);
	BASE_ASSERT(m->data);
	p->proc[m->dst].due += !m->service;
	struct receive *x = &p->planned[i];
	*x = (struct receive){.p = p,
			      .rank = m->dst,
			      .cid = m->cid,
			      .source = base_prng_below(r, 3) ? (int)m->src : LMPI_ANY_SOURCE,
			      .tag = base_prng_below(r, 3) ? m->tag : LMPI_ANY_TAG,
			      .cap = p->conf.len_max + LEN_MIN,
			      .message = UINT32_MAX};
	if (base_prng_below(r, 10) == 0)
		x->cap = m->len / 2 < LEN_MIN ? LEN_MIN : m->len / 2;
}

static void
plan_step(struct program *p, uint32_t rank, enum act act, uint32_t i, uint64_t at)
{
	struct process *q = &p->proc[rank];

	q->step = realloc(q->step, (q->steps + 1) * sizeof *q->step);
	BASE_ASSERT(q->step);
	q->step[q->steps++] = (struct step){act, i, at};
}

static int
compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->i > y->i) - (x->i < y->i);
}

struct program *
program_new(const struct program_conf *c, struct lmpi_engine *const *engine)
{
	struct program *p = calloc(1, sizeof *p);
	struct base_prng r = base_prng_seed(c->seed);

	BASE_ASSERT(p && c->procs <= PROGRAM_PROCS);
	p->conf = *c;
	p->message = calloc(c->messages, sizeof *p->message);
	p->planned = calloc(c->messages, sizeof *p->planned);
	BASE_ASSERT(p->message && p->planned);
	for (uint32_t i = 0; i < c->procs; i++) {
		p->proc[i].p = p;
		p->proc[i].e = engine[i];
		engine[i]->handler = service;
	}
	/* Receives before, behind and among their sends. */
	uint64_t early = base_prng_below(&r, 1000);
	for (uint32_t i = 0; i < c->messages; i++) {
		plan_message(p, i, &r);
		const struct message *m = &p->message[i];
		uint64_t at = 500 + base_prng_below(&r, 1000);
		plan_step(p, m->src, ACT_SEND, i, at);
		if (m->cancels)
			plan_step(p, m->src, ACT_CANCEL, i, at + 1 + base_prng_below(&r, 100));
		if (!m->service)
			plan_step(p, m->dst, ACT_RECV, i, early + base_prng_below(&r, 1000));
	}
	for (uint32_t i = 0; i < c->procs; i++)
		if (p->proc[i].steps)
			qsort(p->proc[i].step, p->proc[i].steps, sizeof(struct step),
			      compare_steps);
	return p;
}

void
program_free(struct program *p)
{
	for (uint32_t i = 0; i < p->conf.procs; i++) {
		struct receive *r = p->proc[i].receives;
		while (r) {
			struct receive *next = r->next;
			free(r->buf);
			if (r < p->planned || r >= p->planned + p->conf.messages)
				free(r);
			r = next;
		}
		free(p->proc[i].step);
	}
	for (uint32_t i = 0; i < p->conf.messages; i++)
		free(p->message[i].data);
	free(p->message);
	free(p->planned);
	free(p);
}

/* ---- the end ---- */

/* It has to be received. */
static bool
is_due(const struct program *p, const struct message *m)
{
	const struct process *src = &p->proc[m->src], *dst = &p->proc[m->dst];

	return !src->dead && !dst->dead && !m->req.cancelled &&
	       (m->service || (m->epoch == dst->epoch && m->epoch == src->epoch));
}

static bool
is_process_complete(const struct program *p, const struct process *q)
{
	const struct lmpi_engine *e = q->e;

	return q->dead || (q->next == q->steps && (p->trouble || q->have >= q->due) && !e->sends &&
			   !e->outs && !e->cancels && !e->filling);
}

bool
program_complete(const struct program *p)
{
	for (uint32_t i = 0; i < p->conf.procs; i++)
		if (!is_process_complete(p, &p->proc[i]))
			return false;
	for (uint32_t i = 0; i < p->conf.messages; i++) {
		const struct message *m = &p->message[i];
		if ((m->service || p->trouble) && !m->received && is_due(p, m))
			return false;
	}
	return true;
}

/* m, and a later one of its stream that r2 took: m was taken by an earlier receive, or not at all
 * because it was taken back. */
static void
check_pair(struct program *p, const struct message *m, const struct message *later)
{
	const struct receive *r = p->proc[m->dst].receives;

	while (r->order != later->taker)
		r = r->next;
	if (pattern_fits(r, m) && !m->req.cancelled && m->taker > later->taker)
		breaks(p, "rank %u: message %u overtook %u of the same source", m->dst,
		       later->number, m->number);
}

static void
check_order(struct program *p)
{
	for (uint32_t i = 0; i < p->conf.messages; i++)
		for (uint32_t k = 0; k < p->conf.messages; k++) {
			const struct message *a = &p->message[i], *b = &p->message[k];
			if (a->src == b->src && a->dst == b->dst && a->cid == b->cid &&
			    !a->service && a->stream < b->stream && b->received)
				check_pair(p, a, b);
		}
}

static void
check_ends(struct program *p)
{
	for (uint32_t i = 0; i < p->conf.messages; i++) {
		const struct message *m = &p->message[i];
		if (p->proc[m->src].dead)
			continue;
		if (!m->req.done)
			breaks(p, "message %u is not done", i);
		if (m->received == m->req.cancelled && (m->received || is_due(p, m)))
			breaks(p, "message %u was %s", i,
			       m->received ? "received and taken back" : "lost");
		if (m->req.cancelled && !m->asked)
			breaks(p, "message %u was taken back, and nobody asked", i);
	}
	for (uint32_t i = 0; i < p->conf.procs; i++) {
		const struct lmpi_engine *e = p->proc[i].e;
		if (p->proc[i].dead)
			continue;
		if (e->copied_bytes || e->unexpected_bytes || e->send_ids.used ||
		    e->recv_ids.used || e->match.unexpected || e->pending || e->done_first)
			breaks(p,
			       "rank %u: something is left in its engine: %llu copied, %llu "
			       "unexpected in %llu messages, %u + %u names, packets %d",
			       i, (unsigned long long)e->copied_bytes,
			       (unsigned long long)e->unexpected_bytes,
			       (unsigned long long)e->match.unexpected, e->send_ids.used,
			       e->recv_ids.used, e->pending != NULL);
	}
}

const char *
program_broken(struct program *p, bool at_end)
{
	if (at_end && !p->broken) {
		check_ends(p);
		check_order(p);
	}
	return p->broken ? p->why : NULL;
}

void
program_rest(const struct program *p, char *text, size_t len)
{
	for (uint32_t i = 0; i < p->conf.procs; i++) {
		const struct process *q = &p->proc[i];
		if (!is_process_complete(p, q)) {
			snprintf(text, len,
				 "rank %u: %u of %u acts, %u of %u messages, %u sends, %u packets, "
				 "%u cancels, %u filling",
				 i, q->next, q->steps, q->have, q->due, q->e->sends, q->e->outs,
				 q->e->cancels, q->e->filling);
			return;
		}
	}
	snprintf(text, len, "a message that is due, or one of the library, has not come");
}

uint32_t
program_cancelled(const struct program *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->conf.messages; i++)
		n += p->message[i].req.cancelled;
	return n;
}
