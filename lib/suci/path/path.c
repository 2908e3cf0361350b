/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of paths: finding, making, bringing up, taking down, timers. */
#include "path_internal.h"

#define PACE_SLEEP_NS (200 * BASE_US_NS) /* drivers may oversleep by this much */
#define LIVENESS_PTOS 3
#define STUCK_PROBES  3 /* unanswered, before a peer that is heard is held not to hear us */
#define BURST_PACKETS 16

#include "base/assert.h"
#include "base/siphash.h"

#include <string.h>

/* Addresses: open addressing, linear probing, keyed so that nobody can aim at
 * one slot. */
static uint32_t
addr_home(const struct suci *ep, const struct suci_addr *a)
{
	return (uint32_t)base_siphash(ep->conf.cookie_secret, a, sizeof *a) & ep->addr_mask;
}

static uint32_t
addr_find(const struct suci *ep, const struct suci_addr *a)
{
	uint32_t s = addr_home(ep, a);
	while (ep->addr_slot[s] != NONE) {
		if (!memcmp(&ep->path[ep->addr_slot[s]].peer, a, sizeof *a))
			return s;
		s = (s + 1) & ep->addr_mask;
	}
	return NONE;
}

static void
addr_remove(struct suci *ep, uint32_t s)
{
	for (uint32_t hole = s, at = s;;) {
		at = (at + 1) & ep->addr_mask;
		uint32_t i = ep->addr_slot[at];
		if (i == NONE) {
			ep->addr_slot[hole] = NONE;
			return;
		}
		uint32_t home = addr_home(ep, &ep->path[i].peer);
		/* Move it up unless its home lies cyclically in (hole, at]. */
		if (((at - home) & ep->addr_mask) >= ((at - hole) & ep->addr_mask)) {
			ep->addr_slot[hole] = i;
			hole = at;
		}
	}
}

static void
addr_insert(struct suci *ep, uint32_t path)
{
	uint32_t s = addr_home(ep, &ep->path[path].peer);
	while (ep->addr_slot[s] != NONE)
		s = (s + 1) & ep->addr_mask;
	ep->addr_slot[s] = path;
}

struct suci_path *
suci_path_at(struct suci *ep, const struct suci_addr *a)
{
	uint32_t s = addr_find(ep, a);
	return s == NONE ? NULL : suci_path_get(ep, ep->addr_slot[s]);
}

uint32_t
suci_path_find(const struct suci *ep, const struct suci_addr *to)
{
	uint32_t s = addr_find(ep, to);
	return s == NONE ? UINT32_MAX : ep->addr_slot[s];
}

static uint32_t
new_tag(struct suci *ep, uint32_t index, uint32_t former)
{
	for (;;) {
		uint32_t tag = ((uint32_t)base_prng_next(&ep->prng) & ~ep->tag_mask) | index;
		if (tag && tag != former)
			return tag;
	}
}

void
suci_path_retag(struct suci *ep, struct suci_path *p)
{
	p->rx_tag = new_tag(ep, path_index(ep, p), p->rx_tag);
}

struct suci_path *
suci_path_new(struct suci *ep, const struct suci_addr *peer)
{
	uint32_t i = ep->path_free;
	bool sealed = suci_seal_wanted(ep, peer);
	if (i == NONE || (sealed && (!ep->conf.seal.aead || ep->seal_free == NONE)))
		return NULL;
	struct suci_path *p = &ep->path[i];
	ep->path_free = p->free_next;
	ep->paths_used++;
	uint32_t former = p->rx_tag;
	bool on_owes = p->ack_tx.owes;
	struct suci_upper upper = p->upper;
	memset(p, 0, sizeof *p);
	p->ack_tx.owes = on_owes;
	p->upper = upper;
	p->timer.kind = TIMER_PATH;
	p->state = PATH_NEW;
	p->peer = *peer;
	suci_credit_join(ep, p);
	p->rx_tag = new_tag(ep, i, former);
	if (sealed)
		p->seal = suci_seal_new(ep, p);
	for (uint32_t q = 0; q < PRIOS; q++) {
		base_ilist_init(&p->sent.queue[q]);
	}
	for (uint32_t k = 0; k < REFUSED_LISTS; k++)
		base_ilist_init(&p->refused.list[k]);
	base_ilist_init(&p->sent.lost);
	base_ilist_init(&p->sent.flight);
	p->frag.rec = NONE;
	base_ilist_init(&frags_of(ep, p)->sent);
	frags_of(ep, p)->id = 0;
	frags_of(ep, p)->careful = 0;
	p->loss.probe_rec = NONE;
	p->dying_next = NONE;
	p->mtu = p->mtu_max = suci_leg_mtu(ep, peer);
	p->pmtu.rec = NONE;
	p->pmtu.at_ns = BASE_NEVER_NS;
	p->loss.at_ns = p->sent.pace_at_ns = p->refused.at_ns = p->ack_tx.at_ns = BASE_NEVER_NS;
	p->credit_tx.ask_at_ns = BASE_NEVER_NS;
	p->hs.retry_ns = p->hs.give_up_ns = BASE_NEVER_NS;
	ep->hello[i].len = UINT16_MAX;
	addr_insert(ep, i);
	return p;
}

