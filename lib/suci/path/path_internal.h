/* path_internal.h - what the files of lib/suci share.
 *
 *      endpoint.c  memory, life cycle, small entry points
 *      rx.c        a datagram comes in
 *      tx.c        a datagram goes out
 *      handshake.c HELLO, COOKIE, OPEN, ACCEPT, CLOSE
 *      reset.c     RESET
 *      oob.c       datagrams that belong to no path
 *      path.c      table of paths, up, down, timers
 *      sent.c      records of segments and the lists they are in
 *      loss.c      acks, loss, probes
 *      park.c      what the peer refused, until it is sent again
 *      room.c      asks and grants for what was refused
 *      credit.c    how much each peer may have on its way here, and we there
 *      pmtu.c      how large a datagram may be
 *      cut.c       segments larger than that leave in parts
 *      join.c      and parts that came are put together; parts.h
 *      migrate.c   the peer has another address
 *      nobody.c    there is nobody at its address
 *      ecn.c       marks of congestion, ours and the peer's
 *      seal.c      sealed paths: keys and datagrams
 *      seal_hs.c   sealed handshakes
 *      keys.c      which keys are ready for use
 *      seal_greet.c  their OPEN and ACCEPT: who may, and the first keys
 *      check.c     suci_check()
 *      canary.h    bugs planted for the test of the simulator
 *
 * Objects name each other by index, NONE is no object.
 *
 * Callbacks run inside the entry points.  A path that is closed from inside a
 * callback is only marked; suci_leave() of the outermost entry point takes it
 * down, so no loop of ours loses the ground under its feet. */
#ifndef SUCI_PATH_INTERNAL_H
#define SUCI_PATH_INTERNAL_H

#include "acks_rx.h"
#include "suci/canary.h"
#include "cc.h"
#include "pacer.h"
#include "rtt.h"
#include "seal/handshake.h"
#include "suci/endpoint.h"
#include "suci/upper.h"
#include "wire_internal.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/prng.h"
#include "base/wheel.h"

#define SUCI_MAGIC   0x5355434965706e74ull
#define NOTE_MAX     1024
#define OOB_MAX	     64 /* datagrams that belong to no path */
#define OOB_RESERVED 16 /* of them not for answers to HELLO */
#define OOB_BYTES    (SUCI_PATH_HDR + SUCI_BODY_HDR + SUCI_HELLO_MAX)
#define PARK_LISTS   9		      /* the pause doubles from list to list */
#define TOMBS	     16		      /* lost packet numbers watched for a late ack */
#define FORMER_MAX   1024u	      /* ended paths remembered */
#define FORMER_NS    (16 * BASE_S_NS) /* as long as their cookies may live */
#define SEG_HDR_MAX  (SUCI_LANE_HDR + SUCI_FIRST_EXT)
#define SUCI_FAR_NS  BASE_MS_NS
#define SEAL_NONCE   16 /* bytes */
#define SPARE_KEYS   8	/* keys of neighbouring epochs, all paths together */
/* Unit of the round trip in an OPEN. */
#define SUCI_HS_RTT_UNIT_NS 16000

enum rec_kind {
	REC_SEGMENT,
	REC_NOTE,   /* cookie is the note's slot */
	REC_PART,   /* of a segment, cookie is that one's record; see cut.c */
	REC_PROBE,  /* no segment: asks for an ack */
	REC_MTU,    /* padding: does that size get through? */
	REC_PURGED, /* was a segment whose owner is gone; not sent again */
};

/* One segment in our custody. */
struct suci_rec {
	struct base_ilink link; /* in one list of its path, or the free list */
	uint32_t path;
	uint8_t kind;
	uint8_t where; /* enum rec_where */
	uint8_t prio;
	uint8_t hdr_len;  /* of hdr; 0: the lane header is in data, see suci_path_forward() */
	uint64_t pn;	  /* of the last transmission */
	uint64_t sent_ns; /* its time; parked: when to send again */
	uint64_t lost_pn; /* of the transmission given up last, 0 = none */
	uint64_t lost_sent_ns;
	const uint8_t *head, *data;
	uint64_t cookie;
	uint16_t head_len, data_len;
	bool probing;	   /* sent again by a probe timeout: not known to be lost */
	bool ask;	   /* carries SUCI_SF_ASK */
	bool again;	   /* sent before */
	bool ect;	   /* sent with a mark */
	uint8_t refusals;  /* saturating */
	uint8_t parked_in; /* which list */
	uint8_t hdr[SEG_HDR_MAX];
	uint16_t parts; /* WHERE_CUT: sent and not acknowledged; pn numbers the cut then */
};

