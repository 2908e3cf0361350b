/* SPDX-License-Identifier: BSD-2-Clause */
/* suci/lane.h - lanes: ordered streams of blocks between two processes.
 *
 * A lane pair joins one local process to one remote process over a path (or
 * over a relay reached by a path, or over several relays: Groups).  The sender gives blocks of any
 * size; they are cut into segments of mss bytes; the receiver is told of each block in the order of
 * sending, gets its bytes in whatever order they arrive (with their offset: direct placement), and
 * is told when it is complete.
 *
 * Direct lanes (direct = true): the path's peer is the final process, so the
 * path's ack is the end-to-end ack: block_done says that the receiving process
 * has every byte, perhaps still held until an earlier block has begun.  Relayed lanes: the
 * end-to-end ack is the cumulative ack field of segments in the other
 * direction, sent along with data, or alone when the sender asks (SUCI_SF_ASK)
 * or a quarter of the window was used up.
 *
 * Sans-I/O like endpoint.h; sits on one struct suci whose ops it provides:
 * make the lanes first, give suci_lanes_ops() and the lanes as user to
 * suci_new(), then suci_lanes_bind().
 *
 * CRC: with crc on, each segment carries CRC32C over (salt of the lane, seq,
 * block, mss, flags FIRST|LAST, block_bytes if FIRST, payload).  The first
 * skip_len payload bytes from skip_off of a FIRST segment are left out: those
 * are the IMPI process ids a relay rewrites.  salt names both processes in a
 * form all parties agree on (world ranks), so a segment that a relay sends to
 * the wrong process fails the check.
 *
 * Credit: the window of a lane is what its receiver lets the sender have outstanding.
 * It starts with conf.window.  With conf.window_max above that it grows to what the
 * lane's rate needs: twice the bandwidth-delay product, which the receiver takes from
 * the segments that came between telling a window and the first segment it let in, and
 * the shortest such time (as TCP receive buffers are sized: Fisk, Feng, "Dynamic
 * right-sizing", 2001).  What lanes have beyond conf.window is together never more than
 * held_max or ranges_max.  A lane that got nothing for SUCI_LANE_IDLE_NS gives back
 * what it has beyond conf.window, and its sender, having sent nothing for so long,
 * begins with conf.window again; both ends should be given the same.
 *
 * Fairness: between priority classes strict, the higher first.  Lanes of one class on
 * one path, or in one group, share it by bytes (deficit round robin, Shreedhar,
 * Varghese 1995): the size of their segments does not matter.
 *
 * Groups: lanes that are not direct may go over several paths (a cluster's relays, in
 * whose common label space the labels of the lane are).  Segments are dealt to the
 * paths in proportion to their weights; a path that cannot send now is passed over, so a
 * group is as fast as its paths together.  Paths of weight 0 are only used while there
 * is no other.  When a path goes down, or is taken from its group, what its lanes have
 * sent and is not acknowledged end to end is sent again over the others; the receiver
 * knows what it has.  While there is none left, lanes wait grace_ns for another.  What
 * got lost further on, with a relay this side has no path to, is sent again when a lane
 * has got no ack for 1 s though no path holds anything of it (then 2 s .. 16 s), or at
 * once by suci_group_resend().
 *
 * Lives: either end of a relayed lane may begin anew without the other one knowing: its owner
 * closes it and opens it again, or its relay has told one end what it has not told the other yet.
 * What is on its way is then of a lane that is no more, and looks like one of that which is.  So
 * with conf.life each segment says which life of the lane it is of, and whether its sender has not
 * heard the other end in it yet (BEGINS).  Two ends talk in the same life:
 *
 *   older than ours	dropped, and answered by a lane ack at once: so the other end hears
 *   newer		ours is over (lane_down, RESTARTED), and lane_unknown follows for the
 *			segment; one that has neither sent nor heard anything goes over to that life
 *
 * What does not begin is for another lane than one that lane_unknown has opened for it, or that has
 * done nothing yet: that takes the life after it.  Lives only grow, modulo SUCI_LIFE_MAX: who
 * opens a lane of labels that it has had before gives it a life that it was never in, which is
 * suci_life_next() of suci_lane_info.life.  The other end may be of a version that says none:
 * then there is no check.
 * What got lost on the way is sent again after 1 s without an ack, as in groups.
 *
 * Moving: a relayed lane that is in no group may still outlive its path, with conf.moves.  When the
 * path goes, or with suci_lane_rest(), the lane rests: what is sent waits, and nothing comes.
 * suci_lane_move() takes it to a path, perhaps by other labels of the remote process.  What is not
 * acknowledged end to end goes again there, as in groups, so every block comes once and in order.
 * Both ends have to know that they mean the same lane: its salts name the processes, its labels do
 * not matter.  Who never moves a lane that rests has to close it.
 *
 * Room: a receiver should be able to keep what it lets others send.  held_max
 * and ranges_max should be no less than the sum of the windows of the lanes that
 * may be busy at once, and segments_max (endpoint.h) of a relay no less than what
 * the lanes through it may have outstanding.  With less, segments come again:
 * slower, but nothing stands still, and neither limit is ever exceeded:
 *
 *   1. The segment a lane needs next (rx_next) needs no place.  Only an incoming
 *      block may be lacking; all of them have begun then, their lanes need none
 *      and move on until one is free.
 *   2. The receiver of a relayed lane leaves no segment of it on its path for want
 *      of room: it places or holds it, or takes it, throws it away and tells the
 *      sender, who keeps blocks until the end-to-end ack.  So what a relay
 *      has for a process always drains.
 *   3. Every path of a relay is sure of some records (endpoint.h, segments_max), so
 *      what comes from a trunk, which can only be for a process, is taken
 *      again and again.  So what a relay has for a trunk drains, too: the way of a
 *      segment is process, trunk, process, and no relay waits in a circle.
 *   4. What was thrown away is sent again from the oldest on, within the window
 *      the receiver grants, which is never less than the one it needs next, and
 *      doubles with every round trip in which all came in order.  Of what a relayed
 *      lane has early, the last makes way for what is needed before it.
 *   5. A direct lane cuts its segments in order, so the one needed next is in the
 *      sender's own records or with the receiver.  What it has early stays, so its last
 *      ones leave a quarter of the places to those before them.
 *
 * On a relayed lane a segment with a wrong CRC is asked for in the same way: what the relay
 * before us holds may be what is wrong.
 *
 * Refusals for other reasons (a way out that is not up) are repaired by
 * the hop before and end with their reason.
 *
 * Units    bytes, nanoseconds, segments.
 * Threads  one owner at a time, that of the endpoint.
 * Limits   struct suci_lane_limits; blocks 0 .. 2^42 bytes and fewer than
 *          2^31 - 2^21 segments (2.4 * 10^12 bytes at the smallest mss).
 *
 * lane_down and suci_lane_close() end a lane for good: its index may be used
 * by the next suci_lane_open().  Callbacks may call suci_lane_send, _open,
 * _close and suci_lanes_flush.  A lane ack that was not asked for leaves by
 * itself 1 ms after the first segment it reports, in the middle of a block after 1 s (a
 * tenth of that in a group), or when a quarter of the window is used. */
