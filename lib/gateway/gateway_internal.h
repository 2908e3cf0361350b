/* SPDX-License-Identifier: BSD-2-Clause */
/* gateway_internal.h - tables of the gateway; shared by the sources of lib/gateway only.
 *
 *     channel   one TCP connection: (gate of ours, foreign host)
 *     pair      two processes that talk; a is behind a channel of ours
 *     half      one direction of a pair: [0] a to b, [1] b to a.  Halves are named by
 *               number, 2 * pair + direction
 *     packet    one IMPI packet, whole or arriving; belongs to a half and is in at most
 *               one queue
 *
 * A half's packets leave over a channel (out_chan) or over the pair's lane.  Those for
 * a channel wait in the half's queue; the channel goes round over its halves.
 *
 * Order of calls.  Packets that are free for somebody else again, and channels that
 * have something to send, are only noted where it happens; gw_kick() and gw_settle() at
 * the end of each public call and of each lane callback tell the driver. */
#ifndef GATEWAY_INTERNAL_H
#define GATEWAY_INTERNAL_H

#include "gateway/gateway.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/ilist.h"
#include "impi/flow.h"
#include "impi/stream.h"
#include "relayproto/hello.h"
#include "suci/lane.h"

#define GW_NONE		   BASE_INONE
#define GW_VIEWS	   2 /* enum relay_side_of_gate: whose ids */
#define GW_SMALL_BYTES	   64u
#define GW_BATCH_BYTES	   (256u << 10) /* put in order at most so far ahead */
#define GW_PATHS_PER_RELAY 16u
#define GW_WINDOW_PACKETS  16u /* of a lane, or hiwater if that is less */
#define GW_WINDOW_MAX	   4096u
#define GW_MTU_MIN	   1200u

struct gw_packet {
	struct base_ilink link;
	uint32_t half;
	uint32_t in_chan;	 /* charged to it; GW_NONE: came over a lane */
	uint32_t mem;		 /* bytes it takes of the pool */
	uint32_t len, sent, got; /* payload bytes; of header and payload: sent, arrived */
	uint32_t block;		 /* payload: block of the pool, GW_NONE: in small */
	bool whole;		 /* everything has arrived */
	bool queued;		 /* in the queues of a channel */
	bool bad;		 /* no IMPI packet */
	uint8_t *payload;
	uint8_t head[IMPI_PACKET_BYTES];
	uint8_t small[GW_SMALL_BYTES];
};

struct gw_queue {
	struct base_ilist l;
	uint32_t n;
};

struct gw_half {
	uint32_t from, to;	       /* world ranks */
	uint32_t in_chan;	       /* GW_NONE: by lane */
	uint32_t out_chan;	       /* GW_NONE: by lane */
	struct impi_flow flow;	       /* of from towards to, watched: only what it sent */
	uint32_t ring_next, ring_prev; /* in out_chan's ring while queue is not empty */
	struct gw_queue queue;	       /* by lane: waiting for the path */
};

struct gw_pair {
	bool used;
	bool stalled; /* in the list of lanes that had no room */
	uint32_t job;
	uint32_t lane; /* GW_NONE: none yet, or not needed */
	uint32_t hash_next, stalled_next;
	struct base_ilink job_link, waiting_link;
	bool waiting;		  /* for the path to the core */
	struct gw_queue arriving; /* half 1 over the lane: begun, in order */
	struct gw_half half[2];
};

enum gw_chan_state {
	GW_CHAN_FREE,
	GW_CHAN_OPENING, /* the driver connects or listens */
	GW_CHAN_RETRY,	 /* connecting failed, again at retry_ns */
	GW_CHAN_UP,
	GW_CHAN_OVER, /* FINI both ways, or given up */
};

struct gw_chan {
	enum gw_chan_state state;
	bool connects;
	bool fini_rx;
	bool fini_due; /* FINI follows what is queued */
	bool fini_tx;  /* nothing goes out any more but FINI */
	bool paused, kicked;
	uint8_t view;
	uint8_t ident_left, fini_left; /* bytes to be sent */
	uint8_t ident[4];
	uint32_t job, gate_index, foreign_index;
	uint32_t remote_ip;
	struct relay_gate gate;
	struct relay_foreign host;
	uint32_t next; /* of its job, or free */
	uint32_t paused_next, kick_next;
	uint64_t deadline_ns, retry_ns;
	/* receiving */
	struct impi_stream in;
	uint32_t rx_packet; /* its payload comes in */
	uint32_t rx_half;   /* of the header that is complete */
	bool stalled;	    /* that header waits for memory */
	bool stalled_whole; /* and has no payload */
	size_t offered_rx[2];
	uint32_t stage_at, stage_len; /* bytes read and not looked at */
	uint8_t *stage;		      /* [GW_STAGE_BYTES] */
	uint8_t last_ids[2 * RELAY_PROC_ID_LEN];
	uint32_t last_half; /* of last_ids, GW_NONE */
	/* sending */
	struct gw_queue out;  /* in the order of the wire; the first may be partly sent */
	struct gw_queue acks; /* PROTOACK */
	uint32_t ring;	      /* half whose turn it is, GW_NONE */
	uint64_t out_bytes;   /* left of what is in out */
	size_t offered_tx;
	uint8_t fini[IMPI_PACKET_BYTES];
	/* accounts */
	uint64_t held_mem; /* memory of packets taken from it */
	uint64_t lane_mem; /* memory of packets from lanes for it */
	uint64_t held_bytes, queued_bytes;
	uint32_t nqueued;
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
	char fault[96]; /* why connecting failed last */
};