enum rec_where {
	WHERE_FREE,
	WHERE_QUEUED,
	WHERE_FLIGHT,
	WHERE_LOST,
	WHERE_PARKED,
	WHERE_CUT, /* its parts are under way */
	WHERE_DONE,
};

struct suci_timer {
	struct base_timer t; /* first */
	enum { TIMER_PATH, TIMER_OOB, TIMER_UPPER } kind;
};

/* Probing for the path MTU, see pmtu.c.  Sizes are UDP payloads. */
struct suci_pmtu {
	uint32_t min;	/* where the path began; 0: not probed, all below is unused */
	uint32_t floor; /* to where it may shrink: packets are small up to this */
	uint32_t bad;	/* the smallest size known not to pass, else one more than the most */
	uint32_t size;	/* being tried; 0 = none */
	uint32_t rec;	/* outstanding REC_MTU */
	uint8_t tries;	/* of that size that were lost */
	uint8_t rounds; /* of losses of large packets while small ones passed */
	bool due : 1;	/* the probe is to be sent */
	/* A timeout found nothing but large ones unanswered; the first of this round has left; and
	 * something small is to go right behind it. */
	bool doubted : 1, followed : 1, follow : 1;
	uint64_t at_ns;	    /* look again */
	uint64_t raise_ns;  /* for something larger */
	uint64_t passed_ns; /* something large was sent then, and arrived */
	/* Numbers: of the first small packet that passed since a large one did, 0 = none; and no
	 * loss of what was sent up to this counts. */
	uint64_t small_pn, mark_pn;
};

/* Marks of congestion, see ecn.c.  Packets since the path came up, modulo 2^32. */
struct suci_marks {
	bool send;	      /* what we send is marked ECT(0) */
	bool seen;	      /* the peer has reported counts */
	uint32_t sent, acked; /* packets of ours that were marked */
	uint32_t ect, ce;     /* of them, as reported by the peer */
	uint32_t rx_ect, rx_ce;
};

/* A new address of the peer that has to prove itself, see migrate.c. */
struct suci_move {
	struct suci_addr to;
	uint32_t count;	       /* times the path has moved */
	uint64_t token, at_ns; /* of the challenge; 0 = none is open */
	uint64_t moved_pn;     /* what was sent before went to another address */
};

#define KEYS_DEFAULT 512
#define NO_KEY	     UINT16_MAX

/* Secrets of a sealed path; for keys ready for use see keys.c. */
struct suci_seal {
	/* Of the current epochs.  The opener has in place of the first its private key for this
	 * path until that is up. */
	uint8_t tx_secret[SEAL_HASH], rx_secret[SEAL_HASH];
	uint8_t once[SEAL_DH]; /* the public key of that, or the listener's */
	uint8_t ck[SEAL_HASH]; /* opener: behind OPEN; listener: behind ACCEPT, until heard */
	uint8_t nonce[SEAL_NONCE], peer_nonce[SEAL_NONCE];
	uint8_t challenge[8]; /* end of the seal tag of our last question after a RESET, see reset.c
			       */
	uint64_t forged;      /* datagrams that were not authentic */
	uint64_t serial;      /* never used before in this endpoint */
	uint64_t rx_pn, rx_bare; /* highest that came authentically */
	uint64_t bare_seen;	 /* bit n: rx_bare - n */
	uint32_t sent;		 /* datagrams of this epoch */
	uint32_t tx_epoch, rx_epoch;
	uint64_t epoch_pn; /* first number sealed in tx_epoch */
	uint32_t next_free;
	uint32_t attempt;	/* of the opener: which of its keys this is about */
	uint64_t challenged_ns; /* when the challenge left, 0 = never */
	uint8_t psk;		/* index of the pre-shared key */
	bool begun;		/* opener: once and ck are those of this attempt */
	bool heard;		/* something authentic in rx_epoch */
	bool want_challenge, challenged;
	uint16_t slot[2]; /* its keys that are ready: sending, receiving; NO_KEY = not */
};

_Static_assert(sizeof(struct suci_seal) <= 264, "memory per sealed peer");

/* Whose key is in that place. */
struct suci_key_use {
	uint32_t seal; /* NONE: nobody's */
	bool rx, used;
};