static uint32_t
burst_bytes(const struct suci *ep, const struct suci_path *p)
{
	uint64_t n = (uint64_t)ep->conf.burst_packets * p->mtu;
	if (!ep->conf.burst_bytes && !n)
		n = (uint64_t)BURST_PACKETS * p->mtu;
	n = n > ep->conf.burst_bytes ? n : ep->conf.burst_bytes;
	return n < SUCI_PACER_BURST_MAX ? (uint32_t)n : SUCI_PACER_BURST_MAX;
}

static void
init_cc(struct suci *ep, struct suci_path *p, enum suci_cc_kind kind, uint64_t rate_bps,
	uint32_t window, uint64_t now_ns)
{
	struct suci_cc_conf cc = {
		.window_max = ep->conf.limits.window_max,
		.initial_window = ep->conf.initial_window,
		.fixed_window = window,
		.fixed_rate_bps = rate_bps,
		.mtu = p->mtu,
	};
	suci_cc_init(&p->cc, kind, &cc);
	suci_rate_init(&p->rate, p->sent.next_pn, now_ns);
	int err = suci_pacer_init(&p->pacer, p->cc.rate_bps, burst_bytes(ep, p), now_ns);
	BASE_ASSERT(!err); /* the ranges were checked in suci_new() and below */
	if (kind != SUCI_CC_FIXED)
		p->pacer.burst_ns = PACE_SLEEP_NS;
}

void
suci_path_restart_cc(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	struct suci_cc_conf conf = p->cc.conf;
	uint32_t burst_ns = p->pacer.burst_ns;
	p->cc = (struct suci_cc){.ops = p->cc.ops, .conf = conf};
	p->cc.ops->init(&p->cc, &conf);
	suci_rate_init(&p->rate, p->sent.next_pn, now_ns);
	int err = suci_pacer_init(&p->pacer, p->cc.rate_bps, burst_bytes(ep, p), now_ns);
	BASE_ASSERT(!err);
	p->pacer.burst_ns = burst_ns;
	p->sent.pace_at_ns = BASE_NEVER_NS;
}

void
suci_path_set_mtu(struct suci *ep, struct suci_path *p, uint32_t mtu, uint64_t now_ns)
{
	p->mtu = mtu;
	p->frag.on = p->frag.on || (p->frag.peer_reassembles && mtu < p->mtu_max);
	p->cc.conf.mtu = mtu; /* the rate follows with the next ack */
	suci_pacer_set_burst(&p->pacer, burst_bytes(ep, p), now_ns);
	if (ep->ops->pull) {
		p->pull_ready = true;
		suci_path_ready(ep, p);
	}
}

