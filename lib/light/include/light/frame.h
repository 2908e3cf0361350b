/* SPDX-License-Identifier: BSD-2-Clause */
/* light/frame.h - what a relay with optical ports (agent) and the relay that drives the switch
 * (controller) tell each other, over one TCP connection that the agent opens.
 *
 *     u32 length of what follows | u8 type | body
 *
 * agent to controller
 *   1 HELLO    u32 'LITE' | u8 1 | u32 ipv4 | u16 port | u8 n | n x { u16 switch port | u32 ipv4 |
 *              u16 port }     the relay's global address; its optical ports, slot by slot
 *   2 JOB      u64 key | u8 client     processes of this client of the job are here
 *   3 JOB_END  u64 key
 *   7 LINK     u32 link | u8 slot | u8 state     BASE_LIGHTPATH_OPEN, _FAILED or _DRAINED
 * controller to agent
 *   5 LINK_UP  u32 link | u8 slot | u32 ipv4 | u16 port | u32 light ipv4 | u16 light port
 *              the slot is lit towards that relay, whose optical port has the second address
 *   6 LINK_DOWN u32 link | u8 slot
 *   8 OFFER    u8 on | u8 ports | u8 mode | u64 light_from | u8 version     for all processes
 * both
 *   4 NOTE     u64 key | u32 rank | u16 length | note (light/note.h) | n x u8 client
 *              of, or for, the process of that world rank; LIGHT_ANY: for all of the job there.
 *              Behind a COMM: which client each of its ranks belongs to.
 *   9 PING
 *
 * A session that is lost is forgotten by both: the agent's links go dark, all calls in which its
 * processes are go by packets, and the next session begins with HELLO and all JOBs.
 *
 * Threads  plain functions. */
#ifndef LIGHT_FRAME_H
#define LIGHT_FRAME_H

#include "base/lightpath.h"
#include "light/note.h"

#define LIGHT_SLOTS_MAX	 16u
#define LIGHT_CLIENTS	 32u /* IMPI's bound of clients */
#define LIGHT_FRAME_HEAD 5u
#define LIGHT_FRAME_MAX	 (LIGHT_FRAME_HEAD + 8u + 4u + 2u + LIGHT_NOTE_MAX + LIGHT_NOTE_RANKS)

enum light_frame_type {
	LIGHT_FRAME_HELLO = 1,
	LIGHT_FRAME_JOB = 2,
	LIGHT_FRAME_JOB_END = 3,
	LIGHT_FRAME_NOTE = 4,
	LIGHT_FRAME_LINK_UP = 5,
	LIGHT_FRAME_LINK_DOWN = 6,
	LIGHT_FRAME_LINK = 7,
	LIGHT_FRAME_OFFER = 8,
	LIGHT_FRAME_PING = 9,
};

struct light_addr {
	uint32_t ipv4;
	uint16_t port;
};

struct light_port {
	uint16_t switch_port;
	struct light_addr addr;
};

struct light_hello {
	struct light_addr relay;
	uint8_t n;
	struct light_port port[LIGHT_SLOTS_MAX];
};

struct light_frame {
	uint8_t type; /* enum light_frame_type */
	uint64_t key; /* JOB, JOB_END, NOTE */
	uint8_t client;
	uint32_t rank;	     /* NOTE */
	const uint8_t *note; /* NOTE: [note_len]; decoded: within the bytes given */
	uint16_t note_len;
	const uint8_t *clients; /* NOTE: [nclients] or NULL */
	uint16_t nclients;
	uint32_t link; /* LINK* */
	uint8_t slot, state;
	struct light_addr peer, light; /* LINK_UP */
	struct light_offer offer;
	struct light_hello hello;
};

/* Returns the length written. */
size_t light_frame_encode(const struct light_frame *f, uint8_t out[LIGHT_FRAME_MAX]);
/* How many bytes it took; 0: there are not enough yet; MALFORMED. */
long light_frame_decode(const uint8_t *in, size_t len, struct light_frame *f);

#endif
