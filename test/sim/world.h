/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/world.h - a whole MPI job's transport in virtual time: processes (real lib/suci
 * endpoints with lanes), relays (real lib/relay cores), their links, and the blocks
 * they send to each other.
 *
 * Clusters have the same private addresses.  A cluster with relays reaches the others
 * over them; a cluster without relays has its processes in the wide-area network
 * itself.  Processes of one cluster talk directly.
 *
 *     rank ─ egress ─ ingress ─ relay ═ egress ═ trunk ═ ingress ═ relay ─ … ─ rank
 *
 * What is checked all the time and at the end: invariants.h. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "bytes.h"
#include "channels.h"
#include "invariants.h"
#include "sim.h"

#include "relay/core.h"
#include "suci/lane.h"

#define CLUSTERS_MAX 32
#define RANKS_MAX    1008
#define HOSTS_MAX    24 /* processes and relays that a relay knows, see hosts_max */
#define RELAYS_MAX   64 /* in all */
#define STREAMS_MAX  4096
#define NET_GLOBAL   100
#define NET_LIGHT    101
#define LIGHTS_MAX   2 /* light ports of a relay */
#define UDP_PORT     7000
#define LABEL_BASE   16	    /* of a process: LMPI_LABEL_BASE */
#define OWN_TOKEN    0x4000 /* and its rank: of a process, as its cluster knows it */
#define HEAD_BYTES   64	    /* of a relayed block: an IMPI packet header */
#define NONE_U32     UINT32_MAX

struct world;

/* What time it is at a node.  Its clock never goes back, but may step, and run fast or
 * slow by ppm parts in a million since base_ns. */
struct node_clock {
	uint64_t step_ns, base_ns;
	int32_t ppm;
};

static inline uint64_t
node_now(const struct node_clock *c, uint64_t sim_ns)
{
	/* A run takes less than a day: no overflow. */
	int64_t drift = (int64_t)(sim_ns - c->base_ns) * c->ppm / 1000000;
	return (uint64_t)((int64_t)(sim_ns + c->step_ns) + drift);
}

/* The first moment of the simulation at which it is t at the node. */
uint64_t node_when(const struct node_clock *c, uint64_t t);

/* Wake-ups in a millisecond, see INV_SPIN. */
struct wakes {
	uint64_t ms;
	uint32_t n;
};

struct cluster_conf {
	uint32_t ranks, relays;
};

struct end;
/* What a process does with its lanes, if not streams (stream.c). */
struct end_app {
	/* suci_lane_ops with a struct end; lanes are told apart by end_of_lane(). */
	void *(*block_begin)(void *end, uint32_t lane, uint64_t bytes, const uint8_t *first,
			     size_t first_len, uint64_t now_ns);
	void (*block_data)(void *end, uint32_t lane, void *block, uint64_t offset,
			   const uint8_t *data, size_t len);
	void (*block_end)(void *end, uint32_t lane, void *block, uint64_t now_ns);
	void (*block_done)(void *end, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns);
	/* Hand over what there is to send; true: something was. */
	bool (*push)(struct end *e);
	/* NULL: it ends the job.  The direct path to that process is down, or a relay says that it
	 * has failed, or nobody who could say anything is left; not to be answered in here. */
	void (*lost)(struct end *e, uint32_t rank);
};

struct world_conf {
	uint32_t nclusters;
	struct cluster_conf cluster[CLUSTERS_MAX];
	uint32_t hosts_max; /* of a relay; 0: HOSTS_MAX */
	/* Private: one link out and one in per port; the delay and faults are on the
	 * way in.  Wide area: the same, and one link per pair of ports between them. */
	struct sim_link_conf private_nic, global_nic, trunk;
	struct suci_config end, relay; /* ops, user, hello are filled in */
	struct suci_lane_limits lanes;
	/* Not NULL: changes what the process of that rank is made with; in a job of
	 * thousands only a few need large tables. */
	void (*tune)(uint32_t rank, struct suci_config *end, struct suci_lane_limits *lanes);
	uint32_t lane_window, lane_window_max; /* the latter 0: does not grow */
	uint32_t direct_window;		       /* of direct lanes, fixed; 0: as the others */
	uint32_t private_mtu, global_mtu;      /* UDP payload */
	bool direct_crc;
	bool seal_private, seal_global; /* paths there are sealed */
	uint32_t seal_epoch;
	bool seal_identities;
	bool die_ok;	   /* blocks may fail: somebody was killed */
	bool forged;	   /* bytes are changed on the way: drops like a forger's are right */
	uint64_t start_ns; /* streams begin so long after the start */
	/* Not 0: a process has so many bytes for blocks (more only for a single larger one)
	 * and needs consume_ns for each. */
	uint64_t rx_bytes_max, consume_ns;
	/* Relays know each other and tell processes, lanes go over all of them. */
	bool several;
	uint8_t policy; /* enum relay_policy */
	/* Relays know that the job survives deaths, and tell of them; wants end_app.lost. */
	bool tolerant;
	uint64_t partition_ns;
	uint32_t lights;	   /* light ports of each relay */
	const struct end_app *app; /* NULL: streams */
};

