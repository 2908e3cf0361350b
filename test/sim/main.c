/* SPDX-License-Identifier: BSD-2-Clause */
/* sim: runs scenarios in virtual time.
 *
 *     sim SCENARIO SEED            one run, with its log
 *     sim --all SWARM_SEEDS BASE   every scenario, the list of seeds on stdin, and
 *                                  SWARM_SEEDS fresh seeds
 *     sim --long BASE FROM TO SECONDS SCENARIO
 *                                  fresh seeds FROM .. TO - 1 of BASE, for so long (0: no
 *                                  limit), of that scenario only ("": of several)
 *     sim --eval COSTS KEY=VALUE...
 *                                  one point of the evaluation, see eval.h
 *     sim --deaths                 every death of scenario "deaths", of others in some worlds
 *     sim --list */
#include "eval.h"
#include "many.h"
#include "survive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const struct scenario scenarios[] = {
	{"canary", "a flipped bit must be noticed here", true, canary_run, NULL},
	{"crc", "and repaired with the end-to-end CRC", true, crc_run, NULL},
	{"crc-relays", "garbled on the way to a relay: sent again by its sender", true,
	 crc_relays_run, NULL},
	{"direct", "two processes, one path, faults by seed", false, direct_run, NULL},
	{"star", "many senders, one receiver, faults by seed", false, star_run, NULL},
	{"relay1", "process - relay = process with a global address", false, relay1_run, NULL},
	{"relay2", "two clusters, 1-2 relays each, faults by seed", false, relay2_run, NULL},
	{"three", "three clusters, faults by seed", false, three_run, NULL},
	{"idle-relay", "more relays than processes, faults by seed", false, idle_relay_run, NULL},
	{"overload", "receivers that hold less than they grant", false, overload_run, NULL},
	{"restart", "a process or relay dies: the job ends everywhere", false, restart_run, NULL},
	{"lives",
	 "either end of a relayed lane begins anew at any time, and the other one hears it", false,
	 lives_run, NULL},
	{"leave", "an end leaves in the midst of the others' traffic: nobody minds", false,
	 leave_run, NULL},
	{"gateway", "foreign hosts, gateways and our processes by seed", false, gateway_run, NULL},
	{"gateway-slow", "a host that reads nothing slows nobody else", true, gateway_slow_run,
	 NULL},
	{"swarm", "topology, links, limits, traffic and faults by seed", false, swarm_run, NULL},
	{"restart-early", "campaign, deaths while relays still connect", false, restart_early_run,
	 NULL},
	{"campaign", "the same with swarms of faults, see faults.h", false, campaign_run, NULL},
	{"engines", "random MPI programs on engines of lib/mpi, over relays that die", false,
	 engines_run, NULL},
	{"colls", "collective calls on such engines, by both executors of mpi/steps.h", false,
	 colls_run, NULL},
	{"windows", "one-sided communication on such engines: locks, fences, puts, accumulates",
	 false, windows_run, NULL},
	{"windows-flood",
	 "one of its processes sends no bulk data, takes no result: bounded, refused", false,
	 windows_flood_run, NULL},
	{"ft", "agreement and revoking on engines: a death after every turn of every process",
	 false, ft_run, NULL},
	{"survive", "jobs over relays outlive ranks, relays, clusters, by seed; forgers try", false,
	 survive_run, NULL},
	{"deaths", "such a job, 2 x 2 relays: each node dies after each event, a slice by seed",
	 false, deaths_run, NULL},
	{"sp", "clusters that go on: processes, nodes, masters, nets, disks, clocks fail by seed",
	 false, sp_run, NULL},
	{"sp-storm", "voters die and come back within milliseconds: what they promised holds",
	 false, sp_storm_run, NULL},
	{"sp-thousand", "1000 processes on 64 units: views in 50 ms, control 1 % of 1 Gb/s", true,
	 sp_thousand_run, NULL},
	{"sp-three",
	 "the death of one of three nodes is known in 150 ms, of 100 worlds and 100 masters", true,
	 sp_three_run, NULL},
	{"sp-sites", "the death of one of three sites, 20 ms apart, is known in 700 ms", true,
	 sp_sites_run, NULL},
	{"sp-masters", "1000 processes on 64 units: masters die in a row, a minority, full disks",
	 false, sp_masters_run, NULL},
	{"sp-clocks", "one node's clock is too fast or too slow, perhaps the master's: it is found",
	 false, sp_clocks_run, NULL},
	{"sp-failing", "a program fails whenever it runs: started again ever later, until mended",
	 false, sp_failing_run, NULL},
	{"speed-lane", "20 MB over 1 Gb/s, 5 ms: 95 % of the wire", true, speed_lane, NULL},
	{"speed-lane-loss", "the same with 0.1 % loss: 90 %", true, speed_lane_loss, NULL},
	{"speed-giant", "1 GB over 10 Gb/s, 10 ms: 97 % of the wire", true, speed_giant, NULL},
	{"speed-giant-loss1", "the same with 0.01 % loss: 97 %", true, speed_giant_loss1, NULL},
	{"speed-giant-loss2", "the same with 0.1 % loss: 95 %", true, speed_giant_loss2, NULL},
	{"speed-giant-loss3", "the same with 1 % loss: 90 %", true, speed_giant_loss3, NULL},
	{"speed-giant-relays", "1 GB over two relays: direct + 2 segments", true,
	 speed_giant_relays, NULL},
	{"speed-giant-relays-loss1", "the same with 0.01 % loss", true, speed_giant_relays_loss1,
	 NULL},
	{"speed-giant-relays-loss2", "the same with 0.1 % loss", true, speed_giant_relays_loss2,
	 NULL},
	{"speed-giant-relays-loss3", "the same with 1 % loss", true, speed_giant_relays_loss3,
	 NULL},
	{"speed-relays", "the same over two relays: 92 %", true, speed_relays, NULL},
	{"speed-pingpong0", "8 B, direct: the links' time", true, speed_pingpong0, NULL},
	{"speed-pingpong1", "8 B, one relay: the links' time", true, speed_pingpong1, NULL},
	{"speed-pingpong2", "8 B, two relays: the links' time", true, speed_pingpong2, NULL},
	{"speed-rendezvous", "256 KB messages over two relays: 95 % of direct", true,
	 speed_rendezvous, NULL},
	{"speed-tail", "lost last segment: 2 RTT + 10 ms", true, speed_tail, NULL},
	{"speed-tail-relays", "lost last segment on the trunk: 2 RTT + 10 ms", true,
	 speed_tail_relays, NULL},
	{"speed-incast", "16 senders to one receiver: 2.5 times the link's time", true,
	 speed_incast, NULL},
	{"speed-bbr", "400 MB by bbr over 1 Gb/s, 10 ms: 92 %", true, speed_bbr, NULL},
	{"speed-bbr-loss", "the same with 1 % random loss: 90 %", true, speed_bbr_loss, NULL},
	{"speed-cubic-loss", "400 MB by cubic, 1 % random loss: 60 %", true, speed_cubic_loss,
	 NULL},
	{"chance", "alltoallv 512 KB, 10 ms, 0.1 and 1 % lost by chance: 2.5 and 5 times without",
	 false, chance_near, NULL},
	{"chance-far", "the same, 50 ms: 3 and 6 times", true, chance_far, NULL},
	{"fair-cubic", "two cubic paths and one Reno flow on one link: 25 %", true, fair_cubic,
	 NULL},
	{"fair-bbr", "two bbr paths and one Reno flow on one link: 50 %", true, fair_bbr, NULL},
	{"fair-bbr-pair", "two bbr paths on one link: 25 %", true, fair_bbr_pair, NULL},
	{"queue-bbr", "a queue of a second: bbr leaves it empty", true, queue_bbr, NULL},
	{"incast-16", "16 senders, a receiver that can hold little: 1.1 times, evenly", true,
	 incast_small, NULL},
	{"repoint", "relays die with what they carry: lanes go over others", false, repoint_run,
	 NULL},
	{"failover", "relays, cables and trunks fail: nothing lost, a bounded stall", false,
	 failover_run, NULL},
	{"adversary", "somebody without keys on every link: no path falls, no byte is wrong", false,
	 adversary_run, NULL},
	{"kills", "relays die again while they come back, under load: nothing is lost", false,
	 kills_run, NULL},
	{"clusters", "32 clusters, everybody to everybody, relays die and come back", false,
	 clusters_run, NULL},
	{"drain", "relays are emptied one after the other: nobody waits", false, drain_run, NULL},
	{"drain-stripe", "the same with blocks dealt to all trunks", false, drain_stripe, NULL},
	{"asker", "losses, a receiver that holds little: the window is back in a few round trips",
	 false, asker_run, NULL},
	{"asker-spray", "the same while ways of unequal length have half of all come early", true,
	 asker_spray, NULL},
	{"shrink",
	 "the WAN passes less than what two relays hold, with loss: noticed in 250 ms, then 88 %",
	 false, shrink_run, NULL},
	{"relight", "light paths come, drain and die under traffic: nothing lost", false,
	 relight_run, NULL},
	{"optical", "two jobs on a circuit switch with faults: right data, nothing left", false,
	 optical_run, NULL},
	{"light", "processes, relays, a controller and a circuit switch, all with faults", false,
	 light_run, NULL},
	{"jobs", "job coordinators of a cluster: relays die, channels are cut at any step", false,
	 jobs_run, NULL},
	{"doors",
	 "doors come and go, relays die, forgers try: right door, proof, told, 1 round trip", false,
	 doors_run, NULL},
	{"doors-guess", "a tenant guesses tokens of doors: others of his cluster may import", false,
	 doors_guess_run, NULL},
	{"doors-late", "a question comes when its label has long been free: to no other door",
	 false, doors_late_run, NULL},
	{"doors-silent",
	 "a relay answers nothing that a tenant asks it: others are not kept waiting", false,
	 doors_silent_run, NULL},
	{"doors-many",
	 "10^5 members, 10^3 come and 10^3 go each second: what stands stalls for no round trip",
	 true, doors_many_run, NULL},
	{"doors-two",
	 "two relays each, of which any dies: reached in a bounded time, told so first", false,
	 doors_two_run, NULL},
	{"meet", "roots of jobs meet at ports while roots and relays die: together, in turn", false,
	 meet_run, NULL},
	{"meet-kills", "two roots meet, and each of all dies after each event, a slice by seed",
	 false, meet_kills_run, NULL},
	{"meet-two", "roots meet as in meet, with two relays in each cluster", false, meet_two_run,
	 NULL},
	{"meet-two-kills", "two roots meet as in meet-kills, with two relays in each cluster",
	 false, meet_two_kills_run, NULL},
	{"ways", "processes of jobs that met talk over doors at two relays, and these die and come",
	 false, ways_run, NULL},
	{"ways-kills", "two processes meet and talk, and each relay dies after each event, a slice",
	 false, ways_kills_run, NULL},
	{"spawn", "processes start others: all meet or none is left, whoever dies, a slice by seed",
	 false, spawn_run, NULL},
	{"spawn-relays", "the same in two clusters with two relays each, of which any dies", false,
	 spawn_relays_run, NULL},
	{"doors-pairs", "doors with two relays in each cluster", false, doors_pairs_run, NULL},
	{"spx", "pipelines rebuilt while ranks, I/O processes, clusters die: each frame once",
	 false, spx_run, NULL},
	{"spx-aside", "frames that end who filters them: set aside, no other is", false,
	 spx_aside_run, NULL},
	{"spx-chain", "a second filter: 1.9 times, the first frame in 1 s, none lost by a drain",
	 true, spx_chain_run, NULL},
	{"mmp", "programs over libmmp's engine: small areas, silence, deaths, faults by seed",
	 false, mmp_run, NULL},
	{"mmp-sites",
	 "the same over doors: relays are killed and started again, trunks cut, ranks die", false,
	 mmp_sites_run, NULL},
	{"stripe", "one pair over 4 relays: 3.8 times one; over 2 to 4: 1.9", true, stripe_pair,
	 NULL},
	{"spray-sum", "one lane over 4 relays: 3.8 times one", true, spray_sum, NULL},
	{"lane-grows", "window of a lane, 10 Gb/s and 10 ms: 97 %, and back when idle", true,
	 lane_grows, NULL},
	{"lanes-idle", "1000 idle lanes hold no credit", true, lanes_idle, NULL},
	{"lanes-many", "1000 busy lanes of 100 000: 90 % of one", true, lanes_many, NULL},
	{"prio-hops", "classes are strict over relays: 95 %", true, prio_hops, NULL},
	{"big-hops", "a block beyond 4 GiB over two relays", true, big_hops, NULL},
	{"incast-200", "the same with 200 senders", true, incast_many, NULL},
	{"incast-1000", "1000 senders, 64 KB each, queue 256 KB, MTU 1500: 1.1 times, evenly", true,
	 incast_thousand, NULL},
	{"alltoall", "32 over one 10 Gb/s link of 5 ms, fixed: 95 % at each size", true,
	 alltoall_fixed, NULL},
	{"alltoall-cubic", "the same with cubic: 95 %", true, alltoall_cubic, NULL},
	{"alltoall-bbr", "the same with bbr: 95 %", true, alltoall_bbr, NULL},
	{"eval-trunks", "all-to-all of 2 x 16: 2, 4, 8 trunks halve the time within 5 %", true,
	 eval_trunks, NULL},
	{"eval-small", "the same below 1 KB: 8 trunks no slower than one", true, eval_small, NULL},
	{"eval-is", "alltoallv 128 KB: 8 trunks 2.2 times TCP without relays", true, eval_is, NULL},
	{"eval-long", "long messages: 90 % of direct over two relays", true, eval_long, NULL},
	{"incast-1000-9k", "the same with MTU 9000", true, incast_thousand_jumbo, NULL},
};
const size_t nscenarios = sizeof scenarios / sizeof *scenarios;