void
suci_path_establish(struct suci *ep, struct suci_path *p, const struct suci_body *b, bool incoming,
		    uint64_t rtt_ns, uint64_t now_ns)
{
	p->state = PATH_UP;
	p->nobody.told_ns = 0;
	p->incoming = incoming;
	p->tx_tag = b->tag;
	p->hs.peer_incarnation = b->incarnation;
	p->hs.made_us = b->time_us;
	p->hs.sent_ns = now_ns;
	uint32_t mtu = suci_leg_mtu(ep, &p->peer);
	p->mtu_max = b->mtu < mtu ? b->mtu : mtu;
	p->frag.peer_reassembles = b->joins && ep->conf.limits.parts_max;
	p->sent.next_pn = 1;
	p->loss.reorder_extra = 1;
	p->loss.reorder_packets = 3;
	p->hs.due = incoming;
	if (p->seal)
		suci_seal_keys(ep, p, b);
	p->pull_ready = ep->ops->pull != NULL;
	p->last_rx_ns = now_ns;
	p->liveness_ns = ep->conf.liveness_ns;
	p->keepalive_ns = ep->conf.keepalive_ns;
	p->sent.flight_ns = now_ns;
	p->hs.retry_ns = p->hs.give_up_ns = BASE_NEVER_NS;
	if (incoming)
		p->hs.rtt_ns = suci_credit_offer_rtt(b->offer);
	suci_rtt_init(&p->rtt, p->hs.rtt_ns);
	if (rtt_ns) {
		suci_rtt_sample(&p->rtt, rtt_ns, 0);
		p->loss.sampled_ns = now_ns;
	}
	p->marks.send =
		ep->conf.ecn && !(p->peer.leg < SUCI_LEGS_MAX && ep->conf.ecn_off_leg[p->peer.leg]);
	suci_pmtu_init(ep, p, now_ns);
	suci_acks_init(&p->ack_tx.acks, 1);
	init_cc(ep, p, ep->conf.cc, ep->conf.fixed_rate_bps, ep->conf.fixed_window, now_ns);
	ep->count.paths_opened++;
	suci_rec_guard(ep, p, true);
	suci_credit_up(ep, p, b->offer, now_ns);
	suci_path_ready(ep, p);
	suci_path_arm(ep, p);
	ep->ops->path_up(ep->user, path_index(ep, p), &p->peer, b->hello, b->hello_len, incoming);
}

static void
tell_abandoned(struct suci *ep, const struct suci_rec *r, uint64_t now_ns)
{
	struct suci_segment seg = {0};
	if (r->kind != REC_SEGMENT || !ep->ops->abandoned)
		return;
	bool ok = r->hdr_len ? suci_segment_decode(&seg, r->hdr, r->hdr_len)
			     : suci_segment_decode(&seg, r->data, r->data_len);
	BASE_ASSERT(ok); /* we encoded it, or it came in */
	if (r->hdr_len) {
		seg.head = r->head;
		seg.data = r->data;
		seg.head_len = r->head_len;
		seg.data_len = r->data_len;
	}
	seg.cookie = r->cookie;
	ep->ops->abandoned(ep->user, r->path, &seg, now_ns);
}

static void
abandon_list(struct suci *ep, struct suci_path *p, struct base_ilist *l, uint64_t now_ns)
{
	while (l->head != NONE) {
		uint32_t i = l->head;
		tell_abandoned(ep, &ep->rec[i], now_ns);
		suci_rec_detach(ep, p, i);
		suci_rec_release(ep, i, SUCI_FATE_ABANDONED, now_ns);
	}
}

void
suci_path_readdress(struct suci *ep, struct suci_path *p, const struct suci_addr *to)
{
	addr_remove(ep, addr_find(ep, &p->peer));
	p->peer = *to;
	addr_insert(ep, path_index(ep, p));
}

void
suci_path_unmake(struct suci *ep, struct suci_path *p)
{
	addr_remove(ep, addr_find(ep, &p->peer));
	if (p->seal)
		suci_seal_give(ep, p->seal);
	p->seal = NULL;
	p->state = PATH_FREE;
	p->going_down = p->closing = false;
	p->free_next = ep->path_free;
	ep->path_free = path_index(ep, p);
	ep->paths_used--;
	suci_credit_leave(ep, p);
}

