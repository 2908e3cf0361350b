/* SPDX-License-Identifier: BSD-2-Clause */
/* rd/advise.h - how many trunks can this traffic use, and why not more?
 *
 * From what was measured over some seconds to a number and sentences.  A trunk carries
 * what the slowest of these lets through, and each leaves its mark:
 *
 *   lcore    the worker's turns are all busy
 *   link     the leg sends at its link's rate
 *   pace     the trunk sends at its configured rate
 *   window   the window is full, nothing is lost, nothing queues on the way: the round
 *            trip is too long for it
 *   ramp     the same, but the window could be larger: congestion control is still on its
 *            way up, or comes back from an earlier loss
 *   credit   the same, and the limit is what the other relay takes
 *   way      the window is full, and packets queue or get lost: the way itself is full.
 *            If that is so for several trunks at a time, they share it
 *   chance   the window is full, packets get lost and nothing queues, and cubic takes its
 *            window down for that: bbr does not
 *   demand   none of these: the processes send no more
 *
 * More trunks help against lcore, window, credit, chance, and against link and way if they have
 * links and ways of their own.  Under the policies dest and source one pair of processes
 * stays on one trunk, so there is no use for more trunks than receivers or senders.
 *
 * Of what other relays send here (rd_advise_rx) this end sees less:
 *
 *   lcore    as above: who is late reads late
 *   queue    the leg's receive queue was full, or no buffer was free, and frames were lost
 *   link     the leg receives at its link's rate
 *   room     this relay refused segments: those before are not delivered yet
 *   credit   all that may be on its way here is (arrivals a second times the round trip, by
 *            Little's law), or the peer stands in line for more
 *   way      packet numbers are missing that neither the queue nor this relay turned away
 *   sender   none of these: the other relay knows, it is asked there
 *
 * Units    nanoseconds, bytes, bits per second, packets.
 * Threads  pure. */
#ifndef RD_ADVISE_H
#define RD_ADVISE_H

#include <stdbool.h>
#include <stdint.h>

#define RD_ADVISE_TRUNKS  64
#define RD_ADVISE_WORKERS 64
#define RD_ADVISE_REASONS 8
#define RD_ADVISE_TEXT	  240

enum rd_limit {
	RD_LIMIT_DEMAND,
	RD_LIMIT_LCORE,
	RD_LIMIT_LINK,
	RD_LIMIT_PACE,
	RD_LIMIT_WINDOW,
	RD_LIMIT_RAMP,
	RD_LIMIT_CREDIT,
	RD_LIMIT_WAY,
	RD_LIMIT_CHANCE,
};
/* "lcore"; static. */
const char *rd_limit_name(enum rd_limit limit);

struct rd_advise_worker {
	uint64_t busy_ns;	       /* of duration_ns */
	uint64_t rx_frames, tx_frames; /* both legs */
};
/* All counts are of the measured time. */
struct rd_advise_trunk {
	uint32_t worker;
	uint64_t tx_bytes; /* payload bytes of segments, as sent first */
	uint64_t tx_segments, retransmits;
	uint64_t rtt_ns, rtt_min_ns;
	uint64_t pace_bps;    /* configured; 0: none */
	bool cubic;	      /* it has that congestion control */
	uint32_t mss;	      /* bytes of a full segment */
	uint32_t window_max;  /* packets it may have under way at most */
	uint32_t samples;     /* looks at it */
	uint32_t full;	      /* of them: all that may be was under way, and more waited */
	uint32_t full_window; /* of these: the window had grown to window_max */
	uint32_t full_credit; /* of these: the peer's credit was the limit */
	uint64_t queued_sum;  /* of all samples: segments that waited */
	/* What came. */
	uint64_t rx_bytes;		 /* payload bytes of segments */
	uint64_t rx_packets, rx_missing; /* numbers that came or should have; that did not */
	uint64_t rx_refused;		 /* segments, by this relay */
	uint32_t rx_credit;		 /* most packets that the peer was seen to be allowed */
	uint32_t rx_waits;		 /* of samples: the peer stood in line for more */
};
enum rd_advise_policy { RD_ADVISE_DEST, RD_ADVISE_SOURCE, RD_ADVISE_STRIPE };
struct rd_advise_input {
	uint64_t duration_ns;
	uint64_t link_bps; /* of the global leg; 0: not known */
	/* Of the global leg: frames that came, that were lost for want of a place or a buffer. */
	uint64_t rx_frames, rx_lost;
	enum rd_advise_policy policy;
	uint32_t nworkers, ntrunks;
	struct rd_advise_worker worker[RD_ADVISE_WORKERS];
	struct rd_advise_trunk trunk[RD_ADVISE_TRUNKS];
	/* Towards other clusters: pairs of processes that sent, different senders, receivers. */
	uint32_t pairs, senders, receivers;
	uint64_t pair_bytes, pair_bytes_most; /* of all of them, of the busiest */
};

struct rd_reasons {
	uint32_t n;
	char text[RD_ADVISE_REASONS][RD_ADVISE_TEXT];
};

struct rd_advice_trunk {
	enum rd_limit limit;
	bool idle;
	uint64_t rate_bps;
	uint32_t loss_ppm;
	uint64_t queue_ns;	/* round trip above its minimum */
	uint32_t busy_permille; /* of its worker */
	uint64_t could_bps;	/* estimate of what it could carry; 0: not known */
};
struct rd_advice {
	uint64_t rate_bps;	 /* over all trunks */
	uint32_t trunks, active; /* that are; that carry something */
	uint32_t useful;	 /* this traffic can use */
	bool at_least;		 /* there may be use for more: demand is not known */
	bool shared;		 /* several trunks are limited by the way at a time */
	bool by_pairs;		 /* useful would be more with another policy or more pairs */
	enum rd_limit limit;	 /* of what carries most */
	struct rd_advice_trunk trunk[RD_ADVISE_TRUNKS];
	struct rd_reasons reasons;
};

void rd_advise(const struct rd_advise_input *in, struct rd_advice *out);

/* ---- the other direction */

enum rd_rx_limit {
	RD_RX_SENDER,
	RD_RX_LCORE,
	RD_RX_QUEUE,
	RD_RX_LINK,
	RD_RX_ROOM,
	RD_RX_CREDIT,
	RD_RX_WAY,
	RD_RX_LIMITS
};
/* "lcore"; static. */
const char *rd_rx_limit_name(enum rd_rx_limit limit);

struct rd_advice_rx_trunk {
	enum rd_rx_limit limit;
	bool idle;
	uint64_t rate_bps;
	uint32_t loss_ppm;	/* on the way or in the queue: missing, and not refused */
	uint32_t under_way;	/* packets on their way here on the mean */
	uint32_t busy_permille; /* of its worker */
};
struct rd_advice_rx {
	uint64_t rate_bps;	/* over all trunks */
	uint32_t active;	/* trunks that bring something */
	uint32_t lost_ppm;	/* of the leg's frames, by its receive queue */
	enum rd_rx_limit limit; /* of what brings most */
	struct rd_advice_rx_trunk trunk[RD_ADVISE_TRUNKS];
	struct rd_reasons reasons;
};

void rd_advise_rx(const struct rd_advise_input *in, struct rd_advice_rx *out);

#endif
