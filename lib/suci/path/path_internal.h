/* SPDX-License-Identifier: BSD-2-Clause */
/* path_internal.h - what the files of lib/suci share.
 *
 *      endpoint.c       memory, life cycle, small entry points
 *      rx.c, tx.c       a datagram comes in, goes out
 *      path.c           table of paths, up, down, timers
 *      check.c          suci_check()
 *
 * Each of the others has a header of its own.
 *
 * Objects name each other by index, NONE is no object.
 *
 * Callbacks run inside the entry points.  A path that is closed from inside a
 * callback is only marked; suci_leave() of the outermost entry point takes it
 * down, so no loop of ours loses the ground under its feet. */
#ifndef SUCI_PATH_INTERNAL_H
#define SUCI_PATH_INTERNAL_H

#include "ack_tx.h"
#include "cc.h"
#include "credit_rx.h"
#include "credit_tx.h"
#include "ecn.h"
#include "frag.h"
#include "grants.h"
#include "handshake.h"
#include "loss.h"
#include "migrate.h"
#include "nobody.h"
#include "stateless.h"
#include "pacer.h"
#include "pmtu.h"
#include "rate.h"
#include "reasm.h"
#include "refused_queue.h"
#include "reset.h"
#include "rtt.h"
#include "seal_internal.h"
#include "seal/handshake.h"
#include "sent.h"
#include "suci/canary.h"
#include "suci/endpoint.h"
#include "suci/upper.h"
#include "timer.h"
#include "wire_internal.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/prng.h"
#include "base/wheel.h"

#define SUCI_MAGIC  0x5355434965706e74ull
#define NOTE_MAX    1024
#define FORMER_MAX  1024u	     /* ended paths remembered */
#define FORMER_NS   (16 * BASE_S_NS) /* as long as their cookies may live */
#define SUCI_FAR_NS BASE_MS_NS
/* Where suci_config has 0. */
#define SUCI_ACK_DELAY_NS BASE_MS_NS
#define SUCI_HANDSHAKE_NS (10 * BASE_S_NS)
/* Unit of the round trip in an OPEN. */
#define SUCI_HS_RTT_UNIT_NS 16000

struct suci_path_stat {
	uint64_t tx_segments, tx_retransmits, rx_segments, tx_bytes, rx_bytes;
};

enum path_state { PATH_FREE, PATH_HELLO, PATH_OPEN, PATH_NEW, PATH_UP };

struct suci_path {
	_Alignas(64) struct suci_timer timer; /* first */
	uint8_t state;
	uint8_t on_list; /* enum on_list */
	bool incoming;
	bool closing; /* suci_path_close() in a callback; goes down on leave */
	bool going_down;
	uint8_t down_why;	/* enum suci_down, when closing */
	bool pull_ready;	/* ops->pull may have something */
	bool shares_link;	/* counted in the endpoint's sharers */
	struct suci_seal *seal; /* NULL: not sealed */
	struct suci_addr peer;
	uint32_t rx_tag, tx_tag;
	struct base_ilink ready_link;
	uint32_t mtu;	  /* used now */
	uint32_t mtu_max; /* both ends can take it */
	uint32_t dying_next;
	struct suci_pmtu pmtu;
	struct suci_move move;
	struct suci_sent sent;
	struct suci_refused_queue refused;
	struct suci_grants grants;
	struct suci_credit_tx credit_tx;
	uint64_t liveness_ns, keepalive_ns;
	struct suci_marks marks;
	uint32_t free_next;
	struct suci_rtt rtt;
	struct suci_pacer pacer;
	struct suci_cc cc;
	struct suci_rate rate; /* only if cc.ops->rated */
	struct suci_loss loss;
	struct suci_ack_tx ack_tx;
	struct suci_credit_rx credit_rx;
	struct suci_nobody nobody;
	struct suci_handshake hs;
	uint64_t last_rx_ns;
	struct suci_path_stat stat;
	struct suci_frag frag;
	struct suci_upper upper;
	struct suci_reset reset;
};

_Static_assert(sizeof(struct suci_path) == SUCI_PATH_STRIDE,
	       "a path's index is a shift; grow it on purpose only");

enum on_list { ON_NONE, ON_READY, ON_STARVED };