struct suci_spare {
	_Alignas(64) uint8_t key[SEAL_KEY_MAX];
	uint64_t serial; /* of the struct suci_seal it belongs to */
	uint32_t epoch;
};

enum path_state { PATH_FREE, PATH_HELLO, PATH_OPEN, PATH_NEW, PATH_UP };

struct suci_path {
	_Alignas(64) struct suci_timer timer; /* first */
	uint8_t state;
	uint8_t on_list;  /* enum on_list */
	uint8_t hs_tries; /* of this HELLO or OPEN, until it stops counting */
	bool incoming;
	bool closing; /* suci_path_close() in a callback; goes down on leave */
	bool going_down;
	bool pull_ready; /* ops->pull may have something */
	bool send_hs;	 /* handshake datagram due: HELLO, OPEN; ACCEPT if up */
	bool send_ack;	 /* an ack is due now */
	bool send_probe; /* a probe timeout fired */
	bool on_owes;
	bool ask_due;		/* for credit, with the next ack block */
	bool refused;		/* something since the last ack; say so */
	bool park_ready;	/* what was refused may have its turn */
	bool park_turn;		/* it took the last one */
	bool hinted;		/* somebody refused our open who has not our key */
	struct suci_seal *seal; /* NULL: not sealed */
	struct suci_addr peer;
	uint32_t rx_tag, tx_tag;
	struct base_ilink ready_link;
	uint32_t mtu;	    /* used now */
	uint32_t mtu_max;   /* both ends can take it */
	uint8_t down_why;   /* enum suci_down, when closing */
	bool crowds;	    /* counted in the endpoint's crowd */
	uint8_t move_asked; /* times the old address, see migrate.c; 0: nothing is open */
	struct suci_pmtu pmtu;
	struct suci_move move;

	/* sending */
	struct base_ilist queue[PRIOS], lost, flight;
	/* Refused by the peer: not in the network, sent again after a pause that
	 * depends on the list.  See park.c. */
	struct base_ilist parked[PARK_LISTS];
	uint32_t park_tokens, park_earned;
	uint64_t park_at_ns, park_refill_ns, park_gap_ns;
	uint32_t park_granted; /* of n_parked: the peer has room for so many */
	uint32_t grant_seen;   /* granted by the peer, ever */
	uint32_t ask_told;     /* n_parked as last told */
	uint32_t queued, in_flight, n_lost, n_parked;
	uint32_t probe_rec; /* outstanding REC_PROBE */
	/* Credit, see credit.c: the peer takes packets up to tx_limit. */
	uint64_t tx_limit;
	uint64_t more_from;	/* from here on say if more wait */
	uint64_t more_pn;	/* last one sent with SUCI_PF_MORE */
	uint64_t held_ns;	/* since when something may not go; 0 = nothing waits for that */
	uint64_t ask_at_ns;	/* ask again then */
	uint64_t ask_wait_ns;	/* how long it took lately */
	uint32_t limit_largest; /* of the newest ack block heard */
	uint32_t asks;		/* since it waits, beyond the first */
	uint64_t next_pn;	/* 64 bits here, 32 on the wire */
	uint64_t limited_pn;	/* before it, window or pace held back more that waited */
	uint64_t asked_pn;	/* last one sent with SUCI_PF_ACK_NOW */
	uint64_t largest_acked;
	uint64_t after_ns;   /* when the first packet after largest_acked was sent; 0 = none */
	uint64_t sampled_ns; /* when the round trip was first known */
	uint64_t flight_ns;  /* when the last packet that wants an ack was sent */
	uint64_t due_ns;     /* since when something is outstanding */
	uint64_t liveness_ns, keepalive_ns;
	uint64_t loss_at_ns, pace_at_ns;
	uint32_t probes;	  /* timeouts since the last ack */
	uint32_t patience;	  /* acks to come before a probe is again sent early */
	uint64_t bare_pn;	  /* 32 on the wire */
	uint32_t reorder_extra;	  /* eighths added to the loss time threshold */
	uint32_t reorder_packets; /* packet threshold */
	uint32_t reorder_quiet;	  /* losses since one was spurious */
	struct suci_marks marks;
	struct suci_rtt rtt;
	struct suci_pacer pacer;
	struct suci_cc cc;
	struct suci_rate rate; /* only if cc.ops->rated */
	struct tomb {
		uint64_t pn; /* 0 = unused */
		uint32_t rec;
		bool probing; /* given up by a probe timeout */
		uint64_t sent_ns;
	} tomb[TOMBS];
	uint8_t tomb_next, tomb_live;
	uint32_t cut_rec; /* the segment that is being cut, see cut.c */

