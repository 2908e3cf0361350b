/* SPDX-License-Identifier: BSD-2-Clause */
/* iface.h - makes the kernel keep quiet on an interface that relayd drives through
 * a packet socket.
 *
 * The kernel sees the same frames as we do, and the relay's addresses are its own
 * (on the TAPs), so by default it would answer ARP and refuse our UDP with ICMP.
 * Strict reverse path filtering makes it drop them: the way back leads to the
 * TAP, not to this interface.
 *
 * Threads  control. */
#ifndef RD_IFACE_H
#define RD_IFACE_H

#include <stddef.h>

struct rd_iface {
	char name[16];					   /* "" = nothing to undo */
	char rp_filter[8], arp_ignore[8], disable_ipv6[8]; /* as found; "" = not read */
};

/* 0, or -1 and err with everything undone. */
int rd_iface_quiet(struct rd_iface *i, const char *name, char *err, size_t err_max);
void rd_iface_restore(struct rd_iface *i);

#endif
