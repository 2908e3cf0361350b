/* lane_private.h - what lanes.c, lane_tx.c and lane_rx.c share.
 *
 * A lane is found by the label of its remote process (an array), then by the
 * label of its local one (a short chain: an end host has one process).  The
 * receive half is tied to no path: segments may come in over any. */
#ifndef SUCI_LANE_PRIVATE_H
#define SUCI_LANE_PRIVATE_H

#include "private.h"
#include "suci/lane.h"

#define COOKIE_ACK UINT64_MAX /* a segment that belongs to no block */
#define NACKS_MAX  4	      /* refused ranges of a lane not yet told */
#define AGAIN_MAX  64	      /* refused ranges of a lane waiting to be sent again */

/* The first segment carries block_bytes in its header and as much less payload, so that
 * all segments of a block but the last make datagrams of one length: a kernel cuts them
 * out of one send (UDP GSO). */
static inline uint64_t
lane_seg_offset(uint32_t k, uint32_t mss)
{
	return k ? (uint64_t)k * mss - SUCI_FIRST_EXT : 0;
}

/* Segments of a block; mss > SUCI_FIRST_EXT. */
static inline uint64_t
lane_nsegs(uint64_t bytes, uint32_t mss)
{
	return (bytes + SUCI_FIRST_EXT - 1) / mss + 1;
}

enum lane_state { LANE_FREE, LANE_OPEN, LANE_ENDING };

struct tx_block {
	uint32_t next, prev; /* in its lane, or free list */
	uint32_t lane;	     /* NONE: the lane is gone, waits for the path */
	uint32_t first_seq, nsegs, sent;
	uint32_t held;	/* segments the path holds */
	uint32_t acked; /* segments the path's peer has */
	uint32_t mss;
	bool wait;
	uint8_t head_len;
	const uint8_t *data;
	uint64_t bytes; /* head and data */
	uint64_t cookie;
	uint8_t head[SUCI_BLOCK_HEAD_MAX];
};

struct rx_block {
	uint32_t next, prev;
	uint32_t first_seq, nsegs, left, mss;
	uint64_t bytes;
	void *handle;
};

struct rx_held {
	uint32_t next, prev;
	struct suci_segment seg;
};

struct rx_range { /* placed out of order; or, in again, refused by the receiver */
	uint32_t next, prev;
	uint32_t lo, end; /* end is the first not in it */
};

struct lane {
	uint8_t state;
	bool ready; /* in its path's ring */
	bool busy;  /* inside a receive callback */
	bool close_wanted;
	bool broken; /* take down with lane_down when not busy */
	bool ack_pending;
	bool ask_set;
	uint32_t label_next;
	uint32_t path_next, path_prev;
	uint32_t ready_next, ready_prev;
	uint32_t pending_next, pending_prev;
	struct suci_lane_conf conf;
	/* sending */
	uint32_t next_seq;
	uint32_t acked_seq;   /* relayed: everything before is placed */
	uint32_t outstanding; /* direct: segments the path holds */
	uint32_t tx_window;
	struct suci_list blocks; /* in order of sending, not done */
	uint32_t current;	 /* first not completely sent */
	uint32_t blocks_queued;
	struct suci_list again; /* relayed: refused by the receiver, sorted */
	uint32_t nagain;
	/* receiving */
	uint32_t rx_next;    /* everything before is placed */
	uint32_t next_begin; /* seq of the first block not begun */
	uint32_t told;	     /* rx_next as last told to the sender */
	uint32_t ask_seq;
	uint32_t crc_bad; /* in a row */
	/* Relayed: thrown away for want of room.  The lane is an asker until everything
	 * before refused_end is placed. */
	bool asker;
	uint8_t nnacks;
	uint32_t refused_end;
	struct lane_nack {
		uint32_t lo, end;
	} nack[NACKS_MAX];
	struct suci_list ranges, rx_blocks, held;
};

struct suci_lanes {
	struct suci *ep;
	const struct suci_lane_ops *ops;
	void *user;
	struct suci_lane_limits limits;
	struct lane *lane;
	uint32_t *label; /* by rx_src_label: first lane */
	struct tx_block *block;
	struct rx_block *rx_block;
	struct rx_held *held;
	struct rx_range *range;
	struct rx_range *again;
	uint32_t lane_free, block_free, rx_block_free, held_free, range_free, again_free;
	uint32_t held_left;
	uint32_t again_more;	/* in use beyond each lane's first */
	uint32_t askers[PRIOS]; /* lanes that were refused something, by priority */
	uint32_t pending_blocks;
	/* What is free, and what held segments will need of it when their turn
	 * comes: they were acknowledged, so there is no refusing them then. */
	uint32_t ranges_left, ranges_owed, rx_blocks_left, rx_blocks_owed;
	struct suci_list pending; /* lanes with an ack to tell */
	struct suci_lane_counters count;
};

/* lanes.c */
struct lane *lane_get(struct suci_lanes *ls, uint32_t lane);
static inline uint32_t
lane_index(const struct suci_lanes *ls, const struct lane *l)
{
	return (uint32_t)(l - ls->lane);
}
uint32_t lane_crc(uint64_t salt, const struct suci_segment *s, uint16_t skip_off,
		  uint16_t skip_len);
/* Take the lane down: blocks not done, lane_down if text is given. */
void lane_end(struct suci_lanes *ls, struct lane *l, enum suci_down why, const char *text,
	      uint64_t now_ns);
/* The same while its path lives on: its segments are taken from the path. */
void lane_abort(struct suci_lanes *ls, struct lane *l, const char *text, uint64_t now_ns);

/* lane_tx.c */
bool lane_pull(void *user, uint32_t path, struct suci_segment *seg, uint64_t now_ns);
void lane_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate,
		   uint64_t now_ns);
void lane_ready(struct suci_lanes *ls, struct lane *l);
void lane_unready(struct suci_lanes *ls, struct lane *l);
/* ack and window of a segment from the other side. */
void lane_heard(struct suci_lanes *ls, struct lane *l, const struct suci_segment *seg,
		uint64_t now_ns);
void lane_tx_end(struct suci_lanes *ls, struct lane *l, uint64_t now_ns);
void lane_fill_ack(struct suci_lanes *ls, struct lane *l, struct suci_segment *seg);
/* The other side threw these away. */
void lane_refused(struct suci_lanes *ls, struct lane *l, uint32_t lo, uint32_t n);

/* lane_rx.c */
enum suci_verdict lane_segment(void *user, uint32_t path, const struct suci_segment *seg,
			       uint64_t now_ns);
uint32_t lane_room(void *user, uint32_t path);
void lane_ack_unpend(struct suci_lanes *ls, struct lane *l);
/* ack and window of our side, as of now, into a segment. */
void lane_put_ack(struct suci_lanes *ls, struct lane *l, struct suci_segment *seg);
void lane_acks_due(void *user, uint64_t now_ns);
void lane_rx_end(struct suci_lanes *ls, struct lane *l);

#endif
