/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp/lanes.h - fragments over lanes of Suci: the part that every transport of them has alike.
 *
 * The transport owns the endpoint: it opens paths, knows who is behind them and who has gone.  For
 * each peer it opens a lane here, and MMP_LANES_OPS are the calls of its table that carry
 * fragments; the others (accept, path_up, path_down, lane_down, hold, release) are its own.  All of
 * them get the struct mmp_lanes as their user, the transport's own is in it.
 *
 * Peers are ranks.  A path or lane of nobody has the peer MMP_NONE: what comes on it is dropped.
 *
 * Threads  one owner, the engine's. */
#ifndef MMP_LANES_H
#define MMP_LANES_H

#include "mmp/far.h"
#include "suci/lane.h"

struct mmp_lanes {
	struct mmp_far *far;
	struct suci_lanes *lanes;
	uint32_t rank;
	uint32_t *path_peer, *lane_peer; /* by path and by lane */
	void *user;
};

void *mmp_lanes_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first,
		      size_t first_len, uint64_t now_ns);
void mmp_lanes_data(void *user, uint32_t lane, void *block, uint64_t off, const uint8_t *data,
		    size_t len);
void mmp_lanes_end(void *user, uint32_t lane, void *block, uint64_t now_ns);
void mmp_lanes_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns);
bool mmp_lanes_room(void *user, uint32_t lane, uint64_t bytes);
bool mmp_lanes_path_room(void *user, uint32_t path);
/* In the initializer of a struct suci_lane_ops. */
#define MMP_LANES_OPS                                                                             \
	.block_begin = mmp_lanes_begin, .block_data = mmp_lanes_data, .block_end = mmp_lanes_end, \
	.block_done = mmp_lanes_done, .block_room = mmp_lanes_room, .room = mmp_lanes_path_room

/* The lane to that peer, on its path; 0, or as suci_lane_open(). */
int mmp_lanes_open(struct mmp_lanes *m, uint32_t peer, uint32_t path, uint32_t window,
		   uint32_t *lane, uint64_t now_ns);
/* The same between a door of ours and one of the peer (door/sites.h).  turn is that of the link:
 * segments of another turn's lane are none of this one. */
int mmp_lanes_open_doors(struct mmp_lanes *m, uint32_t peer, const struct suci_lane_conf *between,
			 uint32_t turn, uint32_t *lane, uint64_t now_ns);
/* A fragment or word, as mmp_engine_ops.send; false also if lane is MMP_NONE. */
bool mmp_lanes_send(struct mmp_lanes *m, uint32_t lane, const struct mmp_head *h, const void *data,
		    uint32_t name, uint64_t now_ns);
/* The same to a peer with a link (mmp/link.h); lane may be MMP_NONE. */
bool mmp_lanes_send_linked(struct mmp_lanes *m, uint32_t peer, uint32_t lane,
			   const struct mmp_head *h, const void *data, uint32_t name,
			   uint64_t now_ns);
/* What its link has for that lane.  false: there was no room for all of it. */
bool mmp_lanes_push(struct mmp_lanes *m, uint32_t peer, uint32_t lane, uint64_t now_ns);

#endif
