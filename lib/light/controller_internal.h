/* SPDX-License-Identifier: BSD-2-Clause */
/* controller_internal.h - what the files of the controller share.
 *
 *     controller.c       agents and their frames, communicators, calls as they are announced
 *     controller_link.c  links: their two ends, up and down
 *     controller_job.c   leases, the queue of calls, what is under way
 *     controller_call.c  a call from its schedules to CLEAR_TO_SEND and RECEIVED */
#ifndef LIGHT_CONTROLLER_INTERNAL_H
#define LIGHT_CONTROLLER_INTERNAL_H

#include "light/controller.h"

#include "circ/call.h"
#include "circ/fabric.h"
#include "ocs/lease.h"

#define NO_AGENT    UINT32_MAX
#define JOB_PORTS   (LIGHT_CLIENTS * LIGHT_SLOTS_MAX)
#define CLIENT_NONE UINT32_MAX
#define AWAY	    UINT8_MAX
#define POLL_NS	    (5 * 1000000ull) /* while circuits are on their way */

struct agent {
	bool here, told; /* told: what was offered last */
	struct light_hello hello;
	struct light_offer offer;
	uint32_t group; /* of its ports; cfg.groups: none */
};

/* Of the lower of its two ports. */
struct link {
	bool used;
	uint32_t id, x, y;
	enum base_lightpath state;
	uint64_t since_ns, up_ns;
	bool up[2], drained[2];
	bool answered[2]; /* that it has let go of it: it is there, and not too busy to say so */
	bool missed;	  /* they did not find each other in time */
	uint64_t key;
};

#define DONE_KEPT 64

struct comm {
	bool used, whole;
	uint32_t job, comm, leader, p;
	/* Calls that are over, a few of the latest: their numbers need not follow each other. */
	uint32_t done[DONE_KEPT], dones;
	uint64_t told;		   /* when it became whole, of all that did */
	uint32_t freed, members;   /* bit per client: has freed it, has ranks in it */
	uint32_t *world;	   /* [ranks] */
	uint32_t *client;	   /* [ranks] CLIENT_NONE: not told yet */
	struct coll_locality near; /* by clusters, as libmpi has it */
	uint32_t *domain;	   /* [2 * ranks] near.of, and room to find it */
};

struct call {
	bool used;
	uint32_t job;
	struct light_call call;
	uint64_t order, since_ns;
	bool forecast;
};

enum lease { LEASE_NONE, LEASE_WAITING, LEASE_GRANTED, LEASE_LEAVING };

enum { FLAG_BETWEEN = 1, FLAG_MAY = 2, FLAG_OVER = 4, FLAG_LIGHT = 8 };

/* The call under way. */
struct doing {
	struct call *call; /* NULL: none */
	struct comm *comm;
	struct circ_call made;
	struct circ_call_plan plan;
	enum circ_mode mode;
	uint8_t *flag;	   /* [messages] */
	uint32_t *ordinal; /* [messages] from 1, of its pair */
	uint32_t *first;   /* [p + 1] of a sender's messages */
	uint32_t *stop;	   /* [p] scratch: stamp of the sender whose pair is at its end */
	uint8_t *fresh;	   /* [setups] has carried nothing yet */
	uint32_t left, between;
	uint64_t planned_ns, progress_ns, stall_ns;
	bool changed;
};

struct job {
	bool used, ended;
	bool untidy; /* circuits that no slot keeps are still in use */
	uint64_t key, owner;
	uint8_t *client; /* [agents] which of its clients' processes are there, or AWAY */
	enum lease lease;
	uint64_t granted_ns;
	/* While it holds ports: of cfg.lit_max, and of each group; behind those no limit. */
	uint32_t share, waves[LIGHT_GROUPS_MAX + 1], group[LIGHT_CLIENTS];
	bool dark;	 /* it has too little for any link */
	uint64_t scarce; /* others have all of a limit: one is to leave; since when, or 0 */
	struct circ_slots slots;
	struct circ_slot slot[JOB_PORTS];
	uint32_t granted[LIGHT_CLIENTS]; /* ports; the first ports[] of them can be used */
	uint32_t ports[LIGHT_CLIENTS], port_of[JOB_PORTS];
	struct circ_fabric fabric;
	struct doing now;
	/* The schedules of the last call, for the next one if it is the same. */
	struct {
		uint64_t told; /* of its communicator; 0: none */
		struct light_call call;
		struct doing made;
		struct base_space rest;
	} last;
	void *mem; /* [call_bytes] */
};

