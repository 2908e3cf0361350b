/* SPDX-License-Identifier: BSD-2-Clause */
/* handshake.h - HELLO, COOKIE, OPEN, ACCEPT, CLOSE: handshake.c. */
#ifndef SUCI_HANDSHAKE_H
#define SUCI_HANDSHAKE_H

#include "suci/endpoint.h"
#include "wire_internal.h"

#include <stdbool.h>
#include <stdint.h>

struct suci_handshake {
	bool due;	  /* a datagram: HELLO, OPEN; ACCEPT if up */
	uint8_t tries;	  /* of this HELLO or OPEN, until it stops counting */
	bool hinted;	  /* somebody refused our open who has not our key */
	uint32_t made_us; /* by the peer's clock, its OPEN or ACCEPT that brought the path up */
	uint64_t rtt_ns;  /* measured by the opener; in HELLO that of the last path; or 0 */
	uint64_t retry_ns, give_up_ns;
	uint64_t sent_ns; /* the last HELLO or OPEN; of a path that is up: when it came up */
	uint64_t cookie;
	uint64_t peer_incarnation;
};

/* Only touched in handshakes. */
struct suci_path_hello {
	uint16_t len; /* UINT16_MAX: the configured one */
	uint8_t bytes[SUCI_HELLO_MAX];
};

struct suci;
struct suci_path;

void suci_handshake_rx(struct suci *ep, const struct suci_addr *from, const struct suci_path_hdr *h,
		       uint8_t *dgram, size_t len, uint64_t now_ns);
size_t suci_handshake_tx(struct suci *ep, struct suci_path *p, uint8_t *out, uint64_t now_ns);
/* CLOSE of a path that is up. */
#define SUCI_TEXT_SILENT "nothing heard from the peer"
/* SUCI_DOWN_CLOSED or SUCI_DOWN_SILENT, as the peer is to see it. */
void suci_send_close(struct suci *ep, struct suci_path *p, enum suci_down why, const char *text,
		     uint32_t repeats, uint64_t gap_ns, uint64_t now_ns);
size_t suci_put_close(uint8_t *out, enum suci_type type, uint32_t tag, uint16_t reason,
		      const char *text, uint64_t now_ns);

#endif
