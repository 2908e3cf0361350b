/* SPDX-License-Identifier: BSD-2-Clause */
/* relay/cluster.h - the jobs of a relay among the relays of its cluster, without I/O.
 *
 * Every relay of a cluster has every job of it, in all its workers and in its gateway if foreign
 * hosts need that one.  One relay is the job's primary: the job's client called it.  The primary
 * has the table (relay/startup.h), gives it to the other relays, which become members of the job,
 * and says when the job is over.  Frames are those of relay/peer.h.
 *
 *     frames of other relays  --> +---------------+ --> frames for other relays
 *     answers of the workers  --> | relay_cluster | --> orders to workers and gateway
 *     reports of the workers  --> |               | --> installed, aborted: to the primary's client
 *     ticks, channels up/down --> +---------------+
 *
 *     primary   INSTALLING --all have answered--> INSTALLED --end--> FINISHING --> OVER
 *     member    INSTALLING --OK--------> INSTALLED --END--> FINISHING --END--> OVER
 *                            |  ^                    orphan: left, and a pause ^
 *                            +--+ its primary goes: an orphan; comes: no orphan|
 *
 * End     A job with foreign hosts (relay/job.h) that ends well ends in three steps, for what its
 *         gateways still hold needs the cores of all relays of the cluster:
 *         1. the primary orders its gateway to finish, and sends END with no text; so do members
 *         2. a relay whose gateway has finished answers END with no text
 *         3. when all have, the primary takes the job out of its cores and sends END with no text
 *            again, and the members take it out of theirs
 *         Without foreign hosts only step 3 is left.  Any other end, at any time, is at once.
 * Loss    A relay whose channel is down takes no part: jobs with foreign hosts that use it end,
 *         others go on without it.  A member without its primary is an orphan, installed or not:
 *         nobody says that the job is over, so it ends RELAY_CLUSTER_ORPHAN_NS after our processes
 *         have left.  It gives the table to all relays that have not spoken of the job, for the
 *         primary need not have reached them.
 * Return  A channel that comes up asks for tables (GIVE): of the jobs whose primary the other relay
 *         is, and of its orphans.  A table that is here already is not installed again; an
 *         orphan's is ignored while our channel to the primary is up, or if we are it.  One of a
 *         job that ended here is answered by END.
 * Ways    Which clients each worker and each other relay can reach: a worker is told what it does
 *         not see (ELSEWHERE), other relays what all our workers see (WAYS), so that a job ends
 *         only when nobody has a way (relay_job_elsewhere()).
 *
 * Units    ns of any clock that does not go back; relays by index in the cluster's list.
 * Threads  one owner at a time.
 * Memory   the caller's; tables of members come from ops->room.
 * Limits   conf.jobs_max jobs, those that are being taken out included; a table over
 *          conf.limits, or one too many, is refused with a text.
 * Errors   texts go to people (ops->say), to other relays, or to the client; no call fails but
 *          relay_cluster_begin(). */
#ifndef RELAY_CLUSTER_H
#define RELAY_CLUSTER_H

#include "relay/peer.h"
#include "relay/startup.h"

#define RELAY_CLUSTER_JOIN_NS	5000000000ull /* for the other relays to be connected */
#define RELAY_CLUSTER_ORPHAN_NS 2000000000ull /* for the other relays' processes to leave */
#define RELAY_CLUSTER_GATEWAY	UINT32_MAX    /* a place: the gateway, others are workers */
#define RELAY_CLUSTER_NOBODY	(UINT32_MAX - 1)
#define RELAY_CLUSTER_NONE	UINT32_MAX /* no job */

enum relay_cluster_order_type {
	RELAY_CLUSTER_ADD,	 /* table; it stays until the answer: relay_cluster_answer() */
	RELAY_CLUSTER_END,	 /* text, empty: finished normally; to be answered */
	RELAY_CLUSTER_FINISH,	 /* gateway; to be answered, relay_cluster_finished() follows */
	RELAY_CLUSTER_ELSEWHERE, /* worker; ways: clients that others can reach; not answered */
};
struct relay_cluster_order {
	enum relay_cluster_order_type type;
	uint32_t place; /* worker, or RELAY_CLUSTER_GATEWAY */
	uint32_t job;	/* for the answer */
	uint32_t label_base, ways;
	const struct relay_job *table;
	const char *text; /* not NULL */
};

enum relay_cluster_level {
	RELAY_CLUSTER_INFO,
	RELAY_CLUSTER_WARNING,
	RELAY_CLUSTER_ERROR,
};

/* Called from within the calls below.  They may call relay_cluster_end(), _running() and
 * _forget() of the job they are about, nothing else. */
struct relay_cluster_ops {
	void (*order)(void *user, const struct relay_cluster_order *o);
	/* To relay i: false: there is no channel, or it takes no more. */
	bool (*send)(void *user, uint32_t i, const struct relay_peer_frame *f);
	bool (*send_job)(void *user, uint32_t i, const struct relay_job *table);
	/* Memory of a member's table, 8-byte aligned, NULL: there is none; and back. */
	void *(*room)(void *user, size_t len);
	void (*give_back)(void *user, void *mem);
	/* Workers and gateway are ordered to have the table; not to have it.  May be NULL. */
	void (*table)(void *user, const struct relay_job *table, bool here);
	/* Our client's job.  refusal NULL: it is installed everywhere, once; else it cannot be, and
	 * relay_cluster_end() is expected, now or later. */
	void (*installed)(void *user, void *owner, const char *refusal);
	/* Our client's job has to end; relay_cluster_end() is expected, now or later. */
	void (*aborted)(void *user, void *owner, const char *why);
	/* Our client's job goes on over the other relays, and is over here. */
	void (*handed_over)(void *user, void *owner);
	/* For people.  owner: of our client's job, NULL: it is job id of relay primary, id 0: one
	 * whose number nobody could read. */
	void (*say)(void *user, enum relay_cluster_level level, void *owner, uint32_t id,
		    uint32_t primary, const char *text);
};

