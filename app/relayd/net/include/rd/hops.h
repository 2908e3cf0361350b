/* SPDX-License-Identifier: BSD-2-Clause */
/* rd/hops.h - numbers for IPv6 next hops, so that one table of neighbours (rd/neigh.h) serves both
 * kinds of address.
 *
 * A number is of class E (240.0.0.0/4), where no IPv4 host is.  It comes again after millions of
 * others, so what the table of neighbours still knows of an address that was forgotten is believed
 * of nobody else.  Only next hops of peers get one; a full set gives up
 * the one that was used longest ago.
 *
 * Units    addresses as on the wire.
 * Threads  one owner.
 * Memory   struct rd_hops of the caller, zeroed; allocates nothing. */
#ifndef RD_HOPS_H
#define RD_HOPS_H

#include <stdbool.h>
#include <stdint.h>

#define RD_HOPS_SETS 32 /* a power of two */
#define RD_HOPS_WAYS 8

struct rd_hops {
	uint64_t given; /* numbers ever, and uses ever */
	uint64_t used;
	struct rd_hop {
		uint8_t ip[16];
		uint64_t used; /* 0: free */
		uint32_t number;
	} hop[RD_HOPS_SETS][RD_HOPS_WAYS];
};

/* The number of the next hop at ip, a new one if it has none. */
uint32_t rd_hops_number(struct rd_hops *h, const uint8_t ip[16]);
/* The same for one that is never given up, unless a whole set is of such. */
uint32_t rd_hops_fix(struct rd_hops *h, const uint8_t ip[16]);
/* The number it has, or 0: what somebody says of a neighbour nobody asked for makes none. */
uint32_t rd_hops_known(const struct rd_hops *h, const uint8_t ip[16]);
/* Whose number that is; NULL: nobody's any more. */
const uint8_t *rd_hops_address(const struct rd_hops *h, uint32_t number);
static inline bool
rd_hops_is_number(uint32_t ip)
{
	return ip >> 28 == 15;
}

#endif