#define MEET_WORLDS	    8u /* half of them near, half far */
#define WAYS_WORLDS	    4u
#define SPAWN_WORLDS	    16u
#define SPAWN_RELAYS_WORLDS 4u

static struct job *jobs;
static size_t njobs;

static const struct scenario *
find(const char *name)
{
	for (size_t i = 0; i < nscenarios; i++)
		if (!strcmp(scenarios[i].name, name))
			return &scenarios[i];
	return NULL;
}

static void
add(const struct scenario *sc, uint64_t seed, bool twice)
{
	jobs = realloc(jobs, (njobs + 1) * sizeof *jobs);
	if (!jobs)
		abort();
	jobs[njobs++] = (struct job){sc, seed, twice};
}

static void
read_list(void)
{
	char line[200], name[64];
	unsigned long long seed;
	while (fgets(line, sizeof line, stdin)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		const struct scenario *sc = NULL;
		if (sscanf(line, "%63s %llx", name, &seed) == 2)
			sc = find(name);
		if (!sc) {
			fprintf(stderr, "sim: not \"scenario seed\": %s", line);
			exit(2);
		}
		add(sc, seed, false);
	}
}

static void
listed(void *arg, uint64_t i, struct job *j)
{
	(void)arg;
	*j = jobs[i];
}

