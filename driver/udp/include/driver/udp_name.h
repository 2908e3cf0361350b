/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/udp_name.h - a Suci address as the kernel's sockets have it, and back; for TCP, too.
 *
 * Threads  pure functions. */
#ifndef DRIVER_UDP_NAME_H
#define DRIVER_UDP_NAME_H

#include "suci/addr.h"

#include <netinet/in.h>
#include <sys/socket.h>

/* An address as the kernel wants it, of the socket's family. */
union udp_name {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* The address as a socket of that family has it: one of IPv6 has those of IPv4 mapped.  How long it
 * is. */
socklen_t suci_udp_name(const struct suci_addr *a, sa_family_t family, union udp_name *out);
struct suci_addr suci_udp_from(const union udp_name *name);

#endif
