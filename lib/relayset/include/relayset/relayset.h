/* SPDX-License-Identifier: BSD-2-Clause */
/* relayset/relayset.h - a process and the relays of its cluster (doc/job-setup.md, A process and
 * the relays of its cluster): paths to all of them, groups of lanes over these paths, and what
 * happens when relays go and come back.
 *
 * A relay here is one Suci endpoint of a relay: one worker shard.  It is named by start-up, told
 * of by another relay (note RELAYS), or opens a path by itself.
 *
 *      known --open--> connecting --path up--> up --silence, path down--> known
 *        ^                |                                                 |
 *        +-- path down ---+            tried again after a pause that grows
 *
 * Lanes to other clusters stand in groups of lib/suci, one for each pair of a client and the relay
 * that start-up named for a process of it.  The groups of a client differ by which relay is
 * preferred (policy DEST) or are all alike (SOURCE, STRIPE).  While relays have light to a client,
 * they share what is for it, whatever the policy says.  Whenever a relay comes, goes, drains
 * or tells of other ways, the next turn settles members and weights of all groups.
 *
 * Silence counts only while the process listened: a program that computes reads no socket, and no
 * relay is taken for dead because of that.  When there has been no relay for partition_ns, the
 * owner is told, whose job is over then.
 *
 * The owner passes on what Suci's callbacks say (relayset_path_up(), _path_down(), _list(),
 * _ways()), which change nothing but this object, notes aside, and calls relayset_turn() outside of
 * them.
 *
 * Units    nanoseconds of the clock of the endpoint.
 * Threads  one owner at a time, that of the endpoint.
 * Limits   struct relayset_limits; RELAY_LIST_POLICIES clients.
 * Errors   enum suci_err of lib/suci where a path is opened. */
#ifndef RELAYSET_RELAYSET_H
#define RELAYSET_RELAYSET_H

#include "relayproto/hello.h"
#include "relayproto/note.h"
#include "suci/lane.h"

#define RELAYSET_NONE	  UINT32_MAX
#define RELAYSET_MORE	  32u /* relays beyond those of start-up that a set should have room for */
#define RELAYSET_WAIT_NS  10000000000ull /* how long a start waits for all that were named */
#define RELAYSET_NAME_MAX SUCI_ADDR_TEXT_MAX

struct relayset_limits {
	uint32_t relays_max, groups_max;
};

/* What start-up says of a relay. */
struct relayset_relay {
	struct suci_addr addr; /* where it is */
	uint32_t ipv4;	       /* by which relays call it; 0: addr says it, or nobody has told */
	uint64_t token;	       /* as announced; relayset_info(): what this process says */
	uint32_t base;	       /* its label of world rank 0 */
};

struct relayset_ops {
	/* There has been no relay for partition_ns; text says which are known and what is wrong
	 * with each.  In relayset_turn(). */
	void (*nobody_left)(void *user, const char *text);
	/* Relay i went, or could not be reached.  May be NULL. */
	void (*relay_down)(void *user, uint32_t i);
	/* Its datagrams are too small for the segments that lanes have: it is not used.  Once for
	 * each.  May be NULL. */
	void (*too_small)(void *user, uint32_t i);
};

struct relayset_conf {
	struct relayset_limits limits;
	uint32_t rank, client; /* world rank and cluster of this process */
	uint64_t silence_ns;   /* of a relay, before it counts as gone; 0: never */
	uint64_t partition_ns; /* without any relay; 0: at once */
	bool partition_fixed;  /* what relays say of it does not count */
	const struct relayset_ops *ops;
	void *user;
};

struct relayset;
size_t relayset_footprint(const struct relayset_limits *limits);
/* mem: footprint bytes, aligned to 64.  It keeps no other memory. */
struct relayset *relayset_new(void *mem, const struct relayset_conf *conf);
/* Before anything is opened.  ep's hello data do not count: each path has its own. */
void relayset_bind(struct relayset *rs, struct suci *ep, struct suci_lanes *lanes);

/* One that start-up names: its index, or NONE, there is no room.  All have the same token and
 * base. */