void
suci_path_down(struct suci *ep, struct suci_path *p, enum suci_down why, const char *text,
	       uint64_t now_ns)
{
	BASE_ASSERT(p->state != PATH_FREE);
	if (p->going_down)
		return;
	uint32_t i = path_index(ep, p);
	p->going_down = true; /* from here on nothing can be queued */
	suci_path_unready(ep, p);
	base_wheel_cancel(&ep->wheel, &p->timer.t);
	suci_grants_down(ep, p);
	suci_credit_down(ep, p);
	suci_reasm_down(ep, p);
	abandon_list(ep, p, &p->sent.flight, now_ns);
	abandon_list(ep, p, &frags_of(ep, p)->sent, now_ns);
	abandon_list(ep, p, &p->sent.lost, now_ns);
	for (uint32_t k = 0; k < REFUSED_LISTS; k++)
		abandon_list(ep, p, &p->refused.list[k], now_ns);
	for (uint32_t q = 0; q < PRIOS; q++)
		abandon_list(ep, p, &p->sent.queue[q], now_ns);
	if (p->state == PATH_UP) {
		ep->count.paths_closed++;
		suci_rec_guard(ep, p, false);
		uint32_t at = ep->former_next++ % ep->former_max;
		ep->former_next %= ep->former_max;
		ep->former[at] = (struct former){
			.addr = p->peer,
			.tag = p->tx_tag,
			.incarnation = p->hs.peer_incarnation,
			.at_ns = now_ns,
			.rtt_ns = p->rtt.sampled ? p->rtt.smoothed_ns : 0,
		};
	}
	ep->ops->path_down(ep->user, i, why, text);
	for (uint32_t *d = &ep->dying; *d != NONE; d = &ep->path[*d].dying_next)
		if (*d == i) {
			*d = p->dying_next;
			break;
		}
	suci_path_unmake(ep, p);
}

static struct base_ilinks
ready_links(const struct suci *ep)
{
	return BASE_ILINKS(ep->path, ready_link);
}

void
suci_path_ready(struct suci *ep, struct suci_path *p)
{
	if (p->on_list == ON_READY || p->going_down)
		return;
	/* Starved only means that it cannot pull; probes, acks and what was lost
	 * need no new record. */
	suci_path_unready(ep, p);
	p->on_list = ON_READY;
	base_ilist_append(&ep->ready, ready_links(ep), path_index(ep, p));
}

void
suci_path_starve(struct suci *ep, struct suci_path *p)
{
	suci_path_unready(ep, p);
	p->on_list = ON_STARVED;
	base_ilist_append(&ep->starved, ready_links(ep), path_index(ep, p));
}

void
suci_path_unready(struct suci *ep, struct suci_path *p)
{
	if (p->on_list == ON_NONE)
		return;
	struct base_ilist *l = p->on_list == ON_READY ? &ep->ready : &ep->starved;
	base_ilist_unlink(l, ready_links(ep), path_index(ep, p));
	p->on_list = ON_NONE;
}

/* Not before a probe or two could be answered, whatever is configured; of a path without a
 * round trip, not even from the handshake, nobody knows when that is.  Who is heard and
 * acknowledges nothing has twice as long: the way there may be cut, or be whole too seldom. */
static uint64_t
liveness_at(const struct suci *ep, const struct suci_path *p)
{
	if (!p->liveness_ns || !outstanding(p) || SUCI_BUG(SILENT))
		return BASE_NEVER_NS;
	uint64_t least = BASE_S_NS; /* the way may be long */
	if (p->rtt.sampled || (p->hs.rtt_ns && !p->move.count))
		least = LIVENESS_PTOS * suci_rtt_pto_ns(&p->rtt, ep->conf.ack_delay_ns, 0);
	uint64_t wait = base_max_ns(p->liveness_ns, least);
	uint64_t at = base_add_ns(base_max_ns(p->last_rx_ns, p->sent.due_ns), wait);
	return p->loss.probes < STUCK_PROBES
		       ? at
		       : base_min_ns(at, base_add_ns(p->sent.due_ns, 2 * wait));
}

static uint64_t
keepalive_at(const struct suci_path *p)
{
	if (!p->keepalive_ns || outstanding(p))
		return BASE_NEVER_NS;
	return base_add_ns(base_max_ns(p->last_rx_ns, p->sent.flight_ns), p->keepalive_ns);
}

