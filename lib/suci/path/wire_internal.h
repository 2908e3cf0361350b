/* SPDX-License-Identifier: BSD-2-Clause */
/* wire_internal.h - the fields of suci/wire.h as structs, and both directions
 * of the conversion.  Decoders read outside bytes: they never assert, and
 * return false for what does not have the documented shape.  Encoders write
 * to buffers the caller sized by the SUCI_* lengths, and return the length. */
#ifndef SUCI_WIRE_INTERNAL_H
#define SUCI_WIRE_INTERNAL_H

#include "suci/endpoint.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct suci_path_hdr {
	uint8_t version, type, flags;
	uint16_t ack_len;
	uint32_t path_tag, pn, time_us;
};

/* range[0] ends at largest; then going down, never touching.  n is 0 if nothing
 * has arrived; then something was refused. */
struct suci_ack {
	uint32_t largest, echo_us;
	uint16_t delay_us, credit;
	uint8_t flags;
	uint16_t ask; /* with SUCI_AF_ROOM, to grant */
	uint8_t waiting, ask_prio;
	uint32_t used, grant;
	uint32_t ect, ce; /* with SUCI_AF_ECN */
	uint32_t n;	  /* ranges in use, 0 .. SUCI_ACK_RANGES_MAX + 1 */
	uint32_t nrefused;
	struct suci_pn_range {
		uint32_t lo, hi; /* inclusive */
	} range[SUCI_ACK_RANGES_MAX + 1], refused[SUCI_ACK_REFUSED_MAX];
};

/* A part of a segment: so many bytes from off. */
struct suci_part {
	uint32_t id, low;
	uint16_t off, total, len;
	const uint8_t *bytes;
};

struct suci_body {
	bool joins; /* OPEN, ACCEPT: from the path header, SUCI_PF_PART */
	uint32_t tag;
	uint16_t mtu, hello_len;
	uint64_t incarnation, cookie, peer_incarnation;
	const uint8_t *hello;
	/* Sealed: the sender's nonce, and which of our keys it was sealed under. */
	const uint8_t *nonce;
	uint32_t psk, attempt;
	uint64_t who; /* OPEN, with identities: of the sender's public key */
	/* Sealed: what the key schedule has behind OPEN and ACCEPT, and the public key that an
	 * ACCEPT of ours has to show. */
	uint8_t ck_open[SEAL_HASH], ck_accept[SEAL_HASH], once[SEAL_DH];
	uint32_t offer;	  /* OPEN, ACCEPT: from the path header, see credit.c */
	uint32_t time_us; /* likewise */
};

struct suci_close { /* body of CLOSE and RESET */
	uint16_t reason;
	uint16_t text_len;
	const uint8_t *text;
};

static inline bool
suci_path_hdr_decode(struct suci_path_hdr *h, const uint8_t *p, size_t len)
{
	if (len < SUCI_PATH_HDR)
		return false;
	h->version = p[0] >> 4;
	h->type = p[0] & 15;
	h->flags = p[1];
	h->ack_len = be16_load(p + 2);
	h->path_tag = be32_load(p + 4);
	h->pn = be32_load(p + 8);
	h->time_us = be32_load(p + 12);
	return true;
}

static inline size_t
suci_path_hdr_encode(const struct suci_path_hdr *h, uint8_t out[SUCI_PATH_HDR])
{
	out[0] = (uint8_t)(h->version << 4 | h->type);
	out[1] = h->flags;
	be16_store(out + 2, h->ack_len);
	be32_store(out + 4, h->path_tag);
	be32_store(out + 8, h->pn);
	be32_store(out + 12, h->time_us);
	return SUCI_PATH_HDR;
}

/* len is the header's ack_len: it has to match exactly. */
bool suci_ack_decode(struct suci_ack *a, const uint8_t *p, size_t len);
/* At most SUCI_ACK_MAX bytes. */
size_t suci_ack_encode(const struct suci_ack *a, uint8_t *out);

/* Everything from the lane header to the end of the datagram; seg->data points
 * into p, seg->cookie is 0. */
bool suci_segment_decode(struct suci_segment *s, const uint8_t *p, size_t len);
/* SUCI_LANE_HDR or, on FIRST, SUCI_LANE_HDR + SUCI_FIRST_EXT bytes. */
size_t suci_segment_encode(const struct suci_segment *s, uint8_t *out);

/* Everything behind the ack block; false if the range is empty or not within the segment, or
 * that has not even a lane header. */
bool suci_part_decode(struct suci_part *t, const uint8_t *p, size_t len);
/* SUCI_PART_HDR bytes. */
size_t suci_part_encode(const struct suci_part *t, uint8_t *out);

bool suci_body_decode(struct suci_body *b, const uint8_t *p, size_t len);
size_t suci_body_encode(const struct suci_body *b, uint8_t *out);

bool suci_close_decode(struct suci_close *f, const uint8_t *p, size_t len);
size_t suci_close_encode(const struct suci_close *f, uint8_t *out);

#endif