static const struct scenario *the_only;

/* What the i-th fresh seed runs. */
static const struct scenario *
turn(uint64_t i)
{
	static const char *const of[] = {"campaign", "swarm",	 "campaign", "gateway", "campaign",
					 "overload", "campaign", "restart",  "mmp"};
	if (the_only)
		return the_only;
	return find(of[i % (sizeof of / sizeof *of)]);
}

/* Fresh seeds of a scenario in --all: more of one that takes no time. */
static int
fresh_seeds(const struct scenario *sc)
{
	if (sc->run == engines_run || sc->run == colls_run || sc->run == windows_run)
		return 60;
	if (sc->run == survive_run || sc->run == mmp_sites_run || sc->run == meet_run ||
	    sc->run == meet_two_run || sc->run == ways_run)
		return 60;
	if (sc->run == sp_run)
		return 150;
	if (sc->run == sp_masters_run)
		return 1;
	if (sc->run == sp_clocks_run || sc->run == meet_kills_run ||
	    sc->run == meet_two_kills_run || sc->run == ways_kills_run)
		return 10;
	if (sc->run == spawn_run)
		return 100;
	if (sc->run == spawn_relays_run)
		return 30;
	if (sc->run == sp_storm_run || sc->run == deaths_run)
		return 20;
	return sc->run == optical_run || sc->run == light_run || sc->run == mmp_run ||
			       sc->run == jobs_run
		       ? 300
	       : sc->run == doors_run || sc->run == spx_run ? 40
							    : 3;
}

