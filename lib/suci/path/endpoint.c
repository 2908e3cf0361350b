/* SPDX-License-Identifier: BSD-2-Clause */
#include "path_internal.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/serial.h"
#include "base/siphash.h"

#include <string.h>

#define TICK_SHIFT   10 /* timers are late by about 1 us at most */
#define NOTES_MAX    4096u
#define NOTES_MIN    16u
#define RESETS_PER_S 1000
#define RESETS_BURST 32
#define MTU_MAX	     65000
#define PATH_MIN     16u /* records every path is sure of, if there are that many */
#define FORMER_MIN   128u

/* What suci_footprint() grows by for a path that is sealed and idle; its keys take more only
 * while it is not (limits.keys_max). */
_Static_assert(sizeof(struct suci_path) + sizeof(struct suci_frags) +
			       sizeof(struct suci_path_hello) +
			       3 * (sizeof(struct suci_rec) + sizeof(struct suci_snap)) + NOTE_MAX +
			       sizeof(uint32_t) /* note_next */ +
			       (4 + 1) * sizeof(uint32_t) /* addr_slot, at most; owes */ +
			       sizeof(struct former) + sizeof(struct suci_seal) <=
		       4608,
	       "an idle path takes 4.5 KB at most");

static uint32_t
notes_of(const struct suci_limits *l)
{
	uint32_t n = l->paths_max < NOTES_MIN ? NOTES_MIN : l->paths_max;
	return n < NOTES_MAX ? n : NOTES_MAX;
}

/* The power of two above n. */
static uint32_t
above(uint32_t n)
{
	uint32_t p = 1;
	while (p < n)
		p <<= 1;
	return p;
}

uint32_t
suci_recs_of(const struct suci_limits *l)
{
	return l->segments_max + l->parts_max + 2 * l->paths_max /* two kinds of probes */ +
	       notes_of(l);
}

uint32_t
suci_keys_of(const struct suci_limits *l)
{
	uint32_t most = l->keys_max ? l->keys_max : KEYS_DEFAULT;
	return 2 * l->sealed_max < most ? 2 * l->sealed_max : most;
}

/* Both the size and the places of everything. */
static size_t
lay_out_endpoint(const struct suci_limits *l, void *mem, struct suci *ep)
{
	struct base_arena a = base_arena(mem);
	base_arena_take(&a, 1, sizeof *ep);
	ep->path = base_arena_take(&a, l->paths_max, sizeof *ep->path);
	ep->frags = base_arena_take(&a, l->paths_max, sizeof *ep->frags);
	ep->hello = base_arena_take(&a, l->paths_max, sizeof *ep->hello);
	ep->addr_mask = above(2 * l->paths_max) - 1;
	ep->addr_slot = base_arena_take(&a, ep->addr_mask + 1ull, sizeof *ep->addr_slot);
	ep->owes = base_arena_take(&a, l->paths_max, sizeof *ep->owes);
	ep->rec = base_arena_take(&a, suci_recs_of(l), sizeof *ep->rec);
	ep->snap = base_arena_take(&a, suci_recs_of(l), sizeof *ep->snap);
	ep->reasm = base_arena_take(&a, suci_reasms_of(l), sizeof *ep->reasm);
	ep->notes_max = notes_of(l);
	ep->note = base_arena_take(&a, ep->notes_max, sizeof *ep->note);
	ep->note_next = base_arena_take(&a, ep->notes_max, sizeof *ep->note_next);
	ep->former_max = FORMER_MIN + l->paths_max;
	ep->former_max = ep->former_max < FORMER_MAX ? ep->former_max : FORMER_MAX;
	ep->former = base_arena_take(&a, ep->former_max, sizeof *ep->former);
	ep->stateless = base_arena_take(&a, STATELESS_MAX, sizeof *ep->stateless);
	if (l->sealed_max) {
		ep->seal = base_arena_take(&a, l->sealed_max, sizeof *ep->seal);
		ep->spare = base_arena_take(&a, SPARE_KEYS, sizeof *ep->spare);
		ep->key_mem = base_arena_take(&a, suci_keys_of(l), SEAL_KEY_MAX);
		ep->keys = base_arena_take(&a, suci_keys_of(l), sizeof *ep->keys);
		ep->once = base_arena_take(&a, 1, SEAL_KEY_MAX);
	}
	return base_arena_bytes(&a);
}

