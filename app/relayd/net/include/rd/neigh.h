/* rd/neigh.h - neighbour table of one leg: IPv4 address -> MAC, with packets
 * that wait for an answer.
 *
 *            lookup                    learn
 *     FREE ----------> RESOLVING ---------------> REACHABLE <-----------+
 *      ^                  |  request every retry_ns      | age expiry_ns | learn
 *      |                  |  tries times                 v               |
 *      +------------------+---------------------------- PROBING ---------+
 *        unreachable: waiting packets are given back     (usable, asks again)
 *
 * Entries not used for two expiry times are dropped instead of probed.  A full
 * table gives up its least recently used entry that is not RESOLVING.
 *
 * Does no I/O: what is to be sent comes out through struct rd_neigh_ops, called
 * from lookup, learn and tick.
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
};

struct rd_neigh_conf {
	uint32_t entries; /* 1 .. 65536 */
	uint32_t pending; /* packets waiting per entry, 1 .. 64 */
	uint32_t tries;	  /* 1 .. 100 */
	uint64_t retry_ns, expiry_ns;
	const struct rd_neigh_ops *ops;
	void *user;
};

#define RD_NEIGH_COUNTERS(X)                                                   \
	X(requests, "ARP requests sent")                                       \
	X(learned, "answers and requests learned from")                        \
	X(moved, "neighbours whose MAC changed")                               \
	X(unreachable, "neighbours that did not answer")                       \
	X(evicted, "entries given up for another in a full table")             \
	X(drop_pending, "packets dropped: too many wait for that neighbour")   \
	X(drop_unreachable, "packets dropped: their neighbour did not answer") \
	X(drop_full, "packets dropped: every entry is being resolved")
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

/* The MAC of ip: true and mac.  False: packet waits (it is the table's until
 * ops->send or ops->drop) - which may already have happened on return. */
bool rd_neigh_lookup(struct rd_neigh *n, uint32_t ip, uint8_t mac[6], void *packet,
		     uint64_t now_ns);
/* ip was seen to have mac.  create: also if nobody asked for it (it asked us, so
 * it will be needed); otherwise only known entries are updated. */
void rd_neigh_learn(struct rd_neigh *n, uint32_t ip, const uint8_t mac[6], bool create,
		    uint64_t now_ns);
void rd_neigh_tick(struct rd_neigh *n, uint64_t now_ns);
/* When tick has something to do; BASE_NEVER_NS if never. */
uint64_t rd_neigh_expiry_ns(const struct rd_neigh *n);
const struct rd_neigh_counters *rd_neigh_counters(const struct rd_neigh *n);
/* Entries in use, packets waiting. */
uint32_t rd_neigh_used(const struct rd_neigh *n);
uint32_t rd_neigh_waiting(const struct rd_neigh *n);

#endif
