/* SPDX-License-Identifier: BSD-2-Clause */
/* rd/packet.h - Ethernet, ARP, IPv4, ICMP, UDP as far as a relay speaks them; IPv6 is in
 * rd/packet6.h.
 *
 * rd_packet_parse() looks at one received frame and says what is to be done with
 * it; it changes nothing and believes nothing.  The build functions write
 * frames into memory of the caller.  What a relay does not speak itself (TCP
 * above all) goes to the kernel through a TAP, if the port is open there or the kernel may have
 * begun it: verdicts RD_RX_TAP and RD_RX_TAP_FLOW.
 *
 * Not done here: reassembly (fragments are dropped: Suci never exceeds the MTU
 * and TCP finds it).  VLAN tags are put in and taken away in front of all this.
 *
 * Units    bytes; IPv4 addresses and ports in host order.
 * Threads  pure functions.
 * Source   RFC 791, 768, 792, 826, 1071, 1122 (3.2.1 for addresses not to accept). */
#ifndef RD_PACKET_H
#define RD_PACKET_H

#include "rd/flows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RD_ETH_HDR   14
#define RD_IPV4_HDR  20
#define RD_UDP_HDR   8
#define RD_ARP_LEN   28
#define RD_FRAME_HDR (RD_ETH_HDR + RD_IPV4_HDR + RD_UDP_HDR)
#define RD_ARP_FRAME (RD_ETH_HDR + RD_ARP_LEN)

/* X(name, help): why a frame was dropped at the leg's door. */
#define RD_RX_DROPS(X)                                                        \
	X(short, "frame ends inside its headers")                             \
	X(mac, "destination MAC is neither ours nor broadcast")               \
	X(vlan, "VLAN tagged")                                                \
	X(ethertype, "neither ARP nor an IP that the leg has an address of")  \
	X(arp_format, "ARP not for Ethernet and IPv4, or of an unknown kind") \
	X(arp_other, "ARP that concerns other addresses")                     \
	X(arp_conflict, "ARP by another station that claims our address")     \
	X(nd_format, "neighbour discovery that may not be believed")          \
	X(nd_other, "neighbour discovery that concerns other addresses")      \
	X(nd_conflict, "another station that claims our IPv6 address")        \
	X(ip_version, "IP version is not that of the frame's type")           \
	X(ip_header, "IP header length out of range, or extension headers")   \
	X(ip_checksum, "IP header checksum wrong")                            \
	X(ip_length, "IP total length does not fit the frame")                \
	X(ip_fragment, "fragment of a datagram")                              \
	X(ip_destination, "destination address is not ours")                  \
	X(ip_source, "source address cannot be a host, or is our own")        \
	X(ip_protocol, "neither UDP, TCP nor ICMP")                           \
	X(udp_length, "UDP length does not fit the IP length")                \
	X(udp_checksum, "UDP checksum wrong")                                 \
	X(udp_no_checksum, "UDP without a checksum from outside the cluster") \
	X(udp_source, "UDP source port 0")                                    \
	X(icmp_length, "ICMP shorter than its header")                        \
	X(icmp_checksum, "ICMP checksum wrong")                               \
	X(icmp_kind, "ICMP that nobody asked for, as redirects")              \
	X(tap_port, "for the kernel, to a port that is not open")             \
	X(tap_source, "for the kernel, from an address of the other leg")
enum rd_rx_drop {
#define X(n, h) RD_DROP_##n,
	RD_RX_DROPS(X)
#undef X
		RD_RX_DROPS_COUNT
};
extern const char *const rd_rx_drop_names[RD_RX_DROPS_COUNT];
extern const char *const rd_rx_drop_help[RD_RX_DROPS_COUNT];

enum rd_rx_verdict {
	RD_RX_DROP,	   /* see drop */
	RD_RX_SUCI,	   /* UDP to our port: payload_off, payload_len, src_ip, src_port */
	RD_RX_GATEWAY,	   /* UDP to gateway_port; likewise */
	RD_RX_ARP_REQUEST, /* for our address: answer; src_ip, src_mac may be learned */
	RD_RX_ARP_REPLY,   /* src_ip, src_mac; announced: to everybody, unasked */
	RD_RX_ECHO,	   /* ICMP echo request to us */
	RD_RX_UNREACHABLE, /* ICMP says that quoted_ip:quoted_port cannot be reached */
	RD_RX_ND_REQUEST,  /* as ARP's, for IPv6 */
	RD_RX_ND_REPLY,
	RD_RX_TAP,	/* for the kernel: to an open port, or about what it sent from one */
	RD_RX_TAP_FLOW, /* for the kernel if it began that flow, else RD_DROP_tap_port */
};

/* Ports of the kernel that strangers may talk to. */
#define RD_OPEN_MAX 24
struct rd_open {
	uint8_t protocol; /* 6 TCP, 17 UDP */
	uint16_t first, last;
};

