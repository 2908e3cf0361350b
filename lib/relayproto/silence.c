/* SPDX-License-Identifier: BSD-2-Clause */
#include "relayproto/silence.h"

uint64_t
relay_silence_every(uint64_t limit_ns)
{
	return limit_ns ? base_min_ns(BASE_S_NS, limit_ns / 4) : BASE_S_NS;
}

enum relay_silence_is
relay_silence_look(struct relay_silence *s, uint64_t last_rx_ns, uint64_t gap_ns, uint64_t limit_ns,
		   uint64_t now_ns)
{
	uint64_t ask_ns = relay_silence_every(limit_ns);
	if (last_rx_ns != s->heard_ns) {
		s->heard_ns = last_rx_ns;
		s->silent_ns = 0;
		return RELAY_SILENCE_NONE;
	}
	s->silent_ns += gap_ns;
	if (limit_ns && s->silent_ns >= limit_ns)
		return RELAY_SILENCE_OVER;
	if (s->silent_ns < ask_ns || now_ns - s->asked_ns < ask_ns)
		return RELAY_SILENCE_NONE;
	s->asked_ns = now_ns;
	return RELAY_SILENCE_ASK;
}