static bool
seeds_alone(const struct scenario *sc)
{
	return sc->run == meet_run || sc->run == meet_kills_run || sc->run == meet_two_run ||
	       sc->run == meet_two_kills_run || sc->run == spawn_run ||
	       sc->run == spawn_relays_run || sc->run == ways_run || sc->run == ways_kills_run ||
	       sc->run == spx_run || sc->run == survive_run || sc->run == deaths_run ||
	       sc->run == colls_run || sc->run == windows_run || sc->run == windows_flood_run ||
	       sc->run == sp_failing_run;
}

/* The seed of job i of a base, so a later run can go on. */
static uint64_t
fresh_seed(uint64_t base, uint64_t i)
{
	struct base_prng p = base_prng_seed(base ^ (i + 1) * 0x9e3779b97f4a7c15ull);
	return base_prng_next(&p);
}

static int
run_all(uint32_t swarm_seeds, uint64_t base)
{
	struct base_prng p = base_prng_seed(base);
	for (size_t i = 0; i < nscenarios; i++) {
		if (scenarios[i].known) {
			printf("SKIP  %s: %s\n", scenarios[i].name, scenarios[i].known);
			continue;
		}
		add(&scenarios[i], 0x5eed, !scenarios[i].fixed);
		/* Seeds of some are those of --long, so that they move nobody else's. */
		for (int k = 0; !scenarios[i].fixed && k < fresh_seeds(&scenarios[i]); k++)
			add(&scenarios[i],
			    seeds_alone(&scenarios[i]) ? fresh_seed(base, (uint64_t)k)
						       : base_prng_next(&p),
			    k == 0);
	}
	read_list();
	for (uint32_t i = 0; i < swarm_seeds; i++)
		add(turn(i), base_prng_next(&p), false);
	struct many m = {.to = njobs, .job = listed};
	uint64_t next;
	int rc = many_run(&m, &next);
	free(jobs);
	return rc;
}

