/* SPDX-License-Identifier: BSD-2-Clause */
/* Credit: how far a peer's packet numbers may go.  It keeps what all peers together have
 * on its way to us below what the last switch, the NIC or the socket can queue.
 *
 *      sender                                          receiver
 *        packets up to the limit -------------------->  each frees a place
 *        with MORE: others wait    ------------------>  stands in line
 *        <----------------------- ack block, a higher limit: its turn has come
 *        with ROOM: so many wait (nothing else to send) ->  the same
 *
 * The limit is a packet number, so it says the same however often it is heard, and a lost
 * packet is not a leak: the next one that arrives tells that it left the network.  What
 * a peer may still send is promised to it:
 *
 *      promised = limit - highest number seen        sum over near peers of a leg <= credit_total
 *
 * Each leg has a total of its own: the queues before them are different ones.  A relay's
 * trunks do not share with its processes.
 *
 * Half of the total is shared by the peers that send; with less than one packet
 * for each they get one at a time, in turns, as packets arrive: the arrivals are the clock,
 * so the wire into us is busy and its queue short, whatever its rate.  The other half is
 * shared by all paths, so that who was silent can begin at once; a path whose share of
 * that is nothing asks first, except for a small first packet.  A peer that begins gets no
 * more than if all did, until a round trip has shown who else does.
 *
 * A far peer (SUCI_FAR_NS) is bounded by its own path instead: it gets conf.credit.
 *
 * Work per datagram is bounded: TURN peers are looked at. */
#include "path_internal.h"

#include "base/serial.h"

#define SPAN_NS	   (4 * BASE_MS_NS)
#define IDLE_NS	   BASE_MS_NS /* a promise unused for so long may be taken back */
#define TURN	   16u
#define AHEAD_MAX  32767u
#define ASK_MAX_NS (32 * BASE_MS_NS)
#define ASK_PROBE  4u /* asks without answer, then a probe that has to be acknowledged */
/* Bytes of a datagram that needs no credit if nothing is under way: a packet of IMPI, which has
 * 128, and 32 more.  With its headers outside a thousand of them fit into 256 KB. */
#define SMALL (SUCI_PATH_HDR + SUCI_LANE_HDR + SUCI_FIRST_EXT + 160u)

/* Of the leg a path came up over. */
static struct suci_pool *
pool_of(struct suci *ep, const struct suci_path *p)
{
	return &ep->pool[p->credit_rx.pool];
}

/* ---- receiving: lists ---------------------------------------------------- */

static struct base_ilinks
wait_links(const struct suci *ep)
{
	return BASE_ILINKS(ep->path, credit_rx.wait_link);
}

static struct base_ilinks
quiet_links(const struct suci *ep)
{
	return BASE_ILINKS(ep->path, credit_rx.quiet_link);
}

static void
credit_ring_add(struct suci *ep, struct suci_path *p)
{
	base_ilist_append(&pool_of(ep, p)->waiting[p->credit_rx.wait_prio], wait_links(ep),
			  path_index(ep, p));
	p->credit_rx.waits = true;
	pool_of(ep, p)->nwaiting++;
	ep->nwaiting++;
}

static void
ring_remove(struct suci *ep, struct suci_path *p)
{
	if (!p->credit_rx.waits)
		return;
	base_ilist_unlink(&pool_of(ep, p)->waiting[p->credit_rx.wait_prio], wait_links(ep),
			  path_index(ep, p));
	p->credit_rx.waits = false;
	pool_of(ep, p)->nwaiting--;
	ep->nwaiting--;
}

/* Near paths, the one heard of least recently first. */
static void
quiet_remove(struct suci *ep, struct suci_path *p)
{
	base_ilist_unlink(&pool_of(ep, p)->quiet, quiet_links(ep), path_index(ep, p));
}

static void
quiet_add(struct suci *ep, struct suci_path *p)
{
	base_ilist_append(&pool_of(ep, p)->quiet, quiet_links(ep), path_index(ep, p));
}

/* It sent, or was just promised something. */
static void
stir(struct suci *ep, struct suci_path *p)
{
	p->credit_rx.seen_ns = ep->now_ns;
	quiet_remove(ep, p);
	quiet_add(ep, p);
}

