/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/accept.h - connections for a program that serves others.
 *
 * A listener at which somebody knocks stays readable while the machine is out of descriptors or
 * memory: who watches it then turns without end.  It is left alone for a while; who knocks
 * meanwhile waits in the kernel.
 *
 * Threads  any. */
#ifndef DRIVER_ACCEPT_H
#define DRIVER_ACCEPT_H

#include <stdbool.h>
#include <sys/socket.h>

/* As accept4(): a descriptor that is closed on exec and does not block, or -1 and errno.  *pause:
 * the listener stays readable; do not watch it for a while. */
int process_accept(int listener, struct sockaddr *from, socklen_t *len, bool *pause);

#endif
