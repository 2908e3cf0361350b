/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/light.h - the brain of circuits as a whole: processes, agents, one controller, a switch with
 * faults; see light.c. */
#ifndef SIM_LIGHT_H
#define SIM_LIGHT_H

#include "light/agent.h"
#include "light/client.h"
#include "light/controller.h"
#include "optical.h"

#define LW_RELAYS  8
#define LW_PORTS   4 /* switch ports n * 4 .. n * 4 + 3 lead to relay n */
#define LW_NO_PORT UINT32_MAX
#define LW_JOBS	   2
#define LW_STREAMS 2 /* communicators of a job whose calls go on side by side */
#define LW_RANKS   10
#define LW_MS	   BASE_MS_NS
#define LW_KEY	   77u /* of the first job */

/* Something said, on its way. */
enum lw_way { LW_TO_CONTROLLER, LW_TO_AGENT, LW_UP, LW_DOWN, LW_PROC };
struct lw_post {
	struct lw_post *next;
	uint64_t at_ns;
	enum lw_way way;
	uint32_t relay, job, rank;
	uint32_t epoch; /* of the session, or of the agent's life */
	size_t len;
	uint8_t bytes[LIGHT_FRAME_MAX];
};

struct lw_slot {
	enum base_lightpath phase;
	uint32_t peer, peer_slot; /* relay */
	uint64_t since_ns, dark_ns;
	uint32_t flights;
};

struct lw_relay {
	struct light_world *w;
	uint32_t n, ports, cluster; /* its job's processes there have a path to it */
	struct light_agent *agent;
	bool alive, session;
	uint32_t life, epoch; /* counts lives, sessions */
	uint64_t back_ns;     /* dead or without a session: until then */
	uint64_t last_ns[2];  /* of the session's two directions: frames keep their order */
	struct lw_slot slot[LW_PORTS];
};

struct lw_message {
	enum { LW_IDLE, LW_READY, LW_GATED, LW_LIGHT, LW_PACKET, LW_GONE } state;
	struct light_wait wait;
	uint32_t ordinal;
	uint64_t end_ns;
	uint32_t from_port; /* LIGHT: of the switch */
	uint64_t changed[2];
};

/* A communicator and its calls, one after the other. */
struct lw_stream {
	struct lw_job *j;
	uint32_t n, p, world[LW_RANKS], cluster[LW_RANKS];
	uint32_t calls, seq;
	bool calling, over, drawn;
	uint64_t until_ns;
	struct obs_args args;
	struct opt_data data;
	struct obs_call made;
	struct lw_message *message;
	struct light_gate gate[LW_RANKS];
	uint32_t go[LW_RANKS][LW_RANKS], arrived[LW_RANKS][LW_RANKS], told[LW_RANKS];
	bool entered[LW_RANKS], gated[LW_RANKS];
	uint64_t enter_ns[LW_RANKS];
};

struct lw_job {
	struct light_world *w;
	uint32_t n, p, cluster[LW_RANKS];
	bool begun, over;
	uint64_t begin_ns;
	struct light_client *client[LW_RANKS];
	struct lw_proc {
		struct lw_job *j;
		uint32_t rank;
	} proc[LW_RANKS];
	struct lw_stream stream[LW_STREAMS];
};

struct light_world {
	struct osw sw;
	struct base_prng rng;
	uint64_t now_ns;
	struct ocs_control *control;
	struct light_controller *controller;
	uint64_t controller_back_ns;
	struct lw_relay relay[LW_RELAYS];
	uint32_t relays, clusters; /* in half of the worlds two relays are of one cluster */
	/* By port of the switch where the controller is told that a relay's port is: where its
	 * fibre ends, and circuits in a row by which it has found nobody. */
	uint32_t fibre[OSW_PORTS], missed[OSW_PORTS];
	struct lw_job job[LW_JOBS];
	struct lw_post *posts;
	bool told[LW_JOBS][LW_RELAYS]; /* the controller: that processes of the job are there */
	bool verbose;
	bool calm; /* no faults: then nobody's patience ends */
	uint64_t session_ms, death_ms, restart_ms;
	/* Maintenance: ports that the controller was told are withdrawn, and since when. */
	struct base_prng hands;
	uint64_t hands_ms;
	bool away[OSW_PORTS];
	uint64_t away_ns[OSW_PORTS];
	/* Wavelengths: 0 or no groups: as many as ports. */
	bool apart; /* the two jobs have no cluster in common: they share light, and no port */
	uint32_t lit_max, groups, group_of[OSW_PORTS], waves[2];
	uint8_t broken; /* enum invariant */
	uint64_t withdrawn;
	uint32_t links_max; /* of a pair of clusters at once */
	/* beside, second: by light at second relays, while the pair had more than one link. */
	uint64_t moved, light, beside, second, packets, again, without_go, cut;
	/* Of those again: over a fibre that is where it is said to be.  Two relays may find each
	 * other over crossed ones by two circuits, and the one goes for reasons of its own. */
	uint64_t torn;
	uint64_t deaths, restarts, sessions_lost, planned;
	/* Frames and bytes of CLEAR_TO_SEND to relays; of these to second ones of a cluster. */
	uint64_t gos, go_bytes, gos_beside, go_bytes_beside, said_bytes;
	char why[300];
};

/* light_net.c: what is said, who is there; the ends of light. */
void lw_post(struct light_world *w, struct lw_post p, const void *bytes, uint64_t most_ms);
void lw_deliver(struct light_world *w);
void lw_world_init(struct light_world *w, uint64_t seed);
void lw_world_step(struct light_world *w, bool heal);
void lw_world_fini(struct light_world *w);
void lw_tell_jobs(struct lw_relay *k);
/* The port over which cluster `from` reaches `to` by light now, that with the least under way, or
 * LW_NO_PORT; how many there are. */
uint32_t lw_way(const struct light_world *w, uint32_t from, uint32_t to);
uint32_t lw_links(const struct light_world *w, uint32_t from, uint32_t to);
uint32_t lw_port(uint32_t relay, uint32_t slot);
struct lw_slot *lw_slot_at(struct light_world *w, uint32_t port);
/* Does what is sent from one port come out at the other now? */
bool lw_passes(const struct light_world *w, uint32_t from, uint32_t to);
/* What was sent has not come through. */
void lw_broken(struct light_world *w, uint32_t port);

#endif