uint32_t relayset_add(struct relayset *rs, const struct relayset_relay *relay);
/* Open a path to relay i now.  0 or enum suci_err.  relayset_turn() opens all that are due. */
int relayset_open(struct relayset *rs, uint32_t i, uint64_t now_ns);
/* The first n, named by start-up, are up. */
bool relayset_all_up(const struct relayset *rs, uint32_t n);
bool relayset_any_up(const struct relayset *rs);
/* The start is over: from now on time without any relay counts. */
void relayset_connected(struct relayset *rs);
/* The job ends: who goes now is not missed, nor told of. */
void relayset_closing(struct relayset *rs);

/* The group for lanes to processes of client that start-up sends over that relay; any other one of
 * the client if there is no room for more groups, 0 if there is none. */
uint32_t relayset_group(struct relayset *rs, uint32_t client, uint32_t relay, uint64_t now_ns);
/* Payload of a segment that all relays take that are up now; 0: none is up. */
uint32_t relayset_mss(struct relayset *rs);

/* A path to or from a relay, mtu as its hello says; false: there is no room for one more relay. */
bool relayset_path_up(struct relayset *rs, uint32_t path, const struct suci_addr *addr,
		      uint32_t mtu, uint64_t now_ns);
/* False: it was no relay's.  what: why, for people. */
bool relayset_path_down(struct relayset *rs, uint32_t path, enum suci_down why, const char *what,
			uint64_t now_ns);
/* Notes of the relay at the other end of path; of this job, as the caller has checked. */
void relayset_list(struct relayset *rs, uint32_t path, const struct relay_list *l);
void relayset_ways(struct relayset *rs, uint32_t path, uint32_t ways, uint32_t resend,
		   uint32_t lit);
/* Tell relay i.  False: it is not up, or takes no note now. */
bool relayset_tell(struct relayset *rs, uint32_t i, const void *note, size_t len, uint64_t now_ns);

/* Once a turn of the owner's loop, outside Suci's callbacks.  True: the endpoint may have
 * something to send. */
bool relayset_turn(struct relayset *rs, uint64_t now_ns);
/* When the next turn is due. */
uint64_t relayset_expiry_ns(const struct relayset *rs);

/* --- a job that survives deaths (note DEATH)
 *
 * Each relay that comes up is told so, and which processes of this cluster have failed; each later
 * failure is told to all that are up.  What a relay could not take is told again. */
struct relayset_survivors {
	uint32_t nworld;
	uint32_t first, n;	    /* world ranks of this cluster: of others their relays tell */
	uint32_t label_base, token; /* of notes for this process */
	/* A relay says that these have failed; perhaps again. */
	void (*failed)(void *user, uint32_t first, uint32_t count);
	/* This process knows that it has failed. */
	bool (*has_failed)(void *user, uint32_t rank);
};
/* At the start, before the first path is opened: hellos say so, too.  What the endpoint says to who
 * opens a path is the owner's.  user is that of the set. */
void relayset_survive(struct relayset *rs, const struct relayset_survivors *s);
/* has_failed() says so of one more: the relays are told if it is of this cluster. */
void relayset_failed(struct relayset *rs, uint32_t rank, uint64_t now_ns);
/* A note DEATH of a relay.  False: it is not for this process, or names ranks that there are
 * not. */
bool relayset_death(struct relayset *rs, const struct relay_note *n);

struct relayset_info {
	struct relayset_relay relay;
	const char *name; /* "10.0.0.1:4711" */
	const char *why;  /* why it is not up */
	uint32_t path;	  /* NONE: neither up nor connecting */
	uint32_t mtu;	  /* UDP payload its trunks take; 0: unknown */
	uint32_t weight;  /* 0: it drains */
	uint32_t downs;
	bool up;
	uint32_t lit;		  /* clients it has light to, a bit each */
	uint64_t segments, bytes; /* dealt to its path */
};
uint32_t relayset_count(const struct relayset *rs);
void relayset_info(const struct relayset *rs, uint32_t i, struct relayset_info *out);
/* The relay at that address, or on that path; NONE. */
uint32_t relayset_find(const struct relayset *rs, const struct suci_addr *addr);
uint32_t relayset_on_path(const struct relayset *rs, uint32_t path);
/* One of them is being emptied; how often relays have been looked after. */
bool relayset_draining(const struct relayset *rs);
uint32_t relayset_looks(const struct relayset *rs);

#endif
