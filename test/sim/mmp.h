/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/mmp.h - processes of libmmp in virtual time: engine, port and the fragments between them
 * are lib/mmp's, the paths lib/suci's; what libmmp adds - a socket, a thread, a program that
 * calls - is drawn here.
 *
 *	mmp_node.c  a process: endpoint, engine, when each has its turn
 *	mmp.c       what the program does, and what must hold */
#ifndef SIM_MMP_H
#define SIM_MMP_H

#include "invariants.h"
#include "scenario.h"

#include "mmp/lanes.h"
#include "mmp/pair.h"
#include "mmp/port.h"

#define MW_NODES 4u
#define MW_HALF	 32768u /* of an area of 64 KiB */
#define MW_SOCK	 64u	/* datagrams a socket keeps while nobody reads */
#define MW_NONE	 UINT32_MAX

struct mw;
struct mw_msg {
	uint32_t from, to, stream, request;
	int32_t tag;
	uint64_t bytes, off; /* in the pool: equal messages of a pair have the same */
	uint8_t *buf;	     /* until it is copied */
	bool posted, over;
	uint32_t taken; /* 1 + the receive, by mw_judge() */
};
struct mw_recv {
	int32_t from, tag;
	uint32_t stream, request;
	uint64_t cap, off; /* off: of the message it got */
	uint8_t *buf;
	bool posted, over;
	struct mmp_result result;
};
struct mw_peer {
	uint32_t path, lane;
	bool up, over, near;
	int gone; /* engine to program */
	uint64_t try_at_ns;
};
struct mw_node {
	struct mw *w;
	uint32_t rank, port, ipv4;
	bool alive;
	struct suci *ep;
	struct mmp_lanes lanes;
	struct mmp_engine *engine;
	struct mmp_port *mp;
	void *ep_mem, *lanes_mem, *engine_mem, *port_mem, *far_mem, *ring[4];
	uint8_t *half[2]; /* for sending, for receiving */
	struct mw_peer peer[MW_NODES];
	uint32_t path_peer[MW_NODES + 8], lane_peer[MW_NODES + 8];
	/* To the other process of its node: one way each, in memory that stays when one dies. */
	struct mmp_pair pair;
	void *pair_ring; /* to this process */
	uint64_t wake_ns;
	uint64_t sock[MW_SOCK];
	uint32_t in_sock;
	/* The program. */
	struct base_prng prng;
	struct mw_msg *msg; /* in the order of posting */
	uint32_t msgs, msgs_posted;
	struct mw_recv *recv;
	uint32_t recvs, recvs_posted, recvs_cap;
	bool met; /* MP_init is over */
	uint64_t silent_at_ns, silent_ns;
};
struct mw {
	struct sim *s;
	uint32_t size;
	bool threaded; /* the engine has turns while the program computes */
	bool blocking; /* one receive after the other; all that is sent fits a send half */
	bool flood;    /* more messages than a peer may have fragments here */
	bool paired;   /* ranks 0 and 1 are of one node */
	bool closing;
	uint64_t fragment, liveness_ns, step_ns;
	uint32_t mtu, window, blocks_max, rx_blocks_max;
	uint32_t hot;  /* most messages are for that rank */
	uint32_t dead; /* rank, or MW_NONE */
	bool dies;
	struct mw_node node[MW_NODES];
};

/* mmp_node.c */
void mw_node_start(struct mw *w, uint32_t rank);
/* What happens whenever the engine has its turn. */
void mw_node_turn(struct mw_node *n);
/* Without a word. */
void mw_node_kill(struct mw_node *n);
/* What others of its node may have mapped, when all are over. */
void mw_node_free(struct mw_node *n);

#endif
