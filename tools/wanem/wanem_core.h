/* SPDX-License-Identifier: BSD-2-Clause */
/* wanem_core.h - one direction of an emulated WAN link, in virtual time.
 *
 *   wan_in --> loss --> queue (drop-tail, bytes) --> rate --> delay --> wan_out
 *                                                          '-> reorder: extra delay
 *                                                          '-> duplicate
 *
 * A frame is an opaque cookie and a length; the core never looks inside.  It
 * reads no clock, allocates nothing after wan_new, and for the same seed and the
 * same calls does the same.
 *
 * Units    bytes of the frame as handed in (no preamble, no FCS); bit/s;
 *          nanoseconds of the caller's monotonic clock, never decreasing;
 *          probabilities in parts per 10^9.
 * Threads  one owner.
 * Books    rx + dup == tx + held + drop_queue + drop_loss + drop_hold + drop_tx,
 *          at any moment (wan_books_ok). */
#ifndef WANEM_CORE_H
#define WANEM_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAN_DELAY_NS_MAX (500ull * 1000 * 1000)
#define WAN_RATE_BPS_MAX 1000000000000ull
#define WAN_FRAMES_MAX	 (1u << 24)
#define WAN_PPB		 1000000000u

struct wan_conf {
	uint64_t delay_ns;	   /* one way, after the queue; <= WAN_DELAY_NS_MAX */
	uint64_t rate_bps;	   /* 0 = unlimited (and then there is no queue) */
	uint64_t queue_bytes;	   /* waiting for the rate; 0 = unlimited */
	uint64_t reorder_extra_ns; /* what a reordered frame is late; <= WAN_DELAY_NS_MAX */
	uint32_t loss_ppb, dup_ppb, reorder_ppb;
	uint32_t frames_max; /* most frames held: queue, in flight, copies */
	uint64_t seed;
};

struct wan_stats {
	uint64_t rx, rx_bytes;
	uint64_t tx, tx_bytes;
	uint64_t dup, reorder;
	uint64_t drop_queue;	 /* queue_bytes reached: what a router does */
	uint64_t drop_loss;	 /* the loss that was asked for */
	uint64_t drop_hold;	 /* frames_max reached: the emulator is too small */
	uint64_t drop_tx;	 /* the port would not take it in time */
	uint64_t held, held_max; /* frames inside now; copies count */
	uint64_t queue_bytes_max;
};

enum wan_fate { WAN_HELD, WAN_DROP_LOSS, WAN_DROP_QUEUE, WAN_DROP_HOLD };

struct wan_dir;

/* Bytes of memory for wan_new (any alignment of malloc's); 0: a limit is broken. */
size_t wan_footprint(const struct wan_conf *c);
/* The object lies in mem; NULL if the limits are broken. */
struct wan_dir *wan_new(void *mem, const struct wan_conf *c);

/* A frame arrives.  WAN_HELD: the core has the cookie until wan_out gives it back;
 * anything else: it is counted as dropped and still the caller's. */
enum wan_fate wan_in(struct wan_dir *d, void *cookie, uint32_t len_bytes, uint64_t now_ns);

struct wan_frame {
	void *cookie;
	uint32_t len_bytes;
	uint64_t due_ns;
	bool again; /* the same cookie comes out once more (a duplicate): take a
		     * reference before giving this one away */
};

/* The next frame whose time has come, or false.  Counted as sent. */
bool wan_out(struct wan_dir *d, uint64_t now_ns, struct wan_frame *f);
/* The port did not take a frame that wan_out gave: sent becomes dropped. */
void wan_tx_refused(struct wan_dir *d, uint32_t len_bytes);
/* When wan_out will have something: BASE_NEVER_NS if nothing is held. */
uint64_t wan_next_ns(const struct wan_dir *d);

/* Take out whatever is held, due or not (at the end); not counted as sent. */
bool wan_flush(struct wan_dir *d, struct wan_frame *f);

const struct wan_stats *wan_stats(const struct wan_dir *d);
bool wan_books_ok(const struct wan_dir *d);

/* Frames that c can hold at once, for frames_max: bytes in delay and queue, as
 * 64-byte frames up to 20480 of them, as 512-byte frames beyond.  An unlimited
 * rate counts as 1 Gb/s, an unlimited queue as 10 ms of the rate. */
uint32_t wan_frames_needed(const struct wan_conf *c);

#endif
