/* SPDX-License-Identifier: BSD-2-Clause */
/* Bugs planted in lib/suci, lib/mmp, lib/relayset, lib/relay, lib/door/client, lib/mpi, lib/ft,
 * lib/launch, lib/light, lib/meet, lib/quorum, lib/sp, lib/spx (canary.h of each): each must break
 * an invariant that it is known to break, within a few seeds; and every invariant must be broken by
 * one of them.  An invariant that nothing can break checks nothing. */
#include "scenario.h"

#include "lib/door/client/canary.h"
#include "lib/ft/canary.h"
#include "lib/launch/canary.h"
#include "lib/light/canary.h"
#include "lib/meet/canary.h"
#include "lib/mmp/canary.h"
#include "lib/mpi/canary.h"
#include "lib/quorum/canary.h"
#include "lib/relay/canary.h"
#include "lib/relayset/canary.h"
#include "lib/sp/canary.h"
#include "lib/spx/canary.h"
#include "lib/suci/internal/suci/canary.h"

#include <stdio.h>

#ifndef SUCI_CANARY

int
canary_bugs(const char *only)
{
	(void)only;
	fprintf(stderr, "sim: this build has no planted bugs; make sim-canary\n");
	return 2;
}

#else

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEEDS	   60
#define SEEDS_JOBS 2000 /* they take no time, and what they look for is rare */

typedef void run_fn(uint64_t seed, bool verbose, struct outcome *o);

#define B(inv) (UINT64_C(1) << INV_##inv)

