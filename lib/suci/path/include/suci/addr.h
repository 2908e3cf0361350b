/* SPDX-License-Identifier: BSD-2-Clause */
/* suci/addr.h - where a Suci endpoint is: the one type for addresses of datagrams.
 *
 * IPv4 and IPv6 in one form, with the UDP port and the local interface.  One place has one form, so
 * addresses are compared byte by byte: an address of IPv6 that stands for one of IPv4
 * (::ffff:192.0.2.7) is kept as IPv4, and unused bytes are zero.  Link-local addresses (fe80::) are
 * none of ours: they need an interface beside them.
 *
 * Units    ports in host order, addresses as they are on the wire.
 * Threads  pure functions.
 * Source   RFC 4291, RFC 5952 for the text, RFC 3986 for brackets in front of a port. */
#ifndef SUCI_ADDR_H
#define SUCI_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a datagram came from or goes to.  Compared byte by byte: keep unused
 * bytes zero.  IPv4 is kept in the last four bytes of ip, the rest zero. */
struct suci_addr {
	uint8_t ip[16];
	uint16_t port;	/* host order */
	uint8_t family; /* 4 or 6; 0: no address */
	uint8_t leg;	/* which local interface; the driver's numbering */
};
_Static_assert(sizeof(struct suci_addr) == 20, "no padding: compared with memcmp");

struct suci_addr suci_addr_v4(const uint8_t ip[4], uint16_t port);
/* From 16 bytes as IPv6 and lib/base (base/prefix.h) have them; ::ffff:a.b.c.d becomes IPv4. */
struct suci_addr suci_addr_of(const uint8_t ip[16], uint16_t port);
/* And back: IPv4 as ::ffff:a.b.c.d. */
void suci_addr_16(const struct suci_addr *a, uint8_t ip[16]);

/* "192.0.2.7:7000", "[2001:db8::7]:7000" into out; returns out. */
#define SUCI_ADDR_TEXT_MAX 56
const char *suci_addr_text(const struct suci_addr *a, char out[SUCI_ADDR_TEXT_MAX]);
/* The same without port and brackets. */
const char *suci_addr_ip_text(const struct suci_addr *a, char out[SUCI_ADDR_TEXT_MAX]);

/* Read "192.0.2.7" or "2001:db8::7", len bytes and nothing else; the port becomes 0.  False, with
 * out as it was: it is none. */
bool suci_addr_parse_ip(const char *text, size_t len, struct suci_addr *out);
/* Read "192.0.2.7:7000" or "[2001:db8::7]:7000" likewise; port 0 is none. */
bool suci_addr_parse(const char *text, size_t len, struct suci_addr *out);

/* NULL, or why nobody can be reached at such an address, as the end of a sentence: "is a multicast
 * address".  Loopback is fine.  The port is not looked at. */
const char *suci_addr_fault(const struct suci_addr *a);
/* All zero: any address, for who binds to it. */
bool suci_addr_is_any(const struct suci_addr *a);

#endif
