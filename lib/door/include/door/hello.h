/* SPDX-License-Identifier: BSD-2-Clause */
/* door/hello.h - what a process says when it opens a path to a door without a relay (doc/wire.md,
 * Doors without a relay): 24 bytes of hello data.
 *
 *      0 'S' 'U' 'C' 'I'
 *      4 version 16 = 2 | flags 16
 *      8 label 32: of the address
 *     12 zero 32
 *     16 proof 64: door_proof()
 *
 * Units    host byte order.  Threads  plain functions.
 * Errors   false: other bytes.  Bytes behind the 24 are ignored. */
#ifndef DOOR_HELLO_H
#define DOOR_HELLO_H

#include "door/address.h"

#include <stdbool.h>

#define DOOR_HELLO_LEN	   24u
#define DOOR_HELLO_MAGIC   0x53554349u
#define DOOR_HELLO_VERSION 2u

struct door_hello {
	uint16_t flags; /* the library's */
	uint32_t label;
	uint64_t proof;
};

/* What proves that one was given the address. */
struct door_hello door_hello_to(const struct door_address *to, uint16_t flags);
void door_hello_write(const struct door_hello *h, uint8_t out[DOOR_HELLO_LEN]);
bool door_hello_read(const void *in, size_t len, struct door_hello *h);
bool door_hello_proves(const struct door_hello *h, const struct door_address *me);

#endif
