/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/reno.h - a competitor that is not Suci: one flow with the window of TCP Reno
 * (RFC 5681), always with data to send.
 *
 * Slow start, one packet more per window after it, half the window at most once per
 * window when three later packets were acknowledged, one packet after a time-out.  Every
 * packet is acknowledged by its number; what is lost is not sent again, as only the
 * share of the link matters.
 *
 * Its host takes a random time for a packet, up to jitter_ns: without it, in a world of
 * exact times, the same flow is always the one that meets the full queue (phase effects:
 * Floyd and Jacobson, "On traffic phase effects in packet-switched gateways", 1992). */
#ifndef SIM_RENO_H
#define SIM_RENO_H

#include "sim.h"

#define RENO_PACKETS (1u << 16) /* remembered: more than ever in flight */

struct reno {
	struct sim *s;
	uint32_t port, sink;
	uint32_t bytes; /* UDP payload of a packet */
	bool running;
	double cwnd, ssthresh; /* packets */
	uint32_t next, oldest, in_flight;
	uint32_t recover; /* losses before it belong to the last reduction */
	uint64_t jitter_ns, free_at_ns;
	struct base_prng prng;
	uint64_t srtt_ns;
	uint64_t acked_ns;
	uint64_t sent_ns[RENO_PACKETS];
	uint8_t state[RENO_PACKETS]; /* 0: not in flight; 1: in flight */
	uint64_t received;	     /* packets at the sink */
	uint64_t reductions, timeouts;
};

/* Two ports of network, at addresses ipv4 and ipv4 + 1; the caller wires them. */
struct reno *reno_new(struct sim *s, uint32_t network, uint32_t ipv4, uint32_t bytes,
		      uint64_t jitter_ns);
void reno_start(struct reno *r);
void reno_stop(struct reno *r);
void reno_free(struct reno *r);

#endif
