/* SPDX-License-Identifier: BSD-2-Clause */
/* Agreements and revocations of lib/ft between real engines of lib/mpi in one cluster, and every
 * death there can be: a process dies after each turn of its loop, in a run of its own; of pairs of
 * deaths some are tried.  Others hear of a death at times of their own.
 *
 * Each process agrees twice; one revokes a context in between.  The living must end, with one
 * result that the dead have had, too; and all or none know of the revocation. */
#include "draw.h"
#include "member.h"
#include "scenario.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGREEMENTS  2u
#define PAIRS	    40u
#define REVOKED	    9u
#define COMPLETE_NS (60 * BASE_S_NS)

struct death {
	uint32_t rank;
	uint64_t turn; /* it dies after so many turns of its loop */
};

struct survivors {
	struct members members; /* first */
	struct base_prng prng;
	uint32_t revoker;
	struct death death[2];
	uint64_t late_ns; /* others hear of a death within this time */
};

static struct survivors *
survivors_of(const struct enode *n)
{
	return (struct survivors *)(void *)n->all;
}

/* ---- what happens ---- */

static void
begin_next(struct enode *n, uint32_t k)
{
	if (n->end->rank == survivors_of(n)->revoker && k == 0)
		member_revoke(n, REVOKED);
	if (k + 1 < AGREEMENTS)
		member_agree(n);
}

static void
start_member(struct sim *s, void *who, uint64_t arg)
{
	struct enode *n = who;

	(void)s, (void)arg;
	if (!n->end->alive)
		return;
	n->all->current = n;
	member_agree(n);
	end_drive(n->end);
}

static void
kill_member(struct sim *s, void *who, uint64_t arg)
{
	struct enode *n = who;
	struct survivors *v = survivors_of(n);

	(void)s, (void)arg;
	if (n->all->over || !enode_kill(n))
		return;
	for (uint32_t r = 0; r < n->all->w->nend; r++)
		if (n->all->w->end[r].alive)
			enode_hear(&n->all->node[r], n->end->rank,
				   base_prng_below(&v->prng, 1 + v->late_ns));
}

static void
die_in_turn(struct enode *n)
{
	const struct survivors *v = survivors_of(n);

	for (int i = 0; i < 2; i++)
		if (v->death[i].turn == n->turns && v->death[i].rank == n->end->rank)
			sim_at(n->all->w->s, n->all->w->s->now_ns, kill_member, n, 0);
}

static bool
are_all_over(void *who)
{
	const struct survivors *v = who;
	const struct enodes *nodes = &v->members.nodes;
	const struct world *w = nodes->w;
	bool some = false, all = true;

	for (uint32_t r = 0; r < w->nend; r++) {
		if (!w->end[r].alive)
			continue;
		const struct member *m = &v->members.member[r];
		if (m->ended < AGREEMENTS || m->knows != nodes->dead)
			return false;
		some |= m->revoked;
		all &= m->revoked;
	}
	return nodes->news == 0 && some == all;
}

/* ---- one run ---- */

/* turns: of each process until all was over; NULL: nobody asks. */
static void
run_once(uint64_t seed, bool verbose, const struct death death[2], uint64_t *turns,
	 struct outcome *o)
{
	struct survivors *v = calloc(1, sizeof *v);
	struct enodes *nodes;
	struct world_conf c;

	BASE_ASSERT(v);
	nodes = &v->members.nodes;
	v->prng = base_prng_seed(seed ^ 0xf7);
	memcpy(v->death, death, sizeof v->death);
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	world_conf_default(&c);
	c.app = &enode_app;
	c.nclusters = 1;
	c.cluster[0] = (struct cluster_conf){(uint32_t)between(&v->prng, 3, 6), 0};
	struct world *w = nodes->w = world_new(s, &c);
	w->scenario = v;
	nodes->turned = die_in_turn;
	v->members.agreed = begin_next;
	v->revoker = (uint32_t)base_prng_below(&v->prng, w->nend);
	v->late_ns = PICK(&v->prng, 0, 100000, 5000000);
	uint64_t apart = PICK(&v->prng, 1000, 100000, 2000000);
	for (uint32_t r = 0; r < w->nend; r++)
		member_make(&v->members, r,
			    &(struct lmpi_engine){.copied_bytes_max = 1u << 20,
						  .unexpected_bytes_max = 1u << 20,
						  .datalen = 4096,
						  .ackmark = 10,
						  .hiwater = 20});
	world_start(w);
	for (uint32_t r = 0; r < w->nend; r++)
		sim_at(s, s->now_ns + base_prng_below(&v->prng, apart), start_member,
		       &nodes->node[r], 0);
	sim_run(s, s->now_ns + COMPLETE_NS, are_all_over, v);
	INVARIANT(s, COMPLETE, are_all_over(v), "not all of the living have ended and know of all");
	for (uint32_t r = 0; r < w->nend; r++) {
		if (turns)
			turns[r] = nodes->node[r].turns;
		member_check(&nodes->node[r]);
	}
	sim_run(s, s->now_ns + 10 * BASE_S_NS, world_quiet, w);
	nodes->over = true;
	uint32_t nend = w->nend;
	enodes_bury(nodes);
	scenario_end(w, o);
	for (uint32_t r = 0; r < nend; r++)
		member_free(&v->members, r);
	free(v);
}

/* Adds what a run was to what all were. */
static bool
add_run(struct outcome *all, const struct outcome *one, const struct death death[2])
{
	all->hash = (all->hash ^ one->hash) * UINT64_C(0x100000001b3);
	all->events += one->events;
	all->virtual_ns += one->virtual_ns;
	all->ok = one->ok;
	all->broken = one->broken;
	if (one->ok)
		return true;
	snprintf(all->why, sizeof all->why,
		 "rank %u dies after turn %lld, rank %u after %lld: %.300s", death[0].rank,
		 (long long)death[0].turn, death[1].rank, (long long)death[1].turn, one->why);
	return false;
}

void
ft_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct death death[2] = {{0, UINT64_MAX}, {0, UINT64_MAX}};
	uint64_t turns[ENODES_MAX] = {0}, sum = 0, done = 0, pairs = 0;
	struct base_prng p = base_prng_seed(seed ^ 0x9a1);
	struct outcome one;
	uint32_t n = 0;

	run_once(seed, verbose, death, turns, &one);
	bool good = add_run(o, &one, death);
	for (; n < ENODES_MAX && turns[n]; n++)
		sum += turns[n];
	for (uint32_t r = 0; r < n && good; r++)
		for (uint64_t t = 1; t <= turns[r] && good; t++, done++) {
			death[0] = (struct death){r, t};
			run_once(seed, false, death, NULL, &one);
			good = add_run(o, &one, death);
		}
	for (; pairs < PAIRS && good; pairs++) {
		for (int i = 0; i < 2; i++) {
			uint32_t r = (uint32_t)base_prng_below(&p, n);
			death[i] = (struct death){r, 1 + base_prng_below(&p, turns[r])};
		}
		run_once(seed, false, death, NULL, &one);
		good = add_run(o, &one, death);
	}
	snprintf(o->note, sizeof o->note,
		 "%u ranks; a death after %llu of %llu turns (%.0f %%), %llu pairs", n,
		 (unsigned long long)done, (unsigned long long)sum,
		 sum ? 100.0 * (double)done / (double)sum : 0, (unsigned long long)pairs);
}
