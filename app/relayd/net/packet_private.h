/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the files of the parser. */
#ifndef RD_PACKET_PRIVATE_H
#define RD_PACKET_PRIVATE_H

#include "rd/packet.h"

enum { RD_PROTO_ICMP = 1, RD_PROTO_TCP = 6, RD_PROTO_UDP = 17 };
enum { RD_ICMP_HDR = 8, RD_ICMP_UNREACHABLE = 3 };

/* For the kernel, perhaps: the verdict of a frame whose src_ip is known.  udp and icmp have their
 * whole headers. */
void rd_kernel_tcp(const struct rd_station *self, const uint8_t *tcp, uint32_t len,
		   struct rd_rx_frame *out);
void rd_kernel_udp(const struct rd_station *self, const uint8_t *udp, struct rd_rx_frame *out);
void rd_kernel_icmp(const struct rd_station *self, const uint8_t *icmp, uint32_t len,
		    struct rd_rx_frame *out);

#endif
