/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs over libmmp's engine: each posts sends and receives as its seed says, falls silent for
 * a while, and may die.  Receives name a sender and a tag, one of them, or neither; a process
 * posts the narrower first, so that all of them find a message whatever comes when. */
#include "mmp.h"

#include "bytes.h"
#include "draw.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SENDS_MAX   40u
#define BLOCKING    22u	  /* of at most 1400 bytes: fit the half */
#define FLOOD	    1500u /* messages: more than fragments of a peer may be kept */
#define TAGS	    3
#define SMALL	    64u /* shortest buffer of a receive: tells messages apart */
#define MESSAGE_MAX (8 * MW_HALF)
#define LIMIT_NS    (60 * BASE_S_NS) /* the slowest of 650 seeds, where a node dies, takes 24 */
#define GUARD	    16u
#define STALE	    0xa5

/* ---- what is sent and received ---- */

static uint64_t
message_bytes(const struct mw_node *n, struct base_prng *p)
{
	if (n->w->blocking)
		return PICK(p, 0, 1, 20, 1000, 1400, 1400, 1400);
	if (n->w->flood)
		return PICK(p, 0, 1, 20, 21, 65, 100);
	uint64_t bytes = PICK(p, 0, 1, 20, 21, 300, 1500, 5000, 16384, 40000);
	if (coin(p, 10))
		return base_prng_below(p, MESSAGE_MAX);
	return coin(p, 50) ? bytes : base_prng_below(p, bytes + 1);
}

static void
draw_sends(struct mw_node *n)
{
	struct base_prng *p = &n->prng;
	n->msgs = n->w->flood	   ? FLOOD
		  : n->w->blocking ? BLOCKING
				   : (uint32_t)between(p, 4, SENDS_MAX);
	n->msg = calloc(n->msgs, sizeof *n->msg);
	for (uint32_t i = 0; i < n->msgs; i++) {
		struct mw_msg *m = &n->msg[i];
		bool barrier = coin(p, 5);
		m->from = n->rank;
		m->to = coin(p, 60) ? n->w->hot : (uint32_t)base_prng_below(p, n->w->size);
		m->stream = barrier;
		m->tag = barrier ? 0 : (int32_t)base_prng_below(p, TAGS);
		m->bytes = barrier ? 0 : message_bytes(n, p);
		/* Only longer ones can be told apart. */
		m->off = m->bytes >= SMALL ? base_prng_below(p, POOL_BYTES / 2)
					   : m->to * 7 + n->rank;
	}
}

static struct mw_recv *
add_recv(struct mw_node *n, uint32_t at)
{
	if (n->recvs == n->recvs_cap) {
		n->recvs_cap = 2 * n->recvs_cap + 16;
		n->recv = realloc(n->recv, n->recvs_cap * sizeof *n->recv);
	}
	memmove(n->recv + at + 1, n->recv + at, (n->recvs - at) * sizeof *n->recv);
	n->recvs++;
	n->recv[at] = (struct mw_recv){.from = -1, .tag = -1, .cap = MESSAGE_MAX};
	return &n->recv[at];
}

/* Narrow ones first; among equals and for barriers any place does. */
static void
draw_recv(struct mw_node *n, const struct mw_msg *m, bool by_tag, uint32_t ends[3])
{
	struct base_prng *p = &n->prng;
	uint32_t level = m->stream ? 0 : (uint32_t)PICK(p, 0, 0, 0, 1, 2);
	uint32_t lo = level ? ends[level - 1] : 0;
	struct mw_recv *r = add_recv(n, (uint32_t)between(p, lo, ends[level]));
	for (uint32_t l = level; l < 3; l++)
		ends[l]++;
	r->stream = m->stream;
	r->from = level == 2 || (level == 1 && by_tag) ? -1 : (int32_t)m->from;
	r->tag = level == 2 || (level == 1 && !by_tag) ? -1 : m->tag;
	if (coin(p, 10))
		r->cap = SMALL + base_prng_below(p, MESSAGE_MAX);
}

