/* SPDX-License-Identifier: BSD-2-Clause */
/* check.h - what the machine lacks for a configuration, and the command that fixes
 * each.  Looks only: changes nothing, so --check can run beside a running relay
 * and the start runs the very same checks first. */
#ifndef RD_CHECK_H
#define RD_CHECK_H

#include "rd/conf.h"

/* The address behind the name in impi.server: of IPv4, or with ports.global.ipv6 of IPv6, too.  0,
 * or a number of gai_strerror(). */
int rd_server_look_up(const struct rd_conf *conf, struct suci_addr *out);

/* mem_mb: what pools and tables need (rd_plan_mem_mb).  Adds faults, pointer =
 * the key concerned, line 0. */
void rd_check_machine(const struct rd_conf *conf, uint32_t mem_mb, struct rd_faults *faults);

#endif