	/* receiving */
	struct suci_acks acks;
	uint16_t ask; /* packets the peer has waiting for room here */
	uint8_t ask_prio;
	bool grant_due; /* not told yet */
	struct base_ilink ask_link;
	uint32_t ask_used, granted; /* serial: granted - ask_used are out */
	uint32_t ack_pending;	    /* packets that want an ack */
	uint64_t granted_ns;
	uint32_t heard_span; /* packets came in this span of time */
	/* The peer may send packets from after rx_high, the last that came, to rx_limit. */
	uint32_t rx_limit, rx_high;
	uint64_t seen_ns;	      /* last packet, or looked at for reclaim */
	struct base_ilink wait_link;  /* pool's waiting, if waits */
	struct base_ilink quiet_link; /* pool's quiet, if near */
	uint8_t wait_prio, wait_amount;
	uint8_t pool; /* ep->pool */
	bool near;    /* bound by credit_total */
	bool waits;   /* for a higher limit */
	bool offered; /* first_credit is set */
	uint16_t first_credit;
	uint16_t quantum;     /* most it gets at its next turn; 0 = its share */
	bool ack_all;	      /* every packet is acknowledged at once */
	bool joins;	      /* the peer puts parts together, and we cut */
	bool cutting;	      /* segments may be larger than datagrams */
	uint8_t reset_rounds; /* questions in a row that only RESETs answered */
	bool reset_answered;  /* our last question after a RESET, by another one */
	bool nobody;	      /* somebody said that there is nobody at its address */
	uint64_t up_ns, told_again_ns;
	uint64_t hs_rtt_ns; /* measured by the opener; in HELLO that of the last path; or 0 */
	uint64_t ack_at_ns; /* when it is due, NEVER if none */
	uint64_t acked_ns;  /* when the last ack left */

	uint64_t last_rx_ns;
	uint64_t tx_segments, tx_retransmits, rx_segments, tx_bytes, rx_bytes;

	/* handshake */
	uint64_t hs_retry_ns, hs_give_up_ns, hs_sent_ns;
	union {
		uint64_t cookie;    /* before it is up */
		uint64_t nobody_ns; /* when nobody was set, once it is */
	};
	uint64_t peer_incarnation;

	uint32_t free_next, dying_next;
	uint32_t recs; /* segments of ours it has: queued, in flight, lost, parked */
	struct suci_upper upper;
};

_Static_assert(sizeof(struct suci_path) == SUCI_PATH_STRIDE,
	       "a path's index is a shift; grow it on purpose only");
_Static_assert(sizeof(struct suci_rec) <= 128, "two cache lines per segment");

enum on_list { ON_NONE, ON_READY, ON_STARVED };

/* Only touched in handshakes. */
struct suci_path_hello {
	uint16_t len; /* UINT16_MAX: the configured one */
	uint8_t bytes[SUCI_HELLO_MAX];
};

struct suci_oob {
	struct suci_timer timer; /* first */
	struct suci_addr to;
	uint32_t next;
	uint16_t len;
	uint8_t repeats;
	uint64_t gap_ns;
	uint8_t bytes[OOB_BYTES];
};