struct suci {
	uint64_t magic;
	const struct suci_ops *ops;
	void *user;
	uint64_t now_ns;  /* last time we were told */
	uint64_t next_ns; /* no timer is due earlier */
	uint32_t depth;
	uint32_t tag_mask;
	struct suci_path *path;
	struct suci_rec *rec;
	struct suci_snap *snap; /* one per record; only touched if cc.ops->rated */
	uint32_t rec_free, segs_used, frags_used, in_custody;
	struct suci_frags *frags; /* of each path */
	struct suci_reasm *reasm;
	uint32_t reasms_used, reasm_paths; /* paths that have one at least */
	uint16_t reasm_free;
	/* Every path that is up may always have path_min records: guard is what they lack
	 * of it together, and nobody else gets that.  keep: not for ops->pull. */
	uint32_t path_min, guard, keep;
	struct suci_pool pool[SUCI_LEGS_MAX];
	uint32_t nwaiting;
	uint32_t path_free, paths_used;
	struct base_ilist ready, starved;
	struct base_ilist askers[PRIOS]; /* paths with ask != 0 */
	uint32_t naskers[PRIOS], nasking, grants_out;
	uint32_t sharers;      /* far paths of a window that is learned, with something in flight */
	uint32_t blocked_path; /* the one that ran out of credit last */
	uint32_t dying;
	uint32_t *owes, owes_count; /* paths that may owe an ack, for suci_flush_acks() */
	uint32_t note_tx, note_rx;  /* numbers of the notes last queued and last told */
	uint32_t *addr_slot, addr_mask;
	struct suci_path_hello *hello;
	uint8_t (*note)[NOTE_MAX];
	uint32_t *note_next, note_free, notes_max;
	struct suci_stateless *stateless;
	uint32_t stateless_free, stateless_count;
	struct base_ilist stateless_ready;
	/* Paths that ended: a delayed OPEN of one of them must not begin it anew. */
	struct former {
		struct suci_addr addr;
		uint32_t tag;
		uint64_t incarnation, at_ns, rtt_ns; /* or 0, if it never knew */
	} * former;
	uint32_t former_max, former_next;
	/* limits.sealed_max; NULL without */
	struct suci_seal *seal;
	struct suci_spare *spare;
	uint8_t *once;	  /* a key that is used once */
	uint8_t *key_mem; /* keys_n times SEAL_KEY_MAX */
	struct suci_key_use *keys;
	uint32_t keys_n, keys_hand;
	uint32_t seal_free, spare_next;
	uint64_t seal_serial;
	struct seal_source source; /* of private keys for one path */
	struct suci_pacer reset_pacer;
	struct suci_pacer curve_pacer; /* opens that cost much and are not proven */
	struct base_prng prng;
	const struct suci_upper_ops *upper; /* NULL: none */
	struct suci_timer upper_timer;
	struct suci_counters count;
	struct suci_config conf;
	struct base_wheel wheel;
};

static inline uint32_t
path_index(const struct suci *ep, const struct suci_path *p)
{
	return (uint32_t)(p - ep->path);
}

/* Segments sent at least once and not acknowledged, and probes. */
static inline uint32_t
outstanding(const struct suci_path *p)
{
	return p->sent.in_flight + p->sent.n_lost + p->refused.n;
}

/* What the peer refuses must not take the records of all other paths. */
static inline bool
path_full(const struct suci *ep, const struct suci_path *p, uint32_t keep)
{
	uint32_t most = ep->conf.limits.queue_max + ep->conf.limits.window_max;
	keep = keep < most / 16 ? keep : most / 16;
	return p->sent.queued + outstanding(p) >= most - keep;
}

/* Further than a switch or two.  What near peers send is bounded by credit_total, see
 * credit.c. */
static inline bool
suci_path_far(const struct suci_path *p)
{
	return (p->rtt.sampled ? p->rtt.min_ns : p->hs.rtt_ns) > SUCI_FAR_NS;
}

/* Bytes that sealing adds to every datagram of a path. */
static inline uint32_t
seal_tag(const struct suci_path *p)
{
	return p->seal ? SUCI_SEAL_TAG : 0;
}

/* endpoint.c */
void suci_leave_work(struct suci *ep);
static inline void
suci_enter(struct suci *ep, uint64_t now_ns)
{
	BASE_ASSERT(ep->magic == SUCI_MAGIC);
	if (now_ns > ep->now_ns)
		ep->now_ns = now_ns;
	ep->depth++;
}

