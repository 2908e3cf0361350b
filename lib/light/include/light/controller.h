/* SPDX-License-Identifier: BSD-2-Clause */
/* light/controller.h - the brain of one optical switch: who is there (agents: relays with optical
 * ports), which jobs and communicators they have, and what collective call comes next; from
 * that circuits, and the word CLEAR_TO_SEND to whoever may send.
 *
 *     CALL ---> schedules of all ranks ---> plan ---> run, fabric ---> matrix ---> switch
 *                                                        |  lit
 *      CLEAR_TO_SEND <--- run: by light, by packets <--- UP of both ends <--- LINK_UP
 *      RECEIVED ---> run: ports move on ---> LINK_DOWN, DRAINED ---> matrix
 *
 * A node of a plan is a cluster (a client of the job): its agents, each a relay of it, with their
 * optical ports as slots, LIGHT_SLOTS_MAX in all.  Over which relay light goes is no matter here:
 * processes hand what is for a cluster to the relay that has light to it (relay/core.h).  A pair
 * has up to links_max links at once, if the call is predicted to take less so; they come and go one
 * by one, and nobody waits for more than the first. A job leases the ports of all its agents with
 * its first call; jobs that want the same ones take turns of `slice_ns`, and so do those that want
 * the same wavelengths (lit_max, groups).  One call of a job is under way at a time, the others
 * queue up in the order in which they were announced. What cannot be planned - no switch, no lease,
 * too large, a communicator not told, waiting for too long, no wavelength left of lit_max - goes by
 * packets: CLEAR_TO_SEND for ANY.  So does what is under way when one of its agents is lost, or
 * when nothing has happened for long.
 *
 *     light_controller_hello/heard/gone() as frames come ; after that, and at expiry:
 *     light_controller_turn()            with the switch's driver turned before and after it
 *
 * Units    ns of the caller's clock, bytes.
 * Bounds   no allocation but the memory given; limits below.
 * Threads  one owner. */
#ifndef LIGHT_CONTROLLER_H
#define LIGHT_CONTROLLER_H

#include "light/frame.h"
#include "ocs/control.h"
#include "circ/predict.h"

#define LIGHT_GROUPS_MAX 32u
#define LIGHT_AGENTS_MAX 64u
/* Why the ports of a relay are not used. */
#define LIGHT_TEXT_GROUPS                                                                      \
	"its ports are in several groups of wavelengths, so it has no light; fix: put all of " \
	"them into one group of optical.lit_groups"
#define LIGHT_TEXT_BEYOND                                                                   \
	"one of its ports is not below optical.switch.ports, so it has no light; fix: its " \
	"switch_port, or optical.switch.ports here"

#define LIGHT_TEXT_APART                                                                    \
	"its ports are in another group of wavelengths than those of another relay of its " \
	"cluster, so it has no part in a job; fix: put both into one group of "             \
	"optical.lit_groups"

enum light_event_kind {
	LIGHT_EVENT_ONLINE, /* the switch's session */
	LIGHT_EVENT_OFFLINE,
	LIGHT_EVENT_AGENT, /* a: came; text: why its ports are not used, or NULL */
	LIGHT_EVENT_AGENT_GONE,
	LIGHT_EVENT_LIT, /* x -> y: circuit, from_ns: ordered */
	LIGHT_EVENT_GONE,
	LIGHT_EVENT_REFUSED,
	LIGHT_EVENT_UP,	       /* x - y: both ends have found each other; from_ns: told to look */
	LIGHT_EVENT_DOWN,      /* x - y: to be let go; from_ns: up since */
	LIGHT_EVENT_FAILED,    /* x - y: the ends do not, or no longer, find each other */
	LIGHT_EVENT_WITHDRAWN, /* x: a port, a: its relay */
	LIGHT_EVENT_RESTORED,
	LIGHT_EVENT_CALL,    /* a call is planned: mode, messages, set-ups */
	LIGHT_EVENT_OVER,    /* it is over; from_ns: planned */
	LIGHT_EVENT_PACKETS, /* a call goes by packets: text says why */
	LIGHT_EVENT_KINDS
};
const char *light_event_name(enum light_event_kind k);

struct light_event {
	enum light_event_kind kind;
	uint64_t at_ns, from_ns;
	uint32_t x, y;		   /* ports of the switch */
	struct light_addr a, b;	   /* the relays they lead to */
	uint64_t key;		   /* of the job */
	struct light_call call;	   /* CALL, OVER, PACKETS */
	enum circ_mode mode;	   /* CALL: the one chosen */
	uint32_t messages, setups; /* CALL: between clusters; circuits ordered */
	const char *text;
};

struct light_controller_ops {
	/* A frame to an agent; false: it cannot be told any more, light_controller_gone() follows.
	 */
	bool (*send)(void *user, uint32_t agent, const struct light_frame *f);
	/* The agent has called again, by another session. */
	void (*hang_up)(void *user, uint32_t agent);
	void (*event)(void *user, const struct light_event *e); /* or NULL */
};

