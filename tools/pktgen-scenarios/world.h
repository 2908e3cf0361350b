/* SPDX-License-Identifier: BSD-2-Clause */
/* world.h - the emulated hosts and remote relays of one stateful scenario, their jobs
 * and lanes.
 *
 *     side 0  host: a process of relayd's cluster, one Suci endpoint with an address
 *             of its own.  relayd opens the path, as it does to libmpi's processes
 *     side 1  remote relay: one Suci endpoint with the processes behind it; or in series
 *             a host of the second cluster
 *
 * Every segment has a lane (source and destination), a number in it and the time it was
 * made; the first of a message has the process ids that relays rewrite.  Hops deliver at
 * least once; as libmpi does, receivers know copies by a bit map per lane.  Whether each
 * segment arrived is told by two sums over all that was sent and received: counts, and a
 * hash of (job, source, destination, number).
 *
 * Labels: rank r of a job is base + r in every label space, base being what the primary
 * gave the job.
 *
 * Threads  one.  Memory is taken by pg_world_new alone. */
#ifndef PKTGEN_WORLD_H
#define PKTGEN_WORLD_H

#include "base/hist.h"
#include "base/prng.h"
#include "net.h"
#include "player.h"
#include "pktgen/load.h"
#include "relay/job.h"
#include "relayproto/note.h"
#include "suci/endpoint.h"

#define PG_HEAD_MAX  64u /* bytes of a segment that are its own, the rest is a pattern */
#define PG_PATHS_MAX 32u /* of one endpoint: relayd's workers, and their successors */
#define PG_FRAMES    PG_NET_FRAMES
#define PG_BEHIND    32u /* segments a paced sender or receiver may catch up */

struct pg_lane {
	uint32_t job, src, dst;
	uint32_t seq, block;
	uint32_t left;	  /* bytes of the message that are still to be sent */
	uint32_t rx_base; /* all before it have come, or are given up */
	uint32_t rx_next; /* the highest that came, and one */
};

/* The lanes of one endpoint that leave over one path. */
struct pg_flow {
	uint32_t first, n, cursor;
	uint32_t path;
	bool starved;	      /* pull found no slot or no token */
	struct pg_play *play; /* with a template; else NULL */
};

struct pg_station {
	struct suci *ep;
	struct rd_station self;
	uint16_t ip_id;
	uint8_t side;
	bool relay;  /* a remote relay, else a host */
	bool killed; /* fell silent by the scenario */
	bool hot;
	bool told;   /* an ABORT came */
	bool wrong;  /* the last segment was mislabelled */
	bool played; /* its paths are, and its endpoint rests */
	uint32_t job, rank;
	uint32_t up; /* paths */
	uint32_t token;
	struct pg_flow flow[PG_SHARDS_MAX];
	uint32_t nflows;
	uint32_t shard; /* relayd's worker that flow[0] goes to; flow[f]: the f-th after it */
	uint8_t flow_of[PG_PATHS_MAX]; /* by path; 255: none */
	uint8_t (*slot)[PG_HEAD_MAX];
	uint16_t *free_slot;
	uint32_t nfree;
	uint64_t sent, received; /* segments */
	uint64_t pace_ns;	 /* when the next segment may leave */
	uint64_t take_ns;	 /* when the next one is taken */
	uint64_t at_begin;	 /* received, when measuring began */
	struct pg_world *w;
};

struct pg_job {
	uint32_t base[PG_SIDES];
	struct relay_job *table[PG_SIDES]; /* [1]: as the second relay sees it */
	bool installed[PG_SIDES], refused, over, aborted;
	uint32_t told;
	char why[RELAY_WHY_MAX];
};

struct pg_tally {
	uint64_t segments, bytes, hash;
};

struct pg_world {
	const struct pg_load *load;
	struct pg_net *net;
	struct pg_station *station[PG_SIDES];
	uint32_t nstations[PG_SIDES];
	struct pg_station **hot;
	uint32_t nhot, cold_cursor;
	struct pg_lane *lane;
	uint32_t nlanes;
	uint64_t *seen; /* of each lane rx_bits bits: which of rx_base .. have come */
	uint32_t rx_bits;
	struct pg_job *job;
	struct relay_labels labels;
	struct suci_seal_conf seal;
	struct suci_limits limits[PG_SIDES];
	uint32_t credit[PG_SIDES];
	uint64_t gap_ns; /* between segments of one sender; 0: none */
	uint64_t behind; /* segments a paced sender may catch up */
	uint64_t take_gap_ns;
	uint32_t nsenders;
	bool sending, measuring, no_room;
	bool playing;	   /* from templates */
	bool wrong_labels; /* every other segment is one that relayd must not pass on */
	uint64_t mislabelled;
	uint64_t last_rx_ns, stall_ns;
	uint64_t told_ns; /* the last ABORT */
	struct pg_tally sent, received;
	uint64_t written_off; /* lost in earlier trials: no window is kept for them */
	uint64_t wrong_ids, strays, resent, copies, reordered, abandoned;
	struct base_prng prng;
	uint32_t weights;
	uint32_t incarnation;
	struct base_hist latency;
	void *mem[24];
	uint32_t nmem;
	const uint8_t *pattern;
	/* Templates: the pattern is in them.  Sealing overwrites it, so each side has its own. */
	struct rte_mbuf *frame[PG_SIDES][PG_FRAMES];
	uint32_t next_frame[PG_SIDES];
	uint64_t pattern_sum;
};

/* All that the scenario needs, with the labels of *labels; NULL and err: no memory. */
struct pg_world *pg_world_new(const struct pg_load *load, struct pg_net *net,
			      const struct suci_seal_conf *seal,
			      struct relay_labels labels[PG_SIDES], uint64_t incarnation, char *err,
			      size_t err_max);
void pg_world_free(struct pg_world *w, struct relay_labels labels[PG_SIDES]);

/* For pg_net. */
void pg_world_datagram(void *user, uint8_t side, uint32_t station, const struct suci_addr *from,
		       uint8_t *payload, size_t len, uint8_t ecn);
/* Transmit and timers of all stations; the number of datagrams. */
uint32_t pg_world_turn(struct pg_world *w);
/* Begin to send; what is queued and under way goes on after false. */
void pg_world_send(struct pg_world *w, bool on);
/* All hosts of side 0 and all stations of side 1 are connected to all they need. */
bool pg_world_connected(const struct pg_world *w);
/* Segments in custody of our endpoints. */
uint64_t pg_world_held(const struct pg_world *w);
/* With "generator": "template", when all is quiet: can players go on where the endpoints are, and
 * do so.  NULL, or what stands in the way. */
bool pg_world_playable(const struct pg_world *w);
const char *pg_world_play(struct pg_world *w);
/* What is under way and was not acknowledged is given up; only when all is quiet. */
void pg_world_write_off(struct pg_world *w);
/* A station that knows nothing of what was. */
void pg_world_restart(struct pg_world *w, uint8_t side, uint32_t i);
void pg_world_note(struct pg_world *w, uint32_t job, const char *text);
/* Close all paths in order. */
void pg_world_close(struct pg_world *w);

#endif