#ifndef SUCI_LANE_H
#define SUCI_LANE_H

#include "suci/endpoint.h"

struct suci_lanes;

struct suci_lane_limits {
	uint32_t lanes_max;	/* lane pairs, 1 .. 1<<20 */
	uint32_t blocks_max;	/* outgoing blocks not yet done, over all lanes */
	uint32_t rx_blocks_max; /* incoming blocks begun and not complete, over all lanes */
	uint32_t held_max;	/* received segments waiting for their block's first; see Room */
	uint32_t ranges_max;	/* out-of-order ranges over all lanes; see Room */
	uint32_t labels_max;	/* local label values are < labels_max (arrays, no hash) */
	/* A power of two up to 1<<20, or 0.  Then labels may also be larger: they belong to the
	 * lane's path, so peers that do not know of each other may use the same ones.  Chains of a
	 * hash table of so many; no groups. */
	uint32_t buckets;
	uint32_t groups_max; /* groups of paths, 0 .. 4096 */
};

struct suci_lane_ops {
	/* The next block of the lane begins (in sending order).  first is the
	 * payload of its first segment.  Returns the caller's handle for it. */
	void *(*block_begin)(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first,
			     size_t first_len, uint64_t now_ns);
	/* len bytes of the block at offset (each byte exactly once, any order; the
	 * first segment's bytes are delivered here too). */
	void (*block_data)(void *user, uint32_t lane, void *block, uint64_t offset,
			   const uint8_t *data, size_t len);
	void (*block_end)(void *user, uint32_t lane, void *block, uint64_t now_ns);
	/* The receiver has all of a sent block, on a relayed lane has placed it (or, ok = false,
	 * will never be: the lane went down); its memory is the caller's again. */
	void (*block_done)(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns);
	/* Hold or release a receive buffer by the cookie given to suci_rx(). */
	void (*hold)(void *user, uint64_t rx_cookie);
	void (*release)(void *user, uint64_t rx_cookie);
	/* A receive buffer for a segment that comes in parts, held once: see suci_ops.  NULL
	 * without suci_limits.wholes_max. */
	uint8_t *(*buffer)(void *user, uint32_t len, uint64_t *rx_cookie);
	/* The path of the lane, unless it moves, or the last one of its group, is gone (or, LOCAL,
	 * the lane is unusable: see text; or, RESTARTED, the other end has begun anew: see Lives);
	 * blocks of it were reported not done.  Last call for the lane; suci_lane_info() still
	 * knows it. */
	void (*lane_down)(void *user, uint32_t lane, enum suci_down why, const char *text);
	/* A segment for a (dst, src) label pair that no lane has.  TAKEN: the caller has
	 * opened one here, and it is looked up again.  REFUSED: there will be one, but
	 * not yet (its way back is not up): the segment comes again.  DROPPED, or no
	 * such op: it is acknowledged and will not come again. */
	enum suci_verdict (*lane_unknown)(void *user, uint32_t path, uint32_t dst_label,
					  uint32_t src_label);
	/* Passed on from the endpoint. */
	int (*accept)(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
		      char why[SUCI_TEXT_MAX]);
	void (*path_up)(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
			size_t hello_len, bool incoming);
	void (*path_down)(void *user, uint32_t path, enum suci_down why, const char *text);
	void (*note)(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns);
	void (*stranger)(void *user, const struct suci_addr *from, const uint8_t *public_key,
			 const struct seal_peer *known);
	/* May the next block of the lane begin now?  true: block_begin follows at once.
	 * false: not now, for want of memory: its first segment is refused and comes
	 * again, or, if it was taken before its turn, waits here for
	 * suci_lane_resume().  May be NULL: always. */
	bool (*block_room)(void *user, uint32_t lane, uint64_t bytes);
	/* Of what was refused on that path: might block_room say yes now?  Asked before the
	 * peer is granted to send it again.  May be NULL: always. */
	bool (*room)(void *user, uint32_t path);
};

