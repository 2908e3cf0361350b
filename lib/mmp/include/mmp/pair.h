/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp/pair.h - two processes of a node: a ring each way, fragments read where they lie.
 *
 * The ring of a direction is in memory both have mapped; the sender's half of the area is mapped
 * by the receiver, too, to read.  Short fragments are in their slot; of longer ones the slot says
 * where they are, the receiver copies them out of there once, and tells the names of those it is
 * done with in the ring of the other direction.
 *
 * Hostile  slots are copied before they are looked at; what does not fit the sender's half, or a
 *          name that was not lent, breaks the pair.
 * Threads  one owner, the engine's. */
#ifndef MMP_PAIR_H
#define MMP_PAIR_H

#include "mmp/engine.h"

struct mmp_pair {
	struct mmp_ring_end tx, rx;
	const uint8_t *own_half, *peer_half;
	uint64_t peer_bytes;
	uint8_t lent[MMP_SENDS_MAX];	     /* names the peer has */
	uint32_t done[MMP_SENDS_MAX], dones; /* names to tell the peer */
	bool pushed;			     /* since somebody cleared it */
};

/* Rings of MMP_RING_SLOTS slots. */
void mmp_pair_init(struct mmp_pair *p, void *tx_ring, void *rx_ring, const uint8_t *own_half,
		   const uint8_t *peer_half, uint64_t peer_bytes);
/* For ops->send and ops->release.  A short fragment, or a word, is reported at once. */
bool mmp_pair_send(struct mmp_pair *p, struct mmp_engine *e, const struct mmp_head *h,
		   const void *data, uint32_t name);
void mmp_pair_release(struct mmp_pair *p, uint32_t name);
/* What has come, into e.  1: something moved; 0; -1: the pair is broken. */
int mmp_pair_turn(struct mmp_pair *p, struct mmp_engine *e, uint32_t peer);
bool mmp_pair_is_empty(const struct mmp_pair *p);
/* The peer is gone: what it had is reported to e. */
void mmp_pair_down(struct mmp_pair *p, struct mmp_engine *e);

#endif
