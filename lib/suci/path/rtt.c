/* SPDX-License-Identifier: BSD-2-Clause */
#include "rtt.h"

#include "base/clock.h"

void
suci_rtt_init(struct suci_rtt *r, uint64_t guess_ns)
{
	uint64_t rtt = base_max_ns(SUCI_RTT_INITIAL_NS, guess_ns);
	*r = (struct suci_rtt){.smoothed_ns = rtt, .var_ns = rtt / 2, .latest_ns = rtt};
}

void
suci_rtt_sample(struct suci_rtt *r, uint64_t sample_ns, uint64_t delay_ns)
{
	if (!sample_ns)
		sample_ns = 1;
	r->latest_ns = sample_ns;
	if (!r->sampled) {
		r->sampled = true;
		/* Nothing to check the peer's delay against yet: keep half of the
		 * sample at least. */
		uint64_t s = delay_ns <= sample_ns / 2 ? sample_ns - delay_ns : sample_ns;
		r->min_ns = s;
		r->smoothed_ns = s;
		r->var_ns = s / 2;
		return;
	}
	/* A peer that claims too much delay cannot push below the minimum. */
	uint64_t s = sample_ns;
	if (sample_ns >= r->min_ns && sample_ns - r->min_ns >= delay_ns)
		s = sample_ns - delay_ns;
	r->min_ns = base_min_ns(r->min_ns, s);
	uint64_t off = r->smoothed_ns > s ? r->smoothed_ns - s : s - r->smoothed_ns;
	r->var_ns = (3 * r->var_ns + off) / 4;
	r->smoothed_ns = (7 * r->smoothed_ns + s) / 8;
	if (!r->smoothed_ns)
		r->smoothed_ns = 1;
}

uint64_t
suci_rtt_loss_ns(const struct suci_rtt *r, uint32_t extra)
{
	uint64_t m = base_max_ns(r->smoothed_ns, r->latest_ns);
	return base_max_ns(m / 8 * (8 + (uint64_t)extra), SUCI_RTT_GRAIN_NS);
}

uint64_t
suci_rtt_pto_ns(const struct suci_rtt *r, uint64_t ack_delay_ns, uint32_t probes)
{
	uint64_t base;
	if (r->sampled)
		base = r->smoothed_ns + base_max_ns(4 * r->var_ns, SUCI_RTT_GRAIN_NS) +
		       ack_delay_ns;
	else
		base = r->smoothed_ns > SUCI_RTT_INITIAL_NS /* a guess: half as much again */
			       ? r->smoothed_ns + r->var_ns + ack_delay_ns
			       : SUCI_RTT_INITIAL_NS + ack_delay_ns;
	uint64_t cap = base_max_ns(SUCI_PTO_MAX_NS, 2 * base);
	return probes > 20 ? cap : base_min_ns(base << probes, cap);
}
