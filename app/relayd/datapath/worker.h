/* SPDX-License-Identifier: BSD-2-Clause */
/* worker.h - a worker: one lcore, one Suci endpoint, one relay core, a queue of each leg.
 *
 *     +--> receive all legs  --> parse --> suci_rx | ARP | echo | TAP
 *     |    frames from other workers (steer.h), the TAPs and the gateway
 *     |    mail from control
 *     |    timers (suci, core, neighbours)
 *     |    suci_tx until empty or budget --> frames --> transmit all legs
 *     +--- idle (busy, pause, sleep until the next deadline)
 *
 * The clock is read once a turn.  No lock, no allocation, no log, no file.
 *
 * A relay has one or more of them, its shards: each with UDP ports, paths, pool, tables and
 * neighbours of its own.  Worker i is reached at ports.*.udp_port + i, so whoever announces
 * that port chooses the worker, and no packet has to change lcores; what a port's queues
 * cannot sort goes to its worker over rings (steer.h), counted.  Worker 0 also serves ARP
 * and the TAPs, and is the one that the own gateway speaks to first.  Light ports (relay/core.h,
 * Light) are legs behind the two; a relay that has some has one worker.
 *
 * Threads  init and fini by control while the loop does not run; rd_worker_run on
 *          the worker's lcore owns everything until it returns (RD_MAIL_STOP). */
#ifndef RD_WORKER_H
#define RD_WORKER_H

#include "driver/clock.h"
#include "driver/idle.h"
#include "driver/nap.h"
#include "leg.h"
#include "mail.h"
#include "steer.h"

#include "rd/conf.h"
#include "relay/core.h"

#include <stdatomic.h>

#define RD_TX_BUDGET	256 /* datagrams built per turn */
#define RD_PACED_BURST	32  /* datagrams that a paced path sends at once, and switches queue */
#define RD_HOUSEKEEPING 128 /* turns between look-ups of slow things */
#define RD_FRESH_MAX	64  /* trunks that may come up in one turn */
/* Segments of a dead trunk that are kept for others, beside custody; each holds a buffer. */
#define RD_STRAYS(segments) ((segments) / 8)
/* Of segments larger than the datagrams of their trunk: parts under way, and what is not whole
 * yet (suci_limits). */
#define RD_PARTS  8192u
#define RD_WHOLES 256u

struct rd_worker_counters {
	uint64_t turns, busy_turns;
	uint64_t busy_ns;     /* time of the busy turns: busy share = busy_ns / uptime */
	uint64_t events_lost; /* log events dropped because control was late */
	uint64_t tx_budget;   /* turns that ended with more to send */
	uint64_t notes_lost;  /* of processes, dropped because control was late */
};

struct rd_worker {
	const struct rd_conf *conf;
	const struct rd_keys *keys; /* control's; set before init, then by mail */
	struct rd_conf_suci suci;   /* conf's, then by mail */
	uint32_t index, nworkers;   /* of the relay's workers */
	unsigned lcore;
	int socket;		/* NUMA node of the lcore, and of all its memory */
	struct rd_steer *steer; /* NULL: the only worker; set before init */
	uint32_t wake_workers;	/* bit each: they were given frames in this turn */
	struct rd_wake *wake_of[RD_WORKERS_MAX];
	struct rd_leg leg[RD_LEGS_MAX]; /* [nlegs] */
	uint32_t nlegs;
	struct rte_mempool *pool;
	struct suci *ep;
	struct relay_core *core;
	struct rd_mailbox *box;
	struct rd_gateway_box *gateway; /* NULL: none; set before the loop runs */
	struct rd_clock clock;
	struct rd_idle idle;
	struct rd_nap naps;
	uint64_t now_ns, started_ns, turn_ns; /* of now, the worker, the turn */
	uint64_t conflict_ns, contested_ns;   /* last ARP conflicts told */
	uint64_t stranger_ns;		      /* last site that was refused, told */
	uint64_t suspect_ns;		      /* paths are looked at for silence then, */
	uint32_t suspect_at;		      /* from this one on */
	uint64_t tap_ns;		      /* last frame to or from a TAP */
	uint64_t pool_low, pool_high;	      /* addresses of the pool's mbufs */
	/* The frame the endpoint looks at: whose our reference to it is; 0: none's. */
	uint64_t rx_ours, rx_given;
	/* Trunks and light paths whose congestion control is to be set. */
	struct {
		uint32_t path;
		bool light;
	} fresh[RD_FRESH_MAX];
	uint32_t nfresh;
	struct rd_mail *looks;	    /* a snapshot that is not whole yet; NULL: none */
	uint32_t look_at;	    /* from this path on */
	struct rd_lanes *lanes;	    /* somebody measures; NULL: nobody */
	struct rd_sniffer *sniffer; /* somebody captures; NULL: nobody */
	struct rd_note *note_spare; /* taken from note_free for an event there was not */
	bool wake_control, wake_gateway, stop;
	_Atomic bool ended; /* the loop; the lcore's join is DPDK's and tells no tool of it */
	struct suci_out out;
	/* Received and done with, see give_back(). */
	struct rte_mbuf *freed[RD_BURST];
	uint32_t nfreed;
	struct rd_worker_counters count;
	void *mem_suci, *mem_core, *mem_neigh[RD_LEGS_MAX];
};

