/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/link.h - the life of one host-to-host channel, sans-I/O (IMPI reference 4, 8).
 *
 * Every pair of hosts of different clients has one TCP connection.  The host with
 * the higher rank connects and sends its rank as 4 bytes; the lower accepts and
 * sends nothing.  Then packets flow both ways until each side has sent FINI.
 *
 *   WAITING --connected / adopted--> RUNNING --FINI sent and seen, or
 *                                    FINI seen and closed by the peer--> FINISHED
 *   any --time is up, EOF before FINI, garbage--> FAILED: l->err says why
 *
 * The side that connects (impi_link_role() says CONNECT):
 *
 *     l = impi_link_init(..., IMPI_LINK_CONNECT, ..., now + limit)
 *     connect(), again and again if it fails (the state stays WAITING);
 *     bind the socket to the own advertised address first: LAM/MPI checks it
 *     impi_link_connected(l, ident); send these 4 bytes before anything else
 *
 * The side that accepts: an accepted socket is nobody's until it has named itself.
 *
 *     impi_ident_init(&in, now + limit)        one per accepted socket
 *     recv() at most impi_ident_want(&in) bytes; impi_ident_rx(&in, ...)
 *     complete: rank = impi_ident_rank(&in);
 *               impi_ident_check(t, me, rank, state of that rank's link, &err):
 *               not OK: close this socket and keep accepting
 *     impi_link_adopt(link of rank)
 *
 * Both, in RUNNING: bytes go through impi_link_rx(), or impi_link_want() and
 * impi_link_took() (stream.h says how; FINI packets are told like others, and need
 * no treatment by the owner).  Close the socket in FINISHED and FAILED.
 *
 * Memory   the structs, without allocation.
 * Units    nanoseconds of the caller's monotonic clock.
 * Threads  one owner. */
#ifndef IMPI_LINK_H
#define IMPI_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/error.h"
#include "impi/stream.h"
#include "impi/tables.h"

#define IMPI_IDENT_BYTES 4

enum impi_link_role {
	IMPI_LINK_NONE,	   /* the same host or client: no IMPI connection */
	IMPI_LINK_CONNECT, /* I have the higher host rank */
	IMPI_LINK_ACCEPT,
};

enum impi_link_state {
	IMPI_LINK_WAITING,
	IMPI_LINK_RUNNING,
	IMPI_LINK_FINISHED,
	IMPI_LINK_FAILED,
};

/* Read all fields freely, write none. */
struct impi_link {
	enum impi_link_role role;
	enum impi_link_state state;
	uint32_t me, peer;    /* host ranks */
	uint64_t deadline_ns; /* of WAITING */
	bool fini_sent, fini_seen;
	bool peer_closed; /* EOF after its FINI: nothing can be sent any more */
	struct impi_stream rx;
	struct impi_error err;
};

/* What me has to do about peer.  Hosts of one client have no IMPI connection to
 * each other (the project's reading).  Needs IMPI_C_NHOSTS in t, both < nhosts. */
enum impi_link_role impi_link_role(const struct impi_tables *t, uint32_t me, uint32_t peer);

/* datalen: negotiated.  deadline_ns: when it must be RUNNING at the latest. */
void impi_link_init(struct impi_link *l, enum impi_link_role role, uint32_t me, uint32_t peer,
		    uint32_t datalen, uint64_t deadline_ns);
/* CONNECT, WAITING: connect() has succeeded.  ident: send it first.  RUNNING. */
void impi_link_connected(struct impi_link *l, uint8_t ident[IMPI_IDENT_BYTES]);
/* ACCEPT, WAITING: a socket has named itself as peer and was checked.  RUNNING. */
void impi_link_adopt(struct impi_link *l);
/* WAITING beyond the deadline: FAILED, returns true (once). */
bool impi_link_tick(struct impi_link *l, uint64_t now_ns);

/* RUNNING: as impi_stream_rx() / _want() / _took().  IMPI_STREAM_FAILED in the
 * answer: now FAILED.  In other states nothing is taken or wanted. */
size_t impi_link_rx(struct impi_link *l, const void *bytes, size_t len,
		    struct impi_stream_step *step);
uint32_t impi_link_want(struct impi_link *l, uint8_t **where);
unsigned int impi_link_took(struct impi_link *l, uint32_t n);
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
/* The owner gives it up, with this reason (unless FAILED or FINISHED before). */
void impi_link_fail(struct impi_link *l, enum impi_err code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* --- accepted, not yet identified --------------------------------------- */

struct impi_ident {
	uint8_t byte[IMPI_IDENT_BYTES];
	uint32_t len;
	uint64_t deadline_ns;
};

/* deadline_ns: when the 4 bytes must be there; the owner closes the socket then. */
void impi_ident_init(struct impi_ident *in, uint64_t deadline_ns);
/* How many bytes to read, not more: the next one belongs to the link. */
static inline uint32_t
impi_ident_want(const struct impi_ident *in)
{
	return IMPI_IDENT_BYTES - in->len;
}
/* Take bytes; returns how many (at most impi_ident_want()).  Complete when that is 0. */
size_t impi_ident_rx(struct impi_ident *in, const void *bytes, size_t len);
/* Complete: the host rank it claims, not checked. */
uint32_t impi_ident_rank(const struct impi_ident *in);
/* May the host of this rank connect to me?  have: the state of its link, for a
 * second connection is refused.  RANK or DUPLICATE with words in *err otherwise. */
enum impi_err impi_ident_check(const struct impi_tables *t, uint32_t me, uint32_t rank,
			       enum impi_link_state have, struct impi_error *err);
/* Is this source address (IPv4 in host byte order) the one that rank announced as
 * IMPI_H_IPV6?  LAM/MPI insists on it; so may an owner that knows of no address
 * translation between the two.  true for addresses that are not IPv4. */
bool impi_ident_source_matches(const struct impi_tables *t, uint32_t rank, uint32_t ipv4);

#endif