static const struct plan {
	enum suci_bug suci;
	enum mmp_bug mmp;
	enum relayset_bug relayset;
	const char *name;
	run_fn *run;
	const char *scenario;
	uint64_t breaks; /* any of these */
	enum lmpi_bug lmpi;
	enum relay_bug relay;
	enum ft_bug ft;
	enum sp_bug sp;
	enum quorum_bug quorum;
	enum spx_bug spx;
	enum door_bug door;
	enum light_bug light;
	enum meet_bug meet;
	enum launch_bug launch;
} plans[] = {
#define P(id, scenario_, breaks_)                                           \
	{                                                                   \
		.suci = SUCI_BUG_##id, .name = #id, .run = scenario_##_run, \
		.scenario = #scenario_, .breaks = breaks_                   \
	}
	P(DUPLICATE, campaign, B(ONCE)),
	P(ORDER, campaign, B(ORDER)),
	P(OFFSET, campaign, B(BYTES)),
	P(CRC, campaign, B(BYTES)),
	P(EARLY_ACK, campaign, B(PLACED)),
	P(WINDOW, campaign, B(WINDOW)),
	P(LANE_WINDOW, relay2, B(HONEST)),
	P(RECORDS, campaign, B(MEMORY)),
	P(HELD_TWICE, campaign, B(OWNER)),
	P(HELD_NEVER, campaign, B(MEMORY) | B(EMPTY)),
	P(NO_PROBE, campaign, B(TIMER)),
	P(SPIN, campaign, B(SPIN)),
	P(GIVE_UP, campaign, B(REASON)),
	P(LEAK, campaign, B(TABLES)),
	P(GRANTS, overload, B(TABLES)),
	P(COUNT, campaign, B(ACCOUNT)),
	P(CUSTODY, overload, B(COMPLETE)),
	P(LOST, campaign, B(COMPLETE)),
	P(PART_DONE, campaign, B(PLACED) | B(COMPLETE)),
	P(SHORT, campaign, B(BYTES)),
	P(UNREACHABLE, adversary, B(STANDS) | B(REASON)),
	P(RESET, adversary, B(STANDS) | B(REASON)),
	P(MOVE, adversary, B(STANDS) | B(REASON)),
	P(SILENT, restart, B(TOLD)),
	P(FORGET, restart, B(EMPTY)),
	P(LIFE, lives, B(COMPLETE) | B(ORDER) | B(BYTES) | B(ONCE) | B(PLACED)),
	P(MOVED_MUTE, ways_kills, B(PROMPT)),
#undef P
#define P(id, breaks_)                                                               \
	{                                                                            \
		.mmp = MMP_BUG_##id, .name = #id, .run = mmp_run, .scenario = "mmp", \
		.breaks = breaks_                                                    \
	}
	P(NEWEST, B(ORDER)),
	P(MISPLACED, B(BYTES)),
	P(UNASKED, B(COMPLETE)),
	P(BEYOND, B(HONEST)),
	P(PIECES, B(EMPTY)),
	P(LENT, B(COMPLETE)),
	P(UNTOLD, B(TOLD)),
#undef P
#define P(id, breaks_)                                                                           \
	{                                                                                        \
		.mmp = MMP_BUG_##id, .name = #id, .run = mmp_sites_run, .scenario = "mmp-sites", \
		.breaks = breaks_                                                                \
	}
	P(TWICE, B(BYTES) | B(ORDER) | B(HONEST)),
	P(FORGOTTEN, B(BYTES) | B(ORDER) | B(HONEST) | B(COMPLETE)),
	P(STALE, B(BYTES) | B(HONEST) | B(COMPLETE) | B(ORDER)),
#undef P
#define P(id, breaks_)                                                           \
	{                                                                        \
		.relayset = RELAYSET_BUG_##id, .name = #id, .run = failover_run, \
		.scenario = "failover", .breaks = breaks_                        \
	}
	P(NO_WAY, B(COMPLETE)),
	P(DEAF, B(COMPLETE)),
	P(ALONE, B(REASON)),
#undef P
#define P(id, breaks_)                                                                         \
	{                                                                                      \
		.lmpi = LMPI_BUG_##id, .name = #id, .run = engines_run, .scenario = "engines", \
		.breaks = breaks_                                                              \
	}
	P(POSTED, B(MATCH)),
	P(SYNC, B(MATCH)),
	P(TAKEN, B(MATCH)),
	P(CREDIT, B(COMPLETE)),
	P(BUFFER, B(MATCH) | B(TABLES)),
	P(WAITS, B(MATCH)),
	P(HALF, B(MATCH)),
	P(PENDING, B(MATCH)),
	P(EPOCH, B(MATCH) | B(COMPLETE)),
	P(STREAM_EARLY, B(HONEST)),
	P(STREAM_ASTRAY, B(MATCH)),
#undef P
#define P(id, breaks_)                                                                     \
	{                                                                                  \
		.lmpi = LMPI_BUG_##id, .name = #id, .run = colls_run, .scenario = "colls", \
		.breaks = breaks_                                                          \
	}
	P(STEPS_STAY, B(COMPLETE)),
	P(STEPS_EARLY, B(RESULT)),
	P(STEPS_MIXED, B(RESULT)),
#undef P
#define P(id, breaks_)                                                                         \
	{                                                                                      \
		.lmpi = LMPI_BUG_##id, .name = #id, .run = windows_run, .scenario = "windows", \
		.breaks = breaks_                                                              \
	}
	P(WIN_HASTY, B(RESULT)),
	P(WIN_UNLOCKED, B(RESULT)),
	P(WIN_SHARED, B(RESULT)),
	P(WIN_GARBAGE, B(RESULT)),
	P(WIN_COMPLETE, B(RESULT)),
	P(TARGET_POST, B(COMPLETE)),
	P(TARGET_ACKS, B(COMPLETE)),
	P(TARGET_REPLY, B(COMPLETE)),
	P(TARGET_LOCK, B(COMPLETE)),
	P(TARGET_DEAD, B(COMPLETE)),
	P(TARGET_LOOSE, B(RESULT)),
	P(TARGET_FULL, B(HONEST)),
#undef P
	{.lmpi = LMPI_BUG_WIN_FULL,
	 .name = "WIN_FULL",
	 .run = windows_flood_run,
	 .scenario = "windows-flood",
	 .breaks = B(MEMORY)},
	{.lmpi = LMPI_BUG_WIN_RESULTS,
	 .name = "WIN_RESULTS",
	 .run = windows_flood_run,
	 .scenario = "windows-flood",
	 .breaks = B(MEMORY)},
#define P(id, breaks_)                                                                             \
	{                                                                                          \
		.ft = FT_BUG_##id, .name = #id, .run = ft_run, .scenario = "ft", .breaks = breaks_ \
	}
	P(HASTY, B(AGREE)),
	P(FORGETFUL, B(AGREE)),
	P(WIDOWED, B(COMPLETE)),
	P(INVENTED, B(AGREE)),
	P(PASSED, B(COMPLETE)),
#undef P
#define P(id, breaks_)                                                                             \
	{                                                                                          \
		.sp = SP_BUG_##id, .name = #id, .run = sp_run, .scenario = "sp", .breaks = breaks_ \
	}
	P(SOLO, B(VIEWS)),
	P(DOUBLED, B(SLOT)),
	P(SKIPPED, B(VIEWS)),
	P(UNFENCED, B(LEASE)),
	P(GENEROUS, B(LEASE)),
	P(OLD_VIEW, B(LEASE)),
	P(HURRIED, B(LEASE)),
	P(UNBOUNDED, B(TABLES)),
	P(NO_BEAT, B(TIMER)),
	P(MUTE, B(COMPLETE)),
	P(LOST_DEATH, B(COMPLETE)),
	P(DESERTED, B(SLOT)),
	P(UNFILLED, B(COMPLETE)),
	P(REASSIGNED, B(SLOT)),
#undef P
	{.sp = SP_BUG_INFALLIBLE,
	 .name = "INFALLIBLE",
	 .run = sp_clocks_run,
	 .scenario = "sp-clocks",
	 .breaks = B(COMPLETE)},
	{.sp = SP_BUG_RESTLESS,
	 .name = "RESTLESS",
	 .run = sp_failing_run,
	 .scenario = "sp-failing",
	 .breaks = B(TABLES) | B(COMPLETE)},
	{.sp = SP_BUG_LONELY,
	 .name = "LONELY",
	 .run = sp_clocks_run,
	 .scenario = "sp-clocks",
	 .breaks = B(LEASE) | B(COMPLETE)},
	{.sp = SP_BUG_OWN_CLOCK,
	 .name = "OWN_CLOCK",
	 .run = sp_clocks_run,
	 .scenario = "sp-clocks",
	 .breaks = B(LEASE) | B(COMPLETE)},
	{.sp = SP_BUG_IMPATIENT,
	 .name = "IMPATIENT",
	 .run = sp_masters_run,
	 .scenario = "sp-masters",
	 .breaks = B(LEASE)},
	{.quorum = QUORUM_BUG_VACANT,
	 .name = "VACANT",
	 .run = sp_masters_run,
	 .scenario = "sp-masters",
	 .breaks = B(LEASE)},
	{.quorum = QUORUM_BUG_TURNS,
	 .name = "TURNS",
	 .run = sp_sites_run,
	 .scenario = "sp-sites",
	 .breaks = B(PROMPT)},
#define P(id, breaks_)                                                       \
	{                                                                    \
		.quorum = QUORUM_BUG_##id, .name = #id, .run = sp_storm_run, \
		.scenario = "sp-storm", .breaks = breaks_                    \
	}
	P(AMNESIA, B(VIEWS)),
	P(PROMISE, B(LEASE)),
#undef P
	{.sp = SP_BUG_EAGER,
	 .name = "EAGER",
	 .run = sp_storm_run,
	 .scenario = "sp-storm",
	 .breaks = B(VIEWS)},
#define P(id, scenario_, breaks_)                                                            \
	{                                                                                    \
		.spx = SPX_BUG_##id, .name = #id, .run = spx_##scenario_, .scenario = "spx", \
		.breaks = breaks_                                                            \
	}
	P(VIEWS, run, B(EPOCH)),
	P(UNASKED, run, B(ONCE)),
	P(OUT_OF_ORDER, run, B(ORDER)),
	P(TWO_LEADS, run, B(LEAD)),
	P(KEPT_OF_DEAD, run, B(COMPLETE) | B(ONCE)),
	P(NOT_AGAIN, run, B(COMPLETE)),
	P(ROOMY, run, B(TABLES)),
	P(ONE_SHOT, run, B(TIMER)),
	P(HASTY_COMMIT, run, B(PLACED)),
	P(DRAINED, run, B(COMPLETE)),
	P(NOT_DROPPED, run, B(ONCE)),
	P(POISON, run, B(COMPLETE)),
	P(BLAMED, aside_run, B(ALIVE)),
	P(LAZY_CHAIN, chain_run, B(PROMPT)),
	P(SLOW_START, chain_run, B(PROMPT)),
#undef P
#define P(id, breaks_)                                                                     \
	{                                                                                  \
		.relay = RELAY_BUG_##id, .name = #id, .run = jobs_run, .scenario = "jobs", \
		.breaks = breaks_                                                          \
	}
	P(OWN_TABLE, B(TABLES) | B(ONCE)),
	P(WIDOW, B(EMPTY)),
	P(EARLY, B(ORDER)),
	P(NOT_GIVEN, B(COMPLETE)),
#undef P
#define P(id, breaks_)                                                                       \
	{                                                                                    \
		.relay = RELAY_BUG_##id, .name = #id, .run = doors_run, .scenario = "doors", \
		.breaks = breaks_                                                            \
	}
	P(DOOR_ANY, B(REACH)),
	P(DOOR_REALM, B(REACH) | B(PROOF)),
	P(DOOR_TOKEN, B(PROOF)),
	P(DOOR_BOUND, B(TABLES) | B(MEMORY)),
	P(DOOR_UNTOLD, B(TOLD)),
	P(DOOR_KEPT, B(EMPTY)),
	P(DOOR_LATE, B(PROMPT)),
	P(DOOR_NAMELESS, B(PROMPT)),
#undef P
	{.relay = RELAY_BUG_DOOR_GUESSES,
	 .name = "DOOR_GUESSES",
	 .run = doors_guess_run,
	 .scenario = "doors-guess",
	 .breaks = B(PROMPT)},
	{.relay = RELAY_BUG_DOOR_EARLY,
	 .name = "DOOR_EARLY",
	 .run = doors_late_run,
	 .scenario = "doors-late",
	 .breaks = B(REACH)},
#define P(id, breaks_)                                                                     \
	{                                                                                  \
		.door = DOOR_BUG_##id, .name = #id, .run = doors_run, .scenario = "doors", \
		.breaks = breaks_                                                          \
	}
	P(ANSWERED, B(EMPTY)),
	P(UNHEARD, B(TOLD)),
#undef P
	{.relay = RELAY_BUG_DOOR_HOGGED,
	 .name = "DOOR_HOGGED",
	 .run = doors_silent_run,
	 .scenario = "doors-silent",
	 .breaks = B(PROMPT)},
	{.relay = RELAY_BUG_DOOR_GREEDY,
	 .name = "DOOR_GREEDY",
	 .run = doors_many_run,
	 .scenario = "doors-many",
	 .breaks = B(COMPLETE)},
	{.relay = RELAY_BUG_DOOR_SAME_TURN,
	 .name = "DOOR_SAME_TURN",
	 .run = doors_two_run,
	 .scenario = "doors-two",
	 .breaks = B(REACH)},
	{.relay = RELAY_BUG_DOOR_LATE_HOLD,
	 .name = "DOOR_LATE_HOLD",
	 .run = doors_two_run,
	 .scenario = "doors-two",
	 .breaks = B(REACH)},
	{.relay = RELAY_BUG_DOOR_NAMESAKE,
	 .name = "DOOR_NAMESAKE",
	 .run = doors_pairs_run,
	 .scenario = "doors-pairs",
	 .breaks = B(TABLES)},
	{.door = DOOR_BUG_ONE_RELAY,
	 .name = "ONE_RELAY",
	 .run = doors_two_run,
	 .scenario = "doors-two",
	 .breaks = B(COMPLETE)},
	{.door = DOOR_BUG_LEFT_ONCE,
	 .name = "LEFT_ONCE",
	 .run = doors_two_run,
	 .scenario = "doors-two",
	 .breaks = B(EMPTY) | B(TOLD)},
	{.door = DOOR_BUG_RENAMED,
	 .name = "RENAMED",
	 .run = mmp_sites_run,
	 .scenario = "mmp-sites",
	 .breaks = B(REASON)},
#define P(id, breaks_)                                                      \
	{                                                                   \
		.relay = RELAY_BUG_##id, .name = #id, .run = adversary_run, \
		.scenario = "adversary", .breaks = breaks_                  \
	}
	P(SIBLING, B(STANDS)),
	P(GUESSES, B(STANDS)),
#undef P
#define P(id, breaks_)                                                                           \
	{                                                                                        \
		.relay = RELAY_BUG_##id, .name = #id, .run = survive_run, .scenario = "survive", \
		.breaks = breaks_                                                                \
	}
	P(DEATH_UNTOLD, B(TOLD)),
	P(DEATH_WITHIN, B(TOLD)),
	P(DEATH_ANY, B(ALIVE)),
	P(DEATH_STAYS, B(TOLD) | B(COMPLETE)),
	P(DEATH_KEPT, B(EMPTY)),
#undef P
#define P(id, breaks_)                                                                       \
	{                                                                                    \
		.light = LIGHT_BUG_##id, .name = #id, .run = light_run, .scenario = "light", \
		.breaks = breaks_                                                            \
	}
	P(STILL_LIT, B(DARK)),
	P(UNSHARED, B(DARK)),
	P(ONE_RELAY, B(LIT)),
	P(SECOND_WAITED, B(LIT)),
#undef P
#define P(id, breaks_)                                                                   \
	{                                                                                \
		.meet = MEET_BUG_##id, .name = #id, .run = meet_run, .scenario = "meet", \
		.breaks = breaks_                                                        \
	}
	P(PRESUMED, B(TOGETHER)),
	P(ANYBODY, B(PROOF)),
	P(SURE, B(REASON)),
	P(PATIENT, B(COMPLETE)),
	P(ANY_ORDER, B(TURN)),
	P(HOGGED, B(COMPLETE)),
	P(SLAMMED, B(TOGETHER)),
	P(LINGERS, B(EMPTY)),
	P(KEPT_LINE, B(EMPTY)),
#undef P
#define P(id, breaks_)                                                         \
	{                                                                      \
		.meet = MEET_BUG_##id, .name = #id, .run = meet_two_kills_run, \
		.scenario = "meet-two-kills", .breaks = breaks_                \
	}
	P(LINE_STAYS, B(COMPLETE) | B(TOGETHER)),
#undef P
#define P(id, breaks_)                                                       \
	{                                                                    \
		.door = DOOR_BUG_##id, .name = #id, .run = spawn_relays_run, \
		.scenario = "spawn-relays", .breaks = breaks_                \
	}
	P(ONE_RELAY, B(COMPLETE)),
#undef P
#define P(id, breaks_)                                                                   \
	{                                                                                \
		.meet = MEET_BUG_##id, .name = #id, .run = ways_run, .scenario = "ways", \
		.breaks = breaks_                                                        \
	}
	P(WAY_STAYS, B(COMPLETE) | B(TABLES)),
	P(WAY_ANEW, B(ONCE) | B(ORDER) | B(BYTES) | B(COMPLETE)),
	P(WAY_ENDLESS, B(TOLD)),
	P(WAY_NAMED, B(TOLD)),
#undef P
#define P(id, breaks_)                                                                         \
	{                                                                                      \
		.launch = LAUNCH_BUG_##id, .name = #id, .run = spawn_run, .scenario = "spawn", \
		.breaks = breaks_                                                              \
	}
	P(NO_WORD, B(TOLD)),
	P(SPARED, B(COMPLETE) | B(TABLES)),
	P(ORPHANED, B(EMPTY) | B(COMPLETE)),
	P(UNHEEDED, B(ALIVE)),
	P(CROWDED, B(TABLES)),
	P(TOO_EARLY, B(TOLD)),
	P(IN_A_ROW, B(RESULT)),
	P(INSISTS, B(SPIN)),
#undef P
	{.relayset = RELAYSET_BUG_UNLIT,
	 .name = "UNLIT",
	 .run = relight_run,
	 .scenario = "relight",
	 .breaks = B(LIT)},
	{.relayset = RELAYSET_BUG_HUSHED,
	 .name = "HUSHED",
	 .run = survive_run,
	 .scenario = "survive",
	 .breaks = B(REASON)},
};