/* ---- receiving: numbers -------------------------------------------------- */

static uint32_t
free_places(const struct suci *ep, const struct suci_pool *q)
{
	return ep->conf.credit_total > q->promised ? ep->conf.credit_total - q->promised : 0;
}

/* Of each path, whether it sends or not. */
static uint32_t
credit_standing(const struct suci *ep, const struct suci_pool *q)
{
	return ep->conf.credit_total / 2 / (q->paths ? q->paths : 1);
}

/* What one of n that send may have on its way. */
static uint32_t
share_credit(const struct suci *ep, const struct suci_pool *q, uint32_t n)
{
	uint32_t total = ep->conf.credit_total - ep->conf.credit_total / 2;
	return total / (n ? n : 1) + credit_standing(ep, q);
}

static uint32_t
senders(const struct suci_pool *q)
{
	uint32_t n = q->senders > q->senders_before ? q->senders : q->senders_before;
	return n > q->nwaiting ? n : q->nwaiting;
}

static void
promise(struct suci *ep, struct suci_path *p, uint32_t more)
{
	if (serial_lt(p->credit_rx.limit, p->credit_rx.high))
		p->credit_rx.limit = p->credit_rx.high;
	p->credit_rx.limit += more;
	pool_of(ep, p)->promised += more;
}

/* A peer that begins may be the first of many: it gets what it would if all did, and one
 * packet if its path is so new that the others' may not be up yet. */
static uint32_t
beginning(const struct suci *ep, const struct suci_path *p, uint64_t now_ns)
{
	const struct suci_pool *q = &ep->pool[p->credit_rx.pool];
	uint32_t n = now_ns < p->credit_rx.up_ns + SPAN_NS ? 0 : share_credit(ep, q, q->paths);
	return n ? n : 1;
}

/* Count who sends, in spans that are longer than a round trip through a full queue. */
static void
note_sender(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	struct suci_pool *q = pool_of(ep, p);
	if (now_ns >= q->span_end_ns) {
		bool next = now_ns < q->span_end_ns + SPAN_NS;
		q->senders_before = next ? q->senders : 0;
		q->senders = 0;
		q->span += next ? 1 : 2;
		q->span_end_ns = now_ns + SPAN_NS;
	}
	if (p->credit_rx.heard_span != q->span) {
		if (p->credit_rx.heard_span + 1 != q->span)
			p->credit_rx.quantum = (uint16_t)beginning(ep, p, now_ns);
		p->credit_rx.heard_span = q->span;
		q->senders++;
	}
}

static void
come_near(struct suci *ep, struct suci_path *p, uint32_t first)
{
	p->credit_rx.near = true;
	p->credit_rx.limit = p->credit_rx.high;
	promise(ep, p, first);
	p->credit_rx.seen_ns = ep->now_ns;
	quiet_add(ep, p);
}

static void
go_far(struct suci *ep, struct suci_path *p)
{
	ring_remove(ep, p);
	quiet_remove(ep, p);
	pool_of(ep, p)->promised -= suci_credit_promised(&p->credit_rx);
	p->credit_rx.near = false;
}

void
suci_credit_init(struct suci *ep)
{
	for (uint32_t i = 0; i < SUCI_LEGS_MAX; i++) {
		struct suci_pool *q = &ep->pool[i];
		q->span = 2;
		for (uint32_t prio = 0; prio < PRIOS; prio++)
			base_ilist_init(&q->waiting[prio]);
		base_ilist_init(&q->quiet);
	}
}

void
suci_credit_join(struct suci *ep, struct suci_path *p)
{
	p->credit_rx.pool = p->peer.leg < SUCI_LEGS_MAX ? p->peer.leg : 0;
	pool_of(ep, p)->paths++;
}

void
suci_credit_leave(struct suci *ep, struct suci_path *p)
{
	pool_of(ep, p)->paths--;
}

/* A new path must not take what others were promised before. */
static uint32_t
first_credit(const struct suci *ep, const struct suci_path *p, bool far)
{
	const struct suci_pool *q = &ep->pool[p->credit_rx.pool];
	uint32_t most = ep->conf.credit < AHEAD_MAX ? ep->conf.credit : AHEAD_MAX;
	if (!ep->conf.credit_total || far)
		return most;
	return credit_standing(ep, q) && free_places(ep, q);
}

