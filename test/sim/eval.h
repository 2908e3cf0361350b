/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/eval.h - the evaluation of the relay paper (Takano et al., "High performance relay
 * mechanism for MPI communication libraries run on multiple private IP address clusters")
 * in virtual time: its topology, its traffic, and what each processor's time costs.
 *
 *        16 nodes            k front ends        WAN           the other cluster
 *     cpu - 1 Gb/s ---\                      .--------.
 *     cpu - 1 Gb/s ---- switch -- cpu relay -| 10 Gb/s|- cpu relay -- switch -- ...
 *     cpu - 1 Gb/s ---/           1 Gb/s each| 0-10 ms|
 *      |                          side       '--------'
 *      `- 2 Gb/s, inside the cluster (their Myrinet)
 *
 * Without relays (k = 0) the nodes' switch is on the WAN itself.
 *
 * A processor is a server that every datagram in or out, acks too, keeps busy for a fixed time
 * (struct eval_costs); processes run the schedules of lib/collectives over lanes with the
 * settings of libmpi, relays have those of relayd.  All of lib/suci's and lib/relay's invariants
 * are checked as in every scenario.
 *
 * Units    ns, bytes, bytes per second.
 * Source   doc/evaluation.md */
#ifndef SIM_EVAL_H
#define SIM_EVAL_H

#include "scenario.h"
#include "tcp.h"

#include "coll/schedule.h"

#define EVAL_RANKS 64
#define EVAL_ITERS 64

/* Of one datagram; see test/eval/costs.txt. */
struct eval_costs {
	uint32_t node_ns;  /* a node: library, kernel and MPI, in or out */
	uint32_t relay_ns; /* a relay: in or out */
};
/* Lines "name ns", # begins a comment.  False: *why. */
bool eval_costs_read(const char *file, struct eval_costs *c, const char **why);
#define EVAL_COSTS_FILE "test/eval/costs.txt"

enum eval_transport { EVAL_SUCI, EVAL_TCP };

struct eval_conf {
	struct eval_costs costs;
	enum eval_transport transport;
	uint32_t clusters;
	/* Of the first cluster; of each other one, 0: as many.  No relays at all: GC-GC. */
	uint32_t ranks, ranks_others, relays, relays_others;
	/* Each destination has its relay for good, as with a gateway daemon that is given a map. */
	bool fixed_map;
	bool one_side;	  /* the second cluster has none: PC-GC */
	uint64_t datalen; /* ping-pong: longer messages go by the long protocol */
	uint64_t wan_delay_ns;
	uint32_t wan_loss_ppb;
	enum relay_policy policy;
	enum suci_cc_kind cc;  /* of all paths */
	const char *algorithm; /* of lib/collectives; NULL: what it selects */
	uint64_t bytes;	       /* of a block */
	uint32_t vary_pc;      /* blocks differ by so much either way: alltoallv */
	uint32_t warm, iterations;
	uint64_t pause_ns; /* computing between calls */
	/* A kernel of test/eval/npb-32.pattern instead of all-to-all calls, NULL: none.  A process
	 * computes compute_ns in each iteration, shared out as the pattern says. */
	const char *pattern, *kernel;
	uint64_t compute_ns;
	/* Longer messages are lent until they are acknowledged: LIBMPI_EAGER within a cluster and
	 * over direct paths (mpi/far.h), IMPI_DATALEN over relays. */
	uint64_t eager, eager_relayed;
	/* suci.credit and LIBMPI_CREDIT, packets; 0: each peer may have a window of its own. */
	uint32_t credit;
	uint64_t seed;
	bool verbose;
};
void eval_conf_default(struct eval_conf *c);
static inline uint32_t
eval_ranks_of(const struct eval_conf *c, uint32_t cluster)
{
	return cluster && c->ranks_others ? c->ranks_others : c->ranks;
}
static inline uint32_t
eval_relays_of(const struct eval_conf *c, uint32_t cluster)
{
	return cluster && c->relays_others ? c->relays_others : c->relays;
}
static inline uint32_t
eval_ranks(const struct eval_conf *c)
{
	return c->ranks + (c->clusters - 1) * eval_ranks_of(c, 1);
}
static inline uint32_t
eval_cluster_of(const struct eval_conf *c, uint32_t rank)
{
	return rank < c->ranks ? 0 : 1 + (rank - c->ranks) / eval_ranks_of(c, 1);
}

struct eval_result {
	bool ok;
	char why[400];
	uint64_t call_ns;  /* mean over iterations, from the last process's end to its next */
	uint64_t worst_ns; /* the longest call */
	uint64_t bound_ns; /* what the wires allow, see eval_bound() */
	uint64_t rtt_ns;   /* of a full datagram and its ack, nothing else under way */
	uint64_t idle_ns;  /* longest time without data on a WAN-side link during a call */
	uint64_t timeouts; /* TCP: of retransmission; Suci: probes after silence */
	uint64_t lost, retransmits;
	uint64_t hash, events, virtual_ns;
};
/* Half a round trip is call_ns. */
void eval_pingpong(const struct eval_conf *c, struct eval_result *r);
/* The settings of libmpi and relayd. */
void eval_world_conf(const struct eval_conf *c, struct world_conf *wc);
void eval_alltoall(const struct eval_conf *c, struct eval_result *r);
/* The same with the costs of EVAL_COSTS_FILE, added to what a scenario tells; false: it failed,
 * and o->why says why. */
struct outcome;
bool eval_point(struct eval_conf *c, struct eval_result *r, struct outcome *o);

/* eval_cli.c: COSTS key=value ... */
int eval_main(int argc, char **argv);

/* eval_app.c: processes that run phases again and again over any transport: first they compute,
 * then they run a schedule.  A collective call in a loop is one phase. */
struct eval_phase {
	uint64_t compute_ns;
	struct coll_schedule s;
	void *arena;
};

struct eval_app_rank {
	struct eval_phase *phase;
	uint32_t phases, at;
	bool *started, *complete, *lent; /* of the steps of that phase */
	uint32_t *want;			 /* message number of a send or receive */
	uint32_t left, iteration;
	uint32_t sent[EVAL_RANKS], expected[EVAL_RANKS];
	bool running;
};

/* What one process sends another in one iteration, in order. */
struct eval_pair {
	uint64_t *bytes;
	uint32_t n;
};

struct eval_app {
	uint32_t n, iterations;
	/* A longer send is complete when acknowledged, a shorter one at once, as long as its copy
	 * has room: what is not acknowledged. */
	uint64_t (*eager)(void *user, uint32_t src, uint32_t dst);
	uint64_t copies_max, pending[EVAL_RANKS][EVAL_RANKS];
	struct eval_app_rank rank[EVAL_RANKS];
	struct eval_pair pair[EVAL_RANKS][EVAL_RANKS];
	uint32_t placed[EVAL_RANKS][EVAL_RANKS], done[EVAL_RANKS][EVAL_RANKS];
	void (*send)(void *user, uint32_t src, uint32_t dst, uint64_t bytes);
	/* eval_app_computed() when that time is over. */
	void (*compute)(void *user, uint32_t rank, uint64_t ns);
	/* The last process has ended an iteration: eval_app_begin() says when the next begins. */
	void (*ended)(void *user, uint32_t rank, uint32_t iteration, bool last);
	void *user;
	uint32_t ended_by[EVAL_ITERS];
};
/* All-to-all with bytes[src][dst]; algorithm: see eval_conf; cluster_of[n]. */
void eval_app_alltoall(struct eval_app *a, const char *algorithm, bool vector,
		       uint64_t bytes[EVAL_RANKS][EVAL_RANKS], const uint32_t *cluster_of);
/* eval_kernel.c: the phases of a kernel.  false: *why. */
bool eval_app_kernel(struct eval_app *a, const struct eval_conf *c, const uint32_t *cluster_of,
		     const char **why);
/* Room for the schedule of a phase of these arguments, and the schedule. */
void eval_phase_collective(struct eval_phase *f, const struct coll_args *args,
			   const char *algorithm);
/* When every rank has its phases. */
void eval_app_ready(struct eval_app *a);
void eval_app_free(struct eval_app *a);
void eval_app_begin(struct eval_app *a, uint32_t rank);
void eval_app_computed(struct eval_app *a, uint32_t rank);
void eval_app_progress(struct eval_app *a, uint32_t rank);
/* The next message from src to dst is acknowledged. */
void eval_app_acked(struct eval_app *a, uint32_t src, uint32_t dst);

/* eval_net.c: the links. */
struct eval_watch {
	struct sim *s;
	struct sim_link *link;
	const bool *on;
	uint64_t busy_until_ns, idle_ns;
};

struct eval_net {
	const struct eval_conf *c;
	struct sim *s;
	uint32_t wan[CLUSTERS_MAX]; /* out of each cluster */
	struct eval_watch watch[RELAYS_MAX];
	uint32_t nwatch;
	uint32_t first_link;
	bool measuring;
};
void eval_wire_suci(struct eval_net *n, struct world *w);
void eval_wire_tcp(struct eval_net *n, const struct tcp_net *t);
/* A full datagram there, its ack back. */
uint64_t eval_rtt(const struct eval_conf *c);
/* The busiest link's time for what all pairs send in one call, and one way. */
uint64_t eval_bound(const struct eval_conf *c, const struct eval_app *a);

#endif
