/* SPDX-License-Identifier: BSD-2-Clause */
/* lane_internal.h - what lanes.c, tx.c and rx.c share.
 *
 * A lane is found by the label of its remote process (an array), then by the
 * label of its local one (a short chain: an end host has one process).  The
 * receive half is tied to no path: segments may come in over any. */
#ifndef SUCI_LANE_INTERNAL_H
#define SUCI_LANE_INTERNAL_H

#include "suci/canary.h"
#include "suci/lane.h"
#include "suci/upper.h"

#include "base/clock.h"
#include "base/ilist.h"

#define COOKIE_ACK   UINT64_MAX /* a segment that belongs to no block */
#define NACKS_MAX    4		/* refused ranges of a lane not yet told */
#define LANE_LOOK_NS (250 * BASE_MS_NS)
/* Between two times that a group's lanes send all again. */
#define LANE_RESEND_NS (50 * BASE_MS_NS)
#define AGAIN_MAX      64 /* refused ranges of a lane waiting to be sent again */

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
	struct base_ilink link; /* in its lane, or free list */
	uint32_t lane;		/* NONE: the lane is gone, waits for the path */
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
	struct base_ilink link;
	uint32_t first_seq, nsegs, left, mss;
	uint64_t bytes;
	void *handle;
};

struct rx_early {
	struct base_ilink link;
	struct suci_segment seg;
};

struct rx_range { /* placed out of order; or, in again, refused by the receiver */
	struct base_ilink link;
	uint32_t lo, end; /* end is the first not in it */
};

/* What it takes to size the window of a lane that receives; see tune.c. */
struct lane_tune {
	uint32_t lane, next; /* next: free list */
	uint32_t count;	     /* segments that came, ever */
	uint32_t mark;	     /* the first segment this round's ack let in */
	uint32_t mark_count; /* count when that ack was told */
	uint32_t mark_us;    /* its time */
	uint32_t rtt_us;     /* shortest round of the last period; 0: none yet */
	uint32_t rtt_now_us; /* and of this one */
	uint32_t period_us;  /* when it began */
	uint32_t seen;	     /* count at the last look */
	uint8_t idle;	     /* looks without anything new */
	bool marked;
};

/* An idle lane has no four bytes to give away to a hole at its end. */
typedef uint64_t lane_u64 __attribute__((aligned(4)));

/* As given in struct suci_lane_conf, without holes. */
struct lane_conf {
	lane_u64 tx_salt, rx_salt;
	uint32_t path;	/* NONE: see group; moves: it rests */
	uint32_t group; /* NONE: see path */
	uint32_t tx_dst_label, tx_src_label, rx_dst_label, rx_src_label;
	uint32_t window, window_max;
	uint16_t mss, skip_off, skip_len;
	uint8_t prio;
	bool direct : 1, crc : 1, moves : 1;
};

