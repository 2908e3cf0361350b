/* SPDX-License-Identifier: BSD-2-Clause */
#include "pacer.h"

#include "suci/endpoint.h"

#define S_NS 1000000000ull

int
suci_pacer_init(struct suci_pacer *p, uint64_t rate_bytes_per_s, uint32_t burst_bytes,
		uint64_t now_ns)
{
	if (rate_bytes_per_s > SUCI_PACER_RATE_MAX || !burst_bytes ||
	    burst_bytes > SUCI_PACER_BURST_MAX)
		return SUCI_ERR_INVAL;
	*p = (struct suci_pacer){
		.rate_bytes_per_s = rate_bytes_per_s,
		.asked = rate_bytes_per_s,
		.burst_bytes = burst_bytes,
		.burst_min_bytes = burst_bytes,
		.credit_bytes = burst_bytes,
		.refilled_at_ns = now_ns,
	};
	return SUCI_ERR_OK;
}

/* Whole bytes earned since refilled_at_ns, not more than what fills the
 * bucket; *used_ns is the time they took.  What rounding loses is less than a
 * byte: of a slow path the time since the last whole byte is kept, of a fast
 * one a nanosecond is worth several bytes and the fraction is dropped. */
static int64_t
earned(const struct suci_pacer *p, uint64_t now_ns, uint64_t *used_ns)
{
	uint64_t dt = now_ns > p->refilled_at_ns ? now_ns - p->refilled_at_ns : 0;
	uint64_t room = (uint64_t)((int64_t)p->burst_bytes - p->credit_bytes);
	*used_ns = dt;
	/* Longer than a second of idling, or than the bucket needs: full. */
	if (dt >= S_NS && p->rate_bytes_per_s >= room)
		return (int64_t)room;
	__extension__ typedef unsigned __int128 wide;
	wide bytes = (wide)dt * p->rate_bytes_per_s / S_NS;
	if (bytes >= room)
		return (int64_t)room;
	if (p->rate_bytes_per_s < S_NS)
		*used_ns =
			(uint64_t)((bytes * S_NS + p->rate_bytes_per_s - 1) / p->rate_bytes_per_s);
	return (int64_t)bytes;
}

void
suci_pacer_refill(struct suci_pacer *p, uint64_t now_ns)
{
	uint64_t used_ns;
	if (!p->rate_bytes_per_s || now_ns <= p->refilled_at_ns)
		return;
	p->credit_bytes += earned(p, now_ns, &used_ns);
	p->refilled_at_ns += used_ns;
}

static void
size_bucket(struct suci_pacer *p)
{
	__extension__ typedef unsigned __int128 wide;
	wide burst = (wide)p->rate_bytes_per_s * p->burst_ns / S_NS;
	if (burst > SUCI_PACER_BURST_MAX)
		burst = SUCI_PACER_BURST_MAX;
	uint32_t least = p->limit && p->limit_burst < p->burst_min_bytes ? p->limit_burst
									 : p->burst_min_bytes;
	p->burst_bytes = burst > least ? (uint32_t)burst : least;
	if (p->credit_bytes > (int64_t)p->burst_bytes)
		p->credit_bytes = p->burst_bytes;
}

static void
apply_pacer(struct suci_pacer *p, uint64_t rate_bytes_per_s, uint64_t now_ns)
{
	if (rate_bytes_per_s > SUCI_PACER_RATE_MAX)
		rate_bytes_per_s = SUCI_PACER_RATE_MAX;
	if (p->limit && (!rate_bytes_per_s || rate_bytes_per_s > p->limit))
		rate_bytes_per_s = p->limit;
	if (rate_bytes_per_s == p->rate_bytes_per_s)
		return;
	if (p->rate_bytes_per_s) {
		suci_pacer_refill(p, now_ns);
	} else {
		p->credit_bytes = p->burst_bytes;
		p->refilled_at_ns = now_ns;
	}
	p->rate_bytes_per_s = rate_bytes_per_s;
	size_bucket(p);
}

void
suci_pacer_set_burst(struct suci_pacer *p, uint32_t burst_bytes, uint64_t now_ns)
{
	suci_pacer_refill(p, now_ns);
	p->burst_min_bytes = burst_bytes;
	size_bucket(p);
}

void
suci_pacer_set_rate(struct suci_pacer *p, uint64_t rate_bytes_per_s, uint64_t now_ns)
{
	p->asked = rate_bytes_per_s;
	apply_pacer(p, rate_bytes_per_s, now_ns);
}

void
suci_pacer_set_limit(struct suci_pacer *p, uint64_t limit_bytes_per_s, uint32_t burst_bytes,
		     uint64_t now_ns)
{
	p->limit =
		limit_bytes_per_s < SUCI_PACER_RATE_MAX ? limit_bytes_per_s : SUCI_PACER_RATE_MAX;
	p->limit_burst = burst_bytes;
	apply_pacer(p, p->asked, now_ns);
}

void
suci_pacer_cap(struct suci_pacer *p, uint32_t most_bytes)
{
	if (p->credit_bytes > (int64_t)most_bytes)
		p->credit_bytes = most_bytes;
}

uint64_t
suci_pacer_wait_ns(const struct suci_pacer *p, uint64_t now_ns)
{
	uint64_t need = (uint64_t)(1 - p->credit_bytes);
	__extension__ typedef unsigned __int128 wide;
	uint64_t wait =
		(uint64_t)(((wide)need * S_NS + p->rate_bytes_per_s - 1) / p->rate_bytes_per_s);
	uint64_t at = p->refilled_at_ns + wait;
	return at > now_ns ? at : now_ns;
}
