/* SPDX-License-Identifier: BSD-2-Clause */
/* scripts.h - what Pktgen-DPDK wants beside the pcap file of a scenario: a command file (.pkt)
 * and the same in Lua, for port 0. */
#ifndef PKTGEN_SCRIPTS_H
#define PKTGEN_SCRIPTS_H

#include <stdint.h>

struct pg_gen;

struct pg_scripts {
	const char *name, *proves; /* of the scenario */
	uint64_t count, rate_pps;
	uint64_t link_mbps; /* Pktgen-DPDK takes rates in percent of the link's */
};

/* base.pcap, base.pkt, base.lua of the next count frames of g.  0, or a negative errno. */
int pg_scripts_write(const char *base, struct pg_gen *g, const struct pg_scripts *s);

#endif