size_t
suci_footprint(const struct suci_limits *l)
{
	struct suci counting;
	if (l->paths_max < 1 || l->paths_max > 1u << 20 || l->segments_max < 16 ||
	    l->segments_max > 1u << 24 || l->queue_max < 1 || l->queue_max > l->segments_max ||
	    l->window_max < 1 || l->window_max > UINT16_MAX || l->sealed_max > l->paths_max ||
	    l->keys_max == 1 || l->keys_max > SUCI_KEYS_MAX ||
	    (l->parts_max && l->parts_max < SUCI_PARTS_MIN) || l->parts_max > SUCI_PARTS_MAX ||
	    l->wholes_max > SUCI_WHOLES_MAX)
		return 0;
	return lay_out_endpoint(l, NULL, &counting);
}

static bool
config_good(const struct suci_config *c)
{
	const struct suci_ops *o = c->ops;
	for (uint32_t i = 0; i < SUCI_LEGS_MAX; i++)
		if (c->mtu_leg[i] && (c->mtu_leg[i] < 1200 || c->mtu_leg[i] > c->mtu_max))
			return false;
	for (uint32_t i = 0; i <= SUCI_LEGS_MAX; i++) {
		uint32_t min = i < SUCI_LEGS_MAX ? c->mtu_min_leg[i] : c->mtu_min;
		if (min && (min < 1200 || min > c->mtu_max))
			return false;
	}
	return suci_footprint(&c->limits) && c->incarnation && c->mtu_max >= 1200 &&
	       c->mtu_max <= MTU_MAX && suci_cc_ops_of(c->cc) &&
	       c->fixed_rate_bps <= SUCI_PACER_RATE_MAX && c->burst_bytes <= SUCI_PACER_BURST_MAX &&
	       c->credit <= UINT16_MAX && c->credit_total <= INT16_MAX &&
	       c->hello_len <= SUCI_HELLO_MAX && o && o->accept && o->path_up && o->path_down &&
	       o->segment && o->released && (!c->limits.wholes_max || (o->buffer && o->unbuffer)) &&
	       suci_seal_good(c);
}

struct suci *
suci_new(void *mem, const struct suci_config *conf, uint64_t now_ns)
{
	if (!config_good(conf))
		return NULL;
	const struct suci_limits *l = &conf->limits;
	struct suci *ep = mem;
	memset(ep, 0, sizeof *ep);
	lay_out_endpoint(l, mem, ep);
	ep->conf = *conf;
	ep->ops = conf->ops;
	ep->user = conf->user;
	ep->now_ns = now_ns;
	ep->next_ns = BASE_NEVER_NS;
	if (!ep->conf.credit)
		ep->conf.credit = l->window_max;
	if (!ep->conf.ack_delay_ns)
		ep->conf.ack_delay_ns = SUCI_ACK_DELAY_NS;
	if (!ep->conf.ack_every)
		ep->conf.ack_every = 8;
	if (!ep->conf.handshake_ns)
		ep->conf.handshake_ns = SUCI_HANDSHAKE_NS;
	/* Tags must not repeat when a run repeats the seed of another. */
	uint64_t seeds[2] = {conf->seed, conf->incarnation};
	ep->prng = base_prng_seed(base_siphash(conf->cookie_secret, seeds, sizeof seeds));
	ep->tag_mask = above(l->paths_max) - 1;
	suci_credit_init(ep);
	ep->path_min = l->segments_max / (2 * l->paths_max);
	ep->path_min = ep->path_min < PATH_MIN ? ep->path_min : PATH_MIN;
	ep->path_free = NONE;
	for (uint32_t i = l->paths_max; i-- > 0;) {
		memset(&ep->path[i], 0, sizeof ep->path[i]);
		ep->frags[i] = (struct suci_frags){.reasms = NO_REASM};
		ep->path[i].free_next = ep->path_free;
		ep->path_free = i;
	}
	memset(ep->addr_slot, 0xff, (ep->addr_mask + 1ull) * sizeof *ep->addr_slot);
	ep->rec_free = NONE;
	for (uint32_t i = suci_recs_of(l); i-- > 0;) {
		ep->rec[i].where = WHERE_FREE;
		ep->rec[i].lost_pn = 0;
		ep->rec[i].link.next = ep->rec_free;
		ep->rec_free = i;
	}
	ep->note_free = NONE;
	for (uint32_t i = ep->notes_max; i-- > 0;) {
		ep->note_next[i] = ep->note_free;
		ep->note_free = i;
	}
	memset(ep->former, 0, ep->former_max * sizeof *ep->former);
	suci_reasm_init(ep);
	suci_stateless_init(ep);
	suci_grants_init(ep);
	suci_seal_init(ep);
	ep->ready.head = ep->ready.tail = ep->starved.head = ep->starved.tail = NONE;
	ep->dying = NONE;
	ep->upper_timer.kind = TIMER_UPPER;
	int err = suci_pacer_init(&ep->reset_pacer, RESETS_PER_S, RESETS_BURST, now_ns);
	BASE_ASSERT(!err);
	base_wheel_init(&ep->wheel, TICK_SHIFT, now_ns);
	ep->magic = SUCI_MAGIC;
	return ep;
}