struct gw_job {
	bool used, finishing;
	uint32_t id, label_base, base; /* base: of the labels here */
	uint32_t my_client, nworld;
	uint32_t datalen, ackmark, hiwater;
	uint32_t channels; /* list head */
	struct base_ichain pairs;
	uint32_t open_channels; /* not OVER */
	uint32_t undelivered;	/* packets of hosts that no process has acknowledged */
	uint64_t linger_ns;
	uint64_t deliver_ns;   /* then what is undelivered goes; NEVER: nothing waits for that */
	uint64_t path_wait_ns; /* give up waiting for the path; NEVER: nobody waits */
	char why[RELAY_WHY_MAX];
};

struct gw_proc {
	uint8_t id[GW_VIEWS][RELAY_PROC_ID_LEN];
	uint32_t next[GW_VIEWS]; /* hash chains: proc * GW_VIEWS + view */
	uint32_t job, rank;
};

/* Packets taken from channels and packets taken from lanes have memory of their own: two
 * gateways that are full of what they have for each other could else take nothing. */
enum gw_dir { GW_FROM_CHANNEL, GW_FROM_LANE };

struct gw_arena { /* of one direction */
	uint32_t packet_free, packets_used;
	uint8_t *base;
	uint8_t *state;	  /* per smallest block */
	uint32_t nblocks; /* smallest blocks */
	struct base_ichain free[32];
	uint32_t nfree[32];
	uint32_t orders;
	uint64_t used, total; /* bytes, packets and blocks */
};

struct gw_pool {
	struct gw_packet *packet; /* half of them for each direction */
	uint32_t npackets;
	struct gw_arena arena[2];
};

struct gw {
	struct gw_config conf;
	struct suci *ep;
	struct suci_lanes *lanes;
	void *ep_mem, *lanes_mem;
	uint64_t now_ns, expiry_ns;
	uint32_t core_path; /* GW_NONE: not up */
	uint32_t core_mtu;
	uint64_t key[3];  /* of the hash tables */
	uint32_t in_lane; /* depth of lane callbacks */
	bool freed;	  /* memory came back since the last settling */
	bool settling, kicking;
	uint32_t paused, paused_tail, npaused; /* channels */
	uint32_t kicks;			       /* channels */
	uint32_t stalled;		       /* pairs */
	struct base_ichain waiting;	       /* pairs */
	uint64_t whole;			       /* packets between rx and tx counters */
	struct gw_counters n;
	struct gw_pool pool;
	struct gw_job *job;
	struct gw_chan *chan;
	uint32_t chan_free;
	struct gw_pair *pair;
	uint32_t pair_free, npair_hash;
	uint32_t *pair_hash;
	uint32_t *lane_pair; /* [lanes_max] */
	struct gw_proc *proc;
	uint32_t *page_next; /* of proc pages, free list */
	uint32_t page_free, npages, pages_free;
	uint32_t *map; /* label page -> proc page, GW_NONE */
	uint32_t nmap;
	uint32_t *proc_hash, nproc_hash;
};

/* pool.c: packets and their payload.  Sizes follow from packet_bytes: records in all,
 * blocks of 1 KiB for each direction. */
void gw_pool_sizes(uint64_t packet_bytes, uint32_t *npackets, uint32_t *nblocks);
void gw_pool_init(struct gw_pool *p, uint64_t packet_bytes);
/* Would gw_pool_take() succeed? */
bool gw_pool_fits(const struct gw_pool *p, enum gw_dir dir, uint32_t len);
/* GW_NONE: no memory. */
uint32_t gw_pool_take(struct gw_pool *p, enum gw_dir dir, uint32_t len);
void gw_pool_give(struct gw_pool *p, uint32_t packet);
/* Largest payload there could ever be room for. */
uint32_t gw_pool_largest(const struct gw_pool *p);
bool gw_pool_check(const struct gw_pool *p, const char **what);
static inline uint64_t
gw_pool_used(const struct gw_pool *p)
{
	return p->arena[GW_FROM_CHANNEL].used + p->arena[GW_FROM_LANE].used;
}
/* The share of a channel in the memory of a direction: no more than what is left then. */
static inline bool
gw_over_share(const struct gw_pool *p, enum gw_dir dir, uint64_t mine)
{
	return mine > p->arena[dir].total - p->arena[dir].used;
}

