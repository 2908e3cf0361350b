/* SPDX-License-Identifier: BSD-2-Clause */
/* keeper.h - who cleans up after relayd, however it ends.
 *
 *     relayd (may have become another user, may crash) --pipe--> keeper (a child, root)
 *
 * The keeper does nothing but read the pipe, whose other end is relayd's alone.  At its end relayd
 * is gone: the keeper sets the interfaces' settings back, removes the control socket, the pidfile
 * and DPDK's runtime folder, unless another relayd has them by now, and ends.  What the settings
 * were is in a file, too: if both are killed, the next start reads it and cleans first.
 *
 * Threads  control, before any other thread is there. */
#ifndef RD_KEEPER_H
#define RD_KEEPER_H

#include "iface.h"
#include "rd/conf.h"

#include <sys/types.h>

struct rd_keeper {
	pid_t child; /* 0: none */
	int pipe;
};

/* Before the interfaces are touched: what an earlier life left is set right. */
void rd_keeper_recover(const struct rd_conf *conf);
/* Write down what was found at the interfaces.  0, or -1 and err. */
int rd_keeper_record(const struct rd_conf *conf, const struct rd_iface *iface, uint32_t n,
		     char *err, size_t err_max);
/* 0, or -1 and err. */
int rd_keeper_start(struct rd_keeper *k, const struct rd_conf *conf, char *err, size_t err_max);
/* Everything is closed: let it clean what is left, and wait. */
void rd_keeper_end(struct rd_keeper *k);

/* The control socket's path. */
void rd_socket_path(const struct rd_conf *conf, char *out, size_t max);

#endif