void *
suci_fini(struct suci *ep, uint64_t now_ns)
{
	if (!ep)
		return NULL;
	suci_enter(ep, now_ns);
	for (uint32_t i = 0; i < ep->conf.limits.paths_max; i++)
		if (ep->path[i].state != PATH_FREE)
			suci_path_down(ep, &ep->path[i], SUCI_DOWN_LOCAL, "the endpoint is closed",
				       now_ns);
	suci_leave(ep);
	BASE_ASSERT(!ep->in_custody);
	explicit_bzero(&ep->conf.seal, sizeof ep->conf.seal);
	ep->magic = 0;
	return ep;
}

static void
say_goodbye(struct suci *ep, struct suci_path *p)
{
	if (p->state != PATH_UP)
		return; /* the peer knows no path yet, or declines its ACCEPT later */
	/* What we took is ours: say so first. */
	struct suci_stateless *o =
		p->ack_tx.pending ? suci_stateless_new(ep, &p->peer, false) : NULL;
	if (o) {
		size_t len = suci_put_bare_ack(ep, p, o->bytes, ep->now_ns);
		if (len && p->seal)
			len = suci_seal_data(ep, p, o->bytes, len, p->sent.bare_pn);
		o->len = (uint16_t)len;
		suci_stateless_send(ep, o, 0, 0);
	}
	uint64_t gap_ns = base_max_ns(BASE_MS_NS, 2 * p->rtt.smoothed_ns);
	bool silent = p->down_why == SUCI_DOWN_SILENT, stale = p->down_why == SUCI_DOWN_STALE;
	suci_send_close(ep, p,
			silent	? SUCI_DOWN_SILENT
			: stale ? SUCI_DOWN_STALE
				: SUCI_DOWN_CLOSED,
			silent ? "it hears nothing from here"
			       : (const char *)ep->hello[path_index(ep, p)].bytes,
			2, gap_ns, ep->now_ns);
}

void
suci_leave_work(struct suci *ep)
{
	if (ep->depth == 1 && ep->nasking)
		suci_grants_share(ep);
	if (ep->depth == 1 && ep->nwaiting)
		suci_credit_share(ep);
	while (ep->depth == 1 && ep->dying != NONE) {
		struct suci_path *p = &ep->path[ep->dying];
		ep->dying = p->dying_next;
		p->dying_next = NONE;
		say_goodbye(ep, p);
		char text[SUCI_TEXT_MAX] = "closed";
		if (p->down_why != SUCI_DOWN_LOCAL)
			memcpy(text, ep->hello[path_index(ep, p)].bytes, sizeof text);
		suci_path_down(ep, p, (enum suci_down)p->down_why, text, ep->now_ns);
	}
}

void
suci_arm(struct suci *ep, struct suci_timer *t, uint64_t at_ns)
{
	base_wheel_arm(&ep->wheel, &t->t, at_ns);
	if (at_ns == BASE_NEVER_NS)
		return;
	uint64_t tick = (1ull << TICK_SHIFT) - 1;
	ep->next_ns = base_min_ns(ep->next_ns, (at_ns + tick) & ~tick);
}

