/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/link.h - what the kernel says of an interface's MTU, and what is wrong with a wish.
 *
 * Units    bytes of IP packets.
 * Threads  any; asks the kernel. */
#ifndef DRIVER_LINK_H
#define DRIVER_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rd_link_mtu {
	uint32_t now;
	uint32_t min, max; /* of its driver; max 0: it names none */
};

/* False: no such interface in this network namespace, or the kernel does not say. */
bool rd_link_mtu(const char *ifname, struct rd_link_mtu *out);

/* What keeps an interface from packets of wish bytes, with the fix, in text: its driver, if
 * the wish is out of its range, else what it is set to.  False: nothing. */
bool rd_link_mtu_lacks(const char *ifname, const struct rd_link_mtu *mtu, uint32_t wish, char *text,
		       size_t text_max);
/* The first half alone, for a device that the kernel's interface is not used of. */
bool rd_link_mtu_outside(const char *ifname, const struct rd_link_mtu *mtu, uint32_t wish,
			 char *text, size_t text_max);

#endif
