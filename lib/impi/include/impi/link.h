/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/link.h - the life of one host-to-host channel, sans-I/O (IMPI reference 4, 8).
 *
 * Every pair of hosts of different clients has one TCP connection.  The host with
 * the higher rank connects (impi_link_connects()) and sends its rank as
 * IMPI_IDENT_BYTES, big-endian, before anything else; the lower accepts and sends
 * nothing.  LAM/MPI takes a connection only from the address that its host has
 * announced.  Then packets flow both ways until each side has sent FINI:
 *
 *   RUNNING --FINI sent and seen, or FINI seen and closed by the peer--> FINISHED
 *   RUNNING --EOF before FINI, garbage--> FAILED: l->err says why
 *
 * Bytes go through impi_link_rx() (stream.h says how; FINI packets are told like
 * others, and need no treatment by the owner).  Close the socket in FINISHED and
 * FAILED.
 *
 * Memory   the struct, without allocation.
 * Threads  one owner. */
#ifndef IMPI_LINK_H
#define IMPI_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/error.h"
#include "impi/stream.h"

#define IMPI_IDENT_BYTES 4

enum impi_link_state {
	IMPI_LINK_RUNNING,
	IMPI_LINK_FINISHED,
	IMPI_LINK_FAILED,
};

/* Read all fields freely, write none. */
struct impi_link {
	enum impi_link_state state;
	uint32_t peer; /* its host rank */
	bool fini_sent, fini_seen;
	bool peer_closed; /* EOF after its FINI: nothing can be sent any more */
	struct impi_stream rx;
	struct impi_error err;
};

/* Of two hosts of different clients, which one connects? */
static inline bool
impi_link_connects(uint32_t me, uint32_t peer)
{
	return me > peer;
}

/* The connection stands, and the peer has named itself.  datalen: negotiated.  RUNNING. */
void impi_link_init(struct impi_link *l, uint32_t peer, uint32_t datalen);

/* RUNNING: as impi_stream_rx().  IMPI_STREAM_FAILED in the answer: now FAILED.  In
 * other states nothing is taken. */
size_t impi_link_rx(struct impi_link *l, const void *bytes, size_t len,
		    struct impi_stream_step *step);
/* The peer closed or reset the connection, or writing to it failed.  Returns true
 * if that is a failure (FAILED now), false after its FINI. */
bool impi_link_eof(struct impi_link *l);

/* May a packet of this type still be given to the peer?  Nothing after our FINI.
 * After the peer's FINI its processes have finalized: flow control, the answers to
 * CANCEL, and our FINI; other packets find nobody. */
bool impi_link_may_send(const struct impi_link *l, uint32_t type);
/* The FINI packet, and: it has been written whole, with all that went before. */
void impi_link_fini_packet(uint8_t out[IMPI_PACKET_BYTES]);
void impi_link_fini_sent(struct impi_link *l);

#endif