struct suci_upper *
suci_upper_bind(struct suci *ep, const struct suci_upper_ops *ops, uint32_t keep)
{
	ep->upper = ops;
	ep->keep = keep;
	return &ep->path[0].upper;
}

void
suci_upper_arm(struct suci *ep, uint64_t at_ns)
{
	const struct base_timer *t = &ep->upper_timer.t;
	if (at_ns != BASE_NEVER_NS && (!base_timer_armed(t) || at_ns < t->deadline_ns))
		suci_arm(ep, &ep->upper_timer, at_ns);
}

const struct suci_limits *
suci_upper_limits(const struct suci *ep)
{
	return &ep->conf.limits;
}

uint64_t
suci_upper_now(const struct suci *ep)
{
	return ep->now_ns;
}

void
suci_tick(struct suci *ep, uint64_t now_ns)
{
	struct base_timer *t;
	suci_enter(ep, now_ns);
	base_wheel_advance(&ep->wheel, now_ns);
	while ((t = base_wheel_pop(&ep->wheel))) {
		struct suci_timer *s = (struct suci_timer *)t;
		switch (s->kind) {
		case TIMER_PATH:
			suci_path_timer(ep, (struct suci_path *)(void *)s, now_ns);
			break;
		case TIMER_STATELESS:
			suci_stateless_timer(ep, (struct suci_stateless *)s);
			break;
		case TIMER_UPPER:
			ep->upper->tick(ep->user, now_ns);
			break;
		}
	}
	ep->next_ns = base_wheel_next_ns(&ep->wheel);
	suci_leave(ep);
}

uint64_t
suci_expiry_ns(const struct suci *ep)
{
	if (ep->ready.head != NONE || ep->stateless_ready.head != NONE || SUCI_BUG(SPIN))
		return ep->now_ns;
	return ep->next_ns;
}

/* The round trip that the last path to that address had; 0 = unknown. */
static uint64_t
former_rtt(const struct suci *ep, const struct suci_addr *to)
{
	for (uint32_t i = 1; i <= ep->former_max; i++) {
		const struct former *f =
			&ep->former[(ep->former_next + ep->former_max - i) % ep->former_max];
		if (!f->incarnation)
			return 0;
		if (!memcmp(&f->addr, to, sizeof *to))
			return f->rtt_ns;
	}
	return 0;
}

int
suci_path_open(struct suci *ep, const struct suci_addr *to, const void *hello, size_t hello_len,
	       uint32_t *path, uint64_t now_ns)
{
	if (hello_len > SUCI_HELLO_MAX || (to->family != 4 && to->family != 6))
		return SUCI_ERR_INVAL;
	suci_enter(ep, now_ns);
	int err = SUCI_ERR_OK;
	struct suci_path *p = suci_path_at(ep, to);
	if (p) {
		*path = path_index(ep, p);
		err = SUCI_ERR_EXISTS;
	} else if (suci_path_find(ep, to) != UINT32_MAX || !(p = suci_path_new(ep, to))) {
		err = SUCI_ERR_NOMEM; /* also while a path to it is just going down */
	} else {
		*path = path_index(ep, p);
		if (hello) {
			ep->hello[*path].len = (uint16_t)hello_len;
			memcpy(ep->hello[*path].bytes, hello, hello_len);
		}
		p->state = PATH_HELLO;
		p->hs.due = true;
		p->hs.rtt_ns = former_rtt(ep, to);
		p->hs.give_up_ns = base_add_ns(now_ns, ep->conf.handshake_ns);
		suci_path_ready(ep, p);
		suci_path_arm(ep, p);
		if (p->seal && !suci_seal_knows(ep, to))
			suci_path_fail(ep, p, SUCI_DOWN_REFUSED,
				       "no peer with a public key is known at that address");
	}
	suci_leave(ep);
	return err;
}

int
suci_path_nudge(struct suci *ep, uint32_t path, uint64_t now_ns)
{
	struct suci_path *p = suci_path_get(ep, path);
	if (!p || p->state == PATH_UP || p->closing)
		return SUCI_ERR_DOWN;
	suci_enter(ep, now_ns);
	p->hs.due = true;
	suci_path_ready(ep, p);
	suci_leave(ep);
	return SUCI_ERR_OK;
}