struct suci_lanes_config {
	struct suci_lane_limits limits;
	const struct suci_lane_ops *ops;
	void *user;
};

#define SUCI_LANE_COUNTERS(X)                                                  \
	X(tx_blocks, "blocks sent")                                            \
	X(rx_blocks, "blocks completed")                                       \
	X(rx_bytes, "payload bytes placed")                                    \
	X(tx_acks, "lane acks sent alone")                                     \
	X(tx_refusals, "of them, those that name segments thrown away")        \
	X(tx_again, "segments sent again because the receiver had no room")    \
	X(tx_resent, "times what was not acknowledged end to end went again")  \
	X(moved, "lanes that went on by another path")                         \
	X(window_grown, "times the window of a lane was made larger")          \
	X(window_idle, "lanes that gave back credit because nothing came")     \
	X(held, "segments that had to wait for their block's first")           \
	X(drop_label, "no lane with that label pair")                          \
	X(drop_duplicate, "segment placed before")                             \
	X(drop_window, "segment beyond the window granted")                    \
	X(drop_life, "segment of a life of the lane that is over")             \
	X(lives, "times a lane began anew because its other end had")          \
	X(drop_crc, "end-to-end CRC wrong")                                    \
	X(drop_malformed, "segment fields contradict each other or its block") \
	X(refused_label, "no lane with that label pair yet")                   \
	X(refused_held, "no room to hold an early segment")                    \
	X(refused_blocks, "no room for another incoming block")                \
	X(refused_ranges, "no room to note one more range out of order")       \
	X(refused_room, "the block may not begin now: ops->block_room")
