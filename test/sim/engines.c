/* SPDX-License-Identifier: BSD-2-Clause */
/* Real engines of lib/mpi, one for each process, on real lanes over real relays, running random
 * programs (test/mpi_program.h): wildcards, rendezvous, synchronous sends, cancel, probes.
 *
 *     program -> lmpi_engine -> mpi/lanes.h -> lib/suci ~ links, relays ~ lib/suci -> ...
 *
 * Links lose, repeat and reorder; processes and relays are not scheduled for a while, so that
 * they read nothing; relays die and come back as long as another of their cluster knows the job.
 * In a job of one cluster processes die, too: the others hear of it from their launcher or by a
 * path that is down, each at a time of its own.  In any job processes may go over to a next epoch.
 * Then everything must complete, matched as MPI wants it. */
#include "draw.h"
#include "enode.h"
#include "scenario.h"

#include "mpi_program.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DETECT_NS   BASE_S_NS
#define LOSS_MOST   50000000u /* of a link, parts per billion */
#define PAUSE_NS    (100 * BASE_MS_NS)
#define COMPLETE_NS (120 * BASE_S_NS)
#define CHECK_STEPS 64u

struct engines {
	struct enodes nodes; /* first */
	struct world *w;
	struct base_prng prng;
	struct program *program;
	uint64_t end_ns, step_ns; /* of trouble; between two acts of a process, at most */
	uint32_t killed, died;
};

static struct engines *
engines_of(const struct enode *n)
{
	return (struct engines *)(void *)n->all;
}

static void
check_program(struct engines *all, bool at_end)
{
	const char *wrong = program_broken(all->program, at_end);

	INVARIANT(all->w->s, MATCH, !wrong, "%s", wrong);
}

static void
check_turn(struct enode *n)
{
	check_program(engines_of(n), false);
}

/* ---- what happens ---- */

static void
lose(struct enode *n, uint32_t dead)
{
	program_lost(engines_of(n)->program, n->end->rank, dead);
}

/* arg: rank.  The others are told within a while, unless a path tells them before. */
static void
perish(struct sim *s, void *who, uint64_t arg)
{
	struct engines *all = who;
	struct world *w = all->w;

	(void)s;
	if (!enode_kill(&all->nodes.node[arg]))
		return;
	all->died++;
	program_kill(all->program, (uint32_t)arg);
	for (uint32_t r = 0; r < w->nend; r++) {
		if (!w->end[r].alive)
			continue;
		uint64_t most = PICK(&all->prng, BASE_MS_NS, 100 * BASE_MS_NS, 8 * BASE_S_NS);
		enode_hear(&all->nodes.node[r], (uint32_t)arg, base_prng_below(&all->prng, most));
	}
}

static void
go_over(struct sim *s, void *who, uint64_t arg)
{
	struct enode *n = who;

	(void)s, (void)arg;
	n->all->news--;
	if (!n->end->alive)
		return;
	program_epoch(engines_of(n)->program, n->end->rank);
	end_drive(n->end);
}

static bool
is_complete(const struct engines *all)
{
	return all->nodes.news == 0 && program_complete(all->program);
}

static void
step(struct sim *s, void *who, uint64_t arg)
{
	struct enode *n = who;
	struct engines *all = engines_of(n);

	(void)arg;
	if (n->all->over || !n->end->alive || is_complete(all))
		return;
	if (s->now_ns >= n->end->paused_ns) {
		program_step(all->program, n->end->rank);
		/* A program that waits takes more although its memory is full. */
		if (n->e.over && base_prng_below(&all->prng, 4) == 0)
			lmpi_take_more(&n->e);
		if (++n->steps % CHECK_STEPS == 0)
			enode_check(n);
		end_drive(n->end);
	}
	sim_at(s, s->now_ns + 1 + base_prng_below(&all->prng, all->step_ns), step, n, 0);
}

/* arg: relay, and for how long it is gone. */
static void
die(struct sim *s, void *who, uint64_t arg)
{
	struct engines *all = who;
	struct rnode *r = &all->w->relay[arg & 0xff];
	(void)s;
	if (!r->alive || !rnode_is_spare(r))
		return;
	all->killed++;
	rnode_kill_for(r, arg >> 8);
}