struct block {
	uint64_t bytes, got;
	uint32_t pool_off;
	uint8_t head_len;
	bool begun, placed, done, failed;
	bool whole;    /* all of it was in its first segment */
	uint8_t *copy; /* what the sender lent */
	struct cover seen;
	uint64_t sent_ns, placed_ns, done_ns;
};

/* Blocks from one rank to another, in order. */
struct stream {
	struct world *w;
	uint32_t src, dst;
	struct stream *next; /* of the same sender */
	uint32_t n, outstanding_max;
	bool wait;   /* ask for prompt end-to-end acks */
	bool manual; /* sent one by one by stream_allow() */
	uint32_t allowed;
	uint32_t sent, begun, placed, done;
	/* Data came last; longest time without, from then on, and its end. */
	uint64_t last_ns, gap_ns, gap_end_ns;
	struct block *block;
};

struct end {
	struct world *w;
	uint32_t rank, client, port;
	uint32_t ipv4;
	void *ep_mem, *lanes_mem;
	struct suci *ep;
	struct suci_lanes *lanes;
	uint32_t *lane;		     /* [nend], to and from that rank, NONE_U32 */
	uint32_t *path;		     /* [nend], direct ones with end_app.lost, NONE_U32 */
	uint64_t shunned;	     /* bits of ranks */
	uint64_t told;		     /* the same: notes DEATH named them */
	uint64_t events;	     /* datagrams it read, timers that it had */
	struct stream *first, *last; /* that it sends */
	struct suci_limits limits;
	struct suci_lane_limits lane_limits;
	uint64_t rx_bytes; /* of blocks begun and not consumed */
	bool short_of_room;
	bool alive, ended, started;
	bool tx_waits;	/* for its driver */
	bool met_relay; /* a path to a relay was up once */
	bool reborn;	/* another process at the address of one that died */
	bool quitting;	/* the run is over: what goes down now is no fault */
	bool leaving, left;
	uint64_t leave_ns; /* no later than then */
	char why[160];
	uint64_t ended_ns;
	uint64_t wake_ns;
	uint64_t incarnation;
	uint64_t dead_rx;
	struct node_clock clock;
	struct wakes wakes;
	/* Stopped until then (a debugger, a busy host): datagrams wait in the socket. */
	uint64_t paused_ns;
	uint32_t not_read;
	uint32_t bounced;    /* an ICMP error is about to answer them */
	uint32_t holding;    /* receive buffers that its lanes hold */
	uint32_t begun_long; /* incoming blocks of more than one segment, begun and not whole */
	struct suci_counters total; /* of earlier incarnations */
	struct relayset *relays;    /* world_conf.several */
	uint32_t relays_named;	    /* by start-up */
	bool relays_connected;	    /* they are up, or have been waited for */
	uint64_t relays_wait_ns;    /* until then */
	struct suci_lane_ops ops;
};