struct light_controller {
	struct light_controller_config cfg;
	struct ocs_matrix *m;
	struct ocs_leases *leases;
	struct agent *agent; /* [agents] */
	struct job *job;     /* [jobs] */
	struct comm *comm;   /* [comms] */
	struct call *call;   /* [calls] */
	struct link *link;   /* [ports] */
	uint32_t *link_of;   /* [ports] index of the link at a port, or CIRC_NONE */
	uint32_t *node_of;   /* [ports] agent, or NO_AGENT */
	uint32_t *slot_of;   /* [ports] of that agent */
	bool *away;	     /* [ports] withdrawn */
	uint32_t links;
	uint64_t owners, orders, poll_ns;
	bool online;
	struct light_controller_counters count;
};

static inline uint32_t
job_index(const struct light_controller *c, const struct job *j)
{
	return (uint32_t)(j - c->job);
}

/* controller.c */
bool light_controller_send(struct light_controller *c, uint32_t agent, const struct light_frame *f);
void light_controller_event(struct light_controller *c, struct light_event e);
struct comm *light_controller_comm(struct light_controller *c, uint32_t job, uint32_t comm,
				   uint32_t leader);
/* CLEAR_TO_SEND for all messages of the call, to all agents of the job. */
void light_controller_go_any(struct light_controller *c, const struct job *j,
			     const struct light_call *call);
/* The call is over, or needs no light: its place is free, late words about it are answered. */
void light_controller_done(struct light_controller *c, struct call *k);
bool light_controller_is_done(const struct comm *m, uint32_t seq);
/* All its clients have freed it, and no call is under way: its place is free. */
void light_controller_comm_tidy(struct light_controller *c, struct comm *m);

/* controller_link.c */
extern const struct circ_fabric_ends light_controller_ends;
void light_controller_link_heard(struct light_controller *c, uint32_t agent,
				 const struct light_frame *f, uint64_t now_ns);
void light_controller_links_gone(struct light_controller *c, uint32_t agent, uint64_t now_ns);
/* What is lit over ports that are withdrawn goes.  True: some of it is still there. */
bool light_controller_links_withdraw(struct light_controller *c, uint64_t now_ns);
void light_controller_links_tick(struct light_controller *c, uint64_t now_ns);
uint64_t light_controller_links_expiry_ns(const struct light_controller *c);
/* A link that nobody has let go of is at that port. */
bool light_controller_link_stands(const struct light_controller *c, uint32_t port);
uint64_t light_controller_key_of(const struct light_controller *c, uint32_t port);

/* controller_job.c */
void light_controller_job_init(struct light_controller *c, struct job *j, uint64_t key);
/* Its agents have changed: whatever it holds is given back, then asked for anew. */
void light_controller_job_renew(struct light_controller *c, struct job *j, uint64_t now_ns);
void light_controller_jobs_turn(struct light_controller *c, uint64_t now_ns);

/* controller_call.c */
/* Plan it and begin.  NULL, or why not. */
const char *light_controller_call_begin(struct light_controller *c, struct job *j, struct call *k,
					struct comm *m, uint64_t now_ns);
void light_controller_call_step(struct light_controller *c, struct job *j, uint64_t now_ns);
void light_controller_call_over(struct light_controller *c, struct job *j,
				const struct light_count *n, uint64_t now_ns);
/* What is left of it goes by packets. */
void light_controller_call_drop(struct light_controller *c, struct job *j, const char *why,
				uint64_t now_ns);

#endif