static void
draw_recvs(struct mw_node *n)
{
	uint32_t ends[3] = {0};
	bool by_tag = coin(&n->prng, 50);
	for (uint32_t i = 0; i < n->w->size; i++)
		for (uint32_t k = 0; k < n->w->node[i].msgs; k++)
			if (n->w->node[i].msg[k].to == n->rank)
				draw_recv(n, &n->w->node[i].msg[k], by_tag, ends);
}

/* ---- the program ---- */

static void
post_send(struct mw_node *n)
{
	struct mw_msg *m = &n->msg[n->msgs_posted++];
	m->buf = malloc(m->bytes ? m->bytes : 1);
	memcpy(m->buf, pool_at(m->off), m->bytes);
	m->posted = true;
	m->request = mmp_port_send(n->mp, m->to, m->stream, m->tag, m->buf, m->bytes);
	SIM_CHECK(n->w->s, m->request != MMP_NONE, "rank %u: no request", n->rank);
}

static void
post_recv(struct mw_node *n)
{
	struct mw_recv *r = &n->recv[n->recvs_posted++];
	r->buf = malloc(r->cap + GUARD);
	memset(r->buf + r->cap, STALE, GUARD);
	r->posted = true;
	r->request = mmp_port_receive(n->mp, r->from, r->stream, r->tag, r->buf, r->cap);
	SIM_CHECK(n->w->s, r->request != MMP_NONE, "rank %u: no request", n->rank);
}

static bool
fits(const struct mw_recv *r, const struct mw_msg *m)
{
	return r->stream == m->stream && (r->from < 0 || (uint32_t)r->from == m->from) &&
	       (r->tag < 0 || r->tag == m->tag);
}

/* The bytes are those of a message that was sent and that the receive could get. */
static void
check_bytes(struct mw_node *n, struct mw_recv *r)
{
	struct sim *s = n->w->s;
	const struct mmp_result *got = &r->result;
	const struct mw_node *from = &n->w->node[got->rank];
	uint64_t len = got->bytes < r->cap ? got->bytes : r->cap;
	const struct mw_msg *is = NULL;
	for (uint32_t i = 0; i < from->msgs && !is; i++) {
		const struct mw_msg *m = &from->msg[i];
		if (m->posted && m->to == n->rank && m->tag == got->tag && m->bytes == got->bytes &&
		    fits(r, m) && !memcmp(r->buf, pool_at(m->off), len))
			is = m;
	}
	INVARIANT(s, BYTES, is, "rank %u: %llu bytes of rank %u, tag %d are not what was sent",
		  n->rank, (unsigned long long)got->bytes, got->rank, got->tag);
	INVARIANT(s, BYTES, !got->error == (got->bytes <= r->cap),
		  "rank %u: %llu bytes in a buffer of %llu: error %d", n->rank,
		  (unsigned long long)got->bytes, (unsigned long long)r->cap, got->error);
	for (uint32_t i = 0; i < GUARD; i++)
		INVARIANT(s, BYTES, r->buf[r->cap + i] == STALE, "rank %u: bytes beyond the buffer",
			  n->rank);
	r->off = is ? is->off : 0;
}

static void
recv_done(struct mw_node *n, struct mw_recv *r)
{
	const struct mmp_result *got = &r->result;
	r->over = true;
	mmp_port_forget(n->mp, r->request);
	sim_mix(n->w->s, got->bytes << 8 ^ got->rank);
	if (!got->error || got->error == EMSGSIZE)
		check_bytes(n, r);
	else
		INVARIANT(n->w->s, REASON, got->rank == n->w->dead && n->w->dies,
			  "rank %u: a receive from rank %d ended with error %d of rank %u", n->rank,
			  r->from, got->error, got->rank);
	free(r->buf);
	r->buf = NULL;
}

