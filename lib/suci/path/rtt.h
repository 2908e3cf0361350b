/* SPDX-License-Identifier: BSD-2-Clause */
/* rtt.h - round-trip time of one path (RFC 9002 section 5), in ns.
 *
 * Pure arithmetic, one owner.  There is no floor: in a cluster a round trip
 * takes 10 us and everything derived from it has to follow. */
#ifndef SUCI_RTT_H
#define SUCI_RTT_H

#include <stdbool.h>
#include <stdint.h>

#define SUCI_RTT_INITIAL_NS 20000000ull /* before the first sample: 20 ms */
#define SUCI_RTT_GRAIN_NS   20000ull	/* clock and scheduling noise: 20 us */
#define SUCI_PTO_MAX_NS	    1000000000ull

struct suci_rtt {
	uint64_t smoothed_ns, var_ns, min_ns, latest_ns;
	bool sampled;
};

/* guess_ns: what the handshake took, 0 = unknown; nothing before the first sample is sooner
 * than that allows. */
void suci_rtt_init(struct suci_rtt *r, uint64_t guess_ns);
/* A packet was acknowledged sample_ns after it was sent; the peer says it
 * waited delay_ns of that. */
void suci_rtt_sample(struct suci_rtt *r, uint64_t sample_ns, uint64_t delay_ns);
/* How long after sending a packet older than an acknowledged one is lost:
 * (8 + extra) / 8 of the round trip, extra >= 1. */
uint64_t suci_rtt_loss_ns(const struct suci_rtt *r, uint32_t extra);
/* Probe timeout after the last sent packet, doubled per probe so far. */
uint64_t suci_rtt_pto_ns(const struct suci_rtt *r, uint64_t ack_delay_ns, uint32_t probes);

#endif