uint32_t
suci_credit_offer(struct suci *ep, struct suci_path *p)
{
	bool far = !ep->conf.credit_total || p->hs.rtt_ns > SUCI_FAR_NS;
	if (!p->credit_rx.offered) {
		p->credit_rx.offered = true;
		p->credit_rx.first = (uint16_t)first_credit(ep, p, far);
		if (!far)
			come_near(ep, p, p->credit_rx.first);
	}
	/* Rounded up: 0 would say that it is unknown. */
	uint64_t rtt = (p->hs.rtt_ns + SUCI_HS_RTT_UNIT_NS - 1) / SUCI_HS_RTT_UNIT_NS;
	return (uint32_t)p->credit_rx.first << 16 | (rtt < UINT16_MAX ? (uint32_t)rtt : UINT16_MAX);
}

uint64_t
suci_credit_offer_rtt(uint32_t offer)
{
	return (offer & UINT16_MAX) * (uint64_t)SUCI_HS_RTT_UNIT_NS;
}

void
suci_credit_up(struct suci *ep, struct suci_path *p, uint32_t offer, uint64_t now_ns)
{
	p->credit_tx.limit = offer >> 16;
	p->credit_rx.up_ns = now_ns;
	suci_credit_offer(ep, p);
	if (p->credit_rx.near)
		note_sender(ep, p, now_ns);
}

void
suci_credit_down(struct suci *ep, struct suci_path *p)
{
	if (p->credit_rx.near)
		go_far(ep, p);
}

/* ---- receiving: who gets what -------------------------------------------- */

static void
stand_in_line(struct suci *ep, struct suci_path *p, uint32_t prio, uint32_t amount)
{
	ring_remove(ep, p);
	p->credit_rx.wait_amount = (uint8_t)amount;
	p->credit_rx.wait_prio = (uint8_t)prio;
	credit_ring_add(ep, p);
}

void
suci_credit_seen(struct suci *ep, struct suci_path *p, uint32_t pn, uint8_t flags, uint32_t prio,
		 uint64_t now_ns)
{
	if (serial_le(pn, p->credit_rx.high))
		return;
	uint32_t before = suci_credit_promised(&p->credit_rx);
	p->credit_rx.high = pn;
	/* A probe goes without credit; what was promised meanwhile still holds. */
	if (flags & SUCI_PF_PROBE)
		p->credit_rx.limit = pn + before;
	if (!p->credit_rx.near)
		return;
	pool_of(ep, p)->promised -= before - suci_credit_promised(&p->credit_rx);
	stir(ep, p);
	note_sender(ep, p, now_ns);
	if (flags & SUCI_PF_MORE && !p->credit_rx.waits)
		stand_in_line(ep, p, prio, UINT8_MAX);
}

/* The peer asks though it may send: it did not hear so.  The answer may be an ask, too, so
 * not more than one a round trip. */
static void
tell_again(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	uint64_t rtt = p->rtt.sampled ? p->rtt.smoothed_ns : p->hs.rtt_ns;
	if (now_ns < p->credit_rx.told_again_ns + rtt + BASE_MS_NS)
		return;
	p->credit_rx.told_again_ns = now_ns;
	p->ack_tx.due = true;
	suci_path_ready(ep, p);
}

void
suci_credit_asked(struct suci *ep, struct suci_path *p, const struct suci_ack *a, uint64_t now_ns)
{
	if (!a->waiting)
		return;
	if (p->credit_rx.near)
		note_sender(ep, p, now_ns);
	if (!p->credit_rx.near || suci_credit_promised(&p->credit_rx))
		tell_again(ep, p, now_ns);
	else if (p->credit_rx.waits)
		p->credit_rx.wait_amount = a->waiting;
	else
		stand_in_line(ep, p, a->ask_prio < PRIOS ? a->ask_prio : PRIOS - 1, a->waiting);
}