static void
look(struct mw_node *n)
{
	struct mmp_result got;
	for (uint32_t i = 0; i < n->msgs_posted; i++) {
		struct mw_msg *m = &n->msg[i];
		if (m->over || !mmp_port_done(n->mp, m->request, &got))
			continue;
		INVARIANT(n->w->s, REASON, !got.error || m->to == n->w->dead,
			  "rank %u: a send to rank %u ended with error %d", n->rank, m->to,
			  got.error);
		/* The program uses its buffer again. */
		memset(m->buf, STALE, m->bytes);
		free(m->buf);
		m->buf = NULL;
		m->over = true;
		mmp_port_forget(n->mp, m->request);
	}
	for (uint32_t i = 0; i < n->recvs_posted; i++) {
		struct mw_recv *r = &n->recv[i];
		if (!r->over && mmp_port_done(n->mp, r->request, &r->result))
			recv_done(n, r);
	}
}

static bool
got_message(const struct mw_recv *r)
{
	return r->over && (!r->result.error || r->result.error == EMSGSIZE);
}

/* Messages of the living, stream 0 only, that have not come. */
static uint32_t
missing(const struct mw_node *n)
{
	const struct mw *w = n->w;
	uint32_t sent = 0, got = 0;
	for (uint32_t i = 0; i < w->size; i++)
		for (uint32_t k = 0; i != w->dead && k < w->node[i].msgs; k++)
			sent += w->node[i].msg[k].to == n->rank && !w->node[i].msg[k].stream;
	for (uint32_t i = 0; i < n->recvs; i++)
		got += !n->recv[i].stream && got_message(&n->recv[i]) &&
		       n->recv[i].result.rank != w->dead;
	return sent - got;
}

/* A death ends receives of anybody: others are posted for what the living send. */
static void
post_again(struct mw_node *n)
{
	uint32_t pending = 0;
	if (!n->peer[n->w->dead].gone || n->recvs_posted < n->recvs)
		return;
	for (uint32_t i = 0; i < n->recvs; i++)
		pending += !n->recv[i].over && n->recv[i].from < 0 && n->recv[i].tag < 0;
	if (missing(n) > pending) {
		add_recv(n, n->recvs);
		post_recv(n);
	}
}

static void
hear_deaths(struct mw_node *n)
{
	for (uint32_t i = 0; i < n->w->size; i++)
		if (n->peer[i].gone > 0) {
			mmp_port_down(n->mp, i, n->peer[i].gone);
			n->peer[i].gone = -n->peer[i].gone;
		}
}

/* A program of blocking receives, until the last posted is done. */
static bool
waits(const struct mw_node *n)
{
	return n->w->blocking && n->recvs_posted && !n->recv[n->recvs_posted - 1].over;
}

static bool
meet(const struct mw_node *n)
{
	for (uint32_t i = 0; i < n->w->size; i++)
		if (i != n->rank && !n->peer[i].up && !n->peer[i].over)
			return false;
	return true;
}

static void
step(struct sim *s, void *who, uint64_t arg)
{
	struct mw_node *n = who;
	struct base_prng *p = &n->prng;
	(void)arg;
	if (!n->alive)
		return;
	/* MP_init: until all are there. */
	if (!n->met && !(n->met = meet(n))) {
		mw_node_turn(n);
		sim_at(s, s->now_ns + BASE_MS_NS, step, n, 0);
		return;
	}
	bool busy = n->msgs_posted < n->msgs || n->recvs_posted < n->recvs;
	uint64_t most = busy ? n->w->step_ns : base_max_ns(n->w->step_ns, BASE_MS_NS);
	uint64_t next = s->now_ns + between(p, most / 4, most);
	if (n->silent_ns && s->now_ns >= n->silent_at_ns) {
		sim_log(s, "rank %u is silent for %llu ms", n->rank,
			(unsigned long long)(n->silent_ns / BASE_MS_NS));
		next = s->now_ns + n->silent_ns;
		n->silent_ns = 0;
		sim_at(s, next, step, n, 0);
		return;
	}
	hear_deaths(n);
	for (uint64_t k = base_prng_below(p, n->w->flood ? 100 : 6); k; k--) {
		if (coin(p, 50) && n->msgs_posted < n->msgs)
			post_send(n);
		else if (n->recvs_posted < n->recvs && !waits(n))
			post_recv(n);
	}
	if (n->w->dead != MW_NONE)
		post_again(n);
	(void)mmp_port_turn(n->mp);
	look(n);
	if (mmp_port_rang(n->mp) || !n->w->threaded)
		mw_node_turn(n);
	sim_at(s, next, step, n, 0);
}

