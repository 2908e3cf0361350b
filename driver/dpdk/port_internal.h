/* SPDX-License-Identifier: BSD-2-Clause */
/* Between port.c and its test. */
#ifndef DRIVER_PORT_INTERNAL_H
#define DRIVER_PORT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rte_eth_dev_info;

/* Does its driver take packets of mtu bytes?  Else err says what it takes.  Of virtual devices
 * only what is said of MTUs counts: packet sockets, memif and TAP claim to take frames of 1514
 * bytes, and take what their other end does. */
bool rd_port_takes(const char *device, bool virtual, uint32_t mtu,
		   const struct rte_eth_dev_info *info, char *err, size_t err_max);

#endif
