/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/scenario.h - named runs of the simulator.  The same name and seed are the same
 * run bit for bit. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "world.h"

struct outcome {
	bool ok;
	uint64_t hash, events, virtual_ns;
	uint8_t broken; /* enum invariant */
	char why[400];	/* the first broken invariant */
	char note[240]; /* measured figures */
};

struct scenario {
	const char *name;
	const char *what;
	/* true: a figure that does not depend on the seed; run once. */
	bool fixed;
	void (*run)(uint64_t seed, bool verbose, struct outcome *o);
	/* Not NULL: known to fail, and why; not part of --all. */
	const char *known;
};

extern const struct scenario scenarios[];
extern const size_t nscenarios;

/* swarm.c */
void swarm_run(uint64_t seed, bool verbose, struct outcome *o);
void direct_run(uint64_t seed, bool verbose, struct outcome *o);
void star_run(uint64_t seed, bool verbose, struct outcome *o);
void relay1_run(uint64_t seed, bool verbose, struct outcome *o);
void relay2_run(uint64_t seed, bool verbose, struct outcome *o);
void idle_relay_run(uint64_t seed, bool verbose, struct outcome *o);
void overload_run(uint64_t seed, bool verbose, struct outcome *o);
void three_run(uint64_t seed, bool verbose, struct outcome *o);
void campaign_run(uint64_t seed, bool verbose, struct outcome *o);
void restart_early_run(uint64_t seed, bool verbose, struct outcome *o);
/* canary.c */
void canary_run(uint64_t seed, bool verbose, struct outcome *o);
void crc_run(uint64_t seed, bool verbose, struct outcome *o);
void crc_relays_run(uint64_t seed, bool verbose, struct outcome *o);
/* canary_bugs.c: what the planted bugs are caught by; only: "" or the name of one. */
int canary_bugs(const char *only);
/* restart.c */
void restart_run(uint64_t seed, bool verbose, struct outcome *o);
/* lives.c */
void lives_run(uint64_t seed, bool verbose, struct outcome *o);
/* leave.c */
void leave_run(uint64_t seed, bool verbose, struct outcome *o);
/* speed.c */
void speed_lane(uint64_t seed, bool verbose, struct outcome *o);
void speed_lane_loss(uint64_t seed, bool verbose, struct outcome *o);
void speed_relays(uint64_t seed, bool verbose, struct outcome *o);
void speed_pingpong0(uint64_t seed, bool verbose, struct outcome *o);
void speed_pingpong1(uint64_t seed, bool verbose, struct outcome *o);
void speed_pingpong2(uint64_t seed, bool verbose, struct outcome *o);
void speed_tail(uint64_t seed, bool verbose, struct outcome *o);
void speed_tail_relays(uint64_t seed, bool verbose, struct outcome *o);
void speed_incast(uint64_t seed, bool verbose, struct outcome *o);
/* speed_cc.c */
void chance_near(uint64_t seed, bool verbose, struct outcome *o);
void chance_far(uint64_t seed, bool verbose, struct outcome *o);
void speed_bbr(uint64_t seed, bool verbose, struct outcome *o);
void speed_bbr_loss(uint64_t seed, bool verbose, struct outcome *o);
void speed_cubic_loss(uint64_t seed, bool verbose, struct outcome *o);
void fair_cubic(uint64_t seed, bool verbose, struct outcome *o);
void fair_bbr(uint64_t seed, bool verbose, struct outcome *o);
void fair_bbr_pair(uint64_t seed, bool verbose, struct outcome *o);
void queue_bbr(uint64_t seed, bool verbose, struct outcome *o);
/* speed_bars.c */
void speed_giant(uint64_t seed, bool verbose, struct outcome *o);
void speed_giant_loss1(uint64_t seed, bool verbose, struct outcome *o);
void speed_giant_loss2(uint64_t seed, bool verbose, struct outcome *o);
void speed_giant_loss3(uint64_t seed, bool verbose, struct outcome *o);
void speed_giant_relays(uint64_t seed, bool verbose, struct outcome *o);
void speed_giant_relays_loss1(uint64_t seed, bool verbose, struct outcome *o);
void speed_giant_relays_loss2(uint64_t seed, bool verbose, struct outcome *o);
void speed_giant_relays_loss3(uint64_t seed, bool verbose, struct outcome *o);
/* incast.c */
void incast_small(uint64_t seed, bool verbose, struct outcome *o);
void incast_many(uint64_t seed, bool verbose, struct outcome *o);
/* alltoall.c */
void alltoall_fixed(uint64_t seed, bool verbose, struct outcome *o);
void alltoall_cubic(uint64_t seed, bool verbose, struct outcome *o);
void alltoall_bbr(uint64_t seed, bool verbose, struct outcome *o);
void incast_thousand(uint64_t seed, bool verbose, struct outcome *o);
void incast_thousand_jumbo(uint64_t seed, bool verbose, struct outcome *o);

/* rendezvous.c */
void speed_rendezvous(uint64_t seed, bool verbose, struct outcome *o);

/* gateway.c */
void gateway_run(uint64_t seed, bool verbose, struct outcome *o);
void gateway_slow_run(uint64_t seed, bool verbose, struct outcome *o);

/* eval.c */
void eval_trunks(uint64_t seed, bool verbose, struct outcome *o);
void eval_small(uint64_t seed, bool verbose, struct outcome *o);
void eval_is(uint64_t seed, bool verbose, struct outcome *o);
void eval_long(uint64_t seed, bool verbose, struct outcome *o);