/* Credit of the peers over one leg: what its queue can hold. */
struct suci_pool {
	/* Paths that brought segments in this span of time and in the one before. */
	uint32_t span, senders, senders_before;
	uint32_t paths; /* over that leg */
	uint64_t span_end_ns;
	uint32_t promised;		  /* packets near peers may still send */
	uint32_t nwaiting;		  /* in waiting */
	struct base_ilist waiting[PRIOS]; /* paths that wait for a higher limit */
	struct base_ilist quiet;	  /* near paths, the longest silent first */
};

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
	uint32_t rec_free, segs_used, parts_used, held;
	struct suci_parts *parts; /* of each path */
	struct suci_whole *whole;
	uint32_t wholes_used, whole_paths; /* paths that have one at least */
	uint16_t whole_free;
	/* Every path that is up may always have path_min records: guard is what they lack
	 * of it together, and nobody else gets that.  keep: not for ops->pull. */
	uint32_t path_min, guard, keep;
	struct suci_pool pool[SUCI_LEGS_MAX];
	uint32_t nwaiting;
	uint32_t path_free, paths_used;
	struct base_ilist ready, starved;
	struct base_ilist askers[PRIOS]; /* paths with ask != 0 */
	uint32_t naskers[PRIOS], nasking, grants_out;
	uint32_t crowd;	    /* far paths of a window that is learned, with something in flight */
	uint32_t held_path; /* the one that ran out of credit last */
	uint32_t dying;
	uint32_t *owes, owes_count; /* paths that may owe an ack, for suci_flush_acks() */
	uint32_t note_tx, note_rx;  /* numbers of the notes last queued and last told */
	uint32_t *addr_slot, addr_mask;
	struct suci_path_hello *hello;
	uint8_t (*note)[NOTE_MAX];
	uint32_t *note_next, note_free, notes_max;
	struct suci_oob *oob;
	uint32_t oob_free, oob_count;
	struct base_ilist oob_ready;
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
	return p->in_flight + p->n_lost + p->n_parked;
}

/* What the peer refuses must not take the records of all other paths. */
static inline bool
path_full(const struct suci *ep, const struct suci_path *p, uint32_t keep)
{
	uint32_t most = ep->conf.limits.queue_max + ep->conf.limits.window_max;
	keep = keep < most / 16 ? keep : most / 16;
	return p->queued + outstanding(p) >= most - keep;
}

/* Further than a switch or two.  What near peers send is bounded by credit_total, see
 * credit.c. */
