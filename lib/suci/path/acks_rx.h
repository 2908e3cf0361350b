/* SPDX-License-Identifier: BSD-2-Clause */
/* acks_rx.h - which packet numbers of one path have arrived, and the ack
 * block that says so.
 *
 * Numbers are kept as ranges, newest first.  A number is never used twice, so
 * holes stay holes; the oldest ranges are forgotten when there are too many,
 * and what lies below them counts as old.  A range that was reported
 * SUCI_ACKS_REPORTS times is left out of later ack blocks.
 *
 * Numbers that arrived and were refused are noted apart and reported
 * SUCI_REFUSED_REPORTS times.  When there are too many at once the newest are not
 * noted: to their sender they are lost.
 *
 * How many numbers below the largest did not come, or were refused, is counted over the
 * whole life of the path: what is late is taken off, what is below the ranges stays.
 *
 * Pure bookkeeping, one owner; times are arguments. */
#ifndef SUCI_ACKS_RX_H
#define SUCI_ACKS_RX_H

#include "wire_internal.h"

#include "base/serial.h"

#include <stdbool.h>
#include <stdint.h>

#define SUCI_REORDER_PACKETS 3
#define SUCI_ACKS_RANGES     32
#define SUCI_ACKS_REPORTS    8
#define SUCI_REFUSED_REPORTS 2 /* the first of them may be lost */

struct suci_acks {
	struct suci_pn_range range[SUCI_ACKS_RANGES];
	uint8_t reports[SUCI_ACKS_RANGES];
	uint8_t n, nrefused;
	uint8_t refused_reports[SUCI_ACK_REFUSED_MAX];
	struct suci_pn_range refused[SUCI_ACK_REFUSED_MAX];
	uint32_t floor;		  /* everything before it is old */
	uint32_t largest_time_us; /* sender's clock in packet range[0].hi */
	uint32_t missing;	  /* modulo 2^32 */
	uint64_t largest_at_ns;	  /* when that packet arrived */
};

enum suci_acks_seen { SUCI_ACKS_NEW, SUCI_ACKS_DUPLICATE, SUCI_ACKS_OLD };

/* first: the packet number the peer starts with. */
void suci_acks_init(struct suci_acks *a, uint32_t first);
enum suci_acks_seen suci_acks_search(const struct suci_acks *a, uint32_t pn);
static inline enum suci_acks_seen
suci_acks_look(const struct suci_acks *a, uint32_t pn)
{
	if (a->n && serial_gt(pn, a->range[0].hi))
		return SUCI_ACKS_NEW;
	return suci_acks_search(a, pn);
}
/* Note pn, for which suci_acks_look() said NEW.  True if it arrived out of
 * order: not the one after the largest so far. */
bool suci_acks_insert(struct suci_acks *a, uint32_t pn, uint32_t time_us, uint64_t now_ns);
static inline bool
suci_acks_add(struct suci_acks *a, uint32_t pn, uint32_t time_us, uint64_t now_ns)
{
	if (!a->n || pn != a->range[0].hi + 1)
		return suci_acks_insert(a, pn, time_us, now_ns);
	a->range[0].hi = pn; /* nearly always */
	a->reports[0] = 0;
	a->largest_time_us = time_us;
	a->largest_at_ns = now_ns;
	return false;
}
/* Is pn, added last, so far above a new hole that a sender with the usual threshold
 * (SUCI_REORDER_PACKETS, RFC 9002 section 6.1.1) holds what is missing for lost? */
static inline bool
suci_acks_ripe(const struct suci_acks *a, uint32_t pn)
{
	return pn - a->range[0].lo == SUCI_REORDER_PACKETS - 1 && a->range[0].hi == pn &&
	       (a->n > 1 || a->range[0].lo != a->floor);
}
/* Note pn, which was refused. */
void suci_acks_refuse(struct suci_acks *a, uint32_t pn);
/* Ranges beside the newest that are still to be reported, at most
 * SUCI_ACK_RANGES_MAX. */
uint32_t suci_acks_more(const struct suci_acks *a);
/* Fill an ack block (something must have been added or refused) and count the
 * report. */
void suci_acks_build(struct suci_acks *a, uint16_t credit, uint64_t now_ns, struct suci_ack *out);

#endif
