/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/mesh.h - lanes over several relays, in virtual time: processes with real lib/suci
 * lanes, and forwarders that are real lib/suci endpoints and know the way to everybody.
 *
 *                .- hop 0.0 =- trunk -= hop 1.0 -.
 *     process --+-- hop 0.1 =- trunk -= hop 1.1 --+-- process
 *                '- ...                  ...    -'
 *
 * A hop passes a segment on over its own trunk, the one to the hop of the same number,
 * or over any other that is up.  It may die and come back without memory: what it had in
 * custody is lost.  (Real relays end a job then; see doc/architecture.md.)
 *
 * Without hops, the processes of the two sides talk directly.
 *
 * Checked: every block begins in lane order, each of its bytes comes exactly once and as
 * it was sent, block_done is never early. */
#ifndef SIM_MESH_H
#define SIM_MESH_H

#include "scenario.h"

#define MESH_NODES 16
#define MESH_LABEL 16

struct mesh_conf {
	uint32_t ends, hops;		 /* of each side */
	struct sim_link_conf nic, trunk; /* into a port; between hops (or ends, without) */
	struct suci_config end, hop;
	struct suci_lane_limits lanes;
	uint32_t window, window_max, mtu;
	uint64_t grace_ns;
	uint32_t weight[MESH_NODES]; /* of the hops of one side */
	uint64_t inside_rate_bps;    /* of ports inside a side; 0: as nic */
	bool fake;		     /* count bytes, keep none */
};

struct mesh_block {
	uint64_t bytes, got;
	uint32_t pool_off;
	bool begun, placed, done;
	uint8_t *seen;
};

/* One lane, and what goes over it from src to dst. */
struct mesh_stream {
	uint32_t src, dst; /* nodes */
	uint32_t lane[2];  /* at src, at dst */
	uint32_t n, ahead; /* blocks; so many at once */
	uint32_t sent, begun, placed, done;
	uint8_t prio;
	uint64_t bytes;	   /* placed */
	uint64_t start_ns; /* nothing is sent before */
	uint64_t last_ns;
	struct mesh_block *block;
};

struct mesh_node {
	struct mesh *m;
	uint32_t index, side;
	bool hop, alive;
	uint32_t port[2], ipv4[2]; /* inside, between the sides */
	void *ep_mem, *lanes_mem;
	struct suci *ep;
	struct suci_lanes *lanes;
	uint32_t group;
	uint32_t path[MESH_NODES], blocked[MESH_NODES * 4];
	uint32_t *stream; /* by lane */
	uint64_t wake_ns, incarnation, lost;
};

struct mesh {
	struct sim *s;
	struct mesh_conf conf;
	uint32_t nnode, nstream;
	struct mesh_node node[MESH_NODES];
	struct mesh_stream *stream;
	const uint8_t *zeros; /* fake: what all blocks are sent from */
	uint64_t placed;
	uint64_t begin_ns; /* lanes are opened then: paths are up */
	uint32_t open;	   /* streams not complete */
	uint32_t active;   /* streams with blocks; the first ones */
};

void mesh_conf_default(struct mesh_conf *c);
/* Streams are added before mesh_start(); ends come first: 0 .. ends - 1 of side 0,
 * ends .. 2 ends - 1 of side 1; then the hops in the same way. */
struct mesh *mesh_new(uint64_t seed, bool verbose, const struct mesh_conf *c, uint32_t streams);
struct mesh_stream *mesh_add(struct mesh *m, uint32_t src, uint32_t dst, uint32_t nblocks,
			     uint64_t (*size)(void *arg, uint32_t i), void *arg);
void mesh_start(struct mesh *m);
bool mesh_complete(void *mesh);
/* Hand over what there is to send. */
void mesh_drive(struct mesh_node *n);
void mesh_kill(struct mesh_node *n);
void mesh_restart(struct mesh_node *n);
/* Check, take the figures, free. */
void mesh_end(struct mesh *m, struct outcome *o);
static inline struct mesh_node *
mesh_hop(struct mesh *m, uint32_t side, uint32_t i)
{
	return &m->node[2 * m->conf.ends + side * m->conf.hops + i];
}

#endif
