/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenarios "spx", "spx-aside" and "spx-chain": pipelines of clusters that are rebuilt while they
 * run.
 *
 * spx: input -> filter -> output, each seed with links that lose and reorder, and with five faults
 * or more, a third of them while the last one is not over: computing ranks, I/O processes and
 * whole clusters die, processes are cut off (and stop, or come back), a second filter is chained,
 * chains are drained and chained again.  Each frame must be taken once.
 * spx-aside: frames that end whoever filters them are set aside, and no others.
 * spx-chain: nothing fails; a second filter doubles what goes through, its first frame comes
 * within a second, and nothing is lost while the first is drained. */
#include "draw.h"
#include "spx_world.h"

#include <stdio.h>

#define STILL_NS   (20 * BASE_S_NS) /* without a frame: it has stopped */
#define MEASURE_NS (3 * BASE_S_NS)

struct plan_of {
	struct spxw *w;
	struct base_prng prng;
	uint32_t faults, kinds;
};

/* ---- faults ------------------------------------------------------------------------ */

static struct spxw_node *
draw_node(struct plan_of *p, enum spx_kind kind)
{
	struct spxw *w = p->w;
	uint32_t n = 0, at;

	for (uint32_t i = 0; i < w->nnode; i++)
		n += w->node[i].alive && w->node[i].kind == kind;
	if (n == 0)
		return NULL;
	at = (uint32_t)base_prng_below(&p->prng, n);
	for (uint32_t i = 0; i < w->nnode; i++)
		if (w->node[i].alive && w->node[i].kind == kind && at-- == 0)
			return &w->node[i];
	return NULL;
}

static void
chain_again(struct sim *s, void *who, uint64_t arg)
{
	struct spxw *w = who;

	(void)s, (void)arg;
	if (!w->over)
		spxw_ops(w, "add input filter");
}

static void
change_chains(struct plan_of *p)
{
	static const char *const ops[] = {
		"drain input filter",	     "add input filter on_lost=wait",
		"drain input filter2",	     "add input filter2",
		"move input filter filter2", "move input filter2 filter",
		"drain filter output",	     "add filter output"};
	struct spxw *w = p->w;
	uint32_t active = 0;
	uint64_t which = base_prng_below(&p->prng, 6);

	if (!w->cluster[SPXW_FILTER2].compute) {
		spxw_start_second(w);
		return;
	}
	for (uint32_t c = 0; c < w->view.nchain; c++)
		active += w->chain[c].from == SPXW_INPUT && w->chain[c].state == SPX_CHAIN_ACTIVE;
	spxw_ops(w, ops[which]);
	/* Where the last way drains, what is held goes on over it, and new frames wait. */
	if ((which == 0 || which == 2) && active < 2)
		sim_at(w->s, w->s->now_ns + between(&p->prng, 5, 300) * BASE_MS_NS, chain_again, w,
		       0);
}

static void
kill_some_cluster(struct plan_of *p)
{
	uint64_t back_ns = between(&p->prng, 20, 400) * BASE_MS_NS;

	spxw_kill_cluster(p->w, (uint16_t)PICK(&p->prng, SPXW_FILTER, SPXW_FILTER2, SPXW_OUTPUT),
			  back_ns);
}

static void
make_pipeline_fault(struct sim *s, void *who, uint64_t arg)
{
	struct plan_of *p = who;
	struct spxw *w = p->w;
	uint64_t kind = base_prng_below(&p->prng, 10);
	struct spxw_node *n = NULL;

	(void)s, (void)arg;
	if (w->over || w->nnode > SPXW_NODES_MAX - 40)
		return;
	p->faults++;
	p->kinds |= 1u << kind;
	if (kind < 3 && (n = draw_node(p, SPX_COMPUTE)))
		spxw_kill(w, n);
	else if (kind < 5 && (n = draw_node(p, SPX_IO)))
		spxw_kill(w, n);
	else if (kind == 5)
		kill_some_cluster(p);
	else if (kind < 8 && (n = draw_node(p, coin(&p->prng, 50) ? SPX_IO : SPX_COMPUTE)))
		spxw_isolate(w, n, PICK(&p->prng, 5, 40, 400) * BASE_MS_NS);
	else
		change_chains(p);
}

