/* SPDX-License-Identifier: BSD-2-Clause */
/* net_internal.h - state of the Suci transport, shared by its files:
 *   net.c       packets and lanes, turns
 *   net_ops.c   what Suci tells us
 *   net_setup.c socket, endpoint, closing
 *   net_pool.c  the bound on direct paths (LIBMPI_PATHS_MAX)
 *   relays.c    the relays of my cluster and the groups of lanes over them */
#ifndef LMPI_NET_INTERNAL_H
#define LMPI_NET_INTERNAL_H

#include "away.h"
#include "streams.h"
#include "transport.h"

#include "base/arena.h"
#include "driver/suci_udp.h"
#include "pathpool/pathpool.h"
#include "relayset/relayset.h"
#include "suci/lane.h"

/* What a path leads to. */
/* Segments received before their block's first one, over all lanes: see relay_window().
 * Buffers that never held anything cost no memory. */
#define LMPI_HELD_MAX 4096u

#define USE_NONE	UINT32_MAX
#define USE_RELAY	0x80000000u /* or USE_OTHER_RELAY; else a world rank */
#define USE_OTHER_RELAY 0x80000001u /* one that came to us unasked, and for which is no room */
#define USE_DOOR	0x80000002u /* the relay that carries our doors, and none of this job */

#define LANE_TALK 0x80000000u /* in lane_rank: a conversation over doors; else a world rank */

struct lmpi_net_state {
	struct suci_udp *udp;
	struct suci *ep;
	struct suci_lanes *lanes;
	void *ep_mem, *lanes_mem;
	struct pathpool *pool; /* of direct paths; NULL: there may be one to every process */
	struct relayset *relays;
	struct relayset_limits relays_limits;
	bool relays_outside;		  /* they are other clusters: the own one has none */
	char public_key[2 * SEAL_DH + 1]; /* of our identity; "": none */
	bool sealing;			  /* towards other clusters, with keys of LIBMPI_KEY_FILE */
	bool connected;			  /* start-up is over */
	uint32_t paths_max, lanes_max;
	uint32_t *path_use;	   /* [paths_max] */
	uint32_t *lane_rank;	   /* [lanes_max]; or LANE_TALK and its number */
	uint64_t strangers_due_ns; /* when those that have gone are missed; never: nobody has */
	bool dirty;		   /* handed over since the last send */
	uint64_t rx_mark, tx_mark; /* datagrams, at the last flush */
	struct lmpi_away away;
};
extern struct lmpi_net_state lmpi_net;

extern const struct suci_lane_ops lmpi_net_ops;
/* Open the lane pair to peer unless it is there, over path, or to a remote process over the
 * relays.  false: job failing. */
/* The path to a process that is reached without a relay, if there is none yet; 0 or SUCI_ERR_*. The
 * pool is not asked. */
int lmpi_net_open_path(uint32_t world);
/* What the hello of a path between that process and this one proves, to whoever has that label. */
uint64_t lmpi_net_hello_token(uint32_t world, uint32_t label);
/* What this process says to that one when it opens a path or a stream. */
void lmpi_net_hello_to(uint32_t world, uint8_t out[RELAY_HELLO_LEN]);
/* Which process says that hello to this one; UINT32_MAX: none that is known, or to another one. */
uint32_t lmpi_net_hello_from(const void *hello, size_t len);
/* What this process says to whoever opens a path. */
void lmpi_net_hello(bool survives, uint8_t out[RELAY_HELLO_LEN]);
/* What a process says that leaves in MPI_Finalize. */
#define LMPI_FINISHED "finished"
/* Whoever of other jobs went is missed now, if anybody still needs it. */
void lmpi_net_miss_strangers(void);
bool lmpi_net_open_lane(struct lmpi_peer *peer, uint32_t path);
/* The window of relayed lanes. */
uint32_t lmpi_net_relay_window(void);
/* A process of another job has gone, or the way to it. */
void lmpi_net_stranger_down(uint32_t world, enum suci_down why, const char *text);

/* --- doors.c: what net.c and its parts tell it, and ask */
bool lmpi_doors_is_relay(const struct suci_addr *at);
void lmpi_doors_path_up(uint32_t path, const void *hello, size_t len);
/* what: as suci_down_does() has it. */
void lmpi_doors_path_down(uint32_t path, const char *what, const char *text);
void lmpi_doors_note(uint32_t path, const void *note, size_t len);
/* A segment for a pair of labels without a lane, over the relay's path. */
enum suci_verdict lmpi_doors_unknown(uint32_t path, uint32_t dst, uint32_t src);
/* The lane to a process behind a door; false: not yet. */
bool lmpi_doors_open_lane(uint32_t world);
/* It is not needed any more; it is unusable. */
void lmpi_doors_forget(uint32_t world);
void lmpi_doors_lane_down(uint32_t world, const char *text);
/* A relay of this job is up. */
void lmpi_doors_relay_up(void);
void lmpi_doors_turn(uint64_t now_ns);
uint64_t lmpi_doors_expiry_ns(void);
void lmpi_doors_leave(const char *text);
void lmpi_doors_fini(void);
/* --- doors_talk.c: of lanes of conversations */
#define LMPI_TALKS_MAX 64u
void *lmpi_talk_block_begin(uint32_t lane, uint64_t bytes);
void lmpi_talk_block_data(void *block, uint64_t offset, const uint8_t *data, size_t len);
void lmpi_talk_block_end(uint32_t lane, void *block);
void lmpi_talk_block_done(uint32_t lane, uint64_t cookie);
void lmpi_talk_lane_down(uint32_t lane);

/* --- net_pool.c; what is told of a path is heeded only if there is a pool */
/* false: no memory. */
bool lmpi_pool_make(uint32_t peers_max, uint32_t paths_max);
/* false: not now, and it is parked until it can be. */
bool lmpi_pool_may_send(struct lmpi_peer *peer);
/* The note of a path, which leads to that process. */
void lmpi_pool_note(uint32_t world, const struct relay_note *n);
/* true: it was to go, nothing has failed. */
bool lmpi_pool_down(uint32_t world, enum suci_down why);

/* --- relays.c */
/* Those that start-up named.  -1: no memory. */
int lmpi_relays_start(const struct lmpi_relay *relay, uint32_t n);
/* false: that path is no relay's. */
bool lmpi_relays_path_down(uint32_t path, enum suci_down why, const char *word, const char *text);
/* Tell relay i.  False: it is not up, or takes none now. */
bool lmpi_relays_note(uint32_t i, const struct relay_note *n);
/* Once a turn of the loop, outside Suci's callbacks. */
void lmpi_relays_turn(uint64_t now_ns);
void lmpi_relays_print_stats(void);

#endif
