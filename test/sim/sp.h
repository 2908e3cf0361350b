/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/sp.h - daemons of a cluster that goes on (lib/sp) in virtual time.
 *
 * Each has a clock and a disk of its own and processes that are a few bits: they live, give signs
 * of life, and act for their role while their daemon may.  Daemons are joined by links through one
 * switch; pairs can be cut, also in one direction. */
#ifndef SIM_SP_H
#define SIM_SP_H

#include "draw.h"
#include "invariants.h"
#include "scenario.h"
#include "sim.h"

#include "sp/node.h"

#define SPW_UNITS_MAX  64u
#define SPW_SLOTS_MAX  2048u
#define SPW_VIEWS_MAX  4096u
#define SPW_STARTS_MAX 64u

struct spw;

struct spw_clock {
	uint64_t base_ns, local_ns; /* of the simulator, and what it showed then */
	int32_t ppm;
};

struct spw_disk {
	uint8_t *bytes;
	size_t len, room;
	bool fails; /* the next write stores a part and fails */
	uint32_t failures;
	/* With late_disk: what is begun and not durable.  It is lost with the node. */
	uint64_t slow_ns, free_ns; /* that a write takes; when the last one is over */
	struct spw_write {
		uint8_t *bytes;
		size_t len;
		bool replaces;
	} * begun;
	uint32_t nbegun, begun_room;
	uint32_t generation; /* writes of one before are lost */
};

struct spw_start {
	uint32_t token;
	bool used;
};

struct spw_daemon {
	struct spw *w;
	uint32_t unit, port;
	bool alive, busy; /* busy: its object is on the stack */
	uint32_t incarnation;
	uint64_t paused_until_ns; /* it stands still until then */
	struct spw_clock clock;
	struct spw_disk disk;
	void *mem;
	struct sp_node *node;
	uint64_t armed_ns;
	uint64_t generation; /* of the timer that counts */
	uint64_t number;     /* of the view it has */
	bool fenced;
	bool runs[SPW_SLOTS_MAX]; /* own slots that have a living process */
	bool hangs[SPW_SLOTS_MAX];
	struct spw_start start[SPW_STARTS_MAX];
};

/* What was agreed on, as the first of all has seen it. */
struct spw_truth {
	uint64_t hash, at_ns;
	uint32_t epoch;
};

struct spw {
	struct sim *s;
	struct base_prng prng;
	struct sp_node_conf conf; /* me, incarnation and seed are each daemon's */
	uint16_t unit_of[SPW_SLOTS_MAX];
	uint32_t n; /* units */
	struct spw_daemon *daemon[SPW_UNITS_MAX];
	bool cut[SPW_UNITS_MAX][SPW_UNITS_MAX]; /* from, to */
	uint32_t egress[SPW_UNITS_MAX], ingress[SPW_UNITS_MAX];
	struct spw_truth truth[SPW_VIEWS_MAX];
	uint64_t newest;		    /* view that somebody has */
	uint32_t role_of[SPW_SLOTS_MAX];    /* + 1; 0: none yet */
	bool gone[SP_ROLES_MAX];	    /* roles given up */
	uint8_t pool_of_role[SP_ROLES_MAX]; /* + 1, of roles that were kept for later; 0: still */
	uint64_t leader_of[64];		    /* by term % 64: term << 16 | unit + 1 */
	uint64_t slack_ns;		    /* of leases, for clocks that are apart */
	bool restarts;			    /* what died comes back by itself */
	uint32_t deaths, masters, starts, takeovers, disk_faults;
};

struct spw_links {
	uint64_t rate_bps, delay_ns, queue_bytes;
	uint32_t loss_ppb, dup_ppb, reorder_ppb;
};

/* conf: its limits, slots, times; unit_of is filled in by the world: roles in turn, then spares. */
struct spw *spw_new(struct sim *s, const struct sp_node_conf *conf, const struct spw_links *links);
void spw_free(struct spw *w);
uint64_t spw_local_ns(const struct spw_daemon *d);

void spw_start(struct spw_daemon *d);
/* The node dies with its processes; the disk stays. */
void spw_kill(struct spw_daemon *d);
/* A process dies; its daemon sees it soon. */
void spw_kill_process(struct spw_daemon *d, uint32_t slot);
void spw_pause(struct spw_daemon *d, uint64_t ns);
/* Its clock shows so much more at once, while no time has passed. */
void spw_step_clock(struct spw_daemon *d, uint64_t ns);
/* Its node has been driven: checks, and the next timer. */
void spw_after(struct spw_daemon *d);
/* One slot for each role, old epochs stand still: now, and from now on so often. */
void spw_check_actors(struct spw *w);
void spw_check_often(struct spw *w, uint64_t every_ns);
/* The voter that reigns, other than that one; SP_NONE: nobody does. */
uint32_t spw_find_master(const struct spw *w, uint32_t other_than);
/* The unit that is not as all should be when all is well, and what is; SP_NONE: there is none. */
uint32_t spw_unfinished(const struct spw *w, const char **what);
/* Somebody reigns, and nothing is unfinished. */
bool spw_is_whole(const struct spw *w);

#endif