/* Five or more; of three one comes while the one before it is not over. */
static uint64_t
plan_faults(struct plan_of *p)
{
	uint32_t n = 5 + (uint32_t)base_prng_below(&p->prng, 8);
	uint64_t at = p->w->s->now_ns + between(&p->prng, 1, 100) * BASE_MS_NS;

	for (uint32_t i = 0; i < n; i++) {
		sim_at(p->w->s, at, make_pipeline_fault, p, 0);
		at += coin(&p->prng, 35) ? base_prng_below(&p->prng, 20 * BASE_MS_NS)
					 : between(&p->prng, 30, 250) * BASE_MS_NS;
	}
	return at;
}

static void
heal_links(struct sim *s, void *who, uint64_t arg)
{
	struct spxw *w = who;

	(void)arg;
	for (uint32_t i = 0; i < w->nnode; i++) {
		struct sim_link_conf *out = &s->link[w->node[i].out_link].conf;
		struct sim_link_conf *in = &s->link[w->node[i].in_link].conf;
		out->loss_ppb = in->loss_ppb = out->dup_ppb = in->dup_ppb = 0;
	}
	w->conf.loss_ppb = w->conf.dup_ppb = 0;
}

/* As long as frames go on: small windows, little room and long links make for few a second. */
static void
run_until_still(struct spxw *w)
{
	uint64_t before = UINT64_MAX;

	while (!w->s->failed && !spxw_complete(w) && w->committed != before) {
		before = w->committed;
		sim_run(w->s, w->s->now_ns + STILL_NS, spxw_complete, w);
	}
}

/* ---- spx --------------------------------------------------------------------------- */

static struct spxw_conf
draw_conf(struct base_prng *p)
{
	struct spxw_conf c = {.lease_ns = 60 * BASE_MS_NS};

	c.ranks[SPXW_INPUT] = (uint32_t)between(p, 1, 3);
	c.ranks[SPXW_FILTER] = (uint32_t)between(p, 1, 4);
	c.ranks[SPXW_FILTER2] = (uint32_t)between(p, 1, 3);
	c.ranks[SPXW_OUTPUT] = (uint32_t)between(p, 1, 2);
	c.io[SPXW_BEFORE] = (uint32_t)between(p, 1, 3);
	c.io[SPXW_BEHIND] = (uint32_t)between(p, 1, 3);
	c.frames = (uint32_t)between(p, 150, 500);
	c.ordered = coin(p, 60);
	c.second = coin(p, 25);
	c.policy = (enum spx_policy)base_prng_below(p, 4);
	c.on_lost =
		(enum spx_on_lost)PICK(p, SPX_WAIT, SPX_WAIT, SPX_BYPASS, SPX_RESTART, SPX_STOP);
	c.window = (uint16_t)PICK(p, 2, 8, 16, 32);
	c.room = (uint32_t)PICK(p, 1, 4, 16, 64);
	c.ahead = (uint32_t)between(p, 1, 4);
	c.delay_ns = PICK(p, 20, 200, 2000) * BASE_US_NS;
	c.view_ns = PICK(p, 0, 1, 10) * BASE_MS_NS;
	c.loss_ppb = (uint32_t)PICK(p, 0, 1000000, 30000000);
	c.reorder_ppb = (uint32_t)PICK(p, 0, 50000000, 500000000);
	c.dup_ppb = (uint32_t)PICK(p, 0, 10000000);
	c.work_ns[SPXW_INPUT] = PICK(p, 0, 1, 2) * BASE_MS_NS;
	c.work_ns[SPXW_FILTER] = c.work_ns[SPXW_FILTER2] = PICK(p, 100, 1000, 3000) * BASE_US_NS;
	c.work_ns[SPXW_OUTPUT] = PICK(p, 10, 500) * BASE_US_NS;
	c.detect_ns = c.lease_ns + between(p, 0, 40) * BASE_MS_NS;
	c.takeover_ns = PICK(p, 0, 0, 20, 60) * BASE_MS_NS;
	struct base_prng q = *p; /* what older seeds draw stays */
	c.in_flight = base_prng_below(&q, 100) < 20 ? SPX_DROP : SPX_EPOCH;
	c.aside = base_prng_below(&q, 100) < 30 ? (uint32_t)between(&q, 2, 4) : 0;
	return c;
}

