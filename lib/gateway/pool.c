/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory for packets: records of one size, and payload in blocks whose sizes are
 * powers of two (a buddy allocator), so that a small packet takes little and free
 * neighbours become large blocks again.
 *
 *     packet_bytes / 2 = records (an eighth) + arena of 1 KiB blocks    for each direction
 *
 * Payload up to GW_SMALL_BYTES is in the record itself. */
#include "gateway_internal.h"

#include <string.h>

#define BLOCK_SHIFT 10u
#define FREE_HEAD   0x80u /* | order */
#define USED_HEAD   0x40u /* | order */

void
gw_pool_sizes(uint64_t packet_bytes, uint32_t *npackets, uint32_t *nblocks)
{
	uint64_t n = packet_bytes / 16 / sizeof(struct gw_packet), half = packet_bytes / 2;
	n = n < 1u << 22 ? n : 1u << 22;
	*npackets = (uint32_t)n * 2;
	*nblocks = (uint32_t)((half - n * sizeof(struct gw_packet)) >> BLOCK_SHIFT);
}

/* A free block begins with its link. */
static struct base_ilinks
block_links(const struct gw_arena *p)
{
	return (struct base_ilinks){p->base, 1u << BLOCK_SHIFT};
}

static void
push_pool(struct gw_arena *p, uint32_t block, uint32_t order)
{
	base_ichain_push(&p->free[order], block_links(p), block);
	p->nfree[order]++;
	p->state[block] = (uint8_t)(FREE_HEAD | order);
}

static void
cut_pool(struct gw_arena *p, uint32_t block, uint32_t order)
{
	base_ichain_unlink(&p->free[order], block_links(p), block);
	p->nfree[order]--;
	p->state[block] = 0;
}

static void
arena_init(struct gw_arena *p)
{
	memset(p->state, 0, p->nblocks);
	memset(p->free, 0xff, sizeof p->free);
	memset(p->nfree, 0, sizeof p->nfree);
	p->packet_free = GW_NONE;
	p->packets_used = 0;
	p->orders = 0;
	while (p->orders < 31 && p->nblocks >> p->orders)
		p->orders++;
	uint32_t at = 0;
	for (uint32_t o = p->orders; o-- > 0;)
		if (p->nblocks >> o & 1) {
			push_pool(p, at, o);
			at += 1u << o;
		}
	p->used = 0;
}

void
gw_pool_init(struct gw_pool *p, uint64_t packet_bytes)
{
	uint32_t nblocks;
	gw_pool_sizes(packet_bytes, &p->npackets, &nblocks);
	for (int d = 0; d < 2; d++) {
		struct gw_arena *a = &p->arena[d];
		a->nblocks = nblocks;
		arena_init(a);
		a->total = ((uint64_t)nblocks << BLOCK_SHIFT) +
			   (uint64_t)(p->npackets / 2) * sizeof(struct gw_packet);
	}
	for (uint32_t i = p->npackets; i-- > 0;) {
		struct gw_arena *a = &p->arena[i >= p->npackets / 2];
		p->packet[i].link.next = a->packet_free;
		p->packet[i].mem = 0;
		a->packet_free = i;
	}
}

static uint32_t
order_of(uint32_t len)
{
	uint32_t o = 0;
	while (o < 31 && (uint64_t)1 << (o + BLOCK_SHIFT) < len)
		o++;
	return o;
}

uint32_t
gw_pool_largest(const struct gw_pool *pool)
{
	const struct gw_arena *p = &pool->arena[0];
	uint64_t most = p->orders ? (uint64_t)1 << (p->orders - 1 + BLOCK_SHIFT) : GW_SMALL_BYTES;
	return most < 1u << 30 ? (uint32_t)most : 1u << 30;
}

bool
gw_pool_fits(const struct gw_pool *pool, enum gw_dir dir, uint32_t len)
{
	const struct gw_arena *p = &pool->arena[dir];
	if (p->packet_free == GW_NONE)
		return false;
	if (len <= GW_SMALL_BYTES)
		return true;
	for (uint32_t o = order_of(len); o < p->orders; o++)
		if (p->free[o].head != GW_NONE)
			return true;
	return false;
}

