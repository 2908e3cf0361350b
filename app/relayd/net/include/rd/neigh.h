/* SPDX-License-Identifier: BSD-2-Clause */
/* rd/neigh.h - neighbour table of one leg: IPv4 address -> MAC, with packets
 * that wait for an answer.  ARP proves nothing, so the table decides whom it believes.
 *
 *            lookup                    learn
 *     FREE ----------> RESOLVING ---------------> REACHABLE <-------------+
 *      ^                  |  request every retry_ns |   | age expiry_ns,  | the known
 *      |                  |  tries times            |   v suspect         | station
 *      +------------------+------------------------ | PROBING ------------+ answers
 *        unreachable: waiting packets are given     |   | (usable)        |
 *        back                     another MAC claims|   v another claims  |
 *                                                   +-> CONTESTED --------+
 *                                                       (usable, old MAC) |
 *                                old silent, the claimant answers: moved -+
 *
 * Only who answers a question of ours, or asks us while we ask for it, is learned; nothing that
 * comes unasked makes an entry.  A known MAC is replaced only if its station leaves CONTEST_TRIES
 * questions unanswered while the claimant answers.  Between two claims that are looked into are
 * 4 * retry_ns, so that a flood of claims is no flood of questions.  Whoever answers first while
 * nobody is known yet is believed: rd_neigh_fix() is for those that must not be.
 *
 * Peers and strangers: a peer has proved that it receives at its address, a stranger is just
 * where an answer is to go.  Strangers have a share of the entries, give up the oldest one of
 * their own for the next, and never one of a peer.  Peers give up strangers, then peers that were
 * not used for expiry_ns.  A stranger that proves itself becomes a peer.
 *
 * Entries not used for two expiry times are dropped instead of probed.
 *
 * rd_neigh_want() asks ahead for a stranger who will be spoken to soon.  That is one question, of
 * at most RD_NEIGH_WANTED at a time, and it takes nobody's entry: a flood of strangers makes four
 * questions a second with the usual retry_ns.
 *
 * Does no I/O: what is to be sent comes out through struct rd_neigh_ops, called
 * from lookup, learn, suspect and tick.
 *
 * Units    ns; addresses in host order.
 * Threads  one owner.
 * Memory   rd_neigh_footprint() bytes of the caller; allocates nothing. */
#ifndef RD_NEIGH_H
#define RD_NEIGH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rd_neigh_ops {
	/* Send an ARP request for ip; mac NULL: broadcast, else to that station. */
	void (*request)(void *user, uint32_t ip, const uint8_t *mac);
	/* A waiting packet may go to mac now. */
	void (*send)(void *user, void *packet, const uint8_t mac[6]);
	/* A waiting packet will not be sent. */
	void (*drop)(void *user, void *packet);
	/* Nobody answered for ip. */
	void (*unreachable)(void *user, uint32_t ip);
	/* Another station claims the address of the known one, which is asked now.  May be NULL. */
	void (*contested)(void *user, uint32_t ip, const uint8_t known[6], const uint8_t claim[6]);
	/* The address has another MAC now.  May be NULL. */
	void (*moved)(void *user, uint32_t ip, const uint8_t mac[6]);
};

struct rd_neigh_conf {
	uint32_t entries; /* 1 .. 65536 */
	uint32_t pending; /* packets waiting per entry, 1 .. 64 */
	uint32_t tries;	  /* 1 .. 100 */
	uint64_t retry_ns, expiry_ns;
	uint32_t strangers; /* their share, 1 .. entries; 0: a quarter, at least one */
	/* A line with one station at its end: who asks us is learned, and a new MAC at once. */
	bool trusting;
	const struct rd_neigh_ops *ops;
	void *user;
};

#define RD_NEIGH_COUNTERS(X)                                                   \
	X(requests, "ARP requests sent")                                       \
	X(wanted, "of these, ahead of what is to be sent")                     \
	X(learned, "answers and requests learned from")                        \
	X(moved, "neighbours whose MAC changed")                               \
	X(contested, "claims of a known address by another MAC")               \
	X(refuted, "of these, the known station answered and stayed")          \
	X(suspected, "neighbours asked again because a path was silent")       \
	X(unreachable, "neighbours that did not answer")                       \
	X(evicted, "entries given up for another in a full table")             \
	X(drop_pending, "packets dropped: too many wait for that neighbour")   \
	X(drop_unreachable, "packets dropped: their neighbour did not answer") \
	X(drop_evicted, "packets dropped: their entry was given up")           \
	X(drop_full, "packets dropped: no entry may be given up")
struct rd_neigh_counters {
#define X(n, h) uint64_t n;
	RD_NEIGH_COUNTERS(X)
#undef X
};

struct rd_neigh; /* opaque */

/* 0 if conf is out of range. */
size_t rd_neigh_footprint(const struct rd_neigh_conf *conf);
struct rd_neigh *rd_neigh_new(void *mem, const struct rd_neigh_conf *conf);
/* Gives waiting packets back through ops->drop.  Accepts NULL. */
void *rd_neigh_fini(struct rd_neigh *n);

enum rd_neigh_use { RD_NEIGH_STRANGER, RD_NEIGH_PEER };
/* The MAC of ip: true and mac.  False: packet waits (it is the table's until
 * ops->send or ops->drop) - which may already have happened on return. */
bool rd_neigh_lookup(struct rd_neigh *n, uint32_t ip, enum rd_neigh_use use, uint8_t mac[6],
		     void *packet, uint64_t now_ns);

/* Of those that rd_neigh_want() has asked for, so many may be unanswered. */
#define RD_NEIGH_WANTED 1u
/* A stranger there will be sent something soon.  Nothing waits, and who is silent is no news. */
void rd_neigh_want(struct rd_neigh *n, uint32_t ip, uint64_t now_ns);

enum rd_neigh_word {
	RD_NEIGH_ANSWERS,   /* a reply to us */
	RD_NEIGH_ASKS,	    /* a request for an address of ours */
	RD_NEIGH_ANNOUNCES, /* gratuitous: to everybody, unasked */
};
/* ip was said to have mac. */
void rd_neigh_learn(struct rd_neigh *n, uint32_t ip, const uint8_t mac[6], enum rd_neigh_word word,
		    uint64_t now_ns);
/* ip has mac, whatever anybody says.  False: the table is full. */
bool rd_neigh_fix(struct rd_neigh *n, uint32_t ip, const uint8_t mac[6]);
/* A peer there is silent although it should answer: ask for ip anew, at most every 4 * retry_ns. */
void rd_neigh_suspect(struct rd_neigh *n, uint32_t ip, uint64_t now_ns);
/* Somebody else (the kernel) talks to a peer there: the entry, if there is one, is in use. */
void rd_neigh_touch(struct rd_neigh *n, uint32_t ip, uint64_t now_ns);
void rd_neigh_tick(struct rd_neigh *n, uint64_t now_ns);
/* When tick has something to do; BASE_NEVER_NS if never. */
uint64_t rd_neigh_expiry_ns(const struct rd_neigh *n);
const struct rd_neigh_counters *rd_neigh_counters(const struct rd_neigh *n);
/* Entries in use, packets waiting. */
uint32_t rd_neigh_used(const struct rd_neigh *n);
uint32_t rd_neigh_waiting(const struct rd_neigh *n);

#endif