static const char *const suci_whats[] = {"",
#define X(id, what) what,
					 SUCI_BUGS(X)
#undef X
};
static const char *const mmp_whats[] = {"",
#define X(id, what) what,
					MMP_BUGS(X)
#undef X
};

static const char *const relayset_whats[] = {"",
#define X(id, what) what,
					     RELAYSET_BUGS(X)
#undef X
};

static const char *const lmpi_whats[] = {"",
#define X(id, what) what,
					 LMPI_BUGS(X)
#undef X
};

static const char *const relay_whats[] = {"",
#define X(id, what) what,
					  RELAY_BUGS(X)
#undef X
};

static const char *const door_whats[] = {"",
#define X(id, what) what,
					 DOOR_BUGS(X)
#undef X
};

static const char *const spx_whats[] = {"",
#define X(id, what) what,
					SPX_BUGS(X)
#undef X
};

static const char *const ft_whats[] = {"",
#define X(id, what) what,
				       FT_BUGS(X)
#undef X
};

static const char *const light_whats[] = {"",
#define X(id, what) what,
					  LIGHT_BUGS(X)
#undef X
};

static const char *const meet_whats[] = {"",
#define X(id, what) what,
					 MEET_BUGS(X)
#undef X
};

static const char *const launch_whats[] = {"",
#define X(id, what) what,
					   LAUNCH_BUGS(X)
#undef X
};