static uint64_t
deadline(const struct suci *ep, const struct suci_path *p)
{
	if (p->state != PATH_UP)
		return base_min_ns(p->hs.retry_ns, p->hs.give_up_ns);
	uint64_t d =
		base_min_ns(p->ack_tx.due ? BASE_NEVER_NS : p->ack_tx.at_ns, p->sent.pace_at_ns);
	d = base_min_ns(d, base_min_ns(p->loss.at_ns, p->refused.at_ns));
	d = base_min_ns(d, base_min_ns(suci_loss_probe_at(ep, p), p->credit_tx.ask_at_ns));
	d = base_min_ns(d, liveness_at(ep, p));
	d = base_min_ns(d, p->pmtu.at_ns);
	if (p->reset.answered)
		d = base_min_ns(d, suci_reset_look_at(ep, p));
	if (p->move.asked)
		d = base_min_ns(d, suci_move_look_at(ep, p));
	return base_min_ns(d, p->loss.probe_due ? BASE_NEVER_NS : keepalive_at(p));
}

/* The timer only ever moves forward here; one that fires too early is armed
 * again by suci_path_timer().  So the usual case, a later deadline after
 * sending or an ack, costs nothing. */
void
suci_path_arm(struct suci *ep, struct suci_path *p)
{
	if (p->going_down)
		return;
	uint64_t d = deadline(ep, p);
	if (base_timer_armed(&p->timer.t) && p->timer.t.deadline_ns <= d)
		return;
	suci_arm(ep, &p->timer, d);
}

void
suci_path_timer(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	if (p->state != PATH_UP) {
		if (now_ns >= p->hs.give_up_ns) {
			suci_path_down(ep, p, SUCI_DOWN_TIMEOUT,
				       p->hs.hinted
					       ? "no answer to the handshake but a refusal that "
						 "is not sealed: is sealing off there?"
					       : "no answer to the handshake",
				       now_ns);
			return;
		}
		if (now_ns >= p->hs.retry_ns) {
			if (p->nobody.told_ns && suci_nobody_timeout(ep, p, now_ns))
				return;
			p->hs.due = true;
			p->hs.retry_ns = BASE_NEVER_NS; /* set again when sent */
			suci_path_ready(ep, p);
		}
		suci_path_arm(ep, p);
		return;
	}
	if (p->reset.answered && now_ns >= suci_reset_look_at(ep, p) &&
	    suci_reset_look(ep, p, now_ns))
		return;
	if (p->move.asked && now_ns >= suci_move_look_at(ep, p))
		suci_move_look(ep, p, now_ns);
	if (now_ns >= liveness_at(ep, p)) {
		suci_path_fail(ep, p, SUCI_DOWN_SILENT, SUCI_TEXT_SILENT);
		return;
	}
	if (now_ns >= p->loss.at_ns) {
		suci_loss_detect(ep, p, now_ns);
	} else if (now_ns >= suci_loss_probe_at(ep, p)) {
		if (p->nobody.told_ns && suci_nobody_timeout(ep, p, now_ns))
			return;
		suci_loss_probe_fired(ep, p, now_ns);
	}
	suci_pmtu_timer(ep, p, now_ns);
	if (now_ns >= p->ack_tx.at_ns) {
		p->ack_tx.due = true;
		suci_path_ready(ep, p);
	}
	if (now_ns >= p->sent.pace_at_ns) {
		p->sent.pace_at_ns = BASE_NEVER_NS;
		suci_path_ready(ep, p);
	}
	if (now_ns >= p->refused.at_ns) {
		p->refused.at_ns = BASE_NEVER_NS;
		p->refused.ready = true;
		suci_path_ready(ep, p);
	}
	if (now_ns >= p->credit_tx.ask_at_ns)
		suci_credit_ask_again(ep, p, now_ns);
	if (now_ns >= keepalive_at(p) && !p->loss.probe_due) {
		p->loss.probe_due = true;
		suci_path_ready(ep, p);
	}
	suci_path_arm(ep, p);
}

bool
suci_path_usable(const struct suci *ep, uint32_t path)
{
	if (path >= ep->conf.limits.paths_max)
		return false;
	const struct suci_path *p = &ep->path[path];
	return p->state != PATH_FREE && !p->going_down && !p->closing;
}

uint32_t
suci_path_mss(const struct suci *ep, uint32_t path)
{
	const struct suci_path *p = &ep->path[path];
	return p->state == PATH_UP ? p->mtu - SUCI_OVERHEAD : 0;
}

static enum suci_cc_kind
cc_kind_of(const struct suci_path *p)
{
	if (p->cc.ops == &suci_cc_fixed)
		return SUCI_CC_FIXED;
	return p->cc.ops == &suci_cc_bbr ? SUCI_CC_BBR : SUCI_CC_CUBIC;
}