static uint32_t
block_take(struct gw_arena *p, uint32_t want)
{
	uint32_t o = want;
	while (o < p->orders && p->free[o].head == GW_NONE)
		o++;
	if (o >= p->orders)
		return GW_NONE;
	uint32_t block = p->free[o].head;
	cut_pool(p, block, o);
	while (o > want) {
		o--;
		push_pool(p, block + (1u << o), o);
	}
	p->state[block] = (uint8_t)(USED_HEAD | want);
	return block;
}

static void
block_give(struct gw_arena *p, uint32_t block)
{
	uint32_t o = p->state[block] & 0x1fu;
	BASE_ASSERT(p->state[block] & USED_HEAD);
	p->state[block] = 0;
	while (o + 1 < p->orders) {
		uint32_t buddy = block ^ (1u << o);
		if (buddy >= p->nblocks || p->state[buddy] != (FREE_HEAD | o))
			break;
		cut_pool(p, buddy, o);
		block &= ~(1u << o);
		o++;
	}
	push_pool(p, block, o);
}

uint32_t
gw_pool_take(struct gw_pool *pool, enum gw_dir dir, uint32_t len)
{
	struct gw_arena *p = &pool->arena[dir];
	uint32_t i = p->packet_free, block = GW_NONE;
	if (i == GW_NONE)
		return GW_NONE;
	struct gw_packet *k = &pool->packet[i];
	uint32_t mem = (uint32_t)sizeof *k;
	if (len > GW_SMALL_BYTES) {
		uint32_t o = order_of(len);
		block = block_take(p, o);
		if (block == GW_NONE)
			return GW_NONE;
		mem += 1u << (o + BLOCK_SHIFT);
	}
	p->packet_free = k->link.next;
	p->packets_used++;
	p->used += mem;
	k->link.next = k->link.prev = GW_NONE;
	k->half = k->in_chan = GW_NONE;
	k->mem = mem;
	k->len = len;
	k->sent = k->got = 0;
	k->block = block;
	k->whole = k->queued = k->bad = false;
	k->payload = block == GW_NONE ? k->small : p->base + ((size_t)block << BLOCK_SHIFT);
	return i;
}

void
gw_pool_give(struct gw_pool *pool, uint32_t packet)
{
	struct gw_arena *p = &pool->arena[packet >= pool->npackets / 2];
	struct gw_packet *k = &pool->packet[packet];
	BASE_ASSERT(k->mem && p->used >= k->mem);
	if (k->block != GW_NONE)
		block_give(p, k->block);
	p->used -= k->mem;
	p->packets_used--;
	k->mem = 0;
	k->link.next = p->packet_free;
	p->packet_free = packet;
}

static bool
arena_check(const struct gw_arena *p, const char **what)
{
	uint64_t free_blocks = 0, used_blocks = 0;
	uint32_t at = 0;
	while (at < p->nblocks) {
		uint8_t s = p->state[at];
		uint32_t o = s & 0x1fu;
		if (s & FREE_HEAD)
			free_blocks += 1u << o;
		else if (s & USED_HEAD)
			used_blocks += 1u << o;
		else
			break;
		at += 1u << o;
	}
	uint64_t listed = 0;
	for (uint32_t o = 0; o < 32; o++)
		listed += (uint64_t)p->nfree[o] << o;
	uint64_t used = (used_blocks << BLOCK_SHIFT) + p->packets_used * sizeof(struct gw_packet);
	*what = at != p->nblocks	? "the payload arena has a gap"
		: listed != free_blocks ? "free payload blocks are not all listed"
		: used != p->used	? "packet memory does not add up"
		: p->used > p->total	? "packet memory is over its bound"
					: NULL;
	return *what == NULL;
}

bool
gw_pool_check(const struct gw_pool *p, const char **what)
{
	return arena_check(&p->arena[0], what) && arena_check(&p->arena[1], what);
}