struct lane {
	struct lane_conf conf;
	uint8_t state;
	uint8_t life;	/* as segments say it; 0: it has none */
	bool ready : 1; /* in its ring */
	bool busy : 1;	/* inside a receive callback */
	bool close_wanted : 1;
	bool broken : 1; /* take down with lane_down when not busy */
	bool ack_pending : 1;
	bool ask_set : 1;
	bool asker : 1;	    /* see refused_end */
	bool live : 1;	    /* looked at by suci_lane_look() */
	bool told_late : 1; /* in a group: an ack left since the last look but one */
	bool told_now : 1;
	bool moved : 1;	       /* acked_seq, since the last look */
	bool block_over : 1;   /* a block came to its end, and the sender does not know */
	uint8_t ack_waits : 4; /* times that the ack owed was put off */
	uint32_t label_next;
	struct base_ilink path_link;
	uint32_t ready_next, ready_prev;
	struct base_ilink pending_link;
	struct base_ilink live_link;
	int32_t deficit; /* bytes it may send in its turn */
	/* sending */
	uint32_t next_seq;
	uint32_t acked_seq;   /* relayed: everything before is placed */
	uint32_t outstanding; /* segments that paths hold */
	uint32_t tx_window;
	uint32_t sent_ms;	  /* in 2^20 ns: when the last segment left */
	struct base_ilist blocks; /* in order of sending, not done */
	uint32_t current;	  /* first not completely sent */
	struct base_ilist again;  /* relayed: refused by the receiver, sorted */
	uint8_t stalled;	  /* looks since acked_seq moved */
	uint8_t resends : 3;	  /* since then */
	uint8_t crc_bad : 5;	  /* in a row */
	uint8_t nagain;
	/* receiving */
	uint8_t nnacks;
	uint32_t rx_next;    /* everything before is placed */
	uint32_t next_begin; /* seq of the first block not begun */
	uint32_t told;	     /* rx_next as last told to the sender */
	uint32_t window;     /* granted, if it is no asker */
	uint32_t edge;	     /* relayed: the first it was never allowed to send */
	uint32_t ask_seq;
	uint32_t tune; /* NONE while idle, or if its window is fixed */
	/* Relayed: thrown away for want of room.  The lane is an asker until everything
	 * before refused_end is placed; in_order of it came since, see grant(). */
	uint32_t refused_end, in_order;
	struct lane_nack {
		uint32_t lo, end;
	} nack[NACKS_MAX];
	struct base_ilist ranges, rx_blocks, early;
};
/* With its label and its place in the pool of ranges refused. */
_Static_assert(sizeof(struct lane) + sizeof(uint32_t) + sizeof(struct rx_range) <= 256,
	       "an idle lane takes 256 bytes at most");

/* How long lanes of a group wait for their acks, by one of them at a time. */
struct lane_pace {
	uint32_t lane; /* NONE: none is timed */
	uint32_t seq;  /* until an ack covers what comes before it */
	bool fresh;    /* what it sends next: acks of what went twice do not tell of which */
	uint16_t took; /* looks so far */
	uint16_t most; /* looks that it took lately, at most */
};

struct lane_group {
	bool used;
	bool down;	  /* has lost its last path, and lanes wait */
	uint8_t n;	  /* paths */
	uint8_t ack_turn; /* lane acks take turns, too */
	uint32_t next;	  /* free list */
	struct base_ichain lanes;
	uint32_t nlanes;
	uint32_t ready[PRIOS];	    /* as in struct lane_hop */
	uint32_t mss_used;	    /* largest a block was begun with */
	uint64_t grace_ns, down_ns; /* when the last path went */
	uint64_t resent_ns;	    /* when its lanes last sent all again */
	bool resend_due;	    /* and are to once more */
	struct lane_pace pace;
	uint64_t now; /* virtual time: of the segment dealt last */
	struct lane_member {
		uint32_t path;
		uint32_t next; /* of the path: group * SUCI_GROUP_PATHS + member */
		uint32_t weight;
		bool drains;  /* weight is 0, and no acks either */
		bool blocked; /* cannot send now */
		bool waiting; /* could, and it was another's turn */
		uint64_t at;  /* virtual time: bytes dealt / weight */
		uint64_t segments, bytes;
	} m[SUCI_GROUP_PATHS];
};

/* The lanes' words in a path.  As suci_lanes_bind() made them while the path is not in use. */
struct lane_hop {
	struct base_ichain lanes; /* those on this path */
	uint32_t groups;	  /* first of those it is in, as in struct lane_member */
	uint32_t ready[PRIOS];	  /* last of a ring of lanes with data */
	bool group_turn;	  /* its own lanes took the last one */
};
_Static_assert(sizeof(struct lane_hop) <= SUCI_UPPER_BYTES, "fits into a path");