struct light_controller_config {
	uint32_t ports;				    /* of the switch */
	uint32_t agents, jobs, comms, calls, ranks; /* at a time; ranks: of a communicator */
	size_t call_bytes;	 /* memory for one call's schedules and plan, for each job */
	enum circ_mode mode;	 /* of calls that leave it to us */
	struct circ_costs costs; /* gamma: until it is learnt */
	uint64_t patience_ns;	 /* for a circuit, and what a dark port costs; 0: 300 ms */
	uint64_t link_ns;	 /* for both ends to find each other; 0: 250 ms */
	uint64_t drain_ns;	 /* 0: 50 ms */
	uint64_t stall_ns;	 /* 0: 500 ms, and what the largest message takes */
	uint64_t slice_ns;	 /* 0: 200 ms */
	uint32_t links_max;	 /* links of a pair of clusters at once; 0: one */
	uint32_t lit_max;	 /* links lit at once, of all jobs; 0: as many as ports make */
	/* Groups of ports that share wavelengths, or none: group_of[ports], groups for a port in
	 * no group, and waves[groups], how many links may have an end in it.  Kept, not copied.
	 * All ports of a relay are in one group, or in none: a relay that says otherwise has no
	 * ports here, and an event says why. */
	uint32_t groups; /* <= LIGHT_GROUPS_MAX */
	const uint32_t *group_of, *waves;
	const struct light_controller_ops *ops;
	void *user;
	struct ocs_control *control;
};

#define LIGHT_CONTROLLER_COUNTERS(X)                                            \
	X(calls, "collective calls planned")                                    \
	X(calls_by_packets, "collective calls not planned, or given up")        \
	X(misses, "circuits that calls ordered")                                \
	X(extra_links, "of these, links beside the first of their pair")        \
	X(hits, "messages by light for which no circuit had to be set up")      \
	X(by_light, "messages between clusters told to go by light")            \
	X(by_packets, "messages between clusters told to go by packets")        \
	X(refused, "circuits refused by the switch")                            \
	X(lost, "circuits that went while relays used them or looked for them") \
	X(links_up, "pairs of ports whose relays found each other by light")    \
	X(links_failed, "pairs of ports whose relays did not, or lost each other")
struct light_controller_counters {
#define X(name, help) uint64_t name;
	LIGHT_CONTROLLER_COUNTERS(X)
#undef X
};

struct light_controller; /* opaque */

/* 0: limits out of range. */
size_t light_controller_footprint(const struct light_controller_config *cfg);
struct light_controller *light_controller_new(void *mem, const struct light_controller_config *cfg);

/* From the session of this number, below agents.  False: it talks nonsense, hang up. */
bool light_controller_heard(struct light_controller *c, uint32_t agent, const struct light_frame *f,
			    uint64_t now_ns);
void light_controller_gone(struct light_controller *c, uint32_t agent, uint64_t now_ns);
void light_controller_turn(struct light_controller *c, uint64_t now_ns);
uint64_t light_controller_expiry_ns(const struct light_controller *c);

/* Maintenance: nothing is planned over this port of the switch any more, what is lit over it is
 * drained and goes, in mid-call, too; with away false it is as any other again, from the next call
 * on.  It holds until then, or the controller's end.  False: the switch has no such port. */
bool light_controller_withdraw(struct light_controller *c, uint32_t port, bool away,
			       uint64_t now_ns);
struct light_away_row {
	uint32_t port;
	struct light_addr relay; /* that is wired to it, or none */
	bool dark;		 /* nothing is lit over it any more */
};
/* The i-th port that is withdrawn; false: there is none. */
bool light_controller_away(const struct light_controller *c, uint32_t i,
			   struct light_away_row *row);

const struct light_controller_counters *light_controller_counters(const struct light_controller *c);
/* Jobs that have calls under way or hold ports: 0 when all is quiet. */
uint32_t light_controller_busy(const struct light_controller *c);

struct light_link_row {
	uint32_t x, y;
	struct light_addr a, b;
	enum base_lightpath state; /* OPENING, OPEN, CLOSING or FAILED */
	uint64_t since_ns;	   /* in the state */
	uint64_t key;
};
/* The i-th link at present; false: there is none. */
bool light_controller_link(const struct light_controller *c, uint32_t i,
			   struct light_link_row *row);

struct light_job_row {
	uint64_t key;
	const char *lease; /* "none", "waiting", "granted", "leaving" */
	uint32_t agents, comms, queued;
	bool calling;
	struct light_call call; /* under way */
	enum circ_mode mode;
	uint32_t messages, left;
};
bool light_controller_job(const struct light_controller *c, uint32_t i, struct light_job_row *row);

struct light_agent_row {
	struct light_addr relay;
	uint32_t ports;
	bool offered;
};
bool light_controller_agent(const struct light_controller *c, uint32_t i,
			    struct light_agent_row *row);

/* NULL, or what contradicts itself: for tests and the simulator. */
const char *light_controller_check(const struct light_controller *c);
/* NULL after light_controller_turn(), or that a message has not been told to go which could: for
 * them as well. */
const char *light_controller_go_check(const struct light_controller *c);

#endif
