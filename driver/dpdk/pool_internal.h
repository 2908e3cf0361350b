/* SPDX-License-Identifier: BSD-2-Clause */
/* Between port.c and pool.c. */
#ifndef DRIVER_POOL_INTERNAL_H
#define DRIVER_POOL_INTERNAL_H

#include <stdint.h>

struct rte_mempool;

/* A driver will keep up to kept_max mbufs of mp for good. */
void rd_pool_forgive(const struct rte_mempool *mp, uint32_t kept_max);

#endif