struct suci_lanes {
	struct suci *ep;
	struct suci_upper *hops;
	const struct suci_lane_ops *ops;
	void *user;
	struct suci_lane_limits limits;
	struct lane *lane;
	uint32_t *label; /* by rx_src_label: first lane; then the buckets */
	struct tx_block *block;
	struct rx_block *rx_block;
	struct rx_early *early;
	struct rx_range *range;
	struct rx_range *again;
	struct lane_tune *tune;
	struct lane_group *group;
	uint32_t lane_free, block_free, rx_block_free, early_free, range_free, again_free,
		tune_free, group_free;
	uint32_t early_left;
	uint32_t again_more;	/* in use beyond each lane's first */
	uint32_t askers[PRIOS]; /* lanes that were refused something, by priority */
	uint32_t pending_blocks;
	/* What is free, and what held segments will need of it when their turn
	 * comes: they were acknowledged, so there is no refusing them then. */
	uint32_t ranges_left, ranges_owed, rx_blocks_left, rx_blocks_owed;
	struct base_ilist pending; /* lanes with an ack to tell */
	struct base_ilist live;	   /* lanes to look at now and then */
	uint64_t ack_at_ns, look_at_ns, resend_at_ns;
	uint32_t ack_looks;
	uint32_t credit_left;	   /* windows may grow by so much */
	uint32_t groups_down;	   /* see there */
	enum suci_verdict verdict; /* of a segment that no lane takes */
	struct suci_lane_counters count;
};

static inline struct lane_hop *
lane_hop(const struct suci_lanes *ls, uint32_t path)
{
	return suci_upper_of(ls->hops, path);
}

/* lanes.c */
struct lane *suci_lane_get(struct suci_lanes *ls, uint32_t lane);
/* The lane with these labels in our space, of that path if they are beyond labels_max; NONE. */
uint32_t suci_lane_find(struct suci_lanes *ls, uint32_t path, uint32_t src, uint32_t dst);
static inline uint32_t
lane_index(const struct suci_lanes *ls, const struct lane *l)
{
	return (uint32_t)(l - ls->lane);
}
uint32_t suci_lane_crc(uint64_t salt, const struct suci_segment *s, uint16_t skip_off,
		       uint16_t skip_len);
/* Take the lane down: blocks not done, lane_down if text is given. */
void suci_lane_end(struct suci_lanes *ls, struct lane *l, enum suci_down why, const char *text,
		   uint64_t now_ns);
/* Into the list of its path or group and the chain of its label; and out of both. */
void suci_lane_link(struct suci_lanes *ls, struct lane *l);
void suci_lane_unlink(struct suci_lanes *ls, struct lane *l);
/* The same while its path lives on: its segments are taken from the path. */
void suci_lane_abort(struct suci_lanes *ls, struct lane *l, enum suci_down why, const char *text,
		     uint64_t now_ns);

/* Run ack_at_ns, look_at_ns and resend_at_ns by the endpoint's timer for us. */
void suci_lane_arm(struct suci_lanes *ls);
/* The path for what is not dealt: that of the lane, or one of its group; or NONE. */
uint32_t suci_lane_path(const struct suci_lanes *ls, const struct lane *l);

/* tx.c */
bool suci_lane_pull(void *user, uint32_t path, struct suci_segment *seg, uint64_t now_ns);
void suci_lane_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate,
			uint64_t now_ns);
void suci_lane_ready(struct suci_lanes *ls, struct lane *l);
void suci_lane_unready(struct suci_lanes *ls, struct lane *l);
/* ack and window of a segment from the other side. */
void suci_lane_heard(struct suci_lanes *ls, struct lane *l, const struct suci_segment *seg,
		     uint64_t now_ns);
void suci_lane_tx_end(struct suci_lanes *ls, struct lane *l, uint64_t now_ns);
void suci_lane_fill_ack(struct suci_lanes *ls, struct lane *l, struct suci_segment *seg);
/* The other side threw these away, or never got them. */
void suci_lane_refused(struct suci_lanes *ls, struct lane *l, uint32_t lo, uint32_t n);
/* Relayed: report the blocks that are placed and that no path holds any more; was there
 * one?  Its callbacks may close any lane. */
bool suci_lane_retire(struct suci_lanes *ls, struct lane *l, uint64_t now_ns);
/* Everything that is not acknowledged end to end goes again. */
void suci_lane_resend(struct suci_lanes *ls, struct lane *l);
/* The next segment of a ring of lanes; false if none can send. */
bool suci_lane_serve(struct suci_lanes *ls, uint32_t *ring, uint32_t path, struct suci_segment *seg,
		     uint64_t now_ns);