/* Take back promises that nobody uses. */
static void
reclaim(struct suci *ep, struct suci_pool *q)
{
	uint32_t keep = credit_standing(ep, q);
	for (uint32_t k = 0; k < TURN && q->quiet.head != NONE; k++) {
		struct suci_path *p = &ep->path[q->quiet.head];
		if (ep->now_ns < p->credit_rx.seen_ns + IDLE_NS)
			return;
		stir(ep, p);
		uint32_t has = suci_credit_promised(&p->credit_rx);
		if (has <= keep)
			continue;
		q->promised -= has - keep;
		p->credit_rx.limit = p->credit_rx.high + keep;
		p->ack_tx.due = true;
		suci_path_ready(ep, p);
	}
}

static void
share_pool(struct suci *ep, struct suci_pool *q)
{
	uint32_t n = senders(q), prio = PRIOS;
	for (uint32_t k = 0; k < TURN && q->nwaiting;) {
		while (q->waiting[prio - 1].head == NONE)
			prio--;
		struct suci_path *p = &ep->path[q->waiting[prio - 1].head];
		uint32_t fair = share_credit(ep, q, n), has = suci_credit_promised(&p->credit_rx);
		if (free_places(ep, q) < (fair ? fair : 1))
			reclaim(ep, q);
		uint32_t places = free_places(ep, q);
		if (!places)
			return;
		k++;
		uint32_t give = fair > has ? fair - has : !has;
		if (p->credit_rx.quantum) {
			give = give < p->credit_rx.quantum ? give : p->credit_rx.quantum;
			p->credit_rx.quantum = 2u * p->credit_rx.quantum < fair
						       ? (uint16_t)(2 * p->credit_rx.quantum)
						       : 0;
		}
		give = give < places ? give : places;
		give = give < p->credit_rx.wait_amount ? give : p->credit_rx.wait_amount;
		ring_remove(ep, p);
		if (!give || (has && give < fair / 4))
			continue; /* soon it says MORE again */
		promise(ep, p, give);
		stir(ep, p);
		ep->count.tx_credits++;
		p->ack_tx.due = true;
		suci_path_ready(ep, p);
	}
}

void
suci_credit_share(struct suci *ep)
{
	for (uint32_t i = 0; i < SUCI_LEGS_MAX; i++)
		if (ep->pool[i].nwaiting)
			share_pool(ep, &ep->pool[i]);
}

uint16_t
suci_credit_limit(struct suci *ep, struct suci_path *p)
{
	bool far = !ep->conf.credit_total || suci_path_far(p);
	if (far && p->credit_rx.near)
		go_far(ep, p);
	else if (!far && !p->credit_rx.near)
		come_near(ep, p, first_credit(ep, p, false));
	if (far) {
		p->credit_rx.limit = p->credit_rx.high +
				     (ep->conf.credit < AHEAD_MAX ? ep->conf.credit : AHEAD_MAX);
		return (uint16_t)p->credit_rx.limit;
	}
	/* While others stand in line nobody gets anything but by its turn. */
	const struct suci_pool *q = pool_of(ep, p);
	if (!q->nwaiting && !p->credit_rx.quantum && p->credit_rx.heard_span + 1 >= q->span) {
		uint32_t want = share_credit(ep, q, senders(q)),
			 has = suci_credit_promised(&p->credit_rx), left = free_places(ep, q);
		if (want > has)
			promise(ep, p, want - has < left ? want - has : left);
	}
	if (serial_lt(p->credit_rx.limit, p->credit_rx.high))
		p->credit_rx.limit = p->credit_rx.high;
	return (uint16_t)p->credit_rx.limit;
}

/* ---- sending ------------------------------------------------------------- */

void
suci_credit_heard(struct suci *ep, struct suci_path *p, const struct suci_ack *a, uint64_t now_ns)
{
	int16_t ahead = (int16_t)(a->credit - (uint16_t)p->sent.next_pn);
	uint64_t limit = ahead < 0 && (uint64_t)-ahead > p->sent.next_pn
				 ? 0
				 : p->sent.next_pn + (uint64_t)(int64_t)ahead;
	/* An older block that was overtaken. */
	bool older = a->n && serial_lt(a->largest, p->credit_tx.limit_largest);
	if (a->n && !older)
		p->credit_tx.limit_largest = a->largest;
	if (limit < p->credit_tx.limit && older)
		return;
	p->credit_tx.limit = limit;
	uint64_t left = suci_credit_left(&p->credit_tx, p->sent.next_pn) / 2;
	p->credit_tx.more_from = limit - (left > SUCI_TELL_MORE ? left : SUCI_TELL_MORE);
	if (p->credit_tx.blocked_ns && limit >= p->sent.next_pn) {
		p->credit_tx.ask_wait_ns =
			(3 * p->credit_tx.ask_wait_ns + (now_ns - p->credit_tx.blocked_ns)) / 4;
		p->credit_tx.blocked_ns = 0;
		p->credit_tx.ask_at_ns = BASE_NEVER_NS;
		suci_path_ready(ep, p);
	}
}