/* The IPv6 side of a leg. */
struct rd_six {
	uint8_t address[16], gateway[16]; /* gateway: next hop; all zero = none */
	uint32_t prefix_len;		  /* 1 .. 127 */
};

#define RD_STATION_MORE 32
/* What a leg is called.  Frames are written in the name of address; the further
 * addresses are answered for (ARP, echo), and TCP and UDP to them is the kernel's. */
struct rd_station {
	uint8_t mac[6];
	uint32_t address;
	uint32_t prefix_len;   /* 1 .. 31 */
	uint32_t gateway;      /* next hop; 0 = none */
	uint16_t udp_port;     /* our worker's: what frames are written with */
	uint16_t udp_first;    /* worker i is at udp_first + i */
	uint16_t nshards;      /* workers; 0: one, at udp_port */
	uint16_t gateway_port; /* UDP port of the gateway to foreign hosts; 0 = none */
	bool sum_required;     /* datagrams without a UDP checksum are dropped */
	bool ports_sum;	       /* of all that is sent on: tail_sum is not wanted */
	uint32_t nmore;
	uint32_t more[RD_STATION_MORE];
	uint32_t nopen;
	struct rd_open open[RD_OPEN_MAX];
	uint32_t other, other_mask;	/* the other leg's subnet; mask 0: not known */
	const struct rd_six *six;	/* NULL: the leg has no IPv6 address */
	const struct rd_six *other_six; /* the other leg's; NULL: likewise */
};
/* One of the station's addresses? */
bool rd_station_has(const struct rd_station *self, uint32_t address);

struct rd_rx_frame {
	enum rd_rx_verdict verdict;
	enum rd_rx_drop drop;
	uint32_t src_ip;
	uint16_t src_port;
	uint16_t ip_hdr_len;
	uint32_t payload_off; /* from the frame's first byte */
	uint32_t payload_len;
	uint32_t frame_len; /* without Ethernet padding */
	/* RD_RX_SUCI with a right checksum: what begins at tail_off adds tail_sum to one, see
	 * rd_udp_checksum(); tail_off 0: not known. */
	uint16_t tail_off, tail_sum;
	uint32_t quoted_ip;
	uint16_t quoted_port;
	uint16_t quote_off, quote_len; /* UDP payload in the quote, as much as there is */
	/* IPv6: where in the frame the address is that src_ip, quoted_ip would be; 0: it is IPv4.
	 */
	uint16_t src_6, quoted_6;
	uint8_t icmp_code;
	uint8_t ecn;   /* of the IP header, with RD_RX_SUCI and RD_RX_GATEWAY */
	uint8_t known; /* as given */
	uint8_t src_mac[6];
	bool announced;
	struct rd_flow flow; /* RD_RX_TAP, RD_RX_TAP_FLOW */
};

/* What the port has found out of a frame's checksums, any of these; what it says nothing of is
 * summed up here. */
enum rd_known {
	RD_KNOWN_IP_GOOD = 1,
	RD_KNOWN_IP_BAD = 2,
	RD_KNOWN_UDP_GOOD = 4,
	RD_KNOWN_UDP_BAD = 8,
};

/* frame[0..len) as received, without FCS.  Of a datagram that has no checksum, or that is shorter
 * than its IP packet, the port is not believed: some say bad of the one, and what they sum up of
 * the other is theirs. */
void rd_packet_parse_known(const struct rd_station *self, const uint8_t *frame, size_t len,
			   uint32_t known, struct rd_rx_frame *out);
/* The same if nothing is known. */
void rd_packet_parse(const struct rd_station *self, const uint8_t *frame, size_t len,
		     struct rd_rx_frame *out);

/* A frame whose sender has left the TCP or UDP checksum to a port that it never met (virtual
 * machines and kernels of this machine): put it in.  False: it is none that could have such a
 * checksum, or it says that it has none; then nothing is changed. */
bool rd_packet_complete(uint8_t *frame, size_t len);

/* VLAN tags (IEEE 802.1Q).  A frame with the tag of vlan is untagged by moving its MACs over it:
 * then it begins RD_VLAN_TAG later.  False: it has no tag or another one, and is as it was. */
#define RD_VLAN_TAG 4u
#define RD_VLAN_MAX 0xfffu
bool rd_packet_untag(uint8_t *frame, size_t len, uint16_t vlan);
/* Tag a frame that has RD_VLAN_TAG bytes of room in front; it begins so much earlier then. */
void rd_packet_tag(uint8_t *frame, uint16_t vlan);

/* Is a frame for this one of two stations with one MAC?  So it is if it goes to one of its
 * addresses, or claims one, or is ARP to all out of its subnet; all of IPv6 if it has an address
 * of that. */
bool rd_packet_concerns(const struct rd_station *self, const uint8_t *frame, size_t len);

