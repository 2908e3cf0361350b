/* SPDX-License-Identifier: BSD-2-Clause */
/* blast.h - frames of one size from side 0 to side 1 through something that passes them
 * on by itself: a wire, testpmd's macswap, a kernel that routes.  What a relay is measured
 * against (test/bench/relay.sh).
 * Threads  one. */
#ifndef PKTGEN_BLAST_H
#define PKTGEN_BLAST_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct pg_blast_args {
	const char *prog, *lab;
	uint32_t bytes;	   /* UDP payload, 64 .. 9000 */
	uint64_t rate_pps; /* 0: as fast as the port takes them */
	uint32_t seconds_ms;
	bool turns;  /* in turns (turns.h) instead of for seconds_ms */
	bool router; /* what is in between answers ARP, and has to */
	const volatile sig_atomic_t *stop;
};

/* One line of JSON on stdout: Mpps, lost, latency.  Exit status. */
int pg_blast_main(const struct pg_blast_args *a);

#endif
