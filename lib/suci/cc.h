/* cc.h - congestion control of one path: a const table of operations fed with
 * facts, answering with a window and a pacing rate.
 *
 * Units    packets, ns, bytes per second.  No floating point.
 * Threads  one owner.  Allocates nothing, reads no clock. */
#ifndef SUCI_CC_H
#define SUCI_CC_H

#include "suci/endpoint.h"

#include <stdbool.h>
#include <stdint.h>

#define SUCI_CC_MIN_WINDOW 2u
#define SUCI_CC_FRAC	   16 /* cubic keeps its window in 1 / 2^16 packets */

struct suci_cc_conf {
	uint32_t window_max;	 /* 1 .. 65535 */
	uint32_t initial_window; /* cubic */
	uint32_t fixed_window;	 /* fixed */
	uint64_t fixed_rate_bps; /* fixed; 0 = unpaced */
	uint32_t mtu;		 /* bytes of a full datagram, for the rate */
};

/* One ack that acknowledged something for the first time. */
struct suci_cc_ack {
	uint32_t packets;     /* newly acknowledged */
	uint32_t in_flight;   /* before this ack */
	bool window_limited;  /* the window, not the application, held data back */
	uint64_t rtt_ns;      /* sample of this ack, 0 if none */
	uint64_t smoothed_ns; /* after it */
	uint64_t sent_ns;     /* when the newest acknowledged packet was sent */
	uint64_t now_ns;
};

struct suci_cc;
struct suci_cc_ops {
	const char *name;
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
};

struct suci_cc_cubic {
	uint64_t w;	/* window, 2^-16 packets */
	uint64_t w_max; /* where the last reduction happened */
	uint64_t w_est; /* what Reno would have */
	uint64_t ssthresh;
	uint64_t k_ms;		/* time from epoch to w_max */
	uint64_t epoch_ns;	/* 0 = begins with the next ack */
	uint64_t idle_since_ns; /* last ack was not window limited; 0 = it was */
	uint64_t recovery_ns;	/* packets sent before this belong to the last reduction */
	/* Before the last reduction, to take it back when it was spurious. */
	uint64_t undo_w, undo_w_max, undo_ssthresh;
	uint32_t undo_lost; /* packets of that reduction not yet found spurious; 0 = none */
	/* Leaving slow start when the round trip grows (as in RFC 9406). */
	uint64_t round_end_ns; /* a packet sent after this ends the round */
	uint64_t round_min_ns, last_min_ns;
	uint32_t round_samples;
};

struct suci_cc {
	const struct suci_cc_ops *ops;
	uint32_t window;   /* packets that may be in flight, >= 1 */
	uint64_t rate_bps; /* pacing rate, bytes per second; 0 = unpaced */
	struct suci_cc_conf conf;
	struct suci_cc_cubic cubic;
};

extern const struct suci_cc_ops suci_cc_fixed, suci_cc_cubic;

void suci_cc_init(struct suci_cc *cc, enum suci_cc_kind kind, const struct suci_cc_conf *conf);

#endif
