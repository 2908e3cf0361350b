/* SPDX-License-Identifier: BSD-2-Clause */
/* relayproto/silence.h - is the relay at the other end of a path still there?  Only time counts in
 * which the process listened: programs compute, and hear nothing meanwhile.
 *
 * A relay that has been silent for a quarter of the limit, a second at most, is asked by a note
 * PING (relayproto/note.h), which it answers, and again as long as it says nothing.
 *
 * Units    nanoseconds.  Threads  plain functions.  Memory  the owner's, zeroed when the path is
 * up.
 */
#ifndef RELAYPROTO_SILENCE_H
#define RELAYPROTO_SILENCE_H

#include "base/clock.h"

struct relay_silence {
	uint64_t heard_ns;  /* when something came from it */
	uint64_t silent_ns; /* how long we have listened since then */
	uint64_t asked_ns;
};

enum relay_silence_is {
	RELAY_SILENCE_NONE,
	RELAY_SILENCE_ASK,  /* say PING now */
	RELAY_SILENCE_OVER, /* it counts as gone */
};

/* How often to look, at least; limit_ns 0: it never counts as gone. */
uint64_t relay_silence_every(uint64_t limit_ns);
/* last_rx_ns: of the path; gap_ns: so long has been listened since the last look. */
enum relay_silence_is relay_silence_look(struct relay_silence *s, uint64_t last_rx_ns,
					 uint64_t gap_ns, uint64_t limit_ns, uint64_t now_ns);

#endif