/* Whoever is not scheduled reads nothing. */
static void
load(struct sim *s, void *who, uint64_t arg)
{
	struct engines *all = who;
	struct base_prng *p = &all->prng;
	uint64_t ns = 1 + base_prng_below(p, PAUSE_NS);
	struct end *e = &all->w->end[base_prng_below(p, all->w->nend)];

	if (s->now_ns >= all->end_ns)
		return;
	/* Not for so long that others take it for dead. */
	if (e->alive && s->now_ns > e->paused_ns + PAUSE_NS)
		end_pause(e, ns);
	sim_at(s, s->now_ns + 1 + base_prng_below(p, arg), load, all, arg);
}

/* ---- the world ---- */

/* No path may fall by chance.  One whose peer is heard falls when nothing was acknowledged for
 * twice liveness_ns.  Pauses of 100 ms make the probe timeout up to 250 ms; probes follow it at
 * 1, 3, 7 times that, then every half of liveness_ns or every second:
 *
 *   lost one way   and there and back   liveness_ns   tries   all lost
 *            1 %                  2 %           1 s       4   2e-7
 *            5 %                9.8 %           1 s       4   9e-5: one run in 10 000 failed
 *            5 %                9.8 %           4 s       7   8e-8 */
static void
draw_world(struct engines *all, struct world_conf *c)
{
	struct base_prng *p = &all->prng;

	world_conf_default(c);
	c->app = &enode_app;
	c->nclusters = (uint32_t)between(p, 1, 3);
	for (uint32_t i = 0; i < c->nclusters; i++) {
		c->cluster[i].ranks = (uint32_t)between(p, 1, 4);
		c->cluster[i].relays = (uint32_t)between(p, 1, 3);
	}
	if (c->nclusters == 1)
		c->cluster[0] = (struct cluster_conf){(uint32_t)between(p, 2, 6), 0};
	c->several = c->nclusters > 1;
	c->policy = (uint8_t)base_prng_below(p, 3);
	c->partition_ns = 60 * BASE_S_NS;
	c->trunk.delay_ns = PICK(p, 50000, 1000000, 10000000);
	c->private_mtu = (uint32_t)PICK(p, 1472, 8972, 4000);
	c->lane_window = (uint32_t)PICK(p, 64, 256, 4096);
	c->lanes.blocks_max = c->lanes.rx_blocks_max = (uint32_t)PICK(p, 8, 64, 1024);
	for (int i = 0; i < 2; i++) {
		struct sim_link_conf *l = i ? &c->trunk : &c->private_nic;
		if (coin(p, 50))
			l->loss_ppb = (uint32_t)PICK(p, 1000000, 10000000, LOSS_MOST);
		if (coin(p, 30))
			l->dup_ppb = (uint32_t)PICK(p, 10000000, 200000000);
		if (coin(p, 50))
			l->reorder_ppb = (uint32_t)PICK(p, 10000000, 300000000);
		l->reorder_ns = PICK(p, 50000, 1000000, 20000000);
	}
	bool most = c->private_nic.loss_ppb == LOSS_MOST || c->trunk.loss_ppb == LOSS_MOST;
	c->end.liveness_ns = c->relay.liveness_ns = most ? 4 * DETECT_NS : DETECT_NS;
	c->end.keepalive_ns = c->relay.keepalive_ns = c->end.liveness_ns / 4;
}

static void
make_node(struct engines *all, uint32_t rank, uint32_t datalen, uint32_t ackmark, uint32_t hiwater)
{
	struct world *w = all->w;
	struct base_prng *p = &all->prng;

	struct lmpi_engine e = {.tolerant = &program_contexts,
				.datalen = datalen,
				.ackmark = ackmark,
				.hiwater = hiwater};
	e.copied_bytes_max = PICK(p, 1u << 25, 20000, 0);
	e.unexpected_bytes_max = PICK(p, 1u << 26, 20000, 2000);
	enode_make(&all->nodes, rank, &e);
	for (uint32_t r = 0; r < w->nend; r++)
		if (world_same_cluster(w, rank, r))
			all->nodes.node[rank].peer[r].eager_max = PICK(p, 65536, 1000, 0);
}