void
suci_path_ack(struct suci *ep, uint32_t path, uint64_t now_ns)
{
	struct suci_path *p = suci_path_get(ep, path);
	if (!p || p->state != PATH_UP)
		return;
	p->ack_tx.all = true;
	if (!p->ack_tx.pending)
		return;
	suci_enter(ep, now_ns);
	p->ack_tx.due = true;
	suci_path_ready(ep, p);
	suci_leave(ep);
}

void
suci_path_fail(struct suci *ep, struct suci_path *p, enum suci_down why, const char *text)
{
	uint32_t path = path_index(ep, p);
	if (p->closing)
		return;
	p->down_why = (uint8_t)why;
	/* The CLOSE leaves when the path goes down, after the callback we may
	 * be in; until then its text stands where the hello was. */
	struct suci_path_hello *h = &ep->hello[path];
	h->len = (uint16_t)strnlen(text ? text : "", SUCI_TEXT_MAX - 1);
	if (h->len)
		memcpy(h->bytes, text, h->len);
	h->bytes[h->len] = 0;
	p->closing = true;
	p->dying_next = ep->dying;
	ep->dying = path;
}

void
suci_path_close(struct suci *ep, uint32_t path, const char *text, uint64_t now_ns)
{
	struct suci_path *p = suci_path_get(ep, path);
	if (!p)
		return;
	suci_enter(ep, now_ns);
	suci_path_fail(ep, p, SUCI_DOWN_LOCAL, text);
	suci_leave(ep);
}

void
suci_path_silent(struct suci *ep, uint32_t path, uint64_t now_ns)
{
	struct suci_path *p = suci_path_get(ep, path);
	if (!p)
		return;
	suci_enter(ep, now_ns);
	suci_path_fail(ep, p, SUCI_DOWN_SILENT, SUCI_TEXT_SILENT);
	suci_leave(ep);
}

static void
enqueue_endpoint(struct suci *ep, struct suci_path *p, uint32_t i)
{
	struct suci_rec *r = &ep->rec[i];
	r->where = WHERE_QUEUED;
	base_ilist_append(&p->sent.queue[r->prio], rec_links(ep), i);
	p->sent.queued++;
	suci_path_ready(ep, p);
}

static inline uint32_t
lane_hdr(const struct suci_segment *seg)
{
	return seg->flags & SUCI_SF_FIRST ? SUCI_LANE_HDR + SUCI_FIRST_EXT : SUCI_LANE_HDR;
}

/* Does it take a segment that is so long with its header? */
static inline int
admit_endpoint(const struct suci *ep, const struct suci_path *p, uint32_t len)
{
	if (!p || p->state != PATH_UP || p->closing)
		return SUCI_ERR_DOWN;
	len += SUCI_PATH_HDR + seal_tag(p);
	if (len > p->mtu && !(p->frag.on && len <= p->mtu_max))
		return SUCI_ERR_TOOBIG;
	if (p->sent.queued >= ep->conf.limits.queue_max || path_full(ep, p, 0))
		return SUCI_ERR_FULL;
	if (!suci_rec_room(ep, p, 0))
		return SUCI_ERR_NOMEM;
	return SUCI_ERR_OK;
}

int
suci_path_send(struct suci *ep, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct suci_path *p = suci_path_get(ep, path);
	(void)now_ns;
	int err = admit_endpoint(ep, p, lane_hdr(seg) + (uint32_t)seg->head_len + seg->data_len);
	if (err)
		return err;
	uint32_t i = suci_rec_take(ep, REC_SEGMENT, path);
	suci_rec_fill(&ep->rec[i], seg);
	enqueue_endpoint(ep, p, i);
	return SUCI_ERR_OK;
}

int
suci_path_forward(struct suci *ep, uint32_t path, const struct suci_segment *seg, uint8_t *payload,
		  uint32_t dst_label, uint32_t src_label, uint64_t now_ns)
{
	struct suci_path *p = suci_path_get(ep, path);
	uint32_t hdr = lane_hdr(seg);
	(void)now_ns;
	int err = admit_endpoint(ep, p, hdr + seg->data_len);
	if (err)
		return err;
	uint8_t *image = payload - hdr;
	be32_store(image, dst_label);
	be32_store(image + 4, src_label);
	uint32_t i = suci_rec_take(ep, REC_SEGMENT, path);
	struct suci_rec *r = &ep->rec[i];
	r->data = image;
	r->data_len = (uint16_t)(hdr + seg->data_len);
	r->cookie = seg->cookie;
	suci_rec_mark(r, seg);
	enqueue_endpoint(ep, p, i);
	return SUCI_ERR_OK;
}

