/* SPDX-License-Identifier: BSD-2-Clause */
/* app/impi-server/door.h - a connection in clear, or through a sealed stream (seal/link.h): its
 * first four bytes say which.
 *
 * With a key the server takes sealed connections, and those in clear only if it was told to;
 * without one it takes those in clear.
 *
 * Threads  one owner. */
#ifndef IMPI_SERVER_DOOR_H
#define IMPI_SERVER_DOOR_H

#include "seal/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct door_conf {
	struct seal_link_conf keys; /* nkeys 0: none */
	bool clear_too;		    /* with keys: take connections in clear as well */
};

/* Zeroed: nothing has come yet. */
struct door {
	uint8_t first[4];
	uint32_t have;
	bool clear; /* 4 bytes have come, and they begin no sealed stream */
	struct seal_link *seal;
	char why[SEAL_TEXT];
};

/* What came; text() gets what it is in clear.  False: close it, why says why. */
bool door_rx(struct door *d, const struct door_conf *conf, const uint8_t *bytes, size_t len,
	     void (*text)(void *user, const uint8_t *bytes, size_t len), void *user);
/* Bytes that the door itself has to send are waiting; may what is sent in clear be asked for? */
bool door_pending(const struct door *d);
bool door_open(const struct door *d);
/* The bytes that len bytes of clear text, at most DOOR_TEXT, become, with the door's own before
 * them; out has DOOR_OUT. */
#define DOOR_TEXT 8192u
#define DOOR_OUT  (DOOR_TEXT + SEAL_LINK_GREETING + 64u)
size_t door_tx(struct door *d, const uint8_t *text, size_t len, uint8_t *out);
void door_close(struct door *d);

#endif