/* ---- what must hold ---- */

static bool
recvs_over(const struct mw_node *n)
{
	const struct mw *w = n->w;
	if (n->recvs_posted < n->recvs || (w->dies && missing(n)))
		return false;
	for (uint32_t i = 0; i < n->recvs; i++) {
		const struct mw_recv *r = &n->recv[i];
		/* Others took what receives of the living waited for, when one has died. */
		if (!r->over && (!w->dies || (uint32_t)r->from == w->dead || r->stream))
			return false;
	}
	return true;
}

static bool
node_over(const struct mw_node *n)
{
	if (n->msgs_posted < n->msgs || !recvs_over(n))
		return false;
	for (uint32_t i = 0; i < n->msgs; i++)
		if (!n->msg[i].over)
			return false;
	return mmp_engine_idle(n->engine) && !mmp_engine_unsent(n->engine) &&
	       mmp_port_quiet(n->mp) && !mmp_port_area(n->mp)->used;
}

static bool
all_over(void *who)
{
	const struct mw *w = who;
	if (w->dies != (w->dead != MW_NONE && !w->node[w->dead].alive))
		return false;
	for (uint32_t i = 0; i < w->size; i++)
		if (w->node[i].alive && !node_over(&w->node[i]))
			return false;
	return true;
}

/* Of messages of a pair that a receive fits, it got the first that no earlier receive had. */
static void
check_order(struct mw *w, const struct mw_node *from, const struct mw_node *to)
{
	for (uint32_t a = 0; a < from->msgs; a++)
		for (uint32_t b = a + 1; b < from->msgs; b++) {
			const struct mw_msg *m = &from->msg[a], *later = &from->msg[b];
			if (m->to != to->rank || later->to != to->rank || !later->taken ||
			    !fits(&to->recv[later->taken - 1], m))
				continue;
			/* Of the dead some may have come in part. */
			if (from->rank == w->dead && !m->taken)
				continue;
			INVARIANT(w->s, ORDER, m->taken && m->taken < later->taken,
				  "rank %u: receive %u got message %u of rank %u, not %u", to->rank,
				  later->taken - 1, b, from->rank, a);
		}
}

/* Which message each receive got: of equal ones the first. */
static void
judge(struct mw_node *n)
{
	struct mw *w = n->w;
	for (uint32_t i = 0; i < n->recvs && !w->s->failed; i++) {
		const struct mw_recv *r = &n->recv[i];
		struct mw_node *from = &w->node[r->result.rank];
		bool found = false;
		for (uint32_t k = 0; got_message(r) && k < from->msgs && !found; k++) {
			struct mw_msg *m = &from->msg[k];
			if (m->to != n->rank || m->stream != r->stream || m->tag != r->result.tag ||
			    m->bytes != r->result.bytes || m->off != r->off || m->taken)
				continue;
			m->taken = i + 1;
			found = true;
		}
		INVARIANT(w->s, ONCE, found || !got_message(r),
			  "rank %u: receive %u got a message again", n->rank, i);
	}
	for (uint32_t i = 0; i < w->size && !w->s->failed; i++)
		check_order(w, &w->node[i], n);
}

static void
check_end(struct mw_node *n)
{
	struct sim *s = n->w->s;
	const struct mmp_engine_counters *c = mmp_engine_counters(n->engine);
	const char *what = "";
	INVARIANT(s, HONEST,
		  !c->refused && !c->drop_head && !c->drop_number && !c->drop_credit &&
			  !c->drop_mixed,
		  "rank %u: drops without a liar", n->rank);
	INVARIANT(s, TABLES,
		  mmp_area_check(mmp_engine_area(n->engine)) &&
			  mmp_area_check(mmp_port_area(n->mp)),
		  "rank %u: the lists of an area do not agree", n->rank);
	/* What a dead one sent whole, nobody asked for. */
	INVARIANT(s, EMPTY, n->w->dies || mmp_engine_empty(n->engine, &what),
		  "rank %u: at the end the engine keeps %s", n->rank, what);
	for (uint32_t i = 0; i < n->w->size && !n->w->dies; i++) {
		struct mmp_engine_peer to, of;
		mmp_engine_get_peer(n->engine, i, &to);
		mmp_engine_get_peer(n->w->node[i].engine, n->rank, &of);
		INVARIANT(s, ACCOUNT, to.sent_bytes == of.received_bytes,
			  "rank %u sent %llu bytes, rank %u got %llu", n->rank,
			  (unsigned long long)to.sent_bytes, i,
			  (unsigned long long)of.received_bytes);
	}
}