struct suci_lane_counters {
#define X(n, h) uint64_t n;
	SUCI_LANE_COUNTERS(X)
#undef X
};

struct suci_lane_conf {
	uint32_t path;	       /* must be up, or connecting: sending waits for it */
	uint32_t group;	       /* 0, or instead of path; then direct is false */
	uint32_t tx_dst_label; /* remote process in the path peer's space */
	uint32_t tx_src_label; /* this process in the path peer's space */
	uint32_t rx_dst_label; /* this process, in our space: < labels_max, but see buckets */
	uint32_t rx_src_label; /* remote process, in our space: < labels_max, but see buckets */
	bool direct;
	bool crc;
	bool moves;   /* see Moving; not direct, no group, no life */
	uint8_t prio; /* 0 .. 3 */
	uint64_t tx_salt, rx_salt;
	uint16_t skip_off, skip_len;
	uint32_t mss;	 /* 0: the path's */
	uint32_t window; /* segments we let the peer have outstanding; 64 .. 1<<20 */
	/* It may grow to this, see Credit; below window: it does not, .. 1<<20 */
	uint32_t window_max;
	uint8_t life; /* 0: none, or 1 .. SUCI_LIFE_MAX; not direct, no group; see Lives */
};
/* As a segment says it: begins 1 | life 7. */
#define SUCI_LIFE_MAX	 127u
#define SUCI_LIFE_BEGINS 128u
static inline uint8_t
suci_life_next(uint8_t life)
{
	return (uint8_t)(life < SUCI_LIFE_MAX ? life + 1u : 1u);
}
/* 0 is older than all. */
static inline bool
suci_life_newer(uint8_t a, uint8_t b)
{
	return a != b && (!b || (a && ((unsigned)a - b) % 128u < 64u));
}
#define SUCI_LANE_IDLE_NS 1000000000ull

size_t suci_lanes_footprint(const struct suci_lane_limits *limits);
struct suci_lanes *suci_lanes_new(void *mem, const struct suci_lanes_config *conf);
const struct suci_ops *suci_lanes_ops(void);
void suci_lanes_bind(struct suci_lanes *ls, struct suci *ep);
/* After suci_fini(), which ended all lanes but those that rest: what they hold is released, and
 * nothing is told of their blocks. */
void *suci_lanes_fini(struct suci_lanes *ls);

int suci_lane_open(struct suci_lanes *ls, const struct suci_lane_conf *conf, uint32_t *lane,
		   uint64_t now_ns);
/* Forget the lane: unsent blocks are reported done with ok = false. */
void suci_lane_close(struct suci_lanes *ls, uint32_t lane, uint64_t now_ns);

/* Moving.  Its path, if it has one, is as if it were gone. */
void suci_lane_rest(struct suci_lanes *ls, uint32_t lane, uint64_t now_ns);
/* It goes on by that path, which is up; from the one it had it is taken.  tx_dst_label and
 * rx_src_label as in suci_lane_conf.  INVAL: there is no such lane, or it does not move; DOWN;
 * EXISTS: another lane has these labels there, and this one rests; TOOBIG: the path's segments are
 * smaller than those it has begun to send (give such lanes an mss). */
