/* SPDX-License-Identifier: BSD-2-Clause */
/* advice.h - what is allowed and costs speed: lcores that share a processor or its core, a clock
 * that is turned down, memory of another NUMA node.
 *
 * sys is where sysfs is, "/sys"; what is not there is not looked at.
 *
 * Threads  before others are there; looks only. */
#ifndef RD_ADVICE_H
#define RD_ADVICE_H

#include "rd/conf.h"

void rd_check_advice(const char *sys, const struct rd_conf *conf, struct rd_faults *warnings);

#endif
