/* SPDX-License-Identifier: BSD-2-Clause */
/* cc.h - congestion control of one path: a const table of operations fed with
 * facts, answering with a window and a pacing rate.
 *
 * Units    packets, ns, bytes per second.  No floating point.
 * Threads  one owner.  Allocates nothing, reads no clock. */
#ifndef SUCI_CC_H
#define SUCI_CC_H

#include "rate.h"
#include "suci/endpoint.h"

#include <stdbool.h>
#include <stdint.h>

#define SUCI_CC_MIN_WINDOW 2u
/* So many busy paths of one endpoint and more are held to share a link. */
#define SUCI_CC_SHARERS 8u
#define SUCI_CC_FRAC	16 /* cubic keeps its window in 1 / 2^16 packets */

struct suci_cc_conf {
	uint32_t window_max;	 /* 1 .. 65535 */
	uint32_t initial_window; /* cubic, bbr */
	uint32_t fixed_window;	 /* fixed */
	uint32_t mtu;		 /* bytes of a full datagram, for the rate */
	uint64_t fixed_rate_bps; /* fixed; 0 = unpaced */
};

/* One ack that acknowledged something for the first time. */
struct suci_cc_ack {
	uint32_t packets;     /* newly acknowledged */
	uint32_t in_flight;   /* before this ack */
	bool window_limited;  /* the window, not the application, held data back */
	uint64_t rtt_ns;      /* sample of this ack, 0 if none */
	uint64_t smoothed_ns; /* after it */
	uint64_t var_ns;      /* how much samples differ from it */
	uint64_t sent_ns;     /* when the newest acknowledged packet was sent */
	uint64_t min_ns;      /* shortest sample of this path */
	uint32_t
		sharers; /* paths of this endpoint with something in flight; 1: it shares no link */
	uint64_t now_ns;
	/* Only if ops->rated. */
	uint64_t bytes;	    /* newly acknowledged */
	uint64_t delivered; /* ever, with them */
	struct suci_rate_sample sample;
};

struct suci_cc;
struct suci_cc_ops {
	const char *name;
	bool rated; /* acks come with samples of the delivery rate */
	void (*init)(struct suci_cc *cc, const struct suci_cc_conf *conf);
	void (*acked)(struct suci_cc *cc, const struct suci_cc_ack *ack);
	/* Packets are lost; sent_ns is when the newest of them was sent. */
	void (*lost)(struct suci_cc *cc, uint32_t packets, uint64_t sent_ns, uint64_t now_ns);
	/* Persistent congestion (RFC 9002 section 7.6): everything sent over at least three
	 * probe timeouts was lost.  lost() has been told of it before. */
	void (*collapsed)(struct suci_cc *cc, uint64_t now_ns);
	/* Packets given to lost() had arrived after all. */
	void (*spurious)(struct suci_cc *cc, uint32_t packets, uint64_t now_ns);
	/* So many more packets came with the mark CE: congestion without loss.  sent_ns is
	 * when the newest packet of that ack was sent.  Told before acked() of the same
	 * ack.  May be NULL: not obeyed. */
	void (*ce)(struct suci_cc *cc, uint32_t packets, uint64_t sent_ns, uint64_t now_ns);
	/* Packets had been too large for the way, which is why those given to lost() while holds
	 * was set were: as before the first of them, with a window of as many bytes.  They were mtu
	 * bytes and are conf.mtu now.  May be NULL: its window is no measurement. */
	void (*shrunk)(struct suci_cc *cc, uint32_t mtu);
};

struct suci_cc_cubic {
	uint64_t w;	/* window, 2^-16 packets */
	uint64_t w_max; /* where the curve is flat */
	uint64_t prior; /* window at the last reduction */
	uint64_t w_est; /* what Reno would have */
	uint64_t ssthresh;
	uint64_t k_ms;		/* time from epoch to w_max */
	uint64_t epoch_ns;	/* 0 = begins with the next ack */
	uint64_t idle_since_ns; /* last ack was not window limited; 0 = it was */
	uint64_t recovery_ns;	/* packets sent before this belong to the last reduction */
	/* Before the last reduction, to take it back when it was spurious. */
	uint64_t undo_w, undo_w_max, undo_prior, undo_ssthresh;
	uint32_t undo_lost; /* packets of that reduction not yet found spurious; 0 = none */
	/* Leaving slow start when the round trip grows (as in RFC 9406). */
	uint64_t round_end_ns; /* a packet sent after this ends the round */
	uint64_t round_min_ns, last_min_ns;
	uint32_t round_samples;
	/* Telling chance from congestion. */
	uint32_t chance; /* packets acknowledged that pay for those lost by chance */
	bool far, waits; /* the way is long; its queue is not empty */
};

