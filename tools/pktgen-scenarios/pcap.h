/* SPDX-License-Identifier: BSD-2-Clause */
/* pcap.h - a classic pcap file (link type Ethernet, microseconds) of a scenario, for
 * tcpreplay, Pktgen-DPDK, Wireshark.  Frame i has the time i / rate_pps. */
#ifndef PKTGEN_PCAP_H
#define PKTGEN_PCAP_H

#include <stdint.h>

struct pg_gen;

/* The next count frames of g.  0, or a negative errno; a file half written is removed. */
int pg_pcap_write(const char *path, struct pg_gen *g, uint64_t count, uint64_t rate_pps);

#endif
