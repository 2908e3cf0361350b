/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/tcp.h - kernel TCP as the relay paper's hosts had it (Linux 2.6.23), to show what
 * they saw: flows of messages between two ports, reliable, with retransmission timeouts of
 * 200 ms at least.
 *
 *   window     slow start from 3 segments and congestion avoidance (RFC 5681, RFC 3390), begun anew
 *              after an idle time of one timeout (RFC 2861), at most the socket's buffer
 *   recovery   SACK (RFC 6675): a segment with three acknowledged later ones is lost; what is
 *              lost again waits for the timeout
 *   timeout    srtt + 4 var, at least 200 ms, doubled each time (RFC 6298, Linux's floor)
 *
 * Every segment is acknowledged (no delayed acks), which is kinder than the kernel was.  A
 * message begins a segment of its own (TCP_NODELAY). */
#ifndef SIM_TCP_H
#define SIM_TCP_H

#include "sim.h"

#define TCP_MSS 1448u

#define TCP_RTO_MIN_NS (200 * BASE_MS_NS)
#define TCP_BUFFER     (2500u << 10) /* socket buffers of the paper: 2.5 MB */

struct tcp_net;

struct tcp_net_conf {
	uint32_t nodes;
	/* A message is whole at its receiver; acknowledged at its sender. */
	void (*on_placed)(void *user, uint32_t src, uint32_t dst);
	void (*on_done)(void *user, uint32_t src, uint32_t dst);
	void *user;
};

/* Node i is the port of network at ipv4 + i; the caller wires them.  The overhead of
 * its links is that of UDP: a segment is given 12 bytes more, timestamps its 12. */
struct tcp_net *tcp_net_new(struct sim *s, const struct tcp_net_conf *conf, uint32_t network,
			    uint32_t ipv4);
void tcp_net_free(struct tcp_net *t);
uint32_t tcp_port(const struct tcp_net *t, uint32_t node);
void tcp_send(struct tcp_net *t, uint32_t src, uint32_t dst, uint64_t bytes);
struct tcp_counters {
	uint64_t timeouts, recoveries, retransmits, segments;
};
struct tcp_counters tcp_counters(const struct tcp_net *t);

#endif
