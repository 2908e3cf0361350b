/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/mmp_sites.h - a job of libmmp over sites: lib/mmp with its links and lib/mmp/away over real
 * relays with doors, which are killed and started again while the ranks talk.  What libmmp adds - a
 * socket, a thread, a program, and how the doors become known at first - is drawn here.
 *
 *	mmp_sites_node.c  a rank: endpoint, engine, when each has its turn
 *	mmp_sites.c       what it sends, what becomes of relays, and what must hold */
#ifndef SIM_MMP_SITES_H
#define SIM_MMP_SITES_H

#include "doors.h"
#include "draw.h"

#include "mmp/away.h"
#include "mmp/port.h"

#define RANKS  4u
#define EACH   60u /* messages of a pair and direction */
#define SOCK   256u
#define LANES  (RANKS + MMP_AWAY_LANES(RANKS) + 8)
#define NOBODY UINT32_MAX

struct letter {
	uint64_t bytes, off;
	uint32_t send, receive; /* requests */
	uint8_t *in, *out;
	bool sent, posted, gone, got; /* gone: its send is over */
};
struct town {
	struct country *w;
	uint32_t rank, cluster, ipv4, port;
	bool alive;
	struct suci *ep;
	struct mmp_lanes lanes;
	struct mmp_away *away;
	struct mmp_engine *engine;
	struct mmp_port *mp;
	void *ep_mem, *lanes_mem, *engine_mem, *port_mem, *far_mem, *away_mem, *ring[4];
	uint8_t *half[2];
	uint32_t path_peer[RANKS + 8], lane_peer[LANES];
	int lost[RANKS]; /* engine to program: an error, minus it once heard */
	bool knows;
	uint64_t sock[SOCK];
	uint32_t in_sock, burst;
	uint64_t wake_ns, post_ns, busy_ns; /* busy: computes until then */
	struct base_prng prng;
	uint32_t posted[RANKS], sent[RANKS]; /* letters, in their order */
};
struct country {
	struct doors *w;
	struct sim *s;
	uint32_t size, dead;
	bool storm, several, threaded, dies, closing;
	uint64_t span_ns; /* of the talk */
	struct mmp_card card[RANKS];
	uint32_t have; /* cards */
	struct town town[RANKS];
	struct letter letter[RANKS][RANKS][EACH]; /* from, to */
};

static inline bool
is_far(const struct country *w, uint32_t a, uint32_t b)
{
	return w->town[a].cluster != w->town[b].cluster;
}

/* mmp_sites.c: within a turn. */
void mmp_sites_program(struct town *n);

/* mmp_sites_node.c */
void mmp_sites_start(struct country *w, uint32_t rank);
void mmp_sites_turn(struct town *n);
/* Without a word. */
void mmp_sites_kill(struct town *n);

#endif