/* rx.c */
enum suci_verdict suci_lane_segment(void *user, uint32_t path, const struct suci_segment *seg,
				    uint64_t now_ns);
uint32_t suci_lane_room(void *user, uint32_t path);
uint32_t suci_lane_backlog(void *user, uint32_t path);
void suci_lane_rx_end(struct suci_lanes *ls, struct lane *l);

/* ack.c */
void suci_lane_ack_unpend(struct suci_lanes *ls, struct lane *l);
/* An ack leaves within a millisecond. */
void suci_lane_ack_pend(struct suci_lanes *ls, struct lane *l, uint64_t now_ns);
/* ack and window of our side, as of now, into a segment. */
void suci_lane_put_ack(struct suci_lanes *ls, struct lane *l, struct suci_segment *seg);
/* By a segment of its own, with what was thrown away; false if the path has no room. */
bool suci_lane_send_ack(struct suci_lanes *ls, struct lane *l, uint64_t now_ns);
/* Something may have been placed: tell the sender at once or soon. */
void suci_lane_owe_ack(struct suci_lanes *ls, struct lane *l, bool now, uint64_t now_ns);
void suci_lane_acks_due(struct suci_lanes *ls, uint64_t now_ns);
/* The sender of a relayed lane is asked for that segment again. */
void suci_lane_want_again(struct suci_lanes *ls, struct lane *l, uint32_t seq, uint64_t now_ns);
/* No room for a segment: what becomes of it. */
enum suci_verdict suci_lane_refuse(struct suci_lanes *ls, struct lane *l,
				   const struct suci_segment *s, uint64_t now_ns);
void suci_lane_ask_no_more(struct suci_lanes *ls, struct lane *l);

/* tune.c */
/* A segment that was not here before; and an ack that lets in more leaves. */
void suci_lane_tune_came(struct suci_lanes *ls, struct lane *l, uint32_t seq, uint64_t now_ns);
void suci_lane_tune_told(struct suci_lanes *ls, struct lane *l, uint64_t now_ns);
void suci_lane_tune_end(struct suci_lanes *ls, struct lane *l);
void suci_lane_live(struct suci_lanes *ls, struct lane *l);
void suci_lane_unlive(struct suci_lanes *ls, struct lane *l);
/* Every now and then, at those that are live. */
void suci_lane_look(struct suci_lanes *ls, uint64_t now_ns);

/* move.c */
/* It rests from now on. */
void suci_lane_take_off(struct suci_lanes *ls, struct lane *l, uint64_t now_ns);
static inline bool
lane_rests(const struct lane *l)
{
	return l->conf.path == NONE && l->conf.group == NONE;
}

/* group.c */
static inline struct lane_group *
lane_group_of(const struct suci_lanes *ls, const struct lane *l)
{
	return l->conf.group == NONE ? NULL : &ls->group[l->conf.group];
}
uint32_t suci_lane_group_mss(const struct suci_lanes *ls, const struct lane_group *g);
void suci_lane_group_wake(struct suci_lanes *ls, struct lane_group *g);
/* The path wants a segment of that class. */
bool suci_lane_group_pull(struct suci_lanes *ls, uint32_t path, uint32_t prio,
			  struct suci_segment *seg, uint64_t now_ns);
/* It can send again, and it can not though its lanes have something. */
void suci_lane_group_unblock(struct suci_lanes *ls, uint32_t path);
void suci_lane_group_blocked(void *user, uint32_t path);
void suci_lane_group_path_down(struct suci_lanes *ls, uint32_t path, enum suci_down why,
			       const char *text, uint64_t now_ns);
/* End the lanes of groups that waited too long. */
void suci_lane_group_look(struct suci_lanes *ls, uint64_t now_ns);
void suci_lane_group_resends(struct suci_lanes *ls, uint64_t now_ns);

#endif
