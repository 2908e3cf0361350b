/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/sim.h - virtual time: an event queue, datagram buffers, directed links.
 *
 * Everything that happens is an event at an integer nanosecond; events of the same
 * time happen in the order in which they were made.  Random numbers come from
 * base/prng.h, one stream per link, so the same seed is the same run bit for bit:
 * every delivered datagram and every decision is folded into sim_hash().
 *
 * A port is where a node is attached to a network (a cluster's private one, the
 * wide-area one).  Between two ports of one network a datagram passes a route of up to
 * SIM_HOPS_MAX links; links may be shared between routes, which is how an incast or a
 * bottleneck is made.
 *
 *     node --port--> [link] --> [link] --> [link] --port--> node
 *                    egress     trunk      ingress
 *
 * Each link accounts for what it was offered: offered = passed + named drops + inside.
 *
 * Units    ns, bytes (a datagram's UDP payload; links add overhead_bytes to it), bytes
 *          per second, parts per 10^9.
 * Errors   sim_fail() records the first broken invariant and stops the run. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "base/clock.h"
#include "base/prng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_HOPS_MAX   5
#define SIM_PORTS_MAX  1100
#define SIM_LINKS_MAX  8192
#define SIM_ADDR_SLOTS 2048
#define SIM_LINK_NONE  UINT32_MAX
/* Ethernet with preamble and gap 38, IPv4 20, UDP 8. */
#define SIM_UDP_OVERHEAD 66
#define SIM_IP_UDP	 28

struct sim;
typedef void sim_fn(struct sim *s, void *who, uint64_t arg);

/* One datagram; the cookie given to suci_rx() is its index.  data is allocated to its
 * exact size, so AddressSanitizer sees a byte read too many. */
struct sim_buf {
	uint8_t *data;
	uint32_t len;
	uint32_t refs;	   /* 0: free */
	uint16_t from, to; /* ports */
	uint8_t hop;
	uint32_t next_free;
};

struct sim_link_conf {
	uint64_t rate_bps;  /* bytes per second on the wire; 0: no serialization */
	uint64_t packet_ns; /* and so long for each datagram: a processor */
	uint64_t delay_ns;
	uint64_t queue_bytes; /* waiting for the wire; 0: no limit */
	uint32_t overhead_bytes;
	uint32_t mtu; /* largest UDP payload; 0: no limit */
	uint32_t loss_ppb, dup_ppb, reorder_ppb;
	uint32_t corrupt_ppb; /* and the UDP checksum finds it: lost */
	uint32_t garble_ppb;  /* and it does not: sim.garble changes the bytes */
	uint64_t reorder_ns;  /* a reordered datagram is late by up to this */
	/* Bursts (Gilbert): by datagram, chance to enter the bad state and to leave it, loss
	 * within it. */
	uint32_t burst_in_ppb, burst_out_ppb, burst_loss_ppb;
};

/* clang-format off */
#define SIM_LINK_COUNTERS(X)                                                               \
	X(offered) X(duplicated) X(passed) X(bytes) X(reordered) X(garbled)                \
	X(drop_down) X(drop_mtu) X(drop_loss) X(drop_burst) X(drop_queue)                  \
	X(drop_checksum) X(drop_aimed)
/* clang-format on */
struct sim_link {
	struct sim_link_conf conf;
	struct base_prng prng;
	uint64_t free_at_ns; /* the wire is busy until then */
	uint64_t inside;     /* datagrams */
	bool down;
	bool bad; /* in a burst of losses */
	/* Aimed faults: true drops the datagram. */
	bool (*aim)(void *who, const struct sim_buf *b);
	void *aim_who;
	struct {
#define X(n) uint64_t n;
		SIM_LINK_COUNTERS(X)
#undef X
	} n;
};

struct sim_port {
	void *node;
	/* A datagram is here; the buffer is valid during the call unless held. */
	sim_fn *deliver; /* arg: buffer index */
	uint32_t network;
	uint32_t ipv4;
	uint32_t next; /* with the same hash of network and address; SIM_LINK_NONE */
	uint64_t delivered, sent, unroutable;
};

struct sim_event {
	uint64_t at_ns, order;
	sim_fn *fn;
	void *who;
	uint64_t arg;
};

struct sim {
	uint64_t now_ns, seed;
	uint64_t hash;
	uint64_t events, events_max;
	uint64_t order;
	struct sim_event *heap;
	size_t nheap, heap_cap;
	struct sim_buf *buf;
	uint32_t nbuf, buf_free, buf_live, buf_live_max;
	struct sim_link link[SIM_LINKS_MAX];
	uint32_t nlink;
	struct sim_port port[SIM_PORTS_MAX];
	uint32_t nport;
	uint32_t at_addr[SIM_ADDR_SLOTS]; /* first port with that hash + 1, 0: none */
	uint16_t route[SIM_PORTS_MAX][SIM_PORTS_MAX][SIM_HOPS_MAX]; /* link + 1, 0: end */
	bool failed;
	uint8_t broken; /* enum invariant, see invariants.h; 0: none named */
	char why[400];
	bool verbose;
	/* Change some of the bytes; false: nothing there that may be changed. */
	bool (*garble)(void *who, struct base_prng *prng, struct sim_buf *b);
	void *garble_who;
	/* Sees all that is sent, before anybody else. */
	void (*spy)(void *who, const struct sim_buf *b);
	void *spy_who;
};

struct sim *sim_new(uint64_t seed);
/* What a run was like. */
struct outcome;
void sim_outcome(const struct sim *s, struct outcome *o);
/* Events still queued are thrown away with their buffers. */
void sim_free(struct sim *s);

void sim_at(struct sim *s, uint64_t at_ns, sim_fn *fn, void *who, uint64_t arg);
/* Run until nothing is left, until_ns is reached, stop says so, or an invariant broke. */
void sim_run(struct sim *s, uint64_t until_ns, bool (*stop)(void *who), void *who);

void sim_fail(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sim_log(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define SIM_CHECK(s, cond, ...)                   \
	do {                                      \
		if (!(cond))                      \
			sim_fail(s, __VA_ARGS__); \
	} while (0)
void sim_mix(struct sim *s, uint64_t v);

uint32_t sim_add_link(struct sim *s, const struct sim_link_conf *conf);
uint32_t sim_add_port(struct sim *s, void *node, sim_fn *deliver, uint32_t network, uint32_t ipv4);
void sim_set_route(struct sim *s, uint32_t from, uint32_t to, const uint32_t *links, size_t n);
/* A datagram of len bytes in three pieces leaves port from for ipv4 in its network. */
struct sim_piece {
	const void *p;
	size_t len;
};
void sim_send(struct sim *s, uint32_t from, uint32_t ipv4, const struct sim_piece *piece, size_t n);

/* A datagram that came over no link is at port to, with the address of port from. */
void sim_arrive(struct sim *s, uint32_t from, uint32_t to, const void *bytes, uint32_t len);

/* A buffer that did not come over a link, held once. */
uint64_t sim_buffer(struct sim *s, uint32_t len);
void sim_hold(struct sim *s, uint64_t buf);
void sim_release(struct sim *s, uint64_t buf);
/* offered = passed + drops + inside on every link; ports and links agree. */
void sim_check_links(struct sim *s);

#endif