int suci_lane_move(struct suci_lanes *ls, uint32_t lane, uint32_t path, uint32_t tx_dst_label,
		   uint32_t rx_src_label, uint64_t now_ns);

/* Send one block: head (<= SUCI_BLOCK_HEAD_MAX bytes, copied), then data, which
 * must stay valid until ops->block_done(cookie).  wait: the sender will wait for
 * block_done, so the receiver is asked for a prompt ack.
 * 0, or NOMEM (blocks_max reached; nothing kept), DOWN, INVAL. */
#define SUCI_BLOCK_HEAD_MAX 128
int suci_lane_send(struct suci_lanes *ls, uint32_t lane, const void *head, size_t head_len,
		   const void *data, uint64_t data_len, bool wait, uint64_t cookie,
		   uint64_t now_ns);

/* There is room again after ops->block_room said no: begin what has waited here.
 * Not from a callback. */
void suci_lane_resume(struct suci_lanes *ls, uint32_t lane, uint64_t now_ns);

/* Groups of paths.  grace_ns: how long lanes wait for a path when the last one is gone;
 * 0: they go down with it.  The group is named by *group, never 0.  NOMEM. */
int suci_group_new(struct suci_lanes *ls, uint64_t grace_ns, uint32_t *group);
/* path must be up; weight 0 .. SUCI_WEIGHT_MAX, or SUCI_WEIGHT_DRAINS: as 0, and acks of their
 * own, which take turns over all paths of a group, do not go over it either.  It leaves the group
 * by itself when it goes down.  A path may be in any number of groups.  INVAL, DOWN, EXISTS, NOMEM
 * (SUCI_GROUP_PATHS), TOOBIG: its segments are smaller than those its lanes have begun
 * to send; give lanes an mss that all paths which may come can carry. */
#define SUCI_GROUP_PATHS   8
#define SUCI_WEIGHT_MAX	   1000
#define SUCI_WEIGHT_DRAINS UINT32_MAX
int suci_group_add(struct suci_lanes *ls, uint32_t group, uint32_t path, uint32_t weight,
		   uint64_t now_ns);
/* What the path holds of the group's lanes is sent again over the others.  INVAL. */
int suci_group_remove(struct suci_lanes *ls, uint32_t group, uint32_t path, uint64_t now_ns);
int suci_group_set_weight(struct suci_lanes *ls, uint32_t group, uint32_t path, uint32_t weight);
/* The caller knows that a relay further on died: all lanes send again now what is not
 * acknowledged end to end, and tell again what they have. */
void suci_group_resend(struct suci_lanes *ls, uint32_t group, uint64_t now_ns);

struct suci_group_info {
	uint32_t npaths, lanes;
	struct {
		uint32_t path, weight;
		uint64_t segments, bytes; /* dealt to it */
	} path[SUCI_GROUP_PATHS];
};
bool suci_group_info(const struct suci_lanes *ls, uint32_t group, struct suci_group_info *out);

struct suci_lane_info {
	uint32_t path; /* of a group: one of its paths; UINT32_MAX: none is up, or it rests */
	uint32_t tx_next_seq, tx_acked_seq, tx_window;
	uint32_t tx_mss; /* as in its suci_lane_conf */
	uint32_t rx_next_seq, rx_window;
	uint32_t tx_blocks_queued;
	uint8_t life;
	bool direct;
};
bool suci_lane_info(const struct suci_lanes *ls, uint32_t lane, struct suci_lane_info *out);
const struct suci_lane_counters *suci_lane_counters(const struct suci_lanes *ls);
/* Outgoing blocks not yet reported done. */
uint32_t suci_lanes_pending(const struct suci_lanes *ls);
/* Everything that was asked for promptly is sent by the endpoint's next tx:
 * pending lane acks are queued now (leaving a progress loop). */
void suci_lanes_flush(struct suci_lanes *ls, uint64_t now_ns);
/* Is there any? */
bool suci_lanes_owing(const struct suci_lanes *ls);
/* For tests, like suci_check(). */
bool suci_lanes_check(const struct suci_lanes *ls, const char **what);

#endif