/* Not all is over in time: whose fault it is. */
static void
explain(struct mw *w)
{
	struct sim *s = w->s;
	for (uint32_t i = 0; i < w->size; i++) {
		const struct mw_node *n = &w->node[i];
		if (!n->alive)
			continue;
		for (uint32_t k = 0; k < n->recvs_posted && w->dies; k++)
			INVARIANT(s, TOLD, n->recv[k].over || (uint32_t)n->recv[k].from != w->dead,
				  "rank %u: a receive from rank %u, who is dead, has not ended", i,
				  w->dead);
		INVARIANT(s, COMPLETE, !w->node[i].alive || node_over(n),
			  "rank %u is not done: %u of %u receives posted, %u messages missing, "
			  "engine %s, %u unsent, %llu bytes in its send half",
			  i, n->recvs_posted, n->recvs, missing(n),
			  mmp_engine_idle(n->engine) ? "idle" : "busy",
			  mmp_engine_unsent(n->engine),
			  (unsigned long long)mmp_port_area(n->mp)->used);
	}
	SIM_CHECK(s, false, "not over in time");
}

/* ---- the world ---- */

static void
die(struct sim *s, void *who, uint64_t arg)
{
	struct mw *w = who;
	(void)arg;
	/* Who never was in the job cannot leave it. */
	for (uint32_t i = 0; i < w->size; i++)
		if (i != w->dead && !w->node[i].peer[w->dead].up) {
			sim_at(s, s->now_ns + 10 * BASE_MS_NS, die, w, 0);
			return;
		}
	sim_log(s, "rank %u dies", w->dead);
	w->dies = true;
	mw_node_kill(&w->node[w->dead]);
}

static void
wire(struct mw *w, struct base_prng *p)
{
	struct sim *s = w->s;
	uint32_t out[MW_NODES], in[MW_NODES];
	for (uint32_t i = 0; i < w->size; i++) {
		struct sim_link_conf c = {.overhead_bytes = SIM_UDP_OVERHEAD};
		c.rate_bps = PICK(p, 12500000, 125000000, 1250000000);
		c.delay_ns = PICK(p, 5000, 50000, 2000000);
		c.queue_bytes = PICK(p, 65536, 1000000);
		out[i] = sim_add_link(s, &c);
		if (coin(p, 50))
			c.loss_ppb = (uint32_t)PICK(p, 100000, 10000000, 100000000);
		if (coin(p, 50))
			c.dup_ppb = (uint32_t)PICK(p, 1000000, 100000000);
		if (coin(p, 50))
			c.reorder_ppb = (uint32_t)PICK(p, 1000000, 50000000, 500000000);
		c.reorder_ns = PICK(p, 20000, 1000000, 20000000);
		in[i] = sim_add_link(s, &c);
	}
	for (uint32_t a = 0; a < w->size; a++)
		for (uint32_t b = 0; b < w->size; b++)
			if (a != b)
				sim_set_route(s, w->node[a].port, w->node[b].port,
					      (uint32_t[]){out[a], in[b]}, 2);
}

