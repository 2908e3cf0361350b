/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/ways.h - processes of jobs that have met, in virtual time: real lib/meet ways on lanes of
 * real lib/suci, doors of real lib/door/client at two relays of real lib/relay in each cluster.
 *
 *     process --+-- relay --+               +-- relay --+-- process
 *               |           +== wide area ==+           |
 *     process --+-- relay --+               +-- relay --+-- process
 *
 * Each process sends numbered blocks to each process of another cluster; the relays and the wide
 * area are those of sim/doors.h. */
#ifndef SIM_WAYS_H
#define SIM_WAYS_H

#include "doors.h"

#include "meet/ways.h"

#define WY_NODES  8u
#define WY_LANES  64u
#define WY_NONE	  UINT32_MAX
#define WY_WINDOW 1024u
#define WY_AHEAD  32u /* blocks that a process has on their way to another one */
#define WY_WAIT	  (12 * BASE_S_NS)

struct wy_peer {
	bool known;			   /* its address is */
	bool lost;			   /* for good, as is said */
	uint32_t said, done, began, ended; /* blocks to it; from it */
	bool whole[WY_WINDOW];		   /* of those from it, lately */
	uint64_t heard_ns;		   /* a block of it ended, or it became known */
	uint64_t gap_ns;		   /* longest between two */
};

struct wy_node {
	struct door_guest g;
	struct wy *w;
	uint32_t index, life;
	bool alive;
	uint64_t send_ns;
	struct door_client client;
	struct door_client_own own[1];
	struct door_client_import import[4 * WY_NODES];
	struct meet_ways ways;
	struct meet_way way[WY_NODES];
	uint32_t peer_of[WY_LANES];
	struct wy_peer peer[WY_NODES];
	uint32_t looks;
	struct wy_block *block; /* those that have begun */
};

struct wy {
	struct doors *d;
	struct sim *s;
	struct base_prng prng;
	uint32_t nnodes, blocks; /* blocks: to each, at most */
	uint64_t pause_ns;	 /* between two blocks of a process, at most */
	uint32_t long_percent;	 /* of blocks that need many segments */
	struct wy_node *node;
};

struct wy *wy_new(uint64_t seed, bool verbose, const struct doors_conf *c, uint32_t nodes);
void wy_finish(struct wy *w, struct outcome *o);
void wy_start(struct wy_node *n);
void wy_kill(struct wy_node *n);
/* a learns b's address, and b a's. */
void wy_meet(struct wy_node *a, struct wy_node *b);
void wy_pass(struct wy *w, uint64_t ns);
/* All that the living have said to each other is there. */
bool wy_all_there(const struct wy *w);

#endif