/* The outermost one does what callbacks put off. */
static inline void
suci_leave(struct suci *ep)
{
	if (ep->depth == 1 && (ep->nasking || ep->nwaiting || ep->dying != NONE))
		suci_leave_work(ep);
	ep->depth--;
}
/* Records an endpoint has: for segments, notes and probes. */
uint32_t suci_recs_of(const struct suci_limits *l);
void suci_arm(struct suci *ep, struct suci_timer *t, uint64_t at_ns);

/* path.c */
/* NULL if not in use. */
static inline struct suci_path *
suci_path_get(struct suci *ep, uint32_t path)
{
	if (path >= ep->conf.limits.paths_max)
		return NULL;
	struct suci_path *p = &ep->path[path];
	return p->state == PATH_FREE || p->going_down ? NULL : p;
}

static inline struct suci_path *
suci_path_by_tag(struct suci *ep, uint32_t tag)
{
	struct suci_path *p = suci_path_get(ep, tag & ep->tag_mask);
	return p && p->rx_tag == tag ? p : NULL;
}

struct suci_path *suci_path_at(struct suci *ep, const struct suci_addr *a);
struct suci_path *suci_path_new(struct suci *ep, const struct suci_addr *peer);
/* Another tag, which nobody has been told: before the path is up. */
void suci_path_retag(struct suci *ep, struct suci_path *p);
/* Give back a path that was made and never used. */
void suci_path_unmake(struct suci *ep, struct suci_path *p);
void suci_path_establish(struct suci *ep, struct suci_path *p, const struct suci_body *b,
			 bool incoming, uint64_t rtt_ns, uint64_t now_ns);
void suci_path_down(struct suci *ep, struct suci_path *p, enum suci_down why, const char *text,
		    uint64_t now_ns);
void suci_path_ready(struct suci *ep, struct suci_path *p);
void suci_path_unready(struct suci *ep, struct suci_path *p);
void suci_path_starve(struct suci *ep, struct suci_path *p);
void suci_path_arm(struct suci *ep, struct suci_path *p);
void suci_path_timer(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* From now on datagrams of that size. */
void suci_path_set_mtu(struct suci *ep, struct suci_path *p, uint32_t mtu, uint64_t now_ns);
/* Congestion control and pacing as they were at the start. */
void suci_path_restart_cc(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* The path gets another address; nothing else has it. */
void suci_path_readdress(struct suci *ep, struct suci_path *p, const struct suci_addr *to);
/* Close on leave, for that reason. */
void suci_path_fail(struct suci *ep, struct suci_path *p, enum suci_down why, const char *text);

/* UDP payload with which a path to that address begins; 0: with the largest. */
static inline uint32_t
suci_leg_mtu_min(const struct suci *ep, const struct suci_addr *to)
{
	uint32_t mtu = to->leg < SUCI_LEGS_MAX ? ep->conf.mtu_min_leg[to->leg] : 0;
	return mtu ? mtu : ep->conf.mtu_min;
}

/* Largest UDP payload of ours towards that address. */
static inline uint32_t
suci_leg_mtu(const struct suci *ep, const struct suci_addr *to)
{
	uint32_t mtu = to->leg < SUCI_LEGS_MAX ? ep->conf.mtu_leg[to->leg] : 0;
	return mtu ? mtu : ep->conf.mtu_max;
}

/* Datagrams above the size to which a path may shrink depend on probing. */
static inline bool
suci_pmtu_grown(const struct suci_path *p)
{
	return p->pmtu.min && p->mtu > p->pmtu.floor;
}

/* Bytes of the datagram of a record, without an ack block. */
static inline uint32_t
suci_rec_len(const struct suci_path *p, const struct suci_rec *r)
{
	return (uint32_t)SUCI_PATH_HDR + r->hdr_len + r->head_len + r->data_len + seal_tag(p);
}

/* rx.c */
/* A segment for the upper layer; false: no room, it must not be acknowledged. */
bool suci_offer(struct suci *ep, struct suci_path *p, struct suci_segment *seg, uint64_t now_ns);
/* False, and counted: that packet of the path has been here. */
bool suci_rx_is_new(struct suci *ep, const struct suci_path *p, uint32_t pn);

/* tx.c */
size_t suci_put_path_hdr(struct suci_path *p, enum suci_type type, uint8_t flags, uint16_t ack_len,
			 uint32_t pn, uint64_t now_ns, uint8_t *out);
/* A bare ack datagram; 0 if nothing was received yet. */
size_t suci_put_bare_ack(struct suci *ep, struct suci_path *p, uint8_t *out, uint64_t now_ns);

#include "records.h"

#endif