void
spx_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct plan_of p = {.prng = base_prng_seed(seed ^ 0x5b8)};
	struct spxw_conf c = draw_conf(&p.prng);
	struct spxw *w = p.w = spxw_new(seed, verbose, &c);
	uint64_t healed = plan_faults(&p) + BASE_S_NS;

	sim_at(w->s, healed, heal_links, w, 0);
	sim_run(w->s, healed, NULL, NULL);
	run_until_still(w);
	if (!w->s->failed)
		spxw_check_end(w);
	snprintf(o->note, sizeof o->note,
		 "%u faults, %u processes, %llu frames, %llu begun again, %llu after all who knew "
		 "died, %llu passed by",
		 p.faults, w->nnode, (unsigned long long)w->committed,
		 (unsigned long long)w->begun_again, (unsigned long long)w->repeats,
		 (unsigned long long)w->bypassed);
	spxw_free(w, o);
}

/* ---- spx-aside ----------------------------------------------------------------------- */

/* Frames end who filters them, and nothing else does: no other frame is set aside. */
void
spx_aside_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed ^ 0xa51de);
	struct spxw_conf c = draw_conf(&p);

	/* A word that a frame has ended is lost where views differ: then it is blamed once more. */
	c.aside = (uint32_t)between(&p, 3, 5);
	c.fatal = true;
	c.in_flight = SPX_EPOCH;
	c.on_lost = SPX_WAIT;
	/* As Suci brings messages: each once, in order. */
	c.loss_ppb = c.dup_ppb = c.reorder_ppb = 0;
	struct spxw *w = spxw_new(seed, verbose, &c);
	run_until_still(w);
	if (!w->s->failed)
		spxw_check_end(w);
	snprintf(o->note, sizeof o->note, "%llu frames set aside, %llu taken, %u processes",
		 (unsigned long long)w->aside, (unsigned long long)w->finished, w->nnode);
	spxw_free(w, o);
}

/* ---- spx-chain ----------------------------------------------------------------------- */

/* Frames a second: as order is kept they end in bursts, so one second is too short. */
static uint64_t
measure_rate(struct spxw *w)
{
	uint64_t before = w->finished;

	sim_run(w->s, w->s->now_ns + MEASURE_NS, NULL, NULL);
	return (w->finished - before) * BASE_S_NS / MEASURE_NS;
}

void
spx_chain_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct spxw_conf c = {.ranks = {2, 4, 4, 1},
			      .io = {2, 2},
			      .frames = 4000,
			      .ordered = true,
			      .policy = SPX_LEAST,
			      .window = 32,
			      .room = 64,
			      .ahead = 2,
			      .delay_ns = 100 * BASE_US_NS,
			      .view_ns = BASE_MS_NS,
			      .work_ns = {0, 10 * BASE_MS_NS, 10 * BASE_MS_NS, 10 * BASE_US_NS}};
	struct spxw *w = spxw_new(seed, verbose, &c);

	sim_run(w->s, w->s->now_ns + BASE_S_NS, NULL, NULL);
	uint64_t one = measure_rate(w);
	uint64_t at = w->s->now_ns;
	spxw_start_second(w);
	sim_run(w->s, at + BASE_S_NS, NULL, NULL);
	uint64_t first = w->first_of[SPXW_FILTER2];
	INVARIANT(w->s, PROMPT, first, "no frame has come to the second filter within a second");
	uint64_t two = measure_rate(w);
	INVARIANT(w->s, PROMPT, 10 * two >= 19 * one,
		  "%llu frames a second with one filter, %llu "
		  "with two: not 1.9 times",
		  (unsigned long long)one, (unsigned long long)two);
	spxw_ops(w, "drain input filter");
	sim_run(w->s, w->s->now_ns + BASE_S_NS / 2, NULL, NULL);
	uint64_t there = w->done_by[SPXW_FILTER];
	run_until_still(w);
	INVARIANT(w->s, PROMPT, w->done_by[SPXW_FILTER] == there,
		  "frames go to a filter that was drained half a second ago");
	if (!w->s->failed)
		spxw_check_end(w);
	snprintf(
		o->note, sizeof o->note,
		"%llu frames/s with one filter, %llu with two; the first after %llu us; %llu of %u "
		"after the drain",
		(unsigned long long)one, (unsigned long long)two,
		(unsigned long long)(first > at ? first - at : 0) / 1000,
		(unsigned long long)w->committed, 2 * c.frames);
	spxw_free(w, o);
}
