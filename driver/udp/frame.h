/* SPDX-License-Identifier: BSD-2-Clause */
/* A UDP datagram in an Ethernet frame, as an AF_XDP socket gets it. */
#ifndef UDP_FRAME_H
#define UDP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HDR_BYTES	 42u /* Ethernet, IPv4 without options, UDP */
#define FRAME_HDR6_BYTES 62u /* Ethernet, IPv6 without extension headers, UDP */

/* Addresses and ports as they lie in the headers. */
struct udp_frame {
	uint8_t family;		  /* 4 or 6 */
	const uint8_t *src, *dst; /* addresses, in the frame: 4 or 16 bytes */
	uint16_t src_port, dst_port;
	uint8_t ecn;
	uint32_t at, len; /* of the payload in the frame */
};

enum udp_frame_fault {
	FRAME_OK,
	/* Not an unfragmented UDP datagram without IP options or extension headers, or cut off. */
	FRAME_MALFORMED,
	FRAME_BAD_SUM, /* a checksum of IP or UDP is wrong */
};

/* The Internet checksum's sum of n bytes, folded to 16 bits, not inverted (RFC 1071). */
uint16_t suci_udp_frame_sum(const uint8_t *p, size_t n);
/* Takes len bytes apart.  A datagram of IPv4 without a UDP checksum is as good as its frame
 * (RFC 768), one of IPv6 has to have it (RFC 8200); one that has only the pseudo header's sum in it
 * comes from this machine, whose kernel leaves the rest to the device (CHECKSUM_PARTIAL), and has
 * seen no wire. */
enum udp_frame_fault suci_udp_frame_parse(const uint8_t *frame, uint32_t len,
					  struct udp_frame *out);

#endif
