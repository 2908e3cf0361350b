/* SPDX-License-Identifier: BSD-2-Clause */
/* rd/packet6.h - IPv6, ICMPv6 and neighbour discovery as far as a relay's global leg speaks them.
 *
 * Beside rd/packet.h: rd_packet_parse() comes here with IPv6 frames if the station has an address,
 * and its verdicts mean the same, with the differences below.  What is not spoken is dropped:
 * extension headers (fragments among them, Suci never exceeds the MTU), datagrams without a UDP
 * checksum.  TCP and what else is for the kernel is let in as over IPv4.  Routers announce nothing
 * to us: address, prefix and gateway are configured, and redirects are refused as those of IPv4.
 *
 *     verdict            with IPv6
 *     RD_RX_SUCI         src_6 is where the source's address is in the frame
 *     RD_RX_ND_REQUEST   a solicitation for our address; src_6 as of ARP (0: a probe, which nobody
 *                        has an address in)
 *     RD_RX_ND_REPLY     an advertisement: src_6 is where the target is
 *     RD_RX_ECHO         rd_echo6_answer()
 *     RD_RX_UNREACHABLE  quoted_6 is where the address is; codes as those of IPv4: 3 port, 1 host,
 *                        4 too big
 *     RD_RX_TAP, RD_RX_TAP_FLOW  the flow has the address
 *
 * Neighbour discovery proves as little as ARP.  Whom to believe is for the table of neighbours
 * (rd/neigh.h); here only what may not be said at all is refused: a hop limit that is not 255
 * (someone beyond a router), a multicast MAC, options that do not fit.
 *
 * Units    bytes; addresses as on the wire, ports in host order.
 * Threads  pure functions.
 * Source   RFC 8200, 4443, 4861, 6980 (no fragmented discovery), 8504 for what a host needs. */
#ifndef RD_PACKET6_H
#define RD_PACKET6_H

#include "rd/packet.h"

#define RD_IPV6_HDR   40
#define RD_FRAME6_HDR (RD_ETH_HDR + RD_IPV6_HDR + RD_UDP_HDR)
/* Solicitation and advertisement, each with the sender's MAC as its one option. */
#define RD_ND_FRAME (RD_ETH_HDR + RD_IPV6_HDR + 32)

/* Frames that rd_packet_parse() and rd_packet_shard() have looked at up to their type: MAC and
 * length of the Ethernet header are good.  Only with self->six. */
void rd_packet6_parse(const struct rd_station *self, const uint8_t *frame, size_t len,
		      struct rd_rx_frame *out);
uint32_t rd_packet6_shard(const struct rd_station *self, const uint8_t *frame, size_t len);
/* Is that the MAC of a group in which our address is: the solicited nodes', or all nodes'? */
bool rd_packet6_group(const struct rd_station *self, const uint8_t mac[6]);

/* Is the address in the prefix of that leg? */
bool rd_six_covers(const struct rd_six *six, const uint8_t address[16]);
/* Where a datagram goes on the link: dst itself, the gateway, or NULL (no route). */
const uint8_t *rd_next_hop6(const struct rd_station *self, const uint8_t dst[16]);

/* Sum of the pseudo header, for rd_cksum_add() and rd_cksum_fold(). */
uint64_t rd_cksum6_pseudo(const uint8_t src[16], const uint8_t dst[16], uint8_t protocol,
			  uint32_t len);

/* Write the RD_FRAME6_HDR bytes in front of a UDP payload of payload_len bytes, as
 * rd_write_udp(). */
void rd_write_udp6(uint8_t *at, const struct rd_station *self, const uint8_t dst_mac[6],
		   const uint8_t dst[16], uint16_t dst_port, uint32_t payload_len, uint8_t ecn);
/* Fill in the UDP checksum of such a frame, as rd_udp_checksum(). */
void rd_udp6_checksum(uint8_t *frame, size_t here, uint64_t rest);

/* RD_ND_FRAME bytes: who has target?  dst_mac NULL: the group of those who may have it. */
void rd_write_nd_request(uint8_t *at, const struct rd_station *self, const uint8_t target[16],
			 const uint8_t *dst_mac);
/* The same length, to all nodes: our address is here. */
void rd_write_nd_announcement(uint8_t *at, const struct rd_station *self);
/* Turn the solicitation in frame (RD_RX_ND_REQUEST), which has room for RD_ND_FRAME bytes, into our
 * answer: as many bytes. */
void rd_nd_answer(uint8_t *frame, const struct rd_station *self, const struct rd_rx_frame *f);
/* Frames of the own kernel, len bytes: of TCP, UDP, echo or errors, from our address? */
bool rd_kernel6_speaks(const struct rd_station *self, const uint8_t *frame, size_t len);
/* As rd_kernel_peer(); NULL: nobody. */
const uint8_t *rd_kernel6_peer(const uint8_t *frame, size_t len);
/* The address whose MAC such a frame asks for; NULL: it is no solicitation, or about ourselves. */
const uint8_t *rd_nd_asked(const struct rd_station *self, const uint8_t *frame, size_t len);
/* Turn such a solicitation, which has room for RD_ND_FRAME bytes, into its answer of as many: mac
 * has what it asks for. */
void rd_nd_tell(uint8_t *frame, const uint8_t mac[6]);
/* Turn the echo request in frame (RD_RX_ECHO with src_6) into its answer. */
void rd_echo6_answer(uint8_t *frame, const struct rd_rx_frame *f);

#endif