static void
plan(struct engines *all)
{
	struct world *w = all->w;
	struct base_prng *p = &all->prng;
	uint64_t start = w->s->now_ns + 20 * BASE_MS_NS;

	all->end_ns = start + between(p, 100, 2000) * BASE_MS_NS;
	all->step_ns = PICK(p, 200000, 2000000, 20000000);
	for (uint32_t r = 0; r < w->nend; r++)
		sim_at(w->s, start + base_prng_below(p, BASE_MS_NS), step, &all->nodes.node[r], 0);
	if (coin(p, 50))
		sim_at(w->s, start, load, all, PICK(p, 20, 200) * BASE_MS_NS);
	for (uint64_t n = w->nrelay && coin(p, 60) ? between(p, 1, 5) : 0; n > 0; n--) {
		uint64_t who = base_prng_below(p, w->nrelay);
		uint64_t back_ns = base_prng_below(p, 500 * BASE_MS_NS);
		sim_at(w->s, start + base_prng_below(p, all->end_ns - start), die, all,
		       who | back_ns << 8);
	}
	for (uint64_t n = !w->nrelay && coin(p, 60) ? between(p, 1, 3) : 0; n > 0; n--) {
		uint64_t who = base_prng_below(p, w->nend);
		sim_at(w->s, start + base_prng_below(p, all->end_ns - start), perish, all, who);
	}
	for (uint64_t n = coin(p, 30) ? between(p, 1, 3) : 0; n > 0; n--) {
		uint64_t at = start + base_prng_below(p, all->end_ns - start);
		for (uint32_t r = 0; r < w->nend; r++) {
			all->nodes.news++;
			sim_at(w->s, at + base_prng_below(p, 50 * BASE_MS_NS), go_over,
			       &all->nodes.node[r], 0);
		}
	}
}

void
engines_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct engines *all = calloc(1, sizeof *all);
	struct lmpi_engine *engine[PROGRAM_PROCS];
	struct world_conf c;
	char rest[200];

	BASE_ASSERT(all);
	all->prng = base_prng_seed(seed ^ 0xe291e);
	struct base_prng *p = &all->prng;
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	draw_world(all, &c);
	struct world *w = all->w = world_new(s, &c);
	w->scenario = all;
	all->nodes.w = w;
	all->nodes.turned = check_turn;
	all->nodes.lost = lose;
	uint32_t datalen = (uint32_t)PICK(p, 500, 4096, 65536);
	uint32_t ackmark = (uint32_t)PICK(p, 1, 4, 10), hiwater = ackmark * (uint32_t)PICK(p, 1, 2);
	for (uint32_t r = 0; r < w->nend; r++) {
		make_node(all, r, datalen, ackmark, hiwater);
		engine[r] = &all->nodes.node[r].e;
	}
	struct program_conf pc = {.seed = seed, .procs = w->nend};
	pc.messages = (uint32_t)between(p, 20, 300);
	pc.len_max = (uint32_t)PICK(p, 5000, 50000, 300000);
	pc.idle = (uint32_t)PICK(p, 20, 200);
	pc.revokes = coin(p, 50);
	all->program = program_new(&pc, engine);
	plan(all);
	world_start(w);
	sim_run(s, all->end_ns, NULL, NULL);
	for (uint64_t t = 0; t < COMPLETE_NS && !is_complete(all) && !s->failed; t += BASE_S_NS)
		sim_run(s, s->now_ns + BASE_S_NS, NULL, NULL);
	program_rest(all->program, rest, sizeof rest);
	INVARIANT(s, COMPLETE, is_complete(all), "%s", rest);
	if (!s->failed)
		check_program(all, true);
	for (uint32_t r = 0; r < w->nend && !s->failed; r++)
		if (w->end[r].alive)
			enode_check(&all->nodes.node[r]);
	sim_run(s, s->now_ns + 10 * BASE_S_NS, world_quiet, w);
	snprintf(o->note, sizeof o->note,
		 "%u ranks, %u relays, %u kills, %u deaths, %u messages, %u taken back", w->nend,
		 w->nrelay, all->killed, all->died, pc.messages, program_cancelled(all->program));
	all->nodes.over = true;
	uint32_t nend = w->nend;
	enodes_bury(&all->nodes);
	scenario_end(w, o);
	for (uint32_t r = 0; r < nend; r++)
		lmpi_engine_drop(&all->nodes.node[r].e);
	program_free(all->program);
	free(all);
}
