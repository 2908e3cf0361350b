/* SPDX-License-Identifier: BSD-2-Clause */
#include "rate.h"

#include "base/clock.h"

void
suci_rate_init(struct suci_rate *r, uint64_t next_pn, uint64_t now_ns)
{
	*r = (struct suci_rate){
		.delivered_ns = now_ns,
		.first_sent_ns = now_ns,
		.first_pn = next_pn,
	};
}

void
suci_rate_sent(struct suci_rate *r, struct suci_snap *s, uint32_t in_flight, uint64_t now_ns)
{
	if (!in_flight)
		r->first_sent_ns = r->delivered_ns = now_ns;
	*s = (struct suci_snap){
		.delivered = r->delivered,
		.delivered_ns = r->delivered_ns,
		.first_sent_ns = r->first_sent_ns,
		.lost = r->lost,
		.in_flight = (in_flight + 1) & INT32_MAX,
		.idle = r->idle_pn != 0,
	};
}

void
suci_rate_acked(struct suci_rate *r, const struct suci_snap *s, uint64_t pn, uint64_t sent_ns,
		uint64_t bytes, uint64_t min_rtt_ns, uint64_t now_ns, struct suci_rate_sample *out)
{
	*out = (struct suci_rate_sample){0};
	r->delivered += bytes;
	r->delivered_ns = now_ns;
	if (r->idle_pn && pn >= r->idle_pn)
		r->idle_pn = 0;
	if (pn < r->first_pn)
		return;
	r->first_sent_ns = sent_ns;
	out->bytes = r->delivered - s->delivered;
	out->prior_delivered = s->delivered;
	out->lost = r->lost - s->lost;
	out->in_flight = s->in_flight;
	out->idle = s->idle;
	uint64_t sending = sent_ns - s->first_sent_ns, acking = now_ns - s->delivered_ns;
	uint64_t span = base_max_ns(sending, acking);
	if (!span || span < min_rtt_ns)
		return;
	__extension__ typedef unsigned __int128 wide;
	out->rate_bps = (uint64_t)((wide)out->bytes * BASE_S_NS / span);
}