static void
fresh(void *base, uint64_t i, struct job *j)
{
	*j = (struct job){turn(i), fresh_seed(*(uint64_t *)base, i), false};
}

static int
run_long(uint64_t base, uint64_t from, uint64_t to, uint64_t seconds, const char *only)
{
	struct many m = {.from = from, .to = to, .job = fresh, .arg = &base, .seconds = seconds};
	uint64_t next;
	the_only = *only ? find(only) : NULL;
	if (*only && !the_only) {
		fprintf(stderr, "sim: no scenario \"%s\"\n", only);
		return 2;
	}
	int rc = many_run(&m, &next);
	printf("next %llu of %llu\n", (unsigned long long)next, (unsigned long long)to);
	return rc;
}

static void
slice(void *sc, uint64_t i, struct job *j)
{
	*j = (struct job){sc, i, false};
}

/* All slices of the deaths of so many worlds. */
static int
enumerate_kills(const char *name, uint64_t worlds, uint64_t slices)
{
	struct many m = {.to = worlds * slices, .job = slice, .arg = (void *)(uintptr_t)find(name)};
	uint64_t next;

	printf("%s: every death of %llu worlds\n", name, (unsigned long long)worlds);
	return many_run(&m, &next);
}

/* Every death of scenario "deaths". */
static int
run_deaths(void)
{
	static const char *const phase[SURVIVE_PHASES] = {"start-up", "running", "agreement",
							  "end"};
	struct deaths_sum *d =
		mmap(NULL, sizeof *d, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct many m = {
		.to = DEATHS_SLICES, .job = slice, .arg = (void *)(uintptr_t)find("deaths")};
	uint64_t next;

	if (d == MAP_FAILED) {
		perror("sim: mmap");
		return 2;
	}
	deaths_count(d);
	int rc = many_run(&m, &next);
	for (int i = 0; i < SURVIVE_PHASES; i++)
		printf("%-10s %6llu of %6llu (node, event): %5.1f %%\n", phase[i],
		       (unsigned long long)d->done[i], (unsigned long long)d->all[i],
		       100.0 * (double)d->done[i] / (double)(d->all[i] ? d->all[i] : 1));
	printf("pairs      %6llu\n", (unsigned long long)d->pairs);
	munmap(d, sizeof *d);
	rc |= enumerate_kills("meet-kills", MEET_WORLDS, MEET_KILLS_SLICES);
	rc |= enumerate_kills("meet-two-kills", MEET_WORLDS, MEET_TWO_SLICES);
	rc |= enumerate_kills("ways-kills", WAYS_WORLDS, WAYS_SLICES);
	rc |= enumerate_kills("spawn-relays", SPAWN_RELAYS_WORLDS, SPAWN_RELAYS_SLICES);
	return enumerate_kills("spawn", SPAWN_WORLDS, SPAWN_SLICES) | rc;
}

static int
run_one(const char *name, uint64_t seed)
{
	const struct scenario *sc = find(name);
	struct outcome o = {0};
	if (!sc) {
		fprintf(stderr, "sim: no scenario \"%s\"; see sim --list\n", name);
		return 2;
	}
	sc->run(seed, true, &o);
	printf("%s 0x%llx: %s  hash %016llx, %llu events, %llu ms of virtual time\n", name,
	       (unsigned long long)seed, o.note, (unsigned long long)o.hash,
	       (unsigned long long)o.events, (unsigned long long)o.virtual_ns / BASE_MS_NS);
	if (!o.ok)
		printf("FAIL  %s\n", o.why);
	printf("%d passed, %d failed\n", o.ok, !o.ok);
	return !o.ok;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < nscenarios; i++)
			printf("%-18s %s\n", scenarios[i].name, scenarios[i].what);
		return 0;
	}
	if (argc == 7 && !strcmp(argv[1], "--long"))
		return run_long(strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0),
				strtoull(argv[4], NULL, 0), strtoull(argv[5], NULL, 0), argv[6]);
	if (argc >= 2 && !strcmp(argv[1], "--eval"))
		return eval_main(argc - 2, argv + 2);
	if (argc == 2 && !strcmp(argv[1], "--deaths"))
		return run_deaths();
	if (argc == 3 && !strcmp(argv[1], "--canary"))
		return canary_bugs(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "--all"))
		return run_all((uint32_t)strtoul(argv[2], NULL, 0), strtoull(argv[3], NULL, 0));
	if (argc == 3)
		return run_one(argv[1], strtoull(argv[2], NULL, 0));
	fprintf(stderr, "usage: sim SCENARIO SEED | sim --all SWARM_SEEDS BASE_SEED < seeds | "
			"sim --long BASE FROM TO SECONDS SCENARIO | sim --list\n");
	return 2;
}
