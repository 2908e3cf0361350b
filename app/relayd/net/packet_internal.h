/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the files of the parser. */
#ifndef RD_PACKET_INTERNAL_H
#define RD_PACKET_INTERNAL_H

#include "rd/packet.h"

enum { RD_PROTO_ICMP = 1, RD_PROTO_TCP = 6, RD_PROTO_UDP = 17, RD_PROTO_ICMP6 = 58 };
enum { RD_ICMP_HDR = 8, RD_ICMP_UNREACHABLE = 3 };

/* Is the checksum of a datagram that has one right?  pseudo: the sum of its pseudo header; udp: its
 * header, at in the frame, len bytes with what follows.  Sets tail_off and tail_sum. */
bool rd_udp_sum_good(const struct rd_station *self, uint64_t pseudo, const uint8_t *udp,
		     uint32_t len, struct rd_rx_frame *out, size_t at);

/* For the kernel, perhaps: the verdict of a frame whose src_ip is known.  udp and icmp have their
 * whole headers. */
void rd_kernel_tcp(const struct rd_station *self, const uint8_t *tcp, uint32_t len,
		   struct rd_rx_frame *out);
void rd_kernel_udp(const struct rd_station *self, const uint8_t *udp, struct rd_rx_frame *out);
void rd_kernel_icmp(const struct rd_station *self, const uint8_t *icmp, uint32_t len,
		    struct rd_rx_frame *out);
/* The same of both kinds of address.  A port of the kernel's: is it open, or perhaps of what it
 * began?  from has the remote end and the protocol; at is the transport header, len bytes of it and
 * what follows. */
void rd_kernel_segment(const struct rd_station *self, const struct rd_flow *from, const uint8_t *at,
		       uint32_t len, struct rd_rx_frame *out);
void rd_kernel_port(const struct rd_station *self, const struct rd_flow *flow,
		    struct rd_rx_frame *out);
bool rd_kernel_is_open(const struct rd_station *self, uint32_t protocol, uint16_t port);
/* Of a TCP segment that the kernel sends: has its peer answered, or did the kernel begin it? */
bool rd_kernel_talks(const uint8_t *tcp, size_t len);
/* Of ICMPv6 other than echo requests and what concerns Suci, and of TCP and UDP over IPv6. */
void rd_kernel6_icmp(const struct rd_station *self, const uint8_t *ip, uint32_t len,
		     struct rd_rx_frame *out);
void rd_kernel6_segment(const struct rd_station *self, const uint8_t *ip, uint32_t len,
			struct rd_rx_frame *out);
bool rd_kernel6_flow(const struct rd_station *self, const uint8_t *frame, size_t len,
		     struct rd_flow *flow);

#endif
