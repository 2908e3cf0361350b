/* SPDX-License-Identifier: BSD-2-Clause */
/* Between port.c, sort.c and their test. */
#ifndef DRIVER_SORT_INTERNAL_H
#define DRIVER_SORT_INTERNAL_H

#include "driver/port.h"

#include <stdbool.h>
#include <stdint.h>

#define RD_SORT_KEY_MAX 64

struct rte_eth_dev_info;

/* A Toeplitz key under which the lowest 4 bits of the hash of an IPv4 UDP datagram (RSS type
 * non-fragmented IPv4 UDP) are the lowest 4 of its destination port, backwards, and depend on
 * nothing else.  So neither peers nor their ports matter, and 16 workers can be told apart.
 * Of IPv6 they are the same, if bits 92 to 95 of the source's address are 0, as those of hosts are
 * that were numbered by hand; else those bits are added, and all datagrams of that source are
 * moved alike.  A key for both kinds cannot do without: what sees the port of one sees that. */
void rd_sort_key(uint8_t key[RD_SORT_KEY_MAX]);
/* The queue for such a hash, of ports first .. first + ports - 1, ports <= 16; 0 for others. */
uint16_t rd_sort_queue(uint32_t hash, uint16_t first, uint16_t ports, uint16_t queues);
/* Can this device hash like that?  The kinds of datagrams that it can, 0: none; IPv4 is one. */
uint64_t rd_sort_rss_offered(const struct rte_eth_dev_info *info);
/* The port is started; rss: the kinds of datagrams it hashes with our key, 0: none.  Sets p->sort
 * and what is beside it. */
void rd_sort_start(struct rd_port *p, const struct rd_port_conf *c, uint64_t rss,
		   uint16_t reta_size);

#endif