bool
suci_path_info(const struct suci *ep, uint32_t path, struct suci_path_info *out)
{
	if (path >= ep->conf.limits.paths_max || ep->path[path].state == PATH_FREE)
		return false;
	const struct suci_path *p = &ep->path[path];
	*out = (struct suci_path_info){
		.peer = p->peer,
		.up = p->state == PATH_UP && !p->going_down && !p->closing,
		.incoming = p->incoming,
		.mtu = p->mtu,
		.mtu_max = p->mtu_max,
		.mss = p->mtu - SUCI_OVERHEAD,
		.ecn = p->marks.send,
		.tx_ce = p->marks.ce,
		.moves = p->move.count,
		.rtt_ns = p->rtt.smoothed_ns,
		.rtt_ns_min = p->rtt.min_ns,
		.rtt_ns_var = p->rtt.var_ns,
		.cwnd = suci_cc_window(&p->cc),
		.in_flight = p->sent.in_flight,
		.queued = p->sent.queued + p->sent.n_lost + p->refused.n,
		.refused = p->refused.n,
		.rx_last = p->credit_rx.high,
		.rx_missing = p->ack_tx.acks.missing,
		.rx_credit = suci_credit_promised(&p->credit_rx),
		.rx_waits = p->credit_rx.waits,
		.peer_credit = p->sent.in_flight + suci_credit_left(&p->credit_tx, p->sent.next_pn),
		.rate_bps = p->pacer.rate_bytes_per_s,
		.tx_segments = p->stat.tx_segments,
		.tx_retransmits = p->stat.tx_retransmits,
		.rx_segments = p->stat.rx_segments,
		.tx_bytes = p->stat.tx_bytes,
		.rx_bytes = p->stat.rx_bytes,
		.last_rx_ns = p->last_rx_ns,
		.peer_incarnation = p->hs.peer_incarnation,
		.sealed = p->seal != NULL,
		.key_id = p->seal ? p->seal->key_id : 0,
		.cc = cc_kind_of(p),
	};
	return true;
}

int
suci_path_set_cc(struct suci *ep, uint32_t path, enum suci_cc_kind cc, uint64_t rate_bps,
		 uint32_t window)
{
	struct suci_path *p = suci_path_get(ep, path);
	if (rate_bps > SUCI_PACER_RATE_MAX || !suci_cc_ops_of(cc))
		return SUCI_ERR_INVAL;
	if (!p || p->state != PATH_UP)
		return SUCI_ERR_DOWN;
	init_cc(ep, p, cc, rate_bps, window, ep->now_ns);
	p->sent.pace_at_ns = BASE_NEVER_NS;
	suci_path_ready(ep, p);
	return SUCI_ERR_OK;
}

int
suci_path_set_pace(struct suci *ep, uint32_t path, uint64_t limit_bps)
{
	struct suci_path *p = suci_path_get(ep, path);
	if (!p || p->state != PATH_UP)
		return SUCI_ERR_DOWN;
	suci_pacer_set_limit(&p->pacer, limit_bps, 2 * p->mtu, ep->now_ns);
	p->sent.pace_at_ns = BASE_NEVER_NS;
	suci_path_ready(ep, p);
	return SUCI_ERR_OK;
}

int
suci_path_set_window(struct suci *ep, uint32_t path, uint32_t packets)
{
	struct suci_path *p = suci_path_get(ep, path);
	uint32_t most = ep->conf.limits.window_max;
	if (!p || p->state != PATH_UP)
		return SUCI_ERR_DOWN;
	p->cc.conf.window_max = packets && packets < most ? packets : most;
	suci_path_ready(ep, p);
	return SUCI_ERR_OK;
}

int
suci_path_set_liveness(struct suci *ep, uint32_t path, uint64_t liveness_ns, uint64_t keepalive_ns)
{
	struct suci_path *p = suci_path_get(ep, path);
	if (!p || p->state != PATH_UP)
		return SUCI_ERR_DOWN;
	p->liveness_ns = liveness_ns;
	p->keepalive_ns = keepalive_ns;
	suci_path_arm(ep, p);
	return SUCI_ERR_OK;
}