struct rnode {
	struct world *w;
	uint32_t client, index;	       /* cluster, number in it */
	uint32_t nlegs;		       /* two, and one for each light port */
	uint32_t port[2 + LIGHTS_MAX]; /* by leg */
	uint32_t ipv4[2 + LIGHTS_MAX];
	void *ep_mem, *core_mem;
	struct suci *ep;
	struct relay_core *core;
	bool alive;
	uint64_t wake_ns, incarnation, dead_rx, events;
	struct node_clock clock;
	struct wakes wakes;
	uint64_t paused_ns;
	uint32_t not_read, holding;
	bool job_ended, has_job;
	char why[160];
	uint64_t ended_ns;
	/* rnode_jobs.c */
	struct relay_cluster *jobs;
	void *jobs_mem, *table_mem;
	struct relay_labels labels;
	uint32_t own_job;
	bool begun; /* own_job is one, and has not ended */
};

struct channels_of {
	struct world *w;
	uint32_t client;
};

struct world {
	struct sim *s;
	struct world_conf conf;
	uint32_t nend, nrelay, nstream;
	struct end end[RANKS_MAX];
	struct rnode relay[RELAYS_MAX];
	struct stream stream[STREAMS_MAX];
	bool started; /* until then mail between threads and relays takes no time */
	struct channels *channels[CLUSTERS_MAX];
	struct channels_of channels_of[CLUSTERS_MAX];
	struct relay_member member[CLUSTERS_MAX][CHANNELS_MAX];
	uint32_t first_rank[CLUSTERS_MAX];
	uint32_t first_relay[CLUSTERS_MAX];
	uint32_t label_base[CLUSTERS_MAX];	 /* of the job at that cluster's relays */
	uint64_t token[CLUSTERS_MAX];		 /* of that cluster's relays */
	uint8_t (*global_id)[RELAY_PROC_ID_LEN]; /* [nend] */
	uint8_t (*private_id[CLUSTERS_MAX])[RELAY_PROC_ID_LEN]; /* [nend] */
	uint32_t private_links_first, private_links_end;
	uint32_t global_links_first, global_links_end;
	uint32_t trunk_links_first, trunk_links_end;
	uint32_t light_links_first, light_links_end; /* one for each pair of ports, dark */
	/* As relay_core_ops.light_state says. */
	void (*on_light)(struct rnode *r, uint32_t slot, enum base_lightpath state);
	/* Not NULL: after each event of a node, the process of that rank or the relay nend + i. */
	void (*on_event)(struct world *w, uint32_t node);
	/* Called when a block is whole at its receiver. */
	void (*on_placed)(struct stream *st, uint32_t i);
	/* Not NULL: how long the node at that port has to wait before its driver takes
	 * another datagram; 0: it may send now. */
	uint64_t (*tx_wait)(const struct world *w, uint32_t port);
	/* The same as on_placed when its sender has it back. */
	void (*on_done)(struct stream *st, uint32_t i);
	void *scenario;
	uint32_t nic[SIM_PORTS_MAX];
	uint64_t bytes_total, blocks_total;
	uint32_t checked; /* whose tables are next */
	struct {
		uint64_t begun, data, placed, done;
	} seen;
};

/* world.c */
struct world *world_new(struct sim *s, const struct world_conf *conf);
void world_free(struct world *w);
/* Sensible settings: 10 Gb/s inside with 5 us, 1 Gb/s outside with 5 ms. */
void world_conf_default(struct world_conf *c);
void world_start(struct world *w);
/* Adds a stream of n blocks with sizes from size(i); not before world_new(). */
struct stream *world_stream(struct world *w, uint32_t src, uint32_t dst, uint32_t n,
			    uint64_t (*size)(void *arg, uint32_t i), void *arg);
/* Each stream may send one block more; false: none has more to send. */
bool world_allow_one(struct world *w);
bool world_complete(void *world);
/* Everything delivered is also acknowledged and given back. */
bool world_quiet(void *world);
/* Every live process knows the job is over. */
bool world_all_ended(void *world);
/* invariants.c: close everything and check that nothing is left. */
void world_check_end(struct world *w);
void world_check_now(struct world *w);
void check_wake(struct world *w, struct wakes *k, const char *who, uint32_t index);
void check_sent(struct world *w, const struct suci *ep, const struct suci_limits *l,
		const struct suci_out *out, const char *who, uint32_t index);
void check_driven(struct world *w, const struct suci *ep, const char *who, uint32_t index);
/* dump.c: counters and states of everybody, to stdout. */
void world_dump(const struct world *w);
uint32_t world_relay_for(const struct world *w, uint32_t client, uint32_t rank);
/* Where that one is for others of its cluster.  In a quarter of all runs nodes of a cluster with
 * relays have IPv6 alone, and the same addresses as elsewhere. */
