/* SPDX-License-Identifier: BSD-2-Clause */
#include "rd/hops.h"

#include "base/bytes.h"

#include <stddef.h>
#include <string.h>

#define CLASS_E (15u << 28)

static uint32_t
set_of_hop(const uint8_t ip[16])
{
	uint32_t x = be32_load(ip) ^ be32_load(ip + 4) ^ be32_load(ip + 8) ^ be32_load(ip + 12);
	return x * 0x9e3779b1u >> 27 & (RD_HOPS_SETS - 1);
}

/* A number has its set in its lowest bits: whose it is is found there. */
static uint32_t
next_number(struct rd_hops *h, uint32_t set)
{
	uint64_t n = h->given++ * RD_HOPS_SETS + set;
	return CLASS_E | (uint32_t)(n % (CLASS_E >> 4));
}

static const struct rd_hop *
find_hop(const struct rd_hops *h, uint32_t set, const uint8_t ip[16])
{
	for (uint32_t i = 0; i < RD_HOPS_WAYS; i++) {
		const struct rd_hop *p = &h->hop[set][i];
		if (p->used && memcmp(p->ip, ip, sizeof p->ip) == 0)
			return p;
	}
	return NULL;
}

uint32_t
rd_hops_known(const struct rd_hops *h, const uint8_t ip[16])
{
	const struct rd_hop *p = find_hop(h, set_of_hop(ip), ip);
	return p ? p->number : 0;
}

uint32_t
rd_hops_number(struct rd_hops *h, const uint8_t ip[16])
{
	uint32_t set = set_of_hop(ip);
	const struct rd_hop *known = find_hop(h, set, ip);
	struct rd_hop *p = h->hop[set];
	if (known) {
		p += known - p;
		if (p->used != UINT64_MAX)
			p->used = ++h->used;
		return p->number;
	}
	for (uint32_t i = 1; i < RD_HOPS_WAYS; i++)
		p = h->hop[set][i].used < p->used ? &h->hop[set][i] : p;
	memcpy(p->ip, ip, sizeof p->ip);
	p->used = ++h->used;
	p->number = next_number(h, set);
	return p->number;
}

uint32_t
rd_hops_fix(struct rd_hops *h, const uint8_t ip[16])
{
	uint32_t number = rd_hops_number(h, ip), set = set_of_hop(ip);
	for (uint32_t i = 0; i < RD_HOPS_WAYS; i++)
		if (h->hop[set][i].number == number)
			h->hop[set][i].used = UINT64_MAX;
	return number;
}

const uint8_t *
rd_hops_address(const struct rd_hops *h, uint32_t number)
{
	uint32_t set = number & (RD_HOPS_SETS - 1);
	for (uint32_t i = 0; i < RD_HOPS_WAYS; i++)
		if (h->hop[set][i].used && h->hop[set][i].number == number)
			return h->hop[set][i].ip;
	return NULL;
}