enum suci_bbr_state {
	SUCI_BBR_STARTUP,
	SUCI_BBR_DRAIN,
	SUCI_BBR_DOWN, /* four phases of probing for bandwidth */
	SUCI_BBR_CRUISE,
	SUCI_BBR_REFILL,
	SUCI_BBR_UP,
	SUCI_BBR_PROBE_RTT,
};

/* See cc_bbr.c. */
struct suci_cc_bbr {
	uint8_t state;
	bool full;     /* startup has found the bandwidth */
	bool too_high; /* losses of this round were more than a fault of the wire */
	bool ce;       /* marks since the last ack */
	uint32_t dice;
	uint32_t packet_bytes; /* usual size of a packet, 2^-4 bytes */
	uint32_t rounds;       /* in this state */
	/* The model. */
	uint64_t bw[2]; /* highest delivery rate of this and the last cycle */
	uint64_t min_rtt_ns, min_rtt_at_ns;
	/* Bounds that losses taught: long-term, and until the next probe. */
	uint32_t inflight_hi, inflight_lo;
	uint64_t bw_lo;
	/* Rounds. */
	uint64_t round_end; /* a packet sent when so much was delivered ends the round */
	uint64_t bw_round;  /* highest sample of this round */
	uint32_t inflight_round;
	/* Startup. */
	uint32_t full_rounds;
	uint64_t full_bw;
	/* Probing. */
	uint64_t state_ns;	/* since when */
	uint64_t probe_wait_ns; /* from the end of one to the next */
	uint64_t probe_at_ns;
	uint64_t probe_rtt_end_ns;
	uint32_t probe_rounds, up_acked, up_step;
	uint32_t prior_window; /* before probe-rtt */
	uint32_t fallen_from;  /* window before it collapsed in this round; 0: it did not */
	/* Before the last reduction, to take it back when it was spurious. */
	uint32_t undo_lost;
	uint32_t undo_hi, undo_lo;
	uint64_t undo_bw_lo;
	uint64_t shared; /* suci_cc_share(): the window and what rounding takes */
};

struct suci_cc {
	const struct suci_cc_ops *ops;
	uint32_t window; /* packets that may be in flight, >= 1 */
	uint16_t queued; /* samples in a row that waited in a queue, see suci_cc_queued() */
	bool sharing;	 /* suci_cc_share() rules the window */
	/* From the first reduction since on, what is kept to undo one is of that one; and there was
	 * one.  For shrunk(). */
	bool holds, held;
	bool sure;	   /* what lost() is told is congestion: the peer says so, or a mark */
	uint64_t rate_bps; /* pacing rate, bytes per second; 0 = unpaced */
	struct suci_cc_conf conf;
	union {
		struct suci_cc_cubic cubic;
		struct suci_cc_bbr bbr;
	};
};

/* What may be in flight: conf.window_max may be less than it was when window was set. */
static inline uint32_t
suci_cc_window(const struct suci_cc *cc)
{
	return cc->window < cc->conf.window_max ? cc->window : cc->conf.window_max;
}

extern const struct suci_cc_ops suci_cc_fixed, suci_cc_cubic, suci_cc_bbr;

/* The table of a kind; NULL if there is none of that number. */
const struct suci_cc_ops *suci_cc_ops_of(enum suci_cc_kind kind);

/* One of several on a shared link: does its way have a queue now?  The paths of an endpoint that
 * begin together fill that of a link they share within a round, which a comparison of whole rounds
 * sees when it is too late.  To be asked with every ack. */
bool suci_cc_queued(struct suci_cc *cc, const struct suci_cc_ack *a);

/* The window of one of them once it is full, 2^-SUCI_CC_FRAC packets, after an ack: as
 * FAST TCP has it, what fits on the way without a queue and a few packets that wait in it.
 * So all paths that share get the same, whatever each began with, and the queue is short. */
uint64_t suci_cc_share(struct suci_cc *cc, uint64_t w, const struct suci_cc_ack *a);

/* The window, 2^-SUCI_CC_FRAC packets. */
uint64_t suci_cc_exact(const struct suci_cc *cc);

/* One of them that was full: is its way empty again?  Others of it have finished. */
bool suci_cc_room(struct suci_cc *cc, const struct suci_cc_ack *a);

void suci_cc_init(struct suci_cc *cc, enum suci_cc_kind kind, const struct suci_cc_conf *conf);

#endif
