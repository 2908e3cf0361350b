/* SPDX-License-Identifier: BSD-2-Clause */
/* frames.h - the frames of a stateless scenario: seed in, bytes out.
 *
 * Each frame is one that a relay must survive, and count under a known name.  The
 * sequence depends on struct pg_conf alone: the same configuration makes the same
 * bytes on every machine, so a pcap, a port and a later check agree on how many
 * frames of each kind there were.
 *
 * Units    bytes; IPv4 addresses and ports in host order.
 * Threads  one owner.
 * Memory   the caller's; allocates nothing.
 * Source   suci/wire.h for datagrams; RFC 791, 768, 826, IEEE 802.1Q for what is
 *          around them.  Shares no code with the parsers it is played against. */
#ifndef PKTGEN_FRAMES_H
#define PKTGEN_FRAMES_H

#include "base/prng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, help) */
#define PG_KINDS(X)                                                                    \
	X(garbage, "random bytes to the Suci port")                                    \
	X(truncated, "a valid handshake datagram cut, at every length in turn")        \
	X(bad_version, "valid but for the version")                                    \
	X(bad_type, "valid but for the type")                                          \
	X(unknown_tag, "well-formed datagrams of a path that does not exist")          \
	X(hello_flood, "valid HELLO, each of another opener")                          \
	X(bad_cookie, "OPEN with a cookie nobody gave out")                            \
	X(bad_ip_checksum, "one bit of the IP header checksum flipped")                \
	X(bad_udp_checksum, "one bit of the UDP checksum flipped")                     \
	X(ip_fragment, "a fragment whose other parts never come")                      \
	X(vlan, "802.1Q tagged")                                                       \
	X(wrong_mac, "unicast to another station's MAC")                               \
	X(arp_storm, "broadcast ARP requests, three for others to one for the target") \
	X(short_frame, "IPv4 frame that ends inside the IP header")                    \
	X(replay_hello, "one HELLO, the same bytes again and again")                   \
	X(replay_open, "one OPEN whose cookie is not good, again and again")           \
	X(replay_data, "one datagram of a path that is gone, again and again")         \
	X(over_mtu, "a segment in a frame larger than the leg's MTU")                  \
	X(long_ip, "IP total length larger than the leg's MTU, in a short frame")
enum pg_kind {
#define X(n, h) PG_##n,
	PG_KINDS(X)
#undef X
		PG_KINDS_COUNT
};
extern const char *const pg_kind_names[PG_KINDS_COUNT];
extern const char *const pg_kind_help[PG_KINDS_COUNT];
/* PG_KINDS_COUNT if there is none of that name. */
enum pg_kind pg_kind_find(const char *name);

#define PG_MTU_MIN  1280
#define PG_MTU_MAX  9600
#define PG_OVER_MAX 64 /* what an over_mtu frame may have more than fits */
/* No frame is longer: Ethernet header, MTU, and too much. */
#define PG_FRAME_MAX (14 + PG_MTU_MAX + PG_OVER_MAX)
/* What is sent again is no longer than that. */
#define PG_SAVED_MAX  256
#define PG_WEIGHT_MAX 1000000u
/* Full length of the datagram that `truncated` cuts: lengths 0 .. PG_WHOLE - 1. */
#define PG_WHOLE 64

struct pg_conf {
	uint8_t dst_mac[6], src_mac[6];
	uint32_t dst_ip, src_ip; /* different from each other */
	uint16_t dst_port;
	uint16_t mtu; /* of the target's leg, PG_MTU_MIN .. PG_MTU_MAX */
	uint64_t seed;
	uint32_t weight[PG_KINDS_COUNT]; /* 0 .. PG_WEIGHT_MAX, not all 0 */
};

struct pg_gen {
	struct pg_conf conf;
	struct base_prng prng;
	uint64_t weights;
	uint64_t made[PG_KINDS_COUNT]; /* frames made so far, by kind */
	struct {
		uint8_t frame[PG_SAVED_MAX];
		size_t len;	 /* 0: not yet made */
	} saved[PG_KINDS_COUNT]; /* of the kinds that are sent again */
};

/* False if conf breaks what is said above. */
bool pg_init(struct pg_gen *g, const struct pg_conf *conf);
/* The next frame, without FCS and padding; its length, at least 15. */
size_t pg_next(struct pg_gen *g, uint8_t out[PG_FRAME_MAX], enum pg_kind *kind);

#endif