/* Which worker is a frame for?  Looks no further than it must: datagrams to a worker's port,
 * and ICMP errors about one of its own, are that worker's; what a leg has one place for (ARP,
 * TCP, other ICMP and UDP, to one of our addresses) is worker 0's; and RD_SHARD_HERE says that
 * whoever has it is as good as another: echo, the gateway's datagrams, what is to be dropped. */
#define RD_SHARD_HERE UINT32_MAX
uint32_t rd_packet_shard(const struct rd_station *self, const uint8_t *frame, size_t len);

/* Ones' complement sum (RFC 1071) of a byte string, continued from sum; pieces
 * before the last must have even length.  rd_cksum_fold makes the checksum. */
uint64_t rd_cksum_add(uint64_t sum, const void *data, size_t len);
/* Of a datagram in front of RD_TAIL_OFF there is all that a relay writes anew; from
 * RD_TAIL_MIN bytes on what is behind is summed up apart. */
#define RD_TAIL_OFF 192u /* from the UDP header */
#define RD_TAIL_MIN 384u
/* The same sum in 16 bits.  A number and itself with its halves exchanged: the upper half of what
 * they add up to is the sum of the halves, with what the lower one carries. */
static inline uint16_t
rd_sum_16(uint64_t sum)
{
	uint32_t s = (uint32_t)((sum + (sum << 32 | sum >> 32)) >> 32);
	return (uint16_t)((s + (s << 16 | s >> 16)) >> 16);
}
static inline uint16_t
rd_cksum_fold(uint64_t sum)
{
	return (uint16_t)~__builtin_bswap16(rd_sum_16(sum));
}
/* What rd_cksum_add() takes for whole blocks, by what the processor has; for tests: the best
 * and those before it work here. */
enum rd_sum_way { RD_SUM_ANY, RD_SUM_AVX2, RD_SUM_AVX512 };
#define RD_SUM_BLOCK 64u
enum rd_sum_way rd_sum_best(void);
uint64_t rd_sum_by(enum rd_sum_way way, const void *data, size_t blocks);
/* Sum of the IPv4 pseudo header. */
uint64_t rd_cksum_pseudo(uint32_t src, uint32_t dst, uint8_t protocol, uint32_t len);

/* Where a datagram goes on the link: dst itself, the gateway, or 0 (no route). */
uint32_t rd_next_hop(const struct rd_station *self, uint32_t dst);

/* Write the RD_FRAME_HDR bytes in front of a UDP payload of payload_len bytes, with these ECN
 * bits. The UDP checksum field is left zero (rd_udp_checksum, or the NIC). */
void rd_write_udp(uint8_t *at, const struct rd_station *self, const uint8_t dst_mac[6],
		  uint32_t dst_ip, uint16_t dst_port, uint16_t ip_id, uint32_t payload_len,
		  uint8_t ecn);
/* Fill in the UDP checksum of a frame written by rd_write_udp, with the first `here` bytes of
 * the payload behind it.  What follows them is summed up already: rest is rd_cksum_add over it
 * as if it began at an even offset (here may be odd).  Nothing follows: 0. */
void rd_udp_checksum(uint8_t *frame, size_t here, uint64_t rest);
/* Put dst_mac in (neighbour found after the frame was built). */
void rd_set_dst_mac(uint8_t *frame, const uint8_t dst_mac[6]);

/* RD_ARP_FRAME bytes: who has target?  dst_mac NULL: broadcast. */
void rd_write_arp_request(uint8_t *at, const struct rd_station *self, uint32_t target,
			  const uint8_t *dst_mac);
/* The same length, to all: address, one of our own, is here.  Caches that believed another station
 * take it back. */
void rd_write_arp_announcement(uint8_t *at, const struct rd_station *self, uint32_t address);
/* Turn the ARP request in frame (RD_RX_ARP_REQUEST) into our answer for the address it
 * asks for. */
void rd_arp_answer(uint8_t *frame, const struct rd_station *self);
/* ARP frames of the own kernel.  The address a request asks for, 0: it is none, or asks about
 * itself. */
uint32_t rd_arp_asked(const uint8_t *frame, size_t len);
/* Turn such a request into its answer: mac has what it asks for. */
void rd_arp_tell(uint8_t *frame, const uint8_t mac[6]);
/* An IPv4 frame of the own kernel: whom it talks to if that host has answered before or the
 * kernel began it (TCP that is not just refused or half open), else 0. */
uint32_t rd_kernel_peer(const uint8_t *frame, size_t len);
/* An IPv4 frame of the own kernel: the flow whose answers may come in.  False: none; answers from
 * open ports are not the kernel's beginnings. */
bool rd_kernel_flow(const struct rd_station *self, const uint8_t *frame, size_t len,
		    struct rd_flow *flow);
/* Turn the echo request in frame (RD_RX_ECHO) into its answer. */
void rd_echo_answer(uint8_t *frame, const struct rd_rx_frame *f);

#endif