uint32_t
suci_path_room(const struct suci *ep, uint32_t path)
{
	const struct suci_limits *l = &ep->conf.limits;
	if (path >= l->paths_max)
		return 0;
	const struct suci_path *p = &ep->path[path];
	if (p->state != PATH_UP || p->going_down || p->closing)
		return 0;
	uint32_t has = p->sent.queued + outstanding(p), most = l->queue_max + l->window_max;
	uint32_t room = has < most ? most - has : 0;
	uint32_t queue = p->sent.queued < l->queue_max ? l->queue_max - p->sent.queued : 0;
	uint32_t left = l->segments_max - ep->segs_used;
	uint32_t own = p->sent.recs < ep->path_min ? ep->path_min - p->sent.recs : 0;
	uint32_t records = left > ep->guard ? left - ep->guard + own : own < left ? own : left;
	room = room < queue ? room : queue;
	return room < records ? room : records;
}

uint32_t
suci_note_number(struct suci *ep)
{
	ep->note_tx += ep->note_tx == UINT32_MAX ? 2 : 1; /* 0 is no number */
	return ep->note_tx;
}

int
suci_path_note(struct suci *ep, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	return suci_path_note_as(ep, path, suci_note_number(ep), note, len, now_ns);
}

int
suci_path_note_as(struct suci *ep, uint32_t path, uint32_t number, const void *note, size_t len,
		  uint64_t now_ns)
{
	struct suci_path *p = suci_path_get(ep, path);
	(void)now_ns;
	if (len > NOTE_MAX)
		return SUCI_ERR_TOOBIG;
	if (!p || p->state != PATH_UP || p->closing)
		return SUCI_ERR_DOWN;
	if (ep->note_free == NONE)
		return SUCI_ERR_FULL;
	uint32_t slot = ep->note_free;
	ep->note_free = ep->note_next[slot];
	memcpy(ep->note[slot], note, len);
	struct suci_segment seg = {
		.seq = number,
		.flags = SUCI_SF_NOTE | (PRIOS - 1) << SUCI_SF_PRIO_SHIFT,
		.data = ep->note[slot],
		.data_len = (uint16_t)len,
		.cookie = slot,
	};
	uint32_t i = suci_rec_take(ep, REC_NOTE, path);
	suci_rec_fill(&ep->rec[i], &seg);
	enqueue_endpoint(ep, p, i);
	return SUCI_ERR_OK;
}

bool
suci_note_is_news(const struct suci *ep, uint32_t *latest)
{
	if (ep->note_rx && *latest && serial_lt(ep->note_rx, *latest))
		return false;
	*latest = ep->note_rx;
	return true;
}

int
suci_set_hello(struct suci *ep, const void *hello, size_t len)
{
	if (len > SUCI_HELLO_MAX)
		return SUCI_ERR_INVAL;
	memcpy(ep->conf.hello, hello, len);
	ep->conf.hello_len = (uint16_t)len;
	return SUCI_ERR_OK;
}

void
suci_path_wake(struct suci *ep, uint32_t path)
{
	struct suci_path *p = suci_path_get(ep, path);
	if (!p || p->state != PATH_UP || !ep->ops->pull)
		return;
	p->pull_ready = true;
	suci_path_ready(ep, p);
}

void
suci_set_ack_every(struct suci *ep, uint32_t packets)
{
	if (packets)
		ep->conf.ack_every = packets;
}

void
suci_flush_acks(struct suci *ep)
{
	while (ep->owes_count) {
		struct suci_path *p = &ep->path[ep->owes[--ep->owes_count]];
		p->ack_tx.owes = false;
		if (p->state == PATH_UP && p->ack_tx.pending) {
			p->ack_tx.due = true;
			suci_path_ready(ep, p);
		}
	}
}

const struct suci_counters *
suci_counters(const struct suci *ep)
{
	return &ep->count;
}

uint32_t
suci_held(const struct suci *ep)
{
	return ep->in_custody;
}
