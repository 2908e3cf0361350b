/* SPDX-License-Identifier: BSD-2-Clause */
/* play.h - sends the frames of a scenario through one DPDK port.
 *
 * Paced by the clock: at rate_pps, in bursts of at most PG_BURST.  A sender that was
 * stopped (its CPU was busy elsewhere) goes on at the rate; it does not catch up by a
 * burst that would overrun the receiver. */
#ifndef PKTGEN_PLAY_H
#define PKTGEN_PLAY_H

#include "driver/port.h"

#include <signal.h>
#include <stdint.h>

struct pg_gen;

#define PG_BURST 32

struct pg_play {
	const char *prog;   /* argv[0] */
	const char *device; /* as in driver/port.h */
	enum rd_pmd pmd;
	const char *lcores;	 /* NULL: one on the first CPU allowed */
	const char *file_prefix; /* NULL: by process id */
	uint16_t mtu;		 /* of relayd's leg; frames may be PG_OVER_MAX larger */
	uint64_t count, rate_pps;
	const volatile sig_atomic_t *stop;
};

/* 0: all count frames were taken by the port and all buffers came back.  Else -1 after
 * a message on stderr.  Starts and ends EAL: once per process. */
int pg_play(const struct pg_play *p, struct pg_gen *g);

#endif
