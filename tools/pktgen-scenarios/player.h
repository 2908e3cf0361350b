/* SPDX-License-Identifier: BSD-2-Clause */
/* player.h - one path of an emulated station as a line-rate tester plays it: segments from a
 * template, of which only what differs is written, and a sink that acknowledges.
 *
 * An endpoint of lib/suci opens the path and sends its first segments; meanwhile the player
 * looks on and learns tags, packet numbers and credit.  Once everything that was sent is
 * acknowledged, it goes on where the endpoint is (pg_player_begin()).  From then on it is bound by
 * the peer's acks (custody) and credit as the endpoint was, acknowledges what comes in with blocks
 * of lib/suci's own codec, and does nothing else: it sends nothing again, so that whatever the
 * relay loses or refuses is missing in the end and shows as lost.
 *
 * Of a sealed path it sees the plain side: headers say "sealed", the bytes behind them are those
 * before sealing and after opening, without the tag (sealed.h does the rest).
 *
 * Reads no clock, sends nothing, allocates nothing.
 *
 * Units    nanoseconds of the caller's clock, packets.
 * Threads  one.
 * Errors   what is not a datagram of the path is counted and has no effect. */
#ifndef PKTGEN_PLAYER_H
#define PKTGEN_PLAYER_H

#include "suci/endpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pg_player; /* opaque */

struct pg_player_conf {
	bool sealed;	 /* the caller seals what leaves, and gives what comes opened */
	uint32_t window; /* packets under way, 1 .. 65535 */
	uint32_t credit; /* packets the peer may have on its way here, 1 .. 32767 */
	/* Acknowledge after so many, at least 1, and what came last after that time; at once
	 * when the peer wants it or something is missing. */
	uint32_t ack_every;
	uint64_t ack_wait_ns;
};

struct pg_player_count {
	uint64_t bad;	    /* not a datagram of this path, or not one at all */
	uint64_t copies;    /* packet numbers that were here before */
	uint64_t refused;   /* packets the peer had no room for */
	uint64_t bad_acks;  /* of what was never sent */
	uint64_t acks_sent; /* datagrams */
};

size_t pg_player_size(void);
/* mem: pg_player_size() bytes, 64-byte aligned. */
struct pg_player *pg_player_new(void *mem, const struct pg_player_conf *conf);

/* A datagram that the endpoint sent over the path; only its headers are looked at. */
void pg_player_saw(struct pg_player *p, const uint8_t *dgram, size_t len);
/* One that came over it, before the endpoint or instead of it.  True: *seg is a segment that
 * is new as a packet; its data are in dgram. */
bool pg_player_rx(struct pg_player *p, const uint8_t *dgram, size_t len, uint64_t now_ns,
		  struct suci_segment *seg);
/* Is the datagram for this path's end here, and one that pg_player_rx() understands? */
bool pg_player_mine(const struct pg_player *p, const uint8_t *dgram, size_t len);

/* The path was up and both ends were heard: it can be played. */
bool pg_player_ready(const struct pg_player *p);
/* It is ready, and the endpoint has nothing on its way any more. */
void pg_player_begin(struct pg_player *p);
/* Packets that may be sent now. */
uint32_t pg_player_may(const struct pg_player *p);
/* Packets that are not acknowledged. */
uint32_t pg_player_held(const struct pg_player *p);
/* Headers of the next packet, path and lane, SUCI_PATH_HDR + SUCI_LANE_HDR (+ SUCI_FIRST_EXT)
 * bytes; only if pg_player_may(). */
size_t pg_player_head(struct pg_player *p, const struct suci_segment *seg, uint8_t *out,
		      uint64_t now_ns);
/* A datagram that acknowledges, or asks for credit, if one is due: its length, else 0.  At most
 * PG_PLAYER_ACK_MAX bytes. */
#define PG_PLAYER_ACK_MAX (SUCI_PATH_HDR + SUCI_ACK_MAX)
size_t pg_player_ack(struct pg_player *p, uint8_t *out, uint64_t now_ns);

const struct pg_player_count *pg_player_counts(const struct pg_player *p);

#endif
