/* SPDX-License-Identifier: BSD-2-Clause */
/* relayproto/hello.h - the 24 bytes of Suci hello data (doc/job-setup.md), which every path of a
 * job carries in OPEN and ACCEPT.
 *
 *     0 'S' 'H' | ver=1 | kind   4 token 32   8 label 32   12 world rank 32
 *    16 mtu 16  18 flags 8 | zero 8  20 upper half of the token 32
 *
 * Readers take longer hellos (later versions append) and ignore the rest.  What a label or a rank
 * has to be is for whoever accepts the path; here only their bytes are read.
 *
 * Host and process ids announce one token for many labels; a hello says relay_hello_token() of it
 * and of the label that is in the hello.  So who knows what one process says, because it is that
 * process or has read it, cannot speak for another label.
 *
 * Threads  plain functions. */
#ifndef RELAYPROTO_HELLO_H
#define RELAYPROTO_HELLO_H

#include "relayproto/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_HELLO_LEN	    24
#define RELAY_HELLO_VERSION 1
#define RELAY_RANK_NONE	    UINT32_MAX

/* Who speaks; the first two as in a host id (impi/hostid.h). */
enum relay_hello_kind {
	RELAY_HELLO_PROCESS = 1,
	RELAY_HELLO_RELAY = 2,
	RELAY_HELLO_GATEWAY = 4, /* lib/gateway, which answers a relay */
	RELAY_HELLO_DOOR = 5,	 /* a process in no job, that registers doors at a relay */
};

struct relay_hello {
	uint8_t kind;	/* enum relay_hello_kind */
	uint64_t token; /* at 4 its lower half */
	uint32_t label;
	uint32_t rank; /* world rank; RELAY_RANK_NONE from a relay */
	bool survives; /* flags & 1, a process to a relay: its job survives deaths */
	uint16_t mtu;  /* largest UDP payload towards the other clusters; 0 from a process */
};

/* What a hello with that label says if token was announced: SipHash-2-4 of the label under the
 * token, 63 bits.  A token of 32 bits is said as it is: older processes and relays know no other
 * way. */
uint64_t relay_hello_token(uint64_t announced, uint32_t label);

void relay_hello_encode(const struct relay_hello *h, uint8_t out[RELAY_HELLO_LEN]);
/* 0 or MALFORMED (too short, magic, version, kind); *h is then untouched. */
int relay_hello_decode(const void *in, size_t len, struct relay_hello *h);

#endif
