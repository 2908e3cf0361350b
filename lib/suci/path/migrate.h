/* SPDX-License-Identifier: BSD-2-Clause */
/* migrate.h - the peer has another address: migrate.c. */
#ifndef SUCI_MIGRATE_H
#define SUCI_MIGRATE_H

#include "suci/endpoint.h"
#include "wire_internal.h"

#include <stdbool.h>
#include <stdint.h>

/* A new address of the peer that has to prove itself, see migrate.c. */
struct suci_move {
	struct suci_addr to;
	uint32_t count : 24;   /* times the path has moved */
	uint32_t asked : 8;    /* times the old address; 0: nothing is open */
	uint64_t token, at_ns; /* of the challenge; 0 = none is open */
	uint64_t moved_pn;     /* what was sent before went to another address */
};

struct suci;
struct suci_path;

/* A datagram with the path's tag from another address. */
void suci_move_heard(struct suci *ep, struct suci_path *p, const struct suci_addr *from,
		     const struct suci_path_hdr *h, uint64_t now_ns);
/* With p->move.asked: when to look who has answered; do so. */
uint64_t suci_move_look_at(const struct suci *ep, const struct suci_path *p);
void suci_move_look(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* CHALLENGE and RESPONSE. */
void suci_move_rx(struct suci *ep, struct suci_path *p, const struct suci_addr *from,
		  const struct suci_path_hdr *h, uint64_t now_ns);

#endif
