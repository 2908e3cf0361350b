/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

#include "driver/pool.h"
#include "pool_internal.h"

#define MIB	  (1024u * 1024u)
#define PAGE	  4096u
#define POOLS_MAX 16
/* EAL's own structures, driver queues, telemetry; and the share a heap cannot use. */
#define EAL_OWN_BYTES (24u * MIB)

/* Without hugepages DPDK lets no buffer cross a 4 KB page, which wastes the rest of
 * each page; counted always, so that a plan fits either way. */
static uint64_t
element_bytes(size_t payload)
{
	uint64_t each = payload + sizeof(struct rte_mempool_objhdr) + RTE_CACHE_LINE_SIZE;
	if (each > PAGE)
		return (each + PAGE - 1) / PAGE * PAGE;
	return PAGE / (PAGE / each);
}

/* What drivers are known not to give back, per pool.  Control thread only. */
static struct {
	const struct rte_mempool *mp;
	uint32_t kept_max;
} forgiven[POOLS_MAX];

void
rd_pool_forgive(const struct rte_mempool *mp, uint32_t kept_max)
{
	for (unsigned i = 0; i < POOLS_MAX; i++)
		if (!forgiven[i].mp || forgiven[i].mp == mp) {
			forgiven[i].mp = mp;
			forgiven[i].kept_max += kept_max;
			return;
		}
}

static uint32_t
take_forgiven(const struct rte_mempool *mp)
{
	for (unsigned i = 0; i < POOLS_MAX; i++)
		if (forgiven[i].mp == mp) {
			uint32_t n = forgiven[i].kept_max;
			forgiven[i].mp = NULL;
			forgiven[i].kept_max = 0;
			return n;
		}
	return 0;
}

struct rd_pool_plan
rd_pool_plan(uint16_t mtu, uint32_t ring_slots, uint32_t held, uint32_t lcores)
{
	/* Two bursts per lcore are in the hands of the loop, one received and one released, 1.5 x
	 * the cache behind them. */
	uint64_t count =
		(uint64_t)ring_slots + held + (uint64_t)lcores * (RD_POOL_CACHE * 3 / 2 + 2 * 64);
	if (count > UINT32_MAX / 2)
		count = UINT32_MAX / 2;
	/* af_packet asks for room for its whole ring frame, so go one size up. */
	uint32_t room = mtu <= 1900 ? 2048u : mtu <= 9100 ? 10240u : 16384u;
	if (room < mtu + 64u)
		room = (mtu + 64u + 63u) & ~63u;
	room += RTE_PKTMBUF_HEADROOM;
	if (room > UINT16_MAX)
		room = UINT16_MAX;
	uint64_t each = element_bytes(sizeof(struct rte_mbuf) + room);
	return (struct rd_pool_plan){
		.count = (uint32_t)count,
		.room_bytes = (uint16_t)room,
		/* 8 bytes a slot, twice, is the ring behind the pool at a power of two. */
		.bytes = count * (each + 16) + MIB,
	};
}

/* rte_pktmbuf_pool_create() keeps every object within one page, for devices that
 * see physical addresses.  net_af_xdp instead takes the pool for one dense array
 * (its umem is count * object size long), and with 4 KiB pages the gaps put most
 * objects behind its end: they can be neither sent nor received into.  Where IO
 * addresses are virtual, or all ports are software, no object needs a page of its own. */
static struct rte_mempool *
create_pool(const char *name, const struct rd_pool_plan *plan, int socket)
{
	bool dense = !rte_eal_has_hugepages() || rte_eal_iova_mode() == RTE_IOVA_VA;
	struct rte_pktmbuf_pool_private priv = {.mbuf_data_room_size = plan->room_bytes};
	struct rte_mempool *mp = rte_mempool_create_empty(
		name, plan->count, (unsigned)sizeof(struct rte_mbuf) + plan->room_bytes,
		RD_POOL_CACHE, sizeof priv, socket, dense ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0);
	if (!mp)
		return NULL;
	int r = rte_mempool_set_ops_byname(mp, rte_mbuf_best_mempool_ops(), NULL);
	if (r == 0) {
		rte_pktmbuf_pool_init(mp, &priv);
		r = rte_mempool_populate_default(mp);
	}
	if (r < 0) {
		rte_mempool_free(mp);
		rte_errno = -r;
		return NULL;
	}
	rte_mempool_obj_iter(mp, rte_pktmbuf_init, NULL);
	return mp;
}

int
rd_pool_create(struct rte_mempool **out, const char *name, const struct rd_pool_plan *plan,
	       int socket, char *err, size_t err_max)
{
	struct rte_mempool *mp = create_pool(name, plan, socket);
	if (!mp) {
		int e = rte_errno ? rte_errno : ENOMEM;
		snprintf(err, err_max,
			 "pool %s: %u mbufs of %u bytes (%llu MB) do not fit: %s; give more memory "
			 "(mem_mb, hugepages) or hold fewer frames",
			 name, plan->count, plan->room_bytes,
			 (unsigned long long)(plan->bytes / MIB), rte_strerror(e));
		return -e;
	}
	*out = mp;
	return 0;
}

uint32_t
rd_pool_in_use(const struct rte_mempool *mp)
{
	return mp ? rte_mempool_in_use_count(mp) : 0;
}

uint32_t
rd_pool_end(struct rte_mempool *mp)
{
	if (!mp)
		return 0;
	uint32_t left = rd_pool_in_use(mp), kept = take_forgiven(mp);
	return left > kept ? left - kept : 0;
}

uint32_t
rd_pool_free(struct rte_mempool *mp)
{
	uint32_t left = rd_pool_end(mp);
	rte_mempool_free(mp);
	return left;
}

uint32_t
rd_pool_mem_mb(uint64_t pool_bytes)
{
	uint64_t bytes = pool_bytes + pool_bytes / 16 + EAL_OWN_BYTES;
	return (uint32_t)((bytes + MIB - 1) / MIB);
}
