/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/spawn.h - jobs that processes start (MPI_Comm_spawn), in virtual time: a launcher with real
 * lib/launch, callers with its orders and what they await, and roots that meet by real lib/meet
 * (sim/meet.h, streams of one cluster).
 *
 *	caller: root --- ask ---> launcher --- starts ---> children
 *	  |       |  <-- answer, or that nobody comes         |
 *	  |       +------------- a port ------------- their root
 *	members						    members
 *
 * With relays there are two clusters with two of them each, as of a job whose processes name them.
 * A root has its doors before it asks or calls.  Of those who call one process is in the other
 * cluster (far): who was started and it are to reach each other by their doors.
 *
 * What processes of a communicator tell each other are messages that take their time, in order
 * between two.  A death is noticed by each of the others at a time of its own. */
#ifndef SIM_SPAWN_H
#define SIM_SPAWN_H

#include "meet.h"

#include "launch/jobs.h"
#include "launch/order.h"

#define SW_PROCS    40u
#define SW_ASKS	    3u
#define SW_COMMANDS 2u
#define SW_CODES    8u
#define SW_LAUNCHER SW_PROCS
#define SW_RELAY    (SW_LAUNCHER + 1u) /* and those behind it: who dies */
#define SW_NONE	    UINT32_MAX
#define SW_CHILD    4u /* the node of the children's root, behind that of the root; as even as 0 */
#define SW_NODES    (SW_ASKS + SW_CHILD)
#define SW_FAR	    3u		     /* a node in the other cluster, of the first call */
#define SW_READY_NS (10 * BASE_S_NS) /* as in libmpi */
#define SW_PORT	    24u
#define SW_LIMIT_NS (10 * BASE_S_NS) /* 300 s in libmpi */
#define SW_SLEEP_NS (40 * BASE_S_NS) /* a program that does not call MPI_Init */

enum sw_stage {
	SW_IDLE,   /* runs, in no call */
	SW_READY,  /* root of either: waits for its doors */
	SW_ORDERS, /* caller's root: waits for the launcher */
	SW_AWAITS, /* caller's root: accepts, or talks */
	SW_HEARS,  /* member of either: waits for its root */
	SW_COMES,  /* child: not in MPI_Init yet */
	SW_FENCED, /* child: waits for the others of its job */
	SW_CALLS,  /* child's root: connects, or talks */
	SW_TELLS,  /* child: has met, and its launcher does not know it yet */
};

/* One MPI_Comm_spawn. */
struct sw_ask {
	uint32_t root, first, n; /* those who call: n processes from first */
	uint32_t node; /* the root's in sim/meet.h; that of the children's root is SW_CHILD on */
	uint32_t commands;
	struct launch_count count[SW_COMMANDS]; /* as the root has it */
	const char *soft[SW_COMMANDS];
	uint32_t tries;
	char port[SW_PORT];
	uint64_t token;
	uint32_t job; /* the launcher's; NONE: nothing was started */
	bool begun;
	bool sleeps, ends; /* it does not call MPI_Init: for long, or it ends at once */
	bool waits;	   /* for the word of members */
	uint32_t acks, child_acks;
	bool child_waits, connected;
	uint32_t imports[2]; /* far's of the children's root, and that one's of far; or NONE */
	uint64_t ended_ns;   /* the root's call; 0: not yet */
};

/* What a call gave. */
struct sw_result {
	bool over;
	int rc;	    /* 0, or an error */
	bool knows; /* how many were wanted */
	int codes[SW_CODES];
};

struct sw_proc {
	struct sw *w;
	uint32_t index, ask;	     /* of its call, or that started it */
	bool alive, child, returned; /* from its MPI_Init */
	enum sw_stage stage;
	struct mt_node *node; /* of a root; or NULL */
	uint64_t parent;      /* MPI_Comm_get_parent: the token of the port it met at */
	bool dead[SW_PROCS];  /* as far as it knows */
	/* What its root has said before it came there. */
	uint32_t early[4], nearly;
	uint64_t early_arg[4];
	struct launch_count count[SW_COMMANDS];
	struct sw_result result;
	struct launch_awaited awaited;
	struct launch_await await;
	uint64_t died_ns, ready_ns;
};

struct sw {
	struct mt *m;
	struct sim *s;
	struct base_prng prng;
	struct launch_jobs jobs;
	struct launch_proc launched[SW_PROCS];
	struct launch_job job[SW_PROCS];
	enum launch_state state[SW_PROCS];
	bool met[SW_PROCS];	    /* jobs */
	uint32_t fenced[SW_PROCS];  /* of a job */
	uint32_t ask_of[SW_PROCS];  /* a job */
	uint64_t gone_ns[SW_PROCS]; /* the last of a job; 0: not yet */
	uint64_t next_turn_ns;
	bool launcher_alive, finishing;
	struct sw_proc proc[SW_PROCS];
	uint32_t ranks; /* of job 0 */
	struct sw_ask ask[SW_ASKS];
	uint32_t nasks;
	uint64_t last_ns[SW_PROCS + 1][SW_PROCS + 1]; /* the last message of a pair arrives */
	uint32_t refuses_at;			      /* a fork that fails; NONE: none does */
	uint64_t slow_ns;			      /* what a message may take */
	bool relays;
};

struct sw *sw_new(uint64_t seed, bool verbose, bool relays);
void sw_finish(struct sw *w, struct outcome *o);
void sw_begin(struct sw *w, uint32_t ask);
/* A process, the launcher, or a relay. */
void sw_kill(struct sw *w, uint32_t who);
/* Whoever is in no call leaves MPI and ends. */
void sw_leave(struct sw *w);
bool sw_calls_over(const struct sw *w);

/* --- spawn_launcher.c: what the launcher does */
void sw_launcher_new(struct sw *w, bool keep_going, uint32_t usize);
void sw_launcher_hears(struct sw *w, uint32_t from, uint32_t what, uint64_t arg);
void sw_launcher_reaps(struct sw *w, uint32_t p, struct launch_end e);

/* --- spawn_world.c: messages and processes */
enum sw_word {
	/* to the launcher */
	SW_ASK,
	SW_INSIDE,
	SW_FENCE,
	SW_MET,
	SW_OUT,
	/* from the launcher */
	SW_ANSWER, /* arg: enum launch_answer, or SW_STARTED and the job */
	SW_UNMET,
	SW_ENDED, /* arg: the job, of which nobody is left */
	SW_RELEASE,
	SW_ACK,
	/* among those who call, or children */
	SW_OUTCOME_OF_ORDER,
	SW_CARDS,
	SW_CARDS_TAKEN,
	SW_OUTCOME,
};
#define SW_STARTED 100u
void sw_post(struct sw *w, uint32_t from, uint32_t to, enum sw_word what, uint64_t arg);
/* It is forked: it comes to MPI_Init by itself. */
void sw_child_begins(struct sw *w, uint32_t p, uint32_t ask);
void sw_die(struct sw *w, uint32_t p, struct launch_end e);

#endif
