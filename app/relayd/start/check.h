/* SPDX-License-Identifier: BSD-2-Clause */
/* check.h - what the machine lacks for a configuration, and the command that fixes
 * each.  Looks only: changes nothing, so --check can run beside a running relay
 * and the start runs the very same checks first. */
#ifndef RD_CHECK_H
#define RD_CHECK_H

#include "rd/conf.h"

/* mem_mb: what pools and tables need (rd_plan_mem_mb).  Adds faults, pointer =
 * the key concerned, line 0. */
void rd_check_machine(const struct rd_conf *conf, uint32_t mem_mb, struct rd_faults *faults);

#endif
