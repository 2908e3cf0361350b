/* SPDX-License-Identifier: BSD-2-Clause */
/* count_frame - what headers and checksums of one relayed segment cost in instructions, for
 * callgrind (make count): its frame is read, and headers for the next hop are written in front of
 * its payload, as a relay does both.
 *
 *   count_frame frame|frame-known|frame-ports
 *
 *   frame        no port sums up anything
 *   frame-known  the receiving port has found both checksums good
 *   frame-ports  so, and the sending port sums up what leaves
 *
 * Full segments at an MTU of 1500.  Prints their number. */
#include "rd/packet.h"

#include "base/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURNS	 400u
#define PAYLOAD	 (1500u - RD_IPV4_HDR - RD_UDP_HDR)
#define IN_HEAD	 56u /* in front of what passes as it is */
#define OUT_HEAD 60u

static const struct rd_station from = {
	.mac = {2, 0, 0, 0, 0, 1}, .address = 0x0a000001, .prefix_len = 24, .udp_port = 4001};
static struct rd_station self = {
	.mac = {2, 0, 0, 0, 0, 9}, .address = 0x0a000009, .prefix_len = 24, .udp_port = 7812};
static uint8_t buffer[128 + 1514];

static _Noreturn void
die(const char *what)
{
	fprintf(stderr, "count_frame: %s\n", what);
	exit(1);
}

void count_turn(uint8_t *frame, size_t len, uint32_t known);

__attribute__((noinline)) void
count_turn(uint8_t *frame, size_t len, uint32_t known)
{
	struct rd_rx_frame f;
	rd_packet_parse_known(&self, frame, len, known, &f);
	if (f.verdict != RD_RX_SUCI)
		die("the frame is not taken");
	uint8_t *data = frame + f.payload_off + IN_HEAD;
	uint8_t *at = data - OUT_HEAD - RD_FRAME_HDR;
	rd_write_udp(at, &self, from.mac, 0x0a000002, 4001, 7, f.payload_len + OUT_HEAD - IN_HEAD,
		     2);
	if (!self.ports_sum)
		rd_udp_checksum(at,
				f.tail_off ? (size_t)(frame + f.tail_off - at) - RD_FRAME_HDR
					   : f.payload_len + OUT_HEAD - IN_HEAD,
				f.tail_sum);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint8_t *frame = buffer + 128;
	uint32_t known = strcmp(what, "frame") ? RD_KNOWN_IP_GOOD | RD_KNOWN_UDP_GOOD : 0;
	if (strcmp(what, "frame") && strcmp(what, "frame-known") && strcmp(what, "frame-ports"))
		die("usage: count_frame frame|frame-known|frame-ports");
	self.ports_sum = strcmp(what, "frame-ports") == 0;
	for (uint32_t i = 0; i < TURNS; i++) {
		for (uint32_t k = 0; k < PAYLOAD; k++)
			frame[RD_FRAME_HDR + k] = (uint8_t)(i + k);
		rd_write_udp(frame, &from, self.mac, self.address, self.udp_port, 1, PAYLOAD, 2);
		rd_udp_checksum(frame, PAYLOAD, 0);
		count_turn(frame, RD_FRAME_HDR + PAYLOAD, known);
	}
	printf("%u\n", TURNS);
	return 0;
}
