/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/pool.h - mbuf pools whose size is computed and checked.
 *
 * Every mbuf is in a pool, a ring, a cache or in flight; a pool that is too
 * small for their sum starves receive silently.  The caller adds up what may be
 * held, rd_pool_plan turns that into counts and bytes to print and to compare
 * with the memory EAL has.
 *
 * Threads  create and free by the control thread; alloc/free by any lcore
 *          (each lcore has a cache of its own). */
#ifndef DRIVER_POOL_H
#define DRIVER_POOL_H

#include <stddef.h>
#include <stdint.h>

struct rte_mempool;

#define RD_POOL_CACHE 256 /* mbufs an lcore's cache may hold back (x 1.5) */

/* Buffers that one af_xdp queue keeps in the kernel, whatever ring size was asked:
 * its fill and its completion ring.  Add them to ring_slots. */
#define RD_AF_XDP_SLOTS 4096

struct rd_pool_plan {
	uint32_t count;	     /* mbufs */
	uint16_t room_bytes; /* data room of each, headroom included */
	uint64_t bytes;	     /* memory the pool takes, overheads included */
};

/* mtu: largest L2 payload received.  ring_slots: descriptors that may hold mbufs
 * (rx rings + tx rings of all ports).  held: what the program itself may hold
 * (queues, retransmission).  lcores: threads that use the pool. */
struct rd_pool_plan rd_pool_plan(uint16_t mtu, uint32_t ring_slots, uint32_t held, uint32_t lcores);

/* -ENOMEM with the numbers and what to change in err. */
int rd_pool_create(struct rte_mempool **out, const char *name, const struct rd_pool_plan *plan,
		   int socket, char *err, size_t err_max);

/* mbufs not back yet. */
uint32_t rd_pool_in_use(const struct rte_mempool *mp);

/* Free the pool; returns how many mbufs had not come back (0 = clean).  Close the
 * ports first: drivers give their ring's mbufs back on close.  One does not:
 * net_af_xdp of DPDK 22.11 forgets what lies in its kernel rings; as many as these can
 * hold (RD_AF_XDP_SLOTS a queue) are not counted.  NULL is fine. */
uint32_t rd_pool_free(struct rte_mempool *mp);

/* The same without giving the memory back, for a process that ends: DPDK writes zeros over all that
 * is freed. */
uint32_t rd_pool_end(struct rte_mempool *mp);

/* mem_mb for rd_eal_opts that fits pools of pool_bytes plus EAL's own needs. */
uint32_t rd_pool_mem_mb(uint64_t pool_bytes);

#endif