static inline struct suci_addr
world_inside(const struct world *w, uint32_t client, uint32_t ipv4)
{
	struct suci_addr at = relay_addr_v4(ipv4, UDP_PORT, RELAY_LEG_PRIVATE);
	if ((w->s->seed + client) * 0x9e3779b97f4a7c15u >> 40 & 3 ||
	    !w->conf.cluster[client].relays)
		return at;
	at.family = 6;
	at.ip[0] = 0xfd;
	return at;
}
static inline bool
world_same_cluster(const struct world *w, uint32_t a, uint32_t b)
{
	return w->end[a].client == w->end[b].client;
}

/* stream.c: what the application does */
bool stream_push(struct end *e, struct stream *st); /* true: something was handed over */
void stream_allow(struct stream *st, uint32_t n);
struct stream *stream_of(struct world *w, uint32_t src, uint32_t dst);
bool app_block_room(void *user, uint32_t lane, uint64_t bytes);
void *app_block_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first,
		      size_t first_len, uint64_t now_ns);
void app_block_data(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data,
		    size_t len);
void app_block_end(void *user, uint32_t lane, void *block, uint64_t now_ns);
void app_block_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns);
void streams_free(struct world *w);

/* end.c */
void end_new(struct end *e);
void end_start(struct sim *s, void *end, uint64_t arg);
/* A lane to that process; false: there is none yet. */
bool end_lane(struct end *e, uint32_t rank);
/* Nothing is sent to that process or taken from it any more; end_app.lost, rank below 64. */
void end_shun(struct end *e, uint32_t rank);
/* As at the end of MPI_Finalize: relays are told, then paths are closed; the process may go. */
void end_leave(struct end *e);
bool end_has_left(const struct end *e);
/* The process at the other end of a lane. */
uint32_t end_of_lane(const struct end *e, uint32_t lane);
void end_drive(struct end *e);
void end_kill(struct end *e);
void end_restart(struct end *e);
/* Its clock jumps ahead; it does nothing for so long. */
void end_clock_step(struct end *e, uint64_t ns);
void end_pause(struct end *e, uint64_t ns);
void end_over(struct end *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* end_relays.c */
/* Not NULL afterwards: this process goes over all relays of its cluster.  Changes c. */
void end_relays_new(struct end *e, struct suci_config *c);
void end_relays_bind(struct end *e);
/* Lanes over relays may be opened. */
bool end_relays_ready(struct end *e);
/* The group for lanes to that process. */
uint32_t end_relays_group(struct end *e, uint32_t rank);
void end_relays_turn(struct end *e);
uint64_t end_relays_next_ns(const struct end *e);
void end_relays_up(struct end *e, uint32_t path, const struct suci_addr *peer, uint32_t mtu);
/* False: not a relay's. */
bool end_relays_down(struct end *e, uint32_t path, enum suci_down why, const char *text);
struct relay_note;
void end_relays_note(struct end *e, uint32_t path, const struct relay_note *n, const void *bytes,
		     size_t len);

/* rnode_jobs.c */
void rnode_jobs_new(struct rnode *r);
void rnode_jobs_begin(struct rnode *r, const struct relay_job *table);
void rnode_jobs_kill(struct rnode *r);
void rnode_jobs_ended(struct rnode *r, uint32_t base, const char *why);
void rnode_jobs_state(struct rnode *r, uint32_t base, uint32_t ways, bool left, bool tolerant);

/* rnode.c */
void rnode_new(struct rnode *r);
/* It is the primary of the job of its cluster. */
void rnode_begin(struct rnode *r);
void rnode_drive(struct rnode *r);
void rnode_kill(struct rnode *r);
void rnode_restart(struct rnode *r);
/* It dies, and comes back after gone_ns. */
void rnode_kill_for(struct rnode *r, uint64_t gone_ns);
/* Another live relay of its cluster knows the job, so this one may die. */
bool rnode_is_spare(const struct rnode *r);
void rnode_clock_step(struct rnode *r, uint64_t ns);
void rnode_pause(struct rnode *r, uint64_t ns);

#endif
