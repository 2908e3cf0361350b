/* SPDX-License-Identifier: BSD-2-Clause */
/* stateless.h - datagrams that belong to no path: stateless.c. */
#ifndef SUCI_STATELESS_H
#define SUCI_STATELESS_H

#include "suci/endpoint.h"
#include "timer.h"

#include <stdbool.h>
#include <stdint.h>

#define STATELESS_MAX	   64 /* datagrams that belong to no path */
#define STATELESS_RESERVED 16 /* of them not for answers to HELLO */
#define STATELESS_BYTES	   (SUCI_PATH_HDR + SUCI_BODY_HDR + SUCI_HELLO_MAX)

struct suci_stateless {
	struct suci_timer timer; /* first */
	struct suci_addr to;
	uint32_t next;
	uint16_t len;
	uint8_t repeats;
	uint64_t gap_ns;
	uint8_t bytes[STATELESS_BYTES];
};

struct suci;
struct suci_path;

void suci_stateless_init(struct suci *ep);
/* A datagram of len bytes to fill in; NULL if there is no room. */
struct suci_stateless *suci_stateless_new(struct suci *ep, const struct suci_addr *to,
					  bool for_unverified);
void suci_stateless_send(struct suci *ep, struct suci_stateless *o, uint32_t repeats,
			 uint64_t gap_ns);
bool suci_stateless_tx(struct suci *ep, struct suci_out *out, uint64_t now_ns);
void suci_stateless_timer(struct suci *ep, struct suci_stateless *o);

#endif
