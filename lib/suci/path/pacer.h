/* SPDX-License-Identifier: BSD-2-Clause */
/* pacer.h - token bucket that spaces the datagrams of one path.
 *
 * Says when the next datagram may leave so that a path keeps its rate with a
 * bounded burst.  Pure arithmetic: reads no clock, allocates nothing, sends
 * nothing.  Rate 0 is "unpaced": everything may leave at once.
 *
 * Units    bytes; nanoseconds of the caller's monotonic clock.
 * Threads  one owner at a time.
 * Limits   rate <= SUCI_PACER_RATE_MAX, 0 < burst <= SUCI_PACER_BURST_MAX. */
#ifndef SUCI_PACER_H
#define SUCI_PACER_H

#include <stdint.h>

#define SUCI_PACER_RATE_MAX  100000000000ull /* 100 GB/s */
#define SUCI_PACER_BURST_MAX (1u << 30)

struct suci_pacer {
	uint64_t rate_bytes_per_s; /* 0 = unpaced */
	uint64_t asked;		   /* the rate without limit */
	uint64_t limit;		   /* 0 = none */
	uint32_t limit_burst;	   /* burst_min_bytes while there is a limit, if that is less */
	uint32_t burst_bytes;
	uint32_t burst_min_bytes; /* as given at init */
	uint32_t burst_ns;	  /* what this much time earns may leave at once too, so
				   * that a driver which sleeps so long keeps the rate */
	int64_t credit_bytes;	  /* <= burst_bytes; below zero after an overdraft */
	uint64_t refilled_at_ns;  /* when credit_bytes was last true */
};

/* Fill p with a full bucket at now_ns.  SUCI_ERR_INVAL leaves p untouched. */
int suci_pacer_init(struct suci_pacer *p, uint64_t rate_bytes_per_s, uint32_t burst_bytes,
		    uint64_t now_ns);
/* Change the rate, keep the credit; too high a rate is clamped. */
void suci_pacer_set_rate(struct suci_pacer *p, uint64_t rate_bytes_per_s, uint64_t now_ns);
/* Another size of the bucket, at least; it may be larger for burst_ns. */
void suci_pacer_set_burst(struct suci_pacer *p, uint32_t burst_bytes, uint64_t now_ns);
/* Never faster than that, whatever rate is set; 0: no limit.  With a limit at most
 * burst_bytes, or what burst_ns earns, leave at once. */
void suci_pacer_set_limit(struct suci_pacer *p, uint64_t limit_bytes_per_s, uint32_t burst_bytes,
			  uint64_t now_ns);
/* What the time up to now_ns has earned. */
void suci_pacer_refill(struct suci_pacer *p, uint64_t now_ns);
/* Charge len_bytes handed to the wire at now_ns; may overdraw by one datagram. */
static inline void
suci_pacer_sent(struct suci_pacer *p, uint32_t len_bytes, uint64_t now_ns)
{
	if (!p->rate_bytes_per_s)
		return;
	if (now_ns > p->refilled_at_ns)
		suci_pacer_refill(p, now_ns);
	p->credit_bytes -= len_bytes;
}
/* What is left of the burst is most_bytes at most, until more is earned. */
void suci_pacer_cap(struct suci_pacer *p, uint32_t most_bytes);
/* When the next datagram may leave: now_ns itself if there is credit. */
uint64_t suci_pacer_wait_ns(const struct suci_pacer *p, uint64_t now_ns);
static inline uint64_t
suci_pacer_next_ns(const struct suci_pacer *p, uint64_t now_ns)
{
	if (!p->rate_bytes_per_s || p->credit_bytes > 0)
		return now_ns;
	return suci_pacer_wait_ns(p, now_ns);
}

#endif
