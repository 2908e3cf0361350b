/* SPDX-License-Identifier: BSD-2-Clause */
/* nap_internal.h - between port.c and nap.c. */
#ifndef RDDPDK_NAP_INTERNAL_H
#define RDDPDK_NAP_INTERNAL_H

#include "driver/port.h"

/* Fill wake_fd of a port that has been started. */
void rd_port_find_wakes(struct rd_port *p);
/* Set rx_intr of a port that has been started with interrupts configured. */
void rd_port_find_interrupts(struct rd_port *p);

#endif
