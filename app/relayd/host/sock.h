/* SPDX-License-Identifier: BSD-2-Clause */
/* sock.h - TCP sockets at an address of a leg or of the machine.
 *
 * Sockets of a leg are bound to its TAP, so that neither the machine's own routes nor
 * equal private subnets elsewhere matter.  All are non-blocking and close-on-exec.
 *
 * Units    addresses and ports in host order.
 * Threads  pure functions.
 * Errors   a descriptor, or -errno. */
#ifndef RD_SOCK_H
#define RD_SOCK_H

#include <stdbool.h>
#include <stdint.h>

/* device NULL: not bound to one. */
int rd_sock_listen(const char *device, uint32_t ip, uint32_t port);
/* The same over IPv6, the address as on the wire. */
int rd_sock_listen6(const char *device, const uint8_t ip[16], uint32_t port);
/* Connecting from from_ip, any port, tuned; EPOLLOUT says when rd_sock_error() knows. */
int rd_sock_connect(const char *device, uint32_t from_ip, uint32_t ip, uint32_t port,
		    bool impatient);
/* The same over IPv6, addresses as on the wire. */
int rd_sock_connect6(const char *device, const uint8_t from_ip[16], const uint8_t ip[16],
		     uint32_t port, bool impatient);
/* The pending error of a connecting socket: 0 or -errno. */
int rd_sock_error(int fd);
/* No delay; notice a dead peer of an idle connection in about 8 s.  impatient: also one
 * that takes nothing for as long, which a host that computes may do and live. */
void rd_sock_tune(int fd, bool impatient);
/* It has been read empty: acknowledge at once.  A host that writes a packet's header and payload
 * apart waits with the payload for that, 40 ms otherwise.  Holds until the kernel thinks better. */
void rd_sock_quick_ack(int fd);
/* Bytes of ours wait and the peer's machine has not answered for silent_ms?  A window of
 * zero that is confirmed is an answer. */
bool rd_sock_dead(int fd, uint32_t silent_ms);

#endif