static const char *const sp_whats[] = {"",
#define X(id, what) what,
				       SP_BUGS(X)
#undef X
};

static const char *const quorum_whats[] = {"",
#define X(id, what) what,
					   QUORUM_BUGS(X)
#undef X
};

/* A child for each run: a bug may well end in an assertion or worse. */
static enum invariant
caught_by(const struct plan *p, uint64_t seed, struct outcome *o)
{
	memset(o, 0, sizeof *o);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		suci_canary = p->suci;
		mmp_canary = p->mmp;
		lmpi_canary = p->lmpi;
		relayset_canary = p->relayset;
		relay_canary = p->relay;
		door_canary = p->door;
		light_canary = p->light;
		meet_canary = p->meet;
		launch_canary = p->launch;
		ft_canary = p->ft;
		sp_canary = p->sp;
		quorum_canary = p->quorum;
		spx_canary = p->spx;
		p->run(seed, false, o);
		_exit(0);
	}
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return INV_NONE;
	return status ? INV_NONE : (enum invariant)o->broken;
}

/* True: caught as it should be; *by says how. */
static bool
hunt(const struct plan *p, struct outcome *o, uint64_t *broken)
{
	uint32_t others = 0, seeds = SEEDS;

	if (p->run == jobs_run || p->run == sp_run || p->run == sp_storm_run || p->spx ||
	    p->light || p->meet || p->launch)
		seeds = SEEDS_JOBS;
	for (uint32_t i = 0; i < seeds; i++) {
		struct base_prng g = base_prng_seed(0xca11 + i);
		uint64_t seed = base_prng_next(&g);
		enum invariant by = caught_by(p, seed, o);
		others += by != INV_NONE;
		if (!(p->breaks >> by & 1) || by == INV_NONE)
			continue;
		*broken |= UINT64_C(1) << by;
		printf("ok    %-11s %-14s seed %2u of %s: %.110s\n", p->name, invariant_name(by),
		       i + 1, p->scenario, o->why);
		return true;
	}
	printf("FAIL  %s (%s): not caught in %u seeds of %s as it should be, %u other failures\n",
	       p->name,
	       p->spx	     ? spx_whats[p->spx]
	       : p->door     ? door_whats[p->door]
	       : p->light    ? light_whats[p->light]
	       : p->meet     ? meet_whats[p->meet]
	       : p->launch   ? launch_whats[p->launch]
	       : p->sp	     ? sp_whats[p->sp]
	       : p->quorum   ? quorum_whats[p->quorum]
	       : p->ft	     ? ft_whats[p->ft]
	       : p->relay    ? relay_whats[p->relay]
	       : p->lmpi     ? lmpi_whats[p->lmpi]
	       : p->relayset ? relayset_whats[p->relayset]
	       : p->mmp	     ? mmp_whats[p->mmp]
			     : suci_whats[p->suci],
	       seeds, p->scenario, others);
	return false;
}

int
canary_bugs(const char *only)
{
	uint32_t passed = 0, failed = 0;
	uint64_t broken = 0;
	struct outcome *o =
		mmap(NULL, sizeof *o, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (o == MAP_FAILED) {
		perror("sim: mmap");
		return 2;
	}
	for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
		if (*only && strcmp(only, plans[i].name))
			continue;
		if (hunt(&plans[i], o, &broken))
			passed++;
		else
			failed++;
	}
	for (unsigned i = 1; i < INV_COUNT && !*only; i++) {
		if (broken >> i & 1) {
			passed++;
			continue;
		}
		failed++;
		printf("FAIL  no planted bug breaks \"%s\": %s\n",
		       invariant_name((enum invariant)i), invariant_what((enum invariant)i));
	}
	munmap(o, sizeof *o);
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}

#endif
