/* SPDX-License-Identifier: BSD-2-Clause */
/* How many datagrams a run has; and whether a number from the store is still as good as the
 * default (tune/watch.h): turns of both beside each other, by what the kernel took. */
#include "udp_internal.h"

#include "base/clock.h"

#include <stdlib.h>

#define TURN_NS	   (15 * BASE_MS_NS)
#define TURN_LEAST 128u /* datagrams: fewer are no load, and no measurement */

static void
apply_run(struct suci_udp *u, uint32_t datagrams)
{
	uint32_t most = datagrams ? datagrams : RUN_SEGMENTS, fit = RUN_BYTES_MAX / u->mtu;

	u->run_most = most < RUN_SEGMENTS_MAX ? most : RUN_SEGMENTS_MAX;
	fit = fit < u->run_most ? fit : u->run_most;
	u->tx_most = TX_BATCH - TX_BATCH % fit;
}

void
suci_udp_set_run(struct suci_udp *u, uint32_t datagrams)
{
	free(u->watch);
	u->watch = NULL;
	apply_run(u, datagrams);
}

uint32_t
suci_udp_get_run(const struct suci_udp *u)
{
	return u->run_most;
}

static void
next_turn(struct suci_udp *u, uint64_t now_ns)
{
	struct udp_run_watch *w = u->watch;

	apply_run(u, tune_watch_stored(&w->watch) ? w->stored : RUN_SEGMENTS);
	w->since_ns = now_ns;
	w->until_ns = now_ns + TURN_NS;
	w->datagrams = u->count.tx_datagrams;
	w->again = u->count.tx_again;
}

void
suci_udp_watch_run(struct suci_udp *u, uint32_t stored)
{
	suci_udp_set_run(u, stored);
	if (u->run_most == RUN_SEGMENTS)
		return;
	u->watch = calloc(1, sizeof *u->watch);
	if (!u->watch) {
		apply_run(u, RUN_SEGMENTS);
		return;
	}
	u->watch->stored = u->run_most;
	tune_watch_start(&u->watch->watch, 0);
}

void
suci_udp_run_turn(struct suci_udp *u, uint64_t now_ns)
{
	struct udp_run_watch *w = u->watch;
	uint64_t sent = u->count.tx_datagrams - w->datagrams, took = now_ns - w->since_ns;

	/* The first look, or the program was elsewhere: not what the turn was about. */
	if (w->until_ns && took < 2 * TURN_NS && sent >= TURN_LEAST)
		tune_watch_tell(&w->watch, sent, took, (uint32_t)(u->count.tx_again - w->again),
				now_ns);
	if (w->watch.trust == TUNE_STALE) {
		u->count.run_stale++;
		suci_udp_set_run(u, 0);
		return;
	}
	next_turn(u, now_ns);
}