/* Bytes rd_worker_init will take from the DPDK heap, one worker; 0 if the limits are bad. */
size_t rd_worker_footprint(const struct rd_conf *conf);
/* index, nworkers, lcore, socket, keys, steer, wake_of, pool and leg[].port, .pool, .rxq, .txq,
 * .via, .self, .mtu, .name are set by the caller.  0, or -1 and err. */
int rd_worker_init(struct rd_worker *w, const struct rd_conf *conf, struct rd_mailbox *box,
		   char *err, size_t err_max);
/* After the loop has ended; accepts a half-built worker. */
void rd_worker_fini(struct rd_worker *w);
/* lcore_function_t. */
int rd_worker_run(void *worker);

/* The clock again: after frames were taken from a queue, for something else may have had the
 * core since it was read, and what came meanwhile would seem to have travelled in no time. */
static inline void
rd_worker_see_clock(struct rd_worker *w)
{
	w->now_ns = rd_clock_ns(&w->clock);
	for (uint32_t i = 0; i < w->nlegs; i++)
		w->leg[i].now_ns = w->now_ns;
}

/* ---- snapshots ---------------------------------------------------------- */

struct rd_path_row {
	uint32_t path;
	struct suci_path_info suci;
	struct relay_path_info relay;
	uint32_t worker;
	bool known; /* relay is valid */
};

/* Everything about a worker, made by the worker; or the sums over those of a relay (snapshot.h).
 * Counters are of one moment.  The rows of paths follow it, some in each turn: a path that came or
 * went meanwhile may be missing, or there. */
struct rd_shard {
	uint32_t index; /* of a worker */
	unsigned lcore;
	int socket;
	uint64_t now_ns, uptime_ns;
	struct suci_counters suci;
	struct relay_counters relay;
	uint32_t nlegs;
	struct rd_leg_counters leg[RD_LEGS_MAX];
	struct rd_neigh_counters neigh[RD_LEGS_MAX];
	uint32_t neigh_used[RD_LEGS_MAX], neigh_waiting[RD_LEGS_MAX];
	uint32_t nlights; /* of the first worker, who alone has some */
	struct relay_light_info light[RELAY_LIGHTS_MAX];
	struct relay_door_info doors; /* of one worker */
	struct rd_worker_counters worker;
	uint64_t idle_turns, sleeps, slept_ns, woken;
	uint32_t suci_held, pool_in_use, pool_size;
	uint64_t relay_held;
	uint64_t relay_quiet_ns;  /* of one worker: relay_core_quiet_ns() */
	uint64_t look_ns;	  /* longest that a turn was held up by this snapshot */
	bool checked;		  /* by relay_core_check(), and so */
	bool consistent;	  /* true if not checked */
	const char *inconsistent; /* what is not; static text */
	uint32_t njobs, jobs_max, npaths, paths_max;
	/* Of a relay: jobs with the sums of its workers, paths of all workers. */
	struct relay_job_info *job; /* [jobs_max] */
	struct rd_path_row *path;   /* [paths_max] */
};

/* All of it at once, checked.  For who has the worker for himself: its loop has ended. */
void rd_worker_snapshot(struct rd_worker *w, struct rd_shard *s);

#endif