static void
draw(struct mw *w, struct base_prng *p)
{
	w->size = (uint32_t)between(p, 2, MW_NODES);
	w->threaded = coin(p, 70);
	w->fragment = PICK(p, 256, 1000, 4048, 16384);
	w->liveness_ns = w->threaded ? 5 * BASE_S_NS : 20 * BASE_S_NS;
	w->step_ns = PICK(p, 50000, 500000, 5000000);
	w->mtu = (uint32_t)PICK(p, 1472, 1472, 8972);
	w->window = (uint32_t)PICK(p, 64, 128, 1024);
	w->blocks_max = (uint32_t)PICK(p, 16, 100, MMP_SENDS_MAX);
	w->rx_blocks_max = (uint32_t)PICK(p, 16, 1000);
	w->dead = coin(p, 30) ? (uint32_t)base_prng_below(p, w->size) : MW_NONE;
	w->hot = (uint32_t)base_prng_below(p, w->size);
	w->flood = coin(p, 8);
	w->blocking = !w->flood && w->dead == MW_NONE && coin(p, 30);
}

static void
draw_program(struct mw_node *n, struct base_prng *p)
{
	if (coin(p, 40)) {
		n->silent_at_ns = PICK(p, 0, 1000000, 30000000);
		n->silent_ns = PICK(p, 20, 300, 3000) * BASE_MS_NS;
	}
	sim_at(n->w->s, base_prng_below(p, 2 * BASE_MS_NS), step, n, 0);
}

static void
clean(struct mw *w)
{
	for (uint32_t i = 0; i < w->size; i++) {
		struct mw_node *n = &w->node[i];
		for (uint32_t k = 0; k < n->msgs; k++)
			free(n->msg[k].buf);
		for (uint32_t k = 0; k < n->recvs; k++)
			free(n->recv[k].posted ? n->recv[k].buf : NULL);
		free(n->msg);
		free(n->recv);
		mw_node_free(n);
	}
}

static void
finish(struct mw *w, struct outcome *o)
{
	struct sim *s = w->s;
	uint64_t inside = 0, stalls = 0, wants = 0, held = 0, straight = 0;
	for (uint32_t i = 0; i < w->size && !s->failed; i++) {
		if (!w->node[i].alive)
			continue;
		const struct mmp_engine_counters *c = mmp_engine_counters(w->node[i].engine);
		judge(&w->node[i]);
		check_end(&w->node[i]);
		stalls += c->stalls, wants += c->wants, held += c->held, straight += c->straight;
	}
	w->closing = true;
	for (uint32_t i = 0; i < w->size; i++)
		mw_node_kill(&w->node[i]);
	for (uint32_t i = 0; i < s->nlink; i++)
		inside += s->link[i].inside;
	sim_check_links(s);
	INVARIANT(s, EMPTY, s->buf_live == inside, "%llu receive buffers are still held",
		  (unsigned long long)(s->buf_live - inside));
	snprintf(o->note, sizeof o->note,
		 "%u processes, %s%s%s: %llu straight, %llu held, %llu stalls, %llu wants", w->size,
		 w->threaded ? "thread" : "inline", w->paired ? ", two of a node" : "",
		 w->blocking ? ", blocking"
		 : w->flood  ? ", many messages"
		 : w->dies   ? ", one dies"
			     : "",
		 (unsigned long long)straight, (unsigned long long)held, (unsigned long long)stalls,
		 (unsigned long long)wants);
	sim_outcome(s, o);
}

void
mmp_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed ^ 0x3a3a);
	struct mw *w = calloc(1, sizeof *w);
	w->s = sim_new(seed);
	w->s->verbose = verbose;
	draw(w, &p);
	/* By itself, so that what else a seed draws stays. */
	struct base_prng of_node = base_prng_seed(seed ^ 0x9a1);
	w->paired = coin(&of_node, 35);
	for (uint32_t i = 0; i < w->size; i++) {
		mw_node_start(w, i);
		w->node[i].prng = base_prng_seed(seed * 31 + i);
		draw_sends(&w->node[i]);
	}
	wire(w, &p);
	for (uint32_t i = 0; i < w->size; i++) {
		draw_recvs(&w->node[i]);
		draw_program(&w->node[i], &p);
	}
	if (w->dead != MW_NONE)
		sim_at(w->s, PICK(&p, 1, 5, 20, 200, 1000) * BASE_MS_NS, die, w, 0);
	sim_run(w->s, LIMIT_NS, all_over, w);
	if (!w->s->failed && !all_over(w))
		explain(w);
	finish(w, o);
	clean(w);
	sim_free(w->s);
	free(w);
}