struct relay_cluster_conf {
	uint32_t self, nrelays; /* <= RELAY_RELAYS_MAX */
	/* [nrelays], kept.  Of ourselves: nshards is the number of workers. */
	const struct relay_member *member;
	const char *name; /* of the cluster, kept */
	bool gateway;	  /* this relay has one */
	uint32_t jobs_max;
	struct relay_job_limits limits;
	struct relay_labels *labels; /* of this relay as a primary; kept */
	const struct relay_cluster_ops *ops;
	void *user;
};

struct relay_cluster; /* opaque */

/* Bytes, 8-byte aligned; 0 if a limit is out of range. */
size_t relay_cluster_footprint(const struct relay_cluster_conf *conf);
/* NULL if the configuration is out of range. */
struct relay_cluster *relay_cluster_new(void *mem, const struct relay_cluster_conf *conf);
/* Gives back the members' tables; nothing is ordered or sent. */
void relay_cluster_fini(struct relay_cluster *c);

/* ---- our client's jobs ---------------------------------------------------------- */

/* The table is complete, and stays until relay_cluster_over().  members: bit per relay that takes
 * part; others with a channel get it too, but nobody waits for them.  The job, or
 * RELAY_CLUSTER_NONE: jobs_max. */
uint32_t relay_cluster_begin(struct relay_cluster *c, void *owner, const struct relay_job *table,
			     uint64_t members, uint64_t now_ns);
/* Start-up is over: the job does without relays that go from now on. */
void relay_cluster_running(struct relay_cluster *c, uint32_t job);
/* The job has ended; why NULL: well. */
void relay_cluster_end(struct relay_cluster *c, uint32_t job, const char *why);
/* Nobody has it any more, or its table, and relay_cluster_forget() may follow. */
bool relay_cluster_over(const struct relay_cluster *c, uint32_t job);
/* The owner goes; orders that are not answered yet may be answered, or never. */
void relay_cluster_forget(struct relay_cluster *c, uint32_t job);

/* ---- what workers and gateway say --------------------------------------------------- */

/* To an order.  refusal NULL: done. */
void relay_cluster_answer(struct relay_cluster *c, uint32_t job, enum relay_cluster_order_type type,
			  uint32_t place, const char *refusal);
/* place has ended the job and forgotten it. */
void relay_cluster_ended(struct relay_cluster *c, uint32_t label_base, uint32_t place,
			 const char *why);
/* Our gateway has finished; why: what it could not do, or "". */
void relay_cluster_finished(struct relay_cluster *c, uint32_t label_base, const char *why);
/* relay_core_ops.job_state says so: the job survives deaths, also that of the process which has the
 * server channel.  Again: nothing happens. */
void relay_cluster_tolerate(struct relay_cluster *c, uint32_t label_base);
bool relay_cluster_tolerates(const struct relay_cluster *c, uint32_t job);
/* All its processes here have left, or failed, and others had time to.  In a job that survives
 * deaths these are all of the cluster's. */
bool relay_cluster_left(const struct relay_cluster *c, uint32_t job, uint64_t now_ns);
/* relay_core_ops.job_state of a worker. */
void relay_cluster_state(struct relay_cluster *c, uint32_t label_base, uint32_t worker,
			 uint32_t ways, bool left, uint64_t now_ns);

/* ---- the channels to the other relays ------------------------------------------------ */

void relay_cluster_up(struct relay_cluster *c, uint32_t i);
void relay_cluster_down(struct relay_cluster *c, uint32_t i, const char *why);
/* A whole frame; PING is answered. */
void relay_cluster_frame(struct relay_cluster *c, uint32_t i, const struct relay_peer_frame *f);
/* Has relay i a part in it? */
bool relay_cluster_serves(const struct relay_job *table, uint32_t i);

/* ---- time, and the end ---------------------------------------------------------------- */

/* Every 50 ms or so. */
void relay_cluster_tick(struct relay_cluster *c, uint64_t now_ns);
/* This relay drains: tables are refused, unless the jobs go over to the other relays and new
 * ones are wanted so long. */
void relay_cluster_drain(struct relay_cluster *c, bool handing_over);
/* All jobs end, for this reason. */
void relay_cluster_end_all(struct relay_cluster *c, const char *why);
/* Leave to the other relays what goes on without this one: nobody is told, the owners' jobs are
 * over. */
void relay_cluster_hand_over(struct relay_cluster *c);
/* Jobs that would not go on without this relay; all members' jobs, those being taken out too. */
uint32_t relay_cluster_bound(const struct relay_cluster *c);
uint32_t relay_cluster_members(const struct relay_cluster *c);

/* Is everything consistent?  *what: static text of what is not. */
bool relay_cluster_check(const struct relay_cluster *c, const char **what);

/* One job, for people and tests: i < jobs_max; false: none there. */
struct relay_cluster_info {
	uint32_t label_base, primary;
	bool ours, orphan, over, finishing;
	uint32_t orders; /* not answered */
	uint64_t cores;	 /* workers that have it, a bit each */
	bool gateway;
	uint64_t told; /* our client's: relays that have it, a bit each */
};
bool relay_cluster_job(const struct relay_cluster *c, uint32_t i, struct relay_cluster_info *out);

#endif