static inline void
gw_queue_init(struct gw_queue *q)
{
	*q = (struct gw_queue){BASE_ILIST_EMPTY, 0};
}
void gw_queue_put(struct gw *g, struct gw_queue *q, uint32_t packet);
/* before: GW_NONE puts it first. */
void gw_queue_put_after(struct gw *g, struct gw_queue *q, uint32_t after, uint32_t packet);
void gw_queue_cut(struct gw *g, struct gw_queue *q, uint32_t packet);
uint32_t gw_queue_pop(struct gw *g, struct gw_queue *q);

static inline struct gw_half *
gw_half(struct gw *g, uint32_t half)
{
	return &g->pair[half / 2].half[half & 1];
}

static inline void
gw_see_time(struct gw *g, uint64_t now_ns)
{
	if (now_ns > g->now_ns)
		g->now_ns = now_ns;
}

static inline void
gw_wake_at(struct gw *g, uint64_t at_ns)
{
	g->expiry_ns = base_min_ns(g->expiry_ns, at_ns);
}

/* gateway.c */
/* Tell the driver which channels have something to send. */
void gw_kick(struct gw *g);
/* Memory came back: who waits for it may go on. */
void gw_settle(struct gw *g);

/* job.c */
struct gw_job *gw_job_find(struct gw *g, uint32_t label_base);
/* The job a label here belongs to, and the rank it names; NULL if none. */
struct gw_job *gw_job_of_label(struct gw *g, uint32_t label, uint32_t *rank);
struct gw_proc *gw_job_proc(struct gw *g, const struct gw_job *j, uint32_t rank);
/* World rank of a process id as channels of that view know it; GW_NONE. */
uint32_t gw_job_rank(const struct gw *g, const struct gw_job *j, uint8_t view, const uint8_t *id);
/* The channel between the host of world rank `from` and the gate of `to`; GW_NONE. */
uint32_t gw_job_channel(const struct gw *g, const struct gw_job *j, uint32_t from, uint32_t to);
/* The job cannot go on: it is forgotten and the caller of the gateway told. */
void gw_job_fail(struct gw *g, struct gw_job *j, uint64_t *counter, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* "host 2 of client 1 (192.0.2.7:4000)" */
#define GW_HOST_TEXT_MAX 64
const char *gw_host_text(const struct gw_chan *c, char out[GW_HOST_TEXT_MAX]);
/* All channels over: a job that finishes is finished. */
void gw_job_maybe_finished(struct gw *g, struct gw_job *j);
void gw_job_tick(struct gw *g, struct gw_job *j);

/* channel_rx.c, channel_tx.c, channel.c */
void gw_chan_init(struct gw *g, uint32_t chan);
/* FINI is due: as soon as all that waits has left. */
void gw_chan_fini(struct gw *g, uint32_t chan);
void gw_chan_maybe_over(struct gw *g, uint32_t chan);
/* Forget all packets of the channel, tell the driver to close it. */
void gw_chan_over(struct gw *g, uint32_t chan);
/* A whole packet, its ids rewritten, for the channel of its half. */
void gw_chan_enqueue(struct gw *g, uint32_t packet);
void gw_chan_drop_queued(struct gw *g, uint32_t chan, uint64_t *counter);
void gw_chan_note_tx(struct gw *g, uint32_t chan);
void gw_chan_pause(struct gw *g, uint32_t chan); /* to the end of those that wait */
void gw_chan_unpause(struct gw *g, uint32_t chan);
/* There may be memory for what it waits with: go on with what was read of it. */
void gw_chan_resume(struct gw *g, uint32_t chan);
bool gw_chan_may_resume(const struct gw *g, const struct gw_chan *c);

/* pair.c */
/* The half from -> to of a packet that came in over a channel; GW_NONE: no room. */
uint32_t gw_pair_half(struct gw *g, struct gw_job *j, uint32_t chan, uint32_t from, uint32_t to);
void gw_pair_free(struct gw *g, uint32_t pair, uint64_t *counter);
/* A whole packet goes on its way. */
void gw_forward(struct gw *g, uint32_t packet);
/* Give a packet back to the pool; it is in no queue. */
void gw_packet_free(struct gw *g, uint32_t packet);
/* A packet of len payload bytes of that half, charged; GW_NONE: no memory. */
uint32_t gw_packet_new(struct gw *g, uint32_t half, uint32_t in_chan, uint32_t len);
const struct suci_lane_ops *gw_lane_ops(void);

#endif
