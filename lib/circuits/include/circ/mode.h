/* SPDX-License-Identifier: BSD-2-Clause */
/* circ/mode.h - how a collective call uses circuits; the same numbers on the wire (light/note.h),
 * in configurations and in plans.
 *
 *   auto       whoever plans the call chooses one of the others, or packets alone
 *   naive      a circuit for every message, when it is due; nothing is kept
 *   batched    as many circuits at a time as a node has ports
 *   pipelined  a port is re-aimed the moment the last message of its circuit is over
 *   cached     pipelined, and what is open from earlier calls is used and kept
 *   hybrid     cached, and messages that are sooner there by packets go by packets
 *
 * Threads  plain functions. */
#ifndef CIRC_MODE_H
#define CIRC_MODE_H

#include <stdbool.h>
#include <stdint.h>

#define CIRC_MODES(X)                \
	X(AUTO, 0, "auto")           \
	X(NAIVE, 1, "naive")         \
	X(BATCHED, 2, "batched")     \
	X(PIPELINED, 3, "pipelined") \
	X(CACHED, 4, "cached")       \
	X(HYBRID, 5, "hybrid")
enum circ_mode {
#define X(n, v, t) CIRC_MODE_##n = v,
	CIRC_MODES(X)
#undef X
		CIRC_MODE_COUNT
};
/* "auto", ...; NULL: there is no such. */
const char *circ_mode_name(uint32_t mode);
/* The mode of that name, or CIRC_MODE_COUNT. */
enum circ_mode circ_mode_of(const char *name);
/* Ports are re-aimed by batches, else one by one. */
bool circ_mode_batches(enum circ_mode m);
/* What is open from earlier calls is used, and stays for later ones. */
bool circ_mode_keeps(enum circ_mode m);

#endif