/* Packets that wait; what ops->pull has is counted if the upper layer can tell. */
static uint32_t
credit_backlog(struct suci *ep, const struct suci_path *p)
{
	uint32_t n = p->sent.queued + p->sent.n_lost + p->refused.granted + (p->frag.rec != NONE);
	if (p->pull_ready && n < UINT8_MAX && ep->ops->backlog)
		n += ep->ops->backlog(ep->user, path_index(ep, p));
	return n;
}

uint8_t
suci_credit_waiting(struct suci *ep, const struct suci_path *p)
{
	if (!p->credit_tx.blocked_ns)
		return 0;
	uint32_t n = credit_backlog(ep, p);
	return n < 1 ? 1 : n < UINT8_MAX ? (uint8_t)n : UINT8_MAX;
}

bool
suci_credit_short(struct suci *ep, struct suci_path *p)
{
	uint64_t left =
		p->credit_tx.limit > p->sent.next_pn ? p->credit_tx.limit - p->sent.next_pn : 0;
	bool more = credit_backlog(ep, p) > left;
	if (more)
		p->credit_tx.more_pn = p->sent.next_pn;
	return more;
}

bool
suci_credit_small(const struct suci *ep, const struct suci_path *p)
{
	if (p->sent.in_flight || p->sent.n_lost || p->refused.ready || p->frag.rec != NONE)
		return false;
	for (uint32_t prio = PRIOS; prio-- > 0;) {
		if (p->sent.queue[prio].head == NONE)
			continue;
		const struct suci_rec *r = &ep->rec[p->sent.queue[prio].head];
		return (uint32_t)SUCI_PATH_HDR + r->hdr_len + r->head_len + r->data_len <= SMALL;
	}
	return false;
}

static uint64_t
ask_gap(const struct suci_path *p)
{
	uint64_t rtt = p->rtt.sampled ? p->rtt.smoothed_ns : p->hs.rtt_ns;
	uint64_t gap = base_max_ns(2 * rtt + BASE_MS_NS, 2 * p->credit_tx.ask_wait_ns)
		       << (p->credit_tx.asks < 5 ? p->credit_tx.asks : 5);
	return base_min_ns(gap, ASK_MAX_NS);
}

void
suci_credit_blocked(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	if (p->credit_tx.blocked_ns)
		return;
	ep->blocked_path = path_index(ep, p);
	p->credit_tx.blocked_ns = now_ns ? now_ns : 1;
	p->credit_tx.asks = 0;
	p->credit_tx.ask_at_ns = now_ns + ask_gap(p);
	/* The last packet said so, if it arrives. */
	if (!p->sent.in_flight || p->credit_tx.more_pn + 1 < p->sent.next_pn)
		p->credit_tx.ask_due = p->ack_tx.due = true;
}

void
suci_credit_ask_again(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	p->credit_tx.asks++;
	p->credit_tx.ask_at_ns = now_ns + ask_gap(p);
	p->credit_tx.ask_due = p->ack_tx.due = true;
	/* Nobody has to answer an ask; a peer that is gone should be noticed. */
	if (p->credit_tx.asks >= ASK_PROBE && !p->sent.in_flight)
		p->loss.probe_due = true;
	suci_path_ready(ep, p);
}

uint64_t
suci_short_since_ns(const struct suci *ep)
{
	return ep->path[ep->blocked_path].credit_tx.blocked_ns;
}

void
suci_credit_nothing_waits(struct suci_credit_tx *c)
{
	c->blocked_ns = 0;
	c->ask_at_ns = BASE_NEVER_NS;
}
