/* SPDX-License-Identifier: BSD-2-Clause */
/* rd/flows.h - what the own kernel began over a leg's TAP, so that the answers may come in.
 *
 * A relay lets nothing reach the kernel but what comes to open ports and what belongs to a
 * conversation of the kernel's own.  Only frames that the kernel sent make entries, so nobody
 * outside can fill the table or put something into it; a full set gives up the entry that was
 * noted longest ago.
 *
 * UDP and ICMP are let in for RD_FLOW_SHORT_NS after what was sent last, TCP for
 * RD_FLOW_LONG_NS.
 *
 * Units    ns; addresses and ports in host order.
 * Threads  one owner.
 * Memory   struct rd_flows of the caller, zeroed; allocates nothing. */
#ifndef RD_FLOWS_H
#define RD_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#define RD_FLOW_SETS	 256 /* a power of two */
#define RD_FLOW_WAYS	 8
#define RD_FLOW_SHORT_NS (60ull * 1000000000)
#define RD_FLOW_LONG_NS	 (3 * 3600ull * 1000000000) /* longer than keepalives of 2 h */

struct rd_flow {
	uint32_t remote;		  /* IPv4 address, or the last 32 bits of an IPv6 one */
	uint16_t local_port, remote_port; /* ICMP: the identifier, 0 */
	uint32_t protocol;		  /* without padding: flows are compared as bytes */
	uint32_t above[3];		  /* the rest of an IPv6 address; IPv4: 0 */
};

struct rd_flows {
	struct rd_flow_entry {
		uint64_t noted_ns; /* 0: free */
		struct rd_flow flow;
	} entry[RD_FLOW_SETS][RD_FLOW_WAYS];
};

/* The kernel sent something of f. */
void rd_flows_note(struct rd_flows *t, const struct rd_flow *f, uint64_t now_ns);
/* May something of f come in? */
bool rd_flows_knows(const struct rd_flows *t, const struct rd_flow *f, uint64_t now_ns);

#endif
