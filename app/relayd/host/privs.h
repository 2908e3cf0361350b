/* SPDX-License-Identifier: BSD-2-Clause */
/* privs.h - what the process may do, and what others may see of it.
 *
 * relayd needs root to start: packet sockets, TAPs, memory, interface settings.  Once it has its
 * descriptors it gives up all but a few capabilities in every thread (capset is a thread's own
 * matter), or, with `user`, everything.
 *
 * Threads  control; rd_privs_drop while no worker runs yet. */
#ifndef RD_PRIVS_H
#define RD_PRIVS_H

#include "rd/conf.h"

#include <stddef.h>

/* At the start, before threads: no core file and no tracing, no new privileges by exec.  What
 * fails is logged. */
void rd_privs_harden(void);
/* 0, or -1 and err. */
int rd_privs_drop(const struct rd_conf *conf, char *err, size_t err_max);

#endif