/* spray.c */
void spray_sum(uint64_t seed, bool verbose, struct outcome *o);
void lane_grows(uint64_t seed, bool verbose, struct outcome *o);
void lanes_idle(uint64_t seed, bool verbose, struct outcome *o);
void lanes_many(uint64_t seed, bool verbose, struct outcome *o);
void prio_hops(uint64_t seed, bool verbose, struct outcome *o);
void big_hops(uint64_t seed, bool verbose, struct outcome *o);
void clusters_run(uint64_t seed, bool verbose, struct outcome *o);
void drain_run(uint64_t seed, bool verbose, struct outcome *o);
void drain_stripe(uint64_t seed, bool verbose, struct outcome *o);
/* askers.c */
void asker_run(uint64_t seed, bool verbose, struct outcome *o);
void asker_spray(uint64_t seed, bool verbose, struct outcome *o);
/* shrink.c */
void shrink_run(uint64_t seed, bool verbose, struct outcome *o);
/* relight.c */
void relight_run(uint64_t seed, bool verbose, struct outcome *o);
void repoint_run(uint64_t seed, bool verbose, struct outcome *o);

/* optical.c */
void optical_run(uint64_t seed, bool verbose, struct outcome *o);
/* light.c */
void light_run(uint64_t seed, bool verbose, struct outcome *o);

/* jobs.c */
void jobs_run(uint64_t seed, bool verbose, struct outcome *o);
/* doors.c */
void doors_run(uint64_t seed, bool verbose, struct outcome *o);
/* doors_guess.c */
void doors_guess_run(uint64_t seed, bool verbose, struct outcome *o);

/* doors_late.c */
void doors_late_run(uint64_t seed, bool verbose, struct outcome *o);
/* doors_silent.c */
void doors_silent_run(uint64_t seed, bool verbose, struct outcome *o);
/* doors_many.c */
void doors_many_run(uint64_t seed, bool verbose, struct outcome *o);
void doors_two_run(uint64_t seed, bool verbose, struct outcome *o);
void doors_pairs_run(uint64_t seed, bool verbose, struct outcome *o);
/* meet.c */
void meet_run(uint64_t seed, bool verbose, struct outcome *o);
#define MEET_KILLS_SLICES 16u
#define MEET_TWO_SLICES	  128u
void meet_kills_run(uint64_t seed, bool verbose, struct outcome *o);
void meet_two_run(uint64_t seed, bool verbose, struct outcome *o);
void meet_two_kills_run(uint64_t seed, bool verbose, struct outcome *o);
/* ways.c */
#define WAYS_SLICES 63u
void ways_run(uint64_t seed, bool verbose, struct outcome *o);
void ways_kills_run(uint64_t seed, bool verbose, struct outcome *o);
/* spawn.c */
#define SPAWN_SLICES 64u
void spawn_run(uint64_t seed, bool verbose, struct outcome *o);
#define SPAWN_RELAYS_SLICES 256u
void spawn_relays_run(uint64_t seed, bool verbose, struct outcome *o);
/* mmp.c */
void mmp_run(uint64_t seed, bool verbose, struct outcome *o);
/* mmp_sites.c */
void mmp_sites_run(uint64_t seed, bool verbose, struct outcome *o);
/* adversary.c */
void adversary_run(uint64_t seed, bool verbose, struct outcome *o);
/* kills.c */
void kills_run(uint64_t seed, bool verbose, struct outcome *o);
/* ft.c */
void ft_run(uint64_t seed, bool verbose, struct outcome *o);
/* survive.c */
void survive_run(uint64_t seed, bool verbose, struct outcome *o);
void deaths_run(uint64_t seed, bool verbose, struct outcome *o);
/* sp.c */
void sp_run(uint64_t seed, bool verbose, struct outcome *o);
void sp_storm_run(uint64_t seed, bool verbose, struct outcome *o);
/* sp_three.c */
void sp_three_run(uint64_t seed, bool verbose, struct outcome *o);
void sp_sites_run(uint64_t seed, bool verbose, struct outcome *o);
/* sp_thousand.c */
void sp_thousand_run(uint64_t seed, bool verbose, struct outcome *o);
/* sp_clocks.c */
void sp_clocks_run(uint64_t seed, bool verbose, struct outcome *o);
/* sp_failing.c */
void sp_failing_run(uint64_t seed, bool verbose, struct outcome *o);
/* sp_masters.c */
void sp_masters_run(uint64_t seed, bool verbose, struct outcome *o);
/* spx.c */
void spx_run(uint64_t seed, bool verbose, struct outcome *o);
void spx_aside_run(uint64_t seed, bool verbose, struct outcome *o);
void spx_chain_run(uint64_t seed, bool verbose, struct outcome *o);
/* engines.c */
void engines_run(uint64_t seed, bool verbose, struct outcome *o);
/* colls.c */
void colls_run(uint64_t seed, bool verbose, struct outcome *o);
/* windows.c */
void windows_run(uint64_t seed, bool verbose, struct outcome *o);
void windows_flood_run(uint64_t seed, bool verbose, struct outcome *o);
/* failover.c */
void stripe_pair(uint64_t seed, bool verbose, struct outcome *o);
void failover_run(uint64_t seed, bool verbose, struct outcome *o);

/* Close, check, take the figures, free. */
void scenario_end(struct world *w, struct outcome *o);

#endif
