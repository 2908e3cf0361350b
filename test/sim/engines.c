/* SPDX-License-Identifier: BSD-2-Clause */
/* Real engines of lib/mpi, one for each process, on real lanes over real relays, running random
 * programs (test/mpi_program.h): wildcards, rendezvous, synchronous sends, cancel, probes.
 *
 *     program -> lmpi_engine -> mpi/lanes.h -> lib/suci ~ links, relays ~ lib/suci -> ...
 *
 * Beside what sim/trouble.h does to them, processes may go over to a next epoch.  In every other
 * job data of long messages within a cluster may go over streams.
 * Then everything must complete, matched as MPI wants it. */
#include "draw.h"
#include "trouble.h"

#include "mpi_program.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

struct engines {
	struct trouble t; /* first */
	struct program *program;
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

	INVARIANT(all->t.nodes.w->s, MATCH, !wrong, "%s", wrong);
}

static void
check_turn(struct enode *n)
{
	check_program(engines_of(n), false);
}

static void
lose(struct enode *n, uint32_t dead)
{
	program_lost(engines_of(n)->program, n->end->rank, dead);
}

static void
step_program(struct enode *n)
{
	program_step(engines_of(n)->program, n->end->rank);
}

static void
kill_program(struct enode *n)
{
	program_kill(engines_of(n)->program, n->end->rank);
}

static bool
is_program_complete(const struct trouble *t, char *rest, size_t len)
{
	const struct engines *all = (const struct engines *)(const void *)t;

	if (rest)
		program_rest(all->program, rest, len);
	return program_complete(all->program);
}

static const struct trouble_ops ops = {
	.act = step_program, .perished = kill_program, .complete = is_program_complete};

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

static void
plan_epochs(struct engines *all)
{
	struct world *w = all->t.nodes.w;
	struct base_prng *p = &all->t.prng;
	uint64_t start = all->t.start_ns;

	for (uint64_t n = coin(p, 30) ? between(p, 1, 3) : 0; n > 0; n--) {
		uint64_t at = start + base_prng_below(p, all->t.end_ns - start);
		for (uint32_t r = 0; r < w->nend; r++) {
			all->t.nodes.news++;
			sim_at(w->s, at + base_prng_below(p, 50 * BASE_MS_NS), go_over,
			       &all->t.nodes.node[r], 0);
		}
	}
}

void
engines_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct engines *all = calloc(1, sizeof *all);
	struct lmpi_engine *engine[PROGRAM_PROCS];

	BASE_ASSERT(all);
	struct base_prng *p = &all->t.prng;
	all->t.ops = &ops;
	all->t.nodes.turned = check_turn;
	all->t.nodes.lost = lose;
	trouble_begin(&all->t, seed, 0xe291e, verbose, &program_contexts);
	struct world *w = all->t.nodes.w;
	for (uint32_t r = 0; r < w->nend; r++)
		engine[r] = &all->t.nodes.node[r].e;
	if (seed % 2 == 0)
		all->t.nodes.streams = stream_net_new(w->nend, engine, seed, seed % 4 == 0);
	struct program_conf pc = {.seed = seed, .procs = w->nend};
	pc.messages = (uint32_t)between(p, 20, 300);
	pc.len_max = (uint32_t)PICK(p, 5000, 50000, 300000);
	pc.idle = (uint32_t)PICK(p, 20, 200);
	pc.revokes = coin(p, 50);
	all->program = program_new(&pc, engine);
	trouble_plan(&all->t);
	plan_epochs(all);
	trouble_run(&all->t);
	if (!w->s->failed)
		check_program(all, true);
	snprintf(o->note, sizeof o->note,
		 "%u ranks, %u relays, %u kills, %u deaths, %u messages, %u taken back, %llu over "
		 "streams",
		 w->nend, w->nrelay, all->t.killed, all->t.died, pc.messages,
		 program_cancelled(all->program),
		 (unsigned long long)(all->t.nodes.streams
					      ? stream_net_counts(all->t.nodes.streams).packets
					      : 0));
	trouble_end(&all->t, o);
	stream_net_free(all->t.nodes.streams);
	program_free(all->program);
	free(all);
}
