/* SPDX-License-Identifier: BSD-2-Clause */
/* suci/upper.h - what the layer on top of an endpoint's paths has beside suci/endpoint.h: the one
 * way from lane/ into path/.
 *
 * The layer keeps a few words of its own in each path, for what it looks up with every segment.
 * The endpoint sets them to zero when it is made, and never looks at them again: who uses them
 * leaves them as the next path in that place is to find them.
 *
 * Threads  the endpoint's owner.
 * Limits   SUCI_UPPER_BYTES per path; one layer per endpoint. */
#ifndef SUCI_UPPER_H
#define SUCI_UPPER_H

#include "suci/endpoint.h"

#include "base/ilist.h"

#define NONE  BASE_INONE
#define PRIOS 4 /* classes, see SUCI_SF_PRIO_MASK */

#define SUCI_UPPER_BYTES 28u
/* From one path's words to the next one's: a power of two, as datagrams come with an index. */
#define SUCI_PATH_STRIDE 2048u

struct suci_upper {
	_Alignas(uint32_t) uint8_t bytes[SUCI_UPPER_BYTES];
};

struct suci_upper_ops {
	/* The time given to suci_upper_arm(), or later. */
	void (*tick)(void *user, uint64_t now_ns);
	/* ops->pull may have something for that path, which could not ask now. */
	void (*blocked)(void *user, uint32_t path);
};

/* The layer's words of path 0.  keep: records for segments that ops->pull leaves to
 * suci_path_send(). */
struct suci_upper *suci_upper_bind(struct suci *ep, const struct suci_upper_ops *ops,
				   uint32_t keep);
static inline void *
suci_upper_of(struct suci_upper *first, uint32_t path)
{
	return (uint8_t *)first + (size_t)path * SUCI_PATH_STRIDE;
}

/* tick() is due then, if it is not earlier. */
void suci_upper_arm(struct suci *ep, uint64_t at_ns);
const struct suci_limits *suci_upper_limits(const struct suci *ep);
/* The time of the entry point that runs. */
uint64_t suci_upper_now(const struct suci *ep);
/* It is connecting or up, and stays so. */
bool suci_path_usable(const struct suci *ep, uint32_t path);
/* Payload of its full segments; 0 if it is not up. */
uint32_t suci_path_mss(const struct suci *ep, uint32_t path);
/* Segments of a path for which match() says true are given up: not sent again,
 * released as ABANDONED, their data not touched any more. */
void suci_path_purge(struct suci *ep, uint32_t path, bool (*match)(void *arg, uint64_t cookie),
		     void *arg, uint64_t now_ns);

#endif
