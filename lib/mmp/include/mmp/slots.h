/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp/slots.h - what program and engine of one process tell each other, in four rings.
 *
 *	send request     program -> engine   a fragment to send
 *	send reply       engine -> program   fragments whose memory is free again
 *	receive notice   engine -> program   held fragments to copy, receives that are done
 *	receive reply    program -> engine   held fragments that were copied; receives posted
 *
 * Everything else each keeps to itself. */
#ifndef MMP_SLOTS_H
#define MMP_SLOTS_H

#include "mmp/area.h"
#include "mmp/head.h"
#include "mmp/ring.h"

#define MMP_INLINE 20u /* bytes of a short fragment in its slot */
#define MMP_NAMES  12u /* in a slot */

struct mmp_send_request { /* 60 bytes */
	struct mmp_head head;
	uint32_t peer;
	uint32_t name; /* of the fragment, the program's */
	union {
		uint8_t in[MMP_INLINE]; /* head.bytes <= MMP_INLINE */
		struct {
			uint32_t at_high, at_low; /* in the send half */
		};
	};
} __attribute__((packed, aligned(4)));
struct mmp_names {
	uint32_t n;
	uint32_t name[MMP_NAMES];
};
enum { MMP_NOTE_COPY = 1, MMP_NOTE_END = 2 };
struct mmp_notice { /* 56 bytes */
	uint32_t kind, receive;
	union {
		struct {
			uint64_t data; /* address here */
			uint64_t offset;
			uint32_t bytes, record;
		} copy;
		struct {
			uint64_t all;
			uint32_t rank;
			int32_t tag;
			int32_t error;
		} end;
	};
} __attribute__((packed, aligned(4)));
enum { MMP_REPLY_FREED = 1, MMP_REPLY_POST = 2 };
struct mmp_receive_reply {
	uint32_t kind;
	union {
		struct mmp_names freed;
		struct {
			uint32_t receive;
			int32_t from, tag; /* -1: any */
			uint32_t stream;
			uint64_t buf, bytes;
		} post;
	};
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct mmp_send_request) <= MMP_SLOT_DATA, "fits a slot");
_Static_assert(sizeof(struct mmp_notice) <= MMP_SLOT_DATA, "fits a slot");
_Static_assert(sizeof(struct mmp_receive_reply) <= MMP_SLOT_DATA, "fits a slot");

#define MMP_RING_SLOTS 256u
struct mmp_rings {
	struct mmp_ring *send_request, *send_reply, *receive_notice, *receive_reply;
};

/* Limits both sides know. */
#define MMP_SENDS_MAX	 2048u	/* fragments with the engine, all peers */
#define MMP_RECEIVES_MAX 16384u /* posted and not done */

#endif
