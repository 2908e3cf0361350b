/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp/engine.h - the engine of one process: matches, places, keeps.
 *
 * It has the receive half of the area and the engine's ends of the four rings.  Transports give
 * it fragments (mmp_engine_begin, _data, _end; or mmp_engine_offer for one that stays where it
 * is) and take fragments from it (ops->send).  It reads no clock and no socket.
 *
 * Matching    Per sender and stream in the order of message numbers, whatever order
 *             fragments come in.  A message is matched as soon as its first fragment, whichever
 *             that is, has come and all messages before it have begun.
 * Credit      A far sender may have so many bytes on their way to our area or in it
 *             (mmp_engine_share) and any sender so many fragments (MMP_PEER_FRAGMENTS): freed ones
 *             are told with MMP_CREDIT.  What is without credit stays with the sender, who then
 *             announces the message: a fragment of 0 bytes.  When that is matched, MMP_WANT asks
 *             for the rest, which goes straight into the buffer.  So a receive that is posted
 * always ends, whatever else fills the area. Memory      Fixed when it is made. Hostile     A head
 * that cannot be, a sender without credit: MMP_BAD, counted, and the caller ends the peer. Threads
 * one owner, the engine's. */
#ifndef MMP_ENGINE_H
#define MMP_ENGINE_H

#include "mmp/slots.h"

#define MMP_PEER_FRAGMENTS 1024u /* of one sender, not freed */
#define MMP_PEER_WANTS	   256u	 /* messages to one peer that were announced for want of credit */
#define MMP_BAD		   (UINT32_MAX - 1)

struct mmp_engine;

struct mmp_engine_ops {
	/* A fragment or word for peer.  data stays valid until mmp_engine_sent(name); a name of
	 * MMP_NONE has no data and is not reported.  false: not now, asked again next turn. */
	bool (*send)(void *user, uint32_t peer, const struct mmp_head *head, const void *data,
		     uint32_t name);
	/* What mmp_engine_offer() gave is not needed any more. */
	void (*release)(void *user, uint32_t peer, uint32_t cookie);
};

struct mmp_engine_config {
	uint32_t rank, size;
	struct mmp_rings rings;
	const uint8_t *send_half; /* where the program's fragments are */
	uint8_t *recv_half;
	uint64_t recv_bytes; /* multiple of 64 */
	const struct mmp_engine_ops *ops;
	void *user;
};

#define MMP_ENGINE_COUNTERS(X)                                            \
	X(straight, "fragments placed in a posted buffer")                \
	X(held, "fragments kept until a receive took them")               \
	X(stalls, "fragments that waited for credit")                     \
	X(wants, "messages asked for because their sender had no credit") \
	X(refused, "fragments refused because the area had no piece")     \
	X(drop_head, "fragments with a head that cannot be")              \
	X(drop_number, "fragments of a message that is over")             \
	X(drop_credit, "fragments or words without credit")               \
	X(drop_mixed, "fragments that contradict their message")
struct mmp_engine_counters {
#define X(n, h) uint64_t n;
	MMP_ENGINE_COUNTERS(X)
#undef X
};

/* Bytes of memory for the engine of a job of so many processes.  Most of it is not touched before
 * it is needed. */
size_t mmp_engine_footprint(uint32_t size);
/* mem: so many bytes, zeros. */
struct mmp_engine *mmp_engine_new(void *mem, const struct mmp_engine_config *c);

/* Bytes of our area each far peer may fill: tell them.  0: the area is too small. */
uint64_t mmp_engine_share(const struct mmp_engine *e);
/* The peer can be sent to.  near: shares memory; else share is what it told. */
void mmp_engine_up(struct mmp_engine *e, uint32_t peer, bool near, uint64_t share);
/* Nothing can be sent to it until mmp_engine_up() is called again.  Fragments of it that
 * were begun come again and are taken back before. */
void mmp_engine_pause(struct mmp_engine *e, uint32_t peer);
/* It is gone: what waits for it ends with err.  Fragments of it that were begun are aborted before,
 * and mmp_engine_sent() is called for all that ops->send took. */
void mmp_engine_down(struct mmp_engine *e, uint32_t peer, int err);

/* Take what the program asks, send, tell the program.  True: something was done. */
bool mmp_engine_turn(struct mmp_engine *e);
/* Nothing waits for a turn. */
bool mmp_engine_idle(const struct mmp_engine *e);
/* The same, or all that does waits until the program reads a ring of ours that is full: then it
 * rings (mmp_port_rang). */
bool mmp_engine_waits(struct mmp_engine *e);
/* Fragments that ops->send took and that were not reported, and those that wait for it. */
uint32_t mmp_engine_unsent(const struct mmp_engine *e);
/* The memory of a fragment is free. */
void mmp_engine_sent(struct mmp_engine *e, uint32_t name);

/* May a fragment of so many bytes begin, even if it has to be held? */
bool mmp_engine_room(const struct mmp_engine *e, uint64_t bytes);
/* A fragment or word comes, after it the bytes its head says.  Its record; MMP_NONE: it has none (a
 * word, or nothing follows); MMP_BAD: see Hostile. */
uint32_t mmp_engine_begin(struct mmp_engine *e, uint32_t peer, const struct mmp_head *h);
void mmp_engine_data(struct mmp_engine *e, uint32_t record, uint64_t off, const void *data,
		     uint64_t len);
void mmp_engine_end(struct mmp_engine *e, uint32_t record);
void mmp_engine_abort(struct mmp_engine *e, uint32_t record);
/* The same, and it will be begun again: its sender's credit is as before. */
void mmp_engine_take_back(struct mmp_engine *e, uint32_t record);
/* All of a fragment at once, at data, which stays there until ops->release(cookie); with
 * MMP_NONE for cookie only during the call.  MMP_NONE or MMP_BAD. */
uint32_t mmp_engine_offer(struct mmp_engine *e, uint32_t peer, const struct mmp_head *h,
			  const void *data, uint32_t cookie);

struct mmp_engine_peer {
	uint64_t stalls, straight, held, sent_bytes, received_bytes;
	bool up, near;
	int error;
};
void mmp_engine_get_peer(const struct mmp_engine *e, uint32_t peer, struct mmp_engine_peer *out);
const struct mmp_engine_counters *mmp_engine_counters(const struct mmp_engine *e);
/* For tests: no message, fragment, receive or announcement is kept; what: the first kind that is.
 */
bool mmp_engine_empty(const struct mmp_engine *e, const char **what);
const struct mmp_area *mmp_engine_area(const struct mmp_engine *e);

#endif