static inline bool
suci_path_far(const struct suci_path *p)
{
	return (p->rtt.sampled ? p->rtt.min_ns : p->hs_rtt_ns) > SUCI_FAR_NS;
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

/* oob.c */
void suci_oob_init(struct suci *ep);
/* A datagram of len bytes to fill in; NULL if there is no room. */
struct suci_oob *suci_oob_new(struct suci *ep, const struct suci_addr *to, bool for_stranger);
void suci_oob_send(struct suci *ep, struct suci_oob *o, uint32_t repeats, uint64_t gap_ns);
bool suci_oob_tx(struct suci *ep, struct suci_out *out, uint64_t now_ns);
void suci_oob_timer(struct suci *ep, struct suci_oob *o);

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

/* handshake.c */
void suci_handshake_rx(struct suci *ep, const struct suci_addr *from, const struct suci_path_hdr *h,
		       uint8_t *dgram, size_t len, uint64_t now_ns);
size_t suci_handshake_tx(struct suci *ep, struct suci_path *p, uint8_t *out, uint64_t now_ns);
/* CLOSE of a path that is up. */
#define SUCI_TEXT_SILENT "nothing heard from the peer"
/* SUCI_DOWN_CLOSED or SUCI_DOWN_SILENT, as the peer is to see it. */
void suci_send_close(struct suci *ep, struct suci_path *p, enum suci_down why, const char *text,
		     uint32_t repeats, uint64_t gap_ns, uint64_t now_ns);
size_t suci_put_farewell(uint8_t *out, enum suci_type type, uint32_t tag, uint16_t reason,
			 const char *text, uint64_t now_ns);

/* reset.c */
#define SUCI_RESET_SEALED 68u /* bytes of a sealed one */
#define SUCI_RESET_PLAIN  20u
void suci_reset_rx(struct suci *ep, const struct suci_addr *from, const struct suci_path_hdr *h,
		   uint8_t *dgram, size_t len, uint64_t now_ns);
/* With p->reset_answered: when to look whether the peer was heard meanwhile; do so, true: it was
 * not, and the path is down. */
uint64_t suci_reset_look_at(const struct suci *ep, const struct suci_path *p);
bool suci_reset_look(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* The answer to a DATA datagram nobody here has a path for. */
void suci_send_reset(struct suci *ep, const struct suci_addr *to, const struct suci_path_hdr *h,
		     const uint8_t *dgram, size_t len, uint64_t now_ns);

/* loss.c */
/* The longest that we let an ack wait: two round trips, within 50 us and ack_delay_ns. */
uint64_t suci_loss_ack_delay(const struct suci *ep, const struct suci_path *p);
/* False if the block acknowledges what was never sent. */
bool suci_loss_ack(struct suci *ep, struct suci_path *p, const struct suci_ack *ack,
		   uint64_t now_ns);
void suci_loss_detect(struct suci *ep, struct suci_path *p, uint64_t now_ns);
void suci_loss_probe_fired(struct suci *ep, struct suci_path *p, uint64_t now_ns);
uint64_t suci_loss_probe_at(const struct suci *ep, const struct suci_path *p);
/* Give up the transmission of a record that is in flight; its number is watched
 * for a late ack. */
void suci_loss_bury(struct suci *ep, struct suci_path *p, uint32_t rec, bool probing);

/* pmtu.c */
void suci_pmtu_init(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* The way there is another: try everything above again. */
void suci_pmtu_again(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* A probe of that size arrived; or was lost or given up. */
void suci_pmtu_passed(struct suci *ep, struct suci_path *p, uint32_t size, uint64_t now_ns);
void suci_pmtu_lost(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* A probe timeout; a datagram of that size leaves. */
void suci_pmtu_timeout(struct suci_path *p);
void suci_pmtu_sent(struct suci_path *p, uint32_t len);
void suci_pmtu_timer(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* A record for the probe that is due. */
uint32_t suci_pmtu_take(struct suci *ep, struct suci_path *p);
/* A packet with a segment, len bytes without its ack block, arrived or was lost. */
void suci_pmtu_seg_passed(struct suci_path *p, const struct suci_rec *r);
void suci_pmtu_seg_lost(struct suci *ep, struct suci_path *p, const struct suci_rec *r,
			uint64_t now_ns);
/* Instead of a large segment, send something small after a probe timeout. */
bool suci_pmtu_doubt(const struct suci_path *p);
/* A segment of len bytes does not fit any more. */
void suci_pmtu_too_small(struct suci *ep, struct suci_path *p, uint32_t len);

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

/* ecn.c */
static inline void
suci_marks_rx(struct suci_path *p, uint8_t ecn)
{
	p->marks.rx_ect += ecn == SUCI_ECN_ECT0;
	p->marks.rx_ce += ecn == SUCI_ECN_CE;
}
void suci_marks_put(const struct suci_path *p, struct suci_ack *a);
/* An ack block that newly acknowledged so many marked packets, the newest sent then. */
void suci_marks_heard(struct suci *ep, struct suci_path *p, const struct suci_ack *a,
		      uint32_t acked, uint64_t sent_ns, uint64_t now_ns);
void suci_marks_fail(struct suci *ep, struct suci_path *p);

/* nobody.c */
/* A timeout of a probe or of the handshake has passed: true if that was the last, and the path is
 * down. */
bool suci_nobody_timeout(struct suci *ep, struct suci_path *p, uint64_t now_ns);

/* migrate.c */
/* A datagram with the path's tag from another address. */
void suci_move_heard(struct suci *ep, struct suci_path *p, const struct suci_addr *from,
		     const struct suci_path_hdr *h, uint64_t now_ns);
/* With p->move_asked: when to look who has answered; do so. */
uint64_t suci_move_look_at(const struct suci *ep, const struct suci_path *p);
void suci_move_look(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* CHALLENGE and RESPONSE. */
void suci_move_rx(struct suci *ep, struct suci_path *p, const struct suci_addr *from,
		  const struct suci_path_hdr *h, uint64_t now_ns);

/* park.c */
/* A record in no list was refused by the peer. */
void suci_park(struct suci *ep, struct suci_path *p, uint32_t rec, uint64_t now_ns);
/* The next one to send again, in no list any more; NONE if it is too soon. */
uint32_t suci_park_take(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* So many that had been refused were taken now. */
void suci_park_taken(struct suci_path *p, uint32_t n);

/* rx.c */
/* A segment for the upper layer; false: no room, it must not be acknowledged. */
bool suci_offer(struct suci *ep, struct suci_path *p, struct suci_segment *seg, uint64_t now_ns);
/* False, and counted: that packet of the path has been here. */
bool suci_rx_is_new(struct suci *ep, const struct suci_path *p, uint32_t pn);

#include "seal_internal.h"

/* tx.c */
size_t suci_put_path_hdr(struct suci_path *p, enum suci_type type, uint8_t flags, uint16_t ack_len,
			 uint32_t pn, uint64_t now_ns, uint8_t *out);
/* A bare ack datagram; 0 if nothing was received yet. */
size_t suci_put_bare_ack(struct suci *ep, struct suci_path *p, uint8_t *out, uint64_t now_ns);

#include "credit.h"
#include "parts.h"
#include "sent.h"

#endif
