/* SPDX-License-Identifier: BSD-2-Clause */
/* reset.h - RESET, and what it takes to believe one: reset.c. */
#ifndef SUCI_RESET_H
#define SUCI_RESET_H

#include "suci/endpoint.h"
#include "wire_internal.h"

#include <stdbool.h>
#include <stdint.h>

struct suci_reset {
	uint8_t rounds; /* questions in a row that only RESETs answered */
	bool answered;	/* our last question after a RESET, by another one */
};

struct suci;
struct suci_path;

#define SUCI_RESET_SEALED 68u /* bytes of a sealed one */
#define SUCI_RESET_PLAIN  20u
void suci_reset_rx(struct suci *ep, const struct suci_addr *from, const struct suci_path_hdr *h,
		   uint8_t *dgram, size_t len, uint64_t now_ns);
/* With p->reset.answered: when to look whether the peer was heard meanwhile; do so, true: it was
 * not, and the path is down. */
uint64_t suci_reset_look_at(const struct suci *ep, const struct suci_path *p);
bool suci_reset_look(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* The answer to a DATA datagram nobody here has a path for. */
void suci_send_reset(struct suci *ep, const struct suci_addr *to, const struct suci_path_hdr *h,
		     const uint8_t *dgram, size_t len, uint64_t now_ns);

#endif
